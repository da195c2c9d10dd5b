"""Initializers under the names and with the parameters that older programs use."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.nn.initializer.initializers import (
    Assign,
    Constant,
    Initializer,
    KaimingNormal,
    KaimingUniform,
    Normal,
    TruncatedNormal,
    Uniform,
    XavierNormal,
    XavierUniform,
)
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


def _unseeded(op_name: Any, seed: int) -> None:
    if seed != 0:
        raise op_error(
            ValueError, type(op_name).__name__, "seed=0, the generator's own", seed, "Call paddle.seed first."
        )


@public("paddle.nn.initializer")
class ConstantInitializer(Constant):
    """Fill with one value.

    Args:
        value: the value.
        force_cpu: accepted.

    Example:
        >>> import paddle
        >>> init = paddle.nn.initializer.ConstantInitializer(0.5)
        >>> paddle.create_parameter([2], "float32", default_initializer=init).tolist()
        [0.5, 0.5]
    """

    def __init__(self, value: float = 0.0, force_cpu: bool = False) -> None:
        super().__init__(value)


@public("paddle.nn.initializer")
class NumpyArrayInitializer(Assign):
    """Fill with the values of an array.

    Args:
        value: an array.

    Raises:
        TypeError: a value that is no array.

    Example:
        >>> import numpy, paddle
        >>> init = paddle.nn.initializer.NumpyArrayInitializer(numpy.array([1.0, 2.0]))
        >>> paddle.create_parameter([2], "float32", default_initializer=init).tolist()
        [1.0, 2.0]
    """

    def __init__(self, value: Any) -> None:
        if not hasattr(value, "__array__"):
            raise op_error(TypeError, "NumpyArrayInitializer", "an array", type(value).__name__)
        super().__init__(value)


@public("paddle.nn.initializer")
class UniformInitializer(Uniform):
    """Draw from a uniform distribution.

    Args:
        low: lower bound.
        high: upper bound, which is not reached.
        seed: only 0: the generator's own.
        diag_num: only 0: no elements of the diagonal are set apart.
        diag_step: accepted.
        diag_val: accepted.

    Raises:
        ValueError: low lies above high, or another seed or diag_num than 0.

    Example:
        >>> import paddle
        >>> init = paddle.nn.initializer.UniformInitializer(1.0, 2.0)
        >>> 1.0 <= float(paddle.create_parameter([1], "float32", default_initializer=init)) < 2.0
        True
    """

    def __init__(
        self,
        low: float = -1.0,
        high: float = 1.0,
        seed: int = 0,
        diag_num: int = 0,
        diag_step: int = 0,
        diag_val: float = 1.0,
    ) -> None:
        _unseeded(self, seed)
        if diag_num:
            raise op_error(ValueError, "UniformInitializer", "diag_num=0", diag_num)
        super().__init__(low, high)


@public("paddle.nn.initializer")
class NormalInitializer(Normal):
    """Draw from a normal distribution.

    Args:
        loc: mean of the distribution.
        scale: standard deviation.
        seed: only 0: the generator's own.

    Raises:
        ValueError: a negative scale, or another seed than 0.

    Example:
        >>> import paddle
        >>> init = paddle.nn.initializer.NormalInitializer(3.0, 0.0)
        >>> paddle.create_parameter([2], "float32", default_initializer=init).tolist()
        [3.0, 3.0]
    """

    def __init__(self, loc: float = 0.0, scale: float = 1.0, seed: int = 0) -> None:
        _unseeded(self, seed)
        super().__init__(loc, scale)


@public("paddle.nn.initializer")
class TruncatedNormalInitializer(TruncatedNormal):
    """Draw from a normal distribution, conditioned on lying between two bounds.

    Args:
        loc: mean of the distribution before it is cut.
        scale: its standard deviation.
        seed: only 0: the generator's own.
        a: lower bound.
        b: upper bound.

    Raises:
        ValueError: a negative scale, bounds in the wrong order, or another seed than 0.

    Example:
        >>> import paddle
        >>> init = paddle.nn.initializer.TruncatedNormalInitializer(a=-1.0, b=1.0)
        >>> abs(float(paddle.create_parameter([1], "float32", default_initializer=init))) <= 1.0
        True
    """

    def __init__(self, loc: float = 0.0, scale: float = 1.0, seed: int = 0, a: float = -2.0, b: float = 2.0) -> None:
        _unseeded(self, seed)
        super().__init__(loc, scale, a, b)


@public("paddle.nn.initializer")
class XavierInitializer(Initializer):
    """Draw with variance ``gain² * 2 / (fan_in + fan_out)``.

    Args:
        uniform: from a uniform distribution, otherwise from a normal one.
        fan_in: inputs that each output is computed of; None: as the shape says.
        fan_out: outputs that each input goes to; None: as the shape says.
        seed: only 0: the generator's own.
        gain: factor on the standard deviation.

    Raises:
        ValueError: another seed than 0.

    Example:
        >>> import paddle
        >>> init = paddle.nn.initializer.XavierInitializer(fan_in=3, fan_out=3)
        >>> abs(float(paddle.create_parameter([1], "float32", default_initializer=init))) <= 1.0
        True
    """

    def __init__(
        self,
        uniform: bool = True,
        fan_in: float | None = None,
        fan_out: float | None = None,
        seed: int = 0,
        gain: float = 1.0,
    ) -> None:
        _unseeded(self, seed)
        self._kind: Initializer = (XavierUniform if uniform else XavierNormal)(fan_in, fan_out, gain)

    def _values(self, param: Tensor) -> Tensor:
        return self._kind._values(param)


@public("paddle.nn.initializer")
class MSRAInitializer(Initializer):
    """Draw with variance ``gain² / fan``, where the nonlinearity says the gain.

    Args:
        uniform: from a uniform distribution, otherwise from a normal one.
        fan_in: inputs that each output is computed of; None: as the shape says.
        seed: only 0: the generator's own.
        negative_slope: of ``"leaky_relu"``.
        nonlinearity: a name that :func:`calculate_gain` knows.
        mode: ``"fan_in"`` or ``"fan_out"``: which one is taken from the shape.

    Raises:
        ValueError: an unknown mode, or another seed than 0; when it is called, an unknown nonlinearity.

    Example:
        >>> import paddle
        >>> init = paddle.nn.initializer.MSRAInitializer(fan_in=6)
        >>> abs(float(paddle.create_parameter([1], "float32", default_initializer=init))) <= 1.0
        True
    """

    def __init__(
        self,
        uniform: bool = True,
        fan_in: float | None = None,
        seed: int = 0,
        negative_slope: float = 0.0,
        nonlinearity: str = "relu",
        mode: str = "fan_in",
    ) -> None:
        _unseeded(self, seed)
        kind = KaimingUniform if uniform else KaimingNormal
        self._kind: Initializer = kind(fan_in, negative_slope, nonlinearity, mode)

    def _values(self, param: Tensor) -> Tensor:
        return self._kind._values(param)
