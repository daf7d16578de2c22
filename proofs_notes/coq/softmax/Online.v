(** A row in pieces: blocks add, so every partition and every tree of merges gives the whole row.

    Shifts are arbitrary throughout: of each block, and of each merge. *)
From Attest Require Export SoftmaxLaws.

(** ** What a block stands for *)

Lemma rescale_sum c ca cb x y : exp c * (exp (ca - c) * x + exp (cb - c) * y) = exp ca * x + exp cb * y.
Proof.
  rewrite Rmult_plus_distr_l, <- !Rmult_assoc, <- !exp_plus; f_equal; f_equal; f_equal; ring.
Qed.

(** ONL.D3: merging adds what the blocks stand for *)
Theorem merging_adds_what_blocks_stand_for c a b :
  fst (stands_for (merge c a b)) = fst (stands_for a) + fst (stands_for b) /\
  forall ch, snd (stands_for (merge c a b)) ch = snd (stands_for a) ch + snd (stands_for b) ch.
Proof.
  unfold merge, stands_for; destruct (block_shift a) as [ca|] eqn:Ea, (block_shift b) as [cb|] eqn:Eb; simpl;
    rewrite ?Ea, ?Eb; simpl; split; intros; rewrite ?rescale_sum; ring.
Qed.

(** ONL.D2: a block of keys stands for two sums in which there is no shift *)
Lemma block_of_stands_for c keys l V :
  fst (stands_for (block_of c keys l V)) = sum keys (fun j => exp (l j)) /\
  forall ch, snd (stands_for (block_of c keys l V)) ch = sum keys (fun j => exp (l j) * V j ch).
Proof.
  assert (E : forall j, exp c * exponential c l j = exp (l j))
    by (intros j; unfold exponential; rewrite <- exp_plus; f_equal; ring).
  destruct keys as [|k r]; [split; reflexivity|]; set (keys := k :: r).
  change (block_of c keys l V) with
    (Block (Some c) (sum keys (exponential c l)) (fun ch => sum keys (fun j => exponential c l j * V j ch))).
  unfold stands_for; cbn [fst snd block_shift block_sum block_weighted]; split; intros;
    rewrite <- sum_scal; apply sum_ext; intros j _; rewrite <- ?Rmult_assoc, E; reflexivity.
Qed.

(** ** Merging *)

Lemma same_block_refl a : same_block a a.
Proof. split; reflexivity. Qed.

(** ONL.P1 *)
Theorem merge_is_associative c1 c2 c3 c4 a b d :
  same_block (merge c1 (merge c2 a b) d) (merge c3 a (merge c4 b d)).
Proof.
  split; intros;
    rewrite !(proj1 (merging_adds_what_blocks_stand_for _ _ _)) ||
    rewrite !(proj2 (merging_adds_what_blocks_stand_for _ _ _)); ring.
Qed.

(** ONL.P2 *)
Theorem merge_is_commutative c c' a b : same_block (merge c a b) (merge c' b a).
Proof.
  split; intros;
    rewrite !(proj1 (merging_adds_what_blocks_stand_for _ _ _)) ||
    rewrite !(proj2 (merging_adds_what_blocks_stand_for _ _ _)); ring.
Qed.

(** ONL.P3, over the reals (Programs.v has it in every arithmetic): one side has no shift, the other is the result *)
Theorem empty_block_is_the_identity_in_the_reals c a :
  same_block (merge c a empty_block) a /\ same_block (merge c empty_block a) a.
Proof.
  split; [|apply same_block_refl]; unfold merge; simpl.
  destruct (block_shift a) eqn:E; [apply same_block_refl|]; unfold same_block, stands_for; rewrite E; auto.
Qed.

