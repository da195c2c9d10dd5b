# cython: language_level=3, binding=False
"""Writes in place: the results of an op, a value of the same shape or of another, and what gradients keep of the old value."""
from cpython.object cimport PyObject
from libc.string cimport memcmp

from umiak.core.context import no_grad_guard
from umiak.core.context cimport EngineContext, MODE_GRAD, OBSERVE_TRACE, context_pointer
from umiak.core.dispatch cimport call1, detached_copy, dispatch, slow, write_into
from umiak.core.dtype cimport UINT8, bytes_of
from umiak.core.eager cimport apply_op
from umiak.core.launches cimport write_hazard
from umiak.core.layout cimport byte_range, refuse_overlap, self_overlaps
from umiak.core.operand cimport *
from umiak.core.plan cimport *
from umiak.core.storage cimport UNFILLED, Storage, adopt, exchange, fill, foreign_storage, forsake, pin, resident, unpin
from umiak.core.tensor cimport *
from umiak.util.errors import LeafError
from umiak.core.views cimport drop_stale_view, refresh, take_history, view_params, with_current_history
from umiak.util.errors import LeafError

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject*)

# What higher layers fill in (see install).
cdef object SLOW_ASSIGN = None
cdef object SLOW_REBIND = None
cdef object SCATTER_VIEW = None
cdef object WRITE_THROUGH = None
cdef object TRANSFER = None
cdef OpBase COPY = None


def install(OpBase copy not None, transfer, scatter_view, write_through, slow_assign, slow_rebind):
    """Fill slots: ops that writes need, and what writes tensors that are not dense."""
    global COPY, TRANSFER, SCATTER_VIEW, WRITE_THROUGH, SLOW_ASSIGN, SLOW_REBIND
    COPY = copy
    TRANSFER = transfer
    SCATTER_VIEW = scatter_view
    WRITE_THROUGH = write_through
    SLOW_ASSIGN = slow_assign
    SLOW_REBIND = slow_rebind


# ---- the results of an op --------------------------------------------------------------------------------------------
def apply_into(OpBase op not None, tuple outs not None, tuple operands not None, tuple params=()):
    """Run ``op`` writing into existing tensors; no gradient is recorded and versions are bumped.

    While a tracer is active, the results are written as values (``assign``).
    """
    cdef Operand[INLINE_X] xs
    cdef PyObject* into[MAX_OUT + 1]
    cdef uint64_t[INLINE_S] words
    cdef uint64_t sig
    cdef int i, np, n = len(operands), m = len(outs)
    if n != op.n_operands and not op.variadic:
        raise TypeError(f"[{op.name}] requires {op.n_operands} operands {op.inputs}, got {n}")
    if (<EngineContext>context_pointer()).observers & OBSERVE_TRACE:
        with no_grad_guard():
            values = slow(op, operands, params)
            for x, value in zip(outs, values if isinstance(values, tuple) else (values,)):
                SLOW_ASSIGN(x, value)
        return
    if n > INLINE_X or m > MAX_OUT:
        raise ValueError(f"[{op.name}] requires at most {INLINE_X} operands and {MAX_OUT} outputs to write into, got {n} and {m}")
    for i in range(n):
        if parse_operand(operands[i], &xs[i]):
            bad_operand(op, operands[i])
    for i in range(m):
        into[i] = <PyObject*><Tensor?>outs[i]
        if (<Tensor>into[i]).kind & ~<uint8_t>KIND_VIEW:
            raise TypeError(f"[{op.name}] requires dense tensors to write into, got {outs[i]!r}")
    into[m] = NULL
    np = parse_params(op, params, words, &sig)
    if np < 0:
        raise TypeError(f"[{op.name}] requires concrete params, got {params}")
    for i in range(m):
        if write_hazard(op, <Tensor>into[i], xs, n):
            values = apply_op(op, operands, params, FLAG_UNOBSERVED)
            for x, value in zip(outs, values if isinstance(values, tuple) else (values,)):
                write_into(<Tensor>x, <Tensor>value)
            return
    dispatch(op, xs, n, words, np, sig, FLAG_INTO | FLAG_UNOBSERVED, into)


# ---- another value ---------------------------------------------------------------------------------------------------
def assign(Tensor x not None, Tensor value not None):
    """Write ``value`` into ``x``: data, version, and history (of the bases of views too). Returns ``x``.

    Raises RuntimeError for a leaf that requires grad outside ``no_grad``, ValueError when shapes differ. A view of such a leaf gets a
    history of its own, in which the overwritten elements of the leaf have no part.
    """
    return put_value(x, value, False)


