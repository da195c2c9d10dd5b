"""Random programs on several streams of a device, against NumPy:
``python -m tests.fuzz.streams 0 300`` runs those of 300 seeds, ``--only cuda`` on one kind of device.

A program makes tensors, computes, also in mixed precision, takes views, writes in place, calls captured functions,
differentiates, also what is recomputed, copies, drops tensors and reads them, each on a stream of its own choice, some
in threads of their own. What a user owes is done: a stream that reads or writes a tensor waits for what has written it,
and one that writes for what has read it, by a stream, an event or the host. The rest is up to the library: what the
host reads is read when it is there, memory that is dropped is not given to others while somebody uses it, a backward
run comes after its forward one, calls of one captured function do not disturb each other.

Statements are data without the waits; these are made as the program runs, from what each stream knows. So a program
stays legal whatever is left out of it.
"""

from __future__ import annotations

import random
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import paddle
from paddle.distributed.fleet.utils import recompute
from tests.fuzz.seeds import run_seeds
from tests.fuzz.shrink import fewer, reduction
from umiak import backends, memory
from umiak.core import stream as core_stream
from umiak.core.place import Place

ROOT = Path(__file__).parents[2]
for folder in ("tests/support", "tests/backends/cuda", "tests/compiler", "plugins/opencl"):
    sys.path.insert(0, str(ROOT / folder))

WAYS = ("fake", "cuda", "opencl")
PLACES = {"fake": "fake:0", "cuda": "gpu:0", "opencl": "opencl:0"}
STREAMS = 4
SHAPE = (4, 6)
Point = tuple[int, int]  # a stream, and how many statements it had got


class Statement(NamedTuple):
    """``kind`` names a method of :class:`Run`, ``names`` its operands; ``number`` is what it draws from."""

    kind: str
    stream: int
    names: tuple[str, ...]
    target: str
    number: int
    thread: bool

    def __str__(self) -> str:
        where = f"stream {self.stream}{', in a thread' if self.thread else ''}"
        made = f"{self.target} = " if self.target else ""
        return f"{made}{self.kind}({', '.join(self.names)}) #{self.number}  # {where}"


# How often each kind is drawn, how many operands it has, whether it makes a tensor.
KINDS: dict[str, tuple[int, int, bool]] = {
    "new": (4, 0, True),
    "compute": (12, 2, True),
    "product": (2, 2, True),
    "view": (4, 1, True),
    "write": (7, 2, False),
    "write_part": (4, 2, False),
    "read": (5, 1, False),
    "read_view": (3, 1, False),
    "read_number": (2, 1, False),
    "drop": (9, 1, False),
    "captured": (5, 2, True),
    "train": (4, 2, False),
    "gradient": (2, 2, True),
    "mixed": (3, 1, True),
    "train_mixed": (3, 1, False),
    "recompute": (3, 1, False),
    "offload": (2, 1, False),
    "reload": (1, 0, True),
    "pinned": (2, 0, True),
    "there_and_back": (1, 1, True),
    "exported": (2, 1, True),
    "move_memory": (2, 1, False),
    "empty_cache": (1, 0, False),
    "synchronize": (1, 0, False),
}


def generate(seed: int) -> list[Statement]:
    """The statements of a seed."""
    r = random.Random(f"streams {seed}")
    kinds, weights = list(KINDS), [w for w, _, _ in KINDS.values()]
    live, made = [], 0  # type: ignore[var-annotated]
    program = []
    for _ in range(r.randint(12, 60)):
        kind = r.choices(kinds, weights)[0]
        _, count, makes = KINDS[kind]
        if not live or (kind == "drop" and len(live) < 3):
            kind, count, makes = "new", 0, True
        names = tuple(r.choice(live[-8:]) for _ in range(count))
        target = f"t{made}" if makes else ""
        program.append(Statement(kind, r.randrange(STREAMS), names, target, r.randrange(1 << 30), r.random() < 0.08))
        if makes:
            live.append(target)
            made += 1
        elif kind == "drop":
            live.remove(names[0])
    return program


