#!/usr/bin/env python3
"""attest spec: it prints the pages, finds what belongs to an item, and helps with a slip."""

from __future__ import annotations

import re
import shutil
import unittest

from command import ATTEST, SOURCE, CommandCase, sample

STATUS = (SOURCE / "spec/status.md").read_text(encoding="utf-8")
ITEMS = re.findall(r"^\| ([A-Z]{3}\.[DCPBE]\d+) \|", STATUS, re.MULTILINE)


class Specification(CommandCase):
    """Chapters, items, places and slips."""

    def test_the_chapters(self) -> None:
        text = self.attest("spec")
        for page in SOURCE.glob("spec/[0-9]*.md"):
            self.assertIn(f"spec/{page.name}\n", text)
        self.assertRegex(text, r"(?m)^SMX +04 Softmax \(SMX\) +\d+ items +spec/04-softmax\.md$")
        self.assertNotIn("status.md", text)

    def test_a_chapter(self) -> None:
        for topic in ("MSK", "msk"):
            text = self.attest("spec", topic)
            self.assertIn("  MSK.D14  Visible keys\n", text)
            self.assertIn("  MSK.P2   Mask converters agree  [exact in floating point]\n", text)
            page = (SOURCE / "spec/03-masks.md").read_text(encoding="utf-8")
            self.assertEqual(re.findall(r"(?m)^  (MSK\.\w+) ", text), re.findall(r"(?m)^### (MSK\.\w+) ", page))

    def test_a_definition(self) -> None:
        text = self.attest("spec", "SMX.D3")
        self.assertTrue(text.startswith("SMX.D3  Masked softmax by gathering\n\n`masked_softmax` "))
        self.assertIn("```text\nmasked_softmax(s, A) = scatter(", text)
        self.assertNotIn("SMX.D4", text, "the next item does not follow")
        self.assertNotIn("**code**", text)
        found = re.search(r"(?m)^code   src/(\S+):(\d+)  masked_softmax$", text)
        line = (SOURCE / "src" / found[1]).read_text(encoding="utf-8").splitlines()[int(found[2]) - 1]
        self.assertIn("/// SMX.D3 ", line)

    def test_a_property_has_its_level_test_note_and_proof(self) -> None:
        text = self.attest("spec", "smx_p1")
        self.assertIn("\nlevel  exact in the reals\n", text)
        self.assertIn("\nnote   proofs_notes/SMX.P1-softmax-rows-sum-to-one.md\n", text)
        found = re.search(r"(?m)^test   (\S+):(\d+)$", text)
        line = (SOURCE / found[1]).read_text(encoding="utf-8").splitlines()[int(found[2]) - 1]
        self.assertIn("PROPERTY(SMX_P1,", line)
        found = re.search(r"(?m)^proof  (\S+):(\d+)  (\w+)$", text)
        line = (SOURCE / found[1]).read_text(encoding="utf-8").splitlines()[int(found[2]) - 1]
        self.assertRegex(line, rf"Theorem {found[3]}\b")

    def test_one_number_is_not_taken_for_another(self) -> None:
        for name, text in {"spec/04-softmax.md": "### SMX.P1 One\n\n**level** tested only\n",
                           "spec/status.md": "| SMX.P1 | One \\| two | tested only |  | [t](../tests/t.cpp) | "
                                             "[note](../proofs_notes/SMX.P1-one.md) |  |\n",
                           "tests/t.cpp": "PROPERTY(SMX_P12, twelve)\nPROPERTY(SMX_P1, one)\n"}.items():
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_text(text, encoding="utf-8")
        self.assertEqual(self.attest("spec", "SMX.P1", "--root", self.folder),
                         "SMX.P1  One\n\nlevel  tested only\nspec   spec/04-softmax.md:1\n"
                         "test   tests/t.cpp:2\nnote   proofs_notes/SMX.P1-one.md\n")
        self.assertRegex(self.attest("spec", "ATT.D1"), r"(?m)^code .*  compute$")

    def test_every_item_is_printed_whole_and_alone_with_its_places(self) -> None:
        for item in sample(ITEMS):
            text = self.attest("spec", item)
            self.assertTrue(text.startswith(f"{item}  "))
            self.assertNotRegex(text, r"(?m)^##")
            places = re.findall(r"(?m)^(spec|code|test) +(\S+):(\d+)( |$)", text)
            self.assertEqual(len(places), len(re.findall(r"(?m)^(?:spec|code|test) +\S+/", text)), text)
            self.assertEqual([kind for kind, *_ in places].count("spec"), 1)
            for _, path, line, _ in places:
                there = (SOURCE / path).read_text(encoding="utf-8").splitlines()[int(line) - 1]
                self.assertRegex(there.replace("_", "."), rf"\b{re.escape(item)}\b")

    def test_a_slip_is_answered_with_the_nearest_ids(self) -> None:
        for slip, near in ((f"SMX.D{33}", "SMX.D3"), ("SNX.D2", "SMX.D2"), ("ATT.P", "ATT.P1"), ("XYZ", "")):
            self.assert_refused("spec", slip, line=f"CAS.C7: ID: .* got \"{slip}\"; the nearest are .*{near}")

    def test_a_folder_without_a_specification(self) -> None:
        self.assert_refused("spec", "--root", self.folder, line="CAS.C16: --root: ")

    def test_an_installed_command_reads_what_lies_beside_it(self) -> None:
        (self.folder / "bin").mkdir()
        command = shutil.copy(ATTEST, self.folder / "bin/attest")
        share = self.folder / "share/attest/spec"
        share.mkdir(parents=True)
        (share / "04-softmax.md").write_text("# 04 Other\n\n### SMX.D1 Another\n\nWords.\n", encoding="utf-8")
        run = self.run_attest("spec", "SMX.D1", executable=command)
        self.assertEqual((run.returncode, run.stdout),
                         (0, "SMX.D1  Another\n\nWords.\n\nspec   spec/04-softmax.md:3\n"))


if __name__ == "__main__":
    unittest.main()
