"""Exceptions that data decide: caught by the clauses that Python takes, or shown as Python shows them."""

from __future__ import annotations

import paddle
from tests.jit.corpus.reasons import COPIES
from tests.jit.corpus.registry import factory, program


def up(t):
    return t.of([1.0, 2.0])


def down(t):
    return t.of([-1.0, -2.0])


def big(t):
    return t.of([10.0, 20.0])


class Rejected(Exception):
    def __init__(self, reason, code):
        super().__init__(reason)
        self.code = code


class TooBig(Rejected):
    pass


def _checked(x):
    if x.sum() < 0:
        raise ValueError("negative")
    return x * 2


@program(up, down)
def callee_raises_on_data(x):
    try:
        y = _checked(x)
    except ValueError:
        y = x * 5
    return y


@program(up, down, big)
def clauses_in_order(x):
    log = []
    try:
        log.append("try")
        if x.sum() < 0:
            raise KeyError("k")
        if x.sum() > 20:
            raise TooBig("big", 3)
        y = x * 2
    except (KeyError, IndexError) as error:
        log.append(repr(error))
        y = x * 3
    except Rejected as error:
        log.append(error.code)
        y = x * 4
    except Exception:
        y = x * 5
    else:
        log.append("else")
        y = y + 1
    finally:
        log.append("finally")
    return y, log


@program(up, down, raises="Rejected")
def own_exception_on_data(x):
    if x.sum() < 0:
        raise Rejected("neg", 4)
    return x * 2


@program(up, down, raises="RuntimeError")
def raise_from_on_data(x):
    try:
        if x.sum() < 0:
            raise KeyError("k")
        y = x * 2
    except KeyError as error:
        raise RuntimeError("chained") from error
    return y


@program(up, down, raises="KeyError")
def reraise_on_data(x):
    log = []
    try:
        if x.sum() < 0:
            raise KeyError("k")
        y = x * 2
    except KeyError as error:
        log.append(1)
        raise
    return y, log


@program(up, down)
def assertion_caught(x):
    try:
        assert x.sum() > 0, "positive"
        y = x * 2
    except AssertionError as error:
        y = x * len(str(error))
    return y


@program(up, down, big)
def try_in_a_loop_on_data(x):
    i = paddle.zeros([])
    failures = 0
    while i < 3:
        i = i + 1
        try:
            if x.sum() > 10:
                raise ValueError("big")
            x = x * 2
        except ValueError:
            x = x / 3
    return x


@program(up, down, big)
def raise_that_breaks_a_loop(x):
    i = paddle.zeros([])
    try:
        while True:
            x = x * 2
            i = i + 1
            if x.abs().sum() > 30:
                raise StopIteration
    except StopIteration:
        pass
    return x, i


@program(up, down)
def nested_tries(x):
    log = []
    try:
        try:
            if x.sum() < 0:
                raise IndexError("inner")
            y = x + 1
        except KeyError:
            log.append("key")
            y = x
        finally:
            log.append("inner finally")
    except IndexError:
        log.append("index")
        y = x * 9
    return y, log


@program(up, down)
def return_in_a_handler(x):
    try:
        if x.sum() < 0:
            raise IndexError("inner")
    except IndexError:
        return x * 3
    return x * 2


@program(up, down, allowed=COPIES)
def raise_in_a_branch_with_its_own_try(x):
    if x.sum() < 0:
        try:
            raise IndexError("inner")
        except IndexError as error:
            y = x * len(str(error))
    else:
        y = x
    return y


@program(up, down)
def state_changed_before_the_raise(x):
    state = {"n": 0, "log": []}
    try:
        state["n"] += 1
        y = x.exp()
        if x.sum() < 0:
            state["log"].append("bad")
            raise ValueError
        y = y * 2
    except ValueError:
        state["n"] += 10
        y = x
    return y, state


@program(up, down)
def print_and_raise(x):
    try:
        print("sum", x.sum())
        if x.sum() < 0:
            raise ValueError
        y = x * 2
    except ValueError:
        print("caught")
        y = x
    return y


@factory(up, down)
def layer_that_raises():
    class Net(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.lin = paddle.nn.Linear(2, 2)
            self.bn = paddle.nn.BatchNorm1D(2)

        def forward(self, x):
            y = self.bn(self.lin(paddle.stack([x, x * 2])))
            if x.sum() < 0:
                raise ValueError("negative")
            return y

    net = Net()

    def f(x):
        try:
            return net(x).sum()
        except ValueError:
            return x.sum()

    f.net = net
    return f


class Swallows:
    def __init__(self):
        self.seen = []

    def __enter__(self):
        return self

    def __exit__(self, kind, error, tb):
        self.seen.append(None if kind is None else kind.__name__)
        return kind is not None and issubclass(kind, LookupError)


@program(up, down)
def context_of_ones_own_that_swallows(x):
    s = Swallows()
    y = x
    with s:
        if x.sum() < 0:
            raise KeyError("x")
        y = x * 2
    return y, s.seen


@program(up, down, backward=False)
def backward_in_a_try(x):
    try:
        loss = (x * x).sum()
        if x.sum() < 0:
            raise ValueError("no")
        loss.backward()
        g = x.grad
    except ValueError:
        g = x * 0
    return g * 1
