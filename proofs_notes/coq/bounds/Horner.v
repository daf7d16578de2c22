(** The error of Horner's scheme with fused multiply-adds, for any polynomial in any lawful arithmetic. *)
From Attest Require Export DotBound.

(** c_0 + x (c_1 + x (c_2 + ...)), and the same with each step rounded once; the last coefficient is a number *)
Fixpoint horner (cs : list R) (x : R) : R :=
  match cs with
  | [] => 0
  | [c] => c
  | c :: rest => c + x * horner rest x
  end.
Fixpoint fl_horner (A : float_arithmetic) (cs : list R) (x : R) : R :=
  match cs with
  | [] => 0
  | [c] => c
  | c :: rest => rounded A (c + x * fl_horner A rest x)
  end.

(** what has been lost: the error of the rest times |x|, and one rounding of the step *)
Fixpoint horner_error (u omega : R) (cs : list R) (x : R) : R :=
  match cs with
  | [] | [_] => 0
  | c :: rest =>
      let e := Rabs x * horner_error u omega rest x in
      e + u * (Rabs (horner cs x) + e) + omega
  end.

Theorem horner_is_within_its_error A cs x : lawful A ->
  Rabs (fl_horner A cs x - horner cs x) <= horner_error (roundoff A) (underflow A) cs x.
Proof.
  intros law; pose proof (roundoff_nonneg A law) as Hu.
  induction cs as [|c [|c' rest] IH]; [simpl; rewrite Rminus_diag_eq, Rabs_R0 by reflexivity; lra..|].
  set (rest' := c' :: rest) in *.
  change (fl_horner A (c :: rest') x) with (rounded A (c + x * fl_horner A rest' x)).
  change (horner (c :: rest') x) with (c + x * horner rest' x).
  change (horner_error (roundoff A) (underflow A) (c :: rest') x)
    with (let e := Rabs x * horner_error (roundoff A) (underflow A) rest' x in
          e + roundoff A * (Rabs (c + x * horner rest' x) + e) + underflow A); cbv zeta.
  eapply close_to_further; [assumption| |apply (rounding_law A law)].
  replace (c + x * fl_horner A rest' x - (c + x * horner rest' x))
    with (x * (fl_horner A rest' x - horner rest' x)) by ring.
  apply Rabs_product; [lra|exact IH].
Qed.

(** Where coefficients are at most C and |x| <= q < 1, sizes and errors are those of geometric series: good enough for
    the far end of a polynomial. *)
Lemma horner_size cs C q x : 0 <= q < 1 -> Rabs x <= q -> 0 <= C -> (forall c, In c cs -> Rabs c <= C) ->
  Rabs (horner cs x) <= C / (1 - q).
Proof.
  intros Hq Hx HC Hc; assert (E : C / (1 - q) = C + q * (C / (1 - q))) by (field; lra).
  assert (P : 0 <= C / (1 - q)) by (apply Rmult_le_pos; [assumption|apply Rlt_le, Rinv_0_lt_compat; lra]).
  assert (0 <= q * (C / (1 - q))) by (apply Rmult_le_pos; lra).
  induction cs as [|c [|c' rest] IH]; [simpl; rewrite Rabs_R0; lra| |].
  - simpl; pose proof (Hc c (or_introl eq_refl)); lra.
  - set (rest' := c' :: rest) in *.
    change (horner (c :: rest') x) with (c + x * horner rest' x); rewrite E.
    apply Rabs_sum; [apply Hc; left; reflexivity|].
    apply Rabs_product; [assumption|apply IH; intros; apply Hc; right; assumption].
Qed.

Lemma horner_error_size u omega cs C q x : 0 <= u -> 0 <= omega -> 0 <= q -> q * (1 + u) < 1 -> Rabs x <= q -> 0 <= C ->
  (forall c, In c cs -> Rabs c <= C) ->
  0 <= horner_error u omega cs x <= (u * (C / (1 - q)) + omega) / (1 - q * (1 + u)).
Proof.
  intros Hu Hw Hq Hq1 Hx HC Hc; pose proof (Rabs_pos x).
  assert (0 <= q * u) by (apply Rmult_le_pos; assumption); assert (Hq2 : 0 <= q < 1) by lra.
  set (a := u * (C / (1 - q)) + omega); set (b := a / (1 - q * (1 + u))).
  assert (P : 0 <= C / (1 - q)) by (apply Rmult_le_pos; [assumption|apply Rlt_le, Rinv_0_lt_compat; lra]).
  assert (Pa : 0 <= a) by (unfold a; assert (0 <= u * (C / (1 - q))) by (apply Rmult_le_pos; lra); lra).
  assert (Pb : 0 <= b) by (apply Rmult_le_pos; [assumption|apply Rlt_le, Rinv_0_lt_compat; lra]).
  assert (E : b = q * b * (1 + u) + a) by (unfold b; field; lra).
  induction cs as [|c [|c' rest] IH]; [simpl; lra..|].
  set (rest' := c' :: rest) in *; set (cs := c :: rest') in *.
  change (horner_error u omega cs x) with
    (let e := Rabs x * horner_error u omega rest' x in e + u * (Rabs (horner cs x) + e) + omega); cbv zeta.
  pose proof (horner_size cs C q x Hq2 Hx HC Hc) as S; pose proof (Rabs_pos (horner cs x)).
  specialize (IH (fun c h => Hc c (or_intror h))).
  assert (I : 0 <= Rabs x * horner_error u omega rest' x <= q * b)
    by (split; [apply Rmult_le_pos|apply Rmult_le_compat]; lra).
  set (e := Rabs x * horner_error u omega rest' x) in *.
  assert (0 <= u * (Rabs (horner cs x) + e)) by (apply Rmult_le_pos; lra).
  assert (u * (Rabs (horner cs x) + e) <= u * (C / (1 - q) + q * b)) by (apply Rmult_le_compat_l; lra).
  unfold a in E; split; lra.
Qed.
