"""Transforms of random variables: forward, back, and how they stretch volume."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any, ClassVar

from paddle._public import public
from paddle.distribution.distribution import Distribution, common_shape, expand, sum_last
from paddle.tensor._args import made_on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


class Type(enum.Enum):
    """What a transform does to its domain."""

    BIJECTION = "bijection"  # one to one, and onto all of the codomain
    INJECTION = "injection"  # one to one
    SURJECTION = "surjection"  # onto all of the codomain
    OTHER = "other"

    @classmethod
    def is_injective(cls, kind: Type) -> bool:
        """Whether an outcome has one origin."""
        return kind in (cls.BIJECTION, cls.INJECTION)


@public("paddle.distribution")
class Transform:
    """A function of random variables.

    Called with a tensor it transforms that; with a distribution it gives the distribution of the outcome; with another
    transform it gives the two one after the other, that one first.

    A subclass defines ``_forward``, ``_inverse``, one of ``_forward_log_det_jacobian`` and
    ``_inverse_log_det_jacobian``, and, where shapes change, ``_forward_shape`` and ``_inverse_shape``. ``_type`` says
    whether it can be undone; ``_domain_rank`` and ``_codomain_rank`` say how many last axes it takes and gives as one
    outcome.

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

    _type = Type.INJECTION
    _domain_rank = 0
    _codomain_rank = 0
    _of_distribution: ClassVar[Any]  # the distribution of what it makes of a variable: transformed.py

    @classmethod
    def _is_injective(cls) -> bool:
        return Type.is_injective(cls._type)

    @property
    def type(self) -> Type:
        return self._type

    def __call__(self, input: Any) -> Any:
        if isinstance(input, Distribution):
            return self._of_distribution(input, [self])
        if isinstance(input, Transform):
            return ChainTransform([input, self])
        return self.forward(input)

    def forward(self, x: Tensor) -> Tensor:
        """The outcome for ``x``."""
        return self._forward(self._operand(x, self._domain_rank))

    def inverse(self, y: Tensor) -> Any:
        """What has the outcome ``y``; of an even function the pair of both origins."""
        return self._inverse(self._operand(y, self._codomain_rank))

    def forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        """The logarithm of how much volume grows at ``x``. NotImplementedError where an outcome has several origins."""
        self._operand(x, self._domain_rank)
        if not Type.is_injective(self._type):
            text = f"[{type(self).__name__}] has no forward_log_det_jacobian: an outcome has several origins"
            raise NotImplementedError(text)
        return self._growth(x)

    def _growth(self, x: Tensor) -> Tensor:
        if type(self)._forward_log_det_jacobian is not Transform._forward_log_det_jacobian:
            return self._forward_log_det_jacobian(x)
        if type(self)._inverse_log_det_jacobian is not Transform._inverse_log_det_jacobian:
            return F.neg(self._inverse_log_det_jacobian(self.forward(x)))
        raise NotImplementedError(f"[{type(self).__name__}] has no forward_log_det_jacobian")

    def inverse_log_det_jacobian(self, y: Tensor) -> Any:
        """The logarithm of how much volume grows from ``y`` back to its origin."""
        self._operand(y, self._codomain_rank)
        if type(self)._inverse_log_det_jacobian is not Transform._inverse_log_det_jacobian:
            return self._inverse_log_det_jacobian(y)
        if type(self)._forward_log_det_jacobian is not Transform._forward_log_det_jacobian:
            return F.neg(self._forward_log_det_jacobian(self._inverse(y)))
        raise NotImplementedError(f"[{type(self).__name__}] has no inverse_log_det_jacobian")

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the outcome for an operand of a shape."""
        return tuple(self._forward_shape(self._sizes(shape)))

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the operand whose outcome has a shape."""
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
    """``|x|``. An outcome has two origins: ``inverse`` gives both.

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
        zero = made_on(y.place, F.full, 0, y.dtype, ())
        return zero, zero


@public("paddle.distribution")
class AffineTransform(Transform):
    """``loc + scale * x``.

    Args:
        loc: a tensor.
        scale: a tensor without zeros; the two broadcast.

    Example:
        >>> import paddle
        >>> t = paddle.distribution.AffineTransform(paddle.to_tensor(1.0), paddle.to_tensor(2.0))
        >>> t.forward(paddle.to_tensor([3.0])).tolist()
        [7.0]
    """

    _type = Type.BIJECTION

    def __init__(self, loc: Tensor, scale: Tensor) -> None:
        for what, value in (("loc", loc), ("scale", scale)):
            if not isinstance(value, Tensor):
                raise op_error(TypeError, "AffineTransform", f"a Tensor for {what}", type(value).__name__)
        self._loc, self._scale = loc, scale

    @property
    def loc(self) -> Tensor:
        return self._loc

    @property
    def scale(self) -> Tensor:
        return self._scale

    def _forward(self, x: Tensor) -> Tensor:
        return F.add(self._loc, F.mul(self._scale, x))

    def _inverse(self, y: Tensor) -> Tensor:
        return F.div(F.sub(y, self._loc), self._scale)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return F.log(F.abs(self._scale))

    def _forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return common_shape(shape, self._loc.shape, self._scale.shape)

    _inverse_shape = _forward_shape


@public("paddle.distribution")
class ExpTransform(Transform):
    """``exp(x)``.

    Example:
        >>> import paddle
        >>> paddle.distribution.ExpTransform().forward(paddle.zeros([1])).tolist()
        [1.0]
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
    """``x ** power`` for positive x.

    Args:
        power: a tensor without zeros.

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
        return self._power

    def _forward(self, x: Tensor) -> Tensor:
        return F.pow(x, self._power)

    def _inverse(self, y: Tensor) -> Tensor:
        return F.pow(y, F.div(1.0, self._power))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return F.log(F.abs(F.mul(self._power, F.pow(x, F.sub(self._power, 1.0)))))

    def _forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return common_shape(shape, self._power.shape)

    _inverse_shape = _forward_shape


@public("paddle.distribution")
class SigmoidTransform(Transform):
    """``1 / (1 + exp(-x))``.

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
    """``tanh(x)``.

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
    """The softmax of the last axis; ``inverse`` gives the logarithm, one of many origins.

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
    """n numbers to n + 1 positive ones whose sum is 1, each the sigmoid of a number times what those before have left.

    Example:
        >>> import paddle
        >>> paddle.distribution.StickBreakingTransform().forward(paddle.zeros([2])).shape
        [3]
    """

    _type = Type.BIJECTION
    _domain_rank = 1
    _codomain_rank = 1

    @staticmethod
    def _offset(n: int, like: Tensor) -> Tensor:
        """The logarithms of n, n - 1, … 1: with them zeros become equal shares."""
        return F.log(F.cast(made_on(like.place, F.iota, n, -1, dt.int64, n), dtype=like.dtype))

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
    """Outcomes of one shape as outcomes of another.

    Args:
        in_event_shape: the last sizes of operands.
        out_event_shape: the last sizes of results; as many elements.

    Example:
        >>> import paddle
        >>> paddle.distribution.ReshapeTransform((4,), (2, 2)).forward(paddle.ones([3, 4])).shape
        [3, 2, 2]
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
        return self._in

    @property
    def out_event_shape(self) -> tuple[int, ...]:
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
        return made_on(x.place, F.full, 0, x.dtype, tuple(x.shape[: x.ndim - len(self._in)]))

    def _forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._swap(shape, self._in, self._out)

    def _inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._swap(shape, self._out, self._in)


# --- of others -----------------------------------------------------------------------------------------------------


def _transforms(given: Any, op: str) -> list[Transform]:
    found = list(given) if isinstance(given, (list, tuple)) else []
    if not found or not all(isinstance(t, Transform) for t in found):
        raise op_error(TypeError, op, "a sequence of Transforms", type(given).__name__)
    return found


def _kind_of(transforms: Sequence[Transform]) -> Type:
    return Type.INJECTION if all(Type.is_injective(t._type) for t in transforms) else Type.OTHER


@public("paddle.distribution")
class ChainTransform(Transform):
    """Transforms one after the other, the first of the list first.

    Example:
        >>> import paddle
        >>> double = paddle.distribution.AffineTransform(paddle.to_tensor(0.0), paddle.to_tensor(2.0))
        >>> t = paddle.distribution.ChainTransform([double, paddle.distribution.ExpTransform()])
        >>> t.forward(paddle.zeros([1])).tolist()
        [1.0]
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
                grown = sum_last(expand(grown, common_shape(grown.shape, shape)), extra)
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
    """A transform that takes more of the last axes as one outcome.

    Args:
        base: a transform.
        reinterpreted_batch_rank: how many axes more, at least 1.

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
        return sum_last(expand(grown, common_shape(grown.shape, shape)), self._more)

    def _forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._base.forward_shape(shape)

    def _inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._base.inverse_shape(shape)


@public("paddle.distribution")
class StackTransform(Transform):
    """Each of several transforms for its slice along an axis.

    Args:
        transforms: as many as the axis has slices.
        axis: the axis.

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
        return self._transforms

    @property
    def axis(self) -> int:
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
