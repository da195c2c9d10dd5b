"""SVG text: well-formed, escaped, and as large as what is drawn."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from umiak.util.svg import Canvas, Look, shortened, text_width

NAMESPACE = "{http://www.w3.org/2000/svg}"


def test_elements_and_size():
    canvas = Canvas()
    canvas.open(id="a", class_="group")
    canvas.title('1 < 2 & "so"')
    canvas.box(10, 20, 100, 30, Look(fill="#ff0000", dashes="4 2"))
    canvas.text(15, 35, "x <- y & z", bold=True)
    canvas.close()
    canvas.curve([(60, 50), (60, 80), (90.04, 120)], data_from="a")
    root = ET.fromstring(canvas.render(margin=10))
    assert (root.get("width"), root.get("height")) == ("120", "130")
    (group,) = root.findall(f"{NAMESPACE}g")
    assert group.attrib == {"id": "a", "class": "group"}
    assert group.find(f"{NAMESPACE}title").text == '1 < 2 & "so"'
    assert group.find(f"{NAMESPACE}text").text == "x <- y & z"
    assert group.find(f"{NAMESPACE}rect").get("stroke-dasharray") == "4 2"
    (path,) = root.findall(f"{NAMESPACE}path")
    assert path.get("d") == "M60 50 V80 C60 100 90 100 90 120"
    assert path.get("data-from") == "a"
    head = path.get("marker-end")[5:-1]
    assert root.find(f".//{NAMESPACE}marker").get("id") == head


def test_the_page_holds_its_text():
    canvas = Canvas()
    end = canvas.lines(0, 0, ["one", "a longer line"], size=10)
    assert canvas.width == text_width("a longer line", 10)
    assert canvas.height <= end + 3


def test_lines_without_arrows_need_no_head():
    canvas = Canvas()
    canvas.curve([(0, 0), (0, 5)], arrow=False)
    assert "marker" not in canvas.render()


def test_shortened():
    assert shortened("short", 5) == "short"
    assert shortened("longer text", 8) == "longer…"
    assert len(shortened("x" * 50, 20)) == 20
