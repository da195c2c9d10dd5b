"""What the operations among ranks do to data. Every rank computes what all have, and so what must come out."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import paddle
import paddle.distributed as dist
from tests.support.ranks import processes_only
from umiak.comm import CommError
from umiak.core import dtype as dt
from umiak.core.array import from_numpy, to_numpy
from umiak.ops.collective import REDUCTIONS

SHAPES = [(), (0, 3), (5,), (3, 4)]  # of some dtypes; the others have the last
THOROUGH = ("bool", "bfloat16", "float32")
NAMES = {"sum": "SUM", "max": "MAX", "min": "MIN", "prod": "PROD", "avg": "AVG"}


# Powers of two alone (e8m0fnu) have no small whole numbers.
TESTED = [d for d in dt.all_dtypes() if not d.is_packed and d is not dt.float8_e8m0fnu]


def data(rank, shape, dtype="float32", salt=0):
    """A rank's array: small whole numbers, so that sums and products are exact in every dtype."""
    rng = np.random.default_rng([rank, salt, 5])
    values = rng.integers(-2, 3, shape) if np.dtype(dtype).kind not in "bu" else rng.integers(0, 3, shape)
    values = values + 1j * rng.integers(-2, 3, shape) if np.dtype(dtype).kind == "c" else values
    return np.asarray(values).astype(dtype)


def tensor(array):
    return from_numpy(np.asarray(array))


def same(x, expected):
    found = to_numpy(x)
    assert found.dtype == expected.dtype, (found.dtype, expected.dtype)
    assert found.shape == expected.shape, (found.shape, expected.shape)
    assert (found == expected).all(), (found, expected)


def same_bits(x, expected):
    same(x, expected)
    assert np.ascontiguousarray(to_numpy(x)).tobytes() == np.ascontiguousarray(expected).tobytes(), (x, expected)


def check_moves_of_every_dtype_and_shape(rank, size):
    packed = paddle.zeros([3], "int4")
    for refused in (lambda: dist.broadcast(packed, src=0), lambda: dist.all_reduce(packed)):
        with pytest.raises(TypeError, match="requires dtypes of whole bytes, got int4"):
            refused()
    for dtype in (d.numpy for d in TESTED):
        for shape in SHAPES if dtype.name in THOROUGH else SHAPES[-1:]:
            each = [data(r, shape, dtype) for r in range(size)]
            mine = tensor(each[rank])
            root = size - 1

            x = tensor(each[rank])
            dist.broadcast(x, src=root)
            same_bits(x, each[root])

            for found in ([], [tensor(np.zeros_like(each[0])) for _ in range(size)]):
                dist.all_gather(found, mine)
                for x, y in zip(found, each, strict=True):
                    same_bits(x, y)

            x = tensor(np.zeros((size, *shape), dtype))
            dist.stream.all_gather(x, mine)
            same_bits(x, np.stack(each))

            found = []
            dist.gather(mine, found, dst=root)
            assert len(found) == (size if rank == root else 0)
            for x, y in zip(found, each):
                same_bits(x, y)

            parts = [[data(r, shape, dtype, salt=1 + s) for s in range(size)] for r in range(size)]
            x = tensor(np.zeros(shape, dtype))
            dist.scatter(x, [tensor(a) for a in parts[root]] if rank == root else None, src=root)
            same_bits(x, parts[root][rank])

            found = []
            dist.alltoall(found, [tensor(a) for a in parts[rank]])
            for s, x in enumerate(found):
                same_bits(x, parts[s][rank])

            x = tensor(np.zeros((size, *shape), dtype))
            dist.alltoall_single(x, tensor(np.stack(parts[rank])))
            same_bits(x, np.stack([parts[s][rank] for s in range(size)]))

            x = tensor(np.zeros(shape, dtype))
            task = dist.irecv(x, src=(rank - 1) % size)
            dist.send(mine, dst=(rank + 1) % size)
            task.wait()
            same_bits(x, each[(rank - 1) % size])


