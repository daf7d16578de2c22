(** Masking by adding minus infinity, in extended arithmetic with any rounding: SMX.P8. *)
From Attest Require Export Extended.

(** the maximum of finite numbers is the greatest of them *)
Lemma maximum_finite (s : row) l : l <> [] ->
  exists k, In k l /\ (forall j, In j l -> s j <= s k) /\ maximum (map (fun j => Finite (s j)) l) = Finite (s k).
Proof.
  induction l as [|a [|b l] IH]; [congruence| |]; intros _.
  - exists a; simpl; repeat split; [auto|intros j [->|[]]; lra].
  - destruct IH as [k [Hk [G E]]]; [discriminate|].
    change (maximum (map (fun j => Finite (s j)) (a :: b :: l))) with
      (extended_max (Finite (s a)) (maximum (map (fun j => Finite (s j)) (b :: l)))); rewrite E; simpl extended_max.
    destruct (Rle_dec (s a) (s k)) as [L|L]; [exists k; rewrite Rmax_right by lra|exists a; rewrite Rmax_left by lra].
    + repeat split; [right; exact Hk|intros j [->|Hj]; [exact L|apply G, Hj]].
    + repeat split; [left; reflexivity|intros j [->|Hj]; [lra|specialize (G j Hj); lra]].
Qed.

Lemma nth_map_range {B} n (f : nat -> B) d j : (j < n)%nat -> nth j (map f (range n)) d = f j.
Proof.
  intros H; unfold range; rewrite (nth_indep _ d (f 0%nat)) by (rewrite map_length, seq_length; exact H).
  rewrite map_nth, seq_nth by exact H; reflexivity.
Qed.

(** ** The two forms, step by step *)

Section Steps.
Variables (rnd E : R -> extended) (n : nat) (A : visible_set) (s : row).
Hypothesis rounds : rounding rnd E.
Hypothesis representable : forall j, (j < n)%nat -> rnd (s j) = Finite (s j).
Let F := extended_arithmetic rnd E.
Let masked (j : nat) : extended := add F (Finite (s j)) (if A j then zero F else MinusInfinity).

(** the scores: adding 0 does not round, adding minus infinity gives minus infinity *)
Lemma map_masked : map masked (range n) = map (fun j => if A j then Finite (s j) else MinusInfinity) (range n).
Proof.
  apply map_ext_in; intros j Hj; apply in_range in Hj; unfold masked; destruct (A j); simpl; [|reflexivity].
  rewrite Rplus_0_r, representable by assumption; reflexivity.
Qed.

(** the shift: minus infinity is below every number *)
Lemma maximum_masked l :
  maximum (map (fun j => if A j then Finite (s j) else MinusInfinity) l) =
  maximum (map (fun j => Finite (s j)) (filter A l)).
Proof.
  induction l as [|a l IH]; [reflexivity|]; simpl map; simpl filter; unfold maximum in *; simpl fold_right; rewrite IH.
  destruct (A a); [reflexivity|]; apply extended_max_below.
Qed.

(** the total: what the hidden keys add is 0, and adding 0 to a result rounds nothing *)
Definition steady (x : extended) : Prop := extended_add rnd x (Finite 0) = x.

Lemma steady_add x y : steady (extended_add rnd x (Finite y)).
Proof.
  unfold steady; destruct x as [a| | |]; try reflexivity; simpl.
  destruct (rnd (a + y)) as [b| | |] eqn:B; try reflexivity.
  simpl; rewrite Rplus_0_r; exact (rounding_fixed _ _ rounds _ _ B).
Qed.

Lemma steady_0 : steady (Finite 0).
Proof. unfold steady; simpl; rewrite Rplus_0_r; exact (rounding_zero _ _ rounds). Qed.

Lemma fold_masked (l : list nat) f x : steady x ->
  fold_left (add F) (map (fun j => Finite (if A j then f j else 0)) l) x =
  fold_left (add F) (map (fun j => Finite (f j)) (filter A l)) x.
Proof.
  revert x; induction l as [|a l IH]; intros x H; [reflexivity|].
  simpl map; simpl filter; destruct (A a); simpl; [apply IH, steady_add|rewrite H; apply IH, H].
Qed.

Lemma sum_over_from_zero (l : list nat) f : (forall j, In j l -> rnd (f j) = Finite (f j)) ->
  sum_over F (map (fun j => Finite (f j)) l) = fold_left (add F) (map (fun j => Finite (f j)) l) (Finite 0).
Proof.
  destruct l as [|a l]; intros H; [reflexivity|]; simpl; rewrite Rplus_0_l, H by (left; reflexivity); reflexivity.
Qed.

(** the total is at least each term, and so not 0 *)
Lemma add_keeps m x y : rnd m = Finite m -> 0 <= y -> at_most (Finite m) x ->
  at_most (Finite m) (extended_add rnd x (Finite y)).
Proof.
  intros Hm Hy; destruct x as [a| | |]; try (simpl; tauto); intros H.
  change (at_most (Finite m) (rnd (a + y))); rewrite <- Hm; simpl in H; apply (rounding_monotone _ _ rounds); lra.
