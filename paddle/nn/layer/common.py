"""Linear maps, embeddings, dropout, padding, resampling, and layers that only rearrange."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import paddle
import paddle.nn.functional as F
from paddle._public import also, public
from paddle.framework.param_attr import ParamAttr
from paddle.nn.initializer import Assign
from paddle.nn.layer.layers import Layer
from umiak.core.context import no_grad_guard
from umiak.core.tensor import Tensor

_linear = F.linear  # found with one look-up


@public("paddle.nn")
class Identity(Layer):
    """Its input. Arguments are taken and ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


@public("paddle.nn")
class Linear(Layer):
    """``x @ weight + bias``.

    Args:
        in_features: last dim of the input.
        out_features: last dim of the output.
        weight_attr: attributes of the weight ``[in_features, out_features]``, Xavier-uniform by default.
        bias_attr: attributes of the bias ``[out_features]``, zeros by default; False for none.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(4, 3)
        >>> layer(paddle.ones([2, 4])).shape
        [2, 3]
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.name = name
        self.weight = self.create_parameter([in_features, out_features], weight_attr)
        self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)

    def forward(self, input: Tensor) -> Tensor:
        return _linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        name = f", name={self.name}" if self.name else ""
        return f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._dtype}{name}"


@public("paddle.nn")
class Bilinear(Layer):
    """``out[n, k] = x1[n] @ weight[k] @ x2[n] + bias[k]``.

    Args:
        in1_features, in2_features, out_features: sizes.
        weight_attr: attributes of the weight ``[out, in1, in2]``.
        bias_attr: attributes of the bias ``[1, out]``; False for none.
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._in1_features = in1_features
        self._in2_features = in2_features
        self._out_features = out_features
        self.weight = self.create_parameter([out_features, in1_features, in2_features], weight_attr)
        self.bias = self.create_parameter([1, out_features], bias_attr, is_bias=True)

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self._in1_features}, in2_features={self._in2_features}, "
            f"out_features={self._out_features}, dtype={self._dtype}"
        )


@public("paddle.nn")
class Embedding(Layer):
    """A table of vectors looked up by index.

    Args:
        num_embeddings: rows of the table.
        embedding_dim: length of a row.
        padding_idx: this row starts as zeros, gives zeros and is not trained; negative counts from the end.
        max_norm, norm_type: rows longer than this are shortened when they are looked up.
        scale_grad_by_freq: divide the gradient of a row by how often it was looked up.
        sparse: the weight's gradient is of selected rows: those that were looked up.
        weight_attr: attributes of the weight ``[num_embeddings, embedding_dim]``, Xavier-uniform by default.

    Raises:
        ValueError: sizes that are not positive, or ``padding_idx`` out of range.

    Example:
        >>> import paddle
        >>> paddle.nn.Embedding(10, 3)(paddle.to_tensor([[1, 2], [3, 4]])).shape
        [2, 2, 3]
    """

    weight: Any

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        *,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype="float32" if dtype is None else dtype)
        if num_embeddings <= 0 or embedding_dim <= 0:
            raise ValueError(f"[Embedding] requires positive sizes, got {num_embeddings} and {embedding_dim}")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError(
                f"[Embedding] requires padding_idx from {-num_embeddings} to {num_embeddings - 1}, got {padding_idx}"
            )
        self._num_embeddings = num_embeddings
        self._embedding_dim = embedding_dim
        self._padding_idx = padding_idx
        self._max_norm = max_norm
        self._norm_type = norm_type
        self._scale_grad_by_freq = scale_grad_by_freq
        self._sparse = sparse
        self._name = name
        if _weight is not None:
            if list(_weight.shape) != [num_embeddings, embedding_dim]:
                raise ValueError(
                    f"[Embedding] requires _weight of {[num_embeddings, embedding_dim]}, got {_weight.shape}"
                )
            weight_attr = ParamAttr(initializer=Assign(_weight), trainable=not _freeze)
        elif _freeze:
            weight_attr = ParamAttr._to_attr(weight_attr)
            weight_attr.trainable = False
        self.weight = self.create_parameter([num_embeddings, embedding_dim], weight_attr, device=device)
        if padding_idx is not None and _weight is None:
            with no_grad_guard():
                self.weight[padding_idx] = 0.0

    @property
    def padding_idx(self) -> int | None:
        """The row that stands for padding."""
        return self._padding_idx

    def forward(self, x: Tensor) -> Tensor:
        if self._padding_idx is None and self._max_norm is None and not (self._scale_grad_by_freq or self._sparse):
            return F.embedding(x, self.weight)
        return F.embedding(
            x,
            self.weight,
            self._padding_idx,
            self._max_norm,
            self._norm_type,
            self._sparse,
            scale_grad_by_freq=self._scale_grad_by_freq,
        )

    def extra_repr(self) -> str:
        padding = f"padding_idx={self._padding_idx}, " if self._padding_idx is not None else ""
        name = f", name={self._name}" if self._name else ""
        return (
            f"{self._num_embeddings}, {self._embedding_dim}, {padding}sparse={self._sparse}, "
            f"scale_grad_by_freq={self._scale_grad_by_freq}{name}"
        )


