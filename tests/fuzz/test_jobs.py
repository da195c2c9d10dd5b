"""Random failing jobs keep what the launcher promises. ``docs/design/fuzzing.md`` has the counts."""

from __future__ import annotations

import collections
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.fuzz.jobs import KILLED, SENT, SPINNERS, WAYS, busy, check, draw
from tests.support import jobs
from tests.support.processes import needs_mpi
from umiak.comm.launcher.monitor import JobMonitor

pytestmark = needs_mpi

SAMPLE, EACH = 8, 4
ALL, CHUNK = 300, 25
LOOPS, LOOP_CHUNK, QUICK_LOOPS = 1000, 100, 6
AT_ONCE = 3

# What a loop runs: how rank 1 ends -> the exit status. The others wait, end well, or fail of the same.
LOOP = [
    ("sys.exit(7)", 7), ("1 / 0", 1), ("os._exit(9)", 9), ("os.kill(os.getpid(), 9)", 137), ("os.abort()", 134),
    ("atexit.register(os._exit, 0); sys.exit(5)", 5), ("import absent", 1),
]  # fmt: skip
OTHERS = ("time.sleep(600)", "pass")


def test_the_sample_has_every_kind():
    """What a thousand seeds draw, and what the sample leaves to the others."""
    cases = [draw(seed) for seed in range(1000)]
    assert [draw(seed) for seed in range(10)] == cases[:10]
    kinds = collections.Counter(kind for case in cases for kind in (case.sent, case.killed) if kind)
    assert set(kinds) == {*SENT, *KILLED}
    statuses = {case.ranks[number].status for case in cases for number in case.failing}
    assert len(statuses) > 100 and 0 not in statuses
    ends = " ".join(case.ranks[number].end for case in cases for number in case.failing)
    assert all(way.partition("{")[0] in ends for way in WAYS)


@pytest.mark.parametrize("first", range(0, SAMPLE, EACH))
def test_failing_jobs(first):
    for seed in range(first, first + EACH):
        assert not check(draw(seed))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SAMPLE, ALL, CHUNK))
def test_failing_jobs_on_a_busy_machine(first):
    with busy(SPINNERS), ThreadPoolExecutor(AT_ONCE) as pool:
        assert not [text for text in pool.map(check, map(draw, range(first, min(first + CHUNK, ALL)))) if text]


def statuses(folder, numbers: range) -> list[tuple[int, int, str]]:
    """Jobs of :data:`LOOP` whose exit status is wrong: number, status, text."""

    def one(number: int) -> tuple[int, int, str] | None:
        line, status = LOOP[number % len(LOOP)]
        others = OTHERS[number // len(LOOP) % len(OTHERS)]
        program = folder / f"program{number}.py"
        program.write_text(
            "import atexit, os, sys, time\n"
            f"if os.environ['PADDLE_TRAINER_ID'] == '1':\n    {line}\nelse:\n    {others}\n"
        )
        outcome = JobMonitor(jobs.job(program, console=frozenset())).run()
        return None if outcome.code == status else (number, outcome.code, outcome.text)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [found for found in pool.map(one, numbers) if found]


def test_exit_statuses(tmp_path):
    assert not statuses(tmp_path, range(QUICK_LOOPS))
    assert not jobs.holding(os.fspath(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, LOOPS, LOOP_CHUNK))
def test_exit_statuses_on_a_busy_machine(first, tmp_path):
    with busy(SPINNERS):
        assert not statuses(tmp_path, range(first, first + LOOP_CHUNK))
    assert not jobs.holding(os.fspath(tmp_path))
