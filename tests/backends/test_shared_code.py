"""Code of nests: made once for all that differ in sizes and strides alone, and kept while one of them lives."""

import gc
import weakref

import numpy as np
import pytest

from umiak import ops as F
from umiak.backends.cpu import nests
from umiak.core import array, eager
from umiak.util import flags


@pytest.fixture
def rendered(monkeypatch):
    """The names of the kernels that are rendered."""
    found = []
    monkeypatch.setattr(
        nests.llvm,
        "render_module",
        lambda kernels, target, of=nests.llvm.render_module: (
            found.extend(k.name for k in kernels) or of(kernels, target)
        ),
    )
    return found


@pytest.fixture
def built(monkeypatch):
    """(nest, variant) of what is built; ops of these tests have been planned for nothing yet."""
    for name in ("exp", "sum", "cumsum", "expm1", "tanh", "erf"):
        for op in F.REGISTRY[name]._instances.values():
            op.clear()
    found = []
    monkeypatch.setattr(nests, "build", lambda *a, of=nests.build: found.append(a) or of(*a))
    return found


@pytest.mark.parametrize("op", ["exp", "sum", "cumsum"])
def test_classes_of_operands_whose_nests_are_the_same_share_code(op, rendered, built, rng):
    def call(x, axis):
        return F.exp(x) if op == "exp" else F.sum(x, axes=(axis,)) if op == "sum" else F.cumsum(x, axis=axis)

    expected = {"exp": lambda x, _: np.exp(x), "sum": np.sum, "cumsum": np.cumsum}[op]
    counts = []
    for rank in (6, 7, 8, 9):
        x = rng.standard_normal((2,) * (rank - 1) + (40,)).astype(np.float32)
        found = array.to_numpy(call(array.from_numpy(x), rank - 1))
        np.testing.assert_allclose(found, expected(x, rank - 1), rtol=1e-5, atol=1e-5)
        counts.append(len(rendered))
    assert len(built) == 4
    assert counts[0] == counts[-1] <= 1


def test_what_decides_about_code_is_not_shared(built, rng):
    """Another type, another operation, and another level of code generation."""
    x = rng.standard_normal((1, 2, 1, 2, 1, 2, 40))
    F.expm1(array.from_numpy(x.astype(np.float32)))
    F.expm1(array.from_numpy(x))
    F.tanh(array.from_numpy(x))
    nest, variant = built[0]
    level = flags.get_flags("FLAGS_jit_opt")
    kept = [nests.build(*a)[1] for a in built[:3]]
    flags.set_flags({"FLAGS_jit_opt": 1})
    try:
        kept.append(nests.build(nest, variant)[1])
    finally:
        flags.set_flags(level)
    assert len({id(code) for code in kept}) == 4
    assert nests.build(nest, variant)[1] is kept[0]


def test_code_goes_with_the_last_that_uses_it(built, rng):
    x = array.from_numpy(rng.standard_normal((1, 1, 1, 1, 2, 1, 2, 40)).astype(np.float32))
    eager.apply(F.Erf(), (x,), ())
    (nest, variant) = built[0]
    other = nests.Nest("of_this_test", *[getattr(nest, f) for f in ("sizes", "n_parallel", "buffers", "accesses")],
                       nest.stages, nest.extras)  # fmt: skip
    code = weakref.ref(nests.build(other, variant)[1])
    gc.collect()
    assert code() is None
    assert all(key[0] != "of_this_test" for key in nests._codes)
