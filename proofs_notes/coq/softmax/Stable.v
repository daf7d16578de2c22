(** The maximum as shift, and what errors of the scores do to the weights. *)
From Attest Require Export SoftmaxLaws.

(** ** The maximum of a row *)

(** of a row of at least one score; the value for no keys is never used *)
Fixpoint row_maximum (keys : list nat) (s : row) : R :=                                                   (* NUM.D3 *)
  match keys with
  | [] => 0
  | [j] => s j
  | j :: rest => Rmax (s j) (row_maximum rest s)
  end.

Lemma row_maximum_ge l s j : In j l -> s j <= row_maximum l s.
Proof.
  induction l as [|a [|b l] IH]; intros Hj; [destruct Hj| |].
  - destruct Hj as [->|[]]; simpl; lra.
  - change (s j <= Rmax (s a) (row_maximum (b :: l) s)).
    destruct Hj as [->|Hj]; [apply Rmax_l|].
    eapply Rle_trans; [apply IH, Hj|apply Rmax_r].
Qed.

Lemma row_maximum_attained l s : l <> [] -> exists j, In j l /\ row_maximum l s = s j.
Proof.
  induction l as [|a [|b l] IH]; intros Hl; [congruence| |].
  - exists a; simpl; auto.
  - destruct IH as [j [Hj Ej]]; [congruence|].
    change (row_maximum (a :: b :: l) s) with (Rmax (s a) (row_maximum (b :: l) s)).
    destruct (Rle_dec (s a) (row_maximum (b :: l) s)) as [H|H].
    + exists j; rewrite Rmax_right by assumption; split; [right|]; auto.
    + exists a; rewrite Rmax_left by lra; split; [left|]; auto.
Qed.

(** ** The stable form *)

(** SMX.D1: with the maximum as shift every exponential is at most 1, and the total lies between 1 and the number of
    keys: nothing overflows and nothing small is divided by *)
Theorem shifted_exponentials_are_at_most_one keys s j :
  In j keys -> s j - row_maximum keys s <= 0 /\ 0 < exponential (row_maximum keys s) s j <= 1.
Proof.
  intros H; pose proof (row_maximum_ge keys s j H); split; [lra|]; split; [apply exp_pos|].
  rewrite <- exp_0; apply exp_le; lra.
Qed.

Theorem shifted_total_lies_between_one_and_n keys s :
  keys <> [] -> 1 <= sum keys (exponential (row_maximum keys s) s) <= INR (length keys).
Proof.
  intros H; set (c := row_maximum keys s); split.
  - destruct (row_maximum_attained keys s H) as [j [Hj Ej]].
    replace 1 with (exponential c s j) by (unfold exponential, c; rewrite Ej, Rminus_diag_eq, exp_0; auto).
    apply (sum_term_le keys (exponential c s)); [intros; apply Rlt_le, exp_pos|exact Hj].
  - rewrite <- (Rmult_1_r (INR _)), <- sum_const; apply sum_le; intros j Hj.
    apply (shifted_exponentials_are_at_most_one keys s j Hj).
Qed.

(** so the log-sum-exp lies between the maximum and the maximum plus ln n *)
Theorem lse_lies_above_the_maximum keys s :
  keys <> [] -> row_maximum keys s <= log_sum_exp keys s <= row_maximum keys s + ln (INR (length keys)).
Proof.
  intros H; rewrite <- (lse_is_independent_of_the_shift (row_maximum keys s)) by assumption.
  pose proof (shifted_total_lies_between_one_and_n keys s H) as [T1 Tn]; unfold shifted_log_sum_exp.
  assert (M : forall x y, 0 < x -> x <= y -> ln x <= ln y).
  { intros x y Px [L|E]; [apply Rlt_le, ln_increasing; assumption|rewrite E; lra]. }
  assert (0 <= ln (sum keys (exponential (row_maximum keys s) s))) by (rewrite <- ln_1; apply M; lra).
  assert (ln (sum keys (exponential (row_maximum keys s) s)) <= ln (INR (length keys))) by (apply M; lra); lra.
Qed.

(** ** Perturbed scores *)

