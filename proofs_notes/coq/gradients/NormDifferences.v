(** Quotients of differences of norms: they are gradients in between, and their error falls as the square of the
    step. *)
From Attest Require Export Smoothness NormGradient.

(** * Along a line *)

(** GRD.P12: the quotients of differences, where the norm exists all along the line *)
Theorem rms_norm_gradient_is_a_central_quotient n has_gamma epsilon (x dx gamma dgamma g : row) h : 0 < h ->
  let x_at u c := x c + u * dx c in
  let gamma_at u := if_present has_gamma (fun c => gamma c + u * dgamma c) in
  (forall u, - h <= u <= h -> 0 < mean_square n (x_at u) + epsilon) ->
  let L u := dot n g (rms_norm n (gamma_at u) epsilon (x_at u)) in
  exists xi, - h < xi < h /\ central_quotient L h =
    dot n (rms_norm_gradient_x n (gamma_at xi) epsilon (x_at xi) g) dx
    + if has_gamma then dot n (rms_norm_gradient_gamma n epsilon (x_at xi) g) dgamma else 0.
Proof.
  intros Hh x_at gamma_at Hpos L; apply (central_quotient_is_a_derivative L (fun u => _)); [exact Hh|].
  intros u Hu.
  apply (rms_norm_gradient_is_its_transpose n has_gamma epsilon (fun c u => x_at u c)
           (fun c u => gamma c + u * dgamma c)); try (intros; apply line_derive); apply Hpos, Hu.
Qed.

Theorem layer_norm_gradient_is_a_central_quotient n has_gamma has_beta epsilon
    (x dx gamma dgamma beta dbeta g : row) h : 0 < h ->
  let x_at u c := x c + u * dx c in
  let gamma_at u := if_present has_gamma (fun c => gamma c + u * dgamma c) in
  let beta_at u := if_present has_beta (fun c => beta c + u * dbeta c) in
  (forall u, - h <= u <= h -> 0 < variance n (x_at u) + epsilon) ->
  let L u := dot n g (layer_norm n (gamma_at u) (beta_at u) epsilon (x_at u)) in
  exists xi, - h < xi < h /\ central_quotient L h =
    dot n (layer_norm_gradient_x n (gamma_at xi) epsilon (x_at xi) g) dx
    + (if has_gamma then dot n (layer_norm_gradient_gamma n epsilon (x_at xi) g) dgamma else 0)
    + if has_beta then dot n (layer_norm_gradient_beta g) dbeta else 0.
Proof.
  intros Hh x_at gamma_at beta_at Hpos L; apply (central_quotient_is_a_derivative L (fun u => _)); [exact Hh|].
  intros u Hu.
  apply (layer_norm_gradient_is_its_transpose n has_gamma has_beta epsilon (fun c u => gamma c + u * dgamma c)
           (fun c u => beta c + u * dbeta c) dgamma dbeta u); try (intros; apply line_derive); apply Hpos, Hu.
Qed.

(** * Halving the step, where the norm exists all along the line: for an epsilon above 0, always *)

Lemma elementary_dot n (f g : nat -> R -> R) :
  (forall c, elementary (f c)) -> (forall c, elementary (g c)) ->
  elementary (fun u => dot n (fun c => f c u) (fun c => g c u)).
Proof.
  intros F G; apply (elementary_sum (range n) (fun c u => f c u * g c u)); intros; apply elementary_mult; auto.
Qed.

Lemma elementary_minus f g : elementary f -> elementary g -> elementary (fun u => f u - g u).
Proof. intros F G; exact (elementary_binary Minus f g F G (fun _ => I)). Qed.

Lemma elementary_divided f c : elementary f -> elementary (fun u => f u / c).
Proof. intros F; apply (elementary_mult f (fun _ => / c) F), elementary_const. Qed.

Lemma elementary_rms_norm n has_gamma epsilon (x gamma : nat -> R -> R) c :
  (forall u, 0 < mean_square n (fun c => x c u) + epsilon) ->
  (forall c, elementary (x c)) -> (forall c, elementary (gamma c)) ->
  elementary (fun u => rms_norm n (if_present has_gamma (fun c => gamma c u)) epsilon (fun c => x c u) c).
Proof.
  intros P X G.
  assert (Y : elementary (fun u => x c u / sqrt (mean_square n (fun c => x c u) + epsilon))).
  { apply elementary_div; [apply X| |intros u; apply Rgt_not_eq, sqrt_lt_R0, P].
    apply (elementary_unary Sqrt (fun u => mean_square n (fun c => x c u) + epsilon)); [|exact P].
    apply elementary_plus; [apply elementary_divided, elementary_dot; exact X|apply elementary_const]. }
  destruct has_gamma; [apply (elementary_mult _ (gamma c) Y), G|exact Y].
