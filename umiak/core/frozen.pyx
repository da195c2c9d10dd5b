# cython: language_level=3, binding=False
"""A call program for inputs of known sizes as a list of launches: docs/design/capture.md.

Where kernels are short, most of the time of a call program goes into tensors that nobody sees and plans that are found again. For inputs
of one class and size all of that is known after one run: which kernel each step launches, with which integers, and how long each value
lives. What is left is a list of launches over one block of scratch memory, with new tensors for the outputs alone. A run that finds
anything else than was recorded leaves it to the call program.
"""
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_Clear, PyErr_Occurred
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

cimport cython
from umiak.core.branches cimport ALWAYS, DUE, MEASURES, Branches, mode, wanted
from umiak.core.context cimport EngineContext, MODE_GRAD, context_pointer
from umiak.core.call_program cimport CallProgram, Step, StepObserver
from umiak.core.launch_list cimport Launch, play_launch
from umiak.core.launches cimport *
from umiak.core.operand cimport *
from umiak.core.plan cimport *
from umiak.core.dtype cimport BFLOAT16, FLOAT32, FLOAT64, ITEMSIZE
from umiak.core.place cimport Place, place_from_index
from umiak.core.scalar cimport ScalarProgram
from umiak.core.storage cimport RESIDENT, Storage, foreign_storage
from umiak.core.stream cimport RUNNING
from umiak.core.tensor cimport *

from umiak.core.branches import grouped

cdef extern from "umiak/util/large_pages.h":
    void* umiak_numbers(size_t n) nogil

cdef extern from "Python.h":
    int PyGC_Disable()
    int PyGC_Enable()

# What a launch on one thread is to one on all: see `install`.
APART, SAME, TO_BE_SEEN = range(3)
cdef object KIND = None
cdef OpBase COPY = None


def install(kind, OpBase copy not None):
    """``copy``: the op that makes contiguous copies. ``kind(plan)`` says whether its launches may run beside others on one thread:
    ``APART``: no; ``SAME``: yes, their bits do not depend on the number of threads; ``TO_BE_SEEN``: where that is so."""
    global KIND, COPY
    KIND = kind
    COPY = copy


cdef enum:
    R_INPUT = 0
    R_SCRATCH = 1
    R_TENSOR = 2
    MOST_STEPS = 1 << 16
    COMPARED = 256             # results that say whether a launch gives the same bits on one thread
    MOST_ROUNDS = 16

cdef uint32_t SEEN = ~<uint32_t>K_NEEDS_GRAD


cdef inline int place_of(EngineContext ctx):
    """Return the place where calls without tensors run."""
    return ctx.inner_place if ctx.inner_place >= 0 else (<Place>ctx.state.place).index