(** equal blocks may be merged in place of each other *)
Theorem merge_respects_what_blocks_stand_for c c' a a' b b' :
  same_block a a' -> same_block b b' -> same_block (merge c a b) (merge c' a' b').
Proof.
  intros [Ha Ha'] [Hb Hb']; split; intros;
    rewrite !(proj1 (merging_adds_what_blocks_stand_for _ _ _)) ||
    rewrite !(proj2 (merging_adds_what_blocks_stand_for _ _ _)); rewrite ?Ha, ?Ha', ?Hb, ?Hb'; reflexivity.
Qed.

(** ** Finishing *)

(** a block of keys, or of a sink: its sum is positive, or it is empty *)
Definition summed (b : block) : Prop := block_shift b <> None -> 0 < block_sum b.

Lemma summed_block_of c keys l V : summed (block_of c keys l V).
Proof.
  destruct keys as [|k r]; [intros H; destruct H; reflexivity|]; intros _.
  apply (sum_exp_pos (k :: r) (fun j => l j - c)); discriminate.
Qed.

Lemma summed_merge c a b : summed a -> summed b -> summed (merge c a b).
Proof.
  unfold summed, merge; destruct (block_shift a) as [ca|] eqn:Ea, (block_shift b) as [cb|] eqn:Eb; simpl;
    rewrite ?Ea, ?Eb; try tauto; intros Ha Hb _.
  pose proof (exp_pos (ca - c)); pose proof (exp_pos (cb - c)).
  apply Rplus_lt_0_compat; apply Rmult_lt_0_compat; try assumption; [apply Ha|apply Hb]; discriminate.
Qed.

Lemma merge_shift_none c a b : block_shift (merge c a b) = None <-> block_shift a = None /\ block_shift b = None.
Proof.
  unfold merge; destruct (block_shift a) eqn:Ea, (block_shift b) eqn:Eb; simpl; rewrite ?Ea, ?Eb;
    split; try tauto; try discriminate; intros [? ?]; discriminate.
Qed.

Lemma block_of_shift_none c keys l V : block_shift (block_of c keys l V) = None <-> keys = [].
Proof. destruct keys; simpl; split; (reflexivity || discriminate). Qed.

(** finish reads off the quotient and the logarithm of what the block stands for *)
Lemma finish_some b : summed b -> block_shift b <> None ->
  0 < fst (stands_for b) /\
  (forall ch, fst (finish b) ch = snd (stands_for b) ch / fst (stands_for b)) /\
  snd (finish b) = Some (ln (fst (stands_for b))).
Proof.
  intros S H; specialize (S H); unfold finish, stands_for; destruct (block_shift b) as [c|]; [simpl|congruence].
  pose proof (exp_pos c); repeat split.
  - apply Rmult_lt_0_compat; assumption.
  - intros ch; field; lra.
  - rewrite ln_mult, ln_exp by assumption; reflexivity.
Qed.

Theorem finish_depends_on_what_the_block_stands_for a b :
  summed a -> summed b -> same_block a b ->
  (forall ch, fst (finish a) ch = fst (finish b) ch) /\ snd (finish a) = snd (finish b).
Proof.
  intros Sa Sb [HZ HW].
  assert (E : forall x, block_shift x = None -> fst (stands_for x) = 0 /\ finish x = (fun _ => 0, None)).
  { intros x H; unfold stands_for, finish; rewrite H; auto. }
  destruct (block_shift a) as [ca|] eqn:Ea, (block_shift b) as [cb|] eqn:Eb.
  - destruct (finish_some a Sa) as [Pa [Oa La]]; [congruence|].
    destruct (finish_some b Sb) as [Pb [Ob Lb]]; [congruence|].
    split; [intros ch; rewrite Oa, Ob, HZ, HW|rewrite La, Lb, HZ]; reflexivity.
  - destruct (finish_some a Sa) as [Pa _]; [congruence|]; destruct (E b Eb); lra.
  - destruct (finish_some b Sb) as [Pb _]; [congruence|]; destruct (E a Ea); lra.
  - destruct (E a Ea) as [_ ->], (E b Eb) as [_ ->]; auto.
Qed.

(** a block that stands for the sums over some keys, and a sink where there is one, finishes to their row *)
Definition stands_for_keys (keys : list nat) (sink : option R) (l : row) (V : matrix) (b : block) : Prop :=
  summed b /\ (block_shift b = None <-> keys = [] /\ sink = None) /\
  fst (stands_for b) = total keys sink l /\
  forall ch, snd (stands_for b) ch = sum keys (fun j => exp (l j) * V j ch).

Definition is_the_row (result : row * option R) (keys : list nat) (sink : option R) (l : row) (V : matrix) : Prop :=
  (forall ch, fst result ch = weighted_values keys (fun _ => true) sink l V ch) /\
  snd result = reported_lse keys sink l.

Lemma filter_true {A} (l : list A) : filter (fun _ => true) l = l.
Proof. induction l; simpl; [|rewrite IHl]; reflexivity. Qed.

Lemma finish_is_the_row keys sink l V b : stands_for_keys keys sink l V b -> is_the_row (finish b) keys sink l V.
Proof.
  intros [S [N [Z W]]]; unfold is_the_row, weighted_values; rewrite filter_true.
  destruct (block_shift b) as [c|] eqn:E.
  - assert (H : block_shift b <> None) by congruence.
    destruct (finish_some b S H) as [P [O L]]; split; [intros ch; rewrite O, Z, W; reflexivity|].
    rewrite L, Z, reported_lse_some; [reflexivity|].
    destruct keys; [right; intros ->; destruct N as [_ N]; discriminate (N (conj eq_refl eq_refl))|left; discriminate].
  - destruct N as [N _]; destruct (N eq_refl) as [-> ->]; unfold finish; rewrite E; split; [|reflexivity].
    intros ch; simpl; unfold Rdiv; ring.
Qed.

Lemma merge_stands_for_keys c keys keys' sink l V a b :
  stands_for_keys keys sink l V a -> stands_for_keys keys' None l V b ->
  stands_for_keys (keys ++ keys') sink l V (merge c a b).
Proof.
  intros [Sa [Na [Za Wa]]] [Sb [Nb [Zb Wb]]]; destruct (merging_adds_what_blocks_stand_for c a b) as [Z W].
  split; [apply summed_merge; assumption|]; split; [|split].
  - rewrite merge_shift_none, Na, Nb; split.
    + intros [[-> ->] [-> _]]; auto.
    + intros [H ->]; apply app_eq_nil in H; tauto.
  - rewrite Z, Za, Zb, total_no_sink; unfold total; rewrite sum_app; ring.
  - intros ch; rewrite W, Wa, Wb, sum_app; reflexivity.
Qed.

Lemma block_of_stands_for_keys c keys l V : stands_for_keys keys None l V (block_of c keys l V).
Proof.
  destruct (block_of_stands_for c keys l V) as [Z W]; split; [apply summed_block_of|]; split; [|split].
  - rewrite block_of_shift_none; tauto.
  - rewrite Z, total_no_sink; reflexivity.
  - exact W.
Qed.

(** ONL.D5: a sink is one more block *)
Lemma start_block_stands_for_keys sink l V : stands_for_keys [] sink l V (start_block sink).
Proof.
  unfold stands_for_keys, summed, total, stands_for; destruct sink as [a|]; simpl; repeat split; intros;
    try lra; try tauto; try discriminate; destruct H; discriminate.
Qed.
