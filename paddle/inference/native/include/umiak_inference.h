/* Inference from C: one interface to two libraries.

   libumiak_inference.so   embeds the Python interpreter and runs any saved model (python -m paddle.inference.native build)
   a compiled model        has one model's weights and machine code and needs no Python (python -m paddle.inference.compile)

   Every function returns a status and throws nothing; umiak_last_error() says in words what was wrong, per thread. A predictor
   is used by one thread at a time. Clones share weights and may run side by side. Pointers that a predictor gives out stay
   valid until its next call of umiak_set_input or umiak_run, or its end; names, as long as the predictor. */
#ifndef UMIAK_INFERENCE_H
#define UMIAK_INFERENCE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define UMIAK_API __attribute__((visibility("default")))
#else
#define UMIAK_API
#endif

#define UMIAK_ABI_VERSION 1
#define UMIAK_MAX_RANK 16

typedef int32_t umiak_status;
enum {
    UMIAK_OK = 0,
    UMIAK_INVALID_ARGUMENT = 1, /* a null pointer, a number out of range, an unknown name */
    UMIAK_INVALID_MODEL = 2,    /* a file that is missing, damaged, or no model */
    UMIAK_INVALID_INPUT = 3,    /* data of another dtype or shape than the model takes; an input that was not set */
    UMIAK_RUN_FAILED = 4,       /* the run itself: an index out of range in the data, for example */
    UMIAK_NO_MEMORY = 5,
    UMIAK_UNSUPPORTED = 6       /* by this library: the other one may do it */
};

typedef int32_t umiak_dtype;
enum {
    UMIAK_FLOAT32 = 0,
    UMIAK_INT64 = 1,
    UMIAK_INT32 = 2,
    UMIAK_UINT8 = 3,
    UMIAK_INT8 = 4,
    UMIAK_FLOAT16 = 5,
    UMIAK_BFLOAT16 = 6,
    UMIAK_BOOL = 7,
    UMIAK_FLOAT64 = 8,
    UMIAK_INT16 = 9
};

typedef struct umiak_predictor umiak_predictor;

/* An input or output: sizes that are known only later are -1; of an output all are known after a run. */
typedef struct {
    const char* name;
    umiak_dtype dtype;
    int32_t rank;
    int64_t shape[UMIAK_MAX_RANK];
} umiak_tensor_info;

/* Zeros are the defaults: memset(&options, 0, sizeof options). */
typedef struct {
    int32_t threads;    /* of a run; 0: one of a compiled model, and as the library decides of others */
    int32_t reserved[7]; /* 0; others are refused, as options of a later version */
} umiak_options;

/* The library. */
UMIAK_API const char* umiak_version(void);
UMIAK_API int32_t umiak_abi_version(void); /* UMIAK_ABI_VERSION of the header that it was built with */
UMIAK_API const char* umiak_last_error(void); /* of this thread's last call that failed; "" before */
UMIAK_API size_t umiak_dtype_bytes(umiak_dtype dtype); /* of an element; 0 for what is no dtype */

/* Predictors. `model`: the file of a program, or the beginning of its name, "x" for x.json; `parameters`: the file of its
   parameters, NULL for the one beside it. A compiled model takes NULL for both, or as `model` its file of weights where
   these are not inside of it. */
UMIAK_API umiak_status umiak_predictor_create(const char* model, const char* parameters, const umiak_options* options,
                                              umiak_predictor** predictor);
/* The same from the contents of files, which are read during the call only. */
UMIAK_API umiak_status umiak_predictor_create_from_memory(const void* model, size_t model_bytes, const void* parameters,
                                                          size_t parameters_bytes, const umiak_options* options,
                                                          umiak_predictor** predictor);
UMIAK_API umiak_status umiak_predictor_clone(umiak_predictor* predictor, umiak_predictor** clone);
UMIAK_API umiak_status umiak_predictor_destroy(umiak_predictor* predictor); /* NULL: nothing */

/* Inputs and outputs, by number. */
UMIAK_API umiak_status umiak_input_count(umiak_predictor* predictor, size_t* count);
UMIAK_API umiak_status umiak_output_count(umiak_predictor* predictor, size_t* count);
UMIAK_API umiak_status umiak_input_info(umiak_predictor* predictor, size_t index, umiak_tensor_info* info);
UMIAK_API umiak_status umiak_output_info(umiak_predictor* predictor, size_t index, umiak_tensor_info* info);
UMIAK_API umiak_status umiak_input_index(umiak_predictor* predictor, const char* name, size_t* index);
UMIAK_API umiak_status umiak_output_index(umiak_predictor* predictor, const char* name, size_t* index);

/* A run: all inputs are set (they stay set), then it is run, then outputs are read. Data are dense, the last dim innermost,
   and copied during the call. */
UMIAK_API umiak_status umiak_set_input(umiak_predictor* predictor, size_t index, const void* data, umiak_dtype dtype,
                                       int32_t rank, const int64_t* shape);
UMIAK_API umiak_status umiak_run(umiak_predictor* predictor);
UMIAK_API umiak_status umiak_output_data(umiak_predictor* predictor, size_t index, const void** data, size_t* bytes);
/* Copies an output; `bytes` is the room, which must be enough. */
UMIAK_API umiak_status umiak_copy_output(umiak_predictor* predictor, size_t index, void* data, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
