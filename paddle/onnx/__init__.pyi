"""Made by ``tools/public_stubs.py``."""

from paddle.onnx.exporting import export as export

__all__ = [
    "export",
]
