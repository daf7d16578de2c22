(** Dual numbers as an arithmetic of the code's steps: what follows a moving number, and is followed by sums. *)
From Attest Require Export Duals Programs.

Definition duals (shift : list R -> R) : arithmetic dual :=
  Arithmetic dual (dual_lift 0) dual_add dual_sub dual_mul dual_div dual_exp dual_log
             (fun l => dual_lift (shift (map value l))).

(** * A number that moves, and its dual at u = 0 *)

Definition follows (f : R -> R) (d : dual) : Prop := value d = f 0 /\ is_derive f 0 (tangent d).

Lemma follows_as f g d : follows f d -> (forall u, f u = g u) -> follows g d.
Proof. intros [V D] E; split; [rewrite V; apply E|exact (derive_fun f g 0 _ D E)]. Qed.

Lemma follows_lift c : follows (fun _ => c) (dual_lift c).
Proof. split; [reflexivity|apply derive_const]. Qed.

Lemma follows_unary o f d : follows f d -> differentiable o (f 0) -> follows (fun u => in_reals o (f u)) (in_duals o d).
Proof.
  intros [V D] H; split; [destruct o, d; simpl in *; rewrite V; reflexivity|].
  destruct d as [v t]; simpl in V, D; rewrite V; apply tangent_of_an_operation_is_its_derivative; assumption.
Qed.

Lemma follows_binary o f g d e : follows f d -> follows g e -> differentiable2 o (f 0) (g 0) ->
  follows (fun u => in_reals2 o (f u) (g u)) (in_duals2 o d e).
Proof.
  intros [V D] [W E] H; split; [destruct o, d, e; simpl in *; rewrite V, W; reflexivity|].
  destruct d as [v t], e as [w s]; simpl in V, D, W, E; rewrite V, W.
  apply tangent_of_a_binary_operation_is_its_derivative; assumption.
Qed.

Lemma follows_add f g d e : follows f d -> follows g e -> follows (fun u => f u + g u) (dual_add d e).
Proof. intros F G; exact (follows_binary Plus f g d e F G I). Qed.
Lemma follows_sub f g d e : follows f d -> follows g e -> follows (fun u => f u - g u) (dual_sub d e).
Proof. intros F G; exact (follows_binary Minus f g d e F G I). Qed.
Lemma follows_mul f g d e : follows f d -> follows g e -> follows (fun u => f u * g u) (dual_mul d e).
Proof. intros F G; exact (follows_binary Times f g d e F G I). Qed.
Lemma follows_div f g d e : follows f d -> follows g e -> g 0 <> 0 -> follows (fun u => f u / g u) (dual_div d e).
Proof. exact (follows_binary Over f g d e). Qed.
Lemma follows_exp f d : follows f d -> follows (fun u => exp (f u)) (dual_exp d).
Proof. intros F; exact (follows_unary Exp f d F I). Qed.
Lemma follows_log f d : follows f d -> 0 < f 0 -> follows (fun u => ln (f u)) (dual_log d).
Proof. exact (follows_unary Log f d). Qed.

Section Steps.
Variable shift : list R -> R.
Let F := duals shift.

Lemma follows_sum {A} (l : list A) (f : A -> R -> R) (d : A -> dual) :
  (forall k, In k l -> follows (f k) (d k)) -> follows (fun u => sum l (fun k => f k u)) (sum_over F (map d l)).
Proof.
  assert (G : forall l f0 d0, follows f0 d0 -> (forall k, In k l -> follows (f k) (d k)) ->
    follows (fun u => f0 u + sum l (fun k => f k u)) (fold_left dual_add (map d l) d0)).
  { clear; induction l as [|a l IH]; intros f0 d0 H0 H; simpl.
    - apply (follows_as f0); [exact H0|intros; ring].
    - apply (follows_as (fun u => (f0 u + f a u) + sum l (fun k => f k u))); [|intros; ring].
      apply (IH (fun u => f0 u + f a u)); [apply follows_add|]; auto using in_eq, in_cons. }
  destruct l as [|a l]; intros H; [apply follows_lift|].
  apply (G l (f a) (d a)); auto using in_eq, in_cons.
Qed.
End Steps.
