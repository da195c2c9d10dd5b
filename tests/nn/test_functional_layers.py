"""Functions as layers call the function, eager and captured, and have no parameters."""

import numpy as np
import pytest

import paddle
from paddle.nn import quant

X = np.arange(6, dtype="float32").reshape(2, 3) + 1
CALLS = {
    "add": ((X, X[:1]), {}),
    "subtract": ((X, X[:1]), {}),
    "multiply": ((X, X[:1]), {}),
    "divide": ((X, X[:1]), {}),
    "reshape": ((X, [3, 2]), {}),
    "transpose": ((X, [1, 0]), {}),
    "flatten": ((X, 0, 1), {}),
    "matmul": ((X, X), {"transpose_y": True}),
}


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_a_layer_is_its_function(name, captured):
    arguments, keywords = CALLS[name]
    arguments = [paddle.to_tensor(a) if isinstance(a, np.ndarray) else a for a in arguments]
    layer = getattr(quant, name)()
    assert isinstance(layer, quant.FloatFunctionalLayer) and not layer.parameters() and repr(layer) == f"{name}()"
    run = paddle.jit.to_static(lambda x: layer(x, *arguments[1:], **keywords)) if captured else layer
    got = run(arguments[0]) if captured else run(*arguments, **keywords)
    np.testing.assert_array_equal(got.numpy(), getattr(paddle, name)(*arguments, **keywords).numpy())


def test_concat_takes_a_list():
    x = paddle.to_tensor(X)
    assert quant.concat()([x, x], axis=1).shape == [2, 6]
