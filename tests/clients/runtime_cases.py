"""Calls of the attention operators that ONNX Runtime adds to ONNX, answered by it.

Operands are drawn with axes (batch, heads, sequence, channel); the operators want the heads inside
the last axis, which is layout BSD. Caches have the heads outside, so they are flattened for the case.
"""

import numpy

from draws import flattened
from one_node import run_onnxruntime

LEAK = "padding is added as -10000, which large scores outweigh"
AS_IF_THERE = "padding is added as -10000, so a row with nothing else sees all of it"
MEAN = "padding is added as the lowest number, so a row with nothing else gives the mean"
EMPTY = "an empty row is NaN in binary16, and zero in binary32"
LAST_ROW = "the last query sees every key: the mask is made for as many keys as queries"


def multihead(operands, padding=None, bias=None, past=(None, None), stage=False, **attributes):
    """One call of MultiHeadAttention: its answers by name."""
    query, key, value = map(flattened, operands)
    inputs = [("query", query), ("key", key), ("value", value), ("projection_bias", None),
              ("key_padding_mask", padding), ("attention_bias", bias), ("past_key", past[0]),
              ("past_value", past[1])]
    outputs = ["output"]
    if past[0] is not None or stage:
        outputs += ["present_key", "present_value"]
    if stage:
        outputs += ["qk"]
    return run_onnxruntime("MultiHeadAttention", inputs, outputs, "com.microsoft", 20,
                           num_heads=operands[0].shape[1], **attributes)


def multihead_case(operands, padding=None, bias=None, past=(None, None), stage=False, **attributes):
    """The same as a case: tensors and keys of the call record. Padding as lengths becomes k_lengths,
    of two axes key_padding, of three a mask."""
    answers = multihead(operands, padding, bias, past, stage, **attributes)
    tensors = dict(zip("qkv", map(flattened, operands))) | {"out": answers["output"]}
    if padding is not None and padding.ndim == 1:
        tensors["k_lengths"] = padding
    elif padding is not None:
        tensors["key_padding" if padding.ndim == 2 else "visible"] = padding.astype(bool)
    if bias is not None:
        tensors["bias"] = bias
    if past[0] is not None:
        tensors |= {"past_k": flattened(past[0]), "past_v": flattened(past[1]),
                    "present_k": flattened(answers["present_key"]),
                    "present_v": flattened(answers["present_value"])}
    if stage:
        tensors["scores"] = answers["qk"]
    call = {name: operands[n].shape[1] for n, name in enumerate(("q_heads", "k_heads", "v_heads"))}
    call["causal"] = attributes.get("unidirectional", 0) == 1
    if "scale" in attributes:
        call["scale"] = float(numpy.float32(attributes["scale"]))
    return tensors, call


def multihead_cases(draws):
    """Name, tensors, keys, and why the answer is known to deviate."""
    make = draws.operands
    ones = numpy.ones((2, 7), numpy.int32)
    padded = ones.copy()
    padded[0, 5:] = padded[1, :2] = 0
    whole = ones.copy()
    whole[0] = 0
    pairs = draws.true_with(0.6, 2, 5, 7).astype(numpy.int32)
    pairs[..., 0] = 1
    lengths = numpy.array([4, 7], numpy.int32)
    bias = draws.normal(2, 3, 5, 7)
    hiding = bias.copy()
    hiding[..., 5] = -numpy.inf
    empty = hiding.copy()
    empty[:, :, 2] = -numpy.inf
    past = draws.operands(lengths=(1, 4))[1:]
    query, key, value = make()
    large = query * 300, key * 300, value
    poisoned = make()
    poisoned[1][:, :, 5:] = numpy.nan
    lowest = float(numpy.finfo(numpy.float32).min)

    def case(name, operands, known=None, **options):
        return name, *multihead_case(operands, **options), known

    def all_but_the_last_causal(name, operands):
        """What LAST_ROW says the kernel does, judged as that."""
        tensors, call = multihead_case(operands, unidirectional=1)
        visible = numpy.tri(5, 8, dtype=bool)
        visible[-1] = True
        return name, tensors | {"visible": visible[None, None]}, call | {"causal": False}, None

    yield case("plain", make())
    yield case("d_v != d_k", make(widths=(16, 24)))
    yield case("unidirectional, Sq = Sk", make(lengths=(9, 9)), unidirectional=1)
    yield case("unidirectional, Sq > Sk: top left", make(lengths=(8, 5)), unidirectional=1)
    yield case("unidirectional, Sq < Sk", make(lengths=(5, 8)), LAST_ROW, unidirectional=1)
    yield all_but_the_last_causal("unidirectional, Sq < Sk, as it is", make(lengths=(5, 8)))
    yield case("padding by key", make(), padding=padded)
    yield case("padding by length", make(), padding=lengths)
    yield case("padding by query and key", make(), padding=pairs)
    yield case("padding of a whole entry", make(), AS_IF_THERE, padding=whole)
    yield case("padding of a whole entry, lowest filter", make(), MEAN, padding=whole,
               mask_filter_value=lowest)
    if draws.dtype == numpy.float32:  # binary16 has no scores that large
        yield case("padding, large scores", large, LEAK, padding=padded)
        yield case("padding, large scores, lowest filter", large, padding=padded,
                   mask_filter_value=lowest)
    yield case("bias", make(), bias=bias)
    yield case("bias with -inf", make(), bias=hiding)
    yield case("bias with -inf, empty rows", make(), "a row of -inf is not told from others: 0/0",
               bias=empty)
    yield case("cached keys", make(lengths=(5, 5)), past=past)
    yield case("cached keys, unidirectional", make(lengths=(5, 5)), past=past, unidirectional=1)
    yield case("explicit scale", make(), scale=0.7)
    yield case("scores and bias", make(), bias=bias, stage=True)
    yield case("long rows", make(heads=(1, 1), lengths=(3, 600)))
    yield case("NaN at a hidden key", poisoned, "NaN - 10000 is NaN", padding=padded[:1].repeat(2, 0))


