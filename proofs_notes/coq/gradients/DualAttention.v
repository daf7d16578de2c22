(** The definition of a row of attention, read in dual numbers: the steps of the code, in the arithmetic of NUM.D8,
    return each output and each log-sum-exp with its derivative. The shift is a constant there; no result depends on
    it. *)
Require Import FunctionalExtensionality.
From Attest Require Export DualSteps CallDifferences AttentionPrograms.

Section Steps.
Variable shift : list R -> R.
Let F := duals shift.

(** * A row *)

Definition dual_base (f : lse_form) (L : dual) : dual := if base_2 f then dual_div L (dual_log (dual_lift 2)) else L.
Definition dual_softcap (cap : option R) (s : dual) : dual :=
  match cap with
  | Some kappa => dual_mul (dual_lift kappa) (dual_tanh (dual_div s (dual_lift kappa)))
  | None => s
  end.
Definition dual_head (h : head) (f : lse_form) (d_v : nat) : head_of_numbers dual :=
  HeadOfNumbers (width h) (key_count h) d_v (dual_lift (scale h * descale h)) (dual_lift (scale h))
                (dual_lift (value_factor h)) (dual_softcap (cap h)) (place h) (visible h) (kept h)
                (counts_sink f) (dual_base f).
Definition dual_matrix (X T : matrix) (i c : nat) : dual := Dual (X i c) (T i c).
Definition dual_sink (a t : option R) : option dual :=
  match a, t with Some a, Some t => Some (Dual a t) | _, _ => None end.
(** row i of the head with operands x, and the direction t as tangents *)
Definition dual_row (h : head) (f : lse_form) (d_v : nat) (x t : operands) (i : nat) : attended dual :=
  row_steps F (dual_head h f d_v) (dual_matrix (queries x) (queries t) i) (dual_matrix (keys x) (keys t))
            (dual_matrix (values x) (values t)) (fun j => Some (dual_matrix (biases x) (biases t) i j))
            (dual_sink (sink x) (sink t)) i.

Lemma follows_line X T i c : follows (fun u => X i c + u * T i c) (dual_matrix X T i c).
Proof. split; [simpl; ring|apply line_derive]. Qed.

Lemma follows_base f L d : follows L d -> follows (fun u => in_base f (L u)) (dual_base f d).
Proof.
  intros H; unfold in_base, dual_base, in_base_2; destruct (base_2 f); [|exact H].
  assert (P : 0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra).
  apply (follows_div L (fun _ => ln 2)); [exact H|apply (follows_log (fun _ => 2)); [apply follows_lift|lra]|lra].
Qed.

Lemma follows_softcap cap s d : match cap with Some kappa => 0 < kappa | None => True end ->
  follows s d -> follows (fun u => capped cap (s u)) (dual_softcap cap d).
Proof.
  destruct cap as [kappa|]; simpl; intros P S; [|exact S].
  apply (follows_mul (fun _ => kappa)); [apply follows_lift|].
  apply (follows_unary Tanh (fun u => s u / kappa)); [|exact I].
  apply (follows_div s (fun _ => kappa)); [exact S|apply follows_lift|lra].
Qed.

Lemma follows_logit h f d_v x t i j : cap_is_positive h ->
  follows (fun u => logits_of h (line x t u) i j)
          (logit_steps F (dual_head h f d_v) (dual_matrix (queries x) (queries t) i) (dual_matrix (keys x) (keys t) j)
                       (Some (dual_matrix (biases x) (biases t) i j))).
Proof.
  intros P; assert (B := follows_line (biases x) (biases t) i j).
  assert (S : follows (fun u => scale h * (descale h * dot (width h) (queries (line x t u) i) (keys (line x t u) j)))
    (dual_mul (dual_lift (scale h * descale h)) (dot_steps F (width h) (dual_matrix (queries x) (queries t) i)
      (dual_matrix (keys x) (keys t) j)))).
  { apply (follows_as (fun u => scale h * descale h * dot (width h) (queries (line x t u) i) (keys (line x t u) j)));
      [|intros; ring].
    apply follows_mul; [apply follows_lift|].
    apply (follows_sum shift (range (width h)) (fun c u => queries (line x t u) i c * keys (line x t u) j c)).
    intros c _.
    apply follows_mul; apply follows_line. }
  unfold logit_steps, add_bias, logits_of, row_logits; simpl number_place; destruct (place h); simpl.
  - apply follows_softcap; [exact P|].
    apply (follows_as (fun u => scale h * (descale h * dot (width h) (queries (line x t u) i) (keys (line x t u) j)) +
      scale h * biases (line x t u) i j)); [|intros; simpl; ring].
    apply follows_add; [exact S|]; apply follows_mul; [apply follows_lift|exact B].
  - apply follows_softcap; [exact P|apply follows_add; [exact S|exact B]].
  - apply follows_add; [apply follows_softcap; [exact P|exact S]|exact B].
