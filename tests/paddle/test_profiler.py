"""What the profiler records: each op, gradient, kernel and range once, nested as they ran; tables and traces of it."""

from __future__ import annotations

import json
import os
import re
import threading
from collections import Counter

import numpy as np
import pytest

import paddle
from paddle import nn, profiler
from paddle.nn.layer.layers import Layer
from paddle.profiler import (
    Profiler,
    ProfilerState,
    ProfilerTarget,
    RecordEvent,
    SortedKeys,
    SummaryView,
    make_scheduler,
)
from umiak.core import context
from umiak.observe.collector import EventCollector
from umiak.observe.event import (
    BACKWARD,
    FORWARD,
    INNER,
    KERNEL,
    LOADER,
    OPERATOR,
    OPTIMIZER,
    PROGRAM,
    STEP,
    USER,
    Event,
)
from umiak.observe.profile import Profile, load, merged, outermost
from umiak.runtime import observe

PROFILE = context.OBSERVE_PROFILE


@pytest.fixture(autouse=True)
def nothing_is_left():
    call = Layer.__call__
    yield
    assert EventCollector.active is None
    assert Layer.__call__ is call
    assert not context.current().observers & PROFILE
    assert observe.PROBE is None


class Counters(paddle.io.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        return np.full(4, i, np.float32)


def train(steps=1, p=None):
    paddle.seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    for _, x in zip(range(steps), paddle.io.DataLoader(Counters(), batch_size=1)):
        with RecordEvent("mine"):
            loss = net(x[0] if isinstance(x, (list, tuple)) else x).sum()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        if p is not None:
            p.step(num_samples=1)


def recorded(function=train, **settings) -> Profile:
    with Profiler(**settings) as p:
        function()
    return p.profiler_result


def names(profile, *kinds):
    return Counter(e.name for e in profile.of(*kinds))


# --- events ----------------------------------------------------------------------------------------------------------


def test_every_kind_of_event():
    found = recorded()
    assert names(found, OPERATOR) >= Counter({"linear": 2, "relu": 1, "linear_grad": 2, "relu_grad": 1, "sum_grad": 1})
    assert names(found, BACKWARD) == {"backward": 1}
    assert names(found, OPTIMIZER) == {"SGD.step": 1}
    assert names(found, USER) == {"mine": 1}
    assert names(found, STEP) == {"ProfileStep#0": 1}
    assert names(found, LOADER)["DataLoader"] >= 1
    layers = list(found.of(FORWARD))
    assert [re.sub(r"_\d+$", "", e.name) for e in layers] == ["linear", "re_lu", "linear", "sequential"]
    assert len(outermost(layers)) == 1
    (mine,) = found.of(USER)
    assert outermost(layers)[0].parent is mine
    kernels = found.kernels_of()
    assert {k.name.split()[0] for k in kernels[id(mine)]} == {"linear", "relu", "sum"}
    assert all(k.args["bytes"] > 0 for k in found.of(KERNEL))


def test_events_nest():
    found = recorded()
    for e in found.events:
        assert found.start <= e.start <= e.end <= found.end
        if e.parent is not None:
            assert e.parent.start <= e.start <= e.end <= e.parent.end
            assert e.parent.thread == e.thread
    for e in found.of(OPERATOR):
        assert e.parent is None or e.parent.kind not in (OPERATOR, INNER)
    assert all(e.in_op for e in found.of(INNER))


def test_layers_of_all_threads():
    net, ready, done = nn.Linear(2, 2), threading.Event(), threading.Event()

    def work():
        paddle.ones([1])  # the thread's context is there before the profiler is
        ready.set()
        done.wait()
        net(paddle.ones([1, 2]))

    before = threading.Thread(target=work, name="before")
    before.start()
    ready.wait()
    with Profiler() as p:
        done.set()
        before.join()
        after = threading.Thread(target=lambda: net(paddle.ones([1, 2])), name="after")
        after.start()
        after.join()
    found = p.profiler_result
    of = {found.threads[e.thread]: e.name for e in found.of(OPERATOR) if e.name == "linear"}
    assert of == {"before": "linear", "after": "linear"}
    # Nothing is watched any more, in new threads either.
    bits = []
    t = threading.Thread(target=lambda: bits.append(context.current().observers))
    t.start()
    t.join()
    assert bits == [0]


def test_captured_functions():
    net = nn.Linear(4, 2)

    @paddle.jit.to_static
    def both(x):
        return net(x).exp().sum()

    x = paddle.ones([3, 4])
    both(x)
    with Profiler() as p:
        both(x)
    (run,) = p.profiler_result.of("Program")
    assert run.name == "both"
    assert p.profiler_result.kernels_of()[id(run)]


def test_errors_end_events():
    def fail():
        with pytest.raises(ValueError, match="requires"):
            paddle.ones([2, 3]).matmul(paddle.ones([2, 3]))
        paddle.ones([2]) + 1

    found = recorded(fail)
    ops = [e for e in found.of(OPERATOR) if e.name == "add"]
    assert len(ops) == 1
    assert ops[0].parent.kind == STEP


def test_the_profiler_ends_with_errors():
    with pytest.raises(KeyError), Profiler():
        raise KeyError


def test_other_observers_go_on():
    seen = []
    with observe.observe(lambda op, *_: seen.append(op.name)):
        with Profiler() as p:
            paddle.ones([2]) + 1
        paddle.ones([2]) * 2
    assert seen == ["full", "add", "full", "mul"]
    assert names(p.profiler_result, OPERATOR) == {"full": 1, "add": 1}


@pytest.mark.usefixtures("no_garbage")
def test_shapes_and_memory():
    found = recorded(
        lambda: paddle.ones([256, 4]).astype("float64").sum(axis=0), record_shapes=True, profile_memory=True
    )
    (cast,) = (e for e in found.of(OPERATOR) if e.name == "cast")
    assert cast.args["inputs"] == ["float32[256, 4]"]
    assert cast.args["outputs"] == ["float64[256, 4]"]
    assert cast.args["attributes"]["dtype"]
    assert cast.memory == 256 * 4 * 8
    assert found.counters
    assert max(c.allocated for c in found.counters) - found.counters[0].allocated >= 256 * 4 * 12
    plain = recorded(lambda: paddle.ones([256, 4]).sum())
    assert plain.counters == []
    assert all("inputs" not in e.args for e in plain.events)


def test_kernels_have_their_work():
    x, y = paddle.ones([8, 16]), paddle.ones([16, 32])
    found = recorded(lambda: x @ y)
    (kernel,) = found.of(KERNEL)
    assert kernel.args == {"bytes": 4 * (8 * 16 + 16 * 32 + 8 * 32), "flops": 2 * 8 * 16 * 32}
    assert kernel.parent.name == "matmul"


def test_one_at_a_time():
    with Profiler(), pytest.raises(RuntimeError, match=r"\[profiler\] requires that no other one is recording"):
        Profiler().start()


def test_nothing_is_asked_while_it_is_off(monkeypatch):
    monkeypatch.setattr(EventCollector, "begin", lambda *_: pytest.fail("asked"))
    train()
    event = RecordEvent("x")
    event.begin()
    event.end()
    event.end()

    @RecordEvent("decorated")
    def f():
        return 3

    assert f() == 3


def test_ranges_of_the_user():
    @RecordEvent("decorated")
    def f(n):
        return f(n - 1) if n else 0

    def body():
        e = RecordEvent("open", event_type="Special")
        e.begin()
        with RecordEvent("inner"):
            f(2)
        e.end()
        RecordEvent("never ended").begin()

    found = recorded(body)
    assert names(found, USER) == {"decorated": 3, "inner": 1}
    assert names(found, "Special") == {"open": 1}


# --- schedules -------------------------------------------------------------------------------------------------------


def test_schedules():
    C, R, X, L = ProfilerState
    make = make_scheduler(closed=1, ready=1, record=2, repeat=1, skip_first=1)
    assert [make(i) for i in range(8)] == [C, C, R, X, L, C, C, C]
    make = make_scheduler(closed=0, ready=0, record=1)
    assert [make(i) for i in range(3)] == [L, L, L]
    make = make_scheduler(closed=1, ready=0, record=2, repeat=2)
    assert [make(i) for i in range(8)] == [C, X, L, C, X, L, C, C]
    for wrong in ({"closed": -1}, {"record": 0}, {"repeat": -1}):
        with pytest.raises(ValueError, match=r"\[make_scheduler\] requires numbers of at least 0"):
            make_scheduler(**{"closed": 0, "ready": 0, "record": 1, **wrong})


@pytest.mark.parametrize(
    ("scheduler", "steps"),
    [
        (None, [[0, 1, 2, 3, 4]]),
        ((1, 3), [[1, 2]]),
        ((0, 2), [[0, 1]]),
        (make_scheduler(closed=1, ready=1, record=1, repeat=2), [[2]]),
        (make_scheduler(closed=0, ready=0, record=2), [[0, 1], [2, 3], [4]]),
    ],
)
def test_recorded_steps(scheduler, steps):
    ready = []

    def take(p):
        ready.append([int(e.name.split("#")[1]) for e in p.profiler_result.of(STEP)])

    p = Profiler(scheduler=scheduler, on_trace_ready=take)
    p.start()
    train(4, p)
    p.stop()
    assert ready == steps


def test_a_round_that_is_not_over_is_handed_over_at_stop():
    ready = []
    p = Profiler(scheduler=(0, 10), on_trace_ready=ready.append)
    p.start()
    train(2, p)
    p.stop()
    assert ready == [p]
    p.stop()
    assert ready == [p]


# --- times of steps --------------------------------------------------------------------------------------------------


def test_step_info():
    p = Profiler(timer_only=True)
    p.start()
    assert p.step_info() == ""
    train(2, p)
    text = p.step_info(unit="images")
    assert re.fullmatch(r" reader_cost: \d+\.\d{5} s batch_cost: \d+\.\d{5} s ips: \d+\.\d{3} images/s", text)
    assert p.step_info() == ""
    p.step()
    assert p.step_info().endswith(" steps/s")
    p.step(num_samples=3)
    assert p.step_info().endswith(" samples/s")
    p.stop()
    assert p.profiler_result is None


def test_step_info_adds_up(monkeypatch):
    from paddle.profiler import timer

    clock = iter([10.0, 12.0, 16.0])
    monkeypatch.setattr(timer.time, "perf_counter", lambda: next(clock))
    t = timer.StepTimer()
    t.start()
    t.read(0.5)
    t.step(8)
    t.read(1.5)
    t.step(16)
    assert t.info(None) == " reader_cost: 1.00000 s batch_cost: 3.00000 s ips: 4.000 samples/s"
    lines = t.table().splitlines()
    assert lines[2].split() == ["batch_cost", "(s)", "4.00000", "4.00000", "4.00000"]


# --- traces ----------------------------------------------------------------------------------------------------------


def check_trace(found):
    """The rules of the trace-event format that viewers rely on."""
    events = found["traceEvents"]
    ranges: dict[int, list] = {}
    for e in events:
        assert e["ph"] in "XMCsf"
        assert isinstance(e["name"], str)
        assert 0 <= e["tid"] < 1 << 31
        assert e["pid"] == os.getpid()
        assert e["ts"] >= 0
        if e["ph"] == "X":
            assert e["dur"] >= 0
            ranges.setdefault(e["tid"], []).append(e)
        if e["ph"] == "C":
            assert all(isinstance(v, int) for v in e["args"].values())
    named = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert set(ranges) <= set(named)
    for own in ranges.values():  # on a row, ranges lie apart or inside of each other
        open_until = []
        for e in sorted(own, key=lambda e: (e["ts"], -e["dur"])):
            while open_until and open_until[-1] <= e["ts"] + 1e-6:
                open_until.pop()
            assert all(e["ts"] + e["dur"] <= end + 2e-3 for end in open_until)
            open_until.append(e["ts"] + e["dur"])

    def inside(arrow, category):
        return any(
            e["ts"] - 1e-6 <= arrow["ts"] <= e["ts"] + e["dur"] + 1e-6
            for e in ranges[arrow["tid"]]
            if category is None or e["cat"] in category
        )

    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert starts.keys() == ends.keys()
    for key, arrow in starts.items():
        assert inside(arrow, (OPERATOR, INNER, PROGRAM))
        assert inside(ends[key], (KERNEL,))
        assert ends[key]["bp"] == "e"
    return named, ranges, starts


def test_chrome_traces(tmp_path):
    def body():
        t = threading.Thread(target=lambda: paddle.ones([2]) + 1, name="side")
        t.start()
        t.join()
        train()

    with Profiler(record_shapes=True, profile_memory=True) as p:
        body()
    path = tmp_path / "new" / "trace.json"
    p.export(str(path))
    found = json.loads(path.read_text())
    named, ranges, arrows = check_trace(found)
    rows = {re.sub(r" \(\d+\)", "", n) for n in named.values()}
    assert rows == {"MainThread", "MainThread: kernels", "side", "side: kernels"}
    kernels = [e for own in ranges.values() for e in own if e["cat"] == KERNEL]
    assert len(kernels) == len(list(p.profiler_result.of(KERNEL)))
    assert len(arrows) >= 10
    assert any(e["ph"] == "C" for e in found["traceEvents"])


def test_traces_are_read_back(tmp_path):
    with Profiler(profile_memory=True) as p:
        train()
    path = tmp_path / "trace.json"
    p.export(path)
    back, was = profiler.load_profiler_result(path), p.profiler_result

    def shown(r, first):
        return Counter(
            (e.name, e.kind, e.start - first, e.duration, e.memory, getattr(e.parent, "name", None)) for e in r.events
        )

    assert shown(back, 0) == shown(was, was.start)
    assert back.threads == was.threads
    assert len(back.counters) == len(was.counters)
    again = tmp_path / "again.json"
    back.save(again)
    one, two = (json.loads(f.read_text()) for f in (path, again))
    assert [e for e in one["traceEvents"] if e["ph"] == "X"] == [e for e in two["traceEvents"] if e["ph"] == "X"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"otherData": {"format": "other"}}',
        '{"traceEvents": [{"ph": "X"}], "otherData": 3}',
        "[" * 100000,
    ],
)
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(
        ValueError, match=r"\[load_profiler_result\] requires a trace that the profiler has exported, got .*x\.json"
    ):
        profiler.load_profiler_result(path)


