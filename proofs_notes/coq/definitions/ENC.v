(** 17 Enclosures *)
From Attest Require Export ONL.

(** v lists the values of a format in order; the middle between value k and the next *)
Definition middle_after (v : Z -> R) (k : Z) : R := (v k + v (k + 1)%Z) / 2.
(** the ends of what is claimed of a number within m of t, to which value k is nearest; where it names that value, the
    ends are the middles to its neighbours *)
Definition claim (v : Z -> R) (k : Z) (t m : R) : R * R :=                                                (* ENC.D13 *)
  if Rlt_dec (middle_after v (k - 1)) (t - m) then
    if Rlt_dec (t + m) (middle_after v k) then (middle_after v (k - 1), middle_after v k) else (t - m, t + m)
  else (t - m, t + m).
