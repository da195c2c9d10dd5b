"""Tensors of more than 2**31 elements, of one byte each: whatever counts elements counts them with 64 bits."""

from __future__ import annotations

import os

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F

pytestmark = pytest.mark.slow

WRAP = 2**31
N = WRAP + 10
# The last elements, from the one before the first place that 32 bits do not count.
TAIL = [2, 7, 0, 0, 0, 0, 0, 0, 0, 3, 5]
PLACES = [N - 1, WRAP, 0, N - 2]
FOUND = [0, WRAP - 1, WRAP, N - 2, N - 1]  # where an element is not 0
FREE = 12 << 30
TOTAL = paddle.jit.to_static(lambda x: paddle.sum(x, dtype="int64"))  # which needs no copy in int64


@pytest.fixture(scope="module")
def x():
    """Zeros but for five elements. Nothing here writes to it."""
    if os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < FREE:
        pytest.skip("requires 12 GiB of free memory")
    x = paddle.zeros([N], dtype="int8")
    x[0] = 1
    x[WRAP - 1 :] = paddle.to_tensor(TAIL, dtype="int8")
    return x


def int8(values):
    return paddle.to_tensor(values, dtype="int8")


def tail(x):
    return x[-11:].tolist()


ELEMENTWISE = {
    "add": (lambda x: x + x, lambda t: 2 * t),
    "scalar": (lambda x: x * 3 - 1, lambda t: 3 * t - 1),
    "compare": (lambda x: x > 2, lambda t: t > 2),
    "logical": (lambda x: paddle.logical_not(x), lambda t: t == 0),
    "bitwise": (lambda x: x & 1, lambda t: t & 1),
    "cast": (lambda x: x.astype("uint8"), lambda t: t),
    "clone": (lambda x: x.clone(), lambda t: t),
    "where": (lambda x: paddle.where(x > 2, x, int8([0])), lambda t: t * (t > 2)),
    "masked_fill": (lambda x: paddle.masked_fill(x, x == 7, 9), lambda t: np.where(t == 7, 9, t)),
    "in place": (lambda x: x.clone().add_(int8([1])), lambda t: t + 1),
    "captured": (paddle.jit.to_static(lambda x: x * 2 + 1), lambda t: 2 * t + 1),
    "numpy": (lambda x: paddle.to_tensor(x.numpy()), lambda t: t),
    "cumsum of columns": (lambda x: paddle.cumsum(x.reshape([1, N]), 0, dtype="int8")[0], lambda t: t),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(x, name):
    function, expected = ELEMENTWISE[name]
    y = function(x)
    assert y.shape == [N]
    assert tail(y) == expected(np.array(TAIL)).tolist()
    assert y[0].item() == expected(np.array(1))
    assert y[1].item() == expected(np.array(0))


def test_reductions(x):
    assert (x.max().item(), x.min().item()) == (7, 0)
    assert (x.argmax().item(), x.argmin().item()) == (WRAP, 1)
    assert paddle.count_nonzero(x).item() == 5
    assert TOTAL(x).item() == 18
    assert TOTAL(x + 1).item() == N + 18
    assert (x == 0).sum().item() == N - 5
    assert paddle.equal_all(x, x)
    assert not paddle.equal_all(x, x.flip([0]))
    assert paddle.bincount(x).tolist() == [N - 5, 1, 1, 1, 0, 1, 0, 1]
    assert paddle.histogram(x, 8, 0, 8).tolist() == [N - 5, 1, 1, 1, 0, 1, 0, 1]
    assert tail(paddle.cumsum(x, dtype="int8")) == (np.cumsum(TAIL) + 1).tolist()


def test_rows_and_columns(x):
    pairs = x.reshape([-1, 2])
    assert pairs.max(1)[-2:].tolist() == [0, 5]
    assert pairs.sum(0).tolist() == [11, 7]
    assert (pairs > 0).any(1).sum().item() == 4
    halves = x.reshape([2, -1])
    assert halves.t().contiguous()[-11:, 1].tolist() == TAIL
    assert (halves.t() + 1)[-11:, 1].tolist() == [t + 1 for t in TAIL]
    wide = int8([[1], [2]]).expand([2, 2**30 + 5]) + int8([1])
    assert wide[:, -1].tolist() == [2, 3]
    assert TOTAL(wide).item() == 5 * (2**30 + 5)


def test_places_that_are_data(x):
    assert paddle.nonzero(x).flatten().tolist() == FOUND
    assert paddle.masked_select(x, x > 0).tolist() == [1, 2, 7, 3, 5]
    at = paddle.to_tensor(PLACES)
    for found in (
        x[at], paddle.gather(x, at), paddle.index_select(x, at), paddle.take(x, at),
        paddle.take_along_axis(x, at, 0), paddle.gather_nd(x, at.unsqueeze(1)),
    ):  # fmt: skip
        assert found.tolist() == [5, 7, 1, 3]


def test_writes(x):
    at, values = paddle.to_tensor([N - 1, WRAP + 1]), int8([9, 8])
    for y in (paddle.scatter(x, at, values), paddle.put_along_axis(x, at, values, 0)):
        assert tail(y) == [*TAIL[:2], 8, *TAIL[3:-1], 9]
    assert paddle.index_add(x, at, 0, values)[at].tolist() == [14, 8]
    y = x.clone()
    y[at] = values
    y[WRAP + 2 : WRAP + 4] = 4
    assert tail(y) == [2, 7, 8, 4, 4, *TAIL[5:-1], 9]


def test_moved_elements(x):
    assert tail(paddle.concat([x[: 2**30], x[2**30 :]])) == TAIL
    assert tail(paddle.stack([x[: N // 2], x[N // 2 :]])[1]) == TAIL
    assert x.flip([0])[:11].tolist() == TAIL[::-1]
    assert paddle.roll(x, 3)[:4].tolist() == [0, 3, 5, 1]
    assert x[::2].clone()[-5:].tolist() == TAIL[1::2]
    assert tail(x[1:].clone()) == TAIL
    assert paddle.split(x, [WRAP, 10])[1].tolist() == TAIL[1:]
    assert F.pad(x.reshape([1, 1, -1]), [1, 2])[0, 0, -5:].tolist() == [0, 3, 5, 0, 0]
    assert paddle.as_strided(x, [3], [1], WRAP).tolist() == [7, 0, 0]
    assert paddle.diff(x)[-2:].tolist() == [3, 2]
    assert paddle.tile(int8([1, 2, 3]), [715827886])[-4:].tolist() == [3, 1, 2, 3]
    assert paddle.repeat_interleave(int8([1, 2]), N // 2)[N // 2 - 1 : N // 2 + 1].tolist() == [1, 2]


def test_files(x, tmp_path):
    paddle.save({"x": x}, str(tmp_path / "x.pdparams"))
    assert tail(paddle.load(str(tmp_path / "x.pdparams"))["x"]) == TAIL
