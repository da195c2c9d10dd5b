"""Normalisations as layers."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import paddle.nn.functional as F
import paddle.tensor
from paddle._public import public
from paddle.framework.param_attr import ParamAttr
from paddle.nn._spectral import matrix_of, power_iteration, scaled
from paddle.nn.functional.norm import batch_norm_over, follow, tail_axis
from paddle.nn.initializer import Constant, Normal
from paddle.nn.layer.layers import Layer
from paddle.tensor._args import InternedOps
from umiak import ops
from umiak.core.dtype import convert
from umiak.core.eager import apply
from umiak.core.tensor import Tensor
from umiak.util.arguments import several
from umiak.util.errors import op_error

if TYPE_CHECKING:
    from umiak import comm

_RMS = InternedOps(ops.RmsNorm)


@public("paddle.nn", aliases={"eps": "epsilon"})
class LayerNorm(Layer):
    """Layer normalization, ``(x - mean) / sqrt(variance + epsilon) * weight + bias``, over the last dims.

    Args:
        normalized_shape: sizes of the last dims, which mean and variance are taken over; an int for one dim.
        epsilon: added to the variance.
        elementwise_affine: False for neither weight nor bias.
        bias: False for no bias.
        device: where the parameters go; None: the current place.
        dtype: of the parameters; the default dtype if None.
        weight_attr: attributes of the weight, ones by default; False for none.
        bias_attr: attributes of the bias, zeros by default; False for none.

    Shape:
        input: ``[*, *normalized_shape]``, floating.
        output: the input's shape and dtype.

    Attributes:
        weight: a parameter of as many elements as ``normalized_shape`` has, in one dim, or None.
        bias: the same.

    Raises:
        TypeError: in a call, an input that is not floating.
        ValueError: in a call, an input that does not end in ``normalized_shape``.

    References:
        Ba, Kiros and Hinton, 2016: Layer Normalization.

    Example:
        >>> import paddle
        >>> paddle.nn.LayerNorm(2, epsilon=0.0)(paddle.to_tensor([[1.0, 3.0]])).tolist()
        [[-1.0, 1.0]]
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
        super().__init__(dtype=dtype)
        shape = [int(normalized_shape)] if isinstance(normalized_shape, Integral) else normalized_shape
        shape = several("LayerNorm", "an int or a list of them as normalized_shape", shape)
        self._normalized_shape = shape
        self._epsilon = epsilon
        size = [math.prod(shape)]
        if not elementwise_affine:
            weight_attr = bias_attr = False
        elif not bias:
            bias_attr = False
        dtype, one = self._dtype, Constant(1.0)
        self._weight_attr, self._bias_attr = weight_attr, bias_attr
        self.weight = self.create_parameter(size, weight_attr, dtype, default_initializer=one, device=device)
        self.bias = self.create_parameter(size, bias_attr, dtype, is_bias=True, device=device)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self._normalized_shape, self.weight, self.bias, self._epsilon)

    def extra_repr(self) -> str:
        return f"normalized_shape={self._normalized_shape}, epsilon={self._epsilon}"


