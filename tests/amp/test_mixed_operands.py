"""Operands of which one is in low precision: under ``auto_cast`` every function takes what it takes in float32."""

from __future__ import annotations

import pytest

import paddle
import paddle.nn.functional as F

VECTORS, MATRICES = [(3,), (3,)], [(2, 2), (2, 2)]
INDEX = [[1]]

CALLS = {
    "dot": (paddle.dot, VECTORS),
    "inner": (paddle.inner, [(2, 3), (4, 3)]),
    "outer": (paddle.outer, [(2,), (3,)]),
    "kron": (paddle.kron, MATRICES),
    "cross": (paddle.cross, [(2, 3), (2, 3)]),
    "addmm": (paddle.addmm, [(2, 2)] * 3),
    "baddbmm": (paddle.baddbmm, [(2, 2, 2)] * 3),
    "mv": (paddle.mv, [(2, 3), (3,)]),
    "bmm": (paddle.bmm, [(2, 2, 2)] * 2),
    "multi_dot": (lambda *xs: paddle.linalg.multi_dot(list(xs)), [(2, 2)] * 3),
    "einsum": (lambda x, y: paddle.einsum("ij,jk->ik", x, y), MATRICES),
    "tensordot": (lambda x, y: paddle.tensordot(x, y, 1), MATRICES),
    "solve": (paddle.linalg.solve, MATRICES),
    "where": (lambda x, y: paddle.where(x > 0.5, x, y), VECTORS),
    "lerp": (paddle.lerp, [(3,)] * 3),
    "atan2": (paddle.atan2, VECTORS),
    "fmax": (paddle.fmax, VECTORS),
    "hypot": (paddle.hypot, VECTORS),
    "copysign": (paddle.copysign, VECTORS),
    "heaviside": (paddle.heaviside, VECTORS),
    "pow": (paddle.pow, VECTORS),
    "gammainc": (paddle.gammainc, VECTORS),
    "complex": (paddle.complex, VECTORS),
    "equal": (paddle.equal, VECTORS),
    "isclose": (paddle.isclose, VECTORS),
    "concat": (lambda *xs: paddle.concat(xs), VECTORS),
    "meshgrid": (lambda *xs: paddle.meshgrid(*xs), VECTORS),
    "block_diag": (lambda *xs: paddle.block_diag(list(xs)), MATRICES),
    "add_n": (lambda *xs: paddle.add_n(list(xs)), VECTORS),
    "multiplex": (lambda *xs: paddle.multiplex(list(xs), paddle.to_tensor([[0], [1]], dtype="int32")), MATRICES),
    "trapezoid": (paddle.trapezoid, VECTORS),
    "searchsorted": (paddle.searchsorted, [(3,), (2,)]),
    "scatter": (lambda x, u: paddle.scatter(x, paddle.to_tensor([1]), u), [(3, 2), (1, 2)]),
    "scatter_nd_add": (lambda x, u: paddle.scatter_nd_add(x, paddle.to_tensor(INDEX), u), [(3,), (1,)]),
    "put_along_axis": (lambda x, u: paddle.put_along_axis(x, paddle.to_tensor(INDEX), u, 0), [(3, 2), (1, 1)]),
    "index_add": (lambda x, u: paddle.index_add(x, paddle.to_tensor([1]), 0, u), [(3,), (1,)]),
    "select_scatter": (lambda x, u: paddle.select_scatter(x, u, 0, 1), [(3, 2), (2,)]),
    "linear": (F.linear, [(2, 3), (3, 4), (4,)]),
    "bilinear": (F.bilinear, [(2, 3), (2, 4), (5, 3, 4)]),
    "prelu": (F.prelu, [(2, 3), (1,)]),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, 3, w, b), [(2, 3), (3,), (3,)]),
    "group_norm": (lambda x, w, b: F.group_norm(x, 1, 1e-5, w, b), [(2, 3, 2), (3,), (3,)]),
    "conv2d": (F.conv2d, [(1, 2, 4, 4), (3, 2, 2, 2), (3,)]),
    "attention": (F.scaled_dot_product_attention, [(1, 2, 1, 4)] * 3),
    "grid_sample": (F.grid_sample, [(1, 1, 3, 3), (1, 2, 2, 2)]),
    "mse_loss": (F.mse_loss, VECTORS),
    "kl_div": (F.kl_div, MATRICES),
    "binary_cross_entropy_with_logits": (F.binary_cross_entropy_with_logits, VECTORS),
    "cosine_similarity": (F.cosine_similarity, MATRICES),
    "triplet_margin_loss": (F.triplet_margin_loss, [(2, 3)] * 3),
    "cdist": (paddle.cdist, [(2, 3), (4, 3)]),
    "dist": (paddle.dist, VECTORS),
}  # fmt: skip


@pytest.mark.parametrize("level", ["O1", "O2"])
@pytest.mark.parametrize("name", CALLS)
def test_one_operand_in_low_precision(name, level):
    function, shapes = CALLS[name]
    xs = [paddle.rand(s) + 0.1 for s in shapes]
    expected = function(*xs)
    for k in range(len(xs)):
        given = [x.astype("bfloat16") if i == k else x for i, x in enumerate(xs)]
        with paddle.amp.auto_cast(level=level, dtype="bfloat16"):
            found = function(*given)
        for y, z in zip(*([v] if isinstance(v, paddle.Tensor) else v for v in (found, expected)), strict=True):
            assert y.shape == z.shape


def test_outside_of_mixed_precision_they_are_refused():
    x = paddle.ones([3])
    with pytest.raises(ValueError, match="operands of one dtype, got float32 and bfloat16"):
        paddle.dot(x, x.astype("bfloat16"))
