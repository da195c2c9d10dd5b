"""Measures of how good predictions are, counted over batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from paddle._public import public
from paddle.tensor._args import create_on
from paddle.tensor.from_data import assign
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import host_values
from umiak.core.tensor import Tensor


def _array(op_name: str, name: str, x: Any) -> np.ndarray:
    if isinstance(x, Tensor):
        return host_values(x)
    if not isinstance(x, np.ndarray):
        raise ValueError(f"[{op_name}] requires {name} as a tensor or an array, got {type(x).__name__}")
    return x


@public("paddle.metric")
class Metric(ABC):
    """Base of metrics: ``compute`` prepares a batch, ``update`` counts it, ``accumulate`` gives the measure so far.

    A subclass defines ``reset``, ``update``, ``accumulate`` and ``name``.

    Example:
        >>> import paddle
        >>> class Count(paddle.metric.Metric):
        ...     def __init__(self): self.reset()
        ...     def reset(self): self.n = 0
        ...     def update(self, label): self.n += label.shape[0]
        ...     def accumulate(self): return self.n
        ...     def name(self): return "count"
        >>> metric = Count()
        >>> metric.update(paddle.zeros([3]))
        >>> metric.accumulate()
        3
    """

    @abstractmethod
    def reset(self) -> None:
        """Forget what was counted."""

    @abstractmethod
    def update(self, *args: Any) -> Any:
        """Count what ``compute`` gave for a batch.

        Args:
            *args: what ``compute`` returned.

        Returns:
            Anything, such as the measure of this batch alone.
        """

    @abstractmethod
    def accumulate(self) -> Any:
        """Return the measure over all batches since the last reset."""

    @abstractmethod
    def name(self) -> Any:
        """Return the name for logs; a list where there are several numbers."""

    def compute(self, *args: Any) -> Any:
        """Make of results and labels what ``update`` is called with; by default these themselves.

        Args:
            *args: results and labels.

        Returns:
            What ``update`` takes.
        """
        return args


@public("paddle.metric")
class Accuracy(Metric):
    """Fraction of rows whose class is among the ``k`` most probable ones, for each k of ``topk``.

    Args:
        topk: the numbers k.
        name: name for logs; None: ``"acc"``. With a k above 1 names end in ``_top`` and k.
        *args: for :class:`Metric`, which takes none.
        **kwargs: for :class:`Metric`, which takes none.

    Raises:
        ValueError: no k.

    Example:
        >>> import paddle
        >>> metric = paddle.metric.Accuracy()
        >>> right = metric.compute(paddle.to_tensor([[0.1, 0.9], [0.8, 0.2]]), paddle.to_tensor([[1], [1]]))
        >>> float(metric.update(right)), float(metric.accumulate())
        (0.5, 0.5)
    """

    total: list[float]
    count: list[int]

    def __init__(self, topk: Sequence[int] = (1,), name: str | None = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not topk:
            raise ValueError("[Accuracy] requires at least one k in topk, got none")
        self.topk = topk
        self.maxk = max(topk)
        own = name or "acc"
        self._name = [own] if self.maxk == 1 else [f"{own}_top{k}" for k in topk]
        self.reset()

    def compute(self, pred: Tensor, label: Tensor, *args: Any) -> Tensor:
        """Compare the most probable classes with the right ones.

        Args:
            pred: scores ``[*, C]``.
            label: classes ``[*]`` or ``[*, 1]``, or scores ``[*, C]`` of which the largest is right.
            *args: ignored.

        Returns:
            Float32 ``[*, max(topk)]``: 1 where the class is the right one.
        """
        last = pred.ndim - 1
        _, best = F.top_k(pred, axis=last, k=min(self.maxk, pred.shape[last]))
        if label.ndim == 1 or label.ndim < pred.ndim:
            label = F.unsqueeze(label, axes=(label.ndim,))
        elif label.shape[-1] != 1:
            label = F.argmax(label, axis=label.ndim - 1, keepdim=True)
        return F.cast(F.eq(best, F.cast(label, dtype=best.dtype)), dtype=dt.float32)

    def update(self, correct: Any, *args: Any) -> Any:
        """Count what ``compute`` gave.

        Args:
            correct: the tensor, or an array.
            *args: ignored.

        Returns:
            The accuracy of this batch, a list if there are several k.

        Raises:
            ValueError: neither a tensor nor an array.
        """
        hits = _array("Accuracy", "correct", correct)
        rows = int(np.prod(hits.shape[:-1]))
        hits_at_k = [hits[..., :k].sum() for k in self.topk]
        self.total = [a + b for a, b in zip(self.total, hits_at_k, strict=True)]
        self.count = [n + rows for n in self.count]
        return self._several([np.float64(n) / rows if rows else 0.0 for n in hits_at_k])

    def reset(self) -> None:
        self.total = [0.0] * len(self.topk)
        self.count = [0] * len(self.topk)

    def accumulate(self) -> Any:
        return self._several([np.float64(t) / n if n else 0.0 for t, n in zip(self.total, self.count, strict=True)])

    def _several(self, values: list[float]) -> Any:
        return values[0] if len(values) == 1 else values

    def name(self) -> list[str]:
        return self._name


class _Binary(Metric):
    """Counts of a decision between two classes: for 1 where the probability is above one half."""

    at_half: ClassVar[bool]  # the decision at exactly one half, which the reference's two metrics take differently

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._name = name
        self.reset()

    def decided(self, preds: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
        """Two vectors of bools: rows decided for class 1, and rows that belong to it."""
        op_name = type(self).__name__
        preds, labels = _array(op_name, "preds", preds).reshape(-1), _array(op_name, "labels", labels).reshape(-1)
        if preds.shape != labels.shape:
            raise ValueError(f"[{op_name}] requires as many labels as preds, got {labels.size} and {preds.size}")
        return (preds >= 0.5 if self.at_half else preds > 0.5) & (preds < 1.5), labels == 1

    def name(self) -> str:
        return self._name


@public("paddle.metric")
class Precision(_Binary):
    """Fraction of the rows decided for class 1 that belong to it: ``tp / (tp + fp)``, 0 where there are none.

    A row is decided for class 1 where its probability is 0.5 or more.

    Args:
        name: name for logs.
        *args: for :class:`Metric`, which takes none.
        **kwargs: for :class:`Metric`, which takes none.

    Example:
        >>> import numpy as np, paddle
        >>> metric = paddle.metric.Precision()
        >>> metric.update(np.array([0.1, 0.6, 0.7]), np.array([0, 1, 0]))
        >>> metric.accumulate()
        0.5
    """

    at_half = True

    def __init__(self, name: str = "precision", *args: Any, **kwargs: Any) -> None:
        super().__init__(name, *args, **kwargs)

    def update(self, preds: Any, labels: Any) -> None:
        """Count a batch.

        Args:
            preds: probabilities of class 1, an array or tensor.
            labels: 0 or 1, as many.

        Raises:
            ValueError: another number of labels, or neither arrays nor tensors.
        """
        chosen, right = self.decided(preds, labels)
        self.tp += int((chosen & right).sum())
        self.fp += int((chosen & ~right).sum())

    def reset(self) -> None:
        self.tp = self.fp = 0

    def accumulate(self) -> float:
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else 0.0


@public("paddle.metric")
class Recall(_Binary):
    """Fraction of the rows that belong to class 1 that are decided for it: ``tp / (tp + fn)``, 0 where there are none.

    A row is decided for class 1 where its probability is above 0.5.

    Args:
        name: name for logs.
        *args: for :class:`Metric`, which takes none.
        **kwargs: for :class:`Metric`, which takes none.

    Example:
        >>> import numpy as np, paddle
        >>> metric = paddle.metric.Recall()
        >>> metric.update(np.array([0.1, 0.6, 0.7]), np.array([1, 1, 0]))
        >>> metric.accumulate()
        0.5
    """

    at_half = False

    def __init__(self, name: str = "recall", *args: Any, **kwargs: Any) -> None:
        super().__init__(name, *args, **kwargs)

    def update(self, preds: Any, labels: Any) -> None:
        """Count a batch.

        Args:
            preds: probabilities of class 1, an array or tensor.
            labels: 0 or 1, as many.

        Raises:
            ValueError: another number of labels, or neither arrays nor tensors.
        """
        chosen, right = self.decided(preds, labels)
        self.tp += int((chosen & right).sum())
        self.fn += int((~chosen & right).sum())

    def reset(self) -> None:
        self.tp = self.fn = 0

    def accumulate(self) -> float:
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else 0.0


@public("paddle.metric")
class Auc(Metric):
    """Area under the receiver operating characteristic, from counts in classes of probability.

    Args:
        curve: kept only: the area is that of the ROC curve also for ``"PR"``, as in the reference.
        num_thresholds: one less than the number of classes of probability.
        name: name for logs.
        *args: for :class:`Metric`, which takes none.
        **kwargs: for :class:`Metric`, which takes none.

    Example:
        >>> import numpy as np, paddle
        >>> metric = paddle.metric.Auc()
        >>> metric.update(np.array([[0.3, 0.7], [0.6, 0.4], [0.1, 0.9]]), np.array([[1], [0], [1]]))
        >>> float(metric.accumulate())
        1.0
    """

    def __init__(
        self, curve: str = "ROC", num_thresholds: int = 4095, name: str = "auc", *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._curve = curve
        self._num_thresholds = num_thresholds
        self._name = name
        self.reset()

    def update(self, preds: Any, labels: Any) -> None:
        """Count a batch.

        Args:
            preds: probabilities ``[N, 2]`` of both classes, an array or tensor.
            labels: 0 or 1, ``[N]`` or ``[N, 1]``.

        Raises:
            ValueError: other shapes, or numbers that are not from 0 to 1.
        """
        preds, labels = _array("Auc", "preds", preds), _array("Auc", "labels", labels).reshape(-1)
        if preds.ndim != 2 or preds.shape[1] != 2 or len(labels) != len(preds):
            got = f"{list(preds.shape)} and {list(labels.shape)}"
            raise ValueError(f"[Auc] requires preds [N, 2] and labels [N], got {got}")
        bins = (preds[:, 1] * self._num_thresholds).astype(np.int64)
        if bins.size and (bins.min() < 0 or bins.max() > self._num_thresholds):
            raise ValueError("[Auc] requires probabilities between 0 and 1")
        for counts, wanted in ((self._stat_pos, labels == 1), (self._stat_neg, labels != 1)):
            counts += np.bincount(bins[wanted], minlength=len(counts))

    @staticmethod
    def trapezoid_area(x1: float, x2: float, y1: float, y2: float) -> float:
        """Area under a line from ``(x1, y1)`` to ``(x2, y2)``.

        Args:
            x1: where it begins.
            x2: where it ends.
            y1: height at its begin.
            y2: height at its end.

        Returns:
            A float.
        """
        return abs(x1 - x2) * (y1 + y2) / 2.0

    def accumulate(self) -> float:
        pos, neg = (np.concatenate([[0.0], np.cumsum(c[::-1])]) for c in (self._stat_pos, self._stat_neg))
        if not pos[-1] or not neg[-1]:
            return 0.0
        return (np.diff(neg) * (pos[1:] + pos[:-1])).sum() / 2 / (pos[-1] * neg[-1])

    def reset(self) -> None:
        self._stat_pos = np.zeros(self._num_thresholds + 1)
        self._stat_neg = np.zeros(self._num_thresholds + 1)

    def name(self) -> str:
        return self._name


@public("paddle.metric")
def accuracy(
    input: Tensor,
    label: Tensor,
    k: int = 1,
    correct: Tensor | None = None,
    total: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """Fraction of rows whose class is among the ``k`` most probable ones.

    Args:
        input: scores ``[N, C]``.
        label: classes ``[N, 1]``, integers.
        k: how many of the most probable classes count.
        correct: a tensor of one element that gets the number of rows that are right; None: nothing does.
        total: a tensor of one element that gets the number of all rows; None: nothing does.

    Returns:
        Float32 without dims.

    Raises:
        ValueError: an input that is not ``[N, C]``, a label that is not ``[N, 1]``, or fewer than k classes.

    Example:
        >>> import paddle
        >>> scores = paddle.to_tensor([[0.1, 0.9], [0.8, 0.2]])
        >>> float(paddle.metric.accuracy(scores, paddle.to_tensor([[1], [1]])))
        0.5
    """
    if input.ndim != 2 or list(label.shape) != [input.shape[0], 1]:
        got = f"{list(input.shape)} and {list(label.shape)}"
        raise ValueError(f"[accuracy] requires input [N, C] and label [N, 1], got {got}")
    _, best = F.top_k(input, axis=1, k=k)
    right = F.any(F.eq(best, F.cast(label, dtype=best.dtype)), axes=(1,))
    for out, count in (
        (correct, F.count_true(right)),
        (total, create_on(input.place, F.full, input.shape[0], dt.int64, ())),
    ):
        if out is not None:
            assign(F.reshape(F.cast(count, dtype=out.dtype), shape=tuple(out.shape)), out)
    return F.mean(F.cast(right, dtype=dt.float32), axes=(0,))
