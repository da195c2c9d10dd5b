"""Programs that several tests share, and a generator of random ones."""

from __future__ import annotations

import random

from toy_ops import (
    BOOL,
    F32,
    I64,
    REGISTRY,
    Add,
    Cast,
    Cond,
    Matmul,
    Mul,
    Neg,
    Scale,
    ScatterView,
    Send,
    Slice,
    Topk,
    Uniform,
)

from umiak.ir.builder import Builder
from umiak.ir.meta import Meta
from umiak.ir.program import Program


def linear_program() -> Program:
    """x @ w + b with a symbolic batch, a captured weight and a write."""
    b = Builder()
    n = b.scope.size(hint=6)
    x, w, bias = b.input(Meta((n, 8), F32)), b.input(Meta((8, 4), F32), constant="linear.w"), b.input(Meta((4,), F32))
    (y,) = b.append(Matmul(transpose_x=False), (x, w))
    (z,) = b.append(Add(), (y, bias))
    b.write(bias, bias)
    return b.finish([z, y])


def rich_program() -> Program:
    """One of everything the text must carry."""
    b = Builder()
    n, m = b.scope.size(), b.scope.size(lo=2, hi=64)
    p = b.scope.symbol("float", hint=0.5, name="p")
    x, y, flag = b.input(Meta((n, m), F32)), b.input(Meta((n, 1), F32)), b.input(Meta((), BOOL))
    (s,) = b.append(Add(), (x, y))
    (t,) = b.append(Scale(), (s, None), (p - 1,))
    (u,) = b.append(Mul(), (t, -1.5))
    (u,) = b.append(Mul(), (u, complex(0, -2)))
    (u,) = b.append(Mul(), (u, n * 2 + 1))
    (u,) = b.append(Mul(), (float("inf"), u))
    (u,) = b.append(Mul(), (True, u))
    (v,) = b.append(Slice(axes=(0,)), (u,), ((0,), (n // 2,)))
    values, index = b.append(Topk(axis=1), (v,), (1,))
    view = Slice(axes=(0,))
    scatter = ScatterView(region=view, mode='re"flect\n', fill=(None, (1,), 2.5, F32, ()))
    (w,) = b.append(scatter, (x, v), ((0, n // 2),))
    w.stop = True
    b.append(Send(group=0), (w,))
    b.append(Send(group=1), (w,))
    b.append(Send(group=0), (x,))
    (r,) = b.append(Uniform(), (n * 3,), (m, 2))
    with b.region([Meta((n, m), F32)]) as then:
        (q,) = b.append(Neg(), (then.arguments[0],))
        then.outputs = [q]
    with b.region([Meta((n, m), F32)]) as other:
        other.outputs = [other.arguments[0]]
    (c,) = b.append(Cond(), (flag, w), (), (then, other))
    (i,) = b.append(Cast(dtype=F32), (index,))
    b.write(x, c)
    b.program.name = "rich"
    return b.finish([values, i, r, n, 3])


def random_program(seed: int) -> Program:
    rng = random.Random(seed)
    b = Builder()
    n, m = b.scope.size(), b.scope.size(hint=7)
    values = [b.input(Meta((n, m), F32)) for _ in range(2)] + [b.input(Meta((m,), F32), constant="c")]
    for _ in range(rng.randrange(3, 12)):
        x, y = rng.choice(values), rng.choice(values)
        kind = rng.randrange(6)
        if kind == 0:
            new = b.append(Add(), (x, rng.choice([y, 2, 0.5, n])))
        elif kind == 1:
            new = b.append(Mul(), (x, y))
        elif kind == 2:
            new = b.append(Neg(), (x,))
        elif kind == 3:
            new = b.append(Uniform(), (3,), (n, m))
        elif kind == 4:
            new = b.append(Send(group=rng.randrange(2)), (x,))
        else:
            new = b.append(Cast(dtype=rng.choice([F32, I64])), (x,))
        values += new
    b.write(values[0], rng.choice([v for v in values if v.meta == values[0].meta]))
    return b.finish(rng.sample(values, 2))


__all__ = ["REGISTRY", "linear_program", "random_program", "rich_program"]
