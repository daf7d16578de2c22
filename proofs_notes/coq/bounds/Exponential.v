(** An exponential in binary64 that meets the assumption of chapter 18, eps_exp = 2 u, by proof: argument reduction with
    ln 2 in two parts, the polynomial of ExpPolynomial.v, and a power of two.

      n = nearest integer to t / ln 2
      r = fma(-n, ln2_low, fma(-n, ln2_high, t))       the inner one is exact
      exp t = 2^n horner(1/k!, r) *)
From Flocq Require Import Core Mult_error.
From Interval Require Import Tactic.
From Attest Require Import Ieee ExpPolynomial Formats DotBound.
Open Scope R_scope.

Local Notation RN := (nearest 53 (-1074)).
Local Notation number64 := (format_number 53 (-1074)).
Local Notation u := (bpow radix2 (-53)).

(** ln 2 as a number and what it lacks; 1 / ln 2 *)
Definition ln2_high : R := 6243314768165359 * bpow radix2 (-53).
Definition ln2_low : R := 7525737178955839 * bpow radix2 (-108).
Definition inverse_ln2 : R := 3248660424278399 * bpow radix2 (-51).

Definition quotient (t : R) : Z := ZnearestE (RN (t * inverse_ln2)).
Definition reduced (t : R) : R := RN (RN (t - IZR (quotient t) * ln2_high) - IZR (quotient t) * ln2_low).
Definition exp64 (t : R) : R := fl_horner f64 coefficients (reduced t) * bpow radix2 (quotient t).

Local Instance precision_53 : Prec_gt_0 53 := eq_refl.

Lemma u_power : u = / 2 ^ 53.
Proof. rewrite pow_IZR; reflexivity. Qed.

Lemma omega_power : u * bpow radix2 (-1074 + 53 - 1) = / 2 ^ 1075.
Proof. rewrite <- bpow_plus, pow_IZR; reflexivity. Qed.

Lemma rounding_error x : Rabs (RN x - x) <= u * Rabs x + u * bpow radix2 (-1074 + 53 - 1).
Proof. apply close_to_error, (nearest_close 53 (-1074) precision_53). Qed.

(** * The reduced argument *)

Lemma quotient_is_near t : Rabs t <= 700 ->
  Rabs (t - IZR (quotient t) * ln 2) <= 0.34658 /\ Rabs (IZR (quotient t)) <= 1011.
Proof.
  intros Ht; pose proof (rounding_error (t * inverse_ln2)) as E; rewrite omega_power, u_power in E.
  unfold quotient; set (q := RN (t * inverse_ln2)) in *.
  pose proof (Znearest_half (fun z => negb (Z.even z)) q) as H; set (n := IZR (ZnearestE q)) in *.
  assert (E1 : Rabs (q - t * inverse_ln2) <= / 2 ^ 42).
  { eapply Rle_trans; [exact E|]; unfold inverse_ln2; simpl bpow; interval. }
  set (e := q - t * inverse_ln2) in *; set (d := q - n) in *.
  replace (t - n * ln 2) with (t * (1 - inverse_ln2 * ln 2) - e * ln 2 + d * ln 2) by (unfold d, e; ring).
  replace n with (t * inverse_ln2 + e - d) by (unfold d, e; ring).
  clearbody e d; unfold inverse_ln2; simpl bpow; split; interval with (i_prec 80).
Qed.

