(** GRD.P14: the gradient of the slope of a head's position bias. *)
From Attest Require Export CallDifferences.

Lemma alibi_is_linear form mu p j : alibi form mu p j = mu * alibi form 1 p j.
Proof. destruct form; simpl; ring. Qed.

(** the operands of a head with a position bias of slope mu; o is the offset of the queries *)
Definition with_slope (form : alibi_form) (o : Z) (mu : R) (x : operands) : operands :=
  Operands (queries x) (keys x) (values x)
           (fun i j => biases x i j + alibi form mu (Z.of_nat i + o) j) (sink x).
Definition unit_slope (form : alibi_form) (o : Z) : matrix := fun i j => alibi form 1 (Z.of_nat i + o) j.

(** GRD.P14: along every curve, the slope moving too *)
Theorem gradient_of_a_slope_is_that_of_its_bias h f n d_v form o (x : R -> operands) (mu : R -> R) t x' (mu' : R) g gL :
  cap_is_positive h -> moves x t x' -> is_derive mu t mu' ->
  let G := head_gradient h f n d_v (with_slope form o (mu t) (x t)) g gL in
  is_derive (fun u => head_loss h f n d_v (with_slope form o (mu u) (x u)) g gL) t
            (inner n (key_count h) (width h) d_v G x' +
             slope_gradient n (key_count h) (biases G) (unit_slope form o) * mu').
Proof.
  intros H [Q [K [V [B S]]]] M; cbv zeta.
  set (y' := Operands (queries x') (keys x') (values x')
    (fun i j => biases x' i j + mu' * unit_slope form o i j) (sink x')).
  apply (derive_as _ _ _ _ (head_gradient_is_the_derivative h f n d_v
    (fun u => with_slope form o (mu u) (x u)) t y' g gL H
    (conj Q (conj K (conj V (conj (fun i j => derive_fun (fun u => biases (x u) i j + mu u * unit_slope form o i j) _ t _
      (derive_plus _ _ t _ _ (B i j) (derive_scal_r mu t _ mu' M))
      (fun u => f_equal _ (eq_sym (alibi_is_linear form (mu u) (Z.of_nat i + o) j)))) S)))))).
  unfold inner, slope_gradient; cbv beta zeta; set (G := head_gradient _ _ _ _ _ _ _); clearbody G; simpl.
  rewrite <- sum_scal_r.
  rewrite (sum_ext (range n) (fun i => dot (key_count h) (biases G i) (fun j => _ + _)) (fun i =>
    dot (key_count h) (biases G i) (biases x' i) + dot (key_count h) (biases G i) (unit_slope form o i) * mu')).
  - rewrite sum_plus; ring.
  - intros i _; unfold dot; rewrite <- sum_scal_r, <- sum_plus; apply sum_ext; intros; ring.
Qed.

Lemma operands_with_slope_on_a_line form o mu mu' x t :
  elementary_operands (fun u => with_slope form o (mu + u * mu') (line x t u)).
Proof.
  constructor; intros; simpl; try apply elementary_line.
  - apply elementary_plus; [apply elementary_line|].
    apply (elementary_as (fun u => (mu + u * mu') * alibi form 1 (Z.of_nat i + o) j));
      [apply elementary_mult; [apply elementary_line|apply elementary_const]|].
    intros u; symmetry; apply alibi_is_linear.
  - destruct (sink x) as [a|]; [right|left; reflexivity].
    destruct (sink t) as [v|]; [exists (fun u => a + u * v)|exists (fun _ => a)]; split; try reflexivity.
    + apply elementary_line.
    + apply elementary_const.
Qed.

(** GRD.P14: as in GRD.P1 *)
Theorem gradient_of_a_slope_matches_finite_differences h f n d_v form o x t mu mu' g gL :
  cap_is_positive h -> same_sink x t ->
  matches_finite_differences
    (fun u => head_loss h f n d_v (with_slope form o (mu + u * mu') (line x t u)) g gL)
    (fun u => let G := head_gradient h f n d_v (with_slope form o (mu + u * mu') (line x t u)) g gL in
              inner n (key_count h) (width h) d_v G t +
              slope_gradient n (key_count h) (biases G) (unit_slope form o) * mu').
Proof.
  intros H S; apply derivatives_match_finite_differences.
  - apply elementary_functions_are_smooth, elementary_head_loss; [exact H|apply operands_with_slope_on_a_line].
  - intros u.
    apply (gradient_of_a_slope_is_that_of_its_bias h f n d_v form o (line x t) (fun u => mu + u * mu') u t mu');
      [exact H|apply line_moves, S|apply line_derive].
Qed.

(** GRD.P14: as in GRD.P2 *)
Theorem gradient_of_a_slope_is_the_transpose h f n d_v form o x t mu mu' g gL y y'
    (O : nat -> nat -> computation) (L : nat -> computation) :
  cap_is_positive h -> same_sink x t ->
  (forall i c, computes y y' (O i c) (fun u => output_of h (with_slope form o (mu + u * mu') (line x t u)) i c)) ->
  (forall i, computes y y' (L i) (fun u => lse_of h f (with_slope form o (mu + u * mu') (line x t u)) i)) ->
  let J_t E := tangent (read_in_duals (fun n => Dual (y n) (y' n)) E) in
  let G := head_gradient h f n d_v (with_slope form o mu x) g gL in
  sum (range n) (fun i => dot d_v (g i) (fun c => J_t (O i c)) + gL i * J_t (L i)) =
  inner n (key_count h) (width h) d_v G t + slope_gradient n (key_count h) (biases G) (unit_slope form o) * mu'.
Proof.
  intros H S HO HL; cbv zeta.
  assert (D := gradient_of_a_slope_is_that_of_its_bias h f n d_v form o (line x t) (fun u => mu + u * mu') 0 t mu' g gL H
    (line_moves x t 0 S) (line_derive mu mu' 0)); cbv zeta in D.
  rewrite line_start, Rmult_0_l, Rplus_0_r in D.
  apply (derive_unique _ 0 _ _ (head_loss_computed h f n d_v _ g gL y y' O L HO HL) D).
Qed.
