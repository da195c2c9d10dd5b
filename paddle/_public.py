"""The one form in which a public name is declared: a row at its function or class.

    @public(op=F.Acos())
    def acos(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor: ...

    acos_ = inplace(acos)
    arccos = also(acos, "arccos")

The signature is the one that callers see. ``exported_by`` names the modules that export it. The lists in ``__init__``
files, methods of tensors, stubs and checks are made of these rows (docs/design/public_api.md).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import wraps
from types import FunctionType
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np

from paddle._documents import indented
from umiak import ops
from umiak.core.context import current, no_grad_guard
from umiak.core.direct import Direct, by_axis, by_ints, by_op, by_operator, by_reduction, overwrite, with_other_order
from umiak.core.inplace import assign
from umiak.core.inplace import rebind as rebind_tensor
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ops.promotion import cast
from umiak.util.errors import OperandError, op_error

T = TypeVar("T")
F = TypeVar("F", bound=Callable)

EVERYWHERE = "paddle paddle.tensor Tensor"
_MOST = 1 << 30  # operands
_ANY_ARGUMENTS = 0x4 | 0x8  # of the flags of code: *args, **kwargs
INTS = (int, np.integer)

# Keywords that stand for parameters of these names: those of another framework, which the reference takes as well.
USUAL = {"input": "x", "other": "y", "dim": "axis"}


class OtherOrder(NamedTuple):
    """Calls of a function with its arguments in another order, that of PyTorch: ``gather(x, 1, index)``.

    ``function`` takes them; its ``out``, which the declaration writes, is keyword-only. A call is of this order where
    it has one of ``keywords``, or where what stands at position ``at`` is an instance of ``types``.
    """

    function: Callable
    keywords: frozenset[str] = frozenset()
    at: int = _MOST
    types: tuple[type, ...] = ()

    def takes(self, args: tuple, kwargs: dict[str, Any]) -> bool:
        """Return whether a call is of this order."""
        return not self.keywords.isdisjoint(kwargs) or (len(args) > self.at and isinstance(args[self.at], self.types))


class Row(NamedTuple):
    """A declared name."""

    name: str
    value: Any
    home: str  # the module that defines it
    exported_by: tuple[str, ...]  # modules that export it, and "Tensor" for a method
    base: Any = None  # what it writes in place, or is another name of
    reshapes: bool = False  # in place: only the shape changes


ROWS: list[Row] = []
_MISSING: Any = object()  # no argument
# The names that each module exports, of the defining modules that are loaded.
EXPORTS: dict[str, dict[str, Any]] = {}


def _declare(name: str, value: Any, home: str, exported_by: str, base: Any = None, reshapes: bool = False) -> None:
    row = Row(name, value, home, tuple(exported_by.split()), base, reshapes)
    ROWS.append(row)
    for owner in row.exported_by:
        if owner == "Tensor":
            setattr(Tensor, name, value)
        else:
            EXPORTS.setdefault(owner, {})[name] = value


# --- functions and classes -----------------------------------------------------------------------------------------


@overload
def public(exported_by: F) -> F: ...
@overload
def public(
    exported_by: str = EVERYWHERE,
    *,
    name: str | None = None,
    aliases: Mapping[str, str] = ...,
    usual: bool = True,
    ints_from: int | None = None,
    op: Any = None,
    operands: int = -1,
    operator: str | None = None,
    along: tuple[Any, int] | None = None,
    reduction: Any = None,
    ints: dict[Any, Any] | None = None,
    other_order: OtherOrder | None = None,
    takes_out: bool = False,
    own_out: bool = False,
) -> Callable[[T], T]: ...
def public(
    exported_by: Any = EVERYWHERE,
    *,
    name: str | None = None,
    aliases: Mapping[str, str] = {},
    usual: bool = True,
    ints_from: int | None = None,
    op: Any = None,
    operands: int = -1,
    operator: str | None = None,
    along: tuple[Any, int] | None = None,
    reduction: Any = None,
    ints: dict[Any, Any] | None = None,
    other_order: OtherOrder | None = None,
    takes_out: bool = False,
    own_out: bool = False,
) -> Any:
    """Declare a function or a class.

    Args:
        exported_by: modules that export the name, and ``Tensor`` if it is a method.
        name: what it is called there, if not what it is called here.
        aliases: keywords that stand for parameters, of a class for those of its constructor.
        usual: whether the keywords of ``USUAL`` stand for parameters, too.
        ints_from: separate ints from this position on are one argument: ``zeros(2, 3)``.
        op: a call with nothing but operands (at least ``operands``, by default all) runs this op; its AMP class holds.
        operator: a call with two operands runs this operator of tensors, which promotes dtypes.
        along: a dict of ops by axis, and the default axis; a call with a tensor and an axis runs the op of that axis.
        reduction: a dict of ops by axes, for a reduction.
        ints: a dict of ops by a list or tuple of ints; the function itself enters new ones.
        other_order: a second function, for calls in another order of arguments.
        takes_out: the keyword ``out`` is taken, though the signature does not show it, as that of the reference.
        own_out: a parameter ``out`` is one like others.

    A parameter ``out`` is written with the result, and returned, unless it is the function's own.
    """
    if not isinstance(exported_by, str):
        return _public(exported_by, EVERYWHERE, None, {}, True, None)
    home = sys._getframe(1).f_globals["__name__"]  # the __module__ of a class may be set to another one

    def declare(value: Any) -> Any:
        if isinstance(value, type):
            if aliases:
                _name_otherwise(value, aliases)
            _declare(name or value.__name__, value, home, exported_by)
            return value
        fast = (op, operands, operator, along, reduction, ints)
        return _public(value, exported_by, name, aliases, usual, ints_from, *fast, other_order, takes_out, own_out)

    return declare


def _public(
    fn: Any,
    exported_by: str,
    name: str | None,
    aliases: Mapping[str, str],
    usual: bool,
    ints_from: int | None,
    op: Any = None,
    operands: int = -1,
    operator: str | None = None,
    along: Any = None,
    reduction: Any = None,
    ints: dict[Any, Any] | None = None,
    other_order: OtherOrder | None = None,
    takes_out: bool = False,
    own_out: bool = False,
) -> Any:
    code = fn.__code__
    by_position = code.co_varnames[: code.co_argcount]
    params = parameters(fn)
    known = {**USUAL, **aliases} if usual else aliases
    also_named = () if other_order is None else parameters(other_order.function)
    table = {a: p for a, p in known.items() if p in params and a not in params and a not in also_named}
    writes = takes_out or ("out" in params and not own_out)
    shown = fn
    special = (ints_from, op, operator, along, reduction, ints, other_order)
    if table or writes or any(given is not None for given in special):
        out = by_position.index("out") if "out" in by_position else _MOST
        first = -1 if ints_from is None else ints_from
        required = by_position[: len(by_position) - len(fn.__defaults__ or ())]
        keywords = {*table, "out"} if writes else {*table}
        shown = Direct(fn, _normalised_call, frozenset(keywords), out, first, required)
        shown._aliases, shown._ints, shown._out, shown._other = table, first, out, other_order
        if other_order is not None:
            # Errors name the function that the user called by the name of the code that runs.
            other_order.function.__code__ = other_order.function.__code__.replace(co_name=fn.__name__)
            with_other_order(shown, other_order.keywords, other_order.at, other_order.types)
        if table:
            others = ", ".join(f"``{alias}`` for {p}" for alias, p in table.items())
            shown.__doc__ = f"{indented(fn.__doc__).rstrip()}\n\n    Other keywords: {others}.\n    "
        if takes_out:
            written = "A tensor given as ``out`` is written with the result, and returned."
            shown.__doc__ = f"{indented(shown.__doc__).rstrip()}\n\n    {written}\n    "
        if other_order is not None:
            order = ", ".join(p for p in also_named if p != "out")
            shown.__doc__ = (
                f"{indented(shown.__doc__).rstrip()}\n\n    In PyTorch's order: ``{fn.__name__}({order})``.\n    "
            )
        if op is not None:
            by_op(shown, op, operands)
        elif operator is not None:
            by_operator(shown, operator)
        elif along is not None:
            by_axis(shown, *along)
        elif reduction is not None:
            by_reduction(shown, reduction)
        elif ints is not None:
            by_ints(shown, ints)
    _declare(name or fn.__name__, shown, fn.__module__, exported_by)
    return shown


def constants(exported_by: str, home: str, values: Mapping[str, Any]) -> None:
    """Declare values that are neither functions nor classes."""
    for name, value in values.items():
        _declare(name, value, home, exported_by)


def parameters(fn: Callable) -> tuple[str, ...]:
    """Names of the parameters of a Python function."""
    code = fn.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def also(value: T, name: str, exported_by: str = EVERYWHERE) -> T:
    """Declare another name of a function or class."""
    _declare(name, value, sys._getframe(1).f_globals["__name__"], exported_by, value)
    return value


# --- calls that are not as the function takes them -----------------------------------------------------------------


def _normalised_call(shown: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call the function of ``shown`` with arguments that have aliases, ``out`` or separate ints."""
    table, ints, at, fn, other = shown._aliases, shown._ints, shown._out, shown.function, shown._other
    if other is not None and other.takes(args, kwargs):
        fn, ints, at = other.function, -1, _MOST
    if not table.keys().isdisjoint(kwargs):
        kwargs = rename(shown.__name__, table, kwargs)
    if ints >= 0 and len(args) > ints + 1 and _is_int(args[ints]) and _is_int(args[ints + 1]):
        args = (*args[:ints], args[ints:])
    out = kwargs.pop("out", None)
    if len(args) > at:
        out = args[at]
        args = (*args[:at], None, *args[at + 1 :])
    if out is None:
        return fn(*args, **kwargs)
    wanted = kwargs.pop("requires_grad", False)
    written = into(out, fn(*args, **kwargs))
    if wanted:
        written.stop_gradient = False
    return written


