#pragma once
/// Chapter 20 (CNV): masks and biases as callers give them, with fewer axes or shorter than the keys.

#include <string_view>

#include "attest/definitions/call.hpp"
#include "attest/tensor/tensor.hpp"

namespace attest {

/// CNV.D4  four_axes(t)_bhij = t_bhij for j < n, `hidden` for n <= j < Sk: a mask or bias of n keys with the axes
/// (B, H, Sq, Sk), each full or 1, from the axes and the length that the call record allows (mask_axes, mask_short).
/// One that ends in an axis of extent 1 counts as short where short masks are allowed, and is broadcast otherwise.
/// Refuses by CAS.C9, naming the tensor. That the result broadcasts is for check() to say.
template <class T>
Tensor<T> four_axes(const Tensor<T>& mask, const Call& call, std::size_t keys, const T& hidden, std::string_view name);

}  // namespace attest
