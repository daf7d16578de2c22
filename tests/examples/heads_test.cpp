/// Chapter 06: the examples.

#include "attest/definitions/heads.hpp"

#include "support/spec_tests.hpp"

namespace attest {
namespace {

std::vector<std::size_t> key_heads(HeadMap map) {
  std::vector<std::size_t> heads;
  for (std::size_t h = 0; h < 6; ++h) heads.push_back(key_head(h, 6, 2, map));
  return heads;
}

EXAMPLE(MHA_E1, six_query_heads_over_two_key_heads) {
  EXPECT_EQ(key_heads(HeadMap::grouped), (std::vector<std::size_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(key_heads(HeadMap::tiled), (std::vector<std::size_t>{0, 1, 0, 1, 0, 1}));
}

}  // namespace
}  // namespace attest
