/* What depthwise.h includes once for each set of instructions. */

/* What follows a sum, its bias included. */
DW_INLINE VEC DW(after)(const Depthwise *q, VEC v) {
    if (q->relu) v = MAX(SET(0), v);
    /* A division of 16 lanes takes the divider 16 cycles, more than the 25 products of a kernel of 5 by 5 take. */
    if (q->hard_swish) v = MUL(v, MIN(SET(1), MAX(SET(0), FMA(v, SET(1.0f / 6), SET(0.5f)))));
    return q->scale != 1 || q->shift != 0 ? FMA(v, SET(q->scale), SET(q->shift)) : v;
}

#if PREFETCH
/* Prefetches what the next row of results reads for the first time, and what it writes; at the last rows, the first ones of the
 * group of channels that comes next. Runs of a group are too short for the hardware's prefetcher. An address outside of the
 * image is never read. */
DW_INLINE void DW(prefetch)(const Depthwise *q, const ITEM *image, const int64_t *at, const int count, const int kw,
                            const int sw) {
    const int64_t c = q->c, ih = at[0] * q->sh - q->top + q->kh, iw = at[1] * sw - q->left + kw - sw;
    const int64_t below = ih < q->h ? ih * q->width * c : (ih - q->h) * q->width * c + q->together * LANES;
    const uintptr_t item = sizeof(ITEM), to = (uintptr_t)q->y + item * (at[2] + ((at[0] + 1) * q->across + at[1]) * c);
    uintptr_t from = (uintptr_t)image + item * (below + iw * c);
    _Pragma("GCC unroll 16") for (int u = 0; u < count; u++) __builtin_prefetch((const void *)(to + item * u * c), 1);
    for (int64_t i = 0; i < q->sh; i++, from += item * q->width * c)
        _Pragma("GCC unroll 16") for (int t = 0; t < count * sw; t++) __builtin_prefetch((const void *)(from + item * t * c));
}
#endif

/* `count` results from place at[1] of row at[0] on: each place of the image is loaded once for all results that see it.
 * at[2]: where the results of the image begin, at[3]: which vector it is. checked: some may see pads beside the image. All but
 * the first five are constants once it is inlined. */
DW_INLINE void DW(piece)(const Depthwise *q, const ITEM *image, const VEC *w, const int64_t *at, const VEC shift,
                         const int count, const int kw, const int sw, const int checked) {
    const int64_t ih = at[0] * q->sh - q->top, iw = at[1] * sw - q->left, c = q->c, width = q->width;
    const int64_t first = ih < 0 ? -ih : 0, last = q->h - ih < q->kh ? q->h - ih : q->kh;
    VEC sum[SIDE];
#if PREFETCH
    if (at[3] % PREFETCH == 0) DW(prefetch)(q, image, at, count, kw, sw);
#endif
    _Pragma("GCC unroll 16") for (int u = 0; u < count; u++) sum[u] = shift;
    for (int64_t i = first; i < last; i++) {
        const ITEM *p = image + ((ih + i) * width + iw) * c;
        VEC taps[7];
        _Pragma("GCC unroll 8") for (int j = 0; j < kw; j++) taps[j] = w[i * kw + j];
        _Pragma("GCC unroll 32") for (int t = 0; t < (count - 1) * sw + kw; t++, p += c) {
            if (checked && (uint64_t)(iw + t) >= (uint64_t)width) continue;
            const VEC x = LOAD(p);
            _Pragma("GCC unroll 8") for (int j = 0; j < kw; j++)
                if (t >= j && (t - j) % sw == 0 && (t - j) / sw < count)
                    sum[(t - j) / sw] = FMA(x, taps[j], sum[(t - j) / sw]);
        }
    }
    ITEM *to = (ITEM *)q->y + at[2] + (at[0] * q->across + at[1]) * c;
    if (q->relu || q->hard_swish || q->scale != 1 || q->shift != 0)
        _Pragma("GCC unroll 16") for (int u = 0; u < count; u++) sum[u] = DW(after)(q, sum[u]);
    _Pragma("GCC unroll 16") for (int u = 0; u < count; u++) STORE(to + u * c, sum[u]);
}

