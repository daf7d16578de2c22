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
