"""Models with weights of 16 bits, and models that quantise and dequantise: each way to run them against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import paddle
from paddle import inference, nn
from paddle.inference.compile import compile_model
from paddle.inference.loading import files_of
from paddle.nn.quant.format import LinearDequanter, LinearQuanter, LinearQuanterDequanter
from paddle.static import InputSpec
from tests.support import native_libraries as native

SIZES = 0, 1, 5


def by_a_loaded_layer(prefix):
    layer = paddle.jit.load(prefix)
    return lambda x: layer(x).numpy()


def by_a_program(prefix):
    exe, scope = paddle.static.Executor(), paddle.static.Scope()
    with paddle.static.scope_guard(scope):
        program, (name,), fetched = paddle.static.load_inference_model(prefix, exe)
    return lambda x: exe.run(program, {name: x}, fetched, scope=scope)[0]


def by_a_predictor(level):
    def runner(prefix):
        config = inference.Config(*files_of(prefix))
        config.set_optimization_level(level)
        predictor = inference.create_predictor(config)

        def run(x):
            (y,) = predictor.run([paddle.to_tensor(x)])
            predictor.get_input_handle("x").copy_from_cpu(x)
            predictor.run()
            z = predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()
            np.testing.assert_array_equal(y.numpy(), z)
            return z

        return run

    return runner


def ahead_of_time(prefix):
    if native.CC is None:
        pytest.skip("needs a C compiler")
    library = compile_model(prefix, prefix + ".so", sizes=[f"x={n}x6" for n in SIZES])
    predictor = native.Native(library).create()
    return lambda x: predictor.run(x)[0]


WAYS = {
    "loaded layer": by_a_loaded_layer,
    "program": by_a_program,
    "predictor": by_a_predictor(2),
    "predictor without passes": by_a_predictor(0),
    "ahead of time": ahead_of_time,
}


def saved(layer, tmp_path):
    prefix = str(tmp_path / "model")
    layer.eval()
    paddle.jit.save(layer, prefix, [InputSpec([None, 6], "float32", "x")])
    return prefix


class Narrow(nn.Layer):
    """A network of one narrow dtype behind an input of float32."""

    def __init__(self, dtype):
        super().__init__()
        self.dtype, self.a, self.b = dtype, nn.Linear(6, 8), nn.Linear(8, 3)
        self.to(dtype=dtype)

    def forward(self, x):
        return self.b(nn.functional.relu(self.a(x.astype(self.dtype)))).astype("float32")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_weights_of_16_bits(way, dtype, rng, tmp_path):
    paddle.seed(3)
    layer = Narrow(dtype)
    prefix = saved(layer, tmp_path)
    narrow = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}[dtype]
    a, b = ([p.astype("float32").numpy() for p in (part.weight, part.bias)] for part in (layer.a, layer.b))

    def rounded(x):
        return x.astype(narrow).astype("float32")

    run = WAYS[way](prefix)
    for n in SIZES:
        x = rng.standard_normal((n, 6)).astype("float32")
        y = np.maximum(rounded(rounded(x) @ a[0] + a[1]), 0)
        y = rounded(y @ b[0] + b[1])
        found = run(x)
        assert (found.dtype, found.shape) == (y.dtype, y.shape)
        # Sums are rounded here and there: a step or two of the narrow dtype apart.
        step = float(ml_dtypes.finfo(narrow).eps)
        np.testing.assert_allclose(found, y, rtol=4 * step, atol=4 * step)


class Quantised(nn.Layer):
    """Levels of an input, of weights by the column, and of the result."""

    def __init__(self, weight, columns):
        super().__init__()
        self.weight = self.create_parameter(weight.shape, default_initializer=nn.initializer.Assign(weight))
        self.input = both(2.0, -1)
        self.columns = both(columns, 1)
        self.result = both([5.0], -1)

    def forward(self, x):
        return self.result(paddle.matmul(self.input(x), self.columns(self.weight)))


def both(scales, axis):
    given = {"scales": paddle.to_tensor(scales), "quant_axis": None if axis == -1 else axis, "bit_length": 8}
    return LinearQuanterDequanter(LinearQuanter(**given), LinearDequanter(**given))


def levelled(x, scale):
    """x in steps of 1 / 127 of a scale, from -128 to 127 of them."""
    scale = np.asarray(scale, "float32")
    levels = np.clip(np.rint(x / scale * np.float32(127)), -128, 127)
    return (levels * scale / np.float32(127)).astype("float32")


@pytest.mark.parametrize("way", WAYS)
def test_models_that_quantise(way, rng, tmp_path):
    weight = rng.standard_normal((6, 3)).astype("float32")
    columns = np.abs(weight).max(0) * np.float32(0.9)  # so that some are cut off
    run = WAYS[way](saved(Quantised(weight, columns), tmp_path))
    for n in SIZES:
        x = (3 * rng.standard_normal((n, 6))).astype("float32")
        sums = levelled(x, 2.0) @ levelled(weight, columns)
        found, expected = run(x), levelled(sums, 5.0)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        # A sum in the middle between two levels may become either.
        position = sums / np.float32(5.0) * np.float32(127)
        clear = np.abs(position - np.floor(position) - 0.5) > 1e-3
        np.testing.assert_allclose(found[clear], expected[clear], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(found, expected, atol=5.0 / 127 * 1.001)
