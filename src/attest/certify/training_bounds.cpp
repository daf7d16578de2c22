#include "attest/certify/training_bounds.hpp"

namespace attest {

Bounded bounded(const Enclosure& real, Upper error) {
  const double value = round_to(Format::f64, Point(median(real)));
  return {value, (error + magnitude(Enclosure(real - Enclosure(value)))).value};
}

}  // namespace attest
