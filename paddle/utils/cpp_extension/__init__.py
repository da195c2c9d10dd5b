"""Operators in C++: compiled, loaded and registered (docs/guide/cpp-operators.md)."""

from typing import TYPE_CHECKING

from paddle import _lazy

if TYPE_CHECKING:
    from paddle.utils.cpp_extension import building, compiling, loading

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
