#!/usr/bin/env python3
"""Tests of the trace: a healthy tree passes, and an orphan of each kind fails with its message."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import unittest
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import trace  # noqa: E402  (the one beside this file, not the standard library's)

Files = dict[str, str]

CHAPTER = """\
# Softmax

Prose that names SMX.D1.

### SMX.D1 Softmax | of a row

**code** attest/definitions/softmax.hpp `softmax`

The weights.

```text
### GRD.D1 A heading in a fenced block is no item
```

### SMX.C1 Row and visible set have equal length

### SMX.P1 The weights sum to one

**level** exact in the reals
**proved** weights_sum_to_one

### SMX.P2 A result lies within its bound

**level** within bound SMX.B1

### SMX.P3 A result is fast

**level** tested only

### SMX.B1 A bound

**code** attest/definitions/softmax.hpp `softmax_bound`

### SMX.E1 Two equal scores
"""

HEADER = """\
#pragma once
#include <vector>
#include "attest/scalar/scalar.hpp"

/// Any words.
/// SMX.D1  w_j = exp(s_j) / sum over k of exp(s_k)
template <class T>
std::vector<T> softmax(std::vector<T> row, std::vector<bool> visible) {
  require(row.size() == visible.size(), "SMX.C1", "'\\"' and /* no comment");
  return row;
}

/// SMX.B1  n u
constexpr double softmax_bound(int n, double u) { return n * u; }
"""

TESTS = """\
#include "support/property.hpp"

PROPERTY(SMX_P1, weights_sum_to_one) {}
PROPERTY(SMX_P2,
         a_result_lies_within_its_bound) {}
PROPERTY(SMX_P3, a_result_is_fast) {}
CONSTRAINT(SMX_C1, lengths_differ) {}
EXAMPLE(SMX_E1, two_equal_scores) {}
"""

NOTE = "# {}\n\n## Statement\n\nIt holds.\n\n## {}\n\n1. So.\n\n## Checked by\n\nA test.\n"

THEOREM = """\
(* Theorem in_a_comment : True. (* nested *) Proof. exact I. Qed. *)
Theorem weights_sum_to_one : True.
Proof. exact I. Qed.
"""

SPEC = "spec/04-softmax.md"
SOFTMAX = "src/attest/definitions/softmax.hpp"
SCALAR = "src/attest/scalar/scalar.hpp"
CASES = "tests/properties/softmax.cpp"
COQ = "proofs_notes/coq/softmax.v"
PROPERTIES = "spec/properties.md"
NOTE_P1 = "proofs_notes/SMX.P1-weights-sum-to-one.md"
NOTE_P2 = "proofs_notes/SMX.P2-a-result-lies-within-its-bound.md"
NOTE_P3 = "proofs_notes/SMX.P3-a-result-is-fast.md"
NOTE_B1 = "proofs_notes/SMX.B1-a-bound.md"
# What a note says of a theorem, and of all that the tests below put beside a bound.
PARTS = "`weights_sum_to_one` `softmax` `softmax_again` `again` `softmax_bound` `another` `two` `bound`\n"

HEALTHY: Files = {
    SPEC: CHAPTER,
    SOFTMAX: HEADER,
    SCALAR: "#pragma once\n",
    CASES: TESTS,
    COQ: THEOREM,
    NOTE_P1: NOTE.format("The weights sum to one", "Proof") + "`weights_sum_to_one`.\n",
    NOTE_P2: NOTE.format("A bound holds", "Proof") + PARTS,
    NOTE_P3: NOTE.format("It is fast", "Why it is believed"),
    NOTE_B1: NOTE.format("A bound", "Proof"),
}

STATUS = """\
# Status

Written by `python3 tests/trace/trace.py --root . --write-status`; do not edit.

1 definition, 1 constraint, 3 properties, 1 bound, 1 example; 1 proved by machine.

## [Softmax](04-softmax.md)

| id | title | level or kind | code | tests | note | proved |
| --- | --- | --- | --- | --- | --- | --- |
| SMX.D1 | Softmax \\| of a row | definition \
| [definitions/softmax.hpp](../src/attest/definitions/softmax.hpp) `softmax` |  |  |  |
| SMX.C1 | Row and visible set have equal length | constraint \
| [definitions/softmax.hpp](../src/attest/definitions/softmax.hpp) \
| [properties/softmax.cpp](../tests/properties/softmax.cpp) |  |  |
| SMX.P1 | The weights sum to one | exact in the reals |  \
| [properties/softmax.cpp](../tests/properties/softmax.cpp) \
| [note](../proofs_notes/SMX.P1-weights-sum-to-one.md) \
| [coq/softmax.v](../proofs_notes/coq/softmax.v) `weights_sum_to_one` |
| SMX.P2 | A result lies within its bound | within bound SMX.B1 |  \
| [properties/softmax.cpp](../tests/properties/softmax.cpp) \
| [note](../proofs_notes/SMX.P2-a-result-lies-within-its-bound.md) |  |
| SMX.P3 | A result is fast | tested only |  \
| [properties/softmax.cpp](../tests/properties/softmax.cpp) \
| [note](../proofs_notes/SMX.P3-a-result-is-fast.md) |  |
| SMX.B1 | A bound | bound \
| [definitions/softmax.hpp](../src/attest/definitions/softmax.hpp) `softmax_bound` |  \
| [note](../proofs_notes/SMX.B1-a-bound.md) |  |
| SMX.E1 | Two equal scores | example |  \
| [properties/softmax.cpp](../tests/properties/softmax.cpp) |  |  |
"""


FROZEN = """\
# Properties

The frozen list: what chapters 00 to 16 claim. Later work adds to it and proves
it. An item does not leave it, and no level is lowered, without an edit of this page by hand.

From strong to weak, the levels are: exact in floating point, exact in the reals, within bound, \
tested only.
Another bound than before counts as lower.

Written by `python3 tests/trace/trace.py --root . --write-properties`, which adds and raises.

## [Softmax](04-softmax.md)

| id | title | level |
| --- | --- | --- |
| SMX.P1 | The weights sum to one | exact in the reals |
| SMX.P2 | A result lies within its bound | within bound SMX.B1 |
| SMX.P3 | A result is fast | tested only |
| SMX.B1 | A bound | bound |
"""


def edited(file: str, old: str, new: str) -> Files:
    """The healthy tree with one passage of one file replaced."""
    assert HEALTHY[file].count(old) == 1, f"`{old}` must stand once in {file}"
    return HEALTHY | {file: HEALTHY[file].replace(old, new)}


def without(file: str) -> Files:
    """The healthy tree without one file."""
    return {name: text for name, text in HEALTHY.items() if name != file}


def with_file(file: str, text: str) -> Files:
    """The healthy tree with one more file (or more text in a file that it has)."""
    return HEALTHY | {file: HEALTHY.get(file, "") + text}


def line_of(files: Files, file: str, text: str) -> int:
    """The number of the line on which `text` begins."""
    return files[file].count("\n", 0, files[file].index(text)) + 1


def write(root: Path, files: Files) -> None:
    """Writes the files below `root`; the frozen list of an earlier tree goes."""
    (root / PROPERTIES).unlink(missing_ok=True)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def run(root: Path, *options: str) -> tuple[int, list[str]]:
    """The exit status of the command, and the lines that it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = trace.main(["--root", str(root), *options])
    return status, printed.getvalue().splitlines()


class TraceCase(unittest.TestCase):
    """What the cases below share: a temporary root, and two verdicts."""

    def setUp(self) -> None:
        """Makes the temporary root."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def assert_healthy(self, files: Files) -> None:
        """The tree passes."""
        write(self.root, files)
        status, lines = run(self.root, "--write-status", "--write-properties")
        self.assertEqual((status, lines[1:]), (0, []), lines)
        self.assertRegex(lines[0], r"^\d+ items, no orphan$")

    def assert_orphans(self, files: Files, *orphans: tuple[str, str, str, str]) -> None:
        """The tree fails with exactly these orphans: file, text on the line, id, message."""
        write(self.root, files)
        status, lines = run(self.root, "--write-status", "--write-properties")
        expected = [f"{file}:{line_of(files, file, text)}: {name}: {message}"
                    for file, text, name, message in orphans]
        self.assertEqual((status, lines), (1, expected))


class Healthy(TraceCase):
    """Trees that pass."""

    def test_the_healthy_tree(self) -> None:
        self.assert_healthy(HEALTHY)

    def test_the_header_may_be_given_as_a_link(self) -> None:
        self.assert_healthy(edited(
            SPEC, "attest/definitions/softmax.hpp `softmax`",
            "[softmax.hpp](../src/attest/definitions/softmax.hpp) `softmax`"))

    def test_the_header_may_be_given_below_src_attest(self) -> None:
        self.assert_healthy(edited(SPEC, "attest/definitions/softmax.hpp `softmax`",
                                   "`definitions/softmax.hpp` `softmax()`"))

    def test_one_definition_may_have_two_functions(self) -> None:
        self.assert_healthy(edited(SPEC, "softmax.hpp `softmax`",
                                   "softmax.hpp `softmax`, `softmax_again`")
                            | {SOFTMAX: HEADER + "\n/// SMX.D1  again\nint softmax_again();\n"})

    def test_one_function_may_have_two_ids(self) -> None:
        self.assert_healthy(with_file(SPEC, "\n### SMX.D2 Again\n\n**code** "
                                            "attest/definitions/softmax.hpp `again`\n")
                            | {SOFTMAX: HEADER + "\n/// SMX.D1, SMX.D2  both\nint again();\n"})

    def test_fields_may_share_a_line(self) -> None:
        self.assert_healthy(edited(SPEC, "exact in the reals\n**proved**",
                                   "exact in the reals · **proved**"))

    def test_a_level_may_name_two_bounds(self) -> None:
        for separator in (", ", " and "):
            with self.subTest(separator):
                chapter = CHAPTER.replace("bound SMX.B1", f"bound SMX.B1{separator}SMX.B2")
                self.assert_healthy(HEALTHY | {
                    SPEC: f"{chapter}\n### SMX.B2 Another\n\n**code** {SOFTMAX} `another`\n",
                    SOFTMAX: HEADER + "\n/// SMX.B2  u\ndouble another(double u);\n",
                    "proofs_notes/SMX.B2-another.md": NOTE.format("Another", "Proof")})

    def test_ids_of_unwritten_topics_may_be_mentioned(self) -> None:
        self.assert_healthy(with_file(SCALAR, "// see GRD.D1\n"))

    def test_data_and_the_trace_itself_are_not_read(self) -> None:
        self.assert_healthy(HEALTHY | {"tests/data/case.json": "SMX.D9",
                                       "tests/trace/test_trace.py": "SMX.D9"})

    def test_a_heading_outside_the_spec_is_no_item(self) -> None:
        self.assert_healthy(with_file("proofs_notes/README.md", "### SMX.P1 As an example\n"))

    def test_a_retired_number_may_be_skipped(self) -> None:
        self.assert_healthy(HEALTHY | {
            SPEC: CHAPTER + "\n### SMX.E3 Three\n",
            "spec/retired.md": "# Retired\n\n- SMX.E2 was wrong; see SMX.E1\n",
            CASES: TESTS + "EXAMPLE(SMX_E3, three) {}\n"})

    def test_a_floor_includes_itself_and_lower_ones(self) -> None:
        self.assert_healthy(with_file("src/attest/cli/main.cpp",
                                      '#include "attest/cli/check.hpp"\n'
                                      '#include "attest/files/case_file.hpp"\n')
                            | {"src/attest/attest.hpp": '#include "attest/cli/check.hpp"\n'})


class Spec(TraceCase):
    """Orphans in the specification itself."""

    def test_an_id_used_twice(self) -> None:
        files = with_file("spec/05-attention.md", "### SMX.E1 Again\n")
        self.assert_orphans(files, ("spec/05-attention.md", "### SMX.E1", "SMX.E1",
                                    "used twice, first in "
                                    f"{SPEC}:{line_of(files, SPEC, '### SMX.E1')}"))

    def test_a_heading_of_another_level(self) -> None:
        self.assert_orphans(with_file(SPEC, "\n## SMX.D2 Too high\n"),
                            (SPEC, "## SMX.D2", "SMX.D2",
                             "not an item heading, which is `### TOPIC.KINDn Title`"),
                            (SPEC, "## SMX.D2", "SMX.D2", "the spec lacks this id"))

    def test_a_heading_with_a_leading_zero(self) -> None:
        self.assert_orphans(with_file(SPEC, "\n### SMX.D02 Zero\n"),
                            (SPEC, "### SMX.D02", "SMX.D02",
                             "not an item heading, which is `### TOPIC.KINDn Title`"))

    def test_a_heading_without_title(self) -> None:
        self.assert_orphans(edited(SPEC, "### SMX.E1 Two equal scores", "### SMX.E1"),
                            (SPEC, "### SMX.E1", "SMX.E1",
                             "not an item heading, which is `### TOPIC.KINDn Title`"),
                            (SPEC, "### SMX.E1", "SMX.E1", "the spec lacks this id"),
                            (CASES, "EXAMPLE", "SMX.E1", "the spec lacks this id"))

    def test_a_skipped_number(self) -> None:
        self.assert_orphans(HEALTHY | {SPEC: CHAPTER + "\n### SMX.E3 Three\n",
                                       CASES: TESTS + "EXAMPLE(SMX_E3, three) {}\n"},
                            (SPEC, "### SMX.E3", "SMX.E2",
                             "skipped before SMX.E3, and not listed in spec/retired.md"))

    def test_a_skipped_first_number(self) -> None:
        self.assert_orphans(HEALTHY | {SPEC: CHAPTER.replace("SMX.E1", "SMX.E2"),
                                       CASES: TESTS.replace("SMX_E1", "SMX_E2")},
                            (SPEC, "### SMX.E2", "SMX.E1",
                             "skipped before SMX.E2, and not listed in spec/retired.md"))

    def test_a_retired_id_in_the_spec(self) -> None:
        self.assert_orphans(with_file("spec/retired.md", "- SMX.E1 was wrong\n"),
                            (SPEC, "### SMX.E1", "SMX.E1", "retired, may not be used"),
                            (CASES, "EXAMPLE", "SMX.E1", "retired, may not be used"))

    def test_an_id_in_prose_that_the_spec_lacks(self) -> None:
        self.assert_orphans(with_file(SPEC, "\nBy SMX.D9.\n"),
                            (SPEC, "By SMX.D9", "SMX.D9", "the spec lacks this id"))

    def test_a_tree_without_items(self) -> None:
        write(self.root, {"spec/00-notation.md": "# Notation\n"})
        self.assertEqual(run(self.root), (1, [
            "spec:1: spec: no items; is this the root of the repository?"]))


class Code(TraceCase):
    """Orphans between the specification and the code."""

    def test_a_definition_without_code(self) -> None:
        self.assert_orphans(edited(SPEC, "**code** attest/definitions/softmax.hpp `softmax`\n", ""),
                            (SPEC, "### SMX.D1", "SMX.D1",
                             "no **code** line right below the heading"))

    def test_a_bound_without_code(self) -> None:
        self.assert_orphans(
            edited(SPEC, "**code** attest/definitions/softmax.hpp `softmax_bound`\n", ""),
            (SPEC, "### SMX.B1", "SMX.B1", "no **code** line right below the heading"))

    def test_a_code_line_below_the_prose(self) -> None:
        self.assert_orphans(edited(SPEC, "**code** attest/definitions/softmax.hpp `softmax`\n",
                                   "Prose.\n\n"
                                   "**code** attest/definitions/softmax.hpp `softmax`\n"),
                            (SPEC, "### SMX.D1", "SMX.D1",
                             "no **code** line right below the heading"))

    def test_a_code_line_without_a_function(self) -> None:
        self.assert_orphans(edited(SPEC, "softmax.hpp `softmax`", "softmax.hpp"),
                            (SPEC, "### SMX.D1", "SMX.D1", "the **code** line is not of the form "
                             "path/to/header.hpp `function`"))

    def test_a_header_that_does_not_exist(self) -> None:
        self.assert_orphans(edited(SPEC, "definitions/softmax.hpp `softmax`",
                                   "online/softmax.hpp `softmax`"),
                            (SPEC, "### SMX.D1", "SMX.D1",
                             "the header attest/online/softmax.hpp does not exist under src/"))

    def test_a_function_without_the_doc_comment(self) -> None:
        self.assert_orphans(edited(SOFTMAX, "/// SMX.D1  w_j", "/// w_j"),
                            (SPEC, "### SMX.D1", "SMX.D1",
                             f"no doc comment `/// SMX.D1` right above `softmax` in {SOFTMAX}"))

    def test_a_doc_comment_that_is_not_right_above(self) -> None:
        self.assert_orphans(edited(SOFTMAX, "template <class T>", "\ntemplate <class T>"),
                            (SPEC, "### SMX.D1", "SMX.D1",
                             f"no doc comment `/// SMX.D1` right above `softmax` in {SOFTMAX}"))

    def test_a_doc_comment_above_another_function(self) -> None:
        self.assert_orphans(edited(SOFTMAX, "double softmax_bound(", "double bound("),
                            (SPEC, "### SMX.B1", "SMX.B1", "no doc comment `/// SMX.B1` "
                             f"right above `softmax_bound` in {SOFTMAX}"))

    def test_a_doc_comment_whose_id_the_spec_lacks(self) -> None:
        self.assert_orphans(with_file(SCALAR, "/// GRD.D1  g\nint g();\n"),
                            (SCALAR, "/// GRD.D1", "GRD.D1", "the spec lacks this id"))

    def test_an_id_of_a_known_topic_that_the_spec_lacks(self) -> None:
        for file in (SCALAR, "tests/support/rows.hpp", NOTE_P1, "README.md"):
            with self.subTest(file):
                self.assert_orphans(with_file(file, "see SMX.D9\n"),
                                    (file, "see SMX.D9", "SMX.D9", "the spec lacks this id"))
                (self.root / file).unlink()

    def test_a_retired_id_in_the_code(self) -> None:
        self.assert_orphans(with_file(SCALAR, "// see OLD.D9\n")
                            | {"spec/retired.md": "| OLD.D9 | was wrong |\n"},
                            (SCALAR, "// see", "OLD.D9", "retired, may not be used"))

    def test_a_constraint_that_is_not_required(self) -> None:
        self.assert_orphans(edited(SOFTMAX, '  require(row', '  // require(row'),
                            (SPEC, "### SMX.C1", "SMX.C1",
                             'no require(..., "SMX.C1", ...) in src/'))

    def test_a_required_constraint_that_the_spec_lacks(self) -> None:
        self.assert_orphans(with_file(SCALAR, 'void f() { require(false, "GRD.C1", ""); }\n'),
                            (SCALAR, "void f", "GRD.C1", "the spec lacks this id"))

    def test_an_include_that_points_upwards(self) -> None:
        for target in ('"attest/online/online_softmax.hpp"', "<attest/online/online_softmax.hpp>",
                       '"../online/online_softmax.hpp"', '"attest/attest.hpp"'):
            with self.subTest(target):
                self.assert_orphans(
                    with_file(SOFTMAX, f"#include {target}\n")
                    | {"src/attest/online/online_softmax.hpp": "", "src/attest/attest.hpp": ""},
                    (SOFTMAX, f"#include {target}", "definitions",
                     f"include points upwards: {target[1:-1]}"))

    def test_every_floor_is_below_the_next(self) -> None:
        for lower, higher in pairwise(trace.FLOORS):
            with self.subTest(lower):
                file = f"src/attest/{lower}/low.hpp"
                self.assert_orphans(
                    with_file(file, f'\n#include "attest/{higher}/high.hpp"\n'),
                    (file, "#include", lower,
                     f"include points upwards: attest/{higher}/high.hpp"))
                (self.root / file).unlink()

    def test_a_folder_that_is_no_floor(self) -> None:
        file = "src/attest/helpers/all.hpp"
        self.assert_orphans(with_file(file, "#pragma once\n"),
                            (file, "#pragma", "helpers",
                             "no such floor; there are scalar tensor definitions gradients "
                             "training online certify verdict conventions files cli"))


class Tests(TraceCase):
    """Orphans between the specification and the tests."""

    def test_a_constraint_without_a_negative_test(self) -> None:
        self.assert_orphans(edited(CASES, "CONSTRAINT(SMX_C1, lengths_differ) {}\n", ""),
                            (SPEC, "### SMX.C1", "SMX.C1",
                             "no CONSTRAINT(SMX_C1, ...) in tests/"))

    def test_a_property_without_a_property_test(self) -> None:
        self.assert_orphans(edited(CASES, "PROPERTY(SMX_P3, a_result_is_fast) {}\n", ""),
                            (SPEC, "### SMX.P3", "SMX.P3", "no PROPERTY(SMX_P3, ...) in tests/"))

    def test_a_property_test_that_is_commented_out(self) -> None:
        for comment in ("// PROPERTY(SMX_P3, a_result_is_fast) {}",
                        "/* PROPERTY(SMX_P3, a_result_is_fast) {} */"):
            with self.subTest(comment):
                self.assert_orphans(
                    edited(CASES, "PROPERTY(SMX_P3, a_result_is_fast) {}", comment),
                    (SPEC, "### SMX.P3", "SMX.P3", "no PROPERTY(SMX_P3, ...) in tests/"))

    def test_an_example_without_an_example_test(self) -> None:
        self.assert_orphans(edited(CASES, "EXAMPLE(SMX_E1, two_equal_scores) {}\n", ""),
                            (SPEC, "### SMX.E1", "SMX.E1", "no EXAMPLE(SMX_E1, ...) in tests/"))

    def test_a_test_whose_id_the_spec_lacks(self) -> None:
        for macro, name in (("PROPERTY", "GRD_P1"), ("CONSTRAINT", "GRD_C1"),
                            ("EXAMPLE", "SMX_E9")):
            with self.subTest(macro):
                self.assert_orphans(with_file(CASES, f"{macro}({name}, is_an_orphan) {{}}\n"),
                                    (CASES, f"{macro}({name}", name.replace("_", "."),
                                     "the spec lacks this id"))

    def test_a_macro_of_the_wrong_kind(self) -> None:
        self.assert_orphans(with_file(CASES, "PROPERTY(SMX_E1, two_equal_scores) {}\n"),
                            (CASES, "PROPERTY(SMX_E1", "SMX.E1",
                             "PROPERTY is for ids of kind P or B"))

    def test_a_disabled_test(self) -> None:
        self.assert_orphans(edited(CASES, "two_equal_scores", "DISABLED_two_equal_scores"),
                            (CASES, "EXAMPLE", "SMX.E1", "the test is disabled"))


class Proofs(TraceCase):
    """Orphans between the specification, the notes and the theorems."""

    def test_a_property_without_a_level(self) -> None:
        self.assert_orphans(edited(SPEC, "**level** within bound SMX.B1\n", ""),
                            (SPEC, "### SMX.P2", "SMX.P2",
                             "no **level** line right below the heading"))

    def test_a_level_of_another_form(self) -> None:
        for level in ("mostly", "within bound", "within bound SMX.D1", "within bound SMX.B0"):
            with self.subTest(level):
                self.assert_orphans(edited(SPEC, "within bound SMX.B1", level),
                                    (SPEC, "### SMX.P2", "SMX.P2", f"the level `{level}` is none "
                                     "of: exact in the reals, exact in floating point, "
                                     "tested only, within bound TOPIC.Bn"))

    def test_a_level_whose_bound_does_not_exist(self) -> None:
        self.assert_orphans(edited(SPEC, "within bound SMX.B1", "within bound SMX.B1, BND.B3"),
                            (SPEC, "### SMX.P2", "SMX.P2", "its bound BND.B3 does not exist"))

    def test_a_property_without_a_note(self) -> None:
        self.assert_orphans(without(NOTE_P3), (SPEC, "### SMX.P3", "SMX.P3",
                                               "no note proofs_notes/SMX.P3-*.md"))

    def test_a_bound_without_a_note(self) -> None:
        self.assert_orphans(without(NOTE_B1), (SPEC, "### SMX.B1", "SMX.B1",
                                               "no note proofs_notes/SMX.B1-*.md"))

    def test_two_notes_on_one_id(self) -> None:
        self.assert_orphans(with_file("proofs_notes/SMX.B1-another.md", HEALTHY[NOTE_B1]),
                            (SPEC, "### SMX.B1", "SMX.B1", "2 notes; there is one to an id"))

    def test_a_note_whose_id_the_spec_lacks(self) -> None:
        file = "proofs_notes/GRD.P1-it-holds.md"
        self.assert_orphans(with_file(file, NOTE.format("It holds", "Proof")),
                            (file, "# It", "GRD.P1", "the spec lacks this id"))

    def test_a_note_whose_id_is_retired(self) -> None:
        file = "proofs_notes/OLD.P1-it-holds.md"
        self.assert_orphans(with_file(file, NOTE.format("It holds", "Proof"))
                            | {"spec/retired.md": "- OLD.P1 was wrong\n"},
                            (file, "# It", "OLD.P1", "retired, may not be used"))

    def test_a_note_with_a_malformed_name(self) -> None:
        file = "proofs_notes/SMX.P1_it_holds.md"
        self.assert_orphans(with_file(file, NOTE.format("It holds", "Proof")),
                            (file, "# It", "SMX.P1_it_holds.md",
                             "not the name of a note, which is TOPIC.KINDn-a-sentence.md"))

    def test_a_note_that_lacks_a_heading(self) -> None:
        for heading in ("Statement", "Proof", "Checked by"):
            with self.subTest(heading):
                self.assert_orphans(edited(NOTE_P1, f"## {heading}", "## Other"),
                                    (NOTE_P1, "# The", "SMX.P1",
                                     f"no heading `{heading}` with text below it"))

    def test_a_note_with_an_empty_section(self) -> None:
        self.assert_orphans(edited(NOTE_P1, "1. So.\n", ""),
                            (NOTE_P1, "# The", "SMX.P1", "no heading `Proof` with text below it"))

    def test_a_belief_where_a_proof_is_due(self) -> None:
        self.assert_orphans(edited(NOTE_P1, "## Proof", "## Why it is believed"),
                            (NOTE_P1, "# The", "SMX.P1", "no heading `Proof` with text below it"))

    def test_a_belief_that_is_missing(self) -> None:
        self.assert_orphans(edited(NOTE_P3, "## Why it is believed", "## Other"),
                            (NOTE_P3, "# It", "SMX.P3",
                             "no heading `Proof` or `Why it is believed` with text below it"))

    def test_a_sentence_that_differs_from_the_note(self) -> None:
        self.assert_orphans(edited(CASES, "SMX_P1, weights_sum_to_one", "SMX_P1, sums_to_one"),
                            (CASES, "PROPERTY(SMX_P1", "SMX.P1",
                             f"the sentence `sums_to_one` is not that of {NOTE_P1}"))

    def test_a_theorem_that_does_not_exist(self) -> None:
        self.assert_orphans(edited(SPEC, "**proved** weights_sum_to_one",
                                   "**proved** in_a_comment, weights_sum_to_one"),
                            (SPEC, "### SMX.P1", "SMX.P1", "no finished proof of a Theorem "
                             "in_a_comment in proofs_notes/coq/**/*.v"))

    def test_a_theorem_whose_proof_is_admitted(self) -> None:
        self.assert_orphans(HEALTHY | {COQ: THEOREM.replace("I. Qed.\n", "I. Admitted.\n")},
                            (SPEC, "### SMX.P1", "SMX.P1", "no finished proof of a Theorem "
                             "weights_sum_to_one in proofs_notes/coq/**/*.v"))

    def test_a_proof_without_a_name(self) -> None:
        self.assert_orphans(edited(SPEC, "**proved** weights_sum_to_one", "**proved**"),
                            (SPEC, "### SMX.P1", "SMX.P1",
                             "the **proved** field names no theorem"))

    def test_an_exact_property_without_a_theorem(self) -> None:
        self.assert_orphans(edited(SPEC, "**proved** weights_sum_to_one\n", ""),
                            (SPEC, "### SMX.P1", "SMX.P1",
                             "exact in the reals, and no **proved** line with its theorem"))

    def test_a_theorem_that_its_note_does_not_name(self) -> None:
        self.assert_orphans(edited(NOTE_P1, "`weights_sum_to_one`", ""),
                            (NOTE_P1, "# The", "SMX.P1",
                             "does not name the theorem `weights_sum_to_one`"))

    def test_a_part_of_a_bound_that_no_note_names(self) -> None:
        for part in ("constexpr double half = 0.5;", "double half(double x);",
                     "struct Model {\n  double half;\n};"):
            self.assert_orphans(edited(SOFTMAX, "/// SMX.B1", f"{part}\n\n/// SMX.B1"),
                                (SOFTMAX, "half", "half",
                                 "part of a bound, and named in no note of proofs_notes/"))

    def test_a_bound_elsewhere_that_no_note_names(self) -> None:
        self.assert_orphans(HEALTHY | {SCALAR: "double sum_bound(double x);\n"},
                            (SCALAR, "double sum_bound", "sum_bound",
                             "part of a bound, and named in no note of proofs_notes/"))

    def test_a_local_of_a_bound_needs_no_note(self) -> None:
        self.assert_healthy(edited(SOFTMAX, "  return row;", "  const int half = 2;\n  return row;"))


class Status(TraceCase):
    """The status page."""

    STALE = ("spec/status.md:1: status: not current; refresh it with: "
             "python3 tests/trace/trace.py --root . --write-status")

    def test_the_page(self) -> None:
        write(self.root, HEALTHY)
        run(self.root, "--write-status")
        self.assertEqual((self.root / "spec/status.md").read_text(encoding="utf-8"), STATUS)

    def test_a_current_page_passes(self) -> None:
        write(self.root, HEALTHY | {"spec/status.md": STATUS, PROPERTIES: FROZEN})
        self.assertEqual(run(self.root), (0, ["7 items, no orphan"]))

    def test_a_missing_page(self) -> None:
        write(self.root, HEALTHY | {PROPERTIES: FROZEN})
        self.assertEqual(run(self.root), (1, [self.STALE]))

    def test_a_stale_page(self) -> None:
        write(self.root, edited(SPEC, "Two equal scores", "Two scores")
              | {"spec/status.md": STATUS, PROPERTIES: FROZEN})
        self.assertEqual(run(self.root), (1, [self.STALE]))

    def test_the_check_leaves_the_page_alone(self) -> None:
        write(self.root, HEALTHY | {"spec/status.md": "stale\n"})
        run(self.root)
        self.assertEqual((self.root / "spec/status.md").read_text(encoding="utf-8"), "stale\n")


class Frozen(TraceCase):
    """The frozen list of properties."""

    def assert_frozen(self, files: Files, *lines: str) -> None:
        """The tree, frozen as the page says, fails with these lines, and the writer does not help."""
        write(self.root, {PROPERTIES: FROZEN} | files)
        page = (self.root / PROPERTIES).read_text(encoding="utf-8")
        for options in (("--write-status",), ("--write-status", "--write-properties")):
            self.assertEqual(run(self.root, *options), (1, list(lines)))
            self.assertEqual((self.root / PROPERTIES).read_text(encoding="utf-8"), page)

    def lowered(self, files: Files, title: str, level: str, frozen: str) -> str:
        """The line about a level that is lower than it was."""
        return (f"{SPEC}:{line_of(files, SPEC, title)}: {title[4:]}: the level `{level}` is lower than the "
                f"frozen `{frozen}`; to lower it, edit {PROPERTIES} by hand")

    def assert_written(self, files: Files, line: str, *rows: str) -> None:
        """The check asks for the writer, which then brings the page up to date."""
        write(self.root, {PROPERTIES: FROZEN} | files)
        self.assertEqual(run(self.root, "--write-status"), (1, [
            f"{PROPERTIES}:1: properties: {line}; refresh it with: "
            "python3 tests/trace/trace.py --root . --write-properties"]))
        self.assertEqual(run(self.root, "--write-properties")[0], 0)
        page = (self.root / PROPERTIES).read_text(encoding="utf-8").splitlines()
        for row in rows:
            self.assertIn(row, page)

    def test_the_page(self) -> None:
        write(self.root, HEALTHY)
        run(self.root, "--write-properties")
        self.assertEqual((self.root / PROPERTIES).read_text(encoding="utf-8"), FROZEN)

    def test_a_missing_page(self) -> None:
        files = dict(HEALTHY)
        write(self.root, files)
        status, lines = run(self.root, "--write-status")
        self.assertEqual((status, len(lines)), (1, 1))
        self.assertIn("properties: lacks SMX.P1, SMX.P2, SMX.P3, SMX.B1; refresh it with: ", lines[0])

    def test_a_lower_level(self) -> None:
        for level in ("within bound SMX.B1", "tested only"):
            with self.subTest(level):
                files = edited(SPEC, "exact in the reals", level)
                self.assert_frozen(files, self.lowered(files, "### SMX.P1", level, "exact in the reals"))

    def test_other_bounds_are_lower(self) -> None:
        second = {SPEC: CHAPTER + "\n### SMX.B2 Two\n\n**code** attest/definitions/softmax.hpp `two`\n",
                  SOFTMAX: HEADER + "\n/// SMX.B2  2 u\nint two();\n",
                  "proofs_notes/SMX.B2-two.md": NOTE.format("Two", "Proof"),
                  PROPERTIES: FROZEN + "| SMX.B2 | Two | bound |\n"}
        for level in ("within bound SMX.B2", "within bound SMX.B1, SMX.B2"):
            with self.subTest(level):
                files = HEALTHY | second | {SPEC: second[SPEC].replace("within bound SMX.B1", level)}
                self.assert_frozen(files, self.lowered(files, "### SMX.P2", level, "within bound SMX.B1"))

    def test_a_level_lowered_by_hand(self) -> None:
        files = edited(SPEC, "exact in the reals", "tested only")
        write(self.root, files | {PROPERTIES: FROZEN.replace("exact in the reals |", "tested only |")})
        self.assertEqual(run(self.root, "--write-status")[0], 0)

    def test_a_higher_level_is_written(self) -> None:
        for old, level, title in (("exact in the reals", "exact in floating point", "SMX.P1 | The weights sum to one"),
                                  ("within bound SMX.B1", "exact in the reals",
                                   "SMX.P2 | A result lies within its bound")):
            with self.subTest(level):
                proved = f"{level}\n**proved** weights_sum_to_one"
                self.assert_written(edited(SPEC, old, proved), "not current", f"| {title} | {level} |")
                (self.root / PROPERTIES).unlink()

    def test_a_raised_level_does_not_fall_back(self) -> None:
        raised = FROZEN.replace("| exact in the reals |", "| exact in floating point |")
        self.assert_frozen(HEALTHY | {PROPERTIES: raised},
                           self.lowered(HEALTHY, "### SMX.P1", "exact in the reals", "exact in floating point"))

    def test_a_property_that_vanished(self) -> None:
        files = without(NOTE_P3) | {
            SPEC: CHAPTER.replace("### SMX.P3 A result is fast\n\n**level** tested only\n\n", ""),
            CASES: TESTS.replace("PROPERTY(SMX_P3, a_result_is_fast) {}\n", "")}
        gone = (f"{PROPERTIES}:1: SMX.P3: frozen, and no longer in the spec; to give it up, "
                "remove it from this page by hand")
        self.assert_frozen(files, gone)
        self.assert_frozen(files | {"spec/retired.md": "- SMX.P3 was wrong\n"}, gone)
        write(self.root, files | {PROPERTIES: FROZEN.replace("| SMX.P3 | A result is fast | tested only |\n", "")})
        self.assertEqual(run(self.root, "--write-status")[0], 0)

    def test_a_bound_that_vanished(self) -> None:
        files = without(NOTE_B1) | {
            SPEC: CHAPTER.replace("within bound SMX.B1", "exact in floating point").replace(
                "### SMX.B1 A bound\n\n**code** attest/definitions/softmax.hpp `softmax_bound`\n\n", ""),
            SOFTMAX: HEADER.replace("/// SMX.B1  n u\n", "")}
        self.assert_frozen(files, f"{PROPERTIES}:1: SMX.B1: frozen, and no longer in the spec; to give it up, "
                                  "remove it from this page by hand")

    def test_a_new_property_is_written(self) -> None:
        files = HEALTHY | {SPEC: CHAPTER + "\n### SMX.P4 New | here\n\n**level** tested only\n",
                           CASES: TESTS + "PROPERTY(SMX_P4, new) {}\n",
                           "proofs_notes/SMX.P4-new.md": NOTE.format("New", "Proof")}
        self.assert_written(files, "lacks SMX.P4", "| SMX.P4 | New \\| here | tested only |")
        self.assertEqual(run(self.root, "--write-status"), (0, ["8 items, no orphan"]))

    def test_a_changed_title_is_written(self) -> None:
        self.assert_written(edited(SPEC, "A result is fast", "A result is quick"), "not current",
                            "| SMX.P3 | A result is quick | tested only |")

    def test_a_row_edited_out_does_not_stay_out(self) -> None:
        page = FROZEN.replace("| SMX.P3 | A result is fast | tested only |\n", "")
        self.assert_written(HEALTHY | {PROPERTIES: page}, "lacks SMX.P3",
                            "| SMX.P3 | A result is fast | tested only |")

    def test_chapters_that_are_not_frozen(self) -> None:
        for chapter, frozen in (("00-notation", True), ("11-norms", True), ("15-online-softmax", True),
                                ("16-formats", True), ("12-decoder-block", True), ("18-bounds", False),
                                ("case-format", False)):
            with self.subTest(chapter):
                files = without(SPEC) | {f"spec/{chapter}.md": CHAPTER}
                write(self.root, files)
                run(self.root, "--write-properties")
                page = (self.root / PROPERTIES).read_text(encoding="utf-8")
                self.assertEqual("SMX.P1" in page, frozen)
                (self.root / f"spec/{chapter}.md").unlink()
                (self.root / SPEC).unlink(missing_ok=True)

    def test_a_property_that_moves_to_another_chapter_stays_frozen(self) -> None:
        write(self.root, without(SPEC) | {"spec/18-bounds.md": CHAPTER, PROPERTIES: FROZEN})
        (self.root / SPEC).unlink(missing_ok=True)
        run(self.root, "--write-properties")
        self.assertEqual((self.root / PROPERTIES).read_text(encoding="utf-8"),
                         FROZEN.replace("04-softmax", "18-bounds"))


if __name__ == "__main__":
    unittest.main()
