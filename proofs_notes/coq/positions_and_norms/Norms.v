(** Layer norm and root mean square norm: what shifting and scaling a row does, and where epsilon stands. *)
From Attest Require Export Sums.

(** * Mean, mean square, variance *)

Lemma mean_square_nonneg n x : 0 <= mean_square n x.
Proof.
  unfold mean_square, dot, Rdiv; destruct n as [|n]; [simpl; lra|].
  apply Rmult_le_pos; [apply sum_nonneg; intros; apply Rle_0_sqr|].
  apply Rlt_le, Rinv_0_lt_compat, lt_0_INR; lia.
Qed.

Lemma variance_nonneg n x : 0 <= variance n x.
Proof. apply mean_square_nonneg. Qed.

(** an epsilon above 0 is enough for every row *)
Lemma variance_plus_epsilon_pos n x epsilon : 0 < epsilon -> 0 < variance n x + epsilon.
Proof. generalize (variance_nonneg n x); lra. Qed.

(** so is a channel that is not 0 *)
Lemma mean_square_pos n x c : (c < n)%nat -> x c <> 0 -> 0 < mean_square n x.
Proof.
  intros Hc Hx; unfold mean_square, dot; apply Rdiv_lt_0_compat; [|apply lt_0_INR; lia].
  apply Rlt_le_trans with (x c * x c); [apply (Rsqr_pos_lt (x c) Hx)|].
  apply (sum_term_le (range n) (fun c => x c * x c)); [intros; apply Rle_0_sqr|apply in_range, Hc].
Qed.

Lemma mean_square_ext n x y : (forall c, (c < n)%nat -> x c = y c) -> mean_square n x = mean_square n y.
Proof.
  intros H; unfold mean_square, dot; f_equal; apply sum_ext; intros c Hc; apply in_range in Hc; rewrite H; auto.
Qed.

Lemma mean_scal n a x : mean n (fun c => a * x c) = a * mean n x.
Proof. unfold mean; rewrite sum_scal; unfold Rdiv; ring. Qed.

Lemma mean_square_scal n a x : mean_square n (fun c => a * x c) = a * a * mean_square n x.
Proof.
  unfold mean_square, dot; rewrite (sum_ext _ _ (fun c => a * a * (x c * x c))) by (intros; ring).
  rewrite sum_scal; unfold Rdiv; ring.
Qed.

Lemma centred_scal n a x c : centred n (fun c => a * x c) c = a * centred n x c.
Proof. unfold centred; rewrite mean_scal; ring. Qed.

Lemma variance_scal n a x : variance n (fun c => a * x c) = a * a * variance n x.
Proof. unfold variance; rewrite <- mean_square_scal; apply mean_square_ext; intros; apply centred_scal. Qed.

Lemma mean_shift n t x : (0 < n)%nat -> mean n (fun c => x c + t) = mean n x + t.
Proof.
  intros Hn; unfold mean; rewrite sum_plus, sum_const; unfold range at 2; rewrite seq_length.
  field; apply not_0_INR; lia.
Qed.

Lemma centred_shift n t x c : (0 < n)%nat -> centred n (fun c => x c + t) c = centred n x c.
Proof. intros; unfold centred; rewrite mean_shift by assumption; ring. Qed.

Lemma mean_centred n x : mean n (centred n x) = 0.
Proof.
  destruct n as [|n]; [unfold mean, Rdiv; simpl; ring|].
  unfold centred at 1; rewrite (mean_shift _ (- mean (S n) x) x) by lia; ring.
Qed.

(** NRM.P8 *)
Theorem variance_is_mean_square_minus_squared_mean n x :
  (0 < n)%nat -> variance n x = mean_square n x - mean n x ^ 2.
