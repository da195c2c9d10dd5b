"""Random layers with weights of 8 and 4 bits, captured, saved and predicted, against the same as they are written:
``python -m tests.fuzz.low_bits 0 300`` runs those of 300 seeds.

A seed gives a layer whose weights are buffers, parameters or computed in the call, with products of few bits among
activations, norms, residuals, branches, loops, recomputed parts and ``auto_cast``; weights may be shared, dequantised,
of groups, and of the layer that a call quantises anew. It is called for batches of several sizes, among them 0 and 1.
"""

from __future__ import annotations

import linecache
import os
import tempfile
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import paddle
from paddle import inference
from paddle.inference.loading import files_of
from tests.fuzz.lines import Lines
from tests.fuzz.programs.run import numbers
from tests.fuzz.seeds import run_seeds
from tests.fuzz.shrink import fewer_lines, reduction
from umiak.compiler.jit import object_cache  # noqa: F401  declares the switch

WIDTH = 128  # the least that groups of 64 and 128 have
WAYS = ("bytecode", "one graph", "loaded", "predicted", "saved again", "gradients")
ROWS = (3, 1, 5, 0, 4)
HEAD = """\
import paddle
import paddle.nn.functional as F
from paddle.distributed.fleet.utils import recompute
from paddle.nn.quant import llm_int8_linear, weight_dequantize, weight_only_linear, weight_quantize


def weight(seed):
    w = paddle.to_tensor(RANDOM(seed).standard_normal((128, 128)).astype("float32")) / 12
    return w.astype(DTYPE)


def vector(seed):
    return paddle.to_tensor(RANDOM(seed).standard_normal(128).astype("float32")).astype(DTYPE) / 4


"""


