#include "attest/certify/parallel.hpp"

#include <mpfr.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace attest {

void for_each_task(std::size_t n, const std::function<void(std::size_t)>& task) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failing;
  const auto work = [&] {
    for (std::size_t i = next++; i < n; i = next++) {
      try {
        task(i);
      } catch (...) {
        const std::lock_guard lock(failing);
        if (!failure) failure = std::current_exception();
        next = n;
      }
    }
    mpfr_free_cache();  // MPFR keeps constants for each thread
  };
  {
    std::vector<std::jthread> workers;
    const std::size_t count = std::min<std::size_t>(n, std::max(1u, std::thread::hardware_concurrency()));
    for (std::size_t t = 0; t < count; ++t) workers.emplace_back(work);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace attest