Proof.
  intros Hn; unfold variance, mean_square, dot, centred.
  set (m := mean n x).
  rewrite (sum_ext _ _ (fun c => (x c * x c - 2 * m * x c) + m * m)) by (intros; ring).
  rewrite sum_plus, sum_minus, sum_scal, sum_const; unfold range at 3; rewrite seq_length.
  assert (H : sum (range n) x = INR n * m) by (unfold m, mean; field; apply not_0_INR; lia).
  rewrite H; field; apply not_0_INR; lia.
Qed.

(** * Shift and scale *)

(** NRM.P1 *)
Theorem layer_norm_is_invariant_to_shift n gamma beta epsilon t x c :
  (0 < n)%nat -> layer_norm n gamma beta epsilon (fun c => x c + t) c = layer_norm n gamma beta epsilon x c.
Proof.
  intros Hn; unfold layer_norm; rewrite mean_shift by assumption.
  replace (variance n (fun c => x c + t)) with (variance n x).
  - do 3 f_equal; ring.
  - unfold variance; apply mean_square_ext; intros; symmetry; apply centred_shift, Hn.
Qed.

Lemma root_scal a v epsilon : sqrt (a * a * v + a ^ 2 * epsilon) = Rabs a * sqrt (v + epsilon).
Proof.
  replace (a * a * v + a ^ 2 * epsilon) with (Rsqr a * (v + epsilon)) by (unfold Rsqr; ring).
  rewrite sqrt_mult_alt by apply Rle_0_sqr; f_equal; apply sqrt_Rsqr_abs.
Qed.

Lemma scaled_quotient a y v epsilon : a <> 0 -> 0 < v + epsilon ->
  a * y / sqrt (a * a * v + a ^ 2 * epsilon) = a / Rabs a * (y / sqrt (v + epsilon)).
Proof.
  intros Ha H; rewrite root_scal; apply sqrt_lt_R0 in H.
  field; split; [lra|apply Rabs_no_R0, Ha].
Qed.

Lemma sign_pos a : 0 < a -> a / Rabs a = 1.
Proof. intros; rewrite Rabs_pos_eq by lra; field; lra. Qed.

Lemma sign_neg a : a < 0 -> a / Rabs a = -1.
Proof. intros; rewrite Rabs_left by lra; field; lra. Qed.

Lemma layer_norm_scal n gamma beta epsilon a x c : a <> 0 -> 0 < variance n x + epsilon ->
  layer_norm n gamma beta (a ^ 2 * epsilon) (fun c => a * x c) c
  = with_term beta c (with_factor gamma c (a / Rabs a * layer_norm n None None epsilon x c)).
Proof.
  intros Ha H; unfold layer_norm; rewrite mean_scal, variance_scal, <- Rmult_minus_distr_l, scaled_quotient; auto.
Qed.

(** NRM.P2 *)
Theorem layer_norm_is_invariant_to_positive_scale n gamma beta epsilon a x c :
  0 < a -> 0 < variance n x + epsilon ->
  layer_norm n gamma beta (a ^ 2 * epsilon) (fun c => a * x c) c = layer_norm n gamma beta epsilon x c.
Proof. intros Ha H; rewrite layer_norm_scal, sign_pos, Rmult_1_l by (assumption || lra); reflexivity. Qed.

Theorem layer_norm_changes_sign_with_negative_scale n gamma epsilon a x c :
  a < 0 -> 0 < variance n x + epsilon ->
  layer_norm n gamma None (a ^ 2 * epsilon) (fun c => a * x c) c = - layer_norm n gamma None epsilon x c.
Proof.
  intros Ha H; rewrite layer_norm_scal, sign_neg by (assumption || lra).
  unfold layer_norm; destruct gamma; simpl; ring.
Qed.

(** one and the same epsilon on both sides: at a channel away from the mean, and for a scale other than 1 *)
Theorem one_epsilon_is_invariant_only_if_zero n epsilon a x c :
  (c < n)%nat -> x c <> mean n x -> 0 <= epsilon -> 0 < a -> a <> 1 ->
  layer_norm n None None epsilon (fun c => a * x c) c = layer_norm n None None epsilon x c <-> epsilon = 0.
