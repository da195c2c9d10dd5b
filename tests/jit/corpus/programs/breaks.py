"""Graph breaks in the middle of everything: values on the stack, live iterators, handlers, cells, frames of callees."""

from __future__ import annotations

import contextlib

import paddle
from tests.jit.corpus.reasons import BREAKS, GROWS, READS
from tests.jit.corpus.registry import driver, factory, given, program


def _read(x):
    """A number that a graph does not have."""
    return round(x.sum().tolist(), 3)


def _same(*values, **named):
    return (*values, *named.values())


@program(lambda t: t(2), lambda t: t(3), refused=READS)
def break_among_arguments(x):
    return _same(x * 2, _read(x), x + 1, *[x, _read(x * 2)], k=_read(x - 1), **{"m": x * 3})


@program(lambda t: t(2), lambda t: t(3), refused=READS)
def break_in_displays(x):
    items = [x, _read(x), [x * 2, (_read(x + 1), x)], {"a": x, _read(x): {"b": _read(x * 2)}}]
    return items, {1, _read(x) * 0, 2}, (x, *range(2), _read(x)), x[: int(_read(x) * 0) + 1 :]


@program(lambda t: t.of([1.0, 2.0]), lambda t: t.of([-1.0, -2.0]), lambda t: t.of([0.0, 0.5]), refused=READS)
def break_in_operators(x):
    y = x * 2 + _read(x) * x - (x / (_read(x) + 10))
    flag = 0 < _read(x) < 2 and x.shape[0] > 1 or _read(x) == -3
    z = y if _read(y) > 0 else -y
    n = (m := _read(x)) + m
    return y, flag, z, n, not _read(x) > 0, -_read(x), x @ x * _read(x)


@program(lambda t: t(2), lambda t: t(3), refused=READS)
def break_in_an_assignment_target(x):
    table, box = {}, [0, 0, 0]
    table[_read(x)] = x * 2
    box[int(_read(x) * 0) + 1] += 5
    (a, box[0]), c = (x, _read(x)), x + 1
    box[2] = table[_read(x)]
    return list(table.values()), box, a, c


@program(lambda t: given(t(2), 3), lambda t: given(t(2), 1), refused=READS)
def break_in_a_loop_header(x, n):
    for k in range(int(_read(x) * 0) + n):
        x = x + k
    while _read(x) < 3:
        x = x + 1
    for a in [x, _read(x), x * 2][1:]:
        x = x + a
    return x


@program(lambda t: given(t(3), [1, 2, 3]), lambda t: given(t(3), []), lambda t: given(t(3), [4]), refused=READS)
def iterators_that_live_across_breaks(x, numbers):
    out = []
    for i, (n, row) in enumerate(zip(numbers, x, strict=False)):
        for k, v in {"a": 1, "b": i}.items():
            s = _read(row)
            out.append((k, v * n, s > 0))
            x = x * n
        for c in reversed("ab"):
            x = x + len(c) + _read(x) * 0
    it = iter(numbers)
    first = next(it, None)
    x = x + _read(x)
    return x, out, first, list(it)


@program(lambda t: given(t(2), 3), lambda t: given(t(2), 0), refused=READS)
def generator_that_lives_across_breaks(x, n):
    def steps(y):
        for k in range(n):
            y = y * 2 + _read(y) * 0
            yield y, k

    total = x
    for y, k in steps(x):
        total = total + y * k + _read(total) * 0
    pending = (v + 1 for v in [x, total])
    s = _read(x)
    return total, [v * s for v in pending]


