"""Windows at the ends of a dim: without an element there is no maximum, and negative pads take elements away."""

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
