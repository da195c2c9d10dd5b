"""Follows one call of softmax through every layer and back, and prints what each stage holds.

``python docs/design/softmax_walk.py`` prints the stages; ``--write`` puts them into softmax.md, which a test checks.
"""

from __future__ import annotations

import ctypes
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import paddle
from umiak import backends
from umiak import ops as F
from umiak.compiler import jit, schedule
from umiak.compiler import plan as planner
from umiak.compiler.codes import ANY, UNIT, ZERO
from umiak.compiler.jit import codegen
from umiak.compiler.loop.printer import show_kernel
from umiak.compiler.nest import ROW, Variant
from umiak.compiler.nest_printer import show_nest
from umiak.compiler.render import llvm
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
    """The op with an empty table."""
    op = SOFTMAX(axis=1)
    op.clear()
    return op


def indented(text: str) -> Iterator[str]:
    yield from ("  " + line for line in text.splitlines())


@contextmanager
def calls() -> Iterator[list[Any]]:
    """The classes of calls for which a kernel is asked meanwhile."""
    asked: list[Any] = []

    def find_kernel(call: Any) -> Any:
        asked.append(call)
        return backends.find_kernel(call)

    planner.install(backends.get, find_kernel)
    try:
        yield asked
    finally:
        planner.install(backends.get, backends.find_kernel)


def call_of_example() -> Any:
    """What the planner asks a kernel for."""
    with calls() as asked:
        plan_of_example()
    return asked[0]


def gradient_call() -> Any:
    """The same for the gradient, one call since its operations were fused."""
    clear("fused")
    y = paddle.nn.functional.softmax(example())
    with calls() as asked:
        y.backward(weights())
    return asked[0]


def clear(name: str) -> None:
    """Forget the plans of all ops of a class."""
    for op in F.REGISTRY[name]._instances.values():
        op.clear()


def row_variant(nest: Any) -> Variant:
    """Rows that lie one after the other: lanes along R."""
    return Variant(ROW, 1, 1, ((ANY, UNIT),) * len(nest.accesses))


def innermost_loops(text: str) -> list[str]:
    """The basic blocks of LLVM text or assembly that jump to themselves."""
    parts = re.split(r"^(?=\S+:)", re.sub(r"^\s+\..*\n", "", text, flags=re.MULTILINE), flags=re.MULTILINE)
    return [p for p in parts if re.search(rf"\s%?{re.escape(p.partition(':')[0])}\b", p)]


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
    yield f"another axis, another op: {SOFTMAX(axis=0) is not op}"


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
    call = call_of_example()
    yield f"backends of {call.place.name}: {', '.join(b.name for b in backends.backends_of('cpu'))}"
    yield "what softmax means, traced on symbolic sizes:"
    traced = call.trace()
    yield from indented(planner.show_operations(traced.operations, traced.results))


@stage
def nest() -> Iterator[str]:
    yield from show_nest(call_of_example().nest()[0]).splitlines()


@stage
def plan() -> Iterator[str]:
    with calls() as asked:
        made = plan_of_example()
    (call,) = asked
    kernel = backends.find_kernel(call)
    with call.classes.scope:
        _, shape, outs, dims = planner.lower_shapes(call.classes, call.outs, kernel.dims)
    yield repr(made)
    yield f"dims of a launch: {', '.join(map(str, kernel.dims))}"
    yield f"in the shape program: sizes in {tuple(outs)}, dims in {tuple(dims)}"
    yield f"keeps (operands, outputs): {made.saves}"


