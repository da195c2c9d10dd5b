"""Loading by worker processes: what comes, in what order, and what is said when something goes wrong."""

import collections
import os
import random
import signal
import sys
import threading
import time
import traceback

import numpy as np
import pytest

import paddle
from paddle import io
from paddle.io.transport import MOST_LEASED
from umiak.runtime import parallel
from umiak.util import flags

Pair = collections.namedtuple("Pair", "x y")


class Of(io.Dataset):
    """Items by a function: whatever it closes over reaches a forked worker."""

    def __init__(self, function, n=8):
        self.function = function
        self.n = n

    def __getitem__(self, i):
        return self.function(i)

    def __len__(self):
        return self.n


class Stream(io.IterableDataset):
    def __iter__(self):
        worker = io.get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        return (np.int64(i) for i in range(first, 9, step))


class TwoPart(Exception):
    def __init__(self, a, b):
        super().__init__(a)
        self.b = b


def plain(x):
    """A batch with arrays for tensors, so that it compares."""
    if isinstance(x, paddle.Tensor):
        return (str(x.dtype), x.stop_gradient, x.tolist())
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(*map(plain, x)) if hasattr(x, "_fields") else [plain(v) for v in x]
    return x


FORMS = {
    "array": lambda i: np.full([3, 5], i, np.float32),
    "large": lambda i: np.full([3, 50, 100], i, np.float32),
    "scalar array": lambda i: np.array(float(i)),
    "number": lambda i: i,
    "bool": lambda i: i % 2 == 0,
    "numpy number": lambda i: np.float16(i),
    "strings": lambda i: (f"x{i}", b"y"),
    "fields": lambda i: (np.full(2, i), i, {"a": float(i), "b": [i, f"x{i}"]}),
    "namedtuple": lambda i: Pair(np.full(2, i), i),
    "tensor": lambda i: paddle.full([2, 3], i),
    "large tensor": lambda i: paddle.full([20000], i, "bfloat16"),
    "mixed dtypes": lambda i: np.ones(2, np.float32 if i % 2 else np.float64),
    "strided": lambda i: np.arange(24).reshape(4, 6)[::2, ::-1] + i,
    "swapped": lambda i: np.full(2, i, ">f4"),
    "empty": lambda i: np.zeros((0, 4), np.int32),
    "complex": lambda i: np.complex64(i * 1j),
    "uint16 as bfloat16": lambda i: np.full(3, 16256 + i, np.uint16),
}


@pytest.mark.parametrize("form", FORMS)
def test_workers_give_what_the_main_process_gives(form):
    data = Of(FORMS[form], 5)
    here = [plain(b) for b in io.DataLoader(data, batch_size=2)]
    assert [plain(b) for b in io.DataLoader(data, batch_size=2, num_workers=2)] == here


def test_groupings():
    data = Of(lambda i: np.full(2, i), 7)
    for options in (
        {"batch_size": None},
        {"batch_size": 3, "drop_last": True},
        {"batch_sampler": [[3, 1], [0], [5, 5, 5]]},
        {"batch_size": 2, "collate_fn": lambda samples: {"x": np.stack(samples), "n": len(samples), "s": samples}},
    ):
        here = [plain(b) for b in io.DataLoader(data, **options)]
        assert [plain(b) for b in io.DataLoader(data, num_workers=2, **options)] == here
    assert list(io.DataLoader(Of(None, 0), num_workers=1)) == []


def test_streams():
    batches = [b.tolist() for b in io.DataLoader(Stream(), batch_size=2, num_workers=2)]
    assert batches == [[0, 2], [1, 3], [4, 6], [5, 7], [8]]
    loader = io.DataLoader(Stream(), batch_size=2, num_workers=2, drop_last=True, persistent_workers=True)
    for _ in range(2):
        assert [b.tolist() for b in loader] == batches[:-1]
    single = [int(b) for b in io.DataLoader(Stream(), batch_size=None, num_workers=4)]
    assert single == list(range(9))


@pytest.mark.parametrize("shared", [True, False])
def test_batches_of_any_size_pass(shared):
    """Neither many long lists of indices, nor long pickles, nor many answers that nobody reads yet, stop anything."""
    data = Of(lambda i: ("word" * 20, i), 1 << 20)
    indices = [list(range(n * 1000, n * 1000 + 30000)) for n in range(12)]
    loader = io.DataLoader(data, batch_sampler=indices, num_workers=1, prefetch_factor=12, use_shared_memory=shared)
    for wanted, (words, numbers) in zip(indices, loader, strict=True):
        assert numbers.tolist() == wanted and words == ["word" * 20] * 30000
    tiny = io.DataLoader(Of(lambda i: i, 3000), num_workers=1, prefetch_factor=3000, use_shared_memory=shared)
    assert [int(b) for b in tiny] == list(range(3000))


