#!/usr/bin/env python3
"""Sound files that are no case, and paths that lead to none: refused with one line."""

from __future__ import annotations

import os
import unittest

from archive import Archive, Tensor, tensor, write
from command import RefusalCase, filled, small_case


class Content(RefusalCase):
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
                             ("CAS.C8: nothing to check", Archive({}))):
            with self.subTest(line=line):
                path = write(self.folder / "result", result)
                self.assert_refused("check", case, "--result", path, line=line)


class Paths(RefusalCase):
    """Paths that lead to no case."""

    def test_no_regular_file(self) -> None:
        os.mkfifo(self.folder / "pipe")
        (self.folder / "dangling").symlink_to("nowhere")
        (self.folder / "loop").symlink_to("loop")
        for path in ("missing", "old/below", "pipe", "dangling", "loop", "/dev/zero", "/dev/null",
                     "", "x" * 300):
            with self.subTest(path=path[:20]):
                self.refuse(path, "CAS.C16: ")

    def test_a_name_of_two_lines_is_shown_on_one(self) -> None:
        for path in ("a\nb", "a\rb", "a\x1b[2Jb"):
            run = self.run_attest("check", path)
            self.assertEqual((run.returncode, run.stderr.count("\n")), (2, 1), run.stderr)
            self.assertNotRegex(run.stderr, r"[\r\x1b]")

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
