"""The lines of a function that is drawn."""

from __future__ import annotations

import random


class Lines:
    """Lines at a depth of indentation, names that are new, and the numbers of a seed; nets draw what stands in them."""

    def __init__(self, net: str, seed: int) -> None:
        self.r = random.Random(f"{net} {seed}")
        self.lines: list[str] = []
        self.count, self.depth = 0, 1

    def name(self, prefix: str = "v") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)
