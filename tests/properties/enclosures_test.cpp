/// Chapter 17: what a certified value is worth.

#include "attest/certify/certify.hpp"
#include "attest/verdict/compare.hpp"
#include "support/property.hpp"
#include "support/reals.hpp"

namespace attest {
namespace {

/// How far an end of an enclosure is from a point of it, in steps of the format.
rc::Gen<Point> distances() {
  const auto power = [](int exponent) { return ldexp(Point(1), exponent); };
  return rc::gen::element<Point>(0, power(-100), power(-99), power(-1), 1, 3, power(200));
}

/// Values are compared by their place in the order: +0 and -0 are one, NaN from an overflow lies beyond the largest.
void is_sound(Format format, const Point& low, const Point& x, const Point& high, Overflow rule) {
  const auto due = [&](const Point& real) { return place(rounded_by_mpfr(format, rule, real), real); };
  const Candidates candidates = round_enclosure(format, hull(Enclosure(low), Enclosure(high)), rule);
  const double lower = place(candidates.lower, low), upper = place(candidates.upper, high);
  RC_ASSERT(lower == due(low));
  RC_ASSERT(upper == due(high));
  RC_ASSERT(lower <= due(x));
  RC_ASSERT(due(x) <= upper);
  RC_ASSERT((status_of(format, candidates) == Status::decided) == (steps_between(format, lower, upper) == 0));
  RC_ASSERT((status_of(format, candidates) == Status::undecided) == (steps_between(format, lower, upper) == 1));
}

PROPERTY(ENC_P1, rounding_an_enclosure_is_sound) {
  const PrecisionScope scope(2 * real_bits);
  const Format format = *formats();
  std::set<std::string> classes;
  for (int n = 0; n < 30; ++n) {
    const Real real = *reals(format);
    const Point low = real.x - *distances() * step_at(format, real.x);
    const Point high = real.x + *distances() * step_at(format, real.x);
    classes.merge(classes_of(real));
    is_sound(format, low, real.x, high, Overflow::standard);
    is_sound(format, low, real.x, high, Overflow::saturate);
  }
  for (const std::string& name : classes) RC_TAG(name);
}

using Certified = std::map<std::string, CertifiedTensor>;

std::map<std::string, Format> outputs_in(Format format) {
  return {{"out", format}, {"lse", format}, {"weights", format}, {"scores", format}};
}

/// Nothing if the ladder ends before an answer is reached.
std::optional<Certified> certified(const Problem& problem, const std::map<std::string, Format>& wanted,
                                   const Ladder& ladder) {
  try {
    return certify(problem, wanted, ladder);
  } catch (const CannotAnswer&) {
    return std::nullopt;
  }
}

bool have_a_value_in_common(Format format, const Element& a, const Element& b) {
  return distance_in_steps(format, a, b.lower) == 0 || distance_in_steps(format, a, b.upper) == 0;
}

PROPERTY(ENC_P2, certified_values_agree_across_precisions) {
  const Problem problem = *calls();
  const Format format = *formats();
  const int bits = parameters(format).precision + *rc::gen::element(0, 3, 6, 64);
  const auto quick = certified(problem, outputs_in(format), {.first = bits, .cap = bits});
  const auto thorough = certified(problem, outputs_in(format), {.first = 256});
  RC_ASSERT(thorough.has_value());
  RC_CLASSIFY(!quick, "unresolved");
  if (!quick) return;
  RC_CLASSIFY(std::ranges::any_of(*quick, [](const auto& output) { return output.second.undecided > 0; }), "undecided");
  for (const auto& [name, a] : *quick) {
    const CertifiedTensor& b = thorough->at(name);
    RC_ASSERT(a.elements.size() == b.elements.size());
    for (std::size_t n = 0; n < a.elements.size(); ++n) {
      RC_ASSERT(have_a_value_in_common(format, a.elements[n], b.elements[n]));
    }
  }
}

/// |x - r| <= step(x) / 2 if the element is decided as the finite value r.
void is_within_half_a_step(Format format, const Element& element, const Enclosure& exact) {
  if (!(element.lower == element.upper) || std::isinf(element.lower)) return;
  const Enclosure distance = absolute(Enclosure(exact - Enclosure(element.lower)));
  RC_ASSERT(is_narrow(exact));
  RC_ASSERT(2 * lower_end(distance) <= step_at(format, upper_end(absolute(exact))));
}

PROPERTY(ENC_P3, certified_element_is_within_half_a_step_of_the_exact_value) {
  const Problem problem = *calls();
  const Format format = *formats();
  const Certified due = certify(problem, outputs_in(format));
  RC_TAG(std::string(parameters(format).name));
  RC_CLASSIFY(due.at("out").undecided > 0, "undecided");
  const PrecisionScope scope(256);
  const std::vector<AttendedRow<Enclosure>> rows = attention<Enclosure>(problem).rows;
  const Extents n = extents(problem.inputs);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto check = [&](const std::string& name, std::size_t element, const Enclosure& exact) {
      is_within_half_a_step(format, due.at(name).elements[element], exact);
    };
    for (std::size_t c = 0; c < n.value_width; ++c) check("out", r * n.value_width + c, rows[r].output(c));
    if (rows[r].lse) check("lse", r, *rows[r].lse);
    const Vector<Enclosure> weights = scatter(rows[r].weights, rows[r].keys, n.keys);
    for (std::size_t j = 0; j < n.keys; ++j) check("weights", r * n.keys + j, weights(j));
  }
}

}  // namespace
}  // namespace attest
