(** 11 Norms *)
From Attest Require Export POS.

Definition mean (n : nat) (x : row) : R := sum (range n) x / INR n.                                       (* NRM.D1 *)
Definition mean_square (n : nat) (x : row) : R := dot n x x / INR n.                                      (* NRM.D5 *)
Definition centred (n : nat) (x : row) : row := fun c => x c - mean n x.                                  (* NRM.D6 *)
Definition variance (n : nat) (x : row) : R := mean_square n (centred n x).                               (* NRM.D2 *)

(** an absent gamma does not multiply, an absent beta is not added *)
Definition with_factor (gamma : option row) (c : nat) (y : R) : R :=
  match gamma with Some f => y * f c | None => y end.
Definition with_term (beta : option row) (c : nat) (y : R) : R :=
  match beta with Some b => y + b c | None => y end.

Definition layer_norm (n : nat) (gamma beta : option row) (epsilon : R) (x : row) : row := fun c =>       (* NRM.D3 *)
  with_term beta c (with_factor gamma c ((x c - mean n x) / sqrt (variance n x + epsilon))).
Definition rms_norm (n : nat) (gamma : option row) (epsilon : R) (x : row) : row := fun c =>              (* NRM.D4 *)
  with_factor gamma c (x c / sqrt (mean_square n x + epsilon)).
