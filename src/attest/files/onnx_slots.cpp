#include "attest/files/onnx_slots.hpp"

#include <algorithm>

#include "attest/files/onnx_tensor.hpp"
#include "attest/scalar/error.hpp"

namespace attest {

namespace {

void require_declared(const Slot& slot, const OnnxValue& declared) {
  require(declared.data_type == 0 || dtype_from_onnx(declared.data_type) == slot.array.dtype, "CAS.C14",
          "{}: the element type that the graph declares, got {}", slot.label, name_of(slot.array.dtype));
  if (!declared.extents) return;
  const Shape shape = shape_of(slot);
  const auto agrees = [](std::int64_t stated, std::size_t extent) {
    return stated < 0 || static_cast<std::size_t>(stated) == extent;
  };
  require(std::ranges::equal(*declared.extents, shape, agrees), "CAS.C14",
          "{}: the shape that the graph declares, got {}", slot.label, to_string(shape));
}

}  // namespace

Shape shape_of(const Slot& slot) {
  const auto& shape = slot.array.values.shape();
  return Shape(shape.begin(), shape.end());
}

void require_shape(const Slot& slot, const Shape& expected) {
  const Shape shape = shape_of(slot);
  require(shape == expected, "CAS.C14", "{}: shape {}, got {}", slot.label, to_string(expected), to_string(shape));
}

void require_type(const Slot& slot, Dtype expected) {
  require(slot.array.dtype == expected, "CAS.C14", "{}: element type {}, got {}", slot.label, name_of(expected),
          name_of(slot.array.dtype));
}

Slots read_slots(const std::filesystem::path& folder, std::string_view kind, const std::vector<OnnxValue>& values,
                 const std::vector<std::string>& names, const std::vector<std::string_view>& formal) {
  Slots slots(names.size());
  for (std::size_t slot = 0; slot < names.size(); ++slot) {
    const auto value = std::ranges::find(values, names[slot], &OnnxValue::name);
    if (names[slot].empty() || value == values.end()) continue;
    const std::string file = fmt::format("{}_{}.pb", kind, value - values.begin());
    slots[slot] = Slot{read_onnx_tensor(folder / "test_data_set_0" / file, value->name),
                       fmt::format("{} ({})", formal[slot], file)};
    require_declared(*slots[slot], *value);
  }
  return slots;
}

}  // namespace attest
