#!/usr/bin/env python3
"""Files that an adversary wrote: refused with one line, in time, and nothing is written."""

from __future__ import annotations

import json
import os
import struct
import unittest
from pathlib import Path

from archive import Archive, Tensor, container, entries, tensor, write
from command import CommandCase, filled, small_case


class HostileCase(CommandCase):
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


class Bytes(HostileCase):
    """Wrong from the first byte on."""

    def test_truncated_anywhere(self) -> None:
        file = self.write(small_case()).read_bytes()
        for length in range(len(file)):
            (self.folder / "cut").write_bytes(file[:length])
            self.assert_refused("check", "cut")

    def test_followed_by_more(self) -> None:
        self.refuse_bytes(self.write(small_case()).read_bytes() + b"\0", "CAS.C3: data_offsets: ")

    def test_any_byte_of_the_header_changed(self) -> None:
        """Most changes are refused; none crashes or hangs."""
        file = bytearray(self.write(small_case()).read_bytes())
        end = 8 + struct.unpack_from("<Q", file)[0]
        for place in range(end):
            for flip in (0x01, 0x80):
                file[place] ^= flip
                (self.folder / "changed").write_bytes(file)
                run = self.run_attest("check", "changed", timeout=2)
                self.assertIn(run.returncode, (0, 1, 2), place)
                file[place] ^= flip

    def test_header_lengths(self) -> None:
        header = b'{"q":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'
        for length in (len(header) + 1, 2 ** 32, 2 ** 63, 2 ** 64 - 8, 2 ** 64 - 1):
            self.refuse_bytes(struct.pack("<Q", length) + header, "CAS.C1: header length: ")
        for length in (0, 1, len(header) - 1):
            self.refuse_bytes(struct.pack("<Q", length) + header, "CAS.C2: header: ")

    def test_a_header_of_more_than_100_mb(self) -> None:
        with (self.folder / "case").open("wb") as file:
            file.write(struct.pack("<Q", 100_000_001) + b"{")
            file.truncate(100_000_009)
        self.refuse("case", "CAS.C1: header length: at most 100 MB")


class Header(HostileCase):
    """JSON of another form."""

    ENTRY = '{"dtype":"F32","shape":[0],"data_offsets":[0,0]}'

    def test_no_object(self) -> None:
        for header in ("[]", "0", '"q"', "null", " {}", "", "\ufeff{}"):
            self.refuse_bytes(container(header.encode()))

    def test_invalid_json(self) -> None:
        for header in ("{", "{]", '{"q"}', '{"q":}', '{"a":{},}', "{}{}", "{} x", "{'q':{}}",
                       '{"q":' + self.ENTRY + "} \0", '{"__metadata__":{"a":"\\x"}}',
                       '{"__metadata__":{"a":"\\ud800"}}', '{"q":{"shape":[01]}}',
                       '{"q":{"shape":[1e]}}', '{"q":{"shape":[--1]}}'):
            with self.subTest(header=header):
                self.refuse_header(header, "CAS.C2: ")

    def test_no_utf8(self) -> None:
        for text in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\xe2\x82"):
            self.refuse_header(b'{"__metadata__":{"a":"' + text + b'"}}', "CAS.C2: ")

    def test_deep(self) -> None:
        for bracket in ("[", '{"a":', '{"q":[', "[{"):
            self.refuse_header('{"q":' + bracket * 100_000, "CAS.C2: ")
            self.refuse_header('{"q":{"shape":' + bracket * 100_000, "CAS.C2: ")
            self.refuse_header('{"__metadata__":{"a":' + bracket * 100_000, "CAS.C2: ")

    def test_keys_twice(self) -> None:
        for header in ('{"q":%s,"q":%s}' % (self.ENTRY, self.ENTRY),
                       '{"q":%s,"\\u0071":%s}' % (self.ENTRY, self.ENTRY),
                       '{"q":{"dtype":"F32","dtype":"F32","shape":[0],"data_offsets":[0,0]}}',
                       '{"q":{"shape":[0],"dtype":"F32","shape":[0],"data_offsets":[0,0]}}',
                       '{"__metadata__":{"a":"1","a":"1"}}',
                       '{"__metadata__":{},"__metadata__":{}}'):
            with self.subTest(header=header):
                self.refuse_header(header, "CAS.C2: [^ ]*: the key only once here")

    def test_entries_of_another_form(self) -> None:
        for entry in ("{}", "[]", '"x"', "1", "null", "true",
                      self.ENTRY.replace('"F32"', "1"), self.ENTRY.replace('"F32"', "null"),
                      self.ENTRY.replace("[0]", "0"), self.ENTRY.replace("[0]", "[-1]"),
                      self.ENTRY.replace("[0]", "[0.5]"), self.ENTRY.replace("[0]", "[1e400]"),
                      self.ENTRY.replace("[0]", '["0"]'), self.ENTRY.replace("[0]", "[[0]]"),
                      self.ENTRY.replace("[0]", "[18446744073709551616]"),
                      self.ENTRY.replace("[0]", str([0] * 17)),
                      self.ENTRY.replace("[0,0]", "[0]"), self.ENTRY.replace("[0,0]", "[0,0,0]"),
                      self.ENTRY.replace("[0,0]", "[]"),
                      self.ENTRY.replace("shape", "sharp"), self.ENTRY[:-1] + ',"more":1}',
                      self.ENTRY[:-1] + ',"more":"x"}', self.ENTRY[:-1] + ',"more":[]}'):
            with self.subTest(entry=entry):
                self.refuse_header('{"q":%s}' % entry, "CAS.C2: q")

    def test_metadata_of_another_form(self) -> None:
        for metadata in ("[]", '"x"', "1", '{"a":1}', '{"a":null}', '{"a":["x"]}', '{"a":{}}'):
            with self.subTest(metadata=metadata):
                self.refuse_header('{"__metadata__":%s}' % metadata, "CAS.C2: __metadata__")

    def test_texts_that_would_garble_a_terminal(self) -> None:
        for text in ("\\n", "\\u001b[2J", "\\u0000", "\\u007f", "x" * 1025):
            self.refuse_header('{"%s":%s}' % (text, self.ENTRY), "CAS.C2: ")
            self.refuse_header('{"q":%s}' % self.ENTRY.replace("F32", text), "CAS.C2: ")
            self.refuse_header('{"__metadata__":{"schema":"%s"}}' % text, "CAS.C2: ")
            self.refuse_header('{"__metadata__":{"%s":"x"}}' % text, "CAS.C2: ")


