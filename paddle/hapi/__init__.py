"""Models that train themselves, and their summaries as tables."""

from paddle import _lazy
from paddle.hapi import flops, summary

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
