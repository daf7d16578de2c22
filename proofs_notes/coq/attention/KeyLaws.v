(** Keys move and keys repeat: a permutation of the keys changes nothing, and a copy of a key counts it twice. *)
From Attest Require Export AttentionLaws.

(** ** Permuted keys *)

(** everything that is indexed by a key, at another place; the rules about positions are given as a tensor *)
Definition head_of_keys (h : head) (pi : nat -> nat) : head :=
  Head (width h) (key_count h) (scale h) (descale h) (value_factor h) (cap h) (place h)
       (fun i j => visible h i (pi j)) (fun i j => kept h i (pi j)).

(** a permutation of 0, ..., n-1 *)
Definition permutes (n : nat) (pi : nat -> nat) : Prop := Permutation (map pi (range n)) (range n).

Lemma injective_permutes n pi :
  (forall j, (j < n)%nat -> (pi j < n)%nat) ->
  (forall j k, (j < n)%nat -> (k < n)%nat -> pi j = pi k -> j = k) -> permutes n pi.
Proof.
  intros Hin Hinj; unfold permutes; apply NoDup_Permutation_bis.
  - assert (G : forall l, NoDup l -> (forall j, In j l -> (j < n)%nat) -> NoDup (map pi l)).
    { induction 1 as [|a l Ha Hl IH]; simpl; intros H; constructor; auto.
      rewrite in_map_iff; intros (b & Eb & Hb); apply Ha; replace a with b; auto. }
    apply G; [apply seq_NoDup|intros j Hj; apply in_range, Hj].
  - rewrite map_length; apply le_n.
  - intros x Hx; apply in_map_iff in Hx; destruct Hx as (j & <- & Hj); rewrite in_range in *; auto.
Qed.

Lemma row_keys_permuted h pi i : permutes (key_count h) pi ->
  Permutation (map pi (row_keys (head_of_keys h pi) i)) (row_keys h i).
Proof.
  intros H; unfold row_keys, gathered; simpl.
  rewrite <- (filter_map (visible h i) pi); apply permutation_filter, H.
Qed.

Lemma total_map keys pi sink (l : row) : total (map pi keys) sink l = total keys sink (fun j => l (pi j)).
Proof. unfold total; rewrite sum_map; reflexivity. Qed.

