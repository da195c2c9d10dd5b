"""The interface of extensions: see paddle/include/umiak/extension_abi.h."""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t

cdef extern from "paddle/include/umiak/extension_abi.h" nogil:
    enum:
        UMIAK_ABI_MAJOR
        UMIAK_ABI_MINOR
        UMIAK_NONE
        UMIAK_TENSOR
        UMIAK_IS_BOOL
        UMIAK_IS_INT
        UMIAK_IS_FLOAT
        UMIAK_IS_TEXT
        UMIAK_IS_DTYPE
        UMIAK_IS_PLACE
        UMIAK_TENSORS
        UMIAK_INTS
        UMIAK_FLOATS
        UMIAK_BOOLS
        UMIAK_TEXTS
        UMIAK_META
        UMIAK_METAS
        UMIAK_OK
        UMIAK_FAILED
        UMIAK_HOST_FAILED

    ctypedef struct umiak_tensor:
        pass

    ctypedef struct umiak_text:
        const char* data
        int64_t length

    ctypedef struct umiak_meta:
        int32_t dtype
        int32_t ndim
        const int64_t* sizes
        const int64_t* mapping

    ctypedef union umiak_content "void*":
        int64_t integer
        double real
        const char* text
        umiak_tensor* tensor
        umiak_tensor** tensors
        const int64_t* ints
        const double* reals
        const umiak_text* texts
        const umiak_meta* metas

    ctypedef struct umiak_value:
        int32_t kind
        int64_t count
        umiak_content content "as"

    ctypedef struct umiak_tensor_info:
        uint32_t size
        int32_t dtype
        int32_t ndim
        int32_t device_id
        const char* device_type
        int64_t numel
        const int64_t* sizes
        const int64_t* strides
        void* data

    ctypedef struct umiak_host:
        uint32_t size
        uint16_t abi_major
        uint16_t abi_minor
        const char* version
        void (*retain)(umiak_tensor*) noexcept nogil
        void (*release)(umiak_tensor*) noexcept nogil
        int (*describe)(umiak_tensor*, umiak_tensor_info*) noexcept nogil
        umiak_tensor* (*empty)(int32_t, int32_t, const int64_t*, const char*, int32_t) noexcept nogil
        int64_t (*call)(const char*, const umiak_value*, int64_t, umiak_tensor**, int64_t) noexcept nogil
        const char* (*last_error)() noexcept nogil
        int (*stream)(umiak_tensor*, const char*, int32_t, void**) noexcept nogil
        int (*from_object)(void*, umiak_value*) noexcept nogil
        void* (*to_object)(const umiak_value*) noexcept nogil
        void (*raise_error)(const char*, const char*) noexcept nogil
        umiak_tensor* (*lend)(void*, int32_t, int32_t, const int64_t*, const int64_t*, const char*, int32_t, void*,
                              void (*)(void*) noexcept nogil) noexcept nogil

    ctypedef struct umiak_call:
        uint32_t size
        int64_t n_arguments
        const umiak_value* arguments
        int64_t room
        int64_t n_results
        umiak_tensor** results
        const int64_t* counts
        void* context
        void (*complain)(void*, const char*, const char*) noexcept nogil
        void (*give_shape)(void*, int32_t, const int64_t*) noexcept nogil
        void (*give_dtype)(void*, int32_t) noexcept nogil
        void (*give_mapping)(void*, int32_t, int32_t, const int64_t*, int32_t, const int64_t*) noexcept nogil

    ctypedef int (*umiak_function)(void*, umiak_call*) noexcept nogil

    ctypedef struct umiak_names:
        int64_t count
        const char** names

    ctypedef struct umiak_operator:
        uint32_t size
        int32_t kind
        const char* name
        const char* key
        const char* file
        int32_t line
        umiak_names inputs
        umiak_names outputs
        umiak_names attributes
        umiak_names inplace
        void* self
        umiak_function run
        umiak_function infer_shape
        umiak_function infer_dtype
        umiak_function infer_sharding

    ctypedef struct umiak_extension_table:
        uint32_t size
        uint16_t abi_major
        uint16_t abi_minor
        const char* compiler
        int64_t n_operators
        const umiak_operator** operators
        const char* error

    ctypedef const umiak_extension_table* (*umiak_extension_function)(const umiak_host*) noexcept nogil
