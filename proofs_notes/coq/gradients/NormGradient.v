(** The gradients of root mean square norm and layer norm: of the row (or the rows), gamma and beta together. *)
From Attest Require Export AffineGradient Norms.

(** * Centring is symmetric *)

Lemma centred_symmetric n h x : dot n h (centred n x) = dot n (centred n h) x.
Proof.
  unfold dot, centred, mean.
  rewrite (sum_ext _ (fun c => h c * _) (fun c => h c * x c - h c * (sum (range n) x / INR n))) by (intros; ring).
  rewrite (sum_ext _ (fun c => _ * x c) (fun c => h c * x c - (sum (range n) h / INR n) * x c)) by (intros; ring).
  rewrite !sum_minus, sum_scal_r, sum_scal; unfold Rdiv; ring.
Qed.

Lemma centred_velocity n (x : nat -> R -> R) dx t c :
  (forall k, is_derive (x k) t (dx k)) ->
  is_derive (fun u => centred n (fun k => x k u) c) t (centred n dx c).
Proof.
  intros Hx; unfold centred, mean, Rdiv; apply (is_derive_minus (x c)); [apply Hx|].
  eapply derive_as.
  - apply derive_mult; [apply (derive_sum (range n) x dx); auto|apply (is_derive_const (/ INR n))].
  - simpl; unfold zero; simpl; ring.
Qed.

(** * Root mean square norm *)

Section Rms_norm.
  Variables (n : nat) (has_gamma : bool) (epsilon : R).
  Variables (x gamma : nat -> R -> R).                              (* curves, at time u *)
  Variables (dx dgamma : row) (t : R).                              (* their velocities at time t *)
  Hypothesis Hx : forall c, is_derive (x c) t (dx c).
  Hypothesis Hgamma : forall c, is_derive (gamma c) t (dgamma c).

  Let x_at (u : R) : row := fun c => x c u.
  Let gamma_at (u : R) : option row := if_present has_gamma (fun c => gamma c u).
  Hypothesis Hpos : 0 < mean_square n (x_at t) + epsilon.

  Let r := sqrt (mean_square n (x_at t) + epsilon).
  Let y : row := rms_norm n None epsilon (x_at t).

  Lemma root_pos : 0 < r.
  Proof. apply sqrt_lt_R0, Hpos. Qed.

  Lemma root_velocity :
    is_derive (fun u => sqrt (mean_square n (x_at u) + epsilon)) t (dot n y dx / INR n).
  Proof.
    assert (D : is_derive (fun u => mean_square n (x_at u) + epsilon) t (2 * (dot n (x_at t) dx / INR n))).
    { eapply derive_as.
      - apply derive_plus; [|apply (is_derive_const epsilon)].
        apply derive_mult; [|apply (is_derive_const (/ INR n))].
        apply (derive_sum (range n) (fun c u => x c u * x c u)); intros c _; apply derive_mult; apply Hx.
      - unfold zero, dot; simpl; rewrite (sum_ext _ _ (fun c => 2 * (x_at t c * dx c)))
          by (intros; unfold x_at; ring).
        rewrite sum_scal; unfold Rdiv; ring. }
    eapply derive_as; [apply (is_derive_sqrt _ _ _ D Hpos)|].
    fold r; pose proof root_pos.
    replace (dot n y dx) with (dot n (x_at t) dx / r); [unfold Rdiv; generalize (/ INR n); intros; field; lra|].
    unfold dot, Rdiv; rewrite <- sum_scal_r; apply sum_ext; intros c _.
    unfold y, rms_norm; fold r; simpl; unfold Rdiv; ring.
  Qed.

  (** the norm without gamma *)
  Lemma normed_velocity c :
    is_derive (fun u => rms_norm n None epsilon (x_at u) c) t ((dx c - y c * (dot n y dx / INR n)) / r).
  Proof.
    pose proof root_pos as P; eapply derive_as.
    - apply (is_derive_div (x c) (fun u => sqrt (mean_square n (x_at u) + epsilon)));
        [apply Hx|apply root_velocity|apply Rgt_not_eq, P].
    - fold r; unfold y, rms_norm; fold r; simpl; fold (x_at t c); fold y.
      change (fun c => x_at t c / r) with y; generalize (dot n y dx / INR n); intros; field; lra.
  Qed.

  Let tangent (c : nat) : R :=
    with_factor (gamma_at t) c ((dx c - y c * (dot n y dx / INR n)) / r) + if has_gamma then y c * dgamma c else 0.

  Lemma rms_norm_velocity c : is_derive (fun u => rms_norm n (gamma_at u) epsilon (x_at u) c) t (tangent c).
  Proof.
    unfold tangent, gamma_at; destruct has_gamma; simpl.
    - apply (derive_mult (fun u => rms_norm n None epsilon (x_at u) c) (gamma c));
        [apply normed_velocity|apply Hgamma].
    - eapply derive_as; [apply normed_velocity|ring].
  Qed.

  (** GRD.P12: the tangent of the result against a cotangent is the direction against the gradient *)
  Theorem rms_norm_gradient_transposes_the_tangent (g : row) :
    dot n g tangent
    = dot n (rms_norm_gradient_x n (gamma_at t) epsilon (x_at t) g) dx
      + if has_gamma then dot n (rms_norm_gradient_gamma n epsilon (x_at t) g) dgamma else 0.
  Proof.
    unfold dot at 1, tangent; set (z := fun k => with_factor (gamma_at t) k (g k)).
    set (A := dot n y dx / INR n); set (B := dot n z y / INR n).
    rewrite (sum_ext _ _ (fun c => (z c * dx c - A * (z c * y c)) * / r
                                   + (if has_gamma then g c * y c * dgamma c else 0))).
    2: { intros c _; unfold z, gamma_at; destruct has_gamma; simpl; unfold Rdiv; ring. }
    rewrite sum_plus; f_equal.
    2: { destruct has_gamma; [reflexivity|apply sum_zero; auto]. }
    unfold dot at 1; rewrite (sum_ext _ (fun c => rms_norm_gradient_x _ _ _ _ _ c * dx c)
                                        (fun c => (z c * dx c - B * (y c * dx c)) * / r))
      by (intros c _; unfold rms_norm_gradient_x, B, z, y, r, Rdiv; ring).
    rewrite !sum_scal_r, !sum_minus, !sum_scal; unfold A, B, dot, Rdiv; ring.
  Qed.

  (** GRD.P12: so the gradient is the derivative along every curve *)
  Theorem rms_norm_gradient_is_its_transpose (g : row) :
    is_derive (fun u => dot n g (rms_norm n (gamma_at u) epsilon (x_at u))) t
      (dot n (rms_norm_gradient_x n (gamma_at t) epsilon (x_at t) g) dx
       + if has_gamma then dot n (rms_norm_gradient_gamma n epsilon (x_at t) g) dgamma else 0).
  Proof.
    rewrite <- rms_norm_gradient_transposes_the_tangent.
    apply (derive_sum (range n) (fun c u => g c * rms_norm n (gamma_at u) epsilon (x_at u) c)); intros c _.
    apply derive_scal, rms_norm_velocity.
  Qed.
