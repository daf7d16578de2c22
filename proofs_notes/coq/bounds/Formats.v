(** The formats of chapter 16, rounded to nearest, are a lawful arithmetic: the theorems on bounds speak of them.

    A format of precision p has the numbers m 2^e with |m| < 2^p and e >= emin, where 2^emin is the smallest number
    above zero. Exponents have no upper end: nothing overflows. *)
From Flocq Require Import Core Relative Plus_error Div_sqrt_error.
From Attest Require Export Rounding.
Open Scope R_scope.

Section Format.
  Variables (prec emin : Z).
  Context (Hp : Prec_gt_0 prec).

  Definition format_number : R -> Prop := generic_format radix2 (FLT_exp emin prec).
  Definition nearest : R -> R := round radix2 (FLT_exp emin prec) ZnearestE.

  (** float_model(format) of bounds.cpp: 1 ulp for exp and log, 2 ulp for tanh *)
  Definition format_model : float_model := FloatModel
    (bpow radix2 (- prec)) (bpow radix2 (emin + prec - 1))
    (2 * bpow radix2 (- prec)) (2 * bpow radix2 (- prec)) (4 * bpow radix2 (- prec)).
  Definition format_arithmetic (fl_exp fl_log fl_tanh : R -> R) : float_arithmetic :=
    FloatArithmetic format_model format_number nearest fl_exp fl_log fl_tanh.

  Notation u := (bpow radix2 (- prec)).
  Notation lambda := (bpow radix2 (emin + prec - 1)).

  Lemma half_ulp_of_1 : / 2 * bpow radix2 (- prec + 1) = u.
  Proof. change (/ 2) with (bpow radix2 (-1)); rewrite <- bpow_plus; f_equal; ring. Qed.

  Lemma half_of_smallest : / 2 * bpow radix2 emin = u * lambda.
  Proof. change (/ 2) with (bpow radix2 (-1)); rewrite <- !bpow_plus; f_equal; ring. Qed.

  Lemma u_range : 0 < u <= / 2.
  Proof.
    split; [apply bpow_gt_0|]; change (/ 2) with (bpow radix2 (-1)).
    apply bpow_le; unfold Prec_gt_0 in Hp; lia.
  Qed.

  (** FMT.P3, in the reals: rounding is monotone, *)
  Lemma nearest_monotone x y : x <= y -> nearest x <= nearest y.
  Proof. apply round_le; auto with typeclass_instances. Qed.

  (** leaves numbers of the format as they are, *)
  Lemma nearest_number x : format_number x -> nearest x = x.
  Proof. apply round_generic; auto with typeclass_instances. Qed.

  (** and gives numbers of the format. *)
  Lemma number_nearest x : format_number (nearest x).
  Proof. apply generic_format_round; auto with typeclass_instances. Qed.

  Lemma nearest_idempotent x : nearest (nearest x) = nearest x.
  Proof. apply nearest_number, number_nearest. Qed.

  (** the laws of chapter 18 on operations *)
  Lemma nearest_close x : close_to x u (u * lambda) (nearest x).
  Proof.
    destruct (error_N_FLT radix2 emin prec Hp (fun t => negb (Z.even t)) x) as (d & e & Hd & He & _ & E).
    rewrite half_ulp_of_1 in Hd; rewrite half_of_smallest in He; exists d, e; auto.
  Qed.

  Lemma nearest_sum x y : format_number x -> format_number y -> close_to (x + y) u 0 (nearest (x + y)).
  Proof.
    intros Fx Fy; destruct (FLT_plus_error_N_ex radix2 emin prec (fun z => negb (Z.even z)) x y Fx Fy) as (d & Hd & E).
    exists d, 0; rewrite Rabs_R0; split; [|split; [lra|rewrite Rplus_0_r; exact E]].
    unfold u_ro in Hd; rewrite half_ulp_of_1 in Hd; eapply Rle_trans; [exact Hd|].
    pose proof u_range; apply Rmult_le_reg_r with (1 + u); [lra|].
    replace (u / (1 + u) * (1 + u)) with u by (field; lra); nra.
  Qed.

  (** the exponents reach far enough down: true of all six formats *)
  Hypothesis Hprec : (2 <= prec)%Z.
  Hypothesis Hemin : (emin <= - 2 * prec)%Z.

  Lemma nearest_sqrt x : format_number x -> close_to (sqrt x) u 0 (nearest (sqrt x)).
  Proof.
    intros Fx.
    destruct (sqrt_error_N_FLT_ex radix2 prec (fun z => negb (Z.even z)) ltac:(lia) emin ltac:(lia) x Fx)
      as (d & Hd & E).
    exists d, 0; rewrite Rabs_R0; split; [|split; [lra|rewrite Rplus_0_r; exact E]].
    unfold u_ro in Hd; rewrite half_ulp_of_1 in Hd; eapply Rle_trans; [exact Hd|].
    pose proof u_range.
    assert (S1 : 1 <= sqrt (1 + 2 * u)) by (rewrite <- sqrt_1 at 1; apply sqrt_le_1_alt; lra).
    assert (S2 : sqrt (1 + 2 * u) <= 1 + u).
    { rewrite <- (sqrt_Rsqr (1 + u)) by lra; apply sqrt_le_1_alt; unfold Rsqr; nra. }
    assert (/ (1 + u) <= / sqrt (1 + 2 * u)) by (apply Rinv_le_contravar; lra).
    assert (1 - u <= / (1 + u)) by (apply Rmult_le_reg_r with (1 + u); [lra|]; rewrite Rinv_l by lra; nra).
    lra.
  Qed.

  Lemma number_opposite x : format_number x -> format_number (- x).
  Proof. apply generic_format_opp. Qed.

  (** what a library of elementary functions has to meet *)
  Definition accurate (fl_exp fl_log fl_tanh : R -> R) : Prop :=
    (forall x, format_number x -> format_number (fl_exp x) /\ close_to (exp x) (2 * u) (2 * u * lambda) (fl_exp x)) /\
    (forall x, format_number x -> 0 < x -> format_number (fl_log x) /\ close_to (ln x) (2 * u) 0 (fl_log x)) /\
    (forall x, format_number x -> format_number (fl_tanh x) /\ close_to (tanh x) (4 * u) (4 * u * lambda) (fl_tanh x)).

  Theorem format_is_lawful fl_exp fl_log fl_tanh :
    accurate fl_exp fl_log fl_tanh -> lawful (format_arithmetic fl_exp fl_log fl_tanh).
  Proof.
    intros (He & Hl & Ht); pose proof u_range.
    assert (u <= / 4) by (change (/ 4) with (bpow radix2 (-2)); apply bpow_le; lia).
    constructor; simpl.
    - lra.
    - apply bpow_ge_0.
    - lra.
    - lra.
    - lra.
    - exact number_nearest.
    - exact nearest_number.
    - apply generic_format_0.
    - exact number_opposite.
    - exact nearest_sum.
    - exact nearest_sqrt.
    - exact nearest_close.
    - intros; apply He; assumption.
    - intros; apply He; assumption.
    - intros; apply Hl; assumption.
    - intros; apply Hl; assumption.
    - intros; apply Ht; assumption.
    - intros; apply Ht; assumption.
  Qed.

  (** * Correctly rounded functions are accurate, so the laws can be met *)

  (** next to 1 a logarithm is at least u, which is above the smallest normal number *)
  Lemma distance_from_1 x : format_number x -> x <> 1 -> u <= Rabs (x - 1).
  Proof.
    intros Fx Hx; destruct (Rle_or_lt u (Rabs (x - 1))) as [|C]; [assumption|exfalso].
    pose proof u_range; apply Rabs_def2 in C.
    assert (Hmag : (0 <= mag radix2 x)%Z).
    { apply Z.lt_pred_le, mag_gt_bpow; rewrite Rabs_right by lra; change (bpow radix2 (Z.pred 0)) with (/ 2); lra. }
    assert (He : (- prec <= cexp radix2 (FLT_exp emin prec) x)%Z) by (unfold cexp, FLT_exp; lia).
    rewrite Fx in C, Hx; unfold F2R in C, Hx; simpl in C, Hx.
    set (m := Ztrunc _) in *; set (e := cexp radix2 (FLT_exp emin prec) x) in *.
    replace (bpow radix2 e) with (bpow radix2 (e + prec) * u) in C, Hx by (rewrite <- bpow_plus; f_equal; ring).
    assert (E1 : 1 = bpow radix2 prec * u) by (rewrite <- bpow_plus, Z.add_opp_diag_r; reflexivity).
    rewrite <- !IZR_Zpower in * by (unfold Prec_gt_0 in Hp; lia).
    rewrite E1 in C, Hx; rewrite <- Rmult_assoc, <- mult_IZR in C, Hx.
    set (a := (m * radix2 ^ (e + prec))%Z) in *; set (b := (radix2 ^ prec)%Z) in *.
    assert (N : a <> b) by (intros ->; apply Hx; reflexivity).
    assert (D : (1 <= a - b \/ a - b <= -1)%Z) by lia.
    destruct D as [D|D]; apply IZR_le in D; rewrite minus_IZR in D; nra.
  Qed.

  Lemma logarithm_size x : format_number x -> 0 < x -> x <> 1 -> lambda <= Rabs (ln x).
  Proof.
    intros Fx Px Hx; pose proof (distance_from_1 x Fx Hx) as D; pose proof u_range.
    assert (L : lambda <= u / 2).
    { unfold Rdiv; change (/ 2) with (bpow radix2 (-1)); rewrite <- bpow_plus; apply bpow_le; lia. }
    assert (I : forall y, 0 < y -> ln y <= y - 1).
    { intros y Hy; pose proof (exp_ineq1_le (ln y)); rewrite exp_ln in *; lra. }
    pose proof (I x Px) as I1; pose proof (I (/ x) (Rinv_0_lt_compat _ Px)) as I2; rewrite ln_Rinv in I2 by assumption.
    destruct (Rle_or_lt x 1).
    - rewrite Rabs_left1 in D by lra; rewrite Rabs_left1 by lra; lra.
    - rewrite Rabs_right in D by lra.
      assert (/ x <= / (1 + u)) by (apply Rinv_le_contravar; lra).
      assert (/ (1 + u) <= 1 - u / 2) by (apply Rmult_le_reg_r with (1 + u); [lra|]; rewrite Rinv_l by lra; nra).
      rewrite Rabs_right; lra.
  Qed.

  Theorem correctly_rounded_functions_are_accurate :
    accurate (fun x => nearest (exp x)) (fun x => nearest (ln x)) (fun x => nearest (tanh x)).
  Proof.
    pose proof u_range; pose proof (bpow_ge_0 radix2 (emin + prec - 1)).
    assert (W : forall x k, 1 <= k -> close_to x (k * u) (k * u * lambda) (nearest x)).
    { intros x k Hk; destruct (nearest_close x) as (d & e & Hd & He & E); exists d, e.
      assert (u <= k * u) by nra.
      assert (u * lambda <= k * u * lambda) by (apply Rmult_le_compat_r; assumption).
      repeat split; lra. }
    split; [|split]; intros x Fx; [| intros Px|]; (split; [apply number_nearest|]); try (apply W; lra).
    destruct (Req_dec x 1) as [->|Hx].
    - rewrite ln_1, nearest_number by apply generic_format_0.
      exists 0, 0; rewrite Rabs_R0; repeat split; lra.
    - destruct (relative_error_N_FLT_ex radix2 emin prec Hp (fun t => negb (Z.even t)) (ln x)) as (d & Hd & E).
      { apply logarithm_size; assumption. }
      rewrite half_ulp_of_1 in Hd; exists d, 0; rewrite Rabs_R0; repeat split; [lra|lra|rewrite Rplus_0_r; exact E].
  Qed.
End Format.
