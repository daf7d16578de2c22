(** Rotary embeddings: what a rotation keeps, how it depends on the position, and what the pairing changes. *)
From Attest Require Export Sums.

(** * Angles *)

Lemma angle_plus p q n w base : angle (p + q) n w base = angle p n w base + angle q n w base.
Proof. unfold angle; rewrite plus_IZR; ring. Qed.

Lemma angle_zero n w base : angle 0 n w base = 0.
Proof. unfold angle; ring. Qed.

(** * Pairs of channels *)

Lemma pair_of_first m pairs n : (n < pairs)%nat -> pair_of m pairs (first_channel m pairs n) = n.
Proof.
  intros H; destruct m; unfold pair_of, first_channel; [apply Nat.mod_small, H|].
  rewrite Nat.mul_comm; apply Nat.div_mul; lia.
Qed.

Lemma pair_of_second m pairs n : (n < pairs)%nat -> pair_of m pairs (second_channel m pairs n) = n.
Proof.
  intros H; destruct m; unfold pair_of, second_channel.
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
  intros H; destruct m; unfold pair_of, first_channel, second_channel.
  - destruct (Nat.lt_ge_cases c pairs) as [L|G].
    + rewrite Nat.mod_small by exact L; auto.
    + replace (c mod pairs) with (c - pairs)%nat; [lia|].
      apply (Nat.mod_unique _ _ 1); lia.
  - pose proof (Nat.div_mod_eq c 2) as E; pose proof (Nat.mod_upper_bound c 2 ltac:(lia)) as B.
    lia.
Qed.

Lemma sum_seq_shift k len : forall s f, sum (seq (s + k) len) f = sum (seq s len) (fun n => f (n + k)%nat).
Proof. induction len as [|len IH]; intros s f; simpl; [reflexivity|]; f_equal; apply (IH (S s)). Qed.

(** the channels below 2 * pairs are the channels of the pairs *)
Lemma sum_pairs m pairs f :
  sum (range (2 * pairs)) f
  = sum (range pairs) (fun n => f (first_channel m pairs n) + f (second_channel m pairs n)).
Proof.
  destruct m; unfold first_channel, second_channel.
  - replace (2 * pairs)%nat with (pairs + pairs)%nat by lia.
    unfold range; rewrite seq_app, sum_app, sum_plus; f_equal; apply (sum_seq_shift pairs pairs 0).
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

(** two rows are equal if they agree on the pairs and on the rest *)
Lemma row_by_pairs m pairs (x y : row) :
  (forall n, (n < pairs)%nat -> x (first_channel m pairs n) = y (first_channel m pairs n)
                                /\ x (second_channel m pairs n) = y (second_channel m pairs n)) ->
  (forall c, (2 * pairs <= c)%nat -> x c = y c) ->
  forall c, x c = y c.
Proof.
  intros P Q c; destruct (Nat.lt_ge_cases c (2 * pairs)) as [H|H]; [|apply Q, H].
  destruct (channel_of_a_pair m pairs c H) as [Hn [E|E]]; rewrite E; apply P, Hn.
Qed.

(** POS.P9 *)
Theorem cached_rotary_equals_rotary_at m r base p x :
  forall c, cached_rotary m r (cached_cosines r base) (cached_sines r base) p x c
            = rotary_at m r base (Z.of_nat p) x c.
Proof. reflexivity. Qed.

(** POS.P5 *)
Theorem rotary_at_position_zero_is_the_identity m r base x c : rotary_at m r base 0 x c = x c.
Proof.
  revert c; unfold rotary_at; apply (row_by_pairs m (r / 2)).
  - intros n Hn; rewrite rotary_first, rotary_second, angle_zero, cos_0, sin_0 by exact Hn; split; ring.
  - intros c Hc; apply partial_rotary_leaves_the_rest, Hc.
Qed.

(** * Dot products and norms *)

