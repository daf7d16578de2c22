(** Laws of the gradients of chapter 13: sums that vanish, products that agree, linearity, and the backward pass that
    keeps no weights. *)
From Attest Require Export CallGradient.

(** * Sums of a row *)

Lemma weights_and_share_sum_to_one keys a s : keys <> [] \/ a <> None ->
  sum keys (sink_softmax keys a s) + sink_share keys a s = 1.
Proof.
  intros H; assert (P := total_positive keys a s H).
  unfold sink_softmax, sink_share, Rdiv; rewrite sum_scal_r.
  destruct a as [v|]; [rewrite <- Rmult_plus_distr_r; apply Rinv_r, Rgt_not_eq, P|].
  unfold total in *; rewrite Rplus_0_r in *; rewrite Rplus_0_r; apply Rinv_r; lra.
Qed.

Lemma softmax_gradients_cancel h x i (dw : row) :
  sum (row_keys h i) (softmax_gradient (row_keys h i) (weights_of h x i) dw) +
  sink_gradient (sink_share (row_keys h i) (sink x) (logits_of h x i)) (row_keys h i) (weights_of h x i) dw = 0.
Proof.
  set (l := row_keys h i); set (w := weights_of h x i); set (a := sink_share l (sink x) (logits_of h x i)).
  assert (E : sum l (softmax_gradient l w dw) = centre l w dw - sum l w * centre l w dw).
  { unfold softmax_gradient; rewrite (sum_ext l _ (fun j => w j * dw j - w j * centre l w dw)) by (intros; ring).
    rewrite sum_minus, sum_scal_r; reflexivity. }
  rewrite E; unfold sink_gradient; destruct (list_eq_dec Nat.eq_dec l []) as [N|N].
  - unfold centre; rewrite N; simpl; ring.
  - assert (O := weights_and_share_sum_to_one l (sink x) (logits_of h x i) (or_introl N)); fold a in O.
    rewrite (sum_ext l _ w) in O by (intros j J; unfold w; rewrite weights_of_visible by exact J; reflexivity).
    replace a with (1 - sum l w) by lra; ring.
Qed.

Lemma row_gradients_sum h f d_v x i g gL :
  sum (row_keys h i) (row_logit_gradient h f d_v x i g gL) + row_sink_gradient h f d_v x i g gL =
  in_base f gL * (sum (row_keys h i) (sink_softmax (row_keys h i) (counted f (sink x)) (logits_of h x i)) +
                  sink_share (row_keys h i) (counted f (sink x)) (logits_of h x i)).
Proof.
  rewrite (sum_ext _ _ (fun j => softmax_gradient (row_keys h i) (weights_of h x i) (of_weights h d_v x i g) j +
    in_base f gL * sink_softmax (row_keys h i) (counted f (sink x)) (logits_of h x i) j)).
  2: { intros j J; rewrite row_logit_gradient_visible by exact J; unfold log_sum_exp_gradient.
       rewrite (Rmult_comm _ gL), in_base_scal; reflexivity. }
  rewrite sum_plus, sum_scal; assert (Z := softmax_gradients_cancel h x i (of_weights h d_v x i g)).
  unfold row_sink_gradient, log_sum_exp_gradient; rewrite (Rmult_comm _ gL), in_base_scal; lra.
Qed.

(** GRD.P3: where there is a log-sum-exp; in base 2 [in_base f gL] is gL / ln 2, and it is 0 if gL is *)
Theorem logit_gradients_of_a_row_sum_to_that_of_its_lse h f d_v x i g gL :
  row_keys h i <> [] \/ counted f (sink x) <> None ->
  sum (row_keys h i) (row_logit_gradient h f d_v x i g gL) + row_sink_gradient h f d_v x i g gL = in_base f gL.
Proof. intros H; rewrite row_gradients_sum, weights_and_share_sum_to_one by exact H; ring. Qed.

