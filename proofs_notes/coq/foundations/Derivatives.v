(** Derivatives along curves. A theorem about a gradient reads here: if every number that a function is given moves along
    a differentiable curve, then what it returns, added up with its cotangents, has the derivative that the gradient and
    the velocities give. Such statements compose by the chain rule. Then: quotients of differences. *)
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

(** * The central quotient (f(h) - f(-h)) / 2h: it is a derivative in between, and how far it is from the one at 0. *)

Definition central_quotient (f : R -> R) (h : R) : R := (f h - f (- h)) / (2 * h).

(** ** Mean value *)

Theorem central_quotient_is_a_derivative (f df : R -> R) h :
  0 < h -> (forall u, - h <= u <= h -> is_derive f u (df u)) ->
  exists xi, - h < xi < h /\ central_quotient f h = df xi.
Proof.
  intros H D.
  destruct (MVT_cor2 f df (- h) h) as [xi [E I]]; [lra|intros u Hu; apply is_derive_Reals, D, Hu|].
  exists xi; split; [exact I|]; unfold central_quotient; rewrite E; field; lra.
Qed.

(** * Order *)

Definition smooth (f : R -> R) : Prop := forall n u, ex_derive_n f n u.

Lemma derive_n_reflected f n u : smooth f -> Derive_n (fun v => f (- v)) n u = (-1) ^ n * Derive_n f n (- u).
Proof. intros S; apply Derive_n_comp_opp; exists (mkposreal 1 Rlt_0_1); intros; apply S. Qed.

