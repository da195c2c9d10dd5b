/* Matmuls: blocks of a lie in the cache, panels of b pass by, micro-kernels keep a tile of c in registers. */
#include "aot.h"

#include <string.h>

enum { PAD = 16 }; /* between rows of a block of a, so that they do not meet in the same lines of the cache */

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Steps [k0, k1) of `rows` rows of a, which are windows of an image: from number m on, each `step` places further. */
static void gather(const um_image* g, const float* x, float* to, int64_t ld, int64_t m, int64_t rows, int64_t step, int64_t k0, int64_t k1) {
    const int64_t taken = g->taken, places = g->out[0] * g->out[1] * g->out[2];
    const int64_t pixels = g->size[0] * g->size[1] * g->size[2] * g->channels;
    const int whole = taken == g->channels && g->dilation[2] == 1; /* taps of a row lie side by side */
    for (; rows > 0; rows--, m += step, to += ld) {
        const int64_t image = m / places, place = m % places;
        const float* of = x + image * pixels;
        int64_t at[3], q = place;
        for (int d = 2; d >= 0; d--) {
            at[d] = q % g->out[d] * g->stride[d] - g->pad[d];
            q /= g->out[d];
        }
        for (int64_t tap = k0 / taken; tap * taken < k1;) {
            const int64_t kx = tap % g->kernel[2], ky = tap / g->kernel[2] % g->kernel[1], kz = tap / g->kernel[2] / g->kernel[1];
            const int64_t z = at[0] + kz * g->dilation[0], y = at[1] + ky * g->dilation[1], col = at[2] + kx * g->dilation[2];
            const int outside = z < 0 || z >= g->size[0] || y < 0 || y >= g->size[1];
            int64_t run = 1;
            if (outside || (whole && col >= 0 && at[2] + g->kernel[2] <= g->size[2])) run = g->kernel[2] - kx;
            const int64_t from = tap * taken < k0 ? k0 : tap * taken, end = least((tap + run) * taken, k1);
            float* into = to + (from - k0);
            if (outside || col < 0 || col >= g->size[2])
                memset(into, 0, (size_t)(end - from) * sizeof(float));
            else
                memcpy(into, of + ((z * g->size[1] + y) * g->size[2] + col) * g->channels + (from - tap * taken),
                       (size_t)(end - from) * sizeof(float));
            tap += run;
        }
    }
}

static void copy_block(const float* a, int64_t row, int64_t step, float* to, int64_t ld, int64_t rows, int64_t steps) {
    if (step == 1) {
        for (int64_t i = 0; i < rows; i++) memcpy(to + i * ld, a + i * row, (size_t)steps * sizeof(float));
        return;
    }
    for (int64_t k = 0; k < steps; k++)
        for (int64_t i = 0; i < rows; i++) to[i * ld + k] = a[i * row + k * step];
}

/* A matrix as panels, zeros behind its last column. */
static void pack(const float* b, int64_t row, int64_t step, float* to, int64_t k, int64_t n, int64_t width) {
    for (int64_t p = 0; p < n; p += width) {
        const int64_t some = least(width, n - p);
        if (step == 1 || row != 1) {
            for (int64_t i = 0; i < k; i++) {
                float* into = to + i * width;
                if (step == 1)
                    memcpy(into, b + i * row + p, (size_t)some * sizeof(float));
                else
                    for (int64_t j = 0; j < some; j++) into[j] = b[i * row + (p + j) * step];
                for (int64_t j = some; j < width; j++) into[j] = 0;
            }
        } else {
            for (int64_t j = 0; j < width; j++) {
                const float* of = b + (p + j) * step;
                for (int64_t i = 0; i < k; i++) to[i * width + j] = j < some ? of[i] : 0;
            }
        }
        to += k * width;
    }
}

static const float zeros[256]; /* the bias of what has none: a panel is no wider */