class Data:
    """Memory as streams know it: who wrote it last, and who has read it since."""

    def __init__(self) -> None:
        self.written: Point | None = None
        self.read: dict[int, int] = {}
        self.tasks: list[Any] = []  # copies to the host that were not waited for


class Value(NamedTuple):
    tensor: Any
    array: np.ndarray  # over the memory of other values where the tensor is
    data: Data


class Different(Exception):
    """A value is not as NumPy has it."""


def scalar(array: np.ndarray) -> float:
    return float(array.sum(dtype=np.float64))


class Run:
    """A program on a device. ``knows[s]``: of each stream, how many statements stream ``s`` comes after; the last row
    is what the host has waited for."""

    def __init__(self, place: Place, seed: int) -> None:
        self.place, self.r = place, random.Random(f"waits {seed}")
        self.devices = backends.get(place).device_count()
        self.streams = [paddle.device.current_stream(place.name)]
        self.streams += [paddle.device.Stream(place.name) for _ in range(STREAMS - 1)]
        self.count = [0] * STREAMS
        self.knows = [[0] * STREAMS for _ in range(STREAMS + 1)]
        self.values: dict[str, Value] = {}
        self.weights: list[Value] = []
        self.gradients: list[np.ndarray | None] = []
        self.copies: list[tuple[Any, Any, np.ndarray]] = []  # on the host: tensor, task, what it is to be
        self.loader = paddle.incubate.tensor.manipulation.create_async_load()
        self.tally: Counter[str] = Counter()
        self.function: Any = paddle.jit.to_static(captured)
        self.mixed_function: Any = paddle.jit.to_static(mixed)
        self.recomputed_function: Any = paddle.jit.to_static(recomputed)

    # --- order

    def learn(self, who: int, other: int) -> None:
        self.knows[who] = [max(a, b) for a, b in zip(self.knows[who], self.knows[other], strict=True)]

    def come_after(self, s: int, point: Point | None) -> None:
        """Have a stream come after a statement, as a user may do it."""
        if point is None:
            return
        q, n = point
        self.learn(s, STREAMS)
        if q == s or self.knows[s][q] >= n:
            return
        how = self.r.randrange(5)
        if how == 0:
            self.streams[q].synchronize()
            self.learn(STREAMS, q)
        elif how == 1:
            paddle.device.synchronize(self.place.name)
            for other in range(STREAMS):
                self.learn(STREAMS, other)
        elif how == 2:
            self.streams[s].wait_event(self.streams[q].record_event())
            self.learn(s, q)
        else:
            self.streams[s].wait_stream(self.streams[q])
            self.learn(s, q)
        self.learn(s, STREAMS)

    def reads(self, s: int, *values: Value) -> None:
        for v in values:
            self.come_after(s, v.data.written)
        self.step(s)
        for v in values:
            v.data.read[s] = self.count[s]

    def step(self, s: int) -> None:
        self.learn(s, STREAMS)
        self.count[s] += 1
        self.knows[s][s] = self.count[s]

    def writes(self, s: int, v: Value) -> None:
        """Before a write that is handed in next."""
        for task in v.data.tasks:
            task.cpu_wait()
        v.data.tasks.clear()
        self.come_after(s, v.data.written)
        for q, n in v.data.read.items():
            self.come_after(s, (q, n))

    def wrote(self, s: int, v: Value) -> None:
        v.data.written, v.data.read = (s, self.count[s]), {}

    def keep(self, s: int, name: str, tensor: Any, array: np.ndarray, data: Data | None = None) -> None:
        if data is None:
            data = Data()
            data.written = (s, self.count[s])
        self.values[name] = Value(tensor, array, data)

    # --- statements

    def do(self, statement: Statement) -> None:
        """Run a statement whose operands are there."""
        if any(n not in self.values for n in statement.names):
            return
        self.tally[statement.kind] += 1

        def run() -> None:
            paddle.set_device(self.place.name)
            with paddle.device.stream_guard(self.streams[statement.stream]):
                r = random.Random(statement.number)
                operands = [self.values[n] for n in statement.names]
                getattr(self, statement.kind)(statement.stream, statement, r, *operands)

        if statement.thread:
            in_thread(run)
        else:
            run()

    def new(self, s: int, x: Statement, r: random.Random) -> None:
        array = drawn(r)
        given = array.copy()
        tensor = paddle.to_tensor(given)
        given[...] = 1e6  # it has been read
        self.step(s)
        self.keep(s, x.target, tensor, array)

    def compute(self, s: int, x: Statement, r: random.Random, a: Value, b: Value) -> None:
        self.reads(s, a, b)
        y, z = matching(a, b)
        how = r.randrange(4)
        if how == 0:
            self.keep(s, x.target, y.tensor * 0.5 - z.tensor * 0.25, y.array * 0.5 - z.array * 0.25)
        elif how == 1:
            self.keep(s, x.target, paddle.maximum(y.tensor, z.tensor), np.maximum(y.array, z.array))
        elif how == 2:
            made = z.tensor.sum() * 0.01 + y.tensor
            self.keep(s, x.target, made, np.float32(z.array.sum() * 0.01) + y.array)
        else:
            self.keep(s, x.target, (y.tensor + z.tensor) * 0.5, (y.array + z.array) * 0.5)

    def product(self, s: int, x: Statement, r: random.Random, a: Value, b: Value) -> None:
        if a.array.ndim != 2:
            a = b
        if a.array.ndim != 2:
            return
        self.reads(s, a)
        self.keep(s, x.target, (a.tensor @ a.tensor.T) * 0.1, (a.array @ a.array.T) * np.float32(0.1))

    def view(self, s: int, x: Statement, r: random.Random, a: Value) -> None:
        how = r.randrange(4)
        if a.array.ndim == 2 and how == 0:
            self.keep(s, x.target, a.tensor.T, a.array.T, a.data)
        elif how == 1 and a.array.shape[0] > 1:
            self.keep(s, x.target, a.tensor[::2], a.array[::2], a.data)
        elif how == 2 and a.array.shape[0] > 1:
            self.keep(s, x.target, a.tensor[1:], a.array[1:], a.data)
        else:
            self.keep(s, x.target, a.tensor[:], a.array[:], a.data)

    def write(self, s: int, x: Statement, r: random.Random, a: Value, b: Value) -> None:
        self.writes(s, a)
        self.reads(s, b)
        y, z = matching(a, b)
        how = r.randrange(4)
        if y is not a:
            how = 3
        if how == 0:
            a.tensor.add_(z.tensor).scale_(0.5)
            a.array[...] = (a.array + z.array) * np.float32(0.5)
        elif how == 1:
            paddle.assign(z.tensor, a.tensor)
            a.array[...] = z.array.copy()
        elif how == 2:
            a.tensor[...] = z.tensor
            a.array[...] = z.array.copy()
        else:
            a.tensor.scale_(-0.5)
            a.array[...] *= np.float32(-0.5)
        self.wrote(s, a)

    def write_part(self, s: int, x: Statement, r: random.Random, a: Value, b: Value) -> None:
        self.writes(s, a)
        self.reads(s, b)
        at = r.randrange(a.array.shape[0])
        if r.random() < 0.5:
            a.tensor[at] = 0.25
            a.array[at] = 0.25
        else:
            a.tensor[at] = b.tensor.sum() * 0.01
            a.array[at] = np.float32(b.array.sum() * 0.01)
        self.wrote(s, a)

    def read(self, s: int, x: Statement, r: random.Random, a: Value) -> None:
        """Nothing is waited for: the host knows who uses what it reads."""
        how = r.randrange(4)
        found = a.tensor.numpy() if how < 2 else np.array(a.tensor.tolist()) if how == 2 else a.tensor.cpu().numpy()
        same(x, found, a.array)
        self.host_has(a)

    def host_has(self, a: Value) -> None:
        if a.data.written is not None:
            q, n = a.data.written
            self.knows[STREAMS][q] = max(self.knows[STREAMS][q], n)

    def read_view(self, s: int, x: Statement, r: random.Random, a: Value) -> None:
        if r.random() < 0.5 and a.array.ndim == 2:
            same(x, a.tensor.T.numpy(), a.array.T)
        else:
            same(x, np.asarray(a.tensor[::2]), a.array[::2])

    def read_number(self, s: int, x: Statement, r: random.Random, a: Value) -> None:
        """The sum is computed on the stream, so this waits like any computation."""
        if r.random() < 0.5:
            at = tuple(0 for _ in a.array.shape)
            same(x, np.float32(a.tensor[at].item()), a.array[at])
            return
        self.reads(s, a)
        same(x, np.float32(float(a.tensor.sum())), np.float32(scalar(a.array)))
        if bool(a.tensor.max() > 0.0) != bool(a.array.max() > 0):
            raise Different(f"{x}: the sign of the largest element is another one")

    def drop(self, s: int, x: Statement, r: random.Random, a: Value) -> None:
        del self.values[x.names[0]]

    def captured(self, s: int, x: Statement, r: random.Random, a: Value, b: Value) -> None:
        if (
            a.array.shape != SHAPE
            or b.array.shape != SHAPE
            or not (a.tensor.is_contiguous() and b.tensor.is_contiguous())
        ):
            return
        self.reads(s, a, b)
        self.keep(s, x.target, self.function(a.tensor, b.tensor), captured_array(a.array, b.array))

    def train(self, s: int, x: Statement, r: random.Random, a: Value, b: Value) -> None:
        """Forward on some streams, backward on this one, and perhaps a step."""
        if not self.weights:
            self.begin_training(s, r)
        i = r.randrange(len(self.weights))
        w = self.weights[i]
        if r.random() < 0.25 and self.gradients[i] is not None:
            self.update(s, i)
            return
        root, slope = self.loss(r, w, a)
        self.backward(s, x, r, i, root, slope, a)

    def backward(self, s: int, x: Statement, r: random.Random, i: int, root: Any, slope: np.ndarray, a: Value) -> None:
        """Add the slope of a loss to the gradient of a weight, and perhaps read the sum."""
        w = self.weights[i]
        root.backward()
        self.after_backward(s, w, a)
        before = self.gradients[i]
        self.gradients[i] = slope if before is None else before + slope
        if r.random() < 0.4:
            where = self.streams[r.randrange(STREAMS)]
            with paddle.device.stream_guard(where):
                same(x, w.tensor.grad.numpy(), self.gradients[i])

    def mixed(self, s: int, x: Statement, r: random.Random, a: Value) -> None:
        """A product in 16 bits, of few numbers, so that these hold it."""
        if a.array.ndim != 2 or a.array.shape[1] > SHAPE[1]:
            return
        self.reads(s, a)
        how = r.randrange(3)
        dtype = r.choice(("bfloat16", "float16"))
        if how == 0 and a.array.shape == SHAPE and a.tensor.is_contiguous():
            made = self.mixed_function(a.tensor, dtype)
        else:
            made = mixed(a.tensor, dtype)
        rounded = few_of(np, a.array)
        self.keep(s, x.target, made, (rounded @ rounded.T) * np.float32(0.1))

    def train_mixed(self, s: int, x: Statement, r: random.Random, a: Value) -> None:
        """Forward in 16 bits on one stream, backward on this one."""
        if a.array.shape != SHAPE:
            return
        if not self.weights:
            self.begin_training(s, r)
        i, first = r.randrange(len(self.weights)), r.randrange(STREAMS)
        w, dtype = self.weights[i], r.choice(("bfloat16", "float16"))
        self.reads(first, w, a)
        with paddle.device.stream_guard(self.streams[first]):
            few = few_of(paddle, a.tensor)
            with paddle.amp.auto_cast(dtype=dtype):
                product = w.tensor @ few.T
            root = product.astype("float32").sum()
        slope = np.broadcast_to(few_of(np, a.array).sum(0), SHAPE).copy()
        self.backward(s, x, r, i, root, slope, a)

    def recompute(self, s: int, x: Statement, r: random.Random, a: Value) -> None:
        """Forward on one stream; backward, and the forward run once more, on this one."""
        if a.array.shape != SHAPE:
            return
        if not self.weights:
            self.begin_training(s, r)
        i, first, last = r.randrange(len(self.weights)), r.randrange(STREAMS), r.randrange(STREAMS)
        w, how = self.weights[i], r.randrange(3)
        self.reads(first, w, a)
        with paddle.device.stream_guard(self.streams[first]):
            if how == 0 and a.tensor.is_contiguous():
                y = self.recomputed_function(w.tensor, a.tensor)
            else:
                y = recomputed(w.tensor, a.tensor, how == 1)
        self.come_after(last, (first, self.count[first]))
        self.step(last)
        with paddle.device.stream_guard(self.streams[last]):
            root = y.sum() * 0.5
        self.backward(s, x, r, i, root, np.float32(0.5) * (2 * w.array * a.array + a.array), a)

    def gradient(self, s: int, x: Statement, r: random.Random, a: Value, b: Value) -> None:
        if not self.weights:
            self.begin_training(s, r)
        w = self.weights[0]
        root, slope = self.loss(r, w, a)
        (found,) = paddle.grad([root], [w.tensor])
        self.after_backward(s, w, a)
        self.keep(s, x.target, found.detach(), slope)

    def begin_training(self, s: int, r: random.Random) -> None:
        for _ in range(2):
            array = drawn(r)
            tensor = paddle.to_tensor(array.copy(), stop_gradient=False)
            self.step(s)
            data = Data()
            data.written = (s, self.count[s])
            self.weights.append(Value(tensor, array, data))
            self.gradients.append(None)

    def loss(self, r: random.Random, w: Value, a: Value) -> tuple[Any, np.ndarray]:
        """A sum of products, computed on up to three streams; and its slope by ``w``."""
        first, second, last = (r.randrange(STREAMS) for _ in range(3))
        shift = a.array.shape == SHAPE
        self.reads(first, w, *([a] if shift else []))
        with paddle.device.stream_guard(self.streams[first]):
            h = w.tensor * (a.tensor if shift else 2.0)
        factor = a.array.copy() if shift else np.full(SHAPE, 2.0, np.float32)
        self.come_after(second, (first, self.count[first]))
        self.reads(second, w)
        with paddle.device.stream_guard(self.streams[second]):
            k = h * w.tensor
        self.come_after(last, (second, self.count[second]))
        self.come_after(last, (first, self.count[first]))
        self.step(last)
        with paddle.device.stream_guard(self.streams[last]):
            root = (k + h).sum()
        return root, 2 * w.array * factor + factor

    def after_backward(self, s: int, *read: Value) -> None:
        """It has come after all of the forward run, whoever has waited for whom."""
        for v in read:
            self.come_after(s, v.data.written)
        self.step(s)
        for v in read:
            v.data.read[s] = self.count[s]

    def update(self, s: int, i: int) -> None:
        w = self.weights[i]
        self.writes(s, w)
        self.come_after(s, None)
        grad, array = w.tensor.grad, self.gradients[i]
        assert array is not None
        for q in range(STREAMS):  # whichever the last backward run was on
            self.come_after(s, (q, self.count[q]))
        self.step(s)
        with paddle.no_grad():
            w.tensor.subtract_(grad * 0.01)
        w.array[...] -= array * np.float32(0.01)
        self.wrote(s, w)
        w.tensor.clear_gradient(False)
        self.gradients[i] = None

    def offload(self, s: int, x: Statement, r: random.Random, a: Value) -> None:
        self.reads(s, a)
        kept, task = paddle.incubate.tensor.manipulation.async_offload(a.tensor, self.loader)
        a.data.tasks.append(task)
        self.copies.append((kept, task, a.array.copy()))
        if r.random() < 0.3:
            self.check_copies(x)

    def check_copies(self, x: Any) -> None:
        for kept, task, array in self.copies:
            task.cpu_wait()
            same(x, kept.numpy(), array)

    def reload(self, s: int, x: Statement, r: random.Random) -> None:
        if not self.copies:
            return
        kept, task, array = self.copies.pop(r.randrange(len(self.copies)))
        task.cpu_wait()
        tensor, task = paddle.incubate.tensor.manipulation.async_reload(kept, self.loader)
        if r.random() < 0.3:
            self.copies.append((kept, task, array))
            return  # nobody waits for it, and it is dropped
        task.cuda_wait()
        self.step(s)
        self.keep(s, x.target, tensor, array.copy())

    def pinned(self, s: int, x: Statement, r: random.Random) -> None:
        array = drawn(r)
        host = paddle.to_tensor(array.copy(), place="cpu")
        if self.place.device_type == "gpu":
            host = host.pin_memory()
        tensor = host.to(self.place.name, blocking=False)
        del host
        self.step(s)
        self.keep(s, x.target, tensor, array)

    def there_and_back(self, s: int, x: Statement, r: random.Random, a: Value) -> None:
        """By another device; where there is none, by the host."""
        other = f"{self.place.device_type}:1" if self.devices > 1 else "cpu"
        self.reads(s, a)
        elsewhere = a.tensor.to(other) * 0.5
        self.keep(s, x.target, elsewhere.to(self.place.name), a.array * np.float32(0.5))

    def exported(self, s: int, x: Statement, r: random.Random, a: Value) -> None:
        """What a capsule shows is there: it is read without a wait for this device's streams."""
        if r.random() < 0.5:
            same(x, np.asarray(paddle.from_dlpack(a.tensor.__dlpack__(dl_device=(1, 0)))), a.array)
            return
        self.reads(s, a)
        tensor = paddle.from_dlpack(a.tensor.__dlpack__(copy=True))
        self.keep(s, x.target, tensor, a.array.copy())

    def move_memory(self, s: int, x: Statement, r: random.Random, a: Value) -> None:
        storage = a.tensor.storage
        try:
            if r.random() < 0.5:
                storage.offload()
            else:
                storage.relocate()
        except RuntimeError as error:
            if "requires a storage" not in str(error):
                raise
            self.tally["move_memory: refused"] += 1

    def empty_cache(self, s: int, x: Statement, r: random.Random) -> None:
        memory.empty_cache(self.place)

    def synchronize(self, s: int, x: Statement, r: random.Random) -> None:
        self.streams[s].synchronize()
        self.learn(STREAMS, s)

    def end(self) -> None:
        """Read all that is left, on whichever stream."""
        for name, v in self.values.items():
            with paddle.device.stream_guard(self.r.choice(self.streams)):
                same(f"{name} at the end", v.tensor.numpy(), v.array)
        for w, slope in zip(self.weights, self.gradients, strict=True):
            with paddle.device.stream_guard(self.r.choice(self.streams)):
                same("a weight at the end", w.tensor.numpy(), w.array)
                if slope is not None:
                    same("a gradient at the end", w.tensor.grad.numpy(), slope)
        self.check_copies("copies at the end")


