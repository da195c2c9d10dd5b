"""What losses are for: networks learn handwritten digits by them (the 1,797 images that scikit-learn carries)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle import nn

datasets = pytest.importorskip("sklearn.datasets")
TRAINED, CLASSES = 1437, 10


@pytest.fixture(scope="module")
def digits() -> tuple:
    """Images ``[n, 64]`` from 0 to 1 and their digits, to train with and to test with."""
    data = datasets.load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    images, labels = (data.data[order] / 16).astype(np.float32), data.target[order].astype(np.int64)
    return images[:TRAINED], labels[:TRAINED], images[TRAINED:], labels[TRAINED:]


def batches(rng: Any, count: int, size: int, epochs: int) -> Iterator[np.ndarray]:
    for _ in range(epochs):
        order = rng.permutation(count)
        yield from (order[i : i + size] for i in range(0, count - size + 1, size))


def learn(layers: list, loss_of: Callable, data: Iterator[tuple], rate: float) -> None:
    """Adam on the parameters of the layers; ``loss_of`` takes what ``data`` yields."""
    optimizer = paddle.optimizer.Adam(rate, parameters=[p for layer in layers for p in layer.parameters()])
    for operands in data:
        loss_of(*map(paddle.to_tensor, operands)).backward()
        optimizer.step()
        optimizer.clear_grad()


def perceptron(outputs: int = CLASSES) -> nn.Layer:
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, outputs))


def part_right(scores: paddle.Tensor, labels: np.ndarray) -> float:
    metric = paddle.metric.Accuracy()
    metric.update(metric.compute(scores, paddle.to_tensor(labels)))
    return metric.accumulate()


def test_softmax_regression(digits, rng) -> None:
    x, y, test, wanted = digits
    net = nn.Linear(64, CLASSES)
    learn([net], lambda x, y: F.cross_entropy(net(x), y), ((x[i], y[i]) for i in batches(rng, TRAINED, 128, 30)), 0.02)
    assert part_right(net(paddle.to_tensor(test)), wanted) > 0.94


def hot(y: paddle.Tensor) -> paddle.Tensor:
    return F.one_hot(y, CLASSES)


# Losses of scores [n, 10] and classes.
LOSSES: dict[str, Callable] = {
    "cross_entropy": F.cross_entropy,
    "smoothed": lambda s, y: F.cross_entropy(s, y, label_smoothing=0.1),
    "soft labels": lambda s, y: F.cross_entropy(s, hot(y) * 0.9 + 0.01, soft_label=True),
    "nll_loss": lambda s, y: F.nll_loss(F.log_softmax(s), y),
    "kl_div": lambda s, y: F.kl_div(F.log_softmax(s), hot(y), "batchmean"),
    "mse_loss": lambda s, y: F.mse_loss(s, hot(y)),
    "smooth_l1_loss": lambda s, y: F.smooth_l1_loss(s, hot(y)),
    "binary_cross_entropy": lambda s, y: F.binary_cross_entropy(F.sigmoid(s), hot(y)),
    "binary_cross_entropy_with_logits": lambda s, y: F.binary_cross_entropy_with_logits(s, hot(y)),
    "sigmoid_focal_loss": lambda s, y: F.sigmoid_focal_loss(s, hot(y), reduction="mean") * 10,
    "soft_margin_loss": lambda s, y: F.soft_margin_loss(s, 2 * hot(y) - 1),
    "multi_margin_loss": F.multi_margin_loss,
    "multi_label_soft_margin_loss": lambda s, y: F.multi_label_soft_margin_loss(s, hot(y)),
    "multi_label_margin_loss": lambda s, y: F.multi_label_margin_loss(
        s, paddle.concat([y.unsqueeze(1), paddle.full([len(y), CLASSES - 1], -1, "int64")], 1)
    ),
    "dice_loss": lambda s, y: F.dice_loss(F.softmax(s), y.unsqueeze(1)),
    "poisson_nll_loss": lambda s, y: F.poisson_nll_loss(s, hot(y)),
}
QUICK = {"cross_entropy", "binary_cross_entropy_with_logits", "multi_margin_loss", "mse_loss"}


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in LOSSES])
def test_perceptron(name, digits, rng) -> None:
    x, y, test, wanted = digits
    net = perceptron()
    learn([net], lambda x, y: LOSSES[name](net(x), y), ((x[i], y[i]) for i in batches(rng, TRAINED, 64, 20)), 0.003)
    assert part_right(net(paddle.to_tensor(test)), wanted) > 0.95


def test_classifiers_with_parameters(digits, rng) -> None:
    """The hierarchical and the adaptive softmax, on one network each."""
    x, y, test, wanted = digits
    body, softmax = perceptron(32), nn.AdaptiveLogSoftmaxWithLoss(32, CLASSES, [4, 7], div_value=2.0)
    data = ((x[i], y[i]) for i in batches(rng, TRAINED, 64, 20))
    learn([body, softmax], lambda x, y: softmax(body(x), y)[1], data, 0.004)
    assert (softmax.predict(body(paddle.to_tensor(test))).numpy() == wanted).mean() > 0.95

    body, tree = perceptron(32), nn.HSigmoidLoss(32, CLASSES)
    data = ((x[i], y[i]) for i in batches(rng, TRAINED, 64, 20))
    learn([body, tree], lambda x, y: tree(body(x), y).mean(), data, 0.004)
    features = body(paddle.to_tensor(test))
    # The class whose way costs least.
    costs = [tree(features, paddle.full([len(wanted)], c, "int64")).numpy()[:, 0] for c in range(CLASSES)]
    lengths = np.array([(c + CLASSES).bit_length() - 1 for c in range(CLASSES)])
    costs = np.stack(costs, 1) - (lengths.max() - lengths) * np.log(2)
    assert (costs.argmin(1) == wanted).mean() > 0.93


def nearest(net: nn.Layer, digits: tuple) -> float:
    """How often the nearest mean of a class in the space of embeddings is the right one."""
    x, y, test, wanted = digits
    known, asked = (F.normalize(net(paddle.to_tensor(a))).numpy() for a in (x, test))
    means = np.stack([known[y == c].mean(0) for c in range(CLASSES)])
    guesses = ((asked[:, None] - means) ** 2).sum(2).argmin(1)
    return float((guesses == wanted).mean())


@pytest.mark.slow
def test_embeddings(digits, rng) -> None:
    """Margins on distances and on cosines draw the images of a class together."""
    x, y, _, _ = digits

    def triples() -> Iterator[tuple]:
        for i in batches(rng, TRAINED, 64, 25):
            same, other = (np.array([rng.choice(np.flatnonzero((y == c) == w)) for c in y[i]]) for w in (True, False))
            yield x[i], x[same], x[other]

    net = perceptron(16)
    learn([net], lambda a, p, n: F.triplet_margin_loss(net(a), net(p), net(n)), triples(), 0.003)
    assert nearest(net, digits) > 0.95

    net, centers = perceptron(16), nn.Linear(CLASSES, 16, bias_attr=False)

    def arc(x: paddle.Tensor, y: paddle.Tensor) -> paddle.Tensor:
        cosines = F.normalize(net(x)) @ F.normalize(centers.weight).T
        return F.margin_cross_entropy(cosines, y, 1.0, 0.2, 0.0, 16.0)

    learn([net, centers], arc, ((x[i], y[i]) for i in batches(rng, TRAINED, 64, 20)), 0.003)
    assert nearest(net, digits) > 0.95


# --- sequences -------------------------------------------------------------------------------------------------------

LONGEST, WIDTH, WINDOW, STEP = 5, 60, 8, 2


def lines(rng: Any, x: np.ndarray, y: np.ndarray, rows: int) -> tuple:
    """Digits written in lines with gaps between: windows of 8 columns ``[times, rows, 64]``, the digits, both lengths.

    Nothing says which column belongs to which digit.
    """
    canvas = rng.uniform(0, 0.1, (rows, 8, WIDTH)).astype(np.float32)
    labels, counts = np.zeros((rows, LONGEST), np.int64), rng.integers(2, LONGEST + 1, rows)
    widths = np.zeros(rows, np.int64)
    for i, count in enumerate(counts):
        at = 0
        for j, k in enumerate(rng.integers(0, len(x), count)):
            at += int(rng.integers(0, 5))
            canvas[i, :, at : at + 8] += x[k].reshape(8, 8)
            labels[i, j], at = y[k] + 1, at + 8
        widths[i] = at
    windows = [canvas[:, :, s : s + WINDOW].reshape(rows, -1) for s in range(0, WIDTH - WINDOW + 1, STEP)]
    return np.stack(windows), labels, (widths - WINDOW) // STEP + 1, counts


def distance(a: list, b: list) -> int:
    """How many insertions, deletions and changes lead from one sequence to the other."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def errors(found: list[list], labels: np.ndarray, counts: np.ndarray) -> float:
    """Edits per label."""
    wanted = [row[:n].tolist() for row, n in zip(labels, counts)]
    return sum(map(distance, found, wanted)) / sum(map(len, wanted))


