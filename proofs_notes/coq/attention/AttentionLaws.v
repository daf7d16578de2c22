(** What a row of attention computes: the quotient is weights times values, and it lies in the hull of the values; what
    a scale of zero and a negative scale do, and where the bias joins. *)
From Attest Require Export Attention.

(** ** Weights times values *)

(** ATT.P8 *)
Theorem quotient_equals_weights_times_values keys kept sink l V c :
  weighted_values keys kept sink l V c = sum (filter kept keys) (fun j => sink_softmax keys sink l j * V j c).
Proof.
  unfold weighted_values, sink_softmax, Rdiv; rewrite <- sum_scal_r; apply sum_ext; intros; ring.
Qed.

(** the same for a row, as a sum over all keys *)
Theorem output_is_the_kept_weights_times_values h Q K V bias sink i c :
  attend_row h Q K V bias sink i c =
  value_factor h *
  sum (range (key_count h)) (fun j => (if kept h i j then row_weights h Q K bias sink i j else 0) * V j c).
Proof.
  unfold attend_row; rewrite quotient_equals_weights_times_values; f_equal.
  unfold row_keys at 1, gathered; rewrite <- !sum_filter; apply sum_ext; intros j Hj.
  destruct (kept h i j) eqn:Hk; [|destruct (visible h i j); ring].
  destruct (visible h i j) eqn:Hv.
  - rewrite row_weights_visible; [reflexivity|apply in_row_keys; rewrite <- in_range; auto].
  - rewrite row_weights_hidden; [ring|rewrite in_row_keys, Hv; intros [_ H]; discriminate].
Qed.

Definition no_dropout (h : head) (i : nat) : Prop := forall j, In j (row_keys h i) -> kept h i j = true.

Lemma attend_row_no_dropout h Q K V bias sink i c : no_dropout h i ->
  attend_row h Q K V bias sink i c =
  value_factor h * sum (row_keys h i) (fun j => sink_softmax (row_keys h i) sink (row_logits h Q K bias i) j * V j c).
Proof. intros H; unfold attend_row; rewrite quotient_equals_weights_times_values, (filter_all _ _ H); reflexivity. Qed.

(** ** The hull *)

Lemma sink_softmax_nonneg keys sink l j : In j keys -> 0 <= sink_softmax keys sink l j.
Proof.
  intros H; apply Rlt_le, Rdiv_lt_0_compat; [apply exp_pos|apply total_pos, (in_not_nil _ _ H)].
Qed.

(** the weights of a row, and the share of the sink if there is one, add up to 1 *)
Lemma sink_softmax_sum keys sink l : keys <> [] ->
  sum keys (sink_softmax keys sink l) = 1 - match sink with Some a => exp a / total keys sink l | None => 0 end.
Proof.
  intros H; pose proof (total_pos keys sink l H); unfold sink_softmax, Rdiv; rewrite sum_scal_r.
  replace (sum keys (fun j => exp (l j))) with (total keys sink l - match sink with Some a => exp a | None => 0 end)
    by (unfold total; ring).
  destruct sink; field; lra.
Qed.

(** a mean of values that lie between two bounds lies between them; with a sink, 0 has to lie there too *)
Lemma mean_between keys sink l (v : row) lo hi : keys <> [] ->
  (forall j, In j keys -> lo <= v j <= hi) -> (sink <> None -> lo <= 0 <= hi) ->
  lo <= sum keys (fun j => sink_softmax keys sink l j * v j) <= hi.
Proof.
  intros Hk Hv Hs; pose proof (sink_softmax_sum keys sink l Hk) as S.
  assert (T : forall b, sum keys (fun j => sink_softmax keys sink l j * b) = sum keys (sink_softmax keys sink l) * b)
    by (intros; apply sum_scal_r).
  assert (P : forall a, 0 <= exp a / total keys sink l).
  { intros a; apply Rlt_le, Rdiv_lt_0_compat; [apply exp_pos|apply total_pos, Hk]. }
  assert (L : sum keys (sink_softmax keys sink l) * lo <= sum keys (fun j => sink_softmax keys sink l j * v j)).
  { rewrite <- T; apply sum_le; intros j Hj; apply Rmult_le_compat_l; [apply sink_softmax_nonneg, Hj|apply Hv, Hj]. }
  assert (U : sum keys (fun j => sink_softmax keys sink l j * v j) <= sum keys (sink_softmax keys sink l) * hi).
  { rewrite <- T; apply sum_le; intros j Hj; apply Rmult_le_compat_l; [apply sink_softmax_nonneg, Hj|apply Hv, Hj]. }
  rewrite S in L, U; destruct sink as [a|]; [|lra].
  destruct Hs as [Hlo Hhi]; [discriminate|]; specialize (P a).
  pose proof (Rmult_le_compat_l _ _ _ P Hlo); pose proof (Rmult_le_compat_l _ _ _ P Hhi); lra.
Qed.

