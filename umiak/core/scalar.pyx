# cython: language_level=3
"""Straight-line programs over 64-bit scalars.

What an op's ``infer`` says symbolically about sizes and params is lowered to such a program once per class of
operands; C evaluates it at every call, so that a new shape costs no Python. Registers hold int64 or the bits of a double:
first the inputs, then the constants, then one register per instruction.
"""
from libc.math cimport pow as c_pow
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

cdef extern from *:
    """
    #define umiak_add(a, b, r) __builtin_add_overflow(a, b, r)
    #define umiak_sub(a, b, r) __builtin_sub_overflow(a, b, r)
    #define umiak_mul(a, b, r) __builtin_mul_overflow(a, b, r)
    """
    bint umiak_add(int64_t, int64_t, int64_t*) noexcept nogil
    bint umiak_sub(int64_t, int64_t, int64_t*) noexcept nogil
    bint umiak_mul(int64_t, int64_t, int64_t*) noexcept nogil

cdef enum:
    ADD, SUB, MUL, FLOORDIV, MOD, CDIV, MIN, MAX, NEG, EQ, NE, LE, LT, SELECT, AND, OR, NOT
    BROADCAST, CHECK_EQ, CHECK_LE, CHECK_TRUE
    ITOF, FTOI, FADD, FSUB, FMUL, FDIV, FNEG, FPOW, FMIN, FMAX, FEQ, FNE, FLE, FLT

NAMES = {
    "ADD": ADD, "SUB": SUB, "MUL": MUL, "FLOORDIV": FLOORDIV, "MOD": MOD, "CDIV": CDIV, "MIN": MIN, "MAX": MAX, "NEG": NEG,
    "EQ": EQ, "NE": NE, "LE": LE, "LT": LT, "SELECT": SELECT, "AND": AND, "OR": OR, "NOT": NOT, "BROADCAST": BROADCAST,
    "CHECK_EQ": CHECK_EQ, "CHECK_LE": CHECK_LE, "CHECK_TRUE": CHECK_TRUE, "ITOF": ITOF, "FTOI": FTOI, "FADD": FADD,
    "FSUB": FSUB, "FMUL": FMUL, "FDIV": FDIV, "FNEG": FNEG, "FPOW": FPOW, "FMIN": FMIN, "FMAX": FMAX, "FEQ": FEQ, "FNE": FNE,
    "FLE": FLE, "FLT": FLT,
}


cdef inline double as_double(int64_t bits) noexcept nogil:
    """Bitcast a register to a double."""
    cdef double d
    memcpy(&d, &bits, 8)
    return d


cdef inline int64_t as_bits(double d) noexcept nogil:
    cdef int64_t bits
    memcpy(&bits, &d, 8)
    return bits


cdef inline int64_t floordiv(int64_t a, int64_t b) noexcept nogil:
    # Python's: rounds down. A zero divisor gives 0 here; the op's infer refuses it in words.
    cdef int64_t q
    if b == 0:
        return 0
    if b == -1:
        return -a                          # the processor traps on -2**63 / -1
    q = a / b
    return q - 1 if (a % b != 0 and (a < 0) != (b < 0)) else q


def double_bits(double d):
    """The bits of a double as int64, the form floats take in registers."""
    return as_bits(d)


