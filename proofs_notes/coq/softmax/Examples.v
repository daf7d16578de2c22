(** The examples of chapters 03 and 04, with their numbers: they pin the definitions. *)
From Attest Require Import Masks Deviations Additive.
From Interval Require Import Tactic.

(** ** Masks *)

Definition table (A : nat -> visible_set) (rows columns : nat) : list (list bool) :=
  map (fun i => map (A i) (range columns)) (range rows).
Definition x : bool := true.
Definition o : bool := false.

Theorem MSK_E1 :
  map (fun i => map (causal_mask i) (range 3)) (range 3) =
    [[Finite 0; MinusInfinity; MinusInfinity];
     [Finite 0; Finite 0;      MinusInfinity];
     [Finite 0; Finite 0;      Finite 0     ]] /\
  map (fun i => gathered 3 (causal (Z.of_nat i))) (range 3) = [[0]; [0; 1]; [0; 1; 2]]%nat.
Proof. split; reflexivity. Qed.

(** the visible set of query i in a call that is causal and nothing else *)
Definition causal_call (p : Z) : nat -> visible_set :=
  is_visible (Rules p true None None None None None None None None None).

Theorem MSK_E2 :
  offset_of top_left 2 4 None None 0 0 = 0%Z /\
  table (causal_call 0) 2 4 = [[x; o; o; o];
                               [x; x; o; o]] /\
  offset_of bottom_right_padded 2 4 None None 0 0 = 2%Z /\
  table (causal_call 2) 2 4 = [[x; x; x; o];
                               [x; x; x; x]].
Proof. repeat split; reflexivity. Qed.

Theorem MSK_E3 :
  table (is_visible (Rules 0 false None (Some 1%Z) (Some 0%Z) None None None None None None)) 4 4 =
    [[x; o; o; o];
     [x; x; o; o];
     [o; x; x; o];
     [o; o; x; x]].
Proof. reflexivity. Qed.

(** MSK.D4: a prefix opens the causal rule; MSK.D3: a length takes keys away, on either side *)
Lemma prefix_opens_the_causal_rule :
  table (is_visible (Rules 0 true (Some 2%nat) None None None None None None None None)) 3 3 =
    [[x; x; o];
     [x; x; o];
     [x; x; x]].
Proof. reflexivity. Qed.

Lemma lengths_take_away :
  table (is_visible (Rules 0 false None None None (Some 1%nat) (Some 2%nat) None None None None)) 2 3 =
    [[x; x; o];
     [o; o; o]].
Proof. reflexivity. Qed.

(** MSK.D5 and MSK.D15: documents 7, 8 packed in one row; key 0 is padding *)
Lemma documents_and_padding_hide :
  let number := fun i => if (i <? 2)%nat then 7%Z else 8%Z in
  table (is_visible (Rules 0 false None None None None None (Some (number, number))
                           (Some (fun j => negb (j =? 0)%nat)) None None)) 3 3 =
    [[o; x; o];
     [o; x; o];
     [o; o; x]].
Proof. reflexivity. Qed.

(** MSK.D12: the alignments by given numbers *)
Lemma offsets_of_alignments :
  offset_of bottom_right_actual 5 9 (Some 3%nat) (Some 7%nat) 0 0 = 4%Z /\
  offset_of bottom_right_actual 5 9 None None 0 0 = 4%Z /\
  offset_of after_past 5 9 None None 4 0 = 4%Z /\
  offset_of given_offsets 5 9 None None 0 (-2) = (-2)%Z.
Proof. repeat split; reflexivity. Qed.

(** ** Softmax *)

Definition scores : row := fun j => nth j [0; ln 2; ln 3] 0.
Definition all : visible_set := fun _ => true.
Definition first_two : visible_set := fun j => (j <? 2)%nat.
Definition none : visible_set := fun _ => false.

(** a printed number of 16 decimals, against the real number that it is printed for *)
Definition prints (x : R) (digits : Z) : Prop := Rabs (x - IZR digits / 10 ^ 16) <= / 2 / 10 ^ 16.

Theorem SMX_E1 :
  map (masked_softmax 3 all scores) (range 3) = [1 / 6; 2 / 6; 3 / 6] /\
  log_sum_exp (gathered 3 all) scores = ln 6 /\ prints (ln 6) 17917594692280550.
Proof.
  unfold masked_softmax, softmax, log_sum_exp, scores; cbn; rewrite exp_0, !exp_ln by lra; repeat split.
  - repeat (f_equal; try field).
  - f_equal; lra.
  - unfold prints; interval with (i_prec 80).
Qed.

Theorem SMX_E2 :
  map (masked_softmax 3 first_two scores) (range 3) = [1 / 3; 2 / 3; 0] /\
  log_sum_exp (gathered 3 first_two) scores = ln 3 /\ prints (ln 3) 10986122886681097.
Proof.
  unfold masked_softmax, softmax, log_sum_exp, scores; cbn; rewrite exp_0, !exp_ln by lra; repeat split.
  - repeat (f_equal; try field).
  - f_equal; lra.
  - unfold prints; interval with (i_prec 80).
Qed.

Theorem SMX_E3 :
  map (masked_softmax 3 none scores) (range 3) = [0; 0; 0] /\ reported_lse (gathered 3 none) None scores = None.
Proof. split; reflexivity. Qed.

Theorem SMX_E4 :
  let keys := gathered 3 all in
  let sink := Some (ln 6) in
  map (masked_sink_softmax 3 all sink scores) (range 3) = [1 / 12; 2 / 12; 3 / 12] /\
  sum (range 3) (masked_sink_softmax 3 all sink scores) = 1 / 2 /\ sink_share keys (Some (ln 6)) scores = 6 / 12 /\
  reported_lse keys sink scores = Some (ln 12) /\ reported_lse keys None scores = Some (ln 6) /\
  prints (ln 12) 24849066497880003.
Proof.
  cbv zeta; unfold masked_sink_softmax, sink_softmax, sink_share, reported_lse, sink_log_sum_exp, total, scores; cbn.
  rewrite exp_0, !exp_ln by lra; repeat split; try (f_equal; f_equal; lra); try lra.
  - repeat (f_equal; try field).
  - unfold prints; interval with (i_prec 80).
Qed.

(** the additive form in exact extended arithmetic *)
Theorem SMX_E5 N :
  map (masked_softmax 3 none scores) (range 3) = [0; 0; 0] /\
  additive_softmax exact_arithmetic MinusInfinity 3 none (fun j => Finite (scores j)) =
    [NaN; NaN; NaN] /\
  map (sentinel_fill_softmax N 3 none scores) (range 3) = [1 / 3; 1 / 3; 1 / 3] /\
  map (sentinel_additive_softmax N 3 none scores) (range 3) = [1 / 6; 2 / 6; 3 / 6].
Proof.
  split; [reflexivity|]; split; [reflexivity|]; pose proof (exp_pos N); split.
  - unfold sentinel_fill_softmax, softmax; cbn; repeat (f_equal; try (field; lra)).
  - unfold sentinel_additive_softmax, softmax, lowered, scores; cbn; rewrite !exp_plus, exp_0, !exp_ln by lra.
    repeat (f_equal; try (field; lra)).
Qed.

(** SMX.D9: the log-sum-exp of E1 in base 2 is the logarithm of 6 to the base 2 *)
Lemma lse_of_E1_in_base_2 : Rpower 2 (in_base_2 (log_sum_exp (gathered 3 all) scores)) = 6.
Proof.
  rewrite lse_in_base_2_is_a_logarithm by discriminate; unfold scores; cbn; rewrite exp_0, !exp_ln by lra; lra.
Qed.
