#pragma once
/// The command `attest`: what each subcommand does. Every one returns an exit status: 0 accepted or done, 1 not
/// accepted; bad input is thrown as Refused (2), and CannotAnswer says that attest itself cannot (3).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attest/conventions/conventions.hpp"

namespace attest {

/// `attest check CASE`
struct CheckOptions {
  std::string case_path;
  std::string result_path;               ///< empty: the answers are in the case
  std::optional<std::uint64_t> max_ulp;  ///< absent: only structure is judged
  bool json = false;
  std::string dump_worst;  ///< empty: nothing is written
  std::vector<Setting> overrides;
};
int run_check(const CheckOptions& options);

/// `attest eval CASE -o OUT`
struct EvalOptions {
  std::string case_path;
  std::string out_path;
  std::string dtype;       ///< empty: f32
  bool stages = false;     ///< weights and scores too
  bool gradients = false;  ///< dq, dk, dv, and dbias and dsink where the case has a bias and a sink
  std::vector<Setting> overrides;
};
int run_eval(const EvalOptions& options);

/// `attest explain CASE`
struct ExplainOptions {
  std::string case_path;
  std::string row;  ///< "b,h,i"; empty: the row farthest off, or the first where there is no answer
  std::vector<Setting> overrides;
};
int run_explain(const ExplainOptions& options);

/// `attest certify CASE -o FILE.v`
struct CertifyOptions {
  std::string case_path;
  std::string out_path;
  std::string dtype;         ///< empty: f64
  std::string row;           ///< "b,h,i"; empty: `rows` of them, and an empty one
  std::size_t rows = 3;      ///< spread over the call
  std::size_t elements = 2;  ///< of each output of a row
  std::vector<Setting> overrides;
};
int run_certify(const CertifyOptions& options);

/// `attest spec [ID]`
struct SpecOptions {
  std::string id;    ///< of an item or a topic; empty: the chapters
  std::string root;  ///< the folder that holds spec/; empty: the installed one, or else that of the source
};
int run_spec(const SpecOptions& options);

/// `attest learn`: trains a decoder block (chapters 12 and 14) and shows how its loss falls.
struct LearnOptions {
  std::size_t steps = 1000;
  std::uint64_t seed = 2017;
  std::string svg;     ///< empty: nothing is written
  std::string record;  ///< empty: nothing is written
  bool json = false;
};
int run_learn(const LearnOptions& options);

/// `attest demo`: judges a real answer of PyTorch and shows how the report reads.
int run_demo(const std::string& folder);

}  // namespace attest
