#!/usr/bin/env python3
"""Ties the specification, the code, the tests and the notes together by their ids.

    trace.py --root DIR                     check; one line an orphan, exit status 1 if there is any
    trace.py --root DIR --write-status      write spec/status.md first, then check
    trace.py --root DIR --write-properties  bring spec/properties.md up to date first, then check

spec/properties.md is the frozen list of the properties and bounds of the chapters in FROZEN. A
property may be added to it, and its level may be raised. It may not vanish, and its level may not
be lowered, unless someone edits that page by hand: --write-properties refuses to. So whatever is
taken back shows as a change of that page.

What is read, and in which form:

    spec/*.md              ### SMX.D2 Title              an item; its fields stand right below:
                           **code** attest/definitions/softmax.hpp `softmax`      (D and B)
                           **level** exact in the reals | exact in floating point
                                     | within bound BND.B3, BND.B4 | tested only  (P)
                           **proved** theorem_name, another                       (where it is)
    spec/retired.md        - SMX.D9 why                  an id that may not be used again
    src/                   /// SMX.D2  formula           the doc comment of the function
                           "SMX.C1"                      the constraint, named where it is required
    tests/**/*.cpp         PROPERTY(SMX_P1, sentence)    also CONSTRAINT (C) and EXAMPLE (E)
    proofs_notes/          SMX.P1-sentence.md            headings Statement, Proof, Checked by
    proofs_notes/coq/**/*.v   Theorem name ... Qed.         the machine-checked proof
"""

from __future__ import annotations

import argparse
import posixpath
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

KINDS = {"D": "definition", "C": "constraint", "P": "property", "B": "bound", "E": "example"}
FLOORS = ("scalar tensor definitions gradients training online certify verdict conventions files "
          "cli").split()
ROOF = len(FLOORS)  # a file directly in src/attest may include every floor
MACROS = {"PROPERTY": "PB", "CONSTRAINT": "C", "EXAMPLE": "E"}  # the kinds each macro may test
EXACT_LEVELS = ("exact in the reals", "exact in floating point", "tested only")
REFRESH = "python3 tests/trace/trace.py --root . --write-status"
REFRESH_PROPERTIES = "python3 tests/trace/trace.py --root . --write-properties"

STATUS, PROPERTIES, RETIRED_IDS = "spec/status.md", "spec/properties.md", "spec/retired.md"
FROZEN = re.compile(r"spec/(?:0\d|1[0-6])-[^/]*\.md")  # chapters of frozen properties
STRENGTH = ("tested only", "within bound", "exact in the reals", "exact in floating point")

CODE = (".hpp", ".h", ".ipp", ".cpp", ".cc")
TEXT = (*CODE, ".md", ".v", ".py", ".txt", ".cmake", ".sh")

ID = r"[A-Z]{3}\.[DCPBE][1-9]\d*(?!\w)"
MENTION = re.compile(r"(?<![\w.])([A-Z]{3})[._]([DCPBE][1-9]\d*)(?!\w)")
HEADING = re.compile(r"(#+)\s+(.*\S)")
ID_LIKE_HEADING = re.compile(r"#+\s+[A-Z]{3}\.[A-Z]")
ITEM = re.compile(rf"### ({ID}) (\S.*)")
FIELD = re.compile(r"\*\*([a-z ]+)\*\*\s*(.*?)(?=\s*\*\*[a-z ]+\*\*|$)")
HEADER_OR_NAME = re.compile(r"`?([\w./-]+\.(?:hpp|h|ipp|cpp|cc))\b`?|`([^`]+)`")
BOUND = r"[A-Z]{3}\.B[1-9]\d*"
WITHIN_BOUND = re.compile(rf"within bound ({BOUND}(?:(?:, | and ){BOUND})*)")
FROZEN_ROW = re.compile(rf"\| ({ID}) \| (.*) \| ([^|]*) \|")
RETIRED = re.compile(rf"[-*|`\s]*({ID})")
DOC_IDS = re.compile(rf"\s*///\s*((?:{ID}[, ]*)+)")
QUOTED_ID = re.compile(rf'"({ID})')
TEST = re.compile(
    rf"\b({'|'.join(MACROS)})\s*\(\s*([A-Z]{{3}})_([A-Z]\d+)\s*,\s*(\w+)\s*[,)]")
