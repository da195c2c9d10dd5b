"""Built-in functions whose arguments may be known only while the program runs."""

from __future__ import annotations

import bisect
import builtins
import functools
import heapq
import math
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from paddle.jit.source.errors import ConversionError, place_of
from paddle.jit.source.hidden_state import flag_of
from paddle.jit.source.iterables import Listed, Traced, as_traced, enumerate_, range_, reversed_, zip_
from paddle.jit.source.join import dtype_for
from paddle.jit.source.logic import and_, are_integers, or_
from paddle.jit.source.namespaces import namespace, value_or
from paddle.jit.source.values import Conditional, array_of, asked, in_region, is_unknown, read, truth
from paddle.jit.source.world import ABSENT, world
from paddle.tensor._tensor_array import TensorArray
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir import size_array, sym
from umiak.ir.expr import NumberUnknown
from umiak.ir.sym import Sym
from umiak.ir.tracer import DataUnknown, SymTensor
from umiak.runtime.capture import CaptureError
from umiak.util import pytree
from umiak.util.errors import op_error


def _one(name: str, x: Tensor) -> Tensor:
    """The only element of a tensor."""
    if any(type(n) is not Sym and n != 1 for n in x.shape):
        raise ConversionError(
            f"[to_static] requires a tensor with one element for {name}() at {place_of()}, got shape {list(x.shape)}"
        )
    return F.reshape(x, shape=()) if x.ndim else x


