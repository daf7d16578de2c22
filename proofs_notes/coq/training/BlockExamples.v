(** The first loss of a block, and the examples of the decoder block. *)
From Attest Require Export Block Loss.

(** TRN.P3 *)
Theorem first_loss_is_the_logarithm_of_the_vocabulary N drawn tokens targets :
  (0 < places N)%nat -> (forall i, (i < places N)%nat -> (targets i < vocabulary N)%nat) ->
  loss_of N (initial_decoder drawn) tokens targets = ln (INR (vocabulary N)).
Proof.
  intros HS Ht; assert (HV := Ht 0%nat HS).
  apply (equal_logits_have_the_loss_ln_V _ _ _ _ 0); [exact HS|lia|exact Ht|].
  intros i c _ _; apply (zero_linear (channels N) (Linear (fun _ _ => 0) (fun _ => 0))); split; reflexivity.
Qed.

(** DEC.D16 *)
Lemma a_block_learns_19_slots N : length (decoder_slots N) = 19%nat.
Proof. reflexivity. Qed.

(** TRN.D9 *)
Lemma targets_of_the_sequence_are_its_next_tokens V i : repeating_target V i = repeating_token V (i + 1).
Proof. reflexivity. Qed.

(** * Embedding *)

Definition E1_table : matrix := fun t c => nth c (nth t [[1; 2]; [3; 4]; [5; 6]] []) 0.
Definition E1_tokens : nat -> nat := fun i => nth i [2; 0; 2]%nat 0%nat.
Definition E1_cotangents : matrix := fun i c => nth c (nth i [[1; 2]; [3; 4]; [10; 20]] []) 0.

Lemma DEC_E1_embedding i c :
  (i < 3)%nat -> embedding E1_table E1_tokens i c = nth c (nth i [[5; 6]; [1; 2]; [5; 6]] []) 0.
Proof. intros Hi; do 3 (destruct i as [|i]; [reflexivity|]); lia. Qed.

Lemma DEC_E1_gradient t c : (t < 3)%nat -> (c < 2)%nat ->
  embedding_gradient 3 E1_tokens E1_cotangents t c = nth c (nth t [[3; 4]; [0; 0]; [11; 22]] []) 0.
Proof.
  intros Ht Hc; do 3 (destruct t as [|t]; [do 2 (destruct c as [|c]; [cbn; ring|]); lia|]); lia.
Qed.

(** * DEC.E2: two places, two channels *)

(** entries (0, 0), (0, 1), (1, 0), (1, 1) of a matrix *)
Definition entries_are (X : matrix) (a b c d : R) : Prop :=
  X 0%nat 0%nat = a /\ X 0%nat 1%nat = b /\ X 1%nat 0%nat = c /\ X 1%nat 1%nat = d.

Definition pair_of (a b : R) : row := fun c => match c with O => a | _ => b end.
Definition diagonal (a b : R) : matrix := fun i n => match i, n with O, O => a | 1%nat, 1%nat => b | _, _ => 0 end.
Definition unit_norm : norm_map := Norm (fun _ => 1) (fun _ => 0).
Definition identity : linear_map := Linear (diagonal 1 1) (fun _ => 0).
Definition E2_extents := DecoderExtents 2 2 2 2 0.
Definition E2_scale : R := ln 3 / (2 * sqrt 2).
Definition E2_block : decoder :=
  Decoder (fun t => match t with O => pair_of 3 1 | _ => pair_of 0 2 end)
    unit_norm (Linear (diagonal E2_scale E2_scale) (fun _ => 0)) identity identity identity
    unit_norm identity (Linear (diagonal 1 2) (pair_of 0 1)) (Linear (diagonal 1 1) (pair_of 1 (-1))).
Definition E2_stages : stages := decoder_block E2_extents E2_block (fun i => i).

(** a norm of two channels *)
Lemma norm_of_two x c : layer_norm 2 (Some (fun _ => 1)) (Some (fun _ => 0)) 0 x c
  = (x c - (x 0%nat + x 1%nat) / 2) / (Rabs (x 0%nat - x 1%nat) / 2).
