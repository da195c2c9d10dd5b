"""``try``, ``raise``, ``assert``, and exceptions that leave a captured function."""

from __future__ import annotations

import contextlib

import paddle
from tests.jit.corpus.registry import driver, factory, given, program


class Rejected(Exception):
    """An exception of the user's own."""

    def __init__(self, reason, code):
        super().__init__(reason)
        self.code = code


@program(lambda t: given(t(2), "k"), lambda t: given(t(2), "missing"))
def except_of_a_key(x, key):
    table = {"k": 2.0}
    try:
        scale = table[key]
    except KeyError:
        scale = -1.0
    return x * scale


@program(lambda t: given(t(2), 1), lambda t: given(t(2), 0), lambda t: given(t(2), "a"))
def try_except_else_finally(x, n):
    log = []
    try:
        log.append("try")
        y = x * (6 // n)
    except ZeroDivisionError as error:
        log.append(str(error))
        y = x
    except TypeError:
        log.append("type")
        y = -x
    else:
        log.append("else")
        y = y + 1
    finally:
        log.append("finally")
    return y, log


@program(lambda t: given(t(2), 1), lambda t: given(t(2), -1), raises="Rejected")
def exception_of_ones_own(x, n):
    y = x.exp()
    if n < 0:
        raise Rejected("negative", n)
    return y * n


@program(lambda t: t.of([1.0]), lambda t: t.of([-1.0]), raises="ValueError")
def raise_on_a_tensor(x):
    y = x * 2
    if y.sum() < 0:
        raise ValueError("negative sum")
    return y.sqrt()


def _checked(x, limit):
    if x.shape[0] > limit:
        raise ValueError(f"at most {limit}, got {x.shape[0]}")
    return x * limit


def _outer_checked(x, limit):
    y = _checked(x, limit)
    return y + 1


@program(lambda t: given(t(2), 2), lambda t: given(t(3), 2), raises="ValueError")
def exception_from_an_inner_call(x, limit):
    y = x + 1
    z = _outer_checked(y, limit)
    return z * y


@program(lambda t: given(t(2), 2), lambda t: given(t(3), 2), lambda t: given(t(4), 2))
def exception_caught_two_frames_above(x, limit):
    try:
        return _outer_checked(x, limit)
    except ValueError as error:
        return x * 0, error.args


@program(lambda t: given(t(2), 3), lambda t: given(t(2), 4), lambda t: given(t(2), 0))
def try_in_a_loop(x, n):
    failures = 0
    for k in range(n):
        try:
            if k % 2:
                raise IndexError(k)
            x = x * 2
        except IndexError as e:
            failures += e.args[0]
            if failures > 3:
                break
            continue
        finally:
            x = x + 1
    return x, failures


@program(lambda t: given(t(2), 0), lambda t: given(t(2), 1))
def finally_that_overrides_a_return(x, n):
    def inner():
        try:
            return x * 2
        finally:
            if n:
                return x * 3  # noqa: B012  (what is tested)

    for _ in range(2):
        try:
            y = inner()
            continue
        finally:
            x = x + 1
    return x, y


@program(lambda t: given(t(2), True), lambda t: given(t(2), False), raises="RuntimeError")
def raise_from(x, chained):
    try:
        items = [0, 1]
        return x * items[x.shape[0]]
    except IndexError as error:
        if chained:
            raise RuntimeError("chained") from error
        raise RuntimeError("hidden") from None


@program(lambda t: given(t(2), []), lambda t: given(t(3), []), raises="ZeroDivisionError")
def reraise_after_a_side_effect(x, log):
    y = x * 2
    try:
        log.append(y.shape[0])
        return y / (1 // (2 - x.shape[0] // 1) if x.shape[0] < 3 else 1 // 0)
    except ZeroDivisionError:
        log.append("reraised")
        print("dividing", x.shape)
        raise


@program(lambda t: given(t(2), 2), lambda t: given(t(3), 2), raises="AssertionError")
def assert_on_a_size(x, n):
    y = x * 2
    assert x.shape[0] == n, f"{n} rows are required, got {x.shape[0]}"
    return y + 1


@program(lambda t: t.of([1.0, 2.0]), lambda t: t.of([1.0, -2.0]), raises="AssertionError")
def assert_on_a_tensor(x):
    y = x.log1p() if False else x * 3
    assert (x > 0).all()
    return y


@program(
    lambda t: t(2, 2),
    lambda t: t(3, 2),
    raises="ValueError",
)
def error_of_an_operator(x):
    y = x + 1
    z = paddle.matmul(x, y)
    return z * 2


@program(lambda t: given(t(2), [1, 2]), lambda t: given(t(2), [1]), raises="IndexError")
def error_of_a_builtin(x, items):
    y = x * items[0]
    z = y + items[1]
    return z


@program(lambda t: given(t(2), "3"), lambda t: given(t(2), "x"), raises="ValueError")
def error_of_a_conversion(x, text):
    y = x + 1
    return y * int(text)


@program(lambda t: given(t(2)), lambda t: given(t(3)), raises="AttributeError")
def error_of_an_attribute(x):
    y = x * 2
    return y.no_such_attribute


@program(lambda t: given(t(2)), lambda t: given(t(3)), raises="NameError")
def error_of_a_name(x):
    y = x * 2
    return y + no_such_name


@program(lambda t: given(t(2), 1), lambda t: given(t(2), 1, 2, 3), raises="TypeError")
def error_of_a_signature(x, *numbers):
    def inner(a, b=1):
        return a * b

    return inner(x, *numbers)


@program(lambda t: given(t(2), 2), lambda t: given(t(2), 0))
def nested_try(x, n):
    log = []
    try:
        try:
            y = x * (4 // n)
        finally:
            log.append("inner")
    except ArithmeticError as error:
        log.append(type(error).__name__)
        try:
            raise KeyError("second")
        except (ValueError, KeyError) as second:
            log.append(type(second.__context__).__name__)
        y = x
    return y, log


@program(lambda t: given(t(2), 1), lambda t: given(t(2), 2), lambda t: given(t(2), 3))
def exception_variable_is_deleted(x, n):
    error = "before"
    try:
        if n == 2:
            raise ValueError(n)
    except ValueError as error:  # noqa: F841
        x = x * 5
    try:
        return x, error
    except UnboundLocalError:
        return -x, "gone"


@factory(lambda t: given(t(2), 0), lambda t: given(t(2), 1), lambda t: given(t(2), 0), raises="ValueError")
def state_after_an_exception():
    state = {"calls": 0, "done": 0}

    def f(x, bad):
        state["calls"] += 1
        x = x * 2
        if bad:
            raise ValueError(state["calls"])
        state["done"] += 1
        return x * state["done"]

    return f


@driver(lambda t: t.of([1.0]), lambda t: t.of([-1.0]), lambda t: t.of([2.0]))
def exception_caught_outside(capture):
    @capture
    def f(x):
        if x < 0:
            raise LookupError("below")
        return x * 2

    def call(x):
        try:
            return f(x)
        except LookupError as error:
            return str(error), x * 0

    return call


@program(lambda t: given(t(2), [1, 0, "a"]), lambda t: given(t(2), []))
def suppressed_exceptions(x, divisors):
    for d in divisors:
        with contextlib.suppress(ZeroDivisionError, TypeError):
            x = x + 4 // d
            x = x * 2
    return x


@program(lambda t: t.of([4.0]), lambda t: t.of([-4.0]))
def try_around_a_tensor_branch(x):
    try:
        if x < 0:
            raise ValueError("negative")
        y = x.sqrt()
    except ValueError:
        y = x * 0
    return y + 1