Proof.
  intros Hc Hx He Ha Ha1.
  assert (V : 0 < variance n x) by (apply (mean_square_pos n _ c Hc); unfold centred; lra).
  split; intros E.
  - unfold layer_norm in E; simpl in E; rewrite mean_scal, variance_scal in E.
    set (v := variance n x) in *; set (y := x c - mean n x) in *.
    replace (a * x c - a * mean n x) with (a * y) in E by (unfold y; ring).
    assert (P : 0 < sqrt (v + epsilon)) by (apply sqrt_lt_R0; lra).
    assert (W : 0 < a * a * v) by (apply (Rmult_lt_0_compat (a * a)); [apply (Rmult_lt_0_compat a)|]; assumption).
    assert (Q : 0 < sqrt (a * a * v + epsilon)) by (apply sqrt_lt_R0; lra).
    assert (S : a * sqrt (v + epsilon) = sqrt (a * a * v + epsilon)).
    { apply Rmult_eq_reg_l with (y / sqrt (a * a * v + epsilon) / sqrt (v + epsilon)).
      - transitivity (a * y / sqrt (a * a * v + epsilon)); [field; lra|].
        rewrite E; field; lra.
      - unfold Rdiv; repeat apply Rmult_integral_contrapositive_currified; try apply Rinv_neq_0_compat; unfold y; lra. }
    apply (f_equal (fun z => z * z)) in S.
    rewrite sqrt_sqrt in S by lra.
    replace (a * sqrt (v + epsilon) * (a * sqrt (v + epsilon)))
      with (a * a * (sqrt (v + epsilon) * sqrt (v + epsilon))) in S by ring.
    rewrite sqrt_sqrt in S by lra.
    assert (D : (a - 1) * (a + 1) * epsilon = 0) by lra.
    apply Rmult_integral in D; destruct D as [D|D]; [|exact D].
    apply Rmult_integral in D; destruct D; lra.
  - subst; pose proof (layer_norm_is_invariant_to_positive_scale n None None 0 a x c Ha) as I.
    rewrite Rmult_0_r in I; apply I; lra.
Qed.

(** NRM.P3 *)
Theorem rms_norm_is_invariant_to_positive_scale n gamma epsilon a x c :
  0 < a -> 0 < mean_square n x + epsilon ->
  rms_norm n gamma (a ^ 2 * epsilon) (fun c => a * x c) c = rms_norm n gamma epsilon x c.
Proof.
  intros Ha H; unfold rms_norm; rewrite mean_square_scal, scaled_quotient, sign_pos, Rmult_1_l by (assumption || lra).
  reflexivity.
Qed.

(** * What comes out *)

(** NRM.P6: row by row the same text *)
Theorem layer_norm_is_rms_norm_of_the_centred_row n gamma epsilon x c :
  layer_norm n gamma None epsilon x c = rms_norm n gamma epsilon (centred n x) c.
Proof. reflexivity. Qed.

Theorem norms_agree_on_rows_of_mean_zero n gamma epsilon x c :
  mean n x = 0 -> layer_norm n gamma None epsilon x c = rms_norm n gamma epsilon x c.
Proof.
  intros H; rewrite layer_norm_is_rms_norm_of_the_centred_row; unfold rms_norm.
  rewrite (mean_square_ext n (centred n x) x) by (intros; unfold centred; rewrite H; ring).
  unfold centred; rewrite H, Rminus_0_r; reflexivity.
Qed.

(** NRM.P4 *)
Theorem layer_norm_output_has_mean_zero n epsilon x : mean n (layer_norm n None None epsilon x) = 0.
Proof.
  unfold layer_norm; simpl; set (r := sqrt _).
  unfold mean at 1; rewrite (sum_ext _ _ (fun c => / r * centred n x c)) by (intros; unfold centred, Rdiv; ring).
  rewrite sum_scal; unfold Rdiv; rewrite Rmult_assoc; fold (mean n (centred n x)).
  change (sum (range n) (centred n x) * / INR n) with (mean n (centred n x)); rewrite mean_centred; ring.