def test_info_and_init():
    seen = []
    data = Of(lambda i: (io.get_worker_info().id, io.get_worker_info().num_workers, len(seen), seen[0]))
    loader = io.DataLoader(data, batch_size=4, num_workers=2, worker_init_fn=seen.append)
    assert [[c.tolist() for c in b] for b in loader] == [[[w] * 4, [2] * 4, [1] * 4, [w] * 4] for w in (0, 1)]
    assert seen == [] and io.get_worker_info() is None


def draws(loader):
    return [tuple(float(c) for c in b) for b in loader]


def test_workers_are_seeded():
    data = Of(lambda i: (np.random.rand(), random.random(), paddle.rand([]), io.get_worker_info().seed))
    passes = {}
    for persistent in (False, True):
        paddle.seed(11)
        loader = io.DataLoader(data, num_workers=2, persistent_workers=persistent)
        passes[persistent] = [draws(loader), draws(loader)]
    assert passes[False][0] == passes[True][0]
    # Later passes are seeded alike too; the seed that get_worker_info gives is that of the process.
    assert [d[:3] for d in passes[False][1]] == [d[:3] for d in passes[True][1]]
    flat = [d[0] for batches in passes[False] for d in batches]
    assert len(set(flat)) == len(flat)
    assert {d[3] for d in passes[False][0][::2]} == {passes[False][0][1][3] - 1}
    own = io.DataLoader(data, num_workers=2, persistent_workers=True, worker_init_fn=lambda i: np.random.seed(i))
    assert draws(own)[0][0] == np.random.RandomState(0).rand()


# ---- errors ----------------------------------------------------------------------------------------------------------


def fail_at(n, error):
    def get(i):
        if i == n:
            raise error
        return i

    return Of(get)


class Local(Exception):
    def __reduce__(self):
        raise TypeError("not to be pickled")


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (KeyError("k"), KeyError, "'k'"),
        (FileNotFoundError(2, "gone", "a.png"), FileNotFoundError, "a.png"),
        (TwoPart(1, 2), RuntimeError, "TwoPart: 1"),
        (Local("mine"), RuntimeError, "Local: mine"),
        (StopIteration(3), RuntimeError, "StopIteration: 3"),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, Exception) else None,
)
def test_exceptions_come_with_their_traceback(error, kind, text):
    batches = iter(io.DataLoader(fail_at(3, error), num_workers=2))
    assert [int(next(batches)) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(kind, match=text) as caught:
        next(batches)
    shown = "".join(traceback.format_exception(caught.value))
    assert "worker 1 (pid" in shown and "in get" in shown and "raise error" in shown
    with pytest.raises(StopIteration):
        next(batches)


def test_other_failures_in_workers():
    def init(number):
        raise OSError(f"no disk for {number}")

    with pytest.raises(OSError, match="no disk for 0"):
        next(iter(io.DataLoader(Of(int), num_workers=1, worker_init_fn=init)))
    with pytest.raises((AttributeError, TypeError), match="pickle"):
        next(iter(io.DataLoader(Of(int), num_workers=1, collate_fn=lambda _: threading.Lock())))
    with pytest.raises(ValueError, match="requires arrays of one shape"):
        list(io.DataLoader(Of(np.ones), batch_size=2, num_workers=1))
    with pytest.raises(RuntimeError, match=r"worker 0 \(pid \d+\) exited with code 3"):
        list(io.DataLoader(Of(lambda i: sys.exit(3)), num_workers=1))


def test_persistent_workers_survive_exceptions():
    loader = io.DataLoader(fail_at(5, ValueError("five")), num_workers=2, persistent_workers=True)
    pids = []
    for _ in range(2):
        with pytest.raises(ValueError, match="five"):
            list(loader)
        pids.append([w.pid for w in loader._idle.workers])
    assert pids[0] == pids[1]


def test_failing_samplers_end_the_workers():
    def indices():
        yield from ([0], [1])
        raise LookupError("no more")

    batches = iter(io.DataLoader(Of(int), batch_sampler=indices(), num_workers=1, prefetch_factor=1))
    pool = batches.pool
    with pytest.raises(LookupError):
        list(batches)
    assert not pool.open


@pytest.fixture(params=[signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1])
def deadly(request):
    """A signal that ends workers: what earlier tests have loaded may catch it, as LLVM does SIGUSR1."""
    number = request.param
    former = None if number == signal.SIGKILL else signal.signal(number, signal.SIG_DFL)
    yield number
    if former is not None:  # else it was no handler of Python's, or none at all
        signal.signal(number, former)


def test_a_killed_worker_is_named(deadly):
    """Also where the other worker's batch is awaited, and takes long."""
    loader = io.DataLoader(Of(lambda i: time.sleep(600) if i % 2 == 0 else i), num_workers=2)
    batches = iter(loader)
    victim = batches.pool.workers[1].pid
    threading.Timer(0.05, os.kill, (victim, deadly)).start()
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match=rf"worker 1 \(pid {victim}\) was killed by {deadly.name}"):
        next(batches)
    assert time.monotonic() - begin < 300  # not the ten minutes of the sample


