#!/usr/bin/env python3
"""Tests of check_proofs: a sound theory passes, and each way of cheating fails with its message."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import check_proofs  # noqa: E402

SPEC = """\
# Sums

### SUM.P1 A sum of squares is not negative

**level** exact in the reals
**proved** squares_are_not_negative
"""

DEFINITIONS = """\
Require Export Reals Lra.
Open Scope R_scope.
Definition square (x : R) : R := x * x.
"""

THEORY = """\
From Attest Require Export Definitions.
(* Admitted, in a comment (* a nested one *), is a word. *)
Theorem squares_are_not_negative x y : 0 <= square x + square y.
Proof. unfold square; nra. Qed.
Theorem roots_are_unique x y : 0 <= x -> 0 <= y -> square x = square y -> x = y.
Proof. unfold square; nra. Qed.
"""

ALLOWED = "# classical real numbers\nClassicalDedekindReals.*  reals\nFunctionalExtensionality.*  functions\n"


class Proofs(unittest.TestCase):
    """Each test writes a small repository and checks it."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.theories = self.root / check_proofs.THEORIES
        self.theories.mkdir(parents=True)
        (self.root / "spec").mkdir()
        (self.root / "spec/00-sums.md").write_text(SPEC, encoding="utf-8")
        (self.theories / "_CoqProject").write_text("-Q . Attest\nDefinitions.v\nSquares.v\n", encoding="utf-8")
        (self.theories / "Definitions.v").write_text(DEFINITIONS, encoding="utf-8")
        (self.theories / "assumptions.txt").write_text(ALLOWED, encoding="utf-8")

    def faults_of(self, theory: str, seconds: int = 60) -> list[str]:
        """What is found wrong with the theory."""
        (self.theories / "Squares.v").write_text(theory, encoding="utf-8")
        return check_proofs.faults(self.root, self.root / "build", seconds)

    def test_a_sound_theory(self) -> None:
        self.assertEqual(self.faults_of(THEORY), [])

    def test_an_admitted_proof(self) -> None:
        theory = THEORY.replace("Proof. unfold square; nra. Qed.", "Admitted.", 1)
        self.assertEqual(self.faults_of(theory), ["Squares.v: Admitted: nothing may be left open"])

    def test_an_axiom(self) -> None:
        theory = THEORY + "Axiom cheat : forall P : Prop, P.\n"
        self.assertEqual(self.faults_of(theory), ["Squares.v: Axiom: nothing may be left open"])

    def test_a_hidden_axiom(self) -> None:
        cheat = "Variable cheat : forall P : Prop, P.\nTheorem squares"
        theory = THEORY.replace("Theorem squares", cheat).replace("unfold square; nra", "apply cheat", 1)
        self.assertEqual(self.faults_of(theory), ["Squares.squares_are_not_negative: assumes Squares.cheat"])

    def test_an_assumption_that_is_not_listed(self) -> None:
        (self.theories / "assumptions.txt").write_text("FunctionalExtensionality.*  functions\n", encoding="utf-8")
        found = self.faults_of(THEORY)
        self.assertTrue(found)
        self.assertTrue(all(": assumes ClassicalDedekindReals." in fault for fault in found), found)

    def test_a_renamed_theorem(self) -> None:
        theory = THEORY.replace("squares_are_not_negative", "squares_are_positive")
        self.assertEqual(self.faults_of(theory), ["SUM.P1: no Theorem squares_are_not_negative"])

    def test_a_dropped_hypothesis(self) -> None:
        found = self.faults_of(THEORY.replace("0 <= y -> ", ""))
        self.assertEqual(len(found), 1)
        self.assertIn("Squares.v", found[0])

    def test_a_changed_definition(self) -> None:
        (self.theories / "Definitions.v").write_text(DEFINITIONS.replace("x * x", "x - x * x"), encoding="utf-8")
        self.assertEqual(len(self.faults_of(THEORY)), 1)

    def test_a_proof_without_end(self) -> None:
        endless = "enough (N.iter 1000000000000000 (fun n => n) 0%N = 0%N) by (unfold square; nra); vm_compute; reflexivity"
        theory = THEORY.replace("unfold square; nra", endless, 1)
        found = self.faults_of(theory, 5)
        self.assertEqual(len(found), 1)
        self.assertIn("Error 124", found[0])

    def test_a_check_switched_off(self) -> None:
        self.assertEqual(self.faults_of("Unset Guard Checking.\n" + THEORY),
                         ["Squares.v: Unset Guard Checking: nothing may be left open"])

    def test_a_theory_that_is_not_listed(self) -> None:
        (self.theories / "Other.v").write_text("", encoding="utf-8")
        self.assertEqual(self.faults_of(THEORY), ["Other.v: not listed in _CoqProject"])


if __name__ == "__main__":
    unittest.main()
