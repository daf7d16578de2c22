(** GRD.P7: gradients are linear in the cotangents. *)
From Attest Require Export CallGradient.

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
