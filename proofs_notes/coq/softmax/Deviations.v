(** Masking by a large negative number: how far it is from leaving keys out. *)
From Attest Require Export SoftmaxLaws.

Definition hidden (n : nat) (A : visible_set) : list nat := filter (fun j => negb (A j)) (range n).

Lemma in_hidden n A j : In j (hidden n A) <-> (j < n)%nat /\ A j = false.
Proof. unfold hidden; rewrite filter_In, in_range, negb_true_iff; tauto. Qed.

(** ** Any row in which hidden keys keep some score t_j *)

(** the leak: what the hidden keys add to the total, in units of the total of the visible ones *)
Definition leak (n : nat) (A : visible_set) (s t : row) : R :=
  sum (hidden n A) (fun j => exp (t j - log_sum_exp (gathered n A) s)).

Section Leak.
Variables (n : nat) (A : visible_set) (s t : row).
Hypothesis visible_kept : forall j, A j = true -> t j = s j.
Hypothesis not_empty : gathered n A <> [].
Let S := sum (gathered n A) (fun k => exp (s k)).
Let L := log_sum_exp (gathered n A) s.
Let eps := leak n A s t.

Let S_pos : 0 < S.
Proof. apply sum_exp_pos, not_empty. Qed.

Let exp_minus_L x : exp (x - L) = exp x / S.
Proof.
  unfold Rminus; rewrite exp_plus, exp_Ropp; unfold L, log_sum_exp; rewrite exp_ln by exact S_pos; reflexivity.
Qed.

Lemma leak_pos : 0 <= eps.
Proof. apply sum_exp_nonneg. Qed.

Lemma leaking_total : sum (range n) (fun k => exp (t k)) = S * (1 + eps).
Proof.
  pose proof S_pos as P; rewrite (sum_split _ A).
  assert (E : eps = sum (hidden n A) (fun k => exp (t k)) * / S)
    by (rewrite <- sum_scal_r; apply sum_ext; intros; apply exp_minus_L).
  assert (V : sum (filter A (range n)) (fun k => exp (t k)) = S)
    by (apply sum_ext; intros j Hj; apply in_gathered in Hj; rewrite visible_kept by tauto; reflexivity).
  rewrite E, V; unfold hidden; field; lra.
Qed.

Lemma leaking_visible j : (j < n)%nat -> A j = true -> softmax (range n) t j = masked_softmax n A s j / (1 + eps).
Proof.
  intros Hj HA; rewrite masked_softmax_visible by (apply in_gathered; auto).
  unfold softmax; rewrite leaking_total, visible_kept by assumption; fold S.
  pose proof S_pos; pose proof leak_pos; field; lra.
Qed.

Lemma leaking_hidden j : softmax (range n) t j = exp (t j - L) / (1 + eps).
Proof.
  unfold softmax; rewrite leaking_total, exp_minus_L; pose proof S_pos; pose proof leak_pos; field; lra.
Qed.

(** all hidden weights together, and what a visible weight has lost *)
Lemma leaking_sum : sum (hidden n A) (softmax (range n) t) = eps / (1 + eps).
Proof.
  rewrite (sum_ext _ _ (fun j => exp (t j - L) * / (1 + eps))) by (intros; apply leaking_hidden).
  rewrite sum_scal_r; reflexivity.
Qed.

Lemma leaking_loss j : (j < n)%nat -> A j = true ->
  masked_softmax n A s j - softmax (range n) t j = masked_softmax n A s j * eps / (1 + eps) /\
  0 <= masked_softmax n A s j - softmax (range n) t j <= eps.
