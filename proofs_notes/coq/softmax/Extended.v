(** Extended arithmetic with rounding: the real numbers, two infinities and NaN.

    There is one zero. A result of an operation on finite numbers is rounded by any function that a rounding can be:
    monotone, constant on its own finite results, exact at 0. It may overflow to an infinity. Rounding to nearest is
    one, with the exponents of any format; another is exact arithmetic. The exponential is any function E that, up to 0,
    has finite results that are not negative, with E 0 = 1: no library's accuracy is assumed. *)
From Attest Require Export Programs.
From Flocq Require Import Core.

(** ** Extended arithmetic (chapter 00) *)

Definition infinity_with_the_sign_of (x : R) : extended :=
  if Rlt_dec 0 x then PlusInfinity else if Rlt_dec x 0 then MinusInfinity else NaN.

Definition extended_opp (x : extended) : extended :=
  match x with
  | Finite a => Finite (- a)
  | MinusInfinity => PlusInfinity
  | PlusInfinity => MinusInfinity
  | NaN => NaN
  end.
Definition extended_add (rnd : R -> extended) (x y : extended) : extended :=
  match x, y with
  | NaN, _ | _, NaN => NaN
  | PlusInfinity, MinusInfinity | MinusInfinity, PlusInfinity => NaN
  | PlusInfinity, _ | _, PlusInfinity => PlusInfinity
  | MinusInfinity, _ | _, MinusInfinity => MinusInfinity
  | Finite a, Finite b => rnd (a + b)
  end.
Definition extended_mul (rnd : R -> extended) (x y : extended) : extended :=
  match x, y with
  | NaN, _ | _, NaN => NaN
  | Finite a, Finite b => rnd (a * b)
  | Finite a, PlusInfinity | PlusInfinity, Finite a => infinity_with_the_sign_of a
  | Finite a, MinusInfinity | MinusInfinity, Finite a => infinity_with_the_sign_of (- a)
  | PlusInfinity, PlusInfinity | MinusInfinity, MinusInfinity => PlusInfinity
  | _, _ => MinusInfinity
  end.
(** a quotient by the one zero has the sign of the dividend *)
Definition extended_div (rnd : R -> extended) (x y : extended) : extended :=
  match x, y with
  | NaN, _ | _, NaN => NaN
  | Finite a, Finite b => if Req_EM_T b 0 then infinity_with_the_sign_of a else rnd (a / b)
  | Finite _, _ => Finite 0
  | PlusInfinity, Finite b => if Rlt_dec b 0 then MinusInfinity else PlusInfinity
  | MinusInfinity, Finite b => if Rlt_dec b 0 then PlusInfinity else MinusInfinity
  | _, _ => NaN
  end.
Definition extended_exp (E : R -> extended) (x : extended) : extended :=
  match x with
  | Finite a => E a
  | MinusInfinity => Finite 0
  | PlusInfinity => PlusInfinity
  | NaN => NaN
  end.
Definition extended_ln (rnd : R -> extended) (x : extended) : extended :=
  match x with
  | Finite a => if Rlt_dec 0 a then rnd (ln a) else if Req_EM_T a 0 then MinusInfinity else NaN
  | PlusInfinity => PlusInfinity
  | _ => NaN
  end.
Definition extended_max (x y : extended) : extended :=
  match x, y with
  | NaN, _ | _, NaN => NaN
  | PlusInfinity, _ | _, PlusInfinity => PlusInfinity
  | MinusInfinity, z | z, MinusInfinity => z
  | Finite a, Finite b => Finite (Rmax a b)
  end.
Lemma extended_max_below x : extended_max MinusInfinity x = x.
Proof. destruct x; reflexivity. Qed.
Definition maximum (l : list extended) : extended := fold_right extended_max MinusInfinity l.             (* NUM.D3 *)

Definition extended_arithmetic (rnd E : R -> extended) : arithmetic extended :=
  Arithmetic extended (Finite 0) (extended_add rnd) (fun x y => extended_add rnd x (extended_opp y))
             (extended_mul rnd) (extended_div rnd) (extended_exp E) (extended_ln rnd) maximum.

(** ONL.P3: an empty block that is written with minus infinity as its shift is no identity: two of them give NaN *)
Theorem an_infinite_shift_is_not_an_empty_block rnd E :
  let b := BlockOfNumbers (Some MinusInfinity) (Finite 0) [Finite 0] in
  let merged := merge_steps (extended_arithmetic rnd E) b b in
  sum_number merged = NaN /\ weighted_numbers merged = [NaN].
Proof. split; reflexivity. Qed.

(** ** Rounding *)

Definition at_most (x y : extended) : Prop :=
  match x, y with
  | NaN, _ | _, NaN => False
  | MinusInfinity, _ | _, PlusInfinity => True
  | Finite a, Finite b => a <= b
  | _, _ => False
  end.

Record rounding (rnd E : R -> extended) : Prop := Rounding {
  rounding_monotone : forall x y, x <= y -> at_most (rnd x) (rnd y);
  rounding_fixed : forall x y, rnd x = Finite y -> rnd y = Finite y;
  rounding_zero : rnd 0 = Finite 0;
  exponential_finite : forall x, x <= 0 -> exists y, E x = Finite y /\ 0 <= y /\ rnd y = Finite y;
  exponential_zero : E 0 = Finite 1
}.

(** no rounding: the exact extended reals *)
Lemma exact_rounds : rounding Finite (fun x => Finite (exp x)).
Proof.
  split; simpl; auto.
  - intros x _; exists (exp x); repeat split; apply Rlt_le, exp_pos.
  - rewrite exp_0; reflexivity.
Qed.

(** rounding to nearest, ties to even, in a format with precision p, least exponent emin and greatest number omega *)
Section ToNearest.
Variables (emin p : Z) (omega : R).
Hypothesis p_pos : (0 < p)%Z.
Hypothesis emin_neg : (emin <= 0)%Z.
Hypothesis omega_ge_1 : 1 <= omega.

Let nearest (x : R) : R := round radix2 (FLT_exp emin p) ZnearestE x.
Definition to_nearest (x : R) : extended :=
  if Rle_dec (Rabs (nearest x)) omega then Finite (nearest x) else infinity_with_the_sign_of (nearest x).

Let valid : Valid_exp (FLT_exp emin p).
Proof. apply FLT_exp_valid; exact p_pos. Qed.
Let nearest_twice x : nearest (nearest x) = nearest x.
Proof. apply round_generic; [apply valid_rnd_N|apply generic_format_round; [exact valid|apply valid_rnd_N]]. Qed.
Let nearest_monotone x y : x <= y -> nearest x <= nearest y.
Proof. intros H; apply round_le; [exact valid|apply valid_rnd_N|exact H]. Qed.
Let nearest_0 : nearest 0 = 0.
Proof. apply round_0, valid_rnd_N. Qed.
Let nearest_1 : nearest 1 = 1.
Proof.
  apply round_generic; [apply valid_rnd_N|]; change 1 with (bpow radix2 0).
  apply generic_format_FLT_bpow; [exact p_pos|exact emin_neg].
Qed.

Lemma to_nearest_finite x y : to_nearest x = Finite y -> y = nearest x /\ Rabs y <= omega.
Proof.
  unfold to_nearest, infinity_with_the_sign_of; destruct (Rle_dec _ _) as [H|H].
  - intros E; injection E as <-; auto.
  - repeat destruct (Rlt_dec _ _); discriminate.
Qed.

Lemma to_nearest_of_a_number y : nearest y = y -> Rabs y <= omega -> to_nearest y = Finite y.
Proof. intros E H; unfold to_nearest; rewrite E; destruct (Rle_dec _ _); [reflexivity|contradiction]. Qed.

Lemma to_nearest_rounds : rounding to_nearest (fun x => to_nearest (exp x)).
Proof.
  split.
  - intros x y H; apply nearest_monotone in H; unfold to_nearest, infinity_with_the_sign_of.
    repeat destruct (Rle_dec _ _); repeat destruct (Rlt_dec _ _); simpl; try exact I; try lra;
      unfold Rabs in *; repeat destruct (Rcase_abs _); lra.
  - intros x y E; destruct (to_nearest_finite x y E) as [-> H]; apply to_nearest_of_a_number; auto.
  - apply to_nearest_of_a_number; [exact nearest_0|rewrite Rabs_R0; lra].
  - intros x H; pose proof (exp_le x 0 H) as L; rewrite exp_0 in L; pose proof (exp_pos x).
    pose proof (nearest_monotone 0 (exp x) ltac:(lra)); pose proof (nearest_monotone (exp x) 1 L).
    exists (nearest (exp x)); rewrite nearest_0, nearest_1 in *.
    assert (B : Rabs (nearest (exp x)) <= omega) by (rewrite Rabs_pos_eq; lra).
    repeat split; [|assumption|apply to_nearest_of_a_number; auto].
    unfold to_nearest; destruct (Rle_dec _ _); [reflexivity|contradiction].
  - rewrite exp_0; apply to_nearest_of_a_number; [exact nearest_1|rewrite Rabs_R1; exact omega_ge_1].
Qed.
End ToNearest.

(** binary64, as IEEE 754 has it *)
Lemma binary64_rounds :
  let rnd := to_nearest (-1074) 53 (bpow radix2 1024 - bpow radix2 971) in rounding rnd (fun x => rnd (exp x)).
Proof.
  apply to_nearest_rounds; [reflexivity|discriminate|].
  replace (bpow radix2 1024) with (bpow radix2 53 * bpow radix2 971) by (rewrite <- bpow_plus; reflexivity).
  assert (1 <= bpow radix2 971) by (change 1 with (bpow radix2 0); apply bpow_le; discriminate).
  assert (2 <= bpow radix2 53) by (change 2 with (bpow radix2 1); apply bpow_le; discriminate).
  nra.
Qed.