Qed.

Lemma add_reaches x y : rnd y = Finite y -> at_most (Finite 0) x -> at_most (Finite y) (extended_add rnd x (Finite y)).
Proof.
  intros Hy; destruct x as [a| | |]; try (simpl; tauto); intros H.
  change (at_most (Finite y) (rnd (a + y))); rewrite <- Hy; simpl in H; apply (rounding_monotone _ _ rounds); lra.
Qed.

Lemma fold_keeps m (l : list nat) f x : rnd m = Finite m -> (forall j, In j l -> 0 <= f j) -> at_most (Finite m) x ->
  at_most (Finite m) (fold_left (add F) (map (fun j => Finite (f j)) l) x).
Proof.
  intros Hm; revert x; induction l as [|a l IH]; intros x Hf Hx; [exact Hx|].
  apply IH; [intros; apply Hf; right; assumption|]; apply add_keeps; auto; apply Hf; left; reflexivity.
Qed.

Lemma fold_reaches (l : list nat) f k x : In k l -> (forall j, In j l -> 0 <= f j /\ rnd (f j) = Finite (f j)) ->
  at_most (Finite 0) x -> at_most (Finite (f k)) (fold_left (add F) (map (fun j => Finite (f j)) l) x).
Proof.
  revert x; induction l as [|a l IH]; intros x Hk Hf Hx; [destruct Hk|]; destruct (Hf a (or_introl eq_refl)) as [Pa Ra].
  assert (Hl : forall j, In j l -> 0 <= f j /\ rnd (f j) = Finite (f j)) by (intros; apply Hf; right; assumption).
  destruct Hk as [->|Hk].
  - change (at_most (Finite (f k)) (fold_left (add F) (map (fun j => Finite (f j)) l) (add F x (Finite (f k))))).
    apply fold_keeps; [exact Ra|intros j Hj; apply Hl, Hj|apply add_reaches; assumption].
  - apply IH; auto; apply add_keeps; auto; exact (rounding_zero _ _ rounds).
Qed.

Lemma zero_share T : at_most (Finite 1) T -> extended_div rnd (Finite 0) T = Finite 0.
Proof.
  destruct T as [t| | |]; simpl; try tauto; intros H; destruct (Req_EM_T t 0); [lra|].
  unfold Rdiv; rewrite Rmult_0_l; exact (rounding_zero _ _ rounds).
Qed.

(** the exponentials below the maximum c are numbers, not negative *)
Lemma term_is_a_number c j : s j <= c ->
  exists y, extended_exp E (rnd (s j + - c)) = Finite y /\ 0 <= y /\ rnd y = Finite y.
Proof.
  intros H; pose proof (rounding_monotone _ _ rounds (s j + - c) 0 ltac:(lra)) as M.
  rewrite (rounding_zero _ _ rounds) in M; destruct (rnd (s j + - c)) as [z| | |]; simpl in *; try tauto.
  - exact (exponential_finite _ _ rounds z M).
  - exists 0; repeat split; [lra|exact (rounding_zero _ _ rounds)].
Qed.

Definition number (x : extended) : R := match x with Finite y => y | _ => 0 end.

Lemma additive_is_gathered j : gathered n A <> [] -> (j < n)%nat ->
  nth j (additive_softmax F MinusInfinity n A (fun k => Finite (s k))) (zero F) =
  masked_softmax_steps F n A (fun k => Finite (s k)) j.
Proof.
  intros H Hj; unfold additive_softmax, masked_softmax_steps, gather; fold masked.
  rewrite map_masked, !softmax_steps_map.
  replace (shift_of F (map (fun j => if A j then Finite (s j) else MinusInfinity) (range n)))
    with (shift_of F (map (fun j => Finite (s j)) (gathered n A))) by (symmetry; apply maximum_masked).
  destruct (maximum_finite s _ H) as [k [Hk [G M]]]; change (maximum ?l) with (shift_of F l) in M; rewrite M.
  set (c := s k) in *; set (f := fun j => number (extended_exp E (rnd (s j + - c)))).
  assert (Hf : forall i, In i (gathered n A) ->
    extended_exp E (rnd (s i + - c)) = Finite (f i) /\ 0 <= f i /\ rnd (f i) = Finite (f i)).
  { intros i Hi; destruct (term_is_a_number c i (G i Hi)) as [y [Y P]]; unfold f; rewrite Y; auto. }
  assert (One : f k = 1).
  { unfold f; fold c; rewrite Rplus_opp_r, (rounding_zero _ _ rounds); simpl.
    rewrite (exponential_zero _ _ rounds); reflexivity. }
  rewrite (map_ext_in (fun j => exponent F (sub F (if A j then Finite (s j) else MinusInfinity) (Finite c)))
                      (fun j => Finite (if A j then f j else 0))).
  2:{ intros i Hi; destruct (A i) eqn:V; [|reflexivity]; apply in_range in Hi.
      apply Hf, in_gathered; auto. }
  rewrite (map_ext_in (fun j => exponent F (sub F (Finite (s j)) (Finite c))) (fun j => Finite (f j)))
    by (intros i Hi; apply Hf, Hi).
  rewrite (sum_over_from_zero (range n)) by (intros i Hi; destruct (A i) eqn:V;
    [apply Hf, in_gathered; split; [apply in_range|]; assumption|exact (rounding_zero _ _ rounds)]).
  rewrite fold_masked by exact steady_0.
  rewrite sum_over_from_zero by (intros i Hi; apply Hf, Hi); change (filter A (range n)) with (gathered n A).
  set (T := fold_left _ _ _).
  assert (PT : at_most (Finite 1) T).
  { rewrite <- One; apply fold_reaches; [exact Hk|intros i Hi; apply Hf, Hi|simpl; lra]. }
  rewrite nth_map_range, scatter_map by assumption.
  destruct (in_dec Nat.eq_dec j (gathered n A)) as [I|I].
  - apply in_gathered in I; destruct I as [_ ->]; reflexivity.
  - rewrite in_gathered in I; destruct (A j); [tauto|]; apply zero_share, PT.
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

