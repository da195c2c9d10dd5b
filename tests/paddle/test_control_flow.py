"""Branches and loops in captured functions against the same function run eagerly, and against differences."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.static.nn import case, cond, switch_case, while_loop
from umiak.core.context import current
from umiak.ir import serialise
from umiak.ir.parser import parse
from umiak.ir.verifier import verify
from umiak.runtime import regions

static = functools.partial(paddle.jit.to_static, full_graph=True)


def tensor(array: Any, grad: bool = True) -> Any:
    x = paddle.to_tensor(np.asarray(array, "float64"))
    x.stop_gradient = not grad
    return x


# --- random bodies ---------------------------------------------------------------------------------------------------

UNARY: list[Callable[[Any], Any]] = [
    paddle.sin, paddle.tanh, lambda x: x * x * 0.5, lambda x: F.softmax(x, -1), paddle.abs, lambda x: x.T.sin().T,
    lambda x: paddle.exp(-x * x), lambda x: x.cumsum(0) * 0.3, lambda x: x.flip([0]), lambda x: F.sigmoid(x),
    lambda x: x[::-1] * 0.7, lambda x: x.mean(0, keepdim=True).expand([3, 3]), lambda x: F.layer_norm(x, [3]) * 0.4,
]  # fmt: skip
BINARY: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a - 0.5 * b, lambda a, b: (a @ b) * 0.3,
    lambda a, b: paddle.where(a > b, a, b * 0.9), lambda a, b: paddle.concat([a[:1], b[1:]]),
]  # fmt: skip


def body_of(rng: np.random.Generator, outside: Sequence[Any], writes: bool) -> Callable[[Any], Any]:
    """A function of one 3 × 3 tensor and of what is outside, of a few random statements."""
    steps = []
    for _ in range(rng.integers(1, 5)):
        kind = rng.integers(0, 4 if writes else 3)
        steps.append((kind, rng.integers(0, len(UNARY)), rng.integers(0, len(BINARY)), rng.integers(0, len(outside))))

    def body(x: Any) -> Any:
        for kind, u, b, o in steps:
            if kind == 0:
                x = UNARY[u](x)
            elif kind == 1:
                x = BINARY[b](x, outside[o])
            elif kind == 2:
                x = BINARY[b](outside[o], UNARY[u](x))
            else:
                y = x.clone()
                y[0] = outside[o][1] * 0.5
                x = y * 0.8
        return x

    return body


def looped(body: Callable[[Any], Any], x: Any, times: Any) -> Any:
    i = paddle.zeros([], "int64")
    return while_loop(lambda i, x: i < times, lambda i, x: [i + 1, body(x)], [i, x])[1]


def random_function(seed: int) -> tuple[Callable[..., Any], list[np.ndarray]]:
    """A function of two tensors and a number of iterations, with branches, loops, and one within another."""
    rng = np.random.default_rng(seed)
    shape = seed % 6
    limit = float(rng.standard_normal())

    @paddle.jit.marker.unified  # what is drawn is the same at every call
    def function(x: Any, w: Any, times: Any) -> Any:
        rng = np.random.default_rng(seed)
        first, second = (body_of(rng, [x, w], bool(rng.random() < 0.5)) for _ in range(2))

        def branch(y: Any) -> Any:
            return cond(y.sum() > limit, lambda: first(y), lambda: second(y))

        def loop(y: Any) -> Any:
            return looped(first, y, times)

        if shape == 0:
            return branch(w * x)
        if shape == 1:
            return loop(x * 0.5)
        if shape == 2:  # a branch in a loop
            return looped(branch, x, times)
        if shape == 3:  # a loop in a branch
            return cond(x.sum() > limit, lambda: loop(x * w), lambda: second(w))
        if shape == 4:  # a loop in a loop
            return looped(lambda y: paddle.tanh(looped(first, y, 2)) + x * 0.1, w, times)
        return cond(w.sum() > limit, lambda: branch(x), lambda: first(x) * w)  # a branch in a branch

    return function, [rng.standard_normal((3, 3)), rng.standard_normal((3, 3))]


def weighted(y: Any) -> Any:
    return (y * (y * 0.5 + 1.0)).sum()


def close(a: Any, b: Any) -> None:
    a, b = (np.zeros(()) if x is None else x.numpy() for x in (a, b))
    assert np.abs(a - b).max() <= 1e-9 * max(1.0, np.abs(b).max()), (a, b)


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(s, marks=pytest.mark.slow) for s in range(6, 200))])
def test_random_branches_and_loops(seed: int) -> None:
    """Values, gradients, and gradients of gradients, are those of eager calls; for each number of iterations."""
    function, arrays = random_function(seed)
    captured = static(function)
    inside = static(
        lambda x, w, n: paddle.grad(weighted(function(x, w, n)), [x, w], create_graph=True, allow_unused=True)
    )
    for times in (2, 0):
        n = paddle.to_tensor(times)
        found = []
        for f in (function, captured):
            xs = [tensor(a) for a in arrays]
            y = f(*xs, n)
            first = paddle.grad(weighted(y), xs, create_graph=True, allow_unused=True)
            known = [weighted(g) for g in first if g is not None and not g.stop_gradient]
            second = paddle.grad(sum(known), xs, allow_unused=True) if known else [None, None]
            found.append([y, *first, *second])
        for a, b in zip(found[1], found[0], strict=True):
            close(a, b)
        xs = [tensor(a) for a in arrays]
        for a, b in zip(inside(*xs, n), found[0][1:3], strict=True):
            close(a, b)


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_gradients_agree_with_differences(seed: int) -> None:
    function, arrays = random_function(seed)
    captured = static(function)
    n = paddle.to_tensor(3)
    line = [np.random.default_rng(seed + 1).standard_normal(a.shape) for a in arrays]

    def value(h: float) -> float:
        return float(weighted(captured(*(tensor(a + h * d) for a, d in zip(arrays, line, strict=True)), n)))

    xs = [tensor(a) for a in arrays]
    grads = paddle.grad(weighted(captured(*xs, n)), xs, allow_unused=True)
    along = sum(float((g.numpy() * d).sum()) for g, d in zip(grads, line, strict=True) if g is not None)
    assert math.isclose(along, (value(1e-5) - value(-1e-5)) / 2e-5, rel_tol=1e-4, abs_tol=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_programs_with_regions_are_text(seed: int) -> None:
    """They are well formed, forward and with gradients, and what is read back is equal."""
    function, arrays = random_function(seed)
    both = static(lambda x, w, n: [y := function(x, w, n), *paddle.grad(weighted(y), [x, w], allow_unused=True)])
    both(*(tensor(a) for a in arrays), paddle.to_tensor(2))
    program = both.captures[-1].program
    verify(program)
    assert any(o.regions for o in program.ops)
    again = parse(repr(program))
    verify(again)
    assert again.same_as(program) and serialise.loads(serialise.dumps(program)).same_as(program)
    copy = program.copy()
    verify(copy)
    assert copy.same_as(program)


# --- scans -----------------------------------------------------------------------------------------------------------


def scanned(body: Any, leaves: list, xs: list, reverse: bool) -> tuple[list, list]:
    """``scan``, in a captured function an operation, else a loop of Python."""
    n = xs[0].shape[0]
    if current().trace:
        return regions.scan(body, leaves, xs, n, reverse)
    made = []
    for i in reversed(range(n)) if reverse else range(n):
        leaves, out = body(leaves, [x[i] for x in xs])
        made.append(out)
    rows = made[::-1] if reverse else made
    return leaves, [paddle.stack([r[k] for r in rows]) for k in range(len(rows[0]))]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(s, marks=pytest.mark.slow) for s in range(2, 40))])
def test_random_scans(seed: int, reverse: bool) -> None:
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal((3, 3)), rng.standard_normal((20 if seed == 3 else 4, 3, 3))]

    @paddle.jit.marker.unified
    def function(w: Any, xs: Any) -> Any:
        rng = np.random.default_rng(seed)
        first, second = (body_of(rng, [w], seed % 3 == 0) for _ in range(2))

        def body(leaves: list, slices: list) -> tuple[list, list]:
            y = paddle.tanh(first(leaves[0]) + slices[0] * w)
            if seed % 2:
                y = cond(y.sum() > 0, lambda: second(y), lambda: y)
            return [y], [y * slices[0], second(slices[0])]

        (end,), (a, b) = scanned(body, [w * 0.5], [xs], reverse)
        return end + a.sum(0) + b[1]

    captured = static(function)
    found = []
    for f in (function, captured):
        given = [tensor(a) for a in arrays]
        y = f(*given)
        first = paddle.grad(weighted(y), given, create_graph=True)
        second = paddle.grad(sum(weighted(g) for g in first), given)
        found.append([y, *first, *second])
    for a, b in zip(found[1], found[0], strict=True):
        close(a, b)

    # Gradients of gradients as operations of one program.
    def again(*v: Any) -> Any:
        return paddle.grad(sum(map(weighted, paddle.grad(weighted(function(*v)), v, create_graph=True))), v)

    for a, b in zip(static(again)(*map(tensor, arrays)), found[0][3:], strict=True):
        close(a, b)


# --- what a function finds around it ---------------------------------------------------------------------------------


def agree(function: Callable[..., Any], *arrays: Any, calls: int = 1) -> list[Any]:
    """Call a function eagerly and captured, with the same seed; compare all results and gradients."""
    found = []
    captured = static(function)
    for f in (function, captured):
        paddle.seed(7)
        rows = []
        for _ in range(calls):
            xs = [tensor(a) if np.asarray(a).dtype.kind == "f" else paddle.to_tensor(a) for a in arrays]
            made = f(*xs)
            leaves = [y for y in (made if isinstance(made, (list, tuple)) else [made]) if isinstance(y, paddle.Tensor)]
            open_ends = [y for y in leaves if not y.stop_gradient]
            if open_ends:
                sum(y.sum() for y in open_ends).backward()
            rows += [y.numpy().copy() for y in leaves] + [
                np.zeros(()) if x.grad is None else x.grad.numpy() for x in xs
            ]
        rows.append(np.asarray(paddle.rand([2]).numpy()))  # the stream stands where it did
        found.append(rows)
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-12)
    return captured.captures[-1].program.ops


X = np.array([0.5, -1.0, 2.0])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_branches_write_to_tensors_from_outside(sign: float) -> None:
    def function(x: Any) -> Any:
        y = x * 2
        part = y[1:]

        def then() -> Any:
            y[0] = part[1].clone() * x[0]
            part.add_(x[:2])
            return y.clone().sum()

        def other() -> Any:
            part[0] = 5.0
            return (part.clone() * x[1:]).sum()

        z = cond(x[2] > 0, then, other)
        return y, part * 3, z

    agree(function, X * sign)


def test_loops_write_to_tensors_from_outside() -> None:
    def function(x: Any) -> Any:
        y, total = x * 2, paddle.zeros([3], "float64")
        view = y[:2]

        def body(i: Any) -> Any:
            total.add_(y.clone() * x)  # which wants a gradient from here on
            view.multiply_(paddle.to_tensor(0.5, dtype="float64"))
            y[2] = view[0].clone() * total[1].clone()
            return i + 1

        (i,) = while_loop(lambda i: i < 3, body, [paddle.zeros([1], "int64")])
        return y, total, view + 1, i

    agree(function, X)


@pytest.mark.parametrize("where", ["branch", "loop", "branch in a loop"])
@pytest.mark.parametrize("what", ["leaf", "inner", "part", "constant"])
@pytest.mark.parametrize("step", [False, True])
def test_writes_leave_the_history_that_eager_calls_leave(where: str, what: str, step: bool) -> None:
    """In no_grad the history of what was there, else that of what is written; for a backward run in- and outside."""

    def function(x: Any, w: Any) -> Any:
        y = x * 1.0 if what in ("inner", "part") else paddle.zeros([3], "float64") if what == "constant" else x
        z = y + w * 2

        def write() -> None:
            if what == "leaf":
                with paddle.no_grad():
                    y.multiply_(paddle.full([3], 0.5, "float64"))
            elif what == "part":
                with paddle.no_grad():
                    y[1:].copy_(w[:2] * 2, True)
                y[:1].add_(w[:1])
            elif what == "inner":
                with paddle.no_grad():
                    y.scale_(2.0)
                    y.scale_(0.75)
            else:
                y.copy_(w * w.sum(), True)

        def loop(body: Callable[[], None]) -> None:
            while_loop(lambda i: i < 2, lambda i: [body(), i + 1][1], [paddle.zeros([], "int64")])

        if where == "branch":
            cond(w.sum() > 0, write, None)
        elif where == "loop":
            loop(write)
        else:
            loop(lambda: cond(w.sum() > 0, write, None))
        total = z.sum() + (y * 3).sum()
        if step:
            total.backward()
        return total, y * 1.0

    found = []
    for f in (function, static(function)):
        for sign in (1.0, -1.0):
            x, w = tensor(X), tensor(X * sign)
            total, y = f(x, w)
            if not step:
                total.backward()
            rows = [v.numpy().copy() for v in (total, y, x.detach())]
            found.append(rows + [np.zeros(3) if v.grad is None else v.grad.numpy() for v in (x, w)])
    for a, b in zip(found[2] + found[3], found[0] + found[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_nested_bodies_write_to_tensors_from_outside() -> None:
    def function(x: Any) -> Any:
        y = x + 0.0

        def body(i: Any) -> Any:
            def less() -> None:
                y.subtract_(x * x)

            def more() -> None:
                y[0:1].add_(x[1:2])

            cond(y.sum() > 0, less, more)
            return i + 1

        while_loop(lambda i: i < 4, body, [paddle.zeros([], "int64")])
        return y * 2

    agree(function, X)


def test_buffers_and_parameters_are_written() -> None:
    """What a captured function writes to tensors of the caller, from within a branch and a loop."""
    for f in (lambda g: g, static):
        count, state = paddle.zeros([], "int64"), paddle.zeros([3], "float64")

        def function(x: Any, count: Any = count, state: Any = state) -> Any:
            def note() -> None:
                count.add_(paddle.ones([], "int64"))
                with paddle.no_grad():
                    state.copy_(state * 0.5 + x, True)

            cond(x.sum() > 1, note, None)
            return x * 2

        g = f(function)
        for scale in (1.0, -1.0, 2.0):
            g(tensor(X * scale, False))
        assert int(count) == 2
        np.testing.assert_allclose(state.numpy(), X * 2.5)


def test_results_have_memory_of_their_own() -> None:
    """Not that of a tensor which the program writes over, by a view or as it is; nor do two results share it."""
    state = paddle.zeros([4], "float64")

    @static
    def function(x: Any) -> Any:
        a, b, c = cond(x.sum() > 0, lambda: (state[1:], state, state), lambda: (state[:-1] * 1.0, state * 2, state))
        with paddle.no_grad():
            state.add_(x)
        (d,) = while_loop(lambda y: y.sum() < 0, lambda y: y + 1, [state])
        return a * 2, a, b, c, d

    old = np.zeros(4)
    for value in (1.0, -0.5, 2.0):
        x = tensor(np.full(4, value), False)
        made = function(x)
        part, whole = (old[1:], old) if value > 0 else (old[:-1], old * 2)
        new = old + value
        for a, b in zip(made, [part * 2, part, whole, old, new], strict=True):
            np.testing.assert_allclose(a.numpy(), b)
        np.testing.assert_allclose(state.numpy(), new)
        for y in made[1:]:  # the caller may write to what it got
            y.add_(paddle.ones(y.shape, "float64"))
        np.testing.assert_allclose(state.numpy(), new)
        old = new


def test_random_numbers_are_those_of_eager_calls() -> None:
    """Of branches that draw differently, of loops, of one in the other; and what is drawn afterwards."""

    def function(x: Any, n: Any) -> Any:
        x = F.dropout(x, 0.5)
        x = cond(x.sum() > 0, lambda: F.dropout(x, 0.3) + paddle.rand([5], "float64")[:3], lambda: F.dropout(x, 0.2))
        x = looped(lambda x: F.dropout(x, 0.3) + F.dropout(x, 0.4) * 0.1, x, n)
        x = x + looped(lambda x: looped(lambda y: paddle.tanh(y) + paddle.randn([3], "float64"), x, 2) * 0.5, x, 3)
        return F.dropout(x, 0.5)

    def fixed(x: Any, n: Any) -> Any:
        x = cond(x.sum() > 0, lambda: F.dropout(x, 0.3) + paddle.rand([5], "float64")[:3], lambda: F.dropout(x, 0.2))
        x = looped(lambda x: F.dropout(x, 0.3) + F.dropout(x, 0.4) * 0.1, x, n)
        return F.dropout(x, 0.5)

    for sign in (1.0, -1.0):
        for n in (3, 0):
            agree(fixed, X * sign, np.int64(n), calls=3)
            agree(function, X * sign, np.int64(n), calls=3)


def test_a_branch_draws_though_nobody_reads_it() -> None:
    def function(x: Any) -> Any:
        cond(x.sum() > 0, lambda: F.dropout(x, 0.3), lambda: x)
        while_loop(lambda i: i < x.sum(), lambda i: [i + paddle.rand([1], "float64")[0]], [x[0]])
        return F.dropout(x, 0.5) + paddle.rand([3], "float64")

    for sign in (1.0, -1.0):
        agree(function, X * sign, calls=2)


@pytest.mark.parametrize("last", ["branch", "loop", "branch in a loop"])
def test_a_region_draws_last_though_nobody_reads_it(last: str) -> None:
    """Only the stream of random numbers knows that it ran."""

    def draw() -> None:
        F.dropout(paddle.ones([7]), 0.3)

    def branch(x: Any) -> None:
        cond(x.sum() > 0, draw, lambda: None)

    def loop(body: Callable[[], None]) -> None:
        while_loop(lambda i: i < 2, lambda i: [(body(), i + 1)[1]], [paddle.zeros([], "int64")])

    def function(x: Any) -> Any:
        if last == "branch":
            branch(x)
        elif last == "loop":
            loop(draw)
        else:
            loop(lambda: cond(x.sum() > 0, draw, draw))
        return x * 2

    for sign in (1.0, -1.0):
        agree(function, X * sign, calls=3)


def test_recomputed_branches_and_loops() -> None:
    """Within ``recompute``, and around it."""
    from paddle.distributed.fleet.utils import recompute

    def function(x: Any, n: Any) -> Any:
        y = recompute(
            lambda x: looped(lambda y: paddle.sin(y) * x, x, n) + cond(x[0] > 0, lambda: x.exp(), lambda: x), x
        )
        return y * x, looped(lambda y: recompute(lambda y: paddle.tanh(y * x).exp() * 0.3, y), x, n)

    for sign in (1.0, -1.0):
        agree(function, X * sign, np.int64(3))


def test_gradients_within() -> None:
    """``paddle.grad`` in a body, of what was computed outside of it too."""

    def function(x: Any, n: Any) -> Any:
        h = F.layer_norm(x * x, [3])

        def body(y: Any) -> Any:
            (g,) = paddle.grad((paddle.sin(y.detach()) * F.layer_norm(h, [3])).sum(), [x], create_graph=True)
            z = y * 2
            (k,) = paddle.grad((paddle.sin(z) * y).sum(), [z], create_graph=True)
            return y * 0.5 + g + k

        z = cond(x[0] > 0, lambda: paddle.grad((h * h).sum(), [x], create_graph=True)[0], lambda: x)
        return looped(body, h * 1.0, n) + z

    agree(function, X, np.int64(2))


def test_numbers_and_structures() -> None:
    def function(x: Any) -> Any:
        a = cond(x[0] > 0, lambda: {"y": [x, 1], "n": 2, "f": 0.5}, lambda: {"y": [x * 2, 1], "n": 3, "f": x[0]})
        assert a["y"][1] == 1  # equal numbers stay numbers
        i, (y, k), flag = while_loop(
            lambda i, pair, flag: i < 3,
            lambda i, pair, flag: [i + 1, (pair[0] * a["n"], pair[1]), paddle.logical_not(flag)],
            [0, (x, "name"), paddle.to_tensor(True)],
        )
        assert k == "name"
        return a["y"][0], a["n"] * x, a["f"] * x, i, y, flag

    def eager(x: Any) -> Any:
        return function(x)

    for sign in (1.0, -1.0):
        x = tensor(X * sign)
        got = static(function)(x)
        first = X * sign
        n, f, y = (2, 0.5, first) if sign > 0 else (3, first[0], first * 2)
        for a, b in zip(got, [y, n * first, f * first, 3, first * n**3, False], strict=True):
            np.testing.assert_allclose(np.asarray(a.numpy(), "float64"), b)


@pytest.mark.parametrize("k", [0, 1, 2, 7])
def test_case_and_switch_case(k: int) -> None:
    fns: dict[int, Callable[[Any], Any]] = {0: lambda x: x, 1: lambda x: x * 3, 2: lambda x: x.exp()}

    def function(x: Any, k: Any) -> Any:
        mine = {i: (lambda f=f: f(x)) for i, f in fns.items()}
        a = switch_case(k, mine)
        b = switch_case(k, list(mine.values()), default=lambda: -x)
        c = switch_case(k, [(5, mine[0]), (1, mine[1])], lambda: x * 0.5)
        d = case([(k == i, f) for i, f in mine.items()])
        e = case([(k < 1, mine[1]), (k < 7, mine[2])], default=mine[0])
        return a, b, c, d, e

    agree(function, X, np.int64(k))
    got = [v.numpy() for v in function(tensor(X), paddle.to_tensor(k))]
    plain = [X, X * 3, np.exp(X)]
    at = plain[min(k, 2)]
    wanted = [
        at,
        at if k < 3 else -X,
        plain[1] if k == 1 else X * 0.5,
        at,
        plain[1] if k < 1 else plain[2] if k < 7 else X,
    ]
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b)


def test_sizes_that_differ_between_calls() -> None:
    """One program serves them: sizes within regions are symbols too."""

    def function(x: Any) -> Any:
        y = looped(lambda y: paddle.sin(y) + x.mean(0), x, 2)
        return cond(y.sum() > 0, lambda: y @ y.T, lambda: x @ x.T)

    captured = static(function)
    for n in (3, 4, 5, 6):
        a, b = (tensor(np.linspace(-1, 1.5, n * 2).reshape(n, 2)) for _ in range(2))
        close(captured(a), function(b))
        weighted(captured(a)).backward()
        weighted(function(b)).backward()
        close(a.grad, b.grad)
    assert captured.get_traced_count() == 2


def test_bodies_are_compiled_as_wholes() -> None:
    """A chain of elementwise calls in a body is one kernel, as it is outside."""

    def function(x: Any) -> Any:
        return looped(lambda y: paddle.tanh(paddle.sin(y) * 2 + y * x) - 1, x, 3)

    captured = static(function)
    with paddle.no_grad():
        captured(tensor(X, False))
    (made,) = (c for c in captured._captures())
    (lowered,) = made._executor._lowered.values()
    (loop,) = (p for p in lowered.calls.parts if hasattr(p, "regions"))
    (block,) = loop.regions[1].parts
    assert [op.name for op in block.calls.steps_ops] in (["add", "fused"], ["fused", "add"])


def test_a_training_step_with_control_flow() -> None:
    """Forward, backward and an update in one program."""
    rows = []
    for f in (lambda g: g, static):
        paddle.seed(3)
        layer = paddle.nn.Linear(3, 3)
        opt = paddle.optimizer.Adam(0.1, parameters=layer.parameters())

        def step(x: Any, n: Any, layer: Any = layer, opt: Any = opt) -> Any:
            y = while_loop(lambda i, y: i < n, lambda i, y: [i + 1, F.gelu(layer(y))], [paddle.zeros([], "int64"), x])[
                1
            ]
            loss = cond(y.sum() > 0, lambda: y.square().mean(), lambda: y.abs().mean() + layer.weight.sum() * 0.01)
            loss.backward()
            opt.step()
            opt.clear_grad()
            return loss

        g = f(step)
        x = paddle.to_tensor(np.random.default_rng(0).standard_normal((4, 3)).astype("float32"))
        rows.append([float(g(x, paddle.to_tensor(n))) for n in (2, 3, 1, 1)] + layer.weight.numpy().ravel().tolist())
    np.testing.assert_allclose(rows[1], rows[0], rtol=2e-4, atol=1e-5)


def test_mixed_precision_casts_inside() -> None:
    w = paddle.ones([3, 3]) * 0.3

    def function(x: Any) -> Any:
        with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
            y = x @ w
            z = cond(y.astype("float32").sum() > 0, lambda: (x @ w) + y, lambda: y)
            return z @ w

    x = paddle.ones([2, 3])
    a, b = static(function)(x), function(x)
    assert a.dtype == b.dtype
    np.testing.assert_allclose(a.astype("float32").numpy(), b.astype("float32").numpy(), rtol=1e-2)


# --- refusals --------------------------------------------------------------------------------------------------------


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "dims": (lambda x: cond(x.sum() > 0, lambda: x, lambda: x.sum()), "cond.*results of both branches"),
    "dtypes": (lambda x: cond(x.sum() > 0, lambda: x, lambda: x.astype("float32")), "cond.*results of both branches"),
    "structures": (lambda x: cond(x.sum() > 0, lambda: [x], lambda: (x, x)), "cond.*one structure"),
    "nothing": (lambda x: cond(x.sum() > 0, lambda: x, None), "cond.*equal values"),
    "other values": (lambda x: cond(x.sum() > 0, lambda: "a", lambda: "b"), "cond.*equal values"),
    "no flag": (lambda x: cond(x, lambda: x, lambda: x), "cond.*bool"),
    "more dims": (
        lambda x: while_loop(lambda y: y.sum() < 9, lambda y: [paddle.stack([y, y])], [x]), "carried values"
    ),
    "a value too many": (lambda x: while_loop(lambda y: y.sum() < 9, lambda y: [y, y], [x]), "1 values"),
    "a value that changes": (
        lambda x: while_loop(lambda y, s: y.sum() < 9, lambda y, s: [y, s + "a"], [x, ""]), "which is no tensor"
    ),
    "data": (lambda x: cond(x.sum() > 0, lambda: x * x.tolist()[0], lambda: x), "are not known"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_of_captured_functions(what: str) -> None:
    function, message = REFUSED[what]
    with pytest.raises((TypeError, ValueError, RuntimeError), match=message):
        static(function)(tensor(X))


AS_WRITTEN: dict[str, tuple[Callable[[Any], Any], str]] = {
    "backward": (lambda x: cond(x.sum() > 0, lambda: (x * 2).sum().backward(), None), "backward.*branch or loop body"),
    "grad through what is carried": (
        lambda x: looped(lambda y: paddle.grad((y * x).sum(), [x])[0], x * 2, 2), "values that the loop carries"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", AS_WRITTEN)
def test_calls_that_run_as_they_were_written(what: str) -> None:
    function, message = AS_WRITTEN[what]
    expected, found = tensor(X), tensor(X)
    wanted = function(expected)
    run = static(function)
    given = run(found)
    (why,) = run.fallbacks
    assert re.search(message, why), why
    for a, b in ((given, wanted), (found.grad, expected.grad)):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_a_body_that_never_settles_is_refused() -> None:
    def function(x: Any) -> Any:
        sizes: list[int] = []

        def body(y: Any) -> Any:
            sizes.append(1)
            return y + paddle.rand([4 * len(sizes)], "float64").sum()

        return looped(body, x, 2)

    with pytest.raises(RuntimeError, match="which while_loop calls, changes 'sizes'"):
        static(function)(tensor(X))


def test_a_tensor_does_not_leave_a_branch_by_itself() -> None:
    def function(x: Any) -> Any:
        kept: list[Any] = []

        def then() -> Any:
            kept.append(x * 2)
            return x

        y = cond(x.sum() > 0, then, lambda: x)
        return y + kept[0]

    with pytest.raises(RuntimeError, match="which cond calls, changes 'kept'"):
        static(function)(tensor(X))


def test_arguments_are_checked() -> None:
    x = tensor(X)
    for call, message in (
        (lambda: cond(1, None), "cond.*bool tensor"),
        (lambda: cond(x.sum() > 0, 1), "true_fn"),
        (lambda: while_loop(1, lambda y: y, [x]), "a cond that can be called"),
        (lambda: while_loop(lambda y: y, lambda y: y, x), "a list or tuple"),
        (lambda: while_loop(lambda y: y, lambda y: y, []), "at least one"),
        (lambda: case([]), "at least one pair"),
        (lambda: case([x]), "tuples of a condition and a function"),
        (lambda: switch_case(x, []), "an index of"),
        (lambda: switch_case(paddle.to_tensor(1), []), "at least one function"),
        (lambda: switch_case(paddle.to_tensor(1), [(1, len), (1, len)]), "each number once"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            call()
