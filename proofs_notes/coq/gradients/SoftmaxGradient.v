(** How the weights of a row and its log-sum-exp move when its scores and its sink do, and from that the gradients of
    GRD.D1 to GRD.D4. *)
From Attest Require Export Derivatives Softmax.

(** a sink that is there for good, or never, and moves with velocity a' *)
Definition sink_moves (a : R -> option R) (t : R) (a' : option R) : Prop :=
  match a' with
  | Some v => exists f, (forall u, a u = Some (f u)) /\ is_derive f t v
  | None => forall u, a u = None
  end.

(** * The total *)

Lemma total_positive keys a s : keys <> [] \/ a <> None -> 0 < total keys a s.
Proof. intros [H|H]; [apply total_pos, H|destruct a; [apply total_pos_sink|congruence]]. Qed.

Lemma total_moves keys (a : R -> option R) (l : nat -> R -> R) t a' (l' : row) :
  (forall j, In j keys -> is_derive (l j) t (l' j)) -> sink_moves a t a' ->
  is_derive (fun u => total keys (a u) (fun j => l j u)) t
            (sum keys (fun j => exp (l j t) * l' j) + match a t with Some x => exp x * or_zero a' | None => 0 end).
Proof.
  intros L A; unfold total.
  apply (derive_plus (fun u => sum keys (fun k => exp (l k u)))
                     (fun u => match a u with Some x => exp x | None => 0 end)).
  - apply (derive_sum keys (fun k u => exp (l k u))); intros k Hk; apply derive_exp, L, Hk.
  - destruct a' as [v|]; simpl in A.
    + destruct A as [f [E D]]; rewrite E; simpl.
      apply (derive_fun (fun u => exp (f u))); [apply derive_exp, D|intros u; rewrite E; reflexivity].
    + rewrite A; apply (derive_fun (fun _ => 0)); [apply derive_const|intros u; rewrite A; reflexivity].
Qed.

(** * Weights and log-sum-exp along a curve *)

(** the mean velocity of the row, the sink with its share of it *)
Definition mean_velocity keys (a : option R) (s s' : row) (a' : option R) : R :=
  sum keys (fun k => sink_softmax keys a s k * s' k) + sink_share keys a s * or_zero a'.

Lemma mean_velocity_total keys a s s' a' :
  mean_velocity keys a s s' a' =
  (sum keys (fun j => exp (s j) * s' j) + match a with Some x => exp x * or_zero a' | None => 0 end) / total keys a s.
Proof.
  unfold mean_velocity, sink_softmax, sink_share, Rdiv.
  rewrite (sum_ext keys _ (fun k => exp (s k) * s' k * / total keys a s)), sum_scal_r by (intros; ring).
  destruct a; ring.
Qed.

Theorem weights_move keys (a : R -> option R) (l : nat -> R -> R) t a' (l' : row) j :
  In j keys -> (forall k, In k keys -> is_derive (l k) t (l' k)) -> sink_moves a t a' ->
  is_derive (fun u => sink_softmax keys (a u) (fun k => l k u) j) t
            (sink_softmax keys (a t) (fun k => l k t) j * (l' j - mean_velocity keys (a t) (fun k => l k t) l' a')).
Proof.
  intros Hj L A.
  assert (P := total_pos keys (a t) (fun k => l k t) (in_not_nil keys j Hj)).
  apply (derive_as _ _ _ _ (derive_div _ _ t _ _ (derive_exp _ t _ (L j Hj)) (total_moves keys a l t a' l' L A)
           (Rgt_not_eq _ _ P))).
  rewrite mean_velocity_total; unfold sink_softmax; field; lra.
Qed.

(** the log-sum-exp of nothing is a constant *)
Theorem log_sum_exp_moves keys (a : R -> option R) (l : nat -> R -> R) t a' (l' : row) :
  (forall k, In k keys -> is_derive (l k) t (l' k)) -> sink_moves a t a' ->
  is_derive (fun u => sink_log_sum_exp keys (a u) (fun k => l k u)) t
            (mean_velocity keys (a t) (fun k => l k t) l' a').
Proof.
  intros L A; unfold sink_log_sum_exp.
  assert (H : keys = [] /\ a' = None \/ (keys <> [] \/ a t <> None)).
  { destruct a' as [v|]; [destruct A as [f [E _]]; rewrite E; right; right; discriminate|].
    destruct keys; [left; split; reflexivity|right; left; discriminate]. }
  destruct H as [[-> ->]|H].
  - simpl in A; apply (derive_fun (fun _ => ln (total [] None (fun _ => 0)))).
    + apply (derive_as _ _ 0); [apply derive_const|].
      unfold mean_velocity, sink_share; rewrite A; simpl; ring.
    + intros u; rewrite A; reflexivity.
  - apply (derive_as _ _ _ _ (derive_ln _ t _ (total_moves keys a l t a' l' L A) (total_positive _ _ _ H))).
    symmetry; apply mean_velocity_total.
Qed.
