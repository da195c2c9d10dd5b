"""Mixed precision and loss scaling."""

import math

import numpy as np
import pytest

import paddle
from paddle import amp, nn


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_auto_cast(dtype):
    layer, x = nn.Linear(4, 4), paddle.ones([2, 4])
    low = getattr(paddle, dtype)
    with amp.auto_cast(dtype=dtype):
        assert amp.is_autocast_enabled() and amp.get_autocast_dtype() == dtype
        y = layer(x)
        assert y.dtype == low and nn.functional.softmax(y).dtype == paddle.float32
        assert (y + y).dtype == low
        with amp.auto_cast(enable=False):
            assert layer(x).dtype == paddle.float32
        assert layer(x).dtype == low
    assert not amp.is_autocast_enabled() and layer(x).dtype == paddle.float32
    y.astype("float32").sum().backward()
    assert layer.weight.grad.dtype == paddle.float32
    np.testing.assert_allclose(layer.weight.grad.numpy(), 2.0)


def test_lists_and_levels():
    x = paddle.ones([2, 2])
    with amp.auto_cast(dtype="bfloat16", custom_black_list={"matmul_v2"}, custom_white_list={"softmax"}):
        assert paddle.matmul(x, x).dtype == paddle.float32
        assert nn.functional.softmax(x).dtype == paddle.bfloat16
    low = x.astype("bfloat16")
    for level, promote, same, mixed in (
        ("O1", True, paddle.float32, paddle.float32),
        ("O2", True, paddle.float32, paddle.float32),
        ("O2", False, paddle.bfloat16, paddle.bfloat16),
        ("OD", True, paddle.float32, paddle.float32),
    ):
        with amp.auto_cast(dtype="bfloat16", level=level, use_promote=promote):
            assert (x + x).dtype == same and (x + low).dtype == mixed
            assert (low + low).dtype == (paddle.float32 if level == "OD" else paddle.bfloat16)
            assert paddle.matmul(x, x).dtype == paddle.bfloat16
            assert nn.functional.softmax(low).dtype == paddle.float32

    @amp.auto_cast(dtype="bfloat16")
    def run():
        return paddle.matmul(x, x).dtype

    assert run() == paddle.bfloat16
    for bad in ({"level": "O5"}, {"dtype": "int8"}, {"custom_white_list": {"add"}, "custom_black_list": {"add"}}):
        with pytest.raises(ValueError, match="auto_cast"):
            amp.auto_cast(**bad)


def test_decorate():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1D(2), nn.LayerNorm(2))
    opt = paddle.optimizer.AdamW(parameters=net.parameters())
    net, opt = amp.decorate(net, opt, level="O2", dtype="bfloat16", save_dtype="float32", excluded_layers=net[2])
    assert [net[i].weight.dtype for i in range(3)] == [paddle.bfloat16, paddle.float32, paddle.float32]
    assert opt._multi_precision
    assert {v.dtype for v in net.state_dict().values()} == {paddle.float32}
    with amp.auto_cast(dtype="bfloat16", level="O2"):
        net(paddle.ones([3, 2])).astype("float32").sum().backward()
    opt.step()
    assert len(opt.state_dict()["master_weights"]) == 2
    with pytest.raises(ValueError, match="level"):
        amp.decorate(net, level="O7")


def test_loss_scaling():
    layer = nn.Linear(2, 2)
    opt = paddle.optimizer.SGD(0.1, layer.parameters())
    scaler = amp.GradScaler(init_loss_scaling=8.0, incr_every_n_steps=2, decr_every_n_nan_or_inf=2)

    def backward():
        opt.clear_grad(False)
        scaler.scale(layer(paddle.ones([1, 2])).sum()).backward()

    backward()
    assert layer.weight.grad.numpy().max() == 8.0
    scaler.unscale_(opt)
    assert layer.weight.grad.numpy().max() == 1.0
    with pytest.raises(RuntimeError, match="unscale_"):
        scaler.unscale_(opt)
    before = layer.weight.numpy().copy()
    scaler.step(opt)
    np.testing.assert_allclose(layer.weight.numpy(), before - 0.1, rtol=1e-5)
    with pytest.raises(RuntimeError, match="step"):
        scaler.step(opt)
    scaler.update()
    backward()
    scaler.minimize(opt, None)
    assert scaler.state_dict()["scale"] == 16.0
    before = layer.weight.numpy().copy()
    for expected in (16.0, 8.0):
        backward()
        layer.weight.grad = paddle.full([2, 2], math.inf)
        scaler.step(opt)
        scaler.update()
        assert scaler.state_dict()["scale"] == expected
    np.testing.assert_array_equal(layer.weight.numpy(), before)
    other = amp.GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    scale = scaler.state_dict()["scale"]
    assert type(scale) is np.ndarray and scale.dtype == "float32" and scale.shape == (1,)  # in files of the reference
    off = amp.GradScaler(enable=False)
    loss = paddle.ones([1])
    assert off.scale(loss) is loss and off.state_dict() == {} and not off.is_enable()
    with pytest.raises(ValueError, match="decr_ratio"):
        amp.GradScaler(decr_ratio=2.0)
    for scale in (0.0, -1.0, float("inf")):
        with pytest.raises(ValueError, match="scale above 0"):
            amp.GradScaler(init_loss_scaling=scale)
        with pytest.raises(ValueError, match="scale above 0"):
            off.set_init_loss_scaling(scale)


