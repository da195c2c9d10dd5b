"""Layers from waveforms to spectrograms, mels and cepstral coefficients; each has the one before inside."""

from __future__ import annotations

from typing import Any

import paddle
from paddle._public import public
from paddle.audio.functional.functional import compute_fbank_matrix, create_dct, power_to_db
from paddle.audio.functional.window import get_window
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@public("paddle.audio.features")
class Spectrogram(Layer):
    """Spectrogram of waveforms: magnitudes of the short-time Fourier transform, raised to a power.

    Args:
        n_fft: number of points of a frame.
        hop_length: samples from one frame to the next; None: ``n_fft // 4``.
        win_length: points of the window, which is padded with zeros to n_fft; None: n_fft.
        window: a name or a tuple of a name and parameters, as in :func:`paddle.audio.functional.get_window`.
        power: the exponent, above 0: 1 for magnitudes, 2 for powers.
        center: whether frames are centred at multiples of the hop, and the waveform is padded for it.
        pad_mode: how, ``"reflect"`` or ``"constant"``.
        dtype: dtype of the window, ``"float32"`` or ``"float64"``.

    Shape:
        x: ``[time]`` or ``[batch, time]``, floating.
        output: ``[n_fft // 2 + 1, frames]`` or ``[batch, n_fft // 2 + 1, frames]``.

    Raises:
        ValueError: a power of 0 or less, no such window, or in a call a waveform that is too short or of another rank.

    Example:
        >>> import paddle
        >>> layer = paddle.audio.features.Spectrogram(n_fft=64, hop_length=32)
        >>> layer(paddle.ones([2, 320])).shape
        paddle.Size([2, 33, 11])
    """

    def __init__(
        self,
        n_fft: int = 512,
        hop_length: int | None = 512,
        win_length: int | None = None,
        window: Any = "hann",
        power: float = 1.0,
        center: bool = True,
        pad_mode: str = "reflect",
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        if not power > 0:
            raise op_error(ValueError, "Spectrogram", "a power above 0", power)
        win_length = n_fft if win_length is None else win_length
        self.power = power
        self._lengths = (n_fft, hop_length, win_length)
        self._padding = (center, pad_mode)
        self.register_buffer("fft_window", get_window(window, win_length, fftbins=True, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        """Compute the spectrogram."""
        spectra = paddle.signal.stft(x, *self._lengths, self.fft_window, *self._padding)
        if self.power == 2:  # without the root whose square this is
            return paddle.square(paddle.real(spectra)) + paddle.square(paddle.imag(spectra))
        magnitudes = paddle.abs(spectra)
        return magnitudes if self.power == 1 else paddle.pow(magnitudes, self.power)


@public("paddle.audio.features")
class MelSpectrogram(Layer):
    """Spectrogram whose points are summed up by triangular filters on the mel scale.

    Args:
        sr: samples per second.
        n_fft: number of points of a frame.
        hop_length: samples from one frame to the next; None: ``n_fft // 4``.
        win_length: points of the window; None: n_fft.
        window: a name or a tuple of a name and parameters.
        power: exponent of the magnitudes, above 0.
        center: whether frames are centred at multiples of the hop.
        pad_mode: how the waveform is padded for it, ``"reflect"`` or ``"constant"``.
        n_mels: how many filters.
        f_min: where the first filter begins, in Hz.
        f_max: where the last one ends, in Hz; None: half the sample rate.
        htk: whether the mel scale is HTK's; otherwise Slaney's.
        norm: ``"slaney"`` for filters of one area, a number p for division by the p-norm, None for neither.
        dtype: dtype of window and filters, ``"float32"`` or ``"float64"``.

    Shape:
        x: ``[time]`` or ``[batch, time]``, floating.
        output: ``[n_mels, frames]`` or ``[batch, n_mels, frames]``.

    Raises:
        ValueError: a power of 0 or less, no such window, or in a call a waveform that is too short or of another rank.

    Example:
        >>> import paddle
        >>> layer = paddle.audio.features.MelSpectrogram(sr=8000, n_fft=64, hop_length=32, n_mels=8)
        >>> layer(paddle.ones([320])).shape
        paddle.Size([8, 11])
    """

    def __init__(
        self,
        sr: int = 22050,
        n_fft: int = 2048,
        hop_length: int | None = 512,
        win_length: int | None = None,
        window: Any = "hann",
        power: float = 2.0,
        center: bool = True,
        pad_mode: str = "reflect",
        n_mels: int = 64,
        f_min: float = 50.0,
        f_max: float | None = None,
        htk: bool = False,
        norm: str | float | None = "slaney",
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        self._spectrogram = Spectrogram(n_fft, hop_length, win_length, window, power, center, pad_mode, dtype)
        self.n_mels, self.f_min, self.f_max, self.htk, self.norm = n_mels, f_min, f_max, htk, norm
        self.register_buffer("fbank_matrix", compute_fbank_matrix(sr, n_fft, n_mels, f_min, f_max, htk, norm, dtype))

    def forward(self, x: Tensor) -> Tensor:
        """Compute the mel spectrogram."""
        return paddle.matmul(self.fbank_matrix, self._spectrogram(x))


@public("paddle.audio.features")
class LogMelSpectrogram(Layer):
    """Mel spectrogram in decibels.

    Args:
        sr: samples per second.
        n_fft: number of points of a frame.
        hop_length: samples from one frame to the next; None: ``n_fft // 4``.
        win_length: points of the window; None: n_fft.
        window: a name or a tuple of a name and parameters.
        power: exponent of the magnitudes, above 0.
        center: whether frames are centred at multiples of the hop.
        pad_mode: how the waveform is padded for it, ``"reflect"`` or ``"constant"``.
        n_mels: how many filters.
        f_min: where the first filter begins, in Hz.
        f_max: where the last one ends, in Hz; None: half the sample rate.
        htk: whether the mel scale is HTK's; otherwise Slaney's.
        norm: ``"slaney"`` for filters of one area, a number p for division by the p-norm, None for neither.
        ref_value: the power of 0 dB, above 0.
        amin: the smallest power that counts, above 0.
        top_db: how far below its peak the result may be, in dB; None: any distance.
        dtype: dtype of window and filters, ``"float32"`` or ``"float64"``.

    Shape:
        x: ``[time]`` or ``[batch, time]``, floating.
        output: ``[n_mels, frames]`` or ``[batch, n_mels, frames]``.

    Raises:
        ValueError: a power of 0 or less, no such window; in a call a waveform that is too short or of another rank, an
            amin or ref_value that is not above 0, or a negative top_db.

    Example:
        >>> import paddle
        >>> layer = paddle.audio.features.LogMelSpectrogram(sr=8000, n_fft=64, hop_length=32, n_mels=8, top_db=80.0)
        >>> layer(paddle.ones([320])).shape
        paddle.Size([8, 11])
    """

    def __init__(
        self,
        sr: int = 22050,
        n_fft: int = 512,
        hop_length: int | None = None,
        win_length: int | None = None,
        window: Any = "hann",
        power: float = 2.0,
        center: bool = True,
        pad_mode: str = "reflect",
        n_mels: int = 64,
        f_min: float = 50.0,
        f_max: float | None = None,
        htk: bool = False,
        norm: str | float | None = "slaney",
        ref_value: float = 1.0,
        amin: float = 1e-10,
        top_db: float | None = None,
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        self._melspectrogram = MelSpectrogram(
            sr, n_fft, hop_length, win_length, window, power, center, pad_mode, n_mels, f_min, f_max, htk, norm, dtype
        )
        self.ref_value, self.amin, self.top_db = ref_value, amin, top_db

    def forward(self, x: Tensor) -> Tensor:
        """Compute the mel spectrogram in decibels."""
        return power_to_db(self._melspectrogram(x), self.ref_value, self.amin, self.top_db)


@public("paddle.audio.features")
class MFCC(Layer):
    """Mel-frequency cepstral coefficients: the discrete cosine transform of the mel spectrogram in decibels.

    Args:
        sr: samples per second.
        n_mfcc: how many coefficients, from 1 to n_mels.
        n_fft: number of points of a frame.
        hop_length: samples from one frame to the next; None: ``n_fft // 4``.
        win_length: points of the window; None: n_fft.
        window: a name or a tuple of a name and parameters.
        power: exponent of the magnitudes, above 0.
        center: whether frames are centred at multiples of the hop.
        pad_mode: how the waveform is padded for it, ``"reflect"`` or ``"constant"``.
        n_mels: how many filters.
        f_min: where the first filter begins, in Hz.
        f_max: where the last one ends, in Hz; None: half the sample rate.
        htk: whether the mel scale is HTK's; otherwise Slaney's.
        norm: ``"slaney"`` for filters of one area, a number p for division by the p-norm, None for neither.
        ref_value: the power of 0 dB, above 0.
        amin: the smallest power that counts, above 0.
        top_db: how far below its peak the spectrogram may be, in dB; None: any distance.
        dtype: dtype of window, filters and transform, ``"float32"`` or ``"float64"``.

    Shape:
        x: ``[batch, time]`` or ``[time]``, floating.
        output: ``[batch, n_mfcc, frames]`` or ``[n_mfcc, frames]``.

    Raises:
        ValueError: n_mfcc is not from 1 to n_mels, and what :class:`LogMelSpectrogram` refuses.

    Example:
        >>> import paddle
        >>> layer = paddle.audio.features.MFCC(sr=8000, n_mfcc=5, n_fft=64, hop_length=32, n_mels=8)
        >>> layer(paddle.ones([1, 320])).shape
        paddle.Size([1, 5, 11])
    """

    def __init__(
        self,
        sr: int = 22050,
        n_mfcc: int = 40,
        n_fft: int = 512,
        hop_length: int | None = None,
        win_length: int | None = None,
        window: Any = "hann",
        power: float = 2.0,
        center: bool = True,
        pad_mode: str = "reflect",
        n_mels: int = 64,
        f_min: float = 50.0,
        f_max: float | None = None,
        htk: bool = False,
        norm: str | float | None = "slaney",
        ref_value: float = 1.0,
        amin: float = 1e-10,
        top_db: float | None = None,
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        if n_mfcc > n_mels:
            raise op_error(ValueError, "MFCC", f"an n_mfcc of at most n_mels, {n_mels}", n_mfcc)
        self._log_melspectrogram = LogMelSpectrogram(
            sr, n_fft, hop_length, win_length, window, power, center, pad_mode, n_mels, f_min, f_max, htk, norm,
            ref_value, amin, top_db, dtype,
        )  # fmt: skip
        self.register_buffer("dct_matrix", create_dct(n_mfcc, n_mels, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        """Compute the coefficients."""
        return paddle.matmul(paddle.transpose(self.dct_matrix, [1, 0]), self._log_melspectrogram(x))
