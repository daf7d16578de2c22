(** The gradient of a rotation: it turns back. *)
From Attest Require Export Duals Rotations GradientLaws.

Section Rotary_gradient.
  Variables (m : pairing) (pairs d : nat) (cosines sines : row).
  Hypothesis Hd : (2 * pairs <= d)%nat.

  (** a rotation moves with the rotated velocity *)
  Lemma rotary_velocity (x : nat -> R -> R) dx t c :
    (forall c, is_derive (x c) t (dx c)) ->
    is_derive (fun u => rotary m pairs cosines sines (fun c => x c u) c) t (rotary m pairs cosines sines dx c).
  Proof.
    intros Hx; unfold rotary; destruct (2 * pairs <=? c)%nat; [apply Hx|].
    destruct (Nat.eqb _ _); simpl; [apply derive_minus|apply derive_plus]; apply derive_scal_r, Hx.
  Qed.

  (** turning g back is turning x *)
  Theorem rotary_gradient_is_its_transpose_as_a_map g x :
    dot d g (rotary m pairs cosines sines x) = dot d (rotary_gradient m pairs cosines sines g) x.
  Proof.
    unfold dot; rewrite !(sum_range_split (2 * pairs) d _ Hd), !(sum_pairs m); f_equal; apply sum_ext.
    - intros n Hn; apply in_range in Hn; unfold rotary_gradient; rewrite !rotary_first, !rotary_second by exact Hn; ring.
    - intros c Hc; apply in_seq in Hc; unfold rotary_gradient; rewrite !partial_rotary_leaves_the_rest by lia.
      reflexivity.
  Qed.

  (** GRD.P13 *)
  Theorem rotary_gradient_is_its_transpose (x : nat -> R -> R) dx t g :
    (forall c, is_derive (x c) t (dx c)) ->
    is_derive (fun u => dot d g (rotary m pairs cosines sines (fun c => x c u))) t
              (dot d (rotary_gradient m pairs cosines sines g) dx).
  Proof.
    intros Hx; rewrite <- rotary_gradient_is_its_transpose_as_a_map.
    apply (derive_sum (range d) (fun c u => g c * rotary m pairs cosines sines (fun c => x c u) c)).
    intros c _; apply derive_scal, rotary_velocity, Hx.
  Qed.

  Theorem rotary_gradient_is_the_central_quotient (x y g : row) h : 0 < h ->
    let L u := dot d g (rotary m pairs cosines sines (fun c => x c + u * y c)) in
    central_quotient L h = dot d (rotary_gradient m pairs cosines sines g) y.
  Proof.
    intros Hh L; destruct (central_quotient_is_a_derivative L (fun _ => dot d (rotary_gradient m pairs cosines sines g) y) h Hh)
      as [xi [_ E]]; [|exact E].
    intros u _; apply (rotary_gradient_is_its_transpose (fun c u => x c + u * y c)); intros; apply line_derive.
  Qed.
End Rotary_gradient.

(** where cosine and sine are those of an angle, the transpose undoes the rotation *)
Theorem gradient_of_a_rotation_turns_back m pairs cosines sines x c :
  (forall n, (n < pairs)%nat -> cosines n ^ 2 + sines n ^ 2 = 1) ->
  rotary_gradient m pairs cosines sines (rotary m pairs cosines sines x) c = x c.
Proof.
  intros H; revert c; unfold rotary_gradient; apply (row_by_pairs m pairs).
  - intros n Hn; specialize (H n Hn); rewrite !rotary_second, !rotary_first, !rotary_second by exact Hn.
    set (a := cosines n) in *; set (b := sines n) in *.
    set (u := x (first_channel m pairs n)); set (v := x (second_channel m pairs n)).
    split; [transitivity ((a ^ 2 + b ^ 2) * u)|transitivity ((a ^ 2 + b ^ 2) * v)]; try ring; rewrite H; ring.
  - intros c Hc; rewrite !partial_rotary_leaves_the_rest by exact Hc; reflexivity.
Qed.

Theorem gradient_of_a_rotation_at_a_position_turns_back m r base p x c :
  rotary_gradient m (r / 2) (fun n => cos (angle p n r base)) (fun n => sin (angle p n r base))
                  (rotary_at m r base p x) c = x c.
Proof.
  apply gradient_of_a_rotation_turns_back; intros n _; rewrite <- !Rsqr_pow2, Rplus_comm; apply sin2_cos2.
Qed.

(** * GRD.P6 where queries and keys are rotated, each row by the angles of its position. *)

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
