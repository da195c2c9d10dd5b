# cython: language_level=3, binding=False
"""The scalars of an optimizer's step in a captured function, computed in C: docs/design/capture.md.

What an optimizer says of one step is a formula in the rate and the number of the step. Scalar programs hold these formulas; a run reads
the rate and the counts of steps, and writes down their values.
"""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

cimport cython
from umiak.core.captured cimport ScalarSource
from umiak.core.scalar cimport ScalarProgram
from umiak.core.slot cimport Slot

from umiak.core.captured import Stale


cdef extern from *:
    """
    /* Another number after every change of a dict: 0 where that is not known. */
    #if PY_VERSION_HEX < 0x030E0000 && defined(__GNUC__)
    #pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    #define umiak_dict_tag(d) (((PyDictObject *)(d))->ma_version_tag)
    #else
    #define umiak_dict_tag(d) 0
    #endif
    """
    uint64_t umiak_dict_tag(PyObject*)

cdef struct Held:              # what a slot consists of
    PyObject* slot
    PyObject* target
    PyObject* outs
    PyObject* values
    PyObject* hyper
    PyObject* rate
    uint64_t tag               # of `rate`, when `factor` was read in it
    double factor

cdef struct Formula:
    int program
    int slot                   # whose rate and steps it is computed from
    int first                  # of its results, in `results`
    int count


@cython.final
cdef class OptimizerScalars(ScalarSource):
    """``OptimizerScalars(attributes, schedule, slots, leaders, rates, programs, formulas, count, renew)``.

    ``attributes`` are the optimizer's: a run reads ``_learning_rate`` among them, a number or a ``schedule`` with ``last_lr``; where another
    one differs from what it is now, ``renew()`` is asked whether the formulas still hold. ``leaders``: for each slot the one that has done
    as many steps. ``rates``: which number is the rate of a slot, or -1. ``formulas`` are (program, slot, [(register, number)]); a program
    gets rate and step. What a slot consists of may not change.
    """
    cdef dict attributes
    cdef object schedule, renew
    cdef list names, values    # of the attributes
    cdef list slots, parts, programs
    cdef Held* held            # by slot; `slots` and `parts` keep what it points to
    cdef int* leaders
    cdef int* rates
    cdef Formula* formulas
    cdef int* results          # pairs (register, number)
    cdef int n, n_formulas, most

    def __init__(self, dict attributes not None, schedule, list slots not None, list leaders not None, list rates not None,
                 list programs not None, list formulas not None, int count, renew):
        cdef int i = 0, k = 0
        self.attributes = attributes
        self.schedule = schedule
        self.slots = slots
        self.parts = [parts_of(<Slot?>x) for x in slots]
        self.n = len(slots)
        self.held = <Held*>malloc((self.n + 1) * sizeof(Held))
        self.programs = programs
        self.count = count
        self.renew = renew
        self.n_formulas = len(formulas)
        self.leaders = <int*>malloc((self.n + 1) * sizeof(int))
        self.rates = <int*>malloc((self.n + 1) * sizeof(int))
        self.formulas = <Formula*>malloc((self.n_formulas + 1) * sizeof(Formula))
        self.results = <int*>malloc((2 * sum(len(pairs) for _, _, pairs in formulas) + 1) * sizeof(int))
        if self.held == NULL or self.leaders == NULL or self.rates == NULL or self.formulas == NULL or self.results == NULL:
            raise MemoryError()
        for i in range(self.n):
            self.held[i].slot = <PyObject*>slots[i]
            target, outs, values, hyper, rate = self.parts[i]
            self.held[i].target, self.held[i].outs, self.held[i].values = <PyObject*>target, <PyObject*>outs, <PyObject*>values
            self.held[i].hyper, self.held[i].rate, self.held[i].tag = <PyObject*>hyper, <PyObject*>rate, 0
            self.leaders[i] = leaders[i]
            self.rates[i] = rates[i]
        for i, (program, slot, pairs) in enumerate(formulas):
            self.formulas[i].program = program
            self.formulas[i].slot = slot
            self.formulas[i].first = k
            self.formulas[i].count = len(pairs)
            self.most = max(self.most, (<ScalarProgram?>programs[program]).n_regs)
            for register, number in pairs:
                self.results[k] = register
                self.results[k + 1] = number
                k += 2
        self.remember()

    def __dealloc__(self):
        free(self.held)
        free(self.leaders)
        free(self.rates)
        free(self.formulas)
        free(self.results)

    cdef int remember(self) except -1:
        self.names = [n for n in self.attributes if n != "_learning_rate" and n != "_written_back"]
        self.values = [self.attributes[n] for n in self.names]
        return 0

    cdef bint changed(self) except -1:
        """Return whether the optimizer has another attribute than before, or another value of one."""
        cdef int i
        if len(self.attributes) != len(self.names) + 2:
            return True
        for i in range(len(self.names)):
            if self.attributes.get(self.names[i]) is not self.values[i]:
                return True
        return False

    cdef int read(self, int64_t* into) except -1:
        cdef double rate
        cdef uint64_t tag
        cdef Held* h
        cdef PyObject* slot
        cdef Formula* f
        cdef int i, k
        cdef object rate_or_schedule = self.attributes["_learning_rate"]
        cdef double* rates
        cdef int64_t* regs
        if self.changed():
            self.renew()                                 # raises Stale
            self.remember()
        rate = rate_or_schedule.last_lr if isinstance(rate_or_schedule, self.schedule) else rate_or_schedule
        rates = <double*>malloc((self.n + self.most + 1) * 8)
        if rates == NULL:
            raise MemoryError()
        try:
            regs = <int64_t*>(rates + self.n)
            for i in range(self.n):
                h = &self.held[i]
                slot = h.slot
                if <PyObject*>(<Slot>slot).target != h.target or <PyObject*>(<Slot>slot).outs != h.outs or \
                        <PyObject*>(<Slot>slot).values != h.values or <PyObject*>(<Slot>slot).hyper != h.hyper or \
                        <PyObject*>(<Slot>slot).rate != h.rate or (<Slot>slot).steps != (<Slot>self.held[self.leaders[i]].slot).steps:
                    raise Stale
                tag = umiak_dict_tag(h.rate)
                if tag == 0 or tag != h.tag:
                    h.factor = (<dict>h.rate)["learning_rate"]
                    h.tag = tag
                rates[i] = rate * h.factor
                if self.rates[i] >= 0:
                    memcpy(&into[self.rates[i]], &rates[i], 8)
            for i in range(self.n_formulas):
                f = &self.formulas[i]
                memcpy(&regs[0], &rates[f.slot], 8)
                regs[1] = (<Slot>self.held[f.slot].slot).steps + 1
                if (<ScalarProgram>self.programs[f.program]).run(regs):
                    raise Stale
                for k in range(f.first, f.first + 2 * f.count, 2):
                    into[self.results[k + 1]] = regs[self.results[k]]
        finally:
            free(rates)
        for i in range(self.n):
            (<Slot>self.held[i].slot).steps += 1
        return 0

    cdef int undo(self) except -1:
        cdef int i
        for i in range(self.n):
            (<Slot>self.held[i].slot).steps -= 1
        return 0


cdef tuple parts_of(Slot slot):
    return slot.target, slot.outs, slot.values, slot.hyper, slot.rate

