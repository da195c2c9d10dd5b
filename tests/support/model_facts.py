"""Programs of ``paddle.Model`` and its callbacks, made by nothing but the public API.

The reference framework runs this file too, and what it gives stands in ``tests/data/model.json``. ``make oracle``
writes it: ``python tests/support/model_facts.py FILE`` with the reference's Python, far from our ``paddle``.
"""

import contextlib
import fcntl
import json
import os
import pty
import re
import struct
import sys
import tempfile
import termios
import threading
import warnings

import numpy as np

import paddle
from paddle import nn

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


# --- what programs are made of --------------------------------------------------------------------------------------


def array(*shape, k=0):
    return np.cos(np.arange(np.prod(shape)) * 0.9 + k).reshape(shape).astype("float32")


class Samples(paddle.io.Dataset):
    """Rows of four numbers with one of three classes."""

    def __init__(self, n=10, fields=2):
        self.x, self.y, self.fields = array(n, 4), (np.arange(n) % 3).reshape(n, 1), fields

    def __getitem__(self, i):
        return (self.x[i], self.y[i], self.x[i][:2], self.x[i][2:])[: self.fields]

    def __len__(self):
        return len(self.x)


class Stream(paddle.io.IterableDataset):
    def __iter__(self):
        return iter([Samples()[i] for i in range(10)])


def stream(batch_size=4):
    """A loader without a length: the reference does not take the dataset itself."""
    return paddle.io.DataLoader(Stream(), batch_size=batch_size)


def fill(layer):
    for i, p in enumerate(p for p in layer.parameters() if not p.stop_gradient):
        p.set_value((np.sin(np.arange(np.prod(p.shape)) * 0.7 + i) * 0.6).reshape(p.shape).astype("float32"))
    return layer


def prepared(metrics=None, rate=0.1, loss=None, net=None, **kwargs):
    net = fill(net or nn.Sequential(nn.Linear(4, 3)))
    model = paddle.Model(net)
    optimizer = paddle.optimizer.SGD(rate, parameters=net.parameters())
    model.prepare(optimizer, nn.CrossEntropyLoss() if loss is None else loss, metrics, **kwargs)
    return model


def accuracy(**kwargs):
    return paddle.metric.Accuracy(**kwargs)


def described(v):
    if isinstance(v, dict):
        return {"dict": [[key, described(a)] for key, a in v.items()]}
    if isinstance(v, (list, tuple)):
        return {type(v).__name__: [described(a) for a in v]}
    if isinstance(v, (np.ndarray, np.generic)):
        return {"array": str(v.dtype), "values": np.asarray(v).tolist()}
    if isinstance(v, (bool, int, float, str, type(None))):
        return v
    return {"type": type(v).__name__}


def weights(model):
    return [p.numpy().tolist() for p in model.parameters()]


class EventCollector(paddle.callbacks.Callback):
    """Keeps what each hook is called with."""

    def __init__(self, stop_at=None):
        super().__init__()
        self.events, self.stop_at = [], stop_at

    def set_params(self, params):
        super().set_params(params)
        self.events.append(["set_params", described(params)])

    def on_train_batch_end(self, step, logs=None):
        self.events.append(["on_train_batch_end", described([step, logs])])
        if self.stop_at == step:
            self.model.stop_training = True


def hook(name):
    def call(self, *args):
        self.events.append([name, described(list(args))])

    return call


for _when in ("train", "eval", "predict"):
    for _name in (f"on_{_when}_begin", f"on_{_when}_end", f"on_{_when}_batch_begin", f"on_{_when}_batch_end"):
        if _name not in vars(EventCollector):
            setattr(EventCollector, _name, hook(_name))
for _name in ("on_epoch_begin", "on_epoch_end"):
    setattr(EventCollector, _name, hook(_name))


# Names of folders may look like times: /tmp/9s/tmp_1s/0.
TIMES = (
    (re.compile(r"(?<= - )\d+(\.\d+)?(e[-+]\d+)?(us|ms|s)/(\w+)"), r"T/\4"),
    (re.compile(r"ETA: [\d:]+s?"), "ETA: T"),
    (re.compile(r" - [\d:]+s?(?= T/)"), " - T"),
)


