"""Discrete Fourier transforms of one, two and any number of axes.

A transform with ``n`` points (or sizes ``s``) crops its operand to them, or pads it with zeros at the end. ``norm`` is
the direction that divides by the number of points: ``"backward"`` the inverse one, ``"forward"`` the direct one,
``"ortho"`` both by its square root.
"""

from paddle import _lazy
from paddle.fft import any_axes, frequencies, one_axis, two_axes

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
