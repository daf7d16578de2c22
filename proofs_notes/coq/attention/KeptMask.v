(** From a seed to a kept mask: Philox with its known answers, words within their range, and what follows for masks. *)
From Attest Require Export Dropout.

(** ** Words *)

Definition is_word (x : Z) : Prop := (0 <= x < 2 ^ 32)%Z.

Lemma low_is_word x : is_word (low x).
Proof. apply Z.mod_pos_bound; reflexivity. Qed.

Lemma high_is_word x : is_word (high x).
Proof. apply Z.mod_pos_bound; reflexivity. Qed.

Lemma lxor_is_word x y : is_word x -> is_word y -> is_word (Z.lxor x y).
Proof.
  intros [Hx Ux] [Hy Uy]; split; [apply Z.lxor_nonneg; tauto|].
  destruct (Z.eq_dec (Z.lxor x y) 0) as [->|H]; [reflexivity|].
  assert (0 <= Z.lxor x y)%Z by (apply Z.lxor_nonneg; tauto).
  assert (L : forall z, (0 <= z < 2 ^ 32)%Z -> (Z.log2 z < 32)%Z).
  { intros z Hz; destruct (Z.eq_dec z 0) as [->|]; [reflexivity|]; apply Z.log2_lt_pow2; lia. }
  apply Z.log2_lt_pow2; [lia|]; pose proof (Z.log2_lxor x y Hx Hy).
  pose proof (L x); pose proof (L y); lia.
Qed.

Definition are_words (c : words) : Prop :=
  is_word (word0 c) /\ is_word (word1 c) /\ is_word (word2 c) /\ is_word (word3 c).

Lemma round_makes_words c k : are_words c -> is_word (fst k) -> is_word (snd k) -> are_words (philox_round c k).
Proof.
  intros (H0 & H1 & H2 & H3) Hk Hk'; repeat split; try apply low_is_word; try apply lxor_is_word; auto;
    apply lxor_is_word; auto using high_is_word.
Qed.

Lemma rounds_make_words n : forall c k, are_words c -> is_word (fst k) -> is_word (snd k) ->
  are_words (philox_rounds n c k).
Proof.
  induction n as [|n IH]; intros c k Hc Hk Hk'; [exact Hc|].
  simpl; apply IH; [apply round_makes_words; assumption|apply low_is_word|apply low_is_word].
Qed.

Theorem a_random_word_is_a_word seed n : is_word (random_word seed n).
Proof.
  unfold random_word.
  destruct (rounds_make_words 10 (Words (low (Z.of_nat (n / 4))) (high (Z.of_nat (n / 4))) 0 0) (low seed, high seed))
    as (H0 & H1 & H2 & H3); [|apply low_is_word|apply high_is_word|].
  - repeat split; simpl; try apply low_is_word; try apply high_is_word; lia.
  - fold (philox (Words (low (Z.of_nat (n / 4))) (high (Z.of_nat (n / 4))) 0 0) (low seed, high seed)) in *.
    destruct (n mod 4)%nat as [|[|[|m]]]; assumption.
Qed.

(** ** No two counters give the same words (DRP.D1) *)

Lemma multiplication_is_injective m inverse x y : low (inverse * m) = 1%Z -> is_word x -> is_word y ->
  low (m * x) = low (m * y) -> x = y.
Proof.
  unfold low; intros Hi Hx Hy H.
  assert (E : forall z, is_word z -> ((inverse * ((m * z) mod 2 ^ 32)) mod 2 ^ 32 = z)%Z).
  { intros z Hz; rewrite Zmult_mod_idemp_r, Z.mul_assoc, <- Zmult_mod_idemp_l, Hi, Z.mul_1_l.
    apply Z.mod_small, Hz. }
  rewrite <- (E x Hx), <- (E y Hy), H; reflexivity.
Qed.

