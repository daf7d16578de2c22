(** Dropout: what it does to the weights and the output, on average and at its ends. Chance is an argument here: a
    finite list of outcomes, each with its probability and its kept mask. Then: how a seed makes a kept mask. *)
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

(** * From a seed to a kept mask: Philox with its known answers, words within their range, and what follows for masks. *)

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
