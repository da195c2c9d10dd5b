"""Blocks into files and out of them, through buffers of bounded size.

Writing passes by the page cache where the file system lets it: the bytes of a checkpoint are not read again soon, and
what a training process keeps there is worth more. Chunks are gathered and hashed in one buffer while a thread writes
another. Reading is by ``preadv`` straight into the destination. A memory map would do as well, but its pages count as
the process's memory, and a file that is cut off under it kills the process instead of raising an error.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import math
import mmap
import os
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from umiak.checkpoint import strict_json as sj
from umiak.checkpoint.box import Box, flat_runs
from umiak.checkpoint.checksum import VERIFY, Checksum
from umiak.checkpoint.data_model import Block, Stored
from umiak.checkpoint.dtypes import numpy_dtype
from umiak.checkpoint.files import open_file
from umiak.checkpoint.formats import native, safetensors
from umiak.checkpoint.manifest import Manifest, file_name, nbytes
from umiak.util import partial_files
from umiak.util.errors import op_error

Source = np.ndarray | Callable[[], Iterable[np.ndarray]]

_LARGEST = 8 << 20  # bytes of a buffer; larger writes are no faster
_DENSE = 64 << 10  # bytes between two wanted ranges that cost more to read than to step over
_SUMMED = 1 << 20  # bytes that are still in the cache when they are hashed after reading
_OPEN = 64  # files that a reader keeps open


def write_file(
    folder: str | os.PathLike[str],
    name: str,
    items: Iterable[tuple[Block, Source]],
    *,
    format: str = "native",
    budget_bytes: int = 64 << 20,
    metadata: dict[str, str] | None = None,
) -> list[Stored]:
    """Write blocks into a new file, which takes its place when it is whole and on disk.

    Args:
        items: each block with its elements: an array of the block's shape (of any strides) or, for elements that shall
        not
            be in memory all at once, a function that returns arrays with them in row-major order.
        format: ``"native"`` or ``"safetensors"``. For the latter all of ``items`` is taken before the first byte is
        written,
            since the header comes first; functions are still called one by one.
        budget_bytes: how much memory the buffers may take.
        metadata: strings by name for the header of a safetensors file.

    Returns:
        Where each block lies, in the order of ``items``, with its checksum.

    Raises:
        ValueError: an array that is not of its block's shape and dtype, or an unknown format.
        TypeError: a dtype that the format lacks.
        OSError: what the system says, with the name of the file; no part of it stays.
    """
    path = os.path.join(os.fspath(folder), file_name(name, "write_file"))
    return write_path(path, items, format=format, budget_bytes=budget_bytes, metadata=metadata)


def write_path(
    path: str,
    items: Iterable[tuple[Block, Source]],
    *,
    format: str = "native",
    budget_bytes: int = 64 << 20,
    metadata: dict[str, str] | None = None,
) -> list[Stored]:
    """:func:`write_file` for a file of any name."""
    if format not in _WRITERS:
        raise op_error(ValueError, "write_file", f"format of {sorted(_WRITERS)}", repr(format))
    folder, name = os.path.split(path)
    part = None
    try:
        with _Stream(folder, name, budget_bytes) as stream:
            part = stream.path
            stored = _WRITERS[format](stream, name, items, metadata)
            stream.finish(path)
    except OSError as error:
        if error.filename in (None, part):
            error.filename = path
        raise
    return stored


def sync_folder(folder: str) -> None:
    """Make the names in a folder durable."""
    fd = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    except OSError as error:  # not every file system can flush a folder
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(fd)


class _Stream:
    """Bytes in order into a new file, which ``finish`` puts on disk and in its place. An error removes it."""

    def __init__(self, folder: str, name: str, budget: int) -> None:
        while True:
            self.path = os.path.join(folder, partial_files.part_name(name))
            self._open()
            if partial_files.lock(self.fd, self.path):  # so that it is not taken for a dead writer's
                break
            os.close(self.fd)
        self.room = max(min(budget // 4, _LARGEST) // native.PAGE, 1) * native.PAGE
        self.most = max(min(budget // self.room, 4), 2)
        self.made = 0
        self.free: queue.SimpleQueue[mmap.mmap] = queue.SimpleQueue()
        self.full: queue.SimpleQueue[tuple[mmap.mmap, int, int] | None] = queue.SimpleQueue()
        self.error: BaseException | None = None
        self.thread: threading.Thread | None = None
        self.first: bytes | None = None  # what the file begins with, written last
        self.at = 0  # bytes put so far
        self.used = 0  # of them in the current buffer
        self.buffer: mmap.mmap | None = None
        self.bytes = np.empty(0, np.uint8)
        self.scratch = np.empty(0, np.uint8)

    def _open(self) -> None:
        """Create the file and set ``fd`` and ``direct``: with O_DIRECT unless the file system refuses it (EINVAL)."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            self.fd = os.open(self.path, flags | os.O_DIRECT, 0o666)
            self.direct = True
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)
            self.fd = os.open(self.path, flags, 0o666)
            self.direct = False

    def __enter__(self) -> _Stream:
        return self

    def finish(self, path: str) -> None:
        """Put everything on disk, and the file in its place."""
        if self.used:
            self._hand_over()
        self._join()
        if self.error is not None:
            raise self.error
        os.ftruncate(self.fd, self.at)
        if self.first is not None:
            self._write_through_the_cache()
            self._write(self.first, len(self.first), 0)
        os.fsync(self.fd)
        os.rename(self.path, path)

    def _join(self) -> None:
        if self.thread is not None:
            self.full.put(None)
            self.thread.join()
            self.thread = None

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            self._join()
        finally:
            os.close(self.fd)
            if kind is not None:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.path)

    def _buffer(self) -> mmap.mmap:
        if self.made < self.most and self.free.empty():
            self.made += 1
            return mmap.mmap(-1, self.room)
        return self.free.get()

    def _write_through_the_cache(self) -> None:
        if self.direct:
            fcntl.fcntl(self.fd, fcntl.F_SETFL, fcntl.fcntl(self.fd, fcntl.F_GETFL) & ~os.O_DIRECT)
            self.direct = False

    def _write(self, buffer: mmap.mmap | bytes, n: int, at: int) -> None:
        if self.direct:
            n += -n % native.PAGE  # the rest is cut off again at the end
        view = memoryview(buffer)[:n]
        while view:
            try:
                done = os.pwrite(self.fd, view, at)
            except OSError as error:
                if not self.direct or error.errno != errno.EINVAL:
                    raise
                self._write_through_the_cache()  # accepted at opening and refused now, or in pieces of other sizes
                continue
            view, at = view[done:], at + done

    def _run(self) -> None:
        while (job := self.full.get()) is not None:
            buffer, n, at = job
            if self.error is None:
                try:
                    self._write(buffer, n, at)
                except BaseException as error:  # raised where the next piece is handed over
                    self.error = error
            self.free.put(buffer)

    def _hand_over(self) -> None:
        if self.error is not None:
            raise self.error
        if self.thread is None:
            self.thread = threading.Thread(target=self._run, name="umiak-checkpoint-write", daemon=True)
            self.thread.start()
        assert self.buffer is not None
        self.full.put((self.buffer, self.used, self.at - self.used))
        self.buffer, self.used = None, 0

    def put(self, data: Any, checksum: Checksum | None = None) -> None:
        """Append the bytes of a contiguous buffer."""
        source = np.frombuffer(data, np.uint8)
        done, n = 0, source.size
        while done < n:
            if self.buffer is None:
                self.buffer = self._buffer()
                self.bytes = np.frombuffer(self.buffer, np.uint8)
            k = min(n - done, self.room - self.used)
            here = self.bytes[self.used : self.used + k]
            here[:] = source[done : done + k]
            if checksum is not None:
                checksum.update(here)
            self.used += k
            self.at += k
            done += k
            if self.used == self.room:
                self._hand_over()

    def pad(self, to: int) -> None:
        """Append zeros up to a multiple of ``to``."""
        if self.at % to:
            self.put(bytes(-self.at % to))

    def put_array(self, array: np.ndarray, checksum: Checksum) -> None:
        """Append the elements of an array in row-major order."""
        if array.size == 0:
            return
        if array.flags.c_contiguous:
            self.put(array.reshape(-1).view(np.uint8), checksum)
            return
        room = min(self.room, 1 << 20)  # gathered where it stays in the cache
        if self.scratch.size < room:
            self.scratch = np.empty(room, np.uint8)
        for piece in pieces(array, room):
            into = self.scratch[: piece.nbytes]
            np.copyto(into.view(piece.dtype).reshape(piece.shape), piece)
            self.put(into, checksum)


