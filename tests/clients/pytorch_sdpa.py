"""Runs PyTorch's scaled_dot_product_attention on the CPU and has `attest check` judge every answer.

    python pytorch_sdpa.py --attest build/release/attest [--keep FOLDER]

Prints one line per checked output. Exits with 1 if any check exits with a status other than 0.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from attest_case import save_case

DTYPES = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
BACKENDS = {"math": SDPBackend.MATH, "flash": SDPBackend.FLASH_ATTENTION}
COLUMNS = "{:<28} {:<6} {:<5} {:<8} {:>6} {:>9} {:>18} {:>14} {:>14}"
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


def attend_and_save(path, backend, query, key, value, options):
    """PyTorch's answer to one call, and that call in the words of the call record."""
    with sdpa_kernel(BACKENDS[backend]):
        out = scaled_dot_product_attention(query, key, value, **options)
    tensors = {"q": query, "k": key, "v": value, "out": out}
    call = {"causal": options.get("is_causal", False), "scale": options.get("scale", "1/sqrt(d)")}
    mask = options.get("attn_mask")
    if mask is not None:
        tensors["visible" if mask.dtype == torch.bool else "bias"] = mask
    save_case(path, "pytorch.sdpa", tensors, **call)


def read_report(text):
    """The only place that knows the fields of `attest check --json`: a row per checked output."""
    for output in json.loads(text)["outputs"]:
        counts = [output["elements"], output["correctly_rounded"]]
        distances = [f"{output['max_steps']:.6g}", f"{output['max_units']:.6g}"]
        yield [output["name"], *counts, *distances]


def check(attest, path, label):
    """Has one case judged, prints a line per checked output, and says whether all went well."""
    run = subprocess.run([attest, "check", path, "--json"], capture_output=True, text=True)
    try:
        rows = list(read_report(run.stdout))
        problem = "" if rows else "no output was checked"
    except (ValueError, KeyError, TypeError) as error:
        rows, problem = [], run.stderr.strip() or f"unreadable report: {error!r}"
    for name, *numbers in rows or [[*"-----"]]:
        print(COLUMNS.format(*label, name, run.returncode, *numbers), problem, flush=True)
    return run.returncode == 0 and not problem


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attest", required=True, help="path of the command attest")
    parser.add_argument("--keep", type=Path, help="folder that keeps the cases")
    arguments = parser.parse_args()
    torch.set_num_threads(1)

    names = ("case", "kernel", "dtype", "output", "status")
    print(COLUMNS.format(*names, "elements", "correctly rounded", "largest steps", "largest units"))
    verdicts = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for dtype in DTYPES:
            for name, (query, key, value), options in calls(DTYPES[dtype]):
                for backend in BACKENDS:
                    if has_kernel(backend, query, value):
                        path = folder / f"{len(verdicts):03}-{backend}-{dtype}.safetensors"
                        attend_and_save(path, backend, query, key, value, options)
                        verdicts.append(check(arguments.attest, path, (name, backend, dtype)))
    failed = verdicts.count(False)
    print(f"PyTorch {torch.__version__}: {len(verdicts)} cases, {failed} not accepted")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
