"""Copies past the caches."""

import numpy as np
import pytest

from umiak.util.streaming import stream_copy


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 63, 64, 65, 200, 4096 + 5])
@pytest.mark.parametrize(("out_at", "x_at"), [(0, 0), (1, 0), (0, 3), (7, 9), (15, 16)])
def test_bytes_arrive_and_no_others_change(size, out_at, x_at):
    x = np.random.default_rng([size, out_at, x_at]).integers(0, 256, size + 64, np.uint8)
    out = np.full(size + 64, 7, np.uint8)
    stream_copy(out[out_at : out_at + size], x[x_at : x_at + size])
    np.testing.assert_array_equal(out[out_at : out_at + size], x[x_at : x_at + size])
    assert (out[:out_at] == 7).all()
    assert (out[out_at + size :] == 7).all()


def test_sizes_that_differ():
    with pytest.raises(ValueError, match="one size, got 3 and 4 bytes"):
        stream_copy(np.zeros(3, np.uint8), np.zeros(4, np.uint8))
