"""What layers, containers, initializers and utilities do beside computing; the numbers are in test_layers_torch."""

import math

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle import nn

I = nn.initializer  # noqa: E741


def x(*shape):
    return paddle.to_tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))


@pytest.mark.parametrize("name", ["CrossEntropyLoss", "MSELoss", "L1Loss", "SmoothL1Loss", "NLLLoss", "KLDivLoss"])
def test_loss_layers(name):
    a, label = x(3, 4), paddle.to_tensor([0, 1, 2])
    functions = {"CrossEntropyLoss": F.cross_entropy, "MSELoss": F.mse_loss, "L1Loss": F.l1_loss}
    functions |= {"SmoothL1Loss": F.smooth_l1_loss, "NLLLoss": F.nll_loss, "KLDivLoss": F.kl_div}
    other = label if name in ("CrossEntropyLoss", "NLLLoss") else F.softmax(x(3, 4))
    loss = getattr(nn, name)(reduction="sum")
    assert loss(a, other).item() == pytest.approx(functions[name](a, other, reduction="sum").item())
    with pytest.raises(ValueError, match="reduction"):
        getattr(nn, name)(reduction="x")


def test_batch_norm_layer():
    layer, v = nn.BatchNorm1D(3), paddle.to_tensor([[1.0, 2.0, 3.0], [1.0, 5.0, 2.0]])
    layer(v)
    assert layer._mean.numpy() == pytest.approx([0.1, 0.35, 0.25])
    assert layer._variance.numpy() == pytest.approx([0.9, 1.125, 0.925])
    assert layer.parameters()[2].stop_gradient
    before = layer.eval()(v)
    assert layer(v).numpy() == pytest.approx(before.numpy())
    assert list(nn.BatchNorm1D(3, weight_attr=False).state_dict()) == ["bias", "_mean", "_variance"]
    assert nn.BatchNorm2D(2, data_format="NHWC")(x(1, 3, 4, 2)).shape == [1, 3, 4, 2]
    with pytest.raises(ValueError, match="rank"):
        nn.BatchNorm2D(3)(v)
    with pytest.raises(ValueError, match="batch_norm"):
        nn.BatchNorm1D(4)(v)


def test_embedding_layer():
    layer = nn.Embedding(5, 3, padding_idx=1)
    assert layer.weight.numpy()[1].tolist() == [0.0] * 3 and layer.padding_idx == 1
    layer(paddle.to_tensor([[1, 2]])).sum().backward()
    assert layer.weight.grad.numpy()[1].max() == 0.0 and layer.weight.grad.numpy()[2].min() == 1.0
    for bad in ((0, 3, None), (5, 3, 7)):
        with pytest.raises(ValueError, match="Embedding"):
            nn.Embedding(*bad)
    table = x(4, 2)
    frozen = nn.Embedding(4, 2, _weight=table, _freeze=True)
    assert frozen.weight.stop_gradient
    np.testing.assert_array_equal(frozen.weight.numpy(), table.numpy())


def test_torch_style_names():
    assert nn.Module is nn.Layer and nn.Conv2d is nn.Conv2D and nn.ModuleList is nn.LayerList and nn.SiLU is nn.Silu


@pytest.mark.parametrize(
    "name", ["Conv1D", "Conv2D", "Conv3D", "Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"]
)
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"groups": 2, "in_channels": 3}, "groups that divide"),
        ({"groups": 2, "out_channels": 3}, "groups that divide"),
        ({"groups": 0}, "groups that divide"),
        ({"kernel_size": 0}, "kernel_size, stride and dilation of 1"),
        ({"stride": 0}, "kernel_size, stride and dilation of 1"),
        ({"dilation": 0}, "kernel_size, stride and dilation of 1"),
    ],
)
def test_convolutions_refuse_sizes_that_no_call_could_have(name, arguments, text):
    with pytest.raises(ValueError, match=rf"^\[{name}\] requires {text}"):
        getattr(nn, name)(**{"in_channels": 4, "out_channels": 4, "kernel_size": 3, **arguments})


def test_rms_norm_without_weight_compares_shapes():
    assert nn.RMSNorm(3, weight_attr=False)(paddle.ones([2, 3])).shape == [2, 3]
    for wrong in (nn.RMSNorm(3, weight_attr=False), nn.RMSNorm([2, 2, 4])):
        with pytest.raises(ValueError, match=r"^\[RMSNorm\] requires x of shape"):
            wrong(paddle.ones([2, 4]))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: nn.ClipGradByNorm(0.0), "clip_norm above 0"),
        (lambda: nn.ClipGradByGlobalNorm(-1.0), "clip_norm above 0"),
        (lambda: nn.ClipGradByGlobalNorm(math.nan), "clip_norm above 0"),
        (lambda: nn.ClipGradByValue(-1.0), "max > 0"),
        (lambda: nn.ClipGradByValue(1.0, 2.0), "min <= max"),
    ],
)
def test_clipping_to_nothing_is_refused(make, text):
    with pytest.raises(ValueError, match=text):
        make()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: I.Uniform(1.0, 0.0), "low <= high"),
        (lambda: I.Normal(0.0, -1.0), "std of 0 or more"),
        (lambda: I.TruncatedNormal(0.0, 1.0, 2.0, -2.0), "a < b"),
        (lambda: I.Dirac(0), "groups of 1 or more"),
        (lambda: nn.utils.clip_grad_norm_([], -1.0), "max_norm of 0 or more"),
        (lambda: nn.utils.clip_grad_value_([], -1.0), "clip_value of 0 or more"),
        (lambda: nn.utils.spectral_norm(nn.Linear(2, 2), "bias"), "rank 2 or more"),
        (lambda: nn.utils.spectral_norm(nn.Linear(2, 2), dim=2), "one of its dims"),
        (lambda: nn.utils.weight_norm(nn.Linear(2, 2), dim=2), "one of the parameter's dims"),
    ],
)
def test_numbers_without_meaning_are_refused(make, text):
    with pytest.raises(ValueError, match=text):
        make()


