"""``paddle.Model``: bad input, interruptions, and its meeting with captured networks, mixed precision and files."""

from __future__ import annotations

import os
import sys
import types

import numpy as np
import pytest

import paddle
from paddle import nn
from tests.support.model_facts import Samples, accuracy, array, batch, fill, prepared, printed, stream, weights

QUIET = {"verbose": 0, "shuffle": False}


def plain_loop(net, data, epochs=1, size=4, schedule=None):
    """The loop that ``fit`` stands for; it returns the losses."""
    rate = schedule or 0.1
    optimizer = paddle.optimizer.Momentum(rate, parameters=net.parameters())
    out = []
    net.train()
    for _ in range(epochs):
        for i in range(0, len(data), size):
            rows = [data[j] for j in range(i, min(i + size, len(data)))]
            x, y = (paddle.to_tensor(np.stack(field)) for field in zip(*rows))
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            out.append(float(loss))
            if schedule is not None:
                schedule.step()
    return out


class Losses(paddle.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_batch_end(self, step, logs=None):
        self.seen.append(logs["loss"][0])


def network():
    return fill(nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1D(5), nn.ReLU(), nn.Linear(5, 3)))


def model_of(net, rate=0.1, **kwargs):
    model = paddle.Model(net)
    model.prepare(paddle.optimizer.Momentum(rate, parameters=net.parameters()), nn.CrossEntropyLoss(), **kwargs)
    return model


def fitted(model, **kwargs):
    losses = Losses()
    model.fit(Samples(), batch_size=4, callbacks=losses, **{**QUIET, **kwargs})
    return losses.seen


# --- fit and the loop that it stands for ----------------------------------------------------------------------------


def test_fit_is_the_plain_loop():
    """Batch norm, momentum and a schedule included; the last batch has two samples."""
    net = network()
    expected = plain_loop(net, Samples(), 3, schedule=paddle.optimizer.lr.StepDecay(0.5, 2, 0.5))
    model = model_of(network(), paddle.optimizer.lr.StepDecay(0.5, 2, 0.5))
    np.testing.assert_allclose(fitted(model, epochs=3), expected, 1e-5)
    for p, q in zip(model.parameters(), net.parameters()):
        np.testing.assert_allclose(p.numpy(), q.numpy(), 1e-4, 1e-6)


def test_captured_network():
    net = paddle.jit.to_static(network())
    model = model_of(net, metrics=accuracy())
    np.testing.assert_allclose(fitted(model, epochs=2), plain_loop(network(), Samples(), 2), 1e-5)
    assert model.evaluate(Samples(5), batch_size=2, verbose=0).keys() == {"loss", "acc"}
    assert model.predict(Samples(5), batch_size=5, verbose=0)[0][0].shape == (5, 3)


def test_accumulation_is_the_larger_batch():
    """Of sums: two batches of two samples are one of four."""

    def total(out, y):
        return nn.functional.cross_entropy(out, y, reduction="sum")

    a, b = prepared(loss=total), prepared(loss=total)
    a.fit(Samples(8), batch_size=2, accumulate_grad_batches=2, **QUIET)
    b.fit(Samples(8), batch_size=4, **QUIET)
    np.testing.assert_allclose(weights(a)[0], weights(b)[0], 1e-5)


def test_gradients_of_a_streams_last_batches_are_used():
    """Five batches in steps of two: nobody knows before that the fifth is the last."""
    a, b = prepared(), prepared()
    a.fit(stream(2), epochs=2, accumulate_grad_batches=2, **QUIET)
    b.fit(Samples(10), batch_size=2, epochs=2, accumulate_grad_batches=2, **QUIET)
    np.testing.assert_allclose(weights(a)[0], weights(b)[0], 1e-6)
    assert all(p.grad is None or not float(p.grad.abs().sum()) for p in a.parameters())


def test_a_stream_itself():
    class Endless(paddle.io.IterableDataset):
        def __iter__(self):
            i = 0
            while True:
                yield Samples()[i % 10]
                i += 1

    model, losses = prepared(), Losses()
    model.fit(Endless(), batch_size=4, num_iters=7, callbacks=losses, verbose=0)
    assert len(losses.seen) == 7


