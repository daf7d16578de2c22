(** The example of chapter 18, "How large they are": the definitions of the bounds give its numbers, in units of u. *)
From Interval Require Import Tactic.
From Attest Require Import Sums.

(** float_model(f32): u = 2^-24, lambda = 2^-126 *)
Definition u32 : R := / 2 ^ 24.
Definition model32 : float_model := FloatModel u32 (/ 2 ^ 126) (2 * u32) (2 * u32) (4 * u32).

(** width 64, |sigma| sum |q k| = 10 *)
Definition example_score : bounded := scaled_bound model32 64 1 (fun _ => 1) (fun _ => 10 / 64).
(** 1024 keys, logits known within 690 u and in a range of 20 *)
Definition example_row : row_model := RowModel (690 * u32) 20 1024.

(** the counts that occur, as numbers that [interval] reads *)
Lemma counts : INR 64 = 64 /\ INR (64 + 5) = 69 /\ INR 1024 = 1024 /\ INR (1024 - 1) = 1023 /\ INR 2 = 2.
Proof. rewrite !INR_IZR_INZ; repeat split; apply f_equal; reflexivity. Qed.

(** one step: unfold what has numbers, and let [interval] compute with what is known of the rest *)
Ltac numbers :=
  destruct counts as (N64 & N69 & N1024 & N1023 & N2);
  cbv beta iota zeta delta [real_value error_bound roundoff smallest_normal exp_error log_error tanh_error
    logit_error logit_gap logit_count model32 example_row underflow gamma];
  rewrite ?sum_const, ?N64, ?N69, ?N1024, ?N1023, ?N2; unfold u32 in *; clear N64 N69 N1024 N1023 N2.

Lemma example_logit : real_value example_score = 10 /\ 689 * u32 <= error_bound example_score <= 691 * u32.
Proof.
  unfold example_score, scaled_bound, dot; numbers; unfold range; rewrite seq_length.
  rewrite INR_IZR_INZ; simpl Z.of_nat; split; [field|split; interval].
Qed.

Lemma example_rho : 711.9 * u32 <= rho model32 example_row <= 712.1 * u32.
Proof. unfold rho; numbers; split; interval with (i_prec 60). Qed.

Lemma example_lost : 0 <= lost model32 example_row <= / 2 ^ 140.
Proof. unfold lost; numbers; split; interval. Qed.

Lemma example_rho_total : 1735 * u32 <= rho_total model32 example_row <= 1736 * u32.
Proof.
  pose proof example_rho; pose proof example_lost.
  unfold rho_total; set (a := rho _ _) in *; set (b := lost _ _) in *; clearbody a b.
  numbers; split; interval with (i_prec 60).
Qed.

(** the error of a weight over the weight, here 1; of a log-sum-exp of 10; of an output with mean |v| = 1 *)
Lemma example_weight : 2445 * u32 <= weight_bound model32 example_row 1 <= 2455 * u32.
Proof.
  pose proof example_rho; pose proof example_lost; pose proof example_rho_total.
  unfold weight_bound; set (a := rho _ _) in *; set (b := lost _ _) in *; set (c := rho_total _ _) in *.
  clearbody a b c.
  numbers; split; interval with (i_prec 60).
Qed.

Lemma example_lse : 1755 * u32 <= lse_bound model32 example_row 10 <= 1765 * u32.
Proof.
  pose proof example_rho_total.
  unfold lse_bound, rounded_sum; set (c := rho_total _ _) in *; clearbody c.
  numbers; split; interval with (i_prec 60).
Qed.

Lemma example_output : 3465 * u32 <= output_bound model32 example_row 1024 1 1024 1 <= 3475 * u32.
Proof.
  pose proof example_rho; pose proof example_lost; pose proof example_rho_total.
  unfold output_bound; set (a := rho _ _) in *; set (b := lost _ _) in *; set (c := rho_total _ _) in *.
  clearbody a b c.
  numbers; split; interval with (i_prec 60).
Qed.
