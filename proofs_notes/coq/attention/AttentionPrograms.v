(** A row of attention as the code does it, in any arithmetic at all: numbers of any type T, operations that obey no
    law. So what is shown before the last section holds bit for bit. The last section puts the reals for T: the
      steps compute
    what Definitions.v says, whatever shift the arithmetic picks. *)
From Attest Require Export Programs AttentionCalls.

(** ** The steps *)

(** what the rows of a head share; [number_cap] is the identity where the call has no softcap *)
Record head_of_numbers (T : Type) := HeadOfNumbers {
  number_width : nat;  number_keys : nat;  number_channels : nat;
  number_scale : T;          (* of q.k, descale factors included *)
  number_bias_scale : T;     (* of a bias inside the scale: that of the call alone *)
  number_factor : T;         (* of the output *)
  number_cap : T -> T;
  number_place : bias_position;
  number_visible : nat -> visible_set;
  number_kept : nat -> nat -> bool;
  number_counts_sink : bool;
  number_base : T -> T       (* from the logarithm to its base *)
}.
Arguments HeadOfNumbers {T}. Arguments number_width {T}. Arguments number_keys {T}. Arguments number_channels {T}.
Arguments number_scale {T}. Arguments number_bias_scale {T}. Arguments number_factor {T}. Arguments number_cap {T}.
Arguments number_place {T}. Arguments number_visible {T}. Arguments number_kept {T}. Arguments number_counts_sink {T}.
Arguments number_base {T}.

(** the result of a row, over its visible keys *)
Record attended (T : Type) := Attended {
  attended_keys : list nat;
  attended_logits : list T;
  attended_weights : list T;
  attended_lse : option T;
  attended_output : list T
}.
Arguments Attended {T}. Arguments attended_output {T}. Arguments attended_weights {T}. Arguments attended_lse {T}.

Section Steps.
Context {T : Type} (F : arithmetic T).

Definition dot_steps (d : nat) (q k : nat -> T) : T := sum_over F (map (fun c => mul F (q c) (k c)) (range d)).

(** the bias joins where the call says; a call without a bias adds nothing *)
Definition add_bias (h : head_of_numbers T) (here : bias_position) (b : option T) (s : T) : T :=
  match b, here, number_place h with
  | Some b, inside_scale, inside_scale => add F s (mul F (number_bias_scale h) b)
  | Some b, before_softcap, before_softcap | Some b, after_softcap, after_softcap => add F s b
  | _, _, _ => s
  end.
Definition logit_steps (h : head_of_numbers T) (q k : nat -> T) (b : option T) : T :=                     (* ATT.D4 *)
  let s := mul F (number_scale h) (dot_steps (number_width h) q k) in
  add_bias h after_softcap b (number_cap h (add_bias h before_softcap b (add_bias h inside_scale b s))).

Definition row_steps (h : head_of_numbers T) (q : nat -> T) (K V : nat -> nat -> T) (bias : nat -> option T)
                     (sink : option T) (i : nat) : attended T :=                                          (* ATT.D7 *)
  let keys := gathered (number_keys h) (number_visible h i) in
  let logits := map (fun j => logit_steps h q (K j) (bias j)) keys in
  let row := logits ++ match sink with Some a => [a] | None => [] end in
  match row with
  | [] => Attended keys logits [] None (map (fun _ => zero F) (range (number_channels h)))
  | _ =>
      let c := shift_of F row in
      let e := exponentials F c row in
      let total := sum_over F e in
      let terms := filter (fun p => number_kept h i (snd p)) (combine e keys) in
      let lse := match sink with
                 | Some _ => if number_counts_sink h then Some (add F c (logarithm F total)) else lse_steps F logits
                 | None => Some (add F c (logarithm F total))
                 end in
      Attended keys logits (map (fun x => div F x total) (firstn (length keys) e)) (option_map (number_base h) lse)
        (map (fun ch => mul F (number_factor h)
                          (div F (sum_over F (map (fun p => mul F (fst p) (V (snd p) ch)) terms)) total))
             (range (number_channels h)))
  end.

(** ** In every arithmetic *)

