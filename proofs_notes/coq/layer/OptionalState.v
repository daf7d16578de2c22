(** Slots that may be absent: what is taken from a list is what was put there, a state survives its list, and switching
    an option off makes the lists shorter and changes nothing else. Nothing here computes with numbers. *)
From Attest Require Export Definitions.

(** ** One slot *)

(** OPT.P3 *)
Theorem take_after_append_returns_the_slot_and_the_rest enabled s value rest :
  tensor_shape value = slot_shape s ->
  take_optional enabled s (optional enabled value ++ rest) =
  Some (if enabled then (Some value, rest) else (None, rest)).
Proof.
  intros H; destruct enabled; [|reflexivity]; simpl.
  destruct (list_eq_dec Nat.eq_dec (tensor_shape value) (slot_shape s)); [reflexivity|contradiction].
Qed.

(** OPT.C2, OPT.C1: an enabled slot is refused at the end of the list, and a tensor of another shape *)
Lemma take_refuses_the_end_of_the_list s : take_optional true s [] = None.
Proof. reflexivity. Qed.
Lemma take_refuses_another_shape s t rest : tensor_shape t <> slot_shape s -> take_optional true s (t :: rest) = None.
Proof. intros H; simpl; destruct (list_eq_dec _ _ _); [contradiction|reflexivity]. Qed.

(** ** The state of a layer *)

(** a member is there exactly if its slot is, and has its shape *)
Definition fits (c : bool * slot) (m : option tensor) : Prop :=
  match m with Some t => fst c = true /\ tensor_shape t = slot_shape (snd c) | None => fst c = false end.
Definition is_state_of (e : layer_extents) (o : layer_options) (s : layer_state) : Prop :=
  Forall2 fits (configured_slots e o) (members s).

Lemma take_all_present slots ms rest : Forall2 fits slots ms -> take_all slots (present ms ++ rest) = Some (ms, rest).
Proof.
  unfold present; induction 1 as [|[enabled s] m slots ms Hm _ IH]; [reflexivity|].
  destruct m as [t|]; simpl in Hm; simpl.
  - destruct Hm as [-> Ht]; simpl; destruct (list_eq_dec Nat.eq_dec (tensor_shape t) (slot_shape s)); [|contradiction].
    rewrite IH; reflexivity.
  - subst enabled; simpl; rewrite IH; reflexivity.
Qed.

Lemma take_all_of_its_shapes slots l rest :
  map tensor_shape l = map slot_shape (flat_map (fun c => optional (fst c) (snd c)) slots) ->
  exists ms, take_all slots (l ++ rest) = Some (ms, rest) /\ present ms = l /\ Forall2 fits slots ms.
Proof.
  revert l; induction slots as [|[enabled s] slots IH]; intros l H.
  - destruct l; [|discriminate]; exists []; repeat split; constructor.
  - destruct enabled; simpl in H.
    + destruct l as [|t l]; [discriminate|]; injection H as Ht Hl; destruct (IH l Hl) as (ms & E & P & F).
      exists (Some t :: ms); split; [|split].
      2: simpl; rewrite <- P; reflexivity.
      2: constructor; [split; [reflexivity|exact Ht]|exact F].
      simpl; destruct (list_eq_dec Nat.eq_dec (tensor_shape t) (slot_shape s)); [rewrite E; reflexivity|contradiction].
    + destruct (IH l H) as (ms & E & P & F).
      exists (None :: ms); split; [simpl; rewrite E; reflexivity|split; [exact P|constructor; [reflexivity|exact F]]].
Qed.

(** OPT.P2 *)
Theorem unpacking_a_packed_state_gives_the_state e o s : is_state_of e o s -> unpack e o (pack s) = Some s.
Proof.
  intros H; unfold unpack, pack; pose proof (take_all_present _ _ [] H) as E; rewrite app_nil_r in E; rewrite E.
  destruct s; reflexivity.
Qed.