@public("paddle.nn")
class Flatten(Layer):
    """Dims ``start_axis`` to ``stop_axis`` as one.

    Example:
        >>> import paddle
        >>> paddle.nn.Flatten()(paddle.ones([2, 3, 4])).shape
        [2, 12]
    """

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.start_axis = start_axis
        self.stop_axis = stop_axis

    def forward(self, input: Tensor) -> Tensor:
        return paddle.flatten(input, self.start_axis, self.stop_axis)


@public("paddle.nn")
class Unflatten(Layer):
    """Dim ``axis`` as several of sizes ``shape``."""

    def __init__(self, axis: int, shape: Any, name: str | None = None) -> None:
        super().__init__()
        self.axis = axis
        self.shape = shape
        self.name = name

    def forward(self, input: Tensor) -> Tensor:
        return paddle.unflatten(input, self.axis, self.shape)

    def extra_repr(self) -> str:
        return f"axis={self.axis}, shape={self.shape}" + (f", name={self.name}" if self.name else "")


# --- dropout -------------------------------------------------------------------------------------------------------


@public("paddle.nn")
class Dropout(Layer):
    """Sets elements to zero with probability ``p`` in training.

    Args:
        p: the probability of zero.
        inplace: write the result into the input.
        axis: draw one number per place along these axes.
        mode: ``"upscale_in_train"`` or ``"downscale_in_infer"``.

    Example:
        >>> import paddle
        >>> paddle.nn.Dropout(0.5).eval()(paddle.ones([3])).tolist()
        [1.0, 1.0, 1.0]
    """

    def __init__(
        self,
        p: float = 0.5,
        inplace: bool = False,
        axis: int | Sequence[int] | None = None,
        mode: str = "upscale_in_train",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.p = p
        self.inplace = inplace
        self.axis = axis
        self.mode = mode
        self.name = name

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.axis, self.training, self.inplace, self.mode)

    def extra_repr(self) -> str:
        name = f", name={self.name}" if self.name else ""
        return f"p={self.p}, axis={self.axis}, mode={self.mode}, inplace={self.inplace}{name}"


@public("paddle.nn")
class Dropout2D(Layer):
    """Drops whole channels of images in training."""

    def __init__(self, p: float = 0.5, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__()
        self.p = p
        self.data_format = data_format
        self.name = name

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.data_format)

    def extra_repr(self) -> str:
        return f"p={self.p}, data_format={self.data_format}" + (f", name={self.name}" if self.name else "")


@public("paddle.nn")
class Dropout3D(Layer):
    """Drops whole channels of volumes in training."""

    def __init__(self, p: float = 0.5, data_format: str = "NCDHW", name: str | None = None) -> None:
        super().__init__()
        self.p = p
        self.data_format = data_format
        self.name = name

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.data_format)

    def extra_repr(self) -> str:
        return f"p={self.p}, data_format={self.data_format}" + (f", name={self.name}" if self.name else "")


