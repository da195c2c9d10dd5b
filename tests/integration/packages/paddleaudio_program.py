"""PaddleAudio: sound files, a data set of them, features as layers and as functions, classifiers on both."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from common import fill

os.environ["PPAUDIO_HOME"] = str(Path("home").resolve())  # before its import, which makes the folder

import paddleaudio
from facts import numbers
from paddleaudio.compliance import kaldi, librosa
from paddleaudio.features import MFCC, LogMelSpectrogram, MelSpectrogram, Spectrogram
from paddleaudio.metric import compute_eer

import paddle

RATE = 8000
CLASSES = 3


def wave(kind: int, seed: int, seconds: float = 0.5) -> np.ndarray:
    """A tone, a rising tone or noise, between -1 and 1."""
    rng = np.random.RandomState(seed)
    t = np.arange(int(RATE * seconds)) / RATE
    pitch = rng.uniform(300, 600)
    clean = (np.sin(2 * np.pi * pitch * t), np.sin(2 * np.pi * (pitch + 800 * t) * t), rng.standard_normal(t.size) / 3)
    return (0.6 * clean[kind] + 0.02 * rng.standard_normal(t.size)).clip(-1, 1).astype("float32")


def files() -> dict:
    """Written and read again: whole, resampled, in the middle, as what ``info`` says."""
    sound = wave(1, 0)
    paddleaudio.backends.soundfile_save(sound, RATE, "tone.wav")
    samples, rate = paddleaudio.backends.soundfile_load("tone.wav")
    resampled, _ = paddleaudio.backends.soundfile_load("tone.wav", sr=4000, offset=0.1, duration=0.25)
    normal, _ = paddleaudio.backends.soundfile_load("tone.wav", norm_type="gaussian")
    return {
        "rate": rate,
        "samples": numbers(samples),
        "resampled": [len(resampled), *numbers(resampled)],
        "normalised": numbers(normal),
    }


def features() -> dict:
    x = paddle.to_tensor(np.stack([wave(kind, kind) for kind in range(3)]))
    layers = {
        "spectrogram": Spectrogram(n_fft=256, hop_length=80, window="hamming", power=1.0),
        "mel": MelSpectrogram(sr=RATE, n_fft=256, hop_length=128, n_mels=20, f_min=50.0),
        "log mel": LogMelSpectrogram(sr=RATE, n_fft=256, n_mels=24, top_db=60.0, htk=True),
        "mfcc": MFCC(sr=RATE, n_mfcc=13, n_fft=256, n_mels=32, window=("gaussian", 40.0)),
    }
    results = {}
    for name, layer in layers.items():
        x.stop_gradient = False
        y = layer(x)
        (y**2).mean().backward()
        results[name] = {"shape": y.shape, "values": numbers(y), "gradient": numbers(x.grad)}
        x.clear_gradient()
    sound = x[1:2].detach()
    options = {"sr": RATE, "dither": 0.0, "n_mels": 20}
    results["fbank"] = numbers(kaldi.fbank(sound, **options))
    results["kaldi mfcc"] = numbers(kaldi.mfcc(sound, n_mfcc=12, **options))
    results["kaldi spectrogram"] = numbers(kaldi.spectrogram(sound, sr=RATE, dither=0.0))
    array = sound[0].numpy()
    results["as arrays"] = numbers(librosa.melspectrogram(array, sr=RATE, window_size=256, hop_length=80, n_mels=20))
    return results


class Tones(paddleaudio.datasets.dataset.AudioClassificationDataset):
    """Sound files of three kinds, as PaddleAudio's data sets are."""

    def __init__(self, count: int, **options) -> None:
        names = [f"sounds/{i}.wav" for i in range(count)]
        os.makedirs("sounds", exist_ok=True)
        for i, name in enumerate(names):
            paddleaudio.backends.soundfile_save(wave(i % CLASSES, 10 + i), RATE, name)
        super().__init__(names, [i % CLASSES for i in range(count)], **options)


class Classifier(paddle.nn.Layer):
    """Convolutions over time on what PaddleAudio's layers, or its data set, make of the sound."""

    def __init__(self, channels: int, front: paddle.nn.Layer | None = None) -> None:
        super().__init__()
        self.front = front
        self.body = paddle.nn.Sequential(
            paddle.nn.BatchNorm1D(channels),
            paddle.nn.Conv1D(channels, 16, 5, stride=2),
            paddle.nn.ReLU(),
            paddle.nn.Conv1D(16, 16, 5),
            paddle.nn.AdaptiveAvgPool1D(1),
            paddle.nn.Flatten(),
            paddle.nn.Linear(16, CLASSES),
        )

    def forward(self, x):
        return self.body(x.transpose([0, 2, 1]) if self.front is None else self.front(x))


class Losses(paddle.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.values: list[float] = []

    def on_train_batch_end(self, step, logs=None):
        self.values.append(logs["loss"][0])


def fitted(name: str, data: Tones, network: Classifier) -> dict:
    """By ``paddle.Model``: trained, saved, loaded by another, evaluated there."""
    fill(network.body)
    criterion = paddle.nn.CrossEntropyLoss()
    model, log = paddle.Model(network), Losses()
    optimizer = paddle.optimizer.Adam(0.01, parameters=network.parameters())
    model.prepare(optimizer, criterion, paddle.metric.Accuracy())
    model.fit(data, batch_size=6, epochs=3, shuffle=False, verbose=0, callbacks=[log])
    model.save(name)
    other = paddle.Model(network)
    fill(network.body)
    other.prepare(None, criterion, paddle.metric.Accuracy())
    other.load(name)
    scores = other.evaluate(data, batch_size=6, verbose=0)
    logits = np.concatenate(other.predict(data, batch_size=6, verbose=0)[0])
    target = np.arange(len(data)) % CLASSES == 1
    rate, threshold = compute_eer(target.astype("int64"), logits[:, 1])
    return {
        "losses": log.values,
        "loss": scores["loss"][0],
        "accuracy": scores["acc"],
        "logits": numbers(logits),
        "equal error rate": [float(rate), float(threshold)],
    }


def run() -> dict:
    features_of_files = Tones(18, feat_type="melspectrogram", window_size=256, hop_length=80, n_mels=20)
    front = LogMelSpectrogram(sr=RATE, n_fft=256, hop_length=80, n_mels=24, top_db=60.0)
    return {
        "files": files(),
        "features": features(),
        "trained on features": fitted("features", features_of_files, Classifier(20)),
        "trained through features": fitted("raw", Tones(18), Classifier(24, front)),
    }