Proof.
  intros Hj HA; rewrite leaking_visible by assumption; pose proof leak_pos.
  pose proof (weights_lie_between_zero_and_one n A s j Hj HA) as [W0 W1]; set (w := masked_softmax n A s j) in *.
  assert (E : w - w / (1 + eps) = w * eps / (1 + eps)) by (field; lra); split; [exact E|]; rewrite E.
  assert (Q : 0 <= eps / (1 + eps) <= eps).
  { assert (I : 0 < / (1 + eps)) by (apply Rinv_0_lt_compat; lra).
    assert (J : / (1 + eps) <= 1) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra).
    unfold Rdiv; split; [apply Rmult_le_pos; lra|]; rewrite <- (Rmult_1_r eps) at 3; apply Rmult_le_compat_l; lra. }
  unfold Rdiv in *; rewrite Rmult_assoc; split; [apply Rmult_le_pos; lra|].
  rewrite <- (Rmult_1_l eps) at 3; apply Rmult_le_compat; lra.
Qed.
End Leak.

(** ** Filling with the sentinel *)

Definition fill_leak (N : R) (n : nat) (A : visible_set) (s : row) : R :=
  INR (length (hidden n A)) * exp (N - log_sum_exp (gathered n A) s).

Lemma filled_visible N A s j : A j = true -> filled N A s j = s j.
Proof. unfold filled; intros ->; reflexivity. Qed.

Lemma fill_leak_is_leak N n A s : leak n A s (filled N A s) = fill_leak N n A s.
Proof.
  unfold leak, fill_leak; rewrite <- sum_const; apply sum_ext; intros j Hj; apply in_hidden in Hj.
  unfold filled; destruct Hj as [_ ->]; reflexivity.
Qed.

(** SMX.P9: the weight at a visible key, at a hidden key, of all hidden keys together; what a visible key loses; the
    empty row *)
Theorem sentinel_fill_differs_by_its_leak N n A s j :
  gathered n A <> [] -> (j < n)%nat ->
  let eps := fill_leak N n A s in
  sentinel_fill_softmax N n A s j =
  if A j then masked_softmax n A s j / (1 + eps) else exp (N - log_sum_exp (gathered n A) s) / (1 + eps).
Proof.
  intros H Hj; cbv zeta; unfold sentinel_fill_softmax; rewrite <- fill_leak_is_leak; destruct (A j) eqn:HA.
  - apply leaking_visible; auto using filled_visible.
  - rewrite (leaking_hidden n A s) by auto using filled_visible; unfold filled at 1; rewrite HA; reflexivity.
Qed.

Theorem sentinel_fill_gives_hidden_keys_their_share N n A s :
  gathered n A <> [] ->
  let eps := fill_leak N n A s in sum (hidden n A) (sentinel_fill_softmax N n A s) = eps / (1 + eps).
Proof.
  intros H; cbv zeta; rewrite <- fill_leak_is_leak; apply leaking_sum; auto using filled_visible.
Qed.

Theorem sentinel_fill_takes_no_more_than_its_leak N n A s j :
  gathered n A <> [] -> (j < n)%nat -> A j = true ->
  let eps := fill_leak N n A s in
  masked_softmax n A s j - sentinel_fill_softmax N n A s j = masked_softmax n A s j * eps / (1 + eps) /\
  0 <= masked_softmax n A s j - sentinel_fill_softmax N n A s j <= eps.
Proof.
  intros H Hj HA; cbv zeta; rewrite <- fill_leak_is_leak; apply leaking_loss; auto using filled_visible.
Qed.

Theorem sentinel_fill_of_an_empty_row_is_uniform N n A s j :
  gathered n A = [] -> (j < n)%nat -> sentinel_fill_softmax N n A s j = 1 / INR n.
Proof.
  intros H Hj; rewrite gathered_nil in H; unfold sentinel_fill_softmax, softmax.
  rewrite (sum_ext _ _ (fun _ => exp N)).
  - unfold filled; rewrite H, sum_const by assumption; unfold range; rewrite seq_length.
    assert (0 < INR n) by (apply lt_0_INR; lia); pose proof (exp_pos N); field; lra.
  - intros k Hk; apply in_range in Hk; unfold filled; rewrite H by assumption; reflexivity.
Qed.

(** ** Adding the sentinel *)

Definition additive_leak (N : R) (n : nat) (A : visible_set) (s : row) : R :=
  sum (hidden n A) (fun j => exp (s j + N - log_sum_exp (gathered n A) s)).

