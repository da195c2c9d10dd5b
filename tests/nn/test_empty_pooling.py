"""Windows at the ends of a dim: without an element there is no maximum, and negative pads take elements away."""

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_maximum_of_nothing_is_refused(n, mask):
    pool = getattr(F, f"max_pool{n}d")
    sizes = [1, 2, *[4] * n]
    pool(paddle.ones(sizes), 2, 2, 1, mask)  # the windows are known from here on
    for axis in range(2, n + 2):
        empty = [0 if i == axis else m for i, m in enumerate(sizes)]
        with pytest.raises(ValueError, match="requires a window with an element"):
            pool(paddle.ones(empty), 2, 2, 1, mask)


def test_batches_and_channels_of_size_0():
    for sizes in ([0, 2, 4, 4], [2, 0, 4, 4]):
        x = paddle.ones(sizes)
        x.stop_gradient = False
        y = F.max_pool2d(x, 2, 2, 1)
        y.sum().backward()
        assert y.shape == [*sizes[:2], 3, 3] and x.grad.shape == sizes


def test_negative_pads_take_elements_away():
    x = paddle.arange(1.0, 8).reshape([1, 1, 7])
    assert F.max_pool1d(x, 2, 2, [-1, 0]).tolist() == [[[3.0, 5.0, 7.0]]] == F.max_pool1d(x[:, :, 1:], 2, 2).tolist()
    assert F.avg_pool1d(x, 2, 2, [-1, 0]).tolist() == [[[2.5, 4.5, 6.5]]]


@pytest.mark.parametrize("kind", ["avg_pool", "max_pool"])
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(("size", "kernel", "stride"), [(7, 2, 2), (7, 3, 2), (8, 3, 3), (10, 2, 4), (5, 1, 3)])
def test_same_padding_has_every_last_window(kind, n, size, kernel, stride):
    """ceil_mode adds none; residual networks that pool by ``AvgPool2D(2, 2, "SAME", ceil_mode=True)`` pass it."""
    x = paddle.randn([2, 3, *[size] * n])
    pool = getattr(F, f"{kind}{n}d")
    y = pool(x, kernel, stride, "SAME", ceil_mode=True)
    assert y.shape == [2, 3, *[-(-size // stride)] * n]
    np.testing.assert_array_equal(y, pool(x, kernel, stride, "SAME"))
    with pytest.raises(ValueError, match="requires ceil_mode=False with padding 'VALID', got True"):
        pool(x, kernel, stride, "VALID", ceil_mode=True)
