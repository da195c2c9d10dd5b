"""The values that one capture of a frame has read, and what that means for later calls.

Values on the simulated stack are ordinary Python objects. Only three things stand for something else: tensors that
every run is given (symbolic tensors), numbers that every run is given (``Sym``), and lists, dicts and sets from
outside, which are copied when they are read, so that the frame may change them before its changes are made for good.
"""

from __future__ import annotations

import collections
import enum
import operator
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from paddle.jit.marker import DIMS
from paddle.jit.sot.control import Restart, Uncapturable
from paddle.jit.sot.guards import BY_TEXT, Guards
from paddle.jit.sot.iterators import ITERATORS, Calling
from paddle.jit.sot.sources import (
    Argument,
    ArrayTensor,
    Attribute,
    Contents,
    Fixed,
    Item,
    Member,
    Source,
    Values,
    fixed,
    tensor_of,
)
from paddle.jit.sot.translation import is_library
from paddle.jit.source.convert import HELPER_CELL, HELPERS
from paddle.jit.specs import positions_of
from paddle.jit.state import State, is_simple
from paddle.nn.layer._hooks import HookTable
from paddle.nn.layer._registry import Registry
from paddle.nn.layer.layers import Layer
from umiak.core.direct import Direct
from umiak.core.dtype import DType
from umiak.core.entries import CallScalars
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.meta import Meta
from umiak.ir.program import Value
from umiak.ir.scope import symbols_of
from umiak.ir.size_array import SizeArray
from umiak.ir.tracer import SymTensor
from umiak.runtime.capture import Capture, Scalars
from umiak.util.pytree import is_namedtuple
from umiak.util.size import Size

# Built-in containers that can change, which are copied when they are read.
MUTABLE = (
    list,
    dict,
    set,
    collections.deque,
    collections.OrderedDict,
    collections.defaultdict,
    collections.Counter,
    Size,
)
# Tables of layers: every change moves the counter of layers, so they are read where they are.
TABLES = (Registry, HookTable)
HEAP_TYPE = 1 << 9  # of a class made in Python
# Values that are guarded by equality; enumerations and NumPy's scalars are, too.
BY_VALUE = (type(None), bool, type(...), type(NotImplemented), str, bytes, complex, *BY_TEXT)
NOT_READ = object()  # in place of what stands for an object
# Objects that stand for themselves: guarded by identity, and constants of generated code.
IDENTICAL = (
    ModuleType,
    type,
    BuiltinFunctionType,
    MethodDescriptorType,
    WrapperDescriptorType,
    CodeType,
    Direct,
    np.ufunc,
    enum.Enum,
    Layer,
    DType,
    Place,
    re.Pattern,
    type(np.sum),
)
# Values that classes of the user's extend.
SCALARS: dict[type, Any] = {str: str.__str__, int: int.__int__, float: float.__float__}
# Objects in C that are what they were made of.
REDUCED = (operator.itemgetter, operator.attrgetter, operator.methodcaller)


def is_bound(f: Any) -> bool:
    """Return whether a built-in function is a method of an object, rather than one whose extension keeps data there."""
    owner = f.__self__
    return not isinstance(owner, (ModuleType, type, type(None))) and hasattr(owner, f.__name__)


class Unset:
    """Placeholder of a local variable or a stack entry that is wrapped when it is first used."""

    __slots__ = ("source", "value")

    def __init__(self, value: Any, source: Source) -> None:
        self.value = value
        self.source = source


