"""What the reference has no operator for, or one of other sizes, is written in several of its operators."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.static import InputSpec
from umiak import ops

RNG = np.random.default_rng(5)


def of(*shape, dtype="float32"):
    return RNG.standard_normal(shape).astype(dtype)


def ints(*xs, dtype="int32"):
    return np.array(xs, dtype)


CASES = {
    "gcd": (paddle.gcd, ("int64", "int64"), [
        (ints(12, -4, 0, 7, 0, 1 << 40, dtype="int64"), ints(18, 6, 5, 0, 0, 1 << 35, dtype="int64")),
        (ints(9, dtype="int64"), ints(6, dtype="int64")),
    ]),
    "gcd of bytes": (lambda x: paddle.gcd(x, 12), ("int8",), [(ints(8, -9, 0, 127, dtype="int8"),)]),
    "lcm": (paddle.lcm, ("int32", "int32"), [(RNG.integers(-30, 30, (4, 3), "int32"), ints(4, 6, 0))]),
    "fmod": (ops.fmod, ("int64", "int64"), [
        (ints(7, -7, 7, -7, 6, -6, 0, -(1 << 63), dtype="int64"), ints(3, 3, -3, -3, 3, 3, 5, 7, dtype="int64")),
        (ints(-9, dtype="int64"), ints(4, dtype="int64")),
    ]),
    "fmod of floats": (ops.fmod, ("float32", "float32"), [
        (np.float32([1e10, -1e10, 5.5, -5.5, 0.3]), np.float32([3.0, 0.7, -2.0, 2.0, 0.1])),
        (np.float32([-1e8]), np.float32([0.3])),
    ]),
    "matrix_exp": (paddle.linalg.matrix_exp, ("float64",), [
        (of(4, 3, 3, dtype="float64"),), (of(2, 5, 5, dtype="float64") * np.array([0.01, 8.0])[:, None, None],),
    ]),
    "matrix_exp of one": (paddle.linalg.matrix_exp, ("float32",), [(of(3, 3),), (np.zeros((2, 2), "float32"),)]),
    "matrix_exp, complex": (paddle.linalg.matrix_exp, ("complex64",), [((of(3, 2, 2) + 1j * of(3, 2, 2)),)]),
    "rnnt_loss": (
        lambda x, labels, times, lengths: F.rnnt_loss(F.log_softmax(x), labels, times, lengths, reduction="none"),
        ("float32", "int32", "int32", "int32"),
        [(of(2, 4, 3, 5), ints([1, 2], [3, 4]), ints(4, 3), ints(2, 1)),
         (of(1, 3, 2, 5), ints([4]), ints(3), ints(1))],
    ),
    "binomial": (
        lambda n, p: (paddle.binomial(n, p) * 0, (paddle.binomial(n, p) <= n).all()), ("int64", "float32"),
        [(np.full(9, 10), np.full(9, 0.5, "float32"))],
    ),
    "lstsq": (lambda x, y: paddle.linalg.lstsq(x, y)[0], ("float32", "float32"), [
        (of(5, 3), of(5, 2)), (of(3, 3), of(3, 2)), (of(2, 3), of(2, 1)),
    ]),
    "lstsq with residuals": (
        lambda x, y: paddle.linalg.lstsq(x, y, driver="gelsd")[:2], ("float32", "float32"),
        [(of(5, 3), of(5, 2)), (of(7, 2), of(7, 1)), (of(2, 3), of(2, 1))],
    ),
    "reduce_as": (paddle.reduce_as, ("float32", "float32"), [
        (of(2, 5, 3), of(5, 3)), (of(2, 5, 3), of(1, 3)), (of(2, 5, 3), of(5, 1)),
    ]),
    "steps that data decide": (
        lambda x, a, b, by: paddle.strided_slice(x, [0], a, b, by), ("float32", "int32", "int32", "int32"),
        [(of(7, 3), ints(1), ints(6), ints(2)), (of(7, 3), ints(5), ints(1), ints(-2))],
    ),
    "steps that sizes decide": (lambda x: x[1 :: x.shape[0] // 4 + 1] * 2, ("float32",), [(of(7, 3),), (of(9, 3),)]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_programs_are_in_operators_of_the_reference(name, tmp_path):
    f, dtypes, inputs = CASES[name]
    spec = [InputSpec([None] * x.ndim, d, f"x{i}") for i, (x, d) in enumerate(zip(inputs[0], dtypes, strict=True))]
    for i, x in enumerate(inputs[0]):
        if name.startswith("steps that data") and i:
            spec[i] = InputSpec([1], dtypes[i], f"x{i}")
        elif name == "rnnt_loss" and i == 0:
            spec[i] = InputSpec([None, None, None, x.shape[-1]], dtypes[i], "x0")
    path = str(tmp_path / "m")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paddle.jit.save(paddle.jit.to_static(f, input_spec=spec, full_graph=True), path)
    assert "base_code" in json.loads((tmp_path / "m.json").read_text())
    predictor = paddle.inference.create_predictor(paddle.inference.Config(path + ".json", path + ".pdiparams"))
    loaded = paddle.jit.load(path)
    for given in inputs:
        tensors = [paddle.to_tensor(x) for x in given]
        want = f(*tensors)
        want = want if isinstance(want, (list, tuple)) else [want]
        got = loaded(*tensors)
        for results in (got if isinstance(got, (list, tuple)) else [got], predictor.run(tensors)):
            for a, b in zip(results, want, strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-4, atol=2e-5)