(** GRD.P3: where there is none *)
Theorem logit_gradients_of_a_row_without_lse_sum_to_zero h f d_v x i g gL :
  row_keys h i = [] -> counted f (sink x) = None ->
  sum (row_keys h i) (row_logit_gradient h f d_v x i g gL) + row_sink_gradient h f d_v x i g gL = 0.
Proof. intros H N; rewrite row_gradients_sum, N, H; simpl; ring. Qed.

(** GRD.P3: without a cotangent of the log-sum-exp *)
Theorem logit_gradients_without_cotangent_of_the_lse_sum_to_zero h f d_v x i g :
  sum (row_keys h i) (row_logit_gradient h f d_v x i g 0) + row_sink_gradient h f d_v x i g 0 = 0.
Proof. rewrite row_gradients_sum; unfold in_base, in_base_2, Rdiv; destruct (base_2 f); ring. Qed.

(** GRD.P3: a row without a sink has no term of it *)
Theorem no_sink_has_no_gradient h f d_v x i g gL : sink x = None -> row_sink_gradient h f d_v x i g gL = 0.
Proof.
  intros N; unfold row_sink_gradient, sink_gradient, log_sum_exp_gradient, counted; rewrite N.
  destruct (counts_sink f); simpl; unfold in_base, in_base_2, Rdiv; destruct (base_2 f); ring.
Qed.

(** * Queries against keys *)

(** of one head: a query multiplied by a number and keys divided by it leave the scores *)
Lemma head_products_are_equal h f n d_v x g gL :
  let G := head_gradient h f n d_v x g gL in
  sum (range n) (fun i => dot (width h) (queries G i) (queries x i)) =
  sum (range (key_count h)) (fun j => dot (width h) (keys G j) (keys x j)).
Proof. cbv zeta; rewrite (query_part h f n d_v x x), (key_part h f n d_v x x); reflexivity. Qed.

(** GRD.P6 *)
Theorem query_and_key_gradients_have_equal_products C x g gL b n :
  is_call C ->
  let G := call_gradient C x g gL in
  sum (filter (fun h => (key_head_of C h =? n)%nat) (range (q_heads C))) (fun h =>
    sum (range (q_rows C)) (fun i => dot (qk_width C) (q_tensor G b h i) (q_tensor x b h i))) =
  sum (range (k_rows C)) (fun j => dot (qk_width C) (k_tensor G b n j) (k_tensor x b n j)).
Proof.
  intros W; cbv zeta.
  rewrite (sum_ext _ _ (fun h => sum (range (k_rows C)) (fun j => dot (qk_width C)
    (keys (head_gradient (head_at C b h) (lse_told C) (q_rows C) (v_width C)
      (operands_at C (slopes_bias C) x b h) (g b h) (gL b h)) j) (k_tensor x b n j)))).
  - rewrite sum_swap; apply sum_ext; intros j _; unfold dot; rewrite sum_swap; apply sum_ext; intros c _; simpl.
    rewrite sum_scal_r; reflexivity.
  - intros h I; apply filter_In in I as [_ I]; apply Nat.eqb_eq in I.
    rewrite <- (heads_have_keys C W b h), <- (heads_have_width C W b h), <- I.
    exact (head_products_are_equal (head_at C b h) (lse_told C) (q_rows C) (v_width C)
             (operands_at C (slopes_bias C) x b h) (g b h) (gL b h)).
Qed.

(** a linear map of rows, and the map that takes a cotangent of its result to one of its argument *)
Definition is_transpose (d : nat) (T T' : row -> row) : Prop := forall g q, dot d (T' g) q = dot d g (T q).

