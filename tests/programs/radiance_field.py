"""A radiance field: a network of places and directions, seen along rays, learns a coloured ball from a few views."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import fill

import paddle
import paddle.nn.functional as F
from paddle import nn

NEAR, FAR, COARSE, FINE, SIDE = 1.0, 3.0, 12, 8, 6
SLOW = ("",)


def waves(x: Any, frequencies: int) -> Any:
    """Coordinates, and sines and cosines of them at doubling frequencies."""
    scaled = x.unsqueeze(-2) * (2.0 ** paddle.arange(frequencies, dtype="float32")).unsqueeze(-1)
    return paddle.concat([x, paddle.sin(scaled).flatten(-2), paddle.cos(scaled).flatten(-2)], axis=-1)


class Field(nn.Layer):
    """Density and colour at a place, seen from a direction."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Linear(3 + 3 * 2 * 3, width), nn.Silu(), nn.Linear(width, width), nn.Silu())
        self.second = nn.Linear(width + 3 + 3 * 2 * 3, width)
        self.density = nn.Linear(width, 1)
        self.colour = nn.Sequential(nn.Linear(width + 3 + 3 * 2 * 1, 16), nn.Silu(), nn.Linear(16, 3), nn.Sigmoid())

    def forward(self, places: Any, directions: Any) -> tuple[Any, Any]:
        x = waves(places, 3)
        hidden = F.silu(self.second(paddle.concat([self.first(x), x], axis=-1)))
        seen = waves(directions, 1).unsqueeze(-2).expand([*places.shape[:-1], 9])
        return F.softplus(self.density(hidden)).squeeze(-1), self.colour(paddle.concat([hidden, seen], axis=-1))


def along(values: Any, depths: Any) -> tuple[Any, Any]:
    """The colour of rays ``[N, 3]`` and the weight ``[N, S]`` of each sample on them."""
    density, colour = values
    gaps = paddle.diff(depths, append=paddle.full([depths.shape[0], 1], FAR + 0.2))
    alpha = 1 - paddle.exp(-density * gaps)
    passed = paddle.cumprod(1 - alpha + 1e-6, dim=-1)
    weights = alpha * F.pad(passed[:, :-1], [1, 0], value=1.0)
    picture = (weights.unsqueeze(-1) * colour).sum(-2)
    return picture + (1 - weights.sum(-1, keepdim=True)), weights  # before a white ground


def where_it_matters(depths: Any, weights: Any, u: Any) -> Any:
    """Depths drawn by the inverse of the distribution that the weights of coarser ones give."""
    middles = 0.5 * (depths[:, 1:] + depths[:, :-1])
    share = weights[:, 1:-1] + 1e-3
    total = paddle.cumsum(share / share.sum(-1, keepdim=True), axis=-1)
    total = paddle.concat([paddle.zeros_like(total[:, :1]), total], axis=-1)
    above = paddle.searchsorted(total, u, right=True)
    low, high = (above - 1).clip(min=0), above.clip(max=total.shape[-1] - 1)
    edges = [paddle.take_along_axis(total, i, axis=1) for i in (low, high)]
    ends = [paddle.take_along_axis(middles, i, axis=1) for i in (low, high)]
    gap = edges[1] - edges[0]
    part = (u - edges[0]) / paddle.where(gap < 1e-5, paddle.ones_like(gap), gap)
    return ends[0] + part * (ends[1] - ends[0])


def rays(angle: float) -> tuple[Any, Any]:
    """Origins and directions of a camera that looks at the middle from a distance of two."""
    y, x = np.meshgrid(np.linspace(0.4, -0.4, SIDE), np.linspace(-0.4, 0.4, SIDE), indexing="ij")
    local = paddle.to_tensor(np.stack([x, y, -np.ones_like(x)], -1).reshape(-1, 3).astype("float32"))
    c, s = np.cos(angle), np.sin(angle)
    turn = paddle.to_tensor(np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]], "float32"))
    directions = F.normalize(paddle.einsum("ij,nj->ni", turn, local), axis=-1)
    return (2.0 * turn[:, 2]).expand([SIDE * SIDE, 3]), directions


def ball(origins: Any, directions: Any) -> Any:
    """What a camera sees: a ball whose colours are its normals, before a white ground."""
    middle = paddle.dot(origins, directions)
    inside = middle**2 - (origins**2).sum(-1) + 0.6**2
    normal = F.normalize(origins + (-middle - inside.clip(min=0).sqrt()).unsqueeze(-1) * directions, axis=-1)
    return paddle.where((inside > 0).unsqueeze(-1), 0.5 + 0.5 * normal, paddle.ones_like(normal))


class Renderer(nn.Layer):
    """Coarse samples everywhere, finer ones where the coarse field is dense."""

    def __init__(self) -> None:
        super().__init__()
        self.coarse, self.fine = Field(), Field()

    def forward(self, origins: Any, directions: Any) -> tuple[Any, Any, Any]:
        n = origins.shape[0]
        depths = paddle.linspace(NEAR, FAR, COARSE).expand([n, COARSE])
        first, weights = along(self.coarse(self.places(origins, directions, depths), directions), depths)
        u = ((paddle.arange(FINE, dtype="float32") + 0.5) / FINE).expand([n, FINE]).contiguous()
        drawn = where_it_matters(depths, weights.detach(), u)
        depths = paddle.sort(paddle.concat([depths, drawn], axis=-1), axis=-1)
        second, weights = along(self.fine(self.places(origins, directions, depths), directions), depths)
        return first, second, (weights * depths).sum(-1)

    @staticmethod
    def places(origins: Any, directions: Any, depths: Any) -> Any:
        return origins.unsqueeze(1) + depths.unsqueeze(-1) * directions.unsqueeze(1)


def run() -> dict[str, Any]:
    model = fill(Renderer())
    views = [rays(angle) for angle in (0.0, 1.3, 2.6, 4.0)]
    pictures = [ball(*view) for view in views]
    schedule = paddle.optimizer.lr.ExponentialDecay(0.01, gamma=0.97)
    optimizer = paddle.optimizer.Adam(schedule, parameters=model.parameters(), epsilon=1e-6)
    losses, signal = [], []
    for step in range(24):
        (origins, directions), picture = views[step % 4], pictures[step % 4]
        first, second, _ = model(origins, directions)
        error = F.mse_loss(second, picture)
        loss = F.mse_loss(first, picture) + error
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        schedule.step()
        losses.append(float(loss))
        signal.append(float(-10 * paddle.log10(error)))
    with paddle.no_grad():
        _, picture, depth = model(*rays(0.7))
    return {"losses": losses, "signal": signal, "picture": picture, "depth": depth, "rate": optimizer.get_lr()}
