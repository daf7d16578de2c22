(** The gradient of a head (GRD.D10) is the derivative of its outputs and log-sum-exps along every direction. *)
Require Import FunctionalExtensionality.
From Attest Require Export RowGradient.

Lemma sum_swap_filter n m (v : nat -> nat -> bool) (F : nat -> nat -> R) :
  sum (range n) (fun i => sum (filter (v i) (range m)) (fun j => F i j)) =
  sum (range m) (fun j => sum (filter (fun i => v i j) (range n)) (fun i => F i j)).
Proof.
  rewrite (sum_ext (range n) _ (fun i => sum (range m) (fun j => if v i j then F i j else 0)))
    by (intros; symmetry; apply sum_filter).
  rewrite sum_swap; apply sum_ext; intros j _; apply (sum_filter (range n) (fun i => v i j)).
Qed.

(** a sum of dot products with vectors k j, as one dot product *)
Lemma dot_sum {A} (l : list A) d c (a : A -> R) (k : A -> row) (v : row) :
  dot d (fun e => c * sum l (fun j => a j * k j e)) v = sum l (fun j => a j * (c * dot d (k j) v)).
Proof.
  unfold dot; rewrite (sum_ext l _ (fun j => sum (range d) (fun e => c * (a j * k j e) * v e))).
  2: { intros j _; rewrite <- !sum_scal; apply sum_ext; intros; ring. }
  rewrite sum_swap; apply sum_ext; intros e _; rewrite <- sum_scal, <- sum_scal_r; apply sum_ext; intros; ring.
Qed.

Lemma dot_comm d q k : dot d q k = dot d k q.
Proof. apply sum_ext; intros; ring. Qed.

