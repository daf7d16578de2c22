#!/usr/bin/env python3
"""One call, written in each layout."""

from __future__ import annotations

import unittest

from archive import Archive, Tensor, read, tensor
from command import CAUSAL, FLOAT_MASK, MASKED, TEXTBOOK, CommandCase, filled, small_call


class Layouts(CommandCase):
    """One call, written in each layout, gets one report."""

    def assert_one_report(self, cases: dict[str, Archive], status: int = 0) -> None:
        """All cases have the same outputs in their reports."""
        reports = {layout: self.report(self.write(case | {"layout": layout}), status=status)
                   for layout, case in cases.items()}
        for layout, report in reports.items():
            with self.subTest(layout=layout):
                self.assertEqual(report["outputs"], reports["BHSD"]["outputs"])

    def test_every_bundled_case(self) -> None:
        for case in (CAUSAL, MASKED, FLOAT_MASK, TEXTBOOK):
            with self.subTest(case=case.name):
                self.assert_one_report(in_every_layout(read(case)))

    def test_packed_sequences_are_padded_ones_with_lengths(self) -> None:
        heads_first = small_call(causal="true", alignment="bottom_right_actual") | {
            "q": filled("F32", 2, 1, 3, 2), "k": filled("F32", 2, 1, 4, 2),
            "v": filled("F32", 2, 1, 4, 1), "out": filled("F32", 2, 1, 3, 1),
            "lse": filled("F32", 2, 1, 3)}
        q_starts, k_starts = (0, 3, 4), (0, 2, 6)
        packed = {name: packed_tokens(heads_first.tensors[name], starts) for name, starts in
                  {"q": q_starts, "k": k_starts, "v": k_starts, "out": q_starts}.items()}
        lse = heads_first.tensors["lse"].reshaped(2, 1, 3, 1)
        self.assert_one_report({
            "BHSD": heads_first | {"q_lengths": tensor("I32", (2,), [3, 1]),
                                   "k_lengths": tensor("I64", (2,), [2, 4])},
            "THD": heads_first | packed | {"lse": packed_tokens(lse, q_starts).reshaped(1, 4),
                                           "cu_seqlens_q": tensor("I32", (3,), [*q_starts]),
                                           "cu_seqlens_k": tensor("I64", (3,), [*k_starts])}},
            status=1)  # the first query stands before the first key, and the answer there is not 0


def packed_tokens(padded: Tensor, starts: tuple[int, ...]) -> Tensor:
    """A tensor (B, H, S, D) as (T, H, D)."""
    batch, heads, sequence, width = padded.shape
    rows = padded.transposed(0, 2, 1, 3)
    row = heads * width * padded.width
    data = b"".join(rows.data[b * sequence * row:][:(starts[b + 1] - starts[b]) * row]
                    for b in range(batch))
    return Tensor(padded.dtype, (starts[-1], heads, width), data)


def in_every_layout(case: Archive) -> dict[str, Archive]:
    """A case of layout BHSD, in each layout."""
    bshd, bsd, thd = {}, {}, {}
    for name in ("q", "k", "v", "out"):
        bshd[name] = case.tensors[name].transposed(0, 2, 1, 3)
        batch, sequence, heads, width = bshd[name].shape
        bsd[name] = bshd[name].reshaped(batch, sequence, heads * width)
        thd[name] = bshd[name].reshaped(batch * sequence, heads, width)
        if name in ("q", "k"):
            starts = [b * sequence for b in range(batch + 1)]
            thd[f"cu_seqlens_{name}"] = tensor("I32", (batch + 1,), starts)
        if name != "out":
            bsd[f"{name}_heads"] = str(heads)
    return {"BHSD": case, "BSHD": case | bshd, "BSD": case | bsd, "THD": case | thd}


if __name__ == "__main__":
    unittest.main()
