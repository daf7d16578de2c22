(** GRD.P6 where queries and keys are rotated, each row by the angles of its position. *)
From Attest Require Export GradientLaws RotaryGradient.

Lemma rotary_is_transposed m pairs d cosines sines : (2 * pairs <= d)%nat ->
  is_transpose d (rotary m pairs cosines sines) (rotary_gradient m pairs cosines sines).
Proof. intros H g q; symmetry; apply rotary_gradient_is_its_transpose_as_a_map, H. Qed.

(** GRD.P6: c and s are the cosines and sines of the places of queries and of keys *)
Theorem rotated_query_and_key_gradients_have_equal_products C x g gL b n m pairs
    (cq sq : nat -> nat -> nat -> row) (ck sk : nat -> nat -> nat -> row) :
  is_call C -> (2 * pairs <= qk_width C)%nat ->
  let rotated := Tensors (fun b h i => rotary m pairs (cq b h i) (sq b h i) (q_tensor x b h i))
                         (fun b n j => rotary m pairs (ck b n j) (sk b n j) (k_tensor x b n j))
                         (v_tensor x) (bias_tensor x) (sinks x) in
  let G := call_gradient C rotated g gL in
  sum (filter (fun h => (key_head_of C h =? n)%nat) (range (q_heads C))) (fun h =>
    sum (range (q_rows C)) (fun i =>
      dot (qk_width C) (rotary_gradient m pairs (cq b h i) (sq b h i) (q_tensor G b h i)) (q_tensor x b h i))) =
  sum (range (k_rows C)) (fun j =>
    dot (qk_width C) (rotary_gradient m pairs (ck b n j) (sk b n j) (k_tensor G b n j)) (k_tensor x b n j)).
Proof.
  intros W H.
  apply (mapped_query_and_key_gradients_have_equal_products C x g gL b n
    (fun b h i => rotary m pairs (cq b h i) (sq b h i)) (fun b h i => rotary_gradient m pairs (cq b h i) (sq b h i))
    (fun b n j => rotary m pairs (ck b n j) (sk b n j)) (fun b n j => rotary_gradient m pairs (ck b n j) (sk b n j)) W);
    intros; apply rotary_is_transposed, H.
Qed.
