(** 01 Scalars: dual numbers *)
From Attest Require Export Numbers.

Definition positive_part (x : R) : R := Rmax x 0.                                                         (* NUM.D4 *)
Definition absolute (x : R) : R := Rabs x.                                                                (* NUM.D5 *)
Definition where_positive (x y : R) : R := if Rlt_dec 0 x then y else 0.                                  (* NUM.D7 *)

(** an operation does to values what it does, and to tangents what its derivative does *)                 (* NUM.D8 *)
Record dual := Dual { value : R; tangent : R }.
Definition dual_lift (x : R) : dual := Dual x 0.
Definition dual_add (a b : dual) : dual := Dual (value a + value b) (tangent a + tangent b).
Definition dual_sub (a b : dual) : dual := Dual (value a - value b) (tangent a - tangent b).
Definition dual_neg (a : dual) : dual := Dual (- value a) (- tangent a).
Definition dual_mul (a b : dual) : dual := Dual (value a * value b) (tangent a * value b + value a * tangent b).
Definition dual_div (a b : dual) : dual :=
  let quotient := value a / value b in Dual quotient ((tangent a - quotient * tangent b) / value b).
Definition dual_exp (a : dual) : dual := let y := exp (value a) in Dual y (y * tangent a).
Definition dual_log (a : dual) : dual := Dual (ln (value a)) (tangent a / value a).
Definition dual_tanh (a : dual) : dual := let y := tanh (value a) in Dual y ((1 - y * y) * tangent a).
Definition dual_sqrt (a : dual) : dual := let y := sqrt (value a) in Dual y (tangent a / (y + y)).
Definition dual_sin (a : dual) : dual := Dual (sin (value a)) (cos (value a) * tangent a).
Definition dual_cos (a : dual) : dual := Dual (cos (value a)) (- (sin (value a) * tangent a)).
Definition dual_positive_part (a : dual) : dual :=
  Dual (positive_part (value a)) (where_positive (value a) (tangent a)).
Definition dual_absolute (a : dual) : dual :=
  Dual (absolute (value a)) (where_positive (value a) (tangent a) - where_positive (- value a) (tangent a)).
Definition dual_where_positive (a b : dual) : dual :=
  Dual (where_positive (value a) (value b)) (where_positive (value a) (tangent b)).
