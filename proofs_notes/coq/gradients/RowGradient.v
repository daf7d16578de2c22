(** How a row of attention moves when its operands do: scores, softcap, the three places of the bias, weights, sink,
    dropped keys, values, descale factors, and a log-sum-exp of either form. Rows may be empty. *)
From Attest Require Export SoftmaxGradient AttentionLaws.

(** every number that a head is given moves, x' are the velocities *)
Definition moves (x : R -> operands) (t : R) (x' : operands) : Prop :=
  (forall i c, is_derive (fun u => queries (x u) i c) t (queries x' i c)) /\
  (forall j c, is_derive (fun u => keys (x u) j c) t (keys x' j c)) /\
  (forall j c, is_derive (fun u => values (x u) j c) t (values x' j c)) /\
  (forall i j, is_derive (fun u => biases (x u) i j) t (biases x' i j)) /\
  sink_moves (fun u => sink (x u)) t (sink x').

(** ATT.C5 *)
Definition cap_is_positive (h : head) : Prop := match cap h with Some kappa => 0 < kappa | None => True end.

(** * Softcap and logit *)

Lemma capped_gradient_scal cap s g : capped_gradient cap s g = g * capped_gradient cap s 1.
Proof. destruct cap; simpl; unfold softcap_gradient; ring. Qed.

Lemma capped_moves cap (s : R -> R) t s' :
  match cap with Some kappa => 0 < kappa | None => True end -> is_derive s t s' ->
  is_derive (fun u => capped cap (s u)) t (capped_gradient cap (s t) s').
Proof.
  destruct cap as [kappa|]; simpl; intros H S; [|exact S].
  unfold softcap, softcap_gradient.
  apply (derive_as _ t (kappa * ((1 - tanh (s t / kappa) ^ 2) * (s' * / kappa)))); [|field; lra].
  apply (derive_scal (fun u => tanh (s u / kappa))), (derive_tanh (fun u => s u / kappa)).
  unfold Rdiv; apply derive_scal_r, S.
Qed.

Lemma logit_score_gradient_scal place cap sigma x b g :
  logit_score_gradient place cap sigma x b g = g * logit_score_gradient place cap sigma x b 1.
Proof. apply capped_gradient_scal. Qed.

Lemma logit_bias_gradient_scal place cap sigma x b g :
  logit_bias_gradient place cap sigma x b g = g * logit_bias_gradient place cap sigma x b 1.
Proof. destruct place; simpl; rewrite ?(logit_score_gradient_scal _ _ _ _ _ g); ring. Qed.

(** what a logit makes of the velocities of its scaled score and its bias *)
Definition logit_velocity place cap sigma x b (s' b' : R) : R :=
  logit_score_gradient place cap sigma x b 1 * s' + logit_bias_gradient place cap sigma x b 1 * b'.

Lemma logit_velocity_gradient place cap sigma x b s' b' g :
  g * logit_velocity place cap sigma x b s' b' =
  logit_score_gradient place cap sigma x b g * s' + logit_bias_gradient place cap sigma x b g * b'.
Proof.
  unfold logit_velocity; rewrite (logit_score_gradient_scal _ _ _ _ _ g), (logit_bias_gradient_scal _ _ _ _ _ g); ring.
Qed.

(** GRD.D6, GRD.D8 *)
Theorem logit_moves place cap sigma (x b : R -> R) t x' b' :
  match cap with Some kappa => 0 < kappa | None => True end -> is_derive x t x' -> is_derive b t b' ->
  is_derive (fun u => logit place cap sigma (x u) (b u)) t
            (logit_velocity place cap sigma (x t) (b t) (sigma * x') b').
Proof.
  intros H X B; unfold logit_velocity, logit_score_gradient; destruct place; simpl; unfold logit_score_gradient;
    rewrite <- ?(Rmult_comm (capped_gradient _ _ 1)).
  - apply (derive_as _ _ (capped_gradient cap (sigma * (x t + b t)) (sigma * (x' + b')))).
    + apply (capped_moves cap (fun u => sigma * (x u + b u))); [exact H|].
      apply (derive_scal (fun u => x u + b u)), derive_plus; assumption.
    + rewrite capped_gradient_scal; simpl; ring.
  - apply (derive_as _ _ (capped_gradient cap (sigma * x t + b t) (sigma * x' + b'))).
    + apply (capped_moves cap (fun u => sigma * x u + b u)); [exact H|].
      apply (derive_plus (fun u => sigma * x u)); [apply derive_scal|]; assumption.
    + rewrite capped_gradient_scal; simpl; ring.
  - apply (derive_as _ _ (capped_gradient cap (sigma * x t) (sigma * x') + b')).
    + apply (derive_plus (fun u => capped cap (sigma * x u))); [|exact B].
      apply (capped_moves cap (fun u => sigma * x u)); [exact H|apply derive_scal, X].
    + rewrite capped_gradient_scal; simpl; ring.
Qed.

(** * The logits of a row *)

Definition product_velocity (h : head) (x x' : operands) (i j : nat) : R :=
  descale h * (dot (width h) (queries x' i) (keys x j) + dot (width h) (queries x i) (keys x' j)).
Definition logits_velocity (h : head) (x x' : operands) (i : nat) : row := fun j =>
  logit_velocity (place h) (cap h) (scale h) (product h x i j) (biases x i j)
                 (scale h * product_velocity h x x' i j) (biases x' i j).

Lemma row_logits_move h x t x' i j :
  cap_is_positive h -> moves x t x' ->
  is_derive (fun u => logits_of h (x u) i j) t (logits_velocity h (x t) x' i j).
Proof.
  intros H [Q [K [_ [B _]]]]; unfold logits_of, row_logits, logits_velocity, product, product_velocity.
  apply (logit_moves (place h) (cap h) (scale h)
           (fun u => descale h * dot (width h) (queries (x u) i) (keys (x u) j)) (fun u => biases (x u) i j));
    [exact H| |apply B].
  apply (derive_scal (fun u => dot (width h) (queries (x u) i) (keys (x u) j))).
  apply (derive_dot (width h) (fun c u => queries (x u) i c) (fun c u => keys (x u) j c)); auto.
Qed.

Lemma weights_of_visible h x i j :
  In j (row_keys h i) -> weights_of h x i j = sink_softmax (row_keys h i) (sink x) (logits_of h x i) j.
Proof. apply row_weights_visible. Qed.

Lemma weights_of_hidden h x i j : ~ In j (row_keys h i) -> weights_of h x i j = 0.
Proof. apply row_weights_hidden. Qed.

Lemma row_logit_gradient_visible h f d_v x i g gL j : In j (row_keys h i) ->
  row_logit_gradient h f d_v x i g gL j =
  softmax_gradient (row_keys h i) (weights_of h x i) (of_weights h d_v x i g) j +
  log_sum_exp_gradient f (sink_softmax (row_keys h i) (counted f (sink x)) (logits_of h x i) j) gL.
Proof. unfold row_logit_gradient; intros H; destruct (guard_spec (key_count h) (visible h i) j); tauto. Qed.

Lemma row_logit_gradient_hidden h f d_v x i g gL j : ~ In j (row_keys h i) ->
  row_logit_gradient h f d_v x i g gL j = 0.
Proof. unfold row_logit_gradient; intros H; destruct (guard_spec (key_count h) (visible h i) j); tauto. Qed.

(** * The loss of a row *)

Lemma output_of_weights h x i c :
  output_of h x i c =
  value_factor h * sum (filter (kept h i) (row_keys h i)) (fun j => weights_of h x i j * values x j c).
Proof.
  unfold output_of, attend_row; rewrite quotient_equals_weights_times_values; f_equal; apply sum_ext; intros j Hj.
  apply filter_In in Hj; rewrite weights_of_visible by tauto; reflexivity.
Qed.

(** the cotangent of the output against the output is that of the weights against the weights *)
Theorem output_and_weights_have_equal_products h d_v x i g :
  dot d_v g (output_of h x i) = centre (row_keys h i) (weights_of h x i) (of_weights h d_v x i g).
Proof.
  unfold dot, centre, of_weights, weight_gradient.
  rewrite (sum_ext (row_keys h i) _ (fun j => if kept h i j then
    weights_of h x i j * (value_factor h * dot d_v g (values x j)) else 0)) by (intros; destruct (kept h i j); ring).
  rewrite sum_filter.
  rewrite (sum_ext (range d_v) _ (fun c => sum (filter (kept h i) (row_keys h i)) (fun j =>
    value_factor h * (g c * (weights_of h x i j * values x j c))))).
  2: { intros c _; rewrite output_of_weights, sum_scal, sum_scal; ring. }
  rewrite sum_swap; apply sum_ext; intros j _; unfold dot; rewrite <- !sum_scal; apply sum_ext; intros; ring.
Qed.

Lemma in_base_scal f a b : in_base f (a * b) = in_base f a * b.
Proof. unfold in_base, in_base_2; destruct (base_2 f); [unfold Rdiv|]; ring. Qed.

Lemma in_base_moves f (L : R -> R) t L' : is_derive L t L' -> is_derive (fun u => in_base f (L u)) t (in_base f L').
Proof. unfold in_base, in_base_2; destruct (base_2 f); [unfold Rdiv; apply derive_scal_r|tauto]. Qed.

Lemma counted_moves f (a : R -> option R) t a' :
  sink_moves a t a' -> sink_moves (fun u => counted f (a u)) t (counted f a').
Proof. unfold counted; destruct (counts_sink f); simpl; auto. Qed.

Lemma sink_share_counted f keys a s a' :
  sink_share keys (counted f a) s * or_zero (counted f a') = sink_share keys (counted f a) s * or_zero a'.
Proof. unfold counted; destruct (counts_sink f); simpl; ring. Qed.

(** Jacobian times direction: what dual numbers return for an output and a log-sum-exp of a row *)
Definition weight_velocity (h : head) (x x' : operands) (i j : nat) : R :=
  weights_of h x i j * (logits_velocity h x x' i j -
    mean_velocity (row_keys h i) (sink x) (logits_of h x i) (logits_velocity h x x' i) (sink x')).
Definition output_velocity (h : head) (x x' : operands) (i c : nat) : R :=
  value_factor h * sum (filter (kept h i) (row_keys h i)) (fun j =>
    weight_velocity h x x' i j * values x j c + weights_of h x i j * values x' j c).
Definition lse_velocity (h : head) (f : lse_form) (x x' : operands) (i : nat) : R :=
  in_base f (mean_velocity (row_keys h i) (counted f (sink x)) (logits_of h x i)
                           (logits_velocity h x x' i) (counted f (sink x'))).

Lemma row_weights_move h x t x' i j :
  cap_is_positive h -> moves x t x' -> In j (row_keys h i) ->
  is_derive (fun u => weights_of h (x u) i j) t (weight_velocity h (x t) x' i j).
Proof.
  intros H M Hj; unfold weight_velocity; rewrite weights_of_visible by exact Hj.
  apply (derive_fun (fun u => sink_softmax (row_keys h i) (sink (x u)) (fun k => logits_of h (x u) i k) j)).
  2: intros u; symmetry; apply weights_of_visible, Hj.
  apply (weights_move (row_keys h i) (fun u => sink (x u)) (fun k u => logits_of h (x u) i k)); [exact Hj| |apply M].
  intros k _; apply row_logits_move; assumption.
Qed.

Theorem output_moves h x t x' i c :
  cap_is_positive h -> moves x t x' ->
  is_derive (fun u => output_of h (x u) i c) t (output_velocity h (x t) x' i c).
Proof.
  intros H M.
  apply (derive_fun (fun u => value_factor h * sum (filter (kept h i) (row_keys h i)) (fun j =>
    weights_of h (x u) i j * values (x u) j c))); [|intros u; symmetry; apply output_of_weights].
  apply derive_scal, (derive_sum _ (fun j u => weights_of h (x u) i j * values (x u) j c)); intros j Hj.
  apply filter_In in Hj; apply derive_mult; [apply row_weights_move; tauto|apply M].
Qed.

Theorem lse_moves h f x t x' i :
  cap_is_positive h -> moves x t x' -> is_derive (fun u => lse_of h f (x u) i) t (lse_velocity h f (x t) x' i).
Proof.
  intros H M; unfold lse_of; apply in_base_moves.
  apply (log_sum_exp_moves (row_keys h i) (fun u => counted f (sink (x u))) (fun j u => logits_of h (x u) i j)).
  - intros j _; apply row_logits_move; assumption.
  - apply counted_moves, M.
Qed.

(** GRD.D9: outputs and log-sum-exp of a row, each with its cotangent, move as the gradients of its logits, its sink and
    its values say *)
Theorem row_loss_moves h f d_v x t x' i g gL :
  cap_is_positive h -> moves x t x' ->
  is_derive (fun u => dot d_v g (output_of h (x u) i) + gL * lse_of h f (x u) i) t
            (sum (row_keys h i) (fun j => row_logit_gradient h f d_v (x t) i g gL j * logits_velocity h (x t) x' i j) +
             sum (row_keys h i) (fun j => weights_of h (x t) i j * of_weights h d_v x' i g j) +
             row_sink_gradient h f d_v (x t) i g gL * or_zero (sink x')).
Proof.
  intros H M.
  set (l' := logits_velocity h (x t) x' i).
  set (m := mean_velocity (row_keys h i) (sink (x t)) (logits_of h (x t) i) l' (sink x')).
  apply (derive_as _ _ (sum (row_keys h i) (fun j =>
    weights_of h (x t) i j * (l' j - m) * of_weights h d_v (x t) i g j +
    weights_of h (x t) i j * of_weights h d_v x' i g j) + gL * lse_velocity h f (x t) x' i)).
  - apply (derive_plus (fun u => dot d_v g (output_of h (x u) i))); [|apply derive_scal, lse_moves; assumption].
    apply (derive_fun (fun u => sum (row_keys h i) (fun j => weights_of h (x u) i j * of_weights h d_v (x u) i g j))).
    2: intros u; symmetry; apply output_and_weights_have_equal_products.
    apply (derive_sum (row_keys h i) (fun j u => weights_of h (x u) i j * of_weights h d_v (x u) i g j)).
    intros j Hj; apply derive_mult; [apply row_weights_move; assumption|].
    unfold of_weights, weight_gradient; destruct (kept h i j); [|apply derive_const].
    apply (derive_scal (fun u => dot d_v g (values (x u) j))).
    apply (derive_as _ _ (dot d_v (fun _ => 0) (values (x t) j) + dot d_v g (values x' j))).
    + apply (derive_dot d_v (fun c _ => g c) (fun c u => values (x u) j c)); [intros; apply derive_const|apply M].
    + unfold dot at 1; rewrite sum_zero by (intros; ring); ring.
  - set (w := weights_of h (x t) i) in *; set (dw := of_weights h d_v (x t) i g).
    set (w_L := sink_softmax (row_keys h i) (counted f (sink (x t))) (logits_of h (x t) i)).
    assert (E : sum (row_keys h i) (fun j => row_logit_gradient h f d_v (x t) i g gL j * l' j) =
      sum (row_keys h i) (fun j => w j * dw j * l' j) -
      centre (row_keys h i) w dw * sum (row_keys h i) (fun j => w j * l' j) +
      gL * in_base f (sum (row_keys h i) (fun j => w_L j * l' j))).
    { rewrite <- sum_scal, <- sum_minus.
      replace (gL * _) with (sum (row_keys h i) (fun j => in_base f (w_L j * gL) * l' j)).
      - rewrite <- sum_plus; apply sum_ext; intros j Hj; rewrite row_logit_gradient_visible by exact Hj.
        unfold softmax_gradient, log_sum_exp_gradient; fold w dw w_L; ring.
      - rewrite (Rmult_comm gL), <- in_base_scal, <- sum_scal_r; unfold in_base, in_base_2.
        destruct (base_2 f); [unfold Rdiv; rewrite <- sum_scal_r|]; apply sum_ext; intros; ring. }
    assert (C : sum (row_keys h i) (fun j => w j * (l' j - m) * dw j + w j * of_weights h d_v x' i g j) =
      sum (row_keys h i) (fun j => w j * dw j * l' j) - m * centre (row_keys h i) w dw +
      sum (row_keys h i) (fun j => w j * of_weights h d_v x' i g j)).
    { rewrite sum_plus; unfold centre; rewrite <- sum_scal, <- sum_minus; f_equal; apply sum_ext; intros; ring. }
    rewrite C, E; unfold m, lse_velocity, mean_velocity, row_sink_gradient, sink_gradient, log_sum_exp_gradient.
    fold w dw w_L l'.
    rewrite (sum_ext _ (fun k => sink_softmax (row_keys h i) (sink (x t)) (logits_of h (x t) i) k * l' k)
      (fun k => w k * l' k)) by (intros j Hj; unfold w; rewrite weights_of_visible by exact Hj; reflexivity).
    rewrite sink_share_counted; unfold in_base, in_base_2, Rdiv; destruct (base_2 f); ring.
Qed.
