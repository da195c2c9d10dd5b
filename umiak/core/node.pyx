# cython: language_level=3, binding=False
"""Node: one recorded call, where the gradient of its outputs comes from; handles of hooks."""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.object cimport PyObject, PyTypeObject
from cpython.tuple cimport PyTuple_New

cdef extern from *:
    """
    #include "umiak/util/object_pool.h"
    UMIAK_POOL(umiak_nodes, 256, 1, Py_TRASHCAN_BEGIN, Py_TRASHCAN_END)
    """
    object umiak_own(PyObject*)
    PyObject* umiak_nodes_take()
    void umiak_nodes_open(PyTypeObject*, void (*)(PyObject*) noexcept)


@cython.final
@cython.trashcan(True)
cdef class Node:
    """One recorded call; ``Tensor.grad_fn`` shows it. record.pyx makes it, backward_run.pyx runs it."""

    def __cinit__(self):
        self.edge_index = self.inline_index
        self.versions = self.inline_versions
        self.ints = self.inline_ints
        self.run = -1

    @property
    def name(self):
        return self.plan.op.name if self.plan is not None else str(getattr(self.python, "name", "python"))

    @property
    def next_functions(self):
        """(node or leaf tensor, output index) per operand; None where the operand needs no gradient."""
        cdef int i
        out = []
        for i in range(self.n_edges):
            e = <object>edge_at(self, i)
            out.append(None if e is None else (e, self.edge_index[i] if isinstance(e, Node) else 0))
        return tuple(out)

    def register_hook(self, hook):
        """``hook(input_grads, output_grads)`` runs after the node; a tuple it returns replaces the input grads."""
        if self.post_hooks is None:
            self.post_hooks = []
        return HookHandle(self.post_hooks, hook)

    def register_prehook(self, hook):
        """``hook(output_grads)`` runs before the node; a tuple it returns replaces the output grads."""
        if self.pre_hooks is None:
            self.pre_hooks = []
        return HookHandle(self.pre_hooks, hook)

    def __repr__(self):
        return f"<Node {self.name}>"


class HookHandle:
    """The handle of a registered hook; ``remove()`` takes the hook away again."""

    __slots__ = ("entry", "hooks")

    def __init__(self, hooks, hook):
        if not callable(hook):
            raise TypeError(f"[register_hook] requires a callable, got {type(hook).__name__}")
        self.hooks = hooks
        self.entry = [hook]                 # a list, so that equal hooks stay apart
        hooks.append(self.entry)

    def remove(self):
        """Take the hook away; False when it was gone already."""
        for i, entry in enumerate(self.hooks):
            if entry is self.entry:
                del self.hooks[i]
                return True
        return False


cdef Node new_node():
    cdef PyObject* o = umiak_nodes_take()
    return <Node>umiak_own(o) if o != NULL else Node.__new__(Node)


cdef void empty_node(PyObject* o) noexcept:
    """As a new one."""
    (<Node>o).edge_index = (<Node>o).inline_index
    (<Node>o).versions = (<Node>o).inline_versions
    (<Node>o).ints = (<Node>o).inline_ints
    (<Node>o).n_edges = (<Node>o).n_saved = (<Node>o).n_out = 0
    (<Node>o).released = (<Node>o).opaque = False
    (<Node>o).run = -1
    (<Node>o).slot = 0
    # None takes the place of None for nothing but time.
    if (<Node>o).plan is not None: (<Node>o).plan = None
    if (<Node>o).edge0 is not None: (<Node>o).edge0 = None
    if (<Node>o).edge1 is not None: (<Node>o).edge1 = None
    if (<Node>o).edge2 is not None: (<Node>o).edge2 = None
    if (<Node>o).more_edges is not None: (<Node>o).more_edges = None
    if (<Node>o).saved0 is not None: (<Node>o).saved0 = None
    if (<Node>o).saved1 is not None: (<Node>o).saved1 = None
    if (<Node>o).more_saved is not None: (<Node>o).more_saved = None
    if (<Node>o).unpack is not None: (<Node>o).unpack = None
    if (<Node>o).room is not None: (<Node>o).room = None
    if (<Node>o).in_meta is not None: (<Node>o).in_meta = None
    if (<Node>o).pre_hooks is not None: (<Node>o).pre_hooks = None
    if (<Node>o).post_hooks is not None: (<Node>o).post_hooks = None
    if (<Node>o).tensor_hooks is not None: (<Node>o).tensor_hooks = None
    if (<Node>o).retained is not None: (<Node>o).retained = None
    if (<Node>o).python is not None: (<Node>o).python = None


umiak_nodes_open(<PyTypeObject*>Node, empty_node)


cdef int make_room(Node node, int n_edges, int n_saved, int n_ints) except -1:
    """Tell how much a (fresh) node is to hold."""
    cdef int i
    node.n_edges = n_edges
    node.n_saved = n_saved
    if n_edges > 3:
        node.more_edges = PyTuple_New(n_edges - 3)
    if n_saved > 2:
        node.more_saved = PyTuple_New(n_saved - 2)
    if n_edges > NODE_ROOM or n_saved > NODE_ROOM or n_ints > NODE_ROOM:
        node.room = PyBytes_FromStringAndSize(NULL, 8 * n_ints + 4 * (n_edges + n_saved))
        node.ints = <int64_t*>PyBytes_AS_STRING(node.room)
        node.edge_index = <uint32_t*>(node.ints + n_ints)
        node.versions = node.edge_index + n_edges
    return 0
