(** 13 Gradients *)
From Attest Require Export DEC.

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
(** the cotangents of the scaled score sigma * x, and of the bias *)                                       (* GRD.D8 *)
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

(** an absent number counts as 0 *)
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
           match sink x, sink t with Some a, Some b => Some (a + u * b) | o, _ => o end.

(** row i of a head with operands x, stage by stage *)
Definition product (h : head) (x : operands) (i j : nat) : R := descale h * dot (width h) (queries x i) (keys x j).
Definition logits_of (h : head) (x : operands) (i : nat) : row := row_logits h (queries x) (keys x) (biases x) i.
Definition weights_of (h : head) (x : operands) (i j : nat) : R :=
  row_weights h (queries x) (keys x) (biases x) (sink x) i j.
Definition output_of (h : head) (x : operands) (i c : nat) : R :=
  attend_row h (queries x) (keys x) (values x) (biases x) (sink x) i c.
Definition lse_of (h : head) (f : lse_form) (x : operands) (i : nat) : R :=
  in_base f (row_lse h (queries x) (keys x) (biases x) (counted f (sink x)) i).
(** outputs and log-sum-exps of n rows, each times its cotangent: what the gradient of a head is the gradient of. An empty
    row without a counted sink has a constant for its log-sum-exp here, whatever gL is. *)
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
  Operands  (* of the queries, the keys, the values, the biases, the sink *)
    (fun i c => sigma * sum (row_keys h i) (fun j => ds i j * keys x j c))
    (fun j c => sigma * sum (seen_by h n j) (fun i => ds i j * queries x i c))
    (fun j c => value_factor h * sum (kept_by h n j) (fun i => weights_of h x i j * g i c))
    (fun i j => row_bias_gradient h f d_v x i (g i) (gL i) j)
    (option_map (fun _ => sum (range n) (fun i => row_sink_gradient h f d_v x i (g i) (gL i))) (sink x)).

(** Each place p below n reads entry [read p] of something. Entry e receives the sum of G p over the places that read
    it. *)
Definition add_broadcast (n : nat) (read : nat -> nat) (G : row) (e : nat) : R :=                         (* GRD.D11 *)
  sum (filter (fun p => (read p =? e)%nat) (range n)) G.

(** A call: what the definition of attention is given besides numbers. The bias has the shape it was given in, each axis
    1 or full. A bias of minus infinity is a hidden pair here, with any number in its place. *)
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
          (fun h => match sinks x h, sinks t h with Some a, Some b => Some (a + u * b) | o, _ => o end).
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

(** of one logit l, from the natural log-sum-exp L of its row, the sink counted, the cotangent g of its weight, and D, the
    centre: exp (l - L) stands for the weight, and no weight is stored *)
Definition recomputed_centre (d_v : nat) (g output : row) : R := dot d_v g output.
Definition recomputed_gradient (l L g D : R) : R := exp (l - L) * (g - D).                                (* GRD.D22 *)
