(** The gradient of an affine map: of the rows, the weight and the bias together. *)
From Attest Require Export Derivatives.

(** * What may be absent *)

(** a parameter that is there, or is not *)
Definition if_present (present : bool) (r : row) : option row := if present then Some r else None.

(** * The affine map *)

Section Affine.
  Variables (S I O : nat) (has_bias : bool).
  Variables (X W : nat -> nat -> R -> R) (b : nat -> R -> R).      (* curves, at time u *)
  Variables (dX dW : matrix) (db : row) (t : R).                    (* their velocities at time t *)
  Hypothesis HX : forall s m, is_derive (X s m) t (dX s m).
  Hypothesis HW : forall m n, is_derive (W m n) t (dW m n).
  Hypothesis Hb : forall n, is_derive (b n) t (db n).

  (** row s, column n of the result, at time u *)
  Let Y (s n : nat) (u : R) : R :=
    affine I (fun m n => W m n u) (if_present has_bias (fun n => b n u)) (fun s m => X s m u) s n.

  (** and the velocity with which it moves *)
  Let tangent (s n : nat) : R :=
    sum (range I) (fun m => dX s m * W m n t + X s m t * dW m n) + if has_bias then db n else 0.

  Lemma affine_velocity s n : is_derive (Y s n) t (tangent s n).
  Proof.
    unfold Y, tangent, affine, dot; apply derive_plus.
    - apply (derive_sum (range I) (fun m u => X s m u * W m n u)); intros m _; apply derive_mult; auto.
    - destruct has_bias; simpl; [apply Hb|apply (is_derive_const 0 t)].
  Qed.

  (** GRD.P11: the tangent of the result against a cotangent is the direction against the gradient *)
  Theorem affine_gradient_transposes_the_tangent (G : matrix) :
    sum (range S) (fun s => sum (range O) (fun n => G s n * tangent s n))
    = sum (range S) (fun s => sum (range I) (fun m => affine_gradient_x O (fun m n => W m n t) G s m * dX s m))
      + sum (range I) (fun m => sum (range O) (fun n => affine_gradient_weight S (fun s m => X s m t) G m n * dW m n))
      + if has_bias then sum (range O) (fun n => affine_gradient_bias S G n * db n) else 0.
  Proof.
    assert (E1 : sum (range S) (fun s => sum (range I) (fun m =>
                   affine_gradient_x O (fun m n => W m n t) G s m * dX s m))
               = sum (range S) (fun s => sum (range O) (fun n => G s n * sum (range I) (fun m => dX s m * W m n t)))).
    { apply sum_ext; intros s _; unfold affine_gradient_x, dot.
      rewrite (sum_ext (range O) _ (fun n => sum (range I) (fun m => G s n * W m n t * dX s m)))
        by (intros n _; rewrite <- sum_scal; apply sum_ext; intros; ring).
      rewrite sum_swap; apply sum_ext; intros m _; symmetry; apply sum_scal_r. }
    assert (E2 : sum (range I) (fun m => sum (range O) (fun n =>
                   affine_gradient_weight S (fun s m => X s m t) G m n * dW m n))
               = sum (range S) (fun s => sum (range O) (fun n => G s n * sum (range I) (fun m => X s m t * dW m n)))).
    { unfold affine_gradient_weight; rewrite sum_swap, (sum_swap (range S)).
      apply sum_ext; intros n _.
      rewrite (sum_ext (range S) _ (fun s => sum (range I) (fun m => X s m t * G s n * dW m n)))
        by (intros s _; rewrite <- sum_scal; apply sum_ext; intros; ring).
      rewrite sum_swap; apply sum_ext; intros m _; symmetry; apply sum_scal_r. }
    assert (E3 : (if has_bias then sum (range O) (fun n => affine_gradient_bias S G n * db n) else 0)
               = sum (range S) (fun s => sum (range O) (fun n => G s n * if has_bias then db n else 0))).
    { clear Y; rewrite sum_swap; destruct has_bias.
      - apply sum_ext; intros n _; symmetry; apply sum_scal_r.
      - symmetry; apply sum_zero; intros; apply sum_zero; intros; ring. }
    rewrite E1, E2, E3, <- !sum_plus; apply sum_ext; intros s _; rewrite <- !sum_plus.
    apply sum_ext; intros n _; unfold tangent; rewrite sum_plus; ring.
  Qed.

  (** GRD.P11: so the gradient is the derivative along every curve *)
  Theorem affine_gradient_is_its_transpose (G : matrix) :
    is_derive (fun u => sum (range S) (fun s => sum (range O) (fun n => G s n * Y s n u))) t
      (sum (range S) (fun s => sum (range I) (fun m => affine_gradient_x O (fun m n => W m n t) G s m * dX s m))
       + sum (range I) (fun m => sum (range O) (fun n => affine_gradient_weight S (fun s m => X s m t) G m n * dW m n))
       + if has_bias then sum (range O) (fun n => affine_gradient_bias S G n * db n) else 0).
  Proof.
    apply (derive_as _ _ _ _ (derive_sum (range S) (fun s u => sum (range O) (fun n => G s n * Y s n u)) _ t
      (fun s _ => derive_sum (range O) (fun n u => G s n * Y s n u) _ t
         (fun n _ => derive_scal (Y s n) t (G s n) _ (affine_velocity s n))))).
    apply affine_gradient_transposes_the_tangent.
  Qed.
End Affine.

(** GRD.P11: the quotient of differences along a line is the gradient itself, whatever the step: there is no error *)
Theorem affine_gradient_is_the_central_quotient S I O has_bias (X W dX dW G : matrix) (b db : row) h : 0 < h ->
  let L u := sum (range S) (fun s => sum (range O) (fun n => G s n *
    affine I (fun m n => W m n + u * dW m n) (if_present has_bias (fun n => b n + u * db n))
             (fun s m => X s m + u * dX s m) s n)) in
  central_quotient L h
  = sum (range S) (fun s => sum (range I) (fun m => affine_gradient_x O W G s m * dX s m))
    + sum (range I) (fun m => sum (range O) (fun n => affine_gradient_weight S X G m n * dW m n))
    + if has_bias then sum (range O) (fun n => affine_gradient_bias S G n * db n) else 0.
Proof.
  intros Hh L.
  pose proof (affine_gradient_transposes_the_tangent S I O has_bias (fun s m _ => X s m) (fun m n _ => W m n)
                dX dW db 0 G) as T; etransitivity; [|exact T]; clear T.
  unfold central_quotient, L; rewrite <- sum_minus; unfold Rdiv; rewrite <- sum_scal_r.
  apply sum_ext; intros s _; rewrite <- sum_minus, <- sum_scal_r; apply sum_ext; intros n _.
  unfold affine, dot, if_present.
  set (p := sum (range I) (fun m => dX s m * W m n + X s m * dW m n)).
  assert (E : sum (range I) (fun m => (X s m + h * dX s m) * (W m n + h * dW m n))
              - sum (range I) (fun m => (X s m + - h * dX s m) * (W m n + - h * dW m n)) = 2 * h * p)
    by (unfold p; rewrite <- sum_minus, <- sum_scal; apply sum_ext; intros; ring).
  destruct has_bias; (apply Rmult_eq_reg_r with (2 * h); [|lra]); rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra;
    rewrite <- Rmult_minus_distr_l, Rmult_assoc; f_equal; lra.
Qed.
