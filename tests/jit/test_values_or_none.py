"""Names and attributes that are None on one way of a branch, or before a loop's iterations: masks and caches that are
made when they are first needed, and the best so far."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.static import InputSpec

INPUTS = [np.ones([3, 2]), -np.ones([3, 2]), np.arange(10.0).reshape(5, 2) - 3]


class Masked(nn.Layer):
    """A mask that is made where it is not there, or too small."""

    def __init__(self) -> None:
        super().__init__()
        self._mask: Any = None

    def masked(self, x):
        n = x.shape[0]
        if self._mask is None or self._mask.shape[0] < n:
            self._mask = paddle.arange(n).astype("float32")
        return x + self._mask[:n].unsqueeze(-1)


class OneWay(Masked):
    def forward(self, x):
        y = self.masked(x) if x.sum() > 0 else x * 2
        return self.masked(y)


class Twice(Masked):
    def forward(self, x):
        if x.sum() > 0:
            if x.max() > 2:
                x = self.masked(x)
        elif x.min() < -5:
            x = self.masked(x) * 2
        return self.masked(x)


class InLoop(Masked):
    def forward(self, x):
        i = paddle.zeros([])
        while i < x.sum():
            x, i = self.masked(x) - 5, i + 1
        return self.masked(x)


class Buffer(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kept", None)

    def forward(self, x):
        if x.sum() > 0:
            if self.kept is None:
                self.kept = paddle.ones([2]) * 3
            x = x * self.kept
        if self.kept is None:
            self.kept = paddle.ones([2]) * 4
        return x + self.kept


class Private(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.__kept: Any = None

    def forward(self, x):
        self.__kept = None
        if x.sum() > 0:
            self.__kept = x * 2
        if self.__kept is None:
            self.__kept = x * 3
        return self.__kept


def best_of_loop(x):
    best = None
    i = paddle.zeros([])
    while i < x.sum():
        score = x * i - i * i
        if best is None or score.sum() > best.sum():
            best = score
        i = i + 1
    return x if best is None else best


def best_of_rows(x):
    best = None
    for row in x:
        if best is None or row.sum() > best.sum():
            best = row
    return best


def none_again(x):
    y = x
    if x.sum() > 0:
        y = None
    return x * 7 if y is None else y + 1


def none_again_in_a_loop(x):
    y, i = x, paddle.zeros([])
    while i < x.sum() + 3:
        if i > 2:
            y = None
        y = x * 0 if y is None else y + 1
        i = i + 1
    return y


def two_values(x):
    kept, i = None, paddle.zeros([])
    while i < x.sum():
        if kept is None:
            kept = (x * 2, x + 1)
        kept = (kept[0] + 1, kept[1])
        i = i + 1
    if kept is None:
        return x
    return kept[0] + kept[1]


def number(x):
    n = None
    if x.sum() > 0:
        n = 3
    return x * (5 if n is None else n)


def logical(x):
    y = None
    if x.sum() > 0:
        y = x * 2
    if y is not None and y.max() > 2:
        x = x + y
    if x.max() > 0 and y is not None:
        x = x - y * 0.5
    if not (y is None or x.max() < 0):
        x = x + y
    return x


def two_names(x):
    a = b = None
    if x.sum() > 0:
        a = x
    if x.max() > 2:
        b = x
    if a is None and b is None:
        return x * 2
    if a is None:
        return b
    return a + 1 if b is None else a + b


def until_it_is_there(x):
    y, i = None, paddle.zeros([])
    while y is None:
        i = i + 1
        if i > x.sum():
            y = x * i
    return y


def unassigned(x):
    if x.sum() > 0:
        y = None
    elif x.min() < -5:
        y = x
    if x.sum() > 0:
        return x * 2 if y is None else x * 3
    return x


def decided_behind_data(x, c=None):
    """Of what is None nothing is asked, whatever is asked of data before it."""
    if x.sum() > 0 and c is not None and c.sum() > 0:
        x = x + c
    return x * 2 if x.max() > 2 or c is None or c.sum() > 0 else x


def scaled(x, scale=None, shift=None):
    y = x if scale is None else x * scale
    return y if shift is None else y + shift


class Shifted(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x, shift=None):
        self.calls = self.calls + 1
        return x * self.calls if shift is None else x + shift


def handed_on(x, scale=None):
    shift = None
    if x.sum() > 0:
        scale = x * 2
    if x.max() > 2:
        shift = x + 1
    return scaled(scaled(x, scale, shift=shift), scale)


def handed_on_in_a_loop(x):
    kept, i = None, paddle.zeros([])
    while i < x.sum() + 2:
        kept, i = scaled(x, kept, i), i + 1
    return scaled(x, kept)


def handed_on_to_a_layer(x):
    layer, shift = Shifted(), x if x.sum() > 0 else None
    return layer(layer(x, shift), shift) * layer.calls


def handed_on_to_the_library(x):
    low, mask = None, None
    if x.sum() > 0:
        low, mask = 0.5, paddle.ones([1, 1, x.shape[0], x.shape[0]])
    q = x.reshape([1, -1, 1, 2])
    return F.scaled_dot_product_attention(q, q, q, attn_mask=mask) + paddle.clip(x, min=low, max=2.0).sum()


def handed_on_in_displays(x):
    scale, shift = None, None
    if x.sum() > 0:
        scale = x * 2
    if x.max() > 2:
        shift = x + 1
    one = scaled(*[x, scale], **{"shift": shift})  # noqa: PIE804  as calls that forward are written
    two = scaled(*(one,), *(scale,), shift=shift)
    return scaled(two, **{"scale": scale, "shift": one})  # noqa: PIE804


FUNCTIONS = [
    handed_on, handed_on_in_displays, handed_on_in_a_loop, handed_on_to_a_layer, handed_on_to_the_library,
    best_of_loop, best_of_rows, none_again, none_again_in_a_loop, two_values, number, logical, two_names,
    until_it_is_there, unassigned, decided_behind_data,
]  # fmt: skip
LAYERS = [OneWay, Twice, InLoop, Buffer]


def saved(f, folder, shape):
    paddle.jit.save(f, str(folder / "model"), input_spec=[InputSpec(shape, "float32", "x")])
    return paddle.jit.load(str(folder / "model"))


def compare(make, given, shape):
    for x in INPUTS:
        if shape[0] in (None, len(x)):
            x = paddle.to_tensor(x, "float32")
            np.testing.assert_allclose(given()(x).numpy(), make()(x).numpy(), rtol=1e-5)


@pytest.mark.parametrize("shape", [[None, 2], [3, 2]], ids=["open", "declared"])
@pytest.mark.parametrize("f", [*FUNCTIONS, *LAYERS, Private])
def test_saved_models_do_what_eager_calls_do(f, shape, tmp_path):
    make = f if isinstance(f, type) else lambda: f
    model = saved(make(), tmp_path, shape)
    compare(make, lambda: model, shape)


@pytest.mark.parametrize("f", [*FUNCTIONS, *LAYERS, Private])
def test_whole_graphs_do_what_eager_calls_do(f):
    make = f if isinstance(f, type) else lambda: f

    def captured():
        made.append(paddle.jit.to_static(make(), full_graph=True))
        return made[-1]

    made: list[Any] = []
    compare(make, captured, [None, 2])
    assert not any(getattr(m, "forward", m).fallbacks for m in made)


def test_a_layer_is_what_it_was_when_its_model_was_saved(tmp_path):
    layer = OneWay()
    saved(layer, tmp_path, [None, 2])
    assert layer._mask is None


class Once(nn.Layer):
    """A mask that nothing reads behind the branch."""

    def __init__(self) -> None:
        super().__init__()
        self._mask: Any = None

    def forward(self, x):
        if x.sum() > 0:
            if self._mask is None:
                self._mask = paddle.ones([2]) * 3
            x = x * self._mask
        return x * 2


class Pair(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self._mask: Any = None

    def forward(self, x):
        i = paddle.zeros([])
        while i < x.sum():
            if self._mask is None:
                self._mask = (x * 2, paddle.ones([2]))
            x, i = x - self._mask[0], i + 1
        return x


@pytest.mark.parametrize("signs", [[1, -1, 1], [-1, 1, -1, 1], [-1, -1, 1]])
@pytest.mark.parametrize("kind", [Once, Pair])
def test_a_captured_layer_has_what_its_calls_have_made(kind, signs):
    layer, captured = kind(), kind()
    call = paddle.jit.to_static(captured, full_graph=True)
    for sign in signs:
        x = paddle.full([3, 2], float(sign))
        np.testing.assert_allclose(call(x).numpy(), layer(x).numpy())
        assert (captured._mask is None) == (layer._mask is None)
        for a, b in zip(captured._mask or (), layer._mask or (), strict=True) if kind is Pair else ():
            np.testing.assert_allclose(a.numpy(), b.numpy())
    assert not call.forward.fallbacks and call.forward.get_traced_count() <= 2


def test_getattr_with_none_for_what_one_way_sets(tmp_path):
    class Set(nn.Layer):
        def forward(self, x):
            if x.sum() > 0:
                self.kept = x * 2
            if getattr(self, "kept", None) is None:
                self.kept = x
            return self.kept

    model = saved(Set(), tmp_path, [None, 2])
    compare(Set, lambda: model, [None, 2])


def read(x):
    y = None
    if x.sum() > 0:
        y = x * 2
    return x + y


def returned(x):
    y = None
    if x.sum() > 0:
        y = x * 2
    return y


@pytest.mark.parametrize("f", [read, returned])
def test_none_where_a_value_is_needed_is_an_error_of_the_line_that_needs_it(f, tmp_path):
    model = saved(f, tmp_path, [None, 2])
    np.testing.assert_allclose(model(paddle.ones([3, 2])).numpy(), f(paddle.ones([3, 2])).numpy())
    with pytest.raises(ValueError, match=r"'y' is None: the statement at .*test_values_or_none.py:\d+ assigns it only"):
        model(-paddle.ones([3, 2]))


def test_values_of_two_kinds_are_refused_beside_none(tmp_path):
    def f(x):
        y = None
        if x.sum() > 0:
            y = x
        elif x.max() > 3:
            y = "text"
        return x if y is None else y

    with pytest.raises(RuntimeError, match="requires 'y' to have one structure"):
        saved(f, tmp_path, [None, 2])


def plain(x):
    held = [x]
    held.append(held)
    if x.sum() > 0:
        held[0] = x * 2
    return held[0]


def by_key(x):
    held = {"x": x}
    held["self"] = held
    if x.sum() > 0:
        held["x"] = x * 2
    return held["x"]


def constant(x):
    held = [3]
    held.append((held, held))
    return x * held[0] if x.sum() > 0 else x


@pytest.mark.parametrize("f", [plain, by_key, constant])
def test_containers_that_hold_themselves(f, tmp_path):
    model = saved(f, tmp_path, [None, 2])
    compare(lambda: f, lambda: model, [None, 2])
    compare(lambda: f, lambda: paddle.jit.to_static(f, full_graph=True), [None, 2])


def test_a_loop_that_never_runs_needs_nothing_of_what_is_none(tmp_path):
    def f(x, c=None):
        i = paddle.zeros([], "int64")
        while i < x.sum() and c is not None and c.sum() > 0:
            x, i = x + c, i + 1
        return x * 2

    loaded = saved(paddle.jit.to_static(f, full_graph=True), tmp_path, [3, 2])
    compare(lambda: f, lambda: loaded, [3, 2])
