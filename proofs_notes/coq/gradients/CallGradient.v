(** The gradient of a head (GRD.D10), then that of a call, is the derivative of its outputs and log-sum-exps along every direction. *)
From Attest Require Export RowGradient AttentionCalls.
Require Import FunctionalExtensionality.

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

(** * The gradient of a call: shared key and value heads, a bias that is read at many places, sinks that the batch
    entries share (GRD.D11, GRD.D12). *)

(** every number of the call moves *)
Definition tensors_move (x : R -> tensors) (t : R) (x' : tensors) : Prop :=
  (forall b h i c, is_derive (fun u => q_tensor (x u) b h i c) t (q_tensor x' b h i c)) /\
  (forall b h j c, is_derive (fun u => k_tensor (x u) b h j c) t (k_tensor x' b h j c)) /\
  (forall b h j c, is_derive (fun u => v_tensor (x u) b h j c) t (v_tensor x' b h j c)) /\
  (forall b h i j, is_derive (fun u => bias_tensor (x u) b h i j) t (bias_tensor x' b h i j)) /\
  (forall h, sink_moves (fun u => sinks (x u) h) t (sinks x' h)).

(** What a call is checked for. ATT.C3: the heads divide. SHP.C3: the bias broadcasts. ATT.C5: caps are positive. *)
Record is_call (C : call) : Prop := {
  k_heads_divide : Nat.divide (k_heads C) (q_heads C);
  v_heads_divide : Nat.divide (v_heads C) (q_heads C);
  bias_batch_fits : bias_batch C = 1%nat \/ bias_batch C = batch C;
  bias_heads_fit : bias_heads C = 1%nat \/ bias_heads C = q_heads C;
  bias_rows_fit : bias_rows C = 1%nat \/ bias_rows C = q_rows C;
  bias_keys_fit : bias_keys C = 1%nat \/ bias_keys C = k_rows C;
  caps_are_positive : forall b h, cap_is_positive (head_at C b h);
  heads_have_keys : forall b h, key_count (head_at C b h) = k_rows C;
  heads_have_width : forall b h, width (head_at C b h) = qk_width C
}.

(** the outputs of the loss are those of ATT.D8 *)
Lemma outputs_are_attention C x b h i c :
  output_of (head_at C b h) (operands_at C (slopes_bias C) x b h) i c =
  attention (head_order C) (q_heads C) (k_heads C) (v_heads C) (head_at C) (q_tensor x) (k_tensor x) (v_tensor x)
            (fun b h i j => broadcast_bias C (bias_tensor x) b h i j + slopes_bias C b h i j) (sinks x) b h i c.
Proof. reflexivity. Qed.

(** * Reading at many places *)

(** GRD.D11 *)
Theorem entry_receives_the_sum_of_its_places n m read (G x : row) :
  (forall p, (p < n)%nat -> (read p < m)%nat) ->
  sum (range n) (fun p => G p * x (read p)) = sum (range m) (fun e => add_broadcast n read G e * x e).
Proof.
  intros H; unfold add_broadcast.
  rewrite (sum_ext (range m) _ (fun e => sum (range n) (fun p => if (read p =? e)%nat then G p * x e else 0))).
  2: { intros e _; rewrite (sum_filter (range n) (fun p => (read p =? e)%nat) (fun p => G p * x e)), sum_scal_r; ring. }
  rewrite sum_swap; apply sum_ext; intros p Hp.
  rewrite (sum_ext (range m) _ (fun e => (if (read p =? e)%nat then 1 else 0) * (G p * x e)))
    by (intros e _; destruct (read p =? e)%nat; ring).
  rewrite (sum_delta (range m) (read p) (fun e => G p * x e)); [reflexivity|apply seq_NoDup|].
  apply in_range, H, in_range, Hp.
Qed.

Lemma broadcast_below n full p : n = 1%nat \/ n = full -> (p < full)%nat -> (broadcast n p < n)%nat.
Proof. unfold broadcast; destruct (Nat.eqb_spec n 1); lia. Qed.

(** the same of rows, of matrices, and of stacks of matrices *)
Section Shared.
  Variables (n m : nat) (read : nat -> nat).
  Hypothesis in_bounds : forall p, (p < n)%nat -> (read p < m)%nat.

  Lemma shared_rows (l : list nat) (G X : matrix) :
    sum (range n) (fun p => sum l (fun c => G p c * X (read p) c)) =
    sum (range m) (fun e => sum l (fun c => add_broadcast n read (fun p => G p c) e * X e c)).
  Proof.
    rewrite 2!(sum_swap _ l); apply sum_ext; intros c _.
    apply (entry_receives_the_sum_of_its_places n m read (fun p => G p c) (fun e => X e c) in_bounds).
  Qed.

  Lemma shared_matrices (l l' : list nat) (G X : nat -> matrix) :
    sum (range n) (fun p => sum l (fun s => sum l' (fun c => G p s c * X (read p) s c))) =
    sum (range m) (fun e => sum l (fun s => sum l' (fun c => add_broadcast n read (fun p => G p s c) e * X e s c))).
  Proof.
    rewrite 2!(sum_swap _ l); apply sum_ext; intros s _; apply (shared_rows l' (fun p => G p s) (fun e => X e s)).
  Qed.

  Lemma shared_stacks (k l l' : list nat) (G X : nat -> nat -> matrix) :
    sum (range n) (fun p => sum k (fun h => sum l (fun s => sum l' (fun c => G p h s c * X (read p) h s c)))) =
    sum (range m) (fun e => sum k (fun h => sum l (fun s => sum l' (fun c =>
      add_broadcast n read (fun p => G p h s c) e * X e h s c)))).
  Proof.
    rewrite 2!(sum_swap _ k); apply sum_ext; intros h _.
    apply (shared_matrices l l' (fun p => G p h) (fun e => X e h)).
  Qed.
End Shared.

Lemma shared_bias n0 n1 n2 n3 N0 N1 N2 N3 r0 r1 r2 r3 (G X : nat -> nat -> matrix) :
  (forall p, (p < N0)%nat -> (r0 p < n0)%nat) -> (forall p, (p < N1)%nat -> (r1 p < n1)%nat) ->
  (forall p, (p < N2)%nat -> (r2 p < n2)%nat) -> (forall p, (p < N3)%nat -> (r3 p < n3)%nat) ->
  sum (range N0) (fun b => sum (range N1) (fun h => sum (range N2) (fun i =>
    dot N3 (G b h i) (fun j => X (r0 b) (r1 h) (r2 i) (r3 j))))) =
  sum (range n0) (fun b' => sum (range n1) (fun h' => sum (range n2) (fun i' =>
    dot n3 (fun j' => add_broadcast N0 r0 (fun b => add_broadcast N1 r1 (fun h => add_broadcast N2 r2 (fun i =>
      add_broadcast N3 r3 (fun j => G b h i j) j') i') h') b') (X b' h' i')))).
Proof.
  intros H0 H1 H2 H3; unfold dot; rewrite <- (shared_stacks N0 n0 r0 H0); apply sum_ext; intros b _.
  rewrite <- (shared_matrices N1 n1 r1 H1 _ _ _ (X (r0 b))); apply sum_ext; intros h _.
  rewrite <- (shared_rows N2 n2 r2 H2 _ _ (X (r0 b) (r1 h))); apply sum_ext; intros i _.
  apply (entry_receives_the_sum_of_its_places N3 n3 r3 (G b h i) (X (r0 b) (r1 h) (r2 i)) H3).
Qed.

(** * The call *)

Lemma sum_sum_plus {A B} (l : list A) (l' : list B) (F G : A -> B -> R) :
  sum l (fun a => sum l' (fun b => F a b + G a b)) =
  sum l (fun a => sum l' (fun b => F a b)) + sum l (fun a => sum l' (fun b => G a b)).
Proof. rewrite <- sum_plus; apply sum_ext; intros; apply sum_plus. Qed.

Lemma operands_at_move C x t x' b h :
  tensors_move x t x' ->
  moves (fun u => operands_at C (slopes_bias C) (x u) b h) t (operands_at C (fun _ _ _ _ => 0) x' b h).
Proof.
  intros [Q [K [V [B S]]]]; refine (conj _ (conj _ (conj _ (conj _ _)))); simpl; auto.
  intros i j; apply (derive_plus (fun u => broadcast_bias C (bias_tensor (x u)) b h i j)); [apply B|apply derive_const].
Qed.

(** GRD.P1, GRD.P2: the derivative of a call along any direction *)
Theorem call_gradient_is_the_derivative C (x : R -> tensors) t x' g gL :
  is_call C -> tensors_move x t x' ->
  is_derive (fun u => call_loss C (x u) g gL) t (call_inner C (call_gradient C (x t) g gL) x').
Proof.
  intros W M; unfold call_loss.
  set (G := fun b h => head_gradient (head_at C b h) (lse_told C) (q_rows C) (v_width C)
                         (operands_at C (slopes_bias C) (x t) b h) (g b h) (gL b h)).
  apply (derive_as _ _ (sum (range (batch C)) (fun b => sum (range (q_heads C)) (fun h =>
    inner (q_rows C) (k_rows C) (qk_width C) (v_width C) (G b h) (operands_at C (fun _ _ _ _ => 0) x' b h))))).
  - apply (derive_sum (range (batch C)) (fun b u => sum (range (q_heads C)) (fun h =>
      head_loss (head_at C b h) (lse_told C) (q_rows C) (v_width C)
                (operands_at C (slopes_bias C) (x u) b h) (g b h) (gL b h)))); intros b _.
    apply (derive_sum (range (q_heads C)) (fun h u =>
      head_loss (head_at C b h) (lse_told C) (q_rows C) (v_width C)
                (operands_at C (slopes_bias C) (x u) b h) (g b h) (gL b h))); intros h _.
    apply (derive_as _ _ _ _ (head_gradient_is_the_derivative (head_at C b h) (lse_told C) (q_rows C) (v_width C)
      _ t _ (g b h) (gL b h) (caps_are_positive C W b h) (operands_at_move C x t x' b h M))).
    unfold inner; rewrite (heads_have_keys C W), (heads_have_width C W); reflexivity.
  - unfold call_inner, inner; cbv zeta.
    rewrite !sum_sum_plus; repeat apply (f_equal2 Rplus); [reflexivity| | | |].
    + apply sum_ext; intros b _.
      apply (shared_matrices _ _ _ (fun h => key_head_below _ _ _ h (k_heads_divide C W)) _ _
               (fun h => keys (G b h)) (k_tensor x' b)).
    + apply sum_ext; intros b _.
      apply (shared_matrices _ _ _ (fun h => key_head_below _ _ _ h (v_heads_divide C W)) _ _
               (fun h => values (G b h)) (v_tensor x' b)).
    + rewrite <- (shared_bias _ _ _ _ (batch C) (q_heads C) (q_rows C) (k_rows C)
        (broadcast (bias_batch C)) (broadcast (bias_heads C)) (broadcast (bias_rows C)) (broadcast (bias_keys C))
        (fun b h => biases (G b h)) (bias_tensor x')); try (intros p; apply broadcast_below; apply W).
      repeat (apply sum_ext; intros ? _); simpl; unfold broadcast_bias; ring.
    + rewrite sum_swap; apply sum_ext; intros h _; simpl; rewrite sum_scal_r.
      destruct M as [_ [_ [_ [_ S]]]]; specialize (S h); destruct (sinks x' h) as [v|]; simpl in S |- *; [|ring].
      destruct S as [a [E _]]; rewrite E; reflexivity.
Qed.

(** GRD.D12: an entry of the bias that hides its keys wherever it is read, as minus infinity does, receives nothing *)
Theorem hiding_bias_has_zero_gradient C x g gL b' h' i' j' :
  (forall b h i j, broadcast (bias_batch C) b = b' -> broadcast (bias_heads C) h = h' ->
     broadcast (bias_rows C) i = i' -> broadcast (bias_keys C) j = j' -> visible (head_at C b h) i j = false) ->
  bias_tensor (call_gradient C x g gL) b' h' i' j' = 0.
Proof.
  intros H; simpl; unfold add_broadcast.
  apply sum_zero; intros b B; apply sum_zero; intros h U; apply sum_zero; intros i I; apply sum_zero; intros j J.
  apply filter_In in B as [_ B], U as [_ U], I as [_ I], J as [_ J]; apply Nat.eqb_eq in B, U, I, J.
  unfold row_bias_gradient; rewrite row_logit_gradient_hidden, logit_bias_gradient_scal; [ring|].
  rewrite in_row_keys, (H b h i j B U I J); intros [_ V]; discriminate.
Qed.
