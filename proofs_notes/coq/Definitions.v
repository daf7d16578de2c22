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

(** For each definition f, a function that takes a cotangent g of its result to the cotangent of what f was given.
    w is the row of weights that f made. *)

(** the cotangents averaged over the weights *)
Definition centre (keys : list nat) (w g : row) : R := sum keys (fun k => w k * g k).
Definition softmax_gradient (keys : list nat) (w g : row) (j : nat) : R := w j * (g j - centre keys w g).  (* GRD.D1 *)
Definition masked_softmax_gradient (n : nat) (A : visible_set) (w g : row) (j : nat) : R :=               (* GRD.D2 *)
  if (j <? n)%nat && A j then softmax_gradient (gathered n A) w g j else 0.

(** the weight that the sink takes for itself *)
Definition sink_share (keys : list nat) (sink : option R) (s : row) : R :=
  match sink with Some a => exp a / total keys sink s | None => 0 end.
Definition sink_gradient (share : R) (keys : list nat) (w g : row) : R := - (share * centre keys w g).    (* GRD.D3 *)

(** what a call means by log-sum-exp: whether it counts the sink, and whether it is told in base 2 *)
Record lse_form := LseForm { counts_sink : bool; base_2 : bool }.
Definition in_base (f : lse_form) (L : R) : R := if base_2 f then in_base_2 L else L.
Definition counted (f : lse_form) (sink : option R) : option R := if counts_sink f then sink else None.
Definition log_sum_exp_gradient (f : lse_form) (w g : R) : R := in_base f (w * g).                        (* GRD.D4 *)

(** f is the factor of the output *)
Definition weight_gradient (f : R) (kept : bool) (d_v : nat) (g v : row) : R :=                           (* GRD.D5 *)
  if kept then f * dot d_v g v else 0.

Definition softcap_gradient (kappa s g : R) : R := (1 - tanh (s / kappa) ^ 2) * g.                        (* GRD.D6 *)
Definition capped_gradient (cap : option R) (s g : R) : R :=
  match cap with Some kappa => softcap_gradient kappa s g | None => g end.

Definition score_query_gradient (sigma : R) (k : row) (g : R) (c : nat) : R := sigma * g * k c.           (* GRD.D7 *)
Definition score_key_gradient (sigma : R) (q : row) (g : R) (c : nat) : R := sigma * g * q c.
Definition score_scale_gradient (d : nat) (q k : row) (g : R) : R := g * dot d q k.

(** what the softcap of a logit is applied to *)
Definition softcap_argument (place : bias_position) (sigma x b : R) : R :=
  match place with
  | inside_scale => sigma * (x + b)
  | before_softcap => sigma * x + b
  | after_softcap => sigma * x
  end.
(** of the scaled score sigma * x, and of the bias *)                                                     (* GRD.D8 *)
Definition logit_score_gradient (place : bias_position) (cap : option R) (sigma x b g : R) : R :=
  capped_gradient cap (softcap_argument place sigma x b) g.
Definition logit_bias_gradient (place : bias_position) (cap : option R) (sigma x b g : R) : R :=
  match place with
  | after_softcap => g
  | before_softcap => logit_score_gradient place cap sigma x b g
  | inside_scale => sigma * logit_score_gradient place cap sigma x b g
  end.

(** What a head is given. A head without a bias has one of zeros here, and nobody reads its gradient.
    The gradient of a head is a record of the same form: for each number the number that belongs to it. *)
Record operands := Operands { queries : matrix; keys : matrix; values : matrix; biases : matrix; sink : option R }.

(** an absent number adds nothing *)
Definition or_zero (a : option R) : R := match a with Some v => v | None => 0 end.
(** <x, y> of a head of n queries and m keys, d wide, and values of d_v channels *)
Definition inner (n m d d_v : nat) (x y : operands) : R :=
  sum (range n) (fun i => dot d (queries x i) (queries y i)) +
  sum (range m) (fun j => dot d (keys x j) (keys y j)) +
  sum (range m) (fun j => dot d_v (values x j) (values y j)) +
  sum (range n) (fun i => dot m (biases x i) (biases y i)) +
  or_zero (sink x) * or_zero (sink y).
(** x + u t, number by number *)
Definition line (x t : operands) (u : R) : operands :=
  Operands (fun i c => queries x i c + u * queries t i c) (fun j c => keys x j c + u * keys t j c)
           (fun j c => values x j c + u * values t j c) (fun i j => biases x i j + u * biases t i j)
           match sink x, sink t with Some a, Some b => Some (a + u * b) | a, _ => a end.

