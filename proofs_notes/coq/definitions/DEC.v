(** 12 The decoder block *)
From Attest Require Export NRM.

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
(** [plus] in the specification *)
Definition both (X Y : matrix) : matrix := residual X Y.                                                  (* DEC.D14 *)

(** x1, n1 and x2 are x', norm2 (x') and x'' of the page *)
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
