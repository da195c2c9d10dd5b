"""Follows one call of softmax through every layer and back, and prints what each stage holds.

``python docs/design/softmax_walk.py`` prints the stages; ``--write`` puts them into softmax.md, which a test checks.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import paddle
from umiak import backends
from umiak import ops as F
from umiak.compiler import plan as planner
from umiak.core import dispatch, tape

PAGE = Path(__file__).with_name("softmax.md")
SOFTMAX = F.REGISTRY["softmax"]
STAGES: list[Callable[[], Iterator[str]]] = []


def stage(f: Callable[[], Iterator[str]]) -> Callable[[], Iterator[str]]:
    STAGES.append(f)
    return f


@contextmanager
def misses() -> Iterator[list[str]]:
    """What the planner is asked for meanwhile."""
    asked: list[str] = []

    def on_miss(op: Any, operands: tuple, params: tuple, modes: int) -> Any:
        asked.append(repr(op))
        return planner.on_miss(op, operands, params, modes)

    dispatch.install(on_miss=on_miss)
    try:
        yield asked
    finally:
        dispatch.install(on_miss=planner.on_miss)


def example(dtype: str = "float32", shape: tuple[int, ...] = (2, 3), stop_gradient: bool = False) -> Any:
    values = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    return paddle.to_tensor(values, stop_gradient=stop_gradient)


def weights() -> Any:
    """A gradient to begin with."""
    return paddle.to_tensor(np.array([[1, 0, 0], [0, 0, 1]], "float32"))


def rounded(t: Any) -> list:
    return np.round(t.numpy().astype("float64"), 4).tolist()


def fresh() -> Any:
    """The op record with an empty table."""
    op = SOFTMAX(axis=1)
    op.clear()
    return op


def lines(operations: list, results: list) -> Iterator[str]:
    yield from map(repr, operations)
    yield "return " + ", ".join("none" if v is None else f"%{v.id}" for v in results)


def plan_of_example() -> Any:
    op = fresh()
    paddle.nn.functional.softmax(example())
    (plan,) = op.plans()
    return plan


# --- the stages ------------------------------------------------------------------------------------------------------


@stage
def call() -> Iterator[str]:
    x = example()
    yield f"x: {rounded(x)}"
    yield f"y: {rounded(paddle.nn.functional.softmax(x))}"


@stage
def record() -> Iterator[str]:
    op = SOFTMAX(axis=1)
    yield f"{op}: operands {op.inputs}, attributes {op.attributes}, params {tuple(op.param_fields)}"
    yield f"the same object again: {SOFTMAX(axis=1) is op}"
    yield f"another axis, another record: {SOFTMAX(axis=0) is not op}"


@stage
def table() -> Iterator[str]:
    op = fresh()
    softmax = paddle.nn.functional.softmax
    cases: list[tuple[str, Callable[[], Any]]] = [
        ("f32[2, 3], wants a gradient", lambda: softmax(example())),
        ("the same again", lambda: softmax(example())),
        ("f32[5, 7]", lambda: softmax(example(shape=(5, 7)))),
        ("f32[2, 3], wants none", lambda: softmax(example(stop_gradient=True))),
        ("f64[2, 3]", lambda: softmax(example("float64"))),
        ("f32[2, 3, 4], axis 1", lambda: softmax(example(shape=(2, 3, 4)), 1)),
        ("a transposed f32[3, 2]", lambda: softmax(paddle.transpose(example(), [1, 0]))),
    ]
    for text, f in cases:
        with misses() as asked:
            f()
        found = "planned" if repr(op) in asked else "found"
        yield f"{text:<28} {found:<8} plans in the table: {op.table_size()}"


@stage
def shape() -> Iterator[str]:
    def shown(op: Any, operands: tuple) -> Iterator[str]:
        classes = planner.symbols_for(op, operands, ())
        with classes.scope:
            outs = planner.as_tuple(op.infer(*classes.metas, *classes.params))
        linear = planner.linearise([n for m in outs for n in m.shape], list(classes.sources), classes.scope.checks)
        metas = ", ".join(map(str, classes.metas))
        yield f"{op} of {metas} gives {', '.join(map(str, outs))}"
        names = ", ".join(s.name for s in classes.sources)
        yield f"  inputs {names}; code {linear.named_code()}; sizes in {linear.outputs}"

    x = example()
    yield from shown(SOFTMAX(axis=1), (x,))
    yield from shown(F.REGISTRY["add"](), (x, example(shape=(3,))))


@stage
def forward() -> Iterator[str]:
    op, x = SOFTMAX(axis=1), example()
    kernel = backends.find_kernel(op, planner.concrete_metas((x,)), 0, x.place)
    yield f"kernel on {x.place}: {kernel and kernel.run.__name__}"
    yield "its decomposition, traced on symbolic sizes:"
    traced = planner.trace_forward(op, planner.symbols_for(op, (x,), ()), None)
    yield from ("  " + text for text in lines(traced.operations, traced.results))


@stage
def plan() -> Iterator[str]:
    made = plan_of_example()
    yield repr(made)
    yield f"runs {made.program}"
    yield f"keeps (operands, outputs): {made.saves}"


@stage
def null() -> Iterator[str]:
    from umiak.core.place import Place
    from umiak.core.tensor import empty

    op = fresh()
    place = Place("null", 0)
    paddle.nn.functional.softmax(empty([2, 3], example().dtype, place))
    yield f"{op.plans()[0]!r}"


@stage
def node() -> Iterator[str]:
    x = example()
    y = paddle.nn.functional.softmax(x)
    yield f"y.grad_fn: {y.grad_fn!r}, output {y.output_index}, y.stop_gradient: {y.stop_gradient}"
    yield f"its edges lead to x itself: {y.grad_fn.next_functions[0][0] is x}"


@stage
def vjp() -> Iterator[str]:
    yield inspect.getsource(SOFTMAX.vjp).rstrip()
    yield ""
    yield "traced:"
    gradient = plan_of_example().gradient
    operations, operands, saved, grads, made = planner.trace_vjp(gradient, 1)
    names = ", ".join(f"{name} = {v[0]}" for name, v in (("x", operands), ("y", saved), ("g", grads)))
    yield f"  {names}"
    yield from ("  " + text for text in lines(operations, made))
    yield "replayed over y and g:"
    yield f"  {planner.finish_vjp(gradient, operations, operands, saved, grads, made)}"


@stage
def backward() -> Iterator[str]:
    for op in (*(F.REGISTRY[name]() for name in ("mul", "sub", "add")), F.REGISTRY["sum"]((1,), True)):
        op.clear()
    x, g = example(), weights()
    for i in (1, 2, 3):
        with misses() as asked:
            paddle.nn.functional.softmax(x).backward(g)
        yield f"run {i}: planned {', '.join(asked) or 'nothing'}"
        if i == 1:
            yield f"x.grad: {rounded(x.grad)}"


@stage
def again() -> Iterator[str]:
    x, g = example(), weights()
    y = paddle.nn.functional.softmax(x)
    (dx,) = tape.grad([y], [x], [g], create_graph=True)
    yield f"dx.grad_fn: {dx.grad_fn!r}"
    reached: list[Any] = []
    todo = [dx.grad_fn]
    while todo:
        at = todo.pop(0)
        if at not in reached:
            reached.append(at)
            todo += [e[0] for e in at.next_functions if e is not None and not isinstance(e[0], paddle.Tensor)]
    yield f"nodes from there on: {', '.join(n.name for n in reached)}"
    yield f"the node that made y is among them: {y.grad_fn in reached}"
    (ddx,) = tape.grad([dx], [x], [g])
    yield f"its derivative: {rounded(ddx)}"


def run() -> dict[str, str]:
    """Text by stage."""
    return {f.__name__: "\n".join(f()) for f in STAGES}


def block(name: str, text: str) -> slice:
    """Where the page shows a stage."""
    head = f"<!-- {name} -->\n```text\n"
    start = text.index(head) + len(head)
    return slice(start, text.index("```\n", start))


def write(found: dict[str, str]) -> None:
    text = PAGE.read_text()
    for name, shown in found.items():
        at = block(name, text)
        text = text[: at.start] + shown + "\n" + text[at.stop :]
    PAGE.write_text(text)


if __name__ == "__main__":
    if "--write" in sys.argv:
        write(run())
    else:
        for name, shown in run().items():
            print(f"--- {name}\n{shown}\n")
