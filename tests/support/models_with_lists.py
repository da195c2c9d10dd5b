"""Models that carry lists of tensors through loops and branches, and others, as the reference saves them.

    python models_with_lists.py OUT.npz

is run by a Python that has the reference, of version 2.6.2 and of 3.3.1: ``<version>/<model>/program``, ``.../values``,
and for each run ``.../in/<run>/<input>`` and ``.../out/<run>/<result>``. ``tests/data/models_with_lists.npz`` has both.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

import numpy as np

import paddle
from paddle import nn


class Cells(nn.Layer):
    """Recurrent layers over cells: loops over steps that read and write lists."""

    def __init__(self) -> None:
        super().__init__()
        self.forwards = nn.RNN(nn.GRUCell(3, 2))
        self.both = nn.BiRNN(nn.LSTMCell(2, 2), nn.LSTMCell(2, 2))
        self.backwards = nn.RNN(nn.SimpleRNNCell(3, 2), is_reverse=True, time_major=True)

    def forward(self, x: Any) -> Any:
        y, state = self.forwards(x)
        return self.both(y)[0], state, self.backwards(x)[0]


class Decoder(nn.Layer):
    """A word at each step, as many as data say."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.cell, self.scores = nn.Embedding(5, 3), nn.GRUCell(3, 3), nn.Linear(3, 5)

    def forward(self, state: Any, most: Any) -> Any:
        word, found, i = paddle.zeros([state.shape[0]], "int64"), [], paddle.zeros([1], "int64")
        while i < most:
            y, state = self.cell(self.words(word), state)
            word = self.scores(y).argmax(-1)
            found.append(word)
            i = i + 1
        return paddle.stack(found, 1), state


class Branches(nn.Layer):
    """Both ways of a branch append, and so does a loop inside of the loop."""

    def forward(self, x: Any, most: Any) -> Any:
        found, i = [], paddle.zeros([1], "int64")
        while i < most:
            if x.sum() + i.astype("float32") > 1.5:
                found.append(x + 1)
            else:
                found.append(x - 1)
            j = paddle.zeros([1], "int64")
            while j < i:
                found.append(x * 2)
                j = j + 1
            i = i + 1
        return paddle.concat(found, 0)


class Backwards(nn.Layer):
    """Slices by negative steps, from the end and from places inside."""

    def forward(self, x: Any) -> Any:
        return x[:, ::-1], x[::-2, 1:], x[:, 3:0:-1], x[:, 2::-1]


class Tags(nn.Layer):
    """Paths are as long as the longest sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.transitions = self.create_parameter([4, 4])

    def forward(self, scores: Any, lengths: Any) -> Any:
        return paddle.text.viterbi_decode(scores, self.transitions, lengths, False)


class Messages(nn.Layer):
    """Sums and means over the edges of a graph."""

    def forward(self, x: Any, ends: Any) -> Any:
        mean = paddle.geometric.send_u_recv(x, ends[0], ends[1], "mean")
        summed = paddle.geometric.send_ue_recv(x, x[:2], ends[0], ends[1], "add", "sum")
        return mean, summed, paddle.geometric.send_uv(x, x * 2.0, ends[0], ends[1], "mul")


def drawn(*shape: int) -> np.ndarray:
    return np.random.RandomState(sum(shape)).uniform(-1, 1, shape).astype("float32")


ONE, THREE = np.array([1]), np.array([3])
MODELS: dict[str, tuple[Any, list[Any], list[list[np.ndarray]]]] = {
    "cells": (Cells, [[None, None, 3]], [[drawn(2, 4, 3)], [drawn(1, 2, 3)]]),
    "decoder": (Decoder, [[None, 3], [1]], [[drawn(2, 3), THREE], [drawn(1, 3), ONE]]),
    "branches": (Branches, [[None, 4], [1]], [[drawn(2, 4), THREE], [drawn(1, 4), ONE]]),
    "backwards": (Backwards, [[None, 4]], [[drawn(3, 4)], [drawn(1, 4)]]),
    "tags": (Tags, [[None, 5, 4], [None]], [[drawn(2, 5, 4), np.array([2, 3])], [drawn(1, 5, 4), np.array([5])]]),
    "messages": (Messages, [[4, 2], [2, 2]], [[drawn(4, 2), np.array([[0, 2], [1, 1]])]]),
}


def parts(found: Any) -> list[np.ndarray]:
    return [x.numpy() for x in (found if isinstance(found, (list, tuple)) else [found])]


def main(path: str) -> None:
    out: dict[str, Any] = {}
    version = paddle.__version__
    for name, (make, shapes, runs) in MODELS.items():
        paddle.seed(3)
        layer = make()
        layer.eval()
        specs = [paddle.static.InputSpec(s, x.dtype.name, f"in_{i}") for i, (s, x) in enumerate(zip(shapes, runs[0]))]
        for i, run in enumerate(runs):
            for j, x in enumerate(run):
                out[f"{version}/{name}/in/{i}/in_{j}"] = x
            for j, y in enumerate(parts(layer(*map(paddle.to_tensor, run)))):
                out[f"{version}/{name}/out/{i}/{j}"] = y
        with tempfile.TemporaryDirectory() as folder:
            paddle.jit.save(layer, os.path.join(folder, "m"), specs)
            for file in os.listdir(folder):
                end = file.partition(".")[2]
                if end in ("json", "pdmodel", "pdiparams"):
                    with open(os.path.join(folder, file), "rb") as f:
                        key = "values" if end == "pdiparams" else "program"
                        out[f"{version}/{name}/{key}"] = np.frombuffer(f.read(), np.uint8)
    np.savez_compressed(path, **out)


if __name__ == "__main__":
    main(sys.argv[1])
