"""Matmuls and convolutions with their epilogues, as single calls of a provider."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from umiak import ops as F
from umiak.compiler.calls import live
from umiak.compiler.codes import MAX_EPILOGUE
from umiak.compiler.strips import StripConv, StripMatmul
from umiak.core import dtype as dt
from umiak.core import eager
from umiak.core.context import place_guard
from umiak.ir import sym as dim
from umiak.ir.meta import Meta, identical
from umiak.ir.program import Operation, Value
from umiak.ir.rewrite import Sweep
from umiak.ops import activation, convolution, elementwise, linalg, movement
from umiak.ops.base import Op, register

# Activations that providers know, by the name of their step.
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": lambda x: F.relu(x),
    "tanh": lambda x: F.tanh(x),
    "sigmoid": lambda x: F.logistic(x),
    "silu": lambda x: F.silu(x),
    "gelu": lambda x: F.gelu(x),
    "gelu_tanh": lambda x: F.gelu(x, approximate=True),
    "hard_swish": lambda x: F.hardswish(x),
}
# Steps behind convolutions that bring a number, as ("scale", 0.5).
NUMBERS: dict[type[Op], str] = {elementwise.Mul: "scale", elementwise.Add: "shift"}
NUMBERED = "float32", "bfloat16"
CLASSES: dict[type[Op], str] = {
    activation.Relu: "relu",
    elementwise.Tanh: "tanh",
    elementwise.Logistic: "sigmoid",
    activation.Silu: "silu",
}

CONVOLUTIONS = convolution.Conv, StripConv
MATMULS = linalg.Matmul, StripMatmul
USUAL_HARD_SWISH = (6.0, 6.0, 3.0)  # params of the usual one

Step = str | tuple[str, float]
FusesEpilogue = Callable[[Op, Sequence[Any], Sequence[Any], Sequence[Step]], bool]
AddsBias = Callable[[Op, Sequence[Any]], bool]


def _none(*_: Any) -> bool:
    return False


@register
class FusedEpilogue(Op):
    """``inner`` (a matmul or a convolution of two tensors) and ``steps`` that are done to its result: "bias" and "add"
    bring an operand each, ("scale", factor) and ("shift", term) a number, activations nothing.

    With ``mask``, a second result tells which elements a "relu" at the end has let through, for
    :class:`umiak.compiler.gradient_epilogue.FusedGradient`: uint8 ``[rows, bytes]``, in the form of the library that
    writes it. Nobody else reads it.

    What was rounded between the steps of a narrow type is not: a provider computes them in float32.
    """

    inputs = ("*xs",)
    inner: Any
    steps: Any
    mask: bool = False
    elementwise: ClassVar[bool] = False
    vjp = None

    def bind(self) -> None:
        operands = 2 + sum(s in ("bias", "add") for s in self.steps)
        self._bind(operands, tuple(p.kind for p in self.inner.param_fields.values()))
        object.__setattr__(self, "n", operands)
        # A call carries the inner op's params.
        object.__setattr__(self, "param_fields", self.inner.param_fields)

    def infer(self, *args: Any) -> Any:
        out = self.inner.infer(*args[:2], *args[self.n :])
        return (out, mask_meta(out.shape)) if self.mask else out

    def decompose(self, *args: Any) -> Any:
        y = eager.apply(self.inner, args[:2], args[self.n :])
        extras = iter(args[2 : self.n])
        for step in self.steps:
            if step == "bias" and type(self.inner) in CONVOLUTIONS:
                bias, nd = next(extras), y.ndim - 2
                channels = bias.shape[0 if bias.ndim == 1 else -nd - 1]
                y = F.add(y, F.reshape(bias, shape=(1, channels, *(1,) * nd)))
            elif step in ("bias", "add"):
                y = F.add(y, next(extras))
            elif isinstance(step, tuple):
                y = (F.mul if step[0] == "scale" else F.add)(y, step[1])
            else:
                y = ACTIVATIONS[step](y)
        if not self.mask:
            return y
        with place_guard(y.place):
            return y, F.full(0, dt.uint8, mask_meta(y.shape).shape)


def mask_meta(shape: Any) -> Meta:
    """The mask of a result: a bit for each of its elements, rows of a multiple of 128 bits."""
    return Meta((dim.product(shape[:-1]), (shape[-1] + 127) // 128 * 16), dt.uint8)


def with_epilogues(
    operations: Sequence[Operation],
    results: Sequence[Value | None],
    fuses_epilogue: FusesEpilogue,
    adds_bias: AddsBias = _none,
    opaque: Callable[[Op], bool] = _none,
) -> tuple[list[Operation], list[Value | None]]:
    """The same program with matmuls and what follows them as :class:`FusedEpilogue`, where ``fuses_epilogue(op, metas,
    params, steps)`` says that a provider should do so. What follows must be all that reads the result.

    A bias that no kernel would add along with anything else, since only matmuls and ``opaque`` calls read the sum, is
    part of the launch where ``adds_bias(op, metas)`` says that this is the faster way.
    """
    users: dict[int, list[Operation]] = {}
    for o in operations:
        for v in o.values:
            users.setdefault(id(v), []).append(o)
    result_ids = {id(v) for v in results if v is not None}
    gone: set[int] = set()
    calls: dict[int, tuple] = {}  # the last operation of a chain -> op, operands and params that stand for the chain
    for o in operations:
        if type(o.op) not in (linalg.Linear, *MATMULS, *CONVOLUTIONS) or o.op.effect:
            continue
        inner, operands, steps, extras, chain = _start(o)
        metas = [x.meta for x in operands]
        epilogue = (
            (steps, list(extras), list(chain)) if steps and fuses_epilogue(inner, metas, o.params, steps) else None
        )
        while len(steps) < MAX_EPILOGUE:
            y = chain[-1].results[0]
            if id(y) in result_ids or len(users.get(id(y), ())) != 1:
                break
            following = users[id(y)][0]
            step = _step(following, y, inner, steps)
            if step is None or id(following) in gone:  # of the sum of two products: it follows the first one
                break
            steps, chain = (*steps, step[0]), [*chain, following]
            extras += step[1:]
            if fuses_epilogue(inner, metas, o.params, steps):
                epilogue = steps, list(extras), list(chain)
        if epilogue is None and steps[:1] == ("bias",) and adds_bias(inner, metas):
            last = chain[0] if type(o.op) is linalg.Linear else chain[1]
            if _stays_alone(last.results[0], users, result_ids, opaque):
                epilogue = steps[:1], extras[:1], chain[: chain.index(last) + 1]
        if epilogue is not None:
            steps, extras, chain = epilogue
            gone.update(map(id, chain))
            calls[id(chain[-1])] = FusedEpilogue(inner=inner, steps=steps), (*operands, *extras), o.params
    if not calls:
        return list(operations), list(results)
    out, moved = _Joined(calls, gone).run(operations, results)
    return live(out, moved, effects=True), moved


def _stays_alone(y: Value, users: dict[int, list[Operation]], results: set[int], opaque: Callable[[Op], bool]) -> bool:
    """Return whether nothing that could share a kernel with the operation that makes ``y`` reads it."""
    readers = list(users.get(id(y), ()))
    if not readers:
        return id(y) in results
    while readers:
        o = readers.pop()
        if o.op.view:
            readers += users.get(id(o.results[0]), ())
        elif type(o.op) not in (linalg.Matmul, linalg.Linear) and not opaque(o.op):
            return False
    return True


class _Joined(Sweep):
    """Chains as the calls that stand for them, in the places of their last operations."""

    def __init__(self, calls: dict[int, tuple], gone: set[int]) -> None:
        super().__init__()
        self.calls = calls
        self.gone = gone

    def visit(self, o: Operation) -> None:
        if id(o) in self.calls:
            op, operands, params = self.calls[id(o)]
            self.put(o, o.replace(op, map(self.current, operands), params))
        elif id(o) not in self.gone:
            self.keep(o)


def _start(o: Operation) -> tuple[Op, tuple, tuple[str, ...], list, list[Operation]]:
    """(matmul or convolution, its two operands, steps, what they bring, operations) of one operation."""
    if type(o.op) is not linalg.Linear:
        return o.op, o.operands, (), [], [o]
    bias = o.operands[2]
    start = (("bias",), [bias]) if bias is not None else ((), [])
    return linalg.Matmul(False, False), o.operands[:2], *start, [o]


def _step(o: Operation, y: Value, inner: Op, steps: Sequence[str]) -> tuple | None:
    """(step, what it brings) for an operation that reads ``y`` alone; None where it is no step."""
    if type(o.op) is activation.Gelu:
        return ("gelu_tanh" if o.op.approximate else "gelu",)
    if type(o.op) in CLASSES:
        return (CLASSES[type(o.op)],)
    if type(o.op) is activation.Hardswish and o.params == USUAL_HARD_SWISH:
        return ("hard_swish",)
    if type(o.op) in NUMBERS and type(inner) in CONVOLUTIONS and y.meta.dtype.name in NUMBERED:  # type: ignore[union-attr]
        numbers = [float(x) for x in o.operands if isinstance(x, int | float)]
        if len(numbers) == 1:
            return ((NUMBERS[type(o.op)], numbers[0]),)
    if type(o.op) is not elementwise.Add or len(o.values) != 2:
        return None
    other = o.operands[1] if o.operands[0] is y else o.operands[0]
    if other is y or type(other) is not Value or other.meta.dtype is not y.meta.dtype:
        return None
    if not steps:
        bias = _bias(other, y, inner)
        if bias is not None:
            return "bias", bias
    return ("add", other) if identical(other.meta.shape, y.meta.shape) else None


def _bias(x: Value, y: Value, inner: Op) -> Value | None:
    """The vector behind an operand of an addition that is a bias."""
    rank = len(y.meta.shape)
    if type(inner) in MATMULS:
        return x if rank > 1 and identical(x.meta.shape, y.meta.shape[-1:]) else None
    ones, channels = (1,) * (rank - 2), tuple(y.meta.shape[1:2])
    if not any(identical(x.meta.shape, s) for s in ((1, *channels, *ones), (*channels, *ones))):
        return None
    producer = x.operation
    if producer is None:  # a constant: it lies as the vector does
        return x
    vector = producer.operands[0] if type(producer.op) is movement.Reshape else None
    return vector if type(vector) is Value and identical(vector.meta.shape, channels) else None
