/// Chapter 20: the same call in the terms of every convention.

#include "attest/conventions/conventions.hpp"

#include "attest/conventions/layout.hpp"
#include "attest/definitions/attention.hpp"
#include "attest/files/case_file.hpp"
#include "support/property.hpp"

namespace attest {
namespace {

/// A case file of the call, in its own layout. (The archive of a case is in layout BHSD.)
Archive file_of(const Problem& problem) {
  Archive archive = archive_of(Case{problem, {}});
  const Extents n = extents(problem.inputs);
  for (const char* name : {"q", "k", "v", "past_k", "past_v"}) {
    const auto found = archive.tensors.find(name);
    if (found != archive.tensors.end()) found->second.values = pack(found->second.values, problem.call.layout, nullptr);
  }
  for (const Setting& setting : describe(problem.call)) archive.metadata.insert_or_assign(setting.key, setting.value);
  archive.metadata.insert({{"q_heads", std::to_string(n.q_heads)},
                           {"k_heads", std::to_string(n.k_heads)},
                           {"v_heads", std::to_string(n.v_heads)}});
  return archive;
}

PROPERTY(CNV_P1, a_call_said_in_another_convention_has_equal_values) {
  const Problem problem = *calls();
  Problem said = problem;
  said.call = said_in(problem.call, *rc::gen::elementOf(convention_names()));
  const Problem read = case_from(file_of(said)).problem;
  RC_CLASSIFY(
      problem.call.window_counts != said.call.window_counts && (problem.call.window_left || problem.call.window_right),
      "a window counted otherwise");
  RC_CLASSIFY(problem.inputs.visible && said.call.mask_polarity == MaskPolarity::true_is_hidden, "a mask turned");
  RC_TAG(said.call.convention);
  RC_ASSERT(describe(read.call) == describe(said.call));
  same_rows<double>(problem, read);
  same_rows<float>(problem, read);
  same_rows<RoundedBF16>(problem, read);
}

/// Every entry turned.
Tensor<double> opposite(Tensor<double> ones) {
  for (double& x : ones) x = 1 - x;
  return ones;
}

PROPERTY(CNV_P2, masks_of_either_polarity_round_trip) {
  Problem problem = *calls({.degenerate = false});
  const Extents n = extents(problem.inputs);
  const std::vector<bool> draw = *visible_rows(n.keys);
  Tensor<double> ones = Tensor<double>::from_shape({1, 1, 1, n.keys});
  std::copy(draw.begin(), draw.end(), ones.begin());
  Tensor<double> there = Tensor<double>::from_shape({n.batch, n.keys});
  for (std::size_t c = 0; c < there.size(); ++c) there.data()[c] = draw[(c + 1) % n.keys] ? 1 : 0;
  problem.inputs.visible = Tensor<bool>(ones.shape());
  std::copy(draw.begin(), draw.end(), problem.inputs.visible->begin());
  problem.inputs.key_padding =
      tabulate(n.batch, n.keys, [&](std::size_t b, std::size_t j) { return there(b, j) == 1; });

  // half of the draws are of the one convention that hides by true
  const std::string name =
      *rc::gen::oneOf(rc::gen::elementOf(convention_names()), rc::gen::just<std::string>("pytorch.mha"));
  problem.call = said_in(problem.call, name);
  Archive archive = file_of(problem);
  const bool masks_hide = convention(name).mask_polarity == MaskPolarity::true_is_hidden;
  const bool padding_hides = convention(name).padding_polarity == MaskPolarity::true_is_hidden;
  archive.tensors.at("visible").values = masks_hide ? opposite(ones) : ones;
  archive.tensors.at("key_padding").values = padding_hides ? opposite(there) : there;
  const Inputs read = case_from(archive).problem.inputs;
  RC_CLASSIFY(masks_hide, "true is hidden");
  RC_ASSERT(*read.visible == *problem.inputs.visible);
  RC_ASSERT(*read.key_padding == *problem.inputs.key_padding);
  RC_ASSERT(archive_of(case_from(archive)).tensors.at("visible").values == archive.tensors.at("visible").values);
}

}  // namespace
}  // namespace attest
