"""A stacked GRU reads a text letter by letter, is trained by truncated backpropagation, and writes on."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import fill

import paddle
import paddle.nn.functional as F
from paddle import nn

TOLERANCE = 1e-3
TEXT = "the sea is wide and the sea is deep and the ships sail on the sea while the gulls sleep on the cliffs. " * 8
LETTERS = sorted(set(TEXT))
ROWS, WINDOW = 4, 16


class Windows(paddle.io.IterableDataset):
    """Windows of the text, cut so that each row of a window goes on in the next one."""

    def __init__(self, text: str) -> None:
        super().__init__()
        codes = np.array([LETTERS.index(letter) for letter in text], "int64")
        self.rows = codes[: len(codes) // ROWS * ROWS].reshape(ROWS, -1)

    def __iter__(self) -> Any:
        for start in range(0, self.rows.shape[1] - WINDOW, WINDOW):
            part = self.rows[:, start : start + WINDOW + 1]
            yield part[:, :-1], part[:, 1:]


class Writer(nn.Layer):
    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(LETTERS), width)
        self.rnn = nn.GRU(width, width, num_layers=2)
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, len(LETTERS))

    def forward(self, letters: Any, state: Any = None) -> tuple[Any, Any]:
        hidden, state = self.rnn(self.embedding(letters), state)
        return self.out(self.norm(hidden)), state

    def write(self, start: str, length: int) -> str:
        """``start`` and the letters that are likeliest after it."""
        codes = paddle.to_tensor([[LETTERS.index(letter) for letter in start]])
        text, state = start, None
        for _ in range(length):
            logits, state = self(codes, state)
            codes = paddle.argmax(logits[:, -1:], axis=-1)
            text += LETTERS[int(codes.item())]
        return text


def run() -> dict[str, Any]:
    model = fill(Writer())
    schedule = paddle.optimizer.lr.ExponentialDecay(0.02, gamma=0.8)
    optimizer = paddle.optimizer.Adam(
        schedule, parameters=model.parameters(), grad_clip=nn.ClipGradByGlobalNorm(0.5), weight_decay=1e-4
    )
    loader = paddle.io.DataLoader(Windows(TEXT), batch_size=None)
    losses, norms = [], []
    for _ in range(4):
        state = paddle.zeros([2, ROWS, 24])
        model.train()
        for x, y in loader:
            logits, state = model(x, state)
            loss = F.cross_entropy(logits, y)
            loss.backward()
            norms.append(paddle.linalg.norm(model.out.weight.grad))
            optimizer.step()
            optimizer.clear_grad()
            state = state.detach()
            losses.append(float(loss))
        schedule.step()
    model.eval()
    with paddle.no_grad():
        written = model.write("the sea ", 40)
        x, y = next(iter(loader))
        perplexity = paddle.exp(F.cross_entropy(model(x)[0], y))
    return {"losses": losses, "norms": norms, "written": written, "perplexity": perplexity, "rate": schedule.get_lr()}