@stage
def variant() -> Iterator[str]:
    op = fresh()
    cases = [
        ("f32[2, 3]", example()),
        ("f32[64, 1000]", example(shape=(64, 1000))),
        ("f32[100, 3]", example(shape=(100, 3))),
        ("f32[100, 5]", example(shape=(100, 5))),
        ("f32[3, 64], transposed", paddle.transpose(example(shape=(64, 3)), [1, 0])),
        ("f32[64, 99], transposed", paddle.transpose(example(shape=(99, 64)), [1, 0])),
    ]
    words = {ZERO: "zero", UNIT: "unit", ANY: "any"}
    seen: set[Any] = set()
    for text, x in cases:
        paddle.nn.functional.softmax(x)
        found = {(i, v): v for i, p in enumerate(op.plans()) for v in p.keep.variants()}
        new = [v for key, v in found.items() if key not in seen]
        seen |= set(found)
        kinds = [
            f"{v.schedule}: {v.p} axis of P, {v.r} of R; strides along them "
            + ", ".join(f"{name} ({words[p]}, {words[r]})" for name, (p, r) in zip(("x0", "y1"), v.kinds, strict=True))
            for v in new
        ]
        yield f"{text:<24} {'; '.join(kinds) or 'a variant that is there'}"


@stage
def loop() -> Iterator[str]:
    made = call_of_example().nest()[0]
    for phase in schedule.kernels(made, row_variant(made)):
        yield from show_kernel(phase.kernel).splitlines()


def text_of(call: Any) -> str:
    """LLVM text of rows, for one fixed processor."""
    made = call.nest()[0]
    return llvm.render_module([p.kernel for p in schedule.kernels(made, row_variant(made))], llvm.AVX512)


@stage
def text() -> Iterator[str]:
    found = text_of(call_of_example())
    yield next(line for line in found.splitlines() if line.startswith("define"))
    yield "  ..."
    yield from innermost_loops(found)[0].splitlines()


@stage
def assembly() -> Iterator[str]:
    t = llvm.AVX512
    target = jit.Target(t.triple, t.cpu, t.features, t.data_layout)
    found = codegen.assembly(text_of(call_of_example()), target, "softmax")
    yield from innermost_loops(found)[0].expandtabs(4).splitlines()


@stage
def launch() -> Iterator[str]:
    """By hand what dispatch does."""
    found = backends.find_kernel(call_of_example())
    x, y = np.arange(6, dtype="float32").reshape(2, 3), np.zeros((2, 3), "float32")
    pointers = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
    dims = (ctypes.c_int64 * 6)(2, 3, 3, 1, 3, 1)
    entry = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4, ctypes.c_int64)(found.address)
    yield f"launch(self, [x, y], {list(dims)}, [], 0) returns {entry(found.launch_self, pointers, dims, None, 0)}"
    yield f"y: {np.round(y.astype('float64'), 4).tolist()}"


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
    gradient = plan_of_example().gradient
    traced = planner.trace_vjp(gradient, 1)
    names = zip("xyg", (traced.operands[0], traced.saved[0], traced.grads[0]), strict=True)
    yield f"traced: {', '.join(f'{name} = {v}' for name, v in names)}"
    yield from indented(planner.show_operations(traced.operations, traced.made))


@stage
def fused() -> Iterator[str]:
    gradient = plan_of_example().gradient
    traced = planner.trace_vjp(gradient, 1)
    yield "replayed over y and g:"
    yield f"  {planner.finish_vjp(gradient, traced.fused(gradient))}"
    yield "under create_graph:"
    yield f"  {planner.finish_vjp(gradient, traced)}"


@stage
def kernel() -> Iterator[str]:
    call = gradient_call()
    made = call.nest()[0]
    yield from show_nest(made).splitlines()
    yield ""
    for phase in schedule.kernels(made, row_variant(made)):
        yield from show_kernel(phase.kernel).splitlines()


@stage
def backward() -> Iterator[str]:
    clear("fused")
    clear("add")
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


def mnemonics(text: str) -> str:
    """The vector instructions, each once."""
    return " ".join(sorted(set(re.findall(r"^\s+(v\w+)", text, flags=re.MULTILINE))))


# What other versions of LLVM may print otherwise is compared by what does not depend on them.
STABLE: dict[str, Callable[[str], str]] = {"assembly": mnemonics}


def stable(found: dict[str, str]) -> dict[str, str]:
    return {name: STABLE.get(name, str)(text) for name, text in found.items()}


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
