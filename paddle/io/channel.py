"""Messages between a loader and one of its workers, over a pair of connected sockets."""

from __future__ import annotations

import array
import marshal
import os
import socket
import struct
from typing import Any, NamedTuple

_HEAD = struct.Struct("<BBIQIQ")  # kind, descriptors, epoch, task, bytes of meta, bytes of body
_ALIGNMENT = 16
_MOST = 8  # descriptors in a message


class Message(NamedTuple):
    kind: int
    epoch: int
    task: int
    meta: Any
    body: memoryview
    descriptors: list[int]


def encode(kind: int, epoch: int, task: int = 0, meta: Any = None, body: Any = b"", descriptors: int = 0) -> bytes:
    data = marshal.dumps(meta)
    data += b"\0" * (-len(data) % _ALIGNMENT)  # arrays in the body shall lie as they do in a segment
    return b"".join((_HEAD.pack(kind, descriptors, epoch, task, len(data), len(body)), data, body))


class Channel:
    """One end. A worker's ``send`` waits until the other end has room; a loader's ``post`` never does: both would."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.unsent: list[memoryview] = []

    def fileno(self) -> int:
        return self.sock.fileno()

    def send(self, data: bytes, descriptors: list[int]) -> None:
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        sent = self.sock.sendmsg([data], ancillary)
        if sent < len(data):
            self.sock.sendall(memoryview(data)[sent:])

    def post(self, data: bytes) -> None:
        """Send what there is room for now, and keep the rest for ``flush``."""
        self.unsent.append(memoryview(data))
        self.flush()

    def flush(self) -> bool:
        """Send of what is kept as much as there is room for; whether that is all."""
        while self.unsent:
            data = self.unsent[0]
            try:
                sent = self.sock.send(data, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            except OSError:  # the worker is gone; whoever waits for it will see
                self.unsent.clear()
                return True
            if sent == len(data):
                del self.unsent[0]
            else:
                self.unsent[0] = data[sent:]
        return True

    def receive(self, wait: bool = True) -> Message | None:
        """The next message; None once the other end is closed.

        Raises BlockingIOError without ``wait`` if there is none yet.
        """
        descriptors = array.array("i")
        try:
            head, ancillary, _, _ = self.sock.recvmsg(
                _HEAD.size, socket.CMSG_SPACE(_MOST * 4), 0 if wait else socket.MSG_DONTWAIT
            )
        except ConnectionError:
            return None
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(data[: len(data) - len(data) % 4])
        try:
            if not head:
                return None
            if len(head) < _HEAD.size:
                head += self._exactly(_HEAD.size - len(head))
            kind, _, epoch, task, meta, body = _HEAD.unpack(head)
            rest = memoryview(self._exactly(meta + body))
        except EOFError:
            for fd in descriptors:
                os.close(fd)
            return None
        return Message(kind, epoch, task, marshal.loads(rest[:meta]), rest[meta:], list(descriptors))

    def _exactly(self, nbytes: int) -> bytearray:
        data = bytearray(nbytes)
        view = memoryview(data)
        while view:
            try:
                n = self.sock.recv_into(view)
            except ConnectionError:
                n = 0
            if n == 0:
                raise EOFError
            view = view[n:]
        return data

    def close(self) -> None:
        self.unsent.clear()
        self.sock.close()
