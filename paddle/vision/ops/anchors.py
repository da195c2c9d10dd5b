"""Prior boxes (anchors), and boxes relative to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from paddle._public import need_tensor, public
from umiak import ops as F
from umiak.core.array import from_numpy
from umiak.core.context import place_guard
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.util.errors import op_error


def _list(value: Any) -> list[float]:
    return [float(v) for v in value] if isinstance(value, (list, tuple)) else [float(value)]


@public("paddle.vision.ops")
def prior_box(
    input: Tensor,
    image: Tensor,
    min_sizes: Sequence[float] | float,
    max_sizes: Sequence[float] | float | None = None,
    aspect_ratios: Sequence[float] | float = [1.0],
    variance: Sequence[float] | float = [0.1, 0.1, 0.2, 0.2],
    flip: bool = False,
    clip: bool = False,
    steps: Sequence[float] | float = [0.0, 0.0],
    offset: float = 0.5,
    min_max_aspect_ratios_order: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Prior boxes of SSD (Liu et al., 2016) around each element of a feature map, as parts of the image.

    Args:
        input: floating tensor ``[N, C, H, W]``: the feature map, of which sizes and dtype count.
        image: tensor ``[N, C, height, width]``: the image, of which the sizes count.
        min_sizes: sides of boxes in pixels, one or several.
        max_sizes: as many larger sides; each adds a square of the geometric mean with its smaller one. None for none.
        aspect_ratios: width by height of boxes with the area of the smaller square; 1 is always among them.
        variance: four numbers that go with each box.
        flip: whether the inverse of each ratio is one as well.
        clip: whether boxes end at the borders of the image.
        steps: distance of the boxes in pixels, along the width and the height; 0 in either for those of the map.
        offset: where in its element a box is centred, as a part of the step.
        min_max_aspect_ratios_order: whether the two squares come before the other ratios, instead of the larger
            square last.

    Returns:
        Boxes (x1, y1, x2, y2) and their variances: two tensors ``[H, W, priors, 4]`` of input's dtype.

    Raises:
        ValueError: other ranks, sizes that do not come in pairs or are not larger, other numbers of steps or variances.

    Example:
        >>> import paddle
        >>> feature, image = paddle.zeros([1, 1, 1, 2]), paddle.zeros([1, 3, 4, 8])
        >>> boxes, variances = paddle.vision.ops.prior_box(feature, image, 2.0)
        >>> boxes[0].tolist()
        [[[0.125, 0.25, 0.375, 0.75]], [[0.625, 0.25, 0.875, 0.75]]]
    """
    need_tensor(input, "prior_box", "input")
    need_tensor(image, "prior_box", "image")
    if input.ndim != 4 or image.ndim != 4:
        got = f"{list(input.shape)} and {list(image.shape)}"
        raise op_error(ValueError, "prior_box", "input and image of rank 4", got)
    small, variances, spaces = _list(min_sizes), _list(variance), _list(steps)
    large = [] if max_sizes is None else _list(max_sizes)
    if large and (len(large) != len(small) or any(b <= a for a, b in zip(small, large, strict=True))):
        raise op_error(ValueError, "prior_box", "a larger max_size for each of min_sizes", f"{large} for {small}")
    if len(spaces) != 2 or len(variances) != 4:
        raise op_error(ValueError, "prior_box", "two steps and four variances", f"{spaces} and {variances}")
    (rows, columns), (height, width) = input.shape[2:], image.shape[2:]
    if 0.0 in spaces:
        spaces = [width / columns, height / rows]
    half = np.array(_shapes(small, large, _ratios(_list(aspect_ratios), flip), min_max_aspect_ratios_order))
    if any(type(n) is Sym for n in (rows, columns, height, width)):
        with place_guard(input.place):
            return _of_open_sizes(input, (columns, rows), (width, height), spaces, offset, half, clip, variances)
    x, y = ((np.arange(n) + offset) * step for n, step in ((columns, spaces[0]), (rows, spaces[1])))
    boxes = np.empty((rows, columns, len(half), 4))
    for axis, centre, size in ((0, x[None, :, None], width), (1, y[:, None, None], height)):
        boxes[..., axis] = (centre - half[:, axis]) / size
        boxes[..., axis + 2] = (centre + half[:, axis]) / size
    if clip:
        boxes = boxes.clip(0, 1)
    dtype = input.dtype.numpy
    spread = np.broadcast_to(np.array(variances), boxes.shape)
    return from_numpy(boxes.astype(dtype), input.place), from_numpy(spread.astype(dtype), input.place)


