"""Recurrent networks."""

from __future__ import annotations

from typing import Any

import paddle
from paddle.nn import functional as F
from paddle.nn.functional.rnn import recurrent
from paddle.static.formats.operators.table import Tensors, chosen, operator
from umiak.core.tensor import Tensor

_MODES = {"RNN_TANH": "tanh", "RNN_RELU": "relu", "LSTM": "lstm", "GRU": "gru"}


@operator("rnn")
def rnn(
    x: Tensor, pre_state: Tensors, weight_list: Tensors, sequence_length: Tensor | None = None,
    dropout_state_in: Tensor | None = None, *, dropout_prob: float = 0.0, is_bidirec: bool = False,
    input_size: int = 10, hidden_size: int = 100, num_layers: int = 1, mode: str = "RNN_TANH", seed: int = 0,
    is_test: bool = False,
) -> Any:  # fmt: skip
    directions = 1 + is_bidirec
    count = num_layers * directions
    # First the weights of all layers, two for each direction, then their biases.
    matrices, biases = weight_list[: 2 * count], weight_list[2 * count :]
    ends = []
    for layer in range(num_layers):
        if layer and dropout_prob and not is_test:
            x = F.dropout(x, dropout_prob)
        outputs = []
        for k in range(directions):
            at = layer * directions + k
            pair: list[Any] = biases[2 * at : 2 * at + 2] or [None, None]
            weights = (*matrices[2 * at : 2 * at + 2], *pair, None)
            states = tuple(s[at] for s in pre_state)
            y, *last = recurrent(chosen(_MODES, mode), x, states, weights, sequence_length, k == 1)
            outputs.append(y)
            ends.append(last)
        x = outputs[0] if directions == 1 else paddle.concat(outputs, 2)
    return x, None, [paddle.stack(list(states), 0) for states in zip(*ends, strict=True)]


_GATES = {0: None, 1: F.sigmoid, 2: paddle.tanh, 3: F.relu}


@operator("gru_unit")
def gru_unit(
    input: Tensor, hidden_prev: Tensor, weight: Tensor, bias: Tensor | None = None, *, activation: int = 2,
    gate_activation: int = 1, origin_mode: bool = False,
) -> Any:  # fmt: skip
    size = hidden_prev.shape[1]
    # Two parts of one weight: the first two thirds of its elements are for the gates, [size, 2 * size].
    flat = weight.reshape([-1])
    of_gates = flat[: 2 * size * size].reshape([size, 2 * size])
    of_state = flat[2 * size * size :].reshape([size, size])
    x = input if bias is None else input + bias.reshape([1, -1])
    gate, act = chosen(_GATES, gate_activation), chosen(_GATES, activation)
    gates = x[:, : 2 * size] + paddle.matmul(hidden_prev, of_gates)
    gates = gates if gate is None else gate(gates)
    update, reset = gates[:, :size], gates[:, size:]
    kept = reset * hidden_prev
    new = x[:, 2 * size :] + paddle.matmul(kept, of_state)
    new = new if act is None else act(new)
    hidden = update * hidden_prev + (1 - update) * new if origin_mode else (1 - update) * hidden_prev + update * new
    return paddle.concat([gates, new], 1), kept, hidden


@operator("cudnn_lstm")
def cudnn_lstm(
    x: Tensor, init_h: Tensor, init_c: Tensor, w: Tensor | None = None, weight_list: Tensors | None = None,
    sequence_length: Tensor | None = None, *, dropout_prob: float = 0.0, is_bidirec: bool = False,
    hidden_size: int = 100, num_layers: int = 1, is_test: bool = False, seed: int = 0,
) -> Any:  # fmt: skip
    if weight_list is None:
        if w is None:
            raise ValueError("[cudnn_lstm] requires weights, got none")
        weight_list = _unpacked(w, x.shape[-1], hidden_size, num_layers, 1 + is_bidirec)
    y, _, (h, c) = rnn(
        x, [init_h, init_c], weight_list, sequence_length, dropout_prob=dropout_prob, is_bidirec=is_bidirec,
        num_layers=num_layers, mode="LSTM", is_test=is_test,
    )  # fmt: skip
    return y, h, c


def _unpacked(w: Tensor, size: int, hidden: int, layers: int, directions: int) -> list[Tensor]:
    """The weights, then the biases, of one flat tensor."""
    shapes = []
    for layer in range(layers):
        inner = size if layer == 0 else hidden * directions
        shapes += [[4 * hidden, inner], [4 * hidden, hidden]] * directions
    shapes += [[4 * hidden]] * (2 * layers * directions)
    parts, at = [], 0
    for shape in shapes:
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        parts.append(w[at : at + count].reshape(shape))
        at += count
    return parts
