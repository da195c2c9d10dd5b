"""Recurrence over packed sequences: the layers of before 2.0, which take what was multiplied with their inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle
from paddle.nn import functional as F
from paddle.static.formats.operators.sequences import count_of, lengths_of
from paddle.static.formats.operators.table import chosen, operator
from umiak.core.tensor import Tensor

_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "sigmoid": F.sigmoid, "tanh": paddle.tanh, "relu": F.relu, "identity": lambda x: x,
}  # fmt: skip

Cell = Callable[[Tensor, list[Tensor]], list[Tensor]]  # new states, of rows and states


def _over(x: Tensor, offsets: Tensor, states: list[Tensor], cell: Cell, backward: bool) -> list[Tensor]:
    """The states of a cell behind each row: step by step, for all sequences that are as long."""
    lengths, rows = lengths_of(offsets), x.shape[0]
    starts = offsets[1:] - 1 if backward else offsets[:-1]
    steps = paddle.max(lengths)

    def step(i: Tensor, *carried: Any) -> list[Tensor]:
        now, made = carried[: len(states)], carried[len(states) :]
        places = starts - i if backward else starts + i
        inside = i < lengths
        after = cell(paddle.gather(x, paddle.clip(places, 0, rows - 1)), list(now))
        kept = [paddle.where(inside.unsqueeze(1), a, b) for a, b in zip(after, now, strict=True)]
        # A sequence that has ended writes to a row behind all others.
        targets = paddle.where(inside, places, paddle.full_like(places, 1) * rows)
        return [i + 1, *kept, *(paddle.scatter(m, targets, a) for m, a in zip(made, after, strict=True))]

    room = [paddle.zeros([rows + 1, s.shape[1]], x.dtype) for s in states]
    first = paddle.zeros([], "int64")
    _, *found = paddle.static.nn.while_loop(lambda i, *_: i < steps, step, [first, *states, *room])
    return [y[:rows] for y in found[len(states) :]]


def _state(given: Tensor | None, offsets: Tensor, size: Any, dtype: Any) -> Tensor:
    return paddle.zeros([count_of(offsets), size], dtype) if given is None else given


@operator("sequence_gru")
def sequence_gru(
    x: Tensor, offsets: Tensor, weight: Tensor, bias: Tensor | None = None, h0: Tensor | None = None, *,
    activation: str = "tanh", gate_activation: str = "sigmoid", is_reverse: bool = False, origin_mode: bool = False,
) -> Any:  # fmt: skip
    size = weight.shape[0]
    # Two parts of one weight: the first two thirds of its elements are for the gates, [size, 2 * size].
    flat = weight.reshape([-1])
    of_gates = flat[: 2 * size * size].reshape([size, 2 * size])
    of_state = flat[2 * size * size :].reshape([size, size])
    gate, act = chosen(_ACTIVATIONS, gate_activation), chosen(_ACTIVATIONS, activation)
    x = x if bias is None else x + bias.reshape([1, -1])

    def cell(row: Tensor, states: list[Tensor]) -> list[Tensor]:
        (h,) = states
        gates = gate(row[:, : 2 * size] + paddle.matmul(h, of_gates))
        update, reset = gates[:, :size], gates[:, size:]
        new = act(row[:, 2 * size :] + paddle.matmul(reset * h, of_state))
        return [update * h + (1 - update) * new if origin_mode else (1 - update) * h + update * new]

    (hidden,) = _over(x, offsets, [_state(h0, offsets, size, x.dtype)], cell, is_reverse)
    return hidden


@operator("sequence_lstm")
def sequence_lstm(
    x: Tensor, offsets: Tensor, weight: Tensor, bias: Tensor, h0: Tensor | None = None, c0: Tensor | None = None, *,
    use_peepholes: bool = True, is_reverse: bool = False, gate_activation: str = "sigmoid",
    cell_activation: str = "tanh", candidate_activation: str = "tanh", biased: bool = False,
) -> Any:  # fmt: skip
    size = weight.shape[0]
    gate, of_cell, candidate = (
        chosen(_ACTIVATIONS, name) for name in (gate_activation, cell_activation, candidate_activation)
    )
    flat = bias.reshape([-1])
    x = x if biased else x + flat[: 4 * size]
    # Of the cell's state, to the gates of what comes in, what stays, and what goes out.
    peepholes = [flat[k * size : (k + 1) * size] for k in (4, 5, 6)] if use_peepholes else None

    def cell(row: Tensor, states: list[Tensor]) -> list[Tensor]:
        h, c = states
        new, come, stay, go = paddle.split(row + paddle.matmul(h, weight), 4, 1)
        if peepholes is not None:
            come, stay = come + c * peepholes[0], stay + c * peepholes[1]
        c = candidate(new) * gate(come) + c * gate(stay)
        if peepholes is not None:
            go = go + c * peepholes[2]
        return [gate(go) * of_cell(c), c]

    states = [_state(s, offsets, size, x.dtype) for s in (h0, c0)]
    return tuple(_over(x, offsets, states, cell, is_reverse))
