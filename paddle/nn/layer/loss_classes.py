"""Losses for many classes, with parameters of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import paddle.nn.functional as F
from paddle._public import public
from paddle.nn.layer.layers import Layer
from umiak import ops
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor


@public("paddle.nn")
class HSigmoidLoss(Layer):
    """Hierarchical sigmoid: the cross entropies of the branches that lead to a class through a binary tree.

    Args:
        feature_size: D of the input ``[N, D]``.
        num_classes: classes, 2 or more; with ``is_custom``, inner nodes of the tree.
        weight_attr, bias_attr: attributes of the weight ``[nodes, D]`` and the bias ``[nodes, 1]``, nodes being
            ``num_classes - 1``, or ``num_classes`` with ``is_custom``; False for no bias.
        is_custom: paths come with each call, as ``path_table`` and ``path_code``.
        is_sparse: accepted; gradients are dense.

    Shape:
        input: floating tensor ``[N, D]``.
        label: classes ``[N]`` or ``[N, 1]``, from 0 to ``num_classes - 1``.
        path_table: inner nodes on the way to each row's class, as integers ``[N, depth]``, negative where the way has
            ended.
        path_code: the turn at each of them, 0 or 1, as integers ``[N, depth]``.
        output: tensor ``[N, 1]`` of input's dtype.

    Raises:
        TypeError: in a call, an input that is not floating or not of the weight's dtype.
        IndexError: in a call, a label that is no class, or a node that is not there.
        ValueError: fewer than two classes; in a call, shapes that do not fit or, with ``is_custom``, no path.

    Example:
        >>> import paddle
        >>> loss = paddle.nn.HSigmoidLoss(4, 6)
        >>> loss(paddle.randn([3, 4]), paddle.to_tensor([0, 5, 2])).shape
        paddle.Size([3, 1])
    """

    weight: Any
    bias: Any

    def __init__(
        self,
        feature_size: int,
        num_classes: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        is_custom: bool = False,
        is_sparse: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        if num_classes < 2 and not is_custom:
            raise ValueError(f"[HSigmoidLoss] requires num_classes of 2 or more, got {num_classes}")
        self._feature_size = feature_size
        self._num_classes = num_classes
        self._is_custom = is_custom
        self._is_sparse = is_sparse
        self._name = name
        nodes = num_classes if is_custom else num_classes - 1
        self.weight = self.create_parameter([nodes, feature_size], attr=weight_attr)
        self.bias = self.create_parameter([nodes, 1], attr=bias_attr, is_bias=True)

    def forward(
        self, input: Tensor, label: Tensor, path_table: Tensor | None = None, path_code: Tensor | None = None
    ) -> Tensor:
        if self._is_custom and (path_table is None or path_code is None):
            raise ValueError("[HSigmoidLoss] requires path_table and path_code with is_custom=True")
        return F.hsigmoid_loss(
            input, label, self._num_classes, self.weight, self.bias, path_table, path_code, self._is_sparse
        )


@public("paddle.nn")
class AdaptiveLogSoftmaxWithLoss(Layer):
    """Softmax whose rare classes stand in clusters: the log-probability of each row's class, and minus their mean.

    ``log_prob`` gives the log-probabilities of all classes, ``predict`` the most probable class.

    Args:
        in_features: D of the input ``[N, D]``.
        n_classes: how many classes there are, the frequent ones first.
        cutoffs: where clusters start, rising.
        weight_attr, bias_attr: attributes of all weights, and of the bias of the head.
        div_value: cluster i is computed from ``in_features / div_value**(i + 1)`` features.
        head_bias: whether the head has a bias.

    Shape:
        input: floating tensor ``[N, D]`` or ``[D]``.
        label: classes ``[N]``, or one without dims, from 0 to ``n_classes - 1``.
        output: log-probabilities in the shape of label, and minus their mean, without dims.

    Raises:
        TypeError: in a call, an input that is not of the weights' dtype.
        ValueError: cutoffs that do not rise from 1 to ``n_classes - 1``; in a call, shapes that do not fit, or labels
            that are no class.

    Example:
        >>> import paddle
        >>> softmax = paddle.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], div_value=2.0)
        >>> x = paddle.randn([3, 8])
        >>> softmax(x, paddle.to_tensor([0, 5, 19]))[0].shape, softmax.log_prob(x).shape, softmax.predict(x).shape
        (paddle.Size([3]), paddle.Size([3, 20]), paddle.Size([3]))
    """

    head_weight: Any
    head_bias: Any

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        weight_attr: Any = None,
        bias_attr: Any = None,
        div_value: float = 4.0,
        head_bias: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        rising = all(a < b for a, b in zip([0, *cutoffs], [*cutoffs, n_classes], strict=True))
        if not cutoffs or not rising or any(int(c) != c for c in cutoffs):
            raise ValueError(
                f"[AdaptiveLogSoftmaxWithLoss] requires cutoffs that rise from 1 to {n_classes - 1}, got {cutoffs}"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.is_head_bias = head_bias
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head_weight = self.create_parameter([in_features, self.head_size], attr=weight_attr)
        self.head_bias = self.create_parameter([self.head_size], attr=bias_attr, is_bias=True) if head_bias else None
        self.tail_weights = []
        for i, (low, high) in enumerate(zip(self.cutoffs[:-1], self.cutoffs[1:], strict=True)):
            width = int(in_features // div_value ** (i + 1))
            pair = [
                self.create_parameter([in_features, width], attr=weight_attr),
                self.create_parameter([width, high - low], attr=weight_attr),
            ]
            self.tail_weights.append(pair)
            for j, weight in enumerate(pair):
                self.add_parameter(f"tail_weight_{i}_{j}", weight)

    def forward(self, input: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        return F.adaptive_log_softmax_with_loss(
            input, label, self.head_weight, self.tail_weights, self.cutoffs, self.head_bias
        )

    def log_prob(self, input: Tensor) -> Tensor:
        """Log-probabilities of all classes, ``[N, n_classes]`` for input ``[N, D]``."""
        head = ops.matmul(input, self.head_weight)
        if self.head_bias is not None:
            head = ops.add(head, self.head_bias)
        log_probs = ops.log_softmax(head, axis=1)
        parts = [log_probs[:, : self.shortlist_size]]
        for i, (down, up) in enumerate(self.tail_weights):
            own = ops.log_softmax(ops.matmul(ops.matmul(input, down), up), axis=1)
            at = self.shortlist_size + i
            parts.append(ops.add(own, log_probs[:, at : at + 1]))
        return ops.concat(parts, axis=1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row, int64 ``[N]``."""
        return ops.argmax(self.log_prob(input), axis=1, dtype=dt.int64)
