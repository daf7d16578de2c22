(** A computed logit is within its bound (BND.B5), step by step as the call takes them. *)
From Coquelicot Require Import Coquelicot.
From Attest Require Import Softcap.
From Attest Require Export DotBound.

(** [scale_of] as the call makes it: the default from the width, or a number that is lifted; then two descale factors *)
Definition fl_scale (A : float_arithmetic) (d : nat) (given : option R) : R :=
  match given with Some s => rounded A s | None => rounded A (1 / rounded A (sqrt (INR d))) end.
Definition fl_descaled (A : float_arithmetic) (scale delta_q delta_k : R) : R :=
  rounded A (rounded A (scale * delta_q) * delta_k).

(** the steps of [logit], each operation rounded; scale has the descale factors in it, scale_b has not *)
Definition fl_score (A : float_arithmetic) (scale : R) (q k : row) (t : order nat) : R :=
  rounded A (scale * fl_dot A q k t).
Definition fl_add_bias (A : float_arithmetic) (place : bias_position) (scale_b : R) (bias : option R) (s : R) : R :=
  match bias with
  | None => s
  | Some beta => rounded A (s + match place with inside_scale => rounded A (scale_b * beta) | _ => beta end)
  end.
Definition fl_softcap (A : float_arithmetic) (cap : option R) (s : R) : R :=
  match cap with
  | None => s
  | Some kappa => rounded A (kappa * fl_tanh A (rounded A (s / kappa)))
  end.
Definition fl_logit (A : float_arithmetic) (place : bias_position) (cap : option R) (scale scale_b : R)
                    (q k : row) (bias : option R) (t : order nat) : R :=
  let s := fl_score A scale q k t in
  match place with
  | inside_scale | before_softcap => fl_softcap A cap (fl_add_bias A place scale_b bias s)
  | after_softcap => fl_add_bias A place scale_b bias (fl_softcap A cap s)
  end.

(** what the bound is a bound of: its value is the logit of ATT.D4 *)
Lemma logit_bound_value m place cap d sigma_b descale q k bias :
  real_value (logit_bound m place cap d (sigma_b * descale) sigma_b q k bias)
  = logit place cap sigma_b (descale * dot d q k) (match bias with Some b => b | None => 0 end).
Proof.
  unfold logit_bound, softcap_bound, bias_bound, scaled_bound, logit, capped.
  destruct place, cap, bias; simpl; rewrite ?Rmult_assoc, ?Rmult_plus_distr_l, ?Rmult_0_r, ?Rplus_0_r; reflexivity.
Qed.

(** * The slope of tanh is at most 1 *)

Lemma tanh_slope x y : Rabs (tanh y - tanh x) <= Rabs (y - x).
Proof.
  destruct (MVT_gen tanh x y (fun z => 1 - tanh z ^ 2)) as (z & _ & E).
  - intros z _; apply is_derive_tanh.
  - intros z _; apply continuity_pt_filterlim, (ex_derive_continuous tanh); eexists; apply is_derive_tanh.
  - rewrite E, Rabs_mult; rewrite <- (Rmult_1_l (Rabs (y - x))) at 2.
    apply Rmult_le_compat_r; [apply Rabs_pos|]; pose proof (tanh_bounded z); apply Rabs_le; nra.
Qed.

(** the softcap too: step 4 of BND.B5 rests on it *)
Lemma softcap_slope kappa x y : 0 < kappa -> Rabs (softcap kappa y - softcap kappa x) <= Rabs (y - x).
Proof.
  intros Hk; unfold softcap; rewrite <- Rmult_minus_distr_l, Rabs_mult, (Rabs_right kappa) by lra.
  replace (y - x) with (kappa * (y / kappa - x / kappa)) by (field; lra).
  rewrite Rabs_mult, (Rabs_right kappa) by lra; apply Rmult_le_compat_l; [lra|apply tanh_slope].
Qed.

