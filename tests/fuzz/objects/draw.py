"""Lines of random objects from seeds."""

from __future__ import annotations

import argparse
import collections
import datetime
import decimal
import fractions
import pathlib
import re
import types
import uuid
from typing import Any

import numpy as np

import paddle
from tests.fuzz.lines import Lines

Pair = collections.namedtuple("Pair", "a b")


class Items(list):
    pass


class Row(tuple):
    pass


DTYPES = (
    "float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64",
    "complex128", "float8_e4m3fn", "float8_e5m2",
)  # fmt: skip
OF_ARRAYS = (
    "float32",
    "float64",
    "float16",
    "int8",
    "int32",
    "int64",
    "uint8",
    "bool",
    "complex64",
    "uint32",
    "U3",
    "S2",
)
SHAPES = ((), (1,), (0,), (3,), (2, 3), (2, 0), (70, 30))
PLAIN = (
    "None", "True", "0", "-1", "3", "1 << 70", "1.5", "-0.0", "float('nan')", "float('inf')", "1 - 2j", "'a'", "''",
    "'é☃'", "b''", "b'ab'", "'x' * 5000", "b'y' * 5000", "bytearray(b'ab')", "range(1, 9, 2)", "slice(1, None)",
    "...", "decimal.Decimal('1.50')", "fractions.Fraction(1, 3)", "datetime.datetime(2026, 1, 2, 3, 4, 5, 6)",
    "datetime.date(2026, 1, 2)", "datetime.timedelta(1, 2)", "datetime.timezone.utc", "uuid.UUID(int=5)",
    "pathlib.PurePosixPath('/a/b')", "np.float32(1.5)", "np.int64(3)", "np.bool_(True)", "np.float64(0.1)", "{1, 2}",
    "frozenset(['a', (1, 2)])", "int", "dict", "collections.Counter('aab')", "np.dtype('float32')", "()", "[]", "{}",
)  # fmt: skip
# What PaddlePaddle's ``load`` takes, which refuses other objects that can be iterated over.
OF_THEIRS = (
    "None",
    "True",
    "3",
    "1.5",
    "'a'",
    "'é☃'",
    "decimal.Decimal('1.5')",
    "uuid.UUID(int=5)",
    "1 << 70",
    "np.float32(2)",
)
OF_OURS = ("paddle.float32", "paddle.bfloat16", "paddle.CPUPlace()", "paddle.ones([2, 3]).shape")
KEYS = (
    "'a'",
    "'weight'",
    "1",
    "True",
    "2.5",
    "None",
    "(1, 'b')",
    "b'k'",
    "'é'",
    "frozenset([1])",
    "datetime.date(2026, 1, 2)",
    "-1",
)
SPACE = {
    "argparse": argparse, "collections": collections, "datetime": datetime, "decimal": decimal, "fractions": fractions,
    "np": np, "paddle": paddle, "pathlib": pathlib, "types": types, "uuid": uuid, "Pair": Pair, "Items": Items,
    "Row": Row,
}  # fmt: skip


