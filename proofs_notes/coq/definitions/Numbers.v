(** Numbers, rows of them and tables of them. The next three lines bring in Coq's library, its way to write lists, and
    say that signs are those of the real numbers. *)
Require Export Reals List Bool Arith ZArith Lra Lia Permutation.
Export ListNotations.
Open Scope R_scope.

Definition row := nat -> R.
Definition matrix := nat -> row.
