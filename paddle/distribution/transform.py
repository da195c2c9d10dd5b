"""Transforms of random variables: forward, back, and how they stretch volume."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any, ClassVar

from paddle._public import public
from paddle.distribution.distribution import Distribution, common_shape, expand, sum_last
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


class Type(enum.Enum):
    """Kinds of transforms by what they do to their domain."""

    BIJECTION = "bijection"  # one to one, and onto all of the codomain
    INJECTION = "injection"  # one to one
    SURJECTION = "surjection"  # onto all of the codomain
    OTHER = "other"

    @classmethod
    def is_injective(cls, kind: Type) -> bool:
        """Return whether an outcome has one preimage."""
        return kind in (cls.BIJECTION, cls.INJECTION)


@public("paddle.distribution")
class Transform:
    """Base class of functions of random variables.

    Called with a tensor, a transform returns the outcome; with a distribution, the distribution of the outcome; with
    another transform, both one after the other, the other first.

    A subclass defines ``_forward``, ``_inverse``, one of ``_forward_log_det_jacobian`` and
    ``_inverse_log_det_jacobian``, and, where shapes change, ``_forward_shape`` and ``_inverse_shape``. ``_type`` says
    whether it can be undone; ``_domain_rank`` and ``_codomain_rank`` say how many last axes it takes and gives as one
    outcome.

    Raises:
        NotImplementedError: a method is called that the subclass does not define.

    Example:
        >>> import paddle
        >>> class Double(paddle.distribution.Transform):
        ...     def _forward(self, x):
        ...         return x * 2
        ...     def _inverse(self, y):
        ...         return y / 2
        ...     def _forward_log_det_jacobian(self, x):
        ...         return paddle.full_like(x, 0.6931)
        >>> Double().forward(paddle.ones([2])).tolist()
        [2.0, 2.0]
    """

    _is_its_attributes = True  # to captured functions: one with equal attributes is as good
    _type = Type.INJECTION
    _domain_rank = 0
    _codomain_rank = 0
    _of_distribution: ClassVar[Any]  # the distribution of what it makes of a variable: transformed.py

    @classmethod
    def _is_injective(cls) -> bool:
        return Type.is_injective(cls._type)

    @property
    def type(self) -> Type:
        """Kind of the function: bijection, injection, surjection or other."""
        return self._type

    def __call__(self, input: Any) -> Any:
        if isinstance(input, Distribution):
            return self._of_distribution(input, [self])
        if isinstance(input, Transform):
            return ChainTransform([input, self])
        return self.forward(input)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the transform.

        Args:
            x: tensor of at least as many axes as one operand has.

        Returns:
            Tensor of outcomes, of shape ``forward_shape(x.shape)``.

        Raises:
            TypeError: x is no tensor.
            ValueError: x has too few axes, or another shape than the transform takes.
            NotImplementedError: the subclass does not define it.
        """
        return self._forward(self._operand(x, self._domain_rank))

    def inverse(self, y: Tensor) -> Any:
        """Find what the transform makes ``y`` of.

        Args:
            y: tensor of at least as many axes as one outcome has.

        Returns:
            Tensor of operands, of shape ``inverse_shape(y.shape)``; of an even function the pair of both.

        Raises:
            TypeError: y is no tensor.
            ValueError: y has too few axes, or another shape than the transform gives.
            NotImplementedError: the subclass does not define it.
        """
        return self._inverse(self._operand(y, self._codomain_rank))

    def forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        """Logarithm of the absolute determinant of the Jacobian: of how much the transform stretches volume at ``x``.

        Args:
            x: tensor, as for :meth:`forward`.

        Returns:
            Tensor that broadcasts to x's shape without the axes of one operand.

        Raises:
            TypeError, ValueError: as for ``forward``.
            NotImplementedError: an outcome has several preimages, or the subclass does not define it.
        """
        self._operand(x, self._domain_rank)
        if not Type.is_injective(self._type):
            text = f"[{type(self).__name__}] has no forward_log_det_jacobian: an outcome has several preimages"
            raise NotImplementedError(text)
        return self._log_det(x)

    def _log_det(self, x: Tensor) -> Tensor:
        """The log-determinant of the Jacobian, by the formula that the class defines: its own or the inverse's."""
        if type(self)._forward_log_det_jacobian is not Transform._forward_log_det_jacobian:
            return self._forward_log_det_jacobian(x)
        if type(self)._inverse_log_det_jacobian is not Transform._inverse_log_det_jacobian:
            return F.neg(self._inverse_log_det_jacobian(self.forward(x)))
        raise NotImplementedError(f"[{type(self).__name__}] has no forward_log_det_jacobian")

    def inverse_log_det_jacobian(self, y: Tensor) -> Any:
        """Logarithm of the absolute determinant of the Jacobian of the inverse at ``y``.

        Args:
            y: tensor, as for :meth:`inverse`.

        Returns:
            Tensor that broadcasts to y's shape without the axes of one outcome; of an even function the pair for both
            preimages.

        Raises:
            TypeError, ValueError: as for ``inverse``.
            NotImplementedError: the subclass does not define it.
        """
        self._operand(y, self._codomain_rank)
        if type(self)._inverse_log_det_jacobian is not Transform._inverse_log_det_jacobian:
            return self._inverse_log_det_jacobian(y)
        if type(self)._forward_log_det_jacobian is not Transform._forward_log_det_jacobian:
            return F.neg(self._forward_log_det_jacobian(self._inverse(y)))
        raise NotImplementedError(f"[{type(self).__name__}] has no inverse_log_det_jacobian")

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Shape of the outcome for an operand of a shape.

        Args:
            shape: list or tuple of sizes.

        Returns:
            Tuple of ints.

        Raises:
            TypeError: the shape is no list or tuple.
        """
        return tuple(self._forward_shape(self._sizes(shape)))

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Shape of the operand whose outcome has a shape.

        Args:
            shape: list or tuple of sizes.

        Returns:
            Tuple of ints.

        Raises:
            TypeError: the shape is no list or tuple.
        """
        return tuple(self._inverse_shape(self._sizes(shape)))

    def _sizes(self, shape: Any) -> tuple[int, ...]:
        if not isinstance(shape, (list, tuple)):
            raise op_error(TypeError, type(self).__name__, "a sequence of ints as shape", type(shape).__name__)
        return tuple(shape)

    def _operand(self, x: Any, rank: int) -> Tensor:
        if not isinstance(x, Tensor):
            raise op_error(TypeError, type(self).__name__, "a Tensor", type(x).__name__)
        if x.ndim < rank:
            raise op_error(ValueError, type(self).__name__, f"a tensor of rank {rank} or more", x.shape)
        return x

    def _forward(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"[{type(self).__name__}] has no forward")

    def _inverse(self, y: Tensor) -> Any:
        raise NotImplementedError(f"[{type(self).__name__}] has no inverse")

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"[{type(self).__name__}] has no forward_log_det_jacobian")

    def _inverse_log_det_jacobian(self, y: Tensor) -> Any:
        raise NotImplementedError(f"[{type(self).__name__}] has no inverse_log_det_jacobian")

    def _forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape

    def _inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape


