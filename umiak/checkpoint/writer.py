"""The process that writes checkpoints in the background: jobs come in by a socket, their bytes in shared memory.

It is started as a program of its own, not forked, with a bare stand-in for the package ``umiak``: it has none of the
trainer's threads, locks, files or communicators, and loads NumPy and xxhash instead of the engine. It outlives a
trainer that is killed until what it was given is committed.
"""

from __future__ import annotations

import mmap
import os
import pickle
import queue
import socket
import struct
import sys
import threading
import traceback
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from umiak.checkpoint import rendezvous
from umiak.checkpoint.commit import Saving, keep_last
from umiak.checkpoint.data_model import Block, TensorInfo
from umiak.checkpoint.dtypes import numpy_dtype
from umiak.checkpoint.formats.safetensors import local_shape
from umiak.checkpoint.manifest import nbytes

# Bytes of a segment of umiak.util.shared_memory before its data.
HEADER = 64
_FRAME = struct.Struct("<QI")  # bytes of the message, descriptors that come with it


@dataclass
class WriteRequest:
    """Request to the writer process: the blocks lie in segment ``slot`` at ``offsets``."""

    number: int
    slot: int
    blocks: list[Block]
    offsets: list[int]
    saving: tuple[str, int, int, int, str]
    options: dict[str, Any]
    infos: dict[str, TensorInfo]
    flat_mapping: dict[str, tuple[str, ...]] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    keep: int | None = None
    timeout: float = rendezvous.SECONDS


def send(sock: socket.socket, message: Any, fds: list[int] | None = None) -> None:
    data = pickle.dumps(message, protocol=5)
    socket.send_fds(sock, [_FRAME.pack(len(data), len(fds or ()))], fds or [])
    sock.sendall(data)


def receive(sock: socket.socket) -> tuple[Any, list[int]] | None:
    """The next message and its descriptors; None at the end."""
    head, fds, _, _ = socket.recv_fds(sock, _FRAME.size, 4)
    if not head:
        return None
    while len(head) < _FRAME.size:
        head += sock.recv(_FRAME.size - len(head))
    data = bytearray(_FRAME.unpack(head)[0])
    view = memoryview(data)
    while view:
        n = sock.recv_into(view)
        if n == 0:
            return None
        view = view[n:]
    return pickle.loads(data), list(fds)


def _execute(request: WriteRequest, segment: mmap.mmap, lock: int | None) -> None:
    with Saving(*request.saving, lock) as saving:
        try:
            items = []
            for block, offset in zip(request.blocks, request.offsets):
                raw = np.frombuffer(segment, np.uint8, nbytes(block), HEADER + offset)
                items.append((block, raw.view(numpy_dtype(block.dtype)).reshape(local_shape(block))))
            saving.write(items, **request.options)
            saving.prepare()
        except BaseException as error:
            if lock is None:
                rendezvous.announce(saving, f"{type(error).__name__}: {error}")
            raise
        rendezvous.finish(saving, request.infos, request.flat_mapping, request.extra, request.timeout)
        if request.keep is not None and lock is not None:
            keep_last(saving.folder, request.keep)


def _take(sock: socket.socket, orders: queue.SimpleQueue[tuple[Any, list[int]] | None]) -> None:
    message: tuple[Any, list[int]] | None = (None, [])
    while message is not None:
        try:
            message = receive(sock)
        except OSError:
            message = None
        orders.put(message)


def main(fd: int) -> None:
    """Serve the socket until its other end is closed and nothing is left to do."""
    segments: dict[int, mmap.mmap] = {}
    orders: queue.SimpleQueue[tuple[Any, list[int]] | None] = queue.SimpleQueue()
    with socket.socket(fileno=fd) as sock:
        # What is sent is taken at once: a trainer with a second request does not wait for the first to be carried out.
        threading.Thread(target=_take, args=(sock, orders), daemon=True).start()
        while (message := orders.get()) is not None:
            request, fds = message
            if isinstance(request, int):  # a segment of that number, instead of a former one
                segments[request] = mmap.mmap(fds[0], 0, access=mmap.ACCESS_READ)
                os.close(fds[0])
                continue
            answer: tuple[int, BaseException | None, str] = (request.number, None, "")
            try:
                _execute(request, segments[request.slot], fds[0] if fds else None)
            except BaseException as error:  # raised in the trainer, which waits for an answer
                answer = (request.number, error, traceback.format_exc())
            try:
                send(sock, answer)
            except OSError:  # the trainer is gone; what is left to do is still to be done
                pass
            except Exception:  # an error that cannot be pickled
                send(sock, (request.number, RuntimeError(f"{type(answer[1]).__name__}: {answer[1]}"), answer[2]))


if __name__ == "__main__":
    main(int(sys.argv[1]))