(** y is x after k roundings *)
Definition after (A : float_arithmetic) (k : nat) (x y : R) : Prop :=
  exists th, Rabs th <= gamma A k /\ y = x * (1 + th).

(** rounding x, where it does not underflow *)
Definition no_underflow (A : float_arithmetic) (x : R) : Prop := close_to x (roundoff A) 0 (rounded A x).

(** what the chapter assumes of a scale: the width is a number, no step underflows *)
Definition scale_is_made (A : float_arithmetic) (d : nat) (given : option R) : Prop :=
  match given with
  | Some s => no_underflow A s
  | None => (0 < d)%nat /\ number A (INR d) /\ no_underflow A (1 / rounded A (sqrt (INR d)))
  end.
Definition factors_join (A : float_arithmetic) (scale delta_q delta_k : R) : Prop :=
  no_underflow A (scale * delta_q) /\ no_underflow A (rounded A (scale * delta_q) * delta_k).

(** a number that the steps have reached, and its bound *)
Definition within (A : float_arithmetic) (x : bounded) (y : R) : Prop :=
  number A y /\ Rabs (y - real_value x) <= error_bound x.

Section Steps.
  Variable A : float_arithmetic.
  Hypothesis law : lawful A.
  Notation u := (roundoff A).
  Notation omega := (underflow A).
  Let Hu := roundoff_nonneg A law.
  Let Hw := underflow_nonneg A law.

  Lemma roundoff_le_gamma_1 : u <= gamma A 1.
  Proof.
    unfold gamma; simpl INR; rewrite Rmult_1_l; pose proof (roundoff_range A law).
    apply Rmult_le_reg_r with (1 - u); [lra|].
    replace (u / (1 - u) * (1 - u)) with u by (field; lra); nra.
  Qed.

  Lemma relative x y : close_to x u 0 y -> exists d, Rabs d <= u /\ y = x * (1 + d).
  Proof.
    intros (d & e & Hd & He & ->); exists d; split; [assumption|].
    destruct (Req_dec e 0) as [->|H]; [ring|apply Rabs_pos_lt in H; lra].
  Qed.

  Lemma after_more k j x y z : INR (k + j) * u < 1 -> after A k x y -> after A j y z -> after A (k + j) x z.
  Proof.
    intros Hn (a & Ha & ->) (b & Hb & ->); exists ((1 + a) * (1 + b) - 1); split; [|ring].
    apply rounding_counts_add; assumption.
  Qed.

  Lemma after_one x : no_underflow A x -> after A 1 x (rounded A x).
  Proof.
    intros H; apply relative in H; destruct H as (d & Hd & E); exists d; split; [|assumption].
    pose proof roundoff_le_gamma_1; lra.
  Qed.

  Lemma after_scaled k x y c : after A k x y -> after A k (x * c) (y * c).
  Proof. intros (th & Hth & ->); exists th; split; [assumption|ring]. Qed.

  Lemma after_error k x y : after A k x y -> Rabs (y - x) <= gamma A k * Rabs x.
  Proof. intros (th & Hth & ->); replace (x * (1 + th) - x) with (th * x) by ring; apply Rabs_product; lra. Qed.

  (** step 1: at most two roundings in the scale of a call, four with the descale factors *)
  Lemma scale_has_two_roundings d given : INR 2 * u < 1 -> scale_is_made A d given ->
    after A 2 (scale_of given d) (fl_scale A d given).
  Proof.
    intros H2; destruct given as [s|]; simpl scale_of; simpl fl_scale; intros H.
    - destruct (after_one s H) as (th & Hth & E); exists th; split; [|assumption].
      eapply Rle_trans; [exact Hth|apply gamma_le; auto].
    - destruct H as (Hd & Hnum & Hq).
      apply relative in Hq; destruct Hq as (d2 & H2' & E).
      destruct (relative _ _ (sqrt_law A law _ Hnum)) as (d1 & H1 & E1).
      pose proof (accumulated_roundings A [(d1, true); (d2, false)] Hu H2) as F; simpl rounding_factors in F.
      exists (/ (1 + d1) * ((1 + d2) * 1) - 1); split.
      + apply F; intros a below [X|[X|[]]]; injection X as <- _; assumption.
      + rewrite E, E1; pose proof (lt_0_INR d Hd); pose proof (sqrt_lt_R0 (INR d) H).
        apply Rabs_bounds in H1; pose proof (roundoff_range A law); field; lra.
  Qed.

  Lemma descaled_scale_has_four_roundings scale scale' delta_q delta_k : INR 4 * u < 1 ->
    after A 2 scale scale' -> factors_join A scale' delta_q delta_k ->
    after A 4 (scale * (delta_q * delta_k)) (fl_descaled A scale' delta_q delta_k).
  Proof.
    intros H4 Hs (Hq & Hk); unfold fl_descaled.
    destruct (gamma_denominator A 4 3 Hu ltac:(lia) H4) as [[_ H3] _].
    pose proof (after_more 2 1 _ _ _ H3 (after_scaled _ _ _ delta_q Hs) (after_one _ Hq)) as Hs3.
    rewrite <- Rmult_assoc.
    exact (after_more 3 1 _ _ _ H4 (after_scaled _ _ _ delta_k Hs3) (after_one _ Hk)).
  Qed.

  (** step 2 *)
  Lemma score_is_within d sigma scale q k t : Permutation (leaves t) (range d) -> INR (d + 5) * u < 1 ->
    after A 4 sigma scale -> within A (scaled_bound A d sigma q k) (fl_score A scale q k t).
  Proof.
    intros Hp Hn (th & Hth & ->); split; [apply (number_rounded A law)|].
    destruct (gamma_denominator A (d + 5) d Hu ltac:(lia) Hn) as [[_ Hd] _].
    destruct (gamma_denominator A (d + 5) 5 Hu ltac:(lia) Hn) as [[_ H5] _].
    pose proof (dot_product_is_within_its_bound A q k d t law Hp Hd) as E.
    pose proof (sum_Rabs (range d) (fun c => q c * k c)) as HP; fold (dot d q k) in HP.
    unfold dot_bound in E; simpl real_value; simpl error_bound; unfold fl_score.
    set (P := sum (range d) (fun c => Rabs (q c * k c))) in *.
    set (y := fl_dot A q k t) in *; set (x := dot d q k) in *.
    pose proof (gamma_nonneg A d Hu Hd) as G0; pose proof (gamma_nonneg A 5 Hu H5) as G5.
    assert (G : (1 + gamma A d) * (1 + gamma A 5) <= 1 + gamma A (d + 5)).
    { enough (Rabs ((1 + gamma A d) * (1 + gamma A 5) - 1) <= gamma A (d + 5)) as K by (apply Rabs_bounds in K; lra).
      apply rounding_counts_add; auto; rewrite Rabs_right; lra. }
    destruct (rounding_law A law (sigma * (1 + th) * y)) as (de & e & Hde & He & ->).
    assert (T : Rabs ((1 + th) * (1 + de) - 1) <= gamma A 5).
    { apply (rounding_counts_add A 4 1); auto; pose proof roundoff_le_gamma_1; lra. }
    set (T' := (1 + th) * (1 + de) - 1) in *.
    replace (sigma * (1 + th) * y * (1 + de) + e - sigma * x) with (sigma * (T' * x + (1 + T') * (y - x)) + e)
      by (unfold T'; ring).
    apply Rabs_sum; [|exact He]; apply Rabs_product; [lra|].
    assert (T1 : Rabs (1 + T') <= 1 + gamma A 5) by (apply Rabs_sum; [rewrite Rabs_R1; lra|assumption]).
    eapply Rle_trans; [apply Rabs_sum; apply Rabs_product; eassumption|].
    pose proof (Rle_trans _ _ _ (Rabs_pos x) HP).
    assert (0 <= INR d * omega) by (apply Rmult_le_pos; [apply pos_INR|assumption]).
    pose proof (Rmult_le_compat_r _ _ _ H G).
    pose proof (Rmult_le_compat_r _ _ _ H0 G).
    lra.
  Qed.

  (** step 3 *)
  Lemma bias_is_within place sigma_b scale_b bias x y : INR 3 * u < 1 ->
    after A 2 sigma_b scale_b -> (forall beta, bias = Some beta -> number A beta) ->
    within A x y -> within A (bias_bound A place sigma_b bias x) (fl_add_bias A place scale_b bias y).
  Proof.
    intros H3 Hs Hb [Ny Hy]; destruct bias as [beta|]; [|split; assumption].
    set (b' := match place with inside_scale => rounded A (scale_b * beta) | _ => beta end).
    assert (B : within A (bias_term A place sigma_b beta) b').
    { unfold b'; destruct place; [|split; [auto|simpl; rewrite Rminus_diag_eq, Rabs_R0 by reflexivity; lra]..].
      split; [apply (number_rounded A law)|]; simpl real_value; simpl error_bound.
      destruct (rounding_law A law (scale_b * beta)) as (d & e & Hd & He & ->), Hs as (th & Hth & ->).
      replace (sigma_b * (1 + th) * beta * (1 + d) + e - sigma_b * beta)
        with (((1 + th) * (1 + d) - 1) * (sigma_b * beta) + e) by ring.
      apply Rabs_sum; [|exact He]; apply Rabs_product; [|lra].
      apply (rounding_counts_add A 2 1); auto; pose proof roundoff_le_gamma_1; lra. }
    destruct B as [NB HB]; unfold bias_bound, fl_add_bias, rounded_sum; fold b'; simpl.
    split; [apply (number_rounded A law)|]; simpl real_value; simpl error_bound.
    rewrite <- (Rplus_0_r (_ + u * _)); eapply close_to_further; [assumption| |apply (sum_law A law); assumption].
    replace (y + b' - (real_value x + real_value (bias_term A place sigma_b beta)))
      with ((y - real_value x) + (b' - real_value (bias_term A place sigma_b beta))) by ring.
    apply Rabs_sum; assumption.
  Qed.

  (** step 4 *)
  Lemma softcap_is_within cap x y : (forall kappa, cap = Some kappa -> 0 < kappa) ->
    within A x y -> within A (softcap_bound A cap x) (fl_softcap A cap y).
  Proof.
    intros Hc [Ny Hy]; destruct cap as [kappa|]; [|split; assumption].
    specialize (Hc kappa eq_refl); split; [apply (number_rounded A law)|].
    simpl real_value; simpl error_bound; unfold fl_softcap.
    set (e := error_bound x) in *; set (r := real_value x) in *; set (t := rounded A (y / kappa)).
    set (before := e + u * (Rabs r + e) + kappa * omega).
    pose proof (roundoff_range A law) as Ru; pose proof (tanh_error_pos A law) as Rt.
    assert (T : Rabs (kappa * t - r) <= before).
    { unfold t; destruct (rounding_law A law (y / kappa)) as (d & n & Hd & Hn & E).
      eapply (close_to_further r u (kappa * omega) e y); [assumption..|].
      exists d, (kappa * n); split; [assumption|]; split; [|rewrite E; field; lra].
      apply Rabs_product; [rewrite Rabs_right; lra|assumption]. }
    assert (F : Rabs (softcap kappa (kappa * t) - softcap kappa r) <= before).
    { eapply Rle_trans; [apply softcap_slope, Hc|exact T]. }
    replace (softcap kappa (kappa * t)) with (kappa * tanh t) in F
      by (unfold softcap; do 2 f_equal; field; lra).
    set (f := softcap kappa r) in *.
    assert (Nt : number A t) by apply (number_rounded A law).
    destruct (tanh_law A law t Nt) as (tau & e2 & Htau & He2 & ->).
    destruct (rounding_law A law (kappa * (tanh t * (1 + tau) + e2))) as (d3 & e3 & Hd3 & He3 & ->).
    set (G := (1 + tau) * (1 + d3)).
    replace (kappa * (tanh t * (1 + tau) + e2) * (1 + d3) + e3 - f)
      with ((kappa * tanh t - f) * G + f * (G - 1) + kappa * e2 * (1 + d3) + e3) by (unfold G; ring).
    assert (D3 : Rabs (1 + d3) <= 1 + u) by (apply Rabs_sum; [rewrite Rabs_R1; lra|assumption]).
    assert (D2 : Rabs (1 + tau) <= 1 + tanh_error A) by (apply Rabs_sum; [rewrite Rabs_R1; lra|assumption]).
    apply Rabs_sum; [|assumption]; apply Rabs_sum; [apply Rabs_sum|].
    - apply Rabs_product; [assumption|apply Rabs_product; assumption].
    - apply Rabs_product; [lra|]; unfold G.
      replace ((1 + tau) * (1 + d3) - 1) with (tau * (1 + d3) + d3) by ring.
      eapply Rle_trans; [apply Rabs_sum; [apply Rabs_product|]; eassumption|]; lra.
    - rewrite !(Rmult_assoc kappa); apply Rabs_product; [rewrite Rabs_right; lra|apply Rabs_product; assumption].
  Qed.
End Steps.

(** a missing factor is 1, and multiplies exactly *)
Lemma missing_factors_join A d given : lawful A -> factors_join A (fl_scale A d given) 1 1.
Proof.
  intros law; assert (N : number A (fl_scale A d given)) by (destruct given; apply (number_rounded A law)).
  pose proof (roundoff_nonneg A law).
  assert (E : no_underflow A (fl_scale A d given * 1)).
  { unfold no_underflow; rewrite Rmult_1_r, (rounded_number A law) by assumption.
    exists 0, 0; rewrite Rabs_R0; repeat split; [assumption|lra|ring]. }
  split; [assumption|].
  replace (rounded A (fl_scale A d given * 1)) with (fl_scale A d given); [assumption|].
  rewrite Rmult_1_r, (rounded_number A law) by assumption; reflexivity.
Qed.

(** BND.B5 *)
Theorem computed_logit_is_within_its_bound A place cap d given delta_q delta_k q k bias t :
  lawful A -> Permutation (leaves t) (range d) -> INR (d + 5) * roundoff A < 1 ->
  scale_is_made A d given -> factors_join A (fl_scale A d given) delta_q delta_k ->
  (forall beta, bias = Some beta -> number A beta) -> (forall kappa, cap = Some kappa -> 0 < kappa) ->
  let scale_b := fl_scale A d given in
  let sigma_b := scale_of given d in
  within A (logit_bound A place cap d (sigma_b * (delta_q * delta_k)) sigma_b q k bias)
           (fl_logit A place cap (fl_descaled A scale_b delta_q delta_k) scale_b q k bias t).
Proof.
  intros law Hp Hn Hscale Hjoin Hbias Hcap scale_b sigma_b.
  pose proof (roundoff_nonneg A law) as Hu.
  destruct (gamma_denominator A (d + 5) 2 Hu ltac:(lia) Hn) as [[_ H2] _].
  destruct (gamma_denominator A (d + 5) 3 Hu ltac:(lia) Hn) as [[_ H3] _].
  destruct (gamma_denominator A (d + 5) 4 Hu ltac:(lia) Hn) as [[_ H4] _].
  pose proof (scale_has_two_roundings A law d given H2 Hscale) as Sb.
  pose proof (descaled_scale_has_four_roundings A law _ _ _ _ H4 Sb Hjoin) as S.
  pose proof (score_is_within A law d _ _ q k t Hp Hn S) as W.
  unfold logit_bound, fl_logit; destruct place; auto using bias_is_within, softcap_is_within.
Qed.
