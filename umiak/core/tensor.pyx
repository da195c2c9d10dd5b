# cython: language_level=3, binding=False
"""Tensor: what a value is (storage, sizes, strides, dtype, place) and where it hangs in the gradient graph."""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_DECREF
from libc.string cimport memcpy

from umiak.util.errors import op_error
from umiak.core.context cimport EngineContext, capture_of, context_pointer
from umiak.core.dtype cimport DTYPE_COUNT, DType, PACKED_IDS, bytes_of, dtype_from_id, is_in
from umiak.core.node cimport Node
from umiak.core.place cimport Place, place_from_index
from umiak.core.storage cimport Storage, new_storage, resident, unfilled_storage
from umiak.util.size cimport new_count, new_size

from umiak.core.node import HookHandle


cdef extern from *:
    """
    /* Clients add methods to the tensor type; CPython 3.10+ freezes static types by a flag that may be cleared after PyType_Ready.
     *
     * Attributes of users live in the dict `extra`, made by CPython on first use. A __dict__ declared in Cython would be made for every
     * tensor, and a __getattr__ would keep the interpreter from its fast paths for methods. */
    #define umiak_dict(t) ((PyObject **)&(t)->extra)
    static PyGetSetDef umiak_dict_getset = {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, 0, 0};
    static inquiry umiak_clear_fields;
    static int umiak_clear(PyObject *o) {
        PyObject **dict = (PyObject **)((char *)o + Py_TYPE(o)->tp_dictoffset);
        int failed = umiak_clear_fields(o);
        if (*dict == Py_None) {                          /* Cython's idea of an empty field */
            *dict = NULL;
            Py_DECREF(Py_None);
        }
        return failed;
    }
    static int umiak_open_type(PyTypeObject *t, Py_ssize_t dict_offset) {
        PyObject *d = PyDescr_NewGetSet(t, &umiak_dict_getset);
        if (!d || PyDict_SetItemString(t->tp_dict, "__dict__", d) < 0) {
            Py_XDECREF(d);
            return -1;
        }
        Py_DECREF(d);
        t->tp_dictoffset = dict_offset;
        umiak_clear_fields = t->tp_clear;
        t->tp_clear = umiak_clear;
    #ifdef Py_TPFLAGS_IMMUTABLETYPE
        t->tp_flags &= ~Py_TPFLAGS_IMMUTABLETYPE;
    #endif
        PyType_Modified(t);
        return 0;
    }
    """
    PyObject** umiak_dict(Tensor t)
    int umiak_open_type(PyTypeObject*, Py_ssize_t dict_offset) except -1

cdef extern from *:
    """
    #include "umiak/util/object_pool.h"
    UMIAK_POOL(umiak_tensors, 512, 1, UMIAK_STRAIGHT, UMIAK_STRAIGHT_END)
    """
    object umiak_own(PyObject*)
    PyObject* umiak_tensors_take()
    void umiak_tensors_open(PyTypeObject*, void (*)(PyObject*) noexcept)

cdef extern from *:
    """
    #define umiak_mul(a, b, r) __builtin_mul_overflow(a, b, r)
    """
    bint umiak_mul(int64_t, int64_t, int64_t*) noexcept nogil


cdef class Version:
    """A version counter that an alias group owns apart from its storage."""


@cython.final
@cython.freelist(64)
@cython.trashcan(True)                     # chains of views are freed without recursion
cdef class ViewOrigin:
    """The origin of a view: its parent and the op that made it."""


cdef int reserve_rank(Tensor t, int ndim) except -1:
    """Set the rank, with room for sizes and strides."""
    if ndim > K_RANK_MASK:
        raise op_error(ValueError, "tensor", f"at most {K_RANK_MASK} axes", ndim)
    if ndim <= INLINE_RANK:
        t.dims = t.inline_dims
        t.strides = t.inline_strides
        t.wide = None
    else:
        wide = PyBytes_FromStringAndSize(NULL, 2 * ndim * sizeof(int64_t))
        t.dims = <int64_t*>PyBytes_AS_STRING(wide)
        t.strides = t.dims + ndim
        t.wide = wide
    t.ndim = ndim
    return 0


