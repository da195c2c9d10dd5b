"""``paddle.device.cuda.graphs``: what a replay does, against the same calls one by one; order, memory, refusals."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import paddle
from paddle.device.cuda.cuda_graphed_layer import CUDAGraphedLayer
from paddle.device.cuda.graphs import CUDAGraph
from paddle.nn import functional as F
from umiak.backends.cuda.device import CaptureError


@pytest.fixture
def captured(device, cuda):
    """Record calls; everything has to be given back."""
    former = {*cuda.driver.graphs, *cuda.driver.instances}
    graphs = []

    def record(function, *args, **kwargs):
        graphs.append(CUDAGraph(*args, **kwargs))
        graphs[-1].capture_begin()
        graphs[-1].results = function()
        graphs[-1].capture_end()
        return graphs[-1]

    yield record
    for graph in graphs:
        graph.reset()
    assert former.issuperset({*cuda.driver.graphs, *cuda.driver.instances})


def test_nothing_is_done_before_a_replay_and_each_reads_what_is_there_then(device, cuda, captured):
    x, total = paddle.zeros([4]), paddle.zeros([4])

    def work():
        y = F.softmax(x * 2.0 + paddle.arange(4, dtype="float32"))
        total.add_(y)
        return y

    graph = captured(work)
    assert total.tolist() == [0.0] * 4
    expected = np.zeros(4, np.float32)
    for k in range(3):
        x.set_value(np.full(4, k, np.float32) * np.arange(4, dtype=np.float32))
        paddle.device.synchronize()
        cuda.driver.calls.clear()
        graph.replay()
        assert cuda.driver.calls.count("cuGraphLaunch") == 1 and "cuLaunchKernel" not in cuda.driver.calls
        y = F.softmax(x * 2.0 + paddle.arange(4, dtype="float32"))
        expected += y.numpy()
        np.testing.assert_array_equal(graph.results.numpy(), y.numpy())
    np.testing.assert_array_equal(total.numpy(), expected)


def test_memory_that_uploads_write_to_is_the_captures(device, captured):
    """Nothing else in the graph uses it, and nothing else knows of it any more."""
    from umiak import memory

    graph = captured(lambda: paddle.to_tensor(np.ones(300, np.float32)).data_ptr())
    graph.results, address = None, graph.results
    gc.collect()
    paddle.device.synchronize()
    memory.empty_cache(device)
    assert paddle.zeros([300]).data_ptr() != address
    graph.replay()


def test_training_steps_are_replayed(device, captured):
    def network():
        paddle.seed(5)
        layer = paddle.nn.Linear(4, 2)
        return layer, paddle.optimizer.SGD(0.1, parameters=layer.parameters())

    x = paddle.rand([3, 4])

    def step(layer, optimizer):
        loss = (layer(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    plain, recorded = network(), network()
    graph = captured(lambda: step(*recorded))
    for k in range(3):
        x.fill_(0.5 + k)
        expected = step(*plain)
        graph.replay()
        assert float(graph.results) == float(expected)
    np.testing.assert_array_equal(recorded[0].weight.numpy(), plain[0].weight.numpy())


DRAWS = {
    "rand": lambda x: paddle.rand([5]),
    "dropout": lambda x: F.dropout(x, 0.5),
    "randperm": lambda x: paddle.randperm(6),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.5, training=True),
}


@pytest.mark.parametrize("names", [["rand", "dropout", "rand"], ["randperm"], ["attention", "rand"]])
def test_random_numbers_are_those_of_the_calls(device, captured, names):
    """At each replay others, and the generator is then where the calls would have left it."""
    x = paddle.ones([1, 3, 2, 4])

    def work():
        return [DRAWS[name](x) for name in names]

    work()  # kernels that are compiled at a first call
    paddle.seed(7)
    graph = captured(work)
    results = []
    for _ in range(3):
        graph.replay()
        results.append([y.numpy() for y in graph.results])
    after = paddle.rand([3]).numpy()
    paddle.seed(7)
    for got in results:
        for mine, y in zip(got, work(), strict=True):
            np.testing.assert_array_equal(mine, y.numpy())
    np.testing.assert_array_equal(after, paddle.rand([3]).numpy())
    assert any(not np.array_equal(a, b) for a, b in zip(results[0], results[1]))


def test_a_stream_that_the_call_names_stays(device, captured):
    graph = captured(lambda: paddle.uniform([4], seed=3))
    got = []
    for _ in range(2):
        graph.replay()
        got.append(graph.results.tolist())
    assert got[0] == got[1] == paddle.uniform([4], seed=3).tolist()


def test_graphs_of_one_pool_share_memory(device, cuda, captured):
    x = paddle.ones([1 << 10])

    def work():
        y = ((x + 1.0) * 2.0).sum()
        return y + 0.0

    def streams():
        return {g._capture.sequence.stream for g in graphs}

    graphs = [captured(work, pool_id=11), captured(work, pool_id=11)]
    assert len(streams()) == 1
    graphs[0].reset()  # the stream is the second one's still
    graphs[0] = captured(work)
    assert len(streams()) == 2
    for graph in graphs:
        graph.replay()
        assert float(graph.results) == 4 << 10


def test_graphs_are_written_for_graphviz(device, captured, tmp_path):
    x = paddle.ones([3])
    graph = captured(lambda: (x + 1.0) * 2.0)
    graph.print_to_dot_files(tmp_path / "new")
    (file,) = (tmp_path / "new").iterdir()
    assert file.name == "segment_0.dot" and file.read_text().startswith("digraph")
    with pytest.raises(ValueError, match=r"\[print_to_dot_files\] requires flags from 1 to 2047, got 2048"):
        graph.print_to_dot_files(str(tmp_path), 2048)


@pytest.mark.usefixtures("no_garbage")
def test_a_recording_that_is_dropped_leaves_nothing(device, cuda):
    former = len(cuda.driver.graphs)
    x = paddle.ones([3])
    graph = CUDAGraph("gpu:0")
    graph.capture_begin()
    assert paddle.cuda.is_current_stream_capturing()
    y = x + 1.0
    with pytest.raises(CaptureError, match=r"\[graph\] requires work that nobody waits for"):
        y.numpy()
    del y
    graph.reset()
    assert not paddle.cuda.is_current_stream_capturing() and cuda.device(device).recording is None
    graph.capture_begin()
    x + 2.0
    del graph
    gc.collect()
    assert cuda.device(device).recording is None and len(cuda.driver.graphs) == former
    assert (x + 1.0).tolist() == [2.0] * 3


def test_what_is_no_recording_is_refused(device, tmp_path):
    graph, other = CUDAGraph(), CUDAGraph()
    for call in (graph.capture_end, graph.replay, lambda: graph.print_to_dot_files(str(tmp_path / "graphs" / "of"))):
        with pytest.raises((RuntimeError, OSError)):
            call()
    graph.capture_begin()
    with pytest.raises(CaptureError, match="requires a device that nothing is recorded of, got gpu:0"):
        other.capture_begin()
    with pytest.raises(CaptureError, match="requires a recording that has ended"):
        graph.replay()
    said = []

    def elsewhere():
        try:
            graph.capture_end()
        except CaptureError as error:
            said.append(str(error))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert said == ["[graph] requires the thread that has begun the recording, got another one"]
    paddle.seed(1)
    with pytest.raises(CaptureError, match="seeds no generator"):
        graph.capture_end()
    assert not paddle.cuda.is_current_stream_capturing()
    with pytest.raises(ValueError, match=r"\[CUDAGraph\] requires a mode of .* got 'local'"):
        CUDAGraph(mode="local")
    with pytest.raises(ValueError, match=r"\[CUDAGraph\] requires a device whose work can be recorded, got cpu"):
        CUDAGraph("cpu")


@pytest.mark.usefixtures("no_garbage")
def test_a_driver_that_refuses_ends_the_recording(device, cuda):
    x, former = paddle.ones([3]), len(cuda.driver.graphs)
    graph = CUDAGraph()
    graph.capture_begin()
    x + 1.0
    cuda.driver.fail("cuGraphInstantiate", 2, "CUDA_ERROR_OUT_OF_MEMORY")
    try:
        with pytest.raises(RuntimeError, match="CUDA_ERROR_OUT_OF_MEMORY"):
            graph.capture_end()
    finally:
        del cuda.driver.failing["cuGraphInstantiate"]
    assert not paddle.cuda.is_current_stream_capturing() and len(cuda.driver.graphs) == former
    assert (x + 1.0).tolist() == [2.0] * 3


def test_a_graphed_layer_gives_what_its_layer_does(device, cuda):
    paddle.seed(0)
    layer = paddle.nn.Sequential(paddle.nn.Linear(4, 2), paddle.nn.Tanh())
    graphed, former = CUDAGraphedLayer(layer, num_warmup_steps=1), {*cuda.driver.graphs}
    for k in range(4):
        assert graphed.is_warmup_step() == (k < 1) and graphed.is_cuda_graph_step() == (k >= 1)
        results = []
        for call in (layer, graphed):
            x = paddle.full([3, 4], 0.1 * k)
            x.stop_gradient = False
            cuda.driver.calls.clear()
            y = call(x)
            y.sum().backward()
            results.append([y.numpy(), x.grad.numpy(), layer[0].weight.grad.numpy()])
            layer.clear_gradients()
        for mine, expected in zip(results[1], results[0], strict=True):
            np.testing.assert_allclose(mine, expected, rtol=1e-5, atol=1e-6)
    assert "cuGraphLaunch" in cuda.driver.calls
    del layer, graphed, call, x, y
    gc.collect()
    assert former.issuperset(cuda.driver.graphs)


def test_gradients_are_added_to_what_is_not_done_when_a_recording_begins(device, captured):
    w = paddle.ones([3])
    w.stop_gradient = False
    (w * 2.0).sum().backward()
    graph = captured(lambda: (w * 3.0).sum().backward())
    for _ in range(3):
        graph.replay()
    assert w.grad.tolist() == [11.0] * 3


def elsewhere(call):
    """What a call gives in another thread, or raises."""
    found = []

    def run():
        try:
            found.append(call())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    return found[0]


def test_other_threads_read_what_a_recording_uses(device, captured):
    x = paddle.full([3], 2.0) * 1.0
    found = []

    def work():
        y = x * 3.0
        for read in (x.numpy, x.tolist, lambda: x[::2].numpy(), lambda: np.from_dlpack(x.cpu())):
            found.append(elsewhere(read))
        return y

    graph = captured(work)
    assert [np.asarray(a).tolist() for a in found] == [[2.0] * 3, [2.0] * 3, [2.0] * 2, [2.0] * 3]
    graph.replay()
    assert graph.results.tolist() == [6.0] * 3


def test_other_threads_wait_for_a_device_that_records(device, cuda, captured):
    """They wait for what was handed in, before the recording and on other streams; the stream that records refuses."""
    x, found = paddle.full([3], 2.0), {}

    def others():
        stream = paddle.device.Stream()
        with paddle.device.stream_guard(stream):
            y = x * 5.0
            paddle.device.synchronize()
            found["query"] = stream.query()
            return y.tolist()

    def work():
        y = x * 3.0
        recording = paddle.device.current_stream()
        found["all"], found["others"] = elsewhere(paddle.device.synchronize), elsewhere(others)
        found["stream"] = elsewhere(recording.synchronize)
        return y * 1.0

    for _ in range(2):
        x * 7.0  # nobody waits for it before the recording
        graph = captured(work)
        assert found.pop("all") is None and found.pop("others") == [10.0] * 3 and found.pop("query")
        refused = found.pop("stream")
        assert isinstance(refused, CaptureError) and "that no other thread records" in str(refused)
        graph.replay()
        assert graph.results.tolist() == [6.0] * 3
