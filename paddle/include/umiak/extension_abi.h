/* Interface between Umiak and extensions with operators: all that both sides know of each other. C, nothing included but <stdint.h>.

   An extension is a shared library with one exported function, `umiak_extension`. It gets the table of functions of the host and gives
   its own table of operators. Rules of versions:

   - A table begins with its size in bytes. New fields come at the end and count up the minor version. Nobody reads a field that lies
     behind the size that the other side gave.
   - umiak_value, umiak_meta and umiak_text never change, nor do the numbers of enumerations and the meaning of a field.
   - What cannot be done so counts up the major version. Each side refuses the other's where the major versions differ, and a host
     refuses an extension of a later minor version. */
#ifndef UMIAK_EXTENSION_ABI_H
#define UMIAK_EXTENSION_ABI_H

#include <stdint.h>

#define UMIAK_ABI_MAJOR 1
#define UMIAK_ABI_MINOR 3

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor of the host. Its memory stays where it is for as long as somebody has a reference. */
typedef struct umiak_tensor umiak_tensor;

enum umiak_dtype {
  UMIAK_UNDEFINED = 0,
  UMIAK_BOOL = 1,
  UMIAK_UINT8 = 2,
  UMIAK_INT8 = 3,
  UMIAK_UINT16 = 4,
  UMIAK_INT16 = 5,
  UMIAK_UINT32 = 6,
  UMIAK_INT32 = 7,
  UMIAK_UINT64 = 8,
  UMIAK_INT64 = 9,
  UMIAK_FLOAT32 = 10,
  UMIAK_FLOAT64 = 11,
  UMIAK_COMPLEX64 = 12,
  UMIAK_COMPLEX128 = 13,
  UMIAK_FLOAT16 = 14,
  UMIAK_BFLOAT16 = 15,
  UMIAK_FLOAT8_E4M3FN = 16,
  UMIAK_FLOAT8_E5M2 = 17
};

enum umiak_kind {
  UMIAK_NONE = 0,
  UMIAK_TENSOR = 1,
  UMIAK_IS_BOOL = 2,   /* integer */
  UMIAK_IS_INT = 3,    /* integer */
  UMIAK_IS_FLOAT = 4,  /* real */
  UMIAK_IS_TEXT = 5,   /* text, of `count` bytes and a zero */
  UMIAK_IS_DTYPE = 6,  /* integer: an umiak_dtype */
  UMIAK_IS_PLACE = 7,  /* text: "cpu", "gpu:0" */
  UMIAK_TENSORS = 8,   /* lists have `count` items; a tensor among them may be null */
  UMIAK_INTS = 9,
  UMIAK_FLOATS = 10,
  UMIAK_BOOLS = 11,    /* as ints */
  UMIAK_TEXTS = 12,
  UMIAK_META = 13,     /* sizes and dtype in place of a tensor */
  UMIAK_METAS = 14
};

typedef struct umiak_text {
  const char* data; /* UTF-8, a zero behind it */
  int64_t length;   /* bytes, without the zero */
} umiak_text;

/* Sizes and dtype of a tensor. `mapping`, where it is not null: for each axis the axis of the mesh that it is sharded on, or -1. */
typedef struct umiak_meta {
  int32_t dtype;
  int32_t ndim;
  const int64_t* sizes;
  const int64_t* mapping;
} umiak_meta;

/* An argument of any kind. Who gives it keeps what it points to until the call ends. */
typedef struct umiak_value {
  int32_t kind; /* an umiak_kind */
  int32_t reserved;
  int64_t count;
  union {
    int64_t integer;
    double real;
    const char* text;
    umiak_tensor* tensor;
    umiak_tensor* const* tensors;
    const int64_t* ints;
    const double* reals;
    const umiak_text* texts;
    const umiak_meta* metas;
  } as;
} umiak_value;

/* Facts of a tensor. Pointers are valid for as long as the reference that was asked. */
typedef struct umiak_tensor_info {
  uint32_t size;
  int32_t dtype;
  int32_t ndim;
  int32_t device_id;
  const char* device_type; /* "cpu" where the host's processor can read the memory */
  int64_t numel;
  const int64_t* sizes;
  const int64_t* strides; /* in elements */
  void* data;             /* null where there are no elements, or no memory */
} umiak_tensor_info;

/* Functions of the host, for any thread. Those that return an int give 0, or -1 for an error, which the host keeps: a function of the
   extension that returns UMIAK_HOST_FAILED makes the host raise it. */
