#!/usr/bin/env python3
"""attest explain: its numbers against decimal arithmetic of 60 digits, and which rules it names."""

from __future__ import annotations

import decimal
import re
import struct
import unittest
from decimal import Decimal
from pathlib import Path

from archive import Archive, Tensor, read, tensor
from command import CAUSAL, FLOAT_MASK, MASKED, SOURCE, TEXTBOOK, CommandCase, filled, small_call

INFINITY, NAN = float("inf"), float("nan")
WIDEST = 100
ITEM = re.compile(r"\b[A-Z]{3}\.[DCPBE]\d+\b")


def values_of(one: Tensor) -> list[Decimal]:
    """The elements of a tensor, exactly."""
    if one.dtype == "BF16":
        halves = struct.unpack(f"<{len(one)}H", one.data)
        return [Decimal(struct.unpack("<f", struct.pack("<I", half << 16))[0]) for half in halves]
    code = {"F64": "d", "F32": "f", "F16": "e"}[one.dtype]
    return [Decimal(x) for x in struct.unpack(f"<{len(one)}{code}", one.data)]


def row_of(one: Tensor, *index: int) -> list[Decimal]:
    """The numbers along the last axis at an index of the others."""
    flat = 0
    for extent, place in zip(one.shape, index):
        flat = flat * extent + place
    width = one.shape[-1]
    return values_of(one)[flat * width:(flat + 1) * width]


def table_of(text: str, first: str, second: str) -> dict[str, list[str]]:
    """The rows of the table whose head begins with these two names, by their first cell."""
    lines = iter(text.splitlines())
    for line in lines:
        if re.match(rf" +{re.escape(first)}  +{re.escape(second)}( |$)", line):
            break
    next(lines)  # the ids
    rows = {}
    for line in lines:
        if not line.strip():
            break
        label, *cells = line.split()
        rows[label] = cells
    return rows


