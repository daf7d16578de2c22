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

(** row i is the row of the table that belongs to token i *)
Definition embedding (table : matrix) (tokens : nat -> nat) : matrix := fun i => table (tokens i).        (* DEC.D1 *)

(** over S places; query i sees the keys up to i *)
Definition causal_head (S d : nat) : head :=                                                              (* DEC.D4 *)
  {| width := d; key_count := S; scale := 1 / sqrt (INR d); descale := 1; value_factor := 1; cap := None;
     place := after_softcap; visible := fun i => causal (Z.of_nat i); kept := fun _ _ => true |}.
(** of a head without bias and sink *)
Definition attended_rows (h : head) (Q K V : matrix) : matrix := fun i =>                                 (* DEC.D5 *)
  attend_row h Q K V (fun _ _ => 0) None i.
Definition normed_rows (n : nat) (gamma beta : row) (epsilon : R) (X : matrix) : matrix := fun i =>       (* DEC.D6 *)
  layer_norm n (Some gamma) (Some beta) epsilon (X i).
Definition residual (X Y : matrix) : matrix := fun i c => X i c + Y i c.                                  (* DEC.D7 *)

(** S, E, H and V of the chapter, and the epsilon of both norms *)
Record decoder_extents := DecoderExtents {
  places : nat;  channels : nat;  hidden : nat;  vocabulary : nat;  norm_epsilon : R
}.
Record norm_map := Norm { factors : row; terms : row }.                 (* gamma, beta *)
Record linear_map := Linear { factor : matrix; term : row }.            (* weight, bias *)
Record decoder := Decoder {                                                                               (* DEC.D8 *)
  embed : matrix;
  norm1 : norm_map;
  wq : linear_map;  wk : linear_map;  wv : linear_map;  wo : linear_map;
  norm2 : norm_map;
  ff1 : linear_map;  ff2 : linear_map;
  unembed : linear_map
}.

Definition embedded (table : matrix) (tokens : nat -> nat) : matrix := embedding table tokens.            (* DEC.D9 *)
Definition normed (N : decoder_extents) (p : norm_map) (X : matrix) : matrix :=                           (* DEC.D10 *)
  normed_rows (channels N) (factors p) (terms p) (norm_epsilon N) X.
(** of rows with I columns *)
Definition linear (I : nat) (m : linear_map) (X : matrix) : matrix := affine I (factor m) (Some (term m)) X. (* DEC.D11 *)
Definition attend_causally (N : decoder_extents) (Q K V : matrix) : matrix :=                             (* DEC.D12 *)
  attended_rows (causal_head (places N) (channels N)) Q K V.
Definition rectified (X : matrix) : matrix := fun i c => relu (X i c).                                    (* DEC.D13 *)
Definition both (X Y : matrix) : matrix := residual X Y.                                                  (* DEC.D14 *)

Record stages := Stages {
  stage_x : matrix;  stage_n : matrix;  stage_q : matrix;  stage_k : matrix;  stage_v : matrix;  stage_a : matrix;
  stage_x1 : matrix;  stage_n1 : matrix;  stage_f : matrix;  stage_r : matrix;  stage_x2 : matrix;  logits : matrix
}.
(** the page of chapter 12, line by line *)
Definition decoder_block (N : decoder_extents) (w : decoder) (tokens : nat -> nat) : stages :=            (* DEC.D15 *)
  let x := embedded (embed w) tokens in
  let n := normed N (norm1 w) x in
  let q := linear (channels N) (wq w) n in
  let k := linear (channels N) (wk w) n in
  let v := linear (channels N) (wv w) n in
  let a := attend_causally N q k v in
  let x1 := both x (linear (channels N) (wo w) a) in
  let n1 := normed N (norm2 w) x1 in
  let f := linear (channels N) (ff1 w) n1 in
  let r := rectified f in
  let x2 := both x1 (linear (hidden N) (ff2 w) r) in
  Stages x n q k v a x1 n1 f r x2 (linear (channels N) (unembed w) x2).

