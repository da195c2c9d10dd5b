/* What the tables of a compiled model are made of, and the functions that run them. The tables are written by tables.py. */
#ifndef UMIAK_AHEAD_H
#define UMIAK_AHEAD_H

#include <stddef.h>
#include <stdint.h>

enum { UM_ARENA = 0, UM_WEIGHTS = 1, UM_PREPARED = 2, UM_FIRST_INPUT = 3 };
enum { UM_MAX_POINTERS = 64, UM_MAX_BATCH = 6, UM_NO_MEMORY = -2 };

typedef struct { /* a place in memory: bytes behind one of the bases */
    int32_t base;
    int64_t offset;
} um_ref;

typedef struct {
    char* const* bases;
    char* local;  /* scratch of one thread */
    char* shared; /* scratch of one step */
} um_context;

/* A part [lo, hi) of a step; 0, or the code of a check that failed. */
typedef int um_run(const um_context* context, const void* what, int64_t lo, int64_t hi);

typedef struct {
    um_run* run;
    const void* what;
    int64_t count;  /* of the parallel range */
    double work;    /* about so many ns of one thread */
    int64_t local;  /* bytes of scratch of a thread, beside what kernels ask for */
    const char* name;
} um_step;

static inline void* um_at(const um_context* context, um_ref ref) { return context->bases[ref.base] + ref.offset; }

/* ---- a compiled kernel: docs/design/loop_ir.md ---- */
typedef struct { void* local; void* shared; } um_scratch;
typedef int um_kernel(void** pointers, const int64_t* dims, const uint64_t* words, um_scratch* scratch, int64_t lo, int64_t hi);
typedef int64_t um_bytes(const int64_t* dims);
typedef struct {
    um_kernel* kernel;
    um_bytes* local;
    um_bytes* shared;
    const int64_t* dims;
    const um_ref* refs;
    int32_t n_refs;
} um_nest;
um_run um_run_nest;

/* ---- a flag that must be true; the name of the step says why ---- */
typedef struct {
    um_ref flag;
} um_flag;
um_run um_run_flag;

/* ---- what follows a matmul or a convolution: scale * activation(y + bias + residual) + shift ---- */
typedef struct {
    um_ref bias, residual; /* of a column each; as the result lies */
    int32_t biased, added, relu, hard_swish;
    float scale, shift;
} um_after;

/* All of it but the bias, of `rows` rows of `columns` results from `at` on, which are `row` elements apart. */
static inline void um_finish(const um_context* context, const um_after* after, float* c, int64_t at, int64_t row, int64_t rows,
                             int64_t columns) {
    const int scaled = after->scale != 1 || after->shift != 0;
    if (!after->added && !after->relu && !after->hard_swish && !scaled) return;
    const float* residual = after->added ? (const float*)um_at(context, after->residual) : NULL;
    for (int64_t i = 0; i < rows; i++) {
        float* to = c + at + i * row;
        if (residual)
            for (int64_t j = 0; j < columns; j++) to[j] += residual[at + i * row + j];
        if (after->relu)
            for (int64_t j = 0; j < columns; j++) to[j] = to[j] < 0 ? 0 : to[j];
        if (after->hard_swish)
            for (int64_t j = 0; j < columns; j++) {
                const float gate = to[j] * (1.0f / 6) + 0.5f;
                to[j] *= gate < 0 ? 0 : gate > 1 ? 1 : gate;
            }
        if (scaled)
            for (int64_t j = 0; j < columns; j++) to[j] = to[j] * after->scale + after->shift;
    }
}

/* ---- matmuls of float32 ----
   A panel is a block of columns of b, one step of k after the other. Micro-kernels compute blocks of rows of one panel. */
typedef void um_micro(float* c, int64_t c_row, const float* a, int64_t a_row, int64_t a_step, const float* b, int64_t k,
                      int64_t blocks, const float* bias); /* strides in bytes */
