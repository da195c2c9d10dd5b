"""Denoising diffusion of digits: a small U-Net that is told the time, averaged weights, and sampling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from common import digits, fill, integers, normal

import paddle
import paddle.nn.functional as F
from paddle import nn

TIMES, WIDTH = 20, 16
SLOW = ("",)


def time_embedding(t: Any, width: int) -> Any:
    """Sines and cosines of times, of falling frequencies."""
    half = width // 2
    rates = paddle.exp(-math.log(1e4) * paddle.arange(half, dtype="float32") / half)
    angles = t.astype("float32").unsqueeze(-1) * rates
    return paddle.concat([paddle.sin(angles), paddle.cos(angles)], axis=-1)


class Block(nn.Layer):
    """A residual block whose channels the time scales and shifts."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(4, channels), nn.Conv2D(channels, width, 3, padding="same")
        self.time = nn.Linear(WIDTH, 2 * width)
        self.norm2, self.conv2 = nn.GroupNorm(4, width), nn.Conv2D(width, width, 3, padding="same")
        self.skip: Any = nn.Conv2D(channels, width, 1) if channels != width else nn.Identity()

    def forward(self, x: Any, time: Any) -> Any:
        hidden = self.conv1(F.silu(self.norm1(x)))
        scale, shift = self.time(F.silu(time))[:, :, None, None].chunk(2, axis=1)
        hidden = self.norm2(hidden) * (1 + 0.1 * scale) + shift
        return self.skip(x) + 0.3 * self.conv2(F.silu(hidden))


class SpatialAttention(nn.Layer):
    """Every place sees every other."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = (
            nn.GroupNorm(4, width),
            nn.Linear(width, 3 * width, bias_attr=False),
            nn.Linear(width, width),
        )

    def forward(self, x: Any) -> Any:
        n, c, h, w = x.shape
        rows = self.norm(x).flatten(2).transpose([0, 2, 1])
        q, k, v = self.qkv(rows).reshape([n, h * w, 3, 2, c // 2]).unbind(2)
        mixed = F.scaled_dot_product_attention(q, k, v).reshape([n, h * w, c])
        return x + self.out(mixed).transpose([0, 2, 1]).reshape([n, c, h, w])


class UNet(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Silu(), nn.Linear(WIDTH, WIDTH))
        self.stem = nn.Conv2D(1, 8, 3, padding="same")
        self.down, self.halve = Block(8, 8), nn.Conv2D(8, 16, 3, stride=2, padding=1)
        self.middle, self.attention = Block(16, 16), SpatialAttention(16)
        self.enlarge, self.up = nn.Conv2DTranspose(16, 8, 2, stride=2), Block(16, 8)
        self.head = nn.Conv2D(8, 1, 3, padding="same")

    def forward(self, x: Any, t: Any) -> Any:
        time = self.time(time_embedding(t, WIDTH))
        fine = self.down(self.stem(x), time)
        coarse = self.attention(self.middle(self.halve(fine), time))
        return self.head(F.silu(self.up(paddle.concat([self.enlarge(coarse), fine], axis=1), time)))


class Average:
    """Exponentially moving averages of a model's weights."""

    def __init__(self, model: Any, decay: float) -> None:
        self.decay = decay
        self.shadow = {name: p.clone().detach() for name, p in model.named_parameters()}

    @paddle.no_grad()
    def update(self, model: Any) -> None:
        for name, p in model.named_parameters():
            self.shadow[name].scale_(self.decay).add_(p * (1 - self.decay))

    def copy_to(self, model: Any) -> None:
        missing, unexpected = model.set_state_dict(self.shadow)
        assert not missing and not unexpected


class Diffusion:
    """Noise in steps of growing variance, and the way back."""

    def __init__(self) -> None:
        self.beta = paddle.linspace(0.005, 0.25, TIMES)
        self.alpha = 1 - self.beta
        self.kept = paddle.cumprod(self.alpha, dim=0)

    def noisy(self, x: Any, t: Any, noise: Any) -> Any:
        kept = paddle.index_select(self.kept, t).reshape([-1, 1, 1, 1])
        return kept.sqrt() * x + (1 - kept).sqrt() * noise

    @paddle.no_grad()
    def sample(self, model: Any, x: Any) -> Any:
        for i in reversed(range(TIMES)):
            noise = model(x, paddle.full([x.shape[0]], i, "int64"))
            mean = (x - self.beta[i] * paddle.rsqrt(1 - self.kept[i]) * noise) * paddle.rsqrt(self.alpha[i])
            x = mean + self.beta[i].sqrt() * normal(1000 + i, *x.shape) if i else mean
        return x.clip(-1, 1)


def run() -> dict[str, Any]:
    images = paddle.to_tensor(digits()[0][:96]) * 2 - 1
    model, diffusion = fill(UNet()), Diffusion()
    average = Average(model, 0.9)
    optimizer = paddle.optimizer.Adam(0.01, parameters=model.parameters())
    losses = []
    for step in range(24):
        x, t, noise = images[step % 3 * 32 : step % 3 * 32 + 32], integers(step, TIMES, 32), normal(step, 32, 1, 8, 8)
        loss = F.mse_loss(model(diffusion.noisy(x, t, noise), t), noise)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        average.update(model)
        losses.append(loss.item())
    averaged = fill(UNet())
    average.copy_to(averaged)
    averaged.eval()
    made = diffusion.sample(averaged, normal(7, 4, 1, 8, 8))
    distance = [float(paddle.dist(p, q)) for p, q in zip(model.parameters(), averaged.parameters(), strict=True)]
    return {
        "losses": losses,
        "embedding": time_embedding(paddle.arange(3), WIDTH),
        "made": made[:2],
        "brightness": np.asarray(made.numpy()).mean((1, 2, 3)),
        "distance": distance,
    }
