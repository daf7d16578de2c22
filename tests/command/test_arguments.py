#!/usr/bin/env python3
"""The command line, and where things are printed."""

from __future__ import annotations

import subprocess
import unittest

from command import ATTEST, CAUSAL, CommandCase, small_call


class CommandLine(CommandCase):
    """Arguments that are usable and others, and where things are printed."""

    def test_help_is_no_error(self) -> None:
        for arguments in (("--help",), ("check", "--help"), ("eval", "--help"), ("demo", "--help")):
            self.assertIn("Usage", self.attest(*arguments))

    def test_unusable_arguments(self) -> None:
        for arguments in ((), ("chek",), ("check",), ("check", CAUSAL, "--no-such-option"),
                          ("check", CAUSAL, "--max-ulp", "-1"), ("check", CAUSAL, "--max-ulp", "x"),
                          ("eval", CAUSAL)):
            with self.subTest(arguments=arguments):
                self.assert_refused(*arguments, line="[^ ]")

    def test_a_limit_is_a_decimal_integer(self) -> None:
        for limit in ("0.5", "1e3", "", "0x10", "0b1", "1_0", " 1", "99999999999999999999"):
            with self.subTest(limit=limit):
                self.assert_refused("check", CAUSAL, "--max-ulp", limit, line="[^ ]")
        case = self.write(small_call())
        self.attest("eval", case, "-o", "result", "--dtype", "f64")
        self.assertEqual(self.report(case, "--result", "result", "--max-ulp", "010")["max_ulp"], 10)

    def test_a_report_that_cannot_be_printed_is_no_success(self) -> None:
        for arguments in (("check", CAUSAL), ("check", "--json", CAUSAL), ("demo",)):
            with self.subTest(arguments=arguments), open("/dev/full", "wb") as full:
                run = subprocess.run([ATTEST, *arguments], stdout=full, stderr=subprocess.PIPE,
                                     timeout=60, check=False)
                self.assertEqual(run.returncode, 3, run.stderr)

    def test_a_text_of_the_record_is_printable(self) -> None:
        for text in ("two\nlines", "\x1b[2J", "a" * 1025, ""):
            self.assert_refused("check", CAUSAL, "--set", f"arithmetic={text}", line="CAS.C7: arithmetic: ")

    def test_an_output_that_cannot_be_written_is_refused_before_the_work(self) -> None:
        self.assert_refused("eval", CAUSAL, "-o", "no/such/folder/out", line="CAS.C15: ")
        self.assert_refused("check", CAUSAL, "--dump-worst", "no/such/folder/row", line="CAS.C15: ")

    def test_the_case_is_not_overwritten(self) -> None:
        case = self.write(small_call())
        before = case.read_bytes()
        self.assert_refused("eval", case, "-o", case, line="CAS.C15: ")
        self.assert_refused("check", CAUSAL, "--dump-worst", CAUSAL, line="CAS.C15: ")
        self.assertEqual(case.read_bytes(), before)

    def test_an_unusable_dtype(self) -> None:
        self.assert_refused("eval", CAUSAL, "-o", "out", "--dtype", "f33", line="CAS.C7: --dtype: ")

    def test_the_demo_needs_its_cases(self) -> None:
        self.assert_refused("demo", "--cases", self.folder, line="CAS.C16: ")

    def test_a_case_without_an_answer_cannot_be_checked(self) -> None:
        self.assert_refused("check", self.write(small_call()), line="CAS.C8: ")


if __name__ == "__main__":
    unittest.main()
