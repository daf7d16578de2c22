(** Sums and products without loss: two_sum, fast_two_sum and two_prod return a rounded result and its error, both
    numbers of the format. They are the steps of an arithmetic of double length. *)
From Flocq Require Import Core Mult_error Pff.Pff2Flocq.
From Attest Require Import Rounding Formats.
Open Scope R_scope.

Section Pairs.
  Variables (prec emin : Z).
  Context (Hp : Prec_gt_0 prec).
  Hypothesis Hprec : (2 <= prec)%Z.
  Hypothesis Hemin : (emin <= 0)%Z.
  Notation RN := (nearest prec emin).
  Notation number := (format_number prec emin).
  Notation u := (bpow radix2 (- prec)).

  (** six additions, any two numbers *)
  Definition two_sum (x y : R) : R * R :=
    let s := RN (x + y) in
    let y' := RN (s - x) in
    (s, RN (RN (x - RN (s - y')) + RN (y - y'))).
  (** three, where |x| >= |y| *)
  Definition fast_two_sum (x y : R) : R * R :=
    let s := RN (x + y) in (s, RN (y + RN (x - s))).
  (** a product and a fused multiply-add *)
  Definition two_prod (x y : R) : R * R :=
    let p := RN (x * y) in (p, RN (x * y - p)).

  Lemma ties_to_even_are_symmetric z : negb (Z.even z) = negb (negb (Z.even (- (z + 1)))).
  Proof. rewrite Z.even_opp, Z.even_add; destruct (Z.even z); reflexivity. Qed.

  Theorem two_sum_is_exact x y : number x -> number y -> fst (two_sum x y) + snd (two_sum x y) = x + y.
  Proof.
    intros Fx Fy.
    apply (TwoSum_correct emin prec (fun z => negb (Z.even z)) ltac:(lia) Hemin ties_to_even_are_symmetric x y Fx Fy).
  Qed.

  Theorem fast_two_sum_is_exact x y : number x -> number y -> Rabs y <= Rabs x ->
    fst (fast_two_sum x y) + snd (fast_two_sum x y) = x + y.
  Proof.
    intros Fx Fy Hxy.
    apply (Fast2Sum_correct emin prec (fun z => negb (Z.even z)) ltac:(lia) Hemin ties_to_even_are_symmetric x y Fx Fy).
    exact Hxy.
  Qed.

  (** no underflow: the product is zero, or so large that its error is a number *)
  Definition product_is_large (x y : R) : Prop := x * y = 0 \/ bpow radix2 (emin + 2 * prec - 1) <= Rabs (x * y).

  Theorem two_prod_is_exact x y : number x -> number y -> product_is_large x y ->
    fst (two_prod x y) + snd (two_prod x y) = x * y.
  Proof.
    intros Fx Fy Hxy; unfold two_prod; simpl.
    assert (F : number (x * y - RN (x * y))).
    { rewrite <- Ropp_minus_distr; apply generic_format_opp.
      apply (mult_error_FLT radix2 emin prec ZnearestE x y Fx Fy).
      intros H; destruct Hxy as [Z|L]; [contradiction|exact L]. }
    rewrite (nearest_number _ _ _ F); ring.
  Qed.

  (** the errors are at most half an ulp *)
  Theorem two_sum_error x y : number x -> number y -> Rabs (snd (two_sum x y)) <= u * Rabs (x + y).
  Proof.
    intros Fx Fy; pose proof (two_sum_is_exact x y Fx Fy) as E.
    pose proof (close_to_error _ _ _ _ (nearest_sum prec emin Hp x y Fx Fy)) as C.
    replace (snd (two_sum x y)) with (- (RN (x + y) - (x + y)))
      by (change (fst (two_sum x y)) with (RN (x + y)) in E; lra).
    rewrite Rabs_Ropp; lra.
  Qed.

  Theorem two_prod_error x y : number x -> number y -> product_is_large x y ->
    Rabs (snd (two_prod x y)) <= u * Rabs (x * y).
  Proof.
    intros Fx Fy Hxy; pose proof (two_prod_is_exact x y Fx Fy Hxy) as E.
    replace (snd (two_prod x y)) with (- (RN (x * y) - x * y))
      by (change (fst (two_prod x y)) with (RN (x * y)) in E; lra).
    rewrite Rabs_Ropp; destruct Hxy as [Z|L].
    - rewrite Z, nearest_number by apply generic_format_0; rewrite Rminus_0_r, Rabs_R0; lra.
    - pose proof (Relative.relative_error_N_FLT radix2 emin prec Hp (fun t => negb (Z.even t)) (x * y)) as C.
      rewrite half_ulp_of_1 in C; apply C.
      eapply Rle_trans; [apply bpow_le|exact L]; lia.
  Qed.

  Lemma number_two_sum x y : number (fst (two_sum x y)) /\ number (snd (two_sum x y)).
  Proof. split; apply number_nearest, Hp. Qed.

  Lemma number_two_prod x y : number (fst (two_prod x y)) /\ number (snd (two_prod x y)).
  Proof. split; apply number_nearest, Hp. Qed.
End Pairs.
