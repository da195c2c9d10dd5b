"""Captions of digits: a convolutional encoder, a decoder of LSTM cells with teacher forcing, and beam search."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import digits, fill

import paddle
import paddle.nn.functional as F
from paddle import nn

TOLERANCE = 1e-3
WORDS = ["<start>", "<end>", *"zero one two three four five six seven eight nine".split(), "an", "odd", "even", "small"]
SMALL, WIDTH, LONGEST = 5, 24, 6


def caption(digit: int) -> list[int]:
    """The numbers of a caption's words, ended and padded by ``<end>``."""
    words = ["an", "odd" if digit % 2 else "even", *["small"] * (digit < SMALL), WORDS[2 + digit]]
    return [WORDS.index(w) for w in words] + [1] * (LONGEST - len(words))


class Encoder(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2D(1, 8, 3, padding=1, bias_attr=False),
            nn.BatchNorm2D(8),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),
            nn.Conv2D(8, 16, 3, padding=1),
            nn.Hardswish(),
            nn.AdaptiveAvgPool2D(2),
            nn.Flatten(),
        )
        self.state, self.memory = nn.Linear(64, WIDTH), nn.Linear(64, WIDTH)

    def forward(self, images: Any) -> tuple[Any, Any]:
        seen = self.layers(images)
        return paddle.tanh(self.state(seen)), self.memory(seen)


class Captioner(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder()
        self.embedding = nn.Embedding(len(WORDS), WIDTH)
        self.cell = nn.LSTMCell(WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH, len(WORDS))

    def forward(self, images: Any, words: Any) -> Any:
        given = F.pad(words[:, :-1], [0, 0, 1, 0], value=0)
        hidden, _ = nn.RNN(self.cell)(self.embedding(given), self.encoder(images))
        return self.out(hidden)

    def search(self, images: Any, beams: int) -> tuple[Any, Any]:
        """Words of the best captions ``[image, word, beam]`` and how many there are."""
        decoder = nn.BeamSearchDecoder(
            self.cell, start_token=0, end_token=1, beam_size=beams, embedding_fn=self.embedding, output_fn=self.out
        )
        words, _, lengths = nn.dynamic_decode(
            decoder, inits=self.encoder(images), max_step_num=LONGEST - 1, return_length=True
        )
        return words, lengths


def run() -> dict[str, Any]:
    images, labels = digits()
    model = fill(Captioner())
    captions = np.array([caption(int(digit)) for digit in labels[:96]], "int64")
    data = paddle.io.TensorDataset([paddle.to_tensor(images[:96]), paddle.to_tensor(captions)])
    optimizer = paddle.optimizer.Adam(0.02, parameters=model.parameters())
    losses = []
    for _ in range(9):
        for x, y in paddle.io.DataLoader(data, batch_size=24):
            logits = model(x, y)
            ended = paddle.cumsum((y == 1).astype("int64"), axis=1) > 1
            errors = F.cross_entropy(logits, y, reduction="none").squeeze(-1)
            loss = paddle.where(ended, paddle.zeros_like(errors), errors).sum() / (~ended).astype("float32").sum()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(float(loss))
    model.eval()
    with paddle.no_grad():
        words, lengths = model.search(paddle.to_tensor(images[:4]), 2)
    said = [" ".join(WORDS[i] for i in row if i > 1) for row in words[:, :, 0].numpy()]
    return {"losses": losses, "said": said, "lengths": lengths, "means": model.encoder.layers[1]._mean}
