"""Code that makes the values of a simulated frame anew at a run of its graph, and does what the frame has done outside.

The results of the graph are ``r``; what the frame read from outside comes as ``l0``, ``l1``, …; objects that the frame
has made are made again, each once, so that two names of one object stay two names of one object.
"""

from __future__ import annotations

import ast
import collections
import enum
import functools
import sys
from contextlib import suppress
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    TracebackType,
    WrapperDescriptorType,
)
from typing import Any, NoReturn

import numpy as np

from paddle.jit.sot.bytecode import VERSION
from paddle.jit.sot.control import Uncapturable
from paddle.jit.sot.iterators import ITERATORS
from paddle.jit.sot.models.classes import DELETED, NOTHING, class_attribute
from paddle.jit.sot.sources import Fixed, Namespace, Source
from paddle.jit.sot.trace import HEAP_TYPE, IDENTICAL, MUTABLE, ListAppend, TensorMethod, Trace, Unset, is_bound
from paddle.jit.sot.translation import package
from paddle.jit.source.values import LATE, Optional
from paddle.jit.specs import positions_of
from paddle.tensor._tensor_array import TensorArray, separate
from umiak.core.context import no_grad_guard
from umiak.core.direct import Direct
from umiak.core.eager import apply
from umiak.core.inplace import with_own_history
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.size_array import SizeArray
from umiak.ir.tracer import SymTensor
from umiak.runtime.capture import recorded
from umiak.util.pytree import is_namedtuple
from umiak.util.size import ElementCount, Size, count_of
from umiak.util.syntax import is_keyword_name, parse

_CONSTANT = (
    FunctionType, BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType, GetSetDescriptorType, CodeType,
    ModuleType,     type, enum.Enum, np.generic, np.dtype, complex, bytes, frozenset, range,
    type(Ellipsis), type(NotImplemented),
    property, Direct,
)  # fmt: skip
_COMPILED = "cython_function_or_method"  # the name of the class
_EMPTY = object()


def new(kind: type) -> Any:
    """An instance of a class, without a call of its constructor."""
    return object.__new__(kind)


def stopped(x: Tensor) -> Tensor:
    """A tensor through which no gradient flows from here on."""
    x.stop_gradient = True
    return x


def quiet_view(op: Any, operands: tuple, params: tuple) -> Tensor:
    """A view as ``no_grad`` gives it."""
    with no_grad_guard():
        return apply(op, operands, params)


class _ReadInside:
    """Beside the node of a view that the graph has read by itself: gradients of results with respect to the view, and
    hooks on it, would miss that."""

    def take_apart(self, node: Any, index: int, asked: bool) -> NoReturn:
        """Refuse."""
        raise RuntimeError(
            "[to_static] requires gradients with respect to a view that other results of the captured function depend "
            f"on, and hooks on it, to be asked for inside of it, got a result that is a view ({node.name}). Ask "
            "inside, or return a copy (x.clone()) that the others are computed of"
        )


def read_inside(view: Tensor) -> Tensor:
    """A view that other results of its graph depend on."""
    node = view.grad_fn
    if node is not None:
        node.python = _ReadInside()
    return view


