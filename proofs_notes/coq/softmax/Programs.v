(** Softmax as the code does it, in any arithmetic at all.

    Definitions.v says what softmax is over the reals. Here are the code's steps on lists: gather the visible scores,
    shift, exponentiate, add from the left, divide, scatter. The numbers are of any type T and the operations obey no
    law. So what is shown of them before the last section holds in every arithmetic, and bit for bit. The last section
    puts the reals for T: the steps compute what the definitions say, whatever shift the arithmetic picks. *)
From Attest Require Export SoftmaxLaws.

(** NUM.D1, as far as softmax needs it *)
Record arithmetic (T : Type) := Arithmetic {
  zero : T;
  add : T -> T -> T;
  sub : T -> T -> T;
  mul : T -> T -> T;
  div : T -> T -> T;
  exponent : T -> T;
  logarithm : T -> T;
  shift_of : list T -> T
}.
Arguments zero {T}. Arguments add {T}. Arguments sub {T}. Arguments mul {T}. Arguments div {T}.
Arguments exponent {T}. Arguments logarithm {T}. Arguments shift_of {T}.

Section Steps.
Context {T : Type} (F : arithmetic T).

(** from the left, beginning with the first term; no terms have the sum 0 *)
Definition sum_over (terms : list T) : T :=                                                               (* SHP.D3 *)
  match terms with [] => zero F | x :: rest => fold_left (add F) rest x end.
Definition gather (x : nat -> T) (g : list nat) : list T := map x g.                                      (* SHP.D6 *)
(** entry j of the row that has y_r at position g_r, and 0 elsewhere *)
Fixpoint scatter (y : list T) (g : list nat) (j : nat) : T :=                                             (* SHP.D7 *)
  match y, g with
  | yr :: y', gr :: g' => if (j =? gr)%nat then yr else scatter y' g' j
  | _, _ => zero F
  end.

Definition exponentials (c : T) (s : list T) : list T := map (fun x => exponent F (sub F x c)) s.         (* SMX.D1 *)
Definition softmax_steps (s : list T) : list T :=                                                         (* SMX.D2 *)
  match s with
  | [] => []
  | _ => let e := exponentials (shift_of F s) s in map (fun x => div F x (sum_over e)) e
  end.
Definition masked_softmax_steps (n : nat) (A : visible_set) (s : nat -> T) : nat -> T :=                  (* SMX.D3 *)
  let g := gathered n A in scatter (softmax_steps (gather s g)) g.
Definition lse_steps (s : list T) : option T :=                                                           (* SMX.D4 *)
  match s with
  | [] => None
  | _ => let c := shift_of F s in Some (add F c (logarithm F (sum_over (exponentials c s))))
  end.
Definition sink_softmax_steps (s : list T) (a : T) : list T :=                                             (* SMX.D5 *)
  firstn (length s) (softmax_steps (s ++ [a])).
(** add 0 at visible keys and minus infinity at hidden ones *)
Definition additive_softmax (minus_infinity : T) (n : nat) (A : visible_set) (s : nat -> T) : list T :=   (* SMX.D6 *)
  softmax_steps (map (fun j => add F (s j) (if A j then zero F else minus_infinity)) (range n)).

(** a block in this arithmetic: what is summed up, or the empty block *)
Record block_of_numbers := BlockOfNumbers { shift_number : option T; sum_number : T; weighted_numbers : list T }.
Definition empty_numbers (width : nat) : block_of_numbers :=                                              (* ONL.D1 *)
  BlockOfNumbers None (zero F) (repeat (zero F) width).
Definition merge_steps (a b : block_of_numbers) : block_of_numbers :=                                     (* ONL.D3 *)
  match shift_number a, shift_number b with
  | None, _ => b
  | _, None => a
  | Some ca, Some cb =>
      let c := shift_of F [ca; cb] in
      let ra := exponent F (sub F ca c) in
      let rb := exponent F (sub F cb c) in
      BlockOfNumbers (Some c) (add F (mul F ra (sum_number a)) (mul F rb (sum_number b)))
        (map (fun p => add F (mul F ra (fst p)) (mul F rb (snd p))) (combine (weighted_numbers a) (weighted_numbers b)))
  end.

(** ** In every arithmetic *)

