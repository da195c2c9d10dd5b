"""IPC handles of the recording driver: a block that has one lies in a file that other processes map.

The first bytes of the file count the processes that have it open, so memory that is freed too early is noticed.
"""

from __future__ import annotations

import ctypes
import mmap
import os

import numpy as np

HEAD = mmap.PAGESIZE


class SharedBlock:
    """Memory in a file: ``data`` is the memory with guards around it."""

    def __init__(self, descriptor: int, nbytes: int) -> None:
        self.descriptor, self.nbytes = descriptor, nbytes
        self.former: np.ndarray | None = None
        self.file = mmap.mmap(descriptor, HEAD + nbytes)
        self.users = ctypes.c_int64.from_buffer(self.file)
        self.data = np.frombuffer(self.file, np.uint8, nbytes, HEAD)

    @classmethod
    def of(cls, data: np.ndarray) -> SharedBlock:
        """New memory with the contents of another one."""
        descriptor = os.memfd_create("block")
        os.ftruncate(descriptor, HEAD + data.nbytes)
        block = cls(descriptor, data.nbytes)
        block.data[:] = data
        block.former = data  # the block's address is made of where this is: nothing else may lie there
        return block

    @classmethod
    def opened(cls, handle: bytes) -> SharedBlock:
        process, descriptor, nbytes = (int(x) for x in handle.rstrip(b"\0").split(b":"))
        block = cls(os.open(f"/proc/{process}/fd/{descriptor}", os.O_RDWR), nbytes)
        block.users.value += 1
        return block

    def handle(self) -> bytes:
        return f"{os.getpid()}:{self.descriptor}:{self.nbytes}".encode().ljust(64, b"\0")

    def close(self) -> None:
        os.close(self.descriptor)
