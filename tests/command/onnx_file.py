"""ONNX node-test folders by hand, as protobuf writes them: a model of one node, and tensors."""

from __future__ import annotations

import struct
from pathlib import Path

FLOAT, INT64 = 1, 7
INT_ATTRIBUTE = 2


def varint(n: int) -> bytes:
    """A number in groups of seven bits."""
    n &= 2 ** 64 - 1
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def message(*fields: tuple[int, int | float | str | bytes]) -> bytes:
    """Fields (number, value): integers as varints, floats in four bytes, others with a length."""
    parts = []
    for number, value in fields:
        if isinstance(value, int):
            parts.append(varint(number << 3) + varint(value))
        elif isinstance(value, float):
            parts.append(varint(number << 3 | 5) + struct.pack("<f", value))
        else:
            content = value.encode() if isinstance(value, str) else value
            parts.append(varint(number << 3 | 2) + varint(len(content)) + content)
    return b"".join(parts)


def onnx_tensor(name: str, shape: tuple[int, ...], values: list[float]) -> bytes:
    """A TensorProto of float32 numbers."""
    data = struct.pack(f"<{len(values)}f", *values)
    return message(*((1, extent) for extent in shape), (2, FLOAT), (8, name), (9, data))


def onnx_positions(name: str, shape: tuple[int, ...], values: list[int]) -> bytes:
    """A TensorProto of 64-bit integers."""
    data = struct.pack(f"<{len(values)}q", *values)
    return message(*((1, extent) for extent in shape), (2, INT64), (8, name), (9, data))


def onnx_model(op_type: str, opset: int, inputs: list[str], **attributes: int) -> bytes:
    """A ModelProto of one node with these inputs, an output "y" and integer attributes."""
    integers = [message((1, name), (3, value), (20, INT_ATTRIBUTE))
                for name, value in attributes.items()]
    node = message(*((1, name) for name in inputs), (2, "y"), (4, op_type),
                   *((5, one) for one in integers))
    graph = message((1, node), *((11, message((1, name))) for name in inputs),
                    (12, message((1, "y"))))
    return message((7, graph), (8, message((2, opset))))


def write_folder(folder: Path, model: bytes, inputs: list[bytes], output: bytes) -> Path:
    """Writes them where ONNX's node tests have them."""
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model)
    for number, content in enumerate(inputs):
        (data / f"input_{number}.pb").write_bytes(content)
    (data / "output_0.pb").write_bytes(output)
    return folder
