(** What a certificate claims of a number: claims hold, and none of another value does. *)
From Attest Require Export Definitions.

Lemma increasing (v : Z -> R) i j : (forall k, v k < v (k + 1)%Z) -> (i < j)%Z -> v i < v j.
Proof.
  intros up ij; replace j with (i + 1 + Z.of_nat (Z.to_nat (j - i - 1)))%Z by lia.
  induction (Z.to_nat (j - i - 1)) as [|n IH].
  - rewrite Z.add_0_r; apply up.
  - rewrite Nat2Z.inj_succ; unfold Z.succ; rewrite Z.add_assoc; specialize (up (i + 1 + Z.of_nat n)%Z); lra.
Qed.

(** ENC.P11, its first half: whatever the claim says, a number within the margin of t is in it *)
Theorem claims_hold v k t m x : t - m <= x <= t + m -> fst (claim v k t m) <= x <= snd (claim v k t m).
Proof.
  intros near; unfold claim.
  destruct (Rlt_dec (middle_after v (k - 1)) (t - m)), (Rlt_dec (t + m) (middle_after v k)); simpl; lra.
Qed.

(** ENC.P11, its second half: what is in the claim that names value k is in none that names a value two or more steps
    away *)
Theorem two_steps_away_no_claim_holds v k k' x :
  (forall i, v i < v (i + 1)%Z) -> (Z.abs (k' - k) >= 2)%Z ->
  middle_after v (k - 1) <= x <= middle_after v k -> ~ middle_after v (k' - 1) <= x <= middle_after v k'.
Proof.
  intros up far here there; unfold middle_after in *.
  assert (later : forall i j, (i < j)%Z -> v i < v j) by (intros; apply increasing; assumption).
  destruct (Z.lt_ge_cases k k').
  - assert (v k < v (k' - 1)%Z) by (apply later; lia).
    assert (v (k + 1)%Z < v (k' - 1 + 1)%Z) by (apply later; lia); lra.
  - assert (v (k' + 1)%Z < v (k - 1 + 1)%Z) by (apply later; lia).
    assert (v k' < v (k - 1)%Z) by (apply later; lia); lra.
Qed.

(** ENC.E3: a third between 170, 171 and 172 times 2^-9 *)
Lemma ENC_E3 : claim (fun k => IZR k / 512) 171 (1 / 3) (/ 2 ^ 80) = (341 / 1024, 343 / 1024).
Proof.
  unfold claim, middle_after; simpl (171 - 1)%Z; simpl (170 + 1)%Z; simpl (171 + 1)%Z.
  assert (0 < / 2 ^ 80 < / 10000).
  { split; [apply Rinv_0_lt_compat, pow_lt; lra|].
    apply Rinv_lt_contravar; [apply Rmult_lt_0_compat; [|apply pow_lt]|]; simpl; lra. }
  destruct Rlt_dec as [_|no]; [destruct Rlt_dec as [_|no]|]; [f_equal; lra | exfalso; apply no; lra | exfalso; apply no; lra].
Qed.
