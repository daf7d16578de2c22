#!/usr/bin/env python3
"""attest eval: it writes correctly rounded answers, always the same, whole or not at all."""

from __future__ import annotations

import os
import resource
import signal
import unittest
from pathlib import Path

from archive import DTYPES, Archive, Tensor, read, tensor
from command import (CAUSAL, FLOAT_MASK, MASKED, TEXTBOOK, CommandCase, filled, sample, small_call,
                     small_case)

STAGES = ("lse", "out", "scores", "weights")


def rich_call() -> Archive:
    """A call with a hidden key, a blind query, a bias, a softcap, and a sink for one head."""
    visible = [True, False, True, False, False, False]
    return small_call(softcap="1.5") | {"visible": tensor("BOOL", (2, 3), visible),
                                        "bias": filled("F32", 2, 1, 3, first=-0.75),
                                        "sink": tensor("F32", (2,), [0.5, float("-inf")])}


class RoundTrip(CommandCase):
    """What eval writes, check accepts with --max-ulp 0; and nothing else."""

    def test_bundled_cases_in_every_dtype(self) -> None:
        for case in (CAUSAL, MASKED, FLOAT_MASK, TEXTBOOK):
            for dtype in DTYPES:
                with self.subTest(case=case.name, dtype=dtype):
                    answers = self.evaluated(case, "--dtype", dtype, "--stages")
                    self.assertEqual(tuple(sorted(answers.tensors)), STAGES)
                    self.assertEqual({one.dtype for one in answers.tensors.values()},
                                     {DTYPES[dtype]})
                    report = self.report(case, "--result", "evaluated.safetensors",
                                         "--max-ulp", "0")
                    self.assertEqual(report["verdict"], "accepted")

    def test_saturated_formats(self) -> None:
        call = self.write(small_call(scale="1e9", f8_overflow="saturate"))
        for dtype in ("f8e4m3", "f8e5m2"):
            answers = self.evaluated(call, "--dtype", dtype, "--stages")
            largest = {"f8e4m3": 0x7E, "f8e5m2": 0x7B}[dtype]
            self.assertIn(largest, answers.tensors["scores"].data)
            self.attest("check", call, "--result", "evaluated.safetensors", "--max-ulp", "0")

    def test_a_wide_enclosure_is_made_narrower(self) -> None:
        """At 128 bits all that is known of this output, 1, is that it may be anything."""
        call = self.write(small_call() | {"q": tensor("F32", (1, 1, 1, 2), [2.0 ** 70, 0]),
                                          "k": tensor("F32", (1, 1, 2, 2), [2.0 ** 70, 0] * 2),
                                          "v": tensor("F32", (1, 1, 2, 1), [3, -1])})
        one = {"f64": bytes.fromhex("000000000000f03f"), "f32": bytes.fromhex("0000803f"),
               "f16": bytes.fromhex("003c"), "bf16": bytes.fromhex("803f"),
               "f8e4m3": b"\x38", "f8e5m2": b"\x3c"}
        for dtype in DTYPES:
            with self.subTest(dtype=dtype):
                out = self.evaluated(call, "--dtype", dtype).tensors["out"]
                self.assertEqual(out.data, one[dtype])

    def test_the_last_bit_of_any_element_counts(self) -> None:
        case = rich_call()
        call = self.write(case)
        for dtype in DTYPES:
            answers = self.evaluated(call, "--dtype", dtype, "--stages")
            self.attest("check", call, "--result", "evaluated.safetensors", "--max-ulp", "0")
            for name, one in answers.tensors.items():
                for n in sample(range(len(one))):
                    with self.subTest(dtype=dtype, name=name, element=n):
                        result = self.write(answers | {name: one.flipped(n)}, "flipped")
                        self.attest("check", call, "--result", result, "--max-ulp", "0", status=1)

    def test_answers_have_the_layout_of_the_case(self) -> None:
        starts = {f"cu_seqlens_{name}": tensor("I32", (3,), [0, 1, 3]) for name in ("q", "k")}
        packed = small_call(layout="THD") | starts | {
            name: filled("F32", 3, 1, 2) for name in ("q", "k", "v")}
        answers = self.evaluated(self.write(packed)).tensors
        self.assertEqual({name: one.shape for name, one in answers.items()},
                         {"out": (3, 1, 2), "lse": (1, 3)})
        self.assert_refused("eval", "case.safetensors", "-o", "stages", "--stages", line="CAS.C8: ")
        self.assertFalse((self.folder / "stages").exists())

    def test_the_default_is_f32_without_stages(self) -> None:
        answers = self.evaluated(self.write(small_call()))
        self.assertEqual({name: one.dtype for name, one in answers.tensors.items()},
                         {"lse": "F32", "out": "F32"})

    def test_empty_calls(self) -> None:
        shapes = {"no batch": ((0, 2, 2, 2), (0, 1, 3, 2)),
                  "no query": ((1, 2, 0, 2), (1, 1, 3, 2)),
                  "no key": ((1, 2, 2, 2), (1, 1, 0, 2)),
                  "no head": ((1, 0, 2, 2), (1, 0, 3, 2))}
        for name, (queries, keys) in shapes.items():
            with self.subTest(name):
                case = self.write(small_call() | {"q": filled("F32", *queries),
                                                  "k": filled("F32", *keys),
                                                  "v": filled("F32", *keys)})
                answers = self.evaluated(case, "--stages")
                self.assertEqual(answers.tensors["scores"].shape, (*queries[:3], keys[2]))
                self.attest("check", case, "--result", "evaluated.safetensors", "--max-ulp", "0")


