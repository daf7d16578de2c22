(** The definitions of the specification, over the real numbers: one page, to be read.

    How to read it, coming from C++:

      Definition f (x : R) : R := e.    double f(double x) { return e; }, but R holds the real numbers
      nat -> R                          a row of numbers: [s j] is s[j]. How long the row is, is said where it is summed
      nat -> nat -> R                   a matrix: [X i c] is X(i, c)
      fun j => e                        a lambda, [=](auto j) { return e; }
      f x y                             a call, f(x, y)
      option R, Some a, None            std::optional<double>
      match m with A => x | B => y end  a switch that returns a value
      if Req_EM_T x y then a else b     x == y ? a : b, for real numbers; Rle_dec x y in the same way for x <= y
      x :: rest                         a list with first entry x

    Behind each definition stands the id of the item of spec/ that it is. Division by zero gives some number here;
    whoever divides shows beforehand that the divisor is not zero. Nothing on this page rounds. *)
Require Export Reals List Bool Arith ZArith Lra Lia Permutation.
Export ListNotations.
Open Scope R_scope.

Definition row := nat -> R.
Definition matrix := nat -> row.

(** * 01 Scalars: dual numbers *)

Definition positive_part (x : R) : R := Rmax x 0.                                                         (* NUM.D4 *)
Definition absolute (x : R) : R := Rabs x.                                                                (* NUM.D5 *)
Definition where_positive (x y : R) : R := if Rlt_dec 0 x then y else 0.                                  (* NUM.D7 *)

(** an operation does to values what it does, and to tangents what its derivative does *)                 (* NUM.D8 *)
Record dual := Dual { value : R; tangent : R }.
Definition dual_lift (x : R) : dual := Dual x 0.
Definition dual_add (a b : dual) : dual := Dual (value a + value b) (tangent a + tangent b).
Definition dual_sub (a b : dual) : dual := Dual (value a - value b) (tangent a - tangent b).
Definition dual_neg (a : dual) : dual := Dual (- value a) (- tangent a).
Definition dual_mul (a b : dual) : dual := Dual (value a * value b) (tangent a * value b + value a * tangent b).
Definition dual_div (a b : dual) : dual :=
  let quotient := value a / value b in Dual quotient ((tangent a - quotient * tangent b) / value b).
Definition dual_exp (a : dual) : dual := let y := exp (value a) in Dual y (y * tangent a).
Definition dual_log (a : dual) : dual := Dual (ln (value a)) (tangent a / value a).
Definition dual_tanh (a : dual) : dual := let y := tanh (value a) in Dual y ((1 - y * y) * tangent a).
Definition dual_sqrt (a : dual) : dual := let y := sqrt (value a) in Dual y (tangent a / (y + y)).
Definition dual_sin (a : dual) : dual := Dual (sin (value a)) (cos (value a) * tangent a).
Definition dual_cos (a : dual) : dual := Dual (cos (value a)) (- (sin (value a) * tangent a)).
Definition dual_positive_part (a : dual) : dual :=
  Dual (positive_part (value a)) (where_positive (value a) (tangent a)).
Definition dual_absolute (a : dual) : dual :=
  Dual (absolute (value a)) (where_positive (value a) (tangent a) - where_positive (- value a) (tangent a)).
Definition dual_where_positive (a b : dual) : dual :=
  Dual (where_positive (value a) (value b)) (where_positive (value a) (tangent b)).

(** * 02 Shapes: sums *)

(** 0, 1, ..., n-1 *)
Definition range (n : nat) : list nat := seq 0 n.

(** the sum of [f i] over the entries i of a list *)                                                      (* SHP.D3 *)
Fixpoint sum {A : Type} (l : list A) (f : A -> R) : R :=
  match l with
  | [] => 0
  | i :: rest => f i + sum rest f
  end.

Definition dot (d : nat) (q k : row) : R := sum (range d) (fun c => q c * k c).                           (* SHP.D4 *)
(** along an axis of extent n, what index x of the full extent reads *)
Definition broadcast (n x : nat) : nat := if (n =? 1)%nat then 0%nat else x.                              (* SHP.D8 *)

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
(** the weight that the sink takes for itself *)
Definition sink_share (keys : list nat) (sink : option R) (s : row) : R :=
  match sink with Some a => exp a / total keys sink s | None => 0 end.

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

(** one query against m keys *)
Definition compute (d m : nat) (q : row) (K V : matrix) (c : nat) : R :=                                  (* ATT.D1 *)
  sum (range m) (fun j => exp (dot d q (K j)) * V j c) / sum (range m) (fun j => exp (dot d q (K j))).

Definition score (sigma : R) (d : nat) (q k : row) : R := sigma * dot d q k.                              (* ATT.D2 *)

(** the scale that is given, or 1/sqrt(d) *)
Definition scale_of (given : option R) (d : nat) : R :=                                                   (* ATT.D12 *)
  match given with Some sigma => sigma | None => 1 / sqrt (INR d) end.

(** softmax of the scores with M added, times the values. M, where there is one, is finite here; minus infinity is
    SMX.D6 *)
Definition textbook_attention (d m : nat) (Q K V : matrix) (M : option matrix) (i c : nat) : R :=         (* ATT.D16 *)
  let s := fun j => dot d (Q i) (K j) / sqrt (INR d) + match M with Some M => M i j | None => 0 end in
  sum (range m) (fun j => softmax (range m) s j * V j c).

Definition softcap (kappa s : R) : R := kappa * tanh (s / kappa).                                         (* ATT.D3 *)
Definition capped (cap : option R) (s : R) : R := match cap with Some kappa => softcap kappa s | None => s end.

