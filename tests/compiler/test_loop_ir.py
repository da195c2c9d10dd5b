"""Printer, verifier and interpreter of the loop IR, on kernels written by hand."""

import math
from weakref import KeyedRef

import numpy as np
import pytest

from umiak.compiler.loop import node
from umiak.compiler.loop.expression_text import show
from umiak.compiler.loop.interpreter import run
from umiak.compiler.loop.monoid import ARGMAX, MAX, SUM, Monoid
from umiak.compiler.loop.node import (
    LEAVES,
    OPS,
    add,
    axis,
    call,
    cast,
    const,
    dim,
    div,
    i64,
    load,
    lt,
    make,
    mul,
    select,
    sub,
    var,
    word,
)
from umiak.compiler.loop.printer import show_kernel
from umiak.compiler.loop.tree import (
    GLOBAL,
    IN,
    LANE,
    LOCAL,
    OUT,
    TILE,
    Atomic,
    Axis,
    Barrier,
    Buffer,
    Fail,
    Fold,
    If,
    Kernel,
    Let,
    Loop,
    Reduce,
    Scan,
    Store,
)
from umiak.compiler.loop.types import BF16, BOOL, F32, F64, I32, I64
from umiak.compiler.loop.verifier import InvalidKernel, verify

POINT, J = axis("i"), axis("j")
X, OUTPUT = Buffer("x", F32, IN), Buffer("o", F32, OUT)


def at(i, j=None):
    return i if j is None else add(mul(i, dim(1)), j)


def softmax():
    """Rows of a matrix; the row's exponentials wait in the output."""
    x, o = load("x", F32, at(POINT, J)), load("o", F32, at(POINT, J))
    m, s = var("m", F32), var("s", F32)
    row = Axis(J, dim(1), kind=LANE)
    return Kernel(
        "softmax",
        (X, OUTPUT),
        2,
        (
            Loop(
                Axis(POINT, dim(0)),
                (
                    Reduce((m,), MAX, (row,), (x,)),
                    Loop(row, (Store("o", at(POINT, J), call("exp", sub(x, m))),)),
                    Reduce((s,), SUM, (row,), (o,)),
                    Loop(row, (Store("o", at(POINT, J), div(o, s)),)),
                ),
                parallel=True,
            ),
        ),
    )


def lanes(*body, buffers=(X, OUTPUT), dims=1, kind=LANE, parallel=True):
    return Kernel("k", buffers, dims, (Loop(Axis(POINT, dim(0), kind=kind), body, parallel),))


# --- printer ---------------------------------------------------------------------------------------------------------


def test_show_names_shared_parts_once():
    x = load("x", F32, POINT)
    y = call("exp", x)
    assert show(add(mul(y, y), 1.0)) == "t0 = exp(x[i])\n(t0 * t0) + 1.0:f32"
    assert show(y) == "exp(x[i])"


def test_show_spells_every_operation():
    for op, (count, _) in OPS.items():
        if op not in (*LEAVES, "load", "cast", "bitcast"):
            t = BOOL if op in ("and", "or", "xor", "not") else I32 if op in ("shl", "shr", "mulhi") else F32
            args = tuple(make("var", t, (), f"v{k}") for k in range(count))
            text = show(make(op, t, args))
            assert all(a.attr in text for a in args)
    masked = load("x", F32, POINT, lt(POINT, dim(0)), const(2.0, F32))
    assert show(masked) == "x[i if i < d0 else 2.0:f32]"
    assert show(cast(word(3), F32)) == "f32(w3:f64)"
    assert show(select(lt(POINT, i64(3)), i64(1), i64(2))) == "1 if (i < 3) else 2"


def test_show_kernel():
    assert show_kernel(softmax()) == SOFTMAX
    assert show_kernel(softmax()) == show_kernel(softmax())


SOFTMAX = """\
kernel softmax(2 dims)
  in x: f32
  out o: f32
  parallel for i in [0, d0):
    m: f32 = reduce max for j in [0, d1) lane:
      x[(i * d1) + j]
    for j in [0, d1) lane:
      t0 = (i * d1) + j
      o[t0] = exp(x[t0] - m)
    s: f32 = reduce sum for j in [0, d1) lane:
      o[(i * d1) + j]
    for j in [0, d1) lane:
      t1 = (i * d1) + j
      o[t1] = o[t1] / s
"""


