"""Linear layers in 8 bits: what they compute forward and backward, with each recipe, in every way to run them."""

import numpy as np
import pytest

import paddle
from paddle.amp import fp8
from paddle.distributed.fleet.utils import recompute
from umiak.fp8 import Quantised, quantise

RECIPES = {
    "block": fp8.Recipe(),
    "row": fp8.Recipe(scaling="row"),
    "tensor": fp8.Recipe(scaling="tensor", power_of_two=False),
    "delayed": fp8.Recipe(scaling="tensor", history=3),
    "none": fp8.Recipe(scaling="none"),
    "e5m2": fp8.Recipe(forward=paddle.float8_e5m2),
}
# The blocks that a matrix [rows, contracted] and a weight [inputs, outputs] are quantised in, by kind of scaling.
BLOCKS = {"block": (1, 128), "row": (1, None), "tensor": (None, None)}


@pytest.fixture(params=RECIPES)
def recipe(request):
    return RECIPES[request.param]


def layer_of(recipe, inputs=200, outputs=150):
    return fp8.FP8Linear(inputs, outputs, recipe)


def operands(rng, rows=(4, 5), inputs=200, outputs=150):
    x = rng.standard_normal((*rows, inputs)).astype(np.float32)
    g = (rng.standard_normal((*rows, outputs)) * 1e-2).astype(np.float32)
    return x, g


def run(call, layer, x, g):
    """The output and all gradients, as arrays."""
    layer.clear_gradients()
    x = paddle.to_tensor(x, stop_gradient=False)
    y = call(x)
    y.backward(paddle.to_tensor(g))
    return [t.numpy() for t in (y, x.grad, layer.weight.grad, layer.bias.grad)]


def restored(x, dtype, block, recipe):
    """The float64 numbers that a matrix is quantised to."""
    x = paddle.to_tensor(x)
    factor = paddle.ones([1, 1]) if recipe.scaling == "none" else None
    q: Quantised = quantise(
        x, dtype, BLOCKS["tensor"] if factor is not None else block, power_of_two=recipe.power_of_two, factor=factor
    )
    return q.dequantise().numpy().astype(np.float64)


def expected(layer, x, g, recipe):
    """The output and all gradients in float64, of operands that are quantised along what each matmul contracts."""
    left = BLOCKS.get(recipe.scaling, (None, None))
    right, weight = left[::-1], (128, 128) if recipe.scaling == "block" else left[::-1]
    transposed = (128, 128) if recipe.scaling == "block" else left
    x, g = x.reshape(-1, x.shape[-1]), g.reshape(-1, g.shape[-1])
    w = layer.weight.numpy()
    to, back = recipe.forward, recipe.backward
    y = restored(x, to, left, recipe) @ restored(w, to, weight, recipe) + layer.bias.numpy()
    to_x = restored(g, back, left, recipe) @ restored(w, to, transposed, recipe).T
    to_w = restored(x, to, right, recipe).T @ restored(g, back, right, recipe)
    return y, to_x, to_w, g.astype(np.float64).sum(0)


def test_every_matmul_is_of_quantised_operands(recipe, rng):
    """Against float64: the sums alone are rounded."""
    layer = layer_of(recipe)
    x, g = operands(rng)
    for found, wanted in zip(run(layer, layer, x, g), expected(layer, x, g, recipe), strict=True):
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(found.reshape(wanted.shape), wanted, rtol=1e-5, atol=2e-6 * scale)


def test_gradients_are_near_those_of_the_exact_layer(recipe, rng):
    """Within the rounding of the formats: 2⁻⁴ for three bits, 2⁻³ for two, of each of two factors."""
    layer, exact = layer_of(recipe), paddle.nn.Linear(200, 150)
    exact.set_state_dict(layer.state_dict())
    x, g = operands(rng)
    for found, wanted in zip(run(layer, layer, x, g), run(exact, exact, x, g), strict=True):
        assert np.linalg.norm(found - wanted) <= (2.0**-3 + 2.0**-3) / 2 * np.linalg.norm(wanted)


