(** Biases that grow with the distance, and their slopes. *)
From Attest Require Export Softmax.

(** * The forms of the bias *)

Lemma IZR_of_nat n : IZR (Z.of_nat n) = INR n.
Proof. symmetry; apply INR_IZR_INZ. Qed.

(** POS.P7: two forms are equal at keys up to the query *)
Theorem distance_is_signed_at_earlier_keys mu p j : (Z.of_nat j <= p)%Z -> alibi distance mu p j = alibi signed mu p j.
Proof.
  intros H; unfold alibi; rewrite Z.abs_eq by lia; rewrite !minus_IZR; ring.
Qed.

(** the third is greater by the same number at every key *)
Theorem bias_by_key_is_signed_plus_a_constant mu p j : alibi_by_key mu j = alibi signed mu p j + mu * IZR p.
Proof. unfold alibi_by_key, alibi; rewrite minus_IZR, IZR_of_nat; ring. Qed.

Lemma softmax_of_forms keys mu p s j :
  (forall k, In k keys -> (Z.of_nat k <= p)%Z) -> In j keys ->
  softmax keys (fun k => s k + alibi distance mu p k) j = softmax keys (fun k => s k + alibi signed mu p k) j
  /\ softmax keys (fun k => s k + alibi_by_key mu k) j = softmax keys (fun k => s k + alibi signed mu p k) j.
Proof.
  intros H Hj; split.
  - apply softmax_ext; [|exact Hj]; intros k Hk; rewrite distance_is_signed_at_earlier_keys; auto.
  - rewrite <- (softmax_shift keys (fun k => s k + alibi signed mu p k) (mu * IZR p) j).
    apply softmax_ext; [|exact Hj]; intros k _; rewrite (bias_by_key_is_signed_plus_a_constant mu p); ring.
Qed.

Theorem alibi_forms_agree_under_causal n A mu p s j :
  (forall k, (k < n)%nat -> A k = true -> (Z.of_nat k <= p)%Z) ->
  let weights bias := masked_softmax n A (fun k => s k + bias k) j in
  weights (alibi distance mu p) = weights (alibi signed mu p)
  /\ weights (alibi_by_key mu) = weights (alibi signed mu p).
Proof.
  intros H weights; unfold weights, masked_softmax; destruct (guard_spec n A j) as [Hj|]; [|auto].
  apply softmax_of_forms; [|exact Hj]; intros k Hk; apply in_gathered in Hk; apply H; tauto.
Qed.

(** the form distance does not tell p from j; at later keys the form signed rewards distance *)
Theorem distance_is_symmetric mu i j : alibi distance mu (Z.of_nat i) j = alibi distance mu (Z.of_nat j) i.
Proof.
  unfold alibi; replace (Z.of_nat i - Z.of_nat j)%Z with (- (Z.of_nat j - Z.of_nat i))%Z by ring.
  rewrite Z.abs_opp; reflexivity.
Qed.

Theorem signed_has_the_opposite_sign_at_later_keys mu p j : (p <= Z.of_nat j)%Z ->
  alibi signed mu p j = - alibi distance mu p j.
Proof.
  intros H; unfold alibi; rewrite Z.abs_neq by lia; rewrite opp_IZR, !minus_IZR; ring.
Qed.

Theorem signed_rewards_distance_at_later_keys mu p j k : 0 < mu -> (p <= Z.of_nat j)%Z -> (j < k)%nat ->
  0 <= alibi signed mu p j < alibi signed mu p k.
Proof.
  intros Hm Hj Hk; unfold alibi; split.
  - apply Rmult_le_pos; [lra|]; apply IZR_le; lia.
  - apply Rmult_lt_compat_l; [exact Hm|]; apply IZR_lt; lia.
Qed.

(** not claimed for the log-sum-exp, which the third form shifts *)
Theorem bias_by_key_shifts_the_log_sum_exp keys mu p s : keys <> [] ->
  log_sum_exp keys (fun k => s k + alibi_by_key mu k)
  = log_sum_exp keys (fun k => s k + alibi signed mu p k) + mu * IZR p.
Proof.
  intros H; unfold log_sum_exp.
  rewrite (sum_ext keys (fun k => exp (s k + alibi_by_key mu k))
                        (fun k => exp ((s k + alibi signed mu p k) + mu * IZR p))).
  2: { intros k _; f_equal; rewrite (bias_by_key_is_signed_plus_a_constant mu p); ring. }
  rewrite sum_exp_shift, ln_mult, ln_exp; [ring|apply exp_pos|apply sum_exp_pos, H].
Qed.

(** * Slopes *)

Lemma greatest_power_of_two H : (0 < H)%nat -> (2 ^ Nat.log2 H <= H < 2 * 2 ^ Nat.log2 H)%nat.
Proof. intros P; pose proof (Nat.log2_spec H P) as S; simpl in S |- *; lia. Qed.

(** POS.P8 *)
Theorem slopes_of_a_power_of_two_are_the_first_rule k h :
  (h < 2 ^ k)%nat -> alibi_slope h (2 ^ k) = geometric_slope h (2 ^ k).