def pieces(array: np.ndarray, most: int) -> Iterator[np.ndarray]:
    """Parts of an array that follow one another in row-major order, of at most ``most`` bytes each."""
    if array.nbytes <= most or array.ndim == 0:
        yield array
        return
    rows = most // max(array.nbytes // len(array), 1)
    if rows == 0:
        for row in array:
            yield from pieces(row, most)
        return
    for i in range(0, len(array), rows):
        yield array[i : i + rows]


def _put_block(stream: _Stream, block: Block, source: Source) -> str:
    """Write the values of a block; return their checksum."""
    checksum = Checksum()
    dtype, begin = numpy_dtype(block.dtype), stream.at
    shape = safetensors.local_shape(block)
    for array in [source] if isinstance(source, np.ndarray) else source():
        if array.dtype != dtype or (array is source and array.shape != shape):
            required = f"{block.dtype} {list(shape)} for {block.key!r}"
            raise op_error(ValueError, "write_file", required, f"{array.dtype} {list(array.shape)}")
        stream.put_array(array, checksum)
    if stream.at - begin != nbytes(block):
        raise op_error(ValueError, "write_file", f"{nbytes(block)} bytes of {block.key!r}", f"{stream.at - begin}")
    return checksum.text()


def _native(stream: _Stream, name: str, items: Iterable[tuple[Block, Source]], metadata: Any) -> list[Stored]:
    if metadata:
        raise op_error(ValueError, "write_file", "metadata for safetensors files only", f"it for {name!r}")
    stream.put(bytes(native.PAGE))
    stored = []
    for block, source in items:
        stream.pad(native.PAGE)
        begin = stream.at
        stored.append(Stored(block, name, begin, _put_block(stream, block, source)))
    stream.pad(native.PAGE)
    text = native.index(stored)
    stream.first = native.first_page(stream.at, text)
    stream.put(text)
    return stored


