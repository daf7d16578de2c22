#!/usr/bin/env python3
"""attest certify: what a certificate holds. That Coq proves it is tested in tests/certificates."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

from archive import Archive, tensor
from command import CAUSAL, LAYER, MASKED, CommandCase, RefusalCase, filled, small_call
from test_eval import rich_call
from test_gradients import with_dout


class Certify(CommandCase):
    """The text that is written."""

    def certificate(self, case: Path, *options: str) -> str:
        """The certificate of a case."""
        self.attest("certify", case, "-o", "certificate.v", *options)
        return (self.folder / "certificate.v").read_text()

    def theorems(self, case: Path, *options: str) -> list[str]:
        """The names of its theorems."""
        return re.findall(r"^Theorem (\w+)", self.certificate(case, *options), re.MULTILINE)

    def test_the_theorems_of_one_row(self) -> None:
        case = self.write(rich_call())
        due = ["keys_0", "logits_0", "lse_0", "out_0_0", "weight_0_0", "weight_0_1"]
        self.assertEqual(self.theorems(case, "--row", "0,0,0", "--elements", "1"), due)

    def test_a_case_with_dout_has_its_gradient_too(self) -> None:
        names = self.theorems(self.write(with_dout(rich_call())), "--row", "0,1,0", "--elements", "9")
        self.assertEqual(names[-3:], ["weights_0", "dq_0_0", "dq_0_1"])

    def test_rows_are_spread_and_an_empty_one_is_among_them(self) -> None:
        text = self.certificate(MASKED, "--rows", "2")
        modules = re.findall(r"^Module (\w+)", text, re.MULTILINE)
        self.assertEqual(modules, ["batch_0_head_0", "batch_1_head_2"])
        self.assertIn("row_keys h 1 = [].", text)

    def test_numbers_are_exact(self) -> None:
        text = self.certificate(self.write(small_call(scale="-0.1")))
        self.assertIn("  [[0x1p-2; 0x1p-1];\n   [0x3p-2; 0x1]].", text)
        self.assertIn("scale := -0xccccccccccccdp-55;", text)

    def test_a_bit_of_the_mask_is_a_bit(self) -> None:
        case = self.write(small_call() | {"visible": tensor("BOOL", (2, 3), [1, 1, 0, 0, 0, 1])})
        self.assertIn("bits\n  [[1; 1; 0];\n   [0; 0; 1]]%nat.", self.certificate(case))

    def test_results_are_rounded_to_the_format(self) -> None:
        case = self.write(small_call())
        for dtype in ("f64", "f32", "bf16"):
            self.assertIn(f"(** {dtype}: ", self.certificate(case, "--dtype", dtype))
        self.assertEqual(self.certificate(case), self.certificate(case, "--dtype", "f64"))

    def test_certificates_are_always_the_same(self) -> None:
        self.assertEqual(self.certificate(CAUSAL), self.certificate(CAUSAL))


class Refusals(RefusalCase):
    """What is no case of a certificate is refused in one line, and nothing is written."""

    def refuse_certify(self, line: str, case: Path, *options: str) -> None:
        """The command refuses; the old file stays and no new one comes."""
        for target in ("old", "new"):
            self.assert_refused("certify", case, "-o", target, *options, line=line)
        self.assertEqual((self.folder / "old").read_bytes(), b"old")
        self.assertFalse((self.folder / "new").exists())

    def test_layers(self) -> None:
        self.refuse_certify("CAS.C17: .*: an attention call, got a layer", LAYER)

    def test_what_is_not_finite(self) -> None:
        case = small_call() | {"k": tensor("F32", (1, 1, 3, 2), [0, 0, 0, 0, 0, float("inf")])}
        self.refuse_certify("ENC.C2: ", self.write(case))

    def test_what_is_large(self) -> None:
        large = Archive({name: filled("F32", 1, 1, 129, 8) for name in "qkv"}, small_call().metadata)
        self.refuse_certify("ENC.C3: .*1024 products", self.write(large))

    def test_options(self) -> None:
        case = self.write(small_call())
        self.refuse_certify("CAS.C7: --dtype: ", case, "--dtype", "f8")
        self.refuse_certify("CAS.C7: --row: ", case, "--row", "0,2,0")
        self.refuse_certify("CAS.C7: --rows: ", case, "--rows", "0")
        self.refuse_certify("CAS.C7: --elements: ", case, "--elements", "many")

    def test_a_case_of_padding(self) -> None:
        case = small_call() | {"q_lengths": tensor("I64", (1,), [0])}
        self.refuse_certify("CAS.C7: --row: all query rows", self.write(case))


if __name__ == "__main__":
    unittest.main()
