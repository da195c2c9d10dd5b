"""Random tensors. Every draw takes its place in the stream of the device's generator, in program order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from paddle._public import public, rebind
from paddle.framework.place import current_place, on_device
from paddle.tensor._args import (
    InternedOps,
    cast,
    create_on,
    data_of_run,
    default_float,
    dtype_of,
    floating,
    integer,
    need_tensor,
    number,
    number_tensor,
    op_error,
    shape_of,
)
from paddle.tensor.from_data import check_integers
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import capture_of, current
from umiak.core.dtype import DType
from umiak.core.eager import apply
from umiak.core.generator import Generator, default_generator
from umiak.core.tensor import Tensor
from umiak.ir.expr import to_float
from umiak.ops.base import REGISTRY
from umiak.util.dtypes import ROWS
from umiak.util.size import plain_ints


def draw(op: Any, size: int, run: Callable[[int, int], Tensor], generator: Generator | None = None) -> Tensor:
    """Return ``run(seed, offset)`` and move the generator on by what ``op`` draws for ``size`` elements.

    A call that fails draws nothing.
    """
    g = generator if generator is not None else default_generator(current_place())
    seed, offset = g.reserve(size * op.draws)
    try:
        return run(seed, offset)
    except BaseException:
        g.give_back(offset, size * op.draws)
        raise


def _sizes(shape: Any, op: str) -> tuple[int, ...]:
    plain = plain_ints(shape, 0)
    if plain is not None:
        return plain
    sizes = shape_of(shape, op)
    for n in sizes:
        if type(n) is int and n < 0:
            raise op_error(ValueError, op, "sizes of 0 or more", list(sizes))
    return sizes


_PERMUTATIONS = InternedOps(F.RandPerm)

# The op of a name and a dtype, how many words of the stream an element takes, and the defaults of its parameters.
_DRAWS: dict[tuple[str, DType], tuple[Any, int, tuple]] = {}


def _draw(name: str, d: DType, shape: tuple[int, ...], *params: Any, seed: int = 0) -> Tensor:
    """Tensor drawn by the random op ``name``; without ``params``, from the standard distribution.

    A ``seed`` other than 0 starts a stream of its own.
    """
    found = _DRAWS.get((name, d))
    if found is None:
        op = REGISTRY[name](dtype=d)
        _, _, _, *own = op.param_fields.values()  # after the shape and the place in the stream
        found = _DRAWS[name, d] = op, op.draws, tuple(field.default for field in own)
    op, words, defaults = found
    params += defaults[len(params) :]
    if seed:
        return apply(op, (), (shape, *Generator(seed).reserve(0), *params))
    return _apply_draw(op, words * math.prod(shape), shape, params)


def _apply_draw(op: Any, words: int, size: Any, params: tuple = ()) -> Tensor:
    """``draw`` of an op without operands, on the current place, by the count of words that it takes of the stream."""
    g = default_generator(current().state.place)
    key, offset = g.reserve(words)
    try:
        return apply(op, (), (size, key, offset, *params))
    except BaseException:
        g.give_back(offset, words)
        raise


def _made(x: Tensor, requires_grad: bool) -> Tensor:
    if requires_grad:
        x.stop_gradient = False
    return x


def _float_dtype(dtype: Any, op: str) -> DType:
    if dtype is None:
        return default_float()
    d = dtype_of(dtype)
    if not d.is_floating:
        raise op_error(TypeError, op, "a floating dtype", d.name)
    return d


def _normal(shape: Any, dtype: Any, op: str, mean: float = 0.0, std: float = 1.0, device: Any = None) -> Tensor:
    if device is not None:
        with on_device(device):
            return _normal(shape, dtype, op, mean, std)
    if dtype is not None and dtype_of(dtype).is_complex:
        d = dtype_of(dtype)
        sizes, part = _sizes(shape, op), d.real
        scale = math.sqrt(0.5)
        return F.complex(*(_draw("normal_random", part, sizes, mean, std * scale) for _ in range(2)))
    middle, spread = mean if type(mean) is float else to_float(mean), std if type(std) is float else to_float(std)
    return _draw("normal_random", _float_dtype(dtype, op), _sizes(shape, op), middle, spread)


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
    """Random numbers, uniformly distributed from ``min`` up to, not including, ``max``.

    Args:
        shape: sizes, as a list, a tuple or an integer tensor.
        dtype: a floating dtype; by default the default floating dtype.
        min: the lower end, a number or a tensor of one element.
        max: the upper end, likewise.
        seed: a number other than 0 starts a sequence of its own for this call; 0 continues that of the generator.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).

    Returns:
        Tensor of the given shape and dtype.

    Raises:
        TypeError: a size is not an integer, or the dtype is not floating.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> x = paddle.uniform([100], min=2, max=3)
        >>> bool((x >= 2).all()), bool((x < 3).all())
        (True, True)
    """
    if (isinstance(min, Tensor) or isinstance(max, Tensor)) and capture_of() is not None:
        if data_of_run(min) is not None or data_of_run(max) is not None:
            d = _float_dtype(dtype, "uniform")
            low, high = (cast(number_tensor(v), d) for v in (min, max))
            return F.add(F.mul(_uniform(shape, d, seed=seed, device=device), F.sub(high, low)), low)
    low, high = to_float(number(min)), to_float(number(max))
    return _made(_uniform(shape, dtype, low, high, seed, device), requires_grad)


def _uniform(shape: Any, dtype: Any, low: float = 0.0, high: float = 1.0, seed: int = 0, device: Any = None) -> Tensor:
    if device is not None:
        with on_device(device):
            return _uniform(shape, dtype, low, high, seed)
    d = _float_dtype(dtype, "uniform")
    return _draw("uniform_random", d, _sizes(shape, "uniform"), low, high, seed=seed)


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
    """Random numbers, uniformly distributed from 0 up to, not including, 1.

    Args:
        shape: sizes, as a list, a tuple, separate ints or an integer tensor.
        dtype: a floating dtype; by default the default floating dtype.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of the given shape and dtype.

    Raises:
        TypeError: a size is not an integer, or the dtype is not floating.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> x = paddle.rand(2, 3)
        >>> x.shape, bool((x < 1).all())
        (paddle.Size([2, 3]), True)
    """
    return _made(_uniform(shape, dtype, device=device), requires_grad)


@public("paddle paddle.tensor", aliases={"x": "input"})
def rand_like(
    input: Tensor, name: str | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Random numbers in the shape of ``input``, uniformly distributed from 0 up to, not including, 1.

    Args:
        input: tensor of any shape, whose elements are not read.
        dtype: a floating dtype; by default that of input.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).

    Returns:
        Tensor of input's shape.

    Raises:
        TypeError: input is not a tensor, or the dtype is not floating.

    Example:
        >>> import paddle
        >>> paddle.rand_like(paddle.ones([2, 3])).shape
        paddle.Size([2, 3])
    """
    need_tensor(input, "rand_like", "input")
    return _made(_uniform(input.shape, input.dtype if dtype is None else dtype, device=device), requires_grad)


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
    """Random numbers of the standard normal distribution.

    Args:
        shape: sizes, as a list, a tuple, separate ints or an integer tensor.
        dtype: a floating or complex dtype; by default the default floating dtype. Of complex numbers the parts have
            half the variance each.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of the given shape and dtype.

    Raises:
        TypeError: a size is not an integer, or the dtype is neither floating nor complex.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.randn(2, 3).shape
        paddle.Size([2, 3])
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
    """Random numbers of the standard normal distribution, as :func:`randn` draws them.

    Args:
        shape: sizes, as a list, a tuple or an integer tensor.
        dtype: a floating or complex dtype; by default the default floating dtype. Of complex numbers the parts have
            half the variance each.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).

    Returns:
        Tensor of the given shape and dtype.

    Raises:
        TypeError: a size is not an integer, or the dtype is neither floating nor complex.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.standard_normal([2, 3]).shape
        paddle.Size([2, 3])
    """
    return _made(_normal(shape, dtype, "standard_normal", device=device), requires_grad)


@public("paddle paddle.tensor")
def randn_like(
    x: Tensor, dtype: Any = None, name: str | None = None, *, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Random numbers of the standard normal distribution in the shape of ``x``.

    Args:
        x: tensor of any shape, whose elements are not read.
        dtype: a floating or complex dtype; by default that of x.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).

    Returns:
        Tensor of x's shape.

    Raises:
        TypeError: x is not a tensor, or the dtype is neither floating nor complex.

    Example:
        >>> import paddle
        >>> paddle.randn_like(paddle.ones([2, 3])).shape
        paddle.Size([2, 3])
    """
    need_tensor(x, "randn_like")
    return _made(_normal(x.shape, x.dtype if dtype is None else dtype, "randn_like", device=device), requires_grad)


