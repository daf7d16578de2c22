(** The definitions of the specification, over the real numbers: one page, to be read.

    How to read it, coming from C++:

      Definition f (x : R) : R := e.    double f(double x) { return e; }, but R holds the real numbers
      nat -> R                          a row of numbers: [s j] is s[j]. How long the row is, is said where it is summed
      nat -> nat -> R                   a matrix: [X i c] is X(i, c)
      fun j => e                        a lambda, [=](auto j) { return e; }
      f x y                             a call, f(x, y)
      option R, Some a, None            std::optional<double>
      match m with A => x | B => y end  a switch that returns a value
      x :: rest                         a list with first entry x

    Behind each definition stands the id of the item of spec/ that it is. Division by zero gives some number here;
    whoever divides shows beforehand that the divisor is not zero. Nothing on this page rounds. *)
Require Export Reals List Bool Arith ZArith Lra Lia Permutation.
Export ListNotations.
Open Scope R_scope.

Definition row := nat -> R.
Definition matrix := nat -> row.

(** * 02 Shapes: sums *)

(** 0, 1, ..., n-1 *)
Definition range (n : nat) : list nat := seq 0 n.

(** the sum of [f i] over the entries i of a list *)                                                      (* SHP.D3 *)
Fixpoint sum {A : Type} (l : list A) (f : A -> R) : R :=
  match l with
  | [] => 0
  | i :: rest => f i + sum rest f
  end.

Definition dot (d : nat) (q k : row) : R := sum (range d) (fun c => q c * k c).                        (* SHP.D4 *)

(** * 03 Masks: a visible set says of each key whether it is seen *)

Definition visible_set := nat -> bool.

(** the list of visible keys below n, in order *)
Definition gathered (n : nat) (A : visible_set) : list nat := filter A (range n).                         (* MSK.D14 *)

(** the query at position p sees the keys up to p *)
Definition causal (p : Z) (j : nat) : bool := Z.leb (Z.of_nat j) p.                                       (* MSK.D1 *)

(** * 04 Softmax *)

(** weights of a list of keys with scores s; c is the shift, and any c gives the same (SMX.P5) *)
Definition exponential (c : R) (s : row) (j : nat) : R := exp (s j - c).                                  (* SMX.D1 *)
Definition shifted_softmax (c : R) (keys : list nat) (s : row) (j : nat) : R :=
  exponential c s j / sum keys (exponential c s).
Definition softmax (keys : list nat) (s : row) (j : nat) : R := exp (s j) / sum keys (fun k => exp (s k)). (* SMX.D2 *)

(** gather the visible keys, take their softmax, put the weights back into a row of zeros *)
Definition masked_softmax (n : nat) (A : visible_set) (s : row) (j : nat) : R :=                          (* SMX.D3 *)
  if (j <? n)%nat && A j then softmax (gathered n A) s j else 0.

Definition shifted_log_sum_exp (c : R) (keys : list nat) (s : row) : R := c + ln (sum keys (exponential c s)).
Definition log_sum_exp (keys : list nat) (s : row) : R := ln (sum keys (fun k => exp (s k))).             (* SMX.D4 *)
Definition in_base_2 (L : R) : R := L / ln 2.                                                             (* SMX.D9 *)

(** what the weights are divided by: the sink, where there is one, is one more term *)
Definition total (keys : list nat) (sink : option R) (s : row) : R :=
  sum keys (fun k => exp (s k)) + match sink with Some a => exp a | None => 0 end.
Definition sink_softmax (keys : list nat) (sink : option R) (s : row) (j : nat) : R :=                    (* SMX.D5 *)
  exp (s j) / total keys sink s.
Definition sink_log_sum_exp (keys : list nat) (sink : option R) (s : row) : R := ln (total keys sink s).

(** two ways of masking by a large negative number N; the rows are as long as the mask, hidden keys take part *)
Definition filled (N : R) (A : visible_set) (s : row) (j : nat) : R := if A j then s j else N.
Definition sentinel_fill_softmax (N : R) (n : nat) (A : visible_set) (s : row) : row :=                   (* SMX.D7 *)
  softmax (range n) (filled N A s).
Definition lowered (N : R) (A : visible_set) (s : row) (j : nat) : R := if A j then s j else s j + N.
Definition sentinel_additive_softmax (N : R) (n : nat) (A : visible_set) (s : row) : row :=               (* SMX.D8 *)
  softmax (range n) (lowered N A s).

