(** Masking by adding minus infinity, in extended arithmetic with rounding.

    The numbers are the real ones, two infinities and NaN, with one zero. Each operation is rounded by any function that
    a rounding can be: monotone, constant on what it has rounded, exact at 0. Rounding to nearest is one; the identity,
    which gives the exact extended reals, is another. The exponential is any function E into rounded numbers that are
    not negative, with E 0 = 1: no library's accuracy is assumed. Operations on finite numbers do not overflow. *)
From Attest Require Export Programs.
From Flocq Require Import Core.

Record rounding (rnd E : R -> R) : Prop := Rounding {
  rounding_monotone : forall x y, x <= y -> rnd x <= rnd y;
  rounding_idempotent : forall x, rnd (rnd x) = rnd x;
  rounding_zero : rnd 0 = 0;
  exponential_rounded : forall x, rnd (E x) = E x;
  exponential_nonneg : forall x, 0 <= E x;
  exponential_zero : E 0 = 1
}.

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
Definition extended_add (rnd : R -> R) (x y : extended) : extended :=
  match x, y with
  | NaN, _ | _, NaN => NaN
  | PlusInfinity, MinusInfinity | MinusInfinity, PlusInfinity => NaN
  | PlusInfinity, _ | _, PlusInfinity => PlusInfinity
  | MinusInfinity, _ | _, MinusInfinity => MinusInfinity
  | Finite a, Finite b => Finite (rnd (a + b))
  end.
Definition extended_mul (rnd : R -> R) (x y : extended) : extended :=
  match x, y with
  | NaN, _ | _, NaN => NaN
  | Finite a, Finite b => Finite (rnd (a * b))
  | Finite a, PlusInfinity | PlusInfinity, Finite a => infinity_with_the_sign_of a
  | Finite a, MinusInfinity | MinusInfinity, Finite a => infinity_with_the_sign_of (- a)
  | PlusInfinity, PlusInfinity | MinusInfinity, MinusInfinity => PlusInfinity
  | _, _ => MinusInfinity
  end.
(** a quotient by the one zero has the sign of the dividend *)
Definition extended_div (rnd : R -> R) (x y : extended) : extended :=
  match x, y with
  | NaN, _ | _, NaN => NaN
  | Finite a, Finite b => if Req_EM_T b 0 then infinity_with_the_sign_of a else Finite (rnd (a / b))
  | Finite _, _ => Finite 0
  | PlusInfinity, Finite b => if Rlt_dec b 0 then MinusInfinity else PlusInfinity
  | MinusInfinity, Finite b => if Rlt_dec b 0 then PlusInfinity else MinusInfinity
  | _, _ => NaN
  end.
Definition extended_exp (E : R -> R) (x : extended) : extended :=
  match x with
  | Finite a => Finite (E a)
  | MinusInfinity => Finite 0
  | PlusInfinity => PlusInfinity
  | NaN => NaN
  end.
Definition extended_ln (rnd : R -> R) (x : extended) : extended :=
  match x with
  | Finite a => if Rlt_dec 0 a then Finite (rnd (ln a)) else if Req_EM_T a 0 then MinusInfinity else NaN
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

Definition extended_arithmetic (rnd E : R -> R) : arithmetic extended :=
  Arithmetic extended (Finite 0) (extended_add rnd) (fun x y => extended_add rnd x (extended_opp y))
             (extended_mul rnd) (extended_div rnd) (extended_exp E) (extended_ln rnd) maximum.

(** the maximum of finite numbers is one of them *)
Lemma maximum_finite (s : row) l : l <> [] ->
  exists k, In k l /\ maximum (map (fun j => Finite (s j)) l) = Finite (s k).
Proof.
  induction l as [|a [|b l] IH]; [congruence| |]; intros _.
  - exists a; simpl; auto.
  - destruct IH as [k [Hk E]]; [discriminate|].
    change (maximum (map (fun j => Finite (s j)) (a :: b :: l))) with
      (extended_max (Finite (s a)) (maximum (map (fun j => Finite (s j)) (b :: l)))); rewrite E; simpl.
    destruct (Rle_dec (s a) (s k)); [exists k; rewrite Rmax_right by assumption; simpl in *; tauto|].
    exists a; rewrite Rmax_left by lra; simpl; auto.
Qed.

(** ** The two forms, step by step *)

Section Steps.
Variables (rnd E : R -> R) (n : nat) (A : visible_set) (s : row).
Hypothesis rounds : rounding rnd E.
Hypothesis representable : forall j, (j < n)%nat -> rnd (s j) = s j.
Let F := extended_arithmetic rnd E.
Let masked (j : nat) : extended := add F (Finite (s j)) (if A j then zero F else MinusInfinity).

(** the scores: adding 0 does not round, adding minus infinity gives minus infinity *)
Lemma masked_score j : (j < n)%nat -> masked j = if A j then Finite (s j) else MinusInfinity.
Proof.
  intros H; unfold masked; destruct (A j); simpl; [|reflexivity].
  rewrite Rplus_0_r, representable by assumption; reflexivity.
Qed.

Lemma map_masked : map masked (range n) = map (fun j => if A j then Finite (s j) else MinusInfinity) (range n).
Proof. apply map_ext_in; intros j Hj; apply masked_score, in_range, Hj. Qed.

(** the shift: minus infinity is below every number *)
Lemma maximum_masked l :
  maximum (map (fun j => if A j then Finite (s j) else MinusInfinity) l) =
  maximum (map (fun j => Finite (s j)) (filter A l)).
Proof.
  induction l as [|a l IH]; [reflexivity|]; simpl map; simpl filter; unfold maximum in *; simpl fold_right; rewrite IH.
  destruct (A a); [reflexivity|]; apply extended_max_below.
Qed.

(** the total: what the hidden keys add is 0, and adding 0 rounds nothing *)
Lemma sum_over_from_zero (l : list nat) f : (forall j, In j l -> rnd (f j) = f j) ->
  sum_over F (map (fun j => Finite (f j)) l) = fold_left (add F) (map (fun j => Finite (f j)) l) (Finite 0).
Proof.
  destruct l as [|a l]; intros H; [reflexivity|]; simpl; rewrite Rplus_0_l, H by (left; reflexivity); reflexivity.
Qed.

Lemma fold_masked (l : list nat) f x : rnd x = x ->
  fold_left (add F) (map (fun j => Finite (if A j then f j else 0)) l) (Finite x) =
  fold_left (add F) (map (fun j => Finite (f j)) (filter A l)) (Finite x).
Proof.
  revert x; induction l as [|a l IH]; intros x H; [reflexivity|]; simpl; destruct (A a); simpl.
  - apply IH, (rounding_idempotent _ _ rounds).
  - rewrite Rplus_0_r, H; apply IH, H.
Qed.

Lemma sum_over_masked (l : list nat) f : (forall j, rnd (f j) = f j) ->
  sum_over F (map (fun j => Finite (if A j then f j else 0)) l) = sum_over F (map (fun j => Finite (f j)) (filter A l)).
Proof.
  intros H; rewrite !sum_over_from_zero; [apply fold_masked, (rounding_zero _ _ rounds)|auto|].
  intros j _; destruct (A j); [apply H|apply (rounding_zero _ _ rounds)].
Qed.

(** the total is a number, and one of its terms is 1 *)
Lemma fold_ge (l : list nat) f x : (forall j, 0 <= f j /\ rnd (f j) = f j) -> rnd x = x -> 0 <= x ->
  exists y, fold_left (add F) (map (fun j => Finite (f j)) l) (Finite x) = Finite y /\ x <= y /\
            forall j, In j l -> f j <= y.
Proof.
  intros H; revert x; induction l as [|a l IH]; intros x Hx Px; [exists x; simpl; repeat split; [lra|tauto]|].
  destruct (H a) as [Pa Ra]; pose proof (rounding_monotone _ _ rounds x (x + f a)) as M1.
  pose proof (rounding_monotone _ _ rounds (f a) (x + f a)) as M2.
  destruct (IH (rnd (x + f a))) as [y [Y [G K]]]; [apply (rounding_idempotent _ _ rounds)|lra|].
  exists y; split; [exact Y|]; split; [lra|]; intros j [->|Hj]; [lra|auto].
Qed.

Section Nonempty.
Variable c : R.
Let term (j : nat) : R := E (rnd (s j + - c)).

Lemma term_good j : 0 <= term j /\ rnd (term j) = term j.
Proof. split; [apply (exponential_nonneg _ _ rounds)|apply (exponential_rounded _ _ rounds)]. Qed.

Lemma total_is_positive l k : In k l -> s k = c ->
  exists y, sum_over F (map (fun j => Finite (term j)) l) = Finite y /\ 0 < y.
Proof.
  intros Hk Ek; rewrite sum_over_from_zero by (intros; apply term_good).
  destruct (fold_ge l term 0) as [y [Y [_ K]]]; [apply term_good|apply (rounding_zero _ _ rounds)|lra|].
  exists y; split; [exact Y|]; specialize (K k Hk); unfold term in K.
  rewrite Ek, Rplus_opp_r, (rounding_zero _ _ rounds), (exponential_zero _ _ rounds) in K; lra.
Qed.
End Nonempty.

(** both forms divide the same terms by the same total *)
Lemma nth_map_range {B} (f : nat -> B) d j : (j < n)%nat -> nth j (map f (range n)) d = f j.
Proof.
  intros H; unfold range; rewrite (nth_indep _ d (f 0%nat)) by (rewrite map_length, seq_length; exact H).
  rewrite map_nth, seq_nth by exact H; reflexivity.
Qed.

Lemma additive_is_gathered j : gathered n A <> [] -> (j < n)%nat ->
  nth j (additive_softmax F MinusInfinity n A (fun k => Finite (s k))) (zero F) =
  masked_softmax_steps F n A (fun k => Finite (s k)) j.
Proof.
  intros H Hj; unfold additive_softmax, masked_softmax_steps, gather; fold masked.
  rewrite map_masked, !softmax_steps_map.
  replace (shift_of F (map (fun j => if A j then Finite (s j) else MinusInfinity) (range n)))
    with (shift_of F (map (fun j => Finite (s j)) (gathered n A))) by (symmetry; apply maximum_masked).
  destruct (maximum_finite s _ H) as [k [Hk M]]; change (maximum ?l) with (shift_of F l) in M; rewrite M.
  set (c := s k); set (term := fun j => E (rnd (s j + - c))).
  rewrite (map_ext (fun j => exponent F (sub F (if A j then Finite (s j) else MinusInfinity) (Finite c)))
                   (fun j => Finite (if A j then term j else 0))) by (intros i; destruct (A i); reflexivity).
  rewrite sum_over_masked by (intros; apply (exponential_rounded _ _ rounds)).
  change (map (fun j => exponent F (sub F (Finite (s j)) (Finite c))) (gathered n A))
    with (map (fun j => Finite (term j)) (filter A (range n))).
  destruct (total_is_positive c (gathered n A) k Hk eq_refl) as [T [ET PT]].
  change (sum_over F (map (fun j => Finite (term j)) (filter A (range n))) = Finite T) in ET; rewrite ET.
  rewrite nth_map_range, scatter_map by assumption.
  destruct (in_dec Nat.eq_dec j (gathered n A)) as [I|I]; rewrite in_gathered in I.
  - destruct I as [_ ->]; reflexivity.
  - destruct (A j); [tauto|]; simpl; destruct (Req_EM_T T 0); [lra|].
    unfold Rdiv; rewrite Rmult_0_l, (rounding_zero _ _ rounds); reflexivity.
Qed.

Lemma additive_is_nan j : gathered n A = [] -> (j < n)%nat ->
  nth j (additive_softmax F MinusInfinity n A (fun k => Finite (s k))) (zero F) = NaN.
Proof.
  intros H Hj; unfold additive_softmax; fold masked; rewrite map_masked, softmax_steps_map, nth_map_range by assumption.
  replace (shift_of F _) with MinusInfinity.
  - rewrite gathered_nil in H; rewrite H by assumption; reflexivity.
  - symmetry; change (maximum (map (fun k => if A k then Finite (s k) else MinusInfinity) (range n)) = MinusInfinity).
    rewrite maximum_masked; change (filter A (range n)) with (gathered n A); rewrite H; reflexivity.
Qed.
End Steps.

(** ** Properties *)

(** SMX.P8, rounded: the two forms give the same number, and NaN on an empty row, where SMX.D3 has 0 *)
Theorem additive_form_equals_gathering rnd E n A s j :
  rounding rnd E -> (forall k, (k < n)%nat -> rnd (s k) = s k) -> gathered n A <> [] -> (j < n)%nat ->
  let F := extended_arithmetic rnd E in
  nth j (additive_softmax F MinusInfinity n A (fun k => Finite (s k))) (Finite 0) =
  masked_softmax_steps F n A (fun k => Finite (s k)) j.
Proof. intros; apply additive_is_gathered; assumption. Qed.

Theorem additive_form_of_an_empty_row_is_nan rnd E n A s j :
  rounding rnd E -> (forall k, (k < n)%nat -> rnd (s k) = s k) -> gathered n A = [] -> (j < n)%nat ->
  let F := extended_arithmetic rnd E in
  nth j (additive_softmax F MinusInfinity n A (fun k => Finite (s k))) (Finite 0) = NaN /\
  masked_softmax_steps F n A (fun k => Finite (s k)) j = Finite 0.
Proof.
  intros Hr Hs H Hj; split; [apply additive_is_nan; assumption|].
  apply (empty_rows_are_zero (extended_arithmetic rnd E)), gathered_nil, H.
Qed.

(** a hidden score of plus infinity or NaN is not claimed: adding minus infinity to it gives NaN *)
Lemma plus_infinity_is_not_hidden rnd : extended_add rnd PlusInfinity MinusInfinity = NaN.
Proof. reflexivity. Qed.

(** rounding to the nearest binary64 is a rounding (its exponent is not limited above here), with a correctly rounded
    exponential for instance *)
Definition to_nearest (x : R) : R := round radix2 (FLT_exp (-1074) 53) ZnearestE x.
Lemma to_nearest_rounds : rounding to_nearest (fun x => to_nearest (exp x)).
Proof.
  assert (V : Valid_exp (FLT_exp (-1074) 53)) by (apply FLT_exp_valid; reflexivity).
  assert (I : forall x, to_nearest (to_nearest x) = to_nearest x)
    by (intros; apply round_generic; [apply valid_rnd_N|apply generic_format_round; [exact V|apply valid_rnd_N]]).
  assert (M : forall x y, x <= y -> to_nearest x <= to_nearest y)
    by (intros; apply round_le; [exact V|apply valid_rnd_N|assumption]).
  assert (Z : to_nearest 0 = 0) by (apply round_0, valid_rnd_N).
  split; auto; intros.
  - rewrite <- Z; apply M, Rlt_le, exp_pos.
  - rewrite exp_0; apply round_generic; [apply valid_rnd_N|]; change 1 with (bpow radix2 0).
    apply generic_format_FLT_bpow; [reflexivity|discriminate].
Qed.

(** ** Exact arithmetic *)

Definition exact (x : R) : R := x.
Lemma exact_rounds : rounding exact exp.
Proof. split; unfold exact; auto using exp_0; intros; apply Rlt_le, exp_pos. Qed.

Lemma fold_exact (l : list nat) f x :
  fold_left (extended_add exact) (map (fun j => Finite (f j)) l) (Finite x) = Finite (x + sum l f).
Proof.
  revert x; induction l as [|a l IH]; intros x; simpl; [f_equal; ring|].
  unfold exact at 2; rewrite IH; f_equal; ring.
Qed.

(** without rounding the additive form has the weights of the reals *)
Theorem additive_form_has_the_real_weights n A s j :
  gathered n A <> [] -> (j < n)%nat ->
  nth j (additive_softmax (extended_arithmetic exact exp) MinusInfinity n A (fun k => Finite (s k))) (Finite 0) =
  Finite (masked_softmax n A s j).
Proof.
  intros H Hj; rewrite additive_form_equals_gathering by (auto using exact_rounds || reflexivity).
  unfold masked_softmax_steps, gather; rewrite softmax_steps_map, scatter_map.
  destruct (in_dec Nat.eq_dec j (gathered n A)) as [I|I]; [|rewrite masked_softmax_hidden by assumption; reflexivity].
  destruct (maximum_finite s _ H) as [k [_ E]]; set (F := extended_arithmetic exact exp).
  change (shift_of F (map (fun j => Finite (s j)) (gathered n A)) = Finite (s k)) in E; rewrite E.
  change (fun j => exponent F (sub F (Finite (s j)) (Finite (s k)))) with (fun j => Finite (exponential (s k) s j)).
  unfold F; rewrite (sum_over_from_zero exact exp) by reflexivity; cbn [add extended_arithmetic].
  rewrite fold_exact, Rplus_0_l.
  rewrite masked_softmax_visible by assumption; rewrite <- (weights_are_independent_of_the_shift (s k)).
  unfold shifted_softmax; simpl; destruct (Req_EM_T _ 0) as [Z|_]; [|reflexivity].
  pose proof (sum_exp_pos (gathered n A) (fun j => s j - s k) H); unfold exponential in Z; lra.
Qed.
