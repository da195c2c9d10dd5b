"""Features of sounds, beside what PyTorch's users write: a short-time transform, and products with the same matrices.

torchaudio computes the same steps; it has no build without CUDA to compare with, so its steps stand here by
themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from cases import Case, normal
from rows import add_section

import paddle

AUDIO = add_section("audio", "Spectrogram, mel and MFCC of 10 s of sound", mean=1.0)
RATE, MELS, COEFFICIENTS = 16000, 64, 40
KINDS = ("spectrogram", "mel", "mfcc")


def ours(kind: str, n: int, hop: int) -> paddle.nn.Layer:
    """The layer."""
    features = paddle.audio.features
    if kind == "spectrogram":
        return features.Spectrogram(n, hop, power=2.0)
    if kind == "mel":
        return features.MelSpectrogram(RATE, n, hop)
    return features.MFCC(RATE, COEFFICIENTS, n, hop, top_db=80.0)


def theirs(kind: str, n: int, hop: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """The same steps in PyTorch."""
    bank = torch.tensor(paddle.audio.functional.compute_fbank_matrix(RATE, n, MELS, 50.0).numpy())
    dct = torch.tensor(paddle.audio.functional.create_dct(COEFFICIENTS, MELS).numpy())
    window = torch.hann_window(n)

    def spectrogram(x: torch.Tensor) -> torch.Tensor:
        return torch.stft(x, n, hop, window=window, return_complex=True).abs().pow(2.0)

    def mel(x: torch.Tensor) -> torch.Tensor:
        return torch.matmul(bank, spectrogram(x))

    def mfcc(x: torch.Tensor) -> torch.Tensor:
        decibels = 10.0 * torch.log10(torch.clamp(mel(x), min=1e-10))
        return torch.matmul(dct.T, torch.maximum(decibels, decibels.max() - 80.0))

    return (spectrogram, mel, mfcc)[KINDS.index(kind)]


def sound() -> dict[str, Any]:
    return {"x": normal(1, 10 * RATE)}


for n, hop in ((400, 200), (512, 128), (2048, 512)):
    for kind in KINDS:
        made = f"layer = {{}}('{kind}', {n}, {hop})"
        Case(
            f"audio-{kind}-{n}", "layer(x)", sound, "layer(x)", 1.0, tolerance=1e-3,
            setup="from audio import ours; " + made.format("ours"),
            theirs_setup="from audio import theirs; " + made.format("theirs"),
            what=f"{kind}, frames of {n} points, {hop} apart, at {RATE // 1000} kHz",
        ).add(AUDIO)  # fmt: skip
