"""Writes one attention call and the answer an implementation gave as a case for `attest check`."""

import json

import torch
from safetensors.torch import save_file


def save_case(path, convention, tensors, **call):
    """`tensors` are torch or numpy arrays by name; `call` overrides keys of the call record."""
    metadata = {"schema": "attest-case-1", "convention": convention}
    for key, value in call.items():
        metadata[key] = value if isinstance(value, str) else json.dumps(value)
    arrays = {name: torch.as_tensor(tensor).contiguous() for name, tensor in tensors.items()}
    save_file(arrays, path, metadata)
