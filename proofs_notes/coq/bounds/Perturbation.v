(** How a softmax and its output move when every exponential moves by a factor: the error of a weight w is in
    proportion to w (1 - w), and what the leading key contributes cancels. Forward errors of computed rows follow.

    Factors f with lo <= f <= hi stand for all that happens to an exponential: errors of its logit (e^-E to e^E) and of
    the function exp (1 - eps to 1 + eps). Nothing here is said of how they arise; underflow is excluded. *)
From Attest Require Export SoftmaxBound.

Section Reweighted.
  Context {I : Type}.
  Variables (keys : list I) (p f : I -> R) (lo hi : R).
  Hypothesis weights_nonneg : forall k, In k keys -> 0 <= p k.
  Hypothesis weights_sum_to_one : sum keys p = 1.
  Hypothesis lo_pos : 0 < lo.
  Hypothesis factors_between : forall k, In k keys -> lo <= f k <= hi.

  (** the mean of v under the weights, and under the weights that have moved *)
  Definition weighted_mean (v : I -> R) : R := sum keys (fun k => p k * v k).
  Definition moved_total : R := sum keys (fun k => p k * f k).
  Definition moved_mean (v : I -> R) : R := sum keys (fun k => p k * f k * v k) / moved_total.
  Definition moved_weight (k : I) : R := p k * f k / moved_total.

  Lemma moved_total_between : lo <= moved_total <= hi.
  Proof.
    rewrite <- (Rmult_1_l lo), <- (Rmult_1_l hi), <- weights_sum_to_one, <- !sum_scal_r.
    split; apply sum_le; intros k Hk; apply Rmult_le_compat_l; auto; apply factors_between, Hk.
  Qed.

  Lemma split_lead lead others g : Permutation keys (lead :: others) -> sum keys g = g lead + sum others g.
  Proof. intros Hp; rewrite (sum_perm _ _ g Hp); reflexivity. Qed.

  Lemma in_others {lead others} : Permutation keys (lead :: others) -> forall k, In k others -> In k keys.
  Proof. intros Hp k Hk; apply (Permutation_in _ (Permutation_sym Hp)); right; exact Hk. Qed.

  Lemma in_lead lead others : Permutation keys (lead :: others) -> In lead keys.
  Proof. intros Hp; apply (Permutation_in _ (Permutation_sym Hp)); left; reflexivity. Qed.

  (** The leading key may be any key: its own term vanishes, since sum p (v - mean) = 0. *)
  Theorem moved_mean_error v lead others : Permutation keys (lead :: others) ->
    Rabs (moved_mean v - weighted_mean v) <= (hi - lo) / lo * sum others (fun k => p k * Rabs (v k - weighted_mean v)).
  Proof.
    intros Hp; pose proof moved_total_between as [L U].
    set (o := weighted_mean v).
    assert (Z : sum keys (fun k => p k * (v k - o)) = 0).
    { rewrite (sum_ext _ _ (fun k => p k * v k - p k * o)) by (intros; ring).
      rewrite sum_minus, sum_scal_r, weights_sum_to_one; unfold o, weighted_mean; ring. }
    assert (X : moved_mean v - o = sum others (fun k => p k * (f k - f lead) * (v k - o)) / moved_total).
    { unfold moved_mean.
      replace (sum others (fun k => p k * (f k - f lead) * (v k - o)))
        with (sum keys (fun k => p k * (f k - f lead) * (v k - o))) by (rewrite (split_lead _ _ _ Hp); cbv beta; ring).
      rewrite (sum_ext keys (fun k => p k * (f k - f lead) * (v k - o))
        (fun k => (p k * f k * v k - p k * f k * o) - f lead * (p k * (v k - o)))) by (intros; ring).
      rewrite !sum_minus, sum_scal, Z, sum_scal_r; fold moved_total; field; lra. }
    rewrite X; unfold Rdiv; rewrite Rabs_mult, (Rabs_right (/ moved_total))
      by (apply Rle_ge, Rlt_le, Rinv_0_lt_compat; lra).
    pose proof (in_others Hp) as In_others; pose proof (in_lead _ _ Hp) as In_lead.
    assert (S : Rabs (sum others (fun k => p k * (f k - f lead) * (v k - o)))
                <= (hi - lo) * sum others (fun k => p k * Rabs (v k - o))).
    { eapply Rle_trans; [apply sum_Rabs|]; rewrite <- sum_scal; apply sum_le; intros k Hk.
      pose proof (factors_between k (In_others k Hk)); pose proof (factors_between lead In_lead).
      pose proof (weights_nonneg k (In_others k Hk)).
      rewrite !Rabs_mult, (Rabs_right (p k)) by lra.
      replace ((hi - lo) * (p k * Rabs (v k - o))) with (p k * (hi - lo) * Rabs (v k - o)) by ring.
      apply Rmult_le_compat_r; [apply Rabs_pos|]; apply Rmult_le_compat_l; [assumption|apply Rabs_le; lra]. }
    replace ((hi - lo) * / lo * sum others (fun k => p k * Rabs (v k - o)))
      with ((hi - lo) * sum others (fun k => p k * Rabs (v k - o)) * / lo) by ring.
    apply Rmult_le_compat; [apply Rabs_pos|apply Rlt_le, Rinv_0_lt_compat; lra|exact S|apply Rinv_le_contravar; lra].
  Qed.

  Lemma others_weight lead others : Permutation keys (lead :: others) -> sum others p = 1 - p lead.
  Proof. intros Hp; rewrite <- weights_sum_to_one, (split_lead _ _ _ Hp); cbv beta; ring. Qed.

  (** the factor of the others: near 0 where one key has nearly all the weight *)
  Theorem moved_mean_error_by_spread v lead others spread : Permutation keys (lead :: others) ->
    (forall j k, In j keys -> In k keys -> v j - v k <= spread) ->
    Rabs (moved_mean v - weighted_mean v) <= (hi - lo) / lo * ((1 - p lead) * spread).
  Proof.
    intros Hp Hv; eapply Rle_trans; [apply (moved_mean_error v lead others Hp)|].
    pose proof (in_others Hp) as In_others; pose proof (in_lead _ _ Hp) as In_lead.
    pose proof (factors_between lead In_lead).
    apply Rmult_le_compat_l.
    { apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; lra]. }
    rewrite <- (others_weight lead others Hp), <- sum_scal_r; apply sum_le; intros k Hk.
    apply Rmult_le_compat_l; [apply weights_nonneg; auto|].
    assert (D : forall j, In j keys -> v j - spread <= weighted_mean v <= v j + spread).
    { intros j Hj; unfold weighted_mean.
      replace (v j - spread) with (sum keys (fun k => p k * (v j - spread)))
        by (rewrite sum_scal_r, weights_sum_to_one; ring).
      replace (v j + spread) with (sum keys (fun k => p k * (v j + spread)))
        by (rewrite sum_scal_r, weights_sum_to_one; ring).
      split; apply sum_le; intros m Hm; (apply Rmult_le_compat_l; [apply weights_nonneg, Hm|]);
        pose proof (Hv j m Hj Hm); pose proof (Hv m j Hm Hj); lra. }
    pose proof (D k (In_others k Hk)); apply Rabs_le; lra.
  Qed.

  (** A weight moves by at most (hi - lo) / lo * w (1 - w). *)
  Theorem moved_weight_error lead others : Permutation keys (lead :: others) ->
    Rabs (moved_weight lead - p lead) <= (hi - lo) / lo * (p lead * (1 - p lead)).
  Proof.
    intros Hp; pose proof moved_total_between as [L U].
    pose proof (in_others Hp) as In_others; pose proof (in_lead _ _ Hp) as In_lead.
    pose proof (factors_between lead In_lead) as Fl; pose proof (weights_nonneg lead In_lead) as Pl.
    assert (X : moved_weight lead - p lead = p lead * sum others (fun k => p k * (f lead - f k)) / moved_total).
    { unfold moved_weight.
      rewrite (sum_ext others _ (fun k => p k * f lead - p k * f k)) by (intros; ring).
      rewrite sum_minus, sum_scal_r, (others_weight lead others Hp).
      replace (sum others (fun k => p k * f k)) with (moved_total - p lead * f lead)
        by (unfold moved_total; rewrite (split_lead _ _ _ Hp); cbv beta; ring).
      field; lra. }
    assert (S : Rabs (sum others (fun k => p k * (f lead - f k))) <= (hi - lo) * (1 - p lead)).
    { eapply Rle_trans; [apply sum_Rabs|]; rewrite <- (others_weight lead others Hp), <- sum_scal; apply sum_le.
      intros k Hk; pose proof (factors_between k (In_others k Hk)); pose proof (weights_nonneg k (In_others k Hk)).
      rewrite Rabs_mult, (Rabs_right (p k)), (Rmult_comm (hi - lo)) by lra.
      apply Rmult_le_compat_l; [assumption|apply Rabs_le; lra]. }
    rewrite X; unfold Rdiv; rewrite !Rabs_mult, (Rabs_right (p lead)), (Rabs_right (/ moved_total))
      by (try apply Rle_ge; try apply Rlt_le, Rinv_0_lt_compat; lra).
    replace ((hi - lo) * / lo * (p lead * (1 - p lead))) with (p lead * ((hi - lo) * (1 - p lead)) * / lo) by ring.
    apply Rmult_le_compat; [apply Rmult_le_pos; [assumption|apply Rabs_pos]|apply Rlt_le, Rinv_0_lt_compat; lra| |
      apply Rinv_le_contravar; lra].
    apply Rmult_le_compat_l; assumption.
  Qed.

  (** What is left for the others can be read off the weights that were computed. *)
  Theorem others_from_moved_weight lead others : Permutation keys (lead :: others) ->
    1 - p lead <= hi / lo * (1 - moved_weight lead).
  Proof.
    intros Hp; pose proof moved_total_between as [L U].
    pose proof (in_others Hp) as In_others.
    rewrite <- (others_weight lead others Hp).
    replace (1 - moved_weight lead) with (sum others (fun k => p k * f k) / moved_total)
      by (unfold moved_weight; replace (sum others (fun k => p k * f k)) with (moved_total - p lead * f lead)
            by (unfold moved_total; rewrite (split_lead _ _ _ Hp); cbv beta; ring); field; lra).
    assert (A : lo * sum others p <= sum others (fun k => p k * f k)).
    { rewrite <- sum_scal; apply sum_le; intros k Hk; rewrite Rmult_comm.
      apply Rmult_le_compat_l; [apply weights_nonneg; auto|apply factors_between; auto]. }
    assert (N : 0 <= sum others p) by (apply sum_nonneg; intros; apply weights_nonneg; auto).
    apply Rmult_le_reg_r with (lo * moved_total); [apply Rmult_lt_0_compat; lra|].
    replace (hi / lo * (sum others (fun k => p k * f k) / moved_total) * (lo * moved_total))
      with (hi * sum others (fun k => p k * f k)) by (field; lra).
    replace (sum others p * (lo * moved_total)) with (moved_total * (lo * sum others p)) by ring.
    assert (0 <= lo * sum others p) by (apply Rmult_le_pos; lra).
    apply Rmult_le_compat; lra.
  Qed.

  (** A quotient of computed sums, each known relative to its terms, and up to a from underflow: stage one of a
      certified output. The bound speaks of the moved means, which the computation has. *)
  Theorem certified_output v lead others g h a N S :
    Permutation keys (lead :: others) -> 0 <= g -> 0 <= h < 1 -> 0 <= a ->
    Rabs (N - sum keys (fun k => p k * f k * v k))
      <= g * sum keys (fun k => p k * f k * Rabs (v k)) + a * moved_total ->
    Rabs (S - moved_total) <= h * moved_total ->
    Rabs (N / S - weighted_mean v) <= (hi - lo) / lo * sum others (fun k => p k * Rabs (v k - weighted_mean v))
                             + (g * moved_mean (fun k => Rabs (v k)) + a + h * Rabs (moved_mean v)) / (1 - h).
  Proof.
    intros Hp Hg Hh Ha HN HS; pose proof moved_total_between as [L U].
    replace (N / S - weighted_mean v) with ((moved_mean v - weighted_mean v) + (N / S - moved_mean v)) by ring.
    apply Rabs_sum; [apply (moved_mean_error v lead others Hp)|].
    assert (PS : (1 - h) * moved_total <= S) by (pose proof (Rabs_bounds _ _ HS); lra).
    assert (PT : 0 < (1 - h) * moved_total) by (apply Rmult_lt_0_compat; lra).
    unfold moved_mean at 1 2 3; set (M := sum keys (fun k => p k * f k * v k)) in *.
    set (B := sum keys (fun k => p k * f k * Rabs (v k))) in *.
    replace (N / S - M / moved_total) with (((N - M) + M / moved_total * (moved_total - S)) / S) by (field; lra).
    unfold Rdiv at 1; rewrite Rabs_mult, (Rabs_right (/ S)) by (apply Rle_ge, Rlt_le, Rinv_0_lt_compat; lra).
    assert (T : Rabs (N - M + M / moved_total * (moved_total - S))
                <= g * B + a * moved_total + Rabs (M / moved_total) * (h * moved_total)).
    { apply Rabs_sum; [assumption|]; apply Rabs_product; [lra|rewrite Rabs_minus_sym; assumption]. }
    replace ((g * (B / moved_total) + a + h * Rabs (M / moved_total)) / (1 - h))
      with ((g * B + a * moved_total + Rabs (M / moved_total) * (h * moved_total)) * / ((1 - h) * moved_total))
      by (field; lra).
    apply Rmult_le_compat;
      [apply Rabs_pos|apply Rlt_le, Rinv_0_lt_compat; lra|exact T|apply Rinv_le_contravar; assumption].
  Qed.
End Reweighted.
