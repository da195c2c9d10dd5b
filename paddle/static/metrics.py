"""Metrics as parts of programs, which keep counts from run to run."""

from __future__ import annotations

from typing import Any

import paddle
from paddle._public import also, need_tensor, public
from paddle.metric import accuracy as metric_accuracy
from paddle.static.program import tracer_of
from paddle.static.variable import create_global_var
from umiak.core.context import no_grad_guard
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

accuracy = also(metric_accuracy, "accuracy", "paddle.static")


def _real(weight: Tensor | None) -> Tensor | None:
    """1 where a batch counts, 0 where its first tag says that it was made up; None where all do."""
    return None if weight is None else paddle.not_equal(paddle.flatten(weight)[:1], 0).astype("int64")


@public("paddle.static", usual=False)
def auc(
    input: Tensor,
    label: Tensor,
    curve: str = "ROC",
    num_thresholds: int = 4095,
    topk: int = 1,
    slide_steps: int = 1,
    ins_tag_weight: Tensor | None = None,
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Area under the ROC curve of a classifier of two classes, over all runs and over the last ones.

    Probabilities are counted in ``num_thresholds + 1`` intervals of equal width; the area is that of the trapezoids
    between these thresholds, 0 as long as one class has not occurred.

    Args:
        input: probabilities ``[N, 2]``; those of the second class, in the last column, count.
        label: classes ``[N, 1]``, 0 or 1.
        curve: accepted, ``"ROC"`` or ``"PR"``: the reference computes the same for both.
        num_thresholds: how many thresholds.
        topk: accepted.
        slide_steps: how many runs are the last ones; 0: all.
        ins_tag_weight: floats; where the first is 0, the batch does not count. None: all count.

    Returns:
        The area over all runs, float64; the area over the last runs; and the counts as variables that are kept:
        positive and negative examples of the last runs, positive and negative ones of all.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: another curve, or fewer than one threshold.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> main, startup = paddle.static.Program(), paddle.static.Program()
        >>> with paddle.static.program_guard(main, startup):
        ...     scores, label = paddle.static.data("s", [None, 2]), paddle.static.data("l", [None, 1], "int64")
        ...     area, last, states = paddle.static.auc(scores, label)
        >>> exe = paddle.static.Executor()
        >>> exe.run(startup)
        []
        >>> s = numpy.array([[0.1, 0.9], [0.5, 0.5], [0.6, 0.4], [0.8, 0.2]], "float32")
        >>> exe.run(main, {"s": s, "l": numpy.array([[1], [0], [1], [0]])}, [area])
        [array(0.75)]
        >>> paddle.disable_static()
    """
    tracer_of("auc")
    need_tensor(input, "auc", "input")
    if curve not in ("ROC", "PR"):
        raise op_error(ValueError, "auc", "'ROC' or 'PR' as curve", repr(curve))
    if num_thresholds < 1 or slide_steps < 0:
        raise op_error(
            ValueError, "auc", "at least 1 as num_thresholds and 0 as slide_steps", f"{num_thresholds}, {slide_steps}"
        )
    bins = num_thresholds + 1
    with no_grad_guard():
        at = (input[:, -1] * float(num_thresholds)).astype("int64")
        positive = paddle.flatten(label).astype("int64")
        real = _real(ins_tag_weight)
        zeros = paddle.zeros([bins], "int64")
        counts = [paddle.scatter_nd_add(zeros, at.unsqueeze(1), x) for x in (positive, 1 - positive)]
        counts = counts if real is None else [c * real for c in counts]
        shape = [slide_steps * bins + bins + 1] if slide_steps else [1, bins]
        last = [create_global_var(shape, 0, "int64", True) for _ in counts]
        total = [create_global_var([1, bins], 0, "int64", True) for _ in counts]
        for state, count in zip(total, counts, strict=True):
            assign(state, state + count)
        recent = [
            _slid(state, count, slide_steps, bins) if slide_steps else _added(state, count)
            for state, count in zip(last, counts, strict=True)
        ]
        areas = [_area(*(paddle.flatten(s) for s in total)), _area(*recent)]
    return areas[0], areas[1], [*last, *total]


def _added(state: Tensor, count: Tensor) -> Tensor:
    assign(state, state + count)
    return paddle.flatten(state)


def _slid(state: Tensor, count: Tensor, steps: int, bins: int) -> Tensor:
    """The counts of the last runs. The state has the counts of so many runs, their sum, and the number of all runs."""
    runs = state[-1:]
    kept, total = state[: steps * bins].reshape([steps, bins]), state[steps * bins : -1]
    place = (paddle.arange(steps) == runs % steps).astype("int64").unsqueeze(1)
    total = total + count - (kept * place).sum(0)
    kept = kept * (1 - place) + count * place
    assign(state, paddle.concat([paddle.flatten(kept), total, runs + 1]))
    return total


def _area(positive: Tensor, negative: Tensor) -> Tensor:
    """The area under the curve, from counts per interval of probability."""
    p, n = (paddle.flip(x, [0]).astype("float64") for x in (positive, negative))
    above = paddle.cumsum(p) - p  # in intervals of higher probability
    area, pairs = (n * (above + p / 2)).sum(), p.sum() * n.sum()
    return paddle.where(pairs > 0, area / paddle.maximum(pairs, paddle.ones_like(pairs)), pairs)


@public("paddle.static", usual=False)
def ctr_metric_bundle(
    input: Tensor, label: Tensor, ins_tag_weight: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Sums over all runs from which metrics of click-through rates are made: errors, rates, calibration.

    Args:
        input: predicted probabilities ``[N, 1]``.
        label: 0 or 1, ``[N, 1]``, of input's dtype.
        ins_tag_weight: floats; where the first is 0, the batch does not count. None: all count.

    Returns:
        Six variables that are kept, sums over examples of: the squared error, the absolute error, the prediction, the
        sigmoid of the prediction ``[1, 1]``, the label, 1 ``[1, 1]``.

    Raises:
        RuntimeError: dynamic mode.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     x, y = paddle.static.data("x", [None, 1]), paddle.static.data("y", [None, 1])
        ...     len(paddle.static.ctr_metric_bundle(x, y))
        6
        >>> paddle.disable_static()
    """
    tracer_of("ctr_metric_bundle")
    need_tensor(input, "ctr_metric_bundle", "input")
    with no_grad_guard():
        error = input - label
        parts: list[tuple[Any, list[int]]] = [
            (error * error, [1]), (paddle.abs(error), [1]), (input, [1]), (paddle.nn.functional.sigmoid(input), [1, 1]),
            (label, [1]), (paddle.ones_like(label), [1, 1]),
        ]  # fmt: skip
        real = _real(ins_tag_weight)
        states = []
        for x, shape in parts:
            state = create_global_var(shape, 0.0, input.dtype, True)
            total = x.sum() if real is None else x.sum() * real.astype(x.dtype)
            assign(state, state + total.reshape(shape))
            states.append(state)
    return tuple(states)  # type: ignore[return-value]
