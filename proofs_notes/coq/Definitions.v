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

(** the query at position p = i + o sees the keys up to p, or those of a window around p *)
Definition causal (p : Z) (j : nat) : bool := Z.leb (Z.of_nat j) p.                                       (* MSK.D1 *)
Definition window (p : Z) (left right : option Z) (j : nat) : bool :=                                     (* MSK.D2 *)
  match left with Some l => Z.leb (p - l) (Z.of_nat j) | None => true end &&
  match right with Some r => Z.leb (Z.of_nat j) (p + r) | None => true end.
Definition within_length (j n : nat) : bool := (j <? n)%nat.                                              (* MSK.D3 *)
Definition prefix (j n : nat) : bool := (j <? n)%nat.                                                     (* MSK.D4 *)
Definition same_document (x y : Z) : bool := Z.eqb x y.                                                   (* MSK.D5 *)
Definition all_of (rules : list bool) : bool := forallb (fun x => x) rules.                               (* MSK.D7 *)
Definition not_padding (present : nat -> bool) (j : nat) : bool := present j.                             (* MSK.D15 *)

(** a number of the extended reals (chapter 00) *)
Inductive extended := Finite (x : R) | MinusInfinity | PlusInfinity | NaN.
Definition causal_mask (i j : nat) : extended :=                                                          (* MSK.D8 *)
  if (j <=? i)%nat then Finite 0 else MinusInfinity.

Definition visible_from_hidden (hidden : bool) : bool := negb hidden.                                     (* MSK.D9 *)
Definition visible_from_ones (x : Z) : bool := Z.eqb x 1.                                                 (* MSK.D10 *)
Definition visible_from_additive (x : extended) : bool :=                                                 (* MSK.D11 *)
  match x with MinusInfinity => false | _ => true end.

(** where query 0 of Sq queries over Sk keys stands; a length that is not given is the full extent *)
Inductive alignment := top_left | bottom_right_padded | bottom_right_actual | after_past | given_offsets.
Definition length_or (full : nat) (length : option nat) : Z :=
  Z.of_nat (match length with Some n => n | None => full end).
Definition offset_of (a : alignment) (Sq Sk : nat) (q_length k_length : option nat)
                     (past : nat) (given : Z) : Z :=                                                      (* MSK.D12 *)
  match a with
  | top_left => 0
  | bottom_right_padded => Z.of_nat Sk - Z.of_nat Sq
  | bottom_right_actual => length_or Sk k_length - length_or Sq q_length
  | after_past => Z.of_nat past
  | given_offsets => given
  end.

(** The rules of one batch entry and head. [None] is a rule whose input is absent: it lets every key through. *)
Record rules := Rules {
  offset : Z;
  is_causal : bool;
  prefix_length : option nat;
  window_left : option Z;
  window_right : option Z;
  q_length : option nat;
  k_length : option nat;
  documents : option ((nat -> Z) * (nat -> Z));      (* of queries, of keys *)
  key_padding : option (nat -> bool);
  visible_entry : option (nat -> nat -> bool);       (* MSK.D6, at this batch entry and head *)
  bias_entry : option (nat -> nat -> extended)
}.
Definition if_given {A : Type} (input : option A) (rule : A -> bool) : bool :=
  match input with Some x => rule x | None => true end.
Definition is_visible (m : rules) (i j : nat) : bool :=                                                   (* MSK.D13 *)
  let p := (Z.of_nat i + offset m)%Z in
  all_of [
    if is_causal m then causal p j || match prefix_length m with Some n => prefix j n | None => false end else true;
    window p (window_left m) (window_right m) j;
    if_given (q_length m) (within_length i);
    if_given (k_length m) (within_length j);
    if_given (documents m) (fun d => same_document (fst d i) (snd d j));
    if_given (key_padding m) (fun t => not_padding t j);
    if_given (visible_entry m) (fun t => t i j);
    if_given (bias_entry m) (fun b => visible_from_additive (b i j))
  ].

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
Definition sink_share (keys : list nat) (a : R) (s : row) : R := exp a / total keys (Some a) s.