(** * 05 Attention *)

Definition score (sigma : R) (d : nat) (q k : row) : R := sigma * dot d q k.                              (* ATT.D2 *)

Definition softcap (kappa s : R) : R := kappa * tanh (s / kappa).                                         (* ATT.D3 *)
Definition capped (cap : option R) (s : R) : R := match cap with Some kappa => softcap kappa s | None => s end.

(** the place at which the bias b joins the product x of query and key *)
Inductive bias_position := inside_scale | before_softcap | after_softcap.
Definition logit (place : bias_position) (cap : option R) (sigma x b : R) : R :=                          (* ATT.D4 *)
  match place with
  | inside_scale => capped cap (sigma * (x + b))
  | before_softcap => capped cap (sigma * x + b)
  | after_softcap => capped cap (sigma * x) + b
  end.

Definition kept_weight (w p : R) (kept : bool) : R := if kept then w / (1 - p) else 0.                    (* ATT.D5 *)

(** the values of the kept keys, weighted; one quotient for the whole sum *)
Definition weighted_values (keys : list nat) (kept : nat -> bool) (sink : option R) (l : row)
                           (V : matrix) (c : nat) : R :=                                                  (* ATT.D6 *)
  sum (filter kept keys) (fun j => exp (l j) * V j c) / total keys sink l.

(** What the rows of one head share. [x * y] of two descale factors is one factor; without them, without dropout,
    the factors are 1. *)
Record head := Head {
  width : nat;                      (* of queries and keys *)
  key_count : nat;
  scale : R;
  descale : R;                      (* delta_q * delta_k *)
  value_factor : R;                 (* delta_v / (1 - p), or 0 if p = 1 *)
  cap : option R;
  place : bias_position;
  visible : nat -> visible_set;     (* of query i *)
  kept : nat -> nat -> bool         (* of query i: which keys dropout keeps *)
}.

Definition row_keys (h : head) (i : nat) : list nat := gathered (key_count h) (visible h i).
Definition row_logits (h : head) (Q K bias : matrix) (i : nat) : row := fun j =>
  logit (place h) (cap h) (scale h) (descale h * dot (width h) (Q i) (K j)) (bias i j).
Definition row_weights (h : head) (Q K bias : matrix) (sink : option R) (i j : nat) : R :=
  if (j <? key_count h)%nat && visible h i j then sink_softmax (row_keys h i) sink (row_logits h Q K bias i) j else 0.
Definition row_lse (h : head) (Q K bias : matrix) (sink : option R) (i : nat) : R :=
  sink_log_sum_exp (row_keys h i) sink (row_logits h Q K bias i).
(** row i of attention, channel c *)
Definition attend_row (h : head) (Q K V bias : matrix) (sink : option R) (i c : nat) : R :=               (* ATT.D7 *)
  value_factor h * weighted_values (row_keys h i) (kept h i) sink (row_logits h Q K bias i) V c.

(** * 06 Heads *)

Inductive head_map := grouped | tiled.
(** the key head that query head h reads: [heads] query heads over [key_heads] key heads *)
Definition key_head (m : head_map) (heads key_heads h : nat) : nat :=                                     (* MHA.D1 *)
  match m with
  | grouped => h / (heads / key_heads)
  | tiled => h mod key_heads
  end.

Definition split_heads (w : nat) (X : matrix) (h s c : nat) : R := X s (h * w + c)%nat.                   (* MHA.D2 *)
Definition merge_heads (w : nat) (X : nat -> matrix) (s n : nat) : R := X (n / w)%nat s (n mod w)%nat.    (* MHA.D3 *)

(** rows X with I columns, times a weight, plus a bias where there is one *)
Definition affine (I : nat) (W : matrix) (b : option row) (X : matrix) (s n : nat) : R :=                 (* MHA.D4 *)
  dot I (X s) (fun m => W m n) + match b with Some b => b n | None => 0 end.

(** * 08 Dropout *)

(** * 10 Positions *)

(** * 11 Norms *)

(** * 12 The decoder block *)

(** * 13 Gradients *)

(** * 14 Training *)

(** * 15 Online softmax *)

(** * 18 Bounds *)

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
(** of an exponential from underflow, relative to their sum *)
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