# --- element by element --------------------------------------------------------------------------------------------


@public("paddle.distribution")
class AbsTransform(Transform):
    """Absolute value, ``|x|``. An outcome has two preimages, and ``inverse`` returns both.

    Example:
        >>> import paddle
        >>> t = paddle.distribution.AbsTransform()
        >>> low, high = t.inverse(paddle.to_tensor([2.0]))
        >>> low.tolist(), high.tolist()
        ([-2.0], [2.0])
    """

    _type = Type.SURJECTION

    def _forward(self, x: Tensor) -> Tensor:
        return F.abs(x)

    def _inverse(self, y: Tensor) -> tuple[Tensor, Tensor]:
        return F.neg(y), y

    def _inverse_log_det_jacobian(self, y: Tensor) -> tuple[Tensor, Tensor]:
        zero = create_on(y.place, F.full, 0, y.dtype, ())
        return zero, zero


@public("paddle.distribution")
class AffineTransform(Transform):
    """Scale and shift, ``loc + scale * x``.

    Args:
        loc: tensor.
        scale: tensor without zeros; the two broadcast with x.

    Raises:
        TypeError: an argument is no tensor.

    Example:
        >>> import paddle
        >>> t = paddle.distribution.AffineTransform(paddle.to_tensor(1.0), paddle.to_tensor(2.0))
        >>> t.forward(paddle.to_tensor([3.0])).tolist(), t.inverse(paddle.to_tensor([7.0])).tolist()
        ([7.0], [3.0])
    """

    _type = Type.BIJECTION

    def __init__(self, loc: Tensor, scale: Tensor) -> None:
        for arg_name, value in (("loc", loc), ("scale", scale)):
            if not isinstance(value, Tensor):
                raise op_error(TypeError, "AffineTransform", f"a Tensor for {arg_name}", type(value).__name__)
        self._loc, self._scale = loc, scale

    @property
    def loc(self) -> Tensor:
        """Shift, a tensor."""
        return self._loc

    @property
    def scale(self) -> Tensor:
        """Factor, a tensor."""
        return self._scale

    def _forward(self, x: Tensor) -> Tensor:
        return F.add(self._loc, F.mul(self._scale, x))

    def _inverse(self, y: Tensor) -> Tensor:
        return F.div(F.sub(y, self._loc), self._scale)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return F.log(F.abs(self._scale))

    def _forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return common_shape(type(self).__name__, shape, self._loc.shape, self._scale.shape)

    _inverse_shape = _forward_shape


