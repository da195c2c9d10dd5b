"""Models of images: mistakes, loading, capturing, training. ``tests/programs`` compares their results."""

from __future__ import annotations

import functools
import hashlib
import http.server
import inspect
import re
import threading

import numpy as np
import pytest

import paddle
from paddle.utils import download
from paddle.vision import models
from paddle.vision.models import mobilenetv1, resnet
from paddle.vision.models._utils import IntermediateLayerGetter
from paddle.vision.ops import ConvNormActivation

FUNCTIONS = [name for name in models.__all__ if name.islower()]
SMALL = {
    "LeNet": (functools.partial(models.LeNet, 3), (2, 1, 28, 28)),
    "MobileNetV1": (functools.partial(models.MobileNetV1, 0.125, 3), (2, 3, 32, 48)),
    "MobileNetV2": (functools.partial(models.MobileNetV2, 0.125, 3), (2, 3, 32, 48)),
    "MobileNetV3Small": (functools.partial(models.MobileNetV3Small, 0.25, 3), (2, 3, 64, 48)),
    "ShuffleNetV2": (functools.partial(models.ShuffleNetV2, 0.25, "swish", 3), (2, 3, 64, 48)),
    "SqueezeNet": (functools.partial(models.SqueezeNet, "1.1", 3), (2, 3, 48, 64)),
    "resnet18": (functools.partial(models.resnet18, num_classes=3), (2, 3, 48, 64)),
}
QUICK = ("LeNet", "MobileNetV1", "SqueezeNet")
EACH = [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in SMALL]


def test_all_names_are_there():
    assert len(models.__all__) == 51


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_takes_what_its_class_takes(name):
    with paddle.LazyGuard():
        model = getattr(models, name)(num_classes=0)
    assert model.num_classes == 0 and model.training
    assert next(iter(inspect.signature(getattr(models, name)).parameters)) == "pretrained"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: models.SqueezeNet("2.0"), ValueError, "version '1.0' or '1.1', got '2.0'"),
        (lambda: models.DenseNet(99), ValueError, "layers of 121, 161, 169, 201, 264, got 99"),
        (lambda: models.ShuffleNetV2(0.7), NotImplementedError, "a scale of 0.25, .* got 0.7"),
        (lambda: models.ShuffleNetV2(act="gelu"), RuntimeError, "act 'relu', 'swish' or None, got 'gelu'"),
        (lambda: models.ResNet(resnet.BasicBlock, 77), ValueError, "a depth of 18, 34, 50, 101, 152, got 77"),
        (lambda: resnet.BasicBlock(4, 4, dilation=2), NotImplementedError, "dilation of 1, got 2"),
        (lambda: ConvNormActivation(3, 4, (3, 5)), TypeError, "padding, or an int as kernel_size"),
        (lambda: models.resnet18(classes=3), TypeError, "classes"),
        (
            lambda: models.vgg11(pretrained=True, batch_norm=True, num_classes=0),
            ValueError,
            "no weights of vgg11_bn are published, got True",
        ),
        (lambda: models.mobilenet_v1(True, scale=0.25), ValueError, "no weights of mobilenetv1_0.25 are"),
        (lambda: models.LeNet()(paddle.zeros([1, 1, 20, 20])), ValueError, "requires"),
        (lambda: models.MobileNetV1(0.125)(paddle.zeros([1, 1, 32, 32])), ValueError, "requires"),
        (lambda: models.SqueezeNet("1.1")(paddle.zeros([1, 3, 4, 4])), ValueError, "requires"),
    ],
)
def test_mistakes(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("name", EACH)
def test_captured_as_eager_on_other_sizes(name):
    build, size = SMALL[name]
    model = build()
    model.eval()
    captured = paddle.jit.to_static(model.forward)
    for batch in (1, 3):
        x = paddle.randn([batch, *size[1:]])
        with paddle.no_grad():
            want = model(x)
            np.testing.assert_allclose(captured(x).numpy(), want.numpy(), rtol=1e-4, atol=1e-5)
            one = model(x[:1])
        np.testing.assert_allclose(one.numpy(), want.numpy()[:1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize("kind", ["eager", "captured", "O1", "O2"])
def test_training_lowers_the_loss(name, kind):
    build, size = SMALL[name]
    paddle.seed(3)
    model = build()
    optimizer = paddle.optimizer.Adam(0.001, parameters=model.parameters())
    if kind == "O2":
        model, optimizer = paddle.amp.decorate(model, optimizer, level="O2", dtype="bfloat16")
    x = paddle.randn([6, *size[1:]])
    y = paddle.to_tensor([0, 1, 2] * 2)
    for layer in model.sublayers():
        if isinstance(layer, paddle.nn.Dropout):
            layer.eval()

    def step(x, y):
        with paddle.amp.auto_cast(kind in ("O1", "O2"), level=kind if kind in ("O1", "O2") else "O1", dtype="bfloat16"):
            loss = paddle.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    run = paddle.jit.to_static(step) if kind == "captured" else step
    losses = [float(run(x, y)) for _ in range(8)]
    assert np.isfinite(losses).all() and min(losses[-2:]) < 0.9 * losses[0], losses


LARGE = {
    "alexnet": ({"num_classes": 0}, (1, 3, 63, 63)),
    "vgg11": ({"num_classes": 0}, (1, 3, 32, 32)),
    "densenet121": ({"num_classes": 3}, (1, 3, 32, 32)),
    "googlenet": ({"num_classes": 0}, (1, 3, 64, 64)),
    "inception_v3": ({"num_classes": 3}, (1, 3, 75, 75)),
}


def outputs_of(model, x):
    results = model(x)
    return list(results) if isinstance(results, (list, tuple)) else [results]


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n == "alexnet" else pytest.mark.slow) for n in LARGE])
def test_large_models_captured_and_with_mixed_precision(name):
    """Models too large to be trained here: captured = eager, bfloat16 near it, a gradient for each weight."""
    arguments, size = LARGE[name]
    paddle.seed(3)
    model = getattr(models, name)(**arguments)
    model.eval()
    x = paddle.randn(size)
    want = [y.numpy() for y in outputs_of(model, x)]
    captured = paddle.jit.to_static(lambda x: outputs_of(model, x))
    for _ in range(3):
        for ours, y in zip(captured(x), want, strict=True):
            np.testing.assert_allclose(ours.numpy(), y, rtol=1e-3, atol=1e-4 * np.abs(y).max())
    with paddle.amp.auto_cast(dtype="bfloat16"):
        results = outputs_of(model, x)
    for ours, y in zip(results, want, strict=True):
        ours = ours.astype("float32").numpy()
        assert 0 < np.abs(ours - y).max() < 0.1 * np.abs(y).max()
    sum(y.astype("float32").mean() for y in results).backward()
    gradients = [p.grad for p in model.parameters() if not p.stop_gradient]
    assert gradients and all(g is not None and bool(paddle.isfinite(g).all()) for g in gradients)


