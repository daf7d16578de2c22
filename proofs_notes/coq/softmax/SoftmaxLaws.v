(** Sinks, twins, and how the log-sum-exp moves. *)
From Attest Require Export Softmax.

(** ** The log-sum-exp *)

(** e^L is the total, so the weights can be had from the log-sum-exp *)
Lemma exp_sink_lse keys sink s : 0 < total keys sink s -> exp (sink_log_sum_exp keys sink s) = total keys sink s.
Proof. apply exp_ln. Qed.

Lemma lse_no_sink keys s : sink_log_sum_exp keys None s = log_sum_exp keys s.
Proof. unfold sink_log_sum_exp, log_sum_exp; rewrite total_no_sink; reflexivity. Qed.

(** SMX.D4: w = e^(s - L), with a sink and without one *)
Theorem weights_from_the_lse_with_a_sink keys sink s j :
  In j keys -> sink_softmax keys sink s j = exp (s j - sink_log_sum_exp keys sink s).
Proof.
  intros H; assert (P : 0 < total keys sink s) by (apply total_pos, (in_not_nil _ _ H)).
  unfold Rminus; rewrite exp_plus, exp_Ropp, exp_sink_lse by assumption; reflexivity.
Qed.

Theorem weights_from_the_lse keys s j : In j keys -> softmax keys s j = exp (s j - log_sum_exp keys s).
Proof.
  intros H; rewrite <- sink_softmax_none, <- lse_no_sink; apply weights_from_the_lse_with_a_sink, H.
Qed.

(** SMX.D5: what a row reports, with a sink and without one, of no keys and of some *)
Lemma reported_lse_some keys sink s :
  keys <> [] \/ sink <> None -> reported_lse keys sink s = Some (sink_log_sum_exp keys sink s).
Proof. destruct keys, sink; simpl; tauto. Qed.

Lemma reported_lse_empty_row_with_sink a s : reported_lse [] (Some a) s = Some a.
Proof. simpl; unfold sink_log_sum_exp, total; simpl; rewrite Rplus_0_l, ln_exp; reflexivity. Qed.

(** SMX.P14: for base e, for base 2, and with a sink that is shifted as well *)
Theorem lse_shifts_with_the_scores keys s t :
  keys <> [] -> log_sum_exp keys (fun k => s k + t) = log_sum_exp keys s + t.
Proof.
  intros H; unfold log_sum_exp; rewrite sum_exp_shift, ln_mult, ln_exp by (apply exp_pos || apply sum_exp_pos, H).
  ring.
Qed.

Theorem lse_in_base_2_shifts_with_the_scores keys s t :
  keys <> [] -> in_base_2 (log_sum_exp keys (fun k => s k + t)) = in_base_2 (log_sum_exp keys s) + t / ln 2.
Proof.
  intros H; rewrite lse_shifts_with_the_scores by assumption; unfold in_base_2, Rdiv; ring.
Qed.

Theorem lse_shifts_with_the_scores_and_the_sink keys a s t :
  sink_log_sum_exp keys (Some (a + t)) (fun k => s k + t) = sink_log_sum_exp keys (Some a) s + t.
Proof.
  unfold sink_log_sum_exp; pose proof (total_shift keys (Some a) s t) as E; simpl option_map in E; rewrite E.
  rewrite ln_mult, ln_exp by (apply exp_pos || apply total_pos_sink); ring.
Qed.

(** SMX.D9: 2 to the power of the log-sum-exp in base 2 is the total *)
Lemma lse_in_base_2_is_a_logarithm keys s :
  keys <> [] -> Rpower 2 (in_base_2 (log_sum_exp keys s)) = sum keys (fun k => exp (s k)).
Proof.
  intros H; unfold Rpower, in_base_2, log_sum_exp.
  assert (ln 2 <> 0) by (apply Rgt_not_eq; rewrite <- ln_1; apply ln_increasing; lra).
  replace (_ * ln 2) with (ln (sum keys (fun k => exp (s k)))) by (field; assumption).
  apply exp_ln, sum_exp_pos, H.