NOTE = re.compile(rf"proofs_notes/({ID})-([a-z0-9]+(?:-[a-z0-9]+)*)\.md")
NOTE_LIKE = re.compile(r"proofs_notes/[A-Z]{3}\.[^/]*\.md")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
CPP_TOKEN = re.compile(
    r'R"(?P<mark>[^\s()\\]*)\(.*?\)(?P=mark)"'  # raw string
    r'|"(?:\\.|[^"\\\n])*"'                     # string
    r"|'(?:\\[^'\n]+|\\'|[^'\\\n])'"            # character
    r"|//[^\n]*|/\*.*?\*/", re.DOTALL)          # comments
DECLARATION = re.compile(r"(?:(?:constexpr|inline|static|const) )*(?P<type>[\w:]+)(?:<[^;=()]*>)?[&*]? "
                         r"(?P<name>[a-z]\w*)(?:\(|;| =)")
STATEMENTS = {"return", "using", "namespace", "template", "delete", "throw"}
BOUND_NAME = re.compile(r"\w+_bound|unit_roundoff")
COQ_COMMENT = re.compile(r"\(\*(?:(?!\(\*|\*\)).)*\*\)", re.DOTALL)
COQ_THEOREM = re.compile(
    r"\b(?:Theorem|Lemma|Corollary|Proposition|Fact|Remark)\s+([\w']+)"
    r".*?\b(Qed|Defined|Admitted|Abort)\.", re.DOTALL)


# ---------------------------------------------------------------- what is read

@dataclass(frozen=True)
class Source:
    """A text file: its path relative to the root, and its text."""
    path: str
    text: str

    def line_of(self, offset: int) -> int:
        """The number of the line on which the character at `offset` stands."""
        return self.text.count("\n", 0, offset) + 1


@dataclass(frozen=True)
class Item:
    """An item of the specification: its heading and its fields."""
    id: str
    title: str
    file: str
    line: int
    fields: dict[str, str]

    @property
    def kind(self) -> str:
        """One of D C P B E."""
        return self.id.split(".")[1][0]


@dataclass(frozen=True)
class DocComment:
    """An id at the start of a doc comment line, and the declaration below that comment."""
    id: str
    file: str
    line: int
    declaration: str


@dataclass(frozen=True)
class Mention:
    """An id that stands somewhere."""
    id: str
    file: str
    line: int


@dataclass(frozen=True)
class Test:
    """A use of PROPERTY, CONSTRAINT or EXAMPLE."""
    macro: str
    id: str
    sentence: str
    file: str
    line: int


@dataclass(frozen=True)
class Note:
    """A note on a property or a bound; `sections` says how many lines of text each heading has."""
    id: str
    sentence: str
    file: str
    sections: dict[str, int]


@dataclass(frozen=True)
class Tree:
    """All that the four folders say, read once."""
    sources: list[Source]
    items: list[Item]
    retired: set[str]
    docs: list[DocComment]
    quoted: list[Mention]
    tests: list[Test]
    notes: list[Note]
    theorems: dict[str, str]  # each with the path of its theory
    frozen: dict[str, str]

    @property
    def ids(self) -> set[str]:
        """The ids of the specification."""
        return {item.id for item in self.items}

    @property
    def paths(self) -> set[str]:
        """The paths of all files that were read."""
        return {source.path for source in self.sources}

    def tests_of(self, item: Item) -> list[Test]:
        """The tests that name the item."""
        return [test for test in self.tests if test.id == item.id]

    def notes_of(self, item: Item) -> list[Note]:
        """The notes on the item."""
        return [note for note in self.notes if note.id == item.id]


@dataclass(frozen=True, order=True)
class Orphan:
    """A place, an id, and what is missing there."""
    file: str
    line: int
    id: str
    missing: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.id}: {self.missing}"


# ---------------------------------------------------------------- reading

def read_tree(root: Path) -> Tree:
    """Reads the four folders under `root`."""
    sources = list(read_sources(root))
    code = [source for source in sources if in_folder(source, "src", CODE)]
    return Tree(
        sources=sources,
        items=[item for source in sources if is_chapter(source) for item in items_of(source)],
        retired={name for source in sources if source.path == RETIRED_IDS
                 for name in retired_ids(source)},
        docs=[doc for source in code for doc in doc_comments(source)],
        quoted=[mention for source in code for mention in quoted_ids(source)],
        tests=[test for source in sources if in_folder(source, "tests", (".cpp",))
               for test in tests_in(source)],
        notes=[note for source in sources for note in note_in(source)],
        theorems={name: source.path for source in sources
                  if in_folder(source, "proofs_notes/coq", (".v",))
                  for name in theorems_in(source.text)},
        frozen={name: level for source in sources if source.path == PROPERTIES
                for name, level in frozen_levels(source)})


