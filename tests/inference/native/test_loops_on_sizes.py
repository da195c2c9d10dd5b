"""Models whose loops sizes end are compiled ahead of time for sizes that are declared."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.inference.compile import compile_model
from paddle.static import InputSpec
from tests.support.native_libraries import Native


def running(x):
    state, rows = x[0] * 0, []
    for i in range(x.shape[0]):
        state = state * 0.5 + x[i] * i
        rows.append(state)
    return paddle.stack(rows), state


def branches_inside(x):
    total = x.sum() * 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if i >= j:
                total = total + x[i, j] * (i - j + 1)
    return total


def lists(x):
    even, odd = [], [x.sum()]
    for i in range(x.shape[0]):
        if i % 2 == 0:
            even.append(x[i])
        else:
            odd.append(x[i].sum())
    return paddle.stack(even), paddle.stack(odd)


def until_enough(x):
    rows = [x[0]]
    while len(rows) < x.shape[0]:
        rows.append(rows[-1] * 0.5 + len(rows))
    return paddle.stack(rows)


@pytest.mark.parametrize("f", [running, branches_inside, lists, until_enough], ids=lambda f: f.__name__)
def test_loops_on_sizes_are_compiled(f, tmp_path):
    path = str(tmp_path / "m")
    spec = [InputSpec([None, None], "float32", "x")]
    paddle.jit.save(paddle.jit.to_static(f, input_spec=spec, full_graph=True), path)
    model = Native(compile_model(path + ".json", str(tmp_path / "libmodel.so"), sizes=["x=2x3", "x=5x4"])).create()
    for shape in ((2, 3), (5, 4)):
        x = np.arange(np.prod(shape), dtype="float32").reshape(shape) / 7 - 1
        want = f(paddle.to_tensor(x))
        want = want if isinstance(want, tuple) else (want,)
        for a, b in zip(model.run(x), want, strict=True):
            np.testing.assert_allclose(a, b.numpy(), rtol=1e-5, atol=1e-5)
    model.close()


def test_loops_that_are_too_long_are_refused(tmp_path):
    path = str(tmp_path / "m")
    paddle.jit.save(paddle.jit.to_static(running, input_spec=[InputSpec([None, 2], "float32", "x")]), path)
    with pytest.raises(ValueError, match=r"loops of at most 20000 operations .* got more in while"):
        compile_model(path + ".json", str(tmp_path / "libmodel.so"), sizes=["x=30000x2"])