Qed.

(** ** A sink *)

Lemma sink_share_complement keys a s : 1 - sink_share keys (Some a) s = sum keys (fun k => exp (s k)) / total keys (Some a) s.
Proof.
  unfold sink_share; pose proof (total_pos_sink keys a s) as P; unfold total in *.
  field; lra.
Qed.

(** SMX.P7: the weight of each key, hidden ones too; their sum; and the empty row *)
Theorem sink_takes_exactly_its_share n A a s j :
  gathered n A <> [] ->
  masked_sink_softmax n A (Some a) s j = (1 - sink_share (gathered n A) (Some a) s) * masked_softmax n A s j.
Proof.
  intros H; unfold masked_sink_softmax, masked_softmax; destruct (_ && _); [|ring].
  rewrite sink_share_complement; unfold sink_softmax, softmax.
  pose proof (total_pos_sink (gathered n A) a s); pose proof (sum_exp_pos _ s H); field; lra.
Qed.

Theorem weights_with_a_sink_sum_to_the_rest n A a s :
  gathered n A <> [] ->
  sum (range n) (masked_sink_softmax n A (Some a) s) = 1 - sink_share (gathered n A) (Some a) s.
Proof.
  intros H; erewrite sum_ext; [|intros j _; apply sink_takes_exactly_its_share, H].
  rewrite sum_scal, softmax_rows_sum_to_one by assumption; ring.
Qed.

Theorem sink_takes_all_of_an_empty_row n A a s :
  gathered n A = [] ->
  sink_share (gathered n A) (Some a) s = 1 /\ forall j, masked_sink_softmax n A (Some a) s j = 0.
Proof.
  intros H; split.
  - rewrite H; unfold sink_share, total; simpl; pose proof (exp_pos a); field; lra.
  - intros j; unfold masked_sink_softmax; destruct (guard_spec n A j) as [I|]; [|reflexivity].
    rewrite H in I; destruct I.
Qed.

(** a sink of a, as one more key with the score a *)
Lemma sink_is_one_more_key keys s j k : ~ In k keys -> k <> j ->
  forall a, sink_softmax keys (Some a) s j = softmax (keys ++ [k]) (fun i => if (i =? k)%nat then a else s i) j.
Proof.
  intros Hk Hj a; unfold sink_softmax, softmax, total; rewrite sum_app; simpl sum; rewrite Nat.eqb_refl.
  destruct (Nat.eqb_spec j k); [congruence|]; f_equal; rewrite Rplus_0_r; f_equal; apply sum_ext; intros i Hi.
  destruct (Nat.eqb_spec i k); [subst; tauto|reflexivity].
Qed.

(** ** Twins *)

(** the row with one more visible key, number n, that has the score of key k *)
Definition twin_set (n : nat) (A : visible_set) : visible_set := fun j => (j =? n)%nat || A j.
Definition twin_scores (n k : nat) (s : row) : row := fun j => if (j =? n)%nat then s k else s j.
(** the row in which the score of key k is raised by ln 2 *)
Definition raised (k : nat) (s : row) : row := fun j => if (j =? k)%nat then s j + ln 2 else s j.

Lemma gathered_twin n A : gathered (S n) (twin_set n A) = gathered n A ++ [n].
Proof.
  unfold gathered, range; rewrite seq_S, filter_app; simpl; unfold twin_set at 2; rewrite Nat.eqb_refl; f_equal.
  apply filter_ext_in; intros j Hj; apply in_seq in Hj; unfold twin_set.
  destruct (Nat.eqb_spec j n); [lia|reflexivity].
Qed.

Lemma sum_twin n A k s : In k (gathered n A) ->
  sum (gathered (S n) (twin_set n A)) (fun j => exp (twin_scores n k s j)) =
  sum (gathered n A) (fun j => exp (s j)) + exp (s k).
