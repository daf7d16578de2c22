#!/usr/bin/env python3
"""attest learn: the block learns, and what is shown of it."""

from __future__ import annotations

import json
import math
import os
import pty
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree

from archive import read
from command import ATTEST, CommandCase, sample

SVG = "{http://www.w3.org/2000/svg}"
NEXT = [1, 2, 3, 0, 1, 2, 3, 0]


def halves(numbers: list[float]) -> tuple[list[float], list[float]]:
    """The numbers of the first of two steps, and of the second."""
    return numbers[:len(numbers) // 2], numbers[len(numbers) // 2:]


class Learn(CommandCase):
    """Its report in words, for machines, as a picture, and in a terminal."""

    def learned(self, *options: str) -> dict:
        """The report of `learn --json`."""
        return json.loads(self.attest("learn", "--json", *options))

    def test_the_block_learns(self) -> None:
        report = self.learned()
        self.assertEqual(list(report), ["initial_loss", "final_loss", "steps", "correct", "predictions", "seconds"])
        self.assertLess(abs(report["initial_loss"] - math.log(4)), 0.4)
        self.assertLess(report["final_loss"], 0.1)
        self.assertEqual((report["steps"], report["correct"], report["predictions"]), (1000, 8, NEXT))
        self.assertGreater(report["seconds"], 0)

    def test_other_seeds_learn_too(self) -> None:
        seeds = sample(("0", "1", "2", "9007199254740992"))
        finals = {self.learned("--seed", seed)["final_loss"] for seed in seeds}
        self.assertEqual(len(finals), len(seeds))
        self.assertLess(max(finals), 0.1)

    def test_a_run_is_a_function_of_its_seed(self) -> None:
        first, second = (self.learned("--seed", "7", "--steps", "60") for _ in range(2))
        self.assertEqual(first | {"seconds": 0}, second | {"seconds": 0})

    def test_one_step_is_not_enough(self) -> None:
        report = self.learned("--steps", "1")
        self.assertEqual(report["steps"], 1)
        self.assertGreater(report["final_loss"], 1)

    def test_the_report_in_words(self) -> None:
        text = self.attest("learn")
        self.assertRegex(text, r"correct +8 of 8\n")
        self.assertRegex(text, r"loss +1\.3863 before, 0\.\d{4} after 1000 steps")
        self.assertNotIn("\x1b", text)

    def test_the_picture(self) -> None:
        self.attest("learn", "--svg", "learned.svg", "--steps", "100")
        picture = ElementTree.parse(self.folder / "learned.svg").getroot()
        [curve] = picture.iter(SVG + "polyline")
        self.assertEqual(len(curve.get("points").split()), 101)
        weights = [title.text for title in picture.iter(SVG + "title")]
        self.assertEqual(len(weights), 2 * 36)  # the keys that 8 causal queries see, before and after
        self.assertEqual(weights[0], "query 0, key 0: 1.0000")
        self.assertNotEqual(weights[:36], weights[36:])

    def test_the_record(self) -> None:
        report = self.learned("--record", "run.safetensors", "--steps", "2", "--seed", "7")
        self.assertEqual(report | {"seconds": 0}, self.learned("--steps", "2", "--seed", "7") | {"seconds": 0})
        archive = read(self.folder / "run.safetensors")
        self.assertEqual(archive.metadata, {"schema": "attest-training-1"})
        tensors = archive.tensors
        results = {name.removeprefix("bound.") for name in tensors if name.startswith("bound.")}
        slots = {name.removeprefix("gradient.") for name in results if name.startswith("gradient.")}
        self.assertEqual(results, {"loss", "logits"} | {f"gradient.{slot}" for slot in slots})
        self.assertEqual(set(tensors), {"tokens", "targets"} | slots | results | {f"bound.{one}" for one in results})
        self.assertEqual(len(slots), 19)
        self.assertEqual((tensors["ff1.weight"].shape, tensors["logits"].shape), ((2, 16, 32), (2, 8, 4)))
        for name in results:
            self.assertEqual(tensors[name].shape, tensors[f"bound.{name}"].shape)
            self.assertTrue(all(0 <= bound < 1e-6 for bound in tensors[f"bound.{name}"].values()), name)
        first, second = tensors["loss"].values()
        self.assertLess(abs(first - report["initial_loss"]), 1e-12)
        self.assertLess(second, first)
        self.assertEqual(tensors["norm1.gamma"].values()[:16], [1.0] * 16)
        before, after = halves(tensors["unembed.weight"].values())
        slopes, _ = halves(tensors["gradient.unembed.weight"].values())
        for slope, old, new in zip(slopes, before, after, strict=True):
            self.assertLess(slope * (new - old), 0)  # TRN.P4

    def test_the_curve_moves_on_a_terminal(self) -> None:
        main, terminal = pty.openpty()
        with subprocess.Popen([ATTEST, "learn", "--steps", "100"], stdout=terminal, cwd=self.folder) as run:
            os.close(terminal)
            shown = b""
            try:
                while part := os.read(main, 65536):
                    shown += part
            except OSError:  # the end of a terminal
                pass
            os.close(main)
        self.assertEqual(run.returncode, 0)
        self.assertEqual(shown.count(b"\x1b["), 5)  # 100 steps, 20 at a time
        self.assertIn(b"*", shown)
        self.assertIn(b"8 tokens, 16 channels", shown)

    def test_unusable_arguments(self) -> None:
        for steps in ("0", "-1", "1.5", "x", "1000001"):
            self.assert_refused("learn", "--steps", steps, line=r"CAS\.C7: --steps: an integer in 1..1000000, got ")
        self.assert_refused("learn", "--seed", "-1", line=r"CAS\.C7: --seed: ")
        self.assert_refused("learn", "--svg", "no/such/folder/picture", line=r"CAS\.C15: ")
        self.assert_refused("learn", "--record", "no/such/folder/run", line=r"CAS\.C15: ")
        self.assert_refused("learn", "--record", "both", "--svg", "./both", line=r"CAS\.C15: both: another file")
        self.assert_refused("learn", "--record", "run", "--steps", "1001", line=r"CAS\.C7: --steps: ")
        self.assert_refused("learn", "more", line="[^ ]")


if __name__ == "__main__":
    unittest.main()
