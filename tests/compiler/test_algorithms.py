"""Bodies of statements (``compiler/algorithms``), interpreted, against the kernels of the CPU."""

from __future__ import annotations

import struct

import numpy as np
from samples import Case, assert_close, over_samples

from tests.ops.references import CHECKS
from umiak.backends.nest_launches import NestLaunches
from umiak.compiler import plan
from umiak.compiler.algorithms.launch import has_algorithm
from umiak.compiler.loop import interpreter
from umiak.compiler.loop.evaluate import DTYPES
from umiak.compiler.loop.node import walk
from umiak.compiler.loop.tree import IN, OUT, expressions, walk_statements
from umiak.compiler.loop.types import F64
from umiak.compiler.loop.verifier import verify
from umiak.compiler.render import ptx
from umiak.core.buffer import Buffer
from umiak.core.place import Place


def call_of(case: Case, operands: tuple) -> tuple[plan.Call, tuple]:
    """The class of a call as a backend is asked for it, and what the call's results are."""
    visible = plan.infer(case.op, operands, case.params)
    classes = plan.symbols_for(case.op, operands, case.params)
    outs, *_, fallback = plan.shape_program(case.op, classes, visible)
    assert fallback is None
    metas = plan.concrete_metas(operands)
    return plan.Call(case.op, operands, metas, 0, Place("cpu", 0), classes, outs, True), visible


def interpreted(case: Case) -> list[np.ndarray]:
    """The results of a case, whose kernels are verified, assembled for NVIDIA's devices and interpreted."""
    operands = case.operands()
    call, visible = call_of(case, operands)
    launches = NestLaunches(call, prepare=lambda work: work)
    ins = [Buffer(x) if hasattr(x, "dtype") else x for x in operands]
    work = launches.prepared(ins, launches.words(ins, case.params))
    given = [np.ascontiguousarray(x) if isinstance(x, np.ndarray) else None for x in map(array_of, case.sample.inputs)]
    results = [np.zeros(m.shape, m.dtype.numpy) for m in visible]
    scratch = [np.zeros(-(-size // 8), np.int64) for size in work.temporaries]
    for steps in work.steps:
        for kernel, dims, *_ in steps:
            verify(kernel)
            assert f".entry {kernel.name}" in ptx.assemble(ptx.render(kernel))
            memory = [b for b in kernel.buffers if b.space in (IN, OUT)]
            pointers = [cells(x, b) for b, x in zip(memory, [*given, *results, *scratch], strict=True)]
            assert interpreter.run(kernel, pointers, dims, words_of(kernel, launches.words(ins, case.params))) == 0
    return results


def words_of(kernel, bits):
    """The scalar pack as numbers of the types that the kernel reads."""
    types = {x.attr: x.type for s in walk_statements(kernel.body) for x in walk(expressions(s)) if x.op == "word"}
    return [struct.unpack("d" if types.get(k) is F64 else "q", struct.pack("Q", w))[0] for k, w in enumerate(bits)]


def array_of(x):
    return np.asarray(x) if isinstance(x, (np.ndarray, np.generic)) else x


def cells(x, b):
    """The memory of an array as a buffer's elements."""
    dtype = DTYPES[b.type.name]
    return np.zeros(1, dtype) if x is None else x.reshape(-1).view(dtype)


# Factors that are known only up to signs, phases or order are checked by what is known of them.
PROPERTIES = {name: CHECKS[name] for name in ("eig", "eigh", "eigvals", "svd")}


# What takes the interpreter seconds.
LONG = ("conv", "conv_input_grad", "conv_weight_grad", "psroi_pool", "psroi_pool_spread", "roi_align_spread")


def compare(case):
    check = PROPERTIES.get(case.name)
    if check is not None:
        check(case, tuple(interpreted(case)))
        return
    for k, (found, expected) in enumerate(zip(interpreted(case), case.run(), strict=True)):
        assert_close(found, expected, f"result {k}", factor=8)


@over_samples(quick=1, where=lambda case: has_algorithm(case.op) and case.name not in LONG)
def test_results(case):
    compare(case)


@over_samples(quick=0, where=lambda case: case.name in LONG)
def test_long_results(case):
    compare(case)
