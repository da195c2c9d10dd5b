"""Features of sounds, and best paths of tags."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.signal
import torch

from paddle.audio import features, functional
from paddle.text import ViterbiDecoder, viterbi_decode
from tests.fuzz.calls.record import Call

WINDOWS = ["hann", "hamming", "blackman", "triang", "cosine", ("gaussian", 3.0), ("kaiser", 5.0)]


def mel_filters(rate: int, n_fft: int, count: int, low: float, high: float, htk: bool, slaney: bool) -> np.ndarray:
    """Triangles over the mel scale: ``[count, n_fft // 2 + 1]``."""

    def mel(f: float) -> float:
        if htk:
            return 2595 * float(np.log10(1 + f / 700))
        return f * 3 / 200 if f < 1000 else 15 + float(np.log(f / 1000)) * 27 / float(np.log(6.4))

    def hertz(m: float) -> float:
        if htk:
            return 700 * (10 ** (m / 2595) - 1)
        return m * 200 / 3 if m < 15 else 1000 * float(np.exp((m - 15) * np.log(6.4) / 27))

    edges = [hertz(m) for m in np.linspace(mel(low), mel(high), count + 2)]
    out = np.zeros((count, n_fft // 2 + 1))
    for i, k in np.ndindex(out.shape):
        f = k * rate / n_fft
        a, b, c = edges[i : i + 3]
        out[i, k] = max(0.0, min((f - a) / (b - a), (c - f) / (c - b))) * (2 / (c - a) if slaney else 1)
    return out


def spectral(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    kind = ("Spectrogram", "MelSpectrogram", "LogMelSpectrogram", "MFCC")[int(fixed.integers(4))]
    n_fft = int(fixed.choice([16, 32, 50]))
    hop, width = int(fixed.integers(3, n_fft)), int(fixed.integers(n_fft // 2, n_fft + 1))
    window, power = WINDOWS[int(fixed.integers(len(WINDOWS)))], float(fixed.choice([1.0, 2.0]))
    centred, mode = bool(fixed.integers(2)), ("reflect", "constant")[int(fixed.integers(2))]
    rate, mels, low, htk, slaney = (
        8000,
        int(fixed.integers(2, 6)),
        50.0,
        bool(fixed.integers(2)),
        bool(fixed.integers(2)),
    )
    top = [None, 30.0][int(fixed.integers(2))]
    cepstra, batched = int(fixed.integers(1, mels + 1)), bool(fixed.integers(2))
    rest: dict[str, Any] = {
        "n_fft": n_fft, "hop_length": hop, "win_length": width, "window": window, "power": power, "center": centred,
        "pad_mode": mode, "dtype": "float64",
    }  # fmt: skip
    if kind != "Spectrogram":
        rest.update(sr=rate, n_mels=mels, f_min=low, f_max=3900.0, htk=htk, norm="slaney" if slaney else None)
    if kind in ("LogMelSpectrogram", "MFCC"):
        rest.update(top_db=top)
    if kind == "MFCC":
        rest.update(n_mfcc=cepstra)
    layer = getattr(features, kind)(**rest)
    shape = (int(rng.integers(60, 140)),)
    x = rng.standard_normal((int(rng.integers(1, 4)), *shape) if batched else shape)

    def judge(x: np.ndarray) -> np.ndarray:
        taps = np.zeros(n_fft)
        left = (n_fft - width) // 2
        taps[left : left + width] = scipy.signal.get_window(window, width)
        wave = torch.tensor(x).reshape(-1, x.shape[-1])
        if centred:
            edges = (n_fft // 2, n_fft // 2)
            wave = torch.nn.functional.pad(wave[:, None], edges, mode)[:, 0]
        frames = wave.unfold(1, n_fft, hop).numpy() * taps
        out = (np.abs(np.fft.rfft(frames)) ** power).swapaxes(1, 2)
        if kind != "Spectrogram":
            out = mel_filters(rate, n_fft, mels, low, 3900.0, htk, slaney) @ out
        if kind in ("LogMelSpectrogram", "MFCC"):
            out = 10 * np.log10(np.maximum(out, 1e-10))
            out = out if top is None else np.maximum(out, out.max() - top)
        if kind == "MFCC":
            n, k = np.arange(mels)[None], np.arange(cepstra)[:, None]
            basis = np.cos(np.pi / mels * (n + 0.5) * k) * np.sqrt(2 / mels)
            basis[0] /= np.sqrt(2)
            out = basis @ out
        return out.reshape(*x.shape[:-1], *out.shape[1:])

    text = f"{kind} {rest} {batched}"
    return Call(text, lambda x: layer(x), judge, (x,), (0,), tolerance=1e-6)


def decibels(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    reference, least = float(fixed.choice([1.0, 0.3])), float(fixed.choice([1e-10, 1e-2]))
    top = [None, 15.0, 80.0][int(fixed.integers(3))]
    x = rng.uniform(1e-4, 3, (int(rng.integers(1, 5)), 4)) ** 2

    def judge(x: np.ndarray) -> np.ndarray:
        out = 10 * np.log10(np.maximum(x, least) / max(reference, least))
        return out if top is None else np.maximum(out, out.max() - top)

    def ours(x: Any) -> Any:
        return functional.power_to_db(x, reference, least, top)

    return Call(f"power_to_db {reference} {least} {top}", ours, judge, (x,), (0,))


def viterbi(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    ends, decoder = bool(fixed.integers(2)), bool(fixed.integers(2))
    batch, steps, tags = (int(rng.integers(1, n)) for n in (5, 6, 5))
    tags += ends
    arrays = (
        rng.standard_normal((batch, steps, tags)),
        rng.standard_normal((tags, tags)),
        np.concatenate([[steps], rng.integers(1, steps + 1, batch - 1)]),  # captured paths have room for all steps
    )

    def ours(potentials: Any, transitions: Any, lengths: Any) -> Any:
        if decoder:
            return ViterbiDecoder(transitions, ends)(potentials, lengths)
        return viterbi_decode(potentials, transitions, lengths, ends)

    def judge(potentials: np.ndarray, transitions: np.ndarray, lengths: np.ndarray) -> tuple:
        scores, paths = np.zeros(batch), np.zeros((batch, lengths.max()), "int64")

        def score(b: int, path: tuple) -> float:
            total = sum(potentials[b, t, tag] for t, tag in enumerate(path))
            total += sum(transitions[i, j] for i, j in itertools.pairwise(path))
            return total + (transitions[-1, path[0]] + transitions[-2, path[-1]] if ends else 0)

        for b, n in enumerate(lengths):
            best = max(itertools.product(range(tags), repeat=int(n)), key=lambda path: score(b, path))
            scores[b], paths[b, :n] = score(b, best), best
        return scores, paths

    return Call(f"viterbi_decode {ends} {decoder}", ours, judge, arrays)


FAMILIES = (spectral, decibels, viterbi)
