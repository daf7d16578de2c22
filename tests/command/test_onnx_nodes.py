#!/usr/bin/env python3
"""ONNX nodes beside attention: Softmax, RMSNormalization and RotaryEmbedding."""

from __future__ import annotations

import json
import math
import os
import struct
import unittest
from pathlib import Path

from archive import Archive, Tensor, tensor
from command import SOURCE, CommandCase
from onnx_file import onnx_model, onnx_positions, onnx_tensor, write_folder

try:
    import jsonschema
except ImportError:
    jsonschema = None

CASES = Path(os.environ.get("ATTEST_ONNX_CASES") or SOURCE.parent / "shared/cases/onnx")
STEPS = sorted([*CASES.glob("test_softmax_*"), *CASES.glob("test_rms_normalization_*")])
ROTARY = sorted(CASES.glob("test_rotary_embedding*"))
U = 2.0 ** -24


def float32(number: float) -> float:
    """The nearest binary32."""
    return struct.unpack("<f", struct.pack("<f", number))[0]


class ByHand(CommandCase):
    """Small nodes with answers that are known."""

    def softmax(self, answer: list[float], name: str = "softmax") -> Path:
        """Rows (0, 0), (0, ln 3), as columns of a matrix."""
        return write_folder(self.folder / name, onnx_model("Softmax", 13, ["x"], axis=0),
                            [onnx_tensor("x", (2, 2), [0.0, 0.0, 0.0, float32(math.log(3))])],
                            onnx_tensor("y", (2, 2), answer))

    def rotary(self, opset: int = 23, position: int = 1) -> Path:
        """A quarter turn of (3, 4); the third and fourth channel are copied."""
        names = ["x", "cos", "sin", "ids"]
        return write_folder(self.folder / f"rotary{opset}{position}",
                            onnx_model("RotaryEmbedding", opset, names, rotary_embedding_dim=2),
                            [onnx_tensor("x", (1, 1, 1, 4), [3.0, 4.0, 5.0, 6.0]),
                             onnx_tensor("cos", (2, 1), [1.0, 0.0]),
                             onnx_tensor("sin", (2, 1), [0.0, 1.0]),
                             onnx_positions("ids", (1, 1), [position])],
                            onnx_tensor("y", (1, 1, 1, 4), [-4.0, 3.0, 5.0, 6.0]))

    def rms(self) -> Path:
        """The row (1, -1, 1, -1) has a mean square of 1, and epsilon is 10^-5."""
        answer = float32(2 / math.sqrt(1 + 1e-5))
        return write_folder(self.folder / "rms", onnx_model("RMSNormalization", 23, ["x", "w"]),
                            [onnx_tensor("x", (4,), [1.0, -1.0, 1.0, -1.0]),
                             onnx_tensor("w", (1,), [2.0])],
                            onnx_tensor("y", (4,), [answer, -answer, answer, -answer]))

    def test_right_answers_are_accepted(self) -> None:
        for case in (self.softmax([0.5, 0.25, 0.5, 0.75]), self.rotary(), self.rms()):
            with self.subTest(case.name):
                report = self.report(case, "--max-ulp", "1")
                self.assertEqual(report["verdict"], "accepted")
                self.assertEqual(list(report["outputs"]), ["out"])

    def test_a_wrong_axis_is_not_accepted(self) -> None:
        row = [0.5, 0.5, 0.25, 0.75]
        report = self.report(self.softmax(row), "--max-ulp", "3", status=1)
        self.assertEqual(report["outputs"]["out"]["worst_by_steps"]["index"], [0, 1])

    def test_a_wrong_position_is_not_accepted(self) -> None:
        self.report(self.rotary(position=0), "--max-ulp", "0", status=1)

    def test_nan_is_seen(self) -> None:
        report = self.report(self.softmax([0.5, math.nan, 0.5, 0.75]), status=1)
        self.assertEqual(report["outputs"]["out"]["nan_unexpected"], 1)

    def test_the_report_says_what_was_computed(self) -> None:
        text = self.attest("check", self.softmax([0.5, 0.25, 0.5, 0.75]))
        for line in ("operator         Softmax", "version          13", "axis             0",
                     "out  f32 (2, 2)"):
            self.assertIn(line, text)

    def test_eval_writes_the_output_in_place(self) -> None:
        case = self.softmax([0.0] * 4)
        written = self.evaluated(case, "--dtype", "f64")
        self.assertEqual(list(written.tensors), ["out"])
        self.assertEqual(written.tensors["out"].shape, (2, 2))
        self.attest("check", case, "--result", "evaluated.safetensors", "--max-ulp", "0")
        self.attest("check", case, "--max-ulp", "0", status=1)

    def test_answers_in_another_file(self) -> None:
        case = self.softmax([0.0] * 4)
        good = tensor("F32", (2, 2), [0.5, 0.25, 0.5, 0.75])

        def refuse(line: str, archive: Archive) -> None:
            self.assert_refused("check", case, "--result", self.write(archive), line=line)

        self.attest("check", case, "--result", self.write(Archive({"out": good}, {})), "--max-ulp",
                    "1")
        refuse("CAS.C8: lse: ", Archive({"lse": good}, {}))
        refuse("CAS.C8: out: ", Archive({}, {}))
        refuse("CAS.C9: out: ", Archive({"out": tensor("F32", (4,), [0.5] * 4)}, {}))
        refuse("CAS.C10: out: ", Archive({"out": Tensor("BOOL", (2, 2), b"\1" * 4)}, {}))
        refuse("CAS.C5: causal: ", Archive({"out": good}, {"causal": "true"}))
        refuse("CAS.C7: schema: ", Archive({"out": good}, {"schema": "attest-case-2"}))

    def test_what_only_a_call_has_is_refused(self) -> None:
        case = self.softmax([0.0] * 4)
        self.assert_refused("check", case, "--set", "causal=true", line="CAS.C5: causal: ")
        self.assert_refused("eval", case, "-o", "new", "--stages", line="CAS.C8: --stages: ")
        self.assert_refused("check", case, "--dump-worst", "new", line="CAS.C8: --dump-worst: ")
        self.assertFalse((self.folder / "new").exists())

    def test_what_the_operator_does_not_have_is_refused(self) -> None:
        self.assert_refused("check", self.rotary(opset=22), line="CAS.C12: opset_import: ")
        self.assert_refused("check", self.rotary(position=2), line="CAS.C14: position_ids: ")
        self.assert_refused("check", self.rotary(position=-1), line="CAS.C14: position_ids: ")

    @unittest.skipUnless(jsonschema, "python3-jsonschema is not installed")
    def test_reports_follow_the_schema(self) -> None:
        schema = json.loads((SOURCE / "spec/report.schema.json").read_text(encoding="utf-8"))
        validator = jsonschema.Draft202012Validator(schema)
        for case in (self.softmax([0.5, 0.25, 0.5, 0.5]), self.rotary(), self.rms()):
            report = json.loads(self.attest("check", case, "--json"))
            self.assertEqual([error.message for error in validator.iter_errors(report)], [])


