"""What models are made of, as tables."""

from paddle.hapi.flops import flops
from paddle.hapi.summary import summary

__all__ = ["flops", "summary"]
