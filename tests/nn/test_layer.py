"""What every layer does: registries, names, hooks, state dicts, casts, copies."""

import copy
import gc
import inspect
import pickle
import sys
import warnings
import weakref

import numpy as np
import pytest

import paddle
from paddle import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 4)
        self.scale = self.create_parameter([2])
        self.register_buffer("steps", paddle.zeros([2]))
        self.register_buffer("scratch", paddle.zeros([2]), persistable=False)
        self.norm = nn.BatchNorm1D(4)

    def forward(self, x, k=1):
        return self.fc(x) * k


NAMES = ["scale", "steps", "fc.weight", "fc.bias", "norm.weight", "norm.bias", "norm._mean", "norm._variance"]


def test_names():
    with paddle.utils.unique_name.guard():
        net = Net()
    assert list(net.state_dict()) == NAMES
    assert list(net.to_static_state_dict()) == [*NAMES[:2], "scratch", *NAMES[2:]]
    assert [(n, p.name) for n, p in net.named_parameters()] == [
        ("scale", "net_0.w_0"),
        ("fc.weight", "linear_0.w_0"),
        ("fc.bias", "linear_0.b_0"),
        ("norm.weight", "batch_norm1d_0.w_0"),
        ("norm.bias", "batch_norm1d_0.b_0"),
        ("norm._mean", "batch_norm1d_0.w_1"),
        ("norm._variance", "batch_norm1d_0.w_2"),
    ]
    assert [n for n, _ in net.named_buffers()] == ["steps", "scratch"]
    assert [n for n, _ in net.named_sublayers()] == ["fc", "norm"]
    assert [n for n, _ in net.named_sublayers("p", include_self=True)] == ["p", "p.fc", "p.norm"]
    assert [n for n, _ in net.named_parameters("p", include_sublayers=False)] == ["p.scale"]
    assert next(iter(net.state_dict(structured_name_prefix="p."))) == "p.scale"
    assert [layer.full_name() for layer in net.sublayers(include_self=True)] == ["net_0", "linear_0", "batch_norm1d_0"]


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        ("Conv2DTranspose", "conv2d_transpose"),
        ("GELU", "gelu"),
        ("ReLU6", "re_lu6"),
        ("KLDivLoss", "kl_div_loss"),
        ("BCEWithLogitsLoss", "bce_with_logits_loss"),
        ("MaxUnPool1D", "max_un_pool1d"),
        ("PReLU", "p_re_lu"),
    ],
)
def test_snake_case(cls, name):
    layer = type(cls, (nn.Layer,), {})()
    assert layer.full_name().rpartition("_")[0] == name


def test_shared_parts_come_once():
    net = nn.Layer()
    net.a = net.b = nn.Linear(2, 2)
    net.w = net.a.weight
    assert [n for n, _ in net.named_parameters()] == ["w", "a.bias"]
    assert len(list(net.named_parameters(remove_duplicate=False))) == 5
    assert list(net.state_dict()) == ["w", "a.weight", "a.bias", "b.weight", "b.bias"]
    assert len(net.sublayers()) == len(list(net.children())) == 1


# --- attributes and registries -------------------------------------------------------------------------------------


def consistent(layer):
    """Every registered name is a plain attribute, and no name is registered twice."""
    names = [*layer._parameters, *layer._buffers, *layer._sub_layers]
    assert len(names) == len(set(names))
    for table in (layer._parameters, layer._buffers, layer._sub_layers):
        for name, value in table.items():
            assert layer.__dict__[name] is value


def test_registries_follow_attributes():
    net = Net()
    assert not hasattr(type(net), "__getattr__")
    consistent(net)
    net.scale = None
    assert net._parameters["scale"] is None and net.scale is None
    net.steps = paddle.ones([2])
    assert net._buffers["steps"] is net.steps
    net.extra = paddle.ones([1])
    assert "extra" in net._buffers and "extra" not in net.state_dict()
    net.extra = nn.Linear(1, 1).weight
    assert "extra" in net._parameters and "extra" not in net._buffers
    del net.fc
    assert "fc" not in net._sub_layers and not hasattr(net, "fc")
    consistent(net)
    with pytest.raises(AttributeError):
        _ = net.fc


