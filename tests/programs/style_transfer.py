"""An image takes the texture of another: Gram matrices of features, and the image itself is what L-BFGS moves."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import fill

import paddle
import paddle.nn.functional as F
from paddle import nn

SIZE = 16
STYLE, CONTENT = ("0", "3"), ("3",)
MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
SLOW = ("",)


def pictures() -> tuple[Any, Any]:
    """A disc, and slanted stripes, in colours between 0 and 1."""
    y, x = np.mgrid[:SIZE, :SIZE].astype("float32")
    disc = 1 / (1 + np.exp((np.hypot(x - 8, y - 7) - 5) * 2))
    stripes = 0.5 + 0.5 * np.sin(x + 0.7 * y)
    content = np.stack([0.2 + 0.7 * disc, 0.3 + 0.3 * disc, 0.8 - 0.5 * disc])
    style = np.stack([stripes, 1 - stripes, 0.5 * stripes])
    return paddle.to_tensor(content[None]), paddle.to_tensor(style[None].astype("float32"))


class Features(nn.Layer):
    """Convolutions that are not trained; what some of them find is kept by hooks."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2D(3, 8, 3, padding=1, padding_mode="reflect"),
            nn.Tanh(),
            nn.AvgPool2D(2),
            nn.Conv2D(8, 16, 3, padding=1, padding_mode="reflect"),
            nn.Tanh(),
        )
        self.found: dict[str, Any] = {}
        for name, layer in self.body.named_children():
            if name in STYLE + CONTENT:
                layer.register_forward_post_hook(self._keep(name))
        for parameter in self.parameters():
            parameter.stop_gradient = True

    def _keep(self, name: str) -> Any:
        def hook(layer: Any, inputs: Any, output: Any) -> None:
            self.found[name] = output

        return hook

    def forward(self, x: Any) -> dict[str, Any]:
        mean, deviation = (paddle.to_tensor(v).reshape([1, 3, 1, 1]) for v in (MEAN, DEVIATION))
        self.body((x - mean) / deviation)
        return dict(self.found)


def gram(features: Any) -> Any:
    """How channels go together, over all places."""
    n, c, h, w = features.shape
    rows = features.reshape([n, c, h * w])
    return paddle.bmm(rows, rows.transpose([0, 2, 1])) / (c * h * w)


def variation(image: Any) -> Any:
    """How much neighbours differ."""
    across, down = image[..., :, 1:] - image[..., :, :-1], image[..., 1:, :] - image[..., :-1, :]
    return paddle.square(across).mean() + paddle.square(down).mean()


def texture_loss(found: dict[str, Any], wanted: dict[str, Any]) -> Any:
    """How far the texture of features is from the wanted one."""
    return paddle.add_n([F.mse_loss(gram(found[name]), wanted[name]) for name in STYLE])


def run() -> dict[str, Any]:
    content, style = pictures()
    features = fill(Features())
    features.eval()
    with paddle.no_grad():
        wanted_content = {name: features(content)[name] for name in CONTENT}
        wanted_style = {name: gram(found) for name, found in features(style).items() if name in STYLE}
    image = paddle.create_parameter(
        content.shape, "float32", default_initializer=nn.initializer.Assign(content.numpy())
    )
    optimizer = paddle.optimizer.LBFGS(
        learning_rate=1.0, max_iter=4, history_size=6, line_search_fn="strong_wolfe", parameters=[image]
    )
    parts: dict[str, float] = {}

    def closure() -> Any:
        optimizer.clear_grad()
        found = features(image)
        of_style = texture_loss(found, wanted_style)
        of_content = paddle.add_n([F.mse_loss(found[name], wanted_content[name]) for name in CONTENT])
        smooth = variation(image)
        loss = 100 * of_style + of_content + 0.1 * smooth
        loss.backward()
        parts.update(style=float(of_style), content=float(of_content), smooth=float(smooth))
        return loss

    losses = [float(optimizer.step(closure)) for _ in range(6)]
    with paddle.no_grad():
        image.clip_(0, 1)
        losses.append(float(texture_loss(features(image), wanted_style)))
    return {"losses": losses, "parts": parts, "image": image, "grams": wanted_style}