def test_show_kernel_has_every_statement():
    s = var("s", F32)
    x = load("x", F32, POINT)
    kernel = Kernel(
        "all",
        (X, OUTPUT, Buffer("h", F32, LOCAL, dim(0))),
        1,
        (
            If(lt(dim(0), 5), (Fail(3, lt(dim(0), 2)), Barrier())),
            Scan(
                (s,),
                SUM,
                Axis(POINT, dim(0), i64(1), step=2),
                (x,),
                (Store("o", POINT, s, None, True),),
                (const(1, F32),),
            ),
            Loop(Axis(POINT, dim(0), kind=LANE), (Atomic("max", "h", i64(0), x, lt(POINT, 3)),)),
            Let((var("t", F32),), (load("h", F32, i64(0)),)),
            Fold((var("v", F32),), (S,), Axis(J, dim(0)), (const(0, F32),), (mul(S, 2.0),), lt(S, 5.0)),
        ),
    )
    assert show_kernel(kernel) == EVERY


EVERY = """\
kernel all(1 dims)
  in x: f32
  out o: f32
  local h: f32[d0]
  if d0 < 5:
    fail 3 where d0 < 2
    barrier
  s: f32 = scan sum from 1.0:f32 for i in [1, d0) step 2:
    x[i]
    each:
      o[i] = s streaming
  for i in [0, d0) lane:
    h[0] max= x[i] where i < 3
  t: f32 = h[0]
  v: f32 = fold s from 0.0:f32 for j in [0, d0):
    s * 2.0:f32 where s < 5.0:f32
"""


# --- verifier --------------------------------------------------------------------------------------------------------


def test_verify_accepts():
    assert verify(softmax()) is None
    assert verify(lanes(Store("o", POINT, load("x", F32, POINT)), kind="serial")) is None