(** what the pairs contribute to the dot product of two rotated rows *)
Lemma dot_of_rotated_rows m pairs d cosines sines cosines' sines' x y : (2 * pairs <= d)%nat ->
  dot d (rotary m pairs cosines sines x) (rotary m pairs cosines' sines' y)
  = sum (range pairs) (fun n =>
      let x1 := x (first_channel m pairs n) in let x2 := x (second_channel m pairs n) in
      let y1 := y (first_channel m pairs n) in let y2 := y (second_channel m pairs n) in
      (x1 * y1 + x2 * y2) * (cosines n * cosines' n + sines n * sines' n)
      + (x1 * y2 - x2 * y1) * (sines n * cosines' n - cosines n * sines' n))
    + sum (seq (2 * pairs) (d - 2 * pairs)) (fun c => x c * y c).
Proof.
  intros H; unfold dot; rewrite (sum_range_split (2 * pairs) d _ H), (sum_pairs m); f_equal; apply sum_ext.
  - intros n Hn; apply in_range in Hn; rewrite !rotary_first, !rotary_second by exact Hn; cbv zeta; ring.
  - intros c Hc; apply in_seq in Hc; rewrite !partial_rotary_leaves_the_rest by lia; reflexivity.
Qed.

Lemma twice_half r : Nat.even r = true -> (2 * (r / 2) = r)%nat.
Proof. intros H; apply Nat.even_spec in H; destruct H as [k ->]; rewrite (Nat.mul_comm 2 k), Nat.div_mul; lia. Qed.

(** POS.P2 *)
Theorem scores_depend_on_position_differences_only m r d base q k p t s :
  Nat.even r = true -> (r <= d)%nat ->
  dot d (rotary_at m r base p q) (rotary_at m r base t k)
  = dot d (rotary_at m r base (p + s) q) (rotary_at m r base (t + s) k).
Proof.
  intros E H; unfold rotary_at; rewrite !dot_of_rotated_rows by (rewrite twice_half; assumption).
  f_equal; apply sum_ext; intros n _; cbv zeta.
  rewrite <- !cos_minus, <- !sin_minus, !angle_plus.
  replace (_ + angle s n r base - _) with (angle p n r base - angle t n r base) by ring; reflexivity.
Qed.

(** POS.P1 *)
Theorem rotary_preserves_norms m r d base p x : Nat.even r = true -> (r <= d)%nat ->
  let y := rotary_at m r base p x in sqrt (dot d y y) = sqrt (dot d x x).
Proof.
  intros E H y; f_equal; unfold y.
  rewrite <- (Z.add_0_l p) at 1 2; rewrite <- scores_depend_on_position_differences_only by assumption.
  apply sum_ext; intros c _; rewrite !rotary_at_position_zero_is_the_identity; reflexivity.
Qed.

Theorem rotary_preserves_the_norm_of_a_pair m r base p x n : (n < r / 2)%nat ->
  let y := rotary_at m r base p x in
  let first := first_channel m (r / 2) n in
  let second := second_channel m (r / 2) n in
  sqrt (y first ^ 2 + y second ^ 2) = sqrt (x first ^ 2 + x second ^ 2).
Proof.
  intros H y first second; f_equal; unfold y, rotary_at, first, second.
  rewrite rotary_first, rotary_second by exact H; set (a := angle p n r base).
  replace (x _ ^ 2 + x _ ^ 2) with
    ((Rsqr (sin a) + Rsqr (cos a)) * (x (first_channel m (r / 2) n) ^ 2 + x (second_channel m (r / 2) n) ^ 2))
    by (rewrite sin2_cos2; ring).
  unfold Rsqr; ring.
Qed.

(** a rotation is a linear map of the row *)
Theorem rotary_is_linear m pairs cosines sines a b x y c :
  rotary m pairs cosines sines (fun c => a * x c + b * y c) c
  = a * rotary m pairs cosines sines x c + b * rotary m pairs cosines sines y c.
Proof. unfold rotary; destruct (2 * pairs <=? c)%nat; [reflexivity|]; destruct (Nat.eqb _ _); simpl; ring. Qed.

(** * One pairing is the other, with the channels in another order *)

(** the even channels of the first 2 * pairs before the odd ones, and the rest as it is *)
Definition evens_first (pairs : nat) (x : row) : row := fun c =>
  if (c <? pairs)%nat then x (2 * c)%nat else if (c <? 2 * pairs)%nat then x (2 * (c - pairs) + 1)%nat else x c.

Lemma evens_first_at pairs x n : (n < pairs)%nat ->
  evens_first pairs x n = x (2 * n)%nat /\ evens_first pairs x (n + pairs)%nat = x (2 * n + 1)%nat.
