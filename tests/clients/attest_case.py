"""Writes one attention call and the answer an implementation gave as a case for `attest check`."""

import json

import ml_dtypes
import numpy
from safetensors.numpy import save_file


def save_case(path, convention, tensors, schema="attest-case-1", **call):
    """`tensors` are torch, jax or numpy arrays by name; `call` overrides keys of the record."""
    metadata = {"schema": schema, "convention": convention}
    for key, value in call.items():
        metadata[key] = value if isinstance(value, str) else json.dumps(value)
    save_file({name: as_numpy(tensor) for name, tensor in tensors.items()}, path, metadata)


def as_numpy(tensor):
    """A contiguous numpy array of the same numbers; numpy itself has no bfloat16 to give torch."""
    if hasattr(tensor, "detach"):
        tensor = tensor.detach()
        if str(tensor.dtype) == "torch.bfloat16":
            import torch

            return as_numpy(tensor.view(torch.int16)).view(ml_dtypes.bfloat16)
        tensor = tensor.numpy()
    return numpy.require(tensor, requirements="C")