@public("paddle paddle.tensor", aliases={"size": "shape"})
def normal(mean: Any = 0.0, std: Any = 1.0, shape: Any = None, name: str | None = None, *, out: Any = None) -> Tensor:
    """Random numbers of a normal distribution.

    Args:
        mean: the mean: a number, or a tensor with one for each element.
        std: the standard deviation, in the same form; tensors broadcast.
        shape: sizes, if both are numbers; by default a 0-d tensor is made.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of the given shape, or of that to which tensors broadcast. Its dtype is that of the tensor, of integers
        float32; of numbers the default floating dtype, or complex if the mean is.

    Raises:
        TypeError: a size is not an integer.
        ValueError: ``std`` or a size is negative, or shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.normal(1.0, 2.0, [3]).shape
        paddle.Size([3])
        >>> paddle.normal(paddle.zeros([2, 1]), paddle.ones([3])).shape
        paddle.Size([2, 3])
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
    z = _normal(sizes, like.dtype, op, device=like.place)
    std, mean = (cast(v, like.dtype) if isinstance(v, Tensor) else v for v in (std, mean))
    return F.add(F.mul(z, std), mean)


@public("paddle paddle.tensor")
def log_normal(mean: Any = 1.0, std: Any = 2.0, shape: Any = None, name: str | None = None) -> Tensor:
    """Random numbers whose logarithm is normally distributed.

    Args:
        mean: the mean of the logarithm: a number, or a tensor with one for each element.
        std: the standard deviation of the logarithm, in the same form; tensors broadcast.
        shape: sizes, if both are numbers; by default a 0-d tensor is made.

    Returns:
        Tensor of the given shape, or of that to which tensors broadcast. Its dtype is that of the tensor, of integers
        float32; of numbers the default floating dtype.

    Raises:
        TypeError: a size is not an integer.
        ValueError: ``std`` or a size is negative, or shapes do not broadcast.

    Example:
        >>> import paddle
        >>> bool((paddle.log_normal(0.0, 1.0, [100]) > 0).all())
        True
    """
    return F.exp(_normal_of(mean, std, shape, "log_normal"))


# --- integers ------------------------------------------------------------------------------------------------------


_FAR = 1 << 62  # numbers nearer to 0 are in int64


def _integers(low: Any, high: Any, shape: Any, dtype: Any, op: str) -> Tensor:
    a, b = integer(low, op, "low"), None if high is None else integer(high, op, "high")
    if b is None:
        a, b = 0, a
    if a >= b:
        raise op_error(ValueError, op, "a low below high", f"{a} and {b}")
    d = dtype_of(dtype, dt.int64)
    work = d if d.is_integer else dt.int64
    if work is not dt.int64 or not -_FAR < a < b < _FAR:
        check_integers(np.array([a, b - 1], object), work, op)
    x = _draw("rand_int", work, _sizes(shape, op), a, b)
    return x if d is work else cast(x, d)


@public("paddle paddle.tensor", aliases={"size": "shape"})
def randint(
    low: Any = 0, high: Any = None, shape: Sequence[Any] = [1], dtype: Any = None, name: str | None = None
) -> Tensor:
    """Random integers from ``low`` up to, not including, ``high``.

    Args:
        low: the lower end. Alone it is the upper one, and 0 the lower.
        high: the upper end, which is not reached.
        shape: sizes, as a list, a tuple or an integer tensor.
        dtype: an integer or floating dtype; by default int64.

    Returns:
        Tensor of the given shape and dtype.

    Raises:
        TypeError: an end or a size is not an integer.
        ValueError: ``low`` is not below ``high``, or a size is negative.
        OverflowError: an integer dtype cannot hold an end.

    Example:
        >>> import paddle
        >>> x = paddle.randint(2, 5, [100])
        >>> int(x.min()), int(x.max())
        (2, 4)
    """
    return _integers(low, high, shape, dtype, "randint")


@public("paddle paddle.tensor")
def randint_like(x: Tensor, low: Any = 0, high: Any = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """Random integers in the shape of ``x``, from ``low`` up to, not including, ``high``.

    Args:
        x: tensor of any shape, whose elements are not read.
        low: the lower end. Alone it is the upper one, and 0 the lower.
        high: the upper end, which is not reached.
        dtype: the dtype of the result; by default that of x.

    Returns:
        Tensor of x's shape.

    Raises:
        TypeError: x is not a tensor, or an end is not an integer.
        ValueError: ``low`` is not below ``high``.
        OverflowError: an integer dtype cannot hold an end.

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
    """Integers from 0 to ``n - 1`` in random order.

    Args:
        n: how many.
        dtype: the dtype of the result.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        1-d tensor of ``n`` elements.

    Raises:
        TypeError: ``n`` is not an integer.
        ValueError: ``n`` is negative.

    Example:
        >>> import paddle
        >>> paddle.randperm(4).sort().tolist()
        [0, 1, 2, 3]
    """
    size, d = integer(n, "randperm", "n"), dtype_of(dtype, dt.int64)
    if size < 0:
        raise op_error(ValueError, "randperm", "an n of 0 or more", size)
    if device is None:
        return _made(_permutation(d, size), requires_grad)
    with on_device(device):
        return _made(_permutation(d, size), requires_grad)