cdef class ScalarProgram:
    """``ScalarProgram(n_inputs, consts, code)``: ``consts`` are ints or floats, ``code`` is a list of (name, dst, a, b, c)."""

    def __cinit__(self, int n_inputs, list consts, list code):
        cdef int i = 0
        self.n_inputs = n_inputs
        self.n_const = len(consts)
        self.n_code = len(code)
        self.n_regs = n_inputs + self.n_const + self.n_code
        self.consts = <int64_t*>malloc((self.n_const + 1) * sizeof(int64_t))
        self.code = <Instr*>malloc((self.n_code + 1) * sizeof(Instr))
        if self.consts == NULL or self.code == NULL:
            raise MemoryError()
        for value in consts:
            self.consts[i] = as_bits(value) if isinstance(value, float) else value
            i += 1
        i = 0
        for name, dst, a, b, c in code:
            for r in (dst, a, b, c):
                if not 0 <= r < self.n_regs:
                    raise ValueError(f"[scalar program] requires registers below {self.n_regs}, got {(name, dst, a, b, c)}")
            self.code[i].op = NAMES[name]
            self.code[i].dst = dst
            self.code[i].a = a
            self.code[i].b = b
            self.code[i].c = c
            i += 1

    def __dealloc__(self):
        free(self.consts)
        free(self.code)

    cdef int run(self, int64_t* r) noexcept nogil:
        cdef int i
        cdef Instr* k
        cdef int64_t a, b
        if self.n_const:
            memcpy(r + self.n_inputs, self.consts, self.n_const * sizeof(int64_t))
        for i in range(self.n_code):
            k = &self.code[i]
            a = r[k.a]
            b = r[k.b]
            if k.op == ADD:
                if umiak_add(a, b, &r[k.dst]): return i + 1
            elif k.op == SUB:
                if umiak_sub(a, b, &r[k.dst]): return i + 1
            elif k.op == MUL:
                if umiak_mul(a, b, &r[k.dst]): return i + 1
            elif k.op == BROADCAST:
                if a == b or b == 1: r[k.dst] = a
                elif a == 1: r[k.dst] = b
                else: return i + 1
            elif k.op == CHECK_EQ:
                if a != b: return i + 1
            elif k.op == CHECK_LE:
                if a > b: return i + 1
            elif k.op == CHECK_TRUE:
                if a == 0: return i + 1
            elif k.op == FLOORDIV: r[k.dst] = floordiv(a, b)
            elif k.op == MOD: r[k.dst] = a - b * floordiv(a, b)
            elif k.op == CDIV: r[k.dst] = -floordiv(-a, b)
            elif k.op == MIN: r[k.dst] = a if a < b else b
            elif k.op == MAX: r[k.dst] = a if a > b else b
            elif k.op == NEG: r[k.dst] = -a
            elif k.op == EQ: r[k.dst] = a == b
            elif k.op == NE: r[k.dst] = a != b
            elif k.op == LE: r[k.dst] = a <= b
            elif k.op == LT: r[k.dst] = a < b
            elif k.op == SELECT: r[k.dst] = b if a != 0 else r[k.c]
            elif k.op == AND: r[k.dst] = a != 0 and b != 0
            elif k.op == OR: r[k.dst] = a != 0 or b != 0
            elif k.op == NOT: r[k.dst] = a == 0
            elif k.op == ITOF: r[k.dst] = as_bits(<double>a)
            elif k.op == FTOI: r[k.dst] = <int64_t>as_double(a)
            elif k.op == FADD: r[k.dst] = as_bits(as_double(a) + as_double(b))
            elif k.op == FSUB: r[k.dst] = as_bits(as_double(a) - as_double(b))
            elif k.op == FMUL: r[k.dst] = as_bits(as_double(a) * as_double(b))
            elif k.op == FDIV: r[k.dst] = as_bits(as_double(a) / as_double(b))
            elif k.op == FNEG: r[k.dst] = as_bits(-as_double(a))
            elif k.op == FPOW: r[k.dst] = as_bits(c_pow(as_double(a), as_double(b)))
            elif k.op == FMIN: r[k.dst] = a if as_double(a) < as_double(b) else b
            elif k.op == FMAX: r[k.dst] = a if as_double(a) > as_double(b) else b
            elif k.op == FEQ: r[k.dst] = as_double(a) == as_double(b)
            elif k.op == FNE: r[k.dst] = as_double(a) != as_double(b)
            elif k.op == FLE: r[k.dst] = as_double(a) <= as_double(b)
            elif k.op == FLT: r[k.dst] = as_double(a) < as_double(b)
        return 0

    def evaluate(self, inputs):
        """Registers after a run over ``inputs`` (ints), or the failing check's number as ValueError. For tests."""
        cdef int64_t* regs = <int64_t*>malloc((self.n_regs + 1) * sizeof(int64_t))
        cdef int i, failed
        if regs == NULL:
            raise MemoryError()
        try:
            for i in range(self.n_inputs):
                regs[i] = inputs[i]
            failed = self.run(regs)
            if failed:
                raise ValueError(f"check {failed - 1} failed")
            return [regs[i] for i in range(self.n_regs)]
        finally:
            free(regs)
