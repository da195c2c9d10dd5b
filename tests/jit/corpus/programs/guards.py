"""What may change between two calls, so that what was captured must not serve, or must serve with other values."""

from __future__ import annotations

import builtins
import types

import numpy as np

import paddle
import paddle.nn.functional as F
from paddle import nn
from tests.jit.corpus.reasons import ARRAYS, BREAKS
from tests.jit.corpus.registry import driver, given, program


@driver(lambda t: given(t(2), True), lambda t: given(t(2), False), lambda t: given(t(2), True))
def gradients_switched_off_around_calls(capture):
    @capture
    def f(x):
        y = x * x
        return y, y.stop_gradient, paddle.is_grad_enabled()

    def call(x, enabled):
        with paddle.set_grad_enabled(enabled):
            return f(x)

    return call


@driver(
    lambda t: given(t(2, 2), "O0"), lambda t: given(t(2, 2), "O1"), lambda t: given(t(2, 2), "O0"), tolerance=1000.0
)
def mixed_precision_around_calls(capture):
    @capture
    def f(x):
        y = x @ x
        return y, str(y.dtype)

    def call(x, level):
        with paddle.amp.auto_cast(enable=level != "O0", level="O1", dtype="bfloat16"):
            return f(x)

    return call


@driver(lambda t: given(t(2), "float32"), lambda t: given(t(2), "float64"), lambda t: given(t(2), "float32"))
def default_dtype_around_calls(capture):
    @capture
    def f(x):
        return x + paddle.ones([2]).astype("float32"), paddle.zeros([1]), paddle.to_tensor(0.5)

    def call(x, dtype):
        paddle.set_default_dtype(dtype)
        try:
            return f(x)
        finally:
            paddle.set_default_dtype("float32")

    return call


@program(*(lambda t, v=v: given(t(2), v) for v in (1, 1.0, True, np.float32(1), 0, 0.0, -0.0, False)))
def equal_numbers_of_several_classes(x, v):
    return x * v, repr(v), v == 1, 1 / (x * 0 + v)


@program(*(lambda t, v=v: given(t(2), v) for v in (float("nan"), 1.0, float("nan"), float("inf"), float("-inf"))))
def numbers_that_do_not_equal_themselves(x, v):
    if v == v:
        return x * 2 + (v if v < 10 else 0)
    return x * 3


@program(*(lambda t, v=v: given(t(2), v) for v in ("ab", "a" + str("b"), "abc"[:2], "", None, b"ab")))
def equal_texts_that_are_other_objects(x, v):
    table = {"ab": 2.0, None: 3.0, b"ab": 4.0}
    return x * table.get(v, 1.0), v


@program(
    *(
        lambda t, v=v: given(t(2), v)
        for v in (
            (1, 2),
            (1, 2.0),
            [1, 2],
            (1,),
            ((1, 2), 3),
            ([1], 2),
            {"a": 1},
            {"a": 1, "b": 2},
            {"b": 2, "a": 1},
            {1, 2},
        )
    )
)
def structures_of_constants(x, v):
    def total(n):
        if isinstance(n, dict):
            return sum(i * total(m) for i, m in enumerate(n.values(), 1))
        return sum(map(total, n)) if isinstance(n, (tuple, list, set)) else n

    return x * total(v), type(v).__name__, len(v)


@driver(*(lambda t, k=k: given(t(2), k) for k in range(6)))
def objects_replaced_by_others_like_them(capture):
    class A:
        kind = "a"

        def __init__(self, n):
            self.n = n

        def run(self, x):
            return x * self.n

    class B(A):
        kind = "b"

    class C(A):
        def run(self, x):
            return x - self.n

    held = types.SimpleNamespace(model=None)

    @capture
    def f(x):
        m = held.model
        return m.run(x), m.kind, isinstance(m, B), hasattr(m, "extra")

    def call(x, k):
        held.model = [A(2), A(3), B(2), C(2), A(2), A(2)][k]
        if k == 4:
            held.model.extra = 1
        if k == 5:
            held.model.run = lambda y: y * 100
        return f(x)

    return call


