(** From real numbers that are rounded to IEEE 754 operations: if a computed dot product is finite, nothing has
    overflowed on the way, and it is the rounded one of DotBound.v. Any order; products rounded or fused. *)
From Attest Require Import DotBound Formats.
From Flocq Require Import Core IEEE754.BinarySingleNaN.

Open Scope R_scope.

Section Ieee.
  Variables (prec emax : Z).
  Context (Hp : Prec_gt_0 prec) (He : Prec_lt_emax prec emax).
  Notation flt := (binary_float prec emax).
  Notation fadd := (Bplus mode_NE).
  Notation fmul := (Bmult mode_NE).
  Notation ffma := (Bfma mode_NE).
  Notation rnd := (nearest prec (3 - emax - prec)).

  Lemma overflow_not_finite (x : flt) s : B2SF x = binary_overflow prec emax mode_NE s -> is_finite x = false.
  Proof. intros H; rewrite <- is_finite_SF_B2SF, H; reflexivity. Qed.

  Lemma fmul_finite (x y : flt) : is_finite (fmul x y) = true -> B2R (fmul x y) = rnd (B2R x * B2R y).
  Proof.
    intros H; pose proof (Bmult_correct prec emax Hp He mode_NE x y) as C.
    destruct (Rlt_bool _ _); [apply C|].
    apply overflow_not_finite in C; congruence.
  Qed.

  Lemma fadd_finite (x y : flt) : is_finite (fadd x y) = true ->
    is_finite x = true /\ is_finite y = true /\ B2R (fadd x y) = rnd (B2R x + B2R y).
  Proof.
    intros H.
    assert (F : is_finite x = true /\ is_finite y = true)
      by (split; destruct x as [| [] | |], y as [| [] | |]; try reflexivity; discriminate H).
    destruct F as [Fx Fy]; pose proof (Bplus_correct prec emax Hp He mode_NE x y Fx Fy) as C.
    destruct (Rlt_bool _ _); [repeat split; auto; apply C|].
    destruct C as [C _]; apply overflow_not_finite in C; congruence.
  Qed.

  Lemma ffma_finite (x y z : flt) : is_finite (ffma x y z) = true ->
    is_finite z = true /\ B2R (ffma x y z) = rnd (B2R x * B2R y + B2R z).
  Proof.
    intros H.
    assert (F : is_finite x = true /\ is_finite y = true /\ is_finite z = true)
      by (destruct x as [| [] | | []], y as [| [] | | []], z as [| [] | |];
          first [repeat split; reflexivity | discriminate H]).
    destruct F as (Fx & Fy & Fz); pose proof (Bfma_correct prec emax Hp He mode_NE x y z Fx Fy Fz) as C; simpl in C.
    destruct (Rlt_bool _ _); [split; [assumption|apply C]|].
    apply overflow_not_finite in C; congruence.
  Qed.

  (** the dot product in C++, its operations in the order t; Fused is std::fma *)
  Fixpoint ieee_dot {I} (a b : I -> flt) (t : order I) : flt :=
    match t with
    | Nothing => B754_zero false
    | Term i => fmul (a i) (b i)
    | Plus l r => fadd (ieee_dot a b l) (ieee_dot a b r)
    | Fused i r => ffma (a i) (b i) (ieee_dot a b r)
    end.

  Variables fl_exp fl_log fl_tanh : R -> R.
  Notation A := (format_arithmetic prec (3 - emax - prec) fl_exp fl_log fl_tanh).

  Theorem ieee_dot_is_fl_dot {I} (a b : I -> flt) (t : order I) : is_finite (ieee_dot a b t) = true ->
    B2R (ieee_dot a b t) = fl_dot A (fun i => B2R (a i)) (fun i => B2R (b i)) t.
  Proof.
    induction t as [| i | l IHl r IHr | i r IH]; simpl; intros H; [reflexivity| | |].
    - apply fmul_finite, H.
    - apply fadd_finite in H; destruct H as (Hl & Hr & ->); rewrite IHl, IHr by assumption; reflexivity.
    - apply ffma_finite in H; destruct H as (Hr & ->); rewrite IH by assumption; reflexivity.
  Qed.
