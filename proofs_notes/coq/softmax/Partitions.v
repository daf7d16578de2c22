(** Every way to cut a row into pieces and merge them gives the whole row: streams, trees, means by log-sum-exps. *)
From Attest Require Export Online.

(** ** Streams *)

Lemma stream_from_stands_for_keys pieces l V sink keys b :
  stands_for_keys keys sink l V b ->
  stands_for_keys (keys ++ concat (map piece_keys pieces)) sink l V (stream_from b pieces l V).
Proof.
  revert keys b; induction pieces as [|p rest IH]; intros keys b H; simpl.
  - rewrite app_nil_r; exact H.
  - rewrite app_assoc; apply IH, merge_stands_for_keys; [exact H|apply block_of_stands_for_keys].
Qed.

(** ONL.D6: pieces that make up the keys, merged from the left; the sink, where there is one, comes first *)
Theorem streamed_row_is_the_row sink pieces l V :
  is_the_row (streamed_row sink pieces l V) (concat (map piece_keys pieces)) sink l V.
Proof.
  apply finish_is_the_row; apply (stream_from_stands_for_keys pieces l V sink []), start_block_stands_for_keys.
Qed.

(** [n_1; ...; n_r] cuts a list into its first n_1 entries, the next n_2, and so on *)
Fixpoint cut (sizes : list nat) (keys : list nat) : list (list nat) :=
  match sizes with
  | [] => []
  | n :: rest => firstn n keys :: cut rest (skipn n keys)
  end.

(** the pieces of a partition into sizes; piece number i has the shift c i, and is merged with the shift m i *)
Fixpoint pieces_of (i : nat) (parts : list (list nat)) (c m : nat -> R) : list piece :=
  match parts with
  | [] => []
  | keys :: rest => Piece keys (c i) (m i) :: pieces_of (S i) rest c m
  end.

Lemma cut_is_a_partition sizes keys : list_sum sizes = length keys -> concat (cut sizes keys) = keys.
Proof.
  revert keys; induction sizes as [|n rest IH]; intros keys H; simpl in *.
  - destruct keys; [reflexivity|discriminate].
  - rewrite IH; [apply firstn_skipn|]; rewrite skipn_length; lia.
Qed.

Lemma pieces_of_keys i parts c m : map piece_keys (pieces_of i parts c m) = parts.
Proof. revert i; induction parts as [|keys rest IH]; intros i; simpl; [|rewrite IH]; reflexivity. Qed.

(** ONL.P4: the output and the log-sum-exp, for every partition n_1 + ... + n_r = n (pieces without keys and rows
    without keys among them) and all shifts *)
Theorem any_partition_gives_the_whole_row sizes keys c m l V :
  list_sum sizes = length keys ->
  is_the_row (finish (stream (pieces_of 0 (cut sizes keys) c m) l V)) keys None l V.
Proof.
  intros H; pose proof (streamed_row_is_the_row None (pieces_of 0 (cut sizes keys) c m) l V) as S.
  rewrite pieces_of_keys, cut_is_a_partition in S by assumption; exact S.
Qed.

(** the same for row i of a head, as ATT.D7 has it: without dropout and descale factor of the values; with a sink too *)
Theorem any_partition_gives_the_row_of_a_head h Q K V bias sink i pieces :
  value_factor h = 1 -> (forall j, kept h i j = true) -> concat (map piece_keys pieces) = row_keys h i ->
  let result := streamed_row sink pieces (row_logits h Q K bias i) V in
  (forall c, fst result c = attend_row h Q K V bias sink i c) /\
  snd result = reported_lse (row_keys h i) sink (row_logits h Q K bias i).
Proof.
  intros Hv Hk Hp; destruct (streamed_row_is_the_row sink pieces (row_logits h Q K bias i) V) as [O L].
  rewrite Hp in O, L; split; [|exact L]; intros c.
  unfold attend_row; rewrite Hv, Rmult_1_l, O; unfold weighted_values; f_equal; f_equal.
  rewrite filter_true; clear -Hk; induction (row_keys h i) as [|j r IH]; simpl; [|rewrite Hk, <- IH]; reflexivity.
Qed.

(** ** Trees *)

(** pieces merged in any order and grouping, as many processors would; each merge has its own shift *)
Inductive tree := Leaf (c : R) (keys : list nat) | Node (c : R) (left right : tree).
Fixpoint tree_keys (t : tree) : list nat :=
  match t with Leaf _ keys => keys | Node _ a b => tree_keys a ++ tree_keys b end.
Fixpoint tree_block (t : tree) (l : row) (V : matrix) : block :=
  match t with
  | Leaf c keys => block_of c keys l V
  | Node c a b => merge c (tree_block a l V) (tree_block b l V)
  end.

Lemma tree_stands_for_keys t l V : stands_for_keys (tree_keys t) None l V (tree_block t l V).
Proof.
  induction t as [c keys|c a IHa b IHb]; simpl; [apply block_of_stands_for_keys|].
  apply merge_stands_for_keys; assumption.