(** the least and the greatest of some values are among them *)
Lemma least_exists {A} (l : list A) (f : A -> R) : l <> [] -> exists a, In a l /\ forall b, In b l -> f a <= f b.
Proof.
  induction l as [|x l IH]; [congruence|]; intros _; destruct l as [|y l].
  - exists x; split; [left; reflexivity|]; intros b [<-|[]]; lra.
  - destruct IH as (a & Ha & Hmin); [discriminate|]; destruct (Rle_dec (f x) (f a)).
    + exists x; split; [left; reflexivity|]; intros b [<-|Hb]; [lra|specialize (Hmin b Hb); lra].
    + exists a; split; [right; exact Ha|]; intros b [<-|Hb]; [lra|apply Hmin, Hb].
Qed.

(** ATT.P7: v_j is the least of the visible values, v_k the greatest *)
Theorem output_lies_in_the_hull_of_visible_values h Q K V bias i c :
  row_keys h i <> [] -> no_dropout h i -> value_factor h = 1 ->
  exists j k, In j (row_keys h i) /\ In k (row_keys h i) /\
    (forall n, In n (row_keys h i) -> V j c <= V n c <= V k c) /\
    V j c <= attend_row h Q K V bias None i c <= V k c.
Proof.
  intros Hne Hd Hf.
  destruct (least_exists (row_keys h i) (fun n => V n c) Hne) as (j & Hj & Hmin).
  destruct (least_exists (row_keys h i) (fun n => - V n c) Hne) as (k & Hk & Hmax).
  assert (B : forall n, In n (row_keys h i) -> V j c <= V n c <= V k c).
  { intros n Hn; specialize (Hmin n Hn); specialize (Hmax n Hn); lra. }
  exists j, k; repeat (split; [assumption|]).
  rewrite attend_row_no_dropout, Hf, Rmult_1_l by assumption; apply mean_between; auto; congruence.
Qed.

(** ATT.P7: with a sink, 0 joins the values *)
Theorem output_with_a_sink_lies_in_the_hull_of_zero_and_visible_values h Q K V bias a i c :
  row_keys h i <> [] -> no_dropout h i -> value_factor h = 1 ->
  exists j k, In j (row_keys h i) /\ In k (row_keys h i) /\
    (forall n, In n (row_keys h i) -> V j c <= V n c <= V k c) /\
    Rmin 0 (V j c) <= attend_row h Q K V bias (Some a) i c <= Rmax 0 (V k c).
Proof.
  intros Hne Hd Hf.
  destruct (output_lies_in_the_hull_of_visible_values h Q K V bias i c Hne Hd Hf) as (j & k & Hj & Hk & B & _).
  exists j, k; repeat (split; [assumption|]).
  rewrite attend_row_no_dropout, Hf, Rmult_1_l by assumption.
  pose proof (Rmin_l 0 (V j c)); pose proof (Rmin_r 0 (V j c)).
  pose proof (Rmax_l 0 (V k c)); pose proof (Rmax_r 0 (V k c)).
  apply mean_between; [assumption| |intros _; lra].
  intros n Hn; destruct (B n Hn); lra.
Qed.

(** ATT.D7: the output of an empty row is zero, with and without a sink *)
Theorem output_of_an_empty_row_is_zero h Q K V bias sink i c :
  row_keys h i = [] -> attend_row h Q K V bias sink i c = 0.
Proof. intros E; unfold attend_row, weighted_values; rewrite E; simpl; unfold Rdiv; ring. Qed.

(** ** Scale and bias *)

Definition with_scale (sigma : R) (h : head) : head :=
  Head (width h) (key_count h) sigma (descale h) (value_factor h) (cap h) (place h) (visible h) (kept h).

Lemma tanh_0 : tanh 0 = 0.
Proof. unfold tanh, sinh; rewrite Ropp_0; unfold Rdiv; ring. Qed.

Lemma capped_zero cap : capped cap 0 = 0.
Proof.
  destruct cap as [kappa|]; [|reflexivity]; simpl; unfold softcap.
  replace (0 / kappa) with 0 by (unfold Rdiv; ring); rewrite tanh_0; ring.
Qed.

Lemma logit_zero place cap sigma x : sigma * x = 0 -> logit place cap sigma x 0 = 0.
Proof. intros H; destruct place; simpl; rewrite ?Rplus_0_r, H, ?Rplus_0_r; apply capped_zero. Qed.

(** ATT.P12: scale 0, no bias, no sink, no dropout; the values stand for themselves *)
Theorem zero_scale_is_the_mean h Q K V i c :
  row_keys h i <> [] -> no_dropout h i -> value_factor h = 1 -> scale h = 0 ->
  let m := INR (length (row_keys h i)) in
  (forall j, In j (row_keys h i) -> row_weights h Q K (fun _ _ => 0) None i j = 1 / m) /\
  attend_row h Q K V (fun _ _ => 0) None i c = sum (row_keys h i) (fun j => V j c) / m.
