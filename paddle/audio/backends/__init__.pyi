"""Made by ``tools/public_stubs.py``."""

from paddle.audio.backends.init_backend import get_current_backend as get_current_backend
from paddle.audio.backends.init_backend import list_available_backends as list_available_backends
from paddle.audio.backends.init_backend import set_backend as set_backend

__all__ = [
    "get_current_backend",
    "list_available_backends",
    "set_backend",
]
