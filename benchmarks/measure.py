"""Timing two pieces of code against each other: in one process, on one core, by turns."""

from __future__ import annotations

import gc
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import islice, repeat
from pathlib import Path
from typing import Any

FEWEST = 5  # rounds of slow code
QUIET = 0.02  # part of a measurement that the process may be off its core
TRIES = 3  # of a row that was disturbed
_KINDS = {"cpu family": "family", "model": "model", "CPU part": "part"}  # in /proc/cpuinfo, on x86 and on ARM


@dataclass
class Settings:
    """``rounds`` of at least ``round_s`` seconds for each side, on ``core``; ``cores`` are all there are. Slow code has
    fewer rounds, so that a row takes about ``row_s`` seconds.

    With ``fastest``, figures are those of the fastest rounds: on a busy machine these say most.
    """

    rounds: int = 41
    round_s: float = 0.002
    core: int = 0
    cores: tuple[int, ...] = ()
    fastest: bool = False
    check: bool = False  # nothing is measured: run everything once
    warnings: list[str] = field(default_factory=list)
    row_s: float = 12.0
    away: float = 0.0  # the largest part of a measurement that the process was off its core


@dataclass(frozen=True)
class Spread:
    """The median of some figures and their quartiles."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(figures: Sequence[float]) -> Spread:
        if len(figures) < 2:
            return Spread(figures[0], figures[0], figures[0])
        low, median, high = statistics.quantiles(figures, n=4, method="inclusive")
        return Spread(median, low, high)


LOOP = """
def loop(items, {names}):
    begin = clock()
    for {target} in items:
        {code}
    return clock() - begin
"""


class Side:
    """Code to be timed, compiled into a loop of its own over local names, so that neither side pays for a call.

    With ``feed``, every pass takes the next item of an iterator as ``target``; no item is used twice.
    ``within`` makes a context manager that is entered around each round, outside the clock.
    """

    def __init__(
        self,
        code: str,
        names: Mapping[str, Any],
        target: str = "_",
        feed: Iterator[Any] | None = None,
        within: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> None:
        # CPU time: a process that is off its core for a while has not worked longer.
        env = {"clock": time.process_time, **{f"_{k}": v for k, v in names.items()}}
        lines = "\n        ".join(code.strip().splitlines())
        heading = ", ".join(f"{k}=_{k}" for k in ("clock", *names) if k != "clock") or "_=None"
        exec(compile(LOOP.format(names=heading, target=target, code=lines), f"<{code.strip()}>", "exec"), env)
        self.loop: Callable[[Any], float] = env["loop"]
        self.feed = feed
        self.within = within

    def run(self, passes: int) -> float:
        """Seconds per pass over one round."""
        items: Any = repeat(None, passes) if self.feed is None else list(islice(self.feed, passes))
        if self.feed is not None and len(items) < passes:
            raise RuntimeError(f"[measure] requires {passes} more items for a round, got {len(items)}")
        with self.within():
            return self.loop(items) / passes

    def passes(self, seconds: float) -> int:
        """Return how many passes last at least so long."""
        for _ in range(10):  # the first passes make plans
            if self.run(1) > seconds * 10:
                break
        n = 1
        while True:
            took = self.run(n) * n
            if took >= seconds:
                return n
            n = max(n * 2, int(n * 1.1 * seconds / took) if took > seconds / 100 else n * 8)


@dataclass(frozen=True)
class Comparison:
    """Seconds per pass of both sides, and other ÷ ours round by round."""

    ours: Spread
    other: Spread
    ratio: Spread


def compare(ours: Side, other: Side, settings: Settings, passes: int | None = None) -> Comparison:
    """Time both sides by turns; who begins alternates too, so that a drift of the machine falls on both alike."""
    # What exists already is no business of collections that happen meanwhile; collections stay on, as for any user.
    gc.collect()
    gc.freeze()
    try:
        n_ours = passes or ours.passes(settings.round_s)
        n_other = passes or other.passes(settings.round_s)
        for _ in range(TRIES):
            times: tuple[list[float], list[float]] = ([], [])
            wall, cpu = time.perf_counter(), time.process_time()
            for i in range(settings.rounds):
                if i >= FEWEST and time.perf_counter() - wall > settings.row_s:
                    break
                for which in (0, 1) if i % 2 == 0 else (1, 0):
                    times[which].append((ours, other)[which].run((n_ours, n_other)[which]))
            away = 1 - (time.process_time() - cpu) / (time.perf_counter() - wall)
            if away <= QUIET:  # a table of hundreds of rows meets some moment in which others are at work
                break
    finally:
        gc.unfreeze()
    settings.away = max(settings.away, away)
    if settings.fastest:
        best = [min(t) for t in times]
        return Comparison(*(Spread.of([x]) for x in (*best, best[1] / best[0])))
    return Comparison(Spread.of(times[0]), Spread.of(times[1]), Spread.of([b / a for a, b in zip(*times, strict=True)]))


def pin(core: int | None = None) -> int:
    """Keep this process and its children on one core, by default the last of those it may use."""
    allowed = sorted(os.sched_getaffinity(0))
    core = allowed[-1] if core is None else core
    if core not in allowed:
        raise ValueError(f"[pin] requires one of the cores {allowed}, got {core}")
    os.sched_setaffinity(0, {core})
    return core


def processor(text: str | None = None) -> str:
    """The name of this machine's processor, by the text of /proc/cpuinfo."""
    text = Path("/proc/cpuinfo").read_text() if text is None else text
    pairs = (line.partition(":")[::2] for line in text.partition("\n\n")[0].splitlines())
    known = {name.strip(): value.strip() for name, value in pairs}
    # What is sold under one name may be of several families.
    kind = ", ".join(f"{word} {known[field]}" for field, word in _KINDS.items() if field in known)
    return known.get("model name", f"{platform.machine()} processor") + (f" ({kind})" if kind else "")


def busy(core: int, seconds: float = 0.5, most: float = 0.05) -> str | None:
    """Return why a core is not quiet enough to measure on, by what others do there while this process waits."""

    def ticks() -> tuple[int, int]:
        line = next(x for x in Path("/proc/stat").read_text().splitlines() if x.startswith(f"cpu{core} "))
        # user, nice, system, idle, waiting for a disk, interrupts of two kinds, stolen by other machines
        counts = [int(x) for x in line.split()[1:9]]
        return sum(counts), counts[3] + counts[4]

    whole, idle = ticks()
    time.sleep(seconds)
    then, idle_then = ticks()
    share = 1 - (idle_then - idle) / max(then - whole, 1)
    return (
        f"others take {share:.0%} of core {core}; on a quiet machine it is below {most:.0%}" if share > most else None
    )


def noise() -> str | None:
    """Return why the machine is not quiet enough to measure on, by its load average."""
    load = os.getloadavg()[0]
    return f"the load average is {load:.2f}; on a quiet machine it is below 0.3" if load > 0.3 else None


@contextmanager
def one_thread() -> Iterator[None]:
    """Both sides on one thread while measuring."""
    import torch

    from umiak.runtime import parallel

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    parallel.set_num_threads(1)
    try:
        yield
    finally:
        parallel.set_num_threads(0)
        torch.set_num_threads(before)


def resident() -> int:
    """Bytes of this process that are in memory now."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def highest() -> int:
    """The most that this process has ever had there: unlike ``ru_maxrss`` not what its parent had before ``exec``."""
    with open("/proc/self/status") as f:
        return int(f.read().split("VmHWM:")[1].split()[0]) * 1024
