"""Saving beside the training: it goes on as soon as its tensors are copied, and another process writes the copies.

The copies are made in shared memory that is kept, with all its pages, from save to save. A save takes as long as the
memory does to copy; the first one also has to get the memory, unless :meth:`AsyncSaver.reserve` has done so.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from umiak.checkpoint import rendezvous, writer
from umiak.checkpoint.commit import Saving
from umiak.checkpoint.data_model import Block, TensorInfo
from umiak.checkpoint.dtypes import numpy_dtype
from umiak.checkpoint.formats.safetensors import local_shape
from umiak.checkpoint.storage import pieces
from umiak.util import shared_memory
from umiak.util.errors import op_error
from umiak.util.streaming import stream_copy

_PIECE = 32 << 20  # bytes that one thread copies at a time

_BARE = """
import sys, types
sys.path[:] = {paths}
sys.modules["umiak"] = types.ModuleType("umiak")
sys.modules["umiak"].__path__ = [{folder}]
"""


def bare_python(code: str) -> list[str]:
    """The command of a Python process for ``code`` that imports from ``umiak.checkpoint`` without the engine.

    The site module is left out: neither hooks of installed packages nor those of an editable installation are run.
    """
    folder = os.path.dirname(os.path.dirname(os.path.abspath(writer.__file__)))
    paths = [p or os.getcwd() for p in sys.path]
    return [sys.executable, "-S", "-c", _BARE.format(paths=paths, folder=repr(folder)) + code]


@dataclass
class Job:
    """Description of one rank's save. Ranks of one save give the same ``folder``, ``uid``, ``world`` and ``claim``.

    The coordinator leaves ``claim`` empty; it may take the claim before (``saving``), to tell the others.
    """

    folder: str | os.PathLike[str]
    items: Sequence[tuple[Block, np.ndarray]]
    infos: Mapping[str, TensorInfo]
    uid: int | None = None
    rank: int = 0
    world: int = 1
    claim: str | None = None
    saving: Saving | None = None
    format: str = "native"
    flat_mapping: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    keep_last: int | None = None
    budget_bytes: int = 64 << 20
    timeout: float = rendezvous.SECONDS


class Handle:
    """A save at work. It is done when the checkpoint is committed, on every rank."""

    def __init__(self, uid: int) -> None:
        self.uid = uid
        self._future: Future[None] = Future()
        self._copied: Future[None] = Future()
        self._asked = False

    def done(self) -> bool:
        """Return whether the save has ended, with success or without."""
        return self._future.done()

    def wait(self, timeout: float | None = None) -> int:
        """The uid, once the checkpoint is committed.

        Raises:
            TimeoutError: it is not yet.
            Exception: what went wrong in the writer.
        """
        error = self.exception(timeout)
        if error is not None:
            raise error
        return self.uid

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return the error of the save once it has ended; None where there is none."""
        try:
            error = self._future.exception(timeout)
        except NotYet:
            raise op_error(TimeoutError, "save", f"checkpoint {self.uid} in {timeout} s", "it still at work") from None
        self._asked = True
        return error

    def copied(self, timeout: float | None = None) -> None:
        """Returns once the tensors may be changed; see ``overlap`` of :meth:`AsyncSaver.save`."""
        self._copied.result(timeout)

    def _end(self, error: BaseException | None) -> None:
        if not self._copied.done():
            self._copied.set_result(None)
        if not self._future.done():
            self._future.set_result(None) if error is None else self._future.set_exception(error)


