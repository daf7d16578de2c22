(** Softmax of a list of keys, of a masked row, and with a sink: what follows from the definitions.

    A list of keys stands for the gathered row. Its order does not matter, and keys may repeat. *)
From Attest Require Export Sums.

(** ** The total *)

Lemma sum_exp_pos {A} (l : list A) (f : A -> R) : l <> [] -> 0 < sum l (fun k => exp (f k)).
Proof. intros; apply sum_pos; auto using exp_pos. Qed.

Lemma sum_exp_nonneg {A} (l : list A) (f : A -> R) : 0 <= sum l (fun k => exp (f k)).
Proof. apply sum_nonneg; intros; apply Rlt_le, exp_pos. Qed.

Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof. intros [H|H]; [apply Rlt_le, exp_increasing, H|rewrite H; lra]. Qed.

(** a factor e^t of every term is a factor of the sum *)
Lemma sum_exp_shift {A} (l : list A) (f : A -> R) t :
  sum l (fun k => exp (f k + t)) = exp t * sum l (fun k => exp (f k)).
Proof.
  rewrite Rmult_comm, <- sum_scal_r; apply sum_ext; intros; apply exp_plus.
Qed.

Lemma total_pos keys sink s : keys <> [] -> 0 < total keys sink s.
Proof.
  intros H; unfold total; pose proof (sum_exp_pos keys s H).
  destruct sink as [a|]; [pose proof (exp_pos a)|]; lra.
Qed.

Lemma total_pos_sink keys a s : 0 < total keys (Some a) s.
Proof. unfold total; pose proof (sum_exp_nonneg keys s); pose proof (exp_pos a); lra. Qed.

Lemma total_no_sink keys s : total keys None s = sum keys (fun k => exp (s k)).
Proof. unfold total; ring. Qed.

Lemma total_shift keys sink s t :
  total keys (option_map (fun a => a + t) sink) (fun k => s k + t) = exp t * total keys sink s.
Proof. unfold total; rewrite sum_exp_shift; destruct sink; simpl; rewrite ?exp_plus; ring. Qed.

Lemma total_perm keys keys' sink s : Permutation keys keys' -> total keys sink s = total keys' sink s.
Proof. intros H; unfold total; rewrite (sum_perm keys keys') by assumption; reflexivity. Qed.

Lemma total_ext keys sink s s' : (forall k, In k keys -> s k = s' k) -> total keys sink s = total keys sink s'.
Proof. intros H; unfold total; f_equal; apply sum_ext; intros k Hk; rewrite H; auto. Qed.

(** ** The visible keys of a row *)

Lemma in_not_nil {A} (l : list A) j : In j l -> l <> [].
Proof. intros H E; rewrite E in H; destruct H. Qed.

(** whether the keys below n have a visible one can be said in either way *)
Lemma gathered_not_nil n A : gathered n A <> [] <-> exists j, (j < n)%nat /\ A j = true.
Proof.
  split.
  - destruct (gathered n A) as [|j l] eqn:E; [congruence|]; intros _; exists j.
    apply in_gathered; rewrite E; left; reflexivity.
  - intros [j H]; apply in_gathered in H; apply in_not_nil in H; exact H.
Qed.

Lemma gathered_nil n A : gathered n A = [] <-> forall j, (j < n)%nat -> A j = false.
Proof.
  split.
  - intros E j Hj; destruct (A j) eqn:H; [|reflexivity].
    assert (I : In j (gathered n A)) by (apply in_gathered; auto); rewrite E in I; destruct I.
  - intros H; destruct (gathered n A) as [|j l] eqn:E; [reflexivity|].
    assert (I : In j (gathered n A)) by (rewrite E; left; reflexivity).
    apply in_gathered in I; destruct I as [Hj HA]; rewrite H in HA by assumption; discriminate.
Qed.

Lemma gathered_all n A : (forall j, (j < n)%nat -> A j = true) -> gathered n A = range n.
Proof.
  intros H; unfold gathered; assert (G : forall l, (forall j, In j l -> A j = true) -> filter A l = l).
  { induction l as [|a l IH]; simpl; intros Hl; [reflexivity|].
    rewrite Hl, IH; auto. }
  apply G; intros j Hj; apply H, in_range, Hj.
Qed.

Lemma gathered_ext n A A' : (forall j, (j < n)%nat -> A j = A' j) -> gathered n A = gathered n A'.
Proof.
  intros H; unfold gathered; apply filter_ext_in; intros j Hj; apply H, in_range, Hj.
Qed.

(** the guard of [masked_softmax] *)
Lemma guard_spec n A j : reflect (In j (gathered n A)) ((j <? n)%nat && A j).
Proof. apply iff_reflect; rewrite in_gathered, andb_true_iff, Nat.ltb_lt; reflexivity. Qed.

Lemma masked_softmax_visible n A s j : In j (gathered n A) -> masked_softmax n A s j = softmax (gathered n A) s j.
Proof. intros H; unfold masked_softmax; destruct (guard_spec n A j); tauto. Qed.

Lemma masked_softmax_hidden n A s j : ~ In j (gathered n A) -> masked_softmax n A s j = 0.
Proof. intros H; unfold masked_softmax; destruct (guard_spec n A j); tauto. Qed.

(** a sum over the whole row with zeros at hidden keys, as a sum over visible keys *)
Lemma sum_guarded n A f :
  sum (range n) (fun j => if (j <? n)%nat && A j then f j else 0) = sum (gathered n A) f.
Proof.
  unfold gathered; rewrite <- sum_filter; apply sum_ext; intros j Hj.
  apply in_range, Nat.ltb_lt in Hj; rewrite Hj; reflexivity.
Qed.

(** ** The weights of a list of keys *)

