(** The polynomial of an exponential in binary64: degree 13 on |r| <= 0.3467, in Horner's scheme with fused operations.
    [interval] bounds what is left out of the series, and adds up the roundings of the scheme. *)
From Interval Require Import Tactic.
From Attest Require Export Horner.
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