def test_attributes_follow_registries():
    net = Net()
    weight = nn.Linear(3, 4).weight
    net.fc._parameters["weight"] = weight
    assert net.fc.weight is weight
    net._sub_layers["fc"] = other = nn.Linear(3, 4)
    assert net.fc is other
    assert net._sub_layers.pop("norm") is not None and not hasattr(net, "norm")
    net._buffers.update(steps=paddle.ones([3]))
    assert net.steps.shape == [3]
    net._buffers.clear()
    assert not hasattr(net, "scratch")
    net._parameters.setdefault("late", weight)
    assert net.late is weight
    del net._parameters["late"]
    net._sub_layers = {"only": nn.ReLU()}
    assert net._sub_layers["only"] is net.only
    consistent(net)


@pytest.mark.parametrize(
    ("act", "kind"),
    [
        (lambda n: setattr(n, "scale", paddle.zeros([2])), TypeError),
        (lambda n: setattr(n, "scale", 3), TypeError),
        (lambda n: setattr(n, "fc", 3), TypeError),
        (lambda n: setattr(n, "steps", 3), TypeError),
        (lambda n: n.add_parameter("a.b", None), KeyError),
        (lambda n: n.add_parameter("fc", n.fc.weight), KeyError),
        (lambda n: n.add_parameter("z", 5), TypeError),
        (lambda n: n.register_buffer("z", 5), TypeError),
        (lambda n: n.register_buffer("fc", paddle.zeros([1])), KeyError),
        (lambda n: n.add_sublayer("z", 3), TypeError),
        (lambda n: n.get_sublayer("a.b"), AttributeError),
        (lambda n: n.get_parameter("fc.a"), AttributeError),
        (lambda n: n.get_buffer("scale"), AttributeError),
        (lambda n: n.set_sublayer("nope", nn.ReLU(), strict=True), AttributeError),
        (lambda n: n.create_parameter([2], attr=3), TypeError),
        (lambda n: nn.Layer()(1), NotImplementedError),
    ],
)
def test_refused(act, kind):
    net = Net()
    with pytest.raises(kind):
        act(net)
    consistent(net)


def test_assigning_before_init():
    class Early(nn.Layer):
        def __init__(self):
            self.fc = nn.Linear(1, 1)

    with pytest.raises(RuntimeError, match="super"):
        Early()


def test_lookups():
    net = Net()
    assert net.get_sublayer("fc") is net.get_submodule("fc") is net.fc
    assert net.get_sublayer("") is net
    assert net.get_parameter("fc.weight") is net.fc.weight
    assert net.get_buffer("steps") is net.steps
    net.set_sublayer("fc", nn.ReLU())
    assert isinstance(net.fc, nn.ReLU)


def test_a_layer_is_freed_without_the_cycle_collector():
    gc.disable()
    try:
        net = Net()
        net.register_forward_post_hook(lambda *a: None)
        ref, weight = weakref.ref(net), weakref.ref(net.fc.weight)
        del net
        assert ref() is None and weight() is None
    finally:
        gc.enable()


# --- calls and hooks -----------------------------------------------------------------------------------------------


def test_hooks_in_order():
    net, log = Net(), []
    net.register_forward_pre_hook(lambda layer, i: log.append("pre"))
    net.register_forward_pre_hook(
        lambda layer, i, k: (log.append("first"), (i, {"k": 5}))[1], prepend=True, with_kwargs=True
    )
    net.register_forward_post_hook(lambda layer, i, o: log.append("post"))
    net.register_forward_post_hook(lambda layer, i, k, o: (log.append(k), o * 2)[1], with_kwargs=True)
    x = paddle.ones([1, 3])
    y = net(x, k=2)
    assert log == ["first", "pre", "post", {"k": 5}]
    np.testing.assert_allclose(y.numpy(), (net.fc(x) * 10).numpy(), rtol=1e-6)


