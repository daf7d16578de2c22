(** The bounds of chapter 18 put together: a row of softmax, and a row of attention from its queries, keys and values,
    in any lawful arithmetic. *)
From Attest Require Export LogitBound OutputBound.

(** the keys of a row, and a sink as one more: [None] *)
Definition with_sink (keys : list nat) (sink : option R) : list (option nat) :=
  map Some keys ++ match sink with Some _ => [None] | None => [] end.
Definition logit_or_sink (sink : option R) (l : row) (k : option nat) : R :=
  match k with Some j => l j | None => match sink with Some a => a | None => 0 end end.

Lemma sum_map {X Y} (f : X -> Y) (l : list X) (g : Y -> R) : sum (map f l) g = sum l (fun x => g (f x)).
Proof. induction l as [|x l IH]; simpl; [|rewrite IH]; reflexivity. Qed.

Lemma total_with_sink keys sink l :
  sum (with_sink keys sink) (fun k => exp (logit_or_sink sink l k)) = total keys sink l.
Proof.
  unfold with_sink, total; rewrite sum_app, sum_map; destruct sink; simpl; ring.
Qed.

Lemma in_with_sink keys sink k : In k (with_sink keys sink) ->
  (exists j, In j keys /\ k = Some j) \/ (k = None /\ sink <> None).
Proof.
  unfold with_sink; intros H; apply in_app_or in H; destruct H as [H|H].
  - apply in_map_iff in H; destruct H as (j & <- & Hj); left; eauto.
  - destruct sink; [destruct H as [<-|[]]; right; split; [reflexivity|discriminate]|destruct H].
Qed.

Lemma visible_guard n vis j : In j (gathered n vis) -> ((j <? n)%nat && vis j)%bool = true.
Proof. intros H; apply in_gathered in H; apply andb_true_intro; rewrite Nat.ltb_lt; exact H. Qed.

Lemma filter_all {X} (f : X -> bool) (l : list X) : (forall x, f x = true) -> filter f l = l.
Proof. intros H; induction l as [|x l IH]; simpl; [|rewrite H, IH]; reflexivity. Qed.

(** Scores that are numbers of the format: E = 0. *)
(** SMX.P15 *)
Theorem every_visible_result_is_within_its_bound A n vis s shift r t :
  lawful A -> logit_error r = 0 -> row_is_known A (gathered n vis) s s shift r t ->
  (forall j, (j < n)%nat -> vis j = true ->
     Rabs (fl_weight A s shift t j - masked_softmax n vis s j) <= weight_bound A r (masked_softmax n vis s j)) /\
  let L := log_sum_exp (gathered n vis) s in
  Rabs (fl_lse A s shift t - L) <= lse_bound A r L /\
  (number A 2 -> Rabs (fl_lse_in_base_2 A s shift t - in_base_2 L) <= lse_bound_in_base_2 A r L).
Proof.
  intros law H0 K; split; [|split].
  - intros j Hj Hv; assert (In j (gathered n vis)) by (apply in_gathered; auto).
    unfold masked_softmax; rewrite visible_guard by assumption.
    exact (computed_weight_is_within_its_bound A law _ s s shift r t K j H).
  - exact (proj2 (computed_lse_is_within_its_bound A law _ s s shift r t K)).
  - exact (computed_lse_in_base_2_is_within_its_bound A law _ s s shift r t K).
Qed.

(** * A row of attention *)