def test_timeout():
    loader = io.DataLoader(Of(lambda i: time.sleep(600)), num_workers=1, timeout=0.05)
    with pytest.raises(RuntimeError, match=r"requires a batch within timeout=0.05 s, got none from worker 0 \(pid"):
        next(iter(loader))
    assert len(list(io.DataLoader(Of(int), num_workers=1, timeout=300))) == 8


# ---- memory ----------------------------------------------------------------------------------------------------------


def pixels(i):
    return np.full([200, 200], i, np.float32)


def test_tensors_lie_over_shared_memory_which_is_used_again():
    addresses = set()
    for i, batch in enumerate(io.DataLoader(Of(pixels, 60), num_workers=2)):
        assert float(batch.sum()) == 40000.0 * i
        addresses.add(batch.data_ptr())
        batch += 1  # it is the loop's to write
    assert len(addresses) <= 10


def test_what_is_held_stays():
    n = 3 * MOST_LEASED
    held = list(io.DataLoader(Of(pixels, n), num_workers=1))
    assert [float(b[0, 3, 3]) for b in held] == list(range(n))
    first = held[0].numpy()
    view = held[1][0, 5]
    del held
    assert (first == 0).all() and (view == 1).all()


def test_a_child_that_is_forked_meanwhile_keeps_what_it_sees(recwarn):
    batches = iter(io.DataLoader(Of(pixels, 40), num_workers=1))
    held = next(batches)
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(told, 1)
        os._exit(0 if (held.numpy() == 0).all() else 1)
    address = held.data_ptr()
    del held
    assert len([b for b in batches if b.data_ptr() == address and b[0, 0, 0] == 0]) == 0
    os.write(tell, b"x")
    assert os.waitpid(child, 0)[1] == 0
    os.close(told), os.close(tell)


def segments():
    with open("/proc/self/maps") as maps:
        return sum("memfd:umiak" in line or "/dev/shm" in line for line in maps)


def usage():
    """What the process has open, by number, and its threads in Python: those of earlier tests may end at any time, and
    the engine's come when they are needed."""
    return {f"fd {number}" for number in os.listdir("/proc/self/fd")} | {
        f"thread {t.name}" for t in threading.enumerate()
    }


@pytest.mark.usefixtures("no_garbage")
def test_nothing_is_left_behind():
    def some_passes(persistent):
        loader = io.DataLoader(Of(pixels, 12), batch_size=2, num_workers=2, persistent_workers=persistent)
        for n in (6, 6, 3, 1):
            for i, _ in enumerate(loader):
                if i == n:
                    break
        with pytest.raises(ValueError):
            list(io.DataLoader(fail_at(2, ValueError()), num_workers=1, persistent_workers=persistent))

    others = segments()  # batches that an earlier test's failure report or fixture still holds
    some_passes(True)
    before = usage()
    for persistent in (True, False):
        some_passes(persistent)
    assert usage() <= before and segments() <= others


# ---- several passes --------------------------------------------------------------------------------------------------


def test_persistent_workers():
    loader = io.DataLoader(Of(lambda i: (i, os.getpid())), batch_size=2, num_workers=2, persistent_workers=True)
    pids = set()
    for stop in (9, 1, 9):
        for n, (numbers, pid) in enumerate(loader):
            assert numbers.tolist() == [2 * n, 2 * n + 1]
            pids.add(int(pid[0]))
            if n == stop:
                break
    assert len(pids) == 2
    # Two passes at once: the second has workers of its own.
    assert [int(a[0][0]) - int(b[0][0]) for a, b in zip(loader, loader)] == [0] * 4
    assert pids == {w.pid for w in loader._idle.workers} or loader._idle is not None


