"""What the tests of the command share: running it, and small calls to run it on."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path

from archive import Archive, Tensor, container, read, tensor, write

SOURCE = Path(__file__).resolve().parents[2]
ATTEST = os.environ.get("ATTEST", str(SOURCE / "build/release/attest"))
BUNDLED = SOURCE / "tests/cases"
CAUSAL = BUNDLED / "pytorch-sdpa-causal-bf16.safetensors"
MASKED = BUNDLED / "pytorch-sdpa-masked-f32.safetensors"
FLOAT_MASK = BUNDLED / "pytorch-sdpa-float-mask-f16.safetensors"
LAYER = BUNDLED / "pytorch-mha-causal-f32.safetensors"
TEXTBOOK = BUNDLED / "numpy-textbook-f64.safetensors"

ID = r"[A-Z]{3}\.C\d+"
SAMPLE = int(os.environ.get("ATTEST_SAMPLE", "1"))
PROMPT = 20.0  # seconds; unusable input is refused without any work, but machines can be busy


def sample(sweep: Sequence) -> Sequence:
    """All of a sweep; under sanitizers, where every run of the command is slow, a sample of it."""
    return sweep[::SAMPLE]


class CommandCase(unittest.TestCase):
    """A temporary folder, and the command run in it."""

    def setUp(self) -> None:
        """Makes the folder."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_attest(self, *arguments: str | Path, timeout: float = 60,
                   **options: object) -> subprocess.CompletedProcess[str]:
        """What the command returns and prints, into pipes."""
        command = [ATTEST, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout,
                              cwd=self.folder, stdin=subprocess.DEVNULL, check=False, **options)

    def attest(self, *arguments: str | Path, status: int = 0) -> str:
        """What the command prints, when it says nothing on stderr and returns the status."""
        run = self.run_attest(*arguments)
        self.assertEqual((run.returncode, run.stderr), (status, ""), run.stdout)
        return run.stdout

    def report(self, *arguments: str | Path, status: int = 0) -> dict:
        """The report of `check --json`, with the outputs by name."""
        report = json.loads(self.attest("check", "--json", *arguments, status=status))
        return report | {"outputs": {output["name"]: output for output in report["outputs"]}}

    def assert_refused(self, *arguments: str | Path, line: str = "", **options: object) -> None:
        """The command refuses in time, with one line that matches, and prints nothing else."""
        run = self.run_attest(*arguments, timeout=PROMPT, **options)
        self.assertEqual((run.returncode, run.stdout), (2, ""), run.stderr)
        self.assertRegex(run.stderr, rf"\Aattest: {line or ID + ': '}[^\n]*\n\Z")

    def write(self, archive: Archive, name: str = "case.safetensors") -> Path:
        """Writes an archive into the folder."""
        return write(self.folder / name, archive)

    def evaluated(self, case: Path, *options: str) -> Archive:
        """What `eval` writes for a case."""
        self.attest("eval", case, "-o", "evaluated.safetensors", *options)
        return read(self.folder / "evaluated.safetensors")


class RefusalCase(CommandCase):
    """Refusals of `eval`, with an old file at the place to be written."""

    def setUp(self) -> None:
        """Makes the old file."""
        super().setUp()
        (self.folder / "old").write_bytes(b"old")

    def refuse(self, path: str | Path, line: str = "", *options: str) -> None:
        """The case is refused; what was to be written is not, and what was there still is."""
        before = sorted(os.listdir(self.folder))
        for target in ("old", "new"):
            self.assert_refused("eval", path, "-o", target, *options, line=line)
        self.assertEqual((self.folder / "old").read_bytes(), b"old")
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def refuse_bytes(self, file: bytes, line: str = "") -> None:
        """A file of these bytes is refused."""
        (self.folder / "case").write_bytes(file)
        self.refuse("case", line)

    def refuse_header(self, header: str | bytes, line: str = "", data: bytes = b"") -> None:
        """A file of this header is refused."""
        self.refuse_bytes(container(header.encode() if isinstance(header, str) else header, data),
                          line)

    def refuse_case(self, line: str, changes: dict[str, Tensor | str | None]) -> None:
        """The small case with these changes is refused."""
        with self.subTest(line=line, changes=list(changes)):
            self.refuse(self.write(small_case() | changes), line)


def filled(dtype: str, *shape: int, first: float = 0.25) -> Tensor:
    """Multiples of 1/4 within -2..2, which every format holds, one after the other."""
    count = len(Tensor(dtype, shape, b""))
    return tensor(dtype, shape, [((first + n / 4) + 2) % 4.25 - 2 for n in range(count)])


def small_call(**metadata: str) -> Archive:
    """Two query heads over one key head, two queries over three keys, widths 2 and 2."""
    return Archive({"q": filled("F32", 1, 2, 2, 2),
                    "k": filled("F32", 1, 1, 3, 2, first=-1.0),
                    "v": filled("F32", 1, 1, 3, 2, first=1.0)},
                   {"schema": "attest-case-1", "convention": "attest", **metadata})


def small_case(**metadata: str) -> Archive:
    """The small call with an answer that is wrong."""
    return small_call(**metadata) | {"out": filled("F32", 1, 2, 2, 2)}
