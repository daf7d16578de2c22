#pragma once
/// Small archives to build cases from. Their numbers are multiples of 1/4 within -2..2, so that every format holds
/// them.

#include "attest/files/array.hpp"

namespace attest {

inline Array filled(Dtype dtype, const Shape& shape, double first = 0.25) {
  Array array{dtype, Tensor<double>::from_shape(shape)};
  double next = first;
  for (double& x : array.values) x = next = next >= 2 ? -next : next + 0.25;
  return array;
}

/// The values given, then zeros.
inline Array holding(Dtype dtype, const Shape& shape, const std::vector<double>& values) {
  Array array{dtype, Tensor<double>(shape, 0.0)};
  std::copy(values.begin(), values.end(), array.values.begin());
  return array;
}

/// A whole case: two batch entries, four query heads over two key heads, three queries, five keys, widths 2 and 3.
inline Archive small_case(Dtype dtype = Dtype::f32) {
  Archive archive;
  archive.metadata = {{"schema", "attest-case-1"}, {"convention", "attest"}};
  archive.tensors = {{"q", filled(dtype, {2, 4, 3, 2})},
                     {"k", filled(dtype, {2, 2, 5, 2}, -1)},
                     {"v", filled(dtype, {2, 2, 5, 3}, 1)},
                     {"out", filled(dtype, {2, 4, 3, 3})}};
  return archive;
}

/// The same call packed: sequences of 3 and 1 queries over 2 and 5 keys.
inline Archive packed_case(Dtype dtype = Dtype::f32) {
  Archive archive;
  archive.metadata = {{"schema", "attest-case-1"}, {"convention", "attest"}, {"layout", "THD"}};
  archive.tensors = {{"q", filled(dtype, {4, 4, 2})},
                     {"k", filled(dtype, {7, 2, 2}, -1)},
                     {"v", filled(dtype, {7, 2, 3}, 1)},
                     {"cu_seqlens_q", holding(Dtype::i32, {3}, {0, 3, 4})},
                     {"cu_seqlens_k", holding(Dtype::i32, {3}, {0, 2, 7})},
                     {"out", filled(dtype, {4, 4, 3})},
                     {"lse", filled(dtype, {4, 4})}};
  return archive;
}

/// The archive with one key of its metadata, or one tensor, replaced.
inline Archive with(Archive archive, const std::string& key, const std::string& value) {
  archive.metadata.insert_or_assign(key, value);
  return archive;
}
inline Archive with(Archive archive, const std::string& name, const Array& array) {
  archive.tensors.insert_or_assign(name, array);
  return archive;
}
inline Archive without(Archive archive, const std::string& name) {
  archive.tensors.erase(name);
  archive.metadata.erase(name);
  return archive;
}

/// The same numbers, -0 and +0 told apart, NaN where there is NaN.
inline bool same_values(const Tensor<double>& a, const Tensor<double>& b) {
  return a.shape() == b.shape() && std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) {
           return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
         });
}

}  // namespace attest
