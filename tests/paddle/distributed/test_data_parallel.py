"""DataParallel: ranks that share a batch train as one process with the whole batch does."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.distributed.fleet.utils import recompute
from umiak import comm
from umiak.comm.buckets import LeafGradient, cut

RANKS = [1, 2, 4]
BATCH = 8
SMALL = {"comm_buffer_size": 0.001, "last_comm_buffer_size": 0.0003}  # megabytes: several buckets for small models


def on(ranks, fn, *args):
    """What ``fn`` gives on each of some virtual ranks."""
    return comm.simulate(fn, ranks, *args, timeout=600.0)


def data(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def mine(x):
    """This rank's part of a batch."""
    world = comm.world()
    n = len(x) // world.size
    return paddle.to_tensor(x[world.rank * n : (world.rank + 1) * n])


def mlp(dtype="float32"):
    paddle.seed(3 + comm.world().rank)  # the ranks start differently: rank 0's parameters are taken
    net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3))
    return net if dtype == "float32" else net.astype(dtype)


def grads_of(layer):
    return {n: None if p.grad is None else p.grad.numpy().copy() for n, p in layer.named_parameters()}


def whole(fn, *args):
    """What ``fn`` gives in a process alone."""
    return on(1, fn, *args)[0]


def check_same(found, wanted, rtol=1e-5, atol=1e-6):
    for one in found:
        assert one.keys() == wanted.keys()
        for name, value in wanted.items():
            if value is None:
                assert one[name] is None, name
            else:
                np.testing.assert_allclose(one[name], value, rtol, atol, err_msg=name)


# --- training --------------------------------------------------------------------------------------------------------


