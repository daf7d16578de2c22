#!/usr/bin/env python3
"""Certificates are proved by Coq, and altered ones are not.

    certificates.py --attest COMMAND --theories DIR

DIR holds the compiled theories of proofs_notes/coq (.ci/proofs leaves them in build/proofs).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

from cases import CASES
from archive import write  # found through cases

SOURCE = Path(__file__).resolve().parents[2]
BUNDLED = SOURCE / "tests/cases/pytorch-sdpa-masked-f32.safetensors"
TIMEOUT = 240  # seconds; a certificate takes about ten

THEOREM = re.compile(r"Theorem (\w+) :\n  (\S+) <= (.*) <= (\S+)\.\n")


def coqc(file: Path, theories: Path) -> subprocess.CompletedProcess[str]:
    """What Coq says to a file."""
    return subprocess.run(["coqc", "-q", "-Q", theories, "Attest", "-w", "-ambiguous-paths", file.name],
                          cwd=file.parent, capture_output=True, text=True, timeout=TIMEOUT, check=False)


def failing_theorem(file: Path, theories: Path) -> str:
    """The name of the first theorem that Coq does not prove; empty if it proves all."""
    run = coqc(file, theories)
    if run.returncode == 0:
        return ""
    line = re.search(r'^File "[^"]*", line (\d+)', run.stderr, re.MULTILINE)
    before = file.read_text().splitlines()[:int(line[1])] if line else []
    names = re.findall(r"^Theorem (\w+)", "\n".join(before), re.MULTILINE)
    return names[-1] if names else f"no theorem at all: {run.stderr}"


# ---------------------------------------------------------------- alterations

def number_of(text: str) -> Fraction:
    """The number that a hexadecimal float is."""
    sign, digits, exponent = re.fullmatch(r"(-?)0x([0-9a-f]+)(?:p(-?\d+))?", text).groups()
    return int(sign + digits, 16) * Fraction(2) ** int(exponent or 0)


def text_of(number: Fraction) -> str:
    """A dyadic number as a hexadecimal float."""
    exponent = number.denominator.bit_length() - 1
    return f"{'-' if number < 0 else ''}0x{abs(number.numerator):x}p-{exponent}"


def moved(name: str, steps: int) -> Callable[[str], str]:
    """A claim moved: its ends are a step apart, in the middles between neighbours."""
    def alter(text: str) -> str:
        claim = next(match for match in THEOREM.finditer(text) if match[1] == name)
        low, high = number_of(claim[2]), number_of(claim[4])
        shift = steps * (high - low)
        statement = f"{text_of(low + shift)} <= {claim[3]} <= {text_of(high + shift)}"
        return text.replace(claim[0], f"Theorem {name} :\n  {statement}.\n")
    return alter


def table(text: str, name: str) -> re.Match[str]:
    """The rows of a table of the inputs."""
    return re.search(rf"Definition {name}\b[^\n]*\n  \[(.*?)\](?=\.|%)", text, re.DOTALL)


def keys_swapped(text: str) -> str:
    """The first two keys change places."""
    found = table(text, "K")
    first, second, *others = found[1].split(";\n   ")
    return text.replace(found[1], ";\n   ".join([second, first, *others]))


def bit_flipped(text: str) -> str:
    """Query 0 sees one key less."""
    found = table(text, "seen")
    return text.replace(found[1], found[1].replace("1", "0", 1))


def last_bit_changed(text: str) -> str:
    """The last bit of a number of query 0."""
    found = table(text, "Q")
    number = re.search(r"0x[0-9a-f]+", found[1])[0]
    return text.replace(found[1], found[1].replace(number, f"0x{int(number, 16) ^ 1:x}", 1))


def without_keys(alter: Callable[[str], str]) -> Callable[[str], str]:
    """The same, and the theorem that lists the visible keys is gone."""
    return lambda text: re.sub(r"Theorem keys_.*?Qed\.\n", "", alter(text), flags=re.DOTALL)


ALTERED = {  # what is altered, of which case, and the theorem that is not true any more
    "a bit of the mask": ("masked", bit_flipped, "keys_0"),
    "a bit of the mask, unseen": ("masked", without_keys(bit_flipped), "lse_0"),
    "two keys": ("masked", keys_swapped, "logits_0"),
    "the last bit of a query": ("masked", last_bit_changed, "logits_0"),
    "an output, two steps up": ("masked", moved("out_0_0", 2), "out_0_0"),
    "an output, two steps down": ("masked", moved("out_0_0", -2), "out_0_0"),
    "a weight, two steps up": ("masked", moved("weight_0_0", 2), "weight_0_0"),
    "a gradient, two steps up": ("backwards", moved("dq_0_0", 2), "dq_0_0"),
}


# ---------------------------------------------------------------- the test

class Certificates:
    """Certificates in a folder, and what Coq makes of them."""

    def __init__(self, attest: Path, folder: Path, theories: Path) -> None:
        self.attest, self.folder, self.theories = attest.resolve(), folder, theories

    def certify(self, case: Path, name: str, *options: str) -> Path:
        """The certificate of a case."""
        file = self.folder / f"{name}.v"
        subprocess.run([self.attest, "certify", case, "-o", file, *options], check=True,
                       stdout=subprocess.DEVNULL)
        return file

    def proved(self, case: Path) -> str:
        """Says that a certificate is proved, or which of its theorems is not."""
        file = self.certify(case, f"certificate_{case.stem.replace('-', '_')}")
        count, failed = file.read_text().count("Theorem "), failing_theorem(file, self.theories)
        return f"FAILED: {case.stem}: {failed}" if failed else f"{case.stem}: {count} theorems"

    def rejected(self, number: int, what: str) -> str:
        """Says that an altered certificate is rejected where it should be."""
        case, alter, due = ALTERED[what]
        file = self.certify(self.folder / f"{case}.safetensors", f"altered_{number}",
                            "--row", "0,0,0", "--elements", "1")
        text = file.read_text()
        altered = alter(text)
        assert altered != text, what
        file.write_text(altered)
        failed = failing_theorem(file, self.theories)
        return (f"rejected at {due}: {what}" if failed == due else
                f"FAILED: {what}: rejected at {failed or 'no theorem'}, not at {due}")

    def all(self) -> list[str]:
        """The lines of the report; two runs of Coq at a time."""
        cases = [write(self.folder / f"{name}.safetensors", make()) for name, make in CASES.items()]
        with ThreadPoolExecutor(2) as pool:
            proved = pool.map(self.proved, [*cases, BUNDLED])
            rejected = pool.map(self.rejected, range(len(ALTERED)), ALTERED)
            return [*proved, *rejected]


def main() -> int:
    """Runs the test."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attest", type=Path, required=True, help="the command")
    parser.add_argument("--theories", type=Path, required=True,
                        help="the compiled theories of proofs_notes/coq")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        lines = Certificates(options.attest, Path(scratch), options.theories.resolve()).all()
    print("\n".join(lines))
    return 1 if any(line.startswith("FAILED") for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