def without_times(text):
    for pattern, put in TIMES:
        text = pattern.sub(put, text)
    return text


@contextlib.contextmanager
def written_to(descriptor):
    """Lead what is printed to a file.

    The reference keeps the standard output of its import, so that the descriptor is changed where this file is run.
    """
    if __name__ != "__main__":
        with open(os.dup(descriptor), "w") as out, contextlib.redirect_stdout(out):
            yield
        return
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(descriptor, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


@contextlib.contextmanager
def printed(terminal=False):
    """Lines that are printed inside, times left out; to a file, or on a terminal of 120 columns."""
    lines, pieces = [], []
    reader, writer = pty.openpty() if terminal else os.pipe()
    if terminal:
        fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))

    def read():
        with contextlib.suppress(OSError):
            while piece := os.read(reader, 1 << 16):
                pieces.append(piece)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        with written_to(writer):
            yield lines
    finally:
        os.close(writer)
        thread.join()
        os.close(reader)
    text = re.sub(r"\x08+", "<back>", without_times(b"".join(pieces).decode().replace("\r\n", "\n")))
    lines += [re.sub(r" +", " ", re.sub(r" +($|(?=<back>))", "", line)) for line in re.split(r"[\n\r]", text)]


def forget_logs():
    """Empty the dict that the reference gives to callbacks: one for all models, so that it tells of earlier calls."""
    for value in getattr(getattr(paddle.Model, "_run_one_epoch", None), "__defaults__", None) or ():
        if isinstance(value, dict):
            value.clear()


def events(model, method="fit", stop_at=None, **kwargs):
    forget_logs()
    collector = EventCollector(stop_at)
    result = getattr(model, method)(**{"verbose": 0, "callbacks": [collector], "num_workers": 0, **kwargs})
    return {"events": collector.events, "result": described(result), "weights": weights(model)}


def trained(model=None, n=10, **kwargs):
    return events(
        model or prepared(accuracy()), **{"train_data": Samples(n), "batch_size": 4, "shuffle": False, **kwargs}
    )


def failure(call):
    """The kind of error of a call, or what it gives."""
    try:
        return described(call())
    except Exception as e:
        return {"raises": type(e).__name__}


def batch(n=4):
    data = Samples(n)
    return paddle.to_tensor(data.x), paddle.to_tensor(data.y)


# --- single batches -------------------------------------------------------------------------------------------------


@program
def batches_by_metrics():
    """What train_batch, eval_batch and predict_batch give."""
    out = {}
    kinds = {
        "none": lambda: None,
        "one": lambda: accuracy(),
        "several k": lambda: accuracy(topk=(1, 2)),
        "two": lambda: [accuracy(), accuracy(name="again")],
    }
    for name, make in kinds.items():
        model = prepared(make())
        x, y = batch()
        out[name] = [
            described(v)
            for v in (
                model.train_batch([x], [y]),
                model.train_batch(x, [y]),
                model.eval_batch([x], [y]),
                model.predict_batch([x]),
                model.train_batch([x], [y], update=False),
                model.train_batch([x], [y]),
            )
        ]
        out[name].append(weights(model))
    return out


@program
def batches_of_arrays():
    model, data = prepared(), Samples(4)
    return [described(f([data.x], [data.y])) for f in (model.train_batch, model.eval_batch)] + [
        described(model.predict_batch([data.x]))
    ]


class Pair(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 3), nn.Linear(2, 3)

    def forward(self, x, z):
        return self.a(x), self.b(z)


class PairLoss(nn.Layer):
    def forward(self, a, b, y, z):
        return nn.functional.cross_entropy(a, y), nn.functional.mse_loss(b[:, :2], z)


def pair(metrics=None):
    net = fill(Pair())
    spec = paddle.static.InputSpec
    model = paddle.Model(
        net,
        [spec([None, 4], "float32", "x"), spec([None, 2], "float32", "z")],
        [spec([None, 1], "int64", "y"), spec([None, 2], "float32", "t")],
    )
    model.prepare(paddle.optimizer.SGD(0.1, parameters=net.parameters()), PairLoss(), metrics)
    return model


class PairData(Samples):
    def __getitem__(self, i):
        return self.x[i], self.x[i][:2], self.y[i], self.x[i][2:]


