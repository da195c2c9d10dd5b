"""Pooling of regions of interest into features of one size, as functions and as layers."""

from __future__ import annotations

from typing import Any

from paddle._public import need_tensor, public
from paddle.nn.functional._windows import ints
from paddle.nn.layer.layers import Layer
from umiak import ops as F
from umiak.core.tensor import Tensor


def _operands(op_name: str, x: Any, boxes: Any, boxes_num: Any, output_size: Any) -> tuple:
    need_tensor(x, op_name)
    need_tensor(boxes, op_name, "boxes")
    need_tensor(boxes_num, op_name, "boxes_num")
    return (x, boxes, boxes_num), ints(output_size, 2, op_name, "output_size")


@public("paddle.vision.ops")
def roi_align(
    x: Tensor,
    boxes: Tensor,
    boxes_num: Tensor,
    output_size: Any,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = True,
    name: str | None = None,
) -> Tensor:
    """Means of bilinear samples in each bin of each region of interest (RoI align).

    Args:
        x: floating tensor ``[N, C, H, W]``: features of N images.
        boxes: floating tensor ``[R, 4]``: regions (x1, y1, x2, y2), those of the first image first.
        boxes_num: integer tensor ``[N]``: how many regions each image has.
        output_size: rows and columns of bins, one int or two.
        spatial_scale: what coordinates are multiplied by to be elements of ``x``.
        sampling_ratio: samples of a bin along each dim; 0 or less for as many as the bin has elements, rounded up.
        aligned: whether pixels lie half an element from the corner of the image. Otherwise regions are made at least
            one element large.

    Returns:
        Tensor ``[R, C, rows, columns]`` of x's dtype. Its gradient reaches x, not the boxes.

    Raises:
        ValueError: numbers that do not sum up to R or are negative, coordinates that are not finite, other ranks; with
            ``aligned`` and without a sampling ratio, boxes with x1 > x2 or y1 > y2.

    Example:
        >>> import paddle
        >>> x = paddle.arange(16.0).reshape([1, 1, 4, 4])
        >>> boxes = paddle.to_tensor([[0.0, 0.0, 4.0, 4.0]])
        >>> paddle.vision.ops.roi_align(x, boxes, paddle.to_tensor([1]), 2).tolist()
        [[[[2.5, 4.5], [10.5, 12.5]]]]
    """
    operands, bins = _operands("roi_align", x, boxes, boxes_num, output_size)
    return F.roi_align(*operands, bool(aligned), bins, float(spatial_scale), int(sampling_ratio))


@public("paddle.vision.ops")
def roi_pool(
    x: Tensor,
    boxes: Tensor,
    boxes_num: Tensor,
    output_size: Any,
    spatial_scale: float = 1.0,
    name: str | None = None,
) -> Tensor:
    """Largest element in each bin of each region of interest; 0 in a bin without elements.

    Args:
        x: floating tensor ``[N, C, H, W]``: features of N images.
        boxes: floating tensor ``[R, 4]``: regions (x1, y1, x2, y2), those of the first image first. Scaled coordinates
            are rounded.
        boxes_num: integer tensor ``[N]``: how many regions each image has.
        output_size: rows and columns of bins, one int or two.
        spatial_scale: what coordinates are multiplied by to be elements of ``x``.

    Returns:
        Tensor ``[R, C, rows, columns]`` of x's dtype. Its gradient reaches the chosen elements of x.

    Raises:
        ValueError: numbers that do not sum up to R or are negative, coordinates that are not finite, other ranks.

    Example:
        >>> import paddle
        >>> x = paddle.arange(16.0).reshape([1, 1, 4, 4])
        >>> boxes = paddle.to_tensor([[0.0, 0.0, 3.0, 3.0]])
        >>> paddle.vision.ops.roi_pool(x, boxes, paddle.to_tensor([1]), 2).tolist()
        [[[[5.0, 7.0], [13.0, 15.0]]]]
    """
    operands, bins = _operands("roi_pool", x, boxes, boxes_num, output_size)
    return F.roi_pool(*operands, bins, float(spatial_scale))


@public("paddle.vision.ops")
def psroi_pool(
    x: Tensor,
    boxes: Tensor,
    boxes_num: Tensor,
    output_size: Any,
    spatial_scale: float = 1.0,
    name: str | None = None,
) -> Tensor:
    """Means in each bin of each region of interest, every bin in channels of its own (position-sensitive pooling).

    Args:
        x: floating tensor ``[N, C, H, W]``: features of N images; ``rows * columns`` divides C.
        boxes: floating tensor ``[R, 4]``: regions (x1, y1, x2, y2), those of the first image first. Coordinates are
            rounded, and regions end behind their last element.
        boxes_num: integer tensor ``[N]``: how many regions each image has.
        output_size: rows and columns of bins, one int or two.
        spatial_scale: what coordinates are multiplied by to be elements of ``x``.

    Returns:
        Tensor ``[R, C / (rows * columns), rows, columns]`` of x's dtype. Its gradient reaches x.

    Raises:
        ValueError: channels that ``rows * columns`` does not divide, numbers that do not sum up to R or are negative,
            coordinates that are not finite, other ranks.

    Example:
        >>> import paddle
        >>> x = paddle.arange(16.0).reshape([1, 4, 2, 2])
        >>> boxes = paddle.to_tensor([[0.0, 0.0, 1.0, 1.0]])
        >>> paddle.vision.ops.psroi_pool(x, boxes, paddle.to_tensor([1]), 2).tolist()
        [[[[0.0, 5.0], [10.0, 15.0]]]]
    """
    operands, bins = _operands("psroi_pool", x, boxes, boxes_num, output_size)
    return F.psroi_pool(*operands, bins, float(spatial_scale))


