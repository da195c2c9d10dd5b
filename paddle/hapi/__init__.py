"""What models are made of, as tables."""

from paddle import _late
from paddle.hapi import flops, summary

__getattr__, __dir__, __all__ = _late.contents(__name__)