@public("paddle.nn")
class AlphaDropout(Layer):
    """Dropout for SELU networks: mean and variance are kept."""

    def __init__(self, p: float = 0.5, name: str | None = None) -> None:
        super().__init__()
        self.p = p
        self.name = name

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}" + (f", name={self.name}" if self.name else "")


@public("paddle.nn")
class FeatureAlphaDropout(Layer):
    """:class:`AlphaDropout` of whole channels."""

    def __init__(self, p: float = 0.5, name: str | None = None) -> None:
        super().__init__()
        self.p = p
        self.name = name

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}" + (f", name={self.name}" if self.name else "")


# --- padding -------------------------------------------------------------------------------------------------------


class _Pad(Layer):
    """Pads ``n`` spatial dims: an int for all, or (left, right, top, bottom, front, back) as far as there are dims."""

    n: int

    def __init__(self, padding: Any, mode: Any, value: Any, data_format: Any, name: str | None) -> None:
        super().__init__()
        padding = padding.tolist() if hasattr(padding, "tolist") else padding
        self._pad = [padding] * (2 * self.n) if isinstance(padding, int) else list(padding)
        self._mode = mode
        self._value = value
        self._data_format = data_format
        self._name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.pad(x, self._pad, self._mode, self._value, self._data_format)

    def extra_repr(self) -> str:
        name = f", name={self._name}" if self._name else ""
        return f"padding={self._pad}, mode={self._mode}, value={self._value}, data_format={self._data_format}{name}"


@public("paddle.nn")
class Pad1D(_Pad):
    """Pads ``[N, C, L]`` (or ``[N, L, C]``) in any mode of ``paddle.nn.functional.pad``."""

    n = 1

    def __init__(
        self,
        padding: Any,
        mode: str = "constant",
        value: float = 0.0,
        data_format: str = "NCL",
        name: str | None = None,
    ) -> None:
        super().__init__(padding, mode, value, data_format, name)