/* Places of a block from at[1] to `end` of row at[0]. */
DW_INLINE void DW(run)(const Depthwise *q, const ITEM *image, const VEC *w, int64_t *at, int64_t end, const VEC shift,
                       const int kw, const int sw, const int checked) {
    for (; at[1] + SIDE <= end; at[1] += SIDE) DW(piece)(q, image, w, at, shift, SIDE, kw, sw, checked);
    for (; at[1] + 5 <= end; at[1] += 5) DW(piece)(q, image, w, at, shift, 5, kw, sw, checked);
    for (; at[1] + 2 <= end; at[1] += 2) DW(piece)(q, image, w, at, shift, 2, kw, sw, checked);
    for (; at[1] < end; at[1]++) DW(piece)(q, image, w, at, shift, 1, kw, sw, checked);
}

/* The first channel of a vector. The last vector ends with the channels: some of these are computed twice. */
DW_INLINE int64_t DW(channel)(const Depthwise *q, int64_t vector) {
    return (vector + 1) * LANES <= q->c ? vector * LANES : q->c - LANES;
}

DW_TARGET static void DW(spread)(const Depthwise *q) {
    float *to = q->taps;
    for (int64_t vector = 0; vector < q->vectors; vector++) {
        const ITEM *from = (const ITEM *)q->w + DW(channel)(q, vector) * q->w_c;
        for (int64_t i = 0; i < q->kh; i++)
            for (int64_t j = 0; j < q->kw; j++)
                for (int l = 0; l < LANES; l++) *to++ = WIDE(from[l * q->w_c + i * q->w_h + j * q->w_w]);
    }
}

/* Rows from `first` to `last` of image n: a block of columns of a group of vectors of channels. */
DW_INLINE void DW(block)(const Depthwise *q, int64_t n, int64_t first, int64_t last, int64_t block, int64_t group, const int kw,
                         const int sw) {
    const int64_t begin = block * q->wide, finish = begin + q->wide < q->across ? begin + q->wide : q->across;
    const int64_t from = group * q->together, to = from + q->together < q->vectors ? from + q->together : q->vectors;
    for (int64_t row = first; row < last; row++)
        for (int64_t column = begin; column < finish; column += SIDE) {
            const int64_t end = column + SIDE < finish ? column + SIDE : finish;
            const int inside = q->inner <= column && end <= q->outer;
            for (int64_t vector = from; vector < to; vector++) {
                const int64_t c = DW(channel)(q, vector);
                const ITEM *image = (const ITEM *)q->x + n * q->h * q->width * q->c + c;
                const VEC *w = (const VEC *)(q->taps + vector * q->kh * q->kw * LANES);
                const VEC shift = q->bias ? LOAD((const ITEM *)q->bias + c) : SET(0);
                int64_t at[4] = {row, column, n * q->down * q->across * q->c + c, vector};
                if (inside)
                    DW(run)(q, image, w, at, end, shift, kw, sw, 0);
                else
                    DW(run)(q, image, w, at, end, shift, kw, sw, 1);
            }
        }
}

DW_INLINE void DW(unit)(const Depthwise *q, int64_t n, int64_t first, int64_t last, int64_t block, int64_t group) {
#define DW_CASE(KW, SW)                                                                                                \
    case 2 * KW + SW: DW(block)(q, n, first, last, block, group, KW, SW); break;
    switch (2 * q->kw + q->sw) {
        DW_CASE(3, 1)
        DW_CASE(3, 2)
        DW_CASE(5, 1)
        DW_CASE(5, 2)
        DW_CASE(7, 1)
        DW_CASE(7, 2)
    }
#undef DW_CASE
}

DW_TARGET static int DW(work)(void *job, int64_t part) {
    const Depthwise *q = (const Depthwise *)job;
    for (int64_t unit = part * q->units / q->parts; unit < (part + 1) * q->units / q->parts; unit++) {
        const int64_t band = unit / q->groups / q->blocks % q->bands, first = band * q->rows;
        const int64_t last = first + q->rows < q->down ? first + q->rows : q->down;
        DW(unit)(q, unit / q->groups / q->blocks / q->bands, first, last, unit / q->groups % q->blocks, unit % q->groups);
    }
    return 0;
}

static const DepthwiseKernels DW(all) = {LANES, SIDE, DW(spread), DW(work)};

#undef DW
#undef DW_TARGET
#undef DW_INLINE
#undef VEC
#undef LANES
#undef SIDE
#undef PREFETCH
#undef SET
#undef ITEM
#undef WIDE
#undef LOAD
#undef STORE
#undef FMA
#undef MAX
#undef MIN
#undef MUL
