"""The nests of test_schedule.py through LLVM: what the machine computes is what the interpreter is tested against."""

import ctypes
import itertools

import nests
import numpy as np
import pytest
from llvm_host import Program

from umiak.compiler.loop.tree import IN, OUT
from umiak.compiler.schedule import kernels

CASES = {**dict(nests.pointwise_cases()), **dict(nests.reduced_cases())}


class Runner:
    """Compiles each kernel of a launch once."""

    def __init__(self):
        self.programs = {}

    def __call__(self, kernel, pointers, dims, words, lo, hi, scratch):
        if kernel.name not in self.programs:
            self.programs[kernel.name] = Program(kernel)
        program = self.programs[kernel.name]
        names = [b.name for b in kernel.buffers if b.space in (IN, OUT)]
        *arguments, context = program.prepare(dict(zip(names, pointers)), dims, words)
        if "memory" not in scratch:
            scratch["memory"] = np.full(program.sizes[1](arguments[1]) + 64, 0x5B, np.uint8)
        start = -(-scratch["memory"].ctypes.data // 64) * 64
        return program.function(*arguments, (ctypes.c_void_p * 2)(context[0], start), lo, hi)


@pytest.fixture(autouse=True)
def short_runs(monkeypatch):
    nests.short_runs(monkeypatch)


def check(case, block, in_place=()):
    for (schedule, tile), long in itertools.product(nests.schedules(case), nests.lengths(case.nest)):
        variant = nests.variant_of(case.nest, schedule, tile, long)
        pointers = {}
        for b, operand in zip(case.nest.buffers, case.operands):
            pointers[b.name] = np.array(operand).reshape(-1)
            if b.output:
                pointers[b.name] = np.frombuffer(bytearray(b"\x01" * operand.nbytes), operand.dtype)
        for source, target in in_place:
            pointers[target] = pointers[source]
        phases = kernels(case.nest, variant)
        code = nests.launch(case.nest, variant, phases, Runner(), list(pointers.values()), case.words, block)
        assert code == case.fails
        for b, operand in zip(case.nest.buffers, case.operands):
            if b.output and not case.fails:
                nests.compare(pointers[b.name], operand.reshape(-1), case.rtol)


# One shape of each nest here, the others when there is time.
QUICK = [n for n in CASES if not any(s in n for s in ("(0", "(1,", ", 0", "(5, 37)", "(37, 5)", "(9, 1)", "19, 5)"))]
SLOW = [n for n in CASES if n not in QUICK]


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(n, marks=pytest.mark.slow) for n in SLOW)])
def test_compiled(name):
    check(CASES[name](), block=7)


@pytest.mark.parametrize(
    "case",
    [nests.softmax((3, 40, 33), (0, 2), (1,)), nests.weighted_softmax(3, 70), nests.cumulative((40, 20), (1,), (0,))],
    ids=["softmax", "weighted", "cumulative"],
)
def test_compiled_in_place(case):
    check(case, block=16, in_place=[("x", "out")])
