(** The layer with its rows streamed in blocks is the layer. *)
From Attest Require Export LayerAttention Partitions.

(** the first blocks of n keys are the first keys *)
Lemma first_blocks_are_the_first_keys count n keys :
  concat (first_blocks count n keys) = firstn (count * n) keys.
Proof.
  revert keys; induction count as [|count IH]; intros keys; [reflexivity|]; simpl; rewrite IH.
  rewrite <- (firstn_skipn n keys) at 3; rewrite firstn_app, firstn_firstn, Nat.min_r by lia; f_equal.
  rewrite firstn_length; destruct (Nat.le_gt_cases n (length keys)) as [H|H].
  - f_equal; lia.
  - rewrite skipn_all2 by lia; rewrite !firstn_nil; reflexivity.
Qed.

(** ONL.D6: all blocks together are the keys, in order *)
Lemma blocks_are_the_keys n keys : (1 <= n)%nat -> concat (blocks n keys) = keys.
Proof.
  intros Hn; unfold blocks; rewrite first_blocks_are_the_first_keys; apply firstn_all2.
  pose proof (Nat.div_mod (length keys + n - 1) n); pose proof (Nat.mod_upper_bound (length keys + n - 1) n); nia.
Qed.

(** no block has more than n keys *)
Lemma blocks_are_small n keys b : In b (blocks n keys) -> (length b <= n)%nat.
Proof.
  unfold blocks; generalize ((length keys + n - 1) / n)%nat as count; intros count; revert keys.
  induction count as [|count IH]; intros keys; simpl; [tauto|]; intros [<-|H]; [apply firstn_le_length|apply (IH _ H)].
Qed.

(** ONL.P5: for every block size n, whatever the shifts; with any mask, bias inside, softcap, sink and added key. The
    layer has no dropout. *)
Theorem streamed_layer_equals_the_layer L n pieces Xq Xk Xv i c : (1 <= n)%nat ->
  (forall h, value_factor (inside L h) = 1 /\ forall i j, kept (inside L h) i j = true) ->
  (forall h i, map piece_keys (pieces h i) = blocks n (row_keys (inner_head L h) i)) ->
  streamed_layer L pieces Xq Xk Xv i c = layer_output L Xq Xk Xv i c.
Proof.
  intros Hn Hd Hp; unfold streamed_layer, layer_output; apply output_rows_ext; intros h ch _ _.
  destruct (Hd h) as [Hf Hk]; unfold layer_head.
  apply (any_partition_gives_the_row_of_a_head (inner_head L h)); [exact Hf|intros; apply Hk|].
  rewrite Hp; apply blocks_are_the_keys, Hn.
Qed.

(** there are such pieces, with any shifts *)
Lemma pieces_of_blocks_exist L n (c m : nat -> R) : exists pieces : nat -> nat -> list piece,
  forall h i, map piece_keys (pieces h i) = blocks n (row_keys (inner_head L h) i).
Proof.
  exists (fun h i => pieces_of 0 (blocks n (row_keys (inner_head L h) i)) c m); intros; apply pieces_of_keys.
Qed.