(** fma(-n, ln2_high, t) does not round: it is a multiple of 2^-54 below 1/2 *)
Lemma reduction_is_exact t : number64 t -> Rabs t <= 700 -> number64 (t - IZR (quotient t) * ln2_high).
Proof.
  intros Ft Ht; destruct (quotient_is_near t Ht) as [Hr Hn]; set (n := quotient t) in *.
  destruct (Z.eq_dec n 0) as [->|Hz]; [rewrite Rmult_0_l, Rminus_0_r; exact Ft|].
  assert (Hx : Rabs (t - IZR n * ln2_high) <= 0.3466).
  { replace (t - IZR n * ln2_high) with ((t - IZR n * ln 2) + IZR n * (ln 2 - ln2_high)) by ring.
    set (a := t - IZR n * ln 2) in *; set (m := IZR n) in *; clearbody a m.
    unfold ln2_high; simpl bpow; interval with (i_prec 80). }
  assert (Hn1 : 1 <= Rabs (IZR n)) by (rewrite <- abs_IZR; apply IZR_le; lia).
  assert (Ht4 : / 4 <= Rabs t).
  { assert (0.69 <= Rabs (IZR n * ln2_high)).
    { rewrite Rabs_mult; unfold ln2_high; rewrite (Rabs_right (_ * bpow _ _)) by (simpl bpow; apply Rle_ge; interval).
      set (m := Rabs (IZR n)) in *; clearbody m; simpl bpow; interval. }
    pose proof (Rabs_triang_inv (IZR n * ln2_high) t) as T.
    rewrite Rabs_minus_sym in T; lra. }
  assert (He : (-54 <= cexp radix2 (FLT_exp (-1074) 53) t)%Z).
  { assert (-1 <= mag radix2 t)%Z by (apply mag_ge_bpow; change (bpow radix2 (-1 - 1)) with (/ 4); assumption).
    unfold cexp, FLT_exp; lia. }
  set (e := cexp radix2 (FLT_exp (-1074) 53) t) in *.
  set (m := Ztrunc (scaled_mantissa radix2 (FLT_exp (-1074) 53) t)).
  assert (Et : t = IZR (m * radix2 ^ (e + 54)) * bpow radix2 (-54)).
  { rewrite mult_IZR, IZR_Zpower, Rmult_assoc, <- bpow_plus by lia.
    replace (e + 54 + -54)%Z with e by ring; exact Ft. }
  assert (Ex : t - IZR n * ln2_high = IZR (m * radix2 ^ (e + 54) - 2 * n * 6243314768165359) * bpow radix2 (-54)).
  { rewrite minus_IZR, Rmult_minus_distr_r, <- Et, !mult_IZR; unfold ln2_high.
    change (-53)%Z with (1 + -54)%Z; rewrite bpow_plus; change (bpow radix2 1) with 2; ring. }
  apply generic_format_FLT; rewrite Ex in *.
  exists (Float radix2 (m * radix2 ^ (e + 54) - 2 * n * 6243314768165359) (-54)); [reflexivity| |simpl; lia].
  simpl Fnum; set (k := (m * radix2 ^ (e + 54) - 2 * n * 6243314768165359)%Z) in *.
  apply lt_IZR; rewrite abs_IZR.
  rewrite Rabs_mult, (Rabs_right (bpow _ _)) in Hx by (apply Rle_ge, bpow_ge_0).
  apply Rmult_lt_reg_r with (bpow radix2 (-54)); [apply bpow_gt_0|].
  eapply Rle_lt_trans; [exact Hx|]; rewrite IZR_Zpower by lia; rewrite <- bpow_plus; simpl; lra.
Qed.

Lemma reduced_argument t : number64 t -> Rabs t <= 700 ->
  Rabs (reduced t - (t - IZR (quotient t) * ln 2)) <= 0.35 / 2 ^ 53 /\ Rabs (reduced t) <= reach.
Proof.
  intros Ft Ht; unfold reduced, reach; rewrite (nearest_number _ _ _ (reduction_is_exact t Ft Ht)).
  destruct (quotient_is_near t Ht) as [Hr Hn]; set (n := IZR (quotient t)) in *.
  pose proof (rounding_error (t - n * ln2_high - n * ln2_low)) as E; rewrite omega_power, u_power in E.
  set (x := t - n * ln2_high - n * ln2_low) in *; set (a := t - n * ln 2) in *.
  assert (D : Rabs (x - a) <= / 2 ^ 99).
  { replace (x - a) with (n * (ln 2 - ln2_high - ln2_low)) by (unfold x, a; ring); clearbody n.
    unfold ln2_high, ln2_low; simpl bpow; interval with (i_prec 160). }
  assert (Hx : Rabs x <= 0.34659) by (apply Rabs_near in D; eapply Rle_trans; [exact D|]; clearbody x a; interval).
  split.
  - replace (RN x - a) with ((RN x - x) + (x - a)) by ring.
    eapply Rle_trans; [apply Rabs_sum; [exact E|exact D]|]; clearbody x a; interval.
  - apply Rabs_near in E; eapply Rle_trans; [exact E|]; clearbody x a; interval.
