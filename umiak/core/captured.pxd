"""A run of a captured function: see captured.pyx."""
from libc.stdint cimport int64_t, uint32_t

from umiak.core.binding cimport Binding, Frame
from umiak.core.context cimport EngineContext
from umiak.core.generator cimport Generator
from umiak.core.tensor cimport Tensor

cdef enum:                     # what comes in the place of a gradient: NONE, GIVEN, ZEROS, ROWS for Python
    REPLACED_NONE = 0
    REPLACED_GIVEN = 1
    REPLACED_ZEROS = 2         # which are made when somebody looks at them
    REPLACED_ROWS = 3          # selected rows: two outputs, the index and the values

cdef class ScalarSource:
    """Scalars of one origin, which differ between runs. Abstract: subclasses say how they are read."""
    cdef readonly int count
    cdef int read(self, int64_t* into) except -1           # for the coming run
    cdef int undo(self) except -1                          # it failed

cdef class Stream:
    """The random words that a function draws from one generator."""
    cdef Generator generator   # None: the default one of `place`
    cdef int place
    cdef Generator find(self)

cdef class Part:
    """A program of a captured function, and where its arguments and scalars are among those of a run."""
    cdef readonly object executor
    cdef Binding binding
    cdef int* late             # leaves whose gradients come behind the arguments
    cdef int n_late
    cdef int* scalars          # by scalar of the binding: which of the run's
    cdef int n_scalars
    cdef int64_t stamp         # the binding's, when all tensors that the function knows were as they have to be
    cdef list apart            # indices of those that are no constants of the binding

cdef class Backward:
    """The gradient of a captured function as a program, and what its forward part keeps for it."""
    cdef Part part
    cdef int* saved            # inputs of the forward part, or -1 - i: its output i
    cdef int n_saved
    cdef int* wrt              # inputs of the forward part that have a gradient
    cdef int n_wrt
    cdef int* seeded           # outputs that have one
    cdef int n_seeded
    cdef list asked            # where its scalars are known from, see the class
    cdef list histories, reached
    cdef object between        # results that others depend on, a bit each
    cdef list read             # inputs that tell whether the operations can run once more
    cdef bint separate         # whether there are several histories

cdef class CapturedRun:
    cdef readonly list pinned
    cdef set apart
    cdef list leaves, kept, hooks, streams, open, constants, tensors, assigned, outer, ended
    cdef readonly list sources
    cdef bytes absent, inner, needs, dtypes
    cdef list own_leaves             # results that are leaves which the function makes
    cdef bint records, leaves_are_arguments
    cdef int* replaced         # pairs of a leaf and what comes
    cdef int n_replaced, n_results
    cdef Part plain
    cdef Part forward
    cdef readonly Backward backward
    cdef str name
    cdef list attempt(self, list arguments)
    cdef bint serves(self, list tensors, list leaves) except -1
    cdef bint keeps(self, Part part) except -1
    cdef list run_part(self, EngineContext ctx, Part part, list tensors, list leaves)
    cdef list spread(self, list results, list tensors, list leaves)
    cdef int record(self, Part part, Frame f, list results, list arguments, list scalars, list words, dict inside) except -1
