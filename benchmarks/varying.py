"""Small programs with control flow, called with varying sizes and numbers: how many programs are captured, where graphs
break, and what is captured again once two sizes are known. Counted, not timed.

Each program is called with the sizes of ``FIRST``, or others where it has two paths, two for each; then with those of
``LATER``, with 0 and 1, and with those of ``LATER`` once more. Results are compared with eager mode's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from measure import Settings
from rows import Outcome, add_row, add_section

import paddle
import paddle.nn.functional as F
from paddle import nn

VARYING = add_section("varying", "Programs with control flow and varying sizes", figure="captured again, and why")
FIRST, LATER, SPECIAL = (4, 6), (3, 9, 5, 12, 2, 7), (1, 0)
WIDTH = 4
Tensor = paddle.Tensor


@dataclass(frozen=True)
class Program:
    """``make()`` gives the function, and ``given(n)`` its arguments for a size. ``first``: sizes until all is captured.

    ``why``: what has to be captured again at later sizes, if anything. ``special``: it takes 0 and 1, too.
    """

    what: str
    make: Callable[[], Callable[..., Any]]
    given: Callable[[int], tuple[Any, ...]]
    first: tuple[int, ...] = FIRST
    why: str = ""
    special: bool = True


PROGRAMS: dict[str, Program] = {}


def rows_of_ones(n: int) -> Tensor:
    """A matrix of n rows whose values are those of its indices."""
    return paddle.to_tensor((np.arange(n * WIDTH, dtype="float32").reshape(n, WIDTH) % 7 - 3) / 4)


def matrix(n: int) -> tuple[Any, ...]:
    return (rows_of_ones(n),)


def with_number(n: int) -> tuple[Any, ...]:
    return rows_of_ones(4), n


def with_rate(n: int) -> tuple[Any, ...]:
    return rows_of_ones(4), n / 8 + 0.0625


def matrix_and_number(n: int) -> tuple[Any, ...]:
    return rows_of_ones(n), n


def two_matrices(n: int) -> tuple[Any, ...]:
    return rows_of_ones(n), rows_of_ones(n + 2)


def three_of_one_size(n: int) -> tuple[Any, ...]:
    return ([rows_of_ones(n), rows_of_ones(n) * 2, rows_of_ones(n) + 1],)


def named(n: int) -> tuple[Any, ...]:
    return ({"x": rows_of_ones(n), "scale": n / 4},)


def program(what: str, given: Callable[[int], tuple[Any, ...]] = matrix, **settings: Any) -> Callable[[Any], Any]:
    """Enter a function as a program."""

    def enter(f: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[f.__name__.replace("_", "-")] = Program(what, lambda: f, given, **settings)
        return f

    return enter


def made(what: str, given: Callable[[int], tuple[Any, ...]] = matrix, **settings: Any) -> Callable[[Any], Any]:
    """Enter what a function makes as a program."""

    def enter(make: Callable[[], Any]) -> Callable[[], Any]:
        PROGRAMS[make.__name__.replace("_", "-")] = Program(what, make, given, **settings)
        return make

    return enter


# --- sizes that are computed with -------------------------------------------------------------------------------------


@program("mean over the rows, by `x.shape[0]`")
def mean_by_size(x: Tensor) -> Tensor:
    return x.sum(0) / max(x.shape[0], 1)


@program("`reshape` to sizes that are computed")
def reshape_by_size(x: Tensor) -> Tensor:
    n, m = x.shape
    return paddle.exp(x).reshape([n * m // 2, 2])


@program("halves by slices up to `n // 2`")
def halves(x: Tensor) -> Tensor:
    half = x.shape[0] // 2
    return x[:half].sum(0) - x[half : 2 * half].sum(0)


@program("`zeros` and `arange` of the size")
def positions(x: Tensor) -> Tensor:
    return x + paddle.arange(x.shape[0], dtype="float32").unsqueeze(1) + paddle.zeros([x.shape[0], 1])


@program("a lower triangle of the size, as a mask")
def causal_mask(x: Tensor) -> Tensor:
    scores = x @ x.t()
    mask = paddle.tril(paddle.ones([x.shape[0], x.shape[0]], dtype="bool"))
    return F.softmax(paddle.where(mask, scores, paddle.full_like(scores, -1e9)), axis=-1)


@program("two matrices of different sizes, joined", two_matrices)
def joined(x: Tensor, y: Tensor) -> Tensor:
    return paddle.concat([x, y * 2]).reshape([-1, WIDTH // 2]).mean()


@program("size and the same number as an argument", matrix_and_number)
def size_and_number(x: Tensor, n: int) -> Tensor:
    return x * n + x.shape[0]


@program("`expand` and `tile` by the size")
def expanded(x: Tensor) -> Tensor:
    row = x.sum(0, keepdim=True).expand([x.shape[0], WIDTH])
    return row + paddle.ones([1, WIDTH]).tile([x.shape[0], 1])


@program("numbers of elements, `x.size` and `len(x)`")
def counts_of_elements(x: Tensor) -> Tensor:
    return x.sum() / (len(x) + x.shape[0] * x.shape[1] + 1)


@program("padded to a multiple of 4")
def padded(x: Tensor) -> Tensor:
    rest = -x.shape[0] % 4
    return F.pad(x, [0, rest, 0, 0], value=1.0)


# --- branches ---------------------------------------------------------------------------------------------------------


@program("a branch on the rank and the last size, which do not vary")
def branch_on_rank(x: Tensor) -> Tensor:
    if x.ndim == 2 and x.shape[-1] == WIDTH:
        return x.tanh().sum(0)
    return x


@program("`if n > 8`, a path for small and one for large", first=(4, 6, 10, 11))
def branch_on_size(x: Tensor) -> Tensor:
    if x.shape[0] > 8:
        return x.mean(0)
    return x.sum(0)


@program("`if n % 2`, odd and even", first=(4, 6, 5, 11))
def branch_on_parity(x: Tensor) -> Tensor:
    if x.shape[0] % 2:
        x = x[1:]
    return x.reshape([-1, 2, WIDTH]).sum(1)


@program(
    "a mode given as a text, one at a time",
    lambda n: (rows_of_ones(n), "mean" if n % 2 else "sum"),
    first=(4, 6, 5, 11),
)
def branch_on_text(x: Tensor, mode: str) -> Tensor:
    return x.mean() if mode == "mean" else x.sum()


@program(
    "an optional argument, None every other time",
    lambda n: (rows_of_ones(n), rows_of_ones(n) if n % 2 else None),
    first=(4, 6, 5, 11),
)
def optional_argument(x: Tensor, bias: Tensor | None) -> Tensor:
    return F.relu(x if bias is None else x + bias)


@program("a branch on the data of a tensor", first=(4, 6, 3, 9))
def branch_on_data(x: Tensor) -> Tensor:
    y = x * 2
    if y.sum() > 0:
        y = y - 1
    return y * 3


@program("`paddle.where` in place of a branch")
def chosen_by_where(x: Tensor) -> Tensor:
    return paddle.where(x > 0, x, 0.1 * x)


@program("`paddle.static.nn.cond` on the data")
def cond_on_data(x: Tensor) -> Tensor:
    return paddle.static.nn.cond(x.sum() > 0, lambda: x * 2, lambda: x - 1)


@program("a conditional expression on the rank")
def conditional_expression(x: Tensor) -> Tensor:
    scale = 1.0 if x.ndim == 1 else 0.5
    return (x * scale).cumsum(0)


@program("an exception raised and caught for one kind of argument", lambda n: (rows_of_ones(n), "axis"))
def exception_caught(x: Tensor, name: str) -> Tensor:
    try:
        axis = {"rows": 0}[name]
    except KeyError:
        axis = 1
    return x.sum(axis)


# --- loops ------------------------------------------------------------------------------------------------------------


@program("a loop of three rounds")
def fixed_loop(x: Tensor) -> Tensor:
    for i in range(3):
        x = F.gelu(x) + i
    return x


@program("a loop over a list of three tensors", three_of_one_size)
def loop_over_list(tensors: list[Tensor]) -> Tensor:
    total = tensors[0] * 0
    for i, x in enumerate(tensors):
        total = total + x * i
    return total


@program(
    "a loop over the rows, `for i in range(n)`",
    why="a program for each count: the loop is unrolled",
)
def loop_over_size(x: Tensor) -> Tensor:
    total = paddle.zeros([WIDTH])
    for i in range(x.shape[0]):
        total = total * 0.5 + x[i]
    return total


@program("the same with `static.nn.while_loop`")
def while_over_size(x: Tensor) -> Tensor:
    def more(i: Tensor, total: Tensor) -> Tensor:
        return i < x.shape[0]

    def body(i: Tensor, total: Tensor) -> list[Tensor]:
        return [i + 1, total * 0.5 + x.sum(0)]

    return paddle.static.nn.while_loop(more, body, [paddle.zeros([], "int64"), paddle.zeros([WIDTH])])[1]


@program("a loop in pieces of two rows, until nothing is left", why="a program for each count: the loop is unrolled")
def loop_by_pieces(x: Tensor) -> Tensor:
    out = paddle.zeros([WIDTH])
    while x.shape[0] > 2:
        out = out + x[:2].sum(0)
        x = x[2:]
    return out


@program("a loop that the data ends, `break`", first=(4, 6, 3, 9))
def loop_with_break(x: Tensor) -> Tensor:
    y = x
    for _ in range(3):
        y = y * 0.5
        if float(y.abs().sum()) < 1.0:
            break
    return y


@program("a comprehension over parts from `split`", lambda n: (rows_of_ones(2 * n),))
def parts(x: Tensor) -> Tensor:
    return paddle.stack([p.mean() for p in paddle.split(x, 2)])


@program("`zip` of two lists, and an early `continue`", three_of_one_size)
def loop_with_continue(tensors: list[Tensor]) -> Tensor:
    total = paddle.zeros([WIDTH])
    for x, weight in zip(tensors, (1.0, 0.0, 2.0)):
        if weight == 0.0:
            continue
        total = total + weight * x.sum(0)
    return total


# --- numbers that vary ------------------------------------------------------------------------------------------------


@program("a rate as an argument", with_rate)
def varying_rate(x: Tensor, rate: float) -> Tensor:
    return x - rate * x.tanh()


@program("a number as an argument, which is computed with", with_number)
def varying_number(x: Tensor, n: int) -> Tensor:
    return x * (2 * n + 1) + n / 2


@program("a number as a size", with_number)
def number_as_size(x: Tensor, n: int) -> Tensor:
    return paddle.ones([n + 1, WIDTH]) * x.sum(0)


@program("a number as an index", lambda n: (rows_of_ones(16), n))
def number_as_index(x: Tensor, n: int) -> Tensor:
    return x[n] + 1


@program("a dict of a tensor and a number", named)
def dict_of_both(batch: dict[str, Any]) -> dict[str, Tensor]:
    return {"y": batch["x"] * batch["scale"]}


@made("a counter in a closure")
def counter_in_a_closure() -> Callable[[Tensor], Tensor]:
    count = 0

    def f(x: Tensor) -> Tensor:
        nonlocal count
        count += 1
        return x * count

    return f


@made("a counter that is an attribute of an object, at first of its class", first=(4, 6, 5))
def counter_of_an_object() -> Callable[[Tensor], Tensor]:
    class Counter:
        steps = 0

        def run(self, x: Tensor) -> Tensor:
            self.steps += 1
            return x / self.steps

    counter = Counter()
    return lambda x: counter.run(x)


@made("a list that grows, read at its end")
def history() -> Callable[[Tensor], Tensor]:
    kept: list[float] = []

    def f(x: Tensor) -> Tensor:
        kept.append(0.5)
        return x * kept[-1]

    return f


# --- layers and calls -------------------------------------------------------------------------------------------------


@made("a layer over batches of varying size")
def layer_of_batches() -> Callable[[Tensor], Tensor]:
    paddle.seed(0)
    return nn.Sequential(nn.Linear(WIDTH, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 2))


@made("a training step over batches of varying size", special=False)
def step_of_batches() -> Callable[[Tensor], Tensor]:
    paddle.seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, 8), nn.GELU(), nn.Linear(8, 2))
    optimizer = paddle.optimizer.AdamW(1e-3, parameters=model.parameters())

    def step(x: Tensor) -> Tensor:
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    return step


@made("attention over sequences of varying length, with heads", special=False)
def attention() -> Callable[[Tensor], Tensor]:
    paddle.seed(0)
    qkv, out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def f(x: Tensor) -> Tensor:
        n = x.shape[0]
        q, k, v = paddle.split(qkv(x).reshape([1, n, 6, 2]), 3, axis=2)
        return out(F.scaled_dot_product_attention(q, k, v).reshape([n, WIDTH]))

    return f


@program("a `print` in the middle")
def print_in_the_middle(x: Tensor) -> Tensor:
    y = x.exp()
    print(end="")
    return y.sum(0)


# --- counting ---------------------------------------------------------------------------------------------------------


def arrays(x: Any) -> list[np.ndarray]:
    """The tensors of a result."""
    if isinstance(x, Tensor):
        return [x.numpy()]
    return [a for v in (x.values() if isinstance(x, dict) else x) for a in arrays(v)]


def count(p: Program, name: str) -> tuple[int, int, int, list[str]]:
    """Programs, what is captured for 0 and 1, what is captured again at later sizes, and why graphs broke."""
    captured, plain = paddle.jit.to_static(p.make()), p.make()
    static = captured.forward if isinstance(captured, nn.Layer) else captured

    def call(*sizes: int) -> int:
        """Return how much more there is after these calls: captures, and calls that ran without a graph."""

        def now() -> int:
            return sum(len(frame.entries) for frame in static.family.frames) + len(static.fallbacks)

        before = now()
        for n in sizes:
            for got, want in itertools.zip_longest(arrays(captured(*p.given(n))), arrays(plain(*p.given(n)))):
                np.testing.assert_allclose(got, want, 1e-5, 1e-6, err_msg=f"{name}, size {n}")
        return now() - before

    call(*p.first)
    again = call(*LATER)
    special = call(*SPECIAL) if p.special else 0
    again += call(*LATER)
    return static.get_traced_count(), special, again, [*static.graph_breaks, *static.fallbacks]


def plural(n: int, word: str) -> str:
    return f"{n} {word}{'s' * (n != 1)}"


def measure(name: str, settings: Settings) -> Outcome:
    p = PROGRAMS[name]
    programs, special, again, reasons = count(p, name)
    found = f"{plural(programs, 'program')}, {plural(len(reasons), 'break')}"
    why = "; ".join(dict.fromkeys([*([p.why] if again and p.why else []), *map(shortened, reasons)]))
    return Outcome(found, f"+ {special}" if p.special else "", f"{again}{f': {why}' if why else ''}", again == 0)


def shortened(reason: str) -> str:
    """A reason without the place."""
    return reason.rpartition(" (")[0].replace("|", "/") or reason


for key, entered in PROGRAMS.items():
    add_row(f"vary-{key}", entered.what, "0", partial(measure, key), VARYING)
