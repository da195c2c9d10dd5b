"""Sizes as an object, and constants."""

from __future__ import annotations

import math
from typing import Any

from paddle._public import constants, public
from umiak.util.errors import op_error

constants("paddle", __name__, {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None})


@public("paddle")
class Size(list):
    """List of sizes, such as the shape of a tensor, that knows how many elements they make.

    Args:
        iterable: the sizes, integers; by default none.

    Raises:
        TypeError: a size is not an integer.

    Example:
        >>> import paddle
        >>> size = paddle.Size([2, 3])
        >>> size.numel(), size[1:]
        (6, paddle.Size([3]))
    """

    def __init__(self, iterable: Any = ()) -> None:
        super().__init__(iterable)
        for n in self:
            if not hasattr(n, "__index__"):
                raise op_error(TypeError, "Size", "integers", type(n).__name__)

    def numel(self) -> int:
        """The product of the sizes."""
        return math.prod(self)

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return Size(found) if isinstance(index, slice) else found

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (list, tuple)) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __repr__(self) -> str:
        return f"paddle.Size({list(self)})"
