"""Recognise handwritten digits: a small convolutional network on the 8×8 images that scikit-learn carries."""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import paddle
from paddle import nn


class Net(nn.Layer):
    """Two blocks of convolution, normalisation and ReLU, each followed by pooling; then a linear classifier."""

    def __init__(self, channels: int = 32) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(1, channels, 3, padding=1, bias_attr=False),
            nn.BatchNorm2D(channels),
            nn.ReLU(),
            nn.MaxPool2D(2),
            nn.Conv2D(channels, 2 * channels, 3, padding=1, bias_attr=False),
            nn.BatchNorm2D(2 * channels),
            nn.ReLU(),
            nn.MaxPool2D(2),
            nn.Flatten(),
        )
        self.classifier = nn.Sequential(nn.Dropout(0.3), nn.Linear(2 * channels * 4, 10))

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return self.classifier(self.features(x))


class Shifted(paddle.io.Dataset):
    """Images moved by up to one pixel at random: the network cannot learn positions by heart."""

    def __init__(self, images: np.ndarray, labels: np.ndarray, seed: int) -> None:
        self.images = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
        self.labels = labels
        self.rng = np.random.default_rng(seed)

    def __getitem__(self, i: int) -> tuple[np.ndarray, np.int64]:
        dy, dx = self.rng.integers(0, 3, 2)
        return self.images[i, :, dy : dy + 8, dx : dx + 8], self.labels[i]

    def __len__(self) -> int:
        return len(self.labels)


def accuracy(net: nn.Layer, images: np.ndarray, labels: np.ndarray) -> float:
    net.eval()
    with paddle.no_grad():
        guesses = net(paddle.to_tensor(images)).numpy().argmax(1)
    net.train()
    return float((guesses == labels).mean())


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--epochs", type=int, default=25)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=1e-2)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args(argv)
    paddle.seed(args.seed)
    np.random.seed(args.seed)

    digits = load_digits()
    images = (digits.images[:, None] / 16.0).astype(np.float32)
    parts = train_test_split(images, digits.target, test_size=0.2, random_state=0, stratify=digits.target)
    train_x, test_x, train_y, test_y = parts

    net = Net()
    loader = paddle.io.DataLoader(
        Shifted(train_x, train_y, args.seed), batch_size=args.batch, shuffle=True, drop_last=True
    )
    schedule = paddle.optimizer.lr.OneCycleLR(args.lr, total_steps=args.epochs * len(loader))
    optimizer = paddle.optimizer.AdamW(schedule, parameters=net.parameters(), weight_decay=0.01)
    loss_of = nn.CrossEntropyLoss()

    began = time.perf_counter()
    for epoch in range(args.epochs):
        losses = []
        for x, y in loader:
            loss = loss_of(net(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad(set_to_zero=False)
            schedule.step()
            losses.append(loss.item())
        print(f"epoch {epoch + 1:2}: loss {np.mean(losses):.4f}, test accuracy {accuracy(net, test_x, test_y):.2%}")
    seconds = time.perf_counter() - began
    print(f"{len(train_y)} images learned in {seconds:.0f} s; test accuracy {accuracy(net, test_x, test_y):.2%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
