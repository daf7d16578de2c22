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

  (** with which velocity a number of the result moves *)
  Lemma affine_velocity s n :
    is_derive (Y s n) t
      (sum (range I) (fun m => dX s m * W m n t + X s m t * dW m n) + if has_bias then db n else 0).
  Proof.
    unfold Y, affine, dot; apply derive_plus.
    - apply (derive_sum (range I) (fun m u => X s m u * W m n u)); intros m _; apply derive_mult; auto.
    - destruct has_bias; simpl; [apply Hb|apply (is_derive_const 0 t)].
  Qed.

  (** GRD.P11 *)
  Theorem affine_gradient_is_its_transpose (G : matrix) :
    is_derive (fun u => sum (range S) (fun s => sum (range O) (fun n => G s n * Y s n u))) t
      (sum (range S) (fun s => sum (range I) (fun m => affine_gradient_x O (fun m n => W m n t) G s m * dX s m))
       + sum (range I) (fun m => sum (range O) (fun n =>
           affine_gradient_weight S (fun s m => X s m t) G m n * dW m n))
       + if has_bias then sum (range O) (fun n => affine_gradient_bias S G n * db n) else 0).
  Proof.
    eapply derive_as.
    - apply (derive_sum (range S) (fun s u => sum (range O) (fun n => G s n * Y s n u))); intros s _.
      apply (derive_sum (range O) (fun n u => G s n * Y s n u)); intros n _.
      apply derive_scal, affine_velocity.
    - assert (E1 : sum (range S) (fun s => sum (range I) (fun m =>
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
      { rewrite sum_swap; destruct has_bias.
        - apply sum_ext; intros n _; symmetry; apply sum_scal_r.
        - symmetry; apply sum_zero; intros; apply sum_zero; intros; ring. }
      rewrite E1, E2, E3, <- !sum_plus; apply sum_ext; intros s _; rewrite <- !sum_plus.
      apply sum_ext; intros n _; rewrite sum_plus; ring.
  Qed.
End Affine.
