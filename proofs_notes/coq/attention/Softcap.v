(** The softcap: bounded by its cap, strictly monotone, odd, and close to the identity near zero. *)
From Coquelicot Require Import Coquelicot.
From Attest Require Export AttentionLaws.

(** ** The hyperbolic tangent *)

Lemma cosh_pos x : 0 < cosh x.
Proof. unfold cosh; pose proof (exp_pos x); pose proof (exp_pos (- x)); lra. Qed.

Lemma tanh_by_exp x : tanh x = 1 - 2 / (exp (2 * x) + 1).
Proof.
  unfold tanh, sinh, cosh; rewrite exp_Ropp; replace (2 * x) with (x + x) by ring; rewrite exp_plus.
  pose proof (exp_pos x); assert (0 < exp x * exp x) by (apply Rmult_lt_0_compat; assumption); field; lra.
Qed.

Lemma tanh_increasing x y : x < y -> tanh x < tanh y.
Proof.
  intros H; rewrite !tanh_by_exp.
  assert (E : exp (2 * x) < exp (2 * y)) by (apply exp_increasing; lra).
  pose proof (exp_pos (2 * x)); unfold Rdiv.
  assert (/ (exp (2 * y) + 1) < / (exp (2 * x) + 1)) by (apply Rinv_lt_contravar; [apply Rmult_lt_0_compat|]; lra).
  lra.
Qed.

Lemma tanh_odd x : tanh (- x) = - tanh x.
Proof.
  unfold tanh, sinh, cosh; rewrite Ropp_involutive.
  pose proof (exp_pos x); pose proof (exp_pos (- x)); field; lra.
Qed.

Lemma tanh_bounded x : -1 < tanh x < 1.
Proof.
  assert (U : forall y, tanh y < 1).
  { intros y; rewrite tanh_by_exp; pose proof (exp_pos (2 * y)).
    assert (0 < 2 / (exp (2 * y) + 1)) by (apply Rdiv_lt_0_compat; lra); lra. }
  split; [|apply U]; specialize (U (- x)); rewrite tanh_odd in U; lra.
Qed.

Lemma is_derive_tanh x : is_derive tanh x (1 - tanh x ^ 2).
Proof.
  pose proof (cosh_pos x) as P.
  assert (E : forall t, (exp t - exp (- t)) / (exp t + exp (- t)) = tanh t).
  { intros t; unfold tanh, sinh, cosh; pose proof (cosh_pos t) as Pt; unfold cosh in Pt; field; lra. }
  apply (is_derive_ext _ _ _ _ E).
  unfold cosh in P; auto_derive; [lra|].
  unfold tanh, sinh, cosh; field; lra.
Qed.

(** ** The softcap *)

(** ATT.P17 *)
Theorem softcap_is_bounded kappa s : 0 < kappa -> Rabs (softcap kappa s) < kappa.
Proof.
  intros H; unfold softcap; destruct (tanh_bounded (s / kappa)) as [L U].
  assert (kappa * tanh (s / kappa) < kappa * 1) by (apply Rmult_lt_compat_l; assumption).
  assert (kappa * -1 < kappa * tanh (s / kappa)) by (apply Rmult_lt_compat_l; assumption).
  apply Rabs_def1; lra.
Qed.

(** ATT.P17 *)
Theorem softcap_is_strictly_monotone kappa s t : 0 < kappa -> s < t -> softcap kappa s < softcap kappa t.
Proof.
  intros H Hst; apply Rmult_lt_compat_l; [assumption|apply tanh_increasing].
  apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat|]; assumption.
Qed.

Theorem softcap_is_odd kappa s : softcap kappa (- s) = - softcap kappa s.
Proof. unfold softcap; replace (- s / kappa) with (- (s / kappa)) by (unfold Rdiv; ring); rewrite tanh_odd; ring. Qed.

