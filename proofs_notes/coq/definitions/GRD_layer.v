(** 13 Gradients, continued. Affine maps, norms, rotations, activations: g is the cotangent of the result *)
From Attest Require Export GRD.

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
