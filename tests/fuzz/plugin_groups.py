"""Random operations of groups over a plug-in's own collectives, against NumPy:
``python -m tests.fuzz.plugin_groups 0 300`` runs the programs of 300 seeds on two virtual ranks, ``--only whole`` with
the plug-in that has all functions.

A program starts collectives and messages of the world and of smaller groups, on two streams, of tensors that lie apart,
are parts of others, or have no elements. Each rank waits for what is under way in an order of its own, and gives up
what it has handed in, whose memory others get. The judge knows the elements of all ranks: results, what is written to,
and the elements of whatever memory that is a part of, are compared.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

import paddle
from paddle import distributed
from tests.comm.collectives import combined
from tests.fuzz.seeds import run_seeds
from tests.fuzz.shrink import fewer, reduction
from umiak import comm
from umiak.core.place import Place

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import plugin

RANKS, STREAMS, LIMIT = 2, 2, 300.0
WAYS = {  # what the plug-in lacks, by macros
    "whole": (),
    "no all-to-all": ("NO_ALL_TO_ALL",),
    "no messages": ("NO_ALL_TO_ALL", "NO_MESSAGES"),
    "no collectives": ("NO_COLLECTIVES",),
}
GROUPS = ((0, 1), (0, 1), (1, 0), (0,), (1,))  # the first is the world
REDUCTIONS = {"sum": 0, "max": 1, "min": 2, "prod": 3, "avg": 4}
REDUCED = {  # the plug-in has no float16
    "real": ("int8", "uint8", "int16", "int32", "int64", "bfloat16", "float32", "float64"),
    "continuous": ("bfloat16", "float32", "float64", "complex64", "complex128"),
}
MOVED = ("bool", "float16", "float8_e4m3fn", *REDUCED["real"], "complex64", "complex128")
SHAPES = ((), (0,), (1,), (3,), (2, 0), (0, 3), (2, 3), (3, 2, 2), (5,), (700, 3))
LAYOUTS = ("plain", "computed", "offset", "strided", "transposed")
# How often each kind is drawn.
KINDS = {
    "all_reduce": 6,
    "reduce": 3,
    "reduce_scatter": 4,
    "broadcast": 3,
    "all_gather": 4,
    "gather": 2,
    "scatter": 2,
    "alltoall": 4,
    "alltoall_single": 4,
    "messages": 3,
    "batch": 4,
    "barrier": 1,
    "settle": 5,
}


class Statement(NamedTuple):
    """``kind`` names a method of :class:`Run`; ``number`` is what it draws from, on all ranks alike."""

    kind: str
    group: int
    stream: int
    sync: bool
    number: int

    def __str__(self) -> str:
        how = "" if self.sync else ", sync_op=False"
        return f"{self.kind}(group={list(GROUPS[self.group])}{how}) #{self.number}  # stream {self.stream}"


def generate(seed: int) -> list[Statement]:
    """The statements of a seed."""
    r = random.Random(f"plug-in groups {seed}")
    kinds, weights, several, stream = list(KINDS), list(KINDS.values()), r.random() < 0.5, 0
    program = []
    for kind in r.choices(kinds, weights, k=r.randint(4, 24)):
        # Connections of several groups may wait for each other on several streams, as the ranks' threads move them on.
        if several or kind == "settle":
            stream = r.randrange(STREAMS)
        group = 0 if several else r.choices(range(len(GROUPS)), (4, 2, 3, 1, 1))[0]
        program.append(Statement(kind, group, stream, r.random() < 0.35, r.randrange(1 << 30)))
    return program


class Different(Exception):
    """Elements are not as NumPy has them."""


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


class Operand:
    """A tensor of a rank's device, whose elements are a part of ``whole``."""

    def __init__(self, array: np.ndarray, layout: str, place: Place) -> None:
        whole, part = laid_out(array, layout)
        self.whole = paddle.to_tensor(whole.copy(), place=place.name)
        if layout == "computed":
            self.whole = paddle.concat([self.whole, self.whole])[: len(whole)] if whole.ndim else self.whole.clone()
        self.expected, self.part = whole.copy(), part
        self.tensor = part(self.whole)

    def becomes(self, array: np.ndarray) -> None:
        self.part(self.expected)[...] = array

    def check(self, name: str) -> None:
        found = self.whole.numpy()
        if found.dtype != self.expected.dtype or found.shape != self.expected.shape:
            raise Different(f"{name}: {found.dtype}{found.shape}, not {self.expected.dtype}{self.expected.shape}")
        if found.tobytes() != self.expected.tobytes():
            raise Different(f"{name} is\n{found!r}\nand not\n{self.expected!r}")


