"""``if`` on tensors and on Python values."""

from __future__ import annotations

import paddle
from tests.jit.corpus.reasons import COPIES, ZEROS_AND_COPIES
from tests.jit.corpus.registry import given, program


@program(lambda t: t.of([1.0, 2.0]), lambda t: t.of([-1.0, -2.0]), lambda t: t.of([0.0, 0.0]), lambda t: t(0))
def branch_on_a_sum(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 3
    return y + 1


@program(
    lambda t: t.of([3.0, 1.0]),
    lambda t: t.of([0.5, 0.25]),
    lambda t: t.of([-3.0, 1.0]),
    lambda t: t.of([-1.0, 0.5]),
    lambda t: t.of([3.0, 2.0, 4.0]),
)
def elif_chain_on_tensors(x):
    m = x.mean()
    if m > 1.5:
        out = x.exp()
    elif m > 0:
        out = x.sqrt()
    elif m > -0.5:
        out = x.abs()
    else:
        out = -x
    return out * m


@program(
    lambda t: given(t(2, 3), 0, "a"),
    lambda t: given(t(2, 3), 2, "b"),
    lambda t: given(t(4, 3), 2, None),
    lambda t: given(t(1, 3), -1, "b"),
)
def branches_on_python_values(x, n, mode):
    if n > 1 and mode == "b":
        x = x * n
    elif mode is None:
        x = x - n
    else:
        x = x + (1 if n < 0 else 2)
    if not mode:
        return x, n
    return x, mode + "!"


@program(lambda t: given(t(3), 2), lambda t: given(t(0), 2), lambda t: given(t(1), 2), lambda t: given(t(5), 5))
def branch_on_a_size(x, k):
    if x.shape[0] == 0:
        return paddle.zeros([k])
    if len(x) < k:
        return x.expand([k])
    return x[:k] * x.shape[0]


@program(
    lambda t: t.of([[1.0, -1.0], [2.0, 2.0]]),
    lambda t: t.of([[-1.0, -1.0], [2.0, 2.0]]),
    lambda t: t.of([[1.0, -1.0], [-2.0, 2.0]]),
    lambda t: t.of([[-1.0, -1.0], [-2.0, 2.0]]),
)
def nested_branches_on_tensors(x):
    if x[0].max() > 0:
        if x[1].min() > 0:
            y = x[0] * x[1]
            z = y.sum()
        else:
            y = x[0]
            z = y.mean()
    else:
        y = -x[0]
        if (x[1] < 0).any():
            y = y * 10
        z = y.max()
    return y, z


@program(
    lambda t: (t.of([2.0]), t.of([3.0])),
    lambda t: (t.of([-2.0]), t.of([3.0])),
    lambda t: (t.of([2.0]), t.of([-3.0])),
    allowed=ZEROS_AND_COPIES,
)
def logical_operators_on_tensors(x, y):
    a = 1.0 if x > 0 and y > 0 else -1.0
    b = x if (x > 5 or not y > 0) else y
    both = (x > 0) & (y > 0)
    any_of_them = (x > 0) | ~(y > 0)
    return a * x, b, both, any_of_them, (x > 0).logical_xor(y > 0)


@program(
    lambda t: t.of([2.0]), lambda t: t.of([4.0]), lambda t: t.of([9.0]), lambda t: t.of([4.0, 5.0]), allowed=COPIES
)
def chained_comparison(x):
    if 1 < x.sum() <= 4:
        return x * 2
    n = x.shape[0]
    if 0 < n < 2 != 3:
        return x * 3
    return x


@program(lambda t: t.of([1.0, 0.0]), lambda t: t.of([0.0, 0.0]), lambda t: t.of([-5.0, 2.0]))
def conditional_expression_in_an_argument(x):
    scale = 2.0 if x.any() else 0.5
    return paddle.clip(x if x[0] > 0 else -x, min=-1.0 if x[1] > 1 else 0.0) * scale


@program(lambda t: given(t(2), True), lambda t: given(t(2), False), raises="UnboundLocalError")
def variable_of_one_branch_only(x, flag):
    if flag:
        y = x + 1
    return y * 2


@program(lambda t: t.of([1.0]), lambda t: t.of([-1.0]), lambda t: t.of([0.0]))
def early_returns_on_tensors(x):
    if x > 0:
        return x * 2
    y = x - 1
    if x < 0:
        return y * y
    return y + 10


@program(
    lambda t: given(t(3), t(3)),
    lambda t: given(t(3), None),
    lambda t: given(t(3)),
)
def none_as_an_argument(x, mask=None):
    if mask is not None:
        x = x * mask
    bias = None
    if mask is None:
        bias = x.sum()
    return x if bias is None else x + bias