Qed.

(** NRM.P7 *)
Theorem mean_square_of_rms_norm n epsilon x :
  0 < mean_square n x + epsilon ->
  mean_square n (rms_norm n None epsilon x) = mean_square n x / (mean_square n x + epsilon).
Proof.
  intros H; pose proof (sqrt_lt_R0 _ H) as P.
  rewrite (mean_square_ext n _ (fun c => / sqrt (mean_square n x + epsilon) * x c))
    by (intros; unfold rms_norm; simpl; unfold Rdiv; ring).
  rewrite mean_square_scal, <- Rinv_mult, sqrt_sqrt by lra; unfold Rdiv; apply Rmult_comm.
Qed.

(** with epsilon outside the root it is another number, but for one epsilon *)
Theorem epsilon_outside_the_root_gives_another_mean_square n epsilon x :
  (exists c, (c < n)%nat /\ x c <> 0) -> 0 < epsilon ->
  let r := sqrt (mean_square n x) in
  mean_square n (fun c => x c / (r + epsilon)) = mean_square n x / (mean_square n x + epsilon)
  <-> epsilon = 1 - 2 * r.
Proof.
  intros [c [Hc Hx]] He r; pose proof (mean_square_pos n x c Hc Hx) as S.
  assert (R0 : 0 < r) by (apply sqrt_lt_R0, S).
  assert (E : mean_square n x = r * r) by (symmetry; apply sqrt_sqrt; lra).
  rewrite (mean_square_ext n _ (fun c => / (r + epsilon) * x c)) by (intros; unfold Rdiv; ring).
  rewrite mean_square_scal, E.
  assert (D : / (r + epsilon) * / (r + epsilon) * (r * r) - r * r / (r * r + epsilon)
              = r * r * epsilon / ((r + epsilon) * (r + epsilon) * (r * r + epsilon)) * (1 - 2 * r - epsilon))
    by (field; nra).
  assert (F : r * r * epsilon / ((r + epsilon) * (r + epsilon) * (r * r + epsilon)) <> 0).
  { apply Rgt_not_eq, Rdiv_lt_0_compat; [nra|]; repeat apply Rmult_lt_0_compat; nra. }
  split; intros H.
  - rewrite H, Rminus_diag_eq in D by reflexivity; symmetry in D; apply Rmult_integral in D; destruct D; lra.
  - apply Rminus_diag_uniq; rewrite D, <- H; ring.
Qed.

(** NRM.P5 *)
Theorem layer_norm_output_has_its_variance n epsilon x :
  0 < variance n x + epsilon ->
  variance n (layer_norm n None None epsilon x) = variance n x / (variance n x + epsilon).
Proof.
  intros H; transitivity (mean_square n (rms_norm n None epsilon (centred n x)));
    [|exact (mean_square_of_rms_norm n epsilon (centred n x) H)].
  apply mean_square_ext; intros c _; unfold centred at 1; rewrite layer_norm_output_has_mean_zero.
  apply Rminus_0_r.
Qed.

Theorem variance_of_layer_norm_is_one_without_epsilon n x :
  0 < variance n x -> variance n (layer_norm n None None 0 x) = 1.
Proof. intros H; rewrite layer_norm_output_has_its_variance by lra; field; lra. Qed.

Theorem variance_of_layer_norm_is_less_than_one_with_epsilon n epsilon x :
  0 < epsilon -> variance n (layer_norm n None None epsilon x) < 1.
Proof.
  intros H; pose proof (variance_nonneg n x); rewrite layer_norm_output_has_its_variance by lra.
  apply Rmult_lt_reg_r with (variance n x + epsilon); [lra|]; unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra; lra.