@public("paddle.distribution")
class ExpTransform(Transform):
    """Exponential, ``exp(x)``.

    Example:
        >>> import paddle
        >>> t = paddle.distribution.ExpTransform()
        >>> t.forward(paddle.zeros([1])).tolist(), t.inverse(paddle.ones([1])).tolist()
        ([1.0], [0.0])
    """

    _type = Type.BIJECTION

    def _forward(self, x: Tensor) -> Tensor:
        return F.exp(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return F.log(y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return x


@public("paddle.distribution")
class PowerTransform(Transform):
    """Power, ``x ** power``, of positive numbers.

    Args:
        power: tensor without zeros, which broadcasts with x.

    Raises:
        TypeError: the power is no tensor.

    Example:
        >>> import paddle
        >>> paddle.distribution.PowerTransform(paddle.to_tensor(2.0)).forward(paddle.to_tensor([3.0])).tolist()
        [9.0]
    """

    _type = Type.BIJECTION

    def __init__(self, power: Tensor) -> None:
        if not isinstance(power, Tensor):
            raise op_error(TypeError, "PowerTransform", "a Tensor for power", type(power).__name__)
        self._power = power

    @property
    def power(self) -> Tensor:
        """Exponent, a tensor."""
        return self._power

    def _forward(self, x: Tensor) -> Tensor:
        return F.pow(x, self._power)

    def _inverse(self, y: Tensor) -> Tensor:
        return F.pow(y, F.div(1.0, self._power))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return F.log(F.abs(F.mul(self._power, F.pow(x, F.sub(self._power, 1.0)))))

    def _forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return common_shape(type(self).__name__, shape, self._power.shape)

    _inverse_shape = _forward_shape


@public("paddle.distribution")
class SigmoidTransform(Transform):
    """Sigmoid, ``1 / (1 + exp(-x))``, onto the numbers between 0 and 1.

    Example:
        >>> import paddle
        >>> paddle.distribution.SigmoidTransform().forward(paddle.zeros([1])).tolist()
        [0.5]
    """

    def _forward(self, x: Tensor) -> Tensor:
        return F.exp(F.log_sigmoid(x))

    def _inverse(self, y: Tensor) -> Tensor:
        return F.sub(F.log(y), F.log1p(F.neg(y)))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return F.add(F.log_sigmoid(x), F.log_sigmoid(F.neg(x)))


@public("paddle.distribution")
class TanhTransform(Transform):
    """Hyperbolic tangent, onto the numbers between -1 and 1.

    Example:
        >>> import paddle
        >>> paddle.distribution.TanhTransform().forward(paddle.zeros([1])).tolist()
        [0.0]
    """

    _type = Type.BIJECTION

    def _forward(self, x: Tensor) -> Tensor:
        return F.tanh(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return F.atanh(y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        # log(1 - tanh(x)**2), which cancels for large x
        both = F.add(F.log_sigmoid(F.mul(x, 2.0)), F.log_sigmoid(F.mul(x, -2.0)))
        return F.add(both, math.log(4))


# --- on vectors ----------------------------------------------------------------------------------------------------


@public("paddle.distribution")
class SoftmaxTransform(Transform):
    """Softmax of the last axis; ``inverse`` returns the logarithm, one of many preimages.

    Example:
        >>> import paddle
        >>> paddle.distribution.SoftmaxTransform().forward(paddle.zeros([2])).tolist()
        [0.5, 0.5]
    """

    _type = Type.OTHER
    _domain_rank = 1
    _codomain_rank = 1

    def _forward(self, x: Tensor) -> Tensor:
        return F.softmax(x, x.ndim - 1)

    def _inverse(self, y: Tensor) -> Tensor:
        return F.log(y)


@public("paddle.distribution")
class StickBreakingTransform(Transform):
    """Stick breaking, from n numbers in the last axis to n + 1 positive ones whose sum is 1.

    Each outcome is the sigmoid of a number times what those before it have left of 1; zeros become equal shares.

    Example:
        >>> import paddle
        >>> t = paddle.distribution.StickBreakingTransform()
        >>> [round(v, 4) for v in t.forward(paddle.zeros([3])).tolist()]
        [0.25, 0.25, 0.25, 0.25]
    """

    _type = Type.BIJECTION
    _domain_rank = 1
    _codomain_rank = 1

    @staticmethod
    def _offset(n: int, like: Tensor) -> Tensor:
        """The logarithms of n, n - 1, … 1: with them zeros become equal shares."""
        return F.log(F.cast(create_on(like.place, F.iota, n, -1, dt.int64, n), dtype=like.dtype))

    def _forward(self, x: Tensor) -> Tensor:
        last = x.ndim - 1
        z = F.sub(x, self._offset(x.shape[-1], x))
        share, rest = F.log_sigmoid(z), F.log_sigmoid(F.neg(z))
        left = F.exp(F.cumsum(rest, axis=last))
        before = F.pad(left, 1, axes=(last,), lo=(1,), hi=(0,))
        return F.mul(before, F.pad(F.exp(share), 1, axes=(last,), lo=(0,), hi=(1,)))

    def _inverse(self, y: Tensor) -> Tensor:
        last, n = y.ndim - 1, y.shape[-1] - 1
        parts = F.slice(y, (last,), (0,), (n,), (1,))
        left = F.sub(1.0, F.cumsum(parts, axis=last))
        return F.add(F.sub(F.log(parts), F.log(left)), self._offset(n, y))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        last = x.ndim - 1
        y = self._forward(x)
        parts = F.slice(y, (last,), (0,), (x.shape[-1],), (1,))
        z = F.sub(x, self._offset(x.shape[-1], x))
        return F.sum(F.add(F.log_sigmoid(F.neg(z)), F.log(parts)), (last,))

    def _forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if not shape:
            raise op_error(ValueError, "StickBreakingTransform", "a shape of rank 1 or more", shape)
        return (*shape[:-1], shape[-1] + 1)

    def _inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if not shape:
            raise op_error(ValueError, "StickBreakingTransform", "a shape of rank 1 or more", shape)
        return (*shape[:-1], shape[-1] - 1)


@public("paddle.distribution")
class ReshapeTransform(Transform):
    """Reshape outcomes.

    Args:
        in_event_shape: list or tuple, the last sizes of operands.
        out_event_shape: list or tuple, the last sizes of results, of as many elements.

    Raises:
        TypeError: a shape is no list or tuple.
        ValueError: the shapes have different numbers of elements, or an operand another shape.

    Example:
        >>> import paddle
        >>> paddle.distribution.ReshapeTransform((4,), (2, 2)).forward(paddle.ones([3, 4])).shape
        paddle.Size([3, 2, 2])
    """

    _type = Type.BIJECTION

    def __init__(self, in_event_shape: Sequence[int], out_event_shape: Sequence[int]) -> None:
        for shape in (in_event_shape, out_event_shape):
            if not isinstance(shape, (list, tuple)):
                raise op_error(TypeError, "ReshapeTransform", "sequences of ints", type(shape).__name__)
        self._in, self._out = tuple(in_event_shape), tuple(out_event_shape)
        if math.prod(self._in) != math.prod(self._out):
            raise op_error(ValueError, "ReshapeTransform", "shapes of as many elements", f"{self._in} and {self._out}")
        self._domain_rank, self._codomain_rank = len(self._in), len(self._out)

    @property
    def in_event_shape(self) -> tuple[int, ...]:
        """Last sizes of operands, a tuple of ints."""
        return self._in

    @property
    def out_event_shape(self) -> tuple[int, ...]:
        """Last sizes of results, a tuple of ints."""
        return self._out

    def _swap(self, shape: Sequence[int], old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...]:
        keep = len(shape) - len(old)
        if keep < 0 or tuple(shape[keep:]) != old:
            raise op_error(ValueError, "ReshapeTransform", f"a shape that ends in {old}", tuple(shape))
        return (*shape[:keep], *new)

    def _forward(self, x: Tensor) -> Tensor:
        return F.reshape(x, self._swap(x.shape, self._in, self._out))

    def _inverse(self, y: Tensor) -> Tensor:
        return F.reshape(y, self._swap(y.shape, self._out, self._in))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return create_on(x.place, F.full, 0, x.dtype, tuple(x.shape[: x.ndim - len(self._in)]))

    def _forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._swap(shape, self._in, self._out)

    def _inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._swap(shape, self._out, self._in)


# --- of others -----------------------------------------------------------------------------------------------------


def _transforms(given: Any, op: str) -> list[Transform]:
    transforms = list(given) if isinstance(given, (list, tuple)) else [given]
    if not transforms or not isinstance(given, (list, tuple)) or not all(isinstance(t, Transform) for t in transforms):
        got = ", ".join(type(t).__name__ for t in transforms) or "none"
        raise op_error(TypeError, op, "a list or tuple of one or more Transforms", got)
    return transforms


def _kind_of(transforms: Sequence[Transform]) -> Type:
    return Type.INJECTION if all(Type.is_injective(t._type) for t in transforms) else Type.OTHER


@public("paddle.distribution")
class ChainTransform(Transform):
    """Transforms one after the other.

    Args:
        transforms: list or tuple of transforms, of which the first is applied first.

    Raises:
        TypeError: there is no transform, or something else.

    Example:
        >>> import paddle
        >>> double = paddle.distribution.AffineTransform(paddle.to_tensor(0.0), paddle.to_tensor(2.0))
        >>> t = paddle.distribution.ChainTransform([double, paddle.distribution.ExpTransform()])
        >>> t.inverse(paddle.ones([1])).tolist()
        [0.0]
    """

    def __init__(self, transforms: Sequence[Transform]) -> None:
        self.transforms = _transforms(transforms, "ChainTransform")
        self._type = _kind_of(self.transforms)
        rank = 0
        for t in reversed(self.transforms):
            rank = max(rank + t._domain_rank - t._codomain_rank, t._domain_rank)
        self._domain_rank = rank
        for t in self.transforms:
            rank += t._codomain_rank - t._domain_rank
        self._codomain_rank = rank

    def _forward(self, x: Tensor) -> Tensor:
        for t in self.transforms:
            x = t.forward(x)
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        for t in reversed(self.transforms):
            y = t.inverse(y)
        return y

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        total: Tensor | None = None
        rank = self._domain_rank
        for t in self.transforms:
            # What is one outcome for the chain may be several for this transform.
            grown = t.forward_log_det_jacobian(x)
            extra = rank - t._domain_rank
            if extra:
                shape = tuple(x.shape[: x.ndim - t._domain_rank])
                grown = sum_last(expand(grown, common_shape(type(self).__name__, grown.shape, shape)), extra)
            total = grown if total is None else F.add(total, grown)
            x = t.forward(x)
            rank += t._codomain_rank - t._domain_rank
        assert total is not None
        return total

    def _forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        for t in self.transforms:
            shape = t.forward_shape(shape)
        return shape

    def _inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        for t in reversed(self.transforms):
            shape = t.inverse_shape(shape)
        return shape


@public("paddle.distribution")
class IndependentTransform(Transform):
    """Transform that takes more of the last axes as one outcome, so that its Jacobian is one of all of them.

    Args:
        base: a transform.
        reinterpreted_batch_rank: how many more axes, an int of 1 or more.

    Raises:
        TypeError: the base is no transform.
        ValueError: the number of axes is no int of 1 or more.

    Example:
        >>> import paddle
        >>> t = paddle.distribution.IndependentTransform(paddle.distribution.ExpTransform(), 1)
        >>> t.forward_log_det_jacobian(paddle.ones([2, 3])).tolist()
        [3.0, 3.0]
    """

    def __init__(self, base: Transform, reinterpreted_batch_rank: int) -> None:
        if not isinstance(base, Transform):
            raise op_error(TypeError, "IndependentTransform", "a Transform as base", type(base).__name__)
        if not isinstance(reinterpreted_batch_rank, int) or reinterpreted_batch_rank < 1:
            got = repr(reinterpreted_batch_rank)
            raise op_error(ValueError, "IndependentTransform", "a reinterpreted_batch_rank of at least 1", got)
        self._base, self._more = base, reinterpreted_batch_rank
        self._type = _kind_of([base])
        self._domain_rank = base._domain_rank + self._more
        self._codomain_rank = base._codomain_rank + self._more

    def _forward(self, x: Tensor) -> Tensor:
        return self._base.forward(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._base.inverse(y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        grown = self._base.forward_log_det_jacobian(x)
        shape = tuple(x.shape[: x.ndim - self._base._domain_rank])
        return sum_last(expand(grown, common_shape(type(self).__name__, grown.shape, shape)), self._more)

    def _forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._base.forward_shape(shape)

    def _inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._base.inverse_shape(shape)


@public("paddle.distribution")
class StackTransform(Transform):
    """Transforms of the slices along an axis, one for each.

    Args:
        transforms: list or tuple of transforms, as many as the axis has slices.
        axis: the axis of operands, negative counted from the end.

    Raises:
        TypeError: there is no transform, or something else, or the axis is no int.
        ValueError: an operand has another number of slices.

    Example:
        >>> import paddle
        >>> d = paddle.distribution
        >>> t = d.StackTransform([d.ExpTransform(), d.TanhTransform()], 1)
        >>> t.forward(paddle.zeros([3, 2])).tolist()[0]
        [1.0, 0.0]
    """

    def __init__(self, transforms: Sequence[Transform], axis: int = 0) -> None:
        self._transforms = _transforms(transforms, "StackTransform")
        if not isinstance(axis, int):
            raise op_error(TypeError, "StackTransform", "an int as axis", type(axis).__name__)
        self._axis = axis
        self._type = _kind_of(self._transforms)
        self._domain_rank = max(t._domain_rank for t in self._transforms)
        self._codomain_rank = max(t._codomain_rank for t in self._transforms)

    @property
    def transforms(self) -> list[Transform]:
        """Transforms of the slices, a list."""
        return self._transforms

    @property
    def axis(self) -> int:
        """Axis of the slices, an int."""
        return self._axis

    def _each(self, x: Tensor, method: str) -> Tensor:
        axis = self._axis + x.ndim if self._axis < 0 else self._axis
        if not 0 <= axis < x.ndim or x.shape[axis] != len(self._transforms):
            required = f"{len(self._transforms)} slices along axis {self._axis}"
            raise op_error(ValueError, "StackTransform", required, x.shape)
        slices = F.unbind(x, axis, len(self._transforms))
        return F.stack([getattr(t, method)(s) for t, s in zip(self._transforms, slices)], axis)

    def _forward(self, x: Tensor) -> Tensor:
        return self._each(x, "forward")

    def _inverse(self, y: Tensor) -> Tensor:
        return self._each(y, "inverse")

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return self._each(x, "forward_log_det_jacobian")