def test_no_images():
    model = models.MobileNetV1(0.125, num_classes=3)
    model.eval()
    assert model(paddle.zeros([0, 3, 32, 32])).shape == [0, 3]


def test_doubles():
    model = models.MobileNetV2(0.125, num_classes=3)
    model.to(dtype="float64")
    assert model(paddle.randn([2, 3, 32, 32], "float64")).dtype == paddle.float64


def test_a_backbone_of_blocks_of_ones_own():
    """Blocks and stages are used apart from their models."""

    class Dilated(models.ResNet):
        def __init__(self):
            super().__init__(resnet.BottleneckBlock, 50, num_classes=0, with_pool=False)
            self.inplanes, self.dilation = 1024, 1
            self.layer4 = self._make_layer(resnet.BottleneckBlock, 512, 3, stride=2, dilate=True)

    with paddle.LazyGuard():
        model = Dilated()
    assert model.layer4[1].conv2._dilation == [2, 2] and model.layer4[0].conv2._stride == [1, 1]
    block = resnet.BottleneckBlock(64, 16, norm_layer=lambda channels: paddle.nn.GroupNorm(4, channels))
    assert isinstance(block.bn3, paddle.nn.GroupNorm)
    assert block(paddle.zeros([1, 64, 8, 8])).shape == [1, 64, 8, 8]


def test_results_of_layers_in_between():
    model = models.resnet18(num_classes=0)
    model.eval()
    x = paddle.randn([1, 3, 32, 32])
    getter = IntermediateLayerGetter(model, {"layer2": "middle", "layer1": "low"})
    results = getter(x)
    assert list(getter) == ["conv1", "bn1", "relu", "maxpool", "layer1", "layer2"]
    assert list(results) == ["low", "middle"]
    low = model.layer1(model.maxpool(model.relu(model.bn1(model.conv1(x)))))
    np.testing.assert_array_equal(results["low"].numpy(), low.numpy())
    np.testing.assert_array_equal(results["middle"].numpy(), model.layer2(low).numpy())
    with pytest.raises(ValueError, match=r"for return_layers, got \['layer9'\]"):
        IntermediateLayerGetter(model, {"layer9": "x"})


def test_features_without_pooling():
    model = models.DenseNet(121, num_classes=0, with_pool=False)
    assert model(paddle.zeros([1, 3, 64, 96])).shape == [1, 1024, 2, 3]


# --- published weights ----------------------------------------------------------------------------------------------


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def published(tmp_path, monkeypatch):
    """The address of a file of weights of ``mobilenet_v1(scale=0.125)``, and its sum."""
    monkeypatch.setattr(download, "WEIGHTS_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "site"
    folder.mkdir()
    model = models.MobileNetV1(0.125, num_classes=5)
    paddle.save(model.state_dict(), str(folder / "weights.pdparams"))
    md5sum = hashlib.md5((folder / "weights.pdparams").read_bytes(), usedforsecurity=False).hexdigest()
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield model, (f"http://127.0.0.1:{server.server_port}/weights.pdparams", md5sum)
        server.shutdown()
        thread.join()


def test_published_weights_are_loaded(published, monkeypatch, tmp_path):
    model, row = published
    monkeypatch.setitem(mobilenetv1.model_urls, "mobilenetv1_0.125", row)
    loaded = models.mobilenet_v1(pretrained=True, scale=0.125, num_classes=5)
    assert (tmp_path / "cache" / "weights.pdparams").exists()
    np.testing.assert_array_equal(loaded.fc.weight.numpy(), model.fc.weight.numpy())


def test_without_a_network_the_error_says_what_to_do(published, monkeypatch, tmp_path):
    url, md5sum = published[1]
    unreachable = re.sub(r":\d+/", ":1/", url)
    monkeypatch.setitem(mobilenetv1.model_urls, "mobilenetv1_0.125", (unreachable, md5sum))
    place = re.escape(str(tmp_path / "cache" / "weights.pdparams"))
    with pytest.raises(RuntimeError, match=rf"\[mobilenetv1_0.125\].*{place}.*set_state_dict\(paddle.load"):
        models.mobilenet_v1(pretrained=True, scale=0.125)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_addresses_are_of_files_with_sums(name):
    for address, md5sum in inspect.getmodule(inspect.unwrap(getattr(models, name))).model_urls.values():
        assert address.startswith("https://") and address.endswith(".pdparams") and len(md5sum) == 32
