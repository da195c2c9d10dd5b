"""However a program ends, its workers end too, and no memory is left: programs in sessions of their own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import os, sys, time
import numpy as np
import paddle
from paddle import io

class Data(io.Dataset):
    def __init__(self, seconds=0.0):
        self.seconds = seconds
    def __getitem__(self, i):
        time.sleep(self.seconds)
        return np.full([100, 200], i, np.float32)
    def __len__(self):
        return 100

def batches(**options):
    return iter(io.DataLoader(Data(options.pop("seconds", 0.0)), num_workers=2, **options))

def ready():
    print("ready", flush=True)
"""

# What each program does, and how it ends: the exit code, and what it says on its way out.
ENDS = {
    "exits with live iterators": ("it = batches(); other = batches(persistent_workers=True); next(it)", 0, ""),
    "exits while workers are busy": ("it = batches(seconds=0.05); next(it)", 0, ""),
    "breaks": ("for b in batches(persistent_workers=True): break\nprint('after')", 0, ""),
    "fails": ("for b in batches(): raise ValueError('mine')", 1, "ValueError: mine"),
    "fails in a worker": ("io.DataLoader.x = list(io.DataLoader(['a', b'', object()], num_workers=2))", 1, "TypeError"),
    "exits at once": ("it = batches(); next(it); os._exit(7)", 7, ""),
}
SIGNALLED = {
    "interrupted in the loop": (
        "it = batches(); next(it); ready(); time.sleep(600)",
        signal.SIGINT,
        "KeyboardInterrupt",
    ),
    "interrupted while waiting": ("it = batches(seconds=600); ready(); next(it)", signal.SIGINT, "KeyboardInterrupt"),
    "terminated": ("it = batches(seconds=600); ready(); next(it)", signal.SIGTERM, ""),
    "killed": (
        "a = batches(seconds=600); b = batches(persistent_workers=True); next(b); ready(); next(a)",
        signal.SIGKILL,
        "",
    ),
}


def start(tail):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM + tail],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def members(session):
    """The processes of a session, zombies aside."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[3] == str(session) and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def assert_nobody_is_left(session):
    until = time.monotonic() + 300
    while left := members(session):
        if time.monotonic() > until:
            os.killpg(session, signal.SIGKILL)
        assert time.monotonic() < until, f"processes {left} are left"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def programs():
    """All programs, side by side."""
    begun = {name: start(tail) for name, (tail, *_) in (ENDS | SIGNALLED).items()}
    yield begun
    for program in begun.values():
        program.kill()
        program.communicate()


@pytest.mark.parametrize("name", ENDS)
def test_programs_that_end(programs, name):
    _, code, says = ENDS[name]
    _, errors = programs[name].communicate(timeout=300)
    assert programs[name].returncode == code, errors
    assert says in errors and (says or not errors)
    assert_nobody_is_left(programs[name].pid)


@pytest.mark.parametrize("name", SIGNALLED)
def test_programs_that_are_signalled(programs, name):
    _, number, says = SIGNALLED[name]
    program = programs[name]
    assert program.stdout.readline() == "ready\n"
    assert len(members(program.pid)) >= 3
    if number == signal.SIGINT:
        os.killpg(program.pid, number)  # as a terminal does
    else:
        program.send_signal(number)
    _, errors = program.communicate(timeout=300)
    assert program.returncode == -number or (number == signal.SIGINT and program.returncode == 1), errors
    assert errors.count("Traceback") == bool(says) and says in errors  # of the main process alone
    assert_nobody_is_left(program.pid)
