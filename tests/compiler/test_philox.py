"""Random words: what they are, their expansion, and blocks of them along lanes."""

import llvm_host
import numpy as np
import pytest

from umiak.compiler.loop.evaluate import evaluate
from umiak.compiler.loop.functions import expand
from umiak.compiler.loop.interpreter import run
from umiak.compiler.loop.node import add, axis, call, cast, dim, i64, mul, var, walk, word
from umiak.compiler.loop.tree import LANE, OUT, Axis, Buffer, Kernel, Loop, Store
from umiak.compiler.loop.types import I64, U32
from umiak.compiler.loop.verifier import InvalidKernel, verify

PLACE, KEY = var("place", I64), var("key", I64)


def words(places, key):
    return evaluate([call("philox", PLACE, KEY)], {PLACE: np.asarray(places), KEY: np.int64(key)})[0]


def test_known_words():
    """Known answers of Philox4x32-10 for the counter and key 0."""
    assert [hex(v) for v in words(np.arange(4), 0)] == ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"]


def test_expansion(rng):
    root = call("philox", PLACE, KEY)
    assert root.type is U32
    (expanded,) = expand([root])
    assert all(x.op != "philox" for x in walk([expanded]))
    assert expand([root], native=frozenset({"philox"})) == [root]
    for key in (0, -1, 2**40 + 7, int(rng.integers(-(2**62), 2**62))):
        places = np.concatenate([np.arange(9), rng.integers(0, 2**62, 50), [2**34 - 1, 2**34, 2**62]])
        np.testing.assert_array_equal(evaluate([expanded], {PLACE: places, KEY: np.int64(key)})[0], words(places, key))


def test_types_are_checked():
    q = axis("q")
    value = call("philox", cast(q, U32), cast(q, U32))
    body = Loop(Axis(q, i64(1)), (Store("o", q, value),))
    with pytest.raises(InvalidKernel, match="philox: i64, got u32"):
        verify(Kernel("k", (Buffer("o", U32, OUT),), 0, (body,)))


def drawn(step, more):
    """``o[c] = word (step c + more + dim 1)``, and one further on, which shares its blocks."""
    c = axis("c")
    place = add(add(mul(c, step), more), dim(1))
    values = [cast(call("philox", add(place, k), word(0, I64)), I64) for k in (0, 1)]
    body = tuple(Store(name, c, v) for name, v in zip("op", values))
    return Kernel("draw", (Buffer("o", I64, OUT), Buffer("p", I64, OUT)), 2,
                  (Loop(Axis(c, dim(0), kind=LANE), body, parallel=True),))  # fmt: skip


@pytest.mark.parametrize("target", llvm_host.RUNNABLE, ids=lambda t: str(t.vector_bits))
@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_along_lanes(target, step):
    """Blocks may begin before the first lane, at any of their words, and rows may end in the middle of one."""
    more = 1 if step == 2 else 0
    kernel = drawn(step, more)
    verify(kernel)
    program = llvm_host.Program(kernel, target)
    for n, offset in ((1, 0), (5, 3), (64, 0), (64, 1), (67, 2), (150, 3), (256, 4)):
        for key in (11, -5):
            out = {name: np.zeros(n, np.int64) for name in "op"}
            cuts = ((0, n),) if n < 100 else ((0, 64), (64, n))
            assert program.run(out, [n, offset], [key], cuts) == 0
            places = np.arange(n) * step + more + offset
            np.testing.assert_array_equal(out["o"], words(places, key))
            np.testing.assert_array_equal(out["p"], words(places + 1, key))


def test_the_interpreter_draws_the_same():
    out = [np.zeros(9, np.int64) for _ in range(2)]
    assert run(drawn(2, 0), out, [9, 5], [3]) == 0
    np.testing.assert_array_equal(out[0], words(np.arange(9) * 2 + 5, 3))
