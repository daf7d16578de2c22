#!/usr/bin/env python3
"""Builds the theories of proofs_notes/coq and holds them against the specification.

    check_proofs.py --root DIR --build DIR    exit status 1, and a line for each fault, if there is any

The theories are copied to the build folder and compiled there; a file that takes longer than --seconds fails. Then

    every file is listed in _CoqProject, and the other way round
    nothing is left open: no Admitted, no axiom, no check switched off
    every theorem that the specification names exists under that name
    no theorem rests on more than the names in assumptions.txt (Print Assumptions, asked once for all)
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "trace"))
import trace  # noqa: E402  (the one of this repository)

THEORIES = "proofs_notes/coq"
HOLE = re.compile(r"\b(Admitted|admit|give_up|Axioms?|Conjecture|Parameters?|bypass_check"
                  r"|Unset (?:Guard|Positivity|Universe) Checking)\b")
THEOREM = re.compile(r"\b(?:Theorem|Corollary)\s+([\w']+)")
ASSUMPTION = re.compile(r"^([A-Za-z_][\w.']*)\s+:", re.MULTILINE)


def listed_files(folder: Path) -> list[str]:
    """The theories that _CoqProject lists, in its order."""
    lines = (folder / "_CoqProject").read_text(encoding="utf-8").split()
    return [line for line in lines if line.endswith(".v")]


def without_comments(text: str) -> str:
    """The text of a theory without its comments, which nest."""
    inner = None
    while inner != text:
        inner, text = text, trace.COQ_COMMENT.sub(" ", text)
    return text


def unlisted(folder: Path) -> Iterator[str]:
    """Theories that nobody compiles, and names without a theory."""
    listed = set(listed_files(folder))
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*.v")}
    for name in sorted(present - listed):
        yield f"{name}: not listed in _CoqProject"
    for name in sorted(listed - present):
        yield f"{name}: listed in _CoqProject, and there is no such file"


def holes(folder: Path) -> Iterator[str]:
    """Places at which something is assumed where it should be proved."""
    for path in sorted(folder.rglob("*.v")):
        for match in HOLE.finditer(without_comments(path.read_text(encoding="utf-8"))):
            yield f"{path.name}: {match[0]}: nothing may be left open"


def compile_theories(source: Path, build: Path, seconds: int) -> str | None:
    """Copies the theories that have changed to the build folder and compiles them; what went wrong, if anything."""
    for name in [*listed_files(source), "_CoqProject"]:
        original, copy = source / name, build / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.is_file() or copy.read_bytes() != original.read_bytes():
            shutil.copyfile(original, copy)
    subprocess.run(["coq_makefile", "-f", "_CoqProject", "-o", "Makefile.coq"], cwd=build, check=True)
    made = subprocess.run(["make", "-s", "-k", "-f", "Makefile.coq", f"-j{os.cpu_count()}", f"TIMECMD=timeout {seconds}"],
                          cwd=build, capture_output=True, text=True, check=False)
    return None if made.returncode == 0 else made.stdout + made.stderr


def theorems_of(folder: Path) -> dict[str, str]:
    """The theorems, each with its module. Two of one name would leave open which one is meant."""
    found: dict[str, str] = {}
    for name in listed_files(folder):
        for theorem in THEOREM.findall(without_comments((folder / name).read_text(encoding="utf-8"))):
            if theorem in found:
                raise SystemExit(f"{name}: {theorem}: proved in {found[theorem]}.v too")
            found[theorem] = Path(name).stem
    return found


def unproved(root: Path, theorems: dict[str, str]) -> Iterator[str]:
    """Items of the specification that name a theorem that is not there."""
    for item in trace.read_tree(root).items:
        for name in trace.proved_names(item):
            if name not in theorems:
                yield f"{item.id}: no Theorem {name}"


def assumptions(build: Path, theorems: dict[str, str]) -> str:
    """What all these theorems together rest on, in the words of Coq."""
    modules = " ".join(sorted(set(theorems.values())))
    bundle = ", ".join(f"@{module}.{name}" for name, module in theorems.items())
    query = f"From Attest Require {modules}.\nDefinition bundle := ({bundle}).\nPrint Assumptions bundle.\n"
    (build / "query").mkdir(exist_ok=True)
    (build / "query/query.v").write_text(query, encoding="utf-8")
    asked = subprocess.run(["coqc", "-w", "none", "-Q", ".", "Attest", "query/query.v"], cwd=build,
                           capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        raise SystemExit(f"the query about assumptions failed:\n{asked.stdout}{asked.stderr}")
    return asked.stdout


def allowed(source: Path) -> list[str]:
    """The patterns of assumptions.txt."""
    lines = (source / "assumptions.txt").read_text(encoding="utf-8").splitlines()
    return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


def beyond(names: set[str], patterns: list[str]) -> set[str]:
    """The assumptions that no pattern allows."""
    return {name for name in names if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)}


def forbidden(source: Path, build: Path, theorems: dict[str, str]) -> Iterator[str]:
    """Theorems that rest on more than they may. One question for all; only where it finds something, one for each."""
    patterns = allowed(source)
    if not beyond(set(ASSUMPTION.findall(assumptions(build, theorems))), patterns):
        return
    for name, module in theorems.items():
        for assumed in sorted(beyond(set(ASSUMPTION.findall(assumptions(build, {name: module}))), patterns)):
            yield f"{module}.{name}: assumes {assumed}"


def faults(root: Path, build: Path, seconds: int) -> list[str]:
    """All that is wrong, the cheap questions first."""
    source = root / THEORIES
    found = [*unlisted(source), *holes(source)]
    if found:
        return found
    if trouble := compile_theories(source, build, seconds):
        return [trouble]
    theorems = theorems_of(source)
    return [*unproved(root, theorems), *forbidden(source, build, theorems)]


def main() -> int:
    """Runs the checks, prints what is wrong, and returns the exit status."""
    parser = argparse.ArgumentParser(description="Builds the theories and holds them against the specification.")
    parser.add_argument("--root", type=Path, required=True, help="the root of the repository")
    parser.add_argument("--build", type=Path, required=True, help="where the compiled theories go")
    parser.add_argument("--seconds", type=int, default=120, help="the most that one file may take")
    options = parser.parse_args()
    found = faults(options.root, options.build, options.seconds)
    for fault in found:
        print(fault)
    if not found:
        theorems = theorems_of(options.root / THEORIES)
        print(f"{len(theorems)} theorems in {len(set(theorems.values()))} theories, nothing assumed beyond assumptions.txt")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
