"""Initializers: what a new parameter is filled with.

An initializer is called with a parameter and writes its values in place; ``ParamAttr(initializer=…)`` and
``weight_attr=…`` take one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from paddle._public import public
from paddle.nn._ops import random_tensor
from paddle.tensor._args import made_on
from umiak import ops as F
from umiak.core.array import from_numpy
from umiak.core.context import current, no_grad_guard
from umiak.core.dispatch import assign
from umiak.core.tensor import Tensor


@public("paddle.nn.initializer")
def calculate_gain(nonlinearity: str, param: float | bool | None = None) -> float:
    """The factor by which weights grow so that activations keep their scale through a nonlinearity.

    Args:
        nonlinearity: ``"sigmoid"``, ``"linear"``, a convolution (1), ``"tanh"`` (5/3), ``"relu"`` (√2),
            ``"leaky_relu"``, ``"selu"`` (3/4).
        param: the slope of leaky ReLU, 0.01 by default.

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
    gains = {**dict.fromkeys(flat, 1.0), "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75}
    if nonlinearity not in gains:
        raise ValueError(f"[calculate_gain] requires one of {sorted([*gains, 'leaky_relu'])}, got {nonlinearity!r}")
    return gains[nonlinearity]


@public("paddle.nn.initializer")
class Initializer:
    """Base: subclasses give the values of a parameter as a tensor of its shape and dtype."""

    def __call__(self, param: Tensor, block: Any = None) -> Tensor:
        """Fill ``param`` in place and return it."""
        with no_grad_guard():
            return assign(param, self._values(param))

    def _values(self, param: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} defines no values")


@public("paddle.nn.initializer")
class Constant(Initializer):
    """One value everywhere.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(1, 2, weight_attr=paddle.nn.initializer.Constant(0.5))
        >>> layer.weight.tolist()
        [[0.5, 0.5]]
    """

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def _values(self, param: Tensor) -> Tensor:
        return made_on(param.place, F.full, self.value, param.dtype, tuple(param.shape))


def _drawn(cls: Any, like: Tensor, *params: float, shape: tuple | None = None, dtype: Any = None) -> Tensor:
    """Random numbers for a parameter; the parts of complex ones are drawn one after the other."""
    shape, dtype = shape or tuple(like.shape), dtype or like.dtype
    parts = [random_tensor(cls, shape, dtype.real, *params, place=like.place)]
    if not dtype.is_complex:
        return parts[0]
    parts.append(random_tensor(cls, shape, dtype.real, *params, place=like.place))
    return F.complex(*parts)


@public("paddle.nn.initializer")
class Uniform(Initializer):
    """Uniform between ``low`` and ``high``; of complex parameters, each part."""

    def __init__(self, low: float = -1.0, high: float = 1.0, name: str | None = None) -> None:
        self.low = low
        self.high = high

    def _values(self, param: Tensor) -> Tensor:
        return _drawn(F.UniformRandom, param, float(self.low), float(self.high))


@public("paddle.nn.initializer")
class Normal(Initializer):
    """Normal with ``mean`` and standard deviation ``std``; of complex parameters, each part with that mean and half of
    the variance.
    """

    def __init__(self, mean: float = 0.0, std: float = 1.0, name: str | None = None) -> None:
        self.mean = mean
        self.std = std

    def _values(self, param: Tensor) -> Tensor:
        std = self.std * math.sqrt(0.5) if param.dtype.is_complex else self.std
        return _drawn(F.NormalRandom, param, float(self.mean), float(std))


@public("paddle.nn.initializer")
class TruncatedNormal(Initializer):
    """Normal with ``mean`` and ``std``, conditioned on lying between ``a`` and ``b``."""

    def __init__(
        self, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, name: str | None = None
    ) -> None:
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


@public("paddle.nn.initializer")
class XavierUniform(_Xavier):
    """Uniform with variance ``gain² * 2/(fan_in + fan_out)``: the default of most weights (Glorot and Bengio, 2010)."""

    def _values(self, param: Tensor) -> Tensor:
        limit = math.sqrt(3.0) * self._std(param)
        return Uniform(-limit, limit)._values(param)


@public("paddle.nn.initializer")
class XavierNormal(_Xavier):
    """Normal with variance ``gain² * 2/(fan_in + fan_out)`` (Glorot and Bengio, 2010)."""

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


@public("paddle.nn.initializer")
class KaimingUniform(_Kaiming):
    """Uniform with variance ``gain² / fan_in`` (He et al., 2015)."""

    def _values(self, param: Tensor) -> Tensor:
        limit = math.sqrt(3.0) * self._std(param)
        return Uniform(-limit, limit)._values(param)


@public("paddle.nn.initializer")
class KaimingNormal(_Kaiming):
    """Normal with variance ``gain² / fan_in`` (He et al., 2015)."""

    def _values(self, param: Tensor) -> Tensor:
        return Normal(0.0, self._std(param))._values(param)


@public("paddle.nn.initializer")
class Assign(Initializer):
    """The values of an array, a nested list or a tensor.

    Raises:
        ValueError: the shape differs from the parameter's.
    """

    def __init__(self, value: Any, name: str | None = None) -> None:
        self.value = value

    def _values(self, param: Tensor) -> Tensor:
        value = self.value if isinstance(self.value, Tensor) else from_numpy(np.asarray(self.value), param.place)
        if list(value.shape) != list(param.shape):
            raise ValueError(f"[Assign] requires values of shape {list(param.shape)}, got {list(value.shape)}")
        return value if value.dtype is param.dtype else F.cast(value, dtype=param.dtype)


@public("paddle.nn.initializer")
class Orthogonal(Initializer):
    """``gain`` times a matrix with orthonormal rows or columns, whichever are fewer; further dims are flattened into
    columns.
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


@public("paddle.nn.initializer")
class Dirac(Initializer):
    """Convolution kernels that pass their input through: 1 at the centre where output and input channel agree.

    Args:
        groups: how many groups of output channels each repeat the identity.
    """

    def __init__(self, groups: int = 1, name: str | None = None) -> None:
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
    """Kernels of a transposed convolution that upsamples by linear interpolation."""

    def _values(self, param: Tensor) -> Tensor:
        shape = tuple(param.shape)
        if len(shape) != 4 or shape[2] != shape[3]:
            raise ValueError(f"[Bilinear] requires a kernel [out, in, k, k], got {shape}")
        factor = math.ceil(shape[3] / 2)
        centre = (2 * factor - 1 - factor % 2) / (2.0 * factor)
        line = 1 - np.abs(np.arange(shape[3]) / factor - centre)
        return Assign(np.broadcast_to(np.outer(line, line), shape))._values(param)


class _Defaults:
    """What ``set_global_initializer`` has set; kept with the rank's other state."""

    @property
    def _values(self) -> dict[Any, Any]:
        return current().state.values

    @property
    def weight(self) -> Initializer | None:
        return self._values.get("initializer.weight")

    @property
    def bias(self) -> Initializer | None:
        return self._values.get("initializer.bias")


defaults = _Defaults()


@public("paddle.nn.initializer")
def set_global_initializer(weight_init: Initializer | None, bias_init: Initializer | None = None) -> None:
    """Fill new parameters that name no initializer of their own with these; None restores the layers' defaults.

    Raises:
        TypeError: something that is not an initializer.

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
