"""Normalisations as layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import paddle.nn.functional as F
from paddle.framework.param_attr import ParamAttr
from paddle.nn._ops import Records
from paddle.nn.initializer import Constant
from paddle.nn.layer.layers import Layer
from umiak import ops
from umiak.core.dispatch import apply
from umiak.core.tensor import Tensor

_RMS = Records(ops.RmsNorm)


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


class InstanceNorm2D(_InstanceNorm):
    """Normalises each channel of each sample of ``[N, C, H, W]``."""

    ranks = (4,)


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
    ) -> None:
        super().__init__()
        self._num_features = num_features
        self._momentum = momentum
        self._epsilon = epsilon
        self._data_format = data_format
        self._use_global_stats = use_global_stats
        self._name = name
        self.weight = self.create_parameter([num_features], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)

        def running(value: float) -> Any:
            attr = ParamAttr(initializer=Constant(value), trainable=False, do_model_average=True)
            return self.create_parameter([num_features], attr)

        self._mean = running(0.0)
        self._variance = running(1.0)

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
