"""Classes and their objects: attributes, properties, operators, inheritance."""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import weakref
from collections import namedtuple
from typing import ClassVar, NamedTuple

import paddle
from tests.jit.corpus.reasons import BREAKS
from tests.jit.corpus.registry import driver, factory, given, program

Pair = namedtuple("Pair", "left right")


class Color(enum.Enum):
    RED = 1
    BLUE = 2

    @property
    def weight(self):
        return self.value * 10


class Flag(enum.IntFlag):
    A = 1
    B = 2


class Labelled(NamedTuple):
    x: object
    label: str = "none"

    def doubled(self):
        return self._replace(x=self.x * 2)


@dataclasses.dataclass
class Box:
    x: object
    scale: float = 2.0
    log: list = dataclasses.field(default_factory=list)
    made: ClassVar[int] = 0

    def __post_init__(self):
        self.log.append("made")

    def value(self):
        return self.x * self.scale


@dataclasses.dataclass(frozen=True)
class Options:
    scale: float = 1.0
    names: tuple = ("a",)


class Vector:
    """Operators of every kind."""

    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return Vector(self.x + (other.x if isinstance(other, Vector) else other))

    def __radd__(self, other):
        return Vector(self.x + other * 100)

    def __iadd__(self, other):
        self.x = self.x + other
        return self

    def __mul__(self, other):
        return NotImplemented if isinstance(other, str) else Vector(self.x * other)

    def __neg__(self):
        return Vector(-self.x)

    def __matmul__(self, other):
        return (self.x * other.x).sum()

    def __getitem__(self, i):
        return self.x[i]

    def __setitem__(self, i, value):
        self.x[i] = value

    def __len__(self):
        return self.x.shape[0]

    def __contains__(self, n):
        return n < len(self)

    def __eq__(self, other):
        return isinstance(other, Vector) and len(self) == len(other)

    def __hash__(self):
        return len(self)

    def __lt__(self, other):
        return len(self) < len(other)

    def __bool__(self):
        return len(self) > 2

    def __call__(self, y, k=1):
        return self.x * y * k

    def __iter__(self):
        return iter([self.x[0], self.x[1]])


@program(lambda t: given(t(2)), lambda t: given(t(3)))
def operators_of_ones_own(x):
    v = Vector(x * 2)
    w = v + v + 1
    w = 2 + w
    w += 3
    u = -(w * 2)
    u[0] = 7.0
    a, b = v
    flags = (2 in v, 5 in v, v == w, v != w, v < w, bool(v), len(v))
    return u.x, v @ w, v(x, k=2), a, b, flags, max([v, w])[0]


@program(lambda t: given(Vector(t(2)), t(2)), lambda t: given(Vector(t(3)), t(3)))
def object_given_and_mutated(v, x):
    v.x = v.x + x
    v.count = len(v)
    setattr(v, "last", x)
    return v.x * v.count


class Base:
    factor = 2
    registry: ClassVar[list] = []

    def __init__(self, bias):
        self.bias = bias

    def compute(self, x):
        return x * self.factor + self.bias

    @classmethod
    def make(cls, bias):
        return cls(bias)

    @staticmethod
    def shifted(x):
        return x + 0.5

    @property
    def doubled(self):
        return self.bias * 2

    @doubled.setter
    def doubled(self, value):
        self.bias = value / 2


class Middle(Base):
    factor = 3

    def compute(self, x):
        return super().compute(x) + self.shifted(x)


class Mixin:
    def compute(self, x):
        return super().compute(x) * 10


class Leaf(Mixin, Middle):
    def __init__(self, bias):
        super().__init__(bias)
        self.calls = 0

    def compute(self, x):
        self.calls += 1
        return super(Leaf, self).compute(x) - 1


@program(lambda t: given(t(2), 1.0), lambda t: given(t(2), 2.0), lambda t: given(t(3), 1.0))
def inheritance_and_super(x, bias):
    leaf = Leaf.make(bias)
    leaf.doubled = leaf.doubled + 4
    y = leaf.compute(x)
    return y, leaf.bias, leaf.calls, [c.__name__ for c in Leaf.__mro__], Base.shifted(x)


@factory(lambda t: t(2), lambda t: t(2), lambda t: t(2))
def bound_method_is_captured():
    return Leaf(1.5).compute


