"""What tests of the launcher run as ranks: ``launch_program.py FOLDER MODE``."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

folder, mode = Path(sys.argv[1]), sys.argv[2]
rank = int(os.environ["PADDLE_TRAINER_ID"])
restart = int(os.environ["PADDLE_RESTART_COUNT"])


def note(name: str, value: object) -> None:
    """Write a file of this rank at once, or not at all."""
    path = folder / f"{name}.{rank}"
    path.with_suffix(".partial" + path.suffix).write_text(json.dumps(value))
    path.with_suffix(".partial" + path.suffix).rename(path)


def child() -> None:
    """A child in a session of its own, which outlives a kill of the rank's process group. Rank 1 waits for rank 0's."""
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    note(f"pids{restart}", [os.getpid(), process.pid])
    while not (folder / f"pids{restart}.0").exists():
        time.sleep(0.01)


if mode == "tell":
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    assert world.rank == rank
    assert sys.modules["__main__"].__dict__ is globals()
    names = ("PADDLE_", "OMP_NUM", "FLAGS_selected", "UMIAK_COMM")
    environ = {k: v for k, v in os.environ.items() if k.startswith(names)}
    found = {"argv": sys.argv, "path": sys.path[0], "file": __file__, "environ": environ, "stdin": sys.stdin.read()}
    note("found", {**found, "ranks": world.allgather(rank)})
    print(f"grüße {rank}")
    print("zwei", end="")
elif mode == "recover":
    child()
    if restart == 0 and rank == 1:
        raise ValueError("böse")
    if restart == 1 and rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if restart < 2:
        time.sleep(600)
    print("recovered")
elif mode == "exit":
    from mpi4py import MPI

    if rank == 1:
        sys.exit(7)
    MPI.COMM_WORLD.barrier()
elif mode == "abort":
    from mpi4py import MPI

    child()
    MPI.COMM_WORLD.barrier()
    if rank == 1:
        MPI.COMM_WORLD.Abort(5)
    MPI.COMM_WORLD.barrier()
elif mode == "early":
    from mpi4py import MPI

    if rank == 1:
        MPI.COMM_WORLD.recv(source=0)
elif mode == "wait":
    try:
        child()
        time.sleep(600)
    except KeyboardInterrupt:
        print("interrupted")
        raise
elif mode == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child()
    if rank == 1:
        sys.exit("enough")
    time.sleep(600)
