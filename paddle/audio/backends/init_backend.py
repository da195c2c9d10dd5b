"""Choice of the backend."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from paddle._public import public
from umiak.util.errors import op_error

# Name → the module with info, load and save, and the package that it needs.
_BACKENDS = {
    "wave_backend": ("paddle.audio.backends.wave_backend", None),
    "soundfile": ("paddle.audio.backends.soundfile_backend", "soundfile"),
}
_current = "wave_backend"


@public("paddle.audio.backends")
def list_available_backends() -> list[str]:
    """List the backends whose packages are installed.

    Returns:
        Names for :func:`set_backend`: ``"wave_backend"``, which reads and writes WAV files, and ``"soundfile"``.

    Example:
        >>> import paddle
        >>> "wave_backend" in paddle.audio.backends.list_available_backends()
        True
    """
    return [name for name, (_, package) in _BACKENDS.items() if package is None or find_spec(package)]


@public("paddle.audio.backends")
def get_current_backend() -> str:
    """Return the name of the backend that ``info``, ``load`` and ``save`` use.

    Returns:
        A name, ``"wave_backend"`` unless another was chosen.

    Example:
        >>> import paddle
        >>> paddle.audio.backends.get_current_backend()
        'wave_backend'
    """
    return _current


@public("paddle.audio.backends")
def set_backend(backend_name: str) -> None:
    """Choose the backend of ``info``, ``load`` and ``save``.

    Args:
        backend_name: one of :func:`list_available_backends`.

    Raises:
        NotImplementedError: no such backend, or its package is not installed.

    Example:
        >>> import paddle
        >>> paddle.audio.backends.set_backend("wave_backend")
    """
    global _current
    if backend_name not in _BACKENDS:
        raise op_error(NotImplementedError, "set_backend", f"one of {', '.join(_BACKENDS)}", repr(backend_name))
    if backend_name not in list_available_backends():
        hint = f"pip install {_BACKENDS[backend_name][1]}"
        raise op_error(NotImplementedError, "set_backend", f"the package of {backend_name!r}", "no such package", hint)
    _current = backend_name


def current() -> ModuleType:
    """Return the module of the current backend."""
    return import_module(_BACKENDS[_current][0])
