#!/usr/bin/env python3
"""Safetensors files that an adversary wrote: refused with one line, in time."""

from __future__ import annotations

import json
import struct
import unittest

from archive import container, entries
from command import PROMPT, RefusalCase, sample, small_case


class Bytes(RefusalCase):
    """Wrong from the first byte on."""

    def test_truncated_anywhere(self) -> None:
        file = self.write(small_case()).read_bytes()
        for length in sample(range(len(file))):
            (self.folder / "cut").write_bytes(file[:length])
            self.assert_refused("check", "cut")

    def test_followed_by_more(self) -> None:
        self.refuse_bytes(self.write(small_case()).read_bytes() + b"\0", "CAS.C3: data_offsets: ")

    def test_any_byte_of_the_header_changed(self) -> None:
        """Most changes are refused; none crashes or hangs."""
        file = bytearray(self.write(small_case()).read_bytes())
        end = 8 + struct.unpack_from("<Q", file)[0]
        for place in sample(range(end)):
            file[place] ^= 1
            (self.folder / "changed").write_bytes(file)
            run = self.run_attest("check", "changed", timeout=PROMPT)
            self.assertIn(run.returncode, (0, 1, 2), place)
            file[place] ^= 1

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


class Header(RefusalCase):
    """JSON of another form."""

    ENTRY = '{"dtype":"F32","shape":[0],"data_offsets":[0,0]}'

    def test_no_object(self) -> None:
        for header in ("[]", "0", '"q"', "null", " {}", "", "\ufeff{}"):
            self.refuse_bytes(container(header.encode()))

    def test_invalid_json(self) -> None:
        for header in ("{", "{]", '{"q"}', '{"q":}', '{"a":{},}', "{}{}", "{} x", "{'q':{}}",
                       '{"q":{"shape":[1e999]}}', '{"__metadata__":{"a":"\\x"}}',
                       '{"__metadata__":{"a":"\\ud800"}}', '{"q":{"shape":[01]}}',
                       '{"q":{"shape":[1e]}}', '{"q":{"shape":[--1]}}'):
            with self.subTest(header=header):
                self.refuse_header(header, "CAS.C2: ")

    def test_nothing_hides_behind_a_zero_byte(self) -> None:
        header, data = entries(small_case())
        for rest in (b"\0", b"\0 {", b" \0\0\0"):
            self.refuse_header(json.dumps(header).encode() + rest, "CAS.C2: ", data)

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
                      self.ENTRY.replace("[0]", "[0.5]"), self.ENTRY.replace("[0]", "[1e3]"),
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


class Claims(RefusalCase):
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


if __name__ == "__main__":
    unittest.main()
