"""Functions as graphs of the driver: calls without Python, memory, splits, what is refused, what is given back."""

from __future__ import annotations

import gc
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import paddle
from umiak import ops as F
from umiak.backends.cuda.device import FINISHING, CaptureError
from umiak.backends.cuda.graphs import Graph, between
from umiak.backends.cuda.recordings import LOCK
from umiak.core import array, stream
from umiak.core.array import from_numpy

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def graph(device, cuda):
    """Capture a function; the graph is closed at the end."""
    graphs = []
    former = {*cuda.driver.graphs, *cuda.driver.instances}  # of programs that tests before this one have kept

    def capture(function, *examples):
        graphs.append(Graph(cuda.device(device), function, examples))
        return graphs[-1]

    yield capture
    for made in graphs:
        made.close()
    assert former.issuperset({*cuda.driver.graphs, *cuda.driver.instances})


def test_calls_launch_a_graph_and_nothing_else(device, cuda, graph):
    def function(x):
        y = F.softmax(F.mul(x, 2.0), axis=1)
        return F.sum(F.mul(y, x), axes=(0,))

    captured = graph(function, from_numpy(X, device))
    for k in range(3):
        x = from_numpy(X[::-1].copy() * k, device)
        expected = array.host_values(function(x))
        stream.synchronize(device.index)
        cuda.driver.calls.clear()
        y = captured(x)
        assert "cuLaunchKernel" not in cuda.driver.calls and cuda.driver.calls.count("cuGraphLaunch") == 1
        np.testing.assert_array_equal(array.host_values(y), expected)


def test_a_graph_that_goes_within_the_capture_of_another_leaves_it_alone(device, cuda, graph):
    x = from_numpy(X, device)
    former = graph(lambda x: F.mul(x, 3.0), x)

    def function(x):
        y = F.add(x, 1.0)
        former.close()  # as it may be collected
        assert cuda.device(device).recording is not None
        return F.mul(y, 2.0)

    captured = graph(function, x)
    np.testing.assert_array_equal(array.host_values(captured(x)), 2 * X + 2)


def test_memory_of_a_graph_is_its_own(device, graph):
    """What others allocate and free meanwhile does not disturb it, nor emptying caches."""
    from umiak import memory

    layer = paddle.nn.Linear(3, 2)

    def function(x):
        y = x + 1.0
        for _ in range(4):
            y = (y + 0.5) * 2.0
        with paddle.no_grad():
            return layer(y)

    x = from_numpy(X, device)
    expected = array.host_values(function(x))
    captured = graph(function, x)
    layer = None
    gc.collect()
    stream.synchronize(device.index)
    memory.empty_cache(device)
    others = [from_numpy(np.full(n, -7.0, np.float32), device) for n in (4, 6, 9, 16, 64)]
    np.testing.assert_array_equal(array.host_values(captured(x)), expected)
    assert all((array.host_values(o) == -7).all() for o in others)


def test_graphs_of_one_device_take_turns(device, graph):
    x = from_numpy(X, device)
    first = graph(lambda x: F.add(F.mul(x, 2.0), 1.0), x)
    second = graph(lambda x: F.sub(F.mul(x, 3.0), 1.0), x)
    y, z = first(x), second(x)
    assert array.host_values(y).tolist() == (2 * X + 1).tolist()
    assert array.host_values(z).tolist() == (3 * X - 1).tolist()


def test_gradients_are_captured_with_the_function(device, graph):
    weights = paddle.to_tensor(X.T.copy(), stop_gradient=False)

    def function(x):
        loss = paddle.nn.functional.gelu(x @ weights).sum()
        return paddle.grad(loss, weights)

    x = paddle.to_tensor(X)
    (expected,) = function(x)
    expected = expected.numpy()
    captured = graph(function, x)
    captured(paddle.to_tensor(X + 1))
    (got,) = captured(x)
    np.testing.assert_array_equal(got.numpy(), expected)


def test_what_a_graph_cannot_record_splits_it(device, cuda, graph):
    """An op of the host: a graph in front of it, one behind it, and at each call it is done between them."""
    square = between(cuda.device(device), cuda.host.kernel(SimpleNamespace(op=F.REGISTRY["square"](), place=device)))

    def function(x):
        (y,) = square.call((F.add(x, 1.0),), ())
        return F.mul(y, 10.0)

    captured = graph(function, from_numpy(X, device))
    for k in (1, 2):
        cuda.driver.calls.clear()
        cuda.host.clear()
        y = captured(from_numpy(X * k, device))
        assert cuda.driver.calls.count("cuGraphLaunch") == 2 and cuda.host.read() == {"square": 1}
        np.testing.assert_array_equal(array.host_values(y), 10 * (X * k + 1) ** 2)


