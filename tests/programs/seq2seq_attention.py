"""Sequences are reversed by an encoder and a decoder of GRU cells with additive attention."""

from __future__ import annotations

from typing import Any

from common import fill, integers, steps

import paddle
import paddle.nn.functional as F
from paddle import nn

WORDS, WIDTH = 12, 16


class Translator(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(WORDS, WIDTH), nn.Embedding(WORDS, WIDTH)
        self.encoder = nn.GRU(WIDTH, WIDTH)
        self.cell = nn.GRUCell(2 * WIDTH, WIDTH)
        self.query, self.key, self.score = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 1)
        self.out = nn.Linear(WIDTH, WORDS)

    def forward(self, source: Any, target: Any = None, length: int = 6) -> Any:
        memory, last = self.encoder(self.source(source))
        state, keys = last[0], self.key(memory)
        word = paddle.zeros([source.shape[0]], "int64")
        logits = []
        for t in range(length):
            weights = F.softmax(self.score(paddle.tanh(keys + self.query(state).unsqueeze(1))), axis=1)
            context = (weights * memory).sum(1)
            state, _ = self.cell(paddle.concat([self.target(word), context], 1), state)
            logits.append(self.out(state))
            word = logits[-1].argmax(1) if target is None else target[:, t]
        return paddle.stack(logits, 1)


def run(case: str = "") -> dict[str, Any]:
    model = fill(Translator())
    x = integers(0, WORDS - 1, 32, 6) + 1
    y = paddle.flip(x, [1])

    def loss(x: Any, y: Any) -> Any:
        return F.cross_entropy(model(x, y).reshape([-1, WORDS]), y.reshape([-1]))

    losses = steps(model, loss, [(x, y)] * 12, rate=0.3)
    with paddle.no_grad():
        return {"losses": losses, "greedy": model(x[:4])}
