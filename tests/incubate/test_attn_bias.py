"""Masks of attention as objects, against the dense masks that they mean."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.incubate.nn import attn_bias as masks
from paddle.incubate.nn.memory_efficient_attention import memory_efficient_attention

X = -np.inf
TRIANGLE = masks.LowerTriangularMask()
BLOCKS = masks.BlockDiagonalMask.from_seqlens([2, 3, 1])
TWO = masks.BlockDiagonalMask.from_seqlens([2, 3], [4, 1])
OFFSETS = paddle.to_tensor([2, 1])
PADDED = masks.BlockDiagonalCausalWithOffsetPaddedKeysMask
# Mask, batch, queries, keys, factor of the scores.
CASES = {
    "triangle": (TRIANGLE, 2, 5, 5, None),
    "fewer keys": (TRIANGLE, 2, 5, 3, 0.7),
    "more keys": (TRIANGLE, 1, 3, 5, None),
    "added tensor": (TRIANGLE.add_bias(paddle.linspace(0, 1, 25).reshape([5, 5]).astype("float64")), 2, 5, 5, None),
    "sequences": (BLOCKS, 1, 6, 6, 0.3),
    "sequences of two lengths": (TWO, 1, 5, 5, None),
    "causal sequences": (TWO.make_causal(), 1, 5, 5, None),
    "padded keys": (PADDED.from_seqlens([1, 2], 4, [3, 4]), 1, 3, 8, None),
    "offsets": (PADDED.from_seqlens([1, 2], 4, [3, 4], OFFSETS), 1, 3, 8, None),
}


def dense(q, k, v, mask, scale):
    q, k, v = (x.transpose([0, 2, 1, 3]) for x in (q, k, v))
    scores = paddle.matmul(q, k, transpose_y=True) * (scale or q.shape[-1] ** -0.5) + mask
    return paddle.matmul(paddle.nn.functional.softmax(scores, -1), v).transpose([0, 2, 1, 3])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("captured", [False, True])
def test_attention_is_that_of_the_dense_mask(name, captured):
    mask, batch, queries, keys, scale = CASES[name]
    rng = np.random.default_rng(0)
    q, k, v = (paddle.to_tensor(rng.normal(size=(batch, n, 2, 8)), stop_gradient=False) for n in (queries, keys, keys))
    attend = lambda *x: memory_efficient_attention(*x, mask, scale=scale)  # noqa: E731
    y = (paddle.jit.to_static(attend) if captured else attend)(q, k, v)
    want = dense(q, k, v, mask.materialize([queries, keys], "float64"), scale)
    np.testing.assert_allclose(y.numpy(), want.numpy(), atol=1e-9)
    for got, grad in zip(
        paddle.grad((y * y).sum(), [q, k, v]), paddle.grad((want * want).sum(), [q, k, v]), strict=True
    ):
        np.testing.assert_allclose(got.numpy(), grad.numpy(), atol=1e-8)


def test_arrays():
    assert TRIANGLE.materialize([2, 2, 3]).tolist() == [[[0, X, X], [0, 0, X]]] * 2
    assert TWO.materialize([5, 5]).tolist() == [[0, 0, 0, 0, X]] * 2 + [[X, X, X, X, 0]] * 3
    assert TWO.make_causal().materialize([5, 5]).tolist()[:3] == [[0, X, X, X, X], [0, 0, X, X, X], [X, X, X, X, 0]]
    want = [[0, 0, 0, X, X, X, X, X], [X, X, X, X, 0, 0, X, X], [X, X, X, X, 0, 0, 0, X]]
    assert CASES["offsets"][0].materialize([3, 8]).tolist() == want
    assert TRIANGLE.materialize([2, 2], "bfloat16").dtype == paddle.bfloat16


def test_batches_behind_each_other():
    tensors = [paddle.rand([2, 3, 4]), paddle.rand([1, 2, 4])]
    mask, joined = masks.BlockDiagonalMask.from_tensor_list(tensors)
    assert (
        joined.shape == [1, 8, 4]
        and mask.q_seqinfo.seqstart.tolist() == [0, 3, 6, 8]
        and mask.q_seqinfo.max_seqlen == 3
    )
    for part, tensor in zip(mask.split(joined), tensors, strict=True):
        np.testing.assert_array_equal(part.numpy(), tensor.numpy())
    keys = [paddle.rand([2, 1, 4]), paddle.rand([1, 4, 4])]
    mask, q, k, v = masks.BlockDiagonalMask.from_tensor_lists_qkv(tensors, keys)
    assert v is None and [x.shape for x in mask.split_kv(k)] == [[2, 1, 4], [1, 4, 4]]
    assert [x.shape for x in mask.split_queries(q)] == [[2, 3, 4], [1, 2, 4]]
    info = masks.PaddedSeqLenInfo.from_seqlens_padded([1, 3], 4)
    assert list(info.intervals()) == [(0, 1), (4, 7)] and info.seqlen.tolist() == [1, 3]


def test_dropout_is_for_training():
    x = paddle.rand([1, 6, 2, 8])
    kept = memory_efficient_attention(x, x, x, BLOCKS, 0.5, None, False)
    np.testing.assert_array_equal(kept.numpy(), memory_efficient_attention(x, x, x, BLOCKS).numpy())
    assert (memory_efficient_attention(x, x, x, BLOCKS, 0.5) == 0).any()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda x: memory_efficient_attention(x, x, x, "causal"),
            TypeError,
            "is None, a Tensor or a mask",
        ),
        (lambda x: memory_efficient_attention(x[0], x, x), ValueError, "query of rank 4"),
        (lambda x: memory_efficient_attention(x, x, x, BLOCKS), ValueError, "requires 6 queries"),
        (lambda x: TWO.split(x), ValueError, "split_queries"),
        (lambda x: BLOCKS.split(x), ValueError, r"shape \[1, 6, \*\]"),
        (lambda x: masks.BlockDiagonalMask.from_seqlens([1], [1, 2]), ValueError, "1 lengths of keys"),
        (lambda x: masks.SeqLenInfo.from_seqlens([1, -2]), ValueError, "lengths of 0 and more"),
        (lambda x: masks.PaddedSeqLenInfo.from_seqlens_padded([5], 4), ValueError, "0 to the padding 4"),
        (lambda x: masks.PaddedSeqLenInfo.from_seqlens([5]), NotImplementedError, "from_seqlens_padded"),
        (lambda x: masks.BlockDiagonalMask.from_tensor_lists_qkv([x], [x, x]), ValueError, "as many tensors"),
        (
            lambda x: masks.BlockDiagonalMask.from_tensor_lists_qkv([x], [x], [x[:, :1]]),
            ValueError,
            "values as long",
        ),
        (lambda x: PADDED.from_seqlens([1, 2], 4, [3]), ValueError, "2 lengths of keys"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call(paddle.ones([1, 5, 2, 8]))