def _safetensors(stream: _Stream, name: str, items: Iterable[tuple[Block, Source]], metadata: Any) -> list[Stored]:
    rows = list(items)
    blocks = [block for block, _ in rows]
    empty = Checksum().text()  # as long as every other
    head, turn, begins = safetensors.plan(blocks, metadata, [empty] * len(rows))
    stream.put(head)
    sums = [""] * len(rows)
    for i in turn:
        sums[i] = _put_block(stream, *rows[i])
    stream.first = safetensors.plan(blocks, metadata, sums)[0]
    return [Stored(block, name, begin, s) for (block, _), begin, s in zip(rows, begins, sums)]


_WRITERS: dict[str, Callable[[_Stream, str, Iterable[tuple[Block, Source]], Any], list[Stored]]] = {
    "native": _native,
    "safetensors": _safetensors,
}


class _Check:
    """Progress of comparing a block with its checksum: its bytes before ``at`` are in ``sum``.

    ``at`` is None while a reader is at work on the next ones.
    """

    __slots__ = ("at", "stored", "sum", "total")

    def __init__(self, stored: Stored) -> None:
        self.stored = stored
        self.sum = Checksum(stored.checksum)
        self.at: int | None = 0
        self.total = nbytes(stored.block)


class Reader:
    """Reads parts of stored blocks. Threads may share one; closing it closes its files.

    A block whose bytes are read in order is compared with its checksum on the way. Of others the rest is read, and
    compared, by :meth:`finish`, which leaving the context without an error does.

    Args:
        verify: compare checksums; by default what ``FLAGS_verify_checksums`` says.
    """

    def __init__(self, folder: str | os.PathLike[str], manifest: Manifest, *, verify: bool | None = None) -> None:
        self.folder = os.fspath(folder)
        self.manifest = manifest
        self.verify = VERIFY.value if verify is None else verify
        self.lock = threading.Lock()
        self.files: OrderedDict[str, _File] = OrderedDict()
        self.checks: dict[tuple[str, int, str], _Check] = {}

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            if kind is None:
                self.finish()
        finally:
            self.close()

    def finish(self) -> None:
        """Compare the blocks that were read in part, or out of order, with their checksums.

        Raises:
            CheckpointError: one differs.
        """
        with self.lock:
            left = sorted(
                (c for c in self.checks.values() if c.at != c.total), key=lambda c: (c.stored.file, c.stored.begin)
            )
        buffer: Any = None
        for check in left:
            if check.at is None:  # the reader at it has failed
                check.sum, check.at = Checksum(check.stored.checksum), 0
            file = self._open(check.stored)
            if buffer is None:
                buffer = np.empty(_SUMMED, np.uint8)
            while check.at < check.total:
                part = buffer[: min(check.total - check.at, _SUMMED)]
                file.into(part, check.stored.begin + check.at)
                check.sum.update(part)
                check.at += len(part)
            self._compare(check, file)

    def _compare(self, check: _Check, file: _File) -> None:
        actual = check.sum.text()
        if actual != check.stored.checksum:
            raise damaged(file.path, check.stored.block, check.stored.checksum, actual)

    def _check(self, stored: Stored) -> _Check | None:
        """Return the progress of comparing the block; None where it is not compared."""
        if not self.verify or not stored.checksum:
            return None
        key = stored.file, stored.begin, stored.checksum
        with self.lock:
            check = self.checks.get(key)
            if check is None:
                check = self.checks[key] = _Check(stored)
        return check

    def _take(self, check: _Check | None, begin: int) -> bool:
        """Return whether the bytes that are now read from ``begin`` on are the next to be compared."""
        if check is None or check.at == check.total:
            return False
        with self.lock:
            if check.at != begin:
                return False
            check.at = None
            return True

    def close(self) -> None:
        with self.lock:
            self.files.clear()

    def _open(self, s: Stored) -> _File:
        with self.lock:
            file = self.files.get(s.file)
            if file is None:
                end = self.manifest.extents.get(s.file)
                size = self.manifest.files.get(s.file)
                file = self.files[s.file] = _File(os.path.join(self.folder, s.file), s.block.key, end, size)
                if len(self.files) > _OPEN:
                    self.files.popitem(last=False)
            self.files.move_to_end(s.file)
            return file

    def read(self, stored: Stored, box: Box, out: np.ndarray) -> None:
        """Copy the elements of ``box``, which counts in the whole tensor, from a stored block into ``out``.

        ``out`` has the box's shape and the block's dtype, and any strides.

        Raises:
            CheckpointError: a file that is missing or shorter than it must be, or a checksum that differs.
            ValueError: a box of which the block holds only a part, or an ``out`` of another shape or dtype.
        """
        block = stored.block
        dtype = numpy_dtype(block.dtype)
        if out.shape != box.shape or out.dtype != dtype:
            required = f"out of {block.dtype} {list(box.shape)} for {block.key!r}"
            raise op_error(ValueError, "Reader.read", required, f"{out.dtype} {list(out.shape)}")
        if box.size == 0:
            return
        origin = block.box.offset
        if block.flat is None:
            runs: Iterable[tuple[Box, int]] = ((Box.full(block.box.shape), 0),)
            start = 0
        else:
            runs, start = flat_runs(block.box.shape, *block.flat), block.flat[0]
        file = self._open(stored)
        left = box.size
        check = self._check(stored)
        for run, at in runs:
            held = run.shifted(origin)
            part = held.intersect(box)
            if part is None:
                continue
            left -= part.size
            begin = (at - start) * dtype.itemsize
            target = out[part.relative_to(box.offset).slices]
            inner = part.relative_to(held.offset)
            checked = None
            if inner.shape[1:] == run.shape[1:]:  # rows: their bytes are one after the other
                first = begin + (inner.offset[0] * math.prod(run.shape[1:]) * dtype.itemsize if run.shape else 0)
                if self._take(check, first):
                    checked = check
            _read_box(file, stored.begin + begin, run.shape, inner, target, checked.sum if checked else None)
            if checked is not None:
                checked.at = first + part.size * dtype.itemsize
                if checked.at == checked.total:
                    self._compare(checked, file)
        if left:
            raise op_error(ValueError, "Reader.read", f"a box within the block {block}", f"{box}")


