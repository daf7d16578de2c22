"""Has `attest check` judge the answers of a system, and prints how far off they are.

A case is *sound* if its structure is accepted and at least half the digits of its format are right
in every element, measured in units. That is a coarse sieve, and no more: it tells a system that
computes something else from one that rounds. The printed distances say the rest.

A case whose answers are known to be otherwise says why, and has to be so still: when a system
changes, the client fails, and the list of what is known is corrected. Where a system has other
kernels for other processors, a case may be known to be otherwise on some of them only.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

from attest_case import save_case

COLUMNS = "{:<44} {:<10} {:<5} {:<13} {:>6} {:>9} {:>18} {:>14} {:>14}"
HEADINGS = ("elements", "correctly rounded", "largest steps", "largest units")
HALF_THE_DIGITS = {"f64": 2.0**26.5, "f32": 2.0**12, "f16": 2.0**5.5, "bf16": 2.0**4}


class Judge:
    """Writes cases into a folder, has them judged, and remembers which were not as expected."""

    def __init__(self, attest, folder):
        self.attest = attest
        self.folder = folder
        self.cases = self.known = 0
        self.unexpected = []
        print(COLUMNS.format("case", "kernel", "dtype", "output", "status", *HEADINGS))

    def case(self, label, convention, tensors, known=None, everywhere=True, **call):
        """Judges one case. `label` is (case, kernel, dtype); `known` says why it is unsound,
        `everywhere` whether on every processor."""
        path = self.folder / f"{self.cases:03}-{label[1]}-{label[2]}.safetensors"
        self.cases += 1
        self.known += known is not None
        save_case(path, convention, tensors, **call)
        sound, problem = self.check(path, label)
        if known and not everywhere and sound:
            print("    known elsewhere, not on this processor:", known)
        elif problem or sound == (known is not None):
            self.unexpected.append(label[0])
            print("    NOT AS EXPECTED:", problem or known or "unsound, and not known to be")
        elif known:
            print(f"    known: {known}")

    def refused(self, label, call, why):
        """A call that a system is known to refuse."""
        self.cases += 1
        self.known += 1
        try:
            call()
        except Exception:  # each system has classes of its own for this
            print(COLUMNS.format(*label, *"------").rstrip(), f"\n    known: refused, {why}")
        else:
            self.unexpected.append(label[0])
            print(COLUMNS.format(*label, *"------").rstrip(), "\n    NOT AS EXPECTED: no longer refused")

    def check(self, path, label):
        """Prints a line per checked output. Whether all are sound, and what kept it from being judged."""
        run = subprocess.run([self.attest, "check", path, "--json"], capture_output=True, text=True)
        try:
            outputs = json.loads(run.stdout)["outputs"]
            rows = [read_output(output) for output in outputs]
        except (ValueError, KeyError, TypeError) as error:
            return False, run.stderr.strip() or f"unreadable report: {error!r}"
        for name, _, *numbers in rows:
            print(COLUMNS.format(*label, name, run.returncode, *numbers), flush=True)
        if not rows or run.returncode > 1:
            return False, run.stderr.strip() or "no output was checked"
        return run.returncode == 0 and all(near for _, near, *_ in rows), None

    def verdict(self, system):
        """The last line; the exit status."""
        print(f"{system}: {self.cases} cases, {self.known} of them known deviations, "
              f"{len(self.unexpected)} not as expected")
        return 1 if self.unexpected else 0


def read_output(output):
    """The only place that knows the fields of an output in `attest check --json`."""
    counts = [output["elements"], output["correctly_rounded"]]
    steps, units = (number(output[key]) for key in ("max_steps", "max_units"))
    near = units <= HALF_THE_DIGITS[output["format"]]
    return output["name"], near, *counts, f"{steps:.6g}", f"{units:.6g}"


def number(distance):
    """A distance. Where there is none, as from a number to NaN, the report has a word in its place."""
    return float("inf") if isinstance(distance, str) else distance


def main(description, run):
    """The command line that all clients share: `run` judges the cases, and names the system."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--attest", required=True, help="path of the command attest")
    parser.add_argument("--keep", type=Path, help="folder that keeps the cases")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        judge = Judge(arguments.attest, folder)
        return judge.verdict(run(judge))