class Claims(HostileCase):
    """A header that promises what the file does not hold."""

    def refuse_entry(self, line: str, **changes: object) -> None:
        """The small case with another entry for q is refused."""
        header, data = entries(small_case())
        header["q"] = header["q"] | changes
        with self.subTest(line=line, **changes):
            self.refuse_header(json.dumps(header), line, data)

    def test_offsets(self) -> None:
        for offsets in ([0, 2 ** 32], [2 ** 32, 2 ** 32 + 32], [32, 0], [2 ** 63, 2 ** 63 + 32],
                        [2 ** 64 - 32, 0], [0, 2 ** 64 - 1]):
            self.refuse_entry("CAS.C3: q.data_offsets: 0 <= begin <= end <= ",
                              data_offsets=offsets)
        for offsets in ([4, 36], [1, 33], [24, 56]):
            self.refuse_entry("CAS.C3: ", data_offsets=offsets)
        self.refuse_entry("CAS.C4: q: ", data_offsets=[0, 28])

    def test_two_tensors_on_the_same_bytes(self) -> None:
        header, data = entries(small_case())
        header["out"]["data_offsets"] = header["q"]["data_offsets"]
        self.refuse_header(json.dumps(header), "CAS.C3: ", data[:-32])
        self.refuse_header(json.dumps(header), "CAS.C3: ", data)

    def test_a_gap(self) -> None:
        header, data = entries(small_case())
        header["out"]["data_offsets"] = [n + 8 for n in header["out"]["data_offsets"]]
        self.refuse_header(json.dumps(header), "CAS.C3: out", data[:-32] + bytes(8) + data[-32:])

    def test_shapes(self) -> None:
        for shape in ([2 ** 32, 2 ** 32], [2 ** 63, 2], [2 ** 64 - 1], [2 ** 32] * 4, [2 ** 16] * 4,
                      [2 ** 62, 4], [1, 2, 2, 2 ** 30], [3] * 16):
            self.refuse_entry("CAS.C4: q: ", shape=shape)
        for shape in ([1, 2, 2, 3], [1, 2, 2], []):
            self.refuse_entry("CAS.C4: q: F32 of shape ", shape=shape)

    def test_shapes_without_elements(self) -> None:
        for shape in ([0, 2 ** 32, 2 ** 32], [2 ** 64 - 1, 0], [2 ** 25, 0], [0, 2 ** 12, 2 ** 13]):
            self.refuse_header(json.dumps({"q": {"dtype": "F32", "shape": shape,
                                                 "data_offsets": [0, 0]}}), "CAS.C4: q: ")

    def test_dtypes(self) -> None:
        for dtype in ("F31", "f32", "", "C64", "F8_E5M2FNUZ", "U64", "F32 "):
            self.refuse_entry("CAS.C4: q.dtype: ", dtype=dtype)


