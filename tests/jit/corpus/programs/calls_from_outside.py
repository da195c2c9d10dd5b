"""Threads, code without source, wrappers in C, captured functions that are copied, stored or called by others."""

from __future__ import annotations

import copy
import functools
import inspect
import operator
import threading
from concurrent.futures import ThreadPoolExecutor

import paddle
from tests.jit.corpus.reasons import BREAKS
from tests.jit.corpus.registry import driver, factory, given, program


@driver(lambda t: given([t(2), t(2), t(3)]), lambda t: given([t(2), t(3), t(2)]))
def threads_that_call_one_function(capture):
    @capture
    def f(x):
        if x.sum() > 0:
            return x * 2
        return x - 1

    def call(xs):
        results = [None] * len(xs)

        def work(i):
            results[i] = f(xs[i])

        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(xs))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    return call


@driver(lambda t: given([t(2) for _ in range(6)]), lambda t: given([t(k) for k in (2, 3, 4, 2, 1, 0)]))
def pool_of_threads(capture):
    net = paddle.nn.Linear(1, 1)

    @capture
    def f(x, k):
        y = net(x.unsqueeze(-1)).squeeze(-1)
        for _ in range(k % 3):
            y = y * 2
        return y

    def call(xs):
        with ThreadPoolExecutor(3) as pool:
            return list(pool.map(f, xs, range(len(xs))))

    return call


@factory(lambda t: given(t(2), 2), lambda t: given(t(2), 3))
def function_made_by_exec():
    scope = {"paddle": paddle}
    exec(compile("def f(x, n):\n    y = x * n\n    return y + paddle.ones([2])\n", "<corpus text>", "exec"), scope)
    return scope["f"]


@program(lambda t: given(t(2), 2), lambda t: given(t(2), 3), refused=BREAKS)
def call_of_a_function_made_by_exec(x, n):
    scope = {}
    exec("def scaled(x, n):\n    return x * n\n", scope)
    return scope["scaled"](x, n) + 1


@factory(lambda t: given(t(2), 1.0), lambda t: given(t(2), -1.0))
def lambda_made_by_eval():
    return eval("lambda x, k: x * k if k > 0 else x + k")


@factory(lambda t: given(t(2), 1.0), lambda t: given(t(2), -1.0))
def lambda_in_a_file():
    return lambda x, k=2: x * k + (x if k > 0 else 1)


@factory(lambda t: given(t(2)), lambda t: given(t(3)))
def partial_is_captured():
    def f(x, k, *, bias):
        return x * k + bias

    return functools.partial(f, k=3, bias=1.0)


@driver(lambda t: t(2), lambda t: t(2))
def captured_function_as_an_argument(capture):
    @capture
    def inner(x):
        return x * 2 if x.sum() > 0 else x

    @capture
    def outer(x, g):
        return g(g(x)) + 1

    return lambda x: outer(x, inner)


@driver(lambda t: given([t(2), t(2)]), lambda t: given([t(3)]))
def captured_function_called_by_map(capture):
    @capture
    def f(x):
        return x * x.shape[0]

    return lambda xs: list(map(f, xs))


@driver(lambda t: given([3, 1, 2], t(2)), lambda t: given([5, 4], t(2)))
def captured_function_as_a_sort_key(capture):
    @capture
    def key(n):
        return -n

    @capture
    def f(numbers, x):
        return x * sorted(numbers, key=key)[0], sorted(numbers, key=key)

    return f


@driver(lambda t: t(2), lambda t: t(2))
def captured_function_copied_and_described(capture):
    @capture
    def f(x, k=2):
        """Times k."""
        return x * k

    def call(x):
        same = copy.copy(f)
        return f(x), same(x, k=3), f.__name__, f.__doc__, list(inspect.signature(f).parameters)

    return call


@driver(lambda t: t(2), lambda t: t(3))
def captured_twice(capture):
    def f(x):
        return x * 2 if x.shape[0] > 2 else x * 3

    first, second = capture(f), capture(f)
    return lambda x: first(x) + second(x)


@program(lambda t: given(t(2), [2, 3]), lambda t: given(t(3), [4]), refused=BREAKS)
def operator_module_and_methods_of_classes(x, numbers):
    first, total = operator.itemgetter(0)(numbers), functools.reduce(operator.mul, numbers)
    shape = operator.attrgetter("shape")(x)
    y = operator.add(x, first)
    list.append(numbers, 7)
    return operator.neg(y), total, shape, str.upper("abc"), operator.methodcaller("sum")(x), paddle.Tensor.exp(x)


@driver(lambda t: given(t(2), 3), lambda t: given(t(2), 4))
def recursion_through_a_captured_function(capture):
    @capture
    def f(x, n):
        if n == 0:
            return x
        return f(x * 2, n - 1) + 1

    return f


@factory(lambda t: t(2), lambda t: t(2), lambda t: t(2), refused=BREAKS)
def locals_and_globals():
    def f(x):
        a, b = 1, 2
        names = sorted(locals())
        return x * len(names), names, "paddle" in globals()

    return f


@program(lambda t: given(t(2)), lambda t: given(t(3)), refused=BREAKS)
def frames_are_looked_at(x):
    y = x * 2
    name = inspect.currentframe().f_code.co_name
    return y + 1, name


@program(lambda t: given(t(2), 5), lambda t: given(t(2), 6))
def many_arguments_and_locals(x, n):
    a, b, c, d, e, f, g, h = (n + k for k in range(8))
    u = x * a + b
    v = u * c - d
    w = (u, v, [e, f], {"g": g, "h": h})
    return w[0] + w[1] * w[2][0] - w[3]["h"]


@program(lambda t: given(t(3)), lambda t: given(t(3)))
def import_inside(x):
    import math as m
    from collections import Counter

    import paddle.nn.functional as functional

    return functional.relu(x) * m.sqrt(4.0), Counter("aab")["a"]


@driver(lambda t: t(3), lambda t: t(3), lambda t: t(3), refused=BREAKS)
def function_excluded_from_capture(capture):
    log = []

    @paddle.jit.not_to_static
    def opaque(x):
        log.append(float(x.sum()) > 0)
        return x * 2

    @capture
    def f(x):
        y = x + 1
        return opaque(y) * 3

    return f


@driver(lambda t: t(3), lambda t: t(3), lambda t: t(3))
def modules_patched_between_calls(capture):
    import types

    helpers = types.ModuleType("helpers")
    helpers.scale = 2
    helpers.act = paddle.tanh

    @capture
    def f(x):
        helpers.calls = getattr(helpers, "calls", 0) + 1
        return helpers.act(x) * helpers.scale

    def call(x):
        y = f(x)
        helpers.scale += 1
        helpers.act = paddle.exp
        return y

    return call
