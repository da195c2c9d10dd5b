"""Random tensors. Every draw takes its place in the stream of the device's generator, in program order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from paddle._public import become, public
from paddle.framework.place import current_place
from paddle.tensor._args import (
    cast,
    default_float,
    dtype_of,
    floating,
    integer,
    made_on,
    need_tensor,
    number,
    op_error,
    shape_of,
)
from paddle.tensor.creation import _on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.dtype import DType
from umiak.core.generator import Generator, default_generator
from umiak.core.tensor import Tensor
from umiak.ops.base import REGISTRY
from umiak.util.dtypes import ROWS


def draw(record: Any, size: int, run: Callable[[int, int], Tensor], generator: Generator | None = None) -> Tensor:
    """``run(seed, offset)`` with the words that an op on ``size`` elements draws; a call that fails draws none."""
    g = generator if generator is not None else default_generator(current_place())
    seed, offset = g.reserve(size * record.draws)
    try:
        return run(seed, offset)
    except BaseException:
        g.give_back(offset, size * record.draws)
        raise


def _draw(name: str, d: DType, shape: tuple[int, ...], *params: Any, seed: int = 0) -> Tensor:
    """One random op of a stream; a ``seed`` other than 0 starts a stream of its own."""
    record, op = REGISTRY[name](dtype=d), getattr(F, name)
    if seed:
        return op(d, shape, *Generator(seed).reserve(0), *params)
    return draw(record, math.prod(shape), lambda key, offset: op(d, shape, key, offset, *params))


def _made(x: Tensor, requires_grad: bool) -> Tensor:
    if requires_grad:
        x.stop_gradient = False
    return x


def _float_dtype(dtype: Any, op: str) -> DType:
    d = dtype_of(dtype)
    if not d.is_floating:
        raise op_error(TypeError, op, "a floating dtype", d.name)
    return d


def _normal(shape: Any, dtype: Any, op: str, mean: float = 0.0, std: float = 1.0, device: Any = None) -> Tensor:
    with _on(device):
        if dtype is not None and dtype_of(dtype).is_complex:
            d = dtype_of(dtype)
            sizes, part = shape_of(shape, op), d.real
            scale = math.sqrt(0.5)
            return F.complex(*(_draw("normal_random", part, sizes, mean, std * scale) for _ in range(2)))
        return _draw("normal_random", _float_dtype(dtype, op), shape_of(shape, op), float(mean), float(std))


# --- uniform -------------------------------------------------------------------------------------------------------


@public("paddle paddle.tensor", aliases={"size": "shape"})
def uniform(
    shape: Any,
    dtype: Any = None,
    min: Any = 0,
    max: Any = 1.0,
    seed: int = 0,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform numbers in [min, max).

    Args:
        shape: sizes.
        dtype: a floating dtype, by default the default one.
        min: the lower end.
        max: the upper end.
        seed: not 0: a stream that begins with this seed, for this call only.

    Example:
        >>> import paddle
        >>> bool((paddle.uniform([4], min=2, max=3) >= 2).all())
        True
    """
    with _on(device):
        d = _float_dtype(dtype, "uniform")
        x = _draw("uniform_random", d, shape_of(shape, "uniform"), float(number(min)), float(number(max)), seed=seed)
    return _made(x, requires_grad)


