# cython: language_level=3, binding=False
"""``.grad`` of leaves: contributions are added, cleared gradients are made when they are looked at, sinks take them instead."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcmp

from umiak.core.eager import apply

from umiak.core.context cimport EngineContext, capture_of, context_pointer
from umiak.core.dispatch cimport call2, detached_copy, dispatch
from umiak.core.dtype cimport FLOAT32
from umiak.core.operand cimport Operand
from umiak.core.plan cimport FLAG_INTO, FLAG_UNOBSERVED, OpBase
from umiak.core.storage cimport ACCESS_HOST, place_access
from umiak.core.tensor cimport *

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject*)

cdef OpBase ADD = None
cdef OpBase COPY = None
cdef list FULL = None          # dtype id -> Full op


def install(OpBase add not None, OpBase copy not None, list full not None):
    """The ops that gradients need themselves: a sum, a copy, a constant."""
    global ADD, COPY, FULL
    ADD = add
    COPY = copy
    FULL = full


cdef int accumulate(Tensor leaf, PyObject* grad, bint create) except -1:
    """``leaf.grad += grad``: by taking the tensor when nobody but the caller holds it, in place when that is safe.

    A sum may release the GIL, so the old value is taken out first: whoever else adds meanwhile finds none, leaves its own,
    and the loop adds that too.
    """
    cdef Tensor g = <Tensor>grad
    cdef Tensor old
    cdef Operand xs[2]
    cdef PyObject* into[2]
    cdef int64_t stream
    # References: the caller's and `g`. With more, or with shared memory, a later in-place sum would be seen elsewhere.
    # Selected rows are taken likewise: their own values are the tensor.
    cdef bint mine = Py_REFCNT(grad) <= 2 and g.node is None and not g.key >> K_LAYOUT_SHIFT & K_LAYOUT_MASK \
        and not g.kind & ~<uint32_t>KIND_SELECTED_ROWS and Py_REFCNT(<PyObject*>g.storage) == 1
    while True:
        if leaf.held_grad is None:
            if leaf.grad_state == GRAD_CLEARED and not is_like(leaf, g):
                make_zeros(leaf)
                continue
            if not create:
                if not mine:
                    g = <Tensor>apply(COPY, (g,), ()) if g.kind & KIND_SELECTED_ROWS else detached_copy(g)
                    mine = True
                    continue
                g.key &= ~<uint32_t>K_NEEDS_GRAD
            set_grad(leaf, g)
            return 0
        old = <Tensor?>leaf.held_grad
        leaf.held_grad = None
        if old.storage is not None:
            stream = (<EngineContext>context_pointer()).stream[old.storage.place]
            if old.storage.stream != stream or old.storage.later is not None:
                # Who has made the sum so far, or read it, may have used another stream.
                try:
                    old.storage.come_after_users(stream)
                except BaseException:
                    leaf.held_grad = old
                    raise
        if not create and not (old.kind | g.kind) and old.node is None and Py_REFCNT(<PyObject*>old) <= 1 and old.ndim == g.ndim \
                and (old.key & (K_DTYPE_MASK | K_LAYOUT_MASK << K_LAYOUT_SHIFT)) == (g.key & K_DTYPE_MASK):
            xs[0].t = <PyObject*>old
            xs[1].t = <PyObject*>g
            xs[0].n_bits = xs[1].n_bits = 0
            into[0] = <PyObject*>old
            into[1] = NULL
            try:
                dispatch(ADD, xs, 2, NULL, 0, 0, FLAG_INTO | FLAG_UNOBSERVED, into)
            except BaseException:
                leaf.held_grad = old
                raise
            g = old
        else:
            try:
                g = call2(ADD, old, g)
            except BaseException:
                leaf.held_grad = old
                raise
        mine = True


cdef bint is_like(Tensor t, Tensor g) noexcept:
    """Return whether ``g`` is a dense tensor of the dtype, place and shape of ``t``."""
    return not (g.kind & ~<uint32_t>KIND_VIEW) and g.ndim == t.ndim \
        and not (g.key ^ t.key) & (K_DTYPE_MASK | K_PLACE_MASK << K_PLACE_SHIFT) and memcmp(g.dims, t.dims, 8 * t.ndim) == 0


cdef object full_like(Tensor t, double value, PyObject** into=NULL):
    """A tensor of the shape, dtype and place of ``t``, or ``into`` filled; nothing is recorded or observed."""
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef int outer_place = ctx.inner_place
    cdef uint64_t modes = ctx.plan_mode
    cdef Operand[1] xs
    cdef uint64_t[64] shape
    cdef int i, place = (t.key >> K_PLACE_SHIFT) & K_PLACE_MASK
    cdef Tensor o
    if t.numel == 1 and into == NULL and t.key & K_DTYPE_MASK == FLOAT32 and place_access(place) == ACCESS_HOST:
        # Where a run usually begins: one number in the host's memory is no launch.
        o = new_tensor(FLOAT32, t.ndim, t.dims, place, ctx.stream[place])
        (<float*>tensor_data(o))[0] = <float>value
        return o
    xs[0].t = NULL
    xs[0].desc = TAG_FLOAT << K_TAG_SHIFT
    xs[0].bits[1] = 0
    xs[0].n_bits = 1
    xs[0].bits[0] = (<uint64_t*>&value)[0]
    for i in range(t.ndim):
        shape[i] = <uint64_t>t.dims[i]
    ctx.inner_place = place
    ctx.plan_mode = 0
    try:
        return dispatch(<OpBase>FULL[t.key & K_DTYPE_MASK], xs, 1, shape, t.ndim, <uint64_t>(t.ndim + 1),
                        FLAG_UNOBSERVED if into == NULL else FLAG_UNOBSERVED | FLAG_INTO, into)
    finally:
        ctx.inner_place = outer_place
        ctx.plan_mode = modes


# ---- clearing --------------------------------------------------------------------------------------------------------
cdef int make_zeros(Tensor t) except -1:
    """The gradient of a cleared tensor, as somebody looks at it."""
    cdef object zeros = full_like(t, 0.0)
    if t.grad_state == GRAD_CLEARED:                     # still: making them may have run a collection
        set_grad(t, zeros)
    return 0


cdef int clear_grad(Tensor t, bint to_zero) except -1:
    """Zeros in place of the gradient, if there is one, or None.

    Zeros that nobody would see are not written: the next contribution takes their place. Who has the tensor that is the gradient, or a
    view of it, sees it become zero; arrays over its memory keep what they show, and so does a tensor that was assigned.
    """
    cdef PyObject* held = <PyObject*>t.held_grad
    cdef PyObject* into[2]
    cdef Tensor g
    cdef bint seen
    cdef object tracer
    if t.held_grad is None or not to_zero or (<Tensor?>t.held_grad).kind & KIND_SELECTED_ROWS:
        if t.held_grad is not None or not to_zero:
            tracer = capture_of()
            if tracer is not None:
                tracer.replaces(t)
            set_grad(t, None)
        return 0
    tracer = capture_of()
    if tracer is not None:
        g = <Tensor>held
        tracer.replaces(t)
        return set_grad(t, apply(FULL[g.key & K_DTYPE_MASK], (0,), (tuple((<object>g).shape),)))
    seen = Py_REFCNT(held) > 1 or Py_REFCNT(<PyObject*>(<Tensor>held).storage) - (<Tensor>held).storage.pins > 1
    g = <Tensor>held
    if seen and t.grad_state == GRAD_MADE and g.node is None and not g.kind & ~<uint8_t>KIND_VIEW:
        into[0] = held
        into[1] = NULL
        full_like(g, 0.0, into)
    elif is_like(t, g):
        set_grad(t, None, GRAD_CLEARED)
    else:
        set_grad(t, full_like(g, 0.0))
    return 0


def held_gradient(Tensor t not None):
    """The gradient of a leaf; None also where it is zeros that nobody has looked at, which this does not do."""
    return t.held_grad


def mark_cleared(Tensor t not None):
    """Have ``t.grad`` be zeros, which are made when somebody looks at them."""
    set_grad(t, None, GRAD_CLEARED)


def is_cleared(Tensor t not None):
    """Return whether ``t.grad`` is zeros that nobody has looked at: asking for it would have them made."""
    return t.grad_state == GRAD_CLEARED


# ---- sinks -----------------------------------------------------------------------------------------------------------
cdef class Sink:
    """An entry of a leaf's hooks: its owner gets what would be added to ``.grad``, after the hooks have seen it.

    ``owner.take(key, leaf, gradient, create_graph)`` is called once per run, the runs within a run included.
    """

    def __init__(self, owner, key):
        self.owner = owner
        self.key = key

    def put(self, Tensor leaf not None):
        """Have the gradients of ``leaf`` from now on. ValueError where somebody else has them."""
        if sink_of(leaf) is not None:
            raise ValueError("[Sink] requires a leaf whose gradients nobody else takes, got one that has a sink")
        leaf._grad_hooks().append(self)

    def drop(self, Tensor leaf not None):
        """Leave the gradients of ``leaf`` to ``.grad`` again."""
        if leaf.hooks is not None and self in leaf.hooks:
            leaf.hooks.remove(self)


def sink_of(Tensor leaf not None):
    """The sink of a leaf, None where it has none."""
    if leaf.hooks is not None:
        for entry in leaf.hooks:
            if type(entry) is Sink:
                return entry
    return None


def add_gradient(Tensor leaf not None, Tensor g not None):
    """``leaf.grad += g``, where ``leaf`` has a sink or not."""
    accumulate(leaf, <PyObject*>g, False)


tensor_slots().make_zeros = make_zeros
tensor_slots().clear_grad = clear_grad