Proof.
  unfold layer_norm; replace (variance 2 x + 0) with (Rsqr ((x 0%nat - x 1%nat) / 2)).
  - rewrite sqrt_Rsqr_abs; unfold Rdiv at 2; rewrite Rabs_mult, (Rabs_right (/ 2)) by lra.
    unfold mean; simpl; unfold Rdiv; rewrite Rplus_0_r, Rmult_1_r, Rplus_0_r; reflexivity.
  - unfold variance, mean_square, centred, mean, dot, Rsqr; simpl; field.
Qed.

(** rows (a, b) and (c, d) with a > b and c < d *)
Lemma normed_entries X a b c d :
  entries_are X a b c d -> b < a -> c < d -> entries_are (normed E2_extents unit_norm X) 1 (-1) (-1) 1.
Proof.
  intros (A & B & C & D) H G; unfold entries_are, normed, normed_rows, unit_norm, E2_extents.
  cbn [channels factors terms norm_epsilon]; rewrite !norm_of_two, A, B, C, D.
  rewrite Rabs_right, Rabs_left by lra; repeat split; field; lra.
Qed.

Lemma linear_entries m X a b c d :
  entries_are X a b c d ->
  entries_are (linear 2 m X)
    (a * factor m 0%nat 0%nat + b * factor m 1%nat 0%nat + term m 0%nat)
    (a * factor m 0%nat 1%nat + b * factor m 1%nat 1%nat + term m 1%nat)
    (c * factor m 0%nat 0%nat + d * factor m 1%nat 0%nat + term m 0%nat)
    (c * factor m 0%nat 1%nat + d * factor m 1%nat 1%nat + term m 1%nat).
Proof.
  intros (A & B & C & D); unfold entries_are, linear, affine, dot; simpl; rewrite A, B, C, D; repeat split; ring.
Qed.

Lemma entries_equal X a b c d a' b' c' d' :
  entries_are X a b c d -> a = a' -> b = b' -> c = c' -> d = d' -> entries_are X a' b' c' d'.
Proof. intros H <- <- <- <-; exact H. Qed.

Lemma residual_entries X Y a b c d a' b' c' d' :
  entries_are X a b c d -> entries_are Y a' b' c' d' ->
  entries_are (both X Y) (a + a') (b + b') (c + c') (d + d').
Proof.
  intros (A & B & C & D) (A' & B' & C' & D'); unfold entries_are, both, residual.
  rewrite A, B, C, D, A', B', C', D'; auto.
Qed.

(** scores of row 1 are - ln 3 / 2 and ln 3 / 2 *)
Lemma attended_entries Q K :
  entries_are Q E2_scale (- E2_scale) (- E2_scale) E2_scale -> entries_are K 1 (-1) (-1) 1 ->
  entries_are (attend_causally E2_extents Q K K) 1 (-1) (-1/2) (1/2).
Proof.
  intros (_ & _ & Q0 & Q1) (A & B & C & D).
  assert (R0 : sqrt 2 <> 0) by (apply Rgt_not_eq, sqrt_lt_R0; lra).
  assert (R2 : sqrt 2 * sqrt 2 = 2) by (apply sqrt_sqrt; lra).
  assert (E0 : 1 / sqrt 2 * (1 * (- E2_scale * 1 + (E2_scale * -1 + 0))) = - (ln 3 / 2)).
  { rewrite <- R2 at 2; unfold E2_scale; field; exact R0. }
  assert (E1 : 1 / sqrt 2 * (1 * (- E2_scale * -1 + (E2_scale * 1 + 0))) = ln 3 / 2).
  { rewrite <- R2 at 2; unfold E2_scale; field; exact R0. }
  assert (P : 0 < exp (ln 3 / 2)) by apply exp_pos.
  assert (S3 : exp (ln 3 / 2) * exp (ln 3 / 2) = 3).
  { rewrite <- exp_plus; replace (ln 3 / 2 + ln 3 / 2) with (ln 3) by field; apply exp_ln; lra. }
  unfold entries_are, attend_causally, attended_rows, attend_row, weighted_values, total, row_logits, dot.
  change (row_keys (causal_head (places E2_extents) (channels E2_extents)) 0) with (0%nat :: nil).
  change (row_keys (causal_head (places E2_extents) (channels E2_extents)) 1) with (0%nat :: 1%nat :: nil).
  simpl; rewrite A, B, C, D, Q0, Q1.
  replace (1 + 1) with 2 by ring; rewrite E0, E1, !Rplus_0_r, exp_Ropp.
  set (e := exp (ln 3 / 2)) in *; set (first := exp _); assert (N : first <> 0) by apply Rgt_not_eq, exp_pos.
  assert (T : / e + e = 4 / e) by (apply (Rmult_eq_reg_l e); [field_simplify; lra|lra]).
  rewrite T; repeat split; try (field; exact N).
  - replace (1 * ((/ e * 1 + e * -1) / (4 / e))) with ((1 - e * e) / 4) by (field; lra); rewrite S3; field.
  - replace (1 * ((/ e * -1 + e * 1) / (4 / e))) with ((e * e - 1) / 4) by (field; lra); rewrite S3; field.
