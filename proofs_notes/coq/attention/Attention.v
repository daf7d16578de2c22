(** A row of attention is a function of what it sees (the row lemma). What follows from that alone: masks, causality,
    caches, rows and heads as calls of their own, permuted queries. In these statements nothing is computed, so they
    hold for every arithmetic; here they are shown for the real numbers. *)
From Attest Require Export Softmax.

(** ** The result of a row *)

(** The result of a row: its keys, their logits (the stage `biased`), the weights, the log-sum-exp, which may count the
    sink or not, and the output. *)
Record result := Result {
  result_keys : list nat;
  result_logits : row;
  result_weights : row;
  result_lse : bool -> R;
  result_output : row
}.
Definition row_result (h : head) (Q K V bias : matrix) (sink : option R) (i : nat) : result := Result
  (row_keys h i)
  (row_logits h Q K bias i)
  (row_weights h Q K bias sink i)
  (fun counts_sink => row_lse h Q K bias (if counts_sink then sink else None) i)
  (attend_row h Q K V bias sink i).

(** logits are compared at visible keys: a hidden key has none *)
Definition same_result (r r' : result) : Prop :=
  result_keys r = result_keys r' /\
  (forall j, In j (result_keys r) -> result_logits r j = result_logits r' j) /\
  (forall j, result_weights r j = result_weights r' j) /\
  (forall b, result_lse r b = result_lse r' b) /\
  (forall c, result_output r c = result_output r' c).

Lemma in_row_keys h i j : In j (row_keys h i) <-> (j < key_count h)%nat /\ visible h i j = true.
Proof. apply in_gathered. Qed.

Lemma row_weights_visible h Q K bias sink i j : In j (row_keys h i) ->
  row_weights h Q K bias sink i j = sink_softmax (row_keys h i) sink (row_logits h Q K bias i) j.
Proof.
  unfold row_weights, masked_sink_softmax; intros H; destruct (guard_spec (key_count h) (visible h i) j); tauto.
Qed.

Lemma row_weights_hidden h Q K bias sink i j : ~ In j (row_keys h i) -> row_weights h Q K bias sink i j = 0.
Proof.
  unfold row_weights, masked_sink_softmax; intros H; destruct (guard_spec (key_count h) (visible h i) j); tauto.
Qed.

Lemma dot_ext d q q' k k' :
  (forall c, (c < d)%nat -> q c = q' c) -> (forall c, (c < d)%nat -> k c = k' c) -> dot d q k = dot d q' k'.
Proof. intros Hq Hk; apply sum_ext; intros c Hc; apply in_range in Hc; rewrite Hq, Hk; auto. Qed.

Lemma weighted_values_ext keys kept kept' sink l l' V V' c :
  (forall j, In j keys -> l j = l' j) -> (forall j, In j keys -> kept j = kept' j) ->
  (forall j, In j keys -> V j c = V' j c) ->
  weighted_values keys kept sink l V c = weighted_values keys kept' sink l' V' c.
Proof.
  intros Hl Hk HV; unfold weighted_values; rewrite (total_ext keys sink l l') by assumption; f_equal.
  rewrite (filter_ext_in kept kept') by assumption.
  apply sum_ext; intros j Hj; apply filter_In in Hj; rewrite Hl, HV; tauto.
Qed.

(** one channel of the output *)
Lemma output_lemma h h' Q Q' K K' V V' bias bias' sink i i' c :
  row_keys h i = row_keys h' i' -> value_factor h = value_factor h' ->
  (forall j, In j (row_keys h i) ->
     row_logits h Q K bias i j = row_logits h' Q' K' bias' i' j /\ kept h i j = kept h' i' j /\ V j c = V' j c) ->
  attend_row h Q K V bias sink i c = attend_row h' Q' K' V' bias' sink i' c.
Proof.
  intros Hkeys Hf H; unfold attend_row; rewrite <- Hf, <- Hkeys; f_equal.
  apply weighted_values_ext; intros j Hj; apply H, Hj.
Qed.

(** The row lemma: rows that see the same keys, with equal logits, values and kept marks there, have equal results. *)
Lemma row_lemma h h' Q Q' K K' V V' bias bias' sink i i' :
  row_keys h i = row_keys h' i' -> value_factor h = value_factor h' ->
  (forall j, In j (row_keys h i) ->
     row_logits h Q K bias i j = row_logits h' Q' K' bias' i' j /\ kept h i j = kept h' i' j /\
     forall c, V j c = V' j c) ->
  same_result (row_result h Q K V bias sink i) (row_result h' Q' K' V' bias' sink i').
Proof.
  intros Hkeys Hf H; repeat split; simpl; auto.
  - intros j Hj; apply H, Hj.
  - intros j; destruct (in_dec Nat.eq_dec j (row_keys h i)) as [Hj|Hj].
    + rewrite !row_weights_visible by (rewrite <- ?Hkeys; assumption); rewrite <- Hkeys.
      apply sink_softmax_ext; [intros k Hk; apply H, Hk|assumption].
    + rewrite !row_weights_hidden by (rewrite <- ?Hkeys; assumption); reflexivity.
  - intros b; unfold row_lse, sink_log_sum_exp; rewrite <- Hkeys.
    f_equal; apply total_ext; intros k Hk; apply H, Hk.
  - intros c; apply output_lemma; auto; intros j Hj; repeat split; apply H, Hj.
Qed.

(** the same, for one head and other numbers *)
Lemma same_head h Q Q' K K' V V' bias bias' sink i :
  (forall c, (c < width h)%nat -> Q i c = Q' i c) ->
  (forall j, (j < key_count h)%nat -> visible h i j = true ->
     (forall c, (c < width h)%nat -> K j c = K' j c) /\ (forall c, V j c = V' j c) /\ bias i j = bias' i j) ->
  same_result (row_result h Q K V bias sink i) (row_result h Q' K' V' bias' sink i).
Proof.
  intros HQ H; apply row_lemma; auto.
  intros j Hj; apply in_row_keys in Hj; destruct (H j) as (HK & HV & Hb); try tauto.
  repeat split; auto; unfold row_logits; rewrite Hb; f_equal; f_equal; apply dot_ext; auto.
Qed.

(** ** Hidden keys, causality, caches *)

(** ATT.P1, and SMX.P2 for a row: whatever stands at hidden keys *)
Theorem hidden_keys_and_values_may_be_anything h Q K K' V V' bias bias' sink i :
  (forall j, (j < key_count h)%nat -> visible h i j = true ->
     (forall c, K j c = K' j c) /\ (forall c, V j c = V' j c) /\ bias i j = bias' i j) ->
  same_result (row_result h Q K V bias sink i) (row_result h Q K' V' bias' sink i).
Proof.
  intros H; apply same_head; auto; intros j Hn Hj; destruct (H j Hn Hj) as (HK & HV & Hb); auto.
Qed.

(** other rules may hide more than the causal one; p i is the position of query i *)
Definition causal_head (h : head) (p : nat -> Z) : Prop := forall i j, visible h i j = true -> causal (p i) j = true.

(** ATT.P2 *)
Theorem changing_later_keys_leaves_earlier_results_equal h p t Q K K' V V' bias sink i :
  causal_head h p -> (p i < t)%Z ->
  (forall j c, (Z.of_nat j < t)%Z -> K j c = K' j c /\ V j c = V' j c) ->
  same_result (row_result h Q K V bias sink i) (row_result h Q K' V' bias sink i).
Proof.
  intros Hc Hi H; apply hidden_keys_and_values_may_be_anything; intros j _ Hj.
  apply Hc, Z.leb_le in Hj; repeat split; intros; apply H; lia.
Qed.

(** ATT.P2: self-attention with offset 0; a token is its query, its key and its value *)
Theorem changing_a_token_leaves_earlier_outputs_equal h t Q Q' K K' V V' bias sink i :
  causal_head h Z.of_nat -> (i < t)%nat ->
  (forall j c, (j < t)%nat -> Q j c = Q' j c /\ K j c = K' j c /\ V j c = V' j c) ->
  same_result (row_result h Q K V bias sink i) (row_result h Q' K' V' bias sink i).
Proof.
  intros Hc Hi H; apply same_head.
  - intros c _; apply H, Hi.
  - intros j _ Hj; apply Hc, Z.leb_le in Hj; repeat split; intros; apply H; lia.
Qed.

(** the call of one query at place t, after t cached tokens: keys and values end there, all else is that of row t *)
Definition decoding_head (h : head) (t : nat) : head :=
  Head (width h) (t + 1) (scale h) (descale h) (value_factor h) (cap h) (place h)
       (fun i => visible h (t + i)) (fun i => kept h (t + i)).

Lemma gathered_ext_below n m A A' : (n <= m)%nat -> (forall j, (j < n)%nat -> A j = A' j) ->
  gathered m A = gathered n A' ++ filter A (seq n (m - n)).
Proof.
  intros Hnm H; unfold gathered, range; replace m with (n + (m - n))%nat at 1 by lia; rewrite seq_app, filter_app;
    f_equal.
  apply filter_ext_in; intros j Hj; apply in_seq in Hj; apply H; lia.
Qed.

Lemma gathered_prefix n m A : (n <= m)%nat -> (forall j, (n <= j)%nat -> A j = false) -> gathered m A = gathered n A.
Proof.
  intros Hnm HA; rewrite (gathered_ext_below n m A A) by auto.
  replace (filter A (seq n (m - n))) with (@nil nat); [apply app_nil_r|].
  symmetry; destruct (filter A (seq n (m - n))) as [|a l] eqn:E; [reflexivity|].
  assert (I : In a (a :: l)) by (left; reflexivity); rewrite <- E in I.
  apply filter_In in I; destruct I as [I IA]; apply in_seq in I; rewrite HA in IA by lia; discriminate.
Qed.

(** ATT.P3: a cache of the first t keys and values, with those of token t appended (MHA.D6) *)
Theorem decoding_with_a_cache_gives_the_rows_of_the_full_call h Q K V bias sink t :
  causal_head h Z.of_nat -> (t < key_count h)%nat ->
  same_result (row_result h Q K V bias sink t)
    (row_result (decoding_head h t) (fun _ => Q t) (append_rows t K (fun _ => K t)) (append_rows t V (fun _ => V t))
                (fun i => bias (t + i)%nat) sink 0).
Proof.
  intros Hc Ht.
  assert (E : row_keys h t = row_keys (decoding_head h t) 0).
  { unfold row_keys; simpl; rewrite Nat.add_0_r; apply gathered_prefix; [lia|].
    intros j Hj; destruct (visible h t j) eqn:Hv; [|reflexivity].
    apply Hc, Z.leb_le in Hv; lia. }
  assert (A : forall X j, In j (row_keys h t) -> append_rows t X (fun _ => X t) j = X j).
  { intros X j Hj; apply in_row_keys in Hj; destruct Hj as [_ Hj]; apply Hc, Z.leb_le in Hj.
    unfold append_rows; destruct (Nat.ltb_spec j t); [reflexivity|]; f_equal; lia. }
  apply row_lemma; auto.
  intros j Hj; simpl; rewrite Nat.add_0_r; repeat split; auto; intros.
  - unfold row_logits; simpl; rewrite Nat.add_0_r, A; auto.
  - rewrite A; auto.
Qed.

(** ** Permuted queries *)

(** everything that is indexed by a query, at another place; the rules about positions are given as a tensor *)
Definition head_of_queries (h : head) (pi : nat -> nat) : head :=
  Head (width h) (key_count h) (scale h) (descale h) (value_factor h) (cap h) (place h)
       (fun i => visible h (pi i)) (fun i => kept h (pi i)).

(** ATT.P6; pi need not be a permutation: any choice of queries will do *)
Theorem permuting_queries_permutes_rows h Q K V bias sink pi i :
  same_result (row_result (head_of_queries h pi) (fun i => Q (pi i)) K V (fun i => bias (pi i)) sink i)
              (row_result h Q K V bias sink (pi i)).
Proof. apply row_lemma; auto. Qed.
