"""DLPack's table of C functions."""

from typing import Any

EXCHANGE_API: Any
"""The capsule that classes of tensors show as ``__dlpack_c_exchange_api__``."""
