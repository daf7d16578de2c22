(** An arithmetic that rounds, and counting its roundings: gamma (BND.B1).

    Chapter 18 knows of an arithmetic only what [lawful] says here. Rounding to nearest in the formats of IEEE 754
    is an instance (Ieee.v), so the laws can be met. There is no largest number: nothing overflows. *)
From Attest Require Export Sums.

(** the numbers of a format, rounding to it, and its elementary functions *)
Record float_arithmetic := FloatArithmetic {
  bounds_of :> float_model;
  number : R -> Prop;
  rounded : R -> R;
  fl_exp : R -> R;
  fl_log : R -> R;
  fl_tanh : R -> R
}.

(** y is x up to a relative error a and an absolute error b *)
Definition close_to (x a b y : R) : Prop := exists d e, Rabs d <= a /\ Rabs e <= b /\ y = x * (1 + d) + e.

Record lawful (A : float_arithmetic) : Prop := Lawful {
  roundoff_range : 0 <= roundoff A < 1;
  smallest_normal_pos : 0 <= smallest_normal A;
  exp_error_pos : 0 <= exp_error A;
  log_error_range : 0 <= log_error A < 1;
  tanh_error_pos : 0 <= tanh_error A;
  number_rounded : forall x, number A (rounded A x);
  rounded_number : forall x, number A x -> rounded A x = x;
  number_zero : number A 0;
  number_opp : forall x, number A x -> number A (- x);
  (* the sum of two numbers does not underflow, nor does a root; a product or a quotient may *)
  sum_law : forall x y, number A x -> number A y -> close_to (x + y) (roundoff A) 0 (rounded A (x + y));
  sqrt_law : forall x, number A x -> close_to (sqrt x) (roundoff A) 0 (rounded A (sqrt x));
  rounding_law : forall x, close_to x (roundoff A) (underflow A) (rounded A x);
  number_exp : forall x, number A x -> number A (fl_exp A x);
  exp_law : forall x, number A x -> close_to (exp x) (exp_error A) (exp_error A * smallest_normal A) (fl_exp A x);
  number_log : forall x, number A x -> 0 < x -> number A (fl_log A x);
  log_law : forall x, number A x -> 0 < x -> close_to (ln x) (log_error A) 0 (fl_log A x);
  number_tanh : forall x, number A x -> number A (fl_tanh A x);
  tanh_law : forall x, number A x ->
    close_to (tanh x) (tanh_error A) (tanh_error A * smallest_normal A) (fl_tanh A x)
}.

(** * Inequalities between absolute values *)

Lemma Rabs_bounds a b : Rabs a <= b -> - b <= a <= b.
Proof. unfold Rabs; destruct (Rcase_abs a); lra. Qed.

Lemma Rabs_sum a b x y : Rabs x <= a -> Rabs y <= b -> Rabs (x + y) <= a + b.
Proof. intros; eapply Rle_trans; [apply Rabs_triang|]; lra. Qed.

Lemma Rabs_product a b x y : Rabs x <= a -> Rabs y <= b -> Rabs (x * y) <= a * b.
Proof. intros; rewrite Rabs_mult; apply Rmult_le_compat; auto using Rabs_pos. Qed.

Lemma Rabs_near x y e : Rabs (y - x) <= e -> Rabs y <= Rabs x + e.
Proof. intros; replace y with (x + (y - x)) by ring; apply Rabs_sum; lra. Qed.

Lemma close_to_error x a b y : close_to x a b y -> Rabs (y - x) <= a * Rabs x + b.
Proof.
  intros (d & e & Hd & He & ->).
  replace (x * (1 + d) + e - x) with (d * x + e) by ring.
  apply Rabs_sum; [apply Rabs_product|]; lra.
Qed.

