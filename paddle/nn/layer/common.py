"""Linear maps, embeddings, dropout, padding, resampling, and layers that only rearrange."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import paddle
import paddle.nn.functional as F
from paddle._public import also, public
from paddle.framework.param_attr import ParamAttr
from paddle.nn.initializer import Assign
from paddle.nn.layer._synonyms import Synonym
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor

_linear = F.linear  # found with one look-up


@public("paddle.nn")
class Identity(Layer):
    """Return the input unchanged: a placeholder where a layer is expected.

    Args:
        *args: ignored.
        **kwargs: ignored, so that any layer can be replaced by this one.

    Shape:
        input: any.
        output: the input itself, not a copy.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(4, 3)
        >>> layer = paddle.nn.Identity(4, 3)
        >>> layer(paddle.ones([2, 4])).shape
        paddle.Size([2, 4])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


@public("paddle.nn")
class Linear(Layer):
    """Linear map of the last dim, ``x @ weight + bias``.

    Args:
        in_features: last dim of the input.
        out_features: last dim of the output.
        weight_attr: attributes of the weight ``[in_features, out_features]``, Xavier-uniform by default.
        bias_attr: attributes of the bias ``[out_features]``, zeros by default; False for none.

    Shape:
        input: ``[*, in_features]``, of the weight's dtype.
        output: ``[*, out_features]``.

    Attributes:
        weight: the parameter ``[in_features, out_features]``.
        bias: the parameter ``[out_features]``, or None.

    Raises:
        TypeError: in a call, an input of another dtype than the weight's.
        ValueError: in a call, an input whose last dim is not ``in_features``.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(4, 3)
        >>> layer(paddle.ones([2, 4])).shape
        paddle.Size([2, 3])
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
        super().__init__(dtype=None)
        self.in_features = in_features
        self.out_features = out_features
        self.name = name
        self._weight_attr, self._bias_attr = weight_attr, bias_attr
        self.weight = self.create_parameter([in_features, out_features], weight_attr)
        self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)

    def forward(self, input: Tensor) -> Tensor:
        return _linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        name = f", name={self.name}" if self.name else ""
        return f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._dtype}{name}"


@public("paddle.nn")
class Bilinear(Layer):
    """Bilinear map of two inputs, ``out[n, k] = x1[n] @ weight[k] @ x2[n] + bias[k]``.

    Args:
        in1_features: last dim of the first input.
        in2_features: last dim of the second input.
        out_features: last dim of the output.
        weight_attr: attributes of the weight ``[out_features, in1_features, in2_features]``, Xavier-uniform by default.
        bias_attr: attributes of the bias ``[1, out_features]``, zeros by default; False for none.

    Shape:
        x1: ``[N, in1_features]``, of the weight's dtype.
        x2: ``[N, in2_features]``, of the weight's dtype.
        output: ``[N, out_features]``.

    Raises:
        TypeError: in a call, an input of another dtype than the weight's.
        ValueError: in a call, inputs of other sizes.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Bilinear(3, 4, 5)
        >>> layer(paddle.ones([2, 3]), paddle.ones([2, 4])).shape
        paddle.Size([2, 5])
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
        super().__init__(dtype=None)
        self._in1_features = in1_features
        self._in2_features = in2_features
        self._out_features = out_features
        self._weight_attr, self._bias_attr = weight_attr, bias_attr
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
    """Table of vectors that are looked up by index.

    Args:
        num_embeddings: rows of the table.
        embedding_dim: length of a row.
        padding_idx: this row starts as zeros, gives zeros and is not trained; negative counts from the end. None: no
            such row.
        max_norm: rows with a larger norm are scaled down to it, in place, when they are looked up; None: never.
        norm_type: the p of that norm.
        scale_grad_by_freq: divide the gradient of a row by how often it was looked up in the call.
        sparse: the weight's gradient holds only the rows that were looked up (``SelectedRows``).
        _weight: tensor ``[num_embeddings, embedding_dim]`` that the weight starts with.
        _freeze: whether the weight is not trained.
        device: where the weight goes; None: the current place.
        dtype: of the weight; the default dtype if None.
        weight_attr: attributes of the weight ``[num_embeddings, embedding_dim]``, Xavier-uniform by default.

    Shape:
        x: integers of any shape ``[*]``.
        output: ``[*, embedding_dim]``, of the weight's dtype.

    Raises:
        TypeError: in a call, an index that is no integer tensor.
        IndexError: in a call, an index that is not from ``-num_embeddings`` to ``num_embeddings - 1``.
        ValueError: sizes that are not positive, ``padding_idx`` out of range, or ``_weight`` of another shape.

    Example:
        >>> import paddle
        >>> paddle.nn.Embedding(10, 3)(paddle.to_tensor([[1, 2], [3, 4]])).shape
        paddle.Size([2, 2, 3])
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
        super().__init__(dtype=dtype)
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
                    f"[Embedding] requires _weight of {[num_embeddings, embedding_dim]}, got {list(_weight.shape)}"
                )
            weight_attr = ParamAttr(initializer=Assign(_weight), trainable=not _freeze)
        elif _freeze:
            weight_attr = ParamAttr._to_attr(weight_attr)
            weight_attr.trainable = False
        self._weight_attr = weight_attr
        self.weight = self.create_parameter([num_embeddings, embedding_dim], weight_attr, self._dtype, device=device)
        if padding_idx is not None and _weight is None:
            self.weight.after_initialization(lambda weight: weight.__setitem__(padding_idx, 0.0))

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
    """Merge dims ``start_axis`` to ``stop_axis`` of the input into one.

    Args:
        start_axis: the first of the merged dims; 1 leaves the batch dim alone. Negative counts from the end.
        stop_axis: the last of them.

    Shape:
        input: any of the rank that the axes need.
        output: the same elements, with one dim in the place of the merged ones.

    Raises:
        IndexError: in a call, an input without such an axis.
        ValueError: in a call, a ``stop_axis`` that lies before ``start_axis``.

    Example:
        >>> import paddle
        >>> paddle.nn.Flatten()(paddle.ones([2, 3, 4])).shape
        paddle.Size([2, 12])
    """

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.start_axis = start_axis
        self.stop_axis = stop_axis

    def forward(self, input: Tensor) -> Tensor:
        return paddle.flatten(input, self.start_axis, self.stop_axis)


@public("paddle.nn")
class Unflatten(Layer):
    """Split one dim of the input into several.

    Args:
        axis: the dim to split; negative counts from the end.
        shape: sizes of the dims that take its place, a list, tuple or integer tensor; one of them may be -1, which
            is computed.

    Shape:
        input: any with the dim ``axis``.
        output: the same elements, with the dims ``shape`` in the place of ``axis``.

    Raises:
        IndexError: in a call, an input without such an axis.
        ValueError: in a call, sizes whose product is not that of the dim.

    Example:
        >>> import paddle
        >>> paddle.nn.Unflatten(1, [3, -1])(paddle.ones([2, 12])).shape
        paddle.Size([2, 3, 4])
    """

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
    """Set elements to zero with probability ``p`` in training; return the input unchanged in evaluation.

    Args:
        p: the probability of zero, from 0 to 1.
        inplace: write the result into the input.
        axis: an int or several: elements that differ only in other axes are dropped together. None drops each by
            itself.
        mode: ``"upscale_in_train"`` divides what is left by ``1 - p`` in training; ``"downscale_in_infer"`` multiplies
            by ``1 - p`` in evaluation instead.

    Shape:
        input: floating, of any shape.
        output: the input's shape and dtype.

    Raises:
        TypeError: in a call, an input that is not floating.
        ValueError: in a call, ``p`` outside [0, 1], an unknown mode or an axis that the input does not have.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Dropout(1.0)
        >>> layer(paddle.ones([3])).tolist()
        [0.0, 0.0, 0.0]
        >>> layer.eval()(paddle.ones([3])).tolist()
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
    """Set whole channels of images to zero with probability ``p`` in training; the others are divided by ``1 - p``.

    Args:
        p: the probability of zero, from 0 to 1.
        data_format: ``"NCHW"`` or ``"NHWC"``.

    Shape:
        input: ``[N, C, H, W]``, or ``[N, H, W, C]`` for ``"NHWC"``; floating.
        output: the input's shape and dtype.

    Raises:
        TypeError: in a call, an input that is not floating.
        ValueError: in a call, an input that is not of rank 4, or ``p`` outside [0, 1].

    Example:
        >>> import paddle
        >>> y = paddle.nn.Dropout2D(0.5)(paddle.ones([1, 8, 2, 2]))
        >>> set(y.sum([2, 3]).flatten().tolist()) <= {0.0, 8.0}  # all of a channel, or nothing
        True
    """

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
    """Set whole channels of volumes to zero with probability ``p`` in training; the others are divided by ``1 - p``.

    Args:
        p: the probability of zero, from 0 to 1.
        data_format: ``"NCDHW"`` or ``"NDHWC"``.

    Shape:
        input: ``[N, C, D, H, W]``, or ``[N, D, H, W, C]`` for ``"NDHWC"``; floating.
        output: the input's shape and dtype.

    Raises:
        TypeError: in a call, an input that is not floating.
        ValueError: in a call, an input that is not of rank 5, or ``p`` outside [0, 1].

    Example:
        >>> import paddle
        >>> y = paddle.nn.Dropout3D(0.5)(paddle.ones([1, 8, 1, 2, 2]))
        >>> set(y.sum([2, 3, 4]).flatten().tolist()) <= {0.0, 8.0}  # all of a channel, or nothing
        True
    """

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
    """Dropout for SELU networks: dropped elements take SELU's negative limit, and mean and variance are kept.

    Args:
        p: the probability that an element is dropped in training, from 0 to 1.

    Shape:
        input: floating, of any shape.
        output: the input's shape and dtype.

    Raises:
        TypeError: in a call, an input that is not floating.
        ValueError: in a call, ``p`` outside [0, 1].

    References:
        Klambauer et al., 2017: Self-Normalizing Neural Networks.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.AlphaDropout(0.5)
        >>> layer.eval()(paddle.ones([3])).tolist()
        [1.0, 1.0, 1.0]
    """

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
    """Alpha dropout of whole channels; see :class:`AlphaDropout`.

    Args:
        p: the probability that a channel is dropped in training, from 0 to 1.

    Shape:
        input: ``[N, C, *]``, floating.
        output: the input's shape and dtype.

    Raises:
        TypeError: in a call, an input that is not floating.
        ValueError: in a call, ``p`` outside [0, 1].

    Example:
        >>> import paddle
        >>> y = paddle.nn.FeatureAlphaDropout(0.5)(paddle.ones([2, 3, 4]))
        >>> bool((y == y[:, :, :1]).all())  # each channel as a whole
        True
    """

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
    """Base of paddings of ``n`` spatial dims; an int stands for all sides."""

    n: int
    padding = Synonym("_pad")
    value = Synonym("_value")

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
    """Add elements at the ends of sequences.

    Args:
        padding: (left, right), a list, tuple or integer tensor, or one int for both ends. In mode ``"constant"``
            negative numbers crop.
        mode: ``"constant"``, ``"reflect"`` (mirrored without the edge), ``"replicate"`` (the edge again) or
            ``"circular"`` (from the other end).
        value: the constant of mode ``"constant"``.
        data_format: ``"NCL"`` or ``"NLC"``.

    Shape:
        x: ``[N, C, L]``, or ``[N, L, C]`` for ``"NLC"``; of any dtype.
        output: the same rank and dtype, L longer by left and right.

    Raises:
        ValueError: in a call, a padding that does not fit the rank, or that the mode cannot fill.

    Example:
        >>> import paddle
        >>> paddle.nn.Pad1D([1, 2], value=9.0)(paddle.ones([1, 1, 2])).tolist()
        [[[9.0, 1.0, 1.0, 9.0, 9.0]]]
    """

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
    """Add elements around images.

    Args:
        padding: (left, right, top, bottom), a list, tuple or integer tensor, or one int for all sides. In mode
            ``"constant"`` negative numbers crop.
        mode: ``"constant"``, ``"reflect"`` (mirrored without the edge), ``"replicate"`` (the edge again) or
            ``"circular"`` (from the other side).
        value: the constant of mode ``"constant"``.
        data_format: ``"NCHW"`` or ``"NHWC"``.

    Shape:
        x: ``[N, C, H, W]``, or ``[N, H, W, C]`` for ``"NHWC"``; of any dtype.
        output: the same rank and dtype, H and W larger by the padding.

    Raises:
        ValueError: in a call, a padding that does not fit the rank, or that the mode cannot fill.

    Example:
        >>> import paddle
        >>> paddle.nn.Pad2D([1, 0, 0, 2])(paddle.ones([1, 1, 2, 2])).shape
        paddle.Size([1, 1, 4, 3])
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
    """Add elements around volumes.

    Args:
        padding: (left, right, top, bottom, front, back), a list, tuple or integer tensor, or one int for all sides.
            In mode ``"constant"`` negative
            numbers crop.
        mode: ``"constant"``, ``"reflect"`` (mirrored without the edge), ``"replicate"`` (the edge again) or
            ``"circular"`` (from the other side).
        value: the constant of mode ``"constant"``.
        data_format: ``"NCDHW"`` or ``"NDHWC"``.

    Shape:
        x: ``[N, C, D, H, W]``, or ``[N, D, H, W, C]`` for ``"NDHWC"``; of any dtype.
        output: the same rank and dtype, D, H and W larger by the padding.

    Raises:
        ValueError: in a call, a padding that does not fit the rank, or that the mode cannot fill.

    Example:
        >>> import paddle
        >>> paddle.nn.Pad3D([1, 0, 0, 2, 0, 0])(paddle.ones([1, 1, 2, 2, 2])).shape
        paddle.Size([1, 1, 2, 4, 3])
    """

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


# By the beginning of a class's name: its mode, what it does, and 1, 2, 3 with one element at each end.
_FILLS = {
    "Constant": ("constant", "with ``value``", [9.0, 1.0, 2.0, 3.0, 9.0]),
    "Zero": ("constant", "with zeros", [0.0, 1.0, 2.0, 3.0, 0.0]),
    "Reflection": ("reflect", "by mirroring them at their edges, which are not repeated", [2.0, 1.0, 2.0, 3.0, 2.0]),
    "Replication": ("replicate", "by repeating their edges", [1.0, 1.0, 2.0, 3.0, 3.0]),
    "Circular": ("circular", "by wrapping around", [3.0, 1.0, 2.0, 3.0, 1.0]),
}
_PADDED = {
    1: ("sequences", "(left, right)", "NCL", "NLC"),
    2: ("images", "(left, right, top, bottom)", "NCHW", "NHWC"),
    3: ("volumes", "(left, right, top, bottom, front, back)", "NCDHW", "NDHWC"),
}
_PAD_DOCSTRING = """Pad {what} {padding_text}.

