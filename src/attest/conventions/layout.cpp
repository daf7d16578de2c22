#include "attest/conventions/layout.hpp"

#include <algorithm>

namespace attest {

namespace {

/// Padding that a small file may ask for; and how many times its size a large one may.
constexpr std::size_t free_padding = std::size_t(1) << 22;
constexpr std::size_t most_padding = 64;

std::size_t longest(const Boundaries& boundaries) {
  const Vector<std::int64_t> lengths = lengths_of(boundaries);
  return lengths.size() == 0 ? 0 : static_cast<std::size_t>(*std::ranges::max_element(lengths));
}

std::size_t tokens_in(const Axes& axes, const Boundaries* boundaries, std::size_t b) {
  return boundaries ? static_cast<std::size_t>((*boundaries)(b + 1) - (*boundaries)(b)) : axes.sequence;
}

Axes axes_of(const Shape& shape, Layout layout, std::size_t heads, const Boundaries* boundaries) {
  switch (layout) {
    case Layout::bhsd: return {shape[0], shape[1], shape[2], shape[3]};
    case Layout::bshd: return {shape[0], shape[2], shape[1], shape[3]};
    case Layout::bsd: return {shape[0], heads, shape[1], shape[2] / heads};
    case Layout::thd: return {boundaries->size() - 1, shape[1], longest(*boundaries), shape[2]};
  }
  return {};
}

/// Where element (b, h, s, 0) lies in the caller's memory. BSD is BSHD with its last two axes written as one.
std::size_t address(const Axes& n, Layout layout, const Boundaries* boundaries, std::size_t b, std::size_t h,
                    std::size_t s) {
  if (layout == Layout::bhsd) return ((b * n.heads + h) * n.sequence + s) * n.channels;
  const std::size_t token = (boundaries ? static_cast<std::size_t>((*boundaries)(b)) : b * n.sequence) + s;
  return (token * n.heads + h) * n.channels;
}

/// Calls f(address in attest's memory, address in the caller's) for each (b, h, s) that is not padding.
template <class F>
void for_each_position(const Axes& n, Layout layout, const Boundaries* boundaries, F&& f) {
  for (std::size_t b = 0; b < n.batch; ++b) {
    for (std::size_t h = 0; h < n.heads; ++h) {
      for (std::size_t s = 0; s < tokens_in(n, boundaries, b); ++s) {
        f(address(n, Layout::bhsd, nullptr, b, h, s), address(n, layout, boundaries, b, h, s));
      }
    }
  }
}

}  // namespace

template <class T>
Tensor<T> unpack(const Tensor<T>& t, Layout layout, std::size_t heads, const Boundaries* boundaries, const T& padding) {
  const Shape shape(t.shape().begin(), t.shape().end());
  const Axes n = axes_of(shape, layout, heads, boundaries);
  const Shape unpacked{n.batch, n.heads, n.sequence, n.channels};
  if (boundaries) require_room(unpacked, t.size());
  Tensor<T> result = Tensor<T>::from_shape(unpacked);
  std::ranges::fill(result, padding);
  for_each_position(n, layout, boundaries, [&](std::size_t ours, std::size_t theirs) {
    std::copy_n(t.data() + theirs, n.channels, result.data() + ours);
  });
  return result;
}

template <class T>
Tensor<T> pack(const Tensor<T>& t, Layout layout, const Boundaries* boundaries) {
  const Axes n{t.shape(0), t.shape(1), t.shape(2), t.shape(3)};
  Tensor<T> result = Tensor<T>::from_shape(packed_shape(n, layout, boundaries));
  for_each_position(n, layout, boundaries, [&](std::size_t ours, std::size_t theirs) {
    std::copy_n(t.data() + ours, n.channels, result.data() + theirs);
  });
  return result;
}

template Tensor<double> unpack(const Tensor<double>&, Layout, std::size_t, const Boundaries*, const double&);
template Tensor<bool> unpack(const Tensor<bool>&, Layout, std::size_t, const Boundaries*, const bool&);
template Tensor<double> pack(const Tensor<double>&, Layout, const Boundaries*);
template Tensor<bool> pack(const Tensor<bool>&, Layout, const Boundaries*);

Shape packed_shape(const Axes& n, Layout layout, const Boundaries* boundaries) {
  switch (layout) {
    case Layout::bhsd: return {n.batch, n.heads, n.sequence, n.channels};
    case Layout::bshd: return {n.batch, n.sequence, n.heads, n.channels};
    case Layout::bsd: return {n.batch, n.sequence, n.heads * n.channels};
    case Layout::thd: return {static_cast<std::size_t>((*boundaries)(n.batch)), n.heads, n.channels};
  }
  return {};
}

Vector<std::int64_t> lengths_of(const Boundaries& boundaries) {
  return tabulate(boundaries.size() - 1, [&](std::size_t b) { return boundaries(b + 1) - boundaries(b); });
}

Boundaries boundaries_of(const Vector<std::int64_t>& lengths) {
  Boundaries starts = tabulate(lengths.size() + 1, [](std::size_t) { return std::int64_t(0); });
  for (std::size_t b = 0; b < lengths.size(); ++b) starts(b + 1) = starts(b) + lengths(b);
  return starts;
}

void require_room(const Shape& padded, std::size_t given) {
  if (element_count(padded) > std::max(free_padding, most_padding * given)) {
    throw CannotAnswer("padding " + std::to_string(given) + " elements to shape " + to_string(padded) +
                       " is too much for attest: 64 times as many, or 2^22");
  }
}

}  // namespace attest
