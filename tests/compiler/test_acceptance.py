"""One text for all targets: nests run on every machine that is there and are assembled for the others."""

from __future__ import annotations

import numpy as np
import pytest
from cases import CASES
from devices import DEVICES

from umiak.compiler.loop.verifier import verify
from umiak.compiler.schedule import gpu, kernels

MAKERS = {"cpu": kernels, "gpu": gpu.kernels, "short": lambda *a: gpu.kernels(*a, short=True)}
# Kernels for processors are right for devices too, and the other way around.
SLOW = {"cpu": ("ptx", "opencl", "pocl"), "gpu": ("pocl",), "short": ("interpreter", "pocl")}
RUNS = [
    pytest.param(device, name, maker, schedule, marks=[pytest.mark.slow] if device in SLOW[maker] else [])
    for device in DEVICES
    for name, make in CASES.items()
    for schedule in make(np.random.default_rng(0)).schedules
    for maker in (MAKERS if schedule[0] == "row" else ("cpu", "gpu"))
]


def phases_of(case, maker, schedule):
    phases = MAKERS[maker](case.nest, case.variant(*schedule))
    for p in phases:
        verify(p.kernel)
    return phases


def run(device, case, maker, schedule, blocks):
    buffers, scratch, dims = case.buffers(), {}, case.dims(schedule[0])
    for phase in phases_of(case, maker, schedule):
        code = device.run(phase.kernel, buffers, dims, case.words, blocks, scratch)
        if code:
            break
    assert code == case.fails
    if not code:
        case.check(buffers)


@pytest.mark.parametrize(("device", "name", "maker", "schedule"), RUNS, ids=lambda x: x if isinstance(x, str) else x[0])
def test_kernels_give_what_numpy_gives(device, name, maker, schedule, rng):
    run(DEVICES[device](), CASES[name](rng), maker, schedule, 2)
