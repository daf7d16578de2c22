(** DEC.P1 in every arithmetic. The lines of the page are functions of rows, of numbers of any type T, that obey no law:
    what is shown holds bit for bit. At the end the page definitions/DEC.v is shown to be of that form. *)
From Attest Require Export Online Block.

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
