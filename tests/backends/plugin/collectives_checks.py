"""Checks of collectives by the library of a plug-in's device, on two ranks: no element passes through the host."""

import contextlib
import threading

import numpy as np
import pytest

import paddle
from paddle import distributed
from tests.fuzz import plugin_groups
from umiak import backends, comm
from umiak import ops as F
from umiak.comm import staging
from umiak.core import tape
from umiak.core.array import from_numpy, host_values
from umiak.core.place import Place

TYPES = ("float32", "float64", "int32", "int64")


def place_of(rank):
    return Place("loop", rank % 2)


LOCK, FORMER = threading.Lock(), []  # what ranks that are threads have replaced: the first one restores nothing


def refuse(self):
    assert self.device is None, "an operand of a device was staged"


@contextlib.contextmanager
def on_device(rank):
    """New tensors lie on the rank's device. Operands of groups may not be staged in the host's memory."""
    paddle.set_device(place_of(rank).name)
    with LOCK:
        FORMER.append(staging.StagedArray.copy_to_host)
        staging.StagedArray.copy_to_host = refuse
    try:
        yield from_numpy
    finally:
        with LOCK:
            staging.StagedArray.copy_to_host = FORMER.pop()  # the last of several is the first that was replaced
        paddle.set_device("cpu")


def values(rank, dtype, shape=(4, 3)):
    return (np.random.default_rng(rank).integers(1, 9, shape)).astype(dtype)


