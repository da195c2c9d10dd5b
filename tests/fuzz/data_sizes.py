"""Random functions in which data decide sizes, as one graph and saved as files, against the same as it was written:
``python -m tests.fuzz.data_sizes 0 300`` runs that of 300 seeds.

A seed gives a function of rows ``x``: rows that are selected, branches on how many there are, whose ways leave other
numbers of them, loops that count them. It is called as one graph, with its first and second gradients, and saved,
loaded, and run by a predictor, a clone of it and ONNX Runtime, for inputs of which none, some or all rows are selected.
A failure is printed with the function.
"""

from __future__ import annotations

import linecache
import os
import tempfile
import types
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import paddle
from paddle import inference
from paddle.inference.loading import files_of
from paddle.onnx.convert import Refused, convert
from paddle.static.formats.files import read_model
from tests.fuzz.lines import Lines
from tests.fuzz.programs.run import numbers
from tests.fuzz.seeds import run_seeds
from tests.fuzz.shrink import fewer_lines, reduction
from umiak.compiler.jit import object_cache  # noqa: F401  declares the switch

WIDTH = 4
SELECTED = ["x[x[:, 0] > 0.25]"]
WAYS = ("one graph", "loaded", "predicted", "exported")
MOST_CAPTURES = 4  # for all sizes and data: of a fixed size, of any other, of 1, and once more where a size steers


class Text(Lines):
    """A function as it is written: names of rows ``[?, 4]`` and of sizes, and lines."""

    def __init__(self, seed: int) -> None:
        super().__init__("data sizes", seed)
        self.rows, self.sizes = ["x"], []

    def number(self) -> float:
        return self.r.choice((-0.75, -0.25, 0.0, 0.25, 0.75))

    def row_expression(self) -> str:
        """Rows of other rows: some of them, in another order, joined, or computed."""
        r, v, w, n = self.r, self.r.choice(self.rows[-3:]), self.r.choice(self.rows), self.number()
        k = r.randrange(WIDTH)
        options = [
            f"{v}[{v}[:, {k}] > {n}]",
            f"paddle.gather({v}, paddle.nonzero({v}[:, {k}] > {n}).flatten())",
            f"paddle.masked_select({v}, ({v}[:, {k}:{k + 1}] > {n}).expand([-1, {WIDTH}])).reshape([-1, {WIDTH}])",
            f"paddle.concat([{v}, {w}])",
            f"{v}[{r.choice(('1:', '::2', ':2', '-1:', '::-1'))}]",
            f"paddle.sort({v}, 0)",
            f"{v} * 0.5 + {w}.sum(0)",
            f"paddle.tanh({v})",
            f"paddle.cumsum({v}, 0)",
            f"{v} + paddle.arange({v}.shape[0]).astype('float32').unsqueeze(1)",
            f"paddle.repeat_interleave({v}, paddle.to_tensor(2), 0)",
            f"paddle.zeros([{r.randrange(3)}, {WIDTH}])",
        ]
        if self.sizes:
            m = r.choice(self.sizes)
            options += [f"{v}[:{m}]", f"x[{m}:]", f"{v} * {m}", f"paddle.ones([{m}, {WIDTH}])"]
        return r.choice(options)

    def condition(self) -> str:
        r = self.r
        m = r.choice(self.sizes) if self.sizes and r.random() < 0.6 else f"{r.choice([*self.rows, *SELECTED])}.shape[0]"
        simple = f"{m} {r.choice(('>', '<', '==', '>=', '!='))} {r.randrange(4)}"
        return r.choice((simple, simple, f"0 < {m} < {r.randrange(2, 5)}", f"{simple} or x.sum() > {self.number()}"))

    def rows_line(self) -> None:
        text, name = self.row_expression(), self.name()
        self.line(f"{name} = {text}")
        self.rows.append(name)

    def size_line(self) -> None:
        name, v = self.name(), self.r.choice(self.rows)
        self.line(
            f"{name} = "
            + self.r.choice(
                (f"len({v})", f"{v}.shape[0]", f"len(paddle.nonzero({v}[:, 0] > {self.number()}))",
                 f"({v} > {self.number()}).astype('int64').sum().item()")
            )
        )  # fmt: skip
        self.sizes.append(name)

    def branch(self) -> None:
        """Both ways leave rows, of other numbers."""
        before, name = (list(self.rows), list(self.sizes)), self.name()
        condition = self.condition()
        if self.r.random() < 0.3:
            self.line(f"{name} = {self.row_expression()} if {condition} else {self.row_expression()}")
            self.rows.append(name)
            return
        for start in (f"if {condition}:", "else:"):
            self.line(start)
            self.depth += 1
            for _ in range(self.r.randrange(2)):
                self.statement(inside=True)
            self.line(f"{name} = {self.row_expression()}")
            self.depth -= 1
            self.rows, self.sizes = list(before[0]), list(before[1])
        self.rows.append(name)

    def loop(self) -> None:
        """Sums as often as there are rows."""
        name, v, w = self.name(), self.r.choice(self.rows), self.r.choice(self.rows)
        self.line(f"{name} = paddle.zeros([{WIDTH}])")
        self.line(f"for i in range({v}.shape[0]):")
        self.line(f"    {name} = {name} * 0.5 + {v}[i] + {w}.sum()")
        total = self.name()
        self.line(f"{total} = {v} + {name}")
        self.rows.append(total)

    def statement(self, inside: bool = False) -> None:
        kinds = [self.rows_line] * 5 + [self.size_line] * 2 + [self.branch] * 3 + ([] if inside else [self.loop])
        self.r.choice(kinds)()

    def text(self) -> str:
        for _ in range(self.r.randint(2, 6)):
            self.statement()
        results = self.r.sample(self.rows[1:] or self.rows, min(2, len(self.rows[1:]) or 1))
        self.line(f"return {', '.join([*results, f'{self.rows[-1]}.sum(0) + x[0]'])}")
        return "\n".join(["import paddle", "", "", "def function(x):", *self.lines, ""])


