"""Two processes of a side, which wait without spinning until they are told what to time.

A worker module has ``start(side) -> run`` where ``run(request) -> figure`` is called on every rank with the same text;
rank 0's figure counts. Ours are started by the MPI launcher, PyTorch's by hand.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from measure import Settings

HERE = Path(__file__).parent
RANKS = 2


class Job:
    """The two ranks of one side, one thread each, on the first two cores."""

    def __init__(self, module: str, side: str, settings: Settings, env: Mapping[str, str] | None = None) -> None:
        self.folder = tempfile.TemporaryDirectory()
        paths = [os.path.join(self.folder.name, f"rank{r}") for r in range(RANKS)]
        for path in paths:
            os.mkfifo(path)
        given = {**os.environ, "OMP_NUM_THREADS": "1", **(env or {})}
        worker = ["-m", "ranks", module, side, self.folder.name]
        cores = ["taskset", "-c", ",".join(map(str, settings.cores[:RANKS]))]
        if side == "peer":
            with tempfile.NamedTemporaryFile(delete=False) as meeting:
                pass
            os.unlink(meeting.name)
            commands = [([sys.executable, *worker], {"RANK": str(r), "MEETING": meeting.name}) for r in range(RANKS)]
        else:
            beside = Path(sys.executable).with_name("mpiexec")
            mpiexec = str(beside) if beside.exists() else shutil.which("mpiexec")
            if mpiexec is None:
                raise RuntimeError("[ranks] requires mpiexec, got none. pip install mpi4py mpich")
            commands = [([mpiexec, "-n", str(RANKS), sys.executable, *worker], {})]
        self.processes = [
            subprocess.Popen(
                [*cores, *command], cwd=HERE, env={**given, **more}, text=True, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if i == 0 else subprocess.DEVNULL, stderr=subprocess.PIPE,
            )
            for i, (command, more) in enumerate(commands)
        ]  # fmt: skip
        self.requests = [self._open(path) for path in paths]

    def _open(self, path: str) -> TextIO:
        """A fifo to write to, once its reader is there."""
        while True:
            with contextlib.suppress(OSError):
                return os.fdopen(os.open(path, os.O_WRONLY | os.O_NONBLOCK), "w")
            if any(p.poll() is not None for p in self.processes):
                raise self._broken("start")
            time.sleep(0.05)

    def _broken(self, request: str) -> RuntimeError:
        errors = "\n".join(p.communicate()[1] for p in self.processes)
        return RuntimeError(f"[ranks] requires {request!r} to run, got\n{errors}")

    def run(self, request: str) -> Any:
        """Return the answer of rank 0 to a request."""
        for pipe in self.requests:
            pipe.write(request + "\n")
            pipe.flush()
        out = self.processes[0].stdout
        assert out is not None
        for line in out:
            if line.startswith("{"):
                return json.loads(line)["figure"]
        raise self._broken(request)

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self.requests:
            pipe.close()
        for process in self.processes:
            process.communicate()
        self.folder.cleanup()


def connect(side: str) -> int:
    """Join the other rank; the own rank."""
    if side == "peer":
        import torch
        import torch.distributed as dist

        torch.set_num_threads(1)
        dist.init_process_group("gloo", init_method=f"file://{os.environ['MEETING']}", rank=int(os.environ["RANK"]),
                                world_size=RANKS)  # fmt: skip
        return dist.get_rank()
    import paddle

    paddle.set_num_threads(1)
    paddle.distributed.init_parallel_env()
    return paddle.distributed.get_rank()


def serve(module: str, side: str, folder: str) -> None:
    rank = connect(side)
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[rank % len(cores)]})
    run = importlib.import_module(module).start(side)
    with open(os.path.join(folder, f"rank{rank}")) as requests:
        for request in requests:
            figure = run(request.strip())
            if rank == 0:
                print(json.dumps({"figure": figure}), flush=True)
    if side == "peer":
        import torch.distributed as dist

        dist.destroy_process_group()


if __name__ == "__main__":
    serve(*sys.argv[1:])
