"""A Wasserstein GAN whose critic is kept smooth: the penalty is a gradient of gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import digits, fill, normal

import paddle
from paddle import nn

HIDDEN, CRITIC_STEPS, WEIGHT = 8, 3, 10.0
SLOW = ("",)


class Generator(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.lift = nn.Sequential(nn.Linear(HIDDEN, 64, bias_attr=False), nn.BatchNorm1D(64), nn.ReLU())
        self.body = nn.Sequential(
            nn.UpsamplingNearest2D(scale_factor=2),
            nn.Conv2D(16, 16, 3, padding=1, bias_attr=False),
            nn.BatchNorm2D(16),
            nn.ReLU(),
            nn.UpsamplingBilinear2D(size=[8, 8]),
            nn.Conv2D(16, 1, 3, padding=1),
            nn.Tanh(),
        )

    def forward(self, z: Any) -> Any:
        return self.body(self.lift(z).reshape([-1, 16, 2, 2]))


class Critic(nn.Layer):
    """How real an image looks; without norms over the batch, which the penalty forbids."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(1, 12, 3, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv2D(12, 24, 3, stride=2, padding=1),
            nn.LeakyReLU(0.2),
        )
        self.score = nn.Sequential(nn.Linear(96, 16), nn.Softplus(), nn.Linear(16, 1))

    def forward(self, x: Any) -> Any:
        return self.score(self.features(x).reshape([-1, 96])).squeeze(-1)


def gradient_penalty(critic: Critic, real: Any, made: Any, mix: Any) -> Any:
    """How far the critic's slope is from one, between real and made images."""
    between = paddle.lerp(made, real, mix)
    between.stop_gradient = False
    (slope,) = paddle.grad(critic(between).sum(), [between], create_graph=True, retain_graph=True)
    return ((paddle.linalg.norm(slope.reshape([len(real), -1]), p=2, axis=1) - 1) ** 2).mean()


def run() -> dict[str, Any]:
    images = paddle.to_tensor(digits()[0][:96]) * 2 - 1
    generator, critic = fill(Generator(), "generator"), fill(Critic(), "critic")
    makes = paddle.optimizer.Adam(0.002, beta1=0.0, beta2=0.9, parameters=generator.parameters())
    judges = paddle.optimizer.Adam(0.002, beta1=0.0, beta2=0.9, parameters=critic.parameters())
    rng = np.random.RandomState(0)
    curves: dict[str, list[float]] = {"distance": [], "penalty": [], "generator": []}
    for step in range(8):
        for turn in range(CRITIC_STEPS):
            i = (CRITIC_STEPS * step + turn) % 3 * 32
            real = images[i : i + 32]
            with paddle.no_grad():
                made = generator(normal(10 * step + turn, 32, HIDDEN))
            mix = paddle.to_tensor(rng.uniform(size=(32, 1, 1, 1)).astype("float32"))
            distance = critic(real).mean() - critic(made).mean()
            penalty = gradient_penalty(critic, real, made, mix)
            (WEIGHT * penalty - distance).backward()
            judges.step()
            judges.clear_grad()
            curves["distance"].append(float(distance))
            curves["penalty"].append(float(penalty))
        for parameter in critic.parameters():
            parameter.stop_gradient = True
        loss = -critic(generator(normal(500 + step, 32, HIDDEN))).mean()
        loss.backward()
        makes.step()
        makes.clear_grad()
        for parameter in critic.parameters():
            parameter.stop_gradient = False
        curves["generator"].append(float(loss))
    x = images[:2].clone()
    x.stop_gradient = False
    (slope,) = paddle.grad(critic(x).sum(), x, create_graph=True)
    weights = [p for name, p in critic.named_parameters() if name.endswith("weight")]
    seconds = paddle.grad((slope**2).sum(), [x, *weights], allow_unused=True)
    generator.eval()
    return {
        **curves,
        "made": generator(normal(99, 2, HIDDEN)),
        "slope": slope,
        "seconds": [float(g.abs().sum()) for g in seconds],
    }
