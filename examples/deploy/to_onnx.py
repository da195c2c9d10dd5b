"""Export a saved model to ONNX, and compare what ONNX Runtime makes of it."""

from __future__ import annotations

import argparse
import os

import numpy as np
import onnxruntime
from digits import Digits

import paddle


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="where the model of train.py is; FOLDER/digits.onnx is written beside it")
    options = parser.parse_args()

    path = os.path.join(options.folder, "digits")
    network = paddle.jit.load(path)
    network.eval()
    paddle.onnx.export(network, path, opset_version=17)  # its inputs are those that it was saved with

    images = Digits(test=True).images
    session = onnxruntime.InferenceSession(path + ".onnx", providers=["CPUExecutionProvider"])
    (theirs,) = session.run(None, {session.get_inputs()[0].name: images})
    with paddle.no_grad():
        ours = network(paddle.to_tensor(images)).numpy()
    print(f"wrote {path}.onnx, largest difference {np.abs(ours - theirs).max():.1e}")


if __name__ == "__main__":
    main()