Section Parts.
  Variables (h : head) (f : lse_form) (n d_v : nat) (x x' : operands) (g : matrix) (gL : row).
  Let ds i j := row_score_gradient h f d_v x i (g i) (gL i) j.
  Let sigma := scale h * descale h.

  Lemma query_part :
    sum (range n) (fun i => dot (width h) (queries (head_gradient h f n d_v x g gL) i) (queries x' i)) =
    sum (range n) (fun i => sum (row_keys h i) (fun j => ds i j * (sigma * dot (width h) (queries x' i) (keys x j)))).
  Proof.
    apply sum_ext; intros i _; simpl; fold sigma; rewrite dot_sum.
    apply sum_ext; intros j _; rewrite dot_comm; reflexivity.
  Qed.

  Lemma key_part :
    sum (range (key_count h)) (fun j => dot (width h) (keys (head_gradient h f n d_v x g gL) j) (keys x' j)) =
    sum (range n) (fun i => sum (row_keys h i) (fun j => ds i j * (sigma * dot (width h) (queries x i) (keys x' j)))).
  Proof.
    unfold row_keys, gathered; rewrite sum_swap_filter; apply sum_ext; intros j _; simpl; fold sigma.
    rewrite dot_sum; reflexivity.
  Qed.

  Lemma value_part :
    sum (range (key_count h)) (fun j => dot d_v (values (head_gradient h f n d_v x g gL) j) (values x' j)) =
    sum (range n) (fun i => sum (row_keys h i) (fun j => weights_of h x i j * of_weights h d_v x' i (g i) j)).
  Proof.
    unfold row_keys, gathered; rewrite sum_swap_filter; apply sum_ext; intros j _; simpl; rewrite dot_sum.
    unfold kept_by; rewrite <- !sum_filter; apply sum_ext; intros i _.
    unfold of_weights, weight_gradient; destruct (visible h i j), (kept h i j); simpl; ring.
  Qed.

  Lemma bias_part :
    sum (range n) (fun i => dot (key_count h) (biases (head_gradient h f n d_v x g gL) i) (biases x' i)) =
    sum (range n) (fun i => sum (row_keys h i) (fun j =>
      row_bias_gradient h f d_v x i (g i) (gL i) j * biases x' i j)).
  Proof.
    apply sum_ext; intros i _; unfold row_keys, gathered; rewrite <- sum_filter; apply sum_ext; intros j Hj; simpl.
    destruct (visible h i j) eqn:E; [reflexivity|].
    unfold row_bias_gradient; rewrite logit_bias_gradient_scal, row_logit_gradient_hidden; [ring|].
    rewrite in_row_keys, E; intros [_ V]; discriminate.
  Qed.
End Parts.

(** GRD.P1, GRD.P2 for one head *)
Theorem head_gradient_is_the_derivative h f n d_v (x : R -> operands) t x' (g : matrix) (gL : row) :
  cap_is_positive h -> moves x t x' ->
  is_derive (fun u => head_loss h f n d_v (x u) g gL) t
            (inner n (key_count h) (width h) d_v (head_gradient h f n d_v (x t) g gL) x').
Proof.
  intros H M; unfold head_loss.
  apply (derive_as _ _ _ _ (derive_sum (range n) _ _ t (fun i _ => row_loss_moves h f d_v x t x' i (g i) (gL i) H M))).
  unfold inner; rewrite query_part, key_part, value_part, bias_part, !sum_plus.
  replace (or_zero _ * _) with (sum (range n) (fun i =>
    row_sink_gradient h f d_v (x t) i (g i) (gL i) * or_zero (sink x'))).
  - rewrite <- !sum_plus; apply sum_ext; intros i _.
    rewrite (sum_ext (row_keys h i) (fun j => _ * logits_velocity h (x t) x' i j) (fun j =>
      (row_score_gradient h f d_v (x t) i (g i) (gL i) j *
         (scale h * descale h * dot (width h) (queries x' i) (keys (x t) j)) +
       row_score_gradient h f d_v (x t) i (g i) (gL i) j *
         (scale h * descale h * dot (width h) (queries (x t) i) (keys x' j))) +
      row_bias_gradient h f d_v (x t) i (g i) (gL i) j * biases x' i j)).
    + rewrite !sum_plus; ring.
    + intros j _; unfold logits_velocity; rewrite logit_velocity_gradient.
      unfold row_score_gradient, row_bias_gradient, product_velocity; ring.
  - rewrite sum_scal_r; destruct M as [_ [_ [_ [_ S]]]]; destruct (sink x') as [v|]; simpl in S |- *; [|ring].
    destruct S as [a [E _]]; rewrite E; reflexivity.
Qed.

(** * Along a line *)

(** the sink is there in both or in neither *)
Definition same_sink (x x' : operands) : Prop := sink x = None <-> sink x' = None.

Lemma line_moves x x' t : same_sink x x' -> moves (line x x') t x'.
Proof.
  intros H.
  assert (A : forall a b, is_derive (fun u => a + u * b) t b).
  { intros a b; apply (derive_as _ _ (0 + 1 * b)); [|ring].
    apply (derive_plus (fun _ => a)); [apply derive_const|apply (derive_scal_r (fun u => u)), (is_derive_id t)]. }
  refine (conj (fun _ _ => A _ _) (conj (fun _ _ => A _ _) (conj (fun _ _ => A _ _) (conj (fun _ _ => A _ _) _)))).
  unfold same_sink in H; simpl; destruct (sink x) as [a|], (sink x') as [b|]; simpl; try reflexivity.
  - exists (fun u => a + u * b); auto.
  - destruct H as [_ H]; discriminate (H eq_refl).
  - destruct H as [H _]; discriminate (H eq_refl).
Qed.

Lemma line_start x x' : line x x' 0 = x.
Proof.
  assert (E : forall X Y : matrix, (fun i c => X i c + 0 * Y i c) = X)
    by (intros; apply functional_extensionality; intros i; apply functional_extensionality; intros c; ring).
  destruct x as [Q K V B [a|]]; unfold line; simpl; rewrite !E; [|reflexivity].
  destruct (sink x'); [rewrite Rmult_0_l, Rplus_0_r|]; reflexivity.
Qed.

(** GRD.P2 for one head: Jacobian times direction, against the cotangents, is the direction against the gradient *)
Theorem head_gradient_is_the_transpose h f n d_v x x' (g : matrix) (gL : row) :
  cap_is_positive h -> same_sink x x' ->
  sum (range n) (fun i => dot d_v (g i) (output_velocity h x x' i) + gL i * lse_velocity h f x x' i) =
  inner n (key_count h) (width h) d_v (head_gradient h f n d_v x g gL) x'.
Proof.
  intros H S; assert (M := line_moves x x' 0 S); pattern x at 1 2 3; rewrite <- (line_start x x').
  apply (derive_unique (fun u => head_loss h f n d_v (line x x' u) g gL) 0);
    [|apply head_gradient_is_the_derivative; assumption].
  apply (derive_sum (range n) (fun i u =>
    dot d_v (g i) (output_of h (line x x' u) i) + gL i * lse_of h f (line x x' u) i)); intros i _.
  apply (derive_plus (fun u => dot d_v (g i) (output_of h (line x x' u) i)));
    [|apply derive_scal, lse_moves; assumption].
  apply (derive_sum (range d_v) (fun c u => g i c * output_of h (line x x' u) i c)); intros c _.
  apply derive_scal, output_moves; assumption.
Qed.