def test_hooks_behind_forward():
    """One after the other, on what the one before has made; an error of one is the call's."""
    layer, seen = nn.Linear(2, 2), []
    x = paddle.ones([1, 2])
    plain = layer(x)

    def double(own, inputs, outputs):
        assert own is layer and type(inputs) is tuple and len(inputs) == 1 and inputs[0] is x
        seen.append(outputs)
        return outputs * 2

    first = layer.register_forward_post_hook(double)
    layer.register_forward_post_hook(double)
    layer.register_forward_post_hook(lambda own, inputs, outputs: seen.append(outputs))
    assert layer(x).tolist() == (plain * 4).tolist() == seen[2].tolist()
    first.remove()
    assert layer(x).tolist() == (plain * 2).tolist()
    layer.register_forward_post_hook(lambda own, inputs, kwargs, outputs: outputs + len(kwargs), with_kwargs=True)
    assert layer(x).tolist() == (plain * 2).tolist()

    def fails(own, inputs, outputs):
        raise KeyError("mine")

    other = nn.Linear(2, 2)
    other.register_forward_post_hook(fails)
    with pytest.raises(KeyError, match="mine"):
        other(x)


def test_a_hook_may_change_the_hooks():
    """A call runs the hooks that were there when its loop began."""
    layer, log = nn.ReLU(), []

    def once(layer, inputs, output):
        log.append("once")
        handle.remove()
        layer.register_forward_post_hook(lambda *a: log.append("later"))

    handle = layer.register_forward_post_hook(once)
    layer.register_forward_post_hook(lambda *a: log.append("other"))
    layer(paddle.ones([1]))
    assert log == ["once", "other"]
    layer(paddle.ones([1]))
    assert log == ["once", "other", "other", "later"]


def test_tables_of_hooks_are_dicts():
    layer, log = nn.ReLU(), []
    table = layer._forward_post_hooks
    layer.register_forward_post_hook(lambda *a: log.append(1))
    again = copy.deepcopy(layer)
    table[-1] = lambda *a: log.append(2)
    layer(paddle.ones([1]))
    assert log == [1, 2]
    del table[-1]
    layer(paddle.ones([1]))
    assert log == [1, 2, 1]
    table.clear()
    layer(paddle.ones([1]))
    assert log == [1, 2, 1]
    again(paddle.ones([1]))
    assert log == [1, 2, 1, 1]


def test_hooks_replace_inputs_and_are_removed():
    layer = nn.Identity()
    pair = layer.register_forward_pre_hook(lambda layer, i: (i[0] * 2,))
    one = layer.register_forward_pre_hook(lambda layer, i: i[0] + 1)
    assert layer(paddle.to_tensor(3.0)).item() == 7.0
    pair.remove()
    pair.remove()
    assert layer(paddle.to_tensor(3.0)).item() == 4.0
    one.remove()
    assert layer(paddle.to_tensor(3.0)).item() == 3.0
    layer.register_forward_pre_hook(lambda layer, i, k: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="pre-hook"):
        layer(paddle.to_tensor(3.0))


def test_always_call():
    class Fails(nn.Layer):
        def forward(self, x):
            raise ValueError("no")

    layer, log = Fails(), []
    layer.register_forward_post_hook(lambda *a: log.append("skipped"))
    layer.register_forward_post_hook(lambda layer, i, o: log.append(o), always_call=True)
    with pytest.raises(ValueError, match="no"):
        layer(1)
    assert log == [None]
    layer.register_forward_post_hook(lambda *a: 1 / 0, always_call=True)
    with pytest.warns(UserWarning, match="always_call"), pytest.raises(ValueError, match="no"):
        layer(1)


def test_an_instance_may_replace_forward():
    layer = nn.ReLU()
    layer.forward = lambda x: x + 1
    assert layer(paddle.to_tensor(1.0)).item() == 2.0


# --- parameters ----------------------------------------------------------------------------------------------------


