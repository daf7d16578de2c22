(** Dropout: what it does to the weights and the output, on average and at its ends. Chance is an argument here: a
    finite list of outcomes, each with its probability and its kept mask. *)
From Attest Require Export AttentionLaws.

Lemma kept_weight_below_one w p r : p <> 1 -> kept_weight w p r = if r then w / (1 - p) else 0.
Proof. intros H; unfold kept_weight; destruct (Req_EM_T p 1); [contradiction|reflexivity]. Qed.

Lemma kept_weight_at_one w r : kept_weight w 1 r = 0.
Proof. unfold kept_weight; destruct (Req_EM_T 1 1); [reflexivity|congruence]. Qed.

(** ATT.D5, ATT.D7: the factor 1 / (1 - p) of the output is dropout of the weights *)
Theorem output_with_dropout_is_dropped_weights_times_values p r h Q K V bias sink i c :
  attend_row (with_dropout p r h) Q K V bias sink i c =
  value_factor h * sum (row_keys h i) (fun j =>
    kept_weight (sink_softmax (row_keys h i) sink (row_logits h Q K bias i) j) p (r i j) * V j c).
Proof.
  unfold attend_row; rewrite quotient_equals_weights_times_values; simpl.
  change (row_keys (with_dropout p r h) i) with (row_keys h i).
  change (row_logits (with_dropout p r h) Q K bias i) with (row_logits h Q K bias i).
  rewrite <- sum_filter; destruct (Req_EM_T p 1) as [->|Hp].
  - rewrite Rmult_0_l, sum_zero; [ring|intros; rewrite kept_weight_at_one; ring].
  - unfold Rdiv; rewrite Rmult_assoc, <- sum_scal; f_equal; apply sum_ext; intros j _.
    rewrite kept_weight_below_one by assumption; destruct (r i j); unfold Rdiv; ring.
Qed.

(** ** On average *)

(** Over the outcomes o of a list, each with the probability P o and the kept mask r o: each key of row i is kept with
    probability 1 - p. *)
Definition keeps_each_key {A : Type} (outcomes : list A) (P : A -> R) (r : A -> nat -> nat -> bool)
                          (p : R) (i : nat) (keys : list nat) : Prop :=
  (forall o, In o outcomes -> 0 <= P o) /\ sum outcomes P = 1 /\
  forall j, In j keys -> sum outcomes (fun o => if r o i j then P o else 0) = 1 - p.

(** ATT.P10: a weight has the mean w *)
Theorem mean_of_a_kept_weight {A} (outcomes : list A) P (kept : A -> bool) w p : p < 1 ->
  sum outcomes (fun o => if kept o then P o else 0) = 1 - p ->
  sum outcomes (fun o => P o * kept_weight w p (kept o)) = w.
Proof.
  intros Hp H; transitivity (sum outcomes (fun o => if kept o then P o else 0) * (w / (1 - p))).
  - rewrite <- sum_scal_r; apply sum_ext; intros o _.
    rewrite kept_weight_below_one by lra; destruct (kept o); ring.
  - rewrite H; field; lra.
Qed.

(** ATT.P10: the mean of the output over all kept masks is the output of the head without dropout *)
Theorem dropout_is_unbiased {A : Type} (outcomes : list A) P r p h Q K V bias sink i c :
  0 <= p < 1 -> no_dropout h i -> keeps_each_key outcomes P r p i (row_keys h i) ->
  sum outcomes (fun o => P o * attend_row (with_dropout p (r o) h) Q K V bias sink i c) =
  attend_row h Q K V bias sink i c.