def _permutation(d: DType, size: int) -> Tensor:
    op = _PERMUTATIONS[d]
    return _apply_draw(op, size * op.draws, size)


# --- draws from given probabilities --------------------------------------------------------------------------------


def _elementwise(name: str, *operands: Tensor, size: int | None = None) -> Tensor:
    op, function = REGISTRY[name](), getattr(F, name)
    return draw(op, operands[0].size if size is None else size, lambda seed, offset: function(*operands, seed, offset))


@public("paddle paddle.tensor")
def bernoulli(x: Tensor, p: float | None = None, name: str | None = None) -> Tensor:
    """Random zeros and ones.

    Args:
        x: floating tensor of any shape: the probability of a 1 for each element.
        p: one probability for all, instead of the elements of x.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not a floating tensor.

    Example:
        >>> import paddle
        >>> paddle.bernoulli(paddle.to_tensor([0.0, 1.0])).tolist()
        [0.0, 1.0]
    """
    need_tensor(x, "bernoulli")
    return _elementwise("bernoulli", x if p is None else create_on(x.place, F.full, float(p), x.dtype, tuple(x.shape)))


@public("paddle paddle.tensor")
def binomial(count: Tensor, prob: Tensor, name: str | None = None) -> Tensor:
    """Random numbers of successes in several trials.

    Args:
        count: tensor with the number of trials for each element, a real number without fraction.
        prob: real tensor with the probability of a success; the two broadcast.

    Returns:
        int64 tensor of the shape to which the operands broadcast.

    Raises:
        TypeError: an operand is not a tensor.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.binomial(paddle.to_tensor([10, 10]), paddle.to_tensor([0.0, 1.0])).tolist()
        [0, 10]
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
    """Random numbers of Poisson distributions.

    Args:
        x: real tensor of any shape: the mean for each element, 0 or more.

    Returns:
        Tensor of x's shape and dtype, of integers float32.

    Raises:
        TypeError: x is not a real tensor.

    Example:
        >>> import paddle
        >>> paddle.poisson(paddle.zeros([2])).tolist()
        [0.0, 0.0]
    """
    return _elementwise("poisson", floating(need_tensor(x, "poisson")))


@public("paddle paddle.tensor")
def standard_gamma(x: Tensor, name: str | None = None) -> Tensor:
    """Random numbers of gamma distributions of scale 1.

    Args:
        x: real tensor of any shape: the shape parameter for each element, above 0.

    Returns:
        Tensor of x's shape and dtype, of integers float32.

    Raises:
        TypeError: x is not a real tensor.

    Example:
        >>> import paddle
        >>> bool((paddle.standard_gamma(paddle.ones([100])) >= 0).all())
        True
    """
    return _elementwise("standard_gamma", floating(need_tensor(x, "standard_gamma")))


@public
def multinomial(
    x: Tensor, num_samples: Any = 1, replacement: bool = False, name: str | None = None, *, out: Any = None
) -> Tensor:
    """Random indices along the last dim, with probabilities in proportion to the elements.

    Args:
        x: real tensor of rank 1 or 2, without negative elements.
        num_samples: how many indices to draw from each row.
        replacement: whether an index may be drawn more than once.
        out: tensor that is written with the result and returned.

    Returns:
        int64 tensor of shape ``[num_samples]``, or ``[rows, num_samples]``.

    Raises:
        TypeError: x is not a real tensor, or ``num_samples`` not an integer.
        ValueError: x has another rank, ``num_samples`` is below 1 or, without replacement, above the count of weights
            of a row that are not 0, a weight is below 0 or not a number, or all of a row are 0. Weights are looked at
            on a CPU, in captured functions and programs when they run.

    Example:
        >>> import paddle
        >>> paddle.multinomial(paddle.to_tensor([0.0, 1.0, 0.0]), 3, replacement=True).tolist()
        [1, 1, 1]
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
    if not x.shape[-1]:
        raise op_error(ValueError, "multinomial", "at least one category", x.shape)
    if x.place.device_type == "cpu":
        least = k if not replacement else 1
        if capture_of() is not None:
            _require_weights(x, least)
        elif type(x) is Tensor:
            _check_weights(x, least)
    return sampled(floating(x), k, bool(replacement))