def test_layers_that_float16_spares():
    def dtypes(dtype):
        net = nn.Sequential(
            nn.Linear(2, 2), nn.LayerNorm(2), nn.GroupNorm(1, 2), nn.InstanceNorm2D(2), nn.BatchNorm2D(2)
        )
        amp.decorate(net, level="O2", dtype=dtype)
        return [net[0].weight.dtype, net[1].weight.dtype, net[2].weight.dtype, net[3].scale.dtype, net[4].weight.dtype]

    half, low, wide = paddle.float16, paddle.bfloat16, paddle.float32
    assert dtypes("float16") == [half, wide, half, wide, wide]
    assert dtypes("bfloat16") == [low, low, low, low, wide]


@pytest.mark.parametrize("master_grad", [False, True])
def test_master_gradients(master_grad):
    net = nn.Linear(2, 2)
    opt = paddle.optimizer.SGD(1.0, net.parameters())
    net, opt = amp.decorate(net, opt, level="O2", dtype="bfloat16", master_grad=master_grad)
    for value in (1.0, 2.0**-10):  # the second is lost in bfloat16
        net(paddle.full([1, 2], value, "bfloat16")).sum().backward()
    grad = net.weight.grad
    assert grad.dtype == (paddle.float32 if master_grad else paddle.bfloat16)
    assert grad.numpy().max() == 1.0 + (2.0**-10 if master_grad else 0.0)
    before = {p.name: p.astype("float32").numpy().copy() for p in net.parameters()}
    opt.step()
    got = opt._master_weights[net.weight.name].numpy()
    np.testing.assert_allclose(got, before[net.weight.name] - grad.astype("float32").numpy(), rtol=1e-6)


def test_infinities_are_found_in_one_go(rng):
    """However many gradients there are, the scaler reads one number; large finite ones are fine."""
    from umiak.runtime.observe import observe

    params = [paddle.create_parameter([3, 4], "float32") for _ in range(20)]
    opt = paddle.optimizer.SGD(0.1, params)
    for p in params:
        p.grad = paddle.full([3, 4], 3e38)
    names = []
    scaler = amp.GradScaler(init_loss_scaling=1.0)
    with observe(lambda op, *rest: names.append(op.name)):
        scaler.unscale_(opt)
    assert not scaler._found_inf and "isfinite" not in names
    for bad in (math.inf, -math.inf, math.nan):
        scaler.update()
        params[7].grad[1, 2] = bad
        scaler.unscale_(opt)
        assert scaler._found_inf
        params[7].grad = paddle.ones([3, 4])


def test_a_scaler_minimises():
    layer = nn.Linear(2, 2)
    opt = paddle.optimizer.SGD(0.1, layer.parameters())
    scaler = amp.GradScaler(init_loss_scaling=8.0, incr_every_n_steps=1)
    loss = scaler.scale(layer(paddle.ones([1, 2])).sum())
    loss.backward()
    ops, pairs = scaler.minimize(opt, loss)
    assert ops == [] and [p is q for (p, _), q in zip(pairs, layer.parameters())] == [True, True]
    assert pairs[0][1].tolist() == [[1.0, 1.0], [1.0, 1.0]] and scaler.state_dict()["scale"] == 16.0
    fixed = amp.GradScaler(init_loss_scaling=8.0, use_dynamic_loss_scaling=False)
    layer.weight.grad[0, 0] = math.nan
    assert fixed.minimize(opt, loss) == (None, None)
    assert fixed.state_dict()["scale"] == 8.0 and not fixed._found_inf


