"""Calls that get from dispatch to the driver without Python: which do, and that they do the same as through Python."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from test_kernels import both, normals

import paddle
from umiak import ops as F
from umiak.backends.cuda.driver import CudaError
from umiak.backends.cuda.launches import Launch
from umiak.backends.cuda.nest_calls import Line, Lines, Table
from umiak.backends.nest_launches import MOST_KERNELS, KernelCache
from umiak.compiler import statistics
from umiak.compiler.loop.tree import Kernel
from umiak.core import array, generator, stream
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.context import current


@pytest.fixture
def through_python(monkeypatch):
    """The kernels whose launches went through Python."""
    names = []
    put = Launch.put

    def counted(self, queue, given):
        names.append(self.name)
        put(self, queue, given)

    monkeypatch.setattr(Launch, "put", counted)
    return names


CALLS = {
    "numbers": (lambda x, n: F.add(F.mul(x, float(n)), n), normals(4, 6)),
    "shapes": (lambda x, n: F.add(x, F.permute(x, perm=(1, 0))), normals(5, 5)),
    "row": (lambda x, n: F.softmax(x, axis=1), normals(3, 40)),
    "column": (lambda x, n: F.sum(x, axes=(0,)), normals(6, 4)),
    "results": (lambda x, n: paddle.nn.functional.layer_norm(x, [8]), normals(3, 8)),
    "cast": (lambda x, n: F.cast(x, dtype=dt.int32), normals(3, 5)),
    "made": (lambda x, n: F.concat((x, x), axis=1), normals(2, 3)),
    "copy": (lambda x, n: F.copy(F.permute(x, perm=(1, 0))), normals(2, 3)),
    "temporaries": (lambda x, n: paddle.sort(x, axis=0), normals(20)),
    "scratch": (lambda x, n: F.cumsum(x, axis=0), normals(300)),
    "parts": (lambda x, n: F.sum(x, axes=(0,)), normals(66_000)),
    "large": (lambda x, n: F.neg(x), normals(300, 300)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_class_of_sizes_goes_through_python_once(device, cuda, through_python, name):
    function, x = CALLS[name]
    expected, _ = both(device, lambda x: function(x, 3), x)  # known from here on
    y = from_numpy(x, device)
    handed_in = stream.stream(device.index, 0).submitted
    through_python.clear()
    cuda.driver.calls.clear()
    got = function(y, 3)
    assert through_python == [] and "cuLaunchKernel" in cuda.driver.calls
    assert stream.stream(device.index, 0).submitted > handed_in
    np.testing.assert_array_equal(array.host_values(got), array.host_values(function(y, 3)))
    np.testing.assert_allclose(array.host_values(got), expected, rtol=3e-5, atol=3e-5)


def test_other_sizes_and_strides_are_found_again(device, through_python):
    rows = {n: from_numpy(normals(n, 7), device) for n in (2, 3, 5)}
    strided = [x[:, ::2] for x in rows.values()]
    for turn in range(3):
        through_python.clear()
        for x in (*rows.values(), *strided):
            y = F.mul(x, 2.0 + turn)
            np.testing.assert_array_equal(array.host_values(y), array.host_values(x) * np.float32(2 + turn))
        assert turn == 0 or through_python == []


def test_random_numbers_are_those_of_the_host_without_python(device, through_python):
    """Their offset is a number of the call, by which nothing is chosen."""

    def draws():
        return [*(paddle.uniform([65]).numpy() for _ in range(3)), *(paddle.randn([7]).numpy() for _ in range(3))]

    drawn = []
    for place in ("cpu", device.name, device.name):
        paddle.set_device(place)
        generator.seed_all(7)
        through_python.clear()
        drawn.append(draws())
    assert through_python == []
    for mine, its, again in zip(*drawn):
        np.testing.assert_allclose(its, mine, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(again, its)
    assert not np.array_equal(drawn[0][0], drawn[0][1])


def test_gradients_and_writes_are_the_same(device, through_python):
    for _ in range(2):
        through_python.clear()
        x = paddle.to_tensor(normals(4, 4), stop_gradient=False)
        y = (x * x).sum()
        y.backward()
        z = x.detach()
        z.add_(z)
        z[1] = 0.0
    assert through_python == []
    np.testing.assert_array_equal(x.grad.numpy(), 2 * normals(4, 4))
    expected = 2 * normals(4, 4)
    expected[1] = 0
    np.testing.assert_array_equal(z.numpy(), expected)


def test_what_data_may_fail_is_checked_behind_its_launch(device, through_python):
    x, good, bad = (from_numpy(np.array(a), device) for a in ([1.0, 2.0, 3.0], [0, 2], [0, 9]))
    for _ in range(2):
        through_python.clear()
        assert array.host_values(F.take(x, good, axis=0)).tolist() == [1, 3]
        assert through_python
    F.take(x, bad, axis=0)
    with pytest.raises(RuntimeError, match=r"\[take\] failed on gpu:0 after it was launched: IndexingError"):
        stream.synchronize(device.index)


def test_the_context_is_that_of_the_device(device, cuda):
    """Other libraries make theirs current."""
    x = from_numpy(normals(4), device)
    F.mul(x, 2.0)
    cuda.driver.ctx_set_current(0)
    y = F.mul(x, 3.0)
    np.testing.assert_array_equal(array.host_values(y), normals(4) * 3)


@pytest.mark.parametrize("call", ["cuLaunchKernel", "cuCtxSetCurrent"])
def test_a_call_that_the_driver_refuses_is_no_work(device, cuda, call):
    x = from_numpy(normals(4), device)
    F.mul(x, 2.0)
    main = stream.stream(device.index, 0)
    before = main.submitted
    cuda.driver.fail(call, 1, "CUDA_ERROR_INVALID_VALUE")
    try:
        with pytest.raises(CudaError, match=rf"\[{call}\] failed with CUDA_ERROR_INVALID_VALUE"):
            F.mul(x, 3.0)
    finally:
        cuda.driver.failing.clear()
    assert main.submitted == before
    assert array.host_values(F.mul(x, 2.0)).tolist() == (normals(4) * 2).tolist()


def test_launches_go_to_the_current_stream_and_hold_memory_of_others(device, cuda):
    x = from_numpy(normals(4), device)
    F.mul(x, 2.0)
    stream.synchronize(device.index)
    queues = cuda.device(device).queues
    former = current().set_stream(device, 3)
    try:
        y = F.mul(x, 2.0)  # the stream is new to the device: through Python
        y = F.mul(y, 2.0)
        assert [w.name.startswith("mul") for w in cuda.driver.streams[queues[3].handle].work] == [True, True]
        assert not cuda.driver.streams[queues[0].handle].work
        del x  # the recording driver refuses to give back what the stream will read
        array.host_values(y)
    finally:
        current().set_stream(device, former)
    np.testing.assert_array_equal(array.host_values(y), normals(4) * 4)


@pytest.mark.parametrize("flag", ["FLAGS_benchmark", "FLAGS_check_cuda_error"])
def test_work_that_is_waited_for_is_done(device, through_python, flag):
    x = from_numpy(normals(4), device)
    F.mul(x, 2.0)
    main = stream.stream(device.index, 0)
    paddle.set_flags({flag: True})
    try:
        F.mul(x, 3.0)
        assert through_python and main.completed == main.submitted
    finally:
        paddle.set_flags({flag: False})
    through_python.clear()
    F.mul(x, 4.0)
    assert not through_python and not main.query()


def test_launches_are_timed_once_each(device):
    x, y = from_numpy(normals(4), device), from_numpy(normals(300, 300), device)
    new = from_numpy(normals(3, 5, 2), device)
    F.mul(x, 2.0)
    F.mul(y, 2.0)

    def counted():
        return sum(row.count for row in statistics.launches().values())

    before = counted()
    with statistics.timed_launches():
        F.mul(x, 3.0)
        F.mul(y, 3.0)
        F.mul(new, 3.0)  # through Python
    assert counted() == before + 3


def test_threads_hand_in_work_of_their_own(device):
    x = from_numpy(normals(4, 4), device)
    results = {}

    def work(n):
        y = x
        for _ in range(20):
            y = F.add(y, float(n))
        results[n] = y

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for n, y in results.items():
        expected = normals(4, 4)
        for _ in range(20):
            expected = expected + np.float32(n)
        np.testing.assert_array_equal(array.host_values(y), expected)


def test_a_table_refuses_what_does_not_fit(cuda, device):
    lines = Lines(device.index, cuda.driver.current_entry(), 1, cuda.driver.check)
    with pytest.raises(ValueError, match=r"\[add\] requires a stream id in \[0, 256\), got 256"):
        lines.add(256, Line(device.index, 0, 0))
    table = Table(lines, 2, 1)
    with pytest.raises(ValueError, match=r"\[add\] requires 2 integers and -1 pointers, got 1 and 3"):
        table.add((1,), 3, (), [], None)
    table.add((1, 2), 3, (), [], None)
    table.add((1, 2), 3, (), [], None)
    assert table.count == 1
    with pytest.raises(ValueError, match=r"\[add\] requires 2 integers and 3 pointers, got 2 and 4"):
        table.add((1, 3), 4, (), [], None)
    for n in range(600):
        table.add((n, 7), 3, (), [], None)
    assert 0 < table.count <= 256


def test_values_of_kernels_are_found_by_identity():
    cache = KernelCache()
    kernels = [Kernel("k", (), 0, ()) for _ in range(2)]
    assert kernels[0] == kernels[1] and cache.put("first", kernels[0], 256) == "first"
    assert cache.get(kernels[0], 256) == "first"
    assert cache.get(kernels[0], 128) is None and cache.get(kernels[1], 256) is None
    for n in range(MOST_KERNELS):
        cache.put("other", kernels[1], n)
    assert cache.get(kernels[1], MOST_KERNELS - 1) == "other" and len(cache.known) <= MOST_KERNELS
