"""A small model, saved once, and its library for this machine."""

import sysconfig

import pytest

from tests.support import native_libraries as native


def small(x, places):
    """A net with a bit of all: convolutions, a lookup that may fail, products, sums."""
    import paddle

    nn = paddle.nn
    table = nn.Embedding(10, 8)
    image = nn.Sequential(nn.Conv2D(3, 8, 3, padding=1), nn.BatchNorm2D(8), nn.ReLU(), nn.Conv2D(8, 20, 3, stride=2))
    head = nn.Linear(28, 5)
    for layer in (table, image, head):
        layer.eval()
    y = paddle.concat([image(x).mean([2, 3]), table(places).sum(1)], axis=1)
    return nn.functional.softmax(head(y)), y


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """The beginning of the names of a saved model's files."""
    import paddle

    paddle.seed(7)
    feeds = [("x", [None, 3, 9, 9], "float32"), ("places", [None, 4], "int64")]
    return native.save(tmp_path_factory.mktemp("model") / "small", small, feeds)


SIZES = ("x=2x3x9x9,places=2x4", "x=1x3x9x9,places=1x4")


@pytest.fixture(scope="session")
def compiled(model):
    """The model compiled for this machine, with its weights inside."""
    if native.CC is None:
        pytest.skip("needs a C compiler")
    from paddle.inference.compile import compile_model

    return compile_model(str(model), str(model.parent / "libsmall.so"), sizes=SIZES)


@pytest.fixture(scope="session")
def compiled_beside(model):
    """The same with its weights in a file."""
    if native.CC is None:
        pytest.skip("needs a C compiler")
    from paddle.inference.compile import compile_model

    return compile_model(str(model), str(model.parent / "beside"), sizes=SIZES[:1])


@pytest.fixture(scope="session")
def embedded(tmp_path_factory):
    """The library that embeds the interpreter."""
    if native.CC is None or not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        pytest.skip("needs a C compiler and a Python with a shared library")
    from paddle.inference.native.building import build

    return build(tmp_path_factory.mktemp("embedded"))


@pytest.fixture(scope="session")
def plain_model(tmp_path_factory):
    """A model with one input of float32."""
    import paddle

    paddle.seed(3)
    net = native.evaluating(
        lambda: paddle.nn.Sequential(paddle.nn.Conv2D(3, 8, 3), paddle.nn.ReLU(), paddle.nn.Flatten())
    )
    return native.save(tmp_path_factory.mktemp("plain") / "plain", net, [("x", [None, 3, 8, 8], "float32")])


@pytest.fixture
def data(rng):
    """Inputs for a batch of two."""
    return rng.standard_normal((2, 3, 9, 9)).astype("float32"), rng.integers(0, 10, (2, 4))