(** Taylor's formula about 0 to the right, and for f(-h) *)
Lemma taylor f n h : smooth f -> 0 < h ->
  exists z, 0 < z < h /\
    f h = sum_f_R0 (fun m => h ^ m / INR (fact m) * Derive_n f m 0) n + h ^ S n / INR (fact (S n)) * Derive_n f (S n) z.
Proof.
  intros S H; destruct (Taylor_Lagrange f n 0 h H) as [z [I E]]; [intros; apply S|].
  exists z; split; [exact I|]; rewrite E, Rminus_0_r; reflexivity.
Qed.

Lemma smooth_reflected f : smooth f -> smooth (fun v => f (- v)).
Proof. intros S n u; apply ex_derive_n_comp_opp; exists (mkposreal 1 Rlt_0_1); intros; apply S. Qed.

Lemma taylor_left f n h : smooth f -> 0 < h ->
  exists z, 0 < z < h /\
    f (- h) = sum_f_R0 (fun m => h ^ m / INR (fact m) * ((-1) ^ m * Derive_n f m 0)) n +
              h ^ S n / INR (fact (S n)) * ((-1) ^ S n * Derive_n f (S n) (- z)).
Proof.
  intros F H; destruct (taylor _ n h (smooth_reflected f F) H) as [z [I E]].
  exists z; split; [exact I|]; rewrite E, derive_n_reflected by exact F; f_equal.
  apply sum_eq; intros m _; rewrite derive_n_reflected, Ropp_0 by exact F; reflexivity.
Qed.

(** the error of the quotient, by third derivatives in between *)
Lemma central_quotient_error f h : smooth f -> 0 < h ->
  exists a b, 0 < a < h /\ 0 < b < h /\
    central_quotient f h - Derive f 0 = h ^ 2 / 12 * (Derive_n f 3 a + Derive_n f 3 (- b)).
Proof.
  intros F H; destruct (taylor f 2 h F H) as [a [A E]]; destruct (taylor_left f 2 h F H) as [b [B E']].
  exists a, b; split; [exact A|]; split; [exact B|]; unfold central_quotient; rewrite E, E'.
  change (Derive f 0) with (Derive_n f 1 0); unfold sum_f_R0.
  generalize (Derive_n f 0 0) (Derive_n f 1 0) (Derive_n f 2 0) (Derive_n f 3 a) (Derive_n f 3 (- b)).
  intros; simpl; field; lra.
Qed.

Lemma central_quotient_error_5 f h : smooth f -> Derive_n f 3 0 = 0 -> 0 < h ->
  exists a b, 0 < a < h /\ 0 < b < h /\
    central_quotient f h - Derive f 0 = h ^ 4 / 240 * (Derive_n f 5 a + Derive_n f 5 (- b)).
Proof.
  intros F Z H; destruct (taylor f 4 h F H) as [a [A E]]; destruct (taylor_left f 4 h F H) as [b [B E']].
  exists a, b; split; [exact A|]; split; [exact B|]; unfold central_quotient; rewrite E, E'.
  change (Derive f 0) with (Derive_n f 1 0); unfold sum_f_R0; rewrite Z.
  generalize (Derive_n f 0 0) (Derive_n f 1 0) (Derive_n f 2 0) (Derive_n f 4 0) (Derive_n f 5 a) (Derive_n f 5 (- b)).
  intros; simpl; field; lra.
Qed.

(** * Halving the step *)

Lemma derive_n_continuous f n : smooth f -> forall eps, 0 < eps ->
  exists delta, 0 < delta /\ forall u, Rabs u < delta -> Rabs (Derive_n f n u - Derive_n f n 0) < eps.
Proof.
  intros F eps E.
  assert (C : continuity_pt (Derive_n f n) 0).
  { apply derivable_continuous_pt, ex_derive_Reals_0, (F (S n)). }
  destruct (C eps E) as [delta [D K]]; exists delta; split; [exact D|]; intros u U.
  destruct (Req_EM_T u 0) as [->|N]; [rewrite Rminus_eq_0, Rabs_R0; exact E|].
  apply (K u); split; [split; [exact I|auto]|]; simpl; unfold R_dist; rewrite Rminus_0_r; exact U.
Qed.

(** GRD.P1: the error is that of the third derivative, times h^2 / 6, up to something of smaller order *)
Theorem central_quotient_error_is_quadratic f : smooth f -> forall eps, 0 < eps ->
  exists delta, 0 < delta /\ forall h, 0 < h < delta ->
    Rabs ((central_quotient f h - Derive f 0) / h ^ 2 - Derive_n f 3 0 / 6) < eps.
Proof.
  intros F eps E; destruct (derive_n_continuous f 3 F eps E) as [delta [D K]].
  exists delta; split; [exact D|]; intros h H.
  destruct (central_quotient_error f h F) as [a [b [A [B Q]]]]; [lra|]; rewrite Q.
  assert (Ka := K a); assert (Kb := K (- b)); rewrite Rabs_Ropp in Kb.
  rewrite (Rabs_pos_eq a) in Ka by lra; rewrite (Rabs_pos_eq b) in Kb by lra.
  specialize (Ka ltac:(lra)); specialize (Kb ltac:(lra)); apply Rabs_def2 in Ka, Kb.
  replace (h ^ 2 / 12 * _ / h ^ 2 - _) with
    (((Derive_n f 3 a - Derive_n f 3 0) + (Derive_n f 3 (- b) - Derive_n f 3 0)) / 12) by (field; lra).
  apply Rabs_def1; lra.
Qed.

(** GRD.P1: so it falls by a factor of 4 when the step is halved, the more exactly the smaller the step *)
Theorem central_quotient_error_falls_by_four f : smooth f -> Derive_n f 3 0 <> 0 -> forall eps, 0 < eps ->
  exists delta, 0 < delta /\ forall h, 0 < h < delta ->
    central_quotient f (h / 2) <> Derive f 0 /\
    Rabs ((central_quotient f h - Derive f 0) / (central_quotient f (h / 2) - Derive f 0) - 4) < eps.
Proof.
  intros F N eps E; set (c := Derive_n f 3 0 / 6).
  assert (C : 0 < Rabs c) by (apply Rabs_pos_lt; unfold c; lra).
  set (eta := Rmin (Rabs c / 2) (eps * Rabs c / 32)).
  assert (P : 0 < eta) by (apply Rmin_case; [lra|]; apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat|]; lra).
  assert (U : eta <= Rabs c / 2) by apply Rmin_l; assert (V : eta <= eps * Rabs c / 32) by apply Rmin_r.
  destruct (central_quotient_error_is_quadratic f F eta P) as [delta [D K]].
  exists delta; split; [exact D|]; intros h H.
  assert (K1 := K h H); assert (K2 := K (h / 2) ltac:(lra)); fold c in K1, K2.
  set (y := (central_quotient f h - Derive f 0) / h ^ 2) in K1.
  set (z := (central_quotient f (h / 2) - Derive f 0) / (h / 2) ^ 2) in K2.
  assert (Z : Rabs c / 2 <= Rabs z).
  { assert (T := Rabs_triang (- (z - c)) z); rewrite Rabs_Ropp in T; replace (- (z - c) + z) with c in T by ring; lra. }
  assert (Z0 : z <> 0) by (intros I; rewrite I, Rabs_R0 in Z; lra).
  assert (E1 : central_quotient f h - Derive f 0 = y * h ^ 2) by (unfold y; field; lra).
  assert (E2 : central_quotient f (h / 2) - Derive f 0 = z * (h / 2) ^ 2) by (unfold z; field; lra).
  split.
  - intros I; rewrite I, Rminus_eq_0 in E2; symmetry in E2; apply Rmult_integral in E2.
    destruct E2 as [E2|E2]; [exact (Z0 E2)|revert E2; apply pow_nonzero; lra].
  - rewrite E1, E2; replace (_ - 4) with (4 * ((y - c) - (z - c)) / z) by (field; lra).
    unfold Rdiv; rewrite !Rabs_mult, Rabs_inv, (Rabs_pos_eq 4) by lra.
    apply (Rmult_lt_reg_r (Rabs z)); [lra|]; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    assert (T := Rabs_triang (y - c) (- (z - c))); rewrite Rabs_Ropp in T.
    replace (y - c + - (z - c)) with (y - c - (z - c)) in T by ring.
    assert (eps * (Rabs c / 2) <= eps * Rabs z) by (apply Rmult_le_compat_l; lra).
    assert (0 < eps * Rabs c) by (apply Rmult_lt_0_compat; lra); lra.
Qed.

(** GRD.P1: where the third derivative vanishes it is of order h^4 *)
Theorem central_quotient_error_is_quartic f : smooth f -> Derive_n f 3 0 = 0 ->
  exists delta M, 0 < delta /\ forall h, 0 < h < delta -> Rabs (central_quotient f h - Derive f 0) <= M * h ^ 4.
Proof.
  intros F Z; destruct (derive_n_continuous f 5 F 1 Rlt_0_1) as [delta [D K]].
  exists delta, ((Rabs (Derive_n f 5 0) + 1) / 120); split; [exact D|]; intros h H.
  destruct (central_quotient_error_5 f h F Z) as [a [b [A [B Q]]]]; [lra|]; rewrite Q.
  assert (P : 0 < h ^ 4) by (apply pow_lt; lra).
  assert (S : forall u, Rabs u < delta -> Rabs (Derive_n f 5 u) <= Rabs (Derive_n f 5 0) + 1).
  { intros u I; assert (T := Rabs_triang (Derive_n f 5 u - Derive_n f 5 0) (Derive_n f 5 0)).
    replace (Derive_n f 5 u - Derive_n f 5 0 + Derive_n f 5 0) with (Derive_n f 5 u) in T by ring.
    specialize (K u I); lra. }
  assert (Sa := S a); assert (Sb := S (- b)); rewrite Rabs_Ropp in Sb.
  rewrite (Rabs_pos_eq a) in Sa by lra; rewrite (Rabs_pos_eq b) in Sb by lra.
  specialize (Sa ltac:(lra)); specialize (Sb ltac:(lra)).
  assert (T := Rabs_triang (Derive_n f 5 a) (Derive_n f 5 (- b))).
  rewrite Rabs_mult, (Rabs_pos_eq (h ^ 4 / 240)) by lra.
  apply Rle_trans with (h ^ 4 / 240 * (2 * (Rabs (Derive_n f 5 0) + 1))); [|lra].
  apply Rmult_le_compat_l; lra.
Qed.

(** * All that GRD.P1 says of a gradient along a line *)

Definition matches_finite_differences (f gradient : R -> R) : Prop :=
  (forall h, 0 < h -> exists xi, - h < xi < h /\ central_quotient f h = gradient xi) /\
  (Derive_n f 3 0 <> 0 -> forall eps, 0 < eps -> exists delta, 0 < delta /\ forall h, 0 < h < delta ->
     central_quotient f (h / 2) <> gradient 0 /\
     Rabs ((central_quotient f h - gradient 0) / (central_quotient f (h / 2) - gradient 0) - 4) < eps) /\
  (Derive_n f 3 0 = 0 -> exists delta M, 0 < delta /\ forall h, 0 < h < delta ->
     Rabs (central_quotient f h - gradient 0) <= M * h ^ 4).

Theorem derivatives_match_finite_differences f df :
  smooth f -> (forall u, is_derive f u (df u)) -> matches_finite_differences f df.
Proof.
  intros F D; assert (E : Derive f 0 = df 0) by apply is_derive_unique, D.
  split; [|rewrite <- E; split].
  - intros h H; apply central_quotient_is_a_derivative; [exact H|intros u _; apply D].
  - apply central_quotient_error_falls_by_four, F.
  - apply central_quotient_error_is_quartic, F.
Qed.
