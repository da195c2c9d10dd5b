"""Whether a captured function does what it does eagerly."""

from __future__ import annotations

import re
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.fuzz.functions.generate import Program
from tests.fuzz.functions.run import MODES, Call, Run, run
from tests.jit.corpus import reasons
from tests.jit.corpus.registry import Refusal
from tests.jit.corpus.snapshot import differences
from umiak.ir.tracer import DataUnknown
from umiak.runtime.capture import CaptureError

TOLERANCE = defaultdict(lambda: 5.0, amp=2000.0)  # by what is around a call
# What ``source`` refuses: parts of messages, and why.
REFUSED = {
    r.match: r.reason
    for declared in vars(reasons).values()
    if isinstance(declared, dict) and isinstance(r := declared.get("source"), Refusal)
}
# Of one graph: a result that is an argument comes as a tensor of its own, and whether gradients flow through a loop
# does not depend on how many iterations it has. Numbers made of tensors are tensors: printed so, and divided so.
EXPECTED = re.compile(
    r"\.(is_leaf|stop_gradient): False in place of True$|: Reference\(.*\) in place of Reference\(.*\)$"
    r"|^a result in place of ZeroDivisionError "
)
NUMBER = re.compile(r"Tensor\(shape=\[\], dtype=\w+, place=Place\(cpu\), stop_gradient=\w+,\n\s+(\S+)\)")
EAGER_LIMIT = 10.0


class Failure(AssertionError):
    """A difference: the mode, the number of the call, and what is other than it is eagerly."""

    def __init__(self, mode: str, number: int, what: str) -> None:
        super().__init__(f"{mode}, call {number}: {what}")
        self.mode = mode
        self.number = number
        self.what = what

    def kind(self) -> str:
        """What failures of one cause have in common."""
        words = re.sub(r"[0-9]+(\.[0-9e+-]+)?", "#", self.what)
        return f"{self.mode}: {words.split(': ')[0] if 'Error' not in words else words[:60]}"


def check(program: Program, modes: tuple[str, ...] = MODES[1:], tally: Counter[str] | None = None) -> None:
    """Compare the modes with eager calls."""
    tally = Counter() if tally is None else tally
    tally["programs"] += 1
    written = any("written" in words for words in program.between)
    wanted: dict[bool, Run] = {}
    for mode in modes:
        # By source a result is another tensor than the argument that it is, and so is what is written to it.
        writes = written and mode != "source"
        try:
            if writes not in wanted:
                wanted[writes] = run(program, "eager", EAGER_LIMIT, writes)
        except TimeoutError:
            tally["programs that take too long"] += 1
            return
        try:
            found = run(program, mode, writes=writes)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{place.filename.rpartition('/')[2]}:{place.lineno}"
            raise Failure(mode, 0, f"outside of calls: {type(error).__name__}: {error} ({where})") from error
        tally[f"{mode}: " + _compare(program, mode, found, wanted[writes])] += 1
        tally["bytecode: programs captured"] += found.programs
        for reason in found.breaks:
            tally[f"break: {_general(reason)}"] += 1
        for reason in found.fallbacks:
            tally[f"fallback: {_general(reason)}"] += 1


def _general(reason: str) -> str:
    """A reason without places and numbers."""
    return re.sub(r"\d+", "#", re.sub(r" \((?:<|/|File ).*\)$", "", reason))[:110]


def _compare(program: Program, mode: str, found: Run, wanted: Run) -> str:
    """Compare run with run; return what a mode has come to."""
    for number, (a, b) in enumerate(zip(found.calls, wanted.calls, strict=True)):
        freed = "graph that is still there" in str(b.raised)
        if b.raised is not None and b.where == "backward" and not (freed and a.raised is None):
            return f"to a gradient that eager calls refuse: {type(b.raised).__name__}"
        if a.where == "between" and isinstance(a.raised, RuntimeError) and "inside" in str(a.raised):
            return "refused: gradients between results that can be asked for inside alone"
        if mode == "source" and a.where == "call" and isinstance(a.raised, (CaptureError, DataUnknown)):
            found_reasons = (reason for match, reason in REFUSED.items() if re.search(match, str(a.raised)))
            return f"refused: {next(found_reasons, None) or _general(str(a.raised))}"
        lines = list(_differences(program, mode, a, b))
        if mode == "source":
            # Results that are two objects in place of one are weighted twice; one in the place of a leaf is hooked.
            copied = any(": Reference(" in line or ".is_leaf: False" in line for line in lines)
            lines = [x for x in lines if not (EXPECTED.search(x) or (copied and ".grad" in x))]
        if lines:
            raise Failure(mode, number, lines[0])
        if b.raised is not None and mode == "source":
            return "to an error"
    return "as eager calls"


def _differences(program: Program, mode: str, a: Call, b: Call) -> Iterator[str]:
    kinds = [None if x.raised is None else type(x.raised).__name__ for x in (a, b)]
    if kinds[0] != kinds[1]:
        told = [f"{k} ({x.where}): {x.raised}" if k else "a result" for k, x in zip(kinds, (a, b))]
        yield f"{told[0]} in place of {told[1]}"
        return
    allowed = ("numbers", "copies", "zeros") if mode == "source" else ()
    if b.raised is not None:
        if a.line != b.line:
            yield f"{kinds[0]} at line {a.line} in place of {b.line}"
        if b.users and "Tensor" not in str(b.raised) and str(a.raised) != str(b.raised):
            yield f"message {str(a.raised)!r} in place of {str(b.raised)!r}"
    tolerance = max(TOLERANCE[name] for name in (program.setting, *(n for words in program.between for n in words)))
    for name, structure in b.objects.items():
        yield from differences(a.objects[name], structure, name, tolerance, allowed)
    output = NUMBER.sub(r"\1", a.output) if mode == "source" else a.output
    if output != b.output and a.output != b.output:
        yield f"printed {a.output!r} in place of {b.output!r}"
    if a.drawn != b.drawn:
        yield f"random numbers go on with {a.drawn} in place of {b.drawn}"
    if mode == "bytecode" and a.memory != b.memory:
        missing = [p for p in b.memory if p not in a.memory]
        more = [p for p in a.memory if p not in b.memory]
        yield f"memory: shared by {more[:3]} in place of {missing[:3]}"
