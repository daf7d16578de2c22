#!/usr/bin/env python3
"""Layer cases: a layer with its state, judged and evaluated."""

from __future__ import annotations

import unittest

from archive import Archive, Tensor, tensor
from command import LAYER, CommandCase, RefusalCase, filled

STAGES = ("mean_weights", "out", "weights")


def small_layer(**metadata: str) -> Archive:
    """Two heads of width 2, values of width 3; inputs of widths 4 and 3; an output of width 5."""
    return Archive({"query": filled("F32", 2, 2, 4), "key": filled("F32", 2, 3, 3, first=-1.0),
                    "value": filled("F32", 2, 3, 3, first=0.5),
                    "queryWeight": filled("F32", 4, 4), "keyWeight": filled("F32", 3, 4, first=1.0),
                    "valueWeight": filled("F32", 3, 6), "outputWeight": filled("F32", 6, 5)},
                   {"schema": "attest-layer-1", "convention": "attest", "q_heads": "2", **metadata})


def with_biases() -> dict[str, Tensor]:
    """Every bias of the small layer."""
    return {"queryBias": filled("F32", 4), "keyBias": filled("F32", 4, first=-0.5),
            "valueBias": filled("F32", 6, first=1.5), "outputBias": filled("F32", 5, first=-1.5)}


def rich_layer() -> Archive:
    """The small layer in training, with biases, dropout, both kinds of added keys and two masks."""
    kept = [n % 3 != 0 for n in range(2 * 2 * 2 * 5)]
    return small_layer(training="true", zero_attn="true", weights_are="dropped") | with_biases() | {
        "keyRow": filled("F32", 4), "valueRow": filled("F32", 6),
        "probability": tensor("F32", (), [0.25]), "kept": tensor("BOOL", (2, 2, 2, 5), kept),
        "visible": tensor("BOOL", (2, 3), [True, False, True, False, True, True]),
        "key_padding": tensor("BOOL", (2, 3), [True, True, True, True, False, False])}


class Layers(CommandCase):
    """Layers are evaluated and judged."""

    def assert_round_trip(self, layer: Archive) -> None:
        """What eval writes, check accepts with --max-ulp 0; with a flipped bit it does not."""
        case = self.write(layer)
        answers = self.evaluated(case, "--stages", "--dtype", "f32")
        self.assertEqual(tuple(sorted(answers.tensors)), STAGES)
        self.write(answers, "answers")
        self.attest("check", case, "--result", "answers", "--max-ulp", "0")
        for name, one in answers.tensors.items():
            self.write(answers | {name: one.flipped(0)}, "answers")
            report = self.report(case, "--result", "answers", "--max-ulp", "0", status=1)
            self.assertIn(name, report["reasons"][0])

    def test_round_trip(self) -> None:
        self.assert_round_trip(small_layer())
        self.assert_round_trip(small_layer() | with_biases())
        self.assert_round_trip(rich_layer())

    def assert_same(self, one: Archive, other: Archive, out: tuple[int, ...] = (0, 1, 2)) -> None:
        """Both layers have the same outputs; the axes of the other one's are in another order."""
        first = self.evaluated(self.write(one), "--stages")
        second = self.evaluated(self.write(other), "--stages")
        moved = {name: t.transposed(*out) if name == "out" else t
                 for name, t in second.tensors.items()}
        self.assertEqual(first.tensors, moved)

    def test_a_layer_of_pytorch(self) -> None:
        outputs = self.report(LAYER)["outputs"]
        self.assertEqual(sorted(outputs), ["mean_weights", "out"])
        for wrong in ("mask_polarity=true_is_visible", "padding_polarity=true_is_visible",
                      "zero_attn=true", "scale=0.55", "weight_axes=in_out"):
            with self.subTest(wrong=wrong):
                self.assertEqual(self.run_attest("check", LAYER, "--set", wrong, "--max-ulp",
                                                 "10000").returncode, 2 if "zero" in wrong else 1)

    def test_a_head_of_a_layer_is_explained(self) -> None:
        text = self.attest("explain", LAYER, "--row", "1,2,3")
        for line in ("row (b 1, h 2, i 3): as asked", "4 heads, convention pytorch.mha",
                     "MSK.D15  tensor key_padding    shows 5 of 7 keys: 0..4",
                     "MSK.D14  visible: 4 of 7 keys: 0..3", "SMX.D4   lse = c + ln total = 1.2782531"):
            self.assertIn(line, text)
        self.assertIn("whose out is farthest off", self.attest("explain", LAYER))

    def test_axes_are_said_by_the_record(self) -> None:
        layer = rich_layer()
        weights = {name: t.transposed(1, 0) for name, t in layer.tensors.items()
                   if name.endswith("Weight")}
        self.assert_same(layer, layer | weights | {"weight_axes": "out_in"})
        inputs = {name: layer.tensors[name].transposed(1, 0, 2)
                  for name in ("query", "key", "value")}
        self.assert_same(layer, layer | inputs | {"input_axes": "sequence_first"}, out=(1, 0, 2))

    def test_a_matrix_for_each_head_is_the_packed_weight(self) -> None:
        layer = small_layer()
        lists = {name: layer.tensors[name].reshaped(rows, 2, width).transposed(1, 0, 2)
                 for name, rows, width in
                 (("queryWeight", 4, 2), ("keyWeight", 3, 2), ("valueWeight", 3, 3))}
        self.assert_same(layer, layer | lists)

    def test_one_input_stands_for_three(self) -> None:
        layer = small_layer() | {"key": None, "value": None, "query": None,
                                 "keyWeight": filled("F32", 4, 4), "valueWeight": filled("F32", 4, 6)}
        one = filled("F32", 2, 3, 4)
        self.assert_same(layer | {"input": one}, layer | {"query": one, "key": one, "value": one})

    def test_a_missing_output_bias_is_seen(self) -> None:
        answers = self.evaluated(self.write(small_layer()), "--dtype", "f64")
        biased = self.write(small_layer() | {"outputBias": filled("F32", 5)}
                            | {"out": answers.tensors["out"]})
        self.attest("check", biased, "--max-ulp", "1000", status=1)

    def test_out_of_training_dropout_does_nothing(self) -> None:
        self.assert_same(small_layer(), small_layer() | {"probability": tensor("F32", (1,), [0.5])})

    def test_an_empty_row_may_be_nan(self) -> None:
        hidden = tensor("BOOL", (1, 3), [False] * 3)
        layer = small_layer(empty_row="nan") | {"visible": hidden}
        answers = self.evaluated(self.write(layer), "--stages")
        for name in ("out", "mean_weights", "weights"):
            self.assertTrue(all(x != x for x in answers.tensors[name].values()), name)

    def test_a_leak_into_the_averaged_weights_is_named(self) -> None:
        layer = small_layer() | {"visible": tensor("BOOL", (1, 3), [True, False, True])}
        answers = self.evaluated(self.write(layer), "--stages")
        leak = answers.tensors["mean_weights"].with_element(1, b"\x01\0\0\0")
        case = self.write(layer | {"mean_weights": leak})
        self.assertIn("weights of hidden keys that are not 0, first at (b 0, i 0, j 1)",
                      self.attest("check", case, status=1))

    def test_the_record_is_printed(self) -> None:
        call = self.report(self.write(rich_layer() | self.evaluated(
            self.write(rich_layer())).tensors))["call"]
        self.assertEqual({key: call[key] for key in ("weight_axes", "input_axes", "training",
                                                     "zero_attn", "padding_polarity")},
                         {"weight_axes": "in_out", "input_axes": "batch_first", "training": "true",
                          "zero_attn": "true", "padding_polarity": "true_is_visible"})
        self.assertNotIn("layout", call)


