#pragma once
/// The tensors of an ONNX test folder, by the slots of its node.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attest/files/array.hpp"
#include "attest/files/onnx_graph.hpp"

namespace attest {

/// A tensor of the node, and how messages name it: "past_key (input_3.pb)".
struct Slot {
  Array array;
  std::string label;
};

/// A slot is empty if the node lacks it or the graph does not show it.
using Slots = std::vector<std::optional<Slot>>;

/// The tensors in test_data_set_0/KIND_K.pb, K counting `values`, for the node's `names`; `formal` is what the operator
/// calls them. Refuses files that do not fit what the graph declares: CAS.C14.
Slots read_slots(const std::filesystem::path& folder, std::string_view kind, const std::vector<OnnxValue>& values,
                 const std::vector<std::string>& names, const std::vector<std::string_view>& formal);

Shape shape_of(const Slot& slot);

/// Refuse another shape, another element type: CAS.C14.
void require_shape(const Slot& slot, const Shape& expected);
void require_type(const Slot& slot, Dtype expected);

}  // namespace attest
