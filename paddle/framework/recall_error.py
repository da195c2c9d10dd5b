"""Errors after which a training job is started again, as supervisors of jobs look for them in its output."""

from __future__ import annotations

import paddle
from umiak.core.tensor import Tensor

AADIFF_ERROR = "PaddleRecall error(101): AAdiff"
LOSS_NAN_ERROR = "PaddleRecall error(102): LossNan"
SHARDING_PAD_NON_ZERO_ERROR = "PaddleRecall error(103): ShardingPadNonZero"
LOSS_INF_ERROR = "PaddleRecall error(104): LossInf"


def check_naninf(tensor: Tensor) -> str | None:
    """Return the error for a tensor with NaN or infinite elements; None where all are finite."""
    if bool(paddle.isfinite(tensor).all()):
        return None
    return LOSS_NAN_ERROR if bool(paddle.isnan(tensor).any()) else LOSS_INF_ERROR
