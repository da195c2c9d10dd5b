"""Collectives of devices by NCCL: what each gives, the order of streams, errors that come later."""

from __future__ import annotations

import numpy as np
import pytest
from recording_nccl import RecordingNccl

from umiak import ops as F
from umiak.backends import collectives
from umiak.backends.cuda import nccl
from umiak.core import array, stream
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.buffer import Buffer
from umiak.core.place import Place
from umiak.core.tensor import empty

RANKS = range(2)


@pytest.fixture
def library(cuda):
    return RecordingNccl(cuda.driver)


@pytest.fixture
def connected(cuda, device, library):
    """A communicator of each of two ranks, on a device each."""
    libraries = [nccl.NcclCollectives(cuda.device(Place("gpu", r)), library) for r in RANKS]
    id = libraries[0].unique_id()
    assert len(id) == 128
    made = [x.connect(len(RANKS), id, r) for r, x in enumerate(libraries)]
    yield made
    for communicator in made:
        communicator.close()
    assert library.calls[-2:] == ["destroy"] * 2 or "abort" in library.calls


def given(*shape, dtype="float32"):
    """Tensors of each rank, and their elements."""
    rng = np.random.default_rng(0)
    values = [rng.integers(1, 9, shape).astype(dtype) for _ in RANKS]
    return [from_numpy(v, Place("gpu", r)) for r, v in enumerate(values)], values


def spaces(*shape, like):
    return [empty(shape, x.dtype, x.place) for x in like]


def run(connected, name, outs, xs, *args):
    """Start it on all ranks; the elements that each has then."""
    operands = [[Buffer(y) for y in (o, x) if y is not None] for o, x in zip(outs, xs)]
    started = [c.start(0, name, *given, *args) for c, given in zip(connected, operands)]
    results = [array.host_values(o if o is not None else x).copy() for o, x in zip(outs, xs)]
    assert all(s.Test() for s in started)
    return results


@pytest.mark.parametrize("op", nccl.REDUCTIONS)
def test_reductions(connected, op):
    xs, values = given(2, 3)
    reduced = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}.get(op)
    expected = np.mean(values, axis=0) if reduced is None else reduced(*values)
    for got in run(connected, "all_reduce", spaces(2, 3, like=xs), xs, op):
        np.testing.assert_array_equal(got, expected.astype("float32"))
    got = run(connected, "reduce_scatter", spaces(1, 3, like=xs), xs, op)
    np.testing.assert_array_equal(np.concatenate(got), expected.astype("float32"))
    np.testing.assert_array_equal(
        run(connected, "reduce", spaces(2, 3, like=xs), xs, 1, op)[1], expected.astype("float32")
    )


@pytest.mark.parametrize("dtype", ["float32", "bool", "int16", "complex64"])
def test_movements_take_any_dtype(connected, dtype):
    xs, values = given(2, 3, dtype=dtype)
    for got in run(connected, "all_gather", spaces(4, 3, like=xs), xs):
        np.testing.assert_array_equal(got, np.concatenate(values))
    got = run(connected, "all_to_all", spaces(2, 3, like=xs), xs)
    np.testing.assert_array_equal(got, [[values[0][r], values[1][r]] for r in RANKS])
    np.testing.assert_array_equal(run(connected, "gather", spaces(4, 3, like=xs), xs, 0)[0], np.concatenate(values))
    got = run(connected, "scatter", spaces(1, 3, like=xs), xs, 1)
    np.testing.assert_array_equal(np.concatenate(got), values[1])
    got = run(connected, "permute", spaces(2, 3, like=xs), xs, [(0, 1), (1, 0)])
    np.testing.assert_array_equal(got, values[::-1])
    for got in run(connected, "broadcast", [None, None], xs, 1):
        np.testing.assert_array_equal(got, values[1])


def test_messages_of_a_batch_start_together(connected):
    xs, values = given(3)
    outs = spaces(3, like=xs)
    for r, c in enumerate(connected):
        c.exchange(0, [(collectives.SEND, Buffer(xs[r]), 1 - r), (collectives.RECEIVE, Buffer(outs[r]), 1 - r)])
    np.testing.assert_array_equal([array.host_values(o) for o in outs], values[::-1])


def test_a_single_message_is_handed_in_before_the_other_side_comes(connected):
    xs, values = given(3)
    out = empty((3,), xs[1].dtype, xs[1].place)
    side = [stream.new_stream(x.place.index).id for x in xs]
    connected[0].exchange(side[0], [(collectives.SEND, Buffer(xs[0]), 1)])
    y = F.add(xs[0], 1.0)  # work of other streams goes on
    np.testing.assert_array_equal(array.host_values(y), values[0] + 1)
    got = connected[1].exchange(side[1], [(collectives.RECEIVE, Buffer(out), 0)])
    stream.stream(out.place.index, side[1]).synchronize()
    assert got.Test()
    np.testing.assert_array_equal(array.host_values(out), values[0])


def test_collectives_come_in_the_order_of_their_stream(connected):
    """Behind what makes their operands, in front of what reads their results; memory stays until they are done."""
    xs, values = given(4)
    outs = spaces(4, like=xs)
    for r, c in enumerate(connected):
        y = F.mul(xs[r], 3.0)
        c.start(0, "all_reduce", Buffer(outs[r]), Buffer(y), "sum")
        del y
    results = [F.add(o, 1.0) for o in outs]
    for got in results:
        np.testing.assert_array_equal(array.host_values(got), 3 * sum(values) + 1)


def test_what_the_library_lacks_goes_by_the_host(connected):
    xs, _ = given(3, dtype="int16")
    assert connected[0].start(0, "all_reduce", Buffer(xs[0]), Buffer(xs[0]), "sum") is None
    assert connected[0].start(0, "barrier") is None


def test_8_bits_are_reduced_where_the_devices_can(connected, cuda, monkeypatch):
    xs = [F.cast(x, dtype=dt.float8_e4m3fn) for x in given(4)[0]]
    outs = spaces(4, like=xs)
    monkeypatch.setattr(cuda.driver, "capability", (8, 9))
    assert connected[0].start(0, "all_reduce", Buffer(outs[0]), Buffer(xs[0]), "sum") is None
    run(connected, "all_gather", spaces(8, like=xs), xs)  # of bytes


def test_a_late_error_aborts_once_and_is_told_to_all(connected, library):
    xs, _ = given(3)
    started = [c.start(0, "all_reduce", Buffer(x), Buffer(x), "sum") for c, x in zip(connected, xs)]
    library.error = 6
    for _ in range(2):
        with pytest.raises(
            RuntimeError, match=r"\[nccl\] requires a group whose ranks are all there, got on gpu:0: error 6"
        ):
            started[0].Test()
    with pytest.raises(RuntimeError, match="error 6"):
        connected[0].start(0, "all_reduce", Buffer(xs[0]), Buffer(xs[0]), "sum")
    assert library.calls.count("abort") == 1
    library.error = 0
    for place in RANKS:
        stream.synchronize(Place("gpu", place).index)


def test_a_device_without_the_library_says_so_once(cuda, device, caplog, monkeypatch):
    monkeypatch.setattr(cuda, "said", set())
    nccl.load.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "nccl", None)
    assert cuda.collectives(device) is None and cuda.collectives(device) is None
    (said,) = [r for r in caplog.records if "groups move elements by the host" in r.getMessage()]
    assert "NCCL is not installed (nccl4py" in said.getMessage()
    nccl.load.cache_clear()
