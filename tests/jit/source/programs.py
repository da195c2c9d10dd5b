"""Small functions whose branches and loops depend on data, with inputs that take each way.

``@case(*inputs)`` declares one: each input is a tuple of arguments, in which lists of floats are tensors that want a
gradient and arrays are other tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import paddle


class Case(NamedTuple):
    """A program and its calls."""

    function: Callable[..., Any]
    inputs: tuple[tuple, ...]


CASES: dict[str, Case] = {}
UP, DOWN = [1.0, 2.0], [-1.0, -3.0]
SIGNS = ((UP,), (DOWN,), ([1.0, 2.0, 3.0],), ([-2.0],))


def case(*inputs: tuple) -> Callable[[Callable], Callable]:
    def enter(function: Callable) -> Callable:
        assert function.__name__ not in CASES
        CASES[function.__name__] = Case(function, inputs or SIGNS)
        return function

    return enter


def ints(*n: int) -> np.ndarray:
    return np.array(n, "int64")


def count(n: int) -> np.ndarray:
    return np.array(n, "int64")


COUNTS = tuple((x, count(n)) for x in (UP, [0.5, -1.0, 2.0]) for n in (0, 1, 4))


# --- if ---------------------------------------------------------------------------------------------------------------


@case()
def if_else(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y


@case()
def if_without_else(x):
    y = x
    if x.sum() > 0:
        y = y * 3
    return y


@case((UP,), (DOWN,), ([0.0, 0.0],), ([50.0, 1.0],))
def if_elif_else(x):
    s = x.sum()
    if s > 10:
        y = x * 2
    elif s > 0:
        y = x * 3
    elif s == 0:
        y = x + 5
    else:
        y = -x
    return y + 1


@case((UP, 1), (UP, -1), (DOWN, 1), (DOWN, -1))
def nested_ifs_of_both_kinds(x, k):
    if k > 0:
        if x.sum() > 0:
            y = x * k
        else:
            y = x / 2
    else:
        y = x
        if x.max() > 1:
            y = y + 1
    return y


@case()
def several_names(x):
    a, b = x, x * 2
    if x.mean() > 0:
        a, b = b, a
        c = a + b
    else:
        c = a - b
    return a, b, c


@case()
def numbers_become_tensors(x):
    k, f, flag = 1, 0.5, False
    if x.sum() > 0:
        k, f, flag = 2, 1.5, True
    return x * k + f, k, f, flag


@case()
def same_numbers_stay(x):
    n = 3
    if x.sum() > 0:
        n = 3
        y = x
    else:
        y = -x
    return [y * i for i in range(n)]


@case()
def written_in_place(x):
    y = x * 1
    if x.sum() > 0:
        y[0] = 7.0
    else:
        y += 1
    return y


@case()
def name_read_only_where_assigned(x):
    if x.sum() > 0:
        extra = x * 2
    y = x + 1
    if x.sum() > 0:
        y = y + extra
    return y


@case()
def name_never_read(x):
    if x.sum() > 0:
        unused = x * 2
        other = "text"
    else:
        unused = None
    return x * 3


@case()
def types_that_differ_and_are_not_read(x):
    y = 1
    if x.sum() > 0:
        y = "text"
    y = x
    return y


@case()
def conditional_expression(x):
    y = x * 2 if x.sum() > 0 else x - 1
    return y if y.max() > 3 else y * 10


@case(((UP), 2), (DOWN, -2))
def conditional_expression_of_numbers(x, k):
    return x * (2 if k > 0 else 3) + (1 if x.sum() > 0 else 2)


@case()
def raising_branch(x):
    if x.sum() > 1000:
        raise ValueError("too large")
    return x * 2


@case()
def raising_else(x):
    s = x.sum()
    if s > 0:
        y = x
    elif s < 0:
        y = -x
    else:
        raise ValueError("zero")
    return y


# --- logic ------------------------------------------------------------------------------------------------------------


@case((UP,), (DOWN,), ([5.0, -1.0],), ([-0.5, 20.0],))
def and_of_tensors(x):
    if x.sum() > 0 and x.max() < 4:
        return x * 2
    return x


@case((UP,), (DOWN,), ([5.0, -1.0],))
def or_not_of_tensors(x):
    if not x.sum() > 0 or x.max() > 4:
        x = x * 2
    return x


@case((UP, None), (UP, 2), (DOWN, 2), (DOWN, None))
def short_circuit(x, k):
    if k is not None and k > 1 and x.sum() > 0:
        x = x * k
    if k is None or x.sum() < 0:
        x = x + 1
    return x


@case(([0.5],), ([1.5],), ([2.5],))
def chained_comparison(x):
    if 1 < x.sum() <= 2:
        return x * 10
    return x


@case((UP, 1), (UP, 5), (DOWN, 1))
def chain_of_both_kinds(x, k):
    ok = 0 < k < 3 > x.sum() > -2
    return x * 2 if ok else x


@case((UP, []), (UP, [1]), (DOWN, [1]))
def or_of_values(x, those):
    chosen = those or [2, 3]
    return x * len(chosen) if len(chosen) > 1 and x.sum() > 0 else x


@case(([2.0],), ([0.0],))
def and_of_values(x):
    y = x.sum() and x.sum() * 3
    return x + y


@case((UP,), (DOWN,))
def logical_values(x):
    a = x.sum() > 0
    return a and x.max() > 1, a or x.min() < -2, not a


@case((UP, DOWN), (DOWN, UP), (UP, UP))
def all_and_any(x, y):
    if all([x.sum() > 0, y.sum() > 0]):
        return x + y
    if any(t.sum() > 0 for t in (x, y)) and len(x) == 2:
        return x - y
    return x


# --- return -----------------------------------------------------------------------------------------------------------


@case()
def early_return(x):
    if x.sum() > 0:
        return x * 2
    y = x + 1
    return y * 3


@case((UP,), (DOWN,), ([20.0, 1.0],), ([0.0, 0.0],))
def several_returns(x):
    s = x.sum()
    if s > 10:
        return x, s
    if s > 0:
        if x.max() > 1:
            return x * 2, s
        x = x + 1
    elif s < 0:
        x = x * 5
    return x * 3, s


@case((UP, 0), (UP, 1), (DOWN, 1))
def return_of_both_kinds(x, k):
    if k == 0:
        return None
    if x.sum() > 0:
        return x
    return -x


@case(([1.0, 2.0], count(5)), ([3.0, 4.0], count(5)), ([0.1, 0.1], count(3)))
def return_in_loop(x, n):
    total = paddle.zeros([])
    for i in range(n):
        total = total + x.sum()
        if total > 7:
            return total, i
    return total * 100, n


@case(([1.0, 2.0],), ([30.0, 4.0],), ([0.1, 0.1],))
def return_in_nested_loops(x):
    for i in range(3):
        for j in range(4):
            x = x + i * j
            if x.max() > 10:
                return x * 2
        x = x + 1
    return x


@case()
def return_in_with(x):
    with paddle.amp.auto_cast(False):
        y = x * 2
        if y.sum() > 0:
            return y + 1
        y = y * 2
    return y


@case((UP, 1.0), (DOWN, 1.0), (UP, 0), (DOWN, "a"))
def return_in_try(x, k):
    try:
        y = x / (1 / k)
        if x.sum() > 0:
            return y * 2
    except ZeroDivisionError:
        if x.sum() > 0:
            return x
        y = x * 3
    except TypeError:
        return x * 4
    else:
        y = y * 5
    return y


@case()
def return_of_dict(x):
    if x.sum() > 0:
        return {"y": x, "more": [x * 2, 1]}
    return {"y": -x, "more": [x, 1]}


# --- while ------------------------------------------------------------------------------------------------------------


@case(([1.0, 2.0],), ([0.1, 0.3],), ([100.0],), ([0.5, 0.5, 0.5],))
def while_on_tensor(x):
    while x.sum() < 10:
        x = x * 2
    return x


@case(([1.0, 2.0],), ([0.1, 0.3],), ([100.0],))
def while_with_counter(x):
    i = 0
    while x.sum() < 10 and i < 3:
        x = x * 2
        i += 1
    return x, i


@case(*COUNTS)
def while_below_tensor(x, n):
    i = paddle.zeros([], "int64")
    while i < n:
        x = x + i
        i = i + 1
    return x


@case((UP, 3), (DOWN, 0))
def while_on_numbers(x, n):
    while n > 0:
        x = x * n
        n -= 1
    return x


@case(([1.0, 2.0],), ([0.1, 0.3],), ([100.0],))
def while_true(x):
    n = 0
    while True:
        x = x * 1.5 + 0.1
        n += 1
        if x.max() > 5:
            break
    return x, n


@case(([1.0, 2.0],), ([-3.0, 0.3],), ([100.0],))
def while_with_continue(x):
    i, s = 0, x * 0
    while i < 6:
        i += 1
        if (x.sum() + i) % 2 < 1:
            continue
        s = s + x * i
    return s


@case(([1.0, 2.0],), ([-3.0, 0.3],), ([9.0],))
def break_and_continue(x):
    s, k = x.sum(), paddle.zeros([])
    while s < 20:
        s = s + 1
        if s < 5:
            continue
        k = k + s
        if k > 40:
            break
    return s, k


@case(([1.0, 2.0],), ([30.0],))
def while_else(x):
    n = 0
    while n < 3:
        x = x + 1
        if x.max() > 10:
            break
        n += 1
    else:
        x = x * 100
    return x


@case(([1.0, 2.0],), ([0.5],))
def assigned_in_loop_only(x):
    while x.sum() < 8:
        last = x * 3
        x = x * 2
    return last


@case(([1.0, 2.0],), ([0.5],))
def nested_whiles(x):
    total = paddle.zeros([])
    while x.max() < 8:
        y = x
        while y.min() < 4:
            y = y * 2
            total = total + y.sum()
        x = x + 1.5
    return total, x


@case(([1.0, 2.0],), ([0.5],))
def integer_becomes_float(x):
    k = 0
    while k < x.sum():
        k = k + 0.5
    return x * k


@case(([1.0, 3.0],), ([8.0],))
def walrus_in_while(x):
    while (y := x.sum()) < 10:
        x = x + y
    return x, y


# --- for --------------------------------------------------------------------------------------------------------------


@case(*COUNTS)
def for_range_of_tensor(x, n):
    s = x * 0
    for i in range(n):
        s = s + x * i
    return s


@case((UP, count(1), count(6)), (DOWN, count(4), count(2)), (UP, count(0), count(7)))
def for_range_with_step(x, a, b):
    s = x
    for i in range(a, b, 2):
        s = s * 1.1 + i
    for i in range(b, a, -3):
        s = s * 0.9 + i
    return s


@case((UP, 3), (DOWN, 0))
def for_range_of_number(x, n):
    for i in range(n):
        if x.sum() > i:
            x = x * 1.5
    return x


@case(*COUNTS)
def for_with_break(x, n):
    s = x.sum()
    for i in range(n):
        if s > 5:
            break
        s = s + i + 1
    return s * x


@case(*COUNTS)
def for_with_continue(x, n):
    s = x.sum()
    for i in range(n):
        if i % 2 == 0:
            continue
        s = s * 2 + i
    return s * x


@case(*COUNTS)
def for_else(x, n):
    s = x.sum()
    for i in range(n):
        s = s + 2
        if s > 6:
            break
    else:
        s = s * 10
    return s


@case(([1.0, 2.0, 3.0],), ([-1.0, 4.0],))
def for_over_tensor(x):
    s = paddle.zeros([])
    for v in x:
        if v > 0:
            s = s + v * v
    return s


@case(([[1.0, 2.0], [3.0, 4.0]],), ([[1.0], [3.0], [-4.0]],))
def for_over_rows(x):
    s = x[0] * 0
    for row in x:
        s = s * 2 + row
        if s.sum() > 8:
            break
    return s


@case(([1.0, 2.0, 3.0],), ([-1.0, 4.0],))
def enumerate_of_tensor(x):
    s = paddle.zeros([])
    for i, v in enumerate(x):
        if v > 1:
            s = s + i * v
    return s


@case(([1.0, 2.0, 3.0], [3.0, 1.0, 2.0]), ([-1.0, 4.0], [0.0, 5.0]))
def zip_of_tensors(x, y):
    s = paddle.zeros([])
    for a, b in zip(x, y):
        if a > b:
            s = s + a
        else:
            s = s - b
    return s


@case(*COUNTS)
def enumerate_of_range(x, n):
    s = x * 0
    for i, j in enumerate(range(n), 2):
        s = s + x * i * j
    return s


@case((UP,), (DOWN,))
def for_over_list(x):
    s = x
    for k in [1, 2.5, -1]:
        s = s * k
        if s.sum() > 7:
            break
    return s


@case((UP,), (DOWN,))
def for_over_dict(x):
    s = x
    for name, k in {"a": 2.0, "b": 3.0}.items():
        if s.sum() > 0:
            s = s * k
        elif name == "b":
            s = s + 1
    return s


@case(*COUNTS)
def loop_variable_after_loop(x, n):
    i = 0
    for i in range(n):
        x = x + 1
    return x * i


@case(*COUNTS)
def nested_loops(x, n):
    s = x.sum()
    for i in range(n):
        for j in range(i):
            s = s + i * j
            if s > 8:
                break
        s = s + 1
    return s


@case(*COUNTS)
def size_of_tensor(x, n):
    s = x.sum()
    for i in range(x.shape[0]):
        s = s + x[i] * i
    for _ in range(len(x)):
        s = s + n
    return s


# --- containers -------------------------------------------------------------------------------------------------------


@case()
def append_in_branch(x):
    out = [x]
    if x.sum() > 0:
        out.append(x * 2)
    else:
        out.append(x * 3)
    return out


@case()
def append_in_known_loop(x):
    out = []
    for i in range(3):
        if x.sum() > i:
            y = x * i
        else:
            y = x
        out.append(y)
    return paddle.stack(out)


@case()
def pop_in_branch(x):
    out = [x, x * 2, x * 3]
    if x.sum() > 0:
        last = out.pop()
    else:
        last = out.pop(0)
    return out, last


@case()
def dict_in_branch(x):
    d = {"a": x, "n": 1}
    if x.sum() > 0:
        d["a"] = x * 5
        d["n"] = 2
    return d


@case(*COUNTS)
def list_item_in_loop(x, n):
    state = [x, x * 0]
    for i in range(n):
        state[0] = state[0] * 1.5
        state[1] = state[1] + state[0]
    return state


@case(*COUNTS)
def dict_in_loop(x, n):
    d = {"s": x, "k": 0}
    for i in range(n):
        d["s"] = d["s"] + i
        d["k"] += 1
    return d["s"], d["k"]


@case(*COUNTS)
def tuple_in_loop(x, n):
    pair = (x, x * 2)
    for i in range(n):
        pair = (pair[1], pair[0] + i)
    return pair


@case()
def comprehensions(x):
    parts = [v * 2 for v in x if isinstance(v, paddle.Tensor)]
    table = {i: v for i, v in enumerate(parts)}
    if x.sum() > 0:
        parts = [p + 1 for p in parts]
    return parts, table, sum(v for v in x)


class Holder:
    def __init__(self):
        self.total = 0.0
        self.seen = []


@case(*COUNTS)
def attributes_in_loop(x, n):
    h = Holder()
    for i in range(n):
        h.total = h.total + x.sum() * i
    if x.sum() > 0:
        h.seen.append(x)
    else:
        h.seen.append(-x)
    return h.total, h.seen


@case()
def attributes_set_on_both_ways(x):
    h = Holder()
    if x.sum() > 0:
        h.new = x * 2
    else:
        h.new = x * 3
    h.new += 1
    again = [h.new for _ in range(2)]
    for _ in range(2):
        h.new = h.new + again[0]
    return h.new


@case()
def attribute_set_in_an_endless_loop(x):
    h = Holder()
    while True:
        h.last = x * 2
        if h.last.abs().max() > 20:
            return h.last
        x = x * 3


@case()
def returns_from_an_endless_loop(x):
    while True:
        x = x / 2
        if x.abs().max() < 1:
            return x


@case()
def returns_from_an_endless_loop_in_a_branch(x):
    if x.sum() > 0:
        while 1:
            for i in range(3):
                if i == 1:
                    break
                x = x - 1
            if x.sum() < 0:
                return x
    else:
        x = x + 100
    return x * 2


@case()
def returns_from_an_endless_loop_inside_of_try(x):
    try:
        while True:
            if x.sum() > 3:
                return x
            x = x + 1
    finally:
        x = x * 5


# --- functions --------------------------------------------------------------------------------------------------------


def helper(x, k=2):
    if x.sum() > 0:
        return x * k
    return x - k


@case()
def calls_function(x):
    return helper(x) + helper(x, k=3)


@case()
def nested_function(x):
    def inner(v, k):
        if v.sum() > 0:
            return v * k
        return v

    return inner(x, 2) + inner(-x, 3)


@case()
def nonlocal_in_branch(x):
    n = 0
    y = x

    def add(k):
        nonlocal n, y
        if y.sum() > 0:
            n += k
            y = y * 2

    add(1)
    add(2)
    return n, y


@case()
def closure_sees_changes(x):
    k = 1

    def scaled(v):
        return v * k

    if x.sum() > 0:
        k = 5
    return scaled(x)


@case((UP, 4), (DOWN, 3))
def recursion(x, n):
    if n == 0:
        return x
    if x.sum() > 0:
        x = x * 0.5
    else:
        x = x - 1
    return recursion(x, n - 1)


@case((UP, DOWN), (DOWN, UP))
def stars(x, y):
    def inner(*args, scale=1, **kwargs):
        s = args[0]
        for a in args[1:]:
            if a.sum() > 0:
                s = s + a * scale
        for name, v in kwargs.items():
            s = s - v if name == "less" else s
        return s

    return inner(x, y, scale=3, less=x) + inner(*[y, x], **{"scale": 2})


@case()
def lambdas(x):
    f = lambda v: v * 2 if v.sum() > 0 else v - 1
    return f(x) + (lambda v, k=3: v * k)(x)


def doubled(function):
    @functools.wraps(function)
    def run(*args):
        out = function(*args)
        return out * 2 if out.sum() > 0 else out

    return run


@doubled
def decorated_helper(x):
    if x.max() > 1:
        x = x + 1
    return x


@case()
def calls_decorated(x):
    return decorated_helper(x)


@paddle.no_grad()
def without_gradient(x):
    if x.sum() > 0:
        return x * 3
    return x - 1


@case()
def calls_without_gradient(x):
    return without_gradient(x) + x


@case()
def partial_and_bound(x):
    f = functools.partial(helper, k=4)
    return f(x) + Scaler(2)(x) + Scaler(3).scaled(x)


class Scaler:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return self.scaled(x) if x.sum() > 0 else x

    def scaled(self, x):
        if x.sum() < 0:
            return x * self.__twice() * 10
        return x * self.k

    def __twice(self):
        return self.k * 2


class Base:
    def step(self, x):
        if x.sum() > 0:
            return x * 2
        return x


class Derived(Base):
    def step(self, x):
        y = x
        if x.sum() > 0:
            y = super().step(x) + 1
        return super(Derived, self).step(y) + (1 if isinstance(self, __class__) else 2)


@case()
def super_in_branch(x):
    return Derived().step(x)


@case()
def super_of_ones_own(x):
    def super():
        return Derived()

    return super().step(x) if x.sum() > 0 else x


LIMIT = 3.0


@case()
def reads_globals(x):
    return x * LIMIT if x.max() > LIMIT / 2 else x


@case((UP, 1), (DOWN, 2))
def try_finally(x, k):
    log = []
    try:
        if x.sum() > 0:
            x = x * 2
        if k == 2:
            raise KeyError("k")
    except KeyError:
        x = x + 1
    finally:
        log.append(k)
    return x, log


@case((UP, "a"), (UP, 3), (DOWN, [1, 2]))
def match_on_values(x, k):
    match k:
        case str():
            y = x
            if x.sum() > 0:
                return y * 7
        case [a, b]:
            y = x * (a + b)
        case n if n > 2:
            y = x * n
    return y


# --- casts ------------------------------------------------------------------------------------------------------------


@case(([1.7],), ([-2.3],))
def casts(x):
    s = x.sum()
    return int(s), float(s) * x, bool(s), x * int(s)


@case(([1.0, 2.0], ints(3)), ([4.0], ints(0)))
def casts_of_integers(x, n):
    return float(n) * x, bool(n), x + int(n)


@case((UP, DOWN), (DOWN, UP))
def extremes(x, y):
    return max(x.sum(), y.sum()), min(x.sum(), y.sum(), 0.5), max(1, 2)


@case()
def isinstance_and_len(x):
    if isinstance(x, paddle.Tensor) and x.sum() > 0:
        return x * len(x)
    return x


@case(*COUNTS)
def asserts(x, n):
    assert n >= 0, "a count"
    assert isinstance(x, paddle.Tensor)
    if x.sum() > 0:
        assert x.max() > 0, f"shape {x.shape}"
    return x * n


@case()
def gradient_stops(x):
    y = x * 2
    if x.sum() > 0:
        y = y.detach()
    return y + x


@case(*COUNTS)
def no_grad_in_loop(x, n):
    for i in range(n):
        with paddle.no_grad():
            k = x.sum() * 0.1
        x = x * k + i
    return x


@case(([0.3, 0.8],), ([3.0],))
def newton(x):
    y = x
    while (y * y - x).abs().max() > 1e-4:
        y = (y + x / y) / 2
    return y


@case(([2.0, 1.0, 3.0],), ([1.0, 2.0],), ([5.0, 4.0, 3.0, 2.0],))
def sorted_by_bubbles(x):
    x = x * 1
    for i in range(x.shape[0]):
        for j in range(x.shape[0] - 1 - i):
            if x[j] > x[j + 1]:
                low, high = x[j + 1] * 1, x[j] * 1
                x[j], x[j + 1] = low, high
    return x


@case(([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], count(2)), ([[1.0], [3.0], [-4.0]], count(3)))
def items_at_tensors(x, n):
    out = x * 1
    s = x[0] * 0
    for i in range(n):
        s = s + x[i] * x[i, 0] + x[-1 - i]
        out[i] = s
        out[i, 0] = 7.0
    return s, out


@case(([6.0],), ([1.0],), ([3.0],))
def collatz(x):
    length = paddle.zeros([1], "int64")
    while x != 1:
        if x % 2 == 0:
            x = x / 2
        else:
            x = 3 * x + 1
        length += 1
    return x, length


@case(*COUNTS)
def conditions_with_dims(x, n):
    k = paddle.ones([1, 1])
    for _ in range(n):
        if k * x.sum() > 2 and n.reshape([1]) > 0:
            break
        k = k + 1 if k < 2 else k * 2
    return k
