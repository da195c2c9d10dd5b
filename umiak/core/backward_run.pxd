"""The state of a backward run: see backward_run.pyx and docs/design/tape.md."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint32_t

from umiak.core.context cimport EngineContext
from umiak.core.node cimport Node
from umiak.core.tensor cimport Tensor

cdef object PROBE              # the profiler, see watch

cdef enum:
    FEW = 16                   # nodes for which a run needs no memory beyond itself

cdef struct Entry:
    PyObject* node             # owned
    int deps                   # consumers still to come
    int first                  # its gradients start here in `grads`
    int n_out
    int wanted                 # 0 when nothing below is asked for (grad), else 1
    int certain                # 0 when gradients in Python above may give it none

cdef class Run:
    cdef Entry few_entries[FEW]
    cdef PyObject* few_grads[FEW]
    cdef int few_stack[FEW]
    cdef int64_t id
    cdef Entry* entries
    cdef int count, capacity
    cdef PyObject** grads      # owned, NULL where none came
    cdef int n_grads, grads_capacity
    cdef int* stack
    cdef int n_stack, stack_capacity
    cdef dict overflow         # id(node) -> slot, for nodes claimed by another run
    cdef dict leaves           # id(leaf) -> [leaf, contributions to come, sum] for leaves with hooks
    cdef dict captures         # id(leaf) or (id(node), index) -> position in results
    cdef list results
    cdef list wanted           # what `grad` was asked for
    cdef set blocked           # ids of leaves, (id(node), index) of others that gradients do not pass
    cdef bint accumulate, retain, create
    cdef bint hides            # a node may reach leaves that its edges do not show
    cdef EngineContext ctx
    cdef int push(self, int slot) except -1
    cdef int find(self, Node node) except -2
    cdef int claim(self, Node node, bint certain) except -1
    cdef int discover(self, Node root) except -1
    cdef int expect(self, Tensor leaf) except -1
    cdef int mark_wanted(self) except -1
    cdef int add_to(self, int at, Tensor g) except -1
    cdef int give(self, object edge, uint32_t index, PyObject** given) except -1
    cdef int give_kept(self, object edge, uint32_t index, PyObject* g) except -1
    cdef int leaf(self, Tensor t, PyObject* g) except -1
    cdef int execute(self) except -1
    cdef int skip(self, Node node, int first, int n_out) except -1
    cdef int profiled_step(self, Node node, int first, int n_out) except -1
    cdef int step(self, Node node, int first, int n_out) except -1

cdef Run new_run(bint retain, bint create)
