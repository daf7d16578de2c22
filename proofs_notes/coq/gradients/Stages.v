(** The stages of which a decoder block and a layer are composed: norms of rows, a head, an embedding, relu. *)
From Attest Require Export NormGradient CallGradient Duals Composition.

(** DEC.D6, DEC.D20 *)
Lemma normed_stage n epsilon (gamma beta : R -> row) (X : R -> matrix) t (gamma' beta' : row) X' :
  0 < epsilon -> (forall c, is_derive (fun u => gamma u c) t (gamma' c)) ->
  (forall c, is_derive (fun u => beta u c) t (beta' c)) -> matrix_moves X t X' ->
  exists Y', matrix_moves (fun u => normed_rows n (gamma u) (beta u) epsilon (X u)) t Y' /\
  forall S G, matrix_dot S n G Y' = matrix_dot S n (normed_rows_gradient_x n (Some (gamma t)) epsilon (X t) G) X'
    + dot n (normed_rows_gradient_gamma S n epsilon (X t) G) gamma' + dot n (normed_rows_gradient_beta S G) beta'.
Proof.
  intros He Hg Hb HX; eexists; split.
  - intros i c.
    exact (layer_norm_velocity n true true epsilon (fun c u => gamma u c) (fun c u => beta u c) gamma' beta' t Hg Hb
             (fun c u => X u i c) (X' i) (HX i) (variance_plus_epsilon_pos n _ epsilon He) c).
  - intros m G; refine (derive_unique _ _ _ _ (matrix_dot_moves m n G _ t _ _) _).
    + intros i c.
      exact (layer_norm_velocity n true true epsilon (fun c u => gamma u c) (fun c u => beta u c) gamma' beta' t Hg Hb
             (fun c u => X u i c) (X' i) (HX i) (variance_plus_epsilon_pos n _ epsilon He) c).
    + exact (normed_rows_gradient_is_its_transpose n true true epsilon (fun c u => gamma u c) (fun c u => beta u c)
               gamma' beta' t Hg Hb m (fun i c u => X u i c) X' HX
               (fun i _ => variance_plus_epsilon_pos n _ epsilon He) G).
Qed.

(** ATT.D7, GRD.D10: the outputs of a head, of whose log-sum-exps nobody asks *)
Definition no_lse : lse_form := LseForm false false.
Lemma head_stage h x t x' :
  cap_is_positive h -> moves x t x' ->
  matrix_moves (fun u => output_of h (x u)) t (output_velocity h (x t) x') /\
  forall n d_v G, matrix_dot n d_v G (output_velocity h (x t) x') =
    inner n (key_count h) (width h) d_v (head_gradient h no_lse n d_v (x t) G (fun _ => 0)) x'.
Proof.
  intros Hcap Hx.
  assert (M : matrix_moves (fun u => output_of h (x u)) t (output_velocity h (x t) x'))
    by (intros i c; apply output_moves; assumption).
  split; [exact M|]; intros n d_v G.
  apply (derive_unique (fun u => head_loss h no_lse n d_v (x u) G (fun _ => 0)) t).
  - apply (derive_fun (fun u => matrix_dot n d_v G (output_of h (x u)))); [apply matrix_dot_moves, M|].
    intros u; unfold head_loss, matrix_dot; apply sum_ext; intros i _; ring.
  - apply head_gradient_is_the_derivative; assumption.
Qed.

(** DEC.D1, DEC.D17 *)
Lemma embedding_stage V tokens (C : R -> matrix) t C' :
  matrix_moves C t C' ->
  matrix_moves (fun u => embedding (C u) tokens) t (embedding C' tokens) /\
  forall S n G, (forall i, (i < S)%nat -> (tokens i < V)%nat) ->
    matrix_dot S n G (embedding C' tokens) = matrix_dot V n (embedding_gradient S tokens G) C'.
Proof.
  intros HC; split; [intros i c; apply HC|]; intros m n G Ht; unfold matrix_dot, embedding, embedding_gradient.
  rewrite (sum_ext (range m) _ (fun i => sum (range V) (fun v =>
    (if Nat.eqb (tokens i) v then 1 else 0) * dot n (G i) (C' v)))).
  - rewrite sum_swap; apply sum_ext; intros v _; unfold dot at 2.
    rewrite (sum_ext (range m) _ (fun i => if Nat.eqb (tokens i) v then dot n (G i) (C' v) else 0))
      by (intros i _; destruct (Nat.eqb (tokens i) v); ring).
    rewrite (sum_filter (range m) (fun i => Nat.eqb (tokens i) v)); unfold dot; rewrite sum_swap.
    apply sum_ext; intros c _; rewrite sum_scal_r; reflexivity.
  - intros i Hi; apply in_range, Ht, in_range in Hi; symmetry.
    apply (sum_delta (range V) (tokens i) (fun v => dot n (G i) (C' v))); [apply seq_NoDup|exact Hi].
Qed.

(** DEC.D13: relu of a number that is not 0 *)
Lemma relu_moves (f : R -> R) t f' :
  is_derive f t f' -> f t <> 0 -> is_derive (fun u => relu (f u)) t (relu_gradient (f t) f').
Proof. exact (tangent_of_an_operation_is_its_derivative PositivePart f t f'). Qed.

Lemma relu_gradient_transposes x g v : g * relu_gradient x v = relu_gradient x g * v.
Proof. unfold relu_gradient, where_positive; destruct Rlt_dec; ring. Qed.

(** only the entries below (m, n) of a matrix, and 0 elsewhere: what lies there need not move *)
Definition clipped (m n : nat) (X : matrix) : matrix := fun i c => if (i <? m)%nat && (c <? n)%nat then X i c else 0.

Lemma clipped_inside m n X i c : (i < m)%nat -> (c < n)%nat -> clipped m n X i c = X i c.
Proof. intros Hi Hc; apply Nat.ltb_lt in Hi; apply Nat.ltb_lt in Hc; unfold clipped; rewrite Hi, Hc; reflexivity. Qed.

Lemma rectified_stage m n (X : R -> matrix) t X' :
  matrix_moves X t X' -> (forall i c, (i < m)%nat -> (c < n)%nat -> X t i c <> 0) ->
  exists Y', matrix_moves (fun u => clipped m n (rectified (X u))) t Y' /\
  forall G, matrix_dot m n G Y' = matrix_dot m n (rectified_gradient (X t) G) X'.
Proof.
  intros HX Hne; exists (clipped m n (fun i c => relu_gradient (X t i c) (X' i c))); split.
  - intros i c; unfold clipped; destruct (Nat.ltb_spec i m), (Nat.ltb_spec c n); simpl; try apply derive_const.
    apply (relu_moves (fun u => X u i c)); auto.
  - intros G; apply matrix_dot_ext; intros i c Hi Hc; rewrite clipped_inside by assumption.
    apply relu_gradient_transposes.
Qed.

(** * The stages of a layer: heads that are split and merged, rows that are appended, projections. *)

(** * Ranges in pieces *)

Lemma sum_seq_shift n s m (f : nat -> R) : sum (seq (n + s) m) f = sum (seq s m) (fun i => f (n + i)%nat).
Proof.
  revert s; induction m as [|m IH]; intros s; simpl; [reflexivity|].
  rewrite plus_n_Sm, IH; reflexivity.
Qed.

Lemma sum_range_add n m (f : nat -> R) :
  sum (range (n + m)) f = sum (range n) f + sum (range m) (fun i => f (n + i)%nat).
Proof.
  unfold range; rewrite seq_app, sum_app; f_equal; simpl.
  rewrite <- (sum_seq_shift n 0 m f), Nat.add_0_r; reflexivity.
Qed.

(** columns are those of head 0, of head 1, ... *)
Lemma sum_range_mul H w (f : nat -> R) :
  sum (range (H * w)) f = sum (range H) (fun h => sum (range w) (fun c => f (h * w + c)%nat)).
Proof.
  induction H as [|H IH]; [reflexivity|].
  replace (S H * w)%nat with (H * w + w)%nat by lia; rewrite sum_range_add, IH.
  replace (S H) with (H + 1)%nat by lia; rewrite sum_range_add; f_equal.
  simpl; rewrite Nat.add_0_r; ring.
Qed.

Lemma matrix_dot_comm S n G X : matrix_dot S n G X = matrix_dot S n X G.
Proof. apply matrix_dot_ext; intros; apply Rmult_comm. Qed.

(** * Heads *)

Lemma merged_entry w (Y : nat -> matrix) h s c : (c < w)%nat -> merge_heads w Y s (h * w + c) = Y h s c.
Proof.
  intros Hc; unfold merge_heads; rewrite Nat.div_add_l, Nat.div_small, Nat.add_0_r by lia.
  rewrite Nat.add_comm, Nat.mod_add, Nat.mod_small by lia; reflexivity.
Qed.

(** GRD.D14: merging is the transpose of splitting *)
Theorem splitting_and_merging_are_transposes S H w (Y : nat -> matrix) X :
  matrix_dot S (H * w) (split_heads_gradient w Y) X = sum (range H) (fun h => matrix_dot S w (Y h) (split_heads w X h)).
Proof.
  unfold matrix_dot; rewrite (sum_swap (range H)); apply sum_ext; intros i _; unfold dot; rewrite sum_range_mul.
  apply sum_ext; intros h _; apply sum_ext; intros c Hc; apply in_range in Hc.
  unfold split_heads_gradient; rewrite merged_entry by exact Hc; reflexivity.
Qed.

(** and splitting that of merging *)
Theorem merging_and_splitting_are_transposes S H w G (Y : nat -> matrix) :
  matrix_dot S (H * w) G (merge_heads w Y) = sum (range H) (fun h => matrix_dot S w (merge_heads_gradient w G h) (Y h)).
Proof.
  rewrite matrix_dot_comm; fold (split_heads_gradient w Y); rewrite splitting_and_merging_are_transposes.
  apply sum_ext; intros h _; apply matrix_dot_comm.
Qed.

(** * Appended rows *)

(** GRD.D15 *)
Theorem appended_rows_have_their_cotangents n m O G A B :
  matrix_dot (n + m) O G (append_rows n A B) =
  matrix_dot n O (fst (append_rows_gradient n G)) A + matrix_dot m O (snd (append_rows_gradient n G)) B.
Proof.
  unfold matrix_dot, append_rows; rewrite sum_range_add; f_equal; apply sum_ext; intros i Hi; apply in_range in Hi.
  - apply Nat.ltb_lt in Hi; rewrite Hi; reflexivity.
  - destruct (Nat.ltb_spec (n + i) n); [lia|]; simpl; replace (n + i - n)%nat with i by lia; reflexivity.
Qed.

Lemma append_moves n (A B : R -> matrix) t A' B' :
  matrix_moves A t A' -> matrix_moves B t B' ->
  matrix_moves (fun u => append_rows n (A u) (B u)) t (append_rows n A' B').
Proof. intros HA HB s c; unfold append_rows; destruct (s <? n)%nat; [apply HA|apply HB]. Qed.

(** * Projections *)

Definition projection_moves (p : R -> projection) (t : R) (p' : projection) : Prop :=
  matrix_moves (fun u => weight_of (p u)) t (weight_of p') /\ row_moves (fun u => bias_of (p u)) t (bias_of p').

(** of n rows X with cotangents G, whether or not there is a bias *)
Definition gradient_of_projection (n : nat) (X G : matrix) : projection :=
  Projection (affine_gradient_weight n X G) (Some (affine_gradient_bias n G)).

Lemma projected_stage I (p : R -> projection) (X : R -> matrix) t p' X' :
  projection_moves p t p' -> matrix_moves X t X' ->
  exists Y', matrix_moves (fun u => projected I (p u) (X u)) t Y' /\
  forall n O G, matrix_dot n O G Y' =
    matrix_dot n I (affine_gradient_x O (weight_of (p t)) G) X'
      + projection_dot I O (gradient_of_projection n (X t) G) p'.
Proof.
  intros [HW Hb] HX.
  destruct (affine_stage I (fun u => weight_of (p u)) (fun u => bias_of (p u)) X t _ _ X' HW Hb HX) as [Y' [M E]].
  exists Y'; split; [exact M|]; intros n O G; rewrite E; unfold projection_dot, gradient_of_projection.
  cbn [weight_of bias_of]; ring.
Qed.

(** how many rows are added *)
Definition one_if {A : Type} (r : option A) : nat := if r then 1 else 0.

(** MHA.D9 *)
Lemma projected_keys_stage I n (p : R -> projection) (r : R -> option row) zero (X : R -> matrix) t p' r' X' :
  projection_moves p t p' -> row_moves r t r' -> matrix_moves X t X' ->
  exists K', matrix_moves (fun u => projected_keys I n (p u) (r u) zero (X u)) t K' /\
  forall O G, matrix_dot (n + (one_if r' + if zero then 1 else 0)) O G K' =
    matrix_dot n I (affine_gradient_x O (weight_of (p t)) (fst (append_rows_gradient n G))) X'
    + projection_dot I O (gradient_of_projection n (X t) (fst (append_rows_gradient n G))) p'
    + row_dot O (Some (snd (append_rows_gradient n G) 0%nat)) r'.
Proof.
  intros Hp Hr HX; destruct (projected_stage I p X t p' X' Hp HX) as [Y' [M E]].
  assert (Z : matrix_moves (fun _ : R => fun _ _ => 0) t (fun _ _ => 0)) by (intros i c; apply derive_const).
  assert (D0 : forall m O G, matrix_dot m O G (fun _ _ => 0) = 0).
  { intros m O G; apply sum_zero; intros; apply sum_zero; intros; ring. }
  unfold projected_keys; destruct r' as [v|]; simpl in Hr.
  - destruct Hr as (a & Ea & Ha).
    assert (MA : matrix_moves (fun u => fun _ => a u) t (fun _ => v)) by (intros i c; apply Ha).
    assert (MM := append_moves n _ _ t _ _ M MA).
    assert (D1 : forall O G, matrix_dot (n + 1) O G (append_rows n Y' (fun _ => v))
                 = matrix_dot n O G Y' + row_dot O (Some (G (n + 0)%nat)) (Some v)).
    { intros O G; rewrite appended_rows_have_their_cotangents; unfold matrix_dot at 2; simpl; ring. }
    destruct zero; simpl one_if.
    + exists (append_rows (n + 1) (append_rows n Y' (fun _ => v)) (fun _ _ => 0)); split.
      * intros i c; apply (derive_fun (fun u =>
          append_rows (n + 1) (append_rows n (projected I (p u) (X u)) (fun _ => a u)) (fun _ _ => 0) i c));
          [|intros u; rewrite Ea; reflexivity].
        exact (append_moves (n + 1) _ _ t _ _ MM Z i c).
      * intros O G; replace (n + (1 + 1))%nat with ((n + 1) + 1)%nat by lia.
        rewrite appended_rows_have_their_cotangents, D0, D1, E; simpl fst; simpl snd; ring.
    + exists (append_rows n Y' (fun _ => v)); split.
      * intros i c; apply (derive_fun (fun u => append_rows n (projected I (p u) (X u)) (fun _ => a u) i c));
          [apply MM|intros u; rewrite Ea; reflexivity].
      * intros O G; rewrite Nat.add_0_r, D1, E; simpl fst; simpl snd; ring.
  - destruct zero; simpl one_if.
    + exists (append_rows n Y' (fun _ _ => 0)); split.
      * intros i c; apply (derive_fun (fun u => append_rows n (projected I (p u) (X u)) (fun _ _ => 0) i c));
          [exact (append_moves n _ _ t _ _ M Z i c)|intros u; rewrite Hr; reflexivity].
      * intros O G; rewrite appended_rows_have_their_cotangents, D0, E; simpl; ring.
    + exists Y'; split.
      * intros i c; apply (derive_fun (fun u => projected I (p u) (X u) i c));
          [apply M|intros u; rewrite Hr; reflexivity].
      * intros O G; rewrite Nat.add_0_r, E; simpl; ring.
Qed.
