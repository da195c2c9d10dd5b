"""Saved loops: nothing else reads the memory that the reference's loops take and write."""

from __future__ import annotations

import collections
import json

import numpy as np
import pytest

import paddle
from paddle.static import InputSpec


def from_one_constant(x, n):
    i, j, t = paddle.zeros([], "int64"), paddle.zeros([], "int64"), x.sum()
    while i < n:
        t, i = t + 1, i + 1
    while j < n:
        t, j = t * 2, j + 1
    return t


def from_an_argument(x, n):
    i, j = n, n
    while i < 5:
        i = i + 1
    while j < 7:
        j = j + 1
    return i + j + n + x.sum()


def inside_of_another(x, n):
    i, t = paddle.zeros([], "int64"), x.sum()
    while i < n:
        j = paddle.zeros([], "int64")
        while j < i + 1:
            t, j = t + x.max(), j + 1
        i = i + 1
    return t


def over_rows(x, n):
    s, t = paddle.zeros([3]), paddle.zeros([3])
    for row in x:
        s = s + row
    for row in x:
        t = t * row + s
    return s + t + n


def over_a_list(x, n):
    outs, i, s = [], paddle.zeros([], "int64"), paddle.zeros([3])
    while i < n:
        outs.append(x.sum(0) + i.astype("float32"))
        i = i + 1
    for row in outs:
        s = s + row
    return s


def suppressed(x, n):
    boxes = paddle.concat([x[:, :2], x[:, :2] + 1.5], 1)
    kinds = (x[:, 2] > 0).astype("int64")
    return [paddle.vision.ops.nms(boxes, t, x[:, 0] * n, kinds, [0, 1]) for t in (0.1, 0.5)]


@pytest.mark.parametrize(
    "f",
    [from_one_constant, from_an_argument, inside_of_another, over_rows, over_a_list, suppressed],
    ids=lambda f: f.__name__,
)
def test_a_loop_is_given_copies(f, tmp_path):
    spec = [InputSpec([None, 3], "float32", "x"), InputSpec([], "int64", "n")]
    paddle.jit.save(paddle.jit.to_static(f, full_graph=True, input_spec=spec), str(tmp_path / "model"))
    operations = list(walk(json.loads((tmp_path / "model.json").read_text())["program"]["regions"]))
    loops = [o for o in operations if o["#"] == "1.while"]
    made = {r["%"]: o["#"] for o in operations for r in o["O"]}
    readers = collections.Counter(x["%"] for o in operations for x in o["I"])
    assert len(loops) >= 2
    for x in (x["%"] for o in loops for x in o["I"]):
        assert (made[x], readers[x]) == ("1.assign", 1)
    loaded = paddle.jit.load(str(tmp_path / "model"))
    for rows, n in ((4, 3), (2, 0)):
        x = paddle.to_tensor(np.linspace(-1, 1, 3 * rows, dtype="float32").reshape(rows, 3))
        got, want = (paddle.utils.flatten(g(x, paddle.to_tensor(n))) for g in (loaded, f))
        for ours, expected in zip(got, want, strict=True):
            np.testing.assert_allclose(ours.numpy(), expected.numpy(), rtol=1e-6)


def walk(regions):
    for block in (b for r in regions for b in r["blocks"]):
        for o in block["ops"]:
            yield o
            yield from walk(o.get("regions", ()))
