"""Names that no other parameter or layer has: a counter per prefix, kept per rank."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from paddle._public import constants
from umiak.core.context import capture_of, current

constants("paddle.utils", "paddle.framework", {"unique_name": sys.modules[__name__]})


def generate(key: str) -> str:
    """Make a new name: ``key`` with the next number of its own, such as ``linear_0`` and then ``linear_1``.

    Args:
        key: the beginning of the name.

    Returns:
        A str.

    Raises:
        TypeError: key is no str.

    Example:
        >>> import paddle
        >>> with paddle.utils.unique_name.guard():
        ...     [paddle.utils.unique_name.generate("fc") for _ in range(2)]
        ['fc_0', 'fc_1']
    """
    state = current().state
    full = state.values.get("name_prefix", "") + key
    n = state.names.get(full, 0)
    state.names[full] = n + 1
    return f"{full}_{n}"


def generate_with_ignorable_key(key: str) -> str:
    """Make a new name whose beginning nobody reads: in dynamic mode it is ``dygraph_tmp``.

    Args:
        key: the beginning in static mode.

    Returns:
        A str.

    Raises:
        TypeError: in static mode, a key that is not a str.

    Example:
        >>> import paddle
        >>> with paddle.utils.unique_name.guard():
        ...     paddle.utils.unique_name.generate_with_ignorable_key("fc")
        'dygraph_tmp_0'
    """
    tracer = capture_of()
    return generate(key if tracer is not None and tracer.static else "dygraph_tmp")


def switch(
    new_generator: dict[str, int] | None = None, new_para_name_checker: Any = None
) -> tuple[dict[str, int], None]:
    """Use other counters from now on.

    Args:
        new_generator: a dict of next numbers by prefix, which is then advanced; None: fresh counters.
        new_para_name_checker: accepted; there is none.

    Returns:
        The counters used so far, in a pair with None.

    Raises:
        TypeError: at the next name, counters that are no dict.

    Example:
        >>> import paddle
        >>> before, _ = paddle.utils.unique_name.switch()
        >>> paddle.utils.unique_name.generate("fc")
        'fc_0'
        >>> _ = paddle.utils.unique_name.switch(before)
    """
    state = current().state
    old = state.names
    state.names = {} if new_generator is None else new_generator
    return old, None


@contextlib.contextmanager
def guard(new_generator: dict[str, int] | str | bytes | None = None) -> Iterator[None]:
    """Use other counters inside a ``with`` block.

    Args:
        new_generator: a dict of next numbers by prefix; a str or bytes, which all names then begin with; None: fresh
            counters.

    Yields:
        None: it is used in a ``with`` statement.

    Raises:
        UnicodeDecodeError: bytes that are no text.

    Example:
        >>> import paddle
        >>> with paddle.utils.unique_name.guard("block_"):
        ...     paddle.utils.unique_name.generate("fc")
        'block_fc_0'
    """
    state = current().state
    prefix = state.values.get("name_prefix", "")
    counters: dict[str, int] | None = None
    if isinstance(new_generator, bytes):
        new_generator = new_generator.decode()
    if isinstance(new_generator, str):
        state.values["name_prefix"] = new_generator
    else:
        counters = new_generator
    old, _ = switch(counters)
    try:
        yield
    finally:
        switch(old)
        state.values["name_prefix"] = prefix
