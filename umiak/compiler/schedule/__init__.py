"""From a nest and a class of strides to kernels of loop IR."""

from umiak.compiler.schedule.variants import kernels
