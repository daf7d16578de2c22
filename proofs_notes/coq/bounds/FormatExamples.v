(** The examples of chapter 16: ties in f8e4m3, the end of f16, the smallest subnormal numbers. *)
From Flocq Require Import Core.
From Attest Require Import FormatRounding Formats.
From Coquelicot Require Import Rbar.
Open Scope R_scope.

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
