"""Initializers: what a new parameter is filled with.

An initializer is called with a parameter and writes its values in place; ``ParamAttr(initializer=…)`` and
``weight_attr=…`` take one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from paddle._public import public, rebind
from paddle.framework import mode
from paddle.nn._ops import random_tensor
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core.array import from_numpy
from umiak.core.context import current, no_grad_guard
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@public("paddle.nn.initializer paddle.nn.init")
def calculate_gain(nonlinearity: str, param: float | bool | None = None) -> float:
    """Factor by which weights grow so that activations keep their scale through a nonlinearity.

    Args:
        nonlinearity: ``"sigmoid"``, ``"linear"``, a convolution such as ``"conv2d"`` (1), ``"tanh"`` (5/3), ``"relu"``
            (√2), ``"leaky_relu"``, ``"selu"`` (3/4).
        param: the slope of leaky ReLU; None: 0.01.

    Returns:
        A float.

    Raises:
        ValueError: another name.

    Example:
        >>> import paddle
        >>> paddle.nn.initializer.calculate_gain("leaky_relu", 1.0)
        1.0
    """
    flat = {"sigmoid", "linear"} | {f"conv{n}d{t}" for n in (1, 2, 3) for t in ("", "_transpose")}
    flat |= {f"conv_transpose{n}d" for n in (1, 2, 3)}
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None or isinstance(param, bool) else param
        return math.sqrt(2.0 / (1 + slope**2))
    gains = {**dict.fromkeys(flat, 1), "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75}
    if nonlinearity not in gains:
        raise ValueError(f"[calculate_gain] requires one of {sorted([*gains, 'leaky_relu'])}, got {nonlinearity!r}")
    return gains[nonlinearity]


@public("paddle.nn.initializer")
class Initializer:
    """Base of initializers: called with a parameter, they fill it in place.

    A subclass defines ``_values(param)``, a tensor of the parameter's shape and dtype, or ``forward(var, block)``,
    which fills the parameter in place.

    Example:
        >>> import paddle
        >>> class Ramp(paddle.nn.initializer.Initializer):
        ...     def _values(self, param):
        ...         return paddle.arange(param.size, dtype=param.dtype).reshape(param.shape)
        >>> paddle.nn.Linear(1, 3, weight_attr=Ramp()).weight.tolist()
        [[0.0, 1.0, 2.0]]
    """

    def __call__(self, param: Tensor, block: Any = None) -> Tensor:
        """Fill ``param`` in place, by ``forward``."""
        return self.forward(param, block)

    def forward(self, var: Tensor, block: Any = None) -> Tensor:
        """Fill a parameter in place.

        Args:
            var: the parameter.
            block: accepted.

        Returns:
            The parameter.
        """
        with no_grad_guard():
            return rebind(var, self._values(var))

    def _values(self, param: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} defines no values")


@public("paddle.nn.initializer paddle.nn.init")
class Constant(Initializer):
    """Fill with one value.

    Args:
        value: the value.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(1, 2, weight_attr=paddle.nn.initializer.Constant(0.5))
        >>> layer.weight.tolist()
        [[0.5, 0.5]]
    """

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def _values(self, param: Tensor) -> Tensor:
        return create_on(param.place, F.full, self.value, param.dtype, tuple(param.shape))


def _drawn(cls: Any, like: Tensor, *params: float, shape: tuple | None = None, dtype: Any = None) -> Tensor:
    """Random numbers for a parameter; the parts of complex ones are drawn one after the other."""
    shape, dtype = shape or tuple(like.shape), dtype or like.dtype
    parts = [random_tensor(cls, shape, dtype.real, *params, place=like.place)]
    if not dtype.is_complex:
        return parts[0]
    parts.append(random_tensor(cls, shape, dtype.real, *params, place=like.place))
    return F.complex(*parts)


@public("paddle.nn.initializer paddle.nn.init")
class Uniform(Initializer):
    """Draw from a uniform distribution; of complex parameters, each part.

    Args:
        low: lower bound.
        high: upper bound, which is not reached.

    Raises:
        ValueError: low lies above high.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(3, 2, weight_attr=paddle.nn.initializer.Uniform(0.0, 0.5))
        >>> 0.0 <= float(layer.weight.min()) and float(layer.weight.max()) <= 0.5
        True
    """

    def __init__(self, low: float = -1.0, high: float = 1.0, name: str | None = None) -> None:
        if not low <= high:
            raise ValueError(f"[Uniform] requires low <= high, got {low} and {high}")
        self.low = low
        self.high = high

    def _values(self, param: Tensor) -> Tensor:
        return _drawn(F.UniformRandom, param, float(self.low), float(self.high))


@public("paddle.nn.initializer paddle.nn.init")
class Normal(Initializer):
    """Draw from a normal distribution; of complex parameters, each part with the mean and half of the variance.

    Args:
        mean: mean of the distribution.
        std: standard deviation.

    Raises:
        ValueError: a negative std.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(50, 50, weight_attr=paddle.nn.initializer.Normal(mean=3.0, std=0.01))
        >>> round(float(layer.weight.mean()), 1)
        3.0
    """

    def __init__(self, mean: float = 0.0, std: float = 1.0, name: str | None = None) -> None:
        if not std >= 0:
            raise ValueError(f"[Normal] requires std of 0 or more, got {std}")
        self.mean = mean
        self.std = std

    def _values(self, param: Tensor) -> Tensor:
        std = self.std * math.sqrt(0.5) if param.dtype.is_complex else self.std
        return _drawn(F.NormalRandom, param, float(self.mean), float(std))


@public("paddle.nn.initializer paddle.nn.init")
class TruncatedNormal(Initializer):
    """Draw from a normal distribution, conditioned on lying between two bounds.

    Args:
        mean: mean of the distribution before it is cut.
        std: its standard deviation.
        a: lower bound.
        b: upper bound.

    Raises:
        ValueError: a negative std, or a that does not lie below b.

    Example:
        >>> import paddle
        >>> init = paddle.nn.initializer.TruncatedNormal(std=10.0, a=-1.0, b=1.0)
        >>> layer = paddle.nn.Linear(10, 10, weight_attr=init)
        >>> float(layer.weight.abs().max()) <= 1.0
        True
    """

    def __init__(
        self, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, name: str | None = None
    ) -> None:
        if not (std >= 0 and a < b):
            raise ValueError(f"[TruncatedNormal] requires std of 0 or more and a < b, got {std}, {a} and {b}")
        self.mean = mean
        self.std = std
        self.a = a
        self.b = b

    def _values(self, param: Tensor) -> Tensor:
        bounds = (float(self.mean), float(self.std), float(self.a), float(self.b))
        return random_tensor(F.TruncatedNormal, param.shape, param.dtype, *bounds, place=param.place)


def fans(shape: Any) -> tuple[int, int]:
    """(fan in, fan out): of a matrix [in, out] its sizes, of a kernel [out, in, *space] with the space counted in."""
    shape = tuple(shape)
    if len(shape) < 2:
        n = shape[0] if shape else 1
        return n, n
    if len(shape) == 2:
        return shape[0], shape[1]
    space = math.prod(shape[2:])
    return shape[1] * space, shape[0] * space


class _Xavier(Initializer):
    def __init__(
        self, fan_in: float | None = None, fan_out: float | None = None, gain: float = 1.0, name: str | None = None
    ) -> None:
        self.fan_in = fan_in
        self.fan_out = fan_out
        self.gain = gain

    def _std(self, param: Tensor) -> float:
        fan_in, fan_out = fans(param.shape)
        total = (fan_in if self.fan_in is None else self.fan_in) + (fan_out if self.fan_out is None else self.fan_out)
        return self.gain * math.sqrt(2.0 / total) if total else 0.0


@public("paddle.nn.initializer paddle.nn.init")
class XavierUniform(_Xavier):
    """Draw from a uniform distribution with variance ``gain² * 2 / (fan_in + fan_out)``: the default of most weights.

    Args:
        fan_in: inputs that each output is computed of; None: as the shape says.
        fan_out: outputs that each input goes to; None: as the shape says.
        gain: factor on the standard deviation.

    References:
        Glorot and Bengio, 2010: Understanding the difficulty of training deep feedforward neural networks.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(1, 2, weight_attr=paddle.nn.initializer.XavierUniform())
        >>> float(layer.weight.abs().max()) <= 2.0**0.5  # the root of 6 / (1 + 2)
        True
    """

    def _values(self, param: Tensor) -> Tensor:
        limit = math.sqrt(3.0) * self._std(param)
        return Uniform(-limit, limit)._values(param)


@public("paddle.nn.initializer paddle.nn.init")
class XavierNormal(_Xavier):
    """Draw from a normal distribution with variance ``gain² * 2 / (fan_in + fan_out)``.

    Args:
        fan_in: inputs that each output is computed of; None: as the shape says.
        fan_out: outputs that each input goes to; None: as the shape says.
        gain: factor on the standard deviation.

    References:
        Glorot and Bengio, 2010: Understanding the difficulty of training deep feedforward neural networks.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(100, 100, weight_attr=paddle.nn.initializer.XavierNormal())
        >>> round(float(layer.weight.std()), 1)
        0.1
    """

    def _values(self, param: Tensor) -> Tensor:
        return Normal(0.0, self._std(param))._values(param)


class _Kaiming(Initializer):
    def __init__(
        self, fan_in: float | None = None, negative_slope: float = 0.0, nonlinearity: str = "relu", mode: str = "fan_in"
    ) -> None:
        if mode not in ("fan_in", "fan_out"):
            raise ValueError(f"[{type(self).__name__}] requires mode 'fan_in' or 'fan_out', got {mode!r}")
        self.fan_in = fan_in
        self.negative_slope = negative_slope
        self.nonlinearity = nonlinearity
        self.mode = mode

    def _std(self, param: Tensor) -> float:
        fan = self.fan_in if self.fan_in is not None else fans(param.shape)[self.mode == "fan_out"]
        return calculate_gain(self.nonlinearity, self.negative_slope) / math.sqrt(fan) if fan else 0.0


@public("paddle.nn.initializer paddle.nn.init")
class KaimingUniform(_Kaiming):
    """Draw from a uniform distribution with variance ``gain² / fan``, where the nonlinearity says the gain.

    Args:
        fan_in: inputs that each output is computed of; None: as the shape says.
        negative_slope: of ``"leaky_relu"``.
        nonlinearity: a name that :func:`calculate_gain` knows.
        mode: ``"fan_in"`` or ``"fan_out"``: which one is taken from the shape.

    Raises:
        ValueError: an unknown mode; when it is called, an unknown nonlinearity.

    References:
        He et al., 2015: Delving Deep into Rectifiers.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(6, 2, weight_attr=paddle.nn.initializer.KaimingUniform())
        >>> float(layer.weight.abs().max()) <= 1.0  # the root of 6 / fan_in
        True
    """

    def _values(self, param: Tensor) -> Tensor:
        limit = math.sqrt(3.0) * self._std(param)
        return Uniform(-limit, limit)._values(param)


@public("paddle.nn.initializer paddle.nn.init")
class KaimingNormal(_Kaiming):
    """Draw from a normal distribution with variance ``gain² / fan``, where the nonlinearity says the gain.

    Args:
        fan_in: inputs that each output is computed of; None: as the shape says.
        negative_slope: of ``"leaky_relu"``.
        nonlinearity: a name that :func:`calculate_gain` knows.
        mode: ``"fan_in"`` or ``"fan_out"``: which one is taken from the shape.

    Raises:
        ValueError: an unknown mode; when it is called, an unknown nonlinearity.

    References:
        He et al., 2015: Delving Deep into Rectifiers.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(200, 50, weight_attr=paddle.nn.initializer.KaimingNormal())
        >>> round(float(layer.weight.std()), 1)  # the root of 2 / fan_in
        0.1
    """

    def _values(self, param: Tensor) -> Tensor:
        return Normal(0.0, self._std(param))._values(param)


@public("paddle.nn.initializer")
class Assign(Initializer):
    """Fill with the values of an array, a nested list or a tensor.

    Args:
        value: cast to the parameter's dtype. A parameter of another shape takes that of the values in dynamic mode.

    Raises:
        TypeError: when it is called, values that are no numbers.
        ValueError: when it is called in static mode, values of another shape than the parameter's.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(1, 2, weight_attr=paddle.nn.initializer.Assign([[1.0, 2.0]]))
        >>> layer.weight.tolist()
        [[1.0, 2.0]]
    """

    def __init__(self, value: Any, name: str | None = None) -> None:
        self.value = value

    def _values(self, param: Tensor) -> Tensor:
        value = self.value if isinstance(self.value, Tensor) else from_numpy(np.asarray(self.value), param.place)
        value = value if value.dtype is param.dtype else F.cast(value, dtype=param.dtype)
        if not mode.in_dynamic_mode() and tuple(value.shape) != tuple(param.shape):
            required = f"values of the parameter's shape {list(param.shape)} in static mode"
            raise op_error(ValueError, "Assign", required, list(value.shape))
        # What has the parameter's shape is written into it, what has another one becomes it.
        return F.copy(value) if value is self.value and value.shape != param.shape else value


@public("paddle.nn.initializer paddle.nn.init")
class Orthogonal(Initializer):
    """Fill with ``gain`` times a matrix of orthonormal rows or columns, whichever are fewer.

    Dims after the first are flattened into columns. The matrix is drawn uniformly from all such matrices.

    Args:
        gain: factor on the matrix.

    Raises:
        ValueError: when it is called, a parameter of rank 0 or 1.

    Example:
        >>> import paddle
        >>> w = paddle.nn.Linear(2, 2, weight_attr=paddle.nn.initializer.Orthogonal()).weight
        >>> bool(paddle.allclose(w @ w.T, paddle.eye(2), atol=1e-5))
        True
    """

    def __init__(self, gain: float = 1.0, name: str | None = None) -> None:
        self.gain = gain

    def _values(self, param: Tensor) -> Tensor:
        if param.ndim < 2:
            raise ValueError(f"[Orthogonal] requires a parameter of rank 2 or more, got shape {list(param.shape)}")
        rows = param.shape[0]
        cols = math.prod(param.shape[1:])
        shape = max(rows, cols), min(rows, cols)
        tall = _drawn(F.NormalRandom, param, 0.0, 1.0, shape=shape, dtype=param.dtype.compute)
        q, r = np.linalg.qr(tall.numpy())
        q *= np.sign(np.diagonal(r))  # makes the distribution uniform over orthogonal (or unitary) matrices
        q = (q if rows >= cols else q.T).reshape(param.shape) * self.gain
        return Assign(q)._values(param)


@public("paddle.nn.initializer paddle.nn.init")
class Dirac(Initializer):
    """Fill convolution kernels so that they pass their input through: 1 at the centre where the channels agree, else 0.

    Args:
        groups: how many groups of output channels each repeat the identity.

    Raises:
        ValueError: groups below 1; when it is called, a parameter that is not of rank 3 to 5, or whose output channels
            the groups do not divide.

    Example:
        >>> import paddle
        >>> conv = paddle.nn.Conv1D(1, 1, 3, weight_attr=paddle.nn.initializer.Dirac())
        >>> conv.weight.tolist()
        [[[0.0, 1.0, 0.0]]]
    """

    def __init__(self, groups: int = 1, name: str | None = None) -> None:
        if groups < 1:
            raise ValueError(f"[Dirac] requires groups of 1 or more, got {groups}")
        self.groups = groups

    def _values(self, param: Tensor) -> Tensor:
        shape = tuple(param.shape)
        if len(shape) not in (3, 4, 5) or shape[0] % self.groups:
            raise ValueError(
                f"[Dirac] requires a kernel of rank 3 to 5 with output channels divisible by {self.groups}, got {shape}"
            )
        values = np.zeros(shape)
        centre = tuple(k // 2 for k in shape[2:])
        per_group = shape[0] // self.groups
        for group in range(self.groups):
            for i in range(min(per_group, shape[1])):
                at = (group * per_group + i, i, *centre)
                values[at] = 1
        return Assign(values)._values(param)


@public("paddle.nn.initializer")
class Bilinear(Initializer):
    """Fill kernels of a transposed convolution so that it upsamples by linear interpolation.

    Raises:
        ValueError: when it is called, a parameter that is not ``[out, in, k, k]``.

    Example:
        >>> import paddle
        >>> init = paddle.nn.initializer.Bilinear()
        >>> conv = paddle.nn.Conv2DTranspose(1, 1, 4, stride=2, padding=1, weight_attr=init)
        >>> conv.weight[0, 0, 1].tolist()
        [0.1875, 0.5625, 0.5625, 0.1875]
    """

    def _values(self, param: Tensor) -> Tensor:
        shape = tuple(param.shape)
        if len(shape) != 4 or shape[2] != shape[3]:
            raise ValueError(f"[Bilinear] requires a kernel [out, in, k, k], got {shape}")
        factor = math.ceil(shape[3] / 2)
        centre = (2 * factor - 1 - factor % 2) / (2.0 * factor)
        line = 1 - np.abs(np.arange(shape[3]) / factor - centre)
        return Assign(np.broadcast_to(np.outer(line, line), shape))._values(param)


class _Defaults:
    """Defaults that ``set_global_initializer`` has set; kept with the rank's other state."""

    @property
    def _values(self) -> dict[Any, Any]:
        return current().state.values

    @property
    def weight(self) -> Initializer | None:
        return self._values.get("initializer.weight")

    @property
    def bias(self) -> Initializer | None:
        return self._values.get("initializer.bias")

    def instead_of(self, own: Any, is_bias: bool) -> Any:
        """The initializer of a parameter whose attributes name none: these defaults come before its layer's own."""
        common = self.bias if is_bias else self.weight
        return common or own or (Constant(0.0) if is_bias else XavierUniform())


defaults = _Defaults()


@public("paddle.nn.initializer")
def set_global_initializer(weight_init: Initializer | None, bias_init: Initializer | None = None) -> None:
    """Fill new parameters that name no initializer of their own with these.

    Args:
        weight_init: of weights; None: the layers' defaults again.
        bias_init: of biases; None: the layers' defaults again.

    Raises:
        TypeError: a value that is not an initializer.

    Example:
        >>> import paddle
        >>> paddle.nn.initializer.set_global_initializer(paddle.nn.initializer.Constant(2.0))
        >>> paddle.nn.Linear(1, 1).weight.tolist()
        [[2.0]]
        >>> paddle.nn.initializer.set_global_initializer(None)
    """
    for value in (weight_init, bias_init):
        if value is not None and not isinstance(value, Initializer):
            raise TypeError(f"[set_global_initializer] requires initializers or None, got {type(value).__name__}")
    current().state.values.update({"initializer.weight": weight_init, "initializer.bias": bias_init})