def ctc_errors(digits: tuple, rng: Any, steps: int) -> float:
    x, y, test, wanted = digits
    net = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, CLASSES + 1))
    loss = nn.CTCLoss()
    learn([net], lambda w, y, t, n: loss(net(w), y, t, n), (lines(rng, x, y, 32) for _ in range(steps)), 0.004)
    windows, labels, times, counts = lines(rng, test, wanted, 100)
    best = net(paddle.to_tensor(windows)).numpy().argmax(2).T
    found = [[c for c, _ in itertools.groupby(row[:n].tolist()) if c] for row, n in zip(best, times)]
    return errors(found, labels, counts)


def test_ctc(digits, rng) -> None:
    assert ctc_errors(digits, rng, 600) < 0.2


@pytest.mark.slow
def test_ctc_trained_longer(digits, rng) -> None:
    assert ctc_errors(digits, rng, 2000) < 0.08


@pytest.mark.slow
def test_transducer(digits, rng) -> None:
    """A digit every second time, in lines of one to four; the joint network sees an image and the last label."""
    x, y, test, wanted = digits
    hidden, many = 48, 4
    encoder, last = nn.Sequential(nn.Linear(64, hidden), nn.ReLU()), nn.Embedding(CLASSES + 1, hidden)
    joint = nn.Linear(hidden, CLASSES + 1)

    def rows_of(x: np.ndarray, y: np.ndarray, rows: int) -> tuple:
        counts, picked = rng.integers(1, many + 1, rows), rng.integers(0, len(x), (rows, many))
        times = np.zeros((rows, 2 * many, 64), np.float32)
        times[:, ::2] = x[picked]
        return times, y[picked] + 1, 2 * counts, counts

    def scores(times: paddle.Tensor, before: paddle.Tensor) -> paddle.Tensor:
        return F.log_softmax(joint(F.tanh(encoder(times).unsqueeze(2) + last(before).unsqueeze(1))))

    def loss(times: paddle.Tensor, labels: paddle.Tensor, lengths: paddle.Tensor, counts: paddle.Tensor) -> Any:
        before = paddle.concat([paddle.zeros([len(labels), 1], "int64"), labels], 1)
        return F.rnnt_loss(scores(times, before), labels, lengths, counts)

    learn([encoder, last, joint], loss, (rows_of(x, y, 32) for _ in range(2500)), 0.004)
    times, labels, lengths, counts = rows_of(test, wanted, 60)
    found = []
    for row, length in zip(times, lengths):
        labels_so_far: list[int] = []
        t = 0
        while t < length and len(labels_so_far) < 2 * many:
            before = paddle.to_tensor([[labels_so_far[-1] if labels_so_far else 0]])
            best = int(scores(paddle.to_tensor(row[None, t : t + 1]), before)[0, 0, 0].argmax())
            if best:
                labels_so_far.append(best)
            else:
                t += 1
        found.append(labels_so_far)
    assert errors(found, labels, counts) < 0.12
