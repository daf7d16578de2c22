/// What attention costs: the definition beside a BLAS, certified values for each pair of query and key, the streamed
/// form beside the row, and rounding.

#include <benchmark/benchmark.h>

#include <chrono>
#include <random>

#include "attest/certify/certify.hpp"
#include "attest/certify/certify_gradient.hpp"
#include "attest/online/online_softmax.hpp"
#include "attest/tensor/blas.hpp"

extern "C" void openblas_set_num_threads(int threads);  // xtensor-blas has declarations of CBLAS of its own

namespace attest {

namespace {

Matrix<double> normal(std::size_t rows, std::size_t columns) {
  static std::mt19937_64 source(2017);
  return tabulate(rows, columns, [](std::size_t, std::size_t) { return std::normal_distribution<double>()(source); });
}

Tensor<double> one_head(const Matrix<double>& matrix) {
  Tensor<double> head = matrix;
  head.reshape(Shape{1, 1, matrix.shape(0), matrix.shape(1)});
  return head;
}

Problem call_of(const Matrix<double>& q, const Matrix<double>& k, const Matrix<double>& v) {
  Problem problem;
  problem.inputs.q = one_head(q);
  problem.inputs.k = one_head(k);
  problem.inputs.v = one_head(v);
  return problem;
}

Problem call_of(std::size_t queries, std::size_t keys, std::size_t width) {
  return call_of(normal(queries, width), normal(keys, width), normal(keys, width));
}

template <class F>
double seconds(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  benchmark::DoNotOptimize(f());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Runs both in turn, so that a busy machine slows both, and reports how many times longer the first takes.
template <class F, class G>
void side_by_side(benchmark::State& state, F&& first, G&& second) {
  double total = 0, other = 0;
  for (auto _ : state) {
    const double spent = seconds(first);
    total += spent;
    other += seconds(second);
    state.SetIterationTime(spent);
  }
  state.counters["ratio"] = total / other;
}

/// softmax(Q K^T / sqrt(d)) V with both products by a BLAS.
Matrix<double> blas_attention(const Matrix<double>& q, const Matrix<double>& k, const Matrix<double>& v) {
  Matrix<double> weights = blas_matmul<double>(q, xt::transpose(k)) / std::sqrt(static_cast<double>(q.shape(1)));
  for (std::size_t i = 0; i < q.shape(0); ++i) {
    xt::row(weights, static_cast<std::ptrdiff_t>(i)) = softmax(row_of(weights, i));
  }
  return blas_matmul(weights, v);
}

/// The definition in double against a BLAS on one thread: what one text for all arithmetics costs where it is not
/// needed.
void definition_over_blas(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const Matrix<double> q = normal(n, 64), k = normal(n, 64), v = normal(n, 64);
  const Problem problem = call_of(q, k, v);
  openblas_set_num_threads(1);
  side_by_side(
      state, [&] { return attention<double>(problem); }, [&] { return blas_attention(q, k, v); });
}
BENCHMARK(definition_over_blas)->Arg(32)->Arg(128)->Arg(512)->UseManualTime()->Unit(benchmark::kMillisecond);

/// Certified outputs at 128 bits, in processor time for each pair of query and key. Arguments: queries, keys, width.
void certified_pair(benchmark::State& state) {
  const auto queries = static_cast<std::size_t>(state.range(0));
  const auto keys = static_cast<std::size_t>(state.range(1));
  const Problem problem = call_of(queries, keys, static_cast<std::size_t>(state.range(2)));
  for (auto _ : state) benchmark::DoNotOptimize(certify(problem, {{"out", Format::f32}}, {.first = 128, .cap = 128}));
  using benchmark::Counter;
  state.counters["pair"] =
      Counter(static_cast<double>(queries * keys), Counter::kIsIterationInvariantRate | Counter::kInvert);
}
BENCHMARK(certified_pair)
    ->Args({16, 16, 16})
    ->Args({16, 16, 64})
    ->Args({16, 256, 64})
    ->Args({64, 64, 64})
    ->Args({64, 64, 128})
    ->Args({1, 4096, 64})
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

/// Certified gradients dq, dk and dv, in processor time for each pair of query and key; certified_pair has the cost of
/// the output alone. Arguments: queries, keys, width.
void certified_gradient_pair(benchmark::State& state) {
  const auto queries = static_cast<std::size_t>(state.range(0));
  const auto keys = static_cast<std::size_t>(state.range(1));
  const auto width = static_cast<std::size_t>(state.range(2));
  const Problem problem = call_of(queries, keys, width);
  const Cotangents cotangents{one_head(normal(queries, width)), std::nullopt};
  const std::map<std::string, Format> wanted{{"dq", Format::f32}, {"dk", Format::f32}, {"dv", Format::f32}};
  for (auto _ : state) benchmark::DoNotOptimize(certify_gradients(problem, cotangents, wanted));
  using benchmark::Counter;
  state.counters["pair"] =
      Counter(static_cast<double>(queries * keys), Counter::kIsIterationInvariantRate | Counter::kInvert);
}
BENCHMARK(certified_gradient_pair)
    ->Args({16, 16, 16})
    ->Args({16, 16, 64})
    ->Args({64, 64, 64})
    ->Args({64, 64, 128})
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

/// One query against n keys: the streamed form in blocks of 64 against the row at once.
template <class T>
void online_over_row(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const Head<T> head = head_of<T>(call_of(1, n, 64), 0, 0, {0});
  const std::vector<std::size_t> blocks(n / 64, 64);
  const auto streamed = [&] {
    const Vector<T> logits = tabulate(n, [&](std::size_t j) -> T { return scaled_score(head, 0, j); });
    return finish(stream(row_of(logits), head.values, blocks));
  };
  side_by_side(state, streamed, [&] { return attend_row(head, 0); });
}
BENCHMARK(online_over_row<double>)->Arg(512)->Arg(4096)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(online_over_row<Enclosure>)->Arg(512)->UseManualTime()->Unit(benchmark::kMicrosecond);

/// Both ends of an enclosure of `range` bits, rounded to a format.
void rounding(benchmark::State& state, Format format) {
  with_precision(static_cast<int>(state.range(0)), [&] {
    const Enclosure third = Enclosure(1) / Enclosure(3);
    for (auto _ : state) benchmark::DoNotOptimize(round_enclosure(format, third, Overflow::standard));
  });
}
BENCHMARK_CAPTURE(rounding, f64, Format::f64)->Arg(128)->Arg(4096);
BENCHMARK_CAPTURE(rounding, f32, Format::f32)->Arg(128)->Arg(4096);
BENCHMARK_CAPTURE(rounding, bf16, Format::bf16)->Arg(128)->Arg(4096);
BENCHMARK_CAPTURE(rounding, f8e4m3, Format::f8e4m3)->Arg(128)->Arg(4096);

/// A value already in double, rounded and encoded: what writing a tensor costs.
void encoding(benchmark::State& state, Format format) {
  double x = 0.1;
  for (auto _ : state) benchmark::DoNotOptimize(encode(format, round_to(format, x)));
}
BENCHMARK_CAPTURE(encoding, f32, Format::f32);
BENCHMARK_CAPTURE(encoding, bf16, Format::bf16);

}  // namespace

}  // namespace attest