def read_sources(root: Path) -> Iterator[Source]:
    """Every text file of the four folders, and the README; this test itself is left out."""
    for folder in ("README.md", "spec", "src", "tests", "proofs_notes"):
        top = root / folder
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix in TEXT and path.is_file() and not name.startswith("tests/trace/"):
                yield Source(name, path.read_text(encoding="utf-8", errors="replace"))


def in_folder(source: Source, folder: str, suffixes: tuple[str, ...]) -> bool:
    """Whether the file lies under `folder` and has one of the suffixes."""
    return source.path.startswith(folder + "/") and source.path.endswith(suffixes)


def is_chapter(source: Source) -> bool:
    """Whether the file is a page of the specification that may hold items."""
    return (in_folder(source, "spec", (".md",))
            and source.path not in (STATUS, PROPERTIES, RETIRED_IDS))


def unfenced(text: str) -> list[tuple[int, str]]:
    """The numbered lines of a Markdown page that stand outside fenced blocks."""
    lines, fenced = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            lines.append((number, line))
    return lines


def items_of(source: Source) -> Iterator[Item]:
    """The items of a chapter, in the order of the page."""
    lines = unfenced(source.text)
    for index, (number, line) in enumerate(lines):
        if match := ITEM.fullmatch(line.rstrip()):
            below = (text for _, text in lines[index + 1:])
            yield Item(match[1], match[2], source.path, number, fields_of(below))


def fields_of(lines: Iterable[str]) -> dict[str, str]:
    """The fields that stand right below a heading, up to the first line of anything else."""
    fields: dict[str, str] = {}
    for line in lines:
        if line.strip() and not line.startswith("**"):
            break
        for name, value in FIELD.findall(line):
            fields.setdefault(name, value.strip(" \\;·|"))
    return fields


def retired_ids(source: Source) -> Iterator[str]:
    """The ids that head a line of the list (or table) of retired ids."""
    for _, line in unfenced(source.text):
        if match := RETIRED.match(line):
            yield match[1]


def frozen_levels(source: Source) -> Iterator[tuple[str, str]]:
    """The ids of the frozen list, each with its level, which for a bound is "bound"."""
    for _, line in unfenced(source.text):
        if match := FROZEN_ROW.fullmatch(line):
            yield match[1], match[3]


def doc_comments(source: Source) -> Iterator[DocComment]:
    """The ids at the start of doc comment lines, each with the declaration below its block."""
    lines = source.text.splitlines()
    for index, line in enumerate(lines):
        if match := DOC_IDS.match(line):
            declaration = declaration_below(lines[index:])
            for name in re.findall(ID, match[1]):
                yield DocComment(name, source.path, index + 1, declaration)


def declaration_below(lines: list[str]) -> str:
    """The code right below a comment block: up to a line that ends in ; { or }, or is empty."""
    code: list[str] = []
    for line in lines:
        if line.lstrip().startswith("//") and not code:
            continue
        text = line.split("//")[0].strip()
        if text:
            code.append(text)
        if not text or text.endswith((";", "{", "}")):
            break
    return " ".join(code)