def test_export_handlers(tmp_path):
    ready = profiler.export_chrome_tracing(str(tmp_path / "a"), "worker")
    p = Profiler(scheduler=make_scheduler(closed=0, ready=0, record=1, repeat=2), on_trace_ready=ready)
    p.start()
    train(3, p)
    p.stop()
    files = sorted(os.listdir(tmp_path / "a"))
    assert len(files) == 2
    assert all(re.fullmatch(r"worker_time_[\d_]+\.paddle_trace\.json", f) for f in files)
    for f in files:
        check_trace(json.loads((tmp_path / "a" / f).read_text()))


# --- tables ----------------------------------------------------------------------------------------------------------


def known():
    """A recording whose numbers are known: two steps on one thread, an op of two kernels in each, an op on another."""
    r = Profile(start=0, end=3_000_000, busy=(0.0015, 0.003), threads={1: "Main", 2: "side"})
    for i in range(2):
        begin = i * 1_000_000
        step = Event(f"ProfileStep#{i}", STEP, begin, 1)
        layer = Event("net", FORWARD, begin, 1, step)
        inner = Event("linear_0", FORWARD, begin, 1, layer)
        op = Event("linear", OPERATOR, begin + 100_000, 1, inner)
        for j in range(2):
            k = Event("gemm" if j else "pack", KERNEL, begin + 100_000 + j * 100_000, 1, op)
            k.end = k.start + 50_000
            k.args = {"bytes": 1000, "flops": 500 * j}
            r.events.append(k)
        for e, length in ((op, 300_000 * (i + 1)), (inner, 600_000), (layer, 700_000), (step, 1_000_000)):
            e.end = e.start + length
            r.events.append(e)
    side = Event("add", OPERATOR, 0, 2)
    side.end = 2_000_000
    r.events.append(side)
    return r


