(** GRD.P15: quotients of differences of a layer, along a line through all its numbers. *)
From Attest Require Export NormDifferences LayerGradient.

(** * Lines *)

Definition matrix_line (X T : matrix) (u : R) : matrix := fun i c => X i c + u * T i c.
Definition row_line (x t : option row) (u : R) : option row :=
  match x, t with Some r, Some v => Some (fun c => r c + u * v c) | x, _ => x end.
Definition projection_line (p t : projection) (u : R) : projection :=
  Projection (matrix_line (weight_of p) (weight_of t) u) (row_line (bias_of p) (bias_of t) u).
(** x + u t, number by number *)
Definition numbers_line (x t : layer_numbers) (u : R) : layer_numbers :=
  LayerNumbers (projection_line (query_map x) (query_map t) u) (projection_line (key_map x) (key_map t) u)
    (projection_line (value_map x) (value_map t) u) (projection_line (output_map x) (output_map t) u)
    (match key_and_value_row x, key_and_value_row t with
     | Some (k, v), Some (k', v') => Some (fun c => k c + u * k' c, fun c => v c + u * v' c)
     | r, _ => r
     end)
    (fun b => matrix_line (query_inputs x b) (query_inputs t b) u)
    (fun b => matrix_line (key_inputs x b) (key_inputs t b) u)
    (fun b => matrix_line (value_inputs x b) (value_inputs t b) u)
    (fun b h => matrix_line (layer_bias x b h) (layer_bias t b h) u)
    (fun h => match layer_sink x h, layer_sink t h with Some a, Some b => Some (a + u * b) | a, _ => a end).

(** the direction has the slots that the layer has *)
Definition both_or_neither {A B : Type} (x : option A) (t : option B) : Prop := x = None <-> t = None.
Record same_slots (x t : layer_numbers) : Prop := {
  query_biases : both_or_neither (bias_of (query_map x)) (bias_of (query_map t));
  key_biases : both_or_neither (bias_of (key_map x)) (bias_of (key_map t));
  value_biases : both_or_neither (bias_of (value_map x)) (bias_of (value_map t));
  output_biases : both_or_neither (bias_of (output_map x)) (bias_of (output_map t));
  added_rows : both_or_neither (key_and_value_row x) (key_and_value_row t);
  same_layer_sinks : forall h, both_or_neither (layer_sink x h) (layer_sink t h)
}.

Lemma matrix_line_moves X T u : matrix_moves (matrix_line X T) u T.
Proof. intros i c; apply line_derive. Qed.

Lemma row_line_moves x t u : both_or_neither x t -> row_moves (row_line x t) u t.
Proof.
  intros H; destruct t as [v|], x as [r|]; simpl; try reflexivity.
  - exists (fun u c => r c + u * v c); split; [reflexivity|intros; apply line_derive].
  - destruct H as [H _]; discriminate (H eq_refl).
  - destruct H as [_ H]; discriminate (H eq_refl).
Qed.

