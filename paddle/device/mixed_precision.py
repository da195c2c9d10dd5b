"""Mixed precision in the namespace of devices."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.amp.auto_cast import auto_cast
from paddle.amp.auto_cast import autocast as _autocast


class _AutocastMode:
    """Namespace of one function."""

    @staticmethod
    def autocast(enabled: bool = True, dtype: Any = "float16", cache_enabled: bool = True) -> auto_cast:
        """Make a context of level O1, as :func:`paddle.amp.autocast` does.

        Args:
            enabled: False does nothing.
            dtype: ``"float16"`` or ``"bfloat16"``.
            cache_enabled: accepted; casts happen inside the ops, so that there is nothing to keep.

        Returns:
            A context manager, which decorates functions as well.

        Raises:
            ValueError: an unknown dtype.
        """
        return _autocast(None, dtype, enabled, cache_enabled)


@public("paddle.device paddle.cuda")
class amp:
    """Mixed precision on the current device.

    Attributes:
        autocast: see :func:`paddle.amp.autocast`, without a type of device.
        autocast_mode: a namespace that has ``autocast``, too.

    Example:
        >>> import paddle
        >>> with paddle.cuda.amp.autocast(dtype="bfloat16"):
        ...     x = paddle.ones([2, 2]) @ paddle.ones([2, 2])
        >>> x.dtype
        paddle.bfloat16
    """

    autocast = staticmethod(_AutocastMode.autocast)
    autocast_mode = _AutocastMode()
