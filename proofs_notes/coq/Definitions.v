(** The definitions of the specification, over the real numbers: pages to be read, one for each chapter.

    The pages are in definitions/, in the order of the chapters, and each builds on those before it:

      Numbers  rows and tables of numbers   DEC        12 decoder block
      NUM      01 dual numbers              GRD        13 gradients of attention
      SHP      02 shapes: sums              GRD_layer  13 gradients of what is around it, and of a layer; relu, gelu
      MSK      03 masks                     GRD_block  12 the gradient of the decoder block
      SMX      04 softmax                   TRN        14 training
      ATT      05 attention                 ONL        15 online softmax
      MHA      06 the whole call; layers    ENC        17 what a certificate claims
      OPT      07 optional state            BND        18 bounds
      DRP      08 dropout
      POS      10 positions                 Not here: the rules for NaN and infinities (ATT.D10, D11), additive softmax
      NRM      11 norms                     (SMX.D6, in softmax/Programs.v), running errors (BND.B6, B7)

    Begin with Numbers and SHP, then [gathered] of MSK, SMX and ATT.

    How to read them, coming from C++.

      Definition f (x : R) : R := e.          double f(double x) { return e; }, but R holds the real numbers
      Fixpoint f ...                          a recursive function
      Record r := C { a : A; b : B }          struct r { A a; B b; };  [C x y] makes one, [a s] is s.a;
                                              {| a := x; b := y |} is r{.a = x, .b = y}
      Inductive t := p | q                    enum class t { p, q }; a std::variant where a case has arguments
      From Attest Require Export ATT #include nat, Z, R, bool 0, 1, 2,...; the integers; the real numbers; true and false
      nat -> R                                a row of numbers: [s j] is s[j]. How long it is, is said where it is summed
      nat -> nat -> R                         a matrix: [X i c] is X(i, c), and [X i] is row i
      A * B, (x, y), fst p, snd p             std::pair, and its two members
      {A : Type}                              template <class A>
      option R, Some a, None                  std::optional<double>; option_map f o applies f if there is a value
      fun j => e, fun _ => e                  [=](auto j) { return e; }, and one that ignores its argument
      f x y                                   f(x, y); with arguments left out, the function of those that are missing
      let x := e in b                         const auto x = e; b
      let f i j := e in b                     a local lambda; b' is a name like any other, and no derivative
      match m with A => x | B | C => y end    a switch that returns a value; _ is the default. A name that is no case
                                              matches what is left, and is it. match x, y with: a switch on both
      if c then x else y                      c ? x : y; for an option c it asks c.has_value()
      Req_EM_T x y, Rlt_dec, Rle_dec          x == y, x < y, x <= y of real numbers, for an if
      a <? b, a =? b, a && b, negb a          <, ==, &&, ! with a bool as result. Without ?: a statement, not a value
      [], [a; b], x :: l, l ++ m              lists; x before l; l and then m
      map, filter, length, concat             as in <ranges>
      nth k l d, firstn n l, skipn n l        entry k of l or else d; the first n entries; those after them
      fold_left f l x                         f (... (f (f x l[0]) l[1]) ...)
      O, S n                                  0 and n + 1, in a match
      seq a n, n mod m, Z.abs                 a, ..., a + n - 1; n % m; |z|
      Prop; forall x, P; P /\ Q               the type of statements; for all x; and
      INR n, IZR z, Z.of_nat n                n or z as a real number, n as an integer
      Rabs, Rmax, Rmin, / x, x ^ 3            |x|, the greater, the less, 1/x, a power

    Signs have the type of their surroundings. In the real numbers / is exact division; for nat it rounds down, and -
    stops at 0, and n / 0 is 0. (...)%nat, (...)%Z say which numbers are meant inside.

    Nothing here rounds. Division is defined for all real numbers: x / y is x * (1/y), and what 1/0 is nobody knows, so
    that 0/0 is 0. By this the output of an empty row is 0 (output_of_an_empty_row_is_zero). ln and sqrt, where they have
    no meaning, are some number too. Theorems therefore say when a divisor is not zero, if it matters.

    A parameter hides a field of the same name. Behind a definition, or behind its comment, stands the id of the item of
    spec/ that it is; the definitions up to the next id or the next empty line belong to it. Those without an id are steps on
    the way. *)
From Attest Require Export BND.
