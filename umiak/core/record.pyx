# cython: language_level=3, binding=False
"""Recording a call: the node that a backward run differentiates, with what it saves."""
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_New

from umiak.core.context cimport EngineContext, MODE_GRAD, context_pointer
from umiak.core.node cimport *
from umiak.core.operand cimport Operand, load_sources
from umiak.core.plan cimport Plan
from umiak.core.tensor cimport *


cdef int record(Plan plan, Operand* xs, int n, const uint64_t* scalars, PyObject** outs, object hooks) except -1:
    cdef Node node = new_node()
    cdef PyObject* t
    cdef Tensor o
    cdef int i, k = plan.n_save_in + plan.n_save_out
    node.plan = plan
    node.n_out = plan.n_visible
    if n > 3 or k > 2 or plan.n_ints > NODE_ROOM:
        make_room(node, n, k, plan.n_ints)
    else:
        node.n_edges = n
        node.n_saved = k
    for i in range(n):
        t = xs[i].t
        if t != NULL and (<Tensor>t).key & K_NEEDS_GRAD:
            if (<Tensor>t).node is not None:
                set_edge(node, i, (<Tensor>t).node)
                node.edge_index[i] = (<Tensor>t).out_index
            else:
                set_edge(node, i, <Tensor>t)
                node.edge_index[i] = (<Tensor>t).shaped
        elif i > 2:
            set_edge(node, i, None)
    for i in range(plan.n_save_in):
        t = xs[plan.save_in[i]].t
        if t == NULL:
            set_saved(node, i, None)
        else:
            set_saved(node, i, <Tensor>t)
            node.versions[i] = saved_version(<Tensor>t)
    for i in range(plan.n_save_in, k):
        o = detached(<Tensor>outs[plan.save_out[i - plan.n_save_in]])
        set_saved(node, i, o)
        node.versions[i] = tensor_version(o)
    if k and hooks is not None:
        pack_saved(node, hooks)
    if plan.n_ints:
        load_sources(plan.ints, plan.n_ints, xs, scalars, node.ints)
    for i in range(plan.n_visible):
        if plan.out_differentiable >> i & 1:
            o = <Tensor>outs[i]
            o.node = node
            o.out_index = i
            o.key |= K_NEEDS_GRAD
    return 0


cdef int pack_saved(Node node, object hooks) except -1:
    """Let the user's ``pack`` decide what is kept for each saved tensor; ``unpack`` gives it back.

    The node holds (what ``pack`` gave, its version if that is a tensor, shape, dtype).
    """
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef uint64_t modes = ctx.plan_mode
    cdef Plan plan = <Plan>node.plan
    cdef list kept = []
    cdef Tensor t
    cdef int i
    pack, unpack = hooks
    ctx.plan_mode = modes & ~<uint64_t>MODE_GRAD
    ctx.saved_hooks = None                               # what pack itself computes is not packed
    try:
        for i in range(node.n_saved):
            if saved_at(node, i) == <PyObject*>None:
                kept.append(None)
                continue
            t = detached(<Tensor>saved_at(node, i))
            if i < plan.n_save_in and isinstance(<object>edge_at(node, plan.save_in[i]), Tensor):
                t.key |= K_NEEDS_GRAD                    # shows that a leaf keeps this memory
            packed = pack(t)
            version = tensor_version(<Tensor>packed) if isinstance(packed, Tensor) and (<Tensor>packed).storage is not None else 0
            kept.append((packed, version, t.shape, t.dtype))
        if node.n_saved > 2:
            node.more_saved = PyTuple_New(node.n_saved - 2)
        for i in range(node.n_saved):
            set_saved(node, i, kept[i])
        node.unpack = unpack
    finally:
        ctx.plan_mode = modes
        ctx.saved_hooks = hooks
    return 0
