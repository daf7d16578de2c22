(** How far wrong values and wrong logits can carry the output of a row. A value counts with its weight, and all weights
    together are at most 1; a logit counts by the factor that its exponential changes by. *)
From Attest Require Export Stable AttentionLaws.

Lemma kept_weights_sum_at_most_one keys kept sink l :
  sum (filter kept keys) (sink_softmax keys sink l) <= 1.
Proof.
  destruct keys as [|k0 keys]; [simpl; lra|]; set (all := k0 :: keys).
  assert (Hne : all <> []) by discriminate; pose proof (sink_softmax_sum all sink l Hne) as S.
  assert (P : 0 <= match sink with Some a => exp a / total all sink l | None => 0 end).
  { destruct sink as [a|]; [|lra]; apply Rlt_le, Rdiv_lt_0_compat; [apply exp_pos|apply total_pos, Hne]. }
  assert (D : 0 <= sum (filter (fun j => negb (kept j)) all) (sink_softmax all sink l)).
  { apply sum_nonneg; intros j Hj; apply filter_In in Hj; apply sink_softmax_nonneg, Hj. }
  rewrite (sum_split all kept) in S; lra.
Qed.

(** terms that are at most E in size, weighted by the weights of the kept keys *)
Lemma weighted_terms_at_most keys kept sink l (t : row) E : 0 <= E ->
  (forall j, In j keys -> Rabs (t j) <= E) ->
  Rabs (sum (filter kept keys) (fun j => sink_softmax keys sink l j * t j)) <= E.
Proof.
  intros HE H; eapply Rle_trans; [apply sum_Rabs|].
  apply Rle_trans with (sum (filter kept keys) (sink_softmax keys sink l) * E).
  - rewrite <- sum_scal_r; apply sum_le; intros j Hj; apply filter_In in Hj; destruct Hj as [Hj _].
    pose proof (sink_softmax_nonneg keys sink l j Hj).
    rewrite Rabs_mult, (Rabs_pos_eq (sink_softmax _ _ _ _)) by assumption.
    apply Rmult_le_compat_l; [assumption|apply H, Hj].
  - rewrite <- (Rmult_1_l E) at 2; apply Rmult_le_compat_r; [assumption|apply kept_weights_sum_at_most_one].
Qed.

