/// Chapter 17: what certified gradients are worth.

#include "attest/certify/certify_gradient.hpp"
#include "attest/definitions/mask.hpp"
#include "attest/gradients/attention_gradient.hpp"
#include "attest/verdict/compare.hpp"
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

rc::Gen<Backwards> backwards() {
  return rc::gen::exec([] {
    Backwards one{*calls(), {}};
    const Extents n = extents(one.problem.inputs);
    one.cotangents.out = *tensors({n.batch, n.q_heads, n.queries, n.value_width}, -2);
    if (*rc::gen::arbitrary<bool>()) one.cotangents.lse = *tensors({n.batch, n.q_heads, n.queries}, -2);
    return one;
  });
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
      RC_ASSERT(steps_between(format, e.lower, candidates.upper) == 0 ||
                steps_between(format, e.upper, candidates.lower) == 0 ||
                (e.lower == candidates.lower && e.upper == candidates.upper) ||
                (std::isnan(e.lower) && std::isnan(candidates.lower)));
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

/// Rows that see exactly one key, in a head without a sink.
std::vector<std::size_t> rows_of_one_key(const Problem& problem) {
  const Extents n = extents(problem.inputs);
  std::vector<std::size_t> rows;
  for (std::size_t r = 0; r < n.batch * n.q_heads * n.queries; ++r) {
    const std::size_t b = r / (n.q_heads * n.queries), h = r / n.queries % n.q_heads;
    std::size_t seen = 0;
    for (std::size_t j = 0; j < n.keys; ++j) seen += is_visible(problem, b, h, r % n.queries, j);
    const bool sink = problem.inputs.sink && std::isfinite((*problem.inputs.sink)(h));
    if (seen == 1 && !sink) rows.push_back(r);
  }
  return rows;
}

PROPERTY(ENC_P10, the_only_key_of_a_row_leaves_its_query_without_a_gradient) {
  Backwards one = *backwards();
  one.cotangents.lse.reset();
  const std::vector<std::size_t> rows = rows_of_one_key(one.problem);
  RC_CLASSIFY(!rows.empty(), "a row of one key");
  if (rows.empty()) return;
  const CertifiedTensor due =
      certify_gradients(one.problem, one.cotangents, {{"dq", Format::f64}}, {.first = 128}).at("dq");
  const std::size_t width = extents(one.problem.inputs).width;
  for (const std::size_t r : rows) {
    for (std::size_t c = 0; c < width; ++c) {
      const Element& e = due.elements[r * width + c];
      RC_ASSERT(e.lower == 0 && e.upper == 0 && e.exact == 0);
    }
  }
}

}  // namespace
}  // namespace attest
