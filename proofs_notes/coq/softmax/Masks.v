(** Visible sets: the rules, the converters and the alignments, and what a hidden key is. *)
From Attest Require Export Softmax.
Require Import Sorted.

(** ** What the rules say *)

(** MSK.D1 to MSK.D5: each test is the comparison that its rule is *)
Lemma causal_spec p j : causal p j = true <-> (Z.of_nat j <= p)%Z.
Proof. apply Z.leb_le. Qed.

Lemma window_spec p l r j :
  window p (Some l) (Some r) j = true <-> (p - l <= Z.of_nat j <= p + r)%Z.
Proof. unfold window; rewrite andb_true_iff, !Z.leb_le; reflexivity. Qed.

Lemma absent_sides_do_not_restrict p j : window p None None j = true.
Proof. reflexivity. Qed.

Lemma within_length_spec j n : within_length j n = true <-> (j < n)%nat.
Proof. apply Nat.ltb_lt. Qed.

Lemma same_document_spec x y : same_document x y = true <-> x = y.
Proof. apply Z.eqb_eq. Qed.

(** MSK.D7 *)
Lemma all_of_spec rules : all_of rules = true <-> forall x, In x rules -> x = true.
Proof. unfold all_of; rewrite forallb_forall; reflexivity. Qed.

(** MSK.D13: an absent rule lets every key through *)
Lemma no_rules_hide_nothing o i j :
  is_visible (Rules o false None None None None None None None None None) i j = true.
Proof. reflexivity. Qed.

(** MSK.D14: the visible keys, each once, in increasing order *)
Lemma gathered_increases n A : StronglySorted lt (gathered n A).
Proof.
  unfold gathered, range; generalize 0%nat; induction n as [|n IH]; intros a; simpl; [constructor|].
  destruct (A a); [|apply IH]; constructor; [apply IH|].
  apply Forall_forall; intros j Hj; apply filter_In in Hj; destruct Hj as [Hj _]; apply in_seq in Hj; lia.
Qed.

(** ** Properties *)

(** MSK.P1, for query i of Sq queries at offset o *)
Theorem window_with_full_left_and_no_right_is_causal Sq i j (o left : Z) :
  (i < Sq)%nat -> (left >= o + Z.of_nat Sq - 1)%Z ->
  window (Z.of_nat i + o) (Some left) (Some 0%Z) j = causal (Z.of_nat i + o) j.
Proof.
  intros Hi Hl; apply eq_iff_eq_true; rewrite window_spec, causal_spec; lia.
Qed.

(** MSK.P2: a mask written as hidden, as ones and zeros, and as numbers to be added *)
Theorem mask_converters_agree v :
  visible_from_hidden (negb v) = v /\
  visible_from_ones (if v then 1 else 0)%Z = v /\
  visible_from_additive (if v then Finite 0 else MinusInfinity) = v.
Proof. destruct v; repeat split; reflexivity. Qed.

(** MSK.D11: a finite number is a bias, and hides nothing *)
Lemma finite_numbers_are_visible x : visible_from_additive (Finite x) = true.
Proof. reflexivity. Qed.