/* Any number of rows of one panel; strides in bytes. */
static void rows_of_panel(const um_micros* with, int first, float* c, int64_t c_row, const float* a, int64_t a_row, int64_t a_step,
                          const float* panel, int64_t k, int64_t rows, const float* bias) {
    for (int s = 0; s < with->n && rows > 0; s++) {
        const int64_t blocks = rows / with->rows[s], done = blocks * with->rows[s];
        if (blocks == 0) continue;
        (first ? with->first : with->more)[s](c, c_row, a, a_row, a_step, panel, k, blocks, bias);
        c = (float*)((char*)c + done * c_row);
        a = (const float*)((const char*)a + done * a_row);
        rows -= done;
    }
}

int um_run_gemm(const um_context* context, const void* what, int64_t lo, int64_t hi) {
    const um_gemm* g = what;
    const int64_t panels = (g->n + g->width - 1) / g->width;
    const int64_t row_parts = (g->m + g->row_block - 1) / g->row_block;
    const int64_t column_parts = (panels + g->column_block - 1) / g->column_block;
    const int64_t ld = g->k_block + PAD;
    float* block = (float*)context->local;
    float* own = block + g->row_block * ld;
    /* Rows far apart by whole pages meet in the same lines of the cache. */
    const int copied = g->image != NULL || g->n > g->width ? g->image != NULL || g->a_step != 1 || g->a_row % 256 == 0 : 0;
    int64_t in_own = -1;
    for (int64_t part = lo; part < hi; part++) {
        int64_t batch = part / (row_parts * column_parts), q = batch;
        const int64_t m0 = part / column_parts % row_parts * g->row_block, m1 = least(m0 + g->row_block, g->m);
        const int64_t p0 = part % column_parts * g->column_block, p1 = least(p0 + g->column_block, panels);
        const float* a = um_at(context, g->a);
        const float* b = um_at(context, g->b);
        const float* bias = g->after.biased ? um_at(context, g->after.bias) : NULL;
        float* c = um_at(context, g->c);
        for (int d = g->n_batch - 1; d >= 0; d--) {
            const int64_t i = q % g->batch[d];
            q /= g->batch[d];
            a += i * g->a_batch[d];
            b += i * g->b_batch[d];
            c += i * g->c_batch[d];
        }
        if (!g->packed) {
            if (in_own != batch) pack(b, g->b_row, g->b_step, own, g->k, g->n, g->width);
            in_own = batch;
            b = own;
        }
        for (int64_t k0 = 0; k0 == 0 || k0 < g->k; k0 += g->k_block) {
            const int64_t steps = least(g->k_block, g->k - k0);
            const float* rows = a + m0 * g->a_row + k0 * g->a_step;
            int64_t row = g->a_row * 4, step = g->a_step * 4;
            if (copied) {
                if (g->image)
                    gather(g->image, a, block, ld, m0, m1 - m0, 1, k0, k0 + steps);
                else
                    copy_block(rows, g->a_row, g->a_step, block, ld, m1 - m0, steps);
                rows = block, row = ld * 4, step = 4;
            }
            for (int64_t p = p0; p < p1; p++) {
                const um_micros* with = p == panels - 1 ? g->last : g->full;
                const float* panel = b + p * g->k * g->width + k0 * g->width;
                rows_of_panel(with, k0 == 0, c + m0 * g->c_row + p * g->width, g->c_row * 4, rows, row, step, panel, steps, m1 - m0,
                              bias ? bias + p * g->width : zeros);
            }
        }
        um_finish(context, &g->after, um_at(context, g->c), c - (float*)um_at(context, g->c) + m0 * g->c_row + p0 * g->width, g->c_row,
                  m1 - m0, least(p1 * g->width, g->n) - p0 * g->width);
    }
    return 0;
}

/* A convolution whose windows are read where they lie: neighbours in a row of the result are rows of a that are `stride` pixels
   apart, for each row of the kernel. Places at the sides, whose windows reach out, are gathered. Parts are rows of the
   result, `row_block` of them. */
