"""Tensor and the small objects that hang on it."""
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from umiak.core.node cimport Node
from umiak.core.storage cimport Storage

cdef enum:
    INLINE_RANK = 8
    VIEW_WORDS = 6             # of params that a view origin keeps within itself
    # Descriptor (Tensor.key): what dispatch keys on, kept ready in the tensor.
    K_DTYPE_MASK = 31
    K_RANK_SHIFT = 5
    K_RANK_MASK = 63
    K_LAYOUT_SHIFT = 11
    K_LAYOUT_MASK = 7
    K_ALIGNED = 1 << 14
    K_PLACE_SHIFT = 15
    K_PLACE_MASK = 63
    K_NEEDS_GRAD = 1 << 21
    K_TAG_SHIFT = 22           # 0 tensor, else one of TAG_*
    TAG_ABSENT = 1
    TAG_BOOL = 2
    TAG_INT = 3
    TAG_FLOAT = 4
    TAG_COMPLEX = 5
    LAYOUT_CONTIGUOUS = 0
    LAYOUT_INNER = 1           # last axis has stride 1
    LAYOUT_BROADCAST = 2       # some stride is 0
    LAYOUT_STRIDED = 3
    # kinds
    KIND_DISTRIBUTED = 1
    KIND_SPARSE = 2
    KIND_SELECTED_ROWS = 4
    KIND_SYMBOLIC = 8
    KIND_FAKE = 16
    KIND_OVERRIDE = 32
    KIND_UNMADE = 128          # never initialised (a subclass that does not call Tensor.__init__)
    KIND_VIEW = 64             # has a view origin: refreshed before use, then dense

    # what `Tensor.held_grad` is
    GRAD_MADE = 0              # None, or what backward runs have summed up
    GRAD_GIVEN = 1             # a tensor that was assigned
    GRAD_CLEARED = 2           # None in place of zeros like the tensor, which nobody has looked at

cdef class Version:
    """A version counter that an alias group owns apart from its storage (slices of a flat parameter buffer)."""
    cdef public uint32_t value

cdef class ViewOrigin:
    """The origin of a view: its parent and the op that made it: enough to make it again, and to write through it."""
    cdef readonly Tensor parent
    cdef readonly object op                # the view op
    cdef int n_words                       # its params, packed
    cdef uint64_t sig
    cdef uint64_t[VIEW_WORDS] words
    cdef object more_words                 # bytes, where they are more
    cdef Node parent_node                  # parent's node when the view was last derived
    cdef uint32_t parent_index             # which output of it
    cdef uint32_t parent_shaped            # parent's `shaped` when the view was taken; it tells which former self of it is meant
    cdef bint former                       # the parent is what the tensor itself was before an in-place change of shape or dtype
    cdef uint64_t seen                     # number of history changes in the process when it was last compared

cdef class Tensor:
    cdef int64_t* dims                     # sizes; strides (in elements) follow at `strides`
    cdef int64_t* strides
    cdef int64_t[INLINE_RANK] inline_dims
    cdef int64_t[INLINE_RANK] inline_strides
    cdef int64_t offset                    # bytes from storage.data
    cdef readonly int64_t numel
    cdef uint32_t key
    cdef uint32_t out_index                # which output of `node`
    cdef readonly int ndim
    cdef uint8_t kind
    cdef bint retains                      # keeps .grad although not a leaf
    cdef uint8_t grad_state                # one of GRAD_*
    cdef uint32_t shaped                   # how often sizes, dtype or memory were exchanged in place
    cdef Storage storage                   # None for tensors without data (symbolic)
    cdef Version counter                   # None: the storage's own version
    cdef Node node
    cdef object held_grad                  # `.grad`, but for zeros that are not made yet: read it by `tensor_grad`
    cdef ViewOrigin view
    cdef object hooks                      # gradient hooks (list) or None
    cdef object low                        # a parameter's copy in low precision, of version `low_version`
    cdef uint32_t low_version
    cdef dict extra                        # attributes set by users; NULL until the first (see umiak_dict)
    cdef object wide                       # memory of sizes and strides above INLINE_RANK
    cdef object __weakref__

cdef inline char* tensor_data(Tensor t) noexcept:
    return t.storage.data + t.offset

cdef inline uint32_t tensor_version(Tensor t) noexcept:
    return t.counter.value if t.counter is not None else t.storage.version

cdef Tensor new_tensor(int dtype, int ndim, const int64_t* dims, int place, int64_t stream)       # contiguous, own memory
cdef Tensor new_view(Tensor base, int ndim, const int64_t* dims, const int64_t* strides, int64_t offset)
cdef Tensor detached(Tensor t)              # same data, no history
cdef void classify(Tensor t) noexcept      # recompute numel, layout and alignment bits of key
cdef int reserve_rank(Tensor t, int ndim) except -1
cdef int take_layout(Tensor t, Tensor other) except -1

cdef inline uint32_t saved_version(Tensor t) noexcept:
    """Differs from what it was after a write, and after an in-place change of shape. The odd factor keeps the two apart: they could
    cancel each other only after 10**9 of them."""
    return tensor_version(t) + t.shaped * <uint32_t>2654435761

cdef inline void bump_version(Tensor t) noexcept:
    if t.counter is not None:
        t.counter.value += 1
    else:
        t.storage.version += 1

cdef enum:
    B_ADD = 0
    B_SUB
    B_MUL
    B_DIV
    B_FLOORDIV
    B_MOD
    B_POW
    B_MATMUL
    B_AND
    B_OR
    B_XOR
    B_SHL
    B_SHR
    B_LT
    B_LE
    B_GT
    B_GE
    B_EQ
    B_NE
    B_COUNT
    U_NEG = 0
    U_ABS
    U_NOT
    U_COUNT

# What eager.pyx, views.pyx, leaf_gradients.pyx and tape.pyx fill in: the operators, the renewal of views whose parent was written to, gradients.
ctypedef struct tensor_slots_t:
    object (*binary)(int which, object a, object b)
    object (*unary)(int which, object a)
    int (*refresh)(Tensor t) except -1
    int (*make_zeros)(Tensor t) except -1
    int (*clear_grad)(Tensor t, bint to_zero) except -1
    object (*backward)(Tensor t, object grad, bint retain_graph)
    uint64_t changes           # how often any history changed by a write: a view compared at this count needs no walk

cdef tensor_slots_t* tensor_slots() noexcept

cdef inline int refresh_if_view(Tensor t) except -1:
    if t.kind & KIND_VIEW:
        return tensor_slots().refresh(t)
    return 0

cdef inline object tensor_grad(Tensor t):
    """``t.grad``. Zeros that a clearing left out are made now."""
    if t.grad_state == GRAD_CLEARED:
        tensor_slots().make_zeros(t)
    return t.held_grad

cdef inline int set_grad(Tensor t, object g, int state=GRAD_MADE) except -1:
    t.grad_state = state
    t.held_grad = g
    return 0
