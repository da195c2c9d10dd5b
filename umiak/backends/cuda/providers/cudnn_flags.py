"""Switches of convolutions on CUDA devices. That of determinism is ``FLAGS_cpu_deterministic``, as for processors."""

from __future__ import annotations

from umiak.util import flags
from umiak.util.errors import op_error

NAMES = ("auto", "cudnn", "im2col")


def _check(name: str) -> None:
    if name not in NAMES:
        raise op_error(ValueError, "FLAGS_cuda_conv", f"one of {', '.join(NAMES)}", repr(name))


def _check_size(size: int) -> None:
    if size < 0:
        raise op_error(ValueError, "FLAGS_conv_workspace_size_limit", "megabytes, 0 or above", size)


PROVIDER = flags.define(
    "cuda_conv", "auto", f"what convolves on CUDA devices: {', '.join(NAMES)}; auto takes a library that is there",
    on_change=_check,
)  # fmt: skip
EXHAUSTIVE = flags.define(
    "cudnn_exhaustive_search", False, "each class of convolutions runs once by every plan of cuDNN, to find the fastest"
)
WORKSPACE = flags.define(
    "conv_workspace_size_limit", 512, "megabytes that a convolution by cuDNN may use beside its tensors",
    on_change=_check_size,
)  # fmt: skip
