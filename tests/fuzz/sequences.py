"""Random attention of sequences that several ranks share, against dense attention in float64:
``python -m tests.fuzz.sequences 0 300`` runs the cases of 300 seeds, on virtual ranks.

A seed gives the ranks, the masks (of all families, or any intervals), which chunks lie where, shapes and dtypes, a
model of one layer or two, and whether each rank runs its steps as they are written, captured or recomputed. Each case
makes several steps with other masks of the same form and other chunks of the same number.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import paddle
from paddle.distributed.fleet.utils import recompute
from tests.fuzz.programs import formulas
from tests.fuzz.seeds import run_seeds
from umiak import comm, masks
from umiak.masks import ColumnMask
from umiak.spmd import context_parallel
from umiak.spmd.context_parallel import Assignment, ContextPlan

LIMIT = 300.0  # seconds of a collective, of ranks that share a busy machine
WAYS = ("as written", "captured", "one graph")
FORMS = ("ring", "all_gather")
TOLERANCES = {"float64": 1e-9, "float32": 2e-4, "bfloat16": 6e-2, "float16": 1e-2}
WEIGHTS = ("wq", "wk", "wv", "wo")


@dataclass(frozen=True)
class Case:
    """Steps of one seed. ``tokens`` of a sequence; ``dims`` of a head's keys and values."""

    seed: int
    ranks: int
    tokens: int
    chunks: int  # of a rank
    batch: int
    heads: int
    key_heads: int
    dims: tuple[int, int]
    dtype: str
    form: str
    layers: int
    family: str
    scale: float | None
    backward: str  # inside: of the step; outside
    recomputed: bool
    ways: tuple[str, ...]
    steps: int

    @property
    def width(self) -> int:
        return 6


FAMILIES = (
    "full", "causal", "window", "two-sided window", "causal document", "document", "shared question",
    "global and sliding", "causal blockwise", "prefix", "prefix document", "QK-sparse", "hash-sparse",
    "random eviction", "any causal", "any causal interval", "any", "any two",
)  # fmt: skip


def draw(seed: int) -> Case:
    """The case of a seed."""
    r = random.Random(seed)
    ranks, chunks = r.choice((1, 2, 2, 3, 4, 4)), r.choice((1, 2, 2, 3, 4))
    length = r.choice((1, 2, 3, 5, 8, 40))
    heads = r.choice((1, 2, 4, 6))
    ways = r.choice([("as written",) * ranks, ("captured",) * ranks, ("one graph",) * ranks, None])
    dtype = r.choice(("float32", "float32", "float32", "float64", "bfloat16", "float16"))
    recomputed = r.random() < 0.2
    if recomputed and ways is None:  # a graph keeps what was sent to it, where steps as written ask for it again
        ways = (r.choice(WAYS),) * ranks
    return Case(
        seed,
        ranks,
        ranks * chunks * length,
        chunks,
        r.choice((1, 1, 2, 3)),
        heads,
        r.choice([n for n in (1, 2, 3, 6) if heads % n == 0]),
        r.choice(((4, 4), (8, 8), (8, 5), (3, 7))),
        dtype,
        r.choice(FORMS),
        r.choice((1, 1, 2)) if dtype in ("float32", "float64") else 1,  # rounding of 16 bits grows by layers
        r.choice(FAMILIES),
        r.choice((None, 0.4)),
        r.choice(("inside", "outside")),
        recomputed,
        ways if ways is not None else tuple(r.choices(WAYS, k=ranks)),
        r.choice((1, 3)),
    )


def _lengths(r: np.random.Generator, n: int, count: int) -> list[int]:
    """Lengths of so many documents, or fewer, that are ``n`` together."""
    cuts = sorted({int(c) for c in r.integers(1, n, count - 1)}) if n > 1 else []
    return [b - a for a, b in zip([0, *cuts], [*cuts, n])]


