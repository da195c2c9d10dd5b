"""Recurrent layers, as the nodes LSTM, GRU and RNN."""

from __future__ import annotations

from typing import Any

import numpy as np

from paddle.onnx.builder import Builder, Value
from paddle.onnx.shapes import concat, known, slices, transpose, unsqueeze
from paddle.onnx.table import Call, rule

# Per mode: ONNX operator, and where its gates are among ours (input, forget, cell, output; reset, update, candidate).
_KINDS: dict[str, tuple[str, tuple[int, ...]]] = {
    "LSTM": ("LSTM", (0, 3, 1, 2)), "GRU": ("GRU", (1, 0, 2)), "RNN_TANH": ("RNN", (0,)), "RNN_RELU": ("RNN", (0,)),
}  # fmt: skip


def _gates(g: Builder, w: Value, order: tuple[int, ...], width: int) -> Value:
    """The rows of a weight or a bias with gates in another order."""
    rows = np.concatenate([np.arange(k * width, (k + 1) * width) for k in order])
    if w.constant is not None:
        return g.constant(w.constant[rows])
    return g.node("Gather", w, g.ints(rows.tolist()), axis=0) if len(order) > 1 else w


@rule("rnn")
def rnn(g: Builder, o: Call) -> tuple[Any, ...]:
    x, states, weights, lengths = o[0], o[1], o[2], o[3]
    mode, layers, width = o("mode"), o("num_layers", 1), o("hidden_size")
    kind, order = _KINDS[mode]
    ways = 2 if o("is_bidirec", False) else 1
    count = layers * ways
    # First all pairs of weights, then all pairs of biases, which may be absent.
    biases = weights[2 * count :]
    last: list[list[Value]] = [[] for _ in states]
    lengths = None if lengths is None else g.cast(lengths, "int32")
    for layer in range(layers):
        cells = range(layer * ways, (layer + 1) * ways)
        stacked = [
            concat(g, [unsqueeze(g, _gates(g, weights[2 * c + k], order, width), [0]) for c in cells]) for k in range(2)
        ]
        bias = None
        if biases:
            bias = concat(
                g,
                [
                    unsqueeze(g, concat(g, [_gates(g, biases[2 * c + k], order, width) for k in range(2)]), [0])
                    for c in cells
                ],
            )
        first = [slices(g, s, [0], [cells[0]], [cells[-1] + 1]) if layers > 1 else s for s in states]
        attributes: dict[str, Any] = {"hidden_size": width, "direction": "bidirectional" if ways == 2 else "forward"}
        if kind == "GRU":
            attributes["linear_before_reset"] = 1
        if kind == "RNN":
            attributes["activations"] = ["Relu" if mode == "RNN_RELU" else "Tanh"] * ways
        made = g.node(kind, x, *stacked, bias, lengths, *first, outputs=1 + len(states), **attributes)
        y = transpose(g, known(made[0], [-1, ways, -1, width]), [0, 2, 1, 3])
        x = known(g.node("Reshape", y, g.ints([0, 0, -1])), [-1, -1, ways * width])
        for all_, own in zip(last, made[1:], strict=True):
            all_.append(own)
    ends = [g.node("Concat", *all_, axis=0) if layers > 1 else all_[0] for all_ in last]
    return x, None, ends