class PairAccuracy(paddle.metric.Metric):
    """How often both outputs name the same class."""

    def __init__(self):
        super().__init__()
        self.reset()

    def name(self):
        return ["agree", "count"]

    def reset(self):
        self.right = self.n = 0

    def compute(self, a, b, y, z):
        return a.argmax(-1), b.argmax(-1)

    def update(self, a, b):
        self.right += int((a == b).sum())
        self.n += len(a)
        return self.right

    def accumulate(self):
        return [self.right / max(self.n, 1), self.n]


@program
def several_inputs_outputs_losses():
    model = pair(PairAccuracy())
    x, z, y, t = (paddle.to_tensor(np.stack([row[i] for row in [PairData(4)[j] for j in range(4)]])) for i in range(4))
    out = [described(model.train_batch([x, z], [y, t])), described(model.eval_batch([x, z], [y, t]))]
    out.append(described(model.predict_batch([x, z])))
    model = pair(PairAccuracy())
    out.append(trained(model, train_data=PairData(), eval_data=PairData(6), epochs=2))
    out.append(events(model, "evaluate", eval_data=PairData(), batch_size=4))
    for stacked in (False, True):
        out.append(events(model, "predict", test_data=PairData(), batch_size=4, stack_outputs=stacked))
    return out


@program
def loss_functions():
    def mean_square(out, y):
        return ((out - nn.functional.one_hot(y.squeeze(-1), 3)) ** 2).mean()

    out = [trained(prepared(loss=mean_square))]
    out.append(failure(lambda: prepared(loss="mse")))
    return out


@program
def no_loss():
    """Metrics alone."""
    net = fill(nn.Linear(4, 3))
    model = paddle.Model(net)
    model.prepare(metrics=accuracy())
    x, y = batch()
    return [
        failure(lambda: events(model, "evaluate", eval_data=Samples(), batch_size=4)["events"]),
        failure(lambda: model.eval_batch([x], [y])),
        failure(lambda: events(model, "predict", test_data=Samples(fields=1), batch_size=4)["result"]),
        failure(lambda: model.train_batch([x], [y])),
    ]


# --- fit ------------------------------------------------------------------------------------------------------------


@program
def fit_plain():
    return trained(epochs=2)


@program
def fit_without_metrics():
    return trained(prepared(), epochs=2)


@program
def fit_with_evaluation():
    return trained(eval_data=Samples(5), epochs=3, eval_freq=2)


@program
def fit_with_evaluation_of_another_batch_size():
    return trained(eval_data=Samples(5), epochs=1, batch_size=[4, 2])


@program
def fit_shuffled():
    """The order is that of the epoch's number, whatever the seed."""
    return [trained(shuffle=True, epochs=2), trained(prepared(), shuffle=True, num_workers=0)["weights"]]


@program
def fit_drop_last():
    return trained(epochs=2, drop_last=True)


@program
def fit_accumulates():
    return [trained(epochs=2, accumulate_grad_batches=n, batch_size=2) for n in (2, 3)]


@program
def fit_a_number_of_batches():
    out = [trained(epochs=3, num_iters=n, batch_size=2) for n in (3, 7, 10)]
    return [*out, trained(epochs=3, num_iters=3, batch_size=2, eval_data=Samples(5))]


@program
def fit_a_stream():
    return [trained(train_data=stream(), epochs=2), trained(train_data=stream(), num_iters=2, epochs=2)]


@program
def fit_a_loader():
    loader = paddle.io.DataLoader(Samples(), batch_size=3)
    out = [trained(train_data=loader, eval_data=loader, batch_size=1)]
    out.append(events(prepared(accuracy()), "evaluate", eval_data=loader))
    out.append(events(prepared(accuracy()), "predict", test_data=loader))
    return out


@program
def fit_lists_of_batches():
    data = Samples(8)
    batches = [[data.x[i : i + 4], data.y[i : i + 4]] for i in (0, 4)]
    tensors = [[paddle.to_tensor(a) for a in b] for b in batches]

    def generator():
        yield from tensors

    return [
        failure(lambda: trained(train_data=tensors)),
        failure(lambda: trained(train_data=generator())),
        failure(lambda: trained(train_data=batches)["weights"]),
        failure(lambda: trained(train_data=generator)["weights"]),
    ]


