"""Globals and module attributes, read and written."""

from __future__ import annotations

import math
import os

import paddle
from tests.jit.corpus.reasons import BREAKS
from tests.jit.corpus.registry import driver, factory

COUNT = 0
CONFIG: dict = {}
HISTORY: list = []
SCALE = None
WEIGHT = None


def _reset():
    global COUNT, SCALE, WEIGHT
    COUNT, SCALE, WEIGHT = 0, 2.0, paddle.ones([2])
    CONFIG.clear()
    HISTORY.clear()


@factory(lambda t: t(2), lambda t: t(2), lambda t: t(3))
def global_number_written():
    _reset()

    def f(x):
        global COUNT
        COUNT += 1
        return x * COUNT

    return f


@factory(lambda t: t(2), lambda t: t(2), lambda t: t(2))
def global_dict_and_list_written():
    _reset()

    def f(x):
        CONFIG["calls"] = CONFIG.get("calls", 0) + 1
        HISTORY.append(x.shape[0])
        if CONFIG["calls"] == 2:
            CONFIG["flag"] = True
        return x * len(HISTORY) + ("flag" in CONFIG)

    return f


@driver(lambda t: (t(2), 2.0), lambda t: (t(2), 3.0), lambda t: (t(2), 2.0))
def global_changed_between_calls(capture):
    _reset()

    @capture
    def f(x):
        return x * SCALE

    def call(x, scale):
        global SCALE
        SCALE = scale
        return f(x)

    return call


def _first(x):
    return x * 2


def _second(x):
    return x * 3 + 1


_HELPER = None


@driver(lambda t: t(2), lambda t: t(2), lambda t: t(2))
def global_function_replaced(capture):
    global _HELPER
    _HELPER = _first
    calls = []

    @capture
    def f(x):
        return _HELPER(x)

    def call(x):
        global _HELPER
        calls.append(1)
        if len(calls) == 2:
            _HELPER = _second
        return f(x)

    return call


@factory(lambda t: t(2), lambda t: t(2), lambda t: t(2))
def global_tensor_written():
    _reset()

    def f(x):
        global WEIGHT
        WEIGHT = WEIGHT + x.detach()
        WEIGHT[0] = 1.0
        return x * WEIGHT

    return f


@factory(lambda t: t(2), lambda t: t(2), raises="NameError", refused=BREAKS)
def global_deleted():
    _reset()
    globals()["DOOMED"] = 5

    def f(x):
        global DOOMED
        y = x * DOOMED
        del DOOMED
        return y

    return f


@driver(lambda t: (t(2), "1"), lambda t: (t(2), "2"), lambda t: (t(2), "1"), refused=BREAKS)
def environment_variable_read(capture):
    @capture
    def f(x):
        return x * int(os.environ.get("CORPUS_SCALE", "0"))

    def call(x, value):
        os.environ["CORPUS_SCALE"] = value
        try:
            return f(x)
        finally:
            del os.environ["CORPUS_SCALE"]

    return call


@factory(lambda t: t(2), lambda t: t(2))
def constants_of_modules():
    def f(x):
        return x * math.pi + math.inf * 0 if math.e < 2 else x * math.tau, paddle.float32, math.floor(math.e)

    return f
