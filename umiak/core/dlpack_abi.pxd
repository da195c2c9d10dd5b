"""The C interface of DLPack 1.3, in the order and the widths that the standard fixes (dmlc.github.io/dlpack)."""
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from *:
    """
    #ifndef UMIAK_DLPACK
    #define UMIAK_DLPACK
    #include <stdint.h>
    typedef struct { int32_t type, id; } umiak_dl_device;
    typedef struct { uint8_t code, bits; uint16_t lanes; } umiak_dl_type;
    typedef struct {
        void *data; umiak_dl_device device; int32_t ndim; umiak_dl_type dtype; int64_t *shape, *strides; uint64_t byte_offset;
    } umiak_dl_tensor;
    typedef struct umiak_dl_old { umiak_dl_tensor t; void *manager; void (*deleter)(struct umiak_dl_old *); } umiak_dl_old;
    typedef struct umiak_dl_new {
        uint32_t major, minor; void *manager; void (*deleter)(struct umiak_dl_new *); uint64_t flags; umiak_dl_tensor t;
    } umiak_dl_new;
    typedef void (*umiak_dl_complain)(void *context, const char *kind, const char *message);
    typedef struct umiak_dl_exchange {
        uint32_t major, minor;
        struct umiak_dl_exchange *older;
        int (*allocate)(umiak_dl_tensor *prototype, umiak_dl_new **out, void *context, umiak_dl_complain complain);
        int (*from_object)(void *object, umiak_dl_new **out);
        int (*to_object)(umiak_dl_new *managed, void **object);
        int (*borrow)(void *object, umiak_dl_tensor *out);
        int (*current_stream)(int32_t type, int32_t id, void **out);
    } umiak_dl_exchange;
    #endif
    """
    ctypedef struct dl_device "umiak_dl_device":
        int32_t type
        int32_t id
    ctypedef struct dl_type "umiak_dl_type":
        uint8_t code
        uint8_t bits
        uint16_t lanes
    ctypedef struct dl_tensor "umiak_dl_tensor":
        void* data
        dl_device device
        int32_t ndim
        dl_type dtype
        int64_t* shape
        int64_t* strides
        uint64_t byte_offset
    ctypedef struct dl_old "umiak_dl_old":         # before 1.0
        dl_tensor t
        void* manager
        void (*deleter)(dl_old*) noexcept nogil
    ctypedef struct dl_new "umiak_dl_new":
        uint32_t major
        uint32_t minor
        void* manager
        void (*deleter)(dl_new*) noexcept nogil
        uint64_t flags
        dl_tensor t
    ctypedef void (*dl_complain "umiak_dl_complain")(void* context, const char* kind, const char* message) noexcept nogil
    ctypedef struct dl_exchange "umiak_dl_exchange":
        uint32_t major
        uint32_t minor
        dl_exchange* older
        int (*allocate)(dl_tensor* prototype, dl_new** out, void* context, dl_complain complain) noexcept nogil
        int (*from_object)(void* object, dl_new** out) except -1
        int (*to_object)(dl_new* managed, void** object) except -1
        int (*borrow)(void* object, dl_tensor* out) except -1
        int (*current_stream)(int32_t type, int32_t id, void** out) except -1

cdef enum:
    DL_MAJOR = 1
    DL_MINOR = 3
    DL_UINT = 1                # kDLUInt, of dl_type.code
    DL_CPU = 1
    DL_CUDA = 2
    DL_CUDA_HOST = 3
    DL_ROCM = 10
    DL_ROCM_HOST = 11
    DL_CUDA_MANAGED = 13
    FLAG_READ_ONLY = 1
    FLAG_COPIED = 2
    FLAG_PADDED = 4            # elements of less than a byte have one each