End Ieee.

(** The six formats and their models; functions that are rounded correctly stand for the library. *)
Definition rounded_format (prec emin : Z) : float_arithmetic :=
  format_arithmetic prec emin (fun x => nearest prec emin (exp x)) (fun x => nearest prec emin (ln x))
                    (fun x => nearest prec emin (tanh x)).
Definition f64 : float_arithmetic := rounded_format 53 (-1074).
Definition f32 : float_arithmetic := rounded_format 24 (-149).
Definition f16 : float_arithmetic := rounded_format 11 (-24).
Definition bf16 : float_arithmetic := rounded_format 8 (-133).
Definition f8e4m3 : float_arithmetic := rounded_format 4 (-9).
Definition f8e5m2 : float_arithmetic := rounded_format 3 (-16).

Lemma rounded_format_is_lawful prec emin : (2 <= prec)%Z -> (emin <= - 2 * prec)%Z -> lawful (rounded_format prec emin).
Proof.
  intros H2 He; assert (Hp : Prec_gt_0 prec) by (unfold Prec_gt_0; lia).
  apply format_is_lawful; try assumption; apply correctly_rounded_functions_are_accurate; assumption.
Qed.

Theorem formats_are_lawful : lawful f64 /\ lawful f32 /\ lawful f16 /\ lawful bf16 /\ lawful f8e4m3 /\ lawful f8e5m2.
Proof. repeat match goal with |- _ /\ _ => split end; apply rounded_format_is_lawful; lia. Qed.

(** BND.B2 and SHP.P2 for double and float: any order, with FMA or without *)
Theorem dot_product_of_doubles_is_within_its_bound (a b : nat -> binary_float 53 1024) n t :
  let r := ieee_dot 53 1024 eq_refl eq_refl a b t in
  Permutation (leaves t) (range n) -> INR n * bpow radix2 (-53) < 1 -> is_finite r = true ->
  Rabs (B2R r - dot n (fun c => B2R (a c)) (fun c => B2R (b c)))
    <= dot_bound (format_model 53 (-1074)) n (fun c => B2R (a c)) (fun c => B2R (b c)).
Proof.
  intros r Ht Hn Hr; unfold r.
  rewrite (ieee_dot_is_fl_dot 53 1024 eq_refl eq_refl (fl_exp f64) (fl_log f64) (fl_tanh f64) a b t Hr).
  exact (dot_product_is_within_its_bound f64 _ _ n t (proj1 formats_are_lawful) Ht Hn).
Qed.

Theorem dot_product_of_floats_is_within_its_bound (a b : nat -> binary_float 24 128) n t :
  let r := ieee_dot 24 128 eq_refl eq_refl a b t in
  Permutation (leaves t) (range n) -> INR n * bpow radix2 (-24) < 1 -> is_finite r = true ->
  Rabs (B2R r - dot n (fun c => B2R (a c)) (fun c => B2R (b c)))
    <= dot_bound (format_model 24 (-149)) n (fun c => B2R (a c)) (fun c => B2R (b c)).
Proof.
  intros r Ht Hn Hr; unfold r.
  rewrite (ieee_dot_is_fl_dot 24 128 eq_refl eq_refl (fl_exp f32) (fl_log f32) (fl_tanh f32) a b t Hr).
  exact (dot_product_is_within_its_bound f32 _ _ n t (proj1 (proj2 formats_are_lawful)) Ht Hn).
Qed.

(** * Dot products of numbers of a small format in a large one: products are exact, so only the additions round, and in
    blocks they are few. Binary32 in binary64 is the case of a reference for float inputs. *)

(** twice the bits and twice the range hold every product *)
Theorem product_is_a_number prec emin prec' emin' x y :
  (0 < prec)%Z -> (2 * prec <= prec')%Z -> (emin' <= 2 * emin)%Z ->
  format_number prec emin x -> format_number prec emin y -> format_number prec' emin' (x * y).
