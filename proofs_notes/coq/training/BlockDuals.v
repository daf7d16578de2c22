(** The decoder block and its loss in dual numbers: tangents, paired with cotangents, are the direction paired with the
    gradient. Whatever computation writes the logits is meant; that there is one is shown at the end. *)
Require Import FunctionalExtensionality.
From Attest Require Export BlockGradient LayerDifferences.

(** the tangent of a computation in numbers y that move with velocities y' *)
Definition tangent_of (y y' : nat -> R) (E : computation) : R :=
  tangent (read_in_duals (fun n => Dual (y n) (y' n)) E).

(** TRN.P1 in dual numbers: the text of the loss is E, and those of the logits are in what it computes *)
Theorem tangent_of_the_loss_is_the_gradient_times_the_direction S V (L : nat -> nat -> R -> R)
  (dL : matrix) target y y' E :
  (forall i, (i < S)%nat -> (target i < V)%nat) -> (forall i c, is_derive (L i c) 0 (dL i c)) ->
  computes y y' E (fun u => mean_cross_entropy S V (fun i c => L i c u) target) ->
  tangent_of y y' E = matrix_dot S V (mean_cross_entropy_gradient S V (fun i c => L i c 0) target) dL.
Proof.
  intros Ht HL HE; apply (derive_unique _ _ _ _ (computation_moves _ _ _ _ HE)).
  apply (loss_gradient_is_the_transpose_of_its_tangent S V L dL target 0 Ht HL).
Qed.

Section Block.
  Variables (N : decoder_extents) (w : R -> decoder) (w' : decoder) (tokens : nat -> nat).
  Hypothesis epsilon_positive : 0 < norm_epsilon N.
  Hypothesis tokens_in_table : forall i, (i < places N)%nat -> (tokens i < vocabulary N)%nat.
  Hypothesis parameters_move : decoder_moves N w 0 w'.
  Hypothesis no_zero_before_relu : forall i c, (i < places N)%nat -> (c < hidden N)%nat ->
    stage_f (decoder_block N (w 0) tokens) i c <> 0.

  (** DEC.P7 in dual numbers *)
  Theorem tangents_of_the_logits_times_cotangents y y' (E : nat -> nat -> computation) g :
    (forall i c, (i < places N)%nat -> (c < vocabulary N)%nat ->
       computes y y' (E i c) (fun u => logits (decoder_block N (w u) tokens) i c)) ->
    matrix_dot (places N) (vocabulary N) g (fun i c => tangent_of y y' (E i c)) =
    decoder_dot N (decoder_block_gradient N (w 0) tokens g) w'.
  Proof.
    intros HE.
    apply (derive_unique (fun u => matrix_dot (places N) (vocabulary N) g (logits (decoder_block N (w u) tokens))) 0).
    - apply (derive_sum _ (fun i u => dot _ (g i) (logits (decoder_block N (w u) tokens) i))); intros i Hi.
      apply (derive_sum _ (fun c u => g i c * logits (decoder_block N (w u) tokens) i c)); intros c Hc.
      apply derive_scal, computation_moves, HE; apply in_range; assumption.
    - apply (block_gradient_is_the_transpose_of_its_tangent N w 0 w' tokens); assumption.
  Qed.

  (** TRN.P7 in dual numbers *)
  Theorem tangent_of_the_loss_of_a_block targets y y' E :
    (forall i, (i < places N)%nat -> (targets i < vocabulary N)%nat) ->
    computes y y' E (fun u => loss_of N (w u) tokens targets) ->
    tangent_of y y' E = decoder_dot N (loss_gradient N (w 0) tokens targets) w'.
  Proof.
    intros Ht HE; apply (derive_unique _ _ _ _ (computation_moves _ _ _ _ HE)).
    apply (gradient_of_the_loss_is_the_transpose_of_its_tangent N w 0 w' tokens); assumption.
  Qed.
End Block.

(** * There are such computations *)

(** [elementary] functions can be written with the operations of a scalar, differentiable everywhere. With relu they
    need to be so at 0 only. *)
Definition elementary_at_zero (f : R -> R) : Prop :=
  exists E, differentiable_at (fun _ => 0) E /\ forall u, read_in_reals (fun _ => u) E = f u.

Lemma elementary_here f : elementary f -> elementary_at_zero f.
Proof. intros [E [D R]]; exists E; auto. Qed.

Lemma at_zero_as (f g : R -> R) : elementary_at_zero f -> (forall u, f u = g u) -> elementary_at_zero g.
Proof. intros [E [D R]] H; exists E; split; [exact D|intros u; rewrite R; apply H]. Qed.

Lemma at_zero_unary o f :
  elementary_at_zero f -> differentiable o (f 0) -> elementary_at_zero (fun u => in_reals o (f u)).
Proof. intros [E [D R]] H; exists (Apply o E); simpl; split; [rewrite R; auto|intros u; rewrite R; reflexivity]. Qed.

Lemma at_zero_plus f g : elementary_at_zero f -> elementary_at_zero g -> elementary_at_zero (fun u => f u + g u).
Proof.
  intros [E [D R]] [E' [D' R']]; exists (Apply2 Plus E E'); simpl.
  split; [auto|intros u; rewrite R, R'; reflexivity].
Qed.

Lemma at_zero_mult f g : elementary_at_zero f -> elementary_at_zero g -> elementary_at_zero (fun u => f u * g u).
Proof.
  intros [E [D R]] [E' [D' R']]; exists (Apply2 Times E E'); simpl.
  split; [auto|intros u; rewrite R, R'; reflexivity].
Qed.

Lemma at_zero_const c : elementary_at_zero (fun _ => c).
Proof. apply elementary_here, elementary_const. Qed.

Lemma at_zero_sum {A} (l : list A) (f : A -> R -> R) :
  (forall k, In k l -> elementary_at_zero (f k)) -> elementary_at_zero (fun u => sum l (fun k => f k u)).
Proof.
  induction l as [|a l IH]; simpl; intros H; [apply at_zero_const|].
  apply (at_zero_plus (f a) (fun u => sum l (fun k => f k u))); auto.
Qed.

Lemma at_zero_is_computed f : elementary_at_zero f -> exists E, computes (fun _ => 0) (fun _ => 1) E f.
Proof.
  intros [E [D R]]; exists E; split; [exact D|intros u; rewrite <- R; f_equal].
  apply functional_extensionality; intros; ring.
Qed.

Lemma elementary_normed n epsilon (gamma beta : R -> row) (X : R -> matrix) :
  0 < epsilon -> (forall c, elementary (fun u => gamma u c)) -> (forall c, elementary (fun u => beta u c)) ->
  elementary_matrix X -> elementary_matrix (fun u => normed_rows n (gamma u) (beta u) epsilon (X u)).
Proof.
  intros He Hg Hb HX i c.
  apply (elementary_plus (fun u => rms_norm n (Some (gamma u)) epsilon (centred n (X u i)) c) (fun u => beta u c));
    [|apply Hb].
  apply (elementary_rms_norm n true epsilon (fun c u => centred n (X u i) c) (fun c u => gamma u c) c
           (fun u => variance_plus_epsilon_pos n (X u i) epsilon He)); [|exact Hg].
  intros k; apply (elementary_centred n (fun c u => X u i c)); intros; apply HX.
Qed.

Section Written.
  Variables (N : decoder_extents) (w : R -> decoder) (tokens : nat -> nat).
  Hypothesis epsilon_positive : 0 < norm_epsilon N.
  Hypothesis parameters_written : forall s i c, In s (decoder_slots N) -> elementary (fun u => entries s (w u) i c).
  Let page (u : R) : stages := decoder_block N (w u) tokens.
  Hypothesis no_zero_before_relu : forall i c, (i < places N)%nat -> (c < hidden N)%nat -> stage_f (page 0) i c <> 0.

  Lemma linear_written I O m (X : R -> matrix) :
    (forall s, In s (linear_slots I O m) -> In s (decoder_slots N)) -> elementary_matrix X ->
    elementary_matrix (fun u => linear I (m (w u)) (X u)).
  Proof.
    intros Hin HX; apply (elementary_affine I (fun u => factor (m (w u))) (fun u => Some (term (m (w u)))));
      [| |exact HX].
    - intros i c; apply (parameters_written (DecoderSlot I O (fun w => factor (m w)))), Hin; simpl; auto.
    - right; exists (fun u => term (m (w u))); split; [reflexivity|]; intros c.
      apply (parameters_written (row_slot O (fun w => term (m w))) 0%nat c), Hin; simpl; auto.
  Qed.

  Lemma normed_written p (X : R -> matrix) :
    (forall s, In s (norm_slots (channels N) p) -> In s (decoder_slots N)) -> elementary_matrix X ->
    elementary_matrix (fun u => normed N (p (w u)) (X u)).
  Proof.
    intros Hin HX; apply (elementary_normed (channels N) (norm_epsilon N) (fun u => factors (p (w u)))
                            (fun u => terms (p (w u)))); [exact epsilon_positive| | |exact HX]; intros c.
    - apply (parameters_written (row_slot (channels N) (fun w => factors (p w))) 0%nat c), Hin; simpl; auto.
    - apply (parameters_written (row_slot (channels N) (fun w => terms (p w))) 0%nat c), Hin; simpl; auto.
  Qed.

  Lemma elementary_both X Y :
    elementary_matrix X -> elementary_matrix Y -> elementary_matrix (fun u => both (X u) (Y u)).
  Proof. intros HX HY i c; apply (elementary_plus (fun u => X u i c)); [apply HX|apply HY]. Qed.

  Lemma stages_before_relu :
    elementary_matrix (fun u => stage_x1 (page u)) /\ elementary_matrix (fun u => stage_f (page u)).
  Proof.
    pose (E := channels N).
    assert (X : elementary_matrix (fun u => stage_x (page u))).
    { intros i c; apply (parameters_written (DecoderSlot (vocabulary N) E embed) (tokens i) c); simpl; auto. }
    assert (Hn := normed_written norm1 _ ltac:(intros s; simpl; tauto) X).
    assert (Q := linear_written E E wq _ ltac:(intros s; simpl; tauto) Hn).
    assert (K := linear_written E E wk _ ltac:(intros s; simpl; tauto) Hn).
    assert (V := linear_written E E wv _ ltac:(intros s; simpl; tauto) Hn).
    assert (A : elementary_matrix (fun u => stage_a (page u))).
    { intros i c; apply (elementary_output (causal_head (places N) E)
        (fun u => Operands (stage_q (page u)) (stage_k (page u)) (stage_v (page u)) (fun _ _ => 0) None) i c);
          [exact I|].
      constructor; intros; [apply Q|apply K|apply V|exact (elementary_const 0)|left; reflexivity]. }
    assert (X1 : elementary_matrix (fun u => stage_x1 (page u)))
      by (apply (elementary_both _ _ X (linear_written E E wo _ ltac:(intros s; simpl; tauto) A))).
    split; [exact X1|].
    exact (linear_written E (hidden N) ff1 _ ltac:(intros s; simpl; tauto)
             (normed_written norm2 _ ltac:(intros s; simpl; tauto) X1)).
  Qed.

  (** an affine map at one entry, from the entries that it reads *)
  Lemma linear_at_zero I O m (X : R -> matrix) i c :
    (forall s, In s (linear_slots I O m) -> In s (decoder_slots N)) ->
    (forall r, (r < I)%nat -> elementary_at_zero (fun u => X u i r)) ->
    elementary_at_zero (fun u => linear I (m (w u)) (X u) i c).
  Proof.
    intros Hin HX; apply at_zero_plus.
    - apply (at_zero_sum (range I) (fun r u => X u i r * factor (m (w u)) r c)); intros r Hr.
      apply at_zero_mult; [apply HX, in_range, Hr|apply elementary_here].
      apply (parameters_written (DecoderSlot I O (fun w => factor (m w))) r c), Hin; simpl; auto.
    - apply elementary_here, (parameters_written (row_slot O (fun w => term (m w))) 0%nat c), Hin; simpl; auto.
  Qed.

  Lemma logits_at_zero i c : (i < places N)%nat -> elementary_at_zero (fun u => logits (page u) i c).
  Proof.
    intros Hi; destruct stages_before_relu as [X1 F].
    apply (linear_at_zero (channels N) (vocabulary N) unembed); [intros s; simpl; tauto|]; intros r _.
    apply (at_zero_plus (fun u => stage_x1 (page u) i r)); [apply elementary_here, X1|].
    apply (linear_at_zero (hidden N) (channels N) ff2); [intros s; simpl; tauto|]; intros k Hk.
    apply (at_zero_unary PositivePart (fun u => stage_f (page u) i k)); [apply elementary_here, F|].
    apply no_zero_before_relu; assumption.
  Qed.

  Theorem logits_are_computed i c : (i < places N)%nat ->
    exists E, computes (fun _ => 0) (fun _ => 1) E (fun u => logits (page u) i c).
  Proof. intros Hi; apply at_zero_is_computed, logits_at_zero, Hi. Qed.

  Theorem losses_are_computed targets :
    (forall i, (i < places N)%nat -> (targets i < vocabulary N)%nat) ->
    exists E, computes (fun _ => 0) (fun _ => 1) E (fun u => loss_of N (w u) tokens targets).
  Proof.
    intros Ht; apply at_zero_is_computed; unfold loss_of, mean_cross_entropy, Rdiv.
    apply at_zero_mult; [|apply at_zero_const].
    apply (at_zero_sum _ (fun i u => cross_entropy (vocabulary N) (logits (page u) i) (targets i))).
    intros i Hi; apply in_range in Hi; apply (at_zero_as (fun u =>
      ln (sum (range (vocabulary N)) (fun c => exp (logits (page u) i c))) + -1 * logits (page u) i (targets i)));
      [|intros u; unfold cross_entropy, log_sum_exp; ring].
    apply at_zero_plus; [|apply at_zero_mult; [apply at_zero_const|apply logits_at_zero, Hi]].
    apply (at_zero_unary Log (fun u => sum (range (vocabulary N)) (fun c => exp (logits (page u) i c)))).
    - apply (at_zero_sum _ (fun c u => exp (logits (page u) i c))); intros c _.
      apply (at_zero_unary Exp (fun u => logits (page u) i c)); [apply logits_at_zero, Hi|exact I].
    - apply sum_exp_pos, range_not_nil; specialize (Ht i Hi); lia.
  Qed.
End Written.
