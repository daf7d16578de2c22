(** An exponential in binary64 with a proved error, in three steps: the error of Horner's scheme with fused
    multiply-adds, for any polynomial in any lawful arithmetic; a polynomial; the reduction of the argument. *)
From Attest Require Import Ieee Formats.
From Attest Require Export DotBound.
From Interval Require Import Tactic.
From Flocq Require Import Core Mult_error.

(** c_0 + x (c_1 + x (c_2 + ...)), and the same with each step rounded once; the last coefficient is a number *)
Fixpoint horner (cs : list R) (x : R) : R :=
  match cs with
  | [] => 0
  | [c] => c
  | c :: rest => c + x * horner rest x
  end.
Fixpoint fl_horner (A : float_arithmetic) (cs : list R) (x : R) : R :=
  match cs with
  | [] => 0
  | [c] => c
  | c :: rest => rounded A (c + x * fl_horner A rest x)
  end.

(** what has been lost: the error of the rest times |x|, and one rounding of the step *)
Fixpoint horner_error (u omega : R) (cs : list R) (x : R) : R :=
  match cs with
  | [] | [_] => 0
  | c :: rest =>
      let e := Rabs x * horner_error u omega rest x in
      e + u * (Rabs (horner cs x) + e) + omega
  end.

Theorem horner_is_within_its_error A cs x : lawful A ->
  Rabs (fl_horner A cs x - horner cs x) <= horner_error (roundoff A) (underflow A) cs x.
