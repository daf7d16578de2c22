(** Splitting and merging heads, packed projections, caches: entries move, and each projected entry is the same sum.
    Then: the layer. *)
From Attest Require Export AttentionCalls.

(** ** Splitting and merging *)

Lemma column_of_head w h c : (c < w)%nat -> ((h * w + c) / w = h)%nat /\ ((h * w + c) mod w = c)%nat.
Proof.
  intros H; rewrite (Nat.add_comm (h * w)); split.
  - rewrite Nat.div_add, Nat.div_small by lia; reflexivity.
  - rewrite Nat.mod_add, Nat.mod_small by lia; reflexivity.
Qed.

Lemma head_of_column w n : (0 < w)%nat -> ((n / w) * w + n mod w = n)%nat.
Proof. intros H; rewrite Nat.mul_comm; symmetry; apply Nat.div_mod; lia. Qed.

Lemma column_below H w n : (n < H * w)%nat -> (n / w < H)%nat /\ (n mod w < w)%nat.
Proof. intros L; assert (w <> O) by lia; split; [apply Nat.div_lt_upper_bound; lia|apply Nat.mod_upper_bound; lia]. Qed.

(** MHA.P1: of H heads of width w; both ways, and every column below H w belongs to one head below H *)
Theorem splitting_is_a_bijection H w : (0 < w)%nat ->
  (forall X s n, merge_heads w (split_heads w X) s n = X s n) /\
  (forall Xs h s c, (c < w)%nat -> split_heads w (merge_heads w Xs) h s c = Xs h s c) /\
  (forall n, (n < H * w)%nat -> (n / w < H)%nat /\ (n mod w < w)%nat) /\
  (forall h c, (h < H)%nat -> (c < w)%nat -> (h * w + c < H * w)%nat).
Proof.
  intros Hw; split; [|split; [|split]].
  - intros X s n; unfold merge_heads, split_heads; rewrite head_of_column by assumption; reflexivity.
  - intros Xs h s c Hc; unfold merge_heads, split_heads.
    destruct (column_of_head w h c Hc) as [-> ->]; reflexivity.
  - intros n; apply column_below.
  - intros h c Hh Hc; assert ((h + 1) * w <= H * w)%nat by (apply Nat.mul_le_mono_r; lia); lia.
Qed.

(** MHA.E2 *)
Lemma MHA_E2 : let X := fun s n => nth (4 * s + n) [1; 2; 3; 4; 5; 6; 7; 8] 0 in
  map (fun h => map (fun s => map (split_heads 2 X h s) (range 2)) (range 2)) (range 2) =
  [[[1; 2]; [5; 6]]; [[3; 4]; [7; 8]]].
Proof. reflexivity. Qed.

(** ** Projections *)

Lemma affine_ext I W W' b b' X X' s n :
  (forall m, (m < I)%nat -> X s m = X' s m) -> (forall m, (m < I)%nat -> W m n = W' m n) ->
  match b with Some b => b n | None => 0 end = match b' with Some b => b n | None => 0 end ->
  affine I W b X s n = affine I W' b' X' s n.
Proof. intros HX HW Hb; unfold affine; f_equal; [apply dot_ext; assumption|exact Hb]. Qed.

(** one weight, from a list of one for each head *)
Definition packed (w : nat) (W : list matrix) : matrix := merge_heads w (fun h => nth h W (fun _ _ => 0)).

(** MHA.P2 *)
Theorem packed_projection_is_the_projection_for_each_head I w W X h s c : (c < w)%nat ->
  split_heads w (affine I (packed w W) None X) h s c = project_heads I W X h s c.
Proof.
  intros Hc; unfold split_heads, project_heads, affine, packed, merge_heads; f_equal; apply dot_ext; [reflexivity|].
  intros m _.
  destruct (column_of_head w h c Hc) as [-> ->]; reflexivity.
Qed.

(** MHA.P6 *)
Theorem appending_to_a_cache_is_projecting_the_whole I W b n X1 X2 s c :
  append_rows n (affine I W b X1) (affine I W b X2) s c = affine I W b (append_rows n X1 X2) s c.
Proof.
  unfold append_rows, affine; destruct (s <? n)%nat; reflexivity.
Qed.

(** MHA.D6: what comes first, and what comes after it *)
Lemma append_rows_spec n past now s :
  ((s < n)%nat -> append_rows n past now s = past s) /\ append_rows n past now (n + s)%nat = now s.
