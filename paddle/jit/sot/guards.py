"""Guards: what a capture has read, as one flat function that a later call is compared by.

A guard on a fixed place (a global variable, a cell of a closure, an attribute of a layer) is a row that C compares;
rows of layers are compared again only after an attribute of any layer was set. Everything else hangs on the arguments,
and is the flat function: it has the parameters of the captured frame, and returns the tensors and numbers that the
run is given and the values that code after it loads, or None where a guard does not hold.
"""

from __future__ import annotations

import datetime
import decimal
import inspect
from collections.abc import Iterable
from types import FunctionType
from typing import Any

import numpy as np

from paddle.jit.sot.sources import Argument, Attribute, Fixed, Member, Namespace, Source, fixed
from paddle.jit.state import State, exactly
from paddle.nn.layer._registry import CHANGES
from paddle.nn.layer.layers import Layer
from umiak.core.entries import Places
from umiak.core.tensor import Tensor

DEFAULTS = ("__defaults__", "__kwdefaults__")  # of the parameters of a function
# Values in C whose text says all of them.
BY_TEXT = (decimal.Decimal, datetime.timedelta, datetime.date, datetime.datetime, datetime.time)
_COMPARED = (str, int, bool, bytes, type(None))  # that are equal where they and their types are


class Guards:
    """The guards of one capture, in the order in which values were read."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, Source, Any]] = []
        self.places: list[tuple[Any, Any, Any]] = []  # holder, key, value
        self.place_sources: list[Source | None] = []
        self.layers: set[Any] = set()
        self.tables: list[Any] = []
        self.states: list[State] = []
        self._seen: set[tuple] = set()

    def _add(self, kind: str, source: Source, value: Any, key: Any = None) -> None:
        seen = (kind, source, key)
        if seen not in self._seen:
            self._seen.add(seen)
            self.rows.append((kind, source, value))

    def equal(self, source: Source, x: Any) -> None:
        """The value is this object, or an equal number or text of its type."""
        holder = source.holder()
        if holder is not None:
            self.place(*holder, x, source)
        elif not isinstance(source, Fixed):
            self._add("equal", source, x)

    def place(self, holder: Any, key: Any, x: Any, source: Source | None = None) -> None:
        """The value in a fixed cell or dict is this object; ``MISSING``: there is none."""
        owner = source.base.ref.object if isinstance(source, Attribute) and isinstance(source.base, Fixed) else None
        if isinstance(owner, Layer):
            self.layers.add(owner)
        seen = ("place", id(holder), key)
        if seen not in self._seen:
            self._seen.add(seen)
            self.places.append((holder, key, x))
            self.place_sources.append(source)

    def exactly(self, source: Source, x: Any) -> None:
        """The value is equal to this one, with what is in it, and of the same types."""
        self._add("exactly", source, x)

    def based(self, source: Source, base: Any, value: Any) -> None:
        """The value, of a class that extends one of Python's, is this one to the latter."""
        self._add("based", source, (base, value))

    def reduced(self, source: Source, x: Any) -> None:
        """The value is made as this one: what ``__reduce__`` gives is equal, and of the same types."""
        self._add("reduced", source, x.__reduce__())

    def called(self, source: Source, f: FunctionType) -> None:
        """The function at a fixed place runs this code, and its parameters have these defaults."""
        self.equal(Member(source, "__code__"), f.__code__)
        for name in DEFAULTS:
            if getattr(f, name):
                self.equal(Member(source, name), getattr(f, name))

    def named_defaults(self, f: FunctionType) -> None:
        """The defaults of parameters that are given by name, which stand in a dict, are these."""
        for name, value in (f.__kwdefaults__ or {}).items():
            self.place(f.__kwdefaults__, name, value)

    def same(self, source: Source, other: Source) -> None:
        """Two sources give one object."""
        self._add("same", source, other, other)

    def different(self, source: Source, other: Source) -> None:
        """Two sources give two objects."""
        self._add("different", source, other, other)

    def kind(self, source: Source, kind: type[Any]) -> None:
        """The value is of this very type."""
        self._add("type", source, kind)

    def absent(self, source: Source, name: str) -> None:
        """The instance has no entry of this name in its ``__dict__``."""
        if isinstance(source, Fixed):
            x = source.ref.object
            if isinstance(x, Layer):
                self.layers.add(x)
            self.place(x.__dict__, name, MISSING_PLACE)
        else:
            self._add("absent", source, name, name)

    def missing(self, source: Source, key: Any) -> None:
        """The dict has no such key."""
        self._add("missing", source, key, key)

    def item(self, source: Source, key: Any, there: bool) -> None:
        """The dict has such a key, or none, whatever its class says of that, or would make."""
        self._add("item" if there else "no item", source, key, key)

    def length(self, source: Source, n: int) -> None:
        """The container has this many elements."""
        self._add("length", source, n)

    def keys(self, source: Source, keys: tuple) -> None:
        """The dict has these keys in this order."""
        self._add("keys", source, keys)

    def members(self, source: Source, x: set) -> None:
        """The set has these elements, of these types and in this order."""
        self._add("members", source, tuple(x))

    def tensor(self, source: Source) -> None:
        """The value is a tensor, whose class the entry compares."""
        self._add("tensor", source, None)

    def pattern(self, source: Source, positions: Any) -> None:
        """The value is a sparse tensor with these positions."""
        self._add("pattern", source, positions)

    def number(self, source: Source, kind: type[Any]) -> None:
        """The value is a number of this type, which the run is given."""
        self._add("type", source, kind)

    def table(self, x: Any) -> None:
        """The contents of a table of a layer."""
        if not any(x is t for t in self.tables):
            self.tables.append(x)

    def state(self, state: State) -> None:
        """The Python state that a function can be seen to read."""
        self.states.append(state)
        for f in state.functions:
            self.called(fixed(f), f)
            self.named_defaults(f)

    # --- what they become

    def watch(self) -> Places:
        """Return the fixed places, for C to compare."""
        own = {id(layer.__dict__) for layer in self.layers}
        plain = [p for p in self.places if id(p[0]) not in own]
        of_layers = [p for p in self.places if id(p[0]) in own]
        return Places(plain, of_layers, self.tables, CHANGES, [s.snapshot() for s in self.states], MISSING_PLACE)

    def function(
        self,
        parameters: list[inspect.Parameter],
        tensors: Iterable[Source],
        numbers: Iterable[Source],
        loads: Iterable[Source],
        name: str,
    ) -> Any:
        """Return the flat function; ``loads`` are read for the code that follows the run."""
        names = Namespace(Tensor=Tensor, exactly=exactly)
        writer = _Writer(names)
        inputs = list(tensors)
        looked_at = set(inputs)  # by the entry itself
        for kind, source, value in self.rows:
            if kind != "tensor" or source not in looked_at:
                writer.row(kind, source, value)
        given = [writer.value(s) for s in inputs]
        scalars = [writer.value(s) for s in numbers]
        loaded = [writer.value(s) for s in loads]
        body = [*writer.lines, f"return [{', '.join(given)}], {_tuple(scalars)}, {_tuple(loaded)}"]
        head = f"def guard({_signature(parameters, names)}):"
        text = "\n".join(
            [
                head,
                " try:",
                *("  " + line for line in body),
                " except (KeyError, IndexError, AttributeError, ValueError, TypeError):",
                "  return None",
            ]
        )
        exec(compile(text, f"<guards of {name}>", "exec"), names)
        function = names["guard"]
        function.__name__, function.__qualname__ = name, name
        function.text = text
        return function


