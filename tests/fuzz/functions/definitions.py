"""What every random function has around it: classes and state, the same for all, and helpers, which are drawn."""

from __future__ import annotations

from tests.fuzz.functions.draw import Draw, Scope
from tests.fuzz.functions.statements import body, returned

PRELUDE = """
import collections
import contextlib
import dataclasses
import functools
import heapq
import math
from typing import NamedTuple

import paddle
import paddle.nn.functional as F
from paddle.distributed.fleet.utils import recompute

COUNTS = {"calls": 0}
LOG = []
CACHE = {}
SEEN = set()
SCALES = {"a": 1.0}
TOTAL = 0


class Oops(ValueError):
    pass


class Pair(NamedTuple):
    first: paddle.Tensor
    second: paddle.Tensor

    def swapped(self):
        return Pair(self.first * self.second, self.first.sum())


@dataclasses.dataclass
class Point:
    first: paddle.Tensor
    second: paddle.Tensor
    weight: int = 1

    def swapped(self):
        return Point(self.first + self.second, self.first.sum() * self.weight, self.weight + 1)


class Base:
    kind = "base"

    def left(self):
        return self.data * self.scale

    def bump(self, n):
        self.count = (self.count + n) % 11
        return self


class Box(Base):
    def __init__(self, data, count=0):
        self.data = data
        self.count = count
        self.items = []
        self.name = "box"
        self.scale = 0.5

    @property
    def best(self):
        return max([self.count, *self.numbers()])

    @best.setter
    def best(self, value):
        self.count = value % 11

    def numbers(self):
        return [len(self.items), len(self.name)]

    def apply(self, x):
        return x * self.scale + self.data.sum()

    def left(self):
        return super().left() + 1

    def __call__(self, x):
        self.count += 1
        return self.apply(x)

    def __getitem__(self, i):
        return self.count + i

    def __setitem__(self, i, value):
        self.count = (i + value) % 11

    def __add__(self, other):
        return Box(self.data + other.data, self.count + other.count)

    def __len__(self):
        return len(self.items) + 1


class Times:
    __name__ = "times"

    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x * self.by


class Swallow:
    def __init__(self, *kinds):
        self.kinds = kinds
        self.seen = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.seen += 1
        return kind is not None and issubclass(kind, self.kinds)


@contextlib.contextmanager
def noted(name):
    LOG.append(name)
    try:
        yield name + "!"
    finally:
        LOG.append(len(LOG))


def scaled(x, by=2.0):
    return x * by


def scaler(by):
    return lambda x: x * by


def twice(f, x):
    return f(f(x))


def checked(x, n):
    if n < 0:
        raise ValueError(f"{n} is below 0")
    if n > 3:
        raise Oops("large")
    return x * n


def depth_of(n):
    return 0 if n <= 0 else 1 + depth_of(n - 1)


def set_total(n):
    global TOTAL
    TOTAL = (TOTAL + n) % 101
    return TOTAL


def halves(x):
    n = x.shape[0] // 2
    yield x[:n]
    yield x[n:]


def counted(n):
    i = 0
    while i < n:
        yield i
        i += 1


def chained(*lists):
    for part in lists:
        yield from part


def pair_of(p):
    return p.first, p.second


def smooth(x):
    return paddle.tanh(x) * x


class Inner(paddle.nn.Layer):
    def __init__(self, counts):
        super().__init__()
        self.first = paddle.nn.Linear(4, 4)
        self.second = paddle.nn.Linear(4, 4)
        self.counts = counts
        self.heap = []

    def forward(self, x):
        y = self.first(x)
        if self.counts:
            heapq.heappush(self.heap, len(self.heap))
            y = y * (1 + len(self.heap) % 3)
        elif y.sum() > 0:
            y = y * 0.5
        return self.second(paddle.tanh(y))


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = paddle.nn.Linear(4, 4)
        self.calls = 0
LAYERS
    def forward(self, x):
        y = self.linear(x)
FORWARD
        return y


paddle.seed(7)
WEIGHT = paddle.randn([4, 4]) * 0.5
WEIGHT.stop_gradient = False
NET = Net()
OPTIMIZER = paddle.optimizer.OPTIMIZER_CLASS(0.01, parameters=NET.parameters())
SCHEDULE = paddle.optimizer.lr.ExponentialDecay(0.5, 0.9)
SHARED = Box(paddle.ones([4]), 2)
""".strip()

