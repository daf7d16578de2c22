(** Splitting and merging heads, packed projections, caches: entries move, and each projected entry is the same sum. *)
From Attest Require Export AttentionCalls.

(** ** Splitting and merging *)

Lemma column_of_head w h c : (c < w)%nat -> ((h * w + c) / w = h)%nat /\ ((h * w + c) mod w = c)%nat.
Proof.
  intros H; rewrite (Nat.add_comm (h * w)); split.
  - rewrite Nat.div_add, Nat.div_small by lia; reflexivity.
  - rewrite Nat.mod_add, Nat.mod_small by lia; reflexivity.
Qed.

Lemma head_of_column w n : (0 < w)%nat -> ((n / w) * w + n mod w = n)%nat.
Proof. intros H; rewrite Nat.mul_comm; symmetry; apply Nat.div_mod; lia. Qed.

Lemma column_below H w n : (n < H * w)%nat -> (n / w < H)%nat /\ (n mod w < w)%nat.
Proof. intros L; assert (w <> O) by lia; split; [apply Nat.div_lt_upper_bound; lia|apply Nat.mod_upper_bound; lia]. Qed.

(** MHA.P1: of H heads of width w; both ways, and every column below H w belongs to one head below H *)
Theorem splitting_is_a_bijection H w : (0 < w)%nat ->
  (forall X s n, merge_heads w (split_heads w X) s n = X s n) /\
  (forall Xs h s c, (c < w)%nat -> split_heads w (merge_heads w Xs) h s c = Xs h s c) /\
  (forall n, (n < H * w)%nat -> (n / w < H)%nat /\ (n mod w < w)%nat) /\
  (forall h c, (h < H)%nat -> (c < w)%nat -> (h * w + c < H * w)%nat).
Proof.
  intros Hw; split; [|split; [|split]].
  - intros X s n; unfold merge_heads, split_heads; rewrite head_of_column by assumption; reflexivity.
  - intros Xs h s c Hc; unfold merge_heads, split_heads.
    destruct (column_of_head w h c Hc) as [-> ->]; reflexivity.
  - intros n; apply column_below.
  - intros h c Hh Hc; assert ((h + 1) * w <= H * w)%nat by (apply Nat.mul_le_mono_r; lia); lia.
Qed.

(** MHA.E2 *)
Lemma MHA_E2 : let X := fun s n => nth (4 * s + n) [1; 2; 3; 4; 5; 6; 7; 8] 0 in
  map (fun h => map (fun s => map (split_heads 2 X h s) (range 2)) (range 2)) (range 2) =
  [[[1; 2]; [5; 6]]; [[3; 4]; [7; 8]]].
Proof. reflexivity. Qed.

(** ** Projections *)

Lemma affine_ext I W W' b b' X X' s n :
  (forall m, (m < I)%nat -> X s m = X' s m) -> (forall m, (m < I)%nat -> W m n = W' m n) ->
  match b with Some b => b n | None => 0 end = match b' with Some b => b n | None => 0 end ->
  affine I W b X s n = affine I W' b' X' s n.
Proof. intros HX HW Hb; unfold affine; f_equal; [apply dot_ext; assumption|exact Hb]. Qed.

(** one weight, from a list of one for each head *)
Definition packed (w : nat) (W : list matrix) : matrix := merge_heads w (fun h => nth h W (fun _ _ => 0)).

(** MHA.P2 *)
Theorem packed_projection_is_the_projection_for_each_head I w W X h s c : (c < w)%nat ->
  split_heads w (affine I (packed w W) None X) h s c = project_heads I W X h s c.
Proof.
  intros Hc; unfold split_heads, project_heads, affine, packed, merge_heads; f_equal; apply dot_ext; [reflexivity|].
  intros m _.
  destruct (column_of_head w h c Hc) as [-> ->]; reflexivity.
Qed.

(** MHA.P6 *)
Theorem appending_to_a_cache_is_projecting_the_whole I W b n X1 X2 s c :
  append_rows n (affine I W b X1) (affine I W b X2) s c = affine I W b (append_rows n X1 X2) s c.
Proof.
  unfold append_rows, affine; destruct (s <? n)%nat; reflexivity.
Qed.

(** MHA.D6: what comes first, and what comes after it *)
Lemma append_rows_spec n past now s :
  ((s < n)%nat -> append_rows n past now s = past s) /\ append_rows n past now (n + s)%nat = now s.
Proof.
  unfold append_rows; split.
  - intros H; apply Nat.ltb_lt in H; rewrite H; reflexivity.
  - destruct (Nat.ltb_spec (n + s) n); [lia|]; f_equal; lia.
Qed.

Definition identity_matrix : matrix := fun r n => if Nat.eqb n r then 1 else 0.

Lemma affine_identity I X s n : (n < I)%nat -> affine I identity_matrix None X s n = X s n.
Proof.
  intros H; unfold affine, dot, identity_matrix.
  rewrite Rplus_0_r, (sum_ext _ _ (fun c => (if Nat.eqb n c then 1 else 0) * X s c)) by (intros; ring).
  apply (sum_delta (range I) n (X s)); [apply seq_NoDup|apply in_range, H].
Qed.
