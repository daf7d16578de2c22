#include "attest/definitions/initialisation.hpp"

#include <cmath>

#include "attest/scalar/nearest.hpp"

namespace attest {

namespace {

Enclosure pi() {
  Enclosure result;
  mpfi_const_pi(result.backend().data());
  return result;
}

}  // namespace

Fans fans_of(const Shape& shape) {
  require(shape.size() == 2 && shape[0] > 0 && shape[1] > 0, "INI.C1",
          "shape: a matrix with extents of at least 1, got {}", to_string(shape));
  return {shape[0], shape[1]};
}

double unit_uniform(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t m = (std::uint64_t(high) << 20) + (low >> 12);
  return std::ldexp(static_cast<double>(2 * m + 1), -53);
}

double unit_uniform_at(std::uint64_t seed, std::uint64_t n) {
  return unit_uniform(random_word(seed, 2 * n), random_word(seed, 2 * n + 1));
}

Enclosure standard_normal(double u, double v) {
  return sqrt(Enclosure(-2 * log(lift<Enclosure>(u)))) * cos(Enclosure(2 * pi() * lift<Enclosure>(v)));
}

double initial_value(Scheme scheme, const Fans& fans, std::uint64_t seed, std::uint64_t n) {
  if (is_uniform(scheme)) {
    const double centred = 2 * unit_uniform_at(seed, n) - 1;
    return nearest([&] { return Enclosure(spread_of<Enclosure>(scheme, fans) * lift<Enclosure>(centred)); });
  }
  const double u = unit_uniform_at(seed, 2 * n), v = unit_uniform_at(seed, 2 * n + 1);
  return nearest([&] { return Enclosure(spread_of<Enclosure>(scheme, fans) * standard_normal(u, v)); });
}

Tensor<double> initial_tensor(Scheme scheme, const Shape& shape, std::uint64_t seed) {
  element_count(shape);
  if (scheme == Scheme::zeros) return Tensor<double>(shape, 0.0);
  const Fans fans = fans_of(shape);
  Tensor<double> result = Tensor<double>::from_shape(shape);
  for (std::size_t n = 0; n < result.size(); ++n) result.data()[n] = initial_value(scheme, fans, seed, n);
  return result;
}

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_INITIALISATION, )

}  // namespace attest