def captured(a: Any, b: Any) -> Any:
    c = a @ b.T
    return paddle.maximum(c @ a * 0.05, b) - a.sum() * 0.01


def captured_array(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (np.maximum((a @ b.T) @ a * 0.05, b) - a.sum() * 0.01).astype(np.float32)


def few_of(library: Any, a: Any) -> Any:
    """Multiples of a half, for NumPy and ``paddle``; rarely near where rounding decides."""
    return library.clip(library.floor(a * 2.0 + 0.137), -4.0, 4.0) * 0.5


def mixed(a: Any, dtype: str) -> Any:
    few = few_of(paddle, a)
    with paddle.amp.auto_cast(dtype=dtype):
        product = few @ few.T
    return product.astype("float32") * 0.1


def block(w: Any, a: Any) -> Any:
    h = w * a
    return h * w + h


def recomputed(w: Any, a: Any, reentrant: bool = False) -> Any:
    return recompute(block, w, a, use_reentrant=reentrant)


def drawn(r: random.Random) -> np.ndarray:
    return np.random.default_rng(r.randrange(1 << 30)).uniform(-1, 1, SHAPE).astype(np.float32)


def matching(a: Value, b: Value) -> tuple[Value, Value]:
    """The two where they have one shape, else one of them twice."""
    return (a, b) if a.array.shape == b.array.shape else (b, b)


def same(where: Any, found: Any, wanted: Any) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.shape != wanted.shape or not np.allclose(found, wanted, 1e-3, 1e-4):
        raise Different(f"{where}: comes\n{found}\nand not\n{wanted}")


def in_thread(run: Callable[[], None]) -> None:
    """Run something in a thread, and raise what it raises."""
    failed: list[BaseException] = []

    def caught() -> None:
        try:
            run()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=caught)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


