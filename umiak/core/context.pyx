# cython: language_level=3, binding=False
"""All ambient state, behind one thread-local pointer.

A thread runs under an EngineContext; threads of one (virtual) rank share its RankState. Nothing ambient is a module
global, so a virtual rank is simply another RankState, and two threads never see each other's grad mode.
"""
import threading
import weakref

from umiak.core.dtype cimport FLOAT32
from umiak.core.place cimport PLACE_COUNT, Place, place_from_index


cdef extern from "tls.h":
    PyObject* UMIAK_CONTEXT

cdef object _keep = threading.local()      # owns each thread's context until the thread ends
cdef object _living = weakref.WeakSet()    # every context there is
cdef uint32_t _everywhere = 0              # observer bits that are set in all of them


cdef class RankState:
    """The state that all threads of one (virtual) rank share."""

    def __init__(self, int rank=0):
        self.rank = rank
        self.default_dtype = FLOAT32
        self.place = None
        self.generators = {}
        self.names = {}
        self.values = {}


cdef class EngineContext:
    """The state that one thread of one rank runs under."""

    def __init__(self, RankState state not None):
        self.state = state
        self.plan_mode = MODE_GRAD
        self.inner_place = -1
        self.trace = []
        self.values = {}
        self.observers = _everywhere
        _living.add(self)

    def __dealloc__(self):
        global UMIAK_CONTEXT
        if UMIAK_CONTEXT == <PyObject*>self:             # the thread's Python state ended before the thread
            UMIAK_CONTEXT = NULL

    @property
    def grad_enabled(self):
        return (self.plan_mode & MODE_GRAD) != 0

    @grad_enabled.setter
    def grad_enabled(self, bint on):
        if on:
            self.plan_mode |= MODE_GRAD
        else:
            self.plan_mode &= ~<uint64_t>MODE_GRAD

    @property
    def observers(self):
        return self.observers

    @observers.setter
    def observers(self, uint32_t bits):
        self.observers = bits

    @property
    def plan_mode(self):
        return self.plan_mode

    @plan_mode.setter
    def plan_mode(self, uint64_t bits):
        self.plan_mode = bits

    def set_amp(self, int level, int dtype_id, int custom=0):
        """Set the mixed-precision mode: ``level`` 0 (off), 1 or 2; ``custom`` names a registered pair of op lists."""
        if not (0 <= level <= 2 and 0 <= dtype_id < 32 and 0 <= custom < 65536):
            raise ValueError(f"[set_amp] requires level 0..2, dtype id < 32, list id < 65536, got {(level, dtype_id, custom)}")
        self.plan_mode &= ~<uint64_t>AMP_MASK
        if level:
            self.plan_mode |= (<uint64_t>level << AMP_LEVEL_SHIFT) | (<uint64_t>dtype_id << AMP_DTYPE_SHIFT) | (<uint64_t>custom << AMP_LISTS_SHIFT)

    def amp(self):
        """(level, dtype id, custom list id)"""
        return ((self.plan_mode >> AMP_LEVEL_SHIFT) & 3, (self.plan_mode >> AMP_DTYPE_SHIFT) & 31, (self.plan_mode >> AMP_LISTS_SHIFT) & 65535)

    @property
    def place(self):
        """The place where ops without tensor operands run: the default place, or the place of the composite or gradient around them."""
        return self.state.place if self.inner_place < 0 else place_from_index(self.inner_place)

    def get_stream(self, Place place not None):
        return self.stream[place.index]

    def set_stream(self, Place place not None, int64_t stream):
        cdef int64_t old = self.stream[place.index]
        self.stream[place.index] = stream
        return old

    def fork(self):
        """A context for another thread of the same rank, with this one's modes."""
        cdef EngineContext c = EngineContext(self.state)
        cdef int i
        c.plan_mode = self.plan_mode
        c.observers = self.observers & ~<uint32_t>OBSERVE_TRACE      # the trace stays with this thread
        for i in range(PLACE_COUNT):
            c.stream[i] = self.stream[i]
        c.values = {key: list(value) if isinstance(value, list) else value for key, value in self.values.items()}
        return c

    def activate(self):
        """Make this the calling thread's context; return the one it replaces (or None)."""
        global UMIAK_CONTEXT
        old = <object>UMIAK_CONTEXT if UMIAK_CONTEXT != NULL else None
        _keep.context = self
        UMIAK_CONTEXT = <PyObject*>self
        return old


# The process's own rank. Threads that nobody gave a context run under it.
cdef RankState _root = RankState(0)


cdef PyObject* context_pointer() except NULL:
    if UMIAK_CONTEXT == NULL:
        EngineContext(_root).activate()
    return UMIAK_CONTEXT


def current():
    """The calling thread's context."""
    return <object>context_pointer()


cpdef object capture_of():
    """The tracer of the function that is being captured, which turns gradients into operations; None outside of one."""
    cdef EngineContext c = <EngineContext>context_pointer()
    if c.observers & OBSERVE_TRACE and c.trace and c.trace[len(c.trace) - 1].captures:
        return c.trace[len(c.trace) - 1]
    return None


cpdef bint is_tracing():
    """Return whether calls are recorded in a program."""
    return (<EngineContext>context_pointer()).observers & OBSERVE_TRACE != 0


def observe_everywhere(uint32_t bits, bint on):
    """Set observer bits in the contexts of all threads, those to come included; or clear them."""
    global _everywhere
    _everywhere = _everywhere | bits if on else _everywhere & ~bits
    for c in list(_living):
        (<EngineContext>c).observers = (<EngineContext>c).observers & ~bits | (_everywhere & bits)


def new_rank(int rank):
    """A context of a new virtual rank: its own generators, names, default dtype, groups."""
    cdef RankState s = RankState(rank)
    s.place = _root.place
    return EngineContext(s)


cdef class place_guard:
    """``with place_guard(place):`` — calls without tensor operands run there; None changes nothing."""
    cdef Place place
    cdef int saved

    def __init__(self, Place place):
        self.place = place

    def __enter__(self):
        cdef EngineContext c = <EngineContext>context_pointer()
        self.saved = c.inner_place
        if self.place is not None:
            c.inner_place = self.place.index

    def __exit__(self, *exc):
        cdef EngineContext c = <EngineContext>context_pointer()
        c.inner_place = self.saved
        return False


cdef class no_grad_guard:
    """``with no_grad_guard():`` — calls inside are not recorded."""
    cdef uint64_t saved

    def __enter__(self):
        cdef EngineContext c = <EngineContext>context_pointer()
        self.saved = c.plan_mode & MODE_GRAD
        c.plan_mode &= ~<uint64_t>MODE_GRAD

    def __exit__(self, *exc):
        cdef EngineContext c = <EngineContext>context_pointer()
        c.plan_mode |= self.saved
        return False


globals().update(
    MODE_GRAD=MODE_GRAD, AMP_MASK=AMP_MASK, OBSERVE_TRACE=OBSERVE_TRACE, OBSERVE_PROFILE=OBSERVE_PROFILE, OBSERVE_NAN=OBSERVE_NAN,
    OBSERVE_LOG=OBSERVE_LOG, OBSERVE_HOOKS=OBSERVE_HOOKS)
