(** The computed log-sum-exp is within its bound (BND.B3), in base e and in base 2. *)
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
