(** Frequencies, and the sinusoidal encoding of a position. *)
From Attest Require Export Rotations.

(** * Frequencies *)

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

(** * The sinusoidal encoding *)

Lemma sinusoidal_pair p w base n :
  sinusoidal p w base (2 * n)%nat = sin (angle p n w base)
  /\ sinusoidal p w base (2 * n + 1)%nat = cos (angle p n w base).
Proof.
  unfold sinusoidal; rewrite Nat.even_add, !Nat.even_mul; simpl (Nat.even 2); simpl (Nat.even 1); simpl orb; simpl eqb.
  rewrite (Nat.mul_comm 2 n), Nat.div_mul, Nat.div_add_l, Nat.add_0_r by lia; auto.
Qed.

(** POS.P6 *)
Theorem sinusoidal_shift_is_linear p k w base c : Nat.even w = true -> (c < w)%nat ->
  sinusoidal (p + k) w base c
  = rotary interleaved (w / 2) (fun n => cos (angle k n w base)) (fun n => - sin (angle k n w base))
           (sinusoidal p w base) c.
Proof.
  intros E Hc; pose proof (twice_half w E) as W.
  destruct (channel_of_a_pair interleaved (w / 2) c ltac:(lia)) as [Hn [C|C]];
    set (n := pair_of interleaved (w / 2) c) in *; rewrite C;
    [rewrite rotary_first|rewrite rotary_second]; try exact Hn; unfold first_channel, second_channel;
    destruct (sinusoidal_pair p w base n) as [-> ->], (sinusoidal_pair (p + k) w base n) as [S1 S2];
    rewrite ?S1, ?S2, angle_plus, ?sin_plus, ?cos_plus; ring.
Qed.

(** * Examples *)

Lemma frequency_of_the_examples : frequency 1 4 10000 = 1 / 100.
Proof.
  unfold frequency; replace (- INR (2 * 1) / INR 4) with (- / 2) by (simpl; field).
  rewrite Rpower_Ropp, Rpower_sqrt by lra.
  replace 10000 with (100 * 100) by ring; rewrite sqrt_square by lra; unfold Rdiv; ring.
Qed.

Lemma angles_of_the_examples p : angle p 0 4 10000 = IZR p /\ angle p 1 4 10000 = IZR p / 100.
Proof.
  unfold angle; rewrite first_frequency_is_one, frequency_of_the_examples; split; unfold Rdiv; ring.
Qed.

Lemma POS_E4 :
  map (sinusoidal 0 4 10000) (range 4) = [0; 1; 0; 1]
  /\ map (sinusoidal 1 4 10000) (range 4) = [sin 1; cos 1; sin (1 / 100); cos (1 / 100)].
Proof.
  unfold sinusoidal; simpl (map _ _).
  destruct (angles_of_the_examples 0) as [-> ->], (angles_of_the_examples 1) as [-> ->].
  replace (0 / 100) with 0 by field; rewrite sin_0, cos_0; split; reflexivity.
Qed.

Lemma POS_E5 :
  let x c := nth c [1; 0; 1; 0; 7] 0 in
  let y c := nth c [1; 1; 0; 0; 7] 0 in
  map (rotary_at interleaved 4 10000 100 x) (range 5) = [cos 100; sin 100; cos 1; sin 1; 7]
  /\ map (rotary_at interleaved 4 10000 (-100) x) (range 5) = [cos 100; - sin 100; cos 1; - sin 1; 7]
  /\ map (rotary_at halves 4 10000 100 y) (range 5) = [cos 100; cos 1; sin 100; sin 1; 7].
Proof.
  unfold rotary_at, rotary; simpl (map _ _).
  destruct (angles_of_the_examples 100) as [-> ->], (angles_of_the_examples (-100)) as [-> ->].
  replace (-100 / 100) with (- (1)) by field; replace (100 / 100) with 1 by field.
  replace (-100) with (- (100)) by ring; rewrite !sin_neg, !cos_neg.
  repeat split; repeat (apply (f_equal2 cons); [ring|]); reflexivity.
Qed.
