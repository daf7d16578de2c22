/// Chapter 17: what certified gradients are worth.

#include <xtensor/xio.hpp>

#include "attest/certify/certify_gradient.hpp"
#include "attest/gradients/attention_gradient.hpp"
#include "attest/verdict/rows.hpp"
#include "support/property.hpp"
#include "support/reals.hpp"

namespace attest {
namespace {

/// A call and gradients of its outputs; numbers stand in padding too.
struct Backwards {
  Problem problem;
  Cotangents cotangents;
};

rc::Gen<Backwards> backwards(const CallSpace& space = {}) {
  return rc::gen::exec([space] {
    Backwards one{*calls(space), {}};
    const Extents n = extents(one.problem.inputs);
    one.cotangents.out = *tensors({n.batch, n.q_heads, n.queries, n.value_width}, -2);
    if (*rc::gen::arbitrary<bool>()) one.cotangents.lse = *tensors({n.batch, n.q_heads, n.queries}, -2);
    return one;
  });
}

std::ostream& operator<<(std::ostream& out, const Backwards& one) {
  out << one.problem << "\ndout " << one.cotangents.out;
  return one.cotangents.lse ? out << "\ndlse " << *one.cotangents.lse : out;
}

std::map<std::string, Format> gradients_in(Format format, const Inputs& inputs) {
  std::map<std::string, Format> wanted{{"dq", format}, {"dk", format}, {"dv", format}};
  if (inputs.bias) wanted.emplace("dbias", format);
  if (inputs.sink) wanted.emplace("dsink", format);
  return wanted;
}

using Certified = std::map<std::string, CertifiedTensor>;

/// What stands in padding is replaced by 0.
Cotangents without_padding(const Backwards& one) {
  Cotangents clean = one.cotangents;
  const std::vector<RowState> rows = row_states(one.problem);
  const std::size_t width = extents(one.problem.inputs).value_width;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r] != RowState::padding) continue;
    for (std::size_t c = 0; c < width; ++c) clean.out.data()[r * width + c] = 0;
    if (clean.lse) clean.lse->data()[r] = 0;
  }
  return clean;
}

/// Every gradient of a call by name, flat, as GRD.D11 has it.
std::map<std::string, std::vector<Enclosure>> defined(const Problem& problem, const Cotangents& cotangents) {
  const CallGradient<Enclosure> g = attention_gradient<Enclosure>(problem, cotangents.out, cotangents.lse);
  const auto flat = [](const auto& t) { return std::vector<Enclosure>(t.begin(), t.end()); };
  std::map<std::string, std::vector<Enclosure>> all{{"dq", flat(g.q)}, {"dk", flat(g.k)}, {"dv", flat(g.v)}};
  if (g.bias) all.emplace("dbias", flat(*g.bias));
  if (g.sink) all.emplace("dsink", flat(*g.sink));
  return all;
}

PROPERTY(ENC_P7, certified_gradients_meet_the_gradients) {
  const Backwards one = *backwards();
  const Format format = *formats();
  for (const std::string& name : classes_of(one.problem)) RC_TAG(name);
  const Certified due = certify_gradients(one.problem, one.cotangents, gradients_in(format, one.problem.inputs));
  const PrecisionScope scope(512);
  const auto exact = defined(one.problem, without_padding(one));
  RC_ASSERT(due.size() == exact.size());
  for (const auto& [name, tensor] : due) {
    const std::vector<Enclosure>& values = exact.at(name);
    RC_ASSERT(tensor.elements.size() == values.size());
    for (std::size_t n = 0; n < values.size(); ++n) {
      const Element& e = tensor.elements[n];
      const Candidates candidates = round_enclosure(format, values[n], tensor.overflow);
      // Pairs of values with one in common. What is beyond the largest f8e4m3 is NaN and above nothing.
      RC_ASSERT(!(e.lower > candidates.upper) && !(e.upper < candidates.lower));
    }
  }
}

PROPERTY(ENC_P9, no_gradient_exceeds_its_unit) {
  const Backwards one = *backwards();
  const Format format = Format::f64;
  const Certified due = certify_gradients(one.problem, one.cotangents, gradients_in(format, one.problem.inputs));
  for (const auto& [name, tensor] : due) {
    for (const Element& e : tensor.elements) {
      // A unit is a sum of positive doubles, which roundings make smaller by far less than a half.
      RC_ASSERT(std::fabs(e.exact) * unit_roundoff(format) <= 2 * e.unit);
    }
  }
}

PROPERTY(ENC_P8, gradients_where_nothing_leads_are_decided_zeros) {
  Backwards one = *backwards();
  const bool anything = *rc::gen::arbitrary<bool>();
  RC_CLASSIFY(anything, "NaN and infinities where nothing leads");
  if (anything) one.problem = poisoned(one.problem);
  const Ladder first{.first = 128, .cap = 128};
  for (const auto& [name, format] : gradients_in(Format::f64, one.problem.inputs)) {
    const std::vector<RowState> states = gradient_states(name, one.problem);
    const bool exists = std::ranges::find(states, RowState::empty) != states.end();
    RC_CLASSIFY(exists, name + " has one");
    if (!exists) continue;
    CertifiedTensor due;
    try {
      due = certify_gradients(one.problem, one.cotangents, {{name, format}}, first).at(name);
    } catch (const CannotAnswer&) {
      continue;  // another element
    }
    const std::size_t width = states.empty() ? 1 : due.elements.size() / states.size();
    for (std::size_t e = 0; e < due.elements.size(); ++e) {
      if (states[e / width] != RowState::empty) continue;
      RC_ASSERT(due.elements[e].lower == 0 && due.elements[e].upper == 0 && due.elements[e].unit == 0);
      RC_ASSERT(due.elements[e].exact == 0);
    }
  }
}

PROPERTY(ENC_P10, the_only_key_of_a_row_leaves_its_query_without_a_gradient) {
  Backwards one = *backwards({.sink = false, .degenerate = false});
  one.cotangents.lse.reset();
  Inputs& inputs = one.problem.inputs;
  const std::size_t only = *between<std::size_t>(0, extents(inputs).keys);
  inputs.visible = Tensor<bool>::from_shape({1, 1, 1, extents(inputs).keys});
  for (std::size_t j = 0; j < inputs.visible->size(); ++j) inputs.visible->data()[j] = j == only;
  const auto states = gradient_states("dq", one.problem);
  RC_CLASSIFY(std::ranges::find(states, RowState::ordinary) != states.end(), "a row of one key");
  const CertifiedTensor due =
      certify_gradients(one.problem, one.cotangents, {{"dq", Format::f64}}, {.first = 128, .cap = 128}).at("dq");
  for (const Element& e : due.elements) RC_ASSERT(e.lower == 0 && e.upper == 0 && e.exact == 0);
}

}  // namespace
}  // namespace attest
