(** The examples of chapter 13 with their numbers. *)
From Attest Require Export CallGradient.

(** scores, or keys, 0, ln 2, ln 3 *)
Definition logs (j : nat) : R := match j with 0%nat => 0 | 1%nat => ln 2 | _ => ln 3 end.
(** cotangents, or values, 6, 3, 0 *)
Definition six_three (j : nat) : R := match j with 0%nat => 6 | 1%nat => 3 | _ => 0 end.

Lemma exp_logs : exp (logs 0) = 1 /\ exp (logs 1) = 2 /\ exp (logs 2) = 3.
Proof. simpl; rewrite exp_0, !exp_ln by lra; auto. Qed.

Lemma weights_of_logs :
  let w := sink_softmax (range 3) None logs in w 0%nat = 1 / 6 /\ w 1%nat = 1 / 3 /\ w 2%nat = 1 / 2.
Proof.
  unfold sink_softmax, total, sum, range, seq; destruct exp_logs as [A [B C]]; rewrite A, B, C; repeat split; field.
Qed.

Lemma weights_of_logs_beside_a_sink :
  let w := sink_softmax (range 3) (Some (ln 6)) logs in
  w 0%nat = 1 / 12 /\ w 1%nat = 1 / 6 /\ w 2%nat = 1 / 4 /\ sink_share (range 3) (Some (ln 6)) logs = 1 / 2.
Proof.
  unfold sink_share, sink_softmax, total, sum, range, seq; destruct exp_logs as [A [B C]].
  rewrite A, B, C, exp_ln by lra; repeat split; field.
Qed.

(** GRD.E1 *)
Theorem GRD_E1 :
  let w := sink_softmax (range 3) None logs in
  let d := softmax_gradient (range 3) w six_three in
  centre (range 3) w six_three = 2 /\ d 0%nat = 2 / 3 /\ d 1%nat = 1 / 3 /\ d 2%nat = -1.
Proof.
  cbv zeta; destruct weights_of_logs as [A [B C]]; unfold softmax_gradient, centre.
  change (range 3) with [0; 1; 2]%nat in *; unfold sum; rewrite A, B, C; simpl; repeat split; field.
Qed.

(** GRD.E1 *)
Theorem GRD_E1_sink :
  let w := sink_softmax (range 3) (Some (ln 6)) logs in
  let share := sink_share (range 3) (Some (ln 6)) logs in
  let d := softmax_gradient (range 3) w six_three in
  centre (range 3) w six_three = 1 /\ d 0%nat = 5 / 12 /\ d 1%nat = 1 / 3 /\ d 2%nat = - (1 / 4) /\
  sink_gradient share (range 3) w six_three = - (1 / 2).
Proof.
  cbv zeta; destruct weights_of_logs_beside_a_sink as [A [B [C D]]]; unfold softmax_gradient, sink_gradient, centre.
  change (range 3) with [0; 1; 2]%nat in *; unfold sum; rewrite A, B, C, D; simpl; repeat split; field.
Qed.

(** one query 1, scale 1, keys 0, ln 2, ln 3, values 6, 3, 0 *)
Definition plain_head (n : nat) : head := Head 1 n 1 1 1 None after_softcap (fun _ _ => true) (fun _ _ => true).
Definition one_query : operands :=
  Operands (fun _ _ => 1) (fun j _ => logs j) (fun j _ => six_three j) (fun _ _ => 0) None.
Definition in_base_e : lse_form := LseForm true false.

Lemma logits_of_one_query j : logits_of (plain_head 3) one_query 0 j = logs j.
Proof. unfold logits_of, row_logits, dot; simpl; ring. Qed.

Lemma weights_of_one_query : let w := weights_of (plain_head 3) one_query 0 in
  w 0%nat = 1 / 6 /\ w 1%nat = 1 / 3 /\ w 2%nat = 1 / 2.
Proof.
  destruct weights_of_logs as [A [B C]]; cbv zeta.
  rewrite !weights_of_visible by (simpl; auto); rewrite <- A, <- B, <- C.
  repeat split; apply sink_softmax_ext; auto using logits_of_one_query; simpl; auto.
Qed.

(** the logits receive 2/3, 1/3, -1 from the output, and the weights from the log-sum-exp *)
Lemma logit_gradients_of_one_query a b :
  let d := row_logit_gradient (plain_head 3) in_base_e 1 one_query 0 (fun _ => a) b in
  d 0%nat = a * (2 / 3) + b / 6 /\ d 1%nat = a * (1 / 3) + b / 3 /\ d 2%nat = - a + b / 2.
Proof.
  destruct weights_of_one_query as [A [B C]]; cbv zeta.
  assert (L : forall j, (j < 3)%nat ->
    sink_softmax (row_keys (plain_head 3) 0) None (logits_of (plain_head 3) one_query 0) j =
    weights_of (plain_head 3) one_query 0 j).
  { intros j J; symmetry; apply weights_of_visible, in_gathered; auto. }
  rewrite !row_logit_gradient_visible by (simpl; auto); unfold softmax_gradient, centre, log_sum_exp_gradient.
  change (counted in_base_e (sink one_query)) with (@None R); rewrite !L by lia.
  change (row_keys (plain_head 3) 0) with [0; 1; 2]%nat; unfold sum; rewrite A, B, C.
  unfold of_weights, weight_gradient, dot, in_base; simpl; repeat split; field.
