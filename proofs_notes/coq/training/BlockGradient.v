(** The gradient of the decoder block: along curves of all parameters, and what it is for the bias of the keys. *)
From Attest Require Export Stages Block Loss.

(** every learned number moves, w' are the velocities *)
Definition decoder_moves (N : decoder_extents) (w : R -> decoder) (t : R) (w' : decoder) : Prop :=
  forall s i c, In s (decoder_slots N) -> is_derive (fun u => entries s (w u) i c) t (entries s w' i c).

(** the same, record by record *)
Definition norm_moves (p : R -> norm_map) (t : R) (p' : norm_map) : Prop :=
  (forall c, is_derive (fun u => factors (p u) c) t (factors p' c))
  /\ (forall c, is_derive (fun u => terms (p u) c) t (terms p' c)).
Definition linear_moves (m : R -> linear_map) (t : R) (m' : linear_map) : Prop :=
  matrix_moves (fun u => factor (m u)) t (factor m') /\ (forall c, is_derive (fun u => term (m u) c) t (term m' c)).

Lemma norm_slots_move N w t w' n p :
  decoder_moves N w t w' -> (forall s, In s (norm_slots n p) -> In s (decoder_slots N)) ->
  norm_moves (fun u => p (w u)) t (p w').
Proof.
  intros H Hin; split; intros c.
  - apply (H (row_slot n (fun w => factors (p w))) 0%nat c), Hin; simpl; auto.
  - apply (H (row_slot n (fun w => terms (p w))) 0%nat c), Hin; simpl; auto.
Qed.

Lemma linear_slots_move N w t w' I O m :
  decoder_moves N w t w' -> (forall s, In s (linear_slots I O m) -> In s (decoder_slots N)) ->
  linear_moves (fun u => m (w u)) t (m w').
Proof.
  intros H Hin; split; [intros i c|intros c].
  - apply (H (DecoderSlot I O (fun w => factor (m w))) i c), Hin; simpl; auto.
  - apply (H (row_slot O (fun w => term (m w))) 0%nat c), Hin; simpl; auto.
Qed.

(** * The lines of the page as stages *)

Definition norm_dot (N : decoder_extents) (p q : norm_map) : R :=
  dot (channels N) (factors p) (factors q) + dot (channels N) (terms p) (terms q).
Definition linear_dot (I O : nat) (p q : linear_map) : R :=
  matrix_dot I O (factor p) (factor q) + dot O (term p) (term q).

Lemma normed_line N p t p' X X' :
  0 < norm_epsilon N -> norm_moves p t p' -> matrix_moves X t X' ->
  exists Y', matrix_moves (fun u => normed N (p u) (X u)) t Y' /\
  forall G, matrix_dot (places N) (channels N) G Y' =
    matrix_dot (places N) (channels N) (normed_gradient_x N (p t) (X t) G) X'
      + norm_dot N (normed_gradient N (X t) G) p'.
Proof.
  intros He [Hg Hb] HX.
  destruct (normed_stage (channels N) (norm_epsilon N) (fun u => factors (p u)) (fun u => terms (p u)) X t _ _ X'
              He Hg Hb HX) as [Y' [M E]].
  exists Y'; split; [exact M|]; intros G; rewrite E; unfold norm_dot, normed_gradient, normed_gradient_x;
    cbn [factors terms]; ring.
Qed.

Lemma linear_line N I O m t m' X X' :
  linear_moves m t m' -> matrix_moves X t X' ->
  exists Y', matrix_moves (fun u => linear I (m u) (X u)) t Y' /\
  forall G, matrix_dot (places N) O G Y' =
    matrix_dot (places N) I (linear_gradient_x O (m t) G) X' + linear_dot I O (linear_gradient N (X t) G) m'.
Proof.
  intros [Hf Ht] HX.
  destruct (affine_stage I (fun u => factor (m u)) (fun u => Some (term (m u))) X t (factor m') (Some (term m')) X')
    as [Y' [M E]].
  - exact Hf.
  - exists (fun u => term (m u)); split; [reflexivity|exact Ht].
  - exact HX.
  - exists Y'; split; [exact M|]; intros G; rewrite E; unfold linear_dot, linear_gradient, linear_gradient_x;
      cbn [factor term row_dot]; ring.
Qed.

Lemma attended_line N Q K V t Q' K' V' :
  matrix_moves Q t Q' -> matrix_moves K t K' -> matrix_moves V t V' ->
  exists Y', matrix_moves (fun u => attend_causally N (Q u) (K u) (V u)) t Y' /\
  forall G, matrix_dot (places N) (channels N) G Y' =
    matrix_dot (places N) (channels N) (queries (attend_causally_gradient N (Q t) (K t) (V t) G)) Q'
    + matrix_dot (places N) (channels N) (keys (attend_causally_gradient N (Q t) (K t) (V t) G)) K'
    + matrix_dot (places N) (channels N) (values (attend_causally_gradient N (Q t) (K t) (V t) G)) V'.
Proof.
  intros HQ HK HV.
  destruct (head_stage (causal_head (places N) (channels N)) (fun u => Operands (Q u) (K u) (V u) (fun _ _ => 0) None) t
              (Operands Q' K' V' (fun _ _ => 0) None)) as [M E].
  - exact I.
  - exact (conj HQ (conj HK (conj HV (conj (fun _ _ => derive_const 0 t) (fun _ => eq_refl))))).
  - eexists; split; [exact M|]; intros G; rewrite E; unfold attend_causally_gradient; fold no_lse.
    generalize (head_gradient (causal_head (places N) (channels N)) no_lse (places N) (channels N)
                  (Operands (Q t) (K t) (V t) (fun _ _ => 0) None) G (fun _ => 0)); intros d.
    unfold inner; cbn [queries keys values biases sink key_count width causal_head or_zero].
    rewrite (sum_zero (range (places N)) (fun i => dot _ (biases d i) _))
      by (intros; apply sum_zero; intros; ring).
    unfold matrix_dot; ring.
Qed.

(** the gradient of a linear map reads the rows and columns that there are *)
Lemma linear_gradient_ext N I O X Y G m' :
  (forall i c, (i < places N)%nat -> (c < I)%nat -> X i c = Y i c) ->
  linear_dot I O (linear_gradient N X G) m' = linear_dot I O (linear_gradient N Y G) m'.
Proof.
  intros H; unfold linear_dot; f_equal; apply matrix_dot_ext; intros m c Hm _; simpl; unfold affine_gradient_weight.
  f_equal; apply sum_ext; intros s Hs; apply in_range in Hs; rewrite H by assumption; reflexivity.
Qed.

(** * The whole page *)

Section Page.
  Variables (N : decoder_extents) (w : R -> decoder) (t : R) (w' : decoder) (tokens : nat -> nat).
  Hypothesis epsilon_positive : 0 < norm_epsilon N.
  Hypothesis tokens_in_table : forall i, (i < places N)%nat -> (tokens i < vocabulary N)%nat.
  Hypothesis parameters_move : decoder_moves N w t w'.

  Let page (u : R) : stages := decoder_block N (w u) tokens.
  Hypothesis no_zero_before_relu : forall i c, (i < places N)%nat -> (c < hidden N)%nat -> stage_f (page t) i c <> 0.

  (** what is beyond the hidden layer is not read, and need not move *)
  Let clipped_r (u : R) : matrix := clipped (places N) (hidden N) (stage_r (page u)).
  Let clipped_logits (u : R) : matrix :=
    linear (channels N) (unembed (w u)) (both (stage_x1 (page u)) (linear (hidden N) (ff2 (w u)) (clipped_r u))).

  Lemma clipped_logits_are_logits u i c : (i < places N)%nat -> clipped_logits u i c = logits (page u) i c.
  Proof.
    intros Hi; apply affine_ext; intros m _; unfold both, residual; f_equal.
    apply affine_ext; intros k Hk; apply clipped_inside; assumption.
  Qed.

  Lemma decoder_dot_by_lines a b :
    decoder_dot N a b =
      matrix_dot (vocabulary N) (channels N) (embed a) (embed b) + norm_dot N (norm1 a) (norm1 b)
      + linear_dot (channels N) (channels N) (wq a) (wq b) + linear_dot (channels N) (channels N) (wk a) (wk b)
      + linear_dot (channels N) (channels N) (wv a) (wv b) + linear_dot (channels N) (channels N) (wo a) (wo b)
      + norm_dot N (norm2 a) (norm2 b) + linear_dot (channels N) (hidden N) (ff1 a) (ff1 b)
      + linear_dot (hidden N) (channels N) (ff2 a) (ff2 b)
      + linear_dot (channels N) (vocabulary N) (unembed a) (unembed b).
  Proof.
    unfold decoder_dot, decoder_slots, norm_slots, linear_slots, row_slot.
    cbn [app sum slot_rows slot_columns entries]; rewrite !matrix_dot_row; unfold norm_dot, linear_dot; ring.
  Qed.

  Lemma clipped_logits_stage :
    exists l', matrix_moves clipped_logits t l' /\
    forall g, matrix_dot (places N) (vocabulary N) g l' = decoder_dot N (decoder_block_gradient N (w t) tokens g) w'.
  Proof.
    assert (Hn1 : norm_moves (fun u => norm1 (w u)) t (norm1 w'))
      by (apply (norm_slots_move N w t w' (channels N) norm1 parameters_move); intros s; simpl; tauto).
    assert (Hn2 : norm_moves (fun u => norm2 (w u)) t (norm2 w'))
      by (apply (norm_slots_move N w t w' (channels N) norm2 parameters_move); intros s; simpl; tauto).
    pose proof (fun I O m => linear_slots_move N w t w' I O m parameters_move) as Hlinear.
    (* forwards: every stage moves *)
    destruct (embedding_stage (vocabulary N) tokens (fun u => embed (w u)) t (embed w')) as [Mx Ex].
    { intros i c; apply (parameters_move (DecoderSlot (vocabulary N) (channels N) embed) i c); simpl; auto. }
    destruct (normed_line N _ t _ (fun u => stage_x (page u)) _ epsilon_positive Hn1 Mx) as (n' & Mn & En).
    destruct (linear_line N (channels N) (channels N) _ t _ (fun u => stage_n (page u)) _
                (Hlinear (channels N) (channels N) wq ltac:(intros s; simpl; tauto)) Mn) as (q' & Mq & Eq).
    destruct (linear_line N (channels N) (channels N) _ t _ (fun u => stage_n (page u)) _
                (Hlinear (channels N) (channels N) wk ltac:(intros s; simpl; tauto)) Mn) as (k' & Mk & Ek).
    destruct (linear_line N (channels N) (channels N) _ t _ (fun u => stage_n (page u)) _
                (Hlinear (channels N) (channels N) wv ltac:(intros s; simpl; tauto)) Mn) as (v' & Mv & Ev).
    destruct (attended_line N (fun u => stage_q (page u)) (fun u => stage_k (page u)) (fun u => stage_v (page u)) t
                _ _ _ Mq Mk Mv) as (a' & Ma & Ea).
    destruct (linear_line N (channels N) (channels N) _ t _ (fun u => stage_a (page u)) _
                (Hlinear (channels N) (channels N) wo ltac:(intros s; simpl; tauto)) Ma) as (o' & Mo & Eo).
    pose proof (residual_moves (fun u => stage_x (page u)) _ t _ _ Mx Mo) as Mx1.
    destruct (normed_line N _ t _ (fun u => stage_x1 (page u)) _ epsilon_positive Hn2 Mx1) as (n1' & Mn1 & En1).
    destruct (linear_line N (channels N) (hidden N) _ t _ (fun u => stage_n1 (page u)) _
                (Hlinear (channels N) (hidden N) ff1 ltac:(intros s; simpl; tauto)) Mn1) as (f' & Mf & Ef).
    destruct (rectified_stage (places N) (hidden N) (fun u => stage_f (page u)) t f' Mf no_zero_before_relu)
      as (r' & Mr & Er).
    destruct (linear_line N (hidden N) (channels N) _ t _ clipped_r _
                (Hlinear (hidden N) (channels N) ff2 ltac:(intros s; simpl; tauto)) Mr) as (h' & Mh & Eh).
    pose proof (residual_moves (fun u => stage_x1 (page u)) _ t _ _ Mx1 Mh) as Mx2.
    destruct (linear_line N (channels N) (vocabulary N) _ t _ _ _
                (Hlinear (channels N) (vocabulary N) unembed ltac:(intros s; simpl; tauto)) Mx2) as (l' & Ml & El).
    (* backwards: what their velocities are, paired with the cotangents *)
    exists l'; split; [exact Ml|]; intros g.
    rewrite decoder_dot_by_lines; unfold decoder_block_gradient; cbv zeta; fold (page t).
    cbn [embed norm1 wq wk wv wo norm2 ff1 ff2 unembed].
    set (x2 := linear_gradient_x _ _ g).
    set (f := rectified_gradient _ _).
    set (n1 := linear_gradient_x _ _ f).
    set (x1 := both x2 _).
    set (a := linear_gradient_x _ _ x1).
    set (d := attend_causally_gradient _ _ _ _ a).
    set (n := both (both _ _) _).
    set (x := both x1 _).
    assert (L : matrix_dot (places N) (vocabulary N) g l' =
      matrix_dot (places N) (channels N) x1 (residual (embedding (embed w') tokens) o')
      + norm_dot N (normed_gradient N (stage_x1 (page t)) n1) (norm2 w')
      + linear_dot (channels N) (hidden N) (linear_gradient N (stage_n1 (page t)) f) (ff1 w')
      + linear_dot (hidden N) (channels N) (linear_gradient N (stage_r (page t)) x2) (ff2 w')
      + linear_dot (channels N) (vocabulary N) (linear_gradient N (stage_x2 (page t)) g) (unembed w')).
    { rewrite El, matrix_dot_plus_r; fold x2; rewrite Eh, Er; fold f; rewrite Ef; fold n1; rewrite En1.
      unfold x1, both; rewrite matrix_dot_plus_l.
      rewrite (linear_gradient_ext N _ _ (clipped_r t) (stage_r (page t)))
        by (intros; apply clipped_inside; assumption).
      rewrite (linear_gradient_ext N _ _ _ (stage_x2 (page t)) g).
      - ring.
      - intros i c Hi _; unfold residual; simpl; unfold both, residual; f_equal.
        apply affine_ext; intros m Hm; apply clipped_inside; assumption. }
    rewrite L, matrix_dot_plus_r, Eo; fold a; rewrite Ea; fold d; rewrite Eq, Ek, Ev.
    rewrite <- (Ex (places N) (channels N) x tokens_in_table).
    unfold x, both; rewrite matrix_dot_plus_l.
    assert (En' := En n); unfold n at 1, both in En'; rewrite !matrix_dot_plus_l in En'.
    lra.
  Qed.

  (** DEC.P7 *)
  Theorem block_gradient_is_the_transpose_of_its_tangent g :
    is_derive (fun u => matrix_dot (places N) (vocabulary N) g (logits (page u))) t
              (decoder_dot N (decoder_block_gradient N (w t) tokens g) w').
  Proof.
    destruct clipped_logits_stage as (l' & M & E); rewrite <- E.
    apply (derive_fun (fun u => matrix_dot (places N) (vocabulary N) g (clipped_logits u))).
    - apply matrix_dot_moves, M.
    - intros u; apply matrix_dot_ext; intros i c Hi _; rewrite clipped_logits_are_logits by exact Hi; reflexivity.
  Qed.

  (** TRN.P7 *)
  Theorem gradient_of_the_loss_is_the_transpose_of_its_tangent targets :
    (forall i, (i < places N)%nat -> (targets i < vocabulary N)%nat) ->
    is_derive (fun u => loss_of N (w u) tokens targets) t (decoder_dot N (loss_gradient N (w t) tokens targets) w').
  Proof.
    intros Htargets; destruct clipped_logits_stage as (l' & M & E); unfold loss_gradient; rewrite <- E.
    apply (derive_fun (fun u => mean_cross_entropy (places N) (vocabulary N) (clipped_logits u) targets)).
    - apply (derive_as _ _ _ _ (loss_gradient_is_the_transpose_of_its_tangent (places N) (vocabulary N)
        (fun i c u => clipped_logits u i c) l' targets t Htargets M)).
      apply matrix_dot_ext; intros i c Hi Hc; f_equal; unfold mean_cross_entropy_gradient; do 2 f_equal.
      apply softmax_ext; [|apply in_range, Hc]; intros k _; apply clipped_logits_are_logits, Hi.
    - intros u; apply mean_cross_entropy_ext; intros i c Hi; apply clipped_logits_are_logits, Hi.
  Qed.
End Page.

(** * The bias of the keys *)

(** without a softcap, and without a cotangent of the log-sum-exp, what arrives at the scores of a row sums to 0 *)
Lemma score_gradients_sum_to_zero S d x i g :
  sink x = None -> sum (row_keys (causal_head S d) i) (row_score_gradient (causal_head S d) no_lse d x i g 0) = 0.
Proof.
  intros Hsink; set (h := causal_head S d); set (w := weights_of h x i); set (dw := of_weights h d x i g).
  rewrite (sum_ext _ _ (fun j => w j * dw j - w j * centre (row_keys h i) w dw)).
  - rewrite sum_minus, sum_scal_r; fold (centre (row_keys h i) w dw).
    destruct (row_keys h i) as [|k keys] eqn:Ek; [unfold centre; simpl; ring|].
    replace (sum (k :: keys) w) with 1; [ring|]; rewrite <- Ek; symmetry.
    rewrite (sum_ext _ w (softmax (row_keys h i) (logits_of h x i))).
    + apply softmax_sum_1; rewrite Ek; discriminate.
    + intros j Hj; unfold w; rewrite weights_of_visible, Hsink by exact Hj; apply sink_softmax_none.
  - intros j Hj; unfold row_score_gradient, logit_score_gradient; simpl.
    rewrite row_logit_gradient_visible by exact Hj; unfold softmax_gradient, log_sum_exp_gradient, in_base; simpl.
    fold h w dw; ring.
Qed.

(** DEC.P9 *)
Theorem the_bias_of_the_keys_has_no_gradient N w tokens g c :
  term (wk (decoder_block_gradient N w tokens g)) c = 0.
Proof.
  unfold decoder_block_gradient; cbv zeta; cbn [wk linear_gradient term].
  generalize (decoder_block N w tokens); intros s; generalize (stage_q s), (stage_k s), (stage_v s).
  generalize (linear_gradient_x (channels N) (wo w)); intros back Q K V.
  match goal with |- context [attend_causally_gradient N Q K V ?G] => generalize G end; intros G.
  unfold affine_gradient_bias, attend_causally_gradient; fold no_lse.
  set (h := causal_head (places N) (channels N)); set (x := Operands Q K V (fun _ _ => 0) None).
  cbn [head_gradient keys]; rewrite sum_scal; unfold seen_by.
  rewrite <- (sum_swap_filter (places N) (places N) (visible h)
    (fun i j => row_score_gradient h no_lse (channels N) x i (G i) 0 j * queries x i c)).
  rewrite sum_zero; [ring|]; intros i _; rewrite sum_scal_r.
  change (sum (row_keys h i) (row_score_gradient h no_lse (channels N) x i (G i) 0) * queries x i c = 0).
  unfold h; rewrite score_gradients_sum_to_zero by reflexivity; ring.
Qed.
