"""Names of ``torch._C`` that kernel libraries ask for."""

from __future__ import annotations

from paddle.device.streams import current_stream

# How C++ libraries name the classes of the standard library: extensions are compiled as compilers do it by default.
_GLIBCXX_USE_CXX11_ABI = True


def _cuda_getCurrentRawStream(device: int) -> int:
    """The address by which the driver knows the current stream of a CUDA device, by its number."""
    return current_stream(f"gpu:{device}").cuda_stream
