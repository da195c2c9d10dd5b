"""The C source that holds a model: its inputs and outputs, and the steps of each plan."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from umiak.backends.cpu.aot.kernels import Kernels
from umiak.backends.cpu.aot.memory import Ref
from umiak.backends.cpu.aot.step import Step, struct
from umiak.backends.cpu.aot.steps import Plan, dtype_number
from umiak.backends.cpu.aot.weights_file import hash_of


@dataclass(frozen=True)
class Ports:
    """Names of the inputs and outputs of a model."""

    inputs: Sequence[str]
    outputs: Sequence[str]


def tables(name: str, ports: Ports, plans: Sequence[Plan], kernels: Kernels, weights: bytes, embedded: bool) -> str:
    """The source of ``umiak_model``."""
    text = _Tables()
    text.lines += ['#include "aot.h"', "", "#include <stddef.h>", ""]
    for code in kernels.names():
        text.lines.append(f"extern um_kernel {code.name};")
        if code.local:
            text.lines.append(f"extern um_bytes {code.name}_local;")
        if code.shared:
            text.lines.append(f"extern um_bytes {code.name}_global;")
    for m in kernels.micros.values():
        text.lines.append(f"extern um_micro {', '.join((*m.first, *m.more))};")
        fields = f"{len(m.rows)}, {struct(m.rows)}, {{{', '.join(m.first)}}}, {{{', '.join(m.more)}}}"
        text.lines.append(f"static const um_micros {m.name} = {{{fields}}};")
    made = [text.plan(p) for p in plans]
    prepare = text.steps([s for _, s in kernels.prepare.values()])
    text.lines.append(f"static const um_plan plans[] = {{{', '.join(made)}}};")
    first = plans[0]
    rows = [
        f"{{{_string(n)}, {dtype_number(p.dtype)}, {len(p.shape)}}}"
        for n, p in zip((*ports.inputs, *ports.outputs), (*first.inputs, *first.outputs), strict=True)
    ]
    text.lines.append(f"static const um_port ports[] = {{{', '.join(rows)}}};")
    text.lines += _runs_here(kernels.processor.asked)
    if embedded:
        text.lines.append("extern const char um_weights[];")
    values = [
        _string(name), "ports", len(ports.inputs), len(ports.outputs), len(plans), "plans", prepare,
        len(kernels.prepare), sum(m.bytes for m, _ in kernels.prepare.values()),
        "um_weights" if embedded else "NULL", len(weights), f"{hash_of(weights)}u", _string(kernels.processor.name),
        "runs_here",
    ]  # fmt: skip
    text.lines.append(f"const um_model umiak_model = {{{', '.join(map(str, values))}}};")
    return "\n".join([*text.lines, ""])


def _string(text: str) -> str:
    """A C literal; other characters than ASCII as bytes, each a literal of its own, since digits may follow."""
    parts = []
    for byte in text.encode():
        plain = 32 <= byte < 127 and chr(byte) not in '"\\?'
        parts.append(chr(byte) if plain else f'\\x{byte:02x}""')
    return f'"{"".join(parts)}"'


def _runs_here(asked: Sequence[str]) -> list[str]:
    tests = " && ".join(f"__builtin_cpu_supports({json.dumps(f)})" for f in asked) or "1"
    begin = "__builtin_cpu_init(); " if asked else ""
    return [f"static int runs_here(void) {{ {begin}return {tests}; }}"]


class _Tables:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0
        self._known: dict[str, str] = {}

    def named(self, kind: str, value: str, array: bool = False) -> str:
        """The name of a constant; equal ones are one."""
        key = f"{kind}{'[]' if array else ''} = {value}"
        if key not in self._known:
            self._known[key] = f"t{len(self._known)}"
            self.lines.append(f"static const {kind} {self._known[key]}{'[]' if array else ''} = {value};")
        return self._known[key]

    def plan(self, plan: Plan) -> str:
        shapes = [n for p in (*plan.inputs, *plan.outputs) for n in p.shape]
        body = self.steps(plan.steps)
        refs = self.named("um_ref", "{" + ", ".join(_ref(p.ref) for p in plan.outputs) + "}", array=True)
        sizes = self.named("int64_t", struct(shapes or [0]), array=True)
        return f"{{{sizes}, {refs}, {body}, {len(plan.steps)}, {plan.arena}}}"

    def steps(self, steps: Sequence[Step]) -> str:
        """The name of an array of steps."""
        made = [self.step(s) for s in steps]
        return self.named("um_step", "{" + ",\n    ".join(made) + "}", array=True) if made else "NULL"

    def what(self, s: Step) -> str:
        """The struct that a step gets."""
        fields: dict[str, Any] = dict(s.text)
        fields.update((name, _ref(ref)) for name, ref in s.refs.items())
        for name, xs in s.arrays.items():
            fields[name] = self.named("int64_t", struct(xs or [0]), array=True)
        if s.kind == "um_nest":
            fields["refs"] = self.named("um_ref", "{" + ", ".join(map(_ref, s.pointers)) + "}", array=True)
            fields["n_refs"] = len(s.pointers)
        if s.image is not None:
            image = (
                "{" + ", ".join(f".{n} = {struct(x) if isinstance(x, list) else x}" for n, x in s.image.items()) + "}"
            )
            fields["image"] = f"&{self.named('um_image', image)}" if s.kind == "um_gemm" else image
        return self.named(s.kind, "{" + ", ".join(f".{name} = {x}" for name, x in fields.items()) + "}")

    def step(self, s: Step) -> str:
        return f"{{{s.run}, &{self.what(s)}, {s.count}, {s.work:.0f}, {s.local}, {_string(s.name)}}}"


def _ref(ref: Ref) -> str:
    memory, offset = ref
    return f"{{{memory.base}, {memory.offset + offset}}}"
