#!/usr/bin/env python3
"""numpy's containers: the report of an npz file or a folder is that of the safetensors file."""

from __future__ import annotations

import json
import struct
import unittest
import zipfile

from archive import Archive, Tensor, read
from command import (BUNDLED, CAUSAL, FLOAT_MASK, MASKED, PROMPT, TEXTBOOK, CommandCase,
                     RefusalCase, filled, sample, small_case)
from numpy_files import (claiming, header_of, keys_of, members, npy, npy_of, npy_text, npz,
                         write_folder, write_npz)


class Containers(CommandCase):
    """One case in each container gets one report."""

    def assert_same_report(self, case: Archive, *paths: object, status: int = 0) -> None:
        """Each path is reported on as the safetensors file of the case."""
        due = self.report(self.write(case), status=status)
        for path in paths:
            with self.subTest(path=path):
                self.assertEqual(self.report(path, status=status), due | {"case": str(path)})

    def test_every_bundled_case(self) -> None:
        for bundled in (CAUSAL, MASKED, FLOAT_MASK, TEXTBOOK):
            case, name = read(bundled), bundled.stem
            with self.subTest(case=name):
                self.assert_same_report(
                    case,
                    write_npz(self.folder / f"{name}.npz", case),
                    write_npz(self.folder / f"{name}-packed", case, zipfile.ZIP_DEFLATED),
                    write_folder(self.folder / name, members(case)),
                    write_folder(self.folder / f"{name}-json", members(case, json_file=True)))

    def test_a_file_that_numpy_wrote(self) -> None:
        self.assert_same_report(read(TEXTBOOK), BUNDLED / "numpy-textbook-f64.npz")

    def test_any_order_of_bytes_and_elements(self) -> None:
        case = small_case()
        files = members(case)
        for name in ("q", "k"):
            one = case.tensors[name]
            numbers = struct.unpack(f"<{len(one)}f", one.data)
            files[f"{name}.npy"] = npy_of(header_of(">f4", one.shape),
                                          struct.pack(f">{len(one)}f", *numbers), version=2)
        backwards = case.tensors["v"].transposed(3, 2, 1, 0)
        files["v.npy"] = npy_of(header_of("<f4", case.tensors["v"].shape, fortran=True),
                                backwards.data, version=3)
        self.assert_same_report(case, write_folder(self.folder / "orders", files))

    def test_numbers_and_truth_values_are_keys_too(self) -> None:
        case = small_case(causal="true", scale="0.1", window_left="1", softcap="2.50")
        text = json.dumps({"schema": "attest-case-1", "convention": "attest", "causal": True,
                           "scale": 0.1, "window_left": 1, "softcap": 2.5})
        files = members(case) | {"case.npy": npy_text(text)}
        path = self.folder / "numbers"
        path.write_bytes(npz(files))
        self.assertEqual(self.report(path)["outputs"], self.report(self.write(case))["outputs"])

    def test_bits_as_integers(self) -> None:
        case = read(CAUSAL)
        files = members(case)
        for name in case.tensors:
            files[f"{name}.npy"] = files[f"{name}.npy"].replace(b"'<V2'", b"'<i2'")
        self.assert_same_report(case, write_folder(self.folder / "bits", files))

    def test_answers(self) -> None:
        case = self.write(small_case())
        out = Archive({"out": small_case().tensors["out"]})
        (self.folder / "answers.npz").write_bytes(npz({"out.npy": npy(out.tensors["out"])}))
        write_folder(self.folder / "answers", members(out, json_file=True))
        due = self.report(case)["outputs"]
        for answers in ("answers.npz", "answers"):
            self.assertEqual(self.report(case, "--result", answers)["outputs"], due)

    def test_eval_and_the_worst_row(self) -> None:
        case = write_npz(self.folder / "case.npz", small_case())
        self.assertEqual(self.evaluated(case).tensors,
                         self.evaluated(self.write(small_case())).tensors)
        self.attest("check", case, "--dump-worst", "row.safetensors")
        self.report("row.safetensors")


