#!/usr/bin/env python3
"""Writes the seeds of the fuzz corpora: small files of every form, valid and nearly valid.

    python3 make_corpus.py          writes corpus/TARGET/NAME beside this script
"""

from __future__ import annotations

import json
import struct
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "command"))
from archive import WIDTHS, Archive, Tensor, container, entries, tensor  # noqa: E402
from command import filled, small_call, small_case  # noqa: E402
from numpy_files import (  # noqa: E402
    claiming, header_of, keys_of, members, npy, npy_of, npy_text, npz)
from onnx_file import message, varint  # noqa: E402
from test_layers import rich_layer, small_layer  # noqa: E402

# ---------------------------------------------------------------- safetensors


def archives() -> dict[str, Archive]:
    """Cases that use every tensor and every layout."""
    starts = tensor("I16", (3,), [0, 1, 3])
    packed = {name: filled("F16", 3, 1, 2) for name in ("q", "k", "v")}
    flat = {name: filled("F32", 1, 2, 4) for name in ("q", "k", "v")}
    heads = {"q_heads": "2", "k_heads": "2", "v_heads": "1"}
    one = tensor("F32", (1,), [2.0])
    return {
        "answers": small_case(causal="true") | {"lse": filled("F64", 1, 2, 2),
                                                "weights": filled("F32", 1, 2, 2, 3),
                                                "scores": filled("F16", 1, 2, 2, 3)},
        "masks": small_call(mask_axes="batch_first", softcap="0x1.8p+0", window_left="1") | {
            "visible": tensor("BOOL", (1, 3), [True, False, True]),
            "bias": filled("F16", 1, 2, 1), "k_lengths": tensor("U8", (1,), [2]),
            "q_lengths": tensor("I32", (1,), [1]), "prefix_lengths": tensor("I64", (1,), [3])},
        "short_mask": small_call(convention="onnx-24") | {"bias": filled("F32", 2, 1)},
        "factors": small_call(alibi_form="signed", alignment="offsets") | {
            "offsets": tensor("I8", (1,), [-1]), "alibi_slopes": filled("F32", 2),
            "sink": filled("F32", 2), "descale_q": one, "descale_k": one, "descale_v": one},
        "dropout": small_call(dropout="0.5", weights_are="dropped", empty_row="nan") | {
            "kept": tensor("BOOL", (1, 2, 2, 3), [True, False] * 6),
            "document_q": tensor("I32", (1, 2), [0, 1]),
            "document_k": tensor("I32", (1, 3), [0, 1, 1])},
        "past": small_call(alignment="after_past") | {"past_k": filled("F32", 1, 1, 2, 2),
                                                      "past_v": filled("F32", 1, 1, 2, 2)},
        "bsd": small_call(layout="BSD", convention="flash-2") | flat | heads,
        "thd": small_call(layout="THD") | packed | {"cu_seqlens_q": starts, "cu_seqlens_k": starts,
                                                    "lse": filled("F32", 1, 3)},
        "unknown_tensor": small_case() | {"o": filled("F32", 1)},
        "no_convention": small_case() | {"convention": None},
        "layer": small_layer(),
        "layer_with_rows": rich_layer() | {"kept": None, "probability": None, "visible": None},
        "layer_in_training": small_layer(training="true", weight_axes="in_out") | {
            "probability": tensor("F32", (), [0.25]), "kept": tensor("BOOL", (2, 2, 2, 3), [True] * 24),
            "key_padding": tensor("BOOL", (2, 3), [True, False] * 3)},
    }


def safetensors() -> dict[str, bytes]:
    """The cases as files, and some that a header spoils."""
    files = {}
    for name, archive in archives().items():
        header, data = entries(archive)
        files[name] = container(json.dumps(header, separators=(",", ":")).encode(), data)
    header, data = entries(small_case())
    text = json.dumps(header).encode()
    files["twice"] = container(text.replace(b'"k"', b'"q"'), data)
    files["deep"] = container(b'{"q":{"shape":' + b"[" * 40, data)
    files["long_header"] = struct.pack("<Q", 2 ** 32) + text + data
    header["q"]["shape"] = [2 ** 32, 2 ** 32]
    files["overflow"] = container(json.dumps(header).encode(), data)
    header["q"] |= {"shape": [0, 2 ** 24], "data_offsets": [32, 16]}
    files["offsets"] = container(json.dumps(header).encode(), data)
    return files


# ---------------------------------------------------------------- numpy


