"""Recurrent layers over time, and tracing beams back."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.tensor._args import InternedOps, create_on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.eager import apply
from umiak.core.tensor import Tensor

_RNN = InternedOps(F.Rnn)
_CELL = InternedOps(F.RnnCell)
_GATHER_TREE = F.GatherTree()


def recurrent(mode: str, x: Tensor, states: tuple, weights: tuple, lengths: Tensor | None, reverse: bool) -> tuple:
    """One direction of one layer over time-major ``x``: the states after each step, then the last states.

    Args:
        mode: ``"tanh"``, ``"relu"``, ``"lstm"`` or ``"gru"``.
        x: ``[time, batch, features]``; 16-bit floats are computed as float32 throughout.
        states: ``(h,)``, or ``(h, c)`` of an LSTM; ``[batch, size]`` each.
        weights: ``w_ih, w_hh, b_ih, b_hh`` and the projection or None.
        lengths: of the sequences; behind their ends the result is 0 and states stay.
        reverse: from the end of each sequence to its start.
    """
    *common, projection = weights
    operands = [x, states[0], *common, states[1] if len(states) > 1 else None, projection]
    narrow = x.dtype if x.dtype.compute is not x.dtype else None
    if narrow is not None:
        operands = [v if v is None else F.cast(v, dtype=narrow.compute) for v in operands]
    results = apply(_RNN[mode, reverse], (*operands, lengths))
    return results if narrow is None else tuple(F.cast(v, dtype=narrow) for v in results)


def recurrent_cell(mode: str, x: Tensor, states: tuple, weights: tuple) -> tuple:
    """One step of :func:`recurrent`, without time: the new states."""
    *common, projection = weights
    cell = states[1] if len(states) > 1 else None
    results = apply(_CELL[mode, False], (x, states[0], *common, cell, projection))
    return results if isinstance(results, tuple) else (results,)


def time_first(x: Tensor) -> Tensor:
    """``[batch, time, ...]`` as ``[time, batch, ...]`` in memory of its own: steps are read one after the other."""
    return F.copy(swapped(x))


def swapped(x: Tensor) -> Tensor:
    """The first two dims exchanged, as a view."""
    return F.permute(x, perm=(1, 0, *range(2, x.ndim)))


def step_mask(lengths: Tensor, steps: Any) -> Tensor:
    """Bool ``[time, batch]``: whether the step lies within the sequence."""
    times = F.unsqueeze(create_on(lengths.place, F.iota, 0, 1, dt.int64, steps), axes=(1,))
    return F.lt(times, F.unsqueeze(F.cast(lengths, dtype=dt.int64), axes=(0,)))


@public("paddle.nn.functional")
def gather_tree(ids: Tensor, parents: Tensor) -> Tensor:
    """Follow beams back from the last step to the first.

    Args:
        ids: ``[time, batch, beam]`` integers: what each beam chose at each step.
        parents: the same shape and dtype: which beam of the step before it continues.

    Returns:
        The whole sequence of each beam of the last step, ``[time, batch, beam]``.

    Raises:
        ValueError: ids of another rank, or parents of another shape.

    Example:
        >>> import paddle
        >>> ids = paddle.to_tensor([[[2, 2]], [[3, 9]]])
        >>> parents = paddle.to_tensor([[[0, 0]], [[1, 0]]])
        >>> paddle.nn.functional.gather_tree(ids, parents).tolist()
        [[[2, 2]], [[3, 9]]]
    """
    return apply(_GATHER_TREE, (ids, parents))