Lemma gather_ext n A (s s' : nat -> T) :
  (forall j, (j < n)%nat -> A j = true -> s j = s' j) -> gather s (gathered n A) = gather s' (gathered n A).
Proof. intros H; apply map_ext_in; intros j Hj; apply in_gathered in Hj; apply H; tauto. Qed.

Lemma scatter_hidden y g j : ~ In j g -> scatter y g j = zero F.
Proof.
  revert g; induction y as [|x y IH]; intros [|k g] H; simpl; try reflexivity.
  destruct (Nat.eqb_spec j k); [subst; exfalso; apply H; left; reflexivity|].
  apply IH; intros I; apply H; right; exact I.
Qed.

Lemma scatter_map (h : nat -> T) g j : scatter (map h g) g j = if in_dec Nat.eq_dec j g then h j else zero F.
Proof.
  induction g as [|k g IH]; [reflexivity|]; simpl map; simpl scatter; destruct (Nat.eqb_spec j k) as [->|N].
  - destruct (in_dec Nat.eq_dec k (k :: g)) as [_|H]; [reflexivity|destruct H; left; reflexivity].
  - rewrite IH; destruct (in_dec Nat.eq_dec j g) as [I|I], (in_dec Nat.eq_dec j (k :: g)) as [I'|I']; try reflexivity.
    + destruct I'; right; exact I.
    + destruct I' as [I'|I']; [congruence|tauto].
Qed.

(** the steps of a row of scores that has some, as one formula *)
Lemma softmax_steps_map (x : nat -> T) keys :
  let c := shift_of F (map x keys) in
  let e := fun j => exponent F (sub F (x j) c) in
  softmax_steps (map x keys) = map (fun j => div F (e j) (sum_over (map e keys))) keys.
Proof.
  cbv zeta; destruct keys as [|k keys]; [reflexivity|]; set (l := k :: keys).
  change (softmax_steps (map x l)) with
    (let e := exponentials (shift_of F (map x l)) (map x l) in map (fun x => div F x (sum_over e)) e).
  cbv zeta; unfold exponentials; rewrite !map_map; reflexivity.
Qed.

Lemma lse_steps_map (x : nat -> T) keys : keys <> [] ->
  let c := shift_of F (map x keys) in
  lse_steps (map x keys) = Some (add F c (logarithm F (sum_over (map (fun j => exponent F (sub F (x j) c)) keys)))).
Proof.
  destruct keys as [|k keys]; [congruence|]; intros _; set (l := k :: keys); cbv zeta.
  change (lse_steps (map x l)) with
    (let c := shift_of F (map x l) in Some (add F c (logarithm F (sum_over (exponentials c (map x l)))))).
  cbv zeta; unfold exponentials; rewrite map_map; reflexivity.
Qed.

(** SMX.P2: hidden scores may be any numbers: weights, log-sum-exp and weights with a sink stay; and hidden weights are
    zero, whatever the scores are multiplied by *)
Theorem hidden_scores_are_not_read n A s s' :
  (forall j, (j < n)%nat -> A j = true -> s j = s' j) ->
  (forall j, masked_softmax_steps n A s j = masked_softmax_steps n A s' j) /\
  lse_steps (gather s (gathered n A)) = lse_steps (gather s' (gathered n A)) /\
  forall a, sink_softmax_steps (gather s (gathered n A)) a = sink_softmax_steps (gather s' (gathered n A)) a.
Proof.
  intros H; unfold masked_softmax_steps; rewrite (gather_ext n A s s') by assumption; auto.
Qed.

Theorem hidden_weights_are_zero_at_every_scale n A s factor j :
  A j = false ->
  masked_softmax_steps n A s j = zero F /\ masked_softmax_steps n A (fun k => mul F factor (s k)) j = zero F.
Proof.
  intros H; assert (I : ~ In j (gathered n A)) by (rewrite in_gathered; intros [_ V]; congruence).
  split; apply scatter_hidden, I.
Qed.

(** SMX.P3 *)
Theorem empty_rows_are_zero n A s :
  (forall j, (j < n)%nat -> A j = false) ->
  (forall j, masked_softmax_steps n A s j = zero F) /\ lse_steps (gather s (gathered n A)) = None.
Proof. intros H; apply gathered_nil in H; unfold masked_softmax_steps; rewrite H; split; reflexivity. Qed.

(** SMX.P12 *)
Lemma scatter_seq y a j : scatter y (seq a (length y)) (a + j) = nth j y (zero F).
Proof.
  revert a j; induction y as [|x y IH]; intros a [|j]; simpl; try reflexivity.
  - rewrite Nat.add_0_r, Nat.eqb_refl; reflexivity.
  - destruct (Nat.eqb_spec (a + S j) a); [lia|]; rewrite <- Nat.add_succ_comm; apply IH.
Qed.

Lemma softmax_steps_length s : length (softmax_steps s) = length s.
Proof. destruct s; [reflexivity|]; unfold softmax_steps, exponentials; rewrite !map_length; reflexivity. Qed.

Theorem all_visible_mask_is_no_mask n A s j :
  (forall k, (k < n)%nat -> A k = true) ->
  masked_softmax_steps n A s j = nth j (softmax_steps (gather s (range n))) (zero F).
Proof.
  intros H; unfold masked_softmax_steps; rewrite (gathered_all n A H), <- (scatter_seq _ 0); f_equal.
  rewrite softmax_steps_length; unfold gather, range; rewrite map_length, seq_length; reflexivity.
Qed.

(** ONL.P3: a block of keys has a shift; a block without one is the empty block *)
Theorem the_empty_block_is_the_identity width a :
  shift_number a <> None \/ a = empty_numbers width ->
  merge_steps a (empty_numbers width) = a /\ merge_steps (empty_numbers width) a = a.
Proof.
  intros [H| ->]; [|split; reflexivity]; unfold merge_steps; simpl shift_number.
  destruct (shift_number a); [auto|congruence].
Qed.
End Steps.

(** ** In the reals *)

Definition reals (shift : list R -> R) : arithmetic R := Arithmetic R 0 Rplus Rminus Rmult Rdiv exp ln shift.

Section Reals.
Variable shift : list R -> R.
Let F := reals shift.

Lemma sum_over_reals (l : list nat) f : sum_over F (map f l) = sum l f.
Proof.
  assert (G : forall l (f : nat -> R) x, fold_left Rplus (map f l) x = x + sum l f).
  { clear; induction l as [|a l IH]; intros f x; simpl; [|rewrite IH]; ring. }
  destruct l as [|a l]; [reflexivity|]; apply G.
Qed.

Lemma softmax_steps_reals keys s : softmax_steps F (gather s keys) = map (softmax keys s) keys.
Proof.
  unfold gather; rewrite softmax_steps_map, sum_over_reals; apply map_ext; intros j.
  exact (weights_are_independent_of_the_shift (shift (map s keys)) keys s j).
Qed.

(** SMX.D3: the steps give the definition *)
Theorem steps_compute_masked_softmax n A s j : masked_softmax_steps F n A s j = masked_softmax n A s j.
Proof.
  unfold masked_softmax_steps; rewrite softmax_steps_reals, scatter_map.
  destruct (in_dec Nat.eq_dec j (gathered n A)) as [I|I];
    [rewrite masked_softmax_visible|rewrite masked_softmax_hidden]; auto.
Qed.

(** SMX.D4: so do those of the log-sum-exp; of a row of no keys it is absent *)
Theorem steps_compute_the_lse keys s : lse_steps F (gather s keys) = reported_lse keys None s.
Proof.
  destruct keys as [|k l]; [reflexivity|]; unfold gather; rewrite lse_steps_map, sum_over_reals by discriminate.
  rewrite reported_lse_some, lse_no_sink by (left; discriminate); f_equal.
  apply (lse_is_independent_of_the_shift (shift (map s (k :: l)))); discriminate.
Qed.

(** SMX.D5: and those of a sink, which joins the row as one more score *)
Theorem steps_compute_the_sink_softmax keys a s :
  sink_softmax_steps F (gather s keys) a = map (sink_softmax keys (Some a) s) keys.
Proof.
  unfold sink_softmax_steps; set (k := S (list_max keys)).
  assert (K : forall j, In j keys -> (j < k)%nat).
  { intros j Hj; unfold k; apply Nat.lt_succ_r.
    pose proof (proj1 (list_max_le keys (list_max keys)) (le_n _)) as M; rewrite Forall_forall in M; auto. }
  set (s' := fun i => if (i =? k)%nat then a else s i).
  assert (E : gather s keys ++ [a] = gather s' (keys ++ [k])).
  { unfold gather, s'; rewrite map_app; simpl; rewrite Nat.eqb_refl; f_equal; apply map_ext_in; intros j Hj.
    destruct (Nat.eqb_spec j k); [apply K in Hj; lia|reflexivity]. }
  rewrite E, softmax_steps_reals, map_app; unfold gather; rewrite map_length.
  replace (length keys) with (length (map (softmax (keys ++ [k]) s') keys)) by apply map_length.
  rewrite firstn_app, Nat.sub_diag, firstn_all, app_nil_r; apply map_ext_in; intros j Hj; apply K in Hj as Hk.
  symmetry; apply sink_is_one_more_key; [intros I; apply K in I|]; lia.
Qed.
End Reals.