def _int(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and not kwargs and is_unknown(args[0]):
        return F.cast(_one("int", args[0]), dtype=dt.int64)
    if len(args) == 1 and not kwargs and type(args[0]) is Sym:
        return sym.to_int(args[0])
    return int(*args, **kwargs)


def _float(*args: Any) -> Any:
    if len(args) == 1 and is_unknown(args[0]):
        x = _one("float", args[0]).detach()  # a number has no history
        return x if x.dtype.is_floating else F.cast(x, dtype=dtype_for(2))
    if len(args) == 1 and type(args[0]) is Sym:
        return sym.to_float(args[0])
    return float(*args)


def item_of(x: Tensor, *at: int) -> Any:
    """``x.item(*at)``: a number where it is known, otherwise a tensor of one element, which has no history either."""
    tracer = x._tracer if isinstance(x, SymTensor) and world().is_simulated else None
    try:
        if tracer is not None and tracer.elements(x) is None:  # type: ignore[arg-type]
            raise DataUnknown  # it is read where a size is needed, and not before
        return x.item(*at)
    except (DataUnknown, CaptureError):
        if not at:
            return _one("item", x).detach()
        if len(at) not in (1, x.ndim):
            raise op_error(ValueError, "item", f"one index, or one for each dim of shape {list(x.shape)}", at) from None
        return (x.flatten() if len(at) == 1 else x)[at].detach()


def numpy_of(x: Tensor, blocking: bool = True) -> Any:
    """``x.numpy()``: an array where it is known, otherwise a tensor of its own, which has no history either."""
    return x.detach().clone() if is_unknown(x) else x.numpy(blocking)


# Methods of tensors that give Python's or NumPy's objects, by name.
READ_BY: dict[str, Callable[..., Any]] = {"item": item_of, "numpy": numpy_of}


def _bool(*args: Any) -> Any:
    x = asked(args[0]) if len(args) == 1 else None
    return truth(x) if is_unknown(x) else bool(*args)


def _len(x: Any) -> Any:
    x = array_of(x)
    if is_unknown(x) and x.ndim:
        return x.shape[0]
    return x.length() if isinstance(x, (Traced, TensorArray)) else len(x)


def _sum(x: Any, /, start: Any = 0) -> Any:
    if isinstance(x, TensorArray) and x.data is not None:
        data = F.cast(x.data, dtype=dt.int64) if x.data.dtype.is_bool else x.data
        return F.sum(data, axes=(0,)) + start
    return sum(x, start)


def _list(*args: Any) -> Any:
    x = array_of(args[0]) if len(args) == 1 else None
    if isinstance(x, Listed):
        x = x.array
    return x.copy() if type(x) is TensorArray else list(*args)


def copied(x: Any) -> Any:
    """A list of what there is in ``x``, which may be a list whose length data decide."""
    x = array_of(x)
    return x.copy() if type(x) is TensorArray else list(world().iterate(x))


def _of_list(f: Any) -> Callable[..., Any]:
    """A method of lists that is called by the class, as in ``list.append(b, x)``."""

    def call(x: Any, /, *args: Any, **kwargs: Any) -> Any:
        x = array_of(x)
        return getattr(x, f.__name__)(*args, **kwargs) if type(x) is TensorArray else f(x, *args, **kwargs)

    return call


_METHODS = (
    list.append, list.extend, list.insert, list.pop, list.clear, list.copy, list.reverse, list.remove, list.index,
    list.count, list.sort,
)  # fmt: skip
OF_LISTS = {f: _of_list(f) for f in _METHODS}


def _sorted(x: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    x = array_of(x)
    if type(x) is not TensorArray:
        return sorted(x, key=key, reverse=reverse)
    out = x.copy()
    out.sort(key=key, reverse=reverse)
    return out


def _isinstance(x: Any, kinds: Any, /) -> bool:
    x = read(x)
    return issubclass(list, kinds) if type(x) is TensorArray else isinstance(x, kinds)


def _type(*args: Any, **kwargs: Any) -> Any:
    if len(args) != 1 or kwargs:
        return type(*args, **kwargs)
    x = read(args[0])
    return list if type(x) is TensorArray else type(x)


def _getattr(x: Any, name: str, /, *default: Any) -> Any:
    """``getattr``, of an attribute that may be there, too."""
    value = getattr(x, name, *default)
    if name == "stop_gradient":
        return flag_of(x)
    if name == "__dict__":
        return namespace(value)
    return value_or(value, name, *default) if default else value


def _hasattr(x: Any, name: str, /) -> Any:
    value = getattr(x, name, ABSENT)
    return value.defined if type(value) is Conditional else value is not ABSENT


def _of_lists(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that compares the items of a list, which becomes an array of no order known."""

    def call(x: Any, /, *args: Any, **kwargs: Any) -> Any:
        if type(array_of(x)) is TensorArray:
            required = "a list that no loop or branch on tensors changes the length of"
            advice = (
                "Append to the list, and call paddle.sort, paddle.topk or paddle.searchsorted of paddle.stack of it."
            )
            raise op_error(
                TypeError, f"{f.__module__.lstrip('_')}.{f.__name__}", required, "one that is changed so", advice
            )
        return f(x, *args, **kwargs)

    call.__name__, call.__qualname__ = f.__name__, f.__qualname__  # its module stays ours: simulated code enters others
    return call


def are_open_sizes(those: Any) -> bool:
    """Return whether integers are symbolic and no guard may tell which of them is larger."""
    if not any(type(x) is Sym and not x.hinted for x in those):
        return False
    return are_integers(those)


def _extreme(function: Callable[..., Any], op: Any, of_sizes: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and is_stacked(args[0]):
            return array_of(args[0]).extreme(function.__name__)
        those = args if len(args) > 1 else tuple(args[0]) if isinstance(args[0], (list, tuple)) else ()
        if are_open_sizes(those) and not kwargs:
            return functools.reduce(of_sizes, those)
        if kwargs or not any(is_unknown(x) for x in those):
            return function(*args, **kwargs)
        return functools.reduce(op, those)

    return run


def _smaller(x: Any, y: Any) -> Any:
    return _either(y < x, y, x)


def _larger(x: Any, y: Any) -> Any:
    return _either(y > x, y, x)


def _either(test: Any, a: Any, b: Any) -> Any:
    from paddle.jit.source.branches import choose

    return choose(test, lambda: a, lambda: b)


def is_stacked(x: Any) -> bool:
    """Return whether something is a list whose length data decide."""
    x = array_of(x)
    return type(x) is TensorArray and x.data is not None


def _all(those: Any) -> Any:
    if is_stacked(those):
        return array_of(those).truths("all")
    items = _until(those, False)
    return and_(True, *[lambda x=x: _bool(x) for x in items]) if any(map(is_unknown, items)) else all(items)


def _any(those: Any) -> Any:
    if is_stacked(those):
        return array_of(those).truths("any")
    items = _until(those, True)
    return or_(False, *[lambda x=x: _bool(x) for x in items]) if any(map(is_unknown, items)) else any(items)


def _until(those: Any, decides: bool) -> list[Any]:
    """The items up to the one whose known truth decides, behind which an iterator is not asked."""
    items: list[Any] = []
    for x in those:
        items.append(asked(x))
        if not is_unknown(items[-1]) and bool(items[-1]) is decides:
            break
    return items


def _print(*args: Any, sep: str | None = None, end: str | None = None, file: Any = None, flush: bool = False) -> None:
    tensors = [x for x in pytree.leaves(args) if is_unknown(x)]
    if not tensors and not in_region() and not world().is_simulated:
        print(*args, sep=sep, end=end, file=file, flush=flush)
        return
    if file not in (None, sys.stdout):
        raise ConversionError(
            f"[to_static] requires print of tensors to the standard output, got a file at {place_of()}"
        )
    text = (" " if sep is None else sep).join(world().call(str, pytree.map(_marked, x)) for x in args) + (
        "\n" if end is None else end
    )
    F.write_text(tensors, pieces=tuple(text.split(_MARK)), stops=tuple(x.stop_gradient for x in tensors))


_MARK = "\0tensor\0"


class _Marked:
    def __repr__(self) -> str:
        return _MARK


def _marked(x: Any) -> Any:
    return _Marked() if is_unknown(x) else x


# Functions of NumPy that make arrays of as many elements as their arguments say, and those that take open sizes.
_MADE_BY: dict[int, str] = {
    id(np.zeros): "paddle.zeros", id(np.ones): "paddle.ones", id(np.empty): "paddle.empty", id(np.full): "paddle.full",
    id(np.arange): "paddle.arange", id(np.linspace): "paddle.linspace", id(np.eye): "paddle.eye",
}  # fmt: skip


_REPEATED_BY: dict[int, str] = {id(np.repeat): "paddle.repeat_interleave", id(np.tile): "paddle.tile"}


def _holds_open(values: Iterable[Any]) -> bool:
    """Return whether there is a number among values, or in sequences of them, that no guard may tell."""
    return any(
        not x.hinted if type(x) is Sym else isinstance(x, (list, tuple, size_array.SizeArray)) and _holds_open(x)
        for x in values
    )


def _maker(f: Any, ours: str) -> Any:
    def make(*args: Any, **kwargs: Any) -> Any:
        if _holds_open((*args, *kwargs.values())):
            required = "sizes that are declared, as an array of NumPy has its elements when a program is recorded"
            raise op_error(TypeError, f"numpy.{f.__name__}", required, "one that is open", f"Call {ours} of it.")
        return f(*args, **kwargs)

    return make


def _repeater(f: Any, ours: str) -> Any:
    made = _maker(f, ours)
    computed = size_array.computes(f)

    def repeat(x: Any, *counts: Any, **kwargs: Any) -> Any:
        if _holds_open((*counts, *kwargs.values())):
            return made(x, *counts, **kwargs)
        return (f if computed is None else computed)(x, *counts, **kwargs)

    return repeat


def of_numpy(f: Any) -> Any:
    """A function of NumPy as one that takes symbolic numbers, too; None for what has no such form."""
    if (ours := _MADE_BY.get(id(f))) is not None:
        return _maker(f, ours)
    if id(f) in _REPEATED_BY:
        return _repeater(f, _REPEATED_BY[id(f)])
    if f is np.isscalar:
        return lambda x: type(x) is Sym or np.isscalar(x)
    computed = size_array.computes(f)
    if computed is None:
        return None
    return lambda *args, **kwargs: (
        computed(*args, **kwargs) if size_array.holds_symbols((*args, *kwargs.values())) else f(*args, **kwargs)
    )


def of_math(f: Any) -> Any:
    """A function of ``math`` as one that takes symbolic numbers, too; None for what has no such form."""
    if not callable(f):
        return None
    computed = _OF_MATH.get(f)

    def run(*args: Any, **kwargs: Any) -> Any:
        if not _holds_open((*args, *kwargs.values())) and not any(type(x) is Sym for x in args):
            return f(*args, **kwargs)
        if computed is not None and not kwargs:
            return computed(*args)
        try:
            return f(*args, **kwargs)
        except NumberUnknown:
            got = "one that open sizes decide"
            raise op_error(TypeError, f"math.{f.__name__}", "numbers that are declared", got, _advice(f)) from None

    return run


# Functions of ``math`` that ``paddle`` has for tensors.
_WITH_TENSORS = frozenset(
    "log log2 log10 log1p exp expm1 sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf lgamma hypot "
    "gcd lcm ldexp copysign isfinite isinf isnan isclose".split()
)


def _advice(f: Any) -> str:
    if f.__name__ in _WITH_TENSORS:
        return f"Call paddle.{f.__name__} of a tensor, as paddle.full([], n), or declare the sizes."
    return "Compute it with tensors, or declare the sizes."


def _root(x: Any) -> Any:
    if x < 0:
        raise ValueError("math domain error")
    return sym.to_float(x) ** 0.5


def _whole_root(x: Any) -> Any:
    return sym.to_int(_root(x))  # roots are rounded to the nearest float: exact below 2 ** 52


_OF_MATH: dict[Callable[..., Any], Callable[..., Any]] = {
    math.sqrt: _root,
    math.isqrt: _whole_root,
    math.fabs: lambda x: abs(sym.to_float(x)),
    math.pow: lambda x, y: sym.to_float(x) ** sym.to_float(y),
    math.degrees: lambda x: sym.to_float(x) * (180.0 / math.pi),
    math.radians: lambda x: sym.to_float(x) * (math.pi / 180.0),
    math.floor: math.floor,
    math.ceil: math.ceil,
    math.trunc: math.trunc,
    math.prod: math.prod,
}


def replaces(f: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> bool:
    """Return whether a call of a built-in function is one of those that differ for tensors."""
    if f is builtins.print:
        return True
    if f in (int, float, bool, len):
        return len(args) == 1 and (is_unknown(args[0]) or isinstance(array_of(args[0]), (Traced, TensorArray)))
    if f in (isinstance, type):
        return type(args[0]) is TensorArray
    if f in OF_LISTS:
        return type(array_of(args[0])) is TensorArray
    if f in (max, min, all, any, list, sorted) and len(args) == 1 and is_stacked(args[0]):
        return True
    if f is sum:
        return bool(args) and isinstance(args[0], TensorArray)
    if f is range:
        return any(is_unknown(x) or type(x) is Sym for x in args)
    if f in (min, max, all, any):
        items = args if len(args) > 1 else args[0] if args and isinstance(args[0], (list, tuple)) else ()
        return not kwargs and (any(map(is_unknown, items)) or (f in (min, max) and are_open_sizes(items)))
    those = (*args, *kwargs.values())
    return any(as_traced(x) is not None for x in those) or (f is enumerate and any(map(is_unknown, those[1:])))


# By the id of what the user's text calls.
TABLE: dict[int, Callable[..., Any]] = {
    id(builtins.print): _print, id(int): _int, id(float): _float, id(bool): _bool, id(len): _len,
    id(range): range_, id(enumerate): enumerate_, id(zip): zip_, id(reversed): reversed_,
    id(min): _extreme(min, _smaller, sym.minimum), id(max): _extreme(max, _larger, sym.maximum),
    id(all): _all, id(any): _any, id(sum): _sum, id(isinstance): _isinstance, id(type): _type,
    **{id(f): of_list for f, of_list in OF_LISTS.items()},
    id(list): _list, id(sorted): _sorted, id(getattr): _getattr, id(hasattr): _hasattr,
    **{id(f): _of_lists(f) for f in (
        heapq.heappush, heapq.heappop, heapq.heapify, heapq.heapreplace, heapq.heappushpop, bisect.bisect_left,
        bisect.bisect_right, bisect.insort_left, bisect.insort_right,
    )},
}  # fmt: skip
