"""numpy's files by hand: .npy and .npz of spec/case-format.md, without numpy."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from pathlib import Path

from archive import Archive, Tensor

# The types of numpy by those of safetensors. It has no word of its own for the last three.
DESCR = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2",
         "I8": "|i1", "U8": "|u1", "BOOL": "|b1", "BF16": "<V2", "F8_E4M3": "<V1",
         "F8_E5M2": "<f1"}
NAMELESS = ("BF16", "F8_E4M3", "F8_E5M2")


def npy_of(header: str | bytes, data: bytes = b"", version: int = 1) -> bytes:
    """A file of this header, filled up as numpy does."""
    text = header if isinstance(header, bytes) else header.encode()
    length = "<H" if version == 1 else "<I"
    begin = 8 + struct.calcsize(length)
    text += b" " * (-(begin + len(text) + 1) % 64) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack(length, len(text)) + text + data


def header_of(descr: str, shape: tuple[int, ...], *, fortran: bool = False) -> str:
    """The dictionary that numpy writes."""
    return f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape!r}, }}"


def npy(tensor: Tensor) -> bytes:
    """The file that numpy writes of a tensor."""
    return npy_of(header_of(DESCR[tensor.dtype], tensor.shape), tensor.data)


def npy_text(text: str) -> bytes:
    """The file that numpy writes of np.array(text)."""
    return npy_of(header_of(f"<U{len(text)}", ()), text.encode("utf-32-le"))


def keys_of(archive: Archive) -> str:
    """The keys of an archive as JSON, with the types that numpy does not name."""
    nameless = {name: one.dtype for name, one in archive.tensors.items() if one.dtype in NAMELESS}
    return json.dumps(archive.metadata | ({"dtypes": nameless} if nameless else {}))


def members(archive: Archive, *, json_file: bool = False) -> dict[str, bytes]:
    """The files of an archive: an array each, and the keys."""
    files = {f"{name}.npy": npy(one) for name, one in archive.tensors.items()}
    if json_file:
        return files | {"case.json": keys_of(archive).encode()}
    return files | {"case.npy": npy_text(keys_of(archive))}


def npz(files: dict[str, bytes], method: int = zipfile.ZIP_STORED, *, zip64: bool = True) -> bytes:
    """A zip archive of the files, by default as np.savez makes it."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            with archive.open(info, "w", force_zip64=zip64) as member:
                member.write(content)
    return target.getvalue()


# Where a field lies in the header of a member, and in the directory; and how struct packs it.
ZIP_FIELDS = {"flags": (6, 8, "<H"), "method": (8, 10, "<H"), "checksum": (14, 16, "<I"),
              "packed": (18, 20, "<I"), "size": (22, 24, "<I"), "name": (30, 46, "5s")}


def claiming(file: bytes, field: str, value: int | bytes) -> bytes:
    """The archive (not of 64 bits) with another field for its first member, in both places."""
    local, central, code = ZIP_FIELDS[field]
    changed = bytearray(file)
    struct.pack_into(code, changed, local, value)
    struct.pack_into(code, changed, file.index(b"PK\1\2") + central, value)
    return bytes(changed)


def write_npz(path: Path, archive: Archive, method: int = zipfile.ZIP_STORED) -> Path:
    """Writes an npz file, and returns its path."""
    path.write_bytes(npz(members(archive), method))
    return path


def write_folder(path: Path, files: dict[str, bytes]) -> Path:
    """Writes a folder of files, and returns its path."""
    path.mkdir()
    for name, content in files.items():
        (path / name).write_bytes(content)
    return path
