"""Convolutions of kernel 3 × 3 by Winograd's algorithm, driven without dispatch, against float64."""

import os

import ml_dtypes
import numpy as np
import pytest

import paddle
from umiak.backends.cpu import providers
from umiak.backends.cpu.providers import winograd
from umiak.backends.cpu.providers.launch import call
from umiak.backends.ref import convolution as ref
from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ops import convolution as conv_ops
from umiak.runtime import parallel
from umiak.util import flags

KINDS = (
    (conv_ops.Conv, ref.conv),
    (conv_ops.ConvInputGrad, ref.conv_input_grad),
    (conv_ops.ConvWeightGrad, ref.conv_weight_grad),
)
pytestmark = pytest.mark.skipif(
    not winograd.available(), reason="this processor has no instructions that it is written for"
)


@pytest.fixture(autouse=True)
def restore():
    threads = parallel.get_num_threads()
    yield
    flags.set_flags({"FLAGS_cpu_winograd": "auto", "FLAGS_cpu_providers": "onednn,blas,plain"})
    parallel.set_num_threads(threads)
    providers.set_threads(1)


def first(x):
    return np.ascontiguousarray(x)


def last(x):
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)


def with_gaps(x):
    wide = np.zeros(tuple(2 * n for n in x.shape), x.dtype)
    wide[(slice(None, None, 2),) * x.ndim] = x
    return wide[(slice(None, None, 2),) * x.ndim]


class Problem:
    """x, w and g of a shape, and what becomes of them."""

    def __init__(self, rng, n, c, o, size, lo=(1, 1), hi=(1, 1), draw=None):
        draw = draw or rng.standard_normal
        out = tuple(s + a + b - 2 for s, a, b in zip(size, lo, hi, strict=True))
        self.x, self.w, self.g = (draw(s).astype("float32") for s in ((n, c, *size), (o, c, 3, 3), (n, o, *out)))
        self.geometry = ((1, 1), lo, hi, (1, 1))
        self.words = (1, 1, 1, *lo, *hi, 1, 1)

    def operands(self, kind):
        x, w, g = self.x, self.w, self.g
        return ((x, w), g) if kind == 0 else ((g, w), x) if kind == 1 else ((x, g), w)

    def exact(self, kind):
        ins, like = self.operands(kind)
        want = np.zeros(like.shape)
        sizes = () if kind == 0 else (like.shape[2:],)
        KINDS[kind][1](None, want, *(v.astype("float64") for v in ins), 1, *self.geometry, *sizes)
        return want

    def run(self, kind, arrange=first, epilogue=(), extra=()):
        ins, like = self.operands(kind)
        op = KINDS[kind][0](nd=2)
        launch = providers.find(op, [Meta(v.shape, dt.convert(v.dtype)) for v in ins], epilogue)
        out = arrange(np.full_like(like, 77))
        assert call(launch, [*(arrange(v) for v in ins), *extra], [out], self.words)() == 0
        return out


SIZES = [
    # n, c, o, size, pads before and after
    (1, 1, 1, (1, 1), (1, 1), (1, 1)),
    (2, 3, 5, (2, 2), (1, 1), (1, 1)),
    (0, 3, 5, (4, 4), (1, 1), (1, 1)),
    (1, 16, 16, (3, 3), (0, 0), (0, 0)),
    (3, 17, 15, (4, 4), (1, 1), (1, 1)),
    (2, 16, 48, (5, 7), (1, 1), (1, 1)),
    (1, 33, 31, (6, 9), (0, 0), (0, 0)),
    (2, 8, 64, (7, 7), (2, 2), (2, 2)),
    (1, 64, 9, (8, 3), (2, 0), (0, 2)),
    (3, 40, 40, (9, 9), (0, 1), (2, 1)),
    (2, 1, 70, (9, 4), (1, 2), (1, 0)),
    (1, 130, 2, (5, 5), (1, 1), (1, 1)),
]


@pytest.mark.parametrize("arrange", [first, last, with_gaps])
@pytest.mark.parametrize("lanes", [8, 16])
@pytest.mark.parametrize("tile", [2, 4])
def test_every_size_and_layout(tile, lanes, arrange, rng):
    for n, c, o, size, lo, hi in SIZES:
        problem = Problem(rng, n, c, o, size, lo, hi)
        for kind in range(3):
            winograd.choose(tile, lanes)
            got, want = problem.run(kind, arrange), problem.exact(kind)
            if want.size:
                assert np.abs(got - want).max() <= 6e-6 * np.abs(want).max(), (n, c, o, size, lo, hi, kind)


