"""In-place forms, from a table: ``add_(x, y)`` writes ``add(x, y)`` into ``x`` and returns it.

Gradients pass, as the write becomes part of the history of x; where the derivative needs the old elements, they are
kept. A leaf with ``stop_gradient=False`` is refused outside ``no_grad``. Results that broadcast beyond the shape of x
are refused. Forms that only change the shape leave the memory alone: views taken before stay views of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paddle.tensor import creation, elementwise, linalg, logic, manipulation, math, search
from paddle.tensor._args import become, made_on, named, need_tensor, op_error, write_part
from umiak import ops as F
from umiak.core import dispatch
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.dispatch import assign, call_apart
from umiak.core.tensor import Tensor

# Forms that change the shape and nothing else.
RESHAPING = ("flatten", "reshape", "squeeze", "swapaxes", "swapdims", "t", "transpose", "unsqueeze")
ELEMENTWISE = (
    "abs acos acosh add addmm asin asinh atan atanh baddbmm bitwise_and bitwise_invert bitwise_left_shift "
    "bitwise_not bitwise_or bitwise_right_shift bitwise_xor cast ceil clamp clip copysign cos cosh cumprod cumsum "
    "digamma div divide equal erf erfinv exp expm1 floor floor_divide floor_mod frac gammainc gammaincc gammaln gcd "
    "greater greater_equal greater_than hypot i0 index_add index_fill index_put lcm ldexp lerp less less_equal "
    "less_than lgamma log log10 log1p log2 logical_and logical_not logical_or logical_xor logit masked_fill "
    "masked_scatter mod mul multigammaln multiply nan_to_num neg not_equal polygamma pow put_along_axis reciprocal "
    "remainder renorm round rsqrt scale scatter scatter_add sigmoid sin sinc sinh sqrt square sub subtract tan tanh "
    "tril triu trunc"
).split()

_HOMES = (elementwise, math, manipulation, search, linalg, logic, creation)
_shown: dict[str, Callable] = {}


def _base(name: str) -> Callable:
    found = (vars(m).get(name) for m in _HOMES)
    return next(  # type: ignore[return-value]
        f for f in found if getattr(f, "__module__", "").startswith(__package__) and "_args" not in f.__module__
    )


# The reference's in-place shifts have kept ``out`` in their signatures.
KEEPS_OUT = ("bitwise_left_shift", "bitwise_right_shift")


def _without_out(fn: Any) -> Callable:
    """A function that shows the signature of ``fn`` but for ``out``."""
    keep = fn.__name__ in KEEPS_OUT
    while hasattr(fn, "__wrapped__"):
        fn = fn.__wrapped__
    if keep:
        return fn
    code = fn.__code__
    names = code.co_varnames[: code.co_argcount]
    defaults = fn.__defaults__ or ()
    required = len(names) - len(defaults)
    parts = [n if i < required else f"{n}={defaults[i - required]!r}" for i, n in enumerate(names) if n != "out"]
    only = [
        f"{n}={fn.__kwdefaults__[n]!r}"
        for n in code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
        if n != "out"
    ]
    text = ", ".join(parts + (["*", *only] if only else []))
    found = _shown.get(text)
    if found is None:
        found = _shown[text] = eval(f"lambda {text}: None")
    return found


def _make(name: str) -> Callable:
    base = _base(name)

    def fn(x: Any, *args: Any, **kwargs: Any) -> Tensor:
        value = call_apart(base, need_tensor(x, fn.__name__), args, kwargs)
        if value.shape != x.shape and not flattens:
            raise op_error(ValueError, fn.__name__, f"a result of the tensor's shape {x.shape}", value.shape)
        return become(x, value)

    def reshaping(x: Any, *args: Any, **kwargs: Any) -> Tensor:
        return dispatch.become(x, base(need_tensor(x, fn.__name__), *args, **kwargs))

    flattens = name == "cumsum"  # without an axis
    fn = reshaping if name in RESHAPING else fn
    named(fn, name + "_")
    fn.__module__ = __name__
    fn.__doc__ = f"``{name}``, written into the first tensor, which is returned."
    fn.__wrapped__ = _without_out(base)
    return fn


NAMES = tuple(n + "_" for n in (*ELEMENTWISE, *RESHAPING))
for _name in (*ELEMENTWISE, *RESHAPING):
    globals()[_name + "_"] = _make(_name)


# --- forms without a counterpart -----------------------------------------------------------------------------------


def where_(condition: Tensor, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """``where``, written into ``x``.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, -1.0])
        >>> paddle.where_(x > 0, x, paddle.zeros([2])).tolist()
        [1.0, 0.0]
    """

    def where(x: Tensor) -> Tensor:
        return search.where(condition, x, y)

    return become(need_tensor(x, "where_"), call_apart(where, x, (), {}))


def fill_(x: Tensor, value: Any) -> Tensor:
    """Set every element to a number or the value of a 0-d tensor.

    Example:
        >>> import paddle
        >>> paddle.zeros([2]).fill_(3).tolist()
        [3.0, 3.0]
    """
    need_tensor(x, "fill_")
    value = F.reshape(value, ()) if isinstance(value, Tensor) else value
    return assign(x, made_on(x.place, F.full, value, x.dtype, tuple(x.shape)))


def zero_(x: Tensor) -> Tensor:
    """Set every element to 0.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).zero_().tolist()
        [0.0, 0.0]
    """
    return fill_(x, 0)


def fill_diagonal_(x: Tensor, value: Any, offset: int = 0, wrap: bool = False, name: str | None = None) -> Tensor:
    """Set the main diagonal (of a matrix, one ``offset`` above it) to ``value``.

    ``wrap``: of a matrix with more rows than columns, begin again below. Tensors of rank 3 and more must have equal
    sizes.

    Example:
        >>> import paddle
        >>> paddle.zeros([2, 2]).fill_diagonal_(1).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    op = "fill_diagonal_"
    if need_tensor(x, op).ndim < 2:
        raise op_error(ValueError, op, "a tensor of rank 2 or more", x.shape)
    if x.ndim > 2:
        if len(set(x.shape)) > 1:
            raise op_error(ValueError, op, "equal sizes", x.shape)
        i = made_on(x.place, F.iota, 0, 1, dt.int64, x.shape[0])
        values = made_on(x.place, F.full, value, x.dtype, (x.shape[0],))
        return assign(x, F.index_put(x, values, [i] * x.ndim))
    rows, columns = x.shape

    def write(line: Callable[[Tensor], Tensor]) -> None:
        write_part(x, line, made_on(x.place, F.full, value, x.dtype, tuple(line(x).shape)))

    write(lambda x: F.diagonal(x, 0, 1, offset))
    if wrap and rows > columns:
        for start in range(columns + 1, rows, columns + 1):
            size = min(columns, rows - start)
            write(lambda x, at=start, n=size: F.diagonal(F.slice(x, (0,), (at,), (n,), (1,)), 0, 1, offset))  # type: ignore[misc]
    return x


