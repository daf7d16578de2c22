(** Functions that can be written with the operations of a scalar have all derivatives, and the loss of a call along a
    line is such a function: so its central quotients have the error that Taylor's formula says. *)
From Attest Require Export Duals CallGradient.

(** * All derivatives *)

(** the derivative of a computation of one number, as a computation *)
Fixpoint derived (e : computation) : computation :=
  match e with
  | Given _ => Number 1
  | Number _ => Number 0
  | Apply o e =>
      let d := derived e in
      match o with
      | Neg => Apply Neg d
      | Exp => Apply2 Times (Apply Exp e) d
      | Log => Apply2 Over d e
      | Tanh => Apply2 Times (Apply2 Minus (Number 1) (Apply2 Times (Apply Tanh e) (Apply Tanh e))) d
      | Sqrt => Apply2 Over d (Apply2 Plus (Apply Sqrt e) (Apply Sqrt e))
      | Sin => Apply2 Times (Apply Cos e) d
      | Cos => Apply Neg (Apply2 Times (Apply Sin e) d)
      | PositivePart => Apply2 WherePositive e d
      | Absolute => Apply2 Minus (Apply2 WherePositive e d) (Apply2 WherePositive (Apply Neg e) d)
      end
  | Apply2 o e e' =>
      let d := derived e in
      let d' := derived e' in
      match o with
      | Plus => Apply2 Plus d d'
      | Minus => Apply2 Minus d d'
      | Times => Apply2 Plus (Apply2 Times d e') (Apply2 Times e d')
      | Over => Apply2 Over (Apply2 Minus d (Apply2 Times (Apply2 Over e e') d')) e'
      | WherePositive => Apply2 WherePositive e d'
      end
  end.

Lemma derived_is_the_tangent u e :
  read_in_reals (fun _ => u) (derived e) = tangent (read_in_duals (fun _ => Dual u 1) e).
Proof.
  assert (V := value_in_duals (fun _ => Dual u 1)); simpl in V.
  induction e as [| |o e IH|o e IH e' IH']; try reflexivity; destruct o; simpl; rewrite ?V, ?IH, ?IH'; reflexivity.
Qed.

Lemma derived_is_differentiable x e : differentiable_at x e -> differentiable_at x (derived e).
Proof.
  induction e as [| |o e IH|o e IH e' IH']; simpl; auto; destruct o; simpl; intuition; try lra.
  assert (P := sqrt_lt_R0 _ H1); lra.
Qed.

(** a function of one number that is a computation, differentiable wherever it is read *)
Definition elementary (f : R -> R) : Prop :=
  exists e, (forall u, differentiable_at (fun _ => u) e) /\ forall u, read_in_reals (fun _ => u) e = f u.

Lemma elementary_derivative f : elementary f -> exists g, elementary g /\ forall u, is_derive f u (g u).
Proof.
  intros [e [D E]]; exists (fun u => read_in_reals (fun _ => u) (derived e)); split.
  - exists (derived e); split; [intros; apply derived_is_differentiable, D|reflexivity].
  - intros t; apply (derive_fun (fun u => read_in_reals (fun _ => u) e)); [|exact E].
    rewrite derived_is_the_tangent.
    apply (computation_in_duals_returns_its_derivative (fun _ u => u) (fun _ => 1) t e); [|apply D].
    intros _; apply (is_derive_id t).
Qed.

Lemma elementary_derivatives f n : elementary f ->
  exists g, elementary g /\ (forall u, Derive_n f n u = g u) /\ forall u, ex_derive_n f n u.
Proof.
  intros F; induction n as [|n [g [G [E _]]]]; [exists f; simpl; auto|].
  destruct (elementary_derivative g G) as [g' [G' D]]; exists g'; split; [exact G'|split]; intros u; simpl.
  - rewrite (Derive_ext _ g u E); apply is_derive_unique, D.
  - apply (ex_derive_ext g (Derive_n f n) u); [intros; symmetry; apply E|exists (g' u); apply D].
Qed.

Theorem elementary_functions_are_smooth f : elementary f -> smooth f.
Proof. intros F n u; destruct (elementary_derivatives f n F) as [g [_ [_ D]]]; apply D. Qed.

(** * What is elementary *)

Lemma elementary_as (f g : R -> R) : elementary f -> (forall u, f u = g u) -> elementary g.
Proof. intros [e [D E]] H; exists e; split; [exact D|intros u; rewrite E; apply H]. Qed.

Lemma elementary_const c : elementary (fun _ => c).
Proof. exists (Number c); simpl; auto. Qed.

Lemma elementary_unary o f : elementary f -> (forall u, differentiable o (f u)) ->
  elementary (fun u => in_reals o (f u)).
Proof. intros [e [D E]] H; exists (Apply o e); simpl; split; intros u; rewrite E; auto. Qed.

Lemma elementary_binary o f g : elementary f -> elementary g -> (forall u, differentiable2 o (f u) (g u)) ->
  elementary (fun u => in_reals2 o (f u) (g u)).
Proof. intros [e [D E]] [e' [D' E']] H; exists (Apply2 o e e'); simpl; split; intros u; rewrite E, E'; auto. Qed.

Lemma elementary_plus f g : elementary f -> elementary g -> elementary (fun u => f u + g u).
Proof. intros F G; exact (elementary_binary Plus f g F G (fun _ => I)). Qed.
Lemma elementary_mult f g : elementary f -> elementary g -> elementary (fun u => f u * g u).
Proof. intros F G; exact (elementary_binary Times f g F G (fun _ => I)). Qed.
Lemma elementary_div f g : elementary f -> elementary g -> (forall u, g u <> 0) -> elementary (fun u => f u / g u).
Proof. exact (elementary_binary Over f g). Qed.
Lemma elementary_scal c f : elementary f -> elementary (fun u => c * f u).
Proof. apply elementary_mult, elementary_const. Qed.

Lemma elementary_line a b : elementary (fun u => a + u * b).
Proof.
  apply elementary_plus; [apply elementary_const|]; apply (elementary_mult (fun u => u)); [|apply elementary_const].
  exists (Given 0); simpl; auto.
Qed.

Lemma elementary_sum {A} (l : list A) (f : A -> R -> R) :
  (forall k, In k l -> elementary (f k)) -> elementary (fun u => sum l (fun k => f k u)).
Proof.
  induction l as [|a l IH]; simpl; intros H; [apply elementary_const|].
  apply (elementary_plus (f a) (fun u => sum l (fun k => f k u))); auto.
Qed.

(** * A row of attention *)

Definition elementary_sink (a : R -> option R) : Prop :=
  (forall u, a u = None) \/ exists f, (forall u, a u = Some (f u)) /\ elementary f.

Record elementary_operands (x : R -> operands) : Prop := {
  elementary_queries : forall i c, elementary (fun u => queries (x u) i c);
  elementary_keys : forall j c, elementary (fun u => keys (x u) j c);
  elementary_values : forall j c, elementary (fun u => values (x u) j c);
  elementary_biases : forall i j, elementary (fun u => biases (x u) i j);
  elementary_sinks : elementary_sink (fun u => sink (x u))
}.

Lemma elementary_total keys a (l : nat -> R -> R) :
  (forall j, elementary (l j)) -> elementary_sink a -> elementary (fun u => total keys (a u) (fun j => l j u)).
Proof.
  intros L A; unfold total.
  apply (elementary_plus (fun u => sum keys (fun k => exp (l k u)))).
  - apply (elementary_sum keys (fun k u => exp (l k u))); intros k _.
    exact (elementary_unary Exp (l k) (L k) (fun _ => I)).
  - destruct A as [E|[f [E F]]].
    + apply (elementary_as (fun _ => 0)); [apply elementary_const|intros u; rewrite E; reflexivity].
    + apply (elementary_as (fun u => exp (f u))); [exact (elementary_unary Exp f F (fun _ => I))|].
      intros u; rewrite E; reflexivity.
Qed.

(** a row has nothing to count, or a total above zero wherever its operands are *)
Lemma nothing_or_positive keys a (l : nat -> R -> R) :
  elementary_sink a ->
  (keys = [] /\ forall u, a u = None) \/ forall u, 0 < total keys (a u) (fun j => l j u).
Proof.
  intros A; destruct A as [E|[f [E _]]].
  - destruct keys; [left; auto|right; intros u; apply total_positive; left; discriminate].
  - right; intros u; apply total_positive; right; rewrite E; discriminate.
Qed.

Lemma elementary_logits h x i j :
  cap_is_positive h -> elementary_operands x -> elementary (fun u => logits_of h (x u) i j).
Proof.
  intros H X; unfold logits_of, row_logits.
  assert (P : elementary (fun u => descale h * dot (width h) (queries (x u) i) (keys (x u) j))).
  { apply elementary_scal, (elementary_sum _ (fun c u => queries (x u) i c * keys (x u) j c)); intros c _.
    apply elementary_mult; apply X. }
  assert (C : forall s, elementary s -> elementary (fun u => capped (cap h) (s u))).
  { intros s S; unfold cap_is_positive in H; destruct (cap h) as [kappa|]; simpl; [|exact S].
    apply (elementary_scal kappa (fun u => tanh (s u / kappa))).
    apply (elementary_unary Tanh (fun u => s u / kappa)); [|intros; exact I].
    apply elementary_div; [exact S|apply elementary_const|intros; lra]. }
  assert (B := elementary_biases x X i j).
  destruct (place h); simpl.
  - apply (C (fun u => scale h * (descale h * dot (width h) (queries (x u) i) (keys (x u) j) + biases (x u) i j))).
    apply (elementary_scal (scale h)), elementary_plus; assumption.
  - apply (C (fun u => scale h * (descale h * dot (width h) (queries (x u) i) (keys (x u) j)) + biases (x u) i j)).
    apply elementary_plus; [apply elementary_scal|]; assumption.
  - apply elementary_plus; [|exact B].
    apply (C (fun u => scale h * (descale h * dot (width h) (queries (x u) i) (keys (x u) j)))).
    apply elementary_scal; assumption.
Qed.

Lemma elementary_output h x i c :
  cap_is_positive h -> elementary_operands x -> elementary (fun u => output_of h (x u) i c).
Proof.
  intros H X; unfold output_of, attend_row, weighted_values; apply elementary_scal.
  assert (L := fun j => elementary_logits h x i j H X).
  destruct (nothing_or_positive (row_keys h i) _ (fun j u => logits_of h (x u) i j) (elementary_sinks x X)) as [[E _]|P].
  - apply (elementary_as (fun _ => 0)); [apply elementary_const|].
    intros u; rewrite E; simpl; unfold Rdiv; ring.
  - apply elementary_div; [| |intros u; apply Rgt_not_eq, P].
    + apply (elementary_sum _ (fun j u => exp (logits_of h (x u) i j) * values (x u) j c)); intros j _.
      apply elementary_mult; [exact (elementary_unary Exp _ (L j) (fun _ => I))|apply X].
    + apply (elementary_total (row_keys h i) _ (fun j u => logits_of h (x u) i j)); [exact L|apply X].
Qed.

Lemma elementary_lse h f x i :
  cap_is_positive h -> elementary_operands x -> elementary (fun u => lse_of h f (x u) i).
Proof.
  intros H X; unfold lse_of, row_lse, sink_log_sum_exp.
  assert (A : elementary_sink (fun u => counted f (sink (x u)))).
  { unfold counted; destruct (counts_sink f); [apply X|left; reflexivity]. }
  assert (S : elementary (fun u => ln (total (row_keys h i) (counted f (sink (x u))) (logits_of h (x u) i)))).
  { destruct (nothing_or_positive (row_keys h i) _ (fun j u => logits_of h (x u) i j) A) as [[E N]|P].
    - apply (elementary_as (fun _ => ln (total [] None (fun _ => 0)))); [apply elementary_const|].
      intros u; rewrite E, N; reflexivity.
    - apply (elementary_unary Log (fun u => total (row_keys h i) (counted f (sink (x u))) (logits_of h (x u) i)));
        [|exact P].
      apply (elementary_total (row_keys h i) _ (fun j u => logits_of h (x u) i j)); [|exact A].
      intros j; apply elementary_logits; assumption. }
  unfold in_base, in_base_2; destruct (base_2 f); [|exact S].
  unfold Rdiv; apply (elementary_mult _ (fun _ => / ln 2) S), elementary_const.
Qed.

(** * Losses *)

Lemma elementary_head_loss h f n d_v x g gL :
  cap_is_positive h -> elementary_operands x -> elementary (fun u => head_loss h f n d_v (x u) g gL).
Proof.
  intros H X.
  apply (elementary_sum _ (fun i u => dot d_v (g i) (output_of h (x u) i) + gL i * lse_of h f (x u) i)); intros i _.
  apply elementary_plus; [|apply elementary_scal, elementary_lse; assumption].
  apply (elementary_sum _ (fun c u => g i c * output_of h (x u) i c)); intros c _.
  apply elementary_scal, elementary_output; assumption.
Qed.

Lemma elementary_call_loss C (x : R -> tensors) g gL :
  (forall b h, cap_is_positive (head_at C b h)) ->
  (forall b h, elementary_operands (fun u => operands_at C (slopes_bias C) (x u) b h)) ->
  elementary (fun u => call_loss C (x u) g gL).
Proof.
  intros H X.
  apply (elementary_sum _ (fun b u => sum (range (q_heads C)) (fun h => head_loss (head_at C b h) (lse_told C)
    (q_rows C) (v_width C) (operands_at C (slopes_bias C) (x u) b h) (g b h) (gL b h)))); intros b _.
  apply (elementary_sum _ (fun h u => head_loss (head_at C b h) (lse_told C)
    (q_rows C) (v_width C) (operands_at C (slopes_bias C) (x u) b h) (g b h) (gL b h))); intros h _.
  apply elementary_head_loss; auto.
Qed.
