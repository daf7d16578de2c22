(** 03 Masks: a visible set says of each key whether it is seen *)
From Attest Require Export SHP.

Definition visible_set := nat -> bool.

(** the list of visible keys below n, in order *)
Definition gathered (n : nat) (A : visible_set) : list nat := filter A (range n).                         (* MSK.D14 *)

(** the query at position p = i + o sees the keys up to p, or those of a window around p *)
Definition causal (p : Z) (j : nat) : bool := Z.leb (Z.of_nat j) p.                                       (* MSK.D1 *)
Definition window (p : Z) (left right : option Z) (j : nat) : bool :=                                     (* MSK.D2 *)
  match left with Some l => Z.leb (p - l) (Z.of_nat j) | None => true end &&
  match right with Some r => Z.leb (Z.of_nat j) (p + r) | None => true end.
Definition within_length (j n : nat) : bool := (j <? n)%nat.                                              (* MSK.D3 *)
Definition prefix (j n : nat) : bool := (j <? n)%nat.                                                     (* MSK.D4 *)
Definition same_document (x y : Z) : bool := Z.eqb x y.                                                   (* MSK.D5 *)
Definition all_of (rules : list bool) : bool := forallb (fun x => x) rules.                               (* MSK.D7 *)
Definition not_padding (present : nat -> bool) (j : nat) : bool := present j.                             (* MSK.D15 *)

(** a number of the extended reals (chapter 00) *)
Inductive extended := Finite (x : R) | MinusInfinity | PlusInfinity | NaN.
Definition causal_mask (i j : nat) : extended :=                                                          (* MSK.D8 *)
  if (j <=? i)%nat then Finite 0 else MinusInfinity.

Definition visible_from_hidden (hidden : bool) : bool := negb hidden.                                     (* MSK.D9 *)
Definition visible_from_ones (x : Z) : bool := Z.eqb x 1.                                                 (* MSK.D10 *)
Definition visible_from_additive (x : extended) : bool :=                                                 (* MSK.D11 *)
  match x with MinusInfinity => false | _ => true end.

(** where query 0 of Sq queries over Sk keys stands; a length that is not given is the full extent *)
Inductive alignment := top_left | bottom_right_padded | bottom_right_actual | after_past | given_offsets.
Definition length_or (full : nat) (length : option nat) : Z :=
  Z.of_nat (match length with Some n => n | None => full end).
Definition offset_of (a : alignment) (Sq Sk : nat) (q_length k_length : option nat)
                     (past : nat) (given : Z) : Z :=                                                      (* MSK.D12 *)
  match a with
  | top_left => 0
  | bottom_right_padded => Z.of_nat Sk - Z.of_nat Sq
  | bottom_right_actual => length_or Sk k_length - length_or Sq q_length
  | after_past => Z.of_nat past
  | given_offsets => given
  end.

(** The rules of one batch entry and head. [None] is a rule whose input is absent: it lets every key through. *)
Record rules := Rules {
  offset : Z;
  is_causal : bool;
  prefix_length : option nat;
  window_left : option Z;
  window_right : option Z;
  q_length : option nat;
  k_length : option nat;
  documents : option ((nat -> Z) * (nat -> Z));      (* of queries, of keys *)
  key_padding : option (nat -> bool);
  visible_entry : option (nat -> nat -> bool);       (* MSK.D6, at this batch entry and head *)
  bias_entry : option (nat -> nat -> extended)
}.
Definition if_given {A : Type} (input : option A) (rule : A -> bool) : bool :=
  match input with Some x => rule x | None => true end.
Definition is_visible (m : rules) (i j : nat) : bool :=                                                   (* MSK.D13 *)
  let p := (Z.of_nat i + offset m)%Z in
  all_of [
    if is_causal m then causal p j || match prefix_length m with Some n => prefix j n | None => false end else true;
    window p (window_left m) (window_right m) j;
    if_given (q_length m) (within_length i);
    if_given (k_length m) (within_length j);
    if_given (documents m) (fun d => same_document (fst d i) (snd d j));
    if_given (key_padding m) (fun t => not_padding t j);
    if_given (visible_entry m) (fun t => t i j);
    if_given (bias_entry m) (fun b => visible_from_additive (b i j))
  ].