@program(lambda t: given(t(2), 2), lambda t: given(t(2), 0), lambda t: given(t(2), "a"), refused=READS)
def breaks_in_try_and_handlers(x, n):
    log = []
    try:
        s = _read(x)
        y = x * (4 // n)
        t = _read(y)
        log.append(t > s)
    except ZeroDivisionError as error:
        log.append((_read(x) > 0, str(error)))
        y = x + _read(x)
    except TypeError:
        y = x * _read(x)
        log.append(_read(y) > 0)
    else:
        y = y + _read(y)
    finally:
        log.append(_read(x * 2) > 0)
        z = x * 2
    return y, z, log


@program(lambda t: given(t(2), 1), lambda t: given(t(2), 0), refused=READS)
def breaks_in_nested_handlers(x, n):
    try:
        try:
            x = x + _read(x)
            x = x / (1 // n)
        except ZeroDivisionError:
            x = x * 3 + _read(x)
            raise ValueError(_read(x) > 0) from None
    except ValueError as e:
        return x * 2, e.args, _read(x)
    return x, _read(x)


class _Scope:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("in")
        return len(self.log)

    def __exit__(self, *exc):
        self.log.append("out" if exc[0] is None else exc[0].__name__)
        return exc[0] is KeyError


@program(lambda t: given(t(2), []), lambda t: given(t(2), ["x"]), refused=READS)
def breaks_within_contexts(x, log):
    with _Scope(log) as n, contextlib.suppress(IndexError):
        x = x * n + _read(x)
        for k in range(2):
            with _Scope(log):
                x = x + _read(x) * k
                if k:
                    raise KeyError(k)
        x = x * 2
    with paddle.no_grad():
        y = x * _read(x)
        z = y + 1
    return x, y, z, z.stop_gradient, log


@factory(lambda t: t(2), lambda t: t(2), lambda t: t(2), refused=READS)
def cells_across_breaks():
    total = 0

    def f(x):
        nonlocal total
        k = 1

        def inner(y):
            nonlocal k, total
            k += 1
            total += 1
            s = _read(y)
            k += 1
            return y * k + s

        a = inner(x)
        s = _read(a)
        total += 10
        b = inner(x)
        return a, b, k, s, (lambda: k + total)()

    return f


def _deep(x, depth, log):
    log.append(depth)
    y = x * (depth + 1)
    if depth:
        for k in range(2):
            y = y + _deep(x, depth - 1, log) * k
        return y
    s = _read(y)
    return y * 2 + s


@program(lambda t: given(t(2), 2, []), lambda t: given(t(2), 0, []), lambda t: given(t(3), 2, []), refused=READS)
def break_three_frames_below(x, depth, log):
    before = x * 3
    y = _deep(x, depth, log)
    return before + y, log


def _positive(x):
    return x.sum() > 0


class _Model:
    def __init__(self, k):
        self.k = k
        self.seen = []

    @property
    def scale(self):
        self.seen.append("scale")
        return self.k + _read(paddle.ones([2]))

    def __getitem__(self, i):
        return self.k * i + _read(paddle.full([1], 3.0))

    def __add__(self, x):
        return x + _read(x) + self.k

    def __call__(self, x):
        if _positive(x):
            self.seen.append("positive")
            return x * self.k
        return x - self.k

    def __len__(self):
        return int(_read(paddle.ones([3])))

    def __iter__(self):
        yield _read(paddle.ones([2]))
        yield self.k


class _Child(_Model):
    def __call__(self, x):
        y = super().__call__(x * 2)
        return super().__call__(y) + 1


@program(
    lambda t: given(t.of([1.0, 2.0]), 2),
    lambda t: given(t.of([-1.0, -2.0]), 2),
    lambda t: given(t.of([-1.0, 3.0]), 3),
    refused=GROWS,
)
def breaks_in_methods_that_syntax_calls(x, k):
    m = _Child(k)
    y = m(x) * m.scale
    y = m + y
    a, b = m
    return y, m[2], len(m), a, b, [v for v in m], m.seen, x * m.scale


@program(lambda t: t.of([1.0, -2.0, 3.0]), lambda t: t.of([-1.0, 1.0]), refused=READS)
def breaks_in_comprehensions(x):
    numbers = [_read(v) for v in x]
    positive = [v for v in x if v > 0]
    table = {i: _read(v) for i, v in enumerate(x)}
    nested = [[_read(v * k) for v in x] for k in range(2)]
    total = sum(_read(v) for v in x)
    return numbers, positive, table, nested, total, x * total


@program(lambda t: given(t(2), True), lambda t: given(t(2), False), raises="UnboundLocalError", refused=READS)
def unbound_local_across_a_break(x, flag):
    if flag:
        y = x * 2
    s = _read(x)
    z = x + s
    return z + y


@program(lambda t: t(2), lambda t: t(2), refused=READS)
def deleted_local_across_a_break(x):
    y = x * 2
    z = y + 1
    del y
    s = _read(z)
    try:
        return y
    except UnboundLocalError:
        return z * s


@program(lambda t: given(t(2), "b"), lambda t: given(t(3), "c"), refused=READS)
def break_in_a_text(x, name):
    text = f"{name}: {_read(x) > 0} {x.shape[0]:>3} {[_read(x) * 0 + 1]!r}"
    return x * len(text), text, "%s %s" % (name, _read(x) > 5), " ".join([name, str(_read(x) > 0)])


@program(
    lambda t: t.of([1.0]), lambda t: t.of([-1.0]), lambda t: t.of([0.0]), lambda t: t.of([1.0, -0.5]), refused=READS
)
def break_in_a_match(x):
    match (_read(x), x.shape[0]):
        case (s, 1) if s > 0 and x > 0:
            return x * s
        case (0.0, n):
            return x + n
        case _ if _read(x) < 0:
            return x - 1
    return x


@program(lambda t: t(2), lambda t: t(2), raises="ValueError", refused=READS)
def error_after_a_break(x):
    y = x * 2
    s = _read(y)
    z = y + s
    raise ValueError(z.shape[0])


@program(lambda t: t(2), lambda t: t(2), raises="ValueError", refused=READS)
def error_in_a_callee_after_a_break(x):
    def inner(y, k):
        s = _read(y)
        z = y * s
        if k == 1:
            raise ValueError("inner")
        return z

    a = inner(x, 0)
    b = a + 1
    c = inner(b, 1)
    return c


@program(lambda t: t(2), lambda t: t(3), refused=READS)
def many_breaks_in_a_row(x):
    for k in range(12):
        x = x * 0.9 + k
        if x.sum() > k:
            x = x - 1
        x = x + _read(x) * 0.01
    return x


@program(lambda t: given(t(2), 1), lambda t: given(t(2), 2), refused=READS)
def many_locals_across_a_break(x, n):
    a1, a2, a3, a4, a5 = (x * k for k in range(5))
    b1, b2, b3 = "s", [1, x], {"k": n}
    f = lambda v: v + n  # noqa: E731  (what is tested)
    s = _read(a1)
    b2.append(s)
    return a1 + a2 + a3 + a4 + a5, b1, b2, b3, f(x)


@program(lambda t: t(4), lambda t: t(4), refused=READS)
def shared_objects_across_a_break(x):
    items = [x * 2]
    again = items
    table = {"items": items, "view": x[1:]}
    s = _read(x)
    again.append(s)
    table["view"] = table["view"] + items[0][1:]
    return items, again is items, table["items"] is items, table["view"], x[:2] is x


@program(lambda t: t(4), lambda t: t(4), refused=READS)
def views_across_a_break(x):
    y = x * 1
    v = y[1:3]
    s = _read(v)
    v.add_(paddle.full([2], s))
    w = y.reshape([2, 2])
    t = _read(w)
    w[0, 1] = t
    return y, v, w


@driver(lambda t: given(t(2), 2), lambda t: given(t(2), 3), refused=READS)
def captured_callee_that_breaks(capture):
    @capture
    def inner(x, k):
        s = _read(x)
        return x * k + s

    @capture
    def outer(x, k):
        y = x + 1
        z = inner(y, k)
        return z * 2 + inner(x, k + 1)

    return outer


@driver(lambda t: t.of([1.0, 2.0]), lambda t: t.of([-1.0, -2.0]), refused=READS)
def recursion_that_breaks(capture):
    @capture
    def f(x, n=3):
        if n == 0:
            return x + _read(x)
        y = f(x * 2, n - 1)
        if y.sum() > 0:
            return y * 0.5
        return y + f(x, 0)

    return f


@program(lambda t: given(t(2), 2), lambda t: given(t(2), 3), refused=READS)
def break_in_a_default_and_a_decorator(x, n):
    def scaled(by):
        s = _read(x)

        def wrap(f):
            return lambda *a, **k: f(*a, **k) * by + s

        return wrap

    @scaled(n)
    def f(y, k=_read(x)):
        return y + k

    return f(x), f(x, k=2.0)


@program(lambda t: t(2), lambda t: t(2), refused=BREAKS)
def break_in_a_class_body(x):
    class Local:
        value = _read(x)
        double = value * 2

        def run(self, y):
            return y * self.double

    s = _read(x)
    return Local().run(x) + s, Local.value


@program(lambda t: t(3), lambda t: t(3), refused=READS)
def gradients_across_breaks(x):
    y = x * x
    s = y.sum().item()
    z = y * s
    (g,) = paddle.grad(z.sum(), [x], retain_graph=True)
    t = _read(g)
    return z + g * t, y


@factory(lambda t: t(2), lambda t: t(2), lambda t: t(2), refused=READS)
def random_draws_across_breaks():
    def f(x):
        a = paddle.rand([2])
        s = _read(a)
        b = paddle.randn([2])
        if _read(b) > 0:
            b = b + paddle.rand([2])
        return x * a + b, s

    return f
