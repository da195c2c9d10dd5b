"""Kinds of values that places hold: expressions that make one, and lines that read one as ``k``."""

from __future__ import annotations

from typing import NamedTuple

# What all modules have.
HEAD = """\
import array, collections, dataclasses, datetime, decimal, enum, fractions, functools, math, operator, types
import numpy as np
import paddle
import paddle.nn.functional as F

COUNT = [0]


def t(*shape):
    COUNT[0] += 1
    return paddle.to_tensor(np.random.default_rng(COUNT[0]).standard_normal(shape).astype("float32"))


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mode(str, enum.Enum):
    MEAN = "mean"
    SUM = "sum"


class Text(str):
    pass


class Count(int):
    pass


class Row(tuple):
    pass


class Settings(dict):
    __getattr__ = dict.__getitem__


class Held:
    n = 4

    def __init__(self, n):
        self.n = n

    def apply(self, a):
        return a * self.n


class Slotted:
    __slots__ = ("n",)

    def __init__(self, n):
        self.n = n


@dataclasses.dataclass
class Point:
    n: float
    m: float = 2.0


@dataclasses.dataclass(frozen=True)
class Key:
    n: float


class Times:
    def __init__(self, by):
        self.n = self.by = by

    def __call__(self, a):
        return a * self.by


class Scale(paddle.nn.Layer):
    def __init__(self, by):
        super().__init__()
        self.n = by

    def forward(self, a):
        return a * self.n


Pair = collections.namedtuple("Pair", "n m")


def double(a):
    return a * 2


def triple(a):
    return a * 3


def above(a):
    return a + 1


def scaled(a, by=1.5):
    return a * by


def scaler(by):
    return lambda a: a * by


HELD = Held(3)
NET = paddle.nn.Linear(4, 4)
SCALE = Scale(2.0)
TENSOR = t(4)
GLOBALS = {}
A = None
"""


class Kind(NamedTuple):
    """``values``: expressions that make one; ``reads``: what is done with one. An expression is what ``y`` becomes."""

    values: tuple[str, ...]
    reads: tuple[str, ...]


