(** 10 Positions *)
From Attest Require Export DRP.

(** of pair n among w channels; [Rpower x y] is pow(x, y) *)
Definition frequency (n w : nat) (base : R) : R := Rpower base (- INR (2 * n) / INR w).                   (* POS.D1 *)
Definition angle (p : Z) (n w : nat) (base : R) : R := IZR p * frequency n w base.                        (* POS.D11 *)
(** of position p, in w channels *)
Definition sinusoidal (p : Z) (w : nat) (base : R) : row := fun c =>                                      (* POS.D2 *)
  if Nat.even c then sin (angle p (c / 2) w base) else cos (angle p (c / 2) w base).

Definition rotate_pair (x y cosine sine : R) : R * R :=                                                   (* POS.D5 *)
  (x * cosine - y * sine, x * sine + y * cosine).

(** the two channels of pair n, and the pair of a channel *)
Inductive pairing := halves | interleaved.
Definition first_channel (m : pairing) (pairs n : nat) : nat :=
  match m with halves => n | interleaved => 2 * n end.
Definition second_channel (m : pairing) (pairs n : nat) : nat :=
  match m with halves => n + pairs | interleaved => 2 * n + 1 end.
Definition pair_of (m : pairing) (pairs c : nat) : nat :=
  match m with halves => c mod pairs | interleaved => c / 2 end.

(** the first r = 2 * pairs channels are turned in pairs, the others are copied *)                        (* POS.D6 *)
Definition rotary (m : pairing) (pairs : nat) (cosines sines x : row) : row := fun c =>
  let n := pair_of m pairs c in
  let turned := rotate_pair (x (first_channel m pairs n)) (x (second_channel m pairs n)) (cosines n) (sines n) in
  if (2 * pairs <=? c)%nat then x c
  else if (c =? first_channel m pairs n)%nat then fst turned
  else snd turned.

(** r channels are rotated *)
Definition cached_cosines (r : nat) (base : R) : matrix := fun p n => cos (angle (Z.of_nat p) n r base).  (* POS.D7 *)
Definition cached_sines (r : nat) (base : R) : matrix := fun p n => sin (angle (Z.of_nat p) n r base).
Definition cached_rotary (m : pairing) (r : nat) (cosines sines : matrix) (p : nat) (x : row) : row :=    (* POS.D12 *)
  rotary m (r / 2) (cosines p) (sines p) x.
Definition rotary_at (m : pairing) (r : nat) (base : R) (p : Z) (x : row) : row :=                        (* POS.D10 *)
  rotary m (r / 2) (fun n => cos (angle p n r base)) (fun n => sin (angle p n r base)) x.

Definition geometric_slope (h H : nat) : R := Rpower 2 (- INR (8 * (h + 1)) / INR H).                    (* POS.D8 *)
(** P is the greatest power of two up to H *)
Definition alibi_slope (h H : nat) : R :=                                                                 (* POS.D9 *)
  let P := (2 ^ Nat.log2 H)%nat in
  if (h <? P)%nat then geometric_slope h P else geometric_slope (2 * (h - P)) (2 * P).
Definition alibi_by_key (mu : R) (j : nat) : R := mu * INR j.                                             (* POS.D13 *)