Section Row.
  Variable A : float_arithmetic.
  Hypothesis law : lawful A.
  Notation u := (roundoff A).

  (** the head, without dropout; where its factors come from; its operands *)
  Variables (h : head) (given : option R) (delta_q delta_k : R).
  Hypothesis scale_of_head : scale h = scale_of given (width h).
  Hypothesis descale_of_head : descale h = delta_q * delta_k.
  Variables (Q K V : matrix) (bias : option matrix) (sink : option R) (i : nat).
  Hypothesis nothing_is_dropped : forall j, kept h i j = true.

  Let bias_at j : option R := match bias with Some B => Some (B i j) | None => None end.
  Let bias_or_zero : matrix := match bias with Some B => B | None => fun _ _ => 0 end.
  Let keys := row_keys h i.
  Let l := row_logits h Q K bias_or_zero i.

  (** any order of each sum: of a dot product, of the exponentials, of the weighted values *)
  Variables (dots : nat -> order nat) (t : order (option nat)) (o : order (option nat)).
  Hypothesis dots_are_over_the_width : forall j, Permutation (leaves (dots j)) (range (width h)).
  Hypothesis sum_is_over_the_keys : Permutation (leaves t) (with_sink keys sink).
  Hypothesis values_are_those_of_the_keys : Permutation (leaves o) (map Some keys).

  (** what the chapter assumes of operands, and what it checks *)
  Hypothesis scale_is_made_well : scale_is_made A (width h) given.
  Hypothesis factors_join_well : factors_join A (fl_scale A (width h) given) delta_q delta_k.
  Hypothesis bias_is_number : forall j beta, bias_at j = Some beta -> number A beta.
  Hypothesis sink_is_number : forall a, sink = Some a -> number A a.
  Hypothesis cap_is_positive : forall kappa, cap h = Some kappa -> 0 < kappa.
  Hypothesis width_is_small : INR (width h + 5) * u < 1.

  Definition fl_row_logits : row := fun j =>
    fl_logit A (place h) (cap h) (fl_descaled A (fl_scale A (width h) given) delta_q delta_k)
             (fl_scale A (width h) given) (Q i) (K j) (bias_at j) (dots j).
  Definition row_logit_bound (j : nat) : bounded :=
    logit_bound A (place h) (cap h) (width h) (scale h * descale h) (scale h) (Q i) (K j) (bias_at j).

  Lemma row_logit_bound_value j : real_value (row_logit_bound j) = l j.
  Proof.
    unfold row_logit_bound, l, row_logits; rewrite logit_bound_value; f_equal.
    unfold bias_at, bias_or_zero; destruct bias; reflexivity.
  Qed.

  (** ATT.P13 *)
  Theorem every_logit_is_within_its_bound j :
    number A (fl_row_logits j) /\ Rabs (fl_row_logits j - l j) <= error_bound (row_logit_bound j).
  Proof.
    rewrite <- row_logit_bound_value; unfold row_logit_bound, fl_row_logits.
    rewrite scale_of_head, descale_of_head.
    apply computed_logit_is_within_its_bound; auto; intros beta Hb; exact (bias_is_number j beta Hb).
  Qed.

  (** the errors of the row, taken together: E, G and n are at least what occurs *)
  Variables (r : row_model) (shift : R).
  Let lk := logit_or_sink sink l.
  Let lk' := logit_or_sink sink fl_row_logits.
  Hypothesis error_covers : 0 <= logit_error r /\
    forall j, In j keys -> error_bound (row_logit_bound j) <= logit_error r.
  Hypothesis gap_covers : forall j k, In j (with_sink keys sink) -> In k (with_sink keys sink) ->
    lk j - lk k <= logit_gap r.
  Hypothesis count_covers : (length (with_sink keys sink) <= logit_count r)%nat.
  Hypothesis count_is_small : INR (logit_count r) * u < 1 /\ INR 2 * u < 1.
  Hypothesis total_is_known : rho_total A r < 1.
  Hypothesis shift_is_greatest :
    (exists k, In k (with_sink keys sink) /\ shift = lk' k) /\ forall k, In k (with_sink keys sink) -> lk' k <= shift.

  Lemma row_logits_are_known k : In k (with_sink keys sink) -> number A (lk' k) /\ Rabs (lk' k - lk k) <= logit_error r.
  Proof.
    intros H; destruct (in_with_sink _ _ _ H) as [(j & Hj & ->)|[-> Hs]].
    - destruct (every_logit_is_within_its_bound j) as [N B]; split; [exact N|].
      eapply Rle_trans; [exact B|apply error_covers, Hj].
    - unfold lk, lk'; destruct sink as [a|]; [simpl|congruence].
      split; [auto|]; rewrite Rminus_diag_eq, Rabs_R0 by reflexivity; apply error_covers.
  Qed.

  Lemma row_known : row_is_known A (with_sink keys sink) lk lk' shift r t.
  Proof.
    constructor; auto; try apply count_is_small; apply row_logits_are_known.
  Qed.

  (** ATT.P13 *)
  Theorem every_weight_is_within_its_bound j : In j keys ->
    let w := row_weights h Q K bias_or_zero sink i j in
    Rabs (fl_weight A lk' shift t (Some j) - w) <= weight_bound A r w.
  Proof.
    intros Hj w.
    assert (Ew : w = exp (lk (Some j)) / sum (with_sink keys sink) (fun k => exp (lk k))).
    { unfold w, row_weights, masked_sink_softmax; rewrite visible_guard by exact Hj.
      unfold lk; rewrite total_with_sink; reflexivity. }
    rewrite Ew; apply (computed_weight_is_within_its_bound A law _ lk lk' shift r t row_known).
    apply in_or_app; left; apply in_map, Hj.
  Qed.

  (** ATT.P13 *)
  Theorem every_lse_is_within_its_bound :
    let L := row_lse h Q K bias_or_zero sink i in
    Rabs (fl_lse A lk' shift t - L) <= lse_bound A r L /\
    (number A 2 -> Rabs (fl_lse_in_base_2 A lk' shift t - in_base_2 L) <= lse_bound_in_base_2 A r L).
  Proof.
    intros L; assert (EL : L = ln (sum (with_sink keys sink) (fun k => exp (lk k)))).
    { unfold lk; rewrite total_with_sink; reflexivity. }
    rewrite EL; split.
    - exact (proj2 (computed_lse_is_within_its_bound A law _ lk lk' shift r t row_known)).
    - exact (computed_lse_in_base_2_is_within_its_bound A law _ lk lk' shift r t row_known).
  Qed.

  (** the log-sum-exp without the sink, formed anew over the keys: the bound of the larger row serves *)
  (** ATT.P13 *)
  Theorem every_lse_without_sink_is_within_its_bound shift_of_keys t_of_keys :
    (exists k, In k keys /\ shift_of_keys = fl_row_logits k) ->
    (forall k, In k keys -> fl_row_logits k <= shift_of_keys) ->
    Permutation (leaves t_of_keys) keys ->
    let L := log_sum_exp keys l in
    Rabs (fl_lse A fl_row_logits shift_of_keys t_of_keys - L) <= lse_bound A r L /\
    (number A 2 ->
     Rabs (fl_lse_in_base_2 A fl_row_logits shift_of_keys t_of_keys - in_base_2 L) <= lse_bound_in_base_2 A r L).
  Proof.
    intros Hs Hm Ht L.
    assert (Sub : forall j, In j keys -> In (Some j) (with_sink keys sink))
      by (intros; apply in_or_app; left; apply in_map; assumption).
    assert (known : row_is_known A keys l fl_row_logits shift_of_keys r t_of_keys).
    2: { split; [exact (proj2 (computed_lse_is_within_its_bound A law _ _ _ _ _ _ known))|].
         exact (computed_lse_in_base_2_is_within_its_bound A law _ _ _ _ _ _ known). }
    constructor; auto; try apply count_is_small.
    - intros k Hk; apply (row_logits_are_known (Some k)), Sub, Hk.
    - intros k Hk; apply (row_logits_are_known (Some k)), Sub, Hk.
    - intros j k Hj Hk; exact (gap_covers _ _ (Sub j Hj) (Sub k Hk)).
    - eapply Nat.le_trans; [|exact count_covers]; unfold with_sink; rewrite app_length, map_length; lia.
  Qed.

  (** ATT.P13 *)
  Theorem every_output_is_within_its_bound c :
    let w := row_weights h Q K bias_or_zero sink i in
    let v := fun k : option nat => match k with Some j => V j c | None => 0 end in
    Rabs (fl_output A lk' shift t v o (value_factor h) - attend_row h Q K V bias_or_zero sink i c)
    <= output_bound A r (length keys) (sum keys (fun j => w j * Rabs (V j c))) (sum keys (fun j => Rabs (V j c)))
                    (value_factor h).
  Proof.
    intros w v.
    assert (Ew : forall j, In j keys -> weight (with_sink keys sink) lk (Some j) = w j).
    { intros j Hj; unfold weight, w, row_weights, masked_sink_softmax, lk; rewrite visible_guard by exact Hj.
      rewrite total_with_sink; reflexivity. }
    assert (Er : attend_row h Q K V bias_or_zero sink i c
                 = value_factor h * sum (map Some keys) (fun k => weight (with_sink keys sink) lk k * v k)).
    { unfold attend_row, weighted_values; f_equal; rewrite sum_map.
      rewrite (filter_all _ _ nothing_is_dropped); fold keys.
      unfold Rdiv; rewrite <- sum_scal_r; apply sum_ext; intros j _.
      unfold weight, lk, v; rewrite total_with_sink; simpl; unfold Rdiv; fold l keys; ring. }
    rewrite Er.
    rewrite (sum_ext keys _ (fun j => weight (with_sink keys sink) lk (Some j) * Rabs (v (Some j))))
      by (intros j Hj; rewrite Ew by assumption; reflexivity).
    rewrite <- (sum_map Some keys (fun k => weight (with_sink keys sink) lk k * Rabs (v k))).
    change (sum keys (fun j => Rabs (V j c))) with (sum keys (fun j => Rabs (v (Some j)))).
    rewrite <- (sum_map Some keys (fun k => Rabs (v k))).
    rewrite <- (map_length Some keys).
    apply (computed_output_is_within_its_bound A law (with_sink keys sink) lk lk' shift r t row_known); auto.
    - intros k Hk; apply in_or_app; left; exact Hk.
    - eapply Rle_lt_trans; [|exact (proj1 count_is_small)]; apply Rmult_le_compat_r; [apply roundoff_nonneg, law|].
      apply le_INR; eapply Nat.le_trans; [|exact count_covers].
      unfold with_sink; rewrite app_length; lia.
    - exact (proj2 count_is_small).
  Qed.
End Row.
