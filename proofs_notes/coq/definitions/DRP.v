(** 08 Dropout *)
From Attest Require Export OPT.

(** words are integers from 0 up to, not including, 2^32; a counter has four of them, a key two *)
Record words := Words { word0 : Z; word1 : Z; word2 : Z; word3 : Z }.
Definition high (x : Z) : Z := (x / 2 ^ 32 mod 2 ^ 32)%Z.
Definition low (x : Z) : Z := (x mod 2 ^ 32)%Z.
Definition philox_round (c : words) (k : Z * Z) : words :=
  let m0 := (0xD2511F53 * word0 c)%Z in
  let m1 := (0xCD9E8D57 * word2 c)%Z in
  Words (Z.lxor (Z.lxor (high m1) (word1 c)) (fst k)) (low m1) (Z.lxor (Z.lxor (high m0) (word3 c)) (snd k)) (low m0).
Fixpoint philox_rounds (n : nat) (c : words) (k : Z * Z) : words :=
  match n with
  | O => c
  | S m => philox_rounds m (philox_round c k) (low (fst k + 0x9E3779B9), low (snd k + 0xBB67AE85))
  end.
Definition philox (c : words) (k : Z * Z) : words := philox_rounds 10 c k.                                (* DRP.D1 *)

(** word n of a seed *)
Definition random_word (seed : Z) (n : nat) : Z :=                                                        (* DRP.D2 *)
  let block := Z.of_nat (n / 4) in
  let w := philox (Words (low block) (high block) 0 0) (low seed, high seed) in
  match (n mod 4)%nat with O => word0 w | 1%nat => word1 w | 2%nat => word2 w | _ => word3 w end.

Definition is_kept (x : Z) (p : R) : bool := if Rle_dec p (IZR x / 2 ^ 32) then true else false.          (* DRP.D3 *)

(** the entries in row-major order *)
Definition kept_mask (seed : Z) (p : R) (shape : list nat) : list bool :=                                 (* DRP.D4 *)
  map (fun n => is_kept (random_word seed n) p) (range (fold_right Nat.mul 1%nat shape)).

Definition dropout (w p : R) (kept training : bool) : R := if training then kept_weight w p kept else w.  (* DRP.D5 *)
