"""Groups over tensors of devices: staged where the channel knows only the host, handed over where it knows more."""

import threading
import time

import numpy as np
import pytest
from collectives import OPERATIONS, Draw
from fake import FAKE, OTHER
from harness import CPU, tensor

import paddle
from paddle import distributed, nn
from umiak import comm
from umiak import ops as F
from umiak.comm.mailbox import MailChannel
from umiak.comm.single import ARRIVED
from umiak.core import stream, tape
from umiak.core.array import from_numpy, host_values
from umiak.core.buffer import Buffer

pytestmark = pytest.mark.usefixtures("fake")
PLACES = (FAKE, OTHER)


class OnDevice:
    """A group as the checks of arrays use it, with the arrays' elements on a device."""

    def __init__(self, group, place):
        self.group, self.place = group, place

    def __getattr__(self, name):
        method = getattr(self.group, name)
        if not callable(method):
            return method

        def call(*args):
            there = {id(a): (a, from_numpy(a, self.place)) for a in args if isinstance(a, np.ndarray)}
            task = method(*(there[id(a)][1] if id(a) in there else a for a in args))
            for a, x in there.values():
                task.then(lambda a=a, x=x: np.copyto(a, host_values(x)))
            return task

        return call


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda f: f.__name__)
def test_collectives(operation):
    def work():
        world = comm.world()
        group = OnDevice(world, PLACES[world.rank % 2])
        for seed in range(4):
            task, finish = operation(Draw(seed, group), group)
            task.wait()
            finish()

    comm.simulate(work, 3, timeout=600.0)


def test_the_operation_begins_when_the_device_is_done(fake):
    x = from_numpy(np.arange(4.0), FAKE)

    def work():
        y = F.add(F.mul(x, 2.0), float(comm.world().rank))
        out = F.full(0.0, dtype=y.dtype, shape=(4,))
        made = F.transfer(out, source="cpu", target="fake:0")
        comm.world().all_reduce(made, y).wait()
        return host_values(F.add(made, 1.0)).tolist()

    assert comm.simulate(work, 2) == [[2.0, 6.0, 10.0, 14.0]] * 2


def test_a_late_failure_is_told_with_the_operation():
    def work():
        x = from_numpy(np.arange(4.0), PLACES[comm.world().rank])
        if comm.world().rank == 1:
            x = F.take(x, from_numpy(np.array([0, 1, 2, 9]), OTHER), axis=0)
        comm.world().all_reduce(x, x).wait()

    with pytest.raises(comm.CommError, match=r"\[all_reduce .* rank 1 failed: \[take\] failed on fake:1"):
        comm.simulate(work, 2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("place", [CPU, FAKE], ids=str)
def test_a_device_is_the_default_place(place, dtype):
    """What is made on the way, of elements that the host combines or that lie apart, is made on the host."""

    def work():
        paddle.set_device("fake:1")
        x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], dtype=dtype, place=place.name)
        distributed.all_reduce(x.T[1])
        return x.astype("float32").tolist()

    former = paddle.get_device()
    try:
        assert comm.simulate(work, 2) == [[[1, 4], [3, 8]]] * 2
    finally:
        paddle.set_device(former)


def test_a_result_is_there_for_the_stream_that_waits(fake):
    """Also where what has come is on its way to the device, on the stream that was current at the call."""
    released = threading.Event()

    def work():
        rank = comm.world().rank
        place = PLACES[rank]
        if rank == 0:
            distributed.send(from_numpy(np.full(50, 2.0), place), 1)
            return None
        x, other = from_numpy(np.ones((50, 2)), place), paddle.device.Stream(place.name)
        stream.synchronize(place.index)
        fake.device(place).queue(other.stream_base.id).put("hold", released.wait)
        with paddle.device.stream_guard(other):
            task = distributed.irecv(x[:, 0], 0)
        task.wait()
        y = x * 3.0
        assert not task.is_completed()
        time.sleep(0.05)  # whatever does not wait is done
        released.set()
        assert host_values(y).tolist() == [[6.0, 3.0]] * 50
        return task.is_completed()

    assert comm.simulate(work, 2) == [None, True]


def test_tensors_have_to_be_contiguous():
    x = F.permute(tensor(np.ones((2, 3))), perm=(1, 0))
    with pytest.raises(ValueError, match=r"\[comm\] requires tensors that are contiguous"):
        comm.simulate(lambda: comm.world().broadcast(x, 0), 1)


def test_a_channel_that_reaches_devices_gets_their_buffers(fake, monkeypatch):
    """As the library of a vendor does: sums over peers' memory, with nothing of it on the host."""
    meet, given = threading.Barrier(2), {}

    def native(self, name, out, x, op):
        assert (name, op) == ("all_reduce", "sum") and type(out) is type(x) is Buffer
        given[self.rank] = x
        meet.wait()
        arrays = []
        for one in given.values():
            stream.synchronize(one.place.index)
            arrays.append(np.frombuffer(fake.device(one.place).memory.read(one.pointer, one.nbytes), np.float32))
        meet.wait()
        fake.device(out.place).memory.write(out.pointer, (arrays[0] + arrays[1]).tobytes())
        return ARRIVED

    monkeypatch.setattr(MailChannel, "can_access", lambda self, place: place.device_type == "fake")
    monkeypatch.setattr(MailChannel, "native", native)

    def work():
        place = PLACES[comm.world().rank]
        x = from_numpy(np.array([1.0, comm.world().rank], np.float32), place)
        fake.device(place).copies.clear()
        made = F.all_reduce(x, group="world", op="sum", size=2)
        assert made.place is place and not fake.device(place).copies
        return host_values(made).tolist()

    assert comm.simulate(work, 2) == [[2.0, 1.0]] * 2


