"""Matrices quantised by blocks, and their matmul: what each number and each scale is, and how far off they may be."""

import ml_dtypes
import numpy as np
import pytest

import paddle
from umiak import fp8
from umiak.fp8.formats import factor_of, floor_power_of_two

E4M3, E5M2 = fp8.E4M3, fp8.E5M2
BLOCKS = [(None, None), (1, None), (None, 1), (1, 128), (128, 1), (128, 128), (3, 5)]
SHAPES = [(1, 1), (5, 300), (128, 256), (129, 127), (0, 4), (3, 0)]
HALF_STEP = {E4M3: 2.0**-4, E5M2: 2.0**-3}  # relative, of normal numbers


def draw(rng, shape, scale=1.0):
    return (rng.standard_normal(shape) * np.exp(rng.uniform(-4, 4, shape)) * scale).astype(np.float32)


def spread(scale, block, shape):
    """A scale for each number."""
    rows, columns = (n if size is None else size for n, size in zip(shape, block, strict=True))
    return np.repeat(np.repeat(scale, rows, 0), columns, 1)[: shape[0], : shape[1]]


@pytest.mark.parametrize("power_of_two", [False, True])
@pytest.mark.parametrize("dtype", [E4M3, E5M2], ids=str)
@pytest.mark.parametrize("block", BLOCKS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_block_fills_its_range(shape, block, dtype, power_of_two, rng):
    """Codes are the nearest ones of x times the factor; the largest of a block uses the last binade of the format."""
    x = draw(rng, shape)
    q = fp8.quantise(paddle.to_tensor(x), dtype, block, power_of_two=power_of_two)
    assert q.codes.shape == list(shape) and q.codes.dtype is dtype and q.scale.dtype is paddle.float32
    assert q.codes.is_contiguous() and q.codes.storage.nbytes < q.codes.size + 64
    sizes = [max(n, 1) if size is None else size for n, size in zip(shape, block, strict=True)]
    assert q.scale.shape == [
        1 if whole is None else -(-n // size) for n, size, whole in zip(shape, sizes, block, strict=True)
    ]
    if 0 in shape:
        return
    scale = spread(q.scale.numpy(), block, shape)
    codes = q.codes.astype("float32").numpy()
    twin = getattr(ml_dtypes, dtype.name)
    np.testing.assert_array_equal(codes, (x * (1 / scale)).astype(twin).astype(np.float32))
    top = fp8.largest(dtype)
    for i, j in np.ndindex(*q.scale.shape):
        part = np.abs(codes[i * sizes[0] : (i + 1) * sizes[0], j * sizes[1] : (j + 1) * sizes[1]]).max()
        assert part == top if not power_of_two else top / 2 <= part <= top
    if power_of_two:
        assert (np.frexp(q.scale.numpy())[0] == 0.5).all()
    limit = np.maximum(HALF_STEP[dtype] * np.abs(x), scale * float(ml_dtypes.finfo(twin).smallest_subnormal) / 2)
    assert (np.abs(q.dequantise().numpy() - x) <= limit * (1 + 1e-6)).all()


def test_quantising_again_changes_nothing(rng):
    """With factors that are powers of two, what codes stand for is quantised to itself."""
    q = fp8.quantise(paddle.to_tensor(draw(rng, (9, 300))), E4M3, (1, 128), power_of_two=True)
    again = fp8.quantise(q.dequantise(), E4M3, (1, 128), power_of_two=True)
    np.testing.assert_array_equal(again.dequantise().numpy(), q.dequantise().numpy())


def test_blocks_without_numbers_to_scale():
    """Zeros have the factor 1, magnitudes whose factor would overflow the largest one, NaN and infinity NaN."""
    amax = paddle.to_tensor(np.array([0, 1e-39, 1e-38, 448, 3e38, np.inf, np.nan], np.float32))
    found = factor_of(amax, E4M3).numpy()
    largest = np.float32(2.0**128 - 2.0**120)
    np.testing.assert_array_equal(
        found, np.array([1, largest, largest, 1, np.float32(448) / np.float32(3e38), 0, np.nan], np.float32)
    )
    found = factor_of(amax, E4M3, power_of_two=True).numpy()
    np.testing.assert_array_equal(found, np.array([1, 2.0**127, 2.0**127, 1, 2.0**-120, 0, np.nan], np.float32))
    assert factor_of(paddle.zeros([1]), E4M3, epsilon=1.0).tolist() == [448]
    x = paddle.to_tensor([[1.0, np.nan], [np.inf, 2.0], [0.0, 0.0]])
    found = fp8.quantise(x, E4M3, (1, None)).dequantise().numpy()
    assert np.isnan(found[:2]).all() and (found[2] == 0).all()


def test_floor_power_of_two(rng):
    x = np.concatenate([np.exp2(rng.uniform(-125, 127, 500)), 2.0 ** np.arange(-126, 128)]).astype(np.float32)
    x = np.concatenate([x, np.nextafter(x, np.float32(np.inf)), np.nextafter(x[500:], np.float32(1))])
    x = x[(x >= 2.0**-126) & (x <= 2.0**127)]
    np.testing.assert_array_equal(floor_power_of_two(paddle.to_tensor(x)).numpy(), np.ldexp(0.5, np.frexp(x)[1]))


@pytest.mark.parametrize(
    ("left", "right"),
    [((None, None), (None, None)), ((1, None), (None, 1)), ((1, 128), (128, 1)), ((1, 128), (128, 128)),
     ((128, 128), (128, 128)), ((1, None), (None, None))],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("size", [(5, 300, 140), (1, 128, 1), (130, 70, 3), (4, 0, 5), (0, 9, 2)], ids=str)
def test_matmul_is_that_of_the_numbers(size, left, right, rng):
    """Against float64: nothing but additions in float32, and a product with the scales for each block, is rounded."""
    m, k, n = size
    a = fp8.quantise(paddle.to_tensor(draw(rng, (m, k))), E4M3, left)
    b = fp8.quantise(paddle.to_tensor(draw(rng, (k, n), 1e-3)), E5M2, right)
    y = fp8.matmul(a, b)
    wide = []
    for q in (a, b):
        codes = q.codes.astype("float64").numpy()
        wide.append(codes * spread(q.scale.numpy().astype(np.float64), q.block, codes.shape) if codes.size else codes)
    np.testing.assert_array_less(
        np.abs(y.numpy() - wide[0] @ wide[1]), 2.0**-24 * (k + 4) * (np.abs(wide[0]) @ np.abs(wide[1])) + 1e-30
    )


def test_sums_beyond_16_bits_are_exact():
    """2¹¹ products 1 and one of 2⁻⁸: bfloat16 and float16 would lose the last one."""
    ones = np.ones((1, 2049), np.float32)
    ones[0, -1] = 2.0**-8
    a, b = (
        fp8.Quantised(paddle.to_tensor(x).astype("float8_e4m3fn"), paddle.ones([1, 1]), (None, None))
        for x in (ones, np.ones((2049, 1), np.float32))
    )
    with paddle.amp.auto_cast(enable=False):
        assert fp8.matmul(a, b).tolist() == [[2048 + 2.0**-8]]


def test_captured_for_all_sizes(rng):
    """One graph for several sizes gives the codes of eager calls, and their matmul but for the order of additions."""

    @paddle.jit.to_static
    def both(x, w):
        q = fp8.quantise(x, E4M3, (1, 128), power_of_two=True)
        return q.codes, q.scale, fp8.matmul(q, fp8.quantise(w, E4M3, (128, 128), power_of_two=True))

    w = paddle.to_tensor(draw(rng, (200, 7)))
    for m in (4, 6, 9):
        x = paddle.to_tensor(draw(rng, (m, 200)))
        q = fp8.quantise(x, E4M3, (1, 128), power_of_two=True)
        codes, scale, y = both(x, w)
        np.testing.assert_array_equal(codes.numpy().view(np.uint8), q.codes.numpy().view(np.uint8))
        np.testing.assert_array_equal(scale.numpy(), q.scale.numpy())
        expected = fp8.matmul(q, fp8.quantise(w, E4M3, (128, 128), power_of_two=True)).numpy()
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"scaling": "rows"}, "a scaling of"),
        ({"scaling": "block", "history": 3}, "history"),
        ({"scaling": "tensor", "history": -1}, "history"),
        ({"margin": -1}, "margin"),
        ({"forward": paddle.float16}, "forward of"),
        ({"backward": "e5m2"}, "backward of"),
    ],
)
def test_recipes_that_there_are_not(arguments, words):
    with pytest.raises(ValueError, match=words):
        fp8.Recipe(**arguments)