def group_query(operands, seqlens, past=(None, None), bias=None, sink=None, **attributes):
    """One call of GroupQueryAttention: its answers by name."""
    query, key, value = map(flattened, operands)
    total = numpy.array(int(seqlens.max()) + 1, numpy.int32)
    inputs = [("query", query), ("key", key), ("value", value), ("past_key", past[0]),
              ("past_value", past[1]), ("seqlens_k", seqlens), ("total_sequence_length", total),
              ("cos_cache", None), ("sin_cache", None), ("position_ids", None),
              ("attention_bias", bias), ("head_sink", sink)]
    outputs = ["output", "present_key", "present_value"]
    if attributes.get("qk_output"):
        outputs.append("output_qk")
    return run_onnxruntime("GroupQueryAttention", inputs, outputs, "com.microsoft", 20,
                           num_heads=operands[0].shape[1], kv_num_heads=operands[1].shape[1],
                           **attributes)


def group_query_case(operands, seqlens=None, past=(None, None), bias=None, sink=None, **attributes):
    """The same as a case. The keys of the case are those of the cache after the call, as it is
    returned; rows of queries beyond their length are padding."""
    queries = operands[0].shape[2]
    if seqlens is None:
        cached = 0 if past[0] is None else past[0].shape[2]
        seqlens = numpy.full(operands[0].shape[0], cached + operands[1].shape[2] - 1, numpy.int32)
    answers = group_query(operands, seqlens, past, bias, sink, **attributes)
    tensors = {"q": flattened(operands[0]), "k": flattened(answers["present_key"]),
               "v": flattened(answers["present_value"]), "out": answers["output"],
               "q_lengths": numpy.minimum(queries, seqlens + 1), "k_lengths": seqlens + 1}
    if bias is not None:
        tensors["bias"] = bias
    if sink is not None:
        tensors["sink"] = sink
    elif attributes.get("smooth_softmax"):
        tensors["sink"] = numpy.zeros(operands[0].shape[1], numpy.float32)
    if stage := attributes.get("qk_output"):
        tensors["scores" if stage == 1 else "weights"] = answers["output_qk"]
    call = {name: operands[n].shape[1] for n, name in enumerate(("q_heads", "k_heads", "v_heads"))}
    call |= {"causal": attributes.get("causal", 1) == 1, "softcap": attributes.get("softcap") or "none",
             "window_left": attributes.get("local_window_size", "none")}
    if "scale" in attributes:
        call["scale"] = float(numpy.float32(attributes["scale"]))
    return tensors, call


def group_query_cases(draws):
    """Name, tensors, keys, and why the answer is known to deviate."""
    ints = lambda *numbers: numpy.array(numbers, numpy.int32)

    def make(lengths=(6, 6), **sizes):
        return draws.operands(heads=(6, 2), lengths=lengths, **sizes)

    bias = draws.normal(1, 6, 6, 6)
    hiding = bias.copy()
    hiding[..., 0] = -numpy.inf
    sink = draws.normal(6)
    past = make(lengths=(1, 4))[1:]
    alone = make(lengths=(1, 4), batch=1)[1:]
    poisoned = make()
    poisoned[2][:, :, 5] = numpy.nan

    def case(name, operands, known=None, **options):
        return name, *group_query_case(operands, **options), known

    yield case("prompt", make())
    yield case("prompt, not causal", make(), causal=0)
    yield case("prompt, padded at the right", make(), seqlens=ints(3, 5))
    yield case("softcap", make(), softcap=0.5)
    yield case("bias", make(), bias=bias)
    yield case("softcap, then bias", make(), softcap=0.5, bias=bias)
    half = draws.dtype == numpy.float16
    yield case("bias with -inf, empty rows", make(), EMPTY if half else None, bias=hiding)
    yield case("window of 1", make(), local_window_size=1)
    yield case("window of 3", make(), local_window_size=3)
    yield case("smooth softmax", make(), smooth_softmax=1)
    yield case("sink", make(), sink=sink)
    yield case("explicit scale", make(), scale=0.7)
    yield case("a step after cached keys", make(lengths=(1, 1)), past=past)
    yield case("a step, entries of two lengths", make(lengths=(1, 1)), past=past, seqlens=ints(4, 2))
    yield case("a step, window of 2", make(lengths=(1, 1)), past=past, local_window_size=2)
    yield case("a chunk after cached keys", make(batch=1), past=alone)
    yield case("weights", make(), qk_output=2)
    yield case("scores", make(), "hidden scores are given as 0, not as -inf", qk_output=1)
    yield case("NaN at a hidden value", poisoned, "0 * NaN: hidden values take part in the arithmetic")
