"""Requests that fit run together, each gets its own results, and what goes wrong with one is no other's business."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from paddle.inference.serve.batching import Batcher, Closed, Full, Queue
from paddle.inference.serve.metrics import Counter, Histogram, Metrics

LONG = 120.0


def rows(n, width=2, value=0.0):
    return [np.full([n, width], value, "float32")]


class Model:
    """Doubles; notes the rows of each run, and waits where it is told to."""

    def __init__(self):
        self.runs = []
        self.go = threading.Event()
        self.go.set()
        self.entered = threading.Semaphore(0)

    def __call__(self, arrays):
        self.entered.release()
        assert self.go.wait(LONG)
        if any((x == 13).any() for x in arrays):
            raise ValueError("thirteen")
        self.runs.append(len(arrays[0]))
        return [x * 2 for x in arrays]


@pytest.fixture
def serve():
    batchers = []

    def make(model, count=1, **limits):
        queue = Queue(**{"most_rows": 4, "delay": 0.0, "most_waiting": 100, **limits})
        batchers.append(Batcher(queue, [model] * count, lambda *_: None))
        return queue

    yield make
    for batcher in batchers:
        batcher.close()


def held(serve, model, **limits):
    """A queue whose only thread is in a run until `model.go` is set."""
    queue = serve(model, **limits)
    model.go.clear()
    first = queue.put(rows(1), True)
    assert model.entered.acquire(timeout=LONG)
    return queue, first


def test_waiting_requests_run_together(serve):
    model = Model()
    queue, first = held(serve, model)
    futures = [queue.put(rows(n, value=n), True) for n in (1, 2, 3, 1)]
    model.go.set()
    for n, future in zip((1, 2, 3, 1), futures, strict=True):
        (y,) = future.result(LONG)
        np.testing.assert_array_equal(y, np.full([n, 2], 2 * n))
    first.result(LONG)
    assert model.runs == [1, 4, 3]  # the last one fits beside the first two, the third does not


def test_other_widths_and_dtypes_run_apart(serve):
    model = Model()
    queue, _ = held(serve, model)
    futures = [queue.put(x, True) for x in (rows(1), rows(1, 3), [np.ones([1, 2])], rows(1))]
    model.go.set()
    for future in futures:
        future.result(LONG)
    assert model.runs == [1, 2, 1, 1]


def test_requests_that_may_not_run_together(serve):
    model = Model()
    queue, _ = held(serve, model)
    futures = [queue.put(rows(1), False) for _ in range(3)]
    futures.append(queue.put([np.ones([1, 2]), np.ones([2, 2])], True))  # of different rows
    futures.append(queue.put([np.float32(3).reshape(())], True))
    model.go.set()
    for future in futures[:-1]:
        future.result(LONG)
    with pytest.raises(TypeError):  # of the model, which asks for its rows
        futures[-1].result(LONG)
    assert model.runs == [1, 1, 1, 1, 1]


def test_a_request_waits_for_others(serve):
    model = Model()
    queue = serve(model, delay=LONG, most_rows=3)
    futures = [queue.put(rows(1), True) for _ in range(3)]  # the third one makes it full
    for future in futures:
        future.result(LONG)
    assert model.runs == [3]


def test_a_request_does_not_wait_for_ever(serve):
    model = Model()
    queue = serve(model, delay=0.01, most_rows=3)
    queue.put(rows(1), True).result(LONG)
    assert model.runs == [1]


def test_an_open_group_holds_up_no_others(serve):
    model = Model()
    queue = serve(model, count=2, delay=LONG, most_rows=3, most_waiting=1)
    first = queue.put(rows(1), True)
    while len(queue):  # until a thread has it, and waits for others
        time.sleep(0.001)
    alone = queue.put([np.ones([1, 2]), np.ones([2, 2])], True)
    alone.result(LONG)
    rest = [queue.put(rows(1), True) for _ in range(2)]  # they join the group: nobody waits in the queue
    for future in [first, *rest]:
        future.result(LONG)
    assert model.runs == [1, 3]


def test_open_groups_run_at_the_end():
    model = Model()
    queue = Queue(8, LONG, 100)
    batcher = Batcher(queue, [model], lambda *_: None)
    futures = [queue.put(rows(n), True) for n in (1, 2)]
    batcher.close()
    assert all(f.done() for f in futures)
    assert sum(model.runs) == 3


def test_a_request_larger_than_a_group(serve):
    model = Model()
    assert len(serve(model).put(rows(9), True).result(LONG)[0]) == 9


def test_the_mistake_of_one_is_not_that_of_others(serve):
    model = Model()
    queue, _ = held(serve, model)
    futures = [queue.put(rows(1, value=v), True) for v in (1, 13, 3)]
    model.go.set()
    assert [futures[i].result(LONG)[0][0, 0] for i in (0, 2)] == [2, 6]
    with pytest.raises(ValueError, match="thirteen"):
        futures[1].result(LONG)


def test_requests_that_were_given_up_are_not_run(serve):
    model = Model()
    queue, _ = held(serve, model, most_rows=1)
    given_up, wanted = queue.put(rows(1), True), queue.put(rows(1), True)
    assert given_up.cancel()
    model.go.set()
    wanted.result(LONG)
    assert model.runs == [1, 1]


def test_only_so_many_wait(serve):
    model = Model()
    queue, _ = held(serve, model, most_waiting=2)
    futures = [queue.put(rows(1), True) for _ in range(2)]
    assert len(queue) == 2
    with pytest.raises(Full):
        queue.put(rows(1), True)
    model.go.set()
    for future in futures:
        future.result(LONG)


def test_what_waits_is_answered_in_the_end():
    model = Model()
    queue = Queue(1, 0.0, 100)
    batcher = Batcher(queue, [model] * 2, lambda *_: None)
    model.go.clear()
    futures = [queue.put(rows(1), True) for _ in range(5)]
    threading.Timer(0.05, model.go.set).start()
    batcher.close()
    assert all(f.done() for f in futures)
    with pytest.raises(Closed):
        queue.put(rows(1), True)


def test_many_threads(serve):
    model = Model()
    queue = serve(model, count=3, delay=0.001, most_rows=8, most_waiting=1000)
    wrong = []

    def ask(seed):
        rng = np.random.default_rng(seed)
        for _ in range(30):
            x = rng.standard_normal([rng.integers(1, 4), 2]).astype("float32")
            (y,) = queue.put([x], True).result(LONG)
            if not np.array_equal(y, 2 * x):
                wrong.append((x, y))

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert sum(model.runs) >= 180


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_counters():
    counter = Counter("status")
    for status in ("200", "400", "200"):
        counter.add(status)
    assert list(counter.lines("n")) == ['n{status="200"} 2', 'n{status="400"} 1']


def test_histograms():
    histogram = Histogram((1, 2.5))
    for value in (0.5, 1, 2, 9):
        histogram.add(value)
    assert list(histogram.lines("h")) == [
        'h_bucket{le="1"} 2', 'h_bucket{le="2.5"} 3', 'h_bucket{le="+Inf"} 4', "h_sum 12.5", "h_count 4",
    ]  # fmt: skip


def test_the_text_of_all_numbers():
    metrics = Metrics(lambda: 7)
    metrics.requests.add("200")
    metrics.ran(3, 0.2)
    text = metrics.text()
    assert "# TYPE umiak_run_rows histogram" in text
    assert 'umiak_run_rows_bucket{le="4"} 1' in text
    assert "umiak_waiting_requests 7" in text.splitlines()
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# HELP")]
    assert len(names) == len(set(names)) == 5
