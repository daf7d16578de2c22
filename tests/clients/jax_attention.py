"""Runs jax.nn.dot_product_attention on the CPU and has `attest check` judge every answer.

    python jax_attention.py --attest build/release/attest [--keep FOLDER]

Prints one line per checked output. Exits with 1 if a case is not as expected.
"""

import sys

import jax
import numpy

from draws import DTYPES, Draws, heads_last
from judge import main

SINGLE = "softmax is computed in binary32 for operands of binary64 too"
MEAN = "hidden scores are replaced by a finite number, so an empty row gives the mean of all values"


def cases(draws):
    """Name, operands, options in JAX's own words, and why the answer is known to deviate."""
    make = draws.operands
    visible = draws.true_with(0.6, 1, 1, 5, 7)
    visible[..., 0] = True
    some_empty = visible.copy()
    some_empty[..., 1, :] = some_empty[..., 3, :] = False
    bias = draws.normal(2, 1, 5, 7)
    hiding = bias.copy()
    hiding[..., 5] = -numpy.inf
    empty_by_bias = hiding.copy()
    empty_by_bias[:, :, 2, :] = -numpy.inf
    behind = visible.copy()
    behind[..., 6] = False
    late = numpy.broadcast_to(numpy.arange(600) >= 512, (1, 1, 3, 600))
    poisoned_key, poisoned_value = make(), make()
    poisoned_key[1][:, :, 6], poisoned_value[2][:, :, 6] = numpy.nan, numpy.nan
    ints = lambda *numbers: numpy.array(numbers, numpy.int32)

    yield "plain", make(), {}, None
    yield "causal, Sq = Sk", make(lengths=(9, 9)), {"is_causal": True}, None
    yield "causal, Sq < Sk: top left", make(lengths=(5, 8)), {"is_causal": True}, None
    yield "causal, Sq > Sk: top left", make(lengths=(8, 5)), {"is_causal": True}, None
    yield "mask", make(), {"mask": visible}, None
    yield "mask, empty rows", make(), {"mask": some_empty}, MEAN
    yield "bias", make(), {"bias": bias}, None
    yield "bias with -inf", make(), {"bias": hiding}, None
    yield "bias with -inf, empty rows", make(), {"bias": empty_by_bias}, (
        "a row of -inf is not told from others: 0/0")
    yield "window 2 left 1 right", make(), {"local_window_size": (2, 1)}, None
    yield "window 2 left, causal", make(lengths=(9, 9)), {
        "local_window_size": (2, 0), "is_causal": True}, None
    yield "key lengths", make(), {"key_value_seq_lengths": ints(3, 7)}, None
    yield "key lengths, causal: top left", make(), {
        "key_value_seq_lengths": ints(3, 7), "is_causal": True}, None
    yield "no key in one entry", make(), {"key_value_seq_lengths": ints(0, 7)}, MEAN
    yield "query lengths", make(), {"query_seq_lengths": ints(2, 5)}, None
    yield "grouped heads 6:2", make(heads=(6, 2)), {}, None
    yield "explicit scale", make(), {"scale": 0.5}, None
    yield "long rows", make(heads=(1, 1), lengths=(3, 600)), {}, None
    yield "first 512 keys hidden", make(heads=(1, 1), lengths=(3, 600)), {"mask": late}, None
    yield "NaN at a hidden key", poisoned_key, {"mask": behind}, None
    yield "NaN at a hidden value", poisoned_value, {"mask": behind}, "0 * NaN"


def call_record(options):
    """The options in the words of the call record: its keys, and the tensors that go with them."""
    call = {"causal": options.get("is_causal", False), "scale": options.get("scale", "1/sqrt(d)")}
    if window := options.get("local_window_size"):
        call |= {"window_left": window[0], "window_right": window[1]}
    names = {"mask": "visible", "bias": "bias", "query_seq_lengths": "q_lengths",
             "key_value_seq_lengths": "k_lengths"}
    return call, {names[key]: value for key, value in options.items() if key in names}


def run(judge):
    jax.config.update("jax_enable_x64", True)
    for dtype in DTYPES:
        for name, operands, options, known in cases(Draws(DTYPES[dtype])):
            query, key, value = map(heads_last, operands)
            out, lse = jax.nn.dot_product_attention(query, key, value, return_residual=True, **options)
            call, tensors = call_record(options)
            tensors |= {"q": query, "k": key, "v": value, "out": out, "lse": heads_last_lse(lse)}
            if dtype == "f64" and known is None:
                known = SINGLE
            judge.case((name, "xla", dtype), "jax", tensors, known, **call)
    return f"JAX {jax.__version__}"


def heads_last_lse(lse):
    """JAX's (batch, sequence, heads) as (batch, heads, sequence)."""
    return numpy.ascontiguousarray(numpy.swapaxes(lse, 1, 2))


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], run))
