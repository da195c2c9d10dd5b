/* What depthwise.h includes once for each set of instructions. */

/* What follows a sum, its bias included. */
DW_INLINE VEC DW(after)(const Depthwise *q, VEC v) {
    if (q->relu) v = MAX(SET(0), v);
    if (q->hard_swish) v = DIV(MUL(v, MIN(SET(6), MAX(SET(0), ADD(v, SET(3))))), SET(6));
    return q->scale != 1 || q->shift != 0 ? FMA(v, SET(q->scale), SET(q->shift)) : v;
}

/* `count` results from place at[1] of row at[0] on, none of which sees pads beside the image: each place of the image is
 * loaded once for all results that see it. All but the first five are constants once it is inlined. */
DW_INLINE void DW(inside)(const Depthwise *q, const ITEM *image, const VEC *w, const int64_t *at, const VEC shift,
                          const int count, const int kw, const int sw) {
    const int64_t ih = at[0] * q->sh - q->top, iw = at[1] * sw - q->left;
    const int64_t first = ih < 0 ? -ih : 0, last = q->h - ih < q->kh ? q->h - ih : q->kh;
    VEC sum[SIDE];
    _Pragma("GCC unroll 16") for (int u = 0; u < count; u++) sum[u] = shift;
    for (int64_t i = first; i < last; i++) {
        const ITEM *p = image + ((ih + i) * q->width + iw) * q->c;
        VEC taps[7];
        _Pragma("GCC unroll 8") for (int j = 0; j < kw; j++) taps[j] = w[i * kw + j];
        _Pragma("GCC unroll 32") for (int t = 0; t < (count - 1) * sw + kw; t++, p += q->c) {
            const VEC x = LOAD(p);
            _Pragma("GCC unroll 8") for (int j = 0; j < kw; j++)
                if (t >= j && (t - j) % sw == 0 && (t - j) / sw < count)
                    sum[(t - j) / sw] = FMA(x, taps[j], sum[(t - j) / sw]);
        }
    }
    ITEM *to = (ITEM *)q->y + at[2] + (at[0] * q->across + at[1]) * q->c;
    _Pragma("GCC unroll 16") for (int u = 0; u < count; u++)
        STORE(to + u * q->c, DW(after)(q, sum[u]));
}

/* One result, of which some taps may see pads. */
DW_INLINE void DW(beside)(const Depthwise *q, const ITEM *image, const VEC *w, const int64_t *at, const VEC shift) {
    const int64_t ih = at[0] * q->sh - q->top, iw = at[1] * q->sw - q->left;
    VEC sum = shift;
    for (int64_t i = ih < 0 ? -ih : 0; i < q->kh && ih + i < q->h; i++)
        for (int64_t j = iw < 0 ? -iw : 0; j < q->kw && iw + j < q->width; j++)
            sum = FMA(LOAD(image + ((ih + i) * q->width + iw + j) * q->c), w[i * q->kw + j], sum);
    STORE((ITEM *)q->y + at[2] + (at[0] * q->across + at[1]) * q->c, DW(after)(q, sum));
}

DW_INLINE void DW(band)(const Depthwise *q, const ITEM *image, const VEC *w, int64_t to, int64_t first, int64_t last,
                        const VEC shift, const int kw, const int sw) {
    /* Places from `inner` to `outer` see no pads. */
    int64_t inner = (q->left + sw - 1) / sw, outer = q->width + q->left < kw ? 0 : (q->width + q->left - kw) / sw + 1;
    if (outer > q->across) outer = q->across;
    if (inner > outer) inner = outer;
    for (int64_t oh = first; oh < last; oh++) {
        int64_t at[3] = {oh, 0, to};
        for (; at[1] < inner; at[1]++) DW(beside)(q, image, w, at, shift);
        for (; at[1] + SIDE <= outer; at[1] += SIDE) DW(inside)(q, image, w, at, shift, SIDE, kw, sw);
        for (; at[1] + 4 <= outer; at[1] += 4) DW(inside)(q, image, w, at, shift, 4, kw, sw);
        for (; at[1] < outer; at[1]++) DW(inside)(q, image, w, at, shift, 1, kw, sw);
        for (; at[1] < q->across; at[1]++) DW(beside)(q, image, w, at, shift);
    }
}

DW_TARGET static int DW(work)(void *job, int64_t part) {
    const Depthwise *q = (const Depthwise *)job;
    for (int64_t unit = part * q->units / q->parts; unit < (part + 1) * q->units / q->parts; unit++) {
        const int64_t vector = unit % q->vectors, band = unit / q->vectors % q->bands, n = unit / q->vectors / q->bands;
        /* The last vector ends with the channels: some of these are computed twice. */
        const int64_t c = (vector + 1) * LANES <= q->c ? vector * LANES : q->c - LANES;
        const int64_t first = band * q->rows, last = first + q->rows < q->down ? first + q->rows : q->down;
        float taps[DEPTHWISE_TAPS][LANES] __attribute__((aligned(64)));
        for (int64_t i = 0; i < q->kh; i++)
            for (int64_t j = 0; j < q->kw; j++)
                for (int l = 0; l < LANES; l++) taps[i * q->kw + j][l] = WIDE(((const ITEM *)q->w)[(c + l) * q->w_c + i * q->w_h + j * q->w_w]);
        const VEC *w = (const VEC *)taps, shift = q->bias ? LOAD((const ITEM *)q->bias + c) : SET(0);
        const ITEM *image = (const ITEM *)q->x + n * q->h * q->width * q->c + c;
        const int64_t to = n * q->down * q->across * q->c + c;
#define DW_CASE(KW, SW)                                                                                                \
    case 2 * KW + SW: DW(band)(q, image, w, to, first, last, shift, KW, SW); break;
        switch (2 * q->kw + q->sw) {
            DW_CASE(5, 1)
            DW_CASE(5, 2)
            DW_CASE(7, 1)
            DW_CASE(7, 2)
        }
#undef DW_CASE
    }
    return 0;
}

static const DepthwiseKernels DW(all) = {LANES, DW(work)};

#undef DW
#undef DW_TARGET
#undef DW_INLINE
#undef VEC
#undef LANES
#undef SIDE
#undef SET
#undef ITEM
#undef WIDE
#undef LOAD
#undef STORE
#undef FMA
#undef MAX
#undef MIN
#undef MUL
#undef ADD
#undef DIV
