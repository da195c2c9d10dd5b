"""Objects of the library, and of the standard library: what their methods read is guarded, what they change is done."""

from __future__ import annotations

import collections
import threading

import numpy as np
import pytest

import paddle
from paddle import nn
from umiak.runtime.capture import CaptureError


def test_an_attribute_that_a_method_reads():
    clip = nn.ClipGradByNorm(1.0)

    def f(x, p):
        ((_, clipped),) = clip([(p, x)])
        return clipped * 2

    p = paddle.create_parameter([2], "float32")
    captured = paddle.jit.to_static(f)
    x = paddle.to_tensor([3.0, 4.0])
    for norm in (1.0, 1.0, 2.0, 3.0, 1.0):
        clip.clip_norm = norm
        np.testing.assert_allclose(captured(x, p), f(x, p))
    assert captured.graph_breaks == [] and captured.fallbacks == []


def test_an_object_that_is_an_argument():
    def f(clip, x, p):
        return clip([(p, x)])[0][1]

    p = paddle.create_parameter([2], "float32")
    captured = paddle.jit.to_static(f)
    x = paddle.to_tensor([3.0, 4.0])
    for norm in (1.0, 2.0, 1.0):
        clip = nn.ClipGradByNorm(norm)
        np.testing.assert_allclose(captured(clip, x, p), f(clip, x, p))
    assert captured.graph_breaks == []


@pytest.mark.parametrize("growing", [True, False])
def test_a_loss_scale_that_changes(growing):
    """The scale is a number of each run; without it gradients were those of the scale at the capture."""
    factors, weights = {}, {}
    for captured in (False, True):
        scaler = paddle.amp.GradScaler(init_loss_scaling=8.0, incr_every_n_steps=2, decr_every_n_nan_or_inf=1)
        w = paddle.create_parameter([2], "float32", default_initializer=nn.initializer.Constant(1.0))
        sgd = paddle.optimizer.SGD(0.125, parameters=[w])

        def step(x, w=w, sgd=sgd, scaler=scaler):
            loss = (w * x).sum()
            scaled = scaler.scale(loss)
            scaled.backward()
            scaler.step(sgd)
            scaler.update()
            sgd.clear_grad()
            return scaled / loss

        run = paddle.jit.to_static(step) if captured else step
        huge = paddle.full([2], 3e38)
        xs = [paddle.to_tensor([1.0, 2.0]) if growing or i % 2 else huge for i in range(7)]
        found = [(float(run(x)), float(scaler._scale)) for x in xs]
        factors[captured] = [(None if np.isnan(a) or np.isinf(a) else a, b) for a, b in found]
        weights[captured] = w.numpy()
    assert factors[True] == factors[False]
    assert len({scale for _, scale in factors[True]}) > 1
    np.testing.assert_array_equal(weights[True], weights[False])


@pytest.mark.parametrize("full_graph", [False, True])
def test_a_chain_of_dicts_is_changed_at_every_call(full_graph):
    def count(x):
        seen["n"] += 1
        return x * seen["n"]

    seen = collections.ChainMap({}, {"n": 0})
    captured = paddle.jit.to_static(count, full_graph=full_graph)
    assert [captured(paddle.ones([])).item() for _ in range(4)] == [1.0, 2.0, 3.0, 4.0]
    assert seen["n"] == 4 and seen.maps[1]["n"] == 0


def test_a_variable_of_the_thread_is_changed_at_every_call():
    def count(x):
        local.n += 1
        return x * local.n

    local = threading.local()
    local.n = 0
    captured = paddle.jit.to_static(count)
    assert [captured(paddle.ones([])).item() for _ in range(4)] == [1.0, 2.0, 3.0, 4.0]
    assert local.n == 4
    with pytest.raises(CaptureError, match=r"_local\.n is set"):
        paddle.jit.to_static(count, full_graph=True)(paddle.ones([]))