@public("paddle paddle.tensor", aliases={"size": "shape"}, ints_from=0)
def rand(
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Uniform numbers in [0, 1).

    Example:
        >>> import paddle
        >>> paddle.rand([2, 3]).shape
        [2, 3]
    """
    return uniform(shape, dtype, device=device, requires_grad=requires_grad)


@public("paddle paddle.tensor", aliases={"x": "input"})
def rand_like(
    input: Tensor, name: str | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Uniform numbers in [0, 1), in the shape and dtype of ``input``.

    Example:
        >>> import paddle
        >>> paddle.rand_like(paddle.ones([2])).shape
        [2]
    """
    need_tensor(input, "rand_like", "input")
    return uniform(input.shape, input.dtype if dtype is None else dtype, device=device, requires_grad=requires_grad)


# --- normal --------------------------------------------------------------------------------------------------------


@public("paddle paddle.tensor", aliases={"size": "shape"}, ints_from=0)
def randn(
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Numbers of the standard normal distribution.

    Example:
        >>> import paddle
        >>> paddle.randn([2, 3]).shape
        [2, 3]
    """
    return _made(_normal(shape, dtype, "randn", device=device), requires_grad)


@public("paddle paddle.tensor", aliases={"size": "shape"})
def standard_normal(
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The same as :func:`randn`."""
    return _made(_normal(shape, dtype, "standard_normal", device=device), requires_grad)


@public("paddle paddle.tensor")
def randn_like(
    x: Tensor, dtype: Any = None, name: str | None = None, *, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Numbers of the standard normal distribution, in the shape and dtype of ``x``.

    Example:
        >>> import paddle
        >>> paddle.randn_like(paddle.ones([2])).shape
        [2]
    """
    need_tensor(x, "randn_like")
    return _made(_normal(x.shape, x.dtype if dtype is None else dtype, "randn_like", device=device), requires_grad)


@public("paddle paddle.tensor", aliases={"size": "shape"})
def normal(mean: Any = 0.0, std: Any = 1.0, shape: Any = None, name: str | None = None, *, out: Any = None) -> Tensor:
    """Numbers of a normal distribution.

    Args:
        mean: a number, or a tensor with a mean for each element.
        std: a number, or a tensor with a standard deviation for each element.
        shape: sizes, where both are numbers.

    Example:
        >>> import paddle
        >>> paddle.normal(0.0, 2.0, [3]).shape
        [3]
    """
    return _normal_of(mean, std, shape, "normal")


def _normal_of(mean: Any, std: Any, shape: Any, op: str) -> Tensor:
    like = mean if isinstance(mean, Tensor) else std if isinstance(std, Tensor) else None
    if like is None:
        if not isinstance(std, complex) and std < 0:
            raise op_error(ValueError, op, "a std of 0 or more", std)
        if shape is None:
            shape = []
        if isinstance(mean, complex):
            return F.add(
                _normal(shape, dt.complex64 if default_float() is not dt.float64 else dt.complex128, op, 0.0, std), mean
            )
        return _normal(shape, None, op, mean, std)
    from paddle.tensor.sequences import broadcast_shapes

    sizes = broadcast_shapes(*(v.shape for v in (mean, std) if isinstance(v, Tensor)))
    like = floating(like)
    z = _normal(sizes, like.dtype, op)
    std, mean = (cast(v, like.dtype) if isinstance(v, Tensor) else v for v in (std, mean))
    return F.add(F.mul(z, std), mean)


@public("paddle paddle.tensor")
def log_normal(mean: Any = 1.0, std: Any = 2.0, shape: Any = None, name: str | None = None) -> Tensor:
    """Numbers whose logarithm is normal with ``mean`` and ``std``; arguments as for :func:`normal`.

    Example:
        >>> import paddle
        >>> paddle.log_normal(shape=[3]).shape
        [3]
    """
    return F.exp(_normal_of(mean, std, shape, "log_normal"))


# --- integers ------------------------------------------------------------------------------------------------------


def _integers(low: Any, high: Any, shape: Any, dtype: Any, op: str) -> Tensor:
    a, b = integer(low, op, "low"), None if high is None else integer(high, op, "high")
    if b is None:
        a, b = 0, a
    if a >= b:
        raise op_error(ValueError, op, "a low below high", f"{a} and {b}")
    d = dtype_of(dtype, dt.int64)
    work = d if d.is_integer else dt.int64
    return cast(_draw("rand_int", work, shape_of(shape, op), a, b), d)


@public("paddle paddle.tensor", aliases={"size": "shape"})
def randint(low: Any = 0, high: Any = None, shape: Any = (1,), dtype: Any = None, name: str | None = None) -> Tensor:
    """Integers from ``low`` up to, not including, ``high``; one bound alone is the upper one.

    Example:
        >>> import paddle
        >>> paddle.randint(0, 5, [3]).dtype
        paddle.int64
    """
    return _integers(low, high, shape, dtype, "randint")


@public("paddle paddle.tensor")
def randint_like(x: Tensor, low: Any = 0, high: Any = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """:func:`randint` in the shape and dtype of ``x``.

    Example:
        >>> import paddle
        >>> paddle.randint_like(paddle.ones([2]), 0, 5).dtype
        paddle.float32
    """
    need_tensor(x, "randint_like")
    return _integers(low, high, x.shape, x.dtype if dtype is None else dtype, "randint_like")


@public("paddle paddle.tensor")
def randperm(
    n: Any,
    dtype: Any = "int64",
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The integers from 0 to ``n - 1`` in random order.

    Example:
        >>> import paddle
        >>> paddle.randperm(4).sort().tolist()
        [0, 1, 2, 3]
    """
    size, d = integer(n, "randperm", "n"), dtype_of(dtype, dt.int64)
    if size < 0:
        raise op_error(ValueError, "randperm", "an n of 0 or more", size)
    with _on(device):
        record = REGISTRY["rand_perm"](dtype=d)
        x = draw(record, size, lambda seed, offset: F.rand_perm(d, size, seed, offset))
    return _made(x, requires_grad)


# --- draws from given probabilities --------------------------------------------------------------------------------


def _elementwise(name: str, *operands: Tensor, size: int | None = None) -> Tensor:
    record = REGISTRY[name]()
    op = getattr(F, name)
    return draw(record, operands[0].size if size is None else size, lambda seed, offset: op(*operands, seed, offset))


@public("paddle paddle.tensor")
def bernoulli(x: Tensor, p: float | None = None, name: str | None = None) -> Tensor:
    """1 with the probability that each element of ``x`` gives (or ``p``), else 0.

    Example:
        >>> import paddle
        >>> paddle.bernoulli(paddle.to_tensor([0.0, 1.0])).tolist()
        [0.0, 1.0]
    """
    need_tensor(x, "bernoulli")
    return _elementwise("bernoulli", x if p is None else made_on(x.place, F.full, float(p), x.dtype, tuple(x.shape)))


@public("paddle paddle.tensor")
def binomial(count: Tensor, prob: Tensor, name: str | None = None) -> Tensor:
    """Number of successes among ``count`` trials of probability ``prob`` each, in int64; the two broadcast.

    Example:
        >>> import paddle
        >>> paddle.binomial(paddle.to_tensor([10.0]), paddle.to_tensor([1.0])).tolist()
        [10]
    """
    from paddle.tensor.sequences import broadcast_shapes

    shape = tuple(
        broadcast_shapes(need_tensor(count, "binomial", "count").shape, need_tensor(prob, "binomial", "prob").shape)
    )
    p = floating(prob)
    return cast(
        _elementwise("binomial", F.broadcast_to(cast(count, p.dtype), shape), F.broadcast_to(p, shape)), dt.int64
    )


@public("paddle paddle.tensor")
def poisson(x: Tensor, name: str | None = None) -> Tensor:
    """Numbers of Poisson distributions with the rates in ``x``.

    Example:
        >>> import paddle
        >>> paddle.poisson(paddle.zeros([2])).tolist()
        [0.0, 0.0]
    """
    return _elementwise("poisson", floating(need_tensor(x, "poisson")))


@public("paddle paddle.tensor")
def standard_gamma(x: Tensor, name: str | None = None) -> Tensor:
    """Numbers of gamma distributions with the shapes in ``x`` and scale 1.

    Example:
        >>> import paddle
        >>> paddle.standard_gamma(paddle.ones([2])).shape
        [2]
    """
    return _elementwise("standard_gamma", floating(need_tensor(x, "standard_gamma")))


@public
def multinomial(
    x: Tensor, num_samples: Any = 1, replacement: bool = False, name: str | None = None, *, out: Any = None
) -> Tensor:
    """Indices along the last dim, drawn with probabilities in proportion to ``x``.

    Args:
        x: 1-d or 2-d, of 0 or more.
        num_samples: how many in each row.
        replacement: whether an index may come again.

    Example:
        >>> import paddle
        >>> paddle.multinomial(paddle.to_tensor([0.0, 1.0, 0.0])).tolist()
        [1]
    """
    k = integer(num_samples, "multinomial", "num_samples")
    need_tensor(x, "multinomial")
    if x.ndim not in (1, 2):
        raise op_error(ValueError, "multinomial", "a tensor of rank 1 or 2", x.shape)
    if k < 1 or (not replacement and k > x.shape[-1]):
        raise op_error(
            ValueError,
            "multinomial",
            f"a num_samples from 1 to {x.shape[-1]}" if not replacement else "a num_samples of 1 or more",
            k,
        )
    return sampled(floating(x), k, bool(replacement))


def sampled(x: Tensor, k: int, replacement: bool, seed: int | None = None) -> Tensor:
    """Indices along the last dim; a ``seed`` starts a stream of its own."""
    record = REGISTRY["multinomial"](replacement=replacement)
    size = (x.size // x.shape[-1]) * k if replacement else x.size
    generator = None if seed is None else Generator(seed)
    return draw(record, size, lambda key, offset: F.multinomial(x, replacement, k, key, offset), generator)


# --- in place ------------------------------------------------------------------------------------------------------


def _fill(x: Tensor, op: str, make: Any) -> Tensor:
    need_tensor(x, op)
    return become(x, cast(make(tuple(x.shape), x.dtype if x.dtype.is_floating else dt.float32), x.dtype))


@public("paddle.tensor Tensor", usual=False)
def uniform_(x: Tensor, min: Any = 0, max: Any = 1.0, seed: int = 0, name: str | None = None) -> Tensor:
    """Fill ``x`` with uniform numbers in [min, max)."""
    return _fill(
        x, "uniform_", lambda s, d: _draw("uniform_random", d, s, float(number(min)), float(number(max)), seed=seed)
    )


@public(usual=False)
def normal_(x: Tensor, mean: Any = 0.0, std: Any = 1.0, name: str | None = None) -> Tensor:
    """Fill ``x`` with numbers of a normal distribution.

    Example:
        >>> import paddle
        >>> paddle.zeros([2]).normal_().shape
        [2]
    """
    if need_tensor(x, "normal_").dtype.is_complex:
        return become(x, F.add(_normal(x.shape, x.dtype, "normal_", 0.0, float(number(std))), number(mean)))
    return _fill(x, "normal_", lambda s, d: _draw("normal_random", d, s, float(number(mean)), float(number(std))))


@public(usual=False)
def log_normal_(x: Tensor, mean: Any = 1.0, std: Any = 2.0, name: str | None = None) -> Tensor:
    """Fill ``x`` with numbers whose logarithm is normal."""
    return _fill(
        x, "log_normal_", lambda s, d: F.exp(_draw("normal_random", d, s, float(number(mean)), float(number(std))))
    )


@public("paddle.tensor Tensor", aliases={"lambd": "lam"}, usual=False)
def exponential_(x: Tensor, lam: float = 1.0, name: str | None = None) -> Tensor:
    """Fill ``x`` with numbers of an exponential distribution of rate ``lam``."""
    if lam <= 0:
        raise op_error(ValueError, "exponential_", "a lam above 0", lam)
    return _fill(x, "exponential_", lambda s, d: _draw("exponential", d, s, float(lam)))


@public(usual=False)
def cauchy_(x: Tensor, loc: Any = 0, scale: Any = 1, name: str | None = None) -> Tensor:
    """Fill ``x`` with numbers of a Cauchy distribution."""
    return _fill(x, "cauchy_", lambda s, d: _draw("cauchy", d, s, float(number(loc)), float(number(scale))))


@public(usual=False)
def geometric_(x: Tensor, probs: Any, name: str | None = None) -> Tensor:
    """Fill ``x`` with how many trials of probability ``probs`` it takes to succeed."""
    p = float(number(probs))
    if not 0 < p <= 1:
        raise op_error(ValueError, "geometric_", "a probability above 0 and at most 1", p)
    return _fill(x, "geometric_", lambda s, d: _draw("geometric", d, s, p))


@public(usual=False)
def bernoulli_(x: Tensor, p: Any = 0.5, name: str | None = None) -> Tensor:
    """Fill ``x`` with ones of probability ``p``, a number or a tensor that broadcasts, and zeros."""

    def make(s: tuple, d: DType) -> Tensor:
        chance = F.broadcast_to(cast(p, d), s) if isinstance(p, Tensor) else made_on(x.place, F.full, float(p), d, s)
        return _elementwise("bernoulli", chance)

    return _fill(x, "bernoulli_", make)


@public("paddle.tensor Tensor", usual=False)
def random_(x: Tensor, from_: int = 0, to: int | None = None, *, generator: Any = None) -> Tensor:
    """Fill ``x`` with integers from ``from_`` up to, not including, ``to``, by default as far as the dtype is exact."""
    need_tensor(x, "random_")
    if to is None and from_ != 0:
        from_, to = 0, from_
    if to is None:
        exact = {dt.float16: 11, dt.bfloat16: 8, dt.float32: 24, dt.float64: 53}
        d = x.dtype
        to = 2 if d.is_bool else 2 ** exact[d] + 1 if d in exact else ROWS[d.name].limits[1]
    if from_ >= to:
        raise op_error(ValueError, "random_", "a from_ below to", f"{from_} and {to}")
    return become(x, cast(_draw("rand_int", dt.int64, tuple(x.shape), from_, to), x.dtype))
