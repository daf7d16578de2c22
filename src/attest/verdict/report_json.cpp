#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "attest/verdict/report.hpp"

namespace attest {

namespace {

using Json = nlohmann::ordered_json;

/// JSON has no NaN and no infinities: they are the strings "nan", "inf" and "-inf".
Json number(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

Json value(double x) { return {{"decimal", number(x)}, {"hex", fmt::format("{:a}", x)}}; }

Json worst(const Comparison& c, const std::optional<Worst>& w) {
  if (!w) return nullptr;
  return {{"index", unravel(w->element, c.shape)},
          {"steps", w->steps == unreachable ? Json("unreachable") : Json(w->steps)},
          {"units", number(w->units)},
          {"answer", value(w->answer)},
          {"due", {value(w->due.lower), value(w->due.upper)}}};
}

Json output(const Comparison& c) {
  return {{"name", c.name},
          {"format", parameters(c.format).name},
          {"shape", c.shape},
          {"elements", c.elements},
          {"correctly_rounded", c.correctly_rounded},
          {"undecided", c.undecided},
          {"max_steps", c.by_steps ? worst(c, c.by_steps)["steps"] : Json(0)},
          {"max_units", c.by_units ? number(c.by_units->units) : Json(0)},
          {"worst_by_steps", worst(c, c.by_steps)},
          {"worst_by_units", worst(c, c.by_units)},
          {"padding", c.padding},
          {"negative_zeros", c.negative_zeros},
          {"nan_unexpected", c.nan_unexpected.count},
          {"nan_missing", c.nan_missing.count},
          {"infinity_unexpected", c.infinity_unexpected.count},
          {"infinity_missing", c.infinity_missing.count},
          {"empty_rows", c.empty_rows},
          {"empty_wrong", c.empty_wrong.count},
          {"leaks", c.leaks.count},
          {"bits", c.bits}};
}

constexpr std::string_view verdict_names[] = {"measured", "accepted", "not accepted"};

}  // namespace

std::string json_of(const Report& report) {
  const Judgement judgement = judge(report);
  Json inputs = Json::object();
  for (const auto& [name, shape] : report.inputs) inputs[name] = shape;
  Json call = Json::object();
  for (const auto& [key, setting] : report.record) call[key] = setting;
  Json outputs = Json::array();
  for (const Comparison& c : report.outputs) outputs.push_back(output(c));
  const Json json = {{"schema", "attest-report-1"},
                     {"verdict", verdict_names[static_cast<int>(judgement.verdict)]},
                     {"reasons", judgement.reasons},
                     {"max_ulp", report.max_ulp ? Json(*report.max_ulp) : Json(nullptr)},
                     {"case", report.case_name},
                     {"inputs", inputs},
                     {"call", call},
                     {"outputs", outputs}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace attest