class Content(HostileCase):
    """A well-formed file that is no case."""

    def test_metadata(self) -> None:
        for key, value in {"schema": "attest-case-2", "softcap": "0", "scale": "nan",
                           "dropout": "2", "causal": "True", "layout": "BHDS", "lse_base": "10",
                           "window_left": "-1", "window_right": "1.5", "q_heads": "0",
                           "arithmetic": "", "alignment": "bottom_right"}.items():
            self.refuse_case(f"CAS.C7: {key}: ", {key: value})
        for cap in ("-0", "-1", "nan", "inf", "1e999", "0x", "1,5", " 1", "1 ", "+1", "--1", ""):
            self.refuse_case("CAS.C7: softcap: ", {"softcap": cap})
        self.refuse_case("CAS.C7: schema: ", {"schema": None})
        self.refuse_case("CAS.C5: casual: ", {"casual": "true"})
        self.refuse_case("CAS.C6: convention: ", {"convention": "flash-9"})
        self.refuse_case("CAS.C6: convention: without one every key must be given, missing are "
                         "layout, scale, softcap, ", {"convention": None})

    def test_tensors_that_are_missing_or_unknown(self) -> None:
        for name in ("q", "k", "v"):
            self.refuse_case(f"CAS.C8: {name}: ", {name: None})
        self.refuse_case("CAS.C8: Q: ", {"Q": filled("F32", 1)})
        self.refuse_case("CAS.C8: past_v: ", {"past_k": filled("F32", 1, 1, 1, 2)})
        self.refuse_case("CAS.C8: cu_seqlens_q: ", {"cu_seqlens_q": tensor("I32", (2,), [0, 2])})
        self.refuse_case("CAS.C8: offsets: ", {"offsets": tensor("I32", (1,), [0])})

    def test_element_types(self) -> None:
        self.refuse_case("CAS.C10: q: ", {"q": tensor("I32", (1, 2, 2, 2), [1] * 8)})
        self.refuse_case("CAS.C10: out: ", {"out": tensor("BOOL", (1, 2, 2, 2), [True] * 8)})
        self.refuse_case("CAS.C10: visible: ", {"visible": tensor("F32", (2, 3), [1.0] * 6)})
        self.refuse_case("CAS.C10: visible: ", {"visible": tensor("U8", (2, 3), [2] * 6)})
        self.refuse_case("CAS.C10: visible: ", {"visible": Tensor("BOOL", (2, 3), b"\2" * 6)})
        self.refuse_case("CAS.C10: k_lengths: ", {"k_lengths": tensor("F32", (1,), [1.0])})
        self.refuse_case("CAS.C10: k_lengths: ", {"k_lengths": tensor("I64", (1,), [2 ** 62])})

    def test_shapes_that_do_not_fit(self) -> None:
        self.refuse_case("CAS.C9: q: ", {"q": filled("F32", 2, 2, 2)})
        self.refuse_case("CAS.C9: out: ", {"out": filled("F32", 1, 2, 2, 3)})
        self.refuse_case("CAS.C9: lse: ", {"lse": filled("F32", 2, 2)})
        self.refuse_case("CAS.C9: visible: ", {"visible": tensor("BOOL", (2, 2), [True] * 4)})
        self.refuse_case("SHP.C3: visible: ", {"visible": tensor("BOOL", (3, 3), [True] * 9)})
        self.refuse_case("SHP.C3: bias: ", {"bias": filled("F32", 4)})
        self.refuse_case("ATT.C1: ", {"k": filled("F32", 1, 1, 3, 3)})
        self.refuse_case("ATT.C2: ", {"v": filled("F32", 1, 1, 4, 2)})
        self.refuse_case("ATT.C3: ", {"k": filled("F32", 1, 3, 3, 2)})
        self.refuse_case("ATT.C9: ", {"k": filled("F32", 2, 1, 3, 2)})

    def test_numbers_without_a_meaning(self) -> None:
        infinity, nan = float("inf"), float("nan")
        for number in (nan, infinity):
            self.refuse_case("ATT.C4: bias: ", {"bias": tensor("F32", (3,), [0, number, 0])})
            self.refuse_case("ATT.C7: sink: ", {"sink": tensor("F32", (2,), [0, number])})
            self.refuse_case("ATT.C11: ", {"alibi_slopes": tensor("F32", (2,), [number, 0])})
            self.refuse_case("ATT.C11: ", {"descale_q": tensor("F32", (1,), [number])})
        self.refuse_case("MSK.C3: k_lengths: ", {"k_lengths": tensor("I32", (1,), [4])})
        self.refuse_case("MSK.C3: q_lengths: ", {"q_lengths": tensor("I32", (1,), [-1])})
        self.refuse_case("ATT.C10: kept: ", {"dropout": "0.5"})
        self.refuse_case("ATT.C10: kept: ", {"kept": tensor("BOOL", (1, 2, 2, 3), [True] * 12)})

    def test_boundaries_of_packed_sequences(self) -> None:
        packed = small_case(layout="THD") | {name: filled("F32", 3, 1, 2) for name in "qkv"}
        for starts in ([1, 3], [0, 2], [0, 2, 1, 3], [0, 4], [0, -1, 3], []):
            case = packed | {"out": None, "cu_seqlens_k": tensor("I32", (2,), [0, 3]),
                             "cu_seqlens_q": tensor("I32", (len(starts),), starts)}
            with self.subTest(starts=starts):
                self.refuse(self.write(case), "CAS.C(11|9): cu_seqlens_q: ")
        case = packed | {"cu_seqlens_q": tensor("I32", (2,), [0, 3]), "out": None}
        self.refuse(self.write(case), "CAS.C8: cu_seqlens_k: ")

    def test_results_that_are_more_than_answers(self) -> None:
        case = self.write(small_case())
        answer = {"out": filled("F32", 1, 2, 2, 2)}
        for line, result in (("CAS.C8: q: ", Archive(answer | {"q": answer["out"]})),
                             ("CAS.C5: causal: ", Archive(answer, {"causal": "true"})),
                             ("CAS.C7: layout: ", Archive(answer, {"layout": "BSHD"})),
                             ("CAS.C8: nothing to check", Archive({}, {"schema": "attest-case-1"}))):
            with self.subTest(line=line):
                path = write(self.folder / "result", result)
                self.assert_refused("check", case, "--result", path, line=line)


