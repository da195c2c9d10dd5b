"""Special functions under the names of another framework."""

from paddle.tensor.elementwise import expm1
from paddle.tensor.math import logsumexp, softmax

__all__ = ["expm1", "logsumexp", "softmax"]
