(** The stages of which a decoder block and a layer are composed: norms of rows, a head, an embedding, relu. *)
From Attest Require Export NormGradient HeadGradient Duals Composition.

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
