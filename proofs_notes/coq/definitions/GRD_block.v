(** 12 Decoder block, backwards *)
From Attest Require Export GRD_layer.

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
