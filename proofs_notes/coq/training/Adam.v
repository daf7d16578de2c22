(** Adam: the first step, and all steps under a constant gradient. *)
From Attest Require Export Sums.

(** what TRN.C2 asks of the numbers of Adam *)
Definition usable (o : adam_options) : Prop :=
  0 <= first_decay o < 1 /\ 0 <= second_decay o < 1 /\ 0 < adam_epsilon o.

Lemma power_below_one b t : 0 <= b < 1 -> b ^ S t < 1.
Proof.
  intros H; simpl; assert (0 <= b ^ t <= 1); [|nra].
  split; [apply pow_le; lra|]; rewrite <- (pow1 t); apply pow_incr; lra.
Qed.

Section Steps.
  Context {A : Type}.
  Variables (o : adam_options) (learned : A -> bool) (w : A -> R) (g : nat -> A -> R).

  Let after (t : nat) (a : A) : adam_number := numbers (adam_steps o learned w g t) a.

  (** the powers are those of the step *)
  Lemma powers_after t :
    power1 (adam_steps o learned w g t) = first_decay o ^ t /\ power2 (adam_steps o learned w g t) = second_decay o ^ t.
  Proof.
    induction t as [|t [IH1 IH2]]; [split; reflexivity|].
    cbn [adam_steps adam_step power1 power2 pow]; rewrite IH1, IH2; split; ring.
  Qed.

  (** what is not learned stays as it is *)
  Lemma other_numbers_stay t a : learned a = false -> parameter (after t a) = w a.
  Proof.
    intros Ha; unfold after; induction t as [|t IH]; [reflexivity|].
    cbn [adam_steps adam_step numbers]; rewrite Ha; exact IH.
  Qed.

  (** a step with gradient [x]: where the averages were those of x so far, they are so again *)
  Lemma step_along_constant_averages t x old :
    usable o ->
    first old = (1 - first_decay o ^ t) * x -> second old = (1 - second_decay o ^ t) * (x * x) ->
    let next := adam_entry o (first_decay o ^ S t) (second_decay o ^ S t) old x in
    first next = (1 - first_decay o ^ S t) * x /\ second next = (1 - second_decay o ^ S t) * (x * x)
    /\ parameter next = parameter old - rate o * (x / (Rabs x + adam_epsilon o)).
  Proof.
    intros (H1 & H2 & He) Hm Hv.
    assert (P1 := power_below_one _ t H1); assert (P2 := power_below_one _ t H2).
    assert (Em : first_decay o * first old + (1 - first_decay o) * x = (1 - first_decay o ^ S t) * x)
      by (rewrite Hm; simpl; ring).
    assert (Ev : second_decay o * second old + (1 - second_decay o) * (x * x) = (1 - second_decay o ^ S t) * (x * x))
      by (rewrite Hv; simpl; ring).
    cbn -[pow]; rewrite Em, Ev; repeat split.
    replace ((1 - first_decay o ^ S t) * x / (1 - first_decay o ^ S t)) with x by (field; lra).
    replace ((1 - second_decay o ^ S t) * (x * x) / (1 - second_decay o ^ S t)) with (Rsqr x)
      by (unfold Rsqr; field; lra).
    rewrite sqrt_Rsqr_abs; assert (0 <= Rabs x) by apply Rabs_pos; field; lra.
  Qed.

  Lemma constant_gradient_averages t a x :
    usable o -> learned a = true -> (forall k, (k < t)%nat -> g k a = x) ->
    first (after t a) = (1 - first_decay o ^ t) * x /\ second (after t a) = (1 - second_decay o ^ t) * (x * x)
    /\ parameter (after t a) = w a - INR t * (rate o * (x / (Rabs x + adam_epsilon o))).
  Proof.
    intros Ho Ha; unfold after; induction t as [|t IH]; intros Hg.
    - cbn [adam_steps adam_start numbers parameter first second pow INR]; repeat split; ring.
    - destruct IH as (Hm & Hv & Hw); [auto|].
      destruct (powers_after t) as [E1 E2].
      cbn [adam_steps adam_step numbers]; rewrite Ha, E1, E2, (Hg t) by lia.
      rewrite (Rmult_comm (first_decay o ^ t)), (Rmult_comm (second_decay o ^ t)).
      destruct (step_along_constant_averages t x _ Ho Hm Hv) as (Hm' & Hv' & Hw').
      repeat split; [exact Hm'|exact Hv'|].
      change (parameter (adam_entry o (first_decay o ^ S t) (second_decay o ^ S t)
        (numbers (adam_steps o learned w g t) a) x) = w a - INR (S t) * (rate o * (x / (Rabs x + adam_epsilon o)))).
      rewrite Hw', Hw, S_INR; ring.
  Qed.

  (** TRN.P8 *)
  Theorem under_a_constant_gradient_all_steps_of_adam_are_equal t a x :
    usable o -> learned a = true -> (forall k, (k < t)%nat -> g k a = x) ->
    parameter (after t a) = w a - INR t * rate o * (x / (Rabs x + adam_epsilon o)).
  Proof.
    intros Ho Ha Hg; destruct (constant_gradient_averages t a x Ho Ha Hg) as (_ & _ & E); rewrite E; ring.
  Qed.

  (** TRN.P4 *)
  Theorem first_step_of_adam_follows_the_sign_of_the_gradient a :
    usable o -> learned a = true ->
    parameter (after 1 a) = w a - rate o * (g 0%nat a / (Rabs (g 0%nat a) + adam_epsilon o)).
  Proof.
    intros Ho Ha.
    rewrite (under_a_constant_gradient_all_steps_of_adam_are_equal 1 a (g 0%nat a) Ho Ha); [simpl; ring|].
    intros k Hk; replace k with 0%nat by lia; reflexivity.
  Qed.

  (** TRN.P6, in the reals *)
  Theorem adam_moves_what_is_learned_and_has_a_gradient a :
    usable o -> rate o <> 0 -> (parameter (after 1 a) <> w a <-> learned a = true /\ g 0%nat a <> 0).
  Proof.
    intros Ho Hr; destruct (learned a) eqn:Ha.
    - rewrite first_step_of_adam_follows_the_sign_of_the_gradient by assumption.
      destruct Ho as (_ & _ & He); assert (P := Rabs_pos (g 0%nat a)).
      split; intros H.
      + split; [reflexivity|]; intros E; apply H; rewrite E; unfold Rdiv; ring.
      + destruct H as [_ H]; intros E; apply H.
        assert (Z : rate o * (g 0%nat a / (Rabs (g 0%nat a) + adam_epsilon o)) = 0) by lra.
        apply Rmult_integral in Z; destruct Z as [Z|Z]; [contradiction|].
        unfold Rdiv in Z; apply Rmult_integral in Z; destruct Z as [Z|Z]; [exact Z|].
        assert (N := Rinv_neq_0_compat (Rabs (g 0%nat a) + adam_epsilon o)); lra.
    - rewrite other_numbers_stay by exact Ha; split; [intros H; destruct H; reflexivity|intros [H _]; discriminate].
  Qed.
End Steps.

(** * Training *)

(** TRN.D15: a block has the numbers that it is made of *)
Lemma decoder_number_of_slots N f s i c :
  (s < 19)%nat -> (i = 0%nat \/ ~ In s [1; 2; 4; 6; 8; 10; 11; 12; 14; 16; 18]%nat) ->
  decoder_number N (decoder_of f) (s, i, c) = f s i c.
Proof.
  intros Hs Hi; do 19 (destruct s as [|s];
    [simpl in *; destruct Hi as [->|Hi]; solve [reflexivity|exfalso; apply Hi; auto 15]|]).
  lia.
Qed.

(** TRN.P5, in every arithmetic: a step is a function of parameters and state, whatever its numbers are *)
Theorem steps_in_pieces_are_the_whole_in_every_arithmetic {State Loss : Type} step (loss : State -> Loss) a b s :
  repeat_step step loss (a + b) s =
  let '(between, first_losses) := repeat_step step loss a s in
  let '(end_, last_losses) := repeat_step step loss b between in (end_, first_losses ++ last_losses).
Proof.
  revert s; induction a as [|a IH]; intros s; simpl.
  - destruct (repeat_step step loss b s); reflexivity.
  - rewrite IH; destruct (repeat_step step loss a _) as [between losses].
    destruct (repeat_step step loss b between); reflexivity.
Qed.

(** TRN.P5 *)
Theorem training_in_pieces_is_the_whole_training N o tokens targets a b s :
  train N o tokens targets (a + b) s =
  let '(between, first_losses) := train N o tokens targets a s in
  let '(end_, last_losses) := train N o tokens targets b between in (end_, first_losses ++ last_losses).
Proof. apply steps_in_pieces_are_the_whole_in_every_arithmetic. Qed.

(** * Examples *)

(** TRN.E4: the options, the two gradients, one number that starts at 1 *)
Definition E4_options := AdamOptions (1/2) (1/2) (3/4) 2.
Definition E4_after (t : nat) : adam_number :=
  numbers (adam_steps E4_options (fun _ : unit => true) (fun _ => 1)
                      (fun k _ => match k with O => 2 | _ => -2 end) t) tt.

Lemma TRN_E4_first_step : first (E4_after 1) = 1 /\ second (E4_after 1) = 1 /\ parameter (E4_after 1) = 3/4.
Proof.
  cbn; repeat split; try field.
  replace ((3 / 4 * 0 + (1 - 3 / 4) * (2 * 2)) / (1 - 1 * (3 / 4))) with (Rsqr 2) by (unfold Rsqr; field).
  rewrite sqrt_Rsqr by lra; field.
Qed.

Lemma TRN_E4_second_step : first (E4_after 2) = -1/2 /\ second (E4_after 2) = 7/4 /\ parameter (E4_after 2) = 5/6.
Proof.
  destruct TRN_E4_first_step as (E1 & E2 & E3); unfold E4_after in *.
  cbn [adam_steps] in *; set (s := adam_step _ _ _ (adam_start _)) in *.
  cbn [adam_step numbers adam_entry first second parameter].
  cbn [E4_options first_decay second_decay rate adam_epsilon].
  rewrite E1, E2, E3; repeat split; try field.
  subst s; cbn [adam_step adam_start power1 power2 E4_options first_decay second_decay].
  replace ((3 / 4 * 1 + (1 - 3 / 4) * (-2 * -2)) / (1 - 1 * (3 / 4) * (3 / 4))) with (Rsqr 2) by (unfold Rsqr; field).
  rewrite sqrt_Rsqr by lra; field.
Qed.

(** TRN.D8: the slots of OPT.D5 without the probability *)
Lemma trained_slots_are_all_but_the_probability e o :
  map slot_name (layer_shapes e o) = trained_slots o ++ optional (has_dropout o) probability.
Proof. destruct o as [[] [] []]; reflexivity. Qed.
