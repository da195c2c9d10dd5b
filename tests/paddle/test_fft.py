"""Fourier transforms against SciPy, their gradients against the peer."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft
import torch

import paddle

NORMS = ("backward", "ortho", "forward")
COMPLEX_IN = ("fft", "ifft", "irfft", "hfft")


def array(rng, shape, name, dtype="float64"):
    """An operand that the transform takes: complex where it may be."""
    a = rng.standard_normal(shape)
    if name.rstrip("n2") in COMPLEX_IN:
        a = a + 1j * rng.standard_normal(shape)
        return a.astype({"float32": "complex64", "float64": "complex128"}[dtype])
    return a.astype(dtype)


def close(got, expected, rtol=1e-9, atol=1e-10):
    assert got.shape == list(expected.shape)
    assert got.numpy().dtype == expected.dtype
    np.testing.assert_allclose(got.numpy(), expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_axis(name, norm, rng):
    a = array(rng, (3, 6, 2), name)
    ours, theirs = getattr(paddle.fft, name), getattr(scipy.fft, name)
    for axis in (0, 1, -1):
        if (name, axis) in (("irfft", -1), ("hfft", -1)):  # two points are not enough to be worth a case
            continue
        close(ours(paddle.to_tensor(a), axis=axis, norm=norm), theirs(a, axis=axis, norm=norm))
    for n in (4, 5, 6, 7, 9):
        close(ours(paddle.to_tensor(a), n, 1, norm), theirs(a, n, 1, norm))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"])
def test_two_axes(name, norm, rng):
    a = array(rng, (3, 4, 5), name)
    ours, theirs = getattr(paddle.fft, name), getattr(scipy.fft, name)
    x = paddle.to_tensor(a)
    close(ours(x, norm=norm), theirs(a, norm=norm))
    close(ours(x, axes=(2, 0), norm=norm), theirs(a, axes=(2, 0), norm=norm))
    close(ours(x, [6, 3], (0, 1), norm), theirs(a, [6, 3], (0, 1), norm))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn"])
def test_several_axes(name, norm, rng):
    a = array(rng, (3, 4, 5), name)
    ours, theirs = getattr(paddle.fft, name), getattr(scipy.fft, name)
    x = paddle.to_tensor(a)
    close(ours(x, norm=norm), theirs(a, norm=norm))
    close(ours(x, s=(2, 7), norm=norm), theirs(a, s=(2, 7), norm=norm))
    close(ours(x, axes=(0,), norm=norm), theirs(a, axes=(0,), norm=norm))
    close(ours(x, s=(5, 3), axes=(1, 0), norm=norm), theirs(a, s=(5, 3), axes=(1, 0), norm=norm))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "rfft2", "irfft2"])
def test_single_precision_stays(name, rng):
    a = array(rng, (4, 6), name, "float32")
    close(getattr(paddle.fft, name)(paddle.to_tensor(a)), getattr(scipy.fft, name)(a), rtol=1e-4, atol=1e-5)


def test_real_and_integer_operands(rng):
    a = rng.standard_normal((2, 5)).astype("float32")
    for name in ("fft", "ifft", "irfft", "hfft", "fft2", "ifftn"):
        ours, theirs = getattr(paddle.fft, name), getattr(scipy.fft, name)
        close(ours(paddle.to_tensor(a)), theirs(a), rtol=1e-4, atol=1e-5)
    k = np.arange(6)
    close(paddle.fft.rfft(paddle.to_tensor(k)), np.fft.rfft(k).astype("complex64"), rtol=1e-5, atol=1e-5)
    close(paddle.fft.fft(paddle.to_tensor(k)), np.fft.fft(k).astype("complex64"), rtol=1e-5, atol=1e-5)


def test_no_elements():
    assert paddle.fft.fft(paddle.zeros([0, 3])).shape == [0, 3]
    assert paddle.fft.fft(paddle.zeros([3, 0])).shape == [3, 0]
    assert paddle.fft.rfft(paddle.zeros([0, 4])).shape == [0, 3]
    assert paddle.fft.irfft(paddle.zeros([0, 3])).shape == [0, 4]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("fft", {"n": 4}),
        ("fft", {"n": 7, "axis": 0, "norm": "ortho"}),
        ("ifft", {"norm": "forward"}),
        ("rfft", {"n": 4}),
        ("rfft", {"n": 7, "norm": "ortho"}),
        ("irfft", {"n": 5}),
        ("irfft", {"norm": "forward"}),
        ("hfft", {"n": 7}),
        ("ihfft", {"n": 4}),
        ("fft2", {"s": (4, 4)}),
        ("rfft2", {"norm": "ortho"}),
        ("irfftn", {"s": (3, 6)}),
        ("hfftn", {}),
        ("ihfftn", {}),
    ],
)
def test_gradients(name, options, rng):
    a = array(rng, (3, 5), name)
    x, peer = paddle.to_tensor(a, stop_gradient=False), torch.from_numpy(a).requires_grad_()
    y = getattr(paddle.fft, name)(x, **options)
    theirs = {{"axis": "dim", "axes": "dim"}.get(k, k): v for k, v in options.items()}
    z = getattr(torch.fft, name)(peer, **theirs)
    seed = rng.standard_normal(y.shape)
    if z.is_complex():
        seed = seed + 1j * rng.standard_normal(y.shape)
    y.backward(paddle.to_tensor(seed))
    z.backward(torch.from_numpy(seed))
    np.testing.assert_allclose(x.grad.numpy(), peer.grad.resolve_conj().numpy(), rtol=1e-9, atol=1e-10)


def test_gradient_of_a_real_operand(rng):
    a = rng.standard_normal((4,))
    x, peer = paddle.to_tensor(a, stop_gradient=False), torch.from_numpy(a).requires_grad_()
    (paddle.fft.fft(x).abs() ** 2).sum().backward()
    (torch.fft.fft(peer).abs() ** 2).sum().backward()
    assert x.grad.dtype == paddle.float64
    np.testing.assert_allclose(x.grad.numpy(), peer.grad.numpy())


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies(n):
    close(paddle.fft.fftfreq(n, 0.3, dtype="float64"), np.fft.fftfreq(n, 0.3))
    close(paddle.fft.rfftfreq(n, 0.3, dtype="float64"), np.fft.rfftfreq(n, 0.3))
    assert paddle.fft.fftfreq(n).dtype == paddle.float32
    assert paddle.fft.rfftfreq(n, requires_grad=True).stop_gradient is False


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts(name, rng):
    a = rng.standard_normal((3, 4, 5))
    ours, theirs = getattr(paddle.fft, name), getattr(np.fft, name)
    for axes in (None, 1, (0, 2), (-1,)):
        close(ours(paddle.to_tensor(a), axes), theirs(a, axes))
    x, peer = paddle.to_tensor(a, stop_gradient=False), torch.from_numpy(a).requires_grad_()
    (ours(x) * paddle.arange(5.0).astype("float64")).sum().backward()
    (getattr(torch.fft, name)(peer) * torch.arange(5.0)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), peer.grad.numpy())


def test_out(rng):
    a = rng.standard_normal(4)
    out = paddle.zeros([4], "complex128")
    assert paddle.fft.fft(paddle.to_tensor(a), out=out) is out
    np.testing.assert_allclose(out.numpy(), np.fft.fft(a))
    freq = paddle.zeros([4])
    assert paddle.fft.fftfreq(4, out=freq) is freq
    assert freq.tolist() == [0.0, 0.25, -0.5, -0.25]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: paddle.fft.fft(x, n=0), ValueError, r"\[fft\] requires a positive n, got 0"),
        (lambda x: paddle.fft.fft(x, n=2.0), ValueError, "an integer for n"),
        (lambda x: paddle.fft.fft(x, axis=2), ValueError, "an axis from -2 to 1"),
        (lambda x: paddle.fft.fft(x, axis=[0]), ValueError, "an integer for axis"),
        (lambda x: paddle.fft.rfft(x, norm="none"), ValueError, r"\[rfft\] requires a norm"),
        (lambda x: paddle.fft.irfft(x, norm=None), ValueError, r"\[irfft\] requires a norm"),
        (lambda x: paddle.fft.fftn(x, s=(3,), axes=(0, 1)), ValueError, "2 sizes, one for each axis"),
        (lambda x: paddle.fft.fftn(x, s=(3, 3, 3)), ValueError, "at most 2 sizes"),
        (lambda x: paddle.fft.fftn(x, s=(-1, 3)), ValueError, "a positive s"),
        (lambda x: paddle.fft.fftn(x, axes=(0, -2)), ValueError, "different axes"),
        (lambda x: paddle.fft.fftn(x, axes=()), ValueError, "one or more"),
        (lambda x: paddle.fft.fft2(x[0]), ValueError, r"\[fft2\] requires a tensor of rank 2"),
        (lambda x: paddle.fft.fft2(x, s=(1,)), ValueError, "two integers for s"),
        (lambda x: paddle.fft.rfft2(x, axes=(0, 1, 0)), ValueError, "two integers for axes"),
        (lambda x: paddle.fft.irfft(x[:, :1]), ValueError, "at least two points"),
        (lambda x: paddle.fft.fft(paddle.to_tensor(1.0)), ValueError, r"\[fft\] requires an axis"),
        (lambda x: paddle.fft.fft(x.numpy()), TypeError, r"\[fft\] requires a Tensor for x, got ndarray"),
        (lambda x: paddle.fft.fft(x.astype("float16")), TypeError, r"\[fft\] requires .* float32, .* got float16"),
        (lambda x: paddle.fft.rfft(x.astype("complex64")), TypeError, "complex64"),
        (lambda x: paddle.fft.rfft(x > 0), TypeError, "bool"),
        (lambda x: paddle.fft.fftfreq(0), ValueError, r"\[fftfreq\] requires a positive n"),
        (lambda x: paddle.fft.fftfreq(3, 0), ValueError, "a d other than 0"),
        (lambda x: paddle.fft.rfftfreq(3, dtype="int32"), TypeError, "a floating dtype"),
        (lambda x: paddle.fft.fftshift(x, 3), ValueError, r"\[fftshift\] requires an axis"),
    ],
)
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call(paddle.ones([2, 4]))
