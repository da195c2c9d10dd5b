"""``LazyGuard``: layers whose parameters have no values yet."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.framework.parameter import LAZY
from umiak.core.context import current


@public("paddle")
class LazyGuard:
    """Context in which parameters are made without memory and values.

    Such a parameter has a shape, a dtype and a name. It gets its values by ``initialize()``, or by being written as a
    whole: ``set_value``, ``copy_``, ``set_state_dict``. Everything else that needs them is refused, by the name of the
    parameter.

    Raises:
        RuntimeError: later, when a parameter without values is read.

    Example:
        >>> import paddle
        >>> with paddle.LazyGuard():
        ...     layer = paddle.nn.Linear(3, 2)
        >>> layer.weight.shape, layer.weight._is_initialized()
        (paddle.Size([3, 2]), False)
        >>> for parameter in layer.parameters():
        ...     parameter.initialize()
        >>> layer(paddle.ones([1, 3])).shape
        paddle.Size([1, 2])
    """

    def __enter__(self) -> None:
        values = current().state.values
        self._before = values.get(LAZY, False)
        values[LAZY] = True

    def __exit__(self, *error: Any) -> None:
        current().state.values[LAZY] = self._before


class _Helper:
    """State of lazy initialisation, as the reference names it."""

    @property
    def state(self) -> bool:
        """Are parameters made without values now?"""
        return current().state.values.get(LAZY, False)

    _state = state


_HELPER = _Helper()


def lazy_init_helper() -> _Helper:
    """Return the one helper."""
    return _HELPER
