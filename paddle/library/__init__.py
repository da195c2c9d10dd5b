"""Operators that users bring: functions of their own as operations of the engine (docs/guide/custom-operators.md)."""

from paddle import _lazy
from paddle.library import custom_op, libraries, registration, registry

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
