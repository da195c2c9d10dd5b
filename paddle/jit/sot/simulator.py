"""Operations of a simulated frame: calls and what they lead to.

A function of the user's is simulated, too. A function of the library is called: it computes with symbolic tensors, and
so is recorded (``leaves.py``). Of what Python itself brings, ``models.py`` says what it does; every other call breaks
the graph.
"""

from __future__ import annotations

import builtins
import collections
import enum
import functools
import inspect
import operator
import sys
import warnings
from collections.abc import Callable, Iterator
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Any, NoReturn

import numpy as np

from paddle.autograd.py_layer import PyLayer, PyLayerContext
from paddle.distributed.fleet.recompute.recompute import recompute_sequential
from paddle.jit.ignored import is_ignored
from paddle.jit.sot import attributes, leaves
from paddle.jit.sot.control import AsWritten, Control, GraphBreak, Operation, Refused, Restart, Uncapturable
from paddle.jit.sot.effects import effects_of
from paddle.jit.sot.frame import YIELDED, Frame
from paddle.jit.sot.guards import DEFAULTS
from paddle.jit.sot.leaves import BUILT_IN, PLAIN, holds, name_of, reads_one_call
from paddle.jit.sot.models import (
    arrays,
    every,  # noqa: F401 registers all
)
from paddle.jit.sot.models.attributes import get_attribute, remove_attribute, write_attribute
from paddle.jit.sot.models.classes import NOTHING, bound, class_attribute, is_enum, is_iterator, special
from paddle.jit.sot.models.numpy_numbers import are_numbers
from paddle.jit.sot.models.pure import ITERATING, OF_FRAMES, PURE, PURE_MODULES, PURE_TYPES, SYMBOLIC
from paddle.jit.sot.models.table import model_of
from paddle.jit.sot.models.values import EXACT, look_up, must_be_known
from paddle.jit.sot.rewritten import Simulated, is_rewriting, may_leave
from paddle.jit.sot.sources import ArrayTensor, Fixed, Item, Member, Source, fixed
from paddle.jit.sot.trace import MUTABLE, TABLES, ListAppend, TensorMethod, Trace, Unset, is_bound, symbolic_in
from paddle.jit.sot.translation import (
    advice,
    has_captured_branches,
    is_interpreted,
    is_library,
    is_marked,
    is_unified,
    package,
)
from paddle.jit.source.branches import if_
from paddle.jit.source.builtins_ import READ_BY
from paddle.jit.source.callees import rewritten
from paddle.nn.layer.container import Sequential, one_by_one
from paddle.nn.layer.layers import Layer
from umiak.core.context import no_grad_guard
from umiak.core.direct import Direct, in_order
from umiak.core.tensor import Tensor
from umiak.ir.expr import NumberUnknown, Sym
from umiak.ir.tracer import DataUnknown, SymTensor
from umiak.runtime.capture import CaptureError

# Functions of NumPy that read or set state of it, or files.
_STATE_OF_NUMPY = frozenset((
    "seterr", "geterr", "seterrcall", "geterrcall", "setbufsize", "getbufsize", "set_printoptions", "get_printoptions",
    "printoptions", "save", "savez", "savez_compressed", "savetxt", "load", "loadtxt", "genfromtxt", "fromfile",
    "fromregex", "show_config",
))  # fmt: skip
_TELLING = frozenset(("debug", "info", "warning", "error", "exception", "critical", "log"))
_BASES_OF_MEMBERS = (int, float, complex, str, bytes)  # bases of enumerations whose methods have no effect
MOST_REGIONS = 30  # branches and loops on tensors that are captured inside of each other


def done() -> None:
    """Stand for an operation that the graph has done."""


