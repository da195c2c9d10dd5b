# ruff: noqa: B008, B023, C408, C416, E731, F821
"""Small functions of every kind of statement and expression, whose calls tell in a list what they do.

``CASES`` are pairs: a function, and what makes its arguments out of the list.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

PROGRAMS: list[Callable[[list[Any]], Any]] = []
MANY = 262


def program(function: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    PROGRAMS.append(function)
    return function


def note(log: list[Any], value: Any) -> Any:
    log.append(value)
    return value


class Context:
    """A context manager that tells what happens to it, and swallows exceptions if it is asked to."""

    def __init__(self, log: list[Any], name: str, swallows: bool = False):
        self.log, self.name, self.swallows = log, name, swallows

    def __enter__(self) -> str:
        self.log.append(f"enter {self.name}")
        return self.name

    def __exit__(self, kind: type | None, error: Exception | None, trace: Any) -> bool:
        self.log.append(f"exit {self.name} {kind and kind.__name__} {error}")
        return self.swallows


class Thrown(Exception):
    """What is thrown into frames."""


# Expressions


@program
def arguments(log):
    def several(*args, **kwargs):
        return args, sorted(kwargs.items())

    rest, names = [3, 4], {"e": 7}
    return several(note(log, 1), note(log, 2), *rest, d=note(log, 5), **names)


@program
def keywords(log):
    return dict(a=note(log, 1), b=dict(c=note(log, 2), d=3), e=note(log, [4]))


@program
def methods(log):
    text = " a,b "
    parts = text.strip().split(note(log, ","), maxsplit=1)
    log.append(",".join(part.upper() for part in parts))
    return sorted(parts, key=lambda part: -ord(part), reverse=bool(log))


@program
def attribute_that_is_called(log):
    holder = types.SimpleNamespace(function=lambda a, b: (a, b), items=[1])
    holder.items[0] += note(log, 4)
    return holder.function(note(log, 1), holder.function(2, note(log, 3))), holder.items


@program
def chained_comparison(log):
    return 1 < note(log, 2) <= note(log, 2) < note(log, 1) < note(log, 5), 0 < note(log, 1) < 3


@program
def in_place(log):
    x, i = [1, 2, 3], 1
    x[note(log, i)] += note(log, 10)
    x[0:2] = x[1:3]
    x[-1] **= 2
    return x


@program
def formatted(log):
    width, value = 8, 3.14159
    return f"<{note(log, value):{note(log, width)}.2f}|{note(log, 'é')!a:>6}|{log!r}>"


@program
def displays(log):
    a, *b, c = [note(log, k) for k in range(5)]
    return [a, *b], {"c": c, "d": 1}, {*b, a}, (c, *b), b[::2]


@program
def conditional(log):
    a = note(log, 0) or (note(log, 3) and note(log, 4))
    b = note(log, 1) if not a else note(log, None) is None
    return a, b, not b, a in (4, 5), 3 not in log


@program
def walrus(log):
    return [y := note(log, 1), y + (z := 2), [y * z for y in range(y, z + 1)], y]


@program
def nested_calls(log):
    return max(abs(min(note(log, -3), max(note(log, -8), -9))), len([note(log, 1), 2]), key=float)


# Comprehensions


@program
def comprehensions(log):
    k = 3
    lists = [note(log, x * k) for x in range(3) if x != 1]
    return lists, {x: y for x, y in zip("ab", lists)}, {x % 2 for x in lists}, sum(x for x in lists)


@program
def nested_comprehension(log):
    x = 5
    table = [[note(log, x * y) for x in range(2)] for y in range(2)]
    return table, x


@program
def comprehension_in_an_argument(log):
    return note(log, [note(log, i) for i in [j + 1 for j in (1, 2)]]), [(a, b) for a in "xy" for b in range(2)]


@program
def cells_of_a_comprehension(log):
    functions = [lambda: (x, log[0]) for x in range(note(log, 3))]
    return [function() for function in functions]


@program
def cells_around_a_comprehension(log):
    x = "outside"
    inner = lambda: x
    functions = [(lambda: x) for x in (1, 2)]
    return inner(), [f() for f in functions], x


@program
def failing_comprehension(log):
    x = 7
    try:
        return [note(log, 1 // (x - 1)) for x in range(3)]
    except ZeroDivisionError as error:
        return str(error), x


# Loops


@program
def loops(log):
    total = 0
    for i in range(4):
        for j in (1, 2):
            if (i + j) % 3 == 0:
                continue
            total += i * j
        else:
            log.append(total)
        if i == 2:
            break
    else:
        log.append("never")
    while total > 3:
        total -= 3
    return total


@program
def loop_with_an_expression_below(log):
    pairs = [("a", 1), ("b", 2)]
    for name, number in reversed(pairs):
        log += [name] * number
    return note(log, len(log)) + sum(number for _, number in pairs)


@program
def unpacking_loop(log):
    found = {}
    for i, (name, *others) in enumerate([("a", 1, 2), ("b",)]):
        found[name] = i, others
        del others
    return found


# Exceptions


@program
def try_except(log):
    try:
        log.append(1)
        int("x")
        log.append("never")
    except ValueError as error:
        log.append(type(error).__name__)
    except Thrown as error:
        log.append(f"thrown {error}")
    else:
        log.append("never")
    return log[-1]


@program
def try_else_finally(log):
    result = []
    try:
        value = note(log, 3)
    except Thrown:
        result.append("thrown")
    else:
        result.append(value + note(log, 1))
    finally:
        result.append("finally")
        log.append("finally")
    return result


@program
def nested_try(log):
    for i in range(3):
        try:
            try:
                note(log, 10 // i)
            finally:
                log.append(f"inner {i}")
        except ZeroDivisionError:
            continue
        except Thrown:
            log.append("thrown")
            raise
        finally:
            log.append(f"outer {i}")
    return i


@program
def return_through_finally(log):
    def pick(n):
        return n

    for i in [5, 6]:
        try:
            return pick(note(log, i))
        finally:
            log.append("on the way")
    return None


@program
def break_through_finally(log):
    for i in range(3):
        try:
            if i == 1:
                break
            continue
        finally:
            log.append(i)
    return i


@program
def exception_in_an_expression(log):
    try:
        return [1, note(log, 2), {"a": note(log, [])[0]}]
    except IndexError:
        return note(log, "index")


@program
def failure_of_a_handler(log):
    found = {}
    for key in ([], "k", "m"):
        try:
            try:
                found[key].append(1)
            except TypeError:
                for name in sorted(found):
                    if name == "m":
                        break
                else:
                    raise KeyError("none")
            log.append(f"found {key}")
        except KeyError as error:
            log.append(str(error))
            found["k"] = []
        log.append(key)
    return found


@program
def raises(log):
    try:
        raise KeyError("k")
    except KeyError as error:
        log.append(repr(error))
        raise RuntimeError("r") from error


@program
def fails(log):
    note(log, 1)
    values = {"a": note(log, 1)}
    return note(log, values["a"]) + note(
        log,
        values["b"],
    )


@program
def bare_except(log):
    try:
        note(log, 1)
        assert note(log, 0), "zero"
    except:  # noqa: E722
        log.append(sys.exc_info()[0].__name__)
    return len(log)


@program
def exception_variable(log):
    error = "before"
    try:
        raise Thrown("own")
    except Thrown as error:
        log.append(str(error))
    try:
        return error
    except UnboundLocalError:
        return "unbound"


# Contexts


@program
def contexts(log):
    with Context(log, "a") as a, Context(log, "b") as b:
        log.append(a + b)
    with Context(log, "c"):
        return note(log, "inside")


@program
def swallowing_context(log):
    with Context(log, "a", swallows=True):
        note(log, 1)
        raise KeyError(note(log, "k"))
    return "after"


@program
def contexts_in_a_loop(log):
    for i in range(3):
        with Context(log, f"c{i}", swallows=i == 1) as name:
            try:
                if i == 0:
                    continue
                note(log, 1 // (i - 1))
                if i == 2:
                    break
            finally:
                log.append(name)
    return i


@program
def context_below_a_stack(log):
    return [note(log, k) for k in range(2)] + [_within(log, Context(log, "x"))]


def _within(log, context):
    with context as name:
        return note(log, name)


@program
def deep_blocks(log):
    for i in range(2):
        with Context(log, f"o{i}"):
            for j in range(2):
                try:
                    with Context(log, f"i{j}"):
                        note(log, (i, [note(log, j), i + j]))
                except Thrown as thrown:
                    log.append(str(thrown))
                finally:
                    log.append("f")
    return "done"


# Variables


@program
def closures(log):
    count, step = 0, 2

    def add(n):
        nonlocal count
        count += n * step
        return note(log, count)

    add(1)
    step = 3
    later = add(1) + add(step)
    return later, count, [add(k) for k in range(2)]


@program
def captured_parameter(log):
    def outer(log, first, *rest, key=1):
        def inner():
            return log, first, rest, key

        first += 1
        key = note(log, key + first)
        return inner()

    return outer(log, 1, 2, 3, key=4)


@program
def deleted(log):
    a, b = note(log, 1), 2
    del a
    log.append(b)
    try:
        return a
    except UnboundLocalError as error:
        log.append(type(error).__name__)
    a = b
    return a


@program
def never_bound(log):
    for x in ():
        y = x
    if log:
        y = 1
    try:
        note(log, y)
    except UnboundLocalError:
        log.append("unbound")
    return len(log)


@program
def all_locals(log):
    a = note(log, 1)
    b = a + 1
    return sorted(k for k, v in locals().items() if v is not log), b


@program
def imports(log):
    import math as m
    from functools import reduce

    return m.floor(note(log, 2.5)), reduce(lambda a, b: a * b, [1, 2, note(log, 3)])


@program
def recursion(log, n=4):
    if n <= 1:
        return note(log, 1)
    return n * recursion(log, n - 1) + len(log)


@program
def decorated(log):
    def twice(function):
        @functools.wraps(function)
        def run(*args):
            return [function(*args), function(*args)]

        return run

    @twice
    def add(a: int, b: int = 2, *, c=note(log, 3)) -> int:
        return note(log, a + b + c)

    return add(1), add.__annotations__


@program
def matching(log):
    def kind(x):
        match x:
            case {"a": [first, *_], **rest}:
                return note(log, first), rest
            case [1, (2 | 3) as y]:
                return y
            case complex(real=r) if r > 0:
                return r
            case str() | None:
                return "text"
            case _:
                return "other"

    found = []
    for x in ({"a": [1, 2], "b": 3}, [1, 3], 2 + 1j, None, 5):
        match x:
            case {"a": [first, *others], **rest}:
                found.append((note(log, first), others, rest))
            case [1, (2 | 3) as y]:
                found.append(y)
            case complex(real=r) if note(log, r) > 0:
                found.append(r)
            case _:
                found.append(kind(x))
    return found


class Base:
    def __init__(self, log):
        self.log = log

    def value(self, *args, **kwargs):
        return note(self.log, (args, kwargs))

    @property
    def name(self):
        return "base"


class Derived(Base):
    def value(self, *args, **kwargs):
        first = super().value(1)
        return [
            first,
            super().value(*args, k=note(self.log, 2)),
            super().name,
            super().name,
            __class__.__name__,
        ]

    def captured(self, a):
        later = lambda: (self.name, a)
        return [note(self.log, a), super().value(a), later(), super().value()]

    def looping(self, n):
        for i in range(n):
            try:
                note(self.log, super().name + str(i))
            finally:
                super().value(i)
        return super().name


def many_locals(n: int) -> Callable[..., Any]:
    """A function with so many variables and such long jumps that arguments of its instructions need more bytes."""
    lines = ["def many(log):", "    for turn in range(2):", "        try:"]
    lines += [f"            v{i} = {i} + turn if turn else {i}.5" for i in range(n)]
    lines += ["            note(log, v0 + v1)", "        finally:", f"            log.append(v{n - 1})"]
    lines += ["            w = lambda: v3", f"    return v{n - 1}, v17 + v16, v16 + v17, w()"]
    names: dict[str, Any] = {"note": note}
    exec(compile("\n".join(lines), __file__, "exec"), names)
    return names["many"]


METHODS = [
    (Derived.value, lambda log: (Derived(log), 5)),
    (Derived.captured, lambda log: (Derived(log), 5)),
    (Derived.looping, lambda log: (Derived(log), 2)),
    (many_locals(24), lambda log: (log,)),
    (many_locals(MANY), lambda log: (log,)),
]
if sys.version_info >= (3, 11):
    _GROUPS = """
def groups(log):
    try:
        note(log, 1)
        raise ExceptionGroup("g", [ValueError("v"), KeyError("k")])
    except* ValueError as group:
        log.append(len(group.exceptions))
    except* (KeyError, Thrown) as group:
        log.append(repr(group.exceptions[0]))
    return len(log)
"""
    _names: dict[str, Any] = {"note": note, "Thrown": Thrown}
    exec(compile(_GROUPS, __file__, "exec"), _names)
    METHODS.append((_names["groups"], lambda log: (log,)))
CASES = [(function, lambda log: (log,)) for function in PROGRAMS] + METHODS
