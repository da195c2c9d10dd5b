"""Compiled functions of recurrent layers (recurrent.pyx): matmuls with packed weights, and the rest of a step.

The weights of a layer are the same at every step, so they are packed once per launch: in panels of the columns of a
tile, row after row. What a step does between two matmuls is one nest over ``[rows, units]``, made of the formulas of
``umiak.ops.recurrent`` and compiled once per mode and type: an innermost axis without gaps, any stride between rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from umiak.backends.cpu import nests
from umiak.backends.cpu.attention_kernels import Library, copy, pack
from umiak.backends.cpu.gemm_kernel import Emitter, Matrix, Tile, tile_of
from umiak.backends.cpu.recurrent import MAX_ROWS
from umiak.compiler.codes import OUTER, UNIT, ZERO
from umiak.compiler.loop.types import F32, F64, ScalarType
from umiak.compiler.lower.group import lowerable, nest_of
from umiak.compiler.nest import MAP, Nest, Variant
from umiak.compiler.render.target import Target
from umiak.compiler.render.text import Module
from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ir.program import Value
from umiak.ir.scope import Scope
from umiak.ir.tracer import Tracer
from umiak.ops import recurrent as ops
from umiak.ops.recurrent import where


def tile_for(target: Target, type: ScalarType) -> Tile:
    """Batches are small, and few rows divide unevenly: wide tiles where there are registers for them."""
    tile = tile_of(target, type)
    return Tile(tile.lanes, 4, 6) if target.vector_bits == 512 else tile._replace(rows=min(tile.rows, MAX_ROWS))


def matmul(module: Module, type: ScalarType, tile: Tile, rows: int, name: str) -> str:
    """``name(c, a, a_row, b, k)``: c = a b for a panel of b; rows of c are ``c_row`` bytes apart."""
    e = Emitter(module, type, tile.lanes)
    a, b = Matrix("%a", "%a_row", type.bytes), Matrix("%b", 0, tile.width * type.bytes)
    e.store_tile(e.matmul(rows, tile.vecs, "%k", a, b), Matrix("%c", "%c_row"))
    return e.function(name, "ptr %c, i64 %c_row, ptr %a, i64 %a_row, ptr %b, i64 %k")


@functools.cache
def matmuls(target: Target, type: ScalarType) -> tuple[dict[str, int], Tile, object]:
    """Addresses of the matmuls by their number of rows, and of what packs."""
    tile = tile_for(target, type)
    module = Library(type, target)
    for n in range(1, tile.rows + 1):
        module.texts[f"matmul_{n}"] = matmul(module.module, type, tile, n, f"matmul_{n}")
    module.enter("pack", pack, tile.width, stored=type)
    module.enter("copy", copy, stored=type)
    functions, library = module.load()
    return functions, tile, library


# --- what a step does elementwise -----------------------------------------------------------------------------------

Kernel = tuple[int, tuple[int, ...], object]  # address, slot of each access, what keeps the code


def elementwise(name: str, function: Callable[..., Sequence], slots: Sequence[str], dtype: Any) -> Kernel:
    """``function`` of ``[rows, units]`` (slots ``x``), ``[units]`` (``b``) and masks ``[rows]`` (``m``) as a kernel.

    Its pointers are the operands', then the results'; its integers: rows, units, and per access the stride from row to
    row and 0 or 1.
    """
    with Scope() as scope:
        n, m = scope.symbol("int", lo=1, name="rows"), scope.symbol("int", lo=1, name="units")
        metas = {"x": Meta((n, m), dtype), "b": Meta((m,), dtype), "m": Meta((n, 1), dt.bool)}
        with Tracer(scope, expand=lambda op: op.decompose is not None and not lowerable(op)) as tracer:
            results = function(*(tracer.input(metas[kind[0]]) for kind in slots))
            program = tracer.finish(tuple(results), name)
        strides: dict[str, tuple] = {"x": (m, 1), "b": (1,), "m": (1, 1)}
        inputs = [(v, strides[kind[0]]) for v, kind in zip(program.inputs, slots, strict=True)]
        outputs = [v for v in program.outputs if isinstance(v, Value)]
        nest = nest_of(name, program.ops, inputs, outputs, {})
    if not isinstance(nest, Nest) or nest.extras or len(nest.sizes) != 2:
        raise RuntimeError(f"[{name}] requires one nest over rows and units")
    position = {b.name: i for i, b in enumerate(nest.buffers)}
    accesses = tuple(position[str(a.buffer)] for a in nest.accesses)
    masks = [i < len(slots) and slots[i] == "m" for i in accesses]
    (phase,), keep = nests.build(nest, Variant(MAP, 2, 0, tuple((ZERO if mask else UNIT, ZERO) for mask in masks)))
    address, local, shared, counted, _ = phase
    if local or shared or counted != OUTER:
        raise RuntimeError(f"[{name}] requires a kernel over rows without scratch")
    return address, accesses, keep


def step(mode: str, train: bool, masked: bool, projected: bool) -> tuple[Callable[..., Sequence], list[str]]:
    """Gates of the input and of the state, biases, then the cell or the state before; the mask and the state where
    sequences end. Results: what is kept, the cell, the state as a result and, where sequences end, as it goes on."""
    gates = ops.GATES[mode]
    held = masked and not projected
    slots = ["x"] * (2 * gates) + ["b"] * (gates + (mode == "gru"))
    slots += ["x"] * (mode in ("lstm", "gru")) + ["m"] * masked + ["x"] * (held and mode != "gru")

    def run(*arrays: Any) -> Sequence:
        from umiak import ops as F

        left = list(arrays)
        a, s, b = ([left.pop(0) for _ in range(gates)] for _ in range(3))
        a = [F.add(p, q) for p, q in zip(a, b, strict=True)]
        if mode == "gru":
            s[2] = F.add(s[2], left.pop(0))
        before = left.pop(0) if mode in ("lstm", "gru") else None
        mask = left.pop(0) if masked else None
        y, c, residuals = ops.forward_step(mode, a, s, before, before)
        results = [where(mask, v, 0) for v in residuals] if train else []
        if mode == "lstm":
            results.append(where(mask, c, before))
        results.append(y if projected else where(mask, y, 0))
        if held:
            results.append(where(mask, y, before if mode == "gru" else left.pop(0)))
        return results

    return run, slots


def project() -> tuple[Callable[..., Sequence], list[str]]:
    """Select at the end of sequences: a projected state as a result and as it goes on."""

    def run(y: Any, h: Any, mask: Any) -> Sequence:
        return where(mask, y, 0), where(mask, y, h)

    return run, ["x", "x", "m"]


def gather(masked: bool) -> tuple[Callable[..., Sequence], list[str]]:
    """The gradient of a projected state: what came for the result, through the matmul and, where sequences end, past
    it. Results: the sum and, where sequences end, what passes on."""

    def run(g: Any, s: Any, passed: Any = None, mask: Any = None) -> Sequence:
        from umiak import ops as F

        if mask is None:
            return (F.add(g, s),)
        total = F.add(F.add(F.where(mask, g, 0), s), passed)
        return F.where(mask, total, 0), F.where(mask, 0, total)

    return run, ["x", "x"] + ["x", "m"] * masked


def step_back(mode: str, masked: bool, projected: bool) -> tuple[Callable[..., Sequence], list[str]]:
    """The residuals, then the state (simple layers), the state before (GRU) or cells after and before; the result's
    gradient, what flowed through the matmul and past it, the cell's, the mask. Results: gradients of the gates (and of
    the state's last one of a GRU, whose others are the input's), the cell's gradient, what passes on."""
    past = (masked or mode == "gru") and not projected
    slots = ["x"] * (ops.KEPT[mode] + {"lstm": 2}.get(mode, 1) + (1 if projected else 2) + past + (mode == "lstm"))
    slots += ["m"] * masked

    def run(*arrays: Any) -> Sequence:
        from umiak import ops as F

        left = list(arrays)
        residuals = [left.pop(0) for _ in range(ops.KEPT[mode])]
        y = left.pop(0) if mode in ("tanh", "relu") else None
        h = left.pop(0) if mode == "gru" else None
        c, before = (left.pop(0), left.pop(0)) if mode == "lstm" else (None, None)
        mask = arrays[-1] if masked else None
        dh = left.pop(0) if projected else F.add(where(mask, left.pop(0), 0), left.pop(0))
        dh = F.add(dh, left.pop(0)) if past else dh
        dc = left.pop(0) if mode == "lstm" else None
        local = ops.derivatives(mode, residuals, y, h, c, before)
        d_in, d_state, dh_before, dc_before = ops.backward_step(mode, local, dh, dc)
        results = [where(mask, v, 0) for v in (*d_in, *(d_state[2:] if mode == "gru" else ()))]
        if mode == "lstm":
            results.append(where(mask, dc_before, dc))
        if past:
            results.append(where(mask, dh_before if mode == "gru" else 0, dh) if mask is not None else dh_before)
        return results

    return run, slots


@functools.cache
def kernel_of(name: str, dtype_name: str, *config: Any) -> Kernel:
    """The compiled kernel of one of the functions above."""
    parts: dict[str, Callable[..., Any]] = {"step": step, "project": project, "gather": gather, "step_back": step_back}
    function, slots = parts[name](*config)
    return elementwise(f"rnn_{name}", function, slots, getattr(dt, dtype_name))


def functions(dtype_name: str) -> tuple[dict[str, int], Tile, object]:
    return matmuls(Target.host(), F32 if dtype_name == "float32" else F64)
