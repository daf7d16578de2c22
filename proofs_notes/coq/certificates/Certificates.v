(** What a certificate claims of a number: claims hold, and none of another value does. *)
From Attest Require Export Definitions.
From Interval Require Export Tactic.

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

(** * Certificates: results of one call as theorems about the definitions of this theory.

    [attest certify CASE -o FILE.v] writes such theorems (ENC.D12). It states the numbers of the case exactly, as
    hexadecimal floats: 0x3p-4 is 3 / 16. Each theorem says that a number of the definitions lies between two such
    numbers, which attest has found. Here are the forms in which a certificate writes its inputs, and the tactics that
    prove it: they write a definition out on the numbers of the case, until only arithmetic, exp, ln and sqrt are left,
    and hand that to [interval]. *)

(** * Inputs *)

(** a table of numbers, row by row; what is beyond it is never read *)
Definition numbers (table : list (list R)) : matrix := fun i c => nth c (nth i table []) 0.
(** a table of 1 and 0 *)
Definition bits (table : list (list nat)) (i j : nat) : bool := (nth j (nth i table []) 0 =? 1)%nat.
Definition no_bias : matrix := fun _ _ => 0.
Definition keep_all (i j : nat) : bool := true.

(** * Proofs *)

(** tables are read and sums written out; operations on real numbers stay *)
Ltac write_out := cbv -[Rplus Rmult Rminus Rdiv Rinv Ropp exp ln sqrt IZR Rle].

(** one interval after the other *)
Ltac each tactic := lazymatch goal with |- (_ <= _ <= _) /\ _ => split; [tactic | each tactic] | _ => tactic end.
Ltac enclose := interval with (i_prec 128).

Ltac certified := each ltac:(write_out; enclose).

(** What depends on query and key only through the logits of its row. [logits] is the theorem that encloses them: each
    dot product is proved once, and its logit stands for it from then on. *)
Ltac name_logits logits :=
  pose proof logits as known_logits;
  lazymatch type of known_logits with context [row_logits ?h ?Q ?K ?bias ?i] =>
    change (logits_of h _ i) with (row_logits h Q K bias i);
    set (l := row_logits h Q K bias i) in *; clearbody l
  end.
Ltac enclose_named := write_out; repeat lazymatch goal with H : _ /\ _ |- _ => destruct H end; enclose.

Ltac certified_by logits :=
  unfold weights_of, row_weights, attend_row, row_lse; each ltac:(name_logits logits; enclose_named).

(** A gradient with respect to a query: it depends on the weights too, and they are named in the same way. *)
Ltac certified_by_weights logits weights :=
  unfold head_gradient, row_score_gradient, row_logit_gradient; cbv beta iota zeta delta [queries];
  pose proof weights as known_weights;
  lazymatch type of known_weights with context [weights_of ?h ?x ?i] =>
    set (w := weights_of h x i) in *; clearbody w
  end;
  name_logits logits; enclose_named.

(** What needs no enclosure: a set of keys, and a zero that has no term. *)
Ltac by_definition := try reflexivity; write_out; unfold Rdiv; ring.
