(** The decoder block: rows see only earlier rows, a block that adds nothing, and the bias of the keys. Then: rows see only
    earlier rows in every arithmetic. *)
From Attest Require Export Online.

(** * Each line of the page makes row i from few rows of what it is given *)

(** the rows below n are equal, entry by entry *)
Definition equal_below (n : nat) (X Y : matrix) : Prop := forall i c, (i < n)%nat -> X i c = Y i c.

Lemma dot_ext d q q' k k' : (forall c, q c = q' c) -> (forall c, k c = k' c) -> dot d q k = dot d q' k'.
Proof. intros Hq Hk; apply sum_ext; intros c _; rewrite Hq, Hk; reflexivity. Qed.

Lemma layer_norm_ext n gamma beta epsilon x y c :
  (forall c, x c = y c) -> layer_norm n gamma beta epsilon x c = layer_norm n gamma beta epsilon y c.
Proof.
  intros H; assert (M : mean n x = mean n y) by (unfold mean; f_equal; apply sum_ext; auto).
  unfold layer_norm, variance, mean_square; rewrite M, H.
  rewrite (dot_ext n (centred n x) (centred n y) (centred n x) (centred n y)); [reflexivity| |];
    intros k; unfold centred; rewrite M, H; reflexivity.
Qed.

Lemma affine_ext I W b X Y s n :
  (forall m, (m < I)%nat -> X s m = Y s m) -> affine I W b X s n = affine I W b Y s n.
Proof. intros H; unfold affine; f_equal; apply sum_ext; intros m Hm; apply in_range in Hm; rewrite H; auto. Qed.

