(** The definitions of the specification, over the real numbers: pages to be read, one for each chapter.

    How to read it, coming from C++:

      Definition f (x : R) : R := e.    double f(double x) { return e; }, but R holds the real numbers
      nat -> R                          a row of numbers: [s j] is s[j]. How long the row is, is said where it is summed
      nat -> nat -> R                   a matrix: [X i c] is X(i, c)
      fun j => e                        a lambda, [=](auto j) { return e; }
      f x y                             a call, f(x, y)
      option R, Some a, None            std::optional<double>
      match m with A => x | B => y end  a switch that returns a value
      if Req_EM_T x y then a else b     x == y ? a : b, for real numbers; Rle_dec x y in the same way for x <= y
      x :: rest                         a list with first entry x

    Behind each definition stands the id of the item of spec/ that it is. Division by zero gives some number here;
    whoever divides shows beforehand that the divisor is not zero. Nothing here rounds.

    The pages are in definitions/, in the order of the chapters, and each builds on those before it:

      SHP  02 shapes: sums              NRM        11 norms
      MSK  03 masks                     DEC        12 decoder block
      SMX  04 softmax                   GRD        13 gradients of attention
      ATT  05 attention                 GRD_layer  13 gradients of what is around it, and of a layer
      MHA  06 heads and layers          GRD_block  12 the gradient of the decoder block
      OPT  07 optional state            TRN        14 training
      DRP  08 dropout                   ONL        15 online softmax
      POS  10 positions                 ENC        17 what a certificate claims
      NUM  01 dual numbers              BND        18 bounds

    Begin with SMX and ATT. *)
From Attest Require Export BND.
