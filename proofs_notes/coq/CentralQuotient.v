(** What a derivative along every curve says about quotients of differences. *)
From Attest Require Export Derivatives.

(** a number that moves from a with velocity b *)
Lemma line_derivative (a b u : R) : is_derive (fun u => a + u * b) u b.
Proof.
  apply (derive_as _ _ (0 + 1 * b)); [|ring].
  apply (derive_plus (fun _ => a)); [apply derive_const|apply (derive_scal_r (fun u => u)), (is_derive_id u)].
Qed.

(** the quotient of central differences is the derivative at a place in between *)
Lemma central_quotient (L dL : R -> R) h :
  0 < h -> (forall u, - h <= u <= h -> is_derive L u (dL u)) ->
  exists xi, - h < xi < h /\ (L h - L (- h)) / (2 * h) = dL xi.
Proof.
  intros Hh D; destruct (MVT_cor2 L dL (- h) h ltac:(lra)) as [xi [E B]].
  - intros u Hu; apply is_derive_Reals, D, Hu.
  - exists xi; split; [exact B|]; rewrite E; field; lra.
Qed.
