(** The attention inside a layer: what the layer does with it where the projections, the added keys or the heads are
    special, and the examples of chapter 06. *)
From Attest Require Export KeyLaws Layer.

Lemma inner_row_keys_without_added L h i : added_count L = 0%nat -> unpadded L i = true ->
  row_keys (inner_head L h) i = gathered (projected_count L) (visible (inside L h) i).
Proof.
  intros H0 Hu; unfold row_keys; simpl; rewrite H0, Nat.add_0_r; apply gathered_ext; intros j Hj.
  rewrite Hu; apply Nat.ltb_lt in Hj; rewrite Hj; reflexivity.
Qed.

(** MHA.D8: a padded query sees no key; the others see every added key *)
Lemma a_padded_query_sees_no_key L h i : unpadded L i = false -> row_keys (inner_head L h) i = [].
Proof. intros H; apply gathered_nil; intros j _; simpl; rewrite H; reflexivity. Qed.
Lemma added_keys_are_visible L h i j : unpadded L i = true ->
  (projected_count L <= j < projected_count L + added_count L)%nat -> In j (row_keys (inner_head L h) i).
Proof.
  intros H Hj; apply in_row_keys; simpl; rewrite H; split; [lia|].
  destruct (Nat.ltb_spec j (projected_count L)); [lia|reflexivity].
Qed.

(** ** Identity projections *)

(** one head on its own inputs: all weights are identity matrices, and nothing is added *)
Definition identity_layer (m : head_map) (h : head) (d_v : nat) (bias : matrix) (sink : option R) : layer :=
  let p := Projection identity_matrix None in
  let d := width h in
  Layer (Extents 1 1 1 d d_v d d d_v d_v) m p p p p None false (key_count h) (fun _ => true)
        (fun _ => h) (fun _ => bias) (fun _ => sink).

(** MHA.P7 *)
Theorem identity_projections_leave_the_attention_inside m h d_v Q K V bias sink i c : (c < d_v)%nat ->
  layer_output (identity_layer m h d_v bias sink) Q K V i c =
  attention m 1 1 1 (fun _ _ => h) (fun _ _ => Q) (fun _ _ => K) (fun _ _ => V) (fun _ _ => bias) (fun _ => sink)
            0 0 i c.
Proof.
  intros Hc; unfold layer_output, output_rows, projected; simpl.
  rewrite affine_identity by lia; unfold merge_heads; rewrite Nat.div_small, Nat.mod_small by exact Hc.
  unfold layer_head, attention; simpl.
  set (L := identity_layer m h d_v bias sink).
  assert (E : row_keys (inner_head L 0) i = row_keys h i) by (apply inner_row_keys_without_added; reflexivity).
  assert (Z : forall n, (key_head m 1 1 0 * n = 0)%nat) by (intros; rewrite key_head_identity by lia; reflexivity).
  apply output_lemma; [exact E|reflexivity|]; intros j Hj; rewrite E in Hj; apply in_row_keys in Hj.
  destruct Hj as [Hj _]; apply Nat.ltb_lt in Hj; repeat split.
  - unfold row_logits, inner_bias; simpl; rewrite Hj; f_equal; f_equal; apply dot_ext; intros e He.
    + apply affine_identity, He.
    + unfold layer_keys, split_heads; simpl; rewrite Z; apply affine_identity, He.
  - unfold layer_values, split_heads; simpl; rewrite Z; apply affine_identity, Hc.
Qed.

(** ** A key of zeros *)

Lemma dot_zero d q k : (forall c, (c < d)%nat -> k c = 0) -> dot d q k = 0.
Proof. intros H; apply sum_zero; intros c Hc; rewrite H by (apply in_range, Hc); ring. Qed.

(** the row of zeros comes last; the rows before it are those without it *)
Lemma projected_keys_zero I n p (added : option row) X :
  let m := (n + if added then 1 else 0)%nat in
  (forall s c, (s < m)%nat -> projected_keys I n p added true X s c = projected_keys I n p added false X s c) /\
  (forall c, projected_keys I n p added true X m c = 0).
Proof.
  intros m; unfold projected_keys; destruct added; simpl in m; subst m; split; intros.
  - apply f_equal with (f := fun r : row => r c), append_rows_spec; assumption.
  - unfold append_rows at 1; rewrite Nat.ltb_irrefl; reflexivity.
  - apply f_equal with (f := fun r : row => r c), append_rows_spec; lia.
  - unfold append_rows; destruct (Nat.ltb_spec (n + 0) n); [lia|reflexivity].
Qed.

(** MHA.P8 *)
Theorem zero_attention_is_a_sink_of_zero L Xq Xk Xv i n :
  (forall h i j, kept (inside L h) i j = true) ->
  layer_output (with_zero_attention L true None) Xq Xk Xv i n =
  layer_output (with_zero_attention L false (Some 0)) Xq Xk Xv i n.