Lemma numbers_line_moves x t u : same_slots x t -> numbers_move (numbers_line x t) u t.
Proof.
  intros S; constructor; intros; try apply matrix_line_moves;
    try (split; [apply matrix_line_moves|apply row_line_moves, S]).
  - assert (H := added_rows x t S); unfold both_or_neither in H; simpl.
    destruct (key_and_value_row x) as [[k v]|], (key_and_value_row t) as [[k' v']|]; simpl; try reflexivity.
    + exists (fun u c => k c + u * k' c); split; [reflexivity|intros; apply line_derive].
    + destruct H as [_ H]; discriminate (H eq_refl).
    + destruct H as [H _]; discriminate (H eq_refl).
  - assert (H := added_rows x t S); unfold both_or_neither in H; simpl.
    destruct (key_and_value_row x) as [[k v]|], (key_and_value_row t) as [[k' v']|]; simpl; try reflexivity.
    + exists (fun u c => v c + u * v' c); split; [reflexivity|intros; apply line_derive].
    + destruct H as [_ H]; discriminate (H eq_refl).
    + destruct H as [H _]; discriminate (H eq_refl).
  - assert (H := same_layer_sinks x t S h); unfold both_or_neither in H; simpl.
    destruct (layer_sink x h) as [a|], (layer_sink t h) as [b|]; simpl; try reflexivity.
    + exists (fun u => a + u * b); split; [reflexivity|apply line_derive].
    + destruct H as [_ H]; discriminate (H eq_refl).
    + destruct H as [H _]; discriminate (H eq_refl).
Qed.

(** * A layer along a line can be written with the operations of a scalar *)

Definition elementary_matrix (X : R -> matrix) : Prop := forall i c, elementary (fun u => X u i c).
Definition elementary_row (r : R -> option row) : Prop :=
  (forall u, r u = None) \/ exists v, (forall u, r u = Some (v u)) /\ forall c, elementary (fun u => v u c).

Lemma elementary_affine I (W : R -> matrix) (b : R -> option row) (X : R -> matrix) :
  elementary_matrix W -> elementary_row b -> elementary_matrix X ->
  elementary_matrix (fun u => affine I (W u) (b u) (X u)).
Proof.
  intros HW Hb HX s n; unfold affine; apply elementary_plus.
  - apply (elementary_dot I (fun m u => X u s m) (fun m u => W u m n)); [apply HX|intros; apply HW].
  - destruct Hb as [E|[v [E Hv]]].
    + apply (elementary_as (fun _ => 0)); [apply elementary_const|intros u; rewrite E; reflexivity].
    + apply (elementary_as (fun u => v u n)); [apply Hv|intros u; rewrite E; reflexivity].
Qed.

Lemma elementary_row_line x t : elementary_row (row_line x t).
Proof.
  destruct x as [r|]; [right|left; reflexivity]; destruct t as [v|].
  - exists (fun u c => r c + u * v c); split; [reflexivity|intros; apply elementary_line].
  - exists (fun _ => r); split; [reflexivity|intros; apply elementary_const].
Qed.

Lemma elementary_projected I p t (X : R -> matrix) :
  elementary_matrix X -> elementary_matrix (fun u => projected I (projection_line p t u) (X u)).
Proof.
  intros HX; apply (elementary_affine I (matrix_line (weight_of p) (weight_of t)) (row_line (bias_of p) (bias_of t)));
    [intros i c; apply elementary_line|apply elementary_row_line|exact HX].
Qed.

Lemma elementary_append n (A B : R -> matrix) :
  elementary_matrix A -> elementary_matrix B -> elementary_matrix (fun u => append_rows n (A u) (B u)).
Proof. intros HA HB s c; unfold append_rows; destruct (s <? n)%nat; [apply HA|apply HB]. Qed.

Lemma elementary_projected_keys I n p t (r : R -> option row) zero (X : R -> matrix) :
  elementary_row r -> elementary_matrix X ->
  elementary_matrix (fun u => projected_keys I n (projection_line p t u) (r u) zero (X u)).
Proof.
  intros Hr HX; assert (HP := elementary_projected I p t X HX).
  assert (Z : elementary_matrix (fun _ => fun _ _ => 0)) by (intros i c; apply elementary_const).
  unfold projected_keys; destruct Hr as [E|[v [E Hv]]]; intros s c.
  - apply (elementary_as (fun u => (if zero
      then append_rows n (projected I (projection_line p t u) (X u)) (fun _ _ => 0)
      else projected I (projection_line p t u) (X u)) s c));
      [|intros u; rewrite E; reflexivity].
    destruct zero; [apply (elementary_append n _ _ HP Z)|apply HP].
  - assert (HA := elementary_append n _ (fun u => fun _ => v u) HP (fun _ c => Hv c)).
    apply (elementary_as (fun u => (if zero
      then append_rows (n + 1) (append_rows n (projected I (projection_line p t u) (X u)) (fun _ => v u)) (fun _ _ => 0)
      else append_rows n (projected I (projection_line p t u) (X u)) (fun _ => v u)) s c));
      [|intros u; rewrite E; reflexivity].
    destruct zero; [apply (elementary_append (n + 1) _ _ HA Z)|apply HA].
Qed.

Section Line.
  Variables (C : layer_call) (x t : layer_numbers).
  Hypothesis layer_is_checked : is_layer C.
  Hypothesis slots : same_slots x t.

  Lemma rows_on_a_line : elementary_row (fun u => option_map fst (key_and_value_row (numbers_line x t u)))
                         /\ elementary_row (fun u => option_map snd (key_and_value_row (numbers_line x t u))).
  Proof.
    simpl; destruct (key_and_value_row x) as [[k v]|]; [|split; left; reflexivity].
    destruct (key_and_value_row t) as [[k' v']|]; simpl; split; right.
    - exists (fun u c => k c + u * k' c); split; [reflexivity|intros; apply elementary_line].
    - exists (fun u c => v c + u * v' c); split; [reflexivity|intros; apply elementary_line].
    - exists (fun _ => k); split; [reflexivity|intros; apply elementary_const].
    - exists (fun _ => v); split; [reflexivity|intros; apply elementary_const].
  Qed.

  Lemma head_operands_on_a_line b h : elementary_operands (fun u => head_operands C (numbers_line x t u) b h).
  Proof.
    assert (M : forall X T, elementary_matrix (matrix_line X T)) by (intros X T i c; apply elementary_line).
    destruct rows_on_a_line as [HK HV]; pose (e := sizes C); constructor.
    - intros i c; exact (elementary_projected (query_input e) (query_map x) (query_map t) _
        (M (query_inputs x b) (query_inputs t b)) i (h * head_width e + c)%nat).
    - intros j c; exact (elementary_projected_keys (key_input e) (projected_keys_count C) (key_map x) (key_map t) _
        (zero_key C) _ HK (M (key_inputs x b) (key_inputs t b)) j
        (key_head (sharing C) (query_heads e) (key_heads e) h * head_width e + c)%nat).
    - intros j c; exact (elementary_projected_keys (value_input e) (projected_keys_count C) (value_map x) (value_map t)
        _ (zero_key C) _ HV (M (value_inputs x b) (value_inputs t b)) j
        (key_head (sharing C) (query_heads e) (value_heads e) h * value_width e + c)%nat).
    - intros i j; simpl; unfold inner_bias; cbn [layer_at projected_count inside_bias].
      destruct (j <? projected_keys_count C)%nat; [|apply elementary_const].
      unfold read_bias; destruct (bias_shape C) as [[[nB nH] nI] nJ]; apply elementary_line.
    - simpl; destruct (layer_sink x h) as [a|]; [right|left; reflexivity].
      destruct (layer_sink t h) as [v|]; [exists (fun u => a + u * v)|exists (fun _ => a)]; split; try reflexivity.
      + apply elementary_line.
      + apply elementary_const.
  Qed.

  Lemma outputs_on_a_line b : elementary_matrix (fun u => output_at C (numbers_line x t u) b).
  Proof.
    apply (elementary_projected (query_heads (sizes C) * value_width (sizes C)) (output_map x) (output_map t)
             (fun u => merge_heads (value_width (sizes C)) (heads_at C (numbers_line x t u) b))).
    intros i n; unfold merge_heads; set (h := (n / value_width (sizes C))%nat).
    apply (elementary_as (fun u => output_of (inner_head (layer_at C (numbers_line x t 0) b) h)
      (head_operands C (numbers_line x t u) b h) i (n mod value_width (sizes C)))).
    - apply elementary_output; [apply (inside_caps_are_positive C layer_is_checked b h)|apply head_operands_on_a_line].
    - intros u; rewrite <- (inner_head_at C (numbers_line x t) 0 t (numbers_line_moves x t 0 slots) u b h); reflexivity.
  Qed.

  (** GRD.P15 *)
  Theorem gradients_of_a_layer_match_finite_differences g :
    matches_finite_differences (fun u => layer_loss C (numbers_line x t u) g)
                               (fun u => layer_dot C (layer_gradient C (numbers_line x t u) g) t).
  Proof.
    apply derivatives_match_finite_differences.
    - apply elementary_functions_are_smooth.
      apply (elementary_sum _ (fun b u => matrix_dot _ _ (g b) (output_at C (numbers_line x t u) b))); intros b _.
      apply (elementary_sum _ (fun i u => dot _ (g b i) (output_at C (numbers_line x t u) b i))); intros i _.
      apply (elementary_sum _ (fun c u => g b i c * output_at C (numbers_line x t u) b i c)); intros c _.
      apply elementary_scal, outputs_on_a_line.
    - intros u; apply (layer_gradient_is_the_derivative C (numbers_line x t) u t layer_is_checked).
      apply numbers_line_moves, slots.
  Qed.
End Line.
