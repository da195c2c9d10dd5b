"""A small vision transformer learns digits: patches, attention over them, warm-up and a cosine, smoothed labels."""

from __future__ import annotations

from typing import Any

from common import digits, fill

import paddle
import paddle.nn.functional as F
from paddle import nn

WIDTH, HEADS, DEPTH, STEPS = 24, 4, 2, 24


class Patches(nn.Layer):
    """An image as a row of vectors, one for each square of two by two pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Conv2D(1, WIDTH, 2, stride=2)

    def forward(self, x: Any) -> Any:
        return self.project(x).flatten(2).transpose([0, 2, 1])


class Block(nn.Layer):
    """Attention and two linear layers, each behind a norm and beside a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH, epsilon=1e-6), nn.LayerNorm(WIDTH, epsilon=1e-6)
        self.attention = nn.MultiHeadAttention(WIDTH, HEADS, need_weights=True)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Dropout(0.0), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x: Any) -> tuple[Any, Any]:
        normed = self.norm1(x)
        attended, weights = self.attention(normed, normed, normed)
        x = x + attended
        return x + self.mlp(self.norm2(x)), weights


class ViT(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.patches = Patches()
        self.class_token = self.create_parameter([1, 1, WIDTH], default_initializer=nn.initializer.Constant(0.0))
        self.add_parameter(
            "positions",
            self.create_parameter([1, 17, WIDTH], default_initializer=nn.initializer.TruncatedNormal(std=0.02)),
        )
        self.blocks = nn.LayerList([Block() for _ in range(DEPTH)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 10)

    def forward(self, x: Any) -> tuple[Any, list[Any]]:
        x = self.patches(x)
        x = paddle.concat([self.class_token.expand([x.shape[0], -1, -1]), x], axis=1) + self.positions
        maps = []
        for block in self.blocks:
            x, weights = block(x)
            maps.append(weights)
        return self.head(self.norm(x)[:, 0]), maps


def rollout(maps: list[Any]) -> Any:
    """How much the class token attends to each patch, through all layers."""
    size = maps[0].shape[-1]
    total = paddle.eye(size)
    for weights in maps:
        mean = weights.mean(1) + paddle.eye(size)
        total = paddle.matmul(mean / mean.sum(-1, keepdim=True), total)
    return total[:, 0, 1:].reshape([-1, 4, 4])


def run() -> dict[str, Any]:
    images, labels = (paddle.to_tensor(v[:256]) for v in digits())
    model = fill(ViT())
    names = {p.name for name, p in model.named_parameters() if p.ndim > 1 and "token" not in name}
    cosine = paddle.optimizer.lr.CosineAnnealingDecay(0.01, T_max=STEPS - 6, eta_min=1e-4)
    schedule = paddle.optimizer.lr.LinearWarmup(cosine, warmup_steps=6, start_lr=1e-4, end_lr=0.01)
    optimizer = paddle.optimizer.AdamW(
        schedule,
        parameters=model.parameters(),
        weight_decay=0.05,
        apply_decay_param_fun=lambda name: name in names,
        grad_clip=nn.ClipGradByGlobalNorm(1.0),
    )
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    losses, rates, norms = [], [], []
    for step in range(STEPS):
        part = slice(step % 8 * 32, step % 8 * 32 + 32)
        scores, _ = model(images[part])
        loss = criterion(scores, labels[part])
        loss.backward()
        norms.append(float(paddle.add_n([(p.grad**2).sum() for p in model.parameters()]).sqrt()))
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
        rates.append(optimizer.get_lr())
        schedule.step()
    model.eval()
    with paddle.no_grad():
        scores, maps = model(images[:64])
    return {
        "losses": losses,
        "rates": rates,
        "norms": norms,
        "rollout": rollout(maps)[:2],
        "surest": F.softmax(scores).max(-1)[:8],
        "decayed": len(names),
    }
