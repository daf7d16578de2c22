#include <fmt/format.h>

#include <filesystem>

#include "attest/cli/commands.hpp"
#include "attest/scalar/error.hpp"

namespace attest {

int run_demo(const std::string& folder) {
  const std::filesystem::path path = std::filesystem::path(folder) / "pytorch-sdpa-causal-bf16.safetensors";
  require(std::filesystem::exists(path), "CAS.C16", "--cases: no bundled cases in \"{}\"", folder);
  fmt::print(
      "PyTorch's scaled_dot_product_attention, bf16, causal, 4 query heads over 2 key heads, on a CPU.\n"
      "$ attest check {}\n\n",
      path.string());
  CheckOptions options;
  options.case_path = path.string();
  const int status = run_check(options);
  fmt::print(
      "\nHow to read it: an element is correctly rounded when it is the bf16 number nearest the exact value, which "
      "attest\n"
      "knows with proof. Steps count bf16 numbers in between; they grow without meaning where values cancel. The unit\n"
      "u sum w|v| does not: it is what one rounding error in each weight amounts to.\n"
      "attest check --max-ulp 0 demands that every element is correctly rounded; this answer would not be accepted.\n");
  return status;
}

}  // namespace attest