Proof.
  intros H; unfold alibi_slope; rewrite Nat.log2_pow2 by lia; rewrite (proj2 (Nat.ltb_lt _ _) H); reflexivity.
Qed.

Lemma geometric_slope_of_twice h H : (0 < H)%nat -> geometric_slope h H = geometric_slope (2 * h + 1) (2 * H).
Proof.
  intros P; unfold geometric_slope; f_equal.
  replace (8 * (2 * h + 1 + 1))%nat with (2 * (8 * (h + 1)))%nat by lia.
  rewrite !(mult_INR 2); simpl (INR 2); field; apply not_0_INR; lia.
Qed.

Lemma geometric_slope_injective g h H : (0 < H)%nat -> geometric_slope g H = geometric_slope h H -> g = h.
Proof.
  intros P E; unfold geometric_slope, Rpower in E; apply exp_inv in E.
  assert (L : 0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra).
  apply Rmult_eq_reg_r in E; [|lra].
  apply (Rmult_eq_compat_r (- INR H)) in E.
  assert (N : INR H <> 0) by (apply not_0_INR; lia).
  replace (- INR (8 * (g + 1)) / INR H * - INR H) with (INR (8 * (g + 1))) in E by (field; exact N).
  replace (- INR (8 * (h + 1)) / INR H * - INR H) with (INR (8 * (h + 1))) in E by (field; exact N).
  apply INR_eq in E; lia.
Qed.

(** POS.P10: the number of a slope among those of twice the power *)
Definition slope_number (h H : nat) : nat :=
  let P := (2 ^ Nat.log2 H)%nat in if (h <? P)%nat then 2 * h + 1 else 2 * (h - P).

Theorem slopes_are_slopes_of_twice_the_power h H : (h < H)%nat ->
  alibi_slope h H = geometric_slope (slope_number h H) (2 * 2 ^ Nat.log2 H)
  /\ (slope_number h H < 2 * 2 ^ Nat.log2 H)%nat.
Proof.
  intros L; pose proof (greatest_power_of_two H ltac:(lia)) as B.
  unfold alibi_slope, slope_number; destruct (Nat.ltb_spec h (2 ^ Nat.log2 H)) as [C|C]; split; try lia.
  - apply geometric_slope_of_twice; lia.
  - reflexivity.
Qed.

Theorem no_two_heads_have_the_same_slope g h H : (g < H)%nat -> (h < H)%nat -> g <> h ->
  slope_number g H <> slope_number h H /\ alibi_slope g H <> alibi_slope h H.
Proof.
  intros Hg Hh D.
  assert (N : slope_number g H <> slope_number h H).
  { unfold slope_number; cbv zeta.
    destruct (Nat.ltb_spec g (2 ^ Nat.log2 H)), (Nat.ltb_spec h (2 ^ Nat.log2 H)); lia. }
  split; [exact N|].
  destruct (slopes_are_slopes_of_twice_the_power g H Hg) as [-> _].
  destruct (slopes_are_slopes_of_twice_the_power h H Hh) as [-> _].
  pose proof (greatest_power_of_two H ltac:(lia)).
  intros E; apply geometric_slope_injective in E; [exact (N E)|lia].
Qed.

(** * Examples *)

Lemma power_of_two n : Rpower 2 (- INR n) = / 2 ^ n.
Proof. rewrite Rpower_Ropp, Rpower_pow by lra; reflexivity. Qed.

Lemma POS_E1 :
  map (fun h => alibi_slope h 8) (range 8) = [1/2; 1/4; 1/8; 1/16; 1/32; 1/64; 1/128; 1/256].
Proof.
  assert (S : forall h, (h < 8)%nat -> alibi_slope h 8 = / 2 ^ (h + 1)).
  { intros h H; change 8%nat with (2 ^ 3)%nat at 1; rewrite (slopes_of_a_power_of_two_are_the_first_rule 3 h H).
    unfold geometric_slope; rewrite <- power_of_two; f_equal.
    rewrite mult_INR; change (INR (2 ^ 3)) with (INR 8); field; apply not_0_INR; lia. }
  simpl (map _ _); rewrite !S by lia; simpl; repeat (apply (f_equal2 cons); [field|]); reflexivity.
Qed.

(** eight slopes as for eight heads, then four of the slopes of sixteen *)
Lemma POS_E2 :
  (forall h, (h < 8)%nat -> alibi_slope h 12 = alibi_slope h 8)
  /\ map (fun h => alibi_slope h 12) [8; 9; 10; 11]%nat
     = [Rpower 2 (-1/2); Rpower 2 (-3/2); Rpower 2 (-5/2); Rpower 2 (-7/2)].
Proof.
  split.
  - intros h H; unfold alibi_slope; change (2 ^ Nat.log2 12)%nat with 8%nat; change (2 ^ Nat.log2 8)%nat with 8%nat.
    reflexivity.
  - simpl; unfold alibi_slope; change (2 ^ Nat.log2 12)%nat with 8%nat; simpl; unfold geometric_slope.
    repeat (apply (f_equal2 cons); [f_equal; simpl; field|]); reflexivity.
Qed.