cdef void classify(Tensor t) noexcept:
    """Recompute numel and the rank, layout and alignment bits of the descriptor."""
    cdef int i, layout = LAYOUT_CONTIGUOUS
    cdef int64_t n = 1
    cdef bint zero = False
    for i in range(t.ndim - 1, -1, -1):
        if t.dims[i] != 1:
            if t.strides[i] != n:
                layout = LAYOUT_STRIDED
            if t.strides[i] == 0:
                zero = True
        n *= t.dims[i]
    t.numel = n
    if n == 0:
        layout = LAYOUT_CONTIGUOUS
    elif layout:
        if zero:
            layout = LAYOUT_BROADCAST
        elif t.ndim and t.strides[t.ndim - 1] == 1:
            layout = LAYOUT_INNER
    t.key &= ~<uint32_t>((K_RANK_MASK << K_RANK_SHIFT) | (K_LAYOUT_MASK << K_LAYOUT_SHIFT) | K_ALIGNED)
    t.key |= (t.ndim << K_RANK_SHIFT) | (layout << K_LAYOUT_SHIFT)
    if (t.offset & 63) == 0:
        t.key |= K_ALIGNED


cdef int64_t MOST_ELEMENTS = (<int64_t>1 << 62) // 128   # of the widest dtype, so that its bits can be counted in 64


cdef int64_t elements_of(int ndim, const int64_t* dims) noexcept:
    """The product of sizes; -1 when 64 bits do not hold it or a size is negative."""
    cdef int64_t n = 1
    cdef int i
    for i in range(ndim):
        if dims[i] <= 0:
            if dims[i] < 0:
                return -1
            n = 0
        elif n and umiak_mul(n, dims[i], &n):
            for i in range(ndim):
                if dims[i] == 0:
                    return 0
            return -1
    return n


cdef int too_big(int ndim, const int64_t* dims, int dtype) except -1:
    shape = [dims[i] for i in range(ndim)]
    if min(shape) < 0:
        raise op_error(ValueError, "tensor", "sizes of at least 0", shape)
    raise op_error(MemoryError, "tensor", "a shape that memory can hold", f"{shape} of {dtype_from_id(dtype).name}")


cdef inline Tensor fresh():
    cdef PyObject* o = umiak_tensors_take()
    return <Tensor>umiak_own(o) if o != NULL else Tensor.__new__(Tensor)


cdef void empty_tensor(PyObject* o) noexcept:
    """As a new one."""
    cdef PyObject** attributes = umiak_dict(<Tensor>o)
    cdef PyObject* extra = attributes[0]
    (<Tensor>o).dims = (<Tensor>o).inline_dims
    (<Tensor>o).strides = (<Tensor>o).inline_strides
    (<Tensor>o).offset = 0
    (<Tensor>o).key = (<Tensor>o).out_index = (<Tensor>o).shaped = (<Tensor>o).low_version = 0
    (<Tensor>o).ndim = 0
    (<Tensor>o).kind = KIND_UNMADE
    (<Tensor>o).retains = False
    (<Tensor>o).grad_state = GRAD_MADE
    if (<Tensor>o).storage is not None: (<Tensor>o).storage = None
    if (<Tensor>o).counter is not None: (<Tensor>o).counter = None
    if (<Tensor>o).node is not None: (<Tensor>o).node = None
    if (<Tensor>o).held_grad is not None: (<Tensor>o).held_grad = None
    if (<Tensor>o).view is not None: (<Tensor>o).view = None
    if (<Tensor>o).hooks is not None: (<Tensor>o).hooks = None
    if (<Tensor>o).low is not None: (<Tensor>o).low = None
    if (<Tensor>o).wide is not None: (<Tensor>o).wide = None
    if extra != NULL:
        attributes[0] = NULL
        Py_DECREF(<object>extra)


