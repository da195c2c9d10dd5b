"""Data parallelism: a step of the GPT on two processes of one thread each, against PyTorch's, and over slower links.

Each side's processes read orders from fifos; sides take turns, and the fastest steps count (models/parallel_worker.py).
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from measure import Settings
from rows import Outcome, add_row, add_section, duration

SECTION = add_section("data-parallel", "Data parallelism, two processes of one thread: time of a step")
HERE = Path(__file__).parent
ROUNDS, STEPS, RANKS = 9, 3, 2
SLACK = 1.2  # of what hides the other: the longer of computing and communication
# Latency in µs and bandwidth in GB/s. Gradients come in the last two thirds of a step only: where communication takes
# as long as computing, no order of things hides more than that.
LINKS = {"fast": "100:0.5", "medium": "100:0.1", "slow": "100:0.02"}


class Side:
    """The processes of one side."""

    def __init__(self, side: str, settings: Settings, link: str = "") -> None:
        self.folder = tempfile.TemporaryDirectory()
        orders = f"{self.folder.name}/orders"
        for rank in range(RANKS):
            os.mkfifo(f"{orders}.{rank}")
            os.mkfifo(f"{orders}.{rank}.out")
        cores = ",".join(map(str, settings.cores[:RANKS]))
        env = {**os.environ, "OMP_NUM_THREADS": "1", "FLAGS_comm_link": link}
        python = ["taskset", "-c", cores, sys.executable, "-m", "models.parallel_worker", side]
        if side == "ours":
            mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
            if mpiexec is None:
                raise RuntimeError("[data_parallel] requires mpiexec, got none: pip install umiak[distributed]")
            commands = [[mpiexec, "-n", str(RANKS), *python, f"0,{RANKS}", orders]]
        else:
            with socket.socket() as s:
                s.bind(("127.0.0.1", 0))
                env.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(s.getsockname()[1]))
            commands = [[*python, f"{rank},{RANKS}", orders] for rank in range(RANKS)]
        self.processes = [
            subprocess.Popen(c, cwd=HERE, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for c in commands
        ]
        self.orders: list[Any] = []
        self.answers: list[Any] = []
        try:
            for rank in range(RANKS):  # a fifo opens when its other end is there, after the worker has warmed up
                self.orders.append(self._open(f"{orders}.{rank}"))
                self.answers.append(open(f"{orders}.{rank}.out"))  # noqa: SIM115 (closed in __exit__)
            for f in self.answers:
                f.readline()
        except BaseException:
            self.__exit__()
            raise

    def _open(self, path: str) -> Any:
        """A fifo to write to, once somebody reads it."""
        while True:
            try:
                return os.fdopen(os.open(path, os.O_WRONLY | os.O_NONBLOCK), "w")
            except OSError:
                ended = next((p for p in self.processes if p.poll() is not None), None)
                if ended is not None:
                    raise RuntimeError(
                        f"[data_parallel] requires its processes to run, got\n{ended.communicate()[1]}"
                    ) from None
                time.sleep(0.05)

    def seconds(self, kind: str, count: int) -> float:
        """Of one of ``count`` on the slowest rank."""
        for f in self.orders:
            f.write(f"{kind} {count}\n")
            f.flush()
        said = [f.readline() for f in self.answers]
        if not all(said):
            errors = [p.communicate()[1] for p in self.processes]
            raise RuntimeError("\n".join(["[data_parallel] requires its processes to run, got", *errors]))
        return max(map(float, said))

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *_: object) -> None:
        for f in (*self.orders, *self.answers):
            f.close()
        for process in self.processes:
            process.communicate()
        self.folder.cleanup()


def against_peer(settings: Settings) -> Outcome:
    rounds, steps = (1, 1) if settings.check else (ROUNDS, STEPS)
    with Side("ours", settings) as one, Side("peer", settings) as two:
        found = [[s.seconds("step", steps) for s in ((one, two) if i % 2 else (two, one))] for i in range(rounds)]
    pairs = [pair if i % 2 else pair[::-1] for i, pair in enumerate(found)]
    ours, other = (min(p[i] for p in pairs) for i in (0, 1))
    return Outcome(duration(ours), duration(other), f"{other / ours:.3g}×", other / ours >= 1, other / ours)


def hidden(link: str, settings: Settings) -> Outcome:
    """A step is to take little more than the longer of its computing and its communication."""
    rounds, steps = (1, 1) if settings.check else (ROUNDS, STEPS)
    kinds = ("step", "compute", "communication")
    with Side("ours", settings, link) as side:
        found = [[side.seconds(kind, steps) for kind in kinds] for _ in range(rounds)]
    step, compute, communication = (min(row[i] for row in found) for i in range(3))
    longer = max(compute, communication)
    parts = f"computing {duration(compute)}, communication {duration(communication)}"
    return Outcome(duration(step), parts, f"{step / longer:.3g}× the longer", step <= SLACK * longer)


def enter() -> None:
    what = "GPT step, 4 layers, 256 wide, 4 × 256 tokens on each process"
    add_row("dp-gpt", what, "PyTorch DDP over gloo takes ≥ 1×", against_peer, SECTION)
    for name, link in LINKS.items():
        latency, bandwidth = link.split(":")
        add_row(
            f"dp-gpt-{name}-link",
            f"the same over an emulated link of {latency} µs and {bandwidth} GB/s",
            f"≤ {SLACK:g}× the longer of computing and communication",
            partial(hidden, link),
            SECTION,
        )


enter()
