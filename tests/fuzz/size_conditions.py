"""Random functions that branch and loop on open sizes, in every form that a program has, against the same as it was
written: ``python -m tests.fuzz.size_conditions 0 300`` runs those of 300 seeds.

A seed gives a function of rows ``x``, ``[?, 4]``, and ``y``, ``[?, ?]``: branches on their sizes by ``if`` statements,
conditional and logical expressions, whose ways leave other sizes, numbers or lists, return, or raise; loops that sizes
end, and that are left early. It is saved, loaded, saved again, run by predictors, a clone, an executor and ONNX
Runtime, captured from its source and from bytecode, with sizes on both sides of its conditions.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import paddle
from paddle import inference
from paddle.inference.loading import files_of
from paddle.static import InputSpec
from tests.fuzz.data_sizes import function_of, same, session
from tests.fuzz.lines import Lines
from tests.fuzz.programs.run import numbers
from tests.fuzz.seeds import run_seeds
from tests.fuzz.shrink import fewer_lines, reduction
from umiak.compiler.jit import object_cache  # noqa: F401  declares the switch

WIDTH = 4
SPECS = [InputSpec([None, WIDTH], "float32", "x"), InputSpec([None, None], "float32", "y")]
WAYS = ("loaded", "again", "predicted", "executed", "exported", "source", "bytecode")
SIZES = ((3, 2, 5), (5, 1, 1), (1, 4, 3), (4, 6, 2), (8, 3, 7), (2, 2, 4))  # rows of x, sizes of y
Arrays = Sequence[np.ndarray]
# What both ways of a branch on data or open sizes cannot leave, which the reference refuses as well.
REFUSED = ("to have one structure, shape and dtype",)


class Text(Lines):
    """A function as it is written: names of rows ``[?, 4]`` and of numbers, and lines."""

    def __init__(self, seed: int) -> None:
        super().__init__("size conditions", seed)
        self.rows, self.numbers = ["x"], ["x.shape[0]", "y.shape[0]", "y.shape[1]", "paddle.shape(x)[0]", "len(y)"]

    def size(self) -> str:
        r = self.r
        n = r.choice(self.numbers)
        return r.choice((n, n, n, f"{n} // 2", f"{n} * 2 - 1", f"({n} + {r.choice(self.numbers)})"))

    def comparison(self) -> str:
        r, n = self.r, self.size()
        return r.choice(
            (f"{n} {r.choice(('>', '<', '==', '>=', '<=', '!='))} {r.randrange(1, 6)}",
             f"{n} {r.choice(('>', '==', '<='))} {self.size()}", f"{n} % {r.randrange(2, 4)}", f"1 < {n} < 5",
             f"{n} % 2 == {r.randrange(2)}", f"{n} in (1, 4)", "x.shape[1] > 3", "x.shape != y.shape")
        )  # fmt: skip

    def condition(self) -> str:
        r, a = self.r, self.comparison()
        kind = r.randrange(8)
        if kind < 5:
            return a
        if kind == 5:
            return f"{a} {r.choice(('and', 'or'))} {self.comparison()}"
        return f"not {a}" if kind == 6 else f"{a} {r.choice(('and', 'or'))} x.sum() > {r.choice((-1, 0.5))}"

    def expression(self) -> str:
        """Rows of other rows."""
        r, v, w = self.r, self.r.choice(self.rows[-3:]), self.r.choice(self.rows)
        n = self.size()
        return r.choice(
            (f"{v} * 0.5 + {w}.sum(0)", f"paddle.tanh({v})", f"{v}[:3]", f"{v}[::2]", f"paddle.concat([{v}, {w}])",
             f"{v}[:{n}]", f"{v} * ({n})", f"paddle.ones([{n}, {WIDTH}]) + {v}.mean()", f"{v} + y.sum()",
             f"paddle.concat([{v}, paddle.zeros([1, {WIDTH}])])", f"paddle.flip({v}, 0)", f"{v}.reshape([-1, {WIDTH}])",
             f"{v}.reshape([{v}.shape[0], 2, -1]).sum(1).tile([1, 2])", f"paddle.cumsum({v}, 0)")
        )  # fmt: skip

    def rows_line(self) -> None:
        text, name = self.expression(), self.name()
        self.line(f"{name} = {text}")
        self.rows.append(name)

    def number_line(self) -> None:
        name, r = self.name(), self.r
        other = r.choice((str(r.randrange(1, 4)), self.size()))
        if r.random() < 0.5:
            self.line(f"{name} = {self.size()} if {self.condition()} else {other}")
        else:
            self.line(f"{name} = {other}")
            self.line(f"if {self.condition()}:")
            self.line(f"    {name} = {self.size()}")
        self.numbers.append(name)

    def flag_line(self) -> None:
        name, v = self.name(), self.name()
        self.line(f"{name} = {self.condition()}")
        self.line(f"{v} = {self.r.choice(self.rows)} * (2 if {name} else 3)")
        self.rows.append(v)

    def branch(self) -> None:
        before, name = (list(self.rows), list(self.numbers)), self.name()
        if self.r.random() < 0.3:
            self.line(f"{name} = {self.expression()} if {self.condition()} else {self.expression()}")
            self.rows.append(name)
            return
        starts = [f"if {self.condition()}:", *([f"elif {self.condition()}:"] * (self.r.random() < 0.3)), "else:"]
        for start in starts:
            self.line(start)
            self.depth += 1
            for _ in range(self.r.randrange(2)):
                self.statement(inside=True)
            self.line(f"{name} = {self.expression()}")
            self.depth -= 1
            self.rows, self.numbers = list(before[0]), list(before[1])
        self.rows.append(name)

    def early(self) -> None:
        self.line(f"if {self.condition()}:")
        v, w = self.r.choice(self.rows), self.r.choice(self.rows)
        self.line(f"    return {v} * {self.r.randrange(2, 5)}, {w}.sum(0) + x.mean() + y.sum()")

    def loop(self) -> None:
        r, name, v = self.r, self.name(), self.r.choice(self.rows)
        kind = r.randrange(4)
        if kind == 0:
            self.line(f"{name} = paddle.zeros([{WIDTH}])")
            self.line(f"for i in range({v}.shape[0]):")
            if r.random() < 0.5:
                self.line(f"    if i {r.choice(('> 2', '== 1'))}{r.choice(('', f' and {self.comparison()}'))}:")
                self.line(f"        {r.choice(('break', 'continue'))}")
            self.line(f"    {name} = {name} * 0.5 + {v}[i]")
            total = self.name()
            self.line(f"{total} = {v} + {name}")
            self.rows.append(total)
            return
        if kind == 1:
            self.line(f"{name} = {v}")
            self.line(f"while {name}.shape[0] > {r.randrange(1, 4)}:")
            self.line(f"    {name} = {name}[{r.choice(('1:', '::2', ':-1'))}] {r.choice(('* 0.5', '+ 1', ''))}")
            self.rows.append(name)
            return
        if kind == 2:
            n = self.name()
            self.line(f"{n}, {name} = {self.size()}, {v} * 1.0")
            self.line(f"while {n} > {r.randrange(1, 3)}:")
            self.line(f"    {n}, {name} = {n} // 2, {name} * 0.5 + 1")
            self.rows.append(name)
            return
        self.line(f"{name} = {v} * 1.0")
        self.line(f"for i in range({r.randrange(2, 4)}):")
        self.line(f"    if {self.condition()} and i > 0:")
        self.line("        break")
        self.line(f"    {name} = {name} + i")
        self.rows.append(name)

    def statement(self, inside: bool = False) -> None:
        kinds = [self.rows_line] * 3 + [self.branch] * 4 + [self.number_line] * 2 + [self.flag_line]
        self.r.choice(kinds if inside else [*kinds, self.loop, self.loop, self.early])()

    def text(self) -> str:
        for _ in range(self.r.randint(2, 5)):
            self.statement()
        self.line(f"return {self.rows[-1]}, {self.r.choice(self.rows)}.sum(0) + x.mean() + y.sum()")
        return "\n".join(["import paddle", "", "", "def function(x, y):", *self.lines, ""])


def written(seed: int) -> str:
    """The function of a seed."""
    return Text(seed).text()


def inputs(seed: int) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    return [[rng.standard_normal(s).astype("float32") for s in ((n, WIDTH), (k, m))] for n, k, m in SIZES]


def forms(function: Any, only: Sequence[str], level: int, tally: Counter[str]) -> Any:
    """Yield names and runs of the forms that a program has."""
    if "source" in only:
        yield "source", paddle.jit.to_static(function, full_graph=True, input_spec=SPECS)
    if "bytecode" in only:
        yield "bytecode", paddle.jit.to_static(function, full_graph=False)
    with tempfile.TemporaryDirectory() as folder:
        prefix, again = os.path.join(folder, "model"), os.path.join(folder, "again")
        paddle.jit.save(function, prefix, SPECS)
        if "loaded" in only:
            yield "loaded", paddle.jit.load(prefix)
        if "again" in only:
            paddle.jit.save(paddle.jit.load(prefix), again, SPECS)
            yield "again", _predictor(again, level)
        if "predicted" in only:
            first = _predictor(prefix, level)
            yield "predicted", first
            yield "clone", first.clone()
        if "executed" in only:
            yield "executed", _executed(prefix)
        if "exported" in only:
            made = session(prefix)
            tally["ONNX has no operators for it"] += made is None
            if made is not None:
                yield "exported", made


def _predictor(prefix: str, level: int) -> Any:
    config = inference.Config(*files_of(prefix))
    config.set_optimization_level(level)
    return inference.create_predictor(config)


def _executed(prefix: str) -> Callable[..., Any]:
    scope = paddle.static.Scope()
    paddle.enable_static()
    try:
        executor = paddle.static.Executor()
        with paddle.static.scope_guard(scope):
            program, names, fetched = paddle.static.load_inference_model(prefix, executor)
    finally:
        paddle.disable_static()

    return lambda *xs: executor.run(
        program, dict(zip(names, [x.numpy() for x in xs], strict=True)), fetched, scope=scope
    )


def called(run: Any, xs: Arrays) -> list[np.ndarray]:
    """The results of a form."""
    given = [paddle.to_tensor(x) for x in xs]
    made = run.run(given) if isinstance(run, inference.Predictor) else run(*given)
    made = [made] if isinstance(made, paddle.Tensor) else made
    return [numbers(y) if isinstance(y, paddle.Tensor) else np.asarray(y) for y in made]


def check(
    seed: int, tally: Counter[str] | None = None, only: Sequence[str] = WAYS, text: str | None = None
) -> str | None:
    """What is wrong; None if nothing is."""
    tally = Counter() if tally is None else tally
    text = written(seed) if text is None else text
    function = function_of(text, seed)
    wanted: list[tuple[list[np.ndarray], list[np.ndarray]]] = []
    for xs in inputs(seed):
        try:
            wanted.append((xs, called(function, xs)))
        except Exception:  # sizes that the function does not take
            tally["refused as it is written"] += 1
    if not wanted:
        return None
    at = "saved"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of a program that the operators of the format cannot say
            for at, run in forms(function, only, (2, 1, 0)[seed % 3], tally):
                for xs, outputs in wanted:
                    found = called(run, xs)
                    if not same(found, outputs):
                        shapes = [x.shape for x in xs]
                        return f"{text}\n{at}, seed {seed}: of\n{shapes}\ncomes\n{found}\nand not\n{outputs}"
                tally[at] += 1
                at = f"after {at}"
    except Exception as error:
        for reason in REFUSED:
            if reason in str(error):
                tally[f"refused: {reason}"] += 1
                return None
        return f"{text}\n{at}, seed {seed}: {type(error).__name__}: {error}"
    return None


reduced = reduction(written, check, lambda text: fewer_lines(text, 4))


if __name__ == "__main__":
    run_seeds(__doc__, WAYS, check, reduced)
