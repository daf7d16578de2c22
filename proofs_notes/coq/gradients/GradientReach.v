(** What a gradient does not depend on: hidden keys, empty rows, other batch entries; and grouped heads are sums over
    repeated ones. The properties here are of the level of floating point; this is what of them is true of the reals. *)
From Attest Require Export CallGradient.

(** * GRD.P17 *)

Theorem hidden_scores_have_zero_gradients n A w g g' j :
  (A j = false -> masked_softmax_gradient n A w g j = 0) /\
  ((forall k, A k = true -> g k = g' k) -> masked_softmax_gradient n A w g j = masked_softmax_gradient n A w g' j).
Proof.
  unfold masked_softmax_gradient; split; [intros ->; rewrite andb_false_r; reflexivity|].
  intros H; destruct ((j <? n)%nat && A j) eqn:E; [|reflexivity].
  apply andb_true_iff in E as [_ E]; unfold softmax_gradient, centre; rewrite (H j E).
  rewrite (sum_ext _ (fun k => w k * g k) (fun k => w k * g' k)); [reflexivity|].
  intros k K; apply in_gathered in K as [_ K]; rewrite H by exact K; reflexivity.
Qed.

(** * What a head reads *)

(** operands and cotangents that agree at visible pairs, in the rows that see something *)
Record agree (h : head) (f : lse_form) (n : nat) (x y : operands) (g g' : matrix) (gL gL' : row) : Prop := {
  agree_queries : forall i, row_keys h i <> [] -> queries x i = queries y i;
  agree_keys : forall i j, (i < n)%nat -> In j (row_keys h i) -> keys x j = keys y j;
  agree_values : forall i j, (i < n)%nat -> In j (row_keys h i) -> values x j = values y j;
  agree_biases : forall i j, (i < n)%nat -> In j (row_keys h i) -> biases x i j = biases y i j;
  agree_sinks : sink x = sink y;
  agree_outputs : forall i, row_keys h i <> [] -> g i = g' i;
  agree_lses : forall i, row_keys h i <> [] \/ counted f (sink x) <> None -> gL i = gL' i
}.

Section Agree.
  Variables (h : head) (f : lse_form) (n d_v : nat) (x y : operands) (g g' : matrix) (gL gL' : row).
  Hypothesis H : agree h f n x y g g' gL gL'.
  Let Eq := agree_queries _ _ _ _ _ _ _ _ _ H.
  Let Ek := agree_keys _ _ _ _ _ _ _ _ _ H.
  Let Ev := agree_values _ _ _ _ _ _ _ _ _ H.
  Let Eb := agree_biases _ _ _ _ _ _ _ _ _ H.
  Let Es := agree_sinks _ _ _ _ _ _ _ _ _ H.
  Let Eo := agree_outputs _ _ _ _ _ _ _ _ _ H.
  Let El := agree_lses _ _ _ _ _ _ _ _ _ H.

  Lemma agree_logits i j : (i < n)%nat -> In j (row_keys h i) -> logits_of h x i j = logits_of h y i j.
  Proof.
    intros I J; unfold logits_of, row_logits.
    rewrite (Eq i), (Ek i j I J),
      (Eb i j I J); [reflexivity|exact (in_not_nil _ j J)].
  Qed.

  Lemma agree_totals i a : (i < n)%nat ->
    total (row_keys h i) a (logits_of h x i) = total (row_keys h i) a (logits_of h y i).
  Proof. intros I; apply total_ext; intros j J; apply agree_logits; assumption. Qed.

  Lemma agree_sink_softmax i a j : (i < n)%nat -> In j (row_keys h i) ->
    sink_softmax (row_keys h i) a (logits_of h x i) j = sink_softmax (row_keys h i) a (logits_of h y i) j.
  Proof. intros I J; unfold sink_softmax; rewrite agree_totals, agree_logits by assumption; reflexivity. Qed.

  Lemma agree_shares i a : (i < n)%nat ->
    sink_share (row_keys h i) a (logits_of h x i) = sink_share (row_keys h i) a (logits_of h y i).
  Proof. intros I; unfold sink_share; destruct a; [rewrite agree_totals by exact I|]; reflexivity. Qed.

  Lemma agree_weights i j : (i < n)%nat -> weights_of h x i j = weights_of h y i j.
  Proof.
    intros I; destruct (in_dec Nat.eq_dec j (row_keys h i)) as [J|J].
    - rewrite !weights_of_visible by exact J; rewrite Es; apply agree_sink_softmax; assumption.
    - rewrite !weights_of_hidden by exact J; reflexivity.
  Qed.

  Lemma agree_of_weights i j : (i < n)%nat -> In j (row_keys h i) ->
    of_weights h d_v x i (g i) j = of_weights h d_v y i (g' i) j.
  Proof.
    intros I J; unfold of_weights; rewrite (Ev i j I J),
      (Eo i (in_not_nil _ j J)); reflexivity.
  Qed.

  Lemma agree_centres i : (i < n)%nat ->
    centre (row_keys h i) (weights_of h x i) (of_weights h d_v x i (g i)) =
    centre (row_keys h i) (weights_of h y i) (of_weights h d_v y i (g' i)).
  Proof. intros I; apply sum_ext; intros j J; rewrite agree_weights, agree_of_weights by assumption; reflexivity. Qed.

  Lemma agree_logit_gradients i j : (i < n)%nat ->
    row_logit_gradient h f d_v x i (g i) (gL i) j = row_logit_gradient h f d_v y i (g' i) (gL' i) j.
  Proof.
    intros I; destruct (in_dec Nat.eq_dec j (row_keys h i)) as [J|J].
    - rewrite !row_logit_gradient_visible by exact J; unfold softmax_gradient.
      rewrite agree_weights, agree_of_weights, agree_centres, agree_sink_softmax by assumption.
      rewrite Es, (El i (or_introl (in_not_nil _ j J))).
      reflexivity.
    - rewrite !row_logit_gradient_hidden by exact J; reflexivity.
  Qed.

  Lemma agree_score_gradients i j : (i < n)%nat -> In j (row_keys h i) ->
    row_score_gradient h f d_v x i (g i) (gL i) j = row_score_gradient h f d_v y i (g' i) (gL' i) j.
  Proof.
    intros I J; unfold row_score_gradient, product; rewrite agree_logit_gradients by exact I.
    rewrite (Eq i (in_not_nil _ j J)), (Ek i j I J),
      (Eb i j I J); reflexivity.
  Qed.

  Lemma agree_bias_gradients i j : (i < n)%nat ->
    row_bias_gradient h f d_v x i (g i) (gL i) j = row_bias_gradient h f d_v y i (g' i) (gL' i) j.
  Proof.
    intros I; destruct (in_dec Nat.eq_dec j (row_keys h i)) as [J|J].
    - unfold row_bias_gradient, product; rewrite agree_logit_gradients by exact I.
      rewrite (Eq i (in_not_nil _ j J)), (Ek i j I J),
        (Eb i j I J); reflexivity.
    - unfold row_bias_gradient; rewrite !row_logit_gradient_hidden by exact J.
      rewrite !(logit_bias_gradient_scal _ _ _ _ _ 0); ring.
  Qed.

  Lemma agree_sink_gradients i : (i < n)%nat ->
    row_sink_gradient h f d_v x i (g i) (gL i) = row_sink_gradient h f d_v y i (g' i) (gL' i).
  Proof.
    intros I; unfold row_sink_gradient, sink_gradient; rewrite agree_centres, !agree_shares by exact I.
    rewrite Es; f_equal.
    destruct (counted f (sink y)) eqn:E; [|unfold sink_share, log_sum_exp_gradient; rewrite !Rmult_0_l; reflexivity].
    rewrite (El i); [reflexivity|].
    right; rewrite Es, E; discriminate.
  Qed.

  (** the row lemma of gradients: nothing else is read *)
  Lemma agreeing_heads_have_equal_gradients :
    let D := head_gradient h f n d_v x g gL in
    let D' := head_gradient h f n d_v y g' gL' in
    (forall i c, (i < n)%nat -> queries D i c = queries D' i c) /\
    (forall j c, (j < key_count h)%nat -> keys D j c = keys D' j c) /\
    (forall j c, (j < key_count h)%nat -> values D j c = values D' j c) /\
    (forall i j, (i < n)%nat -> biases D i j = biases D' i j) /\ sink D = sink D'.
  Proof.
    cbv zeta; simpl; split; [|split; [|split; [|split]]].
    - intros i c I; f_equal; apply sum_ext; intros j J.
      rewrite agree_score_gradients, (Ek i j I J) by assumption; reflexivity.
    - intros j c K; f_equal; apply sum_ext; intros i I; apply filter_In in I as [I V]; apply in_range in I.
      assert (J : In j (row_keys h i)) by (apply in_gathered; auto).
      rewrite agree_score_gradients, (Eq i (in_not_nil _ j J)) by assumption; reflexivity.
    - intros j c K; f_equal; apply sum_ext; intros i I; apply filter_In in I as [I V]; apply in_range in I.
      apply andb_true_iff in V as [V _]; assert (J : In j (row_keys h i)) by (apply in_gathered; auto).
      rewrite agree_weights, (Eo i (in_not_nil _ j J)) by assumption; reflexivity.
    - intros; apply agree_bias_gradients; assumption.
    - rewrite Es; case (sink y); simpl; [intros _; f_equal|reflexivity].
      apply sum_ext; intros i I; apply agree_sink_gradients, in_range, I.
  Qed.
End Agree.

(** * The call *)

(** some row of batch entry b sees key j of key head n, or of value head n: [head_of] says which *)
Definition is_seen (C : call) (head_of : nat -> nat) (b n j : nat) : Prop :=
  exists h i, (h < q_heads C)%nat /\ (i < q_rows C)%nat /\ head_of h = n /\ In j (row_keys (head_at C b h) i).

Lemma sum_of_no_rows (h : head) n j (l : list nat) F :
  (forall i, (i < n)%nat -> ~ In j (row_keys h i)) -> (j < key_count h)%nat ->
  (forall i, In i l -> (i < n)%nat /\ visible h i j = true) -> sum l F = 0.
Proof.
  intros N J V; destruct l as [|i l]; [reflexivity|]; destruct (V i (or_introl eq_refl)) as [I E].
  destruct (N i I); apply in_gathered; auto.
Qed.

(** GRD.P4 *)
Theorem never_visible_keys_have_zero_gradients C x g gL b n j c :
  is_call C -> (j < k_rows C)%nat ->
  (~ is_seen C (key_head_of C) b n j -> k_tensor (call_gradient C x g gL) b n j c = 0) /\
  (~ is_seen C (value_head_of C) b n j -> v_tensor (call_gradient C x g gL) b n j c = 0).
Proof.
  intros W J; split; intros N; simpl; apply sum_zero; intros h I; apply filter_In in I as [I E];
    apply in_range in I; apply Nat.eqb_eq in E;
    (rewrite (sum_of_no_rows (head_at C b h) (q_rows C) j); [ring| | |]).
  1, 4: intros i K V; apply N; exists h, i; auto.
  1, 3: rewrite (heads_have_keys C W); exact J.
  - intros i K; apply filter_In in K as [K V]; apply in_range in K; auto.
  - intros i K; apply filter_In in K as [K V]; apply in_range in K; apply andb_true_iff in V as [V _]; auto.
Qed.

(** GRD.P5 *)
Theorem gradients_of_empty_rows_are_zero C x g gL b h i c :
  row_keys (head_at C b h) i = [] -> q_tensor (call_gradient C x g gL) b h i c = 0.
Proof. intros E; simpl; rewrite E; simpl; ring. Qed.

(** GRD.P4, GRD.P5: keys and values that no row sees, queries and cotangents of rows that see nothing, change nothing;
    but where a sink is counted, an empty row has a log-sum-exp *)
Theorem what_no_row_sees_changes_no_gradient C x y g g' gL gL' :
  is_call C ->
  (forall b h i, row_keys (head_at C b h) i <> [] -> q_tensor x b h i = q_tensor y b h i /\ g b h i = g' b h i) ->
  (forall b n j, is_seen C (key_head_of C) b n j -> k_tensor x b n j = k_tensor y b n j) ->
  (forall b n j, is_seen C (value_head_of C) b n j -> v_tensor x b n j = v_tensor y b n j) ->
  bias_tensor x = bias_tensor y -> sinks x = sinks y ->
  (forall b h i, row_keys (head_at C b h) i <> [] \/ counted (lse_told C) (sinks x h) <> None -> gL b h i = gL' b h i) ->
  let D := call_gradient C x g gL in
  let D' := call_gradient C y g' gL' in
  (forall b h i c, (h < q_heads C)%nat -> (i < q_rows C)%nat -> q_tensor D b h i c = q_tensor D' b h i c) /\
  (forall b n j c, (j < k_rows C)%nat -> k_tensor D b n j c = k_tensor D' b n j c) /\
  (forall b n j c, (j < k_rows C)%nat -> v_tensor D b n j c = v_tensor D' b n j c) /\
  (forall b h i j, bias_tensor D b h i j = bias_tensor D' b h i j) /\
  (forall h, (h < q_heads C)%nat -> sinks D h = sinks D' h).
Proof.
  intros W Q K V B S L; cbv zeta.
  assert (A : forall b h, (h < q_heads C)%nat -> agree (head_at C b h) (lse_told C) (q_rows C)
    (operands_at C (slopes_bias C) x b h) (operands_at C (slopes_bias C) y b h) (g b h) (g' b h) (gL b h) (gL' b h)).
  { intros b h I; constructor; simpl; intros.
    - apply Q; assumption.
    - apply K; exists h, i; auto.
    - apply V; exists h, i; auto.
    - unfold broadcast_bias; rewrite B; reflexivity.
    - rewrite S; reflexivity.
    - apply Q; assumption.
    - apply L; assumption. }
  assert (E := fun b h I => agreeing_heads_have_equal_gradients (head_at C b h) (lse_told C) (q_rows C) (v_width C)
    _ _ _ _ _ _ (A b h I)); cbv zeta in E.
  split; [|split; [|split; [|split]]].
  - intros b h i c I I'; apply (E b h I); exact I'.
  - intros b n j c J; apply sum_ext; intros h I; apply filter_In in I as [I _]; apply in_range in I.
    apply (E b h I); rewrite (heads_have_keys C W); exact J.
  - intros b n j c J; apply sum_ext; intros h I; apply filter_In in I as [I _]; apply in_range in I.
    apply (E b h I); rewrite (heads_have_keys C W); exact J.
  - intros b h i j; apply sum_ext; intros b' _; apply sum_ext; intros h' I; apply sum_ext; intros i' I'.
    apply filter_In in I as [I _]; apply filter_In in I' as [I' _]; apply in_range in I, I'.
    apply sum_ext; intros j' _; apply (E _ _ I); exact I'.
  - intros h I; simpl; rewrite S; destruct (sinks y h) eqn:Z; simpl; [f_equal|reflexivity].
    apply sum_ext; intros b _; destruct (E b h I) as [_ [_ [_ [_ T]]]]; simpl in T; rewrite S, Z in T; simpl in T.
    congruence.
Qed.

(** GRD.P8 *)
Theorem a_batch_entry_has_its_own_gradients C x y g g' gL gL' b :
  q_tensor x b = q_tensor y b -> k_tensor x b = k_tensor y b -> v_tensor x b = v_tensor y b ->
  bias_tensor x = bias_tensor y -> sinks x = sinks y -> g b = g' b -> gL b = gL' b ->
  let D := call_gradient C x g gL in
  let D' := call_gradient C y g' gL' in
  q_tensor D b = q_tensor D' b /\ k_tensor D b = k_tensor D' b /\ v_tensor D b = v_tensor D' b.
Proof.
  intros Q K V B S G L; cbv zeta; unfold call_gradient, operands_at, broadcast_bias; cbv zeta; simpl.
  rewrite Q, K, V, B, S, G, L; auto.
Qed.

(** * Grouped heads *)

(** each key and value head written out once for each query head that reads it *)
Definition repeated_call (C : call) : call :=
  Call (batch C) (q_heads C) (q_heads C) (q_heads C) (q_rows C) (k_rows C) (qk_width C) (v_width C)
       (bias_batch C) (bias_heads C) (bias_rows C) (bias_keys C) grouped (head_at C) (slopes_bias C) (lse_told C).
Definition repeated_heads (C : call) (x : tensors) : tensors :=
  Tensors (q_tensor x) (fun b h => k_tensor x b (key_head_of C h)) (fun b h => v_tensor x b (value_head_of C h))
          (bias_tensor x) (sinks x).

(** GRD.P10 *)
Theorem grouped_gradients_are_sums_over_repeated_heads C x g gL b :
  let D := call_gradient C x g gL in
  let D' := call_gradient (repeated_call C) (repeated_heads C x) g gL in
  (forall h i c, (h < q_heads C)%nat -> q_tensor D b h i c = q_tensor D' b h i c) /\
  (forall n j c, k_tensor D b n j c = add_broadcast (q_heads C) (key_head_of C) (fun h => k_tensor D' b h j c) n) /\
  (forall n j c, v_tensor D b n j c = add_broadcast (q_heads C) (value_head_of C) (fun h => v_tensor D' b h j c) n).
Proof.
  cbv zeta.
  assert (O : forall h, (h < q_heads C)%nat ->
    operands_at (repeated_call C) (slopes_bias C) (repeated_heads C x) b h = operands_at C (slopes_bias C) x b h).
  { intros h H; assert (K := key_head_identity grouped (q_heads C) h H : key_head_of (repeated_call C) h = h).
    assert (V := K : value_head_of (repeated_call C) h = h).
    unfold operands_at; rewrite K, V; reflexivity. }
  set (G' := fun h => head_gradient (head_at C b h) (lse_told C) (q_rows C) (v_width C)
    (operands_at (repeated_call C) (slopes_bias C) (repeated_heads C x) b h) (g b h) (gL b h)).
  assert (E : forall h, (h < q_heads C)%nat ->
    head_gradient (head_at C b h) (lse_told C) (q_rows C) (v_width C)
      (operands_at C (slopes_bias C) x b h) (g b h) (gL b h) = G' h)
    by (intros h H; unfold G'; rewrite O by exact H; reflexivity).
  assert (R : forall (G : row) h, (h < q_heads C)%nat ->
    add_broadcast (q_heads C) (key_head grouped (q_heads C) (q_heads C)) G h = G h).
  { intros G h H; unfold add_broadcast.
    rewrite <- (sum_filter (range (q_heads C)) (fun p => key_head grouped (q_heads C) (q_heads C) p =? h)%nat).
    rewrite <- (sum_delta (range (q_heads C)) h G); [|apply seq_NoDup|apply in_range, H].
    apply sum_ext; intros p P; apply in_range in P; rewrite key_head_identity, Nat.eqb_sym by exact P.
    destruct (h =? p)%nat; ring. }
  split; [|split].
  - intros h i c H; exact (f_equal (fun G => queries G i c) (E h H)).
  - intros n j c; apply sum_ext; intros h H; apply filter_In in H as [H _]; apply in_range in H.
    etransitivity; [exact (f_equal (fun G => keys G j c) (E h H))|].
    symmetry; exact (R (fun h => keys (G' h) j c) h H).
  - intros n j c; apply sum_ext; intros h H; apply filter_In in H as [H _]; apply in_range in H.
    etransitivity; [exact (f_equal (fun G => values G j c) (E h H))|].
    symmetry; exact (R (fun h => values (G' h) j c) h H).
Qed.