Lemma attend_row_ext h Q Q' K K' V V' bias i c :
  (forall e, Q i e = Q' i e) ->
  (forall j e, In j (row_keys h i) -> K j e = K' j e) -> (forall j, In j (row_keys h i) -> V j c = V' j c) ->
  attend_row h Q K V bias None i c = attend_row h Q' K' V' bias None i c.
Proof.
  intros HQ HK HV; unfold attend_row, weighted_values, total.
  assert (E : forall j, In j (row_keys h i) -> row_logits h Q K bias i j = row_logits h Q' K' bias i j).
  { intros j Hj; unfold row_logits; do 2 f_equal; apply dot_ext; [apply HQ|intros; apply HK, Hj]. }
  f_equal; f_equal; [apply sum_ext|f_equal; apply sum_ext]; intros j Hj.
  - apply filter_In in Hj; rewrite E, HV by tauto; reflexivity.
  - rewrite E by exact Hj; reflexivity.
Qed.

Lemma causal_keys S d i j : In j (row_keys (causal_head S d) i) <-> (j < S)%nat /\ (j <= i)%nat.
Proof.
  unfold row_keys, causal_head, causal; simpl; rewrite in_gathered, Z.leb_le; lia.
Qed.

Section Below.
  Variables (N : decoder_extents) (n : nat).

  Lemma embedded_below table t t' :
    (forall i, (i < n)%nat -> t i = t' i) -> equal_below n (embedded table t) (embedded table t').
  Proof. intros H i c Hi; unfold embedded, embedding; rewrite H; auto. Qed.

  Lemma normed_below p X Y : equal_below n X Y -> equal_below n (normed N p X) (normed N p Y).
  Proof. intros H i c Hi; apply layer_norm_ext; intros; apply H, Hi. Qed.

  Lemma linear_below I m X Y : equal_below n X Y -> equal_below n (linear I m X) (linear I m Y).
  Proof. intros H i c Hi; apply affine_ext; intros; apply H, Hi. Qed.

  Lemma rectified_below X Y : equal_below n X Y -> equal_below n (rectified X) (rectified Y).
  Proof. intros H i c Hi; unfold rectified; rewrite H; auto. Qed.

  Lemma both_below X X' Y Y' : equal_below n X X' -> equal_below n Y Y' -> equal_below n (both X Y) (both X' Y').
  Proof. intros H G i c Hi; unfold both, residual; rewrite H, G; auto. Qed.

  (** the keys that a row sees are not after it *)
  Lemma attended_below Q Q' K K' V V' :
    equal_below n Q Q' -> equal_below n K K' -> equal_below n V V' ->
    equal_below n (attend_causally N Q K V) (attend_causally N Q' K' V').
  Proof.
    intros HQ HK HV i c Hi; apply attend_row_ext; [auto| |];
      intros j; [intros e|]; rewrite causal_keys; intros Hj; [apply HK|apply HV]; lia.
  Qed.
End Below.

(** goes up the page, line by line *)
Ltac line_by_line :=
  repeat lazymatch goal with
  | |- equal_below _ (linear _ _ _) _ => apply linear_below
  | |- equal_below _ (both _ _) _ => apply both_below
  | |- equal_below _ (rectified _) _ => apply rectified_below
  | |- equal_below _ (normed _ _ _) _ => apply normed_below
  end.

(** DEC.P1, in the reals *)
Theorem changing_a_token_leaves_earlier_logits_equal N w tokens tokens' j :
  (forall i, (i < j)%nat -> tokens i = tokens' i) ->
  forall i c, (i < j)%nat -> logits (decoder_block N w tokens) i c = logits (decoder_block N w tokens') i c.
Proof.
  intros H; change (equal_below j (logits (decoder_block N w tokens)) (logits (decoder_block N w tokens'))).
  unfold decoder_block; cbn [logits].
  assert (X := embedded_below j (embed w) _ _ H).
  line_by_line; try exact X; apply attended_below; line_by_line; exact X.
Qed.

(** * A block that adds nothing *)

Definition is_zero (m : linear_map) : Prop := (forall i c, factor m i c = 0) /\ (forall c, term m c = 0).

Lemma zero_linear I m X i c : is_zero m -> linear I m X i c = 0.
Proof.
  intros [HW Hb]; unfold linear, affine, dot; rewrite Hb, sum_zero; [ring|].
  intros j _; rewrite HW; ring.
Qed.

(** DEC.P3, in the reals *)
Theorem a_block_that_adds_nothing_passes_its_embeddings_on N w tokens i c :
  is_zero (wo w) -> is_zero (ff2 w) ->
  logits (decoder_block N w tokens) i c = linear (channels N) (unembed w) (embedded (embed w) tokens) i c.
Proof.
  intros Ho Hf; unfold decoder_block; cbn [logits]; apply affine_ext; intros m _.
  unfold both, residual; rewrite !zero_linear by assumption; ring.
Qed.

(** * The bias of the keys *)

Definition with_key_bias (b : row) (w : decoder) : decoder :=
  Decoder (embed w) (norm1 w) (wq w) (Linear (factor (wk w)) b) (wv w) (wo w) (norm2 w) (ff1 w) (ff2 w) (unembed w).

(** for b = 0 too, where both are 0 *)
Lemma common_factor a b k : k <> 0 -> a * k / (b * k) = a / b.
Proof.
  intros Hk; destruct (Req_dec b 0) as [->|Hb]; [|field; auto].
  unfold Rdiv; rewrite Rmult_0_l, Rinv_0; ring.
Qed.

(** what is common to the keys of a row is common to its logits, and softmax does not see it *)
Lemma common_term_of_the_keys N Q K K' V (b : row) i c :
  (forall j e, K' j e = K j e + b e) -> attend_causally N Q K' V i c = attend_causally N Q K V i c.
Proof.
  intros HK; unfold attend_causally, attended_rows, attend_row, weighted_values, total.
  set (h := causal_head (places N) (channels N)).
  set (l := row_logits h Q K (fun _ _ => 0) i).
  assert (E : forall j, row_logits h Q K' (fun _ _ => 0) i j = l j + scale h * (descale h * dot (width h) (Q i) b)).
  { intros j; unfold l, row_logits, logit, dot; simpl.
    rewrite (sum_ext (range (channels N)) _ (fun e => Q i e * K j e + Q i e * b e))
      by (intros; rewrite HK; ring).
    rewrite sum_plus; ring. }
  set (d := scale h * _) in E.
  rewrite (sum_ext _ _ (fun j => exp (l j) * V j c * exp d)) by (intros; rewrite E, exp_plus; ring).
  rewrite (sum_ext (row_keys h i) _ (fun j => exp (l j) * exp d)) by (intros; rewrite E, exp_plus; ring).
  rewrite !sum_scal_r, !Rplus_0_r, common_factor by (apply Rgt_not_eq, exp_pos); reflexivity.
Qed.

(** DEC.P4 *)
Theorem the_bias_of_the_keys_changes_nothing N w tokens b i c :
  logits (decoder_block N (with_key_bias b w) tokens) i c = logits (decoder_block N w tokens) i c.
Proof.
  apply (fun H => H (S i) i c (Nat.lt_succ_diag_r i)); intros n.
  change (equal_below n (logits (decoder_block N (with_key_bias b w) tokens)) (logits (decoder_block N w tokens))).
  assert (R : forall X, equal_below n X X) by (intros X j e _; reflexivity).
  unfold decoder_block, with_key_bias; cbn [logits embed norm1 wq wk wv wo norm2 ff1 ff2 unembed].
  set (x := embedded _ _); set (k := linear _ (wk w) _).
  assert (A : forall q v, equal_below n
    (attend_causally N q (linear (channels N) (Linear (factor (wk w)) b) (normed N (norm1 w) x)) v)
                                    (attend_causally N q k v)).
  { intros q v j e _; apply (common_term_of_the_keys N q k _ v (fun e => b e - term (wk w) e)).
    intros j' e'; unfold k, linear, affine; simpl; ring. }
  line_by_line; auto.
Qed.

(** * DEC.P1 in every arithmetic. The lines of the page are functions of rows, of numbers of any type T, that obey no law:
    what is shown holds bit for bit. At the end the page definitions/DEC.v is shown to be of that form. *)

Section Lines.
  Context {T : Type}.
  Notation numbers_row := (nat -> T).

  (** a line makes a row from a row; attention makes one from a query and the list of visible keys with their values *)
  Record lines := Lines {
    embed_line : nat -> numbers_row;
    norm1_line : numbers_row -> numbers_row;
    q_line : numbers_row -> numbers_row;  k_line : numbers_row -> numbers_row;  v_line : numbers_row -> numbers_row;
    attend_line : numbers_row -> list (numbers_row * numbers_row) -> numbers_row;
    o_line : numbers_row -> numbers_row;
    sum_line : numbers_row -> numbers_row -> numbers_row;
    norm2_line : numbers_row -> numbers_row;
    ff1_line : numbers_row -> numbers_row;
    relu_line : numbers_row -> numbers_row;
    ff2_line : numbers_row -> numbers_row;
    unembed_line : numbers_row -> numbers_row
  }.

  (** row i of the logits of a block of S places *)
  Definition page_row (P : lines) (S : nat) (tokens : nat -> nat) (i : nat) : numbers_row :=
    let x j := embed_line P (tokens j) in
    let n j := norm1_line P (x j) in
    let seen := map (fun j => (k_line P (n j), v_line P (n j))) (gathered S (causal (Z.of_nat i))) in
    let x1 := sum_line P (x i) (o_line P (attend_line P (q_line P (n i)) seen)) in
    unembed_line P (sum_line P x1 (ff2_line P (relu_line P (ff1_line P (norm2_line P x1))))).

  (** DEC.P1 *)
  Theorem changing_a_token_leaves_earlier_logits_equal_in_every_arithmetic P S tokens tokens' j i :
    (forall k, (k < j)%nat -> tokens k = tokens' k) -> (i < j)%nat -> page_row P S tokens i = page_row P S tokens' i.
  Proof.
    intros H Hi; unfold page_row; rewrite (H i Hi).
    assert (E : map (fun k => (k_line P (norm1_line P (embed_line P (tokens k))),
                               v_line P (norm1_line P (embed_line P (tokens k))))) (gathered S (causal (Z.of_nat i)))
              = map (fun k => (k_line P (norm1_line P (embed_line P (tokens' k))),
                               v_line P (norm1_line P (embed_line P (tokens' k))))) (gathered S (causal (Z.of_nat i)))).
    { apply map_ext_in; intros k Hk; apply in_gathered in Hk; destruct Hk as [_ Hk]; apply Z.leb_le in Hk.
      rewrite (H k) by lia; reflexivity. }
    rewrite E; reflexivity.
  Qed.
End Lines.
Arguments lines : clear implicits.

(** * The page definitions/DEC.v *)

Lemma sum_map {A B} (f : A -> B) l (g : B -> R) : sum (map f l) g = sum l (fun a => g (f a)).
Proof. induction l as [|a l IH]; simpl; [|rewrite IH]; reflexivity. Qed.

(** softmax of the scores of the visible keys, times their values *)
Definition attend_pairs (E : nat) (q : row) (seen : list (row * row)) : row := fun c =>
  sum seen (fun p => exp (score (1 / sqrt (INR E)) E q (fst p)) * snd p c)
  / sum seen (fun p => exp (score (1 / sqrt (INR E)) E q (fst p))).
Definition linear_line (I : nat) (m : linear_map) (r : row) : row := linear I m (fun _ => r) 0%nat.
Definition norm_line (N : decoder_extents) (p : norm_map) (r : row) : row := normed N p (fun _ => r) 0%nat.

Definition lines_of (N : decoder_extents) (w : decoder) : lines R := {|
  embed_line := embed w;
  norm1_line := norm_line N (norm1 w);
  q_line := linear_line (channels N) (wq w);
  k_line := linear_line (channels N) (wk w);
  v_line := linear_line (channels N) (wv w);
  attend_line := attend_pairs (channels N);
  o_line := linear_line (channels N) (wo w);
  sum_line := fun r s c => r c + s c;
  norm2_line := norm_line N (norm2 w);
  ff1_line := linear_line (channels N) (ff1 w);
  relu_line := fun r c => relu (r c);
  ff2_line := linear_line (hidden N) (ff2 w);
  unembed_line := linear_line (channels N) (unembed w)
|}.

Lemma attended_pairs N Q K V i c :
  attend_causally N Q K V i c =
  attend_pairs (channels N) (Q i) (map (fun j => (K j, V j)) (gathered (places N) (causal (Z.of_nat i)))) c.
Proof.
  unfold attend_causally, attended_rows, attend_row, weighted_values, total, attend_pairs; rewrite !sum_map.
  unfold row_keys; cbn [value_factor kept key_count visible causal_head fst snd].
  rewrite Rmult_1_l, Rplus_0_r, filter_true.
  assert (E : forall j, row_logits (causal_head (places N) (channels N)) Q K (fun _ _ => 0) i j
                        = score (1 / sqrt (INR (channels N))) (channels N) (Q i) (K j))
    by (intros j; unfold row_logits, logit, score; simpl; rewrite Rplus_0_r, Rmult_1_l; reflexivity).
  apply (f_equal2 Rdiv); apply sum_ext; intros j _; rewrite E; reflexivity.
Qed.

Theorem decoder_block_is_made_of_lines N w tokens i c :
  logits (decoder_block N w tokens) i c = page_row (lines_of N w) (places N) tokens i c.
Proof.
  pose (x := embedded (embed w) tokens); pose (n := normed N (norm1 w) x).
  pose (a := fun i => attend_pairs (channels N) (linear (channels N) (wq w) n i)
    (map (fun j => (linear (channels N) (wk w) n j, linear (channels N) (wv w) n j))
         (gathered (places N) (causal (Z.of_nat i))))).
  pose (x1 := both x (linear (channels N) (wo w) a)).
  change (page_row (lines_of N w) (places N) tokens i c) with
    (linear (channels N) (unembed w) (both x1 (linear (hidden N) (ff2 w)
       (rectified (linear (channels N) (ff1 w) (normed N (norm2 w) x1))))) i c).
  assert (R0 : forall X, equal_below (S i) X X) by (intros X k e _; reflexivity).
  assert (A : equal_below (S i) (attend_causally N (linear (channels N) (wq w) n) (linear (channels N) (wk w) n)
                                   (linear (channels N) (wv w) n)) a) by (intros k e _; apply attended_pairs).
  refine ((_ : equal_below (S i) (logits (decoder_block N w tokens)) _) i c (Nat.lt_succ_diag_r i)).
  unfold decoder_block; cbn [logits]; fold x; fold n; unfold x1; line_by_line; auto.
Qed.