Proof.
  intros law; pose proof (roundoff_nonneg A law) as Hu.
  induction cs as [|c [|c' rest] IH]; [simpl; rewrite Rminus_diag_eq, Rabs_R0 by reflexivity; lra..|].
  set (rest' := c' :: rest) in *.
  change (fl_horner A (c :: rest') x) with (rounded A (c + x * fl_horner A rest' x)).
  change (horner (c :: rest') x) with (c + x * horner rest' x).
  change (horner_error (roundoff A) (underflow A) (c :: rest') x)
    with (let e := Rabs x * horner_error (roundoff A) (underflow A) rest' x in
          e + roundoff A * (Rabs (c + x * horner rest' x) + e) + underflow A); cbv zeta.
  eapply close_to_further; [assumption| |apply (rounding_law A law)].
  replace (c + x * fl_horner A rest' x - (c + x * horner rest' x))
    with (x * (fl_horner A rest' x - horner rest' x)) by ring.
  apply Rabs_product; [lra|exact IH].
Qed.

(** Where coefficients are at most C and |x| <= q < 1, sizes and errors are those of geometric series: good enough for
    the far end of a polynomial. *)
Lemma horner_size cs C q x : 0 <= q < 1 -> Rabs x <= q -> 0 <= C -> (forall c, In c cs -> Rabs c <= C) ->
  Rabs (horner cs x) <= C / (1 - q).
Proof.
  intros Hq Hx HC Hc; assert (E : C / (1 - q) = C + q * (C / (1 - q))) by (field; lra).
  assert (P : 0 <= C / (1 - q)) by (apply Rmult_le_pos; [assumption|apply Rlt_le, Rinv_0_lt_compat; lra]).
  assert (0 <= q * (C / (1 - q))) by (apply Rmult_le_pos; lra).
  induction cs as [|c [|c' rest] IH]; [simpl; rewrite Rabs_R0; lra| |].
  - simpl; pose proof (Hc c (or_introl eq_refl)); lra.
  - set (rest' := c' :: rest) in *.
    change (horner (c :: rest') x) with (c + x * horner rest' x); rewrite E.
    apply Rabs_sum; [apply Hc; left; reflexivity|].
    apply Rabs_product; [assumption|apply IH; intros; apply Hc; right; assumption].
Qed.

Lemma horner_error_size u omega cs C q x : 0 <= u -> 0 <= omega -> 0 <= q -> q * (1 + u) < 1 -> Rabs x <= q -> 0 <= C ->
  (forall c, In c cs -> Rabs c <= C) ->
  0 <= horner_error u omega cs x <= (u * (C / (1 - q)) + omega) / (1 - q * (1 + u)).
Proof.
  intros Hu Hw Hq Hq1 Hx HC Hc; pose proof (Rabs_pos x).
  assert (0 <= q * u) by (apply Rmult_le_pos; assumption); assert (Hq2 : 0 <= q < 1) by lra.
  set (a := u * (C / (1 - q)) + omega); set (b := a / (1 - q * (1 + u))).
  assert (P : 0 <= C / (1 - q)) by (apply Rmult_le_pos; [assumption|apply Rlt_le, Rinv_0_lt_compat; lra]).
  assert (Pa : 0 <= a) by (unfold a; assert (0 <= u * (C / (1 - q))) by (apply Rmult_le_pos; lra); lra).
  assert (Pb : 0 <= b) by (apply Rmult_le_pos; [assumption|apply Rlt_le, Rinv_0_lt_compat; lra]).
  assert (E : b = q * b * (1 + u) + a) by (unfold b; field; lra).
  induction cs as [|c [|c' rest] IH]; [simpl; lra..|].
  set (rest' := c' :: rest) in *; set (cs := c :: rest') in *.
  change (horner_error u omega cs x) with
    (let e := Rabs x * horner_error u omega rest' x in e + u * (Rabs (horner cs x) + e) + omega); cbv zeta.
  pose proof (horner_size cs C q x Hq2 Hx HC Hc) as S; pose proof (Rabs_pos (horner cs x)).
  specialize (IH (fun c h => Hc c (or_intror h))).
  assert (I : 0 <= Rabs x * horner_error u omega rest' x <= q * b)
    by (split; [apply Rmult_le_pos|apply Rmult_le_compat]; lra).
  set (e := Rabs x * horner_error u omega rest' x) in *.
  assert (0 <= u * (Rabs (horner cs x) + e)) by (apply Rmult_le_pos; lra).
  assert (u * (Rabs (horner cs x) + e) <= u * (C / (1 - q) + q * b)) by (apply Rmult_le_compat_l; lra).
  unfold a in E; split; lra.
Qed.

(** * The polynomial of an exponential in binary64: degree 13 on |r| <= 0.3467, in Horner's scheme with fused operations.
    [interval] bounds what is left out of the series, and adds up the roundings of the scheme. *)

Open Scope R_scope.

(** 1/k!, rounded to binary64; the far end of the series from 1/4! and 1/3! on *)
Definition farther : list R := [
  6004799503160661 / 2^57; 4803839602528529 / 2^59; 6405119470038039 / 2^62; 3660068268593165 / 2^64;
  3660068268593165 / 2^67; 1626697008263629 / 2^69; 1301357606610903 / 2^72; 1892883791434041 / 2^76;
  630961263811347 / 2^78; 6212541674450185 / 2^85].
Definition far : list R := 6004799503160661 / 2^55 :: farther.
Definition coefficients : list R := 1 :: 1 :: 1 / 2 :: far.

Definition reach : R := 0.3467.    (* ln 2 / 2 = 0.34657..., and a little *)

Lemma truncation r : Rabs r <= reach -> Rabs (horner coefficients r / exp r - 1) <= / 2 ^ 57.
Proof.
  unfold reach; intros H; replace (horner coefficients r / exp r - 1) with ((horner coefficients r - exp r) / exp r)
    by (field; apply Rgt_not_eq, exp_pos).
  unfold coefficients, far, farther, horner.
  interval with (i_bisect r, i_taylor r, i_degree 16, i_prec 100).
Qed.

Lemma three_steps u w c0 c1 c2 c3 rest x : rest <> [] ->
  horner_error u w (c0 :: c1 :: c2 :: c3 :: rest) x =
  let e3 := horner_error u w (c3 :: rest) x in
  let h2 := c2 + x * (c3 + x * horner rest x) in
  let h1 := c1 + x * h2 in
  let e2 := Rabs x * e3 + u * (Rabs h2 + Rabs x * e3) + w in
  let e1 := Rabs x * e2 + u * (Rabs h1 + Rabs x * e2) + w in
  Rabs x * e1 + u * (Rabs (c0 + x * h1) + Rabs x * e1) + w.
Proof. destruct rest; [congruence|reflexivity]. Qed.

Lemma farther_sizes c : In c farther -> Rabs c <= 0.042.
Proof. simpl; intros H; repeat destruct H as [<-|H]; [rewrite Rabs_right; lra..|destruct H]. Qed.

Lemma far_sizes c : In c far -> Rabs c <= 0.167.
Proof. intros [<-|H]; [rewrite Rabs_right; lra|apply farther_sizes in H; lra]. Qed.

(** the roundings of the scheme, over the exponential *)
Lemma scheme r : Rabs r <= reach ->
  horner_error (/ 2 ^ 53) (/ 2 ^ 1075) coefficients r / exp r <= 1.52 / 2 ^ 53.
Proof.
  intros H; assert (R1 : 0 <= reach < 1) by (unfold reach; lra).
  assert (E : 0 <= horner_error (/ 2 ^ 53) (/ 2 ^ 1075) far r <= 0.392 / 2 ^ 53).
  { pose proof (horner_error_size (/ 2 ^ 53) (/ 2 ^ 1075) far 0.167 reach r ltac:(interval) ltac:(interval) ltac:(lra)
      ltac:(unfold reach; interval) H ltac:(lra)
      far_sizes) as [L U].
    split; [exact L|eapply Rle_trans; [exact U|unfold reach; interval]]. }
  assert (S : Rabs (horner farther r) <= 0.065).
  { eapply Rle_trans; [apply (horner_size farther 0.042 reach r R1 H ltac:(lra))|unfold reach; lra].
    exact farther_sizes. }
  unfold coefficients, far; rewrite three_steps by discriminate; fold far.
  cbv zeta; set (e := horner_error _ _ far r) in *; set (h := horner farther r) in *.
  clearbody e h; unfold reach in H; clear R1.
  interval with (i_bisect r, i_prec 70).
Qed.

(** * An exponential in binary64 that meets the assumption of chapter 18, eps_exp = 2 u, by proof: argument reduction with
    ln 2 in two parts, the polynomial above, and a power of two.

      n = nearest integer to t / ln 2
      r = fma(-n, ln2_low, fma(-n, ln2_high, t))       the inner one is exact
      exp t = 2^n horner(1/k!, r) *)

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
