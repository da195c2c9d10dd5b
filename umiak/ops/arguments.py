"""Arguments of a call as what a program holds: operands, ints, floats, and a form that says where each stands.

An entry of a form is the letter of a tensor, an int, a float or a complex number (which is two floats);
``("=", value)`` for what belongs to the operator's identity: None, bools, strings, dtypes; ``("@", type, id)`` for a
place; or ``("[", …)`` and ``("(", …)`` for a list and a tuple of entries. So numbers are no part of the form.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from umiak.core.dtype import DType
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym

TENSOR, INT, FLOAT, COMPLEX, FIXED, PLACE, LIST, TUPLE = "xifc=@[("


class Parts:
    """The form of a call, and its tensors, ints and floats. ``scalars``: numbers of NumPy were among the arguments."""

    __slots__ = ("floats", "form", "ints", "scalars", "tensors")

    def __init__(self) -> None:
        self.scalars = False
        self.form: tuple = ()
        self.tensors: list[Any] = []
        self.ints: list[Any] = []
        self.floats: list[Any] = []


def taken_apart(args: Sequence[Any], refuse: Callable[[int, Any], Exception]) -> Parts:
    """The parts of arguments. ``refuse(position, value)`` makes the error for what no program can hold."""
    parts = Parts()
    parts.form = tuple(_entry(parts, x, functools.partial(refuse, i)) for i, x in enumerate(args))
    return parts


def _entry(parts: Parts, x: Any, refuse: Callable[[Any], Exception]) -> Any:
    if isinstance(x, Tensor):
        parts.tensors.append(x)
        return TENSOR
    if x is None or isinstance(x, (bool, str, DType)):
        return (FIXED, x)
    if type(x) is Sym:
        if x.kind == "bool":
            return (FIXED, bool(x))  # the scope of the trace guards it
        (parts.ints if x.kind == "int" else parts.floats).append(x)
        return INT if x.kind == "int" else FLOAT
    if isinstance(x, np.generic):
        parts.scalars = True
        return _entry(parts, x.item(), refuse) if isinstance(x, (np.number, np.bool_)) else _refused(x, refuse)
    if isinstance(x, int):
        parts.ints.append(int(x))
        return INT
    if isinstance(x, float):
        parts.floats.append(float(x))
        return FLOAT
    if isinstance(x, complex):
        parts.floats += [x.real, x.imag]
        return COMPLEX
    if isinstance(x, Place):
        return (PLACE, x.device_type, x.device_id)
    if isinstance(x, (list, tuple)):
        return (TUPLE if isinstance(x, tuple) else LIST, *(_entry(parts, item, refuse) for item in x))
    return _refused(x, refuse)


def _refused(x: Any, refuse: Callable[[Any], Exception]) -> Any:
    raise refuse(x)


def put_together(form: Sequence[Any], tensors: Sequence[Any], ints: Sequence[Any], floats: Sequence[Any]) -> list[Any]:
    """The arguments that have these parts."""
    sources = iter(tensors), iter(ints), iter(floats)
    return [_value(entry, *sources) for entry in form]


def _value(entry: Any, tensors: Iterator, ints: Iterator, floats: Iterator) -> Any:
    if entry == TENSOR:
        return next(tensors)
    if entry == INT:
        return next(ints)
    if entry == FLOAT:
        return next(floats)
    if entry == COMPLEX:
        return complex(next(floats), next(floats))
    if entry[0] == FIXED:
        return entry[1]
    if entry[0] == PLACE:
        return Place(entry[1], entry[2])
    items = [_value(item, tensors, ints, floats) for item in entry[1:]]
    return items if entry[0] == LIST else tuple(items)


def counts(form: Sequence[Any]) -> tuple[int, int, int]:
    """The numbers of tensors, ints and floats of a form. ValueError for one that is none."""
    tensors = ints = floats = 0
    for entry in form:
        if entry in (TENSOR, INT, FLOAT, COMPLEX):
            tensors, ints = tensors + (entry == TENSOR), ints + (entry == INT)
            floats += {FLOAT: 1, COMPLEX: 2}.get(entry, 0)
        elif type(entry) is tuple and entry and entry[0] in (LIST, TUPLE):
            inner = counts(entry[1:])
            tensors, ints, floats = tensors + inner[0], ints + inner[1], floats + inner[2]
        elif not (type(entry) is tuple and entry and len(entry) == {FIXED: 2, PLACE: 3}.get(entry[0])):
            raise ValueError(f"{entry!r} is no entry of a form of arguments")
    return tensors, ints, floats


def tensors_in(args: Sequence[Any]) -> list[Any]:
    """The tensors among arguments, in their order."""
    collected: list[Any] = []
    for x in args:
        if isinstance(x, Tensor):
            collected.append(x)
        elif isinstance(x, (list, tuple)):
            collected += tensors_in(x)
    return collected


def is_flat(form: Sequence[Any]) -> bool:
    """Return whether each argument is a tensor, an int or a float."""
    return all(entry in (TENSOR, INT, FLOAT) for entry in form)


def positions_of(form: Sequence[Any]) -> dict[str, list[int]]:
    """Of a flat form, the positions of tensors, ints and floats."""
    return {letter: [i for i, entry in enumerate(form) if entry == letter] for letter in (TENSOR, INT, FLOAT)}


def sorter(form: Sequence[Any]) -> Callable[[tuple], tuple[tuple, tuple[tuple, tuple]]]:
    """Return a function of the arguments of a flat form: ``(tensors, (ints, floats))``. It is one expression, since a
    loop costs as much as a call of an op."""
    parts = ["(" + "".join(f"a[{i}]," for i in at) + ")" for at in positions_of(form).values()]
    return eval(f"lambda a: ({parts[0]}, ({parts[1]}, {parts[2]}))")


def caller(form: Sequence[Any], body: Callable[..., Any]) -> Callable[[tuple, tuple], Any]:
    """Return the function ``(tensors, (ints, floats))`` that calls ``body`` with the arguments of a flat form."""
    sources = {TENSOR: "x", INT: "n[0]", FLOAT: "n[1]"}
    items = [""] * len(form)
    for letter, at in positions_of(form).items():
        for k, i in enumerate(at):
            items[i] = f"{sources[letter]}[{k}]"
    return eval(f"lambda x, n: body({', '.join(items)})", {"body": body})
