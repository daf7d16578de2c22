#!/usr/bin/env python3
"""attest check --json: every report follows spec/report.schema.json."""

from __future__ import annotations

import json
import struct
import unittest
from pathlib import Path

from archive import tensor
from command import (CAUSAL, FLOAT_MASK, LAYER, MASKED, SOURCE, TEXTBOOK, CommandCase, filled, small_call,
                     small_case)

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMA = SOURCE / "spec/report.schema.json"


@unittest.skipUnless(jsonschema, "python3-jsonschema is not installed")
class Schema(CommandCase):
    """Reports of every kind against the schema, and the schema against its own."""

    def setUp(self) -> None:
        """Reads the schema."""
        super().setUp()
        schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)
        self.validator = jsonschema.Draft202012Validator(schema)

    def assert_valid(self, case: Path, *options: str, status: int = 0) -> None:
        """The report follows the schema; all of stdout is this one object."""
        printed = self.attest("check", case, "--json", *options, status=status)

        def refuse(constant: str) -> None:
            raise ValueError(f"{constant} is no JSON")

        errors = self.validator.iter_errors(json.loads(printed, parse_constant=refuse))
        self.assertEqual([error.message for error in errors], [])

    def test_bundled_cases(self) -> None:
        for case in (CAUSAL, MASKED, FLOAT_MASK, LAYER, TEXTBOOK):
            with self.subTest(case=case.name):
                self.assert_valid(case)
                self.assert_valid(case, "--max-ulp", "100000")
                self.assert_valid(case, "--max-ulp", "0", status=1)

    def test_gradients(self) -> None:
        call = small_call() | {"dout": filled("F32", 1, 2, 2, 2), "bias": filled("F32", 2, 3),
                               "sink": tensor("F32", (2,), [0.5, 1.5])}
        answers = self.evaluated(self.write(call), "--gradients").tensors
        case = self.write(call | dict(answers))
        self.assert_valid(case, "--max-ulp", "0")
        self.assert_valid(self.write(call | dict(answers) | {"dq": filled("F32", 1, 2, 2, 2)}))

    def test_a_record_of_other_values(self) -> None:
        call = small_call(
            scale="1e-300", softcap="1e300", causal="true", alignment="offsets", window_left="9",
            window_right="9007199254740992", window_counts="self_too", dropout="1", lse_base="2",
            arithmetic="\"quoted\" \\ text") | {
            "offsets": tensor("I32", (1,), [0]), "kept": tensor("BOOL", (1, 2, 2, 3), [False] * 12)}
        case = self.write(call | dict(self.evaluated(self.write(call), "--stages").tensors))
        self.assert_valid(case)
        self.assert_valid(case, "--set", "convention=pytorch.sdpa", "--set", "scale=-0")

    def test_numbers_that_json_lacks(self) -> None:
        for number in (float("nan"), float("inf"), -float("inf")):
            out = filled("F32", 1, 2, 2, 2).with_element(1, struct.pack("<f", number))
            with self.subTest(number=number):
                self.assert_valid(self.write(small_case() | {"out": out}), status=1)

    def test_empty_and_padding_rows(self) -> None:
        case = small_case() | {"k_lengths": tensor("I32", (1,), [0]),
                               "q_lengths": tensor("I32", (1,), [1]),
                               "lse": filled("F32", 1, 2, 2)}
        self.assert_valid(self.write(case), status=1)

    def test_outputs_without_elements(self) -> None:
        case = small_case() | {"q": filled("F32", 1, 2, 0, 2), "out": filled("F32", 1, 2, 0, 2)}
        self.assert_valid(self.write(case), "--max-ulp", "0")

    def test_layouts(self) -> None:
        packed = {name: filled("F32", 3, 1, 2) for name in ("q", "k", "v", "out")}
        starts = {f"cu_seqlens_{name}": tensor("I32", (3,), [0, 1, 3]) for name in ("q", "k")}
        self.assert_valid(self.write(small_case(layout="THD") | packed | starts))

    def test_the_name_of_a_file_may_be_any(self) -> None:
        for name in ("späßig", "a\nb\t\"\\", "a\udcffb"):
            self.assert_valid(self.write(small_case(), name))


if __name__ == "__main__":
    unittest.main()
