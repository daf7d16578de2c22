(** Computed weights are within their bound (BND.B3): rounded logits, an exponential of stated accuracy, a sum in any
    order. Every lemma is a step of BND.B3. *)
From Attest Require Export DotBound.

(** A row: the logits of its keys as real numbers, l, and as computed, l'. A sink is one more key. *)

Lemma exp_monotone x y : x <= y -> exp x <= exp y.
Proof. intros [H| ->]; [apply Rlt_le, exp_increasing, H|lra]. Qed.

Lemma exp_near_1 x d : Rabs x <= d -> Rabs (exp x - 1) <= exp d - 1.
Proof.
  intros H; apply Rabs_bounds in H.
  pose proof (exp_monotone x d ltac:(lra)); pose proof (exp_monotone (- d) x ltac:(lra)).
  assert (P : exp d * exp (- d) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  pose proof (exp_pos d); pose proof (exp_pos (- d)).
  assert (2 <= exp d + exp (- d)) by nra.
  apply Rabs_le; lra.
Qed.

Section Row.
  Context {I : Type} (A : float_arithmetic) (law : lawful A).
  Variables (keys : list I) (l l' : I -> R) (shift : R) (r : row_model) (t : order I).
  Notation u := (roundoff A).
  Notation omega := (underflow A).
  Notation E := (logit_error r).
  Notation G := (logit_gap r).
  Notation n := (logit_count r).

  (** what is known of the row; a row with fewer keys, smaller errors or gaps is known as well *)
  Record row_is_known : Prop := RowIsKnown {
    logits_are_numbers : forall k, In k keys -> number A (l' k);
    logits_are_close : forall k, In k keys -> Rabs (l' k - l k) <= E;
    logits_are_near : forall j k, In j keys -> In k keys -> l j - l k <= G;
    shift_is_greatest : (exists k, In k keys /\ shift = l' k) /\ forall k, In k keys -> l' k <= shift;
    keys_are_counted : (length keys <= n)%nat;
    order_is_of_keys : Permutation (leaves t) keys;
    roundings_are_few : INR n * u < 1;
    total_is_known : rho_total A r < 1
  }.
  Hypothesis known : row_is_known.

  (** the computation: exponentials of differences from the shift, their total, a quotient *)
  Definition fl_exponential (k : I) : R := fl_exp A (rounded A (l' k - shift)).
  Definition fl_total : R := fl_sum A fl_exponential t.
  Definition fl_weight (k : I) : R := rounded A (fl_exponential k / fl_total).

  (** the real numbers to compare with; the shift cancels (SMX.P5) *)
  Definition near_exponential (k : I) : R := exp (l k - shift).
  Definition near_total : R := sum keys near_exponential.

  Let Hu := roundoff_nonneg A law.
  Let Hw := underflow_nonneg A law.
  Let Hlambda := smallest_normal_pos A law.
  Let Hexp := exp_error_pos A law.

  Lemma some_key : exists k, In k keys.
  Proof. destruct (shift_is_greatest known) as [(k & Hk & _) _]; eauto. Qed.

  Lemma logit_error_nonneg : 0 <= E.
  Proof.
    destruct some_key as [k Hk]; eapply Rle_trans; [apply Rabs_pos|apply (logits_are_close known k Hk)].
  Qed.

  Lemma gap_nonneg : 0 <= G.
  Proof. destruct some_key as [k Hk]; pose proof (logits_are_near known k k Hk Hk); lra. Qed.

  Lemma count_positive : (1 <= length keys <= n)%nat.
  Proof.
    destruct some_key as [k Hk]; pose proof (keys_are_counted known).
    destruct keys; [destruct Hk|simpl in *; lia].
  Qed.

  (** step 2: the exponent *)
  Lemma exponent_error k : In k keys ->
    Rabs (rounded A (l' k - shift) - (l k - shift)) <= E + u * (G + 2 * E).
  Proof.
    intros Hk; destruct (shift_is_greatest known) as [(m & Hm & Es) _].
    pose proof (Rabs_bounds _ _ (logits_are_close known k Hk)).
    pose proof (Rabs_bounds _ _ (logits_are_close known m Hm)).
    pose proof (logits_are_near known k m Hk Hm); pose proof (logits_are_near known m k Hm Hk).
    assert (C : close_to (l' k - shift) u 0 (rounded A (l' k - shift))).
    { apply (sum_law A law); [|rewrite Es; apply (number_opp A law)]; apply (logits_are_numbers known); assumption. }
    apply close_to_error in C.
    assert (Rabs (l' k - shift) <= G + 2 * E) by (apply Rabs_le; lra).
    replace (rounded A (l' k - shift) - (l k - shift))
      with ((l' k - l k) + (rounded A (l' k - shift) - (l' k - shift))) by ring.
    apply Rabs_sum; [apply (logits_are_close known); assumption|].
    eapply Rle_trans; [exact C|]; rewrite Rplus_0_r; apply Rmult_le_compat_l; assumption.
  Qed.

  Lemma rho_nonneg : 0 <= rho A r.
  Proof.
    pose proof logit_error_nonneg; pose proof gap_nonneg.
    assert (0 <= u * (G + 2 * E)) by (apply Rmult_le_pos; lra).
    unfold rho; pose proof (exp_monotone 0 (E + u * (G + 2 * E)) ltac:(lra)) as X; rewrite exp_0 in X; nra.
  Qed.

  Lemma lost_nonneg : 0 <= lost A r.
  Proof. unfold lost; pose proof (exp_pos E); repeat apply Rmult_le_pos; lra. Qed.

  (** step 4: the total is not small *)
  Lemma near_total_bounds : exp (- E) <= near_total <= INR n * exp E.
  Proof.
    destruct (shift_is_greatest known) as [(m & Hm & Es) Hmax].
    pose proof (Rabs_bounds _ _ (logits_are_close known m Hm)); split.
    - apply Rle_trans with (near_exponential m).
      + apply exp_monotone; lra.
      + apply (sum_term_le keys near_exponential); [|assumption]; intros; apply Rlt_le, exp_pos.
    - apply Rle_trans with (sum keys (fun _ => exp E)).
      + apply sum_le; intros k Hk; apply exp_monotone.
        pose proof (Rabs_bounds _ _ (logits_are_close known k Hk)); pose proof (Hmax k Hk); lra.
      + rewrite sum_const; apply Rmult_le_compat_r; [apply Rlt_le, exp_pos|apply le_INR, count_positive].
  Qed.

  Lemma near_total_pos : 0 < near_total.
  Proof. destruct near_total_bounds; pose proof (exp_pos (- E)); lra. Qed.

  Lemma underflow_is_lost : exp_error A * smallest_normal A <= lost A r * near_total.
  Proof.
    assert (P : exp E * exp (- E) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
    destruct near_total_bounds as [H _]; pose proof (exp_pos E).
    assert (1 <= exp E * near_total) by (rewrite <- P; apply Rmult_le_compat_l; lra).
    assert (0 <= exp_error A * smallest_normal A) by (apply Rmult_le_pos; assumption).
    unfold lost; nra.
  Qed.

  (** step 3: an exponential *)
  Lemma exponential_error k : In k keys ->
    Rabs (fl_exponential k - near_exponential k) <= rho A r * near_exponential k + lost A r * near_total.
  Proof.
    intros Hk; pose proof (exp_near_1 _ _ (exponent_error k Hk)) as T.
    unfold fl_exponential, near_exponential.
    set (x := rounded A (l' k - shift)) in *; set (y := l k - shift) in *.
    destruct (exp_law A law x (number_rounded A law _)) as (tau & e & Htau & He & ->).
    replace (exp x) with (exp y * exp (x - y)) by (rewrite <- exp_plus; f_equal; ring).
    replace (exp y * exp (x - y) * (1 + tau) + e - exp y)
      with (((exp (x - y) - 1) * (1 + tau) + tau) * exp y + e) by ring.
    apply Rabs_sum; [|eapply Rle_trans; [exact He|apply underflow_is_lost]].
    apply Rabs_product; [|rewrite Rabs_right by (apply Rle_ge, Rlt_le, exp_pos); lra].
    assert (Rabs (1 + tau) <= 1 + exp_error A) by (apply Rabs_sum; [rewrite Rabs_R1; lra|assumption]).
    eapply Rle_trans; [apply Rabs_sum; [apply Rabs_product|]; eassumption|]; unfold rho; lra.
  Qed.

  Lemma exponential_size k : In k keys ->
    Rabs (fl_exponential k) <= (1 + rho A r) * near_exponential k + lost A r * near_total.
  Proof.
    intros Hk; pose proof (exponential_error k Hk) as H; apply Rabs_near in H.
    rewrite (Rabs_right (near_exponential k)) in H by (apply Rle_ge, Rlt_le, exp_pos); lra.
  Qed.

  (** step 5: their sum *)
  Lemma count_gamma : 0 <= gamma A (length keys - 1) <= gamma A (n - 1).
  Proof.
    pose proof count_positive.
    destruct (gamma_denominator A n (n - 1) Hu ltac:(lia) (roundings_are_few known)) as [[_ H1] _].
    destruct (gamma_denominator A n (length keys - 1) Hu ltac:(lia) (roundings_are_few known)) as [[_ H2] _].
    split; [apply gamma_nonneg|apply gamma_le]; auto; lia.
  Qed.

  Lemma total_error : Rabs (fl_total - near_total) <= rho_total A r * near_total.
  Proof.
    pose proof count_positive; pose proof count_gamma as Cg.
    pose proof near_total_pos as P; pose proof lost_nonneg as L; pose proof rho_nonneg as Rn.
    destruct (gamma_denominator A n (length keys - 1) Hu ltac:(lia) (roundings_are_few known)) as [[_ Hn] _].
    pose proof (sum_error_in_any_order A law fl_exponential keys t (order_is_of_keys known)
      (fun k _ => number_exp A law _ (number_rounded A law _)) Hn) as F.
    assert (Sz : sum keys (fun k => Rabs (fl_exponential k))
                 <= (1 + rho A r) * near_total + INR n * (lost A r * near_total)).
    { eapply Rle_trans; [apply sum_le, exponential_size|].
      rewrite sum_plus, sum_scal, sum_const; apply Rplus_le_compat_l.
      apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|apply le_INR; lia]. }
    assert (D : Rabs (sum keys fl_exponential - near_total)
                <= rho A r * near_total + INR n * (lost A r * near_total)).
    { unfold near_total at 1; rewrite <- sum_minus.
      eapply Rle_trans; [apply sum_Rabs|]; eapply Rle_trans; [apply sum_le, exponential_error|].
      rewrite sum_plus, sum_scal, sum_const; apply Rplus_le_compat_l.
      apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|apply le_INR; lia]. }
    replace (fl_total - near_total) with ((fl_total - sum keys fl_exponential) + (sum keys fl_exponential - near_total))
      by ring.
    eapply Rle_trans; [apply Rabs_sum; [exact F|exact D]|].
    assert (0 <= sum keys (fun k => Rabs (fl_exponential k))) by (apply sum_nonneg; intros; apply Rabs_pos).
    assert (gamma A (length keys - 1) * sum keys (fun k => Rabs (fl_exponential k))
            <= gamma A (n - 1) * ((1 + rho A r) * near_total + INR n * (lost A r * near_total)))
      by (apply Rmult_le_compat; lra).
    unfold rho_total; lra.
  Qed.

  Lemma rho_total_range : 0 <= rho_total A r < 1.
  Proof.
    split; [|apply (total_is_known known)].
    pose proof total_error as H; pose proof near_total_pos.
    apply Rmult_le_reg_r with near_total; [assumption|].
    rewrite Rmult_0_l; eapply Rle_trans; [apply Rabs_pos|exact H].
  Qed.

  Lemma total_ratio : 1 - rho_total A r <= fl_total / near_total <= 1 + rho_total A r.
  Proof.
    pose proof near_total_pos as P; pose proof (Rabs_bounds _ _ total_error) as H.
    split; apply Rmult_le_reg_r with near_total; try assumption;
      replace (fl_total / near_total * near_total) with fl_total by (field; lra); lra.
  Qed.

  Lemma fl_total_pos : 0 < fl_total.
  Proof.
    destruct total_ratio as [H _]; pose proof rho_total_range; pose proof near_total_pos.
    replace fl_total with (fl_total / near_total * near_total) by (field; lra).
    apply Rmult_lt_0_compat; lra.
  Qed.

  (** the real weight, with the shift and without *)
  Lemma near_weight k : near_exponential k / near_total = exp (l k) / sum keys (fun j => exp (l j)).
  Proof.
    assert (Es : near_total = exp (- shift) * sum keys (fun j => exp (l j))).
    { unfold near_total; rewrite <- sum_scal; apply sum_ext; intros j _.
      unfold near_exponential; rewrite <- exp_plus; f_equal; ring. }
    pose proof near_total_pos; pose proof (exp_pos (- shift)).
    assert (sum keys (fun j => exp (l j)) <> 0) by (intros H1; rewrite H1, Rmult_0_r in Es; lra).
    rewrite Es; unfold near_exponential.
    replace (l k - shift) with (- shift + l k) by ring; rewrite exp_plus; field; lra.
  Qed.

  (** step 6: dividing by the total, and rounding *)
  Lemma quotient_factor d : Rabs d <= u ->
    Rabs ((1 + d) / (fl_total / near_total) - 1) <= (1 + u) / (1 - rho_total A r) - 1.
  Proof.
    intros Hd; apply Rabs_bounds in Hd; destruct total_ratio as [L U]; pose proof rho_total_range as Rr.
    pose proof (roundoff_range A law).
    assert (Up : (1 + d) / (fl_total / near_total) <= (1 + u) / (1 - rho_total A r)).
    { apply Rmult_le_compat; try lra; [apply Rlt_le, Rinv_0_lt_compat; lra|apply Rinv_le_contravar; lra]. }
    assert (Lo : (1 - u) / (1 + rho_total A r) <= (1 + d) / (fl_total / near_total)).
    { apply Rmult_le_compat; try lra; [apply Rlt_le, Rinv_0_lt_compat; lra|apply Rinv_le_contravar; lra]. }
    pose proof (quotient_errs_upwards u (rho_total A r) Hu Rr).
    apply Rabs_le; lra.
  Qed.

  (** BND.B3 *)
  Theorem computed_weight_is_within_its_bound k : In k keys ->
    let w := exp (l k) / sum keys (fun j => exp (l j)) in
    Rabs (fl_weight k - w) <= weight_bound A r w.
  Proof.
    intros Hk w; pose proof (near_weight k) as Ew; fold w in Ew.
    pose proof near_total_pos as P; pose proof fl_total_pos as Pf; pose proof rho_total_range as Rr.
    unfold fl_weight; destruct (rounding_law A law (fl_exponential k / fl_total)) as (d & e & Hd & He & ->).
    set (f := (1 + d) / (fl_total / near_total)).
    set (g := (1 + u) / (1 - rho_total A r)).
    pose proof (quotient_factor d Hd) as Hf; fold f g in Hf.
    set (x := (fl_exponential k - near_exponential k) / near_total).
    assert (Hx : Rabs x <= rho A r * w + lost A r).
    { unfold x, Rdiv; rewrite Rabs_mult, (Rabs_right (/ near_total)) by (apply Rle_ge, Rlt_le, Rinv_0_lt_compat, P).
      apply Rmult_le_reg_r with near_total; [assumption|].
      rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      eapply Rle_trans; [apply (exponential_error k Hk)|]; rewrite <- Ew; apply Req_le; field; lra. }
    replace (fl_exponential k / fl_total * (1 + d) + e - w) with (w * (f - 1) + x * f + e)
      by (unfold f, x; rewrite <- Ew; field; lra).
    assert (Hw1 : 0 <= w).
    { rewrite <- Ew; apply Rlt_le, Rdiv_lt_0_compat; [apply exp_pos|assumption]. }
    assert (Hf1 : Rabs f <= g) by (apply Rabs_near in Hf; rewrite Rabs_R1 in Hf; lra).
    eapply Rle_trans; [apply Rabs_sum; [apply Rabs_sum; apply Rabs_product|exact He]|].
    - rewrite Rabs_right by lra; apply Rle_refl.
    - exact Hf.
    - exact Hx.
    - exact Hf1.
    - unfold weight_bound; fold g; apply Req_le.
      replace ((1 + rho A r) * (1 + u) / (1 - rho_total A r)) with ((1 + rho A r) * g) by (unfold g; field; lra).
      replace (lost A r * (1 + u) / (1 - rho_total A r)) with (lost A r * g) by (unfold g; field; lra).
      ring.
  Qed.
End Row.

Arguments logits_are_numbers {I A keys l l' shift r t}.
Arguments shift_is_greatest {I A keys l l' shift r t}.
Arguments roundings_are_few {I A keys l l' shift r t}.
