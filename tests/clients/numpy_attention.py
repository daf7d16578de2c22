"""Runs attention as it is written in textbooks, in numpy, and ONNX's reference implementation, which
is numpy too, and has `attest check` judge every answer.

    python numpy_attention.py --attest build/release/attest [--keep FOLDER]

Prints one line per checked output. Exits with 1 if a case is not as expected.
"""

import sys

import numpy
import onnx

from draws import DTYPES, Draws
from judge import main
from numpy_layers import layer_cases
from onnx_cases import nodes
from one_node import run_reference

MEAN = "hidden scores are -1e9, so an empty row gives the mean of all values"
LEAK = "scores below -1e9 are smaller than hidden ones"
INFINITE = "1e9 is infinite in binary16, and 0 * inf is NaN"
SPREADS = "0 * NaN: hidden keys take part in the arithmetic"


def softmax(scores):
    shifted = numpy.exp(scores - scores.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True)


def scaled_scores(query, key):
    return query @ numpy.swapaxes(key, -1, -2) / query.dtype.type(numpy.sqrt(query.shape[-1]))


def additive(query, key, value, visible):
    """softmax(QK'/sqrt(d) + M) V with M of zeros and -inf."""
    mask = numpy.where(visible, 0, -numpy.inf).astype(query.dtype)
    return softmax(scaled_scores(query, key) + mask) @ value


def ones_and_zeros(query, key, value, visible):
    """Scores times a mask of ones and zeros, plus -1e9 times what the mask lacks."""
    mask = visible.astype(query.dtype)
    hidden = query.dtype.type(-1e9)
    return softmax(scaled_scores(query, key) * mask + hidden * (1 - mask)) @ value


def gathered(query, key, value, visible):
    """Softmax over the visible keys of each row; a row without any stays zero."""
    out = numpy.zeros((*query.shape[:-1], value.shape[-1]), query.dtype)
    for b, h, i in numpy.ndindex(query.shape[:-1]):
        seen = numpy.flatnonzero(numpy.broadcast_to(visible, (*query.shape[:-1], key.shape[2]))[b, h, i])
        if seen.size:
            scores = scaled_scores(query[b, h, i : i + 1], key[b, h, seen])
            out[b, h, i] = softmax(scores)[0] @ value[b, h, seen]
    return out


FORMS = {"additive": additive, "ones": ones_and_zeros, "gathered": gathered}


def cases(draws):
    """Name, operands, visible pairs."""
    make = draws.operands
    visible = draws.true_with(0.6, 5, 7)
    visible[:, 0], visible[:, 6] = True, False
    some_empty = visible.copy()
    some_empty[1] = some_empty[3] = False
    query, key, value = make()
    poisoned = make()
    poisoned[1][:, :, 6] = numpy.nan

    yield "plain", make(), numpy.full((5, 7), True)
    yield "causal, Sq = Sk", make(lengths=(9, 9)), numpy.tri(9, dtype=bool)
    yield "mask", make(), visible
    yield "mask, empty rows", make(), some_empty
    yield "width 12", make(widths=(12, 12)), visible
    if draws.dtype != numpy.float16:  # which has no scores that large
        yield "mask, scores of -1e12", (query * 1e6, -abs(query[:, :, :1]) * key * 1e6, value), visible
    yield "NaN at a hidden key", poisoned, visible


def known_deviation(form, dtype, name):
    """What is known of a textbook form, by its case; the additive form has NaN in empty rows, which
    a record can say (empty_row)."""
    if form == "ones" and dtype == "f16":
        return INFINITE
    if form == "ones" and name == "mask, empty rows":
        return MEAN
    if form == "ones" and name == "mask, scores of -1e12":
        return LEAK
    return SPREADS if form != "gathered" and name == "NaN at a hidden key" else None


REFERENCE = {
    "NaN at a hidden key": SPREADS,
    "mode 0, softcap and bias": "the scores of mode 0 have been through the softcap",
    "mask with one row of queries, causal": "every query gets the causal frontier of the first",
}


def judge_forms(judge, dtype):
    for name, operands, visible in cases(Draws(DTYPES[dtype])):
        for form, attend in FORMS.items():
            with numpy.errstate(all="ignore"):
                out = attend(*operands, visible)
            tensors = dict(zip("qkv", operands)) | {"visible": visible, "out": out}
            empty_row = "nan" if form == "additive" else "zero"
            judge.case((name, form, dtype), "attest", tensors, known_deviation(form, dtype, name),
                       empty_row=empty_row)


def judge_layers(judge, dtype):
    for name, convention, tensors, call in layer_cases(Draws(DTYPES[dtype])):
        judge.case((name, "layer", dtype), convention, tensors, **call)


def judge_reference(judge, dtype):
    """ONNX's reference implementation of its operator Attention."""
    for name, node in nodes(Draws(DTYPES[dtype])):
        with numpy.errstate(all="ignore"):
            answers = run_reference("Attention", node.inputs(), node.outputs(), opset=node.opset,
                                    **node.attributes)
        known = REFERENCE.get(name)
        if name == "explicit scale" and dtype == "f64":
            known = "an explicit scale is a binary32, and so is its root"
        judge.case((name, "reference", dtype), f"onnx-{node.opset}", node.case(answers), known,
                   **node.call())


def run(judge):
    for dtype in ("f64", "f32", "f16"):  # numpy multiplies no matrices of bfloat16
        judge_forms(judge, dtype)
        judge_layers(judge, dtype)
    for dtype in ("f64", "f32", "f16"):
        judge_reference(judge, dtype)
    return f"numpy {numpy.__version__}, ONNX reference {onnx.__version__}"


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], run))
