"""Probability distributions, transforms of random variables, and divergences."""

from paddle import _late
from paddle.distribution import continuous, discrete, distribution, multivariate, transform, transformed

__getattr__, __dir__, __all__ = _late.contents(__name__)