class Paths(HostileCase):
    """Paths that lead to no case."""

    def test_no_regular_file(self) -> None:
        os.mkfifo(self.folder / "pipe")
        (self.folder / "dangling").symlink_to("nowhere")
        (self.folder / "loop").symlink_to("loop")
        for path in ("missing", "old/below", "pipe", "dangling", "loop", "/dev/zero", "/dev/null",
                     "", "x" * 300):
            with self.subTest(path=path[:20]):
                self.refuse(path, "CAS.C16: ")

    def test_other_content(self) -> None:
        (self.folder / "folder").mkdir()
        self.refuse("folder", "CAS.C17: ")
        for content in (b"", b"{", bytes(8), bytes(9), b"PK\3\4" + bytes(100), b"\x93NUMPY" * 9):
            self.refuse_bytes(content)

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_a_file_that_cannot_be_read(self) -> None:
        self.write(small_case()).chmod(0)
        self.refuse("case.safetensors", "CAS.C16: ")

    def test_folders_that_are_no_onnx_test(self) -> None:
        model = self.folder / "folder/model.onnx"
        model.parent.mkdir()
        for content in (b"", b"\xff" * 20, b"\x0a\xff\xff\xff\xff\x0f", bytes(1000),
                        b"\x3a\x02\x0a\x00"):
            model.write_bytes(content)
            self.refuse("folder", "CAS.C1[24]: ")
        model.unlink()
        model.mkdir()
        self.refuse("folder", "CAS.C14: model.onnx: ")


if __name__ == "__main__":
    unittest.main()
