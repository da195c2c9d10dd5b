"""Made by ``tools/public_stubs.py``."""

from paddle.metric.metrics import Accuracy as Accuracy
from paddle.metric.metrics import Auc as Auc
from paddle.metric.metrics import Metric as Metric
from paddle.metric.metrics import Precision as Precision
from paddle.metric.metrics import Recall as Recall
from paddle.metric.metrics import accuracy as accuracy

__all__ = [
    "Accuracy",
    "Auc",
    "Metric",
    "Precision",
    "Recall",
    "accuracy",
]
