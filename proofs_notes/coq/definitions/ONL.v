(** 15 Online softmax *)
From Attest Require Export TRN.

(** A block of keys: a shift c, the sum of exp (l_j - c), and the sum of exp (l_j - c) * v_j, one number for each
    channel. The shift may be any number. Without a shift it is the empty block. *)
Record block := Block { block_shift : option R; block_sum : R; block_weighted : row }.                    (* ONL.D1 *)
Definition empty_block : block := Block None 0 (fun _ => 0).

(** what a block stands for, whatever its shift: Phi; blocks that stand for the same are equal in the reals *)
Definition stands_for (b : block) : R * row :=
  match block_shift b with
  | Some c => (exp c * block_sum b, fun ch => exp c * block_weighted b ch)
  | None => (0, fun _ => 0)
  end.
Definition same_block (a b : block) : Prop :=
  fst (stands_for a) = fst (stands_for b) /\ forall ch, snd (stands_for a) ch = snd (stands_for b) ch.

Definition block_of (c : R) (keys : list nat) (l : row) (V : matrix) : block :=                           (* ONL.D2 *)
  match keys with
  | [] => empty_block
  | _ => Block (Some c) (sum keys (exponential c l)) (fun ch => sum keys (fun j => exponential c l j * V j ch))
  end.

(** the common shift is c, any number *)
Definition merge (c : R) (a b : block) : block :=                                                         (* ONL.D3 *)
  match block_shift a, block_shift b with
  | None, _ => b
  | _, None => a
  | Some ca, Some cb =>
      let ra := exp (ca - c) in
      let rb := exp (cb - c) in
      Block (Some c) (ra * block_sum a + rb * block_sum b)
            (fun ch => ra * block_weighted a ch + rb * block_weighted b ch)
  end.

(** a piece of a row: its keys, the shift of its block, and the common shift when it is merged *)
Record piece := Piece { piece_keys : list nat; piece_shift : R; common_shift : R }.
(** begin with a given block and merge the pieces from the left; [stream] begins with the empty block. That the pieces are
    those of a row is a condition of the theorems. *)
Definition stream_from (start : block) (pieces : list piece) (l : row) (V : matrix) : block :=
  fold_left (fun b p => merge (common_shift p) b (block_of (piece_shift p) (piece_keys p) l V)) pieces start.
Definition stream (pieces : list piece) (l : row) (V : matrix) : block :=                                 (* ONL.D4 *)
  stream_from empty_block pieces l V.

(** the output, and the log-sum-exp; the empty block has no log-sum-exp *)
Definition finish (b : block) : row * option R :=                                                         (* ONL.D5 *)
  match block_shift b with
  | Some c => (fun ch => block_weighted b ch / block_sum b, Some (c + ln (block_sum b)))
  | None => (fun _ => 0, None)
  end.
Definition sink_block (a : R) : block := Block (Some a) 1 (fun _ => 0).
Definition start_block (sink : option R) : block :=
  match sink with Some a => sink_block a | None => empty_block end.
(** the row of a head, streamed: the pieces hold its visible keys in order *)
Definition streamed_row (sink : option R) (pieces : list piece) (l : row) (V : matrix)
  : row * option R :=                                                                                     (* ONL.D6 *)
  finish (stream_from (start_block sink) pieces l V).

(** the keys in blocks of n, the last one as short as it comes *)
Fixpoint first_blocks (count n : nat) (keys : list nat) : list (list nat) :=
  match count with O => [] | S more => firstn n keys :: first_blocks more n (skipn n keys) end.
Definition blocks (n : nat) (keys : list nat) : list (list nat) := first_blocks ((length keys + n - 1) / n) n keys.

(** the layer with its rows streamed; [pieces h i] are those of row i of head h. Dropout has no place here (ONL.C2). *)
Definition streamed_layer (L : layer) (pieces : nat -> nat -> list piece) (Xq Xk Xv : matrix) : matrix :=  (* ONL.D7 *)
  output_rows L (fun h i =>
    let l := row_logits (inner_head L h) (layer_queries L Xq h) (layer_keys L Xk h) (inner_bias L h) i in
    fst (streamed_row (inside_sink L h) (pieces h i) l (layer_values L Xv h))).
