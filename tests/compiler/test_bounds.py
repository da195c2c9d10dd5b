"""What expressions tell of how large numbers are."""

import math

import pytest

from umiak.compiler.loop.functions.bounds import largest
from umiak.compiler.loop.node import add, call, cast, const, load, mul, neg, var, walk
from umiak.compiler.loop.types import F32, I64, U8, U32

WORD = var("w", U32)
X = var("x", F32)


@pytest.mark.parametrize(
    ("x", "bound"),
    [
        (const(-3.0, F32), 3),
        (const(math.nan, F32), math.inf),
        (WORD, 2**32),
        (var("b", U8), 256),
        (call("shr", WORD, const(8, U32)), 2**24),
        (call("and", WORD, const(7, U32)), 7),
        (cast(call("shr", WORD, const(24, U32)), F32), 256),
        (mul(cast(var("b", U8), F32), 2.0), 512),
        (neg(add(cast(var("b", U8), F32), 1.0)), 257),
        (call("abs", cast(var("b", U8), F32)), 256),
        (X, math.inf),
        (mul(X, 0.0), math.inf),
        (var("i", I64), math.inf),
        (call("exp", const(1.0, F32)), math.inf),
    ],
    ids=str,
)
def test_largest(x, bound):
    got = largest(x)
    assert got == bound if bound == math.inf else bound <= got < bound * 1.02


def test_deep_expressions_are_not_followed_to_the_end():
    x = X
    for _ in range(60):
        x = mul(x, x)
    assert largest(x) == math.inf


def test_small_angles_need_no_reduction_of_large_ones():
    from umiak.compiler.loop.functions import expand
    from umiak.compiler.loop.node import i64

    small = mul(cast(call("shr", WORD, const(9, U32)), F32), 2.0**-23)
    (near,), (far,) = (expand([call("cos", v)]) for v in (small, load("x", F32, i64(0))))
    assert len(list(walk([near]))) < len(list(walk([far]))) / 2
