"""Policies of which features get a row in a table of a parameter server."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from umiak.util.errors import op_error


class EntryAttr:
    """A policy; ``_to_attr`` gives the text by which servers know it."""


@public("paddle.distributed")
class ProbabilityEntry(EntryAttr):
    """Policy: a feature gets a row with a probability, each time it is looked up without one.

    Args:
        probability: a float between 0 and 1, both excluded.

    Raises:
        ValueError: another number.

    Example:
        >>> import paddle
        >>> entry = paddle.distributed.ProbabilityEntry(0.1)
    """

    def __init__(self, probability: float) -> None:
        if not isinstance(probability, float) or not 0 < probability < 1:
            raise op_error(ValueError, "ProbabilityEntry", "a float between 0 and 1 as probability", repr(probability))
        self._probability = probability

    def _to_attr(self) -> str:
        return f"probability_entry:{self._probability}"


@public("paddle.distributed")
class CountFilterEntry(EntryAttr):
    """Policy: a feature gets a row when it has been looked up often enough.

    Args:
        count_filter: how often, an int from 1 on.

    Raises:
        ValueError: another number.

    Example:
        >>> import paddle
        >>> entry = paddle.distributed.CountFilterEntry(10)
    """

    def __init__(self, count_filter: int) -> None:
        if type(count_filter) is not int or count_filter < 1:
            raise op_error(ValueError, "CountFilterEntry", "an int from 1 on as count_filter", repr(count_filter))
        self._count_filter = count_filter

    def _to_attr(self) -> str:
        return f"count_filter_entry:{self._count_filter}"


@public("paddle.distributed")
class ShowClickEntry(EntryAttr):
    """Policy: features have weights by how often they were shown and clicked.

    Args:
        show_name: the variable that says how often a feature was shown.
        click_name: the variable that says how often it was clicked.

    Raises:
        ValueError: names that are no text.

    Example:
        >>> import paddle
        >>> entry = paddle.distributed.ShowClickEntry("show", "click")
    """

    def __init__(self, show_name: Any, click_name: Any) -> None:
        if not isinstance(show_name, str) or not isinstance(click_name, str):
            raise op_error(ValueError, "ShowClickEntry", "names of variables", f"{show_name!r}, {click_name!r}")
        self._show_name, self._click_name = show_name, click_name

    def _to_attr(self) -> str:
        return f"show_click_entry:{self._show_name}:{self._click_name}"