def rows_of(text, title):
    """The rows of a table, cells by two spaces and more."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if title in line)
    found = []
    for line in lines[at + 3 :]:
        if line.startswith("----"):
            break
        found.append(re.split(r"\s{2,}", line.strip()))
    return found


@pytest.fixture
def tables(capsys):
    def show(**settings):
        p = Profiler()
        p.profiler_result = known()
        p.summary(**settings)
        return capsys.readouterr().out

    return show


def test_tables(tables):
    text = tables(time_unit="us")
    assert rows_of(text, "Overview Summary") == [
        ["ProfileStep", "2", "2000.000", "100.00"],
        ["Forward", "2", "1400.000", "70.00"],
        ["Operator", "3", "2900.000", "145.00"],
        ["Kernel", "4", "200.000", "10.00"],
    ]
    assert rows_of(text, "Model Summary") == [
        ["ProfileStep", "2", "2000.000 / 1000.000 / 1000.000 / 1000.000 / 100.00"],
        [
            "Forward",
            "2",
            "1400.000 / 700.000 / 700.000 / 700.000 / 70.00",
            "200.000 / 100.000 / 100.000 / 100.000 / 10.00",
        ],
        ["Others", "-", "600.000 (30.00 %)"],
    ]
    assert rows_of(text, "Operator Summary") == [
        ["add", "1", "2000.000 / 2000.000 / 2000.000 / 2000.000 / 68.97", "0.000 / 0.000 / 0.000 / 0.000 / 0.00", "0"],
        [
            "linear",
            "2",
            "900.000 / 450.000 / 600.000 / 300.000 / 31.03",
            "200.000 / 100.000 / 100.000 / 100.000 / 6.90",
            "1000",
        ],
        ["pack", "2", "100.000 / 50.000 / 50.000 / 50.000 / 11.11", "0"],
        ["gemm", "2", "100.000 / 50.000 / 50.000 / 50.000 / 11.11", "1000"],
    ]
    gemm = rows_of(text, "Kernel Summary")[1]
    assert gemm == ["gemm", "2", "100.000 / 50.000 / 50.000 / 50.000 / 50.00", "0.02", "0.01"]
    assert "Memory Summary" not in text
    assert "UserDefined" not in text
    cores = os.cpu_count()
    assert rows_of(text, "Device Summary") == [
        ["this process", f"{50 / cores:.2f}"],
        ["everything", f"{100 / cores:.2f}"],
    ]


def test_what_tables_can_be_told(tables):
    assert [r[0] for r in rows_of(tables(sorted_by=SortedKeys.GPUTotal, op_detail=False), "Operator Summary")] == [
        "linear",
        "add",
    ]
    assert [r[0] for r in rows_of(tables(sorted_by=SortedKeys.CPUMin, op_detail=False), "Operator Summary")] == [
        "linear",
        "add",
    ]
    text = tables(thread_sep=True, views=SummaryView.OperatorView)
    assert "Operator Summary on thread Main (1)" in text
    assert "Operator Summary on thread side (2)" in text
    assert "Overview" not in text
    assert "Kernel Summary" in tables(views=[SummaryView.KernelView])
    assert "0.002 / " in tables(time_unit="s")
    with pytest.raises(ValueError, match=r"\[Profiler\] requires a time_unit of .*, got 'h'"):
        tables(time_unit="h")


@pytest.mark.parametrize("key", SortedKeys)
def test_summaries_of_real_runs(capsys, key):
    with Profiler(profile_memory=True) as p:
        train()
    p.summary(sorted_by=key, thread_sep=True)
    text = capsys.readouterr().out
    for title in ("Device", "Overview", "Model", "Operator", "Kernel", "UserDefined", "Memory"):
        assert f"{title} Summary" in text
    assert "SGD.step" not in text
    assert re.search(r"Optimization +1 ", text)


def test_merged_times():
    r = known()
    assert merged(r.of(OPERATOR)) == 2_900_000
    assert merged(r.of(FORWARD)) == 1_400_000


# --- what is refused -------------------------------------------------------------------------------------------------


def test_refusals(tmp_path):
    with pytest.raises(RuntimeError, match=r"\[export_protobuf\] requires a format that is public"):
        profiler.export_protobuf(str(tmp_path))
    with pytest.raises(ValueError, match="custom_device_types"):
        Profiler(custom_device_types=["npu"])
    with pytest.raises(TypeError, match="a function or a pair of steps as scheduler, got 3"):
        Profiler(scheduler=3)
    with pytest.raises(ValueError, match=r"a pair \(first, last\)"):
        Profiler(scheduler=(3, 3))
    with pytest.raises(RuntimeError, match="requires a recording that is complete, got none yet"):
        Profiler().export(str(tmp_path / "x.json"))
    with pytest.warns(UserWarning, match=r"\[Profiler\] has no XPU here"):
        Profiler(targets=[ProfilerTarget.CPU, ProfilerTarget.XPU])
    with Profiler() as p:
        pass
    with pytest.raises(ValueError, match="requires the format 'json', got 'pb'"):
        p.export(str(tmp_path / "x"), format="pb")
    with pytest.raises(ValueError, match=r"\[Profiler.export\] requires the name of a file"):
        p.export()
    assert load.__doc__


# --- ranges for profilers outside ------------------------------------------------------------------------------------


class Ranges:
    """The package ``nvtx``: the ranges that are open, and all that there were with the number of those around."""

    def __init__(self):
        self.open, self.seen = [], []

    def push_range(self, name):
        self.seen.append((name, len(self.open)))
        self.open.append(name)

    def pop_range(self):
        self.open.pop()


@pytest.fixture
def nvtx(monkeypatch):
    package = Ranges()
    monkeypatch.setattr(paddle.profiler.profiler, "nvtx", lambda: package)
    monkeypatch.setattr(paddle.device.ranges, "_package", lambda: package)
    yield package
    assert not package.open


@pytest.mark.parametrize("timer_only", [False, True])
def test_ranges_are_emitted(nvtx, timer_only):
    x = paddle.ones([2, 2], dtype="float32")
    x.stop_gradient = False
    with Profiler(emit_nvtx=True, timer_only=timer_only) as p:
        with profiler.RecordEvent("mine"):
            paddle.device.nvtx.range_push("inner")
            y = x * 3.0
            paddle.device.nvtx.range_pop()
        y.sum().backward()
        p.step()
    depth = dict(reversed(nvtx.seen))
    assert depth["inner"] == depth["mine"] + 1 == depth["mul"] - 1
    assert {"sum", "mul_grad"} <= set(depth)
    assert [name for name, _ in nvtx.seen].count("inner") == 1
    assert (p.profiler_result is None) == timer_only
    nvtx.seen.clear()
    x + 1.0
    assert not nvtx.seen


def test_a_range_that_outlives_its_profiler_ends(nvtx):
    p = Profiler(emit_nvtx=True, timer_only=True)
    p.start()
    with profiler.RecordEvent("outer"):
        profiler.RecordEvent("left open").begin()
        p.stop()
        assert nvtx.open
    assert not nvtx.open


def test_ranges_need_their_package(monkeypatch):
    monkeypatch.setattr(paddle.profiler.profiler, "nvtx", lambda: None)
    with pytest.raises(ImportError, match=r"\[Profiler\] requires the package nvtx for emit_nvtx, got none"):
        Profiler(emit_nvtx=True)
