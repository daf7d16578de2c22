(** Orders of summation: any tree of additions, with fused multiply-adds; loops and blocks. *)
From Attest Require Export Sums.

(** An order of adding up terms a i * b i. [Fused i t] adds one term by a fused multiply-add: one rounding. *)
Inductive order {I : Type} :=
  | Nothing
  | Term (i : I)
  | Plus (l r : order)
  | Fused (i : I) (r : order).
Arguments order : clear implicits.

Fixpoint leaves {I} (t : order I) : list I :=
  match t with
  | Nothing => []
  | Term i => [i]
  | Plus l r => leaves l ++ leaves r
  | Fused i r => i :: leaves r
  end.

Definition has_terms {I} (t : order I) : bool := match leaves t with [] => false | _ => true end.

(** how many additions a term goes through at most; to add to nothing, that is to zero, does not count *)
Fixpoint depth {I} (t : order I) : nat :=
  match t with
  | Nothing | Term _ => 0
  | Plus l r => if has_terms l && has_terms r then S (Nat.max (depth l) (depth r)) else Nat.max (depth l) (depth r)
  | Fused i r => if has_terms r then S (depth r) else 0
  end.

(** the loop  acc = 0; for (i : l) acc += term(i)  and the same for sums over blocks; with fused operations *)
Definition in_turn {I} (l : list I) : order I := fold_left (fun t i => Plus t (Term i)) l Nothing.
Definition in_blocks {I} (blocks : list (list I)) : order I :=
  fold_left (fun t l => Plus t (in_turn l)) blocks Nothing.
Definition fused_in_turn {I} (l : list I) : order I := fold_left (fun t i => Fused i t) l Nothing.

Lemma has_terms_spec {I} (t : order I) : has_terms t = true <-> leaves t <> [].
Proof. unfold has_terms; destruct (leaves t); split; congruence. Qed.

Lemma depth_nothing {I} (t : order I) : has_terms t = false -> depth t = 0%nat.
Proof.
  induction t as [| i | l IHl r IHr | i r IH]; simpl; intros H; try discriminate H; auto.
  unfold has_terms in *; simpl in H; destruct (leaves l); [|discriminate H].
  simpl in H; destruct (leaves r); [|discriminate H]; simpl; rewrite IHl, IHr; auto.
Qed.

(** whatever the order, a term goes through fewer additions than there are terms *)
Lemma depth_lt {I} (t : order I) : has_terms t = true -> (S (depth t) <= length (leaves t))%nat.
Proof.
  induction t as [| i | l IHl r IHr | i r IH]; intros H; [discriminate H|simpl; lia| |].
  - pose proof (depth_nothing l); pose proof (depth_nothing r); simpl; rewrite app_length.
    assert (has_terms l = true \/ has_terms r = true).
    { apply has_terms_spec in H; simpl in H; unfold has_terms; destruct (leaves l), (leaves r); auto. }
    destruct (has_terms l), (has_terms r); simpl; intuition lia.
  - simpl; destruct (has_terms r); [specialize (IH eq_refl)|]; lia.
Qed.

(** * Loops and blocks *)

Lemma terms_in_turn_from {I} (l : list I) t :
  leaves (fold_left (fun t i => Plus t (Term i)) l t) = leaves t ++ l.
Proof.
  revert t; induction l as [|i l IH]; intros t; simpl; [rewrite app_nil_r; reflexivity|].
  rewrite IH; simpl; rewrite <- app_assoc; reflexivity.
Qed.

Lemma terms_in_turn {I} (l : list I) : leaves (in_turn l) = l.
Proof. apply (terms_in_turn_from l Nothing). Qed.

Lemma terms_fused_in_turn {I} (l : list I) : Permutation (leaves (fused_in_turn l)) l.
Proof.
  enough (G : forall t, Permutation (leaves (fold_left (fun t i => Fused i t) l t)) (leaves t ++ l))
    by apply (G Nothing).
  induction l as [|i l IH]; intros t; simpl; [rewrite app_nil_r; reflexivity|].
  rewrite IH; simpl; apply Permutation_middle.
Qed.

Lemma terms_in_blocks {I} (blocks : list (list I)) : leaves (in_blocks blocks) = concat blocks.
Proof.
  enough (G : forall t, leaves (fold_left (fun t l => Plus t (in_turn l)) blocks t) = leaves t ++ concat blocks)
    by apply (G Nothing).
  induction blocks as [|l blocks IH]; intros t; simpl; [rewrite app_nil_r; reflexivity|].
  rewrite IH; simpl; rewrite terms_in_turn, app_assoc; reflexivity.
Qed.

(** blocks of at most L terms, m of them: a term goes through L - 1 additions in its block and m - 1 after it *)
Theorem depth_of_blocks {I} (blocks : list (list I)) L :
  (1 <= L)%nat -> (forall l, In l blocks -> length l <= L)%nat ->
  (depth (in_blocks blocks) <= (L - 1) + (length blocks - 1))%nat.
Proof.
  intros HL Hb.
  assert (D : forall l : list I, (length l <= L)%nat -> (depth (in_turn l) <= L - 1)%nat).
  { intros l Hl; destruct (has_terms (in_turn l)) eqn:E.
    - pose proof (depth_lt _ E); rewrite terms_in_turn in H; lia.
    - rewrite depth_nothing by assumption; lia. }
  assert (G : forall later (t : order I) k, (forall l, In l later -> length l <= L)%nat -> (depth t <= L - 1 + k)%nat ->
    (depth (fold_left (fun t l => Plus t (in_turn l)) later t) <= L - 1 + k + length later)%nat).
  { induction later as [|l later IH]; intros t k Hl Hk; simpl; [lia|].
    rewrite (Nat.add_succ_r _ (length later)), <- Nat.add_succ_l, <- Nat.add_succ_r.
    apply IH; [intros; apply Hl; right; assumption|].
    pose proof (D l (Hl l (or_introl eq_refl))).
    simpl; destruct (has_terms t && has_terms (in_turn l)); lia. }
  destruct blocks as [|l blocks]; simpl; [lia|].
  unfold in_blocks; simpl fold_left; rewrite Nat.sub_0_r, <- (Nat.add_0_r (L - 1)).
  apply G; [intros; apply Hb; right; assumption|].
  pose proof (D l (Hb l (or_introl eq_refl))); simpl; lia.
Qed.
