"""Tensors kept outside of their device's memory for a while: in a file of the host, or in its memory.

A file has no name from the moment it is made, so nothing is left of it however the process ends. It is written and read
by plain calls, not mapped: where the disk is full a call raises an error, a mapping ends the process.
"""

from __future__ import annotations

import bisect
import math
import os
import tempfile
import threading
import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np

from umiak.core.array import from_numpy, host_values, to_numpy
from umiak.core.storage import Storage, allocator
from umiak.core.tensor import Tensor, empty
from umiak.util.errors import op_error

ALIGNMENT = 64
HOST = 1  # `Allocator.access` of memory that the host reads


class HostFile:
    """Room for bytes in a file without a name; room that is given back is used again."""

    def __init__(self, folder: str | os.PathLike | None = None) -> None:
        # Without a name from the start, or unlinked at once; for this user alone.
        self.file: Any = tempfile.TemporaryFile(dir=os.fspath(folder) if folder else None, buffering=0)  # noqa: SIM115
        self.size = 0
        self.used = 0
        self.free: list[tuple[int, int]] = []  # (begin, size), in order, no two of them neighbours
        self.lock = threading.Lock()
        self.process = os.getpid()

    def __del__(self) -> None:
        if hasattr(self, "file"):
            self.file.close()

    def write(self, data: memoryview) -> Extent:
        extent = Extent(self, *self.take(-(-data.nbytes // ALIGNMENT) * ALIGNMENT))
        done = 0
        while done < data.nbytes:
            done += os.pwrite(self.file.fileno(), data[done:], extent.begin + done)
        return extent

    def take(self, size: int) -> tuple[int, int]:
        with self.lock:
            self.used += size
            for i, (begin, room) in enumerate(self.free):
                if room >= size:
                    self.free[i : i + 1] = [(begin + size, room - size)] if room > size else []
                    return begin, size
            begin, self.size = self.size, self.size + size
            return begin, size

    def give(self, begin: int, size: int) -> None:
        with self.lock:
            self.used -= size
            i = bisect.bisect(self.free, (begin, size))
            if i < len(self.free) and begin + size == self.free[i][0]:
                size += self.free.pop(i)[1]
            if i and sum(self.free[i - 1]) == begin:
                begin, before = self.free.pop(i - 1)
                size += before
                i -= 1
            self.free.insert(i, (begin, size))


class Extent:
    """A piece of a file, given back when nobody refers to it."""

    __slots__ = ("begin", "file", "size")

    def __init__(self, file: HostFile, begin: int, size: int) -> None:
        self.file, self.begin, self.size = file, begin, size

    def __del__(self) -> None:
        self.file.give(self.begin, self.size)

    def read(self, into: memoryview) -> None:
        done = 0
        while done < into.nbytes:
            count = os.preadv(self.file.file.fileno(), [into[done:]], self.begin + done)
            if not count:
                raise EOFError(f"[offload] requires {into.nbytes} bytes at {self.begin}, got {done}: the file was cut")
            done += count


class Kept:
    """An offloaded tensor: where its bytes are, and what they mean."""

    __slots__ = ("__weakref__", "at", "dtype", "place", "shape")

    def __init__(self, x: Tensor, at: Any) -> None:
        self.shape, self.dtype, self.place, self.at = tuple(x.shape), x.dtype, x.place, at


class Offload:
    """Hooks for saved tensors: ``pack`` puts a tensor away, ``unpack`` brings it back bit for bit, contiguous.

    ``to``: ``"file"``, ``"memory"`` of the host beside its tensors, or None: a file for tensors that are in the host's
    memory already, memory for those of other devices. ``threshold``: tensors of fewer bytes stay, and so do leaves that
    want a gradient and all that lie in the memory of ``keep``: others hold these anyway. ``folder`` is where files are,
    by default that of temporary files.

    Tensors over one memory that see the same elements of it are put away once.
    """

    def __init__(
        self,
        threshold: int = 0,
        to: str | None = None,
        folder: str | os.PathLike | None = None,
        keep: Iterable[Tensor] = (),
    ) -> None:
        if to not in (None, "file", "memory"):
            raise op_error(ValueError, "offload", "'file', 'memory' or None as what to offload to", repr(to))
        if threshold < 0:
            raise op_error(ValueError, "offload", "a threshold of at least 0 bytes", threshold)
        self.threshold, self.to, self.folder = threshold, to, folder
        self.keep = weakref.WeakSet(x.storage for x in keep)
        self.known: weakref.WeakKeyDictionary[Storage, dict] = weakref.WeakKeyDictionary()
        self.file: HostFile | None = None
        self.put = 0  # bytes put away so far

    def pack(self, x: Tensor) -> Tensor | Kept:
        nbytes = x.dtype.nbytes(math.prod(x.shape))
        storage = x.storage
        if (
            storage is None
            or nbytes < max(self.threshold, 1)
            or x.dtype.is_packed
            or not x.stop_gradient
            or storage in self.keep
        ):
            return x
        same = self.known.setdefault(storage, {})
        key = (x.inplace_version, x.offset, tuple(x.shape), tuple(x.strides), x.dtype)
        saved = same[key]() if key in same else None
        if saved is None:
            saved = Kept(x, self.moved(x))
            same[key] = weakref.ref(saved)
            self.put += nbytes
        return saved

    def moved(self, x: Tensor) -> Any:
        on_host = allocator(x.place.index).access == HOST
        array = np.ascontiguousarray(host_values(x)).reshape(-1).view(np.uint8)
        if self.to == "memory" or (self.to is None and not on_host):
            return array.copy() if on_host else array
        if self.file is None or self.file.process != os.getpid():  # a forked child does not write into its parent's
            self.file = HostFile(self.folder)
        return self.file.write(array.data)

    def unpack(self, saved: Tensor | Kept) -> Tensor:
        if isinstance(saved, Tensor):
            return saved
        if allocator(saved.place.index).access != HOST:
            return from_numpy(self.bytes_of(saved).view(saved.dtype.numpy).reshape(saved.shape), saved.place)
        out = empty(saved.shape, saved.dtype, saved.place)
        into = to_numpy(out).reshape(-1).view(np.uint8)
        if isinstance(saved.at, Extent):
            saved.at.read(into.data)
        else:
            into[:] = saved.at
        return out

    def bytes_of(self, saved: Kept) -> np.ndarray:
        if not isinstance(saved.at, Extent):
            return saved.at
        out = np.empty(math.prod(saved.shape) * saved.dtype.itemsize, np.uint8)
        saved.at.read(out.data)
        return out
