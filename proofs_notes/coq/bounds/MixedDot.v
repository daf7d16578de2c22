(** Dot products of numbers of a small format in a large one: products are exact, so only the additions round, and in
    blocks they are few. Binary32 in binary64 is the case of a reference for float inputs. *)
From Flocq Require Import Core.
From Attest Require Import DotBound Formats Ieee.
Open Scope R_scope.

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
