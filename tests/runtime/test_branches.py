"""Launches side by side: which ones, over which memory, and that nobody sees a difference but the clock."""

from __future__ import annotations

import ctypes
import itertools
import os
import threading

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.jit import to_static
from umiak import ops
from umiak.backends.base import Kernel
from umiak.backends.cpu import by_threads
from umiak.core import frozen
from umiak.core.branches import grouped
from umiak.ops import custom
from umiak.runtime import parallel
from umiak.util import flags, pytree

CALLS = 7  # until it is decided and has run
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # the child runs what it is to run


@pytest.fixture(autouse=True)
def two_threads():
    threads, driver = parallel.get_num_threads(), parallel.get_driver()
    parallel.set_num_threads(2)
    yield
    paddle.set_flags({"FLAGS_parallel_branches": "auto"})
    parallel.set_driver(driver)
    parallel.set_num_threads(threads)


def bindings(static):
    return [c._executor.binding() for c in static._captures()]


def groups(static):
    return [g for b in bindings(static) for form in b.side_by_side() for g in form]


def captured(function, mode="always"):
    """The function, captured and run with this flag."""
    paddle.set_flags({"FLAGS_parallel_branches": mode})
    return to_static(function)


def bits(leaves):
    return [x.numpy().tobytes() for x in pytree.leaves(leaves)]


# --- which


def depends(before, a, b):
    """Whether ``b`` has to come after ``a``, by way of others too."""
    return any(p == a or (p > a and depends(before, a, p)) for p in before[b])


@pytest.mark.parametrize("seed", range(40))
def test_lanes_need_nothing_of_each_other(seed):
    rng = np.random.default_rng(seed)
    n, threads, price = int(rng.integers(1, 30)), int(rng.integers(2, 5)), int(rng.integers(0, 200))
    before = [sorted({int(x) for x in rng.integers(0, i, rng.integers(0, 3))}) if i else [] for i in range(n)]
    alone = [int(x) for x in rng.integers(1, 1000, n)]
    together = [int(rng.integers(a // threads, a + 1)) for a in alone]
    allowed = [int(x) for x in rng.integers(0, 4, n) > 0]
    time = 0
    end = 0
    for a, b, lanes in grouped(before, alone, together, allowed, threads, price):
        assert a >= end and b > a + 1 and len(lanes) > 1
        assert sorted(itertools.chain(*lanes)) == list(range(a, b)) and all(allowed[a:b])
        for one, other in itertools.permutations(lanes, 2):
            assert one == sorted(one)
            assert not any(depends(before, i, j) for i in one for j in other)
        sums = [sum(alone[i] for i in lane) for lane in lanes]
        assert sums == sorted(sums, reverse=True)
        time += sum(together[end:a]) + price + max(*sums, sum(sums) // threads)
        end = b
    assert time + sum(together[end:]) <= sum(together)


def test_what_pays():
    apart = [[], [], [], []]
    assert grouped(apart, [100] * 4, [100] * 4, [1] * 4, 2, 10) == [(0, 4, [[0], [1], [2], [3]])]
    assert grouped(apart, [100] * 4, [51] * 4, [1] * 4, 2, 10) == []  # threads share each of them
    assert grouped(apart, [100] * 4, [100] * 4, [1] * 4, 2, 1000) == []
    assert grouped([[], [0], [1]], [100] * 3, [100] * 3, [1] * 3, 2, 0) == []
    assert grouped(apart, [100] * 4, [100] * 4, [1, 0, 1, 1], 2, 10) == [(2, 4, [[2], [3]])]
    assert grouped([[], [0], [], [2]], [100] * 4, [100] * 4, [1] * 4, 2, 0) == [(0, 4, [[0, 1], [2, 3]])]
    assert grouped([], [], [], [], 2) == []


# --- nobody sees it


class Heads(nn.Layer):
    def __init__(self, count=3, width=24):
        super().__init__()
        self.heads = nn.LayerList(
            [nn.Sequential(nn.Linear(width, 16), nn.ReLU(), nn.Linear(16, 8), nn.Softmax()) for _ in range(count)]
        )

    def forward(self, x):
        return [h(x) for h in self.heads]


class Block(nn.Layer):
    """Four branches over one image, joined."""

    def __init__(self, c=16):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2D(c, 16, 1), nn.Conv2D(c, 16, 1), nn.Conv2D(16, 16, 3, padding=1)
        self.d, self.e = nn.Conv2D(c, 16, 5, padding=2), nn.Conv2D(c, 16, 1)

    def forward(self, x):
        y = F.max_pool2d(x, 3, 1, 1)
        return paddle.concat([F.relu(self.a(x)), self.c(F.relu(self.b(x))), F.relu(self.d(x)), self.e(y)], 1)


class Both(nn.Layer):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(8, 8, num_layers=2, direction="bidirect")

    def forward(self, x):
        return self.rnn(x)


MODELS = {"heads": (Heads, [5, 24]), "block": (Block, [1, 16, 9, 9]), "both directions": (Both, [2, 5, 8])}


@pytest.mark.parametrize(("name", "driver"), [("heads", "pool"), ("block", "gomp"), ("both directions", "pool")])
def test_a_model_gives_the_same_bits(name, driver):
    paddle.seed(1)
    make, shape = MODELS[name]
    model = make()
    model.eval()
    xs = [paddle.randn(shape) for _ in range(CALLS)]
    with paddle.no_grad():
        plain = captured(lambda x: model(x), "never")
        expected = [bits(plain(x)) for x in xs]
        assert groups(plain) == []
        parallel.set_driver(driver)
        static = captured(lambda x: model(x))
        kept = [static(x) for x in xs]
        assert groups(static)
        assert [bits(x) for x in kept] == expected
        disjoint(static)


def disjoint(static):
    """Lanes write no byte that another one reads or writes; and what a launch reads is what was written last for it."""
    for binding in bindings(static):
        for accesses, form in zip(binding.accesses(), binding.side_by_side(), strict=True):
            for group in form:
                for one, other in itertools.permutations(group, 2):
                    for i, j in itertools.product(one, other):
                        for m, a, b in accesses[i][1]:
                            assert not any(m == k and a < d and c < b for k, c, d in [*accesses[j][0], *accesses[j][1]])


def drawn(rng, model):
    """A function that is a random graph of small operations."""
    steps = []
    for _ in range(int(rng.integers(6, 24))):
        steps.append((str(rng.choice(STEPS_OF)), int(rng.integers(0, 1 << 30)), int(rng.integers(0, 1 << 30))))
    shown = {int(x) for x in rng.integers(0, len(steps), 3)} | {len(steps) - 1}

    def function(x):
        values = [x, x * 0.5]
        for name, a, b in steps:
            values.append(STEPS[name](model, values[a % len(values)], values[b % len(values)]))
        return [values[2 + i] for i in sorted(shown)]

    return function


STEPS = {
    "linear": lambda m, x, y: m(x),
    "tanh": lambda m, x, y: paddle.tanh(x),
    "add": lambda m, x, y: x + y,
    "softmax": lambda m, x, y: F.softmax(x - y, -1),
    "sort": lambda m, x, y: paddle.sort(x, -1),
    "matmul": lambda m, x, y: paddle.matmul(x, y, transpose_y=True)[:, :1] * x,
    "sum": lambda m, x, y: x - paddle.cumsum(y, 0) * 0.1,
    "view": lambda m, x, y: x.reshape([-1, 2, 6]).transpose([0, 2, 1]).reshape([-1, 12]),
}
STEPS_OF = sorted(STEPS)


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 60))])
def test_random_graphs_equal_one_launch_after_the_other(seed):
    rng = np.random.default_rng(seed)
    paddle.seed(seed)
    model = nn.Linear(12, 12)
    function = drawn(rng, model)
    xs = [paddle.randn([n, 12]) for n in (4, 4, 4, 4, 6, 6, 6, 4)]
    with paddle.no_grad():
        plain = captured(function, "never")
        expected = [bits(plain(x)) for x in xs]
        for threads in (1, 2, 4):
            parallel.set_num_threads(threads)
            static = captured(lambda x: function(x))
            kept = [static(x) for x in xs]
            assert [bits(x) for x in kept] == expected
            assert threads > 1 or groups(static) == []
            disjoint(static)


