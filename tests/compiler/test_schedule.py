"""Every schedule of nests written by hand gives NumPy's result in the interpreter, whatever part runs when."""

import nests
import numpy as np
import pytest

from umiak.compiler.loop.interpreter import run
from umiak.compiler.loop.verifier import verify
from umiak.compiler.schedule import kernels

POINTWISE = dict(nests.pointwise_cases())
REDUCED = dict(nests.reduced_cases())


def run_case(case, schedule, tile, block=0):
    """Run it on fresh outputs and compare."""
    variant = nests.variant_of(case.nest, schedule, tile)
    phases = kernels(case.nest, variant)
    for phase in phases:
        verify(phase.kernel)
    pointers, outputs = [], []
    for b, operand in zip(case.nest.buffers, case.operands):
        memory = np.ascontiguousarray(operand).reshape(-1)
        if b.output:
            memory = np.frombuffer(bytearray(b"\x01" * memory.nbytes), memory.dtype)
            outputs.append((memory, operand))
        pointers.append(memory)
    code = nests.launch(case.nest, variant, phases, run, pointers, case.words, block)
    assert code == case.fails
    if not case.fails:
        for memory, expected in outputs:
            if expected.dtype.kind in "biu":
                np.testing.assert_array_equal(memory, expected.reshape(-1))
            else:
                got, expected = memory.astype(np.float64), expected.reshape(-1).astype(np.float64)
                np.testing.assert_allclose(got, expected, rtol=case.rtol, atol=case.rtol / 10)


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise(name):
    case = POINTWISE[name]()
    for schedule, tile in nests.schedules(case):
        run_case(case, schedule, tile)


@pytest.mark.parametrize("name", REDUCED)
def test_reduced(name):
    case = REDUCED[name]()
    for schedule, tile in nests.schedules(case):
        run_case(case, schedule, tile, block=7)
