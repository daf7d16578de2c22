/// Chapter 11: the examples.

#include "attest/definitions/norms.hpp"

#include "support/by_hand.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

constexpr std::nullopt_t absent = std::nullopt;

EXAMPLE(NRM_E1, layer_norm_of_eight_channels) {
  const PrecisionScope scope(property_bits);
  const Vector<Enclosure> row = vector_of<Enclosure>({2, 4, 4, 4, 5, 5, 7, 9});
  expect_is(mean(row_of(row)), 5);
  expect_is(variance(row_of(row)), 4);
  const auto normed = [&](const Enclosure& epsilon) {
    return layer_norm<Enclosure>(row_of(row), absent, absent, epsilon);
  };
  const Enclosure half = ratio(1, 2), fifth = ratio(1, 5);
  expect_are(normed(0), {-3 * half, -half, -half, -half, 0, 0, 1, 2});
  expect_are(normed(ratio(9, 4)), {-6 * fifth, -2 * fifth, -2 * fifth, -2 * fifth, 0, 0, 4 * fifth, 8 * fifth});
  const Vector<Enclosure> gamma = vector_of<Enclosure>({5, 5, 5, 5, 5, 5, 5, 5});
  const Vector<Enclosure> beta = vector_of<Enclosure>({1, 2, 3, 4, 5, 6, 7, 8});
  expect_are(layer_norm<Enclosure>(row_of(row), row_of(gamma), row_of(beta), ratio(9, 4)), {-5, 0, 1, 2, 5, 6, 11, 16});
}

EXAMPLE(NRM_E2, root_mean_square_norm_of_two_channels) {
  const PrecisionScope scope(property_bits);
  const Vector<Enclosure> row = vector_of<Enclosure>({1, 7});
  expect_is(mean_square(row_of(row)), 25);
  expect_are(rms_norm<Enclosure>(row_of(row), absent, Enclosure(0)), {ratio(1, 5), ratio(7, 5)});
  expect_are(rms_norm<Enclosure>(row_of(row), absent, Enclosure(11)), {ratio(1, 6), ratio(7, 6)});
  const Vector<Enclosure> gamma = vector_of<Enclosure>({2, -1});
  expect_are(rms_norm<Enclosure>(row_of(row), row_of(gamma), Enclosure(11)), {ratio(1, 3), ratio(-7, 6)});
}

}  // namespace
}  // namespace attest
