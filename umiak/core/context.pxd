"""The one home of ambient state: see context.pyx."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint32_t, uint64_t

from umiak.core.place cimport PLACE_COUNT

cdef enum:
    # plan modes: part of the L1 key
    MODE_GRAD = 1
    AMP_LEVEL_SHIFT = 1      # two bits
    AMP_DTYPE_SHIFT = 3      # id of a dtype: five bits
    AMP_LISTS_SHIFT = 16     # id of custom op lists: sixteen bits
    AMP_MASK = 3 << AMP_LEVEL_SHIFT | 31 << AMP_DTYPE_SHIFT | 0xFFFFU << AMP_LISTS_SHIFT
    # observer modes: any of them takes the Python path
    OBSERVE_TRACE = 1
    OBSERVE_PROFILE = 2
    OBSERVE_NAN = 4
    OBSERVE_LOG = 8
    OBSERVE_HOOKS = 16

cdef class RankState:
    """The state that all threads of one (virtual) rank share."""
    cdef public int rank
    cdef public int default_dtype          # dtype id of Python floats
    cdef public object place               # default Place, or None until the backends are known
    cdef public dict generators            # place index -> Generator
    cdef public dict names                 # unique-name counters
    cdef public dict values                # mesh, groups, and whatever higher layers keep per rank

cdef class EngineContext:
    """The state that one thread of one rank runs under."""
    cdef uint32_t observers
    cdef uint64_t plan_mode
    cdef int64_t[PLACE_COUNT] stream        # current stream of each place, 0 is the default stream
    cdef readonly RankState state
    cdef public list trace                 # stack of tracers; the last one records
    cdef public dict values                # thread-level state of higher layers (AMP lists, sym scope, ...)
    cdef public int backward_depth
    cdef public object saved_hooks         # (pack, unpack) for tensors saved for gradients, or None
    cdef readonly object wanted            # the tensors that the running `grad` asks for; None in a `backward`, and outside of both
    cdef object run                        # the outermost backward run, while there is one
    cdef list after_run                    # what to call at its end, see tape.after_run; None: nothing
    cdef list pulses                       # what to call after each node of it and of those within; None: nothing
    cdef PyObject* running                 # the op whose outputs are being allocated (borrowed; ops live for ever)
    cdef bint holds_low                    # low-precision copies of parameters were made, see dispatch.cast_weight
    cdef int inner_place                   # where ops without tensor operands run inside of a composite or gradient; -1: the default
    cdef object __weakref__

cdef PyObject* context_pointer() except NULL    # borrowed; creates the thread's context on first use
cpdef object capture_of()
cpdef bint is_tracing()