Args:
    padding: {sides}, a list, tuple or integer tensor, or one int for all sides.{crop}
{value}    data_format: ``"{first}"`` or ``"{last}"``.

Shape:
    x: ``[{dims}]``, or channels last for ``"{last}"``; of any dtype.
    output: the same rank and dtype, larger by the padding.

Raises:
    ValueError: in a call, a padding that does not fit the rank, or that the mode cannot fill.

Example:
    >>> import paddle
    >>> x = paddle.to_tensor([1.0, 2.0, 3.0]).reshape({sizes})
    >>> paddle.nn.{name}({pads}{constant})(x).flatten().tolist()
    {shown}
"""


def _with_mode(name: str, base: type[_Pad]) -> type[_Pad]:
    """A padding layer of one mode."""
    kind = name[: -len("Pad1D")]
    mode, padding_text, shown = _FILLS[kind]
    rank_name, sides, layout, last = _PADDED[base.n]

    if kind == "Constant":

        def __init__(self: Any, padding: Any, value: float, data_format: str = layout, name: str | None = None) -> None:
            base.__init__(self, padding, mode, value, data_format, name)
    else:

        def __init__(self: Any, padding: Any, data_format: str = layout, name: str | None = None) -> None:  # type: ignore[misc]
            base.__init__(self, padding, mode, 0.0, data_format, name)

    __init__.__qualname__ = f"{name}.__init__"
    docstring = _PAD_DOCSTRING.format(
        what=rank_name,
        padding_text=padding_text,
        sides=sides,
        value="    value: the number that is added.\n" if kind == "Constant" else "",
        crop=" Negative numbers crop." if mode == "constant" else "",
        first=layout,
        last=last,
        dims=", ".join(layout),
        sizes=[1] * (base.n + 1) + [3],
        name=name,
        pads=[1, 1] + [0, 0] * (base.n - 1),
        constant=", 9.0" if kind == "Constant" else "",
        shown=shown,
    )
    layer = type(name, (base,), {"__init__": __init__, "__doc__": docstring, "__module__": __name__})
    return public("paddle.nn")(layer)


ConstantPad1D = _with_mode("ConstantPad1D", Pad1D)
ConstantPad1d = also(ConstantPad1D, "ConstantPad1d", "paddle.nn")
ConstantPad2D = _with_mode("ConstantPad2D", Pad2D)
ConstantPad2d = also(ConstantPad2D, "ConstantPad2d", "paddle.nn")
ConstantPad3D = _with_mode("ConstantPad3D", Pad3D)
ConstantPad3d = also(ConstantPad3D, "ConstantPad3d", "paddle.nn")
ZeroPad1D = _with_mode("ZeroPad1D", Pad1D)
ZeroPad1d = also(ZeroPad1D, "ZeroPad1d", "paddle.nn")
ZeroPad2D = _with_mode("ZeroPad2D", Pad2D)
ZeroPad2d = also(ZeroPad2D, "ZeroPad2d", "paddle.nn")
ZeroPad3D = _with_mode("ZeroPad3D", Pad3D)
ZeroPad3d = also(ZeroPad3D, "ZeroPad3d", "paddle.nn")
ReflectionPad1D = _with_mode("ReflectionPad1D", Pad1D)
ReflectionPad1d = also(ReflectionPad1D, "ReflectionPad1d", "paddle.nn")
ReflectionPad2D = _with_mode("ReflectionPad2D", Pad2D)
ReflectionPad2d = also(ReflectionPad2D, "ReflectionPad2d", "paddle.nn")
ReflectionPad3D = _with_mode("ReflectionPad3D", Pad3D)
ReflectionPad3d = also(ReflectionPad3D, "ReflectionPad3d", "paddle.nn")
ReplicationPad1D = _with_mode("ReplicationPad1D", Pad1D)
ReplicationPad1d = also(ReplicationPad1D, "ReplicationPad1d", "paddle.nn")
ReplicationPad2D = _with_mode("ReplicationPad2D", Pad2D)
ReplicationPad2d = also(ReplicationPad2D, "ReplicationPad2d", "paddle.nn")
ReplicationPad3D = _with_mode("ReplicationPad3D", Pad3D)
ReplicationPad3d = also(ReplicationPad3D, "ReplicationPad3d", "paddle.nn")
CircularPad1D = _with_mode("CircularPad1D", Pad1D)
CircularPad1d = also(CircularPad1D, "CircularPad1d", "paddle.nn")
CircularPad2D = _with_mode("CircularPad2D", Pad2D)
CircularPad2d = also(CircularPad2D, "CircularPad2d", "paddle.nn")
CircularPad3D = _with_mode("CircularPad3D", Pad3D)
CircularPad3d = also(CircularPad3D, "CircularPad3d", "paddle.nn")


# --- resampling, windows, similarity -------------------------------------------------------------------------------


@public("paddle.nn")
class Upsample(Layer):
    """Resample the spatial dims; see ``paddle.nn.functional.interpolate``.

    Args:
        size: the new spatial sizes: one for each dim, or one int for all; None where ``scale_factor`` is given.
        scale_factor: by how much each spatial size grows: one number for each dim, or one for all; None: ``size`` says
            it.
        mode: ``"nearest"``, ``"linear"`` (rank 3), ``"bilinear"``, ``"bicubic"`` (rank 4), ``"trilinear"`` (rank 5) or
            ``"area"``.
        align_corners: whether the corner elements keep their positions, rather than the outer edges.
        align_mode: without ``align_corners``, 0 measures from centres of elements, 1 from their low edges.
        data_format: ``"NCW"``, ``"NCHW"``, ``"NCDHW"``, ``"NWC"``, ``"NHWC"`` or ``"NDHWC"``; None: channels first.
        recompute_scale_factor: compute the scale from the sizes instead of using ``scale_factor`` itself.

    Shape:
        x: ``[N, C, L]``, ``[N, C, H, W]`` or ``[N, C, D, H, W]``, or channels last; floating, or anything for
            ``"nearest"``.
        output: the same rank and dtype, of the new spatial sizes.

    Raises:
        TypeError: in a call, an input that is not floating, in any mode but ``"nearest"``.
        ValueError: in a call, a mode that the rank does not have, or not exactly one of size and scale_factor.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[[[1.0, 2.0]]]])
        >>> paddle.nn.Upsample(scale_factor=2)(x).tolist()
        [[[[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]]]
    """

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


class _Upsampling(Layer):
    """Shared by resampling of images in one mode."""

    size: Any
    scale_factor: Any
    data_format: str
    name: str | None

    def extra_repr(self) -> str:
        by = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{by}, data_format={self.data_format}" + (f", name={self.name}" if self.name else "")


@public("paddle.nn")
class UpsamplingNearest2D(_Upsampling):
    """Resample images, each new pixel being the nearest old one.

    Args:
        size: (height, width) of the result, or one int for both; None where ``scale_factor`` is given.
        scale_factor: by how much height and width grow: one number or two; None where ``size`` is given.
        data_format: ``"NCHW"`` or ``"NHWC"``.

    Shape:
        x: ``[N, C, H, W]``, or ``[N, H, W, C]`` for ``"NHWC"``.
        output: the same rank and dtype, of the new height and width.

    Raises:
        ValueError: in a call, an input of another rank, or not exactly one of size and scale_factor.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[[[1.0, 2.0]]]])
        >>> paddle.nn.UpsamplingNearest2D(size=[1, 4])(x).tolist()
        [[[[1.0, 1.0, 2.0, 2.0]]]]
    """

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
class UpsamplingBilinear2D(_Upsampling):
    """Resample images by linear interpolation, with the corner pixels in their places.

    Args:
        size: (height, width) of the result, or one int for both; None where ``scale_factor`` is given.
        scale_factor: by how much height and width grow: one number or two; None where ``size`` is given.
        data_format: ``"NCHW"`` or ``"NHWC"``.

    Shape:
        x: ``[N, C, H, W]``, or ``[N, H, W, C]`` for ``"NHWC"``; floating.
        output: the same rank and dtype, of the new height and width.

    Raises:
        TypeError: in a call, an input that is not floating.
        ValueError: in a call, an input of another rank, or not exactly one of size and scale_factor.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[[[1.0, 4.0]]]])
        >>> paddle.nn.UpsamplingBilinear2D(size=[1, 4])(x).tolist()
        [[[[1.0, 2.0, 3.0, 4.0]]]]
    """

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
    """Sliding windows of images as columns; see ``paddle.nn.functional.unfold``.

    Args:
        kernel_sizes: sizes of a window, one int or (height, width).
        dilations: distances of a window's elements, one int or two.
        paddings: zeros around the image: one int, (height, width) or (top, left, bottom, right).
        strides: distances of the windows, one int or two.

    Shape:
        input: ``[N, C, H, W]``.
        output: ``[N, C * kernel height * kernel width, windows]``, of the input's dtype.

    Raises:
        ValueError: in a call, a window that does not fit the image, or numbers below 1.

    Example:
        >>> import paddle
        >>> paddle.nn.Unfold(kernel_sizes=2)(paddle.ones([1, 3, 4, 5])).shape
        paddle.Size([1, 12, 12])
    """

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


@public(
    "paddle.nn",
    aliases={
        "output_size": "output_sizes",
        "kernel_size": "kernel_sizes",
        "stride": "strides",
        "padding": "paddings",
        "dilation": "dilations",
    },
)
class Fold(Layer):
    """Sum of columns at the places of their windows: the transpose of :class:`Unfold`.

    Args:
        output_sizes: (height, width) of the images, or one int for both.
        kernel_sizes: sizes of a window, one int or (height, width).
        dilations: distances of a window's elements, one int or two.
        paddings: how many pixels around the image the windows reached: one int, (height, width) or (top, left, bottom,
            right).
        strides: distances of the windows, one int or two.

    Shape:
        input: ``[N, C * kernel height * kernel width, windows]``.
        output: ``[N, C, height, width]``, of the input's dtype.

    Raises:
        ValueError: in a call, an input with another number of windows, or rows that the kernel does not divide.

    Example:
        >>> import paddle
        >>> columns = paddle.nn.Unfold(kernel_sizes=2, strides=2)(paddle.ones([1, 3, 4, 4]))
        >>> paddle.nn.Fold(output_sizes=4, kernel_sizes=2, strides=2)(columns).shape
        paddle.Size([1, 3, 4, 4])
    """

    output_size = Synonym("output_sizes")
    kernel_size = Synonym("kernel_sizes")
    stride = Synonym("strides")
    padding = Synonym("paddings")
    dilation = Synonym("dilations")

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


@public("paddle.nn", aliases={"dim": "axis"})
class CosineSimilarity(Layer):
    """Cosine of the angle between two tensors along ``axis``.

    Args:
        axis: the axis of the vectors; negative counts from the end.
        eps: the least that the product of the two norms is taken as.

    Shape:
        x1: floating, of any shape with that axis.
        x2: a shape that broadcasts with x1's.
        output: the common shape without ``axis``.

    Raises:
        IndexError: in a call, inputs without such an axis.
        TypeError: in a call, an input that is not floating.
        ValueError: in a call, shapes that do not broadcast.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1.0, 0.0], [1.0, 0.0]])
        >>> y = paddle.to_tensor([[2.0, 0.0], [0.0, 1.0]])
        >>> paddle.nn.CosineSimilarity()(x, y).tolist()
        [1.0, 0.0]
    """

    dim = Synonym("_axis")

    def __init__(self, axis: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self._axis = axis
        self._eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self._axis, self._eps)

    def extra_repr(self) -> str:
        return f"axis={self._axis}, eps={self._eps}"


@public("paddle.nn", aliases={"eps": "epsilon"})
class PairwiseDistance(Layer):
    """Norm of ``x - y + epsilon`` along the last dim.

    Args:
        p: the order of the norm; 0 counts the elements that are not 0, inf takes the largest.
        epsilon: added to each element of the difference.
        keepdim: keep the last dim, as one of size 1.

    Shape:
        x: ``[*, D]``, floating.
        y: a shape that broadcasts with x's.
        output: ``[*]``, or ``[*, 1]`` with keepdim.

    Raises:
        TypeError: in a call, an input that is not floating.
        ValueError: in a call, shapes that do not broadcast.

    Example:
        >>> import paddle
        >>> distance = paddle.nn.PairwiseDistance(epsilon=0.0)
        >>> distance(paddle.to_tensor([[3.0, 4.0]]), paddle.zeros([1, 2])).tolist()
        [5.0]
    """

    eps = Synonym("epsilon")
    norm = Synonym("p")

    def __init__(self, p: float = 2.0, epsilon: float = 1e-6, keepdim: bool = False, name: str | None = None) -> None:
        super().__init__()
        self.p = p
        self.epsilon = epsilon
        self.keepdim = keepdim
        self.name = name

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return F.pairwise_distance(x, y, self.p, self.epsilon, self.keepdim)

    def extra_repr(self) -> str:
        epsilon = "" if self.epsilon == 1e-6 else f", epsilon={self.epsilon}"
        return f"p={self.p}{epsilon}" + (f", keepdim={self.keepdim}" if self.keepdim else "")