@program
def fit_stops():
    return [trained(epochs=3, stop_at=n, eval_data=Samples(4)) for n in (0, 2)]


@program
def fit_twice():
    model = prepared(accuracy())
    return [trained(model), trained(model)]


@program
def fit_batch_norm():
    """Batches of three, three and two; running statistics and evaluation after it."""
    net = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1D(5), nn.ReLU(), nn.Linear(5, 3))
    model = prepared(accuracy(), net=net)
    out = trained(model, n=8, batch_size=3, eval_data=Samples(5))
    return [out, net[1]._mean.numpy().tolist(), net[1]._variance.numpy().tolist(), net.training]


class Rates(paddle.callbacks.Callback):
    def __init__(self, rates):
        super().__init__()
        self.rates = rates

    def on_train_batch_begin(self, step, logs=None):
        self.rates.append(self.model._optimizer.get_lr())


@program
def fit_changes_the_rate():
    out = []
    for make in (None, lambda: paddle.callbacks.LRScheduler(by_step=False, by_epoch=True)):
        schedule = paddle.optimizer.lr.StepDecay(0.5, 2, 0.1)
        model = prepared(rate=schedule)
        rates = []

        callbacks = [Rates(rates), *([make()] if make else [])]
        forget_logs()
        model.fit(Samples(), batch_size=4, epochs=3, verbose=0, shuffle=False, callbacks=callbacks)
        out.append([rates, schedule.last_epoch, weights(model)])
        model.fit(Samples(), batch_size=4, verbose=0, shuffle=False, callbacks=callbacks, accumulate_grad_batches=2)
        out.append([rates[9:], schedule.last_epoch, weights(model)])
    out.append(failure(lambda: paddle.callbacks.LRScheduler(by_step=True, by_epoch=True)))
    return out


@program
def evaluate_and_predict():
    model = prepared([accuracy(topk=(1, 2)), accuracy(name="b")])
    out = [events(model, "evaluate", eval_data=Samples(), batch_size=4)]
    out.append(events(model, "evaluate", eval_data=Samples(), batch_size=4, num_iters=2))
    out.append(events(model, "evaluate", eval_data=stream()))
    out.append(events(model, "predict", test_data=Samples(), batch_size=4))
    out.append(events(model, "predict", test_data=Samples(fields=1), batch_size=4, stack_outputs=True))
    out.append(events(model, "predict", test_data=stream()))
    return out


@program
def evaluate_in_training_mode():
    """The mode of the network after each call."""
    model = prepared(accuracy())
    x, y = batch()
    modes = [model.network.training]
    for call in (
        lambda: model.train_batch([x], [y]),
        lambda: model.eval_batch([x], [y]),
        lambda: model.train_batch([x], [y]),
        lambda: model.predict_batch([x]),
        lambda: model.fit(Samples(), verbose=0),
        lambda: model.evaluate(Samples(), verbose=0),
    ):
        call()
        modes.append(model.network.training)
    return modes


# --- what is printed ------------------------------------------------------------------------------------------------


def shown(terminal, run):
    forget_logs()
    with printed(terminal) as lines:
        run()
    return lines