@driver(*(lambda t, k=k: given(t(2), k) for k in range(5)))
def classes_changed_between_calls(capture):
    class A:
        k = 2

        def run(self, x):
            return x * self.k

    class Other:
        k = 7

        def run(self, x):
            return x + self.k

    a = A()

    @capture
    def f(x):
        return a.run(x)

    def call(x, step):
        if step == 1:
            A.k = 3
        if step == 2:
            A.run = lambda self, x: x - self.k
        if step == 3:
            a.k = 10
        if step == 4:
            a.__class__ = Other
        return f(x)

    return call


@driver(*(lambda t, k=k: given(t(2), k) for k in range(5)))
def functions_changed_between_calls(capture):
    def helper(x, k=2, *, bias=1.0):
        return x * k + bias

    def other(x, k=2, *, bias=1.0):
        return x - k - bias

    @capture
    def f(x):
        return helper(x)

    def call(x, step):
        if step == 1:
            helper.__defaults__ = (5,)
        if step == 2:
            helper.__kwdefaults__ = {"bias": 3.0}
        if step == 3:
            helper.__code__ = other.__code__
        if step == 4:
            helper.__defaults__ = (1,)
        return f(x)

    return call


@driver(*(lambda t, k=k: given(t(2), k) for k in range(4)))
def cells_changed_between_calls(capture):
    scale, act = 2.0, paddle.tanh

    @capture
    def f(x):
        return act(x) * scale

    def call(x, step):
        nonlocal scale, act
        if step == 1:
            scale = 3.0
        if step == 2:
            act = paddle.exp
        if step == 3:
            scale, act = paddle.full([2], 4.0), lambda v: v * v
        return f(x)

    return call


@driver(*(lambda t, k=k: given(t(2), k) for k in range(4)))
def builtins_hidden_between_calls(capture):
    @capture
    def f(x):
        return x * len([1, 2, 3]) + abs(-2)

    def call(x, step):
        if step == 1:
            globals()["len"] = lambda v: 10
        if step == 2:
            globals().pop("len")
        if step != 3:
            return f(x)
        before = builtins.abs
        builtins.abs = lambda v: 50
        try:
            return f(x)
        finally:
            builtins.abs = before

    return call


@driver(*(lambda t, k=k: given(t(2), k) for k in range(5)))
def containers_changed_between_calls(capture):
    numbers, table, names, pair = [1.0, 2.0], {"a": 1.0}, {"x"}, (1, [2])

    @capture
    def f(x):
        total = sum(numbers) + table["a"] * len(table) + ("y" in names) * 100 + pair[1][0]
        for key in table:
            x = x + len(key)
        return x * total

    def call(x, step):
        if step == 1:
            numbers.append(3.0)
        if step == 2:
            table["bcd"] = 2.0
        if step == 3:
            names.add("y")
            pair[1][0] = 20
        if step == 4:
            table["a"] = 5.0
            numbers[0] = -1.0
        return f(x)

    return call


@driver(*(lambda t, k=k: given(t(2, 2), k) for k in range(6)))
def layers_changed_between_calls(capture):
    dropout = nn.Dropout(0.5)
    net = nn.Sequential(nn.Linear(2, 2), dropout, nn.Linear(2, 2))
    run = capture(net)

    def call(x, step):
        if step == 1:
            dropout.eval()
        if step == 2:
            dropout.p = 0.25
            net.train()
        if step == 3:
            net.add_sublayer("3", nn.ReLU())
        if step == 4:
            net[0].bias = None
        if step == 5:
            net._sub_layers.pop("1", None)
        return run(x), len(net)

    return call


@driver(*(lambda t, k=k: given(t(2), k) for k in range(4)))
def hooks_added_between_calls(capture):
    net = nn.Linear(2, 2)
    run = capture(net)
    handles = []

    def call(x, step):
        if step == 1:
            handles.append(net.register_forward_pre_hook(lambda layer, inputs: inputs[0] * 2))
        if step == 2:
            handles.append(net.weight.register_hook(lambda g: g * 10))
        if step == 3:
            handles[0].remove()
        return run(x)

    return call