class Whole(CommandCase):
    """The file is the same each time, and is there whole or not at all."""

    def listing(self) -> list[str]:
        """The names in the folder."""
        return sorted(os.listdir(self.folder))

    def test_the_file_is_the_same_each_time(self) -> None:
        self.attest("eval", CAUSAL, "-o", "one", "--stages")
        self.attest("eval", CAUSAL, "-o", "two", "--stages")
        self.assertEqual((self.folder / "one").read_bytes(), (self.folder / "two").read_bytes())

    def test_nothing_else_is_left_in_the_folder(self) -> None:
        self.attest("eval", CAUSAL, "-o", "one")
        self.attest("eval", CAUSAL, "-o", "one")
        self.assertEqual(self.listing(), ["one"])

    def test_a_refused_case_leaves_the_old_file(self) -> None:
        case = self.write(small_case(softcap="-1"))
        (self.folder / "old").write_bytes(b"old")
        for arguments in (("eval", case, "-o"), ("check", case, "--dump-worst")):
            self.assert_refused(*arguments, "old", line="CAS.C7: softcap: ")
            self.assert_refused(*arguments, "new", line="CAS.C7: softcap: ")
        self.assertEqual((self.folder / "old").read_bytes(), b"old")
        self.assertEqual(self.listing(), ["case.safetensors", "old"])

    def test_paths_that_cannot_be_written(self) -> None:
        (self.folder / "folder").mkdir()
        os.mkfifo(self.folder / "pipe")
        for path in ("missing/out", "folder", "pipe", "/dev/null", "/proc/out", "x" * 300, ""):
            with self.subTest(path=path[:20]):
                self.assert_refused("eval", CAUSAL, "-o", path, line="CAS.C15: ")
                if path:
                    self.assert_refused("check", CAUSAL, "--dump-worst", path, line="CAS.C15: ")
        self.assertEqual(self.listing(), ["folder", "pipe"])

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_a_folder_that_is_read_only(self) -> None:
        (self.folder / "closed").mkdir(mode=0o555)
        self.assert_refused("eval", CAUSAL, "-o", "closed/out", line="CAS.C15: ")

    def test_a_link_stays_a_link(self) -> None:
        (self.folder / "target").write_bytes(b"old")
        (self.folder / "link").symlink_to("target")
        self.attest("eval", CAUSAL, "-o", "link")
        self.assertTrue((self.folder / "link").is_symlink())
        self.assertEqual(set(read(self.folder / "target").tensors), {"lse", "out"})

    def test_a_full_disk_leaves_the_old_file(self) -> None:
        (self.folder / "old").write_bytes(b"old")

        def no_room() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        self.assert_refused("eval", CAUSAL, "-o", "old", line="CAS.C15: ", preexec_fn=no_room)
        self.assertEqual((self.folder / "old").read_bytes(), b"old")
        self.assertEqual(self.listing(), ["old"])


class CannotAnswer(CommandCase):
    """Status 3: nothing is wrong with the input."""

    def padded(self, tokens: int, sequences: int) -> Path:
        """A small file of packed tokens, all in one sequence of many, that is large once padded."""
        starts = tensor("I32", (sequences + 1,), [0] + [tokens] * sequences)
        operand = Tensor("F8_E4M3", (tokens, 1, 1), bytes(tokens))
        return self.write(small_call(layout="THD") | dict.fromkeys("qkv", operand)
                          | dict.fromkeys(("cu_seqlens_q", "cu_seqlens_k"), starts))

    def assert_no_answer(self, case: Path, line: str, dtype: str = "f32",
                         **options: object) -> None:
        """Status 3, one line, nothing written."""
        run = self.run_attest("eval", case, "-o", "out", "--dtype", dtype, **options)
        self.assertEqual((run.returncode, run.stdout), (3, ""), run.stderr)
        self.assertRegex(run.stderr, rf"\Aattest: [^\n]*{line}[^\n]*\n\Z")
        self.assertFalse((self.folder / "out").exists())

    def test_an_element_is_not_resolved_at_the_cap(self) -> None:
        """An irrational logit near 2^4095 is not known to within 1 at 4096 bits."""
        huge = tensor("F64", (1,), [1.7e308])
        keys = tensor("F64", (1, 1, 2, 2), [1.7e308, 0] * 2)
        case = self.write(small_call() | {"q": tensor("F64", (1, 1, 1, 2), [1.7e308, 0]), "k": keys,
                                          "v": tensor("F64", (1, 1, 2, 1), [1, 3]),
                                          "descale_q": huge, "descale_k": huge})
        self.assert_no_answer(case, "ENC.D3: out", dtype="f64")

    def test_padding_would_be_too_large(self) -> None:
        self.assert_no_answer(self.padded(2 ** 15, 2 ** 14), "too much")

    def test_not_enough_memory(self) -> None:
        def little_memory() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (2 ** 28, 2 ** 28))

        if self.run_attest("--help", preexec_fn=little_memory).returncode:
            self.skipTest("this build takes much address space for itself, as with sanitizers")
        self.assert_no_answer(self.padded(2 ** 11, 2 ** 11), "memory", preexec_fn=little_memory)


if __name__ == "__main__":
    unittest.main()