def test_create_parameter():
    layer = nn.Layer("foo")
    assert layer.create_parameter([2], attr=False) is None
    assert layer.create_parameter([2], is_bias=True).tolist() == [0.0, 0.0]
    assert layer.create_parameter([2], "named").name == "named"
    assert layer.create_parameter([2], nn.initializer.Constant(3.0)).tolist() == [3.0, 3.0]
    attr = paddle.ParamAttr("hello", learning_rate=0.5, trainable=False, need_clip=False)
    p = layer.create_parameter([2], attr, dtype="float64")
    assert (p.name, p.stop_gradient, p.optimize_attr, p.need_clip) == ("hello", True, {"learning_rate": 0.5}, False)
    assert p.dtype == paddle.float64


def test_modes_and_gradients():
    net = Net()
    assert net.eval() is net and not net.fc.training and net.train().fc.training
    net(paddle.ones([2, 3])).sum().backward()
    net.clear_gradients()
    assert net.fc.weight.grad.numpy().max() == 0.0
    net.zero_grad()
    assert net.fc.weight.grad is None
    net.requires_grad_(False)
    assert net(paddle.ones([2, 3])).stop_gradient
    seen = []
    net.apply(lambda layer: seen.append(layer))
    assert seen == [net.fc, net.norm, net]


# --- state dicts ---------------------------------------------------------------------------------------------------


def test_state_dict_round_trip():
    a, b = Net(), Net()
    assert b.set_state_dict(a.state_dict()) == ([], [])
    for name, value in b.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), a.state_dict()[name].numpy())
    weight = b.fc.weight
    b.set_state_dict({k: v.numpy() + 1 for k, v in a.state_dict().items()})
    assert b.fc.weight is weight
    np.testing.assert_allclose(weight.numpy(), a.fc.weight.numpy() + 1)
    by_name = {p.name: p * 0 for _, p in b.named_parameters()} | {b.steps.name: b.steps}
    assert b.set_state_dict(by_name, use_structured_name=False) == ([], [])
    assert weight.numpy().max() == 0.0


def test_state_dict_that_does_not_fit():
    layer = nn.Linear(2, 3)
    with pytest.warns(UserWarning, match="bias is not found"):
        assert layer.set_state_dict({"weight": paddle.zeros([2, 3])}) == (["bias"], [])
    with pytest.warns(UserWarning, match=r"\[2, 3\] is required"):
        missing, unexpected = layer.set_state_dict(
            {"weight": paddle.zeros([3, 3]), "bias": paddle.zeros([3]), "foo": paddle.ones([1])}
        )
    assert (missing, unexpected) == (["weight"], ["weight", "foo"])
    with pytest.raises(TypeError, match="float32"):
        layer.set_state_dict({"weight": paddle.zeros([2, 3], "float64"), "bias": paddle.zeros([3])})


def test_load_state_dict():
    layer, other = nn.Linear(2, 3), nn.Linear(2, 3)
    found = layer.load_state_dict(other.state_dict())
    assert found == ([], [])
    assert repr(found) == "<All keys matched successfully>"
    with pytest.raises(RuntimeError, match=r"Missing key.*'bias'"):
        layer.load_state_dict({"weight": paddle.zeros([2, 3])})
    assert layer.load_state_dict({"weight": paddle.zeros([2, 3])}, strict=False).missing_keys == ["bias"]
    layer.load_state_dict({k: v.astype("float64") for k, v in other.state_dict().items()}, assign=True)
    assert layer.weight.dtype == paddle.float64


def test_state_dict_hooks_and_views():
    net = Net()
    handle = net.register_state_dict_hook(lambda state: {**state, "more": 1})
    assert "more" in net.state_dict()
    handle.remove()
    assert "more" not in net.state_dict()
    inner = net.fc.register_state_dict_hook(lambda state: dict.fromkeys(state, 0))
    assert set(net.state_dict().values()) >= {0}
    inner.remove()
    assert net.state_dict()["scale"] is net.scale
    assert net.state_dict(keep_vars=False)["scale"].stop_gradient
    mine = {}
    assert net.state_dict(destination=mine) is mine


