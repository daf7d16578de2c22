(** The dot product within its bound (BND.B2), in any order: any tree of additions, products rounded or fused. *)
From Attest Require Export Rounding Order.

(** the computed dot product, and the computed sum *)
Fixpoint fl_dot {I} (A : float_arithmetic) (a b : I -> R) (t : order I) : R :=
  match t with
  | Nothing => 0
  | Term i => rounded A (a i * b i)
  | Plus l r => rounded A (fl_dot A a b l + fl_dot A a b r)
  | Fused i r => rounded A (a i * b i + fl_dot A a b r)
  end.
Definition fl_sum {I} (A : float_arithmetic) (x : I -> R) : order I -> R := fl_dot A x (fun _ => 1).

Section Arithmetic.
  Context {I : Type} (A : float_arithmetic) (law : lawful A).
  Notation u := (roundoff A).
  Notation omega := (underflow A).

  Lemma roundoff_nonneg : 0 <= u.
  Proof. pose proof (roundoff_range A law); lra. Qed.

  Lemma underflow_nonneg : 0 <= omega.
  Proof.
    pose proof (roundoff_range A law); pose proof (smallest_normal_pos A law).
    apply Rmult_le_pos; lra.
  Qed.

  Lemma power_ge_1 n : 1 <= (1 + u) ^ n.
  Proof. apply pow_R1_Rle; pose proof roundoff_nonneg; lra. Qed.

  Lemma number_fl_dot a b (t : order I) : number A (fl_dot A a b t).
  Proof. destruct t; try apply (number_rounded A law); apply (number_zero A law). Qed.

  Lemma fl_dot_nothing a b (t : order I) : has_terms t = false -> fl_dot A a b t = 0.
  Proof.
    induction t as [| i | l IHl r IHr | i r IH]; intros H; try discriminate H; auto.
    unfold has_terms in *; simpl in H |- *; destruct (leaves l); [|discriminate H].
    simpl in H; destruct (leaves r); [|discriminate H].
    rewrite IHl, IHr, Rplus_0_l by auto; apply (rounded_number A law), (number_zero A law).
  Qed.

  (** errors e and f of two summands, and the rounding of their sum; p and q count what came before *)
  Lemma sum_step x y x' y' X Y p e f w :
    Rabs x <= X -> Rabs y <= Y -> 1 <= p -> 0 <= w ->
    Rabs (x' - x) <= (p - 1) * X + e -> Rabs (y' - y) <= (p - 1) * Y + f ->
    close_to (x' + y') u w (rounded A (x' + y')) ->
    Rabs (rounded A (x' + y') - (x + y)) <= (p * (1 + u) - 1) * (X + Y) + ((e + f) * (1 + u) + w).
  Proof.
    intros HX HY Hp Hw Ex Ey H; pose proof roundoff_nonneg.
    assert (E : Rabs (x' + y' - (x + y)) <= (p - 1) * (X + Y) + (e + f)).
    { replace (x' + y' - (x + y)) with ((x' - x) + (y' - y)) by ring.
      eapply Rle_trans; [apply Rabs_sum; eassumption|]; lra. }
    eapply Rle_trans; [eapply close_to_further; eassumption|].
    assert (Rabs (x + y) <= X + Y) by (apply Rabs_sum; assumption).
    assert (u * (Rabs (x + y) + ((p - 1) * (X + Y) + (e + f))) <= u * ((X + Y) + ((p - 1) * (X + Y) + (e + f))))
      by (apply Rmult_le_compat_l; lra).
    lra.
  Qed.

  (** One induction for rounded products (first = 1 + u, w = omega) and for exact ones (first = 1, w = 0). *)
  Lemma any_order_error a b first w (t : order I) :
    1 <= first <= 1 + u -> 0 <= w ->
    (forall i, In i (leaves t) -> Rabs (rounded A (a i * b i) - a i * b i) <= (first - 1) * Rabs (a i * b i) + w) ->
    (forall i y, In i (leaves t) -> number A y -> close_to (a i * b i + y) u w (rounded A (a i * b i + y))) ->
    Rabs (fl_dot A a b t - sum (leaves t) (fun i => a i * b i))
      <= (first * (1 + u) ^ depth t - 1) * sum (leaves t) (fun i => Rabs (a i * b i))
         + INR (length (leaves t)) * w * (1 + u) ^ depth t.
  Proof.
    intros Hf Hw; pose proof roundoff_nonneg as Hu.
    (* what holds at one depth holds at a greater one *)
    assert (Deeper : forall k n (S N x : R), (k <= n)%nat -> 0 <= S -> 0 <= N ->
      x <= (first * (1 + u) ^ k - 1) * S + N * w * (1 + u) ^ k ->
      x <= (first * (1 + u) ^ n - 1) * S + N * w * (1 + u) ^ n).
    { intros k n S N x Hkn HS HN Hx.
      pose proof (Rle_pow (1 + u) k n ltac:(lra) Hkn).
      eapply Rle_trans; [exact Hx|]; apply Rplus_le_compat.
      - apply Rmult_le_compat_r; [assumption|]; apply Rplus_le_compat_r, Rmult_le_compat_l; lra.
      - apply Rmult_le_compat_l; [apply Rmult_le_pos; assumption|assumption]. }
    assert (Pos : forall l : list I, 0 <= sum l (fun i => Rabs (a i * b i)))
      by (intros; apply sum_nonneg; intros; apply Rabs_pos).
    induction t as [| i | l IHl r IHr | i r IH]; intros Hprod Hfused.
    - simpl; rewrite Rminus_0_r, Rabs_R0; lra.
    - simpl; rewrite !Rplus_0_r, !Rmult_1_r, Rmult_1_l; apply Hprod; simpl; auto.
    - specialize (IHl (fun i h => Hprod i (in_or_app _ _ _ (or_introl h)))
                      (fun i y h => Hfused i y (in_or_app _ _ _ (or_introl h)))).
      specialize (IHr (fun i h => Hprod i (in_or_app _ _ _ (or_intror h)))
                      (fun i y h => Hfused i y (in_or_app _ _ _ (or_intror h)))).
      simpl fl_dot; simpl leaves; simpl depth.
      destruct (has_terms l) eqn:Hl.
      + destruct (has_terms r) eqn:Hr; simpl.
        * rewrite !sum_app, app_length, plus_INR.
          apply (Deeper _ (Nat.max (depth l) (depth r))) in IHl; [|lia|apply Pos|apply pos_INR].
          apply (Deeper _ (Nat.max (depth l) (depth r))) in IHr; [|lia|apply Pos|apply pos_INR].
          set (p := (1 + u) ^ Nat.max (depth l) (depth r)) in *.
          assert (1 <= p) by apply power_ge_1.
          assert (1 <= first * p) by (rewrite <- (Rmult_1_l 1); apply Rmult_le_compat; lra).
          eapply Rle_trans; [eapply sum_step with (w := 0); try eassumption; try apply sum_Rabs; try lra|].
          { apply (sum_law A law); apply number_fl_dot. }
          apply Req_le; ring.
        * rewrite (fl_dot_nothing a b r Hr), (depth_nothing r Hr), Nat.max_0_r, Rplus_0_r.
          rewrite (rounded_number A law) by apply number_fl_dot.
          unfold has_terms in Hr; destruct (leaves r); [rewrite app_nil_r; exact IHl|discriminate Hr].
      + simpl; rewrite (fl_dot_nothing a b l Hl), (depth_nothing l Hl), Nat.max_0_l, Rplus_0_l.
        rewrite (rounded_number A law) by apply number_fl_dot.
        unfold has_terms in Hl; destruct (leaves l); [exact IHr|discriminate Hl].
    - specialize (IH (fun j h => Hprod j (or_intror h)) (fun j y h => Hfused j y (or_intror h))).
      simpl fl_dot; simpl depth; destruct (has_terms r) eqn:Hr.
      + set (p := (1 + u) ^ depth r) in *.
        assert (1 <= p) by apply power_ge_1.
        assert (1 <= first * p) by (rewrite <- (Rmult_1_l 1); apply Rmult_le_compat; lra).
        eapply Rle_trans; [eapply sum_step with (x := a i * b i) (X := Rabs (a i * b i)) (e := 0) (w := w);
          try exact IH; try exact Hw; try apply sum_Rabs; try lra|].
        { rewrite Rminus_diag_eq, Rabs_R0 by reflexivity; pose proof (Rabs_pos (a i * b i)).
          rewrite Rplus_0_r; apply Rmult_le_pos; lra. }
        { apply Hfused; [left; reflexivity|apply number_fl_dot]. }
        change (sum (leaves (Fused i r)) (fun i => Rabs (a i * b i)))
          with (Rabs (a i * b i) + sum (leaves r) (fun i => Rabs (a i * b i))).
        change (length (leaves (Fused i r))) with (S (length (leaves r))); rewrite S_INR.
        change ((1 + u) ^ S (depth r)) with ((1 + u) * p).
        assert (0 <= w * (p * (1 + u) - 1)) by (apply Rmult_le_pos; [assumption|nra]).
        lra.
      + rewrite (fl_dot_nothing a b r Hr), Rplus_0_r.
        unfold has_terms in Hr; simpl leaves; destruct (leaves r); [|discriminate Hr].
        simpl; rewrite !Rplus_0_r, !Rmult_1_r, Rmult_1_l; apply Hprod; simpl; auto.
  Qed.

  (** By depth: k roundings of a term and its product. Blocks and lanes make k small. *)
  Theorem dot_product_error_by_depth a b (t : order I) k :
    (S (depth t) <= k)%nat -> INR k * u < 1 ->
    Rabs (fl_dot A a b t - sum (leaves t) (fun i => a i * b i))
      <= gamma A k * sum (leaves t) (fun i => Rabs (a i * b i)) + INR (length (leaves t)) * (1 + gamma A k) * omega.
  Proof.
    intros Hk Hn; pose proof roundoff_nonneg as Hu; pose proof underflow_nonneg as Hw.
    assert (P : (1 + u) ^ depth t * (1 + u) <= 1 + gamma A k).
    { replace ((1 + u) ^ depth t * (1 + u)) with ((1 + u) ^ S (depth t)) by (simpl; ring).
      pose proof (Rle_pow (1 + u) _ _ ltac:(lra) Hk); pose proof (power_le_gamma A k Hu Hn); lra. }
    pose proof (power_ge_1 (depth t)).
    eapply Rle_trans; [apply any_order_error with (first := 1 + u) (w := omega); try lra|].
    - intros i _; eapply Rle_trans; [apply close_to_error, (rounding_law A law)|]; lra.
    - intros i y _ _; apply (rounding_law A law).
    - apply Rplus_le_compat.
      + apply Rmult_le_compat_r; [apply sum_nonneg; intros; apply Rabs_pos|lra].
      + rewrite (Rmult_assoc _ omega), (Rmult_comm omega), <- Rmult_assoc.
        apply Rmult_le_compat_r; [assumption|].
        apply Rmult_le_compat_l; [apply pos_INR|nra].
  Qed.

  (** Products that are numbers of the format, as those of two binary32 in binary64: only additions round. *)
  Theorem exact_products_error_by_depth a b (t : order I) k :
    (forall i, In i (leaves t) -> number A (a i * b i)) -> (depth t <= k)%nat -> INR k * u < 1 ->
    Rabs (fl_dot A a b t - sum (leaves t) (fun i => a i * b i))
      <= gamma A k * sum (leaves t) (fun i => Rabs (a i * b i)).
  Proof.
    intros Hex Hk Hn; pose proof roundoff_nonneg as Hu.
    eapply Rle_trans; [apply any_order_error with (first := 1) (w := 0); try lra|].
    - intros i Hi; rewrite (rounded_number A law), Rminus_diag_eq, Rabs_R0 by auto; lra.
    - intros i y Hi Hy; apply (sum_law A law); auto.
    - rewrite Rmult_0_r, Rmult_0_l, Rplus_0_r, Rmult_1_l.
      apply Rmult_le_compat_r; [apply sum_nonneg; intros; apply Rabs_pos|].
      pose proof (Rle_pow (1 + u) _ _ ltac:(lra) Hk); pose proof (power_le_gamma A k Hu Hn); lra.
  Qed.

  (** n numbers of the format, added in any order: at most n - 1 roundings of each *)
  Theorem sum_error_in_any_order x (l : list I) (t : order I) :
    Permutation (leaves t) l -> (forall i, In i l -> number A (x i)) -> INR (length l - 1) * u < 1 ->
    Rabs (fl_sum A x t - sum l x) <= gamma A (length l - 1) * sum l (fun i => Rabs (x i)).
  Proof.
    intros Hp Hx Hn.
    destruct (has_terms t) eqn:Ht.
    - pose proof (depth_lt t Ht); rewrite (Permutation_length Hp) in H.
      pose proof (exact_products_error_by_depth x (fun _ => 1) t (length l - 1)) as E.
      rewrite (sum_perm _ _ _ Hp), (sum_perm _ _ _ Hp) in E.
      rewrite (sum_ext l (fun i => x i * 1) x), (sum_ext l (fun i => Rabs (x i * 1)) (fun i => Rabs (x i))) in E
        by (intros; rewrite Rmult_1_r; reflexivity).
      apply E; [|lia|assumption].
      intros i Hi; rewrite Rmult_1_r; apply Hx, (Permutation_in _ Hp), Hi.
    - unfold fl_sum; rewrite (fl_dot_nothing x (fun _ => 1) t Ht).
      unfold has_terms in Ht; destruct (leaves t); [|discriminate Ht].
      apply Permutation_nil in Hp; subst; simpl; rewrite Rminus_0_r, Rabs_R0; lra.
  Qed.

  (** n terms in any order: at most n roundings of each, its product's among them *)
  Theorem dot_product_error_in_any_order a b (l : list I) (t : order I) :
    Permutation (leaves t) l -> INR (length l) * u < 1 ->
    Rabs (fl_dot A a b t - sum l (fun i => a i * b i))
      <= gamma A (length l) * sum l (fun i => Rabs (a i * b i)) + INR (length l) * (1 + gamma A (length l)) * omega.
  Proof.
    intros Hp Hn; rewrite <- !(sum_perm _ _ _ Hp), <- !(Permutation_length Hp) in *.
    destruct (has_terms t) eqn:Ht.
    - apply dot_product_error_by_depth; [apply depth_lt|]; assumption.
    - rewrite (fl_dot_nothing a b t Ht).
      unfold has_terms in Ht; destruct (leaves t); [|discriminate Ht].
      simpl; rewrite Rminus_0_r, Rabs_R0; lra.
  Qed.
End Arithmetic.

(** BND.B2 *)
Theorem dot_product_is_within_its_bound A a b n (t : order nat) :
  lawful A -> Permutation (leaves t) (range n) -> INR n * roundoff A < 1 ->
  Rabs (fl_dot A a b t - dot n a b) <= dot_bound A n a b.
Proof.
  intros law Hp Hn; pose proof (dot_product_error_in_any_order A law a b (range n) t Hp) as E.
  unfold range in E; rewrite seq_length in E; exact (E Hn).
Qed.