def test_a_step_that_writes_to_its_parameters():
    found = []
    for mode in ("never", "always"):
        paddle.seed(2)
        model = Heads()
        optimizer = paddle.optimizer.Adam(0.01, parameters=model.parameters())

        def step(x, model=model, optimizer=optimizer):
            loss = sum((h**2).sum() for h in model(x))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad(set_to_zero=False)
            return loss

        run = captured(step, mode)
        xs = [paddle.randn([5, 24]) for _ in range(CALLS)]
        found.append([bits([run(x), *model.parameters()]) for x in xs])
        assert bool(groups(run)) == (mode == "always")
        disjoint(run)
    assert found[0] == found[1]


def test_measured_groups_give_the_same_bits():
    """Whatever the clock says."""
    paddle.seed(4)
    model = nn.LayerList([nn.GRU(48, 48, direction="bidirect"), nn.GRU(48, 48, direction="bidirect")])
    xs = [paddle.randn([2, 24, 48]) for _ in range(20)]
    with paddle.no_grad():
        plain = captured(lambda x: [m(x)[0] for m in model], "never")
        static = captured(lambda x: [m(x)[0] for m in model], "auto")
        paddle.set_flags({"FLAGS_parallel_branches": "never"})
        expected = [bits(plain(x)) for x in xs]
        paddle.set_flags({"FLAGS_parallel_branches": "auto"})
        assert [bits(static(x)) for x in xs] == expected


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_launches_whose_bits_may_depend_on_threads(dtype):
    """Libraries split sums as they like, which rounding to 16 bits hides from those who try."""
    parallel.set_num_threads(4)
    x = paddle.randn([3000, 60]).astype(dtype)
    weights = [paddle.randn([3000, 4]).astype(dtype) for _ in range(2)]

    def function(x):
        return [paddle.matmul(x, w, transpose_x=True) for w in weights]

    with paddle.no_grad():
        expected = bits(function(x))
        before = parallel.own_threads(1)
        alone = bits(function(x))
        parallel.own_threads(before)
        static = captured(function)
        assert [bits(static(x)) for _ in range(CALLS)] == [expected] * CALLS
        assert groups(static) == ([] if dtype == "bfloat16" or alone != expected else [[[0], [1]]])


