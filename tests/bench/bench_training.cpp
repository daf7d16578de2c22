/// What learning costs: a step of the decoder block of chapter 12, and what its parts take of it.

#include <benchmark/benchmark.h>

#include "attest/training/train.hpp"

namespace attest {

namespace {

/// The training of `attest learn`: 1000 steps are to take less than 0.5 s on one core.
void a_thousand_steps(benchmark::State& state) {
  const Training<double> start = start_training<double>(initial_block<double>(2017));
  for (auto _ : state) benchmark::DoNotOptimize(train(start, repeating_sequence(), learning_options(), 1000));
}
BENCHMARK(a_thousand_steps)->Unit(benchmark::kMillisecond);

void forwards(benchmark::State& state) {
  const DecoderBlock<double> w = initial_block<double>(2017);
  for (auto _ : state) benchmark::DoNotOptimize(decoder_block(w, repeating_sequence().tokens));
}
BENCHMARK(forwards)->Unit(benchmark::kMicrosecond);

void forwards_and_backwards(benchmark::State& state) {
  const DecoderBlock<double> w = initial_block<double>(2017);
  for (auto _ : state) benchmark::DoNotOptimize(loss_gradient(w, repeating_sequence()));
}
BENCHMARK(forwards_and_backwards)->Unit(benchmark::kMicrosecond);

void a_step_of_adam(benchmark::State& state) {
  const DecoderBlock<double> w = initial_block<double>(2017);
  const auto start = adam_start<double>(w);
  const DecoderBlock<double> g = loss_gradient(w, repeating_sequence()).gradient;
  for (auto _ : state) benchmark::DoNotOptimize(adam_step<double>(w, g, start, learning_options()));
}
BENCHMARK(a_step_of_adam)->Unit(benchmark::kMicrosecond);

}  // namespace

}  // namespace attest
