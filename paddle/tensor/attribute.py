"""Sizes as an object, and constants."""

from __future__ import annotations

import math

from paddle._public import constants, public

# Of the module that has this name in the reference framework.
from paddle.tensor.complex_numbers import imag, real  # noqa: F401
from paddle.tensor.logic import is_complex, is_floating_point, is_integer  # noqa: F401
from paddle.tensor.shapes import shape  # noqa: F401
from paddle.tensor.stat import rank  # noqa: F401
from umiak.util.size import Size

constants("paddle", __name__, {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None})

public("paddle")(Size)
