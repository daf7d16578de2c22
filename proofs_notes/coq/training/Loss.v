(** The loss: the mean cross-entropy, its derivative along any curve of the logits, and its first value. *)
From Attest Require Export Softmax Derivatives.

(** * Values *)

Lemma range_not_nil V : (0 < V)%nat -> range V <> [].
Proof. destruct V; [lia|discriminate]. Qed.

(** the two forms of TRN.D1 *)
Lemma cross_entropy_is_minus_log_softmax V l t :
  (0 < V)%nat -> cross_entropy V l t = - ln (softmax (range V) l t).
Proof.
  intros HV; unfold cross_entropy, log_sum_exp, softmax, Rdiv.
  assert (P := sum_exp_pos (range V) l (range_not_nil V HV)).
  rewrite ln_mult, ln_exp, ln_Rinv; [ring|assumption|apply exp_pos|apply Rinv_0_lt_compat, P].
Qed.

(** only the rows of the loss are read *)
Lemma mean_cross_entropy_ext S V (L L' : matrix) t :
  (forall i c, (i < S)%nat -> L i c = L' i c) -> mean_cross_entropy S V L t = mean_cross_entropy S V L' t.
Proof.
  intros H; unfold mean_cross_entropy; f_equal; apply sum_ext; intros i Hi; apply in_range in Hi.
  unfold cross_entropy, log_sum_exp; rewrite H by exact Hi; do 2 f_equal; apply sum_ext; intros c _; rewrite H; auto.
Qed.

(** TRN.P3 of the logits: equal ones have the loss ln V *)
Lemma equal_logits_have_the_loss_ln_V S V (L : matrix) t x :
  (0 < S)%nat -> (0 < V)%nat -> (forall i, (i < S)%nat -> (t i < V)%nat) ->
  (forall i c, (i < S)%nat -> (c < V)%nat -> L i c = x) ->
  mean_cross_entropy S V L t = ln (INR V).
Proof.
  intros HS HV Ht H; unfold mean_cross_entropy.
  rewrite (sum_ext _ _ (fun _ => ln (INR V))).
  - rewrite sum_const; unfold range; rewrite seq_length; field; apply not_0_INR; lia.
  - intros i Hi; apply in_range in Hi; unfold cross_entropy, log_sum_exp.
    rewrite (sum_ext _ _ (fun _ => exp x)) by (intros c Hc; apply in_range in Hc; rewrite H; auto).
    rewrite sum_const; unfold range; rewrite seq_length.
    rewrite ln_mult, ln_exp, H; auto using exp_pos; [ring|apply lt_0_INR, HV].
Qed.

(** TRN.P2 *)
Theorem rows_of_the_loss_gradient_sum_to_zero S V (L : matrix) t i :
  (t i < V)%nat -> sum (range V) (mean_cross_entropy_gradient S V L t i) = 0.
Proof.
  intros Ht; unfold mean_cross_entropy_gradient, Rdiv.
  rewrite sum_scal_r, sum_minus.
  rewrite (sum_ext _ (fun c => if Nat.eqb c (t i) then 1 else 0) (fun c => (if Nat.eqb (t i) c then 1 else 0) * 1))
    by (intros; rewrite Nat.eqb_sym; ring).
  rewrite sum_delta; [|apply seq_NoDup|apply in_range, Ht].
  rewrite softmax_sum_1; [ring|apply range_not_nil; lia].
Qed.

(** TRN.P2: what that means *)
Theorem shifted_rows_have_equal_losses S V (L : matrix) t (x : row) :
  (0 < V)%nat -> mean_cross_entropy S V (fun i c => L i c + x i) t = mean_cross_entropy S V L t.
Proof.
  intros HV; unfold mean_cross_entropy; f_equal; apply sum_ext; intros i _.
  unfold cross_entropy, log_sum_exp.
  rewrite (sum_ext _ _ (fun c => exp (L i c) * exp (x i))) by (intros; apply exp_plus).
  rewrite sum_scal_r, ln_mult, ln_exp; [ring|apply sum_exp_pos, range_not_nil, HV|apply exp_pos].
Qed.

(** * The derivative *)

Lemma log_sum_exp_velocity V (l : nat -> R -> R) (dl : row) t :
  (0 < V)%nat -> (forall c, is_derive (l c) t (dl c)) ->
  is_derive (fun u => log_sum_exp (range V) (fun c => l c u)) t
    (sum (range V) (fun c => softmax (range V) (fun k => l k t) c * dl c)).
Proof.
  intros HV Hl; unfold log_sum_exp.
  assert (P := sum_exp_pos (range V) (fun c => l c t) (range_not_nil V HV)).
  apply (derive_as _ _ (sum (range V) (fun c => exp (l c t) * dl c) / sum (range V) (fun c => exp (l c t)))).
  - apply (derive_ln (fun u => sum (range V) (fun c => exp (l c u)))); [|exact P].
    apply (derive_sum (range V) (fun c u => exp (l c u))); intros c _; apply derive_exp, Hl.
  - unfold Rdiv; rewrite <- sum_scal_r; apply sum_ext; intros c _; unfold softmax, Rdiv; ring.
Qed.

(** TRN.P1 *)
Theorem loss_gradient_is_the_transpose_of_its_tangent S V (L : nat -> nat -> R -> R) (dL : matrix) target t :
  (forall i, (i < S)%nat -> (target i < V)%nat) ->
  (forall i c, is_derive (L i c) t (dL i c)) ->
  is_derive (fun u => mean_cross_entropy S V (fun i c => L i c u) target) t
    (sum (range S) (fun i => sum (range V) (fun c =>
       mean_cross_entropy_gradient S V (fun i c => L i c t) target i c * dL i c))).
Proof.
  intros Ht HL; unfold mean_cross_entropy, Rdiv.
  apply (derive_as _ _ (sum (range S) (fun i =>
    sum (range V) (fun c => softmax (range V) (fun k => L i k t) c * dL i c) - dL i (target i)) * / INR S)).
  - apply derive_scal_r, (derive_sum (range S) (fun i u => cross_entropy V (fun c => L i c u) (target i))).
    intros i Hi; apply in_range, Ht in Hi; unfold cross_entropy.
    apply (derive_minus (fun u => log_sum_exp (range V) (fun c => L i c u))); [|apply HL].
    apply (log_sum_exp_velocity V (fun c => L i c)); [lia|apply HL].
  - rewrite <- sum_scal_r; apply sum_ext; intros i Hi; apply in_range, Ht in Hi.
    rewrite (sum_ext _ (fun c => mean_cross_entropy_gradient _ _ _ _ i c * dL i c)
      (fun c => / INR S * (softmax (range V) (fun k => L i k t) c * dL i c
                           - (if Nat.eqb (target i) c then 1 else 0) * dL i c))).
    + rewrite sum_scal, sum_minus, sum_delta; [ring|apply seq_NoDup|apply in_range, Hi].
    + intros c _; unfold mean_cross_entropy_gradient, Rdiv; rewrite (Nat.eqb_sym c); ring.
Qed.

(** * Examples and the prediction *)

(** no logit is greater, and an earlier one is less *)
Lemma prediction_is_the_first_greatest V l :
  (0 < V)%nat -> (prediction V l < V)%nat
  /\ (forall c, (c < V)%nat -> l c <= l (prediction V l))
  /\ (forall c, (c < prediction V l)%nat -> l c < l (prediction V l)).
Proof.
  induction V as [|V IH]; [lia|]; intros _; simpl.
  destruct V as [|V].
  - simpl; destruct (Rlt_dec (l 0%nat) (l 0%nat)) as [H|_]; [lra|].
    repeat split; [lia| |lia]; intros c Hc; replace c with 0%nat by lia; lra.
  - destruct IH as (Hb & Hmax & Hfirst); [lia|].
    destruct (Rlt_dec (l (prediction (S V) l)) (l (S V))) as [H|H].
    + repeat split; [lia| |].
      * intros c Hc; destruct (Nat.eq_dec c (S V)) as [->|]; [lra|].
        specialize (Hmax c ltac:(lia)); lra.
      * intros c Hc; specialize (Hmax c Hc); lra.
    + repeat split; [lia| |apply Hfirst].
      intros c Hc; destruct (Nat.eq_dec c (S V)) as [->|]; [lra|apply Hmax; lia].
Qed.

Definition two_rows : matrix := fun _ c => match c with O => 0 | _ => ln 3 end.

Lemma TRN_E3_cross_entropy :
  cross_entropy 2 (two_rows 0%nat) 0 = ln 4 /\ cross_entropy 2 (two_rows 1%nat) 1 = ln 4 - ln 3
  /\ mean_cross_entropy 2 2 two_rows (fun i => i) = ln 4 - ln 3 / 2.
Proof.
  unfold mean_cross_entropy, cross_entropy, log_sum_exp, two_rows; simpl.
  rewrite exp_0, exp_ln by lra; replace (1 + (3 + 0)) with 4 by ring; lra.
Qed.

Lemma TRN_E3_gradient :
  let g := mean_cross_entropy_gradient 2 2 two_rows (fun i => i) in
  g 0%nat 0%nat = -3/8 /\ g 0%nat 1%nat = 3/8 /\ g 1%nat 0%nat = 1/8 /\ g 1%nat 1%nat = -1/8.
Proof.
  unfold mean_cross_entropy_gradient, softmax, two_rows; simpl.
  rewrite exp_0, exp_ln by lra; repeat split; field.
Qed.

Lemma TRN_E3_predictions :
  prediction 3 (fun c => nth c [0; 2; 1] 0) = 1%nat /\ prediction 3 (fun c => nth c [5; 5; 4] 0) = 0%nat.
Proof. split; simpl; repeat (destruct Rlt_dec; simpl in *; try lra); reflexivity. Qed.