Lemma lxor_injective a x y : Z.lxor a x = Z.lxor a y -> x = y.
Proof.
  intros H; rewrite <- (Z.lxor_0_l x), <- (Z.lxor_0_l y), <- (Z.lxor_nilpotent a), !Z.lxor_assoc, H; reflexivity.
Qed.

(** 0xCD9E8D57 and 0xD2511F53 are odd, so they have inverses modulo 2^32 *)
Lemma round_is_injective c c' k : are_words c -> are_words c' -> philox_round c k = philox_round c' k -> c = c'.
Proof.
  intros (H0 & H1 & H2 & H3) (H0' & H1' & H2' & H3') E; unfold philox_round in E; injection E as E0 E1 E2 E3.
  assert (X2 : word2 c = word2 c') by (eapply (multiplication_is_injective 0xCD9E8D57 0x6d7cae67); eauto).
  assert (X0 : word0 c = word0 c') by (eapply (multiplication_is_injective 0xD2511F53 0x991a7cdb); eauto).
  rewrite X2 in E0; rewrite X0 in E2.
  rewrite !Z.lxor_assoc in E0, E2; apply lxor_injective in E0, E2.
  rewrite !(Z.lxor_comm _ (fst k)) in E0; rewrite !(Z.lxor_comm _ (snd k)) in E2; apply lxor_injective in E0, E2.
  destruct c, c'; simpl in *; congruence.
Qed.

Theorem philox_is_injective c c' k : are_words c -> are_words c' -> is_word (fst k) -> is_word (snd k) ->
  philox c k = philox c' k -> c = c'.
Proof.
  unfold philox; generalize 10%nat as n; intros n; revert c c' k.
  induction n as [|n IH]; intros c c' k Hc Hc' Hk Hk' H; [exact H|].
  apply (round_is_injective c c' k); auto; simpl in H.
  refine (IH _ _ _ _ _ _ _ H); auto using round_makes_words; apply low_is_word.
Qed.

(** ** Kept masks *)

Definition entries (shape : list nat) : nat := fold_right Nat.mul 1%nat shape.

Lemma kept_mask_entry seed p shape n d : (n < entries shape)%nat ->
  nth n (kept_mask seed p shape) d = is_kept (random_word seed n) p.
Proof.
  intros H; unfold kept_mask; fold (entries shape).
  rewrite (nth_indep _ d (is_kept (random_word seed 0) p))
    by (rewrite map_length; unfold range; rewrite seq_length; exact H).
  rewrite (map_nth (fun n => is_kept (random_word seed n) p)); unfold range; rewrite seq_nth by exact H; reflexivity.
Qed.

Lemma is_kept_spec x p : is_kept x p = true <-> p <= IZR x / 2 ^ 32.
Proof. unfold is_kept; destruct (Rle_dec _ _); split; intros; try discriminate; tauto. Qed.

(** DRP.P3 *)
Theorem an_entry_depends_on_seed_and_index_only seed p shape shape' n d :
  (n < entries shape)%nat -> (n < entries shape')%nat ->
  nth n (kept_mask seed p shape) d = nth n (kept_mask seed p shape') d.
Proof. intros H H'; rewrite !kept_mask_entry by assumption; reflexivity. Qed.

(** DRP.P3 *)
Theorem mask_of_a_larger_batch_begins_with_that_of_the_smaller seed p B B' shape : (B <= B')%nat ->
  firstn (entries (B :: shape)) (kept_mask seed p (B' :: shape)) = kept_mask seed p (B :: shape).
Proof.
  intros H; unfold kept_mask; fold (entries (B :: shape)); fold (entries (B' :: shape)).
  assert (L : (entries (B :: shape) <= entries (B' :: shape))%nat) by (simpl; apply Nat.mul_le_mono_r, H).
  rewrite firstn_map; f_equal; unfold range.
  replace (entries (B' :: shape))
    with (entries (B :: shape) + (entries (B' :: shape) - entries (B :: shape)))%nat by lia.
  rewrite seq_app, firstn_app, seq_length, Nat.sub_diag, firstn_O, app_nil_r, firstn_all2; [reflexivity|].
  rewrite seq_length; lia.
Qed.

Lemma share_of_a_word x : is_word x -> 0 <= IZR x / 2 ^ 32 < 1.
Proof.
  intros [L U]; replace (2 ^ 32) with (IZR (2 ^ 32)) by (simpl; lra).
  apply IZR_le in L; apply IZR_lt in U; assert (P : 0 < IZR (2 ^ 32)) by (apply IZR_lt; reflexivity).
  split; [apply Rmult_le_pos; [exact L|apply Rlt_le, Rinv_0_lt_compat, P]|].
  apply Rmult_lt_reg_r with (IZR (2 ^ 32)); [exact P|]; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
Qed.

(** DRP.P5 *)
Theorem probability_one_keeps_nothing_and_zero_keeps_everything seed shape n :
  (n < entries shape)%nat ->
  nth n (kept_mask seed 1 shape) true = false /\ nth n (kept_mask seed 0 shape) false = true /\
  forall w kept, dropout w 1 kept true = 0.
Proof.
  intros Hn; destruct (share_of_a_word _ (a_random_word_is_a_word seed n)) as [L U].
  rewrite !kept_mask_entry by exact Hn; split; [|split].
  - destruct (is_kept (random_word seed n) 1) eqn:E; [apply is_kept_spec in E; lra|reflexivity].
  - apply is_kept_spec, L.
  - intros; apply kept_weight_at_one.
Qed.

(** DRP.P1 *)
Theorem dropout_with_probability_zero_is_the_identity seed shape n w training :
  (n < entries shape)%nat -> dropout w 0 (nth n (kept_mask seed 0 shape) false) training = w.
Proof.
  intros Hn; destruct (probability_one_keeps_nothing_and_zero_keeps_everything seed shape n Hn) as (_ & -> & _).
  destruct training; [|reflexivity]; simpl; rewrite kept_weight_below_one by lra; field.
Qed.

(** ** Known answers *)

Lemma DRP_E1 :
  philox (Words 0 0 0 0) (0, 0)%Z = Words 0x6627e8d5 0xe169c58d 0xbc57ac4c 0x9b00dbd8 /\
  philox (Words 0xffffffff 0xffffffff 0xffffffff 0xffffffff) (0xffffffff, 0xffffffff)%Z =
    Words 0x408f276d 0x41c83b0e 0xa20bc7c6 0x6d5451fd /\
  philox (Words 0x243f6a88 0x85a308d3 0x13198a2e 0x03707344) (0xa4093822, 0x299f31d0)%Z =
    Words 0xd16cfe09 0x94fdcceb 0x5001e420 0x24126ea1.
Proof. repeat split; vm_compute; reflexivity. Qed.

Lemma DRP_E2 :
  kept_mask 0 (1 / 2) [4%nat] = [false; true; true; true] /\
  map (fun r => dropout (1 / 4) (1 / 2) r true) (kept_mask 0 (1 / 2) [4%nat]) = [0; 1 / 2; 1 / 2; 1 / 2].
Proof.
  assert (E : kept_mask 0 (1 / 2) [4%nat] = [false; true; true; true]).
  { change (map (fun x => is_kept x (1 / 2)) (map (random_word 0) (range 4)) = [false; true; true; true]).
    replace (map (random_word 0) (range 4)) with [0x6627e8d5; 0xe169c58d; 0xbc57ac4c; 0x9b00dbd8]%Z
      by (vm_compute; reflexivity).
    simpl map; unfold is_kept; repeat f_equal;
      destruct (Rle_dec _ _) as [H|H]; try reflexivity; exfalso; simpl in H; lra. }
  rewrite E; split; [reflexivity|]; simpl; rewrite !kept_weight_below_one by lra.
  replace (1 / 4 / (1 - 1 / 2)) with (1 / 2) by field; reflexivity.
Qed.
