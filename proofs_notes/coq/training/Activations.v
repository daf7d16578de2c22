(** Relu and gelu: what they do to a number and to its mirror image, and their gradients. *)
From Attest Require Export Duals.
From Interval Require Import Tactic.

(** the constants of gelu are the binary64 numbers nearest these decimals: they differ by less than half a step *)
Lemma gelu_slope_is_nearest : Rabs (gelu_slope - 7978845608028654 / 10 ^ 16) < / 2 ^ 54.
Proof. unfold gelu_slope, Rabs; destruct (Rcase_abs _); lra. Qed.

Lemma gelu_cubic_is_nearest : Rabs (gelu_cubic - 44715 / 10 ^ 6) < / 2 ^ 58.
Proof. unfold gelu_cubic, Rabs; destruct (Rcase_abs _); lra. Qed.

(** * Mirror images *)

Lemma tanh_odd x : tanh (- x) = - tanh x.
Proof.
  unfold tanh, sinh, cosh; rewrite Ropp_involutive; generalize (exp_pos x) (exp_pos (- x)); intros.
  field; lra.
Qed.

(** DEC.P5 *)
Theorem relu_differs_from_its_mirror_image_by_x x : relu x - relu (- x) = x.
Proof. unfold relu, positive_part, Rmax; destruct (Rle_dec _ _), (Rle_dec _ _); lra. Qed.

Theorem gelu_differs_from_its_mirror_image_by_x x : gelu x - gelu (- x) = x.
Proof.
  unfold gelu.
  replace (gelu_slope * (- x + gelu_cubic * (- x) ^ 3)) with (- (gelu_slope * (x + gelu_cubic * x ^ 3))) by ring.
  rewrite tanh_odd; field.
Qed.

(** * Gradients *)

(** relu and gelu in the operations of a scalar, so that they can be read in dual numbers *)
Definition relu_text : computation := Apply PositivePart (Given 0).
Definition gelu_text : computation :=
  let x := Given 0 in
  let cube := Apply2 Times (Apply2 Times (Apply2 Times (Number gelu_cubic) x) x) x in
  let bent := Apply2 Plus x cube in
  Apply2 Over (Apply2 Times x (Apply2 Plus (Number 1) (Apply Tanh (Apply2 Times (Number gelu_slope) bent)))) (Number 2).

Lemma activations_read_in_reals x :
  read_in_reals (fun _ => x) relu_text = relu x /\ read_in_reals (fun _ => x) gelu_text = gelu x.
Proof.
  split; [reflexivity|]; simpl; unfold gelu.
  replace (x + gelu_cubic * x * x * x) with (x + gelu_cubic * x ^ 3) by ring; field.
Qed.

(** DEC.P8: the gradients are the tangents, for every x *)
Theorem relu_gradient_is_its_tangent x g : tangent (read_in_duals (fun _ => Dual x g) relu_text) = relu_gradient x g.
Proof. reflexivity. Qed.

Theorem gelu_gradient_is_its_tangent x g : tangent (read_in_duals (fun _ => Dual x g) gelu_text) = gelu_gradient x g.
Proof.
  simpl; unfold gelu_gradient.
  replace (x + gelu_cubic * x * x * x) with (x + gelu_cubic * x ^ 3) by ring; field.
Qed.

(** at 0, where relu has no derivative, it is 0; elsewhere it is the derivative *)
Theorem relu_gradient_at_zero_is_zero g : relu_gradient 0 g = 0.
Proof. apply where_positive_neg; lra. Qed.

Theorem relu_gradient_is_its_derivative (x : R -> R) (dx t g : R) : x t <> 0 -> is_derive x t dx ->
  is_derive (fun u => g * relu (x u)) t (relu_gradient (x t) g * dx).
Proof.
  intros Hx D; apply (derive_as _ _ (g * where_positive (x t) dx)).
  - apply derive_scal, (tangent_of_an_operation_is_its_derivative PositivePart x t dx D Hx).
  - unfold relu_gradient, where_positive; destruct (Rlt_dec 0 (x t)); ring.
Qed.

Theorem gelu_gradient_is_its_derivative (x : R -> R) (dx t g : R) : is_derive x t dx ->
  is_derive (fun u => g * gelu (x u)) t (gelu_gradient (x t) g * dx).
Proof.
  intros D; unfold gelu.
  assert (P : is_derive (fun u => x u ^ 3) t (3 * dx * x t ^ 2)).
  { apply (derive_as _ _ _ _ (is_derive_pow x 3 t dx D)); simpl; ring. }
  assert (I : is_derive (fun u => gelu_slope * (x u + gelu_cubic * x u ^ 3)) t
                        (gelu_slope * (dx + gelu_cubic * (3 * dx * x t ^ 2))))
    by (apply derive_scal, derive_plus; [exact D|apply derive_scal, P]).
  apply (derive_as _ _ _ _ (derive_scal _ t g _
    (derive_mult (fun u => / 2 * x u) _ t _ _ (derive_scal x t (/ 2) dx D)
      (derive_plus (fun _ => 1) _ t _ _ (derive_const 1 t) (derive_tanh _ t _ I))))).
  unfold gelu_gradient; ring.
Qed.

(** * Examples *)

Lemma tanh_by_exp y : tanh y = 1 - 2 / (exp (2 * y) + 1).
Proof.
  unfold tanh, sinh, cosh; replace (2 * y) with (y + y) by ring; rewrite exp_plus, exp_Ropp.
  pose proof (exp_pos y); field; split; [nra|lra].
Qed.

Lemma DEC_E1_activations :
  relu (-2) = 0 /\ relu 2 = 2 /\ gelu 0 = 0
  /\ Rabs (gelu 1 - 0.8411919906082768) <= / 10 ^ 15
  /\ Rabs (gelu (-1) - -0.1588080093917233) <= / 10 ^ 15.
Proof.
  repeat split.
  - apply Rmax_right; lra.
  - apply Rmax_left; lra.
  - unfold gelu; ring.
  - unfold gelu, gelu_slope, gelu_cubic; rewrite tanh_by_exp; interval with (i_prec 80).
  - unfold gelu, gelu_slope, gelu_cubic; rewrite tanh_by_exp; interval with (i_prec 80).
Qed.
