"""Static programs that run here and in the reference, and what they give.

    cd / && PYTHON_OF_THE_REFERENCE .../static_programs.py .../tests/data/static_programs.json
    cd / && FLAGS_enable_pir_api=0 PYTHON_OF_THE_REFERENCE .../static_programs.py .../tests/data/static_programs.json

The reference runs those marked ``old`` on its older programs alone, which have no methods of variables: they are the
second command's, which adds to the file of the first. Parameters begin with numbers that depend on their names.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import paddle
import paddle.nn.functional as F

static = paddle.static


class Case(NamedTuple):
    """A program. ``old``: whether the reference runs it on its older programs."""

    run: Callable[[], Any]
    old: bool


CASES: dict[str, Case] = {}


def program(name: str, old: bool = False) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Enter a program, which returns arrays, numbers, texts and lists of these."""

    def enter(run: Callable[[], Any]) -> Callable[[], Any]:
        assert name not in CASES, name
        CASES[name] = Case(run, old)
        return run

    return enter


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers that depend on a seed."""
    return np.random.RandomState(seed).standard_normal(shape).astype("float32")


def attr(name: str, shape: Any, **kwargs: Any) -> Any:
    """Attributes of a parameter whose first values depend on its name."""
    drawn = np.random.RandomState(zlib.crc32(name.encode())).uniform(-0.6, 0.6, shape).astype("float32")
    return paddle.ParamAttr(name=name, initializer=paddle.nn.initializer.Assign(drawn), **kwargs)


def linear(name: str, n: int, m: int) -> Any:
    """A linear layer with such parameters."""
    return paddle.nn.Linear(n, m, weight_attr=attr(f"{name}_w", [n, m]), bias_attr=attr(f"{name}_b", [m]))


def started() -> Any:
    """An executor that has run the startup program."""
    exe = static.Executor(paddle.CPUPlace())
    exe.run(static.default_startup_program())
    return exe


def fetched(*xs: Any, runs: int = 1, **feed: Any) -> list[Any]:
    """The values of variables in some runs of the main program."""
    exe = started()
    return [exe.run(static.default_main_program(), feed=feed, fetch_list=list(xs)) for _ in range(runs)]


def held(name: str) -> np.ndarray:
    """The value of a variable in the scope."""
    return np.array(static.global_scope().find_var(name).get_tensor())


def result(name: str) -> Any:
    """What a program gives, as JSON."""
    main, startup = static.Program(), static.Program()
    with (
        paddle.utils.unique_name.guard(),
        static.scope_guard(static.Scope()),
        static.program_guard(main, startup),
    ):
        return plain(CASES[name].run())


def plain(x: Any) -> Any:
    """Arrays as lists of numbers with 7 digits."""
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    if isinstance(x, (bool, str)) or x is None:
        return x
    array = np.asarray(x)
    if array.dtype.kind in "biu":
        return array.tolist()
    return json.loads(json.dumps(array.astype("float64").tolist()), parse_float=lambda s: float(f"{float(s):.7g}"))


# --- training --------------------------------------------------------------------------------------------------------

X, Y = normal(6, 3), normal(6, 1, seed=1)


def regression() -> tuple[Any, Any]:
    """A loss of a small network, and its result."""
    x, y = static.data("x", [None, 3]), static.data("y", [None, 1])
    out = linear("second", 4, 1)(F.tanh(linear("first", 3, 4)(x)))
    return F.mse_loss(out, y), out


def trained(optimizer: Any, steps: int = 4, between: Callable[[], Any] = lambda: None) -> list[Any]:
    """Losses of some steps, and the weights behind them."""
    loss, _ = regression()
    optimizer.minimize(loss)
    exe = started()
    losses = []
    for step in range(steps):
        n = 6 - step % 2  # batches of two sizes
        losses.append(exe.run(feed={"x": X[:n], "y": Y[:n]}, fetch_list=[loss])[0].reshape(-1))
        between()
    return [losses, held("first_w"), held("second_b")]


def scheduled() -> list[Any]:
    """Training with a schedule of the learning rate."""
    schedule = paddle.optimizer.lr.StepDecay(0.2, step_size=2, gamma=0.5)
    return trained(paddle.optimizer.SGD(schedule), 5, schedule.step)


def warmed_up() -> list[Any]:
    """Training with a schedule that is made of two."""
    schedule = paddle.optimizer.lr.LinearWarmup(paddle.optimizer.lr.CosineAnnealingDecay(0.2, 5), 3, 0.0, 0.2)
    return trained(paddle.optimizer.Momentum(schedule, 0.9), 5, schedule.step)


OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: paddle.optimizer.SGD(0.1),
    "momentum": lambda: paddle.optimizer.Momentum(0.1, 0.9),
    "nesterov": lambda: paddle.optimizer.Momentum(0.1, 0.9, use_nesterov=True),
    "adam": lambda: paddle.optimizer.Adam(0.05),
    "adamw": lambda: paddle.optimizer.AdamW(0.05, weight_decay=0.1),
    "adagrad": lambda: paddle.optimizer.Adagrad(0.1),
    "adadelta": lambda: paddle.optimizer.Adadelta(0.1),
    "adamax": lambda: paddle.optimizer.Adamax(0.05),
    "rmsprop": lambda: paddle.optimizer.RMSProp(0.05),
    "rmsprop, centered": lambda: paddle.optimizer.RMSProp(0.05, centered=True, momentum=0.5),
    "lamb": lambda: paddle.optimizer.Lamb(0.05),
    "nadam": lambda: paddle.optimizer.NAdam(0.05),
    "radam": lambda: paddle.optimizer.RAdam(0.05),
    "clip by the global norm": lambda: paddle.optimizer.SGD(0.1, grad_clip=paddle.nn.ClipGradByGlobalNorm(0.2)),
    "clip by norms": lambda: paddle.optimizer.Adam(0.1, grad_clip=paddle.nn.ClipGradByNorm(0.1)),
    "L2 decay": lambda: paddle.optimizer.Momentum(0.1, weight_decay=paddle.regularizer.L2Decay(0.1)),
    "L1 decay": lambda: paddle.optimizer.SGD(0.1, weight_decay=paddle.regularizer.L1Decay(0.05)),
}
for _name, _make in OPTIMIZERS.items():
    program(f"training: {_name}")(lambda make=_make: trained(make()))
program("training: a schedule")(scheduled)
program("training: warm-up")(warmed_up)


@program("training: parameters that are left out")
def _left_out() -> Any:
    loss, _ = regression()
    left_out = {p for p in static.default_main_program().global_block().all_parameters() if p.name == "first_w"}
    paddle.optimizer.SGD(0.1).minimize(loss, no_grad_set=left_out)
    fetched(loss, x=X, y=Y)
    return [held("first_w"), held("first_b"), held("second_w")]


@program("training: an image classifier")
def _classifier() -> Any:
    x, label = static.data("x", [None, 1, 6, 6]), static.data("label", [None, 1], "int64")
    conv = paddle.nn.Conv2D(1, 3, 3, weight_attr=attr("c_w", [3, 1, 3, 3]), bias_attr=attr("c_b", [3]))
    hidden = F.max_pool2d(F.relu(conv(x)), 2)
    loss = F.cross_entropy(linear("out", 12, 4)(paddle.flatten(hidden, 1)), label)
    paddle.optimizer.Adam(0.02).minimize(loss)
    return [fetched(loss, x=normal(5, 1, 6, 6), label=np.arange(5).reshape(5, 1) % 4, runs=3), held("c_w")]


@program("training: batch norm")
def _batch_norm() -> Any:
    x = static.data("x", [None, 4])
    norm = paddle.nn.BatchNorm1D(4, weight_attr=attr("g", [4]), bias_attr=attr("b", [4]))
    loss = (norm(x) ** 2 * static.data("w", [None, 4])).mean()
    paddle.optimizer.SGD(0.1).minimize(loss)
    got = fetched(loss, x=normal(6, 4) + 1, w=normal(6, 4, seed=2), runs=2)
    return [got, held("g"), held(norm._mean.name), held(norm._variance.name)]


@program("training: words")
def _words() -> Any:
    words, label = static.data("words", [None, 4], "int64"), static.data("label", [None, 1], "int64")
    table = paddle.nn.Embedding(8, 3, weight_attr=attr("table", [8, 3]))
    loss = F.cross_entropy(linear("out", 3, 2)(table(words).mean(1)), label)
    paddle.optimizer.Adagrad(0.2).minimize(loss)
    ids = np.random.RandomState(0).randint(0, 8, (5, 4))
    return [fetched(loss, words=ids, label=np.arange(5).reshape(5, 1) % 2, runs=3), held("table")]


@program("training: several losses by weights")
def _several() -> Any:
    loss, out = regression()
    total = loss * 0.5 + F.l1_loss(out, static.data("z", [None, 1])) * 2.0
    paddle.optimizer.SGD(0.05).minimize(total)
    return [fetched(loss, total, x=X, y=Y, z=Y * 2, runs=3), held("second_w")]


@program("training: gradients that are changed by hand")
def _by_hand() -> Any:
    loss, _ = regression()
    optimizer = paddle.optimizer.SGD(0.1)
    pairs = optimizer.backward(loss)
    optimizer.apply_gradients([(p, g * 2.0) for p, g in pairs if p.name.endswith("_w")])
    return [fetched(loss, x=X, y=Y, runs=2), held("first_w"), held("first_b")]


@program("training: two optimizers")
def _two() -> Any:
    x = static.data("x", [None, 3])
    first, second = linear("a", 3, 2), linear("b", 2, 1)
    hidden = F.tanh(first(x))
    loss = (second(hidden) ** 2).mean()
    paddle.optimizer.SGD(0.1).minimize(loss, parameters=[second.weight])
    paddle.optimizer.Adam(0.1).minimize((hidden**2).mean(), parameters=[first.weight])
    return [fetched(loss, x=X, runs=3), held("a_w"), held("b_w"), held("b_b")]


# --- layers ----------------------------------------------------------------------------------------------------------


def with_gradient(y: Any, of: Any, /, *names: str, **feed: Any) -> Any:
    """A result, and the gradients of a function of it with respect to an input and parameters."""
    params = [p for p in static.default_main_program().global_block().all_parameters() if p.name in names]
    grads = static.gradients((y * y).mean(), [of, *sorted(params, key=lambda p: p.name)])
    return fetched(y, *grads, **feed)


def sequence() -> Any:
    x = static.data("x", [2, 4, 3])
    x.stop_gradient = False
    return x


def recurrent(kind: Any, gates: int) -> Any:
    x = sequence()
    layer = kind(
        3, 2, weight_ih_attr=attr("wi", [gates * 2, 3]), weight_hh_attr=attr("wh", [gates * 2, 2]),
        bias_ih_attr=attr("bi", [gates * 2]), bias_hh_attr=attr("bh", [gates * 2]),
    )  # fmt: skip
    return with_gradient(layer(x)[0], x, "wi", "wh", "bi", x=normal(2, 4, 3))


program("layers: SimpleRNN")(lambda: recurrent(paddle.nn.SimpleRNN, 1))
program("layers: GRU")(lambda: recurrent(paddle.nn.GRU, 3))
program("layers: LSTM")(lambda: recurrent(paddle.nn.LSTM, 4))


@program("layers: attention")
def _attention() -> Any:
    x = static.data("x", [2, 5, 4])
    x.stop_gradient = False
    q, k, v = (linear(n, 4, 4)(x).reshape([2, 5, 2, 2]).transpose([0, 2, 1, 3]) for n in "qkv")
    weights = F.softmax(paddle.matmul(q, k, transpose_y=True) / 2.0**0.5)
    y = paddle.matmul(weights, v).transpose([0, 2, 1, 3]).reshape([2, 5, 4])
    return with_gradient(y, x, "q_w", "v_w", x=normal(2, 5, 4))


@program("layers: norms")
def _norms() -> Any:
    x = static.data("x", [2, 4, 3, 3])
    x.stop_gradient = False
    group = paddle.nn.GroupNorm(2, 4, weight_attr=attr("gw", [4]), bias_attr=attr("gb", [4]))
    layer = paddle.nn.LayerNorm([3], weight_attr=attr("lw", [3]), bias_attr=attr("lb", [3]))
    return with_gradient(layer(group(x)), x, "gw", "lb", x=normal(2, 4, 3, 3))


@program("layers: convolutions")
def _convolutions() -> Any:
    x = static.data("x", [None, 4, 6, 6])
    x.stop_gradient = False
    down = paddle.nn.Conv2D(
        4, 4, 3, stride=2, padding=1, groups=2, weight_attr=attr("dw", [4, 2, 3, 3]), bias_attr=attr("db", [4])
    )
    up = paddle.nn.Conv2DTranspose(4, 2, 2, stride=2, weight_attr=attr("uw", [4, 2, 2, 2]), bias_attr=False)
    return with_gradient(up(F.gelu(down(x))), x, "dw", "uw", x=normal(2, 4, 6, 6))


@program("layers: activations")
def _activations() -> Any:
    x = static.data("x", [None, 4])
    x.stop_gradient = False
    y = paddle.concat([f(x) for f in (F.relu, F.sigmoid, F.silu, F.elu, F.softplus, F.hardswish, F.leaky_relu)], 1)
    return with_gradient(y, x, x=normal(3, 4))


@program("layers: losses")
def _losses() -> Any:
    x, label = static.data("x", [None, 4]), static.data("label", [None], "int64")
    p, y = F.softmax(x), static.data("y", [None, 4])
    losses = [
        F.cross_entropy(x, label), F.nll_loss(paddle.log(p), label), F.kl_div(paddle.log(p), y), F.smooth_l1_loss(x, y),
        F.binary_cross_entropy_with_logits(x, y), F.cross_entropy(x, y, soft_label=True),
        F.cross_entropy(x, label, label_smoothing=0.1),
    ]  # fmt: skip
    return fetched(*losses, x=normal(3, 4), label=np.array([0, 3, 1]), y=np.abs(normal(3, 4)) / 4)


# --- branches and loops ----------------------------------------------------------------------------------------------


def signs(build: Callable[[Any], list[Any]]) -> Any:
    """The values of ``build(x)`` for an input of either sign."""
    x = static.data("x", [None])
    x.stop_gradient = False
    xs = build(x)
    exe = started()
    return [exe.run(feed={"x": np.array(v, "float32")}, fetch_list=xs) for v in ([1.0, 2.0], [-3.0, 1.0])]


def orders(y: Any, x: Any, n: int) -> list[Any]:
    """A variable, and its gradients up to an order."""
    out = [y]
    for _ in range(n):
        (y,) = static.gradients(y, [x])
        out.append(y)
    return out


def counted(build: Callable[[Any], Any]) -> list[Any]:
    """Results for rows of which some, others, and none have positive numbers, and the gradient of the first one."""
    x = static.data("x", [None, 3])
    x.stop_gradient = False
    found = build(x)
    found = list(found) if isinstance(found, (list, tuple)) else [found]
    if found[0].dtype == x.dtype:
        found += [g for g in static.gradients((found[0] * found[0]).sum(), [x]) if g is not None]
    exe, program = started(), static.default_main_program()
    return [exe.run(program, feed={"x": rows}, fetch_list=found) for rows in (X, X[:2], -abs(X))]


def _lengths(x: Any) -> Any:
    return (x[:, 0].abs() * 3).astype("int64") + 1


for _name, _build in {
    "nonzero": lambda x: paddle.nonzero(x > 0),
    "a mask": lambda x: x[x > 0] * 2,
    "rows by a mask": lambda x: paddle.concat([x[x[:, 0] > 0], x[:1]]),
    "masked_select": lambda x: paddle.masked_select(x, x > 0),
    "gather at nonzero": lambda x: paddle.gather_nd(x, paddle.nonzero(x > 0)),
    "unique": lambda x: [paddle.shape(x), *paddle.unique(x.round(), return_inverse=True, return_counts=True)],
    "unique_consecutive": lambda x: paddle.unique_consecutive((x > 0).astype("int32")),
    "sequence_mask": lambda x: F.sequence_mask(_lengths(x)),
    "repeat_interleave": lambda x: paddle.repeat_interleave(x, _lengths(x), 0),
    "bincount": lambda x: paddle.bincount(_lengths(x)),
    "arange": lambda x: paddle.arange(_lengths(x).max()),
    "full": lambda x: paddle.full([_lengths(x).max(), 2], 3.0),
    "slices": lambda x: x[: _lengths(x).min()] * 2,
    "in a branch": lambda x: static.nn.cond(x.sum() > 0, lambda: (x[x > 0] ** 2).sum(), lambda: x.sum()),
}.items():
    program(f"sizes from data: {_name}")(lambda build=_build: counted(build))


@program("sizes from data: training")
def _trained_on_rows() -> Any:
    x = static.data("x", [None, 3])
    y = linear("first", 3, 4)(x)
    loss = (y[y.sum(1) > 0] ** 2).sum()
    paddle.optimizer.Adam(0.1).minimize(loss)
    exe = started()
    losses = [exe.run(feed={"x": X[:n]}, fetch_list=[loss])[0].reshape(-1) for n in (6, 4, 6)]
    return [losses, held("first_w")]


@program("branches: values")
def _cond() -> Any:
    return signs(lambda x: list(static.nn.cond(x.sum() > 0, lambda: (x * 2, x + 1), lambda: (x - 1, x * x))))


@program("branches: gradients")
def _cond_gradients() -> Any:
    return signs(lambda x: orders(static.nn.cond(x.sum() > 0, lambda: x**3, lambda: paddle.exp(x)), x, 1))


@program("branches: nested")
def _nested() -> Any:
    def inner(x: Any) -> Any:
        return static.nn.cond(x.max() > 1.5, lambda: x * x, lambda: x * 3)

    # The reference gives no gradients through a branch in the second function.
    return signs(
        lambda x: [
            static.nn.cond(x.sum() > 0, lambda: inner(x), lambda: inner(-x) * 2),
            *orders(static.nn.cond(x.sum() > 0, lambda: inner(x), lambda: x * x), x, 1),
        ]
    )


@program("branches: case")
def _case() -> Any:
    return signs(
        lambda x: [
            static.nn.case([(x.sum() < -5, lambda: x), (x.sum() < 0, lambda: x * 2)], default=lambda: x * 3),
            static.nn.case([(x.sum() > 100, lambda: x), (x.sum() > 50, lambda: x - 1)]),
        ]
    )


@program("branches: switch_case")
def _switch() -> Any:
    i, x = static.data("i", [1], "int32"), static.data("x", [2])
    y = static.nn.switch_case(i, {1: lambda: x + 1, 3: lambda: x * 5}, default=lambda: -x)
    exe = started()
    return [exe.run(feed={"i": np.array([k], "int32"), "x": normal(2)}, fetch_list=[y]) for k in (1, 2, 3)]


@program("loops: values")
def _loop() -> Any:
    n, x = static.data("n", [1], "int64"), static.data("x", [None])
    i = paddle.zeros([1], "int64")
    _, y = static.nn.while_loop(lambda i, y: i < n, lambda i, y: [i + 1, y * 2 + 1], [i, x])
    exe = started()
    return [exe.run(feed={"n": np.array([k]), "x": normal(3)}, fetch_list=[y]) for k in (0, 1, 4)]


def powers(x: Any, times: int) -> Any:
    i, y = paddle.zeros([1], "int64"), x * 1.0
    return static.nn.while_loop(lambda i, y: i < times, lambda i, y: [i + 1, y * x], [i, y])[1]


@program("loops: gradients")
def _loop_gradients() -> Any:
    return signs(lambda x: orders(powers(x, 2), x, 1))


@program("branches: gradients of second order")
def _cond_second() -> Any:
    return signs(lambda x: orders(static.nn.cond(x.sum() > 0, lambda: x * x * x, lambda: x * paddle.sin(x)), x, 2))


@program("loops: a branch inside")
def _branch_in_loop() -> Any:
    def build(x: Any) -> list[Any]:
        def body(i: Any, y: Any) -> list[Any]:
            return [i + 1, static.nn.cond(y.sum() > 2, lambda: y * 0.5, lambda: y + x)]

        return static.nn.while_loop(lambda i, y: i < 5, body, [paddle.zeros([1], "int64"), x * 1.0])[1:]

    return signs(build)


@program("loops: a loop inside")
def _loop_in_loop() -> Any:
    def build(x: Any) -> list[Any]:
        def inner(y: Any) -> Any:
            j = paddle.zeros([1], "int64")
            return static.nn.while_loop(lambda j, v: j < 2, lambda j, v: [j + 1, v * 1.5 + x], [j, y])[1]

        i = paddle.zeros([1], "int64")
        return static.nn.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, inner(y) - 1], [i, x * 1.0])[1:]

    return signs(build)


@program("loops: training through one")
def _train_loop() -> Any:
    # The reference has no gradients of parameters that the body alone reads.
    h, i = linear("cell", 3, 3)(static.data("x", [4, 3])), paddle.zeros([1], "int64")
    _, h = static.nn.while_loop(lambda i, h: i < 3, lambda i, h: [i + 1, F.tanh(h) * 1.5], [i, h])
    loss = (h**2).mean()
    paddle.optimizer.SGD(0.1).minimize(loss)
    return [fetched(loss, x=normal(4, 3), runs=3), held("cell_w")]


@program("branches: training through one")
def _train_branch() -> Any:
    x = static.data("x", [None, 3])
    a, b = linear("a", 3, 2), linear("b", 3, 2)
    y = static.nn.cond(x.sum() > 0, lambda: a(x), lambda: b(x) * 2)
    loss = (y**2).mean()
    paddle.optimizer.Momentum(0.1).minimize(loss)
    exe = started()
    losses = [exe.run(feed={"x": v}, fetch_list=[loss]) for v in (np.abs(X), -np.abs(X), np.abs(X))]
    return [losses, held("a_w"), held("b_w")]


# --- gradients -------------------------------------------------------------------------------------------------------


@program("gradients: variables where they end")
def _ends() -> Any:
    x = static.data("x", [3])
    x.stop_gradient = False
    y = x * 2
    (whole,) = static.gradients([y * x], [x])
    (part,) = static.gradients([y * x], [x], no_grad_set={y})
    return fetched(whole, part, x=normal(3))


@program("gradients: three orders")
def _three() -> Any:
    return signs(lambda x: orders(x * x * x * x * x - 2 * (x * x * x), x, 3))


@program("gradients: of a sine")
def _sine() -> Any:
    return signs(lambda x: orders(paddle.sin(x) * paddle.cos(x * 0.5), x, 3))


@program("gradients: second order of a network")
def _second() -> Any:
    x = static.data("x", [None, 3])
    x.stop_gradient = False
    first = linear("first", 3, 4)
    y = F.sigmoid(first(x)).sum()
    (g,) = static.gradients(y, [x])
    h = static.gradients((g**2).sum(), [x, first.weight])
    return fetched(y, g, *h, x=X)


@program("gradients: a penalty on them")
def _penalty() -> Any:
    x = static.data("x", [None, 3])
    x.stop_gradient = False
    critic = linear("out", 4, 1)(F.tanh(linear("first", 3, 4)(x)))
    (g,) = static.gradients(critic.sum(), [x])
    loss = critic.mean() + (((g**2).sum(1) ** 0.5 - 1) ** 2).mean()
    paddle.optimizer.Adam(0.05).minimize(loss)
    return [fetched(loss, x=X, runs=3), held("first_w")]


@program("gradients: of given ones")
def _given() -> Any:
    x, v = static.data("x", [None, 3]), static.data("v", [None, 3])
    x.stop_gradient = False
    y = paddle.cumsum(x**2, 1)
    (g,) = static.gradients([y], [x], target_gradients=[v])
    (both,) = static.gradients([y, x * 3], [x], target_gradients=[v, None])
    return fetched(g, both, x=X, v=normal(6, 3, seed=4))


@program("gradients: a Hessian times a vector")
def _hessian() -> Any:
    x, v = static.data("x", [3]), static.data("v", [3])
    x.stop_gradient = False
    y = (x * x * x).sum() * x.sum()
    (g,) = static.gradients(y, [x])
    (hv,) = static.gradients((g * v).sum(), [x])
    return fetched(y, g, hv, x=normal(3), v=normal(3, seed=1))


@program("gradients: what stops them")
def _stops() -> Any:
    x = static.data("x", [None])
    x.stop_gradient = False
    kept = x * 2
    kept.stop_gradient = True
    (g,) = static.gradients((kept * x + x.detach() * x).sum(), [x])
    return fetched(g, x=normal(3))


@program("gradients: of parameters in pairs")
def _pairs() -> Any:
    loss, _ = regression()
    pairs = static.append_backward(loss)
    pairs = sorted(pairs, key=lambda pair: pair[0].name)
    return [[p.name for p, _ in pairs], fetched(*[g for _, g in pairs], x=X, y=Y)]


@program("gradients: through indices")
def _indices() -> Any:
    x, i = static.data("x", [4, 3]), static.data("i", [None], "int64")
    x.stop_gradient = False
    y = paddle.gather(x, i) * paddle.arange(3, dtype="float32")
    z = paddle.scatter(x, i, y, overwrite=False)
    return fetched(y, z, *static.gradients((z**2).sum() + y.sum(), [x]), x=normal(4, 3), i=np.array([2, 0]))


@program("gradients: of matmuls")
def _matrices() -> Any:
    a, b = static.data("a", [None, 2, 3]), static.data("b", [None, 3, 3])
    a.stop_gradient = b.stop_gradient = False
    y = paddle.einsum("bij,bjk->bik", a, b)
    return fetched(y, *static.gradients((y**2).sum(), [a, b]), a=normal(2, 2, 3), b=normal(2, 3, 3, seed=1))


# --- what programs keep, and how they run ----------------------------------------------------------------------------


@program("state: a counter", old=True)
def _counter() -> Any:
    count = static.create_global_var([1], 0, "int64", persistable=True, name="count")
    paddle.increment(count, 2)
    return fetched(count, runs=3)


@program("state: a parameter that is assigned")
def _assigned() -> Any:
    w = static.create_parameter([2], "float32", attr=attr("w", [2]))
    x = static.data("x", [2])
    paddle.assign(w * 0.5 + x, w)
    return [fetched(w, x=normal(2), runs=2), held("w")]


@program("state: parameters that programs share")
def _shared() -> Any:
    x = static.data("x", [None, 3])
    loss = (linear("w", 3, 1)(x) ** 2).mean()
    other = static.Program()
    with static.program_guard(other, static.Program()):
        z = static.data("x", [None, 3])
        y = linear("w", 3, 1)(z)
    paddle.optimizer.SGD(0.1).minimize(loss)
    exe = started()
    out = []
    for _ in range(2):
        out.append(exe.run(static.default_main_program(), feed={"x": X}, fetch_list=[loss]))
        out.append(exe.run(other, feed={"x": X[:2]}, fetch_list=[y]))
    return out


@program("state: scopes")
def _scopes() -> Any:
    loss, _ = regression()
    paddle.optimizer.SGD(0.1).minimize(loss)
    exe = started()
    for _ in range(2):
        exe.run(feed={"x": X, "y": Y})
    other = static.Scope()
    with static.scope_guard(other):
        exe.run(static.default_startup_program())
        fresh = exe.run(feed={"x": X, "y": Y}, fetch_list=[loss])
        inside = held("first_w")
    return [fresh, inside, held("first_w")]


@program("state: steps that scopes have done")
def _steps_of_scopes() -> Any:
    loss, _ = regression()
    paddle.optimizer.Adam(0.1).minimize(loss)
    scopes = [static.Scope(), static.Scope()]
    exe = static.Executor(paddle.CPUPlace())
    for scope in scopes:
        exe.run(static.default_startup_program(), scope=scope)
    feed = {"x": X, "y": Y}
    return [exe.run(feed=feed, fetch_list=[loss], scope=scopes[i]) for i in (0, 0, 1, 0, 1, 1)]


@program("state: a startup program that is run again")
def _restarted() -> Any:
    loss, _ = regression()
    paddle.optimizer.Adam(0.1).minimize(loss)
    feed = {"x": X, "y": Y}
    out = []
    for _ in range(2):
        exe = started()
        out.append([exe.run(feed=feed, fetch_list=[loss]) for _ in range(3)])
    return out


@program("state: programs that share a startup program", old=True)
def _adversaries() -> Any:
    made, judged, startup = static.Program(), static.Program(), static.default_startup_program()

    def judge(x: Any) -> Any:
        hidden = static.nn.fc(x, 4, weight_attr=attr("j1", [3, 4]), bias_attr=False, activation="relu")
        return static.nn.fc(hidden, 1, weight_attr=attr("j2", [4, 1]), bias_attr=attr("jb", [1]))

    with static.program_guard(judged, startup):
        real, fake = judge(static.data("real", [None, 3])), judge(static.data("fake", [None, 3]))
        judged_loss = paddle.mean((real - 1) * (real - 1)) + paddle.mean(fake * fake)
        paddle.optimizer.Adam(0.05).minimize(judged_loss)
    with static.program_guard(made, startup):
        out = static.nn.fc(static.data("z", [None, 2]), 3, weight_attr=attr("g", [2, 3]), bias_attr=False)
        score = judge(out) - 1
        made_loss = paddle.mean(score * score)
        own = [p for p in made.all_parameters() if p.name == "g"]
        paddle.optimizer.Adam(0.05).minimize(made_loss, startup_program=startup, parameters=own)
    exe, found = started(), []
    for i in range(3):
        z = normal(4, 2, seed=i)
        fake, loss = exe.run(made, {"z": z}, [out, made_loss])
        found.append([loss, *exe.run(judged, {"real": normal(4, 3, seed=i + 9), "fake": fake}, [judged_loss])])
    return found


@program("state: values of a program", old=True)
def _state_dict() -> Any:
    x = static.data("x", [None, 3])
    y = static.nn.fc(x, 1, weight_attr=attr("first_w", [3, 1]))
    loss = paddle.mean(y * y)
    paddle.optimizer.Adam(0.1).minimize(loss)
    exe = started()
    main = static.default_main_program()
    before = {k: np.array(v) for k, v in main.state_dict("param").items()}
    one = exe.run(main, feed={"x": X}, fetch_list=[loss])
    main.set_state_dict(before)
    again = exe.run(main, feed={"x": X}, fetch_list=[loss])
    return [sorted(before), one, again, before["first_w"]]


@program("state: a copy that trains")
def _copied() -> Any:
    loss, _ = regression()
    copied = static.default_main_program().clone()
    with static.program_guard(copied):
        mapped = copied.global_block().all_parameters()
    exe = started()
    return [sorted(p.name for p in mapped), exe.run(copied, feed={"x": X, "y": Y})]


@program("runs: sizes that vary")
def _sizes() -> Any:
    x = static.data("x", [None, None])
    y = [x.sum(0), paddle.reshape(x, [-1]), x[-1:], paddle.shape(x), F.softmax(x, 0).max(1)]
    exe = started()
    return [exe.run(feed={"x": normal(*s)}, fetch_list=y) for s in ((2, 3), (4, 2), (3, 5))]


@program("runs: sizes as tensors")
def _sizes_as_tensors() -> Any:
    x = static.data("x", [None, None, 4])
    sizes = paddle.shape(x)
    half = paddle.cast(paddle.ceil(paddle.cast(sizes[1], "float32") / 2), "int32")
    y = [
        paddle.reshape(x, [sizes[0] * sizes[1], 4]),
        paddle.reshape(x, paddle.concat([sizes[:1], sizes[2:] * sizes[1]])), paddle.zeros([sizes[0], 2]),
        paddle.full(paddle.stack([sizes[1], sizes[2]]), 0.5), paddle.arange(sizes[1]),
        paddle.expand(x[:1, :1, 0], [sizes[0], sizes[1]]), x[:, : sizes[1] - 1], x[:, :half], x[:, sizes[1] // 2 :],
        paddle.slice(x, [1], [1], [sizes[1]]), paddle.slice(x, [0], [0], [1]), paddle.tile(x, [sizes[0], 1, 1]),
        paddle.linspace(0.0, 1.0, sizes[1]), F.sequence_mask(sizes[1:2] - 1, maxlen=sizes[1]),
        paddle.topk(x, paddle.full([1], 2, "int32"))[0],
    ]  # fmt: skip
    exe = started()
    return [exe.run(feed={"x": normal(*s, 4)}, fetch_list=y) for s in ((2, 3), (1, 5), (4, 2))]


@program("runs: batches of a loader")
def _loader() -> Any:
    x, label = static.data("x", [None, 3]), static.data("label", [None, 1], "int64")
    loss = F.cross_entropy(linear("w", 3, 3)(x), label)
    paddle.optimizer.SGD(0.1).minimize(loss)
    exe, rows = started(), [(X[i], np.array([i % 3])) for i in range(6)]
    loader = paddle.io.DataLoader(rows, feed_list=[x, label], batch_size=2, return_list=False)
    return [exe.run(feed=batch, fetch_list=[loss]) for batch in loader]


@program("runs: an array of tensors")
def _array() -> Any:
    x = static.data("x", [None, 3])
    array = paddle.tensor.create_array("float32")
    for i in range(2):
        array = paddle.tensor.array_write(x * (i + 1), paddle.full([1], i, "int64"), array)
    length = paddle.tensor.array_length(array)
    return fetched(paddle.tensor.array_read(array, length - 1), length, x=normal(2, 3))


@program("runs: only what is fetched")
def _fetched() -> Any:
    x = static.data("x", [None])
    y, z = x * 2, x + 1
    exe = started()
    return [exe.run(feed={"x": normal(2)}, fetch_list=[z]), exe.run(feed={"x": normal(2)}, fetch_list=[y, z, x])]


@program("runs: shapes and elements")
def _elements() -> Any:
    x = static.data("x", [None, 4])
    y = [
        paddle.concat(paddle.split(x, 2, 1)[::-1], 1), paddle.stack([x, -x], 1), paddle.topk(x, 2)[1],
        paddle.argsort(x, 1), paddle.cumsum(x, 0), paddle.where(x > 0, x, x * 0.1), paddle.tile(x[:, :1], [1, 3]),
        paddle.clip(x, -0.5, 0.5), x.transpose([1, 0]), paddle.expand(x[:, None], [3, 2, 4]), paddle.flip(x, [1]),
    ]  # fmt: skip
    return fetched(*y, x=normal(3, 4))


@program("runs: integers and flags")
def _integers() -> Any:
    i = static.data("i", [None], "int64")
    y = [i % 3, i // 2, paddle.cast(i, "float32") / 2, (i > 1).astype("int32"), F.one_hot(i, 5).sum(0), i.max()]
    return fetched(*y, i=np.array([0, 4, 2, 3]))


@program("metrics: accuracy")
def _accuracy() -> Any:
    x, label = static.data("x", [None, 4]), static.data("label", [None, 1], "int64")
    return fetched(*(static.accuracy(x, label, k) for k in (1, 2, 3)), x=normal(5, 4), label=np.arange(5)[:, None] % 4)


# --- functions and layers of static programs -------------------------------------------------------------------------


@program("layers: static_pylayer")
def _pylayer() -> Any:
    x = static.data("x", [2, 3])
    x.stop_gradient = False
    y = static.nn.static_pylayer(lambda a: paddle.tanh(a) * 2, [x * 3], lambda g: g * 5)
    return fetched(y, *static.gradients((y * y).sum(), [x]), x=normal(2, 3))


@program("layers: row_conv", old=True)
def _row_conv() -> Any:
    x = static.data("x", [2, 5, 3])
    x.stop_gradient = False
    y = static.nn.row_conv(x, 2, param_attr=attr("row", [3, 3]))
    return fetched(y, *static.gradients(paddle.mean(y * y), [x]), x=normal(2, 5, 3))


@program("training: a Python function", old=True)
def _py_func() -> Any:
    x, main = static.data("x", [None, 3]), static.default_main_program()
    hidden = static.nn.fc(x, 2, weight_attr=attr("w", [3, 2]), bias_attr=False)
    y = main.current_block().create_var(name="y", dtype="float32", shape=[-1, 2])
    static.py_func(
        lambda a: np.sin(np.array(a)), hidden, y, backward_func=lambda a, b, g: np.array(g) * np.cos(np.array(a))
    )
    loss = paddle.mean(y * y)
    paddle.optimizer.SGD(0.1).minimize(loss)
    return [fetched(y, loss, x=X, runs=3), held("w")]


@program("functions: several results", old=True)
def _py_func_several() -> Any:
    block = static.default_main_program().current_block()
    x, w = static.data("x", [None, 3]), static.data("w", [3])
    x.stop_gradient = False
    y, n = (block.create_var(name=n, dtype=d, shape=s) for n, d, s in (("y", "float32", [-1, 3]), ("n", "int64", [1])))

    def forward(a: Any, b: Any) -> Any:
        return np.array(a) * np.array(b), np.array([len(np.array(a))])

    def backward(a: Any, b: Any, g: Any, unused: Any) -> Any:
        return np.array(g) * np.array(b), (np.array(g) * np.array(a)).sum(0)

    static.py_func(forward, [x, w], [y, n], backward, skip_vars_in_backward_input=[y, n])
    return fetched(y, n, *static.gradients(paddle.mean(y * y), [x]), x=X, w=normal(3, seed=5))


@program("layers: weights as lengths and directions", old=True)
def _weight_norm() -> Any:
    x = static.data("x", [None, 3])
    drawn = paddle.nn.initializer.Assign(normal(3, 4, seed=3))
    y = [
        static.nn.fc(x, 4, weight_attr=static.WeightNormParamAttr(dim=d, name=f"n{d}", initializer=drawn))
        for d in (None, 0, 1)
    ]
    names = sorted(p.name for p in static.default_main_program().global_block().all_parameters())
    return [names, fetched(*y, x=X), [held(n) for n in names]]


@program("training: weights as lengths and directions", old=True)
def _weight_norm_training() -> Any:
    x = static.data("x", [None, 3])
    drawn = paddle.nn.initializer.Assign(normal(3, 4, seed=3))
    norm = static.WeightNormParamAttr(dim=None, name="n", initializer=drawn)
    y = static.nn.fc(x, 4, weight_attr=norm, bias_attr=False)
    loss = paddle.mean(y * y)
    paddle.optimizer.SGD(0.5).minimize(loss)
    return [fetched(loss, x=X, runs=3), held("n_g"), held("n_v")]


@program("layers: nce, weights of rows", old=True)
def _nce_weights() -> Any:
    x, label = static.data("x", [None, 3]), static.data("label", [None, 2], "int64")
    x.stop_gradient = False
    equal, weights = paddle.nn.initializer.Constant(0.1), static.data("s", [None, 1])
    y = static.nn.nce(x, label, 8, weights, param_attr=equal, bias_attr=equal, num_neg_samples=3)
    grads = static.gradients(paddle.mean(y), [x])
    return fetched(y, *grads, x=X, label=np.arange(12).reshape(6, 2) % 8, s=np.abs(normal(6, 1)))


@program("layers: nce, equal classes", old=True)
def _nce_equal() -> Any:
    x, label = static.data("x", [None, 3]), static.data("label", [None, 1], "int64")
    equal = paddle.nn.initializer.Constant(0.1)
    ys = [
        static.nn.nce(x, label, 8, num_neg_samples=4, param_attr=equal, bias_attr=equal, **kwargs)
        for kwargs in ({}, {"sampler": "custom_dist", "custom_dist": [0.125] * 8})
    ]
    return fetched(*ys, x=X, label=np.arange(6).reshape(6, 1))


# --- metrics that are kept -------------------------------------------------------------------------------------------

SCORES = np.array([[0.1, 0.9], [0.5, 0.5], [0.6, 0.4], [0.8, 0.2], [0.35, 0.65]], "float32")


def areas(batches: int = 3, **kwargs: Any) -> Any:
    x, label = static.data("x", [None, 2]), static.data("label", [None, 1], "int64")
    total, last, states = static.auc(x, label, **kwargs)
    exe = started()
    labels = np.array([[1], [0], [1], [0], [0]])
    return [
        exe.run(feed={"x": np.roll(SCORES, k, 0), "label": labels}, fetch_list=[total, last, *states])
        for k in range(batches)
    ]


program("metrics: auc", old=True)(lambda: areas(num_thresholds=15))
program("metrics: auc of the last two runs", old=True)(lambda: areas(num_thresholds=7, slide_steps=2))
program("metrics: auc of all runs", old=True)(lambda: areas(num_thresholds=7, slide_steps=0, curve="PR"))


@program("metrics: rates of clicks", old=True)
def _clicks() -> Any:
    x, label = static.data("x", [None, 1]), static.data("label", [None, 1])
    bundle = static.ctr_metric_bundle(x, label)
    return fetched(*bundle, x=SCORES[:, 1:], label=np.array([[1], [0], [1], [0], [1]], "float32"), runs=2)


# --- mixed precision -------------------------------------------------------------------------------------------------


def mixed(steps: int = 3, scale: float = 1.0, **kwargs: Any) -> Any:
    x = static.data("x", [None, 3])
    hidden = static.nn.fc(x, 4, weight_attr=attr("a", [3, 4]), bias_attr=attr("ab", [4]), activation="relu")
    y = static.nn.fc(hidden, 1, weight_attr=attr("c", [4, 1]), bias_attr=False)
    loss = paddle.mean(y * y)
    optimizer = static.amp.decorate(kwargs.pop("optimizer", None) or paddle.optimizer.SGD(0.1), **kwargs)
    optimizer.minimize(loss)
    exe = started()
    scales = optimizer.get_loss_scaling()
    out = []
    for step in range(steps):
        found = exe.run(feed={"x": X * (scale if step == 1 else 1.0)}, fetch_list=[loss, scales])
        out.append([found[0].reshape(-1) if np.isfinite(found[0]).all() else "not finite", found[1].reshape(-1)])
    return [out, held("a"), held("c")]


program("mixed precision: bfloat16", old=True)(lambda: mixed(dtype="bfloat16"))
program("mixed precision: float16, a fixed scale", old=True)(
    lambda: mixed(init_loss_scaling=64.0, use_dynamic_loss_scaling=False)
)
program("mixed precision: a scale that grows", old=True)(
    lambda: mixed(init_loss_scaling=8.0, incr_every_n_steps=2, use_dynamic_loss_scaling=True)
)
program("mixed precision: a step that is left out", old=True)(
    lambda: mixed(
        steps=4, scale=1e20, init_loss_scaling=1024.0, decr_every_n_nan_or_inf=1, decr_ratio=0.5,
        use_dynamic_loss_scaling=True,
    )
)  # fmt: skip
program("mixed precision: lists of ops", old=True)(
    lambda: mixed(
        dtype="bfloat16", amp_lists=static.amp.CustomOpLists(custom_black_list={"mul", "matmul_v2"}, dtype="bfloat16")
    )
)


# --- sequences: packed in the reference, padded here -----------------------------------------------------------------

LENGTHS = [1, 3, 2]
HERE = "umiak" in sys.modules


def sequences(*features: int) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """An input of sequences, what calls need to know of it, and what is fed."""
    rows = normal(sum(LENGTHS), *features)
    if not HERE:
        x = static.data("x", [None, *features], "float32", lod_level=1)
        return x, {}, {"x": paddle.base.create_lod_tensor(rows, [LENGTHS], paddle.CPUPlace())}
    x, lengths = static.data("x", [None, None, *features]), static.data("lengths", [None], "int64")
    padded = np.full((len(LENGTHS), max(LENGTHS), *features), 7.0, "float32")
    first = 0
    for i, n in enumerate(LENGTHS):
        padded[i, :n] = rows[first : first + n]
        first += n
    return x, {"lengths": lengths}, {"x": padded, "lengths": np.array(LENGTHS)}


def steps_of(values: list[Any]) -> list[Any]:
    """Results as packed rows."""
    arrays = [np.array(v) for v in values]
    return [np.concatenate([v[i, :n] for i, n in enumerate(LENGTHS)]) for v in arrays] if HERE else arrays


def pooled(kind: str) -> Any:
    x, known, feed = sequences(3)
    x.stop_gradient = False
    y = static.nn.sequence_pool(x, kind, **known)
    (g,) = static.gradients(paddle.mean(y * y), [x])
    exe = started()
    found = exe.run(feed=feed, fetch_list=[y, g], return_numpy=False)
    return [np.array(found[0]), *steps_of(found[1:])]


for _kind in ("sum", "average", "sqrt", "max", "last", "first"):
    program(f"sequences: {_kind}", old=True)(lambda kind=_kind: pooled(kind))


@program("sequences: steps", old=True)
def _steps() -> Any:
    x, known, feed = sequences(3)
    y = [static.nn.sequence_first_step(x, **known), static.nn.sequence_last_step(x, **known)]
    return started().run(feed=feed, fetch_list=y)


@program("sequences: softmax", old=True)
def _softmax() -> Any:
    x, known, feed = sequences(1)
    y = static.nn.sequence_softmax(x, **known)
    return steps_of(started().run(feed=feed, fetch_list=[y], return_numpy=False))


@program("sequences: convolution", old=True)
def _sequence_conv() -> Any:
    x, known, feed = sequences(3)
    y = [
        static.nn.sequence_conv(
            x, 2, size, padding_start=start, param_attr=attr(f"s{size}", [size * 3, 2]), bias_attr=attr("sb", [2]),
            act="tanh", **known,
        )
        for size, start in ((3, None), (2, 0))
    ]  # fmt: skip
    return steps_of(started().run(feed=feed, fetch_list=y, return_numpy=False))


@program("sequences: expansion", old=True)
def _expand() -> Any:
    y, known, feed = sequences(1)
    rows = static.data("rows", [None, 2])
    out = static.nn.sequence_expand(rows, y, **known)
    found = started().run(feed={**feed, "rows": normal(3, 2)}, fetch_list=[out], return_numpy=False)
    return steps_of(found)


# --- copies and files ------------------------------------------------------------------------------------------------


def network() -> tuple[Any, Any, Any]:
    x = static.data("x", [None, 3])
    hidden = F.dropout(linear("first", 3, 4)(x), 0.5)
    y = linear("second", 4, 2)(hidden)
    return x, y, (y**2).mean()


@program("copies: for evaluation", old=True)
def _for_test() -> Any:
    x = static.data("x", [None, 3])
    hidden = static.nn.fc(x, 4, weight_attr=attr("first", [3, 4]), bias_attr=False)
    norm = static.nn.batch_norm(hidden, moving_mean_name="mean", moving_variance_name="variance")
    y = static.nn.fc(paddle.nn.functional.dropout(norm, 0.5), 1, weight_attr=attr("second", [4, 1]), bias_attr=False)
    test = static.default_main_program().clone(for_test=True)
    paddle.optimizer.SGD(0.0).minimize(paddle.mean(y))
    exe = started()
    for _ in range(2):
        exe.run(static.default_main_program(), feed={"x": X})
    return [exe.run(test, feed={"x": X}, fetch_list=[y]), held("mean"), held("variance")]


@program("files: a model for inference")
def _inference() -> Any:
    x, y, _ = network()
    exe = started()
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "model")
        static.save_inference_model(prefix, [x], [y], exe)
        names = sorted(os.listdir(folder))
        with static.scope_guard(static.Scope()):
            loaded, feeds, fetches = static.load_inference_model(prefix, exe)
            return [names, feeds, [exe.run(loaded, {feeds[0]: X[:n]}, fetches) for n in (2, 6)]]


@program("files: the state of training", old=True)
def _training_state() -> Any:
    x = static.data("x", [None, 3])
    y = static.nn.fc(x, 1, weight_attr=attr("w", [3, 1]), bias_attr=attr("b", [1]))
    loss = paddle.mean(y * y)
    paddle.optimizer.Adam(0.1).minimize(loss)
    main, exe = static.default_main_program(), started()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "state")
        losses = [exe.run(main, {"x": X}, [loss])[0].reshape(-1) for _ in range(2)]
        static.save(main, path)
        names = sorted(os.listdir(folder))
        losses += [exe.run(main, {"x": X}, [loss])[0].reshape(-1) for _ in range(2)]
        static.load(main, path, exe)
        again = [exe.run(main, {"x": X}, [loss])[0].reshape(-1) for _ in range(2)]
        state = static.load_program_state(path)
    return [names, losses, again, state["w"], state["w_moment1_0"], state["w_beta1_pow_acc_0"]]


@program("files: bytes", old=True)
def _bytes() -> Any:
    x = static.data("x", [None, 3])
    y = static.nn.fc(x, 2, weight_attr=attr("w", [3, 2]), activation="relu")
    exe = started()
    data = static.serialize_program([x], [y]), static.serialize_persistables([x], [y], exe)
    with static.scope_guard(static.Scope()):
        loaded = static.deserialize_program(data[0])
        static.deserialize_persistables(loaded, data[1], exe)
        return [sorted(p.name for p in loaded.list_vars() if p.name in ("x", "w")), held("w")]


@program("files: a program that was pruned", old=True)
def _pruned() -> Any:
    x = static.data("x", [None, 3])
    y = static.nn.fc(x, 2, weight_attr=attr("w", [3, 2]), bias_attr=False)
    paddle.optimizer.SGD(0.1).minimize(paddle.mean(y))
    exe = started()
    kept = static.normalize_program(static.default_main_program(), [x], [y])
    return [exe.run(kept, {"x": X}, [y.name]), held("w")]


def main(path: Path) -> None:
    """Record what the programs of this mode give."""
    paddle.enable_static()
    old = not paddle.framework.use_pir_api()
    recorded = json.loads(path.read_text()) if path.exists() else {}
    for name, case in CASES.items():
        if case.old == old:
            try:
                recorded[name] = result(name)
            except Exception as error:
                if "--keep-going" not in sys.argv:
                    raise
                print(name, type(error).__name__, str(error).strip()[-400:])
    rows = [f"{json.dumps(n)}: {json.dumps(recorded[n])}" for n in CASES if n in recorded]
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