(** If no value is off by more than E, neither is the output, up to its factor. *)
Theorem output_error_is_at_most_that_of_the_values h Q K V V' bias sink i c E : 0 <= E ->
  (forall j, In j (row_keys h i) -> Rabs (V' j c - V j c) <= E) ->
  Rabs (attend_row h Q K V' bias sink i c - attend_row h Q K V bias sink i c) <= Rabs (value_factor h) * E.
Proof.
  intros HE H; unfold attend_row; rewrite !quotient_equals_weights_times_values.
  rewrite <- Rmult_minus_distr_l, Rabs_mult; apply Rmult_le_compat_l; [apply Rabs_pos|].
  rewrite <- sum_minus; erewrite sum_ext by (intros; symmetry; apply Rmult_minus_distr_l).
  apply (weighted_terms_at_most _ _ _ _ (fun j => V' j c - V j c)); assumption.
Qed.

(** the sink is a logit too *)
Definition sink_within (eps : R) (sink sink' : option R) : Prop :=
  match sink, sink' with
  | Some a, Some a' => Rabs (a' - a) <= eps
  | None, None => True
  | _, _ => False
  end.

Lemma Rabs_between x y e : Rabs (x - y) <= e -> y - e <= x <= y + e.
Proof. unfold Rabs; destruct (Rcase_abs _); lra. Qed.

Lemma total_perturbed keys sink sink' l l' eps :
  (forall k, In k keys -> Rabs (l' k - l k) <= eps) -> sink_within eps sink sink' ->
  total keys sink' l' <= exp eps * total keys sink l.
Proof.
  intros H Hs; unfold total; rewrite Rmult_plus_distr_l; apply Rplus_le_compat.
  - apply perturbed_sums; intros k Hk; destruct (Rabs_between _ _ _ (H k Hk)); lra.
  - destruct sink as [a|], sink' as [a'|]; simpl in Hs; try tauto; [|lra].
    rewrite <- exp_plus; apply exp_le; destruct (Rabs_between _ _ _ Hs); lra.
Qed.

Lemma sink_within_sym eps sink sink' : sink_within eps sink sink' -> sink_within eps sink' sink.
Proof. destruct sink, sink'; simpl; auto; rewrite Rabs_minus_sym; auto. Qed.

(** If no logit is off by more than eps, a weight is off by a factor between exp (-2 eps) and exp (2 eps). *)
Theorem weights_change_by_a_factor_of_at_most_exp_2_eps keys sink sink' l l' eps j : In j keys ->
  (forall k, In k keys -> Rabs (l' k - l k) <= eps) -> sink_within eps sink sink' ->
  exp (- (2 * eps)) * sink_softmax keys sink l j <= sink_softmax keys sink' l' j <=
  exp (2 * eps) * sink_softmax keys sink l j.
Proof.
  intros Hj H Hs; pose proof (in_not_nil _ _ Hj) as Hne.
  pose proof (total_pos keys sink l Hne); pose proof (total_pos keys sink' l' Hne).
  pose proof (total_perturbed keys sink sink' l l' eps H Hs) as U.
  assert (D : total keys sink l <= exp eps * total keys sink' l').
  { apply total_perturbed; [intros k Hk; rewrite Rabs_minus_sym; auto|apply sink_within_sym, Hs]. }
  destruct (Rabs_between _ _ _ (H j Hj)) as [Lo Hi]; pose proof (exp_pos (l j)); pose proof (exp_pos (l' j)).
  assert (E : exp (l' j) <= exp eps * exp (l j)) by (rewrite <- exp_plus; apply exp_le; lra).
  assert (F : exp (l j) <= exp eps * exp (l' j)) by (rewrite <- exp_plus; apply exp_le; lra).
  assert (G : exp (2 * eps) = exp eps * exp eps) by (rewrite <- exp_plus; f_equal; ring).
  assert (I : exp (- (2 * eps)) = / (exp eps * exp eps)) by (rewrite exp_Ropp, G; reflexivity).
  pose proof (exp_pos eps); unfold sink_softmax.
  set (T := total keys sink l) in *; set (T' := total keys sink' l') in *.
  set (x := exp (l j)) in *; set (x' := exp (l' j)) in *; set (e := exp eps) in *.
  rewrite G, I; clear G I; split.
  - replace (/ (e * e) * (x / T)) with (x / (e * e * T)) by (field; lra).
    apply Rmult_le_reg_r with (e * e * T * T'); [repeat apply Rmult_lt_0_compat; assumption|].
    replace (x / (e * e * T) * (e * e * T * T')) with (x * T') by (field; lra).
    replace (x' / T' * (e * e * T * T')) with ((e * x') * (e * T)) by (field; lra).
    apply Rmult_le_compat; lra.
  - apply Rmult_le_reg_r with (T * T'); [apply Rmult_lt_0_compat; assumption|].
    replace (x' / T' * (T * T')) with (x' * T) by (field; lra).
    replace (e * e * (x / T) * (T * T')) with ((e * x) * (e * T')) by (field; lra).
    apply Rmult_le_compat; lra.
Qed.

(** If no logit is off by more than eps, the output is off by at most (exp (2 eps) - 1) times the largest value. *)
Theorem output_error_of_wrong_logits keys kept sink sink' l l' V c eps B : 0 <= eps -> 0 <= B ->
  (forall k, In k keys -> Rabs (l' k - l k) <= eps) -> sink_within eps sink sink' ->
  (forall k, In k keys -> Rabs (V k c) <= B) ->
  Rabs (weighted_values keys kept sink' l' V c - weighted_values keys kept sink l V c) <= (exp (2 * eps) - 1) * B.
Proof.
  intros He HB Hl Hs HV; rewrite !quotient_equals_weights_times_values, <- sum_minus.
  assert (Hw : forall j, In j keys ->
    Rabs (sink_softmax keys sink' l' j - sink_softmax keys sink l j) <=
    (exp (2 * eps) - 1) * sink_softmax keys sink l j).
  { intros j Hj; destruct (weights_change_by_a_factor_of_at_most_exp_2_eps keys sink sink' l l' eps j) as [L U]; auto.
    pose proof (sink_softmax_nonneg keys sink l j Hj) as P; set (w := sink_softmax keys sink l j) in *.
    rewrite exp_Ropp in L; pose proof (exp_pos (2 * eps)); set (e := exp (2 * eps)) in *.
    assert (2 - e <= / e).  (* (e - 1)^2 / e >= 0 *)
    { assert (0 <= (e - 1) * (e - 1) * / e)
        by (apply Rmult_le_pos; [apply Rle_0_sqr|apply Rlt_le, Rinv_0_lt_compat; lra]).
      replace ((e - 1) * (e - 1) * / e) with (e - 2 + / e) in * by (field; lra); lra. }
    assert ((2 - e) * w <= / e * w) by (apply Rmult_le_compat_r; assumption).
    apply Rabs_le; lra. }
  eapply Rle_trans; [apply sum_Rabs|].
  apply Rle_trans with (sum (filter kept keys) (fun j => sink_softmax keys sink l j * ((exp (2 * eps) - 1) * B))).
  - apply sum_le; intros j Hj; apply filter_In in Hj; destruct Hj as [Hj _].
    replace (sink_softmax keys sink' l' j * V j c - sink_softmax keys sink l j * V j c)
      with ((sink_softmax keys sink' l' j - sink_softmax keys sink l j) * V j c) by ring.
    rewrite Rabs_mult.
    replace (sink_softmax keys sink l j * ((exp (2 * eps) - 1) * B))
      with ((exp (2 * eps) - 1) * sink_softmax keys sink l j * B) by ring.
    apply Rmult_le_compat; auto using Rabs_pos.
  - rewrite sum_scal_r; rewrite <- (Rmult_1_l ((exp (2 * eps) - 1) * B)) at 2.
    apply Rmult_le_compat_r; [|apply kept_weights_sum_at_most_one].
    apply Rmult_le_pos; [|exact HB]; pose proof (exp_le 0 (2 * eps)); rewrite exp_0 in *; lra.
Qed.