# --- casting, copying, printing ------------------------------------------------------------------------------------


def test_casts():
    net = Net()
    net.register_buffer("count", paddle.ones([1], "int64"))
    weight = net.fc.weight
    assert net.to(dtype="float64") is net
    assert net.fc.weight is weight and weight.dtype == paddle.float64 and net.count.dtype == paddle.int64
    assert not weight.stop_gradient and net.create_parameter([1]).dtype == paddle.float64
    net.bfloat16(excluded_layers=nn.BatchNorm1D)
    assert weight.dtype == paddle.bfloat16 and net.norm.weight.dtype == paddle.float64
    assert net.float().astype("float64").double().half().fc.weight.dtype == paddle.float16
    assert net.cpu() is net
    with pytest.raises(ValueError, match="floating"):
        net.astype("int32")


def test_deep_copy():
    net = Net()
    other = copy.deepcopy(net)
    consistent(other)
    assert other.fc.weight is not net.fc.weight and other.fc.weight.name != net.fc.weight.name
    np.testing.assert_array_equal(other.fc.weight.numpy(), net.fc.weight.numpy())
    assert not other.fc.weight.stop_gradient
    other.fc._parameters["weight"] = None
    assert net.fc.weight is not None and other.fc.weight is None


def test_pickle():
    net = pickle.loads(pickle.dumps(nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3))))
    consistent(net[0])
    assert isinstance(net[0].weight, nn.Parameter)
    assert net(paddle.ones([1, 2])).shape == [1, 3]


@pytest.mark.parametrize(
    ("layer", "text"),
    [
        (lambda: nn.Linear(3, 4), "Linear(in_features=3, out_features=4, dtype=float32)"),
        (lambda: nn.Embedding(3, 4), "Embedding(3, 4, sparse=False, scale_grad_by_freq=False)"),
        (lambda: nn.Conv2D(1, 2, 3, padding=1), "Conv2D(1, 2, kernel_size=[3, 3], padding=1, data_format=NCHW)"),
        (lambda: nn.Dropout(0.3), "Dropout(p=0.3, axis=None, mode=upscale_in_train, inplace=False)"),
        (lambda: nn.LayerNorm(3), "LayerNorm(normalized_shape=[3], epsilon=1e-05)"),
        (lambda: nn.BatchNorm2D(3), "BatchNorm2D(num_features=3, momentum=0.9, epsilon=1e-05)"),
        (lambda: nn.MaxPool2D(2), "MaxPool2D(kernel_size=2, stride=None, padding=0)"),
        (lambda: nn.GELU(), "GELU(approximate=False)"),
        (lambda: nn.ReLU(), "ReLU()"),
        (lambda: nn.Softplus(), "Softplus(beta=1, threshold=20)"),
        (
            lambda: nn.Conv2DTranspose(2, 3, 3, stride=2),
            "Conv2DTranspose(2, 3, kernel_size=[3, 3], stride=[2, 2], data_format=NCHW)",
        ),
        (
            lambda: nn.Upsample(scale_factor=2),
            "Upsample(scale_factor=2, mode=nearest, align_corners=False, align_mode=0, data_format=None)",
        ),
        (lambda: nn.Pad2D(1), "Pad2D(padding=[1, 1, 1, 1], mode=constant, value=0.0, data_format=NCHW)"),
        (
            lambda: nn.Sequential(("a", nn.Linear(2, 2)), ("b", nn.ReLU())),
            "Sequential(\n  (a): Linear(in_features=2, out_features=2, dtype=float32)\n  (b): ReLU()\n)",
        ),
    ],
)
def test_repr(layer, text):
    assert repr(layer()) == text


def test_construction_warns_of_nothing():
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        Net()
    assert not given


# --- calls without frames of their own -------------------------------------------------------------------------------


class Counted(nn.Layer):
    """Adds 1, and counts its calls where it has a ``__call__`` of its own."""

    def forward(self, x):
        return x + 1


