"""oneDNN's C interface as far as it is used, and programs of its primitives."""
from libc.stdint cimport int64_t

ctypedef int64_t dims_t[12]
ctypedef void* handle_t

cdef enum:                     # dnnl_types.h of version 3
    F16 = 1
    BF16 = 2
    F32 = 3
    S32 = 4
    FORMAT_ANY = 1
    FORWARD_TRAINING = 64
    FORWARD_INFERENCE = 96
    CONVOLUTION_DIRECT = 1
    POOLING_AVERAGE = 0x2ff        # over pads too
    ELTWISE_RELU = 0x20
    ELTWISE_TANH = 0x21
    ELTWISE_SCALE_AND_SHIFT = 0x26
    ELTWISE_LOGISTIC = 0x29
    ELTWISE_GELU_TANH = 0x2b
    ELTWISE_SWISH = 0x2c
    ELTWISE_GELU_ERF = 0x31
    ELTWISE_HARD_SWISH = 0x34
    BINARY_ADD = 0x1fff0
    ARG_SRC = 1
    ARG_DST = 17
    ARG_WEIGHTS = 33
    ARG_BIAS = 41
    ARG_SCRATCHPAD = 80
    ARG_DIFF_SRC = 129
    ARG_DIFF_DST = 145
    ARG_DIFF_WEIGHTS = 161
    ARG_POST_OP = 32768        # times the index plus one, or-ed with ARG_POST_OP_SRC
    ARG_POST_OP_SRC = 2
    QUERY_IMPL = 8
    QUERY_SRC = 129
    QUERY_DIFF_SRC = 130
    QUERY_WEIGHTS = 131
    QUERY_DIFF_WEIGHTS = 132
    QUERY_DST = 133
    QUERY_DIFF_DST = 134
    QUERY_SCRATCHPAD = 136
    ISA_AVX512 = 0x27
    ISA_AVX512_BF16 = 0xe7

cdef struct Argument:
    int arg
    handle_t memory

cdef struct Library:
    handle_t engine, stream
    int isa
    int (*sgemm)(char, char, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*, int64_t, float, float*, int64_t) noexcept nogil
    int (*engine_create)(handle_t*, int, size_t) noexcept nogil
    int (*stream_create)(handle_t*, handle_t, unsigned) noexcept nogil
    int (*desc_strided)(handle_t*, int, const int64_t*, int, const int64_t*) noexcept nogil
    int (*desc_tagged)(handle_t*, int, const int64_t*, int, int) noexcept nogil
    int (*desc_named)(handle_t*, int, const int64_t*, int, const char*) noexcept nogil
    int (*desc_clone)(handle_t*, handle_t) noexcept nogil
    int (*desc_destroy)(handle_t) noexcept nogil
    int (*desc_equal)(handle_t, handle_t) noexcept nogil
    size_t (*desc_size)(handle_t) noexcept nogil
    int (*memory_create)(handle_t*, handle_t, handle_t, void*) noexcept nogil
    int (*memory_set)(handle_t, void*) noexcept nogil
    int (*memory_destroy)(handle_t) noexcept nogil
    int (*attr_create)(handle_t*) noexcept nogil
    int (*attr_destroy)(handle_t) noexcept nogil
    int (*attr_scratchpad)(handle_t, int) noexcept nogil
    int (*attr_post_ops)(handle_t, handle_t) noexcept nogil
    int (*post_ops_create)(handle_t*) noexcept nogil
    int (*post_ops_destroy)(handle_t) noexcept nogil
    int (*append_eltwise)(handle_t, int, float, float) noexcept nogil
    int (*append_sum)(handle_t, float, int, int) noexcept nogil
    int (*append_binary)(handle_t, int, handle_t) noexcept nogil
    int (*matmul)(handle_t*, handle_t, handle_t, handle_t, handle_t, handle_t, handle_t) noexcept nogil
    int (*conv)(handle_t*, handle_t, int, int, handle_t, handle_t, handle_t, handle_t, const int64_t*, const int64_t*, const int64_t*, const int64_t*, handle_t) noexcept nogil
    int (*conv_data)(handle_t*, handle_t, int, handle_t, handle_t, handle_t, const int64_t*, const int64_t*, const int64_t*, const int64_t*, handle_t, handle_t) noexcept nogil
    int (*conv_weights)(handle_t*, handle_t, int, handle_t, handle_t, handle_t, handle_t, const int64_t*, const int64_t*, const int64_t*, const int64_t*, handle_t, handle_t) noexcept nogil
    int (*pool)(handle_t*, handle_t, int, int, handle_t, handle_t, const int64_t*, const int64_t*, const int64_t*, const int64_t*, const int64_t*, handle_t) noexcept nogil
    int (*pool_back)(handle_t*, handle_t, int, handle_t, handle_t, const int64_t*, const int64_t*, const int64_t*, const int64_t*, const int64_t*, handle_t, handle_t) noexcept nogil
    int (*reorder)(handle_t*, handle_t, handle_t, handle_t, handle_t, handle_t) noexcept nogil
    int (*pd_destroy)(handle_t) noexcept nogil
    int (*pd_query)(handle_t, int, int, void*) noexcept nogil
    handle_t (*pd_desc)(handle_t, int, int) noexcept nogil
    int (*primitive_create)(handle_t*, handle_t) noexcept nogil
    int (*primitive_destroy)(handle_t) noexcept nogil
    int (*execute)(handle_t, handle_t, int, const Argument*) noexcept nogil
    int (*isa_query)() noexcept nogil
    int (*cache_capacity)(int) noexcept nogil
    int (*omp_max)() noexcept nogil
    void (*omp_set)(int) noexcept nogil

cdef Library* library() noexcept nogil    # NULL unless load() found one that is usable

cdef enum:
    MAX_STEPS = 6
    MAX_BUFFERS = 16
    MAX_ARGUMENTS = 10

cdef struct Step:
    handle_t primitive
    int count
    int arg[MAX_ARGUMENTS]
    int buffer[MAX_ARGUMENTS]

cdef struct Set:               # memory objects of one run at a time
    Set* next
    handle_t memory[MAX_BUFFERS]
    Argument arguments[MAX_STEPS][MAX_ARGUMENTS]

cdef struct Program:
    int step_count, buffer_count, external_count
    int strip, block           # in which kernels are to lie that are given in other strips; 0: as they are given
    int64_t scratch            # bytes of what lies between the steps
    Step steps[MAX_STEPS]
    handle_t desc[MAX_BUFFERS] # owned
    int external[MAX_BUFFERS]  # the pointer it is, or -1: ``offset`` in scratch
    int64_t offset[MAX_BUFFERS]
    Set* free_sets

cdef Program* new_program() noexcept nogil
cdef void free_program(void* p) noexcept nogil
cdef int add_buffer(Program* p, handle_t desc, int external) noexcept nogil
cdef Step* add_step(Program* p, handle_t primitive_desc) noexcept nogil
cdef int add_argument(Step* s, int arg, int buffer) noexcept nogil
cdef int reordered(Program* p, int source, int target) noexcept nogil
cdef int run_program(Program* p, void** externals) noexcept nogil
cdef bint is_reference(handle_t primitive_desc) noexcept nogil
cdef void drop(handle_t desc) noexcept nogil
cdef void drop_wishes(handle_t ops, handle_t attr) noexcept nogil
cdef handle_t worth_having(handle_t primitive_desc, handle_t hint, bint bad) noexcept nogil
cdef int enter() noexcept nogil                 # set the library's threads for this thread; gives what leave() restores
cdef void leave(int before) noexcept nogil
