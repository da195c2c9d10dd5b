"""Lists of tensors in programs, whose length may be known only while the program runs."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from paddle.tensor._args import axis_of, integer, need_tensor, reads_numbers
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import capture_of
from umiak.core.dtype import DType
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.expr import Sym, compare_eq, conjunction, disjunction, kind_of
from umiak.ir.meta import Meta
from umiak.ir.tracer import SymTensor
from umiak.util.errors import op_error

_STACKED = "stacked"


def arrays_of() -> list[TensorArray]:
    """Return the arrays of the program that is being recorded, without those of branches and loop bodies that are
    done."""
    tracer = capture_of()
    if tracer is None:
        return []
    blocks = tracer.builder.block, *tracer.builder.outer
    return [array for block, array in tracer.arrays if any(block is b for b in blocks)]


class TensorArray:
    """A list of tensors of one dtype: as they are as long as their number is known; from then on, where they must have
    one shape, as one tensor with a new first dim."""

    def __init__(self, dtype: DType, items: Iterable[Tensor] = ()) -> None:
        self.dtype = dtype
        self.items: list[Tensor] = list(items)
        self._data: Tensor | None = None
        # Arrays that this is, on some way of what has run, each with the data of both then; None: parted since.
        self.may_be: dict[TensorArray, tuple[Tensor | None, Tensor | None] | None] = {}
        tracer = capture_of()
        # Whether writes to its tensors must be seen here, as in a list; static mode's arrays have copies.
        self.shares = tracer is None or not tracer.static
        if tracer is not None:
            tracer.arrays.append((tracer.builder.block, self))

    @property
    def data(self) -> Tensor | None:
        """The items as one tensor, once they are; of views of a former one no write would be seen here."""
        return self._data

    @data.setter
    def data(self, new: Tensor | None) -> None:
        self._refuse_writes(self._data if self._data is not new else None)
        self._data = new
        tracer = capture_of()
        if tracer is not None and new is not None:
            tracer.allow_writes(new)

    def _refuse_writes(self, *those: Tensor | None) -> None:
        """Refuse writes to tensors that this has copies of, or that are copies of it, where a list shares them."""
        tracer = capture_of()
        if tracer is not None and self.shares:
            for x in those:
                if x is not None:
                    tracer.refuse_writes(x, "in a list whose length a loop or branch on tensors decides")

    # --- as a whole

    def state(self) -> list[Any]:
        """Return what it holds, as a list that shares nothing with it."""
        return list(self.items) if self.data is None else [_STACKED, self.data]

    def restore(self, state: list[Any]) -> None:
        """Hold what :meth:`state` has said."""
        stacked = len(state) == 2 and state[0] is _STACKED
        self.items, self.data = ([], state[1]) if stacked else (list(state), None)

    def be_stacked(self, like: Meta) -> None:
        """Have the items in one tensor from here on. ``like``: the type of the items that are to come."""
        if self.data is None:
            items = self.items
            self._refuse_writes(*items)
            self.data = F.stack(items, axis=0) if items else F.full(0, shape=(0, *like.shape), dtype=like.dtype)
            self.items = []

    def length(self) -> Any:
        """Return the number of tensors, which may be symbolic."""
        return len(self.items) if self.data is None else self.data.shape[0]

    def stack(self, axis: Any) -> Tensor:
        """The tensors joined along a new dim."""
        if self.data is None:
            n = self.items[0].ndim + 1 if self.items else 1
            return F.stack(self.items, axis=axis_of(axis, n, "stack"))
        return F.copy(_moved(self.data, axis_of(axis, self.data.ndim, "stack")))

    def concat(self, axis: Any) -> Tensor:
        """The tensors joined along a dim that they have."""
        if self.data is None:
            return F.concat(self.items, axis=axis_of(axis, self.items[0].ndim, "concat"))
        at = axis_of(axis, self.data.ndim - 1, "concat")
        x = _moved(self.data, at)
        shape = tuple(x.shape)
        return F.copy(F.reshape(x, shape=(*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :])))

    def sizes(self, axis: int | None) -> Tensor:
        """The sizes of the tensors along a dim, or 1 for each, as one tensor."""
        if self.data is None:
            each = [1 if axis is None else x.shape[axis] for x in self.items]
            return F.concat([F.full(n, shape=(1,), dtype=dt.int32) for n in each], axis=0)
        size = 1 if axis is None else self.data.shape[1:][axis]
        return F.full(size, shape=(self.data.shape[0],), dtype=dt.int32)

    # --- items

    def _place(self, i: Any, last: Any, op: str) -> Any:
        """A place, counted from the front, of at most ``last``."""
        at = integer(i, op, "i")
        n = self.length()
        if type(at) is int and at < 0:
            at = at + n
        if type(at) is int and type(n) is int:
            if not 0 <= at <= last:
                raise op_error(IndexError, op, f"an i from {-n} to {last}" if last >= 0 else "an array with tensors", i)
            return at
        dim.require((0 <= at) & (at <= last), f"[{op}] requires a place from 0 to {last}, got {at}")
        return at

    def read(self, i: Any, op: str = "array_read") -> Tensor:
        """The tensor at a place."""
        if _is_unknown(i):
            if self.data is None:
                self.be_stacked(self._like())
            assert self.data is not None
            x = self.data[F.reshape(i, ())]
            self._refuse_writes(x)
            return x
        at = self._place(i, self.length() - 1, op)
        if self.data is None and type(at) is Sym:
            self.be_stacked(self._like())
        x = self.items[at] if self.data is None else _item(self.data, at)
        return x if self.shares else F.copy(x)

    def _like(self) -> Meta:
        if not self.items:
            raise op_error(IndexError, "array_read", "an array with tensors", "an empty one")
        return Meta(tuple(self.items[0].shape), self.items[0].dtype)

    def write(self, x: Tensor, i: Any, op: str = "array_write", appends: bool = True) -> None:
        """Set the tensor at a place; one behind the last is appended."""
        x = self._as_item(x)
        self._check(x, op)
        if not self.shares:
            x = F.copy(x)
        if self.data is not None:
            self._refuse_writes(x)
        n = self.length()
        if _is_unknown(i) and not (appends and reads_numbers()):
            self._write_by_data(x, F.reshape(i, ()), op, appends)
            return
        at = self._place(i, n if appends else n - 1, op)
        if self.data is None and type(at) is Sym:
            self.be_stacked(Meta(tuple(x.shape), x.dtype))
        if self.data is None:
            self.items[at : at + 1] = [x]
            return
        if at is n:
            self.append(x)
            return
        if not appends or dim.same(at, n):
            self.data = _replaced(self.data, x, at)
            return
        self._write_or_append(
            x, F.full(compare_eq(at, n), shape=(), dtype=dt.bool), lambda data: _replaced(data, x, at)
        )

    def _write_by_data(self, x: Tensor, i: Tensor, op: str, appends: bool) -> None:
        self.be_stacked(Meta(tuple(x.shape), x.dtype))
        assert self.data is not None

        def replaced(data: Tensor) -> Tensor:
            items = F.copy(data)
            items[i] = x
            return items

        if appends:
            end = F.full(self.data.shape[0], shape=(), dtype=i.dtype)
            self._write_or_append(x, F.eq(i, end), replaced)
        else:
            self.data = replaced(self.data)

    def _write_or_append(self, x: Tensor, is_behind: Tensor, replaced: Callable[[Tensor], Tensor]) -> None:
        """Append a tensor where its place is behind the last one, else have what ``replaced`` makes of the data: a
        branch, so that loops see which one it is."""
        from umiak.runtime import regions  # with all that captures functions, which few programs need

        data = self.data
        assert data is not None

        def added() -> list[Any]:
            return [F.concat([data, F.unsqueeze(x, (0,))], axis=0)]

        (self.data,) = regions.cond(is_behind, added, lambda: [replaced(data)])

    def _as_item(self, x: Any) -> Any:
        """A tensor for a number, of which lists have some beside each other, where the dtype holds it."""
        if not self.shares or not isinstance(x, (bool, int, float, Sym)):
            return x
        kinds = ("int", "float") if self.dtype.is_floating else ("int",) if self.dtype.is_integer else ("bool",)
        return F.full(x, shape=(), dtype=self.dtype) if kind_of(x) in kinds else x

    def _check(self, x: Any, op: str) -> None:
        if need_tensor(x, op).dtype is not self.dtype:
            raise op_error(TypeError, op, f"a tensor of {self.dtype.name}, as the array has", x.dtype.name)
        if self.data is None:
            return
        now, new = tuple(self.data.shape)[1:], tuple(x.shape)
        pairs = list(zip(now, new, strict=False))
        if len(now) != len(new) or any(type(m) is type(n) is int and m != n for m, n in pairs):
            raise op_error(ValueError, op, f"a tensor of shape {list(now)}, as those in the array", list(new))
        if not all(dim.same(m, n) for m, n in pairs):  # sizes that are not known yet; of no tensors any will do
            n = self.data.shape[0]
            equal = conjunction(*(compare_eq(a, b) for a, b in pairs))
            message = f"[{op}] requires tensors of one shape {list(now)} in an array, got {list(new)}"
            dim.require(disjunction(compare_eq(n, 0), equal), message)
            for axis, (a, b) in enumerate(pairs, 1):
                if not dim.same(a, b):
                    shape = list(self.data.shape)
                    shape[axis] = b - a
                    more = F.full(0, shape=tuple(shape), dtype=self.dtype)
                    self.data = F.concat([self.data, more], axis=axis)

    # --- as a list

    def append(self, x: Tensor) -> None:
        """Add a tensor at the end."""
        x = self._as_item(x)
        self._check(x, "append")
        if self.data is None:
            self.items.append(x)
        else:
            self._refuse_writes(x)
            self.data = F.concat([self.data, F.unsqueeze(x, (0,))], axis=0)

    def extend(self, those: Any) -> None:
        """Add tensors at the end."""
        if isinstance(those, TensorArray) and those.data is not None:
            self.be_stacked(Meta(tuple(those.data.shape[1:]), those.data.dtype))
            assert self.data is not None
            self.data = F.concat([self.data, those.data], axis=0)
            return
        for x in those.items if isinstance(those, TensorArray) else those:
            self.append(x)

    def pop(self, i: Any = -1) -> Tensor:
        """Take a tensor out."""
        n = self.length()
        at = self._place(i, n - 1, "pop")
        x = self.read(at, "pop")
        if self.data is None:
            del self.items[at]
        else:
            head, tail = _part(self.data, 0, at), _part(self.data, at + 1, n - 1 - at)
            self.data = head if at is n - 1 else F.concat([head, tail], axis=0)
        return x

    def insert(self, i: Any, x: Tensor) -> None:
        """Put a tensor before a place."""
        x = self._as_item(x)
        self._check(x, "insert")
        if self.data is None:
            self.items.insert(i, x)
            return
        self._refuse_writes(x)
        at = self._place(i, self.length(), "insert")
        new, n = F.unsqueeze(x, (0,)), self.length()
        self.data = F.concat([_part(self.data, 0, at), new, _part(self.data, at, n - at)], axis=0)

    def clear(self) -> None:
        """Take all tensors out."""
        self.items = []
        if self.data is not None:
            self.data = _part(self.data, 0, 0)

    def copy(self) -> TensorArray:
        """Another one with the same tensors."""
        out = TensorArray(self.dtype)
        out.shares = self.shares
        out.restore(self.state())
        return out

    def reverse(self) -> None:
        """Reverse the order."""
        self.items.reverse()
        if self.data is not None:
            self.data = F.flip(self.data, (0,))

    def _numbers(self, op: str) -> Tensor:
        """The items as one tensor, where each is a number."""
        if self.data is None:
            self.be_stacked(self._like() if self.items else Meta((), self.dtype))
        assert self.data is not None
        if self.data.ndim == 1:
            return self.data
        got = f"tensors of shape {list(self.data.shape[1:])}"
        raise op_error(TypeError, op, "numbers in a list whose length a loop or branch on tensors decides", got)

    def extreme(self, op: str) -> Tensor:
        """The largest item ("max"), or the smallest ("min"), of a list of numbers."""
        x = self._numbers(op)
        return F.max(x, axes=(0,)) if op == "max" else F.min(x, axes=(0,))

    def truths(self, op: str) -> Tensor:
        """The truth of all items ("all"), or of any, of a list of numbers."""
        x = F.cast(self._numbers(op), dtype=dt.bool)
        return F.all(x, axes=(0,)) if op == "all" else F.any(x, axes=(0,))

    def equal(self, x: Any, op: str) -> Tensor:
        """A mask of the items of a list of numbers that equal ``x``."""
        x = F.reshape(x, shape=()) if isinstance(x, Tensor) else x
        return F.eq(self._numbers(op), x)

    def count(self, x: Any) -> Tensor:
        """Return how many items equal ``x``."""
        return F.sum(F.cast(self.equal(x, "count"), dtype=dt.int64), axes=(0,))

    def index(self, x: Any) -> Tensor:
        """Return the place of the first item that equals ``x``, which the program requires to be there."""
        equal = F.cast(self.equal(x, "index"), dtype=dt.int64)
        found = F.gt(F.sum(equal, axes=(0,)), 0)
        F.require(found, kind="ValueError", args=("list.index(x): x not in list",))
        places = F.iota(0, 1, dtype=dt.int64, size=equal.shape[0])
        return F.min(F.where(F.gt(equal, 0), places, equal.shape[0]), axes=(0,))

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        """Sort a list of numbers."""
        if key is not None:
            raise op_error(TypeError, "sort", "no key for a list whose length data decide", "one")
        self.data = F.sort(self._numbers("sort"), axis=0, descending=bool(reverse), stable=True)[0]

    def remove(self, x: Any) -> None:
        """Take out the first item that equals ``x``."""
        self.pop(self.index(x))

    def __getitem__(self, i: Any) -> Any:
        if not isinstance(i, slice):
            return self.read(i, "an index of a list")
        out = self.copy()
        if self.data is None:
            out.items = self.items[i]
        else:
            out.data = self.data[i]
        return out

    def __setitem__(self, i: Any, x: Any) -> None:
        if isinstance(i, slice):
            self._set_slice(i, x)
        else:
            self.write(x, i, "an assignment to an item of a list", appends=False)

    def __delitem__(self, i: Any) -> None:
        if isinstance(i, slice):
            self._set_slice(i, ())
        else:
            self.pop(i)

    def _set_slice(self, at: slice, those: Any) -> None:
        """Have other items in the place of a slice."""
        op = "a slice of a list"
        if at.step not in (None, 1):
            raise op_error(ValueError, op, "steps of 1 where data decide the length", at.step)
        if self.data is None:
            if any(type(n) is Sym for n in (at.start, at.stop)) and self.items:
                self.be_stacked(self._like())
            if isinstance(those, TensorArray):
                if those.data is not None:
                    self.be_stacked(Meta(tuple(those.data.shape[1:]), those.data.dtype))
                those = those.items
        if self.data is None:
            items = [self._as_item(x) for x in those]
            for x in items:
                self._check(x, op)
            self.items[at] = items
            return
        n = self.length()
        start = 0 if at.start is None else _clamped(integer(at.start, op, "i"), n)
        stop = n if at.stop is None else dim.maximum(start, _clamped(integer(at.stop, op, "i"), n))
        head, tail = self.copy(), self.copy()
        head.data = _part(self.data, 0, start)
        tail.data = _part(self.data, stop, n - stop)
        head.extend(those)
        self.data = head.data if stop is n else F.concat([head.data, tail.data], axis=0)

    def __add__(self, other: Any) -> TensorArray:
        if not isinstance(other, (list, TensorArray)):
            return NotImplemented
        out = self.copy()
        out.extend(other)
        return out

    def __mul__(self, count: Any) -> TensorArray:
        if type(count) is not int:
            return NotImplemented
        out = self[:0] if count < 1 else self.copy()
        for _ in builtins.range(count - 1):
            out.extend(self)
        return out

    __rmul__ = __mul__

    def __radd__(self, other: Any) -> TensorArray:
        if not isinstance(other, list):
            return NotImplemented
        out = TensorArray(self.dtype, other)
        out.shares = self.shares
        out.extend(self)
        return out

    def __iadd__(self, other: Any) -> TensorArray:
        self.extend(other)
        return self

    def _known(self, what: str) -> int:
        n = self.length()
        if type(n) is int:
            return n
        raise op_error(
            TypeError,
            what,
            "a list whose length is known before the program runs",
            "one that a loop or branch on tensors has changed",
            "Use paddle.stack or paddle.concat of it, its items by number, paddle.tensor.array_length, or a for "
            "statement over it.",
        )

    def __len__(self) -> int:
        return self._known("len")

    def __bool__(self) -> bool:
        return bool(self._known("bool"))

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, (list, TensorArray)):
            return self is other
        raise op_error(
            TypeError, "list.__eq__", "a list whose length is known before the program runs",
            "one whose length a loop or branch on tensors decides", "Compare their lengths and paddle.stack of both.",
        )  # fmt: skip

    def __iter__(self) -> Iterator[Tensor]:
        return iter([self.read(i) for i in range(self._known("iter"))])

    def __repr__(self) -> str:
        return f"TensorArray({self.items if self.data is None else self.data!r})"


def _clamped(i: Any, n: Any) -> Any:
    """A bound of a slice, which may be counted from the end, from 0 to ``n``."""
    if i is n:
        return n
    return dim.minimum(dim.maximum(dim.where(i < 0, i + n, i), 0), n)


def separate(data: Tensor) -> list[Tensor]:
    """Return the items of a tensor as a list, each with memory of its own."""
    return [F.copy(_item(data, i)) for i in range(data.shape[0])]


def _is_unknown(i: Any) -> bool:
    """Return whether a place is in a tensor whose elements the program alone knows."""
    tracer = capture_of()
    return tracer is not None and isinstance(i, SymTensor) and tracer.elements(i) is None


def _part(x: Tensor, start: Any, size: Any) -> Tensor:
    return F.slice(x, axes=(0,), starts=(start,), sizes=(size,), steps=(1,))


def _item(x: Tensor, at: Any) -> Tensor:
    return F.reshape(_part(x, at, 1), shape=tuple(x.shape[1:]))


def _replaced(data: Tensor, x: Tensor, at: Any) -> Tensor:
    """The items with another one at a place, or behind the last one."""
    n = data.shape[0]
    after = dim.minimum(at + 1, n)
    return F.concat([_part(data, 0, at), F.unsqueeze(x, (0,)), _part(data, after, n - after)], axis=0)


def _moved(x: Tensor, axis: int) -> Tensor:
    """The first dim at another place."""
    order = [*builtins.range(1, axis + 1), 0, *builtins.range(axis + 1, x.ndim)]
    return F.permute(x, tuple(order)) if axis else x
