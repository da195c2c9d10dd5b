"""Losses as layers: their documents are made from those of their functions, to which each adds an example."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import paddle.nn.functional as F
from paddle._documents import indented
from paddle._public import also, public
from paddle.nn._ops import check_reduction
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

# A section of a document, and an entry of its Args with the lines that go on.
_HEADING = re.compile(r"^    (\w+):\n", re.MULTILINE)
_ENTRY = re.compile(r"^ {8}(\w+)(: .*\n(?: {12}.*\n)*)", re.MULTILINE)


def _parameters(method: Any, flags: bool = True) -> tuple[str, ...]:
    """The names of a method's parameters, or of those without defaults."""
    code = method.__code__
    return code.co_varnames[1 : code.co_argcount - (0 if flags else len(method.__defaults__ or ()))]


def _refusing_older_flags(layer: type[Layer]) -> None:
    """Have the constructor say what stands in place of ``size_average`` and ``reduce``, which other frameworks knew."""
    init: Any = layer.__dict__["__init__"]

    @functools.wraps(init)
    def checked(self: Layer, *args: Any, **kwargs: Any) -> None:
        older = {name: kwargs[name] for name in ("size_average", "reduce") if name in kwargs}
        if older:
            total = "mean" if older.get("size_average") is not False else "sum"
            instead = "none" if older.get("reduce") is False else total
            got = ", ".join(f"{name}={value!r}" for name, value in older.items())
            raise op_error(ValueError, layer.__name__, f"reduction={instead!r} in place of older flags", got)
        init(self, *args, **kwargs)

    layer.__init__ = checked  # type: ignore[method-assign]


def _documented_by(function: Callable) -> Callable[[type[Layer]], type[Layer]]:
    """Give a layer the document of its function, with the example that stands in its own.

    Of the function's ``Args``, those of the constructor stay, and tensors of a call become the ``Shape`` with what
    is returned.
    """

    def document(layer: type[Layer]) -> type[Layer]:
        parameters = _parameters(layer.__dict__["__init__"])
        if "reduction" in parameters:
            _refusing_older_flags(layer)
        if function.__doc__ is None or layer.__doc__ is None:  # -OO
            return layer
        summary, *parts = _HEADING.split(indented(function.__doc__))
        sections = dict(zip(parts[::2], parts[1::2], strict=True))
        entries = dict(_ENTRY.findall(sections["Args"]))

        def explained(names: tuple[str, ...]) -> str:
            return "".join(f"        {name}{entries[name]}" for name in names if name in entries)

        args = explained(parameters)
        tensors = explained(_parameters(layer.__dict__["forward"], flags=False))
        first, *more = sections["Returns"].strip().splitlines()
        output = "\n    ".join([f"        output: {first[0].lower()}{first[1:]}", *more])
        shape = f"{tensors}{output}\n\n"
        raises, example = sections["Raises"], indented(layer.__doc__).lstrip()
        layer.__doc__ = f"{summary}    Args:\n{args}\n    Shape:\n{shape}    Raises:\n{raises}    {example}"
        return layer

    return document


@public("paddle.nn")
@_documented_by(F.cross_entropy)
class CrossEntropyLoss(Layer):
    """
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
@_documented_by(F.mse_loss)
class MSELoss(Layer):
    """
    Example:
        >>> import paddle
        >>> loss = paddle.nn.MSELoss()
        >>> float(loss(paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([3.0, 2.0])))
        2.0
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        check_reduction("MSELoss", reduction)
        self.reduction = reduction

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.mse_loss(input, label, self.reduction)


@public("paddle.nn")
@_documented_by(F.l1_loss)
class L1Loss(Layer):
    """
    Example:
        >>> import paddle
        >>> loss = paddle.nn.L1Loss("sum")
        >>> float(loss(paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([3.0, 1.0])))
        3.0
    """

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        check_reduction("L1Loss", reduction)
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.l1_loss(input, label, self.reduction)