VALUE = load("x", F32, POINT)
S, T = var("s", F32), var("t", F32)
INNER = Loop(Axis(J, dim(0), kind=LANE), (Store("o", J, const(1, F32)),))
ORDERED = Monoid("ordered", 1, SUM.identity, SUM.combine, commutative=False)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lanes(Store("o", J, VALUE)), "axes and variables defined before use, got 'j'"),
        (lanes(Store("o", POINT, S)), "defined before use, got 's'"),
        (lanes(Store("o", POINT, load("x", F64, POINT))), "type f32, got f64"),
        (lanes(Store("o", POINT, load("x", F32, POINT), VALUE)), "type bool"),
        (lanes(Store("o", VALUE, VALUE)), "type i64"),
        (lanes(Store("o", POINT, cast(load("x", I32, POINT), F32))), "load of f32 from 'x', got i32"),
        (lanes(Store("o", POINT, load("y", F32, POINT))), "declared buffer, got 'y'"),
        (lanes(Store("y", POINT, VALUE)), "declared buffer, got 'y'"),
        (lanes(Store("x", POINT, VALUE)), "store into out or scratch"),
        (lanes(Store("o", add(POINT, dim(1)), VALUE)), "dim below 1, got 1"),
        (lanes(Store("o", POINT, VALUE), buffers=(X, OUTPUT, X)), "different names"),
        (lanes(Store("o", POINT, VALUE), buffers=(X, OUTPUT, Buffer("h", F32, LOCAL))), "size of scratch"),
        (lanes(Store("o", POINT, VALUE), buffers=(X, OUTPUT, Buffer("h", F32, "stack", i64(1)))), "known space"),
        (Kernel("k", (Buffer("h", F32, LOCAL, word(0, I64)),), 1, ()), "dims and constants"),
        (lanes(INNER), "no lane axis inside of lanes, got j inside of i"),
        (lanes(INNER, Store("o", POINT, VALUE), kind=TILE), "a lane loop and nothing else in a tile loop"),
        (lanes(Reduce((S,), SUM, (Axis(J, dim(0), kind=LANE),), (VALUE,))), "no lane axis inside of lanes"),
        (lanes(Loop(Axis(J, POINT), (Store("o", POINT, VALUE),))), "a bound that depends on no lane axis"),
        (lanes(If(lt(POINT, 3), (Store("o", POINT, VALUE),))), "a condition that depends on no lane axis"),
        (lanes(Barrier()), "barrier outside of lanes"),
        (lanes(Loop(Axis(J, dim(0), kind="block"), ())), "block axes outside of lanes"),
        (lanes(Loop(Axis(POINT, dim(0)), ())), "defined once, got 'i'"),
        (lanes(Loop(Axis(J, dim(0), step=0), ())), "steps of 1, or more"),
        (lanes(Loop(Axis(J, dim(0)), (), parallel=True)), "one parallel loop"),
        (lanes(Fail(0, lt(POINT, 3))), "a code > 0, got 0"),
        (lanes(Atomic("sub", "o", POINT, VALUE)), "atomic of add"),
        (lanes(Reduce((S,), SUM, (), (VALUE,)), Reduce((S,), MAX, (), (VALUE,))), "defined once, got 's'"),
        (lanes(Reduce((S,), ARGMAX, (), (VALUE,))), "2 results for argmax, got 1"),
        (lanes(Reduce((S,), SUM, (), (POINT,))), "type f32, got i64"),
        (lanes(Reduce((S,), SUM, (), (VALUE,), (POINT,))), "type f32, got i64"),
        (lanes(Reduce((POINT,), SUM, (), (VALUE,))), "variables as results"),
        (lanes(Reduce((S,), SUM, (), (VALUE,), where=POINT)), "type bool"),
        (lanes(Scan((S,), SUM, Axis(J, dim(0)), (VALUE,), ()), Store("o", POINT, S)), "before use"),
        (lanes(Scan((S,), SUM, Axis(J, dim(0)), (VALUE,), (INNER,))), "stores as the body"),
        (
            Kernel("k", (X, OUTPUT), 1, (Reduce((S,), ORDERED, (Axis(POINT, dim(0), kind=LANE),), (VALUE,)),)),
            "commutative monoid over lanes, got ordered",
        ),
        (lanes(Let((S,), (POINT,))), "type f32, got i64"),
        (lanes(Let((S,), (VALUE, VALUE))), "a value for each variable, got 2 for 1"),
        (lanes(Let((S,), (VALUE,)), Let((S,), (VALUE,))), "defined once, got 's'"),
        (lanes(Fold((S,), (T,), Axis(J, dim(0)), (POINT,), (T,))), "type f32, got i64"),
        (lanes(Fold((S,), (T,), Axis(J, dim(0)), (VALUE,), (T, T))), r"as many results, states.*got \[1, 2\]"),
        (lanes(Fold((S,), (T,), Axis(J, dim(0)), (VALUE,), (T,)), Store("o", POINT, T)), "before use, got 't'"),
        (lanes(Fold((S,), (T,), Axis(J, dim(0)), (VALUE,), (T,), T)), "type bool"),
        (Kernel("k", (X,), 1, (Fold((S,), (T,), Axis(J, dim(0), kind=LANE), (VALUE,), (T,)),)), "a serial axis"),
        (lanes(Store("o", POINT, make("exp", F32, (VALUE, VALUE)))), "exp: requires 1 operands|exp: 1 operands"),
        (lanes(Store("o", POINT, make("add", F32, (VALUE, load("x", F32, i64(0)), VALUE)))), "2 operands"),
        (lanes(Store("o", POINT, make("cast", F32, (make("exp", I64, (POINT,)),)))), "exp: floats"),
        (lanes(Store("o", POINT, make("shl", F32, (VALUE, VALUE)))), "shl: integers"),
        (lanes(Store("o", POINT, make("cast", F32, (make("lt", F32, (VALUE, VALUE)),)))), "comparisons bool"),
        (lanes(Store("o", POINT, cast(make("add", BF16, (const(1, BF16),) * 2), F32))), "no narrow floats"),
        (lanes(Store("o", POINT, make("frobnicate", F32))), "operation of OPS"),
        (lanes(Store("o", POINT, cast(word(0, I32), F32))), "word: f64 or i64"),
    ],
)  # fmt: skip
def test_verify_refuses(kernel, message):
    with pytest.raises(InvalidKernel, match=message):
        verify(kernel)


