"""Operators in C++ on CUDA devices: the stream that their kernels go to, and who waits for them."""

from __future__ import annotations

import paddle
from tests.support.extensions import loaded
from umiak.core import stream

STREAM = 14  # asks for the number of the stream


def test_kernels_get_the_current_stream_and_their_work_has_a_ticket(device, cuda):
    ops = loaded("operators", "library")
    x = paddle.ones([2])
    queue = cuda.device(device).queue(0)
    before = stream.stream(device.index, 0).submitted
    paddle.full_like(x, 1.0)
    own = stream.stream(device.index, 0).submitted - before  # of what the kernel does beside
    before += own
    assert ops.test_refused(x, STREAM).tolist() == [float(queue.handle)] * 2
    assert stream.stream(device.index, 0).submitted >= before + own + 1

    side = paddle.device.Stream("gpu:0")
    side.wait_stream(paddle.device.current_stream())
    with paddle.device.stream_guard(side):
        y = ops.test_refused(x, STREAM)
    assert y.storage.stream != 0
    side.synchronize()
    assert y.tolist() == [float(cuda.device(device).queue(y.storage.stream).handle)] * 2
    assert y.tolist() != [float(queue.handle)] * 2
