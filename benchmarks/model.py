"""``Model.fit`` against the loop that it stands for: LeNet, batches of 64 images, both with the loss and the accuracy
of each batch.

Both sides write to a null stream, read through the same loader, and take turns, an epoch each.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any

import numpy as np
from measure import Settings, Spread
from rows import Outcome, add_row, add_section, with_spread

MODEL = add_section("model", "The high-level API", figure="more than the other")
BATCH, BATCHES, ROUNDS, MOST = 64, 20, 31, 0.03


def lenet() -> Any:
    """The network of LeCun et al. (1998) as tutorials have it: 28 × 28 pixels, ten classes."""
    from paddle import nn

    return nn.Sequential(
        nn.Conv2D(1, 6, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2D(2, 2),
        nn.Conv2D(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2D(2, 2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.Linear(120, 84),
        nn.Linear(84, 10),
    )


class Samples:
    """Images with their labels."""

    def __init__(self, images: np.ndarray, labels: np.ndarray) -> None:
        self.images, self.labels = images, labels

    def __getitem__(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        return self.images[i], self.labels[i]

    def __len__(self) -> int:
        return len(self.images)


class Side:
    """A network with its optimizer, loss and metric, and the loader of its data."""

    def __init__(self) -> None:
        import paddle

        rng = np.random.default_rng(0)
        images = rng.random((BATCH * BATCHES, 1, 28, 28), np.float32)
        labels = rng.integers(0, 10, (BATCH * BATCHES, 1))
        data = Samples(images, labels)
        sampler = paddle.io.DistributedBatchSampler(data, BATCH, shuffle=True)
        self.loader = paddle.io.DataLoader(data, batch_sampler=sampler)
        paddle.seed(0)
        self.net = lenet()
        # So slow that the numbers stay what they are: a trained network's small ones take longer.
        self.optimizer = paddle.optimizer.Adam(1e-7, parameters=self.net.parameters())
        self.loss = paddle.nn.CrossEntropyLoss()
        self.metric = paddle.metric.Accuracy()


class Plain(Side):
    def epoch(self) -> None:
        self.net.train()
        self.metric.reset()
        for step, (x, y) in enumerate(self.loader):
            out = self.net(x)
            loss = self.loss(out, y)
            loss.backward()
            self.optimizer.step()
            self.optimizer.clear_grad()
            self.metric.update(self.metric.compute(out, y))
            number = float(loss)
            if (step + 1) % 10 == 0 or step + 1 == BATCHES:
                print(f"step {step + 1}/{BATCHES} - loss: {number:.4f} - acc: {self.metric.accumulate():.4f}")


class Fit(Side):
    def __init__(self) -> None:
        import paddle

        super().__init__()
        self.model = paddle.Model(self.net)
        self.model.prepare(self.optimizer, self.loss, self.metric)

    def epoch(self) -> None:
        self.model.fit(self.loader)


def seconds(side: Any) -> float:
    begin = time.process_time()
    side.epoch()
    return (time.process_time() - begin) / BATCHES


def measure(settings: Settings) -> Outcome:
    fit, plain = Fit(), Plain()
    rounds = 1 if settings.check else ROUNDS
    ours, other = [], []
    with open(os.devnull, "w") as null, contextlib.redirect_stdout(null):
        for side in (fit, plain) * 2:
            side.epoch()
        for i in range(rounds):
            for side, into in ((fit, ours), (plain, other))[:: 1 if i % 2 else -1]:
                into.append(seconds(side))
    more = np.quantile([a / b - 1 for a, b in zip(ours, other)], (0.25, 0.5, 0.75))
    figure = f"{more[1]:+.1%} ({more[0]:+.1%} – {more[2]:+.1%})".replace("%", " %")
    return Outcome(with_spread(spread(ours)), with_spread(spread(other)), figure, bool(more[1] <= MOST))


def spread(values: list[float]) -> Spread:
    low, median, high = np.quantile(values, (0.25, 0.5, 0.75))
    return Spread(median=median, low=low, high=high)


add_row(
    "fit-lenet",
    "a batch of `Model.fit`, LeNet, 64 images",
    f"≤ {MOST:.0%}".replace("%", " %") + " more than the plain loop",
    measure,
    MODEL,
)