@program
def progress():
    out = {}
    for terminal in (False, True):
        for verbose in (0, 1, 2):
            out[f"fit, {verbose}, {terminal}"] = shown(
                terminal,
                lambda v=verbose: prepared(accuracy(topk=(1, 2))).fit(
                    Samples(50), Samples(20), batch_size=4, epochs=2, verbose=v, shuffle=False
                ),
            )
            out[f"often, {verbose}, {terminal}"] = shown(
                terminal,
                lambda v=verbose: prepared().fit(Samples(10), batch_size=4, log_freq=1, verbose=v, shuffle=False),
            )
            out[f"evaluate, {verbose}, {terminal}"] = shown(
                terminal, lambda v=verbose: prepared(accuracy()).evaluate(Samples(50), batch_size=4, verbose=v)
            )
            out[f"predict, {verbose}, {terminal}"] = shown(
                terminal, lambda v=verbose: prepared().predict(Samples(50), batch_size=4, verbose=v)
            )
            out[f"stream, {verbose}, {terminal}"] = shown(
                terminal,
                lambda v=verbose: prepared(accuracy()).fit(stream(2), log_freq=2, verbose=v, epochs=2),
            )
            out[f"numbered, {verbose}, {terminal}"] = shown(
                terminal,
                lambda v=verbose: prepared(accuracy()).fit(
                    Samples(30), batch_size=2, log_freq=5, verbose=v, epochs=2, num_iters=20, shuffle=False
                ),
            )
            out[f"pair, {verbose}, {terminal}"] = shown(
                terminal,
                lambda v=verbose: pair(PairAccuracy()).fit(
                    PairData(), PairData(), batch_size=4, verbose=v, shuffle=False
                ),
            )
    for verbose in (1, 2):
        out[f"evaluate a stream, {verbose}"] = shown(
            False, lambda v=verbose: prepared(accuracy()).evaluate(stream(2), verbose=v, log_freq=2)
        )
        out[f"predict a stream, {verbose}"] = shown(False, lambda v=verbose: prepared().predict(stream(2), verbose=v))
    lines = shown(False, lambda: prepared().fit(Samples(10), verbose=3, shuffle=False))
    out["fit, 3, False"] = [re.sub(r"\d+\.\d{5}", "T", line) for line in lines]
    return out


# --- callbacks ------------------------------------------------------------------------------------------------------


def messages(run):
    """What is printed and warned."""
    with warnings.catch_warnings(record=True) as caught, printed() as lines:
        warnings.simplefilter("always")
        run()
    return {"lines": lines, "warnings": len([w for w in caught if w.category is UserWarning])}


class Scripted(paddle.metric.Metric):
    """A metric of given values, one for each evaluation."""

    def __init__(self, values):
        super().__init__()
        self.values, self.at = values, -1
        self._name = "acc"

    def name(self):
        return "acc"

    def compute(self, *args):
        return args[0]

    def reset(self):
        pass

    def update(self, *args):
        return 0.0

    def accumulate(self):
        return self.values[min(self.at, len(self.values) - 1)]


class Next(paddle.callbacks.Callback):
    def __init__(self, metric):
        super().__init__()
        self.metric, self.epochs, self.rates = metric, 0, []

    def on_eval_begin(self, logs=None):
        self.metric.at += 1

    def on_epoch_end(self, epoch, logs=None):
        self.epochs += 1
        self.rates.append(float(self.model._optimizer.get_lr()))


def scripted(callback, values, epochs=8, rate=0.5, **kwargs):
    metric = Scripted(values)
    model, counter = prepared(metric, rate=rate), Next(metric)
    noted = messages(
        lambda: model.fit(
            Samples(4), Samples(4), batch_size=4, epochs=epochs, verbose=0, callbacks=[counter, callback], **kwargs
        )
    )
    state = {
        key: described(value)
        for key, value in vars(callback).items()
        if isinstance(value, (bool, int, float, str, np.generic)) and not key.startswith("_")
    }
    return {**noted, "epochs": counter.epochs, "rates": counter.rates, "stopped": model.stop_training, "state": state}


VALUES = [0.1, 0.3, 0.3, 0.2, 0.35, 0.3, 0.2, 0.1]


def without(folder, lines):
    """Lines with a word in place of the folder, whose path may be written in two ways."""
    return [line.replace(os.path.realpath(folder), "FOLDER").replace(folder, "FOLDER") for line in lines]


@program
def early_stopping():
    make = paddle.callbacks.EarlyStopping
    plain = {"save_best_model": False}
    options = {
        "max": {"monitor": "acc", "mode": "max", "patience": 1},
        "auto": {"monitor": "acc", "patience": 2},
        "min": {"monitor": "acc", "mode": "min", "patience": 2},
        "delta": {"monitor": "acc", "mode": "max", "patience": 2, "min_delta": 0.1},
        "baseline": {"monitor": "acc", "mode": "max", "patience": 1, "baseline": 0.4},
        "no patience": {"monitor": "acc", "mode": "max"},
        "quiet": {"monitor": "acc", "mode": "max", "verbose": 0},
        "loss": {"patience": 1, "min_delta": 10.0},
        "unknown": {"monitor": "other", "patience": 1},
    }
    out = {}
    for name, kwargs in options.items():
        out[name] = scripted(make(**{**plain, **kwargs}), VALUES)
    out["mode"] = messages(lambda: make(mode="other"))
    with tempfile.TemporaryDirectory() as folder:
        best = make("acc", "max", 2)
        out["best"] = scripted(best, VALUES, save_dir=folder)
        out["best"]["lines"] = without(folder, out["best"]["lines"])
        out["best"]["state"].pop("save_dir")
        out["files"] = sorted(os.path.relpath(os.path.join(d, f), folder) for d, _, fs in os.walk(folder) for f in fs)
    out["no folder"] = scripted(make("acc", "max", 2), VALUES)
    return out


