"""Safetensors files by hand: the container of spec/case-format.md, without numpy."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from pathlib import Path

# The names of dtypes by those of formats; the bytes of an element; how struct packs one.
DTYPES = {"f64": "F64", "f32": "F32", "f16": "F16", "bf16": "BF16",
          "f8e4m3": "F8_E4M3", "f8e5m2": "F8_E5M2"}
WIDTHS = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1,
          "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
CODES = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "I32": "i", "I16": "h", "I8": "b",
         "U8": "B", "BOOL": "?"}


@dataclass(frozen=True)
class Tensor:
    """A tensor as a file holds it: its bytes, little endian, in row-major order."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    @property
    def width(self) -> int:
        """The bytes of an element."""
        return WIDTHS[self.dtype]

    def __len__(self) -> int:
        return prod(self.shape)

    def values(self) -> list[float]:
        """The elements as numbers, of a dtype that struct knows."""
        return list(struct.unpack(f"<{len(self)}{CODES[self.dtype]}", self.data))

    def element(self, n: int) -> bytes:
        """The bytes of element n."""
        return self.data[n * self.width:(n + 1) * self.width]

    def with_element(self, n: int, element: bytes) -> Tensor:
        """The tensor with other bytes at element n."""
        before, after = self.data[:n * self.width], self.data[(n + 1) * self.width:]
        return replace(self, data=before + element + after)

    def flipped(self, n: int) -> Tensor:
        """The tensor with the last bit of element n flipped."""
        element = self.element(n)
        return self.with_element(n, bytes([element[0] ^ 1]) + element[1:])

    def transposed(self, *axes: int) -> Tensor:
        """The tensor with its axes in another order: axis n is the old axis axes[n]."""
        strides = [prod(self.shape[axis + 1:]) for axis in range(len(self.shape))]
        shape = tuple(self.shape[axis] for axis in axes)
        places = (sum(i * strides[axis] for i, axis in zip(index, axes, strict=True))
                  for index in product(*map(range, shape)))
        return Tensor(self.dtype, shape, b"".join(map(self.element, places)))

    def reshaped(self, *shape: int) -> Tensor:
        """The same bytes under another shape."""
        return replace(self, shape=shape)


def tensor(dtype: str, shape: tuple[int, ...], values: list[float]) -> Tensor:
    """A tensor of these values, of a dtype that struct knows."""
    return Tensor(dtype, shape, struct.pack(f"<{len(values)}{CODES[dtype]}", *values))


@dataclass(frozen=True)
class Archive:
    """A file's tensors by name, and its metadata."""

    tensors: dict[str, Tensor]
    metadata: dict[str, str] = field(default_factory=dict)

    def __or__(self, changes: dict[str, Tensor | str | None]) -> Archive:
        """The archive with tensors and keys replaced, or removed where the change is None."""
        tensors, metadata = dict(self.tensors), dict(self.metadata)
        for name, change in changes.items():
            tensors.pop(name, None)
            metadata.pop(name, None)
            if isinstance(change, Tensor):
                tensors[name] = change
            elif change is not None:
                metadata[name] = change
        return Archive(tensors, metadata)


def container(header: bytes, data: bytes = b"") -> bytes:
    """The bytes of a file: header length, header, data."""
    return struct.pack("<Q", len(header)) + header + data


def entries(archive: Archive) -> tuple[dict, bytes]:
    """The header of an archive as an object, and its data."""
    header: dict = {"__metadata__": archive.metadata} if archive.metadata else {}
    data = b""
    for name, one in archive.tensors.items():
        end = len(data) + len(one.data)
        header[name] = {"dtype": one.dtype, "shape": one.shape, "data_offsets": [len(data), end]}
        data += one.data
    return header, data


def write(path: Path, archive: Archive) -> Path:
    """Writes an archive, and returns its path."""
    header, data = entries(archive)
    path.write_bytes(container(json.dumps(header).encode(), data))
    return path


def read(path: Path) -> Archive:
    """Reads an archive."""
    file = path.read_bytes()
    start = 8 + struct.unpack_from("<Q", file)[0]
    header = json.loads(file[8:start])
    metadata = header.pop("__metadata__", {})
    return Archive({name: Tensor(one["dtype"], tuple(one["shape"]),
                                 file[start:][slice(*one["data_offsets"])])
                    for name, one in header.items()}, metadata)