Proof.
  intros Hp Hp' He Fx Fy.
  assert (P : Prec_gt_0 prec) by exact Hp; assert (P' : Prec_gt_0 prec') by (unfold Prec_gt_0; lia).
  destruct (FLT_format_generic radix2 emin prec x Fx) as [[mx ex] -> Hmx Hex].
  destruct (FLT_format_generic radix2 emin prec y Fy) as [[my ey] -> Hmy Hey]; cbn [Fnum Fexp] in *.
  change (radix_val radix2) with 2%Z in *.
  apply generic_format_FLT; exists (Float radix2 (mx * my) (ex + ey)).
  - unfold F2R; simpl; rewrite mult_IZR, bpow_plus; ring.
  - cbn [Fnum]; change (radix_val radix2) with 2%Z; rewrite Z.abs_mul.
    apply Z.lt_le_trans with (2 ^ prec * 2 ^ prec)%Z; [apply Z.mul_lt_mono_nonneg; lia|].
    rewrite <- Z.pow_add_r by lia; apply Z.pow_le_mono_r; lia.
  - simpl; lia.
Qed.

(** n products of floats, added up as doubles in any order: n - 1 roundings and no underflow *)
Theorem floats_in_double_error (a b : nat -> R) n t :
  (forall c, (c < n)%nat -> format_number 24 (-149) (a c) /\ format_number 24 (-149) (b c)) ->
  Permutation (leaves t) (range n) -> INR (n - 1) * bpow radix2 (-53) < 1 ->
  Rabs (fl_dot f64 a b t - dot n a b) <= gamma f64 (n - 1) * sum (range n) (fun c => Rabs (a c * b c)).
Proof.
  intros Hab Ht Hn; pose proof (proj1 formats_are_lawful) as law.
  destruct (has_terms t) eqn:Hh.
  - unfold dot; rewrite <- !(sum_perm _ _ _ Ht); apply exact_products_error_by_depth; auto.
    + intros c Hc; destruct (Hab c) as [Fa Fb]; [apply in_range, (Permutation_in _ Ht), Hc|].
      apply (product_is_a_number 24 (-149)); auto; lia.
    + pose proof (depth_lt t Hh) as D; rewrite (Permutation_length Ht) in D; unfold range in D.
      rewrite seq_length in D; lia.
  - rewrite (fl_dot_nothing f64 law a b t Hh).
    unfold has_terms in Hh; destruct (leaves t); [|discriminate Hh].
    apply Permutation_nil in Ht; unfold dot; rewrite Ht; simpl; rewrite Rminus_0_r, Rabs_R0; lra.
Qed.

(** in blocks of at most L, m of them, each in turn and then their sums in turn: L + m - 2 roundings *)
Theorem floats_in_double_error_in_blocks (a b : nat -> R) n L blocks :
  (forall c, (c < n)%nat -> format_number 24 (-149) (a c) /\ format_number 24 (-149) (b c)) ->
  concat blocks = range n -> (1 <= L)%nat -> (forall l, In l blocks -> (length l <= L)%nat) ->
  let k := (L - 1 + (length blocks - 1))%nat in
  INR k * bpow radix2 (-53) < 1 ->
  Rabs (fl_dot f64 a b (in_blocks blocks) - dot n a b) <= gamma f64 k * sum (range n) (fun c => Rabs (a c * b c)).
Proof.
  intros Hab Hb HL Hl k Hk; pose proof (proj1 formats_are_lawful) as law.
  unfold dot; rewrite <- Hb, <- terms_in_blocks; apply exact_products_error_by_depth; auto.
  - intros c Hc; rewrite terms_in_blocks, Hb in Hc; apply in_range in Hc; destruct (Hab c Hc) as [Fa Fb].
    apply (product_is_a_number 24 (-149)); auto; lia.
  - apply depth_of_blocks; assumption.
Qed.