def _tuple(items: list[str]) -> str:
    return f"({', '.join(items)}{',' if items else ''})"


def _signature(parameters: list[inspect.Parameter], names: Namespace) -> str:
    """The parameter list of a function, with its defaults."""
    return str(
        inspect.Signature(
            [
                p.replace(
                    annotation=p.empty, default=p.default if p.default is p.empty else _Named(names.name(p.default))
                )
                for p in parameters
            ]
        )
    )[1:-1]


class _Named:
    """An object that prints as a name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


class _Writer:
    """Writes guards as lines of code; each source is read once."""

    def __init__(self, names: Namespace) -> None:
        self.names = names
        self.lines: list[str] = []
        self._known: dict[Source, str] = {}

    def value(self, source: Source) -> str:
        """Return the variable that holds what a source gives."""
        known = self._known.get(source)
        if known is None:
            base = "" if source.base is None else self.value(source.base)
            known = source.expression(base, self.names)
            if not isinstance(source, (Argument, Fixed)):
                variable = f"_{len(self._known)}"
                self.lines.append(f"{variable} = {known}")
                known = variable
            self._known[source] = known
        return known

    def row(self, kind: str, source: Source, value: Any) -> None:
        x, name = self.value(source), self.names.name
        if kind == "equal":
            self.lines.append(f"if {self._differs(x, value)}: return None")
        elif kind == "same":
            self.lines.append(f"if {x} is not {self.value(value)}: return None")
        elif kind == "different":
            self.lines.append(f"if {x} is {self.value(value)}: return None")
        elif kind == "type":
            self.lines.append(f"if type({x}) is not {name(value)}: return None")
        elif kind == "absent":
            self.lines.append(f"if {value!r} in {x}.__dict__: return None")
        elif kind == "missing":
            self.lines.append(f"if {name(value) if type(value) is not str else repr(value)} in {x}: return None")
        elif kind in ("item", "no item"):
            differs = "not " * (kind == "item")
            self.lines.append(f"if {differs}{name(dict.__contains__)}({x}, {name(value)}): return None")
        elif kind == "length":
            self.lines.append(f"if len({x}) != {value}: return None")
        elif kind == "keys":
            texts = all(type(key) is str for key in value)
            differ = f"tuple({x}) != {name(value)}" if texts else self._items_differ(x, value)
            self.lines.append(f"if {differ}: return None")
        elif kind == "pattern":
            self.lines.append(
                f"if not (isinstance({x}, Tensor) and {x}.is_sparse() and {name(value)}.same_pattern({x})): return None"
            )
        elif kind == "members":
            self.lines.append(f"if type({x}) is not set or {self._items_differ(x, value)}: return None")
        elif kind == "exactly":
            self.lines.append(f"if exactly({x}) != {name(exactly(value))}: return None")
        elif kind == "based":
            self.lines.append(f"if exactly({name(value[0])}({x})) != {name(exactly(value[1]))}: return None")
        elif kind == "reduced":
            self.lines.append(f"if exactly({x}.__reduce__()) != {name(exactly(value))}: return None")
        elif kind == "tensor":
            self.lines.append(f"if not isinstance({x}, Tensor): return None")
        else:
            raise ValueError(f"no such guard: {kind}")

    def _items_differ(self, x: str, values: tuple) -> str:
        if all(type(v) in _COMPARED for v in values):
            kinds = tuple(map(type, values))
            return f"tuple({x}) != {self.names.name(values)} or tuple(map(type, {x})) != {self.names.name(kinds)}"
        return f"exactly(tuple({x})) != {self.names.name(exactly(values))}"

    def _differs(self, x: str, value: Any) -> str:
        kind = type(value)
        if kind in (int, str, bytes):
            literal = repr(value)
            return (
                f"type({x}) is not {kind.__name__} or {x} != {literal}"
                if len(literal) < 200
                else f"type({x}) is not {kind.__name__} or {x} != {self.names.name(value)}"
            )
        if kind is float and value == value and value != 0 and abs(value) != float("inf"):
            return f"type({x}) is not float or {x} != {value!r}"
        if kind in (float, complex):
            return f"type({x}) is not {kind.__name__} or exactly({x}) != {self.names.name(exactly(value))}"
        if kind in (frozenset, range, slice):
            return f"exactly({x}) != {self.names.name(exactly(value))}"
        if value is None or value is True or value is False:
            return f"{x} is not {value}"
        if kind in BY_TEXT:
            return f"type({x}) is not {self.names.name(kind)} or repr({x}) != {repr(value)!r}"
        if isinstance(value, np.generic):
            return f"type({x}) is not {self.names.name(kind)} or {x}.tobytes() != {value.tobytes()!r}"
        return f"{x} is not {self.names.name(value)}"


MISSING_PLACE = object()
