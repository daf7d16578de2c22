/// The command `attest`: arguments in, exit status out.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "attest/cli/commands.hpp"
#include "attest/conventions/text.hpp"
#include "attest/scalar/error.hpp"
#include "attest/verdict/page.hpp"

namespace {

using namespace attest;

constexpr int unusable_input = 2;
constexpr int cannot_answer = 3;

/// The message on one line of its own, whatever a file or a path has put into it.
void complain(std::string_view message) { fmt::print(stderr, "attest: {}\n", printable(message)); }

/// KEY=VALUE as a setting of the call record.
Setting parse_setting(const std::string& text) {
  const std::size_t equals = text.find('=');
  require(equals != std::string::npos && equals > 0, "CAS.C5", "--set: KEY=VALUE, got \"{}\"", text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::vector<Setting> parse_settings(const std::vector<std::string>& texts) {
  std::vector<Setting> settings;
  for (const std::string& text : texts) settings.push_back(parse_setting(text));
  return settings;
}

/// N of --max-ulp: a decimal integer and nothing else, lest a slip accepts more than was meant.
std::uint64_t parse_limit(const std::string& text) {
  const std::optional<std::int64_t> limit = integer_from(text);
  require(limit && *limit >= 0, "CAS.C7", "--max-ulp: an integer in 0..2^53, got \"{}\"", text);
  return static_cast<std::uint64_t>(*limit);
}

/// An integer of a command line, in decimal: the same rule as that of a key.
std::uint64_t parse_integer(const std::string& name, const std::string& text, std::int64_t lowest,
                            std::int64_t highest) {
  const std::optional<std::int64_t> number = integer_from(text);
  require(number && *number >= lowest && *number <= highest, "CAS.C7", "{}: an integer in {}..{}, got \"{}\"", name,
          lowest, highest, text);
  return static_cast<std::uint64_t>(*number);
}

/// What every command that reads a case takes: the case, and keys of its record.
template <class Options>
void add_case(CLI::App& command, const std::shared_ptr<Options>& options) {
  command
      .add_option("CASE", options->case_path,
                  "a safetensors or npz file, or a folder of .npy files or of an ONNX node test")
      ->required();
  command
      .add_option_function<std::vector<std::string>>(
          "--set", [=](const std::vector<std::string>& texts) { options->overrides = parse_settings(texts); },
          "override a key of the call record, KEY=VALUE; may be repeated")
      ->expected(1)
      ->take_all();
}

void add_check(CLI::App& app, std::function<int()>& chosen) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = app.add_subcommand("check", "Compare an implementation's answers with the certified ones");
  add_case(*command, options);
  command->add_option("--result", options->result_path, "take the answers from this file or folder instead");
  command->add_option_function<std::string>(
      "--max-ulp", [=](const std::string& text) { options->max_ulp = parse_limit(text); },
      "accept answers within N representable steps; without it only structure is judged");
  command->add_flag("--json", options->json, "a report for machines (spec/report.schema.json)");
  command->add_option("--dump-worst", options->dump_worst,
                      "write the query row that is farthest off as a case of its own");
  command->callback([=, &chosen] { chosen = [=] { return run_check(*options); }; });
}

void add_eval(CLI::App& app, std::function<int()>& chosen) {
  auto options = std::make_shared<EvalOptions>();
  CLI::App* command = app.add_subcommand("eval", "Write the correctly rounded answers of a case");
  add_case(*command, options);
  command->add_option("-o,--output", options->out_path, "the safetensors file to write")->required();
  command->add_option("--dtype", options->dtype, "f64 f32 f16 bf16 f8e4m3 f8e5m2; default f32");
  command->add_flag("--stages", options->stages, "write the weights and scores too");
  command->add_flag("--gradients", options->gradients, "write the gradients too, of a case with dout");
  command->callback([=, &chosen] { chosen = [=] { return run_eval(*options); }; });
}

void add_explain(CLI::App& app, std::function<int()>& chosen) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand("explain", "Walk one query row through the equations, with its numbers");
  add_case(*command, options);
  command->add_option("--row", options->row, "the row, as b,h,i; default: the one farthest off, else the first");
  command->callback([=, &chosen] { chosen = [=] { return run_explain(*options); }; });
}

void add_certify(CLI::App& app, std::function<int()>& chosen) {
  auto options = std::make_shared<CertifyOptions>();
  CLI::App* command = app.add_subcommand("certify", "Write results of a small case as theorems, for Coq to prove");
  const auto count = [](const std::string& name, std::size_t& value) {
    return [name, &value](const std::string& text) { value = parse_integer(name, text, 1, 1000); };
  };
  add_case(*command, options);
  command->add_option("-o,--output", options->out_path, "the file to write, FILE.v")->required();
  command->add_option("--dtype", options->dtype, "the format to which results are rounded, as in eval; default f64");
  command->add_option("--row", options->row, "the row, as b,h,i; default: some that are spread over the case");
  command->add_option_function<std::string>("--rows", count("--rows", options->rows), "how many rows; default 3");
  command->add_option_function<std::string>("--elements", count("--elements", options->elements),
                                            "how many elements of each output of a row; default 2");
  command->callback([=, &chosen] { chosen = [=] { return run_certify(*options); }; });
}

void add_spec(CLI::App& app, std::function<int()>& chosen) {
  auto options = std::make_shared<SpecOptions>();
  CLI::App* command = app.add_subcommand("spec", "Print the specification: its chapters, a chapter, or one item");
  command->add_option("ID", options->id, "an item such as SMX.D3, or a topic such as SMX");
  command->add_option("--root", options->root, "the folder that holds spec/");
  command->callback([=, &chosen] { chosen = [=] { return run_spec(*options); }; });
}

void add_learn(CLI::App& app, std::function<int()>& chosen) {
  auto options = std::make_shared<LearnOptions>();
  CLI::App* command = app.add_subcommand("learn", "Train a decoder block and see its loss fall");
  command->add_option_function<std::string>(
      "--steps", [=](const std::string& text) { options->steps = parse_integer("--steps", text, 1, 1000000); },
      "how many steps of Adam; default 1000");
  command->add_option_function<std::string>(
      "--seed",
      [=](const std::string& text) { options->seed = parse_integer("--seed", text, 0, std::int64_t(1) << 53); },
      "of the first parameters; default 2017");
  command->add_option("--svg", options->svg,
                      "write the curve, and the attention weights before and after, as a picture");
  command->add_option("--record", options->record,
                      "write weights, loss, logits and gradient of every step, with bounds, as safetensors");
  command->add_flag("--json", options->json, "losses, predictions and time for machines");
  command->callback([=, &chosen] { chosen = [=] { return run_learn(*options); }; });
}

void add_demo(CLI::App& app, std::function<int()>& chosen) {
  auto folder = std::make_shared<std::string>(ATTEST_CASES);
  CLI::App* command = app.add_subcommand("demo", "Judge a real answer of PyTorch that comes with the source");
  command->add_option("--cases", *folder, "where the bundled cases are");
  command->callback([=, &chosen] { chosen = [=] { return run_demo(*folder); }; });
}

int run(int argc, char** argv) {
  CLI::App app("attest: the reference implementation of attention that other implementations are held to");
  app.require_subcommand(1);
  app.set_version_flag("--version", "attest " ATTEST_VERSION);
  std::function<int()> chosen;
  add_check(app, chosen);
  add_eval(app, chosen);
  add_explain(app, chosen);
  add_certify(app, chosen);
  add_spec(app, chosen);
  add_learn(app, chosen);
  add_demo(app, chosen);
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  const auto is_first = [&](const CLI::App* command) { return command->check_name(argv[1]); };
  require(argc < 2 || argv[1][0] == '-' || std::ranges::any_of(commands, is_first), "CAS.C5",
          "{}: no command of attest; see --help", argc < 2 ? "" : argv[1]);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    complain(error.what());
    return unusable_input;
  }
  return chosen();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int status = run(argc, argv);
    if (std::fflush(stdout) == 0) return status;
    complain("cannot answer: the report could not be written to standard output");
  } catch (const attest::Refused& error) {
    complain(error.what());
    return unusable_input;
  } catch (const std::bad_alloc&) {
    complain("cannot answer: not enough memory for this case");
  } catch (const std::exception& error) {
    complain(fmt::format("cannot answer: {}", error.what()));
  }
  return cannot_answer;
}