@program
def reduce_lr_on_plateau():
    make = paddle.callbacks.ReduceLROnPlateau
    options = {
        "max": {"monitor": "acc", "mode": "max", "patience": 1},
        "auto": {"monitor": "acc", "patience": 2, "factor": 0.5},
        "min": {"monitor": "acc", "mode": "min", "patience": 2},
        "cooldown": {"monitor": "acc", "mode": "max", "patience": 1, "cooldown": 2, "min_delta": 0.2},
        "least": {"monitor": "acc", "mode": "min", "patience": 1, "min_lr": 0.2},
        "quiet": {"monitor": "acc", "mode": "max", "patience": 1, "verbose": 0},
        "unknown": {"monitor": "other"},
    }
    out = {name: scripted(make(**kwargs), VALUES) for name, kwargs in options.items()}
    out["schedule"] = scripted(make("acc", 0.1, 1), VALUES, epochs=3, rate=paddle.optimizer.lr.StepDecay(0.5, 3))
    out["factor"] = failure(lambda: make(factor=1.0))
    out["mode"] = messages(lambda: make(mode="other"))
    return out


@program
def checkpoints():
    out = {}
    for name, kwargs in {"each": {}, "second": {"save_freq": 2}}.items():
        with tempfile.TemporaryDirectory() as folder:
            model = prepared(accuracy())
            with printed():
                model.fit(Samples(4), **{"epochs": 3, "verbose": 0, "save_dir": folder, **kwargs})
            out[name] = sorted(os.listdir(folder))
    with tempfile.TemporaryDirectory() as folder:
        out["shown"] = shown(
            False,
            lambda: prepared().fit(Samples(4), batch_size=4, save_dir=os.path.join(folder, "a"), verbose=2, epochs=2),
        )
        out["shown"] = without(folder, out["shown"])
    return out


class Named(paddle.callbacks.Callback):
    pass


@program
def order_of_callbacks():
    """What a list of callbacks is completed with."""
    from paddle.hapi.callbacks import config_callbacks

    model = prepared(accuracy())
    out = []
    for kwargs in (
        {},
        {"verbose": 0},
        {"callbacks": Named()},
        {"callbacks": [Named(), paddle.callbacks.ProgBarLogger()]},
        {"callbacks": [paddle.callbacks.ModelCheckpoint(), paddle.callbacks.LRScheduler()]},
        {"mode": "eval"},
        {"mode": "predict"},
    ):
        found = config_callbacks(model=model, **kwargs)
        out.append([type(c).__name__ for c in found])
    return out


# --- files ----------------------------------------------------------------------------------------------------------


@program
def save_and_load():
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "deep", "model")
        net = fill(nn.Sequential(nn.Linear(4, 3)))
        model = paddle.Model(net)
        model.prepare(paddle.optimizer.Adam(0.1, parameters=net.parameters()), nn.CrossEntropyLoss())
        model.fit(Samples(), batch_size=4, verbose=0, shuffle=False)
        model.save(path)
        out["files"] = sorted(os.listdir(os.path.dirname(path)))
        out["keys"] = sorted(paddle.load(path + ".pdparams"))
        out["optimizer"] = len(paddle.load(path + ".pdopt"))

        def loaded(net, optimizer=True, **kwargs):
            again = paddle.Model(net)
            if optimizer:
                again.prepare(paddle.optimizer.Adam(0.1, parameters=net.parameters()), nn.CrossEntropyLoss())
            again.load(path, **kwargs)
            return again

        out["loaded"] = weights(loaded(nn.Sequential(nn.Linear(4, 3))))
        out["without an optimizer"] = weights(loaded(nn.Sequential(nn.Linear(4, 3)), False))
        out["another shape"] = failure(lambda: loaded(nn.Sequential(nn.Linear(4, 2))))
        out["another name"] = failure(lambda: loaded(nn.Linear(4, 3)))
        out["more layers"] = failure(lambda: loaded(nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 3))))
        out["no file"] = failure(lambda: model.load(os.path.join(folder, "other")))
        os.remove(path + ".pdopt")
        out["reset"] = weights(loaded(nn.Sequential(nn.Linear(4, 3)), reset_optimizer=True))
        out["no optimizer's file"] = messages(lambda: loaded(nn.Sequential(nn.Linear(4, 3))))
        out["suffix"] = failure(lambda: loaded_from_suffix(path))
    return out


