"""One text for all targets: nests run on every machine that is there and are assembled for the others."""

from __future__ import annotations

import nests
import numpy as np
import pytest
from cases import CASES
from devices import DEVICES
from llvm_host import assemble

from umiak.compiler.loop.verifier import verify
from umiak.compiler.nest import ReduceStage, ScanStage
from umiak.compiler.render import llvm, opencl, ptx
from umiak.compiler.render.target import AVX2, AVX512, NEON
from umiak.compiler.schedule import gpu, kernels
from umiak.compiler.schedule.chunks import sums_floats

MAKERS = {"cpu": kernels, "gpu": gpu.kernels, "short": lambda *a: gpu.kernels(*a, short=True)}
# Kernels for processors are right for devices too, and the other way around; `make test` takes each case once per
# machine, and all schedules for devices as PTX.
QUICK = {"interpreter": "gpu", "cpu": "cpu", "avx2": "cpu", "opencl": "gpu"}


def runs():
    for name, make in CASES.items():
        schedules = make(np.random.default_rng(0)).schedules
        for device in DEVICES:
            for schedule in schedules:
                for maker in MAKERS if schedule[0] == "row" else ("cpu", "gpu"):
                    quick = schedule is schedules[0] and QUICK.get(device) == maker
                    quick |= device == "ptx" and maker != "cpu"
                    yield pytest.param(device, name, maker, schedule, marks=[] if quick else [pytest.mark.slow])


def has_sums(case):
    return any(isinstance(s, (ReduceStage, ScanStage)) and sums_floats(s.monoid, s.results) for s in case.nest.stages)


def name_of(x):
    return x if isinstance(x, str) else x[0]


def phases_of(case, maker, schedule, long=False):
    phases = MAKERS[maker](case.nest, case.variant(*schedule, long=long))
    for p in phases:
        verify(p.kernel)
    return phases


def run(device, case, maker, schedule, blocks, long=False):
    buffers, scratch, dims = case.buffers(), {}, case.dims(schedule[0])
    for phase in phases_of(case, maker, schedule, long):
        code = device.run(phase.kernel, buffers, dims, case.words, blocks, scratch)
        if code:
            break
    assert code == case.fails
    if not code:
        case.check(buffers)


@pytest.mark.parametrize(("device", "name", "maker", "schedule"), list(runs()), ids=name_of)
def test_kernels_give_what_numpy_gives(device, name, maker, schedule, rng):
    run(DEVICES[device](), CASES[name](rng), maker, schedule, 2)


@pytest.mark.parametrize(
    ("device", "maker"),
    [
        pytest.param(d, maker, marks=[] if {**QUICK, "ptx": "gpu"}.get(d) == maker else pytest.mark.slow)
        for d in DEVICES
        for maker in ("cpu", "gpu")
    ],
)
@pytest.mark.parametrize("name", [name for name, make in CASES.items() if has_sums(make(np.random.default_rng(0)))])
def test_long_sums(device, maker, name, rng, monkeypatch):
    nests.short_runs(monkeypatch)
    case = CASES[name](rng)
    for schedule in case.schedules:
        run(DEVICES[device](), case, maker, schedule, 2, long=True)


@pytest.mark.parametrize("name", CASES)
def test_one_tree_is_text_for_all_targets(name):
    case = CASES[name](np.random.default_rng(0))
    for phase in phases_of(case, "gpu", case.schedules[0]):
        for target in (AVX512, AVX2, NEON):
            assert phase.kernel.name in assemble(llvm.render(phase.kernel, target), target)
        for arch in ptx.ARCHITECTURES[::3]:
            assert phase.kernel.name in ptx.assemble(ptx.render(phase.kernel, arch), arch)
        assert phase.kernel.name in opencl.render(phase.kernel)
