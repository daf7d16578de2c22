#pragma once
/// Independent tasks on every core.

#include <cstddef>
#include <functional>

namespace attest {

/// Runs task(0) ... task(n-1), in no order. The first exception ends the run and is thrown again here.
void for_each_task(std::size_t n, const std::function<void(std::size_t)>& task);

}  // namespace attest