@public("paddle.nn")
class Pad2D(_Pad):
    """Pads ``[N, C, H, W]`` (or ``[N, H, W, C]``) in any mode of ``paddle.nn.functional.pad``.

    Example:
        >>> import paddle
        >>> paddle.nn.Pad2D([1, 0, 0, 2])(paddle.ones([1, 1, 2, 2])).shape
        [1, 1, 4, 3]
    """

    n = 2

    def __init__(
        self,
        padding: Any,
        mode: str = "constant",
        value: float = 0.0,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(padding, mode, value, data_format, name)


@public("paddle.nn")
class Pad3D(_Pad):
    """Pads ``[N, C, D, H, W]`` (or ``[N, D, H, W, C]``) in any mode of ``paddle.nn.functional.pad``."""

    n = 3

    def __init__(
        self,
        padding: Any,
        mode: str = "constant",
        value: float = 0.0,
        data_format: str = "NCDHW",
        name: str | None = None,
    ) -> None:
        super().__init__(padding, mode, value, data_format, name)


def _with_mode(name: str, base: type[_Pad], mode: str, doc: str) -> type[_Pad]:
    """A padding layer of one mode."""
    layout = {1: "NCL", 2: "NCHW", 3: "NCDHW"}[base.n]

    if mode == "constant" and not name.startswith("Zero"):

        def __init__(self: Any, padding: Any, value: float, data_format: str = layout, name: str | None = None) -> None:
            base.__init__(self, padding, mode, value, data_format, name)
    else:

        def __init__(self: Any, padding: Any, data_format: str = layout, name: str | None = None) -> None:  # type: ignore[misc]
            base.__init__(self, padding, mode, 0.0, data_format, name)

    __init__.__qualname__ = f"{name}.__init__"
    made = type(name, (base,), {"__init__": __init__, "__doc__": doc, "__module__": __name__})
    return public("paddle.nn")(made)


ConstantPad1D = _with_mode("ConstantPad1D", Pad1D, "constant", "Pads sequences with ``value``.")
ConstantPad1d = also(ConstantPad1D, "ConstantPad1d", "paddle.nn")
ConstantPad2D = _with_mode("ConstantPad2D", Pad2D, "constant", "Pads images with ``value``.")
ConstantPad2d = also(ConstantPad2D, "ConstantPad2d", "paddle.nn")
ConstantPad3D = _with_mode("ConstantPad3D", Pad3D, "constant", "Pads volumes with ``value``.")
ConstantPad3d = also(ConstantPad3D, "ConstantPad3d", "paddle.nn")
ZeroPad1D = _with_mode("ZeroPad1D", Pad1D, "constant", "Pads sequences with zeros.")
ZeroPad1d = also(ZeroPad1D, "ZeroPad1d", "paddle.nn")
ZeroPad2D = _with_mode("ZeroPad2D", Pad2D, "constant", "Pads images with zeros.")
ZeroPad2d = also(ZeroPad2D, "ZeroPad2d", "paddle.nn")
ZeroPad3D = _with_mode("ZeroPad3D", Pad3D, "constant", "Pads volumes with zeros.")
ZeroPad3d = also(ZeroPad3D, "ZeroPad3d", "paddle.nn")
ReflectionPad1D = _with_mode("ReflectionPad1D", Pad1D, "reflect", "Pads sequences by mirroring them.")
ReflectionPad1d = also(ReflectionPad1D, "ReflectionPad1d", "paddle.nn")
ReflectionPad2D = _with_mode("ReflectionPad2D", Pad2D, "reflect", "Pads images by mirroring them.")
ReflectionPad2d = also(ReflectionPad2D, "ReflectionPad2d", "paddle.nn")
ReflectionPad3D = _with_mode("ReflectionPad3D", Pad3D, "reflect", "Pads volumes by mirroring them.")
ReflectionPad3d = also(ReflectionPad3D, "ReflectionPad3d", "paddle.nn")
ReplicationPad1D = _with_mode("ReplicationPad1D", Pad1D, "replicate", "Pads sequences with their edges.")
ReplicationPad1d = also(ReplicationPad1D, "ReplicationPad1d", "paddle.nn")
ReplicationPad2D = _with_mode("ReplicationPad2D", Pad2D, "replicate", "Pads images with their edges.")
ReplicationPad2d = also(ReplicationPad2D, "ReplicationPad2d", "paddle.nn")
ReplicationPad3D = _with_mode("ReplicationPad3D", Pad3D, "replicate", "Pads volumes with their edges.")
ReplicationPad3d = also(ReplicationPad3D, "ReplicationPad3d", "paddle.nn")
CircularPad1D = _with_mode("CircularPad1D", Pad1D, "circular", "Pads sequences by wrapping around.")
CircularPad1d = also(CircularPad1D, "CircularPad1d", "paddle.nn")
CircularPad2D = _with_mode("CircularPad2D", Pad2D, "circular", "Pads images by wrapping around.")
CircularPad2d = also(CircularPad2D, "CircularPad2d", "paddle.nn")
CircularPad3D = _with_mode("CircularPad3D", Pad3D, "circular", "Pads volumes by wrapping around.")
CircularPad3d = also(CircularPad3D, "CircularPad3d", "paddle.nn")


# --- resampling, windows, similarity -------------------------------------------------------------------------------


@public("paddle.nn")
class Upsample(Layer):
    """Resamples the spatial dims; see ``paddle.nn.functional.interpolate``."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool = False,
        align_mode: int = 0,
        data_format: str | None = None,
        recompute_scale_factor: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.scale_factor = scale_factor
        self.mode = mode.lower()
        self.align_corners = align_corners
        self.align_mode = align_mode
        self.data_format = data_format
        self.recompute_scale_factor = recompute_scale_factor
        self.name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.interpolate(
            x,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.align_mode,
            self.data_format,
            self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        main = f"scale_factor={self.scale_factor}" if self.scale_factor is not None else f"size={self.size}"
        name = f", name={self.name}" if self.name else ""
        return (
            f"{main}, mode={self.mode}, align_corners={self.align_corners}, "
            f"align_mode={self.align_mode}, data_format={self.data_format}{name}"
        )


@public("paddle.nn")
class UpsamplingNearest2D(Layer):
    """Images resampled by repetition."""

    def __init__(
        self, size: Any = None, scale_factor: Any = None, data_format: str = "NCHW", name: str | None = None
    ) -> None:
        super().__init__()
        self.size = size
        self.scale_factor = scale_factor
        self.data_format = data_format
        self.name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.interpolate(x, self.size, self.scale_factor, "nearest", data_format=self.data_format)


UpsamplingNearest2d = also(UpsamplingNearest2D, "UpsamplingNearest2d", "paddle.nn")


@public("paddle.nn")
class UpsamplingBilinear2D(Layer):
    """Images resampled by linear interpolation with aligned corners."""

    def __init__(
        self, size: Any = None, scale_factor: Any = None, data_format: str = "NCHW", name: str | None = None
    ) -> None:
        super().__init__()
        self.size = size
        self.scale_factor = scale_factor
        self.data_format = data_format
        self.name = name

    def forward(self, x: Tensor) -> Tensor:
        return F.interpolate(
            x, self.size, self.scale_factor, "bilinear", align_corners=True, data_format=self.data_format
        )


UpsamplingBilinear2d = also(UpsamplingBilinear2D, "UpsamplingBilinear2d", "paddle.nn")


@public("paddle.nn")
class Unfold(Layer):
    """The windows of images as columns; see ``paddle.nn.functional.unfold``."""

    def __init__(
        self, kernel_sizes: Any, dilations: Any = 1, paddings: Any = 0, strides: Any = 1, name: str | None = None
    ) -> None:
        super().__init__()
        self.kernel_sizes = kernel_sizes
        self.dilations = dilations
        self.paddings = paddings
        self.strides = strides
        self.name = name

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_sizes, self.strides, self.paddings, self.dilations)

    def extra_repr(self) -> str:
        sizes = f"kernel_size={self.kernel_sizes}, dilation={self.dilations}"
        return f"{sizes}, padding={self.paddings}, stride={self.strides}"


@public("paddle.nn")
class Fold(Layer):
    """Columns added up into images; see ``paddle.nn.functional.fold``."""

    def __init__(
        self,
        output_sizes: Any,
        kernel_sizes: Any,
        dilations: Any = 1,
        paddings: Any = 0,
        strides: Any = 1,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.output_sizes = output_sizes
        self.kernel_sizes = kernel_sizes
        self.dilations = dilations
        self.paddings = paddings
        self.strides = strides
        self.name = name

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_sizes, self.kernel_sizes, self.strides, self.paddings, self.dilations)

    def extra_repr(self) -> str:
        sizes = f"kernel_size={self.kernel_sizes}, dilation={self.dilations}"
        return f"{sizes}, padding={self.paddings}, stride={self.strides}"


@public("paddle.nn")
class CosineSimilarity(Layer):
    """The cosine of the angle between two tensors along ``axis``."""

    def __init__(self, axis: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self._axis = axis
        self._eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self._axis, self._eps)

    def extra_repr(self) -> str:
        return f"axis={self._axis}, eps={self._eps}"


@public("paddle.nn")
class PairwiseDistance(Layer):
    """The ``p``-norm of ``x - y + epsilon`` along the last dim."""

    def __init__(self, p: float = 2.0, epsilon: float = 1e-6, keepdim: bool = False, name: str | None = None) -> None:
        super().__init__()
        self.p = p
        self.epsilon = epsilon
        self.keepdim = keepdim
        self.name = name

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return F.pairwise_distance(x, y, self.p, self.epsilon, self.keepdim)

    def extra_repr(self) -> str:
        return f"p={self.p}, epsilon={self.epsilon}, keepdim={self.keepdim}"
