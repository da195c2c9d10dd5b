"""Pictures as SVG text: boxes, lines and captions on a page that grows with what is drawn.

Lengths are pixels, y grows downwards. Text is set in a fixed-width font, so that its width is known without one:
``text_width`` is an upper bound for the usual fonts. Equal calls give equal text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape, quoteattr

FONT = "'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace"
SIZE = 12  # of text
_ADVANCE = 0.65  # of a character, over the size: 0.602 in DejaVu Sans Mono, and what rounding to pixels adds
LINE = 1.35  # from a line of text to the next one, over the size


def text_width(text: str, size: float = SIZE) -> float:
    """The width of a line of text."""
    return len(text) * size * _ADVANCE


def shortened(text: str, most: int) -> str:
    """The text, or its beginning and an ellipsis, in at most ``most`` characters."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


@dataclass(frozen=True)
class Look:
    """The look of a box or a line: colours of the inside and the border, corners, dashes."""

    fill: str = "#ffffff"
    stroke: str = "#5b6573"
    radius: float = 4
    dashes: str = ""
    width: float = 1


def _number(x: float) -> str:
    text = f"{x:.1f}"
    return text[:-2] if text.endswith(".0") else text


class Canvas:
    """A page: elements in the order in which they are drawn, and their extent."""

    def __init__(self) -> None:
        self.elements: list[str] = []
        self.width = self.height = 0.0
        self._arrows = False

    def _reach(self, x: float, y: float) -> None:
        self.width, self.height = max(self.width, x), max(self.height, y)

    def element(self, name: str, content: str | None = None, **attributes: Any) -> None:
        """Any element; numbers are rounded to a tenth, ``_`` in names stands for ``-``."""
        given = "".join(
            f" {key.strip('_').replace('_', '-')}={quoteattr(_number(v) if isinstance(v, (int, float)) else str(v))}"
            for key, v in attributes.items()
            if v not in (None, "")
        )
        self.elements.append(f"<{name}{given}/>" if content is None else f"<{name}{given}>{content}</{name}>")

    def open(self, **attributes: Any) -> None:
        """Begin a group, which ``close`` ends."""
        given = "".join(f" {k.strip('_').replace('_', '-')}={quoteattr(str(v))}" for k, v in attributes.items())
        self.elements.append(f"<g{given}>")

    def close(self) -> None:
        """End a group."""
        self.elements.append("</g>")

    def title(self, text: str) -> None:
        """Text that a viewer shows above the group that is open."""
        self.elements.append(f"<title>{escape(text)}</title>")

    def box(self, x: float, y: float, width: float, height: float, look: Look = Look()) -> None:
        """A rectangle."""
        self._reach(x + width, y + height)
        self.element(
            "rect", x=x, y=y, width=width, height=height, rx=look.radius or None, fill=look.fill, stroke=look.stroke,
            stroke_width=look.width, stroke_dasharray=look.dashes,
        )  # fmt: skip

    def text(
        self, x: float, y: float, text: str, size: float = SIZE, colour: str = "#1b222c", bold: bool = False
    ) -> None:
        """A line of text from ``x`` on; its letters stand on ``y``."""
        self._reach(x + text_width(text, size), y + size * 0.3)
        weight = "bold" if bold else None
        self.element("text", escape(text), x=x, y=y, font_size=size, fill=colour, font_weight=weight)

    def lines(
        self, x: float, y: float, lines: Iterable[str], size: float = SIZE, colour: str = "#1b222c", bold: bool = False
    ) -> float:
        """Lines of text below ``y``; returns where they end."""
        for line in lines:
            self.text(x, y + size, line, size, colour, bold)
            y += size * LINE
        return y

    def path(self, commands: str, look: Look = Look(fill="none"), arrow: bool = False, **attributes: Any) -> None:
        """A path in SVG's words, perhaps with an arrow's head at its end."""
        self._arrows = self._arrows or arrow
        self.element(
            "path", d=commands, fill="none", stroke=look.stroke, stroke_width=look.width,
            stroke_dasharray=look.dashes, marker_end="url(#head)" if arrow else None, **attributes,
        )  # fmt: skip

    def curve(self, points: Sequence[tuple[float, float]], look: Look = Look(), arrow: bool = True, **attributes: Any):
        """A line downwards through points: straight where x stays, bent with vertical ends where it changes."""
        (x, y), *rest = points
        parts = [f"M{_number(x)} {_number(y)}"]
        self._reach(x, y)
        for to_x, to_y in rest:
            if abs(to_x - x) < 0.05:
                parts.append(f"V{_number(to_y)}")
            else:
                middle = _number((y + to_y) / 2)
                parts.append(f"C{_number(x)} {middle} {_number(to_x)} {middle} {_number(to_x)} {_number(to_y)}")
            x, y = to_x, to_y
            self._reach(x, y)
        self.path(" ".join(parts), look, arrow, **attributes)

    def render(self, margin: float = 16) -> str:
        """The picture as text."""
        width, height = _number(self.width + margin), _number(self.height + margin)
        page = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family={quoteattr(FONT)}>'
        )
        head = (
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0 1 L7 4 L0 7 z" fill="#5b6573"/></marker></defs>'
        )
        white = '<rect width="100%" height="100%" fill="#ffffff"/>'
        return "\n".join([page, *([head] if self._arrows else []), white, *self.elements, "</svg>\n"])