(** the bias of a head with slope mu at the query's position p and key j *)
Inductive alibi_form := distance | signed.
Definition alibi (form : alibi_form) (mu : R) (p : Z) (j : nat) : R :=                                    (* ATT.D9 *)
  match form with
  | distance => - mu * IZR (Z.abs (p - Z.of_nat j))
  | signed => mu * IZR (Z.of_nat j - p)
  end.

(** the place at which the bias b joins the product x of query and key *)
Inductive bias_position := inside_scale | before_softcap | after_softcap.
Definition logit (place : bias_position) (cap : option R) (sigma x b : R) : R :=                          (* ATT.D4 *)
  match place with
  | inside_scale => capped cap (sigma * (x + b))
  | before_softcap => capped cap (sigma * x + b)
  | after_softcap => capped cap (sigma * x) + b
  end.

Definition kept_weight (w p : R) (kept : bool) : R :=                                                     (* ATT.D5 *)
  if Req_EM_T p 1 then 0 else if kept then w / (1 - p) else 0.

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

(** the head with dropout of probability p and the kept masks r; [h] is the head without dropout *)
Definition with_dropout (p : R) (r : nat -> nat -> bool) (h : head) : head :=                             (* ATT.D7 *)
  Head (width h) (key_count h) (scale h) (descale h) (if Req_EM_T p 1 then 0 else value_factor h / (1 - p))
       (cap h) (place h) (visible h) r.

(** the scores in the middle of the pipeline, which exist at hidden pairs too *)
Definition scaled_score (h : head) (Q K : matrix) (i j : nat) : R :=                                      (* ATT.D14 *)
  scale h * (descale h * dot (width h) (Q i) (K j)).
Definition capped_score (h : head) (Q K bias : matrix) (i j : nat) : R :=                                 (* ATT.D14 *)
  match place h with
  | after_softcap => capped (cap h) (scaled_score h Q K i j)
  | _ => row_logits h Q K bias i j
  end.

(** * 06 Heads *)

Inductive head_map := grouped | tiled.
(** the key head that query head h reads: [heads] query heads over [key_heads] key heads *)
Definition key_head (m : head_map) (heads key_heads h : nat) : nat :=                                     (* MHA.D1 *)
  match m with
  | grouped => h / (heads / key_heads)
  | tiled => h mod key_heads
  end.

(** the whole call: a row at every batch entry b, query head h and query i; [call b h] is what its rows share *)
Definition attention (m : head_map) (heads key_heads value_heads : nat) (call : nat -> nat -> head)
                     (Q K V bias : nat -> nat -> matrix) (sink : nat -> option R) (b h i c : nat) : R :=  (* ATT.D8 *)
  attend_row (call b h) (Q b h) (K b (key_head m heads key_heads h)) (V b (key_head m heads value_heads h))
             (bias b h) (sink h) i c.

Definition split_heads (w : nat) (X : matrix) (h s c : nat) : R := X s (h * w + c)%nat.                   (* MHA.D2 *)
Definition merge_heads (w : nat) (X : nat -> matrix) (s n : nat) : R := X (n / w)%nat s (n mod w)%nat.    (* MHA.D3 *)

(** rows X with I columns, times a weight, plus a bias where there is one *)
Definition affine (I : nat) (W : matrix) (b : option row) (X : matrix) (s n : nat) : R :=                 (* MHA.D4 *)
  dot I (X s) (fun m => W m n) + match b with Some b => b n | None => 0 end.

(** a projection for each head, from a list of matrices *)
Definition project_heads (I : nat) (W : list matrix) (X : matrix) (h : nat) : matrix :=                   (* MHA.D5 *)
  affine I (nth h W (fun _ _ => 0)) None X.

(** the n rows of past, then the rows of now *)
Definition append_rows (n : nat) (past now : matrix) : matrix := fun s =>                                 (* MHA.D6 *)
  if (s <? n)%nat then past s else now (s - n)%nat.

Record layer_extents := Extents {
  query_heads : nat;  key_heads : nat;  value_heads : nat;
  head_width : nat;  value_width : nat;
  query_input : nat;  key_input : nat;  value_input : nat;  output_width : nat
}.
Record projection := Projection { weight_of : matrix; bias_of : option row }.
Definition projected (I : nat) (p : projection) (X : matrix) : matrix := affine I (weight_of p) (bias_of p) X.

(** The call of a layer, for one batch entry. [inside h] is the attention inside, of query head h, as it is on the
    projected keys; its width and its number of keys are those of the layer. [unpadded i] says whether query i is one
    within its length: a padded query sees no key. *)
Record layer := Layer {                                                                                   (* MHA.D7 *)
  extents : layer_extents;
  shared_by : head_map;
  to_queries : projection;  to_keys : projection;  to_values : projection;  to_output : projection;
  added_row : option (row * row);   (* key_row and value_row *)
  zero_attention : bool;
  projected_count : nat;            (* Sk *)
  unpadded : nat -> bool;
  inside : nat -> head;
  inside_bias : nat -> matrix;
  inside_sink : nat -> option R
}.

Definition added_count (L : layer) : nat :=
  (if added_row L then 1 else 0) + (if zero_attention L then 1 else 0).

(** the attention inside, the added keys included: every query that is not padded sees them, and they have no bias *)
Definition inner_head (L : layer) (h : nat) : head :=                                                     (* MHA.D8 *)
  let a := inside L h in
  Head (head_width (extents L)) (projected_count L + added_count L) (scale a) (descale a) (value_factor a)
       (cap a) (place a)
       (fun i j => unpadded L i && if (j <? projected_count L)%nat then visible a i j else true) (kept a).
Definition inner_bias (L : layer) (h i j : nat) : R :=                                                    (* MHA.D8 *)
  if (j <? projected_count L)%nat then inside_bias L h i j else 0.

(** n projected rows, then the added row and the row of zeros, as far as the layer has them *)
Definition projected_keys (I n : nat) (p : projection) (added : option row) (zero : bool)
                          (X : matrix) : matrix :=                                                        (* MHA.D9 *)
  let rows := projected I p X in
  match added with
  | Some r => let more := append_rows n rows (fun _ => r) in
              if zero then append_rows (n + 1) more (fun _ _ => 0) else more
  | None => if zero then append_rows n rows (fun _ _ => 0) else rows
  end.

(** the operands of query head h *)
Definition layer_queries (L : layer) (X : matrix) (h : nat) : matrix :=                                   (* MHA.D10 *)
  let e := extents L in split_heads (head_width e) (projected (query_input e) (to_queries L) X) h.
Definition layer_keys (L : layer) (X : matrix) (h : nat) : matrix :=
  let e := extents L in
  let rows := projected_keys (key_input e) (projected_count L) (to_keys L) (option_map fst (added_row L))
                             (zero_attention L) X in
  split_heads (head_width e) rows (key_head (shared_by L) (query_heads e) (key_heads e) h).
Definition layer_values (L : layer) (X : matrix) (h : nat) : matrix :=
  let e := extents L in
  let rows := projected_keys (value_input e) (projected_count L) (to_values L) (option_map snd (added_row L))
                             (zero_attention L) X in
  split_heads (value_width e) rows (key_head (shared_by L) (query_heads e) (value_heads e) h).

(** the outputs of the heads, side by side and projected *)
Definition output_rows (L : layer) (heads : nat -> matrix) : matrix :=                                    (* MHA.D11 *)
  let e := extents L in
  projected (query_heads e * value_width e) (to_output L) (merge_heads (value_width e) heads).

(** the weights of H heads, averaged *)
Definition mean_weights (H : nat) (w : nat -> row) (j : nat) : R :=                                       (* MHA.D12 *)
  sum (range H) (fun h => w h j) / INR H.

Definition layer_head (L : layer) (Xq Xk Xv : matrix) (h : nat) : matrix :=                               (* MHA.D13 *)
  attend_row (inner_head L h) (layer_queries L Xq h) (layer_keys L Xk h) (layer_values L Xv h)
             (inner_bias L h) (inside_sink L h).
Definition layer_output (L : layer) (Xq Xk Xv : matrix) : matrix := output_rows L (layer_head L Xq Xk Xv). (* MHA.D14 *)

(** the layer as a record of lists, of S keys; the lists have one matrix for each head *)
Record multi_head := MultiHead {
  query_projections : list matrix;  key_projections : list matrix;  value_projections : list matrix;
  output_projection : matrix
}.
Definition multi_head_attention (e : layer_extents) (S : nat) (r : multi_head)
                                (Xq Xk Xv : matrix) : matrix :=                                           (* MHA.D15 *)
  let heads := fun h =>
    textbook_attention (head_width e) S
      (project_heads (query_input e) (query_projections r) Xq h)
      (project_heads (key_input e) (key_projections r) Xk h)
      (project_heads (value_input e) (value_projections r) Xv h) None in
  affine (length (query_projections r) * value_width e) (output_projection r) None (merge_heads (value_width e) heads).

(** * 07 Optional state *)

Inductive layer_slot :=
  | query_weight | key_weight | value_weight | output_weight
  | query_bias | key_bias | value_bias | output_bias | probability.
Record slot := Slot { slot_name : layer_slot; slot_shape : list nat }.
(** entry n in row-major order *)
Record tensor := Tensor { tensor_shape : list nat; tensor_entry : nat -> R }.

(** a list of one or none: of slots, or of values *)
Definition optional {A : Type} (enabled : bool) (x : A) : list A :=                               (* OPT.D1, OPT.D2 *)
  if enabled then [x] else [].

Definition optional_init {A : Type} (enabled : bool) (s : slot) (initial : A) : list (slot * A) :=        (* OPT.D3 *)
  map (fun s => (s, initial)) (optional enabled s).

(** None where the list is refused (OPT.C1, OPT.C2) *)
Definition take_optional (enabled : bool) (s : slot) (l : list tensor)
  : option (option tensor * list tensor) :=                                                               (* OPT.D4 *)
  if enabled then
    match l with
    | t :: rest => if list_eq_dec Nat.eq_dec (tensor_shape t) (slot_shape s) then Some (Some t, rest) else None
    | [] => None
    end
  else Some (None, l).

Record layer_options := Options { has_input_bias : bool; has_output_bias : bool; has_dropout : bool }.
(** every slot that a layer may have, and whether it has it *)
Definition configured_slots (e : layer_extents) (o : layer_options) : list (bool * slot) :=
  [ (true, Slot query_weight [query_input e; (query_heads e * head_width e)%nat]);
    (true, Slot key_weight [key_input e; (key_heads e * head_width e)%nat]);
    (true, Slot value_weight [value_input e; (value_heads e * value_width e)%nat]);
    (true, Slot output_weight [(query_heads e * value_width e)%nat; output_width e]);
    (has_input_bias o, Slot query_bias [(query_heads e * head_width e)%nat]);
    (has_input_bias o, Slot key_bias [(key_heads e * head_width e)%nat]);
    (has_input_bias o, Slot value_bias [(value_heads e * value_width e)%nat]);
    (has_output_bias o, Slot output_bias [output_width e]);
    (has_dropout o, Slot probability []) ].
Definition layer_shapes (e : layer_extents) (o : layer_options) : list slot :=                            (* OPT.D5 *)
  flat_map (fun c => optional (fst c) (snd c)) (configured_slots e o).

(** the state of a layer: a member for each slot, in the order of the list *)
Record layer_state := State {
  query_matrix : tensor;  key_matrix : tensor;  value_matrix : tensor;  output_matrix : tensor;
  query_vector : option tensor;  key_vector : option tensor;  value_vector : option tensor;
  output_vector : option tensor;  dropout_scalar : option tensor
}.
Definition members (s : layer_state) : list (option tensor) :=
  [ Some (query_matrix s); Some (key_matrix s); Some (value_matrix s); Some (output_matrix s);
    query_vector s; key_vector s; value_vector s; output_vector s; dropout_scalar s ].
Definition present (l : list (option tensor)) : list tensor :=
  flat_map (fun m => match m with Some t => [t] | None => [] end) l.
Definition pack (s : layer_state) : list tensor := present (members s).                                   (* OPT.D6 *)

(** slot after slot; None where the list is refused *)
Fixpoint take_all (slots : list (bool * slot)) (l : list tensor) : option (list (option tensor) * list tensor) :=
  match slots with
  | [] => Some ([], l)
  | (enabled, s) :: more =>
      match take_optional enabled s l with
      | Some (t, rest) =>
          match take_all more rest with Some (ts, remaining) => Some (t :: ts, remaining) | None => None end
      | None => None
      end
  end.
Definition unpack (e : layer_extents) (o : layer_options) (l : list tensor) : option layer_state :=       (* OPT.D7 *)
  match take_all (configured_slots e o) l with
  | Some ([Some wq; Some wk; Some wv; Some wo; bq; bk; bv; bo; p], []) => Some (State wq wk wv wo bq bk bv bo p)
  | _ => None
  end.

(** * 08 Dropout *)

(** words are integers from 0 up to, not including, 2^32; a counter has four of them, a key two *)
Record words := Words { word0 : Z; word1 : Z; word2 : Z; word3 : Z }.
Definition high (x : Z) : Z := (x / 2 ^ 32 mod 2 ^ 32)%Z.
Definition low (x : Z) : Z := (x mod 2 ^ 32)%Z.
Definition philox_round (c : words) (k : Z * Z) : words :=
  let m0 := (0xD2511F53 * word0 c)%Z in
  let m1 := (0xCD9E8D57 * word2 c)%Z in
  Words (Z.lxor (Z.lxor (high m1) (word1 c)) (fst k)) (low m1) (Z.lxor (Z.lxor (high m0) (word3 c)) (snd k)) (low m0).
Fixpoint philox_rounds (n : nat) (c : words) (k : Z * Z) : words :=
  match n with
  | O => c
  | S m => philox_rounds m (philox_round c k) (low (fst k + 0x9E3779B9), low (snd k + 0xBB67AE85))
  end.
Definition philox (c : words) (k : Z * Z) : words := philox_rounds 10 c k.                                (* DRP.D1 *)

(** word n of a seed *)
Definition random_word (seed : Z) (n : nat) : Z :=                                                        (* DRP.D2 *)
  let block := Z.of_nat (n / 4) in
  let w := philox (Words (low block) (high block) 0 0) (low seed, high seed) in
  match (n mod 4)%nat with O => word0 w | 1%nat => word1 w | 2%nat => word2 w | _ => word3 w end.

Definition is_kept (x : Z) (p : R) : bool := if Rle_dec p (IZR x / 2 ^ 32) then true else false.          (* DRP.D3 *)

(** the entries in row-major order *)
Definition kept_mask (seed : Z) (p : R) (shape : list nat) : list bool :=                                 (* DRP.D4 *)
  map (fun n => is_kept (random_word seed n) p) (range (fold_right Nat.mul 1%nat shape)).

Definition dropout (w p : R) (kept training : bool) : R := if training then kept_weight w p kept else w.  (* DRP.D5 *)

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

Definition relu (x : R) : R := positive_part x.                                                           (* DEC.D2 *)

(** a and b, binary64 numbers as fractions *)
Definition gelu_slope : R := 7186705221432913 / 9007199254740992.
Definition gelu_cubic : R := 6444110634811895 / 144115188075855872.
Definition gelu (x : R) : R := / 2 * x * (1 + tanh (gelu_slope * (x + gelu_cubic * x ^ 3))).              (* DEC.D3 *)

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
Definition linear (I : nat) (m : linear_map) (X : matrix) : matrix :=                                     (* DEC.D11 *)
  affine I (factor m) (Some (term m)) X.
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

(** For each definition f, a function that takes a cotangent g of its result to the cotangent of what f was given.
    w is the row of weights that f made. *)

(** the cotangents averaged over the weights *)
Definition centre (keys : list nat) (w g : row) : R := sum keys (fun k => w k * g k).
Definition softmax_gradient (keys : list nat) (w g : row) (j : nat) : R := w j * (g j - centre keys w g).  (* GRD.D1 *)
Definition masked_softmax_gradient (n : nat) (A : visible_set) (w g : row) (j : nat) : R :=               (* GRD.D2 *)
  if (j <? n)%nat && A j then softmax_gradient (gathered n A) w g j else 0.

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

(** entry e of something of which place p, one of n, reads entry [read p], receives the sum of what arrives there *)
Definition add_broadcast (n : nat) (read : nat -> nat) (G : row) (e : nat) : R :=                         (* GRD.D11 *)
  sum (filter (fun p => (read p =? e)%nat) (range n)) G.

(** A call: what the definition of attention is given besides numbers. The bias has the shape it was given in, each axis
    1 or full. *)
Record call := Call {
  batch : nat;  q_heads : nat;  k_heads : nat;  v_heads : nat;
  q_rows : nat;  k_rows : nat;  qk_width : nat;  v_width : nat;
  bias_batch : nat;  bias_heads : nat;  bias_rows : nat;  bias_keys : nat;
  head_order : head_map;
  head_at : nat -> nat -> head;          (* of batch entry b and query head h *)
  slopes_bias : nat -> nat -> matrix;    (* what slopes add to the bias of b and h *)
  lse_told : lse_form
}.
(** its numbers, and likewise its gradient and a direction *)
Record tensors := Tensors {
  q_tensor : nat -> nat -> matrix;  k_tensor : nat -> nat -> matrix;  v_tensor : nat -> nat -> matrix;
  bias_tensor : nat -> nat -> matrix;
  sinks : nat -> option R                (* of query head h *)
}.
(** x + u t, number by number *)
Definition tensors_line (x t : tensors) (u : R) : tensors :=
  let along (X T : nat -> nat -> matrix) (b h i c : nat) := X b h i c + u * T b h i c in
  Tensors (along (q_tensor x) (q_tensor t)) (along (k_tensor x) (k_tensor t)) (along (v_tensor x) (v_tensor t))
          (along (bias_tensor x) (bias_tensor t))
          (fun h => match sinks x h, sinks t h with Some a, Some b => Some (a + u * b) | a, _ => a end).
Definition broadcast_bias (C : call) (t : nat -> nat -> matrix) (b h i j : nat) : R :=
  t (broadcast (bias_batch C) b) (broadcast (bias_heads C) h) (broadcast (bias_rows C) i) (broadcast (bias_keys C) j).
Definition key_head_of (C : call) (h : nat) : nat := key_head (head_order C) (q_heads C) (k_heads C) h.
Definition value_head_of (C : call) (h : nat) : nat := key_head (head_order C) (q_heads C) (v_heads C) h.
(** what query head h of batch entry b is given; S is the bias of the slopes *)
Definition operands_at (C : call) (S : nat -> nat -> matrix) (x : tensors) (b h : nat) : operands :=
  Operands (q_tensor x b h) (k_tensor x b (key_head_of C h)) (v_tensor x b (value_head_of C h))
           (fun i j => broadcast_bias C (bias_tensor x) b h i j + S b h i j) (sinks x h).

(** g b h i c and gL b h i are the cotangents of outputs and log-sum-exps *)                              (* GRD.D12 *)
Definition call_gradient (C : call) (x : tensors) (g : nat -> nat -> matrix) (gL : nat -> nat -> row) : tensors :=
  let G b h := head_gradient (head_at C b h) (lse_told C) (q_rows C) (v_width C)
                             (operands_at C (slopes_bias C) x b h) (g b h) (gL b h) in
  Tensors
    (fun b h => queries (G b h))
    (fun b n j c => add_broadcast (q_heads C) (key_head_of C) (fun h => keys (G b h) j c) n)
    (fun b n j c => add_broadcast (q_heads C) (value_head_of C) (fun h => values (G b h) j c) n)
    (fun b' h' i' j' =>
       add_broadcast (batch C) (broadcast (bias_batch C)) (fun b =>
       add_broadcast (q_heads C) (broadcast (bias_heads C)) (fun h =>
       add_broadcast (q_rows C) (broadcast (bias_rows C)) (fun i =>
       add_broadcast (k_rows C) (broadcast (bias_keys C)) (fun j => biases (G b h) i j) j') i') h') b')
    (fun h => option_map (fun _ => sum (range (batch C)) (fun b => or_zero (sink (G b h)))) (sinks x h)).

(** outputs and log-sum-exps of a call, each times its cotangent *)
Definition call_loss (C : call) (x : tensors) (g : nat -> nat -> matrix) (gL : nat -> nat -> row) : R :=
  sum (range (batch C)) (fun b => sum (range (q_heads C)) (fun h =>
    head_loss (head_at C b h) (lse_told C) (q_rows C) (v_width C)
              (operands_at C (slopes_bias C) x b h) (g b h) (gL b h))).
Definition call_inner (C : call) (x y : tensors) : R :=
  let over (b h s w : nat) (X Y : nat -> nat -> matrix) :=
    sum (range b) (fun b => sum (range h) (fun h => sum (range s) (fun s => dot w (X b h s) (Y b h s)))) in
  over (batch C) (q_heads C) (q_rows C) (qk_width C) (q_tensor x) (q_tensor y) +
  over (batch C) (k_heads C) (k_rows C) (qk_width C) (k_tensor x) (k_tensor y) +
  over (batch C) (v_heads C) (k_rows C) (v_width C) (v_tensor x) (v_tensor y) +
  over (bias_batch C) (bias_heads C) (bias_rows C) (bias_keys C) (bias_tensor x) (bias_tensor y) +
  sum (range (q_heads C)) (fun h => or_zero (sinks x h) * or_zero (sinks y h)).

(** the same for every head *)
Definition mean_weights_gradient (H : nat) (g : row) : row := fun j => g j / INR H.                       (* GRD.D16 *)

(** G is the gradient of the bias of a head of n queries and m keys, U the bias of slope 1 *)
Definition slope_gradient (n m : nat) (G U : matrix) : R := sum (range n) (fun i => dot m (G i) (U i)).   (* GRD.D21 *)

(** one logit l, from the log-sum-exp L of its row, the cotangent g of its weight, and D: no weight is kept *)
Definition recomputed_centre (d_v : nat) (g output : row) : R := dot d_v g output.
Definition recomputed_gradient (l L g D : R) : R := exp (l - L) * (g - D).                                (* GRD.D22 *)

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

Definition relu_gradient (x g : R) : R := where_positive x g.                                             (* DEC.D18 *)
Definition gelu_gradient (x g : R) : R :=                                                                 (* DEC.D19 *)
  let tau := tanh (gelu_slope * (x + gelu_cubic * x ^ 3)) in
  / 2 * g * (1 + tau + x * (1 - tau ^ 2) * gelu_slope * (1 + 3 * gelu_cubic * x ^ 2)).

(** the inner product of two matrices *)
Definition matrix_dot (S n : nat) (G X : matrix) : R := sum (range S) (fun i => dot n (G i) (X i)).

(** ** The layer *)

(** splitting and merging move entries *)
Definition split_heads_gradient (w : nat) (g : nat -> matrix) : matrix := merge_heads w g.                (* GRD.D14 *)
Definition merge_heads_gradient (w : nat) (g : matrix) : nat -> matrix := split_heads w g.

(** of the first n rows, and of those after them *)
Definition append_rows_gradient (n : nat) (g : matrix) : matrix * matrix := (g, fun s => g (n + s)%nat).  (* GRD.D15 *)

(** What a layer is given besides numbers, for all batch entries. Its attention inside has a bias tensor of the shape it
    was given in, each axis 1 or full, over the projected keys. *)
Record layer_call := LayerCall {
  sizes : layer_extents;
  sharing : head_map;
  batch_size : nat;  query_count : nat;  projected_keys_count : nat;
  zero_key : bool;
  bias_shape : nat * nat * nat * nat;
  unpadded_in : nat -> nat -> bool;      (* of batch entry b and query i *)
  head_inside : nat -> nat -> head       (* of batch entry b and query head h *)
}.
(** its numbers, and likewise its gradient and a direction *)
Record layer_numbers := LayerNumbers {
  query_map : projection;  key_map : projection;  value_map : projection;  output_map : projection;
  key_and_value_row : option (row * row);
  query_inputs : nat -> matrix;  key_inputs : nat -> matrix;  value_inputs : nat -> matrix;   (* of batch entry b *)
  layer_bias : nat -> nat -> matrix;
  layer_sink : nat -> option R           (* of query head h *)
}.
Definition read_bias (C : layer_call) (t : nat -> nat -> matrix) (b h i j : nat) : R :=
  let '(nB, nH, nI, nJ) := bias_shape C in t (broadcast nB b) (broadcast nH h) (broadcast nI i) (broadcast nJ j).
(** the layer at batch entry b (MHA.D7) *)
Definition layer_at (C : layer_call) (x : layer_numbers) (b : nat) : layer :=
  Layer (sizes C) (sharing C) (query_map x) (key_map x) (value_map x) (output_map x) (key_and_value_row x) (zero_key C)
        (projected_keys_count C) (unpadded_in C b) (head_inside C b) (read_bias C (layer_bias x) b) (layer_sink x).
Definition heads_at (C : layer_call) (x : layer_numbers) (b : nat) : nat -> matrix :=
  layer_head (layer_at C x b) (query_inputs x b) (key_inputs x b) (value_inputs x b).
Definition output_at (C : layer_call) (x : layer_numbers) (b : nat) : matrix :=
  layer_output (layer_at C x b) (query_inputs x b) (key_inputs x b) (value_inputs x b).
(** what query head h of batch entry b is given *)
Definition head_operands (C : layer_call) (x : layer_numbers) (b h : nat) : operands :=
  let L := layer_at C x b in
  Operands (layer_queries L (query_inputs x b) h) (layer_keys L (key_inputs x b) h)
           (layer_values L (value_inputs x b) h) (inner_bias L h) (layer_sink x h).

(** of a projection of n rows in every batch entry, from S batch entries *)
Definition projection_gradient (S n : nat) (p : projection) (X g : nat -> matrix) : projection :=
  Projection (fun r c => sum (range S) (fun b => affine_gradient_weight n (X b) (g b) r c))
             (option_map (fun _ c => sum (range S) (fun b => affine_gradient_bias n (g b) c)) (bias_of p)).

(** g b i c is the cotangent of the output. From the output to the heads, from each head to its operands, from these
    to the projections. *)                                                                                (* GRD.D17 *)
Definition layer_gradient (C : layer_call) (x : layer_numbers) (g : nat -> matrix) : layer_numbers :=
  let e := sizes C in
  let S := batch_size C in
  let Sq := query_count C in
  let Sk := projected_keys_count C in
  let merged b := merge_heads (value_width e) (heads_at C x b) in
  let d_merged b := affine_gradient_x (output_width e) (weight_of (output_map x)) (g b) in
  let d_heads b := merge_heads_gradient (value_width e) (d_merged b) in
  let d b h := head_gradient (inner_head (layer_at C x b) h) (LseForm false false) Sq (value_width e)
                             (head_operands C x b h) (d_heads b h) (fun _ => 0) in
  let key_head_of h := key_head (sharing C) (query_heads e) (key_heads e) h in
  let value_head_of h := key_head (sharing C) (query_heads e) (value_heads e) h in
  let d_q b := split_heads_gradient (head_width e) (fun h => queries (d b h)) in
  let d_k b := append_rows_gradient Sk (split_heads_gradient (head_width e) (fun n j c =>
                 add_broadcast (query_heads e) key_head_of (fun h => keys (d b h) j c) n)) in
  let d_v b := append_rows_gradient Sk (split_heads_gradient (value_width e) (fun n j c =>
                 add_broadcast (query_heads e) value_head_of (fun h => values (d b h) j c) n)) in
  let '(nB, nH, nI, nJ) := bias_shape C in
  LayerNumbers
    (projection_gradient S Sq (query_map x) (query_inputs x) d_q)
    (projection_gradient S Sk (key_map x) (key_inputs x) (fun b => fst (d_k b)))
    (projection_gradient S Sk (value_map x) (value_inputs x) (fun b => fst (d_v b)))
    (projection_gradient S Sq (output_map x) merged g)
    (option_map (fun _ => (fun c => sum (range S) (fun b => snd (d_k b) 0%nat c),
                           fun c => sum (range S) (fun b => snd (d_v b) 0%nat c))) (key_and_value_row x))
    (fun b => affine_gradient_x (query_heads e * head_width e) (weight_of (query_map x)) (d_q b))
    (fun b => affine_gradient_x (key_heads e * head_width e) (weight_of (key_map x)) (fst (d_k b)))
    (fun b => affine_gradient_x (value_heads e * value_width e) (weight_of (value_map x)) (fst (d_v b)))
    (fun b' h' i' j' =>
       add_broadcast S (broadcast nB) (fun b => add_broadcast (query_heads e) (broadcast nH) (fun h =>
       add_broadcast Sq (broadcast nI) (fun i => add_broadcast Sk (broadcast nJ) (fun j =>
         biases (d b h) i j) j') i') h') b')
    (fun h => option_map (fun _ => sum (range S) (fun b => or_zero (sink (d b h)))) (layer_sink x h)).

(** the outputs of a layer, each times its cotangent *)
Definition layer_loss (C : layer_call) (x : layer_numbers) (g : nat -> matrix) : R :=
  sum (range (batch_size C)) (fun b => matrix_dot (query_count C) (output_width (sizes C)) (g b) (output_at C x b)).
(** the inner product of the numbers of two layers *)
Definition row_dot (n : nat) (x y : option row) : R :=
  match x, y with Some x, Some y => dot n x y | _, _ => 0 end.
Definition projection_dot (I O : nat) (p q : projection) : R :=
  matrix_dot I O (weight_of p) (weight_of q) + row_dot O (bias_of p) (bias_of q).
Definition layer_dot (C : layer_call) (x y : layer_numbers) : R :=
  let e := sizes C in
  let q_width := (query_heads e * head_width e)%nat in
  let k_width := (key_heads e * head_width e)%nat in
  let v_width := (value_heads e * value_width e)%nat in
  let '(nB, nH, nI, nJ) := bias_shape C in
  projection_dot (query_input e) q_width (query_map x) (query_map y)
  + projection_dot (key_input e) k_width (key_map x) (key_map y)
  + projection_dot (value_input e) v_width (value_map x) (value_map y)
  + projection_dot (query_heads e * value_width e) (output_width e) (output_map x) (output_map y)
  + row_dot k_width (option_map fst (key_and_value_row x)) (option_map fst (key_and_value_row y))
  + row_dot v_width (option_map snd (key_and_value_row x)) (option_map snd (key_and_value_row y))
  + sum (range (batch_size C)) (fun b =>
      matrix_dot (query_count C) (query_input e) (query_inputs x b) (query_inputs y b)
      + matrix_dot (projected_keys_count C) (key_input e) (key_inputs x b) (key_inputs y b)
      + matrix_dot (projected_keys_count C) (value_input e) (value_inputs x b) (value_inputs y b))
  + sum (range nB) (fun b => sum (range nH) (fun h => matrix_dot nI nJ (layer_bias x b h) (layer_bias y b h)))
  + sum (range (query_heads e)) (fun h => or_zero (layer_sink x h) * or_zero (layer_sink y h)).

(** ** The decoder block *)

(** of a table, from S tokens *)
Definition embedding_gradient (S : nat) (tokens : nat -> nat) (g : matrix) (t c : nat) : R :=             (* DEC.D17 *)
  sum (filter (fun i => Nat.eqb (tokens i) t) (range S)) (fun i => g i c).

(** for each line of the page, what its parameters and what its rows receive *)
Definition normed_gradient (N : decoder_extents) (X g : matrix) : norm_map :=
  Norm (normed_rows_gradient_gamma (places N) (channels N) (norm_epsilon N) X g)
       (normed_rows_gradient_beta (places N) g).
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
Definition decoder_block_gradient (N : decoder_extents) (w : decoder) (tokens : nat -> nat)
                                  (g : matrix) : decoder :=                                               (* DEC.D21 *)
  let s := decoder_block N w tokens in
  let x2 := linear_gradient_x (vocabulary N) (unembed w) g in
  let r := linear_gradient_x (channels N) (ff2 w) x2 in
  let f := rectified_gradient (stage_f s) r in
  let n1 := linear_gradient_x (hidden N) (ff1 w) f in
  let x1 := both x2 (normed_gradient_x N (norm2 w) (stage_x1 s) n1) in
  let a := linear_gradient_x (channels N) (wo w) x1 in
  let d := attend_causally_gradient N (stage_q s) (stage_k s) (stage_v s) a in
  let n := both (both (linear_gradient_x (channels N) (wq w) (queries d))
                      (linear_gradient_x (channels N) (wk w) (keys d)))
                (linear_gradient_x (channels N) (wv w) (values d)) in
  let x := both x1 (normed_gradient_x N (norm1 w) (stage_x s) n) in
  Decoder (embedding_gradient (places N) tokens x) (normed_gradient N (stage_x s) n)
    (linear_gradient N (stage_n s) (queries d)) (linear_gradient N (stage_n s) (keys d))
    (linear_gradient N (stage_n s) (values d)) (linear_gradient N (stage_a s) x1) (normed_gradient N (stage_x1 s) n1)
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

(** the weights of a layer and those biases that it has, in the order of OPT.D5; not the probability of dropout *)
Definition trained_slots (o : layer_options) : list layer_slot :=                                         (* TRN.D8 *)
  [query_weight; key_weight; value_weight; output_weight]
  ++ (if has_input_bias o then [query_bias; key_bias; value_bias] else [])
  ++ (if has_output_bias o then [output_bias] else []).

(** tokens 0, 1, ..., V-1, 0, 1, ... and for each the next one *)
Definition repeating_token (V i : nat) : nat := i mod V.                                                  (* TRN.D9 *)
Definition repeating_target (V i : nat) : nat := (i + 1) mod V.

(** [drawn n] is the weight that the scheme draws from the seed of slot n *)
Definition initial_decoder (drawn : nat -> matrix) : decoder :=                                           (* TRN.D11 *)
  let unit := Norm (fun _ => 1) (fun _ => 0) in
  let line n := Linear (drawn n) (fun _ => 0) in
  Decoder (drawn 0%nat) unit (line 1%nat) (line 2%nat) (line 3%nat) (line 4%nat) unit (line 5%nat) (line 6%nat)
          (Linear (fun _ _ => 0) (fun _ => 0)).

Definition loss_of (N : decoder_extents) (w : decoder) (tokens targets : nat -> nat) : R :=               (* TRN.D12 *)
  mean_cross_entropy (places N) (vocabulary N) (logits (decoder_block N w tokens)) targets.
Definition loss_gradient (N : decoder_extents) (w : decoder) (tokens targets : nat -> nat) : decoder :=   (* TRN.D13 *)
  decoder_block_gradient N w tokens
    (mean_cross_entropy_gradient (places N) (vocabulary N) (logits (decoder_block N w tokens)) targets).

(** a block from its slots, in the order of DEC.D16; the name of a number is its slot, its row and its column *)
Definition decoder_of (slot : nat -> matrix) : decoder :=
  let norm n := Norm (slot n 0%nat) (slot (n + 1)%nat 0%nat) in
  let line n := Linear (slot n) (slot (n + 1)%nat 0%nat) in
  Decoder (slot 0%nat) (norm 1%nat) (line 3%nat) (line 5%nat) (line 7%nat) (line 9%nat) (norm 11%nat)
          (line 13%nat) (line 15%nat) (line 17%nat).
Definition decoder_number (N : decoder_extents) (w : decoder) (name : nat * nat * nat) : R :=
  let '(s, i, c) := name in nth s (map (fun slot => entries slot w) (decoder_slots N)) (fun _ _ => 0) i c.

Definition start_training (N : decoder_extents) (w : decoder) : adam_state (nat * nat * nat) :=           (* TRN.D14 *)
  adam_start (decoder_number N w).
Definition trained_decoder (s : adam_state (nat * nat * nat)) : decoder :=
  decoder_of (fun slot i c => parameter (numbers s (slot, i, c))).
Definition training_step (N : decoder_extents) (o : adam_options) (tokens targets : nat -> nat)
                         (s : adam_state (nat * nat * nat)) : adam_state (nat * nat * nat) :=
  adam_step o (fun _ => true) (decoder_number N (loss_gradient N (trained_decoder s) tokens targets)) s.
(** so many steps, and the loss before each; what a step is made of does not matter here *)
Fixpoint repeat_step {State Loss : Type} (step : State -> State) (loss : State -> Loss) (steps : nat)
                     (s : State) : State * list Loss :=
  match steps with
  | O => (s, [])
  | S rest => let '(end_, losses) := repeat_step step loss rest (step s) in (end_, loss s :: losses)
  end.
Definition train (N : decoder_extents) (o : adam_options) (tokens targets : nat -> nat) (steps : nat)
                 (s : adam_state (nat * nat * nat)) : adam_state (nat * nat * nat) * list R :=            (* TRN.D15 *)
  repeat_step (training_step N o tokens targets) (fun s => loss_of N (trained_decoder s) tokens targets) steps s.

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

(** the keys in blocks of n, the last one as short as it comes *)
Fixpoint first_blocks (count n : nat) (keys : list nat) : list (list nat) :=
  match count with O => [] | S more => firstn n keys :: first_blocks more n (skipn n keys) end.
Definition blocks (n : nat) (keys : list nat) : list (list nat) := first_blocks ((length keys + n - 1) / n) n keys.

(** the layer with its rows streamed; [pieces h i] are those of row i of head h *)
Definition streamed_layer (L : layer) (pieces : nat -> nat -> list piece) (Xq Xk Xv : matrix) : matrix :=  (* ONL.D7 *)
  output_rows L (fun h i =>
    let l := row_logits (inner_head L h) (layer_queries L Xq h) (layer_keys L Xk h) (inner_bias L h) i in
    fst (streamed_row (inside_sink L h) (pieces h i) l (layer_values L Xv h))).

(** * 17 Enclosures *)

(** v lists the values of a format in order; the middle between value k and the next *)
Definition middle_after (v : Z -> R) (k : Z) : R := (v k + v (k + 1)%Z) / 2.
(** the ends of what is claimed of a number within m of t, to which value k is nearest; where it names that value, the
    ends are the middles to its neighbours *)
Definition claim (v : Z -> R) (k : Z) (t m : R) : R * R :=                                                (* ENC.D13 *)
  if Rlt_dec (middle_after v (k - 1)) (t - m) then
    if Rlt_dec (t + m) (middle_after v k) then (middle_after v (k - 1), middle_after v k) else (t - m, t + m)
  else (t - m, t + m).

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