def fill_diagonal_tensor_(
    x: Tensor, y: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, name: str | None = None
) -> Tensor:
    """Set the diagonal of dims ``dim1`` and ``dim2`` to ``y``."""
    return assign(x, manipulation.fill_diagonal_tensor(x, y, offset, dim1, dim2))


def copy_(x: Tensor, other: Tensor, blocking: bool = True) -> Tensor:
    """Write the elements of ``other``, which broadcast, cast to the dtype of x.

    Example:
        >>> import paddle
        >>> paddle.zeros([2]).copy_(paddle.ones([2])).tolist()
        [1.0, 1.0]
    """
    value = F.cast(need_tensor(other, "copy_", "other"), dtype=x.dtype) if other.dtype is not x.dtype else other
    if value.place is not x.place:
        value = value.to(x.place)  # type: ignore[union-attr]
    return assign(x, value if value.shape == x.shape else F.broadcast_to(value, tuple(x.shape)))


def set_(
    x: Tensor,
    source: Tensor | None = None,
    shape: Any = None,
    stride: Any = None,
    offset: int = 0,
    name: str | None = None,
) -> Tensor:
    """Become the memory of ``source`` (without one, an empty tensor) under a shape, strides and an offset in elements.

    Example:
        >>> import paddle
        >>> paddle.zeros([3]).set_(paddle.ones([2])).tolist()
        [1.0, 1.0]
    """
    if source is None:
        source = made_on(x.place, F.full, 0, x.dtype, (0,))
    elif need_tensor(source, "set_", "source").dtype is not x.dtype:
        source = F.cast(source, dtype=x.dtype)
    if shape is not None or stride is not None or offset:
        shape = list(source.shape) if shape is None else shape
        if stride is None:
            stride, step = [], 1
            for n in reversed(list(shape)):
                stride.insert(0, step)
                step *= n
        source = manipulation.as_strided(source, shape, stride, offset)
    x._share(source.detach())
    return x


def resize_(x: Tensor, shape: Any, fill_zero: bool = False, name: str | None = None) -> Tensor:
    """Take another shape: the elements in row-major order, what is beyond them not set, or 0 with ``fill_zero``.

    Example:
        >>> import paddle
        >>> paddle.ones([3]).resize_([2]).tolist()
        [1.0, 1.0]
    """
    sizes = tuple(int(n) for n in shape)
    count = 1
    for n in sizes:
        count *= n
    flat = F.reshape(x.detach(), (x.size,))
    if count <= x.size:
        flat = F.slice(flat, (0,), (0,), (count,), (1,))
    else:
        flat = F.pad(flat, 0, axes=(0,), lo=(0,), hi=(count - x.size,))
    x._share(F.reshape(flat, sizes))
    return x


def apply_(x: Tensor, func: Callable) -> Tensor:
    """Write ``func(x)`` into x; only outside gradients."""
    if not x.stop_gradient:
        raise RuntimeError("[apply_] requires a tensor with stop_gradient=True, got one with stop_gradient=False")
    return become(x, func(x))


def set_value(x: Tensor, value: Any) -> None:
    """Replace the elements by those of an array or tensor of the same shape and dtype; no gradient is recorded.

    Raises AssertionError where shape or dtype differ, as the reference framework does.

    Example:
        >>> import paddle, numpy as np
        >>> x = paddle.zeros([2])
        >>> x.set_value(np.ones(2, "float32"))
        >>> x.tolist()
        [1.0, 1.0]
    """
    import numpy as np

    if isinstance(value, np.ndarray):
        value = from_numpy(
            value if value.dtype != np.uint16 or x.dtype is not dt.bfloat16 else value.view(dt.bfloat16.numpy), x.place
        )
    elif not isinstance(value, Tensor):
        raise op_error(AssertionError, "set_value", "a Tensor or an array", type(value).__name__)
    if value.shape != x.shape:
        raise op_error(AssertionError, "set_value", f"shape {x.shape}", value.shape)
    if value.dtype is not x.dtype:
        raise op_error(AssertionError, "set_value", f"dtype {x.dtype.name}", value.dtype.name)
    from umiak.core.context import no_grad_guard

    with no_grad_guard():
        assign(x, value.detach())