class Refusals(RefusalCase):
    """Containers that an adversary wrote."""

    SMALL = npz(members(small_case()))
    ONE = npz({"q.npy": npy(filled("F32", 3))}, zip64=False)
    PACKED = npz({"q.npy": npy(Tensor("U8", (100_000,), bytes(100_000)))}, zipfile.ZIP_DEFLATED,
                 zip64=False)

    def refuse_npz(self, line: str, changes: dict[str, bytes | None]) -> None:
        """The small case with these members is refused, as an npz file."""
        files = members(small_case(), json_file=True) | changes
        with self.subTest(line=line, changes=list(changes)):
            self.refuse_bytes(npz({name: one for name, one in files.items() if one is not None}),
                              line)

    def refuse_keys(self, line: str, keys: str) -> None:
        """The small case with these keys is refused."""
        self.refuse_npz(line, {"case.json": keys.encode()})

    def test_truncated_anywhere(self) -> None:
        for length in sample(range(1, len(self.SMALL), 7)):
            (self.folder / "cut").write_bytes(self.SMALL[:length])
            self.assert_refused("check", "cut")

    def test_any_byte_changed(self) -> None:
        """Most changes are refused; none crashes or hangs."""
        file = bytearray(self.SMALL)
        for place in sample(range(0, len(file), 3)):
            file[place] ^= 1
            (self.folder / "changed").write_bytes(file)
            run = self.run_attest("check", "changed", timeout=PROMPT)
            self.assertIn(run.returncode, (0, 2), place)
            file[place] ^= 1

    def test_more_before_or_behind(self) -> None:
        self.refuse_bytes(self.SMALL + b"\0", "CAS.C23: zip: ")
        self.refuse_bytes(b"PK\3\4" + self.SMALL, "CAS.C23: zip: ")

    def test_names(self) -> None:
        for name in ("../q.npy", "/q.npy", "a/q.npy", "a\\q.npy", "visible.npz", "README", "a/"):
            self.refuse_npz("CAS.C22: ", {name: b""})
        self.refuse_npz("CAS.C22: ", {"case.npy": npy_text("{}")})
        self.refuse_npz("CAS.C8: visibel: ", {"visibel.npy": npy(filled("F32", 3))})
        self.refuse_npz("CAS.C8: k: ", {"k.npy": None})
        self.refuse_npz("CAS.C7: schema: ", {"case.json": None})

    def test_the_same_name_twice(self) -> None:
        two = npz({"q.npy": npy(filled("F32", 3)), "p.npy": npy(filled("F32", 3))}, zip64=False)
        self.refuse_bytes(claiming(two, "name", b"p.npy"), "CAS.C22: zip: each name only once")

    def test_encrypted_or_packed_in_other_ways(self) -> None:
        self.refuse_bytes(claiming(self.ONE, "flags", 1), "CAS.C23: q.npy: .* not encrypted")
        for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
            self.refuse_bytes(npz(members(small_case()), method), "CAS.C23: q.npy: stored, or")
        self.refuse_bytes(claiming(self.ONE, "method", 99), "CAS.C23: ")

    def test_a_wrong_checksum(self) -> None:
        for file in (self.ONE, self.PACKED):
            self.refuse_bytes(claiming(file, "checksum", 0), "CAS.C23: q.npy: ")

    def test_a_wrong_size(self) -> None:
        for size in (0, 1, 100_127, 100_129, 120_000):
            self.refuse_bytes(claiming(self.PACKED, "size", size), "CAS.C23: q.npy: ")
        self.refuse_bytes(claiming(self.PACKED, "size", 2 ** 32 - 2), "CAS.C24: q.npy: ")

    def test_bombs(self) -> None:
        zeros = npy_of(header_of("|u1", (2 ** 28,)), bytes(2 ** 28))
        self.refuse_bytes(npz({"q.npy": zeros}, zipfile.ZIP_DEFLATED), "CAS.C24: zip: ")

    def test_a_directory_that_claims_a_great_many_members(self) -> None:
        for count in (2 ** 20, 2 ** 32, 2 ** 60, 2 ** 64 - 1):
            for size in (0, 46, 46 * count % 2 ** 64):
                wide = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, size,
                                   0)
                where = struct.pack("<IIQI", 0x07064B50, 0, len(self.ONE), 1)
                end = struct.pack("<IHHHHIIH", 0x06054B50, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF,
                                  2 ** 32 - 1, 2 ** 32 - 1, 0)
                self.refuse_bytes(self.ONE + wide + where + end, "CAS.C23: zip: ")

    def test_headers(self) -> None:
        data = small_case().tensors["q"].data
        good = header_of("<f4", (1, 2, 2, 2))
        for version in (0, 4):
            self.refuse_npz("CAS.C18: q.npy: ", {"q.npy": npy_of(good, data, version)})
        for header in ("{}", "{" * 5000, good * 2, good.replace("False", "0"),
                       good.replace("(", ""), "__import__('os').system('true')",
                       good.replace("'<f4'", "[('a', '<f4')]"),
                       good.replace("'<f4'", "'<f4\\x00'"), good + " " * 10_000):
            self.refuse_npz("CAS.C18: q.npy: ", {"q.npy": npy_of(header, data)})
        for shape in ((1, 2, 2), (1, 2, 2, 3), (2 ** 32, 2 ** 32), (0, 2 ** 40), (2 ** 62 + 2, 4)):
            self.refuse_npz("CAS.C20: q.npy: ", {"q.npy": npy_of(header_of("<f4", shape), data)})
        self.refuse_npz("CAS.C18: q.npy: ", {"q.npy": b""})

    def test_types(self) -> None:
        data = small_case().tensors["q"].data
        for descr in ("|O", "<c8", "<u4", "<V4", "<U1", "<M8[s]"):
            header = header_of(descr, (1, 2, 2, 2))
            self.refuse_npz("CAS.C19: q.npy.descr: ", {"q.npy": npy_of(header, data)})
        self.refuse_npz("CAS.C19: case.npy.descr: ",
                        {"case.json": None, "case.npy": npy_of(header_of("|O", ()), b"pickle")})
        declared = json.loads(keys_of(small_case()))
        self.refuse_keys("CAS.C19: dtypes.visible: ",
                         json.dumps(declared | {"dtypes": {"visible": "BOOL"}}))
        self.refuse_keys("CAS.C19: q.npy.descr: BF16 ",
                         json.dumps(declared | {"dtypes": {"q": "BF16"}}))

    def test_keys(self) -> None:
        for keys in ("", "[]", "null", '{"a": null}', '{"a": [1]}', '{"a": {}}', '{"a": NaN}',
                     '{"a": 1, "a": 1}', '{"a": "\\n"}', '{"dtypes": "BF16"}', "\ufeff", "{}{}",
                     "{" * 100_000, '{"a": ' + "[" * 100_000):
            self.refuse_keys("CAS.C21: case.json: ", keys)
        self.refuse_keys("CAS.C5: casual: ", json.dumps(
            json.loads(keys_of(small_case())) | {"casual": True}))

    def test_a_folder(self) -> None:
        folder = write_folder(self.folder / "folder", members(small_case()))
        (folder / "notes.txt").write_text("")
        self.refuse("folder", 'CAS.C22: "notes.txt": ')
        (folder / "notes.txt").unlink()
        (folder / "bias.npy").symlink_to("/dev/zero")
        self.refuse("folder", "CAS.C16: ")

    def test_nothing_that_is_read_is_overwritten(self) -> None:
        folder = write_folder(self.folder / "folder", members(small_case()))
        before = (folder / "q.npy").read_bytes()
        self.assert_refused("eval", "folder", "-o", "folder/q.npy", line="CAS.C15: ")
        self.assertEqual((folder / "q.npy").read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
