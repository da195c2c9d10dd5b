"""Times of steps, and their share of waiting for data."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class StepTimer:
    """Seconds of steps, of waiting within them, and samples, since the last report and in all."""

    last: float = 0.0
    waited: float = 0.0
    recent: list[tuple[float, float, int | None]] = field(default_factory=list)
    every: list[tuple[float, float, int | None]] = field(default_factory=list)

    def start(self) -> None:
        self.last, self.waited = time.perf_counter(), 0.0
        self.recent, self.every = [], []

    def read(self, seconds: float) -> None:
        self.waited += seconds

    def step(self, samples: int | None) -> None:
        now = time.perf_counter()
        one = (now - self.last, self.waited, samples)
        self.recent.append(one)
        self.every.append(one)
        self.last, self.waited = now, 0.0

    def info(self, unit: str | None) -> str:
        """The means since the last call; empty where there was no step."""
        steps, self.recent = self.recent, []
        if not steps:
            return ""
        seconds, waited, rate = _means(steps)
        reader = f" reader_cost: {waited:.5f} s" if waited else ""
        counted = all(n is not None for _, _, n in steps)
        return f"{reader} batch_cost: {seconds:.5f} s ips: {rate:.3f} {(unit or 'samples') if counted else 'steps'}/s"

    def table(self) -> str:
        """Mean, most and least of all steps but the first, which makes what later ones find."""
        steps = self.every[1:] or self.every
        if not steps:
            return "No step was timed."
        lines = [f"{'of ' + str(len(steps)) + ' steps':16}{'mean':>14}{'most':>14}{'least':>14}"]
        rates = [(1 if n is None else n) / s for s, _, n in steps if s > 0]
        for name, values in (
            ("reader_cost (s)", [w for _, w, _ in steps]),
            ("batch_cost (s)", [s for s, _, _ in steps]),
            ("ips", rates),
        ):
            mean = _means(steps)[2] if name == "ips" else sum(values) / len(values)
            lines.append(f"{name:16}{mean:14.5f}{max(values):14.5f}{min(values):14.5f}")
        return "\n".join(lines)


def _means(steps: list[tuple[float, float, int | None]]) -> tuple[float, float, float]:
    seconds = sum(s for s, _, _ in steps)
    samples = sum(1 if n is None else n for _, _, n in steps)
    return seconds / len(steps), sum(w for _, w, _ in steps) / len(steps), samples / seconds if seconds else 0.0