class Rebuilder:
    """Writes the lines; ``outputs`` are the tensors and numbers that the graph has to give."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.names = Namespace(
            CellType=CellType, MethodType=MethodType, FunctionType=FunctionType, partial=functools.partial, new=new,
            set_attribute=object.__setattr__, deque=collections.deque, view=apply,
            stopped=stopped, own=with_own_history, quiet=quiet_view, read_inside=read_inside,
        )  # fmt: skip
        self._constants = trace.capture.captured()  # by what stands for them
        self.outputs: list[Any] = []
        self.loads: list[Source] = []
        self.making: list[str] = []  # lines that make objects
        self.filling: list[str] = []  # and those that fill them, when all are there
        self._known: dict[int, str] = {}
        self._loaded: dict[Source, str] = {}
        self._keep: list[Any] = []
        self._roots: dict[int, np.ndarray] = {}  # arrays by the memory that they show
        self._count = 0

    def load(self, source: Source) -> str:
        """Return what stands for a value that was read from outside."""
        if isinstance(source, Fixed):
            return self.names.name(source.ref.object)
        known = self._loaded.get(source)
        if known is None:
            known = self._loaded[source] = f"l{len(self.loads)}"
            self.loads.append(source)
        return known

    def value(self, x: Any) -> str:
        """Return an expression for a value."""
        kind = type(x)
        if x is None or kind is bool or kind is int or kind is str:
            return repr(x)
        if kind is float:
            return repr(x) if x == x and abs(x) != float("inf") else self.names.name(x)
        if kind is Unset:
            return self.load(x.source)
        known = self._known.get(id(x))
        if known is None:
            self._keep.append(x)
            known = self._value(x, kind)
            self._known[id(x)] = known
        return known

    def _value(self, x: Any, kind: type) -> str:
        trace = self.trace
        if kind is Sym:
            number = next((n for n in trace.numbers if n.symbol is x), None)
            return self.load(number.source) if number is not None else self._output(x)
        if isinstance(x, Tensor) and x.is_sparse() and id(x) not in trace.sources:
            with trace.capture.paused():
                pattern = self.names.name(positions_of(x))
            return self.variable(f"{pattern}.with_values({self.value(x.values())})")
        if isinstance(x, SymTensor):
            source = trace.sources.get(id(x))
            constant = self._constants.get(id(x))
            if constant is not None:
                return self.names.name(constant)
            if source is not None and not trace.capture.has_new_hook(recorded(x.value)):
                return self.load(source)
            if source is not None and x.is_leaf and not trace.policy.full_graph:
                raise Uncapturable("a leaf that was given a hook is a result: it would come as another tensor")
            if trace.capture.makes(x):
                return self._with_details(x, self._output(x))
            return self._with_details(x, self._gradient(x) or self._view(x) or self._output(x))
        shadow = trace.shadow_of.get(id(x))
        if shadow is not None:
            x = shadow.real
        source = trace.sources.get(id(x))
        if source is not None:
            return self.load(source)
        if isinstance(x, Tensor):
            return self.names.name(x)
        if trace.is_fresh(x):
            return self._made(x, kind)
        return self._plain(x, kind)

    def _with_details(self, x: SymTensor, text: str) -> str:
        """A tensor that the frame has made, with its gradient and attributes."""
        _, attributes = self.trace.details.get(id(x), (x, {}))
        gradient = x._grad if text.startswith("r[") else None
        if gradient is None and not attributes:
            return text
        name = self._known[id(x)] = self.variable(text)
        if gradient is not None:
            self.filling.append(f"{name}.grad = {self.value(gradient)}")
        self.filling += [f"setattr({name}, {k!r}, {self.value(v)})" for k, v in attributes.items()]
        return name

    def _gradient(self, x: SymTensor) -> str | None:
        """The gradient of a tensor from outside, which is that object after the run."""
        for item in self.trace.inputs:
            if item.stand_in._grad is x:
                return f"{self.load(item.source)}.grad"
        for owner in self.trace.owners:
            if owner._grad is x:
                return f"{self.value(owner)}.grad"
        return None

    def _view(self, x: SymTensor) -> str | None:
        """A view of another value: one of the same memory again."""
        if x._view is None or x.parent is None or not x.shares_memory():
            return None
        op, params = x._view
        quiet = x._quiet is not None and x.constant() and not x._cut
        made = f"{'quiet' if quiet else 'view'}({self.names.name(op)}, ({self.value(x.parent)},), {self.value(params)})"
        if x._own:
            return self.variable(f"own({made}, {self._output(x)})")
        if x.stop_gradient and not x._cut and not quiet:
            made = f"stopped({made})"
        elif not x.stop_gradient and id(x._value) in self._read:
            made = f"read_inside({made})"
        return self.variable(f"{made}.detach()" if x._cut else made)

    @functools.cached_property
    def _read(self) -> set[int]:
        """The values, by id, of which the graph computes others that have a gradient, views aside."""
        found: set[int] = set()
        for o in reversed(self.trace.capture.builder.program.ops):
            flows = [r for r in o.results if not r.stop and r.meta.dtype and r.meta.dtype.is_continuous]
            if any(id(r) in found for r in flows) if o.op.view else flows:
                found.update(map(id, o.values))
        return found

    def _output(self, x: Any) -> str:
        self.outputs.append(x)
        return f"r[{len(self.outputs) - 1}]"

    def variable(self, expression: str) -> str:
        """Return a new variable that holds the value of an expression."""
        self._count += 1
        name = f"t{self._count}"
        self.making.append(f"{name} = {expression}")
        return name

    def _items(self, items: Any) -> str:
        return ", ".join(self.value(v) for v in items)

    def _array(self, x: np.ndarray) -> str:
        """An array of numbers. Two that share memory are no two arrays."""
        root = x
        while isinstance(root.base, np.ndarray):
            root = root.base
        self._keep.append(root)
        if self._roots.setdefault(id(root), x) is not x:
            raise Uncapturable("arrays that share memory cannot be made again")
        if not isinstance(x, SizeArray):
            return self.variable(f"{self.names.name(np.array(x))}.copy()")
        array, dtype = self.names.name(np.array), self.names.name(x.dtype)
        items = f"{array}(({self._items(list(np.asarray(x).flat))},))"  # which may be too large for the dtype
        return self.variable(f"{items}.astype({dtype}).reshape({x.shape!r})")

    def _plain(self, x: Any, kind: type) -> str:
        """A container or a small object of a built-in type."""
        if kind is tuple:
            return f"({self._items(x)}{',' if x else ''})"
        if is_namedtuple(kind):
            return f"{self.names.name(kind)}({self._items(x)})"
        if kind is slice:
            return f"slice({self.value(x.start)}, {self.value(x.stop)}, {self.value(x.step)})"
        if kind in MUTABLE:
            return self._container(x, kind)
        if kind in ITERATORS:
            name = self._known[id(x)] = self.variable(f"new({self.names.name(kind)})")
            self.filling += [f"{name}.{slot} = {self.value(getattr(x, slot))}" for slot in kind.__slots__]
            return name
        if kind is TensorArray:  # whose length is known by now
            made = (
                f"{self.names.name(separate)}({self.value(x.data)})"
                if x.data is not None
                else f"[{self._items(x.items)}]"
            )
            name = self._known[id(x)] = self.variable(made)
            return name
        if kind is Optional:
            return f"(None if {self.value(x.is_none)}.item() else {self.value(x.value)})"
        if kind is ElementCount:
            name = self._known[id(x)] = self.variable(f"{self.names.name(count_of)}({int(x)}, {self.value(x())})")
            return name
        if kind is TensorMethod:
            return f"{self.value(x.tensor)}.{x.name}"
        if kind is ListAppend:
            return f"{self.load(x.source)}.append"
        if kind is MethodType and type(x.__func__).__name__ == _COMPILED:
            return f"{self.value(x.__self__)}.{x.__name__}"
        if kind is MethodType:
            return f"MethodType({self.value(x.__func__)}, {self.value(x.__self__)})"
        if kind is super:
            return f"super({self.names.name(x.__thisclass__)}, {self.value(x.__self__)})"
        if kind is functools.partial:
            return f"partial({', '.join([self.value(x.func), *self.given(x.args, x.keywords)])})"
        if kind is BuiltinFunctionType and is_bound(x):
            return f"{self.value(x.__self__)}.{x.__name__}"
        if isinstance(x, (*_CONSTANT, *IDENTICAL)) or kind is CellType:
            return self.names.name(x)
        if package(kind.__module__) in ("paddle", "umiak", "builtins", "functools") and not isinstance(
            x, BaseException
        ):
            if hasattr(x, "__self__") or kind.__name__ in (_COMPILED, "method_descriptor", "method-wrapper"):
                return self._bound(x)
        raise Uncapturable(f"an object of {kind.__module__}.{kind.__name__} cannot be made again")

    def _bound(self, x: Any) -> str:
        owner = getattr(x, "__self__", None)
        if owner is None or isinstance(owner, (ModuleType, type)):
            return self.names.name(x)
        if type(x) is MethodWrapperType:
            found = vars(x.__objclass__)[x.__name__]
            if found is not class_attribute(type(owner), x.__name__)[0]:  # of another name: int.__repr__ as __str__
                return f"{self.names.name(found)}.__get__({self.value(owner)})"
        return f"{self.value(owner)}.{x.__name__}"

    def _container(self, x: Any, kind: type) -> str:
        name = self.names.name(kind)
        if isinstance(x, collections.defaultdict):
            made = self.variable(f"{name}({self.value(x.default_factory)})")
        elif isinstance(x, collections.deque):
            made = self.variable(f"{name}(maxlen={self.value(x.maxlen)})")
        else:
            made = self.variable("[]" if kind is list else "{}" if kind is dict else f"{name}()")
        self._known[id(x)] = made
        self.filling += self.contents(made, x)
        return made

    def contents(self, name: str, x: Any) -> list[str]:
        """Return the lines that put the contents of ``x`` into an empty container."""
        if isinstance(x, dict):
            return [f"{name}[{self.value(k)}] = {self.value(v)}" for k, v in x.items()]
        if not x:
            return []
        if isinstance(x, set):
            return [f"{name}.update(({self._items(x)},))"]
        return [f"{name}.extend(({self._items(x)},))"]

    def _made(self, x: Any, kind: type) -> str:
        """An object that the frame has made."""
        if kind is CellType:
            name = self._known[id(x)] = self.variable("CellType()")
            with suppress(ValueError):  # still without a value
                self.filling.append(f"{name}.cell_contents = {self.value(x.cell_contents)}")
            return name
        if kind is FunctionType:
            return self._function(x)
        if isinstance(x, np.ndarray):
            return self._array(x)
        if isinstance(x, IDENTICAL):  # members of enumerations
            return self.names.name(x)
        if (
            kind in MUTABLE
            or kind in (tuple, functools.partial, slice, MethodType)
            or isinstance(x, (frozenset, np.generic, range, bytes))
        ):
            return self._plain(x, kind)
        if isinstance(x, BaseException):
            maker, _ = class_attribute(kind, "__init__")
            if type(maker) is FunctionType:
                raise Uncapturable(f"an exception of {kind.__name__} cannot be made again")
            name = self._known[id(x)] = self.variable(f"{self.names.name(kind)}({self._items(x.args)})")
        elif class_attribute(kind, "__new__")[0] is object.__new__ and _is_of_python(kind):
            name = self._known[id(x)] = self.variable(f"new({self.names.name(kind)})")
        else:
            raise Uncapturable(f"an object of {kind.__module__}.{kind.__name__} cannot be made again")
        for attribute, value in getattr(x, "__dict__", {}).items():
            self.filling.append(f"set_attribute({name}, {attribute!r}, {self.value(value)})")
        for base in kind.__mro__:
            for slot in _slots(base):
                if (value := getattr(x, slot, NOTHING)) is not NOTHING:
                    self.filling.append(f"set_attribute({name}, {slot!r}, {self.value(value)})")
        return name

    def _function(self, f: FunctionType) -> str:
        closure = f"({self._items(f.__closure__)},)" if f.__closure__ else "None"
        name = self._known[id(f)] = self.variable(
            f"FunctionType({self.names.name(f.__code__)}, {self.names.name(f.__globals__)}, {f.__name__!r}, "
            f"None, {closure})"
        )
        self.filling.append(f"{name}.__qualname__ = {f.__qualname__!r}")
        for attribute in ("__defaults__", "__kwdefaults__"):
            if getattr(f, attribute):
                self.filling.append(f"{name}.{attribute} = {self.value(getattr(f, attribute))}")
        if VERSION >= (3, 14):
            if f.__annotate__ is not None:
                self.filling.append(f"{name}.__annotate__ = {self.value(f.__annotate__)}")
        elif f.__annotations__:
            self.filling.append(f"{name}.__annotations__ = {self.value(f.__annotations__)}")
        for attribute, value in f.__dict__.items():
            self.filling.append(f"{name}.{attribute} = {self.value(value)}")
        return name

    def told(self) -> list[tuple[str, int]]:
        """Return the calls that tell something outside, and their lines."""
        out = []
        for f, args, kwargs, line in self.trace.later:
            out.append((f"{self.value(f)}({', '.join(self.given(args, kwargs))})", line))
        return out

    def given(self, args: tuple, kwargs: dict[str, Any]) -> list[str]:
        """Return the arguments of a call, whatever the names are."""
        named = [
            f"{k}={self.value(x)}" if is_keyword_name(k) else f"**{{{k!r}: {self.value(x)}}}" for k, x in kwargs.items()
        ]
        return [self.value(x) for x in args] + named

    def effects(self) -> list[str]:
        """Return the lines that do what the frame has done to objects from outside."""
        trace = self.trace
        out: list[str] = []
        for shadow in list(trace.shadows.values()):
            if not shadow.changed():
                continue
            target, x = self.value(shadow.copy), shadow.copy
            if isinstance(x, (list, Size)):
                out.append(f"{target}[:] = [{self._items(x)}]")
            else:
                held = self._hold(x)
                out += [f"{target}.clear()", *(line.replace("@", target, 1) for line in held)]
        for append, values in trace.appended.values():
            out += [f"{self.load(append.source)}.append({self.value(v)})" for v in values]
        for iterator, before in trace.iterators:
            slots = type(iterator).__slots__
            for slot, value in zip(slots, before, strict=True):
                if (now := getattr(iterator, slot)) is not value:
                    out.append(f"{self.value(iterator)}.{slot} = {self.value(now)}")
        for (_, name), (x, value, plainly) in trace.attributes.items():
            target = self.value(x)
            setter = "set_attribute" if plainly else "setattr"
            if isinstance(value, LATE) and type(value) is not Optional:
                raise Uncapturable(
                    f"{name!r} of {type(x).__name__} has a value on some ways of the statement on a tensor at "
                    f"{value.where} alone, or values of different structure. Set it before that statement"
                )
            if value is DELETED:
                out.append(f"{target}.__dict__.pop({name!r}, None)")  # it may be of the frame's making
            else:
                out.append(f"{setter}({target}, {name!r}, {self.value(value)})")
        for cell, value in trace.cells.values():
            source = trace.sources.get(id(cell))
            target = self.names.name(cell) if source is None else self.load(source)
            out.append(f"{target}.cell_contents = {self.value(value)}")
        for (_, name), (space, value) in trace.globals.items():
            out.append(f"{self.names.name(space)}[{name!r}] = {self.value(value)}")
        return out

    def _hold(self, x: Any) -> list[str]:
        return self.contents("@", x)


def _is_of_python(kind: type) -> bool:
    """Return whether all that an object of a class holds are its attributes."""
    return all(
        b is object
        or "__dict__" in b.__dict__
        or "__slots__" in b.__dict__
        or (b.__flags__ & HEAP_TYPE and _has_dict(b))
        for b in kind.__mro__
    )


def _has_dict(kind: type) -> bool:
    return kind.__dictoffset__ != 0


def _slots(kind: type) -> list[str]:
    slots = kind.__dict__.get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    return [n for n in names if n not in ("__dict__", "__weakref__")]


def compiled(lines: list[tuple[str, int]], parameters: list[str], names: Namespace, code: CodeType) -> FunctionType:
    """A function of statements, each of which is said to stand on a line of the user's file."""
    body: list[ast.stmt] = []
    for text, line in lines:
        for statement in parse(text).body:
            for node in ast.walk(statement):
                if hasattr(node, "lineno"):
                    node.lineno = node.end_lineno = line
                    node.col_offset = node.end_col_offset = -1  # none, rather than marks below nothing
            body.append(statement)
    arguments = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(arg=p, lineno=1, col_offset=0) for p in parameters],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    function = parse("def finish(): pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    function.args, function.body = arguments, body
    function.lineno = function.end_lineno = code.co_firstlineno
    module = ast.Module(body=[function], type_ignores=[])
    ast.fix_missing_locations(module)
    exec(compile(module, code.co_filename, "exec"), names)
    made: Any = names["finish"]
    made.__code__ = made.__code__.replace(co_name=code.co_name)
    made.text = "\n".join(text for text, _ in lines)
    return made


class InlinedFrames:
    """Puts frames that were inlined where an operation failed, the outermost first, into the traceback of its error."""

    __slots__ = ("places",)

    def __init__(self, places: list[tuple[str, int, str]]) -> None:
        self.places = places

    def __call__(self, error: BaseException) -> BaseException:
        assert error.__traceback__ is not None
        inner = error.__traceback__.tb_next  # below the frame that catches it, which raises it again
        for file, line, name in reversed(self.places):
            names: dict[str, Any] = {"frame_of": sys._getframe}
            code = compile("frame = frame_of()", file, "exec")
            exec(code.replace(co_name=name, co_firstlineno=line), names)
            inner = TracebackType(inner, names.pop("frame"), -1, line)  # without an instruction no columns are shown
        return error.with_traceback(inner)


def raise_at(error: BaseException, frames: list[tuple[str, int, str]]) -> NoReturn:
    """Raise an exception whose traceback ends with frames, the outermost first, given by file, line and name."""
    names: dict[str, Any] = {"error": error}
    text = "raise error"
    for file, line, name in reversed(frames):
        function = parse(f"def frame():\n {text}").body[0]
        for node in ast.walk(function):
            if hasattr(node, "lineno"):
                node.lineno = node.end_lineno = line
        exec(compile(ast.Module(body=[function], type_ignores=[]), file, "exec"), names)
        made: Any = names.pop("frame")
        made.__code__ = made.__code__.replace(co_name=name)
        key = f"f{len(names)}"
        names[key] = made
        text = f"{key}()"
    exec(compile(text, __file__, "exec"), names)
    raise error
