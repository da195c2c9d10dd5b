"""Losses as layers: ``reduction`` is ``"mean"``, ``"sum"`` or ``"none"``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle.nn.functional as F
from paddle._public import also, public
from paddle.nn._ops import check_reduction
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor


@public("paddle.nn")
class CrossEntropyLoss(Layer):
    """``-log softmax(input)`` of each row's class; see ``paddle.nn.functional.cross_entropy``.

    Example:
        >>> import paddle
        >>> loss = paddle.nn.CrossEntropyLoss()
        >>> round(float(loss(paddle.zeros([2, 4]), paddle.to_tensor([0, 3]))), 4)
        1.3863
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        soft_label: bool = False,
        axis: int = -1,
        use_softmax: bool = True,
        label_smoothing: float = 0.0,
        name: str | None = None,
    ) -> None:
        super().__init__()
        check_reduction("CrossEntropyLoss", reduction)
        self.weight = weight
        self.ignore_index = ignore_index
        self.reduction = reduction
        self.soft_label = soft_label
        self.axis = axis
        self.use_softmax = use_softmax
        self.label_smoothing = label_smoothing
        self.name = name

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            label,
            self.weight,
            self.ignore_index,
            self.reduction,
            self.soft_label,
            self.axis,
            self.use_softmax,
            self.label_smoothing,
        )


@public("paddle.nn")
class MSELoss(Layer):
    """``(input - label)²``."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        check_reduction("MSELoss", reduction)
        self.reduction = reduction

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.mse_loss(input, label, self.reduction)


@public("paddle.nn")
class L1Loss(Layer):
    """``|input - label|``."""

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        check_reduction("L1Loss", reduction)
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.l1_loss(input, label, self.reduction)


@public("paddle.nn")
class SmoothL1Loss(Layer):
    """Quadratic where ``|input - label|`` is below ``delta``, linear beyond."""

    def __init__(
        self, reduction: str = "mean", delta: float = 1.0, is_huber: bool = True, name: str | None = None
    ) -> None:
        super().__init__()
        check_reduction("SmoothL1Loss", reduction)
        self.reduction = reduction
        self.delta = delta
        self.is_huber = is_huber
        self.name = name

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, label, self.reduction, self.delta, self.is_huber)


HuberLoss = also(SmoothL1Loss, "HuberLoss", "paddle.nn")


@public("paddle.nn")
class NLLLoss(Layer):
    """``-input`` at each row's class, input being log probabilities."""

    def __init__(
        self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean", name: str | None = None
    ) -> None:
        super().__init__()
        check_reduction("NLLLoss", reduction)
        self.weight = weight
        self.ignore_index = ignore_index
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.nll_loss(input, label, self.weight, self.ignore_index, self.reduction)


@public("paddle.nn")
class BCELoss(Layer):
    """Binary cross entropy of probabilities."""

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        check_reduction("BCELoss", reduction)
        self.weight = weight
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, label, self.weight, self.reduction)