class NodeTests(CommandCase):
    """The node tests of the ONNX project, where they are at hand. Their answers are float32 arithmetic."""

    @unittest.skipUnless(STEPS, f"no such cases below {CASES}; ATTEST_ONNX_CASES says where")
    def test_softmax_and_rms_normalization_lie_within_three_steps(self) -> None:
        for folder in STEPS:
            with self.subTest(folder.name):
                self.assertEqual(self.report(folder, "--max-ulp", "3")["verdict"], "accepted")

    @unittest.skipUnless(ROTARY, f"no such cases below {CASES}; ATTEST_ONNX_CASES says where")
    def test_rotary_embedding_lies_within_the_units_of_its_arithmetic(self) -> None:
        for folder in ROTARY:
            with self.subTest(folder.name):
                out = self.report(folder)["outputs"]["out"]
                self.assertLessEqual(out["max_units"], 2 + U)  # ENC.P5

    @unittest.skipUnless(ROTARY, f"no such cases below {CASES}; ATTEST_ONNX_CASES says where")
    def test_one_answer_is_far_in_steps_because_its_terms_cancel(self) -> None:
        report = self.report(CASES / "test_rotary_embedding", "--max-ulp", "3", status=1)
        worst = report["outputs"]["out"]["worst_by_steps"]
        self.assertEqual(worst["steps"], 485)
        self.assertLess(worst["units"], 1)


if __name__ == "__main__":
    unittest.main()
