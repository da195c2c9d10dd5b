"""A recorded call, and its edges and saved tensors."""
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM
from libc.stdint cimport int64_t, uint32_t

cdef extern from "Python.h":
    PyObject* PyTuple_GET_ITEM(tuple, Py_ssize_t)

cdef enum:
    NODE_ROOM = 8              # operands, saved tensors and numbers that a node keeps within itself

cdef class Node:
    """One recorded call: record.pyx makes it, backward_run.pyx runs it."""
    cdef object plan                       # dispatch.Plan (or None for Python-defined nodes)
    # Per operand: Node, leaf Tensor, or None. Fields, because a tuple costs more than all else in a small node; see edge_at.
    cdef object edge0
    cdef object edge1
    cdef object edge2
    cdef tuple more_edges                  # from the fourth on
    # Tensors for vjp, or what `unpack` turns into them; see saved_at.
    cdef object saved0
    cdef object saved1
    cdef tuple more_saved                  # from the third on
    cdef object unpack
    cdef uint32_t* edge_index              # output index within the edge's node
    cdef uint32_t* versions                # of what is saved
    cdef int64_t* ints                     # sizes and scalars for vjp
    cdef uint32_t[NODE_ROOM] inline_index
    cdef uint32_t[NODE_ROOM] inline_versions
    cdef int64_t[NODE_ROOM] inline_ints
    cdef object room                       # where these arrays are when one of them is longer
    cdef int n_edges
    cdef int n_saved                       # 0 once they are dropped
    cdef int n_out
    cdef bint released
    cdef public bint opaque                # it may reach leaves that its edges do not show: a run for some values must run it, too
    cdef list in_meta                      # for Python-defined nodes: (shape, dtype) of inputs
    cdef public object pre_hooks
    cdef public object post_hooks
    cdef object tensor_hooks               # {out_index: [hooks]} of non-leaf tensors
    cdef dict retained                     # {out_index: weakref of tensor that retains its grad}
    cdef public object python              # Python-defined backward (PyLayer, hooks)
    cdef int64_t run                       # backward run that owns (slot)
    cdef int64_t slot
    cdef object __weakref__

cdef Node new_node()
cdef int make_room(Node node, int n_edges, int n_saved, int n_ints) except -1     # before anything is set

cdef inline PyObject* edge_at(Node node, int i) noexcept:
    """Borrowed, as all of these; None where the operand needs no gradient."""
    if i == 0: return <PyObject*>node.edge0
    if i == 1: return <PyObject*>node.edge1
    if i == 2: return <PyObject*>node.edge2
    return PyTuple_GET_ITEM(node.more_edges, i - 3)

cdef inline int set_edge(Node node, int i, object e) except -1:
    if i == 0: node.edge0 = e
    elif i == 1: node.edge1 = e
    elif i == 2: node.edge2 = e
    else:
        Py_INCREF(e)
        PyTuple_SET_ITEM(node.more_edges, i - 3, e)
    return 0

cdef inline PyObject* saved_at(Node node, int i) noexcept:
    if i == 0: return <PyObject*>node.saved0
    if i == 1: return <PyObject*>node.saved1
    return PyTuple_GET_ITEM(node.more_saved, i - 2)

cdef inline int set_saved(Node node, int i, object e) except -1:
    if i == 0: node.saved0 = e
    elif i == 1: node.saved1 = e
    else:
        Py_INCREF(e)
        PyTuple_SET_ITEM(node.more_saved, i - 2, e)
    return 0

cdef inline int drop_saved(Node node) except -1:
    node.n_saved = 0
    node.saved0 = None
    node.saved1 = None
    node.more_saved = None
    return 0
