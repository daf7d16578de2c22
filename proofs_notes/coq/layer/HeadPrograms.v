(** Projections as the code does them, in any arithmetic at all: packed weights, repeated weights and caches give the
    same bits, since each entry is the same sum of the same terms. *)
From Attest Require Export AttentionPrograms Layer.

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

(** projected rows, then an added row and a row of zeros, as far as there are any *)
Definition projected_steps (I n : nat) (W : matrix_of_numbers) (b : option (nat -> T)) (added : option (nat -> T))
                           (zero_row : bool) (X : matrix_of_numbers) (s c : nat) : T :=                   (* MHA.D9 *)
  if (s <? n)%nat then affine_steps I W b X s c
  else match added with
       | Some r => if (s =? n)%nat || negb zero_row then r c else zero F
       | None => zero F
       end.

(** the columns of H heads of width w: those of head h are the columns of head f h of the given row *)
Definition columns_of (w : nat) (f : nat -> nat) (x : nat -> T) (n : nat) : T := x (f (n / w) * w + n mod w)%nat.

Lemma columns_of_at w f x h c : (c < w)%nat -> columns_of w f x (h * w + c) = x (f h * w + c)%nat.
Proof. intros Hc; unfold columns_of; destruct (column_of_head w h c Hc) as [-> ->]; reflexivity. Qed.

Lemma projected_steps_repeated I n w f W b added zero_row X s h c : (c < w)%nat ->
  projected_steps I n (fun m => columns_of w f (W m)) (option_map (columns_of w f) b)
                  (option_map (columns_of w f) added) zero_row X s (h * w + c) =
  projected_steps I n W b added zero_row X s (f h * w + c).
Proof.
  intros Hc; unfold projected_steps, affine_steps.
  rewrite (dot_steps_ext F I (X s) (X s) (fun m => columns_of w f (W m) (h * w + c)%nat)
             (fun m => W m (f h * w + c)%nat)) by (intros; try apply columns_of_at; auto).
  destruct b, added; simpl; rewrite ?columns_of_at by exact Hc; reflexivity.
Qed.

(** MHA.P4: query head h reads the same row, whether the columns of its key head and value head are read where they are
    (fk h and fv h, MHA.D1) or from weights, biases and added rows that repeat them *)
Theorem grouped_layer_equals_the_layer_with_repeated_weights_in_every_arithmetic
    head fk fv Ik Iv n Wk bk addk Wv bv addv zero_row Xk Xv q bias sink i h :
  let w := number_width head in
  let v := number_channels head in
  let K := projected_steps Ik n Wk bk addk zero_row Xk in
  let V := projected_steps Iv n Wv bv addv zero_row Xv in
  let K' := projected_steps Ik n (fun m => columns_of w fk (Wk m)) (option_map (columns_of w fk) bk)
                            (option_map (columns_of w fk) addk) zero_row Xk in
  let V' := projected_steps Iv n (fun m => columns_of v fv (Wv m)) (option_map (columns_of v fv) bv)
                            (option_map (columns_of v fv) addv) zero_row Xv in
  row_steps F head q (fun j c => K' j (h * w + c)%nat) (fun j c => V' j (h * v + c)%nat) bias sink i =
  row_steps F head q (fun j c => K j (fk h * w + c)%nat) (fun j c => V j (fv h * v + c)%nat) bias sink i.
Proof.
  intros w v K V K' V'; apply row_steps_lemma; auto using same_parts.
  intros j _; repeat split; intros; apply projected_steps_repeated; assumption.
Qed.
End Steps.

(** MHA.D4: in the reals the steps are the definition *)
Theorem steps_compute_the_affine_map shift I W b X s n : affine_steps (reals shift) I W b X s n = affine I W b X s n.
Proof.
  unfold affine_steps, affine, dot_steps; rewrite sum_over_reals; destruct b; [reflexivity|].
  unfold dot; simpl; ring.
Qed.

(** MHA.D9: of the rows that there are *)
Theorem steps_compute_projected_keys shift I n p (added : option row) (zero_row : bool) X s c :
  (s < n + (if added then 1 else 0) + (if zero_row then 1 else 0))%nat ->
  projected_steps (reals shift) I n (weight_of p) (bias_of p) added zero_row X s c =
  projected_keys I n p added zero_row X s c.
Proof.
  unfold projected_steps, projected_keys, append_rows, projected; rewrite steps_compute_the_affine_map; intros H.
  destruct added, zero_row; destruct (Nat.ltb_spec s n); try reflexivity; try lia.
  - destruct (Nat.ltb_spec s (n + 1)); [reflexivity|lia].
  - destruct (Nat.ltb_spec s (n + 1)), (Nat.eqb_spec s n); try reflexivity; lia.
  - rewrite orb_true_r; reflexivity.
Qed.
