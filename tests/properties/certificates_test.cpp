/// Chapter 17: what a certificate claims is so. Coq proves it elsewhere (tests/certificates); here every claim that it
/// would be asked to prove is held to enclosures of another precision.

#include <array>
#include <regex>
#include <sstream>

#include "attest/certify/certify_gradient.hpp"
#include "attest/gradients/attention_gradient.hpp"
#include "attest/scalar/error.hpp"
#include "attest/verdict/certificate.hpp"
#include "attest/verdict/certificate_claim.hpp"
#include "support/property.hpp"
#include "support/reals.hpp"

namespace attest {
namespace {

bool holds(const Claim& claim, const Point& x) { return claim.lower <= x && x <= claim.upper; }

/// The value that is some steps away; nothing where it is not finite.
std::optional<double> value_beside(Format format, double value, std::int64_t steps) {
  const std::int64_t place = ordinal(format, value) + steps;
  const double magnitude = decode(format, static_cast<std::uint64_t>(std::abs(place)));
  return std::isfinite(magnitude) ? std::optional(std::copysign(magnitude, place)) : std::nullopt;
}

PROPERTY(ENC_P11, claims_hold_and_two_steps_away_none_does) {
  const PrecisionScope scope(2 * real_bits);
  const Real real = *reals();
  const Point step = step_at(real.format, real.x);
  const Point margin = *rc::gen::element<Point>(ldexp(Point(1), -120), ldexp(Point(1), -60), 0.25, 1) * step;
  const Point from = real.x + *rc::gen::element<Point>(-1, 0, 1) * margin;
  const Claim claim = claim_of(real.format, from, margin);
  RC_CLASSIFY(claim.rounded.has_value(), "names a value");
  RC_ASSERT(holds(claim, real.x));
  if (!claim.rounded) return;
  RC_ASSERT(round_to(real.format, real.x) == *claim.rounded);
  for (const std::int64_t steps : {-3, -2, 2, 3}) {
    const std::optional<double> other = value_beside(real.format, *claim.rounded, steps);
    if (!other) continue;
    const Claim moved = claim_of(real.format, Point(*other), ldexp(step, -120));
    RC_ASSERT(moved.rounded == other || !moved.rounded.has_value());  // the largest has no neighbour
    RC_ASSERT(!holds(moved, real.x));
  }
}

Point number_of(const std::string& text) {
  Point x;
  mpfr_set_prec(x.backend().data(), 512);
  mpfr_strtofr(x.backend().data(), text.c_str(), nullptr, 16, MPFR_RNDN);
  return x;
}

/// A claim of a certificate, and the head in whose module it stands.
struct Found {
  std::size_t b, h;
  std::string term;
  Claim claim;
};

/// Every "lower <= term <= upper" and "term = 0" of a certificate.
std::vector<Found> claims_in(const std::string& certificate) {
  static const std::regex module("Module batch_(\\d+)_head_(\\d+)\\.");
  static const std::regex between("  (-?0x\\w+(?:p-?\\d+)?) <= (.+) <= (-?0x\\w+(?:p-?\\d+)?)( /\\\\|\\.)");
  static const std::regex zero("  (.+) = 0\\.");
  std::vector<Found> found;
  std::size_t b = 0, h = 0;
  std::istringstream lines(certificate);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, match, module)) {
      b = std::stoul(match[1]);
      h = std::stoul(match[2]);
    } else if (std::regex_match(line, match, between)) {
      found.push_back({b, h, match[2], {number_of(match[1]), number_of(match[3]), std::nullopt}});
    } else if (std::regex_match(line, match, zero)) {
      found.push_back({b, h, match[1], {0, 0, std::nullopt}});
    }
  }
  return found;
}

/// What a term of a certificate is about: its last word, and the one before.
std::array<std::size_t, 2> indices_of(const std::string& term) {
  static const std::regex last_two("(\\d+)(?:%nat)? (\\d+)(?:%nat)?\\)?$"), last("(\\d+)\\)?$");
  std::smatch match;
  if (std::regex_search(term, match, last_two)) return {std::stoul(match[1]), std::stoul(match[2])};
  RC_ASSERT(std::regex_search(term, match, last));
  return {std::stoul(match[1]), 0};
}

std::size_t place_of(const std::vector<std::size_t>& keys, std::size_t j) {
  return static_cast<std::size_t>(std::ranges::find(keys, j) - keys.begin());
}

/// The number that a claim is about.
Enclosure value_of(const Found& found, const Attended<Enclosure>& call, const CallGradient<Enclosure>& gradient) {
  const auto [i, c] = indices_of(found.term);
  const AttendedRow<Enclosure>& row = call.at(found.b, found.h, i);
  const auto is = [&](const std::string& name) { return found.term.find(name) != std::string::npos; };
  const std::size_t n = place_of(row.keys, c);
  if (is("head_gradient")) return gradient.q(found.b, found.h, i, c);
  if (is("row_logits")) return row.logits(n);
  if (is("row_weights") || is("weights_of")) return n < row.keys.size() ? row.weights(n) : Enclosure(0);
  if (is("row_lse")) return row.lse.value();
  return row.output(c);
}

/// Small dyadic cotangents of a call.
Cotangents cotangents_of(const Problem& problem) {
  const Extents n = extents(problem.inputs);
  return {*tensors({n.batch, n.q_heads, n.queries, n.value_width}, -2), *tensors({n.batch, n.q_heads, n.queries}, -2)};
}

RC_GTEST_PROP(Certificates, claim_what_attention_and_its_gradient_are, ()) {
  Problem problem = *calls();
  problem.call.weights_are = *rc::gen::element(WeightsAre::probabilities, WeightsAre::dropped);
  problem.call.empty_row = *rc::gen::element(EmptyRow::zero, EmptyRow::nan);
  const Cotangents cotangents = cotangents_of(problem);
  const std::vector<QueryRow> rows = spread_rows(problem, 3);
  std::string text;
  try {
    text = certificate_of(problem, cotangents, {rows, 3, *formats()});
  } catch (const Refused& refused) {
    RC_ASSERT(std::string(refused.what()).starts_with("ENC.C3"));
    RC_CLASSIFY(true, "too large");
    return;
  }
  const PrecisionScope scope(384);
  const Attended<Enclosure> call = attention<Enclosure>(problem);
  const CallGradient<Enclosure> gradient = attention_gradient<Enclosure>(problem, cotangents.out, cotangents.lse);
  const std::vector<Found> claims = claims_in(text);
  RC_ASSERT(rows.empty() || !claims.empty());
  for (const Found& found : claims) {
    const Enclosure exact = value_of(found, call, gradient);
    RC_ASSERT(found.claim.lower <= upper_end(exact));
    RC_ASSERT(lower_end(exact) <= found.claim.upper);
  }
}

}  // namespace
}  // namespace attest