Qed.

Lemma is_the_row_perm result keys keys' sink l V :
  Permutation keys keys' -> is_the_row result keys sink l V -> is_the_row result keys' sink l V.
Proof.
  intros P [O L]; split.
  - intros ch; rewrite O; unfold weighted_values; rewrite !filter_true.
    rewrite (total_perm keys keys'), (sum_perm keys keys') by assumption; reflexivity.
  - rewrite L; unfold reported_lse, sink_log_sum_exp; rewrite (total_perm keys keys') by assumption.
    destruct keys, keys'; try reflexivity;
      [apply Permutation_nil in P|apply Permutation_sym, Permutation_nil in P]; discriminate.
Qed.

(** ONL.P1 and ONL.P2 together: any tree whose leaves hold the keys of a row, in any order, gives the row *)
Theorem any_tree_of_merges_gives_the_whole_row t keys l V :
  Permutation (tree_keys t) keys -> is_the_row (finish (tree_block t l V)) keys None l V.
Proof.
  intros P; apply (is_the_row_perm _ (tree_keys t)); [exact P|]; apply finish_is_the_row, tree_stands_for_keys.
Qed.

(** ** Merging results instead of blocks *)

Lemma sum_concat {A} (parts : list (list A)) f : sum (concat parts) f = sum parts (fun part => sum part f).
Proof. induction parts as [|p rest IH]; simpl; [|rewrite sum_app, IH]; reflexivity. Qed.

(** Each part has reported its output o_b and its log-sum-exp L_b. The whole row: L = ln sum_b exp L_b, and
    o = sum_b exp (L_b - L) o_b. Parts without keys have no log-sum-exp and are left out. *)
Theorem lse_of_parts parts l :
  (forall part, In part parts -> part <> []) ->
  log_sum_exp (concat parts) l = ln (sum parts (fun part => exp (log_sum_exp part l))).
Proof.
  intros H; unfold log_sum_exp; f_equal; rewrite sum_concat; apply sum_ext; intros part Hp.
  symmetry; apply exp_ln, sum_exp_pos, H, Hp.
Qed.

Theorem output_of_parts parts l V ch :
  (forall part, In part parts -> part <> []) -> parts <> [] ->
  weighted_values (concat parts) (fun _ => true) None l V ch =
  sum parts (fun part => exp (log_sum_exp part l - log_sum_exp (concat parts) l) *
                         weighted_values part (fun _ => true) None l V ch).
Proof.
  intros H N; assert (C : concat parts <> []).
  { destruct parts as [|p rest]; [congruence|]; pose proof (H p (or_introl eq_refl)).
    destruct p; [congruence|discriminate]. }
  assert (P : forall keys, keys <> [] -> exp (log_sum_exp keys l) = sum keys (fun j => exp (l j)))
    by (intros; apply exp_ln, sum_exp_pos; assumption).
  pose proof (sum_exp_pos _ l C); unfold weighted_values; rewrite filter_true, total_no_sink.
  unfold Rdiv at 1; rewrite sum_concat, <- sum_scal_r; apply sum_ext; intros part Hp; specialize (H _ Hp).
  pose proof (sum_exp_pos _ l H); rewrite filter_true, total_no_sink.
  unfold Rminus; rewrite exp_plus, exp_Ropp, !P by assumption; field; lra.
Qed.

(** ** Example *)

(** ONL.E1: logits 0, ln 2, ln 3, values 6, 3, 2; pieces of 2 and 1 keys with the maximum as shift *)
Definition E1_logits : row := fun j => nth j [0; ln 2; ln 3] 0.
Definition E1_values : matrix := fun j _ => nth j [6; 3; 2] 0.

Theorem ONL_E1 :
  let first := block_of (ln 2) [0; 1]%nat E1_logits E1_values in
  let second := block_of (ln 3) [2]%nat E1_logits E1_values in
  let merged := merge (ln 3) first second in
  (block_shift first = Some (ln 2) /\ block_sum first = 3 / 2 /\ block_weighted first 0%nat = 6) /\
  (block_shift second = Some (ln 3) /\ block_sum second = 1 /\ block_weighted second 0%nat = 2) /\
  (block_shift merged = Some (ln 3) /\ block_sum merged = 2 /\ block_weighted merged 0%nat = 6) /\
  fst (finish merged) 0%nat = 3 /\ snd (finish merged) = Some (ln 6).
Proof.
  assert (H : forall x y, exp (x - ln y) = exp x / exp (ln y))
    by (intros; unfold Rminus, Rdiv; rewrite exp_plus, exp_Ropp; reflexivity).
  cbv zeta; unfold block_of, merge, finish, exponential, E1_logits, E1_values; cbn.
  rewrite !H, !exp_ln, exp_0 by lra; repeat split; try field.
  replace 6 with (3 * 2) by ring; rewrite ln_mult by lra; do 3 f_equal; field.
Qed.
