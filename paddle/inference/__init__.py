"""Models that were saved, loaded for runs alone: the reference's API of predictors."""

from paddle import _lazy

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
