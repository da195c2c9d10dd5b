"""Attention of no keys, queries or batch: eager, captured and saved with open sizes, with gradients of zeros."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.inference import Config, create_predictor
from paddle.inference.loading import files_of
from paddle.static import InputSpec

SIZES = ((2, 3, 5), (2, 3, 0), (2, 1, 0), (2, 40, 0), (2, 0, 5), (2, 0, 0), (0, 3, 5), (0, 0, 0))


def plain(q, k, v, mask=None):
    return F.scaled_dot_product_attention(q, k, v, mask)


def causal(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def sums(q, k, v):
    return F.flashmask_attention(q, k, v, causal=True, return_softmax_lse=True)


def spelt(q, k, v):
    q, k, v = (x.transpose([0, 2, 1, 3]) for x in (q, k.repeat_interleave(2, 2), v.repeat_interleave(2, 2)))
    return (F.softmax(q @ k.transpose([0, 1, 3, 2]) * 0.5, -1) @ v).transpose([0, 2, 1, 3])


CALLS = {
    "plain": (plain, None), "flags": (plain, "bool"), "added": (plain, "float32"), "causal": (causal, None),
    "log-sum-exp": (sums, None), "spelt out": (spelt, None),
}  # fmt: skip


def results(made):
    return list(made) if isinstance(made, (list, tuple)) else [made]


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_seen(name, rng, tmp_path):
    call, mask = CALLS[name]
    specs = [InputSpec([None, None, h, 8], "float32", x) for x, h in (("q", 4), ("k", 2), ("v", 2))]
    specs += [] if mask is None else [InputSpec([None, 1, None, None], mask, "mask")]
    path = str(tmp_path / "m")
    captured = paddle.jit.to_static(call, specs, full_graph=True)
    paddle.jit.save(captured, path)
    predictor = create_predictor(Config(*files_of(path)))
    for batch, queries, keys in SIZES:
        shapes = (batch, queries, 4, 8), (batch, keys, 2, 8), (batch, keys, 2, 8)
        given = [paddle.to_tensor(rng.standard_normal(s).astype("float32"), stop_gradient=False) for s in shapes]
        if mask is not None:
            seen = rng.standard_normal((batch, 1, queries, keys))
            given.append(paddle.to_tensor(seen > 0 if mask == "bool" else seen.astype("float32")))
        wanted = results(call(*given))
        assert wanted[0].shape == list(shapes[0])
        for x, nothing in zip(wanted, (0.0, -np.inf)) if not keys else ():
            assert (x.numpy()[..., :queries] == nothing).all() or not queries
        for form in (captured, paddle.jit.load(path), lambda *xs: predictor.run([x.detach() for x in xs])):
            for x, y in zip(results(form(*given)), wanted, strict=True):
                assert x.shape == y.shape
                np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=1e-4, atol=1e-5)
        for form in (call, captured):
            grads = paddle.grad([results(form(*given))[0].sum()], given[:3])
            assert [g.shape for g in grads] == [x.shape for x in given[:3]]
            assert all((g.numpy() == 0).all() for g in grads) or batch * queries * keys


def test_the_gradient_of_a_mask_that_nobody_reads(rng):
    for queries, keys in ((3, 0), (0, 3)):
        q, k, mask = (
            paddle.to_tensor(rng.standard_normal(s).astype("float32"), stop_gradient=False)
            for s in ((2, queries, 4, 8), (2, keys, 4, 8), (1, 1, queries, keys))
        )
        plain(q, k, k, mask).sum().backward()
        for x in (q, k, mask):
            assert x.grad.shape == x.shape and (x.grad.numpy() == 0).all()


def test_no_heads(rng):
    q = paddle.zeros([2, 3, 0, 8])
    q.stop_gradient = False
    y = plain(q, q, q)
    y.sum().backward()
    assert y.shape == q.grad.shape == [2, 3, 0, 8]
