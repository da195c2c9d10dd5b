"""Saving beside the program: a thread writes copies of the tensors, while the program goes on."""

from __future__ import annotations

import collections
import copy
import enum
import io
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, BinaryIO

import numpy as np

from paddle._public import public
from paddle.framework.io import as_safetensors, value_of, write_with
from paddle.framework.saving import save
from umiak.core.dtype import DType
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.runtime.program_tracer import outside
from umiak.util.errors import op_error
from umiak.util.locks import fork_safe
from umiak.util.size import Size

_lock = fork_safe(threading.Lock())
_writer: ThreadPoolExecutor | None = None
_tasks: list[Future] = []


def _in_child() -> None:
    """A forked child has no such thread, and its files are the parent's business."""
    global _writer
    _writer = None
    _tasks.clear()


os.register_at_fork(after_in_child=_in_child)

# Exactly these: what derives from them may have attributes, which change.
_UNCHANGING = frozenset({type(None), bool, int, float, complex, str, bytes})
_FIXED = np.generic, DType, Place, enum.Enum
_DICTS = frozenset({dict, collections.OrderedDict, collections.defaultdict, collections.Counter})


class _Other(Exception):
    """An object that is not copied part by part is to be saved."""


def _is_fixed(x: Any) -> bool:
    """Is nothing of it ever changed? A record of NumPy is a view of an array."""
    if type(x) is tuple:
        return all(map(_is_fixed, x))
    return type(x) in _UNCHANGING or (isinstance(x, _FIXED) and not isinstance(x, np.void))


def _copied(x: Any, done: dict[int, Any]) -> Any:
    """``x`` with copies of its tensors, arrays and containers, of each one."""
    if id(x) in done:
        return done[id(x)]
    kind = type(x)
    if isinstance(x, Tensor) and not x.is_sparse():
        with outside():  # a program that is recorded is not to have it
            copied = done[id(x)] = value_of(x).clone()
        copied.name = x.name
        return copied
    if kind is np.ndarray and not x.dtype.hasobject:
        done[id(x)] = array = x.copy()
        return array
    if kind in _DICTS and all(map(_is_fixed, x)):
        table = done[id(x)] = copy.copy(x)
        for k, v in x.items():
            table[k] = _copied(v, done)
        return table
    if kind in (list, Size):
        items: list[Any] = []
        done[id(x)] = items
        for v in x:
            items.append(_copied(v, done))
        return items
    if isinstance(x, tuple) and (kind is tuple or (hasattr(x, "_fields") and not hasattr(x, "__dict__"))):
        parts = [_copied(v, done) for v in x]
        return done.setdefault(id(x), tuple.__new__(kind, parts))
    if _is_fixed(x):
        return x
    raise _Other


def _task(obj: Any, path: Any, protocol: int, configs: dict[str, Any]) -> Callable[[], Any]:
    """The work of the thread. Objects that cannot be copied part by part are pickled at once, with all else."""
    try:
        copied = _copied(obj, {})
        return lambda: save(copied, path, protocol, **configs)
    except (_Other, RecursionError):
        if as_safetensors(path, configs):  # which refuses it by the name of the file
            return lambda: save(obj, path, protocol, **configs)
        data = io.BytesIO()
    try:
        save(obj, data, protocol, **configs)
    except Exception as error:
        return partial(_fail, error)
    return lambda: write_with(path, lambda f: f.write(data.getbuffer()))


def _fail(error: Exception) -> None:
    raise error


@public("paddle paddle.framework")
def async_save(
    obj: Any, path: str | os.PathLike | BinaryIO, protocol: int = 4, sync_other_task: bool = False, **configs: Any
) -> None:
    """Write ``obj`` to a file as ``paddle.save`` does, in the background: the program may change the tensors at once.

    Files are written one after the other, in the order of the calls.

    Args:
        obj: a tensor, or a dict such as a state dict.
        path: a file name or a binary file object.
        protocol: of pickle, 2 to 4.
        sync_other_task: whether to wait first until all earlier files are written.
        **configs: as for ``paddle.save``.

    Raises:
        TypeError: obj is neither a tensor nor a dict.
        ValueError: another protocol.

    Note:
        Whether it worked is known by :func:`paddle.clear_async_save_task_queue`.

    Example:
        >>> import io, paddle
        >>> file = io.BytesIO()
        >>> paddle.async_save({"w": paddle.ones([2])}, file)
        >>> paddle.clear_async_save_task_queue()
        >>> _ = file.seek(0)
        >>> paddle.load(file)["w"].tolist()
        [1.0, 1.0]
    """
    global _writer
    if not isinstance(obj, (Tensor, dict)):
        raise op_error(TypeError, "async_save", "a tensor or a dict", type(obj).__name__)
    if not isinstance(protocol, int) or isinstance(protocol, bool) or not 2 <= protocol <= 4:
        raise op_error(ValueError, "async_save", "a protocol from 2 to 4", repr(protocol))
    if sync_other_task:
        clear_async_save_task_queue()
    task = _task(obj, path, protocol, configs)
    with _lock:
        if _writer is None:
            _writer = ThreadPoolExecutor(1, thread_name_prefix="async_save")
        _tasks[:] = [t for t in _tasks if not t.done() or t.exception() is not None]  # whoever never waits
        _tasks.append(_writer.submit(task))


@public("paddle paddle.framework")
def clear_async_save_task_queue() -> None:
    """Wait until all files of ``async_save`` are written.

    Raises:
        Exception: a file could not be written; what kept it from being written is raised, of several files the first.

    Example:
        >>> import paddle
        >>> paddle.clear_async_save_task_queue()
    """
    with _lock:
        waiting, _tasks[:] = list(_tasks), []
    failures = [error for task in waiting if (error := task.exception()) is not None]
    if failures:
        raise failures[0]
