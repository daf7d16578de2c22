(** Encodings and rotations: what a rotation keeps, and how it depends on the position. *)
From Attest Require Export Sums.

(** * Frequencies and angles *)

Lemma first_frequency_is_one w base : frequency 0 w base = 1.
Proof.
  unfold frequency, Rpower; simpl; rewrite Ropp_0; unfold Rdiv; rewrite !Rmult_0_l; apply exp_0.
Qed.

(** POS.P11 *)
Theorem frequencies_are_a_geometric_sequence m n w base :
  frequency m w base * frequency n w base = frequency (m + n) w base.
Proof.
  unfold frequency; rewrite <- Rpower_plus; f_equal.
  rewrite Nat.mul_add_distr_l, plus_INR; unfold Rdiv; ring.
Qed.

Theorem frequency_after_the_last_is_one_over_base w base :
  (0 < w)%nat -> Nat.even w = true -> 0 < base -> frequency (w / 2) w base = 1 / base.
Proof.
  intros Hw He Hb; apply Nat.even_spec in He; destruct He as [k ->].
  rewrite Nat.mul_comm, Nat.div_mul by lia; unfold frequency; rewrite (Nat.mul_comm k 2).
  replace (- INR (2 * k) / INR (2 * k)) with (Ropp 1) by (field; apply not_0_INR; lia).
  rewrite Rpower_Ropp, Rpower_1 by assumption; unfold Rdiv; ring.
Qed.

Lemma angle_plus p q n w base : angle (p + q) n w base = angle p n w base + angle q n w base.
Proof. unfold angle; rewrite plus_IZR; ring. Qed.

Lemma angle_zero n w base : angle 0 n w base = 0.
Proof. unfold angle; ring. Qed.

(** * Pairs of channels *)

Ltac pairs_cases := unfold pair_of, first_channel, second_channel in *.

Lemma pair_of_first m pairs n : (n < pairs)%nat -> pair_of m pairs (first_channel m pairs n) = n.
Proof.
  intros H; destruct m; simpl pair_of; simpl first_channel; [apply Nat.mod_small, H|].
  rewrite Nat.mul_comm; apply Nat.div_mul; lia.
Qed.

Lemma pair_of_second m pairs n : (n < pairs)%nat -> pair_of m pairs (second_channel m pairs n) = n.
Proof.
  intros H; destruct m; simpl.
  - replace (n + pairs)%nat with (n + 1 * pairs)%nat by lia; rewrite Nat.mod_add by lia; apply Nat.mod_small, H.
  - symmetry; apply (Nat.div_unique _ 2 n 1); lia.
Qed.

Lemma channels_below m pairs n :
  (n < pairs)%nat -> (first_channel m pairs n < 2 * pairs)%nat /\ (second_channel m pairs n < 2 * pairs)%nat.
Proof. destruct m; simpl; lia. Qed.

Lemma channels_differ m pairs n : (n < pairs)%nat -> second_channel m pairs n <> first_channel m pairs n.
Proof. destruct m; simpl; lia. Qed.

(** a channel that is rotated is the first or the second of its pair *)
Lemma channel_of_a_pair m pairs c : (c < 2 * pairs)%nat ->
  let n := pair_of m pairs c in
  (n < pairs)%nat /\ (c = first_channel m pairs n \/ c = second_channel m pairs n).
Proof.
  intros H; destruct m; simpl pair_of.
  - destruct (Nat.lt_ge_cases c pairs) as [L|G].
    + rewrite Nat.mod_small by exact L; simpl; auto.
    + replace (c mod pairs) with (c - pairs)%nat; [simpl; lia|].
      apply (Nat.mod_unique _ _ 1); lia.
  - pose proof (Nat.div_mod_eq c 2) as E; pose proof (Nat.mod_upper_bound c 2 ltac:(lia)) as B.
    simpl first_channel; simpl second_channel; lia.
Qed.

(** the channels below 2 * pairs are the channels of the pairs *)
Lemma sum_pairs m pairs f :
  sum (range (2 * pairs)) f
  = sum (range pairs) (fun n => f (first_channel m pairs n) + f (second_channel m pairs n)).
Proof.
  destruct m; simpl first_channel; simpl second_channel.
  - replace (2 * pairs)%nat with (pairs + pairs)%nat by lia.
    unfold range; rewrite seq_app, sum_app, sum_plus; f_equal; simpl.
    rewrite <- (Nat.add_0_r pairs) at 1; generalize 0%nat as s; generalize pairs at 2 4 as len.
    induction len as [|len IH]; intros s; [reflexivity|].
    simpl; rewrite Nat.add_succ_r at 1; f_equal; [f_equal; lia|]. rewrite <- IH; f_equal; f_equal; lia.
  - induction pairs as [|k IH]; [reflexivity|].
    replace (2 * S k)%nat with (S (S (2 * k))) by lia.
    unfold range in *; rewrite !seq_S, !sum_app, IH; simpl.
    replace (k + (k + 0) + 1)%nat with (S (k + (k + 0))) by lia; ring.
Qed.

Lemma sum_range_split k n f : (k <= n)%nat -> sum (range n) f = sum (range k) f + sum (seq k (n - k)) f.
Proof. intros H; unfold range; replace n with (k + (n - k))%nat at 1 by lia; rewrite seq_app, sum_app; reflexivity. Qed.

(** * What rotary does to each channel *)

Section Rotary.
  Variables (m : pairing) (pairs : nat) (cosines sines : row).

  Lemma rotary_first x n : (n < pairs)%nat ->
    rotary m pairs cosines sines x (first_channel m pairs n)
    = x (first_channel m pairs n) * cosines n - x (second_channel m pairs n) * sines n.
  Proof.
    intros H; pose proof (channels_below m pairs n H) as [F _]; unfold rotary.
    rewrite (proj2 (Nat.leb_gt _ _) F), pair_of_first, Nat.eqb_refl by exact H; reflexivity.
  Qed.

  Lemma rotary_second x n : (n < pairs)%nat ->
    rotary m pairs cosines sines x (second_channel m pairs n)
    = x (first_channel m pairs n) * sines n + x (second_channel m pairs n) * cosines n.
  Proof.
    intros H; pose proof (channels_below m pairs n H) as [_ F]; unfold rotary.
    rewrite (proj2 (Nat.leb_gt _ _) F), pair_of_second by exact H.
    rewrite (proj2 (Nat.eqb_neq _ _) (channels_differ m pairs n H)); reflexivity.
  Qed.

  (** POS.P3 *)
  Theorem partial_rotary_leaves_the_rest x c : (2 * pairs <= c)%nat -> rotary m pairs cosines sines x c = x c.
  Proof. intros H; unfold rotary; rewrite (proj2 (Nat.leb_le _ _) H); reflexivity. Qed.

  Theorem rotated_channels_do_not_depend_on_the_rest x y :
    (forall c, (c < 2 * pairs)%nat -> x c = y c) ->
    forall c, (c < 2 * pairs)%nat -> rotary m pairs cosines sines x c = rotary m pairs cosines sines y c.
  Proof.
    intros H c Hc; destruct (channel_of_a_pair m pairs c Hc) as [Hn [E|E]];
      pose proof (channels_below m pairs _ Hn) as [F G]; rewrite E;
      [rewrite !rotary_first|rewrite !rotary_second]; try exact Hn; rewrite (H _ F), (H _ G); reflexivity.
  Qed.
End Rotary.