Qed.

(** NRM.P9 *)
Theorem gamma_and_beta_come_last n gamma beta epsilon x c :
  let y := layer_norm n None None epsilon x c in
  layer_norm n (Some gamma) (Some beta) epsilon x c = y * gamma c + beta c
  /\ layer_norm n None (Some beta) epsilon x c = y + beta c
  /\ layer_norm n (Some gamma) None epsilon x c = y * gamma c.
Proof. repeat split. Qed.

Theorem gamma_comes_last n gamma epsilon x c :
  rms_norm n (Some gamma) epsilon x c = rms_norm n None epsilon x c * gamma c.
Proof. reflexivity. Qed.

Theorem gamma_of_ones_is_no_gamma n beta epsilon x c :
  layer_norm n (Some (fun _ => 1)) beta epsilon x c = layer_norm n None beta epsilon x c
  /\ rms_norm n (Some (fun _ => 1)) epsilon x c = rms_norm n None epsilon x c.
Proof. unfold layer_norm, rms_norm; simpl; rewrite !Rmult_1_r; split; reflexivity. Qed.

(** * Examples *)

Lemma NRM_E1 :
  let x c := nth c [2; 4; 4; 4; 5; 5; 7; 9] 0 in
  let gamma (_ : nat) := 5 in
  let beta c := INR (c + 1) in
  mean 8 x = 5 /\ variance 8 x = 4
  /\ map (layer_norm 8 None None 0 x) (range 8) = [-3/2; -1/2; -1/2; -1/2; 0; 0; 1; 2]
  /\ map (layer_norm 8 None None (9/4) x) (range 8) = [-6/5; -2/5; -2/5; -2/5; 0; 0; 4/5; 8/5]
  /\ map (layer_norm 8 (Some gamma) (Some beta) (9/4) x) (range 8) = [-5; 0; 1; 2; 5; 6; 11; 16].
Proof.
  intros x gamma beta.
  assert (M : mean 8 x = 5) by (unfold mean, x; simpl; lra).
  assert (V : variance 8 x = 4) by (unfold variance, mean_square, dot, centred; rewrite M; unfold x; simpl; lra).
  assert (S0 : sqrt (4 + 0) = 2) by (replace (4 + 0) with (2 * 2) by ring; apply sqrt_square; lra).
  assert (S1 : sqrt (4 + 9/4) = 5/2) by (replace (4 + 9/4) with (5/2 * (5/2)) by field; apply sqrt_square; lra).
  split; [exact M|split; [exact V|]].
  repeat split; unfold layer_norm, map; rewrite M, V, ?S0, ?S1; unfold range, x, gamma, beta; simpl;
    repeat (apply (f_equal2 cons); [lra|]); reflexivity.
Qed.

Lemma NRM_E2 :
  let x c := nth c [1; 7] 0 in
  let gamma c := nth c [2; -1] 0 in
  mean_square 2 x = 25
  /\ map (rms_norm 2 None 0 x) (range 2) = [1/5; 7/5]
  /\ map (rms_norm 2 None 11 x) (range 2) = [1/6; 7/6]
  /\ map (rms_norm 2 (Some gamma) 11 x) (range 2) = [1/3; -7/6].
Proof.
  intros x gamma.
  assert (M : mean_square 2 x = 25) by (unfold mean_square, dot, x; simpl; lra).
  assert (S0 : sqrt (25 + 0) = 5) by (replace (25 + 0) with (5 * 5) by ring; apply sqrt_square; lra).
  assert (S1 : sqrt (25 + 11) = 6) by (replace (25 + 11) with (6 * 6) by ring; apply sqrt_square; lra).
  split; [exact M|].
  repeat split; unfold rms_norm, map; rewrite M, ?S0, ?S1; unfold range, x, gamma; simpl;
    repeat (apply (f_equal2 cons); [lra|]); reflexivity.
Qed.
