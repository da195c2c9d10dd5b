"""Static mode for a test, with programs of its own."""

from __future__ import annotations

import pytest

import paddle


@pytest.fixture
def programs():
    """A main and a startup program, into which the test records."""
    main, startup = paddle.static.Program(), paddle.static.Program()
    paddle.enable_static()
    try:
        with (
            paddle.utils.unique_name.guard(),
            paddle.static.scope_guard(paddle.static.Scope()),
            paddle.static.program_guard(main, startup),
        ):
            yield main, startup
    finally:
        paddle.disable_static()
