/* Convolutions with a channel per group over rows that are long enough, by blocks of columns. The arithmetic is that of
   providers/depthwise.h. */
#include "aot.h"
#include "depthwise.h"

#if defined(__x86_64__) && UM_LANES == 16
#define UM_SIDE 12
#define UM_UNIT depthwise_avx512_unit
#elif defined(__x86_64__) && UM_LANES == 8
#define UM_SIDE 6
#define UM_UNIT depthwise_avx2_unit
#else
/* Vectors of the compiler. */
typedef float um_vector __attribute__((vector_size(UM_LANES * 4), may_alias));
typedef float um_anywhere __attribute__((vector_size(UM_LANES * 4), aligned(4), may_alias));
typedef int32_t um_bits __attribute__((vector_size(UM_LANES * 4)));

/* Functions, since sums and conversions of vectors are of another type for GCC. */
static inline um_vector chosen(um_bits which, um_vector a, um_vector b) {
    return (um_vector)(((um_bits)a & which) | ((um_bits)b & ~which));
}
static inline um_vector all_of(float x) { return (um_vector){0} + x; }
static inline um_vector load_of(const float* p) { return *(const um_anywhere*)p; }
static inline um_vector sum_of(um_vector a, um_vector b, um_vector c) { return a * b + c; }

#define DW(name) depthwise_plain_##name
#define DW_TARGET
#define DW_INLINE static inline __attribute__((always_inline))
#define VEC um_vector
#define LANES UM_LANES
#ifdef __aarch64__
#define SIDE 12
#else
#define SIDE 6
#endif
#define SET all_of
#define ITEM float
#define WIDE(x) (x)
#define LOAD load_of
#define STORE(p, v) (*(um_anywhere*)(p) = (um_anywhere)(v))
#define FMA sum_of
#define MAX(a, b) chosen((a) > (b), a, b)
#define MIN(a, b) chosen((a) < (b), a, b)
#define MUL(a, b) ((a) * (b))
enum { UM_SIDE = SIDE };
#include "depthwise_items.h"
#define UM_UNIT depthwise_plain_unit
#endif

enum { BAND = 16 }; /* rows of a block that are made one after the other: those of x stay in the L1 cache */

#if defined(__x86_64__) && UM_LANES == 16
__attribute__((target("avx512f")))
#elif defined(__x86_64__) && UM_LANES == 8
__attribute__((target("avx2,fma")))
#endif
int um_run_depthwise_blocks(const um_context* context, const void* what, int64_t lo, int64_t hi) {
    const um_depthwise* d = what;
    const um_image* g = &d->image;
    Depthwise q = {
        .x = um_at(context, d->x), .y = um_at(context, d->out), .bias = d->after.biased ? um_at(context, d->after.bias) : NULL,
        .c = g->channels, .h = g->size[1], .width = g->size[2], .down = g->out[1], .across = g->out[2],
        .kh = g->kernel[1], .kw = g->kernel[2], .sh = g->stride[1], .sw = g->stride[2], .top = g->pad[1], .left = g->pad[2],
        .relu = d->after.relu, .hard_swish = d->after.hard_swish, .scale = d->after.scale, .shift = d->after.shift,
        .taps = (float*)um_at(context, d->w),
    };
    depthwise_divide(&q, UM_LANES, UM_SIDE);
    for (int64_t row = lo, last; row < hi; row += last - row % q.down) {
        const int64_t first = row % q.down, left = hi - row < BAND ? hi - row : BAND;
        last = first + left < q.down ? first + left : q.down;
        for (int64_t block = 0; block < q.blocks; block++)
            for (int64_t group = 0; group < q.groups; group++)
                UM_UNIT(&q, row / q.down, first, last, block, group);
    }
    return 0;
}
