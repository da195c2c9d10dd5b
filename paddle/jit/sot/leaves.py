"""Calls of functions of the library as they are: their operations on symbolic tensors are recorded."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from paddle.autograd.products import jvp, vjp
from paddle.autograd.py_layer import PyLayer
from paddle.autograd.run import backward, grad
from paddle.autograd.saved_tensors import saved_tensors_hooks
from paddle.distributed.fleet.recompute.recompute import recompute, recompute_sequential
from paddle.incubate.autograd.functional import Hessian, Jacobian
from paddle.jit.sot.control import Control, Refused
from paddle.jit.sot.models.classes import class_attribute, is_iterator
from paddle.jit.sot.object_state import ObjectState
from paddle.jit.sot.sources import Attribute, Fixed, fixed
from paddle.jit.sot.trace import MUTABLE, TABLES, TensorMethod, symbolic_in
from paddle.jit.sot.translation import is_library
from paddle.jit.source.values import LATE, read
from paddle.jit.state import attributes_read, is_simple
from paddle.nn.functional.loss_margin import triplet_margin_with_distance_loss
from paddle.nn.layer._hooks import HookRemoveHelper
from paddle.nn.layer.layers import Layer
from paddle.optimizer.optimizer import Optimizer
from paddle.static.nn.control_flow import case, cond, switch_case, while_loop
from paddle.tensor._tensor_array import TensorArray
from paddle.utils.nested import map_structure
from umiak import ops as F
from umiak.core.context import current, no_grad_guard
from umiak.core.node import HookHandle
from umiak.core.tensor import Tensor
from umiak.ir.expr import NumberUnknown
from umiak.ir.tracer import DataUnknown, SymTensor
from umiak.runtime.capture import CaptureError

if TYPE_CHECKING:
    from paddle.jit.sot.simulator import Simulator

PLAIN = (int, float, bool, complex, str, bytes, type(None), range, slice, frozenset, type(...), type(NotImplemented))
BUILT_IN = (
    *PLAIN, tuple, list, dict, set, *MUTABLE, *TABLES, FunctionType, MethodType, BuiltinFunctionType, CodeType,
)  # fmt: skip

_NOTHING = object()

# Functions of the library that call the user's while they run. These are simulated.
CALLING = frozenset((
    recompute, recompute_sequential, cond, case, switch_case, while_loop, map_structure, vjp, jvp, Jacobian, Hessian,
    triplet_margin_with_distance_loss,
))  # fmt: skip


# Functions of the library, by module and name, that read or set state of the process or files, which no guard compares.
# Modes, the default dtype, places and random streams are a matter of captures.
_OF_PROCESS = frozenset((
    "paddle.framework.flags.set_flags", "paddle.framework.flags.get_flags", "paddle.tensor.to_string.set_printoptions",
    "paddle.nn.initializer.initializers.set_global_initializer", "paddle.framework.unique_name.generate",
    "paddle.framework.unique_name.switch", "paddle.vision.image.set_image_backend",
    "paddle.vision.image.get_image_backend", "paddle.audio.backends.init_backend.set_backend",
    "paddle.jit.source.show.set_code_level", "paddle.jit.source.show.set_verbosity",
    "paddle.jit.api.enable_to_static", "paddle.amp.debugging.set_checked_op_list",
    "paddle.amp.debugging.set_skipped_op_list", "paddle.amp.debugging.enable_tensor_checker",
    "paddle.amp.debugging.disable_tensor_checker", "paddle.amp.debugging.enable_operator_stats_collection",
    "paddle.amp.debugging.disable_operator_stats_collection", "paddle.framework.saving.save",
    "paddle.framework.loading.load",
))  # fmt: skip
_HELPERS = "paddle.jit.source."  # which ask themselves


def _given(sim: Simulator, x: Any) -> Any:
    """An argument of a function of the library; of one that a branch has left, what reading it gives."""
    return sim.call(read, (x,), {}) if type(x) in LATE else x


def leaf(sim: Simulator, f: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """A call of the library, whose operations are recorded."""
    if any(type(x) in LATE for x in (*args, *kwargs.values())) and not str(f.__module__).startswith(_HELPERS):
        args = tuple(_given(sim, x) for x in args)
        kwargs = {k: _given(sim, x) for k, x in kwargs.items()}
    if type(f) is FunctionType and f"{f.__module__}.{f.__name__}" in _OF_PROCESS:
        return sim.break_graph(f"a call of {name_of(f)}, whose effect or result is outside of graphs", between=True)
    for x in (*args, *kwargs.values()):
        _note_function(sim, x)
    if args and isinstance(args[0], type) and issubclass(args[0], PyLayer) and f.__name__ == "apply":
        sim.probe_layer(*args)
    elif f in CALLING:
        args = tuple(sim.called(x, f) for x in args)
        kwargs = {k: sim.called(x, f) for k, x in kwargs.items()}
    method = getattr(f, "__func__", f)
    owner = args[0] if args and type(f) is FunctionType else getattr(f, "__self__", None)
    if owner is None and type(caller := class_attribute(type(f), "__call__")[0]) is FunctionType:
        owner, method = f, caller
    if _holds_arrays(sim, (*args, *kwargs.values())) and not sim.trace.policy.full_graph:  # there they are constants
        return sim.break_graph(f"{name_of(f)} of an array")
    args = tuple(x.copy() if isinstance(x, np.ndarray) else x for x in args)  # which the frame may change later
    if _holds_functions(owner):
        of_hooks = isinstance(owner, saved_tensors_hooks)
        return sim.break_graph(f"{name_of(f)} of an object that holds functions", python=of_hooks)
    for x in (owner, *args[:1]):  # methods in C are given their object
        if isinstance(x, (HookHandle, HookRemoveHelper)) and not sim.trace.is_fresh(x):
            return sim.break_graph(f"{name_of(f)} of a hook from outside", python=True)
    for x in (*args, *kwargs.values()):
        if _is_opaque(x):
            return sim.break_graph(f"{name_of(f)} of an object of {type(x).__name__}, whose state no guard compares")
    if is_backward(f) and not sim.trace.policy.full_graph:
        retains = kwargs.get("retain_graph", args[2 - (f is not backward) :][:1])
        if sim.trace.policy.keeps_histories or retains not in (False, (), (False,)):
            return sim.break_graph("backward() leaves a history that is gone on with")
    capture = sim.trace.capture
    known = capture.count_known()
    kept = _state_of(sim, owner)
    if kept is not None:
        _guard_state(sim, method, owner, kept.attributes)
    capture.may_end = is_backward(f) and sim.can_end_graph()
    try:
        with _cells_lent(sim, (*args, *kwargs.values())):
            result = f(*args, **kwargs)
    except (Control, NumberUnknown):
        if kept is not None:
            kept.taken_back()
        raise
    except Exception as error:
        if kept is not None:
            kept.taken_back()
        if kept is not None and sim.trace.policy.full_graph and isinstance(error, (DataUnknown, CaptureError)):
            return sim.break_graph(f"{name_of(f)} decides by data: {error}", between=True)
        if sim.trace.policy.full_graph and not isinstance(error, (DataUnknown, CaptureError)):
            symbolic = symbolic_in((*args, *kwargs.values()))
            if symbolic is not None and not capture.from_data(symbolic):
                sim.trace.steer(symbolic)
            met = sim.trace.of_library is not None and sim.trace.of_library.error is error  # at a line further in
            if not (met or sim.trace.has_effects()):
                sim.trace.of_library = Refused(error, sim.places())
            raise
        # Outside of the graph it raises what it has to, at the user's line, or it works there.
        reason = f"{name_of(f)}: {type(error).__name__}: {error}"
        return sim.break_graph(reason, python=is_backward(f) or f is grad)
    if capture.ended:
        sim.end_graph()
    if current().saved_hooks is not None:
        return sim.break_graph(f"{name_of(f)}: hooks of saved tensors are called at every call", python=True)
    if isinstance(result, Tensor) and not isinstance(result, SymTensor):
        if not _is_from_outside(sim, result, f, args):
            was_made = capture.wrote_first(result, known)
            if was_made or not capture.knows(result):
                return _another(sim, f, result, was_made)
    if kept is not None and kept.taken_back():
        return sim.break_graph(f"{name_of(f)} changes the state of {type(owner).__name__}", between=True)
    if type(result) in (int, float, bool, str) and _has_state(sim, owner):
        return sim.break_graph(f"{name_of(f)} reads the state of {type(owner).__name__}")
    if not isinstance(result, (Tensor, *BUILT_IN)):
        sim.trace.made(result)
    return result


def _another(sim: Simulator, f: Callable[..., Any], x: Tensor, written: bool) -> Any:
    """The stand-in of a tensor that a function of the library makes: another one at every run."""
    if not (x.stop_gradient or sim.trace.policy.full_graph):
        return sim.break_graph(f"{name_of(f)} makes a leaf that has a gradient")
    if type(x) is not Tensor:  # a parameter is known by itself, and kept by layers: every call makes its own
        sim.trace.single = True
        return x
    with no_grad_guard():
        made = F.copy(x)
    if written:
        sim.trace.capture.forget_write(x)
    if not x.stop_gradient:
        made.stop_gradient = False
    return made


def _is_from_outside(sim: Simulator, x: Tensor, f: Callable[..., Any], args: tuple) -> bool:
    """Return whether a tensor, which ``f`` has given back, is one from outside."""
    owner = f.tensor if isinstance(f, TensorMethod) else getattr(f, "__self__", None)
    if x is owner or any(x is a for a in args) or id(x) in sim.trace.sources:
        return True
    return any(x is a._grad for a in args if isinstance(a, Tensor))


def _has_state(sim: Simulator, x: Any) -> bool:
    """Return whether a method of ``x`` may read what changes between calls."""
    kind = type(x)
    plain = isinstance(x, (Tensor, Layer, type, ModuleType, *BUILT_IN)) or sim.trace.is_fresh(x)
    return not plain and is_library(kind.__module__) and hasattr(x, "__dict__")


def _state_of(sim: Simulator, owner: Any) -> ObjectState | None:
    """The state of an object of the library from outside, which a call must leave as they are. That of arrays is one
    of the program."""
    if (
        owner is None
        or isinstance(owner, (Tensor, Layer, type, ModuleType, Optimizer, TensorArray))
        or not is_library(type(owner).__module__)
    ):
        return None
    if sim.trace.is_fresh(owner) or type(getattr(owner, "__dict__", None)) is not dict:
        return None
    return ObjectState(owner)


def _guard_state(sim: Simulator, method: Any, owner: Any, state: dict[str, Any]) -> None:
    """Guard what a method of the library may read of its object: it is not simulated."""
    source = sim.trace.sources.get(id(owner)) or fixed(owner)
    for name in attributes_read(method, type(owner)):  # type: ignore[arg-type]
        if is_simple(state.get(name, sim)):
            sim.trace.guards.equal(Attribute(source, name), state[name])


def _note_function(sim: Simulator, x: Any) -> None:
    if isinstance(x, (FunctionType, MethodType)) and not is_library(x.__module__):
        _fill_cells(sim, x, set())
        sim.trace.function_reads(x)
    elif isinstance(x, Layer):
        sim.trace.function_reads(x.forward)
    elif type(x) in (list, tuple, dict):
        for item in x.values() if type(x) is dict else x:
            _note_function(sim, item)
    elif isinstance(x, type) and not is_library(x.__module__) and hasattr(x, "backward"):
        sim.trace.function_reads(x.forward)
        sim.trace.function_reads(x.backward)


def _fill_cells(sim: Simulator, f: Any, seen: set[int]) -> None:
    """Have the variables of a closure that the frame has made hold values: the library reads them by itself."""
    for cell, name in zip(f.__closure__ or (), f.__code__.co_freevars):
        if not sim.trace.is_fresh(cell) or id(cell) in seen:
            continue
        seen.add(id(cell))
        try:
            value = sim.trace.contents(cell, name)
        except ValueError:  # it has none yet
            continue
        if type(value) is FunctionType:
            _fill_cells(sim, value, seen)


@contextmanager
def _cells_lent(sim: Simulator, values: Iterable[Any]) -> Iterator[None]:
    """Variables of closures that belong to one call, of a frame that goes on behind a break, hold what stands for their
    values while the library reads them by itself."""
    lent: dict[int, tuple[CellType, Any, Any]] = {}
    for x in values:
        _lend_cells(sim, x, lent)
    try:
        for cell, _, stand_in in lent.values():
            cell.cell_contents = stand_in
        yield
    finally:
        for cell, real, stand_in in lent.values():
            value = _held_by(cell)
            if real is _NOTHING:
                del cell.cell_contents
            else:
                cell.cell_contents = real
            if value is not stand_in and value is not _NOTHING:
                sim.trace.write_cell(cell, value)


def reads_one_call(sim: Simulator, f: Any) -> bool:
    """Return whether a function that the library calls later reads variables of one call: it would find them there."""
    lent: dict[int, tuple[CellType, Any, Any]] = {}
    _lend_cells(sim, f, lent)
    return any(real is not value for _, real, value in lent.values())


def _held_by(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _NOTHING


def _lend_cells(sim: Simulator, x: Any, lent: dict[int, tuple[CellType, Any, Any]]) -> None:
    if type(x) in (list, tuple, dict):
        for item in x.values() if type(x) is dict else x:
            _lend_cells(sim, item, lent)
    f = x.__func__ if isinstance(x, MethodType) else x
    if not isinstance(f, FunctionType) or is_library(f.__module__):
        return
    for cell, name in zip(f.__closure__ or (), f.__code__.co_freevars):
        source = sim.trace.sources.get(id(cell))
        if source is None or isinstance(source, Fixed) or id(cell) in lent:
            continue
        try:
            value = sim.trace.contents(cell, name)
        except ValueError:  # it has none yet
            continue
        lent[id(cell)] = cell, _held_by(cell), value
        _lend_cells(sim, value, lent)


def is_backward(f: Any) -> bool:
    """Return whether a function is ``backward`` of a tensor, or of tensors."""
    if type(f) is TensorMethod:
        return f.name == "backward"
    return f is backward or (isinstance(getattr(f, "__self__", None), Tensor) and f.__name__ == "backward")


def _is_opaque(x: Any) -> bool:
    """Return whether an object is one of another package that the library looks into: an image, say."""
    kind = type(x)
    if isinstance(x, (Tensor, np.generic, np.ndarray, np.dtype, enum.Enum, tuple, BaseException, *BUILT_IN)):
        return False
    own = kind.__module__ == "builtins" or any(is_library(base.__module__) for base in kind.__mro__)
    own = own or isinstance(x, (type, ModuleType))
    return not (own or callable(x) or is_iterator(x) or isinstance(x, (list, dict, set)))


def _holds_functions(owner: Any) -> bool:
    """Return whether an object of the library, no layer, holds functions of the user's, which it may call."""
    if isinstance(owner, (Tensor, Layer, Optimizer, type, ModuleType, *BUILT_IN)) or not is_library(
        type(owner).__module__
    ):
        return False
    for value in getattr(owner, "__dict__", {}).values():
        for x in value if type(value) in (list, tuple) else (value,):
            if isinstance(x, (FunctionType, MethodType)) and not is_library(x.__module__):
                return True
    return False


def _holds_arrays(sim: Simulator, values: Iterable[Any]) -> bool:
    """Return whether there is an array that the frame has not made."""
    return any(
        _holds_arrays(sim, x)
        if isinstance(x, (list, tuple))
        else isinstance(x, np.ndarray) and not sim.trace.is_fresh(x)
        for x in values
    )


def holds(kind: type, values: Iterable[Any]) -> bool:
    """Return whether there is an instance of a class among values, or in lists and tuples of them."""
    return any(isinstance(x, kind) or (type(x) in (list, tuple) and holds(kind, x)) for x in values)


def name_of(f: Any) -> str:
    """Return how a function is called in what is told about it."""
    if type(f) is TensorMethod:
        return f"Tensor.{f.name}"
    return getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or type(f).__name__
