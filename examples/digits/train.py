"""Recognise handwritten digits: small networks on the 8×8 images that scikit-learn carries."""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from models import MODELS
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import paddle
from paddle import nn


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
    p.add_argument("--model", choices=MODELS, default="conv")
    p.add_argument("--compile", action="store_true", help="capture the whole step as one program")
    p.add_argument("--workers", type=int, default=0, help="processes that load data")
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

    net = MODELS[args.model]()
    loader = paddle.io.DataLoader(
        Shifted(train_x, train_y, args.seed),
        batch_size=args.batch,
        shuffle=True,
        drop_last=True,
        num_workers=args.workers,
        persistent_workers=args.workers > 0,
    )
    schedule = paddle.optimizer.lr.OneCycleLR(args.lr, total_steps=args.epochs * len(loader))
    optimizer = paddle.optimizer.AdamW(schedule, parameters=net.parameters(), weight_decay=0.01)
    loss_of = nn.CrossEntropyLoss()

    def step(x: paddle.Tensor, y: paddle.Tensor) -> paddle.Tensor:
        loss = loss_of(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad(set_to_zero=False)
        return loss

    if args.compile:
        step = paddle.jit.to_static(step)
    began = time.perf_counter()
    for epoch in range(args.epochs):
        losses = []
        for x, y in tqdm(loader, desc=f"epoch {epoch + 1:2}", leave=False, disable=None):
            losses.append(float(step(x, y)))
            schedule.step()
        print(f"epoch {epoch + 1:2}: loss {np.mean(losses):.4f}, test accuracy {accuracy(net, test_x, test_y):.2%}")
    seconds = time.perf_counter() - began
    print(f"{len(train_y)} images learned in {seconds:.0f} s; test accuracy {accuracy(net, test_x, test_y):.2%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
