(** Dual numbers: the tangent of an operation is its derivative, and so is that of any computation that is read in them,
    because tangents compose as the chain rule says. *)
Require Import FunctionalExtensionality.
From Attest Require Export Derivatives.

(** * Operations *)

(** those of NUM.D1 but lift and shift_of, which give constants: a number of a file, and a point that no result depends
    on *)
Inductive unary := Neg | Exp | Log | Tanh | Sqrt | Sin | Cos | PositivePart | Absolute.
Inductive binary := Plus | Minus | Times | Over | WherePositive.

Definition in_reals (o : unary) : R -> R :=
  match o with
  | Neg => Ropp | Exp => exp | Log => ln | Tanh => tanh | Sqrt => sqrt | Sin => sin | Cos => cos
  | PositivePart => positive_part | Absolute => absolute
  end.
Definition in_reals2 (o : binary) : R -> R -> R :=
  match o with Plus => Rplus | Minus => Rminus | Times => Rmult | Over => Rdiv | WherePositive => where_positive end.
Definition in_duals (o : unary) : dual -> dual :=
  match o with
  | Neg => dual_neg | Exp => dual_exp | Log => dual_log | Tanh => dual_tanh | Sqrt => dual_sqrt | Sin => dual_sin
  | Cos => dual_cos | PositivePart => dual_positive_part | Absolute => dual_absolute
  end.
Definition in_duals2 (o : binary) : dual -> dual -> dual :=
  match o with
  | Plus => dual_add | Minus => dual_sub | Times => dual_mul | Over => dual_div | WherePositive => dual_where_positive
  end.

(** arguments around which the operation is differentiable *)
Definition differentiable (o : unary) (x : R) : Prop :=
  match o with Log | Sqrt => 0 < x | PositivePart | Absolute => x <> 0 | _ => True end.
Definition differentiable2 (o : binary) (x y : R) : Prop :=
  match o with Over => y <> 0 | WherePositive => x <> 0 | _ => True end.

(** * Kinks: away from zero the functions with a case are one of their cases *)

Lemma derive_near (f g : R -> R) (t d : R) :
  locally t (fun u => f u = g u) -> is_derive g t d -> is_derive f t d.
Proof. intros L G; apply (is_derive_ext_loc g f t d); [|exact G]; revert L; apply filter_imp; auto. Qed.

Lemma near_positive (f : R -> R) (t d : R) : is_derive f t d -> 0 < f t -> locally t (fun u => 0 < f u).
Proof.
  intros D P; assert (C : continuous f t) by (apply (ex_derive_continuous f), (ex_intro _ d), D).
  apply C; exists (mkposreal _ P); intros y Y.
  change (Rabs (y - f t) < f t) in Y; apply Rabs_def2 in Y; lra.
Qed.

Lemma near_negative (f : R -> R) (t d : R) : is_derive f t d -> f t < 0 -> locally t (fun u => f u < 0).
Proof.
  intros D P; assert (L := near_positive _ t _ (derive_opp f t d D)); generalize (L ltac:(lra)).
  apply filter_imp; intros; lra.
Qed.

Lemma where_positive_pos x y : 0 < x -> where_positive x y = y.
Proof. intros; unfold where_positive; destruct (Rlt_dec 0 x); [reflexivity|lra]. Qed.
Lemma where_positive_neg x y : x <= 0 -> where_positive x y = 0.
Proof. intros; unfold where_positive; destruct (Rlt_dec 0 x); [lra|reflexivity]. Qed.

Lemma derive_where_positive (f g : R -> R) (t df dg : R) :
  is_derive f t df -> is_derive g t dg -> f t <> 0 ->
  is_derive (fun u => where_positive (f u) (g u)) t (where_positive (f t) dg).
Proof.
  intros F G N; destruct (Rtotal_order (f t) 0) as [L|[L|L]]; [|contradiction|].
  - rewrite where_positive_neg by lra; apply (derive_near _ (fun _ => 0)); [|apply derive_const].
    generalize (near_negative f t df F L); apply filter_imp; intros u H; apply where_positive_neg; lra.
  - rewrite where_positive_pos by lra; apply (derive_near _ g); [|exact G].
    generalize (near_positive f t df F L); apply filter_imp; intros u H; apply where_positive_pos, H.
Qed.

Lemma positive_part_is_where_positive x : positive_part x = where_positive x x.
Proof. unfold positive_part, where_positive; destruct (Rlt_dec 0 x); [apply Rmax_left|apply Rmax_right]; lra. Qed.
Lemma absolute_is_where_positive x : absolute x = where_positive x x - where_positive (- x) x.
Proof.
  unfold absolute, where_positive; destruct (Rlt_dec 0 x), (Rlt_dec 0 (- x)); try lra.
  - rewrite Rabs_pos_eq; lra.
  - rewrite Rabs_left; lra.
  - replace x with 0 by lra; rewrite Rabs_R0; lra.
Qed.

