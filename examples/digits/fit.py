"""LeNet learns scikit-learn's handwritten digits by ``paddle.Model``, with its callbacks.

Run ``python examples/digits/fit.py --help`` for the options.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.datasets import load_digits

import paddle
from paddle import nn


class Digits(paddle.io.Dataset):
    """Images with their labels."""

    def __init__(self, images: np.ndarray, labels: np.ndarray) -> None:
        self.images, self.labels = images, labels

    def __getitem__(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        return self.images[i], self.labels[i]

    def __len__(self) -> int:
        return len(self.images)


def data() -> tuple[paddle.io.Dataset, paddle.io.Dataset]:
    """Images for training and for the test, four to one: 8 × 8 pixels, enlarged and framed to 28 × 28."""
    digits = load_digits()
    images = np.pad(np.kron(digits.images / 16, np.ones((3, 3))), ((0, 0), (2, 2), (2, 2)))[:, None].astype("float32")
    labels = digits.target[:, None].astype("int64")
    order = np.random.default_rng(0).permutation(len(images))
    held = len(images) // 5

    return Digits(images[order[held:]], labels[order[held:]]), Digits(images[order[:held]], labels[order[:held]])


def lenet() -> nn.Layer:
    """The network of LeCun et al. (1998), with ReLU and largest values."""
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--verbose", type=int, default=1, help="0: nothing, 1: a progress bar, 2: lines")
    parser.add_argument("--log-dir", help="folder of a log for VisualDL")
    parser.add_argument("--save-dir", help="folder of checkpoints")
    options = parser.parse_args()

    paddle.seed(1)
    train, test = data()
    model = paddle.Model(lenet())
    steps = options.epochs * -(-len(train) // options.batch_size)
    schedule = paddle.optimizer.lr.CosineAnnealingDecay(3e-3, steps)
    optimizer = paddle.optimizer.Adam(schedule, parameters=model.parameters())
    model.prepare(optimizer, nn.CrossEntropyLoss(), paddle.metric.Accuracy())
    callbacks: list = [paddle.callbacks.EarlyStopping("acc", patience=5, save_best_model=options.save_dir is not None)]
    if options.log_dir:
        callbacks.append(paddle.callbacks.VisualDL(options.log_dir))
    model.fit(
        train,
        test,
        batch_size=options.batch_size,
        epochs=options.epochs,
        save_dir=options.save_dir,
        verbose=options.verbose,
        callbacks=callbacks,
    )
    found = model.evaluate(test, batch_size=256, verbose=0)
    print(f"test accuracy {100 * found['acc']:.1f}%")


if __name__ == "__main__":
    main()