@pytest.mark.parametrize(
    "shape",
    [
        (1, 32, 48, (40, 37)),  # a block of tiles at a time
        (2, 150, 170, (5, 6)),  # a panel of channels at a time
        (6, 70, 80, (30, 30)),  # gradients of kernels in several rounds
    ],
)
def test_threads_and_repetition_change_no_bit(shape, rng):
    problem = Problem(rng, *shape)
    winograd.choose(0)
    direct = [problem.run(kind) for kind in range(3)]
    for tile in (2, 4):
        winograd.choose(tile)
        found = []
        for threads in (1, 2, 3, 1):
            parallel.set_num_threads(threads)
            providers.set_threads(threads)
            found.append([problem.run(kind) for kind in range(3)])
        for kind in range(3):
            assert np.abs(found[0][kind] - direct[kind]).max() <= 1e-5 * np.abs(direct[kind]).max()
            for other in found[1:]:
                np.testing.assert_array_equal(other[kind], found[0][kind])


def test_a_forked_child_gets_the_same_bits(rng):
    parallel.set_num_threads(2)
    providers.set_threads(2)
    winograd.choose(4)
    problem = Problem(rng, 2, 32, 40, (20, 21))
    want = [problem.run(kind) for kind in range(3)]
    child = os.fork()
    if child == 0:
        same = all(np.array_equal(problem.run(kind), want[kind]) for kind in range(3))
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0


def positive(rng):
    return lambda shape: np.maximum(rng.standard_normal(shape), 0)


@pytest.mark.parametrize("draw", [None, positive], ids=["normal", "positive"])
@pytest.mark.parametrize(
    "shape",
    [
        (4, 16, 64, (20, 20)),
        (4, 64, 64, (16, 16)),
        (16, 256, 256, (4, 4)),
        (16, 160, 130, (8, 8)),
        (20, 64, 64, (7, 7)),
    ],
)
def test_errors_are_at_most_four_times_those_of_a_direct_convolution(shape, draw, rng):
    """Where the choice is ours: root mean squares of the errors, against the more exact of the library's layouts."""
    flags.set_flags({"FLAGS_cpu_providers": "onednn"})
    if providers.refusal("onednn") is not None:
        pytest.skip(providers.refusal("onednn"))
    problem = Problem(rng, *shape, draw=draw and draw(rng))
    for kind in range(3):
        want = problem.exact(kind)

        def error(way, arrange, kind=kind, want=want):
            flags.set_flags({"FLAGS_cpu_winograd": way})
            return np.sqrt(np.square(problem.run(kind, arrange) - want).mean())

        direct = min(error("never", first), error("never", last))
        ours = error("auto", first)
        assert ours != direct
        assert ours <= 4 * direct, (kind, ours / direct)


def test_what_is_chosen(rng):
    """Tiles of 4 where there are many places, of 2 where there are few, and neither for few channels."""

    def chosen(shape, kind):
        problem = Problem(rng, *shape)
        found = {}
        for way in ("never", "2", "4", "auto"):
            flags.set_flags({"FLAGS_cpu_winograd": way})
            found[way] = problem.run(kind)
        return next(way for way in found if np.array_equal(found[way], found["auto"]))

    assert [chosen((2, 64, 64, (24, 24)), kind) for kind in range(3)] == ["4", "4", "4"]
    assert [chosen((4, 64, 64, (8, 8)), kind) for kind in range(3)] == ["4", "4", "2"]
    assert [chosen((16, 256, 256, (2, 2)), kind) for kind in range(3)] == ["2", "2", "never"]
    assert [chosen((n, 128, 128, (4, 4)), 2) for n in (8, 16)] == ["never", "4"]
    assert [chosen((2, 12, 64, (24, 24)), kind) for kind in range(3)] == ["never"] * 3
    assert [chosen((2, 64, 12, (24, 24)), kind) for kind in range(3)] == ["never"] * 3


