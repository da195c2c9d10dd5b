# cython: language_level=3, binding=False
"""The state that an optimizer keeps for one parameter, and its updates as rows of operands."""
cimport cython


cdef class Slot:
    """The state that an optimizer keeps for one parameter, as far as a step reads it in C."""


@cython.final
@cython.no_gc
cdef class SlotRows:
    """The updates of slots, as rows ``(outs, operands, params)`` for ``apply_foreach_into``: it counts as that many."""

    def __len__(self):
        return self.count

    cdef object operand(self, int at, int i):
        cdef SlotRow* r = &self.row[at]
        cdef int what = self.layout[i]
        if what == TARGET: return (<Slot>r.slot).target
        if what == GRAD: return <object>r.grad
        if what == RATE: return r.rate
        if what == ABSENT: return None
        if not 0 <= what - VALUE < len((<Slot>r.slot).values):
            raise IndexError(f"[step_rows] requires a layout of values that there are, got {what}")
        return (<Slot>r.slot).values[what - VALUE]

    cdef tuple python_row(self, int at):
        """The row as a tuple ``(outs, operands, params)``."""
        cdef int i
        return (<Slot>self.row[at].slot).outs, tuple([self.operand(at, i) for i in range(self.n)]), <object>self.row[at].params


globals().update(TARGET=TARGET, GRAD=GRAD, RATE=RATE, ABSENT=ABSENT, VALUE=VALUE)
