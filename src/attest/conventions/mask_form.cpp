#include "attest/conventions/mask_form.hpp"

#include <algorithm>

#include "attest/conventions/layout.hpp"

namespace attest {

namespace {

/// The shape with axes of extent 1 put in where the caller's convention omits them.
Shape four_extents(const Shape& given, MaskAxes axes, std::string_view name) {
  const std::size_t fewest = axes == MaskAxes::numpy ? 0 : 2;
  require(given.size() >= fewest && given.size() <= 4, "CAS.C9", "{}: {} to 4 axes, got shape {}", name, fewest,
          to_string(given));
  Shape extents = given;
  const std::size_t first = axes == MaskAxes::numpy ? 0 : std::min<std::size_t>(given.size(), 1);
  extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(first), 4 - given.size(), 1);
  return extents;
}

/// The mask with its last axis extended to `keys` entries.
template <class T>
Tensor<T> extend(const Tensor<T>& mask, std::size_t keys, const T& hidden) {
  const std::size_t given = mask.shape(3);
  const Shape shape{mask.shape(0), mask.shape(1), mask.shape(2), keys};
  require_room(shape, mask.size());
  Tensor<T> result = Tensor<T>::from_shape(shape);
  std::ranges::fill(result, hidden);
  for (std::size_t row = 0; row < shape[0] * shape[1] * shape[2]; ++row) {
    std::copy_n(mask.data() + row * given, given, result.data() + row * keys);
  }
  return result;
}

}  // namespace

template <class T>
Tensor<T> four_axes(const Tensor<T>& mask, const Call& call, std::size_t keys, const T& hidden, std::string_view name) {
  const Shape given(mask.shape().begin(), mask.shape().end());
  Tensor<T> result = mask;
  result.reshape(four_extents(given, call.mask_axes, name));
  const std::size_t covered = given.empty() ? keys : given.back();
  if (covered < keys && call.mask_short == ShortMask::hide) return extend(result, keys, hidden);
  require(covered >= keys || covered == 1, "CAS.C9", "{}: covers {} of {} keys, which mask_short = refuse excludes",
          name, covered, keys);
  return result;
}

template Tensor<double> four_axes(const Tensor<double>&, const Call&, std::size_t, const double&, std::string_view);
template Tensor<bool> four_axes(const Tensor<bool>&, const Call&, std::size_t, const bool&, std::string_view);

}  // namespace attest
