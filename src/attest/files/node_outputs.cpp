#include "attest/files/node_outputs.hpp"

#include "attest/files/case_record.hpp"
#include "attest/files/case_tensors.hpp"

namespace attest {

std::map<OutputName, Output> outputs_from(const Archive& archive, const NodeCase& node) {
  for (const auto& [name, array] : archive.tensors) {
    require(name == "out", "CAS.C8", "{}: no answer of a node; a file of its answers has out", name);
  }
  for (const auto& [key, value] : archive.metadata) {
    require(key == "schema", "CAS.C5", "{}: no key of a file of answers for a node", key);
    require(value == case_schema, "CAS.C7", "schema: {}, got {}", case_schema, value);
  }
  const Array& answer = need(archive, "out", Kind::floating);
  require_shape("out", answer.values, shape_of(node.operation.x), "of the node's operand");
  return {{"out", {*format_of(answer.dtype), answer.values}}};
}

Archive archive_of(const std::map<OutputName, Output>& outputs, const NodeCase&) {
  Archive archive{{}, {{"schema", case_schema}}};
  for (const auto& [name, output] : outputs) {
    archive.tensors.emplace(name, Array{dtype_of(output.format), output.values});
  }
  return archive;
}

}  // namespace attest
