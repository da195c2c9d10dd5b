"""Counts and times per kernel."""

import threading
from types import SimpleNamespace

import pytest

from tests.support.garbage import collect_garbage
from umiak.compiler import jit, statistics
from umiak.compiler.jit import engine, object_cache


@pytest.fixture(autouse=True)
def clean(tmp_path):
    before = object_cache.FOLDER.value
    object_cache.FOLDER.set(str(tmp_path / "cache"))
    jit.host()
    collect_garbage()  # what other tests left in cycles would be found in memory
    engine.forget()
    statistics.reset()
    yield
    statistics.reset()
    object_cache.FOLDER.set(before)
    engine.forget()


def cells(table):
    return [line.split() for line in table.splitlines()]


def test_compile_table():
    statistics.add_time("small", "codegen", 0.001)
    statistics.add_time("big", "codegen", 0.002)
    statistics.add_time("big", "load", 0.0005)
    statistics.add_time("big", "load", 0.0005)
    statistics.count("big", "compiled")
    statistics.count("small", "from_disk")
    lines = statistics.compile_table().splitlines()
    assert lines[0].split() == ["kernel", "compiled", "from_disk", "from_memory", "codegen", "ms", "load", "ms"]
    assert lines[1].split() == ["big", "1", "0", "0", "2.000", "1.000"]
    assert lines[2].split() == ["small", "0", "1", "0", "1.000", "-"]
    assert len(set(map(len, lines))) == 1


def test_launch_table():
    for _ in range(3):
        statistics.record_launch("add", 0.6e-3, bytes=2_000_000, flops=1_000_000)
    statistics.record_launch("add", 0.2e-3, bytes=2_000_000, flops=1_000_000)
    statistics.record_launch("gemm", 1.0)
    rows = [
        ["gemm", "1", "1000.000", "1000000.00", "1000000.00", "0.00", "0.00"],
        ["add", "4", "2.000", "500.00", "200.00", "4.00", "2.00"],
    ]
    assert cells(statistics.launch_table())[1:] == rows
    assert statistics.launch_table(lambda row: row.bytes / 16e9).splitlines()[0].endswith("% of roof")
    assert cells(statistics.launch_table(lambda row: row.bytes / 16e9))[1:] == [[*rows[0], "0.0"], [*rows[1], "25.0"]]
    row = statistics.launches()["add"]
    assert (row.count, row.seconds, row.least) == (4, pytest.approx(2e-3), 0.2e-3)
    assert (row.bytes, row.flops) == (8_000_000, 4_000_000)


def test_launch_of_no_time_has_no_rate():
    statistics.record_launch("k", 0.0, bytes=8)
    assert cells(statistics.launch_table())[1] == ["k", "1", "0.000", "0.00", "0.00", "0.00", "0.00"]


def test_what_a_launch_makes_takes_no_time_of_it(monkeypatch):
    plan = SimpleNamespace(op=SimpleNamespace(name="k"), kernel_name="", work=lambda operands, outs, dims: (dims[0], 7))
    spent = [2.0]
    monkeypatch.setattr(statistics, "MAKING", [lambda: spent[0], lambda: 1.0])
    timer = statistics.Timer()
    token = timer.start()
    spent[0] = 5.0
    timer.stop(token, 3.5, plan, (), (), (40,))
    assert statistics.launches() == {"k": statistics.Launches(1, 0.5, 0.5, 40, 7)}


def test_nested_making_counts_once(monkeypatch):
    clock = iter(range(10))
    monkeypatch.setattr(statistics.time, "perf_counter", lambda: next(clock))
    before = statistics.MAKING[0]()
    with statistics.apart(), statistics.apart():
        pass
    assert statistics.MAKING[0]() - before == 3


def test_reset():
    statistics.count("k", "compiled")
    statistics.record_launch("k", 1.0)
    statistics.reset()
    assert len(cells(statistics.compile_table())) == len(cells(statistics.launch_table())) == 1
    assert statistics.total("compiled") == 0


def test_unknown_events_are_refused():
    with pytest.raises(KeyError):
        statistics.count("k", "forgotten")


def test_kernels_without_end_share_a_row():
    for i in range(statistics.ROWS + 50):
        statistics.count(f"k{i}", "compiled")
        statistics.record_launch(f"k{i}", 1e-6)
    rows = {row[0]: row for row in cells(statistics.compile_table())}
    assert len(rows) == statistics.ROWS + 2
    assert rows[statistics.OTHERS][1] == "50"
    assert statistics.launches()[statistics.OTHERS].count == 50
    assert statistics.total("compiled") == statistics.ROWS + 50


def test_threads_lose_no_count():
    def work():
        for _ in range(2000):
            statistics.count("k", "from_memory")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statistics.total("from_memory") == 8000


def test_jit_counts_and_times():
    text = "define i64 @k() {\n  ret i64 42\n}\n"
    kept = jit.load(text, ["k"])
    assert jit.load(text, ["k"]) is kept
    del kept
    engine.forget()
    jit.load(text, ["k"])
    head, row = cells(statistics.compile_table())
    assert row[:4] == ["k", "1", "1", "1"]
    assert [word for word in head if word in ("codegen", "link", "disk", "load")] == ["codegen", "disk", "link", "load"]
    assert "-" not in row
