"""Windows and matrices against SciPy and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal
from numpy.testing import assert_allclose

import paddle
from paddle.audio import functional as AF

WINDOWS = [
    "hamming", "hann", "blackman", "nuttall", "triang", "bohman", "cosine", "bartlett", "tukey", "taylor",
    ("tukey", 0.3), ("tukey", 0), ("tukey", 1), ("taylor", 6, 40, False), ("gaussian", 2.0),
    ("general_gaussian", 1.5, 3.0), ("exponential", None, 3.0), ("kaiser", 14.0), ("general_hamming", 0.6),
    ("general_cosine", [0.5, 0.3, 0.2]),
]  # fmt: skip


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("length", [1, 2, 8, 9])
@pytest.mark.parametrize("periodic", [True, False])
def test_windows_are_those_of_scipy(window, length, periodic):
    expected = scipy.signal.get_window(window, length, periodic)
    assert_allclose(AF.get_window(window, length, periodic).numpy(), expected, atol=1e-12)


def test_a_window_of_no_points_is_empty():
    assert AF.get_window("hann", 0).shape == [0]


@pytest.mark.parametrize(
    ("window", "kind"),
    [
        ("other", ValueError), ("kaiser", ValueError), (("kaiser",), TypeError), (("hann", 1.0), TypeError),
        ((), ValueError), (["hann"], ValueError), (None, ValueError), (("general_cosine", 2.0), TypeError),
    ],
)  # fmt: skip
def test_windows_with_wrong_parameters_are_refused(window, kind):
    with pytest.raises(kind, match=r"\[get_window\]"):
        AF.get_window(window, 8)
    with pytest.raises(ValueError, match="no center"):
        AF.get_window(("exponential", 2.0), 8, fftbins=False)


@pytest.mark.parametrize("htk", [False, True])
def test_mels_and_hertz_are_inverse(htk):
    hertz = np.array([0.0, 100.0, 999.0, 1000.0, 1001.0, 8000.0])
    mels = AF.hz_to_mel(paddle.to_tensor(hertz), htk)
    assert mels.dtype == paddle.float64
    assert_allclose(AF.mel_to_hz(mels, htk).numpy(), hertz, atol=1e-9)
    assert_allclose([AF.hz_to_mel(f, htk) for f in hertz], mels.numpy())
    assert_allclose([AF.mel_to_hz(m, htk) for m in mels.tolist()], hertz, atol=1e-9)


def test_filters_of_the_fourier_points():
    plain = AF.compute_fbank_matrix(16000, 512, 40, norm=None, dtype="float64").numpy()
    assert plain.shape == (40, 257)
    assert (plain >= 0).all()
    assert (plain <= 1).all()
    # Between the first and the last peak the filters add up to 1.
    peaks = AF.mel_frequencies(42, 0.0, 8000.0, dtype="float64").numpy()[1:-1]
    inside = (AF.fft_frequencies(16000, 512).numpy() > peaks[0]) & (AF.fft_frequencies(16000, 512).numpy() < peaks[-1])
    assert_allclose(plain.sum(0)[inside], 1)
    for p in (1, 2.0, float("inf")):
        normed = AF.compute_fbank_matrix(16000, 512, 40, norm=p, dtype="float64").numpy()
        assert_allclose(np.linalg.norm(normed[5:], p, axis=1), 1)


def test_the_cosine_transform_is_orthogonal():
    dct = AF.create_dct(8, 8, dtype="float64").numpy()
    assert_allclose(dct.T @ dct, np.eye(8), atol=1e-12)
    with pytest.raises(ValueError, match="norm of 'ortho' or None"):
        AF.create_dct(3, 4, "other")


def test_decibels():
    powers = paddle.to_tensor([0.0, 1e-3, 1.0, 100.0], stop_gradient=False)
    assert_allclose(AF.power_to_db(powers).numpy(), [-60, -30, 0, 20], rtol=1e-6)
    assert_allclose(AF.power_to_db(powers, top_db=None).numpy(), [-100, -30, 0, 20], rtol=1e-6)
    for wrong in ({"amin": 0}, {"ref_value": -1.0}, {"top_db": -1}):
        with pytest.raises(ValueError, match=r"\[power_to_db\]"):
            AF.power_to_db(powers, **wrong)


@pytest.mark.parametrize("make", [AF.mel_frequencies, lambda dtype: AF.fft_frequencies(8, 8, dtype)])
def test_integers_are_no_dtype_of_frequencies(make):
    with pytest.raises(TypeError, match="a floating dtype"):
        make(dtype="int32")
