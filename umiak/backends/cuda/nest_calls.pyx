# cython: language_level=3, binding=False
"""Calls of nests whose work was prepared, from dispatch to the driver without Python.

A kernel of a nest is native and in Python at once. The native launch finds what sizes, strides and numbers of the call decide on in the
:class:`Table` of its kernel, takes scratch memory, and hands the launches to the driver. It leaves to Python (``LEFT_TO_PYTHON``) what it
does not find there, and all work of a stream that is captured or whose work is waited for one by one.
"""
cimport cython
from cpython.list cimport PyList_GET_ITEM
from cpython.tuple cimport PyTuple_GET_ITEM
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc

from umiak.backends.cuda.launch_entry cimport Entry, Given
from umiak.core.dtype cimport UINT8
from umiak.core.launches cimport LEFT_TO_PYTHON
from umiak.core.storage cimport resident
from umiak.core.stream cimport MAX_STREAMS, RUNNING, stream_state
from umiak.core.tensor cimport Tensor, new_tensor, tensor_data

cdef enum:
    MOST_READY = 256           # of one table
    BUCKETS = 64
    INLINE = 48                # pointers of a call, temporaries among them, that need no memory of their own

cdef unsigned int WAITED = 0   # why work is waited for where it is handed in, as bits: then all of it is left to Python


def wait_for_each(int bit, bint on):
    """Leave calls to Python, or do so no longer, for the reason of this number."""
    global WAITED
    WAITED = WAITED | 1u << bit if on else WAITED & ~(1u << bit)


cdef class Line:
    """A stream as launches see it: the driver's handle, and what records its work (None: nothing does)."""

    def __init__(self, int place, int64_t id, size_t handle):
        self.state = stream_state(place, id)
        self.handle = handle


@cython.final
cdef class Lines:
    """The streams of a device, its context, and the driver's ``cuCtxSetCurrent`` by its address. ``check(call, code)`` raises for a code
    of the driver's."""

    def __init__(self, int place, size_t set_current, size_t context, check not None):
        self.place = place
        self.set_current = <SetCurrent><void*>set_current
        self.context = <void*>context
        self.check = check
        self.clear()

    def add(self, int64_t id, Line line not None):
        """Know a stream."""
        if id < 0 or id >= MAX_STREAMS:
            raise ValueError(f"[add] requires a stream id in [0, {MAX_STREAMS}), got {id}")
        self.lines[id] = line

    def clear(self):
        """Forget all streams."""
        self.lines = [None] * MAX_STREAMS


@cython.final
cdef class Ready:
    """The launches of one class of sizes, with the memory that they take."""

    def __dealloc__(self):
        free(self.key)
        free(self.temporaries)
        free(self.steps)


@cython.final
cdef class Table:
    """The work that was prepared of one kernel, by the first ``n_keys`` of the integers that it asked for; the extras behind them are handed on.
    ``n_pointers``: of operands and results together."""

    def __init__(self, Lines owner not None, int n_keys, int n_extras):
        self.owner = owner
        self.n_keys, self.n_extras = n_keys, n_extras
        self.n_pointers = -1
        self.buckets = [None] * BUCKETS

    @property
    def address(self):
        """Of the native launch, whose ``self`` is this object."""
        return <size_t><void*>launch

    def add(self, tuple key not None, int n_pointers, tuple temporaries not None, list launches not None, keep):
        """Know the work of calls with these integers: bytes of temporaries, and of each launch its entry, global scratch (-1: that of
        the launch before), scratch of its units, and which extras are its first integers (from, number). ``keep`` lives as long."""
        cdef Ready r = Ready.__new__(Ready)
        cdef uint64_t h
        cdef int i
        if len(key) != self.n_keys or self.n_pointers not in (-1, n_pointers):
            raise ValueError(f"[add] requires {self.n_keys} integers and {self.n_pointers} pointers, got {len(key)} and {n_pointers}")
        r.key = <int64_t*>malloc((self.n_keys + 1) * sizeof(int64_t))
        r.temporaries = <int64_t*>malloc((len(temporaries) + 1) * sizeof(int64_t))
        r.steps = <Step*>malloc((len(launches) + 1) * sizeof(Step))
        if r.key == NULL or r.temporaries == NULL or r.steps == NULL:
            raise MemoryError()
        for i in range(self.n_keys):
            r.key[i] = key[i]
        r.n_temporaries, r.n_launches = len(temporaries), len(launches)
        for i in range(r.n_temporaries):
            r.temporaries[i] = temporaries[i]
        for i, (entry, global_scratch, local, first, count) in enumerate(launches):
            if first < 0 or count < 0 or first + count > self.n_extras or count > (<Entry?>entry).n_dims:
                raise ValueError(f"[add] requires extras among {self.n_extras}, got {count} from {first} on")
            r.steps[i].global_scratch, r.steps[i].local = global_scratch, local
            r.steps[i].first_extra, r.steps[i].n_extras = first, count
        r.entries = tuple([x[0] for x in launches])
        r.keep = keep
        if self.find(r.key) is not None:
            return
        if self.count >= MOST_READY:
            self.buckets = [None] * BUCKETS
            self.last = None
            self.count = 0
        self.n_pointers = n_pointers
        h = hashed(r.key, self.n_keys)
        r.next = self.buckets[h]
        self.buckets[h] = r
        self.count += 1

    cdef Ready find(self, const int64_t* key):
        cdef Ready r = self.last
        if r is not None and same(r.key, key, self.n_keys):
            return r
        r = self.buckets[hashed(key, self.n_keys)]
        while r is not None and not same(r.key, key, self.n_keys):
            r = r.next
        if r is not None:
            self.last = r
        return r