# --- devices


@contextmanager
def entered(way: str) -> Iterator[Any]:
    """The backend of a kind of devices."""
    if way == "fake":
        import fake

        if "fake" in backends.device_types():
            yield backends.get("fake")
            return
        with fake.installed() as backend:
            yield backend
    elif way == "cuda":
        import recorded_backend

        with recorded_backend.entered() as backend:
            yield backend
    else:
        import umiak_opencl

        paddle.set_flags({"FLAGS_opencl_platform": "Portable Computing Language"})
        paddle.set_flags({"FLAGS_opencl_options": "-cl-opt-disable"})
        installed = umiak_opencl.backend.name in backends.device_types()
        backends.register(umiak_opencl.backend)
        try:
            yield umiak_opencl.backend
        finally:
            paddle.set_flags({"FLAGS_opencl_options": ""})
            if not installed:
                backends.unregister(umiak_opencl.backend.name)


@contextmanager
def timing(way: str, backend: Any, seed: int) -> Iterator[None]:
    """When work is done: as late as can be, in random order, or (OpenCL) as its driver likes."""
    r = random.Random(f"timing {seed}")
    if way == "fake" and r.random() < 0.7:
        with backend.lazy():
            yield
    elif way == "cuda" and r.random() < 0.8:
        with backend.driver.shuffled(r):
            yield
    else:
        yield


