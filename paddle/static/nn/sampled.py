"""Losses over a sample of the classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import paddle
from paddle._public import need_tensor, public
from paddle.nn.initializer import XavierUniform
from paddle.static.nn.layers import _known, _Parameters
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@public("paddle.static.nn", usual=False)
def nce(
    input: Tensor,
    label: Tensor,
    num_total_classes: int,
    sample_weight: Tensor | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    num_neg_samples: int | None = None,
    name: str | None = None,
    sampler: str = "uniform",
    custom_dist: Sequence[float] | None = None,
    seed: int = 0,
    is_sparse: bool = False,
) -> Tensor:
    """Noise-contrastive estimation: a loss that tells the right classes of a row from drawn ones.

    With ``o`` the sigmoid of a class's score and ``b`` the number of drawn classes times the probability of drawing
    this one, a right class costs ``-log(o / (o + b))`` and a drawn one ``-log(b / (o + b))``. Their sum is divided by
    the number of drawn classes plus 1.

    Args:
        input: floating ``[N, D]``.
        label: the right classes, integers ``[N, T]``.
        num_total_classes: the number of classes, C.
        sample_weight: factors on the rows' costs ``[N, 1]``; None for 1.
        param_attr: attributes of the weight ``[C, D]``, Xavier-uniform by default.
        bias_attr: attributes of the bias ``[C, 1]``, zeros by default; False for none.
        num_neg_samples: how many classes are drawn for each row; None for 10.
        name: the beginning of the names of parameters; None: ``nce_0`` and so on.
        sampler: what they are drawn from: ``"uniform"``; ``"log_uniform"``, with probabilities ``log((k + 2) / (k + 1))
            / log(C)``; ``"custom_dist"``.
        custom_dist: C probabilities, for the last.
        seed: a number other than 0 has every run draw the same classes; 0: they are drawn from the program's stream
            (``Program.random_seed``).
        is_sparse: accepted: gradients are dense.

    Returns:
        The costs ``[N, 1]``.

    Raises:
        RuntimeError: dynamic mode.
        ValueError: another sampler, no class or drawn class, or other than C probabilities.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     x, label = paddle.static.data("x", [8, 4]), paddle.static.data("label", [8, 1], "int64")
        ...     paddle.static.nn.nce(x, label, 100).shape
        paddle.Size([8, 1])
        >>> paddle.disable_static()
    """
    made = _Parameters("nce", "nce", name)
    classes, drawn = int(num_total_classes), 10 if num_neg_samples is None else int(num_neg_samples)
    if classes < 1 or drawn < 1:
        raise op_error(ValueError, "nce", "at least one class and one drawn class", f"{classes} and {drawn}")
    (width,) = _known("nce", need_tensor(input, "nce", "input"), [1])
    (right,) = _known("nce", need_tensor(label, "nce", "label"), [1])
    weight = made.make([classes, width], param_attr, XavierUniform(), input.dtype)
    bias = made.bias([classes, 1], bias_attr, input.dtype)
    probabilities = _probabilities(sampler, classes, custom_dist)
    with paddle.no_grad():
        negatives = _drawn(sampler, classes, probabilities, [input.shape[0], drawn], int(seed))
        chosen = paddle.concat([label.astype("int64"), negatives], 1)
        flat = paddle.flatten(chosen)
        expected = paddle.to_tensor([p * drawn for p in probabilities], input.dtype)
        b = paddle.gather(expected, flat).reshape([-1, right + drawn])
    rows = paddle.gather(weight, flat).reshape([-1, right + drawn, width])
    scores = (rows * input.unsqueeze(1)).sum(-1)
    if bias is not None:
        scores = scores + paddle.gather(bias, flat).reshape([-1, right + drawn])
    o = paddle.nn.functional.sigmoid(scores)
    is_right = paddle.arange(right + drawn) < right
    costs = -paddle.log(paddle.where(is_right, o, b) / (o + b))
    total = costs.sum(1, keepdim=True) / (drawn + 1)
    return total if sample_weight is None else total * sample_weight.reshape([-1, 1])


def _probabilities(sampler: str, classes: int, custom: Sequence[float] | None) -> list[float]:
    """With which each class is drawn."""
    if sampler == "uniform":
        return [1.0 / classes] * classes
    if sampler == "log_uniform":
        if classes < 2:
            raise op_error(ValueError, "nce", "at least two classes for the sampler 'log_uniform'", classes)
        return [math.log((k + 2) / (k + 1)) / math.log(classes) for k in range(classes)]
    if sampler != "custom_dist":
        raise op_error(ValueError, "nce", "the sampler 'uniform', 'log_uniform' or 'custom_dist'", repr(sampler))
    if custom is None or len(custom) != classes:
        got = "none" if custom is None else len(custom)
        raise op_error(ValueError, "nce", f"custom_dist with {classes} probabilities, one for each class", got)
    return [float(p) for p in custom]


def _drawn(sampler: str, classes: int, probabilities: Sequence[float], shape: list[Any], seed: int) -> Tensor:
    """Classes ``[rows, count]``."""
    if sampler == "uniform" and not seed:
        return paddle.randint(0, classes, shape)
    u = paddle.uniform(shape, "float32", 0.0, 1.0, seed)
    if sampler == "uniform":
        return (u * classes).astype("int64").clip(0, classes - 1)
    if sampler == "log_uniform":
        return (paddle.exp(u * math.log(classes)) - 1.0).astype("int64").clip(0, classes - 2)
    ends = paddle.cumsum(paddle.to_tensor(list(probabilities), "float32"))
    return paddle.searchsorted(ends, u, right=True).clip(0, classes - 1)