def written(seed: int) -> str:
    """The function of a seed."""
    return Text(seed).text()


def function_of(text: str, seed: int) -> Callable[..., Any]:
    name = f"<data sizes {seed}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    module = types.ModuleType(f"data_sizes_{seed}")
    exec(compile(text, name, "exec"), module.__dict__)
    return module.function


def inputs(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    drawn = [rng.standard_normal((n, WIDTH)).astype("float32") for n in (3, 5, 1, 4)]
    return [*drawn, np.full((3, WIDTH), 2.0, "float32"), np.full((2, WIDTH), -2.0, "float32"), drawn[0]]


def same(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> bool:
    return all(a.shape == b.shape and np.allclose(a, b, 1e-4, 1e-4) for a, b in zip(found, wanted, strict=True))


def with_gradients(function: Callable[..., Any], x: np.ndarray, history: bool) -> list[np.ndarray]:
    """Results, and of a sum over them the gradient and the gradient of its square, as far as there are."""
    given = paddle.to_tensor(x, stop_gradient=not history)
    results = function(given)
    found = [numbers(y) for y in results]
    losses = [(y * y).sum() for y in results if not y.stop_gradient]
    if losses:
        (g,) = paddle.grad(sum(losses), [given], create_graph=True)
        found.append(numbers(g))
        h = None if g.stop_gradient else paddle.grad((g * g).sum(), [given], allow_unused=True)[0]
        found += [] if h is None else [numbers(h)]
    return found


def called(function: Callable[..., Any], seed: int, tally: Counter[str]) -> str | None:
    """What is wrong with calls of it as one graph."""
    graph = paddle.jit.to_static(function, full_graph=True)
    for history in (True, False):
        before = graph.get_traced_count()
        for x in inputs(seed):
            found, wanted = with_gradients(graph, x, history), with_gradients(function, x, history)
            if len(found) != len(wanted) or not same(found, wanted):
                return f"one graph, seed {seed}: of\n{x}\ncomes\n{found}\nand not\n{wanted}"
        if graph.get_traced_count() - before > MOST_CAPTURES:
            return f"one graph, seed {seed}: {graph.get_traced_count() - before} captures"
    tally["one graph"] += 1
    tally["as written for some data"] += bool(graph.fallbacks)
    return None


def session(prefix: str) -> Callable[..., Sequence[Any]] | None:
    """The model of inputs ``x`` and ``y``, or of one of them, in ONNX Runtime; None if ONNX cannot say it."""
    import onnxruntime

    values = prefix + ".pdiparams"
    read = read_model(prefix + ".json", values if os.path.exists(values) else None, "fuzz")
    arrays = {k: v.numpy() if isinstance(v, paddle.Tensor) else np.asarray(v) for k, v in read.values.items()}
    try:
        model = convert(read.program, arrays, 18)
    except Refused:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    made = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def run(*xs: Any) -> Sequence[Any]:
        given = dict(zip("xy", xs, strict=False))
        return [paddle.to_tensor(y) for y in made.run(None, {g.name: given[g.name].numpy() for g in made.get_inputs()})]

    return run


def check(
    seed: int, tally: Counter[str] | None = None, only: Sequence[str] = WAYS, text: str | None = None
) -> str | None:
    """What is wrong; None if nothing is."""
    tally = Counter() if tally is None else tally
    text = written(seed) if text is None else text
    function = function_of(text, seed)
    wanted = [[numbers(y) for y in function(paddle.to_tensor(x))] for x in inputs(seed)]
    at = "one graph"
    try:
        if at in only and (wrong := called(function, seed, tally)):
            return f"{text}\n{wrong}"
        if {*only} == {at}:
            return None
        at = "saved"
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("error")  # of a program that the operators of the format cannot say
            prefix = os.path.join(folder, "model")
            paddle.jit.save(function, prefix, [paddle.static.InputSpec([None, WIDTH], "float32", "x")])
            runs: list[tuple[str, Callable[[Any], Sequence[Any]]]] = []
            if "loaded" in only:
                runs.append(("loaded", paddle.jit.load(prefix)))
            if "predicted" in only:
                config = inference.Config(*files_of(prefix))
                config.set_optimization_level((2, 1, 0)[seed % 3])
                first = inference.create_predictor(config)
                runs += [
                    (way, lambda x, p=p: p.run([x])) for way, p in (("predicted", first), ("clone", first.clone()))
                ]
            if "exported" in only:
                at, made = "exported", session(prefix)
                tally["ONNX has no operators for it"] += made is None
                runs += [] if made is None else [("exported", made)]
            for at, run in runs:
                for x, outputs in zip(inputs(seed), wanted, strict=True):
                    found = [numbers(y) for y in run(paddle.to_tensor(x))]
                    if not same(found, outputs):
                        return f"{text}\n{at}, seed {seed}: of\n{x}\ncomes\n{found}\nand not\n{outputs}"
                tally[at] += 1
    except Exception as error:
        return f"{text}\n{at}, seed {seed}: {type(error).__name__}: {error}"
    return None


reduced = reduction(written, check, lambda text: fewer_lines(text, 4))


if __name__ == "__main__":
    run_seeds(__doc__, WAYS, check, reduced)
