#pragma once
/// Chapter 20 (CNV): memory layouts. Inside attest a tensor's axes are (B, H, S, channel).

#include <cstdint>

#include "attest/definitions/call.hpp"
#include "attest/tensor/tensor.hpp"

namespace attest {

/// Sequence boundaries of a packed (THD) tensor: sequence b holds tokens starts[b] .. starts[b+1]-1.
using Boundaries = Vector<std::int64_t>;

/// The extents of a tensor (B, H, S, channel).
struct Axes {
  std::size_t batch, heads, sequence, channels;
};

/// CNV.D3  unpack(t): a tensor in the caller's layout as (B, H, S, channel). BSD needs the number of heads; THD needs
/// boundaries and pads every sequence to the longest. With NaN as padding a use of it could not stay unseen; the
/// lengths hide it. CannotAnswer if padding makes it too large.
template <class T>
Tensor<T> unpack(const Tensor<T>& t, Layout layout, std::size_t heads, const Boundaries* boundaries, const T& padding);

/// CNV.D3  pack(t): the inverse; padding is dropped.
template <class T>
Tensor<T> pack(const Tensor<T>& t, Layout layout, const Boundaries* boundaries);

/// The shape of a tensor in the caller's layout.
Shape packed_shape(const Axes& axes, Layout layout, const Boundaries* boundaries);

/// The lengths of the sequences: starts[b+1] - starts[b].
Vector<std::int64_t> lengths_of(const Boundaries& boundaries);

/// The boundaries of sequences of these lengths, packed without gaps: the inverse of lengths_of.
Boundaries boundaries_of(const Vector<std::int64_t>& lengths);

/// CannotAnswer where padding would make a tensor of `given` elements much larger than the file it came from.
void require_room(const Shape& padded, std::size_t given);

}  // namespace attest
