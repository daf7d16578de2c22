#!/usr/bin/env python3
"""attest check: what it concludes, on bundled cases and on answers with known faults."""

from __future__ import annotations

import re
import struct
import unittest
from pathlib import Path

from archive import Archive, read, tensor
from command import CAUSAL, FLOAT_MASK, MASKED, TEXTBOOK, CommandCase, small_call, small_case


class BundledCases(CommandCase):
    """Numbers that were found independently, with mpmath and exact rationals."""

    def assert_measured(self, case: Path, elements: int, correct: int, steps: int,
                        index: list[int]) -> dict:
        """The counts and the worst element of `out`; returns what is said of it."""
        report = self.report(case)
        out = report["outputs"]["out"]
        self.assertEqual((report["verdict"], report["reasons"]), ("measured", []))
        self.assertEqual((out["elements"], out["correctly_rounded"]), (elements, correct))
        self.assertEqual((out["max_steps"], out["worst_by_steps"]["index"]), (steps, index))
        return out

    def test_causal_bf16(self) -> None:
        self.assert_measured(CAUSAL, 2048, 1383, 29520, [0, 0, 13, 15])

    def test_masked_f32(self) -> None:
        out = self.assert_measured(MASKED, 240, 152, 548, [0, 0, 2, 1])
        self.assertEqual((out["empty_rows"], out["empty_wrong"]), (12, 0))

    def test_float_mask_f16(self) -> None:
        self.assert_measured(FLOAT_MASK, 576, 414, 131, [1, 0, 0, 13])

    def test_textbook_f64(self) -> None:
        self.assert_measured(TEXTBOOK, 768, 191, 860, [1, 0, 6, 11])

    def test_the_text_says_the_same_and_shows_the_whole_record(self) -> None:
        text = self.attest("check", CAUSAL)
        self.assertTrue(text.startswith("measured, not judged: "))
        self.assertIn("2048 elements, 1383 correctly rounded (67.53 %), 0 undecided", text)
        self.assertIn("29520 steps at (b 0, h 0, i 13, c 15)", text)
        for key, value in self.report(CAUSAL)["call"].items():
            self.assertRegex(text, rf"(?m)^  {key} +{value.replace('(', '.').replace(')', '.')}$")

    def test_the_demo_judges_one_of_them(self) -> None:
        self.assertIn("1383 correctly rounded", self.attest("demo"))


class Limits(CommandCase):
    """--max-ulp: accepted within, not accepted beyond."""

    def test_the_limit_is_inclusive(self) -> None:
        self.assertIn("accepted", self.attest("check", MASKED, "--max-ulp", "548"))
        self.assertIn("NOT ACCEPTED", self.attest("check", MASKED, "--max-ulp", "547", status=1))

    def test_the_report_tells_the_limit_and_the_reason(self) -> None:
        report = self.report(MASKED, "--max-ulp", "0", status=1)
        self.assertEqual((report["verdict"], report["max_ulp"]), ("not accepted", 0))
        self.assertEqual(len(report["reasons"]), 1)
        self.assertIn("548", report["reasons"][0])


