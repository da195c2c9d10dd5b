"""A small transformer translates words one by one: masks, shifted targets, smoothed labels."""

from __future__ import annotations

from typing import Any

from common import fill, integers, steps

import paddle
import paddle.nn.functional as F
from paddle import nn

WORDS, WIDTH = 14, 16


class Translator(nn.Layer):
    def __init__(self, before: bool) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(16, WIDTH)
        self.body = nn.Transformer(WIDTH, 2, 1, 1, 32, 0.0, normalize_before=before)
        self.out = nn.Linear(WIDTH, WORDS)

    def embed(self, x: Any) -> Any:
        return self.words(x) + self.places(paddle.arange(x.shape[1]))

    def forward(self, x: Any, y: Any) -> Any:
        mask = self.body.generate_square_subsequent_mask(y.shape[1])
        return self.out(self.body(self.embed(x), self.embed(y), tgt_mask=mask))


CASES = ("after", "before")


def run(case: str) -> dict[str, Any]:
    model = fill(Translator(case == "before"))
    x = integers(0, WORDS - 2, 24, 7) + 2
    y = paddle.concat([paddle.ones([24, 1], "int64"), WORDS + 1 - x], 1)

    def loss(x: Any, y: Any) -> Any:
        wanted = F.label_smooth(F.one_hot(y[:, 1:], WORDS), epsilon=0.1)
        return F.cross_entropy(model(x, y[:, :-1]), wanted, soft_label=True)

    losses = steps(model, loss, [(x, y)] * 10, rate=0.05)
    with paddle.no_grad():
        return {"losses": losses, "logits": model(x[:2], y[:2, :-1])}