def check_reductions_of_every_dtype(rank, size):
    combine = {"sum": np.add, "avg": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}
    for d in TESTED:
        kind = "f" if d.is_floating else "c" if d.is_complex else "b" if d.is_bool else "i"
        for name, kinds in REDUCTIONS.items():
            op = getattr(dist.ReduceOp, NAMES[name])
            if kind not in kinds:
                with pytest.raises(TypeError, match=rf"\[all_reduce\].*{d.name}"):
                    dist.all_reduce(tensor(data(rank, (2,), d.numpy)), op)
                continue
            if d.itemsize == 1 and d.is_floating and name in ("prod", "avg"):
                continue  # not exact
            wide = np.float64 if d.is_floating else d.numpy
            for shape in SHAPES if d.name in THOROUGH else SHAPES[-1:]:
                each = [data(r, shape, d.numpy) for r in range(size)]
                total = each[0].astype(wide)
                for a in each[1:]:
                    total = combine[name](total, a.astype(wide))
                total = np.asarray(total / size if name == "avg" else total).astype(d.numpy)

                x = tensor(each[rank])
                dist.all_reduce(x, op)
                same(x, total)

                x = tensor(each[rank])
                dist.reduce(x, dst=size - 1, op=op)
                same(x, total if rank == size - 1 else each[rank])

                blocks = [[data(r, shape, d.numpy, salt=s) for s in range(size)] for r in range(size)]
                total = blocks[0][rank].astype(wide)
                for r in range(1, size):
                    total = combine[name](total, blocks[r][rank].astype(wide))
                total = np.asarray(total / size if name == "avg" else total).astype(d.numpy)
                x = tensor(np.zeros(shape, d.numpy))
                dist.reduce_scatter(x, [tensor(a) for a in blocks[rank]], op)
                same(x, total)
                x = tensor(np.zeros(shape, d.numpy))
                dist.stream.reduce_scatter(x, tensor(np.stack(blocks[rank])), op)
                same(x, total)


def check_large_sizes(rank, size):
    n = 1 << 20
    each = [data(r, (n + 3,), "float32") for r in range(size)]
    x = tensor(each[rank])
    dist.all_reduce(x)
    same(x, np.sum(each, 0))
    x = tensor(each[rank].astype(paddle.bfloat16.numpy))
    dist.all_reduce(x, dist.ReduceOp.MAX)
    same(x, np.max(each, 0).astype(paddle.bfloat16.numpy))


def check_strided_tensors(rank, size):
    each = [data(r, (4, 12), "float32") for r in range(size)]
    whole = tensor(each[rank])
    part = whole[:, ::2]
    dist.all_reduce(part)
    expected = each[rank].copy()
    expected[:, ::2] = np.sum(each, 0)[:, ::2]
    same(whole, expected)

    whole = tensor(each[rank])
    transposed = whole.T
    dist.broadcast(transposed, src=size - 1)
    same(whole, each[size - 1])

    whole = tensor(np.zeros((4, 12), "float32"))
    outs = [whole[:, r :: max(size, 2)] for r in range(size)]
    dist.all_gather(outs, tensor(each[rank])[:, :: max(size, 2)][:, : outs[0].shape[1]])
    for r in range(size):
        same(outs[r], each[r][:, :: max(size, 2)][:, : outs[0].shape[1]])

    x = tensor(np.zeros((12, 4), "float32"))
    task = dist.irecv(x.T, src=(rank - 1) % size)
    dist.send(tensor(each[rank].T.copy()).T, dst=(rank + 1) % size)
    task.wait()
    same(x.T, each[(rank - 1) % size])

    with pytest.raises(RuntimeError, match="memory of their own"):
        dist.all_reduce(tensor(np.zeros(4, "float32")).unfold(0, 2, 1))