@public("paddle.nn")
class RMSNorm(Layer):
    """Root mean square normalization, ``x / sqrt(mean(x²) + epsilon) * weight``, over the last dims.

    Args:
        normalized_shape: sizes of the last dims, which the mean is taken over; an int for one dim.
        epsilon: added to the mean square.
        weight_attr: attributes of the weight, ones by default; False for none.

    Shape:
        input: ``[*, *normalized_shape]``, floating.
        output: the input's shape and dtype.

    Attributes:
        weight: the parameter of shape ``normalized_shape``, or None.

    Raises:
        TypeError: in a call, an input that is not floating.
        ValueError: in a call, an input that does not end in ``normalized_shape``.

    References:
        Zhang and Sennrich, 2019: Root Mean Square Layer Normalization.

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
        shape = [int(normalized_shape)] if isinstance(normalized_shape, Integral) else normalized_shape
        shape = several("RMSNorm", "an int or a list of them as normalized_shape", shape)
        self._normalized_shape = shape
        self._epsilon = epsilon
        self.weight = self.create_parameter(self._normalized_shape, weight_attr, default_initializer=Constant(1.0))

    def forward(self, input: Tensor) -> Tensor:
        axis = input.ndim - len(self._normalized_shape)
        if axis < 0 or self.weight is None:  # the op compares the dims with a weight's
            axis = tail_axis("RMSNorm", input, self._normalized_shape)
        return apply(_RMS[axis], (input, self.weight, None), (self._epsilon,))

    def extra_repr(self) -> str:
        return f"normalized_shape={self._normalized_shape}, epsilon={self._epsilon}"


@public("paddle.nn", aliases={"eps": "epsilon"})
class GroupNorm(Layer):
    """Group normalization: mean and variance are those of a group of channels of one sample.

    Args:
        num_groups: how many groups; divides the channels.
        num_channels: channels of the input.
        epsilon: added to the variance.
        affine: False for neither weight nor bias.
        device: where the parameters go; None: the current place.
        dtype: of the parameters; the default dtype if None.
        weight_attr: attributes of the weight ``[num_channels]``, ones by default; False for none.
        bias_attr: attributes of the bias ``[num_channels]``, zeros by default; False for none.
        data_format: ``"NLC"``, ``"NHWC"`` or ``"NDHWC"`` for channels in the last dim; otherwise they are the second.

    Shape:
        input: ``[N, C, *]``, or ``[N, *, C]``; floating.
        output: the input's shape and dtype.

    Raises:
        TypeError: in a call, an input that is not floating.
        ValueError: in a call, groups that do not divide the channels, another number of channels, or an unknown
            data_format.

    References:
        Wu and He, 2018: Group Normalization.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[[1.0], [3.0], [10.0], [30.0]]])
        >>> paddle.nn.GroupNorm(2, 4, epsilon=0.0)(x).flatten().tolist()
        [-1.0, 1.0, -1.0, 1.0]
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
        super().__init__(dtype=dtype)
        self._num_groups = num_groups
        self._num_channels = num_channels
        self._epsilon = epsilon
        self._data_format = data_format
        if not affine:
            weight_attr = bias_attr = False
        self._weight_attr, self._bias_attr = weight_attr, bias_attr
        self.weight = self.create_parameter(
            [num_channels], weight_attr, self._dtype, default_initializer=Constant(1.0), device=device
        )
        self.bias = self.create_parameter([num_channels], bias_attr, self._dtype, is_bias=True, device=device)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self._num_groups, self._epsilon, self.weight, self.bias, self._data_format)

    def extra_repr(self) -> str:
        return f"num_groups={self._num_groups}, num_channels={self._num_channels}, epsilon={self._epsilon}"


class _InstanceNormBase(Layer):
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
        self._weight_attr, self._bias_attr = weight_attr, bias_attr
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
class InstanceNorm1D(_InstanceNormBase):
    """Instance normalization: mean and variance are those of one channel of one sample.

    Args:
        num_features: channels of the input.
        epsilon: added to the variance.
        momentum: accepted; there are no running values.
        weight_attr: attributes of the weight ``[num_features]``, ones by default; False for neither weight nor bias.
        bias_attr: attributes of the bias ``[num_features]``, zeros by default; False for neither, as well.
        data_format: ``"NCL"`` or ``"NLC"``.

    Shape:
        input: ``[N, C, L]`` or ``[N, C]``, or ``[N, L, C]`` for ``"NLC"``; floating.
        output: the input's shape and dtype.

    Attributes:
        scale: the weight, or None.
        bias: the bias, or None.

    Raises:
        TypeError: in a call, an input that is not floating.
        ValueError: one of the attributes is False and the other is not; in a call, an input that is not of rank 2 or 3.

    References:
        Ulyanov, Vedaldi and Lempitsky, 2016: Instance Normalization.

    Example:
        >>> import paddle
        >>> y = paddle.nn.InstanceNorm1D(3)(paddle.rand([2, 3, 5]))
        >>> bool((y.mean([2]).abs() < 1e-4).all())
        True
    """

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
class InstanceNorm2D(_InstanceNormBase):
    """Instance normalization: mean and variance are those of one channel of one sample.

    Args:
        num_features: channels of the input.
        epsilon: added to the variance.
        momentum: accepted; there are no running values.
        weight_attr: attributes of the weight ``[num_features]``, ones by default; False for neither weight nor bias.
        bias_attr: attributes of the bias ``[num_features]``, zeros by default; False for neither, as well.
        data_format: ``"NCHW"`` or ``"NHWC"``.

    Shape:
        input: ``[N, C, H, W]``, or ``[N, H, W, C]`` for ``"NHWC"``; floating.
        output: the input's shape and dtype.

    Attributes:
        scale: the weight, or None.
        bias: the bias, or None.

    Raises:
        TypeError: in a call, an input that is not floating.
        ValueError: one of the attributes is False and the other is not; in a call, an input that is not of rank 4.

    References:
        Ulyanov, Vedaldi and Lempitsky, 2016: Instance Normalization.

    Example:
        >>> import paddle
        >>> y = paddle.nn.InstanceNorm2D(3)(paddle.rand([2, 3, 4, 4]))
        >>> bool((y.mean([2, 3]).abs() < 1e-4).all())
        True
    """

    ranks = (4,)


