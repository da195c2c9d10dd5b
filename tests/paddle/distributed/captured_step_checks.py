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
    for n, p in net.named_parameters():
        g = p.grad
        if g is not None and g.is_selected_rows():
            g = g.to_dense()
        out[f"grad of {n}"] = None if g is None else g.numpy().copy()
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


def check_buckets_that_are_equal(rank, size):
    """Layers side by side have the same gradients, each in a bucket of its own, over which its mean is written."""

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.sides = nn.LayerList([nn.Linear(16, 16, bias_attr=False) for _ in range(3)])
            for side in self.sides:
                side.weight.set_value(np.eye(16, dtype="float32"))

        def forward(self, x):
            return self.sides[0](x) + self.sides[1](x) + self.sides[2](x)

    compare(Net, descent, 0.0, integers=True)


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
    """The first steps too, in which the buckets are made; with rows, and with a layer that nobody uses."""

    def integers(i):
        return data(4, 16, seed=i, integers=True)

    def ids(i):
        return ids_of(rank, i)

    for make, given in ((IntegerNet, integers), (Table, ids), (Unfinished, integers)):
        for captured_first in (None, *MODES):
            net = make()
            parallel = paddle.DataParallel(net, find_unused_parameters=make is Unfinished, **SMALL)
            step = descent(parallel)
            captured, found = capture(step, False), []
            for i in range(4):
                uses = captured_first is not None and (i + rank + captured_first) % 2
                (captured if uses else step)(given(i))
                found.append(state(net))
            if captured_first is None:
                wanted = found
            for a, b in zip(found, wanted, strict=True):
                assert_same(a, b, 1e-5 if make is Unfinished else 0.0)


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
    """Everywhere, or on some of the ranks; with gradients from before, or none. Where it depends on the other ranks
    whether there is one, the rest of the step is a graph of its own, for either answer."""
    ways = ["lr", "l", "r", "l" if rank else "r", "lr" if rank else "l", "lr"]
    for set_to_zero in (False, True):

        def work(full_graph, set_to_zero=set_to_zero):
            net = Branches()
            parallel = paddle.DataParallel(net, find_unused_parameters=True, **SMALL)
            optimizer = paddle.optimizer.SGD(2.0**-6, parameters=net.parameters())

            def step(x, way):
                loss = parallel(x, way).sum()
                loss.backward()
                missing = [p.grad is None for p in net.parameters()]
                optimizer.step()
                optimizer.clear_grad(set_to_zero)
                return loss, missing

            run = step if full_graph is None else capture(step, full_graph)
            found = []
            for i, way in enumerate(ways * 2):
                loss, missing = run(data(4, 16, seed=i, integers=True), way)
                found.append({**state(net), "loss": loss.numpy(), "missing": np.array(missing)})
            assert_one_graph(run)
            return found

        wanted = work(None)
        if not set_to_zero:
            assert len({tuple(one["missing"].tolist()) for one in wanted}) > 2
        for full_graph in MODES:
            for a, b in zip(work(full_graph), wanted, strict=True):
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


def check_a_graph_cannot_end_in_a_handler_of_exceptions(rank, size):
    """The call runs as it was written, and says why."""
    gradients = []
    for captured in (False, True):
        paddle.seed(3)
        net = Branches()
        parallel = paddle.DataParallel(net, find_unused_parameters=True, **SMALL)

        def step(x, parallel=parallel):
            try:
                raise ValueError
            except ValueError:
                parallel(x, "l").sum().backward()

        run = capture(step, True) if captured else step
        run(data(4, 16, integers=True))
        gradients.append([None if p.grad is None else p.grad.numpy() for p in net.parameters()])
    np.testing.assert_equal(*gradients)
    (why,) = run.fallbacks
    assert "depends on the other ranks" in why


# --- tables whose gradients are rows


class Table(nn.Layer):
    """Rows of a table, looked up twice, through integers."""

    def __init__(self):
        super().__init__()
        draw = np.random.default_rng(6)
        self.table, self.body = nn.Embedding(12, 16, sparse=True), IntegerNet(depth=2)
        self.table.weight.set_value(draw.integers(-2, 3, (12, 16)).astype("float32"))

    def forward(self, ids, used=True):
        x = self.table(ids) + self.table(ids + 1) if used else paddle.ones([4, 16])
        return self.body(x)


