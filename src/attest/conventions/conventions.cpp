#include "attest/conventions/conventions.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "attest/conventions/field.hpp"
#include "attest/scalar/error.hpp"

namespace attest {

namespace {

/// The call record, field by field in the order of chapter 05's table.
std::vector<Field<Call>> make_fields() {
  return {
      named<Layout>("layout", &Call::layout,
                    {{"BHSD", Layout::bhsd}, {"BSHD", Layout::bshd}, {"BSD", Layout::bsd}, {"THD", Layout::thd}}),
      number("scale", &Call::scale, "1/sqrt(d)", "a finite number", [](double) { return true; }),
      number("softcap", &Call::softcap, "none", "a number greater than 0", [](double cap) { return cap > 0; }),
      named<BiasPosition>("bias_position", &Call::bias_position,
                          {{"after_softcap", BiasPosition::after_softcap},
                           {"before_softcap", BiasPosition::before_softcap},
                           {"inside_scale", BiasPosition::inside_scale}}),
      boolean("causal", &Call::causal),
      named<Alignment>("alignment", &Call::alignment,
                       {{"top_left", Alignment::top_left},
                        {"bottom_right_padded", Alignment::bottom_right_padded},
                        {"bottom_right_actual", Alignment::bottom_right_actual},
                        {"after_past", Alignment::after_past},
                        {"offsets", Alignment::offsets}}),
      count("window_left", &Call::window_left),
      count("window_right", &Call::window_right),
      named<WindowCounts>("window_counts", &Call::window_counts,
                          {{"others", WindowCounts::others}, {"self_too", WindowCounts::self_too}}),
      named<MaskPolarity>(
          "mask_polarity", &Call::mask_polarity,
          {{"true_is_visible", MaskPolarity::true_is_visible}, {"true_is_hidden", MaskPolarity::true_is_hidden}}),
      named<MaskPolarity>(
          "padding_polarity", &Call::padding_polarity,
          {{"true_is_visible", MaskPolarity::true_is_visible}, {"true_is_hidden", MaskPolarity::true_is_hidden}}),
      named<MaskAxes>("mask_axes", &Call::mask_axes,
                      {{"numpy", MaskAxes::numpy}, {"batch_first", MaskAxes::batch_first}}),
      named<ShortMask>("mask_short", &Call::mask_short, {{"refuse", ShortMask::refuse}, {"hide", ShortMask::hide}}),
      named<HeadMap>("head_map", &Call::head_map, {{"grouped", HeadMap::grouped}, {"tiled", HeadMap::tiled}}),
      named<AlibiForm>("alibi_form", &Call::alibi_form,
                       {{"distance", AlibiForm::distance}, {"signed", AlibiForm::signed_}}),
      boolean("sink_in_lse", &Call::sink_in_lse),
      named<LseBase>("lse_base", &Call::lse_base, {{"e", LseBase::e}, {"2", LseBase::two}}),
      named<EmptyRow>("empty_row", &Call::empty_row, {{"zero", EmptyRow::zero}, {"nan", EmptyRow::nan}}),
      named<EmptyRowLse>("empty_row_lse", &Call::empty_row_lse,
                         {{"-inf", EmptyRowLse::minus_infinity}, {"+inf", EmptyRowLse::plus_infinity}}),
      number("dropout", &Call::dropout, "none", "a probability in [0, 1]", [](double p) { return p >= 0 && p <= 1; }),
      named<WeightsAre>("weights_are", &Call::weights_are,
                        {{"probabilities", WeightsAre::probabilities}, {"dropped", WeightsAre::dropped}}),
      named<ScoreStage>(
          "scores_stage", &Call::scores_stage,
          {{"scaled", ScoreStage::scaled}, {"capped", ScoreStage::capped}, {"biased", ScoreStage::biased}}),
      named<Overflow>("f8_overflow", &Call::f8_overflow,
                      {{"standard", Overflow::standard}, {"saturate", Overflow::saturate}}),
      text("arithmetic", &Call::arithmetic),
  };
}

const std::vector<Field<Call>>& fields() {
  static const std::vector<Field<Call>> table = make_fields();
  return table;
}

/// A convention: its name, and where its record differs from that of "attest", which is `Call` as it is declared.
struct Convention {
  std::string name;
  std::vector<Setting> differs;
};

const std::vector<Convention>& conventions() {
  static const std::vector<Convention> table = {
      {"attest", {}},
      {"torchlean", {}},
      {"pytorch.sdpa", {}},
      {"pytorch.mha",
       {{"mask_polarity", "true_is_hidden"},
        {"padding_polarity", "true_is_hidden"},
        {"empty_row", "nan"},
        {"weights_are", "dropped"}}},
      // Counts lengths from the end, as FlashAttention does since 2.1; equal to the padded extents without lengths.
      {"flash-2", {{"layout", "BSHD"}, {"alignment", "bottom_right_actual"}, {"empty_row_lse", "+inf"}}},
      {"flash-3", {{"layout", "BSHD"}, {"alignment", "bottom_right_actual"}}},
      // The alignment follows from the node's inputs, the layout from their rank: CNV.D2.
      {"onnx-23", {{"scores_stage", "scaled"}}},
      {"onnx-24", {{"mask_short", "hide"}, {"scores_stage", "scaled"}}},
      {"onnx-25", {{"mask_short", "hide"}, {"scores_stage", "scaled"}}},
      {"onnxruntime.mha", {{"layout", "BSD"}, {"alignment", "after_past"}, {"mask_axes", "batch_first"}}},
      {"onnxruntime.gqa",
       {{"layout", "BSD"}, {"causal", "true"}, {"alignment", "bottom_right_actual"}, {"window_counts", "self_too"}}},
      {"jax", {{"layout", "BSHD"}}},
      {"transformers", {{"alignment", "after_past"}, {"window_counts", "self_too"}, {"weights_are", "dropped"}}},
      {"ggml", {}},
  };
  return table;
}

std::vector<std::string> missing_from(const std::map<std::string, std::string>& keys) {
  std::vector<std::string> missing;
  std::ranges::copy_if(record_keys(), std::back_inserter(missing),
                       [&](const std::string& key) { return !keys.contains(key); });
  return missing;
}

/// The same keys as a window that counts the query's own key, or does not.
std::optional<long> recounted(std::optional<long> window, WindowCounts from, WindowCounts to) {
  if (!window || from == to) return window;
  return to == WindowCounts::self_too ? *window + 1 : *window - 1;
}

/// The record that the explicit keys override: the convention's, or none of which a field survives.
Call base_of(const std::map<std::string, std::string>& keys) {
  const auto named = keys.find("convention");
  if (named != keys.end()) return convention(named->second);
  const std::vector<std::string> missing = missing_from(keys);
  require(missing.empty(), "CAS.C6", "convention: without one every key must be given, missing are {}",
          fmt::join(missing, ", "));
  Call call;
  call.convention = "none";
  return call;
}

}  // namespace

Call convention(std::string_view name) {
  const auto found = std::ranges::find(conventions(), name, &Convention::name);
  require(found != conventions().end(), "CAS.C6", "convention: one of {}, got {}", fmt::join(convention_names(), ", "),
          name);
  Call call;
  call.convention = found->name;
  for (const Setting& setting : found->differs) set(call, setting.key, setting.value);
  return call;
}

Call said_in(const Call& call, std::string_view name) {
  const Call other = convention(name);
  Call said = call;
  said.convention = other.convention;
  said.layout = other.layout;
  said.window_counts = other.window_counts;
  said.window_left = recounted(call.window_left, call.window_counts, other.window_counts);
  said.window_right = recounted(call.window_right, call.window_counts, other.window_counts);
  said.mask_polarity = other.mask_polarity;
  said.padding_polarity = other.padding_polarity;
  return said;
}

std::vector<std::string> convention_names() {
  std::vector<std::string> names;
  std::ranges::transform(conventions(), std::back_inserter(names), &Convention::name);
  return names;
}

const std::vector<std::string>& record_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> all;
    std::ranges::transform(fields(), std::back_inserter(all), &Field<Call>::key);
    return all;
  }();
  return keys;
}

