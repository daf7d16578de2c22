(** The computed log-sum-exp is within its bound (BND.B3), in base e and in base 2; so is the computed output. *)
From Attest Require Export SoftmaxBound.

Lemma ln_monotone x y : 0 < x -> x <= y -> ln x <= ln y.
Proof. intros Hx [H| ->]; [apply Rlt_le, ln_increasing; assumption|lra]. Qed.

Section Row.
  Context {I : Type} (A : float_arithmetic) (law : lawful A).
  Variables (keys : list I) (l l' : I -> R) (shift : R) (r : row_model) (t : order I).
  Hypothesis known : row_is_known A keys l l' shift r t.
  Notation u := (roundoff A).
  Notation omega := (underflow A).
  Notation E := (logit_error r).
  Notation n := (logit_count r).
  Notation fl_total := (fl_total A l' shift t).
  Notation near_total := (near_total keys l shift).
  Let Hu := roundoff_nonneg A law.
  Let P := near_total_pos A keys l l' shift r t known.
  Let Pf := fl_total_pos A law keys l l' shift r t known.
  Let Rr := rho_total_range A law keys l l' shift r t known.
  Let T := total_ratio A law keys l l' shift r t known.
  Let count_positive := count_positive A keys l l' shift r t known.
  Let near_total_bounds := near_total_bounds A keys l l' shift r t known.

  Definition fl_lse : R := rounded A (shift + fl_log A fl_total).
  Definition fl_lse_in_base_2 : R := rounded A (fl_lse / fl_log A 2).

  (** step 7: the logarithm *)
  (** BND.B3 *)
  Theorem computed_lse_is_within_its_bound :
    let L := ln (sum keys (fun j => exp (l j))) in
    number A fl_lse /\ Rabs (fl_lse - L) <= lse_bound A r L.
  Proof.
    intros L; split; [apply (number_rounded A law)|].
    pose proof P; pose proof Pf; pose proof Rr; pose proof T; pose proof (log_error_range A law) as Rl.
    assert (Es : L = shift + ln near_total).
    { assert (Et : near_total = exp (- shift) * sum keys (fun j => exp (l j))).
      { unfold near_total; rewrite <- sum_scal; apply sum_ext; intros j _.
        unfold near_exponential; rewrite <- exp_plus; f_equal; ring. }
      pose proof (exp_pos (- shift)).
      assert (Hs : 0 < sum keys (fun j => exp (l j)))
        by (apply Rmult_lt_reg_l with (exp (- shift)); [assumption|]; rewrite <- Et; lra).
      rewrite Et, ln_mult, ln_exp by assumption; unfold L; ring. }
    set (m := - ln (1 - rho_total A r)).
    assert (M : Rabs (ln fl_total - ln near_total) <= m).
    { replace (ln fl_total - ln near_total) with (ln (fl_total / near_total))
        by (unfold Rdiv; rewrite ln_mult, ln_Rinv; auto using Rinv_0_lt_compat; ring).
      pose proof (ln_monotone (1 - rho_total A r) _ ltac:(lra) (proj1 T)).
      pose proof (ln_monotone (fl_total / near_total) (1 + rho_total A r) ltac:(lra) (proj2 T)).
      assert (Up : 1 + rho_total A r <= / (1 - rho_total A r)).
      { apply Rmult_le_reg_r with (1 - rho_total A r); [lra|]; rewrite Rinv_l by lra; nra. }
      pose proof (ln_monotone (1 + rho_total A r) _ ltac:(lra) Up) as U; rewrite ln_Rinv in U by lra.
      unfold m; apply Rabs_le; lra. }
    assert (N : Rabs (ln near_total) <= ln (INR n) + E).
    { destruct near_total_bounds as [Lo Hi]; pose proof (exp_pos (- E)); pose proof (exp_pos E).
      pose proof count_positive.
      assert (1 <= INR n) by (change 1 with (INR 1); apply le_INR; lia).
      pose proof (ln_monotone _ _ (exp_pos _) Lo) as L1; rewrite ln_exp in L1.
      pose proof (ln_monotone _ _ P Hi) as L2; rewrite ln_mult, ln_exp in L2 by lra.
      pose proof (ln_monotone 1 (INR n) ltac:(lra) ltac:(lra)) as L3; rewrite ln_1 in L3.
      apply Rabs_le; lra. }
    assert (Nf : number A fl_total) by (apply number_fl_dot; assumption).
    pose proof (log_law A law fl_total Nf Pf) as C; apply close_to_further with (x := ln near_total) (e := m) in C;
      [|lra|assumption].
    destruct (shift_is_greatest known) as [(k & Hk & Ek) _].
    assert (Ns : number A shift) by (rewrite Ek; apply (logits_are_numbers known), Hk).
    unfold fl_lse, lse_bound, rounded_sum; fold m; simpl error_bound; simpl real_value.
    rewrite <- (Rplus_0_r (_ + u * _)).
    eapply close_to_further; [assumption| |apply (sum_law A law); [assumption|apply (number_log A law); assumption]].
    rewrite Es; replace (shift + fl_log A fl_total - (shift + ln near_total))
      with (fl_log A fl_total - ln near_total) by ring.
    eapply Rle_trans; [exact C|]; rewrite Rplus_0_r; apply Rplus_le_compat_l, Rmult_le_compat_l; lra.
  Qed.

  (** step 9: in base 2 *)
  (** BND.B3 *)
  Theorem computed_lse_in_base_2_is_within_its_bound : number A 2 ->
    let L := ln (sum keys (fun j => exp (l j))) in
    Rabs (fl_lse_in_base_2 - in_base_2 L) <= lse_bound_in_base_2 A r L.
  Proof.
    intros N2 L; destruct computed_lse_is_within_its_bound as [_ HL]; fold L in HL; set (y := fl_lse) in *.
    pose proof (log_error_range A law) as Rl.
    assert (P2 : 0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra).
    destruct (log_law A law 2 N2 ltac:(lra)) as (tau & z & Htau & Hz & E2).
    assert (z = 0) by (destruct (Req_dec z 0) as [|H]; [assumption|apply Rabs_pos_lt in H; lra]); subst z.
    unfold fl_lse_in_base_2; fold y; destruct (rounding_law A law (y / fl_log A 2)) as (d & e & Hd & He & ->).
    rewrite E2, Rplus_0_r; apply Rabs_bounds in Htau.
    set (f := (1 + d) / (1 + tau)); set (g := (1 + u) / (1 - log_error A)).
    assert (F : Rabs (f - 1) <= g - 1).
    { apply Rabs_bounds in Hd; pose proof (roundoff_range A law).
      assert (f <= g) by (apply Rmult_le_compat; try lra;
        [apply Rlt_le, Rinv_0_lt_compat; lra|apply Rinv_le_contravar; lra]).
      assert ((1 - u) / (1 + log_error A) <= f) by (apply Rmult_le_compat; try lra;
        [apply Rlt_le, Rinv_0_lt_compat; lra|apply Rinv_le_contravar; lra]).
      pose proof (quotient_errs_upwards u (log_error A) Hu Rl); apply Rabs_le; unfold g in *; lra. }
    assert (F1 : Rabs f <= g) by (apply Rabs_near in F; rewrite Rabs_R1 in F; lra).
    unfold lse_bound_in_base_2, in_base_2; fold g.
    replace (y / (ln 2 * (1 + tau)) * (1 + d) + e - L / ln 2) with ((y - L) / ln 2 * f + L / ln 2 * (f - 1) + e)
      by (unfold f; field; lra).
    apply Rabs_sum; [apply Rabs_sum; apply Rabs_product|]; try assumption; [|lra].
    unfold Rdiv; rewrite Rabs_mult, (Rabs_right (/ ln 2)) by (apply Rle_ge, Rlt_le, Rinv_0_lt_compat, P2).
    apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, P2|assumption].
  Qed.
End Row.

(** * A computed output is within its bound (BND.B4): one quotient of two sums, each in any order. *)

Section Output.
  Context {I : Type} (A : float_arithmetic) (law : lawful A).
  Variables (keys : list I) (l l' : I -> R) (shift : R) (r : row_model) (t : order I).
  Hypothesis known : row_is_known A keys l l' shift r t.

  (** the keys that have values (a sink has none), their values in one channel, the order of their sum *)
  Variables (valued : list I) (v : I -> R) (o : order I) (delta_v : R).
  Hypothesis valued_are_keys : incl valued keys.
  Hypothesis order_is_of_valued : Permutation (leaves o) valued.
  Hypothesis few : INR (length valued) * roundoff A < 1.
  Hypothesis two_roundings : INR 2 * roundoff A < 1.

  Notation u := (roundoff A).
  Notation omega := (underflow A).
  Notation n := (length valued).
  Notation e' := (fl_exponential A l' shift).
  Notation e := (near_exponential l shift).
  Notation S := (near_total keys l shift).
  Let Hu := roundoff_nonneg A law.
  Let Hw := underflow_nonneg A law.
  Let P : 0 < S := near_total_pos A keys l l' shift r t known.
  Let Rn : 0 <= rho A r := rho_nonneg A law keys l l' shift r t known.
  Let L : 0 <= lost A r := lost_nonneg A law r.

  Definition fl_output : R :=
    rounded A (delta_v * rounded A (fl_dot A e' v o / fl_total A l' shift t)).

  Definition weight (k : I) : R := exp (l k) / sum keys (fun j => exp (l j)).
  Notation mean := (sum valued (fun k => weight k * Rabs (v k))).
  Notation all := (sum valued (fun k => Rabs (v k))).

  Lemma near_weighted f : sum valued (fun k => e k * f k) = sum valued (fun k => weight k * f k) * S.
  Proof.
    rewrite <- sum_scal_r; apply sum_ext; intros k _.
    unfold weight; rewrite <- (near_weight A keys l l' shift r t known k); field; lra.
  Qed.

  Lemma mean_nonneg : 0 <= mean.
  Proof.
    apply sum_nonneg; intros k _; apply Rmult_le_pos; [|apply Rabs_pos].
    unfold weight; rewrite <- (near_weight A keys l l' shift r t known k).
    apply Rlt_le, Rdiv_lt_0_compat; [apply exp_pos|assumption].
  Qed.

  Lemma all_nonneg : 0 <= all.
  Proof. apply sum_nonneg; intros; apply Rabs_pos. Qed.

  (** step 1: the numerator, divided by the real total *)
  Definition numerator_bound : R :=
    ((1 + rho A r) * (1 + gamma A n) - 1) * mean
    + (1 + gamma A n) * (lost A r * all + INR n * omega * exp (logit_error r)).

  Lemma numerator_error : Rabs (fl_dot A e' v o - sum valued (fun k => e k * v k)) <= numerator_bound * S.
  Proof.
    pose proof (gamma_nonneg A n Hu few) as Gn.
    pose proof (dot_product_error_in_any_order A law e' v valued o order_is_of_valued few) as D.
    assert (X : sum valued (fun k => Rabs (e' k * v k) - (e k * Rabs (v k)))
                <= rho A r * (mean * S) + lost A r * S * all).
    { rewrite <- near_weighted, <- !sum_scal, <- sum_plus; apply sum_le; intros k Hk.
      rewrite Rabs_mult; pose proof (exponential_size A law keys l l' shift r t known k (valued_are_keys k Hk)) as Z.
      pose proof (Rmult_le_compat_r _ _ _ (Rabs_pos (v k)) Z); lra. }
    assert (Y : Rabs (sum valued (fun k => e' k * v k) - sum valued (fun k => e k * v k))
                <= rho A r * (mean * S) + lost A r * S * all).
    { rewrite <- sum_minus; eapply Rle_trans; [apply sum_Rabs|].
      rewrite <- near_weighted, <- !sum_scal, <- sum_plus; apply sum_le; intros k Hk.
      replace (e' k * v k - e k * v k) with ((e' k - e k) * v k) by ring.
      rewrite Rabs_mult; pose proof (exponential_error A law keys l l' shift r t known k (valued_are_keys k Hk)) as Z.
      pose proof (Rmult_le_compat_r _ _ _ (Rabs_pos (v k)) Z); lra. }
    rewrite sum_minus, near_weighted in X.
    assert (One : 1 <= exp (logit_error r) * S).
    { destruct (near_total_bounds A keys l l' shift r t known) as [B _].
      assert (Q : exp (logit_error r) * exp (- logit_error r) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
      rewrite <- Q; apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|assumption]. }
    assert (0 <= INR n * (1 + gamma A n) * omega)
      by (apply Rmult_le_pos; [apply Rmult_le_pos; [apply pos_INR|lra]|exact Hw]).
    replace (fl_dot A e' v o - sum valued (fun k => e k * v k))
      with ((fl_dot A e' v o - sum valued (fun k => e' k * v k))
            + (sum valued (fun k => e' k * v k) - sum valued (fun k => e k * v k))) by ring.
    eapply Rle_trans; [apply Rabs_sum; [exact D|exact Y]|].
    assert (U : INR n * (1 + gamma A n) * omega * 1 <= INR n * (1 + gamma A n) * omega * (exp (logit_error r) * S))
      by (apply Rmult_le_compat_l; assumption).
    assert (V : gamma A n * sum valued (fun k => Rabs (e' k * v k))
                <= gamma A n * (mean * S + (rho A r * (mean * S) + lost A r * S * all)))
      by (apply Rmult_le_compat_l; lra).
    unfold numerator_bound; lra.
  Qed.

  (** steps 2 and 3: the quotient, and the product with the descale factor *)
  (** BND.B4 *)
  Theorem computed_output_is_within_its_bound :
    Rabs (fl_output - delta_v * sum valued (fun k => weight k * v k)) <= output_bound A r n mean all delta_v.
  Proof.
    pose proof numerator_error as N; pose proof mean_nonneg as M0.
    pose proof (total_error A law keys l l' shift r t known) as T.
    pose proof (fl_total_pos A law keys l l' shift r t known) as Pf.
    pose proof (rho_total_range A law keys l l' shift r t known) as Rr.
    unfold fl_output; set (N' := fl_dot A e' v o) in *; set (S' := fl_total A l' shift t) in *.
    rewrite near_weighted in N; set (q := sum valued (fun k => weight k * v k)) in *.
    assert (Q0 : Rabs q <= mean).
    { unfold q; eapply Rle_trans; [apply sum_Rabs|apply sum_le]; intros k Hk; rewrite Rabs_mult.
      apply Rmult_le_compat_r; [apply Rabs_pos|]; apply Req_le, Rabs_right, Rle_ge.
      unfold weight; rewrite <- (near_weight A keys l l' shift r t known k).
      apply Rlt_le, Rdiv_lt_0_compat; [apply exp_pos|assumption]. }
    set (Q := (numerator_bound + rho_total A r * mean) / (1 - rho_total A r)).
    assert (HQ : Rabs (N' / S' - q) <= Q).
    { replace (N' / S' - q) with (((N' - q * S) + q * (S - S')) / S') by (field; lra).
      unfold Rdiv at 1; rewrite Rabs_mult, (Rabs_right (/ S')) by (apply Rle_ge, Rlt_le, Rinv_0_lt_compat, Pf).
      apply Rmult_le_reg_r with S'; [assumption|]; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      apply Rle_trans with ((numerator_bound + rho_total A r * mean) * S).
      - rewrite Rmult_plus_distr_r; apply Rabs_sum; [assumption|].
        replace (rho_total A r * mean * S) with (mean * (rho_total A r * S)) by ring.
        apply Rabs_product; [assumption|rewrite Rabs_minus_sym; assumption].
      - assert (0 <= numerator_bound + rho_total A r * mean).
        { assert (0 <= rho_total A r * mean) by (apply Rmult_le_pos; lra).
          pose proof (Rle_trans _ _ _ (Rabs_pos _) N) as Z.
          enough (0 <= numerator_bound) by lra; apply Rmult_le_reg_r with S; lra. }
        replace (Q * S') with ((numerator_bound + rho_total A r * mean) * (S' / (1 - rho_total A r)))
          by (unfold Q; field; lra).
        apply Rmult_le_compat_l; [assumption|].
        apply Rmult_le_reg_r with (1 - rho_total A r); [lra|].
        replace (S' / (1 - rho_total A r) * (1 - rho_total A r)) with S' by (field; lra).
        pose proof (Rabs_bounds _ _ T); lra. }
    destruct (rounding_law A law (N' / S')) as (d & z & Hd & Hz & ->).
    destruct (rounding_law A law (delta_v * (N' / S' * (1 + d) + z))) as (d2 & z2 & Hd2 & Hz2 & ->).
    assert (Th : Rabs ((1 + d) * (1 + d2) - 1) <= gamma A 2).
    { pose proof (accumulated_roundings A [(d, false); (d2, false)] Hu two_roundings) as F; simpl rounding_factors in F.
      rewrite Rmult_1_r in F; apply F; intros a below [X|[X|[]]]; injection X as <- _; assumption. }
    set (th := (1 + d) * (1 + d2) - 1) in *.
    replace (delta_v * (N' / S' * (1 + d) + z) * (1 + d2) + z2 - delta_v * q)
      with (delta_v * ((N' / S' - q) * (1 + th) + z * (1 + d2) + th * q) + z2) by (unfold th; ring).
    unfold output_bound; fold numerator_bound; fold Q.
    pose proof (Rle_trans _ _ _ (Rabs_pos _) Th) as G2.
    assert (Rabs (1 + th) <= 1 + gamma A 2) by (apply Rabs_sum; [rewrite Rabs_R1; lra|assumption]).
    assert (Rabs (1 + d2) <= 1 + gamma A 2).
    { apply Rabs_sum; [rewrite Rabs_R1; lra|]; eapply Rle_trans; [exact Hd2|].
      pose proof (accumulated_roundings A [(u, false); (0, false)] Hu two_roundings) as F; simpl rounding_factors in F.
      replace ((1 + u) * ((1 + 0) * 1) - 1) with u in F by ring.
      rewrite Rabs_right in F by lra; apply F; intros a below [X|[X|[]]]; injection X as <- _;
        [rewrite Rabs_right; lra|rewrite Rabs_R0; assumption]. }
    apply Rabs_sum; [|assumption]; apply Rabs_product; [lra|].
    rewrite Rmult_plus_distr_r.
    apply Rabs_sum; [apply Rabs_sum|]; apply Rabs_product; assumption.
  Qed.
End Output.
