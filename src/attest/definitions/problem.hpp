#pragma once
/// Chapter 05 (ATT): a whole attention call as a value: its record and its tensors, checked at the door.

#include <cstdint>
#include <optional>

#include "attest/definitions/call.hpp"
#include "attest/tensor/tensor.hpp"

namespace attest {

/// The tensors of a call, axes (B, H, S, channel). Every value of every file format is a binary64, so they are doubles.
/// Masks and biases have rank 4, each axis full or 1. An absent tensor is `nullopt`: nothing stands in for it.
struct Inputs {
  Tensor<double> q;                                    ///< (B, Hq, Sq, D)
  Tensor<double> k;                                    ///< (B, Hk, Sk, D), cached keys first
  Tensor<double> v;                                    ///< (B, Hv, Sk, Dv)
  std::optional<Tensor<double>> bias;                  ///< broadcasts to (B, Hq, Sq, Sk); -infinity hides the key
  std::optional<Tensor<bool>> visible;                 ///< broadcasts to (B, Hq, Sq, Sk); true = visible
  std::optional<Matrix<bool>> key_padding;             ///< (B, Sk); true = a key that is there
  std::optional<Vector<std::int64_t>> q_lengths;       ///< (B)
  std::optional<Vector<std::int64_t>> k_lengths;       ///< (B)
  std::optional<Vector<std::int64_t>> prefix_lengths;  ///< (B)
  std::optional<Vector<std::int64_t>> offsets;         ///< (B)
  std::optional<Matrix<std::int64_t>> document_q;      ///< (B, Sq)
  std::optional<Matrix<std::int64_t>> document_k;      ///< (B, Sk)
  std::optional<Matrix<double>> alibi_slopes;          ///< (1 or B, Hq)
  std::optional<Vector<double>> sink;                  ///< (Hq)
  std::optional<Tensor<bool>> kept;                    ///< (B, Hq, Sq, Sk), dropout's kept mask
  std::optional<Matrix<double>> descale_q;             ///< (1 or B, 1 or Hq or Hk)
  std::optional<Matrix<double>> descale_k;             ///< (1 or B, 1 or Hk)
  std::optional<Matrix<double>> descale_v;             ///< (1 or B, 1 or Hv)
  std::size_t past = 0;                                ///< how many of the keys were cached
};

/// The extents of a call.
struct Extents {
  std::size_t batch, q_heads, k_heads, v_heads, queries, keys, width, value_width;
};

struct Problem {
  Call call;
  Inputs inputs;
};

Extents extents(const Inputs& inputs);

/// Refuses, with the constraint's id, a problem that violates ATT.C1 to ATT.C11, MSK.C3 to MSK.C6, SHP.C3. Everything
/// above the door may rely on them.
void check(const Problem& problem);

}  // namespace attest