Qed.
Lemma kept_terms {T} (e : nat -> T) (s : list T) (keys : list nat) (kept : nat -> bool) (g : T -> nat -> T) :
  map (fun p => g (fst p) (snd p)) (filter (fun p => kept (snd p)) (combine (map e keys ++ s) keys)) =
  map (fun j => g (e j) j) (filter kept keys).
Proof.
  rewrite combine_app_short by apply map_length.
  induction keys as [|a keys IH]; [reflexivity|]; simpl; destruct (kept a); simpl; rewrite IH; reflexivity.
Qed.

(** the sink moves like the other numbers, or is not there *)
Definition sink_follows (a : R -> option R) (d : option dual) : Prop :=
  match d with
  | Some d => exists f, (forall u, a u = Some (f u)) /\ follows f d
  | None => forall u, a u = None
  end.

Lemma line_sink_follows x t : same_sink x t -> sink_follows (fun u => sink (line x t u)) (dual_sink (sink x) (sink t)).
Proof.
  unfold same_sink, line; simpl; intros H; destruct (sink x) as [a|], (sink t) as [v|]; simpl; try reflexivity.
  - exists (fun u => a + u * v); split; [reflexivity|split; [simpl; ring|apply line_derive]].
  - destruct H as [_ H]; discriminate (H eq_refl).
Qed.

(** the total of a row, shifted by c *)
Lemma follows_total keys (l : nat -> R -> R) (L : nat -> dual) (a : R -> option R) (d : option dual) c :
  (forall j, follows (l j) (L j)) -> sink_follows a d ->
  follows (fun u => total keys (a u) (fun j => l j u) * exp (- c))
          (sum_over F (exponentials F (dual_lift c) (map L keys ++ match d with Some d => [d] | None => [] end))).
Proof.
  intros HL HS.
  assert (E1 : forall y, exp y * exp (- c) = exp (y - c)) by (intros; unfold Rminus; symmetry; apply exp_plus).
  assert (X : forall f d, follows f d -> follows (fun u => exp (f u - c)) (dual_exp (dual_sub d (dual_lift c)))).
  { intros f e H; apply (follows_exp (fun u => f u - c)), (follows_sub f (fun _ => c)); [exact H|apply follows_lift]. }
  set (terms := map (fun j => (l j, L j)) keys ++
    match d with Some e => [(fun u => or_zero (a u), e)] | None => [] end).
  assert (T : exponentials F (dual_lift c) (map L keys ++ match d with Some d => [d] | None => [] end) =
    map (fun p => dual_exp (dual_sub (snd p) (dual_lift c))) terms).
  { unfold exponentials, terms; rewrite !map_app, !map_map; destruct d; reflexivity. }
  rewrite T; apply (follows_as (fun u => sum terms (fun p => exp (fst p u - c)))).
  - apply (follows_sum shift terms (fun p u => exp (fst p u - c))); intros p I; apply X.
    unfold terms in I; apply in_app_or in I as [I|I].
    + apply in_map_iff in I as [j [<- _]]; apply HL.
    + destruct d as [e|]; simpl in I; [|destruct I]; destruct I as [<-|[]]; destruct HS as [f [E H]]; simpl.
      apply (follows_as f); [exact H|intros u; rewrite E; reflexivity].
  - intros u; unfold terms, total; rewrite sum_app, sum_map, Rmult_plus_distr_r, <- sum_scal_r; f_equal.
    + apply sum_ext; intros; symmetry; apply E1.
    + destruct d as [e|]; simpl in HS; [destruct HS as [f [E _]]|rename HS into E]; simpl; rewrite !E; simpl; [|ring].
      rewrite E1; ring.