(** OPT.P2 *)
Theorem packing_an_unpacked_list_gives_the_list e o l :
  map tensor_shape l = map slot_shape (layer_shapes e o) ->
  exists s, unpack e o l = Some s /\ is_state_of e o s /\ pack s = l.
Proof.
  intros H; destruct (take_all_of_its_shapes (configured_slots e o) l [] H) as (ms & E & P & F).
  rewrite app_nil_r in E; unfold unpack; rewrite E.
  unfold configured_slots in F.
  repeat match goal with F : Forall2 fits (_ :: _) _ |- _ => inversion F; clear F; subst end.
  match goal with F : Forall2 fits [] _ |- _ => inversion F; subst end.
  repeat match goal with F : fits (true, _) ?m |- _ => destruct m; simpl in F; [|discriminate] end.
  eexists; split; [reflexivity|split; [|reflexivity]].
  repeat (apply Forall2_cons; [assumption|]); apply Forall2_nil.
Qed.

(** ** Options *)

Inductive layer_option := the_input_bias | the_output_bias | the_dropout.
Definition switch (k : layer_option) (on : bool) (o : layer_options) : layer_options :=
  match k with
  | the_input_bias => Options on (has_output_bias o) (has_dropout o)
  | the_output_bias => Options (has_input_bias o) on (has_dropout o)
  | the_dropout => Options (has_input_bias o) (has_output_bias o) on
  end.
(** whether a slot depends on an option *)
Definition depends (s : layer_slot) (k : layer_option) : bool :=
  match s, k with
  | query_bias, the_input_bias | key_bias, the_input_bias | value_bias, the_input_bias => true
  | output_bias, the_output_bias => true
  | probability, the_dropout => true
  | _, _ => false
  end.

(** OPT.D3, INI.D6: the plan, with a first value of some kind for each slot; and the first values made from it *)
Definition layer_plan {A : Type} (e : layer_extents) (o : layer_options)
                      (initial : layer_slot -> A) : list (slot * A) :=
  flat_map (fun c => optional_init (fst c) (snd c) (initial (slot_name (snd c)))) (configured_slots e o).
Definition first_values {A : Type} (make : slot * A -> tensor) (plan : list (slot * A)) : list tensor := map make plan.

Lemma plan_has_the_slots_of_the_layer {A} e o (initial : layer_slot -> A) :
  map fst (layer_plan e o initial) = layer_shapes e o.
Proof. destruct o as [[] [] []]; reflexivity. Qed.

(** OPT.P1: off against on; the slots of the option leave the shapes, the plan and the first values *)
Theorem a_disabled_option_shortens_the_list_and_changes_nothing_else {A : Type} k e o (initial : layer_slot -> A) make :
  let off := switch k false o in
  let on := switch k true o in
  let stays := fun s => negb (depends (slot_name s) k) in
  layer_shapes e off = filter stays (layer_shapes e on) /\
  layer_plan e off initial = filter (fun x => stays (fst x)) (layer_plan e on initial) /\
  first_values make (layer_plan e off initial) =
    first_values make (filter (fun x => stays (fst x)) (layer_plan e on initial)) /\
  (length (layer_shapes e off) < length (layer_shapes e on))%nat.
Proof. destruct k, o as [[] [] []]; simpl; repeat split; lia. Qed.

(** OPT.E1: model width 3, two heads of width 2 *)
Lemma OPT_E1 : let e := Extents 2 2 2 2 2 3 3 3 3 in
  map slot_shape (layer_shapes e (Options true true true)) =
    [[3; 4]; [3; 4]; [3; 4]; [4; 3]; [4]; [4]; [4]; [3]; []]%nat /\
  map slot_name (layer_shapes e (Options true true true)) =
    [query_weight; key_weight; value_weight; output_weight; query_bias; key_bias; value_bias; output_bias;
      probability] /\
  layer_shapes e (Options false false false) = firstn 4 (layer_shapes e (Options true true true)).
Proof. repeat split. Qed.