(** the weights of a whole row: 0 at hidden keys *)
Definition masked_sink_softmax (n : nat) (A : visible_set) (sink : option R) (s : row) (j : nat) : R :=
  if (j <? n)%nat && A j then sink_softmax (gathered n A) sink s j else 0.

(** the log-sum-exp that is reported: absent for a row of no keys without a sink, since ln 0 is no number *)
Definition reported_lse (keys : list nat) (sink : option R) (s : row) : option R :=
  match keys, sink with
  | [], None => None
  | _, _ => Some (sink_log_sum_exp keys sink s)
  end.

(** Two ways of masking by a large negative number N; the rows are as long as the mask, hidden keys take part.
    The third deviation, SMX.D6, adds minus infinity, and so it is no function of reals: Programs.v has it. *)
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
  masked_sink_softmax (key_count h) (visible h i) sink (row_logits h Q K bias i) j.
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

(** A block of keys: a shift c, the sum of exp (l_j - c), and the sum of exp (l_j - c) * v_j, one number for each
    channel. The shift may be any number. Without a shift it is the empty block. *)
Record block := Block { block_shift : option R; block_sum : R; block_weighted : row }.                    (* ONL.D1 *)
Definition empty_block : block := Block None 0 (fun _ => 0).

(** what a block stands for, whatever its shift: Phi; blocks that stand for the same are equal in the reals *)
Definition stands_for (b : block) : R * row :=
  match block_shift b with
  | Some c => (exp c * block_sum b, fun ch => exp c * block_weighted b ch)
  | None => (0, fun _ => 0)
  end.
Definition same_block (a b : block) : Prop :=
  fst (stands_for a) = fst (stands_for b) /\ forall ch, snd (stands_for a) ch = snd (stands_for b) ch.

Definition block_of (c : R) (keys : list nat) (l : row) (V : matrix) : block :=                           (* ONL.D2 *)
  match keys with
  | [] => empty_block
  | _ => Block (Some c) (sum keys (exponential c l)) (fun ch => sum keys (fun j => exponential c l j * V j ch))
  end.

(** the common shift is c, any number *)
Definition merge (c : R) (a b : block) : block :=                                                         (* ONL.D3 *)
  match block_shift a, block_shift b with
  | None, _ => b
  | _, None => a
  | Some ca, Some cb =>
      let ra := exp (ca - c) in
      let rb := exp (cb - c) in
      Block (Some c) (ra * block_sum a + rb * block_sum b)
            (fun ch => ra * block_weighted a ch + rb * block_weighted b ch)
  end.

(** a piece of a row: its keys, the shift of its block, and the common shift when it is merged *)
Record piece := Piece { piece_keys : list nat; piece_shift : R; common_shift : R }.
(** begin with a block, merge the pieces from the left; a row begins with the empty block *)
Definition stream_from (start : block) (pieces : list piece) (l : row) (V : matrix) : block :=
  fold_left (fun b p => merge (common_shift p) b (block_of (piece_shift p) (piece_keys p) l V)) pieces start.
Definition stream (pieces : list piece) (l : row) (V : matrix) : block :=                                 (* ONL.D4 *)
  stream_from empty_block pieces l V.

(** the output, and the log-sum-exp; the empty block has no log-sum-exp *)
Definition finish (b : block) : row * option R :=                                                         (* ONL.D5 *)
  match block_shift b with
  | Some c => (fun ch => block_weighted b ch / block_sum b, Some (c + ln (block_sum b)))
  | None => (fun _ => 0, None)
  end.
Definition sink_block (a : R) : block := Block (Some a) 1 (fun _ => 0).
Definition start_block (sink : option R) : block :=
  match sink with Some a => sink_block a | None => empty_block end.
(** the row of a head, streamed: the pieces hold its visible keys in order *)
Definition streamed_row (sink : option R) (pieces : list piece) (l : row) (V : matrix)
  : row * option R :=                                                                                     (* ONL.D6 *)
  finish (stream_from (start_block sink) pieces l V).

(** * 18 Bounds *)