(** ATT.P5: output and log-sum-exp stay, with the sink counted or not, and the weights are permuted *)
Theorem permuting_keys_changes_nothing h Q K V bias sink pi i : permutes (key_count h) pi ->
  let r := row_result h Q K V bias sink i in
  let r' := row_result (head_of_keys h pi) Q (fun j => K (pi j)) (fun j => V (pi j))
                       (fun i j => bias i (pi j)) sink i in
  (forall c, result_output r' c = result_output r c) /\
  (forall b, result_lse r' b = result_lse r b) /\
  (forall j, (j < key_count h)%nat -> result_weights r' j = result_weights r (pi j)).
Proof.
  intros Hpi r r'; pose proof (row_keys_permuted h pi i Hpi) as HP.
  set (keys := row_keys h i) in *; set (keys' := row_keys (head_of_keys h pi) i) in *.
  set (l := row_logits h Q K bias i).
  assert (T : forall s, total keys' s (fun j => l (pi j)) = total keys s l).
  { intros s; rewrite <- total_map; apply total_perm, HP. }
  split; [|split].
  - intros c; unfold r, r'; simpl; unfold attend_row; simpl; f_equal.
    unfold weighted_values; fold keys keys'.
    match goal with |- context [total keys' sink ?s] => change s with (fun j => l (pi j)) end.
    fold l; rewrite T; f_equal.
    rewrite <- (sum_perm _ _ _ (permutation_filter (kept h i) _ _ HP)), filter_map, sum_map; reflexivity.
  - intros b; unfold r, r'; simpl; unfold row_lse, sink_log_sum_exp; f_equal; apply T.
  - intros j Hj; unfold r, r'; simpl.
    assert (Hpj : (pi j < key_count h)%nat).
    { apply in_range, (Permutation_in _ Hpi), in_map, in_range, Hj. }
    destruct (visible h i (pi j)) eqn:Hv.
    + rewrite !row_weights_visible by (apply in_row_keys; simpl; auto).
      unfold sink_softmax; f_equal; apply T.
    + rewrite !row_weights_hidden by (rewrite in_row_keys; simpl; rewrite Hv; intros [_ H]; discriminate); reflexivity.
Qed.

(** ATT.P5: the log-sum-exp that is reported, which is absent before as it is after *)
Theorem permuting_keys_keeps_the_reported_lse h Q K bias sink pi i : permutes (key_count h) pi ->
  reported_lse (row_keys (head_of_keys h pi) i) sink
    (row_logits (head_of_keys h pi) Q (fun j => K (pi j)) (fun i j => bias i (pi j)) i) =
  reported_lse (row_keys h i) sink (row_logits h Q K bias i).
Proof.
  intros Hpi; pose proof (row_keys_permuted h pi i Hpi) as HP.
  assert (T : total (row_keys (head_of_keys h pi) i) sink (fun j => row_logits h Q K bias i (pi j)) =
              total (row_keys h i) sink (row_logits h Q K bias i)) by (rewrite <- total_map; apply total_perm, HP).
  pose proof (Permutation_length HP) as HL; rewrite map_length in HL.
  unfold reported_lse, sink_log_sum_exp.
  change (row_logits (head_of_keys h pi) Q (fun j => K (pi j)) (fun i j => bias i (pi j)) i)
    with (fun k => row_logits h Q K bias i (pi k)); rewrite T.
  destruct (row_keys (head_of_keys h pi) i), (row_keys h i); simpl in HL; try discriminate; destruct sink; reflexivity.
Qed.

(** ** A duplicated key *)

(** the copy of key k is key n, and it is visible where k is *)
Definition with_a_copy_of (k : nat) (h : head) : head :=
  let n := key_count h in
  Head (width h) (n + 1) (scale h) (descale h) (value_factor h) (cap h) (place h)
       (fun i j => if (j <? n)%nat then visible h i j else visible h i k)
       (fun i j => if (j <? n)%nat then kept h i j else kept h i k).
Definition with_a_copy (n k : nat) (x : row) (j : nat) : R := if (j <? n)%nat then x j else x k.
Definition raised (k : nat) (t : R) (l : row) (j : nat) : R := if Nat.eqb j k then l j + t else l j.

Lemma sum_raised keys k t (l : row) (f : row) : NoDup keys -> In k keys ->
  sum keys (fun j => exp (raised k t l j) * f j) =
  sum keys (fun j => exp (l j) * f j) + (exp t - 1) * (exp (l k) * f k).
Proof.
  intros Hnd Hk; rewrite <- (sum_delta keys k (fun j => (exp t - 1) * (exp (l j) * f j))) by assumption.
  rewrite <- sum_plus; apply sum_ext; intros j _; unfold raised; rewrite Nat.eqb_sym.
  destruct (Nat.eqb k j); [rewrite exp_plus|]; ring.
Qed.

(** ATT.P18: output and log-sum-exp are those with the logit of k larger by ln 2, and the log-sum-exp grows by
    ln (1 + w_k), w_k being the weight of k before; in base 2 by ln (1 + w_k) / ln 2 *)
Theorem duplicating_a_key_with_its_value_adds_ln_two h Q K V bias sink k i :
  In k (row_keys h i) -> no_dropout h i ->
  let n := key_count h in
  let h2 := with_a_copy_of k h in
  let K2 := fun j => if (j <? n)%nat then K j else K k in
  let V2 := fun j => if (j <? n)%nat then V j else V k in
  let bias2 := fun i => with_a_copy n k (bias i) in
  let l2 := raised k (ln 2) (row_logits h Q K bias i) in
  (forall c, attend_row h2 Q K2 V2 bias2 sink i c =
             value_factor h * weighted_values (row_keys h i) (kept h i) sink l2 V c) /\
  row_lse h2 Q K2 bias2 sink i = sink_log_sum_exp (row_keys h i) sink l2 /\
  row_lse h2 Q K2 bias2 sink i = row_lse h Q K bias sink i + ln (1 + row_weights h Q K bias sink i k) /\
  in_base_2 (row_lse h2 Q K2 bias2 sink i) =
    in_base_2 (row_lse h Q K bias sink i) + ln (1 + row_weights h Q K bias sink i k) / ln 2.
Proof.
  intros Hk Hd n h2 K2 V2 bias2 l2; pose proof (proj1 (in_row_keys h i k) Hk) as [Hkn Hkv].
  set (keys := row_keys h i) in *; set (l := row_logits h Q K bias i) in *.
  assert (Hne : keys <> []) by (apply (in_not_nil _ _ Hk)).
  assert (EK : row_keys h2 i = keys ++ [n]).
  { unfold keys, row_keys, h2, with_a_copy_of; cbn [key_count visible]; fold n.
    rewrite (gathered_ext_below n (n + 1) _ (visible h i)); [f_equal| |].
    - replace (n + 1 - n)%nat with 1%nat by lia; simpl; rewrite Nat.ltb_irrefl, Hkv; reflexivity.
    - lia.
    - intros j Hj; apply Nat.ltb_lt in Hj; rewrite Hj; reflexivity. }
  assert (Hin : forall j, In j keys -> (j <? n)%nat = true)
    by (intros j Hj; apply in_row_keys in Hj; apply Nat.ltb_lt, Hj).
  assert (Hl : forall j, In j keys -> row_logits h2 Q K2 bias2 i j = l j).
  { intros j Hj; unfold row_logits, bias2, with_a_copy, K2, h2; simpl; rewrite (Hin j Hj); reflexivity. }
  assert (Hln : row_logits h2 Q K2 bias2 i n = l k).
  { unfold row_logits, bias2, with_a_copy, K2, h2; simpl; rewrite Nat.ltb_irrefl; reflexivity. }
  assert (Hnd : NoDup keys) by apply NoDup_gathered.
  assert (Etwo : exp (ln 2) - 1 = 1) by (rewrite exp_ln; lra).
  assert (T2 : total keys sink l2 = total keys sink l + exp (l k)).
  { unfold total, l2; rewrite (sum_ext keys _ (fun j => exp (raised k (ln 2) l j) * 1)) by (intros; ring).
    rewrite (sum_raised keys k (ln 2) l (fun _ => 1)), Etwo by assumption.
    rewrite (sum_ext keys (fun j => exp (l j) * 1) (fun j => exp (l j))) by (intros; ring); ring. }
  assert (T : total (row_keys h2 i) sink (row_logits h2 Q K2 bias2 i) = total keys sink l2).
  { rewrite T2, EK; unfold total; rewrite sum_app; simpl; rewrite Hln.
    rewrite (sum_ext keys (fun j => exp (row_logits h2 Q K2 bias2 i j)) (fun j => exp (l j)))
      by (intros j Hj; rewrite Hl by assumption; reflexivity); ring. }
  assert (G : row_lse h2 Q K2 bias2 sink i = row_lse h Q K bias sink i + ln (1 + row_weights h Q K bias sink i k)).
  { unfold row_lse, sink_log_sum_exp; rewrite T, T2, row_weights_visible by exact Hk; fold keys l.
    pose proof (total_pos keys sink l Hne); pose proof (exp_pos (l k)); unfold sink_softmax.
    assert (0 < exp (l k) / total keys sink l) by (apply Rdiv_lt_0_compat; assumption).
    rewrite <- ln_mult by lra; f_equal; field; lra. }
  repeat split; [|unfold row_lse, sink_log_sum_exp; rewrite T; reflexivity|exact G|].
  - intros c; unfold attend_row; change (value_factor h2) with (value_factor h); f_equal.
    unfold weighted_values; rewrite T; f_equal; rewrite EK, filter_app, sum_app.
    rewrite !filter_all.
    2: exact Hd.
    2: { intros j [<-|[]]; unfold h2, with_a_copy_of; cbn [kept]; fold n; rewrite Nat.ltb_irrefl; apply Hd, Hk. }
    2: { intros j Hj; unfold h2, with_a_copy_of; cbn [kept]; fold n; rewrite (Hin j Hj); apply Hd, Hj. }
    unfold l2; rewrite (sum_raised keys k (ln 2) l (fun j => V j c)), Etwo by assumption.
    simpl; rewrite Hln; unfold V2 at 2; rewrite Nat.ltb_irrefl.
    rewrite (sum_ext keys _ (fun j => exp (l j) * V j c)); [ring|].
    intros j Hj; unfold V2; rewrite Hl, (Hin j Hj) by assumption; reflexivity.
  - rewrite G; unfold in_base_2, Rdiv; ring.
Qed.
