"""Runs the backward pass of jax.nn.dot_product_attention on the CPU and has `attest check` judge every gradient.

    python jax_gradients.py --attest build/release/attest [--keep FOLDER]

Prints one line per checked gradient. Exits with 1 if a case is not as expected.
"""

import sys

import jax
import numpy

from draws import DTYPES, Draws, heads_last
from jax_attention import SINGLE, call_record
from judge import main


def cases(draws):
    """Name, operands, options in JAX's own words, and why the gradients are known to deviate."""
    make = draws.operands
    visible = draws.true_with(0.6, 1, 1, 5, 7)
    visible[..., 0] = True
    some_empty = visible.copy()
    some_empty[..., 1, :] = some_empty[..., 3, :] = False
    bias = draws.normal(2, 1, 5, 7)
    ints = lambda *numbers: numpy.array(numbers, numpy.int32)

    yield "plain", make(), {}, None
    yield "causal", make(lengths=(9, 9)), {"is_causal": True}, None
    yield "causal, Sq < Sk: top left", make(lengths=(5, 8)), {"is_causal": True}, None
    yield "mask", make(), {"mask": visible}, None
    yield "mask, empty rows", make(), {"mask": some_empty}, (
        "an empty row gives the mean of all values, so that each of them has a gradient")
    yield "bias", make(), {"bias": bias}, None
    yield "window 2 left, causal", make(lengths=(9, 9)), {
        "local_window_size": (2, 0), "is_causal": True}, None
    yield "key lengths", make(), {"key_value_seq_lengths": ints(3, 7)}, None
    yield "grouped heads 6:2", make(heads=(6, 2)), {}, None
    yield "grouped heads 6:2, causal", make(heads=(6, 2)), {"is_causal": True}, None
    yield "explicit scale", make(), {"scale": 0.5}, None
    yield "long rows", make(heads=(1, 1), lengths=(3, 600)), {}, None


def answered(draws, operands, options):
    """JAX's gradients of one call as tensors of a case, and that call in the words of the record."""
    bias = options.get("bias")
    inputs = dict(zip("qkv", map(heads_last, operands))) | ({} if bias is None else {"bias": bias})

    def attend(given):
        words = options | ({"bias": given["bias"]} if "bias" in given else {})
        return jax.nn.dot_product_attention(given["q"], given["k"], given["v"], **words)

    out, pull_back = jax.vjp(attend, inputs)
    dout = draws.normal(*out.shape)
    call, tensors = call_record(options)
    (gradients,) = pull_back(dout)
    return call, tensors | inputs | {"dout": dout} | {f"d{name}": g for name, g in gradients.items()}


def run(judge):
    jax.config.update("jax_enable_x64", True)
    for dtype in ("f64", "f32", "bf16"):
        draws = Draws(DTYPES[dtype])
        for name, operands, options, known in cases(draws):
            call, tensors = answered(draws, operands, options)
            if dtype == "f64" and known is None:
                known = SINGLE
            judge.case((name, "xla", dtype), "jax", tensors, known, **call)
    return f"JAX {jax.__version__}"


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], run))