def _check_weights(x: Tensor, least: int) -> None:
    """On the host, where reading them costs little: at least ``least`` weights of each row are above 0."""
    data = x.numpy()
    if not data.size:
        return
    lowest = data.min()
    if not lowest >= 0:  # not a number, too
        raise op_error(ValueError, "multinomial", "weights of 0 or more", f"{lowest}")
    if lowest > 0 or (least == 1 and data.max(-1).min() > 0):
        return
    found = int(np.min(np.count_nonzero(data, axis=-1)))
    if found < least:
        raise op_error(ValueError, "multinomial", _weights_required(least), found)


def _weights_required(least: int) -> str:
    return f"{least} or more weights above 0 in each row" if least > 1 else "a weight above 0 in each row"


def _require_weights(x: Tensor, least: int) -> None:
    """The same where the weights are known when what is recorded runs."""
    counts = F.sum(F.cast(F.gt(x, 0), dtype=dt.int64), axes=(x.ndim - 1,), keepdim=False)
    for holds, required in ((F.ge(x, 0), "weights of 0 or more"), (F.ge(counts, least), _weights_required(least))):
        flag = F.all(holds, axes=tuple(range(holds.ndim)), keepdim=False)
        F.require(flag, kind="ValueError", args=(f"[multinomial] requires {required}, got others",))


