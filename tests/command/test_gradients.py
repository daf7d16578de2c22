#!/usr/bin/env python3
"""Gradients: eval writes them, check judges them, and a case without dout has none."""

from __future__ import annotations

import math
import random
import unittest

from archive import DTYPES, Archive, read, tensor
from command import CommandCase, RefusalCase, filled, sample, small_call
from test_eval import rich_call

NAMES = ("dk", "dq", "dv")


def with_dout(call: Archive) -> Archive:
    """The call with a gradient of its output."""
    return call | {"dout": filled("F32", 1, 2, 2, 2, first=0.5)}


def one_key() -> Archive:
    """Two queries: one sees the first of two keys, the other none. Worked by hand."""
    return small_call(scale="1") | {
        "q": tensor("F32", (1, 1, 2, 1), [1, math.nan]),
        "k": tensor("F32", (1, 1, 2, 1), [2, math.nan]),
        "v": tensor("F32", (1, 1, 2, 1), [3, math.inf]),
        "visible": tensor("BOOL", (2, 2), [True, False, False, False]),
        "dout": tensor("F32", (1, 1, 2, 1), [5, math.nan])}


class Gradients(CommandCase):
    """What eval --gradients writes and check says of it."""

    def test_what_eval_writes_check_accepts_in_every_dtype(self) -> None:
        case = with_dout(rich_call()) | {"dlse": filled("F64", 1, 2, 2)}
        call = self.write(case)
        for dtype in DTYPES:
            with self.subTest(dtype=dtype):
                answers = self.evaluated(call, "--dtype", dtype, "--gradients")
                self.assertEqual(sorted(answers.tensors),
                                 ["dbias", "dk", "dq", "dsink", "dv", "lse", "out"])
                self.assertEqual(answers.tensors["dbias"].shape, (1, 2, 1, 3))
                self.assertEqual(answers.tensors["dsink"].shape, (2,))
                for name in "qkv":
                    self.assertEqual(answers.tensors[f"d{name}"].shape, case.tensors[name].shape)
                self.attest("check", call, "--result", "evaluated.safetensors", "--max-ulp", "0")

    def test_the_last_bit_of_any_element_counts(self) -> None:
        call = self.write(with_dout(rich_call()))
        answers = self.evaluated(call, "--gradients")
        for name in ("dq", "dk", "dv", "dbias", "dsink"):
            for n in sample(range(len(answers.tensors[name]))):
                with self.subTest(name=name, element=n):
                    result = self.write(Archive({name: answers.tensors[name].flipped(n)}), "flipped")
                    self.attest("check", call, "--result", result, "--max-ulp", "0", status=1)

    def test_a_row_of_one_key_by_hand(self) -> None:
        """The weight is 1 whatever the score: dv = dout there, and nothing else has a gradient."""
        answers = self.evaluated(self.write(one_key()), "--gradients").tensors
        self.assertEqual({name: answers[name].values() for name in NAMES},
                         {"dq": [0, 0], "dk": [0, 0], "dv": [5, 0]})

    def test_two_keys_by_hand(self) -> None:
        """Two equal scores, values 1 and 5, dout 2: dP = 2, 10; D = 6; dS = -2, 2."""
        case = small_call(scale="1") | {
            "q": tensor("F32", (1, 1, 1, 1), [3]), "k": tensor("F32", (1, 1, 2, 1), [7, 7]),
            "v": tensor("F32", (1, 1, 2, 1), [1, 5]), "bias": tensor("F32", (1, 2), [0, 0]),
            "dout": tensor("F32", (1, 1, 1, 1), [2]), "dlse": tensor("F32", (1, 1, 1), [8])}
        answers = self.evaluated(self.write(case), "--gradients").tensors
        self.assertEqual(answers["dbias"].values(), [-2 + 4, 2 + 4])
        self.assertEqual(answers["dq"].values(), [7 * 2 + 7 * 6])
        self.assertEqual(answers["dk"].values(), [3 * 2, 3 * 6])
        self.assertEqual(answers["dv"].values(), [1, 1])

    def test_a_gradient_where_nothing_leads_is_a_leak(self) -> None:
        call = one_key()
        case = self.write(call)
        for name, n in (("dq", 1), ("dk", 1), ("dv", 1)):
            for wrong in (1e-30, math.nan):
                values = [0.0, 0.0]
                values[n] = wrong
                if name == "dv":
                    values[0] = 5
                result = self.write(Archive({name: tensor("F32", (1, 1, 2, 1), values)}), "wrong")
                with self.subTest(name=name, wrong=wrong):
                    report = self.report(case, "--result", result, status=1)
                    self.assertEqual(report["outputs"][name]["leaks"], 1)
                    self.assertIn("no visible pair", " ".join(report["reasons"]))

    def test_packed_sequences(self) -> None:
        starts = {f"cu_seqlens_{name}": tensor("I32", (3,), [0, 1, 3]) for name in ("q", "k")}
        packed = small_call(layout="THD") | starts | {
            name: filled("F32", 3, 1, 2) for name in ("q", "k", "v", "dout")}
        call = self.write(packed)
        answers = self.evaluated(call, "--gradients").tensors
        self.assertEqual({answers[name].shape for name in NAMES}, {(3, 1, 2)})
        self.attest("check", call, "--result", "evaluated.safetensors", "--max-ulp", "0")
        report = self.report(call, "--result", "evaluated.safetensors")
        self.assertEqual({report["outputs"][name]["padding"] for name in NAMES}, {2})

    def test_two_heads_of_64_tokens_are_decided(self) -> None:
        """Normal numbers, and queries so large that scores are about 100."""
        source = random.Random(2017)
        for factor in (1.0, 100.0):
            draw = {name: tensor("F32", (1, 2, 64, 32), [source.gauss(0, 1) for _ in range(4096)])
                    for name in ("k", "v", "dout")}
            query = [factor * source.gauss(0, 1) for _ in range(4096)]
            call = self.write(small_call() | draw | {"q": tensor("F32", (1, 2, 64, 32), query)})
            printed = self.attest("eval", call, "-o", "evaluated.safetensors", "--gradients")
            for name in NAMES:
                with self.subTest(factor=factor, name=name):
                    self.assertRegex(printed, rf"(?m)^{name} .*, 0 undecided$")

    def test_query_rows_are_found_beside_gradients(self) -> None:
        """What explain and --dump-worst choose is a row of an output, and a row has no gradients."""
        call = with_dout(small_call())
        case = self.write(call | dict(self.evaluated(self.write(call), "--gradients").tensors)
                          | {"out": filled("F32", 1, 2, 2, 2)}, "answered")
        self.assertIn("row (b ", self.attest("explain", case))
        self.attest("check", case, "--dump-worst", "worst")
        self.assertEqual(sorted(read(self.folder / "worst").tensors),
                         ["k", "lse", "offsets", "out", "q", "v", "visible"])

    def test_only_gradients_have_no_query_row(self) -> None:
        call = self.write(with_dout(small_call()))
        self.evaluated(call, "--gradients")
        answers = self.evaluated(call, "--gradients")
        result = self.write(Archive({"dq": answers.tensors["dq"]}), "dq")
        self.assert_refused("check", call, "--result", result, "--dump-worst", "worst",
                            line="CAS.C8: --dump-worst: the case has no output with query rows")


