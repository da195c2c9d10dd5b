"""Work in parts: all drivers, nested, from many threads, after a fork, in two processes."""

import ctypes
import os
import platform
import signal
import subprocess
import sys
import textwrap
import threading
from collections import Counter

import pytest

from umiak.runtime import parallel
from umiak.util import flags

try:
    ctypes.CDLL("libgomp.so.1")
    HAS_GOMP = True
except OSError:
    HAS_GOMP = False

gomp = pytest.param("gomp", marks=pytest.mark.skipif(not HAS_GOMP, reason="the system has no libgomp"))
THREADED = ["pool", gomp]
WAIT = 60  # seconds until parts that wait for each other give up

Part = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64)
parallel_for = ctypes.CFUNCTYPE(ctypes.c_int, Part, ctypes.c_void_p, ctypes.c_int64)(parallel.ADDRESS)
thread_count = ctypes.CFUNCTYPE(ctypes.c_int)(parallel.COUNT_ADDRESS)


@pytest.fixture(autouse=True)
def settings():
    """Two threads, whatever the machine has; as before afterwards."""
    threads, driver = parallel.get_num_threads(), parallel.get_driver()
    parallel.set_num_threads(2)
    yield
    parallel.set_driver(driver)
    parallel.set_num_threads(threads)


@pytest.fixture(params=["serial", *THREADED])
def driver(request):
    parallel.set_driver(request.param)
    return request.param


@pytest.fixture(params=THREADED)
def threaded(request):
    parallel.set_driver(request.param)
    return request.param


