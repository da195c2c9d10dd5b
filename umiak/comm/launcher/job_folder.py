"""Files of a job in shared memory and their removal, also by later jobs once all processes of the job are dead.

Ranks of one machine talk through files in ``/dev/shm`` that their MPI library removes at its end, and not when it is
killed. Every job has a folder there with a file that the launcher and all supervisors keep locked: the kernel lets go
of it when the last of them dies, however they die. Then the launcher, a supervisor or the next job of this user removes
the folder, and the files of MPI whose names follow from the folder's: its token where the launcher has started the
ranks, MPI's own number for them where ``mpiexec`` has. Whatever else is there is left alone.

It uses the standard library alone, as supervisors do.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import stat
import time

SHARED_MEMORY = "/dev/shm"
PREFIX = "umiak-job-"
STARTED = "mpi-"  # begins what names the folder of ranks that an MPI launcher has started
NAME = re.compile(re.escape(PREFIX) + f"(?:[0-9a-f]{{16}}|{STARTED}[0-9a-f]{{1,8}})")
HALF_MADE = 60.0  # seconds after which a folder without a lock is nobody's


def world_name(token: str) -> str:
    """Return the name that the MPI library gets for all ranks together."""
    return f"umiak_{token}"


def world_number(name: str) -> int:
    """The number that MPICH makes of it (``MPIR_Process.world_id``): FNV-1a, 32 bits."""
    number = 2166136261
    for byte in name.encode():
        number = ((number ^ byte) * 16777619) & 0xFFFFFFFF
    return number


class JobFolder:
    """The folder of a job that starts now. ``lock`` is the open file that its processes inherit."""

    def __init__(self) -> None:
        collect()
        while True:
            self.token = secrets.token_hex(8)
            self.path = os.path.join(SHARED_MEMORY, PREFIX + self.token)
            os.mkdir(self.path, 0o700)
            lock = locked(self.path)
            if lock is not None:
                self.lock = lock
                return

    def remove(self) -> None:
        """Remove the folder after the end of all ranks."""
        os.close(self.lock)
        remove(self.path)


def locked(path: str) -> int | None:
    """Open and lock the file in a job's folder; None if another process takes the folder for a dead job's just now."""
    lock = os.open(os.path.join(path, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with contextlib.suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if os.fstat(lock).st_nlink:
            return lock
    os.close(lock)
    return None


def joined(name: str) -> tuple[str, int]:
    """The folder of ranks that an MPI launcher calls ``name``, and its lock; made by the first that asks.

    OSError where it cannot be made, or is another user's.
    """
    collect()
    path = os.path.join(SHARED_MEMORY, f"{PREFIX}{STARTED}{world_number(name):x}")
    while True:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        with contextlib.suppress(FileNotFoundError):  # removed by a rank that has ended
            if not is_own(os.stat(path, follow_symlinks=False)):
                raise PermissionError(f"{path} belongs to another user")
            lock = locked(path)
            if lock is not None:
                return path, lock


def is_own(info: os.stat_result) -> bool:
    """Return whether it is a folder of this user."""
    return stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid()


def collect() -> None:
    """Remove what dead jobs of this user have left."""
    with contextlib.suppress(OSError), os.scandir(SHARED_MEMORY) as entries:
        for entry in [e for e in entries if NAME.fullmatch(e.name)]:
            with contextlib.suppress(OSError):
                if is_own(entry.stat(follow_symlinks=False)):
                    remove_dead(entry.path)


def remove_dead(path: str) -> None:
    """Remove a job's folder, and what belongs to it, if none of its processes lives."""
    try:
        lock = os.open(os.path.join(path, "lock"), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        if time.time() - os.stat(path).st_mtime > HALF_MADE:
            remove(path)
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    else:
        remove(path)
    finally:
        os.close(lock)


def number_of(path: str) -> int:
    """The number in names of files of MPI that belong to a job's folder."""
    token = os.path.basename(path).removeprefix(PREFIX)
    if token.startswith(STARTED):
        return int(token.removeprefix(STARTED), 16)
    return world_number(world_name(token))


def remove(path: str) -> None:
    """Remove the folder of a job, and the files that its MPI library left in shared memory."""
    ours = re.compile(rf"mpich_(shm|vci)_{number_of(path):x}_\d+")
    for name in os.listdir(SHARED_MEMORY):
        if ours.fullmatch(name):
            with contextlib.suppress(OSError):  # another user's, or another process was first
                os.unlink(os.path.join(SHARED_MEMORY, name))
    shutil.rmtree(path, ignore_errors=True)