def npy_files() -> dict[str, bytes]:
    """Arrays of each type, version and order, and headers that lie."""
    numbers = struct.pack("<6f", 0.25, -1.5, 2.0, 0.0, 1.0, -0.0)
    files = {dtype.lower(): npy(filled(dtype, 2, 3)) for dtype in ("F64", "F32", "F16")}
    files |= {dtype.lower(): npy(Tensor(dtype, (3,), bytes(range(1, 1 + 3 * WIDTHS[dtype]))))
              for dtype in ("I64", "I32", "I16", "I8", "U8", "BF16", "F8_E4M3", "F8_E5M2")}
    files |= {f"version_{version}": npy_of(header_of("<f4", (2, 3)), numbers, version)
              for version in (2, 3, 4)}
    headers = {"fortran": header_of("<f4", (3, 2), fortran=True),
               "big_endian": header_of(">f4", (2, 3)),
               "named": header_of("bfloat16", (3, 4)),
               "structured": "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}",
               "object": header_of("|O", (3,)),
               "overflow": header_of("<f4", (2 ** 32, 2 ** 32)),
               "empty": header_of("<f4", (0, 2 ** 20)),
               "too_empty": header_of("<f4", (0, 2 ** 20, 2)),
               "number": "{'shape': (6), 'descr': \"<f4\", 'fortran_order': False}",
               "twice": header_of("<f4", (6,)).replace("fortran_order", "descr")}
    files |= {name: npy_of(header, b"" if "empty" in name else numbers)
              for name, header in headers.items()}
    return files | {"boolean": npy_of(header_of("|b1", (3,)), b"\0\1\2"),
                    "text": npy_text("{}\u00e4\u20ac\U0001d11e"),
                    "text_surrogate": npy_of(header_of("<U1", ()), b"\0\xd8\0\0"),
                    "bytes": npy_of(header_of("|S2", ()), b"{}")}


def npz_files() -> dict[str, bytes]:
    """Archives of either method, and members that lie."""
    keys = {"case.json": b'{"schema": "attest-case-1"}'}
    small = npz(keys | {"q.npy": npy(filled("F16", 3))}, zip64=False)
    packed = npz({"q.npy": npy(Tensor("U8", (4096,), bytes(4096)))}, zipfile.ZIP_DEFLATED,
                 zip64=False)
    return {"stored": npz(members(small_case())),
            "deflated": npz(members(small_case(), json_file=True), zipfile.ZIP_DEFLATED),
            "small": small, "packed": packed, "none": npz({}),
            "one_name": npz(keys | {"case.npy": npy_text("{}")}),
            "path": npz({"../q.npy": b""}), "folder": npz({"q/": b""}),
            "bzip2": npz(keys, zipfile.ZIP_BZIP2),
            "encrypted": claiming(small, "flags", 1),
            "checksum": claiming(small, "checksum", 0),
            "larger": claiming(packed, "size", 2 ** 32 - 2),
            "smaller": claiming(packed, "size", 4000)}


def case_keys() -> dict[str, bytes]:
    """Keys of every kind, and JSON of another form."""
    texts = {"all": '{"schema":"attest-case-1","causal":true,"scale":0.125,"window_left":3,'
                    '"k_lengths":-1,"softcap":1e999,"dtypes":{"q":"BF16","k":"F8_E4M3"}}',
             "nested": '{"dtypes":{"dtypes":{}}}', "twice": '{"a":"1","a":1}',
             "dtypes_twice": '{"dtypes":{},"dtypes":{}}', "dtypes_text": '{"dtypes":"BF16"}',
             "list": '{"a":[1]}', "null": '{"a":null}', "bare": "true",
             "control": '{"a":"\\u0000"}',
             "unknown": '{"dtypes":{"q":"F4"}}', "surrogate": '{"a":"\\ud834\\udd1e"}'}
    return {name: text.encode() for name, text in texts.items()} | {
        "factors": keys_of(archives()["factors"]).encode()}


# ---------------------------------------------------------------- ONNX, as protobuf writes it


def onnx_tensor(dims: Iterable[int], dtype: int, *data: tuple[int, int | bytes]) -> bytes:
    """A TensorProto; `data` are its fields with data."""
    return message(*((1, dim) for dim in dims), (2, dtype), *data, (8, "x"))