(** what a block learns: 19 slots, each with its rows, its columns and its entries; a slot that is a row has one *)
Record decoder_slot := DecoderSlot { slot_rows : nat; slot_columns : nat; entries : decoder -> matrix }.
Definition row_slot (n : nat) (r : decoder -> row) : decoder_slot := DecoderSlot 1 n (fun w _ => r w).
Definition norm_slots (n : nat) (p : decoder -> norm_map) : list decoder_slot :=
  [row_slot n (fun w => factors (p w)); row_slot n (fun w => terms (p w))].
Definition linear_slots (I O : nat) (m : decoder -> linear_map) : list decoder_slot :=
  [DecoderSlot I O (fun w => factor (m w)); row_slot O (fun w => term (m w))].
Definition decoder_slots (N : decoder_extents) : list decoder_slot :=                                     (* DEC.D16 *)
  let E := channels N in
  [DecoderSlot (vocabulary N) E embed] ++ norm_slots E norm1
  ++ linear_slots E E wq ++ linear_slots E E wk ++ linear_slots E E wv ++ linear_slots E E wo
  ++ norm_slots E norm2 ++ linear_slots E (hidden N) ff1 ++ linear_slots (hidden N) E ff2
  ++ linear_slots E (vocabulary N) unembed.

(** * 13 Gradients *)

(** the inner product of two matrices *)
Definition matrix_dot (S n : nat) (G X : matrix) : R := sum (range S) (fun i => dot n (G i) (X i)).

(** ** The decoder block *)

(** of a table, from S tokens *)
Definition embedding_gradient (S : nat) (tokens : nat -> nat) (g : matrix) (t c : nat) : R :=             (* DEC.D17 *)
  sum (filter (fun i => Nat.eqb (tokens i) t) (range S)) (fun i => g i c).

(** for each line of the page, what its parameters and what its rows receive *)
Definition normed_gradient (N : decoder_extents) (X g : matrix) : norm_map :=
  Norm (normed_rows_gradient_gamma (places N) (channels N) (norm_epsilon N) X g) (normed_rows_gradient_beta (places N) g).
Definition normed_gradient_x (N : decoder_extents) (p : norm_map) (X g : matrix) : matrix :=
  normed_rows_gradient_x (channels N) (Some (factors p)) (norm_epsilon N) X g.
Definition linear_gradient (N : decoder_extents) (X g : matrix) : linear_map :=
  Linear (affine_gradient_weight (places N) X g) (affine_gradient_bias (places N) g).
Definition linear_gradient_x (O : nat) (m : linear_map) (g : matrix) : matrix := affine_gradient_x O (factor m) g.
Definition attend_causally_gradient (N : decoder_extents) (Q K V g : matrix) : operands :=
  head_gradient (causal_head (places N) (channels N)) (LseForm false false) (places N) (channels N)
                (Operands Q K V (fun _ _ => 0) None) g (fun _ => 0).
Definition rectified_gradient (X g : matrix) : matrix := fun i c => relu_gradient (X i c) (g i c).

(** the page backwards; [d] is what attention passes to q, k and v *)
Definition decoder_block_gradient (N : decoder_extents) (w : decoder) (tokens : nat -> nat) (g : matrix) : decoder := (* DEC.D21 *)
  let s := decoder_block N w tokens in
  let x2 := linear_gradient_x (vocabulary N) (unembed w) g in
  let r := linear_gradient_x (channels N) (ff2 w) x2 in
  let f := rectified_gradient (stage_f s) r in
  let n1 := linear_gradient_x (hidden N) (ff1 w) f in
  let x1 := both x2 (normed_gradient_x N (norm2 w) (stage_x1 s) n1) in
  let a := linear_gradient_x (channels N) (wo w) x1 in
  let d := attend_causally_gradient N (stage_q s) (stage_k s) (stage_v s) a in
  let n := both (both (linear_gradient_x (channels N) (wq w) (queries d)) (linear_gradient_x (channels N) (wk w) (keys d)))
                (linear_gradient_x (channels N) (wv w) (values d)) in
  let x := both x1 (normed_gradient_x N (norm1 w) (stage_x s) n) in
  Decoder (embedding_gradient (places N) tokens x) (normed_gradient N (stage_x s) n)
    (linear_gradient N (stage_n s) (queries d)) (linear_gradient N (stage_n s) (keys d)) (linear_gradient N (stage_n s) (values d))
    (linear_gradient N (stage_a s) x1) (normed_gradient N (stage_x1 s) n1)
    (linear_gradient N (stage_n1 s) f) (linear_gradient N (stage_r s) x2) (linear_gradient N (stage_x2 s) g).

