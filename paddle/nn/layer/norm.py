"""Normalisations as layers."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import paddle.nn.functional as F
import paddle.tensor
from paddle._public import public
from paddle.framework.param_attr import ParamAttr
from paddle.nn._ops import Records
from paddle.nn._spectral import iterate, matrix_of, scaled
from paddle.nn.functional.norm import batch_norm_over, follow
from paddle.nn.initializer import Constant, Normal
from paddle.nn.layer.layers import Layer
from umiak import ops
from umiak.core.dispatch import apply
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor

if TYPE_CHECKING:
    from umiak import comm

_RMS = Records(ops.RmsNorm)


@public("paddle.nn")
class LayerNorm(Layer):
    """``(x - mean) / sqrt(variance + epsilon) * weight + bias``, over the last dims.

    Args:
        normalized_shape: sizes of the last dims, which mean and variance are taken over.
        epsilon: added to the variance.
        elementwise_affine: whether there are weight and bias.
        bias: whether there is a bias.
        device, dtype: where the parameters go, and their dtype.
        weight_attr, bias_attr: attributes of weight (ones) and bias (zeros), vectors; False for none.

    Example:
        >>> import paddle
        >>> paddle.nn.LayerNorm(4)(paddle.ones([2, 4])).shape
        [2, 4]
    """

    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        epsilon: float = 1e-5,
        *,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype="float32" if dtype is None else dtype)
        shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        self._normalized_shape = shape
        self._epsilon = epsilon
        size = [math.prod(shape)]
        if not elementwise_affine:
            weight_attr = bias_attr = False
        elif not bias:
            bias_attr = False
        self.weight = self.create_parameter(size, weight_attr, default_initializer=Constant(1.0), device=device)
        self.bias = self.create_parameter(size, bias_attr, is_bias=True, device=device)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self._normalized_shape, self.weight, self.bias, self._epsilon)

    def extra_repr(self) -> str:
        return f"normalized_shape={self._normalized_shape}, epsilon={self._epsilon}"


@public("paddle.nn")
class RMSNorm(Layer):
    """``x / sqrt(mean(x²) + epsilon) * weight``, over the last dims.

    Args:
        normalized_shape: sizes of the last dims, which the mean is taken over.
        epsilon: added to the mean square.
        weight_attr: attributes of the weight (ones), of that shape; False for none.

    Example:
        >>> import paddle
        >>> paddle.nn.RMSNorm(4, epsilon=0.0)(paddle.full([1, 4], 3.0)).tolist()
        [[1.0, 1.0, 1.0, 1.0]]
    """

    weight: Tensor | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._normalized_shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        self._epsilon = epsilon
        self.weight = self.create_parameter(self._normalized_shape, weight_attr, default_initializer=Constant(1.0))

    def forward(self, input: Tensor) -> Tensor:
        return apply(_RMS[input.ndim - len(self._normalized_shape)], (input, self.weight, None), (self._epsilon,))

    def extra_repr(self) -> str:
        return f"normalized_shape={self._normalized_shape}, epsilon={self._epsilon}"


@public("paddle.nn")
class GroupNorm(Layer):
    """Each group of channels of each sample less its mean, over its standard deviation, times weight plus bias.

    Args:
        num_groups: divides the channels.
        num_channels: how many there are.
        epsilon: added to the variance.
        affine: whether there are weight and bias.
        device, dtype: where the parameters go, and their dtype.
        weight_attr, bias_attr: attributes of weight (ones) and bias (zeros), ``[channels]``; False for none.
        data_format: where the channels are.
    """

    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        epsilon: float = 1e-5,
        *,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(dtype="float32" if dtype is None else dtype)
        self._num_groups = num_groups
        self._num_channels = num_channels
        self._epsilon = epsilon
        self._data_format = data_format
        if not affine:
            weight_attr = bias_attr = False
        self.weight = self.create_parameter(
            [num_channels], weight_attr, default_initializer=Constant(1.0), device=device
        )
        self.bias = self.create_parameter([num_channels], bias_attr, is_bias=True, device=device)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self._num_groups, self._epsilon, self.weight, self.bias, self._data_format)

    def extra_repr(self) -> str:
        return f"num_groups={self._num_groups}, num_channels={self._num_channels}, epsilon={self._epsilon}"


class _InstanceNorm(Layer):
    ranks: tuple[int, ...]

    def __init__(
        self,
        num_features: int,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        if (weight_attr is False) != (bias_attr is False):
            raise ValueError(f"[{type(self).__name__}] requires weight_attr and bias_attr both False or neither")
        self._num_features = num_features
        self._epsilon = epsilon
        self._momentum = momentum
        self._data_format = data_format
        self.scale = self.create_parameter([num_features], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in self.ranks:
            raise ValueError(
                f"[{type(self).__name__}] requires rank {' or '.join(map(str, self.ranks))}, got {input.ndim}"
            )
        return F.instance_norm(
            input, weight=self.scale, bias=self.bias, eps=self._epsilon, data_format=self._data_format
        )

    def extra_repr(self) -> str:
        return f"num_features={self._num_features}, epsilon={self._epsilon}"


@public("paddle.nn")
class InstanceNorm1D(_InstanceNorm):
    """Normalises each channel of each sample of ``[N, C, L]`` (or ``[N, C]``)."""

    ranks = (2, 3)

    def __init__(
        self,
        num_features: int,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, epsilon, momentum, weight_attr, bias_attr, data_format, name)


@public("paddle.nn")
class InstanceNorm2D(_InstanceNorm):
    """Normalises each channel of each sample of ``[N, C, H, W]``."""

    ranks = (4,)


@public("paddle.nn")
class InstanceNorm3D(_InstanceNorm):
    """Normalises each channel of each sample of ``[N, C, D, H, W]``."""

    ranks = (5,)

    def __init__(
        self,
        num_features: int,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCDHW",
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, epsilon, momentum, weight_attr, bias_attr, data_format, name)


class _BatchNorm(Layer):
    """Shared by batch norms of every rank. The running mean and variance are parameters that are not trained."""

    ranks: tuple[int, ...]
    # What is asked of the running mean and variance beside their values.
    _running_attrs: Sequence[ParamAttr] = (ParamAttr(trainable=False), ParamAttr(trainable=False))
    weight: Tensor | None
    bias: Tensor | None
    _mean: Tensor
    _variance: Tensor

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        use_global_stats: bool | None = None,
        name: str | None = None,
        dtype: Any = "float32",
    ) -> None:
        super().__init__(dtype=dtype)
        self._num_features = num_features
        self._momentum = momentum
        self._epsilon = epsilon
        self._data_format = data_format
        self._use_global_stats = use_global_stats
        self._name = name
        self.weight = self.create_parameter([num_features], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)

        self._mean, self._variance = (
            self._running(attr, value) for attr, value in zip(self._running_attrs, (0.0, 1.0), strict=True)
        )

    def _running(self, attr: ParamAttr, value: float) -> Any:
        attr = copy.copy(attr)
        attr.initializer = Constant(value)
        return self.create_parameter([self._num_features], attr)

    def _check(self, input: Tensor) -> None:
        if input.ndim not in self.ranks:
            raise ValueError(
                f"[{type(self).__name__}] requires rank {' or '.join(map(str, self.ranks))}, got {input.ndim}"
            )

    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        return F.batch_norm(
            input,
            self._mean,
            self._variance,
            self.weight,
            self.bias,
            self.training,
            self._momentum,
            self._epsilon,
            self._data_format,
            self._use_global_stats,
        )

    def extra_repr(self) -> str:
        main = f"num_features={self._num_features}, momentum={self._momentum}, epsilon={self._epsilon}"
        layout = "" if self._data_format == "NCHW" else f", data_format={self._data_format}"
        return main + layout + (f", name={self._name}" if self._name else "")


@public("paddle.nn")
class BatchNorm1D(_BatchNorm):
    """Normalises each channel of ``[N, C]`` or ``[N, C, L]``; see :class:`BatchNorm2D`."""

    ranks = (2, 3)

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats, name)


@public("paddle.nn")
class BatchNorm2D(_BatchNorm):
    """Each channel less its mean, over its standard deviation, times weight plus bias.

    In training these are the batch's, and the running values follow them; in evaluation they are the running values.

    Args:
        num_features: channels of the input ``[N, C, H, W]``.
        momentum: how much of the running values stays at each step.
        epsilon: added to the variance.
        weight_attr, bias_attr: attributes of weight (ones) and bias (zeros), ``[channels]``; False for none.
        data_format: ``"NCHW"`` or ``"NHWC"``.
        use_global_stats: True takes the running values also in training.

    Example:
        >>> import paddle
        >>> paddle.nn.BatchNorm2D(3)(paddle.ones([2, 3, 4, 4])).shape
        [2, 3, 4, 4]
    """

    ranks = (4,)


@public("paddle.nn")
class BatchNorm3D(_BatchNorm):
    """Normalises each channel of ``[N, C, D, H, W]``; see :class:`BatchNorm2D`."""

    ranks = (5,)

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCDHW",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats, name)


def over_ranks(group: comm.Group) -> Callable[[Tensor], Tensor]:
    """A function that adds a vector up over the ranks of a group, each of which uses the sum in its own way."""

    def total(x: Tensor) -> Tensor:
        both = {"group": group.name, "size": group.size}
        return ops.copy_to_group(ops.all_reduce(x, **both), **both)

    return total


@public("paddle.nn")
class SyncBatchNorm(_BatchNorm):
    """Batch norm of any rank whose mean and variance are those of the batches of all processes together.

    The processes are those of ``init_parallel_env``, or of the group that :class:`paddle.DataParallel` was given. With
    one process it is :class:`BatchNorm2D` for every rank of tensor. Parameters and keys are those of the other ones.

    Args: those of :class:`BatchNorm2D`.

    Example:
        >>> import paddle
        >>> net = paddle.nn.Sequential(paddle.nn.Conv2D(3, 4, 3), paddle.nn.BatchNorm2D(4))
        >>> net = paddle.nn.SyncBatchNorm.convert_sync_batchnorm(net)
        >>> net[1]
        SyncBatchNorm(num_features=4, momentum=0.9, epsilon=1e-05)
    """

    ranks = (2, 3, 4, 5)
    total: Callable[[Tensor], Tensor] | None = None  # adds a vector up over some processes; None: over all there are

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, None, name)

    def forward(self, x: Tensor) -> Tensor:
        from umiak import comm

        total = self.total or (over_ranks(comm.world()) if comm.started() and comm.world().size > 1 else None)
        if total is None or not self.training:
            return super().forward(x)
        self._check(x)
        settings = (self.weight, self.bias, self._epsilon, self._data_format)
        y, mean, var = batch_norm_over(total, x, *settings)
        follow(self._mean, self._variance, mean, var, self._momentum)
        return y

    @classmethod
    def convert_sync_batchnorm(cls, layer: Layer) -> Layer:
        """The layer with its batch norms of fixed rank replaced, at any depth, by ones that hold the same parameters.

        It is changed in place, unless it is a batch norm itself.
        """
        if isinstance(layer, _BatchNorm) and not isinstance(layer, (SyncBatchNorm, BatchNorm)):
            sizes = (layer._num_features, layer._momentum, layer._epsilon)
            made = cls(*sizes, False, False, layer._data_format, layer._name)
            made._parameters.clear()
            made._parameters.update(layer._parameters)
            made._use_global_stats = layer._use_global_stats
            made.training = layer.training
            return made
        for name, inner in list(layer._sub_layers.items()):
            if inner is not None:
                layer._sub_layers[name] = cls.convert_sync_batchnorm(inner)
        return layer


# Activations by their old names, where these are no functions of paddle.nn.functional.
_OLD_NAMES: dict[str, Callable] = {
    "hard_sigmoid": lambda x: F.hardsigmoid(x, slope=0.2),
    "hard_swish": F.hardswish,
    "tanh_shrink": F.tanhshrink,
    **{name: getattr(paddle.tensor, name) for name in ("abs", "exp", "reciprocal", "sqrt", "square")},
}


@public("paddle.nn")
class BatchNorm(_BatchNorm):
    """Batch norm of any rank from 2 to 5, followed by an activation.

    Args:
        num_channels: channels of the input ``[N, C, *]``.
        act: the name of an activation, such as ``"relu"``.
        is_test: begin in evaluation.
        momentum, epsilon: as in :class:`BatchNorm2D`.
        param_attr, bias_attr: attributes of weight and bias; False for none.
        dtype: of the parameters; float32 for half-precision ones.
        data_layout: ``"NCHW"``, or ``"NHWC"`` for channels last.
        in_place: accepted; results are new tensors.
        moving_mean_name, moving_variance_name: names of the running values.
        do_model_average_for_mean_and_var: whether averaging of parameters includes them.
        use_global_stats: take the running values also in training.
        trainable_statistics: take the batch's values, and let the running ones follow, also in evaluation.

    Raises:
        ValueError: an unknown activation.

    Example:
        >>> import paddle
        >>> paddle.nn.BatchNorm(3, act="relu")(paddle.ones([2, 3, 4, 4])).shape
        [2, 3, 4, 4]
    """

    ranks = (2, 3, 4, 5)

    def __init__(
        self,
        num_channels: int,
        act: str | None = None,
        is_test: bool = False,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        param_attr: Any = None,
        bias_attr: Any = None,
        dtype: Any = "float32",
        data_layout: str = "NCHW",
        in_place: bool = False,
        moving_mean_name: str | None = None,
        moving_variance_name: str | None = None,
        do_model_average_for_mean_and_var: bool = True,
        use_global_stats: bool = False,
        trainable_statistics: bool = False,
    ) -> None:
        names = (moving_mean_name, moving_variance_name)
        self._running_attrs = [
            ParamAttr(name=n, trainable=False, do_model_average=do_model_average_for_mean_and_var) for n in names
        ]
        args = (num_channels, momentum, epsilon, param_attr, bias_attr, data_layout, use_global_stats, None)
        super().__init__(*args, dtype=convert(dtype).compute)
        self._act: Callable | None = None
        if act is not None:
            self._act = _OLD_NAMES.get(act) or getattr(F, act, None)
            if self._act is None:
                raise ValueError(f"[BatchNorm] requires the name of an activation as act, got {act!r}")
        self._trainable_statistics = trainable_statistics
        self.training = not is_test

    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        y = F.batch_norm(
            input,
            self._mean,
            self._variance,
            self.weight,
            self.bias,
            self.training or self._trainable_statistics,
            self._momentum,
            self._epsilon,
            self._data_format,
            self._use_global_stats,
        )
        return y if self._act is None else self._act(y)

    def extra_repr(self) -> str:
        return ""


@public("paddle.nn")
class SpectralNorm(Layer):
    """A weight over its largest singular value (Miyato et al., 2018), found by power iteration.

    Args:
        weight_shape: sizes of the weight that :meth:`forward` takes.
        dim: the dim that is the rows of the matrix; the others are its columns.
        power_iters: steps of the iteration, from ``weight_u`` and ``weight_v``, which stay as they are.
        eps: added to norms.
        dtype: of the weight.

    Raises:
        ValueError: sizes that do not fit.

    Example:
        >>> import paddle
        >>> paddle.nn.SpectralNorm([4, 3], power_iters=2)(paddle.rand([4, 3])).shape
        [4, 3]
    """

    weight_u: Tensor
    weight_v: Tensor

    def __init__(
        self,
        weight_shape: Sequence[int],
        dim: int = 0,
        power_iters: int = 1,
        eps: float = 1e-12,
        dtype: Any = "float32",
    ) -> None:
        super().__init__(dtype=dtype)
        self._weight_shape = list(weight_shape)
        if math.prod(self._weight_shape) == 0 or not 0 <= dim < len(self._weight_shape):
            raise ValueError(
                f"[SpectralNorm] requires positive sizes and one of their dims, got {self._weight_shape} and {dim}"
            )
        self._dim = dim
        self._power_iters = power_iters
        self._epsilon = eps
        rows = self._weight_shape[dim]
        for name, size in (("weight_u", rows), ("weight_v", math.prod(self._weight_shape) // rows)):
            made = self.create_parameter([size], default_initializer=Normal(0.0, 1.0))
            made.stop_gradient = True
            setattr(self, name, made)

    def forward(self, x: Tensor) -> Tensor:
        if list(x.shape) != self._weight_shape:
            raise ValueError(f"[SpectralNorm] requires a weight of shape {self._weight_shape}, got {list(x.shape)}")
        matrix = matrix_of(x, self._dim)
        return scaled(x, matrix, *iterate(matrix, self.weight_u, self.weight_v, self._power_iters, self._epsilon))


@public("paddle.nn")
class LocalResponseNorm(Layer):
    """Divides by a power of the mean square of neighbouring channels."""

    def __init__(
        self,
        size: int,
        alpha: float = 0.0001,
        beta: float = 0.75,
        k: float = 1.0,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k
        self.data_format = data_format
        self.name = name

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k, self.data_format)

    def extra_repr(self) -> str:
        return f"size={self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