def ids_of(rank, step):
    return paddle.to_tensor(np.random.default_rng((step, rank)).integers(0, 11, 3 + rank + step // 2))


def check_rows_of_embeddings(rank, size):
    """Ranks look up other numbers of rows; of these alone there are messages."""
    for written_first in (False, True):  # in the first step the buckets are made

        def work(full_graph, written_first=written_first):
            net = Table()
            parallel = paddle.DataParallel(net, **SMALL)
            optimizer = paddle.optimizer.SGD(2.0**-6, parameters=net.parameters())

            def step(ids):
                parallel(ids).sum().backward()
                optimizer.step()
                optimizer.clear_grad(False)

            run = step if full_graph is None else capture(step, full_graph)
            found = []
            for i in range(4):
                (step if written_first and not i else run)(ids_of(rank, i))
                found.append(state(net))
            (rows,) = [bucket for bucket in parallel._reducer.buckets if bucket.by_rows]
            counts = [2 * (3 + r + 3 // 2) for r in range(size)]
            assert rows.exchange.all[:, 0].tolist() == counts
            assert_one_graph(run)
            return found

        wanted = work(None)
        for full_graph in MODES:
            for a, b in zip(work(full_graph), wanted, strict=True):
                assert_same(a, b)


def check_rows_that_some_ranks_do_not_look_up(rank, size):
    def work(full_graph):
        net = Table()
        parallel = paddle.DataParallel(net, find_unused_parameters=True, **SMALL)

        def step(ids, used):
            parallel(ids, used).sum().backward()

        run = step if full_graph is None else capture(step, full_graph)
        found = []
        for i, used in enumerate([rank == 0, False, rank == 1, True]):
            for p in net.parameters():
                p.clear_gradient(False)
            run(ids_of(rank, i), used)
            g = net.table.weight.grad
            found.append({"rows": None if g is None else (g.to_dense() if g.is_selected_rows() else g).numpy()})
        assert_one_graph(run)
        return found

    wanted = work(None)
    assert [one["rows"] is None for one in wanted] == [False, True, False, False]
    for full_graph in MODES:
        for a, b in zip(work(full_graph), wanted, strict=True):
            assert_same(a, b)


# --- overlap


class Unfinished(nn.Layer):
    """One of its layers is used on no rank."""

    def __init__(self):
        super().__init__()
        self.body, self.unused = mlp(depth=4), nn.Linear(16, 16)

    def forward(self, x):
        return self.body(x)


class MarkedReduction(CapturedReduction):
    """Notes what it does. The others send their first bucket only when rank 0 has computed all of its gradients, and
    their last one only when rank 0 has made the updates of the first: had rank 0 waited for either earlier, nobody
    would go on."""

    def _begin(self, i, one):
        world = comm.world()
        if world.rank and i in (0, len(self.buckets) - 1):
            world.recv_object(0)
        self.events.append(("start", i))
        super()._begin(i, one)

    def finish(self, i):
        world = comm.world()
        self.events.append(("wait", i))
        if world.rank == 0 and i < 2:
            for other in range(1, world.size):
                world.send_object(i, other)
        super().finish(i)


def check_buckets_are_under_way_while_gradients_are_computed(rank, size):
    for full_graph, make, given in [
        *((mode, lambda: mlp(depth=4), lambda seed: data(4, 16, seed=seed)) for mode in MODES),
        (True, lambda: nn.Sequential(Table(), *mlp(depth=3)), lambda seed: ids_of(rank, 0)),
        (False, Unfinished, lambda seed: data(4, 16, seed=seed)),
    ]:
        net = make()
        parallel = paddle.DataParallel(net, find_unused_parameters=make is Unfinished, **SMALL)
        run = capture(descent(parallel), full_graph)
        for i in range(2):
            run(given(i))
        (reduction,) = parallel._reducer.reductions.values()
        reduction.__class__, reduction.events = MarkedReduction, []
        run(given(2))
        assert_one_graph(run)
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

    def work(full_graph, make):
        net = make()
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
                x = ids_of(rank, i) if make is Table else data(4, 16, seed=i, integers=True)
                run(x, paddle.to_tensor([0 if fails else 2]))
            except (RuntimeError, ZeroDivisionError) as error:
                told.append((i, type(error).__name__, str(error)))
        return state(net), told

    for make, full_graph in [(make, mode) for make in (IntegerNet, Table) for mode in MODES]:
        wanted, _ = work_without_failure(make)
        found, told = work(full_graph, make)
        assert_same(found, wanted)
        ((at, kind, text),) = told
        assert at == 2
        assert kind == "ZeroDivisionError" if rank == size - 1 else "failed on another rank" in text, text


def work_without_failure(make):
    net = make()
    parallel = paddle.DataParallel(net, **SMALL)
    for i in range(4):
        net.clear_gradients(False)
        x = ids_of(comm.world().rank, i) if make is Table else data(4, 16, seed=i, integers=True)
        (parallel(x) * 3.0).sum().backward()
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
