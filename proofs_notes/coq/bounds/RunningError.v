(** The steps of a running error (BND.B6): what the errors of the operands do to a result, and its rounding. [a'] is
    known within [ea] of [a]. The induction over the steps of a whole computation is not here. *)
From Attest Require Import SoftmaxBound.

(** one rounding of relative size rho, and what it loses by underflow *)
Theorem rounded_step y d rho Omega before y' : 0 <= rho ->
  Rabs (before - y) <= d -> close_to before rho Omega y' -> Rabs (y' - y) <= d + rho * (Rabs y + d) + Omega.
Proof. intros; eapply close_to_further; eassumption. Qed.

Section Operands.
  Variables a a' ea b b' eb : R.
  Hypothesis Ha : Rabs (a' - a) <= ea.
  Hypothesis Hb : Rabs (b' - b) <= eb.

  Theorem product_step : Rabs (a' * b' - a * b) <= Rabs a * eb + (Rabs b + eb) * ea.
  Proof.
    replace (a' * b' - a * b) with (a * (b' - b) + b' * (a' - a)) by ring.
    apply Rabs_sum; apply Rabs_product; auto using Rabs_near; lra.
  Qed.

  (** t = |1/b| eb is below 1, so the computed divisor is not zero *)
  Theorem inverse_step : b <> 0 -> let r := Rabs (/ b) in let t := r * eb in t < 1 ->
    b' <> 0 /\ Rabs (/ b' - / b) <= r * (t / (1 - t)).
  Proof.
    intros Hb0 r t Ht.
    assert (Pr : 0 < r) by (apply Rabs_pos_lt, Rinv_neq_0_compat, Hb0).
    assert (X : Rabs ((b' - b) * / b) <= t)
      by (unfold t; rewrite Rmult_comm; apply Rabs_product; [apply Rle_refl|exact Hb]).
    set (x := (b' - b) * / b) in *; apply Rabs_bounds in X.
    assert (E : b' = b * (1 + x)) by (unfold x; field; assumption); clearbody x.
    assert (N : b' <> 0) by (rewrite E; apply Rmult_integral_contrapositive; split; [assumption|lra]).
    split; [assumption|].
    replace (/ b' - / b) with (/ b * (- x / (1 + x))) by (rewrite E; field; repeat split; assumption || lra).
    apply Rabs_product; [apply Rle_refl|].
    unfold Rdiv; rewrite Rabs_mult, Rabs_Ropp, (Rabs_right (/ (1 + x)))
      by (apply Rle_ge, Rlt_le, Rinv_0_lt_compat; lra).
    apply Rmult_le_compat; [apply Rabs_pos|apply Rlt_le, Rinv_0_lt_compat; lra|apply Rabs_le; lra|].
    apply Rinv_le_contravar; lra.
  Qed.

  Theorem quotient_step q : Rabs (/ b' - / b) <= q ->
    Rabs (a' / b' - a / b) <= Rabs (/ b) * ea + (Rabs a + ea) * q.
  Proof.
    intros Hq; unfold Rdiv; replace (a' * / b' - a * / b) with (/ b * (a' - a) + a' * (/ b' - / b)) by ring.
    apply Rabs_sum; apply Rabs_product; auto using Rabs_near; apply Rle_refl.
  Qed.

  Theorem exponential_step : ea < 1 -> Rabs (exp a' - exp a) <= exp a * (ea / (1 - ea)).
  Proof.
    intros H1; pose proof (exp_near_1 _ _ Ha) as E; pose proof (exp_pos a).
    replace (exp a' - exp a) with (exp a * (exp (a' - a) - 1))
      by (rewrite Rmult_minus_distr_l, <- exp_plus; f_equal; [f_equal|]; ring).
    apply Rabs_product; [rewrite Rabs_right; lra|eapply Rle_trans; [exact E|]].
    assert (I : exp ea <= / (1 - ea)).
    { rewrite <- (Rinv_inv (exp ea)), <- exp_Ropp; apply Rinv_le_contravar; [lra|].
      pose proof (exp_ineq1_le (- ea)); lra. }
    replace (ea / (1 - ea)) with (/ (1 - ea) - 1) by (field; lra); lra.
  Qed.

  Theorem logarithm_step : 0 < a -> let t := ea / Rabs a in t < 1 -> 0 < a' /\ Rabs (ln a' - ln a) <= t / (1 - t).
  Proof.
    intros Pa t Ht; unfold t in *; rewrite (Rabs_right a) in * by lra.
    assert (E0 : ea < a).
    { apply Rmult_lt_reg_r with (/ a); [apply Rinv_0_lt_compat, Pa|rewrite Rinv_r by lra; exact Ht]. }
    pose proof (Rabs_bounds _ _ Ha) as B; pose proof (Rle_trans _ _ _ (Rabs_pos _) Ha) as P.
    assert (Pa' : 0 < a') by lra; split; [assumption|].
    assert (I : forall z, 0 < z -> ln z <= z - 1).
    { intros z Hz; pose proof (exp_ineq1_le (ln z)) as X; rewrite exp_ln in X; lra. }
    replace (ea / a / (1 - ea / a)) with (ea / (a - ea)) by (field; lra).
    assert (D : forall x y, 0 < x -> 0 < y -> a - ea <= x -> Rabs (y - x) <= ea -> ln y - ln x <= ea / (a - ea)).
    { intros x y Px Py Hx Hy; replace (ln y - ln x) with (ln (y * / x))
        by (rewrite ln_mult, ln_Rinv; auto using Rinv_0_lt_compat; ring).
      eapply Rle_trans; [apply I, Rmult_lt_0_compat; auto using Rinv_0_lt_compat|].
      replace (y * / x - 1) with ((y - x) * / x) by (field; lra).
      apply Rabs_bounds in Hy; apply Rle_trans with (ea * / x); [apply Rmult_le_compat_r; [|lra]|].
      - apply Rlt_le, Rinv_0_lt_compat, Px.
      - apply Rmult_le_compat_l; [assumption|apply Rinv_le_contravar; lra]. }
    pose proof (D a a' Pa Pa' ltac:(lra) Ha).
    pose proof (D a' a Pa' Pa ltac:(lra) ltac:(rewrite Rabs_minus_sym; exact Ha)).
    apply Rabs_le; lra.
  Qed.

  Theorem root_step : 0 < a -> Rabs (sqrt a' - sqrt a) <= ea / sqrt a.
  Proof.
    intros Pa; pose proof (sqrt_lt_R0 a Pa) as Ps; pose proof (sqrt_pos a').
    apply Rmult_le_reg_r with (sqrt a); [assumption|].
    replace (ea / sqrt a * sqrt a) with ea by (field; lra).
    rewrite <- (Rabs_right (sqrt a)) at 2 by lra; rewrite <- Rabs_mult; eapply Rle_trans; [|exact Ha].
    destruct (Rle_or_lt a' 0) as [N|N].
    - rewrite (sqrt_neg_0 a' N), Rminus_0_l, Rabs_mult, Rabs_Ropp, (Rabs_right (sqrt a)), sqrt_sqrt by lra.
      rewrite Rabs_left1; lra.
    - pose proof (sqrt_sqrt a' ltac:(lra)); pose proof (sqrt_sqrt a ltac:(lra)).
      replace (a' - a) with ((sqrt a' - sqrt a) * (sqrt a' + sqrt a)) by lra.
      rewrite !Rabs_mult; apply Rmult_le_compat_l; [apply Rabs_pos|rewrite !Rabs_right; lra].
  Qed.

  Theorem positive_part_step : Rabs (Rmax a' 0 - Rmax a 0) <= ea.
  Proof.
    eapply Rle_trans; [|exact Ha]; unfold Rmax.
    destruct (Rle_dec a' 0), (Rle_dec a 0); unfold Rabs; repeat destruct (Rcase_abs _); lra.
  Qed.
End Operands.

(** a sum of terms that are known within e, in any order *)
Theorem sum_step {I} A (x x' e : I -> R) (l : list I) (t : order I) : lawful A ->
  Permutation (leaves t) l -> INR (length l - 1) * roundoff A < 1 ->
  (forall i, In i l -> number A (x' i) /\ Rabs (x' i - x i) <= e i) ->
  Rabs (fl_sum A x' t - sum l x) <= sum l e + gamma A (length l - 1) * sum l (fun i => Rabs (x i) + e i).
Proof.
  intros law Ht Hn Hx.
  pose proof (sum_error_in_any_order A law x' l t Ht (fun i h => proj1 (Hx i h)) Hn) as S.
  replace (fl_sum A x' t - sum l x) with (sum l (fun i => x' i - x i) + (fl_sum A x' t - sum l x'))
    by (rewrite sum_minus; ring).
  apply Rabs_sum.
  - eapply Rle_trans; [apply sum_Rabs|apply sum_le]; intros i Hi; apply Hx, Hi.
  - eapply Rle_trans; [exact S|]; apply Rmult_le_compat_l; [apply gamma_nonneg; [apply roundoff_nonneg|]; assumption|].
    apply sum_le; intros i Hi; apply Rabs_near, Hx, Hi.
Qed.