Qed.

(** * The exponential *)

Lemma polynomial_error r : Rabs r <= reach -> Rabs (fl_horner f64 coefficients r / exp r - 1) <= 1.59 / 2 ^ 53.
Proof.
  intros H; pose proof (exp_pos r).
  pose proof (horner_is_within_its_error f64 coefficients r (proj1 formats_are_lawful)) as E.
  change (roundoff f64) with u in E; change (underflow f64) with (u * bpow radix2 (-1074 + 53 - 1)) in E.
  rewrite omega_power, u_power in E.
  pose proof (scheme r H) as S; pose proof (truncation r H) as T.
  set (p := fl_horner f64 coefficients r) in *; set (h := horner coefficients r) in *.
  replace (p / exp r - 1) with ((p - h) / exp r + (h / exp r - 1)) by (field; lra).
  assert (B : Rabs ((p - h) / exp r) <= 1.52 / 2 ^ 53).
  { unfold Rdiv; rewrite Rabs_mult, (Rabs_right (/ exp r)) by (apply Rle_ge, Rlt_le, Rinv_0_lt_compat; assumption).
    eapply Rle_trans; [|exact S]; apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; assumption|exact E]. }
  eapply Rle_trans; [apply Rabs_sum; [exact B|exact T]|]; lra.
Qed.

(** One ulp, 2 u relative: what chapter 18 assumes of a library holds here by proof. *)
Theorem exp64_is_accurate t : number64 t -> Rabs t <= 700 ->
  number64 (exp64 t) /\ close_to (exp t) (2 * u) 0 (exp64 t).
Proof.
  intros Ft Ht; destruct (reduced_argument t Ft Ht) as [Hd Hr]; destruct (quotient_is_near t Ht) as [_ Hn].
  pose proof (polynomial_error (reduced t) Hr) as P.
  unfold exp64; set (r := reduced t) in *; set (n := quotient t) in *.
  set (p := fl_horner f64 coefficients r) in *; set (d := r - (t - IZR n * ln 2)) in *.
  pose proof (exp_pos r) as Pr; pose proof (exp_pos t) as Pt.
  assert (E : p * bpow radix2 n = exp t * ((1 + (p / exp r - 1)) * exp d)).
  { replace (bpow radix2 n) with (exp (IZR n * ln 2)) by (rewrite bpow_exp; reflexivity).
    assert (Er : exp r = exp d * exp t * / exp (IZR n * ln 2)).
    { rewrite <- exp_Ropp, <- !exp_plus; f_equal; unfold d; ring. }
    pose proof (exp_pos d); pose proof (exp_pos (IZR n * ln 2)); rewrite Er; field; lra. }
  split.
  - apply mult_bpow_exact_FLT.
    + unfold p; apply (number_rounded f64 (proj1 formats_are_lawful)).
    + assert (Pp : / 2 <= p).
      { replace p with ((1 + (p / exp r - 1)) * exp r) by (field; lra).
        set (a := p / exp r - 1) in *; clearbody a; unfold reach in Hr; clearbody r; interval. }
      assert (0 <= mag radix2 p)%Z.
      { apply mag_ge_bpow; change (bpow radix2 (0 - 1)) with (/ 2); rewrite Rabs_right; lra. }
      apply Rabs_bounds in Hn; destruct Hn as [Hn _]; rewrite <- opp_IZR in Hn; apply le_IZR in Hn; lia.
  - exists ((1 + (p / exp r - 1)) * exp d - 1), 0; rewrite Rabs_R0; repeat split; [|lra|rewrite E; ring].
    rewrite u_power; set (a := p / exp r - 1) in *; clearbody a d; clear -P Hd.
    interval with (i_prec 120).
Qed.
