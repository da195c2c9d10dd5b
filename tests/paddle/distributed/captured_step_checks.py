"""Captured data-parallel steps against the same steps as they were written, on ranks that share a batch.

Where sums are exact (integers), the order of additions decides nothing, and values are compared bit for bit.
"""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.distributed.fleet.utils import recompute
from umiak import comm
from umiak.comm.buckets import Reducer
from umiak.comm.captured_buckets import CapturedReduction
from umiak.observe.collector import EventCollector
from umiak.observe.event import COMMUNICATION, OPERATOR

SMALL = {"comm_buffer_size": 0.0015, "last_comm_buffer_size": 0.0005}  # megabytes: a bucket for each layer or so
MODES = (False, True)  # full_graph


def data(*shape, seed=0, integers=False):
    draw = np.random.default_rng((seed, comm.world().rank))
    return paddle.to_tensor((draw.integers(-2, 3, shape) if integers else draw.normal(size=shape)).astype("float32"))


class IntegerNet(nn.Layer):
    """Whose gradients are integers, as its parameters and inputs are."""

    def __init__(self, width=16, depth=4):
        super().__init__()
        draw = np.random.default_rng(5)
        self.layers = nn.LayerList([nn.Linear(width, width) for _ in range(depth)])
        for layer in self.layers:
            layer.weight.set_value((draw.random((width, width)) < 0.2).astype("float32"))
            layer.bias.set_value(np.zeros(width, "float32"))

    def forward(self, x):
        for layer in self.layers:
            x = nn.functional.relu(layer(x))
        return x


def mlp(width=16, depth=3):
    paddle.seed(3)
    return nn.Sequential(*(layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.Tanh())))


def state(net):
    out = {n: p.numpy().copy() for n, p in net.named_parameters()}
    out.update({f"grad of {n}": None if p.grad is None else p.grad.numpy().copy() for n, p in net.named_parameters()})
    return out


def assert_same(found, wanted, tolerance=0.0):
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        if value is None or found[name] is None:
            assert value is None and found[name] is None, name
        else:
            np.testing.assert_allclose(found[name], value, tolerance, tolerance, err_msg=name)


def assert_ranks_agree(found):
    for other in comm.world().gather_objects(found):
        assert_same(other, found)


def capture(step, full_graph):
    return paddle.jit.to_static(step, full_graph=full_graph)


def assert_one_graph(run):
    if isinstance(getattr(run, "graph_breaks", None), list):
        assert run.graph_breaks == [] and run.fallbacks == [], (run.graph_breaks, run.fallbacks)


def train(make, step_of, full_graph=None, steps=3, integers=False, **options):
    """Parameters and gradients after each of some steps; ``full_graph=None``: as it was written."""
    net = make()
    parallel = paddle.DataParallel(net, **{**SMALL, **options})
    step = step_of(parallel)
    run = step if full_graph is None else capture(step, full_graph)
    found = []
    for i in range(steps):
        run(data(4, 16, seed=i, integers=integers))
        found.append(state(net))
    return found, run, parallel


def compare(make, step_of, tolerance=1e-5, integers=False, one_graph=True, modes=MODES, **options):
    wanted, _, _ = train(make, step_of, None, integers=integers, **options)
    for full_graph in modes:
        found, run, _ = train(make, step_of, full_graph, integers=integers, **options)
        for a, b in zip(found, wanted, strict=True):
            assert_same(a, b, tolerance)
        assert_ranks_agree(found[-1])
        if one_graph:
            assert_one_graph(run)


def descent(parallel, optimizer=None, clear=True, set_to_zero=False):
    optimizer = optimizer or paddle.optimizer.SGD(2.0**-6, parameters=parallel.parameters())

    def step(x):
        loss = parallel(x).sum()
        loss.backward()
        optimizer.step()
        if clear:
            optimizer.clear_grad(set_to_zero)
        return loss

    return step


# --- the same values


