"""Backends of ``scaled_dot_product_attention``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum

from paddle._public import public
from umiak.util.errors import op_error


@public("paddle.nn.attention")
class SDPBackend(IntEnum):
    """Implementation of attention. Here one fused kernel serves all of them, with the same results.

    Attributes:
        ERROR: none.
        MATH: matmuls and a softmax.
        FLASH_ATTENTION: fused, without a matrix of scores.
        EFFICIENT_ATTENTION: the same.

    Example:
        >>> import paddle
        >>> paddle.nn.attention.SDPBackend.MATH.value
        0
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2


_BACKENDS: ContextVar[tuple[SDPBackend, ...]] = ContextVar("sdpa_backends", default=(SDPBackend.MATH,))


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    """The backends that may run, by number, or in the order of preference."""
    backends = _BACKENDS.get()
    return list(backends) if with_priority else sorted(backends)


@public("paddle.nn.attention", usual=False)
@contextmanager
def sdpa_kernel(backends: Sequence[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """Context manager that names the backends which ``scaled_dot_product_attention`` may use.

    One kernel serves all of them, so results do not depend on it.

    Args:
        backends: one, or a list of them.
        set_priority: take the order of the list as that of preference.

    Returns:
        A context manager, which also decorates functions.

    Raises:
        ValueError: an empty list.
        TypeError: values that are no :class:`SDPBackend`.
        RuntimeError: ``ERROR`` alone, which leaves no backend.

    Example:
        >>> import paddle
        >>> from paddle.nn.attention import SDPBackend, sdpa_kernel
        >>> x = paddle.ones([1, 2, 1, 4])
        >>> with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        ...     paddle.nn.functional.scaled_dot_product_attention(x, x, x).shape
        paddle.Size([1, 2, 1, 4])
    """
    named = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(named, list) or not all(isinstance(b, SDPBackend) for b in named):
        raise op_error(TypeError, "sdpa_kernel", "an SDPBackend or a list of them", repr(backends))
    if not named:
        raise op_error(ValueError, "sdpa_kernel", "at least one backend", "none")
    if set(named) == {SDPBackend.ERROR}:
        raise op_error(RuntimeError, "sdpa_kernel", "a backend that can run", "SDPBackend.ERROR")
    distinct = tuple(dict.fromkeys(named))
    token = _BACKENDS.set(distinct if set_priority else tuple(sorted(distinct)))
    try:
        yield
    finally:
        _BACKENDS.reset(token)


@public("paddle.nn.functional", usual=False)
@contextmanager
def sdp_kernel(
    enable_math: bool = False, enable_flash: bool = True, enable_mem_efficient: bool = True
) -> Iterator[None]:
    """Context manager as :func:`paddle.nn.attention.sdpa_kernel`, with a switch for each backend.

    Args:
        enable_math: allow ``SDPBackend.MATH``.
        enable_flash: allow ``SDPBackend.FLASH_ATTENTION``.
        enable_mem_efficient: allow ``SDPBackend.EFFICIENT_ATTENTION``.

    Returns:
        A context manager, which also decorates functions.

    Raises:
        ValueError: all of them are off.

    Example:
        >>> import paddle
        >>> x = paddle.ones([1, 2, 1, 4])
        >>> with paddle.nn.functional.sdp_kernel(enable_math=True):
        ...     paddle.nn.functional.scaled_dot_product_attention(x, x, x).shape
        paddle.Size([1, 2, 1, 4])
    """
    switches = {
        SDPBackend.MATH: enable_math,
        SDPBackend.FLASH_ATTENTION: enable_flash,
        SDPBackend.EFFICIENT_ATTENTION: enable_mem_efficient,
    }
    on = [backend for backend, allowed in switches.items() if allowed]
    if not on:
        raise op_error(ValueError, "sdp_kernel", "at least one backend that is enabled", "none")
    with sdpa_kernel(on):
        yield
