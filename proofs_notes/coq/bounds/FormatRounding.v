(** Rounding to a format with a largest number (FMT.D3, FMT.D6): it is monotone and idempotent (FMT.P3), and the
    arithmetic of a small format is that of binary64, rounded (FMT.P5). *)
From Attest Require Import Formats.
From Coquelicot Require Import Rbar.
From Flocq Require Import Core Double_rounding.

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

(** * The examples of chapter 16: ties in f8e4m3, the end of f16, the smallest subnormal numbers. *)

Lemma nearest_in_steps prec emin x e s n :
  bpow radix2 (e - 1) <= Rabs x < bpow radix2 e -> Z.max (e - prec) emin = s ->
  ZnearestE (x * bpow radix2 (- s)) = n -> nearest prec emin x = IZR n * bpow radix2 s.
Proof.
  intros He Hs Hn; unfold nearest, round, F2R, scaled_mantissa, cexp; simpl.
  rewrite (mag_unique radix2 x e He); unfold FLT_exp; rewrite Hs, Hn; reflexivity.
Qed.

Lemma closer x n : Rabs (x - IZR n) < / 2 -> ZnearestE x = n.
Proof. intros H; apply Znearest_imp; exact H. Qed.

Lemma tie x n : x = IZR n + / 2 -> ZnearestE x = if Z.even n then n else (n + 1)%Z.
Proof.
  intros ->; unfold Znearest.
  assert (F : Zfloor (IZR n + / 2) = n) by (apply Zfloor_imp; rewrite plus_IZR; lra).
  rewrite F, Rcompare_Eq by lra.
  replace (Zceil (IZR n + / 2)) with (n + 1)%Z by (symmetry; apply Zceil_imp; rewrite minus_IZR, plus_IZR; lra).
  destruct (Z.even n); reflexivity.
Qed.

(** FMT.E1 *)
Lemma FMT_E1 : let f8e4m3 := round_to 4 (-9) 448 in
  f8e4m3 standard (Finite 464) = Finite 448 /\ f8e4m3 standard (Finite 465) = p_infty /\
  f8e4m3 saturate (Finite 465) = Finite 448.
Proof.
  assert (A : nearest 4 (-9) 464 = 448).
  { rewrite (nearest_in_steps _ _ _ 9 5 14); [simpl; lra|simpl; rewrite Rabs_right; lra|reflexivity|].
    apply (tie _ 14); simpl; lra. }
  assert (B : nearest 4 (-9) 465 = 480).
  { rewrite (nearest_in_steps _ _ _ 9 5 15); [simpl; lra|simpl; rewrite Rabs_right; lra|reflexivity|].
    apply closer; simpl; apply Rabs_lt; lra. }
  intros f; unfold f, round_to; rewrite A, B.
  repeat split; repeat destruct (Rle_dec _ _); try lra; reflexivity.
Qed.

(** FMT.E2 *)
Lemma FMT_E2 : let f16 := round_to 11 (-24) 65504 in
  f16 standard (Finite 65519) = Finite 65504 /\ f16 standard (Finite 65520) = p_infty /\
  f16 saturate (Finite 65520) = Finite 65504.
Proof.
  assert (A : nearest 11 (-24) 65519 = 65504).
  { rewrite (nearest_in_steps _ _ _ 16 5 2047); [simpl; lra|simpl; rewrite Rabs_right; lra|reflexivity|].
    apply closer; simpl; apply Rabs_lt; lra. }
  assert (B : nearest 11 (-24) 65520 = 65536).
  { rewrite (nearest_in_steps _ _ _ 16 5 2048); [simpl; lra|simpl; rewrite Rabs_right; lra|reflexivity|].
    apply (tie _ 2047); simpl; lra. }
  intros f; unfold f, round_to; rewrite A, B.
  repeat split; repeat destruct (Rle_dec _ _); try lra; reflexivity.
Qed.

(** FMT.E3: multiples of the smallest number above zero, in every format *)
Lemma FMT_E3 prec emin : (2 <= prec)%Z -> let delta := bpow radix2 emin in
  nearest prec emin (/ 2 * delta) = 0 /\ nearest prec emin ((/ 2 + bpow radix2 (-100)) * delta) = delta /\
  nearest prec emin (3 / 2 * delta) = 2 * delta.
Proof.
  intros Hp delta; assert (P : 0 < delta) by apply bpow_gt_0.
  assert (S : forall k, bpow radix2 (emin + k) = delta * bpow radix2 k) by (intros; apply bpow_plus).
  assert (D : forall x, x * delta * bpow radix2 (- emin) = x).
  { intros x; rewrite Rmult_assoc; unfold delta; rewrite <- bpow_plus, Z.add_opp_diag_r; simpl; ring. }
  assert (T : 0 < bpow radix2 (-100) < / 4).
  { split; [apply bpow_gt_0|]; change (/ 4) with (bpow radix2 (-2)); apply bpow_lt; lia. }
  assert (B1 : bpow radix2 (-1) = / 2) by reflexivity; assert (B2 : bpow radix2 1 = 2) by reflexivity.
  repeat split.
  - rewrite (nearest_in_steps _ _ _ (emin + 0) emin 0); [simpl; ring| |lia|apply (tie _ 0); rewrite D; simpl; lra].
    replace (emin + 0 - 1)%Z with (emin + -1)%Z by ring; rewrite !S, B1; simpl (bpow radix2 0).
    rewrite Rabs_right; lra.
  - rewrite (nearest_in_steps _ _ _ (emin + 0) emin 1); [fold delta; ring| |lia|].
    + replace (emin + 0 - 1)%Z with (emin + -1)%Z by ring; rewrite !S, B1; simpl (bpow radix2 0).
      rewrite Rabs_right by (apply Rle_ge, Rmult_le_pos; lra); nra.
    + apply closer; rewrite D; apply Rabs_lt; lra.
  - rewrite (nearest_in_steps _ _ _ (emin + 1) emin 2); [fold delta; ring| |lia|].
    + replace (emin + 1 - 1)%Z with (emin + 0)%Z by ring; rewrite !S, B2; simpl (bpow radix2 0).
      rewrite Rabs_right; lra.
    + apply (tie _ 1); rewrite D; lra.
Qed.
