"""Names that only builds for IPUs have: they are refused, as the reference's other builds refuse them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from paddle._public import public
from umiak.util.errors import op_error


def _refuse(kind: type[Exception], op_name: str) -> NoReturn:
    raise op_error(kind, op_name, "a backend for IPUs", "none", "See paddle.is_compiled_with_ipu().")


@public("paddle.static")
class IpuStrategy:
    """Settings of programs on IPUs, for which there is no backend.

    Raises:
        RuntimeError: always.

    Example:
        >>> import paddle
        >>> paddle.static.IpuStrategy()
        Traceback (most recent call last):
        RuntimeError: [IpuStrategy] requires a backend for IPUs, got none. See paddle.is_compiled_with_ipu().
    """

    def __init__(self) -> None:
        _refuse(RuntimeError, "IpuStrategy")


@public("paddle.static")
class IpuCompiledProgram:
    """A program on IPUs, for which there is no backend.

    Args:
        program: accepted.
        scope: accepted.
        ipu_strategy: accepted.

    Raises:
        ValueError: always.

    Example:
        >>> import paddle
        >>> paddle.is_compiled_with_ipu()
        False
    """

    def __init__(self, program: Any = None, scope: Any = None, ipu_strategy: Any = None) -> None:
        _refuse(ValueError, "IpuCompiledProgram")


@public("paddle.static")
@contextmanager
def ipu_shard_guard(index: int = -1, stage: int = -1) -> Iterator[None]:
    """Place what is recorded on an IPU, for which there is no backend.

    Args:
        index: accepted.
        stage: accepted.

    Yields:
        Nothing.

    Raises:
        ValueError: always, when the ``with`` block begins.

    Example:
        >>> import paddle
        >>> paddle.is_compiled_with_ipu()
        False
    """
    _refuse(ValueError, "ipu_shard_guard")
    yield


@public("paddle.static")
def set_ipu_shard(call_func: Callable[..., Any], index: int = -1, stage: int = -1) -> NoReturn:
    """Place what a function or layer records on an IPU, for which there is no backend.

    Args:
        call_func: accepted.
        index: accepted.
        stage: accepted.

    Raises:
        ValueError: always.

    Example:
        >>> import paddle
        >>> paddle.is_compiled_with_ipu()
        False
    """
    _refuse(ValueError, "set_ipu_shard")
