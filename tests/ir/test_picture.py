"""Pictures of programs: every operation, value and type is there, and nothing lies on anything else."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from umiak import ops as F
from umiak.core.dtype import convert
from umiak.ir.meta import Meta
from umiak.ir.parser import parse
from umiak.ir.picture import MOST_CHARACTERS, program_svg
from umiak.ir.tracer import trace
from umiak.util.svg import text_width

SVG = "{http://www.w3.org/2000/svg}"
F32 = convert("float32")


def simple():
    def f(x, w):
        a = F.matmul(x, w)
        b, c = F.split(a, axis=1, sections=(4, 4))
        return F.add(F.mul(b, F.tanh(c)), 1.0), F.sum(x, axes=(0,))

    return trace(f, [Meta((6, 8), F32), Meta((8, 8), F32)], name="<simple> & simple")


def chain():
    def f(x, w):
        y = x
        for i in range(14):
            y = F.add(F.tanh(F.matmul(y, w)), x if i % 3 else y)
        return y

    return trace(f, [Meta((6, 8), F32), Meta((8, 8), F32)])


def loop():
    return parse(
        """
        program "loop"(%0: i64[], %1: f32[2], %2: i64[]; s1: int in [0, inf), s0: int in [0, inf)) {
          %3, %4, %5 = while_(%0, %1, %2; trips=s1, index=s0) {carried=2} : i64[], f32[2], i64[] [
            block(%6: i64[], %7: f32[2], %8: i64[]) {
              %9 = lt(%6, %8) : b1[]
              yield %9
            }
            block(%10: i64[], %11: f32[2], %12: i64[]) {
              %13 = add(%10, 1) : i64[]
              %14 = tanh(%11) : f32[2]
              yield %13, %14
            }
          ]
          %15 = mul(%4, 2.0) : f32[2]
          return %15
          write %1 <- %4
        }
        """
    )


PROGRAMS = {"simple": simple, "chain of 42": chain, "loop": loop}


@pytest.fixture(params=list(PROGRAMS))
def program(request):
    return PROGRAMS[request.param]()


def boxes(root):
    """The groups of boxes by id, with what is directly in them."""
    return {g.get("id"): g for g in root.iter(f"{SVG}g")}


def extent(rect):
    return tuple(float(rect.get(k, 0)) for k in ("x", "y", "width", "height"))


def test_every_operation_with_its_types(program):
    root = ET.fromstring(program_svg(program))
    tips = [g.find(f"{SVG}title").text for g in boxes(root).values()]
    text = program.canonical()
    for o in program.walk():
        assert sum(f"= {o.name}(" in t for t in tips) == sum(f"= {o.name}(" in line for line in text.split("\n"))
    for line in re.findall(r"^ *(%\d.* = .*?)(?: \[)?$", text, re.MULTILINE):
        assert line in tips
    shown = "\n".join(t.text for t in root.iter(f"{SVG}text"))
    for o in program.walk():
        for r in o.results:
            assert repr(r.meta) in shown


def test_every_value_that_is_read(program):
    root = ET.fromstring(program_svg(program))
    edges = [(p.get("data-from"), p.get("data-to")) for p in root.iter(f"{SVG}path") if p.get("class") == "edge"]
    expected = sum(len(o.values) for o in program.walk()) + sum(hasattr(x, "producer") for x in program.outputs)
    expected += len(program.effects)
    expected += sum(len(r.outputs) for o in program.walk() for r in o.regions)
    assert len(edges) == expected
    known = boxes(root)
    for a, b in edges:
        made = re.match(r"(%[\d, %]+)", known[a].find(f"{SVG}title").text).group(1)
        tip = known[b].find(f"{SVG}title").text
        assert any(re.search(rf"{v}\b", tip.split("=", 1)[-1]) for v in made.replace(" ", "").split(","))


def test_no_box_overlaps_another(program):
    """Beside or below each other, or one inside of the other's region."""
    root = ET.fromstring(program_svg(program))
    groups = boxes(root)
    found = [(g, extent(g.find(f"{SVG}rect"))) for g in groups.values()]
    page = float(root.get("width")), float(root.get("height"))
    for i, (g, (x, y, w, h)) in enumerate(found):
        assert 0 <= x
        assert 0 <= y
        assert x + w <= page[0]
        assert y + h <= page[1]
        for other, (u, v, m, n) in found[i + 1 :]:
            if other in list(g.iter()):
                assert x < u
                assert u + m < x + w
                assert y < v
                assert v + n < y + h
                continue
            assert x + w <= u or u + m <= x or y + h <= v or v + n <= y


def test_text_stays_in_its_box(program):
    for group in boxes(ET.fromstring(program_svg(program))).values():
        x, y, w, h = extent(group.find(f"{SVG}rect"))
        lines = group.findall(f"{SVG}text")
        heights = [float(t.get("y")) for t in lines]
        own = [t for t in lines if t.text not in ("condition", "body")]
        for t in own:
            assert x <= float(t.get("x"))
            assert float(t.get("x")) + text_width(t.text, float(t.get("font-size"))) <= x + w + 0.1
            assert y < float(t.get("y")) < y + h
            assert len(t.text) <= MOST_CHARACTERS
        assert all(b - a > 10 for a, b in zip(heights, heights[1:], strict=False) if b > a)


def test_caption_and_legend():
    root = ET.fromstring(program_svg(loop()))
    shown = [t.text for t in root.iter(f"{SVG}text")]
    assert shown[:2] == ["loop", "5 operations, 3 inputs, 1 result"]
    assert {"condition", "body", "input", "parameter", "result, write"} <= set(shown)
    assert "write %1" in shown


def test_deterministic(program):
    assert program_svg(program) == program_svg(program.copy())


def test_an_empty_program():
    root = ET.fromstring(program_svg(trace(lambda: (), [])))
    assert boxes(root) == {}