void set(Call& call, const std::string& key, const std::string& value) {
  const auto field = std::ranges::find(fields(), key, &Field<Call>::key);
  require(field != fields().end(), "CAS.C5", "{}: no key of the call record", key);
  require(field->read(call, value), "CAS.C7", "{}: {}, got {}", key, field->admissible, value);
}

std::vector<Setting> describe(const Call& call) {
  std::vector<Setting> settings;
  std::ranges::transform(fields(), std::back_inserter(settings), [&](const Field<Call>& field) {
    return Setting{field.key, field.print(call)};
  });
  return settings;
}

void require_consistent(const Call& call) {
  const bool counts_self = call.window_counts == WindowCounts::self_too;
  require(!counts_self || call.window_left.value_or(1) > 0, "CAS.C7",
          "window_left: at least 1 where window_counts is self_too, got 0");
  require(!counts_self || call.window_right.value_or(1) > 0, "CAS.C7",
          "window_right: at least 1 where window_counts is self_too, got 0");
  require(call.layout != Layout::thd || call.alignment != Alignment::bottom_right_padded, "CAS.C7",
          "alignment: layout THD has no padded extents, use bottom_right_actual");
}

Call record_from(const std::map<std::string, std::string>& keys) {
  Call call = base_of(keys);
  for (const auto& [key, value] : keys) {
    if (key != "convention") set(call, key, value);
  }
  require_consistent(call);
  return call;
}

}  // namespace attest
