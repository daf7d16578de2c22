#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "attest/cli/commands.hpp"
#include "attest/cli/learn_picture.hpp"
#include "attest/cli/learn_record.hpp"
#include "attest/files/safetensors.hpp"
#include "attest/files/whole_file.hpp"
#include "attest/training/train.hpp"

namespace attest {

namespace {

namespace fs = std::filesystem;

constexpr BlockExtents extents_of_block{};
constexpr std::size_t steps_shown_at_once = 20;
constexpr std::size_t most_recorded_steps = 1000;

/// The weights that the block gives the keys of each place; 0 where a key is hidden.
Matrix<double> attention_weights(const DecoderBlock<double>& block, const Example<>& example) {
  const BlockStages<double> s = decoder_block(block, example.tokens);
  const Head<double> head = causal_head<double>(s.q, s.k, s.v);
  Matrix<double> weights = xt::zeros<double>({head.queries.shape(0), head.keys.shape(0)});
  for (std::size_t i = 0; i < weights.shape(0); ++i) {
    const AttendedRow<double> row = attend_row(head, i);
    for (std::size_t n = 0; n < row.keys.size(); ++n) weights(i, row.keys[n]) = row.weights(n);
  }
  return weights;
}

/// What became of a training.
struct Outcome {
  std::vector<double> losses;  ///< before each step, and at the end
  std::vector<std::size_t> predicted;
  std::size_t correct;
  double seconds;
  DecoderBlock<double> block;
};

/// Trains in pieces, so that the curve can be shown in between. The pieces make the same run as the whole (TRN.P5).
Outcome learn(const DecoderBlock<double>& start, const Example<>& example, std::size_t steps, bool shown) {
  const auto begin = std::chrono::steady_clock::now();
  Training<double> training = start_training<double>(start);
  std::vector<double> losses;
  const std::size_t piece = shown ? steps_shown_at_once : steps;
  for (std::size_t left = steps; left > 0; left -= std::min(left, piece)) {
    Trained<double> run = train(training, example, learning_options(), std::min(left, piece));
    training = std::move(run.training);
    losses.insert(losses.end(), run.losses.begin(), run.losses.end());
    if (!shown) continue;
    const std::string picture = curve_of_characters(losses, steps);
    fmt::print("{}\033[{}A", picture, std::ranges::count(picture, '\n'));
    std::fflush(stdout);
  }
  losses.push_back(loss_of(training.block, example));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (shown) fmt::print("{}", curve_of_characters(losses, steps));
  std::vector<std::size_t> predicted = predictions(decoder_block(training.block, example.tokens).logits);
  const std::size_t correct = std::inner_product(predicted.begin(), predicted.end(), example.targets.begin(),
                                                 std::size_t(0), std::plus<>(), std::equal_to<>());
  return {std::move(losses), std::move(predicted), correct, seconds, std::move(training.block)};
}

std::string json_of(const Outcome& outcome) {
  return fmt::format(
      "{{\n  \"initial_loss\": {},\n  \"final_loss\": {},\n  \"steps\": {},\n  \"correct\": {},\n  \"predictions\": "
      "[{}],\n"
      "  \"seconds\": {:.6f}\n}}\n",
      outcome.losses.front(), outcome.losses.back(), outcome.losses.size() - 1, outcome.correct,
      fmt::join(outcome.predicted, ", "), outcome.seconds);
}

std::string text_of(const Outcome& outcome, const Example<>& example) {
  return fmt::format(
      "block     {} tokens, {} channels, {} hidden channels, {} tokens to tell apart\n"
      "tokens    {}\n"
      "predicted {}\n"
      "correct   {} of {}\n"
      "loss      {:.4f} before, {:.4f} after {} steps of Adam (guessing: ln {} = {:.4f})\n"
      "time      {:.3f} s\n",
      extents_of_block.S, extents_of_block.E, extents_of_block.H, extents_of_block.V, fmt::join(example.tokens, " "),
      fmt::join(outcome.predicted, " "), outcome.correct, example.targets.size(), outcome.losses.front(),
      outcome.losses.back(), outcome.losses.size() - 1, extents_of_block.V,
      std::log(static_cast<double>(extents_of_block.V)), outcome.seconds);
}

}  // namespace

int run_learn(const LearnOptions& options) {
  if (!options.svg.empty()) require_writable(options.svg, "");
  if (!options.record.empty()) {
    require(options.steps <= most_recorded_steps, "CAS.C7", "--steps: an integer in 1..{} with --record, got \"{}\"",
            most_recorded_steps, options.steps);
    require_writable(options.record, "");
    const auto place = [](const std::string& path) { return fs::weakly_canonical(fs::absolute(path)); };
    require(options.svg.empty() || place(options.record) != place(options.svg), "CAS.C15",
            "{}: another file than the picture", options.record);
  }
  const Example<> example = repeating_sequence();
  const DecoderBlock<double> start = initial_block<double>(options.seed);
  const Outcome outcome = learn(start, example, options.steps, !options.json && isatty(STDOUT_FILENO) == 1);
  if (!options.svg.empty()) {
    const std::string svg =
        learning_svg(outcome.losses, attention_weights(start, example), attention_weights(outcome.block, example));
    write_whole(options.svg, std::as_bytes(std::span(svg)));
  }
  if (!options.record.empty()) {
    write_whole(options.record, format_safetensors(learning_record(start, example, options.steps)));
  }
  fmt::print("{}", options.json ? json_of(outcome) : text_of(outcome, example));
  return 0;
}

}  // namespace attest
