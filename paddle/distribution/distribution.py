"""Base of all distributions: shapes, parameters, draws, and the divergence of one from another."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from paddle._public import public
from paddle.autograd.run import grad
from paddle.framework.grad_mode import enable_grad, no_grad
from paddle.tensor import random
from paddle.tensor._args import cast, create_on, default_float, integers
from paddle.tensor.from_data import to_tensor
from umiak import ops as F
from umiak.core.array import from_numpy, host_values
from umiak.core.context import current, place_guard
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.util.errors import op_error

# --- arguments -----------------------------------------------------------------------------------------------------


def common_shape(op: str, *shapes: Iterable[int], required: str = "shapes that broadcast") -> tuple[int, ...]:
    """The shape that all broadcast to; ValueError where there is none."""
    known = [tuple(shape) for shape in shapes]
    rank = max(map(len, known), default=0)
    try:
        return tuple(reduce(dim.broadcast, sizes) for sizes in zip(*((1,) * (rank - len(s)) + s for s in known)))
    except ValueError:
        raise op_error(ValueError, op, required, " and ".join(map(str, known))) from None


def expand(x: Tensor, shape: Iterable[int]) -> Tensor:
    """``x`` broadcast to a shape."""
    shape = tuple(shape)
    same = len(x.shape) == len(shape) and all(map(dim.same, x.shape, shape))
    return x if same else F.broadcast_to(x, shape)


def tensors(op: str, *values: Any, place: Any = None) -> list[Tensor]:
    """Numbers, lists, arrays and tensors as tensors of one floating dtype: the widest given, else the default one.

    What is no tensor goes where the first tensor is, else to ``place``.
    """
    place = next((v.place for v in values if isinstance(v, Tensor)), place)
    arrays: list[Any] = [v if isinstance(v, Tensor) else _array(v, op, place) for v in values]
    floats = [t.dtype for t in arrays if isinstance(t, Tensor) and t.dtype.is_floating]
    dtype = max(floats, key=lambda d: d.itemsize) if floats else default_float()
    return [cast(t, dtype) if isinstance(t, Tensor) else create_on(place, F.full, t, dtype, ()) for t in arrays]


def _array(v: Any, op: str, place: Any) -> Any:
    """A tensor of an array or a list; numbers stay, so that they do not decide on the dtype."""
    if isinstance(v, (bool, int, float)):
        return float(v)
    if isinstance(v, (list, tuple)):
        return to_tensor(v, place=place)
    if isinstance(v, (np.ndarray, np.generic)):
        return from_numpy(np.asarray(v), place)
    raise op_error(TypeError, op, "a number, a list, an array or a Tensor", type(v).__name__)


def parameters(op: str, *values: Any) -> list[Tensor]:
    """Like :func:`tensors`, broadcast against each other."""
    operands = tensors(op, *values)
    shape = common_shape(op, *(t.shape for t in operands), required="parameters whose shapes broadcast")
    return [expand(t, shape) for t in operands]


def check_elements(op: str, given: Any, required: str, accepts: Callable[[np.ndarray], Any]) -> None:
    """Refuse a number, list or array with an element that a parameter cannot be; a tensor passes unread."""
    if isinstance(given, (int, float, np.ndarray, np.generic)) or (
        isinstance(given, (list, tuple)) and not any(isinstance(v, Tensor) for v in given)
    ):
        elements = np.asarray(given)
        if elements.dtype.kind in "biuf" and not np.all(accepts(elements)):
            raise op_error(ValueError, op, required, given)


def check_df(op: str, df: Any) -> None:
    """Refuse degrees of freedom that are not positive. A tensor is read, but in captured functions."""
    if isinstance(df, Tensor) and not current().trace:
        df = host_values(df.detach())
    check_elements(op, df, "a positive df", lambda n: n > 0)


def check_probability(op: str, given: Any) -> None:
    """Refuse numbers, lists and arrays with elements outside 0 to 1; NaN, too."""
    check_elements(op, given, "probs from 0 to 1", lambda p: (p >= 0) & (p <= 1))


def draw(name: str, like: Tensor, shape: tuple[int, ...], seed: int = 0) -> Tensor:
    """Numbers of a standard distribution, in the dtype and on the place of a parameter."""
    with place_guard(like.place):
        return random._draw(name, like.dtype, shape, seed=seed)


def draw_with(name: str, *operands: Tensor) -> Tensor:
    """One number for each element of the parameters."""
    with place_guard(operands[0].place):
        return random._elementwise(name, *operands)


def sum_last(x: Tensor, count: int) -> Tensor:
    """The sum over the last ``count`` axes."""
    return F.sum(x, tuple(range(x.ndim - count, x.ndim))) if count else x


def xlogy(x: Tensor, y: Tensor) -> Tensor:
    """``x * log(y)``, 0 where x is 0."""
    zero = F.eq(x, 0)
    return F.where(zero, F.mul(x, 0.0), F.mul(x, F.log(F.where(zero, 1.0, y))))


# --- distributions -------------------------------------------------------------------------------------------------


@public("paddle.distribution")
class Distribution:
    """Base class of probability distributions, of which one object holds several side by side.

    ``batch_shape`` is the shape of these independent distributions, and ``event_shape`` that of one outcome. Draws have
    the shape ``sample_shape + batch_shape + event_shape``, and their probabilities the shape without that of the event.
    Whether parameters are in their range is not checked.

    Args:
        batch_shape: sequence of ints.
        event_shape: sequence of ints, empty if an outcome is one number.

    Raises:
        NotImplementedError: a method that the family does not define is called.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.Normal(paddle.zeros([3]), paddle.ones([3]))
        >>> d.batch_shape, d.event_shape, d.sample([5]).shape
        ((3,), (), paddle.Size([5, 3]))
    """

    _is_its_attributes = True  # to captured functions: one with equal attributes is as good

    def __init__(self, batch_shape: Iterable[int] = (), event_shape: Iterable[int] = ()) -> None:
        self._batch_shape = tuple(batch_shape)
        self._event_shape = tuple(event_shape)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the distributions, a tuple of ints."""
        return self._batch_shape

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one outcome, a tuple of ints."""
        return self._event_shape

    @property
    def mean(self) -> Tensor:
        """Expected outcome, a tensor of shape ``batch_shape + event_shape``."""
        raise self._lacks("mean")

    @property
    def variance(self) -> Tensor:
        """Expected squared distance from the mean, a tensor of shape ``batch_shape + event_shape``."""
        raise self._lacks("variance")

    @property
    def stddev(self) -> Tensor:
        """Standard deviation, the square root of the variance."""
        return F.sqrt(self.variance)

    def sample(self, shape: Sequence[int] = []) -> Tensor:
        """Draw outcomes.

        Gradients reach the parameters of :class:`Normal`, :class:`Uniform`, :class:`StudentT` and of what is made of
        them; those of other families only through :meth:`rsample`.

        Args:
            shape: sequence of ints, the shape of the draws; empty for one draw.

        Returns:
            Tensor of shape ``shape + batch_shape + event_shape`` and, but for numbers of choices, of the parameters'
            dtype.

        Raises:
            TypeError: the shape is one integer, or no sequence of integers.
            NotImplementedError: the family has no draws.

        Example:
            >>> import paddle
            >>> paddle.distribution.Uniform(paddle.zeros([2]), paddle.ones([2])).sample([3]).shape
            paddle.Size([3, 2])
        """
        with no_grad():
            return self.rsample(shape)

    def rsample(self, shape: Sequence[int] = []) -> Tensor:
        """Draw outcomes as a function of the parameters, which gradients reach through them.

        Args:
            shape: sequence of ints, the shape of the draws; empty for one draw.

        Returns:
            Tensor of shape ``shape + batch_shape + event_shape`` and of the parameters' dtype.

        Raises:
            TypeError: the shape is one integer, or no sequence of integers.
            NotImplementedError: the family has no such function.

        Example:
            >>> import paddle
            >>> loc = paddle.to_tensor(1.0, stop_gradient=False)
            >>> paddle.distribution.Normal(loc, 2.0).rsample([3]).sum().backward()
            >>> float(loc.grad)
            3.0
        """
        raise self._lacks("rsample")

    def entropy(self) -> Tensor:
        """Entropy, the expected ``-log_prob``, in nats.

        Returns:
            Tensor of shape ``batch_shape``.

        Raises:
            NotImplementedError: the family has no formula for it.

        Example:
            >>> import paddle
            >>> round(float(paddle.distribution.Uniform(0.0, 2.0).entropy()), 4)
            0.6931
        """
        raise self._lacks("entropy")

    def log_prob(self, value: Tensor) -> Tensor:
        """Natural logarithm of the probability of outcomes, or of their density.

        Args:
            value: tensor, number, list or array of outcomes, cast to the parameters' dtype; its shape broadcasts with
                ``batch_shape + event_shape``.

        Returns:
            Tensor of the broadcast shape without that of the event, -inf where an outcome is impossible.

        Raises:
            TypeError: the value is none of these.
            ValueError: the shapes do not broadcast.
            NotImplementedError: the family has no formula for it.

        Example:
            >>> import paddle
            >>> round(float(paddle.distribution.Normal(0.0, 1.0).log_prob(paddle.to_tensor(0.0))), 4)
            -0.9189
        """
        raise self._lacks("log_prob")

    def prob(self, value: Tensor) -> Tensor:
        """Probability of outcomes, or their density.

        Args:
            value: outcomes, as for :meth:`log_prob`.

        Returns:
            Tensor of the shape that ``log_prob`` gives.

        Raises:
            TypeError, ValueError, NotImplementedError: as for ``log_prob``.

        Example:
            >>> import paddle
            >>> round(float(paddle.distribution.Normal(0.0, 1.0).prob(paddle.to_tensor(0.0))), 4)
            0.3989
        """
        return F.exp(self.log_prob(value))

    def probs(self, value: Tensor) -> Tensor:
        """Probability of outcomes, or their density: another name of :meth:`prob`.

        Args:
            value: outcomes, as for :meth:`log_prob`.

        Returns:
            Tensor of the shape that ``log_prob`` gives.
        """
        return self.prob(value)

    def kl_divergence(self, other: Distribution) -> Tensor:
        """Divergence of this distribution from another, as by ``paddle.distribution.kl_divergence``.

        Args:
            other: a distribution.

        Returns:
            Tensor of the shape that both batch shapes broadcast to.

        Raises:
            NotImplementedError: none is registered for the two classes.
        """
        return kl_divergence(self, other)

    def _lacks(self, method: str) -> NotImplementedError:
        return NotImplementedError(f"[{type(self).__name__}] has no {method}")

    def _extend_shape(self, sample_shape: Any) -> tuple[int, ...]:
        """The shape of draws."""
        if isinstance(sample_shape, (int, np.integer)):
            got = f"{type(sample_shape).__name__} {sample_shape}"
            raise op_error(TypeError, type(self).__name__, "a sequence of ints as shape of a sample", got)
        sizes = integers(sample_shape, type(self).__name__, "shape")
        for n in sizes:
            if type(n) is int and n < 0:
                raise op_error(ValueError, type(self).__name__, "sizes of 0 or more as shape of a sample", list(sizes))
        return (*sizes, *self._batch_shape, *self._event_shape)

    def _value(self, value: Any, like: Tensor) -> Tensor:
        """An outcome in the dtype of the parameters."""
        if isinstance(value, Tensor):
            return cast(value, like.dtype)
        (found,) = tensors(type(self).__name__, value, place=like.place)
        return cast(found, like.dtype)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_shape={self._batch_shape}, event_shape={self._event_shape})"


@public("paddle.distribution")
class ExponentialFamily(Distribution):
    """Base class of distributions with the density ``exp(t(x) · θ - F(θ) + k(x))``.

    Entropy and divergence follow from F and its gradient. A subclass defines ``_natural_parameters`` (θ, a tuple of
    tensors), ``_log_normalizer(*θ)`` (F) and ``_mean_carrier_measure`` (the expected k(x), a tensor or a number).

    Args:
        batch_shape: sequence of ints, the shape of the distributions.
        event_shape: sequence of ints, the shape of one outcome.

    Raises:
        NotImplementedError: entropy or divergence is asked for, and the subclass lacks one of these.

    Example:
        >>> import paddle
        >>> class Waiting(paddle.distribution.ExponentialFamily):
        ...     def __init__(self, rate):
        ...         self.rate = rate
        ...         super().__init__(rate.shape)
        ...     @property
        ...     def _natural_parameters(self):
        ...         return (-self.rate,)
        ...     def _log_normalizer(self, theta):
        ...         return -paddle.log(-theta)
        ...     @property
        ...     def _mean_carrier_measure(self):
        ...         return 0.0
        >>> float(Waiting(paddle.to_tensor(1.0)).entropy())
        1.0
    """

    @property
    def _natural_parameters(self) -> tuple[Tensor, ...]:
        raise self._lacks("natural parameters")

    def _log_normalizer(self, *parameters: Tensor) -> Tensor:
        raise self._lacks("log normalizer")

    @property
    def _mean_carrier_measure(self) -> Any:
        raise self._lacks("mean carrier measure")

    def _normalizer(self) -> tuple[list[Tensor], Tensor, list[Tensor]]:
        """θ, F(θ) and its slope."""
        theta = []
        for t in self._natural_parameters:
            t = F.copy(t)
            t.stop_gradient = False
            theta.append(t)
        with enable_grad():
            height = self._log_normalizer(*theta)
            slopes = grad(F.sum(height, tuple(range(height.ndim))), theta, create_graph=True)
        return theta, height, slopes  # type: ignore[return-value]

    def entropy(self) -> Tensor:
        theta, height, slopes = self._normalizer()
        out = F.sub(height, self._mean_carrier_measure)
        for t, slope in zip(theta, slopes):
            out = F.sub(out, sum_last(F.mul(t, slope), len(self._event_shape)))
        return out


# --- divergence ----------------------------------------------------------------------------------------------------

_DIVERGENCES: dict[tuple[type, type], Callable] = {}


@public("paddle.distribution")
def register_kl(cls_p: type[Distribution], cls_q: type[Distribution]) -> Callable[[Callable], Callable]:
    """Register the function that gives the divergence of one class of distributions from another.

    Args:
        cls_p: class of the first distribution; its subclasses are meant, too.
        cls_q: class of the second one, likewise.

    Returns:
        Decorator of a function that takes the two distributions and returns a tensor.

    Raises:
        TypeError: an argument is no subclass of Distribution.

    Example:
        >>> import paddle
        >>> class Mine(paddle.distribution.Normal):
        ...     pass
        >>> @paddle.distribution.register_kl(Mine, Mine)
        ... def kl(p, q):
        ...     return paddle.zeros([])
        >>> float(paddle.distribution.kl_divergence(Mine(0.0, 1.0), Mine(1.0, 1.0)))
        0.0
    """
    for cls in (cls_p, cls_q):
        if not (isinstance(cls, type) and issubclass(cls, Distribution)):
            raise op_error(TypeError, "register_kl", "subclasses of Distribution", cls)

    def mark(fn: Callable) -> Callable:
        _DIVERGENCES[cls_p, cls_q] = fn
        return fn

    return mark


@public("paddle.distribution")
def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Kullback-Leibler divergence of p from q: the expected ``p.log_prob(x) - q.log_prob(x)`` over draws x of p.

    Of the functions that are registered, that of the nearest base classes is taken.

    Args:
        p: a distribution.
        q: a distribution.

    Returns:
        Tensor of the shape that both batch shapes broadcast to (of categorical ones followed by an axis of size 1).

    Raises:
        NotImplementedError: none is registered for the two classes.
        ValueError: the two have events of different sizes, or counts of trials that differ.

    Example:
        >>> import paddle
        >>> p, q = paddle.distribution.Normal(0.0, 1.0), paddle.distribution.Normal(1.0, 1.0)
        >>> float(paddle.distribution.kl_divergence(p, q))
        0.5
    """
    best: tuple[int, Callable] | None = None
    for (cls_p, cls_q), fn in _DIVERGENCES.items():
        if isinstance(p, cls_p) and isinstance(q, cls_q):
            distance = type(p).__mro__.index(cls_p) + type(q).__mro__.index(cls_q)
            if best is None or distance < best[0]:
                best = distance, fn
    if best is None:
        text = f"of {type(p).__name__} from {type(q).__name__}"
        raise NotImplementedError(
            f"[kl_divergence] requires a registered divergence, got none {text}. See register_kl."
        )
    return best[1](p, q)


@register_kl(ExponentialFamily, ExponentialFamily)
def _families(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    if type(p) is not type(q):
        text = f"{type(p).__name__} and {type(q).__name__}"
        raise NotImplementedError(f"[kl_divergence] requires two distributions of one family, got {text}")
    theta, height, slopes = p._normalizer()
    other = q._natural_parameters
    out = F.sub(q._log_normalizer(*other), height)
    for t, o, slope in zip(theta, other, slopes):
        out = F.sub(out, sum_last(F.mul(F.sub(o, t), slope), len(q.event_shape)))
    return out


LOG_2PI = math.log(2 * math.pi)
EULER = 0.57721566490153286