@pytest.mark.parametrize("num_iters", [1, 3, 5, 6, 7])
def test_number_of_batches(num_iters):
    """Training counts its batches alone, and evaluations are whole."""
    losses, evaluated = Losses(), []

    class Evaluated(paddle.callbacks.Callback):
        def on_eval_batch_end(self, step, logs=None):
            evaluated.append(step)

    prepared().fit(Samples(), Samples(4), batch_size=4, num_iters=num_iters, callbacks=[losses, Evaluated()], **QUIET)
    assert len(losses.seen) == num_iters
    assert evaluated == [0] * -(-num_iters // 3)


def test_workers_read_the_same():
    a, b = prepared(), prepared()
    a.fit(Samples(), batch_size=4, verbose=0)
    b.fit(Samples(), batch_size=4, num_workers=1, verbose=0)
    assert weights(a) == weights(b)


def test_last_batch_dropped():
    losses = fitted(prepared(), drop_last=True)
    assert len(losses) == 2


class Several(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 3)

    def forward(self, x, scale=None):
        out = self.a(x)
        return out if scale is None else out * scale.mean()


class Any(Several):
    def forward(self, *xs):
        return self.a(xs[0]) + (xs[1].mean() if len(xs) > 1 else 0)


@pytest.mark.parametrize("make", [Several, Any])
def test_fields_of_batches(make):
    """``forward`` gets its optional parameters from fields that no label needs."""
    model, data = model_of(fill(make())), Samples(4)
    model.fit([[data.x, data.y]], verbose=0)
    model.fit([[data.x, data.x, data.y]], verbose=0)
    model.fit([([data.x], [data.y])], verbose=0)
    assert len(model.predict([[data.x]], verbose=0)[0]) == 1


def test_specs_by_name():
    spec = paddle.static.InputSpec
    model = paddle.Model(fill(Several()), inputs={"scale": spec([None, 4]), "x": spec([None, 4])})
    assert [tuple(s.shape) for s in model._inputs] == [(-1, 4), (-1, 4)]
    with pytest.raises(ValueError, match=r"\[Model\] requires inputs named as parameters of forward, \['x', 'scale'\]"):
        paddle.Model(Several(), inputs={"z": spec([None, 4])})
    with printed() as lines:
        counts = paddle.Model(nn.Linear(4, 3), spec([None, 4])).summary()
    assert counts == {"total_params": 15, "trainable_params": 15}
    assert any("Linear-1" in line for line in lines)


# --- mixed precision ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_mixed_precision_with_accumulation(level):
    """Steps are those of float32 but for rounding; the scaler counts steps, not batches."""
    model = model_of(network(), amp_configs={"level": level, "init_loss_scaling": 64.0, "incr_every_n_steps": 2})
    plain = model_of(network())
    options = {"accumulate_grad_batches": 2, "epochs": 2, **QUIET}
    for m in (model, plain):
        m.fit(Samples(), Samples(4), batch_size=3, **options)
    assert model._scaler.state_dict()["scale"] == 64.0 * 2**2
    for p, q in zip(model.parameters(), plain.parameters()):
        assert p.dtype == (paddle.float16 if level == "O2" and p.shape != q.shape else p.dtype)
        np.testing.assert_allclose(p.astype("float32").numpy(), q.numpy(), 0.03, 0.01)
    assert model.predict(Samples(4, fields=1), batch_size=4, verbose=0)[0][0].shape == (4, 3)


def test_mixed_precision_lists():
    model = prepared(amp_configs={"custom_black_list": {"matmul", "linear"}, "use_dynamic_loss_scaling": False})
    seen = []
    model.network.register_forward_post_hook(lambda layer, x, y: seen.append(y.dtype))
    model.fit(Samples(4), batch_size=4, verbose=0)
    model.evaluate(Samples(4), batch_size=4, verbose=0)
    other = prepared(amp_configs="O1")
    other.network.register_forward_post_hook(lambda layer, x, y: seen.append(y.dtype))
    other.fit(Samples(4), batch_size=4, verbose=0)
    assert seen == [paddle.float32, paddle.float32, paddle.float16]


def test_overflow_leaves_parameters():
    model = prepared(amp_configs={"init_loss_scaling": 2.0**120})
    before = weights(model)
    model.fit(Samples(4), batch_size=4, verbose=0)
    assert weights(model) == before


# --- exceptions -----------------------------------------------------------------------------------------------------


class Stops(paddle.callbacks.Callback):
    def __init__(self, error, hook, at=1):
        super().__init__()
        self.error, self.at = error, at
        setattr(self, hook, self.strike)

    def strike(self, step=0, logs=None):
        if step in (self.at, None) or isinstance(step, dict):
            raise self.error


@pytest.mark.parametrize("hook", ["on_train_batch_begin", "on_train_batch_end", "on_epoch_end", "on_eval_end"])
@pytest.mark.parametrize("kind", [ZeroDivisionError, KeyboardInterrupt])
def test_interrupted(hook, kind, tmp_path):
    """The error itself comes through; what was trained can be saved, loaded and trained on, as if nothing had been."""
    model, error = model_of(network()), kind("here")
    with pytest.raises(kind) as caught:
        model.fit(Samples(), Samples(4), batch_size=4, epochs=3, callbacks=Stops(error, hook), **QUIET)
    assert caught.value is error
    model.save(str(tmp_path / "kept"))
    again = model_of(network())
    again.load(str(tmp_path / "kept"))
    np.testing.assert_allclose(fitted(model), fitted(again), 1e-6)


def test_interrupted_between_backward_and_step():
    """Gradients of a batch that was not finished are no part of the next one."""
    model = prepared()
    step = model._optimizer.step
    model._optimizer.step = lambda: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        fitted(model)
    model._optimizer.step = step
    fitted(model)
    other = prepared()
    fitted(other)
    assert weights(model) == weights(other)


def test_interrupted_under_mixed_precision():
    model = prepared(amp_configs={"init_loss_scaling": 8.0})
    update = model._scaler.update
    model._scaler.update = lambda: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        fitted(model)
    model._scaler.update = update
    assert len(fitted(model)) == 3


class PerSample(nn.Layer):
    def forward(self, out, y):
        return nn.functional.cross_entropy(out, y, reduction="none")


MISTAKES = {
    "train_batch unprepared": (
        lambda: paddle.Model(nn.Linear(4, 3)).train_batch(*batch()),
        RuntimeError,
        r"\[Model.train_batch\] requires a model prepared with an optimizer and a loss, got neither. Call model",
    ),
    "fit unprepared": (lambda: paddle.Model(nn.Linear(4, 3)).fit(Samples()), RuntimeError, r"\[Model.fit\] requires"),
    "fit without a loss": (
        lambda: (m := paddle.Model(nn.Linear(4, 3))).prepare(metrics=accuracy()) or m.fit(Samples()),
        RuntimeError,
        "prepared with an optimizer and a loss",
    ),
    "evaluate unprepared": (
        lambda: paddle.Model(nn.Linear(4, 3)).evaluate(Samples()),
        RuntimeError,
        r"\[Model.evaluate\] requires a model prepared with a loss or metrics",
    ),
    "network": (lambda: paddle.Model("net"), TypeError, r"\[Model\] requires a layer as network, got 'net'"),
    "specs": (lambda: paddle.Model(nn.Linear(4, 3), [3]), TypeError, r"\[Model\] requires InputSpecs, got 3"),
    "loss": (lambda: prepared(loss="mse"), TypeError, "requires loss as a layer or function, got 'mse'"),
    "metrics": (lambda: prepared("acc"), TypeError, "requires instances of paddle.metric.Metric, got 'acc'"),
    "no data": (lambda: prepared().fit(), ValueError, r"\[Model.fit\] requires train_data"),
    "empty": (lambda: prepared().fit(Samples(0)), ValueError, "requires a dataset with samples, got Samples with none"),
    "empty list": (lambda: prepared().fit([]), ValueError, "at least one batch of train_data"),
    "evaluate empty": (lambda: prepared().evaluate(Samples(0)), ValueError, "a dataset with samples"),
    "predict empty": (lambda: prepared().predict(Samples(0)), ValueError, "a dataset with samples"),
    "evaluate nothing": (lambda: prepared().evaluate(iter(()), verbose=0), ValueError, "one batch of eval_data"),
    "a generator's function": (
        lambda: prepared().fit(lambda: iter(())),
        TypeError,
        "an iterable of batches.*Call a function that makes a generator",
    ),
    "a generator twice": (
        lambda: prepared().fit(iter([batch()]), epochs=2, verbose=0),
        ValueError,
        "one batch of train_data, got none in epoch 2. A generator can be read once",
    ),
    "no labels": (
        lambda: prepared().fit(Samples(fields=1), verbose=0),
        ValueError,
        r"\[Model.fit\] requires batches of 1 inputs and at least 1 labels, got 1 fields",
    ),
    "too many fields": (
        lambda: told().fit(Samples(fields=3), verbose=0),
        ValueError,
        "requires batches of 1 inputs and 1 labels, as Model was told, got 3 fields",
    ),
    "labels of another shape": (
        lambda: prepared().fit([[array(4, 4), np.zeros([3, 1], "int64")]], verbose=0),
        ValueError,
        r"cross_entropy",
    ),
    "labels out of range": (
        lambda: prepared().fit([[array(4, 4), np.array([[0], [1], [9], [2]])]], verbose=0),
        IndexError,
        r"\[cross_entropy\] requires an index from 0 to 2, got 9",
    ),
    "loss per sample": (
        lambda: prepared(loss=PerSample()).fit(Samples(), batch_size=4, verbose=0),
        ValueError,
        r"requires losses that are tensors of one element, got \[4.*Take the mean",
    ),
    "callbacks": (
        lambda: prepared().fit(Samples(), callbacks=[3]),
        TypeError,
        "requires instances of paddle.callbacks.Callback, got 3",
    ),
    "accumulation": (
        lambda: prepared().fit(Samples(), accumulate_grad_batches=0),
        ValueError,
        "requires accumulate_grad_batches of 1 or more, got 0",
    ),
    "batch sizes": (lambda: prepared().fit(Samples(), batch_size=[1, 2, 3]), ValueError, "a number or a list of two"),
    "summary": (lambda: prepared().summary(), ValueError, r"\[Model.summary\] requires input_size"),
    "name": (lambda: prepared().save("folder/"), ValueError, "a path that ends in a name, got 'folder/'"),
    "inference": (
        lambda: prepared().save("a", training=False),
        RuntimeError,
        r"\[Model.save\] requires inputs of the Model, or batches of tensors before, for training=False",
    ),
    "no file": (
        lambda: prepared().load("none"),
        FileNotFoundError,
        "requires a saved model, got no file none.pdparams",
    ),
    "amp level": (lambda: prepared(amp_configs="O3"), ValueError, "an AMP level of 'O0', 'O1' and 'O2', got 'O3'"),
    "amp option": (lambda: prepared(amp_configs={"a": 1}), ValueError, r"amp_configs with keys of .* got \['a'\]"),
    "amp static": (lambda: prepared(amp_configs={"use_fp16_guard": True}), ValueError, "static programs"),
    "amp old": (
        lambda: prepared(amp_configs={"use_pure_fp16": True}),
        ValueError,
        "requires level 'O2' in amp_configs",
    ),
    "mode": (
        lambda: paddle.hapi.callbacks.CallbackList().on_begin("test"),
        ValueError,
        "a mode of 'train', 'eval' and 'predict', got 'test'",
    ),
}


def told():
    spec = paddle.static.InputSpec
    net = nn.Linear(4, 3)
    model = paddle.Model(net, spec([None, 4]), spec([None, 1]))
    model.prepare(paddle.optimizer.SGD(0.1, parameters=net.parameters()), nn.CrossEntropyLoss())
    return model


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    call, kind, text = MISTAKES[name]
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.parametrize("make", [paddle.callbacks.EarlyStopping, paddle.callbacks.ReduceLROnPlateau])
def test_warnings(make):
    name = make.__name__
    with pytest.warns(UserWarning, match=rf"\[{name}\] requires monitor among the names in logs, \['loss'\], got 'f1'"):
        prepared().fit(Samples(4), Samples(4), batch_size=4, verbose=0, callbacks=make(monitor="f1"))
    with pytest.warns(UserWarning, match=rf"\[{name}\] requires mode 'auto', 'min' or 'max', got 'best'"):
        make(mode="best")
    if make is paddle.callbacks.ReduceLROnPlateau:
        model = prepared(rate=paddle.optimizer.lr.StepDecay(0.1, 2))
        with pytest.warns(UserWarning, match="whose learning rate is a number, got StepDecay"):
            model.fit(Samples(4), Samples(4), batch_size=4, verbose=0, callbacks=make())


# --- files ----------------------------------------------------------------------------------------------------------


def adam(net):
    model = paddle.Model(net)
    schedule = paddle.optimizer.lr.StepDecay(0.1, 3)
    model.prepare(paddle.optimizer.Adam(schedule, parameters=net.parameters()), nn.CrossEntropyLoss(), accuracy())
    return model


@pytest.mark.parametrize("ending", ["", ".pdparams", ".pdopt"])
def test_training_goes_on_after_load(tmp_path, ending):
    """Moments and schedule too, though the parameters of another network have other names."""
    path = str(tmp_path / "deep" / "epoch.1")
    model = adam(network())
    fitted(model, epochs=2)
    model.save(path)
    again = adam(network())
    again.load(path + ending)
    assert again._optimizer.get_lr() == model._optimizer.get_lr() != 0.1
    np.testing.assert_allclose(fitted(again, epochs=2), fitted(model, epochs=2), 1e-6)
    fresh = adam(network())
    fresh.load(path, reset_optimizer=True)
    assert fresh._optimizer.get_lr() == 0.1


def test_training_goes_on_under_mixed_precision(tmp_path):
    def make():
        net = network()
        model = paddle.Model(net)
        optimizer = paddle.optimizer.Adam(0.01, parameters=net.parameters())
        model.prepare(optimizer, nn.CrossEntropyLoss(), amp_configs={"level": "O2", "init_loss_scaling": 8.0})
        return model

    model = make()
    fitted(model)
    model.save(str(tmp_path / "m"))
    again = make()
    again.load(str(tmp_path / "m"))
    np.testing.assert_allclose(fitted(again), fitted(model), 1e-3)


def test_mismatches(tmp_path):
    path = str(tmp_path / "m")
    model = prepared(net=nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2)), loss=nn.MSELoss())
    model.save(path)
    assert os.listdir(tmp_path) == ["m.pdparams"]
    other = paddle.Model(nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 5), nn.Linear(5, 2)))
    with pytest.raises(ValueError, match=r"got 1.weight has shape \[3, 2\] in the file and \[3, 5\] in the network"):
        other.load(path)
    with pytest.warns(UserWarning, match="leaves") as caught:
        other.load(path, skip_mismatch=True)
    left = [str(w.message).split()[2] for w in caught]
    assert left == ["1.weight", "1.bias", "2.weight", "2.bias"]
    assert weights(other)[0] == weights(model)[0]


