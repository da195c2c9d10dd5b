"""Random attention under masks by columns, in every way that a program may have it, against the definition in float64:
``python -m tests.fuzz.masks 0 300`` runs that of 300 seeds.

A seed gives the heads, a mask of a family for each of its heads, the precision, where the function has the indices
from, and lengths that follow each other. A failure is printed with its case.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import paddle
import paddle.nn.functional as F
from paddle import inference
from paddle.distributed.fleet.utils import recompute
from paddle.inference.loading import files_of
from tests.fuzz.programs.run import numbers
from tests.fuzz.seeds import run_seeds
from tests.support.attention_reference import attention, families
from umiak.compiler.jit import object_cache  # noqa: F401  declares the switch

SHORTEST = 24  # of which masks of all families can be made
TOLERANCE = {"float32": 3e-5, "float16": 6e-3, "bfloat16": 5e-2, "auto_cast": 5e-2}
SOURCES = ("argument", "outside", "one head's", "clipped", "joined")  # where the function has the indices from
WAYS = ("eager", "captured", "one graph", "step", "recomputed", "static", "saved", "predicted")
FAMILIES = tuple(families(SHORTEST))
FORMS: dict[tuple[bool, int], list[str]] = {}  # families by whether order counts, and by columns
for _name, _mask in families(SHORTEST).items():
    FORMS.setdefault((_mask.causal, _mask.indices.shape[3]), []).append(_name)


@dataclass(frozen=True)
class Case:
    """Attention of one seed. ``kinds``: the family of each of the mask's heads."""

    seed: int
    kinds: tuple[str, ...]
    heads: int
    key_heads: int
    batch: int
    dim: int
    value_dim: int
    precision: str
    source: str
    scale: float | None
    lengths: tuple[int, ...]

    @property
    def causal(self) -> bool:
        return next(causal for (causal, _), kinds in FORMS.items() if self.kinds[0] in kinds)


def draw(seed: int) -> Case:
    """The attention of a seed."""
    r = random.Random(f"masks {seed}")
    key_heads, group = r.choice((1, 1, 2, 3)), r.choice((1, 2, 4))
    heads = key_heads * group
    alike = r.choice([kinds for kinds in FORMS.values() for _ in kinds])
    mask_heads = r.choice((1, 1, key_heads, heads))
    dim = r.choice((4, 8, 16, 24, 64))
    source = r.choice(SOURCES)
    lengths = r.sample((SHORTEST, 33, 40, 64, 65, 128, 150, 200), 1 if source == "outside" else r.choice((2, 3)))
    return Case(
        seed,
        tuple(r.choice(alike) for _ in range(mask_heads)) if source != "one head's" else (r.choice(alike),),
        heads,
        key_heads,
        r.choice((1, 2, 3)),
        dim,
        dim if r.random() < 0.8 else r.choice((4, 8, 40)),
        r.choices(list(TOLERANCE), (4, 1, 3, 1))[0],
        source,
        r.choice((None, None, 0.3)),
        tuple(lengths),
    )


def indices_of(case: Case, n: int) -> np.ndarray:
    """Of all sequences: each has the masks of the heads, one of them by turns."""
    rows = [families(n)[kind].indices[0, :1] for kind in case.kinds]
    parts = [np.concatenate(np.roll(np.array(rows), k, 0)) for k in range(case.batch)]
    return np.stack(parts).astype(np.int32)


def visible(columns: np.ndarray, causal: bool, n: int) -> np.ndarray:
    """What queries see: ``[batch, heads, queries, keys]`` of ``[batch, heads, keys, columns]``."""
    i, j = np.arange(n)[:, None], np.arange(n)
    at = [c[..., None, :] for c in np.moveaxis(columns, -1, 0)]
    if causal:
        hidden = (i < j) | ((i >= at[0]) & (i < at[1]) if len(at) == 2 else i >= at[0])
    elif len(at) == 2:
        hidden = (i >= at[0]) | (i < at[1])
    else:
        hidden = ((i >= at[0]) & (i < at[1])) | ((i >= at[2]) & (i < at[3]))
    return ~hidden


