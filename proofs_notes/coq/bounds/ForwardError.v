(** Forward error of a computed softmax and of a computed output, relative to the real ones: any exponential with
    relative error eps, arguments within D, sums in any order. Nothing underflows in the exponentials. *)
From Attest Require Export Perturbation.

(** an exponential of an argument within D, by a function of relative error eps, is the real one times a factor *)
Theorem exponential_is_moved x x' D eps e' : 0 <= eps < 1 -> Rabs (x' - x) <= D -> close_to (exp x') eps 0 e' ->
  exists f, exp (- D) * (1 - eps) <= f <= exp D * (1 + eps) /\ e' = exp x * f.
Proof.
  intros He Hx (d & z & Hd & Hz & E); apply Rabs_bounds in Hx; apply Rabs_bounds in Hd.
  assert (z = 0) by (destruct (Req_dec z 0) as [|H]; [assumption|apply Rabs_pos_lt in H; lra]); subst z.
  exists (exp (x' - x) * (1 + d)); split.
  - pose proof (exp_monotone (- D) (x' - x) ltac:(lra)); pose proof (exp_monotone (x' - x) D ltac:(lra)).
    pose proof (exp_pos (- D)); pose proof (exp_pos (x' - x)).
    split; apply Rmult_le_compat; lra.
  - rewrite E, Rplus_0_r, <- Rmult_assoc, <- exp_plus; do 3 f_equal; ring.
Qed.

(** arguments within D and a function within eps: the two ends of the factor, and how far apart they are *)
Definition factor_low (D eps : R) : R := exp (- D) * (1 - eps).
Definition factor_high (D eps : R) : R := exp D * (1 + eps).

Section Row.
  Context {I : Type}.
  Variables (keys : list I) (l e' : I -> R) (shift D eps : R).
  Hypothesis some_key : keys <> [].
  Hypothesis eps_range : 0 <= eps < 1.
  (** the computed exponentials; f is what has happened to them *)
  Variable f : I -> R.
  Hypothesis moved : forall k, In k keys ->
    factor_low D eps <= f k <= factor_high D eps /\ e' k = exp (l k - shift) * f k.

  Definition real_weight (k : I) : R := exp (l k) / sum keys (fun j => exp (l j)).

  Lemma factor_low_pos : 0 < factor_low D eps.
  Proof. apply Rmult_lt_0_compat; [apply exp_pos|lra]. Qed.

  Lemma real_total_pos : 0 < sum keys (fun j => exp (l j)).
  Proof. apply sum_pos; auto using exp_pos. Qed.

  Lemma real_weight_nonneg k : 0 <= real_weight k.
  Proof. apply Rlt_le, Rdiv_lt_0_compat; [apply exp_pos|apply real_total_pos]. Qed.

  Lemma real_weights_sum_to_one : sum keys real_weight = 1.
  Proof.
    unfold real_weight, Rdiv; rewrite sum_scal_r; apply Rinv_r, Rgt_not_eq, real_total_pos.
  Qed.

  (** what the computation sums is the moved total, up to a common positive factor *)
  Notation scale := (sum keys (fun j => exp (l j)) * exp (- shift)).
  Lemma scale_pos : 0 < scale.
  Proof. apply Rmult_lt_0_compat; [apply real_total_pos|apply exp_pos]. Qed.

  Lemma exponential_of_weight k : In k keys -> e' k = scale * (real_weight k * f k).
  Proof.
    intros Hk; destruct (moved k Hk) as [_ ->]; unfold real_weight.
    replace (l k - shift) with (l k + - shift) by ring; rewrite exp_plus.
    pose proof real_total_pos; field; lra.
  Qed.

  Lemma sum_of_exponentials g : sum keys (fun k => e' k * g k) = scale * sum keys (fun k => real_weight k * f k * g k).
  Proof.
    rewrite <- sum_scal; apply sum_ext; intros k Hk; rewrite (exponential_of_weight k Hk); ring.
  Qed.

  Lemma computed_total : sum keys e' = scale * moved_total keys real_weight f.
  Proof.
    unfold moved_total; rewrite <- sum_scal; apply sum_ext; intros k Hk; apply (exponential_of_weight k Hk).
  Qed.

  (** A computed weight over the real one: S' is the computed total, within g of the sum; c rounds the quotient. *)
  Theorem softmax_relative_error k S' g c u : In k keys -> 0 <= g < 1 -> 0 <= u < 1 -> Rabs c <= u ->
    Rabs (S' - sum keys e') <= g * sum keys e' ->
    factor_low D eps * (1 - u) / (factor_high D eps * (1 + g))
      <= e' k / S' * (1 + c) / real_weight k
      <= factor_high D eps * (1 + u) / (factor_low D eps * (1 - g)).
  Proof.
    intros Hk Hg Hu Hc HS; apply Rabs_bounds in Hc.
    pose proof factor_low_pos as Pl; pose proof scale_pos as Ps.
    assert (Pw : 0 < real_weight k) by (apply Rdiv_lt_0_compat; [apply exp_pos|apply real_total_pos]).
    destruct (moved k Hk) as [Hf _].
    pose proof (moved_total_between keys real_weight f _ _ (fun k _ => real_weight_nonneg k) real_weights_sum_to_one
      (fun k h => proj1 (moved k h))) as [L U].
    rewrite computed_total in HS; set (t := moved_total keys real_weight f) in *.
    rewrite (exponential_of_weight k Hk); set (a := scale) in *.
    assert (Z : exists s, S' = a * s /\ t * (1 - g) <= s <= t * (1 + g)).
    { exists (S' / a); split; [field; lra|]; apply Rabs_bounds in HS.
      split; apply Rmult_le_reg_r with a; try assumption; replace (S' / a * a) with S' by (field; lra); lra. }
    destruct Z as (s & -> & Hs).
    assert (B1 : factor_low D eps * (1 - g) <= t * (1 - g)) by (apply Rmult_le_compat_r; lra).
    assert (B2 : t * (1 + g) <= factor_high D eps * (1 + g)) by (apply Rmult_le_compat_r; lra).
    assert (B3 : 0 < factor_low D eps * (1 - g)) by (apply Rmult_lt_0_compat; lra).
    replace (a * (real_weight k * f k) / (a * s) * (1 + c) / real_weight k) with (f k * (1 + c) / s) by (field; lra).
    split; apply Rmult_le_compat;
      try (apply Rmult_le_compat; lra); try (apply Rinv_le_contravar; lra); try (apply Rlt_le, Rinv_0_lt_compat; lra);
      apply Rmult_le_pos; lra.
  Qed.

  (** A computed output: both sums in any order of an arithmetic, the quotient before its rounding. The first term is
      what the exponentials do to it, the second what the sums do; lead is any key. *)
  Theorem output_forward_error A v lead others t o :
    let m := length keys in
    let low := factor_low D eps in
    lawful A -> (forall k, In k keys -> number A (e' k)) -> Permutation keys (lead :: others) ->
    Permutation (leaves t) keys -> Permutation (leaves o) keys -> INR m * roundoff A < 1 -> gamma A (m - 1) < 1 ->
    Rabs (fl_dot A e' v o / fl_sum A e' t - weighted_mean keys real_weight v)
      <= (factor_high D eps - low) / low
         * sum others (fun k => real_weight k * Rabs (v k - weighted_mean keys real_weight v))
         + (gamma A m * moved_mean keys real_weight f (fun k => Rabs (v k))
            + INR m * (1 + gamma A m) * underflow A / sum keys e'
            + gamma A (m - 1) * Rabs (moved_mean keys real_weight f v)) / (1 - gamma A (m - 1)).
  Proof.
    intros m low law Hn Hp Ht Ho Hm Hg.
    pose proof (roundoff_nonneg A law) as Hu; pose proof (underflow_nonneg A law) as Hw.
    destruct (gamma_denominator A m (m - 1) Hu ltac:(lia) Hm) as [[_ Hm1] _].
    pose proof (gamma_nonneg A m Hu Hm) as G; pose proof (gamma_nonneg A (m - 1) Hu Hm1) as G1.
    pose proof factor_low_pos as Pl; pose proof scale_pos as Ps.
    pose proof (moved_total_between keys real_weight f _ _ (fun k _ => real_weight_nonneg k) real_weights_sum_to_one
      (fun k h => proj1 (moved k h))) as [L U].
    pose proof computed_total as CT; set (tot := moved_total keys real_weight f) in *; set (a := scale) in *.
    pose proof (dot_product_error_in_any_order A law e' v keys o Ho Hm) as N; fold m in N.
    pose proof (sum_error_in_any_order A law e' keys t Ht Hn Hm1) as S; fold m in S.
    assert (Pe : forall k, In k keys -> 0 <= e' k).
    { intros k Hk; destruct (moved k Hk) as [[F _] ->]; apply Rmult_le_pos; [apply Rlt_le, exp_pos|lra]. }
    rewrite (sum_ext keys (fun i => Rabs (e' i)) e') in S by (intros; apply Rabs_right, Rle_ge; auto).
    rewrite (sum_ext keys (fun i => Rabs (e' i * v i)) (fun k => e' k * Rabs (v k))) in N
      by (intros i Hi; rewrite Rabs_mult, (Rabs_right (e' i)); auto using Rle_ge).
    rewrite !sum_of_exponentials in N; rewrite CT in S; fold a in N.
    assert (Ia : 0 < / a) by (apply Rinv_0_lt_compat; assumption).
    replace (fl_dot A e' v o / fl_sum A e' t) with ((fl_dot A e' v o / a) / (fl_sum A e' t / a)).
    2: { assert (fl_sum A e' t <> 0).
         { pose proof (Rabs_bounds _ _ S); assert (0 < a * tot) by (apply Rmult_lt_0_compat; lra).
           assert (0 < (1 - gamma A (m - 1)) * (a * tot)) by (apply Rmult_lt_0_compat; lra); lra. }
         field; lra. }
    apply (certified_output keys real_weight f low (factor_high D eps) (fun k _ => real_weight_nonneg k)
      real_weights_sum_to_one Pl (fun k h => proj1 (moved k h)) v lead others); auto.
    - apply Rmult_le_pos; [apply Rmult_le_pos; [apply Rmult_le_pos; [apply pos_INR|lra]|assumption]|].
      rewrite CT; apply Rlt_le, Rinv_0_lt_compat, Rmult_lt_0_compat; lra.
    - fold tot; rewrite CT; set (X := sum keys (fun k => real_weight k * f k * v k)) in *.
      set (Y := sum keys (fun k => real_weight k * f k * Rabs (v k))) in *.
      replace (fl_dot A e' v o / a - X) with ((fl_dot A e' v o - a * X) * / a) by (field; lra).
      rewrite Rabs_mult, (Rabs_right (/ a)) by lra.
      replace (gamma A m * Y + INR m * (1 + gamma A m) * underflow A / (a * tot) * tot)
        with ((gamma A m * (a * Y) + INR m * (1 + gamma A m) * underflow A) * / a) by (field; lra).
      apply Rmult_le_compat_r; lra.
    - fold tot; replace (fl_sum A e' t / a - tot) with ((fl_sum A e' t - a * tot) * / a) by (field; lra).
      rewrite Rabs_mult, (Rabs_right (/ a)) by lra.
      replace (gamma A (m - 1) * tot) with (gamma A (m - 1) * (a * tot) * / a) by (field; lra).
      apply Rmult_le_compat_r; lra.
  Qed.
End Row.
