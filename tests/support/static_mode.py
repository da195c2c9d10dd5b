"""Static mode for a test, with programs of its own, verified after every pass."""

from __future__ import annotations

import pytest

import paddle


@pytest.fixture
def programs():
    """A main and a startup program, into which the test records."""
    main, startup = paddle.static.Program(), paddle.static.Program()
    before = paddle.get_flags("FLAGS_verify_passes")
    paddle.set_flags({"FLAGS_verify_passes": True})
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
        paddle.set_flags(before)