@public("paddle.nn")
@_documented_by(F.smooth_l1_loss)
class SmoothL1Loss(Layer):
    """
    Example:
        >>> import paddle
        >>> loss = paddle.nn.SmoothL1Loss(delta=2.0)
        >>> float(loss(paddle.to_tensor([1.0, 4.0]), paddle.to_tensor([0.0, 0.0])))
        3.25
    """

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
@_documented_by(F.nll_loss)
class NLLLoss(Layer):
    """
    Example:
        >>> import paddle
        >>> loss = paddle.nn.NLLLoss()
        >>> float(loss(paddle.to_tensor([[-1.0, -2.0], [-3.0, -4.0]]), paddle.to_tensor([0, 1])))
        2.5
    """

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
@_documented_by(F.binary_cross_entropy)
class BCELoss(Layer):
    """
    Example:
        >>> import paddle
        >>> loss = paddle.nn.BCELoss()
        >>> round(float(loss(paddle.to_tensor([0.5, 0.5]), paddle.to_tensor([0.0, 1.0]))), 4)
        0.6931
    """

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        check_reduction("BCELoss", reduction)
        self.weight = weight
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, label, self.weight, self.reduction)


@public("paddle.nn")
@_documented_by(F.binary_cross_entropy_with_logits)
class BCEWithLogitsLoss(Layer):
    """
    Example:
        >>> import paddle
        >>> loss = paddle.nn.BCEWithLogitsLoss(pos_weight=paddle.to_tensor([3.0]))
        >>> round(float(loss(paddle.zeros([2]), paddle.to_tensor([0.0, 1.0]))), 4)  # 2 * log(2)
        1.3863
    """

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
@_documented_by(F.kl_div)
class KLDivLoss(Layer):
    """
    Example:
        >>> import paddle
        >>> loss = paddle.nn.KLDivLoss("batchmean")
        >>> round(float(loss(paddle.log(paddle.to_tensor([[0.5, 0.5]])), paddle.to_tensor([[1.0, 0.0]]))), 4)
        0.6931
    """

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__()
        check_reduction("KLDivLoss", reduction, "batchmean")
        self.reduction = reduction
        self.log_target = log_target

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.kl_div(input, label, self.reduction, self.log_target)


@public("paddle.nn")
@_documented_by(F.poisson_nll_loss)
class PoissonNLLLoss(Layer):
    """
    Example:
        >>> import paddle
        >>> loss = paddle.nn.PoissonNLLLoss()
        >>> float(loss(paddle.to_tensor([0.0, 0.0]), paddle.to_tensor([1.0, 3.0])))
        1.0
    """

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
        if epsilon <= 0:
            raise ValueError(f"[PoissonNLLLoss] requires epsilon > 0, got {epsilon}")
        self.log_input = log_input
        self.full = full
        self.epsilon = epsilon
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.poisson_nll_loss(input, label, self.log_input, self.full, self.epsilon, self.reduction)