def sampled(x: Tensor, k: int, replacement: bool, seed: int | None = None) -> Tensor:
    """Indices along the last dim; a ``seed`` starts a stream of its own."""
    op = REGISTRY["multinomial"](replacement=replacement)
    size = (x._count // x.shape[-1]) * k if replacement else x._count
    generator = None if seed is None else Generator(seed)
    return draw(op, size, lambda key, offset: F.multinomial(x, replacement, k, key, offset), generator)


# --- in place ------------------------------------------------------------------------------------------------------


def _fill(x: Tensor, op: str, make: Any) -> Tensor:
    need_tensor(x, op)
    return rebind(x, cast(make(tuple(x.shape), x.dtype if x.dtype.is_floating else dt.float32), x.dtype))


@public("paddle.tensor Tensor", usual=False, aliases={"from": "min", "to": "max"})
def uniform_(x: Tensor, min: Any = 0, max: Any = 1.0, seed: int = 0, name: str | None = None) -> Tensor:
    """Fill ``x`` with random numbers, uniformly distributed from ``min`` up to, not including, ``max``.

    Args:
        x: tensor of any shape, which is written; integers get draws rounded towards 0.
        min: the lower end.
        max: the upper end.
        seed: a number other than 0 starts a sequence of its own for this call; 0 continues that of the generator.

    Returns:
        The tensor ``x``.

    Raises:
        TypeError: x is not a tensor.
        RuntimeError: x is a leaf with ``stop_gradient=False``, outside ``no_grad``.

    Example:
        >>> import paddle
        >>> x = paddle.zeros([100]).uniform_(2, 3)
        >>> bool((x >= 2).all())
        True
    """
    return _fill(
        x, "uniform_", lambda s, d: _draw("uniform_random", d, s, float(number(min)), float(number(max)), seed=seed)
    )


@public(usual=False)
def normal_(x: Tensor, mean: Any = 0.0, std: Any = 1.0, name: str | None = None) -> Tensor:
    """Fill ``x`` with random numbers of a normal distribution.

    Args:
        x: tensor of any shape, which is written; integers get draws rounded towards 0.
        mean: the mean, a number.
        std: the standard deviation, a number.

    Returns:
        The tensor ``x``.

    Raises:
        TypeError: x is not a tensor.
        RuntimeError: x is a leaf with ``stop_gradient=False``, outside ``no_grad``.
        ValueError: ``std`` is negative.

    Example:
        >>> import paddle
        >>> x = paddle.zeros([2, 3])
        >>> x.normal_(0.0, 2.0) is x
        True
    """
    if number(std) < 0:
        raise op_error(ValueError, "normal_", "a std of 0 or more", number(std))
    if need_tensor(x, "normal_").dtype.is_complex:
        return rebind(x, F.add(_normal(x.shape, x.dtype, "normal_", 0.0, float(number(std))), number(mean)))
    return _fill(x, "normal_", lambda s, d: _draw("normal_random", d, s, float(number(mean)), float(number(std))))


@public(usual=False)
def log_normal_(x: Tensor, mean: Any = 1.0, std: Any = 2.0, name: str | None = None) -> Tensor:
    """Fill ``x`` with random numbers whose logarithm is normally distributed.

    Args:
        x: tensor of any shape, which is written; integers get draws rounded towards 0.
        mean: the mean of the logarithm, a number.
        std: the standard deviation of the logarithm, a number.

    Returns:
        The tensor ``x``.

    Raises:
        TypeError: x is not a tensor.
        RuntimeError: x is a leaf with ``stop_gradient=False``, outside ``no_grad``.

    Example:
        >>> import paddle
        >>> bool((paddle.zeros([100]).log_normal_() > 0).all())
        True
    """
    return _fill(
        x, "log_normal_", lambda s, d: F.exp(_draw("normal_random", d, s, float(number(mean)), float(number(std))))
    )


@public("paddle.tensor Tensor", aliases={"lambd": "lam"}, usual=False)
def exponential_(x: Tensor, lam: float = 1.0, name: str | None = None) -> Tensor:
    """Fill ``x`` with random numbers of an exponential distribution.

    Args:
        x: tensor of any shape, which is written; integers get draws rounded towards 0.
        lam: the rate, above 0: 1 divided by the mean.

    Returns:
        The tensor ``x``.

    Raises:
        TypeError: x is not a tensor.
        RuntimeError: x is a leaf with ``stop_gradient=False``, outside ``no_grad``.
        ValueError: the rate is not above 0.

    Example:
        >>> import paddle
        >>> bool((paddle.zeros([100]).exponential_(2.0) >= 0).all())
        True
    """
    if lam <= 0:
        raise op_error(ValueError, "exponential_", "a lam above 0", lam)
    return _fill(x, "exponential_", lambda s, d: _draw("exponential", d, s, float(lam)))


@public(usual=False)
def cauchy_(x: Tensor, loc: Any = 0, scale: Any = 1, name: str | None = None) -> Tensor:
    """Fill ``x`` with random numbers of a Cauchy distribution.

    Args:
        x: tensor of any shape, which is written; integers get draws rounded towards 0.
        loc: the middle of the distribution, its median.
        scale: half the distance between its quartiles.

    Returns:
        The tensor ``x``.

    Raises:
        TypeError: x is not a tensor.
        RuntimeError: x is a leaf with ``stop_gradient=False``, outside ``no_grad``.

    Example:
        >>> import paddle
        >>> x = paddle.zeros([2, 3])
        >>> x.cauchy_() is x
        True
    """
    return _fill(x, "cauchy_", lambda s, d: _draw("cauchy", d, s, float(number(loc)), float(number(scale))))


def _trials(probs: Tensor, shape: tuple[int, ...], d: DType) -> Tensor:
    """Numbers of trials: an exponential number in units of ``-log(1 - p)`` has their distribution, rounded up."""
    failure = F.neg(F.log1p(F.neg(F.broadcast_to(cast(probs, d), shape))))
    return F.maximum(F.ceil(F.div(_draw("exponential", d, shape, 1.0), failure)), 1)


@public(usual=False)
def geometric_(x: Tensor, probs: Any, name: str | None = None) -> Tensor:
    """Fill ``x`` with random numbers of trials until the first success.

    Args:
        x: tensor of any shape, which is written; integers get draws rounded towards 0.
        probs: the probability of a success, above 0 and at most 1; of each element, if it is a tensor that broadcasts
            with x.

    Returns:
        The tensor ``x``.

    Raises:
        TypeError: x is not a tensor.
        RuntimeError: x is a leaf with ``stop_gradient=False``, outside ``no_grad``.
        ValueError: the probability, a number, lies outside, or the shape of probs does not broadcast to x's.

    Example:
        >>> import paddle
        >>> paddle.zeros([2]).geometric_(1.0).tolist()
        [1.0, 1.0]
    """
    if isinstance(probs, Tensor) and probs._count != 1:
        return _fill(x, "geometric_", lambda s, d: _trials(probs, s, d))
    p = float(number(probs))
    if not 0 < p <= 1:
        raise op_error(ValueError, "geometric_", "a probability above 0 and at most 1", p)
    return _fill(x, "geometric_", lambda s, d: _draw("geometric", d, s, p))


@public(usual=False)
def bernoulli_(x: Tensor, p: Any = 0.5, name: str | None = None) -> Tensor:
    """Fill ``x`` with random zeros and ones.

    Args:
        x: tensor of any shape, which is written; integers get draws rounded towards 0.
        p: the probability of a 1: a number, or a tensor that broadcasts to the shape of x.

    Returns:
        The tensor ``x``.

    Raises:
        TypeError: x is not a tensor.
        RuntimeError: x is a leaf with ``stop_gradient=False``, outside ``no_grad``.
        ValueError: ``p`` does not broadcast.

    Example:
        >>> import paddle
        >>> paddle.zeros([2]).bernoulli_(1.0).tolist()
        [1.0, 1.0]
    """

    def make(s: tuple, d: DType) -> Tensor:
        chance = F.broadcast_to(cast(p, d), s) if isinstance(p, Tensor) else create_on(x.place, F.full, float(p), d, s)
        return _elementwise("bernoulli", chance)

    return _fill(x, "bernoulli_", make)


@public("paddle.tensor Tensor", usual=False)
def random_(x: Tensor, from_: int = 0, to: int | None = None, *, generator: Any = None) -> Tensor:
    """Fill ``x`` with random integers.

    Args:
        x: tensor of any shape, which is written; integers get draws rounded towards 0.
        from_: the lower end. Alone it is the upper one, and 0 the lower.
        to: the upper end, which is not reached. By default numbers are those of 0 or more that the dtype of x holds
            exactly.
        generator: without effect: numbers come from the generator of the device.

    Returns:
        The tensor ``x``.

    Raises:
        TypeError: x is not a tensor, or is complex.
        RuntimeError: x is a leaf with ``stop_gradient=False``, outside ``no_grad``.
        ValueError: ``from_`` is not below ``to``.

    Example:
        >>> import paddle
        >>> x = paddle.zeros([100]).random_(2, 5)
        >>> float(x.min()), float(x.max())
        (2.0, 4.0)
    """
    if need_tensor(x, "random_").dtype.is_complex:
        raise op_error(TypeError, "random_", "a real tensor", x.dtype.name)
    if to is None and from_ != 0:
        from_, to = 0, from_
    if to is None:
        exact = {dt.float16: 11, dt.bfloat16: 8, dt.float32: 24, dt.float64: 53}
        d = x.dtype
        to = 2 if d.is_bool else 2 ** exact[d] + 1 if d in exact else ROWS[d.name].limits[1]
    if from_ >= to:
        raise op_error(ValueError, "random_", "a from_ below to", f"{from_} and {to}")
    return rebind(x, cast(_draw("rand_int", dt.int64, tuple(x.shape), from_, to), x.dtype))
