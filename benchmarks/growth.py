"""Growth of caches and memory over many different shapes and scalars: there must be none."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from typing import Any

from eager import null
from measure import Settings, resident
from rows import Outcome, add_row

import paddle
from umiak.ops.base import REGISTRY

SHAPES, NUMBERS = 100_000, 10_000
WARM = 200  # calls before the first count
MORE = 1 << 20  # bytes that may be gained


def interned() -> tuple[int, int]:
    """Return the number of interned ops, and of plans in their tables."""
    ops = [op for cls in REGISTRY.values() for op in list(cls._instances.values())]
    return len(ops), sum(op.table_size() for op in ops)


def growth(call: Callable[[Any], None], items: Iterable[Any]) -> Outcome:
    """Calls ``call`` on every item; the first ones make the plans."""
    before: tuple[int, int, int] | None = None
    count = 0
    with null():
        for count, item in enumerate(items):
            if count == WARM:
                gc.collect()
                before = (*interned(), resident())
            call(item)
    assert before is not None, f"growth requires more than {WARM} items, got {count}"
    gc.collect()
    ops, plans, memory = (now - then for now, then in zip((*interned(), resident()), before, strict=True))
    passed = ops <= 0 and plans <= 0 and memory < MORE
    return Outcome(
        f"{before[1]} plans",
        "",
        f"{plans:+d} plans, {ops:+d} ops, {memory / (1 << 20):+.1f} MiB",
        passed,
    )


def shapes(count: int) -> Iterable[tuple[int, int]]:
    side = int(count**0.5) + 1
    return ((1 + i // side, 1 + i % side) for i in range(count))


def on_shape(shape: tuple[int, int]) -> None:
    softmax = paddle.nn.functional.softmax
    x, w = paddle.empty(shape, "float32"), paddle.empty((shape[1], 3), "float32")
    x.stop_gradient = w.stop_gradient = False
    y = softmax(x @ w, -1).reshape((-1,)) * 2.0
    y.sum().backward()


def on_number(value: float) -> None:
    x = paddle.empty((8, 8), "float32")
    x.stop_gradient = False
    y = paddle.scale(x + value, value, bias=value)
    y = paddle.clip(paddle.nn.functional.leaky_relu(y * value, value), -value, value)
    y.sum().backward()


def of_shapes(settings: Settings) -> Outcome:
    return growth(on_shape, shapes(SHAPES if settings.rounds > 2 else 4 * WARM))


def of_numbers(settings: Settings) -> Outcome:
    count = NUMBERS if settings.rounds > 2 else 4 * WARM
    return growth(on_number, (0.001 + i / count for i in range(count)))


add_row("grow-shapes", f"plans and memory after {SHAPES:,} shapes", "nothing stays", of_shapes)
add_row("grow-numbers", f"plans and memory after {NUMBERS:,} numbers", "nothing stays", of_numbers)
