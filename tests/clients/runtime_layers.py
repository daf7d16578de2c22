"""The operator Attention of ONNX Runtime, which projects its input but not its output: a layer whose
output weight is the identity.
"""

import numpy

from one_node import run_onnxruntime

HEADS, WIDTH, HEAD_WIDTH = 3, 8, 4


def projecting_cases(draws):
    """Name, tensors, keys of a layer case."""
    ends = numpy.array([5, 4], numpy.int32)
    starts_too = numpy.array([5, 4, 0, 2], numpy.int32)
    padded = numpy.ones((2, 5), numpy.int32)
    padded[0, 3:] = padded[1, :1] = 0
    pairs = draws.true_with(0.6, 2, 5, 5).astype(numpy.int32)
    pairs[..., 0] = 1
    place = numpy.arange(5)
    left_and_right = (place < starts_too[:2, None]) & (place >= starts_too[2:, None])

    yield "merged projections", *projecting(draws)
    yield "merged projections, unidirectional", *projecting(draws, unidirectional=1)
    yield "padding by length", *projecting(draws, mask=ends, masks={"k_lengths": ends})
    yield "padding at both ends", *projecting(draws, mask=starts_too, masks={"key_padding": left_and_right})
    yield "padding by key", *projecting(draws, mask=padded, masks={"key_padding": padded == 1})
    yield "padding by query and key", *projecting(draws, mask=pairs, masks={"visible": pairs[:, None] == 1})
    bias = draws.normal(2, HEADS, 5, 5)
    yield "bias", *projecting(draws, bias=bias, masks={"bias": bias})


def projecting(draws, mask=None, bias=None, masks=(), **attributes):
    """One call and its answer. Query, key and value weights are one matrix, side by side."""
    x, weights = draws.normal(2, 5, WIDTH), draws.normal(WIDTH, 3 * HEADS * HEAD_WIDTH)
    biases = draws.normal(3 * HEADS * HEAD_WIDTH)
    inputs = [("input", x), ("weights", weights), ("bias", biases), ("mask_index", mask), ("past", None),
              ("attention_bias", bias)]
    answer = run_onnxruntime("Attention", inputs, ["output"], "com.microsoft", 20, num_heads=HEADS,
                             **attributes)
    tensors = dict(zip(("queryWeight", "keyWeight", "valueWeight"), numpy.split(weights, 3, 1)))
    tensors |= dict(zip(("queryBias", "keyBias", "valueBias"), numpy.split(biases, 3)))
    tensors |= {"input": x, "outputWeight": numpy.eye(HEADS * HEAD_WIDTH, dtype=draws.dtype),
                "out": answer["output"]}
    call = {"schema": "attest-layer-1", "q_heads": HEADS,
            "causal": attributes.get("unidirectional", 0) == 1}
    return tensors | dict(masks), call
