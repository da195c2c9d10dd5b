"""Metrics against plain counts and values of the reference framework."""

import numpy as np
import pytest

import paddle
from paddle.metric import Accuracy, Auc, Metric, Precision, Recall, accuracy

PRED = np.array([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], np.float32)


@pytest.mark.parametrize("label", [[[1], [1], [2]], [1, 1, 2], [[0, 1, 0], [0, 1, 0], [0, 0, 1]]])
def test_accuracy_of_labels_in_every_form(label):
    metric = Accuracy(topk=(1, 2))
    right = metric.compute(paddle.to_tensor(PRED), paddle.to_tensor(label))
    assert right.dtype is paddle.float32 and right.tolist() == [[1, 0], [0, 1], [1, 0]]
    assert metric.update(right) == pytest.approx([2 / 3, 1])
    assert metric.accumulate() == pytest.approx([2 / 3, 1])
    assert metric.name() == ["acc_top1", "acc_top2"]


def test_accuracy_over_batches():
    metric = Accuracy(name="own")
    assert metric.accumulate() == 0 and metric.name() == ["own"] and Accuracy().name() == ["acc"]
    assert metric.update(np.array([[1.0], [0.0]])) == 0.5
    assert metric.update(paddle.to_tensor([[1.0]])) == 1
    assert metric.accumulate() == pytest.approx(2 / 3)
    metric.reset()
    assert metric.total == [0.0] and metric.count == [0]
    deep = Accuracy(topk=(1, 9)).compute(paddle.randn([2, 3, 5]), paddle.randint(0, 5, [2, 3, 1]))
    assert deep.shape == [2, 3, 5]


def test_accuracy_of_a_trained_batch(rng):
    scores, label = rng.standard_normal((50, 7)), rng.integers(0, 7, (50, 1))
    for k in (1, 3):
        best = np.argsort(-scores, 1)[:, :k]
        want = (best == label).any(1).mean()
        assert float(accuracy(paddle.to_tensor(scores), paddle.to_tensor(label), k)) == pytest.approx(want)
        metric = Accuracy((k,))
        metric.update(metric.compute(paddle.to_tensor(scores), paddle.to_tensor(label)))
        assert metric.accumulate() == pytest.approx(want)


def test_accuracy_function_counts_into_tensors():
    counts = [paddle.to_tensor([0], dtype="int32") for _ in range(2)]
    found = accuracy(paddle.to_tensor(PRED), paddle.to_tensor([[1], [1], [2]]), 1, *counts)
    assert found.shape == [] and found.dtype is paddle.float32
    assert [int(c) for c in counts] == [2, 3]
    with pytest.raises(ValueError, match="label"):
        accuracy(paddle.to_tensor(PRED), paddle.to_tensor([1, 1, 2]))
    with pytest.raises(ValueError, match=r"\[accuracy\] requires k from 0 to 3"):
        accuracy(paddle.to_tensor(PRED), paddle.to_tensor([[1], [1], [2]]), 4)


def test_precision_and_recall():
    precision, recall = Precision(), Recall()
    assert precision.accumulate() == recall.accumulate() == 0
    for preds, labels in (([0.1, 0.5, 0.6, 0.7], [0, 1, 1, 1]), ([0.1, 0.5, 0.6, 0.7], [0, 1, 0, 1])):
        precision.update(np.array(preds), np.array(labels))
    assert (precision.tp, precision.fp) == (5, 1) and precision.accumulate() == pytest.approx(5 / 6)
    recall.update(paddle.to_tensor([[0.1], [0.5], [0.6], [0.7]]), paddle.to_tensor([[1], [1], [1], [0]]))
    assert (recall.tp, recall.fn) == (1, 2)
    assert (precision.name(), recall.name()) == ("precision", "recall")
    precision.reset()
    assert precision.accumulate() == 0
    with pytest.raises(ValueError, match="preds"):
        precision.update([0.1], np.array([1]))
    with pytest.raises(ValueError, match="as many"):
        recall.update(np.array([0.1]), np.array([1, 0]))


def test_one_half():
    """The reference counts exactly one half as a decision in the precision, not in the recall."""
    precision, recall = Precision(), Recall()
    for metric in (precision, recall):
        metric.update(np.array([0.5, 0.49]), np.array([1, 1]))
    assert (precision.tp, precision.fp) == (1, 0)
    assert (recall.tp, recall.fn) == (0, 2)


@pytest.mark.parametrize("thresholds", [4095, 20])
def test_auc(rng, thresholds):
    p = rng.random(60)
    y = (rng.random(60) < p).astype(np.int64)
    metric = Auc(num_thresholds=thresholds)
    assert metric.accumulate() == 0
    metric.update(np.stack([1 - p, p], 1)[:20], y[:20])
    metric.update(paddle.to_tensor(np.stack([1 - p, p], 1)[20:]), paddle.to_tensor(y[20:, None]))
    # The probability that a row of class 1 stands above one of class 0, ties counting half.
    bins = (p * thresholds).astype(int)
    above = bins[y == 1][:, None] - bins[y == 0][None]
    assert metric.accumulate() == pytest.approx(((above > 0) + 0.5 * (above == 0)).mean())
    metric.reset()
    assert metric.accumulate() == 0 and metric.name() == "auc" and Auc.trapezoid_area(1, 3, 2, 5) == 7
    with pytest.raises(ValueError, match="between 0 and 1"):
        metric.update(np.array([[0.5, 1.5]]), np.array([1]))
    with pytest.raises(ValueError, match=r"\[N, 2\]"):
        metric.update(np.array([0.5]), np.array([1]))


def test_base_is_abstract():
    with pytest.raises(TypeError):
        Metric()
    assert Metric.compute(None, 1, 2) == (1, 2)


def test_measures_are_numbers_of_numpy():
    metric = Accuracy()
    assert type(metric.accumulate()) is float
    right = metric.compute(paddle.to_tensor([[0.1, 0.9], [0.8, 0.2]]), paddle.to_tensor([[1], [1]]))
    assert type(metric.update(right)) is np.float64 and type(metric.accumulate()) is np.float64
    area = Auc()
    area.update(np.array([[0.1, 0.9], [0.8, 0.2]]), np.array([[1], [0]]))
    assert type(area.accumulate()) is np.float64
