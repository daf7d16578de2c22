(** The compensated dot product (Dot2 of Ogita, Rump and Oishi): the errors of all products and sums are added up
    beside the sum. It is as good as one of twice the precision, rounded once: the error is u |a.b|, and a term in
    u^2. *)
From Flocq Require Import Core.
From Attest Require Import DoubleDouble Rounding Formats.
Open Scope R_scope.

Section Dot2.
  Variables (prec emin : Z).
  Context (Hp : Prec_gt_0 prec).
  Hypothesis Hprec : (2 <= prec)%Z.
  Hypothesis Hemin : (emin <= 0)%Z.
  Notation RN := (nearest prec emin).
  Notation number := (format_number prec emin).
  Notation u := (bpow radix2 (- prec)).
  Notation P := (1 + u).

  Context {I : Type}.
  Variables a b : I -> R.

  (** sum and correction, (p, s):   h, r = two_prod(a_i, b_i);   p, q = two_sum(p, h);   s = s + (q + r) *)
  Definition dot2_step (ps : R * R) (i : I) : R * R :=
    let (h, r) := two_prod prec emin (a i) (b i) in
    let (p, q) := two_sum prec emin (fst ps) h in
    (p, RN (snd ps + RN (q + r))).
  Definition dot2_pair (l : list I) : R * R :=
    match l with [] => (0, 0) | i :: rest => fold_left dot2_step rest (two_prod prec emin (a i) (b i)) end.
  Definition dot2 (l : list I) : R := RN (fst (dot2_pair l) + snd (dot2_pair l)).

  Lemma u_pos : 0 < u <= / 2.
  Proof. apply u_range, Hp. Qed.

  Lemma power_pos n : 1 <= P ^ n.
  Proof. apply pow_R1_Rle; pose proof u_pos; lra. Qed.

  (** What holds after k terms, of magnitudes A in all: E is the sum of all errors, exactly. *)
  Definition invariant (k : nat) (exact A : R) (ps : R * R) : Prop :=
    number (fst ps) /\ number (snd ps) /\
    exists E B, fst ps + E = exact /\ Rabs E <= B /\ B <= (P ^ k - 1) * A /\
      Rabs (fst ps) <= P ^ k * A /\ Rabs (snd ps - E) <= (P ^ k - 1) * B.

  Lemma invariant_first i : number (a i) -> number (b i) -> product_is_large prec emin (a i) (b i) ->
    invariant 1 (a i * b i) (Rabs (a i * b i)) (two_prod prec emin (a i) (b i)).
  Proof.
    intros Fa Fb Hl; pose proof u_pos as Hu.
    pose proof (two_prod_is_exact prec emin Hp (a i) (b i) Fa Fb Hl) as Eh.
    pose proof (two_prod_error prec emin Hp Hprec (a i) (b i) Fa Fb Hl) as Er.
    destruct (number_two_prod prec emin Hp (a i) (b i)) as [Nh Nr].
    destruct (two_prod prec emin (a i) (b i)) as [h r]; simpl fst in *; simpl snd in *.
    split; [exact Nh|]; split; [exact Nr|]; exists r, (Rabs r); simpl fst; simpl snd; rewrite pow_1.
    split; [exact Eh|]; split; [apply Rle_refl|]; split; [lra|]; split.
    - replace h with (a i * b i + - r) by lra.
      replace (P * Rabs (a i * b i)) with (Rabs (a i * b i) + u * Rabs (a i * b i)) by ring.
      apply Rabs_sum; [apply Rle_refl|rewrite Rabs_Ropp; exact Er].
    - rewrite Rminus_diag_eq, Rabs_R0 by reflexivity; apply Rmult_le_pos; [lra|apply Rabs_pos].
  Qed.

  Lemma invariant_step k exact A ps i : (1 <= k)%nat -> 0 <= A ->
    number (a i) -> number (b i) -> product_is_large prec emin (a i) (b i) ->
    invariant k exact A ps -> invariant (S k) (exact + a i * b i) (A + Rabs (a i * b i)) (dot2_step ps i).
  Proof.
    intros Hk HA Fa Fb Hl (Np & Ns & E & B & Ex & HE & HB & Hpp & Hs).
    pose proof u_pos as Hu; pose proof (Rle_pow P 1 k ltac:(lra) Hk) as Pk; rewrite pow_1 in Pk.
    set (c := Rabs (a i * b i)); assert (Hc : 0 <= c) by apply Rabs_pos.
    unfold dot2_step.
    pose proof (two_prod_is_exact prec emin Hp (a i) (b i) Fa Fb Hl) as Eh.
    pose proof (two_prod_error prec emin Hp Hprec (a i) (b i) Fa Fb Hl) as Er; fold c in Er.
    destruct (number_two_prod prec emin Hp (a i) (b i)) as [Nh Nr].
    destruct (two_prod prec emin (a i) (b i)) as [h r]; simpl fst in *; simpl snd in *.
    pose proof (two_sum_is_exact prec emin Hprec Hemin (fst ps) h Np Nh) as Eq.
    pose proof (two_sum_error prec emin Hp Hprec Hemin (fst ps) h Np Nh) as Hq.
    destruct (number_two_sum prec emin Hp (fst ps) h) as [Np' Nq].
    assert (Hh : Rabs h <= P * c).
    { replace h with (a i * b i + - r) by lra; replace (P * c) with (c + u * c) by ring.
      apply Rabs_sum; [apply Rle_refl|rewrite Rabs_Ropp; exact Er]. }
    assert (Hpp' : Rabs (fst (two_sum prec emin (fst ps) h)) <= P * Rabs (fst ps + h)).
    { replace (fst (two_sum prec emin (fst ps) h)) with ((fst ps + h) + - snd (two_sum prec emin (fst ps) h)) by lra.
      replace (P * Rabs (fst ps + h)) with (Rabs (fst ps + h) + u * Rabs (fst ps + h)) by ring.
      apply Rabs_sum; [apply Rle_refl|rewrite Rabs_Ropp; exact Hq]. }
    destruct (two_sum prec emin (fst ps) h) as [p' q]; simpl fst in *; simpl snd in *.
    assert (Size : Rabs (fst ps + h) <= P ^ k * A + P * c) by (apply Rabs_sum; assumption).
    set (p := P ^ k) in *; set (d := Rabs q + Rabs r).
    assert (Hd : 0 <= d) by (unfold d; pose proof (Rabs_pos q); pose proof (Rabs_pos r); lra).
    assert (HuS : u * Rabs (fst ps + h) <= u * (p * A + P * c)) by (apply Rmult_le_compat_l; lra).
    assert (Huc : 0 <= (p - P) * c) by (apply Rmult_le_pos; lra).
    assert (Huc1 : 0 <= u * ((p - P) * c)) by (apply Rmult_le_pos; lra).
    assert (Hud : 0 <= P * ((p - P) * d)) by (repeat apply Rmult_le_pos; lra).
    split; [exact Np'|]; split; [apply number_nearest, Hp|]; exists (E + q + r), (B + d); simpl fst; simpl snd.
    change (P ^ S k) with (P * p).
    split; [lra|]; split; [|split; [|split]].
    - unfold d; rewrite <- (Rplus_assoc B); apply Rabs_sum; [apply Rabs_sum|]; lra.
    - unfold d; lra.
    - eapply Rle_trans; [exact Hpp'|].
      assert (P * Rabs (fst ps + h) <= P * (p * A + P * c)) by (apply Rmult_le_compat_l; lra).
      assert (0 <= P * ((p - P) * c)) by (apply Rmult_le_pos; lra); lra.
    - (* s and q + r, each known, are added and rounded *)
      assert (Nt : number (RN (q + r))) by apply number_nearest, Hp.
      assert (T : Rabs (RN (q + r) - (q + r)) <= u * d).
      { pose proof (close_to_error _ _ _ _ (nearest_sum prec emin Hp q r Nq Nr)) as C; rewrite Rplus_0_r in C.
        eapply Rle_trans; [exact C|]; apply Rmult_le_compat_l; [lra|apply Rabs_triang]. }
      assert (X : Rabs (snd ps + RN (q + r) - (E + q + r)) <= (p - 1) * B + u * d).
      { replace (snd ps + RN (q + r) - (E + q + r)) with ((snd ps - E) + (RN (q + r) - (q + r))) by ring.
        apply Rabs_sum; assumption. }
      assert (Z : Rabs (E + q + r) <= B + d).
      { unfold d; rewrite <- (Rplus_assoc B); apply Rabs_sum; [apply Rabs_sum|]; lra. }
      pose proof (close_to_further _ _ _ _ _ _ (Rlt_le _ _ (proj1 Hu))
        X (nearest_sum prec emin Hp _ _ Ns Nt)) as C; rewrite Rplus_0_r in C.
      eapply Rle_trans; [exact C|].
      assert (u * (Rabs (E + q + r) + ((p - 1) * B + u * d)) <= u * (B + d + ((p - 1) * B + u * d)))
        by (apply Rmult_le_compat_l; lra).
      lra.
  Qed.

  Lemma invariant_holds i l :
    (forall j, In j (i :: l) -> number (a j) /\ number (b j) /\ product_is_large prec emin (a j) (b j)) ->
    invariant (length (i :: l)) (sum (i :: l) (fun j => a j * b j)) (sum (i :: l) (fun j => Rabs (a j * b j)))
              (dot2_pair (i :: l)).
  Proof.
    intros H.
    assert (G : forall rest k exact A ps, (forall j, In j rest -> In j (i :: l)) -> (1 <= k)%nat -> 0 <= A ->
      invariant k exact A ps ->
      invariant (k + length rest) (exact + sum rest (fun j => a j * b j)) (A + sum rest (fun j => Rabs (a j * b j)))
                (fold_left dot2_step rest ps)).
    { induction rest as [|j rest IH]; intros k exact A ps Sub Hk HA Hi; simpl.
      - rewrite Nat.add_0_r, !Rplus_0_r; exact Hi.
      - rewrite Nat.add_succ_r, <- Nat.add_succ_l, <- !Rplus_assoc.
        destruct (H j (Sub j (or_introl eq_refl))) as (Fa & Fb & Hl).
        apply IH; [intros; apply Sub; right; assumption|lia|pose proof (Rabs_pos (a j * b j)); lra|].
        apply invariant_step; assumption. }
    destruct (H i (or_introl eq_refl)) as (Fa & Fb & Hl).
    exact (G l 1%nat (a i * b i) (Rabs (a i * b i)) (two_prod prec emin (a i) (b i))
      (fun j h => or_intror h) (le_n 1) (Rabs_pos _) (invariant_first i Fa Fb Hl)).
  Qed.

  Theorem compensated_dot_error l m : (roundoff m = u) -> INR (length l) * u < 1 ->
    (forall j, In j l -> number (a j) /\ number (b j) /\ product_is_large prec emin (a j) (b j)) ->
    Rabs (dot2 l - sum l (fun j => a j * b j))
      <= u * Rabs (sum l (fun j => a j * b j))
         + (1 + u) * (gamma m (length l) * gamma m (length l)) * sum l (fun j => Rabs (a j * b j)).
  Proof.
    intros Hm Hn H; pose proof u_pos as Hu.
    destruct l as [|i l].
    - unfold dot2; simpl; rewrite Rplus_0_l, nearest_number, Rminus_0_r, Rabs_R0 by apply generic_format_0; lra.
    - destruct (invariant_holds i l H) as (Np & Ns & E & B & Ex & HE & HB & _ & Hs).
      set (n := length (i :: l)) in *; set (A := sum (i :: l) (fun j => Rabs (a j * b j))) in *.
      set (x := sum (i :: l) (fun j => a j * b j)) in *; set (ps := dot2_pair (i :: l)) in *.
      assert (HA : 0 <= A) by (apply sum_nonneg; intros; apply Rabs_pos).
      rewrite <- Hm in Hn; pose proof (power_le_gamma m n ltac:(rewrite Hm; lra) Hn) as G; rewrite Hm in G.
      pose proof (power_pos n) as Pn; set (g := gamma m n) in *; set (p := P ^ n) in *.
      assert (D : Rabs (fst ps + snd ps - x) <= g * g * A).
      { replace (fst ps + snd ps - x) with (snd ps - E) by lra.
        eapply Rle_trans; [exact Hs|].
        assert (B <= g * A) by (eapply Rle_trans; [exact HB|]; apply Rmult_le_compat_r; lra).
        rewrite Rmult_assoc; apply Rmult_le_compat; try lra; pose proof (Rabs_pos E); lra. }
      pose proof (close_to_further _ _ _ _ _ _ (Rlt_le _ _ (proj1 Hu)) D (nearest_sum prec emin Hp _ _ Np Ns)) as C.
      fold ps in C; unfold dot2; fold ps; lra.
  Qed.
End Dot2.