(** The slope is 1 - (softcap / kappa)^2: it is 1 at zero and less elsewhere. *)
Theorem softcap_derivative kappa s : kappa <> 0 -> is_derive (softcap kappa) s (1 - tanh (s / kappa) ^ 2).
Proof.
  intros H; unfold softcap.
  replace (1 - tanh (s / kappa) ^ 2) with (kappa * (/ kappa * (1 - tanh (s / kappa) ^ 2))) by (field; assumption).
  apply is_derive_scal, (is_derive_comp tanh (fun s => s / kappa)); [apply is_derive_tanh|].
  auto_derive; [exact I|field; assumption].
Qed.

(** a capped score is never further from zero than the score *)
Theorem softcap_shrinks kappa s : 0 < kappa -> Rabs (softcap kappa s) <= Rabs s.
Proof.
  intros H.
  assert (U : forall x, 0 <= x -> 0 <= softcap kappa x <= x).
  { intros x [Hx| <-]; [|unfold softcap; replace (0 / kappa) with 0 by (field; lra); rewrite tanh_0; lra].
    destruct (MVT_gen (softcap kappa) 0 x (fun s => 1 - tanh (s / kappa) ^ 2)) as (c & Hc & E).
    - intros; apply softcap_derivative; lra.
    - intros; apply derivable_continuous_pt; exists (1 - tanh (x0 / kappa) ^ 2).
      apply is_derive_Reals, softcap_derivative; lra.
    - assert (Z : softcap kappa 0 = 0)
        by (unfold softcap; replace (0 / kappa) with 0 by (field; lra); rewrite tanh_0; ring).
      rewrite Z in E; destruct (tanh_bounded (c / kappa)).
      assert (0 <= 1 - tanh (c / kappa) ^ 2 <= 1) by (simpl; nra).
      split; nra. }
  destruct (Rle_dec 0 s) as [Hs|Hs].
  - destruct (U s Hs); rewrite !Rabs_pos_eq; assumption.
  - destruct (U (- s)) as [L' U']; [lra|]; rewrite softcap_is_odd in *; rewrite !Rabs_left1; lra.
Qed.

(** ** ATT.E4 *)

Lemma tanh_ln x : 0 < x -> tanh (ln x) = (x * x - 1) / (x * x + 1).
Proof.
  intros H; rewrite tanh_by_exp; replace (2 * ln x) with (ln x + ln x) by ring; rewrite exp_plus, exp_ln by assumption.
  assert (0 < x * x) by (apply Rmult_lt_0_compat; assumption); field; lra.
Qed.

Lemma ATT_E4_softcaps :
  softcap 2 (2 * ln 2) = 6 / 5 /\ softcap 2 (2 * ln 3) = 8 / 5 /\
  softcap 2 (- (2 * ln 2)) = - (6 / 5) /\ softcap 2 0 = 0.
Proof.
  assert (E : forall x, 0 < x -> softcap 2 (2 * ln x) = 2 * ((x * x - 1) / (x * x + 1))).
  { intros x Hx; unfold softcap; replace (2 * ln x / 2) with (ln x) by field.
    rewrite tanh_ln by assumption; reflexivity. }
  rewrite softcap_is_odd, !E by lra; repeat split; try lra.
  unfold softcap; replace (0 / 2) with 0 by lra; rewrite tanh_0; ring.
Qed.

Lemma ATT_E4_places :
  logit after_softcap (Some 2) 1 (2 * ln 2) (2 * ln (3 / 2)) = 6 / 5 + 2 * ln (3 / 2) /\
  logit before_softcap (Some 2) 1 (2 * ln 2) (2 * ln (3 / 2)) = 8 / 5 /\
  logit inside_scale (Some 2) 2 (ln 2) (ln (3 / 2)) = 8 / 5.
Proof.
  destruct ATT_E4_softcaps as (E1 & E2 & _).
  assert (L : ln 3 = ln 2 + ln (3 / 2)) by (rewrite <- ln_mult by lra; f_equal; lra).
  simpl; rewrite !Rmult_1_l, E1; repeat split; rewrite <- E2, L; f_equal; ring.
Qed.