class Generator:
    """A generator whose frame is simulated."""

    def __init__(self, simulator: Simulator, frame: Frame) -> None:
        self.simulator = simulator
        self.frame = frame
        self.state = "new"
        if sys.version_info < (3, 11):
            frame.push(None)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, x: Any) -> Any:
        """Go on with x as the value of the yield."""
        if self.state == "new":
            if x is not None:
                raise TypeError("can't send non-None value to a just-started generator")
        elif self.state == "waiting":
            self.frame.push(x)
        return self._go_on(None)

    def throw(self, error: Any, *rest: Any) -> Any:
        """Go on with an exception at the yield."""
        if isinstance(error, type):
            error = error(*rest[:1])
        return self._go_on(error)

    def close(self) -> None:
        """End the generator."""
        if self.state != "waiting":
            self.state = "ended"
            return
        try:
            self._go_on(GeneratorExit())
        except (GeneratorExit, StopIteration):
            return
        raise RuntimeError("generator ignored GeneratorExit")

    def _go_on(self, error: BaseException | None) -> Any:
        if self.state == "running":
            raise ValueError("generator already executing")
        if self.state == "ended":
            if error is not None:
                raise error
            raise StopIteration
        new, self.state = self.state == "new", "running"
        try:
            if error is None:
                end = self.simulator.run(self.frame)
            elif new:
                raise error
            else:
                end = self._throw(error)
        except Control:
            raise
        except StopIteration as inner:
            self.state = "ended"
            raise RuntimeError("generator raised StopIteration") from inner
        except BaseException:
            self.state = "ended"
            raise
        if end is YIELDED:
            self.state = "waiting"
            return self.frame.result
        self.state = "ended"
        raise StopIteration(self.frame.result)

    def _throw(self, error: BaseException) -> str:
        """Raise an exception at the yield: first inside of what ``yield from`` iterates there."""
        frame = self.frame
        inner = frame.inner_iterator()
        closing = isinstance(error, GeneratorExit)
        if hasattr(inner, "close" if closing else "throw"):
            if not isinstance(inner, Generator):
                raise Uncapturable(f"an exception is thrown into {type(inner).__name__} ({frame.where()})")
            try:
                if closing:
                    inner.close()
                else:
                    frame.result = inner.throw(error)
                    return YIELDED
            except Control:
                raise
            except StopIteration as end:
                frame.leave_inner(end.value)
                return self.simulator.run(frame)
            except BaseException as raised:
                error = raised
        frame.push(None)  # in place of what would have been sent
        if not frame.unwind(error):
            raise error
        return self.simulator.run(frame)