(** GRD.P6: where queries and keys are put through such maps, as rotations are, each row through its own *)
Theorem mapped_query_and_key_gradients_have_equal_products C x g gL b n
    (Tq Tq' Tk Tk' : nat -> nat -> nat -> row -> row) :
  is_call C ->
  (forall b h i, is_transpose (qk_width C) (Tq b h i) (Tq' b h i)) ->
  (forall b n j, is_transpose (qk_width C) (Tk b n j) (Tk' b n j)) ->
  let mapped := Tensors (fun b h i => Tq b h i (q_tensor x b h i)) (fun b n j => Tk b n j (k_tensor x b n j))
                        (v_tensor x) (bias_tensor x) (sinks x) in
  let G := call_gradient C mapped g gL in
  sum (filter (fun h => (key_head_of C h =? n)%nat) (range (q_heads C))) (fun h =>
    sum (range (q_rows C)) (fun i => dot (qk_width C) (Tq' b h i (q_tensor G b h i)) (q_tensor x b h i))) =
  sum (range (k_rows C)) (fun j => dot (qk_width C) (Tk' b n j (k_tensor G b n j)) (k_tensor x b n j)).
Proof.
  intros W A B mapped G.
  rewrite (sum_ext (range (k_rows C)) _ (fun j => dot (qk_width C) (k_tensor G b n j) (k_tensor mapped b n j)))
    by (intros; apply B).
  etransitivity; [|exact (query_and_key_gradients_have_equal_products C mapped g gL b n W)].
  apply sum_ext; intros h _; apply sum_ext; intros i _; apply A.
Qed.

(** * Without keeping weights *)

(** GRD.P9: with and without sink and dropout *)
Theorem recomputed_gradients_equal_the_definition h d_v x i g j :
  In j (row_keys h i) ->
  recomputed_gradient (logits_of h x i j) (row_lse h (queries x) (keys x) (biases x) (sink x) i)
                      (of_weights h d_v x i g j) (recomputed_centre d_v g (output_of h x i)) =
  softmax_gradient (row_keys h i) (weights_of h x i) (of_weights h d_v x i g) j.
Proof.
  intros J; unfold recomputed_gradient, recomputed_centre, softmax_gradient.
  rewrite output_and_weights_have_equal_products, weights_of_visible by exact J; f_equal.
  unfold row_lse, sink_log_sum_exp, sink_softmax; fold (logits_of h x i).
  assert (P := total_pos (row_keys h i) (sink x) (logits_of h x i) (in_not_nil _ j J)).
  unfold Rminus; rewrite exp_plus, exp_Ropp, exp_ln by exact P; reflexivity.
Qed.

(** GRD.P9: D is the centre *)
Theorem recomputed_centre_is_the_centre h d_v x i g :
  recomputed_centre d_v g (output_of h x i) = centre (row_keys h i) (weights_of h x i) (of_weights h d_v x i g).
Proof. apply output_and_weights_have_equal_products. Qed.

(** * GRD.P7: gradients are linear in the cotangents. *)

Definition mixed (a b : R) (X Y : matrix) : matrix := fun i c => a * X i c + b * Y i c.
Definition mixed_row (a b : R) (X Y : row) : row := fun i => a * X i + b * Y i.

Lemma sum_mixed {A} (l : list A) a b (F G : A -> R) : sum l (fun k => a * F k + b * G k) = a * sum l F + b * sum l G.
Proof. rewrite sum_plus, !sum_scal; reflexivity. Qed.

Lemma add_broadcast_mixed n read a b F G e :
  add_broadcast n read (fun p => a * F p + b * G p) e = a * add_broadcast n read F e + b * add_broadcast n read G e.
Proof. apply sum_mixed. Qed.

Lemma add_broadcast_ext n read F G e :
  (forall p, (p < n)%nat -> F p = G p) -> add_broadcast n read F e = add_broadcast n read G e.
Proof. intros H; apply sum_ext; intros p I; apply filter_In in I; apply H, in_range, I. Qed.

Section Mixed.
  Variables (h : head) (f : lse_form) (n d_v : nat) (x : operands) (a b : R) (g g' : matrix) (gL gL' : row).
  Let G := mixed a b g g'.
  Let GL := mixed_row a b gL gL'.

  Lemma of_weights_mixed i j :
    of_weights h d_v x i (G i) j = a * of_weights h d_v x i (g i) j + b * of_weights h d_v x i (g' i) j.
  Proof.
    unfold of_weights, weight_gradient, dot; destruct (kept h i j); [|ring].
    rewrite (sum_ext _ _ (fun c => a * (g i c * values x j c) + b * (g' i c * values x j c)))
      by (intros; unfold G, mixed; ring).
    rewrite sum_mixed; ring.
  Qed.

  Lemma centre_mixed i :
    centre (row_keys h i) (weights_of h x i) (of_weights h d_v x i (G i)) =
    a * centre (row_keys h i) (weights_of h x i) (of_weights h d_v x i (g i)) +
    b * centre (row_keys h i) (weights_of h x i) (of_weights h d_v x i (g' i)).
  Proof. unfold centre; rewrite <- sum_mixed; apply sum_ext; intros j _; rewrite of_weights_mixed; ring. Qed.

  Lemma lse_gradient_mixed w i :
    log_sum_exp_gradient f w (GL i) = a * log_sum_exp_gradient f w (gL i) + b * log_sum_exp_gradient f w (gL' i).
  Proof. unfold log_sum_exp_gradient, in_base, in_base_2, Rdiv, GL, mixed_row; destruct (base_2 f); ring. Qed.

  Lemma row_logit_gradient_mixed i j :
    row_logit_gradient h f d_v x i (G i) (GL i) j =
    a * row_logit_gradient h f d_v x i (g i) (gL i) j + b * row_logit_gradient h f d_v x i (g' i) (gL' i) j.
  Proof.
    unfold row_logit_gradient; destruct (_ && _); [|ring].
    unfold softmax_gradient; rewrite of_weights_mixed, centre_mixed, lse_gradient_mixed; ring.
  Qed.

  Lemma row_score_gradient_mixed i j :
    row_score_gradient h f d_v x i (G i) (GL i) j =
    a * row_score_gradient h f d_v x i (g i) (gL i) j + b * row_score_gradient h f d_v x i (g' i) (gL' i) j.
  Proof.
    unfold row_score_gradient; rewrite row_logit_gradient_mixed, !(logit_score_gradient_scal _ _ _ _ _ (_ + _)).
    rewrite !(logit_score_gradient_scal _ _ _ _ _ (row_logit_gradient _ _ _ _ _ _ _ _)); ring.
  Qed.

  Lemma row_bias_gradient_mixed i j :
    row_bias_gradient h f d_v x i (G i) (GL i) j =
    a * row_bias_gradient h f d_v x i (g i) (gL i) j + b * row_bias_gradient h f d_v x i (g' i) (gL' i) j.
  Proof.
    unfold row_bias_gradient; rewrite row_logit_gradient_mixed, !(logit_bias_gradient_scal _ _ _ _ _ (_ + _)).
    rewrite !(logit_bias_gradient_scal _ _ _ _ _ (row_logit_gradient _ _ _ _ _ _ _ _)); ring.
  Qed.

  Lemma row_sink_gradient_mixed i :
    row_sink_gradient h f d_v x i (G i) (GL i) =
    a * row_sink_gradient h f d_v x i (g i) (gL i) + b * row_sink_gradient h f d_v x i (g' i) (gL' i).
  Proof. unfold row_sink_gradient, sink_gradient; rewrite centre_mixed, lse_gradient_mixed; ring. Qed.

  (** each number of the gradient of a head *)
  Lemma head_gradient_is_linear :
    let D := head_gradient h f n d_v x G GL in
    let D1 := head_gradient h f n d_v x g gL in
    let D2 := head_gradient h f n d_v x g' gL' in
    (forall i c, queries D i c = a * queries D1 i c + b * queries D2 i c) /\
    (forall j c, keys D j c = a * keys D1 j c + b * keys D2 j c) /\
    (forall j c, values D j c = a * values D1 j c + b * values D2 j c) /\
    (forall i j, biases D i j = a * biases D1 i j + b * biases D2 i j) /\
    or_zero (sink D) = a * or_zero (sink D1) + b * or_zero (sink D2).
  Proof.
    cbv zeta; simpl; split; [|split; [|split; [|split]]].
    - intros i c.
      rewrite (sum_ext _ _ (fun j => a * (row_score_gradient h f d_v x i (g i) (gL i) j * keys x j c) +
        b * (row_score_gradient h f d_v x i (g' i) (gL' i) j * keys x j c)))
        by (intros; rewrite row_score_gradient_mixed; ring).
      rewrite sum_mixed; ring.
    - intros j c.
      rewrite (sum_ext _ _ (fun i => a * (row_score_gradient h f d_v x i (g i) (gL i) j * queries x i c) +
        b * (row_score_gradient h f d_v x i (g' i) (gL' i) j * queries x i c)))
        by (intros; rewrite row_score_gradient_mixed; ring).
      rewrite sum_mixed; ring.
    - intros j c.
      rewrite (sum_ext _ _ (fun i => a * (weights_of h x i j * g i c) + b * (weights_of h x i j * g' i c)))
        by (intros; unfold G, mixed; ring).
      rewrite sum_mixed; ring.
    - intros; apply row_bias_gradient_mixed.
    - destruct (sink x); simpl; [|ring].
      rewrite <- sum_mixed; apply sum_ext; intros; apply row_sink_gradient_mixed.
  Qed.
End Mixed.

(** GRD.P7 *)
Theorem gradients_are_linear_in_the_cotangents C x a b g g' gL gL' :
  let D := call_gradient C x (fun e h => mixed a b (g e h) (g' e h)) (fun e h => mixed_row a b (gL e h) (gL' e h)) in
  let D1 := call_gradient C x g gL in
  let D2 := call_gradient C x g' gL' in
  (forall e h i c, q_tensor D e h i c = a * q_tensor D1 e h i c + b * q_tensor D2 e h i c) /\
  (forall e n j c, k_tensor D e n j c = a * k_tensor D1 e n j c + b * k_tensor D2 e n j c) /\
  (forall e n j c, v_tensor D e n j c = a * v_tensor D1 e n j c + b * v_tensor D2 e n j c) /\
  (forall e h i j, bias_tensor D e h i j = a * bias_tensor D1 e h i j + b * bias_tensor D2 e h i j) /\
  (forall h, or_zero (sinks D h) = a * or_zero (sinks D1 h) + b * or_zero (sinks D2 h)).
Proof.
  cbv zeta.
  assert (H := fun e h => head_gradient_is_linear (head_at C e h) (lse_told C) (q_rows C) (v_width C)
    (operands_at C (slopes_bias C) x e h) a b (g e h) (g' e h) (gL e h) (gL' e h)); cbv zeta in H.
  split; [|split; [|split; [|split]]].
  - intros e h i c; apply (H e h).
  - intros e n j c; simpl k_tensor; rewrite <- add_broadcast_mixed; apply add_broadcast_ext; intros h _; apply (H e h).
  - intros e n j c; simpl v_tensor; rewrite <- add_broadcast_mixed; apply add_broadcast_ext; intros h _; apply (H e h).
  - intros e h i j; simpl bias_tensor; rewrite <- add_broadcast_mixed; apply add_broadcast_ext; intros b' _.
    rewrite <- add_broadcast_mixed; apply add_broadcast_ext; intros h' _.
    rewrite <- add_broadcast_mixed; apply add_broadcast_ext; intros i' _.
    rewrite <- add_broadcast_mixed; apply add_broadcast_ext; intros j' _; apply (H b' h').
  - intros h; simpl; destruct (sinks x h) eqn:E; simpl; [|ring].
    rewrite <- sum_mixed; apply sum_ext; intros e _; destruct (H e h) as [_ [_ [_ [_ S]]]].
    simpl in S; rewrite E in S; exact S.
Qed.