typedef struct umiak_host {
  uint32_t size;
  uint16_t abi_major;
  uint16_t abi_minor;
  const char* version; /* of the host, for messages */
  void (*retain)(umiak_tensor* x);
  void (*release)(umiak_tensor* x);
  int (*describe)(umiak_tensor* x, umiak_tensor_info* info); /* info->size is set by the caller */
  /* New memory, as it comes; device_type null: that of the running call. Null for an error. */
  umiak_tensor* (*empty)(int32_t dtype, int32_t ndim, const int64_t* sizes, const char* device_type, int32_t device_id);
  /* A function of the library by name. `results` has room for so many; their number comes back, or -1. */
  int64_t (*call)(const char* name, const umiak_value* arguments, int64_t n_arguments, umiak_tensor** results, int64_t room);
  const char* (*last_error)(void); /* what the kept error of this thread says; empty where there is none */
  /* 1.1: the current stream of a tensor's device, as the device's own library knows it (a CUstream). x null: of the device that is
     named, as for `empty`. Work that the running call hands to it comes before what the host hands in later. */
  int (*stream)(umiak_tensor* x, const char* device_type, int32_t device_id, void** stream);
  /* 1.2: an object of Python (a PyObject) as a tensor, of which the caller gets a reference, a dtype or a place; UMIAK_NONE where it is
     none of these. The text of a place stays. These three are for functions that Python calls by itself: they hold its lock. */
  int (*from_object)(void* object, umiak_value* value);
  /* 1.2: a value of any kind as an object of Python, a new reference; null for an error. */
  void* (*to_object)(const umiak_value* value);
  /* 1.2: set Python's exception: the error that the host has kept for this thread where `kind` is null, else as for `complain`. */
  void (*raise_error)(const char* kind, const char* message);
  /* 1.3: a tensor over memory of the extension's. `strides`, in elements, may be null: one element after the other. `release` is called
     once, on any thread, when nobody uses the memory any more: at once where there are no elements. Null for an error; then it is not
     called. */
  umiak_tensor* (*lend)(void* data, int32_t dtype, int32_t ndim, const int64_t* sizes, const int64_t* strides, const char* device_type,
                        int32_t device_id, void* context, void (*release)(void* context));
} umiak_host;

enum umiak_status { UMIAK_OK = 0, UMIAK_FAILED = 1, UMIAK_HOST_FAILED = 2 };

/* A call of one of an operator's functions. `complain` tells why it returns UMIAK_FAILED: a kind of Python's exceptions and a text. */
typedef struct umiak_call {
  uint32_t size;
  uint32_t reserved;
  int64_t n_arguments;
  const umiak_value* arguments; /* inputs, then attributes, in the order of the declaration */
  int64_t room;
  int64_t n_results;          /* run: the number of results that were written, which is at most `room` */
  umiak_tensor** results;     /* run: the host gets a reference of each */
  const int64_t* counts;      /* run: for each declared output, how many tensors it is; null for operators with a schema */
  void* context;
  void (*complain)(void* context, const char* kind, const char* message);
  /* infer, place: one result after the other. mapping, partial: as in umiak_meta, and axes of the mesh that sums are over */
  void (*give_shape)(void* context, int32_t ndim, const int64_t* sizes);
  void (*give_dtype)(void* context, int32_t dtype);
  void (*give_mapping)(void* context, int32_t is_input, int32_t ndim, const int64_t* mapping, int32_t n_partial, const int64_t* partial);
} umiak_call;

typedef int (*umiak_function)(void* self, umiak_call* call);

typedef struct umiak_names {
  int64_t count;
  const char* const* names;
} umiak_names;

enum umiak_operator_kind {
  UMIAK_OPERATOR = 0,       /* inputs, outputs and attributes by name; gradients are operators NAME_grad, NAME_grad_grad */
  UMIAK_SCHEMA = 1,         /* `name` is "namespace::name(Tensor x) -> Tensor" */
  UMIAK_IMPLEMENTATION = 2  /* `name` is "namespace::name", `key` says for what: "CPU", "CUDA", "Meta", "" for all */
};

typedef struct umiak_operator {
  uint32_t size;
  int32_t kind; /* an umiak_operator_kind */
  const char* name;
  const char* key;
  const char* file; /* where it is declared */
  int32_t line;
  int32_t reserved;
  umiak_names inputs;     /* "X", "X@OPTIONAL", "X@VECTOR", "X@VECTOR@OPTIONAL", "X@GRAD", "X@NEW" */
  umiak_names outputs;
  umiak_names attributes; /* "name: type" */
  umiak_names inplace;    /* pairs: an input, the output that stands for it */
  void* self;
  umiak_function run; /* any of these may be null */
  umiak_function infer_shape;
  umiak_function infer_dtype;
  umiak_function infer_sharding;
} umiak_operator;

typedef struct umiak_extension_table {
  uint32_t size;
  uint16_t abi_major;
  uint16_t abi_minor;
  const char* compiler;
  int64_t n_operators;
  const umiak_operator* const* operators;
  const char* error; /* why there is no table: a declaration that is wrong */
} umiak_extension_table;

/* Exported by the extension; the table lives as long as the library. Null, or a table with `error`, where it refuses the host. */
typedef const umiak_extension_table* (*umiak_extension_function)(const umiak_host* host);

#ifdef __cplusplus
}
#endif
#endif
