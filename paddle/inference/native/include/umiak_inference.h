/* Inference from C: one interface to two libraries.

   libumiak_inference.so   embeds the Python interpreter and runs any saved model (python -m paddle.inference.native build)
   a compiled model        has one model's weights and machine code and needs no Python (python -m paddle.inference.compile)

   Every function returns a status and throws nothing; umiak_last_error() says in words what was wrong, per thread. A predictor
   is used by one thread at a time. Clones share weights and may run side by side. Pointers that a predictor gives out stay
   valid until its next call of umiak_set_input, umiak_run or umiak_clear_intermediates, or its end; names, as long as the predictor.

   Later versions add functions, and options where zeros are now. Programs that were built with an earlier header go on working, and
   an earlier library refuses options that it does not know. umiak_abi_version() tells what a library has: 2 since settings. */
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

#define UMIAK_ABI_VERSION 2
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

/* An input or output: sizes that are known only later are -1; of an output all are known after a run. Outputs of which data decide
   even the number of dims have rank 0 and float32 before. */
typedef struct {
    const char* name;
    umiak_dtype dtype;
    int32_t rank;
    int64_t shape[UMIAK_MAX_RANK];
} umiak_tensor_info;

/* A setting, by the name of the method of paddle.inference.Config that makes it in Python, and its argument as text: NULL or ""
   for none, "0" or "1" of a switch, a number, a name, names with commas between them. umiak_setting_names() lists all.

     {"enable_onednn_bfloat16", NULL}, {"switch_ir_optim", "0"}, {"delete_pass", "conv_bn_fuse_pass"}, {"insert_pass", "0,name"},
     {"set_trt_dynamic_shape_info", "image:1x3x32x32:8x3x32x32:2x3x32x32"}

   They are made in the order in which they are given. A compiled model was optimised when it was compiled: it takes enable_profile and
   refuses the others (UMIAK_UNSUPPORTED). */
typedef struct {
    const char* name;
    const char* value;
} umiak_setting;

/* Zeros are the defaults: memset(&options, 0, sizeof options). */
typedef struct {
    int32_t threads;               /* of a run; 0: one of a compiled model, and as the library decides of others */
    int32_t setting_count;         /* since version 2, as is what follows */
    const umiak_setting* settings; /* read during the call only */
    int32_t reserved[4];           /* 0; others are refused, as options of a later version */
} umiak_options;

/* The library. */
UMIAK_API const char* umiak_version(void);
UMIAK_API int32_t umiak_abi_version(void); /* UMIAK_ABI_VERSION of the header that it was built with */
UMIAK_API const char* umiak_last_error(void); /* of this thread's last call that failed; "" before */
UMIAK_API size_t umiak_dtype_bytes(umiak_dtype dtype); /* of an element; 0 for what is no dtype */
/* Names of settings, and of the passes that a model would go through with these options, one in each line; valid until this thread's
   next call of the same. */
UMIAK_API umiak_status umiak_setting_names(const char** names);
UMIAK_API umiak_status umiak_pass_names(const umiak_options* options, const char** names);

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

/* What follows is there since version 2. */

/* Lets go of what a predictor keeps between runs: values inside and outputs; inputs stay set. Then of memory that nothing uses. */
UMIAK_API umiak_status umiak_clear_intermediates(umiak_predictor* predictor);
UMIAK_API umiak_status umiak_shrink_memory(umiak_predictor* predictor, uint64_t* bytes); /* given back; may be NULL */

/* Rows that are packed into sequences, in models of before PaddlePaddle 3: offsets for each level, the outermost first, as 0, 2, 5 for
   sequences of two rows and of three. `counts`: how many offsets each level has; `offsets`: those of all levels, one behind the
   other. A compiled model has no sequences (UMIAK_UNSUPPORTED, unless `levels` is 0). */
UMIAK_API umiak_status umiak_set_lod(umiak_predictor* predictor, size_t index, size_t levels, const size_t* counts,
                                     const int64_t* offsets);
/* Copies a level of an output's offsets; `count`: how many it has, 0 of a level that is not there. With `offsets` NULL it only counts;
   else there has to be room for all. */
UMIAK_API umiak_status umiak_output_lod(umiak_predictor* predictor, size_t index, size_t level, int64_t* offsets, size_t room,
                                        size_t* count);

/* A function that is called with every operand of every operation before it, or every result after it; operations then run one by
   one. `tensor->name` names the value; dtypes that have no number here are -1. `data` are dense and there during the call only. It
   returns 0; anything else ends the run, with UMIAK_RUN_FAILED. It must not call its predictor. Clones have no hooks. A compiled
   model has no operations left (UMIAK_UNSUPPORTED). */
typedef int32_t (*umiak_hook)(void* user, const char* operation, const umiak_tensor_info* tensor, const void* data, size_t bytes);
typedef int32_t umiak_hook_kind;
enum { UMIAK_HOOK_INPUTS = 0, UMIAK_HOOK_OUTPUTS = 1 };
UMIAK_API umiak_status umiak_add_hook(umiak_predictor* predictor, umiak_hook_kind kind, umiak_hook hook, void* user);

/* Writes a model as one that computes in float16 or bfloat16 what loses little by it. `parameters` and `mixed_parameters` may be NULL:
   beside the program. Options have no threads and the settings keep_io_types ("1"), black_list and white_list (names of operators).
   A compiled model cannot (UMIAK_UNSUPPORTED). */
UMIAK_API umiak_status umiak_convert_to_mixed_precision(const char* model, const char* parameters, const char* mixed_model,
                                                        const char* mixed_parameters, umiak_dtype dtype,
                                                        const umiak_options* options);

#ifdef __cplusplus
}
#endif
#endif