Proof.
  intros Hne Hd Hf Hs m.
  assert (Hm : 0 < m) by (unfold m; destruct (row_keys h i); [congruence|apply lt_0_INR; simpl; lia]).
  assert (W : forall j, sink_softmax (row_keys h i) None (row_logits h Q K (fun _ _ => 0) i) j = 1 / m).
  { intros j; unfold sink_softmax, total, row_logits; rewrite Hs.
    assert (Z : forall x, exp (logit (place h) (cap h) 0 x 0) = 1) by (intros; rewrite logit_zero by ring; apply exp_0).
    rewrite Z, (sum_ext _ _ (fun _ => 1)) by (intros; apply Z).
    rewrite sum_const; fold m; field; lra. }
  split; [intros j Hj; rewrite row_weights_visible by exact Hj; apply W|].
  rewrite attend_row_no_dropout, Hf by assumption.
  rewrite (sum_ext _ _ (fun j => V j c * / m)) by (intros; rewrite W; field; lra).
  rewrite sum_scal_r; field; lra.
Qed.

(** ATT.P12: the whole result, for a bias that does not stand inside the scale, or for none *)
Theorem negative_scale_negates_queries h Q K V bias sink i :
  place h <> inside_scale \/ (forall j, In j (row_keys h i) -> bias i j = 0) ->
  same_result (row_result (with_scale (- scale h) h) Q K V bias sink i)
              (row_result h (fun i c => - Q i c) K V bias sink i).
Proof.
  intros Hp; apply row_lemma; auto; intros j Hj; repeat split; auto.
  unfold row_logits; simpl.
  replace (dot (width h) (fun c => - Q i c) (K j)) with (- dot (width h) (Q i) (K j)).
  - destruct (place h); simpl.
    + destruct Hp as [Hp|Hb]; [congruence|]; rewrite (Hb j Hj); f_equal; ring.
    + f_equal; ring.
    + f_equal; f_equal; ring.
  - unfold dot; rewrite <- (Rmult_1_l (sum _ _)), <- Ropp_mult_distr_l_reverse, <- sum_scal.
    apply sum_ext; intros; ring.
Qed.

(** ATT.P19: x is the scaled score with the descale factors; the bias is 0 where there is none *)
Theorem the_bias_joins_at_its_one_place h Q K bias i j :
  let x := scale h * (descale h * dot (width h) (Q i) (K j)) in
  let b := bias i j in
  row_logits h Q K bias i j =
  match place h with
  | inside_scale => capped (cap h) (x + scale h * b)
  | before_softcap => capped (cap h) (x + b)
  | after_softcap => capped (cap h) x + b
  end.
Proof. intros x b; unfold row_logits; destruct (place h); simpl; f_equal; unfold x, b; ring. Qed.

(** ATT.D4: without a softcap the last two places agree; with scale 1 the first two do *)
Lemma places_agree_without_a_softcap sigma x b :
  logit before_softcap None sigma x b = logit after_softcap None sigma x b.
Proof. reflexivity. Qed.
Lemma places_agree_at_scale_one cap x b : logit inside_scale cap 1 x b = logit before_softcap cap 1 x b.
Proof. simpl; rewrite !Rmult_1_l; reflexivity. Qed.

(** ATT.P19: the term of the slopes joins at the same place, as a part of the bias *)
Theorem slopes_join_with_the_bias h Q K entry form mu p i j :
  let x := scale h * (descale h * dot (width h) (Q i) (K j)) in
  let b := entry i j + alibi form mu (p i) j in
  row_logits h Q K (call_bias (Some entry) (Some mu) form p) i j =
  match place h with
  | inside_scale => capped (cap h) (x + scale h * b)
  | before_softcap => capped (cap h) (x + b)
  | after_softcap => capped (cap h) x + b
  end.
Proof. exact (the_bias_joins_at_its_one_place h Q K (call_bias (Some entry) (Some mu) form p) i j). Qed.

(** ATT.D9: the forms are equal up to the query's position, and differ in sign after it *)
Lemma alibi_forms mu p j :
  ((Z.of_nat j <= p)%Z -> alibi distance mu p j = alibi signed mu p j) /\
  ((p <= Z.of_nat j)%Z -> alibi distance mu p j = - alibi signed mu p j).
Proof.
  unfold alibi; split; intros H.
  - rewrite Z.abs_eq by lia; rewrite !minus_IZR; ring.
  - rewrite Z.abs_neq by lia; rewrite opp_IZR, !minus_IZR; ring.
Qed.

(** ATT.D14: the stage after the softcap, from the stage before it; at a hidden pair that is without bias *)
Lemma capped_score_of_a_hidden_pair h Q K bias i j :
  visible h i j = false -> capped_score h Q K bias i j = capped (cap h) (scaled_score h Q K i j).
Proof. intros H; unfold capped_score; rewrite H; destruct (place h); reflexivity. Qed.
Lemma biased_is_capped_and_late_bias h Q K bias i j : visible h i j = true ->
  row_logits h Q K bias i j =
  capped_score h Q K bias i j + match place h with after_softcap => bias i j | _ => 0 end.
Proof. intros H; unfold capped_score, scaled_score, row_logits; rewrite H; destruct (place h); simpl; ring. Qed.
