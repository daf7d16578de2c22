(** The gradient of a layer (GRD.D17) is the derivative of its outputs along every curve of its inputs, its state, its
    added rows, its bias and its sinks. *)
From Attest Require Export Stages.

(** every number of the layer moves *)
Record numbers_move (x : R -> layer_numbers) (t : R) (x' : layer_numbers) : Prop := {
  query_map_moves : projection_moves (fun u => query_map (x u)) t (query_map x');
  key_map_moves : projection_moves (fun u => key_map (x u)) t (key_map x');
  value_map_moves : projection_moves (fun u => value_map (x u)) t (value_map x');
  output_map_moves : projection_moves (fun u => output_map (x u)) t (output_map x');
  key_row_moves :
    row_moves (fun u => option_map fst (key_and_value_row (x u))) t (option_map fst (key_and_value_row x'));
  value_row_moves :
    row_moves (fun u => option_map snd (key_and_value_row (x u))) t (option_map snd (key_and_value_row x'));
  query_inputs_move : forall b, matrix_moves (fun u => query_inputs (x u) b) t (query_inputs x' b);
  key_inputs_move : forall b, matrix_moves (fun u => key_inputs (x u) b) t (key_inputs x' b);
  value_inputs_move : forall b, matrix_moves (fun u => value_inputs (x u) b) t (value_inputs x' b);
  layer_bias_moves : forall b h, matrix_moves (fun u => layer_bias (x u) b h) t (layer_bias x' b h);
  layer_sink_moves : forall h, sink_moves (fun u => layer_sink (x u) h) t (layer_sink x' h)
}.

(** an axis of the bias tensor has extent 1, or that of what reads it *)
Definition fits (n full : nat) : Prop := n = 1%nat \/ n = full.

(** What a layer is checked for. ATT.C3: the heads divide. SHP.C3: the bias broadcasts. ATT.C5: caps are positive. *)
Record is_layer (C : layer_call) : Prop := {
  key_heads_divide : Nat.divide (key_heads (sizes C)) (query_heads (sizes C));
  value_heads_divide : Nat.divide (value_heads (sizes C)) (query_heads (sizes C));
  bias_fits : let '(nB, nH, nI, nJ) := bias_shape C in
    fits nB (batch_size C) /\ fits nH (query_heads (sizes C)) /\
    fits nI (query_count C) /\ fits nJ (projected_keys_count C);
  inside_caps_are_positive : forall b h, cap_is_positive (head_inside C b h)
}.

Section Layer.
  Variables (C : layer_call) (x : R -> layer_numbers) (t : R) (x' : layer_numbers).
  Hypothesis layer_is_checked : is_layer C.
  Hypothesis all_move : numbers_move x t x'.

  Let e := sizes C.
  Let D := head_width e.
  Let Dv := value_width e.
  Let Sq := query_count C.
  Let Sk := projected_keys_count C.
  Let key_head_of h := key_head (sharing C) (query_heads e) (key_heads e) h.
  Let value_head_of h := key_head (sharing C) (query_heads e) (value_heads e) h.

  (** how many keys the attention inside has *)
  Let keys_inside : nat := (Sk + (one_if (key_and_value_row x') + if zero_key C then 1 else 0))%nat.

  Lemma rows_are_there_at_all_times u : one_if (key_and_value_row (x u)) = one_if (key_and_value_row x').
  Proof.
    assert (H := key_row_moves _ _ _ all_move); destruct (key_and_value_row x') as [r|]; simpl in H.
    - destruct H as (a & E & _); specialize (E u); destruct (key_and_value_row (x u)); [reflexivity|discriminate].
    - specialize (H u); destruct (key_and_value_row (x u)); [discriminate|reflexivity].
  Qed.

  (** the part of the head that does not move: with another count of keys it would be another head *)
  Lemma inner_head_at u b h : inner_head (layer_at C (x u) b) h = inner_head (layer_at C (x t) b) h.
  Proof.
    unfold inner_head, added_count; cbn [layer_at extents projected_count added_row zero_attention unpadded inside].
    assert (E := rows_are_there_at_all_times u); rewrite <- (rows_are_there_at_all_times t) in E.
    unfold one_if in E; rewrite E; reflexivity.
  Qed.

  Lemma keys_of_inner_head b h : key_count (inner_head (layer_at C (x t) b) h) = keys_inside.
  Proof. unfold keys_inside; rewrite <- (rows_are_there_at_all_times t); reflexivity. Qed.

  Lemma read_bias_moves b h : matrix_moves (fun u => inner_bias (layer_at C (x u) b) h) t
    (fun i j => if (j <? Sk)%nat then read_bias C (layer_bias x') b h i j else 0).
  Proof.
    intros i j; unfold inner_bias; cbn [layer_at projected_count inside_bias]; fold Sk.
    destruct (j <? Sk)%nat; [|apply derive_const].
    unfold read_bias; destruct (bias_shape C) as [[[nB nH] nI] nJ]; apply (layer_bias_moves _ _ _ all_move).
  Qed.

  (** * One batch entry *)

  Section Entry.
    Variables (b : nat) (G : matrix).

    Let d (h : nat) : operands :=
      head_gradient (inner_head (layer_at C (x t) b) h) no_lse Sq Dv (head_operands C (x t) b h)
        (merge_heads_gradient Dv (affine_gradient_x (output_width e) (weight_of (output_map (x t))) G) h) (fun _ => 0).
    Let d_q : matrix := split_heads_gradient D (fun h => queries (d h)).
    Let d_k : matrix := split_heads_gradient D (fun n j c =>
      add_broadcast (query_heads e) key_head_of (fun h => keys (d h) j c) n).
    Let d_v : matrix := split_heads_gradient Dv (fun n j c =>
      add_broadcast (query_heads e) value_head_of (fun h => values (d h) j c) n).

    Definition entry_dot : R :=
      projection_dot (query_input e) (query_heads e * D) (gradient_of_projection Sq (query_inputs (x t) b) d_q)
        (query_map x')
      + projection_dot (key_input e) (key_heads e * D)
          (gradient_of_projection Sk (key_inputs (x t) b) (fst (append_rows_gradient Sk d_k))) (key_map x')
      + projection_dot (value_input e) (value_heads e * Dv)
          (gradient_of_projection Sk (value_inputs (x t) b) (fst (append_rows_gradient Sk d_v))) (value_map x')
      + projection_dot (query_heads e * Dv) (output_width e)
          (gradient_of_projection Sq (merge_heads Dv (heads_at C (x t) b)) G) (output_map x')
      + row_dot (key_heads e * D) (Some (snd (append_rows_gradient Sk d_k) 0%nat))
          (option_map fst (key_and_value_row x'))
      + row_dot (value_heads e * Dv) (Some (snd (append_rows_gradient Sk d_v) 0%nat))
          (option_map snd (key_and_value_row x'))
      + (matrix_dot Sq (query_input e) (affine_gradient_x (query_heads e * D) (weight_of (query_map (x t))) d_q)
          (query_inputs x' b)
         + matrix_dot Sk (key_input e)
             (affine_gradient_x (key_heads e * D) (weight_of (key_map (x t))) (fst (append_rows_gradient Sk d_k)))
             (key_inputs x' b)
         + matrix_dot Sk (value_input e)
             (affine_gradient_x (value_heads e * Dv) (weight_of (value_map (x t))) (fst (append_rows_gradient Sk d_v)))
             (value_inputs x' b))
      + sum (range (query_heads e)) (fun h =>
          matrix_dot Sq Sk (biases (d h)) (read_bias C (layer_bias x') b h))
      + sum (range (query_heads e)) (fun h => or_zero (sink (d h)) * or_zero (layer_sink x' h)).

    Lemma entry_moves :
      is_derive (fun u => matrix_dot Sq (output_width e) G (output_at C (x u) b)) t entry_dot.
    Proof.
      destruct (projected_stage (query_input e) _ _ t _ _ (query_map_moves _ _ _ all_move)
                  (query_inputs_move _ _ _ all_move b)) as (Q' & MQ & EQ).
      destruct (projected_keys_stage (key_input e) Sk _ _ (zero_key C) _ t _ _ _ (key_map_moves _ _ _ all_move)
                  (key_row_moves _ _ _ all_move) (key_inputs_move _ _ _ all_move b)) as (K' & MK & EK).
      destruct (projected_keys_stage (value_input e) Sk _ _ (zero_key C) _ t _ _ _ (value_map_moves _ _ _ all_move)
                  (value_row_moves _ _ _ all_move) (value_inputs_move _ _ _ all_move b)) as (V' & MV & EV).
      set (B' := fun h i j => if (j <? Sk)%nat then read_bias C (layer_bias x') b h i j else 0).
      set (o' := fun h => Operands (split_heads D Q' h) (split_heads D K' (key_head_of h))
                                   (split_heads Dv V' (value_head_of h)) (B' h) (layer_sink x' h)).
      assert (Mo : forall h, moves (fun u => head_operands C (x u) b h) t (o' h)).
      { intros h; refine (conj _ (conj _ (conj _ (conj _ _)))).
        - intros i c; apply MQ.
        - intros j c; apply MK.
        - intros j c; apply MV.
        - apply read_bias_moves.
        - apply (layer_sink_moves _ _ _ all_move). }
      assert (Hcap : forall h, cap_is_positive (inner_head (layer_at C (x t) b) h))
        by (intros h; apply (inside_caps_are_positive C layer_is_checked b h)).
      assert (Ho : forall h, matrix_moves (fun u => heads_at C (x u) b h) t
        (output_velocity (inner_head (layer_at C (x t) b) h) (head_operands C (x t) b h) (o' h))).
      { intros h i c; apply (derive_fun (fun u =>
          output_of (inner_head (layer_at C (x t) b) h) (head_operands C (x u) b h) i c)).
        - apply (head_stage _ _ t _ (Hcap h) (Mo h)).
        - intros u; rewrite <- (inner_head_at u b h); reflexivity. }
      destruct (projected_stage (query_heads e * Dv) _ (fun u => merge_heads Dv (heads_at C (x u) b)) t _
        (merge_heads Dv (fun h =>
          output_velocity (inner_head (layer_at C (x t) b) h) (head_operands C (x t) b h) (o' h)))
        (output_map_moves _ _ _ all_move)) as (O' & MO & EO).
      { intros i c; apply Ho. }
      apply (derive_as _ _ _ _ (matrix_dot_moves Sq (output_width e) G _ t O' MO)).
      rewrite EO, merging_and_splitting_are_transposes.
      rewrite (sum_ext (range (query_heads e)) _ (fun h => inner Sq keys_inside D Dv (d h) (o' h))).
      2: { intros h _; rewrite (proj2 (head_stage _ _ t _ (Hcap h) (Mo h)) Sq Dv), keys_of_inner_head; reflexivity. }
      unfold inner; rewrite !sum_plus.
      assert (PQ : sum (range (query_heads e)) (fun h =>
                     sum (range Sq) (fun i => dot D (queries (d h) i) (queries (o' h) i)))
                   = matrix_dot Sq (query_heads e * D) d_q Q')
        by (symmetry; apply splitting_and_merging_are_transposes).
      assert (PK : sum (range (query_heads e)) (fun h =>
                     sum (range keys_inside) (fun j => dot D (keys (d h) j) (keys (o' h) j)))
                   = matrix_dot keys_inside (key_heads e * D) d_k K').
      { unfold d_k; rewrite splitting_and_merging_are_transposes.
        apply (shared_matrices _ _ key_head_of
                 (fun h => key_head_below _ _ _ h (key_heads_divide C layer_is_checked)) _ _
                 (fun h => keys (d h)) (split_heads D K')). }
      assert (PV : sum (range (query_heads e)) (fun h =>
                     sum (range keys_inside) (fun j => dot Dv (values (d h) j) (values (o' h) j)))
                   = matrix_dot keys_inside (value_heads e * Dv) d_v V').
      { unfold d_v; rewrite splitting_and_merging_are_transposes.
        apply (shared_matrices _ _ value_head_of
                 (fun h => key_head_below _ _ _ h (value_heads_divide C layer_is_checked)) _ _
                 (fun h => values (d h)) (split_heads Dv V')). }
      assert (PB : sum (range (query_heads e)) (fun h =>
                     sum (range Sq) (fun i => dot keys_inside (biases (d h) i) (biases (o' h) i)))
                   = sum (range (query_heads e)) (fun h =>
                     matrix_dot Sq Sk (biases (d h)) (read_bias C (layer_bias x') b h))).
      { apply sum_ext; intros h _; apply sum_ext; intros i _; unfold dot, keys_inside; rewrite sum_range_add.
        rewrite (sum_zero (range (_ + _)) _), Rplus_0_r.
        - apply sum_ext; intros j Hj; apply in_range, Nat.ltb_lt in Hj; unfold o', B'; cbn [biases]; rewrite Hj;
            reflexivity.
        - intros j _; unfold o', B'; cbn [biases]; destruct (Nat.ltb_spec (Sk + j) Sk); [lia|ring]. }
      rewrite PQ, PK, PV, PB, EQ; unfold keys_inside.
      replace (one_if (key_and_value_row x')) with (one_if (option_map fst (key_and_value_row x'))) at 1
        by (destruct (key_and_value_row x'); reflexivity).
      rewrite EK.
      replace (one_if (key_and_value_row x')) with (one_if (option_map snd (key_and_value_row x'))) at 1
        by (destruct (key_and_value_row x'); reflexivity).
      rewrite EV; unfold entry_dot; simpl sink; ring.
    Qed.
  End Entry.

  (** * The sum over the batch *)

  Lemma projection_dots I O n p p' (X G : nat -> matrix) :
    (bias_of p = None <-> bias_of p' = None) ->
    sum (range (batch_size C)) (fun b => projection_dot I O (gradient_of_projection n (X b) (G b)) p')
    = projection_dot I O (projection_gradient (batch_size C) n p X G) p'.
  Proof.
    intros H; unfold projection_dot, gradient_of_projection, projection_gradient; cbn [weight_of bias_of].
    rewrite sum_plus; f_equal.
    - unfold matrix_dot; rewrite sum_swap; apply sum_ext; intros r _; unfold dot; rewrite sum_swap.
      apply sum_ext; intros c _; apply sum_scal_r.
    - destruct (bias_of p) as [a|], (bias_of p') as [v|]; simpl.
      + unfold dot; rewrite sum_swap; apply sum_ext; intros c _; apply sum_scal_r.
      + destruct H as [_ H]; discriminate (H eq_refl).
      + destruct H as [H _]; discriminate (H eq_refl).
      + apply sum_zero; reflexivity.
  Qed.

  Lemma row_dots n (r r' : option row) (g : nat -> row) :
    (r = None <-> r' = None) ->
    sum (range (batch_size C)) (fun b => row_dot n (Some (g b)) r')
    = row_dot n (option_map (fun _ c => sum (range (batch_size C)) (fun b => g b c)) r) r'.
  Proof.
    intros H; destruct r as [a|], r' as [v|]; simpl.
    - unfold dot; rewrite sum_swap; apply sum_ext; intros c _; apply sum_scal_r.
    - destruct H as [_ H]; discriminate (H eq_refl).
    - destruct H as [H _]; discriminate (H eq_refl).
    - apply sum_zero; reflexivity.
  Qed.

  Lemma row_moves_same r r' : row_moves r t r' -> (r t = None <-> r' = None).
  Proof.
    destruct r' as [v|]; simpl; intros H; [|rewrite H; tauto].
    destruct H as (a & E & _); rewrite E; split; discriminate.
  Qed.

  (** GRD.P15: the derivative along every curve *)
  Theorem layer_gradient_is_the_derivative g :
    is_derive (fun u => layer_loss C (x u) g) t (layer_dot C (layer_gradient C (x t) g) x').
  Proof.
    apply (derive_as _ _ (sum (range (batch_size C)) (fun b => entry_dot b (g b)))).
    - apply (derive_sum (range (batch_size C)) (fun b u =>
        matrix_dot (query_count C) (output_width (sizes C)) (g b) (output_at C (x u) b))).
      intros b _; apply entry_moves.
    - unfold entry_dot, layer_dot, layer_gradient; fold no_lse e D Dv Sq Sk.
      destruct layer_is_checked as [_ _ Hfits _].
      assert (Hbias : forall (G : nat -> nat -> matrix),
        sum (range (batch_size C)) (fun b => sum (range (query_heads e)) (fun h =>
          matrix_dot Sq Sk (G b h) (read_bias C (layer_bias x') b h))) =
        let '(nB, nH, nI, nJ) := bias_shape C in
        sum (range nB) (fun b' => sum (range nH) (fun h' => matrix_dot nI nJ (fun i' j' =>
          add_broadcast (batch_size C) (broadcast nB) (fun b => add_broadcast (query_heads e) (broadcast nH) (fun h =>
          add_broadcast Sq (broadcast nI) (fun i => add_broadcast Sk (broadcast nJ) (fun j => G b h i j) j') i') h') b')
          (layer_bias x' b' h')))).
      { intros G; unfold read_bias; destruct (bias_shape C) as [[[nB nH] nI] nJ]; destruct Hfits as (FB & FH & FI & FJ).
        apply (shared_bias nB nH nI nJ (batch_size C) (query_heads e) Sq Sk (broadcast nB) (broadcast nH) (broadcast nI)
                 (broadcast nJ) G (layer_bias x')); intros p; apply broadcast_below; assumption. }
      rewrite !sum_plus, Hbias; destruct (bias_shape C) as [[[nB nH] nI] nJ].
      cbn [query_map key_map value_map output_map key_and_value_row query_inputs key_inputs value_inputs
           layer_bias layer_sink].
      destruct all_move as [HQ HK HV HO Hk Hv _ _ _ _ Hs].
      repeat apply (f_equal2 Rplus).
      + apply projection_dots, (row_moves_same _ _ (proj2 HQ)).
      + apply projection_dots, (row_moves_same _ _ (proj2 HK)).
      + apply projection_dots, (row_moves_same _ _ (proj2 HV)).
      + apply projection_dots, (row_moves_same _ _ (proj2 HO)).
      + rewrite (row_dots _ _ _ _ (row_moves_same _ _ Hk)); destruct (key_and_value_row (x t)); reflexivity.
      + rewrite (row_dots _ _ _ _ (row_moves_same _ _ Hv)); destruct (key_and_value_row (x t)); reflexivity.
      + reflexivity.
      + reflexivity.
      + reflexivity.
      + reflexivity.
      + rewrite sum_swap; apply sum_ext; intros h _; specialize (Hs h); unfold head_operands.
        cbn [head_gradient sink]; destruct (layer_sink x' h) as [v|]; simpl in Hs.
        * destruct Hs as (a & E & _); rewrite E; simpl; apply sum_scal_r.
        * rewrite Hs; simpl; rewrite sum_zero by (intros; ring); ring.
  Qed.
End Layer.
