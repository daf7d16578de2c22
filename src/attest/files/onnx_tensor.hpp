#pragma once
/// ONNX's TensorProto files.

#include <filesystem>
#include <optional>

#include "attest/files/array.hpp"

namespace google::protobuf {
class MessageLite;
}
namespace onnx {
class TensorProto;
}

namespace attest {

/// The element type that a TensorProto.DataType is; nullopt for those that attest does not read.
std::optional<Dtype> dtype_from_onnx(int data_type);

/// A TensorProto as an array; `file` names it in messages. Refuses, as CAS.C14: an element type that attest does not
/// read, more than four axes, data that are not exactly the shape's, data in another field than the type's, external
/// data, segments. Nothing is allocated beyond the size of the data.
Array array_from(const onnx::TensorProto& tensor, std::string_view file);

/// Parses a whole file within protobuf's own limits. Refuses one that is absent, larger than 2 GiB or does not parse:
/// CAS.C14.
void parse_message(const std::filesystem::path& file, google::protobuf::MessageLite& message);

/// The tensor in a file. `name` is what the graph calls it; a file that says another name is refused: CAS.C14.
Array read_onnx_tensor(const std::filesystem::path& file, std::string_view name);

}  // namespace attest
