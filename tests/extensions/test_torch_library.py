"""Operators that TORCH_LIBRARY registers."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import paddle
from tests.support.extensions import SOURCES

CALLS = """
x, y = torch.tensor([[1.0, -2.0, 3.0]]), torch.tensor([[0.5, 4.0, -1.0]])
o = torch.ops.test_library
total = torch.zeros([1, 3])
o.add_out(x, y, total)
low, high = o.halves(torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])[::2])
results = [o.muladd(x, y, 2.0), o.muladd(x, y, c=-1.5), o.twice(x), total, low, high]
print([r.tolist() for r in results])
for wrong in ((x, y[:, :2], 1.0), (x.double(), y.double(), 1.0)):
    try:
        o.muladd(*wrong)
    except RuntimeError as error:
        print(any(part in str(error) for part in ("must have the same shape", "must be float32, got Double")))
"""
SAID = [
    [[2.5, -6.0, -1.0]], [[-1.0, -9.5, -4.5]], [[2.0, -4.0, 6.0]], [[1.5, 2.0, 2.0]], [1.0], [3.0, 5.0],
]  # fmt: skip


def test_calls_through_the_names_of_pytorch(ops, capsys):
    with paddle.use_compat_guard():
        import torch

        torch.ops.load_library(ops.__file__)  # once more: nothing changes
        exec(CALLS, {"torch": torch})
    assert capsys.readouterr().out.splitlines() == [str(SAID), "True", "True"]


def test_memory_of_the_library_itself(ops):
    x = paddle.zeros([3, 2])
    found = [paddle.ops.test_library.lent(x, how).numpy().tolist() for how in range(4)]
    assert found == [[[0, 1, 2], [3, 4, 5]], [[0, 3], [1, 4], [2, 5]], [7, 8], [[7, 8], [7, 8]]]


def test_meta_functions_make_nodes_of_programs(ops, rng):
    operator = paddle.ops.test_library.muladd
    x = paddle.to_tensor(rng.standard_normal([3, 2]).astype("float32"))
    captured = paddle.jit.to_static(lambda x: operator(x * 1.0, x, 2.0), full_graph=True)
    for n in (3, 2):
        np.testing.assert_allclose(captured(x[:n]).numpy(), x.numpy()[:n] ** 2 + 2, rtol=1e-6)


def test_methods_of_tensors(ops):
    array = np.array([[1.0, -4.0, 0.25]], "float32")
    expected = [
        array[0], array, array[0], np.float32(5.0), array**2, 1 / np.sqrt(np.abs(array)), np.sin(array) + np.cos(array),
    ]  # fmt: skip
    for how, wanted in enumerate(expected):
        got = paddle.ops.test_library.reduced(paddle.to_tensor(array), how).numpy()
        np.testing.assert_allclose(got, wanted, rtol=1e-6)
        assert got.shape == wanted.shape


def test_numbers_decide_ranks(ops):
    x = paddle.ones([2, 3])
    for way in (lambda f: f, paddle.jit.to_static, lambda f: paddle.jit.to_static(f, full_graph=True)):
        totals = way(lambda x, keep: paddle.ops.test_library.totals(x, keep))
        assert [totals(x, k).shape for k in (1, 0, 2, 0)] == [[2, 1], [2], [2, 1], [2]]


def test_what_is_written_to_counts_as_written(ops):
    x = paddle.ones([2], "float32")
    x.stop_gradient = False
    total = x * 1.0
    y = (total * total).sum()
    with paddle.no_grad():
        paddle.ops.test_library.add_out(x.detach(), x.detach(), total)
    with pytest.raises(RuntimeError, match=r"modified|in place|in-place"):
        y.backward()


@pytest.mark.slow
def test_pytorch_compiles_and_computes_the_same(tmp_path):
    program = f"""
        import torch
        from torch.utils import cpp_extension

        cpp_extension.load(
            "umiak_test_library", [{str(SOURCES / "library.cc")!r}], extra_cflags=["-O0", "-w"],
            build_directory={str(tmp_path)!r}, is_python_module=False,
        )
    """
    text = textwrap.dedent(program) + CALLS
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout.splitlines() == [str(SAID), "True", "True"], done.stderr
