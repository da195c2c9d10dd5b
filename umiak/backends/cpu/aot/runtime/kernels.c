/* Steps of their own: compiled kernels, convolutions with a channel per group, transposed convolutions, rows in order. */
#include "aot.h"

#include <string.h>

int um_run_nest(const um_context* context, const void* what, int64_t lo, int64_t hi) {
    const um_nest* nest = what;
    void* pointers[UM_MAX_POINTERS];
    um_scratch scratch = {context->local, context->shared};
    for (int i = 0; i < nest->n_refs; i++) pointers[i] = um_at(context, nest->refs[i]);
    return nest->kernel(pointers, nest->dims, NULL, &scratch, lo, hi);
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

int um_run_depthwise(const um_context* context, const void* what, int64_t lo, int64_t hi) {
    enum { MANY = 4, BLOCK = MANY * UM_LANES };
    const um_depthwise* d = what;
    const um_image* g = &d->image;
    const int64_t n = g->channels;
    const float* x = um_at(context, d->x);
    const float* w = um_at(context, d->w);
    const float* bias = d->biased ? um_at(context, d->bias) : NULL;
    float* out = um_at(context, d->out);
    for (int64_t row = lo; row < hi; row++) {
        const int64_t y = row % g->out[1], z = row / g->out[1] % g->out[0], image = row / g->out[1] / g->out[0];
        const int64_t in_y = y * g->stride[1] - g->pad[1], in_z = z * g->stride[0] - g->pad[0];
        int64_t y0, y1, z0, z1, x0, x1;
        inside(in_y, g->size[1], g->kernel[1], g->dilation[1], &y0, &y1);
        inside(in_z, g->size[0], g->kernel[0], g->dilation[0], &z0, &z1);
        for (int64_t column = 0; column < g->out[2]; column++) {
            const int64_t in_x = column * g->stride[2] - g->pad[2];
            float* to = out + (row * g->out[2] + column) * n;
            inside(in_x, g->size[2], g->kernel[2], g->dilation[2], &x0, &x1);
            for (int64_t c = 0; c < n; c += BLOCK) {
                const int64_t some = n - c < BLOCK ? n - c : BLOCK;
                const int full = some == BLOCK;
                um_vector sums[MANY];
                float ends[BLOCK];
                for (int v = 0; v < MANY; v++) sums[v] = (um_vector){0};
                if (bias && full)
                    for (int v = 0; v < MANY; v++) sums[v] = load(bias + c + v * UM_LANES);
                if (!full)
                    for (int64_t j = 0; j < some; j++) ends[j] = bias ? bias[c + j] : 0;
                for (int64_t kz = z0; kz < z1; kz++)
                    for (int64_t ky = y0; ky < y1; ky++)
                        for (int64_t kx = x0; kx < x1; kx++) {
                            const float* of = x + (((image * g->size[0] + in_z + kz * g->dilation[0]) * g->size[1] + in_y +
                                                    ky * g->dilation[1]) * g->size[2] + in_x + kx * g->dilation[2]) * n + c;
                            const float* by = w + ((kz * g->kernel[1] + ky) * g->kernel[2] + kx) * n + c;
                            if (full)
                                for (int v = 0; v < MANY; v++) sums[v] += load(of + v * UM_LANES) * load(by + v * UM_LANES);
                            else
                                for (int64_t j = 0; j < some; j++) ends[j] += of[j] * by[j];
                        }
                if (full)
                    for (int v = 0; v < MANY; v++) store(to + c + v * UM_LANES, sums[v]);
                else
                    memcpy(to + c, ends, (size_t)some * sizeof(float));
            }
        }
    }
    return 0;
}

/* ---- transposed convolutions ---- */
int um_run_spread(const um_context* context, const void* what, int64_t lo, int64_t hi) {
    const um_spread* s = what;
    const um_image* g = &s->image;
    const int64_t n = g->channels, taps = g->kernel[0] * g->kernel[1] * g->kernel[2];
    const float* columns = um_at(context, s->columns);
    float* out = um_at(context, s->out);
    for (int64_t row = lo; row < hi; row++) {
        const int64_t y = row % g->size[1], z = row / g->size[1] % g->size[0], image = row / g->size[1] / g->size[0];
        for (int64_t x = 0; x < g->size[2]; x++) {
            float* to = out + (row * g->size[2] + x) * n;
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
