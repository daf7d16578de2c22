"""Runs PyTorch's nn.MultiheadAttention on the CPU and has `attest check` judge every answer: the output,
the weights of each head and their mean.

    python pytorch_mha.py --attest build/release/attest [--keep FOLDER]

Prints one line per checked output. Exits with 1 if a case is not as expected.
"""

import sys

import torch
from torch.nn import MultiheadAttention

from judge import main

DTYPES = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
SEED = 20240229
BATCH, HEADS, WIDTH = 2, 2, 8
LENGTHS = 5, 7  # of queries and keys, where they differ


class Layers:
    """Layers and operands of one dtype, from one seed."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.source = torch.Generator().manual_seed(SEED)

    def normal(self, *shape):
        """Standard normal numbers, drawn in binary64 so that every dtype rounds the same ones."""
        return torch.randn(*shape, generator=self.source, dtype=torch.float64).to(self.dtype)

    def layer(self, **options):
        """A layer whose every parameter is random: a new one has biases of zero."""
        layer = MultiheadAttention(WIDTH, HEADS, batch_first=True, dtype=self.dtype, **options).eval()
        for parameter in layer.parameters():
            parameter.data = self.normal(*parameter.shape) / WIDTH**0.5
        return layer


def cases(layers):
    """Name, layer, what becomes queries, keys and values, and the options of the call in PyTorch's
    words. Boolean masks are true where a key is hidden."""
    queries, keys = LENGTHS
    own = layers.normal(BATCH, queries, WIDTH)
    itself = own, own, own
    others = layers.normal(BATCH, keys, WIDTH)
    cross = own, others, layers.normal(BATCH, keys, WIDTH)
    odd = own, layers.normal(BATCH, keys, 6), layers.normal(BATCH, keys, 10)
    later = torch.ones(queries, queries, dtype=torch.bool).triu(1)
    padded = torch.zeros(BATCH, queries, dtype=torch.bool)
    padded[1, 3:] = True
    whole = padded.clone()
    whole[0] = True
    hidden = torch.rand(queries, keys, generator=layers.source) < 0.4
    hidden[:, 0] = False
    some_empty = hidden.clone()
    some_empty[1] = some_empty[3] = True
    by_head = torch.rand(BATCH * HEADS, queries, keys, generator=layers.source) < 0.4
    by_head[:, :, 2] = False
    bias = layers.normal(queries, keys)
    bias[2, 4] = -torch.inf
    padding_bias = layers.normal(BATCH, keys)
    padding_bias[1, 5:] = -torch.inf

    yield "self", layers.layer(), itself, {}
    yield "without biases", layers.layer(bias=False), itself, {}
    yield "cross", layers.layer(), cross, {}
    yield "keys and values of other widths", layers.layer(kdim=6, vdim=10), odd, {}
    yield "key padding", layers.layer(), itself, {"key_padding_mask": padded}
    yield "causal mask", layers.layer(), itself, {"attn_mask": later}
    yield "causal mask and hint", layers.layer(), itself, {"attn_mask": later, "is_causal": True}
    yield "causal mask, key padding", layers.layer(), itself, {
        "attn_mask": later, "key_padding_mask": padded}
    yield "mask by head", layers.layer(), cross, {"attn_mask": by_head}
    yield "float mask", layers.layer(), cross, {"attn_mask": bias}
    yield "float padding", layers.layer(), cross, {"key_padding_mask": padding_bias}
    yield "mask, empty rows", layers.layer(), cross, {"attn_mask": some_empty}
    yield "key padding of a whole entry", layers.layer(), itself, {"key_padding_mask": whole}
    yield "one more key (add_bias_kv)", layers.layer(add_bias_kv=True), cross, {"attn_mask": hidden}
    yield "one zero key (add_zero_attn)", layers.layer(add_zero_attn=True), cross, {
        "attn_mask": some_empty}
    yield "both, key padding", layers.layer(add_bias_kv=True, add_zero_attn=True), itself, {
        "key_padding_mask": whole}
    yield "dropout outside training", layers.layer(dropout=0.25), itself, {}


def state(layer):
    """The parameters by their names in a case. PyTorch has (out, in) weights, packed if the widths of
    queries, keys and values are one."""
    packed = layer.in_proj_weight
    weights = packed.chunk(3) if packed is not None else (
        layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight)
    tensors = dict(zip(("queryWeight", "keyWeight", "valueWeight"), weights))
    tensors["outputWeight"] = layer.out_proj.weight
    if layer.in_proj_bias is not None:
        tensors |= dict(zip(("queryBias", "keyBias", "valueBias"), layer.in_proj_bias.chunk(3)))
        tensors["outputBias"] = layer.out_proj.bias
    if layer.bias_k is not None:
        tensors |= {"keyRow": layer.bias_k.reshape(-1), "valueRow": layer.bias_v.reshape(-1)}
    if layer.dropout > 0:
        tensors["probability"] = torch.tensor(layer.dropout, dtype=torch.float64)
    return tensors


def masks(options):
    """The masks by their names in a case. One of three axes has batch and heads in the first; a float
    one is a bias, and float padding a bias for all heads and queries."""
    tensors = {}
    mask, padding = options.get("attn_mask"), options.get("key_padding_mask")
    if mask is not None:
        axes = mask.reshape(BATCH, HEADS, *mask.shape[1:]) if mask.dim() == 3 else mask
        tensors["visible" if mask.dtype == torch.bool else "bias"] = axes
    if padding is not None and padding.dtype == torch.bool:
        tensors["key_padding"] = padding
    elif padding is not None:
        tensors["bias"] = padding[:, None, None, :]
    return tensors


def inputs(operands):
    if operands[0] is operands[1]:
        return {"input": operands[0]}
    return dict(zip(("query", "key", "value"), operands))


def answers(layer, operands, options):
    """What each of PyTorch's paths says, and what an empty row is there: zero on the path without
    weights, NaN on the others. The fast path is for inference of self-attention alone."""
    out, weights = layer(*operands, average_attn_weights=False, **options)
    _, mean = layer(*operands, average_attn_weights=True, **options)
    yield "weights", "nan", {"out": out, "weights": weights, "mean_weights": mean}
    yield "sdpa", "zero", {"out": layer(*operands, need_weights=False, **options)[0]}
    if takes_fast_path(layer, operands, options):
        with torch.no_grad():
            yield "fast", "nan", {"out": layer(*operands, need_weights=False, **options)[0]}


def takes_fast_path(layer, operands, options):
    plain = layer.bias_k is None and not layer.add_zero_attn and layer.in_proj_bias is not None
    floating = any(torch.is_tensor(option) and option.is_floating_point() for option in options.values())
    return plain and operands[0] is operands[1] and not floating


def judge_training(judge, layers, dtype):
    """Dropout in training. PyTorch returns the weights after dropout, so what it kept is what is not
    zero there."""
    layer = layers.layer(dropout=0.25).train()
    own = layers.normal(BATCH, LENGTHS[0], WIDTH)
    torch.manual_seed(SEED)
    out, weights = layer(own, own, own, average_attn_weights=False)
    tensors = state(layer) | {"input": own, "out": out, "weights": weights, "kept": weights != 0}
    judge.case(("dropout in training", "weights", dtype), "pytorch.mha", tensors,
               schema="attest-layer-1", q_heads=HEADS, weight_axes="out_in", input_axes="batch_first",
               training=True)


def judge_sequence_first(judge, layers, dtype):
    """The default of PyTorch: the sequence is the first axis, the batch the second."""
    layer = layers.layer()
    layer.batch_first = False
    own = layers.normal(LENGTHS[0], BATCH, WIDTH)
    out, weights = layer(own, own, own, average_attn_weights=False)
    tensors = state(layer) | {"input": own, "out": out, "weights": weights}
    judge.case(("sequence first", "weights", dtype), "pytorch.mha", tensors, schema="attest-layer-1",
               q_heads=HEADS, weight_axes="out_in", input_axes="sequence_first", training=False)


def run(judge):
    torch.set_num_threads(1)
    for dtype in DTYPES:
        layers = Layers(DTYPES[dtype])
        for name, layer, operands, options in cases(layers):
            given = state(layer) | masks(options) | inputs(operands)
            for path, empty_row, answer in answers(layer, operands, options):
                judge.case((name, path, dtype), "pytorch.mha", given | answer, schema="attest-layer-1",
                           q_heads=HEADS, weight_axes="out_in", input_axes="batch_first",
                           training=False, zero_attn=layer.add_zero_attn, empty_row=empty_row)
        judge_training(judge, layers, dtype)
        judge_sequence_first(judge, layers, dtype)
    return f"PyTorch {torch.__version__}"


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], run))