def _of_open_sizes(
    like: Tensor, counts: Any, sizes: Any, steps: Any, offset: float, half: np.ndarray, clip: bool, variances: list
) -> tuple[Tensor, Tensor]:
    """The boxes as tensors, of sizes that are known when the program runs."""
    d = like.dtype.compute
    shape = (counts[1], counts[0], len(half))
    centres = [F.mul(F.add(F.iota(0, 1, d, n), offset), step) for n, step in zip(counts, steps, strict=True)]
    sides = [from_numpy(half[:, axis].astype(d.numpy), like.place) for axis in (0, 1)]
    parts = [
        F.broadcast_to(F.div(sign(F.unsqueeze(centres[axis], axes=axes), sides[axis]), sizes[axis]), shape=shape)
        for sign in (F.sub, F.add)
        for axis, axes in ((0, (0, 2)), (1, (1, 2)))
    ]
    boxes = F.stack(parts, axis=3)
    boxes = F.clip(boxes, 0, 1) if clip else boxes
    spread = F.broadcast_to(from_numpy(np.array(variances, d.numpy), like.place), shape=(*shape, 4))
    return F.cast(boxes, dtype=like.dtype), F.cast(spread, dtype=like.dtype)


def _ratios(aspect_ratios: list[float], flip: bool) -> list[float]:
    ratios = [1.0]
    for ratio in aspect_ratios:
        if all(abs(ratio - other) >= 1e-6 for other in ratios):
            ratios += [ratio, 1 / ratio] if flip else [ratio]
    return ratios


def _shapes(small: list[float], large: list[float], ratios: list[float], squares_first: bool) -> list[tuple]:
    """Half of the width and the height of each box."""
    shapes: list[tuple] = []
    for i, size in enumerate(small):
        of_ratios = [(size * math.sqrt(r) / 2, size / math.sqrt(r) / 2) for r in ratios]
        mean = [(math.sqrt(size * large[i]) / 2,) * 2] if large else []
        shapes += [of_ratios[0], *mean, *of_ratios[1:]] if squares_first else [*of_ratios, *mean]
    return shapes


def corners(boxes: Tensor) -> list[Tensor]:
    """The four numbers of boxes ``[..., 4]``."""
    return list(F.unbind(boxes, boxes.ndim - 1, 4))


def _centres(boxes: Tensor, offset: float) -> tuple[Tensor, ...]:
    """Centres and sides of boxes: x, y, w, h."""
    x1, y1, x2, y2 = corners(boxes)
    w, h = F.add(F.sub(x2, x1), offset), F.add(F.sub(y2, y1), offset)
    return F.add(x1, F.mul(w, 0.5)), F.add(y1, F.mul(h, 0.5)), w, h