@program(
    lambda t: (t(2), t(2)),
    lambda t: (t(2, grad=False), t(2)),
    lambda t: (t(2, grad=False), t(2, grad=False)),
    lambda t: (t(2, dtype="float64"), t(2)),
    lambda t: (t(2), t(1)),
    lambda t: (t(2, 1), t(2)),
    lambda t: (t(2), t()),
)
def kinds_of_tensors(x, y):
    z = x * y + 1
    return z, z.stop_gradient, str(z.dtype), z.shape


@program(
    lambda t: given(t(2), 1),
    lambda t: given(1, t(2)),
    lambda t: given(2, 3),
    lambda t: given(t(2), t(2)),
    lambda t: given(2.0, t(2)),
)
def tensors_and_numbers_in_turn(x, y):
    z = x * y + 1
    return z, isinstance(x, paddle.Tensor), isinstance(z, paddle.Tensor)


@program(
    lambda t: given(t(2)),
    lambda t: given(t(2), t(2)),
    lambda t: given(t(2), y=t(2)),
    lambda t: given(x=t(2)),
    lambda t: given(t(2), None),
)
def spellings_of_a_call(x, y=None, *rest, **named):
    return (x if y is None else x * y), len(rest), sorted(named)


@driver(lambda t: given(t(2), 0), lambda t: given(t(2), 1), lambda t: given(t(2), 2), lambda t: given(t(2), 3))
def module_functions_patched(capture):
    @capture
    def f(x):
        return F.relu(x) + paddle.tanh(x)

    def call(x, step):
        before = F.relu, paddle.tanh
        try:
            if step == 1:
                F.relu = lambda v: v * 10
            if step == 2:
                paddle.tanh = lambda v: v - 1
            return f(x)
        finally:
            F.relu, paddle.tanh = before

    return call


@driver(*(lambda t, k=k: given(t(2), k) for k in range(4)), refused=BREAKS)
def missing_attributes_that_come(capture):
    class Config:
        pass

    config = Config()

    @capture
    def f(x):
        y = x * getattr(config, "scale", 2.0)
        if hasattr(config, "bias"):
            y = y + config.bias
        return y, "late" in vars(config)

    def call(x, step):
        if step == 1:
            config.bias = 5.0
        if step == 2:
            config.scale = 3.0
        if step == 3:
            del config.bias
            config.late = True
        return f(x)

    return call


@driver(*(lambda t, k=k: given(t(2), k) for k in range(4)))
def missing_globals_and_keys_that_come(capture):
    table = {}
    globals().pop("LATE", None)

    @capture
    def f(x):
        k = table.get("k", 1.0)
        try:
            return x * LATE * k
        except NameError:
            return x - k

    def call(x, step):
        if step == 1:
            table["k"] = 4.0
        if step == 2:
            globals()["LATE"] = 7.0
        if step == 3:
            globals().pop("LATE", None)
        return f(x)

    return call


@driver(*(lambda t, k=k: given(t(2), k) for k in range(4)))
def tensors_of_a_closure_replaced(capture):
    state = {"w": paddle.full([2], 2.0)}
    weight = paddle.full([2], 3.0)

    @capture
    def f(x):
        return x * state["w"] + weight

    def call(x, step):
        nonlocal weight
        if step == 1:
            state["w"] = paddle.full([2], 5.0)
        if step == 2:
            weight = paddle.full([1], 7.0)
        if step == 3:
            weight.set_value(paddle.full([1], 8.0))
            state["w"] = paddle.full([2], 2, dtype="int64").astype("float64")
        return f(x)

    return call


@driver(*(lambda t, k=k: given(t(2), k) for k in range(4)), differs=ARRAYS)
def arrays_changed_between_calls(capture):
    scale = np.array([1.0, 2.0], "float32")

    @capture
    def f(x):
        return x * paddle.to_tensor(scale), float(scale[0]), scale.shape

    def call(x, step):
        scale[0] += step
        return f(x)

    return call


@driver(lambda t: given(t(2), 2), lambda t: given(t(2), 3), lambda t: given(t(2), 2))
def temporary_objects_with_the_same_address(capture):
    class Box:
        def __init__(self, k):
            self.k = k

    @capture
    def f(x, box, g):
        return g(x) * box.k

    def call(x, k):
        outs = [f(x, Box(k + i), lambda v, i=i: v + i) for i in range(3)]
        return outs, f(x, Box(k), lambda v: v * 2)

    return call
