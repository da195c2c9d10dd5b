"""Made by ``tools/public_stubs.py``."""

from paddle.incubate.jit.inference_decorator import inference as inference
from paddle.incubate.jit.inference_decorator import is_inference_mode as is_inference_mode

__all__ = [
    "inference",
    "is_inference_mode",
]
