"""Umiak on devices of OpenCL: the device type ``opencl``.

Example:
    >>> import paddle
    >>> paddle.set_device("opencl:0")  # doctest: +SKIP
"""

from umiak_opencl.backend import backend
from umiak_opencl.host import fallbacks, reset_fallbacks

__all__ = ["backend", "fallbacks", "reset_fallbacks"]
