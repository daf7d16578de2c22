(** Rounding to a format with a largest number (FMT.D3, FMT.D6): it is monotone and idempotent (FMT.P3), and the
    arithmetic of a small format is that of binary64, rounded (FMT.P5). *)
From Flocq Require Import Core Double_rounding.
From Attest Require Import Formats.
From Coquelicot Require Import Rbar.
Open Scope R_scope.

(** the step at x <> 0: 2^(max(floor(log2 |x|), e_min) - p + 1), where e_min - p + 1 = emin (FMT.D3) *)
Definition step_exponent (prec emin : Z) (x : R) : Z :=
  (Z.max (Zfloor (ln (Rabs x) / ln 2)) (emin + prec - 1) - prec + 1)%Z.

Lemma floor_of_logarithm x e : bpow radix2 (e - 1) <= Rabs x < bpow radix2 e ->
  Zfloor (ln (Rabs x) / ln 2) = (e - 1)%Z.
Proof.
  intros [L U]; pose proof (bpow_gt_0 radix2 (e - 1)).
  assert (P2 : 0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (B : forall k, ln (bpow radix2 k) = IZR k * ln 2).
  { intros k; rewrite bpow_exp, ln_exp; reflexivity. }
  apply Zfloor_imp; replace (e - 1 + 1)%Z with e by ring; split.
  - apply Rmult_le_reg_r with (ln 2); [assumption|]; rewrite <- B.
    replace (ln (Rabs x) / ln 2 * ln 2) with (ln (Rabs x)) by (field; lra).
    destruct L as [L| ->]; [apply Rlt_le, ln_increasing; lra|lra].
  - apply Rmult_lt_reg_r with (ln 2); [assumption|]; rewrite <- B.
    replace (ln (Rabs x) / ln 2 * ln 2) with (ln (Rabs x)) by (field; lra).
    apply ln_increasing; lra.
Qed.

(** what Flocq calls the rounding of x is that of FMT.D3 *)
Theorem nearest_is_n_steps prec emin x : x <> 0 ->
  nearest prec emin x
  = IZR (ZnearestE (x * bpow radix2 (- step_exponent prec emin x))) * bpow radix2 (step_exponent prec emin x).
Proof.
  intros Hx; unfold nearest, round, F2R, scaled_mantissa; simpl.
  replace (step_exponent prec emin x) with (cexp radix2 (FLT_exp emin prec) x); [reflexivity|].
  unfold cexp, FLT_exp, step_exponent.
  rewrite (floor_of_logarithm x (mag radix2 x)); [lia|].
  destruct (mag radix2 x) as [e He]; exact (He Hx).
Qed.

(** FMT.D6 *)
Inductive overflow_rule := standard | saturate.

(** Rounding to a format. Beyond its largest number stands an infinity; in f8e4m3 the NaN that has its place. *)
Definition round_to (prec emin : Z) (largest : R) (rule : overflow_rule) (x : Rbar) : Rbar :=
  match x, rule with
  | Finite x, _ =>
      let y := nearest prec emin x in
      if Rle_dec y largest then
        if Rle_dec (- largest) y then Finite y
        else match rule with standard => m_infty | saturate => Finite (- largest) end
      else match rule with standard => p_infty | saturate => Finite largest end
  | p_infty, saturate => Finite largest
  | m_infty, saturate => Finite (- largest)
  | infinite, standard => infinite
  end.

Section Format.
  Variables (prec emin : Z) (largest : R).
  Context (Hp : Prec_gt_0 prec).
  Hypothesis largest_pos : 0 <= largest.
  Hypothesis largest_is_number : format_number prec emin largest.
  Notation RN := (round_to prec emin largest).

  (** FMT.P3 *)
  Theorem rounding_is_monotone rule x y : Rbar_le x y -> Rbar_le (RN rule x) (RN rule y).
  Proof.
    destruct x as [x| |], y as [y| |]; simpl; try tauto; intros H;
      try pose proof (nearest_monotone prec emin Hp x y H);
      repeat destruct (Rle_dec _ _); destruct rule; simpl; try lra; exact I.
  Qed.

  (** FMT.P3 *)
  Theorem rounding_keeps_numbers rule x :
    format_number prec emin x -> Rabs x <= largest -> RN rule (Finite x) = Finite x.
  Proof.
    intros Hx Hl; apply Rabs_bounds in Hl; simpl; rewrite nearest_number by assumption.
    destruct (Rle_dec x largest), (Rle_dec (- largest) x); try lra; reflexivity.
  Qed.

  (** FMT.P3 *)
  Theorem rounding_is_idempotent rule x : RN rule (RN rule x) = RN rule x.
  Proof.
    assert (K : forall z, format_number prec emin z -> Rabs z <= largest -> RN rule (Finite z) = Finite z)
      by (intros; apply rounding_keeps_numbers; assumption).
    assert (KL : RN rule (Finite largest) = Finite largest) by (apply K; [assumption|rewrite Rabs_right; lra]).
    assert (KM : RN rule (Finite (- largest)) = Finite (- largest)).
    { apply K; [apply number_opposite; assumption|rewrite Rabs_Ropp, Rabs_right; lra]. }
    destruct x as [x| |]; [|destruct rule; [reflexivity|assumption]..].
    simpl (RN rule (Finite x)).
    destruct (Rle_dec (nearest prec emin x) largest); [destruct (Rle_dec (- largest) (nearest prec emin x))|].
    - apply K; [apply number_nearest, Hp|apply Rabs_le; lra].
    - destruct rule; [reflexivity|assumption].
    - destruct rule; [reflexivity|assumption].
  Qed.
End Format.

(** * Two roundings *)

(** the largest number of binary64 *)
Definition largest64 : R := (2 ^ 53 - 1) * bpow radix2 971.
Notation round64 := (round_to 53 (-1074) largest64).

Inductive operation := plus | minus | times | divided.
Definition apply_operation (op : operation) (a b : R) : R :=
  match op with plus => a + b | minus => a - b | times => a * b | divided => a / b end.

Section Twice.
  (** a small format: precision p with 2 p + 2 <= 53, exponents within those of f32 *)
  Variables (prec emin : Z) (largest : R).
  Context (Hp : Prec_gt_0 prec).
  Hypothesis Hprec : (2 * prec + 2 <= 53)%Z.
  Hypothesis Hemin : (-149 <= emin <= 0)%Z.
  Notation number := (format_number prec emin).

  Let FLT x : number x -> FLT_format radix2 emin prec x.
  Proof. apply FLT_format_generic, Hp. Qed.

  Lemma two_roundings_of_an_operation op a b : number a -> number b -> (op = divided -> b <> 0) ->
    nearest prec emin (nearest 53 (-1074) (apply_operation op a b)) = nearest prec emin (apply_operation op a b).
  Proof.
    intros Ha Hb Hz; assert (Prec_gt_0 53) by reflexivity; apply FLT in Ha; apply FLT in Hb; destruct op; simpl.
    - apply round_round_plus_FLT; auto; lia.
    - apply round_round_minus_FLT; auto; lia.
    - apply round_round_mult_FLT; auto with typeclass_instances; lia.
    - apply round_round_div_FLT; auto; [exists 1%Z; reflexivity|lia|lia].
  Qed.

  Lemma two_roundings_of_a_root a : number a ->
    nearest prec emin (nearest 53 (-1074) (sqrt a)) = nearest prec emin (sqrt a).
  Proof.
    intros Ha; assert (Prec_gt_0 53) by reflexivity; apply FLT in Ha.
    apply round_round_sqrt_FLT; auto; try lia; left; lia.
  Qed.

  (** binary64 does not overflow: results stay below 2^278 *)
  Lemma no_overflow_in_binary64 x : Rabs x <= bpow radix2 278 ->
    round64 standard (Finite x) = Finite (nearest 53 (-1074) x).
  Proof.
    intros Hx; apply Rabs_bounds in Hx; assert (P53 : Prec_gt_0 53) by reflexivity.
    assert (F : format_number 53 (-1074) (bpow radix2 278)) by (apply generic_format_bpow; unfold FLT_exp; lia).
    pose proof (nearest_monotone 53 (-1074) P53 _ _ (proj1 Hx)) as L.
    pose proof (nearest_monotone 53 (-1074) P53 _ _ (proj2 Hx)) as U.
    rewrite (nearest_number _ _ _ (number_opposite _ _ _ F)) in L.
    rewrite (nearest_number _ _ _ F) in U.
    assert (B : bpow radix2 278 <= largest64).
    { unfold largest64; pose proof (bpow_le radix2 278 971 ltac:(lia)); pose proof (bpow_gt_0 radix2 971); nra. }
    simpl; destruct (Rle_dec _ _); [destruct (Rle_dec _ _)|]; try lra; reflexivity.
  Qed.

  Lemma result_size op a b : number a -> number b -> Rabs a <= bpow radix2 128 -> Rabs b <= bpow radix2 128 ->
    (op = divided -> b <> 0) -> Rabs (apply_operation op a b) <= bpow radix2 278.
  Proof.
    intros Ha Hb La Lb Hz.
    assert (S : Rabs a + Rabs b <= bpow radix2 278).
    { apply Rle_trans with (bpow radix2 129); [|apply bpow_le; lia].
      change 129%Z with (128 + 1)%Z; rewrite bpow_plus; change (bpow radix2 1) with 2; lra. }
    destruct op; unfold apply_operation.
    - eapply Rle_trans; [apply Rabs_triang|exact S].
    - unfold Rminus; eapply Rle_trans; [apply Rabs_triang|]; rewrite Rabs_Ropp; exact S.
    - eapply Rle_trans; [apply Rabs_product; eassumption|]; rewrite <- bpow_plus; apply bpow_le; lia.
    - specialize (Hz eq_refl).
      assert (M : bpow radix2 (-149) <= Rabs b).
      { apply Rle_trans with (bpow radix2 emin); [apply bpow_le; lia|].
        apply generic_format_ge_bpow with (FLT_exp emin prec).
        - intros e; unfold FLT_exp; apply Z.le_max_r.
        - apply Rabs_pos_lt, Hz.
        - apply generic_format_abs, Hb. }
      replace (bpow radix2 278) with (bpow radix2 129 * bpow radix2 149) by (rewrite <- bpow_plus; reflexivity).
      unfold Rdiv; rewrite Rabs_mult, Rabs_inv.
      apply Rmult_le_compat; [apply Rabs_pos|apply Rlt_le, Rinv_0_lt_compat, Rabs_pos_lt, Hz| |].
      + eapply Rle_trans; [exact La|apply bpow_le; lia].
      + rewrite <- (Z.opp_involutive 149), bpow_opp.
        apply Rinv_le_contravar; [apply bpow_gt_0|exact M].
  Qed.

  (** FMT.P5 *)
  Theorem rounded_arithmetic_is_correctly_rounded rule op a b :
    number a -> number b -> Rabs a <= bpow radix2 128 -> Rabs b <= bpow radix2 128 -> (op = divided -> b <> 0) ->
    round_to prec emin largest rule (round64 standard (Finite (apply_operation op a b)))
    = round_to prec emin largest rule (Finite (apply_operation op a b)).
  Proof.
    intros Ha Hb La Lb Hz; rewrite no_overflow_in_binary64 by (apply result_size; assumption).
    simpl; rewrite two_roundings_of_an_operation by assumption; reflexivity.
  Qed.

  (** FMT.P5 *)
  Theorem rounded_root_is_correctly_rounded rule a : number a -> Rabs a <= bpow radix2 128 ->
    round_to prec emin largest rule (round64 standard (Finite (sqrt a)))
    = round_to prec emin largest rule (Finite (sqrt a)).
  Proof.
    intros Ha La; rewrite no_overflow_in_binary64.
    - simpl; rewrite two_roundings_of_a_root by assumption; reflexivity.
    - rewrite Rabs_right by apply Rle_ge, sqrt_pos.
      apply Rle_trans with (bpow radix2 64); [|apply bpow_le; lia].
      rewrite <- (sqrt_Rsqr (bpow radix2 64)) by apply bpow_ge_0; apply sqrt_le_1_alt.
      unfold Rsqr; rewrite <- bpow_plus; apply Rabs_bounds in La; apply La.
  Qed.
End Twice.
