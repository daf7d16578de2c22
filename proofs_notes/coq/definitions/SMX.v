(** 04 Softmax *)
From Attest Require Export MSK.

(** weights of a list of keys with scores s; c is the shift, and any c gives the same (SMX.P5) *)
Definition exponential (c : R) (s : row) (j : nat) : R := exp (s j - c).                                  (* SMX.D1 *)
Definition shifted_softmax (c : R) (keys : list nat) (s : row) (j : nat) : R :=
  exponential c s j / sum keys (exponential c s).
Definition softmax (keys : list nat) (s : row) (j : nat) : R := exp (s j) / sum keys (fun k => exp (s k)). (* SMX.D2 *)

(** gather the visible keys, take their softmax, put the weights back into a row of zeros *)
Definition masked_softmax (n : nat) (A : visible_set) (s : row) (j : nat) : R :=                          (* SMX.D3 *)
  if (j <? n)%nat && A j then softmax (gathered n A) s j else 0.

Definition shifted_log_sum_exp (c : R) (keys : list nat) (s : row) : R := c + ln (sum keys (exponential c s)).
Definition log_sum_exp (keys : list nat) (s : row) : R := ln (sum keys (fun k => exp (s k))).             (* SMX.D4 *)
Definition in_base_2 (L : R) : R := L / ln 2.                                                             (* SMX.D9 *)

(** what the weights are divided by: no shift, and the sink, where there is one, as one more term *)
Definition total (keys : list nat) (sink : option R) (s : row) : R :=
  sum keys (fun k => exp (s k)) + match sink with Some a => exp a | None => 0 end.
Definition sink_softmax (keys : list nat) (sink : option R) (s : row) (j : nat) : R :=                    (* SMX.D5 *)
  exp (s j) / total keys sink s.
Definition sink_log_sum_exp (keys : list nat) (sink : option R) (s : row) : R := ln (total keys sink s).
(** the weight that the sink takes for itself *)
Definition sink_share (keys : list nat) (sink : option R) (s : row) : R :=
  match sink with Some a => exp a / total keys sink s | None => 0 end.

(** the weights of a whole row: 0 at hidden keys *)
Definition masked_sink_softmax (n : nat) (A : visible_set) (sink : option R) (s : row) (j : nat) : R :=
  if (j <? n)%nat && A j then sink_softmax (gathered n A) sink s j else 0.

(** the log-sum-exp that is reported: absent for a row of no keys without a sink, since ln 0 is no number *)
Definition reported_lse (keys : list nat) (sink : option R) (s : row) : option R :=                       (* SMX.D5 *)
  match keys, sink with
  | [], None => None
  | _, _ => Some (sink_log_sum_exp keys sink s)
  end.

(** Of the three named deviations, two: masking by a large negative number N. The rows are as long as the mask, and hidden
    keys take part. The third, SMX.D6, adds minus infinity, and so it is no function of reals: softmax/Programs.v has it. *)
Definition filled (N : R) (A : visible_set) (s : row) (j : nat) : R := if A j then s j else N.
Definition sentinel_fill_softmax (N : R) (n : nat) (A : visible_set) (s : row) : row :=                   (* SMX.D7 *)
  softmax (range n) (filled N A s).
Definition lowered (N : R) (A : visible_set) (s : row) (j : nat) : R := if A j then s j else s j + N.
Definition sentinel_additive_softmax (N : R) (n : nat) (A : visible_set) (s : row) : row :=               (* SMX.D8 *)
  softmax (range n) (lowered N A s).
