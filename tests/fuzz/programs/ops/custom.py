"""Calls of users' operators, ``paddle.ops.fuzz``: with a gradient of their own, or one through their function."""

from __future__ import annotations

from typing import Any

import paddle
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.ops.proposals import pair, scalar

family = Family()
op = family.op


def _pointwise(x: Any, *others: Any, **names: Any) -> str:
    names = " ".join(f"d{i}" for i in range(len(x.shape)))
    return f"{names} -> {names}"


@paddle.library.custom_op("fuzz::bent", mutates_args=())
def _bent(x: paddle.Tensor, *, s: float) -> paddle.Tensor:
    return paddle.tanh(x) * s


def _keep(ctx: Any, inputs: tuple, names: dict, output: Any) -> None:
    ctx.save_for_backward(inputs[0])
    ctx.s = names["s"]


def _slope(ctx: Any, grad: Any) -> Any:
    (x,) = ctx.saved_tensors
    return grad * (1 - paddle.tanh(x) ** 2) * ctx.s


_bent.register_fake(lambda x, *, s: paddle.empty_like(x))
_bent.register_autograd(_slope, setup_context=_keep)
_bent.register_sharding(_pointwise)


@paddle.library.custom_op("fuzz::grown", mutates_args=())
def _grown(x: paddle.Tensor, s: float) -> paddle.Tensor:
    return x + x * s


_grown.register_fake(lambda x, s: x.new_empty(x.shape))
_grown.register_sharding(_pointwise)

paddle.library.custom_op("fuzz::sum", lambda x, y: x + y, mutates_args=())  # a call of its function, and no operation

op("custom_bent", "paddle.ops.fuzz.bent({0}, s={s})", "torch.tanh({0}) * {s}", scalar, weight=0.4, tags="users")
op("custom_grown", "paddle.ops.fuzz.grown({0}, {s})", "{0} + {0} * {s}", scalar, weight=0.3, tags="users")
op("custom_sum", "paddle.ops.fuzz.sum({0}, {1})", "{0} + {1}", pair, weight=0.2, refused=True, tags="users")