@pytest.mark.parametrize("level", ["O1", "O2"])
@pytest.mark.parametrize("join", ["concat", "stack", "hstack", "add", "maximum", "where", "addmm"])
def test_mixed_operands_go_to_the_wider_type(level, join):
    """What a matmul gave, in low precision, beside what it was given, eager and captured."""
    joined = {
        "concat": lambda w, x: paddle.concat([w, x]), "stack": lambda w, x: paddle.stack([w, x]),
        "hstack": lambda w, x: paddle.hstack([w, x]), "add": lambda w, x: w + x, "maximum": paddle.maximum,
        "where": lambda w, x: paddle.where(x > 0.5, w, x), "addmm": lambda w, x: paddle.addmm(x, w, w),
    }  # fmt: skip

    def run(x):
        with paddle.amp.auto_cast(level=level, dtype="bfloat16"):
            w = x @ x
            assert w.dtype == paddle.bfloat16
            return joined[join](w, x)

    x = paddle.rand([3, 3])
    eager, captured = run(x), paddle.jit.to_static(run)(x)
    assert eager.dtype == captured.dtype == (paddle.bfloat16 if join == "addmm" else paddle.float32)
    np.testing.assert_array_equal(eager.astype("float32").numpy(), captured.astype("float32").numpy())


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_batch_norm_in_low_precision_throughout(dtype):
    """Its statistics too: they move as those of float32 do, rounded."""
    x = paddle.rand([16, 3])
    low, full = paddle.nn.BatchNorm1D(3), paddle.nn.BatchNorm1D(3)
    low.to(dtype=dtype)
    y, expected = low(x.astype(dtype)), full(x)
    assert str(y.dtype).endswith(dtype) and str(low._mean.dtype).endswith(dtype)
    np.testing.assert_allclose(y.astype("float32").numpy(), expected.numpy(), atol=0.05)
    np.testing.assert_allclose(low._mean.astype("float32").numpy(), full._mean.numpy(), atol=0.01)


def test_what_packages_read_of_a_scaler_and_put_in_its_place():
    layer = paddle.nn.Linear(2, 1)
    opt = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    scaler = paddle.amp.GradScaler(init_loss_scaling=8.0, incr_every_n_steps=1)
    asked = []

    def unscale(optimizer):
        asked.append(optimizer)
        type(scaler)._unscale(scaler, optimizer)
        if len(asked) == 2:
            scaler._found_inf = paddle.to_tensor([True])  # of another rank

    scaler._unscale = unscale
    before = layer.weight.numpy().copy()
    seen = []
    for _ in range(3):
        scaler.scale(layer(paddle.ones([1, 2])).sum()).backward()
        scaler.step(opt)
        seen.append(scaler._cache_found_inf)
        scaler.update()
        opt.clear_grad()
        seen.append(scaler._scale.tolist())
    assert asked == [opt] * 3 and seen == [False, [16.0], True, [8.0], False, [16.0]]
    np.testing.assert_allclose(before - layer.weight.numpy(), [[0.2], [0.2]], rtol=1e-5)
    scaler._scale = paddle.to_tensor([4.0])
    assert scaler.scale(paddle.ones([])).item() == 4.0 and scaler._scale.dtype is paddle.float32


LISTS = {
    "auto_cast": amp.auto_cast,
    "AutoMixedPrecisionLists": paddle.static.amp.CustomOpLists,
}


@pytest.mark.parametrize("name", ["custom_white_list", "custom_black_list"])
@pytest.mark.parametrize("maker", LISTS)
def test_a_text_in_place_of_names_is_told(maker, name):
    with pytest.warns(UserWarning, match=rf"\[{maker}\] takes {name} .* of the text 'exp' .* Write \['exp'\]") as told:
        LISTS[maker](**{name: "exp"})
    assert told[0].filename == __file__


@pytest.mark.parametrize("name", ["custom_white_list", "custom_black_list"])
@pytest.mark.parametrize("maker", LISTS)
def test_names_of_ops_are_texts(maker, name):
    for names in (["exp", 3], (None,), {b"exp"}):
        with pytest.raises(TypeError, match=rf"\[{maker}\] requires names of ops as {name}, got"):
            LISTS[maker](**{name: names})
    for names in (None, (), [], "", ["exp"], ("exp",), {"exp"}, {"exp": 1}, iter(["exp"])):
        LISTS[maker](**{name: names})


@pytest.mark.parametrize("excluded", ["Linear", ["Linear"], 3, [nn.Linear, None, "Linear"]])
def test_excluded_layers_are_no_names(excluded):
    net = nn.Linear(2, 2)
    with pytest.raises(TypeError, match=r"\[decorate\] requires layers or classes of layers as excluded_layers, got"):
        amp.decorate(net, level="O2", dtype="bfloat16", excluded_layers=excluded)
    assert net.weight.dtype == paddle.float32
