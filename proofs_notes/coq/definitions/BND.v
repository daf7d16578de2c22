(** 18 Bounds *)
From Attest Require Export ENC.

(** What a bound knows of an arithmetic (FloatModel of bounds.hpp): the unit roundoff u, the smallest normal number
    lambda, and how far the elementary functions may be off. *)
Record float_model := FloatModel {
  roundoff : R;
  smallest_normal : R;
  exp_error : R;
  log_error : R;
  tanh_error : R
}.

(** omega: what a product or a quotient may lose below the smallest normal number *)
Definition underflow (m : float_model) : R := roundoff m * smallest_normal m.

(** n roundings change a number by this much at most, relatively; n u < 1 *)
Definition gamma (m : float_model) (n : nat) : R := INR n * roundoff m / (1 - INR n * roundoff m).        (* BND.B1 *)

Definition dot_bound (m : float_model) (n : nat) (a b : row) : R :=                                       (* BND.B2 *)
  gamma m n * sum (range n) (fun c => Rabs (a c * b c)) + INR n * (1 + gamma m n) * underflow m.

(** A number on its way through the steps of a call: its real value, and the bound of the error so far. *)
Record bounded := Bounded { real_value : R; error_bound : R }.

(** what a sum known within a bound is known within once it is rounded *)
Definition rounded_sum (m : float_model) (x : bounded) : R :=
  error_bound x + roundoff m * (Rabs (real_value x) + error_bound x).

Definition scaled_bound (m : float_model) (d : nat) (sigma : R) (q k : row) : bounded := Bounded
  (sigma * dot d q k)
  (Rabs sigma * (gamma m (d + 5) * sum (range d) (fun c => Rabs (q c * k c))
                 + INR d * (1 + gamma m (d + 5)) * underflow m) + underflow m).

(** the bias as it joins, sigma_b being the scale without descale factors; and its error *)
Definition bias_term (m : float_model) (place : bias_position) (sigma_b beta : R) : bounded :=
  match place with
  | inside_scale => Bounded (sigma_b * beta) (gamma m 3 * Rabs (sigma_b * beta) + underflow m)
  | before_softcap | after_softcap => Bounded beta 0
  end.
Definition bias_bound (m : float_model) (place : bias_position) (sigma_b : R) (bias : option R)
                      (x : bounded) : bounded :=
  match bias with
  | None => x
  | Some beta =>
      let b := bias_term m place sigma_b beta in
      let y := Bounded (real_value x + real_value b) (error_bound x + error_bound b) in
      Bounded (real_value y) (rounded_sum m y)
  end.

Definition softcap_bound (m : float_model) (cap : option R) (x : bounded) : bounded :=
  match cap with
  | None => x
  | Some kappa =>
      let before := error_bound x + roundoff m * (Rabs (real_value x) + error_bound x) + kappa * underflow m in
      let g := (1 + tanh_error m) * (1 + roundoff m) in
      let f := softcap kappa (real_value x) in
      Bounded f (before * g + Rabs f * (g - 1)
                 + kappa * tanh_error m * smallest_normal m * (1 + roundoff m) + underflow m)
  end.

(** the logit and its bound; sigma has the descale factors in it, sigma_b has not *)
Definition logit_bound (m : float_model) (place : bias_position) (cap : option R) (d : nat) (sigma sigma_b : R)
                       (q k : row) (bias : option R) : bounded :=                                         (* BND.B5 *)
  let x := scaled_bound m d sigma q k in
  match place with
  | inside_scale | before_softcap => softcap_bound m cap (bias_bound m place sigma_b bias x)
  | after_softcap => bias_bound m place sigma_b bias (softcap_bound m cap x)
  end.

(** The errors that the results of a row share. Its n logits, a sink among them, are known within E, and no two of
    them are further apart than G. *)
Record row_model := RowModel { logit_error : R; logit_gap : R; logit_count : nat }.

(** of an exponential, relatively *)
Definition rho (m : float_model) (r : row_model) : R :=
  exp (logit_error r + roundoff m * (logit_gap r + 2 * logit_error r)) * (1 + exp_error m) - 1.
(** what underflow may take from one exponential, over the sum of all *)
Definition lost (m : float_model) (r : row_model) : R := exp_error m * smallest_normal m * exp (logit_error r).
(** of the sum of exponentials, relatively; below 1 (BND.C3) *)
Definition rho_total (m : float_model) (r : row_model) : R :=
  let g := gamma m (logit_count r - 1) in
  (1 + rho m r) * (1 + g) - 1 + (1 + g) * INR (logit_count r) * lost m r.

Definition weight_bound (m : float_model) (r : row_model) (w : R) : R :=                                  (* BND.B3 *)
  w * ((1 + rho m r) * (1 + roundoff m) / (1 - rho_total m r) - 1)
  + lost m r * (1 + roundoff m) / (1 - rho_total m r) + underflow m.
Definition lse_bound (m : float_model) (r : row_model) (L : R) : R :=                                     (* BND.B3 *)
  let moved := - ln (1 - rho_total m r) in
  rounded_sum m (Bounded L (moved + log_error m * (ln (INR (logit_count r)) + logit_error r + moved))).
Definition lse_bound_in_base_2 (m : float_model) (r : row_model) (L : R) : R :=                           (* BND.B3 *)
  let grown := (1 + roundoff m) / (1 - log_error m) in
  lse_bound m r L / ln 2 * grown + Rabs (in_base_2 L) * (grown - 1) + underflow m.

(** of an output, n visible keys: mean = sum_j w_j |v_j|, all = sum_j |v_j|, and the descale factor of the values *)
Definition output_bound (m : float_model) (r : row_model) (n : nat) (mean all delta_v : R) : R :=         (* BND.B4 *)
  let numerator := ((1 + rho m r) * (1 + gamma m n) - 1) * mean
                   + (1 + gamma m n) * (lost m r * all + INR n * underflow m * exp (logit_error r)) in
  let quotient := (numerator + rho_total m r * mean) / (1 - rho_total m r) in
  Rabs delta_v * ((quotient + underflow m) * (1 + gamma m 2) + gamma m 2 * mean) + underflow m.
