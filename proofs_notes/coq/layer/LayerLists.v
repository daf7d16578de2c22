(** The layer as a record of lists is the layer with packed weights; weights averaged over the heads; the examples of
    chapter 06 that are worked by hand. *)
From Attest Require Export LayerAttention.

(** ** The layer of lists *)

(** packed weights; no mask, no bias, no softcap, no dropout; the scale is 1/sqrt(d) *)
Definition packed_layer (e : layer_extents) (m : head_map) (keys : nat) (r : multi_head) : layer :=
  Layer e m (Projection (packed (head_width e) (query_projections r)) None)
        (Projection (packed (head_width e) (key_projections r)) None)
        (Projection (packed (value_width e) (value_projections r)) None)
        (Projection (output_projection r) None) None false keys (fun _ => true)
        (fun _ => plain_head (head_width e) keys (scale_of None (head_width e))) (fun _ _ _ => 0) (fun _ => None).

(** MHA.P5: the lists have one matrix for each head, and there are as many key heads and value heads *)
Theorem layer_of_lists_is_the_packed_layer e m keys r Xq Xk Xv i n :
  query_heads e = length (query_projections r) -> key_heads e = query_heads e -> value_heads e = query_heads e ->
  multi_head_attention e keys r Xq Xk Xv i n = layer_output (packed_layer e m keys r) Xq Xk Xv i n.
Proof.
  intros Hq Hk Hv; unfold multi_head_attention, layer_output; rewrite <- Hq.
  set (L := packed_layer e m keys r); set (w := head_width e).
  apply (output_rows_ext L); intros h c Hh Hc; simpl in Hh, Hc; rewrite textbook_attention_is_the_row.
  assert (E : forall i, row_keys (inner_head L h) i = row_keys (plain_head w keys (scale_of None w)) i)
    by (intros; apply inner_row_keys_without_added; reflexivity).
  unfold layer_head; apply output_lemma; [symmetry; apply E|reflexivity|].
  intros j Hj; rewrite plain_row_keys in Hj; apply in_range, Nat.ltb_lt in Hj; repeat split.
  - unfold row_logits, inner_bias; simpl; rewrite Hj; fold w; f_equal; f_equal; f_equal.
    apply dot_ext; intros a Ha; symmetry.
    + apply packed_projection_is_the_projection_for_each_head, Ha.
    + unfold layer_keys; simpl; rewrite Hk, key_head_identity by assumption.
      apply packed_projection_is_the_projection_for_each_head, Ha.
  - symmetry; unfold layer_values; simpl; rewrite Hv, key_head_identity by assumption.
    apply packed_projection_is_the_projection_for_each_head, Hc.
Qed.

(** ** Averaged weights *)

(** MHA.P9: H rows of weights without a sink, of rows that see a key each *)
Theorem averaged_weights_of_a_row_sum_to_one H n (h : nat -> head) Q K bias i :
  (0 < H)%nat ->
  (forall a, (a < H)%nat -> key_count (h a) = n /\ row_keys (h a) i <> []) ->
  sum (range n) (mean_weights H (fun a => row_weights (h a) (Q a) (K a) (bias a) None i)) = 1.
Proof.
  intros HH Hh; unfold mean_weights, Rdiv; rewrite sum_scal_r, sum_swap.
  rewrite (sum_ext (range H) _ (fun _ => 1)).
  - rewrite sum_const; unfold range; rewrite seq_length; assert (0 < INR H) by (apply lt_0_INR, HH); field; lra.
  - intros a Ha; apply in_range in Ha; destruct (Hh a Ha) as [<- Hne].
    unfold row_weights, masked_sink_softmax; rewrite sum_guarded.
    fold (row_keys (h a) i); rewrite sink_softmax_sum by exact Hne; ring.
Qed.

(** the same for the heads of a layer *)
Theorem averaged_weights_of_a_layer_sum_to_one L Xq Xk i :
  (0 < query_heads (extents L))%nat ->
  (forall a, (a < query_heads (extents L))%nat -> row_keys (inner_head L a) i <> [] /\ inside_sink L a = None) ->
  sum (range (projected_count L + added_count L)) (mean_weights (query_heads (extents L)) (fun a =>
    row_weights (inner_head L a) (layer_queries L Xq a) (layer_keys L Xk a) (inner_bias L a) (inside_sink L a) i)) = 1.
Proof.
  intros HH Hh.
  rewrite <- (averaged_weights_of_a_row_sum_to_one (query_heads (extents L)) (projected_count L + added_count L)
                (inner_head L) (layer_queries L Xq) (layer_keys L Xk) (inner_bias L) i HH).
  - apply sum_ext; intros j _; unfold mean_weights; f_equal; apply sum_ext; intros a Ha.
    apply in_range in Ha; rewrite (proj2 (Hh a Ha)); reflexivity.
  - intros a Ha; split; [reflexivity|apply (Hh a Ha)].
