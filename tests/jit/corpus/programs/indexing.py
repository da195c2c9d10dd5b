"""Indexing of every kind, and attributes of tensors."""

from __future__ import annotations

import paddle
from tests.jit.corpus.reasons import STRUCTURE
from tests.jit.corpus.registry import given, program


@program(lambda t: t(4, 5, 3), lambda t: t(2, 5, 3), lambda t: t(3, 4, 2))
def basic_indexing(x):
    return x[0], x[-1, 1:], x[:, ::2], x[..., -1], x[None, 0], x[:, None, :, 0], x[1:2, 1:, :1], x[::-1]


@program(
    lambda t: given(t(4, 3), t.ids(4, 3)), lambda t: given(t(2, 3), t.ids(2, 5)), lambda t: given(t(4, 3), t.ids(4, 0))
)
def gathering(x, ids):
    return x[ids], paddle.gather(x, ids), x[ids, 0], x[[0, 1]], x[:, [2, 0]], paddle.index_select(x, ids, axis=0)


@program(lambda t: t(4), lambda t: t(6), lambda t: t(1), lambda t: t(0))
def boolean_masks(x):
    mask = x > 0
    y = x[mask]
    return y, y.shape[0], x.masked_select(~mask), paddle.where(mask, x, -x), paddle.nonzero(mask)


@program(lambda t: t.of([1.0, -1.0, 2.0]), lambda t: t.of([1.0, -1.0]), lambda t: t.of([-1.0]), refused=STRUCTURE)
def size_that_depends_on_values(x):
    kept = x[x > 0]
    if kept.shape[0] == 0:
        return x
    return kept.mean() * x, len(kept)


@program(lambda t: given(t(5), t.of(1, "int64")), lambda t: given(t(5), t.of(3, "int64")))
def index_that_is_a_tensor(x, i):
    return x[i], x[i:], x[: int(i)], x[i : i + 1]


@program(lambda t: given(t(3, 4), 0), lambda t: given(t(3, 4), 1), lambda t: given(t(3, 4), -1))
def index_tuples_in_variables(x, axis):
    where = [slice(None)] * x.ndim
    where[axis] = slice(1, None)
    first = tuple(0 if i == axis % 2 else slice(None) for i in range(2))
    return x[tuple(where)], x[first], x[..., slice(0, 2)]


@program(
    lambda t: t(2, 3),
    lambda t: t(1, 3),
    lambda t: t(2, 3, dtype="float64"),
    lambda t: t(2, 3, grad=False),
)
def attributes_of_tensors(x):
    about = x.shape, x.dtype == paddle.float32, x.ndim, x.stop_gradient, x.size, x.is_leaf, len(x), list(x.shape)
    y = x.T @ x
    return y, about, y.stop_gradient, y.is_leaf, x.dim(), x.numel(), str(x.place), x.grad is None, y.shape[-1]


@program(lambda t: given(t(2), t(2, grad=False)), lambda t: given(t(2, grad=False), t(2, grad=False)))
def branches_on_stop_gradient(x, y):
    if x.stop_gradient:
        return y * 2, False
    z = x * y
    frozen = x.detach()
    z.name = "z"
    return z + frozen, z.stop_gradient, frozen.stop_gradient


@program(lambda t: t(3), lambda t: t(3))
def stop_gradient_set_inside(x):
    y = x * 2
    w = paddle.ones([3])
    w.stop_gradient = False
    z = y * w
    y.stop_gradient = True
    return z, y + x, w


@program(lambda t: t(2, 2, dtype="float64"), lambda t: t(2, 2, dtype="int32"), lambda t: t(2, 2, dtype="bool"))
def promotion_and_casts(x):
    y = x.astype("float32") + 1
    return y, x * 2, x.cast(paddle.int64), (x + x).dtype == x.dtype, y.astype(x.dtype)


@program(lambda t: t(4, 3), lambda t: t(6, 3), lambda t: t(1, 3))
def shapes_passed_around(x):
    b, d = x.shape
    y = x.reshape([b, 1, d]).expand([b, 2, d]).reshape([-1, d])
    z = paddle.zeros([b, d]) + paddle.arange(b, dtype="float32").unsqueeze(1)
    return y, z * x, paddle.full(x.shape, 2.0), paddle.ones_like(x).tile([2, 1])


@program(lambda t: given(t(4, 3), t.ids(3, 4)), lambda t: given(t(2, 3), t.ids(3, 2)))
def scatters(x, ids):
    one_hot = paddle.nn.functional.one_hot(ids, 3)
    out = paddle.put_along_axis(paddle.zeros_like(x), ids.unsqueeze(1), 1.0, 1)
    return one_hot * x, out, paddle.take_along_axis(x, ids.unsqueeze(1), 1), paddle.scatter(x * 1, ids[:1], x[:1])


@program(lambda t: given(t(3, 4)), lambda t: given(t(3, 0)), lambda t: given(t(0, 4)), lambda t: given(t(1, 1)))
def sizes_of_zero_and_one(x):
    return x.sum(axis=0), x.sum(), x * x.shape[0], paddle.concat([x, x]), x.reshape([-1]), x + paddle.ones([1])


@program(lambda t: t(6), lambda t: t(4))
def unique_sort_topk(x):
    values, order = paddle.topk(x, 2)
    distinct = paddle.unique((x > 0).astype("int64"))
    return values, order, paddle.sort(x), paddle.argsort(x), distinct, x.argmax()
