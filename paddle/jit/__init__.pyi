"""Made by ``tools/public_stubs.py``."""

from paddle.jit.api import enable_to_static as enable_to_static
from paddle.jit.api import not_to_static as not_to_static
from paddle.jit.api import to_static as to_static
from paddle.jit.ignored import ignore_module as ignore_module
from paddle.jit.loading import TranslatedLayer as TranslatedLayer
from paddle.jit.loading import load as load
from paddle.jit.saving import save as save
from paddle.jit.source.show import set_code_level as set_code_level
from paddle.jit.source.show import set_verbosity as set_verbosity

__all__ = [
    "TranslatedLayer",
    "enable_to_static",
    "ignore_module",
    "load",
    "not_to_static",
    "save",
    "set_code_level",
    "set_verbosity",
    "to_static",
]
