"""The exact remainder of a float division, as a function of its own: no CPU has it, and a call per lane is slow."""

from __future__ import annotations

from umiak.compiler.loop.types import F32, ScalarType
from umiak.compiler.render.text import Module, literal, spell, suffix


def fmod(module: Module, t: ScalarType, lanes: int) -> str:
    """Name of the function, which is added to the module.

    While |r| >= |b| in any lane, r becomes r - trunc(r / b) * b, rounded once. That is exact: where the quotient is
    an integer, the difference is a multiple of b's last bit and not larger than b; where it has more bits than the
    type, a division's remainder always fits. So r may get the other sign; in the end b is added once. Where r / b could
    overflow, b is scaled first.
    """
    name = f"umiak.fmod.{suffix(t, lanes)}"
    if name in module.helpers:
        return name
    full, bit = spell(t, lanes), f"<{lanes} x i1>" if lanes else "i1"
    kind = suffix(t, lanes)

    def number(x: float) -> str:
        return f"splat ({spell(t)} {literal(x, t)})" if lanes else literal(x, t)

    far = 100.0 if t is F32 else 700.0
    some = f"call i1 @llvm.vector.reduce.or.v{lanes}i1({bit} %go)" if lanes else "or i1 %go, false"
    for f, n in (("fabs", 1), ("copysign", 2), ("trunc", 1), ("fma", 3)):
        module.declared.setdefault(f"llvm.{f}.{kind}", f"declare {full} @llvm.{f}.{kind}({', '.join([full] * n)})")
    if lanes:
        module.declared.setdefault(
            f"llvm.vector.reduce.or.v{lanes}i1", f"declare i1 @llvm.vector.reduce.or.v{lanes}i1({bit})"
        )
    module.helpers[name] = f"""define internal {full} @{name}({full} %a, {full} %b) #0 {{
entry:
  %size = call {full} @llvm.fabs.{kind}({full} %b)
  %more = fmul {full} %b, {number(2.0**far)}
  %most = fmul {full} %more, {number(2.0**far)}
  br label %loop
loop:
  %r = phi {full} [ %a, %entry ], [ %next, %step ]
  %left = call {full} @llvm.fabs.{kind}({full} %r)
  %go = fcmp oge {full} %left, %size
  %any = {some}
  br i1 %any, label %step, label %done
step:
  %shrunk = fmul {full} %left, {number(2.0**-far)}
  %is.far = fcmp ogt {full} %shrunk, %size
  %tiny = fmul {full} %shrunk, {number(2.0**-far)}
  %is.farther = fcmp ogt {full} %tiny, %size
  %near = select {bit} %is.far, {full} %more, {full} %b
  %d = select {bit} %is.farther, {full} %most, {full} %near
  %ratio = fdiv {full} %r, %d
  %q = call {full} @llvm.trunc.{kind}({full} %ratio)
  %minus = fneg {full} %q
  %less = call {full} @llvm.fma.{kind}({full} %minus, {full} %d, {full} %r)
  %next = select {bit} %go, {full} %less, {full} %r
  br label %loop
done:
  %toward = call {full} @llvm.copysign.{kind}({full} %size, {full} %a)
  %signed = call {full} @llvm.copysign.{kind}({full} %left, {full} %a)
  %flipped = fcmp une {full} %signed, %r
  %fixed = fadd {full} %r, %toward
  %corrected = select {bit} %flipped, {full} %fixed, {full} %r
  %nonzero = fcmp une {full} %corrected, {number(0.0)}
  %zero = call {full} @llvm.copysign.{kind}({full} {number(0.0)}, {full} %a)
  %result = select {bit} %nonzero, {full} %corrected, {full} %zero
  %nan = fcmp uno {full} %b, %b
  %last = select {bit} %nan, {full} %b, {full} %result
  ret {full} %last
}}"""
    return name
