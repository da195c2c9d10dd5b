"""Pictures of static programs."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

import paddle


def test_static_programs(programs, tmp_path):
    main, _ = programs
    x = paddle.static.data("x", [None, 2])
    paddle.static.nn.cond(x.sum() > 0, lambda: paddle.exp(x), lambda: paddle.tanh(x))
    path = tmp_path / "main.svg"
    text = paddle.pir.program_svg(main, path)
    assert path.read_text(encoding="utf-8") == text
    shown = [t.text for t in ET.fromstring(text).iter("{http://www.w3.org/2000/svg}text")]
    assert {"if true", "if false"} <= set(shown)
    assert all(any(f"= {name}" in t for t in shown) for name in ("sum", "gt", "cond", "exp", "tanh"))
    with pytest.raises(TypeError, match=r"\[program_svg\] requires a Program"):
        paddle.pir.program_svg(3)
