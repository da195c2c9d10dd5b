"""Train LeNet by ``paddle.Model``, and save it for inference: FOLDER/digits.json and FOLDER/digits.pdiparams."""

from __future__ import annotations

import argparse
import os

from digits import DigitReader, Digits

import paddle
from paddle.static import InputSpec


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="where the model goes")
    parser.add_argument("--epochs", type=int, default=8)
    options = parser.parse_args()

    paddle.seed(1)
    network = DigitReader()
    model = paddle.Model(network)
    model.prepare(
        paddle.optimizer.Adam(2e-3, parameters=network.parameters()),
        paddle.nn.CrossEntropyLoss(),
        paddle.metric.Accuracy(),
    )
    model.fit(Digits(), batch_size=64, epochs=options.epochs, verbose=0)
    result = model.evaluate(Digits(test=True), batch_size=64, verbose=0)

    path = os.path.join(options.folder, "digits")
    network.eval()
    paddle.jit.save(network, path, [InputSpec([None, 1, 8, 8], "float32", "image")])
    print(f"saved {path}.json and {path}.pdiparams, test accuracy {100 * result['acc']:.1f}%")


if __name__ == "__main__":
    main()
