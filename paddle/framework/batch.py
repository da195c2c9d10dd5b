"""Batches from readers, for programs from before data loaders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from paddle._public import public
from umiak.util.errors import op_error


@public("paddle paddle.framework")
def batch(
    reader: Callable[[], Iterator[Any]], batch_size: int, drop_last: bool = False
) -> Callable[[], Iterator[list]]:
    """Reader of lists of ``batch_size`` items of another reader, for programs from before data loaders.

    Args:
        reader: a function without arguments that returns an iterator of items.
        batch_size: items of a list, 1 or more.
        drop_last: leave out a last list that is shorter.

    Returns:
        A function without arguments that returns an iterator of lists.

    Raises:
        ValueError: batch_size is below 1.

    Example:
        >>> import paddle
        >>> list(paddle.batch(lambda: iter(range(3)), 2)())
        [[0, 1], [2]]
    """
    if int(batch_size) <= 0:
        raise op_error(ValueError, "batch", "a batch_size of 1 or more", batch_size)

    def read() -> Iterator[list]:
        items: list = []
        for item in reader():
            items.append(item)
            if len(items) == batch_size:
                yield items
                items = []
        if items and not drop_last:
            yield items

    return read
