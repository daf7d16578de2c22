(** Sums and products without loss: two_sum, fast_two_sum and two_prod return a rounded result and its error, both
    numbers of the format. They are the steps of an arithmetic of double length. *)
From Attest Require Import Rounding Formats.
From Flocq Require Import Core Plus_error Mult_error Relative Pff.Pff2Flocq.

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

(** * Arithmetic of double length: a real number is held as a pair of numbers, high and low. The error of a sum is below
    4 u^2 of its terms, that of a product below 8 u^2 of itself. *)

Section DoubleDouble.
  Variables (prec emin : Z).
  Context (Hp : Prec_gt_0 prec).
  Hypothesis Hprec : (3 <= prec)%Z.
  Hypothesis Hemin : (emin <= 0)%Z.
  Notation RN := (nearest prec emin).
  Notation number := (format_number prec emin).
  Notation u := (bpow radix2 (- prec)).
  Notation omega := (u * bpow radix2 (emin + prec - 1)).

  Definition pair_value (x : R * R) : R := fst x + snd x.
  (** two numbers, the low one at most half an ulp of the high one *)
  Definition pair_is_normal (x : R * R) : Prop := number (fst x) /\ number (snd x) /\ Rabs (snd x) <= u * Rabs (fst x).

  Definition pair_add (x y : R * R) : R * R :=
    let (h, l) := two_sum prec emin (fst x) (fst y) in
    two_sum prec emin h (RN (l + RN (snd x + snd y))).
  Definition pair_multiply (x y : R * R) : R * R :=
    let (h, l) := two_prod prec emin (fst x) (fst y) in
    two_sum prec emin h (RN (l + RN (fst x * snd y + RN (snd x * fst y)))).

  Lemma u_small : 0 < u <= / 8.
  Proof. split; [apply bpow_gt_0|change (/ 8) with (bpow radix2 (-3)); apply bpow_le; lia]. Qed.

  Lemma omega_nonneg : 0 <= omega.
  Proof. apply Rmult_le_pos; apply bpow_ge_0. Qed.

  Lemma sum_rounded x y e : number x -> number y -> Rabs x + Rabs y <= e -> Rabs (RN (x + y) - (x + y)) <= u * e.
  Proof.
    intros Fx Fy He.
    pose proof (close_to_error _ _ _ _ (nearest_sum prec emin Hp x y Fx Fy)) as C; rewrite Rplus_0_r in C.
    eapply Rle_trans; [exact C|]; apply Rmult_le_compat_l; [apply bpow_ge_0|].
    eapply Rle_trans; [apply Rabs_triang|exact He].
  Qed.

  Lemma real_rounded x e : Rabs x <= e -> Rabs (RN x - x) <= u * e + omega.
  Proof.
    intros He; pose proof (close_to_error _ _ _ _ (nearest_close prec emin Hp x)) as C.
    pose proof (Rmult_le_compat_l u _ _ (bpow_ge_0 _ _) He); lra.
  Qed.

  Theorem pair_add_error x y : pair_is_normal x -> pair_is_normal y ->
    Rabs (pair_value (pair_add x y) - (pair_value x + pair_value y))
      <= 4 * (u * u) * (Rabs (fst x) + Rabs (fst y)).
  Proof.
    intros (Fxh & Fxl & Hx) (Fyh & Fyl & Hy); pose proof u_small as Hu; unfold pair_add, pair_value.
    set (M := Rabs (fst x) + Rabs (fst y)).
    pose proof (two_sum_is_exact prec emin ltac:(lia) Hemin (fst x) (fst y) Fxh Fyh) as E.
    pose proof (two_sum_error prec emin Hp ltac:(lia) Hemin (fst x) (fst y) Fxh Fyh) as Hl.
    destruct (number_two_sum prec emin Hp (fst x) (fst y)) as [Nh Nl].
    destruct (two_sum prec emin (fst x) (fst y)) as [h l]; cbn [fst snd] in *.
    set (t := RN (snd x + snd y)); set (c := RN (l + t)).
    assert (Nt : number t) by apply number_nearest, Hp; assert (Nc : number c) by apply number_nearest, Hp.
    rewrite (two_sum_is_exact prec emin ltac:(lia) Hemin h c Nh Nc).
    assert (HM : 0 <= M) by (unfold M; pose proof (Rabs_pos (fst x)); pose proof (Rabs_pos (fst y)); lra).
    assert (Hlow : Rabs (snd x) + Rabs (snd y) <= u * M) by (unfold M; lra).
    assert (HL : Rabs l <= u * M).
    { eapply Rle_trans; [exact Hl|]; apply Rmult_le_compat_l; [lra|apply Rabs_triang]. }
    pose proof (sum_rounded _ _ _ Fxl Fyl Hlow) as Et; fold t in Et.
    assert (Ht : Rabs t <= u * M + u * (u * M)).
    { replace t with ((snd x + snd y) + (t - (snd x + snd y))) by ring; apply Rabs_sum; [|exact Et].
      eapply Rle_trans; [apply Rabs_triang|exact Hlow]. }
    assert (Hlt : Rabs l + Rabs t <= u * M + (u * M + u * (u * M))) by lra.
    pose proof (sum_rounded _ _ _ Nl Nt Hlt) as Ec; fold c in Ec.
    replace (h + c - (fst x + snd x + (fst y + snd y))) with ((c - (l + t)) + (t - (snd x + snd y))) by lra.
    eapply Rle_trans; [apply Rabs_sum; eassumption|].
    assert (0 <= u * u * M) by (repeat apply Rmult_le_pos; lra).
    assert (u * (u * u * M) <= / 8 * (u * u * M)) by (apply Rmult_le_compat_r; lra).
    lra.
  Qed.

  Theorem pair_multiply_error x y :
    pair_is_normal x -> pair_is_normal y -> product_is_large prec emin (fst x) (fst y) ->
    Rabs (pair_value (pair_multiply x y) - pair_value x * pair_value y)
      <= 8 * (u * u) * Rabs (fst x * fst y) + 3 * omega.
  Proof.
    intros (Fxh & Fxl & Hx) (Fyh & Fyl & Hy) Large; pose proof u_small as Hu; pose proof omega_nonneg as Hw.
    unfold pair_multiply, pair_value; set (M := Rabs (fst x * fst y)).
    assert (HM : 0 <= M) by apply Rabs_pos.
    pose proof (two_prod_is_exact prec emin Hp (fst x) (fst y) Fxh Fyh Large) as E.
    pose proof (two_prod_error prec emin Hp ltac:(lia) (fst x) (fst y) Fxh Fyh Large) as Hl; fold M in Hl.
    destruct (number_two_prod prec emin Hp (fst x) (fst y)) as [Nh Nl].
    destruct (two_prod prec emin (fst x) (fst y)) as [h l]; cbn [fst snd] in *.
    assert (L1 : Rabs (snd x * fst y) <= u * M).
    { unfold M; rewrite !Rabs_mult, <- Rmult_assoc; apply Rmult_le_compat_r; [apply Rabs_pos|exact Hx]. }
    assert (L2 : Rabs (fst x * snd y) <= u * M).
    { unfold M; rewrite !Rabs_mult.
      replace (u * (Rabs (fst x) * Rabs (fst y))) with (Rabs (fst x) * (u * Rabs (fst y))) by ring.
      apply Rmult_le_compat_l; [apply Rabs_pos|exact Hy]. }
    assert (L3 : Rabs (snd x * snd y) <= u * (u * M)).
    { unfold M; rewrite !Rabs_mult.
      replace (u * (u * (Rabs (fst x) * Rabs (fst y)))) with ((u * Rabs (fst x)) * (u * Rabs (fst y))) by ring.
      apply Rmult_le_compat; auto using Rabs_pos. }
    pose proof (real_rounded _ _ L1) as Ea; set (a := RN (snd x * fst y)) in *.
    assert (Ha : Rabs (fst x * snd y + a) <= u * M + (u * M + (u * (u * M) + omega))).
    { apply Rabs_sum; [exact L2|].
      replace a with (snd x * fst y + (a - snd x * fst y)) by ring; apply Rabs_sum; assumption. }
    pose proof (real_rounded _ _ Ha) as Et; set (t := RN (fst x * snd y + a)) in *.
    set (B := u * M + (u * M + (u * (u * M) + omega))) in *.
    assert (Ht : Rabs l + Rabs t <= u * M + (B + (u * B + omega))).
    { apply Rplus_le_compat; [exact Hl|].
      replace t with ((fst x * snd y + a) + (t - (fst x * snd y + a))) by ring; apply Rabs_sum; assumption. }
    assert (Nt : number t) by apply number_nearest, Hp.
    pose proof (sum_rounded _ _ _ Nl Nt Ht) as Ec; set (c := RN (l + t)) in *.
    assert (Nc : number c) by apply number_nearest, Hp.
    rewrite (two_sum_is_exact prec emin ltac:(lia) Hemin h c Nh Nc).
    replace (h + c - (fst x + snd x) * (fst y + snd y))
      with ((c - (l + t)) + ((t - (fst x * snd y + a)) + ((a - snd x * fst y) + - (snd x * snd y)))) by lra.
    rewrite <- Rabs_Ropp in L3.
    eapply Rle_trans; [repeat (apply Rabs_sum; [eassumption|]); exact L3|].
    unfold B; clear -HM Hu Hw.
    set (m := u * (u * M)); assert (Hm : 0 <= m) by (repeat apply Rmult_le_pos; lra).
    assert (0 <= u * omega <= / 8 * omega) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
    assert (0 <= u * (u * omega) <= / 8 * (u * omega))
      by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
    assert (0 <= u * m <= / 8 * m) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
    assert (0 <= u * (u * m) <= / 8 * (u * m)) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
    unfold m in *; lra.
  Qed.

  (** results are normal again, so that operations can follow one another *)
  Lemma two_sum_is_normal x y : number x -> number y -> pair_is_normal (two_sum prec emin x y).
  Proof.
    intros Fx Fy; destruct (number_two_sum prec emin Hp x y) as [Nh Nl]; split; [exact Nh|]; split; [exact Nl|].
    pose proof (two_sum_is_exact prec emin ltac:(lia) Hemin x y Fx Fy) as E.
    destruct (FLT_plus_error_N_round_ex radix2 emin prec (fun z => negb (Z.even z)) x y Fx Fy) as (d & Hd & Ed).
    unfold u_ro in Hd; rewrite half_ulp_of_1 in Hd; fold (nearest prec emin (x + y)) in Ed.
    change (fst (two_sum prec emin x y)) with (nearest prec emin (x + y)) in *.
    replace (snd (two_sum prec emin x y)) with (d * nearest prec emin (x + y)) by lra.
    rewrite Rabs_mult; apply Rmult_le_compat_r; [apply Rabs_pos|exact Hd].
  Qed.

  Theorem pair_results_are_normal x y :
    pair_is_normal (pair_add x y) /\ pair_is_normal (pair_multiply x y).
  Proof.
    unfold pair_add, pair_multiply; split.
    - destruct (number_two_sum prec emin Hp (fst x) (fst y)) as [Nh _].
      destruct (two_sum prec emin (fst x) (fst y)) as [h l].
      apply two_sum_is_normal; [exact Nh|apply number_nearest, Hp].
    - destruct (number_two_prod prec emin Hp (fst x) (fst y)) as [Nh _].
      destruct (two_prod prec emin (fst x) (fst y)) as [h l].
      apply two_sum_is_normal; [exact Nh|apply number_nearest, Hp].
  Qed.
End DoubleDouble.
