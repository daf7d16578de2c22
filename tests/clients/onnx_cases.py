"""Calls of ONNX's operator Attention, and how their answers become a case.

The reader of node tests in attest maps a node onto a call record; here the client does it again, in
the words of the conventions onnx-23, onnx-24 and onnx-25, so that one can be held against the other.
"""

import numpy

from draws import flattened

OUTPUTS = ("Y", "present_key", "present_value", "qk_matmul_output")
INPUTS = ("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")
STAGES = ("scaled", "capped", "biased")  # by qk_matmul_output_mode; 3 is the weights


class Node:
    """One call: its operands with four axes, its other inputs and attributes by their ONNX names."""

    def __init__(self, operands, opset=23, heads_inside=False, **words):
        self.operands, self.opset, self.heads_inside = operands, opset, heads_inside
        self.tensors = {name: words.pop(name) for name in INPUTS if name in words}
        self.attributes = words
        if heads_inside:
            self.attributes |= {"q_num_heads": operands[0].shape[1],
                                "kv_num_heads": operands[1].shape[1]}

    def inputs(self):
        """In the operator's order, up to the last one that is there."""
        given = dict(zip(INPUTS, map(flattened, self.operands) if self.heads_inside else self.operands))
        given |= self.tensors
        count = max(n for n, name in enumerate(INPUTS) if name in given) + 1
        return [(name, given.get(name)) for name in INPUTS[:count]]

    def outputs(self):
        """Y; the cache if there was one; the stage if one was asked for."""
        cached, staged = "past_key" in self.tensors, "qk_matmul_output_mode" in self.attributes
        wanted = ["Y", "present_key" if cached else "", "present_value" if cached else "",
                  "qk_matmul_output" if staged else ""]
        while not wanted[-1]:
            wanted.pop()
        return wanted

    def alignment(self):
        if "past_key" in self.tensors:
            return "after_past"
        return "offsets" if "nonpad_kv_seqlen" in self.tensors else "top_left"

    def call(self):
        """The keys of the call record."""
        words = self.attributes
        window = {key: words.get(name, -1) for key, name in (("window_left", "left_window_size"),
                                                             ("window_right", "right_window_size"))}
        record = {"causal": words.get("is_causal", 0) == 1, "alignment": self.alignment(),
                  "softcap": words.get("softcap") or "none"}
        record |= {key: size for key, size in window.items() if size >= 0}
        if "scale" in words:
            record["scale"] = float(numpy.float32(words["scale"]))  # an attribute is a binary32
        if self.heads_inside:
            record |= {"layout": "BSD", "q_heads": words["q_num_heads"], "k_heads": words["kv_num_heads"],
                       "v_heads": words["kv_num_heads"]}
        mode = words.get("qk_matmul_output_mode", 0)
        return record | ({"scores_stage": STAGES[mode]} if mode < 3 else {})

    def case(self, answers):
        """The tensors of the case, with the answers."""
        given = dict(self.inputs())
        names = {"Q": "q", "K": "k", "V": "v", "past_key": "past_k", "past_value": "past_v",
                 "nonpad_kv_seqlen": "k_lengths", "Y": "out", "present_key": "present_k",
                 "present_value": "present_v"}
        tensors = {names[name]: array for name, array in (given | answers).items()
                   if name in names and array is not None}
        mask = given.get("attn_mask")
        if mask is not None:
            tensors["visible" if mask.dtype == bool else "bias"] = mask
        if "nonpad_kv_seqlen" in given:
            tensors["offsets"] = given["nonpad_kv_seqlen"] - self.operands[0].shape[2]
        if "qk_matmul_output" in answers:
            mode = self.attributes["qk_matmul_output_mode"]
            tensors["weights" if mode == 3 else "scores"] = answers["qk_matmul_output"]
        return tensors


def nodes(draws):
    """Name and node."""
    make = draws.operands
    visible = draws.true_with(0.6, 5, 7)
    visible[:, 0] = True
    some_empty = visible.copy()
    some_empty[1] = some_empty[3] = False
    bias = draws.normal(2, 1, 5, 7)
    hiding = bias.copy()
    hiding[..., 5] = hiding[0, :, 2] = -numpy.inf
    past = draws.operands(lengths=(1, 4))[1:]
    cache = {"past_key": past[0], "past_value": past[1]}
    lengths = numpy.array([4, 7], numpy.int64)
    late = numpy.broadcast_to(numpy.arange(600) >= 512, (3, 600))
    poisoned = make()
    poisoned[1][:, :, 6] = numpy.nan
    behind = visible.copy()
    behind[:, 6] = False

    yield "plain", Node(make())
    yield "causal, Sq < Sk: top left", Node(make(lengths=(5, 8)), is_causal=1)
    yield "causal, Sq > Sk: top left", Node(make(lengths=(8, 5)), is_causal=1)
    yield "bool mask, empty rows", Node(make(), attn_mask=some_empty)
    yield "float mask, -inf, empty rows", Node(make(), attn_mask=hiding)
    yield "mask of three axes: heads first", Node(make(), attn_mask=draws.normal(3, 5, 7))
    yield "grouped heads 6:2, causal", Node(make(heads=(6, 2)), is_causal=1)
    yield "grouped heads 6:2, heads inside", Node(make(heads=(6, 2)), heads_inside=True)
    yield "d_v != d_k, heads inside", Node(make(widths=(16, 24)), heads_inside=True)
    yield "width 12", Node(make(widths=(12, 12)))
    yield "explicit scale", Node(make(), scale=0.7)
    yield "softcap", Node(make(), softcap=0.5)
    yield "softcap, then bias", Node(make(), softcap=0.5, attn_mask=bias)
    yield "cached keys, causal", Node(make(), is_causal=1, **cache)
    yield "cached keys, causal, opset 24", Node(make(), opset=24, is_causal=1, **cache)
    yield "lengths, opset 24", Node(make(), opset=24, nonpad_kv_seqlen=lengths)
    yield "lengths, causal, opset 24", Node(make(), opset=24, is_causal=1, nonpad_kv_seqlen=lengths)
    yield "window 2 left, causal, opset 25", Node(make(lengths=(9, 9)), opset=25, is_causal=1,
                                                  left_window_size=2)
    yield "window 1 left 2 right, opset 25", Node(make(), opset=25, left_window_size=1,
                                                  right_window_size=2)
    for mode in range(4):
        yield f"mode {mode}, softcap and bias", Node(make(), softcap=0.5, attn_mask=bias,
                                                     qk_matmul_output_mode=mode)
    yield "mode 2, bool mask, empty rows", Node(make(), attn_mask=some_empty, qk_matmul_output_mode=2)
    yield "mode 3, bool mask, empty rows", Node(make(), attn_mask=some_empty, qk_matmul_output_mode=3)
    yield "long rows", Node(make(heads=(1, 1), lengths=(3, 600)))
    yield "first 512 keys hidden", Node(make(heads=(1, 1), lengths=(3, 600)), attn_mask=late)
    yield "mask with one row of queries, causal", Node(make(), is_causal=1, attn_mask=visible[:1])
    yield "mask of one axis", Node(make(), attn_mask=visible[0])
    yield "short mask, opset 24", Node(make(), opset=24, attn_mask=draws.normal(5, 4))
    yield "NaN at a hidden key", Node(poisoned, attn_mask=behind)
