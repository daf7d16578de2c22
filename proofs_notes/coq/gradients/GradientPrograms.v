(** The gradient of masked softmax as the code computes it, in any arithmetic at all (GRD.P17); over the reals it is
    GRD.D2. *)
From Attest Require Export Programs.

Section Steps.
Context {T : Type} (F : arithmetic T).

Definition centre_steps (w g : list T) : T := sum_over F (map (fun p => mul F (fst p) (snd p)) (combine w g)).
Definition softmax_gradient_steps (w g : list T) : list T :=                                              (* GRD.D1 *)
  let mean := centre_steps w g in map (fun p => mul F (fst p) (sub F (snd p) mean)) (combine w g).
Definition masked_softmax_gradient_steps (n : nat) (A : visible_set) (w g : nat -> T) : nat -> T :=       (* GRD.D2 *)
  let keys := gathered n A in scatter F (softmax_gradient_steps (gather w keys) (gather g keys)) keys.

(** GRD.P17: zero at every hidden key, and neither weight nor cotangent is read there *)
Theorem hidden_scores_have_zero_gradients_in_every_arithmetic n A w w' g g' :
  (forall j, A j = false -> masked_softmax_gradient_steps n A w g j = zero F) /\
  ((forall k, (k < n)%nat -> A k = true -> w k = w' k /\ g k = g' k) ->
   forall j, masked_softmax_gradient_steps n A w g j = masked_softmax_gradient_steps n A w' g' j).
Proof.
  split.
  - intros j H; apply scatter_hidden; rewrite in_gathered, H; intros [_ E]; discriminate.
  - intros H j; unfold masked_softmax_gradient_steps.
    rewrite (gather_ext n A w w'), (gather_ext n A g g') by (intros; apply H; assumption); reflexivity.
Qed.
End Steps.

(** GRD.D2: the steps give the definition *)
Theorem steps_compute_masked_softmax_gradient shift n A (w g : row) j :
  masked_softmax_gradient_steps (reals shift) n A w g j = masked_softmax_gradient n A w g j.
Proof.
  unfold masked_softmax_gradient_steps, softmax_gradient_steps, centre_steps, gather.
  assert (C : forall keys : list nat, combine (map w keys) (map g keys) = map (fun k => (w k, g k)) keys)
    by (induction keys as [|k keys IH]; simpl; [|rewrite IH]; reflexivity).
  rewrite C, !map_map; cbn [mul sub reals fst snd]; rewrite (sum_over_reals shift (gathered n A) (fun k => w k * g k)).
  rewrite scatter_map; unfold masked_softmax_gradient.
  destruct (in_dec Nat.eq_dec j (gathered n A)) as [I|I], (guard_spec n A j); tauto || reflexivity.
Qed.