def check_rows_of_different_numbers(rank, size):
    count = [[1 + (r + 2 * s) % 3 for s in range(size)] for r in range(size)]  # from r to s
    rows = [[data(r, (count[r][s], 2), "float32", salt=s) for s in range(size)] for r in range(size)]
    sent, received = count[rank], [count[s][rank] for s in range(size)]
    expected = np.concatenate([rows[s][rank] for s in range(size)])
    x = tensor(np.zeros_like(expected))
    dist.alltoall_single(x, tensor(np.concatenate(rows[rank])), sent, received)
    same(x, expected)
    x = tensor(np.zeros_like(expected))
    dist.stream.alltoall_single(x, tensor(np.concatenate(rows[rank])), received, sent)
    same(x, expected)
    outs = [tensor(np.zeros_like(rows[s][rank])) for s in range(size)]
    dist.alltoall(outs, [tensor(a) for a in rows[rank]])
    for s in range(size):
        same(outs[s], rows[s][rank])


def check_groups_of_some_ranks(rank, size):
    even = dist.new_group(list(range(0, size, 2)))
    back = dist.new_group(list(range(size))[::-1])
    assert back.ranks == list(range(size))[::-1]
    assert (back.rank, back.nranks, back.get_group_rank(0), back.get_global_rank(0)) == (
        size - 1 - rank,
        size,
        size - 1,
        size - 1,
    )
    assert dist.get_group(back.id) is back
    assert dist.get_rank(back) == back.rank
    assert dist.get_world_size(back) == size
    each = [data(r, (3,), "float32") for r in range(size)]
    found = []
    dist.all_gather(found, tensor(each[rank]), group=back)
    for x, y in zip(found, each[::-1], strict=True):
        same(x, y)
    x = tensor(each[rank])
    dist.broadcast(x, src=0, group=back)  # a global rank
    same(x, each[0])
    x = tensor(each[rank])
    if rank % 2 == 0:
        assert even.is_member()
        dist.all_reduce(x, group=even)
        same(x, np.sum(each[::2], 0))
        with pytest.raises(ValueError, match=r"\[broadcast\] requires a global rank of .* as src"):
            dist.broadcast(x, src=size + 1, group=even)
    else:
        assert (even.is_member(), even.rank, even.world_size, even.nranks) == (False, -1, -1, len(even.ranks))
        assert even.get_group_rank(0) == -1
        assert dist.get_world_size(even) == -1
    dist.shutdown_process_group(back)
    with pytest.raises(RuntimeError, match="a group that is open"):
        dist.all_reduce(x, group=back)
    dist.restart_process_group(back)
    x = tensor(each[rank])
    dist.all_reduce(x, group=back)
    same(x, np.sum(each, 0))
    dist.destroy_process_group(back)
    with pytest.raises(RuntimeError, match="a group that is open"):
        dist.all_reduce(x, group=back)


@processes_only
def check_callers_outside_of_a_group(rank, size):
    first = dist.new_group([0])
    x = tensor(data(rank, (3,)))
    calls = {
        "all_reduce": lambda: dist.all_reduce(x, group=first),
        "all_gather": lambda: dist.all_gather([], x, group=first),
        "recv": lambda: dist.recv(x, 0, group=first),
        "barrier": lambda: dist.barrier(first),
        "all_gather_object": lambda: dist.all_gather_object([], 1, group=first),
        "batch_isend_irecv": lambda: dist.batch_isend_irecv([dist.P2POp(dist.irecv, x, 0, first)]) or None,
    }
    for what, call in calls.items():
        if rank > 0:
            with pytest.warns(UserWarning, match=rf"\[{what}\] rank \d is not in Group"):
                assert call() is None
    same(x, data(rank, (3,)))
    with pytest.warns(UserWarning, match="there is no group"):
        assert dist.get_group(1000) is None


