"""Measures of how good predictions are, counted over batches."""

from paddle.metric.metrics import (
    Accuracy,
    Auc,
    Metric,
    Precision,
    Recall,
    accuracy,
)

__all__ = ["Accuracy", "Auc", "Metric", "Precision", "Recall", "accuracy"]
