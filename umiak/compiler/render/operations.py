"""Operations of the loop IR as LLVM instructions, on scalars (``lanes`` 0) or vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from umiak.compiler.loop.functions.bounds import largest
from umiak.compiler.loop.functions.narrow import ROUND_BF16
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import BF16, F32, F64, I32, I64, U32, U64, ScalarType, scalar_type
from umiak.compiler.render.text import Writer, literal, spell, suffix

_INSTRUCTIONS = {
    "add": ("add", "fadd"), "sub": ("sub", "fsub"), "mul": ("mul", "fmul"), "and": ("and", ""), "or": ("or", ""),
    "xor": ("xor", ""), "div": ("", "fdiv"),
}  # fmt: skip
_INTRINSICS = {
    "abs": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "roundeven", "sqrt": "sqrt", "copysign":
    "copysign", "fma": "fma",
}  # fmt: skip
# The zeros' order is left open by the meaning, so `nsz` saves instructions and changes nothing else.
_EXTREMES = {"min": ("smin", "umin", "minimum"), "max": ("smax", "umax", "maximum")}
_COMPARISONS = {
    "eq": ("eq", "eq", "oeq"),
    "ne": ("ne", "ne", "une"),
    "lt": ("slt", "ult", "olt"),
    "le": ("sle", "ule", "ole"),
}


def constant(x: float, t: ScalarType, lanes: int) -> str:
    """An operand that is a number in all lanes."""
    text = literal(x, t)
    return f"splat ({spell(t)} {text})" if lanes else text


def _known(x: Node, *values: int) -> bool:
    return x.op == "const" and x.attr not in values


class Operations(Writer):
    """Writes one operation of the loop IR as instructions, on scalars or on vectors of ``lanes`` elements."""

    def operate(self, x: Node, a: Sequence[str], lanes: int) -> str:
        op, t = x.op, x.args[0].type
        plain = _INSTRUCTIONS.get(op)
        if plain is not None and plain[t.kind == "f"]:
            return self.emit(f"{plain[t.kind == 'f']} {spell(t, lanes)} {a[0]}, {a[1]}")
        if op in _INTRINSICS and t.kind == "f":
            return self.intrinsic(_INTRINSICS[op], t, a, lanes)
        if op in _COMPARISONS:
            k = 2 if t.kind == "f" else t.kind != "i"
            return self.emit(f"{'f' if k == 2 else 'i'}cmp {_COMPARISONS[op][k]} {spell(t, lanes)} {a[0]}, {a[1]}")
        method: Callable[[Node, Sequence[str], int], str] | None = getattr(self, "op_" + op, None)
        if method is None:
            raise NotImplementedError(f"the LLVM renderer requires basic operations, got {op} of {t}")
        return method(x, a, lanes)

    def intrinsic(self, name: str, t: ScalarType, a: Sequence[str], lanes: int, flags: str = "") -> str:
        full = spell(t, lanes)
        return self.call(full, f"llvm.{name}.{suffix(t, lanes)}", [(full, v) for v in a], flags)

    def choose(self, where: str, yes: str, no: str, t: ScalarType, lanes: int) -> str:
        full = spell(t, lanes)
        return self.emit(f"select {f'<{lanes} x i1>' if lanes else 'i1'} {where}, {full} {yes}, {full} {no}")

    def convert(self, instruction: str, x: str, source: ScalarType, target: ScalarType, lanes: int) -> str:
        return self.emit(f"{instruction} {spell(source, lanes)} {x} to {spell(target, lanes)}")

    def splat(self, x: str, t: str, lanes: int) -> str:
        """A scalar of LLVM type ``t`` in all lanes."""
        one = self.emit(f"insertelement <{lanes} x {t}> poison, {t} {x}, i64 0")
        return self.emit(
            f"shufflevector <{lanes} x {t}> {one}, <{lanes} x {t}> poison, <{lanes} x i32> zeroinitializer"
        )

    def shuffle(self, a: str, b: str, t: str, lanes: int, picks: Sequence[int]) -> str:
        """Lanes of two vectors side by side, by number."""
        chosen = ", ".join(f"i32 {p}" for p in picks)
        return self.emit(f"shufflevector <{lanes} x {t}> {a}, <{lanes} x {t}> {b}, <{len(picks)} x i32> <{chosen}>")

    # Arithmetic
    def op_neg(self, x: Node, a: Sequence[str], lanes: int) -> str:
        full = spell(x.type, lanes)
        if x.type.kind == "f":
            return self.emit(f"fneg {full} {a[0]}")
        return self.emit(f"sub {full} {constant(0, x.type, lanes)}, {a[0]}")

    def op_abs(self, x: Node, a: Sequence[str], lanes: int) -> str:
        if x.type.kind != "i":
            return a[0]
        full = spell(x.type, lanes)
        return self.call(full, f"llvm.abs.{suffix(x.type, lanes)}", [(full, a[0]), ("i1", "false")])

    def extreme(self, x: Node, a: Sequence[str], lanes: int) -> str:
        t = x.type
        if t.kind == "b":
            return self.emit(f"{'and' if x.op == 'min' else 'or'} {spell(t, lanes)} {a[0]}, {a[1]}")
        k = "iuf".index(t.kind)
        # On x86 the first operand is tested for NaN: accumulators, which come first in a combination, need not wait.
        return self.intrinsic(_EXTREMES[x.op][k], t, a[::-1], lanes, "nsz " if k == 2 else "")

    op_min = op_max = extreme

    def op_div(self, x: Node, a: Sequence[str], lanes: int) -> str:
        t = x.type
        full, divisor = spell(t, lanes), x.args[1]
        sign = "s" if t.kind == "i" else "u"
        if lanes and t is I64 and self.target.avx512:
            q = self.wide_quotient(a, lanes)
            if _known(divisor, 0):
                return q
            zero = constant(0, t, lanes)
            return self.choose(self.emit(f"icmp eq {full} {a[1]}, {zero}"), zero, q, t, lanes)
        if _known(divisor, 0, -1):
            return self.emit(f"{sign}div {full} {a[0]}, {a[1]}")
        zero, one = constant(0, t, lanes), constant(1, t, lanes)
        none = self.emit(f"icmp eq {full} {a[1]}, {zero}")
        if lanes and t.bits <= 32:
            q = self.narrow_quotient(a, t, lanes)
            return self.choose(none, zero, q, t, lanes)
        if sign == "u":
            q = self.emit(f"udiv {full} {a[0]}, {self.choose(none, one, a[1], t, lanes)}")
            return self.choose(none, zero, q, t, lanes)
        # The lowest integer by -1 traps.
        minus_one = self.emit(f"icmp eq {full} {a[1]}, {constant(-1, t, lanes)}")
        zero_or_minus_one = self.emit(
            f"icmp ult {full} {self.emit(f'add {full} {a[1]}, {one}')}, {constant(2, t, lanes)}"
        )
        q = self.emit(f"sdiv {full} {a[0]}, {self.choose(zero_or_minus_one, one, a[1], t, lanes)}")
        q = self.choose(minus_one, self.emit(f"sub {full} {zero}, {a[0]}"), q, t, lanes)
        return self.choose(none, zero, q, t, lanes)

    def narrow_quotient(self, a: Sequence[str], t: ScalarType, lanes: int) -> str:
        """By floats, as no CPU divides vectors of integers: where a float holds any operand, a rounded quotient never
        reaches the next integer."""
        f = F32 if t.bits <= 16 else F64
        sign = "s" if t.kind == "i" else "u"
        wide = scalar_type(f"{t.kind}{2 * t.bits}", t.kind, 2 * t.bits)  # the lowest integer by -1
        p, q = (self.convert(f"{sign}itofp", v, t, f, lanes) for v in a)
        r = self.emit(f"fdiv {spell(f, lanes)} {p}, {q}")
        # By zero: any number will do, but the conversion must be defined.
        zero = constant(0.0, f, lanes)
        r = self.choose(self.emit(f"fcmp une {spell(f, lanes)} {q}, {zero}"), r, zero, f, lanes)
        instruction = "fptosi" if t.bits < 32 or t.kind == "i" else "fptoui"
        if t.bits < 32:
            return self.convert("trunc", self.convert(instruction, r, f, I32, lanes), I32, t, lanes)
        if t.kind == "u":
            return self.convert(instruction, r, f, t, lanes)
        return self.convert("trunc", self.convert(instruction, r, f, wide, lanes), wide, t, lanes)

    def wide_quotient(self, a: Sequence[str], lanes: int) -> str:
        """By f64, twice: the first quotient is off by what the second one finds, which is off by one at most."""
        long, double = spell(I64, lanes), spell(F64, lanes)
        p, q = a
        below = self.convert("sitofp", q, I64, F64, lanes)
        # Nearly 2**63, beyond which a conversion is not defined. The product of the lowest integer and -1 wraps.
        most = 2.0**63 - 1024
        total, rest = "", p
        for _ in range(2):
            f = self.emit(f"fdiv {double} {self.convert('sitofp', rest, I64, F64, lanes)}, {below}")
            f = self.intrinsic("minnum", F64, (f, constant(most, F64, lanes)), lanes)
            f = self.intrinsic("maxnum", F64, (f, constant(-most, F64, lanes)), lanes)
            part = self.convert("fptosi", f, F64, I64, lanes)
            total = self.emit(f"add {long} {total}, {part}") if total else part
            rest = self.emit(f"sub {long} {rest}, {self.emit(f'mul {long} {part}, {q}')}")
        zero = constant(0, I64, lanes)
        sign = self.emit(f"ashr {long} {self.emit(f'xor {long} {p}, {q}')}, {constant(63, I64, lanes)}")
        away = self.emit(f"or {long} {sign}, {constant(1, I64, lanes)}")
        # A rest of the other sign, or one that holds the divisor once more.
        differs = self.emit(f"icmp slt {long} {self.emit(f'xor {long} {rest}, {p}')}, {zero}")
        some = self.emit(f"icmp ne {long} {rest}, {zero}")
        name = f"llvm.abs.{suffix(I64, lanes)}"
        sizes = [self.call(long, name, [(long, v), ("i1", "false")]) for v in (rest, q)]
        more = self.choose(self.emit(f"icmp uge {long} {sizes[0]}, {sizes[1]}"), away, zero, I64, lanes)
        less = self.emit(f"sub {long} {zero}, {away}")
        bits = spell(I64, lanes).replace("i64", "i1")
        both = self.emit(f"and {bits} {differs}, {some}")
        return self.emit(f"add {long} {total}, {self.choose(both, less, more, I64, lanes)}")

    def op_rem(self, x: Node, a: Sequence[str], lanes: int) -> str:
        t = x.type
        full = spell(t, lanes)
        if t.kind == "f":
            from umiak.compiler.render.fmod import fmod

            return self.emit(f"call {full} @{fmod(self.module, t, lanes)}({full} {a[0]}, {full} {a[1]})")
        if _known(x.args[1], 0, -1):
            return self.emit(f"{'s' if t.kind == 'i' else 'u'}rem {full} {a[0]}, {a[1]}")
        multiple = self.emit(f"mul {full} {self.op_div(x, a, lanes)}, {a[1]}")
        return self.emit(f"sub {full} {a[0]}, {multiple}")

    def op_mulhi(self, x: Node, a: Sequence[str], lanes: int) -> str:
        t = x.type
        wide = scalar_type(f"u{2 * t.bits}", "u", 2 * t.bits)
        p, q = (self.convert("zext", v, t, wide, lanes) for v in a)
        full = spell(wide, lanes)
        product = self.emit(f"mul nuw {full} {p}, {q}")
        high = self.emit(f"lshr {full} {product}, {constant(t.bits, wide, lanes)}")
        return self.convert("trunc", high, wide, t, lanes)

    def op_ldexp(self, x: Node, a: Sequence[str], lanes: int) -> str:
        if self.target.avx512 and x.type.kind == "f":
            return self.scalef(x.type, a[0], a[1], lanes)
        t = x.type
        n = I32 if t is F32 else I64
        full, int_type = spell(t, lanes), spell(n, lanes)
        # Three factors, each a normal power of two. The last one takes as much of a negative exponent as it can: if an
        # earlier product is subnormal, and so not exact, the result is zero anyway.
        low, high, bias, mantissa = (-126, 127, 127, 23) if t is F32 else (-1022, 1023, 1023, 52)
        reach = 2 * (high + mantissa) + 2
        b = self.intrinsic("minnum", t, (a[1], constant(float(reach), t, lanes)), lanes)
        b = self.intrinsic("maxnum", t, (b, constant(float(-reach), t, lanes)), lanes)
        left = self.convert("fptosi", b, t, n, lanes)
        factors = []
        for last in (False, False, True):
            part = left
            if not last:
                part = self.intrinsic("smin", n, (left, constant(high, n, lanes)), lanes)
                part = self.intrinsic("smax", n, (part, constant(low, n, lanes)), lanes)
                left = self.emit(f"sub {int_type} {left}, {part}")
            raised = self.emit(f"add {int_type} {part}, {constant(bias, n, lanes)}")
            raised = self.emit(f"shl {int_type} {raised}, {constant(mantissa, n, lanes)}")
            factors.append(self.emit(f"bitcast {int_type} {raised} to {full}"))
        result = a[0]
        for f in reversed(factors):
            result = self.emit(f"fmul {full} {result}, {f}")
        return result

    def scalef(self, t: ScalarType, x: str, n: str, lanes: int) -> str:
        """AVX-512's x * 2**n."""
        name, one = ("ps", "float") if t is F32 else ("pd", "double")
        most = 512 // t.bits
        if not lanes:
            small = 128 // t.bits
            x, n = (self.emit(f"insertelement <{small} x {one}> poison, {one} {v}, i64 0") for v in (x, n))
            got = self.scalef(t, x, n, small)
            return self.emit(f"extractelement <{small} x {one}> {got}, i64 0")
        if lanes * t.bits < 128:
            small = 128 // t.bits
            x, n = (self.shuffle(v, "poison", one, lanes, [k % lanes for k in range(small)]) for v in (x, n))
            return self.shuffle(self.scalef(t, x, n, small), "poison", one, small, range(lanes))
        if lanes > most:
            parts = []
            for k in range(0, lanes, most):
                p, q = (self.shuffle(v, "poison", one, lanes, range(k, k + most)) for v in (x, n))
                parts.append(self.scalef(t, p, q, most))
            while len(parts) > 1:
                most *= 2
                parts = [self.shuffle(p, q, one, most // 2, range(most)) for p, q in zip(parts[::2], parts[1::2])]
            return parts[0]
        full = f"<{lanes} x {one}>"
        every = "i8" if lanes <= 8 else f"i{lanes}"
        args = [(full, x), (full, n), (full, "zeroinitializer"), (every, "-1")]
        if lanes == most:
            args.append(("i32", "4"))  # rounding as the control register says
        return self.call(full, f"llvm.x86.avx512.mask.scalef.{name}.{lanes * t.bits}", args)

    # Bits
    def op_not(self, x: Node, a: Sequence[str], lanes: int) -> str:
        ones = constant(True, x.type, lanes) if x.type.kind == "b" else constant(-1, x.type, lanes)
        return self.emit(f"xor {spell(x.type, lanes)} {a[0]}, {ones}")

    def shift(self, x: Node, a: Sequence[str], lanes: int) -> str:
        t = x.type
        full, count = spell(t, lanes), x.args[1]
        arithmetic = x.op == "shr" and t.kind == "i"
        name = "shl" if x.op == "shl" else "ashr" if arithmetic else "lshr"
        if largest(count) < t.bits:
            return self.emit(f"{name} {full} {a[0]}, {a[1]}")
        if arithmetic:
            most = self.intrinsic("umin", t, (a[1], constant(t.bits - 1, t, lanes)), lanes)
            return self.emit(f"ashr {full} {a[0]}, {most}")
        # An over-long shift is poison, which a select does not let through.
        inside = self.emit(f"icmp ult {full} {a[1]}, {constant(t.bits, t, lanes)}")
        return self.choose(inside, self.emit(f"{name} {full} {a[0]}, {a[1]}"), constant(0, t, lanes), t, lanes)

    op_shl = op_shr = shift

    def op_select(self, x: Node, a: Sequence[str], lanes: int) -> str:
        return self.choose(a[0], a[1], a[2], x.type, lanes)

    # Conversions
    def op_bitcast(self, x: Node, a: Sequence[str], lanes: int) -> str:
        source, target = spell(x.args[0].type, lanes), spell(x.type, lanes)
        return a[0] if source == target else self.emit(f"bitcast {source} {a[0]} to {target}")

    def op_denormal(self, x: Node, a: Sequence[str], lanes: int) -> str:
        """AVX-512's class of a number, for whole registers; else by bits, of which the sign is shifted out."""
        t = x.args[0].type
        size, single = lanes * t.bits, t is F32
        if size in (128, 256, 512):
            name = f"llvm.x86.avx512.fpclass.{'ps' if single else 'pd'}.{size}"
            return self.call(f"<{lanes} x i1>", name, [(spell(t, lanes), a[0]), ("i32", "32")])
        int_type = U32 if single else U64
        words = spell(int_type, lanes)
        bits = self.emit(f"bitcast {spell(t, lanes)} {a[0]} to {words}")
        one, end = (constant(n, int_type, lanes) for n in (1, (1 << (24 if single else 53)) - 1))
        size_of = self.emit(f"shl {words} {bits}, {one}")
        return self.emit(f"icmp ult {words} {self.emit(f'sub {words} {size_of}, {one}')}, {end}")

    def op_cast(self, x: Node, a: Sequence[str], lanes: int) -> str:
        source, target, v = x.args[0].type, x.type, a[0]
        if source.is_storage or target.is_storage:
            return self.half(x, v, lanes)
        if target.kind == "b":
            instruction, zero = (
                ("fcmp une", constant(0.0, source, lanes))
                if source.kind == "f"
                else ("icmp ne", constant(0, source, lanes))
            )
            return self.emit(f"{instruction} {spell(source, lanes)} {v}, {zero}")
        if source.kind == "f" and target.kind == "f":
            return self.convert("fpext" if target.bits > source.bits else "fptrunc", v, source, target, lanes)
        if target.kind == "f":
            return self.convert("sitofp" if source.kind == "i" else "uitofp", v, source, target, lanes)
        if source.kind == "f":
            if target.bits < 32:  # what the narrow type cannot hold wraps
                return self.convert("trunc", self.convert("fptosi", v, source, I32, lanes), I32, target, lanes)
            return self.convert("fptosi" if target.kind == "i" else "fptoui", v, source, target, lanes)
        if target.bits == source.bits:
            return v
        instruction = "trunc" if target.bits < source.bits else "sext" if source.kind == "i" else "zext"
        return self.convert(instruction, v, source, target, lanes)

    def half(self, x: Node, v: str, lanes: int) -> str:
        source, target = x.args[0].type, x.type
        if source is F32 and target is BF16 and ROUND_BF16 in self.target.native:
            return self.round_bf16(v, lanes)
        kinds = {source.name, target.name}
        if kinds != {"f16", "f32"} or "f16" not in self.target.native:
            raise NotImplementedError(
                f"the LLVM renderer requires basic operations, got a cast of {source} to {target}"
            )
        half = f"<{lanes} x half>" if lanes else "half"
        bits, full = spell(U64, lanes).replace("i64", "i16"), spell(F32, lanes)
        if source is F32:
            return self.emit(f"bitcast {half} {self.emit(f'fptrunc {full} {v} to {half}')} to {bits}")
        return self.emit(f"fpext {half} {self.emit(f'bitcast {bits} {v} to {half}')} to {full}")

    def round_bf16(self, v: str, lanes: int) -> str:
        """AVX-512's f32 to bf16, as bits."""
        if not lanes:
            one = self.emit(f"insertelement <8 x float> poison, float {v}, i64 0")
            return self.emit(f"extractelement <8 x i16> {self.round_bf16(one, 8)}, i64 0")
        if lanes < 8:
            few = self.round_bf16(self.shuffle(v, "poison", "float", lanes, [k % lanes for k in range(8)]), 8)
            return self.shuffle(few, "poison", "i16", 8, range(lanes))
        if lanes > 16:
            halves = [self.shuffle(v, "poison", "float", lanes, range(k, k + lanes // 2)) for k in (0, lanes // 2)]
            p, q = (self.round_bf16(h, lanes // 2) for h in halves)
            return self.shuffle(p, q, "i16", lanes // 2, range(lanes))
        name = f"llvm.x86.avx512bf16.cvtneps2bf16.{lanes * 32}"
        got = self.call(f"<{lanes} x bfloat>", name, [(f"<{lanes} x float>", v)])
        return self.emit(f"bitcast <{lanes} x bfloat> {got} to <{lanes} x i16>")
