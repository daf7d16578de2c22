"""Runs PyTorch's scaled_dot_product_attention on the CPU and has `attest check` judge every answer.

    python pytorch_sdpa.py --attest build/release/attest [--keep FOLDER]

Prints one line per checked output. Exits with 1 if a case is not as expected.
"""

import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from judge import main

DTYPES = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
BACKENDS = {"math": SDPBackend.MATH, "flash": SDPBackend.FLASH_ATTENTION}
SEED = 20240229


def normal(source, dtype, *shape):
    """Standard normal numbers, drawn in binary64 so that every dtype rounds the same ones."""
    return torch.randn(*shape, generator=source, dtype=torch.float64).to(dtype)


def query_key_value(source, dtype, heads=(3, 3), lengths=(5, 7), widths=(16, 16), batch=2):
    """`heads` of queries and keys, `lengths` of queries and keys, `widths` of keys and values."""
    query = normal(source, dtype, batch, heads[0], lengths[0], widths[0])
    key = normal(source, dtype, batch, heads[1], lengths[1], widths[0])
    value = normal(source, dtype, batch, heads[1], lengths[1], widths[1])
    return query, key, value


def calls(dtype):
    """Every call by name: its query, key and value, and its options in PyTorch's own words."""
    source = torch.Generator().manual_seed(SEED)

    def make(**sizes):
        return query_key_value(source, dtype, **sizes)

    visible = torch.rand(5, 7, generator=source) < 0.6
    visible[1] = visible[3] = False
    bias = normal(source, dtype, 2, 1, 5, 7)
    bias[:, :, :, 5] = bias[0, :, 2, :] = -torch.inf
    late_keys = torch.arange(600).expand(3, 600) >= 512

    yield "plain", make(), {}
    yield "causal, Sq = Sk", make(lengths=(9, 9)), {"is_causal": True}
    yield "causal, Sq < Sk", make(lengths=(5, 8)), {"is_causal": True}
    yield "causal, Sq > Sk", make(lengths=(8, 5)), {"is_causal": True}
    yield "bool mask, empty rows", make(), {"attn_mask": visible}
    yield "float mask, -inf, empty rows", make(), {"attn_mask": bias}
    yield "grouped heads 6:2", make(heads=(6, 2)), {"enable_gqa": True}
    yield "grouped heads 6:2, causal", make(heads=(6, 2)), {"enable_gqa": True, "is_causal": True}
    yield "d_v != d_k", make(widths=(16, 24)), {}
    yield "d_v != d_k, bool mask", make(widths=(16, 5)), {"attn_mask": visible}
    yield "explicit scale", make(), {"scale": 0.7}
    yield "long rows", make(heads=(1, 1), lengths=(3, 600)), {}
    yield "first 512 keys hidden", make(heads=(1, 1), lengths=(3, 600)), {"attn_mask": late_keys}


def has_kernel(backend, query, value):
    """PyTorch's flash kernel for the CPU needs query, key and value of one width."""
    return backend == "math" or query.shape[-1] == value.shape[-1]


def answered(backend, query, key, value, options):
    """PyTorch's answer to one call as tensors of a case, and that call in the words of the record."""
    with sdpa_kernel(BACKENDS[backend]):
        out = scaled_dot_product_attention(query, key, value, **options)
    tensors = {"q": query, "k": key, "v": value, "out": out}
    call = {"causal": options.get("is_causal", False), "scale": options.get("scale", "1/sqrt(d)")}
    mask = options.get("attn_mask")
    if mask is not None:
        tensors["visible" if mask.dtype == torch.bool else "bias"] = mask
    return tensors, call


def run(judge):
    torch.set_num_threads(1)
    for dtype in DTYPES:
        for name, (query, key, value), options in calls(DTYPES[dtype]):
            for backend in BACKENDS:
                if has_kernel(backend, query, value):
                    tensors, call = answered(backend, query, key, value, options)
                    judge.case((name, backend, dtype), "pytorch.sdpa", tensors, **call)
    return f"PyTorch {torch.__version__}"


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], run))
