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

(** what a slope mu adds to the score of the query at position p and key j *)
Inductive alibi_form := distance | signed.
Definition alibi (form : alibi_form) (mu : R) (p : Z) (j : nat) : R :=                                    (* ATT.D9 *)
  match form with
  | distance => - mu * IZR (Z.abs (p - Z.of_nat j))
  | signed => mu * IZR (Z.of_nat j - p)
  end.

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

(** of pair n among w channels; [Rpower x y] is pow(x, y) *)
Definition frequency (n w : nat) (base : R) : R := Rpower base (- INR (2 * n) / INR w).                   (* POS.D1 *)
Definition angle (p : Z) (n w : nat) (base : R) : R := IZR p * frequency n w base.                        (* POS.D11 *)
(** of position p, in w channels *)
Definition sinusoidal (p : Z) (w : nat) (base : R) : row := fun c =>                                      (* POS.D2 *)
  if Nat.even c then sin (angle p (c / 2) w base) else cos (angle p (c / 2) w base).

Definition rotate_pair (x y cosine sine : R) : R * R :=                                                   (* POS.D5 *)
  (x * cosine - y * sine, x * sine + y * cosine).

(** the two channels of pair n, and the pair of a channel *)
Inductive pairing := halves | interleaved.
Definition first_channel (m : pairing) (pairs n : nat) : nat :=
  match m with halves => n | interleaved => 2 * n end.
Definition second_channel (m : pairing) (pairs n : nat) : nat :=
  match m with halves => n + pairs | interleaved => 2 * n + 1 end.
Definition pair_of (m : pairing) (pairs c : nat) : nat :=
  match m with halves => c mod pairs | interleaved => c / 2 end.

(** the first r = 2 * pairs channels are turned in pairs, the others are copied *)                        (* POS.D6 *)
Definition rotary (m : pairing) (pairs : nat) (cosines sines x : row) : row := fun c =>
  let n := pair_of m pairs c in
  let turned := rotate_pair (x (first_channel m pairs n)) (x (second_channel m pairs n)) (cosines n) (sines n) in
  if (2 * pairs <=? c)%nat then x c
  else if (c =? first_channel m pairs n)%nat then fst turned
  else snd turned.

(** r channels are rotated *)
Definition cached_cosines (r : nat) (base : R) : matrix := fun p n => cos (angle (Z.of_nat p) n r base).  (* POS.D7 *)
Definition cached_sines (r : nat) (base : R) : matrix := fun p n => sin (angle (Z.of_nat p) n r base).
Definition cached_rotary (m : pairing) (r : nat) (cosines sines : matrix) (p : nat) (x : row) : row :=    (* POS.D12 *)
  rotary m (r / 2) (cosines p) (sines p) x.
Definition rotary_at (m : pairing) (r : nat) (base : R) (p : Z) (x : row) : row :=                        (* POS.D10 *)
  rotary m (r / 2) (fun n => cos (angle p n r base)) (fun n => sin (angle p n r base)) x.

Definition geometric_slope (h H : nat) : R := Rpower 2 (- INR (8 * (h + 1)) / INR H).                    (* POS.D8 *)
(** P is the greatest power of two up to H *)
Definition alibi_slope (h H : nat) : R :=                                                                 (* POS.D9 *)
  let P := (2 ^ Nat.log2 H)%nat in
  if (h <? P)%nat then geometric_slope h P else geometric_slope (2 * (h - P)) (2 * P).
Definition alibi_by_key (mu : R) (j : nat) : R := mu * INR j.                                             (* POS.D13 *)

(** * 11 Norms *)

Definition mean (n : nat) (x : row) : R := sum (range n) x / INR n.                                       (* NRM.D1 *)
Definition mean_square (n : nat) (x : row) : R := dot n x x / INR n.                                      (* NRM.D5 *)
Definition centred (n : nat) (x : row) : row := fun c => x c - mean n x.                                  (* NRM.D6 *)
Definition variance (n : nat) (x : row) : R := mean_square n (centred n x).                               (* NRM.D2 *)

(** an absent gamma does not multiply, an absent beta is not added *)
Definition with_factor (gamma : option row) (c : nat) (y : R) : R :=
  match gamma with Some f => y * f c | None => y end.