@public("paddle.vision.ops")
def box_coder(
    prior_box: Tensor,
    prior_box_var: Tensor | Sequence[float] | None,
    target_box: Tensor,
    code_type: str = "encode_center_size",
    box_normalized: bool = True,
    axis: int = 0,
    name: str | None = None,
) -> Tensor:
    """Boxes as differences of centres and logarithms of sizes relative to prior boxes, and back.

    Args:
        prior_box: floating tensor ``[M, 4]``: (x1, y1, x2, y2).
        prior_box_var: tensor ``[M, 4]`` or four numbers, by which codes are divided; None for ones.
        target_box: to encode, boxes ``[N, 4]``; to decode, codes ``[N, M, 4]``, or ``[M, N, 4]`` with ``axis=1``.
        code_type: ``"encode_center_size"`` or ``"decode_center_size"``.
        box_normalized: whether coordinates are parts of the image; otherwise sides are 1 longer than they say.
        axis: to decode, the dim of ``target_box`` that the prior boxes are repeated along.

    Returns:
        Tensor of target_box's dtype: codes ``[N, M, 4]`` of each box relative to each prior box, or decoded boxes of
        target_box's shape.

    Raises:
        TypeError: variances that are neither a tensor nor a list.
        ValueError: another code type or axis, or shapes that do not belong together.

    Example:
        >>> import paddle
        >>> prior, box = paddle.to_tensor([[0.0, 0.0, 2.0, 2.0]]), paddle.to_tensor([[1.0, 1.0, 3.0, 3.0]])
        >>> paddle.vision.ops.box_coder(prior, [0.5, 0.5, 1.0, 1.0], box).tolist()
        [[[1.0, 1.0, 0.0, 0.0]]]
    """
    need_tensor(prior_box, "box_coder", "prior_box")
    need_tensor(target_box, "box_coder", "target_box")
    encode = code_type == "encode_center_size"
    if not encode and code_type != "decode_center_size":
        required = "code_type 'encode_center_size' or 'decode_center_size'"
        raise op_error(ValueError, "box_coder", required, repr(code_type))
    if axis not in (0, 1):
        raise op_error(ValueError, "box_coder", "axis 0 or 1", axis)
    shapes = f"{list(prior_box.shape)} and {list(target_box.shape)}"
    fits = prior_box.ndim == 2 and prior_box.shape[1] == 4 and target_box.ndim == (2 if encode else 3)
    if not fits or target_box.shape[-1] != 4 or not (encode or target_box.shape[1 - axis] == prior_box.shape[0]):
        required = "prior boxes [M, 4] and boxes [N, 4]" if encode else "prior boxes [M, 4] and codes with M of a dim"
        raise op_error(ValueError, "box_coder", required, shapes)
    along = 0 if encode or axis == 0 else 1
    variances: Sequence[Any] = (1.0, 1.0, 1.0, 1.0)
    if isinstance(prior_box_var, Tensor):
        if list(prior_box_var.shape) not in ([4], list(prior_box.shape)):
            raise op_error(ValueError, "box_coder", "variances of prior_box's shape", list(prior_box_var.shape))
        own = prior_box_var.ndim == 2
        variances = [F.unsqueeze(v, axes=(along,)) if own else v for v in corners(prior_box_var)]
    elif isinstance(prior_box_var, (list, tuple)):
        if len(prior_box_var) != 4:
            raise op_error(ValueError, "box_coder", "four variances", list(prior_box_var))
        variances = [float(v) for v in prior_box_var]
    elif prior_box_var is not None:
        raise op_error(TypeError, "box_coder", "variances as a tensor or a list", type(prior_box_var).__name__)
    offset = 0.0 if box_normalized else 1.0
    px, py, pw, ph = (F.unsqueeze(v, axes=(along,)) for v in _centres(prior_box, offset))
    if encode:
        x1, y1, x2, y2 = corners(target_box)
        tx, ty, tw, th = (
            F.unsqueeze(v, axes=(1,))
            for v in (F.mul(F.add(x1, x2), 0.5), F.mul(F.add(y1, y2), 0.5), *_centres(target_box, offset)[2:])
        )
        codes = (
            F.div(F.sub(tx, px), pw),
            F.div(F.sub(ty, py), ph),
            F.log(F.abs(F.div(tw, pw))),
            F.log(F.abs(F.div(th, ph))),
        )
        return F.stack([F.div(c, v) for c, v in zip(codes, variances, strict=True)], axis=2)
    dx, dy, dw, dh = (F.mul(c, v) for c, v in zip(corners(target_box), variances, strict=True))
    x, y = F.add(F.mul(dx, pw), px), F.add(F.mul(dy, ph), py)
    w, h = F.mul(F.mul(F.exp(dw), pw), 0.5), F.mul(F.mul(F.exp(dh), ph), 0.5)
    return F.stack([F.sub(x, w), F.sub(y, h), F.sub(F.add(x, w), offset), F.sub(F.add(y, h), offset)], axis=2)
