(** Derivatives along curves. A theorem about a gradient reads here: if every number that a function is given moves along
    a differentiable curve, then what it returns, added up with its cotangents, has the derivative that the gradient and
    the velocities give. Such statements compose by the chain rule. *)
From Coquelicot Require Export Coquelicot.
From Attest Require Export Sums.

(** a derivative is known up to an equation, and is the only one *)
Lemma derive_as (f : R -> R) (t d e : R) : is_derive f t d -> d = e -> is_derive f t e.
Proof. intros H <-; exact H. Qed.

Lemma derive_fun (f g : R -> R) (t d : R) : is_derive f t d -> (forall u, f u = g u) -> is_derive g t d.
Proof. intros H E; exact (is_derive_ext f g t d E H). Qed.

Lemma derive_unique (f : R -> R) (t d e : R) : is_derive f t d -> is_derive f t e -> d = e.
Proof. intros H I; rewrite <- (is_derive_unique _ _ _ H); apply is_derive_unique, I. Qed.

Lemma derive_exists (f : R -> R) (t d : R) : is_derive f t d -> ex_derive f t.
Proof. intros H; exists d; exact H. Qed.

(** * Sums, products, quotients *)

Lemma derive_const (c t : R) : is_derive (fun _ => c) t 0.
Proof. exact (is_derive_const c t). Qed.

Lemma derive_plus (f g : R -> R) (t df dg : R) :
  is_derive f t df -> is_derive g t dg -> is_derive (fun u => f u + g u) t (df + dg).
Proof. exact (is_derive_plus f g t df dg). Qed.

Lemma derive_minus (f g : R -> R) (t df dg : R) :
  is_derive f t df -> is_derive g t dg -> is_derive (fun u => f u - g u) t (df - dg).
Proof. exact (is_derive_minus f g t df dg). Qed.

Lemma derive_opp (f : R -> R) (t df : R) : is_derive f t df -> is_derive (fun u => - f u) t (- df).
Proof. exact (is_derive_opp f t df). Qed.

Lemma derive_mult (f g : R -> R) (t df dg : R) :
  is_derive f t df -> is_derive g t dg -> is_derive (fun u => f u * g u) t (df * g t + f t * dg).
Proof. intros F G; exact (is_derive_mult f g t df dg F G Rmult_comm). Qed.

Lemma derive_scal (f : R -> R) (t c df : R) : is_derive f t df -> is_derive (fun u => c * f u) t (c * df).
Proof. exact (is_derive_scal f t c df). Qed.

Lemma derive_scal_r (f : R -> R) (t c df : R) : is_derive f t df -> is_derive (fun u => f u * c) t (df * c).
Proof. intros F; apply (derive_as _ _ _ _ (derive_mult f (fun _ => c) t df 0 F (derive_const c t))); ring. Qed.

Lemma derive_div (f g : R -> R) (t df dg : R) :
  is_derive f t df -> is_derive g t dg -> g t <> 0 ->
  is_derive (fun u => f u / g u) t ((df - f t / g t * dg) / g t).
Proof. intros F G H; apply (derive_as _ _ _ _ (is_derive_div f g t df dg F G H)); field; exact H. Qed.

Lemma derive_sum {A} (l : list A) (f : A -> R -> R) (df : A -> R) t :
  (forall k, In k l -> is_derive (f k) t (df k)) -> is_derive (fun u => sum l (fun k => f k u)) t (sum l df).
Proof.
  induction l as [|a l IH]; simpl; intros H; [apply derive_const|].
  apply (derive_plus (f a) (fun u => sum l (fun k => f k u))); auto.
Qed.

Lemma derive_dot n (f g : nat -> R -> R) (df dg : row) t :
  (forall c, is_derive (f c) t (df c)) -> (forall c, is_derive (g c) t (dg c)) ->
  is_derive (fun u => dot n (fun c => f c u) (fun c => g c u)) t
            (dot n df (fun c => g c t) + dot n (fun c => f c t) dg).
Proof.
  intros F G; unfold dot; rewrite <- sum_plus.
  apply (derive_sum (range n) (fun c u => f c u * g c u)); intros c _; apply derive_mult; auto.
Qed.

(** * Compositions *)

Lemma derive_chain (f g : R -> R) (t df dg : R) :
  is_derive f (g t) df -> is_derive g t dg -> is_derive (fun u => f (g u)) t (df * dg).
Proof. intros F G; apply (derive_as _ _ _ _ (is_derive_comp f g t df dg F G)), Rmult_comm. Qed.

Lemma derive_exp (f : R -> R) (t df : R) : is_derive f t df -> is_derive (fun u => exp (f u)) t (exp (f t) * df).
Proof. apply derive_chain, is_derive_exp. Qed.

Lemma derive_ln (f : R -> R) (t df : R) : is_derive f t df -> 0 < f t -> is_derive (fun u => ln (f u)) t (df / f t).
Proof.
  intros F H; apply (derive_as _ _ _ _ (derive_chain ln f t _ df (is_derive_ln _ H) F)), Rmult_comm.
Qed.

Lemma cosh_not_zero x : cosh x <> 0.
Proof. unfold cosh; assert (A := exp_pos x); assert (B := exp_pos (- x)); lra. Qed.

Lemma cosh_sinh x : cosh x * cosh x - sinh x * sinh x = 1.
Proof.
  unfold cosh, sinh; replace (exp (- x)) with (/ exp x) by (symmetry; apply exp_Ropp).
  field; apply Rgt_not_eq, exp_pos.
Qed.

Lemma is_derive_tanh x : is_derive tanh x (1 - tanh x ^ 2).
Proof.
  assert (S : is_derive sinh x (cosh x)) by (apply is_derive_Reals, derivable_pt_lim_sinh).
  assert (C : is_derive cosh x (sinh x)) by (apply is_derive_Reals, derivable_pt_lim_cosh).
  apply (derive_as _ _ _ _ (derive_div sinh cosh x _ _ S C (cosh_not_zero x))).
  unfold tanh; field; apply cosh_not_zero.
Qed.

Lemma derive_tanh (f : R -> R) (t df : R) :
  is_derive f t df -> is_derive (fun u => tanh (f u)) t ((1 - tanh (f t) ^ 2) * df).
Proof. apply derive_chain, is_derive_tanh. Qed.

Lemma derive_sqrt (f : R -> R) (t df : R) :
  is_derive f t df -> 0 < f t -> is_derive (fun u => sqrt (f u)) t (df / (2 * sqrt (f t))).
Proof. exact (is_derive_sqrt f t df). Qed.

Lemma derive_sin (f : R -> R) (t df : R) : is_derive f t df -> is_derive (fun u => sin (f u)) t (cos (f t) * df).
Proof. apply derive_chain, is_derive_sin. Qed.

Lemma derive_cos (f : R -> R) (t df : R) : is_derive f t df -> is_derive (fun u => cos (f u)) t (- sin (f t) * df).
Proof. apply derive_chain, is_derive_cos. Qed.