def damaged(path: str, block: Block, wanted: str, actual: str) -> Exception:
    """The error of a block whose bytes are not those that were saved."""
    got = f"{actual} for {block.key!r} at {list(block.box.offset)}"
    return sj.fail(path, f"the checksum {wanted} of what was saved", got)


class _File:
    """An open file that is as long as its blocks need."""

    def __init__(self, path: str, key: str, end: int | None, size: int | None) -> None:
        self.path = path
        try:
            self.fd = open_file(path)
        except FileNotFoundError:
            raise sj.fail(path, f"a file with {key!r}", "none") from None
        actual = os.fstat(self.fd).st_size
        if (size is not None and actual != size) or actual < (end or 0):
            raise sj.fail(path, f"{end if size is None else size} bytes, of {key!r} among others", f"{actual}")

    def __del__(self) -> None:
        if hasattr(self, "fd"):
            os.close(self.fd)

    def into(self, view: Any, at: int) -> None:
        """Fill a contiguous buffer with the bytes from ``at`` on."""
        view = memoryview(view).cast("B")
        while view:
            done = os.preadv(self.fd, [view[:_LARGEST]], at)
            if done == 0:
                raise sj.fail(self.path, f"{len(view)} bytes from {at}", "the end of the file")
            view, at = view[done:], at + done


