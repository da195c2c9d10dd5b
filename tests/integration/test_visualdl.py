"""VisualDL beside this ``paddle``: the callback's log, read by VisualDL's reader, and what its writer takes."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest

import paddle
from tests.support.model_facts import Samples, accuracy, prepared

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its requirements
    visualdl = pytest.importorskip("visualdl", reason="umiak[visualdl] is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def scalars(folder):
    """Steps and values by tag."""
    out: dict = {}
    for name in sorted(os.listdir(folder)):
        reader = visualdl.LogReader(file_path=str(folder / name))
        for tag in reader.get_tags().get("scalar", []):
            out.setdefault(tag, []).extend((x.id, x.value) for x in reader.get_data("scalar", tag))
    return out


class Seen(paddle.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.train, self.eval = [], []

    def on_train_batch_end(self, step, logs=None):
        self.train.append((logs["loss"][0], logs["acc"]))

    def on_eval_end(self, logs=None):
        self.eval.append((logs["loss"][0], logs["acc"]))


def test_log_of_training(tmp_path):
    """Batches are counted over epochs from 1, evaluations by their epoch from 0."""
    seen, model = Seen(), prepared(accuracy())
    log = paddle.callbacks.VisualDL(str(tmp_path))
    model.fit(Samples(12), Samples(6), batch_size=4, epochs=2, verbose=0, callbacks=[seen, log])
    found = scalars(tmp_path)
    assert sorted(found) == ["eval/acc", "eval/loss", "train/acc", "train/loss"]
    for mode, first, values in (("train", 1, seen.train), ("eval", 0, seen.eval)):
        for i, name in enumerate(("loss", "acc")):
            steps, logged = zip(*found[f"{mode}/{name}"])
            assert steps == tuple(range(first, first + len(values)))
            np.testing.assert_allclose(logged, [v[i] for v in values], 1e-6)
    assert len(seen.train) == 6 and len(seen.eval) == 2


def test_log_of_several_numbers(tmp_path):
    model = prepared(accuracy(topk=(1, 2)))
    model.evaluate(Samples(6), batch_size=4, verbose=0, callbacks=paddle.callbacks.VisualDL(str(tmp_path)))
    assert sorted(scalars(tmp_path)) == ["eval/acc_top1", "eval/acc_top2", "eval/loss"]


def test_log_ends_with_an_exception(tmp_path):
    """What was written before it can be read."""

    class Fails(paddle.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            raise KeyboardInterrupt

    log = paddle.callbacks.VisualDL(str(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        prepared().fit(Samples(8), batch_size=4, verbose=0, callbacks=[log, Fails()])
    log.on_train_end()
    assert [step for step, _ in scalars(tmp_path)["train/loss"]] == [1, 2]


def test_writer_takes_tensors(tmp_path):
    """Histograms, images and scalars of our tensors' arrays."""
    with visualdl.LogWriter(str(tmp_path)) as writer:
        x = paddle.linspace(0, 1, 12).reshape([2, 2, 3])
        writer.add_scalar("a", float(x.sum()), 0)
        writer.add_histogram("h", x.numpy().reshape(-1), 0)
        writer.add_image("i", (x * 255).astype("uint8").numpy(), 0)
    reader = visualdl.LogReader(file_path=str(tmp_path / os.listdir(tmp_path)[0]))
    assert {"scalar", "histogram", "image"} <= set(reader.get_tags())
