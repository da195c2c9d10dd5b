import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from umiak import ops as F
from umiak.backends import get
from umiak.backends.ref import Runner, load
from umiak.backends.ref.registry import KERNELS, RefKernel, kernel
from umiak.core import array, dtype
from umiak.core.place import Place
from umiak.ir.meta import Meta

CPU = Place("cpu")


class Op:
    """What a kernel sees of an op."""

    name = "toy"

    def __init__(self, many=False):
        self.many = many

    def multiple(self, n):
        return n != 1 or self.many


def run(record, outs, ins, params=(), many=False):
    metas = [Meta(x.shape, dtype.convert(x.dtype)) if isinstance(x, np.ndarray) else None for x in ins]
    Runner(record, metas).run(Op(many), outs, ins, params)


@pytest.mark.parametrize("d", ["float16", "bfloat16", "float8_e5m2"])
def test_low_precision_is_computed_in_float32(d):
    seen = []

    def fn(op, out, x, y):
        seen.extend([x.dtype, y.dtype, out.dtype])
        out[...] = x + y

    low = dtype.convert(d).numpy
    x, out = np.array([1, 2], low), np.zeros(2, low)
    ins = [x, np.array([1, 0], np.int32)]
    run(RefKernel(fn, False, False), [out], ins)
    assert seen == [np.float32, np.int32, np.float32]
    assert out.astype(float).tolist() == [2, 2] and ins[0] is x
    run(RefKernel(fn, False, True), [out], [x, x])
    assert seen[3:] == [low, low, low]


def test_a_low_precision_result_of_other_inputs():
    def fn(op, out, k):
        assert out.dtype == np.float32
        out[...] = 1e-6 * k  # too small for a float16 until it is added up
        out[...] = out.sum()

    out = np.zeros(1000, np.float16)
    runner = Runner(RefKernel(fn, False, False), [None])
    for k in (1.0, 2.0):
        runner.run(Op(), [out], [k], ())
        assert abs(float(out[0]) - 1e-3 * k) < 1e-5


def test_results_that_are_returned():
    a, b = np.zeros(2, np.float16), np.zeros(2, np.int64)
    run(RefKernel(lambda op, x, k: (x + k, np.argsort(x)), True, False), [a, b], [np.array([2, 1], np.float16)], (0.5,))
    assert a.tolist() == [2.5, 1.5] and b.tolist() == [1, 0]
    run(RefKernel(lambda op, x: (x * 2,), True, False), [a], [a], many=True)
    assert a.tolist() == [5, 3]
    run(RefKernel(lambda op, x: x.sum(), True, False), [np.zeros(())], [a])
    with pytest.raises(RuntimeError, match=r"\[toy\] the NumPy kernel must return shape \(2,\), got \(1,\)"):
        run(RefKernel(lambda op, x: x[:1], True, False), [a], [a])


def test_an_op_with_a_list_of_one_output():
    def fn(op, out, x):
        assert isinstance(out, tuple)
        out[0][...] = x

    out = np.zeros(2, np.float16)
    run(RefKernel(fn, False, False), [out], [np.array([1, 2], np.float16)], many=True)
    assert out.tolist() == [1, 2]


def test_special_values_are_no_warnings():
    state = np.geterr()
    x = array.from_numpy(np.array([0.0, -1.0, 1e30], np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(array.to_numpy(F.log(x))[1])
        assert array.to_numpy(F.mul(x, x))[2] == np.inf
        half = F.cast(x, dtype=dtype.float16)
    assert array.to_numpy(half)[2] == np.inf
    assert np.geterr() == state


def test_kernels_belong_to_ops():
    load()
    assert set(KERNELS) <= set(F.REGISTRY.values())
    ref = get("ref")
    made = F.REGISTRY["softmax"](1)
    assert ref.supports(F.REGISTRY["add"]()) and ref.supports(made) == (type(made) in KERNELS)
    call = SimpleNamespace(op=F.REGISTRY["add"](), metas=[Meta((), dtype.float32)] * 2, modes=0, place=CPU)
    assert ref.kernel(call).run is not None


def test_a_kernel_is_registered_once():
    load()
    with pytest.raises(ValueError, match="two NumPy kernels"):
        kernel(F.REGISTRY["add"])(print)
