"""A random program as data, and as text for either side.

A program is a row of statements on named values. Each statement names an op of the table in ``ops``, which holds what
it means in ``paddle`` and to the judge. Both meanings are Python source: what runs is what a repro prints.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tests.fuzz.programs.storage.model import codes


@dataclass(frozen=True)
class Input:
    """An argument. A size is an int or ``"n"``, the size that differs between runs of a program."""

    name: str
    shape: tuple[int | str, ...]
    dtype: str
    grad: bool
    # normal, positive, bool, codes (any of a narrow dtype), or index:K (below K, no two alike where at most K are)
    fill: str
    seed: int

    def sizes(self, n: int) -> tuple[int, ...]:
        return tuple(n if s == "n" else int(s) for s in self.shape)

    def array(self, n: int) -> np.ndarray:
        """The values: floats as float64 that the dtype can hold, complex numbers as complex128."""
        rng = np.random.default_rng([self.seed, n])
        shape = self.sizes(n)
        if self.fill == "codes":
            return codes(rng, shape, self.dtype)
        if self.fill == "bool":
            return np.asarray(rng.random(shape) < 0.5)
        if self.fill.startswith("index:"):
            bound, count = int(self.fill[6:]), int(np.prod(shape))
            if count <= bound:
                return rng.permutation(bound)[:count].reshape(shape)
            return np.asarray(rng.integers(0, bound, shape))
        if self.fill == "int":
            return np.asarray(rng.integers(-4, 5, shape))
        x = np.asarray(rng.standard_normal(shape))
        if self.fill == "positive":
            x = 0.3 + np.abs(x)
        if self.dtype.startswith("complex"):
            y = rng.standard_normal(shape)
            x = x + 1j * (0.3 + np.abs(y) if self.fill == "positive" else y)
            return np.asarray(x.astype(self.dtype).astype(np.complex128))
        if self.dtype in ("float16", "bfloat16"):  # a few bits, which both hold
            return np.asarray(np.round(x * 16) / 16)
        return np.asarray(x.astype(self.dtype).astype(np.float64))


@dataclass(frozen=True)
class Op:
    """One kind of statement, with its two meanings side by side.

    ``{0}`` and so on stand for operands, names for attributes. ``form`` says how the judge's text is to be read:
    ``compute`` (torch tensors to a torch tensor or a tuple), ``view`` (NumPy, on the array of positions), ``turn``
    (the same, as the value's own new shape), ``write`` (the value that is written, of the size of the operand or of
    ``region``, a NumPy expression), ``rewrite`` (the same, of values as variables), ``take`` (of a variable and
    arrays), ``statement`` (as it is).
    """

    name: str
    ours: str
    judge: str
    form: str
    propose: Any
    results: int = 1
    region: str = ""
    dtype: Any = None  # of the result, from dtypes of operands; None: their promotion
    weight: float = 1.0
    refused: bool = False  # what the judge refuses must be refused here
    tags: frozenset[str] = frozenset()


# Calls of a function without arguments, by conditions that data decide.
_SUM = "{x}.astype('float32').sum()"
REGIONS = {
    "call": "inner()",
    "then": f"paddle.static.nn.cond({_SUM} < 1e30, inner, inner)",
    "else": f"paddle.static.nn.cond({_SUM} > 1e30, inner, inner)",
    # Its results are what it writes to tensors from outside.
    "loop": f"paddle.static.nn.while_loop(lambda k: k + 0 * {_SUM} < 1, lambda k: [inner(), k + 1][1], "
    "[paddle.zeros([])])",
    "loop of branches": f"paddle.static.nn.while_loop(lambda k: k < 1, lambda k: "
    f"[paddle.static.nn.cond({_SUM} < 1e30, inner, inner), k + 1][1], [paddle.zeros([], 'int64')])",
}


@dataclass(frozen=True)
class Statement:
    op: Op
    targets: tuple[str, ...]
    operands: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...] = ()
    no_grad: bool = False

    def _filled(self, text: str, operands: list[str]) -> str:
        given = {k: v.format(*operands) for k, v in self.attributes}
        return text.format(*operands, **given)

    def ours(self, placed: bool = False) -> str:
        """``placed``: operands are brought to where the first one is."""
        first, *others = self.operands or ("",)
        text = self._filled(self.op.ours, [first, *(f"near({x}, {first})" if placed else x for x in others)])
        if self.targets:
            text = f"{', '.join(self.targets)} = {text}"
        return f"with paddle.no_grad():\n    {text}" if self.no_grad else text

    def judge(self) -> str:
        op, form = self.op, self.op.form
        first, targets = self.operands[0] if self.operands else "", ", ".join(self.targets)
        tensors, arrays = [f"{x}.t" for x in self.operands], [f"{x}.n" for x in self.operands]
        if form == "compute":
            made = self._filled(op.judge, tensors)
            text = f"{targets} = made({made})" if len(self.targets) < 2 else f"{targets} = map(made, {made})"
        elif form in ("view", "turn"):
            how = self._filled(op.judge, ["i", *arrays[1:]])
            text = f"{targets} = {first}.{form}(lambda i: {how})" if targets else f"{first}.{form}(lambda i: {how})"
        elif form == "write":
            value = self._filled(op.judge, tensors)
            if op.region:
                region = self._filled(op.region, ["i", *arrays[1:]])
                text = f"{first}.view(lambda i: {region}).write(noisy({value}))"
            else:
                text = f"{first}.write(noisy({value}))"
        elif form == "rewrite":
            region = self._filled(op.region, ["i", *arrays[1:]])
            text = f"{first}.view(lambda i: {region}).write(noisy({self._filled(op.judge, [first, *arrays[1:]])}))"
        else:
            text = self._filled(op.judge, [first, *arrays[1:]] if form == "take" else list(self.operands))
            text = f"{targets} = {text}" if targets else text
        return f"with torch.no_grad():\n    {text}" if self.no_grad else text

    def names(self) -> Iterator[str]:
        yield from self.operands


@dataclass(frozen=True)
class Program:
    seed: int
    inputs: tuple[Input, ...]
    statements: tuple[Statement, ...]
    outputs: tuple[str, ...]
    sizes: tuple[int, ...]  # of "n", in the order of the runs
    nest: tuple[int, int] | None = None  # statements that stand in a function of their own
    invalid: bool = False  # the judge refuses the last statement
    how: str = "call"  # the function is called: plainly, or as a key of REGIONS, which is once too
    kind: str = "plain"  # a key of settings.SETTINGS

    @property
    def tags(self) -> frozenset[str]:
        return frozenset().union(*(s.op.tags for s in self.statements))

    def read(self, a: int, b: int) -> list[str]:
        """What statements from ``a`` to ``b`` make and others read."""
        later = {x for s in self.statements[b:] for x in s.operands} | set(self.outputs)
        return [t for s in self.statements[a:b] for t in s.targets if t in later]

    def can_be_region(self, a: int, b: int) -> bool:
        """Whether statements from ``a`` to ``b`` can be a branch: none is refused there (hooks are on what it makes),
        and no view of memory outside leaves, which is another tensor then, as any result is. So hooks on results, and
        gradients with respect to them, know nothing of what the branch itself makes of them."""
        inside, read = self.statements[a:b], set(self.read(a, b))
        if any(s.op.form == "turn" or s.op.tags & {"cut"} for s in inside):
            return False
        made = {t for s in inside for t in s.targets}
        if any(s.op.tags & {"hook"} and s.operands[0] not in made for s in inside):
            return False
        shared = read & {x for s in inside for x in s.operands}
        if any(s.op.tags & {"hook", "grad"} and s.operands[0] in shared for s in self.statements[b:]):
            return False
        return all(s.op.form in ("compute", "take") for s in inside if read & set(s.targets))

    def _body(self, lines: list[str], targets: list[tuple[str, ...]], judge: bool = False) -> str:
        if self.nest is not None:
            a, b = self.nest
            how = "call" if judge else self.how
            made = ", ".join(self.read(a, b) if how != "call" else (t for names in targets[a:b] for t in names))
            inner = textwrap.indent("\n".join([*lines[a:b], f"return {made}"]), "    ")
            x = self.inputs[0]
            call = REGIONS[how].format(x=f"paddle.real({x.name})" if x.dtype.startswith("complex") else x.name)
            if self.kind == "devices":  # the condition of a loop computes with what it carries
                call = call.replace("paddle.zeros([])", f"near(paddle.zeros([]), {x.name})")
            call = f"{made} = {call}" if made else call
            lines = [*lines[:a], f"def inner():\n{inner}", call, *lines[b:]]
        return "\n".join([*lines, f"return {', '.join(self.outputs)},"])

    def _function(self, lines: list[str], judge: bool = False) -> str:
        body = self._body(lines, [s.targets for s in self.statements], judge)
        names = ", ".join(x.name for x in self.inputs)
        return f"def program({names}):\n{textwrap.indent(body, '    ')}\n"

    def ours(self) -> str:
        """The program for ``paddle``."""
        return self._function([s.ours(self.kind == "devices") for s in self.statements])

    def judge(self) -> str:
        """The program for the judge."""
        return self._function([s.judge() for s in self.statements], judge=True)

    def arrays(self, n: int) -> dict[str, np.ndarray]:
        return {x.name: x.array(n) for x in self.inputs}


def used(program: Program) -> Program:
    """The program without inputs that nothing reads."""
    text = {name for s in program.statements for name in s.operands} | set(program.outputs)
    return replace(program, inputs=tuple(x for x in program.inputs if x.name in text))


def attributes(given: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((k, v if isinstance(v, str) else repr(v)) for k, v in given.items())