def check_a_step_has_the_bits_of_the_step_as_written(rank, size):
    compare(IntegerNet, descent, 0.0, integers=True)


def check_gradients_stay_where_nobody_clears_them(rank, size):
    compare(IntegerNet, lambda parallel: descent(parallel, clear=False), 0.0, integers=True)


def check_gradients_that_are_cleared_first(rank, size):
    def make(parallel):
        optimizer = paddle.optimizer.SGD(2.0**-6, parameters=parallel.parameters())

        def step(x):
            optimizer.clear_grad()
            loss = parallel(x).sum()
            loss.backward()
            optimizer.step()
            return loss

        return step

    compare(IntegerNet, make, 0.0, integers=True)


def check_gradients_that_are_set_to_zero(rank, size):
    compare(IntegerNet, lambda parallel: descent(parallel, set_to_zero=True), 0.0, integers=True)


def check_clipping_by_the_global_norm(rank, size):
    def make(parallel):
        clip = nn.ClipGradByGlobalNorm(0.05)
        return descent(parallel, paddle.optimizer.AdamW(0.01, parameters=parallel.parameters(), grad_clip=clip))

    compare(mlp, make)


def check_several_backwards_in_a_step(rank, size):
    def make(parallel):
        optimizer = paddle.optimizer.SGD(2.0**-6, parameters=parallel.parameters())

        def step(x):
            parallel(x).sum().backward()
            parallel(x + 1).sum().backward()
            optimizer.step()
            optimizer.clear_grad(False)

        return step

    compare(IntegerNet, make, 0.0, integers=True)


def check_accumulation(rank, size):
    def work(full_graph):
        net = IntegerNet()
        parallel = paddle.DataParallel(net, **SMALL)
        optimizer = paddle.optimizer.SGD(2.0**-6, parameters=net.parameters())

        def part(x):
            parallel(x).sum().backward()

        def last(x):
            parallel(x).sum().backward()
            optimizer.step()
            optimizer.clear_grad(False)

        runs = [part, last] if full_graph is None else [capture(f, full_graph) for f in (part, last)]
        found = []
        for i in range(3):
            with parallel.no_sync():
                for j in range(2):
                    runs[0](data(4, 16, seed=3 * i + j, integers=True))
            found.append(state(net))
            runs[1](data(4, 16, seed=3 * i + 2, integers=True))
            found.append(state(net))
        return found

    wanted = work(None)
    for full_graph in MODES:
        for a, b in zip(work(full_graph), wanted, strict=True):
            assert_same(a, b)


def check_no_sync_inside_of_a_step(rank, size):
    def make(parallel):
        optimizer = paddle.optimizer.SGD(2.0**-6, parameters=parallel.parameters())

        def step(x):
            with parallel.no_sync():
                parallel(x).sum().backward()
            parallel(x + 1).sum().backward()
            optimizer.step()
            optimizer.clear_grad(False)

        return step

    compare(IntegerNet, make, 0.0, integers=True, one_graph=False, modes=(False,))


def check_mixed_precision(rank, size):
    def make(parallel):
        optimizer = paddle.optimizer.SGD(2.0**-6, parameters=parallel.parameters())

        def step(x):
            with paddle.amp.auto_cast(dtype="bfloat16"):
                loss = parallel(x).astype("float32").sum()
                loss.backward()
            optimizer.step()
            optimizer.clear_grad(False)

        return step

    compare(mlp, make, 2e-2)


def check_a_scaled_loss(rank, size):
    def make(parallel):
        optimizer = paddle.optimizer.SGD(2.0**-6, parameters=parallel.parameters())
        scaler = paddle.amp.GradScaler(init_loss_scaling=8.0, incr_every_n_steps=2)

        def step(x):
            loss = parallel(x).sum()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.clear_grad(False)

        return step

    compare(IntegerNet, make, 0.0, integers=True, one_graph=False, modes=(False,))


