"""Arguments, defaults, closures and recursion."""

from __future__ import annotations

import functools
import operator

import paddle
from tests.jit.corpus.reasons import BREAKS
from tests.jit.corpus.registry import driver, factory, given, program

TABLE = paddle.arange(6, dtype="float32").reshape([3, 2])


@program(
    lambda t: given(t(2)),
    lambda t: given(t(2), 3.0),
    lambda t: given(t(2), power=3),
    lambda t: given(t(2), 2.0, power=1, name="z"),
)
def defaults_and_keyword_only(x, scale=2.0, *, power=2, name="y"):
    return {name: scale * x**power}


@program(lambda t: given(t(2), 1, 2), lambda t: given(t(3), 5, b=7))
def positional_only(x, a, /, b):
    return x * a + b


@program(
    lambda t: given(t(2)),
    lambda t: given(t(2), t(2), t(2), bias=1.0),
    lambda t: given(t(2), 2, scale=3, bias=t(2)),
)
def star_arguments(x, *more, **named):
    for y in more:
        x = x + y
    for key in sorted(named):
        x = x * named[key] if key == "scale" else x + named[key]
    return x, len(more), sorted(named)


def _weighted(a, b, *rest, weight=1.0, **others):
    total = (a + 2 * b) * weight
    for r in rest:
        total = total - r
    return total, others


@program(lambda t: given(t(2), [1.0, 2.0]), lambda t: given(t(2), [3.0, 4.0, 5.0]))
def calls_with_stars(x, numbers):
    first = _weighted(x, *numbers)
    second = _weighted(*numbers, x, **{"weight": 3, "more": len(numbers)})
    third = _weighted(*[x, x], *numbers, **dict(weight=2.0), key="v")
    return first, second, third


@program(lambda t: given(t(2), 5), lambda t: given(t(2), 1), lambda t: given(t(2), 0))
def recursion_on_a_number(x, n):
    if n <= 1:
        return x
    return x * n + recursion_on_a_number(x, n - 1)


def _halved(x):
    if x.sum() < 1:
        return x
    return _halved(x * 0.5)


@program(lambda t: t.of([8.0, 9.0]), lambda t: t.of([0.0, 0.5]))
def recursion_on_a_tensor(x):
    return _halved(x) + 1


def _is_even(n):
    return n == 0 or _is_odd(n - 1)


def _is_odd(n):
    return n != 0 and _is_even(n - 1)


@program(lambda t: given(t(2), 4), lambda t: given(t(2), 7))
def mutual_recursion(x, n):
    return x * 2 if _is_even(n) else x - 1


@program(
    lambda t: (t(3), [1, [2, [3, 4]], 5]),
    lambda t: (t(3), [[[]]]),
    lambda t: (t(3), [7]),
)
def recursion_over_a_nest(x, nest):
    def walk(node, depth):
        if isinstance(node, int):
            return x * node / depth
        total = paddle.zeros_like(x)
        for item in node:
            total = total + walk(item, depth + 1)
        return total

    return walk(nest, 1)


@factory(lambda t: t(2), lambda t: t(2), lambda t: t(3))
def closure_that_counts():
    count = 0
    history = []

    def f(x):
        nonlocal count
        count += 1
        history.append(x.shape[0])
        return x * count

    return f


@factory(lambda t: given(t(2), "add"), lambda t: given(t(2), "read"), lambda t: given(t(2), "add"))
def cell_shared_by_two_functions():
    total = paddle.zeros([2])

    def add(x):
        nonlocal total
        total = total + x.detach()
        return x

    def read(x):
        return x * total

    def f(x, what):
        y = add(x) if what == "add" else read(x)
        return y, total

    return f


@factory(lambda t: given(t(2), 3), lambda t: given(t(2), 4))
def closures_made_in_a_loop():
    adders = []
    for k in range(3):
        adders.append(lambda x, k=k: x + k)
    late = [lambda x: x * k for k in range(3)]

    def f(x, n):
        for a in adders:
            x = a(x)
        for g in late:
            x = g(x) * n
        return x

    return f


@program(lambda t: given(t(2), 2), lambda t: given(t(2), 5))
def nested_functions_three_deep(x, n):
    def outer(y):
        scale = n * 2

        def middle(z):
            def inner(w):
                nonlocal scale
                scale += 1
                return w * scale + n

            return inner(z) + inner(z)

        return middle(y), scale

    return outer(x)