Qed.

Lemma follows_log_total keys (l : nat -> R -> R) (L : nat -> dual) (a : R -> option R) (d : option dual) c :
  (forall j, follows (l j) (L j)) -> sink_follows a d -> keys <> [] \/ d <> None ->
  follows (fun u => sink_log_sum_exp keys (a u) (fun j => l j u))
          (dual_add (dual_lift c) (dual_log (sum_over F (exponentials F (dual_lift c)
             (map L keys ++ match d with Some d => [d] | None => [] end))))).
Proof.
  intros HL HS N.
  assert (P : forall u, 0 < total keys (a u) (fun j => l j u)).
  { intros u; apply total_positive; destruct N as [N|N]; [left; exact N|right].
    destruct d; [destruct HS as [f [E _]]; rewrite E; discriminate|congruence]. }
  assert (Q := exp_pos (- c)).
  apply (follows_as (fun u => c + ln (total keys (a u) (fun j => l j u) * exp (- c)))).
  - apply follows_add; [apply follows_lift|].
    apply follows_log; [apply follows_total; assumption|apply Rmult_lt_0_compat; [apply P|exact Q]].
  - intros u; unfold sink_log_sum_exp; rewrite ln_mult, ln_exp by auto; ring.
Qed.

(** ATT.D7 in dual numbers: the outputs, and the log-sum-exp where there is one *)
Theorem dual_row_returns_derivatives h f d_v x t i :
  cap_is_positive h -> same_sink x t ->
  (forall c, (c < d_v)%nat ->
     follows (fun u => output_of h (line x t u) i c) (nth c (attended_output (dual_row h f d_v x t i)) (dual_lift 0))) /\
  match attended_lse (dual_row h f d_v x t i) with
  | Some d => follows (fun u => lse_of h f (line x t u) i) d
  | None => row_keys h i = [] /\ counted f (sink x) = None
  end.
