/// A test of the tests: the rare classes occur in the inputs that the properties draw.

#include <map>

#include "support/property.hpp"

namespace attest {
namespace {

TEST(generators, rare_classes_are_common) {
  constexpr int draws = 1000;
  std::map<std::string, int> count;
  const rc::Gen<Problem> gen = calls();
  for (int n = 0; n < draws; ++n) {
    const Problem problem = gen(rc::Random(static_cast<std::uint64_t>(n)), 50).value();
    for (const std::string& name : classes_of(problem)) ++count[name];
  }
  for (const char* name :
       {"empty row", "one visible key", "tie", "huge score", "tiny score", "mixed signs", "more queries than keys",
        "more keys than queries", "grouped heads", "key and value heads differ", "odd width", "sink", "bias", "softcap",
        "dropout", "alibi", "descale"}) {
    EXPECT_GE(count[name], draws / 20) << name;
  }
  for (const char* name : {"no keys", "no queries", "no batch", "empty row with a sink", "heads 6:2", "heads 5:1"}) {
    EXPECT_GE(count[name], draws / 200) << name;
  }
}

}  // namespace
}  // namespace attest