class Structure(CommandCase):
    """Faults that are judged without a limit."""

    def answered(self, call: Archive, *options: str) -> Archive:
        """A call together with its correctly rounded answers."""
        answers = self.evaluated(self.write(call), "--stages", *options)
        return call | dict(answers.tensors)

    def assert_fault(self, case: Archive, reason: str) -> None:
        """The case is not accepted, for exactly this reason, in either form of the report."""
        path = self.write(case)
        (shown,) = self.report(path, status=1)["reasons"]
        self.assertRegex(shown, rf"\A{re.escape(reason)}, first at \(b \d+, h \d+, i \d+(, [cj] \d+)?\)\Z")
        self.assertEqual(self.attest("check", path, status=1).splitlines()[0], f"NOT ACCEPTED: {shown}")

    def test_nan_where_a_number_is_due(self) -> None:
        case = self.answered(small_call())
        nan = struct.pack("<f", float("nan"))
        self.assert_fault(case | {"out": case.tensors["out"].with_element(3, nan)},
                          "out: 1 NaN where a number is due")

    def test_a_fault_is_placed_where_it_is_first_seen(self) -> None:
        case = self.answered(small_call())
        nan = struct.pack("<f", float("nan"))
        out = case.tensors["out"].with_element(3, nan).with_element(6, nan)
        reasons = self.report(self.write(case | {"out": out}), status=1)["reasons"]
        self.assertEqual(reasons, ["out: 2 NaN where a number is due, first at (b 0, h 0, i 1, c 1)"])

    def test_infinity_where_a_number_is_due(self) -> None:
        case = self.answered(small_call())
        infinity = struct.pack("<f", float("inf"))
        self.assert_fault(case | {"lse": case.tensors["lse"].with_element(0, infinity)},
                          "lse: 1 infinities where a number is due, or of the wrong sign")

    def test_a_number_where_nan_is_due(self) -> None:
        values = small_call().tensors["v"]
        nan = struct.pack("<f", float("nan"))
        case = self.answered(small_call() | {"v": values.with_element(0, nan)})
        zero = struct.pack("<f", 0.0)
        self.assert_fault(case | {"out": case.tensors["out"].with_element(0, zero)},
                          "out: 1 numbers where NaN is due")

    def test_a_weight_on_a_hidden_key(self) -> None:
        case = self.answered(small_call(causal="true"))
        leak = struct.pack("<f", 2.0 ** -149)
        self.assert_fault(case | {"weights": case.tensors["weights"].with_element(1, leak)},
                          "weights: 1 weights of hidden keys that are not 0")

    def masked(self) -> Archive:
        """The small call with its second query blind."""
        return self.answered(small_call() | {
            "visible": tensor("BOOL", (2, 3), [True, False, True, False, False, False])})

    def test_an_empty_row_is_as_the_call_says(self) -> None:
        report = self.report(self.write(self.masked()))
        self.assertEqual({(output["empty_rows"], output["empty_wrong"])
                          for output in report["outputs"].values()}, {(2, 0)})

    def test_an_exact_zero_is_due_as_plus_zero(self) -> None:
        case = small_case() | {"k_lengths": tensor("I32", (1,), [0])}
        out = self.report(self.write(case), status=1)["outputs"]["out"]
        self.assertEqual([due["hex"] for due in out["worst_by_steps"]["due"]], ["0x0p+0"] * 2)

    def test_an_infinity_of_the_wrong_sign_is_wrong(self) -> None:
        infinity = struct.pack("<f", float("inf"))
        case = small_case()
        values = case.tensors["v"]
        hot = case | {"v": values.with_element(0, infinity)}
        due = self.evaluated(self.write(hot)).tensors["out"]
        self.assertEqual(due.data[:4], infinity)
        self.assert_fault(hot | {"out": due.with_element(0, struct.pack("<f", -float("inf")))},
                          "out: 1 infinities where a number is due, or of the wrong sign")

    def test_an_empty_row_is_wrong(self) -> None:
        case = self.masked()
        one = struct.pack("<f", 1.0)
        self.assert_fault(
            case | {"out": case.tensors["out"].with_element(2, one)},
            "out: 1 elements of empty rows that are not what the call says an empty row is")

    def test_an_empty_row_may_be_nan_if_the_call_says_so(self) -> None:
        case = self.masked()
        nan = struct.pack("<f", float("nan"))
        out = case.tensors["out"]
        for n in (2, 3, 6, 7):
            out = out.with_element(n, nan)
        path = self.write(Archive(case.tensors | {"out": out}, case.metadata)
                          | {"weights": None, "empty_row": "nan"})
        self.attest("check", path)
        self.attest("check", path, "--set", "empty_row=zero", status=1)

    def test_a_negative_zero_is_counted_and_accepted(self) -> None:
        case = self.masked()
        zero = struct.pack("<f", -0.0)
        path = self.write(case | {"out": case.tensors["out"].with_element(2, zero)})
        out = self.report(path, "--max-ulp", "0")["outputs"]["out"]
        self.assertEqual((out["negative_zeros"], out["max_steps"]), (1, 0))


class OtherFiles(CommandCase):
    """--result, --dump-worst and --set."""

    def test_a_result_is_judged_in_its_own_dtype(self) -> None:
        call = self.write(small_call())
        for dtype in ("f64", "bf16"):
            self.attest("eval", call, "-o", "result.safetensors", "--dtype", dtype)
            report = self.report(call, "--result", "result.safetensors", "--max-ulp", "0")
            self.assertEqual({name: output["format"] for name, output in report["outputs"].items()},
                             {"out": dtype, "lse": dtype})

    def test_a_result_wins_over_the_answers_of_the_case(self) -> None:
        case = self.write(small_case())
        self.attest("check", case, "--max-ulp", "0", status=1)
        self.attest("eval", case, "-o", "result.safetensors")
        self.attest("check", case, "--result", "result.safetensors", "--max-ulp", "0")

    def test_the_worst_row_is_a_case_of_its_own(self) -> None:
        for case in (CAUSAL, MASKED, FLOAT_MASK, TEXTBOOK):
            with self.subTest(case=case.name):
                whole = self.report(case, "--dump-worst", "row.safetensors")["outputs"]["out"]
                row = self.report("row.safetensors")["outputs"]["out"]
                self.assertEqual(row["shape"], [1, 1, 1, whole["shape"][3]])
                worst, again = whole["worst_by_units"], row["worst_by_units"]
                self.assertEqual(again["index"], [0, 0, 0, worst["index"][3]])
                for key in ("answer", "due", "steps", "units"):
                    self.assertEqual(again[key], worst[key])

    def test_the_worst_row_repeats_everything_that_is_said_of_it(self) -> None:
        self.report(CAUSAL, "--dump-worst", "row.safetensors")
        self.report("row.safetensors", "--dump-worst", "again.safetensors")
        self.assertEqual(read(self.folder / "again.safetensors"),
                         read(self.folder / "row.safetensors"))

    def test_set_wins_over_the_file(self) -> None:
        case = self.write(small_case(causal="true"))
        report = self.report(case, "--set", "causal=false", "--set", "scale=0x1p-3")
        self.assertEqual((report["call"]["causal"], report["call"]["scale"]), ("false", "0.125"))

    def test_set_may_be_repeated_and_the_last_one_wins(self) -> None:
        case = self.write(small_case())
        call = self.report(case, "--set", "scale=1", "--set", "scale=2")["call"]
        self.assertEqual(call["scale"], "2")

    def test_set_refuses_what_is_no_key_and_no_value(self) -> None:
        case = self.write(small_case())
        self.assert_refused("check", case, "--set", "casual=true", line="CAS.C5: casual: ")
        self.assert_refused("check", case, "--set", "causal", line="CAS.C5: ")
        self.assert_refused("check", case, "--set", "causal=yes", line="CAS.C7: causal: ")


if __name__ == "__main__":
    unittest.main()