Qed.

Lemma elementary_centred n (x : nat -> R -> R) c :
  (forall c, elementary (x c)) -> elementary (fun u => centred n (fun c => x c u) c).
Proof.
  intros X; apply (elementary_minus (x c)); [apply X|]; apply elementary_divided, (elementary_sum (range n) x); auto.
Qed.

Section Along_a_line.
  Variables (n : nat) (has_gamma has_beta : bool) (epsilon : R).
  Variables (x dx gamma dgamma beta dbeta g : row).
  Let x_at (u : R) : row := fun c => x c + u * dx c.
  Let gamma_at (u : R) : option row := if_present has_gamma (fun c => gamma c + u * dgamma c).
  Let beta_at (u : R) : option row := if_present has_beta (fun c => beta c + u * dbeta c).
  Let rms_loss (u : R) : R := dot n g (rms_norm n (gamma_at u) epsilon (x_at u)).
  Let layer_loss (u : R) : R := dot n g (layer_norm n (gamma_at u) (beta_at u) epsilon (x_at u)).

  Lemma rms_norm_is_smooth : (forall u, 0 < mean_square n (x_at u) + epsilon) -> smooth rms_loss.
  Proof.
    intros P; apply elementary_functions_are_smooth.
    apply (elementary_dot n (fun c _ => g c) (fun c u => rms_norm n (gamma_at u) epsilon (x_at u) c)); intros c.
    - apply elementary_const.
    - apply (elementary_rms_norm n has_gamma epsilon (fun c u => x_at u c) (fun c u => gamma c + u * dgamma c));
        [exact P|intros; apply elementary_line..].
  Qed.

  Lemma layer_norm_is_smooth : (forall u, 0 < variance n (x_at u) + epsilon) -> smooth layer_loss.
  Proof.
    intros P; apply elementary_functions_are_smooth.
    apply (elementary_dot n (fun c _ => g c) (fun c u => layer_norm n (gamma_at u) (beta_at u) epsilon (x_at u) c));
      intros c; [apply elementary_const|].
    assert (Y : elementary (fun u => rms_norm n (gamma_at u) epsilon (centred n (x_at u)) c)).
    { apply (elementary_rms_norm n has_gamma epsilon (fun c u => centred n (x_at u) c)
               (fun c u => gamma c + u * dgamma c)); [exact P| |intros; apply elementary_line].
      intros k; apply (elementary_centred n (fun c u => x_at u c)); intros; apply elementary_line. }
    unfold beta_at; destruct has_beta; [|exact Y].
    apply (elementary_plus _ (fun u => beta c + u * dbeta c) Y), elementary_line.
  Qed.

  (** the gradient at the place u of the line, against the direction *)
  Let rms_gradient (u : R) : R :=
    dot n (rms_norm_gradient_x n (gamma_at u) epsilon (x_at u) g) dx
    + if has_gamma then dot n (rms_norm_gradient_gamma n epsilon (x_at u) g) dgamma else 0.
  Let layer_gradient (u : R) : R :=
    dot n (layer_norm_gradient_x n (gamma_at u) epsilon (x_at u) g) dx
    + (if has_gamma then dot n (layer_norm_gradient_gamma n epsilon (x_at u) g) dgamma else 0)
    + if has_beta then dot n (layer_norm_gradient_beta g) dbeta else 0.

  (** GRD.P12 *)
  Theorem rms_norm_gradient_matches_finite_differences :
    (forall u, 0 < mean_square n (x_at u) + epsilon) -> matches_finite_differences rms_loss rms_gradient.
  Proof.
    intros P; apply derivatives_match_finite_differences; [apply rms_norm_is_smooth, P|]; intros u.
    apply (rms_norm_gradient_is_its_transpose n has_gamma epsilon (fun c u => x_at u c)
             (fun c u => gamma c + u * dgamma c)); try (intros; apply line_derive); apply P.
  Qed.

  Theorem layer_norm_gradient_matches_finite_differences :
    (forall u, 0 < variance n (x_at u) + epsilon) -> matches_finite_differences layer_loss layer_gradient.
  Proof.
    intros P; apply derivatives_match_finite_differences; [apply layer_norm_is_smooth, P|]; intros u.
    apply (layer_norm_gradient_is_its_transpose n has_gamma has_beta epsilon
             (fun c u => gamma c + u * dgamma c) (fun c u => beta c + u * dbeta c) dgamma dbeta u
             ltac:(intros; apply line_derive) ltac:(intros; apply line_derive) (fun c u => x_at u c));
      [intros; apply line_derive|apply P].
  Qed.
End Along_a_line.
