(** GRD.P1 and GRD.P2 of a call: differences along a line, and dual numbers; then the gradient of slopes. *)
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

(** * GRD.P14: the gradient of the slope of a head's position bias. *)

Lemma alibi_is_linear form mu p j : alibi form mu p j = mu * alibi form 1 p j.
Proof. destruct form; simpl; ring. Qed.

(** the operands of a head with a position bias of slope mu; o is the offset of the queries *)
Definition with_slope (form : alibi_form) (o : Z) (mu : R) (x : operands) : operands :=
  Operands (queries x) (keys x) (values x)
           (fun i j => biases x i j + alibi form mu (Z.of_nat i + o) j) (sink x).
Definition unit_slope (form : alibi_form) (o : Z) : matrix := fun i j => alibi form 1 (Z.of_nat i + o) j.

(** GRD.P14: along every curve, the slope moving too *)
Theorem gradient_of_a_slope_is_that_of_its_bias h f n d_v form o (x : R -> operands) (mu : R -> R) t x' (mu' : R) g gL :
  cap_is_positive h -> moves x t x' -> is_derive mu t mu' ->
  let G := head_gradient h f n d_v (with_slope form o (mu t) (x t)) g gL in
  is_derive (fun u => head_loss h f n d_v (with_slope form o (mu u) (x u)) g gL) t
            (inner n (key_count h) (width h) d_v G x' +
             slope_gradient n (key_count h) (biases G) (unit_slope form o) * mu').
Proof.
  intros H [Q [K [V [B S]]]] M; cbv zeta.
  set (y' := Operands (queries x') (keys x') (values x')
    (fun i j => biases x' i j + mu' * unit_slope form o i j) (sink x')).
  apply (derive_as _ _ _ _ (head_gradient_is_the_derivative h f n d_v
    (fun u => with_slope form o (mu u) (x u)) t y' g gL H
    (conj Q (conj K (conj V (conj (fun i j => derive_fun (fun u => biases (x u) i j + mu u * unit_slope form o i j) _ t _
      (derive_plus _ _ t _ _ (B i j) (derive_scal_r mu t _ mu' M))
      (fun u => f_equal _ (eq_sym (alibi_is_linear form (mu u) (Z.of_nat i + o) j)))) S)))))).
  unfold inner, slope_gradient; cbv beta zeta; set (G := head_gradient _ _ _ _ _ _ _); clearbody G; simpl.
  rewrite <- sum_scal_r.
  rewrite (sum_ext (range n) (fun i => dot (key_count h) (biases G i) (fun j => _ + _)) (fun i =>
    dot (key_count h) (biases G i) (biases x' i) + dot (key_count h) (biases G i) (unit_slope form o i) * mu')).
  - rewrite sum_plus; ring.
  - intros i _; unfold dot; rewrite <- sum_scal_r, <- sum_plus; apply sum_ext; intros; ring.
Qed.

Lemma operands_with_slope_on_a_line form o mu mu' x t :
  elementary_operands (fun u => with_slope form o (mu + u * mu') (line x t u)).
Proof.
  constructor; intros; simpl; try apply elementary_line.
  - apply elementary_plus; [apply elementary_line|].
    apply (elementary_as (fun u => (mu + u * mu') * alibi form 1 (Z.of_nat i + o) j));
      [apply elementary_mult; [apply elementary_line|apply elementary_const]|].
    intros u; symmetry; apply alibi_is_linear.
  - destruct (sink x) as [a|]; [right|left; reflexivity].
    destruct (sink t) as [v|]; [exists (fun u => a + u * v)|exists (fun _ => a)]; split; try reflexivity.
    + apply elementary_line.
    + apply elementary_const.
Qed.

(** GRD.P14: as in GRD.P1 *)
Theorem gradient_of_a_slope_matches_finite_differences h f n d_v form o x t mu mu' g gL :
  cap_is_positive h -> same_sink x t ->
  matches_finite_differences
    (fun u => head_loss h f n d_v (with_slope form o (mu + u * mu') (line x t u)) g gL)
    (fun u => let G := head_gradient h f n d_v (with_slope form o (mu + u * mu') (line x t u)) g gL in
              inner n (key_count h) (width h) d_v G t +
              slope_gradient n (key_count h) (biases G) (unit_slope form o) * mu').
Proof.
  intros H S; apply derivatives_match_finite_differences.
  - apply elementary_functions_are_smooth, elementary_head_loss; [exact H|apply operands_with_slope_on_a_line].
  - intros u.
    apply (gradient_of_a_slope_is_that_of_its_bias h f n d_v form o (line x t) (fun u => mu + u * mu') u t mu');
      [exact H|apply line_moves, S|apply line_derive].
Qed.

(** GRD.P14: as in GRD.P2 *)
Theorem gradient_of_a_slope_is_the_transpose h f n d_v form o x t mu mu' g gL y y'
    (O : nat -> nat -> computation) (L : nat -> computation) :
  cap_is_positive h -> same_sink x t ->
  (forall i c, computes y y' (O i c) (fun u => output_of h (with_slope form o (mu + u * mu') (line x t u)) i c)) ->
  (forall i, computes y y' (L i) (fun u => lse_of h f (with_slope form o (mu + u * mu') (line x t u)) i)) ->
  let J_t E := tangent (read_in_duals (fun n => Dual (y n) (y' n)) E) in
  let G := head_gradient h f n d_v (with_slope form o mu x) g gL in
  sum (range n) (fun i => dot d_v (g i) (fun c => J_t (O i c)) + gL i * J_t (L i)) =
  inner n (key_count h) (width h) d_v G t + slope_gradient n (key_count h) (biases G) (unit_slope form o) * mu'.
Proof.
  intros H S HO HL; cbv zeta.
  assert (D := gradient_of_a_slope_is_that_of_its_bias h f n d_v form o (line x t) (fun u => mu + u * mu') 0 t mu' g gL H
    (line_moves x t 0 S) (line_derive mu mu' 0)); cbv zeta in D.
  rewrite line_start, Rmult_0_l, Rplus_0_r in D.
  apply (derive_unique _ 0 _ _ (head_loss_computed h f n d_v _ g gL y y' O L HO HL) D).
Qed.