class CountedCalls(Counted):
    calls = 0

    def __call__(self, x):
        self.calls += 1
        return super().__call__(x)


def frames_of(call):
    found = []
    sys.setprofile(lambda frame, event, arg: found.append(frame.f_code.co_qualname) if event == "call" else None)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [name for name in found if not name.startswith("frames_of")]


def test_a_plain_call_is_its_forward():
    x = paddle.zeros([2])
    layer, net = Counted(), nn.Sequential(Counted(), Counted())
    net(layer(x))  # makes plans
    assert frames_of(lambda: layer(x))[1:] == ["Counted.forward"]
    assert frames_of(lambda: net(x))[1:] == ["Sequential.forward", "Counted.forward", "Counted.forward"]
    assert inspect.signature(nn.Layer.__call__) == inspect.signature(nn.Layer.__call__.function)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        layer(x, y=1)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        layer()


def test_what_is_around_a_layer_is_seen_in_a_row_of_them():
    x = paddle.zeros([2])
    own, plain = CountedCalls(), Counted()
    net = nn.Sequential(own, plain, nn.Sequential(plain))
    assert net(x).tolist() == [3.0, 3.0] and own.calls == 1
    before = plain.register_forward_pre_hook(lambda layer, inputs: (inputs[0] * 2,))
    after = plain.register_forward_post_hook(lambda layer, inputs, output: output + 10)
    assert net(x).tolist() == [37.0, 37.0]  # ((0 + 1) * 2 + 11) * 2 + 11
    assert plain(x).tolist() == [11.0, 11.0]
    before.remove()
    after.remove()
    assert net(x).tolist() == [3.0, 3.0]
    plain.forward = lambda x: x - 1
    assert net(x).tolist() == [-1.0, -1.0] and plain(x).tolist() == [-1.0, -1.0]
    with pytest.raises(AttributeError, match="_forward_pre_hooks"):
        Counted.__new__(Counted)(x)


def test_numbers_of_selu_are_shown_with_sixteen_digits():
    assert str(nn.SELU(1.5, 0.7)) == "SELU(scale=1.5000000000000000, alpha=0.7000000000000000)"


@pytest.mark.parametrize(
    "clip",
    [nn.ClipGradByValue(0.5), nn.ClipGradByNorm(0.5), nn.ClipGradByGlobalNorm(0.5)],
    ids=lambda c: type(c).__name__,
)
def test_pairs_without_a_gradient_are_left_out_by_clipping(clip):
    a, b = paddle.zeros([2]), paddle.zeros([2])
    pairs = clip([(a, None), (b, paddle.ones([2]))])
    assert [p is b for p, _ in pairs] == [True]


def test_losses_refuse_numbers_without_a_meaning():
    with pytest.raises(ValueError, match="margin from -1 to 1"):
        nn.CosineEmbeddingLoss(2.0)
    with pytest.raises(ValueError, match="epsilon > 0"):
        nn.PoissonNLLLoss(epsilon=-1.0)


def test_one_length_of_a_weight_has_no_dims():
    layer = nn.utils.weight_norm(nn.Conv2D(2, 3, 2), dim=None)
    assert layer.weight_g.shape == []
    assert layer(paddle.ones([1, 2, 2, 2])).shape == [1, 3, 1, 1]
    assert nn.utils.remove_weight_norm(layer).weight.shape == [3, 2, 2, 2]