typedef struct {
    int32_t n;          /* sizes of blocks, the largest first; the last is 1 */
    int32_t rows[8];
    um_micro* first[8]; /* c = bias + a b */
    um_micro* more[8];  /* c += a b */
} um_micros;

typedef struct { /* rows of a are windows of an image with channels last */
    int64_t size[3], out[3], kernel[3], stride[3], pad[3], dilation[3];
    int64_t channels; /* from pixel to pixel */
    int64_t taken;    /* of which so many belong to the group */
} um_image;

typedef struct {
    um_ref a, b, c;
    um_after after;
    int32_t packed; /* b is panels already */
    int64_t m, n, k, a_row, a_step, b_row, b_step, c_row; /* in elements */
    int64_t batch[UM_MAX_BATCH], a_batch[UM_MAX_BATCH], b_batch[UM_MAX_BATCH], c_batch[UM_MAX_BATCH];
    int32_t n_batch;
    int64_t width, row_block, column_block, k_block; /* of a panel; of a part: rows, panels, steps */
    const um_micros* full; /* of whole panels, and of the last one */
    const um_micros* last;
    const um_image* image; /* NULL: a is a matrix */
} um_gemm;
um_run um_run_gemm, um_run_rows; /* the second: see there */

/* ---- convolutions with a channel per group; parts are rows of the result ---- */
typedef struct {
    um_ref x, w, out; /* w: a row of channels per tap */
    um_after after;   /* adds nothing but a bias */
    um_image image;
} um_depthwise;
um_run um_run_depthwise;

/* The same by blocks of columns, where rows are long enough: w has taps of a vector of channels side by side, as
   providers/depthwise.h reads them. */
um_run um_run_depthwise_blocks;

/* ---- convolutions of kernel 3 × 3 on tiles; parts are blocks of them. Kernels are transformed into `u` before ---- */
typedef struct {
    um_ref x, w, u, y;
    um_after after;
    int64_t images, size[2], out[2], pad[2], channels, made;
    int64_t block; /* tiles of a part */
    int32_t tile;
} um_winograd;
um_run um_prepare_winograd, um_run_winograd;

/* ---- sums of what each place of an image sent to those under its kernel; parts are rows of the result ---- */
typedef struct {
    um_ref columns, out; /* columns: per place and tap a row of channels */
    um_image image;      /* of the convolution whose transpose this is: `size` is the result's */
} um_spread;
um_run um_run_spread;

/* ---- rows in order; parts are rows ---- */
typedef struct {
    um_ref x, values, places;
    int32_t type; /* of elements, as UMIAK_... */
    int32_t descending;
    int64_t outer, n, inner, kept; /* x is [outer, n, inner] with these strides, results are dense [outer, kept, inner] */
    int64_t outer_stride, stride, inner_stride;
} um_sort;
um_run um_run_sort;

/* ---- a model ---- */
typedef struct {
    const char* name;
    int32_t dtype, rank;
} um_port;

typedef struct { /* for one set of sizes */
    const int64_t* shapes; /* of inputs, then of outputs, one after the other */
    const um_ref* outputs;
    const um_step* steps;
    int64_t n_steps, arena;
} um_plan;

typedef struct {
    const char* name;
    const um_port* ports; /* inputs, then outputs */
    int32_t n_inputs, n_outputs, n_plans;
    const um_plan* plans;
    const um_step* prepare; /* what is done once, to weights */
    int64_t n_prepare, prepared; /* bytes that this makes */
    const char* weights; /* NULL: in a file */
    int64_t weights_bytes;
    uint64_t weights_hash;
    const char* processor; /* that it was compiled for */
    int (*runs_here)(void);
} um_model;
extern const um_model umiak_model;

/* ---- threads ---- */
typedef struct um_pool um_pool;
typedef void um_part(void* arg, int64_t part, int thread);
um_pool* um_pool_new(int threads); /* NULL without memory */
void um_pool_free(um_pool* pool);
void um_pool_run(um_pool* pool, um_part* part, void* arg, int64_t parts);

#endif
