"""From a nest and a class of strides to kernels of loop IR."""

from umiak.compiler.schedule.unrolled import unrolled_kernel
from umiak.compiler.schedule.variants import kernels

__all__ = ["kernels", "unrolled_kernel"]
