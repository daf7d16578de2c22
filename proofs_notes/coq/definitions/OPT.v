(** 07 Optional state *)
From Attest Require Export MHA.

Inductive layer_slot :=
  | query_weight | key_weight | value_weight | output_weight
  | query_bias | key_bias | value_bias | output_bias | probability.
Record slot := Slot { slot_name : layer_slot; slot_shape : list nat }.
(** entry n in row-major order *)
Record tensor := Tensor { tensor_shape : list nat; tensor_entry : nat -> R }.

(** a list of one or none: of slots, or of values *)
Definition optional {A : Type} (enabled : bool) (x : A) : list A :=                               (* OPT.D1, OPT.D2 *)
  if enabled then [x] else [].

Definition optional_init {A : Type} (enabled : bool) (s : slot) (initial : A) : list (slot * A) :=        (* OPT.D3 *)
  map (fun s => (s, initial)) (optional enabled s).

(** None where the list is refused (OPT.C1, OPT.C2) *)
Definition take_optional (enabled : bool) (s : slot) (l : list tensor)
  : option (option tensor * list tensor) :=                                                               (* OPT.D4 *)
  if enabled then
    match l with
    | t :: rest => if list_eq_dec Nat.eq_dec (tensor_shape t) (slot_shape s) then Some (Some t, rest) else None
    | [] => None
    end
  else Some (None, l).

Record layer_options := Options { has_input_bias : bool; has_output_bias : bool; has_dropout : bool }.
(** every slot that a layer may have, and whether it has it *)
Definition configured_slots (e : layer_extents) (o : layer_options) : list (bool * slot) :=
  [ (true, Slot query_weight [query_input e; (query_heads e * head_width e)%nat]);
    (true, Slot key_weight [key_input e; (key_heads e * head_width e)%nat]);
    (true, Slot value_weight [value_input e; (value_heads e * value_width e)%nat]);
    (true, Slot output_weight [(query_heads e * value_width e)%nat; output_width e]);
    (has_input_bias o, Slot query_bias [(query_heads e * head_width e)%nat]);
    (has_input_bias o, Slot key_bias [(key_heads e * head_width e)%nat]);
    (has_input_bias o, Slot value_bias [(value_heads e * value_width e)%nat]);
    (has_output_bias o, Slot output_bias [output_width e]);
    (has_dropout o, Slot probability []) ].
Definition layer_shapes (e : layer_extents) (o : layer_options) : list slot :=                            (* OPT.D5 *)
  flat_map (fun c => optional (fst c) (snd c)) (configured_slots e o).

(** the state of a layer: a member for each slot, in the order of the list *)
Record layer_state := State {
  query_matrix : tensor;  key_matrix : tensor;  value_matrix : tensor;  output_matrix : tensor;
  query_vector : option tensor;  key_vector : option tensor;  value_vector : option tensor;
  output_vector : option tensor;  dropout_scalar : option tensor
}.
Definition members (s : layer_state) : list (option tensor) :=
  [ Some (query_matrix s); Some (key_matrix s); Some (value_matrix s); Some (output_matrix s);
    query_vector s; key_vector s; value_vector s; output_vector s; dropout_scalar s ].
Definition present (l : list (option tensor)) : list tensor :=
  flat_map (fun m => match m with Some t => [t] | None => [] end) l.
Definition pack (s : layer_state) : list tensor := present (members s).                                   (* OPT.D6 *)

(** slot after slot; None where the list is refused *)
Fixpoint take_all (slots : list (bool * slot)) (l : list tensor) : option (list (option tensor) * list tensor) :=
  match slots with
  | [] => Some ([], l)
  | (enabled, s) :: more =>
      match take_optional enabled s l with
      | Some (t, rest) =>
          match take_all more rest with Some (ts, remaining) => Some (t :: ts, remaining) | None => None end
      | None => None
      end
  end.
Definition unpack (e : layer_extents) (o : layer_options) (l : list tensor) : option layer_state :=       (* OPT.D7 *)
  match take_all (configured_slots e o) l with
  | Some ([Some wq; Some wk; Some wv; Some wo; bq; bk; bv; bo; p], []) => Some (State wq wk wv wo bq bk bv bo p)
  | _ => None
  end.
