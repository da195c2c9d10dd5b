"""What proposals of statements draw from: values of the program so far, new inputs, numbers, axes, indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz.programs.memory import Variable
from tests.fuzz.programs.record import Input

FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = {"complex64": "float32", "complex128": "float64"}  # with the dtype of their parts
CONTINUOUS = (*FLOATS, *COMPLEX)  # these have gradients


class Proposal(NamedTuple):
    operands: tuple[str, ...]
    attributes: dict[str, Any]
    results: int | None = None


class Refused(Exception):
    """There is nothing to propose."""


class Draw:
    """``values``: for each size of a run, the value of each name; the first is where statements are shaped."""

    def __init__(self, rng: np.random.Generator, floating: str, mixed: bool) -> None:
        self.rng = rng
        self.floating = floating
        self.mixed = mixed
        self.inputs: list[Input] = []
        self.values: list[dict[str, Variable]] = []
        self.dtypes: dict[str, str] = {}
        self.bind: Callable[[Input], None] = lambda given: None

    # --- numbers

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def integer(self, low: int, high: int) -> int:
        """From ``low`` to ``high``, both included."""
        return int(self.rng.integers(low, high + 1))

    def choose(self, options: Sequence[Any]) -> Any:
        if not len(options):
            raise Refused
        return options[self.integer(0, len(options) - 1)]

    def number(self) -> float:
        return float(self.choose((0.5, -1.5, 2.0, 0.25, -0.75, 1.25, 3.0, -1.0)))

    # --- values

    def shape(self, name: str) -> tuple[int, ...]:
        return self.values[0][name].shape

    def varying(self, name: str, axis: int) -> bool:
        return len({v[name].shape[axis] for v in self.values}) > 1

    def names(self, floating: bool | None = True) -> list[str]:
        """Names of values; floats and complex ones, or others, or all."""
        return [x for x, d in self.dtypes.items() if floating is None or (d in CONTINUOUS) == floating]

    def pick(self, ok: Callable[[str], bool] = lambda x: True, floating: bool | None = True) -> str:
        """One value, of those made lately rather."""
        found = [x for x in self.names(floating) if ok(x)]
        if not found:
            raise Refused
        weights = np.arange(1, len(found) + 1, dtype=float)
        return found[int(self.rng.choice(len(found), p=weights / weights.sum()))]

    def rank(self, *ranks: int, floating: bool | None = True) -> str:
        return self.pick(lambda x: len(self.shape(x)) in ranks, floating)

    def beside(self, x: str, ok: Callable[[str], bool], shape: Sequence[int | str] | None = None) -> str:
        """Another operand of the same dtype: rather the same value, else any that is fit, else a new input."""
        if ok(x) and self.chance(0.3):
            return x
        same = [y for y in self.names(None) if self.dtypes[y] == self.dtypes[x] and ok(y)]
        if same and self.chance(0.75):
            return self.choose(same)
        if shape is None:
            return self.choose(same)
        return self.input(shape, dtype=self.dtypes[x])

    def like(self, x: str) -> str:
        """Another operand of this shape and dtype, maybe the same."""
        return self.beside(x, lambda y: all(v[y].shape == v[x].shape for v in self.values), self.sizes(x))

    def broadcastable(self, x: str) -> str:
        def fits(y: str) -> bool:
            try:
                for v in self.values:
                    np.broadcast_shapes(v[x].shape, v[y].shape)
            except ValueError:
                return False
            return True

        if self.chance(0.2):
            sizes = self.sizes(x)
            keep = sizes[self.integer(0, len(sizes)) :]
            return self.input([1 if self.chance(0.4) else s for s in keep], dtype=self.dtypes[x])
        if self.dtypes[x] not in CONTINUOUS:
            return self.beside(x, fits)
        if self.mixed and self.chance(0.3):
            return self.pick(lambda y: fits(y) and bool(self.shape(y)) == bool(self.shape(x)))
        return self.beside(x, fits, self.sizes(x))

    def sizes(self, x: str) -> tuple[int | str, ...]:
        """The shape with ``"n"`` where a size is that of the runs; refused where a size is something else of it."""
        out: list[int | str] = []
        for axis, size in enumerate(self.shape(x)):
            out.append(self.size(x, axis) if self.varying(x, axis) else size)
        return tuple(out)

    def size(self, x: str, axis: int) -> int | str:
        """A size as that of a new input."""
        if not self.varying(x, axis):
            return self.shape(x)[axis]
        if all(v[x].shape[axis] == n for v, n in zip(self.values, self.ns)):
            return "n"
        raise Refused

    ns: tuple[int, ...] = ()

    def text(self, k: int, x: str, axis: int) -> str:
        """A size as the program says it; ``x`` is operand ``k``."""
        return f"{{{k}}}.shape[{axis}]" if self.varying(x, axis) else str(self.shape(x)[axis])

    def input(
        self, shape: Sequence[int | str], dtype: str | None = None, fill: str = "normal", grad: bool | None = None
    ) -> str:
        dtype = dtype or self.floating
        floating = dtype in CONTINUOUS
        if floating and fill == "normal" and self.chance(0.15):
            fill = "positive"
        given = Input(
            f"a{len(self.inputs)}",
            tuple(shape),
            dtype,
            floating and (self.chance(0.8) if grad is None else grad),
            fill if floating or fill != "normal" else "int",
            self.integer(0, 2**31 - 1),
        )
        self.inputs.append(given)
        self.bind(given)
        return given.name

    # --- axes and indices

    def axis(self, x: str, fixed: bool = False) -> int:
        n = len(self.shape(x))
        found = self.choose([a for a in range(n) if not (fixed and self.varying(x, a))])
        return found - n if self.chance(0.3) else found

    def axes(self, x: str) -> int | list[int] | None:
        n = len(self.shape(x))
        if not n or self.chance(0.25):
            return None
        if self.chance(0.6):
            return self.axis(x)
        count = self.integer(1, n)
        return sorted(int(a) for a in self.rng.permutation(n)[:count])

    def permutation(self, n: int) -> list[int]:
        return [int(a) for a in self.rng.permutation(n)]

    def slice(self, size: int) -> str:
        """A slice; mostly of some elements, and valid for every size."""
        kind = self.integer(0, 6)
        if kind == 0:
            return ":"
        if kind == 1:
            return "::-1"
        if kind == 2:
            return f"::{self.choose((2, -2, 3, -1))}"
        if kind == 3:
            return f"{self.integer(0, max(0, size - 1))}:"
        if kind == 4:
            return f":{self.choose((-1, max(1, size - 1), size))}"
        if kind == 5:
            low = self.integer(0, max(0, size - 1))
            return f"{low}:{self.integer(low + 1, low + 3)}"
        return f"{self.choose((-1, size - 1))}::{self.choose((-1, -2))}"

    def index(self, x: str, advanced: bool = False) -> tuple[str, list[str]]:
        """An index text and the tensors in it, which are operands from 1 on."""
        shape, parts, tensors = self.shape(x), [], []
        if not shape:
            return self.choose(("None", "...", "()")), []
        axis, lists = 0, 0
        stop = self.integer(1, len(shape))
        while axis < stop:
            kind = self.rng.random()
            size, varies = shape[axis], self.varying(x, axis)
            if advanced and kind < 0.35 and size and lists < 2:
                lists += 1
                if not varies and self.chance(0.3) and lists == 1:
                    name = self.input([self.choose((1, 2, size))], "int64", f"index:{size}")
                    tensors.append(name)
                    parts.append(f"{{{len(tensors)}}}")
                else:
                    count = self.integer(1, 2)
                    bound = 1 if varies else size
                    picked = [int(i) for i in self.rng.integers(0, bound, count)]
                    parts.append(str(sorted(set(picked)) if lists == 1 and self.chance(0.7) else picked))
            elif kind < 0.5 and size:
                parts.append(str(self.choose((0, -1) if varies else (0, -1, self.integer(0, size - 1)))))
            else:
                parts.append(self.slice(size))
            axis += 1
        if self.chance(0.2):
            parts.insert(self.integer(0, len(parts)), "None")
        if self.chance(0.2) and len(parts):
            if self.chance(0.5) and axis == len(shape):
                parts.insert(self.integer(0, len(parts)), "...")
            elif axis < len(shape):
                parts.append("...")
        return ", ".join(_apart(parts) if lists else parts), tensors


def _apart(parts: list[str]) -> list[str]:
    """An index with arrays in which integers stand apart from them: NumPy takes those for arrays too, which moves the
    dims of the result; the reference framework and PyTorch do not. Such integers become slices of one element.
    """
    arrays = [k for k, part in enumerate(parts) if part[0] in "[{"]
    numbers = [k for k, part in enumerate(parts) if part.lstrip("-").isdigit()]
    places = sorted(arrays + numbers)
    if places == list(range(places[0], places[-1] + 1)):
        return parts
    return [f"{part}:{int(part) + 1 or ''}" if k in numbers else part for k, part in enumerate(parts)]
