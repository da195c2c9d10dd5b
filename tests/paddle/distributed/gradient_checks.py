"""Gradients of the operations among ranks, against NumPy; and captured programs against eager calls.

A value that is equal on all ranks has an equal gradient, which counts once; one that differs has the gradient of the
sum of what the ranks compute.
"""

from __future__ import annotations

import functools

import numpy as np

import paddle
import paddle.distributed as dist
from umiak import ops as F
from umiak.core.array import from_numpy, to_numpy

NAMES = {"sum": "SUM", "max": "MAX", "min": "MIN", "prod": "PROD", "avg": "AVG"}


def data(rank, shape, salt=0):
    return np.random.default_rng([rank, salt, 11]).uniform(0.5, 2.0, shape)


def leaf(array):
    x = from_numpy(np.asarray(array))
    x.stop_gradient = False
    return x


def close(x, expected):
    assert x is not None
    np.testing.assert_allclose(to_numpy(x), expected, rtol=1e-12, atol=1e-12)


def ways(test):
    """Run a check for synchronous, asynchronous and captured calls."""

    @functools.wraps(test)
    def check(rank, size):
        for sync in (True, False):
            test(rank, size, lambda f: f, sync)
        test(rank, size, paddle.jit.to_static, True)

    return check


def finish(task, sync):
    assert task is not None
    if not sync:
        task.wait()


def run(function, wrap, x, c):
    """The outputs of ``function`` on the leaf x, and the gradient of their sum weighted by ``c``."""
    w = leaf(x)
    out = wrap(function)(w)
    F.sum(F.mul(out, from_numpy(c)), axes=tuple(range(out.ndim))).backward()
    return out, w.grad


@ways
def check_all_reduce(rank, size, wrap, sync):
    each = np.stack([data(r, (2, 3)) for r in range(size)])
    c = data(0, (2, 3), salt=9)
    total = {"sum": each.sum(0), "avg": each.mean(0), "max": each.max(0), "min": each.min(0), "prod": each.prod(0)}
    slope = {
        "sum": np.ones((2, 3)),
        "avg": np.full((2, 3), 1 / size),
        "max": each[rank] == each.max(0),
        "min": each[rank] == each.min(0),
        "prod": each.prod(0) / each[rank],
    }
    for name, expected in total.items():

        def f(w, name=name):
            x = w * 1.0
            finish(dist.all_reduce(x, getattr(dist.ReduceOp, NAMES[name]), sync_op=sync), sync)
            return x

        out, grad = run(f, wrap, each[rank], c)
        close(out, expected)
        close(grad, c * slope[name])


@ways
def check_reduce(rank, size, wrap, sync):
    each, c = [data(r, (2, 3)) for r in range(size)], [data(r, (2, 3), salt=9) for r in range(size)]
    root = size - 1

    def f(w):
        x = w * 1.0
        finish(dist.reduce(x, root, sync_op=sync), sync)
        return x

    out, grad = run(f, wrap, each[rank], c[rank])
    close(out, np.sum(each, 0) if rank == root else each[rank])
    close(grad, c[root] + (0 if rank == root else c[rank]))


@ways
def check_broadcast(rank, size, wrap, sync):
    each, c = [data(r, (2, 3)) for r in range(size)], [data(r, (2, 3), salt=9) for r in range(size)]
    root = size - 1

    def f(w):
        x = w * 1.0
        finish(dist.broadcast(x, root, sync_op=sync), sync)
        return x

    out, grad = run(f, wrap, each[rank], c[rank])
    close(out, each[root])
    close(grad, np.sum(c, 0) if rank == root else np.zeros((2, 3)))