int um_run_rows(const um_context* context, const void* what, int64_t lo, int64_t hi) {
    const um_gemm* g = what;
    const um_image* i = g->image;
    const int64_t panels = (g->n + g->width - 1) / g->width, all = g->m / i->out[2];
    const int whole = i->taken == i->channels && i->dilation[2] == 1;
    const int64_t along = whole ? 1 : i->kernel[2], k = whole ? i->kernel[2] * i->taken : i->taken;
    const float* x = um_at(context, g->a);
    const float* b = um_at(context, g->b);
    const float* bias = g->after.biased ? um_at(context, g->after.bias) : NULL;
    float* c = um_at(context, g->c);
    float* block = (float*)context->local;
    /* Columns of the result whose windows lie inside. */
    const int64_t reach = (i->kernel[2] - 1) * i->dilation[2];
    int64_t left = least((i->pad[2] + i->stride[2] - 1) / i->stride[2], i->out[2]);
    int64_t right = i->size[2] - 1 - reach + i->pad[2] < 0 ? 0 : (i->size[2] - 1 - reach + i->pad[2]) / i->stride[2] + 1;
    right = right > i->out[2] ? i->out[2] : right < left ? left : right;
    for (int64_t part = lo; part < hi; part++) {
        const int64_t r0 = part * g->row_block, r1 = least(r0 + g->row_block, all);
        for (int64_t p = 0; p < panels; p++) {
            const um_micros* with = p == panels - 1 ? g->last : g->full;
            const float* panel = b + p * g->k * g->width;
            const float* start = bias ? bias + p * g->width : zeros;
            for (int64_t r = r0; r < r1 && left < right; r++) {
                const int64_t y = r % i->out[1] * i->stride[1] - i->pad[1], z = r / i->out[1] % i->out[0] * i->stride[0] - i->pad[0];
                const int64_t image = r / i->out[1] / i->out[0];
                float* to = c + (r * i->out[2] + left) * g->c_row + p * g->width;
                int first = 1;
                for (int64_t kz = 0; kz < i->kernel[0]; kz++)
                    for (int64_t ky = 0; ky < i->kernel[1]; ky++) {
                        const int64_t in_z = z + kz * i->dilation[0], in_y = y + ky * i->dilation[1];
                        if (in_z < 0 || in_z >= i->size[0] || in_y < 0 || in_y >= i->size[1]) continue;
                        for (int64_t kx = 0; kx < along; kx++) {
                            const int64_t in_x = left * i->stride[2] - i->pad[2] + kx * i->dilation[2];
                            const float* of = x + (((image * i->size[0] + in_z) * i->size[1] + in_y) * i->size[2] + in_x) * i->channels;
                            const int64_t tap = (kz * i->kernel[1] + ky) * i->kernel[2] + kx;
                            rows_of_panel(with, first, to, g->c_row * 4, of, i->stride[2] * i->channels * 4, 4,
                                          panel + tap * i->taken * g->width, k, right - left, start);
                            first = 0;
                        }
                    }
                if (first) /* nothing but padding */
                    rows_of_panel(with, 1, to, g->c_row * 4, x, 0, 4, panel, 0, right - left, start);
            }
        }
        for (int64_t column = 0; column < i->out[2]; column++) {
            if (column == left) column = right;
            if (column >= i->out[2]) break;
            const int64_t ld = g->k + PAD;
            gather(i, x, block, ld, r0 * i->out[2] + column, r1 - r0, i->out[2], 0, g->k);
            for (int64_t p = 0; p < panels; p++)
                rows_of_panel(p == panels - 1 ? g->last : g->full, 1, c + (r0 * i->out[2] + column) * g->c_row + p * g->width,
                              i->out[2] * g->c_row * 4, block, ld * 4, 4, b + p * g->k * g->width, g->k, r1 - r0,
                              bias ? bias + p * g->width : zeros);
        }
        um_finish(context, &g->after, c, r0 * i->out[2] * g->c_row, g->c_row, (r1 - r0) * i->out[2], g->n);
    }
    return 0;
}