class Refusals(RefusalCase):
    """Cases that have no gradients."""

    def test_case_without_dout(self) -> None:
        path = self.write(small_call())
        self.refuse(path, "CAS.C8: --gradients: only with dout", "--gradients")
        wrong = self.write(small_call() | {"dq": filled("F32", 1, 2, 2, 2)}, "wrong")
        self.assert_refused("check", wrong, line="CAS.C8: dq: only with dout in the case")

    def test_tensors_without_what_they_belong_to(self) -> None:
        case = with_dout(small_call())
        for line, changes in (
                ("CAS.C8: dout: required with dlse", {"dout": None, "dlse": filled("F32", 1, 2, 2)}),
                ("CAS.C8: dbias: only with bias", {"dbias": filled("F32", 2, 3)}),
                ("CAS.C8: dsink: only with sink", {"dsink": filled("F32", 2)}),
                ("CAS.C9: dout: ", {"dout": filled("F32", 1, 2, 2, 3)}),
                ("CAS.C9: dlse: ", {"dlse": filled("F32", 1, 2)}),
                ("CAS.C9: dk: ", {"dk": filled("F32", 1, 1, 2, 2)}),
                ("CAS.C10: dout: ", {"dout": tensor("I32", (1, 2, 2, 2), [0] * 8)})):
            with self.subTest(line=line):
                self.refuse(self.write(case | changes), line)

    def test_what_is_not_finite(self) -> None:
        for name, shape in (("q", (1, 1, 1, 1)), ("k", (1, 1, 1, 1)), ("v", (1, 1, 1, 1)),
                            ("dout", (1, 1, 1, 1)), ("dlse", (1, 1, 1))):
            for wrong in (math.nan, math.inf):
                case = small_call() | {one: tensor("F32", (1, 1, 1, 1), [1]) for one in "qkv"} | {
                    "dout": tensor("F32", (1, 1, 1, 1), [1]), name: tensor("F32", shape, [wrong])}
                with self.subTest(name=name, wrong=wrong):
                    if name == "dlse":
                        case = case | {"dlse": tensor("F32", (1, 1, 1), [wrong])}
                    self.refuse(self.write(case), f"ENC.C1: {name}: gradients need finite", "--gradients")


if __name__ == "__main__":
    unittest.main()
