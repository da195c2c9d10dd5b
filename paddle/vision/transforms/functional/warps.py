"""Rotations, affine and projective maps of images."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.vision.transforms import _kinds
from paddle.vision.transforms.functional.geometry import EXPORTED
from umiak.util.errors import op_error


@public(EXPORTED, usual=False)
def rotate(
    img: Any, angle: float, interpolation: Any = "nearest", expand: bool = False, center: Any = None, fill: Any = 0
) -> Any:
    """Image rotated around a point.

    Args:
        img: PIL image, array ``[height, width]`` or ``[height, width, channels]``, or tensor ``[channels, height,
            width]`` or ``[n, channels, height, width]``.
        angle: in degrees, counter-clockwise.
        interpolation: ``"nearest"``, ``"bilinear"`` or, but for tensors, ``"bicubic"``; arrays take ``"lanczos"`` as
            well, and ``"area"``, which is ``"bilinear"`` here.
        expand: whether the result is large enough for the whole rotated image; for rotations around the middle.
        center: the point ``(x, y)`` in pixels from the upper left corner; None means the middle.
        fill: value of what lies outside, or one for each channel. A single number is the first channel's of arrays.

    Returns:
        Image of the same kind and dtype.

    Raises:
        TypeError: img is no image.
        ValueError: the interpolation is unknown for this kind of image, or fill has another number of channels.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import rotate
        >>> from PIL import Image
        >>> np.asarray(rotate(Image.fromarray(np.array([[1, 2], [3, 4]], "uint8")), 90)).tolist()
        [[2, 4], [1, 3]]
    """
    return _kinds.functions_of(img, "rotate").rotate(img, angle, interpolation, expand, center, fill)


@public(EXPORTED, usual=False)
def affine(
    img: Any,
    angle: float,
    translate: Any,
    scale: float,
    shear: Any,
    interpolation: Any = "nearest",
    fill: Any = 0,
    center: Any = None,
) -> Any:
    """Image rotated, sheared and scaled around a point, and moved.

    Args:
        img: PIL image, array ``[height, width]`` or ``[height, width, channels]``, or tensor ``[channels, height,
            width]`` or ``[n, channels, height, width]``.
        angle: in degrees, clockwise.
        translate: ``(x, y)`` in pixels.
        scale: factor, above 0.
        shear: an angle in degrees, or ``(x, y)``.
        interpolation: ``"nearest"``, ``"bilinear"`` or, but for tensors, ``"bicubic"``; arrays take ``"lanczos"`` as
            well, and ``"area"``, which is ``"bilinear"`` here.
        fill: value of what lies outside, or one for each channel.
        center: the point ``(x, y)`` in pixels from the upper left corner; None means the middle.

    Returns:
        Image of the same kind, size and dtype.

    Raises:
        TypeError: img is no image, or an argument is of another type.
        ValueError: the scale is not above 0, translate or shear have not two numbers, or the interpolation is unknown
            for this kind of image.

    Note:
        Arrays are turned and sheared around their upper left corner, counter-clockwise, whatever the centre is.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import affine
        >>> from PIL import Image
        >>> moved = affine(Image.fromarray(np.array([[1, 2], [3, 4]], "uint8")), 0, (1, 0), 1.0, (0, 0))
        >>> np.asarray(moved).tolist()
        [[0, 1], [0, 3]]
    """
    op = "affine"
    if isinstance(angle, bool) or not isinstance(angle, (int, float)):
        raise op_error(TypeError, op, "a number of degrees for angle", type(angle).__name__)
    if not isinstance(translate, (list, tuple)):
        raise op_error(TypeError, op, "a list or tuple for translate", type(translate).__name__)
    if len(translate) != 2:
        raise op_error(ValueError, op, "two numbers for translate", repr(translate))
    if scale <= 0.0:
        raise op_error(ValueError, op, "a scale above 0", scale)
    if isinstance(shear, (int, float)):
        angles: tuple = (shear, 0.0)
    elif isinstance(shear, (list, tuple)):
        angles = (shear[0], 0.0) if len(shear) == 1 else tuple(shear)
    else:
        raise op_error(TypeError, op, "a number, list or tuple for shear", type(shear).__name__)
    if len(angles) != 2:
        raise op_error(ValueError, op, "two numbers for shear", repr(shear))
    if center is not None and not isinstance(center, (list, tuple)):
        raise op_error(TypeError, op, "a list or tuple for center", type(center).__name__)
    functions = _kinds.functions_of(img, op)
    return functions.affine(img, angle, tuple(translate), scale, angles, interpolation, fill, center)


@public(EXPORTED, usual=False)
def perspective(img: Any, startpoints: Any, endpoints: Any, interpolation: Any = "nearest", fill: Any = 0) -> Any:
    """Image under the projective map that takes four points to four others.

    Args:
        img: PIL image, array ``[height, width]`` or ``[height, width, channels]``, or tensor ``[channels, height,
            width]`` or ``[n, channels, height, width]``.
        startpoints: four points ``(x, y)`` of the image: top left, top right, bottom right, bottom left.
        endpoints: where they lie in the result.
        interpolation: ``"nearest"``, ``"bilinear"`` or, but for tensors, ``"bicubic"``; arrays take ``"lanczos"`` as
            well, and ``"area"``, which is ``"bilinear"`` here.
        fill: value of what lies outside, or one for each channel. A single number is the first channel's of arrays.

    Returns:
        Image of the same kind, size and dtype.

    Raises:
        TypeError: img is no image.
        ValueError: there are not four points, or the interpolation is unknown for this kind of image.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import perspective
        >>> corners = [[0, 0], [3, 0], [3, 3], [0, 3]]
        >>> int(perspective(np.eye(4, dtype="uint8"), corners, corners).sum())
        4
    """
    op = "perspective"
    for arg_name, points in (("startpoints", startpoints), ("endpoints", endpoints)):
        if len(points) != 4 or any(len(p) != 2 for p in points):
            raise op_error(ValueError, op, f"four points (x, y) for {arg_name}", repr(points))
    return _kinds.functions_of(img, op).perspective(img, startpoints, endpoints, interpolation, fill)