(** One more rounding of a number that is already known within e. *)
Lemma close_to_further x a b e x' y :
  0 <= a -> Rabs (x' - x) <= e -> close_to x' a b y -> Rabs (y - x) <= e + a * (Rabs x + e) + b.
Proof.
  intros Ha He H; apply close_to_error in H.
  replace (y - x) with ((x' - x) + (y - x')) by ring.
  eapply Rle_trans; [apply Rabs_sum; eassumption|].
  pose proof (Rmult_le_compat_l a _ _ Ha (Rabs_near _ _ _ He)); lra.
Qed.

(** * Counting roundings *)

Lemma gamma_denominator m n k : 0 <= roundoff m -> (k <= n)%nat -> INR n * roundoff m < 1 ->
  0 <= INR k * roundoff m < 1 /\ INR k * roundoff m <= INR n * roundoff m.
Proof.
  intros Hu Hk Hn; assert (INR k * roundoff m <= INR n * roundoff m)
    by (apply Rmult_le_compat_r; [|apply le_INR]; assumption).
  assert (0 <= INR k * roundoff m) by (apply Rmult_le_pos; [apply pos_INR|assumption]); lra.
Qed.

Lemma gamma_plus_1 m n : INR n * roundoff m < 1 -> 1 + gamma m n = / (1 - INR n * roundoff m).
Proof. intros; unfold gamma; field; lra. Qed.

Lemma gamma_le m k n : 0 <= roundoff m -> (k <= n)%nat -> INR n * roundoff m < 1 -> gamma m k <= gamma m n.
Proof.
  intros Hu Hk Hn; destruct (gamma_denominator m n k Hu Hk Hn).
  apply Rplus_le_reg_l with 1; rewrite !gamma_plus_1 by lra; apply Rinv_le_contravar; lra.
Qed.

Lemma gamma_nonneg m n : 0 <= roundoff m -> INR n * roundoff m < 1 -> 0 <= gamma m n.
Proof.
  intros Hu Hn; replace 0 with (gamma m 0) by (unfold gamma, Rdiv; simpl; ring).
  apply gamma_le; auto with arith.
Qed.

(** The two rules of BND.B1: rounding counts add up, *)
(** BND.B1 *)
Theorem rounding_counts_add m k n a b : 0 <= roundoff m -> INR (k + n) * roundoff m < 1 ->
  Rabs a <= gamma m k -> Rabs b <= gamma m n -> Rabs ((1 + a) * (1 + b) - 1) <= gamma m (k + n).
Proof.
  intros Hu H Ha Hb.
  destruct (gamma_denominator m (k + n) k Hu ltac:(lia) H) as [Hk _].
  destruct (gamma_denominator m (k + n) n Hu ltac:(lia) H) as [Hn _].
  replace ((1 + a) * (1 + b) - 1) with (a + b + a * b) by ring.
  eapply Rle_trans; [apply Rabs_sum; [apply Rabs_sum|apply Rabs_product]; eassumption|].
  enough ((1 + gamma m k) * (1 + gamma m n) <= 1 + gamma m (k + n)) by lra.
  rewrite !gamma_plus_1, <- Rinv_mult by lra.
  rewrite plus_INR in *; apply Rinv_le_contravar; [lra|].
  assert (0 <= INR k * roundoff m * (INR n * roundoff m)) by (apply Rmult_le_pos; lra); lra.
Qed.

(** and what makes a quotient too small does less harm than what makes it too large. *)
(** BND.B1 *)
Theorem quotient_errs_upwards a t : 0 <= a -> 0 <= t < 1 -> 1 - (1 - a) / (1 + t) <= (1 + a) / (1 - t) - 1.
Proof.
  intros Ha Ht.
  replace ((1 + a) / (1 - t) - 1) with (1 - (1 - a) / (1 + t) + 2 * t * (t + a) / ((1 - t) * (1 + t)))
    by (field; lra).
  enough (0 <= 2 * t * (t + a) / ((1 - t) * (1 + t))) by lra.
  assert (0 < (1 - t) * (1 + t)) by (apply Rmult_lt_0_compat; lra).
  apply Rmult_le_pos; [repeat apply Rmult_le_pos; lra|apply Rlt_le, Rinv_0_lt_compat; assumption].
Qed.

(** the product of n factors 1 + d or 1 / (1 + d) *)
Fixpoint rounding_factors (l : list (R * bool)) : R :=
  match l with
  | [] => 1
  | (d, below) :: rest => (if below then / (1 + d) else 1 + d) * rounding_factors rest
  end.

Lemma one_factor u d (below : bool) : 0 <= u < 1 -> Rabs d <= u ->
  1 - u <= (if below then / (1 + d) else 1 + d) <= / (1 - u).
Proof.
  intros Hu Hd; apply Rabs_bounds in Hd.
  assert (K : / (1 - u) - (1 + u) = u * u * / (1 - u)) by (field; lra).
  assert (0 < / (1 - u)) by (apply Rinv_0_lt_compat; lra).
  assert (0 <= u * u * / (1 - u)) by (repeat apply Rmult_le_pos; lra).
  destruct below; [|lra]; split; [|apply Rinv_le_contravar; lra].
  apply Rle_trans with (/ (1 + u)); [|apply Rinv_le_contravar; lra].
  apply Rmult_le_reg_r with (1 + u); [lra|]; rewrite Rinv_l by lra; nra.
Qed.

(** BND.B1 *)
Theorem accumulated_roundings m l : 0 <= roundoff m -> INR (length l) * roundoff m < 1 ->
  (forall d below, In (d, below) l -> Rabs d <= roundoff m) ->
  Rabs (rounding_factors l - 1) <= gamma m (length l).
Proof.
  intros Hu; set (u := roundoff m) in *.
  assert (G : INR (length l) * u < 1 -> (forall d below, In (d, below) l -> Rabs d <= u) ->
    1 - INR (length l) * u <= rounding_factors l <= / (1 - INR (length l) * u)).
  { induction l as [|[d below] l IH]; intros Hn Hl.
    - simpl; rewrite Rmult_0_l, Rminus_0_r, Rinv_1; lra.
    - change (length ((d, below) :: l)) with (S (length l)) in *; rewrite S_INR in *.
      set (n := INR (length l)) in *; assert (0 <= n) by apply pos_INR.
      assert (0 <= n * u) by (apply Rmult_le_pos; assumption).
      assert (0 <= n * u * u) by (apply Rmult_le_pos; assumption).
      destruct IH as [L U]; [lra|intros; eapply Hl; right; eassumption|].
      pose proof (one_factor u d below ltac:(lra) (Hl d below (or_introl eq_refl))) as F.
      simpl rounding_factors; set (f := if below then / (1 + d) else 1 + d) in *.
      assert (S1 : 1 - (n + 1) * u <= (1 - u) * (1 - n * u)) by lra.
      assert (S2 : 0 < (1 - u) * (1 - n * u)) by (apply Rmult_lt_0_compat; lra).
      split.
      + apply Rle_trans with ((1 - u) * (1 - n * u)); [assumption|].
        apply Rmult_le_compat; lra.
      + apply Rle_trans with (/ (1 - u) * / (1 - n * u)).
        * apply Rmult_le_compat; lra.
        * rewrite <- Rinv_mult; apply Rinv_le_contravar; lra. }
  intros Hn Hl; destruct (G Hn Hl) as [L U].
  pose proof (gamma_plus_1 m (length l) Hn) as E.
  fold u in E; apply Rabs_le.
  assert (0 <= INR (length l) * u) by (apply Rmult_le_pos; [apply pos_INR|assumption]).
  split; [|lra].
  enough (INR (length l) * u <= gamma m (length l)) by lra.
  unfold gamma; fold u; set (x := INR (length l) * u) in *.
  apply Rmult_le_reg_r with (1 - x); [lra|].
  replace (x / (1 - x) * (1 - x)) with x by (field; lra); nra.
Qed.

Lemma factors_repeat u n : rounding_factors (repeat (u, false) n) = (1 + u) ^ n.
Proof. induction n as [|n IH]; simpl; [|rewrite IH]; reflexivity. Qed.

(** the same in powers, as trees of additions are counted *)
Lemma power_le_gamma m n : 0 <= roundoff m -> INR n * roundoff m < 1 -> (1 + roundoff m) ^ n - 1 <= gamma m n.
Proof.
  intros Hu Hn.
  pose proof (accumulated_roundings m (repeat (roundoff m, false) n) Hu) as H.
  rewrite repeat_length in H.
  rewrite factors_repeat in H.
  eapply Rle_trans; [apply Rle_abs|apply H]; [assumption|].
  intros d below Hd; apply repeat_spec in Hd; injection Hd as -> ->; rewrite Rabs_right; lra.
Qed.