@public("paddle.nn")
class InstanceNorm3D(_InstanceNormBase):
    """Instance normalization: mean and variance are those of one channel of one sample.

    Args:
        num_features: channels of the input.
        epsilon: added to the variance.
        momentum: accepted; there are no running values.
        weight_attr: attributes of the weight ``[num_features]``, ones by default; False for neither weight nor bias.
        bias_attr: attributes of the bias ``[num_features]``, zeros by default; False for neither, as well.
        data_format: ``"NCDHW"`` or ``"NDHWC"``.

    Shape:
        input: ``[N, C, D, H, W]``, or ``[N, D, H, W, C]`` for ``"NDHWC"``; floating.
        output: the input's shape and dtype.

    Attributes:
        scale: the weight, or None.
        bias: the bias, or None.

    Raises:
        TypeError: in a call, an input that is not floating.
        ValueError: one of the attributes is False and the other is not; in a call, an input that is not of rank 5.

    References:
        Ulyanov, Vedaldi and Lempitsky, 2016: Instance Normalization.

    Example:
        >>> import paddle
        >>> y = paddle.nn.InstanceNorm3D(3)(paddle.rand([2, 3, 2, 4, 4]))
        >>> bool((y.mean([2, 3, 4]).abs() < 1e-4).all())
        True
    """

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


