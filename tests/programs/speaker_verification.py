"""Speakers are told apart by embeddings that an additive margin spreads; pairs of sounds are then scored."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import fill

import paddle
import paddle.nn.functional as F
from paddle import nn

CASES = ("angle", "cosine")
TOLERANCE = 1e-3
RATE, SPEAKERS, WIDTH = 8000, 5, 16


def voices(labels: np.ndarray, seed: int) -> np.ndarray:
    """A sum of harmonics whose pitch and weights are the speaker's, with noise."""
    rng = np.random.RandomState(seed)
    time = np.arange(1200) / RATE
    pitch = 110 + 35 * labels + rng.uniform(-4, 4, labels.shape)
    colour = np.random.RandomState(7).uniform(0.1, 1, (SPEAKERS, 8))
    waves = 0.05 * rng.standard_normal((len(labels), time.size))
    for k in range(8):
        phase = 2 * np.pi * (k + 1) * pitch[:, None] * time + rng.uniform(0, 6, (len(labels), 1))
        waves += colour[labels, k, None] * np.sin(phase)
    return waves.astype("float32")


class Augment:
    """Louder or softer sounds, with noise of a given ratio, and bands of their spectra hidden."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.RandomState(seed)

    def waves(self, waves: Any, decibels: float = 20.0) -> Any:
        gain = paddle.to_tensor(self.rng.uniform(0.5, 1.5, (len(waves), 1)).astype("float32"))
        noise = paddle.to_tensor(self.rng.standard_normal(waves.shape).astype("float32"))
        power = paddle.mean(paddle.square(waves), axis=-1, keepdim=True)
        return gain * (waves + noise * paddle.sqrt(power / 10 ** (decibels / 10)))

    def spectra(self, spectra: Any, longest: int = 4) -> Any:
        mask = np.ones(spectra.shape, "float32")
        for row in mask:
            start, width = self.rng.randint(0, spectra.shape[1] - longest), self.rng.randint(0, longest + 1)
            row[start : start + width] = 0
            start = self.rng.randint(0, spectra.shape[2] - longest)
            row[:, start : start + width] = 0
        return spectra * paddle.to_tensor(mask)


class Embedder(nn.Layer):
    """Dilated convolutions over time, their mean and deviation, and a direction."""

    def __init__(self, bands: int) -> None:
        super().__init__()
        self.frames = nn.Sequential(
            nn.Conv1D(bands, 24, 3, padding="same"),
            nn.ReLU(),
            nn.Conv1D(24, 24, 3, dilation=2, padding="same", groups=4),
            nn.PReLU(),
        )
        self.out = nn.Linear(48, WIDTH)

    def forward(self, spectra: Any) -> Any:
        hidden = self.frames(spectra - spectra.mean(axis=2, keepdim=True))
        return self.out(paddle.concat([hidden.mean(axis=2), hidden.std(axis=2)], axis=1))


def with_margin(cosines: Any, labels: Any, kind: str, margin: float = 0.2) -> Any:
    """Cosines, of which that of the true speaker is made worse: its angle grows, or it falls itself."""
    true = F.one_hot(labels, SPEAKERS)
    if kind == "cosine":
        return cosines - margin * true
    return paddle.cos(paddle.acos(cosines.clip(-1 + 1e-6, 1 - 1e-6)) + margin * true)


def equal_error(scores: np.ndarray, same: np.ndarray) -> float:
    """The rate of errors where as many pairs are wrongly taken as wrongly refused."""
    rates = [((scores[~same] >= t).mean(), (scores[same] < t).mean()) for t in np.sort(scores)]
    return float(min((abs(a - b), (a + b) / 2) for a, b in rates)[1])


def run(case: str) -> dict[str, Any]:
    spectrogram = paddle.audio.features.LogMelSpectrogram(
        sr=RATE, n_fft=256, hop_length=100, window="hamming", n_mels=20, f_min=50.0, ref_value=1.0, amin=1e-6
    )
    labels = np.arange(60) % SPEAKERS
    waves, truth = paddle.to_tensor(voices(labels, 1)), paddle.to_tensor(labels.astype("int64"))
    model = fill(nn.LayerDict({"embedder": Embedder(20), "centres": nn.Linear(WIDTH, SPEAKERS, bias_attr=False)}))
    optimizer = paddle.optimizer.Momentum(0.02, 0.9, parameters=model.parameters(), use_nesterov=True)
    augment, losses = Augment(2), []
    for step in range(24):
        part = slice(step % 4 * 15, step % 4 * 15 + 15)
        seen = augment.spectra(spectrogram(augment.waves(waves[part])) / 10)
        cosines = paddle.matmul(
            F.normalize(model["embedder"](seen), axis=1), F.normalize(model["centres"].weight, axis=0)
        )
        loss = F.cross_entropy(10 * with_margin(cosines, truth[part], case), truth[part])
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    model.eval()
    held = np.arange(15) % SPEAKERS
    with paddle.no_grad():
        vectors = model["embedder"](spectrogram(paddle.to_tensor(voices(held, 9))) / 10)
        first, second = np.triu_indices(15, 1)
        scores = F.cosine_similarity(vectors[paddle.to_tensor(first)], vectors[paddle.to_tensor(second)])
    error = equal_error(scores.numpy().round(3), held[first] == held[second])
    return {"losses": losses, "scores": scores, "equal error": round(error, 2)}
