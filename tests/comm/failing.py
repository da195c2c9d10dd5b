"""What the ranks of test_failures.py run: argv is the name of a case, and a folder for what they are told."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

from umiak import comm
from umiak.util import flags

X = np.zeros(4, np.float32)


def say(case: str, text: str) -> None:
    """Launchers drop what is printed shortly before an abort; files stay."""
    with open(Path(sys.argv[2]) / f"{case} {comm.world().rank}", "w") as file:
        file.write(text)


def reduce(group: comm.Group, x: np.ndarray = X) -> None:
    group.all_reduce(np.empty_like(x), x).wait()


# What rank 1 does where the others call all_reduce on four float32.
DISAGREEMENTS = {
    "collective": lambda g: g.all_gather(np.empty((3, 4), np.float32), X).wait(),
    "barrier": lambda g: g.barrier().wait(),
    "shape": lambda g: reduce(g, np.zeros(5, np.float32)),
    "large": lambda g: reduce(g, np.zeros(1 << 18, np.float32)),
    "dtype": lambda g: reduce(g, np.zeros(4, np.float64)),
    "root": lambda g: g.broadcast(X.copy(), 1).wait(),
    "missing": lambda g: None,
    "order": lambda g: (g.broadcast(X.copy(), 0).wait(), reduce(g)),
}


def disagree() -> None:
    """Each in a group of its own; every rank prints what it was told."""
    world = comm.world()
    for checked in (True, False):
        for name, other in DISAGREEMENTS.items():
            flags.set_flags({"FLAGS_check_collectives": checked})
            # What differs is told at once; nobody who is only late is to be taken for one who does not come.
            group = comm.new(range(world.size), timeout=1.0 if name == "missing" else 60.0)
            text = "nothing"
            try:
                if world.rank == 1:
                    other(group)
                else:
                    reduce(group)
                    if name == "order":
                        group.broadcast(X.copy(), 0).wait()
            except comm.CommError as error:
                text = str(error)
            flags.set_flags({"FLAGS_check_collectives": False})
            say(f"{name} {int(checked)}", text)
            world.barrier().wait()


def messages() -> None:
    """A receive of another size than the message."""
    world = comm.world()
    for size in (3, 5, 1 << 20):
        text = "nothing"
        try:
            if world.rank == 1:
                world.send(np.zeros(size), 0).wait()
            elif world.rank == 0:
                world.recv(np.zeros(4), 1).wait()
        except comm.CommError as error:
            text = str(error)
        say(str(size), text)
    world.barrier().wait()


def stay(case: str) -> None:
    """Survivors: they wait for rank 1, say what they are told, and fail of it."""
    try:
        comm.world().barrier().wait()
        # Not before all have come so far; and where rank 1 ends, it may take its time.
        flags.set_flags({"FLAGS_comm_timeout_s": 1.5 if case in ("sleep", "stop", "thread") else 60.0})
        reduce(comm.world())
    except comm.CommError as error:
        say("survivor", str(error))
        raise


def fail() -> None:
    raise KeyError("lost")


def in_thread() -> None:
    """The program goes on to wait for what the thread would have sent."""
    thread = threading.Thread(target=fail, name="sender")
    thread.start()
    thread.join()
    time.sleep(60)


LOST = {
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "exit": lambda: os._exit(3),
    "sleep": lambda: time.sleep(60),
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "return": lambda: None,
    "sys.exit": lambda: sys.exit(3),
    "raise": fail,
    "thread": in_thread,
}


def main(case: str) -> None:
    comm.world()
    if case in LOST:
        if comm.world().rank != 1:
            stay(case)
        else:
            comm.world().barrier().wait()
            LOST[case]()
    else:
        {"disagree": disagree, "messages": messages}[case]()


if __name__ == "__main__":
    main(sys.argv[1])