@public("paddle.nn")
class BCEWithLogitsLoss(Layer):
    """Binary cross entropy of ``sigmoid(logit)``."""

    def __init__(
        self,
        weight: Tensor | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        check_reduction("BCEWithLogitsLoss", reduction)
        self.weight = weight
        self.reduction = reduction
        self.pos_weight = pos_weight
        self.name = name

    def forward(self, logit: Tensor, label: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(logit, label, self.weight, self.reduction, self.pos_weight)


@public("paddle.nn")
class KLDivLoss(Layer):
    """``label * (log(label) - input)``, input being log probabilities; also with reduction ``"batchmean"``."""

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__()
        check_reduction("KLDivLoss", reduction, "batchmean")
        self.reduction = reduction
        self.log_target = log_target

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.kl_div(input, label, self.reduction, self.log_target)


@public("paddle.nn")
class PoissonNLLLoss(Layer):
    """Negative log likelihood of counts under a Poisson law."""

    full: Any  # a flag, as in the reference framework: it hides Layer.full

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        epsilon: float = 1e-8,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__()
        check_reduction("PoissonNLLLoss", reduction)
        self.log_input = log_input
        self.full = full
        self.epsilon = epsilon
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.poisson_nll_loss(input, label, self.log_input, self.full, self.epsilon, self.reduction)


@public("paddle.nn")
class GaussianNLLLoss(Layer):
    """Negative log likelihood under a normal law."""

    full: Any  # a flag, as in the reference framework: it hides Layer.full

    def __init__(
        self, full: bool = False, epsilon: float = 1e-6, reduction: str = "mean", name: str | None = None
    ) -> None:
        super().__init__()
        check_reduction("GaussianNLLLoss", reduction)
        self.full = full
        self.epsilon = epsilon
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, label: Tensor, variance: Tensor) -> Tensor:
        return F.gaussian_nll_loss(input, label, variance, self.full, self.epsilon, self.reduction)


@public("paddle.nn")
class MarginRankingLoss(Layer):
    """``max(0, margin - label*(input - other))``."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        check_reduction("MarginRankingLoss", reduction)
        self.margin = margin
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, other: Tensor, label: Tensor) -> Tensor:
        return F.margin_ranking_loss(input, other, label, self.margin, self.reduction)


@public("paddle.nn")
class HingeEmbeddingLoss(Layer):
    """``input`` where label is 1, ``max(0, margin - input)`` where it is -1."""

    def __init__(self, margin: float = 1.0, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        check_reduction("HingeEmbeddingLoss", reduction)
        self.margin = margin
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, label, self.margin, self.reduction)


@public("paddle.nn")
class SoftMarginLoss(Layer):
    """``log(1 + exp(-label*input))``."""

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        check_reduction("SoftMarginLoss", reduction)
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.soft_margin_loss(input, label, self.reduction)


@public("paddle.nn")
class CosineEmbeddingLoss(Layer):
    """``1 - cos`` where label is 1, ``max(0, cos - margin)`` where it is -1."""

    def __init__(self, margin: float = 0, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        check_reduction("CosineEmbeddingLoss", reduction)
        self.margin = margin
        self.reduction = reduction
        self.name = name

    def forward(self, input1: Tensor, input2: Tensor, label: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, label, self.margin, self.reduction)


@public("paddle.nn")
class MultiLabelSoftMarginLoss(Layer):
    """The mean over classes of ``log(1 + exp(-(2*label - 1) * input))``."""

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        check_reduction("MultiLabelSoftMarginLoss", reduction)
        self.weight = weight
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.multi_label_soft_margin_loss(input, label, self.weight, self.reduction)


@public("paddle.nn")
class MultiLabelMarginLoss(Layer):
    """``max(0, 1 - (input[y] - input[i]))`` for classes y of a row and others i, over the number of classes."""

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        check_reduction("MultiLabelMarginLoss", reduction)
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.multi_label_margin_loss(input, label, self.reduction)


@public("paddle.nn")
class MultiMarginLoss(Layer):
    """The mean over other classes of ``max(0, margin - input[label] + input[j]) ** p``."""

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__()
        check_reduction("MultiMarginLoss", reduction)
        self.p = p
        self.margin = margin
        self.weight = weight
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.multi_margin_loss(input, label, self.p, self.margin, self.weight, self.reduction)


@public("paddle.nn")
class TripletMarginLoss(Layer):
    """``max(0, |input - positive| - |input - negative| + margin)``."""

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        epsilon: float = 1e-6,
        swap: bool = False,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__()
        check_reduction("TripletMarginLoss", reduction)
        self.margin = margin
        self.p = p
        self.epsilon = epsilon
        self.swap = swap
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            input, positive, negative, self.margin, self.p, self.epsilon, self.swap, self.reduction
        )


@public("paddle.nn")
class TripletMarginWithDistanceLoss(Layer):
    """The triplet loss with a distance of the caller's."""

    def __init__(
        self,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__()
        check_reduction("TripletMarginWithDistanceLoss", reduction)
        self.distance_function = distance_function
        self.margin = margin
        self.swap = swap
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            input, positive, negative, self.distance_function, self.margin, self.swap, self.reduction
        )


@public("paddle.nn")
class CTCLoss(Layer):
    """Connectionist temporal classification; see ``paddle.nn.functional.ctc_loss``."""

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__()
        check_reduction("CTCLoss", reduction)
        self.blank = blank
        self.reduction = reduction
        self.zero_infinity = zero_infinity

    def forward(
        self,
        log_probs: Tensor,
        labels: Tensor,
        input_lengths: Tensor,
        label_lengths: Tensor,
        norm_by_times: bool = False,
    ) -> Tensor:
        return F.ctc_loss(
            log_probs,
            labels,
            input_lengths,
            label_lengths,
            self.blank,
            self.reduction,
            norm_by_times,
            self.zero_infinity,
        )


@public("paddle.nn")
class RNNTLoss(Layer):
    """The loss of a recurrent transducer; see ``paddle.nn.functional.rnnt_loss``."""

    def __init__(
        self, blank: int = 0, fastemit_lambda: float = 0.001, reduction: str = "mean", name: str | None = None
    ) -> None:
        super().__init__()
        check_reduction("RNNTLoss", reduction)
        self.blank = blank
        self.fastemit_lambda = fastemit_lambda
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, label: Tensor, input_lengths: Tensor, label_lengths: Tensor) -> Tensor:
        return F.rnnt_loss(input, label, input_lengths, label_lengths, self.blank, self.fastemit_lambda, self.reduction)