def check_many_at_once_out_of_order(rank, size):
    dtypes = "float32", paddle.bfloat16.numpy  # the second takes steps of our own on every engine
    xs = [tensor(data(rank, (7 + i,), dtypes[i % 2], salt=i)) for i in range(64)]
    lists = [[] for _ in range(8)]
    tasks = [dist.all_reduce(x, sync_op=False) for x in xs]
    tasks += [
        dist.all_gather(out, tensor(data(rank, (5,), "int8", salt=i)), sync_op=False) for i, out in enumerate(lists)
    ]
    order = np.random.default_rng(rank).permutation(len(tasks))
    for i in order:
        tasks[i].wait()
        assert tasks[i].is_completed()
    for i, x in enumerate(xs):
        total = np.sum([data(r, (7 + i,), "float32", salt=i) for r in range(size)], 0)
        same(x, total.astype(dtypes[i % 2]))
    for i, out in enumerate(lists):
        for r, x in enumerate(out):
            same(x, data(r, (5,), "int8", salt=i))


def check_results_land_without_the_task(rank, size):
    x, y = tensor(data(rank, (4, 6))), tensor(data(rank, (4, 6)))
    version = x.inplace_version, y.inplace_version
    dist.all_reduce(x.T, sync_op=False)
    dist.all_reduce(y, sync_op=False)
    dist.wait(x)
    expected = np.sum([data(r, (4, 6)) for r in range(size)], 0)
    same(x, expected)
    same(y, expected)
    assert x.inplace_version > version[0]
    assert y.inplace_version > version[1]


def check_64_messages_each_way(rank, size):
    peer = (rank + 1) % size, (rank - 1) % size
    come = [tensor(np.zeros((3, i), "float32")) for i in range(64)]
    tasks = [dist.irecv(x, src=peer[1]) for x in come]
    tasks += [dist.isend(tensor(data(rank, (3, i), salt=i)), dst=peer[0]) for i in range(64)]
    for task in tasks[::-1]:
        task.wait()
    for i, x in enumerate(come):
        same(x, data(peer[1], (3, i), salt=i))


def check_ring_in_a_batch(rank, size):
    big = (1 << 18) + 1  # too long to leave before it is received
    x = tensor(np.zeros(big, "float32"))
    ring = [
        dist.P2POp(dist.isend, tensor(data(rank, (big,))), (rank + 1) % size),
        dist.P2POp(dist.irecv, x, (rank - 1) % size),
    ]
    for task in dist.batch_isend_irecv(ring):
        task.wait()
    same(x, data((rank - 1) % size, (big,)))


def check_objects(rank, size):
    objects = [{"rank": r, "text": "x" * 1000 * r} for r in range(size)]
    found = ["before"]
    dist.all_gather_object(found, objects[rank])
    assert found == ["before", *objects]
    found = [rank, objects[rank]]
    dist.broadcast_object_list(found, src=size - 1)
    assert found == [size - 1, objects[size - 1]]
    found = [1, 2, 3]
    dist.scatter_object_list(found, objects if rank == 0 else None, src=0)
    assert found == [objects[rank]]
    if size > 1 and rank < 2:
        if rank == 0:
            dist.send_object_list(["a", {"b": 1}], dst=1)
            dist.send_object_list([3], dst_in_group=1)
        else:
            found = [None, None]
            dist.recv_object_list(found, src=0)
            assert found == ["a", {"b": 1}]
            with pytest.raises(ValueError, match="a list of 1 objects"):
                dist.recv_object_list(found, src_in_group=0)