def test_names_that_subclasses_call():
    class Counts(nn.Layer):
        calls = 0

        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 2)
            self.own = self.create_parameter([2])
            self.register_buffer("seen", paddle.zeros([1]), persistable=False)

        def __call__(self, *inputs, **kwargs):
            self.calls += 1
            return self._dygraph_call_func(*inputs, **kwargs)

        def forward(self, x, *, scale=1.0):
            return self.inner(x) * scale

        def extra_repr(self):
            return f"named {self._get_name()}"

    layer, x = Counts(), paddle.ones([1, 2])
    layer.register_forward_post_hook(lambda _, given, result: result + given[0])
    np.testing.assert_allclose(layer(x, scale=2.0).numpy(), (layer.inner(x) * 2.0 + x).numpy(), rtol=1e-6)
    assert layer.calls == 1 and repr(layer).startswith("Counts(named Counts\n")
    assert layer._non_persistent_buffers_set == {"seen"}
    assert layer._to_impl(dtype="float64", include_sublayers=False) is layer
    kinds = [str(x.dtype) for x in (layer.own, layer.seen, layer.inner.weight)]
    assert kinds == ["paddle.float64", "paddle.float64", "paddle.float32"]
    assert layer._to_impl(dtype="float64").inner.weight.dtype == paddle.float64


def test_layers_that_convert_themselves():
    """`_apply` and `_transform`, which `to` calls, are a class's own where it has some."""
    seen = []

    class Kept(paddle.nn.Linear):
        def _apply(self, func, device, dtype, blocking, include_sublayers=True):
            seen.append((str(dtype), include_sublayers))
            super()._apply(func, device, None, blocking, include_sublayers)

    class Outer(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.kept, self.other = Kept(2, 3), paddle.nn.Linear(3, 2)
            self.register_buffer("count", paddle.zeros([1], "int64"))

        def _transform(self, t, device, dtype, blocking):
            seen.append(t.name)
            return super()._transform(t, device, dtype, blocking)

    layer = Outer()
    layer.other(paddle.ones([1, 3])).sum().backward()
    weight = layer.other.weight
    assert layer.to(dtype="float64") is layer
    kinds = [str(x.dtype) for x in (layer.kept.weight, weight, weight.grad, layer.count)]
    assert kinds == ["paddle.float32", "paddle.float64", "paddle.float64", "paddle.int64"]
    assert seen[0] == ("paddle.float64", True) and weight.name in seen and layer.other.weight is weight
    layer._apply(lambda t, *rest: t * 0 + 1 if t.dtype == paddle.int64 else t, None, None, None)
    assert layer.count.item() == 1 and "count" in layer._buffers


def test_layers_that_do_something_before_their_first_call():
    class Lazy(paddle.nn.Layer):
        def _build_once(self, x, scale=1.0):
            self.weight = self.create_parameter([x.shape[1], 2])
            self.built_with = x.shape, scale

        def forward(self, x, scale=1.0):
            return x @ self.weight * scale

    class Further(Lazy):
        pass

    for kind in (Lazy, Further):
        layer = kind()
        layer.register_forward_pre_hook(lambda _, given: (paddle.concat([given[0]] * 2, 1),))
        assert layer(paddle.ones([1, 3]), scale=2.0).shape == [1, 2]
        weight = layer.weight
        layer(paddle.ones([4, 3]))
        assert layer.built_with == ([1, 6], 2.0) and layer.weight is weight
    assert paddle.nn.Linear(2, 2)._build_once(1, x=2) is None
    captured = paddle.jit.to_static(Lazy())
    assert captured(paddle.ones([1, 3])).shape == captured(paddle.ones([1, 3])).shape == [1, 2]


def test_layers_that_name_their_state_themselves():
    class Renamed(paddle.nn.Linear):
        def _state_dict_impl(self, destination=None, include_sublayers=True, structured_name_prefix="", *rest, **more):
            held = super()._state_dict_impl(None, include_sublayers, "", *rest, **more)
            destination.update((structured_name_prefix + "my_" + name, x) for name, x in held.items())
            return destination

    net = paddle.nn.Sequential(Renamed(2, 3), paddle.nn.BatchNorm1D(3))
    assert list(net.state_dict(structured_name_prefix="p."))[:2] == ["p.0.my_weight", "p.0.my_bias"]
    own = net[1]._state_dict_impl(structured_name_prefix="x.", keep_vars=False)
    assert list(own) == ["x.weight", "x.bias", "x._mean", "x._variance"] and own["x.weight"].stop_gradient
