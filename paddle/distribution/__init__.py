"""Probability distributions, transforms of random variables, and divergences."""

from paddle import _lazy
from paddle.distribution import continuous, discrete, distribution, multivariate, transform, transformed

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
