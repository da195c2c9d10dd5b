"""Ops that users bring: a table of named functions, and the one op that calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ops._common import draw, factor_names, shard_string, zeros
from umiak.ops.base import Op, Sample, register


@dataclass(frozen=True)
class Target:
    """Functions of a custom op.

    ``infer(*metas, **config)`` gives the Meta, or a tuple of Metas, of the results. ``forward(*arrays, **config)``
    computes them on NumPy arrays. ``gradient`` is None, or a function ``(saved, *grads)`` of tensors written with ops,
    which gives a gradient (or None) per operand, or the name of another target that computes one per operand from the
    operands, the results and the gradients of the results. ``cpu_kernel(call)`` may give a kernel of the host for a
    class of calls (``compiler.plan.Call``), or None.
    """

    name: str
    infer: Callable[..., Any]
    forward: Callable[..., Any]
    gradient: Callable[..., Any] | str | None = None
    cpu_kernel: Callable[[Any], Any] | None = None


TARGETS: dict[str, Target] = {}


def register_target(
    name: str,
    infer: Callable[..., Any],
    forward: Callable[..., Any],
    gradient: Callable[..., Any] | str | None = None,
    cpu_kernel: Callable[[Any], Any] | None = None,
) -> Target:
    """Enter a custom op in the table; ``F.custom_call([x, …], target=name)`` runs it."""
    if name in TARGETS:
        raise ValueError(f"custom op {name!r} is registered twice")
    TARGETS[name] = Target(name, infer, forward, gradient, cpu_kernel)
    return TARGETS[name]


@register
class CustomCall(Op):
    """The results of the registered function ``target``, ``outputs`` of them.

    ``config``: pairs of names and values, passed to it by keyword.
    """

    inputs = ("*xs",)
    target: str
    outputs: int = 1
    config: tuple = ()

    def bind(self):
        super().bind()
        if self.resolved().gradient is None:
            self.vjp = None

    def resolved(self) -> Target:
        """The entry of the table."""
        target = TARGETS.get(self.target)
        if target is None:
            self.fail(
                KeyError,
                "a target that was registered",
                repr(self.target),
                "Call umiak.ops.custom.register_target first.",
            )
        assert target is not None
        return target

    def infer(self, *xs):
        metas = self.resolved().infer(*xs, **dict(self.config))
        got = len(metas) if isinstance(metas, tuple) else 1
        if got != self.outputs:
            self.fail(ValueError, f"{self.outputs} results from target {self.target!r}", got)
        return metas[0] if isinstance(metas, tuple) and got == 1 else metas

    def vjp(self, s, *grads):
        gradient = self.resolved().gradient
        if not isinstance(gradient, str):
            return gradient(s, *grads)
        present = [zeros(y) if g is None else g for g, y in zip(grads, s.outputs, strict=True)]
        gradients = F.custom_call(
            [*s.inputs, *s.outputs, *present], target=gradient, outputs=len(s.inputs), config=self.config
        )
        return gradients if isinstance(gradients, tuple) else (gradients,)

    def shard(self, *xs):
        names = [factor_names(len(x.shape), f"x{i}") for i, x in enumerate(xs)]
        metas = self.infer(*xs)
        results = metas if isinstance(metas, tuple) else (metas,)
        return shard_string(
            names, [["1"] * len(m.shape) for m in results], **{f: "replicated" for own in names for f in own}
        )

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3)),), {"target": "copy"})
        yield Sample((draw(rng, ()),), {"target": "copy"}, note="0-d")
        yield Sample((draw(rng, (0, 2), dt.float32),), {"target": "copy"}, note="0-size")


register_target("copy", infer=lambda x: x, forward=lambda x: x, gradient=lambda s, g: (g,))