@factory(lambda t: t(2), lambda t: t(2), lambda t: t(1))
def default_that_is_a_tensor():
    bias = paddle.to_tensor([0.5, 1.5], stop_gradient=False)

    def outer(x):
        def inner(y, b=bias, *, scale=x.sum()):
            return (y + b) * scale

        return inner(x), inner(x, b=1.0), inner(x, scale=2.0)

    return outer


@factory(lambda t: t(2), lambda t: t(2))
def mutable_default():
    def f(x, seen=[]):  # noqa: B006  (what is tested)
        seen.append(len(seen))
        return x + sum(seen), seen

    return f


@program(lambda t: given(t(3)), lambda t: given(t(4)))
def lambdas_and_composition(x):
    def compose(*functions):
        return functools.reduce(lambda f, g: lambda v: g(f(v)), functions)

    return compose(lambda v: v + 1, paddle.tanh, lambda v: v * v)(x)


@program(lambda t: given(t(2), 3), lambda t: given(t(2), 4), lambda t: given(t(3), 3))
def partial_functions(x, n):
    scaled = functools.partial(_weighted, x, weight=n)
    twice = functools.partial(scaled, 2.0)
    return twice(), twice(1.0, extra=n), scaled(x, weight=1.0)


@program(lambda t: given([t(2), t(2), t(2)]), lambda t: given([t(2)]))
def reduce_over_tensors(xs):
    return functools.reduce(operator.add, xs), functools.reduce(lambda a, b: a * b, xs, paddle.ones([2]))


@factory(lambda t: given(t(2), 3), lambda t: given(t(2), 4), lambda t: given(t(2), 3), refused=BREAKS)
def lru_cache_of_numbers():
    computed = []

    @functools.lru_cache(maxsize=None)
    def fibonacci(n):
        computed.append(n)
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    def f(x, n):
        return x * fibonacci(n), list(computed)

    return f


def _logged(prefix):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            print(prefix, function.__name__, len(args), sorted(kwargs))
            return function(*args, **kwargs) + 1

        wrapper.prefix = prefix
        return wrapper

    return decorate


@_logged("outer")
@_logged("inner")
def _decorated(x, k=1):
    """Times k."""
    return x * k


@program(lambda t: given(t(2), 2), lambda t: given(t(2), 5))
def calls_of_decorated_functions(x, k):
    return _decorated(x, k=k), _decorated.__doc__, _decorated.prefix, _decorated.__name__


@factory(lambda t: given(t(2), k=2), lambda t: given(t(2)), lambda t: given(t(3), k=2))
def captured_function_that_is_decorated():
    @_logged("deep")
    def f(x, k=3):
        return x * k

    return f


@driver(lambda t: given(t(2), 2.0), lambda t: given(t(2), -2.0))
def captured_function_that_calls_captured_ones(capture):
    @capture
    def inner(x, k):
        if x.sum() * k > 0:
            return x * k
        return x - k

    @capture
    def outer(x, k):
        return inner(x, k) + inner(x + 1, k)

    return outer


@program(lambda t: given(t(2), "relu"), lambda t: given(t(2), "tanh"), lambda t: given(t(2), "relu"))
def function_chosen_by_name(x, name):
    table = {"relu": paddle.nn.functional.relu, "tanh": paddle.tanh, "none": None}
    f = table.get(name) or table["tanh"]
    return f(x), getattr(paddle, "exp" if name == "relu" else "abs")(x)


@program(lambda t: given(t(2), lambda v: v * 2), lambda t: given(t(2), paddle.exp), lambda t: given(t(2), abs))
def function_given_as_an_argument(x, f):
    return f(x) + f(x + 1)


@program(lambda t: t(2), lambda t: t(2))
def global_tensor(x):
    return (x * TABLE).sum(axis=0) + TABLE[1]


@program(lambda t: given(t(2, 2, grad=False)), lambda t: given(t(3, 3, grad=False)))
def function_that_returns_nothing(x):
    x.add_(paddle.ones([]))
    x[0, 0] = 5.0


@program(lambda t: given(t(2, grad=False)), lambda t: given(t(3, grad=False)))
def function_that_returns_no_tensor(x):
    return (x.shape[0], x.dtype == paddle.float32, "text", None, 1.5, (1, [2]))


@program(lambda t: t(2), lambda t: t(3))
def inner_function_is_called_after_its_variable_changed(x):
    k = 1

    def f():
        return x * k

    first = f()
    k = 2
    second = f()
    del k
    return first, second