def _read_box(
    file: _File, begin: int, shape: tuple[int, ...], box: Box, out: np.ndarray, checksum: Checksum | None
) -> None:
    """Elements ``box`` of a row-major array of ``shape`` that begins at byte ``begin``, into ``out``."""
    item, rank = out.itemsize, len(shape)
    steps = [math.prod(shape[i + 1 :]) * item for i in range(rank)]  # bytes from one index to the next
    runs = rank  # of the box, all axes after this one are whole: there are no gaps within it
    while runs and box.shape[runs:] == shape[runs:]:
        runs -= 1
    spans = [item] * (rank + 1)  # bytes from the first element to the last over the axes from here on
    for i in reversed(range(rank)):
        spans[i] = (box.shape[i] - 1) * steps[i] + spans[i + 1]
    dense = runs  # from here on, the gaps are short enough to be read and dropped
    while dense and steps[dense - 1] - spans[dense] < _DENSE:
        dense -= 1

    def read(at: int, axis: int, out: np.ndarray) -> None:
        if axis == runs:
            _read_run(file, at, out, checksum)
        elif axis < dense or spans[axis + 1] > _LARGEST:
            for i in range(len(out)):
                read(at + i * steps[axis], axis + 1, out[i])
        else:
            rows = (_LARGEST - spans[axis + 1]) // steps[axis] + 1
            raw = np.empty(min(rows * steps[axis], spans[axis]), np.uint8)
            for i in range(0, len(out), rows):
                part = out[i : i + rows]
                into = raw[: (len(part) - 1) * steps[axis] + spans[axis + 1]]
                file.into(into, at + i * steps[axis])
                part[...] = np.ndarray(part.shape, part.dtype, raw, strides=steps[axis:])

    read(begin + sum(o * s for o, s in zip(box.offset, steps)), 0, out)


def _read_run(file: _File, at: int, out: np.ndarray, checksum: Checksum | None) -> None:
    """Bytes without gaps into an array of any strides."""
    if out.flags.c_contiguous:
        flat = out.reshape(-1).view(np.uint8)
        most = _LARGEST if checksum is None else _SUMMED
        for i in range(0, flat.size, most):
            part = flat[i : i + most]
            file.into(part, at + i)
            if checksum is not None:
                checksum.update(part)
        return
    scratch = np.empty(min(out.nbytes, 1 << 20), np.uint8)
    for piece in pieces(out, scratch.size):
        part = scratch[: piece.nbytes]
        file.into(part, at)
        if checksum is not None:
            checksum.update(part)
        piece[...] = part.view(piece.dtype).reshape(piece.shape)
        at += piece.nbytes
