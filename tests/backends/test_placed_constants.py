"""What functions make of numbers, lists and nothing lies where their tensors do: on a device that is not the default
place they do what they do on the host, eager and captured, and so do their gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.incubate.nn import attn_bias
from paddle.incubate.nn.memory_efficient_attention import memory_efficient_attention
from paddle.static.nn import cond, while_loop

pytestmark = pytest.mark.usefixtures("fake")


def written(x: Any, write: Callable[[Any], Any]) -> Any:
    y = x * 1.0
    write(y)
    return y


def row(x: Any) -> Any:
    """Indices that lie where x does."""
    return paddle.argsort(x, 0)[:1, 0].astype("int64") * 0 + 1


def loop(x: Any) -> Any:
    """Reads something from outside, carries a value, and does not use another one in each iteration."""
    other = x * 2.0
    return while_loop(lambda k, y: k < 2, lambda k, y: [k + 1, paddle.sort(y, 0) + other[0]], [paddle.zeros([]), x])[1]


def written_in_a_branch(x: Any) -> Any:
    y = x * 1.0

    def write() -> None:
        y[0] = 2.0

    cond(x.sum() > -1e9, write, lambda: None)
    return y


def attended(mask: Callable[[Any], Any], keys: int = 3) -> Callable[[Any], Any]:
    """Attention of one sequence of 3 tokens, or of ``keys`` keys, by a mask of lengths."""

    def run(x: Any) -> Any:
        q = x.reshape([1, 3, 2, 2])
        k = paddle.concat([q, q], 1)[:, :keys]
        return memory_efficient_attention(q, k, k, mask(x))

    return run


def padded(x: Any, diagonal: Any = None) -> Any:
    return attn_bias.BlockDiagonalCausalWithOffsetPaddedKeysMask.from_seqlens([1, 2], 2, [1, 2], diagonal)


CASES: dict[str, Callable[[Any], Any]] = {
    "triangle of other lengths": attended(lambda x: attn_bias.LowerTriangularMask(), 4),
    "triangle and a tensor": attended(lambda x: attn_bias.LowerTriangularMask().add_bias(x[:, :3])),
    "sequences": attended(lambda x: attn_bias.BlockDiagonalMask.from_seqlens([1, 2])),
    "padded keys": attended(padded, 4),
    "padded keys and a tensor": attended(lambda x: padded(x, paddle.tile(row(x), [2])), 4),
    "padded keys and a tensor of the host": attended(lambda x: padded(x, paddle.to_tensor([1, 0])), 4),
    "list": lambda x: x[[0, 2]],
    "list and number": lambda x: x[[0, 2], 1],
    "array": lambda x: x[np.array([1, 1])],
    "mask of Python": lambda x: x[[True, False, True]],
    "bool": lambda x: x[True],
    "new axis and list": lambda x: x[[0], None],
    "set a number": lambda x: written(x, lambda y: y.__setitem__(0, -1.0)),
    "set a number through a view": lambda x: written(x, lambda y: y.T.__setitem__(0, -1.0)),
    "set an array": lambda x: written(x, lambda y: y.__setitem__(0, np.ones(4, "float32"))),
    "set at a list": lambda x: written(x, lambda y: y.__setitem__([0, 1], 2.0)),
    "set at lists": lambda x: written(x, lambda y: y.__setitem__(([0, 1], [1, 2]), 2.0)),
    "set under a mask": lambda x: written(x, lambda y: y.__setitem__(y > 0.5, 2.0)),
    "set from the host": lambda x: written(x, lambda y: y.__setitem__(1, paddle.ones([4]))),
    "fill_": lambda x: written(x, lambda y: y.fill_(2.0)) + x,
    "fill_diagonal_": lambda x: written(x, lambda y: y.fill_diagonal_(2.0)),
    "unbind, one used": lambda x: paddle.unbind(x * 1.0, 0)[1],
    "split, one used": lambda x: paddle.split(x, 3, 0)[1],
    "sort": lambda x: paddle.sort(x, 1),
    "topk": lambda x: paddle.topk(x, 2)[0],
    "max": lambda x: paddle.max(x, 0),
    "cumprod": lambda x: paddle.cumprod(x, 0),
    "index_fill": lambda x: paddle.index_fill(x, row(x), 0, 0.5),
    "index_add": lambda x: paddle.index_add(x, row(x), 0, x[:1]),
    "put_along_axis": lambda x: paddle.put_along_axis(x, row(x).reshape([1, 1]), 3.0, 0),
    "mean of what is scattered": lambda x: paddle.put_along_axis(x, row(x).reshape([1, 1]), x[:1], 0, "mean"),
    "scatter, added": lambda x: paddle.scatter(x, row(x), x[:1], overwrite=False),
    "scatter_nd": lambda x: paddle.scatter_nd(row(x).reshape([1, 1]), x[:1], [3, 4]),
    "multiplex": lambda x: paddle.multiplex([x, x * 2], (x[:, 0] > 0).astype("int32")),
    "where of numbers": lambda x: paddle.where(x > 0, 1.0, 2.0) * x,
    "searchsorted": lambda x: paddle.searchsorted(paddle.sort(x[0]), 0.5).astype("float32") + x.sum(),
    "isin": lambda x: paddle.isin(x, x[0]).astype("float32") * x,
    "quantile": lambda x: paddle.quantile(x, [0.25, 0.5], 0),
    "cholesky_inverse": lambda x: paddle.linalg.cholesky_inverse(x[:3, :3] * 0 + paddle.eye(3).to(x.place.name)),
    "pdist": lambda x: paddle.pdist(x),
    "as_strided": lambda x: paddle.as_strided(x[:, :], [2, 2], [4, 1]),
    "fold": lambda x: F.fold(x.reshape([1, 4, 3]), [2, 4], [2, 2]),
    "sequence_mask": lambda x: F.sequence_mask(row(x) + 1, 4).astype("float32") + x.sum(),
    "multi_margin_loss": lambda x: F.multi_margin_loss(x, paddle.argmax(x, 1)),
    "cross_entropy": lambda x: F.cross_entropy(x, paddle.argmax(x, 1), ignore_index=0),
    "soft cross_entropy": lambda x: F.cross_entropy(x, F.softmax(x).detach(), soft_label=True),
    "embedding": lambda x: F.embedding(row(x), x),
    "interpolate": lambda x: F.interpolate(x.reshape([1, 1, 3, 4]), [6, 8], mode="bilinear"),
    "vjp": lambda x: paddle.incubate.autograd.vjp(lambda x: x * x, x)[1],
    "branch": lambda x: cond(x.sum() > -1e9, lambda: paddle.sort(x, 0), lambda: paddle.max(x, 0, keepdim=True) + x * 0),
    "branch that uses nothing": lambda x: cond(x.sum() > 1e9, lambda: x * 2, lambda: paddle.zeros_like(x)) + x,
    "loop": loop,
    "write in a branch": written_in_a_branch,
}  # fmt: skip
# Their number of elements is data; their gradient is computed in Python.
NOT_CAPTURED = ("set under a mask", "vjp")


def found(function: Callable[[Any], Any], place: str) -> list[np.ndarray | None]:
    x = paddle.to_tensor(np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)).to(place)
    x.stop_gradient = False
    y = function(x)
    assert y.place.name == place
    (g,) = paddle.grad([(y * y).sum()], [x], allow_unused=True) if not y.stop_gradient else (None,)
    assert g is None or g.place.name == place
    return [y.numpy(), None if g is None else g.numpy()]


@pytest.mark.parametrize("captured", [False, True], ids=["eager", "captured"])
@pytest.mark.parametrize("name", CASES)
def test_as_on_the_host(name, captured):
    if captured and name in NOT_CAPTURED:
        return
    function = CASES[name]
    expected = found(function, "cpu")
    got = found(paddle.jit.to_static(function) if captured else function, "fake:1")
    for a, b in zip(got, expected, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)