Proof.
  intros Hp Hd (_ & _ & Hr); rewrite (attend_row_no_dropout h) by assumption.
  set (w := sink_softmax (row_keys h i) sink (row_logits h Q K bias i)).
  transitivity (sum outcomes (fun o => value_factor h *
    sum (row_keys h i) (fun j => P o * kept_weight (w j) p (r o i j) * V j c))).
  - apply sum_ext; intros o _; rewrite output_with_dropout_is_dropped_weights_times_values; fold w.
    rewrite (sum_ext _ _ (fun j => P o * (kept_weight (w j) p (r o i j) * V j c)) (fun j _ => Rmult_assoc _ _ _)).
    rewrite sum_scal; ring.
  - rewrite sum_scal, sum_swap; f_equal; apply sum_ext; intros j Hj.
    rewrite sum_scal_r, (mean_of_a_kept_weight outcomes P (fun o => r o i j)); [reflexivity|lra|apply Hr, Hj].
Qed.

(** There are such distributions, with keys that depend on each other as much as can be: all of them or none. *)
Lemma all_or_none_keeps_each_key p i keys : 0 <= p < 1 ->
  keeps_each_key [true; false] (fun o => if o then 1 - p else p) (fun o _ _ => o) p i keys.
Proof.
  intros Hp; split; [|split]; simpl; [intros o [<-|[<-|[]]]; lra|ring|intros; ring].
Qed.

(** And with n keys that do not: every mask of n keys, its probability a product. *)
Fixpoint masks (n : nat) : list (list bool) :=
  match n with O => [[]] | S m => map (cons true) (masks m) ++ map (cons false) (masks m) end.
Definition independent (p : R) (mask : list bool) : R :=
  fold_right (fun kept x => (if kept : bool then 1 - p else p) * x) 1 mask.

Lemma independent_sums_to_one p n : sum (masks n) (independent p) = 1.
Proof.
  induction n as [|n IH]; simpl; [ring|].
  rewrite sum_app, !sum_map; simpl; rewrite !sum_scal, IH; ring.
Qed.

Lemma independent_nonneg p mask : 0 <= p < 1 -> 0 <= independent p mask.
Proof. intros Hp; induction mask as [|[] mask IH]; simpl; [lra| |]; apply Rmult_le_pos; lra. Qed.

Lemma independent_keeps_each_key p i n keys : 0 <= p < 1 -> (forall j, In j keys -> (j < n)%nat) ->
  keeps_each_key (masks n) (independent p) (fun mask _ j => nth j mask false) p i keys.
Proof.
  intros Hp Hk; split; [intros o _; apply independent_nonneg, Hp|].
  split; [apply independent_sums_to_one|]; intros j Hj; apply Hk in Hj; clear Hk.
  revert j Hj; induction n as [|n IH]; intros j Hj; [lia|].
  simpl; rewrite sum_app, !sum_map; destruct j as [|j]; simpl.
  - rewrite sum_scal, independent_sums_to_one, (sum_zero _ (fun _ => 0)) by reflexivity; ring.
  - rewrite (sum_ext _ _ (fun a => (1 - p) * (if nth j a false then independent p a else 0)))
      by (intros a _; destruct (nth j a false); ring).
    rewrite (sum_ext _ (fun a => if nth j a false then p * independent p a else 0)
               (fun a => p * (if nth j a false then independent p a else 0)))
      by (intros a _; destruct (nth j a false); ring).
    rewrite !sum_scal, IH by lia; ring.
Qed.

(** ** At its ends *)

(** ATT.P11: with p = 1 the output and the dropped weights are 0, and the log-sum-exp is that without dropout *)
Theorem dropout_of_everything_is_zero r h Q K V bias sink i :
  (forall c, attend_row (with_dropout 1 r h) Q K V bias sink i c = 0) /\
  (forall j, kept_weight (row_weights (with_dropout 1 r h) Q K bias sink i j) 1 (r i j) = 0) /\
  row_lse (with_dropout 1 r h) Q K bias sink i = row_lse h Q K bias sink i.
Proof.
  split; [|split]; [intros c|intros; apply kept_weight_at_one|reflexivity].
  rewrite output_with_dropout_is_dropped_weights_times_values, sum_zero; [ring|].
  intros; rewrite kept_weight_at_one; ring.
Qed.

(** DRP.P2 *)
Theorem dropout_outside_training_is_the_identity w p kept : dropout w p kept false = w.
Proof. reflexivity. Qed.