(** NUM.P5, over the reals *)
Theorem where_positive_at_zero_is_zero y : where_positive 0 y = 0.
Proof. apply where_positive_neg; lra. Qed.

(** NUM.P5, over the reals *)
Theorem tangent_of_positive_part_at_zero_is_zero t : tangent (dual_positive_part (Dual 0 t)) = 0.
Proof. apply where_positive_at_zero_is_zero. Qed.

(** * NUM.P4 *)

(** NUM.P4: along a curve *)
Theorem tangent_of_an_operation_is_its_derivative o (f : R -> R) t df :
  is_derive f t df -> differentiable o (f t) ->
  is_derive (fun u => in_reals o (f u)) t (tangent (in_duals o (Dual (f t) df))).
Proof.
  intros F H; destruct o; simpl in *.
  - apply derive_opp, F.
  - apply derive_exp, F.
  - apply derive_ln; assumption.
  - apply (derive_as _ _ _ _ (derive_tanh f t df F)); ring.
  - apply (derive_as _ _ _ _ (derive_sqrt f t df F H)); f_equal; ring.
  - apply derive_sin, F.
  - apply (derive_as _ _ _ _ (derive_cos f t df F)); ring.
  - apply (derive_fun (fun u => where_positive (f u) (f u))); [|intros; symmetry; apply positive_part_is_where_positive].
    apply derive_where_positive with df; assumption.
  - apply (derive_fun (fun u => where_positive (f u) (f u) - where_positive (- f u) (f u)));
      [|intros; symmetry; apply absolute_is_where_positive].
    apply (derive_minus (fun u => where_positive (f u) (f u))); [apply derive_where_positive with df; assumption|].
    apply (derive_where_positive (fun u => - f u) f t (- df)); [apply derive_opp, F|exact F|lra].
Qed.

(** NUM.P4: with two arguments that both move *)
Theorem tangent_of_a_binary_operation_is_its_derivative o (f g : R -> R) t df dg :
  is_derive f t df -> is_derive g t dg -> differentiable2 o (f t) (g t) ->
  is_derive (fun u => in_reals2 o (f u) (g u)) t (tangent (in_duals2 o (Dual (f t) df) (Dual (g t) dg))).
Proof.
  intros F G H; destruct o; simpl in *.
  - apply derive_plus; assumption.
  - apply derive_minus; assumption.
  - apply derive_mult; assumption.
  - apply derive_div; assumption.
  - apply derive_where_positive with df; assumption.
Qed.

Lemma line_derive (a b t : R) : is_derive (fun u => a + u * b) t b.
Proof.
  apply (derive_as _ _ (0 + 1 * b)); [|ring].
  apply (derive_plus (fun _ => a)); [apply derive_const|apply (derive_scal_r (fun u => u)), (is_derive_id t)].
Qed.

(** NUM.P4: the quotient of differences is a tangent in between *)
Theorem quotient_of_an_operation_is_a_tangent o x t h :
  0 < h -> (forall s, - h <= s <= h -> differentiable o (x + s * t)) ->
  exists xi, - h < xi < h /\
    (in_reals o (x + h * t) - in_reals o (x - h * t)) / (2 * h) = tangent (in_duals o (Dual (x + xi * t) t)).
Proof.
  intros H D.
  destruct (central_quotient_is_a_derivative (fun s => in_reals o (x + s * t))
    (fun s => tangent (in_duals o (Dual (x + s * t) t))) h H) as [xi [I E]].
  - intros s S; apply (tangent_of_an_operation_is_its_derivative o (fun s => x + s * t));
      [apply line_derive|apply D, S].
  - exists xi; split; [exact I|]; rewrite <- E; unfold central_quotient.
    replace (x + - h * t) with (x - h * t) by ring; reflexivity.
Qed.