def curve(make_optimizer, set_to_zero, dtype="float32", steps=4):
    net = mlp(dtype)
    parallel = paddle.DataParallel(net, **SMALL)
    optimizer = make_optimizer(net.parameters())
    losses = []
    for i in range(steps):
        x = mine(data(BATCH, 6, seed=i)).astype(dtype)
        loss = (parallel(x).astype("float64" if dtype == "float64" else "float32") ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad(set_to_zero)
        total = np.array([float(loss)])
        comm.world().all_reduce(total, total, "avg").wait()
        losses.append(total[0])
    return {"losses": np.array(losses), **{n: p.numpy().astype("float64") for n, p in net.named_parameters()}}


OPTIMIZERS = {
    "sgd": lambda p: paddle.optimizer.SGD(0.1, parameters=p),
    "clipped momentum": lambda p: paddle.optimizer.Momentum(
        0.1, parameters=p, grad_clip=nn.ClipGradByGlobalNorm(0.05), weight_decay=0.01
    ),
    "adamw": lambda p: paddle.optimizer.AdamW(0.01, parameters=p),
}


@pytest.mark.parametrize("set_to_zero", [True, False])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("ranks", [2, 4])
def test_training(ranks, optimizer, set_to_zero):
    alone = whole(curve, OPTIMIZERS[optimizer], set_to_zero)
    check_same(on(ranks, curve, OPTIMIZERS[optimizer], set_to_zero), alone, 1e-4, 1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_dtypes(dtype):
    tolerance = {"float16": 4e-3, "bfloat16": 3e-2, "float64": 1e-9}[dtype]
    alone = whole(curve, OPTIMIZERS["sgd"], False, dtype)
    found = on(2, curve, OPTIMIZERS["sgd"], False, dtype)
    check_same(found, alone, tolerance, tolerance)
    check_same(found[:1], found[1], 0, 0)  # the ranks agree to the last bit


def test_dtypes_of_one_model():
    def work():
        net = nn.Sequential(nn.Linear(6, 16), nn.Linear(16, 3))
        net[1].astype("bfloat16")
        parallel = paddle.DataParallel(net)
        x = mine(data(BATCH, 6))
        for _ in range(2):
            net.clear_gradients(False)
            net[1](net[0](x).astype("bfloat16")).astype("float32").mean().backward()
        if comm.world().size > 1:
            assert sorted(b.slots[0].leaf.dtype.name for b in parallel._reducer.buckets) == ["bfloat16", "float32"]
        return {n: p.grad.astype("float32").numpy() for n, p in net.named_parameters()}

    paddle.seed(1)
    check_same(on(2, work), on(2, work)[0], 0, 0)


def test_parameters_of_the_first_rank():
    def work():
        net = mlp()
        net.register_buffer("count", paddle.to_tensor([comm.world().rank, 5]))
        before = net[0].weight.numpy().copy()
        paddle.DataParallel(net)
        return before, {**{n: p.numpy() for n, p in net.named_parameters()}, "count": net.count.numpy()}

    (first, a), (second, b) = on(2, work)
    assert not np.array_equal(first, second)
    check_same([b], a, 0, 0)
    assert np.array_equal(a["0.weight"], first) and a["count"].tolist() == [0, 5]


# --- buckets ---------------------------------------------------------------------------------------------------------


def slots(*sizes, dtype="float32"):
    made = []
    for i, n in enumerate(sizes):
        made.append(LeafGradient(f"p{i}", paddle.zeros([n], dtype=dtype)))
    return made


def names(parts):
    return [[s.name for s in part] for part in parts]


def test_cut():
    assert names(cut(slots(10, 10, 10, 10, 10), set(), 80, 40)) == [["p0", "p1"], ["p2", "p3"], ["p4"]]
    assert names(cut(slots(10, 10, 10), set(), 1 << 20, 1 << 20)) == [["p0", "p1", "p2"]]
    assert names(cut(slots(30, 1, 30), set(), 8, 8)) == [["p0"], ["p1"], ["p2"]]  # what is larger is alone
    assert cut([], set(), 8, 8) == []


def test_cut_keeps_rows_alone():
    those = slots(2, 2, 2)
    assert names(cut(those, {id(those[1])}, 1 << 20, 1 << 20)) == [["p1"], ["p0", "p2"]]


def test_cut_by_dtype_in_the_order_of_the_last_gradient():
    a, b = slots(2, 2), slots(2, 2, dtype="float64")
    found = cut([a[0], b[0], b[1], a[1]], set(), 1 << 20, 1 << 20)
    assert found == [[b[0], b[1]], [a[0], a[1]]]


def test_large_models_have_several_buckets():
    parts = cut(slots(*[1 << 18] * 32), set(), 25 << 20, 1 << 20)
    assert len(parts) == 17 and [len(p) for p in parts] == [1, *[2] * 15, 1]


def test_order_of_the_first_rank():
    def work():
        net = mlp()
        parallel = paddle.DataParallel(net, **SMALL)
        x = mine(data(BATCH, 6))
        h = net[0](x)
        one, two = net[2](h).sum(), (h @ net[2].weight).sum()
        # A rank differentiates in an order of its own.
        (one + two + net[4](h).sum() if comm.world().rank else net[4](h).sum() + two + one).backward()
        return [[s.name for s in b.slots] for b in parallel._reducer.buckets]

    a, b = on(2, work)
    assert a == b and sorted(name for part in a for name in part) == sorted(n for n, _ in mlp().named_parameters())


def test_gradients_are_views_of_buckets():
    def work():
        net = mlp()
        parallel = paddle.DataParallel(net)
        for _ in range(2):
            net.clear_gradients(False)
            parallel(mine(data(BATCH, 6))).sum().backward()
        (bucket,) = parallel._reducer.buckets
        assert all(s.leaf.grad is s.view and s.view.data_ptr() % 64 == 0 for s in bucket.slots)
        base = bucket.flat.data_ptr()
        assert all(base <= s.view.data_ptr() < base + bucket.nbytes for s in bucket.slots)

    on(2, work)


@pytest.mark.parametrize("keep", ["tensor", "array", "view"])
def test_a_gradient_that_is_kept_stays(keep):
    def work():
        net = mlp()
        parallel = paddle.DataParallel(net)
        kept = []
        for i in range(4):
            net.clear_gradients(False)
            parallel(mine(data(BATCH, 6, seed=i))).sum().backward()
            g = net[2].weight.grad
            value = g.numpy().copy()
            kept.append((g if keep == "tensor" else g.numpy() if keep == "array" else g.flatten(), value))
            g = None
        for one, value in kept:
            assert np.array_equal(np.asarray(one).reshape(16, 16), value)

    on(2, work)


# --- what a step may do ----------------------------------------------------------------------------------------------


def test_no_sync():
    def work():
        net = mlp()
        parallel = paddle.DataParallel(net, **SMALL)
        found = []
        for _ in range(2):  # before the buckets are there, and afterwards
            net.clear_gradients(False)
            with parallel.no_sync():
                for i in range(2):
                    parallel(mine(data(BATCH, 6, seed=i))).mean().backward()
            found.append(grads_of(net))
            parallel(mine(data(BATCH, 6, seed=2))).mean().backward()
            found.append(grads_of(net))
        return found

    alone = whole(work)
    for ranks in (2, 4):
        every = on(ranks, work)
        assert not np.allclose(every[0][0]["0.weight"], every[1][0]["0.weight"])
        for i in (1, 3):
            check_same([found[i] for found in every], alone[i])
        mean = np.mean([found[2]["0.weight"] for found in every], 0)
        np.testing.assert_allclose(mean, alone[2]["0.weight"], 1e-5, 1e-6)


@pytest.mark.parametrize("ranks", [2, 4])
def test_two_backwards_in_a_step(ranks):
    def work():
        net = mlp()
        parallel = paddle.DataParallel(net, **SMALL)
        for _ in range(2):
            net.clear_gradients(False)
            y = parallel(mine(data(BATCH, 6)))
            y.mean().backward(retain_graph=True)
            (y * y).mean().backward()
        return grads_of(net)

    check_same(on(ranks, work), whole(work))


class Tied(nn.Layer):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(12, 4)
        self.inner = nn.Linear(4, 4)

    def forward(self, ids):
        return self.inner(self.table(ids)) @ self.table.weight.t()


def test_shared_parameters():
    def work():
        paddle.seed(1)
        net = Tied()
        parallel = paddle.DataParallel(net, **SMALL)
        ids = np.random.default_rng(0).integers(0, 12, (BATCH, 3))
        for _ in range(3):
            net.clear_gradients(False)
            parallel(mine(ids)).pow(2).mean().backward()
        return grads_of(net)

    check_same(on(2, work), whole(work))


def test_hooks_see_what_the_rank_has_computed():
    def work():
        net = mlp()
        seen = []
        net[0].weight.register_hook(lambda g: seen.append(g.numpy().copy()))
        parallel = paddle.DataParallel(net)
        handle = net[2].weight.register_hook(lambda g: g * 2)
        for i in range(2):
            net.clear_gradients(False)
            parallel(mine(data(BATCH, 6))).mean().backward()
            if not i:
                first = net[2].weight.grad.numpy().copy()
                handle.remove()
        np.testing.assert_allclose(first, 2 * net[2].weight.grad.numpy(), 1e-6)
        return seen[-1], net[0].weight.grad.numpy()

    (a, mean), (b, _) = on(2, work)
    np.testing.assert_allclose((a + b) / 2, mean, 1e-5, 1e-7)


def test_gradients_of_gradients():
    def work(refused=False):
        net = mlp()
        parallel = paddle.DataParallel(net, **SMALL)
        for _ in range(2):
            net.clear_gradients(False)
            x = mine(data(BATCH, 6))
            x.stop_gradient = False
            y = parallel(x)
            if refused:
                with pytest.raises(RuntimeError, match="create_graph"):
                    paddle.autograd.backward([y.mean()], [None], retain_graph=True)
                    paddle.grad(y.sum(), x, create_graph=True)
                    y.mean().backward(create_graph=True)
            (g,) = paddle.grad(y.sum(), x, create_graph=True)
            (y.mean() + (g * g).mean()).backward()
        return grads_of(net)

    check_same(on(2, work), whole(work))


def test_backward_with_create_graph_is_refused():
    def work():
        net = mlp()
        parallel = paddle.DataParallel(net)
        from umiak.core import tape

        with pytest.raises(RuntimeError, match="without create_graph"):
            tape.backward([parallel(mine(data(BATCH, 6))).mean()], create_graph=True)

    on(2, work)


def test_grad_leaves_gradients_alone():
    def work():
        net = mlp()
        parallel = paddle.DataParallel(net)
        (g,) = paddle.grad(parallel(mine(data(BATCH, 6))).mean(), [net[0].weight])
        assert net[0].weight.grad is None
        return {"g": g.numpy()}

    a, b = on(2, work)
    np.testing.assert_allclose((a["g"] + b["g"]) / 2, whole(work)["g"], 1e-5, 1e-7)


# --- parameters without a gradient -----------------------------------------------------------------------------------


class Branches(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = (nn.Linear(6, 4) for _ in range(3))

    def forward(self, x, which):
        return sum(getattr(self, name)(x) for name in which)


def branches(which_of, **options):
    """Gradients after two steps, in each of which a rank uses the branches that ``which_of(step, rank)`` names."""
    net = Branches()
    parallel = paddle.DataParallel(net, **SMALL, **options)
    x = mine(data(BATCH, 6))
    found = []
    for step in range(3):
        net.clear_gradients(False)
        which = which_of(step, comm.world().rank)
        if which:
            parallel(x, which).mean().backward()
        found.append(grads_of(net))
    return found


def test_missing_gradients_are_named():
    def work(which_of):
        try:
            branches(which_of)
        except RuntimeError as error:
            return str(error)

    texts = on(2, work, lambda step, rank: ["first", "second"])
    for rank, text in enumerate(texts):
        assert f"none for ['third.bias', 'third.weight'] on rank {rank}" in text, text
        assert "find_unused_parameters=True" in text and "another rank" not in text
    texts = on(2, work, lambda step, rank: ["first", "second", "third"][: 2 if rank and step == 2 else 3])
    assert "third.weight" in texts[0] and "third.bias" in texts[0] and "on another rank" in texts[0]
    assert "third.weight" in texts[1] and "third.bias" in texts[1] and "on rank 1" in texts[1]


def test_unused_parameters():
    use = {
        0: (["first"], ["first", "second"]),
        1: (["second"], ["first"]),
        2: (["first", "second", "third"], ["third"]),
    }
    found = on(2, lambda: branches(lambda step, rank: use[step][rank], find_unused_parameters=True))
    for a, b in zip(*found):
        check_same([b], a, 0, 0)
    first, second, third = found[0]
    assert first["third.weight"] is None and second["third.weight"] is None and third["third.weight"] is not None
    x = data(BATCH, 6)
    one, other = x[:4].sum(0) / 16, x[4:].sum(0) / 16
    np.testing.assert_allclose(first["first.weight"][:, 0], (one + other) / 2, 1e-5, 1e-6)
    np.testing.assert_allclose(first["second.weight"][:, 0], other / 2, 1e-5, 1e-6)
    np.testing.assert_allclose(second["second.weight"][:, 0], one / 2, 1e-5, 1e-6)
    np.testing.assert_allclose(third["first.weight"][:, 0], one / 2, 1e-5, 1e-6)


def test_unused_parameters_keep_what_they_have():
    """Accumulated before, not reached by the run that reduces."""

    def work():
        paddle.seed(1)
        net = Branches()
        parallel = paddle.DataParallel(net, find_unused_parameters=True, **SMALL)
        x = mine(data(BATCH, 6))
        for _ in range(2):
            net.clear_gradients(False)
            with parallel.no_sync():
                parallel(x, ["first", "second"]).mean().backward()
            parallel(x, ["second"]).mean().backward()
        return grads_of(net)

    check_same(on(2, work), whole(work))


def test_unused_parameters_do_not_hold_back_their_bucket():
    def work():
        net = Branches()
        parallel = paddle.DataParallel(net, find_unused_parameters=True)
        x = mine(data(BATCH, 6))
        reducer = parallel._reducer
        for which in (["first", "second", "third"], ["second"]):
            net.clear_gradients(False)
            parallel(x, which).mean().backward()
            early = reducer.started_early
        assert early == len(reducer.buckets) == 1

    on(2, work)


def test_frozen_later():
    def work():
        net = mlp()
        parallel = paddle.DataParallel(net, **SMALL)
        found = []
        for step in range(5):
            net.clear_gradients(False)
            net[0].weight.stop_gradient = net[4].bias.stop_gradient = step in (1, 2)
            parallel(mine(data(BATCH, 6, seed=step))).mean().backward()
            found.append(grads_of(net))
        return found

    alone = whole(work)
    assert alone[1]["0.weight"] is None and alone[4]["0.weight"] is not None
    for found in on(2, work):
        for a, b in zip(found, alone):
            check_same([a], b)


def test_frozen_on_one_rank_only():
    def work():
        net = mlp()
        parallel = paddle.DataParallel(net)
        net[0].weight.stop_gradient = comm.world().rank == 1
        with pytest.raises(RuntimeError, match=r"stop_gradient of \['0.weight'\] different"):
            parallel(mine(data(BATCH, 6))).mean().backward()

    on(2, work)


# --- sparse gradients ------------------------------------------------------------------------------------------------


def sparse(ids_of, steps=3, accumulate=1, sparse=True, **options):
    paddle.seed(1)
    table = nn.Embedding(20, 4, sparse=sparse)
    net = nn.Sequential(table, nn.Linear(4, 4))
    parallel = paddle.DataParallel(net, **SMALL, **options)
    optimizer = paddle.optimizer.SGD(0.5, parameters=net.parameters())
    for step in range(steps):
        for _ in range(accumulate):
            parallel(paddle.to_tensor(ids_of(step))).pow(2).sum().backward()
        assert table.weight.grad.is_selected_rows() == sparse
        optimizer.step()
        optimizer.clear_grad(False)
    return {n: p.numpy() for n, p in net.named_parameters()}


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("ranks", [2, 3])
def test_sparse_gradients(ranks, accumulate):
    def ids(step):
        rng = np.random.default_rng((step, comm.world().rank))
        return rng.integers(0, 20, 3 + 2 * comm.world().rank)  # the ranks have different numbers of rows

    found = on(ranks, lambda: sparse(ids, accumulate=accumulate))
    dense = on(ranks, lambda: sparse(ids, accumulate=accumulate, sparse=False))
    check_same(found, dense[0])


def test_sparse_gradients_of_some_ranks():
    def work(kind):
        paddle.seed(1)
        table = nn.Embedding(10, 4, sparse=kind)
        head = nn.Linear(4, 4)
        net = nn.LayerList([table, head])
        paddle.DataParallel(net, find_unused_parameters=True)
        found = []
        for step in range(3):
            net.clear_gradients(False)
            x = paddle.ones([2, 4])
            if (step + comm.world().rank) % 2 == 0:
                x = table(paddle.to_tensor([1, step + 2]))
            head(x).sum().backward()
            g = table.weight.grad
            found.append(g.to_dense().numpy() if kind else g.numpy())
        return dict(enumerate(found))

    check_same(on(2, lambda: work(True)), on(2, lambda: work(False))[0])


def test_a_dense_gradient_where_there_were_rows():
    def work(kind):
        paddle.seed(1)
        table = nn.Embedding(10, 4, sparse=kind)
        paddle.DataParallel(table)
        found = []
        for step in range(3):
            table.clear_gradients(False)
            y = table(paddle.to_tensor([comm.world().rank, 4])).sum()
            (y + (table.weight * table.weight).sum() if step == 1 else y).backward()
            g = table.weight.grad
            found.append(g.to_dense().numpy() if g.is_selected_rows() else g.numpy())
        return dict(enumerate(found))

    check_same(on(2, lambda: work(True)), on(2, lambda: work(False))[0])


# --- mixed precision, recompute, capture -----------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [2])
def test_scaler_agrees_on_infinite_gradients(ranks):
    def work():
        net = mlp()
        parallel = paddle.DataParallel(net, **SMALL)
        optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
        scaler = paddle.amp.GradScaler(init_loss_scaling=8.0)
        scales, weights = [], []
        for step in range(3):
            x = mine(data(BATCH, 6, seed=step))
            if step == 1 and comm.world().rank == 1:
                x = x * float("inf")
            with paddle.amp.auto_cast(dtype="float16"):
                loss = parallel(x).astype("float32").mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.clear_grad()
            scales.append(float(scaler._scale))
            weights.append(net[0].weight.numpy().copy())
        return scales, weights

    for scales, weights in on(ranks, work):
        assert scales == [8.0, 4.0, 4.0]
        assert np.array_equal(weights[0], weights[1]) and not np.array_equal(weights[1], weights[2])


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_recompute(use_reentrant):
    def work(again):
        net = mlp()
        parallel = paddle.DataParallel(net, **SMALL)
        for i in range(3):
            net.clear_gradients(False)
            x = mine(data(BATCH, 6, seed=i))
            h = net[1](net[0](x))
            # Two parts share a layer: its gradient comes in two pieces.
            for _ in range(2):
                h = recompute(net[2], h, use_reentrant=use_reentrant) if again else net[2](h)
            net[4](h).mean().backward()
        assert comm.world().size == 1 or parallel._reducer.slots[2].name == "2.weight"
        return grads_of(net)

    alone = whole(work, False)
    check_same(on(2, work, True), alone)


def test_more_gradients_than_before_are_refused():
    def work():
        net = mlp()
        parallel = paddle.DataParallel(net, **SMALL)
        x = mine(data(BATCH, 6))
        texts = []
        for times in (1, 1, 2, 2):
            net.clear_gradients(False)
            h = net[1](net[0](x))
            for _ in range(times):
                h = recompute(net[2], h)
            try:
                net[4](h).mean().backward()
            except RuntimeError as error:
                texts.append(str(error))
        assert parallel is not None
        return texts, grads_of(net)

    (a, first), (b, second) = on(2, work)
    assert len(a) == len(b) == 1 and "use_reentrant=False" in a[0]
    check_same([first], second, 0, 0)


@pytest.mark.parametrize("set_to_zero", [True, False])
@pytest.mark.parametrize("ranks", RANKS)
def test_captured_steps(ranks, set_to_zero):
    def work(captured):
        net = mlp()
        parallel = paddle.DataParallel(net, **SMALL)
        optimizer = paddle.optimizer.AdamW(0.01, parameters=net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(0.05))

        def step(x):
            loss = (parallel(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad(set_to_zero)
            return loss

        run = paddle.jit.to_static(step) if captured else step
        for i in range(4):
            run(mine(data(BATCH, 6, seed=i)))
        return {n: p.numpy() for n, p in net.named_parameters()}

    found = on(ranks, work, True)
    check_same(found, on(ranks, work, False)[0])
    check_same(found[1:], found[0], 0, 0)


def test_captured_accumulation():
    def work(captured):
        net = mlp()
        parallel = paddle.DataParallel(net, **SMALL)

        def step(x):
            loss = (parallel(x) ** 2).mean()
            loss.backward()
            return loss

        run = paddle.jit.to_static(step) if captured else step
        found = []
        for _ in range(2):
            net.clear_gradients(False)
            for i in range(4):
                if i < 3:
                    with parallel.no_sync():
                        run(mine(data(BATCH, 6, seed=i)))
                else:
                    run(mine(data(BATCH, 6, seed=i)))
            found.append(grads_of(net))
        return found

    alone = whole(work, False)
    for found in on(2, work, True):
        for a, b in zip(found, alone):
            check_same([a], b)


def test_captured_layers():
    def work(captured):
        net = mlp()
        parallel = paddle.DataParallel(net, **SMALL)
        run = paddle.jit.to_static(net) if captured else parallel
        for i in range(3):
            net.clear_gradients(False)
            run(mine(data(BATCH, 6, seed=i))).mean().backward()
        return grads_of(net)

    check_same(on(2, work, True), whole(work, False))


# --- errors ----------------------------------------------------------------------------------------------------------


class Failing(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x, fail):
        ctx.fail = fail
        return x * 1

    @staticmethod
    def backward(ctx, g):
        if ctx.fail:
            raise ZeroDivisionError("on purpose")
        return g


@pytest.mark.parametrize("first_step", [True, False])
def test_an_error_in_backward_leaves_a_clean_state(first_step):
    def work():
        net = mlp()
        parallel = paddle.DataParallel(net, **SMALL)
        found = []
        for step in range(3):
            net.clear_gradients(False)
            x = mine(data(BATCH, 6, seed=step))
            h = Failing.apply(net[2](net[1](net[0](x))), comm.world().rank == 1 and step == (0 if first_step else 1))
            try:
                net[4](h).mean().backward()
                found.append(grads_of(net))
            except Exception as error:
                found.append(repr(error))
        assert parallel is not None
        return found

    good, bad = on(2, work)
    failed = 0 if first_step else 1
    assert "ZeroDivisionError" in bad[failed] and "failed on another rank" in good[failed]
    for step in {0, 1, 2} - {failed}:
        check_same([good[step]], bad[step], 0, 0)


def test_different_models():
    def work():
        net = nn.Linear(3, 3 + comm.world().rank)
        with pytest.raises(ValueError, match=r"weight float32\[3, 3\] on rank 0 and weight float32\[3, 4\] on rank 1"):
            paddle.DataParallel(net)
        assert comm.world().rank == 0 or net.weight.shape == [3, 4]

    def first_only():
        work() if comm.world().rank == 0 else _other()

    def _other():
        with pytest.raises(ValueError, match=r"weight float32\[3, 4\] on rank 1 and weight float32\[3, 3\] on rank 0"):
            paddle.DataParallel(nn.Linear(3, 4))

    on(2, first_only)


def test_arguments():
    with pytest.raises(TypeError, match="a layer"):
        paddle.DataParallel(3)
    with pytest.raises(ValueError, match="last_comm_buffer_size above 0"):
        paddle.DataParallel(nn.Linear(2, 2), last_comm_buffer_size=0)
    frozen = nn.Linear(2, 2)
    frozen.requires_grad_(False)
    with pytest.raises(ValueError, match="parameters to be trained"):
        paddle.DataParallel(frozen)


def test_a_parameter_has_one_reducer():
    def work():
        net = mlp()
        one = paddle.DataParallel(net)
        if comm.world().size > 1:
            with pytest.raises(ValueError, match="nobody else takes"):
                paddle.DataParallel(net)
            one.init_reducer()
        one(mine(data(BATCH, 6))).mean().backward()
        return grads_of(net)

    check_same(on(2, work), whole(work))


def test_alone_it_is_the_layer():
    net = nn.Linear(2, 2)
    parallel = paddle.DataParallel(net)
    assert list(parallel.state_dict()) == ["weight", "bias"] and parallel._reducer is None
    assert [n for n, _ in parallel.named_parameters()] == ["_layers.weight", "_layers.bias"]
    other = nn.Linear(2, 2)
    for load in (parallel.set_state_dict, parallel.set_dict, parallel.load_dict):
        assert load(other.state_dict()) == ([], [])
    assert np.array_equal(net.weight.numpy(), other.weight.numpy())
    loss = parallel(paddle.ones([1, 2])).sum()
    assert parallel.scale_loss(loss) is loss and parallel.apply_collective_grads() is None
    parallel.eval()
    assert not net.training


def test_groups_of_some_ranks():
    def work():
        group = [paddle.distributed.new_group([0, 1]), paddle.distributed.new_group([2, 3])][comm.world().rank // 2]
        net = mlp()
        parallel = paddle.DataParallel(net, group=group, **SMALL)
        for i in range(2):
            net.clear_gradients(False)
            parallel(mine(data(BATCH, 6, seed=i))).mean().backward()
        return grads_of(net)

    a, b, c, d = on(4, work)
    check_same([b], a, 0, 0)
    check_same([d], c, 0, 0)
    assert not np.allclose(a["0.weight"], c["0.weight"])


def test_a_model_of_two_parts():
    """Two wrappers that one backward reaches."""

    def work():
        one, two = mlp(), nn.Linear(3, 2)
        parts = paddle.DataParallel(one, **SMALL), paddle.DataParallel(two, **SMALL)
        for i in range(3):
            for part in (one, two):
                part.clear_gradients(False)
            parts[1](parts[0](mine(data(BATCH, 6, seed=i)))).mean().backward()
        return {**grads_of(one), **{f"two.{n}": g for n, g in grads_of(two).items()}}

    paddle.seed(2)
    found = on(2, work)
    check_same(found[1:], found[0], 0, 0)


# --- batch norm over all ranks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [2, 4])
def test_sync_batch_norm(ranks):
    def work():
        paddle.seed(1)
        net = nn.Sequential(nn.Conv2D(2, 4, 3), nn.BatchNorm2D(4), nn.ReLU(), nn.Conv2D(4, 2, 3))
        net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
        parallel = paddle.DataParallel(net, **SMALL)
        optimizer = paddle.optimizer.SGD(0.5, parameters=net.parameters())
        outs = []
        for i in range(3):
            x = mine(data(BATCH, 2, 6, 6, seed=i) + 3)
            optimizer.clear_grad(False)
            y = parallel(x)
            y.pow(2).mean().backward()
            optimizer.step()
            outs.append(y.numpy())
        return {**grads_of(net), **{f"value of {n}": p.numpy() for n, p in net.named_parameters()}}, outs

    alone, outs = whole(work)
    every = on(ranks, work)
    check_same([found for found, _ in every], alone, 1e-4, 1e-5)
    for i, wanted in enumerate(outs):
        np.testing.assert_allclose(np.concatenate([made[i] for _, made in every]), wanted, 1e-4, 1e-4)


def test_sync_batch_norm_of_a_group():
    def work():
        group = [paddle.distributed.new_group([0, 1]), paddle.distributed.new_group([2, 3])][comm.world().rank // 2]
        net = nn.Sequential(nn.SyncBatchNorm(3))
        paddle.DataParallel(net, group=group)
        x = mine(data(8, 3))
        return net(x).numpy()

    found = on(4, work)
    x = data(8, 3)
    for half in (0, 1):
        part = x[4 * half : 4 * half + 4]
        wanted = (part - part.mean(0)) / np.sqrt(part.var(0) + 1e-5)
        np.testing.assert_allclose(np.concatenate(found[2 * half : 2 * half + 2]), wanted, 1e-4, 1e-4)


def test_cross_entropy_of_logits():
    """A loss as programs have it, on the mean of equal parts."""

    def work():
        net = mlp()
        parallel = paddle.DataParallel(net)
        labels = np.random.default_rng(5).integers(0, 3, BATCH)
        F.cross_entropy(parallel(mine(data(BATCH, 6))), mine(labels)).backward()
        return grads_of(net)

    check_same(on(4, work), whole(work))


def test_parameters_of_one_rank_for_all():
    """``sync_params_buffers`` leaves experts and what is cut alone, and takes the values of a rank of the group."""
    from paddle.distributed.parallel import sync_params_buffers

    def run():
        net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1D(2), nn.Linear(2, 1))
        for x in (*net.parameters(), *net.buffers()):
            with paddle.no_grad():
                x.fill_(float(comm.world().rank))
        net[0].bias.no_sync = net[2].weight.no_sync = True
        net[2].weight.expert = net[0].weight.is_distributed = True
        sync_params_buffers(net, src_rank=2)
        first = {n: x.mean().item() for n, x in net.named_parameters()}
        with paddle.no_grad():
            net[0].weight.fill_(comm.world().rank)
        sync_params_buffers(net, src_rank=1, is_model_parallel=True, is_moe_sharding_parallel=True)
        return first, {n: x.mean().item() for n, x in net.named_parameters()}

    for rank, (first, second) in enumerate(on(3, run)):
        own = {"0.bias": rank, "2.weight": rank}
        assert first == {**dict.fromkeys(first, 2.0), **own} and "1._mean" in first
        assert second == {**first, "0.weight": rank, "2.weight": 1.0}  # that of the expert is rank 1's