@public("paddle.nn")
@_documented_by(F.gaussian_nll_loss)
class GaussianNLLLoss(Layer):
    """
    Example:
        >>> import paddle
        >>> loss = paddle.nn.GaussianNLLLoss()
        >>> float(loss(paddle.zeros([2]), paddle.to_tensor([2.0, 0.0]), paddle.ones([2])))
        1.0
    """

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
@_documented_by(F.margin_ranking_loss)
class MarginRankingLoss(Layer):
    """
    Example:
        >>> import paddle
        >>> loss = paddle.nn.MarginRankingLoss(margin=1.0)
        >>> float(loss(paddle.to_tensor([1.0, 3.0]), paddle.to_tensor([2.0, 0.0]), paddle.to_tensor([1.0, 1.0])))
        1.0
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        check_reduction("MarginRankingLoss", reduction)
        self.margin = margin
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, other: Tensor, label: Tensor) -> Tensor:
        return F.margin_ranking_loss(input, other, label, self.margin, self.reduction)


@public("paddle.nn")
@_documented_by(F.hinge_embedding_loss)
class HingeEmbeddingLoss(Layer):
    """
    Example:
        >>> import paddle
        >>> loss = paddle.nn.HingeEmbeddingLoss()
        >>> float(loss(paddle.to_tensor([0.25, 0.25]), paddle.to_tensor([1, -1])))
        0.5
    """

    def __init__(self, margin: float = 1.0, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        check_reduction("HingeEmbeddingLoss", reduction)
        self.margin = margin
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, label, self.margin, self.reduction)


@public("paddle.nn")
@_documented_by(F.soft_margin_loss)
class SoftMarginLoss(Layer):
    """
    Example:
        >>> import paddle
        >>> loss = paddle.nn.SoftMarginLoss()
        >>> round(float(loss(paddle.zeros([2]), paddle.to_tensor([1, -1]))), 4)
        0.6931
    """

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        check_reduction("SoftMarginLoss", reduction)
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.soft_margin_loss(input, label, self.reduction)


@public("paddle.nn")
@_documented_by(F.cosine_embedding_loss)
class CosineEmbeddingLoss(Layer):
    """
    Example:
        >>> import paddle
        >>> loss = paddle.nn.CosineEmbeddingLoss(margin=0.5)
        >>> x, y = paddle.to_tensor([[1.0, 0.0], [1.0, 0.0]]), paddle.to_tensor([[0.0, 1.0], [2.0, 0.0]])
        >>> round(float(loss(x, y, paddle.to_tensor([1, -1]))), 4)
        0.75
    """

    def __init__(self, margin: float = 0, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        check_reduction("CosineEmbeddingLoss", reduction)
        if not -1 <= margin <= 1:
            raise ValueError(f"[CosineEmbeddingLoss] requires a margin from -1 to 1, got {margin}")
        self.margin = margin
        self.reduction = reduction
        self.name = name

    def forward(self, input1: Tensor, input2: Tensor, label: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, label, self.margin, self.reduction)


@public("paddle.nn")
@_documented_by(F.multi_label_soft_margin_loss)
class MultiLabelSoftMarginLoss(Layer):
    """
    Example:
        >>> import paddle
        >>> loss = paddle.nn.MultiLabelSoftMarginLoss()
        >>> round(float(loss(paddle.zeros([2, 3]), paddle.to_tensor([[1, 0, 1], [0, 0, 1]]))), 4)
        0.6931
    """

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        check_reduction("MultiLabelSoftMarginLoss", reduction)
        self.weight = weight
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.multi_label_soft_margin_loss(input, label, self.weight, self.reduction)


@public("paddle.nn")
@_documented_by(F.multi_label_margin_loss)
class MultiLabelMarginLoss(Layer):
    """
    Example:
        >>> import paddle
        >>> loss = paddle.nn.MultiLabelMarginLoss()
        >>> float(loss(paddle.to_tensor([[0.5, 0.0, 2.0, 1.5]]), paddle.to_tensor([[2, -1, 0, 0]])))
        0.125
    """

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        check_reduction("MultiLabelMarginLoss", reduction)
        self.reduction = reduction
        self.name = name

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return F.multi_label_margin_loss(input, label, self.reduction)


@public("paddle.nn")
@_documented_by(F.multi_margin_loss)
class MultiMarginLoss(Layer):
    """
    Example:
        >>> import paddle
        >>> loss = paddle.nn.MultiMarginLoss(p=2)
        >>> float(loss(paddle.to_tensor([[0.0, 2.0], [0.0, 0.0]]), paddle.to_tensor([1, 1])))
        0.25
    """

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
@_documented_by(F.triplet_margin_loss)
class TripletMarginLoss(Layer):
    """
    Example:
        >>> import paddle
        >>> loss = paddle.nn.TripletMarginLoss()
        >>> x, near, far = (paddle.to_tensor([point]) for point in ([0.0, 0.0], [3.0, 4.0], [0.0, 2.0]))
        >>> round(float(loss(x, near, far)), 4)
        4.0
    """

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
@_documented_by(F.triplet_margin_with_distance_loss)
class TripletMarginWithDistanceLoss(Layer):
    """
    Example:
        >>> import paddle
        >>> loss = paddle.nn.TripletMarginWithDistanceLoss(lambda a, b: (a - b).abs().sum(-1))
        >>> x, near, far = (paddle.to_tensor([point]) for point in ([0.0, 0.0], [3.0, 4.0], [0.0, 2.0]))
        >>> float(loss(x, near, far))
        6.0
    """

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
@_documented_by(F.ctc_loss)
class CTCLoss(Layer):
    """
    Example:
        >>> import paddle
        >>> loss = paddle.nn.CTCLoss()
        >>> lengths = paddle.to_tensor([2]), paddle.to_tensor([1])
        >>> round(float(loss(paddle.zeros([2, 1, 3]), paddle.to_tensor([[1]]), *lengths)), 4)  # log(9 / 3)
        1.0986
    """

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
        """Loss of a batch; ``norm_by_times`` divides the gradient of a row, not its loss, by its input length."""
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
@_documented_by(F.rnnt_loss)
class RNNTLoss(Layer):
    """
    Example:
        >>> import paddle
        >>> loss = paddle.nn.RNNTLoss()
        >>> scores = paddle.nn.functional.log_softmax(paddle.zeros([1, 2, 2, 4]))
        >>> lengths = paddle.to_tensor([2]), paddle.to_tensor([1])
        >>> round(float(loss(scores, paddle.to_tensor([[1]]), *lengths)), 4)  # -log(2 / 4**3)
        3.4657
    """

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