class Text(Lines):
    """Lines that make objects ``v1``, ``v2``, …; the last one is saved. ``plain``: without what only we read."""

    def __init__(self, seed: int, plain: bool = False) -> None:
        super().__init__("objects", seed)
        self.depth = 0
        self.made: list[str] = []
        self.others = not plain

    def part(self) -> str:
        r = self.r
        if self.made and r.random() < 0.65:
            return r.choice(self.made[-6:])
        if self.others and r.random() < 0.1:
            return r.choice(OF_OURS)
        return r.choice(PLAIN if self.others else OF_THEIRS)

    def tensor(self) -> str:
        r = self.r
        shape, dtype = r.choice(SHAPES), r.choice(DTYPES if self.others else DTYPES[:-2])
        seeded = f"np.random.default_rng({r.randrange(99)}).integers(0, 2, {shape})"
        made = f"paddle.to_tensor({seeded}).astype({dtype!r})"
        kind = r.randrange(8)
        if kind == 0 and dtype in ("float32", "float64"):
            return f"paddle.to_tensor({seeded}.astype({dtype!r}), stop_gradient=False) * 2"
        if kind == 1 and len(shape) == 2:
            return f"{made}.T"
        if kind == 2 and len(shape) == 2 and shape[1] > 1:
            return f"{made}[:, 1:]"
        return made

    def array(self) -> str:
        r = self.r
        dtype = r.choice(OF_ARRAYS if self.others else OF_ARRAYS[:-3])
        made = f"np.random.default_rng({r.randrange(99)}).integers(0, 2, {r.choice(SHAPES)}).astype({dtype!r})"
        return made + r.choice(("", "", ".T", "[..., ::-1]" if "()" not in made else ""))

    def container(self) -> str:
        r, parts = self.r, [self.part() for _ in range(self.r.randrange(5))]
        joined = ", ".join(parts)
        pairs = ", ".join(f"{k}: {v}" for k, v in zip(r.sample(KEYS, len(parts)), parts))
        names = ", ".join(f"{k}={v}" for k, v in zip("abcd", parts))
        kinds = [
            f"[{joined}]", f"[{joined}]", f"({joined}{',' if parts else ''})", f"{{{pairs}}}", f"{{{pairs}}}",
            f"collections.OrderedDict({{{pairs}}})",
        ]  # fmt: skip
        if self.others:
            kinds += [f"Items([{joined}])", f"Row([{joined}])", f"Pair({self.part()}, {self.part()})"]
            kinds += [f"argparse.Namespace({names})", f"types.SimpleNamespace({names})"]
            kinds += [f"collections.deque([{joined}], 9)", f"collections.defaultdict(list, {{{pairs}}})"]
        return r.choice(kinds)

    def state(self) -> str:
        """Of a layer, or of an optimizer after a step."""
        net = self.name("net")
        layers = self.r.choice(
            (
                "Linear(2, 3)",
                "Sequential(paddle.nn.Linear(2, 2), paddle.nn.BatchNorm1D(2))",
                "Embedding(4, 2)",
                "LSTM(2, 2)",
            )
        )
        self.line(f"{net} = paddle.nn.{layers}")
        if self.r.random() < 0.5:
            return f"{net}.state_dict()"
        made = self.r.choice(("Adam(0.1", "SGD(0.1", "Momentum(paddle.optimizer.lr.StepDecay(0.1, 2)", "AdamW(0.1"))
        self.line(f"opt = paddle.optimizer.{made}, parameters={net}.parameters())")
        self.line(f"sum((p * p).sum() for p in {net}.parameters() if not p.stop_gradient).backward()")
        self.line("opt.step()")
        return "opt.state_dict()"

    def text(self) -> str:
        r = self.r
        for _ in range(r.randint(1, 9)):
            kind = r.random()
            value = (
                self.tensor()
                if kind < 0.3
                else self.array()
                if kind < 0.4
                else self.state()
                if kind < 0.45
                else self.container()
            )
            name = self.name()
            self.line(f"{name} = {value}")
            if kind < 0.3 and r.random() < 0.3:
                self.line(f"{name}.name = {r.choice(('w_0', 'é', 'same'))!r}")
            self.made.append(name)
            if self.others and r.random() < 0.08 and value.startswith("["):
                self.line(f"{name}.append({r.choice(self.made)})")
        if r.random() < 0.3:
            self.line(f"{self.name()} = {self.container()}")
        return "\n".join([*self.lines, ""])


def written(seed: int, plain: bool = False) -> str:
    """The lines of a seed. ``plain``: without what only we read."""
    return Text(seed, plain).text()


def made(text: str) -> Any:
    """The object that the last line makes."""
    space = dict(SPACE)
    paddle.seed(3)
    with paddle.utils.unique_name.guard():
        exec(text, space)
    return space[[line.split(" = ")[0] for line in text.splitlines() if re.match(r"v\d+ = ", line)][-1]]