class _BatchNormBase(Layer):
    """Shared by batch norms of every rank. The running mean and variance are parameters that are not trained."""

    ranks: tuple[int, ...]
    formats: tuple[str, ...] = ()  # that are taken; all that the function takes where none is named
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
        dtype: Any = None,
    ) -> None:
        super().__init__(dtype=dtype)
        if self._dtype == "float16":
            self.__dict__["_dtype"] = "float32"  # statistics need its range
        self._num_features = num_features
        self._momentum = momentum
        self._epsilon = epsilon
        self._data_format = data_format
        self._use_global_stats = use_global_stats
        self._name = name
        one = Constant(1.0)
        self._weight_attr = self._param_attr = weight_attr
        self._bias_attr = bias_attr
        self.weight = self.create_parameter([num_features], weight_attr, self._dtype, default_initializer=one)
        self.bias = self.create_parameter([num_features], bias_attr, self._dtype, is_bias=True)

        self._mean, self._variance = (
            self._running(attr, value) for attr, value in zip(self._running_attrs, (0.0, 1.0), strict=True)
        )

    def _running(self, attr: ParamAttr, value: float) -> Any:
        attr = copy.copy(attr)
        attr.initializer = Constant(value)
        return self.create_parameter([self._num_features], attr, self._dtype)

    def _check(self, input: Tensor) -> None:
        if input.ndim not in self.ranks:
            raise ValueError(
                f"[{type(self).__name__}] requires rank {' or '.join(map(str, self.ranks))}, got {input.ndim}"
            )
        if self.formats and self._data_format not in self.formats:
            need = f"a data_format of {', '.join(self.formats)}"
            raise op_error(ValueError, type(self).__name__, need, repr(self._data_format))

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
class BatchNorm1D(_BatchNormBase):
    """Batch normalization: mean and variance are those of one channel, over the batch and all positions.

    In training they are the batch's, and the running values follow them, in place; in evaluation they are the running
    values.

    Args:
        num_features: channels of the input.
        momentum: how much of the running values stays at each step: ``momentum * running + (1 - momentum) * batch``.
        epsilon: added to the variance.
        weight_attr: attributes of the weight ``[num_features]``, ones by default; False for none.
        bias_attr: attributes of the bias ``[num_features]``, zeros by default; False for none.
        data_format: ``"NCL"`` or ``"NLC"``.
        use_global_stats: True takes the running values also in training, False those of the batch also in evaluation;
            None the running ones in evaluation alone.

    Shape:
        input: ``[N, C, L]`` or ``[N, C]``, or ``[N, L, C]`` for ``"NLC"``; floating.
        output: the input's shape and dtype.

    Attributes:
        weight: the parameter ``[num_features]``, or None.
        bias: the parameter ``[num_features]``, or None.

    Raises:
        TypeError: in a call, an input that is not floating.
        ValueError: in a call, an input that is not of rank 2 or 3 or has another number of channels, or an unknown
            data_format.

    References:
        Ioffe and Szegedy, 2015: Batch Normalization.

    Example:
        >>> import paddle
        >>> norm = paddle.nn.BatchNorm1D(3)
        >>> x = paddle.full([2, 3, 5], 2.0)
        >>> y = norm(x)  # in training the batch's own mean is taken away
        >>> float(y.abs().max())
        0.0
        >>> float(norm.eval()(x).max()) > 1.0  # the running mean has begun to follow
        True
    """

    ranks = (2, 3)
    formats = ("NC", "NCL", "NLC", "NCHW", "NHWC")

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
class BatchNorm2D(_BatchNormBase):
    """Batch normalization: mean and variance are those of one channel, over the batch and all positions.

    In training they are the batch's, and the running values follow them, in place; in evaluation they are the running
    values.

    Args:
        num_features: channels of the input.
        momentum: how much of the running values stays at each step: ``momentum * running + (1 - momentum) * batch``.
        epsilon: added to the variance.
        weight_attr: attributes of the weight ``[num_features]``, ones by default; False for none.
        bias_attr: attributes of the bias ``[num_features]``, zeros by default; False for none.
        data_format: ``"NCHW"`` or ``"NHWC"``.
        use_global_stats: True takes the running values also in training, False those of the batch also in evaluation;
            None the running ones in evaluation alone.

    Shape:
        input: ``[N, C, H, W]``, or ``[N, H, W, C]`` for ``"NHWC"``; floating.
        output: the input's shape and dtype.

    Attributes:
        weight: the parameter ``[num_features]``, or None.
        bias: the parameter ``[num_features]``, or None.

    Raises:
        TypeError: in a call, an input that is not floating.
        ValueError: in a call, an input that is not of rank 4 or has another number of channels, or an unknown
            data_format.

    References:
        Ioffe and Szegedy, 2015: Batch Normalization.

    Example:
        >>> import paddle
        >>> norm = paddle.nn.BatchNorm2D(3)
        >>> x = paddle.full([2, 3, 4, 4], 2.0)
        >>> y = norm(x)  # in training the batch's own mean is taken away
        >>> float(y.abs().max())
        0.0
        >>> float(norm.eval()(x).max()) > 1.0  # the running mean has begun to follow
        True
    """

    ranks = (4,)
    formats = ("NCHW", "NHWC")

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
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats, name)