def rename(op: str, table: Mapping[str, str], given: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords under the names that the signature has."""
    out: dict[str, Any] = {}
    for key, value in given.items():
        target = table.get(key, key)
        if target in out or (target != key and target in given):
            raise op_error(TypeError, op, f"one of {target!r} and {key!r}", "both")
        out[target] = value
    return out


def other_keywords(**table: str) -> Callable[[F], F]:
    """Let a method take these keywords for parameters as well."""

    def declare(fn: F) -> F:
        @wraps(fn)
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not table.keys().isdisjoint(kwargs):
                kwargs = rename(type(self).__name__ if fn.__name__ == "__init__" else fn.__name__, table, kwargs)
            return fn(self, *args, **kwargs)

        made: Any = method
        made._aliases = table
        return made

    return declare


def _name_otherwise(cls: Any, table: Mapping[str, str]) -> None:
    """Let the constructor of a class take keywords of ``table`` as well."""
    cls.__init__ = other_keywords(**table)(cls.__init__)
    others = ", ".join(f"``{alias}`` for {p}" for alias, p in table.items())
    cls.__doc__ = f"{indented(cls.__doc__).rstrip()}\n\n    Other keywords: {others}.\n    "


def _is_int(x: Any) -> bool:
    return (isinstance(x, INTS) and not isinstance(x, bool)) or (isinstance(x, Tensor) and x.ndim == 0)


def into(out: Any, value: Any) -> Any:
    """Write ``value`` into ``out`` (a tensor, or as many as there are values), and return what was written."""
    if isinstance(value, (tuple, list)):
        for o, v in zip(out, value, strict=True):
            into(o, v)
        return type(value)(*out) if hasattr(value, "_fields") else out
    if not isinstance(out, Tensor):
        raise op_error(TypeError, "out", "a Tensor", type(out).__name__)
    return rebind(out, value if out.dtype is value.dtype else cast(value, out.dtype))


def rebind(x: Tensor, value: Tensor) -> Tensor:
    """Write ``value`` into ``x``; where shape or dtype differ, ``x`` takes its memory and history. Returns ``x``."""
    dense = type(x) is type(value) is Tensor
    if x.dtype is value.dtype and (x.shape == value.shape if dense else _sizes_are_equal(x, value)):
        return assign(x, value)
    context = current()
    if context.grad_enabled or x.stop_gradient or x.is_leaf:
        return rebind_tensor(x, value)
    context.grad_enabled = True
    try:
        return rebind_tensor(x, _continued(x, value))
    finally:
        context.grad_enabled = False


def _sizes_are_equal(x: Tensor, y: Tensor) -> bool:
    """Of open sizes in programs: whether they are known to be, as a program is for both."""
    sizes = list(zip(x.shape, y.shape, strict=False))
    is_open = any(isinstance(n, dim.Sym) and not n.hinted for pair in sizes for n in pair)
    return x.shape == y.shape if not is_open else x.ndim == y.ndim and all(dim.same(m, n) for m, n in sizes)


def _continued(x: Tensor, value: Tensor) -> Tensor:
    """A ``value`` written in ``no_grad``, with the history of ``x``, which stays: gradients come to it in its own dtype
    and shape. A value of another number of elements has none.
    """
    if not dim.same(x._count, value._count):
        return value
    made = ops.copy(x) if x.dtype is value.dtype else cast(x, value.dtype)
    if not (len(x.shape) == len(value.shape) and all(map(dim.same, x.shape, value.shape))):
        made = ops.reshape(made, tuple(value.shape))
    with no_grad_guard():
        return assign(made, value)


def need_tensor(x: Any, op: str, arg_name: str = "x") -> Tensor:
    """Return ``x`` if it is a tensor; otherwise raise TypeError."""
    if not isinstance(x, Tensor):
        raise op_error(OperandError, op, f"a Tensor for {arg_name}", type(x).__name__) from None
    return x


# --- in-place forms ------------------------------------------------------------------------------------------------


def inplace(
    base: F,
    exported_by: str = EVERYWHERE,
    *,
    name: str | None = None,
    reshapes: bool = False,
    any_shape: bool = False,
    keeps_out: bool = False,
    by: Callable[..., Tensor] | None = None,
    write: Callable[..., Tensor] = overwrite,
) -> F:
    """Declare the in-place form: ``acos_(x)`` writes ``acos(x)`` into ``x`` and returns it.

    Gradients pass, as the write becomes part of the history of x; where the derivative needs the old elements, they are
    kept. A leaf with ``stop_gradient=False`` is refused outside ``no_grad``.

    Args:
        base: the function.
        exported_by: as for :func:`public`.
        name: by default that of the function and an underscore.
        reshapes: only the shape changes: the memory is left alone, and views taken before stay views of it.
        any_shape: x takes the shape of the result; without it, results of another shape are refused.
        keeps_out: the signature shows ``out``.
        by: what is computed, if it is not ``base``: its dtype may be another. Its signature is shown, unless it takes
            any arguments.
        write: ``write(function, x, args, kwargs, differs)``, as of :func:`umiak.core.direct.overwrite`.
    """
    compute = by or base
    label = name or base.__name__ + "_"
    # What the forms use are variables of this function: their globals are those of the module that declares them, where
    # errors find them by name.
    need, write_other, take, refuse, value_error, missing, named = (
        need_tensor,
        rebind,
        rebind_tensor,
        op_error,
        ValueError,
        _MISSING,
        rename,
    )
    keeps_kind = _check_numbers

    def written(x: Any = missing, /, *args: Any, **kwargs: Any) -> Any:
        if x is missing:
            x = first(kwargs)
        return write(compute, need(x, label), args, kwargs, differs)

    def differs(x: Tensor, args: tuple, kwargs: dict[str, Any], value: Tensor) -> Tensor:
        """The result has another shape or dtype."""
        if value.dtype is not x.dtype:
            keeps_kind(label, x, (*args, *kwargs.values()), value)
        if value.shape != x.shape and not any_shape:
            raise refuse(value_error, label, f"a result of the tensor's shape {list(x.shape)}", value.shape)
        return write_other(x, value)

    def reshaped(x: Any = missing, /, *args: Any, **kwargs: Any) -> Any:
        if x is missing:
            x = first(kwargs)
        return take(x, base(need(x, label), *args, **kwargs))

    def first(kwargs: dict[str, Any]) -> Any:
        """The tensor that is written, given by a keyword."""
        renamed = named(label, aliases, kwargs)
        if parameter not in renamed:
            raise refuse(TypeError, label, f"a Tensor for {parameter}", "nothing")
        kwargs.clear()
        kwargs.update(renamed)
        return kwargs.pop(parameter)

    made: Any = reshaped if reshapes else written
    source: Any = getattr(base, "function", base)
    aliases = getattr(base, "_aliases", {})
    parameter = source.__code__.co_varnames[0]
    named_so = ("co_name", "co_qualname") if sys.version_info >= (3, 11) else ("co_name",)
    code = made.__code__.replace(**dict.fromkeys(named_so, label))
    fn: Any = FunctionType(code, source.__globals__, label, made.__defaults__, made.__closure__)
    fn.__qualname__ = label
    fn.__module__ = source.__module__
    fn.__doc__ = f"Write :func:`{source.__name__}` of the first tensor into it, and return it."
    fn._aliases = aliases
    shown = by if by is not None and not by.__code__.co_flags & _ANY_ARGUMENTS else source
    fn.__wrapped__ = shown if keeps_out else _without_out(shown)
    _declare(label, fn, source.__module__, exported_by, base, reshapes)
    return fn


def _check_numbers(op: str, x: Tensor, args: tuple, value: Tensor) -> None:
    """Refuse a number of another kind than the tensor that is written: only a tensor changes its dtype."""
    d, kind = x.dtype, value.dtype
    for number in args:
        if (
            (isinstance(number, complex) and kind.is_complex and not d.is_complex)
            or (isinstance(number, float) and kind.is_floating and not d.is_floating)
            or (type(number) is int and d.name == "bool" and kind.name != "bool")
        ):
            raise op_error(OperandError, op, f"a number that keeps the dtype {d.name}", number)


_shown: dict[str, Any] = {}


def _without_out(fn: Any) -> Any:
    """A function that shows the signature of ``fn`` but for ``out``."""
    code = fn.__code__
    if "out" not in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        return fn
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
    shown = _shown.get(text)
    if shown is None:
        shown = _shown[text] = eval(f"lambda {text}: None")
    return shown