def laid_out(array: np.ndarray, layout: str) -> tuple[np.ndarray, Callable[[Any], Any]]:
    """Memory that holds the elements of an array, and the view of it that they are."""
    if array.ndim and layout in ("offset", "strided"):
        part = slice(2, None) if layout == "offset" else slice(1, None, 2)
        size = len(array) + 2 if layout == "offset" else 2 * len(array) + 1
        whole = np.ones((size, *array.shape[1:]), array.dtype)
        whole[part] = array
        return whole, lambda x: x[part]
    if array.ndim > 1 and layout == "transposed":
        axes = list(range(array.ndim))[::-1]
        return np.ascontiguousarray(array.transpose(axes)), lambda x: x.transpose(axes)
    return array.copy(), lambda x: x[...] if isinstance(x, np.ndarray) else x


class Run:
    """A program on one rank. What is under way is a task and what is to be so when that is complete."""

    def __init__(self, place: Place, rank: int, seed: int) -> None:
        self.place, self.rank, self.own = place, rank, random.Random(f"order {seed} {rank}")
        self.groups = [distributed.new_group(list(g)) if i else None for i, g in enumerate(GROUPS)]
        self.streams = [paddle.device.current_stream(place.name)]
        self.streams += [paddle.device.Stream(place.name) for _ in range(STREAMS - 1)]
        self.under_way: list[tuple[str, Any, list[Operand]]] = []
        self.tally: Counter[str] = Counter()

    def do(self, s: Statement) -> None:
        members = GROUPS[s.group]
        with paddle.device.stream_guard(self.streams[s.stream]):
            r = random.Random(s.number)
            if s.kind == "settle":
                self.settle()
            if s.kind == "settle" or self.rank not in members:
                return
            self.tally[s.kind] += 1
            for name, task, operands in getattr(self, s.kind)(s, r, members, self.groups[s.group]):
                if s.sync or task is None:
                    self.check(name, operands)
                else:
                    self.under_way.append((name, task, operands))
            # What was handed in is given up by now: its memory may be that of others.
            paddle.full([r.randrange(1, 300)], 99.0)

    def settle(self) -> None:
        self.own.shuffle(self.under_way)
        while self.under_way:
            name, task, operands = self.under_way.pop()
            while self.own.random() < 0.2 and not task.is_completed():
                pass
            task.wait()
            self.check(name, operands)

    def check(self, name: str, operands: Sequence[Operand]) -> None:
        for x in operands:
            x.check(f"{name} on rank {self.rank}")

    def end(self) -> None:
        self.settle()
        for group in self.groups[1:]:
            if group is not None and group.rank >= 0:
                distributed.destroy_process_group(group)

    # --- what is drawn

    def operand(self, r: random.Random, array: np.ndarray) -> Operand:
        return Operand(array, r.choice(LAYOUTS), self.place)

    def of_all(self, r: random.Random, dtype: str, shapes: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """An array for each member of a group; small whole numbers, which every order of sums keeps exact."""
        rng = np.random.default_rng(r.randrange(1 << 30))
        return [rng.integers(0, 3, shape).astype(dtype_of(dtype)) for shape in shapes]

    def equal(self, r: random.Random, dtype: str, members: Sequence[int], shape: Sequence[int]) -> list[np.ndarray]:
        return self.of_all(r, dtype, [shape] * len(members))

    def reduction(self, r: random.Random) -> tuple[str, str]:
        op = r.choice(list(REDUCTIONS))
        dtypes = REDUCED["continuous"] if op == "avg" else REDUCED["real"]
        if op in ("sum", "prod"):
            dtypes += ("complex64", "complex128")
        elif op != "avg":
            dtypes += ("bool",)
        return op, r.choice(dtypes)

    # --- operations of a member: (description, task, what is to be compared)

    def all_reduce(self, s: Statement, r: random.Random, members: Sequence[int], group: Any) -> Iterator[Any]:
        op, dtype = self.reduction(r)
        xs = self.equal(r, dtype, members, r.choice(SHAPES))
        x = self.inplace(r, xs[members.index(self.rank)], combined(op, xs))
        yield f"{s}: {op}", distributed.all_reduce(x.tensor, REDUCTIONS[op], group, s.sync), [x]

    def inplace(self, r: random.Random, before: np.ndarray, after: np.ndarray) -> Operand:
        x = self.operand(r, before)
        x.becomes(after)
        return x

    def reduce(self, s: Statement, r: random.Random, members: Sequence[int], group: Any) -> Iterator[Any]:
        op, dtype = self.reduction(r)
        xs, root = self.equal(r, dtype, members, r.choice(SHAPES)), r.choice(members)
        mine = xs[members.index(self.rank)]
        x = self.inplace(r, mine, combined(op, xs) if self.rank == root else mine)
        yield f"{s}: {op} to {root}", distributed.reduce(x.tensor, root, REDUCTIONS[op], group, s.sync), [x]

    def broadcast(self, s: Statement, r: random.Random, members: Sequence[int], group: Any) -> Iterator[Any]:
        xs, root = self.equal(r, r.choice(MOVED), members, r.choice(SHAPES)), r.choice(members)
        x = self.inplace(r, xs[members.index(self.rank)], xs[members.index(root)])
        yield f"{s}: from {root}", distributed.broadcast(x.tensor, root, group, s.sync), [x]

    def out(self, r: random.Random, after: np.ndarray) -> Operand:
        return self.inplace(r, np.ones_like(after), after)

    def reduce_scatter(self, s: Statement, r: random.Random, members: Sequence[int], group: Any) -> Iterator[Any]:
        op, dtype = self.reduction(r)
        shape, joins = r.choice(SHAPES), r.random() < 0.5
        xs, me = self.equal(r, dtype, members, (len(members), *shape)), members.index(self.rank)
        out = self.out(r, combined(op, xs)[me])
        if joins and shape:
            given = self.operand(r, xs[me].reshape(len(members) * shape[0], *shape[1:]))
            operands, args = [given], given.tensor
        else:
            operands = [self.operand(r, a) for a in xs[me]]
            args = [x.tensor for x in operands]
        task = distributed.reduce_scatter(out.tensor, args, REDUCTIONS[op], group, s.sync)
        del operands
        yield f"{s}: {op} {dtype}", task, [out]

    def all_gather(self, s: Statement, r: random.Random, members: Sequence[int], group: Any) -> Iterator[Any]:
        xs, way = self.equal(r, r.choice(MOVED), members, r.choice(SHAPES)), r.randrange(3)
        x = self.operand(r, xs[members.index(self.rank)])
        if way == 0:
            outs = [self.out(r, a) for a in xs]
            found: Any = [y.tensor for y in outs]
        elif way == 1:
            outs = [self.out(r, np.stack(xs) if not xs[0].ndim else np.concatenate(xs))]
            found = outs[0].tensor
        else:
            outs, found = [], []
        task = distributed.all_gather(found, x.tensor, group, s.sync)
        if way == 2:
            outs = [Whole(y, a) for y, a in zip(found, xs, strict=True)]
        yield f"{s}: {xs[0].dtype}{xs[0].shape}, way {way}", task, [x, *outs]

    def gather(self, s: Statement, r: random.Random, members: Sequence[int], group: Any) -> Iterator[Any]:
        xs, root = self.equal(r, r.choice(MOVED), members, r.choice(SHAPES)), r.choice(members)
        outs = [self.out(r, a) for a in xs] if self.rank == root else []
        found = [y.tensor for y in outs] if self.rank == root else None
        x = self.operand(r, xs[members.index(self.rank)])
        yield f"{s}: to {root}", distributed.gather(x.tensor, found, root, group, s.sync), outs

    def scatter(self, s: Statement, r: random.Random, members: Sequence[int], group: Any) -> Iterator[Any]:
        xs, root = self.equal(r, r.choice(MOVED), members, r.choice(SHAPES)), r.choice(members)
        out = self.out(r, xs[members.index(self.rank)])
        given = [self.operand(r, a) for a in xs]
        task = distributed.scatter(
            out.tensor, [x.tensor for x in given] if self.rank == root else None, root, group, s.sync
        )
        del given
        yield f"{s}: from {root}", task, [out]

    def rows(self, r: random.Random, members: Sequence[int]) -> list[list[int]]:
        """How many rows go from each member to each."""
        return [[r.randrange(4) for _ in members] for _ in members]

    def alltoall(self, s: Statement, r: random.Random, members: Sequence[int], group: Any) -> Iterator[Any]:
        rows, me, dtype, rest = (
            self.rows(r, members),
            members.index(self.rank),
            r.choice(MOVED),
            r.choice(((), (2,), (0,))),
        )
        xs = [self.of_all(r, dtype, [(n, *rest) for n in row]) for row in rows]
        given = [self.operand(r, a) for a in xs[me]]
        outs = [self.out(r, row[me]) for row in xs]
        task = distributed.alltoall([y.tensor for y in outs], [x.tensor for x in given], group, s.sync)
        del given
        yield f"{s}: {rows}", task, outs

    def alltoall_single(self, s: Statement, r: random.Random, members: Sequence[int], group: Any) -> Iterator[Any]:
        me, dtype, rest, even = members.index(self.rank), r.choice(MOVED), r.choice(((), (2,), (0,))), r.random() < 0.4
        each = r.randrange(4)
        rows = [[each] * len(members)] * len(members) if even else self.rows(r, members)
        xs = [self.of_all(r, dtype, [(n, *rest) for n in row]) for row in rows]
        x = self.operand(r, np.concatenate(xs[me]))
        out = self.out(r, np.concatenate([row[me] for row in xs]))
        sizes = (None, None) if even else (rows[me], [row[me] for row in rows])
        task = distributed.alltoall_single(out.tensor, x.tensor, *sizes, group, s.sync)
        yield f"{s}: {rows}", task, [x, out]

    def messages(self, s: Statement, r: random.Random, members: Sequence[int], group: Any) -> Iterator[Any]:
        """To the next member, perhaps oneself, and from the one before."""
        xs, me = self.equal(r, r.choice(MOVED), members, r.choice(SHAPES)), members.index(self.rank)
        size = len(members)
        x, out = self.operand(r, xs[me]), self.out(r, xs[me - 1])
        to, of = members[(me + 1) % size], members[me - 1]
        started = [distributed.isend(x.tensor, to, group), distributed.irecv(out.tensor, of, group)]
        if s.sync:
            All(started).wait()
        yield f"{s}: to {to}", started[0], [x]
        yield f"{s}: from {of}", started[1], [out]

    def batch(self, s: Statement, r: random.Random, members: Sequence[int], group: Any) -> Iterator[Any]:
        """Messages that start together, between two members, of several sizes and dtypes."""
        size, me, ops, outs = len(members), members.index(self.rank), [], []
        for _ in range(r.randint(1, 4)):
            xs = self.equal(r, r.choice(MOVED), members, r.choice(SHAPES))
            if not xs[0].size and r.random() < 0.5:
                xs = self.equal(r, "float32", members, (3,))
            x, out = self.operand(r, xs[me]), self.out(r, xs[me - 1])
            outs.append(out)
            pair = [
                distributed.P2POp(distributed.isend, x.tensor, members[(me + 1) % size], group),
                distributed.P2POp(distributed.irecv, out.tensor, members[me - 1], group),
            ]
            ops += pair[:: r.choice((1, -1))]
        tasks = distributed.batch_isend_irecv(ops)
        if s.sync:
            All(tasks).wait()
        yield f"{s}: {len(ops)} messages", All(tasks), outs

    def barrier(self, s: Statement, r: random.Random, members: Sequence[int], group: Any) -> Iterator[Any]:
        distributed.barrier(group)
        yield str(s), None, []


class Whole:
    """A tensor that an operation has made."""

    def __init__(self, tensor: Any, expected: np.ndarray) -> None:
        self.tensor, self.expected = tensor, expected

    def check(self, name: str) -> None:
        found = self.tensor.numpy()
        if found.dtype != self.expected.dtype or found.shape != self.expected.shape:
            raise Different(f"{name} has made {found.dtype}{found.shape}")
        if found.tobytes() != self.expected.tobytes():
            raise Different(f"{name} has made\n{found!r}\nand not\n{self.expected!r}")


class All(NamedTuple):
    """Several tasks as one."""

    tasks: Sequence[Any]

    def is_completed(self) -> bool:
        return all(task.is_completed() for task in self.tasks)

    def wait(self) -> None:
        for task in self.tasks:
            task.wait()


def run_rank(program: Sequence[Statement], seed: int, place: Place, rank: int) -> Counter[str]:
    """This rank's part of a program."""
    former = paddle.get_device()
    paddle.set_device(place.name)
    try:
        run = Run(place, rank, seed)
        for statement in program:
            run.do(statement)
        run.end()
        return run.tally
    finally:
        paddle.set_device(former)


LOADED: dict[str, plugin.Loop] = {}


@contextmanager
def entered() -> Iterator[None]:
    """The plug-ins of all ways, once in a process: a type of devices has one backend."""
    with ExitStack() as stack:
        for i, (way, macros) in enumerate(WAYS.items()):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            LOADED[way] = stack.enter_context(plugin.loaded(folder, f"xccl{i}", macros))
        try:
            yield
        finally:
            LOADED.clear()


def outcome(program: Sequence[Statement], seed: int, way: str, tally: Counter[str]) -> str | None:
    """What is wrong with a program on two ranks; None if nothing is."""
    loop = LOADED[way]

    def work() -> Counter[str]:
        rank = comm.world().rank
        return run_rank(program, seed, loop.places[rank], rank)

    try:
        for found in comm.simulate(work, RANKS, timeout=LIMIT):
            tally.update(found)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "memory was given back that is none" if loop.counts().wrong_frees else None


def shown(program: Sequence[Statement], seed: int, way: str, wrong: str) -> str:
    return "\n".join([f"seed {seed}, {way}:", *map(str, program), wrong])


def check(
    seed: int,
    tally: Counter[str] | None = None,
    only: Sequence[str] = tuple(WAYS),
    program: Sequence[Statement] | None = None,
) -> str | None:
    """What is wrong with the program of a seed; None if nothing is."""
    tally = Counter() if tally is None else tally
    program = generate(seed) if program is None else program
    for way in only:
        wrong = outcome(program, seed, way, tally)
        tally[way] += 1
        if wrong is not None:
            return shown(program, seed, way, wrong)
    return None


# Whatever is wrong: one mistake shows in many statements.
reduced = reduction(generate, check, fewer, lambda text: text.partition("\n")[0])


if __name__ == "__main__":
    with entered():
        run_seeds(__doc__, tuple(WAYS), check, reduced)