Proof.
  intros H; unfold evens_first; rewrite (proj2 (Nat.ltb_lt n pairs) H); split; [reflexivity|].
  rewrite (proj2 (Nat.ltb_ge _ _)), (proj2 (Nat.ltb_lt _ _)), Nat.add_sub by lia; reflexivity.
Qed.

Lemma evens_first_rest pairs x c : (2 * pairs <= c)%nat -> evens_first pairs x c = x c.
Proof. intros H; unfold evens_first; rewrite !(proj2 (Nat.ltb_ge _ _)) by lia; reflexivity. Qed.

(** POS.P4 *)
Theorem interleaved_is_halves_of_permuted_channels pairs cosines sines x c :
  rotary halves pairs cosines sines (evens_first pairs x) c
  = evens_first pairs (rotary interleaved pairs cosines sines x) c.
Proof.
  revert c; apply (row_by_pairs halves pairs).
  - intros n Hn; rewrite rotary_first, rotary_second by exact Hn; simpl first_channel; simpl second_channel.
    destruct (evens_first_at pairs x n Hn) as [-> ->].
    destruct (evens_first_at pairs (rotary interleaved pairs cosines sines x) n Hn) as [-> ->].
    pose proof (rotary_first interleaved pairs cosines sines x n Hn) as F.
    pose proof (rotary_second interleaved pairs cosines sines x n Hn) as G.
    unfold first_channel, second_channel in F, G; rewrite F, G; split; reflexivity.
  - intros c Hc; rewrite partial_rotary_leaves_the_rest, !evens_first_rest, partial_rotary_leaves_the_rest by exact Hc.
    reflexivity.
Qed.

Theorem permuted_channels_have_equal_scores pairs d q k : (2 * pairs <= d)%nat ->
  dot d (evens_first pairs q) (evens_first pairs k) = dot d q k.
Proof.
  intros H; unfold dot; rewrite !(sum_range_split (2 * pairs) d _ H); f_equal.
  - rewrite (sum_pairs halves), (sum_pairs interleaved); apply sum_ext; intros n Hn; apply in_range in Hn.
    unfold first_channel, second_channel.
    destruct (evens_first_at pairs q n Hn) as [-> ->], (evens_first_at pairs k n Hn) as [-> ->]; reflexivity.
  - apply sum_ext; intros c Hc; apply in_seq in Hc; rewrite !evens_first_rest by lia; reflexivity.
Qed.

Theorem pairings_have_equal_scores pairs d cosines sines cosines' sines' q k : (2 * pairs <= d)%nat ->
  dot d (rotary halves pairs cosines sines (evens_first pairs q))
        (rotary halves pairs cosines' sines' (evens_first pairs k))
  = dot d (rotary interleaved pairs cosines sines q) (rotary interleaved pairs cosines' sines' k).
Proof.
  intros H; rewrite <- (permuted_channels_have_equal_scores pairs d (rotary interleaved _ _ _ _)) by exact H.
  apply sum_ext; intros c _; rewrite !interleaved_is_halves_of_permuted_channels; reflexivity.
Qed.

(** permuting the columns of a projection permutes the channels of its rows *)
Theorem permuted_columns_give_permuted_channels pairs I W b X s c :
  affine I (fun m => evens_first pairs (W m)) (option_map (evens_first pairs) b) X s c
  = evens_first pairs (affine I W b X s) c.
Proof.
  unfold affine; destruct b; simpl option_map; unfold evens_first;
    destruct (c <? pairs)%nat, (c <? 2 * pairs)%nat; reflexivity.
Qed.

Lemma POS_E3 :
  let x c := nth c [1; 2; 3; 4; 5] 0 in
  let cosines n := nth n [0; 3/5] 0 in
  let sines n := nth n [1; 4/5] 0 in
  map (rotary halves 2 cosines sines x) (range 5) = [-3; -2; 1; 4; 5]
  /\ map (rotary interleaved 2 cosines sines x) (range 5) = [-2; 1; -7/5; 24/5; 5].
Proof. split; unfold rotary; simpl; repeat (apply (f_equal2 cons); [lra|]); reflexivity. Qed.
