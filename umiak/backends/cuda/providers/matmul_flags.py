"""Switches of matmuls on CUDA devices that trade precision for speed; a library obeys them, kernels of the loop IR are
as precise as ever."""

from __future__ import annotations

from umiak.util import flags

TENSOR_OP_MATH = flags.define(
    "enable_cublas_tensor_op_math", False, "operands of matmuls in float32 may be rounded to TF32 on CUDA devices"
)
HALF_SUMS = flags.define(
    "gemm_use_half_precision_compute_type", False, "matmuls in float16 are added up in float16 on CUDA devices"
)
