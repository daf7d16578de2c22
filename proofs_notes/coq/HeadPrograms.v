(** Projections as the code does them, in any arithmetic at all: packed projections and caches hold bit for bit, since
    each entry is the same sum of the same terms. *)
From Attest Require Export AttentionPrograms Heads.

Section Steps.
Context {T : Type} (F : arithmetic T).
Let matrix_of_numbers := nat -> nat -> T.

Definition affine_steps (I : nat) (W : matrix_of_numbers) (b : option (nat -> T)) (X : matrix_of_numbers)
                        (s n : nat) : T :=                                                                (* MHA.D4 *)
  let product := dot_steps F I (X s) (fun m => W m n) in
  match b with Some b => add F product (b n) | None => product end.

(** MHA.P2: W h is the weight of head h; packed, column h w + c is column c of W h *)
Theorem packed_projection_is_the_projection_for_each_head_in_every_arithmetic
    I w (W : nat -> matrix_of_numbers) X h s c : (c < w)%nat ->
  affine_steps I (fun m n => W (n / w)%nat m (n mod w)%nat) None X s (h * w + c) = affine_steps I (W h) None X s c.
Proof.
  intros Hc; apply dot_steps_ext; [reflexivity|]; intros m _.
  destruct (column_of_head w h c Hc) as [-> ->]; reflexivity.
Qed.

(** MHA.P6 *)
Theorem appending_to_a_cache_is_projecting_the_whole_in_every_arithmetic I W b n X1 X2 s c :
  (if (s <? n)%nat then affine_steps I W b X1 s c else affine_steps I W b X2 (s - n) c) =
  affine_steps I W b (fun s => if (s <? n)%nat then X1 s else X2 (s - n)%nat) s c.
Proof. unfold affine_steps; destruct (s <? n)%nat; reflexivity. Qed.

End Steps.

(** MHA.D4: in the reals the steps are the definition *)
Theorem steps_compute_the_affine_map shift I W b X s n : affine_steps (reals shift) I W b X s n = affine I W b X s n.
Proof.
  unfold affine_steps, affine, dot_steps; rewrite sum_over_reals; destruct b; [reflexivity|].
  unfold dot; simpl; ring.
Qed.
