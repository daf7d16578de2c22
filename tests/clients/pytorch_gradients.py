"""Runs the backward pass of PyTorch's scaled_dot_product_attention on the CPU and has `attest check` judge every gradient.

    python pytorch_gradients.py --attest build/release/attest [--keep FOLDER]

Prints one line per checked gradient. Exits with 1 if a case is not as expected.
"""

import sys

import torch
from torch.nn.attention import sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from judge import main
from pytorch_sdpa import BACKENDS, SEED, has_kernel, normal, query_key_value

DTYPES = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16}
FAR = "causal, scores of about 100"
# Seen on some processors only: PyTorch chooses kernels by what the processor has.
FLUSHED = "weights below 2^-126, subnormal numbers of bf16, are 0"


def calls(dtype):
    """Every call by name: its query, key and value, and its options in PyTorch's own words."""
    source = torch.Generator().manual_seed(SEED + 1)

    def make(**sizes):
        return query_key_value(source, dtype, **sizes)

    def far(factor, **sizes):
        query, key, value = make(**sizes)
        return factor * query, key, value

    visible = torch.rand(5, 7, generator=source) < 0.6
    visible[1] = visible[3] = False
    bias = normal(source, dtype, 2, 1, 5, 7)
    hiding = bias.clone()
    hiding[:, :, :, 5] = hiding[0, :, 2, :] = -torch.inf

    yield "plain", make(), {}
    yield "causal", make(lengths=(9, 9)), {"is_causal": True}
    yield "causal, Sq < Sk", make(lengths=(5, 8)), {"is_causal": True}
    yield FAR, far(64, lengths=(33, 33)), {"is_causal": True}
    yield "bool mask, empty rows", make(), {"attn_mask": visible}
    yield "float mask", make(), {"attn_mask": bias}
    yield "float mask for every head", make(), {"attn_mask": normal(source, dtype, 5, 7)}
    yield "float mask, -inf, empty rows", make(), {"attn_mask": hiding}
    yield "grouped heads 6:2", make(heads=(6, 2)), {"enable_gqa": True}
    yield "grouped heads 6:2, causal", make(heads=(6, 2)), {"enable_gqa": True, "is_causal": True}
    yield "grouped heads 6:2, float mask", make(heads=(6, 2)), {"enable_gqa": True, "attn_mask": bias}
    yield "d_v != d_k", make(widths=(16, 24)), {}
    yield "explicit scale", make(), {"scale": 0.7}
    yield "long rows", make(heads=(1, 1), lengths=(3, 600)), {}


def learns(mask):
    """Whether a mask has a gradient."""
    return mask is not None and mask.dtype != torch.bool


def applies(backend, query, value, options):
    """The flash kernel for the CPU has no gradient of a mask."""
    return has_kernel(backend, query, value) and (backend == "math" or not learns(options.get("attn_mask")))


def answered(backend, query, key, value, options):
    """PyTorch's gradients of one call as tensors of a case, and that call in the words of the record."""
    source = torch.Generator().manual_seed(SEED)
    inputs = {"q": query, "k": key, "v": value}
    mask = options.get("attn_mask")
    if learns(mask):
        inputs["bias"] = mask
    leaves = {name: x.clone().requires_grad_() for name, x in inputs.items()}
    words = options | ({"attn_mask": leaves["bias"]} if "bias" in leaves else {})
    with sdpa_kernel(BACKENDS[backend]):
        out = scaled_dot_product_attention(leaves["q"], leaves["k"], leaves["v"], **words)
        dout = normal(source, out.dtype, *out.shape)
        out.backward(dout)
    tensors = inputs | {"dout": dout} | {f"d{name}": leaf.grad for name, leaf in leaves.items()}
    if mask is not None and not learns(mask):
        tensors["visible"] = mask
    return tensors, {"causal": options.get("is_causal", False), "scale": options.get("scale", "1/sqrt(d)")}


def run(judge):
    torch.set_num_threads(1)
    for dtype in DTYPES:
        for name, (query, key, value), options in calls(DTYPES[dtype]):
            for backend in BACKENDS:
                if applies(backend, query, value, options):
                    tensors, call = answered(backend, query, key, value, options)
                    known = FLUSHED if (name, backend, dtype) == (FAR, "flash", "bf16") else None
                    judge.case((name, backend, dtype), "pytorch.sdpa", tensors, known, everywhere=False, **call)
    return f"PyTorch {torch.__version__}"


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], run))
