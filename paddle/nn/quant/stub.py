"""``Stub``: a place in a model at which a quantizer may put an observer."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor


@public("paddle.nn.quant")
class Stub(Layer):
    """Layer that passes its input on, at a place where a quantizer may observe it.

    Functions called in ``forward`` have no layer that a quantizer could wrap; a stub stands before them.

    Args:
        observer: what the quantizer is to put here; None: what it puts anywhere.

    Shape:
        x: any.
        output: x.

    Example:
        >>> import paddle
        >>> paddle.nn.quant.Stub()(paddle.ones([2])).tolist()
        [1.0, 1.0]
    """

    def __init__(self, observer: Any = None) -> None:
        super().__init__()
        self._observer = observer

    def forward(self, input: Tensor) -> Tensor:
        return input