cdef Tensor new_tensor(int dtype, int ndim, const int64_t* dims, int place, int64_t stream):
    """A contiguous tensor with its own (uninitialised) memory."""
    cdef Tensor t = fresh()
    cdef int64_t n = 1
    cdef int i
    if ndim > INLINE_RANK:
        reserve_rank(t, ndim)
    else:
        t.ndim = ndim
    for i in range(ndim - 1, -1, -1):
        t.dims[i] = dims[i]
        t.strides[i] = n
        if dims[i] < 0 or umiak_mul(n, dims[i], &n):
            if elements_of(ndim, dims) != 0:
                too_big(ndim, dims, dtype)
            n = 0
    if n > MOST_ELEMENTS:
        too_big(ndim, dims, dtype)
    t.numel = n
    t.key = dtype | (ndim << K_RANK_SHIFT) | K_ALIGNED | (place << K_PLACE_SHIFT)
    t.kind = 0
    t.storage = new_storage(place, bytes_of(dtype, n), stream)
    return t


cdef Tensor new_view(Tensor base, int ndim, const int64_t* dims, const int64_t* strides, int64_t offset):
    """A tensor over ``base``'s storage; ``offset`` in bytes from the storage's start. No history."""
    cdef Tensor t = fresh()
    if ndim > INLINE_RANK:
        reserve_rank(t, ndim)
    else:
        t.ndim = ndim
    memcpy(t.dims, dims, ndim * sizeof(int64_t))
    memcpy(t.strides, strides, ndim * sizeof(int64_t))
    if elements_of(ndim, dims) < 0:
        too_big(ndim, dims, base.key & K_DTYPE_MASK)
    t.offset = offset
    t.kind = 0
    t.key = base.key & ~<uint32_t>K_NEEDS_GRAD
    t.storage = base.storage
    t.counter = base.counter
    classify(t)
    if (t.key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK and is_in(PACKED_IDS, t.key & K_DTYPE_MASK):
        raise RuntimeError(f"a view of {t.dtype.name}, whose elements share bytes, must be contiguous")
    return t


cdef Tensor detached(Tensor t):
    """The same data without history: what the tape saves of outputs, so that no cycle arises."""
    cdef Tensor o = fresh()
    if t.ndim > INLINE_RANK:
        reserve_rank(o, t.ndim)
    else:
        o.ndim = t.ndim
    memcpy(o.dims, t.dims, t.ndim * sizeof(int64_t))
    memcpy(o.strides, t.strides, t.ndim * sizeof(int64_t))
    o.numel = t.numel
    o.offset = t.offset
    o.key = t.key & ~<uint32_t>K_NEEDS_GRAD
    o.kind = t.kind & ~<uint8_t>KIND_VIEW
    o.storage = t.storage
    o.counter = t.counter
    return o


cdef int take_layout(Tensor t, Tensor other) except -1:
    """``t`` gets the memory, sizes and dtype of ``other``; what was a view of it is one of its former self."""
    if t.grad_state == GRAD_CLEARED:
        SLOTS.make_zeros(t)                              # those are like what it was
    reserve_rank(t, other.ndim)
    memcpy(t.dims, other.dims, other.ndim * sizeof(int64_t))
    memcpy(t.strides, other.strides, other.ndim * sizeof(int64_t))
    t.offset = other.offset
    t.storage = other.storage
    t.counter = other.counter
    t.key = (other.key & ~<uint32_t>K_NEEDS_GRAD) | (t.key & K_NEEDS_GRAD)
    t.low = None
    t.shaped += 1
    classify(t)
    return 0


cdef tensor_slots_t SLOTS

cdef tensor_slots_t* tensor_slots() noexcept:
    return &SLOTS


cdef inline object binary(int which, object a, object b):
    return SLOTS.binary(which, a, b)


cdef class Tensor:
    """Dense, strided array with a place, a dtype and a gradient.

    Example:
        >>> import paddle
        >>> paddle.Tensor([1.0, 2.0]).shape
        paddle.Size([2])
    """

    def __cinit__(self):
        self.dims = self.inline_dims
        self.strides = self.inline_strides
        self.kind = KIND_UNMADE
        Py_DECREF(None)
        umiak_dict(self)[0] = NULL

    def __init__(self, *args, **kwargs):
        if self.kind == KIND_UNMADE:
            _make_empty(self)
        if args or kwargs:
            self._construct(*args, **kwargs)     # of the public API, which says what data there are

    @property
    def _attributes(self):
        """Attributes that users set on this instance (a copy)."""
        return dict(self.extra) if umiak_dict(self)[0] != NULL else {}

    # -- what it is ----------------------------------------------------------------------------------------------
    @property
    def shape(self):
        return new_size(self.dims, self.ndim)

    @property
    def size(self):
        """Number of elements; called, ``x.size()``, the sizes."""
        return new_count(self.numel, self.dims, self.ndim)

    @property
    def strides(self):
        cdef int i
        cdef list r = []
        for i in range(self.ndim):
            r.append(self.strides[i])
        return r

    @property
    def dtype(self):
        return dtype_from_id(self.key & K_DTYPE_MASK)

    @property
    def place(self):
        return place_from_index((self.key >> K_PLACE_SHIFT) & K_PLACE_MASK)

    @property
    def offset(self):
        """Bytes from the start of the storage."""
        return self.offset

    @property
    def storage(self):
        return self.storage

    @property
    def _kind(self):
        return self.kind

    @_kind.setter
    def _kind(self, int bits):
        self.kind = bits

    def is_contiguous(self):
        return ((self.key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK) == LAYOUT_CONTIGUOUS

    def data_ptr(self):
        """The address of the first element now; it may change unless the storage is pinned."""
        if self.storage is None:
            raise ValueError("[data_ptr] requires a tensor with data, got a symbolic one")
        resident(self.storage)
        return <size_t>(self.storage.data + self.offset)

    # -- gradient ------------------------------------------------------------------------------------------------
    @property
    def stop_gradient(self):
        refresh_if_view(self)
        return (self.key & K_NEEDS_GRAD) == 0

    @stop_gradient.setter
    def stop_gradient(self, value):
        cdef Tensor t = self
        cdef bint stop
        if isinstance(value, str):                       # "False" is true to Python
            raise op_error(TypeError, "stop_gradient", "True or False", repr(value))
        stop = value
        refresh_if_view(t)                               # later it would undo what is set here
        while True:                                      # a leaf is one through its former selves, too
            if stop:
                t.key &= ~<uint32_t>K_NEEDS_GRAD
            else:
                t.key |= K_NEEDS_GRAD
            if t.node is not None or t.view is None or not t.view.former:
                return
            t = t.view.parent

    @property
    def grad(self):
        cdef object tracer = capture_of()
        if tracer is not None:
            tracer.asks_for_gradients((self,))
        return tensor_grad(self)

    @grad.setter
    def grad(self, value):
        cdef Tensor g
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"[grad] requires a Tensor or None, got {type(value).__name__}")
            g = value
            if (value.full_shape if g.kind & KIND_SELECTED_ROWS else g.shape) != self.shape:
                raise ValueError(f"[grad] requires the tensor's shape {list(self.shape)}, got {list(g.shape)}")
        tracer = capture_of()
        if tracer is not None:
            tracer.replaces(self)
        set_grad(self, value, GRAD_GIVEN)

    @property
    def _grad(self):
        return tensor_grad(self)

    @_grad.setter
    def _grad(self, value):                              # whatever its shape
        set_grad(self, value)

    def clear_gradient(self, bint set_to_zero=True):
        """Set ``.grad`` to zeros, or to None with ``set_to_zero=False`` and where it is of selected rows."""
        SLOTS.clear_grad(self, set_to_zero)

    def clear_grad(self):
        """Set ``.grad`` to zeros, if there is one."""
        SLOTS.clear_grad(self, True)

    def backward(self, grad_tensor=None, bint retain_graph=False, dump_backward_graph_path=None):
        """Run gradients back from this tensor into ``.grad`` of the leaves it came from.

        Args:
            grad_tensor: the gradient of this tensor; by default ones.
            retain_graph: whether the history may be used again.

        Example:
            >>> import paddle
            >>> x = paddle.to_tensor(3.0, stop_gradient=False)
            >>> (x * x).backward()
            >>> float(x.grad)
            6.0
        """
        SLOTS.backward(self, grad_tensor, retain_graph)

    @property
    def is_leaf(self):
        refresh_if_view(self)
        return self.node is None

    @property
    def grad_fn(self):
        refresh_if_view(self)
        return self.node

    @property
    def output_index(self):
        refresh_if_view(self)
        return self.out_index

    @property
    def inplace_version(self):
        return 0 if self.storage is None else tensor_version(self) + self.shaped

    @property
    def _former(self):
        """This tensor as it was before its shape or dtype was last changed in place; None if it never was."""
        return self.view.parent if self.view is not None and self.view.former else None

    def _bump_version(self):
        """Record a write that happened outside the engine."""
        if self.storage is None:
            raise ValueError("[_bump_version] requires a tensor with data, got none")
        bump_version(self)

    def _own_version(self):
        """Give this alias (and views made of it from now on) a version counter of its own."""
        cdef Version own = Version()
        own.value = 0 if self.storage is None else tensor_version(self) + 1
        self.counter = own

    @property
    def _base(self):
        cdef Tensor t = self
        refresh_if_view(self)
        while t.kind & KIND_VIEW:
            if not t.view.former:
                return t.view.parent
            t = t.view.parent
        return None

    @property
    def _hooks(self):
        """The entries of the gradient hooks, None where there are none."""
        return tuple(self.hooks) if self.hooks else None

    def _grad_hooks(self):
        """The list of gradient hooks, made on first use."""
        if self.hooks is None:
            self.hooks = []
        return self.hooks

    def register_hook(self, hook):
        """``hook(grad)`` runs when this tensor's gradient is complete; a tensor it returns replaces the gradient."""
        if self.stop_gradient:
            raise RuntimeError("[register_hook] requires a tensor with stop_gradient=False, got one with stop_gradient=True")
        tracer = capture_of()
        if tracer is not None:
            return tracer.tensor(self).register_hook(hook)          # of the captured function's gradients
        if self.node is None:
            return HookHandle(self._grad_hooks(), hook)
        node, index = own_place(self, False)
        if (<Node>node).tensor_hooks is None:
            (<Node>node).tensor_hooks = {}
        return HookHandle((<Node>node).tensor_hooks.setdefault(index, []), hook)

    def retain_grads(self):
        """Keep ``.grad`` of this non-leaf tensor in later backward runs; of others nothing is to be kept, or it is anyway."""
        import weakref
        if self.stop_gradient or self.node is None:
            return
        node, index = own_place(self, False)
        self.retains = True
        if (<Node>node).retained is None:
            (<Node>node).retained = {}
        (<Node>node).retained[index] = weakref.ref(self)

    def detach(self):
        """The same data without history; the version is shared, so writes through it are noticed."""
        tracer = capture_of()
        return detached(self) if tracer is None else tracer.alias(self)  # an alias of what the function made of this

    def detach_(self):
        """Forget the history of this tensor."""
        cdef Tensor t = self
        if self._base is not None:
            raise RuntimeError("[detach_] requires a tensor that is not a view of another, got a view. Use detach().")
        SLOTS.changes += 1
        while True:                                      # with its former selves, which older views are views of
            t.node = None
            t.out_index = 0
            t.key &= ~<uint32_t>K_NEEDS_GRAD
            if not t.kind & KIND_VIEW:
                return self
            t.view.parent_node = None
            t = t.view.parent

    def _share(self, Tensor other not None):
        """Become another tensor's data (sizes, dtype, storage); history and attributes stay.

        The version moves on, so that a node which saved this tensor notices.
        """
        cdef Version next_version = Version()
        if other.storage is None:
            raise ValueError("[_share] requires a tensor with data, got none")
        if self.storage is not None:
            next_version.value = tensor_version(self)           # `shaped` is what moves on
        SLOTS.changes += 1
        self.view = None
        self.kind &= ~<uint8_t>(KIND_VIEW | KIND_UNMADE)
        take_layout(self, other)
        self.counter = next_version

    def _init_symbolic(self, DType dtype not None, int ndim):
        """Make this (fresh) tensor a symbolic one: dtype and rank, no data. Sizes are the subclass's business."""
        cdef int i
        reserve_rank(self, ndim)
        for i in range(ndim):
            self.dims[i] = -1
            self.strides[i] = 0
        self.key = dtype.id | (ndim << K_RANK_SHIFT) | (self.key & K_NEEDS_GRAD)
        self.kind = (self.kind & ~<uint8_t>KIND_UNMADE) | KIND_SYMBOLIC

    # -- operators -----------------------------------------------------------------------------------------------
    def __add__(self, other): return binary(B_ADD, self, other)
    def __radd__(self, other): return binary(B_ADD, other, self)
    def __sub__(self, other): return binary(B_SUB, self, other)
    def __rsub__(self, other): return binary(B_SUB, other, self)
    def __mul__(self, other): return binary(B_MUL, self, other)
    def __rmul__(self, other): return binary(B_MUL, other, self)
    def __truediv__(self, other): return binary(B_DIV, self, other)
    def __rtruediv__(self, other): return binary(B_DIV, other, self)
    def __floordiv__(self, other): return binary(B_FLOORDIV, self, other)
    def __rfloordiv__(self, other): return binary(B_FLOORDIV, other, self)
    def __mod__(self, other): return binary(B_MOD, self, other)
    def __rmod__(self, other): return binary(B_MOD, other, self)
    def __pow__(self, other, modulo): return binary(B_POW, self, other)
    def __rpow__(self, other, modulo): return binary(B_POW, other, self)
    def __matmul__(self, other): return binary(B_MATMUL, self, other)
    def __rmatmul__(self, other): return binary(B_MATMUL, other, self)
    def __and__(self, other): return binary(B_AND, self, other)
    def __rand__(self, other): return binary(B_AND, other, self)
    def __or__(self, other): return binary(B_OR, self, other)
    def __ror__(self, other): return binary(B_OR, other, self)
    def __xor__(self, other): return binary(B_XOR, self, other)
    def __rxor__(self, other): return binary(B_XOR, other, self)
    def __lshift__(self, other): return binary(B_SHL, self, other)
    def __rlshift__(self, other): return binary(B_SHL, other, self)
    def __rshift__(self, other): return binary(B_SHR, self, other)
    def __rrshift__(self, other): return binary(B_SHR, other, self)
    def __lt__(self, other): return binary(B_LT, self, other)
    def __le__(self, other): return binary(B_LE, self, other)
    def __gt__(self, other): return binary(B_GT, self, other)
    def __ge__(self, other): return binary(B_GE, self, other)
    def __eq__(self, other): return binary(B_EQ, self, other)
    def __ne__(self, other): return binary(B_NE, self, other)
    def __neg__(self): return SLOTS.unary(U_NEG, self)
    def __abs__(self): return SLOTS.unary(U_ABS, self)
    def __invert__(self): return SLOTS.unary(U_NOT, self)
    def __pos__(self): return self

    def __hash__(self):
        return <Py_ssize_t>(<size_t><void*>self >> 4)

    # -- what the face fills in ----------------------------------------------------------------------------------
    # Declared because a type made without these slots has no room for them when methods are attached later.
    def __len__(self):
        if self.ndim == 0:
            raise TypeError("[len] requires a tensor of rank 1 or more, got a 0-d one")
        return self.dims[0]

    def __getitem__(self, item):
        raise TypeError("[getitem] requires the public API. Import paddle.")

    def __setitem__(self, item, value):
        raise TypeError("[setitem] requires the public API. Import paddle.")


cdef Tensor _sample = Tensor.__new__(Tensor)
umiak_tensors_open(<PyTypeObject*>Tensor, empty_tensor)
umiak_open_type(<PyTypeObject*>Tensor, <char*>umiak_dict(_sample) - <char*><PyObject*>_sample)

globals().update(
    KIND_DISTRIBUTED=KIND_DISTRIBUTED, KIND_SPARSE=KIND_SPARSE, KIND_SELECTED_ROWS=KIND_SELECTED_ROWS, KIND_SYMBOLIC=KIND_SYMBOLIC,
    KIND_FAKE=KIND_FAKE, KIND_OVERRIDE=KIND_OVERRIDE, KIND_VIEW=KIND_VIEW)


cdef int _make_empty(Tensor t) except -1:
    cdef EngineContext c = <EngineContext>context_pointer()
    cdef Place place = c.state.place
    if place is None:
        raise RuntimeError("[Tensor] requires a default place, got none. Import umiak before making tensors.")
    reserve_rank(t, 1)
    t.dims[0] = 0
    t.strides[0] = 1
    t.kind = 0
    t.key = c.state.default_dtype | (place.index << K_PLACE_SHIFT)
    t.storage = new_storage(place.index, 0, c.stream[place.index])
    classify(t)
    return 0


cdef int sizes_of(shape, DType dtype, str op, int64_t* dims) except -1:
    """The rank, with the sizes in ``dims``. Raises MemoryError when they do not fit, ValueError on negative ones."""
    cdef int n = 0
    cdef object total = 1
    if dtype.id >= DTYPE_COUNT:
        raise op_error(TypeError, op, "a dtype that tensors may have", dtype)
    if len(shape) > K_RANK_MASK:
        raise op_error(ValueError, op, f"at most {K_RANK_MASK} axes", len(shape))
    for size in shape:
        if size < 0:
            raise op_error(ValueError, op, "sizes of at least 0", list(shape))
        total *= size
        if total * dtype.bits >= 1 << 62:
            raise op_error(MemoryError, op, "a shape that memory can hold", f"{list(shape)} of {dtype.name}")
        dims[n] = size
        n += 1
    return n


def own_place(Tensor t not None, bint asked):
    """The node and the output number where the gradient of this tensor is complete: its own, but where its node is that of several
    tensors, of which others depend on this one. ``asked``: for gradients with respect to it."""
    cdef Node node = t.node
    cdef object index = t.out_index, place, take_apart
    while node.python is not None:
        take_apart = getattr(node.python, "take_apart", None)
        place = None if take_apart is None else take_apart(node, index, asked)
        if place is None:
            break
        node, index = place
    return node, index


def empty(shape, DType dtype not None, Place place=None):
    """Uninitialised contiguous memory. Raises MemoryError when it does not fit, ValueError on negative sizes."""
    cdef EngineContext c = <EngineContext>context_pointer()
    cdef int64_t[K_RANK_MASK] dims
    c.running = NULL
    if place is None:
        place = c.place
    cdef int n = sizes_of(shape, dtype, "empty", dims)
    return new_tensor(dtype.id, n, dims, place.index, c.stream[place.index])


def unfilled(shape, DType dtype not None, Place place not None, str why not None):
    """A contiguous tensor without memory, until it is written as a whole or its storage filled; reading it is an error, ``why``."""
    cdef EngineContext c = <EngineContext>context_pointer()
    cdef int64_t[K_RANK_MASK] dims
    cdef int64_t step = 1
    cdef Tensor t
    cdef int i, n = sizes_of(shape, dtype, "empty", dims)
    t = fresh()
    reserve_rank(t, n)
    for i in range(n - 1, -1, -1):
        t.dims[i] = dims[i]
        t.strides[i] = step
        step *= max(dims[i], 1)
    t.key = dtype.id | (place.index << K_PLACE_SHIFT)
    t.kind = 0
    classify(t)
    t.storage = unfilled_storage(place.index, bytes_of(dtype.id, t.numel), c.stream[place.index], why)
    return t