class Numbers(CommandCase):
    """Every digit that is printed is the digit of the real value."""

    def setUp(self) -> None:
        """Sets the precision of decimal arithmetic."""
        super().setUp()
        self.enterContext(decimal.localcontext(decimal.Context(prec=60)))

    def assert_digits(self, shown: str, exact: Decimal) -> None:
        """The text is the exact number rounded to as many digits as it shows."""
        mantissa = shown.lower().split("e")[0]
        digits = len(mantissa.lstrip("-").replace(".", "").lstrip("0")) or 1
        rounded = decimal.Context(prec=digits, rounding=decimal.ROUND_HALF_EVEN).plus(exact)
        self.assertEqual(Decimal(shown), rounded, f"{shown} is shown of {exact}")

    def softmax(self, scores: dict[int, Decimal]) -> tuple[dict[int, Decimal], Decimal]:
        """Exponentials of a row, shifted by its greatest score, and their sum."""
        greatest = max(scores.values())
        terms = {j: (s - greatest).exp() for j, s in scores.items()}
        return terms, sum(terms.values())

    def assert_row(self, case: Path, at: tuple[int, int, int], keys: list[int], group: int) -> str:
        """The explanation of a row without bias: products, scores, exponentials, weights, output."""
        call = read(case)
        b, h, i = at
        query = row_of(call.tensors["q"], b, h, i)
        products = {j: sum(x * y for x, y in zip(query, row_of(call.tensors["k"], b, h // group, j)))
                    for j in keys}
        scores = {j: p / Decimal(len(query)).sqrt() for j, p in products.items()}
        terms, total = self.softmax(scores)
        text = self.attest("explain", case, "--row", f"{b},{h},{i}")
        shown = table_of(text, "key", "q . k_j")
        self.assertTrue(shown)
        for label, cells in shown.items():
            if label != "...":
                self.assert_digits(cells[0], products[int(label)])
                self.assert_digits(cells[1], scores[int(label)])
        for label, cells in table_of(text, "key", "e_j").items():
            if label != "...":
                self.assert_digits(cells[0], terms[int(label)])
                self.assert_digits(cells[1], terms[int(label)] / total)
        lse = re.search(r"SMX\.D4 +lse = c \+ ln total = (\S+)", text)
        self.assert_digits(lse[1], max(scores.values()) + total.ln())
        values = {j: row_of(call.tensors["v"], b, h // group, j) for j in keys}
        for label, cells in table_of(text, "channel", "o_c").items():
            if label != "...":
                exact = sum(terms[j] * values[j][int(label)] for j in keys) / total
                self.assert_digits(cells[0], exact)
        return text

    def test_a_causal_row_of_grouped_heads(self) -> None:
        text = self.assert_row(CAUSAL, (0, 3, 5), list(range(6)), 2)
        self.assertIn("key head = floor(h / (Hq / Hk)) = floor(3 / (4 / 2)) = 1", text)
        self.assertRegex(text, r"MSK\.D1 .*j <= p = 5 +shows 6 of 32 keys: 0\.\.5")

    def test_a_long_row_is_cut_in_the_middle_and_keeps_the_heaviest_key(self) -> None:
        text = self.assert_row(CAUSAL, (0, 1, 31), list(range(32)), 2)
        shown = table_of(text, "key", "e_j")
        self.assertEqual(list(shown)[:6] + list(shown)[-4:], [*"012345", *map(str, range(28, 32))])
        self.assertIn("1", [cells[0] for cells in shown.values()], "the greatest exponential")
        left_out = sum(map(int, re.findall(r"\.\.\. +(\d+) more", text.split("\nsoftmax\n")[0])))
        self.assertEqual(left_out + len([label for label in shown if label != "..."]), 32)

    def test_a_row_without_masks(self) -> None:
        self.assertIn("no rule hides a key", self.assert_row(TEXTBOOK, (1, 2, 7), list(range(12)), 1))

    def test_a_masked_row(self) -> None:
        self.assert_row(MASKED, (1, 1, 0), [0, 1, 2, 3, 5, 6], 1)

    def test_a_row_with_every_part(self) -> None:
        call = self.call_with_every_part()
        text = self.attest("explain", self.write(call), "--row", "0,1,1")
        query = row_of(call.tensors["q"], 0, 1, 1)
        half, quarter = Decimal("0.5"), Decimal("0.25")
        given = {0: half, 1: quarter}
        logits = {}
        for j in (0, 1):
            key = row_of(call.tensors["k"], 0, 0, j)
            score = half * sum(x * y for x, y in zip(query, key))
            before = score + given[j] - quarter * abs(1 - j)
            logits[j] = 2 * self.tanh(before / 2)
            cells = table_of(text, "key", "q . k_j")[str(j)]
            self.assert_digits(cells[1], score)
            self.assert_digits(cells[2], before - score)
            self.assert_digits(cells[3], logits[j])
        terms, total = self.softmax(logits | {2: Decimal(-1)})
        rows = table_of(text, "key", "e_j")
        self.assert_digits(rows["sink"][1], terms[2] / total)
        self.assertEqual(rows["0"][2], "0")  # dropped
        self.assert_digits(rows["1"][2], terms[1] / total / Decimal("0.75"))
        lse = re.search(r"SMX\.D9 .* = (\S+), with the sink", text)
        self.assert_digits(lse[1], (max(logits.values()) + total.ln()) / Decimal(2).ln())
        value = row_of(call.tensors["v"], 0, 0, 1)
        for label, cells in table_of(text, "channel", "o_c").items():
            self.assert_digits(cells[0], terms[1] / total * value[int(label)] / Decimal("0.75"))
        for item in ("ATT.D3", "ATT.D9", "SMX.D5", "ATT.D5", "MSK.D2", "MSK.D11", "ATT.D7"):
            self.assertIn(f"  {item} ", text)

    @staticmethod
    def tanh(x: Decimal) -> Decimal:
        """The hyperbolic tangent."""
        square = (2 * x).exp()
        return (square - 1) / (square + 1)

    @staticmethod
    def call_with_every_part() -> Archive:
        """A causal window, slopes, bias, softcap, sink, dropout, base 2."""
        return small_call(softcap="2", bias_position="before_softcap", causal="true", window_left="2",
                          lse_base="2", dropout="0.25", scale="0.5") | {
            "bias": tensor("F32", (1, 2, 2, 3), [0, 0, -INFINITY, 0, 0, 0, 0, 0, 0, 0.5, 0.25, 0]),
            "alibi_slopes": tensor("F32", (1, 2), [0.5, 0.25]),
            "sink": tensor("F32", (2,), [0.5, -1.0]),
            "kept": tensor("BOOL", (1, 2, 2, 3), [1] * 9 + [0, 1, 1])}

    def test_an_exact_number_is_told_from_a_near_one(self) -> None:
        text = self.attest("explain", CAUSAL)
        self.assertIn("1/sqrt(16) = 0.25\n", text)
        for scale, shown in (("0.5", "0.5"), ("0.3", "0.30000000"), ("1e-3", "0.0010000000"), ("1e10", "1e+10")):
            text = self.attest("explain", CAUSAL, "--row", "0,0,0", "--set", f"scale={scale}")
            self.assertIn(f"scale = {shown}, given", text)
        halves = small_call(scale="0") | {"k": filled("F32", 1, 1, 2, 2), "v": filled("F32", 1, 1, 2, 2)}
        shown = table_of(self.attest("explain", self.write(halves)), "key", "e_j")
        self.assertEqual([cells[:2] for cells in shown.values()], [["1", "0.5"]] * 2)

    def test_what_cancels_has_no_sign(self) -> None:
        call = small_call() | {"k": tensor("F32", (1, 1, 2, 2), [0.5] * 4),
                               "v": tensor("F32", (1, 1, 2, 2), [1, 1, -1, 2])}
        text = self.attest("explain", self.write(call))
        self.assertRegex(text, r"(?m)^ +0 +\|x\| < \d\.\de-\d{2,}$")
        self.assertEqual(table_of(text, "channel", "o_c")["1"], ["1.5000000"])


class Rows(CommandCase):
    """Which row is explained, and the rules of rows that are out of the ordinary."""

    def assert_lines(self, text: str, *lines: str) -> None:
        """Each line stands in the text, whatever the blanks."""
        flat = " ".join(text.split())
        for line in lines:
            self.assertIn(" ".join(line.split()), flat)

    def test_the_row_farthest_off_is_the_default(self) -> None:
        for case in (CAUSAL, MASKED, FLOAT_MASK, TEXTBOOK):
            with self.subTest(case=case.name):
                worst = self.report(case)["outputs"]["out"]["worst_by_units"]
                b, h, i, c = worst["index"]
                text = self.attest("explain", case)
                self.assertTrue(text.startswith(f"row (b {b}, h {h}, i {i}): "), text[:80])
                cells = table_of(text, "channel", "o_c")[str(c)]
                self.assertEqual((cells[2:4], cells[4:]),
                                 ([str(worst["steps"]), f"{worst['units']:.3g}"], ["<-", "farthest"]))

    def test_without_an_answer_it_is_the_first(self) -> None:
        self.assertTrue(self.attest("explain", self.write(small_call())).startswith("row (b 0, h 0, i 0): the first"))

    def test_the_page_is_narrow_and_every_line_of_it_has_an_id_of_the_spec(self) -> None:
        ids = set(ITEM.findall((SOURCE / "spec/status.md").read_text(encoding="utf-8")))
        parts = self.write(Numbers.call_with_every_part(), "parts")
        for case in (CAUSAL, MASKED, FLOAT_MASK, TEXTBOOK, parts):
            text = self.attest("explain", case)
            self.assertLessEqual(max(len(line) for line in text.splitlines()[3:]), WIDEST)
            self.assertLessEqual(set(ITEM.findall(text)), ids)
            self.assertGreater(len(set(ITEM.findall(text))), 8)

    def test_a_row_that_is_none(self) -> None:
        case = self.write(small_call())
        for row in ("0,0,2", "0,0", "0,0,0,0", "0,0,", ",,", "x", "-1,0,0", "0 0 0", "1,0,0"):
            self.assert_refused("explain", case, "--row", row, line="CAS.C7: --row: ")
        empty = small_call() | {"q": Tensor("F32", (1, 2, 0, 2), b"")}
        self.assert_refused("explain", self.write(empty), line="CAS.C7: --row: ")

    def test_an_empty_row(self) -> None:
        call = small_call() | {"visible": tensor("BOOL", (2, 3), [1, 0, 1, 0, 0, 0])}
        text = self.attest("explain", self.write(call), "--row", "0,1,1")
        self.assert_lines(text, "MSK.D6 tensor visible shows no key of 3", "MSK.D14 visible: no key of 3",
                          "an empty row, whose weights are all 0",
                          "SMX.D4 lse = -inf, the logarithm of an empty sum", "0 in every channel")
        self.assertEqual(table_of(text, "channel", "o_c"), {"0": ["0"], "1": ["0"]})
        nan = self.attest("explain", self.write(call), "--row", "0,1,1", "--set", "empty_row=nan")
        self.assertEqual(table_of(nan, "channel", "o_c"), {"0": ["nan"], "1": ["nan"]})

    def test_an_empty_row_with_a_sink(self) -> None:
        call = small_call() | {"k_lengths": tensor("I32", (1,), [0]), "sink": tensor("F32", (2,), [0.5, 2.0])}
        text = self.attest("explain", self.write(call), "--row", "0,1,0")
        self.assert_lines(text, "MSK.D3 length of the keys: j < 0", "SMX.D5 a sink, 2, joins",
                          "SMX.D4 lse = c + ln total = 2, with the sink")

    def test_a_row_of_padding(self) -> None:
        call = small_call() | {"q_lengths": tensor("I32", (1,), [1])}
        self.assert_lines(self.attest("explain", self.write(call), "--row", "0,0,1"),
                          "MSK.D3 length of the queries: 1 < 1 shows no key of 3", "The row is padding")

    def explain_query(self, query: list[float], **changes: Tensor) -> str:
        """The explanation of the first row of the small call with another query."""
        call = small_call() | {"q": tensor("F32", (1, 2, 2, 2), query + [1.0] * 6)} | changes
        return self.attest("explain", self.write(call))

    def test_the_rules_of_non_finite_logits(self) -> None:
        keys = tensor("F32", (1, 1, 3, 2), [-1, 1, -1, 1, 0, 1])
        for query, line in ((INFINITY, "some visible logit is NaN, at key 2: so are"),
                            (NAN, "some visible logit is NaN, at keys 0..2: so are")):
            self.assert_lines(self.explain_query([query, 0.0], k=keys), f"ATT.D11 {line}", "ATT.D11 NaN in every channel")
        signs = tensor("F32", (1, 1, 3, 2), [-1, 1, -1, 1, 1, 1])
        text = self.explain_query([INFINITY, 0.0], k=signs)
        self.assert_lines(text, "ATT.D11 some visible logit is +infinity, at key 2", "SMX.D4 lse = inf")
        low = tensor("F32", (1, 1, 3, 2), [-1, 1, -1, 1, -1, 1])
        text = self.explain_query([INFINITY, 0.0], k=low)
        self.assert_lines(text, "ATT.D11 every visible logit is -infinity, and there is no sink", "lse = -inf")

    def test_a_key_of_minus_infinity_has_no_weight(self) -> None:
        keys = tensor("F32", (1, 1, 3, 2), [-INFINITY, 1, 1, 1, 1, 1])
        values = tensor("F32", (1, 1, 3, 2), [INFINITY, 0, 1, 1, 1, INFINITY])
        text = self.explain_query([1.0, 1.0], k=keys, v=values)
        self.assert_lines(text, "ATT.D11 some visible logit is -infinity, at key 0: the weight is exactly 0",
                          "in channel 0: an infinite value at a key whose logit is -infinity",
                          "in channel 1: values of one infinity")
        self.assertEqual(table_of(text, "key", "e_j")["0"][:2], ["0", "0"])
        self.assertEqual(table_of(text, "channel", "o_c"), {"0": ["nan"], "1": ["inf"]})

    def test_channels_of_nan_and_of_both_infinities(self) -> None:
        values = tensor("F32", (1, 1, 3, 2), [INFINITY, NAN, -INFINITY, 1, 1, 1])
        self.assert_lines(self.explain_query([1.0, 1.0], v=values), "in channel 0: values of both infinities",
                          "in channel 1: some value is NaN")

    def test_an_infinite_score_is_capped(self) -> None:
        keys = tensor("F32", (1, 1, 3, 2), [-INFINITY, 1, 1, 1, 1, 1])
        call = small_call(softcap="2") | {"k": keys, "q": tensor("F32", (1, 2, 2, 2), [1.0] * 8)}
        text = self.attest("explain", self.write(call))
        self.assert_lines(text, "ATT.D10 infinite scores, at key 0, are capped")
        self.assertEqual(table_of(text, "key", "q . k_j")["0"], ["-inf", "-inf", "-2"])

    def test_every_output_has_its_answer_beside_it(self) -> None:
        call = small_call(scores_stage="biased") | {"visible": tensor("BOOL", (2, 3), [1, 1, 0, 1, 0, 0])}
        answers = self.evaluated(self.write(call), "--stages", "--dtype", "f64")
        leak = struct.pack("<d", 0.125)
        weights = answers.tensors["weights"].with_element(2, leak)
        case = self.write(call | dict(answers.tensors) | {"weights": weights})
        text = self.attest("explain", case, "--row", "0,0,0")
        self.assertEqual(text.count("answer f64"), 4)
        self.assert_lines(text, "the answer has weight on hidden key 2, where 0 is due", "0 steps (ENC.D5)")
        for first, second in (("key", "q . k_j"), ("key", "e_j"), ("channel", "o_c")):
            for cells in table_of(text, first, second).values():
                exact, shown, steps = cells[second != "o_c":][:3]
                self.assertEqual((float(exact), steps), (float(shown), "0"))

    def test_more_bits_where_a_row_needs_them(self) -> None:
        big = 2.0 ** 100
        call = small_call() | {"q": tensor("F32", (1, 2, 2, 2), [big, -big, 0.3, 0.7] * 2),
                               "k": tensor("F32", (1, 1, 3, 2), [big, big, big, big, 1, 1])}
        text = self.attest("explain", self.write(call))
        self.assertIn("Every digit is certified", text)

    def test_set_wins_over_the_file(self) -> None:
        text = self.attest("explain", self.write(small_call()), "--set", "scale=2", "--set", "causal=true")
        self.assert_lines(text, "ATT.D12 scale = 2, given", "MSK.D1 causal: j <= p = 0 shows 1 of 3 keys: 0")

    def test_what_is_no_case_is_refused_like_elsewhere(self) -> None:
        self.assert_refused("explain", self.folder, line="CAS.C1")


if __name__ == "__main__":
    unittest.main()