# --- errors


def refusing(table, other):
    return captured(lambda i, j: (F.embedding(i, table) * 2.0, F.embedding(j, other) * 3.0, table.sum() + other.sum()))


@pytest.mark.parametrize("first", [True, False])
def test_of_several_refusals_the_first_in_the_program_is_raised(first):
    table, other = paddle.randn([5, 8]), paddle.randn([7, 8])
    good, bad, worse = (paddle.to_tensor([0, k, 2]) for k in (4, 9, 33))
    with paddle.no_grad():
        static = refusing(table, other)
        for _ in range(CALLS):
            static(good, good)
        assert groups(static)
        for _ in range(20):
            with pytest.raises((IndexError, ValueError), match="9" if first else "33"):
                static(bad if first else good, worse)
            found = static(good, good)
        np.testing.assert_array_equal(found[0].numpy(), F.embedding(good, table).numpy() * 2.0)


LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4, ctypes.c_int64)


class Watched:
    """Two kernels whose launches ask a function, with their number, for the code that they give."""

    def __init__(self, monkeypatch):
        self.answer = lambda _: 0
        self.entries = [LAUNCH(lambda *_, k=k: self.answer(k)) for k in range(2)]
        for k, entry in enumerate(self.entries):
            address = ctypes.cast(entry, ctypes.c_void_p).value
            target = custom.Target(f"watched{k}", lambda x: x, None, None, lambda _, a=address: Kernel(a, dims=[]))
            monkeypatch.setitem(custom.TARGETS, f"watched{k}", target)

    def function(self, x):
        return [ops.custom_call([x], target=f"watched{k}") for k in range(2)]


@pytest.fixture
def watched(monkeypatch):
    frozen.install(lambda _: frozen.SAME, ops.REGISTRY["copy"]())
    yield Watched(monkeypatch)
    frozen.install(by_threads.kind, ops.REGISTRY["copy"]())


def test_lanes_run_at_the_same_time_and_say_which_launch_failed(watched):
    both, x = threading.Barrier(2), paddle.randn([4])
    with paddle.no_grad():
        static = captured(watched.function)
        for _ in range(CALLS):
            static(x)
        assert groups(static) == [[[0], [1]]]
        watched.answer = lambda _: 0 * both.wait(60)  # raises, and prints so, where nobody else comes
        static(x)
        for codes in ((3, 0), (0, 4), (3, 4), (-1, 4), (5, -1), (0, -1)):
            watched.answer = lambda k, codes=codes: codes[k]
            with pytest.raises(RuntimeError, match=rf"custom_call.*with code {codes[0] or codes[1]}$"):
                static(x)
        watched.answer = lambda _: 0
        static(x)


# --- threads


def test_many_threads_run_one_captured_function():
    paddle.seed(6)
    model = Heads(4)
    xs = [paddle.randn([5, 24]) for _ in range(4)]
    with paddle.no_grad():
        static = captured(lambda x: model(x))
        expected = [bits(static(x)) for x in xs * 2][4:]
        wrong = []

        def work(k):
            with paddle.no_grad():
                for _ in range(150):
                    if bits(static(xs[k])) != expected[k]:
                        wrong.append(k)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for n in (3, 1, 2, 4, 2):
            parallel.set_num_threads(n)
        for t in threads:
            t.join()
        assert wrong == []


def test_inside_of_a_part_and_in_a_forked_child():
    model = Heads()
    x = paddle.randn([5, 24])
    with paddle.no_grad():
        static = captured(lambda x: model(x))
        for _ in range(CALLS):
            expected = bits(static(x))
        assert groups(static)
        found = []

        def part(_):
            with paddle.no_grad():
                found.append(bits(static(x)))

        parallel.run(part, 4)
        assert found == [expected] * 4
        child = os.fork()
        if child == 0:
            same = bits(static(x)) == expected
            os._exit(0 if same else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_the_flag():
    with pytest.raises(ValueError, match="never, auto, always, got 'often'"):
        paddle.set_flags({"FLAGS_parallel_branches": "often"})
    assert flags.REGISTRY["FLAGS_parallel_branches"].value == "auto"
    model, x = Heads(), paddle.randn([5, 24])
    with paddle.no_grad():
        static = captured(lambda x: model(x))
        expected = [bits(static(x)) for _ in range(CALLS)]
        assert groups(static)
        paddle.set_flags({"FLAGS_parallel_branches": "never"})  # those that there are rest
        assert bits(static(x)) == expected[0]
