"""Results of a captured function on a device, of which some have no part in the gradient."""

from __future__ import annotations

import pytest

import paddle

pytestmark = pytest.mark.usefixtures("fake")


@pytest.mark.parametrize("place", ["cpu", "fake:1"])
def test_a_gradient_that_does_not_come_is_zeros_where_the_result_is(place):
    @paddle.jit.to_static
    def f(x):
        return (x * 2).to("fake:0").detach(), x * 3

    x = paddle.ones([2]).to(place)
    x.stop_gradient = False
    for _ in range(2):
        f(x)[1].sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]