def loaded_from_suffix(path):
    model = paddle.Model(nn.Sequential(nn.Linear(4, 3)))
    model.load(path + ".pdparams")
    return weights(model)


# --- mixed precision ------------------------------------------------------------------------------------------------

AMP = {
    "O0": "O0",
    "O1": "O1",
    "O2": "O2",
    "other level": "O3",
    "no dict": 3,
    "level": {"level": "O1"},
    "none": None,
    "empty": {},
    "scaler": {"level": "O1", "init_loss_scaling": 128.0, "incr_every_n_steps": 3, "use_dynamic_loss_scaling": True},
    "ratios": {"incr_ratio": 4.0, "decr_ratio": 0.25, "decr_every_n_nan_or_inf": 3},
    "lists": {"custom_white_list": {"matmul"}, "custom_black_list": {"tanh"}},
    "lists overlap": {"custom_white_list": {"matmul"}, "custom_black_list": {"matmul"}},
    "vars": {"custom_black_varnames": {"x"}},
    "pure": {"use_pure_fp16": True},
    "guard": {"use_fp16_guard": True},
    "guard O2": {"level": "O2", "use_fp16_guard": False},
    "unknown": {"other": 1},
    "lists O2": {"level": "O2", "custom_white_list": {"matmul"}},
    "level none": {"init_loss_scaling": 2.0},
}


@program
def amp_configs():
    out = {}
    for name, config in AMP.items():
        out[name] = failure(lambda c=config: prepared(amp_configs=c) and None)
    return out


# --- mistakes -------------------------------------------------------------------------------------------------------


@program
def mistakes():
    x, y = batch()

    def unprepared():
        return paddle.Model(fill(nn.Linear(4, 3)))

    return {
        "network": failure(lambda: paddle.Model("net")),
        "inputs": failure(lambda: paddle.Model(nn.Linear(4, 3), inputs=[3])),
        "inputs of a shape": failure(lambda: paddle.Model(nn.Linear(4, 3), inputs=[[None, 4]])),
        "metrics": failure(lambda: unprepared().prepare(metrics="acc")),
        "train unprepared": failure(lambda: unprepared().train_batch([x], [y])),
        "eval unprepared": failure(lambda: unprepared().eval_batch([x], [y])),
        "predict unprepared": failure(lambda: unprepared().predict_batch([x])),
        "fit unprepared": failure(lambda: unprepared().fit(Samples(), verbose=0)),
        "evaluate unprepared": failure(lambda: unprepared().evaluate(Samples(), verbose=0)),
        "fit nothing": failure(lambda: prepared().fit(None, verbose=0)),
        "accumulate 0": failure(lambda: prepared().fit(Samples(), verbose=0, accumulate_grad_batches=0)),
        "batch sizes": failure(lambda: prepared().fit(Samples(), Samples(), verbose=0, batch_size=[1, 2, 3])),
        "four fields": failure(lambda: prepared().fit(Samples(fields=4), verbose=0)),
        "callbacks": failure(lambda: prepared().fit(Samples(), verbose=0, callbacks=[3])),
    }


def results():
    out = {}
    for name, run in PROGRAMS.items():
        paddle.seed(1)
        np.random.seed(1)
        out[name] = run()
    return out


if __name__ == "__main__":
    if len(sys.argv) > 2:
        PROGRAMS = {name: PROGRAMS[name] for name in sys.argv[2:]}
    found = json.dumps(results(), separators=(",", ":"))
    with open(sys.argv[1], "w") as f:
        f.write(found + "\n")
