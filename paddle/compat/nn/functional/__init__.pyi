"""Made by ``tools/public_stubs.py``."""

from paddle.compat.nn.functional.common import linear as linear
from paddle.compat.nn.functional.common import pad as pad
from paddle.compat.nn.functional.common import scaled_dot_product_attention as scaled_dot_product_attention
from paddle.compat.nn.functional.common import softmax as softmax
from paddle.compat.nn.functional.common import unfold as unfold

__all__ = [
    "linear",
    "pad",
    "scaled_dot_product_attention",
    "softmax",
    "unfold",
]
