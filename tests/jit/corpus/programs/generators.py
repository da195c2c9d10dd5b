"""Generators and iterators."""

from __future__ import annotations

import itertools

import paddle
from tests.jit.corpus.reasons import BREAKS, GENERATOR
from tests.jit.corpus.registry import driver, factory, given, program


def _powers(x, n):
    y = x
    for _ in range(n):
        yield y
        y = y * x


@program(lambda t: given(t(2), 3), lambda t: given(t(2), 1), lambda t: given(t(2), 0))
def generator_consumed_by_a_loop(x, n):
    total = paddle.zeros_like(x)
    for p in _powers(x, n):
        total = total + p
    return total


@program(lambda t: given(t(2), 3), lambda t: given(t(3), 4))
def generator_consumed_by_calls(x, n):
    return list(_powers(x, n)), sum(_powers(x, n)), tuple(p.shape[0] for p in _powers(x, n))


@program(lambda t: given(t(2)), lambda t: given(t(3)))
def generator_half_consumed_inside(x):
    g = _powers(x, 5)
    first, second = next(g), next(g)
    for third in g:
        break
    return first, second, third, list(g)


@program(lambda t: given(t(2), _powers(t(2), 4)), lambda t: given(t(2), _powers(t(2), 2)), refused=BREAKS)
def generator_given_as_an_argument(x, g):
    x = x + next(g)
    return x * 2


def _advanced(t):
    g = _powers(t(2), 5)
    next(g)
    next(g)
    return t(2), g


@program(lambda t: _advanced(t), lambda t: _advanced(t), refused=BREAKS)
def generator_half_consumed_before(x, g):
    for p in g:
        x = x + p
        if p.shape[0] == 2:
            break
    return x


def _accumulate():
    total = 0
    while True:
        received = yield total
        if received is None:
            return total * 100
        total = total + received


@program(lambda t: given(t(2), 3), lambda t: given(t(2), 1), refused=GENERATOR)
def send_into_a_generator(x, n):
    g = _accumulate()
    next(g)
    for k in range(n):
        out = g.send(x * (k + 1))
    try:
        g.send(None)
    except StopIteration as stop:
        return out, stop.value


def _delegating(x, log):
    result = yield from _powers(x, 2)
    log.append(result)
    yield from [x * 10, x * 20]
    received = yield x * 30
    log.append(received)
    return "done"


@program(lambda t: given(t(2), []), lambda t: given(t(3), [0]))
def yield_from(x, log):
    return list(_delegating(x, log)), log


def _guarded(x, log):
    try:
        yield x
        yield x * 2
    except ValueError as error:
        log.append(str(error))
        yield x * 3
    finally:
        log.append("closed")


@program(lambda t: given(t(2), []), lambda t: given(t(2), []))
def throw_and_close(x, log):
    g = _guarded(x, log)
    a = next(g)
    b = g.throw(ValueError("thrown"))
    g.close()
    h = _guarded(x, log)
    next(h)
    h.close()
    return a, b, log


def _handing_on(x, log):
    try:
        returned = yield from _guarded(x, log)
    except KeyError:
        returned = "handled outside"
    log.append(returned)
    yield x * 5


@program(lambda t: given(t(2), []), lambda t: given(t(2), []))
def throw_and_close_through_yield_from(x, log):
    closed, handled, ended, caught = (_handing_on(x * k, log) for k in range(1, 5))
    results = [next(closed), next(handled), next(ended), next(caught)]
    closed.close()
    results += [handled.throw(ValueError("thrown")), next(handled)]
    results += [next(ended), next(ended)]
    results.append(caught.throw(KeyError("thrown")))
    return results, log


def _giving(x, values):
    return (yield from [x * value for value in values])