def check_batch_norm_over_the_ranks(rank, size):
    def make():
        paddle.seed(3)
        return nn.Sequential(nn.Linear(16, 16), nn.SyncBatchNorm(16), nn.Tanh(), nn.Linear(16, 16))

    def step_of(parallel):
        optimizer = paddle.optimizer.SGD(0.05, parameters=parallel.parameters())

        def step(x):
            parallel(x).pow(2).mean().backward()
            optimizer.step()
            optimizer.clear_grad(False)

        return step

    compare(make, step_of, 1e-4)


def check_recomputed_layers(rank, size):
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.first, self.second = IntegerNet(depth=2), IntegerNet(depth=1)

        def forward(self, x):
            return recompute(self.second, recompute(self.first, x, use_reentrant=False), use_reentrant=False)

    compare(Net, descent, 0.0, integers=True)


def check_one_rank_runs_what_others_have_captured(rank, size):
    """The first steps too, in which the buckets are made."""
    wanted, _, _ = train(IntegerNet, descent, None, integers=True, steps=4)
    for captured_first in MODES:
        net = IntegerNet()
        parallel = paddle.DataParallel(net, **SMALL)
        step = descent(parallel)
        captured = capture(step, False)
        for i in range(4):
            uses = (i + rank + captured_first) % 2
            (captured if uses else step)(data(4, 16, seed=i, integers=True))
            assert_same(state(net), wanted[i])


def check_eager_steps_after_captured_ones(rank, size):
    """Layers in two recomputed parts: their gradients come in two pieces, which no captured step tells."""

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.body = IntegerNet(depth=2)

        def forward(self, x):
            return recompute(self.body, recompute(self.body, x))

    net = Net()
    parallel = paddle.DataParallel(net, **SMALL)
    other = Net()
    twin = paddle.DataParallel(other, **SMALL)
    steps = [descent(parallel), descent(twin)]
    run = capture(steps[0], False)
    for i in range(5):
        x = data(4, 16, seed=i, integers=True)
        x.stop_gradient = False  # reentrant recomputation asks for it
        (run if i < 2 else steps[0])(x)
        steps[1](x)
        assert_same(state(net), state(other))


# --- parameters without a gradient


class Branches(nn.Layer):
    """Parameters that some calls do not use."""

    def __init__(self):
        super().__init__()
        self.body, self.left, self.right = IntegerNet(depth=1), IntegerNet(depth=1), IntegerNet(depth=1)

    def forward(self, x, way):
        x = self.body(x)
        if "l" in way:
            x = self.left(x)
        if "r" in way:
            x = self.right(x)
        return x


def check_unused_parameters(rank, size):
    """Everywhere, or on some of the ranks; with gradients from before, or none."""
    ways = ["lr", "l", "l" if rank else "r", "lr" if rank else "l", "lr"]
    for set_to_zero in (False, True):

        def work(full_graph, set_to_zero=set_to_zero):
            net = Branches()
            parallel = paddle.DataParallel(net, find_unused_parameters=True, **SMALL)
            optimizer = paddle.optimizer.SGD(2.0**-6, parameters=net.parameters())

            def step(x, way):
                parallel(x, way).sum().backward()
                optimizer.step()
                optimizer.clear_grad(set_to_zero)

            run = step if full_graph is None else capture(step, full_graph)
            found = []
            for i, way in enumerate(ways * 2):
                run(data(4, 16, seed=i, integers=True), way)
                found.append(state(net))
            return found

        for a, b in zip(work(False), work(None), strict=True):
            assert_same(a, b)


def check_a_missing_gradient_is_an_error_on_all_ranks(rank, size):
    net = Branches()
    parallel = paddle.DataParallel(net, **SMALL)
    optimizer = paddle.optimizer.SGD(2.0**-6, parameters=net.parameters())

    def step(x, way):
        parallel(x, way).sum().backward()
        optimizer.step()
        optimizer.clear_grad(False)

    run = capture(step, False)
    run(data(4, 16, integers=True), "lr")
    for _ in range(2):
        where = "on rank" if rank else "on another rank"
        with pytest.raises(RuntimeError, match=rf"none for \['right.layers.0.*{where}"):
            run(data(4, 16, integers=True), "l" if rank else "lr")
        optimizer.clear_grad(False)
    run(data(4, 16, integers=True), "lr")