class Refusals(RefusalCase):
    """Layers that cannot be judged."""

    def refuse_layer(self, line: str, changes: dict[str, Tensor | str | None]) -> None:
        """The small layer with these changes is refused."""
        with self.subTest(line=line):
            self.refuse(self.write(small_layer() | changes), line)

    def test_tensors(self) -> None:
        self.refuse_layer("CAS.C8: keyWeight: required", {"keyWeight": None})
        self.refuse_layer("CAS.C8: q: no tensor of a layer case", {"q": filled("F32", 1)})
        self.refuse_layer("CAS.C8: query: not beside input", {"input": filled("F32", 2, 2, 4)})
        self.refuse_layer("CAS.C9: query: shape", {"query": filled("F32", 2, 2)})
        self.refuse_layer("CAS.C9: queryWeight: columns", {"queryWeight": filled("F32", 4, 3)})
        self.refuse_layer("CAS.C9: outputWeight: two axes", {"outputWeight": filled("F32", 1, 6, 5)})
        self.refuse_layer("CAS.C10: queryWeight", {"queryWeight": tensor("I32", (4, 4), [1] * 16)})
        self.refuse_layer("MHA.C6: query", {"query": tensor("F32", (1, 1, 4), [float("nan")] * 4)}
                          | {"key": filled("F32", 1, 3, 3), "value": filled("F32", 1, 3, 3)})
        self.refuse_layer("MHA.C4: key", {"key": filled("F32", 1, 3, 3)})
        self.refuse_layer("OPT.C1: outputWeight", {"outputWeight": filled("F32", 4, 5)})
        self.refuse_layer("OPT.C2: keyBias", {"queryBias": filled("F32", 4)})
        self.refuse_layer("MHA.C5: keyRow", {"keyRow": filled("F32", 4)})
        self.refuse_layer("OPT.C4: query input: at least 1", {"query": filled("F32", 2, 2, 0),
                                              "queryWeight": filled("F32", 0, 4)})

    def test_dropout_needs_its_kept_mask(self) -> None:
        dropout = {"probability": tensor("F32", (), [0.5]), "training": "true"}
        self.refuse_layer("ATT.C10: kept", dropout)
        self.refuse_layer("ATT.C10: kept", dropout | {"kept": tensor("BOOL", (1, 1, 1, 1), [True])})
        self.refuse_layer("DRP.C1", {"probability": tensor("F32", (), [1.5])})

    def test_keys(self) -> None:
        self.refuse_layer("CAS.C6: q_heads: required", {"q_heads": None})
        self.refuse_layer("CAS.C7: k_heads", {"k_heads": "1"})
        self.refuse_layer("CAS.C6: convention", {"convention": "flash-2"})
        self.refuse_layer("CAS.C6: weight_axes: missing", {"convention": None})
        self.refuse_layer("CAS.C5: layout", {"layout": "BHSD"})
        self.refuse_layer("CAS.C5: dropout", {"dropout": "none"})
        self.refuse_layer("CAS.C7: weight_axes", {"weight_axes": "out"})
        self.refuse_layer("CAS.C7: schema: attest-case-1 or attest-layer-1",
                          {"schema": "attest-layer-2"})

    def test_dumping_a_row(self) -> None:
        case = self.write(small_layer() | {"out": filled("F32", 2, 2, 5)})
        self.assert_refused("check", case, "--dump-worst", "row", line="CAS.C8: --dump-worst")


if __name__ == "__main__":
    unittest.main()