cdef Tensor put_value(Tensor x, Tensor value, bint dying):
    """Write ``value`` into ``x``; one that nobody will ask for again may lose its memory to ``x``."""
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef bint tracked
    if (x.kind | value.kind) & ~<uint8_t>KIND_VIEW or ctx.observers & OBSERVE_TRACE:
        if SLOW_ASSIGN is None:
            raise TypeError(f"[assign] requires dense tensors, got {x!r} and {value!r}")
        return SLOW_ASSIGN(x, value)
    refresh_if_view(x)
    refresh_if_view(value)
    tracked = ctx.plan_mode & MODE_GRAD != 0 and ((x.key | value.key) & K_NEEDS_GRAD) != 0
    if ctx.plan_mode & MODE_GRAD:
        check_leaf(x)
    if self_overlaps(x):
        refuse_overlap("assign", x)
    if x is value:
        return x
    if (x.key ^ value.key) & (K_PLACE_MASK << K_PLACE_SHIFT):
        value = TRANSFER(value, x.place)
    if tracked and value.node is None:
        value = call1(COPY, value)                       # a node of its own, so that x becomes no leaf
    if x.storage.state == UNFILLED and bytes_of(x.key & K_DTYPE_MASK, x.numel) == x.storage.nbytes and x.shape == value.shape:
        fill(x.storage)                                  # all of it is written
    if not dying or not take_memory(x, value):
        write_into(x, value)
    if tracked:
        rebase(x, value)
    return x


