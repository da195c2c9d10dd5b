# cython: language_level=3, binding=False
"""Views of tensors that are written to: they get their history anew when they are used (docs/design/views.md)."""
from cpython.bytes cimport PyBytes_AS_STRING

from umiak.core.context cimport EngineContext, MODE_GRAD, context_pointer
from umiak.core.eager cimport apply_op
from umiak.core.operand cimport unpack_params
from umiak.core.plan cimport FLAG_INNER, FLAG_UNOBSERVED, OpBase
from umiak.core.node cimport Node
from umiak.core.tensor cimport *

from umiak.core.tensor import own_place


cdef tuple view_params(ViewOrigin r):
    """The params of the view op: seldom wanted, so they are no tuples before."""
    if r.n_words <= VIEW_WORDS:
        return unpack_params(<OpBase>r.op, r.words, r.sig)
    return unpack_params(<OpBase>r.op, <uint64_t*>PyBytes_AS_STRING(r.more_words), r.sig)


cdef int refresh(Tensor t) except -1:
    """A view whose parent was written to (by any alias) gets its history anew: view op of the parent's new value."""
    cdef Tensor v
    cdef list chain
    if t.view.seen == tensor_slots().changes or drop_stale_view(t):
        return 0
    if not t.view.parent.kind & KIND_VIEW:
        return refresh_one(t)
    chain = [t]                                          # a loop, not recursion: chains of views may be long
    v = t.view.parent
    while v.kind & KIND_VIEW and not drop_stale_view(v):
        chain.append(v)
        v = v.view.parent
    while chain:
        refresh_one(<Tensor>chain.pop())
    return 0


cdef bint drop_stale_view(Tensor t) noexcept:
    """Find the former self of the parent that a view was taken of. Without it (``_share``) the view is a tensor of its own, with the
    history it has."""
    cdef ViewOrigin r = t.view
    cdef Tensor p = r.parent
    while p.shaped != r.parent_shaped and p.view is not None and p.view.former:
        p = p.view.parent
    r.parent = p
    if p.shaped != r.parent_shaped or t.storage is not p.storage:
        t.view = None
        t.kind &= ~<uint8_t>KIND_VIEW
        return True
    return False


cdef int refresh_one(Tensor t) except -1:
    cdef ViewOrigin r = t.view
    cdef Tensor fresh
    cdef EngineContext ctx
    cdef uint64_t modes
    cdef uint64_t changes = tensor_slots().changes       # as it is now: a change meanwhile must not be missed
    if r.parent_node is r.parent.node and (r.parent_node is None or r.parent_index == r.parent.out_index):
        r.seen = changes
        return 0
    ctx = <EngineContext>context_pointer()
    modes = ctx.plan_mode
    ctx.plan_mode = modes | MODE_GRAD
    try:
        fresh = apply_op(<OpBase>r.op, (with_current_history(r.parent),), view_params(r), FLAG_INNER | FLAG_UNOBSERVED)
    finally:
        ctx.plan_mode = modes
    r.parent_node = r.parent.node
    r.parent_index = r.parent.out_index
    r.seen = changes
    take_history(t, fresh)
    return 0


cdef Tensor with_current_history(Tensor t):
    """``t`` with the history it has now, but no view origin: nothing below refreshes it again."""
    cdef Tensor o = detached(t)
    o.node = t.node
    o.out_index = t.out_index
    o.key = t.key
    return o


cdef int take_history(Tensor x, Tensor value) except -1:
    if x.retains and x.node is not None:
        node, index = own_place(x, False)
        if (<Node>node).retained is not None:
            (<Node>node).retained.pop(index, None)
    x.node = value.node
    x.out_index = value.out_index
    x.key = (x.key & ~<uint32_t>K_NEEDS_GRAD) | (value.key & K_NEEDS_GRAD)
    if x.retains and x.key & K_NEEDS_GRAD:
        x.retain_grads()
    return 0


tensor_slots().refresh = refresh
