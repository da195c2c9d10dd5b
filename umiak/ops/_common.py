"""Helpers of op families: checks, shapes, gradients under broadcasting, compute types, shard strings."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy, to_numpy
from umiak.core.context import no_grad_guard
from umiak.core.dtype import DType
from umiak.core.eager import apply
from umiak.core.place import Place
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops.base import LocalShard, Op, Saved
from umiak.util.errors import IndexingError, OperandError

# Kinds of dtype, one letter each: what an op accepts is written as a string of them, "fc" for floating and complex.
KIND_NAMES = {"b": "bool", "i": "integer", "f": "floating", "c": "complex"}
_WEAK_KIND = {"bool": "b", "int": "i", "float": "f", "complex": "c"}


def kind_of(dtype: DType) -> str:
    """The letter of a dtype's kind."""
    if dtype.is_floating:
        return "f"
    if dtype.is_integer:
        return "i"
    return "b" if dtype.is_bool else "c"


def is_tensor(x: Any) -> bool:
    """Return whether an operand is a tensor (eager, traced or Meta), rather than a number or absent."""
    return hasattr(x, "shape") and getattr(x, "weak", None) is None


def sizes(x: Any) -> tuple:
    """The shape of a tensor as a tuple."""
    return tuple(x.shape)


# --- checks --------------------------------------------------------------------------------------------------------


def elements(x: Any) -> int:
    """Return the number of elements of a known shape."""
    return math.prod(x.shape)