@dataclass
class Policy:
    """The lessons of the captures of one frame: how to take the values of which sources."""

    symbolic: set[Source] = field(default_factory=set)  # numbers that differ from call to call
    steering: set[Source] = field(default_factory=set)  # numbers whose value is needed during the capture
    inputs: set[Source] = field(default_factory=set)  # tensors at fixed places that are exchanged between calls
    constants: set[Source] = field(default_factory=set)  # tensors that the function knows by itself, too
    gradients: dict[Source, Tensor] = field(default_factory=dict)  # tensors that are the gradient of a known leaf
    structural: set[Source] = field(default_factory=set)  # objects at fixed places that are exchanged between calls
    free: dict[Source, set[int]] = field(default_factory=dict)  # axes whose size differs from call to call
    steering_axes: dict[Source, set[int]] = field(default_factory=dict)
    leaves: dict[Any, str] = field(
        default_factory=dict
    )  # functions of the library that are called as they are, and why
    keeps_histories: bool = False  # `backward` runs outside of graphs
    single: bool = False  # the last capture serves its own call alone
    full_graph: bool = False  # the function is one graph, of its source rewritten, or it is refused
    most_frames: int = 60  # that are simulated inside of each other
    # Of the coming capture: the operations, by number, that run outside of the graph, and why.
    breaks: dict[int, str] = field(default_factory=dict)

    def varies(self) -> bool:
        """Return whether there are sizes or numbers that calls may have others of."""
        return bool(self.symbolic - self.steering) or any(self.free.values())

    def fix(self) -> bool:
        """Have all sizes and numbers be what they are from now on; return False where they are already."""
        varying = {source: axes for source, axes in self.free.items() if axes}
        numbers = self.symbolic - self.steering
        for source, axes in varying.items():
            self.steering_axes.setdefault(source, set()).update(axes)
            self.free[source] = set()
        self.steering |= numbers
        return bool(varying or numbers)


@dataclass
class Input:
    """A tensor that every run is given."""

    source: Source
    tensor: Tensor
    stand_in: Tensor
    axes: frozenset[int]  # whose sizes are symbols


@dataclass
class Number:
    """A number that every run is given."""

    source: Source
    value: int | float
    symbol: Sym


class TensorMethod:
    """A method of a tensor, which stands for another tensor at a run."""

    __slots__ = ("name", "tensor")

    def __init__(self, tensor: Tensor, name: str) -> None:
        self.tensor = tensor
        self.name = name


class ListAppend:
    """``append`` of a list from outside, which needs to know nothing of what is in the list."""

    __slots__ = ("list", "source")

    def __init__(self, x: list, source: Source) -> None:
        self.list = x
        self.source = source


class Shadow:
    """A container from outside and the copy that the frame works on."""

    def __init__(self, real: Any, copy: Any) -> None:
        self.real = real
        self.copy = copy
        self.before = snapshot(copy)

    def changed(self) -> bool:
        """Return whether the frame has changed the container."""
        now = snapshot(self.copy)
        return len(now) != len(self.before) or any(a is not b for a, b in zip(now, self.before, strict=True))


def snapshot(x: Any) -> tuple:
    """The contents of a container."""
    return (*x.keys(), *x.values()) if isinstance(x, dict) else tuple(x)