cdef inline bint same(const int64_t* a, const int64_t* b, int n) noexcept:
    cdef int i
    for i in range(n):
        if a[i] != b[i]:
            return False
    return True


cdef inline Py_ssize_t hashed(const int64_t* key, int n) noexcept:
    cdef uint64_t h = 0
    cdef int i
    for i in range(n):
        h = (h ^ <uint64_t>key[i]) * <uint64_t>0x9E3779B97F4A7C15
        h ^= h >> 32
    return h % BUCKETS


cdef uint64_t take(list scratch, int64_t nbytes, int place, int64_t stream) except? 0:
    """The address of scratch memory; 0 for none. It goes back to the allocator with the list: whoever gets it comes later in the stream."""
    cdef Tensor t
    if not nbytes:
        return 0
    t = new_tensor(UINT8, 1, &nbytes, place, stream)
    resident(t.storage)
    scratch.append(t)
    return <uint64_t>tensor_data(t)


cdef int put(Table table, Ready r, Line line, void** ptrs, const int64_t* extras, const uint64_t* scalars, int64_t stream) except? -1:
    cdef uint64_t[INLINE] pointers_inline
    cdef uint64_t* pointers = pointers_inline
    cdef Step* step
    cdef Lines owner = table.owner
    cdef Given given
    cdef list scratch = None
    cdef void* handle = <void*>line.handle
    cdef int i, code
    cdef int n = table.n_pointers
    given.error = given.global_scratch = given.local = 0
    given.n_pointers, given.words, given.pointers = n, scalars, <uint64_t*>ptrs
    RUNNING[owner.place] += 1                            # nothing moves while the interpreter's lock is free
    try:
        if r.n_temporaries:
            if n + r.n_temporaries > INLINE:
                pointers = <uint64_t*>malloc((n + r.n_temporaries) * sizeof(uint64_t))
                if pointers == NULL:
                    raise MemoryError()
            scratch = []
            for i in range(n):
                pointers[i] = <uint64_t>ptrs[i]
            for i in range(r.n_temporaries):
                pointers[n + i] = take(scratch, r.temporaries[i], owner.place, stream)
            given.n_pointers, given.pointers = n + r.n_temporaries, pointers
        code = owner.set_current(owner.context)          # other libraries change it
        if code:
            owner.check("cuCtxSetCurrent", code)
        for i in range(r.n_launches):
            step = &r.steps[i]
            if scratch is None and (step.global_scratch > 0 or step.local):
                scratch = []
            if step.global_scratch >= 0:
                given.global_scratch = take(scratch, step.global_scratch, owner.place, stream)
            given.local = take(scratch, step.local, owner.place, stream)
            given.n_first, given.first = step.n_extras, extras + step.first_extra
            code = (<Entry>PyTuple_GET_ITEM(r.entries, i)).put(handle, &given)
            if code:
                owner.check("cuLaunchKernel", code)
        line.state.submitted += 1                        # after the launches: a mark behind this ticket is behind them
    finally:
        RUNNING[owner.place] -= 1
        if pointers != pointers_inline:
            free(pointers)
    return 0


cdef int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) except? -1:
    """The native launch ABI, with the interpreter's lock."""
    cdef Table table = <Table>self
    cdef Line line = <Line>PyList_GET_ITEM(table.owner.lines, stream)
    cdef Ready r
    if line is None or line.capture is not None or WAITED:
        return LEFT_TO_PYTHON
    r = table.find(dims)
    if r is None:
        return LEFT_TO_PYTHON
    return put(table, r, line, ptrs, dims + table.n_keys, scalars, stream) if r.n_launches else 0
