/* Steps of their own: compiled kernels, flags that must be true, convolutions with a channel per group, transposed
   convolutions. */
#include "aot.h"

#include <string.h>

int um_run_nest(const um_context* context, const void* what, int64_t lo, int64_t hi) {
    const um_nest* nest = what;
    void* pointers[UM_MAX_POINTERS];
    um_scratch scratch = {context->local, context->shared};
    for (int i = 0; i < nest->n_refs; i++) pointers[i] = um_at(context, nest->refs[i]);
    return nest->kernel(pointers, nest->dims, NULL, &scratch, lo, hi);
}

int um_run_flag(const um_context* context, const void* what, int64_t lo, int64_t hi) {
    (void)lo;
    (void)hi;
    return !*(const char*)um_at(context, ((const um_flag*)what)->flag);
}

/* ---- convolutions with a channel per group ---- */
#ifndef UM_LANES
#define UM_LANES 4
#endif
typedef float um_vector __attribute__((vector_size(UM_LANES * 4), aligned(4), may_alias));

static inline um_vector load(const float* x) { return *(const um_vector*)x; }
static inline void store(float* x, um_vector v) { *(um_vector*)x = v; }

/* The taps [first, end) of a dim that lie inside. */
static inline void inside(int64_t at, int64_t size, int64_t kernel, int64_t dilation, int64_t* first, int64_t* end) {
    *first = at >= 0 ? 0 : (-at + dilation - 1) / dilation;
    *end = at >= size ? 0 : (size - at + dilation - 1) / dilation;
    if (*end > kernel) *end = kernel;
}

/* The taps of a place that lie inside, and where they begin. */
typedef struct {
    const float *x, *w;
    int64_t z0, z1, y0, y1, x0, x1;
} um_taps;

/* `vectors` vectors of channels from `c` on, of one place. */
static inline __attribute__((always_inline)) void taps_of(const um_image* g, const um_taps* t, const float* bias, float* to, int64_t c,
                                                          int vectors) {
    const int64_t n = g->channels, down = g->size[2] * n;
    um_vector sums[4];
    for (int v = 0; v < vectors; v++) sums[v] = bias ? load(bias + c + v * UM_LANES) : (um_vector){0};
    for (int64_t kz = t->z0; kz < t->z1; kz++)
        for (int64_t ky = t->y0; ky < t->y1; ky++) {
            const float* of = t->x + (kz * g->dilation[0] * g->size[1] + ky * g->dilation[1]) * down + c;
            const float* by = t->w + (kz * g->kernel[1] + ky) * g->kernel[2] * n + c;
            for (int64_t kx = t->x0; kx < t->x1; kx++)
                for (int v = 0; v < vectors; v++)
                    sums[v] += load(of + kx * g->dilation[2] * n + v * UM_LANES) * load(by + kx * n + v * UM_LANES);
        }
    for (int v = 0; v < vectors; v++) store(to + c + v * UM_LANES, sums[v]);
}

/* One channel of one place. */
static float tap_sum(const um_image* g, const um_taps* t, float start, int64_t c) {
    const int64_t n = g->channels;
    for (int64_t kz = t->z0; kz < t->z1; kz++)
        for (int64_t ky = t->y0; ky < t->y1; ky++)
            for (int64_t kx = t->x0; kx < t->x1; kx++)
                start += t->x[((kz * g->dilation[0] * g->size[1] + ky * g->dilation[1]) * g->size[2] + kx * g->dilation[2]) * n + c] *
                         t->w[((kz * g->kernel[1] + ky) * g->kernel[2] + kx) * n + c];
    return start;
}

int um_run_depthwise(const um_context* context, const void* what, int64_t lo, int64_t hi) {
    const um_depthwise* d = what;
    const um_image* g = &d->image;
    const int64_t n = g->channels;
    const float* x = um_at(context, d->x);
    const float* bias = d->after.biased ? um_at(context, d->after.bias) : NULL;
    float* out = um_at(context, d->out);
    um_taps t = {.w = um_at(context, d->w)};
    for (int64_t row = lo; row < hi; row++) {
        const int64_t y = row % g->out[1], z = row / g->out[1] % g->out[0], image = row / g->out[1] / g->out[0];
        const int64_t in_y = y * g->stride[1] - g->pad[1], in_z = z * g->stride[0] - g->pad[0];
        inside(in_y, g->size[1], g->kernel[1], g->dilation[1], &t.y0, &t.y1);
        inside(in_z, g->size[0], g->kernel[0], g->dilation[0], &t.z0, &t.z1);
        for (int64_t column = 0; column < g->out[2]; column++) {
            const int64_t in_x = column * g->stride[2] - g->pad[2];
            float* to = out + (row * g->out[2] + column) * n;
            int64_t c = 0;
            inside(in_x, g->size[2], g->kernel[2], g->dilation[2], &t.x0, &t.x1);
            t.x = x + (((image * g->size[0] + in_z) * g->size[1] + in_y) * g->size[2] + in_x) * n;
            for (; c + 4 * UM_LANES <= n; c += 4 * UM_LANES) taps_of(g, &t, bias, to, c, 4);
            for (; c + UM_LANES <= n; c += UM_LANES) taps_of(g, &t, bias, to, c, 1);
            for (; c < n; c++) to[c] = tap_sum(g, &t, bias ? bias[c] : 0, c);
        }
        um_finish(context, &d->after, out, row * g->out[2] * n, n, g->out[2], n);
    }
    return 0;
}

/* ---- transposed convolutions ---- */
int um_run_spread(const um_context* context, const void* what, int64_t lo, int64_t hi) {
    const um_spread* s = what;
    const um_image* g = &s->image;
    const int64_t n = g->taken, taps = g->kernel[0] * g->kernel[1] * g->kernel[2];
    const float* columns = um_at(context, s->columns);
    float* out = um_at(context, s->out);
    for (int64_t row = lo; row < hi; row++) {
        const int64_t y = row % g->size[1], z = row / g->size[1] % g->size[0], image = row / g->size[1] / g->size[0];
        for (int64_t x = 0; x < g->size[2]; x++) {
            float* to = out + (row * g->size[2] + x) * g->channels;
            memset(to, 0, (size_t)n * sizeof(float));
            for (int64_t kz = 0; kz < g->kernel[0]; kz++) {
                const int64_t pz = z + g->pad[0] - kz * g->dilation[0], oz = pz / g->stride[0];
                if (pz < 0 || pz % g->stride[0] || oz >= g->out[0]) continue;
                for (int64_t ky = 0; ky < g->kernel[1]; ky++) {
                    const int64_t py = y + g->pad[1] - ky * g->dilation[1], oy = py / g->stride[1];
                    if (py < 0 || py % g->stride[1] || oy >= g->out[1]) continue;
                    for (int64_t kx = 0; kx < g->kernel[2]; kx++) {
                        const int64_t px = x + g->pad[2] - kx * g->dilation[2], ox = px / g->stride[2];
                        if (px < 0 || px % g->stride[2] || ox >= g->out[2]) continue;
                        const float* of = columns + ((((image * g->out[0] + oz) * g->out[1] + oy) * g->out[2] + ox) * taps +
                                                     (kz * g->kernel[1] + ky) * g->kernel[2] + kx) * n;
                        for (int64_t c = 0; c < n; c++) to[c] += of[c];
                    }
                }
            }
        }
    }
    return 0;
}
