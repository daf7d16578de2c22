(** 02 Shapes: sums *)
From Attest Require Export NUM.

(** 0, 1, ..., n-1 *)
Definition range (n : nat) : list nat := seq 0 n.

(** the sum of [f i] over the entries i of a list *)                                                      (* SHP.D3 *)
Fixpoint sum {A : Type} (l : list A) (f : A -> R) : R :=
  match l with
  | [] => 0
  | i :: rest => f i + sum rest f
  end.

Definition dot (d : nat) (q k : row) : R := sum (range d) (fun c => q c * k c).                           (* SHP.D4 *)
(** along an axis of extent n, what index x of the full extent reads *)
Definition broadcast (n x : nat) : nat := if (n =? 1)%nat then 0%nat else x.                              (* SHP.D8 *)
