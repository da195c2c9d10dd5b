"""A small BERT: hidden words are told from their neighbours by a transformer's encoder."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import fill

import paddle
import paddle.nn.functional as F
from paddle import nn

TOLERANCE = 1e-3
PAD, HIDE, WORDS, LENGTH, WIDTH = 0, 1, 32, 12, 24


class Sentences(paddle.io.Dataset):
    """Words that count up or down by a step, in sentences of several lengths; some of them are hidden."""

    def __init__(self, count: int) -> None:
        rng = np.random.RandomState(3)
        steps = rng.randint(1, 4, (count, 1)) * rng.choice([-1, 1], (count, 1))
        words = (rng.randint(0, WORDS, (count, 1)) + steps * np.arange(LENGTH)) % (WORDS - 2) + 2
        there = np.arange(LENGTH) < rng.randint(6, LENGTH + 1, (count, 1))
        hidden = there & (rng.uniform(size=words.shape) < 0.2)
        hidden[:, 2] = True
        self.words = np.where(hidden, HIDE, words * there).astype("int64")
        self.targets = np.where(hidden, words, -100).astype("int64")
        self.directions = (steps[:, 0] > 0).astype("int64")

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, index: int) -> tuple[Any, Any, Any]:
        return self.words[index], self.targets[index], self.directions[index]


class Bert(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH, padding_idx=PAD)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, epsilon=1e-12)
        layer = nn.TransformerEncoderLayer(
            WIDTH, 4, 48, dropout=0.0, activation="gelu", attn_dropout=0.0, act_dropout=0.0, normalize_before=False
        )
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.pooler = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh())
        self.direction = nn.Linear(WIDTH, 2)
        self.transform = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.LayerNorm(WIDTH))
        self.bias = self.create_parameter([WORDS], is_bias=True)

    def forward(self, words: Any) -> tuple[Any, Any]:
        mask = ((words == PAD).astype("float32") * -1e4).unsqueeze([1, 2])
        places = paddle.arange(words.shape[1]).expand_as(words)
        hidden = self.encoder(self.norm(self.words(words) + self.places(places)), mask)
        logits = paddle.matmul(self.transform(hidden), self.words.weight, transpose_y=True) + self.bias
        return logits, self.direction(self.pooler(hidden[:, 0]))


def run() -> dict[str, Any]:
    model = fill(Bert())
    decayed = [p.name for n, p in model.named_parameters() if not any(part in n for part in ("bias", "norm"))]
    rate = paddle.optimizer.lr.LinearWarmup(
        paddle.optimizer.lr.PolynomialDecay(0.01, decay_steps=24, end_lr=0.0), 8, 0.0, 0.01
    )
    optimizer = paddle.optimizer.AdamW(
        learning_rate=rate,
        parameters=model.parameters(),
        weight_decay=0.05,
        apply_decay_param_fun=lambda name: name in decayed,
        grad_clip=nn.ClipGradByGlobalNorm(1.0),
    )
    criterion = nn.CrossEntropyLoss(ignore_index=-100)
    loader = paddle.io.DataLoader(Sentences(64), batch_size=16, shuffle=False, drop_last=True)
    losses, rates = [], []
    for _ in range(8):
        for words, targets, directions in loader:
            logits, direction = model(words)
            loss = criterion(logits, targets) + F.cross_entropy(direction, directions)
            loss.backward()
            optimizer.step()
            rates.append(optimizer.get_lr())
            rate.step()
            optimizer.clear_grad()
            losses.append(float(loss))
    model.eval()
    words, targets, _ = next(iter(loader))
    with paddle.no_grad():
        logits, _ = model(words)
        places = paddle.nonzero(words == HIDE)
        scores, best = paddle.topk(paddle.gather_nd(logits, places), k=3)
        hits = (best == paddle.gather_nd(targets, places).unsqueeze(1)).any(axis=1).astype("float32").mean()
    return {"losses": losses, "rates": rates, "decayed": len(decayed), "scores": scores, "hits": hits}