def onnx_tensors() -> dict[str, bytes]:
    """Each field that data may lie in, and data that do not fit."""
    floats = struct.pack("<4f", 0.25, -1.5, 2.0, 0.0)
    return {
        "raw_f32": onnx_tensor([1, 2, 2], 1, (9, floats)),
        "raw_f16": onnx_tensor([4], 10, (9, struct.pack("<4e", 0.25, -1.5, 2.0, 0.0))),
        "raw_bool": onnx_tensor([2, 2], 9, (9, b"\1\0\1\1")),
        "raw_i64": onnx_tensor([2], 7, (9, struct.pack("<2q", 3, -1))),
        "float_data": onnx_tensor([4], 1, (4, floats)),
        "double_data": onnx_tensor([1], 11, (10, struct.pack("<d", 0.1))),
        "int64_data": onnx_tensor([2], 7, (7, varint(3) + varint(-1))),
        "int32_data": onnx_tensor([2], 16, (5, varint(0x3F80) + varint(0x7FC0))),
        "scalar": onnx_tensor([], 1, (9, floats[:4])),
        "empty": onnx_tensor([0, 3], 1),
        "negative_extent": onnx_tensor([-1, 4], 1, (9, floats)),
        "overflow": onnx_tensor([2 ** 32, 2 ** 32], 1, (9, floats)),
        "two_fields": onnx_tensor([4], 1, (9, floats), (4, floats)),
        "external": onnx_tensor([4], 1, (13, message((1, "location"), (2, "x"))), (14, 1)),
    }


def value(name: str, dtype: int, *dims: int) -> bytes:
    """A ValueInfoProto of a tensor."""
    shape = message(*((1, message((1, dim))) for dim in dims))
    return message((1, name), (2, message((1, message((1, dtype), (2, shape))))))


def attribute(name: str, number: int | float) -> bytes:
    """An AttributeProto with an integer or a float."""
    if isinstance(number, int):
        return message((1, name), (3, number), (20, 2))
    return message((1, name), (2, number), (20, 1))


def model(opset: int, inputs: list[str], outputs: list[str], *attributes: bytes,
          nodes: int = 1, op_type: str = "Attention") -> bytes:
    """A ModelProto of nodes of one operator; an empty name is an absent slot."""
    node = message(*((1, name) for name in inputs), *((2, name) for name in outputs),
                   (4, op_type), *((5, one) for one in attributes))
    graph = message(*[(1, node)] * nodes, (2, "g"),
                    *((11, value(name, 1, 1, 2, 2, 2)) for name in inputs if name),
                    *((12, value(name, 1, 1, 2, 2, 2)) for name in outputs if name))
    return message((1, 10), (7, graph), (8, message((1, ""), (2, opset))))


def onnx_models() -> dict[str, bytes]:
    """Each version with what is its own, and models that are refused."""
    every = [attribute("is_causal", 1), attribute("scale", 0.5), attribute("softcap", 2.0),
             attribute("qk_matmul_output_mode", 2), attribute("softmax_precision", 1)]
    return {
        "plain_23": model(23, ["Q", "K", "V"], ["Y"]),
        "all_23": model(23, ["Q", "K", "V", "M", "PK", "PV"], ["Y", "NK", "NV", "S"], *every),
        "heads_23": model(23, ["Q", "K", "V"], ["Y"], attribute("q_num_heads", 4),
                          attribute("kv_num_heads", 2)),
        "nonpad_24": model(24, ["Q", "K", "V", "", "", "", "N"], ["Y"], *every),
        "window_25": model(26, ["Q", "K", "V"], ["Y"], attribute("left_window_size", 3),
                           attribute("right_window_size", -1)),
        "opset_22": model(22, ["Q", "K", "V"], ["Y"]),
        "two_nodes": model(23, ["Q", "K", "V"], ["Y"], nodes=2),
        "twice": model(23, ["Q", "K", "V"], ["Y"], every[1], every[1]),
        "half_past": model(23, ["Q", "K", "V", "", "PK"], ["Y"]),
        "nan_scale": model(23, ["Q", "K", "V"], ["Y"], attribute("scale", float("nan"))),
        "softmax_11": model(11, ["X"], ["Y"], attribute("axis", -1), op_type="Softmax"),
    }


def onnx_nodes() -> dict[str, bytes]:
    """Bytes as onnx_node_fuzz.cpp reads them: the operator, attributes, extents."""
    return {
        "softmax_13": bytes([0, 2, 255, 2, 3, 2]),
        "softmax_1": bytes([0, 0, 1, 3, 2, 3, 4]),
        "rms_normalization": bytes([1, 1, 1, 3, 2, 3, 4, 2, 3, 4]),
        "rotary_positions": bytes([2, 1, 2, 4, 4, 1, 2, 2, 4, 2, 3, 1, 2, 3, 1, 2, 1, 2, 1, 2]),
        "rotary_packed": bytes([2, 0, 2, 0, 3, 1, 2, 4, 3, 1, 2, 1, 3, 1, 2, 1]),
    }


def main() -> None:
    """Writes every file."""
    for target, files in {"safetensors": safetensors(), "npy": npy_files(), "npz": npz_files(),
                          "case_keys": case_keys(), "onnx_tensor": onnx_tensors(),
                          "onnx_model": onnx_models(), "onnx_node": onnx_nodes()}.items():
        folder = HERE / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            assert len(content) < 2048, name
            (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