@pytest.mark.parametrize("way", ["captured", "recomputed", "captured and recomputed"])
@pytest.mark.parametrize("name", ["block", "row", "delayed"])
def test_ways_to_run(name, way, rng):
    recipe = RECIPES[name]
    layer = layer_of(recipe)
    x, g = operands(rng)
    eager = run(layer, layer, x, g)
    call = (lambda x: recompute(layer, x)) if "recomputed" in way else layer.forward
    call = paddle.jit.to_static(call) if "captured" in way else call
    if recipe.is_delayed:
        for role in ("input", "weight", "gradient"):
            getattr(layer, f"{role}_amax").zero_()
    for found, wanted in zip(run(call, layer, x, g), eager, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6 * np.abs(wanted).max())


def test_saved_in_operators_of_the_reference(recipe, rng, tmp_path):
    layer = layer_of(recipe)
    layer.eval()
    x, _ = operands(rng)
    paddle.jit.save(layer, str(tmp_path / "m"), input_spec=[paddle.static.InputSpec([None, None, 200])])
    loaded = paddle.jit.load(str(tmp_path / "m"))
    for rows in (x, x[:1, :2]):
        wanted = layer(paddle.to_tensor(rows)).numpy()
        np.testing.assert_allclose(loaded(paddle.to_tensor(rows)).numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_weights_are_stored_once_and_inputs_in_8_bits(rng):
    """What a forward pass keeps beside the parameters: codes of the input, and one scale per block."""
    layer = layer_of(RECIPES["block"], 512, 256)
    kept = []
    x = paddle.to_tensor(rng.standard_normal((256, 512)).astype(np.float32), stop_gradient=False)
    with paddle.autograd.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        layer(x)
    own = {id(layer.weight), id(layer.bias)}
    sizes = [(t.dtype.name, t.size) for t in kept if id(t) not in own and t.data_ptr() != layer.weight.data_ptr()]
    assert sorted(sizes) == [("float32", 2 * 512), ("float8_e4m3fn", 256 * 512)]
    assert set(layer.state_dict()) == {"weight", "bias"}


def test_delayed_scales_are_those_of_the_steps_before(rng):
    """The factor of a step follows from the largest magnitude of the last three; before there is one, from its own."""
    layer = fp8.FP8Linear(4, 4, fp8.Recipe(scaling="tensor", history=3), bias_attr=False)
    paddle.assign(paddle.eye(4), layer.weight)
    outputs = []
    for largest in (1.0, 8.0, 2.0, 2.0, 2.0, 2.0):
        outputs.append(float(layer(paddle.full([1, 4], largest))[0, 0]))
        fp8.advance(layer)
    assert outputs == [1, 1.75, 2, 2, 2, 2]  # 8 is cut off at 448 / 256, as the step before had 1
    assert layer.input_amax.tolist() == [0, 2, 2, 2]
    again = fp8.FP8Linear(4, 4, layer.recipe, bias_attr=False)
    again.set_state_dict(layer.state_dict())
    assert again.input_amax.tolist() == layer.input_amax.tolist()
    fp8.advance(again)
    assert again.input_amax.tolist() == [0, 0, 2, 2]


def test_a_step_with_delayed_scales_is_one_graph(rng):
    """Histories of inputs, weights and gradients move on in a captured step as in eager ones, also if recomputed."""
    x, g = operands(rng)
    results = []
    for captured in (False, True):
        for again in (False, True):
            paddle.seed(0)
            layer = fp8.FP8Linear(200, 150, fp8.Recipe(scaling="tensor", history=2))
            optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())

            def step(x, g, layer=layer, optimizer=optimizer, again=again):
                y = recompute(layer, x) if again else layer(x)
                (y * g).sum().backward()
                optimizer.step()
                optimizer.clear_grad(set_to_zero=False)
                fp8.advance(layer)

            run_step = paddle.jit.to_static(step) if captured else step
            for k in range(3):
                run_step(paddle.to_tensor(x * (k + 1), stop_gradient=False), paddle.to_tensor(g * (k + 1)))
            results.append([v.numpy() for v in layer.state_dict().values()])
            assert layer.gradient_amax[1:3].tolist() == pytest.approx([3 * np.abs(g).max(), 2 * np.abs(g).max()])
    for other in results[1:]:
        for found, wanted in zip(other, results[0], strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_dtypes(dtype, rng):
    """The output has the input's dtype, or that of auto_cast; gradients have those of what they belong to."""
    layer = layer_of(RECIPES["block"])
    x, _ = operands(rng)
    x = paddle.to_tensor(x, stop_gradient=False)
    with paddle.amp.auto_cast(dtype=dtype):
        y = layer(x)
        (y.astype("float32") ** 2).mean().backward()
    assert (y.dtype.name, x.grad.dtype.name, layer.weight.grad.dtype.name) == (dtype, "float32", "float32")
    np.testing.assert_array_equal(y.numpy(), layer(x).astype(dtype).numpy())  # sums are not rounded before
    low = x.detach().astype(dtype)
    low.stop_gradient = False
    y = layer(low)
    y.sum().backward()
    assert y.dtype == low.dtype == low.grad.dtype


def test_convert():
    model = paddle.nn.Sequential(paddle.nn.Linear(8, 8), paddle.nn.Sequential(paddle.nn.Linear(8, 4)), paddle.nn.ReLU())
    before = dict(model.named_parameters())
    assert fp8.convert(model, RECIPES["delayed"], keep=lambda name, layer: name == "1.0") is model
    assert [type(layer).__name__ for layer in model.sublayers()] == ["FP8Linear", "Sequential", "Linear", "ReLU"]
    assert all(before[name] is p for name, p in model.named_parameters())
    assert "0.input_amax" in model.state_dict()
    assert "recipe=Recipe(scaling='tensor', history=3" in repr(model)
    single = paddle.nn.Linear(2, 2)
    assert type(fp8.convert(single)) is fp8.FP8Linear and single.recipe == fp8.Recipe()


@pytest.mark.parametrize("bias", [None, False])
def test_inputs_without_gradients(recipe, bias, rng):
    """First layers, and frozen ones: what wants a gradient gets that of the layer whose operands all want one."""
    layer = fp8.FP8Linear(200, 150, recipe, bias_attr=bias)
    x, g = (paddle.to_tensor(v) for v in operands(rng))
    layer(x).backward(g)
    alone = layer.weight.grad
    assert x.grad is None
    layer.clear_gradients(set_to_zero=False)
    x.stop_gradient = False
    layer(x).backward(g)
    np.testing.assert_array_equal(alone.numpy(), layer.weight.grad.numpy())
    wanted = x.grad.numpy()
    x.clear_grad()
    layer.weight.stop_gradient = True
    layer(x).backward(g)
    np.testing.assert_array_equal(x.grad.numpy(), wanted)


def test_without_tokens():
    """No rows, one row, and no bias."""
    for rows in (0, 1):
        layer = fp8.FP8Linear(130, 3, bias_attr=False)
        x = paddle.ones([rows, 130])
        x.stop_gradient = False
        layer(x).sum().backward()
        assert x.grad.shape == [rows, 130] and layer.weight.grad.shape == [130, 3]
        assert (layer.weight.grad.numpy() == rows).all()


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: fp8.FP8Linear(4, 4, "block"), TypeError, "a umiak.fp8.Recipe, got str"),
        (lambda: fp8.FP8Linear(4, 4)(paddle.ones([2, 3])), ValueError, r"an input of shape \[\*, 4\], got \[2, 3\]"),
        (lambda: fp8.FP8Linear(4, 4)(paddle.ones([2, 4], "int32")), TypeError, "or float16, got int32"),
        (lambda: fp8.FP8Linear(4, 4)(np.ones(4)), TypeError, "got ndarray"),
        (lambda: fp8.convert(paddle.ones([2])), TypeError, "a paddle.nn.Layer"),
        (lambda: fp8.advance([]), TypeError, "a paddle.nn.Layer"),
    ],
)  # fmt: skip
def test_mistakes(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