def test_verify_axes_follow_the_body():
    """What is defined in a body is gone after it, and statements side by side may use one axis each."""
    inner = Loop(Axis(J, dim(0)), (Reduce((S,), SUM, (), (VALUE,)),))
    with pytest.raises(InvalidKernel, match="defined before use, got 's'"):
        verify(lanes(inner, Store("o", POINT, S)))
    verify(Kernel("k", (X, OUTPUT), 1, (INNER, INNER)))


# --- interpreter -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 5), (1, 1), (4, 1), (0, 3)])
def test_run_softmax(shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    out = np.full(x.size, np.nan, np.float32)
    assert run(softmax(), [x.reshape(-1), out], shape) == 0
    e = np.exp(x - x.max(1, keepdims=True)) if x.size else x
    np.testing.assert_allclose(out.reshape(shape), e / e.sum(1, keepdims=True), rtol=1e-6)


def test_run_a_part():
    x, out = np.arange(6, dtype=np.float32), np.full(6, -1, np.float32)
    kernel = lanes(Store("o", POINT, add(VALUE, cast(word(0), F32))))
    assert run(kernel, [x, out], [6], [10.0], 2, 4) == 0
    assert out.tolist() == [-1, -1, 12, 13, -1, -1]
    assert run(kernel, [x, out], [6], [10.0], 3, 3) == 0
    with pytest.raises(IndexError, match=r"a part of \[0, 6\)"):
        run(kernel, [x, out], [6], [10.0], 3, 7)


def test_run_without_a_parallel_loop():
    kernel = Kernel("k", (X, OUTPUT), 0, (Store("o", i64(0), add(load("o", F32, i64(0)), 1.0)),))
    out = np.zeros(1, np.float32)
    run(kernel, [out, out], lo=0, hi=1)
    run(kernel, [out, out], lo=1, hi=2)
    assert out.tolist() == [1]


def test_run_fail():
    kernel = lanes(Fail(7, lt(VALUE, 0.0)), Store("o", POINT, VALUE))
    out = np.zeros(3, np.float32)
    assert run(kernel, [np.float32([1, -1, 2]), out], [3]) == 7
    assert run(kernel, [np.float32([1, 1, 2]), out], [3]) == 0
    assert run(kernel, [np.float32([math.nan, 1, 2]), out], [3]) == 0


def test_run_refuses_access_out_of_bounds():
    out = np.zeros(3, np.float32)
    with pytest.raises(IndexError, match=r"indices of x in \[0, 3\)"):
        run(lanes(Store("o", POINT, load("x", F32, add(POINT, 1)))), [out, out], [3])
    with pytest.raises(IndexError, match="indices of x"):
        run(lanes(Store("o", POINT, load("x", F32, sub(POINT, 1)))), [out, out], [3])
    with pytest.raises(IndexError, match="indices of o"):
        run(lanes(Store("o", add(POINT, 1), VALUE)), [out, out], [3])
    run(lanes(Store("o", add(POINT, 1), VALUE, lt(POINT, 2))), [out, out], [3])
    masked = load("x", F32, add(POINT, 1), lt(POINT, 2), const(5, F32))
    run(lanes(Store("o", POINT, masked)), [np.float32([1, 2, 3]), out], [3])
    assert out.tolist() == [2, 3, 5]


def test_run_refuses_lanes_that_meet():
    with pytest.raises(ValueError, match="lanes to write different elements of o"):
        run(lanes(Store("o", i64(0), VALUE)), [np.zeros(3, np.float32)] * 2, [3])


def test_run_refuses_wrong_operands():
    out = np.zeros(3, np.float32)
    with pytest.raises(ValueError, match="requires 1 dims, got 0"):
        run(lanes(Store("o", POINT, VALUE)), [out, out])
    with pytest.raises(ValueError, match="requires 2 pointers, got 1"):
        run(lanes(Store("o", POINT, VALUE)), [out], [3])
    with pytest.raises(ValueError, match="requires x as 1-d f32, got 1-d float64"):
        run(lanes(Store("o", POINT, VALUE)), [np.zeros(3), out], [3])


@pytest.mark.parametrize("kind", ["serial", "lane"])
def test_run_reduce(kind):
    """Initial values, conditions, pairs of numbers."""
    index = var("index", I64)
    kernel = Kernel(
        "k",
        (X, OUTPUT),
        1,
        (
            Reduce((S,), SUM, (Axis(POINT, dim(0), kind=kind),), (VALUE,), (const(100, F32),), lt(VALUE, 4.0)),
            Store("o", i64(0), S),
            Reduce((var("m", F32), index), ARGMAX, (Axis(POINT, dim(0), kind=kind),), (VALUE, POINT)),
            Store("o", i64(1), cast(index, F32)),
        ),
    )
    verify(kernel)
    out = np.zeros(2, np.float32)
    run(kernel, [np.float32([1, 5, 2, 5, 3]), out], [5])
    assert out.tolist() == [106, 1]
    run(kernel, [np.float32([]), out], [0])
    assert out[0] == 100


@pytest.mark.parametrize("exclusive", [False, True])
def test_run_scan_and_scratch(exclusive):
    h = Buffer("h", F32, GLOBAL, dim(0))
    step = Scan((S,), SUM, Axis(POINT, dim(0), kind=LANE), (VALUE,), (Store("h", POINT, S),), None, exclusive)
    scan = Kernel("scan", (X, OUTPUT, h), 1, (step,))
    copy = Kernel("copy", (X, OUTPUT, h), 1, lanes(Store("o", POINT, load("h", F32, POINT))).body)
    out, scratch = np.zeros(3, np.float32), {}
    for kernel in (scan, copy):
        verify(kernel)
        run(kernel, [np.float32([1, 2, 4]), out], [3], scratch=scratch)
    assert out.tolist() == ([0, 1, 3] if exclusive else [1, 3, 7])


def test_run_let_keeps_what_stores_change():
    first, second = (load("o", F32, i64(k)) for k in (0, 1))
    swap = Let((S, T), (first, second)), Store("o", i64(0), T), Store("o", i64(1), S)
    out = np.array([3, 4], np.float32)
    assert run(Kernel("k", (OUTPUT,), 0, swap), [out]) == 0
    assert out.tolist() == [4, 3]


def test_run_fold_goes_in_order_where_its_condition_holds():
    """Horner's rule, up to the first value above 10; each lane by itself."""
    value = add(mul(S, 2.0), load("x", F32, J))
    horner = Fold((T,), (S,), Axis(J, dim(0)), (cast(POINT, F32),), (value,), lt(S, 10.0))
    kernel = Kernel("k", (X, OUTPUT), 1, (Loop(Axis(POINT, i64(3), kind=LANE), (horner, Store("o", POINT, T))),))
    verify(kernel)
    out = np.zeros(3, np.float32)
    assert run(kernel, [np.array([1, 2, 3, 4], np.float32), out], [4]) == 0
    assert out.tolist() == [11, 19, 12]


def test_run_atomic():
    x = load("x", F32, POINT)
    kernel = lanes(Atomic("add", "o", i64(0), x), Atomic("max", "o", i64(1), x, lt(POINT, 2)))
    verify(kernel)
    out = np.zeros(2, np.float32)
    run(kernel, [np.float32([1, 2, 4]), out], [3])
    assert out.tolist() == [7, 2]


def test_a_node_that_is_gone_leaves_its_key_to_another():
    """Another thread may have made the node anew, or have forgotten that one as well, before the first is forgotten."""
    key = ("test", 1)
    old, new = node.Node(), node.Node()
    stale = KeyedRef(old, None, key)
    del old
    try:
        node._interned[key] = KeyedRef(new, None, key)
        node._forget(stale)
        assert node._interned[key]() is new
    finally:
        del node._interned[key]
    node._forget(stale)
    assert key not in node._interned
    node._interned[key] = stale
    node._forget(stale)
    assert key not in node._interned
