"""State that functions change which are called in branches and loops on tensors: variables, attributes, containers."""

from __future__ import annotations

import collections

import paddle
from tests.jit.corpus.reasons import COPIES, NUMBERS
from tests.jit.corpus.registry import factory, program


def up(t):
    return t.of([1.0, 2.0])


def down(t):
    return t.of([-1.0, -2.0])


@program(up, down, allowed=COPIES)
def list_in_a_closure(x):
    log = []

    def push(v):
        log.append(v)

    if x.sum() > 0:
        push(x)
    else:
        push(x * 2)
    return log[0], len(log)


class Box:
    def __init__(self, v):
        self.v = v
        self.items = [v]
        self.table = {}

    def scale(self, k):
        self.v = self.v * k

    def keep(self, v):
        self.items[0] = v

    def put(self, k, v):
        self.table[k] = v


@program(up, down, allowed=COPIES)
def method_that_sets_an_attribute(x):
    box = Box(x)
    if x.sum() > 0:
        box.scale(3)
    return box.v


def _scaled(box, k):
    box.scale(k)


@program(up, down)
def box_in_a_list(x):
    boxes = [Box(x), Box(x * 2)]
    for b in boxes:
        if b.v.sum() > 0:
            b.scale(4)
    return boxes[0].v + boxes[1].v


@program(up, down, allowed=COPIES)
def box_in_a_box(x):
    box = Box(x)
    box.inner = Box(x + 1)
    if x.sum() > 0:
        box.inner.scale(2)
        box.inner.items[0] = x * 9
    return box.inner.v + box.inner.items[0]


@program(up, down, allowed=COPIES)
def deque_that_rotates(x):
    queue = collections.deque([x, x * 2])
    if x.sum() > 0:
        queue.rotate(1)
    return queue[0]


@program(up, down)
def set_in_a_branch(x):
    names = {"a"}
    if x.sum() > 0:
        names.add("b")
    else:
        names.add("b")
    return x * len(names)


COUNT = 0
TOTAL = None
LOG = []


def _bump():
    global COUNT
    COUNT += 1


@program(up, down, allowed=NUMBERS)
def global_counted_by_a_callee(x):
    global COUNT
    COUNT = 0
    if x.sum() > 0:
        _bump()
    else:
        _bump()
        _bump()
    return x * COUNT


def _add(v):
    global TOTAL
    TOTAL = v if TOTAL is None else TOTAL + v


@program(up, down)
def global_tensor_of_a_callee(x):
    global TOTAL
    TOTAL = x * 1
    if x.sum() > 0:
        _add(x)
    out = TOTAL * 2
    TOTAL = None
    return out


@program(up, down)
def nonlocal_of_a_callee_in_a_loop(x):
    total = x * 0
    i = paddle.zeros([])

    def add(v):
        nonlocal total
        total = total + v

    while i < x.sum():
        add(x)
        i = i + 1
    return total


@program(up, down)
def nonlocal_two_levels_down(x):
    total = x * 0

    def outer():
        def inner(v):
            nonlocal total
            total = total + v

        inner(x * 2)

    if x.sum() > 0:
        outer()
    return total


@factory(up, down)
def closure_from_outside():
    n = 0

    def count(k):
        nonlocal n
        n = (n + k) % 3
        return n

    def f(x):
        if x.sum() > 0:
            k = count(1)
        else:
            k = count(1)
        return x * k

    f.count = count
    return f


class Layer(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.w = self.create_parameter([2])
        self.last = None
        self.seen = []

    def note(self, v):
        self.last = v

    def forward(self, x):
        y = x * self.w
        if y.sum() > 0:
            self.note(y.detach())
        else:
            self.note(y.detach() * 2)
        return y + self.last


@factory(up, down)
def layer_that_notes():
    return Layer()


def _mutate(items, k):
    items[k] = items[k] * 2


@program(up, down)
def iterator_state(x):
    it = iter([x, x * 2, x * 3])
    if x.sum() > 0:
        y = next(it)
    else:
        y = next(it) * 3
    return y + next(it)


@program(up, down, allowed=COPIES)
def property_with_a_setter(x):
    class P:
        def __init__(self, v):
            self._v = v

        @property
        def v(self):
            return self._v

        @v.setter
        def v(self, new):
            self._v = new * 2

    p = P(x)
    if x.sum() > 0:
        p.v = x * 3
    return p.v


@program(up, down, allowed=COPIES)
def slots_in_a_branch(x):
    class P:
        __slots__ = ("v",)

        def __init__(self, v):
            self.v = v

        def scale(self):
            self.v = self.v * 2

    p = P(x)
    if x.sum() > 0:
        p.scale()
    return p.v


@program(up, down, allowed=COPIES)
def dict_of_dicts(x):
    state = {"a": {"n": x, "k": 1}, "b": [x]}

    def step(s):
        s["a"]["n"] = s["a"]["n"] * 2
        s["b"][0] = s["a"]["n"] + 1

    if x.sum() > 0:
        step(state)
    return state["a"]["n"] * state["b"][0], state["a"]["k"]


@program(up, down, allowed=COPIES)
def a_list_twice(x):
    a = [x]
    b = a

    def put():
        b[0] = x * 2

    if x.sum() > 0:
        put()
    return a[0], a is b


@program(up, down)
def in_place_in_a_callee(x):
    y = x * 1

    def scale(v):
        v.scale_(3.0)

    if x.sum() > 0:
        scale(y)
    return y * 2


@program(up, down)
def nested_regions_and_callee_state(x):
    state = {"n": x * 1, "m": x * 1}

    def a(v):
        state["n"] = state["n"] + v

    def b(v):
        if v.sum() > 2:
            a(v)
        else:
            state["m"] = state["m"] - v

    i = paddle.zeros([])
    while i < 3:
        i = i + 1
        if x.sum() > 0:
            b(x * i)
        else:
            a(x)
    return state["n"] + state["m"] * 2


@program(up, down)
def random_and_callee_state(x):
    held = [x]

    def put(v):
        held[0] = v + paddle.rand([2])

    if x.sum() > 0:
        put(x * 2)
    else:
        put(x)
        put(held[0])
    return held[0] + paddle.rand([2])


@program(up, down)
def raise_and_callee_state(x):
    log = []

    def check(v):
        log.append(1)
        if v.sum() < 0:
            log.append(2)
            raise ValueError("neg")
        return v * 2

    try:
        y = check(x)
        y = check(y - 3)
    except ValueError as e:
        log.append(str(e))
        y = x
    return y * 1, log


@program(up, down)
def default_of_getattr(x):
    class Box:
        pass

    b = Box()
    if x.sum() > 0:
        b.v = x
    return getattr(b, "v", x * 7) * 1


@factory(up, down)
def lists_of_a_layer():
    class Net(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.w = self.create_parameter([2])
            self.history = [paddle.zeros([2])]

        def remember(self, v):
            self.history[0] = v.detach()

        def forward(self, x):
            y = x * self.w + self.history[0]
            if y.sum() > 0:
                self.remember(y)
            else:
                self.remember(y * 2)
            return y

    return Net()
