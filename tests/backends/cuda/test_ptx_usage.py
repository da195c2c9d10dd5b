"""Kernels as NVIDIA's assembler takes them: registers and spills, against a table, in which nothing
spills.

``tests/data/ptx_usage.json`` has the kernels that networks launch most; ``ptx_usage.py`` writes it again, and what
changed is in the commit. ``make test`` assembles some of them, ``make test-all`` all, and every kernel that the samples
of ops launch.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import assembler
import extras
import numpy as np
import ptx_usage
import pytest
import workloads
from emulation import execute
from harness import tensor
from samples import ARRAYS, cases_of, own_ops, usable

from umiak.core.place import Place

QUICK = 5
SLACK = 8  # registers that a kernel may take more than the table says before `make test` notices
STORED = ptx_usage.stored()
NAMES = list(STORED["kernels"])
# Ops with a kernel that spills on some architecture: decompositions keep much in each thread.
SPILLING = {"eig", "eigh", "eigvalsh", "histogram", "lstsq", "roi_align_spread", "scatter_nd", "slogdet", "svd"}
MOST_SPILLED = 128  # bytes, stored and loaded
MOST_SPILLED_WHEN_FUSED = 8  # one number, in a row kernel of float64 with six operands


@pytest.fixture(scope="module", autouse=True)
def there_is_an_assembler():
    if assembler.path() is None:
        assert not extras.belongs(assembler.PACKAGE), f"umiak[test] has {assembler.PACKAGE}, which is not installed"
        pytest.skip(f"requires ptxas, which {assembler.PACKAGE} has")


@pytest.fixture(scope="module")
def kernels():
    return ptx_usage.kernels()


def test_nothing_in_the_table_spills():
    assert {arch for row in STORED["kernels"].values() for arch in row} == set(assembler.ARCHITECTURES)
    assert [(n, a) for n, row in STORED["kernels"].items() for a, (_, spilled, _) in row.items() if spilled] == []


def test_kernels_of_networks_do_not_spill_or_grow(kernels):
    """Some of the table."""
    there = [name for name in NAMES if name in kernels]
    for name in np.random.default_rng(0).choice(there, QUICK, replace=False).tolist():
        for arch in assembler.ARCHITECTURES:
            used, stored = ptx_usage.assembled(kernels[name], arch), STORED["kernels"][name][arch]
            assert not used.spills and used.registers <= stored[0] + SLACK, (name, arch)


@pytest.mark.slow
def test_the_table_is_what_the_assembler_says(kernels):
    if assembler.version() != STORED["ptxas"]:
        pytest.skip(f"requires ptxas {STORED['ptxas']}, whose registers the table has")
    assert ptx_usage.table(kernels) == STORED["kernels"], "python tests/backends/cuda/ptx_usage.py writes it again"


def test_text_that_is_no_ptx_is_refused():
    with pytest.raises(RuntimeError, match="ptxas"):
        assembler.usage(".version 8.0\n.target sm_90\nnonsense", "sm_90")


@pytest.fixture(scope="module")
def of_ops():
    """Every kernel that the samples of ops launch."""
    place = Place("gpu", 0)
    cases = [case for name in own_ops() for case in [c for c in cases_of(name) if usable(c) and c.arrays][:2]]
    with workloads.counted(execute) as launches:
        for case in cases:
            operands = [tensor(x, place=place) if isinstance(x, ARRAYS) else x for x in case.sample.inputs]
            case.on(place).call(*operands)
    # Those of attention keep tiles in registers: test_attention.py has a table of theirs.
    return [kernel for kernel in launches if not kernel[0].startswith("attention_")]


@pytest.mark.slow
@pytest.mark.parametrize("arch", assembler.ARCHITECTURES)
def test_kernels_of_all_ops_are_assembled(of_ops, arch):
    assert len(of_ops) > 400
    with ThreadPoolExecutor(2) as pool:
        used = list(pool.map(lambda kernel: ptx_usage.assembled(kernel[1], arch), of_ops))
    assert max(u.registers for u in used) <= 128
    names = [re.split("_(?:map|row)_", name)[0] for name, _ in of_ops]
    assert {n for n, u in zip(names, used) if u.spills and n != "fused"} <= SPILLING
    assert max(u.spills for n, u in zip(names, used) if n == "fused") <= MOST_SPILLED_WHEN_FUSED
    assert max(u.spills for u in used) <= MOST_SPILLED