def test_persistent_workers_killed_between_passes():
    loader = io.DataLoader(Of(int), num_workers=1, persistent_workers=True)
    list(loader)
    os.kill(loader._idle.workers[0].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="SIGKILL"):
        list(loader)
    assert len(list(loader)) == 8


def test_iterators_end_once():
    batches = iter(io.DataLoader(Of(int), num_workers=1))
    assert len(batches) == 8 and len(list(batches)) == 8
    with pytest.raises(StopIteration):
        next(batches)


# ---- how workers begin -----------------------------------------------------------------------------------------------


def test_workers_compute_although_the_main_process_has_threads(threads):
    x = paddle.ones([512, 512])
    paddle.nn.functional.gelu(x @ x).sum()  # the threads are there now
    data = Of(lambda i: (paddle.nn.functional.gelu(x @ x) * i).mean(), 4)
    here = [float(v) for v in io.DataLoader(data)]
    assert [float(v) for v in io.DataLoader(data, num_workers=2)] == pytest.approx(here)
    assert parallel.get_num_threads() == threads


def test_forks_while_a_thread_compiles():
    """A worker can compile although the main process was about to: it inherits no lock that someone held."""
    paddle.cumsum(paddle.ones([2]))  # flags of the compiler are there once it is
    done = threading.Event()
    failed = []

    def compile_on():
        n = 0
        while not done.is_set():
            n += 1
            try:
                paddle.set_flags({"FLAGS_jit_cache": n % 2 == 0})
                paddle.nn.functional.pad(paddle.ones([2] * (n % 5 + 1)), [n % 7] * 2 * (n % 5 + 1), value=n % 3)
            except Exception as error:
                failed.append(error)

    before = flags.REGISTRY["FLAGS_jit_cache"].value
    thread = threading.Thread(target=compile_on)
    thread.start()
    try:
        for n in range(5):
            data = Of(lambda i, n=n: paddle.cumsum(paddle.ones([2] * (n + 1)), axis=i % (n + 1)).sum(), 2)
            assert len(list(io.DataLoader(data, num_workers=2, timeout=300))) == 2
    finally:
        done.set()
        thread.join()
        paddle.set_flags({"FLAGS_jit_cache": before})
    assert not failed


def test_loaders_in_threads():
    sums = []

    def run():
        sums.append(sum(int(b) for b in io.DataLoader(Of(int, 40), num_workers=2)))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [780] * 3


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_loaders_while_a_closed_pool_is_referred_to(workers):
    """Workers close what they inherit of other pools, and not what has a number that a closed pool had."""
    kept = []
    for _ in range(3):
        batches = iter(io.DataLoader(Of(int), num_workers=workers))
        kept.append(batches.pool)
        assert len(list(batches)) == 8
        assert not batches.pool and not kept[-1].open


def test_a_worker_that_someone_else_waited_for():
    batches = iter(io.DataLoader(Of(int), num_workers=1))
    pool = batches.pool
    pid = pool.workers[0].pid
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with pytest.raises(RuntimeError, match=rf"worker 0 \(pid {pid}\) has ended"):
        list(batches)
    assert not pool.open


def test_spawned_workers():
    with_spawn = paddle.get_flags("FLAGS_dataloader_start_method")
    paddle.set_flags({"FLAGS_dataloader_start_method": "spawn"})
    try:
        data = io.TensorDataset([paddle.arange(6), paddle.ones([6, 40000])])
        batches = [(i.tolist(), x.shape) for i, x in io.DataLoader(data, batch_size=4, num_workers=1)]
    finally:
        paddle.set_flags(with_spawn)
    assert batches == [([0, 1, 2, 3], [4, 40000]), ([4, 5], [2, 40000])]


def test_refused_options():
    for options, kind in (
        ({"num_workers": -1}, ValueError),
        ({"num_workers": 1.5}, TypeError),
        ({"prefetch_factor": 0}, ValueError),
        ({"timeout": -1}, ValueError),
        ({"timeout": "a"}, TypeError),
        ({"collate_fn": 3}, TypeError),
        ({"worker_init_fn": 3}, TypeError),
        ({"places": []}, ValueError),
    ):
        with pytest.raises(kind, match=next(iter(options)).split("_")[0]):
            io.DataLoader(Of(int), **options)