@ways
def check_all_gather(rank, size, wrap, sync):
    for shape in ((2, 3), (), (0, 2)):
        each = [data(r, shape) for r in range(size)]
        c = [data(r, (size, *shape), salt=9) for r in range(size)]

        def into_list(w):
            found = []
            finish(dist.all_gather(found, w * 1.0, sync_op=sync), sync)
            return paddle.stack(found)

        def into_tensor(w, shape=shape):
            out = paddle.zeros([size, *shape], "float64")
            finish(dist.stream.all_gather(out, w * 1.0, sync_op=sync), sync)
            return out

        for f in (into_list, into_tensor):
            out, grad = run(f, wrap, each[rank], c[rank])
            close(out, np.stack(each))
            close(grad, np.sum([a[rank] for a in c], 0))


@ways
def check_reduce_scatter(rank, size, wrap, sync):
    each, c = [data(r, (size, 2, 3)) for r in range(size)], [data(r, (2, 3), salt=9) for r in range(size)]
    for name, scale in (("sum", 1), ("avg", 1 / size)):

        def of_list(w, name=name):
            out = paddle.zeros([2, 3], "float64")
            op = getattr(dist.ReduceOp, NAMES[name])
            finish(dist.reduce_scatter(out, [w[i] * 1.0 for i in range(size)], op, sync_op=sync), sync)
            return out

        def of_tensor(w, name=name):
            out = paddle.zeros([2, 3], "float64")
            op = getattr(dist.ReduceOp, NAMES[name])
            finish(dist.stream.reduce_scatter(out, w * 1.0, op, sync_op=sync), sync)
            return out

        for f in (of_list, of_tensor):
            out, grad = run(f, wrap, each[rank], c[rank])
            close(out, np.sum(each, 0)[rank] * scale)
            close(grad, np.stack(c) * scale)


@ways
def check_alltoall(rank, size, wrap, sync):
    each, c = [data(r, (size, 2, 3)) for r in range(size)], [data(r, (size, 2, 3), salt=9) for r in range(size)]

    def lists(w):
        found = []
        finish(dist.alltoall(found, [w[i] * 1.0 for i in range(size)], sync_op=sync), sync)
        return paddle.stack(found)

    def tensors(w):
        out = paddle.zeros([size, 2, 3], "float64")
        finish(dist.alltoall_single(out, w * 1.0, sync_op=sync), sync)
        return out

    for f in (lists, tensors):
        out, grad = run(f, wrap, each[rank], c[rank])
        close(out, np.stack([a[rank] for a in each]))
        close(grad, np.stack([a[rank] for a in c]))


@ways
def check_alltoall_of_different_rows(rank, size, wrap, sync):
    count = [[1 + (r + 2 * s) % 3 for s in range(size)] for r in range(size)]
    rows = [[data(r, (count[r][s], 2), salt=s) for s in range(size)] for r in range(size)]
    c = [[data(r, (count[s][r], 2), salt=20 + s) for s in range(size)] for r in range(size)]
    received = [count[s][rank] for s in range(size)]

    def f(w):
        out = paddle.zeros([sum(received), 2], "float64")
        finish(dist.alltoall_single(out, w * 1.0, count[rank], received, sync_op=sync), sync)
        return out

    out, grad = run(f, wrap, np.concatenate(rows[rank]), np.concatenate(c[rank]))
    close(out, np.concatenate([rows[s][rank] for s in range(size)]))
    close(grad, np.concatenate([c[s][rank] for s in range(size)]))


@ways
def check_operations_without_a_gradient(rank, size, wrap, sync):
    each = [data(r, (2, 3)) for r in range(size)]

    def f(w):
        x = w * 2.0
        found = []
        finish(dist.gather(x, found, dst=0, sync_op=sync), sync)
        y = w * 3.0
        finish(dist.scatter(y, [x + i for i in range(size)] if rank == 0 else None, src=0, sync_op=sync), sync)
        z = w * 4.0
        if rank == 0 and size == 1:
            task = dist.irecv(z, 0)
            dist.send(x, 0)
            task.wait()
        elif rank == 0:
            dist.send(x, 1)
            dist.recv(z, size - 1)
        else:
            dist.recv(z, rank - 1)
            dist.send(x, (rank + 1) % size)
        return x + y + z + (sum(found) if rank == 0 else 0)

    if wrap is paddle.jit.to_static and size == 1:
        return  # a program receives when it comes to it: before what it sends to itself
    out, grad = run(f, wrap, each[rank], np.ones((2, 3)))
    gathered = 2 * np.sum(each, 0) if rank == 0 else 0
    close(out, 2 * each[rank] + 2 * each[0] + rank + 2 * each[(rank - 1) % size] + gathered)
    close(grad, np.full((2, 3), 2.0))


