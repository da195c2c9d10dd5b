"""Functions and classes that get other code, defaults, names or bases while they stay the same objects."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import paddle

x = paddle.to_tensor([1.0, -2.0])


def scaled(v, a=2):
    return v * a


def scaled_by_name(v, *, a=2):
    return v * a


def scaled_by_list(v, a=(2, 3)):
    return v * a[0]


def needing(v, a):
    return v * a


def other(v, a=2):
    return v + a


def fresh(f):
    """The function made anew, so that cases share nothing."""
    made = functools.update_wrapper(type(f)(f.__code__, globals(), f.__name__, f.__defaults__), f)
    made.__kwdefaults__ = dict(f.__kwdefaults__ or {}) or None
    del made.__wrapped__
    return made


def defaults(f, i):
    f.__defaults__ = (i + 5,)


def tensors(f, i):
    f.__defaults__ = (paddle.full([2], i + 5.0),)


def lists(f, i):
    f.__defaults__[0][0] = i + 5


def named(f, i):
    f.__kwdefaults__ = {"a": i + 5}


def named_in_place(f, i):
    f.__kwdefaults__["a"] = i + 5


def code(f, i):
    f.__code__ = other.__code__ if i % 2 == 0 else scaled.__code__


CHANGES = {
    "defaults": (scaled, defaults),
    "defaults that are tensors": (scaled, tensors),
    "an item of a default": (lambda v, a: v * a[0], lists),
    "defaults by name": (scaled_by_name, named),
    "an item of the defaults by name": (scaled_by_name, named_in_place),
    "defaults that there were not": (needing, defaults),
    "code": (scaled, code),
}


def itself(f):
    return f


def calling(f):
    def program(v):
        try:
            return f(v)
        except TypeError:
            return v

    return program


def of_argument(f):
    inner = paddle.jit.to_static(lambda g, v: calling(g)(v))
    return lambda v: inner(f, v)


def in_method(f):
    held = type("Kind", (), {"f": staticmethod(f)})()
    return lambda v: calling(held.f)(v)


def behind_a_break(f):
    return lambda v: calling(f)(v * float(v[0]))


def as_hook(f):
    def program(v):
        y = v * 1
        y.stop_gradient = False
        z = y * 2
        z.register_hook(f)
        return paddle.grad(z.sum(), y)[0]

    return program


def as_gradient(f):
    class Layer(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, v):
            return v * 1

        @staticmethod
        def backward(ctx, g):
            return f(g)

    def program(v):
        y = v * 1
        y.stop_gradient = False
        return paddle.grad(Layer.apply(y).sum(), y)[0]

    return program


WAYS = [itself, calling, of_argument, in_method, behind_a_break, as_hook, as_gradient]


def same_at_all_calls(captured, program, change):
    for i in range(4):
        if i:
            change(i)
        got, wanted = captured(x), program(x)
        np.testing.assert_array_equal(got.numpy(), wanted.numpy(), err_msg=f"call {i}")


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CHANGES)
def test_a_function_is_called_as_it_is_now(name, way, full_graph):
    made, change = CHANGES[name]
    f = fresh(made)
    if change is lists:
        f.__defaults__ = ([2, 3],)
    if change is defaults and made is needing and way in (itself, as_hook, as_gradient):
        f.__defaults__ = (2,)  # no call without it
    if way is behind_a_break and full_graph:
        way = calling
    program = way(f)
    same_at_all_calls(paddle.jit.to_static(program, full_graph=full_graph), program, lambda i: change(f, i))


def of_class(i):
    return type("Base", (), {"factor": lambda self: i + 2})


READ = {
    "defaults": (lambda f, k: f.__defaults__[0], lambda f, k, i: defaults(f, i)),
    "code": (lambda f, k: len(f.__code__.co_names), lambda f, k, i: code(f, i)),
    "the name": (lambda f, k: len(f.__name__), lambda f, k, i: setattr(f, "__name__", "f" * i)),
    "the docstring": (lambda f, k: len(f.__doc__ or ""), lambda f, k, i: setattr(f, "__doc__", "f" * i)),
    "a method's defaults": (lambda f, k: k().f.__defaults__[0], lambda f, k, i: defaults(f, i)),
    "a cell": (
        lambda f, k: k.cell.__closure__[0].cell_contents,
        lambda f, k, i: setattr(k.cell.__closure__[0], "cell_contents", i + 5),
    ),
    "a class's name": (lambda f, k: len(k.__name__), lambda f, k, i: setattr(k, "__name__", "f" * i)),
    "a class's docstring": (lambda f, k: len(k.__doc__ or ""), lambda f, k, i: setattr(k, "__doc__", "f" * i)),
    "bases": (lambda f, k: k().factor(), lambda f, k, i: setattr(k, "__bases__", (of_class(i),))),
}


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("name", READ)
def test_what_is_read_of_functions_and_classes_is_as_it_is_now(name, full_graph):
    read, change = READ[name]
    f, n = fresh(scaled), 3
    kind = type("Kind", (of_class(0),), {"f": f, "cell": staticmethod(lambda v: v * n)})

    def program(v):
        return v * read(f, kind)

    same_at_all_calls(paddle.jit.to_static(program, full_graph=full_graph), program, lambda i: change(f, kind, i))
