#include "attest/conventions/layer_record.hpp"

#include <fmt/ranges.h>

#include "attest/conventions/field.hpp"
#include "attest/scalar/error.hpp"

namespace attest {

namespace {

using LayerField = Field<LayerRecord>;

const std::vector<LayerField>& fields() {
  static const std::vector<LayerField> table = {
      named<WeightAxes>("weight_axes", &LayerRecord::weight_axes,
                        {{"in_out", WeightAxes::in_out}, {"out_in", WeightAxes::out_in}}),
      named<InputAxes>("input_axes", &LayerRecord::input_axes,
                       {{"batch_first", InputAxes::batch_first}, {"sequence_first", InputAxes::sequence_first}}),
      boolean("training", &LayerRecord::training),
      boolean("zero_attn", &LayerRecord::zero_attention),
  };
  return table;
}

/// The conventions that layers have, and where their layer keys differ from those of "attest".
const std::map<std::string, std::vector<Setting>>& layer_conventions() {
  static const std::map<std::string, std::vector<Setting>> table = {
      {"attest", {}},
      {"torchlean", {}},
      {"pytorch.mha", {{"weight_axes", "out_in"}, {"input_axes", "sequence_first"}}},
  };
  return table;
}

void set_field(LayerRecord& record, const LayerField& field, const std::string& value) {
  require(field.read(record, value), "CAS.C7", "{}: {}, got {}", field.key, field.admissible, value);
}

/// The layer keys that the convention fills; without one they all must be among the keys.
void fill(LayerRecord& record, const std::map<std::string, std::string>& keys) {
  const auto name = keys.find("convention");
  if (name != keys.end()) {
    const auto found = layer_conventions().find(name->second);
    std::vector<std::string> names;
    for (const auto& [known, settings] : layer_conventions()) names.push_back(known);
    require(found != layer_conventions().end(), "CAS.C6", "convention: of a layer: one of {}, got {}",
            fmt::join(names, ", "), name->second);
    for (const Setting& setting : found->second) {
      set_field(record, *std::ranges::find(fields(), setting.key, &LayerField::key), setting.value);
    }
    return;
  }
  for (const LayerField& field : fields()) {
    require(keys.contains(field.key), "CAS.C6", "{}: missing, and no convention fills it", field.key);
  }
}

}  // namespace

LayerRecord layer_record_from(std::map<std::string, std::string> keys) {
  LayerRecord record;
  fill(record, keys);
  for (const LayerField& field : fields()) {
    const auto node = keys.extract(field.key);
    if (!node.empty()) set_field(record, field, node.mapped());
  }
  for (const auto& [key, value] : std::map<std::string, std::string>{{"layout", "BHSD"}, {"dropout", "none"}}) {
    require(!keys.contains(key), "CAS.C5", "{}: no key of a layer's record", key);
    if (!keys.contains("convention")) keys.emplace(key, value);
  }
  record.call = record_from(keys);
  return record;
}

std::vector<Setting> describe(const LayerRecord& record) {
  std::vector<Setting> settings;
  for (const LayerField& field : fields()) settings.push_back({field.key, field.print(record)});
  for (const Setting& setting : describe(record.call)) {
    if (setting.key != "layout" && setting.key != "dropout") settings.push_back(setting);
  }
  return settings;
}

}  // namespace attest
