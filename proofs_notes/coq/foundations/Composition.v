(** How derivatives compose. A stage makes a matrix from matrices that move. It has two parts: its entries move, and
    their velocities, paired with any cotangent, give what the gradient of the stage gives paired with the velocities of
    what it was made from. So a gradient runs backwards through any composition of stages. *)
From Attest Require Export AffineGradient Derivatives.

Lemma matrix_dot_plus_l S n G H X : matrix_dot S n (residual G H) X = matrix_dot S n G X + matrix_dot S n H X.
Proof.
  unfold matrix_dot, residual, dot; rewrite <- sum_plus; apply sum_ext; intros i _.
  rewrite <- sum_plus; apply sum_ext; intros; ring.
Qed.

Lemma matrix_dot_plus_r S n G X Y : matrix_dot S n G (residual X Y) = matrix_dot S n G X + matrix_dot S n G Y.
Proof.
  unfold matrix_dot, residual, dot; rewrite <- sum_plus; apply sum_ext; intros i _.
  rewrite <- sum_plus; apply sum_ext; intros; ring.
Qed.

Lemma matrix_dot_ext S n G H X Y :
  (forall i c, (i < S)%nat -> (c < n)%nat -> G i c * X i c = H i c * Y i c) -> matrix_dot S n G X = matrix_dot S n H Y.
Proof.
  intros E; apply sum_ext; intros i Hi; apply sum_ext; intros c Hc; apply in_range in Hi; apply in_range in Hc; auto.
Qed.

(** a single row *)
Lemma matrix_dot_row n (g x : row) : matrix_dot 1 n (fun _ => g) (fun _ => x) = dot n g x.
Proof. unfold matrix_dot; simpl; ring. Qed.

(** * Matrices that move *)

(** every entry moves, X' are the velocities at time t *)
Definition matrix_moves (X : R -> matrix) (t : R) (X' : matrix) : Prop :=
  forall i c, is_derive (fun u => X u i c) t (X' i c).

Lemma matrix_dot_moves S n G (X : R -> matrix) t X' :
  matrix_moves X t X' -> is_derive (fun u => matrix_dot S n G (X u)) t (matrix_dot S n G X').
Proof.
  intros H; apply (derive_sum (range S) (fun i u => dot n (G i) (X u i))); intros i _.
  apply (derive_sum (range n) (fun c u => G i c * X u i c)); intros c _; apply derive_scal, H.
Qed.

(** the one entry (i, c) *)
Definition entry_at (i c : nat) : matrix := fun j e => (if Nat.eqb i j then 1 else 0) * (if Nat.eqb c e then 1 else 0).

Lemma matrix_dot_entry S n i c X : (i < S)%nat -> (c < n)%nat -> matrix_dot S n (entry_at i c) X = X i c.
Proof.
  intros Hi Hc; unfold matrix_dot.
  rewrite (sum_ext _ _ (fun j => (if Nat.eqb i j then 1 else 0) * X j c)).
  - apply (sum_delta (range S) i (fun j => X j c)); [apply seq_NoDup|apply in_range, Hi].
  - intros j _; unfold dot, entry_at.
    rewrite (sum_ext _ _ (fun e => (if Nat.eqb i j then 1 else 0) * ((if Nat.eqb c e then 1 else 0) * X j e)))
      by (intros; ring).
    rewrite sum_scal, (sum_delta (range n) c (X j)); [reflexivity|apply seq_NoDup|apply in_range, Hc].
Qed.

(** if the pairings of a matrix with all cotangents move, whatever its extents, then its entries move *)
Lemma entries_move (X : R -> matrix) t (d : nat -> nat -> matrix -> R) :
  (forall S n G, is_derive (fun u => matrix_dot S n G (X u)) t (d S n G)) ->
  exists X', matrix_moves X t X' /\ forall S n G, d S n G = matrix_dot S n G X'.
Proof.
  intros H; exists (fun i c => d (S i) (S c) (entry_at i c)).
  assert (M : matrix_moves X t (fun i c => d (S i) (S c) (entry_at i c))).
  { intros i c; apply (derive_fun (fun u => matrix_dot (S i) (S c) (entry_at i c) (X u))); [apply H|].
    intros u; apply matrix_dot_entry; lia. }
  split; [exact M|]; intros m n G.
  exact (derive_unique _ _ _ _ (H m n G) (matrix_dot_moves m n G X t _ M)).
Qed.

Lemma residual_moves X Y t X' Y' :
  matrix_moves X t X' -> matrix_moves Y t Y' -> matrix_moves (fun u => residual (X u) (Y u)) t (residual X' Y').
Proof. intros HX HY i c; apply (derive_plus (fun u => X u i c)); [apply HX|apply HY]. Qed.

(** * The stages of earlier chapters *)

(** what may be absent is absent at all times *)
Definition row_moves (b : R -> option row) (t : R) (b' : option row) : Prop :=
  match b' with
  | Some v => exists r, (forall u, b u = Some (r u)) /\ forall c, is_derive (fun u => r u c) t (v c)
  | None => forall u, b u = None
  end.

(** MHA.D4, GRD.D13 *)
Lemma affine_stage I (W : R -> matrix) (b : R -> option row) (X : R -> matrix) t W' b' X' :
  matrix_moves W t W' -> row_moves b t b' -> matrix_moves X t X' ->
  exists Y', matrix_moves (fun u => affine I (W u) (b u) (X u)) t Y' /\
  forall S O G, matrix_dot S O G Y' = matrix_dot S I (affine_gradient_x O (W t) G) X'
    + matrix_dot I O (affine_gradient_weight S (X t) G) W' + row_dot O (Some (affine_gradient_bias S G)) b'.
Proof.
  intros HW Hb HX.
  destruct (entries_move (fun u => affine I (W u) (b u) (X u)) t (fun S O G =>
    matrix_dot S I (affine_gradient_x O (W t) G) X' + matrix_dot I O (affine_gradient_weight S (X t) G) W'
    + row_dot O (Some (affine_gradient_bias S G)) b')) as [Y' [M E]].
  - intros S O G; destruct b' as [v|]; simpl in Hb.
    + destruct Hb as (r & Er & Hr).
      apply (derive_fun (fun u => matrix_dot S O G (affine I (W u) (Some (r u)) (X u))));
        [|intros u; rewrite Er; reflexivity].
      exact (affine_gradient_is_its_transpose S I O true
               (fun s m u => X u s m) (fun m n u => W u m n) (fun n u => r u n)
               X' W' v t HX HW Hr G).
    + apply (derive_fun (fun u => matrix_dot S O G (affine I (W u) None (X u)))); [|intros u; rewrite Hb; reflexivity].
      exact (affine_gradient_is_its_transpose S I O false (fun s m u => X u s m) (fun m n u => W u m n) (fun _ _ => 0)
               X' W' (fun _ => 0) t HX HW (fun _ => derive_const 0 t) G).
  - exists Y'; split; [exact M|]; intros; symmetry; apply E.
Qed.