(** row i of a head with operands x, stage by stage *)
Definition product (h : head) (x : operands) (i j : nat) : R := descale h * dot (width h) (queries x i) (keys x j).
Definition logits_of (h : head) (x : operands) (i : nat) : row := row_logits h (queries x) (keys x) (biases x) i.
Definition weights_of (h : head) (x : operands) (i j : nat) : R :=
  row_weights h (queries x) (keys x) (biases x) (sink x) i j.
Definition output_of (h : head) (x : operands) (i c : nat) : R :=
  attend_row h (queries x) (keys x) (values x) (biases x) (sink x) i c.
Definition lse_of (h : head) (f : lse_form) (x : operands) (i : nat) : R :=
  in_base f (row_lse h (queries x) (keys x) (biases x) (counted f (sink x)) i).
(** outputs and log-sum-exps of n rows, each times its cotangent: what the gradient of a head is the gradient of *)
Definition head_loss (h : head) (f : lse_form) (n d_v : nat) (x : operands) (g : matrix) (gL : row) : R :=
  sum (range n) (fun i => dot d_v (g i) (output_of h x i) + gL i * lse_of h f x i).

(** backwards through row i: g is the cotangent of its output of d_v channels, gL that of its log-sum-exp. Where nobody
    asked for one of them its cotangent is 0, which in the reals is the same as none. *)                  (* GRD.D9 *)
Definition of_weights (h : head) (d_v : nat) (x : operands) (i : nat) (g : row) : row := fun j =>
  weight_gradient (value_factor h) (kept h i j) d_v g (values x j).
Definition row_logit_gradient (h : head) (f : lse_form) (d_v : nat) (x : operands) (i : nat) (g : row) (gL : R)
                              (j : nat) : R :=
  if (j <? key_count h)%nat && visible h i j then
    softmax_gradient (row_keys h i) (weights_of h x i) (of_weights h d_v x i g) j +
    log_sum_exp_gradient f (sink_softmax (row_keys h i) (counted f (sink x)) (logits_of h x i) j) gL
  else 0.
Definition row_score_gradient (h : head) (f : lse_form) (d_v : nat) (x : operands) (i : nat) (g : row) (gL : R)
                              (j : nat) : R :=
  logit_score_gradient (place h) (cap h) (scale h) (product h x i j) (biases x i j)
                       (row_logit_gradient h f d_v x i g gL j).
Definition row_bias_gradient (h : head) (f : lse_form) (d_v : nat) (x : operands) (i : nat) (g : row) (gL : R)
                             (j : nat) : R :=
  logit_bias_gradient (place h) (cap h) (scale h) (product h x i j) (biases x i j)
                      (row_logit_gradient h f d_v x i g gL j).
Definition row_sink_gradient (h : head) (f : lse_form) (d_v : nat) (x : operands) (i : nat) (g : row) (gL : R) : R :=
  sink_gradient (sink_share (row_keys h i) (sink x) (logits_of h x i))
                (row_keys h i) (weights_of h x i) (of_weights h d_v x i g) +
  log_sum_exp_gradient f (sink_share (row_keys h i) (counted f (sink x)) (logits_of h x i)) gL.

(** the rows below n that see key j, and those that keep it too *)
Definition seen_by (h : head) (n j : nat) : list nat := filter (fun i => visible h i j) (range n).
Definition kept_by (h : head) (n j : nat) : list nat := filter (fun i => visible h i j && kept h i j) (range n).
(** of n rows; g i c and gL i are the cotangents *)                                                         (* GRD.D10 *)
Definition head_gradient (h : head) (f : lse_form) (n d_v : nat) (x : operands) (g : matrix) (gL : row) : operands :=
  let ds i j := row_score_gradient h f d_v x i (g i) (gL i) j in
  let sigma := scale h * descale h in
  Operands
    (fun i c => sigma * sum (row_keys h i) (fun j => ds i j * keys x j c))
    (fun j c => sigma * sum (seen_by h n j) (fun i => ds i j * queries x i c))
    (fun j c => value_factor h * sum (kept_by h n j) (fun i => weights_of h x i j * g i c))
    (fun i j => row_bias_gradient h f d_v x i (g i) (gL i) j)
    (option_map (fun _ => sum (range n) (fun i => row_sink_gradient h f d_v x i (g i) (gL i))) (sink x)).

(** * 14 Training *)

(** * 15 Online softmax *)

(** * 18 Bounds *)
