(** Relu and gelu: what they do to a number and to its mirror image, and their gradients. *)
From Attest Require Export Derivatives.
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

(** where x is not 0, the gradient of relu is its derivative *)
Theorem relu_gradient_is_its_derivative (x : R -> R) (dx t g : R) : x t <> 0 -> is_derive x t dx ->
  is_derive (fun u => g * relu (x u)) t (relu_gradient (x t) g * dx).
Proof.
  intros Hx D.
  assert (C : continuous x t) by (apply (ex_derive_continuous x t); exists dx; exact D).
  destruct (Rtotal_order (x t) 0) as [H|[H|H]]; [|contradiction|].
  - unfold relu_gradient, where_positive; destruct (Rlt_dec 0 (x t)); [lra|].
    apply (is_derive_ext_loc (fun _ => 0)).
    + apply (filter_imp (fun u => x u < 0)).
      * intros u Hu; unfold relu, positive_part; rewrite Rmax_right by lra; exact (eq_sym (Rmult_0_r g)).
      * apply (C (fun y => y < 0)), (open_lt 0), H.
    + apply (derive_as _ _ _ _ (derive_const 0 t)); ring.
  - unfold relu_gradient, where_positive; destruct (Rlt_dec 0 (x t)); [|lra].
    apply (is_derive_ext_loc (fun u => g * x u)).
    + apply (filter_imp (fun u => 0 < x u)).
      * intros u Hu; unfold relu, positive_part; rewrite Rmax_left by lra; reflexivity.
      * apply (C (fun y => 0 < y)), (open_gt 0), H.
    + apply derive_scal, D.
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