Section Perturbation.
Variables (keys : list nat) (s s' : row) (eps : R).
Hypothesis close : forall j, In j keys -> Rabs (s' j - s j) <= eps.

Let close_up x : In x keys -> s' x <= eps + s x /\ s x <= eps + s' x.
Proof.
  intros H; apply close in H; pose proof (Rle_abs (s' x - s x)); pose proof (Rle_abs (- (s' x - s x))).
  rewrite Rabs_Ropp in *; lra.
Qed.

Lemma perturbed_sums a b : (forall j, In j keys -> a j <= eps + b j) ->
  sum keys (fun k => exp (a k)) <= exp eps * sum keys (fun k => exp (b k)).
Proof.
  intros H; rewrite <- sum_scal; apply sum_le; intros k Hk; rewrite <- exp_plus; apply exp_le, H, Hk.
Qed.

Let sum_up : sum keys (fun k => exp (s' k)) <= exp eps * sum keys (fun k => exp (s k)).
Proof. apply perturbed_sums; intros j Hj; apply close_up, Hj. Qed.
Let sum_down : sum keys (fun k => exp (s k)) <= exp eps * sum keys (fun k => exp (s' k)).
Proof. apply perturbed_sums; intros j Hj; apply close_up, Hj. Qed.

(** scores that are off by at most eps: no weight is off by a factor beyond e^(2 eps), nor the log-sum-exp by more
    than eps *)
Theorem perturbed_weights_are_within_a_factor j :
  In j keys -> exp (- (2 * eps)) <= softmax keys s' j / softmax keys s j <= exp (2 * eps).
Proof.
  intros Hj; pose proof (in_not_nil _ _ Hj) as N; destruct (close_up j Hj) as [U D].
  pose proof (sum_exp_pos keys s N) as P; pose proof (sum_exp_pos keys s' N) as P'.
  set (S := sum keys (fun k => exp (s k))) in *; set (S' := sum keys (fun k => exp (s' k))) in *.
  pose proof (exp_pos (s j)); pose proof (exp_pos (s' j)); pose proof (exp_pos eps).
  apply exp_le in U, D; rewrite exp_plus in U, D.
  replace (softmax keys s' j / softmax keys s j) with ((exp (s' j) * S) / (exp (s j) * S'))
    by (unfold softmax; fold S S'; field; lra).
  replace (2 * eps) with (eps + eps) by ring; rewrite exp_Ropp, exp_plus.
  assert (Q : 0 < exp (s j) * S') by (apply Rmult_lt_0_compat; assumption).
  split; apply Rmult_le_reg_r with (exp (s j) * S'); try assumption.
  - replace (exp (s' j) * S / (exp (s j) * S') * (exp (s j) * S')) with (exp (s' j) * S) by (field; lra).
    apply Rmult_le_reg_l with (exp eps * exp eps); [apply Rmult_lt_0_compat; assumption|].
    rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by (apply Rgt_not_eq, Rmult_lt_0_compat; assumption).
    replace (exp eps * exp eps * (exp (s' j) * S)) with ((exp eps * exp (s' j)) * (exp eps * S)) by ring.
    apply Rmult_le_compat; lra.
  - replace (exp (s' j) * S / (exp (s j) * S') * (exp (s j) * S')) with (exp (s' j) * S) by (field; lra).
    replace (exp eps * exp eps * (exp (s j) * S')) with ((exp eps * exp (s j)) * (exp eps * S')) by ring.
    apply Rmult_le_compat; lra.
Qed.

Theorem perturbed_lse_is_within_the_error : keys <> [] -> Rabs (log_sum_exp keys s' - log_sum_exp keys s) <= eps.
Proof.
  intros N; pose proof (sum_exp_pos keys s N) as P; pose proof (sum_exp_pos keys s' N) as P'.
  assert (M : forall x y, 0 < x -> 0 < y -> x <= exp eps * y -> ln x <= eps + ln y).
  { intros x y Px Py L; rewrite <- (ln_exp eps), <- ln_mult by (assumption || apply exp_pos).
    destruct L as [L| ->]; [apply Rlt_le, ln_increasing; assumption|apply Rle_refl]. }
  pose proof (M _ _ P' P sum_up); pose proof (M _ _ P P' sum_down); unfold log_sum_exp; apply Rabs_le; lra.
Qed.
End Perturbation.