def check_messages_and_permutations_as_ops(rank, size):
    group = dist.get_group(0).name
    each, c = [data(r, (2, 3)) for r in range(size)], [data(r, (2, 3), salt=9) for r in range(size)]
    pairs = tuple((r, (r + 1) % size) for r in range(size))
    w = leaf(each[rank])
    out = F.collective_permute(F.mul(w, 1.0), group=group, pairs=pairs, size=size)
    F.sum(F.mul(out, from_numpy(c[rank])), axes=(0, 1)).backward()
    close(out, each[(rank - 1) % size])
    close(w.grad, c[(rank + 1) % size])
    if size > 1 and rank < 2:
        w = leaf(each[rank])
        if rank == 0:
            token = F.send(F.mul(w, 1.0), group=group, size=size, peer=1)
            F.sum(token, axes=(0,)).backward()
            close(w.grad, c[1])
        else:
            token = F.slice(F.reshape(w, (6,)), (0,), (0,), (0,), (1,))
            x = F.recv(token, group=group, dtype=w.dtype, size=size, peer=0, shape=(2, 3))
            close(x, each[0])
            F.sum(F.mul(x, from_numpy(c[1])), axes=(0, 1)).backward()
    x = leaf(each[0])
    y = F.copy_to_group(F.mul(x, 1.0), group=group, size=size)
    F.sum(F.mul(y, from_numpy(c[rank])), axes=(0, 1)).backward()
    close(x.grad, np.sum(c, 0))


def check_second_derivatives(rank, size):
    each = [data(r, (3,)) for r in range(size)]
    w = leaf(each[rank])
    x = w * w
    dist.all_reduce(x)
    (first,) = paddle.grad((x * x).sum(), w, create_graph=True)
    close(first, 4 * np.sum(np.square(each), 0) * each[rank])


def check_captured_programs_keep_their_order(rank, size):
    other = dist.new_group(list(range(size)))

    def f(x, log):
        unused = x * 3.0
        dist.all_reduce(unused)  # nobody reads it
        y = x + 1.0
        dist.all_reduce(y, group=other)
        dist.broadcast(y, src=size - 1)
        one = paddle.ones([2], "float64")
        dist.all_reduce(one)  # of a constant: not folded
        found = []
        dist.all_gather(found, y * (rank + 1.0))
        dist.all_reduce(log)  # an argument, in place
        return y + one, paddle.stack(found)

    world = dist.get_group(0).process_group
    captured = paddle.jit.to_static(f)
    for step in range(3):
        x = np.random.default_rng([rank, step]).uniform(size=2)
        every = [np.random.default_rng([r, step]).uniform(size=2) for r in range(size)]
        logs = from_numpy(np.full(2, 1.0 + rank)), from_numpy(np.full(2, 1.0 + rank))
        before = world.calls
        eager = f(from_numpy(x), logs[0])
        between = world.calls
        made = captured(from_numpy(x), logs[1])
        if size > 1:  # alone, a program sends nothing
            assert world.calls - between == between - before, "operations dropped or doubled"
        for a, b in zip(eager, made, strict=True):
            close(b, to_numpy(a))
        close(logs[0], np.full(2, sum(1.0 + r for r in range(size))))
        close(logs[1], to_numpy(logs[0]))
        total = np.sum(every, 0) + size
        close(made[0], total + size)
        close(made[1], np.stack([total * (r + 1.0) for r in range(size)]))
    assert size == 1 or between - before == 5


