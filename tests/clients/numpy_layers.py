"""Layers of attention written in numpy as two sources describe them, for the client numpy_attention.py."""

import numpy

HEADS, WIDTH, HEAD_WIDTH = 3, 8, 5


def softmax(scores):
    shifted = numpy.exp(scores - scores.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True)


def attention(query, key, value):
    scores = query @ numpy.swapaxes(key, -1, -2) / query.dtype.type(numpy.sqrt(query.shape[-1]))
    return softmax(scores) @ value


def list_of_projections(draws):
    """A matrix for each head projects queries, keys and values; heads are joined side by side, and one
    matrix maps them to the output. No biases, no mask: the textbook in Haskell."""
    inputs = [draws.normal(2, length, WIDTH) for length in (5, 7, 7)]
    projections = [draws.normal(HEADS, WIDTH, HEAD_WIDTH) for _ in range(3)]
    output = draws.normal(HEADS * HEAD_WIDTH, WIDTH)
    projected = [[x @ matrix for matrix in matrices] for x, matrices in zip(inputs, projections)]
    heads = [attention(*operands) for operands in zip(*projected)]
    tensors = dict(zip(("query", "key", "value"), inputs))
    tensors |= dict(zip(("queryWeight", "keyWeight", "valueWeight"), projections))
    return tensors | {"outputWeight": output, "out": numpy.concatenate(heads, -1) @ output}, {}


def gathered_rows(draws):
    """Self-attention with packed weights and all biases; keys are gathered by a mask of which true is
    visible, row 2 sees none, and weights are dropped before they meet the values: TorchLean."""
    x = draws.normal(2, 5, WIDTH)
    weights = {name: draws.normal(WIDTH, HEADS * HEAD_WIDTH)
               for name in ("queryWeight", "keyWeight", "valueWeight")}
    biases = {name: draws.normal(HEADS * HEAD_WIDTH) for name in ("queryBias", "keyBias", "valueBias")}
    output, output_bias = draws.normal(HEADS * HEAD_WIDTH, WIDTH), draws.normal(WIDTH)
    visible = draws.true_with(0.6, 5, 5)
    visible[2], visible[0, 0] = False, True
    kept = draws.true_with(0.75, 2, HEADS, 5, 5)

    split = [(x @ weight + bias).reshape(2, 5, HEADS, HEAD_WIDTH).swapaxes(1, 2)
             for weight, bias in zip(weights.values(), biases.values())]
    merged = numpy.zeros((2, 5, HEADS * HEAD_WIDTH), draws.dtype)
    for b, h, i in numpy.ndindex(2, HEADS, 5):
        seen = numpy.flatnonzero(visible[i])
        if seen.size:
            query, key, value = split[0][b, h, i], split[1][b, h, seen], split[2][b, h, seen]
            row = softmax(key @ query / query.dtype.type(numpy.sqrt(HEAD_WIDTH)))
            dropped = numpy.where(kept[b, h, i, seen], row / draws.dtype(0.75), draws.dtype(0))
            merged[b, i, h * HEAD_WIDTH : (h + 1) * HEAD_WIDTH] = dropped @ value
    tensors = weights | biases | {"outputWeight": output, "outputBias": output_bias, "input": x,
                                  "visible": visible, "kept": kept,
                                  "probability": numpy.array(0.25), "out": merged @ output + output_bias}
    return tensors, {"training": True}


LAYERS = {"list of projections": ("attest", list_of_projections),
          "gathered, dropout, empty row": ("torchlean", gathered_rows)}


def layer_cases(draws):
    """Name, convention, tensors, keys."""
    for name, (convention, make) in LAYERS.items():
        tensors, call = make(draws)
        yield name, convention, tensors, call | {"schema": "attest-layer-1", "q_heads": HEADS}