(** SMX.P8: for scores that are numbers of the format, the two forms give the same number; and NaN on an empty row,
    where SMX.D3 has 0. With one zero, what is said is equality as numbers. *)
Theorem additive_form_equals_gathering rnd E n A s j :
  rounding rnd E -> (forall k, (k < n)%nat -> rnd (s k) = Finite (s k)) -> gathered n A <> [] -> (j < n)%nat ->
  let F := extended_arithmetic rnd E in
  nth j (additive_softmax F MinusInfinity n A (fun k => Finite (s k))) (Finite 0) =
  masked_softmax_steps F n A (fun k => Finite (s k)) j.
Proof. intros; apply additive_is_gathered; assumption. Qed.

Theorem additive_form_of_an_empty_row_is_nan rnd E n A s j :
  rounding rnd E -> (forall k, (k < n)%nat -> rnd (s k) = Finite (s k)) -> gathered n A = [] -> (j < n)%nat ->
  let F := extended_arithmetic rnd E in
  nth j (additive_softmax F MinusInfinity n A (fun k => Finite (s k))) (Finite 0) = NaN /\
  masked_softmax_steps F n A (fun k => Finite (s k)) j = Finite 0.
Proof.
  intros Hr Hs H Hj; split; [apply additive_is_nan; assumption|].
  apply (empty_rows_are_zero (extended_arithmetic rnd E)), gathered_nil, H.
Qed.

(** a hidden score of plus infinity is not claimed: adding minus infinity to it gives NaN *)
Lemma plus_infinity_is_not_hidden rnd : extended_add rnd PlusInfinity MinusInfinity = NaN.
Proof. reflexivity. Qed.

(** ** Exact arithmetic *)

Definition exact_arithmetic : arithmetic extended := extended_arithmetic Finite (fun x => Finite (exp x)).

Lemma fold_exact (l : list nat) f x :
  fold_left (extended_add Finite) (map (fun j => Finite (f j)) l) (Finite x) = Finite (x + sum l f).
Proof.
  revert x; induction l as [|a l IH]; intros x; simpl; [f_equal; ring|]; rewrite IH; f_equal; ring.
Qed.

(** without rounding the additive form has the weights of the reals *)
Theorem additive_form_has_the_real_weights n A s j :
  gathered n A <> [] -> (j < n)%nat ->
  nth j (additive_softmax exact_arithmetic MinusInfinity n A (fun k => Finite (s k))) (Finite 0) =
  Finite (masked_softmax n A s j).
Proof.
  intros H Hj; unfold exact_arithmetic.
  rewrite additive_form_equals_gathering by (auto using exact_rounds || reflexivity).
  unfold masked_softmax_steps, gather; rewrite softmax_steps_map, scatter_map.
  destruct (in_dec Nat.eq_dec j (gathered n A)) as [I|I]; [|rewrite masked_softmax_hidden by assumption; reflexivity].
  destruct (maximum_finite s _ H) as [k [_ [_ M]]]; fold exact_arithmetic; set (F := exact_arithmetic).
  change (shift_of F (map (fun j => Finite (s j)) (gathered n A)) = Finite (s k)) in M; rewrite M.
  change (fun j => exponent F (sub F (Finite (s j)) (Finite (s k)))) with (fun j => Finite (exponential (s k) s j)).
  unfold F, exact_arithmetic; rewrite sum_over_from_zero by reflexivity; cbn [add extended_arithmetic].
  rewrite fold_exact, Rplus_0_l, masked_softmax_visible by assumption.
  rewrite <- (weights_are_independent_of_the_shift (s k)).
  unfold shifted_softmax; simpl; destruct (Req_EM_T _ 0) as [Z|_]; [|reflexivity].
  pose proof (sum_exp_pos (gathered n A) (fun j => s j - s k) H); unfold exponential in Z; lra.
Qed.