def test_states_of_the_reference(tmp_path):
    """``save`` writes what ``paddle.save`` does, and files without a table of names are loaded."""
    path = str(tmp_path / "m")
    net = network()
    paddle.save({k: v.numpy() for k, v in net.state_dict().items()}, path + ".pdparams")
    model = prepared(net=nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1D(5), nn.ReLU(), nn.Linear(5, 3)))
    model.load(path)
    assert weights(model)[0] == weights(paddle.Model(net))[0]


def test_checkpoints_can_be_trained_on(tmp_path):
    model = adam(network())
    with printed() as lines:
        fitted(model, epochs=2, save_dir=str(tmp_path))
    assert [line.rpartition("/")[2] for line in lines] == ["0", "1", "final", ""]
    assert sorted(os.listdir(tmp_path)) == sorted(
        f"{n}.{e}" for n in ("0", "1", "final") for e in ("pdopt", "pdparams")
    )
    again = adam(network())
    again.load(str(tmp_path / "0"))
    assert len(fitted(again)) == 3


# --- progress bar ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("columns", "width"), [(20, 1), (60, 10), (80, 30), (200, 30)])
def test_bar_fits_the_terminal(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert paddle.hapi.progressbar.ProgressBar(3)._width == width


def test_progress_bar_times(monkeypatch):
    """Formats of times, from an own clock: seconds of a step, and of what is left."""
    import io

    from paddle.hapi import progressbar

    now = [0.0]
    monkeypatch.setattr(progressbar.time, "time", lambda: now[0])
    expected = {
        2e-5: ["ETA: 0s - 20us/it"],
        5e-4: ["ETA: 0s - 500us/it"],
        0.3: ["ETA: 29s - 300ms/it"],
        2.0: ["ETA: 3:18 - 2s/it"],
        70.0: ["ETA: 1:55:30 - 70s/it"],
        4000.0: ["ETA: 110:00:00 - 4000s/it"],
    }
    found = {}
    for seconds in expected:
        now[0] = 0.0
        bar = progressbar.ProgressBar(100, width=10, file=io.StringIO(), name="it")
        now[0] = seconds
        bar.update(1, [("a", [0.5, 2]), ("b", 0.00012), ("c", "x")])
        text = bar.file.getvalue()
        assert text.startswith("\rit   1/100 [..........] - a: 0.5000 2 - b: 1.2000e-04 - c: x - ")
        found[seconds] = [text.partition("c: x - ")[2]]
    assert found == expected
    quiet = progressbar.ProgressBar(3, verbose=0, file=io.StringIO())
    quiet.update(1)
    assert not quiet.file.getvalue()


@pytest.mark.parametrize(
    ("name", "make"),
    [("wandb", paddle.callbacks.WandbCallback), ("visualdl", lambda: paddle.callbacks.VisualDL("logs"))],
)
def test_packages_that_are_not_there(monkeypatch, name, make):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=f"requires the package {name}, which is not installed. Run `pip install"):
        make()