class Text(Lines):
    """A layer as it is written. ``values``: expressions of shape ``[rows, 128]``."""

    def __init__(self, seed: int) -> None:
        super().__init__("low bits", seed)
        self.values = ["x"]
        self.state: list[str] = []
        self.weights: list[tuple[str, str, int]] = []  # the name, its algorithm and its groups
        self.dtype = self.r.choice(("float32", "float32", "float32", "bfloat16", "float16"))
        self.depth = 2

    def weight(self) -> tuple[str, str, int]:
        """A quantised weight, in half of the cases one that there is."""
        r = self.r
        if self.weights and r.random() < 0.4:
            return r.choice(self.weights)
        algorithm = r.choice(("weight_only_int8", "weight_only_int8", "weight_only_int4", "llm.int8"))
        group = r.choice((-1, -1, 64, 128)) if algorithm != "llm.int8" else -1
        name, n = self.name("w"), r.randrange(99)
        made = f"weight_quantize(weight({n}), {algorithm!r}, group_size={group})"
        if r.random() < 0.15:  # at each call, of a weight of many bits
            self.state.append(f"self.{name} = self.create_parameter([128, 128], dtype=DTYPE)")
            self.state.append(f"self.{name}.set_value(weight({n}))")
            of = f"self.{name}.detach(), {algorithm!r}, group_size={group}"
            self.line(f"{name}, {name}s = weight_quantize({of})")
            return name, algorithm, group
        self.state.append(f"codes, scale = {made}")
        if r.random() < 0.7:
            self.state += [f"self.register_buffer('{name}', codes)", f"self.register_buffer('{name}s', scale)"]
        else:
            self.state += [f"self.{name} = codes", f"self.{name}s = scale"]
        self.weights.append((f"self.{name}", algorithm, group))
        return self.weights[-1]

    def product(self) -> str:
        r, v = self.r, self.r.choice(self.values[-3:])
        w, algorithm, group = self.weight()
        bias = "None"
        if r.random() < 0.5:
            bias = f"self.{self.name('b')}"
            made = r.choice(("self.create_parameter([128], dtype=DTYPE, is_bias=True)", f"vector({r.randrange(99)})"))
            self.state.append(f"{bias} = {made}")
        kind = r.random()
        if kind < 0.2:
            matrix = f"weight_dequantize({w}, {w}s, {algorithm!r}, group_size={group})"
            matrix += f".astype({v}.dtype)"
            return r.choice((f"paddle.matmul({v}, {matrix})", f"F.linear({v}, {matrix}, {bias})"))
        if algorithm == "llm.int8":
            return f"llm_int8_linear({v}, {w}, {bias}, {w}s.astype('float32'), {r.choice((6.0, 1.0))})"
        bits = algorithm.removeprefix("weight_only_")
        return f"weight_only_linear({v}, {w}, {bias}, {w}s, {bits!r}, group_size={group})"

    def around(self) -> str:
        r, v, w = self.r, self.r.choice(self.values[-3:]), self.r.choice(self.values)
        return r.choice(
            (f"F.relu({v})", f"F.gelu({v})", f"{v} + {w}", f"{v} * 0.5", f"F.silu({v}) * {w}",
             f"{v}.reshape([-1, 2, 64]).transpose([0, 2, 1]).reshape([-1, 128])",
             f"F.layer_norm({v}, [128])", f"F.softmax({v}, -1)", f"paddle.concat([{v}, {w}], -1)[:, ::2]",
             f"{v}.unsqueeze(1).squeeze(1)")
        )  # fmt: skip

    def statement(self) -> None:
        r, name = self.r, self.name()
        kind = r.random()
        if kind < 0.5:
            product = self.product()
            if r.random() < 0.12:
                self.line("with paddle.amp.auto_cast(level='O1', dtype='bfloat16'):")
                self.line(f"    {name} = {product}")
                self.line(f"{name} = {name}.astype(DTYPE)")
            elif r.random() < 0.12:
                self.line(f"{name} = recompute(lambda: {product})")
            else:
                self.line(f"{name} = {product}")
        elif kind < 0.6:
            product, other = self.product(), self.around()
            self.line(f"if {r.choice(self.values)}.astype('float32').mean() > {r.choice((-0.1, 0.0, 0.1))}:")
            self.line(f"    {name} = {product}")
            self.line("else:")
            self.line(f"    {name} = {other}")
        elif kind < 0.67:
            self.line(f"{name} = {r.choice(self.values)}")
            self.values.append(name)
            product = self.product()
            self.line(f"for i in range({r.randint(1, 3)}):")
            self.line(f"    {name} = F.tanh({product}) + {name} * 0.5")
        else:
            self.line(f"{name} = {self.around()}")
        self.values.append(name)

    def text(self) -> str:
        for _ in range(self.r.randint(3, 7)):
            self.statement()
        self.line(f"return {self.product()}, {self.values[-1]}")
        state = ["    " * 2 + line for line in self.state]
        lines = [
            f'DTYPE = "{self.dtype}"', "", "", "class Model(paddle.nn.Layer):", "    def __init__(self):",
            "        super().__init__()", *state, "", "    def forward(self, x):", *self.lines, "",
        ]  # fmt: skip
        return HEAD + "\n".join(lines)


def written(seed: int) -> str:
    """The module of a seed."""
    return Text(seed).text()


def module_of(text: str, seed: int) -> types.ModuleType:
    name = f"<low bits {seed}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    module = types.ModuleType(f"low_bits_{seed}")
    module.__dict__["RANDOM"] = np.random.default_rng
    paddle.seed(1)
    exec(compile(text, name, "exec"), module.__dict__)
    return module


def inputs(seed: int, dtype: str) -> list[paddle.Tensor]:
    rng = np.random.default_rng(seed)
    return [paddle.to_tensor(rng.standard_normal((n, WIDTH)).astype("float32")).astype(dtype) for n in ROWS]


