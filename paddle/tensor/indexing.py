"""``x[...]`` and ``x[...] = value``.

An index has a basic part (ints, slices, ``None``, ``...``) that selects a view, and an advanced part (tensors, arrays
and lists of ints or bools) that gathers. The basic part comes first; then the advanced indices broadcast against each
other, and their dims stand where those they replace stood, or in front where these were not neighbours, as in NumPy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from paddle.tensor._args import (
    cast,
    create_on,
    equal_shapes,
    integer,
    number_in,
    of_sizes,
    op_error,
    refuse_leaf,
    write_part,
)
from paddle.tensor.overwriting import INDEX_GET, INDEX_PUT, PUT, WHERE, update
from umiak import ops as F
from umiak.core.array import from_numpy
from umiak.core.eager import apply, apply1, apply_rows
from umiak.core.inplace import assign
from umiak.core.place import Place
from umiak.core.plan import OpBase
from umiak.core.tensor import KIND_SYMBOLIC, Tensor
from umiak.ir import sym as dim
from umiak.ir.expr import Sym
from umiak.ir.size_array import SizeArray
from umiak.util.errors import IndexingError


class Basic(NamedTuple):
    """One view: slices, then dims taken out, then dims put in."""

    axes: tuple[int, ...]
    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    drop: tuple[int, ...]
    insert: tuple[int, ...]

    def __call__(self, x: Tensor) -> Tensor:
        if self.axes:
            x = F.slice(x, self.axes, self.starts, self.sizes, self.steps)
        if self.drop:
            x = F.squeeze(x, self.drop)
        return F.unsqueeze(x, self.insert) if self.insert else x


_EVERYTHING = Basic((), (), (), (), (), ())
_Call = tuple[OpBase, tuple]  # an op and its operands


def _bad(item: Any) -> Exception:
    return op_error(
        IndexingError,
        "getitem",
        "ints, slices, None, ..., bools, and tensors, arrays or lists of ints or bools",
        type(item).__name__,
    )


def _int(i: Any, n: Any, axis: int) -> Any:
    if type(i) is Sym and _is_of_data(i):
        if not (dim.le(-n, i) and dim.lt(i, n)):
            raise _out_of_range(i, n, axis)
        return dim.where(i < 0, i + n, i)
    if i < -n or i >= n:
        raise _out_of_range(i, n, axis)
    return i + n if i < 0 else i


def _out_of_range(i: Any, n: Any, axis: int) -> Exception:
    return op_error(IndexingError, "getitem", f"an index from {-n} to {n - 1} on axis {axis}", i)


def _is_of_data(i: Sym) -> bool:
    """Return whether data decide a number of the program that is being recorded: no usual one stands for it."""
    scope = dim.get_scope()
    return scope is not None and not scope.bound.isdisjoint(dim.symbols_of(i))


def _one(item: Any, place: Place) -> Any:
    """An item as an int, a bool, a slice, None, Ellipsis, an array (a mask), or an index tensor made on ``place``."""
    if item is None or item is Ellipsis or isinstance(item, (bool, int, slice)) or _is_symbolic(item):
        return item
    if isinstance(item, (list, tuple, range)):
        item = _from_list(item, place)
    if isinstance(item, SizeArray):
        item = of_sizes(item)
    if isinstance(item, (np.ndarray, np.generic)):
        a = np.asarray(item)
        if a.dtype.kind not in "biu" and a.size:
            raise _bad(item)
        if a.ndim == 0:
            return bool(a) if a.dtype.kind == "b" else int(a)
        return a if a.dtype.kind == "b" else from_numpy(a.astype(np.int64), place)
    if isinstance(item, Tensor):
        if not (item.dtype.is_bool or item.dtype.is_integer):
            raise op_error(IndexingError, "getitem", "an index of integer or bool dtype", item.dtype.name)
        # A number that only the program will know is an index tensor without dims, whose axis is gone.
        is_known = item.dtype.is_bool or not item._kind & KIND_SYMBOLIC
        return item.item() if item.ndim == 0 and is_known else item
    if hasattr(item, "__index__"):
        return item.__index__()
    raise _bad(item)


def _is_symbolic(x: Any) -> bool:
    return type(x) is Sym and x.kind == "int"


def _from_list(item: Any, place: Place) -> Any:
    if any(isinstance(i, Tensor) for i in item):
        item = [i.item() if isinstance(i, Tensor) and i.size == 1 else i for i in item]
        if any(isinstance(i, Tensor) for i in item):
            return F.stack([i if isinstance(i, Tensor) else from_numpy(np.asarray(i), place) for i in item], 0)
    a = np.asarray(item)
    return a.astype(np.int64) if a.size == 0 else a


def coordinates(index: Tensor) -> list[Tensor]:
    """An index tensor as tensors of integers: of a mask, the coordinates where it holds."""
    if not index.dtype.is_bool:
        return [index]
    rows = F.nonzero_sized(index, number_in(F.count_true(index)))
    return list(F.unbind(rows, 1, index.ndim))


def _consumed(item: Any) -> int:
    if item is None or isinstance(item, bool):
        return 0
    if isinstance(item, np.ndarray):
        return item.ndim
    return item.ndim if isinstance(item, Tensor) and item.dtype.is_bool else 1


def parse(x: Tensor, item: Any) -> tuple[Basic, dict[int, Tensor]]:
    """The basic part of an index, and the advanced ones by the axis of the view (masks: the first)."""
    if type(item) is tuple and (by_axis := _full_axes(x, item)) is not None:
        return _EVERYTHING, by_axis
    place = x.place
    items = [_one(i, place) for i in item] if isinstance(item, tuple) else [_one(item, place)]
    shape = x.shape
    used = sum(map(_consumed, (i for i in items if i is not Ellipsis)))
    if used > len(shape):
        raise op_error(IndexingError, "getitem", f"at most {len(shape)} indices", used)
    dots = [k for k, i in enumerate(items) if i is Ellipsis]
    if len(dots) > 1:
        raise op_error(IndexingError, "getitem", "one ellipsis", f"{len(dots)}")
    at = dots[0] if dots else len(items)
    items[at : at + 1] = [slice(None)] * (len(shape) - used)

    axes: list[int] = []
    parts: list[tuple[int, int, int]] = []
    drop: list[int] = []
    insert: list[int] = []
    advanced: dict[int, Tensor] = {}
    axis = out = 0
    for i in items:
        if i is None or isinstance(i, bool):
            insert.append(out)
            if i is not None:
                advanced[out] = from_numpy(np.zeros(int(i), np.int64), place)
            out += 1
        elif isinstance(i, int) or _is_symbolic(i):
            axes.append(axis)
            parts.append((_int(i, shape[axis], axis), 1, 1))
            drop.append(axis)
            axis += 1
        elif isinstance(i, slice):
            if i.start is not None or i.stop is not None or i.step is not None:
                part = range_of(i, shape[axis])
                if not equal_shapes(part, (0, shape[axis], 1)):
                    axes.append(axis)
                    parts.append(part)
            axis += 1
            out += 1
        else:
            n = _consumed(i)
            if isinstance(i, np.ndarray):  # where it holds is known, whatever becomes of the call
                _check_mask(list(i.shape), shape[axis : axis + n])
                advanced.update((out + k, from_numpy(at, place)) for k, at in enumerate(np.nonzero(i)))
            else:
                if i.dtype.is_bool:
                    _check_mask(i.shape, shape[axis : axis + n])
                advanced[out] = i
            axis += n
            out += n
    starts, sizes, steps = zip(*parts) if parts else ((), (), ())
    return Basic(tuple(axes), starts, sizes, steps, tuple(drop), tuple(insert)), advanced


def _full_axes(x: Tensor, items: tuple) -> dict[int, Tensor] | None:
    """The indices by axis where there are only tensors of integers and ``:``; None where there is anything else."""
    if len(items) > x.ndim:
        return None
    advanced = {}
    for axis, i in enumerate(items):
        if type(i) is Tensor and i.dtype.is_integer and i.ndim:
            advanced[axis] = i
        elif not (type(i) is slice and i.start is i.stop is i.step is None):
            return None
    return advanced


def _check_mask(mask: list, shape: list) -> None:
    if len(mask) != len(shape) or not all(map(dim.eq, mask, shape)):
        raise op_error(IndexingError, "getitem", f"a mask of shape {shape}", mask)


def range_of(s: slice, n: int) -> tuple[int, int, int]:
    """First element, how many, and the step; from one element no step is taken, however long it is."""
    bounds = (s.start, s.stop, s.step)
    start, stop, step = (v if v is None or type(v) in (int, Sym) else integer(v, "slice", "a bound") for v in bounds)
    if step == 0:
        raise op_error(ValueError, "getitem", "a slice step other than 0", s)
    if Sym in (type(start), type(stop), type(step), type(n)):
        return _symbolic_range(start, stop, 1 if step is None else step, n)
    first, last, by = slice(start, stop, step).indices(n)
    count = len(range(first, last, by))
    return first, count, by if count > 1 else 1


def _symbolic_range(start: Any, stop: Any, step: Any, n: Any) -> tuple[Any, Any, Any]:
    """:func:`range_of` where sizes differ between runs."""
    up: Any = step > 0
    if type(up) is Sym and up.hinted:
        up = bool(up)
    if type(up) is Sym:
        dim.require(step != 0, "[getitem] requires a slice step other than 0")
    low, high = dim.where(up, 0, -1), dim.where(up, n, n - 1)

    def place(v: Any, end: Any) -> Any:
        if v is None:
            return end
        from_front = dim.where(v < 0, v + n, v) if type(v) is Sym else v + n if v < 0 else v
        return dim.minimum(dim.maximum(from_front, low), high)

    first, last = place(start, dim.where(up, low, high)), place(stop, dim.where(up, high, low))
    away = dim.where(up, last - first, first - last)
    return first, dim.maximum(dim.cdiv(away, dim.where(up, step, -step)), 0), step


def _simple(x: Tensor, items: tuple) -> Tensor | None:
    """The view for ints and slices alone; None where there is anything else."""
    shape = x.shape
    if len(items) > len(shape):
        return None
    axes, starts, sizes, steps, drop = [], [], [], [], []
    for axis, i in enumerate(items):
        n = shape[axis]
        if type(i) is int:
            starts.append(_int(i, n, axis))
            sizes.append(1)
            steps.append(1)
            drop.append(axis)
        elif type(i) is slice:
            start, stop, step = i.start, i.stop, i.step
            if start is None and stop is None and step is None:
                continue
            if (
                step is None and type(n) is int
                and (start is None or type(start) is int) and (stop is None or type(stop) is int)
            ):  # fmt: skip
                first, last, step = i.indices(n)
                size = last - first if last > first else 0
            else:
                first, size, step = range_of(i, n)
            starts.append(first)
            sizes.append(size)
            steps.append(step)
        else:
            return None
        axes.append(axis)
    if not axes:
        return apply(_FIRST, (x,), ((0,), (shape[0],), (1,)))
    key = tuple(axes)
    op = _SLICES.get(key)
    if op is None:
        op = _SLICES[key] = F.Slice(key)
    out = apply(op, (x,), (tuple(starts), tuple(sizes), tuple(steps)))
    return F.squeeze(out, tuple(drop)) if drop else out


_SLICES: dict[tuple, Any] = {}
_FIRST = F.Slice((0,))
_DROP_FIRST = F.Squeeze((0,))
_TAKE_FIRST = F.Take(0)


def getitem(x: Tensor, item: Any) -> Tensor:
    """Elements at an index, ``x[item]``.

    Args:
        x: tensor of any shape and dtype.
        item: an int, a slice, ``None``, ``...``, a tensor, array or list of integers or bools, or a tuple of these.

    Returns:
        Tensor of x's dtype: a view for ints, slices, ``None`` and ``...``, otherwise a copy.

    Raises:
        IndexError: an index lies outside x or is of another kind, or there are more than dims.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1, 2, 3], [4, 5, 6]])
        >>> x[0, 1:].tolist(), x[:, [2, 0]].tolist(), x[x > 4].tolist()
        ([2, 3], [[3, 1], [6, 4]], [5, 6])
    """
    kind = type(item)
    if kind is int and x.ndim:
        n = x.shape[0]
        i = item + n if item < 0 else item
        if not 0 <= i < n:
            raise op_error(IndexingError, "getitem", f"an index from {-n} to {n - 1} on axis 0", item)
        return apply1(_DROP_FIRST, apply(_FIRST, (x,), ((i,), (1,), (1,))))
    if kind is slice and (out := apply_rows(_FIRST, x, item)) is not None:
        return out
    if kind is Tensor and item.ndim and x.ndim and item.dtype.is_integer:
        return apply(_TAKE_FIRST, (x, item))
    if kind is slice or kind is tuple:
        out = _simple(x, (item,) if kind is slice else item) if x.ndim and item != () else None
        if out is not None:
            return out
    elif (
        isinstance(item, Tensor) and item.dtype.is_bool and item.ndim == x.ndim and item.ndim and item.shape == x.shape
    ):
        return F.masked_select_sized(x, item, number_in(F.count_true(item)))
    basic, advanced = parse(x, item)
    if advanced:
        return _gather(basic(x), advanced)
    # An index that selects everything still gives another tensor: of packed elements a copy, as all indices do.
    if not basic.axes and (x.dtype.is_packed or not basic.insert):
        return basic(_everything(x))
    return basic(x)


def _everything(x: Tensor) -> Tensor:
    if x.ndim:
        return apply(_FIRST, (x,), ((0,), (x.shape[0],), (1,)))
    return F.copy(x) if x.dtype.is_packed else F.reshape(x, ())


def _gather(x: Tensor, advanced: dict[int, Tensor]) -> Tensor:
    by_axis = _indices_by_axis(advanced)
    if len(by_axis) == 1:
        ((axis, index),) = by_axis.items()
        return F.take(x, index, axis)
    return apply(INDEX_GET[(tuple(by_axis),)], (x, *by_axis.values()))


def _indices_by_axis(advanced: dict[int, Tensor]) -> dict[int, Tensor]:
    """Integer indices by axis; a mask becomes one for each of its dims."""
    for i in advanced.values():
        if i.dtype.is_bool:
            break
    else:
        return advanced
    return {axis + k: c for axis, i in advanced.items() for k, c in enumerate(coordinates(i))}


def setitem(x: Tensor, item: Any, value: Any) -> None:
    """Write elements at an index, ``x[item] = value``; gradients reach both x and the value.

    Args:
        x: tensor of any shape and dtype.
        item: an index, as for reading.
        value: number, array, list or tensor, which is cast to x's dtype and broadcasts to the elements.

    Raises:
        IndexError: an index lies outside x or is of another kind, or there are more than dims.
        ValueError: the value does not broadcast.
        RuntimeError: x is a leaf with ``stop_gradient=False``, outside ``no_grad``.

    Example:
        >>> import paddle
        >>> x = paddle.zeros([2, 2])
        >>> x[:, 0] = paddle.to_tensor([1.0, 2.0])
        >>> x.tolist()
        [[1.0, 0.0], [2.0, 0.0]]
    """
    refuse_leaf(x, "setitem")
    basic, advanced = parse(x, item)
    region = basic(x)
    if not advanced:
        new = _broadcast(_tensor(value, x), tuple(region.shape))
        if x.dtype.is_packed:
            write_part(x, basic.__call__, new)
        else:
            assign(region, new)
        return
    if (
        len(advanced) == 1
        and (mask := advanced.get(0)) is not None
        and mask.dtype.is_bool
        and mask.shape == region.shape[: mask.ndim]
    ):
        replaced = _masked(region, mask, value, x, advanced)
    else:
        replaced = _put(region, advanced, value, x)
    if isinstance(replaced, Tensor):
        write_part(x, basic.__call__, replaced)
    elif not update(region, *replaced):
        write_part(x, basic.__call__, apply(*replaced))


def _broadcast(v: Tensor, shape: tuple[int, ...]) -> Tensor:
    return v if equal_shapes(v.shape, shape) else F.broadcast_to(_with_rank(v, len(shape)), shape)


def _with_rank(v: Tensor, rank: int) -> Tensor:
    """``v`` without dims of size 1 in front that are too many."""
    lead = v.ndim - rank
    return F.reshape(v, tuple(v.shape[lead:])) if lead > 0 and all(n == 1 for n in v.shape[:lead]) else v


def _tensor(value: Any, x: Tensor) -> Tensor:
    """``value`` as a tensor of the dtype of ``x``, where ``x`` is."""
    converted = _made(value, x)
    return (
        converted
        if converted.place is x.place
        else F.transfer(converted, source=converted.place.name, target=x.place.name)
    )


def _made(value: Any, x: Tensor) -> Tensor:
    if isinstance(value, Tensor):
        return cast(value, x.dtype)
    if isinstance(value, (np.ndarray, np.generic, list, tuple)):
        return cast(from_numpy(np.asarray(value), x.place), x.dtype)
    if not isinstance(value, (bool, int, float, complex, Sym)):
        raise op_error(TypeError, "setitem", "a Tensor, an array or a number", type(value).__name__)
    if isinstance(value, complex) and not x.dtype.is_complex:
        raise op_error(TypeError, "setitem", f"a real value for {x.dtype.name}", "a complex one")
    return create_on(x.place, F.full, value, x.dtype, ())


def _masked(region: Tensor, mask: Tensor, value: Any, x: Tensor, advanced: dict[int, Tensor]) -> Tensor | _Call:
    v = _tensor(value, x)
    new = where_masked(region, mask, v)
    if new is not None:
        return new
    if mask.ndim < region.ndim:
        return _put(region, advanced, value, x)
    count = number_in(F.count_true(mask))
    return F.masked_scatter(region, mask, F.broadcast_to(v, (count,)))


def where_masked(x: Tensor, mask: Tensor, v: Tensor, add: bool = False) -> _Call | None:
    """``x`` with ``v`` put or added where a mask of its first dims holds; None where v differs from place to place.

    How many places there are need not be known, which it is not while a function is captured.
    """
    rest = tuple(x.shape[mask.ndim :])
    while v.ndim > len(rest):
        n = v.shape[0]
        if (type(n) is Sym and not n.hinted) or n != 1:
            return None
        v = F.reshape(v, tuple(v.shape[1:]))
    if rest:
        v = F.broadcast_to(v, rest)
        mask = F.reshape(mask, (*mask.shape, *[1] * len(rest)))
    return WHERE, (mask, F.add(x, v) if add else v, x)


def _put(region: Tensor, advanced: dict[int, Tensor], value: Any, x: Tensor) -> _Call:
    by_axis = _indices_by_axis(advanced)
    v = _tensor(value, x)
    if len(by_axis) == 1:
        ((axis, index),) = by_axis.items()
        sizes = region.shape
        return PUT[axis], (region, index, _broadcast(v, (*sizes[:axis], *index.shape, *sizes[axis + 1 :])))
    indices = by_axis.values()
    rank = region.ndim - len(indices) + max([i.ndim for i in indices])
    return INDEX_PUT[tuple(by_axis), "set"], (region, _with_rank(v, rank), *indices)
