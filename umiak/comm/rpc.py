"""Calls of functions in other processes.

Rank 0 listens at the master endpoint, where all workers say who they are, learn who the others are, and meet at the
end. Calls go from worker to worker. A message is an identification of the call and a pickle; one connection per pair
and direction carries all calls, and replies come as they are ready.
"""

from __future__ import annotations

import itertools
import pickle
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from typing import Any

from umiak.comm.connections import GONE, Server, connect, hang_up, own_address
from umiak.core.context import current
from umiak.util.errors import op_error

WORKERS = 64  # calls that run at once; a call that waits for another worker's takes one of them


@dataclass(frozen=True)
class WorkerInfo:
    """A worker and where it listens.

    Args:
        name: the name that it has given itself.
        rank: its number.
        ip: the address of its host.
        port: the port that it listens at.

    Example:
        >>> from umiak.comm.rpc import WorkerInfo
        >>> WorkerInfo("worker0", 0, "127.0.0.1", 8001)
        {name: worker0, rank: 0, ip: 127.0.0.1, port: 8001}
    """

    name: str
    rank: int
    ip: str
    port: int

    def __repr__(self) -> str:
        return f"{{name: {self.name}, rank: {self.rank}, ip: {self.ip}, port: {self.port}}}"


class RemoteTraceback(Exception):
    """The cause of an exception that came from another worker: its traceback there, as text."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class Registry:
    """Registry at rank 0: gathers the workers at the beginning and at the end.

    How the beginning ended is decided once, when the last worker has come or something is wrong: one that is gone soon
    after is the business of those who call it, whether the others have heard by then that it came or not.
    """

    def __init__(self, host: str, port: int, size: int, secret: bytes) -> None:
        self._size = size
        self._changed = threading.Condition()
        self._workers: dict[int, WorkerInfo] = {}
        self._leaving: set[int] = set()
        self._gone: set[int] = set()
        self._begun: str | None = None  # the problem at the beginning, "" for none; None: not all have come
        self._problem = ""
        self.server = Server(host, port, secret, self._serve)

    def _serve(self, connection: Connection) -> None:
        info = WorkerInfo(**connection.recv())
        refused = self._join(info)
        if refused:
            connection.send((refused, []))
            return
        try:
            connection.send(self._begin())
            connection.recv()  # it wants to leave
            with self._changed:
                self._leaving.add(info.rank)
                self._changed.notify_all()
            connection.send(self._end())
        finally:
            with self._changed:
                if info.rank not in self._leaving:
                    self._gone.add(info.rank)
                    self._fail(f"worker {info.name} (rank {info.rank}) has gone")

    def _fail(self, problem: str) -> None:
        self._problem = self._problem or problem
        if self._begun is None:
            self._begun = self._problem
        self._changed.notify_all()

    def _join(self, info: WorkerInfo) -> str:
        """Take a worker in. Returns what is wrong with it, "" for nothing. Others that wait are told, too."""
        with self._changed:
            problem = ""
            same = [w for w in self._workers.values() if w.rank == info.rank or w.name == info.name]
            if same:
                problem = f"workers of different names and ranks, got {same[0]} and {info}"
            elif not 0 <= info.rank < self._size:
                problem = f"ranks from 0 to {self._size - 1}, got {info}"
            if not problem:
                self._workers[info.rank] = info
                if len(self._workers) == self._size and self._begun is None:
                    self._begun = ""
                self._changed.notify_all()
            elif self._begun is None:
                self._fail(problem)
            return problem

    def _begin(self) -> tuple[str, list[dict[str, Any]]]:
        with self._changed:
            self._changed.wait_for(lambda: self._begun is not None)
            return self._begun or "", [asdict(self._workers[rank]) for rank in sorted(self._workers)]

    def _end(self) -> str:
        with self._changed:
            self._changed.wait_for(lambda: len(self._leaving | self._gone) == self._size or self._problem)
            return self._problem


class Peer:
    """The connection to another worker, and the calls that wait for its replies."""

    def __init__(self, info: WorkerInfo, secret: bytes) -> None:
        self.info = info
        try:
            self._connection = connect(info.ip, info.port, secret)
        except ConnectionError as error:
            raise self._gone() from error
        self._sending = threading.Lock()
        self._waiting: dict[int, Future[Any]] = {}
        self._numbers = itertools.count()
        self.closed = False
        self._thread = threading.Thread(target=self._read, daemon=True, name=f"rpc-{info.name}")
        self._thread.start()

    def call(self, call: bytes) -> Future[Any]:
        future: Future[Any] = Future()
        number = next(self._numbers)
        self._waiting[number] = future
        try:
            with self._sending:
                self._connection.send_bytes(number.to_bytes(8, "little") + call)
        except OSError:
            self._lose()
        if self.closed:
            self._lose()
        return future

    def _read(self) -> None:
        try:
            while True:
                data = self._connection.recv_bytes()
                future = self._waiting.pop(int.from_bytes(data[:8], "little"))
                try:
                    good, value, text = pickle.loads(memoryview(data)[8:])
                except Exception as error:  # raised where the reply is waited for
                    future.set_exception(error)
                    continue
                if good:
                    future.set_result(value)
                else:
                    value.__cause__ = RemoteTraceback(text)
                    future.set_exception(value)
        except GONE:
            self._lose()

    def _lose(self) -> None:
        self.closed = True
        for number in list(self._waiting):
            future = self._waiting.pop(number, None)  # the caller's thread and the reader's may both be here
            if future is not None:
                future.set_exception(self._gone())

    def _gone(self) -> ConnectionError:
        return ConnectionError(f"[rpc] worker {self.info.name} has gone: {self.info}")

    def close(self) -> None:
        hang_up(self._connection)
        self._thread.join()
        self._connection.close()


class Agent:
    """This process as a worker. Made by all workers at once; ConnectionError if they do not come within ``timeout``.

    Others may call as soon as they know of this worker, which is before it knows of them: calls wait for ``start``.
    """

    def __init__(
        self, name: str, rank: int, size: int, master: tuple[str, int], endpoint: tuple[str, int] | None,
        secret: bytes, timeout: float,
    ) -> None:  # fmt: skip
        self._secret = secret
        self._lock = threading.Lock()
        self._peers: dict[str, Peer] = {}
        self._open: set[Future[Any]] = set()
        self._started = threading.Event()
        # Calls run under the rank that this worker is, with the modes of this moment whenever a thread is made.
        context = current().fork()
        self._pool = ThreadPoolExecutor(WORKERS, "rpc", lambda: context.fork().activate())
        self._registry = Registry(*master, size, secret) if rank == 0 else None
        self._server: Server | None = None
        try:
            port = self._registry.server.port if self._registry else master[1]
            self._control = connect(master[0], port, secret, timeout=timeout)
            host, port = endpoint or (own_address(self._control), 0)
            self._server = Server(host, port, secret, self._serve)
            self.info = WorkerInfo(name, rank, host, self._server.port)
            self._control.send(asdict(self.info))
            if not self._control.poll(timeout):
                raise ConnectionError(f"[init_rpc] requires {size} workers within {timeout:g} s, got fewer")
            problem, workers = self._control.recv()
        except BaseException:
            self._close()
            raise
        if problem:
            self._close()
            raise ValueError(f"[init_rpc] requires {problem}")
        self.workers = {w["name"]: WorkerInfo(**w) for w in workers}

    def start(self) -> None:
        """Answer calls. What they may ask of this process has to be there by now."""
        self._started.set()

    def lookup(self, op: str, name: str) -> WorkerInfo:
        if name not in self.workers:
            raise op_error(ValueError, op, f"a worker among {', '.join(self.workers)}", repr(name))
        return self.workers[name]

    def call(
        self, op: str, to: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Future[Any]:
        """Start ``fn(*args, **kwargs)`` at ``to``."""
        info = self.lookup(op, to)
        try:
            call = pickle.dumps((fn, args, kwargs), protocol=5)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            hint = "Functions must be at the top level of a module that both workers can import"
            got = f"{fn!r} ({error})"
            raise op_error(TypeError, op, "a function and arguments that can be pickled", got, hint) from None
        with self._lock:
            peer = self._peers.get(to)
            if peer is None or peer.closed:
                peer = self._peers[to] = Peer(info, self._secret)
        future = peer.call(call)
        self._open.add(future)
        future.add_done_callback(self._open.discard)
        return future

    def _serve(self, connection: Connection) -> None:
        sending = threading.Lock()
        self._started.wait()
        try:
            while True:
                self._pool.submit(self._execute, connection, sending, connection.recv_bytes())
        except RuntimeError:
            pass  # the pool takes no more: this worker is shutting down
        finally:
            with sending:  # calls that still run must not write to whatever gets this descriptor next
                connection.close()

    def _execute(self, connection: Connection, sending: Any, data: bytes) -> None:
        try:
            fn, args, kwargs = pickle.loads(memoryview(data)[8:])
            reply = pickle.dumps((True, fn(*args, **kwargs), None), protocol=5)
        except Exception as error:  # raised where the call was made
            reply = failure(error)
        try:
            with sending:
                connection.send_bytes(data[:8] + reply)
        except OSError:
            pass  # the caller has gone

    def shutdown(self) -> None:
        """Finish what this worker has called, wait for all workers to come here, and stop."""
        try:
            for future in list(self._open):
                future.exception()
            self._control.send("leave")
            problem = self._control.recv()
        except GONE as error:
            problem = f"the worker of rank 0 has gone ({error!r})"
        finally:
            self._close()
        if problem:
            raise ConnectionError(f"[rpc.shutdown] requires all workers to come, got: {problem}")

    def _close(self) -> None:
        self._started.set()
        self._pool.shutdown()
        for peer in self._peers.values():
            peer.close()
        if self._server is not None:
            self._server.close()
        if hasattr(self, "_control"):
            self._control.close()
        if self._registry is not None:
            self._registry.server.close(patience=5.0)


def failure(error: Exception) -> bytes:
    """The reply to a call that raised."""
    text = traceback.format_exc()
    try:
        reply = pickle.dumps((False, error, text), protocol=5)
        pickle.loads(reply)
        return reply
    except Exception:  # of a class that cannot be pickled
        return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}"), text), protocol=5)
