"""A flow of coupling layers learns the density of two moons; distributions and transforms by their formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import fill, normal

import paddle
from paddle import distribution as D
from paddle import nn

TOLERANCE = 1e-3


def moons(seed: int, count: int) -> Any:
    rng = np.random.RandomState(seed)
    angle, side = rng.uniform(0, np.pi, count), rng.randint(0, 2, count)
    x = np.where(side, 1 - np.cos(angle), np.cos(angle)) - 0.5
    y = np.where(side, 0.5 - np.sin(angle), np.sin(angle)) - 0.25
    points = np.stack([x, y], axis=1) + 0.05 * rng.standard_normal((count, 2))
    return paddle.to_tensor(points.astype("float32"))


class Coupling(nn.Layer):
    """One coordinate is scaled and moved by what the other one says."""

    def __init__(self, swap: bool) -> None:
        super().__init__()
        self.swap = swap
        self.net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 2))

    def transform(self, kept: Any) -> Any:
        move, scale = paddle.split(self.net(kept), 2, axis=1)
        return D.ChainTransform([D.AffineTransform(paddle.zeros([1]), paddle.exp(paddle.tanh(scale)))]), move

    def forward(self, x: Any) -> tuple[Any, Any]:
        kept, changed = paddle.unbind(x.unsqueeze(-1), axis=1)
        if self.swap:
            kept, changed = changed, kept
        chain, move = self.transform(kept)
        volume = chain.forward_log_det_jacobian(changed)
        changed = chain.forward(changed) + move
        return paddle.concat([changed, kept] if self.swap else [kept, changed], axis=1), volume.squeeze(1)

    def inverse(self, z: Any) -> Any:
        kept, changed = paddle.chunk(z, 2, axis=1)
        if self.swap:
            kept, changed = changed, kept
        chain, move = self.transform(kept)
        changed = chain.inverse(changed - move)
        return paddle.concat([changed, kept] if self.swap else [kept, changed], axis=1)


class CouplingFlow(nn.Layer):
    def __init__(self, depth: int = 4) -> None:
        super().__init__()
        self.couplings = nn.LayerList([Coupling(bool(i % 2)) for i in range(depth)])
        self.base = D.Independent(D.Normal(paddle.zeros([2]), paddle.ones([2])), 1)

    def log_prob(self, x: Any) -> Any:
        total = paddle.zeros([len(x)])
        for coupling in self.couplings:
            x, volume = coupling(x)
            total = total + volume
        return self.base.log_prob(x) + total

    def sample(self, noise: Any) -> Any:
        for coupling in reversed(list(self.couplings)):
            noise = coupling.inverse(noise)
        return noise


class Autoencoder(nn.Layer):
    """A posterior by reparameterisation with given noise, and what distributions say of it."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(2, 4)
        self.decoder = nn.Sequential(nn.Linear(2, 8), nn.Softplus(), nn.Linear(8, 2))

    def bound(self, x: Any, noise: Any) -> Any:
        mean, log_scale = paddle.split(self.encoder(x), 2, axis=1)
        posterior = D.Normal(mean, paddle.exp(0.2 * log_scale))
        hidden = posterior.loc + posterior.scale * noise
        likelihood = D.Normal(self.decoder(hidden), paddle.full([2], 0.5)).log_prob(x).sum(-1)
        prior = D.Normal(paddle.zeros([2]), paddle.ones([2]))
        return likelihood - D.kl_divergence(posterior, prior).sum(-1)


def train(model: nn.Layer, goal: Any, batches: Any) -> list[float]:
    """Losses while ``goal`` of batches is made greater."""
    optimizer = paddle.optimizer.Adam(0.01, parameters=model.parameters(), grad_clip=nn.ClipGradByNorm(5.0), beta2=0.99)
    losses = []
    for batch in batches:
        loss = -goal(*batch).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    return losses


def densities() -> dict[str, Any]:
    """Densities of distributions that transforms make, and divergences."""
    x = paddle.to_tensor([0.1, 0.35, 0.8])
    zero, one = paddle.zeros([3]), paddle.ones([3])
    logit = D.TransformedDistribution(D.Normal(zero, one), [D.SigmoidTransform()])
    chain = D.TransformedDistribution(
        D.Normal(zero, one), [D.AffineTransform(one, 2 * one), D.ExpTransform(), D.PowerTransform(2 * one)]
    )
    tanh, stick = D.TanhTransform(), D.StickBreakingTransform()
    pairs = {
        "beta": (D.Beta(2 * one, 3 * one), D.Beta(one, 2 * one)),
        "dirichlet": (D.Dirichlet(one * 2), D.Dirichlet(x * 3)),
        "gamma": (D.Gamma(one * 2, one), D.Gamma(x * 3, one * 2)),
        "bernoulli": (D.Bernoulli(x), D.Bernoulli(1 - x)),
        "laplace": (D.Laplace(x, one), D.Laplace(zero, 2 * one)),
        "lognormal": (D.LogNormal(x, one), D.LogNormal(zero, 2 * one)),
        "categorical": (D.Categorical(x), D.Categorical(paddle.flip(x, [0]))),
    }
    return {
        "logit": logit.log_prob(x),
        "chain": chain.log_prob(x),
        "lognormal": D.LogNormal(zero, one).log_prob(x),
        "tanh": tanh.inverse_log_det_jacobian(x),
        "stick": stick.forward(x),
        "stick volume": stick.forward_log_det_jacobian(x),
        "divergences": {name: D.kl_divergence(p, q) for name, (p, q) in pairs.items()},
    }


def run() -> dict[str, Any]:
    flow = fill(CouplingFlow())
    losses = train(flow, flow.log_prob, [(moons(i, 64),) for i in range(25)])
    autoencoder = fill(Autoencoder())
    bounds = train(autoencoder, autoencoder.bound, [(moons(i, 32), normal(100 + i, 32, 2)) for i in range(15)])
    with paddle.no_grad():
        drawn = flow.sample(normal(0, 5, 2))
        held = flow.log_prob(moons(99, 8))
    return {"losses": losses, "bounds": bounds, "drawn": drawn, "held": held, **densities()}