@program(lambda t: given(t(2)), lambda t: given(t(3)))
def throw_where_a_list_is_yielded_from(x):
    g, closed = _giving(x, [2.0, 3.0]), _giving(x, [4.0])
    first, last = next(g), next(closed)
    closed.close()
    try:
        g.throw(KeyError("thrown"))
    except KeyError:
        return first, last, list(g), list(closed)


@program(lambda t: given(t(2), 3), lambda t: given(t(3), 2), refused=BREAKS)
def function_that_returns_a_generator(x, n):
    y = x * 2

    def items():
        for k in range(n):
            yield y + k

    return items()


@driver(lambda t: given(t(3), 2), lambda t: given(t(2), 3), refused=BREAKS)
def captured_generator_function(capture):
    @capture
    def items(x, n):
        for k in range(n):
            if k == 1:
                x = x * 2
            yield x + k

    def call(x, n):
        return list(items(x, n))

    return call


@program(lambda t: given(t(3), iter([1, 2, 3])), lambda t: given(t(3), iter([4])), refused=BREAKS)
def list_iterator_given_as_an_argument(x, numbers):
    return x * next(numbers), next(numbers, None)


@program(lambda t: given(t(2), []), lambda t: given(t(2), [1, 2, 3]))
def next_with_and_without_a_default(x, numbers):
    it = iter(numbers)
    a = next(it, 10)
    b = next(it, None)
    y = x * a
    return (y, b) if b is not None else y


@program(lambda t: given(t(2), [1]), lambda t: given(t(2), []), raises="StopIteration")
def exhausted_iterator(x, numbers):
    y = x + 1
    it = iter(numbers)
    return y * next(it)


class Countdown:
    """An iterator of the user's own."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


class Pages:
    """An iterable that is no iterator."""

    def __init__(self, x):
        self.x = x

    def __len__(self):
        return self.x.shape[0]

    def __getitem__(self, i):
        if i >= len(self):
            raise IndexError(i)
        return self.x[i] * 2


@program(lambda t: given(t(2), Countdown(3)), lambda t: given(t(2), Countdown(0)))
def iterator_of_ones_own(x, steps):
    for k in steps:
        x = x + k
    return x, steps.n


@program(lambda t: given(Pages(t(3, 2))), lambda t: given(Pages(t(1, 2))), refused=BREAKS)
def sequence_protocol(pages):
    total = 0.0
    for page in pages:
        total = total + page
    return total, len(pages), pages[0]


@program(lambda t: given(t(4)), lambda t: given(t(3)), refused=BREAKS)
def itertools_functions(x):
    pairs = [(a, b) for a, b in itertools.product([1, 2], [3, 4])]
    y = x
    for a, b in itertools.islice(pairs, 1, 3):
        y = y * a + b
    chained = list(itertools.chain([1], (2, 3), range(2)))
    counted = [k for k in itertools.takewhile(lambda v: v < 6, itertools.count(1, 2))]
    runs = [(k, len(list(g))) for k, g in itertools.groupby([1, 1, 2, 3, 3])]
    combined = [c for c in itertools.combinations(range(3), 2)]
    summed = list(itertools.accumulate([x, x, x]))
    cycle = itertools.cycle([1, 2])
    return y, chained, counted, runs, combined, summed, [next(cycle) for _ in range(3)]


@factory(lambda t: t(2), lambda t: t(2), lambda t: t(2), refused=BREAKS)
def iterator_in_a_closure():
    numbers = iter(range(1, 10))
    generator = (k * k for k in range(2, 10))

    def f(x):
        return x * next(numbers) + next(generator)

    return f


@program(lambda t: given(t(3), t(3)), lambda t: given(t(2), t(4)))
def map_filter_zip_objects(x, y):
    doubled = map(lambda v: v * 2, x)
    first = next(doubled)
    kept = filter(lambda n: n % 2, [1, 2, 3, 4])
    pairs = zip(doubled, kept, strict=False)
    return first, [a + b for a, b in pairs], list(map(lambda a, b: a * b, x, y)), list(reversed([1, 2]))