@cython.final
cdef class Scratch:
    def __dealloc__(self):
        free(self.memory)

    cdef int reserve(self, int64_t size) except -1:
        """Have memory of a size at least; what was in it is gone. Not while a run is in it, on any thread, but for that run at its end."""
        cdef void* memory = NULL
        cdef int64_t more
        if size <= self.size and self.memory != NULL:
            return 0
        if self.memory != NULL:
            more = max(size, self.size + self.size // 4)     # sizes that grow step by step do not touch new pages at each
            memory = umiak_numbers(more + 64)
            if memory != NULL:
                size = more
        if memory == NULL:
            memory = umiak_numbers(size + 64)
        if memory == NULL:
            raise MemoryError()
        free(self.memory)
        self.memory = memory
        self.data = <char*>memory
        self.size = size
        return 0


@cython.final
cdef class Frozen:
    def __dealloc__(self):
        free(self.keys)
        free(self.sizes)
        free(self.roots)
        free(self.launches)
        free(self.pointers)
        free(self.scalars)
        free(self.copied)
        free(self.targets)
        free(self.guards)
        free(self.guarded)
        free(self.room)
        free(self.arguments)
        free(self.moving)
        free(self.moved)
        free(self.all_roots)
        free(self.all_pointers)
        free(self.target_of)
        free(self.versions)

    cdef int run(self, PyObject** inputs, const int64_t* words, const int64_t* sizes, const char* donation, PyObject** outs,
                 int64_t stamp) except -1:
        """1: ``outs`` has owned references to the results, and the targets have their values; 0: this is no such run, and nothing was done.

        ``stamp`` is another one wherever an input that is no argument is not as it was.
        """
        cdef EngineContext ctx = <EngineContext>context_pointer()
        cdef ScalarProgram program = self.program.scalar_program
        cdef Tensor t
        cdef list new_tensors
        cdef int i, k, at = 0, code
        if self.scratch.busy or timed() or ctx.plan_mode & ~<uint64_t>MODE_GRAD != self.modes or place_of(ctx) != self.place:
            return 0
        for i in range(self.n_sizes):
            if sizes[i] != self.sizes[i]:
                return 0
        try:
            self.scratch.reserve(self.needed)
        except MemoryError:                              # one value at a time may fit
            return 0
        if self.donation is not None and (donation == NULL or memcmp(donation, PyBytes_AS_STRING(self.donation), self.n_inputs) != 0):
            return 0
        if self.stamp != stamp or self.located != self.scratch.data:
            self.stamp = -1
            for i in range(self.n_inputs):
                if not self.take(inputs[i], i):
                    return 0
        else:
            k = 0
            while self.arguments[k] >= 0:
                if not self.take(inputs[self.arguments[k]], self.arguments[k]):
                    return 0
                k += 1
        for op, size, entries in self.ops:
            if (<OpBase>op).capacity != <int>size or (<OpBase>op).entries < <int>entries:
                return 0
        memcpy(self.regs, words, program.n_inputs * sizeof(int64_t))
        if program.run(self.regs):
            return 0
        for i in range(self.n_guards):
            if self.regs[self.guards[i]] != self.guarded[i]:
                return 0
        self.scratch.busy = True
        try:
            new_tensors = [tensor_like(<tuple>x, ctx) for x in self.new_tensors]
            if self.stamp != stamp:
                self.locate(inputs, new_tensors, self.all_roots, self.all_pointers)
                self.stamp = stamp
                self.located = self.scratch.data
            else:
                self.locate(inputs, new_tensors, self.moving, self.moved)
            if self.branches is None and self.work < NOGIL_ELEMENTS:
                code = self.play(0, &at)
            else:
                RUNNING[self.place] += 1
                with nogil:
                    code = self.play(0, &at) if self.branches is None else self.branches.play(self.ptrs, self.regs, 0, &at)
                RUNNING[self.place] -= 1
            if code:
                self.fail(at, code, 0)
            for i in range(self.n_copied):
                memcpy(tensor_data(<Tensor>inputs[self.copied[i].target]),
                       self.bases[self.copied[i].source.root] + self.copied[i].source.offset, self.copied[i].nbytes)
            if self.branches is not None and self.branches.phase == DUE:
                try:
                    self.divide()
                except MemoryError:
                    self.branches = None                 # what needs more memory is no faster way
        finally:
            self.scratch.busy = False
        for i in range(self.n_outputs - self.n_results):
            self.versions[i][0] += 1
        for i in range(self.n_results):
            declared = self.outputs[i]
            if declared is None:
                outs[i] = NULL
                continue
            t = <Tensor>new_tensors[declared] if isinstance(declared, int) else view_like(new_tensors, <tuple>declared)
            Py_INCREF(t)
            outs[i] = <PyObject*>t
        return 1

    cdef bint take(self, PyObject* t, int i) noexcept:
        """Return whether a tensor may be input ``i``."""
        cdef int k = self.target_of[i]
        if (<Tensor>t).key & SEEN != self.keys[i] or (<Tensor>t).storage.data == NULL:
            return False
        if k >= 0:
            if (<Tensor>t).kind or (<Tensor>t).storage.later is not None:
                return False
            self.versions[k] = &(<Tensor>t).storage.version if (<Tensor>t).counter is None else &(<Tensor>t).counter.value
        return True

    cdef int locate(self, PyObject** inputs, list new_tensors, const int* roots, const int* pointers) noexcept:
        """Fill ``ptrs``, as far as they begin at these roots."""
        cdef Root* root
        cdef Pointer* p
        cdef PyObject* t
        while roots[0] >= 0:
            root = &self.roots[roots[0]]
            if root.kind == R_SCRATCH:
                self.bases[roots[0]] = self.scratch.data + root.offset
            else:
                t = inputs[root.at] if root.kind == R_INPUT else <PyObject*>new_tensors[root.at]
                self.bases[roots[0]] = tensor_data(<Tensor>t)
            roots += 1
        while pointers[0] >= 0:
            p = &self.pointers[pointers[0]]
            self.ptrs[pointers[0]] = NULL if p.root < 0 else self.bases[p.root] + p.offset
            pointers += 1
        return 0

    cdef int play(self, int64_t stream, int* at) noexcept nogil:
        """All launches; the code of one that failed, which is number ``at``."""
        cdef Launch* l = self.launches
        cdef Launch* end = l + self.n_launches
        cdef int code
        while l < end:
            code = play_launch(l, self.ptrs, self.scalars, self.regs, self.words, stream)
            if code:
                at[0] = <int>(l - self.launches)
                return code
            l += 1
        return 0

    cdef int fail(self, int at, int code, int64_t stream) except -1:
        """Raise for a launch, in the words of its op."""
        cdef Plan plan = <Plan>self.plans[at]
        cdef Launch* l = &self.launches[at]
        cdef Step* s = &self.program.steps[l.step]
        cdef list operands = []
        cdef Operand* xs
        cdef object room
        cdef int i, n_weak = 0
        for i in range(l.n_scalars):
            self.words[i] = <uint64_t>self.regs[self.scalars[l.first_scalar + i]]
        if code < 0:
            if PyErr_Occurred():
                return -1
            raise RuntimeError(f"[{plan.op.name}] kernel failed with code {code}")
        room = PyBytes_FromStringAndSize(NULL, (s.n_x + 1) * sizeof(Operand))
        xs = <Operand*>PyBytes_AS_STRING(room)
        for i, described in enumerate(self.explained[at]):
            xs[i].t = NULL
            xs[i].n_bits = 0
            if isinstance(described, tuple):
                operands.append(over(<char*>self.ptrs[l.first_ptr + i], <tuple>described, plan.place))
                xs[i].t = <PyObject*>operands[len(operands) - 1]
            else:
                xs[i].desc = described
                if described != TAG_ABSENT << K_TAG_SHIFT:
                    xs[i].n_bits = 2 if described == TAG_COMPLEX << K_TAG_SHIFT else 1
                    memcpy(xs[i].bits, self.words + n_weak, 8 * xs[i].n_bits)
                    n_weak += xs[i].n_bits
        launch_failed(plan, xs, s.n_x, self.words + n_weak, s.sig, code)
        return 0

    cdef int make_room(self) except -1:
        """Have memory for the pointers and numbers of a run."""
        self.room = malloc(8 * (self.n_roots + self.n_ptrs + self.n_words + self.program.scalar_program.n_regs + 4))
        if self.room == NULL:
            raise MemoryError()
        self.bases = <char**>self.room
        self.ptrs = <void**>(self.bases + self.n_roots + 1)
        self.words = <uint64_t*>(self.ptrs + self.n_ptrs + 1)
        self.regs = <int64_t*>(self.words + self.n_words + 1)
        self.stamp = -1
        return 0

    # ---- launches side by side ---------------------------------------------------------------------------------------
    cdef int divide(self) except -1:
        """Choose the launches that run side by side, now that it is known what each takes."""
        cdef Branches b = self.branches
        cdef list groups
        cdef dict seen = {}
        cdef int i, last
        cdef bint settled = False
        cdef int64_t scratch
        while not settled:
            groups = b.sets()
            settled = True
            for i in [i for _, _, lanes in groups for lane in lanes for i in lane]:
                if b.allowed[i] == TO_BE_SEEN:
                    key = self.written[i][0]
                    if key not in seen:
                        seen[key] = self.alike(i)
                    b.allowed[i] = SAME if seen[key] else APART
                    settled &= <bint>seen[key]
        if not groups:
            self.branches = None
            return 0
        steps = [(self.launches[<int>begin].step, self.launches[<int>end - 1].step) for begin, end, _ in groups]
        places, scratch = arranged(spread(self.spans, steps), self.program.n_steps)
        if scratch > self.most:
            self.branches = None
            return 0
        self.scratch.reserve(scratch)
        self.needed = scratch
        for root, _, _, _ in self.spans:
            self.roots[<int>root].offset = places[root]
        self.stamp = -1
        b.set_groups(groups)
        return 0

    cdef list accesses(self):
        """By launch: what it reads and what it writes, each as (memory, first byte, end). Memory: -1 the scratch memory, else a root."""
        cdef dict length = {root: nbytes for root, _, _, nbytes in self.spans}
        cdef int i, k, n_x
        cdef Pointer* p
        out = []
        for i in range(self.n_launches):
            n_x = self.launches[i].n_ptrs - (<Plan>self.plans[i]).n_out
            ranges = ([], [])
            for k in range(self.launches[i].n_ptrs):
                p = &self.pointers[self.launches[i].first_ptr + k]
                if p.root >= 0:
                    ranges[k >= n_x].append(
                        (-1, self.roots[p.root].offset, self.roots[p.root].offset + length[p.root]) if p.root in length
                        else (p.root, 0, 1))
            out.append(ranges)
        return out

    cdef bint alike(self, int at) except -1:
        """Return whether a launch gives the same bits on one thread as on all, tried with random numbers: of hundreds of results about half differ
        where long sums are added up in another order. Rounding to 16 bits would hide most of that."""
        cdef Launch* l = &self.launches[at]
        cdef Plan plan = <Plan>self.plans[at]
        cdef int n_x = l.n_ptrs - plan.n_out, i
        cdef int64_t nbytes, compared = 0, size
        cdef uint64_t state = 0x9E3779B97F4A7C15
        cdef list memory = [], together = [], alone = []
        cdef bytes room = PyBytes_FromStringAndSize(NULL, 16 * (self.n_ptrs + 1))
        cdef void** ptrs = <void**>PyBytes_AS_STRING(room)
        cdef void** others = ptrs + self.n_ptrs
        for i in range(l.n_ptrs):
            ptrs[l.first_ptr + i] = others[l.first_ptr + i] = NULL
            described = self.explained[at][i] if i < n_x else None
            if i >= n_x:
                if plan.out_dtype[i - n_x] != FLOAT32 and plan.out_dtype[i - n_x] != FLOAT64:
                    return False
                nbytes = self.written[at][1][i - n_x]
                for kept, to in ((together, 0), (alone, 1)):
                    kept.append(PyByteArray_FromStringAndSize(NULL, nbytes + 64))
                    memset(PyByteArray_AS_STRING(kept[len(kept) - 1]), 0, nbytes + 64)
                ptrs[l.first_ptr + i] = aligned(together[i - n_x])
                others[l.first_ptr + i] = aligned(alone[i - n_x])
            elif isinstance(described, tuple):
                dtype, shape, strides = described
                if (shape and min(strides) < 0) or dtype not in (FLOAT32, FLOAT64, BFLOAT16):
                    return False
                nbytes = ITEMSIZE[<int>dtype] * (1 + sum([s * (n - 1) for n, s in zip(shape, strides) if n > 1]))
                memory.append((PyByteArray_FromStringAndSize(NULL, nbytes + 64), nbytes, dtype))
                ptrs[l.first_ptr + i] = others[l.first_ptr + i] = aligned(memory[len(memory) - 1][0])
        while compared < COMPARED:
            for operand, nbytes, dtype in memory:
                fill_random(aligned(operand), nbytes // ITEMSIZE[<int>dtype], dtype, &state)
            if not self.branches.alone_is_alike(at, ptrs, others, self.regs):
                PyErr_Clear()
                return False
            for i in range(len(together)):
                size = self.written[at][1][i]
                if memcmp(aligned(together[i]), aligned(alone[i]), size) != 0:
                    return False
                compared += max(size // 4, COMPARED // MOST_ROUNDS)
        return True


cdef inline void* aligned(object memory):
    return <void*>((<size_t>PyByteArray_AS_STRING(memory) + 63) & ~<size_t>63)


cdef int fill_random(void* data, int64_t n, int dtype, uint64_t* state) noexcept:
    """Numbers from -1 to 1."""
    cdef int64_t i
    cdef uint64_t s = state[0]
    cdef float f
    cdef uint32_t word
    for i in range(n):
        s ^= s << 13
        s ^= s >> 7
        s ^= s << 17
        f = <float>(<int64_t>s >> 40) / 8388608.0
        if dtype == FLOAT32:
            (<float*>data)[i] = f
        elif dtype == FLOAT64:
            (<double*>data)[i] = f
        else:
            memcpy(&word, &f, 4)
            (<uint16_t*>data)[i] = <uint16_t>(word >> 16)
    state[0] = s
    return 0


cdef Tensor tensor_like(tuple declared_tensor, EngineContext ctx):
    cdef int64_t[K_RANK_MASK + 1] dims
    cdef int i, n
    dtype, place, shape = declared_tensor
    n = len(<tuple>shape)
    for i in range(n):
        dims[i] = (<tuple>shape)[i]
    return new_tensor(dtype, n, dims, place, ctx.stream[<int>place])


cdef Tensor view_like(list new_tensors, tuple declared):
    cdef int64_t[K_RANK_MASK + 1] dims
    cdef int64_t[K_RANK_MASK + 1] strides
    cdef int i, n
    at, shape, steps, offset = declared
    n = len(<tuple>shape)
    for i in range(n):
        dims[i] = (<tuple>shape)[i]
        strides[i] = (<tuple>steps)[i]
    return new_view(<Tensor>new_tensors[at], n, dims, strides, offset)


cdef Tensor over(char* data, tuple described, int place):
    """A tensor over memory that is somebody's, for a message."""
    cdef int64_t[K_RANK_MASK + 1] dims
    cdef int64_t none = 0
    cdef Tensor memory
    dtype, shape, strides = described
    memory = new_tensor(dtype, 1, &none, place, 0)
    memory.storage = foreign_storage(place, data, 1 << 62, None)
    return view_like([memory], (0, shape, strides, 0))


# ---- recording -------------------------------------------------------------------------------------------------------
cdef Plan plan_of(OpBase op, Operand* xs, int n, uint64_t sig, EngineContext ctx):
    """The plan that a call without a gradient has, as dispatch finds it; None where there is none."""
    cdef uint32_t[INLINE_X] descs
    cdef uint64_t modes = ctx.plan_mode & ~<uint64_t>MODE_GRAD, h
    cdef bint tensor = False
    cdef Plan plan
    cdef int i, j
    if n > INLINE_X or not op.capacity:
        return None
    for i in range(n):
        if xs[i].t != NULL:
            tensor = True
            descs[i] = (<Tensor>xs[i].t).key & SEEN
        else:
            descs[i] = xs[i].desc
    if not tensor:
        modes |= <uint64_t>(place_of(ctx) + 1) << 40
    h = key_hash(descs, n, modes, sig)
    j = h & (op.capacity - 1)
    while op.slots[j] != NULL:
        if op.hashes[j] == h:
            plan = <Plan>op.slots[j]
            if plan.n_descs == n and plan.modes == modes and plan.sig == sig and same_words(plan.descs, descs, n):
                return plan
        j = (j + 1) & (op.capacity - 1)
    return None


cdef Plan copying(Operand* xs):
    """The plan that makes a contiguous copy of an operand."""
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef uint64_t modes = ctx.plan_mode
    ctx.plan_mode = 0
    try:
        return plan_of(COPY, xs, 1, 0, ctx)
    finally:
        ctx.plan_mode = modes


cdef bint reads(ScalarProgram program, Plan plan, int register):
    """Return whether sizes or integers of a launch are computed from a register."""
    cdef int i, k = 0
    for i in range(program.n_code):
        if program.code[i].a == register or program.code[i].b == register or program.code[i].c == register:
            return True
    for i in range(plan.n_out):
        for _ in range(plan.out_rank[i]):
            if plan.out_regs[k] == register:
                return True
            k += 1
    for i in range(max(plan.n_dims, 0)):
        if plan.dims[i] == register:
            return True
    return plan.n_dims < 0


cdef inline bint is_constant(ScalarProgram program, int register):
    return program.n_inputs <= register < program.n_inputs + program.n_const


cdef tuple as_tuple(const int64_t* values, int n):
    return tuple([values[i] for i in range(n)])


cdef tuple memory_of(Tensor t):
    """(dtype, place, shape, bytes, whether it is all of its memory)"""
    cdef int dtype = t.key & K_DTYPE_MASK
    cdef bint covers = not t.offset and not (t.key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK and t.storage.nbytes == t.numel * ITEMSIZE[dtype]
    return dtype, <int>((t.key >> K_PLACE_SHIFT) & K_PLACE_MASK), as_tuple(t.dims, t.ndim), t.storage.nbytes, covers


cdef bint of_one_shape(list tensors):
    cdef Tensor first, t
    if not tensors:
        return False
    first = <Tensor>tensors[0]
    for x in tensors:
        t = <Tensor>x
        if t.ndim != first.ndim or memcmp(t.dims, first.dims, 8 * t.ndim) != 0:
            return False
    return True


@cython.final
cdef class LaunchCollector(StepObserver):
    """A run as far as it is known; ``replayable`` is False once something came that is not a launch or a view."""
    cdef CallProgram program
    cdef bint replayable
    cdef dict roots            # id of a storage -> number
    cdef list kinds            # by root: (R_INPUT, number, bytes where it begins, None) or (R_SCRATCH, step, 0, what it is)
    cdef list last             # by root: the last step that uses it
    cdef list launches         # (plan, step, flat, elements, dims, pointers, registers, descriptions)
    cdef dict guards           # registers whose values count, in order
    cdef list sizes            # by launch: the bytes of what it writes
    cdef set shared            # ids of storages that several inputs have

    cdef object pointer(self, Tensor t, int code, int step):
        """(root, offset) of a tensor; None where it is not known."""
        cdef object root = code if 0 <= code < self.program.n_inputs else self.roots.get(<size_t><void*>t.storage)
        if root is None or (code >= self.program.n_inputs and <size_t><void*>t.storage in self.shared):
            self.replayable = False
            return None
        self.last[root] = step
        return root, t.offset - self.kinds[root][2]

    cdef int step(self, int i, Operand* xs, PyObject** outs, bint into, uint64_t* params) except -1:
        """Record a step that was run."""
        cdef CallProgram p = self.program
        cdef Step* s = &p.steps[i]
        cdef Plan plan
        cdef list results, tensors
        cdef list dims = None, pointers = [], registers = [], described = []
        cdef uint64_t* pack
        cdef int64_t* regs
        cdef PyObject* row_outs[MAX_OUT + 1]
        cdef Tensor t
        cdef int k, j = 0, code, n_params = s.n_params
        cdef bint flat = False, scalars = False
        if not self.replayable:
            return 0
        plan = plan_of(<OpBase>p.ops[i], xs, s.n_x, s.sig, <EngineContext>context_pointer())
        results = [<object>outs[k] for k in range(s.n_out)]
        tensors = [<object>xs[k].t for k in range(s.n_x) if xs[k].t != NULL]
        if plan is None or plan.has_streams:
            self.replayable = False
            return 0
        if len(results) == 1 and not into and any([results[0] is x for x in tensors]):
            return 0                                     # it gave its operand
        if plan.kind == PLAN_VIEW or plan.kind == PLAN_RESHAPE:
            # Places and sizes of what is seen follow from numbers of the run.
            for k in range(n_params):
                self.guard(s.params[k])
            for k in range(s.n_x):
                if xs[k].t == NULL and xs[k].n_bits:
                    self.guard(p.scalar_reg[-2 - s.x[k]])
                    if xs[k].n_bits == 2:
                        self.guard(p.scalar_reg2[-2 - s.x[k]])
        if plan.kind == PLAN_RESHAPE and not into and (<Tensor>results[0]).storage is not (<Tensor>xs[0].t).storage:
            plan, n_params = copying(xs), 0              # strides allowed no view
            if plan is None:
                self.replayable = False
                return 0
        if plan.kind == PLAN_VIEW or plan.kind == PLAN_RESHAPE:
            if into or (<Tensor>results[0]).storage is not (<Tensor>xs[0].t).storage:
                self.replayable = False
            elif s.x[0] >= 0:
                self.pointer(<Tensor>xs[0].t, s.x[0], i)
            return 0
        for k in range(s.n_x):
            # Those that are constants fit now as ever.
            scalars |= xs[k].t == NULL and xs[k].n_bits > 0 and not is_constant(p.scalar_program, p.scalar_reg[-2 - s.x[k]])
        for k in range(len(results)):
            row_outs[k] = <PyObject*>results[k]
        row_outs[len(results)] = NULL
        if plan.kind != PLAN_LAUNCH or plan.launch == NULL or plan.n_out != plan.n_visible or plan.n_out != <int>len(results) or \
                plan.shape is None or (plan.bounded and scalars) or (into and plan.n_dims >= 0 and not writes_directly(plan, xs, s.n_x, row_outs)):
            self.replayable = False
            return 0
        # As `run_native` and `run` choose.
        if plan.native and plan.elementwise and plan.flat != NULL and of_one_shape(tensors):
            flat = True
        elif plan.elementwise and plan.n_dims < 0 and of_one_shape(tensors):
            t = <Tensor>tensors[0]
            dims = list(as_tuple(t.dims, t.ndim))
        else:
            pack = <uint64_t*>malloc((2 * s.n_x + n_params + plan.shape.n_regs + 2) * 8)
            if pack == NULL:
                raise MemoryError()
            try:
                for k in range(s.n_x):
                    if xs[k].t == NULL:
                        memcpy(pack + j, xs[k].bits, 8 * xs[k].n_bits)
                        j += xs[k].n_bits
                memcpy(pack + j, params, 8 * n_params)
                regs = <int64_t*>(pack + 2 * s.n_x + n_params)
                load_sources(plan.sources, plan.n_sources, xs, pack, regs)
                if plan.shape.run(regs):
                    self.replayable = False
                    return 0
                if plan.n_dims >= 0:
                    dims = [regs[plan.dims[k]] for k in range(plan.n_dims)]
                else:
                    dims = [regs[k] for k in range(plan.shape.n_regs)]
            finally:
                free(pack)
        for k in range(s.n_x):
            code = s.x[k]
            if xs[k].t != NULL:
                t = <Tensor>xs[k].t
                pointers.append(self.pointer(t, code, i))
                described.append((<int>(t.key & K_DTYPE_MASK), as_tuple(t.dims, t.ndim), as_tuple(t.strides, t.ndim)))
                continue
            pointers.append((-1, 0))
            described.append(<int>xs[k].desc)
            if xs[k].n_bits:
                registers.append(p.scalar_reg[-2 - code])
                if xs[k].n_bits == 2:
                    registers.append(p.scalar_reg2[-2 - code])
        for k in range(n_params):
            registers.append(s.params[k])
        if dims is not None:
            for k in range(plan.n_sources):
                if plan.sources[k].operand < 0 and reads(plan.shape, plan, k):
                    self.guard(registers[plan.sources[k].axis])
        for k in range(len(results)):
            t = <Tensor>results[k]
            if not (into and any([t.storage is (<Tensor>x).storage for x in tensors])):
                # New memory; a storage that was freed meanwhile may have had this address.
                self.roots[<size_t><void*>t.storage] = len(self.kinds)
                self.kinds.append((R_SCRATCH, i, 0, memory_of(t)))
                self.last.append(i)
            pointers.append(self.pointer(t, -1 if not into else self.input_of(t), i))
        self.sizes.append([(<Tensor>x).numel * ITEMSIZE[(<Tensor>x).key & K_DTYPE_MASK] for x in results])
        self.launches.append((plan, i, flat, (<Tensor>results[0]).numel, dims, pointers, registers, described))
        return 0

    cdef int guard(self, int register) except -1:
        """Have the list serve only runs in which a register has the value of this one."""
        if not is_constant(self.program.scalar_program, register):
            self.guards[register] = None
        return 0

    cdef int input_of(self, Tensor t):
        """The number of the input that a tensor which was written to is; -1: none."""
        cdef object root = self.roots.get(<size_t><void*>t.storage)
        return root if root is not None and root < self.program.n_inputs else -1


cdef Frozen freeze(CallProgram p, PyObject** inputs, const int64_t* words, const int64_t* sizes, int n_sizes, const char* donation,
                   const int* targets, int n_targets, const int* arguments, PyObject** outs, int64_t most, Scratch scratch, bint rehearsed):
    """Run a call program and record it; None where it cannot be frozen, or needs more than ``most`` bytes of scratch memory.

    ``rehearsed``: launch nothing, and leave nothing in ``outs``; what goes wrong is left to a run. For programs that were frozen for other
    sizes and write to no input.
    """
    cdef Frozen f = None
    cdef LaunchCollector r = LaunchCollector.__new__(LaunchCollector)
    cdef Tensor t
    cdef int i
    cdef bint collects
    r.program = p
    r.replayable = p.n_steps <= MOST_STEPS
    r.roots, r.kinds, r.last, r.launches, r.guards, r.sizes, r.shared = {}, [], [], [], {}, [], set()
    for i in range(p.n_inputs):
        t = <Tensor>inputs[i]
        if (t.key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK:
            r.replayable = False
        if <size_t><void*>t.storage in r.roots:
            r.shared.add(<size_t><void*>t.storage)
        r.roots.setdefault(<size_t><void*>t.storage, i)
        r.kinds.append((R_INPUT, i, t.offset, None))
        r.last.append(-1)
    if not rehearsed:
        p.replay(inputs, words, outs, FLAG_INNER, donation, r)
        return frozen_of(r, inputs, words, sizes, n_sizes, donation, targets, n_targets, arguments, outs, most, scratch) if r.replayable else None
    collects = PyGC_Disable()                            # finalizers compute, too, and would launch nothing
    try:
        rehearse(True)
        try:
            p.replay(inputs, words, outs, FLAG_INNER, donation, r)
        finally:
            rehearse(False)
        if r.replayable:
            f = frozen_of(r, inputs, words, sizes, n_sizes, donation, targets, n_targets, arguments, outs, most, scratch)
    except Exception:                                    # a run that launches says what went wrong, with the names of its call
        pass
    finally:
        if collects:
            PyGC_Enable()
        for i in range(p.n_outputs):
            Py_XDECREF(outs[i])
            outs[i] = NULL
    return f


cdef Frozen frozen_of(LaunchCollector r, PyObject** inputs, const int64_t* words, const int64_t* sizes, int n_sizes, const char* donation,
                      const int* targets, int n_targets, const int* arguments, PyObject** outs, int64_t most, Scratch memory):
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef CallProgram p = r.program
    cdef Frozen f = Frozen.__new__(Frozen)
    cdef Tensor t
    cdef list new_tensors = [], outputs = [], copied = []
    cdef dict tensors = {}     # root -> number of a new tensor
    cdef int i, k, root, n_ptrs = 0, n_scalars = 0, most_scalars = 1, n_results = p.n_outputs - n_targets
    cdef int64_t scratch
    for i in range(p.n_outputs):
        if outs[i] == NULL:
            if i >= n_results:
                return None
            outputs.append(None)
            continue
        t = <Tensor>outs[i]
        if i >= n_results and outs[i] == inputs[targets[i - n_results]]:
            continue
        root_or_none = r.roots.get(<size_t><void*>t.storage)
        if root_or_none is None or r.kinds[root_or_none][0] == R_INPUT or t.kind:
            return None
        root = root_or_none
        dtype, place, shape, _, covers = r.kinds[root][3]
        if i >= n_results:
            t = <Tensor>inputs[targets[i - n_results]]
            if (t.key ^ (<Tensor>outs[i]).key) & (K_DTYPE_MASK | K_RANK_MASK << K_RANK_SHIFT | K_LAYOUT_MASK << K_LAYOUT_SHIFT) or t.kind or \
                    (t.key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK or memcmp(t.dims, (<Tensor>outs[i]).dims, 8 * t.ndim) != 0:
                return None
            copied.append((root, (<Tensor>outs[i]).offset, targets[i - n_results], t.numel * ITEMSIZE[t.key & K_DTYPE_MASK]))
            r.last[root] = p.n_steps
            continue
        if root not in tensors:
            if not covers:
                return None
            tensors[root] = len(new_tensors)
            new_tensors.append((dtype, place, shape))
        if (t.key & K_DTYPE_MASK) != <uint32_t>dtype:
            return None
        if as_tuple(t.dims, t.ndim) == shape and not t.offset and not (t.key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK:
            outputs.append(tensors[root])
        else:
            outputs.append((tensors[root], as_tuple(t.dims, t.ndim), as_tuple(t.strides, t.ndim), t.offset))
    spans = [(i, kind[1], r.last[i], (<int64_t>kind[3][3] + 63) & ~<int64_t>63 or 64)
             for i, kind in enumerate(r.kinds) if kind[0] == R_SCRATCH and i not in tensors]
    places, scratch = arranged(spans, p.n_steps)
    if scratch > most:
        return None
    f.program = p
    f.scratch, f.needed = memory, scratch                # had when a list runs: now one of another thread may be in it
    f.modes = ctx.plan_mode & ~<uint64_t>MODE_GRAD
    f.place = place_of(ctx)
    f.n_inputs, f.n_sizes, f.n_roots, f.n_launches = p.n_inputs, n_sizes, <int>len(r.kinds), <int>len(r.launches)
    f.n_outputs, f.n_results, f.n_copied, f.n_guards = p.n_outputs, n_results, <int>len(copied), <int>len(r.guards)
    f.new_tensors, f.outputs = new_tensors, outputs
    f.donation = None if donation == NULL else donation[:p.n_inputs]
    f.plans = [x[0] for x in r.launches]
    f.explained = [x[7] for x in r.launches]
    f.ops = [(op, (<OpBase>op).capacity, (<OpBase>op).entries) for op in {id(x): x for x in p.ops}.values()]
    for x in r.launches:
        n_ptrs += len(x[5])
        n_scalars += len(x[6])
        most_scalars = max(most_scalars, <int>len(x[6]))
    f.keys = <uint32_t*>calloc(f.n_inputs + 1, sizeof(uint32_t))
    f.sizes = <int64_t*>calloc(n_sizes + 1, 8)
    f.roots = <Root*>calloc(f.n_roots + 1, sizeof(Root))
    f.launches = <Launch*>calloc(f.n_launches + 1, sizeof(Launch))
    f.pointers = <Pointer*>calloc(n_ptrs + 1, sizeof(Pointer))
    f.scalars = <int*>calloc(n_scalars + 1, sizeof(int))
    f.copied = <Copied*>calloc(f.n_copied + 1, sizeof(Copied))
    f.targets = <int*>calloc(n_targets + 1, sizeof(int))
    f.guards = <int*>calloc(f.n_guards + 1, sizeof(int))
    f.guarded = <int64_t*>calloc(f.n_guards + 1, 8)
    f.n_ptrs, f.n_words, f.spans, f.most = n_ptrs, most_scalars, spans, most
    if f.keys == NULL or f.sizes == NULL or f.roots == NULL or f.launches == NULL or f.pointers == NULL or f.scalars == NULL or \
            f.copied == NULL or f.targets == NULL or f.guards == NULL or f.guarded == NULL:
        raise MemoryError()
    f.make_room()
    for i in range(f.n_inputs):
        f.keys[i] = (<Tensor>inputs[i]).key & SEEN
    memcpy(f.sizes, sizes, 8 * n_sizes)
    for i in range(n_targets):
        f.targets[i] = targets[i]
    for i in range(f.n_roots):
        f.roots[i].kind = r.kinds[i][0]
        f.roots[i].at = r.kinds[i][1]
        if i in tensors:
            f.roots[i].kind = R_TENSOR
            f.roots[i].at = tensors[i]
        elif f.roots[i].kind == R_SCRATCH:
            f.roots[i].offset = places[i]
    coming = []
    while arguments[len(coming)] >= 0:
        coming.append(arguments[len(coming)])
    f.stamp = -1
    f.arguments = int_array([*coming, -1])
    moving = {i for i in range(f.n_roots) if f.roots[i].kind == R_TENSOR or (f.roots[i].kind == R_INPUT and f.roots[i].at in coming)}
    f.moving = int_array([*sorted(moving), -1])
    f.all_roots = int_array([*range(f.n_roots), -1])
    f.moved = int_array([*(i for i, root in enumerate(x[0] for l in r.launches for x in l[5]) if root in moving), -1])
    f.all_pointers = int_array([*range(n_ptrs), -1])
    position = {targets[i]: i for i in range(n_targets)}
    f.target_of = int_array([position.get(i, -1) for i in range(f.n_inputs)])
    f.versions = <uint32_t**>calloc(n_targets + 1, sizeof(uint32_t*))
    if f.versions == NULL:
        raise MemoryError()
    memcpy(f.regs, words, 8 * p.scalar_program.n_inputs)
    p.scalar_program.run(f.regs)                         # its checks have been passed
    for i, register in enumerate(r.guards):
        f.guards[i] = register
        f.guarded[i] = f.regs[<int>register]
    for i, (root, offset, target, nbytes) in enumerate(copied):
        f.copied[i].source.root = root
        f.copied[i].source.offset = offset
        f.copied[i].target = target
        f.copied[i].nbytes = nbytes
    f.dims = []
    n_ptrs = n_scalars = 0
    for i, (plan, step, flat, elements, dims, pointers, registers, _) in enumerate(r.launches):
        f.launches[i].launch = (<Plan>plan).launch
        f.launches[i].flat = (<Plan>plan).flat if flat else NULL
        f.launches[i].self = (<Plan>plan).launch_self
        f.launches[i].elements = elements
        f.launches[i].step = step
        f.launches[i].n_ptrs, f.launches[i].first_ptr = <int>len(pointers), n_ptrs
        f.launches[i].n_scalars, f.launches[i].first_scalar = <int>len(registers), n_scalars
        f.work += elements
        if dims is not None:
            f.dims.append(PyBytes_FromStringAndSize(NULL, 8 * len(dims) + 8))
            f.launches[i].dims = <int64_t*>PyBytes_AS_STRING(f.dims[len(f.dims) - 1])
            for k in range(len(dims)):
                f.launches[i].dims[k] = dims[k]
        for root, offset in pointers:
            f.pointers[n_ptrs].root = root
            f.pointers[n_ptrs].offset = offset
            n_ptrs += 1
        for register in registers:
            f.scalars[n_scalars] = register
            n_scalars += 1
    if wanted() and place_from_index(f.place).device_type == "cpu":
        f.branches = branches_of(f, r)
    return f


cdef Branches branches_of(Frozen f, LaunchCollector r):
    """Launches that may run side by side; None where each needs the one before it."""
    cdef Branches b = Branches.__new__(Branches)
    cdef int i, k, n_out
    cdef dict writer = {}, readers = {}    # root -> launches
    b.before, b.allowed = [], []
    f.written = []
    for i, (plan, _, _, elements, dims, pointers, _, _) in enumerate(r.launches):
        n_out = (<Plan>plan).n_out
        read = {root for root, _ in pointers[:len(pointers) - n_out] if root >= 0}
        write = {root for root, _ in pointers[len(pointers) - n_out:]}
        after = {writer[root] for root in read | write if root in writer}
        after.update([launch for root in write for launch in readers.get(root, ())])
        after.discard(i)
        b.before.append(sorted(after))
        for root in read:
            readers.setdefault(root, []).append(i)
        for root in write:
            writer[root], readers[root] = i, []
        # Where an input is written to, another one may be in the same memory, unless it is the run's to give away.
        b.allowed.append(KIND(plan))
        for k in write:
            if r.kinds[k][0] == R_INPUT and (f.donation is None or PyBytes_AS_STRING(f.donation)[k] != 2):
                b.allowed[i] = APART
        f.written.append(((id(plan), elements, None if dims is None else tuple(dims)), r.sizes[i]))
    b.launches, b.scalars, b.n_launches = f.launches, f.scalars, f.n_launches
    b.n_words = (f.n_words + 8) & ~7
    b.alone = <int64_t*>malloc((f.n_launches + 1) * 8)
    b.together = <int64_t*>malloc((f.n_launches + 1) * 8)
    b.words = <uint64_t*>malloc(b.n_words * 8)
    if b.alone == NULL or b.together == NULL or b.words == NULL:
        raise MemoryError()
    for i in range(f.n_launches):
        b.alone[i] = b.together[i] = INT64_MAX
    if not grouped(b.before, [1] * f.n_launches, [2] * f.n_launches, b.allowed, f.n_launches + 1, 0):
        return None
    b.phase = DUE if mode() == ALWAYS else MEASURES
    return b


cdef tuple arranged(list spans, int n_steps):
    """(place in the scratch memory by root, its size): what lives at the same time lies apart."""
    cdef list ends = [[] for _ in range(n_steps + 1)], starts = [[] for _ in range(n_steps + 1)]
    cdef dict places = {}
    cdef list free_parts = []  # (begin, end), in order
    cdef int64_t top = 0, begin, size
    cdef int step
    for span in spans:
        starts[<int>span[1]].append(span)
        ends[<int>span[2]].append(span)
    for step in range(n_steps):
        for root, _, _, size in starts[step]:
            for i, (a, b) in enumerate(free_parts):
                if b - a >= size:
                    places[root] = a
                    free_parts[i:i + 1] = [(a + size, b)] if b - a > size else []
                    break
            else:
                places[root] = top
                top += size
        for root, _, _, size in ends[step]:
            begin = places[root]
            free_parts.append((begin, begin + size))
        if ends[step]:
            free_parts = joined(sorted(free_parts))
    return places, top


cdef list spread(list spans, list steps):
    """The spans where all that a group touches lives as long as the group: its lanes are in no order."""
    cdef list out = []
    cdef int first, last, begin, end
    for root, first, last, size in spans:
        for begin, end in steps:
            if first <= end and last >= begin:
                first, last = min(first, begin), max(last, end)
        out.append((root, first, last, size))
    return out


cdef list joined(list parts):
    cdef list merged = []
    for a, b in parts:
        if merged and merged[len(merged) - 1][1] == a:
            merged[len(merged) - 1] = (merged[len(merged) - 1][0], b)
        else:
            merged.append((a, b))
    return merged