Qed.

(** ** MHA.E3, MHA.E4 *)

Definition E3_tokens : matrix := fun s c => if ((s =? 1) && (c =? 0))%nat then 1 else 0.
Definition E3_layer (zero : bool) : layer :=
  let p := Projection identity_matrix None in
  Layer (Extents 2 2 2 1 1 2 2 2 2) grouped p p p
        (Projection (fun r n => nth n (nth r [[2; 0]; [0; 1]] []) 0) (Some (fun n => nth n [0; 1] 0)))
        None zero 2 (fun _ => true) (fun _ => plain_head 1 2 (scale_of None 1)) (fun _ _ _ => 0) (fun _ => None).

Lemma E3_logit zero h i j : (h < 2)%nat -> (i < 2)%nat -> (j < 3)%nat ->
  let L := E3_layer zero in
  row_logits (inner_head L h) (layer_queries L E3_tokens h) (layer_keys L E3_tokens h) (inner_bias L h) i j =
  if ((h =? 0) && (i =? 1) && (j =? 1))%nat then 1 else 0.
Proof.
  intros Hh Hi Hj L; unfold L, row_logits, scale_of, layer_queries, layer_keys, projected_keys, projected, affine, dot,
    split_heads, append_rows.
  destruct h as [|[|h]]; [| |lia]; destruct i as [|[|i]]; [| |lia| | |lia]; destruct j as [|[|[|j]]]; try lia;
    destruct zero; cbn; rewrite sqrt_1; field.
Qed.

Lemma E3_value zero h j : (h < 2)%nat -> (j < 3)%nat ->
  layer_values (E3_layer zero) E3_tokens h j 0%nat = if ((h =? 0) && (j =? 1))%nat then 1 else 0.
Proof.
  intros Hh Hj; unfold layer_values, projected_keys, projected, affine, dot, split_heads, append_rows.
  destruct h as [|[|h]]; [| |lia]; destruct j as [|[|[|j]]]; try lia; destruct zero; cbn; ring.
Qed.

Lemma E3_keys_of_row zero h i : row_keys (inner_head (E3_layer zero) h) i = if zero then [0; 1; 2]%nat else [0; 1]%nat.
Proof. destruct zero; reflexivity. Qed.

(** head 1 sees values of zero only, head 0 those of the tokens *)
Lemma E3_head zero h i : (h < 2)%nat -> (i < 2)%nat ->
  layer_head (E3_layer zero) E3_tokens E3_tokens E3_tokens h i 0%nat =
  let x := if (i =? 1)%nat then exp 1 else 1 in
  if (h =? 0)%nat then x / ((if zero then 2 else 1) + x) else 0.
Proof.
  intros Hh Hi; unfold layer_head, attend_row, weighted_values, total;
    rewrite E3_keys_of_row, filter_all by reflexivity.
  pose proof (exp_pos 1).
  destruct zero; cbn [sum]; rewrite !E3_logit, !E3_value by lia;
    destruct h as [|[|h]]; [| |lia| | |lia]; destruct i as [|[|i]]; try lia; cbn; rewrite ?exp_0; field; lra.
Qed.

(** queries 0 and 1 of both examples, output channels 0 and 1 *)
Lemma E3_output zero i n : (i < 2)%nat -> (n < 2)%nat ->
  layer_output (E3_layer zero) E3_tokens E3_tokens E3_tokens i n =
  let x := if (i =? 1)%nat then exp 1 else 1 in
  if (n =? 0)%nat then 2 * (x / ((if zero then 2 else 1) + x)) else 1.
Proof.
  intros Hi Hn; unfold layer_output, output_rows, projected, affine, dot, merge_heads;
    cbn -[layer_head Nat.div Nat.modulo].
  change (0 / 1)%nat with 0%nat; change (1 / 1)%nat with 1%nat; change (0 mod 1)%nat with 0%nat;
    change (1 mod 1)%nat with 0%nat.
  rewrite !E3_head by lia; destruct n as [|[|n]]; [| |lia]; cbn; ring.
Qed.

Lemma MHA_E3 : let o := layer_output (E3_layer false) E3_tokens E3_tokens E3_tokens in
  (o 0%nat 0%nat = 1 /\ o 0%nat 1%nat = 1) /\ (o 1%nat 0%nat = 2 * exp 1 / (1 + exp 1) /\ o 1%nat 1%nat = 1).
Proof. cbv zeta; rewrite !E3_output by lia; pose proof (exp_pos 1); cbn; repeat split; field; lra. Qed.

Lemma MHA_E4 : let o := layer_output (E3_layer true) E3_tokens E3_tokens E3_tokens in
  o 1%nat 0%nat = 2 * exp 1 / (2 + exp 1) /\ o 1%nat 1%nat = 1.
Proof. cbv zeta; rewrite !E3_output by lia; pose proof (exp_pos 1); cbn; repeat split; field; lra. Qed.