Proof.
  unfold append_rows; split.
  - intros H; apply Nat.ltb_lt in H; rewrite H; reflexivity.
  - destruct (Nat.ltb_spec (n + s) n); [lia|]; f_equal; lia.
Qed.

Definition identity_matrix : matrix := fun r n => if Nat.eqb n r then 1 else 0.

Lemma affine_identity I X s n : (n < I)%nat -> affine I identity_matrix None X s n = X s n.
Proof.
  intros H; unfold affine, dot, identity_matrix.
  rewrite Rplus_0_r, (sum_ext _ _ (fun c => (if Nat.eqb n c then 1 else 0) * X s c)) by (intros; ring).
  apply (sum_delta (range I) n (X s)); [apply seq_NoDup|apply in_range, H].
Qed.

(** * Layers that differ in one part: biases of zeros, an output bias, repeated weights. *)

(** ** Layers that differ in one part *)

Definition with_projections (L : layer) (q k v o : projection) : layer :=
  Layer (extents L) (shared_by L) q k v o (added_row L) (zero_attention L) (projected_count L) (unpadded L)
        (inside L) (inside_bias L) (inside_sink L).
Definition with_zero_attention (L : layer) (zero : bool) (sink : option R) : layer :=
  Layer (extents L) (shared_by L) (to_queries L) (to_keys L) (to_values L) (to_output L) (added_row L) zero
        (projected_count L) (unpadded L) (inside L) (inside_bias L) (fun _ => sink).
Definition without_bias (p : projection) : projection := Projection (weight_of p) None.
Definition with_bias (p : projection) (b : row) : projection := Projection (weight_of p) (Some b).

