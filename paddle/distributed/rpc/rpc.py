"""Workers by name, and calls of functions at them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent import futures
from typing import Any

from paddle._public import constants, public
from umiak.comm.rpc import Agent, WorkerInfo
from umiak.comm.secret import job_secret
from umiak.core.context import current
from umiak.util.errors import op_error

JOIN_SECONDS = 300.0  # for all workers to call init_rpc


class FutureWrapper:
    """Result of a call that may still run."""

    def __init__(self, future: futures.Future[Any], description: str, timeout: float) -> None:
        self._future = future
        self._description = description
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout if timeout > 0 else None

    def done(self) -> bool:
        """Return whether ``wait()`` would return or raise at once."""
        return self._future.done()

    def wait(self) -> Any:
        """Wait for the result of the function and return it.

        Raises:
            TimeoutError: it is late.
            Exception: what the function raised, with its traceback as the cause.
        """
        left = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        try:
            return self._future.result(left)
        except futures.TimeoutError:
            if self._future.done():
                raise  # the function's own
            raise TimeoutError(f"{self._description} requires a reply within {self._timeout:g} s, got none") from None


def _agent(op: str) -> Agent:
    agent = current().state.values.get(Agent)
    if agent is None:
        raise op_error(RuntimeError, op, "init_rpc before it", "no worker")
    return agent


def _endpoint(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise op_error(ValueError, "init_rpc", "an endpoint like 127.0.0.1:8001", repr(text))
    return host.strip("[]"), int(port)


def _given(value: Any, setting: str, *variables: str) -> Any:
    """An argument, else the first of the environment variables that is set."""
    variable = next((os.environ[name] for name in variables if os.environ.get(name)), None) if value is None else value
    if variable is None:
        raise op_error(ValueError, "init_rpc", f"{setting}, or {variables[0]} in the environment", "neither")
    return variable


@public("paddle.distributed.rpc")
def init_rpc(
    name: str, rank: int | None = None, world_size: int | None = None, master_endpoint: str | None = None
) -> None:
    """Make this process the worker ``name``, and wait for the other ``world_size - 1``.

    Rank 0 listens at ``master_endpoint``; ``PADDLE_WORKER_ENDPOINT`` says where this worker listens, otherwise at a
    free port. Functions of one worker can be called by all others, so each proves that it knows the job's secret
    (``UMIAK_JOB_SECRET``, from the launcher); without one workers must be processes of one user on one machine.

    Args:
        name: a name of its own.
        rank: the number of this worker; None: ``PADDLE_TRAINER_ID``, which the launcher sets.
        world_size: how many workers there are; None: ``PADDLE_TRAINERS_NUM``.
        master_endpoint: host and port; None: ``PADDLE_MASTER_ENDPOINT`` or ``PADDLE_MASTER``.

    Raises:
        RuntimeError: the process is a worker already, or has no secret for other machines.
        ValueError: names or ranks that are not distinct, or something that neither is given nor set.
        ConnectionError: the others do not come within five minutes.

    Example:
        >>> from paddle.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1, master_endpoint="127.0.0.1:0")
        >>> rpc.rpc_sync("worker0", max, args=(2, 3))
        3
        >>> rpc.shutdown()
    """
    values = current().state.values
    if Agent in values:
        raise op_error(RuntimeError, "init_rpc", "shutdown before it is called again", f"worker {values[Agent].info}")
    number = int(_given(rank, "rank", "PADDLE_TRAINER_ID"))
    size = int(_given(world_size, "world_size", "PADDLE_TRAINERS_NUM"))
    if not 0 <= number < size:
        raise op_error(ValueError, "init_rpc", f"a rank from 0 to {size - 1}", number)
    master = _endpoint(_given(master_endpoint, "master_endpoint", "PADDLE_MASTER_ENDPOINT", "PADDLE_MASTER"))
    own = os.environ.get("PADDLE_WORKER_ENDPOINT")
    secret = job_secret("init_rpc", master[0])
    agent = Agent(name, number, size, master, _endpoint(own) if own else None, secret, JOIN_SECONDS)
    values[Agent] = agent
    agent.start()


@public("paddle.distributed.rpc")
def rpc_async(
    to: str, fn: Callable[..., Any], args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None,
    timeout: float = -1,
) -> FutureWrapper:  # fmt: skip
    """Start ``fn(*args, **kwargs)`` at a worker.

    ``fn``, arguments and results are pickled: ``fn`` by its name, so the other worker must be able to import it.

    Args:
        to: the name of the worker.
        fn: the function.
        args: its positional arguments; None for none.
        kwargs: its keywords; None for none.
        timeout: seconds from now within which the result must come; 0 and less: no limit.

    Returns:
        A future: its ``wait()`` gives the result.

    Raises:
        ValueError: an unknown worker.
        TypeError: something that cannot be pickled.
        RuntimeError: this process is no worker.

    Example:
        >>> from paddle.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1, master_endpoint="127.0.0.1:0")
        >>> rpc.rpc_async("worker0", pow, args=(2, 5)).wait()
        32
        >>> rpc.shutdown()
    """
    return _start("rpc_async", to, fn, args, kwargs, timeout)


@public("paddle.distributed.rpc")
def rpc_sync(
    to: str, fn: Callable[..., Any], args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None,
    timeout: float = -1,
) -> Any:  # fmt: skip
    """Call ``fn(*args, **kwargs)`` at a worker and wait for the result: ``rpc_async(...).wait()``.

    Args:
        to: the name of the worker.
        fn: the function.
        args: its positional arguments; None for none.
        kwargs: its keywords; None for none.
        timeout: seconds within which the result must come; 0 and less: no limit.

    Returns:
        What the function returned.

    Raises:
        ValueError: an unknown worker.
        TypeError: something that cannot be pickled.
        RuntimeError: this process is no worker.
        TimeoutError: the result is late.

    Example:
        >>> from paddle.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1, master_endpoint="127.0.0.1:0")
        >>> rpc.rpc_sync("worker0", max, args=(2, 3), timeout=10)
        3
        >>> rpc.shutdown()
    """
    return _start("rpc_sync", to, fn, args, kwargs, timeout).wait()


def _start(op: str, to: str, fn: Callable[..., Any], args: Any, kwargs: Any, timeout: float) -> FutureWrapper:
    future = _agent(op).call(op, to, fn, tuple(args or ()), dict(kwargs or {}))
    what = f"[{op}] {getattr(fn, '__qualname__', fn)} at {to}"
    return FutureWrapper(future, what, timeout)


@public("paddle.distributed.rpc")
def get_worker_info(name: str) -> WorkerInfo:
    """Describe a worker.

    Args:
        name: its name.

    Returns:
        An object with ``name``, ``rank``, ``ip`` and ``port``.

    Raises:
        ValueError: there is none of this name.
        RuntimeError: this process is no worker.

    Example:
        >>> from paddle.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1, master_endpoint="127.0.0.1:0")
        >>> rpc.get_worker_info("worker0").rank
        0
        >>> rpc.shutdown()
    """
    return _agent("get_worker_info").lookup("get_worker_info", name)


@public("paddle.distributed.rpc")
def get_all_worker_infos() -> list[WorkerInfo]:
    """Describe all workers, by rank.

    Returns:
        A list of objects with ``name``, ``rank``, ``ip`` and ``port``.

    Raises:
        RuntimeError: this process is no worker.

    Example:
        >>> from paddle.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1, master_endpoint="127.0.0.1:0")
        >>> [worker.name for worker in rpc.get_all_worker_infos()]
        ['worker0']
        >>> rpc.shutdown()
    """
    return list(_agent("get_all_worker_infos").workers.values())


@public("paddle.distributed.rpc")
def get_current_worker_info() -> WorkerInfo:
    """Describe this process as a worker.

    Returns:
        An object with ``name``, ``rank``, ``ip`` and ``port``.

    Raises:
        RuntimeError: this process is no worker.

    Example:
        >>> from paddle.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1, master_endpoint="127.0.0.1:0")
        >>> rpc.get_current_worker_info().name
        'worker0'
        >>> rpc.shutdown()
    """
    return _agent("get_current_worker_info").info


@public("paddle.distributed.rpc")
def shutdown() -> None:
    """Wait for what this worker has called, then for all workers to come here, and be one no more.

    Raises:
        ConnectionError: a worker has gone without coming here; this one is shut down all the same.
        RuntimeError: this process is no worker.

    Example:
        >>> from paddle.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1, master_endpoint="127.0.0.1:0")
        >>> rpc.shutdown()
    """
    agent = _agent("shutdown")
    try:
        agent.shutdown()
    finally:
        del current().state.values[Agent]


constants("paddle.distributed.rpc", __name__, {"WorkerInfo": WorkerInfo})