Proof.
  intros Hd; set (L1 := with_zero_attention L true None); set (L2 := with_zero_attention L false (Some 0)).
  change (output_rows L1 (layer_head L1 Xq Xk Xv) i n = output_rows L1 (layer_head L2 Xq Xk Xv) i n).
  apply output_rows_ext; intros h c _ _; unfold layer_head.
  set (m := (projected_count L + if added_row L then 1 else 0)%nat).
  set (h1 := inner_head L1 h); set (h2 := inner_head L2 h).
  set (K1 := layer_keys L1 Xk h); set (K2 := layer_keys L2 Xk h).
  set (V1 := layer_values L1 Xv h); set (V2 := layer_values L2 Xv h).
  assert (E1 : key_count h1 = (m + 1)%nat) by (unfold h1, m; simpl; unfold added_count; simpl; lia).
  assert (E2 : key_count h2 = m) by (unfold h2, m; simpl; unfold added_count; simpl; lia).
  assert (EK : (forall j e, (j < m)%nat -> K1 j e = K2 j e) /\ forall e, K1 m e = 0).
  { destruct (projected_keys_zero (key_input (extents L)) (projected_count L) (to_keys L)
                (option_map fst (added_row L)) Xk) as [A B].
    destruct (added_row L) eqn:Er; split; intros; unfold K1, K2, layer_keys, split_heads, L1, L2;
      simpl; rewrite Er; [apply A|apply B|apply A|apply B]; assumption. }
  assert (EV : (forall j e, (j < m)%nat -> V1 j e = V2 j e) /\ forall e, V1 m e = 0).
  { destruct (projected_keys_zero (value_input (extents L)) (projected_count L) (to_values L)
                (option_map snd (added_row L)) Xv) as [A B].
    destruct (added_row L) eqn:Er; split; intros; unfold V1, V2, layer_values, split_heads, L1, L2;
      simpl; rewrite Er; [apply A|apply B|apply A|apply B]; assumption. }
  assert (EB : inner_bias L1 h i m = 0).
  { unfold inner_bias, L1; simpl; destruct (Nat.ltb_spec m (projected_count L)); [lia|reflexivity]. }
  set (Q := layer_queries L1 Xq h); change (layer_queries L2 Xq h) with Q.
  set (l1 := row_logits h1 Q K1 (inner_bias L1 h) i); set (l2 := row_logits h2 Q K2 (inner_bias L2 h) i).
  assert (Hl : forall j, In j (row_keys h2 i) -> l1 j = l2 j).
  { intros j Hj; apply in_row_keys in Hj; rewrite E2 in Hj; destruct Hj as [Hj _].
    unfold l1, l2, row_logits; simpl; f_equal; f_equal; apply dot_ext; intros; [reflexivity|apply EK, Hj]. }
  assert (Hm : l1 m = 0).
  { unfold l1, row_logits; rewrite EB, (dot_zero _ _ (K1 m)) by (intros; apply EK); apply logit_zero; ring. }
  unfold attend_row, weighted_values; fold l1 l2 V1 V2; f_equal.
  change (inside_sink L1 h) with (@None R); change (inside_sink L2 h) with (Some 0).
  rewrite !filter_all by (intros j _; apply Hd).
  destruct (unpadded L i) eqn:Hu.
  - assert (K : row_keys h1 i = row_keys h2 i ++ [m]).
    { unfold row_keys; rewrite E1, E2, (gathered_ext_below m (m + 1) _ (visible h2 i)) by (auto; lia); f_equal.
      replace (m + 1 - m)%nat with 1%nat by lia; unfold h1, L1; simpl; rewrite Hu; simpl.
      destruct (Nat.ltb_spec m (projected_count L)); [lia|reflexivity]. }
    rewrite K; unfold total; rewrite !sum_app; simpl; rewrite Hm, (proj2 EV).
    rewrite (sum_ext _ (fun j => exp (l1 j)) (fun j => exp (l2 j)))
      by (intros j Hj; rewrite Hl by assumption; reflexivity).
    rewrite (sum_ext _ (fun j => exp (l1 j) * V1 j c) (fun j => exp (l2 j) * V2 j c)).
    + f_equal; ring.
    + intros j Hj; rewrite Hl by assumption; apply in_row_keys in Hj; rewrite E2 in Hj; f_equal; apply EV, Hj.
  - unfold h1, h2; rewrite !a_padded_query_sees_no_key by exact Hu; simpl; unfold Rdiv; ring.
Qed.

(** * The layer as a record of lists is the layer with packed weights; weights averaged over the heads; the examples of
    chapter 06 that are worked by hand. *)

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