@driver(lambda t: given(t(2), 1), lambda t: given(t(2), 2), lambda t: given(t(2), 1), refused=BREAKS)
def methods_of_two_objects(capture):
    class Scaler:
        def __init__(self, k):
            self.k = k
            self.calls = 0

        @capture
        def __call__(self, x):
            self.calls += 1
            if x.sum() > 0:
                return x * self.k
            return x + self.k

        @capture
        def twice(self, x):
            return self(self(x))

    first, second = Scaler(2.0), Scaler(3.0)

    def call(x, which):
        s = first if which == 1 else second
        s.k += 1
        return s(x), s.twice(x), first.calls, second.calls

    return call


@factory(lambda t: t(2), lambda t: t(2))
def class_attributes_read_and_written():
    class Counter:
        count = 0
        seen: ClassVar[list] = []

        @classmethod
        def step(cls, n):
            cls.count += n
            cls.seen.append(cls.count)
            return cls.count

    def f(x):
        c = Counter()
        y = x * c.step(2)
        c.count = 100
        return y + Counter.count, c.count, list(Counter.seen)

    return f


@program(lambda t: given(t(2), 2), lambda t: given(t(3), 3))
def class_made_inside(x, n):
    class Local:
        size = n

        def __init__(self, y):
            self.y = y

        def run(self):
            return self.y * self.size + n

    class Sub(Local):
        def run(self):
            return super().run() + x

    return Sub(x).run(), Sub.__name__, issubclass(Sub, Local)


@program(lambda t: given(Box(t(2))), lambda t: given(Box(t(2), 3.0)), lambda t: given(Box(t(3))))
def dataclass_as_an_argument(box):
    box.scale = box.scale + 1
    box.log.append(box.x.shape[0])
    return box.value()


@program(
    lambda t: given(t(2), Options()),
    lambda t: given(t(2), Options(2.0)),
    lambda t: given(t(2), Options(2.0)),
    refused=BREAKS,
)
def frozen_dataclass(x, options):
    other = dataclasses.replace(options, names=("b", *options.names))
    equal = options == Options()
    return x * options.scale, other, dataclasses.asdict(other), equal, {options: 1}[Options(options.scale)]


@program(lambda t: given(t(2)), lambda t: given(t(3)))
def dataclass_made_inside(x):
    box = Box(x, log=["x"])
    box.x = box.x * 2
    return box, box.value(), [f.name for f in dataclasses.fields(box)]


@program(lambda t: given(Pair(t(2), t(2))), lambda t: given(Pair(t(2), 3)))
def namedtuple_in_and_out(pair):
    left, right = pair
    swapped = Pair(right * 2, left)
    labelled = Labelled(pair.left).doubled()
    return swapped, labelled, swapped._fields, pair[0] + swapped.left, pair._asdict()["right"]


class Lazy:
    """Attributes that are found by ``__getattr__``, and a descriptor."""

    class Ranged:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, instance, owner=None):
            return self if instance is None else getattr(instance, self.name, 1.0)

        def __set__(self, instance, value):
            if value < 0:
                raise ValueError(f"{self.name} must not be negative, got {value}")
            setattr(instance, self.name, value)

    k = Ranged()

    def __init__(self):
        self.asked = []

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        self.asked.append(name)
        return len(name)

    @functools.cached_property
    def heavy(self):
        self.asked.append("computed")
        return 11


@program(
    lambda t: given(t(2), Lazy(), 2.0),
    lambda t: given(t(2), Lazy(), 3.0),
    lambda t: given(t(2), Lazy(), -1.0),
    raises="ValueError",
)
def getattr_and_descriptors(x, lazy, k):
    y = x * lazy.abc + lazy.k
    lazy.k = k
    y = y + lazy.heavy + lazy.heavy
    return y * lazy.k, hasattr(lazy, "_private"), getattr(lazy, "_none", "default"), hasattr(lazy, "public")


class Slotted:
    __slots__ = ("x", "n")

    def __init__(self, x):
        self.x, self.n = x, 0


@program(lambda t: given(Slotted(t(2))), lambda t: given(Slotted(t(3))))
def slots(s):
    s.n += 1
    s.x = s.x * 2
    return s.x + s.n, hasattr(s, "missing")


@program(lambda t: given(t(2), Color.RED), lambda t: given(t(2), Color.BLUE), lambda t: given(t(2), Color.RED))
def enum_members(x, color):
    if color is Color.RED:
        x = x + color.weight
    else:
        x = x * color.value
    table = {Color.RED: "r", Color.BLUE: "b"}
    flags = Flag.A | Flag.B if color == Color.BLUE else Flag.A
    return x * int(flags), table[color], color.name, Color(2), [c.name for c in Color], Flag.B in flags