Lemma dot_steps_ext d q q' k k' :
  (forall c, (c < d)%nat -> q c = q' c) -> (forall c, (c < d)%nat -> k c = k' c) -> dot_steps d q k = dot_steps d q' k'.
Proof.
  intros Hq Hk; unfold dot_steps; f_equal; apply map_ext_in; intros c Hc; apply in_range in Hc.
  rewrite Hq, Hk by assumption; reflexivity.
Qed.

(** what a row of a head is made of, besides its query, keys, values, bias and sink *)
Definition same_row_parts (h h' : head_of_numbers T) (i i' : nat) : Prop :=
  number_width h = number_width h' /\ number_channels h = number_channels h' /\ number_scale h = number_scale h' /\
  number_bias_scale h = number_bias_scale h' /\ number_factor h = number_factor h' /\ number_cap h = number_cap h' /\
  number_place h = number_place h' /\ number_counts_sink h = number_counts_sink h' /\ number_base h = number_base h'.

(** the row lemma, bit for bit *)
Lemma row_steps_lemma h h' q q' K K' V V' bias bias' sink i i' :
  same_row_parts h h' i i' ->
  gathered (number_keys h) (number_visible h i) = gathered (number_keys h') (number_visible h' i') ->
  (forall c, (c < number_width h)%nat -> q c = q' c) ->
  (forall j, In j (gathered (number_keys h) (number_visible h i)) ->
     (forall c, (c < number_width h)%nat -> K j c = K' j c) /\
     (forall c, (c < number_channels h)%nat -> V j c = V' j c) /\
     bias j = bias' j /\ number_kept h i j = number_kept h' i' j) ->
  row_steps h q K V bias sink i = row_steps h' q' K' V' bias' sink i'.
Proof.
  intros (Ew & Ec & Es & Eb & Ef & Ecap & Ep & El & Ebase) Ekeys Hq H; unfold row_steps; rewrite <- Ekeys.
  set (keys := gathered (number_keys h) (number_visible h i)) in *.
  assert (EL : map (fun j => logit_steps h q (K j) (bias j)) keys =
    map (fun j => logit_steps h' q' (K' j) (bias' j)) keys).
  { apply map_ext_in; intros j Hj; destruct (H j Hj) as (HK & _ & Hb & _).
    unfold logit_steps, add_bias; rewrite <- Ew, <- Es, <- Eb, <- Ecap, <- Ep, <- Hb.
    rewrite (dot_steps_ext _ q q' (K j) (K' j)) by assumption; reflexivity. }
  rewrite <- EL, <- Ec, <- Ef, <- El, <- Ebase; set (logits := map _ keys); clear EL.
  destruct (logits ++ match sink with Some a => [a] | None => [] end) as [|x row] eqn:Er; [reflexivity|].
  f_equal; apply map_ext_in; intros c Hc; apply in_range in Hc; f_equal; f_equal; f_equal.
  rewrite (filter_ext_in (fun p => number_kept h i (snd p)) (fun p => number_kept h' i' (snd p))).
  - apply map_ext_in; intros [y j] Hp; simpl; apply filter_In in Hp; destruct Hp as [Hp _]; apply in_combine_r in Hp.
    destruct (H j Hp) as (_ & HV & _); rewrite HV by assumption; reflexivity.
  - intros [y j] Hp; apply in_combine_r in Hp; apply (H j Hp).
Qed.

Lemma same_parts h i i' : same_row_parts h h i i'.
Proof. repeat split. Qed.

(** ATT.P1 *)
Theorem hidden_keys_and_values_may_be_anything_in_every_arithmetic h q K K' V V' bias sink i :
  (forall j c, (j < number_keys h)%nat -> number_visible h i j = true -> K j c = K' j c /\ V j c = V' j c) ->
  row_steps h q K V bias sink i = row_steps h q K' V' bias sink i.
Proof.
  intros H; apply row_steps_lemma; auto using same_parts; intros j Hj; apply in_gathered in Hj.
  repeat split; intros; apply H; tauto.
Qed.

(** ATT.P2: p is the position of query i, and no key after it is visible *)
Theorem changing_later_keys_leaves_earlier_results_equal_in_every_arithmetic h q K K' V V' bias sink i p t :
  (forall j, number_visible h i j = true -> causal p j = true) -> (p < t)%Z ->
  (forall j c, (Z.of_nat j < t)%Z -> K j c = K' j c /\ V j c = V' j c) ->
  row_steps h q K V bias sink i = row_steps h q K' V' bias sink i.
Proof.
  intros Hc Hp H; apply hidden_keys_and_values_may_be_anything_in_every_arithmetic; intros j c _ Hj.
  apply Hc, Z.leb_le in Hj; apply H; lia.
Qed.

Definition with_rows (h : head_of_numbers T) (n : nat) (A : nat -> visible_set) (r : nat -> nat -> bool) :=
  HeadOfNumbers (number_width h) n (number_channels h) (number_scale h) (number_bias_scale h) (number_factor h)
                (number_cap h) (number_place h) A r (number_counts_sink h) (number_base h).

(** ATT.P3: a call of one query over the keys 0, ..., t, the first t of them cached *)
Theorem decoding_with_a_cache_gives_the_rows_of_the_full_call_in_every_arithmetic h q K V bias sink t :
  (forall j, number_visible h t j = true -> causal (Z.of_nat t) j = true) -> (t < number_keys h)%nat ->
  let cached := fun X : nat -> nat -> T => fun j => if (j <? t)%nat then X j else X t in
  row_steps h q K V bias sink t =
  row_steps (with_rows h (t + 1) (fun _ => number_visible h t) (fun _ => number_kept h t))
            q (cached K) (cached V) bias sink 0.
Proof.
  intros Hc Ht cached; apply row_steps_lemma; [repeat split| |auto|].
  - simpl; apply gathered_prefix; [lia|]; intros j Hj; destruct (number_visible h t j) eqn:Hv; [|reflexivity].
    apply Hc, Z.leb_le in Hv; lia.
  - intros j Hj; apply in_gathered in Hj; destruct Hj as [_ Hj]; apply Hc, Z.leb_le in Hj.
    assert (E : forall X, cached X j = X j)
      by (intros X; unfold cached; destruct (Nat.ltb_spec j t); [reflexivity|f_equal; lia]).
    rewrite !E; repeat split.
Qed.

(** ATT.P4, ATT.P6: row i of a call is the row of a call that has it at another place, or has it alone *)
Theorem a_row_is_its_own_call_in_every_arithmetic h Q K V bias sink (place : nat -> nat) i :
  row_steps (with_rows h (number_keys h) (fun i => number_visible h (place i)) (fun i => number_kept h (place i)))
            (Q (place i)) K V (bias (place i)) sink i =
  row_steps h (Q (place i)) K V (bias (place i)) sink (place i).
Proof. apply row_steps_lemma; [repeat split|reflexivity|reflexivity|]; intros; repeat split. Qed.
(** ATT.P15 *)
Theorem grouped_heads_equal_repeated_heads_in_every_arithmetic none h q m Hq Hk Hv K V bias sink i head :
  Nat.divide Hk Hq -> Nat.divide Hv Hq -> (head < Hq)%nat ->
  row_steps h q (K (key_head m Hq Hk head)) (V (key_head m Hq Hv head)) bias sink i =
  row_steps h q (repeated none m Hq Hk K (key_head m Hq Hq head)) (repeated none m Hq Hv V (key_head m Hq Hq head))
            bias sink i.
Proof.
  intros HK HV Hh.
  rewrite key_head_identity, !key_head_of_a_query_head_is_that_of_the_repeated_heads by assumption; reflexivity.
Qed.

(** the one-query form; m is at least 1 *)
Definition compute_steps (d m d_v : nat) (q : nat -> T) (K V : nat -> nat -> T) : list T :=               (* ATT.D1 *)
  let s := map (fun j => dot_steps d q (K j)) (range m) in
  let e := exponentials F (shift_of F s) s in
  map (fun ch => div F (sum_over F (map (fun p => mul F (fst p) (V (snd p) ch)) (combine e (range m)))) (sum_over F e))
      (range d_v).

(** ATT.P9: where 1 * x is x, as it is in every format *)
Theorem one_query_form_is_the_matrix_row_at_scale_one_in_every_arithmetic one d m d_v q K V :
  (forall x, mul F one x = x) -> (1 <= m)%nat ->
  compute_steps d m d_v q K V =
  attended_output (row_steps (HeadOfNumbers d m d_v one one one (fun x => x) after_softcap (fun _ _ => true)
                                            (fun _ _ => true) true (fun x => x)) q K V (fun _ => None) None 0).
Proof.
  intros H1 Hm; unfold compute_steps, row_steps; simpl number_keys; simpl number_visible.
  rewrite gathered_all, app_nil_r by reflexivity.
  rewrite (map_ext (fun j => logit_steps _ q (K j) None) (fun j => dot_steps d q (K j)))
    by (intros; unfold logit_steps, add_bias; simpl; apply H1).
  set (s := map (fun j => dot_steps d q (K j)) (range m)).
  destruct s as [|x row] eqn:Es; [destruct m; [lia|discriminate]|]; rewrite <- Es.
  cbn [attended_output number_channels number_factor number_kept]; apply map_ext; intros ch; rewrite H1.
  rewrite filter_all by reflexivity; reflexivity.
Qed.
End Steps.

(** ** In the reals *)

Section Reals.
Variable shift : list R -> R.
Let F := reals shift.

(** a head of Definitions.v, in the numbers of the code *)
Definition in_numbers (h : head) (channels : nat) (counts_sink : bool) (base : R -> R) : head_of_numbers R :=
  HeadOfNumbers (width h) (key_count h) channels (scale h * descale h) (scale h) (value_factor h) (capped (cap h))
                (place h) (visible h) (kept h) counts_sink base.

Lemma logit_steps_reals h channels counts base Q K bias i j :
  logit_steps F (in_numbers h channels counts base) (Q i) (K j) (Some (bias i j)) = row_logits h Q K bias i j.
Proof.
  rewrite the_bias_joins_at_its_one_place; unfold logit_steps, dot_steps; simpl number_width; unfold F.
  rewrite sum_over_reals; fold (dot (width h) (Q i) (K j)); unfold add_bias; cbn [in_numbers number_place number_scale].
  change (mul (reals shift) (scale h * descale h)) with (Rmult (scale h * descale h)); rewrite Rmult_assoc.
  destruct (place h); reflexivity.
Qed.

Lemma sum_over_list (terms : list R) : sum_over F terms = sum terms (fun x => x).
Proof.
  assert (G : forall l x, fold_left Rplus l x = x + sum l (fun x => x)).
  { clear; induction l as [|a l IH]; intros x; simpl; [|rewrite IH]; ring. }
  destruct terms as [|a l]; [reflexivity|]; apply G.
Qed.

Lemma combine_app_short {A B} (x y : list A) (k : list B) : length x = length k -> combine (x ++ y) k = combine x k.
Proof.
  revert k; induction x as [|a x IH]; intros [|b k] H; try discriminate; simpl; [destruct y; reflexivity|].
  rewrite IH by (simpl in H; lia); reflexivity.
Qed.

Lemma sum_of_kept_terms (keys : list nat) (e : row) (kept : nat -> bool) (v : row) :
  sum_over F (map (fun p => fst p * v (snd p)) (filter (fun p => kept (snd p)) (combine (map e keys) keys))) =
  sum (filter kept keys) (fun j => e j * v j).
Proof.
  rewrite sum_over_list, sum_map; induction keys as [|a keys IH]; [reflexivity|]; simpl.
  destruct (kept a); simpl; rewrite IH; reflexivity.
Qed.

(** ATT.D7: weights, log-sum-exp and output of the steps are those of the definition *)
Theorem steps_compute_the_row h channels counts_sink base Q K V bias sink i :
  let r := row_steps F (in_numbers h channels counts_sink base) (Q i) K V (fun j => Some (bias i j)) sink i in
  attended_weights r = map (row_weights h Q K bias sink i) (row_keys h i) /\
  attended_output r = map (attend_row h Q K V bias sink i) (range channels) /\
  attended_lse r = option_map base (reported_lse (row_keys h i) (if counts_sink then sink else None)
                                                 (row_logits h Q K bias i)).
Proof.
  set (keys := row_keys h i); set (l := row_logits h Q K bias i).
  assert (W : map (row_weights h Q K bias sink i) keys = map (sink_softmax keys sink l) keys)
    by (apply map_ext_in; intros j Hj; apply row_weights_visible, Hj).
  rewrite W; unfold row_steps.
  change (gathered (number_keys _) (number_visible (in_numbers h channels counts_sink base) i)) with keys.
  rewrite (map_ext (fun j => logit_steps F (in_numbers h channels counts_sink base) (Q i) (K j) (Some (bias i j))) l)
    by (intros; apply logit_steps_reals).
  set (s := match sink with Some a => [a] | None => [] end).
  destruct (map l keys ++ s) as [|x row] eqn:Er.
  - apply app_eq_nil in Er; destruct Er as [Ek Es]; apply map_eq_nil in Ek; destruct sink; [discriminate|].
    cbn -[range attend_row]; rewrite Ek; split; [reflexivity|split; [|destruct counts_sink; reflexivity]].
    apply map_ext; intros c; symmetry; unfold attend_row, weighted_values; fold keys; rewrite Ek; simpl.
    unfold Rdiv; ring.
  - rewrite <- Er; set (c := shift (map l keys ++ s)).
    assert (EX : exponentials F c (map l keys ++ s) = map (exponential c l) keys ++ exponentials F c s)
      by (unfold exponentials; rewrite map_app, map_map; reflexivity).
    assert (E1 : forall y, exp (y - c) = exp y * exp (- c)) by (intros; unfold Rminus; apply exp_plus).
    assert (TT : sum_over F (exponentials F c (map l keys ++ s)) = total keys sink l * exp (- c)).
    { rewrite EX, sum_over_list, sum_app, sum_map; unfold total; rewrite Rmult_plus_distr_r, <- sum_scal_r; f_equal.
      - apply sum_ext; intros; apply E1.
      - unfold s; destruct sink; simpl; rewrite ?E1; ring. }
    assert (Hne : keys <> [] \/ sink <> None).
    { destruct keys; [right|left; discriminate]; destruct sink; [discriminate|]; simpl in Er; discriminate. }
    assert (PT : 0 < total keys sink l).
    { destruct Hne as [H|H]; [apply total_pos, H|destruct sink; [apply total_pos_sink|congruence]]. }
    pose proof (exp_pos (- c)); simpl shift_of; fold c; rewrite TT; split; [|split].
    + cbn -[range attend_row exponentials firstn].
      rewrite EX, firstn_app, map_length, Nat.sub_diag, firstn_O, app_nil_r, firstn_all2 by (rewrite map_length; lia).
      rewrite map_map; apply map_ext; intros j; unfold exponential, sink_softmax; rewrite E1; field; lra.
    + cbn -[range attend_row exponentials]; apply map_ext; intros ch.
      rewrite EX, combine_app_short by apply map_length;
        rewrite (sum_of_kept_terms keys _ (kept h i) (fun j => V j ch)).
      unfold attend_row, weighted_values; fold keys l; f_equal.
      rewrite (sum_ext _ _ (fun j => exp (l j) * V j ch * exp (- c)))
        by (intros; unfold exponential; rewrite E1; ring).
      rewrite sum_scal_r; field; lra.
    + assert (EL : Some (c + ln (total keys sink l * exp (- c))) = reported_lse keys sink l).
      { rewrite reported_lse_some by exact Hne; unfold sink_log_sum_exp; rewrite ln_mult, ln_exp by assumption.
        f_equal; ring. }
      cbn -[range attend_row exponentials]; f_equal; destruct sink as [a|]; [|rewrite EL; destruct counts_sink;
        reflexivity].
      destruct counts_sink; [exact EL|].
      exact (steps_compute_the_lse shift keys l).
Qed.
End Reals.
