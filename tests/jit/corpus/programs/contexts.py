"""``with``: context managers of the user, of the library, and of the framework."""

from __future__ import annotations

import contextlib
import io

import paddle
from tests.jit.corpus.reasons import BREAKS
from tests.jit.corpus.registry import factory, given, program


class Scope:
    """A context manager that logs, and drops errors of one class."""

    def __init__(self, log, dropped=()):
        self.log, self.dropped = log, dropped

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, error, trace):
        self.log.append("exit" if kind is None else kind.__name__)
        return kind is not None and issubclass(kind, self.dropped)


@contextlib.contextmanager
def scaled(log, k):
    log.append(k)
    try:
        yield k * 2
    finally:
        log.append("left")


@program(lambda t: given(t(2), []), lambda t: given(t(3), ["before"]))
def context_manager_of_a_class(x, log):
    with Scope(log) as scope:
        y = x * len(scope.log)
    return y + 1, log


@program(
    lambda t: given(t(2), [], 1),
    lambda t: given(t(2), [], 0),
    lambda t: given(t(2), [], None),
    raises="TypeError",
)
def context_manager_that_drops_errors(x, log, n):
    with Scope(log, ZeroDivisionError):
        x = x * 10
        x = x + 1 // n
    return x, log


@program(lambda t: given(t(2), [], 3), lambda t: given(t(2), [], 4))
def context_manager_of_a_generator(x, log, k):
    with scaled(log, k) as factor:
        x = x * factor
    with scaled(log, 1) as a, scaled(log, 2) as b:
        x = x + a * b
    return x, log


@program(lambda t: given(t.of([1.0]), []), lambda t: given(t.of([-1.0]), []))
def tensor_branch_within_a_context(x, log):
    with Scope(log):
        if x > 0:
            x = x * 2
        else:
            x = x - 5
    return x, log


@program(lambda t: given(t(2), [], 0), lambda t: given(t(2), [], 1), lambda t: given(t(2), [], 2))
def return_and_break_out_of_contexts(x, log, n):
    for k in range(3):
        with Scope(log), Scope(log):
            if n == 0:
                return x * 2
            if k == n:
                break
            x = x + k
    return x


@program(lambda t: given(t(2), True), lambda t: given(t(2), False))
def no_grad_inside(x, flag):
    with paddle.no_grad():
        scale = (x * x).sum()
    y = x * scale
    with paddle.set_grad_enabled(flag):
        z = x * 3
    return y, z, scale.stop_gradient, paddle.is_grad_enabled()


@factory(lambda t: t(2), lambda t: t(3))
def no_grad_as_a_decorator():
    @paddle.no_grad()
    def statistics(x):
        return x.mean(), paddle.is_grad_enabled()

    def f(x):
        mean, enabled = statistics(x)
        return x - mean, enabled

    return f


@program(lambda t: given(t(2, 2), [1, 2]), lambda t: given(t(2, 2), []))
def exit_stack(x, numbers):
    log = []
    with contextlib.ExitStack() as stack:
        for n in numbers:
            x = x * stack.enter_context(scaled(log, n))
        stack.callback(log.append, "callback")
    return x, log


@program(lambda t: given(t(2), "a"), lambda t: given(t(2), "b"), refused=BREAKS)
def nullcontext_and_redirection(x, text):
    with contextlib.nullcontext(5) as five:
        x = x * five
    buffer = io.StringIO()
    with contextlib.redirect_stdout(buffer):
        print(text, five)
    return x, buffer.getvalue()


@program(lambda t: given(t(2, 2)), lambda t: given(t(3, 3)), tolerance=1000.0)
def auto_cast_inside(x):
    with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
        y = x @ x
        with paddle.amp.auto_cast(enable=False):
            z = x @ x
    return y, z, x @ x


@program(lambda t: given(t(2)), lambda t: given(t(2)))
def default_dtype_changed_inside(x):
    before = paddle.get_default_dtype()
    paddle.set_default_dtype("float64")
    try:
        y = paddle.ones([2])
    finally:
        paddle.set_default_dtype(before)
    return x, y, paddle.ones([1])


class Timer(contextlib.ContextDecorator):
    """A context manager that is a decorator, too."""

    entered = 0

    def __enter__(self):
        type(self).entered += 1
        return self

    def __exit__(self, *exc):
        return False


@factory(lambda t: t(2), lambda t: t(2))
def context_decorator():
    Timer.entered = 0

    @Timer()
    def inner(x):
        return x * Timer.entered

    def f(x):
        with Timer():
            return inner(x) + Timer.entered

    return f
