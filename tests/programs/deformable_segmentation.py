"""Segmentation of rotated digits: a spatial transformer, convolutions whose places are learned, and the Dice loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import digits, fill

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.vision.ops import DeformConv2D

SLOW = ("",)


class Straighten(nn.Layer):
    """A spatial transformer: a small network says which affine map the image is read through."""

    def __init__(self) -> None:
        super().__init__()
        self.look = nn.Sequential(
            nn.Conv2D(1, 6, 5, stride=2, padding=2), nn.Tanh(), nn.AdaptiveAvgPool2D(4), nn.Flatten()
        )
        self.theta = nn.Linear(96, 6)

    def forward(self, x: Any) -> tuple[Any, Any]:
        same = paddle.to_tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        x.stop_gradient = False  # the reference's grid_sample wants to differentiate by both or by neither
        theta = 0.05 * self.theta(self.look(x)).reshape([-1, 2, 3]) + same
        return self.read(x, theta), theta

    @staticmethod
    def read(x: Any, theta: Any) -> Any:
        grid = F.affine_grid(theta, x.shape, align_corners=False)
        return F.grid_sample(x, grid, mode="bilinear", padding_mode="border", align_corners=False)


def inverse(theta: Any) -> Any:
    """The affine maps that undo others."""
    turn = paddle.linalg.inv(theta[:, :, :2])
    return paddle.concat([turn, -paddle.matmul(turn, theta[:, :, 2:])], axis=-1)


class Deformable(nn.Layer):
    """A convolution that learns where to look, and how much each look counts."""

    def __init__(self, channels: int, width: int, dilation: int = 1) -> None:
        super().__init__()
        self.shift = nn.Conv2D(channels, 18, 3, padding=dilation, dilation=dilation)
        self.mask = nn.Conv2D(channels, 9, 3, padding=dilation, dilation=dilation)
        self.conv = DeformConv2D(channels, width, 3, padding=dilation, dilation=dilation)
        self.norm = nn.InstanceNorm2D(width)

    def forward(self, x: Any) -> Any:
        out = self.conv(x, 0.2 * paddle.tanh(self.shift(x)), F.sigmoid(self.mask(x)))
        return F.hardswish(self.norm(out))


class Segmenter(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.straighten = Straighten()
        self.stem = nn.Sequential(nn.Conv2D(1, 8, 3, stride=2, padding=1), nn.Hardswish())
        self.body = nn.Sequential(Deformable(8, 12), Deformable(12, 12, dilation=2))
        self.gate = nn.Sequential(nn.AdaptiveMaxPool2D(1), nn.Conv2D(12, 12, 1), nn.Hardsigmoid())
        self.head = nn.Conv2D(20, 2, 1)

    def forward(self, x: Any) -> tuple[Any, Any]:
        upright, theta = self.straighten(x)
        low = self.stem(upright)
        high = self.body(low)
        scores = self.head(paddle.concat([low, high * self.gate(high)], axis=1))
        scores = F.interpolate(scores, size=x.shape[2:], mode="bilinear", align_corners=False)
        return self.straighten.read(scores, inverse(theta)), theta


def rotated(images: Any) -> tuple[Any, Any]:
    """Digits of twice the size, each rotated by an angle of its own, and which of their pixels are bright."""
    angles = np.random.RandomState(2).uniform(-0.6, 0.6, len(images)).astype("float32")
    cos, sin, zero = np.cos(angles), np.sin(angles), np.zeros_like(angles)
    theta = paddle.to_tensor(np.stack([cos, -sin, zero, sin, cos, zero], -1).reshape(-1, 2, 3))
    large = F.interpolate(images, scale_factor=2, mode="bicubic", align_corners=True)
    grid = F.affine_grid(theta, large.shape)
    result = F.grid_sample(large, grid, mode="bilinear", padding_mode="zeros")
    return result, (result > 0.5).astype("int64").transpose([0, 2, 3, 1])


def run() -> dict[str, Any]:
    images, labels = rotated(paddle.to_tensor(digits()[0][:64]))
    model = fill(Segmenter())
    schedule = paddle.optimizer.lr.OneCycleLR(0.05, total_steps=16, divide_factor=10.0)
    optimizer = paddle.optimizer.Momentum(schedule, parameters=model.parameters(), weight_decay=1e-4)
    losses: dict[str, list[float]] = {"dice": [], "focal": []}
    for step in range(16):
        part = slice(step % 4 * 16, step % 4 * 16 + 16)
        scores, _ = model(images[part])
        wanted = labels[part]
        dice = F.dice_loss(F.softmax(scores.transpose([0, 2, 3, 1])), wanted)
        difference = scores[:, 1] - scores[:, 0]
        focal = F.sigmoid_focal_loss(difference, wanted[..., 0].astype("float32"), reduction="mean")
        (dice + focal).backward()
        optimizer.step()
        optimizer.clear_grad()
        schedule.step()
        losses["dice"].append(float(dice))
        losses["focal"].append(float(focal))
    model.eval()
    with paddle.no_grad():
        scores, theta = model(images[:8])
        found = F.softmax(scores, axis=1)[:, 1]
    best, where = F.max_pool2d(found.unsqueeze(1), 4, return_mask=True)
    return {
        **losses,
        "theta": theta[:3],
        "found": found[0],
        "share": found.mean([1, 2]),
        "restored": F.max_unpool2d(best, where, 4).sum([1, 2, 3]),
    }