def check_one_graph_of_a_step_that_leaves_parameters_out_is_refused(rank, size):
    net = Branches()
    parallel = paddle.DataParallel(net, find_unused_parameters=True, **SMALL)

    def step(x):
        parallel(x, "l").sum().backward()

    with pytest.raises(RuntimeError, match="depends on the other ranks"):
        capture(step, True)(data(4, 16, integers=True))


def check_rows_of_embeddings(rank, size):
    def work(full_graph):
        paddle.seed(4)
        net = nn.Sequential(nn.Embedding(12, 16, sparse=True), nn.Linear(16, 4))
        parallel = paddle.DataParallel(net, **SMALL)
        optimizer = paddle.optimizer.SGD(0.5, parameters=net.parameters())

        def step(ids):
            parallel(ids).pow(2).mean().backward()
            optimizer.step()
            optimizer.clear_grad(False)

        run = capture(step, False)
        for i in range(3):
            ids = paddle.to_tensor(np.random.default_rng((i, rank)).integers(0, 12, 6))
            (step if full_graph is None or not i else run)(ids)  # in the first one the buckets are made, for rows
        return {n: p.numpy() for n, p in net.named_parameters()}

    assert_same(work(False), work(None), 1e-5)


# --- overlap


class MarkedReduction(CapturedReduction):
    """Notes what it does. The others send their first bucket only when rank 0 has computed all of its gradients, and
    their last one only when rank 0 has made the updates of the first: had rank 0 waited for either earlier, nobody
    would go on."""

    def start(self, i, flat):
        world = comm.world()
        if world.rank and i in (0, len(self.buckets) - 1):
            world.recv_object(0)
        self.events.append(("start", i))
        super().start(i, flat)

    def finish(self, i):
        world = comm.world()
        self.events.append(("wait", i))
        if world.rank == 0 and i < 2:
            for other in range(1, world.size):
                world.send_object(i, other)
        super().finish(i)


def check_buckets_are_under_way_while_gradients_are_computed(rank, size):
    for full_graph in MODES:
        net = mlp(depth=4)
        parallel = paddle.DataParallel(net, **SMALL)
        run = capture(descent(parallel), full_graph)
        for i in range(2):
            run(data(4, 16, seed=i))
        (reduction,) = parallel._reducer.reductions.values()
        reduction.__class__, reduction.events = MarkedReduction, []
        run(data(4, 16, seed=2))
        count = len(parallel._reducer.buckets)
        assert count >= 4
        assert reduction.events == [("start", i) for i in range(count)] + [("wait", i) for i in range(count)]


def check_the_order_of_events(rank, size):
    """What a profile shows: buckets are started between operations of backward, and updates come one by one."""
    net = mlp(depth=4)
    parallel = paddle.DataParallel(net, **SMALL)
    run = capture(descent(parallel), False)
    for i in range(2):
        run(data(4, 16, seed=i))
    comm.world().barrier().wait()
    collector = EventCollector() if rank == 0 else None
    if collector is not None:
        collector.start()
    comm.world().barrier().wait()
    run(data(4, 16, seed=2))
    comm.world().barrier().wait()
    count = len(parallel._reducer.buckets)
    if collector is None:
        return
    recording = collector.stop()
    for thread in {e.thread for e in recording.of(COMMUNICATION)}:
        names = [e.name for e in sorted(recording.of(OPERATOR), key=lambda e: e.start) if e.thread == thread]
        starts = [i for i, name in enumerate(names) if name == "bucket_start"]
        waits = [i for i, name in enumerate(names) if name == "bucket_done"]
        assert len(starts) == len(waits) == count and starts[-1] < waits[0]
        # Each but the last layer's two is followed by gradients, and each wait by updates.
        assert all(b - a > 2 for a, b in zip(starts[:-2], starts[1:-1]))
        assert all(b - a >= 2 for a, b in zip(waits, [*waits[1:], len(names)]))
        sent = sorted((e for e in recording.of(COMMUNICATION) if e.thread == thread), key=lambda e: e.args["bucket"])
        assert [e.args["bucket"] for e in sent] == list(range(count))
        assert [e.name for e in sent] == [f"all_reduce of gradients {i}" for i in range(count)]


