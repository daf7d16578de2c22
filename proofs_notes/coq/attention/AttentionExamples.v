(** The examples of chapter 05 that are worked by hand, with their numbers; ATT.E4 is in Softcap.v. *)
From Attest Require Export AttentionCalls.

(** rows and matrices from lists of numbers *)
Definition row_of (l : list R) : row := fun c => nth c l 0.
Definition matrix_of (l : list (list R)) : matrix := fun i => row_of (nth i l []).

Definition E1_keys := matrix_of [[0; 5]; [ln 3; -1]].
Definition E1_values := matrix_of [[4; 0]; [8; 4]].

Lemma ATT_E1 :
  compute 2 2 (row_of [1; 0]) E1_keys E1_values 0 = 7 /\ compute 2 2 (row_of [1; 0]) E1_keys E1_values 1 = 3.
Proof.
  unfold compute, dot; cbn.
  replace (1 * 0 + (0 * 5 + 0)) with 0 by ring; replace (1 * ln 3 + (0 * -1 + 0)) with (ln 3) by ring.
  rewrite exp_0, exp_ln by lra; split; field.
Qed.

(** ATT.E2: scale 1/sqrt 1, causal with offset 0 *)
Definition E2_head : head :=
  Head 1 2 (scale_of None 1) 1 1 None after_softcap (fun i => causal (Z.of_nat i)) (fun _ _ => true).
Definition E2_queries := matrix_of [[1]; [1]].
Definition E2_keys := matrix_of [[0]; [ln 3]].
Definition E2_values := matrix_of [[4]; [8]].

Lemma E2_logit i j : (i < 2)%nat -> row_logits E2_head E2_queries E2_keys (fun _ _ => 0) i j = nth j [0; ln 3] 0.
Proof.
  intros Hi; unfold row_logits, dot, scale_of; cbn; rewrite sqrt_1.
  destruct i as [|[|i]]; [| |lia]; destruct j as [|[|[|j]]]; cbn; field.
Qed.

Lemma ATT_E2 :
  let w := row_weights E2_head E2_queries E2_keys (fun _ _ => 0) None in
  let o := fun i => attend_row E2_head E2_queries E2_keys E2_values (fun _ _ => 0) None i 0 in
  let L := row_lse E2_head E2_queries E2_keys (fun _ _ => 0) None in
  (w 0%nat 0%nat = 1 /\ w 0%nat 1%nat = 0 /\ o 0%nat = 4 /\ L 0%nat = 0) /\
  (w 1%nat 0%nat = 1 / 4 /\ w 1%nat 1%nat = 3 / 4 /\ o 1%nat = 7 /\ L 1%nat = ln 4).
Proof.
  cbv zeta; unfold row_weights, masked_sink_softmax, attend_row, row_lse, sink_log_sum_exp, sink_softmax,
    weighted_values, total, row_keys.
  cbn -[row_logits INR].
  rewrite !E2_logit by lia; cbn; rewrite !exp_0, !exp_ln by lra.
  repeat split; try field; [rewrite !Rplus_0_r; apply ln_1|f_equal; ring].
Qed.

(** ATT.E5: a sink of ln 6 *)
Definition E5_keys := matrix_of [[0]; [ln 2]; [ln 3]].
Definition E5_values := matrix_of [[12]; [6]; [4]].

Lemma E5_logit j : row_logits (plain_head 1 3 1) (fun _ _ => 1) E5_keys (fun _ _ => 0) 0 j = nth j [0; ln 2; ln 3] 0.
Proof. rewrite plain_row_logits; unfold dot; destruct j as [|[|[|[|j]]]]; cbn; ring. Qed.

Lemma ATT_E5 :
  let o := fun sink => attend_row (plain_head 1 3 1) (fun _ _ => 1) E5_keys E5_values (fun _ _ => 0) sink 0 0 in
  let L := fun sink => row_lse (plain_head 1 3 1) (fun _ _ => 1) E5_keys (fun _ _ => 0) sink 0 in
  o (Some (ln 6)) = 3 /\ L (Some (ln 6)) = ln 12 /\ o None = 6 /\ L None = ln 6.
Proof.
  cbv zeta; unfold attend_row, row_lse, sink_log_sum_exp, weighted_values, total.
  rewrite plain_row_keys, filter_all by reflexivity; cbn -[row_logits plain_head]; rewrite !E5_logit; cbn;
    rewrite !exp_0, !exp_ln by lra.
  repeat split; try field; f_equal; ring.
Qed.

(** ATT.E3: four query heads over two key heads, all queries 1 *)
Definition E3_keys (h : nat) : matrix := matrix_of (nth h [[[0]; [ln 3]]; [[0]; [0]]] []).
Definition E3_values (h : nat) : matrix := matrix_of (nth h [[[4]; [8]]; [[2]; [6]]] []).
Definition E3_output (m : head_map) (h : nat) : R :=
  attention m 4 2 2 (fun _ _ => plain_head 1 2 1) (fun _ _ _ _ => 1) (fun _ => E3_keys) (fun _ => E3_values)
            (fun _ _ _ _ => 0) (fun _ => None) 0 h 0 0.

Lemma E3_head k :
  attend_row (plain_head 1 2 1) (fun _ _ => 1) (E3_keys k) (E3_values k) (fun _ _ => 0) None 0 0 = nth k [7; 4] 0.
Proof.
  unfold attend_row, weighted_values, total; rewrite plain_row_keys, filter_all by reflexivity.
  cbn -[row_logits plain_head nth].
  rewrite !plain_row_logits; unfold dot; cbn.
  destruct k as [|[|k]]; cbn.
  - replace (1 * (1 * ln 3 + 0) + 0) with (ln 3) by ring; rewrite exp_ln by lra.
    replace (1 * (1 * 0 + 0) + 0) with 0 by ring; rewrite exp_0; field.
  - replace (1 * (1 * 0 + 0) + 0) with 0 by ring; rewrite exp_0; field.
  - destruct k; cbn; unfold Rdiv; ring.
Qed.

Lemma ATT_E3 :
  map (E3_output grouped) (range 4) = [7; 7; 4; 4] /\ map (E3_output tiled) (range 4) = [7; 4; 7; 4].
Proof. split; cbn -[attend_row]; unfold E3_output, attention; rewrite !E3_head; reflexivity. Qed.