@program(lambda t: given(t(2), "scale"), lambda t: given(t(2), "other"), lambda t: given(t(2), "bias"), refused=BREAKS)
def getattr_setattr_hasattr_delattr(x, name):
    box = Box(x)
    before = getattr(box, name, None)
    setattr(box, name, 5)
    if hasattr(box, "other"):
        x = x * box.other
        delattr(box, "other")
    return x, before, vars(box).keys() == {"x", "scale", "log"}, "bias" in vars(box)


@program(
    lambda t: given(t(2), 1),
    lambda t: given(t(2), 1.5),
    lambda t: given(t(2), True),
    lambda t: given(t(2), "s"),
    lambda t: given(t(2), t(2)),
    lambda t: given(t(2), [1, (2,)]),
)
def type_checks(x, value):
    if isinstance(value, bool):
        kind = "bool"
    elif isinstance(value, (int, float)):
        x = x * value
        kind = type(value).__name__
    elif isinstance(value, paddle.Tensor):
        x = x + value
        kind = "tensor"
    elif type(value) is list:
        kind = "list of " + ", ".join(type(v).__name__ for v in value)
    else:
        kind = "other"
    return x, kind, callable(value), issubclass(type(value), int), type(x) is paddle.Tensor


@factory(lambda t: given(t(2), 3), lambda t: given(t(2), 1), lambda t: given(t(2), 5))
def object_in_a_closure_whose_attributes_change():
    box = Box(None, 1.0)

    def f(x, n):
        y = x * box.scale
        box.scale = n
        box.x = y.detach()
        if len(box.log) < 3:
            box.log.append(n)
        return y

    return f


@driver(lambda t: given(t(2), 2.0), lambda t: given(t(2), 3.0), lambda t: given(t(2), 2.0))
def attributes_changed_between_calls(capture):
    box = Box(None)

    @capture
    def f(x):
        return x * box.scale + len(box.log)

    def call(x, scale):
        box.scale = scale
        box.log.append(scale)
        return f(x)

    return call


@factory(lambda t: t(2), lambda t: t(2), refused=BREAKS)
def metaclass_and_init_subclass():
    class Registered(type):
        def __call__(cls, *args):
            made = super().__call__(*args)
            cls.count = getattr(cls, "count", 0) + 1
            return made

    class Plugin(metaclass=Registered):
        plugins: ClassVar[list] = []

        def __init_subclass__(cls, **kwargs):
            super().__init_subclass__(**kwargs)
            Plugin.plugins.append(cls.__name__)

        def run(self, x):
            return x * len(Plugin.plugins)

    def f(x):
        class Extra(Plugin):
            pass

        return Extra().run(x), Extra.count, list(Plugin.plugins)

    return f


@driver(lambda t: t(2), lambda t: t(3), refused=BREAKS)
def weak_references(capture):
    class Node:
        def __init__(self, k):
            self.k = k

    kept = Node(2)
    alive, dying = weakref.ref(kept), weakref.ref(Node(3))

    @capture
    def f(x):
        node = alive()
        y = x * node.k
        if dying() is None:
            y = y + 100
        return y

    def call(x):
        kept.k += 1
        return f(x)

    return call


@driver(lambda t: given(t(2), 1), lambda t: given(t(2), 2), lambda t: given(t(2), 3))
def objects_that_die_between_calls(capture):
    @capture
    def f(x, box):
        box.scale = box.scale * 2
        return x * box.scale

    def call(x, n):
        return f(x, Box(None, float(n))), f(x, Box(None, float(n + 1)))

    return call


@program(lambda t: given(Box(t(2)), [t(2)]), lambda t: given(Box(t(3)), [t(3)]), refused=BREAKS)
def copies_of_objects(box, items):
    twin, deep = copy.copy(box), copy.deepcopy([1, {"a": [2]}])
    twin.log.append("twin")
    twin.scale = 9.0
    deep[1]["a"].append(3)
    more = items.copy() + items[:]
    return twin.value() + box.value(), deep, len(more), more[0] is items[0]


@program(lambda t: given(t(2)), lambda t: given(t(3)), refused=BREAKS)
def identity_of_objects(x):
    y = x
    z = x + 0
    box = Box(x)
    return y is x, z is x, box.x is y, [x] == [y], id(box) == id(box), x in [x], type(box) is Box, z


class Placed:
    """Its objects say themselves where they are from, as compiled functions do."""

    def __init__(self, scale):
        self.scale = scale

    @property
    def __module__(self):
        return "elsewhere"

    def __call__(self, x):
        return x * self.scale


@program(lambda t: given(t(2), Placed(2.0)), lambda t: given(t(2), Placed(3.0)))
def module_of_an_object(x, placed):
    return placed(x), Placed(4.0)(x), placed.__module__
