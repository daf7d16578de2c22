(** GRD.P1 and GRD.P2 of a call: differences along a line, and dual numbers. *)
From Attest Require Export Smoothness.
Require Import FunctionalExtensionality.

(** the sinks are the same in number and place *)
Definition same_sinks (x t : tensors) : Prop := forall h, sinks x h = None <-> sinks t h = None.

Lemma tensors_line_moves x t u : same_sinks x t -> tensors_move (tensors_line x t) u t.
Proof.
  intros S; refine (conj _ (conj _ (conj _ (conj _ _)))); intros; try apply line_derive.
  specialize (S h); simpl; destruct (sinks x h) as [a|], (sinks t h) as [b|]; simpl; try reflexivity.
  - exists (fun u => a + u * b); split; [reflexivity|apply line_derive].
  - destruct S as [_ S]; discriminate (S eq_refl).
  - destruct S as [S _]; discriminate (S eq_refl).
Qed.

Lemma tensors_line_starts x t : tensors_line x t 0 = x.
Proof.
  assert (E : forall X Y : nat -> nat -> matrix, (fun b h i c => X b h i c + 0 * Y b h i c) = X)
    by (intros; do 4 (apply functional_extensionality; intros ?); ring).
  destruct x as [Q K V B S]; unfold tensors_line; simpl; rewrite !E; f_equal.
  apply functional_extensionality; intros h; destruct (S h), (sinks t h); try reflexivity.
  rewrite Rmult_0_l, Rplus_0_r; reflexivity.
Qed.

Lemma operands_on_a_line C x t b h :
  elementary_operands (fun u => operands_at C (slopes_bias C) (tensors_line x t u) b h).
Proof.
  constructor; intros; simpl; try apply elementary_line.
  - unfold broadcast_bias; simpl; apply elementary_plus; [apply elementary_line|apply elementary_const].
  - destruct (sinks x h) as [a|]; [right|left; reflexivity].
    destruct (sinks t h) as [v|]; [exists (fun u => a + u * v)|exists (fun _ => a)]; split; try reflexivity.
    + apply elementary_line.
    + apply elementary_const.
Qed.

(** GRD.P1 *)
Theorem gradients_match_finite_differences C x t g gL :
  is_call C -> same_sinks x t ->
  matches_finite_differences (fun u => call_loss C (tensors_line x t u) g gL)
                             (fun u => call_inner C (call_gradient C (tensors_line x t u) g gL) t).
Proof.
  intros W S; apply derivatives_match_finite_differences.
  - apply elementary_functions_are_smooth, (elementary_call_loss C (tensors_line x t));
      [apply (caps_are_positive C W)|intros; apply operands_on_a_line].
  - intros u; apply (call_gradient_is_the_derivative C (tensors_line x t) u t g gL W), tensors_line_moves, S.
Qed.

(** * Dual numbers *)

Theorem elementary_is_computed f : elementary f -> exists E, computes (fun _ => 0) (fun _ => 1) E f.
Proof.
  intros [E [D R]]; exists E; split; [apply D|intros u; rewrite <- R; f_equal].
  apply functional_extensionality; intros; ring.
Qed.

Lemma head_loss_computed h f n d_v x g gL y y' (O : nat -> nat -> computation) (L : nat -> computation) :
  (forall i c, computes y y' (O i c) (fun u => output_of h (x u) i c)) ->
  (forall i, computes y y' (L i) (fun u => lse_of h f (x u) i)) ->
  let J_t E := tangent (read_in_duals (fun n => Dual (y n) (y' n)) E) in
  is_derive (fun u => head_loss h f n d_v (x u) g gL) 0
            (sum (range n) (fun i => dot d_v (g i) (fun c => J_t (O i c)) + gL i * J_t (L i))).
Proof.
  intros HO HL J_t.
  apply (derive_sum _ (fun i u => dot d_v (g i) (output_of h (x u) i) + gL i * lse_of h f (x u) i)); intros i _.
  apply derive_plus; [|apply derive_scal, computation_moves, HL].
  apply (derive_sum _ (fun c u => g i c * output_of h (x u) i c)); intros c _.
  apply derive_scal, computation_moves, HO.
Qed.

(** GRD.P2: read the outputs and log-sum-exps of a call in dual numbers, whose tangents are the direction t, by whatever
    computation, and multiply the tangents with the cotangents: it is the gradient times the direction *)
Theorem vjp_is_the_transpose_of_jvp C x t g gL (y y' : nat -> R)
    (O : nat -> nat -> nat -> nat -> computation) (L : nat -> nat -> nat -> computation) :
  is_call C -> same_sinks x t ->
  (forall b h i c, computes y y' (O b h i c) (fun u =>
     output_of (head_at C b h) (operands_at C (slopes_bias C) (tensors_line x t u) b h) i c)) ->
  (forall b h i, computes y y' (L b h i) (fun u =>
     lse_of (head_at C b h) (lse_told C) (operands_at C (slopes_bias C) (tensors_line x t u) b h) i)) ->
  let J_t E := tangent (read_in_duals (fun n => Dual (y n) (y' n)) E) in
  sum (range (batch C)) (fun b => sum (range (q_heads C)) (fun h => sum (range (q_rows C)) (fun i =>
    dot (v_width C) (g b h i) (fun c => J_t (O b h i c)) + gL b h i * J_t (L b h i)))) =
  call_inner C (call_gradient C x g gL) t.
Proof.
  intros W S HO HL J_t.
  assert (D := call_gradient_is_the_derivative C (tensors_line x t) 0 t g gL W (tensors_line_moves x t 0 S)).
  rewrite tensors_line_starts in D; apply (derive_unique (fun u => call_loss C (tensors_line x t u) g gL) 0); [|exact D].
  apply (derive_sum _ (fun b u => sum (range (q_heads C)) (fun h => head_loss (head_at C b h) (lse_told C)
    (q_rows C) (v_width C) (operands_at C (slopes_bias C) (tensors_line x t u) b h) (g b h) (gL b h)))); intros b _.
  apply (derive_sum _ (fun h u => head_loss (head_at C b h) (lse_told C)
    (q_rows C) (v_width C) (operands_at C (slopes_bias C) (tensors_line x t u) b h) (g b h) (gL b h))); intros h _.
  apply (head_loss_computed (head_at C b h) (lse_told C) (q_rows C) (v_width C)
    (fun u => operands_at C (slopes_bias C) (tensors_line x t u) b h)); auto.
Qed.

(** and there are such computations *)
Lemma outputs_are_computed C x t b h i c : is_call C ->
  exists O, computes (fun _ => 0) (fun _ => 1) O (fun u =>
    output_of (head_at C b h) (operands_at C (slopes_bias C) (tensors_line x t u) b h) i c).
Proof.
  intros W; apply elementary_is_computed, (elementary_output _ _ _ _ (caps_are_positive C W b h)), operands_on_a_line.
Qed.

Lemma lses_are_computed C x t b h i : is_call C ->
  exists L, computes (fun _ => 0) (fun _ => 1) L (fun u =>
    lse_of (head_at C b h) (lse_told C) (operands_at C (slopes_bias C) (tensors_line x t u) b h) i).
Proof.
  intros W; apply elementary_is_computed, (elementary_lse _ _ _ _ (caps_are_positive C W b h)), operands_on_a_line.
Qed.
