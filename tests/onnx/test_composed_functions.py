"""Functions that ONNX has no operators for, which are composed of others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import paddle
from paddle.static import InputSpec
from tests.onnx.conftest import run

X = np.concatenate([np.linspace(-9.7, 9.7, 41), [0.25, 1, 2, 25.0, 80.0, np.inf, np.nan]]).astype("float32")


def exported(function, tmp_path, specs, opset=17):
    path = str(tmp_path / "model")
    paddle.onnx.export(function, path, specs, opset_version=opset)
    return path + ".onnx"


def spec(*sizes, dtype="float32", name="x"):
    return InputSpec(list(sizes), dtype, name)


@pytest.mark.parametrize("opset", [11, 21])
@pytest.mark.parametrize("name", ["lgamma", "digamma", "i0", "i0e", "i1", "i1e"])
def test_a_function_of_one_element(name, opset, tmp_path):
    (got,) = run(exported(getattr(paddle, name), tmp_path, [spec(None)], opset), {"x": X})
    function = {"lgamma": special.gammaln, "digamma": special.psi}.get(name) or getattr(special, name)
    with np.errstate(all="ignore"):
        wanted = function(X.astype("float64")).astype("float32")
    np.testing.assert_allclose(got, wanted, rtol=2e-6, atol=1e-6, strict=True)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_derivatives_of_digamma(n, tmp_path):
    x = np.array([-3.3, -0.5, 0.1, 1.0, 4.5, 30.0], "float32")
    (got,) = run(exported(lambda x: paddle.polygamma(x, n), tmp_path, [spec(None)]), {"x": x})
    np.testing.assert_allclose(got, paddle.polygamma(paddle.to_tensor(x), n).numpy(), rtol=2e-5, strict=True)


def test_incomplete_gamma_functions(tmp_path):
    a = np.array([0.5, 1.0, 3.0, 40.0, 0.0], "float32")
    x = np.array([[0.1], [3.0], [50.0], [0.0]], "float32")
    path = exported(
        lambda a, x: (paddle.gammainc(a, x), paddle.gammaincc(a, x)), tmp_path,
        [spec(None, name="a"), spec(None, 1)],
    )  # fmt: skip
    lower, upper = run(path, {"a": a, "x": x})
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(lower, special.gammainc(a, x), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(upper, special.gammaincc(a, x), rtol=1e-5, atol=1e-6)


def matrices(*shape):
    return np.random.standard_normal(shape).astype("float32")


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (2, 3, 4)])
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
def test_orthogonal_and_triangular_factors(mode, shape, tmp_path):
    x = matrices(*shape)
    got = run(exported(lambda x: paddle.linalg.qr(x, mode), tmp_path, [spec(*shape)]), {"x": x})
    wanted = paddle.linalg.qr(paddle.to_tensor(x), mode)
    for a, b in zip(got, [wanted] if mode == "r" else wanted, strict=True):
        np.testing.assert_allclose(a, b.numpy(), rtol=1e-4, atol=1e-5, strict=True)


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (2, 3, 4)])
def test_triangular_factors(shape, tmp_path):
    def function(x):
        packed, pivots = paddle.linalg.lu(x)
        return packed, pivots, *paddle.linalg.lu_unpack(packed, pivots)

    x = matrices(*shape)
    got = run(exported(function, tmp_path, [spec(*shape)]), {"x": x})
    for a, b in zip(got, function(paddle.to_tensor(x)), strict=True):
        np.testing.assert_allclose(a, b.numpy(), rtol=1e-4, atol=1e-5, strict=True)


@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 3), (8, 8)])
def test_eigenvalues_of_symmetric_matrices(shape, tmp_path):
    x = matrices(*shape)
    path = exported(lambda x: (*paddle.linalg.eigh(x), paddle.linalg.eigvalsh(x, "U")), tmp_path, [spec(*shape)])
    values, vectors, upper = run(path, {"x": x})
    np.testing.assert_allclose(values, np.linalg.eigvalsh(x), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(upper, np.linalg.eigvalsh(x, "U"), rtol=1e-4, atol=1e-5)
    whole = np.tril(x) + np.swapaxes(np.tril(x, -1), -1, -2)
    np.testing.assert_allclose(whole @ vectors, vectors * values[..., None, :], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        np.swapaxes(vectors, -1, -2) @ vectors, np.broadcast_to(np.eye(shape[-1]), shape), atol=1e-5
    )


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (2, 3, 4)])
@pytest.mark.parametrize("full", [False, True])
def test_singular_values(full, shape, tmp_path):
    x = matrices(*shape)
    x[..., -1] = x[..., 0]  # one of them is 0
    path = exported(lambda x: (*paddle.linalg.svd(x, full), paddle.linalg.svdvals(x)), tmp_path, [spec(*shape)])
    u, s, v, alone = run(path, {"x": x})
    wanted = paddle.linalg.svd(paddle.to_tensor(x), full)
    assert [y.shape for y in (u, s, v)] == [tuple(y.shape) for y in wanted]
    np.testing.assert_allclose(s, wanted[1].numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(alone, s)
    k = min(shape[-2:])
    np.testing.assert_allclose(u[..., :k] * s[..., None, :] @ v[..., :k, :], x, rtol=1e-4, atol=1e-5)
    for y in (u, np.swapaxes(v, -1, -2)):
        eye = np.swapaxes(y, -1, -2) @ y
        np.testing.assert_allclose(eye, np.broadcast_to(np.eye(y.shape[-1]), eye.shape), atol=1e-5)


def test_what_is_made_of_singular_values(tmp_path):
    def function(x, y):
        solved = paddle.linalg.lstsq(x, y)
        return solved[0], paddle.linalg.matrix_rank(x), paddle.linalg.pinv(x), paddle.linalg.cond(x)

    x, y = matrices(5, 3), matrices(5, 2)
    got = run(exported(function, tmp_path, [spec(5, 3), spec(5, 2, name="y")]), {"x": x, "y": y})
    for a, b in zip(got, function(paddle.to_tensor(x), paddle.to_tensor(y)), strict=True):
        np.testing.assert_allclose(a, b.numpy(), rtol=1e-3, atol=1e-4, strict=True)


@pytest.mark.parametrize("ends", [True, False])
def test_best_paths_of_tags(ends, tmp_path):
    def function(x, moves, lengths):
        return paddle.text.viterbi_decode(x, moves, lengths, ends)

    specs = [spec(None, None, 5), spec(5, 5, name="moves"), spec(None, dtype="int64", name="lengths")]
    path = exported(function, tmp_path, specs, 13)
    for batch, time in ((3, 6), (1, 1), (2, 4)):
        x, moves = matrices(batch, time, 5), matrices(5, 5)
        lengths = np.array([time, *np.random.randint(1, time + 1, batch - 1)], "int64")
        got = run(path, {"x": x, "moves": moves, "lengths": lengths})
        wanted = function(*map(paddle.to_tensor, (x, moves, lengths)))
        np.testing.assert_allclose(got[0], wanted[0].numpy(), rtol=1e-5, strict=True)
        np.testing.assert_array_equal(got[1], wanted[1].numpy(), strict=True)


def test_a_layer_over_complex_numbers(tmp_path):
    """As of Fourier neural operators: weights of frequencies, padded to the size of the image."""

    def function(x, a, b):
        spectrum = paddle.fft.rfft2(x)[:, :, :3, :3]
        weight = paddle.as_complex(paddle.stack([a, b], -1))
        made = paddle.einsum("bixy,ioxy->boxy", spectrum, weight) + paddle.sum(spectrum, [2, 3], keepdim=True)[:, :1]
        whole = paddle.concat([made, paddle.zeros([made.shape[0], 2, 5, 3], made.dtype)], 2)
        y = paddle.fft.irfft2(whole, s=[8, 8])
        flat = paddle.matmul(made.reshape([made.shape[0], 2, 9]), made.reshape([made.shape[0], 2, 9]).conj().mT)
        return y, flat.abs(), paddle.where(y[:, :, :3, :3] > 0, made, made.conj()).imag()

    specs = [spec(None, 3, 8, 8), spec(3, 2, 3, 3, name="a"), spec(3, 2, 3, 3, name="b")]
    path = exported(function, tmp_path, specs)
    for batch in (1, 2):
        given = {"x": matrices(batch, 3, 8, 8), "a": matrices(3, 2, 3, 3), "b": matrices(3, 2, 3, 3)}
        wanted = function(*map(paddle.to_tensor, given.values()))
        for y, z in zip(run(path, given), wanted, strict=True):
            np.testing.assert_allclose(y, z.numpy(), rtol=1e-3, atol=1e-3, strict=True)


@pytest.mark.parametrize("opset", [11, 21])
def test_activations_of_64_bits(opset, tmp_path):
    """ONNX Runtime has no kernels of most of them, and joins Relu and Clip wrongly."""
    functional = paddle.nn.functional

    def function(x):
        names = "relu leaky_relu elu selu softplus softsign log_sigmoid silu mish hardtanh celu".split()
        return [getattr(functional, name)(x) for name in names] + [paddle.clip(functional.relu(x), -0.5, 0.5)]

    x = np.linspace(-30, 30, 25)
    got = run(exported(function, tmp_path, [spec(None, dtype="float64")], opset), {"x": x})
    for y, z in zip(got, function(paddle.to_tensor(x)), strict=True):
        np.testing.assert_allclose(y, z.numpy(), rtol=1e-6, atol=1e-9, strict=True)


def test_a_norm_whose_scale_has_more_bits(tmp_path):
    x, scale = matrices(2, 3, 8).astype("float16"), matrices(8)
    path = exported(
        lambda x, scale: paddle.nn.functional.layer_norm(x, 8, scale), tmp_path,
        [spec(None, 3, 8, dtype="float16"), spec(8, name="scale")],
    )  # fmt: skip
    (got,) = run(path, {"x": x, "scale": scale})
    wanted = paddle.nn.functional.layer_norm(paddle.to_tensor(x), 8, paddle.to_tensor(scale)).numpy()
    np.testing.assert_allclose(got, wanted, rtol=2e-3, atol=2e-3, strict=True)


def test_products_of_transposed_matrices_and_vectors(tmp_path):
    """ONNX Runtime joins a transpose and a product, and has wrong results where an operand is a vector."""

    def function(x, v, w):
        return paddle.mv(x.T, v), paddle.matmul(v, x), paddle.matmul(w, x.T), paddle.matmul(x[None], w)

    specs = [spec(5, None), spec(5, name="v"), spec(None, name="w")]
    path = exported(function, tmp_path, specs, 11)
    given = {"x": matrices(5, 3), "v": matrices(5), "w": matrices(3)}
    for y, z in zip(run(path, given), function(*map(paddle.to_tensor, given.values())), strict=True):
        np.testing.assert_allclose(y, z.numpy(), rtol=1e-5, atol=1e-6, strict=True)