Theorem quotient_of_a_binary_operation_is_a_tangent o x y t t' h :
  0 < h -> (forall s, - h <= s <= h -> differentiable2 o (x + s * t) (y + s * t')) ->
  exists xi, - h < xi < h /\
    (in_reals2 o (x + h * t) (y + h * t') - in_reals2 o (x - h * t) (y - h * t')) / (2 * h) =
    tangent (in_duals2 o (Dual (x + xi * t) t) (Dual (y + xi * t') t')).
Proof.
  intros H D.
  destruct (central_quotient_is_a_derivative (fun s => in_reals2 o (x + s * t) (y + s * t'))
    (fun s => tangent (in_duals2 o (Dual (x + s * t) t) (Dual (y + s * t') t'))) h H) as [xi [I E]].
  - intros s S; apply (tangent_of_a_binary_operation_is_its_derivative o (fun s => x + s * t) (fun s => y + s * t'));
      [apply line_derive|apply line_derive|apply D, S].
  - exists xi; split; [exact I|]; rewrite <- E; unfold central_quotient.
    replace (x + - h * t) with (x - h * t) by ring; replace (y + - h * t') with (y - h * t') by ring; reflexivity.
Qed.

(** * Computations *)

(** what can be written with the operations, from numbers that are given and numbers that are fixed *)
Inductive computation :=
  | Given (n : nat)
  | Number (r : R)
  | Apply (o : unary) (e : computation)
  | Apply2 (o : binary) (e e' : computation).

Fixpoint read_in_reals (x : nat -> R) (e : computation) : R :=
  match e with
  | Given n => x n
  | Number r => r
  | Apply o e => in_reals o (read_in_reals x e)
  | Apply2 o e e' => in_reals2 o (read_in_reals x e) (read_in_reals x e')
  end.
Fixpoint read_in_duals (x : nat -> dual) (e : computation) : dual :=
  match e with
  | Given n => x n
  | Number r => dual_lift r
  | Apply o e => in_duals o (read_in_duals x e)
  | Apply2 o e e' => in_duals2 o (read_in_duals x e) (read_in_duals x e')
  end.
Fixpoint differentiable_at (x : nat -> R) (e : computation) : Prop :=
  match e with
  | Given _ | Number _ => True
  | Apply o e => differentiable_at x e /\ differentiable o (read_in_reals x e)
  | Apply2 o e e' => differentiable_at x e /\ differentiable_at x e' /\
                     differentiable2 o (read_in_reals x e) (read_in_reals x e')
  end.

Lemma value_in_duals x e : value (read_in_duals x e) = read_in_reals (fun n => value (x n)) e.
Proof.
  induction e as [| |o e IH|o e IH e' IH']; try reflexivity; simpl; [destruct o|destruct o]; simpl;
    rewrite IH, ?IH'; reflexivity.
Qed.

(** NUM.D8, GRD.P2: a computation that is read in dual numbers returns its value, and its derivative as the tangent *)
Theorem computation_in_duals_returns_its_derivative (x : nat -> R -> R) (x' : nat -> R) t e :
  (forall n, is_derive (x n) t (x' n)) -> differentiable_at (fun n => x n t) e ->
  let y := read_in_duals (fun n => Dual (x n t) (x' n)) e in
  value y = read_in_reals (fun n => x n t) e /\ is_derive (fun u => read_in_reals (fun n => x n u) e) t (tangent y).
Proof.
  intros X; cbv zeta; assert (V := fun e => value_in_duals (fun n => Dual (x n t) (x' n)) e); simpl in V.
  assert (P : forall d : dual, d = Dual (value d) (tangent d)) by (intros []; reflexivity).
  induction e as [n|r|o e IH|o e IH e' IH']; intros D; (split; [apply V|simpl in D |- *]).
  - apply X.
  - apply derive_const.
  - destruct D as [D H]; destruct (IH D) as [_ G].
    apply (derive_as _ _ _ _ (tangent_of_an_operation_is_its_derivative o _ t _ G H)).
    rewrite <- (V e), <- P; reflexivity.
  - destruct D as [D [D' H]]; destruct (IH D) as [_ G]; destruct (IH' D') as [_ G'].
    apply (derive_as _ _ _ _ (tangent_of_a_binary_operation_is_its_derivative o _ _ t _ _ G G' H)).
    rewrite <- (V e), <- (V e'), <- !P; reflexivity.
Qed.

(** [E] computes [f] along a line in numbers [y] that move with velocities [y'] *)
Definition computes (y y' : nat -> R) (E : computation) (f : R -> R) : Prop :=
  differentiable_at y E /\ forall u, read_in_reals (fun n => y n + u * y' n) E = f u.

Lemma computation_moves y y' E f :
  computes y y' E f -> is_derive f 0 (tangent (read_in_duals (fun n => Dual (y n) (y' n)) E)).
Proof.
  intros [D R]; assert (Y : (fun n => y n + 0 * y' n) = y) by (apply functional_extensionality; intros; ring).
  apply (derive_fun (fun u => read_in_reals (fun n => y n + u * y' n) E)); [|exact R].
  destruct (computation_in_duals_returns_its_derivative (fun n u => y n + u * y' n) y' 0 E) as [_ T].
  - intros n; apply line_derive.
  - rewrite Y; exact D.
  - replace (fun n => Dual (y n) (y' n)) with (fun n => Dual (y n + 0 * y' n) (y' n)); [exact T|].
    apply functional_extensionality; intros; rewrite Rmult_0_l, Rplus_0_r; reflexivity.
Qed.

(** GRD.P2, for whatever is computed: the tangents times the cotangents are the derivative of the loss *)
Theorem tangents_times_cotangents {A} (l : list A) (g : A -> R) (f : A -> R -> R) y y' (E : A -> computation) d :
  (forall k, In k l -> computes y y' (E k) (f k)) -> is_derive (fun u => sum l (fun k => g k * f k u)) 0 d ->
  sum l (fun k => g k * tangent (read_in_duals (fun n => Dual (y n) (y' n)) (E k))) = d.
Proof.
  intros H D; apply (derive_unique (fun u => sum l (fun k => g k * f k u)) 0); [|exact D].
  apply (derive_sum l (fun k u => g k * f k u)); intros k K; apply derive_scal.
  apply computation_moves, H, K.
Qed.