(** no sink is the plain softmax, and softmax is sink_softmax without one *)
Lemma sink_softmax_none keys s j : sink_softmax keys None s j = softmax keys s j.
Proof. unfold sink_softmax, softmax; rewrite total_no_sink; reflexivity. Qed.

Lemma softmax_pos keys s j : keys <> [] -> 0 < softmax keys s j.
Proof. intros; apply Rdiv_lt_0_compat; [apply exp_pos|apply sum_exp_pos; auto]. Qed.

Lemma softmax_sum_1 keys s : keys <> [] -> sum keys (softmax keys s) = 1.
Proof.
  intros H; unfold softmax, Rdiv; rewrite sum_scal_r.
  apply Rinv_r, Rgt_not_eq, sum_exp_pos, H.
Qed.

Lemma softmax_le_1 keys s j : In j keys -> softmax keys s j <= 1.
Proof.
  intros Hj; pose proof (in_not_nil _ _ Hj) as H; rewrite <- (softmax_sum_1 keys s H).
  apply (sum_term_le _ (softmax keys s)); auto; intros; apply Rlt_le, softmax_pos, H.
Qed.

(** only the scores of the keys enter *)
Lemma softmax_ext keys s s' j :
  (forall k, In k keys -> s k = s' k) -> In j keys -> softmax keys s j = softmax keys s' j.
Proof.
  intros H Hj; unfold softmax; rewrite (H j Hj); f_equal; apply sum_ext.
  intros k Hk; rewrite H; auto.
Qed.

Lemma softmax_perm keys keys' s j : Permutation keys keys' -> softmax keys s j = softmax keys' s j.
Proof. intros H; unfold softmax; rewrite (sum_perm keys keys') by assumption; reflexivity. Qed.

Lemma sink_softmax_perm keys keys' sink s j :
  Permutation keys keys' -> sink_softmax keys sink s j = sink_softmax keys' sink s j.
Proof. intros H; unfold sink_softmax; rewrite (total_perm keys keys') by assumption; reflexivity. Qed.

Lemma sink_softmax_ext keys sink s s' j :
  (forall k, In k keys -> s k = s' k) -> In j keys -> sink_softmax keys sink s j = sink_softmax keys sink s' j.
Proof. intros H Hj; unfold sink_softmax; rewrite (H j Hj), (total_ext _ _ s s') by assumption; reflexivity. Qed.

(** the logits and the sink may be shifted together *)
Lemma sink_softmax_shift keys sink s t j :
  sink_softmax keys (option_map (fun a => a + t) sink) (fun k => s k + t) j = sink_softmax keys sink s j.
Proof.
  unfold sink_softmax; rewrite total_shift, exp_plus; unfold Rdiv; rewrite Rinv_mult.
  set (T := / total keys sink s); pose proof (exp_pos t); field; lra.
Qed.

Lemma softmax_shift keys s t j : softmax keys (fun k => s k + t) j = softmax keys s j.
Proof. rewrite <- !sink_softmax_none; exact (sink_softmax_shift keys None s t j). Qed.

(** ** Properties *)

(** SMX.P1 *)
Theorem softmax_rows_sum_to_one n A s :
  gathered n A <> [] -> sum (range n) (masked_softmax n A s) = 1.
Proof.
  intros H; rewrite <- (softmax_sum_1 _ s H), <- sum_guarded; reflexivity.
Qed.

(** SMX.P4 *)
Theorem softmax_is_shift_invariant n A s t j :
  masked_softmax n A (fun k => s k + t) j = masked_softmax n A s j.
Proof. unfold masked_softmax; destruct (_ && _); [apply softmax_shift|reflexivity]. Qed.

(** SMX.P5: the weights, and the log-sum-exp; a row has at least one score (SMX.D1) *)
Theorem weights_are_independent_of_the_shift c keys s j : shifted_softmax c keys s j = softmax keys s j.
Proof. exact (softmax_shift keys s (- c) j). Qed.

Theorem lse_is_independent_of_the_shift c keys s :
  keys <> [] -> shifted_log_sum_exp c keys s = log_sum_exp keys s.
Proof.
  intros H; unfold shifted_log_sum_exp, exponential, log_sum_exp.
  change (fun j => exp (s j - c)) with (fun j => exp (s j + - c)); rewrite sum_exp_shift.
  rewrite ln_mult, ln_exp by (apply exp_pos || apply sum_exp_pos, H); ring.
Qed.

(** SMX.P6: at visible keys, at hidden ones, and with a sink *)
Theorem weights_lie_between_zero_and_one n A s j :
  (j < n)%nat -> A j = true -> 0 < masked_softmax n A s j <= 1.
Proof.
  intros Hj HA; assert (I : In j (gathered n A)) by (apply in_gathered; auto).
  rewrite masked_softmax_visible by assumption.
  split; [apply softmax_pos, (in_not_nil _ _ I)|apply softmax_le_1, I].
Qed.

Theorem hidden_weights_are_zero n A s j : A j = false -> masked_softmax n A s j = 0.
Proof. intros H; unfold masked_softmax; rewrite H, andb_false_r; reflexivity. Qed.

Theorem weights_with_a_sink_lie_between_zero_and_one keys a s j :
  In j keys -> 0 < sink_softmax keys (Some a) s j < 1.
Proof.
  intros H; unfold sink_softmax; pose proof (total_pos_sink keys a s) as P; pose proof (exp_pos (s j)).
  split; [apply Rdiv_lt_0_compat; assumption|].
  apply Rmult_lt_reg_r with (total keys (Some a) s); [assumption|].
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by lra; unfold total.
  pose proof (sum_term_le keys (fun k => exp (s k)) j (fun k _ => Rlt_le _ _ (exp_pos _)) H).
  pose proof (exp_pos a); simpl in *; lra.
Qed.
