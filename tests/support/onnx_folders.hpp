#pragma once
/// ONNX node-test folders made by the tests, and what reading them refuses.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

#include "attest/conventions/onnx.hpp"
#include "attest/definitions/mask.hpp"
#include "attest/files/onnx_folder.hpp"
#include "attest/files/onnx_proto.hpp"
#include "attest/scalar/error.hpp"
#include "support/refusal.hpp"
#include "support/spec_tests.hpp"

namespace attest {

using Dims = std::vector<std::int64_t>;

inline onnx::TensorProto empty_tensor(const std::string& name, int type, const Dims& dims) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const std::int64_t extent : dims) tensor.add_dims(extent);
  return tensor;
}

/// float32 numbers in raw_data, as the node tests have them.
inline onnx::TensorProto floats(const std::string& name, const Dims& dims, const std::vector<float>& values) {
  onnx::TensorProto tensor = empty_tensor(name, onnx::TensorProto::FLOAT, dims);
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  return tensor;
}

inline onnx::TensorProto zeros(const std::string& name, const Dims& dims) {
  std::size_t count = 1;
  for (const std::int64_t extent : dims) count *= static_cast<std::size_t>(extent);
  return floats(name, dims, std::vector<float>(count));
}

inline onnx::TensorProto booleans(const std::string& name, const Dims& dims, const std::string& bytes) {
  onnx::TensorProto tensor = empty_tensor(name, onnx::TensorProto::BOOL, dims);
  tensor.set_raw_data(bytes);
  return tensor;
}

inline onnx::TensorProto integers(const std::string& name, const std::vector<std::int64_t>& values) {
  onnx::TensorProto tensor = empty_tensor(name, onnx::TensorProto::INT64, {static_cast<std::int64_t>(values.size())});
  for (const std::int64_t value : values) tensor.add_int64_data(value);
  return tensor;
}

inline onnx::ValueInfoProto declaration(const onnx::TensorProto& tensor) {
  onnx::ValueInfoProto declared;
  declared.set_name(tensor.name());
  auto* type = declared.mutable_type()->mutable_tensor_type();
  type->set_elem_type(tensor.data_type());
  for (const std::int64_t extent : tensor.dims()) type->mutable_shape()->add_dim()->set_dim_value(extent);
  return declared;
}

/// A directory that exists as long as the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "attest-onnx-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
    std::filesystem::create_directory(path_ / "test_data_set_0");
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& file, const std::string& bytes) const {
    std::ofstream(path_ / file, std::ios::binary) << bytes;
  }

 private:
  std::filesystem::path path_;
};

/// A folder of one node, to which a test adds tensors and attributes, and which it spoils.
struct GraphFolder {
  onnx::ModelProto model;
  std::vector<onnx::TensorProto> inputs;
  std::vector<onnx::TensorProto> outputs;
  std::map<std::string, std::string> spoiled;  ///< bytes written in place of a file's own

  GraphFolder(const std::string& op_type, std::int64_t opset) {
    model.add_opset_import()->set_version(opset);
    node().set_op_type(op_type);
  }

  onnx::GraphProto& graph() { return *model.mutable_graph(); }
  onnx::NodeProto& node() { return graph().node_size() ? *graph().mutable_node(0) : *graph().add_node(); }

  void input(int slot, const onnx::TensorProto& tensor) {
    while (node().input_size() <= slot) node().add_input("");
    node().set_input(slot, tensor.name());
    *graph().add_input() = declaration(tensor);
    inputs.push_back(tensor);
  }

  void output(int slot, const onnx::TensorProto& tensor) {
    while (node().output_size() <= slot) node().add_output("");
    node().set_output(slot, tensor.name());
    *graph().add_output() = declaration(tensor);
    outputs.push_back(tensor);
  }

  onnx::AttributeProto& attribute(const std::string& name, onnx::AttributeProto::AttributeType type) {
    onnx::AttributeProto& added = *node().add_attribute();
    added.set_name(name);
    added.set_type(type);
    return added;
  }
  void integer(const std::string& name, std::int64_t value) { attribute(name, onnx::AttributeProto::INT).set_i(value); }
  void number(const std::string& name, float value) { attribute(name, onnx::AttributeProto::FLOAT).set_f(value); }

  /// The case that is read from the folder once it lies on the disk.
  AnyCase read_any(const std::vector<Setting>& overrides = {}) const {
    const TemporaryFolder folder;
    folder.write("model.onnx", model.SerializeAsString());
    for (std::size_t n = 0; n < inputs.size(); ++n) {
      folder.write(fmt::format("test_data_set_0/input_{}.pb", n), inputs[n].SerializeAsString());
    }
    for (std::size_t n = 0; n < outputs.size(); ++n) {
      folder.write(fmt::format("test_data_set_0/output_{}.pb", n), outputs[n].SerializeAsString());
    }
    for (const auto& [file, bytes] : spoiled) folder.write(file, bytes);
    return read_any_case(folder.path(), overrides);
  }
};

/// Attention: two queries and three keys of width 2 in one head.
struct Folder : GraphFolder {
  explicit Folder(std::int64_t opset = 23, const Dims& q = {1, 1, 2, 2}, const Dims& k = {1, 1, 3, 2})
      : GraphFolder("Attention", opset) {
    input(0, zeros("Q", q));
    input(1, zeros("K", k));
    input(2, zeros("V", k));
    output(0, zeros("Y", q));
  }

  Case read(const std::vector<Setting>& overrides = {}) const { return std::get<Case>(read_any(overrides)); }
};

/// A node beside attention, without tensors yet.
struct NodeFolder : GraphFolder {
  using GraphFolder::GraphFolder;
  NodeCase read(const std::vector<Setting>& overrides = {}) const { return std::get<NodeCase>(read_any(overrides)); }
};

inline void expect_refusal(const std::string& text, const std::string& id, const std::string& word) {
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  EXPECT_EQ(text.substr(0, id.size() + 2), id + ": ") << text;
  EXPECT_NE(text.find(word), std::string::npos) << text << " names " << word;
}

/// Spoils a folder and expects its refusal.
template <class Kind>
void expect_refused(Kind folder, const std::type_identity_t<std::function<void(Kind&)>>& spoil, const std::string& id,
                    const std::string& word) {
  EXPECT_NO_THROW(folder.read());
  spoil(folder);
  expect_refusal(refusal_of([&] { folder.read(); }), id, word);
}

inline void expect_node_refused(const OnnxAttention& node, const std::string& id, const std::string& word) {
  expect_refusal(refusal_of([&] { onnx_call(node); }), id, word);
}

}  // namespace attest