def without_comments(text: str) -> str:
    """C++ text with its comments blanked; strings, and the number of each line, stay."""
    def blank(token: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", token[0]) if token[0][0] == "/" else token[0]
    return CPP_TOKEN.sub(blank, text)


def quoted_ids(source: Source) -> Iterator[Mention]:
    """The ids that begin a string literal of the code."""
    for match in QUOTED_ID.finditer(without_comments(source.text)):
        yield Mention(match[1], source.path, source.line_of(match.start()))


def tests_in(source: Source) -> Iterator[Test]:
    """The uses of the three macros in a test file; what is commented out is no test."""
    for match in TEST.finditer(without_comments(source.text)):
        macro, topic, item, sentence = match.groups()
        yield Test(macro, f"{topic}.{item}", sentence, source.path, source.line_of(match.start()))


def note_in(source: Source) -> Iterator[Note]:
    """The note that the file is, if its name is that of a note."""
    if match := NOTE.fullmatch(source.path):
        yield Note(match[1], match[2], source.path, sections_of(source.text))


def sections_of(text: str) -> dict[str, int]:
    """How many lines of text stand below each heading of a page."""
    sections: dict[str, int] = {}
    heading, outside = "", dict(unfenced(text))
    for number, line in enumerate(text.splitlines(), 1):
        if match := HEADING.match(outside.get(number, "")):
            heading = match[2]
            sections.setdefault(heading, 0)
        elif line.strip() and heading:
            sections[heading] += 1
    return sections


def theorems_in(text: str) -> Iterator[str]:
    """The names of the theorems whose proof ends in Qed or Defined."""
    inner = None
    while inner != text:  # comments nest: the innermost go first
        inner, text = text, COQ_COMMENT.sub(" ", text)
    for name, end in COQ_THEOREM.findall(text):
        if end in ("Qed", "Defined"):
            yield name


# ---------------------------------------------------------------- checks of the specification

def missing_from(item: Item, what: str) -> Orphan:
    """The orphan that an item of the specification is."""
    return Orphan(item.file, item.line, item.id, what)


def headings_are_well_formed(tree: Tree) -> Iterator[Orphan]:
    """A heading that looks like an item is one; otherwise it would be passed over in silence."""
    for source in filter(is_chapter, tree.sources):
        for number, line in unfenced(source.text):
            if ID_LIKE_HEADING.match(line) and not ITEM.fullmatch(line.rstrip()):
                name = line.lstrip("#").split()[0]
                yield Orphan(source.path, number, name,
                             "not an item heading, which is `### TOPIC.KINDn Title`")


def ids_are_unique(tree: Tree) -> Iterator[Orphan]:
    """No id heads two items."""
    first: dict[str, Item] = {}
    for item in tree.items:
        other = first.setdefault(item.id, item)
        if other is not item:
            yield missing_from(item, f"used twice, first in {other.file}:{other.line}")


def numbers_have_no_gaps(tree: Tree) -> Iterator[Orphan]:
    """A number is given up only by listing it in spec/retired.md."""
    taken = tree.ids | tree.retired
    for item in tree.items:
        series, number = item.id[:5], int(item.id[5:])
        before = f"{series}{number - 1}"
        if number > 1 and before not in taken:
            yield Orphan(item.file, item.line, before,
                         f"skipped before {item.id}, and not listed in spec/retired.md")


def mentioned_ids_exist(tree: Tree) -> Iterator[Orphan]:
    """Every id that stands in the code, the tests, the notes or the spec is one of the spec's."""
    ids = tree.ids
    topics = {name[:3] for name in ids}
    in_passing = (mention for mention in mentions(tree.sources)
                  if mention.id[:3] in topics or mention.id in tree.retired)
    places: list[Mention | DocComment | Test] = [*tree.docs, *tree.quoted, *tree.tests, *in_passing]
    for place in places:
        if place.id in tree.retired:
            yield Orphan(place.file, place.line, place.id, "retired, may not be used")
        elif place.id not in ids:
            yield Orphan(place.file, place.line, place.id, "the spec lacks this id")


def mentions(sources: Iterable[Source]) -> Iterator[Mention]:
    """Whatever looks like an id, except in the lists that the trace makes or that retire ids."""
    for source in sources:
        if source.path not in (STATUS, PROPERTIES, RETIRED_IDS):
            for number, line in enumerate(source.text.splitlines(), 1):
                for topic, item in MENTION.findall(line):
                    yield Mention(f"{topic}.{item}", source.path, number)


# ---------------------------------------------------------------- checks of the code

def definitions_have_code(tree: Tree) -> Iterator[Orphan]:
    """A definition or bound names its function, and the function's doc comment names the id."""
    for item in tree.items:
        if item.kind in "DB":
            yield from (missing_from(item, what) for what in missing_code(tree, item))


def missing_code(tree: Tree, item: Item) -> Iterator[str]:
    """What the `**code**` line of an item lacks."""
    if "code" not in item.fields:
        yield "no **code** line right below the heading"
        return
    references = list(code_references(item.fields["code"]))
    if not references:
        yield "the **code** line is not of the form path/to/header.hpp `function`"
    for header, name in references:
        path = header_path(tree, header)
        if path is None:
            yield f"the header {header} does not exist under src/"
        elif not any(doc.id == item.id and doc.file == path and names(doc.declaration, name)
                     for doc in tree.docs):
            yield f"no doc comment `/// {item.id}` right above `{name}` in {path}"


def code_references(field: str) -> Iterator[tuple[str, str]]:
    """The (header, function) pairs of a `**code**` line; a header counts until the next one."""
    header = ""
    for path, name in HEADER_OR_NAME.findall(field):
        if path:
            header = path
        elif header:
            yield header, name.removesuffix("()").split("::")[-1]


def header_path(tree: Tree, header: str) -> str | None:
    """The path of a header that is given relative to spec/, the root, src/ or src/attest/."""
    below = re.sub(r"^(\.\./)?(src/)?", "", header)
    return next((path for path in (f"src/{below}", f"src/attest/{below}") if path in tree.paths),
                None)


def names(declaration: str, name: str) -> bool:
    """Whether the declaration contains the name as a whole word."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", declaration) is not None


def constraints_are_required(tree: Tree) -> Iterator[Orphan]:
    """A constraint is required somewhere in the code, by its id."""
    quoted = {mention.id for mention in tree.quoted}
    for item in tree.items:
        if item.kind == "C" and item.id not in quoted:
            yield missing_from(item, f'no require(..., "{item.id}", ...) in src/')


def includes_point_downwards(tree: Tree) -> Iterator[Orphan]:
    """A floor includes itself and lower floors only."""
    for source in tree.sources:
        if in_folder(source, "src/attest", CODE):
            floor = source.path.split("/")[2]
            if floor_of(source.path) is None:
                yield Orphan(source.path, 1, floor, f"no such floor; there are {' '.join(FLOORS)}")
            else:
                yield from upward_includes(tree, source)


def upward_includes(tree: Tree, source: Source) -> Iterator[Orphan]:
    """The includes of a file whose target lies on a higher floor."""
    here = floor_of(source.path)
    for match in INCLUDE.finditer(without_comments(source.text)):
        there = floor_of(include_path(tree, source, match[1]))
        if here is not None and there is not None and there > here:
            yield Orphan(source.path, source.line_of(match.start(1)), source.path.split("/")[2],
                         f"include points upwards: {match[1]}")


def include_path(tree: Tree, source: Source, target: str) -> str:
    """The path of an included file: beside the including one, or else under src/."""
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(source.path), target))
    return beside if beside in tree.paths else posixpath.normpath(f"src/{target}")


def floor_of(path: str) -> int | None:
    """How high a file of src/attest lies, the roof included; None for what is on no floor."""
    parts = path.split("/")
    if parts[:2] != ["src", "attest"]:
        return None
    if len(parts) == 3:
        return ROOF
    return FLOORS.index(parts[2]) if parts[2] in FLOORS else None


# ---------------------------------------------------------------- checks of the tests

def items_are_tested(tree: Tree) -> Iterator[Orphan]:
    """A property has a property test, a constraint a negative test, an example an example test."""
    wanted = {"P": "PROPERTY", "C": "CONSTRAINT", "E": "EXAMPLE"}
    tested = {(test.macro, test.id) for test in tree.tests}
    for item in tree.items:
        macro = wanted.get(item.kind)
        if macro and (macro, item.id) not in tested:
            yield missing_from(item, f"no {macro}({item.id.replace('.', '_')}, ...) in tests/")


def tests_fit_their_ids(tree: Tree) -> Iterator[Orphan]:
    """A macro names an id of its own kind, and the test is not switched off."""
    for test in tree.tests:
        kinds = MACROS[test.macro]
        if test.id[4] not in kinds:
            yield Orphan(test.file, test.line, test.id,
                         f"{test.macro} is for ids of kind {' or '.join(kinds)}")
        if test.sentence.startswith("DISABLED_"):
            yield Orphan(test.file, test.line, test.id, "the test is disabled")


# ---------------------------------------------------------------- checks of levels and proofs

def properties_state_their_level(tree: Tree) -> Iterator[Orphan]:
    """A property states one of the four levels; a bound that it names exists."""
    ids = tree.ids
    for item in tree.items:
        level = item.fields.get("level")
        if item.kind != "P" or level in EXACT_LEVELS:
            continue
        within = WITHIN_BOUND.fullmatch(level or "")
        if level is None:
            yield missing_from(item, "no **level** line right below the heading")
        elif within is None:
            yield missing_from(item, f"the level `{level}` is none of: {', '.join(EXACT_LEVELS)}, "
                                     "within bound TOPIC.Bn")
        else:
            for bound in re.findall(BOUND, within[1]):
                if bound not in ids:
                    yield missing_from(item, f"its bound {bound} does not exist")


def properties_have_a_note(tree: Tree) -> Iterator[Orphan]:
    """A property or bound has exactly one note."""
    for item in tree.items:
        notes = tree.notes_of(item)
        if item.kind in "PB" and not notes:
            yield missing_from(item, f"no note proofs_notes/{item.id}-*.md")
        if len(notes) > 1:
            yield missing_from(item, f"{len(notes)} notes; there is one to an id")


def note_names_are_well_formed(tree: Tree) -> Iterator[Orphan]:
    """A page that looks like a note is one, and the spec has its id."""
    ids = tree.ids
    for source in tree.sources:
        if NOTE_LIKE.fullmatch(source.path) and not NOTE.fullmatch(source.path):
            yield Orphan(source.path, 1, source.path.split("/")[1],
                         "not the name of a note, which is TOPIC.KINDn-a-sentence.md")
    for note in tree.notes:
        if note.id in tree.retired:
            yield Orphan(note.file, 1, note.id, "retired, may not be used")
        elif note.id not in ids:
            yield Orphan(note.file, 1, note.id, "the spec lacks this id")


def notes_are_complete(tree: Tree) -> Iterator[Orphan]:
    """A note has text below each of its three headings."""
    level = {item.id: item.fields.get("level") for item in tree.items}
    for note in tree.notes:
        proof = ["Proof"]
        if level.get(note.id) == "tested only":
            proof.append("Why it is believed")
        for choice in (["Statement"], proof, ["Checked by"]):
            if not any(note.sections.get(heading) for heading in choice):
                wanted = " or ".join(f"`{heading}`" for heading in choice)
                yield Orphan(note.file, 1, note.id, f"no heading {wanted} with text below it")


def sentences_agree(tree: Tree) -> Iterator[Orphan]:
    """The sentence of a property test is the sentence in the name of its note."""
    notes = {note.id: note for note in tree.notes}
    for test in tree.tests:
        note = notes.get(test.id)
        if test.macro == "PROPERTY" and note and note.sentence != test.sentence.replace("_", "-"):
            yield Orphan(test.file, test.line, test.id,
                         f"the sentence `{test.sentence}` is not that of {note.file}")


def theorems_exist(tree: Tree) -> Iterator[Orphan]:
    """What is marked as proved has a theorem whose proof is complete."""
    for item in tree.items:
        if "proved" in item.fields:
            theorems = proved_names(item)
            if not theorems:
                yield missing_from(item, "the **proved** field names no theorem")
            for name in theorems:
                if name not in tree.theorems:
                    yield missing_from(item, f"no finished proof of a Theorem {name} in "
                                             "proofs_notes/coq/**/*.v")


def proved_names(item: Item) -> list[str]:
    """The names of the theorems that prove an item."""
    return re.findall(r"[\w']+", item.fields.get("proved", ""))


def exact_properties_are_proved(tree: Tree) -> Iterator[Orphan]:
    """What the frozen chapters claim of the real numbers is proved by machine."""
    for item in tree.items:
        exact = item.fields.get("level") == "exact in the reals"
        if exact and FROZEN.fullmatch(item.file) and "proved" not in item.fields:
            yield missing_from(item, "exact in the reals, and no **proved** line with its theorem")


def theorems_are_in_notes(tree: Tree) -> Iterator[Orphan]:
    """The note on an item names the theorems that prove it."""
    text = {source.path: source.text for source in tree.sources}
    for item in tree.items:
        for note in tree.notes_of(item):
            for name in proved_names(item):
                if name in tree.theorems and f"`{name}`" not in text[note.file]:
                    yield Orphan(note.file, 1, item.id, f"does not name the theorem `{name}`")


def bounds_are_in_notes(tree: Tree) -> Iterator[Orphan]:
    """Whatever a bound is made of is named in a note: the functions, fields and constants beside it."""
    notes = "\n".join(source.text for source in tree.sources
                      if in_folder(source, "proofs_notes", (".md",)))
    for source in tree.sources:
        if in_folder(source, "src/attest", CODE):
            beside_bounds = re.sub(r"\.\w+$", "", source.path) in bound_files(tree)
            for name, offset in declared_names(source.text):
                if (beside_bounds or BOUND_NAME.fullmatch(name)) and f"`{name}`" not in notes:
                    yield Orphan(source.path, source.line_of(offset), name,
                                 "part of a bound, and named in no note of proofs_notes/")


def bound_files(tree: Tree) -> set[str]:
    """The files with the functions of bounds, without their endings: a header and its source."""
    headers = (header_path(tree, header) for item in tree.items if item.kind == "B"
               for header, _ in code_references(item.fields.get("code", "")))
    return {re.sub(r"\.\w+$", "", header) for header in headers if header}


def declared_names(text: str) -> Iterator[tuple[str, int]]:
    """The functions and constants at the margin of a file, and the fields of its structs."""
    margin, offset = "", 0
    for line in without_comments(text).splitlines(keepends=True):
        indent = len(line) - len(line.lstrip(" "))
        if indent == 0 and line.strip():
            margin = line
        match = DECLARATION.match(line, indent)
        is_field = indent == 2 and margin.startswith("struct ")
        if match and match["type"] not in STATEMENTS and (indent == 0 or is_field):
            yield match["name"], offset + match.start("name")
        offset += len(line)


# ---------------------------------------------------------------- the status page

def status_page(tree: Tree) -> str:
    """The page spec/status.md: a line of totals, and a table for each chapter."""
    chapters = sorted({item.file for item in tree.items})
    return "\n".join([
        "# Status", "",
        f"Written by `{REFRESH}`; do not edit.", "",
        totals(tree.items), "",
        *(line for chapter in chapters for line in chapter_table(tree, chapter))])


def totals(items: list[Item]) -> str:
    """How many items of each kind there are, and how many are proved by machine."""
    count = Counter(item.kind for item in items)
    plural = {kind: name[:-1] + "ies" if name.endswith("y") else name + "s"
              for kind, name in KINDS.items()}
    proved = sum("proved" in item.fields for item in items)
    kinds = ", ".join(f"{count[kind]} {KINDS[kind] if count[kind] == 1 else plural[kind]}"
                      for kind in KINDS)
    return f"{kinds}; {proved} proved by machine."


def chapter_table(tree: Tree, chapter: str) -> list[str]:
    """The table of a chapter, in the order of kinds and numbers."""
    items = sorted((item for item in tree.items if item.file == chapter), key=order_of)
    return [f"## [{chapter_title(tree, chapter)}]({posixpath.basename(chapter)})", "",
            "| id | title | level or kind | code | tests | note | proved |",
            "| --- | --- | --- | --- | --- | --- | --- |",
            *(status_row(tree, item) for item in items), ""]


def order_of(item: Item) -> tuple[str, int, int, int]:
    """The order of items in a table: topic, kind, number."""
    return item.id[:3], list(KINDS).index(item.kind), int(item.id[5:]), item.line


def chapter_title(tree: Tree, chapter: str) -> str:
    """The first heading of a chapter."""
    text = next(source.text for source in tree.sources if source.path == chapter)
    return next((line[2:].strip() for _, line in unfenced(text) if line.startswith("# ")), chapter)


def status_row(tree: Tree, item: Item) -> str:
    """The row of an item."""
    cells = [item.id,
             cell(item.title),
             item.fields.get("level", KINDS[item.kind]),
             "<br>".join(code_cells(tree, item)),
             "<br>".join(sorted({link(test.file) for test in tree.tests_of(item)})),
             "<br>".join(f"[note](../{note.file})" for note in tree.notes_of(item)),
             "<br>".join(f"{link(tree.theorems[name])} `{name}`" for name in proved_names(item)
                         if name in tree.theorems)]
    return "| " + " | ".join(cells) + " |"


def cell(text: str) -> str:
    """Text within a table."""
    return text.replace("|", "\\|")


def code_cells(tree: Tree, item: Item) -> list[str]:
    """Where an item stands in the code: its functions, or the files that require it."""
    if item.kind == "C":
        return sorted({link(mention.file) for mention in tree.quoted if mention.id == item.id})
    return [f"{link(header_path(tree, header) or header)} `{name}`"
            for header, name in code_references(item.fields.get("code", ""))]


def link(path: str) -> str:
    """A Markdown link from the status page to a file, under its short name."""
    short = re.sub(r"^(src/attest|src|tests|proofs_notes)/", "", path)
    return f"[{short}](../{path})"


# ---------------------------------------------------------------- the frozen properties

def properties_page(tree: Tree) -> str:
    """The page spec/properties.md: what is frozen now, and what has been frozen before."""
    items = [item for item in tree.items if is_frozen(tree, item)]
    chapters = sorted({item.file for item in items})
    return "\n".join([
        "# Properties", "",
        "The frozen list: what chapters 00 to 16 claim. Later work adds to it and proves",
        "it. An item does not leave it, and no level is lowered, without an edit of this page by hand.",
        "",
        f"From strong to weak, the levels are: {', '.join(reversed(STRENGTH))}.",
        "Another bound than before counts as lower.", "",
        f"Written by `{REFRESH_PROPERTIES}`, which adds and raises.", "",
        *(line for chapter in chapters for line in properties_table(tree, chapter, items))])


def is_frozen(tree: Tree, item: Item) -> bool:
    """Whether the page lists an item: by its chapter, or because it once did."""
    return item.kind in "PB" and (FROZEN.fullmatch(item.file) is not None or item.id in tree.frozen)


def properties_table(tree: Tree, chapter: str, items: list[Item]) -> list[str]:
    """The table of a chapter."""
    return [f"## [{chapter_title(tree, chapter)}]({posixpath.basename(chapter)})", "",
            "| id | title | level |",
            "| --- | --- | --- |",
            *(f"| {item.id} | {cell(item.title)} | {level_of(item)} |"
              for item in sorted(items, key=order_of) if item.file == chapter), ""]


def level_of(item: Item) -> str:
    """The level that the page states of a property; a bound has none."""
    return "bound" if item.kind == "B" else item.fields.get("level", "none")


def properties_stand(tree: Tree) -> Iterator[Orphan]:
    """Nothing has vanished from the frozen list, and no level of it is lower than it was."""
    items = {item.id: item for item in tree.items}
    for name, frozen in tree.frozen.items():
        item = items.get(name)
        if item is None:
            yield Orphan(PROPERTIES, 1, name, "frozen, and no longer in the spec; to give it up, "
                                              "remove it from this page by hand")
        elif is_lower(level_of(item), frozen):
            yield missing_from(item, f"the level `{level_of(item)}` is lower than the frozen "
                                     f"`{frozen}`; to lower it, edit {PROPERTIES} by hand")


def is_lower(level: str, frozen: str) -> bool:
    """Whether a level is another one and no stronger. Two different bounds cannot be compared."""
    return level != frozen and strength(level) <= strength(frozen)


def strength(level: str) -> int:
    """The place of a level from weak to strong; what is none is the weakest."""
    return next((place for place, name in enumerate(STRENGTH) if level.startswith(name)), -1)


def properties_are_listed(root: Path, tree: Tree) -> Iterator[Orphan]:
    """Whether the page lists every property, at the level that it has now."""
    path = root / PROPERTIES
    page = path.read_text(encoding="utf-8") if path.is_file() else ""
    if page != properties_page(tree) and not list(properties_stand(tree)):
        missing = [item.id for item in tree.items
                   if is_frozen(tree, item) and item.id not in tree.frozen]
        what = f"lacks {', '.join(missing)}" if missing else "not current"
        yield Orphan(PROPERTIES, 1, "properties", f"{what}; refresh it with: {REFRESH_PROPERTIES}")


# ---------------------------------------------------------------- the command

CHECKS: tuple[Callable[[Tree], Iterator[Orphan]], ...] = (
    headings_are_well_formed, ids_are_unique, numbers_have_no_gaps, mentioned_ids_exist,
    definitions_have_code, constraints_are_required, includes_point_downwards,
    items_are_tested, tests_fit_their_ids,
    properties_state_their_level, properties_have_a_note, note_names_are_well_formed,
    notes_are_complete, sentences_agree, theorems_exist,
    exact_properties_are_proved, theorems_are_in_notes, bounds_are_in_notes, properties_stand)


def orphans_of(tree: Tree) -> list[Orphan]:
    """All that is missing, sorted by place; a tree without items is not worth a pass."""
    if not tree.items:
        return [Orphan("spec", 1, "spec", "no items; is this the root of the repository?")]
    return sorted({orphan for check in CHECKS for orphan in check(tree)})


def status_is_current(root: Path, tree: Tree) -> list[Orphan]:
    """Whether spec/status.md says what the tree says."""
    path = root / STATUS
    if path.is_file() and path.read_text(encoding="utf-8") == status_page(tree):
        return []
    return [Orphan(STATUS, 1, "status", f"not current; refresh it with: {REFRESH}")]


def write_pages(root: Path, tree: Tree, options: argparse.Namespace) -> Tree:
    """Writes the pages that are asked for; returns the tree as it is then."""
    if options.write_properties and not list(properties_stand(tree)):
        (root / PROPERTIES).write_text(properties_page(tree), encoding="utf-8")
        tree = read_tree(root)
    if options.write_status:
        (root / STATUS).write_text(status_page(tree), encoding="utf-8")
    return tree


def main(arguments: list[str] | None = None) -> int:
    """Runs the checks, prints what is missing, and returns the exit status."""
    parser = argparse.ArgumentParser(description="Checks that no id is an orphan.")
    parser.add_argument("--root", type=Path, required=True, help="the root of the repository")
    parser.add_argument("--write-status", action="store_true", help="write spec/status.md first")
    parser.add_argument("--write-properties", action="store_true",
                        help="add new properties and raised levels to spec/properties.md first")
    options = parser.parse_args(arguments)
    tree = read_tree(options.root)
    if tree.items:
        tree = write_pages(options.root, tree, options)
    orphans = orphans_of(tree)
    if tree.items:
        orphans += [*properties_are_listed(options.root, tree),
                    *status_is_current(options.root, tree)]
    for orphan in orphans:
        print(orphan)
    if not orphans:
        print(f"{len(tree.items)} items, no orphan")
    return 1 if orphans else 0


if __name__ == "__main__":
    sys.exit(main())