class Wandb(types.ModuleType):
    """What the callback calls of wandb."""

    def __init__(self, run=None):
        super().__init__("wandb")
        self.run, self.options, self.metrics, self.rows, self.ended = run, {}, {}, [], False

    def init(self, **options):
        self.options, self.run = options, self
        return self

    def define_metric(self, name, step_metric=None):
        self.metrics[name] = step_metric

    def log(self, row):
        self.rows.append(row)

    def finish(self):
        self.ended, self.run = True, None


@pytest.mark.parametrize("open_before", [False, True])
def test_log_of_wandb(monkeypatch, open_before):
    """Batches over all epochs, evaluations over epochs; a run of the user's is used, and stays open."""
    package, theirs = Wandb(), Wandb()
    package.run = theirs if open_before else None
    monkeypatch.setitem(sys.modules, "wandb", package)
    model, log = prepared(accuracy()), paddle.callbacks.WandbCallback("digits", name="first", mode="offline", notes="x")
    model.fit(Samples(12), Samples(6), batch_size=4, epochs=2, verbose=0, callbacks=[log])
    run = theirs if open_before else package
    assert run.ended is not open_before
    wanted = {} if open_before else {"project": "digits", "name": "first", "mode": "offline", "notes": "x"}
    assert {k: v for k, v in package.options.items() if v is not None} == wanted
    assert run.metrics == {"epoch": None, "eval/*": "epoch", "train/step": None, "train/*": "train/step"}
    train, evaluated = ([row for row in run.rows if key in row] for key in ("train/step", "epoch"))
    assert [row["train/step"] for row in train] == [1, 2, 3, 4, 5, 6]
    assert [row["epoch"] for row in evaluated] == [0, 1]
    assert all(row.keys() == {"train/loss", "train/acc", "train/step"} for row in train)
    assert all(row.keys() == {"eval/loss", "eval/acc", "epoch"} for row in evaluated)