(** the inner product of two records of parameters: over all entries of the 19 slots *)
Definition decoder_dot (N : decoder_extents) (a b : decoder) : R :=
  sum (decoder_slots N) (fun s => matrix_dot (slot_rows s) (slot_columns s) (entries s a) (entries s b)).

(** * 14 Training *)

Definition cross_entropy (V : nat) (l : row) (t : nat) : R := log_sum_exp (range V) l - l t.              (* TRN.D1 *)
(** the mean over S rows of V logits; row i has the target t i *)
Definition mean_cross_entropy (S V : nat) (L : matrix) (t : nat -> nat) : R :=                            (* TRN.D2 *)
  sum (range S) (fun i => cross_entropy V (L i) (t i)) / INR S.
Definition mean_cross_entropy_gradient (S V : nat) (L : matrix) (t : nat -> nat) (i c : nat) : R :=       (* TRN.D3 *)
  (softmax (range V) (L i) c - (if Nat.eqb c (t i) then 1 else 0)) / INR S.

(** the column of the greatest of V logits, the first one among equals *)
Fixpoint prediction (V : nat) (l : row) : nat :=                                                          (* TRN.D4 *)
  match V with
  | O => O
  | S last => let best := prediction last l in if Rlt_dec (l best) (l last) then last else best
  end.

Record adam_options := AdamOptions { rate : R; first_decay : R; second_decay : R; adam_epsilon : R }.

(** a parameter, and the averages of its gradient and of its square *)
Record adam_number := AdamNumber { parameter : R; first : R; second : R }.

(** one number with gradient g; [power1] and [power2] are the decays to the power of the step *)
Definition adam_entry (o : adam_options) (power1 power2 : R) (old : adam_number) (g : R) : adam_number := (* TRN.D5 *)
  let m := first_decay o * first old + (1 - first_decay o) * g in
  let v := second_decay o * second old + (1 - second_decay o) * (g * g) in
  let step := m / (1 - power1) in
  let size := sqrt (v / (1 - power2)) + adam_epsilon o in
  AdamNumber (parameter old - rate o * step / size) m v.

(** The numbers of all parameters carry names of some type A: for a layer or a block, the slot and the place in it.
    What Adam holds: a number for each name, and the powers. *)
Record adam_state (A : Type) := AdamState { numbers : A -> adam_number; power1 : R; power2 : R }.
Arguments AdamState {A}. Arguments numbers {A}. Arguments power1 {A}. Arguments power2 {A}.

Definition adam_start {A : Type} (w : A -> R) : adam_state A :=                                           (* TRN.D6 *)
  AdamState (fun a => AdamNumber (w a) 0 0) 1 1.

(** D5 at every learned number; the others stay as they are *)
Definition adam_step {A : Type} (o : adam_options) (learned : A -> bool) (g : A -> R)
                     (s : adam_state A) : adam_state A :=                                                 (* TRN.D7 *)
  let p1 := power1 s * first_decay o in
  let p2 := power2 s * second_decay o in
  AdamState (fun a => if learned a then adam_entry o p1 p2 (numbers s a) (g a) else numbers s a) p1 p2.

(** the first t steps from the parameters w; step k has the gradient g k *)
Fixpoint adam_steps {A : Type} (o : adam_options) (learned : A -> bool) (w : A -> R)
                    (g : nat -> A -> R) (t : nat) : adam_state A :=
  match t with
  | O => adam_start w
  | S k => adam_step o learned (g k) (adam_steps o learned w g k)
  end.

(** the slots of a layer in the order of OPT.D5, and those of them that are learned *)
Inductive layer_slot :=
  | query_weight | key_weight | value_weight | output_weight
  | query_bias | key_bias | value_bias | output_bias | probability.
Definition trained_slots (input_biases output_bias_too : bool) : list layer_slot :=                       (* TRN.D8 *)
  [query_weight; key_weight; value_weight; output_weight]
  ++ (if input_biases then [query_bias; key_bias; value_bias] else [])
  ++ (if output_bias_too then [output_bias] else []).

(** * 15 Online softmax *)

(** * 18 Bounds *)
