#!/usr/bin/env python3
"""attest check on the node tests of the ONNX project, where they are at hand."""

from __future__ import annotations

import os
import random
import shutil
import unittest
from pathlib import Path

from command import SOURCE, CommandCase

CASES = Path(os.environ.get("ATTEST_ONNX_CASES") or SOURCE.parent / "shared/cases/onnx")
FOLDERS = sorted(CASES.glob("test_attention_*"))

# TensorProto: the numbers of its fields, and the bytes of an element by its data_type.
DATA_TYPE, RAW_DATA = 2, 9
WIDTHS = {1: 4, 10: 2, 11: 8, 16: 2}


def varint(file: bytes, at: int) -> tuple[int, int]:
    """The number that begins at a place, and where it ends."""
    value = shift = 0
    while True:
        value |= (file[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if file[at - 1] < 128:
            return value, at


def raw_elements(file: bytes) -> range:
    """The places of a tensor's elements in its file: of the first byte of each, little endian."""
    at, width = 0, 0
    while at < len(file):
        key, at = varint(file, at)
        length, at = varint(file, at)  # of every field that occurs here: a number, or a length
        if key >> 3 == DATA_TYPE:
            width = WIDTHS[length]
        if key & 7 == 2:
            if key >> 3 == RAW_DATA:
                return range(at, at + length, width)
            at += length
    return range(0)


@unittest.skipUnless(FOLDERS, f"no test_attention_* below {CASES}; ATTEST_ONNX_CASES says where")
class NodeTests(CommandCase):
    """Every output is correctly rounded, and a wrong bit is seen."""

    def test_every_output_is_correctly_rounded(self) -> None:
        for folder in FOLDERS:
            with self.subTest(folder.name):
                report = self.report(folder, "--max-ulp", "0")
                self.assertEqual(report["verdict"], "accepted")
                self.assertEqual(len(report["outputs"]), len(list(folder.glob("*/output_*.pb"))))

    def test_the_last_bit_of_any_element_counts(self) -> None:
        dice = random.Random(2017)
        for folder in FOLDERS:
            copy = self.folder / folder.name
            shutil.copytree(folder, copy)
            for output in sorted(copy.glob("test_data_set_0/output_*.pb")):
                file = output.read_bytes()
                place = dice.choice(raw_elements(file))
                with self.subTest(folder.name, output=output.name, place=place):
                    flipped = file[:place] + bytes([file[place] ^ 1]) + file[place + 1:]
                    output.write_bytes(flipped)
                    self.attest("check", copy, "--max-ulp", "0", status=1)
                output.write_bytes(file)

    def test_a_truncated_tensor_is_refused(self) -> None:
        copy = self.folder / "copy"
        shutil.copytree(FOLDERS[0], copy)
        for tensor in ("input_0.pb", "output_0.pb"):
            path = copy / "test_data_set_0" / tensor
            file = path.read_bytes()
            for content in (file[:-1], file[:-4], file[:10], b""):
                path.write_bytes(content)
                self.assert_refused("check", copy, line="CAS.C14: ")
            path.unlink()
            self.assert_refused("check", copy, line="CAS.C14: ")
            path.write_bytes(file)


if __name__ == "__main__":
    unittest.main()
