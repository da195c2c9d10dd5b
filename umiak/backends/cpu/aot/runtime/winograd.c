/* Convolutions of kernel 3 × 3 by Winograd's minimal filtering: blocks of tiles by kernels that were transformed when the model was
   loaded. The arithmetic is that of providers/winograd.h. */
#include "aot.h"
#include "winograd.h"

/* The functions that are called, and not their table: all others are left out. */
#if UM_LANES == 16
#define UM_KERNELS winograd_avx512_kernels
#define UM_BY_TILES winograd_avx512_by_tiles
#else
#define UM_KERNELS winograd_avx2_kernels
#define UM_BY_TILES winograd_avx2_by_tiles
#endif

enum { MOST_CHANNELS = 4096 };

static const float nothing[MOST_CHANNELS];

static void image(WinogradImage* x, const int64_t* size, int64_t channels) {
    x->h = size[0], x->w = size[1], x->c = x->room = channels;
}

/* Everything but what lies in memory. */
static void describe(const um_winograd* g, Winograd* q) {
    memset(q, 0, sizeof *q);
    image(&q->x, g->size, g->channels);
    image(&q->y, g->out, g->made);
    q->x.top = g->pad[0], q->x.left = g->pad[1];
    q->tile = g->tile;
    q->w_summed = 9, q->w_made = g->channels * 9;
    q->images = g->images;
    q->down = (g->out[0] + g->tile - 1) / g->tile, q->across = (g->out[1] + g->tile - 1) / g->tile;
    q->tiles = q->images * q->down * q->across;
    q->nothing = nothing;
    q->block = g->block;
}

int um_prepare_winograd(const um_context* context, const void* what, int64_t lo, int64_t hi) {
    const um_winograd* g = what;
    Winograd q;
    describe(g, &q);
    q.w = um_at(context, g->w);
    q.u = um_at(context, g->u);
    q.units = q.parts = (g->made + 2 * UM_LANES - 1) / (2 * UM_LANES);
    for (int64_t part = lo; part < hi; part++) UM_KERNELS(&q, part);
    return 0;
}

int um_run_winograd(const um_context* context, const void* what, int64_t lo, int64_t hi) {
    const um_winograd* g = what;
    Winograd q;
    describe(g, &q);
    q.x.data = um_at(context, g->x);
    q.y.data = um_at(context, g->y);
    q.u = um_at(context, g->u);
    q.bias = g->after.biased ? um_at(context, g->after.bias) : NULL;
    q.residual = g->after.added ? um_at(context, g->after.residual) : NULL;
    q.relu = g->after.relu, q.hard_swish = g->after.hard_swish, q.scale = g->after.scale, q.shift = g->after.shift;
    q.scaled = q.scale != 1 || q.shift != 0;
    q.units = q.parts = (q.tiles + q.block - 1) / q.block;
    q.scratch = (float*)context->local; /* of this part, whichever it is: `each` is 0 */
    for (int64_t part = lo; part < hi; part++) UM_BY_TILES(&q, part);
    return 0;
}
