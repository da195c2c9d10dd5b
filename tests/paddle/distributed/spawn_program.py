"""A script that spawns: its functions are of its main module."""

import os
import sys
import time
from pathlib import Path

import pytest

from paddle.distributed import spawn


class Box:
    """A class of the main module, as an argument."""

    def __init__(self, value: int) -> None:
        self.value = value


def work(folder: Path, box: Box) -> None:
    from mpi4py import MPI

    numbers = MPI.COMM_WORLD.allgather(int(os.environ["PADDLE_TRAINER_ID"]))
    print("rank", os.environ["PADDLE_TRAINER_ID"], numbers, box.value, __name__)


def fail(folder: Path) -> None:
    from mpi4py import MPI

    (folder / f"pid.{os.getpid()}").touch()
    MPI.COMM_WORLD.barrier()
    if MPI.COMM_WORLD.rank == 1:
        raise KeyError("böse")
    MPI.COMM_WORLD.barrier()


def main(folder: Path) -> None:
    context = spawn(work, args=(folder, Box(3)), nprocs=2)
    assert [process.exitcode for process in context.processes] == [0, 0]

    with pytest.raises(RuntimeError, match="rank 1 ended with exit code 1") as caught:
        spawn(fail, args=[folder], nprocs=2)
    error = caught.value
    assert (error.rank, error.exitcode) == (1, 1)
    assert "in fail\n" in str(error) and "KeyError: 'böse'" in error.traceback
    assert "runner.py" not in error.traceback

    context = spawn(time.sleep, args=(600,), nprocs=2, join=False)
    assert all(process.is_alive() for process in context.processes)
    assert context.join(timeout=0.01) is False
    os.kill(context.processes[1].pid, 0)
    context.processes[1].kill()
    with pytest.raises(RuntimeError, match="SIGKILL") as caught:
        context.join()
    assert (caught.value.rank, caught.value.exitcode) == (1, -9)
    assert not any(process.is_alive() for process in context.processes)

    spawn(time.sleep, args=(600,), nprocs=1, join=False, daemon=True)  # ends with this process
    print("end of main", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
