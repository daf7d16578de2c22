"""The small calls whose certificates are proved. Together they have what a call may have."""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "command"))
from archive import Archive, Tensor, tensor  # noqa: E402

KEYS, WIDTH, CHANNELS = 5, 3, 2


def normal(seed: int, dtype: str, *shape: int) -> Tensor:
    """Standard normal numbers."""
    source = random.Random(seed)
    count = 1
    for extent in shape:
        count *= extent
    return tensor(dtype, shape, [source.gauss(0, 1) for _ in range(count)])


def booleans(*rows: str) -> Tensor:
    """A mask of one row a text, in which 1 is true."""
    return tensor("BOOL", (len(rows), len(rows[0])), [bit == "1" for row in rows for bit in row])


def call(dtype: str, heads: int, key_heads: int, queries: int, **keys: str) -> Archive:
    """A call of one batch entry."""
    return Archive({"q": normal(1, dtype, 1, heads, queries, WIDTH),
                    "k": normal(2, dtype, 1, key_heads, KEYS, WIDTH),
                    "v": normal(3, dtype, 1, key_heads, KEYS, CHANNELS)},
                   {"schema": "attest-case-1", "convention": "attest", **keys})


def masked() -> Archive:
    """A mask; query 1 sees no key."""
    return call("F64", 1, 1, 3) | {"visible": booleans("10110", "00000", "11111")}


def capped() -> Archive:
    """Two heads share keys; causal, with softcap, bias and sink; one query sees the sink alone."""
    return call("F32", 2, 1, 4, causal="true", alignment="offsets", softcap="2.5",
                bias_position="before_softcap") | {
        "offsets": tensor("I64", (1,), [-1]),
        "bias": normal(4, "F32", 1, 2, 1, KEYS),
        "sink": tensor("F32", (2,), [0.25, -1.5])}


def dropped() -> Archive:
    """Dropout, 8-bit factors, slopes, a bias inside the scale, a sink left out of lse in base 2."""
    kept = tensor("BOOL", (1, 1, 2, KEYS), [1, 0, 1, 1, 1, 0, 1, 1, 0, 1])
    return call("F16", 1, 1, 2, dropout="0.25", scale="0.3", lse_base="2", sink_in_lse="false",
                bias_position="inside_scale") | {
        "kept": kept,
        "bias": normal(4, "F16", 1, 1, 2, KEYS),
        "alibi_slopes": tensor("F32", (1,), [0.125]),
        "sink": tensor("F32", (1,), [0.5]),
        "descale_q": tensor("F32", (1,), [0.75]),
        "descale_v": tensor("F32", (1,), [-1.25])}


def backwards() -> Archive:
    """The gradient of a call, of its outputs and log-sum-exps."""
    return call("F64", 1, 1, 2, softcap="4") | {
        "visible": booleans("01010", "00000"),
        "dout": normal(5, "F64", 1, 1, 2, CHANNELS),
        "dlse": normal(6, "F64", 1, 1, 2)}


CASES = {"masked": masked, "capped": capped, "dropped": dropped, "backwards": backwards}
