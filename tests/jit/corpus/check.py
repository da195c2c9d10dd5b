"""The verdict on a program in a mode: the differences from eager calls, or from the refusal that is required."""

from __future__ import annotations

import re
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.jit.corpus.registry import Program
from tests.jit.corpus.run import Counts, Mode, Run, run, run_differences


class OutOfTime(BaseException):
    """A run took too long. No ``Exception``, which programs and modes may catch."""


@dataclass
class Verdict:
    """What was found: nothing where a program does as it must."""

    lines: list[str]
    counts: Counts = field(default_factory=Counts)
    error: BaseException | None = None  # the first that only the mode raised
    refused: bool = False  # or different, as the program declares

    @property
    def passed(self) -> bool:
        return not self.lines


def check(program: Program, mode_name: str, limit: float = 60.0, wanted: Run | None = None) -> Verdict:
    """Run a program eagerly (which gave ``wanted``, if it has run) and in a mode, and compare.

    ``limit`` seconds are left to the mode's run.
    """
    wanted = wanted or run(program, Mode("eager"))
    raised = [r.raised for r in wanted.effects if r.raised is not None]
    if {r.kind for r in raised} != program.raises:
        told = "; ".join(map(str, raised)) or "nothing"
        return Verdict([f"eager calls raise {told}; the program declares {sorted(program.raises)}"])
    mode = Mode(mode_name)
    refusal = program.refused.get(mode_name)
    try:
        with _limited(limit):
            found = run(program, mode)
    except (Exception, OutOfTime) as error:  # of capturing, or of the mode itself
        if refusal is not None and re.search(refusal.match, str(error)):
            return Verdict([], refused=True)
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{place.filename.rpartition('/')[2]}:{place.lineno}"
        return Verdict([f"outside of the calls: {type(error).__name__}: {error} ({where})"], error=error)
    if refusal is not None:
        lines = _unlike(refusal.match, found, wanted, program.tolerance)
        return Verdict(lines, found.counts, refused=not lines)
    error = next((a.raised.error for a, b in zip(found.effects, wanted.effects) if a.raised and not b.raised), None)
    allowance = program.allowed.get(mode_name)
    allowed = allowance.differences.split() if allowance else []
    if mode_name == "source":  # a branch is a function of its own there
        allowed.append("frames")
    lines = run_differences(found, wanted, program.tolerance, allowed)
    if mode_name in program.differs:
        return Verdict([] if lines else ["no difference, where one is declared"], found.counts, refused=bool(lines))
    made = found.counts.programs
    if mode_name == "bytecode" and program.most is not None and made is not None and made > program.most:
        lines.append(f"{made} programs were captured; {program.most} serve all calls")
    return Verdict(lines, found.counts, error)


def _unlike(match: str, found: Run, wanted: Run, tolerance: float) -> list[str]:
    """Whether a call is refused in the words that are required, and those before it do what they must."""
    errors = [str(r.raised.error) if r.raised else None for r in found.effects]
    first = next((i for i, e in enumerate(errors) if e is not None and re.search(match, e)), None)
    if first is None:
        return [f"no error that says {match!r}, but {list(filter(None, errors)) or 'results'}"]
    return run_differences(found, wanted, tolerance, first=first)


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(signum: int, frame: object) -> None:
        raise OutOfTime(f"no end after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def timed(program: Program, mode_name: str, limit: float) -> tuple[Verdict, float]:
    """A verdict, and the seconds that it took."""
    start = time.perf_counter()
    verdict = check(program, mode_name, limit)
    return verdict, time.perf_counter() - start
