"""Numbers of experts, the loss that balances them, and gradients of embeddings and cross entropies, against NumPy."""

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.incubate.nn import functional as I


@pytest.mark.parametrize("dtype", [None, "int32", "int64"])
def test_counts(rng, dtype):
    x = rng.integers(-3, 12, (5, 7)).astype("int32")
    found = I.int_bincount(paddle.to_tensor(x), 2, 9, dtype)
    assert found.dtype.name == (dtype or "int32")
    np.testing.assert_array_equal(found.numpy(), [(x == i).sum() for i in range(2, 9)])
    assert I.int_bincount(paddle.to_tensor(x), 4, 4).shape == [0]
    assert I.int_bincount(paddle.zeros([0], "int64"), 0, 2).tolist() == [0, 0]
    assert I.int_bincount(paddle.to_tensor([2**40, 2**40 + 1]), 2**40, 2**40 + 2).tolist() == [1, 1]


def test_ranks_and_local_numbers():
    counts = [2, 0, 1, 3, 0, 1]
    rank, local = I.build_src_rank_and_local_expert_id(paddle.to_tensor(counts), counts, 2)
    expert = np.repeat(np.arange(6), counts)
    assert (rank.dtype.name, local.dtype.name) == ("int32", "int32")
    np.testing.assert_array_equal(rank.numpy(), expert // 2)
    np.testing.assert_array_equal(local.numpy(), expert % 2)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(("n", "group"), [(3, False), (3, True), (0, False), (0, True)])
def test_numbers_of_modalities(dtype, n, group):
    x = np.array([[0, 4], [5, 2], [7, -1]], dtype)
    found = I.expand_modality_expert_id(paddle.to_tensor(x), n, 6, 1, group)
    expected = x + (np.array([0, 6]) if group else 0)
    if n:
        rank = np.trunc(expected / n).astype(int)  # as in C
        expected = rank * 2 * n + (expected - rank * n) + n
    assert found.dtype.name == dtype
    np.testing.assert_array_equal(found.numpy(), expected)


def aux_loss(prob, sent, mask, all_mask, k, least):
    """The formula in NumPy: the loss, the number of tokens, and what each expert is sent of them."""
    tokens = all_mask.sum() if all_mask is not None else mask.sum() if mask is not None else len(prob)
    tokens = max(tokens, least)
    ce = (sent.sum(0) if sent.ndim == 2 else sent) / tokens
    loss = (prob.sum(0) / tokens * ce).sum() * prob.shape[1] / k
    if all_mask is not None and mask is not None and len(all_mask) != len(prob):
        loss *= all_mask.sum() / max(mask.sum(), least)
    return loss, tokens, ce


@pytest.mark.parametrize("masks", ["none", "own", "all", "more"])
@pytest.mark.parametrize("per_token", [False, True])
@pytest.mark.parametrize("group", [False, True])
def test_aux_loss(rng, masks, per_token, group):
    prob = rng.dirichlet(np.ones(3), 6)
    sent = rng.integers(0, 2, (6, 3)) if per_token else rng.integers(1, 5, 3)
    mask = rng.integers(0, 2, 6) | (np.arange(6) == 0) if masks in ("own", "more") else None
    all_mask = np.ones({"all": 6, "more": 9}[masks], int) if masks in ("all", "more") else None
    ours = [None if v is None else paddle.to_tensor(v) for v in (prob, sent, mask, all_mask)]
    ours[0].stop_gradient = False
    loss, tokens, ce = I.cal_aux_loss(*ours, 3, group, 2, 0.5)
    expected = aux_loss(prob, sent, mask, all_mask, 2 if group else 1, 0.5)
    for a, b in zip((loss, tokens, ce), expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-12)
    # The gradient is that of the loss before it is scaled to the tokens of others.
    (gradient,) = paddle.grad(loss, ours[0])
    one = np.broadcast_to(expected[2] / expected[1] * 3 / (2 if group else 1), prob.shape)
    np.testing.assert_allclose(gradient.numpy(), one, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_gradients_of_an_embedding_are_added(rng, dtype):
    total, rows = rng.standard_normal((5, 3)).astype("float32"), rng.integers(-4, 5, (2, 4, 3)).astype("float32")
    tokens = np.array([[0, 3, 3, 1], [3, 0, 4, 4]])
    written = paddle.to_tensor(total)
    view = written[:]
    found = I.embedding_grad_add_to_(paddle.to_tensor(tokens, "int32"), written, paddle.to_tensor(rows).astype(dtype))
    assert found is written
    expected = total.copy()
    np.add.at(expected, tokens, rows)
    np.testing.assert_allclose(written.numpy(), expected, rtol=1e-6)
    np.testing.assert_array_equal(view.numpy(), written.numpy())


@pytest.mark.parametrize("column", [True, False])
def test_gradients_of_a_cross_entropy(rng, column):
    """That of our own cross entropy, in bfloat16."""
    logits = paddle.to_tensor(rng.standard_normal((2, 3, 5)).astype("float32"), stop_gradient=False)
    label = paddle.to_tensor([[0, 4, -100], [2, 2, 1]])
    weights = paddle.to_tensor(rng.standard_normal((2, 3)).astype("float32"))
    loss = F.cross_entropy(logits, label, ignore_index=-100, reduction="none")
    (expected,) = paddle.grad((loss * weights).sum(), logits)
    if column:
        label, weights = label.unsqueeze(2), weights.unsqueeze(2)
    found = I.cross_entropy_with_softmax_bwd_w_downcast(label, F.softmax(logits).detach(), weights)
    assert found.dtype.name == "bfloat16"
    np.testing.assert_allclose(found.astype("float32").numpy(), expected.numpy(), rtol=2.0**-8, atol=1e-7)
    assert not found[0, 2].any()


def test_refusals():
    x = paddle.to_tensor([1, 2])
    with pytest.raises(ValueError, match=r"\[int_bincount\] requires high of 3 or above, as low is, got 2"):
        I.int_bincount(x, 3, 2)
    with pytest.raises(TypeError, match=r"\[int_bincount\] requires a dtype of int32 or int64, got float32"):
        I.int_bincount(x, 0, 2, "float32")
    with pytest.raises(ValueError, match=r"requires expert_num_global_tensor of shape \[3\], .* got \[2\]"):
        I.build_src_rank_and_local_expert_id(x, [1, 2, 3], 1)
    with pytest.raises(TypeError, match=r"requires integers for expert_id, got float32"):
        I.expand_modality_expert_id(paddle.ones([1, 1]), 1, 1, 0, False)
    with pytest.raises(ValueError, match=r"\[cal_aux_loss\] requires dispatch_mask of shape \[3\] or"):
        I.cal_aux_loss(paddle.ones([2, 3]), x, None, None, 3, False, 1, 0.1)
    with pytest.raises(ValueError, match=r"\[embedding_grad_add_to_\] requires main_grad_ of shape"):
        I.embedding_grad_add_to_(x, paddle.zeros([4, 3]), paddle.zeros([3, 3]))
    with pytest.raises(IndexError):
        I.embedding_grad_add_to_(x, paddle.zeros([2, 3]), paddle.zeros([2, 3])).numpy()
    with pytest.raises(ValueError, match=r"requires label of shape \[2, 1\] or \[2\], got \[3\]"):
        I.cross_entropy_with_softmax_bwd_w_downcast(paddle.ones([3], "int64"), paddle.ones([2, 4]), paddle.ones([2]))
