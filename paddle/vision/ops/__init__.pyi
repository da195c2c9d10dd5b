"""Made by ``tools/public_stubs.py``."""

import builtins
from collections.abc import Sequence
from typing import Any, overload

from paddle.vision._conv_norm_activation import ConvNormActivation as ConvNormActivation
from paddle.vision.ops.anchors import prior_box as prior_box
from paddle.vision.ops.deformable import DeformConv2D as DeformConv2D
from paddle.vision.ops.files import read_file as read_file
from paddle.vision.ops.proposals import distribute_fpn_proposals as distribute_fpn_proposals
from paddle.vision.ops.proposals import generate_proposals as generate_proposals
from paddle.vision.ops.regions import PSRoIPool as PSRoIPool
from paddle.vision.ops.regions import RoIAlign as RoIAlign
from paddle.vision.ops.regions import RoIPool as RoIPool
from paddle.vision.ops.suppression import matrix_nms as matrix_nms
from paddle.vision.ops.suppression import nms as nms
from umiak.core.tensor import Tensor

@overload
def box_coder(
    prior_box: Tensor,
    prior_box_var: Tensor | Sequence[builtins.float] | None,
    target_box: Tensor,
    code_type: builtins.str = ...,
    box_normalized: builtins.bool = ...,
    axis: builtins.int = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def box_coder(
    prior_box: Tensor,
    prior_box_var: Tensor | Sequence[builtins.float] | None,
    target_box: Tensor,
    code_type: builtins.str = ...,
    box_normalized: builtins.bool = ...,
    *,
    dim: builtins.int,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def decode_jpeg(x: Tensor, mode: builtins.str = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def decode_jpeg(*, input: Tensor, mode: builtins.str = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def deform_conv2d(
    x: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: Any = ...,
    padding: Any = ...,
    dilation: Any = ...,
    deformable_groups: builtins.int = ...,
    groups: builtins.int = ...,
    mask: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def deform_conv2d(
    *,
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: Any = ...,
    padding: Any = ...,
    dilation: Any = ...,
    deformable_groups: builtins.int = ...,
    groups: builtins.int = ...,
    mask: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def psroi_pool(
    x: Tensor,
    boxes: Tensor,
    boxes_num: Tensor,
    output_size: Any,
    spatial_scale: builtins.float = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def psroi_pool(
    *,
    input: Tensor,
    boxes: Tensor,
    boxes_num: Tensor,
    output_size: Any,
    spatial_scale: builtins.float = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def roi_align(
    x: Tensor,
    boxes: Tensor,
    boxes_num: Tensor,
    output_size: Any,
    spatial_scale: builtins.float = ...,
    sampling_ratio: builtins.int = ...,
    aligned: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def roi_align(
    *,
    input: Tensor,
    boxes: Tensor,
    boxes_num: Tensor,
    output_size: Any,
    spatial_scale: builtins.float = ...,
    sampling_ratio: builtins.int = ...,
    aligned: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def roi_pool(
    x: Tensor,
    boxes: Tensor,
    boxes_num: Tensor,
    output_size: Any,
    spatial_scale: builtins.float = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def roi_pool(
    *,
    input: Tensor,
    boxes: Tensor,
    boxes_num: Tensor,
    output_size: Any,
    spatial_scale: builtins.float = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def yolo_box(
    x: Tensor,
    img_size: Tensor,
    anchors: Sequence[builtins.int],
    class_num: builtins.int,
    conf_thresh: builtins.float,
    downsample_ratio: builtins.int,
    clip_bbox: builtins.bool = ...,
    name: builtins.str | None = ...,
    scale_x_y: builtins.float = ...,
    iou_aware: builtins.bool = ...,
    iou_aware_factor: builtins.float = ...,
) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def yolo_box(
    *,
    input: Tensor,
    img_size: Tensor,
    anchors: Sequence[builtins.int],
    class_num: builtins.int,
    conf_thresh: builtins.float,
    downsample_ratio: builtins.int,
    clip_bbox: builtins.bool = ...,
    name: builtins.str | None = ...,
    scale_x_y: builtins.float = ...,
    iou_aware: builtins.bool = ...,
    iou_aware_factor: builtins.float = ...,
) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def yolo_loss(
    x: Tensor,
    gt_box: Tensor,
    gt_label: Tensor,
    anchors: Sequence[builtins.int],
    anchor_mask: Sequence[builtins.int],
    class_num: builtins.int,
    ignore_thresh: builtins.float,
    downsample_ratio: builtins.int,
    gt_score: Tensor | None = ...,
    use_label_smooth: builtins.bool = ...,
    name: builtins.str | None = ...,
    scale_x_y: builtins.float = ...,
) -> Tensor: ...
@overload
def yolo_loss(
    *,
    input: Tensor,
    gt_box: Tensor,
    gt_label: Tensor,
    anchors: Sequence[builtins.int],
    anchor_mask: Sequence[builtins.int],
    class_num: builtins.int,
    ignore_thresh: builtins.float,
    downsample_ratio: builtins.int,
    gt_score: Tensor | None = ...,
    use_label_smooth: builtins.bool = ...,
    name: builtins.str | None = ...,
    scale_x_y: builtins.float = ...,
) -> Tensor: ...

__all__ = [
    "ConvNormActivation",
    "DeformConv2D",
    "PSRoIPool",
    "RoIAlign",
    "RoIPool",
    "box_coder",
    "decode_jpeg",
    "deform_conv2d",
    "distribute_fpn_proposals",
    "generate_proposals",
    "matrix_nms",
    "nms",
    "prior_box",
    "psroi_pool",
    "read_file",
    "roi_align",
    "roi_pool",
    "yolo_box",
    "yolo_loss",
]