# --- containers ----------------------------------------------------------------------------------------------------


def test_sequential():
    s = nn.Sequential(nn.ReLU(), nn.Linear(2, 2))
    assert len(s) == 2 and isinstance(s[-1], nn.Linear) and isinstance(s[0:1], nn.Sequential)
    s.append(nn.GELU()).insert(0, nn.Linear(1, 2)).extend([nn.Tanh()])
    assert [type(m).__name__ for m in s] == ["Linear", "ReLU", "Linear", "GELU", "Tanh"]
    assert list(s.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert s(paddle.ones([1, 1])).shape == [1, 2]
    s[1] = nn.Sigmoid()
    del s[-1]
    assert [type(m).__name__ for m in s] == ["Linear", "Sigmoid", "Linear", "GELU"]
    with pytest.raises(IndexError):
        s[9]
    del s[0]
    kept = list(s)
    s.append(nn.Tanh())
    assert list(s)[:-1] == kept and isinstance(s[-1], nn.Tanh)
    named = nn.Sequential(("a", nn.Linear(2, 2)), ("b", nn.ReLU()))
    assert named["a"] is named.a is named[0]
    assert list(nn.Sequential({"q": nn.ReLU()})._sub_layers) == ["q"]
    assert len(nn.Sequential([nn.ReLU(), nn.GELU()])) == 2


def test_layer_list():
    layers = nn.LayerList([nn.ReLU(), nn.GELU(), nn.Linear(2, 2)])
    layers.insert(1, nn.Tanh())
    del layers[0]
    layers.extend([nn.ReLU()])
    layers[0] = nn.Sigmoid()
    assert [type(m).__name__ for m in layers] == ["Sigmoid", "GELU", "Linear", "ReLU"]
    assert isinstance(layers.pop(0), nn.Sigmoid) and len(layers) == 3 and len(layers[:2]) == 2
    assert list(layers.state_dict()) == ["1.weight", "1.bias"]
    with pytest.raises(IndexError, match=r"^\[LayerList\] requires a position among 3 elements, got 10"):
        layers[10]
    with pytest.raises(TypeError):
        layers.append(3)


def test_layer_and_parameter_tables():
    d = nn.LayerDict({"a": nn.ReLU()})
    d["b"] = nn.GELU()
    d.update([("c", nn.Linear(1, 1))])
    assert list(d) == ["a", "b", "c"] and len(d) == 3 and "b" in d and list(d.state_dict()) == ["c.weight", "c.bias"]
    assert isinstance(d.pop("a"), nn.ReLU)
    d.clear()
    assert len(d) == 0
    parameters = nn.ParameterList([nn.Linear(1, n).weight for n in (1, 2)])
    parameters.append(nn.Linear(1, 3).weight)
    parameters[0] = nn.Linear(1, 4).weight
    assert [p.shape[1] for p in parameters] == [4, 2, 3] and parameters[-1].shape == [1, 3]
    assert list(parameters.state_dict()) == ["0", "1", "2"]
    table = nn.ParameterDict({"w": nn.Linear(1, 1).weight})
    assert list(table.state_dict()) == ["w"] and table["w"].shape == [1, 1]


# --- initializers --------------------------------------------------------------------------------------------------


def draw(init, *shape):
    return paddle.create_parameter(list(shape), "float32", default_initializer=init).numpy()


def test_exact_initializers():
    assert draw(I.Assign([[1.0, 2.0]]), 1, 2).tolist() == [[1.0, 2.0]]
    assert draw(I.Assign([1.0]), 2).tolist() == [1.0]  # the values bring their shape
    for shape in ((4, 6), (6, 4), (4, 2, 3)):
        q = draw(I.Orthogonal(2.0), *shape).reshape(shape[0], -1)
        q = q if q.shape[0] <= q.shape[1] else q.T
        np.testing.assert_allclose(q @ q.T, 4 * np.eye(len(q)), atol=1e-5)
    image = x(1, 3, 5, 5)
    conv = nn.Conv2D(3, 3, 3, padding=1, weight_attr=I.Dirac())
    np.testing.assert_allclose(conv(image).numpy(), image.numpy(), atol=1e-6)
    up = nn.Conv2DTranspose(1, 1, 4, stride=2, padding=1, weight_attr=I.Bilinear(), bias_attr=False)
    np.testing.assert_allclose(up(paddle.ones([1, 1, 4, 4])).numpy()[0, 0, 2:6, 2:6], 1, atol=1e-6)


def test_gains():
    for name, gain in (("tanh", 5 / 3), ("relu", 2**0.5), ("selu", 0.75), ("sigmoid", 1), ("conv2d", 1)):
        assert I.calculate_gain(name) == pytest.approx(gain)
    assert I.calculate_gain("leaky_relu", 0.5) == pytest.approx(math.sqrt(2 / 1.25))
    with pytest.raises(ValueError, match="calculate_gain"):
        I.calculate_gain("foo")


def test_global_initializer():
    I.set_global_initializer(I.Constant(7.0), I.Constant(3.0))
    try:
        layer = nn.Linear(1, 1)
        assert (layer.weight.item(), layer.bias.item()) == (7.0, 3.0)
        assert nn.Linear(1, 1, weight_attr=I.Constant(1.0)).weight.item() == 1.0
        assert nn.BatchNorm1D(1)._mean.item() == 0.0
        for own in (None, I.Constant(1.0)):  # of a function, behind those that are set for all
            made = [paddle.create_parameter([1], "float32", is_bias=b, default_initializer=own) for b in (False, True)]
            assert [p.item() for p in made] == [7.0, 3.0]
        assert paddle.create_parameter([1], "float32", attr=paddle.ParamAttr(initializer=I.Constant(1.0))).item() == 1
    finally:
        I.set_global_initializer(None)
    assert nn.Linear(1, 1).bias.item() == 0.0
    with pytest.raises(TypeError, match="set_global_initializer"):
        I.set_global_initializer(3)


def test_seed_fixes_initial_values():
    paddle.seed(5)
    a = nn.Linear(3, 3).weight.numpy().copy()
    paddle.seed(5)
    np.testing.assert_array_equal(nn.Linear(3, 3).weight.numpy(), a)


# --- utils ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [nn.utils.spectral_norm, nn.utils.weight_norm])
def test_norms_of_parameters_that_are_not_there(norm):
    with pytest.raises(KeyError, match=rf"\[{norm.__name__}\] requires the name of a parameter"):
        norm(nn.Linear(2, 2), "x")


def test_vector_of_another_dtype():
    with pytest.raises(TypeError, match=r"^\[vector_to_parameters\] requires .* float32, got float64"):
        nn.utils.vector_to_parameters(paddle.ones([2], "float64"), nn.Linear(1, 1).parameters())


def test_vector():
    layer = nn.Linear(2, 3)
    vector = nn.utils.parameters_to_vector(layer.parameters())
    assert vector.shape == [9]
    nn.utils.vector_to_parameters(vector * 0 + 1, layer.parameters())
    assert layer.weight.numpy().min() == layer.bias.numpy().max() == 1.0
    with pytest.raises(ValueError, match="9 elements"):
        nn.utils.vector_to_parameters(paddle.ones([8]), layer.parameters())


@pytest.mark.parametrize("kind", [2.0, 1.0, 3.0, math.inf])
def test_clip_grad(kind, rng):
    import torch

    grads = [rng.standard_normal(s).astype(np.float32) for s in ((3, 4), (5,))]
    mine, peer = (
        [paddle.create_parameter(list(g.shape), "float32") for g in grads],
        [torch.zeros(g.shape) for g in grads],
    )
    for m, p, g in zip(mine, peer, grads):
        m.grad, p.grad = paddle.to_tensor(g), torch.from_numpy(g.copy())
    ours = nn.utils.clip_grad_norm_(mine, 0.7, kind)
    theirs = torch.nn.utils.clip_grad_norm_(peer, 0.7, kind)
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-5)
    for m, p in zip(mine, peer):
        np.testing.assert_allclose(m.grad.numpy(), p.grad.numpy(), rtol=1e-5)
    nn.utils.clip_grad_value_(mine, 0.05)
    assert max(np.abs(m.grad.numpy()).max() for m in mine) <= np.float32(0.05)
    mine[0].grad = paddle.full([3, 4], math.nan)
    with pytest.raises(RuntimeError, match="finite"):
        nn.utils.clip_grad_norm_(mine, 1.0, error_if_nonfinite=True)


def test_weight_norm():
    layer = nn.Linear(3, 4)
    before, weight = layer(x(2, 3)).numpy(), layer.weight.numpy()
    nn.utils.weight_norm(layer, dim=1)
    assert sorted(layer.state_dict()) == ["bias", "weight_g", "weight_v"] and layer.weight_g.shape == [4]
    y = layer(x(2, 3))
    np.testing.assert_allclose(y.numpy(), before, rtol=1e-5, atol=1e-6)
    y.sum().backward()
    assert layer.weight_g.grad is not None and layer.weight_v.grad is not None
    nn.utils.remove_weight_norm(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight"]
    np.testing.assert_allclose(layer.weight.numpy(), weight, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="remove_weight_norm"):
        nn.utils.remove_weight_norm(layer)
