"""Connections between processes of one job: messages over TCP, both sides proving that they know a secret.

The wire format and the proof (HMAC) are those of :mod:`multiprocessing.connection`.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge

# What a peer that dies, hangs up or does not know the secret raises.
GONE = (OSError, EOFError, AuthenticationError)
CONNECT_SECONDS = 10.0  # for the other machine to answer


class Server:
    """Listens at ``host`` (port 0: any that is free); ``handle(connection)`` runs in a thread per connection.

    ``handle`` is called after the proof; that it raises one of ``GONE`` is the end of its connection and no error.
    """

    def __init__(self, host: str, port: int, secret: bytes, handle: Callable[[Connection], None]) -> None:
        self._socket = socket.create_server((host, port), backlog=1024)
        self.host, self.port = self._socket.getsockname()[:2]
        self._secret = secret
        self._handle = handle
        self._open: set[Connection] = set()
        self._threads: list[threading.Thread] = []
        self._thread = threading.Thread(target=self._accept, daemon=True, name="umiak-accept")
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._socket.accept()
            except OSError:  # closed
                return
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(accepted.detach())
            self._open.add(connection)
            # The proof is in the thread, so that a stranger who connects and is silent keeps nobody waiting.
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True, name="umiak-serve")
            self._threads = [t for t in self._threads if t.is_alive()] + [thread]
            thread.start()

    def _serve(self, connection: Connection) -> None:
        with contextlib.suppress(*GONE):
            deliver_challenge(connection, self._secret)
            answer_challenge(connection, self._secret)
            self._handle(connection)
        self._open.discard(connection)
        connection.close()

    def close(self, patience: float = 0.0) -> None:
        """Listen no more; hang up where ``handle`` has not returned after ``patience`` seconds."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread; closing alone does not
        self._thread.join()
        self._socket.close()
        deadline = time.monotonic() + patience
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        for connection in list(self._open):
            hang_up(connection)
        for thread in self._threads:
            thread.join(CONNECT_SECONDS)


def connect(host: str, port: int, secret: bytes, timeout: float = 0.0) -> Connection:
    """A connection to a server; ConnectionError where it cannot be had.

    ``timeout``: seconds in which it is tried again, for servers that are not there yet.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            opened = socket.create_connection((host, port), timeout=CONNECT_SECONDS)
            break
        except OSError as error:
            if time.monotonic() >= deadline:
                raise ConnectionError(f"requires a listener at {host}:{port}, got: {error}") from error
            time.sleep(0.05)
    opened.settimeout(None)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection = Connection(opened.detach())
    try:
        answer_challenge(connection, secret)
        deliver_challenge(connection, secret)
    except GONE as error:
        connection.close()
        raise ConnectionError(f"requires the same job secret at {host}:{port}, got: {error!r}") from error
    return connection


def hang_up(connection: Connection) -> None:
    """End a connection that another thread may be reading: it gets EOFError."""
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as s:
        s.shutdown(socket.SHUT_RDWR)


def own_address(connection: Connection) -> str:
    """This end's address: the one under which the other end's machine knows this one."""
    with socket.socket(fileno=os.dup(connection.fileno())) as s:
        return str(s.getsockname()[0])