Definition with_term (beta : option row) (c : nat) (y : R) : R :=
  match beta with Some b => y + b c | None => y end.

Definition layer_norm (n : nat) (gamma beta : option row) (epsilon : R) (x : row) : row := fun c =>       (* NRM.D3 *)
  with_term beta c (with_factor gamma c ((x c - mean n x) / sqrt (variance n x + epsilon))).
Definition rms_norm (n : nat) (gamma : option row) (epsilon : R) (x : row) : row := fun c =>              (* NRM.D4 *)
  with_factor gamma c (x c / sqrt (mean_square n x + epsilon)).

(** * 12 The decoder block *)

Definition relu (x : R) : R := Rmax x 0.                                                                  (* DEC.D2 *)

(** a and b, binary64 numbers as fractions *)
Definition gelu_slope : R := 7186705221432913 / 9007199254740992.
Definition gelu_cubic : R := 6444110634811895 / 144115188075855872.
Definition gelu (x : R) : R := / 2 * x * (1 + tanh (gelu_slope * (x + gelu_cubic * x ^ 3))).              (* DEC.D3 *)

(** * 13 Gradients *)

(** ** Affine maps, norms, rotations, activations: g is the cotangent of the result *)

(** of X: S rows with I columns; W: I rows with O columns; b: O numbers *)                                (* GRD.D13 *)
Definition affine_gradient_x (O : nat) (W G : matrix) : matrix := fun s m => dot O (G s) (W m).
Definition affine_gradient_weight (S : nat) (X G : matrix) : matrix := fun m n =>
  sum (range S) (fun s => X s m * G s n).
Definition affine_gradient_bias (S : nat) (G : matrix) : row := fun n => sum (range S) (fun s => G s n).

Definition rms_norm_gradient_x (n : nat) (gamma : option row) (epsilon : R) (x g : row) : row := fun c => (* GRD.D18 *)
  let r := sqrt (mean_square n x + epsilon) in
  let y := rms_norm n None epsilon x in
  let z := fun k => with_factor gamma k (g k) in
  (z c - y c * (dot n z y / INR n)) / r.
Definition rms_norm_gradient_gamma (n : nat) (epsilon : R) (x g : row) : row := fun c =>
  g c * rms_norm n None epsilon x c.

Definition layer_norm_gradient_x (n : nat) (gamma : option row) (epsilon : R) (x g : row) : row :=        (* GRD.D19 *)
  centred n (rms_norm_gradient_x n gamma epsilon (centred n x) g).
Definition layer_norm_gradient_gamma (n : nat) (epsilon : R) (x g : row) : row :=
  rms_norm_gradient_gamma n epsilon (centred n x) g.
Definition layer_norm_gradient_beta (g : row) : row := g.

(** S rows that share gamma and beta *)                                                                   (* DEC.D20 *)
Definition normed_rows_gradient_x (n : nat) (gamma : option row) (epsilon : R) (X G : matrix) : matrix := fun i =>
  layer_norm_gradient_x n gamma epsilon (X i) (G i).
Definition normed_rows_gradient_gamma (S n : nat) (epsilon : R) (X G : matrix) : row := fun c =>
  sum (range S) (fun i => layer_norm_gradient_gamma n epsilon (X i) (G i) c).
Definition normed_rows_gradient_beta (S : nat) (G : matrix) : row := fun c =>
  sum (range S) (fun i => layer_norm_gradient_beta (G i) c).

(** of the row; of the first 2 * pairs channels, and the rest is copied *)
Definition rotary_gradient (m : pairing) (pairs : nat) (cosines sines g : row) : row :=                   (* GRD.D20 *)
  rotary m pairs cosines (fun n => - sines n) g.

Definition relu_gradient (x g : R) : R := if Rlt_dec 0 x then g else 0.                                   (* DEC.D18 *)
Definition gelu_gradient (x g : R) : R :=                                                                 (* DEC.D19 *)
  let tau := tanh (gelu_slope * (x + gelu_cubic * x ^ 3)) in
  / 2 * g * (1 + tau + x * (1 - tau ^ 2) * gelu_slope * (1 + 3 * gelu_cubic * x ^ 2)).

(** * 14 Training *)

(** * 15 Online softmax *)

(** * 18 Bounds *)