KINDS = {
    "numbers": Kind(
        (
            "1", "True", "1.0", "2", "0", "False", "0.0", "-0.0", "1 + 0j", "np.int64(1)", "np.float32(1)",
            "np.float64(1)", "np.bool_(True)", "Level.LOW", "Level.HIGH", "Count(1)", "Count(2)", "2.5", "3", "-1",
            "fractions.Fraction(1)", "decimal.Decimal(1)", "np.float16(1)", "10**10", "float('inf')",
        ),
        (
            "y * k", "y + k", "y * k if k else y", "y + (k == 1)", "y + {1: 2.0, 2: 3.0}.get(k, 4.0)",
            "y + len(str(k))", "y + [1.0, 2.0, 3.0][k]", "y + math.floor(k)", "paddle.full([4], k) + y",
            "paddle.to_tensor(k) + y", "y.sum(axis=k, keepdim=True)", "y + isinstance(k, bool)",
            "y + (type(k) is int)", "y.astype('int32') * k + y", "y + sum(range(k))",
            "y.unsqueeze(0).tile([k + 1, 1]).sum(0)", "y[k:].sum() + y", "y / k", "found.append(k * 2)",
            "found.append(-k)", "found.append([k, 1].index(1))", "y + (k in (1.0, 2.5))", "y + (k in {1, 3})",
            "y * 2 if k > 1 else y", "y - k", "k - y", "y + max(k, 1.5)", "y + int(k) + float(k)",
            "y + math.copysign(1, k)", "found.append(f'{k}')", "y + pow(2, k)", "y ** (k % 3)",
            "found.append(type(k + 1).__name__)", "y.clip(-k, k)", "y + divmod(7, k)[0]", "y + round(k)",
            "found.append((k, k == True))", "F.dropout(y, k / 3, training=False)", "y + hash(k) % 7",
            "found.append(k or 5)", "found.append(not k)",
        ),
    ),
    "functions": Kind(
        (
            "F.relu", "paddle.tanh", "double", "triple", "(lambda a: a * 2)", "(lambda a: a * 3)",
            "functools.partial(scaled, by=2.0)", "functools.partial(scaled, by=3.0)", "functools.partial(scaled)",
            "NET", "SCALE", "Scale(2.0)", "Scale(3.0)", "Times(2.0)", "Times(3.0)", "HELD.apply", "Held(2).apply",
            "Held(5).apply", "scaler(2.0)", "scaler(3.0)", "operator.neg", "abs", "operator.methodcaller('abs')",
            "operator.methodcaller('exp')", "functools.partial(F.leaky_relu, negative_slope=0.3)",
            "functools.partial(F.leaky_relu, negative_slope=0.1)", "paddle.nn.ReLU()", "paddle.nn.LeakyReLU(0.5)",
            "paddle.nn.LeakyReLU(0.2)", "TENSOR.add", "above", "functools.partial(operator.mul, 2.0)",
            "functools.partial(operator.mul, 4.0)", "paddle.nn.Sequential(SCALE)",
        ),
        (
            "k(y)", "k(y) + y", "sum(map(k, [y, y * 2]))", "sum(k(v) for v in (y, y + 1))", "y + (k is F.relu)",
            "functools.partial(k)(y)", "y + (getattr(k, '__name__', '') == 'double')",
            "y + isinstance(k, paddle.nn.Layer)", "k(k(y))", "y + callable(k)",
            "functools.reduce(lambda a, b: a + k(b), [y, y], y)", "{double: y * 5, triple: y * 7}.get(k, y)",
            "[k, double][0](y)", "(lambda a, h=k: h(a))(y)", "y + (k in (double, F.relu))", "y + (k == HELD.apply)",
            "y + getattr(k, 'n', 0)", "y + len(getattr(k, 'keywords', ()))",
            "y * (k.func is scaled) if isinstance(k, functools.partial) else y",
        ),
    ),
    "containers": Kind(
        (
            "[1, 2]", "(1, 2)", "[1.0, 2]", "[True, 2]", "[2, 1]", "{1, 2}", "frozenset((1, 2))", "{1: 2.0, 2: 0.5}",
            "{2: 0.5, 1: 2.0}", "{True: 2.0, 2: 0.5}", "{1: 2.0, 2: 0.5}.keys()", "{1: 2.0, 2: 0.5}.values()",
            "{1: 2.0}.items()", "{3: 1, 5: 2}.values()", "range(1, 3)", "range(1, 3, 5)", "range(3)",
            "collections.deque([1, 2])", "collections.deque([1, 2], maxlen=3)", "np.array([1, 2])",
            "np.array([1.0, 2.0], 'float32')", "np.array([[1], [2]])", "array.array('d', [1, 2])",
            "array.array('i', [1, 2])", "bytes([1, 2])", "bytearray([1, 2])", "iter([1, 2])", "Pair(1, 2)",
            "Pair(1, 3)", "Row([1, 2])", "Row([2, 1])", "types.MappingProxyType({1: 2.0})",
            "collections.OrderedDict([(1, 2), (2, 1)])", "collections.Counter([1, 1, 2])", "[]", "()", "{}",
            "[1, 2, 3]", "(v for v in (1, 2))", "map(int, '12')", "zip((1, 2))", "reversed([1, 2])",
            "collections.defaultdict(int, {1: 3})", "np.arange(3)", "[TENSOR, 2]", "[TENSOR]",
            "collections.ChainMap({1: 3}, {2: 1})", "collections.UserList([1, 2])",
        ),
        (
            "y + sum(k)", "y + len(k)", "y + max(k)", "y + next(iter(k))",
            "for i, v in enumerate(k): y = y + (i + 1) * v", "y + [*k][-1]", "y + (1 in k)", "y + (k == [1, 2])",
            "y + sorted(k)[0]", "y + sum(v * 2 for v in k)", "found.append(len(repr(tuple(k))))", "y + k[0]",
            "y + k[1]", "y + k.get(2, 3)", "paddle.to_tensor(k) * 2 + y.sum()", "y + len(type(k).__name__)",
            "y + bool(k)", "found.append(list(k))", "found.append(tuple(map(type, k)) == (int, int))",
            "for a, b in k.items(): y = y * a + b", "a, b = k; y = y * a + b", "y + len([*k, *k])",
            "found.append({v: 1 for v in k})", "y + (k == (1, 2))", "y[k]", "y.reshape([len(list(k)), -1])",
            "y + isinstance(k, (list, tuple))", "y + any(v > 1 for v in k)", "found.append(k[-1:])",
            "y + (2 not in k)",
            ("match k:\n    case [1, 2]: y = y * 3\n    case [a, *_]: y = y + a\n"
            "    case {1: v}: y = y - v\n    case _: y = y * 5"), "y + sum(k, start=1)", "y + min(k, default=9)",
            "found.append(dict(zip('ab', k)))", "y + len({*k})",
        ),
    ),
    "texts": Kind(
        (
            "'a'", "'abc'", "Text('a')", "Text('abc')", "b'a'", "'mean'", "'sum'", "Mode.MEAN", "Mode.SUM", "'none'",
            "Text('mean')", "''", "'tanh'", "'exp'", "np.str_('a')", "'ab' + 'c'",
        ),
        (
            "F.mse_loss(y, y * 2, reduction=k) + y", "y + len(k)", "y + {'a': 2.0, 'mean': 3.0}.get(k, 4.0)",
            "found.append(k.upper())", "getattr(paddle, k)(y)", "found.append(f'{k}!'.split(' at ')[0])",
            "y + (k in 'abc')", "y + (k == 'a')", "y + ('a' in k)", "found.append(k + 'z')",
            "found.append(type(k).__name__)", "y + k.startswith('a')", "found.append(k[:1])", "y + sum(map(ord, k))",
            "match k:\n    case 'mean': y = y.mean() + y\n    case 'a' | 'abc': y = y * 3\n    case _: y = y - 1",
            "found.append('-'.join([k, k]))", "found.append(str(k).split(' at ')[0])",
            "found.append(('%s' % k).split(' at ')[0])", "found.append(k)", "y + (k is Mode.MEAN)", "y + (k < 'b')",
            "y + (k in ('a', 'sum'))", "getattr(y, k)() + y",
        ),
    ),
    "dtypes": Kind(
        (
            "'float32'", "'float64'", "paddle.float32", "paddle.float64", "np.float32", "np.dtype('float64')",
            "paddle.int32", "float", "int", "bool", "'int32'", "np.int32", "paddle.bfloat16", "TENSOR.dtype",
            "Text('float64')",
        ),
        (
            "y.astype(k)", "paddle.ones([4], k) * y", "y + (k == paddle.float32)", "paddle.cast(y, k) + y",
            "paddle.to_tensor([1, 2, 3, 4], dtype=k) * y", "paddle.zeros_like(y, dtype=k) + y",
            "y + (k in (paddle.float32, 'float64'))", "y + {paddle.float32: 1, 'float64': 3}.get(k, 5)",
            "y + (str(k) == 'float64')", "y + isinstance(k, str)", "y + isinstance(k, type)", "y.sum(dtype=k) + y",
            "found.append(np.ones(2, k))", "found.append(paddle.finfo(k).bits)", "y.to(k)",
        ),
    ),
    "objects": Kind(
        (
            "Held(1)", "Held(2)", "Held(1.0)", "HELD", "Point(1, 2)", "Point(1, 3)", "Point(2)", "Key(1)", "Key(2)",
            "Key(1.0)", "Slotted(1)", "Slotted(2)", "types.SimpleNamespace(n=1)", "types.SimpleNamespace(n=2)",
            "Settings(n=1)", "Settings(n=2)", "Colour.RED", "Colour.BLUE", "Held", "Point", "Held(TENSOR)",
            "Held(t(4))", "SCALE", "Scale(3.0)", "Pair(1, 2)", "Pair(2, 1)", "Held(None)", "Held([1, 2])",
            "Held(Held(1))", "datetime.date(2020, 1, 2)", "datetime.timedelta(2)", "datetime.timedelta(3)",
            "ValueError(1)", "ValueError(2)", "paddle.ParamAttr(learning_rate=0.5)", "slice(0, 2)", "slice(0, 3)",
            "object()", "...", "Held(double)", "Held('mean')", "paddle.distribution.Normal(0.0, 1.0)",
            "paddle.distribution.Normal(1.0, 1.0)", "paddle.static.InputSpec([2], 'float32')",
            "paddle.static.InputSpec([3], 'float32')",
        ),
        (
            "y + k.n", "y + getattr(k, 'n', 5)", "y + hasattr(k, 'n')", "y + (k == Point(1, 2))", "y + (k is HELD)",
            "y + dataclasses.replace(k, n=4).n", "y + dataclasses.asdict(k)['n']", "y + vars(k)['n']", "y + k.value",
            "y + len(type(k).__name__)", "y + isinstance(k, Held)", "y + isinstance(k, (Point, Key))",
            "y + {Key(1): 2.0, Colour.RED: 3.0}.get(k, 1.0)", "y + (k in [Key(1), Colour.BLUE])", "y + k.args[0]",
            ("match k:\n    case Point(n=1): y = y * 3\n    case Held(n=v): y = y + v\n"
            "    case Colour.RED: y = y - 1\n    case {'n': v}: y = y - v\n    case _: y = y * 5"), "y + k.apply(y)",
            "y + k.days", "y + (k != Key(1))", "found.append(str(k)[:5])", "y[k]",
            "found.append(getattr(k, 'name', None))", "found.append(getattr(k, 'n', None))", "y + (type(k) is Held)",
            "y + k['n']", "y + operator.attrgetter('n')(k)", "y + len(getattr(k, '__dict__', ()))",
            "y + k.learning_rate", "y + (k is None)", "y + bool(k)", "k.log_prob(y)", "y + k.mean", "y + k.shape[0]",
        ),
    ),
    "tensors": Kind(
        (
            "t(4)", "TENSOR", "t(4).astype('float64')", "t(1)", "t(2, 4)", "TENSOR * 2",
            "np.array([1.0, 2.0, 3.0, 4.0], 'float32')", "np.array([4.0, 2.0, 3.0, 4.0], 'float32')", "np.arange(4)",
            "np.float32(1.5)", "1.5", "2", "True", "paddle.to_tensor(2)", "paddle.to_tensor(True)", "NET.bias",
            "NET.weight", "[t(4), t(4)]", "(TENSOR,)", "{'a': t(4)}", "[TENSOR, TENSOR]", "t(0)",
            "[1.0, 2.0, 3.0, 4.0]",
        ),
        (
            "y + k", "y * k", "paddle.to_tensor(k) + y", "y + k.sum()", "y + k.shape[0]", "y + (k is TENSOR)",
            "paddle.concat([y.flatten(), k.reshape([-1])]).sum() + y", "y + isinstance(k, paddle.Tensor)",
            "y + isinstance(k, np.ndarray)", "y + float(k.sum())", "y + len(k)", "y + k[0]",
            "y + sum(v.sum() for v in k)", "paddle.where(y > 0, y, k)", "y + (k.dtype == paddle.float32)",
            "y + k.ndim", "y + (k.shape == y.shape)", "k * 2 + y", "y.matmul(k)", "y + np.sum(k)",
            "y + (k[0] is k[-1])", "found.append(k)", "y + (not k.stop_gradient)", "y + paddle.mean(k)", "k - y",
            "y * 2 if k.sum() > 0 else y",
        ),
    ),
}  # fmt: skip
# What is done with values of any kind.
EVERY = (
    "y + (k is None)", "y * 2 if k is None else y", "y + len(type(k).__name__)", "y + callable(k)",
    "y + isinstance(k, (int, float))", "y + (k == 1)", "y if k else y * 3", "found.append(type(k) is int)",
    "y + hasattr(k, '__len__')", "found.append(isinstance(k, str))",
)  # fmt: skip
# Values of another kind than a place has.
OTHERS = (
    "None", "None", "1", "True", "1.0", "'a'", "(1, 2)", "[1, 2]", "double", "Held(1)", "TENSOR", "Colour.RED",
    "Level.LOW",
)  # fmt: skip
# Changes of what a place holds; those that it does not take are left out.
CHANGES = (
    "k.n = k.n + 1", "k.append(3)", "k[0] = 5", "k[1] = k[1] + 1", "k.update({1: 7.0})", "k.by = 5.0", "k.add(9)",
    "k.pop()", "k.n = None", "k['n'] = 6", "k.keywords['by'] = 4.0", "k.reverse()", "k.negative_slope = 0.9",
    "k[0] = k[-1]", "k.set_value(k * 2)", "k[:] = k[::-1]", "k.extra = 1",
)  # fmt: skip
