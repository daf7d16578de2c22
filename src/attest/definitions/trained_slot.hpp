#pragma once
/// Chapter 12 (DEC): how an optimiser sees a record of parameters: as a list of slots of numbers.

#include <span>
#include <string_view>

namespace attest {

/// A slot of a record of parameters: its name and its entries in row-major order.
template <class T>
struct TrainedSlot {
  std::string_view name;
  std::span<T> entries;
};

template <class Fixed>
auto entries_of(Fixed& tensor) {
  return std::span(tensor.data(), tensor.size());
}

}  // namespace attest