(** MSK.P3, entry by entry; so a call's rules may stand in any order, and any number of times *)
Theorem intersection_is_commutative_associative_idempotent x y z :
  all_of [x; y] = all_of [y; x] /\ all_of [all_of [x; y]; z] = all_of [x; all_of [y; z]] /\ all_of [x; x] = x.
Proof. destruct x, y, z; repeat split; reflexivity. Qed.

Theorem rules_may_stand_in_any_order_and_number rules rules' :
  (forall x, In x rules <-> In x rules') -> all_of rules = all_of rules'.
Proof.
  intros H; apply eq_iff_eq_true; rewrite !all_of_spec; split; intros G x Hx; apply G, H, Hx.
Qed.

(** MSK.P4 *)
Theorem alignments_agree_when_square a S : offset_of a S S None None 0 0 = 0%Z.
Proof. destruct a; unfold offset_of, length_or; lia. Qed.

(** MSK.P6; and the number of keys of a window that has both its ends among the keys *)
Theorem window_is_the_difference_of_two_causal_sets p j l r :
  window p (Some l) (Some r) j = causal (p + r) j && negb (causal (p - l - 1) j).
Proof.
  apply eq_iff_eq_true; rewrite window_spec, andb_true_iff, negb_true_iff, <- not_true_iff_false, !causal_spec; lia.
Qed.

Lemma filter_range_between a n (A : visible_set) : (a <= n)%nat -> forall m, (a + m <= n)%nat ->
  (forall j, (j < n)%nat -> (A j = true <-> (a <= j < a + m)%nat)) -> gathered n A = seq a m.
Proof.
  intros Ha m Hm H; unfold gathered, range.
  assert (G : forall l (b : bool), (forall j, In j l -> A j = b) -> filter A l = if b then l else []).
  { induction l as [|x l IH]; intros b K; simpl; [destruct b; reflexivity|].
    rewrite (K x (or_introl eq_refl)), (IH b (fun j h => K j (or_intror h))); destruct b; reflexivity. }
  replace n with (a + (m + (n - a - m)))%nat by lia; rewrite !seq_app, !filter_app; simpl.
  rewrite (G _ false), (G _ true), (G _ false); [apply app_nil_r| | |]; intros j Hj; apply in_seq in Hj.
  - apply not_true_is_false; rewrite H by lia; lia.
  - apply H; lia.
  - apply not_true_is_false; rewrite H by lia; lia.
Qed.

Theorem a_window_shows_left_one_right_keys n p l r :
  (0 <= l)%Z -> (0 <= r)%Z -> (0 <= p - l)%Z -> (p + r < Z.of_nat n)%Z ->
  Z.of_nat (length (gathered n (window p (Some l) (Some r)))) = (l + 1 + r)%Z.
Proof.
  intros Hl Hr H0 Hn; rewrite (filter_range_between (Z.to_nat (p - l)) n _ ltac:(lia) (Z.to_nat (l + 1 + r))).
  - rewrite seq_length; lia.
  - lia.
  - intros j Hj; rewrite window_spec; lia.
Qed.

(** ** A hidden bias *)

Definition with_bias (m : rules) (b : nat -> nat -> extended) : rules :=
  Rules (offset m) (is_causal m) (prefix_length m) (window_left m) (window_right m) (q_length m) (k_length m)
        (documents m) (key_padding m) (visible_entry m) (Some b).
Definition with_entry (m : rules) (t : nat -> nat -> bool) : rules :=
  Rules (offset m) (is_causal m) (prefix_length m) (window_left m) (window_right m) (q_length m) (k_length m)
        (documents m) (key_padding m) (Some t) (bias_entry m).
Definition with_visible (h : head) (A : nat -> visible_set) : head :=
  Head (width h) (key_count h) (scale h) (descale h) (value_factor h) (cap h) (place h) A (kept h).

(** the real numbers of a bias: where it is minus infinity they may be anything *)
Definition numbers_of (b : nat -> nat -> extended) (bias : matrix) : Prop :=
  forall i j x, b i j = Finite x -> bias i j = x.

(** a row reads its bias at visible keys only *)
Lemma rows_read_visible_biases h A A' Q K V bias bias' sink i :
  (forall j, A i j = A' i j) -> (forall j, A i j = true -> bias i j = bias' i j) ->
  (forall c, attend_row (with_visible h A) Q K V bias sink i c = attend_row (with_visible h A') Q K V bias' sink i c) /\
  (forall j, row_weights (with_visible h A) Q K bias sink i j = row_weights (with_visible h A') Q K bias' sink i j) /\
  row_lse (with_visible h A) Q K bias sink i = row_lse (with_visible h A') Q K bias' sink i.
Proof.
  intros HA H; unfold attend_row, row_weights, row_lse, masked_sink_softmax, row_keys.
  cbn [with_visible key_count visible kept value_factor].
  rewrite <- (gathered_ext (key_count h) (A i) (A' i)) by (intros; apply HA).
  set (keys := gathered (key_count h) (A i)).
  set (l := row_logits _ Q K bias i); set (l' := row_logits _ Q K bias' i).
  assert (E : forall j, In j keys -> l j = l' j).
  { intros j Hj; apply in_gathered in Hj; unfold l, l', row_logits; cbn; rewrite H by tauto; reflexivity. }
  repeat split.
  - intros c; unfold weighted_values; rewrite (total_ext keys sink l l' E); do 2 f_equal; apply sum_ext.
    intros j Hj; apply filter_In in Hj; rewrite E by tauto; reflexivity.
  - intros j; rewrite <- HA; destruct (guard_spec (key_count h) (A i) j); [|reflexivity].
    apply sink_softmax_ext; assumption.
  - unfold sink_log_sum_exp; rewrite (total_ext keys sink l l' E); reflexivity.
Qed.

(** MSK.P5: two calls by the same rules m, which have no boolean tensor. The first has a bias that is minus infinity on
    N. The second has 0 there, and a boolean tensor that is false exactly on N. Elsewhere both have the bias b, which
    may be minus infinity too. Visible sets, outputs, weights and log-sum-exps are equal. *)
Theorem a_hidden_bias_is_a_hidden_key h m (N : nat -> nat -> bool) b Q K V bias bias' sink i :
  (forall i j, b i j <> PlusInfinity /\ b i j <> NaN) -> visible_entry m = None ->
  let b1 := fun i j => if N i j then MinusInfinity else b i j in
  let b2 := fun i j => if N i j then Finite 0 else b i j in
  let A1 := is_visible (with_bias m b1) in
  let A2 := is_visible (with_entry (with_bias m b2) (fun i j => negb (N i j))) in
  numbers_of b1 bias -> numbers_of b2 bias' ->
  let h1 := with_visible h A1 in
  let h2 := with_visible h A2 in
  (forall j, A1 i j = A2 i j) /\
  (forall c, attend_row h1 Q K V bias sink i c = attend_row h2 Q K V bias' sink i c) /\
  (forall j, row_weights h1 Q K bias sink i j = row_weights h2 Q K bias' sink i j) /\
  row_lse h1 Q K bias sink i = row_lse h2 Q K bias' sink i.
Proof.
  intros Hb Hm b1 b2 A1 A2 H1 H2 h1 h2.
  assert (E : forall j, A1 i j = A2 i j).
  { intros j; unfold A1, A2, b1, b2, is_visible, with_bias, with_entry, all_of; cbn; rewrite Hm; cbn.
    destruct (N i j); cbn; rewrite ?andb_false_r, ?andb_true_r; reflexivity. }
  split; [exact E|]; apply rows_read_visible_biases; [exact E|]; intros j Hj.
  assert (V1 : visible_from_additive (b1 i j) = true).
  { revert Hj; unfold A1, is_visible; rewrite all_of_spec; intros G; apply G; cbn; tauto. }
  unfold b1, b2 in *; specialize (H1 i j); specialize (H2 i j); specialize (Hb i j); cbn in H1, H2.
  destruct (N i j); [discriminate|]; destruct (b i j) as [x| | |]; try discriminate; try tauto.
  rewrite (H1 x), (H2 x); reflexivity.
Qed.
