"""Tensor and the small records that hang on it."""
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from umiak.core.storage cimport Storage

cdef enum:
    INLINE_RANK = 8
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
    KIND_VIEW = 64             # has a view record: refreshed before use, then dense

cdef class Version:
    """A version counter that an alias group owns apart from its storage (slices of a flat parameter buffer)."""
    cdef public uint32_t value

cdef class Node

cdef class ViewRecord:
    """How a view came from its parent: enough to make it again, and to write through it."""
    cdef readonly Tensor parent
    cdef readonly object op                # the view op
    cdef readonly tuple params             # its params
    cdef Node parent_node                  # parent's node when the view was last derived
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
    cdef Storage storage                   # None for tensors without data (symbolic)
    cdef Version counter                   # None: the storage's own version
    cdef Node node
    cdef public object _grad
    cdef ViewRecord view
    cdef object hooks                      # gradient hooks (list) or None
    cdef object low                        # a parameter's copy in low precision, of version `low_version`
    cdef uint32_t low_version
    cdef dict extra                        # attributes set by users; NULL until the first (see umiak_dict)
    cdef object wide                       # memory of sizes and strides above INLINE_RANK
    cdef object __weakref__

cdef class Node:
    """One recorded call; see tape.pyx for what the fields mean."""
    cdef object plan                       # dispatch.Plan (or None for Python-defined nodes)
    cdef tuple edges                       # per operand: Node, leaf Tensor, or None
    cdef uint32_t[8] edge_index            # output index within the edge's node (first eight operands)
    cdef uint32_t* more_index              # the others
    cdef tuple saved                       # tensors for vjp, or what `unpack` turns into them
    cdef object unpack
    cdef uint32_t[8] versions
    cdef uint32_t* more_versions
    cdef int64_t[8] inline_ints
    cdef int64_t* ints                     # sizes and scalars for vjp
    cdef int n_out
    cdef bint released
    cdef list in_meta                      # for Python-defined nodes: (shape, dtype) of inputs
    cdef public object pre_hooks
    cdef public object post_hooks
    cdef object tensor_hooks               # {out_index: [hooks]} of non-leaf tensors
    cdef dict retained                     # {out_index: weakref of tensor that retains its grad}
    cdef public object python              # Python-defined backward (PyLayer, hooks)
    cdef int64_t run                       # backward run that owns (slot)
    cdef int64_t slot
    cdef object __weakref__

cdef inline char* tensor_data(Tensor t) noexcept:
    return t.storage.data + t.offset

cdef inline uint32_t tensor_version(Tensor t) noexcept:
    return t.counter.value if t.counter is not None else t.storage.version

cdef Tensor new_tensor(int dtype, int ndim, const int64_t* dims, int place, int64_t stream)       # contiguous, own memory
cdef Tensor new_view(Tensor base, int ndim, const int64_t* dims, const int64_t* strides, int64_t offset)
cdef Tensor shallow(Tensor t)              # same data, no history
cdef void classify(Tensor t) noexcept      # recompute numel, layout and alignment bits of key
cdef int reserve_rank(Tensor t, int ndim) except -1

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

# What dispatch.pyx fills in: the operators, and the renewal of views whose parent was written to.
ctypedef struct tensor_slots_t:
    object (*binary)(int which, object a, object b)
    object (*unary)(int which, object a)
    int (*refresh)(Tensor t) except -1
    uint64_t changes           # how often any history changed by a write: a view compared at this count needs no walk

cdef tensor_slots_t* tensor_slots() noexcept

cdef inline int refresh_if_view(Tensor t) except -1:
    if t.kind & KIND_VIEW:
        return tensor_slots().refresh(t)
    return 0
