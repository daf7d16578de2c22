#pragma once
/// Chapter 05 (ATT): the call record. Everything that two implementations may mean differently by "attention" is a
/// field; nothing has a hidden default, and every verdict prints the record.

#include <optional>
#include <string>

#include "attest/scalar/format.hpp"

namespace attest {

/// How a tensor's axes are laid out in the caller's memory (CNV.D3). Inside attest it is always (B, H, S, channel).
enum class Layout { bhsd, bshd, bsd, thd };

/// Where the additive bias joins the score: scale * (q.k + b), before the softcap, or after it.
enum class BiasPosition { inside_scale, before_softcap, after_softcap };

/// What the offset is that places query i at p = i + offset among the keys (MSK.D12).
enum class Alignment {
  top_left,             ///< 0
  bottom_right_padded,  ///< Sk - Sq, counting the whole (padded) extents
  bottom_right_actual,  ///< k_lengths[b] - q_lengths[b]
  after_past,           ///< the number of cached keys
  offsets               ///< given for each batch entry
};

/// Whether a window of W keys to a side counts the key at the query's own position.
enum class WindowCounts { others, self_too };

enum class MaskPolarity { true_is_visible, true_is_hidden };

/// How a mask or bias of less than four axes is read: right-aligned, a rank-3 one being (H, Sq, Sk), or with the batch
/// first, a rank-3 one being (B, Sq, Sk) and a rank-2 one (B, Sk).
enum class MaskAxes { numpy, batch_first };

/// What becomes of a mask or bias whose last axis is shorter than the keys.
enum class ShortMask { refuse, hide };

/// Which key head a query head reads (MHA.D1).
enum class HeadMap { grouped, tiled };

/// -slope * |p - j|, or slope * (j - p); equal after softmax where the mask is causal (ATT.D9).
enum class AlibiForm { distance, signed_ };

enum class LseBase { e, two };
enum class EmptyRow { zero, nan };
enum class EmptyRowLse { minus_infinity, plus_infinity };

/// Whether the `weights` output holds the softmax itself or what is left of it after dropout.
enum class WeightsAre { probabilities, dropped };

/// Which stage of the score pipeline the `scores` output holds (ATT.D14).
enum class ScoreStage { scaled, capped, biased };

/// ATT.D15  The call record. Field by field as in the table of chapter 05; `nullopt` means absent, not a default.
struct Call {
  std::string convention = "attest";
  Layout layout = Layout::bhsd;
  std::optional<double> scale;  ///< nullopt: the real number 1/sqrt(width of a key)
  std::optional<double> softcap;
  BiasPosition bias_position = BiasPosition::after_softcap;
  bool causal = false;
  Alignment alignment = Alignment::top_left;
  std::optional<long> window_left;   ///< nullopt: unbounded
  std::optional<long> window_right;  ///< nullopt: unbounded
  WindowCounts window_counts = WindowCounts::others;
  MaskPolarity mask_polarity = MaskPolarity::true_is_visible;
  MaskPolarity padding_polarity = MaskPolarity::true_is_visible;  ///< of the tensor key_padding
  MaskAxes mask_axes = MaskAxes::numpy;
  ShortMask mask_short = ShortMask::refuse;
  HeadMap head_map = HeadMap::grouped;
  AlibiForm alibi_form = AlibiForm::distance;
  bool sink_in_lse = true;
  LseBase lse_base = LseBase::e;
  EmptyRow empty_row = EmptyRow::zero;
  EmptyRowLse empty_row_lse = EmptyRowLse::minus_infinity;
  std::optional<double> dropout;  ///< nullopt: no dropout, and no kept mask
  WeightsAre weights_are = WeightsAre::probabilities;
  ScoreStage scores_stage = ScoreStage::biased;
  Overflow f8_overflow = Overflow::standard;
  std::string arithmetic = "unstated";
};

}  // namespace attest