def python(code: str, **env: str) -> str:
    """What a program prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=4 * WAIT, env={**os.environ, **env},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("parts", [0, 1, 2, 3, 17, 1000])
def test_every_part_runs_once(driver, parts):
    ran = []
    parallel.run(ran.append, parts)
    assert sorted(ran) == list(range(parts))


def test_serial_parts_run_in_order():
    parallel.set_driver("serial")
    ran = []
    parallel.run(ran.append, 20)
    assert ran == list(range(20))
    assert thread_count() == 1


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_parts_run_side_by_side(threaded, threads):
    parallel.set_num_threads(threads)
    assert thread_count() == threads
    barrier, where = threading.Barrier(threads), set()

    def part(i: int) -> None:
        barrier.wait(WAIT)
        where.add(threading.get_native_id())

    for _ in range(3):
        parallel.run(part, threads)
    assert len(where) == threads and threading.get_native_id() in where


def test_threads_start_at_the_first_use():
    parallel.set_driver("pool")
    parallel.shutdown()
    assert parallel.counters()["threads"] == 0
    parallel.run(lambda i: None, 1)
    assert parallel.counters()["threads"] == 0
    before = parallel.counters()["rounds"]
    parallel.run(lambda i: None, 2)
    assert parallel.counters() == {"threads": 1, "rounds": before + 1}
    parallel.set_num_threads(4)
    parallel.run(lambda i: None, 2)
    assert parallel.counters()["threads"] == 3


def test_nested_calls_are_serial(threaded):
    barrier, inner = threading.Barrier(2), {0: [], 1: []}

    def part(i: int) -> None:
        barrier.wait(WAIT)
        parallel.run(lambda j: inner[i].append((j, threading.get_native_id())), 4)

    parallel.run(part, 2)
    for ran in inner.values():
        assert [j for j, _ in ran] == [0, 1, 2, 3]
        assert len({thread for _, thread in ran}) == 1


def test_the_first_exception_by_index_is_raised(driver):
    ran = []

    def part(i: int) -> None:
        ran.append(i)
        if i in (3, 7, 8):
            raise KeyError(f"part {i}")

    with pytest.raises(KeyError, match="part 3"):
        parallel.run(part, 10)
    assert sorted(ran) == list(range(10))
    parallel.run(ran.append, 2)  # and nothing of it stays


def test_the_first_code_by_index_is_returned(driver):
    codes = [0, 0, -5, 7, 0, 9]
    assert parallel_for(Part(lambda arg, i: codes[i]), None, 6) == -5
    assert parallel_for(Part(lambda arg, i: 0), None, 6) == 0
    assert parallel_for(Part(lambda arg, i: i), None, 3) == 1


def test_the_argument_comes_along(driver):
    seen = []
    parallel_for(Part(lambda arg, i: seen.append(arg) or 0), 1234, 3)
    assert seen == [1234] * 3


def test_many_threads_at_once(driver):
    counts = [Counter() for _ in range(6)]

    def work(k: int) -> None:
        for _ in range(40):
            parallel.run(lambda i: counts[k].update([i]), 5)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(WAIT)
    assert all(c == Counter(dict.fromkeys(range(5), 40)) for c in counts)


def test_settings_may_change_while_others_work():
    parallel.set_driver("pool")
    done, counts = threading.Event(), Counter()

    def work() -> None:
        parallel.run(lambda i: counts.update([i]), 4)
        while not done.is_set():
            parallel.run(lambda i: counts.update([i]), 4)

    thread = threading.Thread(target=work)
    thread.start()
    for n in [1, 3, 2, 4] * 5:
        parallel.set_num_threads(n)
        parallel.run(lambda i: None, 4)
    done.set()
    thread.join(WAIT)
    assert len(set(counts.values())) == 1


def test_a_thread_has_a_number_of_its_own(threaded):
    """Others keep theirs; work is cut into the parts of the thread that does it."""
    seen = {}

    def other():
        seen["other"] = thread_count()
        seen["its own"] = (parallel.own_threads(1), thread_count(), parallel.get_num_threads())

    before = parallel.own_threads(3)
    try:
        meeting = threading.Barrier(3)
        parallel.run(lambda part: meeting.wait(WAIT), 3)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert (before, thread_count(), parallel.get_num_threads()) == (0, 3, 3)
    finally:
        assert parallel.own_threads(before) == 3
    assert seen == {"other": 2, "its own": (0, 1, 1)}
    assert parallel.get_num_threads() == 2


def test_threads_are_not_changed_from_inside():
    def part(i: int) -> None:
        parallel.set_num_threads(7)

    with pytest.raises(RuntimeError, match="from inside of a part"):
        parallel.run(part, 2)
    assert parallel.get_num_threads() == 2


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match=r"\[set_num_threads\] requires a number of threads >= 0, got -1"):
        parallel.set_num_threads(-1)
    with pytest.raises(ValueError, match=r"\[set_driver\] requires one of auto, serial, pool, gomp, got 'tbb'"):
        parallel.set_driver("tbb")
    with pytest.raises(ValueError, match=r"\[run\] requires a number of parts >= 0, got -1"):
        parallel.run(print, -1)
    with pytest.raises(ValueError, match="set_spin"):
        parallel.set_spin(-1)


def test_the_number_of_threads(monkeypatch):
    # What the environment said at import holds; without, as many as there are CPUs.
    parallel.set_num_threads(0)
    asked = parallel._from_environment() or parallel.available_cpus()
    assert parallel.get_num_threads() == asked and 1 <= parallel.available_cpus() <= os.cpu_count()
    flags.set_flags({"FLAGS_paddle_num_threads": 3})
    assert parallel.get_num_threads() == 3
    flags.set_flags({"FLAGS_paddle_num_threads": 0})
    assert parallel.get_num_threads() == asked


@pytest.mark.parametrize(
    ("environment", "threads"),
    [({}, 0), ({"OMP_NUM_THREADS": "3"}, 3), ({"OMP_NUM_THREADS": " 4,2,1"}, 4), ({"UMIAK_NUM_THREADS": "5"}, 5),
     ({"UMIAK_NUM_THREADS": "5", "OMP_NUM_THREADS": "3"}, 5)],
)  # fmt: skip
def test_the_environment(monkeypatch, environment, threads):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("UMIAK_NUM_THREADS", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert parallel._from_environment() == threads


def test_a_wrong_environment(monkeypatch):
    monkeypatch.setenv("UMIAK_NUM_THREADS", "")
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    with pytest.warns(RuntimeWarning, match="OMP_NUM_THREADS requires a positive number, got 'many'"):
        assert parallel._from_environment() == 0
    monkeypatch.setenv("UMIAK_NUM_THREADS", "0")
    with pytest.raises(ValueError, match="UMIAK_NUM_THREADS requires a positive number, got '0'"):
        parallel._from_environment()


def test_an_interrupt_waits_for_the_work():
    parallel.set_driver("pool")
    seen, ran, barrier = [], [], threading.Barrier(2)
    former = signal.signal(signal.SIGINT, lambda *_: seen.append(threading.current_thread()))
    try:

        def part(i: int) -> None:
            barrier.wait(WAIT)
            if threading.current_thread() is not threading.main_thread():
                os.kill(os.getpid(), signal.SIGINT)
            ran.append(i)

        parallel.run(part, 2)
    finally:
        signal.signal(signal.SIGINT, former)
    assert sorted(ran) == [0, 1] and seen == [threading.main_thread()]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="FE_UPWARD is a number of x86 here")
def test_parts_round_as_their_caller_does(threaded):
    libm, nearest, upward = ctypes.CDLL("libm.so.6"), 0, 0x800
    one, little, barrier, sums = 1.0, 1e-30, threading.Barrier(2), []

    def part(i: int) -> None:
        barrier.wait(WAIT)
        sums.append(one + little)

    try:
        assert libm.fesetround(upward) == 0
        parallel.run(part, 2)
    finally:
        libm.fesetround(nearest)
    assert len(sums) == 2 and min(sums) > 1.0
    parallel.run(part, 2)
    assert sums[2:] == [1.0, 1.0]


def test_import_starts_no_thread_and_exit_is_clean():
    out = python(
        """
        import os, threading
        from umiak.runtime import parallel
        before = len(os.listdir("/proc/self/task"))
        parallel.run(lambda i: None, 4)
        print(before, parallel.get_num_threads(), len(os.listdir("/proc/self/task")), threading.active_count())
        """,
        UMIAK_NUM_THREADS="3", FLAGS_parallel_driver="pool", OPENBLAS_NUM_THREADS="1",
    )  # fmt: skip
    assert out.split() == ["1", "3", "3", "1"]


@pytest.mark.parametrize("name", THREADED)
def test_a_forked_child_is_serial_until_told_otherwise(name):
    out = python(
        f"""
        import os, sys, threading
        from umiak.runtime import parallel
        parallel.set_driver({name!r})
        parallel.set_num_threads(2)

        def meet(n):
            barrier, ran = threading.Barrier(n), []
            parallel.run(lambda i: ran.append((barrier.wait({WAIT}), i)), 2 if n == 2 else 5)
            return len(ran)

        assert meet(2) == 2
        child = os.fork()
        if child == 0:
            assert parallel.get_num_threads() == 1 and meet(1) == 5
            parallel.set_num_threads(2)
            assert parallel.get_driver() == "pool" and meet(2) == 2
            try:
                parallel.set_driver("gomp")
            except RuntimeError as error:
                print("refused:", error, flush=True)
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert meet(2) == 2
        print("parent", parallel.get_driver())
        """
    )
    assert out.splitlines() == [
        "refused: [set_driver] cannot use 'gomp' in a forked child: it waits for its parent's threads",
        f"parent {name}",
    ]


def test_a_fork_while_another_thread_works():
    python(
        f"""
        import os, threading
        from umiak.runtime import parallel
        parallel.set_driver("pool")
        parallel.set_num_threads(2)
        began, go = threading.Event(), threading.Event()

        def part(i):
            began.set()
            go.wait({WAIT})

        thread = threading.Thread(target=parallel.run, args=(part, 2))
        thread.start()
        began.wait({WAIT})
        child = os.fork()
        if child == 0:
            parallel.set_num_threads(2)
            barrier = threading.Barrier(2)
            parallel.run(lambda i: barrier.wait({WAIT}), 2)
            os._exit(0)
        go.set()
        thread.join()
        assert os.waitpid(child, 0)[1] == 0
        """
    )


def test_two_processes_share_the_machine():
    code = """
        import ctypes
        from umiak.runtime import parallel
        parallel.set_driver("pool")
        parallel.set_num_threads(2)
        for _ in range(2000):
            parallel.run(lambda i: None, 3)
        print(parallel.counters()["rounds"])
    """
    results = []
    threads = [threading.Thread(target=lambda: results.append(python(code))) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == ["2000\n"] * 2


@pytest.mark.skipif(not HAS_GOMP, reason="the system has no libgomp")
def test_auto_shares_the_threads_of_libraries():
    out = python(
        """
        import ctypes
        from umiak.runtime import parallel
        print(parallel.get_driver())
        ctypes.CDLL("libgomp.so.1")
        parallel.set_driver("auto")
        print(parallel.get_driver())
        """
    )
    assert out.split() == ["pool", "gomp"]
