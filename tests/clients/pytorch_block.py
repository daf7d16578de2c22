"""Runs the decoder block of chapter 12 in PyTorch, float64 on the CPU, with the weights that `attest learn` has before
each step of a training, and compares loss, logits and every gradient of autograd with the certified ones.

    python pytorch_block.py --attest build/release/attest [--steps 20]

Each number has to lie within its bound (TRN.B1). The block is written in the operations of the specification, in
its graph: that is what the bound is a theorem about. Two changed blocks have to be found out. Exits with 1 otherwise.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from safetensors.torch import load_file

EPSILON = 1e-5
COLUMNS = "{:<24} {:>8} {:>12} {:>14}"


def mean(x):
    return x.sum(-1, keepdim=True) / x.shape[-1]


def centred(x):
    return x - mean(x)


def layer_norm(x, gamma, beta):
    deviations = centred(x)
    variance = mean(deviations * deviations)
    return centred(x) / (variance + EPSILON).sqrt() * gamma + beta


def exponentials(scores):
    """Their terms, total and shift; no gradient flows through the shift (SMX.P5)."""
    shift = scores.amax(-1, keepdim=True).detach()
    terms = (scores - shift).exp()
    return terms, terms.sum(-1, keepdim=True), shift


def attend_causally(q, k, v, factor):
    scores = (q @ k.T) * (factor / q.shape[-1] ** 0.5)
    hidden = torch.ones_like(scores, dtype=torch.bool).triu(1)
    terms, total, _ = exponentials(scores.masked_fill(hidden, -torch.inf))
    return (terms @ v) / total


def block(w, tokens, factor=1.0, residual=True):
    """The page of chapter 12. `factor` and `residual` are there to make it another block."""

    def linear(name, x):
        return x @ w[name + ".weight"] + w[name + ".bias"]

    def norm(name, x):
        return layer_norm(x, w[name + ".gamma"], w[name + ".beta"])

    x = w["embed"][tokens]
    n = norm("norm1", x)
    a = attend_causally(linear("wq", n), linear("wk", n), linear("wv", n), factor)
    x1 = x + linear("wo", a) if residual else linear("wo", a)
    x2 = x1 + linear("ff2", linear("ff1", norm("norm2", x1)).relu())
    return linear("unembed", x2)


def cross_entropy(logits, targets):
    _, total, shift = exponentials(logits)
    rows = (shift + total.log()).squeeze(-1) - logits[torch.arange(len(targets)), targets]
    return rows.sum() / len(targets)


def computed(weights, tokens, targets, **changes):
    """What PyTorch makes of a step: loss, logits and gradients by the names of the record."""
    w = {name: x.clone().requires_grad_() for name, x in weights.items()}
    logits = block(w, tokens, **changes)
    loss = cross_entropy(logits, targets)
    loss.backward()
    gradients = {f"gradient.{name}": torch.zeros_like(x) if x.grad is None else x.grad for name, x in w.items()}
    return {"loss": loss.detach(), "logits": logits.detach()} | gradients


def distances(record, **changes):
    """For each kind of number, over all steps: the largest distance, and the largest one in units of its bound."""
    slots = [name.removeprefix("gradient.") for name in record if name.startswith("gradient.")]
    worst = {}
    for step in range(len(record["loss"])):
        weights = {name: record[name][step] for name in slots}
        for name, x in computed(weights, record["tokens"], record["targets"], **changes).items():
            distance, bound = (x - record[name][step]).abs(), record["bound." + name][step]
            ratio = torch.where(distance == 0, 0.0, distance / bound).nan_to_num(nan=torch.inf)
            largest = distance.max().item(), ratio.max().item()
            worst[name] = tuple(map(max, worst.get(name, largest), largest))
    return worst


def out_of_bounds(worst):
    return {name for name, (_, ratio) in worst.items() if ratio > 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attest", required=True, help="path of the command attest")
    parser.add_argument("--steps", type=int, default=20, help="of the training")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "training.safetensors"
        subprocess.run([arguments.attest, "learn", "--steps", str(arguments.steps), "--record", path], check=True,
                       stdout=subprocess.DEVNULL)
        record = load_file(path)
    worst = distances(record)
    print(COLUMNS.format("number", "entries", "distance", "of its bound"))
    for name, (distance, ratio) in worst.items():
        print(COLUMNS.format(name, record[name][0].numel(), f"{distance:.3e}", f"{ratio:.3e}"))
    failures = sorted(out_of_bounds(worst))
    for change in ({"factor": 1.0001}, {"residual": False}):
        out = out_of_bounds(distances(record, **change))
        print(f"another block, {change}: {len(out)} of {len(worst)} kinds of numbers out of their bounds")
        if not {"loss", "logits"} <= out:
            failures.append(f"not found out: {change}")
    print(f"PyTorch {torch.__version__}, {arguments.steps} steps:",
          "NOT AS EXPECTED: " + "; ".join(failures) if failures else "every number within its bound")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
