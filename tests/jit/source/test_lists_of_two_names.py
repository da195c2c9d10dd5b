"""Lists that a branch or loop on tensors replaces on one way and changes, or leaves, on the other."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.static import InputSpec


def replaced_or_changed(x):
    b = [x]
    if x.sum() > 0:
        b = b + [x]  # noqa: RUF005
    else:
        b.append(x * 3)
    return x * len(b) + b[-1]


def changed_or_replaced(x):
    b = [x]
    if x.sum() > 0:
        b.append(x * 3)
        b.append(x)
    else:
        b = [*b, x * 5]
    return x * len(b) + b[1]


def changed_behind(x):
    b = [x]
    if x.sum() > 0:
        b = b + [x]  # noqa: RUF005
    b.append(x * 2)
    return x * len(b) + b[-1]


def former_is_unchanged(x):
    b = [x]
    c = b
    if x.sum() > 0:
        b = b + [x]  # noqa: RUF005
    return x * len(b) + x * 10 * len(c)


def both_ways_of_the_former(x):
    b = [x]
    c = b
    if x.sum() > 0:
        b = b + [x]  # noqa: RUF005
    else:
        b.append(x * 3)
    return x * len(b) + x * 10 * len(c)


def saved(f, folder):
    paddle.jit.save(paddle.jit.to_static(f, full_graph=True, input_spec=[InputSpec([None, 2])]), str(folder / "m"))
    return paddle.jit.load(str(folder / "m"))


RIGHT = (replaced_or_changed, changed_or_replaced, changed_behind, former_is_unchanged, both_ways_of_the_former)


@pytest.mark.parametrize("f", RIGHT, ids=lambda f: f.__name__)
@pytest.mark.parametrize("way", ["captured", "saved"])
def test_results_are_those_of_eager_calls(f, way, tmp_path):
    run = paddle.jit.to_static(f, full_graph=True) if way == "captured" else saved(f, tmp_path)
    for x in (paddle.ones([3, 2]), -paddle.ones([3, 2]), paddle.ones([1, 2])):
        np.testing.assert_array_equal(run(x).numpy(), f(x).numpy())


def former_read(x):
    b = [x]
    c = b
    if x.sum() > 0:
        b = b + [x]  # noqa: RUF005
    b.append(x * 2)
    return x * len(c)


def former_changed(x):
    b = [x]
    c = b
    if x.sum() > 0:
        b = b + [x]  # noqa: RUF005
    c.append(x * 2)
    return x * len(b)


def behind_a_loop(x):
    b = [x]
    c = b
    i = paddle.zeros([], "int32")
    while i < x.sum():
        b = b + [x]  # noqa: RUF005
        i = i + 1
    b.append(x)
    return x * len(c)


@pytest.mark.parametrize("f", [former_read, former_changed, behind_a_loop], ids=lambda f: f.__name__)
def test_a_list_that_may_be_another_one_which_has_changed_is_refused(f, tmp_path):
    with pytest.raises(Exception, match=r"two names hold .*c = list\(b\)"):
        paddle.jit.to_static(f, full_graph=True)(paddle.ones([3, 2]))
    with pytest.raises(Exception, match=r"two names hold .*c = list\(b\)"):
        saved(f, tmp_path)
