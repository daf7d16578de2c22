(** GRD.P18: gradients of single definitions. Each is shown along every curve; along a line it matches differences as
    GRD.P1 says, and dual numbers as GRD.P2 says. *)
Require Import FunctionalExtensionality.
From Attest Require Export CallDifferences.

(** the tangents that dual numbers give, along a line of numbers y with velocities y' *)
Definition tangents (y y' : nat -> R) (E : nat -> computation) : row := fun j =>
  tangent (read_in_duals (fun n => Dual (y n) (y' n)) (E j)).

(** * Masked softmax by itself *)

(** GRD.P18: along every curve *)
Theorem masked_softmax_gradient_is_the_derivative n A (s : nat -> R -> R) t (s' g : row) :
  (forall j, is_derive (s j) t (s' j)) ->
  is_derive (fun u => dot n g (masked_softmax n A (fun k => s k u))) t
            (dot n (masked_softmax_gradient n A (masked_softmax n A (fun k => s k t)) g) s').
Proof.
  intros D; set (l := gathered n A); set (w := masked_softmax n A (fun k => s k t)).
  assert (W : forall j, In j l -> w j = softmax l (fun k => s k t) j)
    by (intros; apply masked_softmax_visible; assumption).
  assert (M : mean_velocity l None (fun k => s k t) s' None = sum l (fun k => w k * s' k)).
  { unfold mean_velocity, sink_share; rewrite Rmult_0_l, Rplus_0_r; apply sum_ext; intros k K.
    rewrite sink_softmax_none, W by exact K; reflexivity. }
  apply (derive_fun (fun u => sum l (fun j => g j * softmax l (fun k => s k u) j))).
  - apply (derive_as _ _ (sum l (fun j => g j * (w j * (s' j - sum l (fun k => w k * s' k)))))).
    + apply (derive_sum l (fun j u => g j * softmax l (fun k => s k u) j)); intros j J.
      apply (derive_scal (fun u => softmax l (fun k => s k u) j)).
      assert (E := weights_move l (fun _ => None) s t None s' j J (fun k _ => D k) (fun _ => eq_refl)).
      cbv beta in E; rewrite M, sink_softmax_none, <- W in E by exact J.
      apply (derive_fun _ _ t _ E); intros u; apply sink_softmax_none.
    + unfold dot, masked_softmax_gradient; fold l.
      rewrite (sum_ext (range n) _ (fun j => if A j then softmax_gradient l w g j * s' j else 0)).
      2: { intros j J; apply in_range, Nat.ltb_lt in J; rewrite J; simpl; destruct (A j); ring. }
      rewrite sum_filter; fold (gathered n A); fold l.
      unfold softmax_gradient, centre.
      rewrite (sum_ext l _ (fun j => g j * w j * s' j - w j * g j * sum l (fun k => w k * s' k))) by (intros; ring).
      rewrite sum_minus, sum_scal_r.
      rewrite (sum_ext l (fun j => w j * (g j - _) * s' j) (fun j =>
        g j * w j * s' j - sum l (fun k => w k * g k) * (w j * s' j))) by (intros; ring).
      rewrite sum_minus, sum_scal; reflexivity.
  - intros u; unfold dot, masked_softmax; fold l.
    rewrite (sum_ext (range n) _ (fun j => if A j then g j * softmax l (fun k => s k u) j else 0)).
    2: { intros j J; apply in_range, Nat.ltb_lt in J; rewrite J; simpl; destruct (A j); ring. }
    rewrite sum_filter; reflexivity.
Qed.

(** GRD.P18: as in GRD.P1 *)
Theorem masked_softmax_gradient_matches_finite_differences n A (s s' g : row) :
  let along u := fun k => s k + u * s' k in
  matches_finite_differences
    (fun u => dot n g (masked_softmax n A (along u)))
    (fun u => dot n (masked_softmax_gradient n A (masked_softmax n A (along u)) g) s').
Proof.
  cbv zeta; apply derivatives_match_finite_differences.
  - apply elementary_functions_are_smooth.
    apply (elementary_sum _ (fun j u => g j * masked_softmax n A (fun k => s k + u * s' k) j)); intros j _.
    apply elementary_scal; unfold masked_softmax; destruct ((j <? n)%nat && A j) eqn:E; [|apply elementary_const].
    assert (J : In j (gathered n A))
      by (apply andb_true_iff in E as [E V]; apply Nat.ltb_lt in E; apply in_gathered; auto).
    assert (X : forall k, elementary (fun u => exp (s k + u * s' k)))
      by (intros k; exact (elementary_unary Exp _ (elementary_line (s k) (s' k)) (fun _ => I))).
    apply elementary_div; [apply X|apply (elementary_sum _ (fun k u => exp (s k + u * s' k))); auto|].
    intros u; apply Rgt_not_eq, sum_exp_pos, (in_not_nil _ j J).
  - intros u; apply (masked_softmax_gradient_is_the_derivative n A (fun k u => s k + u * s' k)).
    intros; apply line_derive.
Qed.

(** GRD.P18: as in GRD.P2 *)
Theorem masked_softmax_gradient_is_the_transpose n A (s s' g : row) y y' E :
  (forall j, computes y y' (E j) (fun u => masked_softmax n A (fun k => s k + u * s' k) j)) ->
  dot n g (tangents y y' E) = dot n (masked_softmax_gradient n A (masked_softmax n A s) g) s'.
Proof.
  intros H; apply (tangents_times_cotangents (range n) g (fun j u => masked_softmax n A (fun k => s k + u * s' k) j));
    [auto|].
  assert (D := masked_softmax_gradient_is_the_derivative n A (fun k u => s k + u * s' k) 0 s' g
    (fun k => line_derive (s k) (s' k) 0)); cbv beta in D.
  replace (fun k => s k + 0 * s' k) with s in D by (apply functional_extensionality; intros; ring); exact D.
Qed.

(** * A score *)

(** GRD.P18: along every curve of query, key and scale together *)
Theorem score_gradient_is_the_derivative d (sigma : R -> R) (q k : nat -> R -> R) t sigma' (q' k' : row) g :
  is_derive sigma t sigma' -> (forall c, is_derive (q c) t (q' c)) -> (forall c, is_derive (k c) t (k' c)) ->
  let qt := fun c => q c t in
  let kt := fun c => k c t in
  is_derive (fun u => g * score (sigma u) d (fun c => q c u) (fun c => k c u)) t
            (dot d (score_query_gradient (sigma t) kt g) q' + dot d (score_key_gradient (sigma t) qt g) k' +
             score_scale_gradient d qt kt g * sigma').
Proof.
  intros S Q K; cbv zeta; unfold score.
  apply (derive_as _ _ _ _ (derive_scal _ t g _ (derive_mult _ _ t _ _ S (derive_dot d q k q' k' t Q K)))).
  unfold score_scale_gradient, score_query_gradient, score_key_gradient, dot.
  rewrite (sum_ext _ (fun c => sigma t * g * k c t * q' c) (fun c => sigma t * g * (q' c * k c t))) by (intros; ring).
  rewrite (sum_ext _ (fun c => sigma t * g * q c t * k' c) (fun c => sigma t * g * (q c t * k' c))) by (intros; ring).
  rewrite !sum_scal; ring.
Qed.

(** GRD.P18: as in GRD.P1 *)
Theorem score_gradient_matches_finite_differences d sigma sigma' (q q' k k' : row) g :
  let s u := sigma + u * sigma' in
  let qs u := fun c => q c + u * q' c in
  let ks u := fun c => k c + u * k' c in
  matches_finite_differences
    (fun u => g * score (s u) d (qs u) (ks u))
    (fun u => dot d (score_query_gradient (s u) (ks u) g) q' + dot d (score_key_gradient (s u) (qs u) g) k' +
              score_scale_gradient d (qs u) (ks u) g * sigma').
Proof.
  cbv zeta; apply derivatives_match_finite_differences.
  - apply elementary_functions_are_smooth, elementary_scal, elementary_mult; [apply elementary_line|].
    apply (elementary_sum _ (fun c u => (q c + u * q' c) * (k c + u * k' c))); intros c _.
    apply elementary_mult; apply elementary_line.
  - intros u; apply (score_gradient_is_the_derivative d (fun u => sigma + u * sigma') (fun c u => q c + u * q' c)
      (fun c u => k c + u * k' c)); intros; apply line_derive.
Qed.

(** GRD.P18: as in GRD.P2 *)
Theorem score_gradient_is_the_transpose d sigma sigma' (q q' k k' : row) g y y' E :
  computes y y' E (fun u => score (sigma + u * sigma') d (fun c => q c + u * q' c) (fun c => k c + u * k' c)) ->
  g * tangents y y' (fun _ => E) 0%nat =
  dot d (score_query_gradient sigma k g) q' + dot d (score_key_gradient sigma q g) k' +
  score_scale_gradient d q k g * sigma'.
Proof.
  intros H; assert (D := score_gradient_is_the_derivative d (fun u => sigma + u * sigma') (fun c u => q c + u * q' c)
    (fun c u => k c + u * k' c) 0 sigma' q' k' g (line_derive sigma sigma' 0) (fun c => line_derive (q c) (q' c) 0)
    (fun c => line_derive (k c) (k' c) 0)); cbv beta zeta in D.
  replace (fun c => q c + 0 * q' c) with q in D by (apply functional_extensionality; intros; ring).
  replace (fun c => k c + 0 * k' c) with k in D by (apply functional_extensionality; intros; ring).
  rewrite Rmult_0_l, Rplus_0_r in D.
  exact (derive_unique _ 0 _ _ (derive_scal _ 0 g _ (computation_moves y y' E _ H)) D).
Qed.

(** * Averaged weights *)

(** GRD.P18: along every curve *)
Theorem mean_weights_gradient_is_the_derivative H n (w : nat -> nat -> R -> R) t (w' : nat -> row) (g : row) :
  (forall h j, is_derive (w h j) t (w' h j)) ->
  is_derive (fun u => dot n g (mean_weights H (fun h j => w h j u))) t
            (sum (range H) (fun h => dot n (mean_weights_gradient H g) (w' h))).
Proof.
  intros D; apply (derive_as _ _ (sum (range n) (fun j => g j * (sum (range H) (fun h => w' h j) * / INR H)))).
  - apply (derive_sum _ (fun j u => g j * mean_weights H (fun h j => w h j u) j)); intros j _.
    apply derive_scal; unfold mean_weights, Rdiv; apply derive_scal_r.
    apply (derive_sum _ (fun h u => w h j u)); auto.
  - unfold dot; rewrite sum_swap; apply sum_ext; intros j _; rewrite sum_scal; unfold mean_weights_gradient, Rdiv; ring.
Qed.

(** GRD.P18: as in GRD.P1 *)
Theorem mean_weights_gradient_matches_finite_differences H n (w w' : nat -> row) (g : row) :
  matches_finite_differences
    (fun u => dot n g (mean_weights H (fun h j => w h j + u * w' h j)))
    (fun _ => sum (range H) (fun h => dot n (mean_weights_gradient H g) (w' h))).
Proof.
  apply derivatives_match_finite_differences.
  - apply elementary_functions_are_smooth.
    apply (elementary_sum _ (fun j u => g j * mean_weights H (fun h j => w h j + u * w' h j) j)); intros j _.
    apply elementary_scal; unfold mean_weights, Rdiv; apply (elementary_mult _ (fun _ => / INR H));
      [|apply elementary_const].
    apply (elementary_sum _ (fun h u => w h j + u * w' h j)); intros h _; apply elementary_line.
  - intros u; apply (mean_weights_gradient_is_the_derivative H n (fun h j u => w h j + u * w' h j)).
    intros; apply line_derive.
Qed.

(** GRD.P18: as in GRD.P2 *)
Theorem mean_weights_gradient_is_the_transpose H n (w w' : nat -> row) (g : row) y y' E :
  (forall j, computes y y' (E j) (fun u => mean_weights H (fun h j => w h j + u * w' h j) j)) ->
  dot n g (tangents y y' E) = sum (range H) (fun h => dot n (mean_weights_gradient H g) (w' h)).
Proof.
  intros C; apply (tangents_times_cotangents (range n) g (fun j u => mean_weights H (fun h j => w h j + u * w' h j) j));
    [auto|].
  apply (mean_weights_gradient_is_the_derivative H n (fun h j u => w h j + u * w' h j)); intros; apply line_derive.
Qed.