def check_errors(rank, size):
    x = paddle.ones([2, 3])
    cases = [
        (TypeError, r"\[all_reduce\] requires a Tensor", lambda: dist.all_reduce([x])),
        (ValueError, r"\[all_reduce\] requires an op of", lambda: dist.all_reduce(x, 7)),
        (TypeError, r"\[all_reduce\] requires a group made by new_group", lambda: dist.all_reduce(x, group=3)),
        (TypeError, r"\[all_reduce\].*bool", lambda: dist.all_reduce(x > 0)),
        (TypeError, r"\[reduce\].*int64", lambda: dist.reduce(x.astype("int64"), 0, dist.ReduceOp.AVG)),
        (ValueError, r"\[broadcast\] requires a global rank", lambda: dist.broadcast(x, src=size)),
        (ValueError, r"\[all_gather\] requires \d tensors", lambda: dist.all_gather([x] * (size + 1), x)),
        (ValueError, r"\[all_gather\] .*of shape", lambda: dist.all_gather([paddle.ones([3])] * size, x)),
        (TypeError, r"\[all_gather\] .*of float32", lambda: dist.all_gather([x.astype("int32")] * size, x)),
        (ValueError, r"\[all_gather\] .*of shape", lambda: dist.stream.all_gather(paddle.ones([9, 3]), x)),
        (TypeError, r"\[all_gather\] requires a list", lambda: dist.all_gather(None, x)),
        (TypeError, r"\[reduce_scatter\] requires one dtype" if size > 1 else r"of float32",
         lambda: dist.reduce_scatter(x, [x.astype("int32")] + [x] * (size - 1))),
        (ValueError, r"\[alltoall_single\] requires in_split_sizes",
         lambda: dist.alltoall_single(x, x, [5] * size, [5] * size)),
        (ValueError, r"\[alltoall_single\].*0-d", lambda: dist.alltoall_single(x.sum(), x.sum())),
        (TypeError, r"\[alltoall\] requires two tensors or two lists", lambda: dist.stream.alltoall(x, [x])),
        (RuntimeError, r"\[all_reduce\] requires sync_op=True",
         lambda: dist.stream.all_reduce(x, sync_op=False, use_calc_stream=True)),
        (RuntimeError, r"\[P2POp\] requires", lambda: dist.P2POp(dist.send, x, 0)),
        (RuntimeError, r"\[batch_isend_irecv\] requires", lambda: dist.batch_isend_irecv([x])),
        (ValueError, r"\[irecv\] requires a global rank", lambda: dist.irecv(x)),
        (ValueError, r"\[send_object_list\] requires one of", lambda: dist.send_object_list([1])),
        (ValueError, r"\[new_group\] requires a backend", lambda: dist.new_group([0], backend="pigeon")),
        (ValueError, r"\[new_group\] requires different ranks", lambda: dist.new_group([0, 0])),
        (RuntimeError, r"\[gloo_init_parallel_env\]", lambda: dist.gloo_init_parallel_env(rank, size + 1, "")),
    ]  # fmt: skip
    for kind, text, call in cases:
        with pytest.raises(kind, match=text):
            call()


@processes_only
def check_ranks_that_disagree(rank, size):
    if size == 1:
        return
    g = dist.new_group(list(range(size)))
    paddle.set_flags({"FLAGS_check_collectives": True})
    try:
        with pytest.raises(CommError, match=r"disagree.*(float64|float32)"):
            dist.all_reduce(paddle.ones([2], "float64" if rank == 0 else "float32"), group=g)
    finally:
        paddle.set_flags({"FLAGS_check_collectives": False})


def check_the_environment(rank, size):
    env = dist.ParallelEnv()
    assert (env.rank, env.world_size, env.nranks, env.nrings) == (rank, size, size, 1)
    assert (dist.get_rank(), dist.get_world_size(), dist.is_initialized(), dist.is_available()) == (
        rank,
        size,
        True,
        True,
    )
    assert dist.init_parallel_env() is dist.get_group(0)
    assert dist.get_group(0).ranks == list(range(size))
    assert env.device_type == "cpu"
    assert env.device_id == env.dev_id == 0
    assert env.pg_timeout == 1000 * paddle.get_flags("FLAGS_comm_timeout_s")["FLAGS_comm_timeout_s"]
    dist.gloo_init_parallel_env(rank, size, "")
    dist.gloo_barrier()
    dist.gloo_release()


@processes_only
def check_no_warnings_inside(rank, size):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dist.all_reduce(paddle.ones([1]))


def check_writes_are_noticed(rank, size):
    w = paddle.ones([3])
    w.stop_gradient = False
    x = paddle.ones([3])
    y = w * x
    dist.all_reduce(x)
    with pytest.raises(RuntimeError, match="modified in place"):
        y.sum().backward()
    # A parameter is written to as under no_grad.
    version = w.inplace_version
    dist.broadcast(w, src=0)
    assert w.is_leaf
    assert w.inplace_version == version + (rank != 0)
