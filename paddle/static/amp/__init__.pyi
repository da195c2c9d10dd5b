"""Made by ``tools/public_stubs.py``."""

from paddle.static.amp.casting import cast_model_to_fp16 as cast_model_to_fp16
from paddle.static.amp.casting import cast_parameters_to_fp16 as cast_parameters_to_fp16
from paddle.static.amp.casting import fp16_guard as fp16_guard
from paddle.static.amp.lists import AutoMixedPrecisionLists as AutoMixedPrecisionLists
from paddle.static.amp.lists import CustomOpLists as CustomOpLists
from paddle.static.amp.optimizer import decorate as decorate

__all__ = [
    "AutoMixedPrecisionLists",
    "CustomOpLists",
    "cast_model_to_fp16",
    "cast_parameters_to_fp16",
    "decorate",
    "fp16_guard",
]
