"""Runs the attention operators of ONNX Runtime on the CPU and has `attest check` judge every answer:
Attention of ONNX, and MultiHeadAttention, GroupQueryAttention and Attention of ONNX Runtime itself.

    python onnxruntime_attention.py --attest build/release/attest [--keep FOLDER]

Prints one line per checked output. Exits with 1 if a case is not as expected.
"""

import sys

import onnxruntime

from draws import DTYPES, Draws
from judge import main
from onnx_cases import nodes
from one_node import run_onnxruntime
from runtime_cases import group_query_cases, multihead_cases
from runtime_layers import projecting_cases

SCALE = "the body of the operator is run, which has the scale in binary32"
SPREADS = "0 * NaN: hidden keys take part in the arithmetic"
LOWEST = "hidden scores are given as the lowest number of the format, not as -inf"
REFUSED = {  # by the kernels of binary32 and binary16; for binary64 the operator's body is run
    "mask with one row of queries, causal": "the axis of the queries is not broadcast",
    "mask of one axis": "masks have two to four axes",
    "short mask, opset 24": "the last axis covers all keys",
}


def known_deviation(name, dtype):
    if dtype == "f64" and name in ("explicit scale", "width 12"):
        return SCALE
    if dtype != "f64" and name == "mode 2, bool mask, empty rows":
        return LOWEST
    return SPREADS if name == "NaN at a hidden key" else None


def judge_attention(judge, dtype):
    """ONNX's own operator."""
    for name, node in nodes(Draws(DTYPES[dtype])):
        label = (name, "Attention", dtype)
        call = lambda: run_onnxruntime("Attention", node.inputs(), node.outputs(), opset=node.opset,
                                       **node.attributes)
        if dtype != "f64" and name in REFUSED:
            judge.refused(label, call, REFUSED[name])
        else:
            judge.case(label, f"onnx-{node.opset}", node.case(call()), known_deviation(name, dtype),
                       **node.call())


def run(judge):
    for dtype in ("f64", "f32", "f16"):  # there is no kernel of bfloat16 on the CPU
        judge_attention(judge, dtype)
    for dtype in ("f32", "f16"):
        draws = Draws(DTYPES[dtype])
        for name, tensors, call, known in multihead_cases(draws):
            judge.case((name, "MHA", dtype), "onnxruntime.mha", tensors, known, **call)
        for name, tensors, call, known in group_query_cases(draws):
            judge.case((name, "GQA", dtype), "onnxruntime.gqa", tensors, known, **call)
        for name, tensors, call in projecting_cases(Draws(DTYPES[dtype])):
            judge.case((name, "layer", dtype), "attest", tensors, **call)
    return f"ONNX Runtime {onnxruntime.__version__}"


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], run))