@public("paddle.vision.ops")
class RoIAlign(Layer):
    """RoI align as a layer: see :func:`paddle.vision.ops.roi_align`.

    Args:
        output_size: rows and columns of bins, one int or two.
        spatial_scale: what coordinates are multiplied by to be elements of the features.

    Shape:
        x: ``[N, C, H, W]``; boxes ``[R, 4]`` and their numbers ``[N]`` follow it.
        output: ``[R, C, rows, columns]``.

    Raises:
        ValueError: in a call, what the function refuses.

    Example:
        >>> import paddle
        >>> pool = paddle.vision.ops.RoIAlign(2)
        >>> boxes = paddle.to_tensor([[0.0, 0.0, 4.0, 4.0]])
        >>> pool(paddle.arange(16.0).reshape([1, 1, 4, 4]), boxes, paddle.to_tensor([1])).tolist()
        [[[[2.5, 4.5], [10.5, 12.5]]]]
    """

    def __init__(self, output_size: Any, spatial_scale: float = 1.0) -> None:
        super().__init__()
        self._output_size = output_size
        self._spatial_scale = spatial_scale

    def forward(self, x: Tensor, boxes: Tensor, boxes_num: Tensor, aligned: bool = True) -> Tensor:
        return roi_align(x, boxes, boxes_num, self._output_size, self._spatial_scale, aligned=aligned)


@public("paddle.vision.ops")
class RoIPool(Layer):
    """Largest elements of regions as a layer: see :func:`paddle.vision.ops.roi_pool`.

    Args:
        output_size: rows and columns of bins, one int or two.
        spatial_scale: what coordinates are multiplied by to be elements of the features.

    Shape:
        x: ``[N, C, H, W]``; boxes ``[R, 4]`` and their numbers ``[N]`` follow it.
        output: ``[R, C, rows, columns]``.

    Raises:
        ValueError: in a call, what the function refuses.

    Example:
        >>> import paddle
        >>> pool = paddle.vision.ops.RoIPool(2)
        >>> boxes = paddle.to_tensor([[0.0, 0.0, 3.0, 3.0]])
        >>> pool(paddle.arange(16.0).reshape([1, 1, 4, 4]), boxes, paddle.to_tensor([1])).tolist()
        [[[[5.0, 7.0], [13.0, 15.0]]]]
    """

    def __init__(self, output_size: Any, spatial_scale: float = 1.0) -> None:
        super().__init__()
        self._output_size = output_size
        self._spatial_scale = spatial_scale

    def forward(self, x: Tensor, boxes: Tensor, boxes_num: Tensor) -> Tensor:
        return roi_pool(x, boxes, boxes_num, self._output_size, self._spatial_scale)

    def extra_repr(self) -> str:
        return f"output_size={self._output_size}, spatial_scale={self._spatial_scale}"


@public("paddle.vision.ops")
class PSRoIPool(Layer):
    """Position-sensitive pooling as a layer: see :func:`paddle.vision.ops.psroi_pool`.

    Args:
        output_size: rows and columns of bins, one int or two.
        spatial_scale: what coordinates are multiplied by to be elements of the features.

    Shape:
        x: ``[N, C, H, W]``; boxes ``[R, 4]`` and their numbers ``[N]`` follow it.
        output: ``[R, C / (rows * columns), rows, columns]``.

    Raises:
        ValueError: in a call, what the function refuses.

    Example:
        >>> import paddle
        >>> pool = paddle.vision.ops.PSRoIPool(2)
        >>> boxes = paddle.to_tensor([[0.0, 0.0, 1.0, 1.0]])
        >>> pool(paddle.arange(16.0).reshape([1, 4, 2, 2]), boxes, paddle.to_tensor([1])).tolist()
        [[[[0.0, 5.0], [10.0, 15.0]]]]
    """

    def __init__(self, output_size: Any, spatial_scale: float = 1.0) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale

    def forward(self, x: Tensor, boxes: Tensor, boxes_num: Tensor) -> Tensor:
        return psroi_pool(x, boxes, boxes_num, self.output_size, self.spatial_scale)