End Rms_norm.

(** * Layer norm *)

Section Layer_norm.
  Variables (n : nat) (has_gamma has_beta : bool) (epsilon : R).
  Variables (gamma beta : nat -> R -> R) (dgamma dbeta : row) (t : R).
  Hypothesis Hgamma : forall c, is_derive (gamma c) t (dgamma c).
  Hypothesis Hbeta : forall c, is_derive (beta c) t (dbeta c).
  Let gamma_at (u : R) : option row := if_present has_gamma (fun c => gamma c u).
  Let beta_at (u : R) : option row := if_present has_beta (fun c => beta c u).

  Section One_row.
    Variables (x : nat -> R -> R) (dx : row).
    Hypothesis Hx : forall c, is_derive (x c) t (dx c).
    Let x_at (u : R) : row := fun c => x c u.
    Hypothesis Hpos : 0 < variance n (x_at t) + epsilon.

    Let deviation (c : nat) (u : R) : R := centred n (x_at u) c.

    Let tangent (c : nat) : R :=
      let y := rms_norm n None epsilon (centred n (x_at t)) in
      let r := sqrt (variance n (x_at t) + epsilon) in
      with_factor (gamma_at t) c ((centred n dx c - y c * (dot n y (centred n dx) / INR n)) / r)
      + (if has_gamma then y c * dgamma c else 0) + if has_beta then dbeta c else 0.

    Lemma layer_norm_velocity c :
      is_derive (fun u => layer_norm n (gamma_at u) (beta_at u) epsilon (x_at u) c) t (tangent c).
    Proof.
      pose proof (rms_norm_velocity n has_gamma epsilon deviation gamma (centred n dx) dgamma t
                    (fun c => centred_velocity n x dx t c Hx) Hgamma Hpos c) as D.
      unfold tangent, beta_at; destruct has_beta; simpl.
      - apply (derive_plus (fun u => rms_norm n (gamma_at u) epsilon (centred n (x_at u)) c) (beta c));
          [exact D|apply Hbeta].
      - rewrite Rplus_0_r; exact D.
    Qed.

    (** GRD.P12 *)
    Theorem layer_norm_gradient_transposes_the_tangent (g : row) :
      dot n g tangent
      = dot n (layer_norm_gradient_x n (gamma_at t) epsilon (x_at t) g) dx
        + (if has_gamma then dot n (layer_norm_gradient_gamma n epsilon (x_at t) g) dgamma else 0)
        + if has_beta then dot n (layer_norm_gradient_beta g) dbeta else 0.
    Proof.
      pose proof (rms_norm_gradient_transposes_the_tangent n has_gamma epsilon deviation gamma (centred n dx) dgamma t
                    g) as T.
      unfold layer_norm_gradient_x; rewrite <- centred_symmetric.
      transitivity (dot n g (fun c => tangent c - if has_beta then dbeta c else 0)
                    + dot n g (fun c => if has_beta then dbeta c else 0)).
      - unfold dot; rewrite <- sum_plus; apply sum_ext; intros; ring.
      - f_equal; [|destruct has_beta; [reflexivity|apply sum_zero; intros; ring]].
        etransitivity; [|exact T]; apply sum_ext; intros c _; f_equal; unfold tangent; cbv zeta.
        unfold Rminus at 1; rewrite Rplus_assoc, Rplus_opp_r, Rplus_0_r; reflexivity.
    Qed.

    Theorem layer_norm_gradient_is_its_transpose (g : row) :
      is_derive (fun u => dot n g (layer_norm n (gamma_at u) (beta_at u) epsilon (x_at u))) t
        (dot n (layer_norm_gradient_x n (gamma_at t) epsilon (x_at t) g) dx
         + (if has_gamma then dot n (layer_norm_gradient_gamma n epsilon (x_at t) g) dgamma else 0)
         + if has_beta then dot n (layer_norm_gradient_beta g) dbeta else 0).
    Proof.
      rewrite <- layer_norm_gradient_transposes_the_tangent.
      apply (derive_sum (range n) (fun c u => g c * layer_norm n (gamma_at u) (beta_at u) epsilon (x_at u) c)).
      intros c _; apply derive_scal, layer_norm_velocity.
    Qed.
  End One_row.

  (** DEC.D20, GRD.P12: S rows that share gamma and beta *)
  Theorem normed_rows_gradient_is_its_transpose (S : nat) (X : nat -> nat -> R -> R) (dX : matrix)
      (HX : forall i c, is_derive (X i c) t (dX i c))
      (Hpos : forall i, (i < S)%nat -> 0 < variance n (fun c => X i c t) + epsilon) (G : matrix) :
    is_derive (fun u => sum (range S) (fun i => sum (range n) (fun c =>
                 G i c * layer_norm n (gamma_at u) (beta_at u) epsilon (fun c => X i c u) c))) t
      (sum (range S) (fun i => sum (range n) (fun c =>
         normed_rows_gradient_x n (gamma_at t) epsilon (fun i c => X i c t) G i c * dX i c))
       + (if has_gamma then sum (range n) (fun c =>
            normed_rows_gradient_gamma S n epsilon (fun i c => X i c t) G c * dgamma c) else 0)
       + if has_beta then sum (range n) (fun c => normed_rows_gradient_beta S G c * dbeta c) else 0).
  Proof.
    eapply derive_as.
    - apply (derive_sum (range S) (fun i u => sum (range n) (fun c =>
        G i c * layer_norm n (gamma_at u) (beta_at u) epsilon (fun c => X i c u) c))).
      intros i Hi; apply (layer_norm_gradient_is_its_transpose (X i) (dX i)); [apply HX|apply Hpos, in_range, Hi].
    - rewrite !sum_plus; unfold normed_rows_gradient_gamma, normed_rows_gradient_beta, dot; f_equal; [f_equal|].
      + destruct has_gamma; [|apply sum_zero; auto].
        rewrite sum_swap; apply sum_ext; intros c _; apply sum_scal_r.
      + destruct has_beta; [|apply sum_zero; auto].
        rewrite sum_swap; apply sum_ext; intros c _; apply sum_scal_r.
  Qed.
End Layer_norm.

(** * Example *)

(** the row (1, 7) has r = 5; the gradient is orthogonal to the row *)
Lemma GRD_E4 :
  let x c := nth c [1; 7] 0 in
  let g c := nth c [5; 0] 0 in
  let dx := rms_norm_gradient_x 2 None 0 x g in
  dot 2 g (rms_norm 2 None 0 x) / 2 = 1/2 /\ dx 0%nat = 49/50 /\ dx 1%nat = -7/50 /\ dot 2 dx x = 0.
Proof.
  intros x g dx.
  assert (S : sqrt (mean_square 2 x + 0) = 5).
  { replace (mean_square 2 x + 0) with (5 * 5) by (unfold mean_square, dot, x; simpl; field).
    apply sqrt_square; lra. }
  unfold dot, dx, rms_norm_gradient_x, dot, rms_norm; rewrite S; unfold x, g; simpl; repeat split; field.
Qed.