Proof.
  intros P S; assert (HS := line_sink_follows x t S).
  set (keys := row_keys h i); set (l := fun j u => logits_of h (line x t u) i j).
  set (L := fun j => logit_steps F (dual_head h f d_v) (dual_matrix (queries x) (queries t) i)
    (dual_matrix (GRD.keys x) (GRD.keys t) j)
    (Some (dual_matrix (biases x) (biases t) i j))).
  assert (HL : forall j, follows (l j) (L j)) by (intros j; apply follows_logit, P).
  set (d := dual_sink (sink x) (sink t)) in *.
  assert (nth_range : forall (g : nat -> dual) c, (c < d_v)%nat -> nth c (map g (range d_v)) (dual_lift 0) = g c).
  { intros g c C; rewrite (nth_indep _ _ (g 0%nat)) by (rewrite map_length; unfold range; rewrite seq_length; exact C).
    rewrite map_nth; unfold range; rewrite seq_nth by exact C; reflexivity. }
  assert (D : d = None <-> sink x = None).
  { unfold d, same_sink in *; destruct (sink x), (sink t); simpl; split; intros; try congruence.
    destruct S as [_ S]; discriminate (S eq_refl). }
  unfold dual_row, row_steps; fold d.
  change (gathered (number_keys _) _) with keys; fold L.
  change (map (fun j => logit_steps F (dual_head h f d_v) _ _ _) keys) with (map L keys).
  set (row := map L keys ++ match d with Some a => [a] | None => [] end).
  assert (N : row = [] <-> keys = [] /\ d = None).
  { unfold row; split.
    - intros E; apply app_eq_nil in E as [E E']; apply map_eq_nil in E; destruct d; [discriminate|auto].
    - intros [-> ->]; reflexivity. }
  destruct row as [|e rest] eqn:R; [|rewrite <- R].
  - destruct (proj1 N eq_refl) as [K Z]; simpl attended_output; simpl attended_lse; split.
    + intros c C; rewrite nth_range by exact C; apply (follows_as (fun _ => 0)); [apply follows_lift|].
      intros u; unfold output_of, attend_row, weighted_values; fold keys; rewrite K; simpl; unfold Rdiv; ring.
    + split; [exact K|]; unfold counted; rewrite (proj1 D Z); destruct (counts_sink f); reflexivity.
  - assert (C : keys <> [] \/ d <> None).
    { destruct keys; [right; intros Z; discriminate (proj2 N (conj eq_refl Z))|left; discriminate]. }
    assert (Q : forall u, 0 < total keys (sink (line x t u)) (fun j => l j u)).
    { intros u; apply total_positive; destruct C as [C|C]; [left; exact C|right].
      destruct d; [destruct HS as [g [E _]]; rewrite E; discriminate|congruence]. }
    set (c := shift_of F row); split.
    + intros ch I; cbn [attended_output]; rewrite nth_range by exact I.
      set (tot := sum_over F (exponentials F c row)).
      assert (T : follows (fun u => total keys (sink (line x t u)) (fun j => l j u) * exp (- value c)) tot)
        by (apply follows_total; assumption).
      unfold exponentials at 1; unfold row at 1; rewrite map_app, map_map, (kept_terms _ _ keys (kept h i)
        (fun e j => dual_mul e (dual_matrix (values x) (values t) j ch))).
      apply (follows_as (fun u => value_factor h * (sum (filter (kept h i) keys) (fun j =>
        exp (l j u - value c) * values (line x t u) j ch) /
        (total keys (sink (line x t u)) (fun j => l j u) * exp (- value c))))).
      * apply (follows_mul (fun _ => value_factor h)); [apply follows_lift|].
        apply (follows_div (fun u => sum (filter (kept h i) keys) (fun j =>
          exp (l j u - value c) * values (line x t u) j ch))); [|exact T|].
        -- apply (follows_sum shift (filter (kept h i) keys)
             (fun j u => exp (l j u - value c) * values (line x t u) j ch)).
           intros j _; apply (follows_mul (fun u => exp (l j u - value c))); [|apply follows_line].
           apply (follows_exp (fun u => l j u - value c)), (follows_sub (l j) (fun _ => value c)); [apply HL|].
           apply follows_lift.
        -- assert (X := exp_pos (- value c)); assert (Y := Q 0); apply Rgt_not_eq, Rmult_lt_0_compat; assumption.
      * intros u; unfold output_of, attend_row, weighted_values; fold keys; f_equal.
        rewrite (sum_ext _ (fun j => exp (l j u - value c) * values (line x t u) j ch) (fun j =>
          exp (l j u) * values (line x t u) j ch * exp (- value c)))
          by (intros; unfold Rminus; rewrite exp_plus; ring).
        assert (X := exp_pos (- value c)); assert (Y := Q u); rewrite sum_scal_r.
        set (total_u := total keys (sink (line x t u)) (fun j => l j u)) in *.
        set (sum_u := sum _ (fun j => exp (l j u) * values (line x t u) j ch)).
        change (sum_u * exp (- value c) / (total_u * exp (- value c)) = sum_u / total_u); field; split; lra.
    + assert (B : forall a e keys', sink_follows a e -> (forall u, a u = counted f (sink (line x t u))) ->
        keys' = keys -> keys <> [] \/ e <> None -> forall c,
        follows (fun u => lse_of h f (line x t u) i) (dual_base f (dual_add (dual_lift c) (dual_log (sum_over F
          (exponentials F (dual_lift c) (map L keys' ++ match e with Some e => [e] | None => [] end))))))).
      { intros a e1 keys' A E -> M c'; unfold lse_of, row_lse; fold keys; apply follows_base.
        apply (follows_as (fun u => sink_log_sum_exp keys (a u) (fun j => l j u)));
          [apply follows_log_total; assumption|intros u; rewrite E; reflexivity]. }
      cbn [attended_lse dual_head number_base number_counts_sink].
      unfold counted in *; destruct d as [e0|]; [destruct (counts_sink f)|].
      * exact (B _ (Some e0) keys HS (fun _ => eq_refl) eq_refl C _).
      * destruct (map L keys) as [|k0 more] eqn:K; simpl; [split; [apply map_eq_nil in K; exact K|reflexivity]|].
        assert (M : keys <> []) by (intros E; rewrite E in K; discriminate).
        assert (G := B (fun _ => None) None keys (fun _ => eq_refl) (fun _ => eq_refl) eq_refl (or_introl M)
          (value (shift_of F (k0 :: more)))).
        rewrite K, app_nil_r in G; exact G.
      * apply (B (fun _ => None) None keys (fun _ => eq_refl)); [|reflexivity|exact C].
        intros u; destruct (counts_sink f); [symmetry; apply HS|reflexivity].
Qed.
End Steps.

(** * The call *)

Lemma operands_at_line C x t u b h :
  line (operands_at C (slopes_bias C) x b h) (operands_at C (fun _ _ _ _ => 0) t b h) u =
  operands_at C (slopes_bias C) (tensors_line x t u) b h.
Proof.
  unfold line, operands_at, broadcast_bias; simpl; f_equal.
  apply functional_extensionality; intros i; apply functional_extensionality; intros j; ring.
Qed.

(** GRD.P2: the left side is evaluated in dual numbers, through the forward definitions *)
Theorem vjp_is_the_transpose_of_the_definition_in_duals shift C x t g gL :
  is_call C -> same_sinks x t ->
  let J b h i := dual_row shift (head_at C b h) (lse_told C) (v_width C)
                          (operands_at C (slopes_bias C) x b h) (operands_at C (fun _ _ _ _ => 0) t b h) i in
  sum (range (batch C)) (fun b => sum (range (q_heads C)) (fun h => sum (range (q_rows C)) (fun i =>
    dot (v_width C) (g b h i) (fun c => tangent (nth c (attended_output (J b h i)) (dual_lift 0))) +
    gL b h i * match attended_lse (J b h i) with Some d => tangent d | None => 0 end))) =
  call_inner C (call_gradient C x g gL) t.
Proof.
  intros W S J.
  assert (D := call_gradient_is_the_derivative C (tensors_line x t) 0 t g gL W (tensors_line_moves x t 0 S)).
  rewrite tensors_line_starts in D; apply (derive_unique (fun u => call_loss C (tensors_line x t u) g gL) 0); [|exact D].
  apply (derive_sum _ (fun b u => sum (range (q_heads C)) (fun h => head_loss (head_at C b h) (lse_told C)
    (q_rows C) (v_width C) (operands_at C (slopes_bias C) (tensors_line x t u) b h) (g b h) (gL b h)))); intros b _.
  apply (derive_sum _ (fun h u => head_loss (head_at C b h) (lse_told C)
    (q_rows C) (v_width C) (operands_at C (slopes_bias C) (tensors_line x t u) b h) (g b h) (gL b h))); intros h _.
  apply (derive_sum _ (fun i u => dot (v_width C) (g b h i)
    (output_of (head_at C b h) (operands_at C (slopes_bias C) (tensors_line x t u) b h) i) +
    gL b h i * lse_of (head_at C b h) (lse_told C) (operands_at C (slopes_bias C) (tensors_line x t u) b h) i));
    intros i _.
  destruct (dual_row_returns_derivatives shift (head_at C b h) (lse_told C) (v_width C)
    (operands_at C (slopes_bias C) x b h) (operands_at C (fun _ _ _ _ => 0) t b h) i (caps_are_positive C W b h) (S h))
    as [HO HL]; fold (J b h i) in HO, HL.
  apply derive_plus.
  - apply (derive_sum _ (fun c u => g b h i c *
      output_of (head_at C b h) (operands_at C (slopes_bias C) (tensors_line x t u) b h) i c)); intros c I.
    apply derive_scal; destruct (HO c) as [_ T]; [apply in_range, I|].
    apply (derive_fun _ _ _ _ T); intros u; rewrite operands_at_line; reflexivity.
  - apply derive_scal; destruct (attended_lse (J b h i)) as [d|].
    + destruct HL as [_ T]; apply (derive_fun _ _ _ _ T); intros u; rewrite operands_at_line; reflexivity.
    + destruct HL as [K N]; apply (derive_fun (fun _ => in_base (lse_told C) (ln (total [] None (fun _ => 0)))));
        [apply derive_const|].
      intros u; unfold lse_of, row_lse, sink_log_sum_exp; rewrite K; specialize (S h); simpl in N |- *.
      unfold counted in *; destruct (counts_sink (lse_told C)); [|reflexivity].
      destruct (sinks x h); [discriminate|reflexivity].
Qed.
