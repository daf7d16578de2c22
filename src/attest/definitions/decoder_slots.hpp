#pragma once
/// Chapter 12 (DEC): the learned numbers of a block, slot by slot, for whoever treats them all alike: an optimiser, or
/// a file of weights.

#include <array>

#include "attest/definitions/decoder_block.hpp"
#include "attest/definitions/trained_slot.hpp"

namespace attest {

/// DEC.D16  trained_slots(w): everything that a block learns, in the order of its record. Epsilon is not learned.
/// `Block` is a DecoderBlock, const or not.
template <class Block>
auto trained_slots(Block& w) requires requires {
  w.embed;
}
{
  using Entry = std::remove_reference_t<decltype(*w.embed.data())>;
  return std::array<TrainedSlot<Entry>, 19>{{{"embed", entries_of(w.embed)},
                                             {"norm1.gamma", entries_of(w.norm1.gamma)},
                                             {"norm1.beta", entries_of(w.norm1.beta)},
                                             {"wq.weight", entries_of(w.wq.weight)},
                                             {"wq.bias", entries_of(w.wq.bias)},
                                             {"wk.weight", entries_of(w.wk.weight)},
                                             {"wk.bias", entries_of(w.wk.bias)},
                                             {"wv.weight", entries_of(w.wv.weight)},
                                             {"wv.bias", entries_of(w.wv.bias)},
                                             {"wo.weight", entries_of(w.wo.weight)},
                                             {"wo.bias", entries_of(w.wo.bias)},
                                             {"norm2.gamma", entries_of(w.norm2.gamma)},
                                             {"norm2.beta", entries_of(w.norm2.beta)},
                                             {"ff1.weight", entries_of(w.ff1.weight)},
                                             {"ff1.bias", entries_of(w.ff1.bias)},
                                             {"ff2.weight", entries_of(w.ff2.weight)},
                                             {"ff2.bias", entries_of(w.ff2.bias)},
                                             {"unembed.weight", entries_of(w.unembed.weight)},
                                             {"unembed.bias", entries_of(w.unembed.bias)}}};
}

}  // namespace attest
