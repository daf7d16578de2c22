#pragma once
/// The arithmetic of a small format, emulated: a binary64 operation rounded to the format. For + - * / and sqrt this is
/// the correctly rounded operation, because 2p + 2 <= 53 for every format here narrower than f64 (FMT.P5); exp, log,
/// tanh, sin and cos are the binary64 functions, rounded. There is no fused multiply-add: double rounding would spoil
/// it.

#include "attest/scalar/format.hpp"
#include "attest/scalar/scalar.hpp"

namespace attest {

template <Format F>
requires(2 * parameters(F).precision + 2 <= 53) struct Rounded {
  double value = 0;

  Rounded() = default;
  explicit Rounded(double x) : value(round_to(F, x)) {}

  friend Rounded operator+(Rounded a, Rounded b) { return Rounded(a.value + b.value); }
  friend Rounded operator-(Rounded a, Rounded b) { return Rounded(a.value - b.value); }
  friend Rounded operator*(Rounded a, Rounded b) { return Rounded(a.value * b.value); }
  friend Rounded operator/(Rounded a, Rounded b) { return Rounded(a.value / b.value); }
  friend Rounded operator-(Rounded a) { return Rounded(-a.value); }
  friend Rounded exp(Rounded a) { return Rounded(std::exp(a.value)); }
  friend Rounded log(Rounded a) { return Rounded(std::log(a.value)); }
  friend Rounded tanh(Rounded a) { return Rounded(std::tanh(a.value)); }
  friend Rounded sqrt(Rounded a) { return Rounded(std::sqrt(a.value)); }
  friend Rounded sin(Rounded a) { return Rounded(std::sin(a.value)); }
  friend Rounded cos(Rounded a) { return Rounded(std::cos(a.value)); }
  friend bool operator==(Rounded a, Rounded b) { return a.value == b.value; }
  friend bool operator<(Rounded a, Rounded b) { return a.value < b.value; }
};

template <Format F>
struct Arithmetic<Rounded<F>> : OrderedArithmetic<Rounded<F>> {
  static Rounded<F> lift(double x) { return Rounded<F>(x); }
};

using RoundedF32 = Rounded<Format::f32>;
using RoundedF16 = Rounded<Format::f16>;
using RoundedBF16 = Rounded<Format::bf16>;

}  // namespace attest