@pytest.mark.parametrize("tile", [2, 4])
def test_what_is_not_finite_stays_so(tile, rng):
    """All that a direct convolution makes of a NaN or an infinity is not finite here either; what it reaches beyond
    lies in the same tiles."""
    winograd.choose(tile)
    for bad in (np.nan, np.inf, -np.inf):
        problem = Problem(rng, 1, 5, 6, (13, 13))
        problem.x[0, 2, 6, 5] = bad
        got = problem.run(0)
        reached = np.zeros((13, 13), bool)
        reached[5:8, 4:7] = True
        assert not np.isfinite(got[0][:, reached]).any()
        low, high = ([v // tile * tile for v in (5, 4)], [v // tile * tile + tile for v in (7, 6)])
        reached[low[0] : high[0], low[1] : high[1]] = True
        assert np.isfinite(got[0][:, ~reached]).all()
        problem.x[0, 2, 6, 5] = 1
        problem.g[0, 3, 6, 5] = bad
        assert not np.isfinite(problem.run(1)[0][:, 5:8, 4:7]).any()
        gradient = problem.run(2)
        assert not np.isfinite(gradient[3]).any()
        assert np.isfinite(np.delete(gradient, 3, 0)).all()


@pytest.mark.parametrize("arrange", [first, last])
@pytest.mark.parametrize("epilogue", [("bias",), ("relu",), ("bias", "relu"), ("bias", "silu"), ("relu", "bias")])
def test_what_follows(epilogue, arrange, rng):
    for o in (32, 19):
        problem = Problem(rng, 2, 20, o, (9, 6))
        bias = rng.standard_normal(o).astype("float32")
        want = problem.exact(0)
        for step in epilogue:
            if step == "bias":
                want = want + bias[:, None, None]
            else:
                want = np.maximum(want, 0) if step == "relu" else want / (1 + np.exp(-want))
        for tile in (2, 4):
            winograd.choose(tile)
            got = problem.run(0, arrange, epilogue, [bias] if "bias" in epilogue else [])
            assert np.abs(got - want).max() <= 6e-6 * np.abs(want).max()


def test_relu_keeps_nan(rng):
    problem = Problem(rng, 1, 4, 20, (6, 6))
    problem.x[0, 0, 0, 0] = np.nan
    for tile in (2, 4):
        winograd.choose(tile)
        assert np.isnan(problem.run(0, epilogue=("relu",))[0, :, :2, :2]).all()


@pytest.mark.parametrize("arrange", [first, last, with_gaps])
@pytest.mark.parametrize("lanes", [8, 16])
@pytest.mark.parametrize("tile", [2, 4])
def test_bfloat16_is_widened_and_rounded_alone(tile, lanes, arrange, rng):
    """Its results are float32's of the same numbers, rounded: of every size, and of what is not finite."""
    flags.set_flags({"FLAGS_cpu_providers": "blas,plain"})  # a library may have matrix units for bfloat16
    for n, c, o, size, lo, hi in [*SIZES, (2, 70, 80, (30, 30), (1, 1), (1, 1))]:
        narrow = Problem(rng, n, c, o, size, lo, hi)
        if narrow.x.size:
            narrow.x.flat[narrow.x.size // 2] = np.nan
            narrow.g.flat[0] = np.inf
        bias = rng.standard_normal(o).astype(ml_dtypes.bfloat16)
        wide = Problem(rng, n, c, o, size, lo, hi)
        for name in ("x", "w", "g"):
            setattr(narrow, name, getattr(narrow, name).astype(ml_dtypes.bfloat16))
            setattr(wide, name, getattr(narrow, name).astype("float32"))
        winograd.choose(tile, lanes)
        for kind, epilogue in [(0, ()), (0, ("bias", "relu")), (1, ()), (2, ())]:
            if epilogue and arrange is with_gaps:
                continue  # they work on what was copied back, and rounded
            given = [[bias], [bias.astype("float32")]] if epilogue else [[], []]
            with np.errstate(all="ignore"):
                got, want = (p.run(kind, arrange, epilogue, e) for p, e in zip((narrow, wide), given, strict=True))
                want = want.astype(ml_dtypes.bfloat16)
            assert got.dtype == ml_dtypes.bfloat16
            assert np.array_equal(np.isnan(got), np.isnan(want))
            np.testing.assert_array_equal(np.nan_to_num(got).view("uint16"), np.nan_to_num(want).view("uint16"))


@pytest.mark.parametrize("arrange", [first, last])
def test_bfloat16_by_way_of_float32(arrange, rng):
    """Nearly all of its error is the rounding of results."""
    problem = Problem(rng, 4, 64, 64, (16, 16))
    for name in ("x", "w", "g"):
        setattr(problem, name, getattr(problem, name).astype(ml_dtypes.bfloat16))
    flags.set_flags({"FLAGS_cpu_winograd": "4"})
    for kind in range(3):
        got, want = problem.run(kind, arrange), problem.exact(kind)
        assert got.dtype == ml_dtypes.bfloat16
        assert np.abs(got.astype("float64") - want).max() <= 5e-3 * np.abs(want).max()
        flags.set_flags({"FLAGS_cpu_winograd": "never"})
        library = problem.run(kind, arrange)
        flags.set_flags({"FLAGS_cpu_winograd": "4"})
        wide = [np.abs(v.astype("float64") - want).mean() for v in (got, library)]
        assert wide[0] <= 1.1 * wide[1]


def test_layers_of_programs_and_eager_ones(rng):
    """Gradients of two convolutions with a bias between which images have channels last, with and without."""
    images = rng.standard_normal((4, 16, 12, 12)).astype("float32")

    def gradients(way, capture):
        flags.set_flags({"FLAGS_cpu_winograd": way})
        paddle.seed(1)
        net = paddle.nn.Sequential(
            paddle.nn.Conv2D(16, 32, 3, padding=1), paddle.nn.ReLU(), paddle.nn.Conv2D(32, 24, 3, padding=1)
        )
        x = paddle.to_tensor(images, stop_gradient=False)

        def loss(x):
            return (net(x) ** 2).mean()

        (paddle.jit.to_static(loss) if capture else loss)(x).backward()
        return [x.grad.numpy(), *(p.grad.numpy() for p in net.parameters())]

    want = gradients("never", False)
    for way in ("auto", "2", "4"):
        for capture in (False, True):
            for got, expected in zip(gradients(way, capture), want, strict=True):
                assert np.abs(got - expected).max() <= 2e-5 * np.abs(expected).max()


def test_the_switch_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match=r"\[FLAGS_cpu_winograd\] requires one of auto, never, 2, 4, got 3"):
        flags.set_flags({"FLAGS_cpu_winograd": "3"})
    with pytest.raises(ValueError, match=r"\[winograd\] requires tiles of 2 or 4, 0 or -1, got 3"):
        winograd.choose(3)


def in_strips(w, width):
    """``[o, c, 3, 3]`` as ``[strips, 3, 3, c, width]``, filled up with zeros; sizes are those of what it holds."""
    o, c, *kernel = w.shape
    filled = np.zeros((-(-o // width) * width, c, *kernel), w.dtype)
    filled[:o] = w
    laid_out = np.ascontiguousarray(filled.reshape(-1, width, c, *kernel).transpose(0, 3, 4, 2, 1))
    return np.ndarray(w.shape, w.dtype, laid_out)


STEPS = (
    (),
    ("bias", "relu"),
    ("add",),
    ("bias", "add", "relu"),
    ("bias", "hard_swish", ("scale", 0.5), ("shift", 2.0)),
)


@pytest.mark.parametrize("steps", STEPS, ids=lambda s: "-".join(map(str, s)) or "plain")
@pytest.mark.parametrize("lanes", [8, 16])
@pytest.mark.parametrize("tile", [2, 4])
def test_kernels_in_strips(tile, lanes, steps, rng):
    """They give the bits of kernels as they are, before what follows."""
    if providers.refusal("onednn"):
        pytest.skip("requires oneDNN, whose strips they are")
    shapes = ((1, 16, 48, (7, 5)), (2, 70, 33, (9, 4)), (3, 33, 16, (15, 17)), (1, 128, 64, (3, 3)))
    try:
        for n, c, o, size in shapes:
            x, w = rng.standard_normal((n, c, *size)).astype("f"), rng.standard_normal((o, c, 3, 3)).astype("f")
            bias, residual = rng.standard_normal(o).astype("f"), rng.standard_normal((n, o, *size)).astype("f")
            metas = [Meta(v.shape, dt.float32) for v in (x, w)]
            words = (1, 1, 1, 1, 1, 1, 1, 1, 1)
            winograd.choose(tile, lanes)
            for arrange in (first, last):
                plain = np.zeros((n, o, *size), "f")
                assert call(providers.find(conv_ops.Conv(2), metas), [x, w], [plain], words)() == 0
                want, given = plain, []
                for step in steps:
                    if step == "bias":
                        want, given = want + bias[:, None, None], [*given, bias]
                    elif step == "add":
                        want, given = want + residual, [*given, arrange(residual)]
                    elif step == "relu":
                        want = np.maximum(want, 0)
                    elif step == "hard_swish":
                        want = want * np.clip(want + 3, 0, 6) / 6
                    else:
                        want = want * step[1] if step[0] == "scale" else want + step[1]
                for width in (16, 64):
                    found = arrange(np.full_like(want, 77))
                    launch = providers.find(conv_ops.Conv(2), metas, steps, (width, 1))
                    assert call(launch, [arrange(x), in_strips(w, width), *given], [found], words)() == 0
                    # The library adds a residual to results that are not written in full vectors, by another algorithm.
                    exact = "add" not in steps or (arrange is last and o % lanes == 0)
                    np.testing.assert_allclose(found, want, atol=1e-5 if exact else 5e-4, rtol=1e-5)
                    if not steps:
                        np.testing.assert_array_equal(found, want)
    finally:
        winograd.choose()
