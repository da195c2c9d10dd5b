"""Gradient modes: context managers, also usable as decorators, that decide whether operations are recorded."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from paddle._public import public
from umiak.core.context import current


class _Mode:
    """Sets the mode of the calling thread; usable with ``with``, and as a decorator of functions and generators."""

    mode: bool

    def __init__(self) -> None:
        self._saved: list[bool] = []

    def __enter__(self) -> None:
        c = current()
        self._saved.append(c.grad_enabled)
        c.grad_enabled = self.mode

    def __exit__(self, *exc: object) -> None:
        current().grad_enabled = self._saved.pop()

    def __call__(self, fn: Callable) -> Callable:
        if inspect.isgeneratorfunction(fn):
            return self._generator(fn)

        @functools.wraps(fn)
        def run(*args: Any, **kwargs: Any) -> Any:
            with type(self)():  # one of its own per call: calls may overlap in threads
                return fn(*args, **kwargs)

        return run

    def _generator(self, fn: Callable) -> Callable:
        """The mode holds inside the generator only, not in the code that drives it."""

        @functools.wraps(fn)
        def run(*args: Any, **kwargs: Any) -> Any:
            gen = fn(*args, **kwargs)
            step, value = gen.send, None
            try:
                while True:
                    with type(self)():
                        item = step(value)
                    try:
                        step, value = gen.send, (yield item)
                    except GeneratorExit:
                        with type(self)():
                            gen.close()
                        raise
                    except BaseException as error:
                        step, value = gen.throw, error
            except StopIteration as end:
                return end.value

        return run


class _OptionalCall(type):
    """``@no_grad`` and ``@no_grad()`` are the same."""

    def __call__(cls, fn: Any = None, /) -> Any:
        made = super().__call__()
        return made if fn is None else made(fn)


@public("paddle paddle.autograd paddle.framework")
class no_grad(_Mode, metaclass=_OptionalCall):
    """Record no operations inside: results have ``stop_gradient=True``.

    Works as ``with paddle.no_grad():``, ``@paddle.no_grad()`` and ``@paddle.no_grad``.

    Args:
        fn: a function to decorate; None: a context manager, which decorates as well.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2])
        >>> x.stop_gradient = False
        >>> with paddle.no_grad():
        ...     (x * 2).stop_gradient
        True
    """

    mode = False


@public("paddle paddle.autograd paddle.framework")
class enable_grad(_Mode, metaclass=_OptionalCall):
    """Record operations inside, also within ``no_grad``.

    Works as ``with paddle.enable_grad():``, ``@paddle.enable_grad()`` and ``@paddle.enable_grad``.

    Args:
        fn: a function to decorate; None: a context manager, which decorates as well.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2])
        >>> x.stop_gradient = False
        >>> with paddle.no_grad(), paddle.enable_grad():
        ...     (x * 2).stop_gradient
        False
    """

    mode = True


@public("paddle paddle.autograd paddle.framework")
class set_grad_enabled(_Mode):
    """Record operations or not, from this call on; as a context manager, until its end.

    Args:
        mode: whether to record.

    Example:
        >>> import paddle
        >>> with paddle.set_grad_enabled(False):
        ...     paddle.is_grad_enabled()
        False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode = bool(mode)
        self._before = current().grad_enabled
        current().grad_enabled = self.mode

    def __enter__(self) -> None:
        current().grad_enabled = self.mode
        self._saved.append(self._before)

    def clone(self) -> set_grad_enabled:
        """Another mode like this one, which holds from this call on, too."""
        return type(self)(self.mode)

    def __call__(self, fn: Callable) -> Callable:
        current().grad_enabled = self._before
        mode = enable_grad if self.mode else no_grad
        return mode()(fn)


@public("paddle paddle.autograd paddle.framework")
def is_grad_enabled() -> bool:
    """Say whether operations are recorded now.

    Returns:
        A bool.

    Example:
        >>> import paddle
        >>> paddle.is_grad_enabled()
        True
    """
    return current().grad_enabled