def test_a_fault_in_a_length_is_shown():
    class Faulty:
        def __len__(self) -> int:
            raise RuntimeError("a fault of the user's")

        def __iter__(self):
            return iter([batch()])

    with pytest.raises(RuntimeError, match="a fault of the user's"):
        prepared().fit(Faulty(), verbose=0)


@pytest.mark.parametrize("samples", [4, 5])
def test_predictions_of_batches_are_stacked_as_rows(samples):
    class Several(nn.Layer):
        def forward(self, x):
            return x, x.sum(axis=1), x.sum()

    model = paddle.Model(Several())
    data = paddle.io.TensorDataset([paddle.arange(2.0 * samples).reshape([samples, 2])])
    if samples == 5:
        with pytest.raises(ValueError, match=r"equal rows, to stack them, got \[\(1,\), \(2,\)\]"):
            model.predict(data, batch_size=2, stack_outputs=True, verbose=0)
        return
    x, sums, total = model.predict(data, batch_size=2, stack_outputs=True, verbose=0)
    assert x.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert sums.tolist() == [[1, 5], [9, 13]]
    assert total.tolist() == [[6], [22]]


@pytest.mark.parametrize("how", ["fit", "train_batch", "eval_batch", "predict_batch"])
def test_a_model_without_inputs_is_saved_for_inference_as_its_batches_were(how, tmp_path):
    net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
    model = paddle.Model(net)
    model.prepare(paddle.optimizer.SGD(0.1, parameters=net.parameters()), nn.CrossEntropyLoss())
    if how == "fit":
        model.fit(Samples(), batch_size=4, verbose=0)
    else:
        fields = [np.ones((2, 4), "float32")], [np.zeros((2, 1), "int64")]
        getattr(model, how)(*fields[: 1 if how == "predict_batch" else 2])
    model.save(str(tmp_path / "a"), training=False)
    x = paddle.randn([3, 4])
    loaded = paddle.jit.load(str(tmp_path / "a"))
    np.testing.assert_allclose(loaded(x).numpy(), net(x).numpy(), rtol=1e-6, atol=1e-6)


