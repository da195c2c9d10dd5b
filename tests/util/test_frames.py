"""Tracebacks without the frames that only pass calls on."""

from __future__ import annotations

from umiak.util.frames import fold


def test_frames_of_a_namespace_without_a_module():
    names: dict = {}
    exec("def divide(x):\n    return 1 / x", names)
    names.pop("__name__", None)
    try:
        names["divide"](0)
    except ZeroDivisionError as error:
        folded = fold(error.__traceback__)
    assert folded is not None
    assert folded.tb_next.tb_frame.f_code.co_name == "divide"