Arrays = dict[str, np.ndarray]


def operands(case: Case, n: int) -> list[np.ndarray]:
    """Queries, keys, values, a gradient, and indices; numbers of few bits, which narrow dtypes hold."""
    rng = np.random.default_rng((case.seed, n))
    shapes = [
        (case.batch, n, h, d)
        for h, d in (
            (case.heads, case.dim), (case.key_heads, case.dim), (case.key_heads, case.value_dim),
            (case.heads, case.value_dim),
        )
    ]  # fmt: skip
    drawn = [np.round(np.clip(rng.standard_normal(s), -2, 2) * 16) / 16 for s in shapes]
    return [*drawn, indices_of(case, n)]


def judged(case: Case, n: int) -> Arrays:
    """Results and gradients by the definition."""
    q, k, v, g, columns = operands(case, n)
    scale = case.dim**-0.5 if case.scale is None else case.scale
    return attention(q, k, v, visible(columns, case.causal, n), scale, g)


class Attention(paddle.nn.Layer):
    """The attention of a case, with the indices from where it has them."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case, self.causal = case, case.causal
        if case.source == "outside":
            self.register_buffer("columns", paddle.to_tensor(indices_of(case, case.lengths[0])))

    def forward(self, q: Any, k: Any, v: Any, columns: Any) -> Any:
        case = self.case
        if case.source == "outside":
            columns = self.columns
        elif case.source == "one head's":
            columns = columns.expand([columns.shape[0], case.heads, columns.shape[2], columns.shape[3]])
        elif case.source == "clipped":
            columns = paddle.clip(columns.astype("int64") + 0, 0, q.shape[1]).astype("int32")
        elif case.source == "joined":
            columns = paddle.concat([columns[:, :, :5], columns[:, :, 5:]], 2)
        with paddle.amp.auto_cast(case.precision == "auto_cast", dtype="bfloat16"):
            out, lse = F.flashmask_attention(
                q, k, v, columns, causal=self.causal, dropout=0.0, return_softmax_lse=True, softmax_scale=case.scale
            )  # fmt: skip
        return out, lse[:, :, : q.shape[1]]


def tensors(case: Case, n: int) -> list[Any]:
    dtype = "float32" if case.precision == "auto_cast" else case.precision
    *floats, columns = operands(case, n)
    given = [paddle.to_tensor(x.astype("float32")).astype(dtype) for x in floats]
    return [*given, paddle.to_tensor(columns)]


def gradients(out: Any, inputs: Sequence[Any], g: Any) -> list[Any]:
    loss = (out.astype("float32") * g.astype("float32")).sum()
    return paddle.grad([loss], list(inputs))


def named(out: Any, lse: Any, grads: Sequence[Any] = ()) -> Arrays:
    found = {"out": out, "lse": lse, **dict(zip(("query", "key", "value"), grads, strict=False))}
    return {name: numbers(x).astype("float64") for name, x in found.items()}


Run = Callable[[int], Arrays]


def outside(case: Case, function: Callable[..., Any], backward: bool = True) -> Run:
    """Calls of a function whose gradients come outside."""

    def run(n: int) -> Arrays:
        *qkv, g, columns = tensors(case, n)
        for x in qkv:
            x.stop_gradient = not backward
        out, lse = function(*qkv, columns)
        return named(out, lse, gradients(out, qkv, g) if backward else ())

    return run


def in_steps(case: Case, net: Attention) -> Run:
    @paddle.jit.to_static
    def step(q: Any, k: Any, v: Any, g: Any, columns: Any) -> Any:
        qkv = [x.detach() for x in (q, k, v)]
        for x in qkv:
            x.stop_gradient = False
        out, lse = net(*qkv, columns)
        return out, lse, gradients(out, qkv, g)

    def run(n: int) -> Arrays:
        out, lse, grads = step(*tensors(case, n))
        return named(out, lse, grads)

    return run


def specs(case: Case) -> list[Any]:
    dtype = "float32" if case.precision == "auto_cast" else case.precision
    lengths = None if len(case.lengths) > 1 else case.lengths[0]
    columns = indices_of(case, SHORTEST).shape
    shapes = [
        [case.batch, lengths, case.heads, case.dim], [case.batch, lengths, case.key_heads, case.dim],
        [case.batch, lengths, case.key_heads, case.value_dim],
    ]  # fmt: skip
    mask = paddle.static.InputSpec([columns[0], columns[1], lengths, columns[3]], "int32", "columns")
    return [*(paddle.static.InputSpec(s, dtype, name) for s, name in zip(shapes, "qkv", strict=True)), mask]


def recorded(case: Case, net: Attention) -> Run:
    """One static program with its gradients."""
    program = paddle.static.Program()
    paddle.enable_static()
    try:
        with paddle.static.program_guard(program, paddle.static.Program()):
            *qkv, columns = [paddle.static.data(s.name, s.shape, s.dtype) for s in specs(case)]
            g = paddle.static.data("g", [case.batch, specs(case)[0].shape[1], case.heads, case.value_dim], qkv[0].dtype)
            for x in qkv:
                x.stop_gradient = False
            out, lse = net(*qkv, columns)
            loss = (out.astype("float32") * g.astype("float32")).sum()
            grads = paddle.static.gradients([loss], qkv)
    finally:
        paddle.disable_static()

    def run(n: int) -> Arrays:
        feed = dict(zip(("q", "k", "v", "g", "columns"), tensors(case, n), strict=True))
        out_, lse_, *grads_ = paddle.static.Executor().run(program, feed, [out, lse, *grads], return_numpy=False)
        return named(out_, lse_, grads_)

    return run


def of_file(case: Case, net: Attention, predicted: bool) -> Run:
    """Results of the model that was saved: it is read again, or a predictor has it."""
    net.eval()
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "model")
        paddle.jit.save(net, prefix, input_spec=specs(case))
        if not predicted:
            return outside(case, paddle.jit.load(prefix), backward=False)
        predictor = inference.create_predictor(inference.Config(*files_of(prefix)))

    def run(n: int) -> Arrays:
        given = dict(zip(("q", "k", "v", "g", "columns"), tensors(case, n), strict=True))
        return named(*predictor.run([given[name] for name in predictor.get_input_names()]))

    return run


def way_of(case: Case, way: str) -> Run:
    net = Attention(case)
    if way == "static":
        return recorded(case, net)
    if way in ("saved", "predicted"):
        return of_file(case, net, way == "predicted")
    if way == "step":
        return in_steps(case, net)
    if way == "recomputed":
        return outside(case, lambda *given: recompute(net, *given))
    if way == "eager":
        return outside(case, net)
    return outside(case, paddle.jit.to_static(net.forward, full_graph=way == "one graph"))


def check(case: Case, only: Sequence[str] = WAYS) -> str | None:
    """What is wrong; None if nothing is."""
    wanted = {n: judged(case, n) for n in case.lengths}
    tolerance = TOLERANCE[case.precision]
    try:
        for way in only:
            at, run = way, way_of(case, way)
            for n in (*case.lengths, case.lengths[0]):
                at = f"{way}, {n} tokens"
                for name, x in run(n).items():
                    y = wanted[n][name]
                    seen = np.isfinite(y)
                    scale = max(1.0, float(np.abs(y[seen]).max(initial=0)))
                    if x.shape != y.shape or not np.allclose(x[seen], y[seen], tolerance, tolerance * scale):
                        off = "" if x.shape != y.shape else f", off by {np.abs(x[seen] - y[seen]).max()}"
                        return f"{case}\n{at}: {name} of shape {x.shape} is not that of {y.shape}{off}"
    except Exception as error:
        return f"{case}\n{at}: {type(error).__name__}: {error}"
    return None


if __name__ == "__main__":
    run_seeds(__doc__, WAYS, lambda seed, tally, only: check(draw(seed), only))