@public("paddle.nn")
class BatchNorm3D(_BatchNormBase):
    """Batch normalization: mean and variance are those of one channel, over the batch and all positions.

    In training they are the batch's, and the running values follow them, in place; in evaluation they are the running
    values.

    Args:
        num_features: channels of the input.
        momentum: how much of the running values stays at each step: ``momentum * running + (1 - momentum) * batch``.
        epsilon: added to the variance.
        weight_attr: attributes of the weight ``[num_features]``, ones by default; False for none.
        bias_attr: attributes of the bias ``[num_features]``, zeros by default; False for none.
        data_format: ``"NCDHW"`` or ``"NDHWC"``.
        use_global_stats: True takes the running values also in training, False those of the batch also in evaluation;
            None the running ones in evaluation alone.

    Shape:
        input: ``[N, C, D, H, W]``, or ``[N, D, H, W, C]`` for ``"NDHWC"``; floating.
        output: the input's shape and dtype.

    Attributes:
        weight: the parameter ``[num_features]``, or None.
        bias: the parameter ``[num_features]``, or None.

    Raises:
        TypeError: in a call, an input that is not floating.
        ValueError: in a call, an input that is not of rank 5 or has another number of channels, or an unknown
            data_format.

    References:
        Ioffe and Szegedy, 2015: Batch Normalization.

    Example:
        >>> import paddle
        >>> norm = paddle.nn.BatchNorm3D(3)
        >>> x = paddle.full([2, 3, 2, 4, 4], 2.0)
        >>> y = norm(x)  # in training the batch's own mean is taken away
        >>> float(y.abs().max())
        0.0
        >>> float(norm.eval()(x).max()) > 1.0  # the running mean has begun to follow
        True
    """

    ranks = (5,)
    formats = ("NCDHW", "NDHWC", "NCHW", "NHWC")

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
class SyncBatchNorm(_BatchNormBase):
    """Batch normalization of any rank, over the batches of all processes together.

    The processes are those of ``init_parallel_env``, or of the group that :class:`paddle.DataParallel` was given. With
    one process, and in evaluation, it is :class:`BatchNorm2D` for every rank of tensor. Parameters and keys of the
    state dict are those of the other batch norms.

    Args:
        num_features: channels of the input.
        momentum: how much of the running values stays at each step.
        epsilon: added to the variance.
        weight_attr: attributes of the weight ``[num_features]``, ones by default; False for none.
        bias_attr: attributes of the bias ``[num_features]``, zeros by default; False for none.
        data_format: ``"NLC"``, ``"NHWC"`` or ``"NDHWC"`` for channels in the last dim; otherwise they are the second.

    Shape:
        x: ``[N, C]``, or ``[N, C, *]`` of rank 3 to 5, or channels last; floating.
        output: the input's shape and dtype.

    Raises:
        TypeError: in a call, an input that is not floating.
        ValueError: in a call, an input of another rank or number of channels, or an unknown data_format.

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
        """Replace the batch norms of a layer, at any depth, by synchronized ones that hold the same parameters.

        Args:
            layer: changed in place, unless it is a batch norm itself. :class:`BatchNorm`, of any rank, stays.

        Returns:
            The layer, or the one that takes its place.
        """
        if isinstance(layer, _BatchNormBase) and not isinstance(layer, (SyncBatchNorm, BatchNorm)):
            sizes = (layer._num_features, layer._momentum, layer._epsilon)
            converted = cls(*sizes, False, False, layer._data_format, layer._name)
            converted._parameters.clear()
            converted._parameters.update(layer._parameters)
            converted._use_global_stats = layer._use_global_stats
            converted.training = layer.training
            return converted
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
class BatchNorm(_BatchNormBase):
    """Batch normalization of any rank from 2 to 5, followed by an activation.

    Args:
        num_channels: channels of the input.
        act: the name of an activation, such as ``"relu"``; None for none.
        is_test: begin in evaluation.
        momentum: how much of the running values stays at each step.
        epsilon: added to the variance.
        param_attr: attributes of the weight ``[num_channels]``, ones by default; False for none.
        bias_attr: attributes of the bias ``[num_channels]``, zeros by default; False for none.
        dtype: of the parameters; float32 for None and half-precision ones.
        data_layout: ``"NLC"``, ``"NHWC"`` or ``"NDHWC"`` for channels in the last dim; otherwise they are the second.
        in_place: accepted; results are new tensors.
        moving_mean_name: name of the running mean; None: one is made.
        moving_variance_name: name of the running variance; None: one is made.
        do_model_average_for_mean_and_var: whether averaging of parameters includes the running values.
        use_global_stats: take the running values also in training.
        trainable_statistics: take the batch's values, and let the running ones follow, also in evaluation.

    Shape:
        input: ``[N, C]``, or ``[N, C, *]`` of rank 3 to 5, or channels last; floating.
        output: the input's shape and dtype.

    Raises:
        TypeError: in a call, an input that is not floating.
        ValueError: an unknown activation; in a call, an input of another rank.

    Example:
        >>> import paddle
        >>> paddle.nn.BatchNorm(3, act="relu")(paddle.ones([2, 3, 4, 4])).shape
        paddle.Size([2, 3, 4, 4])
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
        globally = use_global_stats or None
        args = (num_channels, momentum, epsilon, param_attr, bias_attr, data_layout, globally, None)
        super().__init__(*args, dtype=convert("float32" if dtype is None else dtype).compute)
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
    """Spectral normalization: a weight over its largest singular value, which is found by power iteration.

    Args:
        weight_shape: sizes of the weight that a call takes.
        dim: the dim that is the rows of the matrix; the others are its columns. From 0.
        power_iters: steps of the iteration, from ``weight_u`` and ``weight_v``, which stay as they are.
        eps: added to norms.
        dtype: of the weight.

    Shape:
        x: ``weight_shape``.
        output: the same shape and dtype.

    Attributes:
        weight_u: vector of as many elements as the matrix has rows, normally distributed at first, not trained.
        weight_v: vector of as many elements as the matrix has columns, the same.

    Raises:
        ValueError: a shape without elements or a dim out of range; in a call, a weight of another shape.

    References:
        Miyato et al., 2018: Spectral Normalization for Generative Adversarial Networks.

    Example:
        >>> import paddle
        >>> norm = paddle.nn.SpectralNorm([2, 2], power_iters=20)
        >>> y = norm(paddle.to_tensor([[4.0, 0.0], [0.0, 1.0]]))
        >>> round(float(y[0, 0]), 3), round(float(y[1, 1]), 3)
        (1.0, 0.25)
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
            vector = self.create_parameter([size], None, self._dtype, default_initializer=Normal(0.0, 1.0))
            vector.stop_gradient = True
            setattr(self, name, vector)

    def forward(self, x: Tensor) -> Tensor:
        if list(x.shape) != self._weight_shape:
            raise ValueError(f"[SpectralNorm] requires a weight of shape {self._weight_shape}, got {list(x.shape)}")
        matrix = matrix_of(x, self._dim)
        return scaled(
            x, matrix, *power_iteration(matrix, self.weight_u, self.weight_v, self._power_iters, self._epsilon)
        )


@public("paddle.nn")
class LocalResponseNorm(Layer):
    """Local response normalization: ``x / (k + alpha * mean of squares over neighbouring channels) ** beta``.

    Args:
        size: how many channels are averaged, centred at each channel.
        alpha: factor on the mean of squares.
        beta: exponent of the divisor.
        k: added to the mean of squares.
        data_format: ``"NLC"``, ``"NHWC"`` or ``"NDHWC"`` for channels in the last dim; otherwise they are the second.

    Shape:
        input: ``[N, C, *]``, or ``[N, *, C]``, of rank 3 or more; floating.
        output: the input's shape and dtype.

    Raises:
        TypeError: in a call, an input that is not floating.
        ValueError: in a call, an input of a lower rank, a size below 1, or an unknown data_format.

    References:
        Krizhevsky, Sutskever and Hinton, 2012: ImageNet Classification with Deep Convolutional Neural Networks.

    Example:
        >>> import paddle
        >>> norm = paddle.nn.LocalResponseNorm(size=1, alpha=1.0, beta=1.0)
        >>> norm(paddle.full([1, 1, 1], 3.0)).tolist()  # 3 / (1 + 9)
        [[[0.30000001192092896]]]
    """

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
