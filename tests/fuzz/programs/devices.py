"""Programs on two devices whose memory the host cannot read and whose kernels complete later
(``tests/support/fake_device``), with copies between them; run with the fake backend installed."""

from __future__ import annotations

import re
from dataclasses import replace

import fake
import numpy as np

import paddle
from tests.fuzz.programs import run
from tests.fuzz.programs.check import Check, Failure
from tests.fuzz.programs.ops.places import out_of_range
from tests.fuzz.programs.record import Program, Statement
from umiak import backends
from umiak.core import stream

LATE = r"\[\w+\] failed on fake:\d after it was launched: (IndexingError|Upstream: \[take\])"


class DeviceCheck(Check):
    modes = {"late": 0.4, "captured": 0.3, "captured step": 0.2, "twice": 0.1, "recomputed": 0.1, "failing": 0.3}

    def late(self, mode: str = "late") -> None:
        """The devices do nothing until somebody waits for them."""
        with backends.get("fake").lazy():
            found = self.run(mode, self.first, run.function_of(self.program))
        self.compare(mode, self.first, found)

    def failing(self) -> None:
        """Somewhere in the program an index is out of range, which the device finds when the work runs: the call goes
        on, whoever waits is told, and then everything works as before."""
        mode = "failing"
        bad = with_failure(self.program)
        if bad is None:
            return
        program, name = bad
        function = run.function_of(program)
        if self.program.seed % 3 == 0:
            function = paddle.jit.to_static(function)
        given = run.arguments(program, self.first)
        told: list[str] = []
        with backends.get("fake").lazy():
            try:
                function(*given)
            except RuntimeError as error:
                told.append(str(error))
            for place in (fake.FAKE, fake.OTHER):
                try:
                    stream.synchronize(place.index)
                except RuntimeError as error:
                    told.append(str(error))
        if not told or not all(re.search(LATE, text) for text in told):
            raise Failure(mode, f"{name} has an index out of range, and this was told: {told}")
        self.tally["failing: told"] += 1
        self.compare(mode, self.first, self.run(mode, self.first, run.function_of(self.program)))


def with_failure(program: Program) -> tuple[Program, str] | None:
    """The program with a statement that fails on the device, and its name; None where there is no place for one."""
    rng = np.random.default_rng([program.seed, 17])
    known = [x.name for x in program.inputs if x.grad and x.shape and 0 not in x.sizes(program.sizes[0])]
    if not known or program.nest is not None:
        return None
    at = int(rng.integers(len(program.statements) + 1))
    x = known[int(rng.integers(len(known)))]
    wrong = Statement(out_of_range, ("wrong",), (x,))
    statements = (*program.statements[:at], wrong, *program.statements[at:])
    return replace(program, statements=statements, outputs=(*program.outputs, "wrong")), "wrong"