# --- ops


def test_ops_and_their_gradients():
    """Along every axis, as on the host."""

    def work(places):
        rank = comm.world().rank
        rng = np.random.default_rng(rank)
        found = []
        at = {"group": "world", "size": 2}
        for call in (
            lambda x: F.all_reduce(x, op="sum", **at),
            lambda x: F.all_reduce(x, op="max", **at),
            lambda x: F.reduce_to(x, op="avg", root=1, rank=rank, **at),
            lambda x: F.broadcast(x, root=1, rank=rank, **at),
            *(lambda x, axis=axis: F.all_gather(x, axis=axis, **at) for axis in (0, 1, 2)),
            *(lambda x, axis=axis: F.reduce_scatter(x, axis=axis, op="sum", **at) for axis in (0, 1, 2)),
            *(
                lambda x, a=a, b=b: F.all_to_all(x, split_axis=a, concat_axis=b, **at)
                for a in (0, 1, 2)
                for b in (0, 1, 2)
            ),
            lambda x: F.all_to_all_sized(x, sent=(1, 3), received=(1, 1) if rank == 0 else (3, 3), **at),
            lambda x: F.collective_permute(x, pairs=((0, 1),), **at),
            lambda x: F.copy_to_group(x, **at),
        ):
            x = from_numpy(rng.standard_normal((4, 2, 6)), places[rank])
            x.stop_gradient = False
            y = call(F.permute(F.permute(x, perm=(2, 0, 1)), perm=(1, 2, 0)))
            assert y.place is places[rank]
            tape.backward([F.sum(F.mul(y, y), axes=(0, 1, 2))])
            found += [host_values(y).copy(), host_values(x.grad).copy()]
        return found

    expected = comm.simulate(work, 2, (CPU, CPU))
    for found, wanted in zip(comm.simulate(work, 2, PLACES), expected):
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_the_public_face():
    def work():
        paddle.set_device(f"fake:{comm.world().rank}")
        distributed.init_parallel_env()
        x = paddle.arange(4, dtype="float32") + distributed.get_rank()
        distributed.all_reduce(x)
        task = distributed.broadcast(x, src=1, sync_op=False)
        task.wait()
        gathered = []
        distributed.all_gather(gathered, x)
        peer = 1 - distributed.get_rank()
        other = paddle.zeros([4])
        tasks = [distributed.isend(x, peer), distributed.irecv(other, peer)]
        for t in tasks:
            t.wait()
        assert x.place is other.place is gathered[0].place is PLACES[distributed.get_rank()]
        return [t.tolist() for t in (x, *gathered, other)]

    assert comm.simulate(work, 2) == [[[1.0, 3.0, 5.0, 7.0]] * 4] * 2


# --- training


def train(world, places, captured=False):
    """What a small model is after some steps of data-parallel training."""
    rank = comm.world().rank
    if places:
        paddle.set_device(places[rank].name)
    distributed.init_parallel_env()
    paddle.seed(3)
    net = nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 3))
    rng = np.random.default_rng(0)
    for p in net.parameters():  # the same on all places, whose generators differ
        p.set_value(paddle.to_tensor(rng.standard_normal(p.shape).astype("float32") / 4 + rank))
    model = paddle.DataParallel(net, comm_buffer_size=0.001, last_comm_buffer_size=0.0003)
    optimizer = paddle.optimizer.AdamW(0.01, parameters=model.parameters())

    def step(x, y):
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        return loss

    run = paddle.jit.to_static(step) if captured else step
    losses = []
    for _ in range(3):
        part = slice(rank * 8 // world, (rank + 1) * 8 // world)
        x, y = rng.standard_normal((8, 6)).astype("float32"), rng.integers(0, 3, 8)
        loss = run(paddle.to_tensor(x[part]), paddle.to_tensor(y[part]))
        optimizer.step()
        optimizer.clear_grad()
        mean = loss.detach()
        distributed.all_reduce(mean, distributed.ReduceOp.AVG)
        losses.append(float(mean))
    assert not places or all(p.place is places[rank] for p in net.parameters())
    return [losses, *(p.numpy() for p in net.parameters())]


@pytest.mark.parametrize("captured", [False, True], ids=["eager", "captured"])
def test_data_parallel_training(captured):
    (whole,) = comm.simulate(train, 1, 1, None)
    for found in comm.simulate(train, 2, 2, PLACES, captured, timeout=600.0):
        for a, b in zip(found, whole, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)