def outcome(way: str, backend: Any, program: Sequence[Statement], seed: int, tally: Counter[str]) -> str | None:
    """What is wrong with a program on a device; None if nothing is."""
    place, former = Place(PLACES[way].split(":")[0], 0), paddle.get_device()
    try:
        paddle.set_device(place.name)
        with timing(way, backend, seed):
            run = Run(place, seed)
            try:
                for statement in program:
                    run.do(statement)
                run.end()
                core_stream.synchronize(place.index)
            except Exception as error:
                return f"{type(error).__name__}: {error}"
            finally:
                tally.update(run.tally)
    finally:
        paddle.set_device(former)
    return None


def shown(program: Sequence[Statement], way: str, seed: int, wrong: str) -> str:
    text = "\n".join(map(str, program))
    return f"seed {seed} on {PLACES[way]}:\n{text}\n{wrong}"


def check(
    seed: int, tally: Counter[str] | None = None, only: Sequence[str] = WAYS, program: Sequence[Statement] | None = None
) -> str | None:
    """What is wrong with the program of a seed; None if nothing is."""
    tally = Counter() if tally is None else tally
    program = generate(seed) if program is None else program
    for way in only:
        with entered(way) as backend:
            wrong = outcome(way, backend, program, seed, tally)
        tally[way] += 1
        if wrong is not None:
            return shown(program, way, seed, wrong)
    return None


def twice(seed: int, tally: Counter[str], only: Sequence[str], program: Sequence[Statement]) -> str | None:
    """The same; what is wrong may show in one of two runs."""
    return check(seed, tally, only, program) or check(seed, tally, only, program)


# Whatever is wrong: one mistake shows in many statements.
reduced = reduction(generate, twice, fewer, lambda text: text.partition("\n")[0])


if __name__ == "__main__":
    run_seeds(__doc__, WAYS, check, reduced)
