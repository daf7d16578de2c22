(** 05 Attention *)
From Attest Require Export SMX.

(** one query against m keys *)
Definition compute (d m : nat) (q : row) (K V : matrix) (c : nat) : R :=                                  (* ATT.D1 *)
  sum (range m) (fun j => exp (dot d q (K j)) * V j c) / sum (range m) (fun j => exp (dot d q (K j))).

Definition score (sigma : R) (d : nat) (q k : row) : R := sigma * dot d q k.                              (* ATT.D2 *)

(** the scale that is given, or 1/sqrt(d) *)
Definition scale_of (given : option R) (d : nat) : R :=                                                   (* ATT.D12 *)
  match given with Some sigma => sigma | None => 1 / sqrt (INR d) end.

(** softmax of the scores with M added, times the values. M, where there is one, is finite here; minus infinity is
    SMX.D6 *)
Definition textbook_attention (d m : nat) (Q K V : matrix) (M : option matrix) (i c : nat) : R :=         (* ATT.D16 *)
  let s := fun j => dot d (Q i) (K j) / sqrt (INR d) + match M with Some B => B i j | None => 0 end in
  sum (range m) (fun j => softmax (range m) s j * V j c).

Definition softcap (kappa s : R) : R := kappa * tanh (s / kappa).                                         (* ATT.D3 *)
Definition capped (cap : option R) (s : R) : R := match cap with Some kappa => softcap kappa s | None => s end.

(** the bias of a head with slope mu at the query's position p and key j *)
Inductive alibi_form := distance | signed.
Definition alibi (form : alibi_form) (mu : R) (p : Z) (j : nat) : R :=                                    (* ATT.D9 *)
  match form with
  | distance => - mu * IZR (Z.abs (p - Z.of_nat j))
  | signed => mu * IZR (Z.of_nat j - p)
  end.

(** the bias of a call: the entry of its tensor, if there is one, plus the term of the slopes, if there are any; [p i] is
    the position of query i *)
Definition call_bias (tensor : option matrix) (slope : option R) (form : alibi_form) (p : nat -> Z) : matrix :=
  fun i j => match tensor with Some t => t i j | None => 0 end +                                          (* ATT.D9 *)
             match slope with Some mu => alibi form mu (p i) j | None => 0 end.

(** the place at which the bias b joins the product x of query and key *)
Inductive bias_position := inside_scale | before_softcap | after_softcap.
Definition logit (place : bias_position) (cap : option R) (sigma x b : R) : R :=                          (* ATT.D4 *)
  match place with
  | inside_scale => capped cap (sigma * (x + b))
  | before_softcap => capped cap (sigma * x + b)
  | after_softcap => capped cap (sigma * x) + b
  end.

Definition kept_weight (w p : R) (kept : bool) : R :=                                                     (* ATT.D5 *)
  if Req_EM_T p 1 then 0 else if kept then w / (1 - p) else 0.

(** the values of the kept keys, weighted; one quotient for the whole sum. If p = 1, [value_factor] is 0 in
    [attend_row]. *)
Definition weighted_values (keys : list nat) (kept : nat -> bool) (sink : option R) (l : row)
                           (V : matrix) (c : nat) : R :=                                                  (* ATT.D6 *)
  sum (filter kept keys) (fun j => exp (l j) * V j c) / total keys sink l.

(** What the rows of one head share. delta_q, delta_k and delta_v are the descale factors, 1 where there are none. Without
    dropout [value_factor] is delta_v and all keys are kept. The visible sets are any; those of a call are MSK.D13. *)
Record head := Head {
  width : nat;                      (* of queries and keys *)
  key_count : nat;
  scale : R;
  descale : R;                      (* delta_q * delta_k *)
  value_factor : R;                 (* delta_v / (1 - p), or 0 if p = 1 *)
  cap : option R;
  place : bias_position;
  visible : nat -> visible_set;     (* of query i *)
  kept : nat -> nat -> bool         (* of query i: which keys dropout keeps *)
}.

Definition row_keys (h : head) (i : nat) : list nat := gathered (key_count h) (visible h i).
Definition row_logits (h : head) (Q K bias : matrix) (i : nat) : row := fun j =>
  logit (place h) (cap h) (scale h) (descale h * dot (width h) (Q i) (K j)) (bias i j).
Definition row_weights (h : head) (Q K bias : matrix) (sink : option R) (i j : nat) : R :=
  masked_sink_softmax (key_count h) (visible h i) sink (row_logits h Q K bias i) j.
(** the sink counted, in base e; for an empty row without a sink it means nothing, and [reported_lse] of SMX says that
    there is none *)
Definition row_lse (h : head) (Q K bias : matrix) (sink : option R) (i : nat) : R :=
  sink_log_sum_exp (row_keys h i) sink (row_logits h Q K bias i).
(** row i of attention, channel c *)
Definition attend_row (h : head) (Q K V bias : matrix) (sink : option R) (i c : nat) : R :=               (* ATT.D7 *)
  value_factor h * weighted_values (row_keys h i) (kept h i) sink (row_logits h Q K bias i) V c.

(** the head with dropout of probability p and the kept masks r; [h] is the head without dropout *)
Definition with_dropout (p : R) (r : nat -> nat -> bool) (h : head) : head :=                             (* ATT.D7 *)
  Head (width h) (key_count h) (scale h) (descale h) (if Req_EM_T p 1 then 0 else value_factor h / (1 - p))
       (cap h) (place h) (visible h) r.

(** the scores in the middle of the pipeline, which exist at hidden pairs too; there without bias *)
Definition scaled_score (h : head) (Q K : matrix) (i j : nat) : R :=                                      (* ATT.D14 *)
  scale h * (descale h * dot (width h) (Q i) (K j)).
Definition capped_score (h : head) (Q K bias : matrix) (i j : nat) : R :=                                 (* ATT.D14 *)
  match place h with
  | after_softcap => capped (cap h) (scaled_score h Q K i j)
  | _ => if visible h i j then row_logits h Q K bias i j else capped (cap h) (scaled_score h Q K i j)
  end.
(** The third stage is the logit, where it is visible. ATT.D8, the whole call, is in MHA. *)
