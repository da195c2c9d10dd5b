"""Memory that code runs in: few large maps, cut into pages.

Pages are readable and executable, and writable only while their code is written, before anybody has its address.
The maps are private, so a forked child and its parent do not write into each other's code.

Writing splits a map and the kernel joins it again afterwards, so ten thousands of libraries live in a handful of maps
(a process may have 65,530).
"""

from __future__ import annotations

import bisect
import ctypes
import errno
import mmap
import os
import platform
import threading
from collections import deque
from collections.abc import Callable
from functools import cache

from umiak.compiler.jit.errors import MemoryDeniedError
from umiak.util.locks import fork_safe

PAGE = mmap.PAGESIZE
ARENA = 4 << 20

_READ, _WRITE, _EXEC = mmap.PROT_READ, mmap.PROT_WRITE, mmap.PROT_EXEC
_PRIVATE_ANONYMOUS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
_DONTNEED = mmap.MADV_DONTNEED
_RETURNS_42 = {"x86_64": b"\xb8\x2a\x00\x00\x00\xc3"}  # others: that the memory can be had is what is checked


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return libc


def _fail(call: str) -> Exception:
    """The error of a system call that just failed."""
    number = ctypes.get_errno()
    if number == errno.ENOMEM:
        return MemoryError(f"[jit] requires memory for machine code, got {call}: {os.strerror(number)}")
    return MemoryDeniedError(
        f"[jit] requires memory that may be written and then executed, got {call}: {os.strerror(number)} "
        f"({errno.errorcode.get(number, number)}). The system denies it to this process: SELinux (execmem), systemd "
        f"(MemoryDenyWriteExecute=), PR_SET_MDWE or a hardened kernel. Allow it there, or run on the 'ref' device, "
        f"which compiles nothing."
    )


def _protect(address: int, size: int, protection: int) -> None:
    if _libc().mprotect(address, size, protection):
        raise _fail("mprotect")


class Block:
    """Pages of code; free again when the object is gone."""

    __slots__ = ("_memory", "address", "size")

    def __init__(self, memory: Memory, address: int, size: int) -> None:
        self._memory = memory
        self.address = address
        self.size = size

    def __del__(self) -> None:
        self._memory._released.append((self.address, self.size))


class _Arena:
    """One map; ``free`` holds runs ``(start, size)`` in order."""

    def __init__(self, size: int) -> None:
        address = _libc().mmap(None, size, _READ | _EXEC, _PRIVATE_ANONYMOUS, -1, 0)
        if address in (None, ctypes.c_void_p(-1).value):
            raise _fail("mmap")
        self.address: int = address
        self.size = size
        self.free = [(address, size)]
        self.largest = size  # no free run is longer

    def take(self, size: int) -> int | None:
        if size > self.largest:
            return None
        for i, (start, length) in enumerate(self.free):
            if length >= size:
                if length == size:
                    del self.free[i]
                else:
                    self.free[i] = (start + size, length - size)
                return start
        self.largest = max((length for _, length in self.free), default=0)
        return None

    def give(self, start: int, size: int) -> None:
        i = bisect.bisect(self.free, (start, 0))
        if i < len(self.free) and self.free[i][0] == start + size:
            size += self.free.pop(i)[1]
        if i and sum(self.free[i - 1]) == start:
            start, before = self.free.pop(i - 1)
            size += before
            i -= 1
        self.free.insert(i, (start, size))
        self.largest = max(self.largest, size)

    @property
    def empty(self) -> bool:
        return self.free == [(self.address, self.size)]


class Memory:
    """The arenas of the process. Safe among threads; blocks may die anywhere, even inside ``write``."""

    def __init__(self, arena: int = ARENA) -> None:
        self.lock = fork_safe(threading.Lock())
        self.used = 0
        self._arena = arena
        self._arenas: list[_Arena] = []  # by address
        self._released: deque[tuple[int, int]] = deque()  # appended without the lock: by whoever drops a block

    @property
    def reserved(self) -> int:
        return sum(arena.size for arena in self._arenas)

    def write(self, size: int, fill: Callable[[int], bytes]) -> Block:
        """A block of at least ``size`` bytes, begun with ``fill(address)``."""
        size = -(-size // PAGE) * PAGE
        with self.lock:
            self._collect()
            block = Block(self, self._take(size), size)
            self.used += size
            content = fill(block.address)
            _protect(block.address, size, _READ | _WRITE)
            ctypes.memmove(block.address, content, len(content))
            _protect(block.address, size, _READ | _EXEC)
        return block

    def _take(self, size: int) -> int:
        for arena in reversed(self._arenas):
            address = arena.take(size)
            if address is not None:
                return address
        new = _Arena(max(self._arena, size))
        bisect.insort(self._arenas, new, key=lambda arena: arena.address)
        address = new.take(size)
        assert address is not None
        return address

    def _collect(self) -> None:
        """Take back what was dropped; an arena that is all free goes, unless it is the last."""
        while self._released:
            address, size = self._released.popleft()
            arena = self._arenas[bisect.bisect(self._arenas, address, key=lambda arena: arena.address) - 1]
            arena.give(address, size)
            self.used -= size
            if arena.empty and len(self._arenas) > 1:
                self._arenas.remove(arena)
                _libc().munmap(arena.address, arena.size)
            else:
                _libc().madvise(address, size, _DONTNEED)  # the pages, not the map


MEMORY = Memory()


@cache
def check() -> None:
    """Write a function and run it; MemoryDeniedError says what a system that forbids this denies."""
    code = _RETURNS_42.get(platform.machine().lower())
    block = MEMORY.write(PAGE, lambda _: code or b"")
    if code is not None and ctypes.CFUNCTYPE(ctypes.c_int)(block.address)() != 42:
        raise MemoryDeniedError(
            "[jit] requires that written code runs, got another result from a function returning 42"
        )
