"""``torch.ops``: what it has beside operators."""

from __future__ import annotations

import os

from paddle.utils.cpp_extension import loading


def load_library(path: str | os.PathLike[str]) -> None:
    """Load a library with operators, which was compiled with ``torch/library.h`` of this installation.

    Its operators are ``torch.ops.<namespace>.<name>`` then. A library that was loaded already changes nothing.

    Args:
        path: the library.

    Raises:
        FileNotFoundError: no such file.
        ImportError: a library that needs PyTorch's own, has no operators, or was built for another version of the
            interface.

    Source:
        PyTorch, ``torch.ops.load_library``.
    """
    loading.load_library(os.fspath(path))
