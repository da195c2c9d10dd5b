"""Recordings in files."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from typing import Any, NoReturn

from paddle._public import public
from umiak.observe.profile import Profile, load
from umiak.util.errors import op_error


@public("paddle.profiler")
def export_chrome_tracing(dir_name: str, worker_name: str | None = None) -> Callable[[Any], None]:
    """Make a function for ``Profiler(on_trace_ready=...)`` that writes each recording as a trace into a folder.

    The files, ``<worker>_time_<when>.paddle_trace.json``, open in https://ui.perfetto.dev and in chrome://tracing.

    Args:
        dir_name: the folder, made if need be.
        worker_name: begins the names of files; None: host and process.

    Returns:
        A function of a profiler.

    Raises:
        OSError: the folder cannot be made.

    Example:
        >>> import paddle, tempfile, os
        >>> folder = tempfile.mkdtemp()
        >>> ready = paddle.profiler.export_chrome_tracing(folder, "worker")
        >>> with paddle.profiler.Profiler(on_trace_ready=ready):
        ...     x = paddle.ones([2]) + 1
        >>> len(os.listdir(folder))
        1
    """
    os.makedirs(dir_name, exist_ok=True)
    worker = worker_name or f"host_{platform.node()}pid_{os.getpid()}"

    def write(profiler: Any) -> None:
        seconds = time.time()
        when = time.strftime("%Y_%m_%d_%H_%M_%S", time.localtime(seconds)) + f"_{int(seconds * 1e6) % 1_000_000:06}"
        profiler.export(os.path.join(dir_name, f"{worker}_time_{when}.paddle_trace.json"), format="json")

    return write


@public("paddle.profiler")
def export_protobuf(dir_name: str, worker_name: str | None = None) -> NoReturn:
    """Refuse to write protobuf files: their schema belongs to the reference framework's own tools.

    Args:
        dir_name: the folder, which is not made.
        worker_name: the beginning of the names of files that are not written.

    Raises:
        RuntimeError: always. :func:`export_chrome_tracing` writes the same events.

    Example:
        >>> import paddle
        >>> paddle.profiler.export_protobuf("folder")  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        RuntimeError: [export_protobuf] requires a format that is public
    """
    raise op_error(
        RuntimeError,
        "export_protobuf",
        "a format that is public",
        "the reference framework's private protobuf",
        "Use export_chrome_tracing: its files hold the same events, and load_profiler_result reads them.",
    )


@public("paddle.profiler")
def load_profiler_result(filename: str) -> Profile:
    """Read a trace that ``Profiler.export`` or :func:`export_chrome_tracing` has written.

    Args:
        filename: name of the file.

    Returns:
        A profile: ``events`` (name, kind, start and end in nanoseconds, thread, parent), ``counters`` of memory,
        ``threads`` by number, ``save(path)``.

    Raises:
        ValueError: any other file.
        OSError: the file cannot be read.

    Example:
        >>> import paddle, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "trace.json")
        >>> with paddle.profiler.Profiler() as profiler:
        ...     x = paddle.ones([2]) + 1
        >>> profiler.export(path)
        >>> "add" in [e.name for e in paddle.profiler.load_profiler_result(path).events]
        True
    """
    return load(filename)