Qed.

Lemma DEC_E2 :
  entries_are (stage_x E2_stages) 3 1 0 2 /\ entries_are (stage_n E2_stages) 1 (-1) (-1) 1 /\
  entries_are (stage_a E2_stages) 1 (-1) (-1/2) (1/2) /\ entries_are (stage_x1 E2_stages) 4 0 (-1/2) (5/2) /\
  entries_are (stage_n1 E2_stages) 1 (-1) (-1) 1 /\ entries_are (stage_r E2_stages) 1 0 0 1 /\
  entries_are (stage_x2 E2_stages) 5 1 (-1/2) (11/2) /\ entries_are (logits E2_stages) 6 0 (1/2) (9/2).
Proof.
  assert (X : entries_are (stage_x E2_stages) 3 1 0 2) by (repeat split).
  assert (N : entries_are (stage_n E2_stages) 1 (-1) (-1) 1) by (apply (normed_entries _ _ _ _ _ X); lra).
  assert (Q : entries_are (stage_q E2_stages) E2_scale (- E2_scale) (- E2_scale) E2_scale)
    by (apply (entries_equal _ _ _ _ _ _ _ _ _ (linear_entries (wq E2_block) _ _ _ _ _ N)); simpl; ring).
  assert (K : entries_are (stage_k E2_stages) 1 (-1) (-1) 1)
    by (apply (entries_equal _ _ _ _ _ _ _ _ _ (linear_entries (wk E2_block) _ _ _ _ _ N)); simpl; ring).
  assert (A : entries_are (stage_a E2_stages) 1 (-1) (-1/2) (1/2)) by exact (attended_entries _ _ Q K).
  assert (X1 : entries_are (stage_x1 E2_stages) 4 0 (-1/2) (5/2)).
  { apply (entries_equal _ _ _ _ _ _ _ _ _ (residual_entries _ _ _ _ _ _ _ _ _ _ X
      (linear_entries (wo E2_block) _ _ _ _ _ A))); simpl; field. }
  assert (N1 : entries_are (stage_n1 E2_stages) 1 (-1) (-1) 1) by (apply (normed_entries _ _ _ _ _ X1); lra).
  assert (F : entries_are (stage_f E2_stages) 1 (-1) (-1) 1)
    by (apply (entries_equal _ _ _ _ _ _ _ _ _ (linear_entries (ff1 E2_block) _ _ _ _ _ N1)); simpl; ring).
  assert (M : entries_are (stage_r E2_stages) 1 0 0 1).
  { destruct F as (F0 & F1 & F2 & F3); change (stage_r E2_stages) with (rectified (stage_f E2_stages)).
    unfold entries_are, rectified, relu, positive_part; rewrite F0, F1, F2, F3, !Rmax_left, !Rmax_right by lra; auto. }
  assert (X2 : entries_are (stage_x2 E2_stages) 5 1 (-1/2) (11/2)).
  { apply (entries_equal _ _ _ _ _ _ _ _ _ (residual_entries _ _ _ _ _ _ _ _ _ _ X1
      (linear_entries (ff2 E2_block) _ _ _ _ _ M))); simpl; field. }
  assert (L : entries_are (logits E2_stages) 6 0 (1/2) (9/2))
    by (apply (entries_equal _ _ _ _ _ _ _ _ _ (linear_entries (unembed E2_block) _ _ _ _ _ X2)); simpl; field).
  exact (conj X (conj N (conj A (conj X1 (conj N1 (conj M (conj X2 L))))))).
Qed.
