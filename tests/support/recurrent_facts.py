"""What tests of recurrent layers and decoders share: the reference's results, and what they were made of.

``tests/data/rnn.json``: results of the reference's wrappers, networks and decoders for parameters filled with sines.
"""

import json
from pathlib import Path

import numpy as np

import paddle
from paddle import nn

FACTS = json.loads((Path(__file__).parents[1] / "data" / "rnn.json").read_text())
CELLS = {
    "simple": lambda size: nn.SimpleRNNCell(size, 3, activation="relu"),
    "gru": lambda size: nn.GRUCell(size, 3),
    "lstm": lambda size: nn.LSTMCell(size, 3),
}


def fill(layer):
    for i, p in enumerate(layer.parameters()):
        p.set_value((np.sin(np.arange(p.size) * 0.7 + i) * 0.6).reshape(p.shape).astype("float32"))
    return layer


def array(*shape, k=0):
    return np.cos(np.arange(np.prod(shape)) * 0.9 + k).reshape(shape).astype("float32")


def tensor(*shape, k=0):
    return paddle.to_tensor(array(*shape, k=k))
