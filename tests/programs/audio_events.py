"""Sounds are written as WAV files, loaded, and told apart by a convolutional network that ``paddle.Model`` trains."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common import fill

import paddle
from paddle import nn

CASES = ("log mel", "mfcc")
TOLERANCE = 1e-3
RATE, SOUNDS = 8000, ("click", "hum", "noise", "siren")


def sound(kind: str, rng: Any) -> np.ndarray:
    """A tenth of a second of a sound."""
    time = np.arange(RATE // 10) / RATE
    if kind == "click":
        return np.exp(-200 * np.abs(time - rng.uniform(0.02, 0.08))) * np.sin(2 * np.pi * 1200 * time)
    if kind == "hum":
        return 0.5 * np.sin(2 * np.pi * rng.uniform(90, 130) * time) + 0.02 * rng.standard_normal(time.size)
    if kind == "noise":
        return 0.2 * rng.standard_normal(time.size)
    return 0.5 * np.sin(2 * np.pi * (rng.uniform(600, 900) * time + 4000 * time**2))


def write_sounds(folder: Path, count: int) -> list[tuple[str, int]]:
    """Write ``count`` files of each kind; their names and labels."""
    rng = np.random.RandomState(0)
    files = []
    for i in range(count):
        for label, kind in enumerate(SOUNDS):
            path = str(folder / f"{kind}-{i}.wav")
            wave = paddle.to_tensor(np.clip(sound(kind, rng), -1, 1).astype("float32"))
            paddle.audio.save(path, wave.unsqueeze(0), RATE, bits_per_sample=16)
            files.append((path, label))
    return files


class Sounds(paddle.io.Dataset):
    def __init__(self, files: list[tuple[str, int]], features: Any) -> None:
        self.files, self.features = files, features

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, label = self.files[index]
        wave, rate = paddle.audio.load(path, normalize=True)
        assert rate == RATE
        return self.features(wave).numpy() / 20, np.array([label], "int64")


def run(case: str) -> dict[str, Any]:
    if case == "mfcc":
        features = paddle.audio.features.MFCC(RATE, 16, n_fft=256, hop_length=80, n_mels=24, f_min=50.0)
    else:
        features = paddle.audio.features.LogMelSpectrogram(RATE, n_fft=256, hop_length=80, n_mels=24, f_min=50.0)
    with tempfile.TemporaryDirectory() as folder:
        files = write_sounds(Path(folder), 10)
        about = paddle.audio.info(files[0][0])
        train, held = Sounds(files[:32], features), Sounds(files[32:], features)
        network = nn.Sequential(
            nn.Conv2D(1, 8, 3, stride=2, padding=1, bias_attr=False),
            nn.BatchNorm2D(8),
            nn.LeakyReLU(),
            nn.Conv2D(8, 16, 3, stride=2, padding=1),
            nn.Swish(),
            nn.AdaptiveAvgPool2D((2, 1)),
            nn.Flatten(),
            nn.Linear(32, len(SOUNDS)),
        )
        model = paddle.Model(fill(network))
        model.prepare(
            paddle.optimizer.Adam(0.01, parameters=model.parameters()),
            nn.CrossEntropyLoss(),
            paddle.metric.Accuracy(topk=(1, 2)),
        )
        losses: list[float] = []

        class Losses(paddle.callbacks.Callback):
            def on_train_batch_end(self, step: int, logs: Any = None) -> None:
                losses.append(float(np.ravel(logs["loss"])[0]))

        model.fit(train, epochs=6, batch_size=8, shuffle=False, verbose=0, callbacks=[Losses()])
        scores = model.evaluate(held, batch_size=4, verbose=0)
        (logits,) = model.predict(held, batch_size=4, stack_outputs=True, verbose=0)
    return {
        "file": [about.sample_rate, about.num_samples, about.num_channels, about.bits_per_sample, about.encoding],
        "losses": losses,
        "loss": float(np.ravel(scores["loss"])[0]),
        "accuracy": [float(scores["acc_top1"]), float(scores["acc_top2"])],
        "logits": logits,
    }
