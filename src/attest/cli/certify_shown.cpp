#include "attest/cli/certify_shown.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "attest/tensor/tensor.hpp"

namespace attest {

namespace {

/// One multiplication and addition of enclosures, of the kind that certifying consists of.
double seconds_per_product() {
  constexpr std::size_t n = 4096;
  return with_precision(Ladder{}.first, [] {
    const Vector<Enclosure> v = tabulate(n, [](std::size_t c) { return Enclosure(1.0 / static_cast<double>(c + 3)); });
    const auto start = std::chrono::steady_clock::now();
    const volatile double sum = static_cast<double>(median(dot(row_of(v), row_of(v))));
    static_cast<void>(sum);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / n;
  });
}

}  // namespace

void announce(double products) {
  if (isatty(STDERR_FILENO) == 0) return;
  const double seconds = products * seconds_per_product() / std::max(1u, std::thread::hardware_concurrency());
  if (seconds > 2) fmt::print(stderr, "certifying will take about {:.0f} s\n", seconds);
}

}  // namespace attest