def difference(found: Sequence[Any], wanted: Sequence[Any], dtype: str, codes: bool) -> str | None:
    """What differs by more than rounding of the dtype makes of products in another order. ``codes``: rounding decides
    codes of 8 bits, too."""
    most = {"float32": 2e-2 if codes else 2e-3, "float16": 2e-2, "bfloat16": 1.5e-1}[dtype]
    for i, (x, y) in enumerate(zip(found, wanted, strict=True)):
        if x is None or y is None:
            if x is not y and (x is None or numbers(x).any()):  # of a branch of one graph come zeros
                return f"gradient {i}: {'none' if x is None else 'one'}, unlike eagerly"
            continue
        a, b = (numbers(v).astype("float64") for v in (x, y))
        if x.dtype != y.dtype or a.shape != b.shape:
            return f"result {i}: {x.dtype.name}{a.shape} in place of {y.dtype.name}{b.shape}"
        # Rounding may decide a code, or a way: a few numbers may be further off than all others.
        error = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b) / (1 + np.abs(b)))
        if error.size and (~(error <= most)).mean() > 0.02:  # NaN in place of a number is an error, too
            return f"result {i}: off by {error.max():.3g}"
    return None


def with_gradients(f: Callable[..., Any], x: paddle.Tensor) -> list[Any]:
    given = x.detach()
    given.stop_gradient = False
    results = list(f(given))
    loss = sum((y.astype("float32") * (y.astype("float32") + 1)).mean() for y in results if y.size)
    if isinstance(loss, paddle.Tensor) and not loss.stop_gradient:
        loss.backward()
    return [*results, given.grad]


def predictor(prefix: str, level: int) -> Callable[..., Any]:
    config = inference.Config(*files_of(prefix))
    config.set_optimization_level(level)
    made = inference.create_predictor(config)
    return lambda x: made.run([x])


def check(
    seed: int, tally: Counter[str] | None = None, only: Sequence[str] = WAYS, text: str | None = None
) -> str | None:
    """What is wrong; None if nothing is."""
    tally = Counter() if tally is None else tally
    text = written(seed) if text is None else text
    module = module_of(text, seed)
    model, dtype = module.Model(), module.DTYPE
    model.eval()
    given = inputs(seed, dtype)
    wanted = [model(x) for x in given]
    at = ""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")  # of a program that the operators of the format cannot say
        try:
            for at in only:
                run: Callable[..., Any]
                judge = wanted
                if at in ("bytecode", "one graph"):
                    run = paddle.jit.to_static(model.forward, full_graph=at == "one graph")
                elif at == "gradients":
                    graph = paddle.jit.to_static(model.forward, full_graph=seed % 2 == 0)
                    judge = [with_gradients(model, x) for x in given]  # type: ignore[misc]
                    run = lambda x, f=graph: with_gradients(f, x)  # noqa: E731
                else:
                    prefix = os.path.join(folder, at)
                    paddle.jit.save(model, prefix, [paddle.static.InputSpec([None, WIDTH], dtype, "x")])
                    run = predictor(prefix, seed % 3) if at == "predicted" else paddle.jit.load(prefix)
                    if at == "saved again":
                        paddle.jit.save(run, prefix + "2")
                        run = paddle.jit.load(prefix + "2")
                for x, outputs in zip(given, judge, strict=True):
                    if told := difference(list(run(x)), outputs, dtype, "llm_int8_linear(" in text):
                        return f"{text[len(HEAD) :]}\n{at}, seed {seed}: of {x.shape[0]} rows {told}"
                tally[at] += 1
        except Exception as error:
            return f"{text[len(HEAD) :]}\n{at}, seed {seed}: {type(error).__name__}: {error}"
    return None


def smaller(text: str) -> Iterator[str]:
    """The same without some lines behind those with which its layer begins."""
    return fewer_lines(text, text[: text.index("super()")].count("\n") + 1)


reduced = reduction(written, check, smaller)


if __name__ == "__main__":
    run_seeds(__doc__, WAYS, check, reduced)
