(** 06 Heads *)
From Attest Require Export ATT.

Inductive head_map := grouped | tiled.
(** the key head that query head h reads: [heads] query heads over [key_heads] key heads, which divide them *)
Definition key_head (m : head_map) (heads key_heads h : nat) : nat :=                                     (* MHA.D1 *)
  match m with
  | grouped => h / (heads / key_heads)
  | tiled => h mod key_heads
  end.

(** the outputs of the whole call: a row at every batch entry b, query head h and query i; [call b h] is what its rows
    share. Its weights and log-sum-exps are row_weights and row_lse of each head. *)
Definition attention (m : head_map) (heads key_heads value_heads : nat) (call : nat -> nat -> head)
                     (Q K V bias : nat -> nat -> matrix) (sink : nat -> option R) (b h i c : nat) : R :=  (* ATT.D8 *)
  attend_row (call b h) (Q b h) (K b (key_head m heads key_heads h)) (V b (key_head m heads value_heads h))
             (bias b h) (sink h) i c.

Definition split_heads (w : nat) (X : matrix) (h s c : nat) : R := X s (h * w + c)%nat.                   (* MHA.D2 *)
Definition merge_heads (w : nat) (X : nat -> matrix) (s n : nat) : R := X (n / w)%nat s (n mod w)%nat.    (* MHA.D3 *)

(** rows X with I columns, times a weight, plus a bias where there is one *)
Definition affine (I : nat) (W : matrix) (b : option row) (X : matrix) (s n : nat) : R :=                 (* MHA.D4 *)
  dot I (X s) (fun m => W m n) + match b with Some v => v n | None => 0 end.

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

(** The call of a layer, for one batch entry. [inside h] says of the attention inside, of query head h, what its scale,
    cap, place of the bias, visible sets on the projected keys and dropout are; its width and its number of keys are not
    read, [inner_head] sets them. [unpadded i] says whether query i is one
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

(** row i of head h, and of the layer *)
Definition layer_head (L : layer) (Xq Xk Xv : matrix) (h : nat) : matrix :=                               (* MHA.D13 *)
  attend_row (inner_head L h) (layer_queries L Xq h) (layer_keys L Xk h) (layer_values L Xv h)
             (inner_bias L h) (inside_sink L h).
Definition layer_output (L : layer) (Xq Xk Xv : matrix) : matrix := output_rows L (layer_head L Xq Xk Xv). (* MHA.D14 *)

(** the layer as a record of lists, of Sk keys; the lists have one matrix for each head, and only the widths of [e] are
    read *)
Record multi_head := MultiHead {
  query_projections : list matrix;  key_projections : list matrix;  value_projections : list matrix;
  output_projection : matrix
}.
Definition multi_head_attention (e : layer_extents) (Sk : nat) (r : multi_head)
                                (Xq Xk Xv : matrix) : matrix :=                                           (* MHA.D15 *)
  let heads := fun h =>
    textbook_attention (head_width e) Sk
      (project_heads (query_input e) (query_projections r) Xq h)
      (project_heads (key_input e) (key_projections r) Xk h)
      (project_heads (value_input e) (value_projections r) Xv h) None in
  affine (length (query_projections r) * value_width e) (output_projection r) None (merge_heads (value_width e) heads).