def test_sizes_in_which_batches_differed_are_open(tmp_path):
    model = paddle.Model(nn.Softmax())
    for n in (5, 5, 7):
        model.predict_batch([np.ones((2, n, 4), "float32")])
    model.save(str(tmp_path / "a"), training=False)
    loaded = paddle.jit.load(str(tmp_path / "a"))
    assert loaded(paddle.ones([3, 9, 4])).shape == [3, 9, 4]
    with pytest.raises(ValueError, match="4"):
        loaded(paddle.ones([3, 9, 5]))
    model.predict_batch([np.ones((2, 4), "float32")])  # of another rank: there is no such program
    with pytest.raises(RuntimeError, match="got batches whose inputs differ in number, rank or dtype"):
        model.save(str(tmp_path / "b"), training=False)


def test_steps_are_by_the_rate_that_a_plateau_reduced():
    layer = nn.Linear(1, 1, weight_attr=nn.initializer.Constant(0.0), bias_attr=False)
    optimizer = paddle.optimizer.SGD(1.0, parameters=layer.parameters())
    model = paddle.Model(layer)
    model.prepare(optimizer, lambda y, target: y.mean() + 0.0 * target.mean())
    data = [(np.ones(1, "float32"), np.ones(1, "float32"))]
    less = paddle.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, min_delta=1e3, verbose=0)
    moves, rates, before = [], [], 0.0

    class Moves(paddle.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            rates.append(optimizer.get_lr())

        def on_epoch_end(self, epoch, logs=None):
            nonlocal before
            moves.append(before - layer.weight.item())
            before = layer.weight.item()

    model.fit(data, data, epochs=5, verbose=0, callbacks=[Moves(), less])
    assert moves == rates and rates[-1] < 1.0
