"""Folders of an installation for extensions in C++."""

import os

from paddle import _lazy
from paddle._public import public


def _beside(folder: str) -> str:
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), folder)


@public("paddle.sysconfig")
def get_include() -> str:
    """Return the folder for headers of this installation, which flags of compilers name.

    Returns:
        An absolute path, ``include`` in the folder of the package: with ``paddle/extension.h``, and with
        ``torch/library.h`` in its folder ``compat``.

    Example:
        >>> import paddle
        >>> paddle.sysconfig.get_include().endswith("paddle/include")
        True
    """
    return _beside("include")


@public("paddle.sysconfig")
def get_lib() -> str:
    """Return the folder for libraries of this installation, which flags of linkers name.

    Returns:
        An absolute path, ``libs`` in the folder of the package. It exists where an installation has libraries.

    Example:
        >>> import paddle
        >>> paddle.sysconfig.get_lib().endswith("paddle/libs")
        True
    """
    return _beside("libs")


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