class Trace:
    """One capture of a frame."""

    native = False

    def __init__(self, policy: Policy, name: str) -> None:
        self.policy = policy
        self.name = name
        self.capture = Capture()
        self.capture.passes_on = False
        self.capture.entire = self.capture.scope.by_example = policy.full_graph
        self.guards = Guards()
        self.inputs: list[Input] = []
        self.numbers: list[Number] = []
        # Of objects from outside, by id.
        self.sources: dict[int, Source] = {id(HELPER_CELL): fixed(HELPER_CELL), id(HELPERS): fixed(HELPERS)}
        self.shadows: dict[int, Shadow] = {}  # by the id of the real container
        self.shadow_of: dict[int, Shadow] = {}  # by the id of the copy
        self.attributes: dict[
            tuple[int, str], tuple[Any, Any, bool]
        ] = {}  # written: by object and name (object, value, plainly)
        self.cells: dict[int, tuple[Any, Any]] = {}  # written cells from outside: (cell, value)
        self.globals: dict[tuple[int, str], tuple[dict, Any]] = {}  # written global variables
        self.fresh: dict[int, Any] = {}  # objects that the frame has made
        self.owners: list[Tensor] = []  # tensors whose gradients the frame may read
        self.details: dict[int, tuple[Tensor, dict[str, Any]]] = {}  # attributes that it has given to its tensors
        # Tensors through which no gradient flows now, by id, with their values with a history and without.
        self.stopped: dict[int, tuple[SymTensor, Value, Value]] = {}
        self.single = False  # whether it serves one call alone, whose own objects it has met
        self.appended: dict[int, tuple[ListAppend, list[Any]]] = {}  # what was appended to lists that were not read
        # Calls that tell something outside, after the run: function, arguments, line.
        self.later: list[tuple[Any, tuple, dict[str, Any], int]] = []
        self.told = False  # whether something was printed, or is to be told after the run
        self.of_numpy: set[Sym] = set()  # numbers that are scalars of NumPy's
        self.read_as: set[type] = (
            set()
        )  # what the user takes some tensors for, which were read by `numpy()`, `item()`, …
        self.reruns = False  # whether calls whose program raises must be able to run as they were written
        # The last error of the library before which nothing was changed: it is raised as it is.
        self.of_library: Any = None
        self.count = 0  # operations so far
        self._keep: list[Any] = []
        self._stand_ins: dict[int, Input] = {}  # by the id of the tensor
        self._given: dict[int, Input] = {}  # by the id of what stands for it
        self._states: set[int] = set()
        self._likes: dict[int, Tensor] = {}
        # What stands for arrays, iterators and objects of the library, by their id.
        self._standing_for: dict[int, Any] = {}
        self.caller: Any = None  # of functions that iterators call
        self.refuse: Any = None  # ends the capture, as something can be no part of a graph
        self.iterators: list[tuple[Any, list[Any]]] = []  # copies of those from outside, and what was in their slots

    # --- reading

    def wrap(self, x: Any, source: Source) -> Any:
        """Return what stands for a value that was read from outside, and guard it."""
        kind = type(x)
        if isinstance(x, Tensor):
            return self._tensor(x, source)
        if kind is int or kind is float:
            return self._number(x, source)
        if kind in BY_VALUE or isinstance(x, (np.generic, enum.Enum)):
            self.guards.equal(source, x)
            return x
        known = self._known(x, source)
        if known is not NOT_READ:
            return known
        if source.holder() is not None and source not in self.policy.structural:
            # What is at a fixed place is a fixed object from here on.
            self.guards.equal(source, x)
            self._keep.append(x)
            source = fixed(x)
        return self._met_first(x, kind, source)

    def _known(self, x: Any, source: Source) -> Any:
        """Return what stands for an object that was read before; ``NOT_READ`` for another one."""
        known = self.sources.get(id(x))
        if known is None:
            return NOT_READ
        self._meet(x, source, known)
        if id(x) in self._standing_for:
            return self._standing_for[id(x)]
        shadow = self.shadows.get(id(x))
        if shadow is None and id(x) in self.appended:
            return self._container(x, known)
        return x if shadow is None else shadow.copy

    def _met_first(self, x: Any, kind: type, source: Source) -> Any:
        """Return what stands for an object that was not read before, by its class."""
        if kind in (BuiltinFunctionType, MethodWrapperType) and is_bound(x):
            self._type(source, kind)
            self.guards.equal(Member(source, "__name__"), x.__name__)
            owner = self.wrap(x.__self__, Member(source, "__self__"))
            return TensorMethod(owner, x.__name__) if isinstance(owner, Tensor) else getattr(owner, x.__name__)
        if isinstance(x, IDENTICAL):
            self._identical(x, source)
            if isinstance(x, Layer):
                self.guards.layers.add(x)
            return x
        if kind is FunctionType:
            return self._function(x, source)
        if isinstance(x, TABLES):
            return self._table(x, source)
        if kind in MUTABLE:
            return self._container(x, source)
        if kind is tuple or is_namedtuple(kind):
            return self._tuple(x, kind, source)
        if kind is frozenset or kind is range or kind is slice:
            self.guards.equal(source, x)
            if kind is frozenset:
                self._know_items(x)
            return x
        if isinstance(x, tuple):
            return self._tuple_of_class(x, kind, source)
        if kind is MethodType:
            return self._method(x, source)
        if kind in ITERATORS:
            return self._iterator(x, source)
        if kind is np.ndarray and self.policy.full_graph:
            return self._array(x, source)
        if isinstance(x, tuple(SCALARS)) and kind.__flags__ & HEAP_TYPE:
            self._scalar(x, kind, source)
            return x
        if kind in REDUCED:
            return self._reduced(x, source)
        if is_library(kind.__module__):
            return self._of_library(x, kind, source)
        self._type(source, kind)
        self._know(x, source)
        return x

    def _scalar(self, x: Any, kind: type, source: Source) -> None:
        """A text or number of a class of the user's."""
        self._type(source, kind)
        base = next(k for k in SCALARS if isinstance(x, k))
        self.guards.based(source, SCALARS[base], SCALARS[base](x))
        self._know(x, source)

    def _reduced(self, x: Any, source: Source) -> Any:
        """An object in C that is what it was made of; one of other objects is itself."""
        if isinstance(source, Fixed) or not is_simple(x.__reduce__()[1]):
            self._identical(x, source)
        else:
            self._type(source, type(x))
            self.guards.reduced(source, x)
            self._know(x, source)
        return x

    def _of_library(self, x: Any, kind: type, source: Source) -> Any:
        """An object of the library. One that holds nothing but values is any with these. Functions of the library read
        more of others than guards see, such as tensors that they hold, so those are themselves."""
        state = getattr(x, "__dict__", None)
        if getattr(kind, "_is_its_attributes", False) and not isinstance(source, Fixed) and _holds_values(state):
            return self._attributes_of(x, kind, source)
        slots = any(getattr(base, "__slots__", ()) for base in kind.__mro__)
        if isinstance(source, Fixed) or slots or type(state) is not dict or not all(map(is_simple, state.values())):
            self._identical(x, source)
            return x
        self._type(source, kind)
        self._know(x, source)
        self.guards.keys(Member(source, "__dict__"), tuple(state))
        for name, value in state.items():
            self.guards.exactly(Attribute(source, name), value)
        return x

    def _attributes_of(self, x: Any, kind: type, source: Source) -> Any:
        """An object of the library that is what its attributes are: another one, which holds what stands for these."""
        self._type(source, kind)
        self.guards.keys(Member(source, "__dict__"), tuple(x.__dict__))
        self._know(x, source)
        made: Any = object.__new__(kind)
        self._standing_for[id(x)] = made
        self._know(made, source)
        for name, value in x.__dict__.items():
            place = Attribute(source, name)
            if is_simple(value) and type(value) is not tuple:
                self.guards.exactly(place, value)
                made.__dict__[name] = value
            else:
                made.__dict__[name] = self.wrap(value, place)
        return made

    def _tuple_of_class(self, x: tuple, kind: type, source: Source) -> Any:
        """A tuple of a class of the user's, which cannot be made anew of what stands for its items."""
        self._type(source, kind)
        self.guards.length(source, len(x))
        if any(self.wrap(v, Item(source, i)) is not v for i, v in enumerate(x)):
            raise Uncapturable(f"tensors or containers in a {kind.__name__}, a class of tuples", lasting=False)
        self._know(x, source)
        return x

    def _know_items(self, items: Iterable[Any]) -> None:
        """Note objects that are keys or elements: a guard compares them."""
        for x in items:
            if not is_simple(x) and id(x) not in self.sources:
                self._know(x, fixed(x))

    def _identical(self, x: Any, source: Source) -> None:
        if not isinstance(source, Fixed):
            self.guards.equal(source, x)
        self._know(x, fixed(x))

    def _table(self, x: Any, source: Source) -> Any:
        self._know(x, source)
        self.guards.table(x)
        for value in x.values():
            if not isinstance(value, Tensor) and value is not None:
                self._know(value, fixed(value))
        return x

    def _tuple(self, x: Any, kind: type, source: Source) -> Any:
        self._type(source, kind)
        self.guards.length(source, len(x))
        items = [self.wrap(v, Item(source, i)) for i, v in enumerate(x)]
        if all(a is b for a, b in zip(items, x, strict=True)):
            self._know(x, source)
            return x
        made = tuple(items) if kind is tuple else kind(*items)
        self._know(made, source)
        return made

    def _method(self, x: MethodType, source: Source) -> Any:
        self._type(source, MethodType)
        function = self.wrap(x.__func__, Member(source, "__func__"))
        owner = self.wrap(x.__self__, Member(source, "__self__"))
        if isinstance(owner, Tensor):
            return TensorMethod(owner, x.__name__)
        made = x if function is x.__func__ and owner is x.__self__ else MethodType(function, owner)
        self._know(made, source)
        return made

    def _meet(self, x: Any, source: Source, known: Source) -> None:
        """Guard that an object which was read from one place is at another one, too."""
        if known != source:
            if isinstance(known, Fixed) and source not in self.policy.structural:
                self.guards.equal(source, x)  # which C compares, if it is at a fixed place
            else:
                self.guards.same(source, known)

    def _know(self, x: Any, source: Source) -> None:
        self.sources[id(x)] = source
        self._keep.append(x)

    def _type(self, source: Source, kind: type) -> None:
        # The class of a fixed object of the user's may be exchanged.
        if not isinstance(source, Fixed) or (kind.__flags__ & HEAP_TYPE and not is_library(kind.__module__)):
            self.guards.kind(source, kind)

    def _tensor(self, x: Tensor, source: Source) -> Tensor:
        if isinstance(x, SymTensor):
            return x if x._tracer is self.capture else self.like(x)
        known = self._stand_ins.get(id(x))
        if known is not None:
            if known.source != source:
                self.guards.same(source, known.source)
            return known.stand_in
        leaf = self.policy.gradients.get(source)
        if leaf is not None and leaf._grad is x:
            self.guards.same(source, Member(fixed(leaf), "grad"))
            self.know_gradient(x, leaf)
            return x
        if x.is_sparse():
            return self._sparse(x, source)
        fixed_place = source.holder() is not None or isinstance(source, Fixed)
        if (fixed_place and source not in self.policy.inputs) or source in self.policy.constants:
            if not isinstance(source, Fixed):
                self.guards.equal(source, x)
            self._know(x, fixed(x))
            self.owners.append(x)
            return x
        free = self.policy.free.get(source, set()) | getattr(x, DIMS, frozenset())
        free = free - self.policy.steering_axes.get(source, set())
        axes = frozenset(a for a in free if a < x.ndim and x.shape[a] not in (0, 1))
        made = Input(source, x, self.capture.argument(x, axes), axes)
        self.guards.tensor(source)
        self.inputs.append(made)
        self._stand_ins[id(x)] = self._given[id(made.stand_in)] = made
        self._keep.append(x)
        self.sources[id(made.stand_in)] = source
        return made.stand_in

    def _sparse(self, x: Any, source: Source) -> Any:
        """A sparse tensor: its values are a tensor that a run is given, its positions are constants."""
        with self.capture.paused():
            x.coordinates()  # read now: a capture may not
            pattern = positions_of(x)
            values = x.values()
        self.guards.pattern(source, pattern)
        made = x.with_values(self._tensor(values, Values(source)))
        self._know(made, source)
        return made

    def _array(self, x: np.ndarray, source: Source) -> Any:
        """An array, whose elements are a tensor that a run is given."""
        if x.dtype.kind not in "biufcV":
            raise Uncapturable(f"an array of {x.dtype} cannot be a part of a graph")
        self._type(source, np.ndarray)
        with self.capture.paused():
            values = tensor_of(x)
        made = self._standing_for[id(x)] = self._tensor(values, ArrayTensor(source))
        self._know(x, source)
        return made

    def like(self, x: Tensor, stop: bool | None = None) -> Tensor:
        """Return an input like a tensor, of which nothing but its class counts, or with another ``stop_gradient``."""
        known = self._likes.get(id(x))
        if known is None:
            sizes = tuple(n if type(n) is int else int(n.hint) if n.hinted else 2 for n in x.shape)
            known = self._likes[id(x)] = self.capture.input(
                Meta(sizes, x.dtype), x.stop_gradient if stop is None else stop
            )
            self._keep.append(x)
        return known

    def sets_flag(self, x: SymTensor, stop: bool) -> bool:
        """Set ``stop_gradient`` of a tensor that has a history, as long as it is set back in the same graph, if it ever
        is. Return False where that is not so."""
        capture = self.capture
        if capture.frames and x._block is not capture.builder.block:
            return False
        if stop:
            if capture.given(x) or capture.makes(x) or x._base is not None:
                return False
            before = x.value
            x.detach_()
            self.stopped[id(x)] = x, before, x._value
            return True
        held = self.stopped.pop(id(x), None)
        if held is None or x._value is not held[2]:  # it was written to
            return False
        x._value, x._stop = held[1], False
        return True

    def input_of(self, x: Any) -> Input | None:
        """Return the input that a tensor stands for."""
        return self._given.get(id(x))

    def _number(self, x: float, source: Source) -> Any:
        policy = self.policy
        if source not in policy.symbolic or source in policy.steering or abs(x) > 2**53:
            self.guards.equal(source, x)
            return x
        known = next((n for n in self.numbers if n.source == source), None)
        if known is not None:
            return known.symbol
        self.guards.number(source, type(x))
        kind = "int" if type(x) is int else "float"
        symbol = self.capture.number(kind, hint=x, name=f"n{len(self.numbers)}")
        self.numbers.append(Number(source, x, symbol))
        return symbol

    def scalars(self) -> CallScalars:
        """Return what a run reads its numbers from, and have the capture know it."""
        made = CallScalars(["int" if n.symbol.kind == "int" else "float" for n in self.numbers])
        self.capture.sources.append(Scalars(made, [n.symbol for n in self.numbers]))
        return made

    def _function(self, f: FunctionType, source: Source) -> FunctionType:
        if not isinstance(source, Fixed):
            # A closure that is made at every call is another object of the same code.
            self.guards.equal(Member(source, "__code__"), f.__code__)
        self._know(f, source)
        return f

    def _container(self, x: Any, source: Source) -> Any:
        self._type(source, type(x))
        self._know(x, source)
        if isinstance(x, dict):
            self.guards.keys(source, tuple(x))
            self._know_items(x)
            copy: Any = type(x)()
            if isinstance(x, collections.defaultdict):
                made = self.wrap(x.default_factory, Member(source, "default_factory"))
                copy.default_factory = made if callable(made) else x.default_factory
            shadow = self.shadows[id(x)] = Shadow(x, copy)
            for key, value in x.items():
                copy[key] = self.wrap(value, Item(source, key))
        elif isinstance(x, set):
            self.guards.members(source, x)
            self._know_items(x)
            copy = set(x)
            shadow = self.shadows[id(x)] = Shadow(x, copy)
        else:
            self.guards.length(source, len(x))
            if isinstance(x, collections.deque):
                self.guards.equal(Member(source, "maxlen"), x.maxlen)
            copy = collections.deque(maxlen=x.maxlen) if isinstance(x, collections.deque) else type(x)()
            shadow = self.shadows[id(x)] = Shadow(x, copy)
            copy.extend(self.wrap(value, Item(source, i)) for i, value in enumerate(x))
        shadow.before = snapshot(copy)
        if id(x) in self.appended:
            copy.extend(self.appended.pop(id(x))[1])
        self.shadow_of[id(copy)] = shadow
        self._know(copy, source)
        return copy

    def _iterator(self, x: Any, source: Source) -> Any:
        """An iterator of a loop that goes on after a graph break."""
        self._type(source, type(x))
        copy = object.__new__(type(x))
        self._know(x, source)
        self._know(copy, source)
        for name in type(x).__slots__:
            setattr(copy, name, self.wrap(getattr(x, name), Member(source, name)))
        if isinstance(copy, Calling):
            copy.caller = self.caller
        self.iterators.append((copy, [getattr(copy, name) for name in type(x).__slots__]))
        self._standing_for[id(x)] = copy
        return copy

    def is_fresh(self, x: Any) -> bool:
        """Return whether the frame has made an object."""
        return id(x) in self.fresh

    def made(self, x: Any) -> Any:
        """Note an object that the frame has made."""
        self.fresh[id(x)] = x
        return x

    def unread(self, x: Any, source: Source) -> Any:
        """Return what stands for a value that was read; of a list, a placeholder until it is looked into."""
        if type(x) is list and id(x) not in self.shadows:
            return Unset(x, source)
        return self.wrap(x, source)

    def append_of(self, x: list, source: Source) -> ListAppend:
        """Return the ``append`` of a list that has not been looked into."""
        known = self.appended.get(id(x))
        if known is not None:
            return known[0]
        if source.holder() is not None:
            self.guards.equal(source, x)
            source = fixed(x)
        else:
            self.guards.kind(source, list)
        self._know(x, source)
        made = ListAppend(x, source)
        self.appended[id(x)] = made, []
        return made

    def append(self, f: ListAppend, value: Any) -> None:
        """Append a value to a list from outside."""
        shadow = self.shadows.get(id(f.list))
        if shadow is not None:
            shadow.copy.append(value)
        else:
            self.appended.setdefault(id(f.list), (f, []))[1].append(value)

    def appended_at(self, x: Any, key: Any) -> tuple | None:
        """Return (value,) of an element that the frame has appended to a list which it has not looked into: how long
        the list was before does not matter. None for others."""
        if type(x) is not Unset or type(key) is not int or id(x.value) in self.shadows:
            return None
        values = self.appended[id(x.value)][1] if id(x.value) in self.appended else ()
        if not -len(values) <= key < 0:
            return None
        self._meet(x.value, x.source, self.sources[id(x.value)])
        return (values[key],)

    def has_effects(self) -> bool:
        """Return whether the frame has changed anything outside so far."""
        capture = self.capture
        written = any(i.stand_in._writes for i in self.inputs) or capture.wrote() or bool(capture.leaves)
        written = written or bool(capture.streams or self.told)
        state = self.attributes or self.cells or self.globals or any(values for _, values in self.appended.values())
        moved = any(getattr(x, n) is not v for x, before in self.iterators for n, v in zip(type(x).__slots__, before))
        return bool(written or state or moved or self.later or any(s.changed() for s in self.shadows.values()))

    def keep_apart(self) -> None:
        """Guard that what the frame has changed is no other object that it has read, at later calls, too."""
        known = {id(x): x for x in self._keep if id(x) in self.sources and id(x) not in self.shadow_of}
        changed = [id(s.real) for s in self.shadows.values() if s.changed()]
        changed += [i for i, _ in self.attributes] + list(self.cells) + list(self.appended)
        for i in dict.fromkeys(changed):
            if i not in known:
                continue
            source = self.sources[i]
            for k, other in known.items():
                if k != i and type(other) is type(known[i]):
                    place = self.sources[k]
                    if place != source and not (isinstance(source, Fixed) and isinstance(place, Fixed)):
                        self.guards.different(source, place)

    # --- attributes, cells and global variables, written ones included

    def attribute(self, x: Any, name: str, value: Any) -> Any:
        """Return what stands for ``value``, the entry of ``x.__dict__``."""
        if self.is_fresh(x):
            return value
        source = self.place_of(x)
        return value if source is None else self.unread(value, Attribute(source, name))

    def place_of(self, x: Any) -> Source | None:
        """Return the source of an object; of a layer or a tensor that functions of the library gave, itself."""
        source = self.sources.get(id(x))
        given = isinstance(x, Layer) or (isinstance(x, Tensor) and not isinstance(x, SymTensor))
        return fixed(x) if source is None and given and not self.is_fresh(x) else source

    def contents(self, cell: CellType, name: str) -> Any:
        """Return the value of a variable of a closure."""
        if cell is HELPER_CELL:
            return HELPERS
        written = self.cells.get(id(cell))
        value = cell.cell_contents if written is None else written[1]
        if type(value) is Unset:
            value = self.wrap(value.value, value.source)
            if self.is_fresh(cell):
                cell.cell_contents = value
        elif written is None and not self.is_fresh(cell):
            value = self.unread(value, Contents(self.sources.get(id(cell)) or fixed(cell), name))
        return value

    def write_cell(self, cell: CellType, value: Any) -> None:
        """Set a variable of a closure."""
        if self.is_fresh(cell):
            cell.cell_contents = value
        else:
            self.cells[id(cell)] = cell, value

    def know_fixed(self, x: Any) -> None:
        """Note an object that is the same at every call."""
        self._know(x, fixed(x))
        if isinstance(x, Layer):
            self.guards.layers.add(x)

    def know_argument(self, x: Unset) -> Any:
        """Return an argument as the object that it is."""
        self._know(x.value, x.source)
        return x.value

    def know_gradient(self, gradient: Tensor, leaf: Tensor) -> None:
        """Note that a tensor is the gradient of another one."""
        if id(gradient) not in self.sources:
            self._know(gradient, Member(self.sources.get(id(leaf)) or fixed(leaf), "grad"))

    def function_reads(self, f: Any) -> None:
        """A function that the library calls by itself reads Python state: it has to be the same at later calls."""
        if id(f) in self._states:
            return
        self._states.add(id(f))
        self._keep.append(f)
        self.guards.state(State(f))

    # --- symbols

    def steer(self, value: Any) -> None:
        """A symbolic number is needed as the number that it is: capture anew with it as a constant."""
        symbols = symbols_of([value])
        learned = False
        for number in self.numbers:
            if number.symbol in symbols:
                self.policy.steering.add(number.source)
                learned = True
        for item in self.inputs:
            for axis in item.axes:
                if item.stand_in._value.meta.shape[axis] in symbols:
                    self.policy.steering_axes.setdefault(item.source, set()).add(axis)
                    self.policy.free.setdefault(item.source, set()).discard(axis)
                    learned = True
        if learned:
            raise Restart
        if self.capture.from_data(value):
            self.refuse(
                "Python needs a number here that data decide, which is known only while the program runs. Keep it a "
                "size, an operand or a condition, or do outside of the function what needs it"
            )
        raise Uncapturable(f"the symbolic number {value} is needed as a number")

    def number_of(self, x: Any) -> Any:
        """Return a number as a number: one that is symbolic has the capture begin anew."""
        if type(x) is Sym:
            self.steer(x)
        return x


def _holds_values(x: Any) -> bool:
    """Return whether there is nothing in attributes or a container but tensors, values, and objects that hold these."""
    if type(x) in (list, tuple, dict):
        return all(map(_holds_values, x.values() if type(x) is dict else x))
    if getattr(type(x), "_is_its_attributes", False):
        return is_library(type(x).__module__) and _holds_values(x.__dict__)
    return is_simple(x) or (isinstance(x, Tensor) and not x.is_sparse())


def argument(name: str) -> Argument:
    """The source of a parameter."""
    return Argument(None, name)


def symbolic_in(values: Iterable[Any]) -> Sym | None:
    """Return a symbolic number among values, or inside of tuples, lists and dicts of them."""
    for x in values:
        if type(x) is Sym:
            return x
        if type(x) is SizeArray and (found := symbolic_in(np.asarray(x).tolist())) is not None:
            return found
        if type(x) in (tuple, list, Size) and (found := symbolic_in(x)) is not None:
            return found
        if type(x) is dict and (found := symbolic_in(x.values())) is not None:
            return found
        if type(x) is slice and (found := symbolic_in((x.start, x.stop, x.step))) is not None:
            return found
    return None