def check_buckets_that_were_made_before(rank, size):
    """Captured steps have those of steps as they were written; the first ones, those in the order of the parameters."""

    def buckets(parallel):
        return [[slot.name for slot in bucket.slots] for bucket in parallel._reducer.buckets]

    for full_graph in MODES:
        net = mlp()
        parallel = paddle.DataParallel(net, **SMALL)
        step = descent(parallel)
        run = capture(step, full_graph)
        step(data(4, 16))
        learned, before = buckets(parallel), parallel._reducer.buckets
        run(data(4, 16))
        assert parallel._reducer.buckets is before and len(learned) > 2
        _, _, other = train(mlp, descent, full_graph)
        names = [name for name, _ in net.named_parameters()]
        assert [name for bucket in buckets(other) for name in bucket] == names[::-1]
        assert [name for bucket in learned for name in bucket] != names[::-1]


def check_first_steps_that_are_captured_in_part_on_some_ranks(rank, size):
    """Statistics over the ranks in the forward pass, and parameters that rank 0 leaves out, whose step has a graph
    break: it comes to the messages of the first backward later than the others."""

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(16, 16), nn.SyncBatchNorm(16))
            self.branch = IntegerNet(depth=1)

        def forward(self, x):
            x = self.body(x)
            return self.branch(x) if rank else x

    paddle.seed(2)
    compare(
        lambda: (paddle.seed(2), Net())[1], descent, 1e-4, one_graph=False, modes=(False,), find_unused_parameters=True
    )


# --- failures


def check_a_rank_that_fails_is_told_to_the_others(rank, size):
    """A division by zero in the middle of backward, on one rank alone; the step after it is a step again."""

    def work(full_graph):
        net = IntegerNet(depth=3)
        parallel = paddle.DataParallel(net, **SMALL)

        def step(x, by):
            h = parallel(x)
            loss = (h * (6 // by).astype("float32")).sum()
            loss.backward()
            return loss

        run = step if full_graph is None else capture(step, full_graph)
        told = []
        for i in range(4):
            net.clear_gradients(False)
            fails = rank == size - 1 and i == 2
            try:
                run(data(4, 16, seed=i, integers=True), paddle.to_tensor([0 if fails else 2]))
            except (RuntimeError, ZeroDivisionError) as error:
                told.append((i, type(error).__name__, str(error)))
        return state(net), told

    wanted, _ = work_without_failure()
    for full_graph in MODES:
        found, told = work(full_graph)
        assert_same(found, wanted)
        ((at, kind, text),) = told
        assert at == 2
        assert kind == "ZeroDivisionError" if rank == size - 1 else "failed on another rank" in text, text


def work_without_failure():
    net = IntegerNet(depth=3)
    parallel = paddle.DataParallel(net, **SMALL)
    for i in range(4):
        net.clear_gradients(False)
        (parallel(data(4, 16, seed=i, integers=True)) * 3.0).sum().backward()
    return state(net), None


def check_a_reducer_that_is_made_anew(rank, size):
    net = IntegerNet()
    parallel = paddle.DataParallel(net, **SMALL)
    run = capture(descent(parallel), False)
    wanted, _, _ = train(IntegerNet, descent, None, integers=True)
    for i in range(3):
        run(data(4, 16, seed=i, integers=True))
        assert_same(state(net), wanted[i])
        parallel.init_reducer()
    assert isinstance(parallel._reducer, Reducer)
