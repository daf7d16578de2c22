(** The whole call: which rows it is made of, what a row depends on, the one-query and the textbook form, and query
    heads that share key heads; then the examples of chapter 05. *)
From Attest Require Export AttentionLaws.

(** the result of a row of the call ATT.D8 *)
Definition call_result (m : head_map) (Hq Hk Hv : nat) (call : nat -> nat -> head)
                       (Q K V bias : nat -> nat -> matrix) (sink : nat -> option R) (b h i : nat) : result :=
  row_result (call b h) (Q b h) (K b (key_head m Hq Hk h)) (V b (key_head m Hq Hv h)) (bias b h) (sink h) i.

Lemma attention_is_the_output m Hq Hk Hv call Q K V bias sink b h i c :
  attention m Hq Hk Hv call Q K V bias sink b h i c =
  result_output (call_result m Hq Hk Hv call Q K V bias sink b h i) c.
Proof. reflexivity. Qed.

(** ** Rows are independent *)

(** ATT.P4: batch entry, head with its key head and value head, and query *)
Theorem a_result_depends_on_its_own_entries_only m Hq Hk Hv call Q Q' K K' V V' bias bias' sink sink' b h i :
  sink h = sink' h ->
  (forall c, Q b h i c = Q' b h i c) ->
  (forall j c, K b (key_head m Hq Hk h) j c = K' b (key_head m Hq Hk h) j c) ->
  (forall j c, V b (key_head m Hq Hv h) j c = V' b (key_head m Hq Hv h) j c) ->
  (forall j, bias b h i j = bias' b h i j) ->
  same_result (call_result m Hq Hk Hv call Q K V bias sink b h i)
              (call_result m Hq Hk Hv call Q' K' V' bias' sink' b h i).
Proof. intros Hs HQ HK HV Hb; unfold call_result; rewrite Hs; apply same_head; auto. Qed.

(** ATT.P4: the same row as a call of one batch entry, one head of each kind and one query, with the visible set of the
    row as its boolean tensor *)
Theorem a_row_is_its_own_call m Hq Hk Hv call Q K V bias sink b h i :
  same_result (call_result m Hq Hk Hv call Q K V bias sink b h i)
    (call_result m 1 1 1 (fun _ _ => head_of_queries (call b h) (fun _ => i)) (fun _ _ _ => Q b h i)
                 (fun _ _ => K b (key_head m Hq Hk h)) (fun _ _ => V b (key_head m Hq Hv h))
                 (fun _ _ _ => bias b h i) (fun _ => sink h) 0 0 0).
Proof. apply row_lemma; auto. Qed.

(** ** A head without any other part *)

(** m keys of width d, all of them visible *)
Definition plain_head (d m : nat) (sigma : R) : head :=
  Head d m sigma 1 1 None after_softcap (fun _ _ => true) (fun _ _ => true).

Lemma plain_row_keys d m sigma i : row_keys (plain_head d m sigma) i = range m.
Proof. apply gathered_all; auto. Qed.

Lemma plain_row_logits d m sigma Q K bias i j :
  row_logits (plain_head d m sigma) Q K bias i j = sigma * dot d (Q i) (K j) + bias i j.
Proof. unfold row_logits; simpl; ring. Qed.

(** ATT.P9 *)
Theorem one_query_form_is_the_matrix_row_at_scale_one map d m q K V c :
  compute d m q K V c =
  attention map 1 1 1 (fun _ _ => plain_head d m 1) (fun _ _ _ => q) (fun _ _ => K) (fun _ _ => V)
            (fun _ _ _ _ => 0) (fun _ => None) 0 0 0 c.
Proof.
  unfold attention, attend_row, weighted_values, total, compute; rewrite plain_row_keys; simpl value_factor.
  rewrite filter_all, Rmult_1_l, Rplus_0_r by reflexivity.
  f_equal; apply sum_ext; intros; rewrite plain_row_logits, Rmult_1_l, Rplus_0_r; reflexivity.
Qed.

(** ATT.D16: the textbook form is the row at the default scale, its mask being a bias *)
Theorem textbook_attention_is_the_row d m Q K V M i c :
  textbook_attention d m Q K V M i c =
  attend_row (plain_head d m (scale_of None d)) Q K V (match M with Some M => M | None => fun _ _ => 0 end) None i c.
Proof.
  rewrite attend_row_no_dropout by (intros j _; reflexivity); rewrite plain_row_keys; simpl value_factor.
  rewrite Rmult_1_l; apply sum_ext; intros j Hj; f_equal; rewrite sink_softmax_none.
  apply softmax_ext; [|assumption]; intros k _; rewrite plain_row_logits; unfold scale_of, Rdiv.
  destruct M; ring.
Qed.

(** ** Grouped heads *)

(** each entry n times in a row, and the list as a whole n times *)
Definition repeat_each {A : Type} (n : nat) (l : list A) : list A := flat_map (fun x => repeat x n) l.
Definition repeat_whole {A : Type} (n : nat) (l : list A) : list A := concat (repeat l n).

Lemma nth_repeat_each {A} n (l : list A) h x : (h < n * length l)%nat -> nth h (repeat_each n l) x = nth (h / n) l x.
Proof.
  revert h; induction l as [|a l IH]; intros h Hh; [simpl in Hh; lia|].
  simpl repeat_each; assert (Hn : n <> O) by lia; destruct (Nat.lt_ge_cases h n) as [H|H].
  - rewrite app_nth1, Nat.div_small by (rewrite ?repeat_length; assumption); simpl.
    apply (repeat_spec n a), nth_In; rewrite repeat_length; assumption.
  - rewrite app_nth2; rewrite repeat_length; [|assumption]; simpl length in Hh.
    fold (repeat_each n l); rewrite IH by lia.
    replace h with ((h - n) + 1 * n)%nat at 2 by lia; rewrite Nat.div_add, Nat.add_1_r by assumption; reflexivity.
Qed.

Lemma nth_repeat_whole {A} n (l : list A) h x :
  (h < n * length l)%nat -> nth h (repeat_whole n l) x = nth (h mod length l) l x.
Proof.
  revert h; induction n as [|n IH]; intros h Hh; [simpl in Hh; lia|].
  unfold repeat_whole; simpl; fold (repeat_whole n l); destruct (Nat.lt_ge_cases h (length l)) as [H|H].
  - rewrite app_nth1, Nat.mod_small by assumption; reflexivity.
  - rewrite app_nth2, IH by (try assumption; simpl in Hh; lia); f_equal.
    replace h with ((h - length l) + 1 * length l)%nat at 2 by lia; rewrite Nat.mod_add; lia.
Qed.

(** the heads of a batch entry, repeated; beyond the last head there is none *)
Definition repeated {A : Type} (none : A) (m : head_map) (heads key_heads : nat) (K : nat -> A) (h : nat) : A :=
  let l := map K (range key_heads) in
  let n := (heads / key_heads)%nat in
  nth h (match m with grouped => repeat_each n l | tiled => repeat_whole n l end) none.

(** MHA.D1: the map picks the entry of the repeated list *)
Theorem key_head_of_a_query_head_is_that_of_the_repeated_heads {A} (none : A) m heads key_heads K h :
  Nat.divide key_heads heads -> (h < heads)%nat ->
  repeated none m heads key_heads K h = K (key_head m heads key_heads h).
Proof.
  intros [z Hz] Hh; assert (Hk : key_heads <> O) by (intros ->; lia).
  assert (E : (heads / key_heads = z)%nat) by (rewrite Hz; apply Nat.div_mul, Hk).
  assert (N : forall n, (n < key_heads)%nat -> nth n (map K (range key_heads)) none = K n).
  { intros n Hn; rewrite (nth_indep _ _ (K 0%nat)) by (rewrite map_length; unfold range; rewrite seq_length; exact Hn).
    rewrite map_nth; unfold range; rewrite seq_nth by exact Hn; reflexivity. }
  assert (L : length (map K (range key_heads)) = key_heads) by (rewrite map_length; apply seq_length).
  unfold repeated, key_head; rewrite E; destruct m.
  - rewrite nth_repeat_each by (rewrite L; lia); apply N; apply Nat.div_lt_upper_bound; lia.
  - rewrite nth_repeat_whole by (rewrite L; lia); rewrite L; apply N, Nat.mod_upper_bound, Hk.
Qed.

Lemma key_head_below m heads key_heads h :
  Nat.divide key_heads heads -> (h < heads)%nat -> (key_head m heads key_heads h < key_heads)%nat.
Proof.
  intros [z Hz] Hh; assert (Hk : key_heads <> O) by (intros ->; lia); unfold key_head; destruct m.
  - rewrite Hz, Nat.div_mul by exact Hk; apply Nat.div_lt_upper_bound; lia.
  - apply Nat.mod_upper_bound, Hk.
Qed.

Lemma key_head_identity m heads h : (h < heads)%nat -> key_head m heads heads h = h.
Proof.
  intros H; unfold key_head; destruct m; [rewrite Nat.div_same by lia; apply Nat.div_1_r|apply Nat.mod_small, H].
Qed.

Lemma key_head_of_one m heads h : (h < heads)%nat -> key_head m heads 1 h = 0%nat.
Proof. intros H; unfold key_head; destruct m; [rewrite Nat.div_1_r; apply Nat.div_small, H|apply Nat.mod_1_r]. Qed.

(** ATT.P15: for either map, with the heads repeated as it says; descale factors are part of [call], so each query head
    keeps its own *)
Theorem grouped_heads_equal_repeated_heads none m Hq Hk Hv call Q K V bias sink b h i :
  Nat.divide Hk Hq -> Nat.divide Hv Hq -> (h < Hq)%nat ->
  same_result (call_result m Hq Hk Hv call Q K V bias sink b h i)
    (call_result m Hq Hq Hq call Q (fun b => repeated none m Hq Hk (K b)) (fun b => repeated none m Hq Hv (V b))
                 bias sink b h i).
Proof.
  intros HK HV Hh; unfold call_result.
  rewrite !key_head_identity, !key_head_of_a_query_head_is_that_of_the_repeated_heads by assumption.
  apply row_lemma; auto.
Qed.

(** MHA.E1 *)
Lemma MHA_E1 :
  map (key_head grouped 6 2) (range 6) = [0; 0; 0; 1; 1; 1]%nat /\
  map (key_head tiled 6 2) (range 6) = [0; 1; 0; 1; 0; 1]%nat.
Proof. split; reflexivity. Qed.

(** * The examples of chapter 05 that are worked by hand, with their numbers; ATT.E4 is in Softcap.v. *)

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