def mask_of(case: Case, step: int) -> ColumnMask:
    """The mask of a step, of the case's family."""
    n, r = case.tokens, np.random.default_rng([case.seed, step])
    parts = _lengths(r, n, 3)
    made: dict[str, Callable[[], ColumnMask]] = {
        "full": lambda: masks.full(n),
        "causal": lambda: masks.causal(n),
        "window": lambda: masks.sliding_window(n, int(r.integers(0, n))),
        "two-sided window": lambda: masks.sliding_window(n, int(r.integers(0, n)), int(r.integers(0, n))),
        "causal document": lambda: masks.causal_document(parts),
        "document": lambda: masks.document(parts),
        "shared question": lambda: masks.share_question([(parts[0], parts[1:])]),
        "global and sliding": lambda: masks.global_sliding(n, int(r.integers(0, n)), *map(int, r.integers(0, n, 2))),
        "causal blockwise": lambda: masks.causal_blockwise(parts),
        "prefix": lambda: masks.prefix(n, int(r.integers(0, n + 1))),
        "prefix document": lambda: masks.prefix_document(parts, [int(r.integers(0, p + 1)) for p in parts]),
        "QK-sparse": lambda: masks.qk_sparse(n, [(parts[0] // 2, parts[0] - parts[0] // 2)]),
        "hash-sparse": lambda: masks.hash_sparse([_lengths(r, n, 3) for _ in range(case.heads)]),
        "random eviction": lambda: masks.random_eviction(
            np.minimum(np.arange(n) + 1 + r.integers(0, n + 1, n), n).tolist()
        ),
    }
    if case.family in made:
        return made[case.family]()
    causal, columns = {"any causal": (True, 1), "any causal interval": (True, 2), "any": (False, 2),
                       "any two": (False, 4)}[case.family]  # fmt: skip
    of_case = np.random.default_rng([case.seed, 0xF0])
    heads = int(of_case.choice([1, case.key_heads, case.heads]))
    shape = int(of_case.choice([1, case.batch])), heads, n, columns
    return ColumnMask(r.integers(-2, n + 3, shape).astype(np.int32), causal, n)


def plan_of(case: Case, step: int) -> ContextPlan:
    """A balanced plan, or chunks anywhere."""
    mask, r = mask_of(case, step), np.random.default_rng([case.seed, step, 1])
    if r.random() < 0.4:
        return context_parallel.plan(mask, case.ranks, chunks=case.chunks)
    chunks = np.sort(r.permutation(case.ranks * case.chunks).reshape(case.ranks, case.chunks), 1)
    return ContextPlan(mask, Assignment(tuple(map(tuple, chunks.tolist())), (1.0,) * case.ranks, 1.0, False))


def arrays_of(case: Case, step: int) -> dict[str, np.ndarray]:
    """The input ``[batch, tokens, width]`` and the weights, as numbers that the dtype has."""
    r = np.random.default_rng([case.seed, step, 2])
    a, b = case.dims
    shapes = {
        "x": (case.batch, case.tokens, case.width),
        "wq": (case.width, case.heads * a),
        "wk": (case.width, case.key_heads * a),
        "wv": (case.width, case.key_heads * b),
        "wo": (case.heads * b, case.width),
    }
    return {k: np.round(r.normal(size=s) * (1.0 if k == "x" else 0.5) * 16) / 16 for k, s in shapes.items()}


def layers(case: Case, x: Any, w: dict[str, Any], attend: Callable[..., Any], tanh: Callable[[Any], Any]) -> Any:
    """The model, of either library."""
    (a, b), shape = case.dims, tuple(x.shape[:2])
    for _ in range(case.layers):
        q = (x @ w["wq"]).reshape([*shape, case.heads, a])
        k = (x @ w["wk"]).reshape([*shape, case.key_heads, a])
        v = (x @ w["wv"]).reshape([*shape, case.key_heads, b])
        x = tanh(x + attend(q, k, v).reshape([*shape, case.heads * b]) @ w["wo"])
    return x


def judged(case: Case, step: int) -> dict[str, np.ndarray]:
    """The result and all gradients of a step, by PyTorch in float64."""
    given = {k: torch.from_numpy(x).requires_grad_() for k, x in arrays_of(case, step).items()}
    mask = mask_of(case, step)
    seen = formulas.seen_in_columns(torch.from_numpy(mask.indices), mask.causal, case.tokens)

    def attend(q: Any, k: Any, v: Any) -> Any:
        return formulas.attend(q, k, v, seen, None, mask.causal, 0.0, case.scale)[0]

    y = layers(case, given["x"], given, attend, torch.tanh)
    ((y * 0.5 + 1.0) * y).sum().backward()
    return {"result": y.detach().numpy(), **{k: x.grad.numpy() for k, x in given.items()}}


def work(case: Case) -> list[dict[str, np.ndarray]]:
    """The same on a rank: its tokens, and its part of the weights' gradients."""
    rank = comm.world().rank

    def forward(x: Any, w: dict[str, Any], plan: Any) -> Any:
        def attend(q: Any, k: Any, v: Any) -> Any:
            return context_parallel.attention(q, k, v, plan, form=case.form, softmax_scale=case.scale)

        def run(x: Any) -> Any:
            return layers(case, x, w, attend, paddle.tanh)

        return recompute(run, x, use_reentrant=False) if case.recomputed else run(x)

    def loss_of(y: Any) -> Any:
        y = y.astype("float64")
        return ((y * 0.5 + 1.0) * y).sum()

    def step(x: Any, w: dict[str, Any], plan: Any) -> Any:
        y = forward(x, w, plan)
        if case.backward == "inside":
            loss_of(y).backward()
        return y

    way, found = case.ways[rank], []
    call = step if way == "as written" else paddle.jit.to_static(step, full_graph=way == "one graph")
    for i in range(case.steps):
        plan = plan_of(case, i)
        arrays = arrays_of(case, i)
        arrays["x"] = plan.part(arrays["x"], rank)
        given = {k: paddle.to_tensor(x).astype(case.dtype).detach() for k, x in arrays.items()}
        for x in given.values():
            x.stop_gradient = False
        y = call(given["x"], {k: given[k] for k in WEIGHTS}, plan.tensors())
        if case.backward == "outside":
            loss_of(y).backward()
        found.append({"result": y, **{k: x.grad for k, x in given.items()}})
    return [{k: x.astype("float64").numpy().copy() for k, x in one.items()} for one in found]


def check(case: Case) -> str | None:
    """What is wrong; None if nothing is."""
    try:
        parts = comm.simulate(work, case.ranks, case, timeout=LIMIT)
    except Exception as error:
        return f"{case}\n{type(error).__name__}: {error}"
    for i in range(case.steps):
        plan, of_ranks = plan_of(case, i), [p[i] for p in parts]
        for name, wanted in judged(case, i).items():
            of_tokens = name in ("x", "result")
            found = plan.join([p[name] for p in of_ranks]) if of_tokens else sum(p[name] for p in of_ranks)
            off = np.abs(found - wanted).max()
            if not off <= TOLERANCES[case.dtype] * max(1.0, np.abs(wanted).max()):
                return f"{case}\nstep {i}: {name} is {off:.3g} off:\n{found}\nand not\n{wanted}"
    return None


if __name__ == "__main__":
    run_seeds(__doc__, (), lambda seed, tally, only: check(draw(seed)))
