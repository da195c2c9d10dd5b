"""Makes tests/data/weight_tiles.npz in the environment of the reference: ``python tests/support/weight_tiles.py FILE``.

Scales of the weights are 1, so that the stored numbers are those that were drawn.
"""

import sys

import numpy as np

import paddle
from paddle.nn.quant import weight_quantize

CASES = [("int8", 70, 64, 64), ("int8", 80, 64, 64), ("int4", 70, 64, 64), ("int4", 80, 64, 64), ("int4", 80, 128, 192)]


def levels(most, inputs, outputs, seed):
    rng = np.random.default_rng(seed)
    drawn = rng.integers(-most, most + 1, (inputs, outputs))
    drawn[rng.integers(0, inputs, outputs), np.arange(outputs)] = most
    return drawn


if __name__ == "__main__":
    paddle.set_device("cpu")
    out = {}
    for seed, (kind, arch, inputs, outputs) in enumerate(CASES):
        drawn = levels({"int8": 127, "int4": 7}[kind], inputs, outputs, seed)
        stored, _ = weight_quantize(paddle.to_tensor(drawn.astype("float16")), f"weight_only_{kind}", arch)
        out[f"{kind},{arch},{inputs},levels"] = drawn.astype("int8")
        out[f"{kind},{arch},{inputs},stored"] = stored.numpy()
    np.savez_compressed(sys.argv[1], **out)