Proof.
  intros H; rewrite gathered_twin, sum_app; simpl; unfold twin_scores; rewrite Nat.eqb_refl, Rplus_0_r; f_equal.
  apply sum_ext; intros j Hj; apply in_gathered in Hj; destruct (Nat.eqb_spec j n); [lia|reflexivity].
Qed.

Lemma exp_raised x : exp (x + ln 2) = 2 * exp x.
Proof. rewrite exp_plus, exp_ln by lra; ring. Qed.

Lemma sum_raised l k s : NoDup l -> In k l ->
  sum l (fun j => exp (raised k s j)) = sum l (fun j => exp (s j)) + exp (s k).
Proof.
  intros D H; rewrite <- (sum_delta l k (fun j => exp (s j)) D H), <- sum_plus; apply sum_ext; intros j _.
  unfold raised; rewrite (Nat.eqb_sym k j); destruct (j =? k)%nat; [rewrite exp_raised|]; ring.
Qed.

(** SMX.P13: the other weights, the two twins together, and the log-sum-exp *)
Theorem duplicating_a_key_adds_ln_two n A k s j : (k < n)%nat -> A k = true -> (j < n)%nat -> j <> k ->
  masked_softmax (S n) (twin_set n A) (twin_scores n k s) j = masked_softmax n A (raised k s) j.
Proof.
  intros Hk HA Hj Hjk; assert (I : In k (gathered n A)) by (apply in_gathered; auto).
  unfold masked_softmax; replace (j <? S n)%nat with true by (symmetry; apply Nat.ltb_lt; lia).
  replace (j <? n)%nat with true by (symmetry; apply Nat.ltb_lt; lia).
  unfold twin_set at 1; destruct (Nat.eqb_spec j n); [lia|]; simpl; destruct (A j); [|reflexivity].
  unfold softmax; rewrite sum_twin, sum_raised by (apply NoDup_gathered || assumption).
  unfold twin_scores, raised; destruct (Nat.eqb_spec j n); [lia|].
  destruct (Nat.eqb_spec j k); [congruence|reflexivity].
Qed.

Theorem twins_share_the_weight_of_a_raised_key n A k s : (k < n)%nat -> A k = true ->
  masked_softmax (S n) (twin_set n A) (twin_scores n k s) k +
  masked_softmax (S n) (twin_set n A) (twin_scores n k s) n = masked_softmax n A (raised k s) k.
Proof.
  intros Hk HA; assert (I : In k (gathered n A)) by (apply in_gathered; auto).
  assert (J : forall i, In i (gathered n A) \/ i = n -> In i (gathered (S n) (twin_set n A))).
  { intros i [Hi|Hi]; rewrite gathered_twin; apply in_or_app; simpl; auto. }
  rewrite !masked_softmax_visible by auto.
  unfold softmax; rewrite sum_twin, sum_raised by (apply NoDup_gathered || assumption).
  unfold twin_scores, raised; rewrite !Nat.eqb_refl, exp_raised; destruct (Nat.eqb_spec k n); [lia|].
  unfold Rdiv; ring.
Qed.

Theorem duplicating_a_key_raises_the_lse n A k s : (k < n)%nat -> A k = true ->
  log_sum_exp (gathered (S n) (twin_set n A)) (twin_scores n k s) =
  log_sum_exp (gathered n A) s + ln (1 + masked_softmax n A s k).
Proof.
  intros Hk HA; assert (I : In k (gathered n A)) by (apply in_gathered; auto).
  unfold log_sum_exp; rewrite sum_twin, masked_softmax_visible by assumption; unfold softmax.
  pose proof (sum_exp_pos _ s (in_not_nil _ _ I)) as P; pose proof (exp_pos (s k)).
  rewrite <- ln_mult; [f_equal; field; lra|assumption|].
  assert (0 < exp (s k) / sum (gathered n A) (fun j => exp (s j))) by (apply Rdiv_lt_0_compat; lra); lra.
Qed.
