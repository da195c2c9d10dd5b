"""A layer whose forward and backward parts become graphs of the device."""

from __future__ import annotations

from typing import Any

from paddle import _lazy
from paddle._public import public
from paddle.nn.layer import Layer
from umiak.util.errors import op_error


@public("paddle.device.cuda.cuda_graphed_layer")
class CUDAGraphedLayer(Layer):
    """Layer that runs another one: as it is for some calls, then captured, as graphs of a CUDA device.

    The captured calls are those of :func:`paddle.jit.to_static`, backward included: inputs of other sizes are captured
    anew, random numbers are other ones at each call, and what a graph cannot hold runs between two of them. On devices
    without graphs the captured calls run one by one.

    Args:
        layer: the layer, which stays a sublayer of this one.
        num_warmup_steps: the number of calls, 0 or more, until it is captured.

    Shape:
        - input, output: those of ``layer``.

    Raises:
        TypeError: ``layer`` is no layer.
        ValueError: ``num_warmup_steps`` is negative.

    Example:
        >>> import paddle
        >>> from paddle.device.cuda.cuda_graphed_layer import CUDAGraphedLayer
        >>> layer = CUDAGraphedLayer(paddle.nn.Linear(4, 2), num_warmup_steps=1)
        >>> for _ in range(3):
        ...     layer(paddle.ones([3, 4])).sum().backward()
        >>> layer.is_cuda_graph_step()
        True
    """

    def __init__(self, layer: Layer, num_warmup_steps: int = 3) -> None:
        super().__init__()
        if not isinstance(layer, Layer):
            raise op_error(TypeError, "CUDAGraphedLayer", "a layer", type(layer).__name__)
        if num_warmup_steps < 0:
            raise op_error(ValueError, "CUDAGraphedLayer", "num_warmup_steps of 0 or more", num_warmup_steps)
        self.layer = layer
        self._left = num_warmup_steps
        self._captured: Any = None

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the layer, or what was captured of it.

        Args:
            *args: those of the layer.
            **kwargs: those of the layer.

        Returns:
            The results of the layer.

        Raises:
            Exception: whatever the layer raises.
        """
        if self._left:
            self._left -= 1
            return self.layer(*args, **kwargs)
        if self._captured is None:
            from paddle import jit

            layer = self.layer  # not of self: a layer that nobody has any more gives its graphs back at once
            self._captured = jit.to_static(lambda *args, **kwargs: layer(*args, **kwargs))
        return self._captured(*args, **kwargs)

    def is_warmup_step(self) -> bool:
        """Say whether the next call runs the layer as it is."""
        return self._left > 0

    def is_cuda_graph_step(self) -> bool:
        """Say whether the next call runs what was captured."""
        return self._left == 0


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
