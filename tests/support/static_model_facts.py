"""Programs of ``paddle.Model`` that run in dynamic and in static mode, made by nothing but the public API.

The reference framework runs this file too, on its older programs, since its present ones lose the labels when they
predict. What it gives in static mode stands in ``tests/data/static_model.json``, which ``make oracle`` writes:
``FLAGS_enable_pir_api=0 python tests/support/static_model_facts.py FILE`` with the reference's Python.
"""

import json
import os
import pickle
import sys
import tempfile

import numpy as np

import paddle
from paddle import nn

PROGRAMS = {}
SPEC = paddle.static.InputSpec


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def array(*shape, k=0):
    return np.cos(np.arange(np.prod(shape)) * 0.9 + k).reshape(shape).astype("float32")


class Samples(paddle.io.Dataset):
    def __init__(self, n=10):
        self.x, self.y = array(n, 4), (np.arange(n) % 3).reshape(n, 1)

    def __getitem__(self, i):
        return self.x[i], self.y[i]

    def __len__(self):
        return len(self.x)


def fill(model):
    """Give a model weights that both frameworks have, from a file as the reference writes it."""
    weights = {}
    for i, (key, p) in enumerate(model.network.state_dict().items()):
        shape = [int(n) for n in p.shape]
        weights[key] = (np.sin(np.arange(np.prod(shape)) * 0.7 + i) * 0.6).reshape(shape).astype("float32")
        if key.endswith("_variance"):
            weights[key] = np.abs(weights[key]) + 0.5
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m")
        with open(path + ".pdparams", "wb") as f:
            pickle.dump(weights, f, protocol=2)
        model.load(path)
    return model


def classes():
    return nn.Sequential(
        nn.Linear(4, 6, bias_attr=False), nn.BatchNorm1D(6), nn.ReLU(), nn.Dropout(0.0), nn.Linear(6, 3)
    )


def prepared(optimizer, net=None, loss=True, metrics=None, inputs=None, labels=None, **kwargs):
    net = net or classes()
    model = paddle.Model(net, inputs or [SPEC([None, 4], "float32", "x")], labels or [SPEC([None, 1], "int64", "y")])
    model.prepare(optimizer(net.parameters()), nn.CrossEntropyLoss() if loss is True else loss, metrics, **kwargs)
    return fill(model)


def adam(parameters):
    return paddle.optimizer.Adam(0.05, parameters=parameters)


def numbers(v):
    if isinstance(v, dict):
        return {key: numbers(a) for key, a in v.items()}
    if isinstance(v, (list, tuple)):
        return [numbers(a) for a in v]
    return np.asarray(v).tolist()


def batch(n, k=0):
    return [array(n, 4, k=k)], [((np.arange(n) + k) % 3).reshape(n, 1)]


@program
def batches():
    """Single batches of several sizes, with a metric; statistics of the norm move in training alone."""
    model = prepared(adam, metrics=paddle.metric.Accuracy(topk=(1, 2)))
    out = [model.train_batch(*batch(n, k)) for k, n in enumerate((4, 6, 6))]
    out.append(model.eval_batch(*batch(5)))
    out.append(model.predict_batch(batch(5)[0]))
    out.append(model.eval_batch(*batch(3)))
    return numbers(out)


@program
def without_metrics():
    def momentum(parameters):
        return paddle.optimizer.Momentum(0.05, 0.9, parameters=parameters, weight_decay=0.01)

    model = prepared(momentum)
    return numbers([model.train_batch(*batch(6, k)) for k in range(3)] + [model.eval_batch(*batch(4))])


@program
def metrics_alone():
    model = prepared(lambda parameters: None, loss=None, metrics=[paddle.metric.Accuracy()])
    return numbers([model.evaluate(Samples(), batch_size=4, verbose=0)])


class Pair(nn.Layer):
    """Two inputs, two outputs."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(4, 2), nn.Linear(3, 2)

    def forward(self, a, b):
        return self.left(a), self.right(b)


def distances(p, q, y):
    return paddle.mean((p - y) ** 2), paddle.mean((q + y) * q)


class Mean(paddle.metric.Metric):
    """A metric that computes with tensors."""

    def __init__(self):
        super().__init__()
        self.reset()

    def compute(self, p, q, y):
        return paddle.mean(p), q

    def update(self, a, b):
        self.seen.append(float(a) + float(b.sum()))
        return self.seen[-1]

    def accumulate(self):
        return float(np.mean(self.seen))

    def reset(self):
        self.seen = []

    def name(self):
        return "mean"


@program
def several_inputs():
    inputs = [SPEC([None, 4], "float32", "a"), SPEC([None, 3], "float32", "b")]
    labels = SPEC([None, 2], "float32", "y")
    model = prepared(adam, Pair(), distances, Mean(), inputs, labels)
    given = [array(5, 4), array(5, 3)], [array(5, 2, k=1)]
    return numbers(
        [model.train_batch(*given), model.train_batch(*given), model.eval_batch(*given), model.predict_batch(given[0])]
    )


@program
def runs():
    """``fit`` with a schedule, ``evaluate`` and ``predict``."""

    def scheduled(parameters):
        rate = paddle.optimizer.lr.StepDecay(0.1, step_size=2, gamma=0.5)
        return paddle.optimizer.SGD(rate, parameters=parameters)

    model = prepared(scheduled, metrics=paddle.metric.Accuracy())
    model.fit(Samples(), Samples(6), batch_size=4, epochs=2, shuffle=False, verbose=0)
    out = [model.evaluate(Samples(), batch_size=4, verbose=0)]
    out.append(model.predict(Samples(), batch_size=4, stack_outputs=True, verbose=0)[0])
    out.append([len(p) for p in model.predict(Samples(), batch_size=4, verbose=0)])
    return numbers(out)


@program
def files():
    """Training goes on from a checkpoint as it went on before."""
    model = prepared(adam)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a", "m")
        out = [model.train_batch(*batch(6, k)) for k in range(2)]
        model.save(path)
        names = sorted(os.listdir(os.path.dirname(path)))
        out += [model.train_batch(*batch(6, k)) for k in range(2)]
        model.load(path)
        out += [model.train_batch(*batch(6, k)) for k in range(2)]
    return [names, numbers(out)]


def results(names=PROGRAMS):
    out = {}
    for name in names:
        paddle.seed(1)
        with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
            out[name] = PROGRAMS[name]()
    return out


if __name__ == "__main__":
    paddle.enable_static()
    found = json.dumps(results(), separators=(",", ":"))
    with open(sys.argv[1], "w") as f:
        f.write(found + "\n")