class _Slot:
    """Memory for one snapshot, shared with the writer."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.segment: shared_memory.Segment | None = None
        self.fd = -1  # to be passed to the writer
        self.sent: Any = None  # the process that has it

    def reserve(self, size: int) -> None:
        if self.segment is None or self.segment.nbytes < size:
            self.close()
            self.segment, self.fd = shared_memory.create(max(size, 1))

    def close(self) -> None:
        self.segment = None
        self.sent = None
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


def _copy_piece(out: np.ndarray, x: np.ndarray) -> None:
    if x.flags.c_contiguous:
        stream_copy(out.reshape(-1).view(np.uint8), x.reshape(-1).view(np.uint8))
    else:
        np.copyto(out, x)


class AsyncSaver:
    """Saves in the background, in the order of the calls. ``close`` it at the end; the interpreter's exit does so, too.

    Args:
        in_flight: how many snapshots there may be. While so many are being written, ``save`` waits for the first to be
            done: a slow disk slows the training down and does not fill the memory.
        threads: how many copy; by default up to four.
    """

    def __init__(self, in_flight: int = 1, threads: int | None = None) -> None:
        if in_flight < 1:
            raise op_error(ValueError, "AsyncSaver", "in_flight >= 1", in_flight)
        self.threads = threads or min(4, len(os.sched_getaffinity(0)))
        self.pool = ThreadPoolExecutor(self.threads, "umiak-snapshot")
        self.slots: queue.SimpleQueue[_Slot] = queue.SimpleQueue()
        self.all_slots = [_Slot(i) for i in range(in_flight)]
        for slot in self.all_slots:
            self.slots.put(slot)
        self.lock = threading.Lock()
        self.handles: dict[int, tuple[Handle, _Slot]] = {}
        self.failed: Handle | None = None
        self.last: Handle | None = None
        self.number = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.socket: socket.socket | None = None
        _savers.add(self)

    def __enter__(self) -> AsyncSaver:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def reserve(self, size: int) -> None:
        """Get the memory for snapshots of ``size`` bytes, and start the writer, ahead of the first save."""
        for slot in self.all_slots:
            slot.reserve(size)
        with self.lock:
            self._start()

    def save(self, job: Job, *, overlap: bool = False) -> Handle:
        """Copy a job's arrays, and let the writer save them.

        Args:
            overlap: return at once and copy meanwhile. The arrays must then stay as they are until ``copied()`` of the
                handle has returned; call it before the optimizer's step.

        Raises:
            Exception: what went wrong with an earlier save, unless its handle has told already; this one is then not
            made. FileExistsError: the uid is saved already or claimed by another.
        """
        if self.last is not None:
            self.last.copied()
        failed, self.failed = self.failed, None
        if failed is not None and not failed._asked:
            raise failed.exception() or RuntimeError("unreachable")
        offsets, end = [], 0
        for block, array in job.items:
            if array.dtype != numpy_dtype(block.dtype) or array.shape != local_shape(block):
                required = f"{block.dtype} {list(local_shape(block))} for {block.key!r}"
                raise op_error(ValueError, "save", required, f"{array.dtype} {list(array.shape)}")
            offsets.append(end)
            end += -(-array.nbytes // 64) * 64
        slot = self.slots.get()
        try:
            slot.reserve(end)
            saving = job.saving or Saving.begin(job.folder, job.uid, job.rank, job.world, job.claim)
        except BaseException:
            self.slots.put(slot)
            raise
        handle = self.last = Handle(saving.uid)
        self.number += 1
        request = writer.WriteRequest(
            self.number,
            slot.number,
            [block for block, _ in job.items],
            offsets,
            (saving.folder, saving.uid, saving.rank, saving.world, saving.claim),
            {"format": job.format, "budget_bytes": job.budget_bytes},
            dict(job.infos),
            dict(job.flat_mapping),
            dict(job.extra),
            job.keep_last,
            job.timeout,
        )
        work = (handle, slot, request, saving, [array for _, array in job.items])
        if overlap:
            threading.Thread(target=self._copy_and_send, args=work, name="umiak-snapshot", daemon=True).start()
        else:
            self._copy_and_send(*work)
        return handle

    def _copy_and_send(
        self, handle: Handle, slot: _Slot, request: writer.WriteRequest, saving: Saving, arrays: list[np.ndarray]
    ) -> None:
        try:
            self._copy(slot, request.offsets, arrays)
            handle._copied.set_result(None)
            with self.lock:
                self.handles[request.number] = (handle, slot)
                self._start()
                assert self.socket is not None
                if slot.sent is not self.process:
                    writer.send(self.socket, slot.number, [slot.fd])
                    slot.sent = self.process
                writer.send(self.socket, request, [] if saving.lock is None else [saving.lock])
            if saving.lock is not None:  # the writer has it now: it holds the claim even when this process dies
                os.close(saving.lock)
                saving.lock = None
        except BaseException as error:  # raised where the handle is asked
            with contextlib.suppress(OSError):
                saving.abort()
            with self.lock:
                self.handles[request.number] = (handle, slot)
            self._done(request.number, error)

    def _copy(self, slot: _Slot, offsets: Iterable[int], arrays: list[np.ndarray]) -> None:
        assert slot.segment is not None
        memory = np.frombuffer(slot.segment, np.uint8)  # type: ignore[call-overload]
        parts = []
        for offset, array in zip(offsets, arrays):
            for piece in pieces(array, _PIECE):
                if piece.size:
                    into = memory[offset : offset + piece.nbytes].view(piece.dtype).reshape(piece.shape)
                    parts.append((into, piece))
                offset += piece.nbytes
        if self.threads == 1 or sum(p.nbytes for _, p in parts) <= _PIECE:
            for part in parts:
                _copy_piece(*part)
            return
        list(self.pool.map(lambda part: _copy_piece(*part), parts))

    def _start(self) -> None:
        """Start the writer, if there is none."""
        if self.process is not None:
            return
        ours, theirs = socket.socketpair()
        env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        with theirs:
            process = subprocess.Popen(
                bare_python(f"from umiak.checkpoint.writer import main\nmain({theirs.fileno()})"),
                pass_fds=[theirs.fileno()],
                env=env,
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt at the terminal is for the trainer
            )
        self.process, self.socket = process, ours
        threading.Thread(target=self._listen, args=(ours, process), name="umiak-checkpoint", daemon=True).start()

    def _listen(self, sock: socket.socket, process: subprocess.Popen[bytes]) -> None:
        while True:
            try:
                message = writer.receive(sock)
            except OSError:
                message = None
            if message is None:
                self._ended(process)
                return
            (number, error, text), _ = message
            if error is not None and sys.version_info >= (3, 11):
                error.add_note(f"In the process that writes:\n{text}")
            self._done(number, error)

    def _done(self, number: int, error: BaseException | None) -> None:
        with self.lock:
            finished = self.handles.pop(number, None)
        if finished is None:
            return
        handle, slot = finished
        if error is not None:
            self.failed = handle
        handle._end(error)
        self.slots.put(slot)

    def _ended(self, process: subprocess.Popen[bytes]) -> None:
        """The writer is gone."""
        code = process.wait()
        with self.lock:
            if self.process is process:
                self.process = None
                if self.socket is not None:
                    self.socket.close()
                self.socket = None
            numbers = list(self.handles)
        cause = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        for number in numbers:
            self._done(number, op_error(RuntimeError, "save", "a writer that lives", f"one that ended by {cause}"))

    def wait(self, timeout: float | None = None) -> None:
        """Wait for all saves; raises what went wrong with one whose handle has not been asked."""
        with self.lock:
            waiting = [handle for handle, _ in self.handles.values()]
        for handle in waiting:
            handle._future.exception(timeout)
        failed, self.failed = self.failed, None
        if failed is not None and not failed._asked:
            failed.wait()

    def close(self) -> None:
        """Wait for all saves, and end the writer. Raises like :meth:`wait`."""
        if self.last is not None:
            self.last.copied()
        try:
            self.wait()
        finally:
            with self.lock:
                process, sock = self.process, self.socket
                self.process = self.socket = None
            if sock is not None:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_WR)
            if process is not None:
                process.wait()
            if sock is not None:
                sock.close()
            self.pool.shutdown()
            for slot in self.all_slots:
                slot.close()
            _savers.discard(self)


_savers: set[AsyncSaver] = set()
os.register_at_fork(after_in_child=_savers.clear)  # a forked child is no trainer: it must not end the writer


@atexit.register
def _close_all() -> None:
    for saver in list(_savers):
        saver.close()
