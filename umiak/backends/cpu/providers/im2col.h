/* Patches of one image and group as columns [channels * kernel, positions], and their sum back into the image. */
#pragma once
#include <stdint.h>
#include <string.h>

typedef struct {
    int64_t channels, in[3], kernel[3], out[3], stride[3], lo[3], dilation[3];
} Im2col;

/* Rows of positions [first, last) of the out[0] * out[1] rows there are. For every row of every place of the kernel the
 * positions [a, b) lie in the image, the others on pads. */
#define IM2COL_LOOP(BODY)                                                                                             \
    const int64_t width = q->out[2], step = q->stride[2];                                                              \
    for (int64_t c = 0; c < q->channels; c++, x += q->in[0] * q->in[1] * q->in[2])                                     \
        for (int64_t i = 0; i < q->kernel[0]; i++)                                                                     \
            for (int64_t j = 0; j < q->kernel[1]; j++)                                                                 \
                for (int64_t k = 0; k < q->kernel[2]; k++) {                                                           \
                    const int64_t shift = k * q->dilation[2] - q->lo[2];                                               \
                    int64_t a = shift < 0 ? (-shift + step - 1) / step : 0;                                            \
                    int64_t b = q->in[2] - shift <= 0 ? 0 : (q->in[2] - shift - 1) / step + 1;                         \
                    if (b > width) b = width;                                                                          \
                    if (a > b) a = b;                                                                                  \
                    for (int64_t r = first; r < last; r++, col += width) {                                             \
                        const int64_t d = r / q->out[1] * q->stride[0] - q->lo[0] + i * q->dilation[0];                \
                        const int64_t h = r % q->out[1] * q->stride[1] - q->lo[1] + j * q->dilation[1];                \
                        const int inside = d >= 0 && d < q->in[0] && h >= 0 && h < q->in[1];                           \
                        const int64_t row = (d * q->in[1] + h) * q->in[2] + shift;                                     \
                        BODY                                                                                           \
                    }                                                                                                  \
                }

#define IM2COL_GATHER                                                                                                 \
    if (!inside) {                                                                                                     \
        memset(col, 0, width * sizeof *col);                                                                           \
        continue;                                                                                                      \
    }                                                                                                                  \
    for (int64_t p = 0; p < a; p++) col[p] = 0;                                                                        \
    if (step == 1)                                                                                                     \
        memcpy(col + a, x + row + a, (b - a) * sizeof *col);                                                           \
    else                                                                                                               \
        for (int64_t p = a; p < b; p++) col[p] = x[row + p * step];                                                    \
    for (int64_t p = b; p < width; p++) col[p] = 0;

#define IM2COL_ADD                                                                                                    \
    if (inside)                                                                                                        \
        for (int64_t p = a; p < b; p++) x[row + p * step] += col[p];

static void im2col_f32(const Im2col *q, const float *x, float *col, int64_t first, int64_t last) {
    IM2COL_LOOP(IM2COL_GATHER)
}
static void im2col_f64(const Im2col *q, const double *x, double *col, int64_t first, int64_t last) {
    IM2COL_LOOP(IM2COL_GATHER)
}
static void col2im_f32(const Im2col *q, float *x, const float *col, int64_t first, int64_t last) {
    IM2COL_LOOP(IM2COL_ADD)
}
static void col2im_f64(const Im2col *q, double *x, const double *col, int64_t first, int64_t last) {
    IM2COL_LOOP(IM2COL_ADD)
}