def test_what_data_make_fail_is_told_at_every_call(device, graph):
    table = from_numpy(np.arange(4, dtype=np.float32), device)
    captured = graph(lambda at: F.take(table, at, axis=0), from_numpy(np.array([0, 1]), device))
    assert array.host_values(captured(from_numpy(np.array([3, 2]), device))).tolist() == [3, 2]
    side = stream.stream(device.index, captured.stream)
    for bad in (9, 7):
        captured(from_numpy(np.array([1, bad]), device))
        with pytest.raises(RuntimeError, match=rf"\[take\] on gpu:0: .* got {bad}"):
            stream.stream(device.index, 0).synchronize()  # which waited for the graph
        with pytest.raises(RuntimeError, match=rf"\[take\] failed on gpu:0 after it was launched.* got {bad}"):
            side.synchronize()
    assert array.host_values(captured(from_numpy(np.array([1, 1]), device))).tolist() == [1, 1]


def test_what_data_made_fail_is_told_though_a_later_call_is_right(device, graph):
    """Nobody looked between the two."""
    table = from_numpy(np.arange(4, dtype=np.float32), device)
    captured = graph(lambda at: F.take(table, at, axis=0), from_numpy(np.array([0, 1]), device))
    for good in (True, False, True):
        captured(from_numpy(np.array([1, 2 if good else 9]), device))
    with pytest.raises(RuntimeError, match=r"\[take\] .*failed with code"):
        stream.stream(device.index, 0).synchronize()
    with pytest.raises(RuntimeError, match=r"\[take\] failed on gpu:0 after it was launched"):
        stream.stream(device.index, captured.stream).synchronize()
    assert array.host_values(captured(from_numpy(np.array([1, 1]), device))).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: F.mul(x, float(x.sum())), r"\[graph\] requires work that nobody waits for"),
        (lambda x: x + paddle.rand([2, 3]), r"\[graph\] requires a function that draws no random numbers"),
    ],
)
def test_what_would_not_hold_at_the_next_call_is_refused(device, cuda, graph, function, message):
    x = from_numpy(X, device)
    with pytest.raises(CaptureError, match=message):
        graph(function, x)
    assert cuda.device(device).recording is None
    assert array.host_values(F.add(x, 1.0)).tolist() == (X + 1).tolist()


def test_tensors_that_do_not_fit_are_refused(device, graph):
    x = from_numpy(X, device)
    captured = graph(lambda x: F.add(x, 1.0), x)
    with pytest.raises(
        ValueError, match=r"\[graph\] requires float32\[2, 3\] on gpu:0, as it was captured, got float32\[3\]"
    ):
        captured(from_numpy(X[0].copy(), device))
    with pytest.raises(ValueError, match=r"\[graph\] requires 1 tensors, got 0"):
        captured()
    with pytest.raises(CaptureError, match=r"\[graph\] requires tensors of gpu:0"):
        graph(lambda x: x, paddle.to_tensor(X, place="cpu"))


def test_who_asks_a_stream_when_its_capture_begins_or_ends_does_not_spoil_it(device, cuda, graph, monkeypatch):
    """Whoever asks sets a mark on a stream, unless it is captured."""
    owner, threads = cuda.device(device), []

    def asked(call):
        def run(handle):
            result = call(handle) if call is begin else None
            queue = next(q for q in owner.queues.values() if q.handle == handle)
            threads.append(threading.Thread(target=queue.poll, daemon=True))
            threads[-1].start()
            threads[-1].join(0.2)  # which ends, if it may ask now
            return result if call is begin else call(handle)

        return run

    begin, end = cuda.driver.stream_begin_capture, cuda.driver.stream_end_capture
    monkeypatch.setattr(cuda.driver, "stream_begin_capture", asked(begin))
    monkeypatch.setattr(cuda.driver, "stream_end_capture", asked(end))
    x = from_numpy(X, device)
    captured = graph(lambda x: F.mul(x, 3.0), x)
    for thread in threads:
        thread.join(60)
    np.testing.assert_array_equal(array.host_values(captured(x)), 3 * X)
    assert len(threads) == 2


def test_a_graph_may_go_while_work_is_finished_and_another_thread_captures(device, graph):
    """As one that is collected does."""
    captured = graph(lambda x: F.mul(x, 3.0), from_numpy(X, device))
    capturing = threading.Event()

    def capture():
        with LOCK:
            capturing.set()
            with FINISHING:
                pass

    def finish():
        with FINISHING:
            threads[1].start()
            capturing.wait(30)
            captured.close()

    threads = [threading.Thread(target=f, daemon=True) for f in (finish, capture)]
    threads[0].start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive(), "they wait for each other"