def check_captured_programs_of_sub_groups(rank, size):
    half = dist.new_group(list(range(max(1, size // 2))))

    @paddle.jit.to_static
    def f(x):
        y = x * 2.0
        if half.is_member():
            dist.all_reduce(y, group=half)
        dist.all_reduce(y)
        return y

    y = f(from_numpy(np.full(2, 1.0 + rank)))
    inside = 2.0 * sum(1.0 + r for r in half.ranks)
    close(y, np.full(2, inside * half.nranks + sum(2.0 * (1 + r) for r in range(half.nranks, size))))


def check_captured_programs_of_any_length(rank, size):
    spec = paddle.static.InputSpec([None, 3], "float64")

    @functools.partial(paddle.jit.to_static, input_spec=[spec])
    def f(x):
        y = x * 2.0
        dist.all_reduce(y)
        found = []
        dist.all_gather(found, y)
        return paddle.concat(found)

    for n in (4, 7, 2):
        each = [data(r, (n, 3), salt=n) for r in range(size)]
        close(f(from_numpy(each[rank])), np.concatenate([2 * np.sum(each, 0)] * size))


def check_a_training_step_is_captured(rank, size):
    def grads(wrap):
        w = leaf(data(0, (4, 4)))

        def step(x):
            h = paddle.tanh(x) @ w
            dist.all_reduce(h, dist.ReduceOp.AVG)
            return (h * h).sum()

        loss = wrap(step)(from_numpy(data(rank, (3, 4), salt=1)))
        loss.backward()
        g = w.grad
        dist.all_reduce(g)
        return to_numpy(loss).copy(), to_numpy(g).copy()

    for a, b in zip(grads(lambda f: f), grads(paddle.jit.to_static), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def check_asynchronous_results_come_with_wait(rank, size):
    w = leaf(np.full(3, 1.0 + rank))
    x = w * 2.0
    task = dist.all_reduce(x, sync_op=False)
    with paddle.no_grad():  # the mode of the start counts
        dist.wait(x)
    assert task.is_completed()
    close(x, np.full(3, 2.0 * sum(1.0 + r for r in range(size))))
    x.sum().backward()
    close(w.grad, np.full(3, 2.0))


def check_leaves_are_written_to_without_history(rank, size):
    w = leaf(np.full(3, 1.0 + rank))
    captured = paddle.jit.to_static(lambda: dist.all_reduce(w) and None)
    dist.all_reduce(w)
    total = sum(1.0 + r for r in range(size))
    close(w, np.full(3, total))
    captured()
    close(w, np.full(3, total * size))
    assert w.is_leaf
    assert not w.stop_gradient
    dist.all_reduce(w[0:1])  # a view of a leaf, which remains one
    close(w[0:1], np.full(1, total * size * size))
    assert w.is_leaf


def check_fused_gradients(rank, size):
    from paddle.distributed.fleet.utils.hybrid_parallel_util import (
        fused_allreduce_gradients,
        fused_allreduce_gradients_with_group,
    )

    arrays = [data(rank, shape, i) for i, shape in enumerate([(3, 2), (), (5,)])]
    wanted = [np.mean([data(r, a.shape, i) for r in range(size)], 0) for i, a in enumerate(arrays)]
    for reduce, factor in (
        (lambda ps: fused_allreduce_gradients(ps, None), 1),
        (lambda ps: fused_allreduce_gradients_with_group(ps, None, 1), 1),
        (lambda ps: fused_allreduce_gradients_with_group(ps, None, 50, 1.0), size),
    ):
        parameters = [leaf(np.ones(a.shape)) for a in arrays] + [leaf(np.ones(2))]
        for p, a in zip(parameters, arrays, strict=False):
            F.sum(F.mul(p, from_numpy(a)), axes=tuple(range(a.ndim))).backward()
        kept = [p.grad for p in parameters]
        reduce(parameters)
        assert parameters[-1].grad is None
        for p, g, w in zip(parameters, kept, wanted, strict=False):
            close(p.grad, w * factor)
            close(g, w * factor)
