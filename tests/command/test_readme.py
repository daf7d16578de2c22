#!/usr/bin/env python3
"""The README shows what the command really prints."""

from __future__ import annotations

import re
import unittest

from command import CAUSAL, SOURCE, CommandCase

README = (SOURCE / "README.md").read_text(encoding="utf-8")


class Readme(CommandCase):
    """Its report, its commands and its links."""

    def test_the_report_is_that_of_the_demo(self) -> None:
        shown = re.search(r"```text\n(measured.*?)```", README, re.DOTALL)
        printed = self.attest("demo").replace(f"{SOURCE}/", "").splitlines()
        for line in shown[1].splitlines():
            if line.strip() != "...":
                self.assertIn(line, printed)

    def test_the_explanation_is_what_is_printed(self) -> None:
        shown = re.search(r"```text\n(softmax\n.*?)```", README, re.DOTALL)
        printed = self.attest("explain", CAUSAL)
        self.assertIn(shown[1], printed)

    def test_the_refusal_is_worded_as_shown(self) -> None:
        shown = re.search(r"`(MSK\.C3: k_lengths: [^`]*)`", README)
        self.assertEqual(shown[1], "MSK.C3: k_lengths: lengths lie in 0..7, got 9")

    def test_the_options_exist(self) -> None:
        help_texts = "".join(self.attest(command, "--help") for command in ("check", "eval", "explain", "learn"))
        for option in set(re.findall(r"(--[a-z][a-z-]+)", README)) - {"--preset", "--build", "--install"}:
            self.assertIn(option, help_texts)

    def test_links_lead_somewhere(self) -> None:
        for link in re.findall(r"\]\(([^)#]+)\)", README):
            self.assertTrue((SOURCE / link).exists(), link)


if __name__ == "__main__":
    unittest.main()
