"""Columns of several matrices and shuffled rows: numbers that the reference framework gives."""

import numpy as np
import pytest

import paddle
from paddle.incubate.layers import partial_concat, partial_sum, shuffle_batch


def matrices():
    x = paddle.arange(24, dtype="float32").reshape([4, 6])
    x.stop_gradient = False
    y = (x + 100).detach()
    y.stop_gradient = False
    return x, y


def test_columns():
    x, y = matrices()
    assert partial_concat([x, y], 1, 2)[1].tolist() == [7, 8, 107, 108]
    assert partial_concat([x, y], 1, -1)[0].tolist() == [1, 2, 3, 4, 5, 101, 102, 103, 104, 105]
    assert partial_concat([x, y], -2, 2)[0].tolist() == [4, 5, 104, 105]
    assert partial_concat(x, 1, 2)[3].tolist() == [19, 20]
    assert partial_concat([x, y], 1, 0).shape == [4, 0]
    assert partial_sum([x, y], 1, 2)[0].tolist() == [102, 104]
    assert partial_sum([x, x], 2)[0].tolist() == [4, 6, 8, 10]
    assert partial_sum([x, x], -2, 2)[0].tolist() == [8, 10]


@pytest.mark.parametrize("captured", [False, True])
def test_gradients(captured):
    x, y = matrices()

    def loss(a, b):
        joined = partial_concat([a, b], 1, 2)
        return (joined * paddle.arange(16, dtype="float32").reshape([4, 4])).sum() + partial_sum(
            [a, b], 4
        ).square().sum()

    gx, gy = paddle.grad((paddle.jit.to_static(loss) if captured else loss)(x, y), [x, y])
    assert gx[1].tolist() == [0, 4, 5, 0, 240, 244]
    assert gy[1].tolist() == [0, 6, 7, 0, 240, 244]


@pytest.mark.parametrize("f", [partial_concat, partial_sum])
def test_refusals(f):
    x, _ = matrices()
    with pytest.raises(IndexError, match=rf"\[{f.__name__}\] requires a length of at most 1 from column 5, got 4"):
        f([x, x], 5, 4)
    with pytest.raises(ValueError, match="a start_index from -6 to 5, got 7"):
        f([x, x], 7, 1)
    with pytest.raises(ValueError, match="matrices of one shape and dtype"):
        f([x, x[:2]], 1, 1)
    with pytest.raises(ValueError, match="requires matrices, got shape"):
        f([x.reshape([4, 3, 2])] * 2)
    with pytest.raises(ValueError, match="a list of tensors as input"):
        f([])


def test_shuffled_rows():
    x = paddle.arange(120, dtype="float32").reshape([5, 6, 4])
    paddle.seed(2)
    one = shuffle_batch(x)
    paddle.seed(2)
    np.testing.assert_array_equal(shuffle_batch(x).numpy(), one.numpy())
    rows = one.numpy().reshape(30, 4)
    assert one.shape == x.shape and not np.array_equal(one.numpy(), x.numpy())
    np.testing.assert_array_equal(rows[np.argsort(rows[:, 0])], x.numpy().reshape(30, 4))
    np.testing.assert_array_equal(shuffle_batch(x, 5).numpy(), shuffle_batch(x, paddle.to_tensor([5])).numpy())
    assert shuffle_batch(paddle.to_tensor([1, 2, 3])).tolist() == [1, 2, 3]


def test_gradients_follow_their_rows():
    x, _ = matrices()
    shuffled = shuffle_batch(x, 3)
    (g,) = paddle.grad((shuffled * shuffled.detach()).sum(), [x])
    np.testing.assert_array_equal(g.numpy(), x.numpy())
