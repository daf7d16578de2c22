#include "attest/definitions/problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attest {

Extents extents(const Inputs& in) {
  return {.batch = in.q.shape(0),
          .q_heads = in.q.shape(1),
          .k_heads = in.k.shape(1),
          .v_heads = in.v.shape(1),
          .queries = in.q.shape(2),
          .keys = in.k.shape(2),
          .width = in.q.shape(3),
          .value_width = in.v.shape(3)};
}

namespace {

void check_heads(std::size_t q_heads, std::size_t heads, std::string_view name) {
  require(heads > 0 ? q_heads % heads == 0 : q_heads == 0, "ATT.C3",
          "{}: the number of heads divides the number of query heads, got {} and {}", name, heads, q_heads);
}

void check_extents(const Inputs& in) {
  for (const auto* tensor : {&in.q, &in.k, &in.v}) {
    require(tensor->dimension() == 4, "ATT.C1", "q, k and v have four axes, got {}", tensor->dimension());
  }
  const Extents n = extents(in);
  require(n.width == in.k.shape(3), "ATT.C1", "query and key widths agree, got {} and {}", n.width, in.k.shape(3));
  require(n.width > 0, "ATT.C1", "the width of a query is at least 1, got 0");
  require(n.keys == in.v.shape(2), "ATT.C2", "keys and values need equal length, got {} and {}", n.keys, in.v.shape(2));
  require(n.batch == in.k.shape(0) && n.batch == in.v.shape(0), "ATT.C9",
          "q, k and v have the same batch size, got {}, {} and {}", n.batch, in.k.shape(0), in.v.shape(0));
  check_heads(n.q_heads, n.k_heads, "k");
  check_heads(n.q_heads, n.v_heads, "v");
}

void check_lengths(const std::optional<Vector<std::int64_t>>& lengths, std::size_t batch, std::size_t extent,
                   std::string_view name) {
  if (!lengths) return;
  require(lengths->size() == batch, "MSK.C3", "{}: one entry for each of the {} batch entries, got {}", name, batch,
          lengths->size());
  for (const std::int64_t length : *lengths) {
    require(length >= 0 && length <= static_cast<std::int64_t>(extent), "MSK.C3", "{}: lengths lie in 0..{}, got {}",
            name, extent, length);
  }
}

void check_documents(const Inputs& in) {
  const Extents n = extents(in);
  require(in.document_q.has_value() == in.document_k.has_value(), "MSK.C5", "document_q and document_k come together");
  if (in.document_q) {
    require(in.document_q->shape(0) == n.batch && in.document_q->shape(1) == n.queries, "MSK.C5",
            "document_q: shape ({}, {}), got ({}, {})", n.batch, n.queries, in.document_q->shape(0),
            in.document_q->shape(1));
    require(in.document_k->shape(0) == n.batch && in.document_k->shape(1) == n.keys, "MSK.C5",
            "document_k: shape ({}, {}), got ({}, {})", n.batch, n.keys, in.document_k->shape(0),
            in.document_k->shape(1));
  }
}

void check_padding(const Inputs& in) {
  if (!in.key_padding) return;
  const Extents n = extents(in);
  require(in.key_padding->shape(0) == n.batch && in.key_padding->shape(1) == n.keys, "MSK.C6",
          "key_padding: shape ({}, {}), got ({}, {})", n.batch, n.keys, in.key_padding->shape(0),
          in.key_padding->shape(1));
}

void check_masks(const Problem& problem) {
  const Inputs& in = problem.inputs;
  const Extents n = extents(in);
  const Shape rows{n.batch, n.q_heads, n.queries, n.keys};
  check_lengths(in.q_lengths, n.batch, n.queries, "q_lengths");
  check_lengths(in.k_lengths, n.batch, n.keys, "k_lengths");
  check_lengths(in.prefix_lengths, n.batch, n.keys, "prefix_lengths");
  require(in.past <= n.keys, "MSK.C3", "past: lengths lie in 0..{}, got {}", n.keys, in.past);
  require(problem.call.alignment != Alignment::offsets || (in.offsets && in.offsets->size() == n.batch), "MSK.C4",
          "offsets: alignment \"offsets\" needs one offset for each of the {} batch entries", n.batch);
  if (in.visible) require_broadcasts(*in.visible, rows, "visible");
  if (in.bias) {
    require_broadcasts(*in.bias, rows, "bias");
    for (const double b : *in.bias) {
      require(b < std::numeric_limits<double>::infinity(), "ATT.C4", "bias: neither NaN nor +infinity, got {}", b);
    }
  }
}

void check_factors(const std::optional<Matrix<double>>& factors, std::size_t batch, std::size_t heads,
                   std::string_view name) {
  if (!factors) return;
  const std::size_t groups = factors->shape(1);
  require((factors->shape(0) == 1 || factors->shape(0) == batch) && groups > 0 && heads % groups == 0, "ATT.C11",
          "{}: shape (1 or {}, a divisor of {}), got ({}, {})", name, batch, heads, factors->shape(0), groups);
  for (const double f : *factors) require(std::isfinite(f), "ATT.C11", "{}: finite factors, got {}", name, f);
}

void check_numbers(const Call& call) {
  require(!call.scale || std::isfinite(*call.scale), "ATT.C8", "scale: a finite number, got {}",
          call.scale.value_or(0));
  require(!call.softcap || (std::isfinite(*call.softcap) && *call.softcap > 0), "ATT.C5",
          "softcap: a positive finite number, got {}", call.softcap.value_or(0));
  require(!call.dropout || (*call.dropout >= 0 && *call.dropout <= 1), "ATT.C6",
          "dropout: a probability in [0, 1], got {}", call.dropout.value_or(0));
}

void check_dropout(const Problem& problem) {
  const std::optional<Tensor<bool>>& kept = problem.inputs.kept;
  require(problem.call.dropout.has_value() == kept.has_value(), "ATT.C10",
          "kept: present exactly when the call has dropout (a layer: in training, with a probability)");
  if (!kept) return;
  const Extents n = extents(problem.inputs);
  const Shape due{n.batch, n.q_heads, n.queries, n.keys};
  const Shape got(kept->shape().begin(), kept->shape().end());
  require(got == due, "ATT.C10", "kept: shape {}, got {}", to_string(due), to_string(got));
}

void check_sink(const Inputs& in) {
  if (!in.sink) return;
  const std::size_t heads = extents(in).q_heads;
  require(in.sink->size() == heads, "ATT.C7", "sink: one for each of the {} query heads, got {}", heads,
          in.sink->size());
  for (const double a : *in.sink) {
    require(a < std::numeric_limits<double>::infinity(), "ATT.C7", "sink: neither NaN nor +infinity, got {}", a);
  }
}

void check_all_factors(const Inputs& in) {
  const Extents n = extents(in);
  check_factors(in.alibi_slopes, n.batch, n.q_heads, "alibi_slopes");
  require(!in.alibi_slopes || in.alibi_slopes->shape(1) == n.q_heads, "ATT.C11",
          "alibi_slopes: one for each of the {} query heads", n.q_heads);
  check_factors(in.descale_q, n.batch, n.q_heads, "descale_q");
  check_factors(in.descale_k, n.batch, n.k_heads, "descale_k");
  check_factors(in.descale_v, n.batch, n.v_heads, "descale_v");
}

}  // namespace

void check(const Problem& problem) {
  check_extents(problem.inputs);
  check_masks(problem);
  check_padding(problem.inputs);
  check_documents(problem.inputs);
  check_numbers(problem.call);
  check_dropout(problem);
  check_sink(problem.inputs);
  check_all_factors(problem.inputs);
}

}  // namespace attest