def check_reductions(rank, size):
    world, here = comm.world(), place_of(rank)
    reduce = {"sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}
    with on_device(rank):
        for dtype in TYPES:
            all_ranks = [values(r, dtype) for r in range(size)]
            x = from_numpy(all_ranks[rank], here)
            for name, function in reduce.items():
                whole = function.reduce(all_ranks)
                out = paddle.zeros(x.shape, dtype)
                world.all_reduce(out, x, name).wait()
                np.testing.assert_array_equal(host_values(out), whole)
                part = paddle.zeros([4 // size, 3], dtype)
                world.reduce_scatter(part, x, name).wait()
                np.testing.assert_array_equal(host_values(part), np.split(whole, size)[rank])
                out = paddle.zeros(x.shape, dtype)
                world.reduce(out, x, 1, name).wait()
                np.testing.assert_array_equal(host_values(out), whole if rank == 1 else 0)
        mean = paddle.zeros([3], "float64")
        world.all_reduce(mean, from_numpy(np.full(3, float(rank)), here), "avg").wait()
        assert mean.tolist() == [(size - 1) / 2] * 3


def check_movement(rank, size):
    world, here = comm.world(), place_of(rank)
    with on_device(rank):
        # The interface has no name for the second of the dtypes: it goes as bytes. The last is longer than a box.
        for dtype, shape in (("float32", (4, 3)), ("float8_e4m3fn", (4, 3)), ("bool", (2, 1)), ("float64", (2, 900))):
            x = F.cast(from_numpy(values(rank, "float32", shape), here), dtype=paddle.to_tensor(0, dtype).dtype)
            all_ranks = [
                host_values(F.cast(from_numpy(values(r, "float32", shape), here), dtype=x.dtype)) for r in range(size)
            ]
            out = paddle.zeros([size * shape[0], shape[1]], "float32").cast(x.dtype)
            world.all_gather(out, x).wait()
            np.testing.assert_array_equal(host_values(out), np.concatenate(all_ranks))
            y = x.clone()
            world.broadcast(y, 1).wait()
            np.testing.assert_array_equal(host_values(y), all_ranks[1])
            out = x.clone()
            world.all_to_all(out, x).wait()
            parts = [np.split(a, size)[rank] for a in all_ranks]
            np.testing.assert_array_equal(host_values(out), np.concatenate(parts))
            out = x.clone()
            world.permute(out, x, [(0, 1), (1, 0)]).wait()
            np.testing.assert_array_equal(host_values(out), all_ranks[1 - rank])


def check_uneven_parts(rank, size):
    world, here = comm.world(), place_of(rank)
    sent, received = ((1, 3), (1, 2)) if rank == 0 else ((2, 4), (3, 4))
    x = np.arange(sum(sent) * 2.0).reshape(-1, 2) + 100 * rank
    with on_device(rank):
        out = paddle.zeros([sum(received), 2], "float64")
        world.all_to_all_sized(out, from_numpy(x, here), sent, received).wait()
    found = host_values(out)[:, 0].tolist()
    assert found == ([0, 100, 102] if rank == 0 else [2, 4, 6, 104, 106, 108, 110])


def check_batches_of_messages(rank, size):
    """Both ranks send before they receive, more than is under way at once."""
    with on_device(rank):
        d, peer = distributed, 1 - rank
        given, taken = paddle.arange(3000, dtype="float32") + rank, paddle.zeros([3000])
        more, less = paddle.full([2], float(rank)), paddle.zeros([2])
        batch = [
            d.P2POp(d.isend, given, peer),
            d.P2POp(d.isend, more, peer),
            d.P2POp(d.irecv, taken, peer),
            d.P2POp(d.irecv, less, peer),
        ]
        version = taken.inplace_version
        for task in d.batch_isend_irecv(batch):
            task.wait()
        assert taken.inplace_version > version
        np.testing.assert_array_equal(taken.numpy(), np.arange(3000) + peer)
        assert less.tolist() == [peer, peer]


def check_the_public_face_and_gradients(rank, size):
    with on_device(rank):
        x = paddle.arange(4, dtype="float32") + rank
        distributed.all_reduce(x)
        task = distributed.broadcast(x, src=1, sync_op=False)
        task.wait()
        gathered = []
        distributed.all_gather(gathered, x)
        assert [t.tolist() for t in (x, *gathered)] == [[1, 3, 5, 7]] * (1 + size)
        gradient = gradient_of_all_reduce(rank, size, place_of(rank))
    np.testing.assert_array_equal(gradient, gradient_of_all_reduce(rank, size, Place("cpu")))


def gradient_of_all_reduce(rank, size, place):
    y = from_numpy(values(rank, "float64"), place)
    y.stop_gradient = False
    z = F.all_reduce(y, group="world", op="sum", size=size)
    tape.backward([F.sum(F.mul(z, z), axes=(0, 1))])
    return host_values(y.grad)


def check_data_parallel_training(rank, size):
    rng = np.random.default_rng(0)
    batch, weight = rng.standard_normal((4, 3)).astype("float32"), rng.standard_normal((3, 2)).astype("float32")
    with on_device(rank):
        net = paddle.nn.Linear(3, 2, bias_attr=False)
        net.weight.set_value(paddle.to_tensor(weight + rank))  # rank 0's counts
        model = paddle.DataParallel(net)
        part = paddle.to_tensor(np.split(batch, size)[rank])
        (model(part) ** 2).sum(1).mean().backward()
        mean = 2 * batch.T @ (batch @ weight) / len(batch)
        np.testing.assert_allclose(net.weight.grad.numpy(), mean, rtol=1e-5)
        assert net.weight.place is place_of(rank)


def check_many_tasks_in_flight(rank, size):
    world = comm.world()
    with on_device(rank):
        xs = [paddle.full([5], float(rank + i)) for i in range(6)]
        tasks = [world.all_reduce(x, x) for x in xs]
        for task in tasks[::-1]:
            task.wait()
        assert [x.tolist()[0] for x in xs] == [1.0 + 2 * i for i in range(6)]


def check_tasks_of_several_streams(rank, size):
    """Calls go by one connection in the order of the program, on whichever stream each is, and whichever is asked for
    first."""
    place = place_of(rank)
    with on_device(rank):
        other = paddle.device.Stream(place.name)
        before = paddle.device.current_stream(place.name)
        x, y = paddle.full([500], float(rank)), paddle.full([40], float(rank))
        distributed.all_reduce(x.clone())  # connects
        other.wait_stream(before)
        loop = backends.get("loop").library._library
        comm.world().barrier().wait()  # all is done that asks
        loop.loop_late(1)
        try:
            with paddle.device.stream_guard(other):
                first = distributed.all_reduce(y, sync_op=False)
            second = distributed.broadcast(x, 1, sync_op=False)
            comm.world().barrier().wait()
            (other if rank else before).synchronize()
        finally:
            loop.loop_late(0)
        for task in (first, second):
            task.wait()
        assert x.tolist() == [1.0] * 500 and y.tolist() == [1.0] * 40


def check_random_programs(rank, size):
    """What virtual ranks run more of (``tests.fuzz.plugin_groups``)."""
    for seed in range(500, 504):
        tally = plugin_groups.run_rank(plugin_groups.generate(seed), seed, place_of(rank), rank)
        assert tally


def check_groups_have_connections_of_their_own(rank, size):
    pair = comm.new([1, 0])
    with on_device(rank):
        x = paddle.full([3], float(rank))
        pair.broadcast(x, 0).wait()
        assert x.tolist() == [1.0] * 3
        comm.groups.destroy(pair)


def check_a_failure_names_the_operation(rank, size):
    """Of the plug-in when the work runs, on every rank; later operations work."""
    world = comm.world()
    loop = backends.get("loop").library._library
    x = paddle.ones([4]).to(place_of(rank).name)
    world.all_reduce(x, x).wait()
    loop.loop_fail(b"xccl_all_reduce", 4, 0)
    comm.world().barrier().wait()
    try:
        with pytest.raises(comm.CommError, match=r"all_reduce \(call.*\[xccl_all_reduce\] requires C_SUCCESS"):
            world.all_reduce(x, x).wait()
    finally:
        loop.loop_fail(b"", 0, 0)
    comm.world().barrier().wait()
    world.all_reduce(x, x).wait()
    assert x.tolist() == [4.0] * 4
