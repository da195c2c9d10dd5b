"""Matrices of affine and projective maps of the plane, and the sizes of what they map."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

Points = Sequence[Sequence[float]]


def inverse_affine(
    center: Sequence[float], angle: float, translate: Sequence[float], scale: float, shear: Sequence[float]
) -> list[float]:
    """The two rows, from pixels of the result to those of the image, of
    ``T(translate) C R(angle) Shear(shear) Scale(scale) C^-1``, where C moves the origin to the centre.

    Angles are in degrees. With ``R Shear = [[a, b], [c, d]]``, whose determinant is 1, the inverse is
    ``[[d, -b], [-c, a]] / scale``.
    """
    rotation, sx, sy = (math.radians(v) for v in (angle, *shear))
    a = math.cos(rotation - sy) / math.cos(sy)
    b = -math.cos(rotation - sy) * math.tan(sx) / math.cos(sy) - math.sin(rotation)
    c = math.sin(rotation - sy) / math.cos(sy)
    d = -math.sin(rotation - sy) * math.tan(sx) / math.cos(sy) + math.cos(rotation)
    m = [v / scale for v in (d, -b, 0.0, -c, a, 0.0)]
    x, y = -center[0] - translate[0], -center[1] - translate[1]
    m[2] += m[0] * x + m[1] * y + center[0]
    m[5] += m[3] * x + m[4] * y + center[1]
    return m


def perspective_coefficients(startpoints: Points, endpoints: Points) -> list[float]:
    """The eight numbers ``a … h`` of the map from the end points to the start points:
    ``x = (a X + b Y + c) / (g X + h Y + 1)``, ``y = (d X + e Y + f) / (g X + h Y + 1)``.
    """
    rows = []
    for (x, y), (u, v) in zip(startpoints, endpoints):
        rows.append([u, v, 1, 0, 0, 0, -x * u, -x * v])
        rows.append([0, 0, 0, u, v, 1, -y * u, -y * v])
    right = np.array(startpoints, dtype=np.float64).reshape(8)
    return np.linalg.lstsq(np.array(rows, dtype=np.float64), right, rcond=None)[0].tolist()
