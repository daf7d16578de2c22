/// Chapter 10: encodings, rotations and slopes.

#include "attest/definitions/positions.hpp"

#include <ostream>

#include "attest/definitions/heads.hpp"
#include "attest/definitions/softmax.hpp"
#include "support/property.hpp"
#include "support/rows.hpp"

namespace attest {
namespace {

/// A row, which of its channels are rotated, and by which angles.
struct Rotation {
  std::vector<double> row;
  std::size_t rotated;
  std::int64_t position;
  double base;
  Pairing pairing;

  template <Scalar T>
  Vector<T> of(const std::vector<double>& channels, std::int64_t at) const {
    return rotary_at<T>(row_of(lifted<T>(channels)), at, base, pairing, rotated);
  }
};

std::ostream& operator<<(std::ostream& out, const Rotation& r) {
  out << (r.pairing == Pairing::halves ? "halves" : "interleaved") << " r " << r.rotated << " base " << r.base
      << " position " << r.position << " row";
  for (const double x : r.row) out << " " << x;
  return out;
}

/// Widths 1 to 9, odd ones too, with 0 to all channels rotated; near and far positions, before the start as well.
rc::Gen<Rotation> rotations() {
  return rc::gen::exec([] {
    const std::size_t width = *between<std::size_t>(1, 10);
    const std::size_t pairs = *rc::gen::oneOf(rc::gen::just(width / 2), between<std::size_t>(0, width / 2 + 1));
    return Rotation{*rows(width), 2 * pairs, *rc::gen::element<std::int64_t>(0, 1, 2, 7, 255, -3, 1000, 1 << 20),
                    *rc::gen::element(10000.0, 500000.0, 2.0, 1.0, 0.5),
                    *rc::gen::element(Pairing::halves, Pairing::interleaved)};
  });
}

void classify(const Rotation& r) {
  RC_CLASSIFY(r.rotated == 0, "nothing rotated");
  RC_CLASSIFY(r.rotated > 0 && r.rotated < r.row.size(), "partial");
  RC_CLASSIFY(r.rotated == r.row.size(), "every channel");
  RC_CLASSIFY(r.pairing == Pairing::interleaved, "interleaved");
  RC_CLASSIFY(r.position < 0, "before the start");
}

/// Enclosures whose arguments reach up to 2^20.
constexpr int angle_bits = property_bits + 64;

PROPERTY(POS_P1, rotary_preserves_norms) {
  const Rotation r = *rotations();
  classify(r);
  with_precision(angle_bits, [&] {
    const Vector<Enclosure> before = lifted<Enclosure>(r.row);
    const Vector<Enclosure> after = r.of<Enclosure>(r.row, r.position);
    RC_ASSERT(is_narrow(after));
    RC_ASSERT(meet(dot(row_of(before), row_of(before)), dot(row_of(after), row_of(after))));
    for (std::size_t n = 0; n < r.rotated / 2; ++n) {
      const auto [a, b] = channels_of(n, r.rotated / 2, r.pairing);
      RC_ASSERT(meet(Enclosure(before(a) * before(a) + before(b) * before(b)),
                     Enclosure(after(a) * after(a) + after(b) * after(b))));
    }
  });
}

PROPERTY(POS_P2, scores_depend_on_position_differences_only) {
  const Rotation r = *rotations();
  const std::vector<double> key = *rows(r.row.size());
  const std::int64_t at = *between<std::int64_t>(-20, 2000);
  const std::int64_t shift = *rc::gen::element<std::int64_t>(1, -1, 17, -400, 1 << 20);
  classify(r);
  RC_CLASSIFY(at > r.position, "key after the query");
  with_precision(angle_bits, [&] {
    const auto score = [&](std::int64_t moved) {
      const Vector<Enclosure> q = r.of<Enclosure>(r.row, r.position + moved);
      const Vector<Enclosure> k = r.of<Enclosure>(key, at + moved);
      return dot(row_of(q), row_of(k));
    };
    RC_ASSERT(is_narrow(score(0)));
    RC_ASSERT(meet(score(0), score(shift)));
  });
}

/// Whatever stands in the rest comes back, and the rotated channels do not see it.
template <class T>
void leaves_the_rest(const Rotation& r, const std::vector<double>& other) {
  const Vector<T> given = lifted<T>(other);
  const Vector<T> result = r.of<T>(other, r.position);
  const Vector<T> plain = r.of<T>(r.row, r.position);
  RC_ASSERT(result.size() == given.size());
  for (std::size_t c = 0; c < result.size(); ++c) {
    RC_ASSERT(same_bits(result(c), c < r.rotated ? plain(c) : given(c)));
  }
}

PROPERTY(POS_P3, partial_rotary_leaves_the_rest) {
  const Rotation r = *rotations();
  classify(r);
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<double> other = r.row;
  for (std::size_t c = r.rotated; c < other.size(); ++c) {
    other[c] = *rc::gen::element(inf, -inf, std::nan(""), -0.0, 0.625, 0x1p-1070);
  }
  leaves_the_rest<double>(r, other);
  leaves_the_rest<float>(r, other);
  leaves_the_rest<RoundedBF16>(r, other);
}

/// pi: the even channels of the first r, then the odd ones, then the rest.
template <class T>
Vector<T> even_before_odd(const Vector<T>& row, std::size_t r) {
  return tabulate(row.size(), [&](std::size_t c) -> T {
    return row(c < r / 2 ? 2 * c : c < r ? 2 * (c - r / 2) + 1 : c);
  });
}

template <class T>
void pairings_agree(Rotation r) {
  const Vector<T> row = lifted<T>(r.row);
  const Vector<T> permuted = even_before_odd(row, r.rotated);
  const Vector<T> halves = rotary_at<T>(row_of(permuted), r.position, r.base, Pairing::halves, r.rotated);
  const Vector<T> interleaved = rotary_at<T>(row_of(row), r.position, r.base, Pairing::interleaved, r.rotated);
  RC_ASSERT(same_bits(halves, even_before_odd(interleaved, r.rotated)));
}

PROPERTY(POS_P4, interleaved_is_halves_of_permuted_channels) {
  const Rotation r = *rotations();
  classify(r);
  pairings_agree<double>(r);
  pairings_agree<float>(r);
  pairings_agree<RoundedBF16>(r);
}

template <class T>
void stands_still(const Rotation& r) {
  const Vector<T> row = lifted<T>(r.row);
  const Vector<T> result = r.of<T>(r.row, 0);
  RC_ASSERT(result.size() == row.size());
  for (std::size_t c = 0; c < row.size(); ++c) {
    const bool is_equal = row(c) == T(0) ? result(c) == T(0) : same_bits(result(c), row(c));
    RC_ASSERT(is_equal);
  }
}

PROPERTY(POS_P5, rotary_at_position_zero_is_the_identity) {
  const Rotation r = *rotations();
  classify(r);
  RC_CLASSIFY(std::ranges::count(r.row, 0.0) > 0, "a zero");
  stands_still<double>(r);
  stands_still<float>(r);
  stands_still<RoundedBF16>(r);
}

/// One rotation, made from k alone, moves the encoding of every position by k.
PROPERTY(POS_P6, sinusoidal_shift_is_linear) {
  const std::size_t width = 2 * *between<std::size_t>(1, 6);
  const double base = *rc::gen::element(10000.0, 2.0, 1.0);
  const std::int64_t k = *rc::gen::element<std::int64_t>(0, 1, -1, 30, 4096);
  const auto positions = *rc::gen::container<std::vector<std::int64_t>>(3, between<std::int64_t>(-5, 5000));
  with_precision(angle_bits, [&] {
    const auto turned = [&](std::size_t n) { return angle<Enclosure>(k, n, width, base); };
    const Vector<Enclosure> cosines = tabulate(width / 2, [&](std::size_t n) { return Enclosure(cos(turned(n))); });
    const Vector<Enclosure> sines = tabulate(width / 2, [&](std::size_t n) { return Enclosure(-sin(turned(n))); });
    const auto encoding = [&](std::int64_t p) {
      return tabulate(width, [&](std::size_t c) { return sinusoidal<Enclosure>(p, c, width, base); });
    };
    for (const std::int64_t p : positions) {
      const Vector<Enclosure> here = encoding(p);
      const Vector<Enclosure> moved = rotary(row_of(here), row_of(cosines), row_of(sines), Pairing::interleaved);
      RC_ASSERT(is_narrow(moved));
      RC_ASSERT(meet(moved, encoding(p + k)));
    }
  });
}

/// The scores of a row with one form of the bias.
template <Scalar T, class Bias>
Vector<T> biased(const std::vector<double>& scores, Bias&& bias) {
  return tabulate(scores.size(),
                  [&](std::size_t j) -> T { return lift<T>(scores[j]) + bias(static_cast<std::int64_t>(j)); });
}

template <class T>
void two_forms_agree(const std::vector<double>& scores, double slope, std::int64_t p) {
  const auto with = [&](AlibiForm form) {
    return biased<T>(scores, [&](std::int64_t j) { return alibi(lift<T>(slope), p, j, form); });
  };
  const Vector<T> distance = with(AlibiForm::distance);
  RC_ASSERT(same_bits(distance, with(AlibiForm::signed_)));
  const auto swapped = [&](std::int64_t j) { return alibi(lift<T>(slope), j, p, AlibiForm::distance); };
  RC_ASSERT(same_bits(distance, biased<T>(scores, swapped)));
}

PROPERTY(POS_P7, alibi_forms_agree_under_causal) {
  const std::vector<double> scores = *rows(*between<std::size_t>(1, 9));
  const std::int64_t last = static_cast<std::int64_t>(scores.size()) - 1;
  const std::int64_t p = last + *rc::gen::element<std::int64_t>(0, 0, 1, 40);
  const std::size_t heads = *between<std::size_t>(1, 21);
  const std::size_t h = *between<std::size_t>(0, heads);
  RC_CLASSIFY(p > last, "the query stands after the last key");
  two_forms_agree<double>(scores, alibi_slope<double>(h, heads), p);
  two_forms_agree<float>(scores, alibi_slope<double>(h, heads), p);
  two_forms_agree<RoundedBF16>(scores, alibi_slope<double>(h, heads), p);
  with_precision(property_bits + 64, [&] {
    const Enclosure slope = alibi_slope<Enclosure>(h, heads);
    const Vector<Enclosure> by_distance =
        biased<Enclosure>(scores, [&](std::int64_t j) { return alibi(slope, p, j, AlibiForm::distance); });
    const Vector<Enclosure> by_key = biased<Enclosure>(scores, [&](std::int64_t j) { return alibi_by_key(slope, j); });
    RC_ASSERT(is_narrow(softmax(row_of(by_key))));
    RC_ASSERT(meet(softmax(row_of(by_distance)), softmax(row_of(by_key))));
    const Enclosure difference = slope * Enclosure(static_cast<double>(p));
    RC_ASSERT(meet(Enclosure(*log_sum_exp(row_of(by_distance)) + difference), *log_sum_exp(row_of(by_key))));
  });
}

template <class T>
void first_rule(std::size_t heads) {
  const Vector<T> slopes = alibi_slopes<T>(heads);
  RC_ASSERT(slopes.size() == heads);
  for (std::size_t h = 0; h < heads; ++h) RC_ASSERT(same_bits(slopes(h), geometric_slope<T>(h, heads)));
}

PROPERTY(POS_P8, slopes_of_a_power_of_two_are_the_first_rule) {
  const std::size_t heads = std::size_t(1) << *between(0, 8);
  first_rule<double>(heads);
  first_rule<float>(heads);
  first_rule<RoundedBF16>(heads);
}

template <class T>
void cache_agrees(const Rotation& r, std::size_t positions) {
  const RotaryCache<T> cache = rotary_cache<T>(positions, r.rotated, r.base);
  for (std::size_t p = 0; p < positions; ++p) {
    const auto position = static_cast<std::int64_t>(p);
    const Vector<T> from_cache = cached_rotary(row_of(lifted<T>(r.row)), cache, position, r.pairing);
    RC_ASSERT(same_bits(from_cache, r.of<T>(r.row, position)));
  }
}

PROPERTY(POS_P9, cached_rotary_equals_rotary_at) {
  const Rotation r = *rotations();
  classify(r);
  const std::size_t positions = *between<std::size_t>(1, 12);
  cache_agrees<double>(r, positions);
  cache_agrees<float>(r, positions);
  cache_agrees<RoundedBF16>(r, positions);
}

/// The slopes taken are counted: each is one of twice the power's, and none is taken twice.
template <class T>
void slopes_are_taken_from_twice_the_power(std::size_t heads) {
  const std::size_t power = std::bit_floor(heads);
  const Vector<T> slopes = alibi_slopes<T>(heads);
  RC_ASSERT(slopes.size() == heads);
  std::vector<bool> taken(2 * power);
  for (std::size_t h = 0; h < heads; ++h) {
    const std::size_t number = h < power ? 2 * h + 1 : 2 * (h - power);
    RC_ASSERT(!taken[number]);
    taken[number] = true;
    RC_ASSERT(same_bits(slopes(h), geometric_slope<T>(number, 2 * power)));
  }
}

PROPERTY(POS_P10, slopes_are_slopes_of_twice_the_power) {
  const std::size_t heads = *between<std::size_t>(1, 200);
  RC_CLASSIFY(std::has_single_bit(heads), "a power of two");
  slopes_are_taken_from_twice_the_power<double>(heads);
  slopes_are_taken_from_twice_the_power<float>(heads);
  slopes_are_taken_from_twice_the_power<RoundedBF16>(heads);
}

PROPERTY(POS_P11, frequencies_are_a_geometric_sequence) {
  const std::size_t width = *between<std::size_t>(1, 20);
  const std::size_t m = *between<std::size_t>(0, 12), n = *between<std::size_t>(0, 12);
  const double base = *rc::gen::element(10000.0, 500000.0, 2.0, 1.0, 0.5);
  with_precision(property_bits, [&] {
    const auto f = [&](std::size_t number) { return frequency<Enclosure>(number, width, base); };
    RC_ASSERT(is_narrow(f(m + n)));
    RC_ASSERT(meet(Enclosure(f(m) * f(n)), f(m + n)));
    if (width % 2 == 0) RC_ASSERT(meet(Enclosure(f(width / 2) * Enclosure(base)), Enclosure(1)));
  });
}

}  // namespace
}  // namespace attest