_LAYERS = (
    ("self.norm = paddle.nn.BatchNorm1D(4)", "y = self.norm(y) if x.shape[0] > 1 else y"),
    ("self.drop = paddle.nn.Dropout(0.3)", "y = self.drop(y)"),
    ("self.register_buffer('seen', paddle.zeros([]))", "self.seen = self.seen + 1"),
    ("self.norm = paddle.nn.LayerNorm(4)", "y = self.norm(y)"),
    ("self.act = paddle.nn.Sequential(paddle.nn.Tanh(), paddle.nn.Linear(4, 4))", "y = self.act(y)"),
    (
        "self.table = paddle.nn.LayerList([paddle.nn.Linear(4, 4) for _ in range(2)])",
        "for l in self.table:\n            y = F.relu(l(y))",
    ),
    ("self.note = 'n'", "y = y * 2 if self.training else y"),
    ("self.shift = self.create_parameter([4])", "y = y + self.shift"),
    ("self.inner = Inner(False)", "y = self.inner(y)"),
    ("self.counter = Inner(True)", "y = self.counter(y)"),
    ("self.again = Inner(False)", "y = recompute(self.again, y)"),
    ("self.chain = paddle.nn.Sequential(paddle.nn.Tanh(), Inner(True), paddle.nn.Linear(4, 4))", "y = self.chain(y)"),
)  # fmt: skip
_CHANGING = ("self.calls += 1", "self.calls = self.calls + 1")


def prelude(d: Draw) -> str:
    """The definitions, with a layer that is drawn."""
    layers = d.random.sample(_LAYERS, d.integer(0, 3))
    if d.pure:
        layers = [x for x in layers if "seen" not in x[0]]
    made = "".join(f"        {a}\n" for a, _ in layers)
    forward = "".join(f"        {b}\n" for _, b in layers)
    if not d.pure and d.chance(0.3):
        forward += f"        {d.choose(_CHANGING)}\n"
    forward += "        y = paddle.tanh(y)"
    text = PRELUDE.replace("LAYERS\n", made).replace("FORWARD\n", forward + "\n")
    return text.replace("OPTIMIZER_CLASS", d.choose(("SGD", "Adam", "Momentum")))


# How a helper is defined and called: its parameters and their kinds, and a call with an expression of kind A.
_SIGNATURES = (
    ("{x}", {}, "{name}({0})"),
    ("{x}, n=2", {"n": "i"}, "{name}({0}, {i})"),
    ("{x}, n=2", {"n": "i"}, "{name}({0})"),
    ("{x}, *others, scale=0.5", {"others": "LM", "scale": "f"}, "{name}({0}, {0} * 2, scale={f})"),
    ("{x}, *, scale=0.5, **options", {"scale": "f", "options": "Di"}, "{name}({0}, k1={i})"),
    ("{x}, /, n, *, name='a'", {"n": "i", "name": "s"}, "{name}({0}, {i}, name={s})"),
    ("n, {x}, **options", {"n": "i", "options": "Di"}, "{name}({i}, {0}, **{{'a': {i}}})"),
    ("{x}, *numbers", {"numbers": "Li"}, "{name}({0}, *[{i}, 1])"),
)


def helper(d: Draw) -> None:
    """A function that the program may call, and helpers behind it."""
    name, x = d.fresh("helper"), d.fresh("x")
    head, kinds, call = d.choose(_SIGNATURES)
    kind = d.choose(("A", "A", "A", "S", "V", "i", "LM"))
    d.scope = Scope(returns=kind, depth=1)
    with d.function(f"def {name}({head.format(x=x)}):", kind, {x: "M", **kinds}):
        if "*numbers" in head or "*others" in head:
            listed = "numbers" if "numbers" in kinds else "others"
            d.line(f"{listed} = list({listed})")
        d.line(f"rows = {x}.shape[0]")
        d.scope.kinds["rows"] = "i"  # not to be bound anew
        body(d, 1, 4)
        d.line(returned(d))
    d.line("\n")
    d.helpers[name] = call.replace("{name}", name), kind
