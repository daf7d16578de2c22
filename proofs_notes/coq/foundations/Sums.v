(** Finite sums: the lemmas that every chapter uses. *)
From Attest Require Export Definitions.

Lemma in_range n j : In j (range n) <-> (j < n)%nat.
Proof. unfold range; rewrite in_seq; lia. Qed.

Lemma in_gathered n vis j : In j (gathered n vis) <-> (j < n)%nat /\ vis j = true.
Proof. unfold gathered; rewrite filter_In, in_range; tauto. Qed.

Lemma NoDup_gathered n vis : NoDup (gathered n vis).
Proof. apply NoDup_filter, seq_NoDup. Qed.

Lemma sum_ext {A} (l : list A) f g : (forall j, In j l -> f j = g j) -> sum l f = sum l g.
Proof.
  induction l as [|a l IH]; simpl; intros H; [reflexivity|].
  rewrite (H a), IH; auto.
Qed.

Lemma sum_app {A} (l1 l2 : list A) f : sum (l1 ++ l2) f = sum l1 f + sum l2 f.
Proof. induction l1; simpl; [|rewrite IHl1]; ring. Qed.

Lemma sum_scal {A} (l : list A) c f : sum l (fun j => c * f j) = c * sum l f.
Proof. induction l; simpl; [|rewrite IHl]; ring. Qed.

Lemma sum_scal_r {A} (l : list A) c f : sum l (fun j => f j * c) = sum l f * c.
Proof. induction l; simpl; [|rewrite IHl]; ring. Qed.

Lemma sum_plus {A} (l : list A) f g : sum l (fun j => f j + g j) = sum l f + sum l g.
Proof. induction l; simpl; [|rewrite IHl]; ring. Qed.

Lemma sum_minus {A} (l : list A) f g : sum l (fun j => f j - g j) = sum l f - sum l g.
Proof. induction l; simpl; [|rewrite IHl]; ring. Qed.

Lemma sum_const {A} (l : list A) c : sum l (fun _ => c) = INR (length l) * c.
Proof.
  induction l as [|a l IH]; [simpl; ring|].
  change (sum (a :: l) (fun _ => c)) with (c + sum l (fun _ => c)).
  change (length (a :: l)) with (S (length l)).
  rewrite IH, S_INR; ring.
Qed.

Lemma sum_zero {A} (l : list A) f : (forall j, In j l -> f j = 0) -> sum l f = 0.
Proof. intros H; rewrite (sum_ext l f (fun _ => 0)), sum_const by auto; ring. Qed.

Lemma sum_le {A} (l : list A) f g : (forall j, In j l -> f j <= g j) -> sum l f <= sum l g.
Proof.
  induction l as [|a l IH]; simpl; intros H; [lra|].
  apply Rplus_le_compat; auto.
Qed.

Lemma sum_nonneg {A} (l : list A) f : (forall j, In j l -> 0 <= f j) -> 0 <= sum l f.
Proof.
  intros H; rewrite <- (sum_zero l (fun _ => 0)) by auto; apply sum_le; auto.
Qed.

Lemma sum_term_le {A} (l : list A) f j :
  (forall k, In k l -> 0 <= f k) -> In j l -> f j <= sum l f.
Proof.
  induction l as [|a l IH]; simpl; intros H Hj; [tauto|].
  assert (0 <= f a) by auto.
  assert (0 <= sum l f) by (apply sum_nonneg; auto).
  destruct Hj as [->|Hj]; [lra|].
  specialize (IH (fun k hk => H k (or_intror hk)) Hj); lra.
Qed.

Lemma sum_pos {A} (l : list A) f : l <> [] -> (forall j, In j l -> 0 < f j) -> 0 < sum l f.
Proof.
  destruct l as [|a l]; [congruence|]; simpl; intros _ H.
  assert (0 < f a) by auto.
  assert (0 <= sum l f) by (apply sum_nonneg; intros; apply Rlt_le; auto).
  lra.
Qed.

Lemma sum_Rabs {A} (l : list A) f : Rabs (sum l f) <= sum l (fun j => Rabs (f j)).
Proof.
  induction l; simpl; [rewrite Rabs_R0; lra|].
  eapply Rle_trans; [apply Rabs_triang|]; lra.
Qed.

Lemma sum_perm {A} (l l' : list A) f : Permutation l l' -> sum l f = sum l' f.
Proof. induction 1; simpl; lra. Qed.

Lemma sum_swap {A B} (l : list A) (l' : list B) (f : A -> B -> R) :
  sum l (fun i => sum l' (fun j => f i j)) = sum l' (fun j => sum l (fun i => f i j)).
Proof.
  induction l as [|a l IH]; simpl.
  - symmetry; apply sum_zero; auto.
  - rewrite IH, <- sum_plus; reflexivity.
Qed.

(** a sum over all keys, as its visible and its hidden part *)
Lemma sum_filter {A} (l : list A) (vis : A -> bool) f :
  sum l (fun j => if vis j then f j else 0) = sum (filter vis l) f.
Proof. induction l as [|a l IH]; simpl; [reflexivity|]; destruct (vis a); simpl; rewrite IH; ring. Qed.

Lemma sum_split {A} (l : list A) (vis : A -> bool) f :
  sum l f = sum (filter vis l) f + sum (filter (fun j => negb (vis j)) l) f.
Proof. induction l as [|a l IH]; simpl; [ring|]; destruct (vis a); simpl; rewrite IH; ring. Qed.

(** a single term, picked by its index *)
Lemma sum_delta l i (f : nat -> R) :
  NoDup l -> In i l -> sum l (fun j => (if Nat.eqb i j then 1 else 0) * f j) = f i.
Proof.
  induction 1 as [|a l Ha Hl IH]; simpl; [tauto|]; intros [->|Hi].
  - rewrite Nat.eqb_refl, sum_zero; [ring|]; intros j Hj.
    destruct (Nat.eqb_spec i j); [subst; tauto|ring].
  - destruct (Nat.eqb_spec i a); [subst; tauto|]; rewrite IH by assumption; ring.
Qed.

(** ** Lists that are mapped and filtered *)

Lemma sum_map {A B} (l : list A) (g : A -> B) f : sum (map g l) f = sum l (fun j => f (g j)).
Proof. induction l; simpl; [|rewrite IHl]; reflexivity. Qed.

Lemma filter_all {A} (f : A -> bool) l : (forall x, In x l -> f x = true) -> filter f l = l.
Proof.
  induction l as [|a l IH]; intros H; [reflexivity|]; simpl.
  rewrite H by (left; reflexivity); rewrite IH; [reflexivity|]; intros; apply H; right; assumption.
Qed.

Lemma filter_map {A B} (f : B -> bool) (g : A -> B) l : filter f (map g l) = map g (filter (fun a => f (g a)) l).
Proof. induction l as [|a l IH]; simpl; [reflexivity|]; destruct (f (g a)); simpl; rewrite IH; reflexivity. Qed.

Lemma permutation_filter {A} (f : A -> bool) l l' : Permutation l l' -> Permutation (filter f l) (filter f l').
Proof.
  induction 1 as [|x l l' _ IH|x y l|]; simpl; [constructor| | |econstructor; eassumption].
  - destruct (f x); [constructor|]; assumption.
  - destruct (f x), (f y); repeat constructor; apply Permutation_refl.
Qed.
