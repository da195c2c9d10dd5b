# cython: language_level=3, binding=False
"""Binding of a program: the work around its calls at every run: docs/design/capture.md.

A binding is made once per program. A run puts arguments and constants into one array, reads sizes, evaluates all expressions over sizes
and scalars in one scalar program, compares, finds out whose memory may be taken, and replays the calls. What it cannot do it leaves to
its owner, the executor, before anything has changed.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

cimport cython
from umiak.core.call_program cimport CallProgram
from umiak.core.context cimport AMP_MASK, EngineContext, MODE_GRAD, context_pointer
from umiak.core.dispatch cimport detached_copy
from umiak.core.frozen cimport Frozen, Scratch, freeze
from umiak.core.launches cimport timed
from umiak.core.layout cimport byte_range
from umiak.core.place cimport PLACE_COUNT, Place
from umiak.core.plan cimport FLAG_INNER, int_array
from umiak.core.scalar cimport ScalarProgram
from umiak.core.tensor cimport *

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject*)

from itertools import accumulate

from umiak.core.inplace import assign
from umiak.core.inplace cimport take_memory

cdef enum:
    MOST_FROZEN = 8            # sizes that a program is recorded for
    MOST_TRIALS = 12
    REHEARSED = 1 << 16        # bytes of memory by step from which a rehearsal costs less than new pages
    MOST_SCRATCH = 4 << 20     # beyond it kernels are long, and memory should not be kept between runs

cdef uint32_t CLASS = K_DTYPE_MASK | K_RANK_MASK << K_RANK_SHIFT


cdef class Lowering:
    """``at``: which symbols of the program the calls want, in order. ``conditions``, a scalar program over all symbols, fails where the
    calls may not stand for the program."""

    def __init__(self, CallProgram calls not None, list at not None, ScalarProgram conditions=None):
        self.calls = calls
        self.at = int_array(at)
        self.count = len(at)
        self.conditions = conditions
        self.scratch = Scratch.__new__(Scratch)

    def __dealloc__(self):
        free(self.at)


@cython.final
cdef class Table:
    def __init__(self, int count):
        cdef int64_t size = 16
        while size < 2 * count + 2:
            size *= 2
        self.mask = size - 1
        self.memory = PyBytes_FromStringAndSize(NULL, size * (sizeof(void*) + sizeof(int)))
        self.keys = <void**>PyBytes_AS_STRING(self.memory)
        self.counts = <int*>(self.keys + size)
        memset(self.keys, 0, size * (sizeof(void*) + sizeof(int)))

    cdef int64_t find(self, void* key) noexcept:
        """Its place, or a free one."""
        cdef int64_t j = (<int64_t>(<uint64_t>key * <uint64_t>0x9E3779B97F4A7C15 >> 20)) & self.mask
        while self.keys[j] != NULL and self.keys[j] != key:
            j = (j + 1) & self.mask
        return j

    cdef int add(self, void* key) noexcept:
        """Count it; the count."""
        cdef int64_t j = self.find(key)
        self.keys[j] = key
        self.counts[j] += 2
        return self.counts[j] >> 1

    cdef int mark(self, void* key) noexcept:
        """Mark what was counted; the count."""
        cdef int64_t j = self.find(key)
        self.counts[j] |= 1
        return self.counts[j] >> 1

    cdef bint marked(self, void* key) noexcept:
        return self.counts[self.find(key)] & 1


@cython.final
@cython.freelist(8)
cdef class Frame:
    def __dealloc__(self):
        cdef int i
        for i in range(self.n_outs):
            Py_XDECREF(self.outs[i])
        free(self.memory)


cdef class Binding:
    """``Binding(owner, inputs, symbols, scalar_program, sizes, outputs, extras, targets, donated, disjoint)``.

    ``inputs``: (number of the argument or -1, the constant or None, dtype id, rank) of each. ``symbols``: (input, axis) or (-1, number) of
    each. ``scalar_program`` computes from them the registers ``sizes`` of what the inputs' sizes should be, ``extras``, and those in ``outputs``,
    where None is a tensor, (register, kind) a number and (value,) itself. ``targets`` are the inputs that are written to: the calls give
    their values behind the outputs. ``donated``: a byte per input. ``disjoint``: refuse targets over memory of other inputs.
    ``general``: every run is left to the owner. ``arena``: the most bytes of scratch memory that a form of the program may keep.

    ``owner`` is asked for lowerings: ``grouped(place index)``, where the operations run in groups, and ``apart()``, where each runs by
    itself; None: there is none that runs from here. Its ``copied(tensor)`` is a copy with a history.
    """

    def __init__(self, owner, list inputs, list symbols, ScalarProgram scalar_program not None, list sizes, list outputs, list extras, list targets,
                 bytes donated not None, bint disjoint, bint general=False, int64_t arena=MOST_SCRATCH):
        cdef int i, k, n = len(inputs)
        self.owner = owner
        self.n_inputs = n
        self.constants = [constant for _, constant, _, _ in inputs]
        self.argument = int_array([number for number, _, _, _ in inputs])
        self.n_arguments = sum(1 for number, _, _, _ in inputs if number >= 0)
        self.keys = <uint32_t*>int_array([dtype | rank << K_RANK_SHIFT for _, _, dtype, rank in inputs])
        self.n_symbols = len(symbols)
        self.origins = <Origin*>malloc((len(symbols) + 1) * sizeof(Origin))
        self.storages = <void**>calloc(n + 1, sizeof(void*))
        if self.origins == NULL or self.storages == NULL:
            raise MemoryError()
        for i, (input, at) in enumerate(symbols):
            self.origins[i].input = input
            self.origins[i].at = at
            self.n_scalars += input < 0
        # Sizes may be computed from numbers, too: those of what another program has kept for this one.
        computed = {x for x in sizes if not scalar_program.n_inputs <= x < scalar_program.n_inputs + scalar_program.n_const}
        self.size_registers = int_array(sorted(computed))
        self.n_size_registers = len(computed)
        self.scalar_program = scalar_program
        self.outputs = outputs
        self.n_outputs = len(outputs)
        self.extras = int_array(extras)
        self.targets = int_array(targets)
        self.n_targets = len(targets)
        self.written = int_array([i for i in targets if inputs[i][0] >= 0] + [-1])
        self.n_roster = n - self.n_arguments
        self.roster = <Known*>calloc(self.n_roster + 1, sizeof(Known))
        self.pattern = <PyObject**>calloc(n + 1, sizeof(PyObject*))
        if self.roster == NULL or self.pattern == NULL:
            raise MemoryError()
        for i in range(n):
            if self.argument[i] < 0:
                self.pattern[i] = <PyObject*>self.constants[i]
        k = 0
        for i in range(n):
            if self.argument[i] < 0:
                self.roster[k].tensor = self.pattern[i]
                k += 1
        ranks = [rank for _, _, _, rank in inputs]
        self.first_size = int_array(list(accumulate([0, *ranks]))[:n])
        self.sizes = int_array(sizes)
        self.fixed = all(
            scalar_program.n_inputs <= self.sizes[self.first_size[i] + d] < scalar_program.n_inputs + scalar_program.n_const
            for i in range(n) if self.argument[i] < 0 for d in range(ranks[i]))
        self.given_inputs = int_array([*(i for i in range(n) if self.argument[i] >= 0), -1])
        self.all_inputs = int_array([*range(n), -1])
        self.donated = donated
        self.donates = len(targets) > 0 or any(donated)
        self.disjoint = disjoint
        self.general = general
        self.arena = arena
        self.fused = [None] * PLACE_COUNT

    def __dealloc__(self):
        free(self.roster)
        free(self.pattern)
        free(self.first_size)
        free(self.given_inputs)
        free(self.all_inputs)
        free(self.argument)
        free(self.keys)
        free(self.origins)
        free(self.size_registers)
        free(self.storages)
        free(self.sizes)
        free(self.extras)
        free(self.targets)
        free(self.written)

    def run(self, tuple arguments not None, list scalars not None):
        """The outputs; None where the owner has to run it. ``scalars`` are 64-bit words (of floats: the bits)."""
        cdef EngineContext ctx = <EngineContext>context_pointer()
        cdef Frame f
        cdef PyObject** pointers
        cdef int64_t* words
        cdef int i, fit
        if len(arguments) != self.n_arguments or len(scalars) != self.n_scalars:
            return None
        f = self.frame()
        pointers = <PyObject**>malloc((self.n_arguments + self.n_scalars + 1) * 8)
        if pointers == NULL:
            raise MemoryError()
        try:
            words = <int64_t*>(pointers + self.n_arguments)
            for i in range(self.n_arguments):
                pointers[i] = <PyObject*><Tensor?>arguments[i]
            for i in range(self.n_scalars):
                words[i] = scalars[i]
            self.enter(f, pointers)
            fit = self.set_symbols(f, words)
        finally:
            free(pointers)
        if fit == FITS:
            fit = self.admit(f, ctx)
        if fit != FITS:
            return None
        outputs = self.execute(f)
        self.give_back(f)
        return outputs

    def frozen(self):
        """The number of launches of each form of the program that is a list of them."""
        cdef Frozen one
        return [one.n_launches for one in self.forms()]

    def side_by_side(self):
        """The groups of launches of each of these forms that run side by side, as lanes of numbers of launches."""
        cdef Frozen one
        return [one.branches.used() if one.branches is not None else [] for one in self.forms()]

    def accesses(self):
        """By form and launch: (what it reads, what it writes), as (memory, first byte, end), where -1 is the scratch memory."""
        cdef Frozen one
        return [one.accesses() for one in self.forms()]

    def copies(self):
        """The number of values that each of these forms copies to where they belong in the end."""
        cdef Frozen one
        return [one.n_copied for one in self.forms()]

    def shrink(self):
        """Let go of the memory of all forms that no run is in; the bytes."""
        cdef Lowering l
        cdef int64_t freed = 0
        for l in self.fused:
            if l is not None and l.frozen is not None and not l.scratch.busy:
                freed += l.scratch.size
                l.scratch = Scratch.__new__(Scratch)
                l.frozen = []
                l.tried = l.unforeseen = 0
        return freed

    cdef list forms(self):
        cdef Lowering l
        cdef list replayed = []
        for l in self.fused:
            if l is not None and l.frozen is not None:
                replayed += l.frozen
        return replayed

    # ---- the parts of a run ------------------------------------------------------------------------------------------
    cdef Frame frame(self):
        cdef Frame f = self.spare
        cdef int n_outs = self.n_outputs + self.n_targets
        cdef size_t words = self.n_inputs + n_outs + self.scalar_program.n_regs + self.most_words + self.most_scratch + max(self.n_symbols, self.n_size_registers) + 8
        cdef char* room
        self.spare = None
        if f is not None and f.size == words:
            return f
        f = Frame.__new__(Frame)
        room = <char*>malloc(words * 8 + self.n_inputs + 8)
        if room == NULL:
            raise MemoryError()
        f.memory = room
        f.size = words
        f.inputs = <PyObject**>room
        f.outs = f.inputs + self.n_inputs
        f.regs = <int64_t*>(f.outs + n_outs + 1)
        f.words = f.regs + self.scalar_program.n_regs + 1
        f.scratch = f.words + self.most_words + 1            # of conditions, or the sizes
        f.donation = <char*>(f.scratch + self.most_scratch + max(self.n_symbols, self.n_size_registers) + 1)
        memset(f.outs, 0, (n_outs + 1) * 8)
        memcpy(f.inputs, self.pattern, self.n_inputs * sizeof(PyObject*))
        return f

    cdef int give_back(self, Frame f) noexcept:
        """A run is over."""
        cdef PyObject* t
        cdef int i
        for i in range(f.n_outs):
            t = f.outs[i]
            f.outs[i] = NULL
            Py_XDECREF(t)
        f.n_outs = 0
        self.spare = f
        return 0

    cdef bint unchanged(self) noexcept:
        """Return whether the constants are as they were when a run was admitted: then only arguments have to be looked at."""
        cdef Known* k = self.roster
        cdef Known* end = k + self.n_roster
        if self.settled:
            while k < end:
                if (<Tensor>k.tensor).key != k.key or (<Tensor>k.tensor).shaped != k.shaped or (<Tensor>k.tensor).kind or \
                        <PyObject*>(<Tensor>k.tensor).storage != k.storage or (<Tensor>k.tensor).storage.data != k.data or \
                        <PyObject*>(<Tensor>k.tensor).counter != k.counter:
                    self.settled = False
                    break
                k += 1
        if not self.settled:
            self.stamp += 1
        return self.settled

    cdef int remember(self) noexcept:
        """The constants as they are now have been admitted."""
        cdef Known* k
        cdef int i
        if not self.fixed:
            return 0
        self.keys_known = 0
        for i in range(self.n_roster):
            k = &self.roster[i]
            if (<Tensor>k.tensor).kind or (<Tensor>k.tensor).storage.data == NULL:
                return 0                                 # views are renewed at every run
            k.key = (<Tensor>k.tensor).key
            k.shaped = (<Tensor>k.tensor).shaped
            k.storage = <PyObject*>(<Tensor>k.tensor).storage
            k.counter = <PyObject*>(<Tensor>k.tensor).counter
            k.data = (<Tensor>k.tensor).storage.data
            self.keys_known |= k.key
        self.settled = True
        return 0

    cdef int enter(self, Frame f, PyObject** arguments) except -1:
        """Put the inputs into their places."""
        cdef int i, k = 0
        f.fresh = self.given_inputs if self.unchanged() else self.all_inputs
        while self.given_inputs[k] >= 0:
            i = self.given_inputs[k]
            f.inputs[i] = arguments[self.argument[i]]
            k += 1
        return 0

    cdef int set_symbols(self, Frame f, const int64_t* scalars) except -1:
        """Compare the class of the inputs, and give the symbols their values."""
        cdef Origin* o
        cdef PyObject* t
        cdef int i
        cdef int odd = 0
        cdef int* fresh = f.fresh
        while fresh[0] >= 0:
            t = f.inputs[fresh[0]]
            if (<Tensor>t).kind:
                if (<Tensor>t).kind & ~<int>KIND_VIEW:
                    odd = 1
                else:
                    refresh_if_view(<Tensor>t)
            if ((<Tensor>t).key & CLASS) != self.keys[fresh[0]]:
                return MISFIT
            fresh += 1
        if odd or self.general:
            return GENERAL
        for i in range(self.n_symbols):
            o = &self.origins[i]
            f.regs[i] = scalars[o.at] if o.input < 0 else (<Tensor>f.inputs[o.input]).dims[o.at]
        return FITS

    cdef int admit(self, Frame f, EngineContext ctx) except -1:
        """Return whether the inputs fit the program, and decide how it is to run: nothing has been changed yet."""
        cdef Lowering lowering
        cdef PyObject* t
        cdef uint32_t keys = 0 if f.fresh == self.all_inputs else self.keys_known
        cdef int d, k, place
        cdef int* fresh = f.fresh
        if self.scalar_program.run(f.regs):
            return MISFIT
        while fresh[0] >= 0:
            t = f.inputs[fresh[0]]
            k = self.first_size[fresh[0]]
            keys |= (<Tensor>t).key
            for d in range((<Tensor>t).ndim):
                if (<Tensor>t).dims[d] != f.regs[self.sizes[k + d]]:
                    return MISFIT
            fresh += 1
        if ctx.observers or len(ctx.trace):
            return GENERAL
        if self.donates and not self.give(f):
            return MISFIT
        if ctx.plan_mode & AMP_MASK or (ctx.plan_mode & MODE_GRAD and keys & K_NEEDS_GRAD):
            lowering = None
        else:
            if self.n_inputs:
                place = ((<Tensor>f.inputs[0]).key >> K_PLACE_SHIFT) & K_PLACE_MASK
            else:
                place = ctx.inner_place if ctx.inner_place >= 0 else (<Place>ctx.state.place).index
            lowering = <Lowering>self.fused[place]
            if lowering is None:
                grouped = self.owner.grouped(place)
                if grouped is None:
                    return GENERAL
                lowering = self.fused[place] = grouped
                lowering.frozen = [] if lowering.calls.n_steps > 1 else None
                if self.prepare(lowering):
                    return GENERAL                       # this frame has no room for it
            if lowering.conditions is not None:
                memcpy(f.scratch, f.regs, self.n_symbols * 8)
                if lowering.conditions.run(f.scratch):
                    lowering = None
        if lowering is None:
            if self.apart is None:
                self.apart = self.owner.apart()
                if self.apart is None or self.prepare(self.apart):
                    return GENERAL
            lowering = self.apart
        f.lowering = lowering
        if not self.settled:
            self.remember()
        return FITS

    cdef bint prepare(self, Lowering lowering):
        """Have frames hold what this lowering needs; whether those that there are do not."""
        cdef bint more = False
        if lowering.count > self.most_words:
            self.most_words = lowering.count
            more = True
        if lowering.conditions is not None and lowering.conditions.n_regs > self.most_scratch:
            self.most_scratch = lowering.conditions.n_regs
            more = True
        return more

    cdef list execute(self, Frame f):
        """Run what was admitted; the outputs."""
        cdef list outputs = []
        cdef int i
        cdef object declared
        for i in range(f.lowering.count):
            f.words[i] = f.regs[f.lowering.at[i]]
        f.n_outs = self.n_outputs + self.n_targets
        if self.replay(f, f.donation if self.donates else NULL):
            f.n_outs = self.n_outputs
        elif self.n_targets:
            self.write(f)
        for i in range(self.n_outputs):
            declared = self.outputs[i]
            if declared is None:
                outputs.append(<object>f.outs[i] if f.outs[i] != NULL else None)
            elif len(<tuple>declared) == 1:
                outputs.append((<tuple>declared)[0])
            else:
                outputs.append(number_in(f.regs[declared[0]], declared[1]))
        return outputs

    cdef int replay(self, Frame f, const char* donation) except -1:
        """Run the calls: as launches, where they were recorded for these sizes; else they are, from the second run on. 1: the targets have
        their values."""
        cdef Lowering l = f.lowering
        cdef Frozen frozen
        cdef int i
        if l.frozen is not None:
            for i in range(self.n_size_registers):
                f.scratch[i] = f.regs[self.size_registers[i]]
            for frozen in l.frozen:
                if frozen.run(f.inputs, f.words, f.scratch, donation, f.outs, self.stamp):
                    return 1
            if self.arena > MOST_SCRATCH and l.frozen and donation == NULL and not self.n_targets and l.unforeseen < MOST_TRIALS \
                    and (l.tried < MOST_TRIALS or l.scratch.size > REHEARSED * <int64_t>l.calls.n_steps) and not l.scratch.busy and not timed():
                # Memory that is at hand in place of new pages for each value, of which the system clears every byte.
                frozen = freeze(l.calls, f.inputs, f.words, f.scratch, self.n_size_registers, NULL, self.targets, 0, self.given_inputs, f.outs,
                                self.arena, l.scratch, True)
                if frozen is not None and frozen.run(f.inputs, f.words, f.scratch, NULL, f.outs, self.stamp):
                    l.frozen = [frozen, *l.frozen[:MOST_FROZEN - 1]]
                    l.tried = min(l.tried + 1, MOST_TRIALS)
                    return 1
                l.unforeseen += 1
            if l.ran and l.tried < MOST_TRIALS and not timed():
                l.tried += 1
                frozen = freeze(l.calls, f.inputs, f.words, f.scratch, self.n_size_registers, donation, self.targets, self.n_targets, self.given_inputs,
                                f.outs, self.arena, l.scratch, False)
                if frozen is not None:
                    l.frozen = [frozen, *l.frozen[:MOST_FROZEN - 1]]
                elif not l.frozen:
                    l.frozen = None
                return 0
            l.ran = True
        l.calls.replay(f.inputs, f.words, f.outs, FLAG_INNER, donation, None)
        return 0

    # ---- memory ------------------------------------------------------------------------------------------------------
    cdef bint give(self, Frame f) except -1:
        """Say which inputs' memory this run gives up; of what is written to, that which no other input is in. False: it is refused."""
        cdef Table arguments
        cdef void* s
        cdef int i, k
        cdef int* at
        cdef bint alone = self.known is not None
        for i in range(self.n_inputs if f.fresh == self.all_inputs else 0):
            if self.argument[i] < 0:
                s = <void*>(<Tensor>f.inputs[i]).storage
                if s != self.storages[i]:
                    self.storages[i] = s
                    alone = False
        if not alone:
            self.learn(f)
        memcpy(f.donation, PyByteArray_AS_STRING(self.donation), self.n_inputs)
        if not self.n_targets:
            return True
        arguments = Table(self.n_arguments) if self.n_arguments > 1 else None
        alone = True
        at = self.given_inputs
        while at[0] >= 0:
            s = <void*>(<Tensor>f.inputs[at[0]]).storage
            if self.known.keys[self.known.find(s)] != NULL or (arguments is not None and arguments.add(s) > 1):
                alone = False
            at += 1
        if not alone:
            for k in range(self.n_targets):
                if f.donation[self.targets[k]]:
                    s = <void*>(<Tensor>f.inputs[self.targets[k]]).storage
                    for i in range(self.n_inputs):
                        if i != self.targets[k] and <void*>(<Tensor>f.inputs[i]).storage == s:
                            f.donation[self.targets[k]] = 0
        if self.disjoint:
            for k in range(self.n_targets):
                if not f.donation[self.targets[k]] and self.overlapped(f, self.targets[k]):
                    return False
        return True

    cdef int learn(self, Frame f) except -1:
        """Look at the storages of the constants."""
        cdef int i
        self.known = Table(self.n_inputs)
        self.donation = bytearray(self.donated)
        for i in range(self.n_inputs):
            if self.argument[i] < 0:
                self.known.add(self.storages[i])
        for i in range(self.n_targets):
            self.donation[self.targets[i]] = 2
            if self.argument[self.targets[i]] < 0 and self.known.mark(self.storages[self.targets[i]]) > 1:
                self.donation[self.targets[i]] = 0
        return 0

    cdef bint overlapped(self, Frame f, int at) noexcept:
        """Return whether another input has elements among those of this one."""
        cdef Tensor x = <Tensor>f.inputs[at], t
        cdef int64_t low, high, a, b
        cdef int i
        byte_range(x, &low, &high)
        for i in range(self.n_inputs):
            t = <Tensor>f.inputs[i]
            if i != at and t.storage is x.storage and t.numel and x.numel:
                byte_range(t, &a, &b)
                if a < high and low < b:
                    return True
        return False

    cdef bint in_target(self, Frame f, Tensor v) noexcept:
        """Return whether a tensor lies in memory that is written to."""
        cdef int k = 0
        if self.known.marked(<void*>v.storage):
            return True
        while self.written[k] >= 0:
            if (<Tensor>f.inputs[self.written[k]]).storage is v.storage:
                return True
            k += 1
        return False

    cdef int write(self, Frame f) except -1:
        """Give the targets their values. All values are those from before any write, so what shares memory with a target is copied first;
        a value that took the target's memory is there already."""
        cdef int i, n = self.n_outputs
        cdef Tensor t
        for i in range(n + self.n_targets):
            if f.outs[i] == NULL or (i >= n and f.outs[i] == f.inputs[self.targets[i - n]]):
                continue
            t = <Tensor>f.outs[i]
            if self.in_target(f, t):
                self.put(f, i, self.owner.copied(t) if t.key & K_NEEDS_GRAD else detached_copy(t))
        for i in range(self.n_targets):
            if f.outs[n + i] != f.inputs[self.targets[i]] and not takes(<Tensor>f.inputs[self.targets[i]], f.outs[n + i]):
                assign(<Tensor>f.inputs[self.targets[i]], <Tensor>f.outs[n + i])
        return 0

    cdef int put(self, Frame f, int at, Tensor output) except -1:
        cdef PyObject* old = f.outs[at]
        Py_INCREF(output)
        f.outs[at] = <PyObject*>output
        Py_XDECREF(old)
        return 0


cdef bint takes(Tensor target, PyObject* value) noexcept:
    """Have a target take the memory of a value without history that nobody else has, instead of a copy of it."""
    cdef Tensor v = <Tensor>value                        # one more reference
    return not target.kind and target.node is None and v.node is None and Py_REFCNT(value) <= 2 and take_memory(target, v)


cdef object number_in(int64_t word, int kind):
    cdef double d
    if kind == TAG_FLOAT:
        memcpy(&d, &word, 8)
        return d
    return word != 0 if kind == TAG_BOOL else word