Lemma attend_row_ext h Q Q' K K' V V' bias bias' sink i c :
  (forall c, (c < width h)%nat -> Q i c = Q' i c) ->
  (forall j c, (c < width h)%nat -> K j c = K' j c) -> (forall j, V j c = V' j c) -> (forall j, bias i j = bias' i j) ->
  attend_row h Q K V bias sink i c = attend_row h Q' K' V' bias' sink i c.
Proof.
  intros HQ HK HV Hb; unfold attend_row; f_equal; apply weighted_values_ext; auto.
  intros j _; unfold row_logits; rewrite Hb; f_equal; f_equal; apply dot_ext; auto.
Qed.

(** a row of the output depends on the heads below Hq, in the channels below Dv *)
Lemma output_rows_ext L heads heads' i n :
  (forall h c, (h < query_heads (extents L))%nat -> (c < value_width (extents L))%nat -> heads h i c = heads' h i c) ->
  output_rows L heads i n = output_rows L heads' i n.
Proof.
  intros H; unfold output_rows, projected; apply affine_ext; [|reflexivity|reflexivity].
  intros m Hm; unfold merge_heads; apply column_below in Hm; apply H; tauto.
Qed.

(** ** Biases *)

Lemma projected_zero_bias I p X s n : projected I (with_bias p (fun _ => 0)) X s n = projected I (without_bias p) X s n.
Proof. reflexivity. Qed.

Lemma projected_keys_ext I n p p' added zero X s c :
  (forall s, projected I p X s c = projected I p' X s c) ->
  projected_keys I n p added zero X s c = projected_keys I n p' added zero X s c.
Proof.
  intros H; unfold projected_keys, append_rows; destruct added, zero; rewrite ?H; auto;
    repeat (destruct (_ <? _)%nat; rewrite ?H; auto).
Qed.

(** MHA.P3 *)
Theorem a_bias_of_zeros_is_no_bias L Xq Xk Xv i n :
  let zero := fun p => with_bias p (fun _ => 0) in
  layer_output (with_projections L (zero (to_queries L)) (zero (to_keys L)) (zero (to_values L)) (zero (to_output L)))
    Xq Xk Xv i n =
  layer_output (with_projections L (without_bias (to_queries L)) (without_bias (to_keys L)) (without_bias (to_values L))
    (without_bias (to_output L))) Xq Xk Xv i n.
Proof.
  intros zero; unfold layer_output, output_rows; simpl; unfold zero; rewrite projected_zero_bias.
  unfold projected; apply affine_ext; [|reflexivity|reflexivity]; intros m _; unfold merge_heads, layer_head; simpl.
  apply attend_row_ext; intros; try reflexivity; unfold layer_keys, layer_values, split_heads; simpl;
    apply projected_keys_ext; intros; apply projected_zero_bias.
Qed.

(** MHA.P10 *)
Theorem output_bias_is_added_once_after_merging L b Xq Xk Xv i n :
  layer_output (with_projections L (to_queries L) (to_keys L) (to_values L) (with_bias (to_output L) b)) Xq Xk Xv i n =
  layer_output (with_projections L (to_queries L) (to_keys L) (to_values L) (without_bias (to_output L))) Xq Xk Xv i n
  + b n.
Proof. unfold layer_output, output_rows, projected, affine; simpl; rewrite Rplus_0_r; reflexivity. Qed.

(** ** Repeated weights *)

(** the columns of H heads of width w: those of head h are the columns of head f h of the given row *)
Definition repeat_columns (w : nat) (f : nat -> nat) (x : row) : row := fun n => x (f (n / w) * w + n mod w)%nat.
Definition repeat_projection (w : nat) (f : nat -> nat) (p : projection) : projection :=
  Projection (fun r => repeat_columns w f (weight_of p r)) (option_map (repeat_columns w f) (bias_of p)).

(** the layer with as many key heads and value heads as query heads: weights, biases and added rows are repeated *)
Definition repeated_layer (L : layer) : layer :=
  let e := extents L in
  let fk := key_head (shared_by L) (query_heads e) (key_heads e) in
  let fv := key_head (shared_by L) (query_heads e) (value_heads e) in
  Layer (Extents (query_heads e) (query_heads e) (query_heads e) (head_width e) (value_width e)
                 (query_input e) (key_input e) (value_input e) (output_width e))
        (shared_by L) (to_queries L) (repeat_projection (head_width e) fk (to_keys L))
        (repeat_projection (value_width e) fv (to_values L)) (to_output L)
        (option_map (fun r => (repeat_columns (head_width e) fk (fst r), repeat_columns (value_width e) fv (snd r)))
                    (added_row L))
        (zero_attention L) (projected_count L) (unpadded L) (inside L) (inside_bias L) (inside_sink L).

Lemma repeat_columns_at w f x h c : (c < w)%nat -> repeat_columns w f x (h * w + c)%nat = x (f h * w + c)%nat.
Proof. intros Hc; unfold repeat_columns; destruct (column_of_head w h c Hc) as [-> ->]; reflexivity. Qed.

Lemma projected_repeated I w f p X s h c : (c < w)%nat ->
  projected I (repeat_projection w f p) X s (h * w + c)%nat = projected I p X s (f h * w + c)%nat.
Proof.
  intros Hc; unfold projected, affine, repeat_projection; simpl; f_equal.
  - apply dot_ext; intros; [reflexivity|apply repeat_columns_at, Hc].
  - destruct (bias_of p); [apply repeat_columns_at, Hc|reflexivity].
Qed.

Lemma projected_keys_repeated I n w f p added zero X s h c : (c < w)%nat ->
  projected_keys I n (repeat_projection w f p) (option_map (repeat_columns w f) added) zero X s (h * w + c)%nat =
  projected_keys I n p added zero X s (f h * w + c)%nat.
Proof.
  intros Hc; unfold projected_keys, append_rows; destruct added, zero; simpl; repeat (destruct (_ <? _)%nat);
    auto using projected_repeated, repeat_columns_at.
Qed.

(** MHA.P4 *)
Theorem grouped_layer_equals_the_layer_with_repeated_weights L Xq Xk Xv i n :
  layer_output (repeated_layer L) Xq Xk Xv i n = layer_output L Xq Xk Xv i n.
Proof.
  set (L' := repeated_layer L).
  transitivity (output_rows L (layer_head L' Xq Xk Xv) i n); [reflexivity|].
  apply output_rows_ext; intros h c Hh Hc; unfold layer_head.
  set (fk := key_head (shared_by L) (query_heads (extents L)) (key_heads (extents L))).
  set (fv := key_head (shared_by L) (query_heads (extents L)) (value_heads (extents L))).
  replace (inner_head L' h) with (inner_head L h)
    by (unfold inner_head, added_count; simpl; destruct (added_row L); reflexivity).
  apply attend_row_ext; intros; try reflexivity.
  - unfold layer_keys, split_heads, L', repeated_layer; simpl in *; rewrite key_head_identity by assumption.
    fold fk; rewrite <- (projected_keys_repeated _ _ _ fk) by assumption.
    f_equal; destruct (added_row L) as [[kr vr]|]; reflexivity.
  - unfold layer_values, split_heads, L', repeated_layer; simpl in *; rewrite key_head_identity by assumption.
    fold fv; rewrite <- (projected_keys_repeated _ _ _ fv) by assumption.
    f_equal; destruct (added_row L) as [[kr vr]|]; reflexivity.
Qed.
