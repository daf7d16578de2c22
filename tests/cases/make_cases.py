"""Makes the bundled cases: real calls of PyTorch and numpy with the answers these gave.

    python make_cases.py            writes the cases beside this script
    python make_cases.py --check    only compares: every tensor bit for bit, every key of the call
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "clients"))
from attest_case import save_case  # noqa: E402
from pytorch_mha import state  # noqa: E402
from pytorch_sdpa import answered, normal, query_key_value  # noqa: E402


def attend_and_save(path, kernel, query, key, value, options):
    """PyTorch's answer to one call, as a case."""
    tensors, call = answered(kernel, query, key, value, options)
    save_case(path, "pytorch.sdpa", tensors, **call)


def causal_bf16(path):
    """Four query heads share two key heads; token i sees tokens 0..i."""
    source = torch.Generator().manual_seed(1)
    call = query_key_value(
        source, torch.bfloat16, batch=1, heads=(4, 2), lengths=(32, 32), widths=(16, 16)
    )
    attend_and_save(path, "flash", *call, {"is_causal": True, "enable_gqa": True})


def masked_f32(path):
    """Five queries over seven keys; queries 1 and 3 see no key; values are narrower than keys."""
    source = torch.Generator().manual_seed(2)
    call = query_key_value(
        source, torch.float32, batch=2, heads=(3, 3), lengths=(5, 7), widths=(16, 8)
    )
    visible = torch.rand(5, 7, generator=source) < 0.6
    visible[1] = visible[3] = False
    attend_and_save(path, "math", *call, {"attn_mask": visible})


def float_mask_f16(path):
    """A bias per head, shared by both batches, that hides the last key from everyone."""
    source = torch.Generator().manual_seed(3)
    call = query_key_value(
        source, torch.float16, batch=2, heads=(3, 3), lengths=(6, 9), widths=(16, 16)
    )
    bias = normal(source, torch.float16, 1, 3, 6, 9)
    bias[..., 8] = -torch.inf
    attend_and_save(path, "flash", *call, {"attn_mask": bias})


def layer_f32(path):
    """A layer with biases; tokens 5 and 6 of the second entry are padding, and the masks are causal."""
    source = torch.Generator().manual_seed(5)
    layer = torch.nn.MultiheadAttention(16, 4, batch_first=True).eval()
    for parameter in layer.parameters():
        parameter.data = normal(source, torch.float32, *parameter.shape) / 4
    own = normal(source, torch.float32, 2, 7, 16)
    padding = torch.zeros(2, 7, dtype=torch.bool)
    padding[1, 5:] = True
    later = torch.ones(7, 7, dtype=torch.bool).triu(1)
    out, weights = layer(own, own, own, attn_mask=later, key_padding_mask=padding)
    tensors = state(layer) | {"input": own, "visible": later, "key_padding": padding}
    tensors |= {"out": out, "mean_weights": weights}
    save_case(path, "pytorch.mha", tensors, schema="attest-layer-1", q_heads=4, input_axes="batch_first")


def textbook():
    """The formula of the textbooks, softmax(Q K^T / sqrt(d)) V, as one would write it in numpy."""
    source = np.random.default_rng(4)
    query = source.standard_normal((2, 3, 8, 16))
    key = source.standard_normal((2, 3, 12, 16))
    value = source.standard_normal((2, 3, 12, 16))
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return {"q": query, "k": key, "v": value, "out": weights @ value}


def textbook_f64(path):
    """The textbook's call through safetensors."""
    save_case(path, "attest", textbook(), layout="BHSD", scale="1/sqrt(d)", causal=False)


def textbook_npz(path):
    """The same call as numpy itself writes it."""
    call = {"schema": "attest-case-1", "convention": "attest", "layout": "BHSD",
            "scale": "1/sqrt(d)", "causal": False}
    np.savez_compressed(path, **textbook(), case=json.dumps(call))


CASES = {
    "pytorch-sdpa-causal-bf16.safetensors": causal_bf16,
    "pytorch-sdpa-masked-f32.safetensors": masked_f32,
    "pytorch-sdpa-float-mask-f16.safetensors": float_mask_f16,
    "pytorch-mha-causal-f32.safetensors": layer_f32,
    "numpy-textbook-f64.safetensors": textbook_f64,
    "numpy-textbook-f64.npz": textbook_npz,
}


def content(path):
    """The call and the bits of every tensor; safetensors leaves the order of the keys open."""
    if path.suffix == ".npz":
        with np.load(path) as case:
            arrays = {name: case[name] for name in case.files}
        bits = {name: (one.dtype, one.shape, one.tobytes()) for name, one in arrays.items()}
        return json.loads(str(arrays["case"])), bits
    with safe_open(path, framework="pt") as case:
        tensors = {name: case.get_tensor(name) for name in case.keys()}
        bits = {
            name: (tensor.dtype, tuple(tensor.shape), tensor.view(torch.uint8).numpy().tobytes())
            for name, tensor in tensors.items()
        }
        return case.metadata(), bits


def compare(name, make):
    """Makes one case anew and says whether it is the bundled one."""
    with tempfile.TemporaryDirectory() as scratch:
        again = Path(scratch) / name
        make(again)
        (call, bits), (bundled_call, bundled_bits) = content(again), content(HERE / name)
    changed = [key for key in bits | bundled_bits if bits.get(key) != bundled_bits.get(key)]
    if call != bundled_call:
        changed.insert(0, "metadata")
    print(f"{name}: {'differs in ' + ', '.join(changed) if changed else 'the same'}")
    return not changed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.check:
        return 0 if all([compare(name, make) for name, make in CASES.items()]) else 1
    for name, make in CASES.items():
        make(HERE / name)
        print(f"{name}: {(HERE / name).stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