cdef bint take_memory(Tensor x, Tensor value) noexcept:
    """Have ``x`` take the memory of a value that is not needed any more, instead of a copy of it. False where others have the memory of
    the value or know the address of that of ``x``, or where ``x`` is only a part of its memory."""
    cdef int64_t nbytes = bytes_of(x.key & K_DTYPE_MASK, x.numel)
    if x.kind & ~<uint8_t>KIND_VIEW or value.kind or value.counter is not None or Py_REFCNT(<PyObject*>value.storage) > 1 or \
            (x.key ^ value.key) & ~<uint32_t>K_NEEDS_GRAD or (x.key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK or x.offset or value.offset or \
            x.storage.nbytes != nbytes or value.storage.nbytes != nbytes or memcmp(x.dims, value.dims, 8 * x.ndim) != 0 or \
            not exchange(x.storage, value.storage):
        return False
    bump_version(x)
    return True


cdef bint wanting_leaf(Tensor x) noexcept:
    return not x.kind & KIND_VIEW and x.node is None and x.key & K_NEEDS_GRAD != 0


cdef int check_leaf(Tensor x) except -1:
    """A leaf that wants a gradient is not written to: nobody could tell what it was. A view of one is (``rebase``), unless what is written
    appears in other elements of the view's parent."""
    cdef Tensor root = x
    cdef bint apart = True
    while root.kind & KIND_VIEW and apart:
        root = root.view.parent
        while root.kind & KIND_VIEW and self_overlaps(root):
            root = root.view.parent
            apart = False
    if wanting_leaf(root) and (root is x or not apart):
        raise LeafError(
            "[in-place] requires a tensor that is no leaf, or no_grad, got a leaf with stop_gradient=False"
            + (" (through a view of it)" if x._base is not None else "") + ". Use paddle.no_grad() to update parameters.")
    return 0


def with_own_history(Tensor x not None, Tensor value not None):
    """``x``, a view of a leaf, has the history of ``value`` from here on, of which its memory has the elements. Returns ``x``."""
    x.view = None
    x.kind &= ~<uint8_t>KIND_VIEW
    take_history(x, value)
    return x


cdef int rebase(Tensor x, Tensor value) except -1:
    """``x`` now is ``value``. For a view, the parent becomes scatter_view(parent, value), up to the base."""
    cdef ViewOrigin r = x.view
    cdef Tensor updated, t
    cdef list regions
    tensor_slots().changes += 1
    if x.kind & KIND_VIEW and not drop_stale_view(x) and wanting_leaf(r.parent):
        x.view = None                                    # the leaf stays one: from here on the view has a history of its own
        x.kind &= ~<uint8_t>KIND_VIEW
    if not x.kind & KIND_VIEW or drop_stale_view(x):
        if x.key & K_NEEDS_GRAD and not value.key & K_NEEDS_GRAD:
            # It still wants a gradient, which what it was before gets zeros of.
            value = SCATTER_VIEW(with_current_history(x), value, None, ())
        take_history(x, value)
        return 0
    t = r.parent
    regions = [(r.op, view_params(r))]
    while self_overlaps(t):                              # what is written through this parent appears in other elements of it, too
        if not t.kind & KIND_VIEW or drop_stale_view(t):
            refuse_overlap("assign", t)
        regions.append((t.view.op, view_params(t.view)))
        t = t.view.parent
    if len(regions) == 1:
        updated = SCATTER_VIEW(with_current_history(t), value, *regions[0])
    else:
        regions.reverse()
        updated = WRITE_THROUGH(with_current_history(t), value, regions)
    rebase(t, updated)
    r.parent_node = None                                 # whatever it was, it lags now
    refresh(x)
    return 0


# ---- another value of another shape or dtype -------------------------------------------------------------------------
def rebind(Tensor x not None, Tensor value not None):
    """``x`` becomes what was computed of it: sizes, dtype, memory and history of ``value``, which is not to be used any more.

    Where ``value`` is a view of ``x``, both keep their memory. Tensors that are views of ``x`` stay what they are: views of what
    ``x`` was.
    """
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef Tensor v, before
    cdef uint32_t version
    cdef uint8_t view = 0
    if (x.kind | value.kind) & ~<uint8_t>KIND_VIEW or ctx.observers & OBSERVE_TRACE:
        if SLOW_REBIND is None:
            raise TypeError(f"[rebind] requires dense tensors, got {x!r} and {value!r}")
        return SLOW_REBIND(x, value)
    if x is value:
        return x
    refresh_if_view(x)
    refresh_if_view(value)
    if ctx.plan_mode & MODE_GRAD:
        check_leaf(x)
        if value.node is None and value.key & K_NEEDS_GRAD:
            value = call1(COPY, value)                   # a node of its own, so that x becomes no leaf
    version = tensor_version(x)
    before = with_current_history(x)                     # what older views are views of
    before.view = x.view
    before.kind = x.kind
    before.shaped = x.shaped
    v = value
    while v.kind & KIND_VIEW and v.view.parent is not x:
        v = v.view.parent
    if v.kind & KIND_VIEW:
        view = KIND_VIEW
        v.view.parent = before
        x.view = value.view
        while v is not value:                            # views between the two: no former self of x
            v.shaped = x.shaped + 1
            v.view.former = True
            v = child_of(value, v)
            v.view.parent_shaped = x.shaped + 1
        x.view.former = True
    elif x.node is not None:
        x.view = former_self(before)
    else:
        x.view = None                                    # nothing of what x was can get another history
    x.kind = (x.kind & ~<uint8_t>KIND_VIEW) | view
    take_layout(x, value)
    if tensor_version(x) + x.shaped <= version + before.shaped:
        x.shaped = version + before.shaped + 1 - tensor_version(x)
    if not (x.key & ~value.key) & K_NEEDS_GRAD:
        take_history(x, value)
    elif x.node is not None and view:                    # in no_grad: the history stays, seen through the views
        v = x
        while v is not before:
            v.view.parent_node = None
            v = v.view.parent
        tensor_slots().changes += 1
        refresh(x)
    elif ctx.plan_mode & MODE_GRAD:                      # the history is of another dtype, and no gradient comes through the value
        take_history(x, value)
    tensor_slots().changes += 1
    return x


cdef Tensor child_of(Tensor view, Tensor parent):
    """The view in the chain from ``view`` down whose parent is ``parent``."""
    while view.view.parent is not parent:
        view = view.view.parent
    return view


cdef ViewOrigin former_self(Tensor before):
    """An origin that leads to a former self with other memory; it makes no view."""
    cdef ViewOrigin r = ViewOrigin.__new__(ViewOrigin)
    r.parent = before
    r.parent_shaped = before.shaped
    r.former = True
    return r


# ---- inputs that are about to be overwritten -------------------------------------------------------------------------
cdef bint shares_bytes(object o, Storage s, int64_t low, int64_t high) noexcept:
    """Return whether ``o`` is a tensor with elements in these bytes."""
    cdef int64_t a, b
    if not isinstance(o, Tensor) or (<Tensor>o).storage is not s or (<Tensor>o).kind & ~<uint8_t>KIND_VIEW or (<Tensor>o).numel == 0:
        return False
    byte_range(<Tensor>o, &a, &b)
    return a < high and low < b


cdef object over_snapshot(object o, Storage s, int64_t low, int64_t high, Storage snapshot):
    """``o`` (or what it contains) over ``snapshot`` where it has elements in these bytes."""
    cdef Tensor t
    if isinstance(o, (list, tuple)) and type(o) in (list, tuple):
        return type(o)([over_snapshot(item, s, low, high, snapshot) for item in o])
    if not shares_bytes(o, s, low, high):
        return o
    t = <Tensor>o
    refresh_if_view(t)
    if t.node is None and t.key & K_NEEDS_GRAD:
        return o                                         # a leaf is itself; if it is kept, its version tells
    t = with_current_history(t)
    t.storage = snapshot
    t.counter = None
    t.offset -= low
    return t


cdef bint needs_grad(object o):
    if isinstance(o, Tensor):
        refresh_if_view(<Tensor>o)
        return (<Tensor>o).key & K_NEEDS_GRAD != 0
    if isinstance(o, (list, tuple)):
        for item in o:
            if needs_grad(item):
                return True
    return False


def overwrite(function, Tensor x not None, tuple args, dict kwargs, differs=None):
    """Write ``function(x, *args, **kwargs)`` into ``x``, and return ``x``.

    A result of another shape or dtype is for ``differs``, called with ``x``, the arguments and the result; where there is none, or where it
    returns None, the result is written all the same.
    """
    cdef Tensor value = call_before_overwrite(function, x, args, kwargs)
    if differs is not None and not alike(x, value):
        written = differs(x, args, kwargs, value)
        if written is not None:
            return written
    return put_value(x, value, Py_REFCNT(<PyObject*>value) == 1)


cdef bint alike(Tensor x, Tensor value):
    """Return whether both are of one dtype and shape."""
    if (x.kind | value.kind) & ~<uint8_t>KIND_VIEW:
        return x.dtype is value.dtype and x.shape == value.shape
    return not (x.key ^ value.key) & K_DTYPE_MASK and x.ndim == value.ndim and memcmp(x.dims, value.dims, 8 * x.ndim) == 0


def call_before_overwrite(function, Tensor x not None, tuple args not None, dict kwargs not None):
    """``function(x, *args, **kwargs)`` where ``x`` is about to be overwritten: what is kept of it for gradients is kept as it is now.

    The function gets tensors over a storage of their own, which at first has the memory of ``x``. If somebody holds it when the function
    is done, a node has saved one of them, and the storage gets a copy.
    """
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef Storage s = x.storage, snapshot
    cdef Tensor contents
    cdef int64_t low, high, a, b, one = 1
    cdef list operands
    if not ctx.plan_mode & MODE_GRAD or ctx.observers & OBSERVE_TRACE or s is None or x.kind & ~<uint8_t>KIND_VIEW or x.numel == 0 \
            or not (needs_grad(x) or needs_grad(args) or needs_grad(list(kwargs.values()))):
        return function(x, *args, **kwargs)
    byte_range(x, &low, &high)
    for o in (*args, *kwargs.values()):
        for item in (o if isinstance(o, (list, tuple)) else (o,)):
            if shares_bytes(item, s, low, high):
                byte_range(<Tensor>item, &a, &b)
                low = min(low, a)
                high = max(high, b)
    low &= ~<int64_t>63                                  # descriptors speak of alignment to 64 bytes
    pin(s)
    try:
        resident(s)
        snapshot = foreign_storage(s.place, s.data + low, high - low, s)
        snapshot.stream = s.stream
        operands = [over_snapshot(o, s, low, high, snapshot) for o in (x, *args)]
        kwargs = {key: over_snapshot(o, s, low, high, snapshot) for key, o in kwargs.items()}
        try:
            value = function(*operands, **kwargs)
        except BaseException:
            forsake(snapshot)
            raise
        operands = kwargs = None
        if Py_REFCNT(<PyObject*>snapshot) > 1:
            high -= low
            contents = new_view(x, 1, &high, &one, 0)
            contents.storage = snapshot
            contents.counter = None
            contents.key = (contents.key & ~<uint32_t>K_DTYPE_MASK) | UINT8
            classify(contents)
            adopt(snapshot, detached_copy(contents).storage)
        return value
    finally:
        unpin(s)