def averaged(spatial: Sequence[int], out: Any) -> int:
    """The multiply-adds of means of regions of ``spatial`` sizes, as the reference framework counts them: the elements
    of a region and the division."""
    taps = [n // m for n, m in zip(spatial, out.shape[2:], strict=True) if m]
    return elements(out) * (math.prod(taps) + 1)


def accept(op: Op, kinds: str, *metas: Meta | None) -> None:
    """Refuse tensor operands whose dtype is not of one of ``kinds``."""
    for m in metas:
        if m is not None and m.dtype is not None and kind_of(m.dtype) not in kinds:
            names = " or ".join(KIND_NAMES[k] for k in kinds)
            op.fail(OperandError, f"operands of {names} dtype", m.dtype.name)


def same_dtype(op: Op, *metas: Meta | None) -> DType:
    """The one dtype of the tensor operands; numbers take it, and are refused where it cannot hold their kind."""
    dtype: DType | None = None
    for m in metas:
        if m is not None and m.dtype is not None:
            if dtype is not None and dtype is not m.dtype:
                got = f"{dtype.name} and {m.dtype.name}"
                op.fail(OperandError, "operands of one dtype", got, "Cast one of them first.")
            dtype = m.dtype
    if dtype is None:
        op.fail(TypeError, "at least one tensor operand", "numbers only")
    assert dtype is not None
    order = "bifc"
    for m in metas:
        if m is not None and m.weak is not None and order.index(_WEAK_KIND[m.weak]) > order.index(kind_of(dtype)):
            op.fail(TypeError, f"numbers that {dtype.name} can hold", f"a Python {m.weak}", "Cast the tensor first.")
    return dtype


def broadcast_shape(op: Op, *metas: Meta | None) -> tuple:
    """The shape that the operands broadcast to."""
    shape: tuple = ()
    for m in metas:
        if m is not None and m.shape:
            shape = _broadcast_two(op, shape, tuple(m.shape)) if shape else tuple(m.shape)
    return shape


def _broadcast_two(op: Op, a: tuple, b: tuple) -> tuple:
    if len(a) < len(b):
        a, b = b, a
    head = len(a) - len(b)
    try:
        return a[:head] + tuple(dim.broadcast(m, n) for m, n in zip(a[head:], b, strict=True))
    except ValueError:
        return op.fail(ValueError, "shapes that broadcast", f"{a} and {b}")


def same_shape(op: Op, a: Sequence, b: Sequence, required: str = "equal shapes") -> None:
    """Refuse shapes that differ."""
    if len(a) != len(b) or not all(dim.eq(m, n) for m, n in zip(a, b, strict=True)):
        op.fail(ValueError, required, f"{tuple(a)} and {tuple(b)}")


def check_axes(op: Op, axes: Iterable[int], ndim: int) -> None:
    """Refuse axes that are negative, beyond the rank or repeated (the public API normalises them)."""
    axes = tuple(axes)
    if axes and not ndim:
        op.fail(IndexingError, "an axis, so a rank of 1 or more", "rank 0")
    if not all(0 <= a < ndim for a in axes):
        op.fail(IndexingError, f"axes from 0 to {ndim - 1}", axes if len(axes) != 1 else axes[0])
    if len(set(axes)) != len(axes):
        op.fail(ValueError, "distinct axes", axes)


def reduced_shape(shape: Sequence, axes: Iterable[int], keepdim: bool) -> tuple:
    """``shape`` with ``axes`` reduced: size 1 or gone."""
    axes = set(axes)
    if keepdim:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def restore(g: Any, axes: Sequence[int], keepdim: bool) -> Any:
    """Give a reduced value its reduced dims back, as size 1, so that it broadcasts against the whole one.

    Leading dims come by broadcasting itself.
    """
    leading = tuple(axes) == tuple(range(len(axes)))
    return g if keepdim or leading else F.unsqueeze(g, axes=tuple(axes))


def moments(x: Any, axes: tuple, spread: Any = None) -> tuple[Any, Any]:
    """The mean over ``axes`` and the sum of squared deviations from it.

    Both keep their dims, unless ``spread`` is there to broadcast such a vector against x.

    A mean in x's own type misses the true one by its rounding, which is much where the spread is small: the deviations
    from it tell by how much (the corrected two-pass algorithm of Chan, Golub and LeVeque).
    """
    keepdim = spread is None
    about = F.mean(x, axes=axes, keepdim=keepdim)
    off = F.sub(x, about if keepdim else spread(about))
    rest = F.sum(off, axes=axes, keepdim=keepdim)
    missed = F.div(rest, count(x, axes))
    squares = F.sub(F.sum(F.mul(off, off), axes=axes, keepdim=keepdim), F.mul(rest, missed))
    # The deviations from an infinite mean tell nothing.
    return F.add(about, F.where(F.isfinite(missed), missed, 0)), F.maximum(squares, 0)


def count(x: Any, axes: Iterable[int]) -> Any:
    """Return the number of elements that are reduced over ``axes`` of ``x``: an int or a Sym."""
    return dim.product(x.shape[a] for a in axes)


# --- gradients -----------------------------------------------------------------------------------------------------


def back(g: Any, x: Any) -> Any:
    """Gradient for operand ``x``: ``g`` summed down to its shape; None where ``x`` is a number or absent."""
    if g is None or not is_tensor(x):
        return None
    return F.sum_to(g, shape=sizes(x))


def conj(v: Any) -> Any:
    """Conjugate of a complex tensor or number; anything else as it is."""
    if is_tensor(v):
        return F.conj(v) if v.dtype.is_complex else v
    return v.conjugate() if isinstance(v, complex) else v


def zeros(x: Any) -> Any:
    """Zeros of the shape and type of ``x``: the derivative of what is constant almost everywhere."""
    return F.full(0, dtype=x.dtype, shape=sizes(x))


def as_tensor(v: Any, like: Any) -> Any:
    """A number as a 0-d tensor of ``like``'s dtype; tensors pass."""
    return v if is_tensor(v) else F.full(v, dtype=like.dtype, shape=())


# --- compute types -------------------------------------------------------------------------------------------------


def widen(x: Any) -> Any:
    """A low-precision tensor in the type its arithmetic is done in; anything else as it is."""
    return F.cast(x, dtype=x.dtype.compute) if is_tensor(x) and x.dtype.compute is not x.dtype else x


def cast_to(x: Any, dtype: DType) -> Any:
    """``x`` in ``dtype``; free when it is already."""
    return x if x is None or x.dtype is dtype else F.cast(x, dtype=dtype)


def in_compute_type(method: Callable) -> Callable:
    """Wrap ``decompose`` or ``vjp`` bodies over plain operands: low-precision tensors come in widened, results leave
    narrowed.

    Without it every small op of a composite would round to the storage type.
    """

    @functools.wraps(method)
    def run(self: Op, *args: Any) -> Any:
        low = next((a.dtype for a in args if is_tensor(a) and a.dtype.compute is not a.dtype), None)
        if low is None:
            return method(self, *args)
        results = method(self, *(widen(a) for a in args))

        def narrow(y: Any) -> Any:
            return F.cast(y, dtype=low) if is_tensor(y) and y.dtype is low.compute else y

        return tuple(map(narrow, results)) if isinstance(results, tuple) else narrow(results)

    return run


class _Wide(tuple):
    """Saved tensors that are widened when they are taken out: what is not used is still not saved."""

    def __getitem__(self, i: Any) -> Any:
        return tuple(map(widen, super().__getitem__(i))) if isinstance(i, slice) else widen(super().__getitem__(i))

    def __iter__(self) -> Iterator:
        return map(widen, super().__iter__())


def vjp_in_compute_type(method: Callable) -> Callable:
    """The same for ``vjp``: saved tensors and gradients come in widened, each result leaves in the dtype of its
    operand.
    """

    @functools.wraps(method)
    def run(self: Op, s: Saved, *grads: Any) -> tuple:
        wide = Saved(_Wide(s.inputs), _Wide(s.outputs), _Wide(s.residuals), s.params, s.needs)
        results = method(self, wide, *map(widen, grads))
        return tuple(cast_to(y, x.dtype) if is_tensor(x) else None for x, y in zip(s.inputs, results, strict=True))

    return run


# --- shard strings (docs/design/ops.md) ----------------------------------------------------------------------------


def factor_names(n: int, prefix: str = "") -> list[str]:
    """``n`` names for factors: a, b, c, …"""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [prefix + (letters[i] if i < 26 else f"z{i}") for i in range(n)]


def shard_string(operands: Iterable[Sequence[str]], results: Iterable[Sequence[str]], **marks: str) -> str:
    """Join factor lists: ``[["i", "k"], ["k", "j"]], [["i", "j"]], k="sum"`` → ``i k, k j -> i j ; k=sum``."""
    operands, results = list(operands), list(results)
    marks = {k: v for k, v in marks.items() if any(k in names for names in (*operands, *results))}
    text = f"{', '.join(map(' '.join, operands))} -> {', '.join(map(' '.join, results))}"
    return text + (" ; " + " ".join(f"{k}={v}" for k, v in marks.items()) if marks else "")


def aligned(names: Sequence[str], m: Meta | None) -> list[str]:
    """The factors of an operand that broadcasts against a result with factors ``names``."""
    if m is None or not m.shape:
        return []
    tail = names[len(names) - len(m.shape) :]
    return ["1" if isinstance(n, int) and n == 1 else f for n, f in zip(m.shape, tail, strict=True)]


def shard_pointwise(*metas: Meta | None, results: int = 1) -> str:
    """Shard string of an op whose operands broadcast against each other; each result has the full shape."""
    names = factor_names(max((len(m.shape) for m in metas if m is not None), default=0))
    operands = [aligned(names, m) for m in metas]
    used = {f for o in operands for f in o}
    full = [f if f in used else "1" for f in names]
    return shard_string(operands, [full] * results)


def shard_reduce(x: Meta, axes: Iterable[int], keepdim: bool, mark: str, results: int = 1) -> str:
    """``axes`` are reduced; ``mark`` combines the partial results of shards (``replicated`` where nothing does)."""
    names, axes = factor_names(len(x.shape)), set(axes)
    out = [f if i not in axes else "1" for i, f in enumerate(names) if keepdim or i not in axes]
    return shard_string([names], [out] * results, **{names[a]: mark for a in sorted(axes)})


def shard_except(x: Meta, axes: Iterable[int], results: int = 1) -> str:
    """Return the shard string of an op whose results have its operand's shape, where ``axes`` must be replicated."""
    names = factor_names(len(x.shape))
    return shard_string([names], [names] * results, **{names[a]: "replicated" for a in axes})


def with_local_shape(self: Op, shard: LocalShard, *args: Any) -> Any:
    """``on_shard`` of an op whose param ``shape`` is the shape of its result."""
    n = len(args) - len(self.param_fields)
    params = (shard.results[0].sizes if k == "shape" else v for k, v in zip(self.param_fields, args[n:], strict=True))
    return apply(self, args[:n], tuple(params))


def once(shard: LocalShard, x: Any, *factors: str) -> Any:
    """Return ``x`` on the first shard along each of ``factors``, zeros on the others: their sum has it once."""
    if shard.is_first(*factors):
        return x
    return zeros(x) if is_tensor(x) else 0


# --- samples -------------------------------------------------------------------------------------------------------


def computed(function: Callable, *arrays: Any, **attributes: Any) -> tuple[np.ndarray, ...]:
    """Call the function of an op on arrays (or None), on the host: samples of a gradient need results of the forward
    call."""
    with no_grad_guard():
        results = function(*(None if x is None else from_numpy(x, Place("cpu")) for x in arrays), **attributes)
    return tuple(np.array(to_numpy(y)) for y in results)


def draw(
    rng: Any,
    shape: Sequence[int] = (2, 3),
    dtype: DType | None = None,
    lo: float = -2.0,
    hi: float = 2.0,
    avoid: Sequence[float] = (),
) -> Any:
    """An array for a sample: uniform in [lo, hi), at least 0.1 from the kinks in ``avoid``.

    Complex off the real axis.
    """
    dtype = dtype or dt.float64
    x = rng.uniform(lo, hi, shape)
    for kink in avoid:
        x = np.where(np.abs(x - kink) < 0.1, kink + 0.15 * (hi - lo), x)
    if dtype.is_complex:
        x = x + 1j * rng.uniform(0.2, 0.8, shape)
    if dtype.is_integer:
        x = rng.integers(max(int(lo), 0) if dtype is dt.uint8 else int(lo), int(hi) + 1, shape)
    if dtype.is_bool:
        x = rng.integers(0, 2, shape)
    return np.asarray(x).astype(dtype.numpy)
