"""Train a saved model on: it learns digits that are dark on light, without the class that it was made of."""

from __future__ import annotations

import argparse
import os

from digits import Digits, accuracy

import paddle
import paddle.nn.functional as F
from paddle.static import InputSpec


def tested(network: paddle.nn.Layer, data: Digits) -> float:
    """Return the accuracy in evaluation mode."""
    network.eval()
    with paddle.no_grad():
        return accuracy(network(paddle.to_tensor(data.images)).numpy(), data.labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="where the model of train.py is; FOLDER/inverted.json is written beside it")
    parser.add_argument("--epochs", type=int, default=4)
    options = parser.parse_args()

    paddle.seed(2)
    network = paddle.jit.load(os.path.join(options.folder, "digits"))
    test = Digits(test=True, inverted=True)
    before = tested(network, test)

    network.train()
    optimizer = paddle.optimizer.Adam(1e-3, parameters=network.parameters())
    loader = paddle.io.DataLoader(Digits(inverted=True), batch_size=64, shuffle=True, drop_last=True)
    for _ in range(options.epochs):
        for images, labels in loader:
            F.cross_entropy(network(images), labels).backward()
            optimizer.step()
            optimizer.clear_grad()

    path = os.path.join(options.folder, "inverted")
    after = tested(network, test)
    paddle.jit.save(network, path, [InputSpec([None, 1, 8, 8], "float32", "image")])
    print(f"saved {path}.json, test accuracy {before:.1f}% before and {after:.1f}% after")


if __name__ == "__main__":
    main()