Lemma lowered_visible N A s j : A j = true -> lowered N A s j = s j.
Proof. unfold lowered; intros ->; reflexivity. Qed.

Lemma additive_leak_is_leak N n A s : leak n A s (lowered N A s) = additive_leak N n A s.
Proof.
  apply sum_ext; intros j Hj; apply in_hidden in Hj; unfold lowered; destruct Hj as [_ ->]; reflexivity.
Qed.

(** SMX.P10: the weight at a visible key and at a hidden key; the empty row *)
Theorem sentinel_additive_differs_by_its_leak N n A s j :
  gathered n A <> [] -> (j < n)%nat ->
  let eps := additive_leak N n A s in
  sentinel_additive_softmax N n A s j =
  if A j then masked_softmax n A s j / (1 + eps) else exp (s j + N - log_sum_exp (gathered n A) s) / (1 + eps).
Proof.
  intros H Hj; cbv zeta; unfold sentinel_additive_softmax; rewrite <- additive_leak_is_leak; destruct (A j) eqn:HA.
  - apply leaking_visible; auto using lowered_visible.
  - rewrite (leaking_hidden n A s) by auto using lowered_visible; unfold lowered at 1; rewrite HA; reflexivity.
Qed.

Theorem sentinel_additive_of_an_empty_row_is_unmasked N n A s j :
  gathered n A = [] -> (j < n)%nat -> sentinel_additive_softmax N n A s j = softmax (range n) s j.
Proof.
  intros H Hj; rewrite gathered_nil in H; rewrite <- (softmax_shift _ s N); apply softmax_ext; [|apply in_range, Hj].
  intros k Hk; apply in_range in Hk; unfold lowered; rewrite H by assumption; reflexivity.
Qed.

(** ** No sentinel is safe *)

(** key 0 is visible and has the score N - t; key 1 is hidden and has the score 0 *)
Definition unsafe_row (N t : R) : row := fun j => if (j =? 0)%nat then N - t else 0.
Definition first_only : visible_set := fun j => (j =? 0)%nat.

(** SMX.P11 *)
Theorem unsafe_weights N t :
  sentinel_fill_softmax N 2 first_only (unsafe_row N t) 1%nat = 1 / (1 + exp (- t)) /\
  sentinel_additive_softmax N 2 first_only (unsafe_row N t) 1%nat = 1 / (1 + exp (- t)).
Proof.
  pose proof (exp_pos N); pose proof (exp_pos (- t)).
  unfold sentinel_fill_softmax, sentinel_additive_softmax, softmax, filled, lowered, first_only, unsafe_row; simpl.
  unfold Rminus; rewrite Rplus_0_l, exp_plus; split; field; nra.
Qed.

(** SMX.P11: at least 1/2 in both forms, and as close to 1 as one likes, though the key has no weight by SMX.D3 *)
Theorem no_finite_sentinel_is_safe N : exists s,
  masked_softmax 2 first_only s 1 = 0 /\
  1 / 2 <= sentinel_fill_softmax N 2 first_only s 1%nat /\ 1 / 2 <= sentinel_additive_softmax N 2 first_only s 1%nat.
Proof.
  exists (unsafe_row N 0); destruct (unsafe_weights N 0) as [-> ->]; rewrite Ropp_0, exp_0.
  split; [apply hidden_weights_are_zero; reflexivity|lra].
Qed.

Theorem a_sentinel_can_leak_nearly_all_weight N delta : 0 < delta -> exists s,
  masked_softmax 2 first_only s 1 = 0 /\
  1 - delta < sentinel_fill_softmax N 2 first_only s 1%nat /\
  1 - delta < sentinel_additive_softmax N 2 first_only s 1%nat.
Proof.
  intros H; exists (unsafe_row N (- ln delta)); destruct (unsafe_weights N (- ln delta)) as [-> ->].
  rewrite Ropp_involutive, exp_ln by assumption; split; [apply hidden_weights_are_zero; reflexivity|].
  assert (1 - delta < 1 / (1 + delta)); [|split; assumption].
  apply Rmult_lt_reg_r with (1 + delta); [lra|].
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra; nra.
Qed.
