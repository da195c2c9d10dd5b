"""The toolkit of this machine. Its own module, since finding it takes a moment."""

from __future__ import annotations

from paddle._public import constants
from paddle.utils.cpp_extension.cuda_toolkit import home

CUDA_HOME: str | None = home()
constants("paddle.utils.cpp_extension", __name__, {"CUDA_HOME": CUDA_HOME})