class Callback:
    """A function that a built-in one calls: it is simulated, too."""

    __slots__ = ("function", "simulator")

    def __init__(self, simulator: Simulator, function: Callable[..., Any]) -> None:
        self.simulator = simulator
        self.function = function

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the function itself: its closure, its code."""
        return getattr(self.function, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.simulator.call(self.function, args, kwargs, direct=False)


class Called(Callback):
    """A function that one of the library calls: as a way of a branch, in a loop, or twice. So it changes no state."""

    __slots__ = ("caller",)

    def __init__(self, simulator: Simulator, function: Callable[..., Any], caller: Callable[..., Any]) -> None:
        super().__init__(simulator, function)
        self.caller = caller

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        world = self.simulator.world
        before = world.effects()
        result = super().__call__(*args, **kwargs)
        if changed := world.others(before, ()):
            names = [x if isinstance(x, str) else x.name for x in changed]
            what = f"{name_of(self.function)}, which {name_of(self.caller)} calls, changes {', '.join(names)}"
            self.simulator.break_graph(what)
        return result


class Simulator:
    """Does operations for the frames of one trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.in_part = False  # of an operation: what is called now does not give the operation's result
        self.world = trace.capture.world = Simulated(self)
        trace.capture.builder.locate = trace.capture.scope.locate = self.users_line
        trace.caller = lambda function, args: self.call(function, args, {})
        trace.refuse = self.break_graph
        self.frames: list[Frame] = []
        self.helpers: list[Callable[..., Any]] = []  # of rewritten code, which call functions of its blocks now

    # --- frames

    def run(self, frame: Frame) -> str:
        """Run a frame inside of the others."""
        n, part = len(self.frames), self.in_part
        self.frames.append(frame)
        self.in_part = False
        try:
            return frame.run()
        finally:
            self.in_part = part
            self.unwind_to(n)

    def break_graph(self, reason: str, between: bool = False, python: bool = False) -> NoReturn:
        """Have the capture begin anew, with a break before this operation.

        Where a built-in function, or the library, stands between two frames, it is called as a whole after the break.
        A function that is one graph is refused, unless the operation may stand ``between`` two graphs of it. Where
        ``python`` alone can do it, the function runs as it was written if it may not.
        """
        frames = self.frames
        full_graph = self.trace.policy.full_graph
        own = next((i + 1 for i in reversed(range(len(frames))) if not _is_of_library(frames[i])), len(frames))
        if 0 < own < len(frames) and not self.trace.policy.leaves.get(frames[own].code):
            # A layer of the library that cannot be simulated may be traced, if it calls none of the user's code, which
            # would be traced with it, unguarded.
            self.trace.policy.leaves[frames[own].code] = reason
            raise Restart
        at = next((i - 1 for i in range(1, len(frames)) if not frames[i].direct), len(frames) - 1)
        if full_graph and not ((between or python) and self._may_stand_between()):
            if python:
                raise AsWritten(f"{reason} ({frames[-1].where()})")
            what = f"[to_static] cannot capture {self.trace.name} as one graph"
            hint = ". Do that in the function itself, outside of branches on tensors, loops and try, or outside of it"
            self.refuse(CaptureError(f"{what}: {reason} ({frames[-1].where()}){hint if between else ''}"))
        frame = frames[at]
        if frame.handling:
            raise Uncapturable(f"a graph break in a handler of exceptions: {reason} ({frame.where()})")
        if frame.operation in self.trace.policy.breaks:
            raise Uncapturable(f"{reason} ({frame.where()})")
        self.trace.policy.breaks[frame.operation] = f"{reason} ({frames[-1].where()})"
        raise Restart

    def _may_stand_between(self) -> bool:
        """Return whether the operation that is being done, or the ``if`` statements that it stands in, whose conditions
        are known, may be done between two graphs."""
        inner = self.frames[1:]
        ways = [f for f in inner if not f.direct]
        return (
            not self.trace.capture.frames
            and not any(f.handling for f in self.frames)
            and not any(map(_is_of_library, inner))
            and all(helper is if_ for helper in self.helpers)
            and len(ways) == len(self.helpers)
            and not any(may_leave(f.code) for f in ways[:1])
        )

    def can_end_graph(self) -> bool:
        """Return whether the graph can end after the operation that is being done, and the frames go on in another."""
        inner = self.frames[1:]
        return (
            not self.trace.capture.frames
            and all(f.direct and not _is_of_library(f) for f in inner)
            and not any(f.handling for f in self.frames)
        )

    def end_graph(self) -> NoReturn:
        """End the graph after the operation that is being done, which gives None."""
        raise GraphBreak(Operation(done, (), {}), list(self.frames), None)

    def refuse(self, error: Exception) -> NoReturn:
        """End the capture of a function that was to be one graph."""
        raise Refused(error, self.places())

    def users_line(self) -> tuple[str, int, str] | None:
        """The innermost line of the user's that is simulated; None where there is none."""
        f = next((f for f in reversed(self.frames) if not _is_of_library(f)), None)
        return None if f is None else (f.code.co_filename, f.instruction.line, f.code.co_name)

    def places(self) -> list[tuple[str, int, str]]:
        return [(f.code.co_filename, f.instruction.line, f.code.co_name) for f in self.frames]

    def callback(self, f: Callable[..., Any]) -> Callback:
        """Return a function that code of the library may call: it is simulated, too."""
        return Callback(self, f)

    def called(self, x: Any, caller: Callable[..., Any]) -> Any:
        """Return an argument of a function of the library, with the functions in it simulated where it calls them."""
        if isinstance(x, Sequential) and type(x).forward is Sequential.forward and caller is recompute_sequential:
            x = list(x)
        if type(x) in (list, tuple):
            return type(x)(self.called(v, caller) for v in x)
        if type(x) is dict:
            return {k: self.called(v, caller) for k, v in x.items()}
        if isinstance(x, (Layer, FunctionType, MethodType, functools.partial)):
            return Called(self, x, caller)
        return x

    def unwind_to(self, n: int) -> None:
        """Forget the frames that an exception has left."""
        del self.frames[n:]

    # --- calls

    def call(self, f: Any, args: tuple, kwargs: dict[str, Any], direct: bool = False) -> Any:
        """Return what a call gives; ``direct``: unchanged, it is the result of the operation that is being done."""
        n, part = len(self.frames), self.in_part
        self.in_part = part or not direct
        try:
            return self._call(f, args, kwargs, direct)
        except Control:
            raise
        except NumberUnknown as unknown:
            self.trace.steer(unknown.value)
        except (DataUnknown, CaptureError) as error:
            if self.trace.policy.full_graph:
                self.refuse(error)
            self.unwind_to(n)
            self.break_graph(f"{name_of(f)}: {error}")
        except BaseException:
            self.unwind_to(n)
            raise
        finally:
            self.in_part = part

    def _call(self, f: Any, args: tuple, kwargs: dict[str, Any], direct: bool) -> Any:
        model = model_of(f)
        if model is not None:
            return model(self, *args, **kwargs)
        kind = type(f)
        if kind is FunctionType:
            return self.function(f, args, kwargs, direct)
        if kind is MethodType:
            return self._call(f.__func__, (f.__self__, *args), kwargs, direct)
        if kind is Direct:
            return self.function(f, args, kwargs, direct)
        if kind is ListAppend:
            return self.trace.append(f, *args)
        if kind is TensorMethod:
            return self._tensor_method(f, args, kwargs)
        if f is in_order:  # in C
            layers, _, x = args
            return self.function(one_by_one, (layers, x), {}, direct)
        if kind in (Callback, Called):
            return self._call(f.function, args, kwargs, direct)
        if kind is functools.partial:
            return self._partial(f, args, kwargs, direct)
        if isinstance(f, type):
            return self.instantiate(f, args, kwargs)
        captured = getattr(f, "dygraph_function", None) if is_library(kind.__module__) else None
        if captured is not None:
            return self._call(captured, args, kwargs, direct)
        if kind in (BuiltinFunctionType, MethodWrapperType, MethodDescriptorType, WrapperDescriptorType):
            return self.built_in(f, args, kwargs)
        caller = class_attribute(kind, "__call__")[0]
        if isinstance(f, Layer) and is_marked(f) and not self.trace.policy.full_graph:
            return self.break_graph(f"{name_of(f)} is marked by not_to_static")
        if type(caller) in (FunctionType, Direct) and (isinstance(f, Layer) or is_interpreted(caller.__module__)):
            return self._call(caller, (f, *args), kwargs, direct)
        if is_library(getattr(f, "__module__", None)):
            return self.leaf(f, args, kwargs)
        if is_library(kind.__module__):
            return self.leaf(f, args, kwargs)
        if isinstance(f, (operator.itemgetter, operator.methodcaller)):
            return f(*args)
        return self.foreign(f, args, kwargs)

    def foreign(self, f: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A call of a function in C of another package."""
        module = "numpy" if isinstance(f, np.ufunc) else getattr(f, "__module__", None) or ""
        if package(module) == "numpy":
            made = self._of_numpy(f, module, args, kwargs)
            if made is not NotImplemented:
                return made
        return self.break_graph(f"a call of {name_of(f)}{advice(type(f).__module__)}")

    def _tensor_method(self, f: TensorMethod, args: tuple, kwargs: dict[str, Any]) -> Any:
        x, name = f.tensor, f.name
        if name == "is_contiguous" and isinstance(x, SymTensor) and not self.trace.capture.given(x.root()):
            return x.is_contiguous()  # memory of the graph's own: as it is each time
        if name in ("is_contiguous", "stride", "get_strides", "data_ptr") and isinstance(x, SymTensor):
            return self.break_graph(f"{name}() of a tensor, which differs from call to call")
        if name in READ_BY and self.trace.policy.full_graph:
            value = READ_BY[name](x, *map(self.forced, args), **kwargs)
            if isinstance(value, SymTensor):
                self.trace.read_as.add(np.ndarray if name == "numpy" else float if x.dtype.is_floating else int)
            return value
        method = getattr(x, name)
        if name in ("register_hook", "_register_grad_hook", "retain_grads") and not self.trace.capture.is_outer_leaf(x):
            return self.break_graph(
                f"{name}() of a tensor whose history began outside, where more of its gradient is", python=True
            )
        if name in ("register_hook", "_register_grad_hook"):
            if isinstance(x, SymTensor) and x._value.hooks and effects_of(self, args[0], [x]) is not None:
                raise AsWritten("a hook that cannot be captured follows one that was")  # their order would change
            self.probe(args[0], [x])
            if reads_one_call(self, args[0]):
                return self.break_graph(
                    f"{name_of(args[0])}, a hook of variables that the frame had before a break", python=True
                )
        plain = (
            method.__func__
            if type(method) is MethodType and is_library(getattr(method.__func__, "__module__", None))
            else None
        )
        if name in ("apply", "apply_"):
            args = tuple(self.called(v, method) for v in args)
        if plain is None and type(method) is MethodType and method.__func__ is not SymTensor._refuse:
            return self._call(method, args, kwargs, False)
        return self.leaf(method, args, kwargs)

    def probe(self, f: Any, like: list[Any]) -> None:
        """Break the graph where a function that the library is to call later does more than compute with tensors."""
        reason = effects_of(self, f, like)
        if reason is not None:
            what = f"{name_of(f)}, a function that is called for gradients, {reason}"
            self.break_graph(what, python=True)

    def probe_layer(self, layer: type[PyLayer], *args: Any) -> None:
        def both(inner: Simulator, *given: Any) -> None:
            ctx = inner.trace.made(PyLayerContext(given))
            with no_grad_guard():
                results = inner.call(layer.forward, (ctx, *given), {})
                results = results if isinstance(results, (list, tuple)) else (results,)
                inner.call(layer.backward, (ctx, *(y * 1 for y in results if isinstance(y, Tensor))), {})

        reason = effects_of(self, both, list(args), by_simulator=True)
        if reason is not None:
            self.break_graph(f"{layer.__name__}.apply {reason}", python=True)

    def _partial(self, f: functools.partial, args: tuple, kwargs: dict[str, Any], direct: bool) -> Any:
        source = self.trace.sources.get(id(f))
        if source is None:
            return self._call(f.func, (*f.args, *args), {**f.keywords, **kwargs}, direct)
        function, first, named = (
            self.trace.wrap(getattr(f, n), Member(source, n)) for n in ("func", "args", "keywords")
        )
        return self._call(function, (*first, *args), {**named, **kwargs}, direct)

    def function(self, f: Any, args: tuple, kwargs: dict[str, Any], direct: bool) -> Any:
        """A call of a Python function."""
        kept = False  # as it was written
        if is_marked(f):
            if not self.trace.policy.full_graph:
                return self.break_graph(f"{name_of(f)} is marked by not_to_static")
            f = getattr(f, "__wrapped__", f)
            kept = True
        if is_unified(f):
            self.trace.function_reads(f)
            return self.leaf(f, args, kwargs)
        space = (f.function if type(f) is Direct else f).__globals__.get("__name__", "")
        module = f.__module__ or space
        if is_library(module) and not is_library(space):  # the user's, with the names of a function of the library
            module = space
        if not (is_interpreted(module) or has_captured_branches(f)):
            if is_library(module):
                return self.leaf(f, args, kwargs)
            if is_ignored(module) and self.trace.policy.full_graph:
                kept = True
            elif (made := self._of_numpy(f, module, args, kwargs)) is not NotImplemented:
                return made
            elif module == "logging" and f.__name__ == "getLogger":
                logger = f(*args, **kwargs)
                self.trace.know_fixed(logger)
                return logger
            elif module == "logging" and f.__name__ in _TELLING:
                return self._tell(f, args, kwargs)
            else:
                return self.break_graph(f"a call of {module}.{name_of(f)}{advice(module)}")
        if type(f) is Direct:
            f = f.function
        if is_library(module) and self.trace.policy.leaves.get(f.__code__) and not _calls_users_layers(f, args):
            return self.leaf(f, args, kwargs)
        code = f.__code__
        if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE):
            return self.break_graph(f"a call of the coroutine {name_of(f)}")
        if len(self.frames) >= self.trace.policy.most_frames or len(self.trace.capture.frames) > MOST_REGIONS:
            return self._too_deep()
        cells = self.cells_of(f)
        variables = self._bound(f, args, kwargs)
        if not kept and (self.trace.policy.full_graph or has_captured_branches(f) or is_rewriting(self.frames)):
            f = rewritten(f)
            code, cells = f.__code__, dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
        frame = Frame(self, code, f.__globals__, variables, cells, direct and not self.in_part)
        if code.co_flags & inspect.CO_GENERATOR:
            frame.direct = False
            return self.trace.made(Generator(self, frame))
        try:
            self.run(frame)
        except RecursionError:  # Python's own stack was deep before
            return self._too_deep()
        return frame.result

    def _too_deep(self) -> NoReturn:
        self.break_graph(f"calls inside of each other, {len(self.frames)} deep", python=True)

    def cells_of(self, f: FunctionType) -> dict[str, CellType]:
        """Return the cells of a function's closure by name."""
        names, closure = f.__code__.co_freevars, f.__closure__ or ()
        source = self.trace.sources.get(id(f)) or fixed(f)
        for i, cell in enumerate(closure):
            if not self.trace.is_fresh(cell) and id(cell) not in self.trace.sources:
                self.trace._know(
                    cell, fixed(cell) if type(source) is type(fixed(f)) else Item(Member(source, "__closure__"), i)
                )
        return dict(zip(names, closure, strict=True))

    def defaults_of(self, f: FunctionType) -> tuple[tuple, dict[str, Any]]:
        """Return the defaults of a function's parameters, read."""
        trace = self.trace
        defaults, named = f.__defaults__ or (), f.__kwdefaults__ or {}
        if trace.is_fresh(f) or is_library(f.__module__):
            return defaults, named
        source = trace.sources.get(id(f)) or fixed(f)
        first, second = (Member(source, n) for n in DEFAULTS)
        by_name: Source = second
        plain: tuple[type, ...] = ()
        if isinstance(source, Fixed):
            trace.guards.called(source, f)
            plain, by_name = PLAIN, fixed(named)  # a tuple is the same with what is in it, a dict may be changed
        else:
            for member, values in ((first, defaults), (second, named)):
                if values:
                    trace.guards.length(member, len(values))
        return (
            tuple(x if isinstance(x, plain) else trace.wrap(x, Item(first, i)) for i, x in enumerate(defaults)),
            {n: trace.wrap(x, Item(by_name, n)) for n, x in named.items()},
        )

    def _bound(self, f: FunctionType, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the local variables of a call."""
        try:
            return bind(f, self.defaults_of(f), args, kwargs)
        except TypeError:  # which defaults that there are not, yet, could change
            source = self.trace.sources.get(id(f)) or fixed(f)
            if not (self.trace.is_fresh(f) or is_library(f.__module__)):
                for name in DEFAULTS:
                    self.trace.guards.equal(Member(source, name), getattr(f, name))
            raise

    def leaf(self, f: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        """A call of the library, whose operations are recorded."""
        return leaves.leaf(self, f, args, kwargs)

    def instantiate(self, kind: type, args: tuple, kwargs: dict[str, Any]) -> Any:
        """An instance of a class."""
        module = kind.__module__
        if issubclass(kind, Tensor) or (is_library(module) and not issubclass(kind, Layer)):
            return self.leaf(kind, args, kwargs)
        if issubclass(kind, (Layer, type)) or (type(kind).__call__ is not type.__call__ and not is_enum(kind)):
            return self.break_graph(f"an instance of {kind.__name__} is made", between=issubclass(kind, Layer))
        if is_enum(kind) or kind in PURE_TYPES or (hasattr(kind, "_fields") and issubclass(kind, tuple)):
            return self.pure(kind, args, kwargs)
        new, _ = class_attribute(kind, "__new__")
        init, _ = class_attribute(kind, "__init__")
        if issubclass(kind, BaseException):
            if type(new) is staticmethod:
                return self.break_graph(f"an instance of {kind.__name__} is made")
            if type(init) is not FunctionType:
                return self.trace.made(kind(*args, **kwargs))
            error = self.trace.made(kind.__new__(kind, *args))
            self.call(init, (error, *args), kwargs)
            return error
        if module == "builtins" or issubclass(kind, (*MUTABLE, tuple, str, int, float, np.ndarray)):
            return self.break_graph(f"an instance of {kind.__name__} is made")
        if isinstance(new, staticmethod):
            x = self.call(new.__func__, (kind, *args), kwargs)
        elif new is object.__new__:
            x = object.__new__(kind)
        else:
            return self.break_graph(f"an instance of {kind.__name__} is made")
        if type(x) is not kind:
            return x
        self.trace.made(x)
        if type(init) is FunctionType:
            self.call(init, (x, *args), kwargs)
        elif init is not object.__init__:
            self.break_graph(f"an instance of {kind.__name__} is made")
        elif (args or kwargs) and new is object.__new__:
            raise TypeError(f"{kind.__name__}() takes no arguments")
        return x

    def _tell(self, f: Any, args: tuple, kwargs: dict[str, Any]) -> None:
        """A warning or a line of a log: a function that is one graph gives it after the run."""
        if not self.trace.policy.full_graph or self.trace.capture.frames:
            self.break_graph(f"a call of {name_of(f)}")
        if (symbolic := symbolic_in((*args, *kwargs.values()))) is not None:
            self.trace.steer(symbolic)
        self.trace.later.append((f, args, kwargs, self.frames[-1].instruction.line))

    def _of_numpy(self, f: Any, module: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A call of NumPy's whose arrays are constants of the graph, or of symbols; NotImplemented for another."""
        if package(module) != "numpy" or module.startswith("numpy.random") or f.__name__ in _STATE_OF_NUMPY:
            return NotImplemented
        values = (*args, *kwargs.values())
        if arrays.may_call(self, f, values):
            made = arrays.call(self, f, args, kwargs)
            if made is not NotImplemented:
                return made
        if isinstance(f, np.ufunc) and not kwargs and are_numbers(args):
            return self.pure(f, args, kwargs)
        if not self.trace.policy.full_graph:
            return NotImplemented
        if (symbolic := symbolic_in(values)) is not None:
            self.trace.steer(symbolic)
        return NotImplemented if holds(Tensor, values) else arrays.note(self, self.pure(f, args, kwargs))

    def pure(self, f: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        """A call whose result depends on its arguments alone, and which has no effect."""
        symbolic = symbolic_in((*args, *kwargs.values()))
        if symbolic is not None and f not in SYMBOLIC:
            self.trace.steer(symbolic)
        if f is bytes and args and (own := special(args[0], "__bytes__")) is not None:
            return self.call(own, args, kwargs)
        iterates = f in ITERATING or getattr(f, "__name__", "") == "join" or getattr(f, "__module__", "") == "math"
        args = tuple(self._looked_into(f, x, iterates) for x in args)
        if f is not functools.partial:  # whose calls are simulated, too
            called = (FunctionType, MethodType, functools.partial)
            args = tuple(Callback(self, x) if type(x) in called else x for x in args)
            kwargs = {k: Callback(self, x) if type(x) in called else x for k, x in kwargs.items()}
        result = f(*args, **kwargs)
        if not isinstance(result, (Tensor, Sym, *BUILT_IN)):
            self.trace.made(result)
        return result

    def _looked_into(self, f: Callable[..., Any], x: Any, iterates: bool) -> Any:
        """An argument of a function in C: objects of the user's that it iterates over are simulated."""
        if type(x) in (list, tuple):
            for item in x:
                self._looked_into(f, item, False)
        elif type(x).__module__ in ("builtins", "array") and not callable(x):
            must_be_known(self, x, name_of(f))
        elif iterates and special(x, "__iter__") is not None:
            return self.call(iter, (x,), {})
        return x

    def built_in(self, f: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A call of a function in C."""
        owner = getattr(f, "__self__", None)
        if type(f) in (MethodDescriptorType, WrapperDescriptorType):
            if not args:
                return f()
            return self._call(bound(f, args[0]), args[1:], kwargs, False)
        if type(f) is MethodWrapperType or isinstance(owner, type) or is_bound(f):
            return self._method(f, owner, args, kwargs)
        module = getattr(f, "__module__", None) or ""
        if is_library(module):
            return self.leaf(f, args, kwargs)
        if (made := self._of_numpy(f, module, args, kwargs)) is not NotImplemented:
            return made
        if f is warnings.warn:
            return self._tell(f, args, kwargs)
        if module in PURE_MODULES or f in PURE:
            if any(isinstance(x, Tensor) for x in args):
                return self.break_graph(f"{name_of(f)} of a tensor")
            return self.pure(f, args, kwargs)
        if f in OF_FRAMES:
            self._needs_real_frame(f)
        return self.break_graph(f"a call of {module}.{f.__name__}", between=f is builtins.__build_class__)

    def _needs_real_frame(self, f: Any) -> NoReturn:
        """The function looks at the frame that calls it: that one is not simulated."""
        if len(self.frames) == 1:
            raise Uncapturable(f"{name_of(f)} needs the frame that calls it ({self.frames[-1].where()})")
        self.frames[-1].direct = False
        self.break_graph(f"{name_of(f)} needs the frame that calls it")

    def _method(self, f: Any, owner: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A method in C of an object."""
        kind, name = type(owner), f.__name__
        if isinstance(owner, Tensor):
            return self.leaf(f, args, kwargs)
        if isinstance(owner, type) and is_library(owner.__module__):
            return self.leaf(f, args, kwargs)
        if name == "__setattr__":
            return write_attribute(self, owner, *args)
        if name == "__delattr__":
            return remove_attribute(self, owner, *args)
        if name == "__getattribute__":
            return get_attribute(self, owner, *args)
        if name == "__init__" and not args:
            return None
        if kind is str or kind is bytes or (isinstance(owner, enum.Enum) and isinstance(owner, _BASES_OF_MEMBERS)):
            if any(isinstance(x, Tensor) for x in (*args, *kwargs.values())) or holds(Tensor, args):
                return self.break_graph(f"a text is made of a tensor by {name}")
            return self.pure(f, tuple(list(x) if is_iterator(x) else x for x in args), kwargs)
        if kind in (list, tuple, dict, set, frozenset, range, slice, int, float, complex, *MUTABLE) or isinstance(
            owner, tuple
        ):
            return self._container_method(f, owner, args, kwargs)
        if isinstance(owner, TABLES) and name in (
            "items",
            "values",
            "keys",
            "get",
            "__len__",
            "__contains__",
            "__getitem__",
            "__iter__",
        ):
            return f(*args, **kwargs)
        if kind is type and owner in (dict, bytes, int, float, str):  # dict.fromkeys and others
            return self.pure(f, args, kwargs)
        if self.trace.is_fresh(owner) and (is_iterator(owner) or isinstance(owner, BaseException)):
            return self.pure(f, args, kwargs)
        if is_library(kind.__module__):
            return self.leaf(f, args, kwargs)
        if isinstance(owner, np.generic):
            return self.pure(f, args, kwargs)
        if arrays.may_be_called(self, owner, name, (*args, *kwargs.values())):
            return arrays.note(self, arrays.of_numbers(self, f, *args, **kwargs))
        return self.break_graph(f"a call of {kind.__name__}.{name}")

    def _container_method(self, f: Any, owner: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        name = f.__name__
        if isinstance(owner, (dict, set)) and args:
            args = (self.trace.number_of(args[0]), *args[1:])
        if name in ("index", "count", "remove", "get", "pop", "setdefault", "add", "discard"):
            look_up(self, *args, *(owner if isinstance(owner, (list, tuple, collections.deque)) else ()))
        iterable = name in (
            "extend",
            "update",
            "union",
            "intersection",
            "difference",
            "symmetric_difference",
            "extendleft",
            "issubset",
            "issuperset",
            "isdisjoint",
            "__ior__",
        )
        if iterable or name.endswith("_update"):
            args = tuple(
                x if type(x) in EXACT else self.call(dict if isinstance(x, dict) else iter, (x,), {}) for x in args
            )
        if (
            isinstance(owner, list)
            and name in ("index", "count", "remove", "sort")
            and any(isinstance(x, Tensor) for x in owner)
        ):
            if name != "sort" or not kwargs.get("key"):
                return self.break_graph(f"list.{name} compares tensors")
        if kwargs.get("key") is not None:
            kwargs = {**kwargs, "key": Callback(self, kwargs["key"])}
        if isinstance(owner, list) and symbolic_in(args) is not None and name in ("pop", "insert"):
            self.trace.steer(args[0])
        return f(*args, **kwargs)

    # --- attributes

    def special(self, x: Any, name: str) -> Any:
        """Return a special method of an object, which is looked up in its class."""
        found, _ = class_attribute(type(x), name)
        if found is NOTHING:
            raise TypeError(f"{type(x).__name__!r} object does not support the context manager protocol")
        return MethodType(found, x) if type(found) is FunctionType else bound(found, x)

    def forced(self, x: Any) -> Any:
        """Return a value that was read, looked into."""
        return self.trace.wrap(x.value, x.source) if type(x) is Unset else x

    def attribute(self, x: Any, name: str, direct: bool = False) -> Any:
        """Return an attribute of an object; ``direct``: it is the result of the operation that is being done."""
        part = self.in_part
        self.in_part = part or not direct
        try:
            return attributes.attribute(self, x, name)
        finally:
            self.in_part = part

    def global_variable(self, space: dict[str, Any], builtin: dict[str, Any], name: str) -> Any:
        """Return a global variable of a function, or a built-in one."""
        return attributes.global_variable(self, space, builtin, name)

    def identical(self, x: Any, y: Any) -> bool:
        """Return whether two values are one object."""
        if type(x) is Sym or type(y) is Sym:
            return x is y
        if x is y:
            return True
        # A container and the copy of it, a tensor and what stands for it.
        a, b = self.trace.shadow_of.get(id(x)), self.trace.shadow_of.get(id(y))
        if (a and a.real is y) or (b and b.real is x):
            return True
        # Tensors of arrays are made at every call: the arrays are compared.
        one, other = (s.base if type(s) is ArrayTensor else s for s in map(self.trace.sources.get, (id(x), id(y))))
        if one is None or other is None or (isinstance(one, Fixed) and isinstance(other, Fixed)):
            return False
        given = [self.trace.input_of(v) for v in (x, y)]
        if any(i is not None and i.tensor is v for i, v in zip(given, (y, x), strict=True)):
            self.trace.guards.same(one, other)
            return True
        self.trace.guards.different(one, other)
        return False


def _calls_users_layers(f: FunctionType, args: tuple) -> bool:
    """Return whether a function of the library is a call of a layer, which calls one of the user's, or hooks."""
    is_call = f.__name__ in ("__call__", "forward", "call_with_hooks")
    return is_call and bool(args) and isinstance(args[0], Layer) and any(
        not is_library(type(layer).__module__) or layer._forward_pre_hooks or layer._forward_post_hooks
        for layer in args[0].sublayers(include_self=True)
    )  # fmt: skip


def _is_of_library(frame: Frame) -> bool:
    return is_library(frame.globals.get("__name__", ""))


def bind(
    f: FunctionType, defaults: tuple[tuple, dict[str, Any]], args: tuple, kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Return the local variables of a call."""
    code, name = f.__code__, f.__qualname__
    n, k = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames
    variables: dict[str, Any] = dict(zip(names[:n], args, strict=False))
    at = n + k
    if code.co_flags & inspect.CO_VARARGS:
        variables[names[at]] = tuple(args[n:])
        at += 1
    elif len(args) > n:
        raise TypeError(f"{name}() takes {n} positional arguments but {len(args)} were given")
    rest: dict[str, Any] = {}
    by_name = names[code.co_posonlyargcount : n + k]
    for key, value in kwargs.items():
        if key in by_name:
            if key in variables:
                raise TypeError(f"{name}() got multiple values for argument {key!r}")
            variables[key] = value
        elif code.co_flags & inspect.CO_VARKEYWORDS:
            rest[key] = value
        else:
            raise TypeError(f"{name}() got an unexpected keyword argument {key!r}")
    if code.co_flags & inspect.CO_VARKEYWORDS:
        variables[names[at]] = rest
    positional, named = defaults
    for key, value in zip(names[n - len(positional) : n], positional, strict=True):
        variables.setdefault(key, value)
    for key in names[n : n + k]:
        if key not in variables and key in named:
            variables[key] = named[key]
    missing = [key for key in names[: n + k] if key not in variables]
    if missing:
        raise TypeError(f"{name}() missing {len(missing)} required argument(s): {', '.join(map(repr, missing))}")
    return variables