Qed.

Lemma score_gradients_of_one_query g gL j :
  row_score_gradient (plain_head 3) in_base_e 1 one_query 0 g gL j =
  row_logit_gradient (plain_head 3) in_base_e 1 one_query 0 g gL j.
Proof. reflexivity. Qed.

(** GRD.E2 *)
Theorem GRD_E2 :
  let G := head_gradient (plain_head 3) in_base_e 1 1 one_query (fun _ _ => 1) (fun _ => 0) in
  output_of (plain_head 3) one_query 0 0 = 2 /\
  queries G 0%nat 0%nat = 1 / 3 * ln 2 - ln 3 /\
  (keys G 0%nat 0%nat = 2 / 3 /\ keys G 1%nat 0%nat = 1 / 3 /\ keys G 2%nat 0%nat = -1) /\
  (values G 0%nat 0%nat = 1 / 6 /\ values G 1%nat 0%nat = 1 / 3 /\ values G 2%nat 0%nat = 1 / 2).
Proof.
  destruct weights_of_one_query as [A [B C]], (logit_gradients_of_one_query 1 0) as [D [E F]]; cbv zeta.
  rewrite output_of_weights; unfold head_gradient; cbv zeta; simpl queries; simpl keys; simpl values.
  change (row_keys (plain_head 3) 0) with [0; 1; 2]%nat; simpl; rewrite ?A, ?B, ?C.
  rewrite !score_gradients_of_one_query, D, E, F; repeat split; field.
Qed.

(** GRD.E2 *)
Theorem GRD_E2_lse :
  let G := head_gradient (plain_head 3) in_base_e 1 1 one_query (fun _ _ => 0) (fun _ => 1) in
  queries G 0%nat 0%nat = 1 / 3 * ln 2 + 1 / 2 * ln 3 /\
  (keys G 0%nat 0%nat = 1 / 6 /\ keys G 1%nat 0%nat = 1 / 3 /\ keys G 2%nat 0%nat = 1 / 2) /\
  (values G 0%nat 0%nat = 0 /\ values G 1%nat 0%nat = 0 /\ values G 2%nat 0%nat = 0).
Proof.
  destruct (logit_gradients_of_one_query 0 1) as [D [E F]]; unfold head_gradient; cbv zeta.
  simpl queries; simpl keys; simpl values.
  change (row_keys (plain_head 3) 0) with [0; 1; 2]%nat; simpl.
  rewrite !score_gradients_of_one_query, D, E, F; repeat split; field.
Qed.

(** two queries, two keys, q = k = 0, values 1 and 0, and a bias of shape (1, 1, 1, 2) of zeros *)
Definition shared_bias_call : call :=
  Call 1 1 1 1 2 2 1 1 1 1 1 2 grouped (fun _ _ => plain_head 2) (fun _ _ _ _ => 0) in_base_e.
Definition shared_bias_tensors : tensors :=
  Tensors (fun _ _ _ _ => 0) (fun _ _ _ _ => 0) (fun _ _ j _ => match j with 0%nat => 1 | _ => 0 end)
          (fun _ _ _ _ => 0) (fun _ => None).

Lemma shared_bias_call_is_a_call : is_call shared_bias_call.
Proof. constructor; simpl; try exact (Nat.divide_refl 1); auto; intros; exact I. Qed.

(** GRD.E3 *)
Theorem GRD_E3 :
  let G := call_gradient shared_bias_call shared_bias_tensors (fun _ _ _ _ => 1) (fun _ _ _ => 0) in
  bias_tensor G 0%nat 0%nat 0%nat 0%nat = 1 / 2 /\ bias_tensor G 0%nat 0%nat 0%nat 1%nat = - (1 / 2).
Proof.
  cbv zeta; set (x := operands_at shared_bias_call (fun _ _ _ _ => 0) shared_bias_tensors 0 0).
  assert (K : forall i, row_keys (plain_head 2) i = [0; 1]%nat) by reflexivity.
  assert (L : forall i j, exp (logits_of (plain_head 2) x i j) = 1).
  { intros i j; rewrite <- exp_0; f_equal; unfold logits_of, row_logits, dot; simpl.
    unfold broadcast_bias; simpl; ring. }
  assert (W : forall i j, (j < 2)%nat -> weights_of (plain_head 2) x i j = 1 / 2).
  { intros i j J; rewrite weights_of_visible by (apply in_gathered; auto); unfold sink_softmax, total; rewrite K.
    unfold sum; rewrite !L; simpl; field. }
  assert (D : forall i j, (j < 2)%nat -> row_logit_gradient (plain_head 2) in_base_e 1 x i (fun _ => 1) 0 j =
    match j with 0%nat => 1 / 4 | _ => - (1 / 4) end).
  { intros i j J; rewrite row_logit_gradient_visible by (apply in_gathered; auto).
    unfold softmax_gradient, centre, log_sum_exp_gradient; rewrite K; unfold sum; rewrite !W by lia.
    unfold in_base, of_weights, weight_gradient, dot; simpl; destruct j as [|[|j]]; [field|field|lia]. }
  simpl; unfold add_broadcast; simpl; fold x; unfold row_bias_gradient; simpl; rewrite !D by lia; split; field.
Qed.
