"""``ProgressBar``: how far a loop is, on a terminal or in a file."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterable
from typing import Any

import numpy as np


class ProgressBar:
    """Progress of a loop: a bar that is written over itself, or a line for each update.

    Args:
        num: steps of the loop; None where nobody knows: without a bar.
        width: characters of the bar, fewer on a narrow terminal.
        verbose: 0 writes nothing, 1 a bar, 2 and 3 lines.
        start: count time from now on; False: from ``start()``.
        file: where it is written; None: the standard output of the moment.
        name: what a step is called.
    """

    def __init__(
        self,
        num: int | None = None,
        width: int = 30,
        verbose: int = 1,
        start: bool = True,
        file: Any = None,
        name: str = "step",
    ) -> None:
        self._num = num
        self._width = max(min(width, self._get_max_width()), 1)
        self._total_width = 0
        self._verbose = verbose
        self.file = sys.stdout if file is None else file
        self.name = name
        if start:
            self.start()

    @staticmethod
    def _get_max_width() -> int:
        """The bar's share of the terminal: losses and metrics need 50 columns."""
        columns = shutil.get_terminal_size().columns
        return min(max(int(columns * 0.6), 50), columns - 50)

    def start(self) -> None:
        """Count time from now on."""
        self._start = time.time()

    def update(self, current_num: int, values: Iterable[tuple[str, Any]] = ()) -> None:
        """Show a step.

        Args:
            current_num: the number of steps done.
            values: names and numbers, texts or lists of them.
        """
        if not self._verbose:
            return
        took = (time.time() - self._start) / current_num if current_num else 0.0
        ends = self._num is None or current_num >= self._num
        if self._verbose == 1:
            text = self._head(current_num) + _shown(values, (list, tuple))
            if not ends:
                text += f" - ETA: {_remaining(took * (self._num - current_num))}"  # type: ignore[operator]
            text += self._rate(took)
            self.file.write("\b" * self._total_width + "\r")
            self.file.write(text.ljust(self._total_width) + ("\n" if ends else ""))
            self._total_width = len(text)
        else:
            text = self._head(current_num, bar=False) + _shown(values, (list, tuple, np.ndarray))
            self.file.write(text + self._rate(took) + "\n")
        self.file.flush()

    def _head(self, current_num: int, bar: bool = True) -> str:
        if self._num is None:
            return f"{self.name} {current_num:3d}"
        text = f"{self.name} {current_num:{len(str(self._num))}d}/{self._num}"
        if not bar:
            return text
        done = int(self._width * current_num / self._num) if self._num else self._width
        marks = "=" * (done - 1) + (">" if current_num < self._num else "=") if done else ""
        return f"{text} [{marks}{'.' * (self._width - done)}]"

    def _rate(self, seconds: float) -> str:
        if seconds >= 1 or seconds == 0:
            return f" - {seconds:.0f}s/{self.name}"
        if seconds >= 1e-3:
            return f" - {seconds * 1e3:.0f}ms/{self.name}"
        return f" - {seconds * 1e6:.0f}us/{self.name}"


def _shown(values: Iterable[tuple[str, Any]], several: tuple[type, ...]) -> str:
    """Return names and values as text; each element of what is one of ``several`` by itself."""
    out = ""
    for name, value in values:
        elements = np.atleast_1d(value) if isinstance(value, np.ndarray) and np.ndarray in several else value
        elements = elements if isinstance(elements, several) else [elements]
        out += f" - {name}:" + "".join(f" {_number(v)}" for v in elements)
    return out


def _number(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.4f}" if abs(value) > 1e-3 else f"{value:.4e}"
    return str(value)


def _remaining(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    if seconds > 3600:
        return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
    if seconds > 60:
        return f"{minutes}:{rest:02d}"
    return f"{rest}s"
