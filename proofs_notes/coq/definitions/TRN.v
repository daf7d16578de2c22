(** 14 Training *)
From Attest Require Export GRD_block.

Definition cross_entropy (V : nat) (l : row) (t : nat) : R := log_sum_exp (range V) l - l t.              (* TRN.D1 *)
(** the mean over S rows of V logits; row i has the target t i *)
Definition mean_cross_entropy (S V : nat) (L : matrix) (t : nat -> nat) : R :=                            (* TRN.D2 *)
  sum (range S) (fun i => cross_entropy V (L i) (t i)) / INR S.
Definition mean_cross_entropy_gradient (S V : nat) (L : matrix) (t : nat -> nat) (i c : nat) : R :=       (* TRN.D3 *)
  (softmax (range V) (L i) c - (if Nat.eqb c (t i) then 1 else 0)) / INR S.

(** the column of the greatest of V logits, the first one among equals *)
Fixpoint prediction (V : nat) (l : row) : nat :=                                                          (* TRN.D4 *)
  match V with
  | O => O
  | S last => let best := prediction last l in if Rlt_dec (l best) (l last) then last else best
  end.

Record adam_options := AdamOptions { rate : R; first_decay : R; second_decay : R; adam_epsilon : R }.

(** a parameter, and the averages of its gradient and of its square *)
Record adam_number := AdamNumber { parameter : R; first : R; second : R }.

(** one number with gradient g; [power1] and [power2] are the decays to the power of the step *)
Definition adam_entry (o : adam_options) (power1 power2 : R) (old : adam_number) (g : R) : adam_number := (* TRN.D5 *)
  let m := first_decay o * first old + (1 - first_decay o) * g in
  let v := second_decay o * second old + (1 - second_decay o) * (g * g) in
  let step := m / (1 - power1) in
  let size := sqrt (v / (1 - power2)) + adam_epsilon o in
  AdamNumber (parameter old - rate o * step / size) m v.

(** The numbers of all parameters carry names of some type A: for a layer or a block, the slot and the place in it.
    What Adam holds: a number for each name, and the powers. *)
Record adam_state (A : Type) := AdamState { numbers : A -> adam_number; power1 : R; power2 : R }.
Arguments AdamState {A}. Arguments numbers {A}. Arguments power1 {A}. Arguments power2 {A}.

Definition adam_start {A : Type} (w : A -> R) : adam_state A :=                                           (* TRN.D6 *)
  AdamState (fun a => AdamNumber (w a) 0 0) 1 1.

(** D5 at every learned number; the others stay as they are *)
Definition adam_step {A : Type} (o : adam_options) (learned : A -> bool) (g : A -> R)
                     (s : adam_state A) : adam_state A :=                                                 (* TRN.D7 *)
  let p1 := power1 s * first_decay o in
  let p2 := power2 s * second_decay o in
  AdamState (fun a => if learned a then adam_entry o p1 p2 (numbers s a) (g a) else numbers s a) p1 p2.

(** the first t steps from the parameters w; step k has the gradient g k *)
Fixpoint adam_steps {A : Type} (o : adam_options) (learned : A -> bool) (w : A -> R)
                    (g : nat -> A -> R) (t : nat) : adam_state A :=
  match t with
  | O => adam_start w
  | S k => adam_step o learned (g k) (adam_steps o learned w g k)
  end.

(** the weights of a layer and those biases that it has, in the order of OPT.D5; not the probability of dropout *)
Definition trained_slots (o : layer_options) : list layer_slot :=                                         (* TRN.D8 *)
  [query_weight; key_weight; value_weight; output_weight]
  ++ (if has_input_bias o then [query_bias; key_bias; value_bias] else [])
  ++ (if has_output_bias o then [output_bias] else []).

(** tokens 0, 1, ..., V-1, 0, 1, ... and for each the next one *)
Definition repeating_token (V i : nat) : nat := i mod V.                                                  (* TRN.D9 *)
Definition repeating_target (V i : nat) : nat := (i + 1) mod V.

(** [drawn n] is the weight that the scheme draws from the seed of slot n *)
Definition initial_decoder (drawn : nat -> matrix) : decoder :=                                           (* TRN.D11 *)
  let unit := Norm (fun _ => 1) (fun _ => 0) in
  let line n := Linear (drawn n) (fun _ => 0) in
  Decoder (drawn 0%nat) unit (line 1%nat) (line 2%nat) (line 3%nat) (line 4%nat) unit (line 5%nat) (line 6%nat)
          (Linear (fun _ _ => 0) (fun _ => 0)).

Definition loss_of (N : decoder_extents) (w : decoder) (tokens targets : nat -> nat) : R :=               (* TRN.D12 *)
  mean_cross_entropy (places N) (vocabulary N) (logits (decoder_block N w tokens)) targets.
Definition loss_gradient (N : decoder_extents) (w : decoder) (tokens targets : nat -> nat) : decoder :=   (* TRN.D13 *)
  decoder_block_gradient N w tokens
    (mean_cross_entropy_gradient (places N) (vocabulary N) (logits (decoder_block N w tokens)) targets).

(** a block from its slots, in the order of DEC.D16; the name of a number is its slot, its row and its column *)
Definition decoder_of (slot : nat -> matrix) : decoder :=
  let norm n := Norm (slot n 0%nat) (slot (n + 1)%nat 0%nat) in
  let line n := Linear (slot n) (slot (n + 1)%nat 0%nat) in
  Decoder (slot 0%nat) (norm 1%nat) (line 3%nat) (line 5%nat) (line 7%nat) (line 9%nat) (norm 11%nat)
          (line 13%nat) (line 15%nat) (line 17%nat).
Definition decoder_number (N : decoder_extents) (w : decoder) (name : nat * nat * nat) : R :=
  let '(s, i, c) := name in nth s (map (fun slot => entries slot w) (decoder_slots N)) (fun _ _ => 0) i c.

Definition start_training (N : decoder_extents) (w : decoder) : adam_state (nat * nat * nat) :=           (* TRN.D14 *)
  adam_start (decoder_number N w).
Definition trained_decoder (s : adam_state (nat * nat * nat)) : decoder :=
  decoder_of (fun slot i c => parameter (numbers s (slot, i, c))).
Definition training_step (N : decoder_extents) (o : adam_options) (tokens targets : nat -> nat)
                         (s : adam_state (nat * nat * nat)) : adam_state (nat * nat * nat) :=
  adam_step o (fun _ => true) (decoder_number N (loss_gradient N (trained_decoder s) tokens targets)) s.
(** so many steps, and the loss before each; what a step is made of does not matter here *)
Fixpoint repeat_step {State Loss : Type} (step : State -> State) (loss : State -> Loss) (steps : nat)
                     (s : State) : State * list Loss :=
  match steps with
  | O => (s, [])
  | S rest => let '(end_, losses) := repeat_step step loss rest (step s) in (end_, loss s :: losses)
  end.
Definition train (N : decoder_extents) (o : adam_options) (tokens targets : nat -> nat) (steps : nat)
                 (s : adam_state (nat * nat * nat)) : adam_state (nat * nat * nat) * list R :=            (* TRN.D15 *)
  repeat_step (training_step N o tokens targets) (fun s => loss_of N (trained_decoder s) tokens targets) steps s.
