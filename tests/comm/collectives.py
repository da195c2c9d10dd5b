"""Every collective of a group against NumPy, on random data that all ranks draw alike; run as a script: under MPI."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np

from umiak import comm
from umiak.util import flags

DTYPES = [
    *("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"),
    ml_dtypes.bfloat16,
]
REDUCTIONS = ("sum", "avg", "max", "min", "prod")
LARGE = 140_000  # elements: several segments, and beyond what MPI combines by itself


class Draw:
    """Random choices that are the same on all ranks, and what each of them puts in."""

    def __init__(self, seed: int, group: comm.Group) -> None:
        self.rng = np.random.default_rng(seed)
        self.group = group

    def dtype(self) -> np.dtype:
        return np.dtype(DTYPES[self.rng.integers(len(DTYPES))])

    def size(self) -> int:
        return int(self.rng.choice([0, 1, 3, 7, 64, 65, 1000, LARGE], p=[0.14] * 7 + [0.02]))

    def root(self) -> int:
        return int(self.rng.integers(self.group.size))

    def array(self, shape: Any, dtype: np.dtype) -> np.ndarray:
        """Small whole numbers: sums and products of them are exact in every order."""
        return self.rng.integers(0, 3, shape).astype(dtype)

    def inputs(self, shape: Any, dtype: np.dtype) -> list[np.ndarray]:
        """For each rank."""
        return [self.array(shape, dtype) for _ in range(self.group.size)]


def same(got: np.ndarray, want: np.ndarray) -> None:
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, want.dtype, got.shape, want.shape)
    np.testing.assert_array_equal(got.view(np.uint8), want.view(np.uint8))


def reduction(draw: Draw) -> tuple[str, np.dtype]:
    op = str(draw.rng.choice(REDUCTIONS))
    while True:
        dtype = draw.dtype()
        if (op == "avg" and dtype.kind in "biu") or (op in ("sum", "prod") and dtype.kind == "b"):
            continue
        if op in ("max", "min") and dtype.kind == "c":
            continue
        return op, dtype


def combined(op: str, xs: list[np.ndarray]) -> np.ndarray:
    wide = np.stack([x.astype(np.complex128) if x.dtype.kind == "c" else x.astype(np.float64) for x in xs])
    made = {"sum": wide.sum, "avg": wide.mean, "max": wide.max, "min": wide.min, "prod": wide.prod}[op](0)
    if op == "avg":  # a sum is exact; its quotient is rounded once
        total = wide.sum(0).astype(xs[0].dtype)
        count = np.asarray(len(xs), np.float32 if total.dtype.itemsize == 2 else total.real.dtype)
        return (total.astype(np.float32) / count).astype(total.dtype) if total.dtype.itemsize == 2 else total / count
    return made.astype(xs[0].dtype)


Finish = Callable[[], None]


def all_reduce(d: Draw, g: comm.Group) -> tuple[comm.Task, Finish]:
    op, dtype = reduction(d)
    xs = d.inputs(d.size(), dtype)
    x = xs[g.rank].copy()
    out = x if d.rng.integers(2) else np.empty_like(x)
    return g.all_reduce(out, x, op), lambda: same(out, combined(op, xs))


def reduce(d: Draw, g: comm.Group) -> tuple[comm.Task, Finish]:
    op, dtype = reduction(d)
    root, xs = d.root(), d.inputs(d.size(), dtype)
    out = np.full_like(xs[0], 1)
    return (
        g.reduce(out, xs[g.rank], root, op),
        lambda: same(out, combined(op, xs) if g.rank == root else np.full_like(out, 1)),
    )


def reduce_scatter(d: Draw, g: comm.Group) -> tuple[comm.Task, Finish]:
    op, dtype = reduction(d)
    n = d.size()
    xs = d.inputs((g.size, n), dtype)
    out = np.empty(n, dtype)
    return g.reduce_scatter(out, xs[g.rank], op), lambda: same(out, combined(op, xs)[g.rank])


def all_gather(d: Draw, g: comm.Group) -> tuple[comm.Task, Finish]:
    xs = d.inputs((2, d.size()), d.dtype())
    out = np.empty((g.size, *xs[0].shape), xs[0].dtype)
    return g.all_gather(out, xs[g.rank]), lambda: same(out, np.stack(xs))


def gather(d: Draw, g: comm.Group) -> tuple[comm.Task, Finish]:
    root, xs = d.root(), d.inputs(d.size(), d.dtype())
    out = np.empty((g.size, *xs[0].shape), xs[0].dtype) if g.rank == root else None
    return g.gather(out, xs[g.rank], root), lambda: None if out is None else same(out, np.stack(xs))


def scatter(d: Draw, g: comm.Group) -> tuple[comm.Task, Finish]:
    root, whole = d.root(), d.array((g.size, d.size()), d.dtype())
    out = np.empty(whole.shape[1], whole.dtype)
    return g.scatter(out, whole if g.rank == root else None, root), lambda: same(out, whole[g.rank])


def broadcast(d: Draw, g: comm.Group) -> tuple[comm.Task, Finish]:
    root, xs = d.root(), d.inputs(d.size(), d.dtype())
    x = xs[g.rank].copy()
    return g.broadcast(x, root), lambda: same(x, xs[root])


def all_to_all(d: Draw, g: comm.Group) -> tuple[comm.Task, Finish]:
    xs = d.inputs((g.size, d.size()), d.dtype())
    out = np.empty_like(xs[0])
    return g.all_to_all(out, xs[g.rank]), lambda: same(out, np.stack([x[g.rank] for x in xs]))


def all_to_all_sized(d: Draw, g: comm.Group) -> tuple[comm.Task, Finish]:
    rows = d.rng.integers(0, 4, (g.size, g.size))
    dtype = d.dtype()
    width = min(d.size(), 1000)
    xs = [d.array((int(rows[r].sum()), width), dtype) for r in range(g.size)]
    cuts = [np.cumsum(rows[r])[:-1] for r in range(g.size)]
    want = np.concatenate([np.split(xs[r], cuts[r])[g.rank] for r in range(g.size)])
    out = np.empty_like(want)
    sent, received = rows[g.rank].tolist(), rows[:, g.rank].tolist()
    return g.all_to_all_sized(out, xs[g.rank], sent, received), lambda: same(out, want)


def permute(d: Draw, g: comm.Group) -> tuple[comm.Task, Finish]:
    xs = d.inputs(d.size(), d.dtype())
    targets = d.rng.permutation(g.size).tolist()
    pairs = [(a, b) for a, b in enumerate(targets) if d.rng.integers(4)]
    source = {b: a for a, b in pairs}
    out = np.empty_like(xs[0])
    want = xs[source[g.rank]] if g.rank in source else np.zeros_like(xs[0])
    return g.permute(out, xs[g.rank], pairs), lambda: same(out, want)


def ring(d: Draw, g: comm.Group) -> tuple[comm.Task, Finish]:
    """A message to the next rank, perhaps oneself, and one from the rank before."""
    xs, tag = d.inputs(d.size(), d.dtype()), int(d.rng.integers(100))
    out = np.empty_like(xs[0])
    before = (g.rank - 1) % g.size
    come = g.recv(out, before, tag)
    go = g.send(xs[g.rank], (g.rank + 1) % g.size, tag)

    def finish() -> None:
        go.wait()
        same(out, xs[before])

    return come, finish


def barrier(d: Draw, g: comm.Group) -> tuple[comm.Task, Finish]:
    return g.barrier(), lambda: None


OPERATIONS = (
    *(all_reduce, reduce, reduce_scatter, all_gather, gather, scatter, broadcast, all_to_all, all_to_all_sized),
    *(permute, ring, barrier),
)


def objects(d: Draw, g: comm.Group) -> None:
    """Those block, so they are not among the others."""
    things = [
        {"rank": r, "list": list(range(int(d.rng.integers(50)))), "array": d.array(3, d.dtype())} for r in range(g.size)
    ]
    root = d.root()
    assert [t["list"] for t in g.gather_objects(things[g.rank])] == [t["list"] for t in things]
    assert g.broadcast_object(things[g.rank] if g.rank == root else None, root)["rank"] == root
    got = g.scatter_objects(things if g.rank == root else None, root)
    assert got["rank"] == g.rank
    same(got["array"], things[g.rank]["array"])
    if g.size > 1:
        if g.rank == 0:
            g.send_object(things[0], 1)
        elif g.rank == 1:
            assert g.recv_object(0)["list"] == things[0]["list"]


@contextmanager
def checked(on: bool) -> Iterator[None]:
    """With collectives compared first, or without. The flag is the process's: in the simulator set it outside."""
    flags.set_flags({"FLAGS_check_collectives": on})
    try:
        yield
    finally:
        flags.set_flags({"FLAGS_check_collectives": False})


def check(seed: int, rounds: int = 6) -> int:
    """Random operations on the world and on sub-groups, several at once, waited for in an order of each rank's own."""
    world, d = comm.world(), Draw(seed, comm.world())
    mine = np.random.default_rng([seed, world.rank])
    chosen = [int(r) for r in d.rng.permutation(world.size)[: d.rng.integers(1, world.size + 1)]]
    groups = [world, comm.new(chosen)]
    count = 0
    for _ in range(rounds):
        started = []
        for _ in range(d.rng.integers(1, 6)):
            group = groups[d.rng.integers(2)]
            operation = OPERATIONS[d.rng.integers(len(OPERATIONS))]
            seed = int(d.rng.integers(1 << 60))
            if group is not None:
                started.append(operation(Draw(seed, group), group))
        for i in mine.permutation(len(started)):
            task, finish = started[i]
            task.wait()
            finish()
            count += 1
    for group in groups:
        if group is not None:
            objects(Draw(seed + 1, group), group)
    comm.destroy(groups[1]) if groups[1] is not None else None
    return count


def main() -> None:
    for seed in range(int(sys.argv[1])):
        with checked(seed % 3 == 0):
            check(seed)
    print(f"@{comm.world().rank} fine")


if __name__ == "__main__":
    main()
