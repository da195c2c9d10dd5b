/* What pointwise.h includes once for each set of instructions. */

/* What follows a sum, its bias and the residual included. */
PW_INLINE VEC PW(after)(const Pointwise *q, VEC v) {
    if (q->relu) v = MAX(SET(0), v);
    if (q->hard_swish) v = MUL(v, MIN(SET(1), MAX(SET(0), FMA(v, SET(1.0f / 6), SET(0.5f)))));
    return q->scale != 1 || q->shift != 0 ? FMA(v, SET(q->scale), SET(q->shift)) : v;
}

/* `count` rows from `row` on by `wide` vectors of the strip at w, whose results begin at column j; `some`: lanes of the last
 * vector that are results. count and wide are constants once it is inlined. */
PW_INLINE void PW(tile)(const Pointwise *q, const int count, const int wide, const float *w, int64_t row, int64_t j,
                        const MASK some) {
    const float *x = q->x + row * q->k;
    const int64_t k = q->k, n = q->n;
    VEC sum[12][4];
    _Pragma("GCC unroll 12") for (int i = 0; i < count; i++)
        _Pragma("GCC unroll 4") for (int v = 0; v < wide; v++) sum[i][v] = SET(0);
    for (int64_t p = 0; p < k; p++, w += q->strip) {
        VEC b[4];
        _Pragma("GCC unroll 4") for (int v = 0; v < wide; v++) b[v] = LOAD(w + v * LANES);
        _Pragma("GCC unroll 12") for (int i = 0; i < count; i++) {
            const VEC a = SET(x[i * k + p]);
            _Pragma("GCC unroll 4") for (int v = 0; v < wide; v++) sum[i][v] = FMA(a, b[v], sum[i][v]);
        }
    }
    const float *more = q->residual ? q->residual + row * n + j : 0;
    const int followed = q->relu || q->hard_swish || q->scale != 1 || q->shift != 0;
    float *y = q->y + row * n + j;
    _Pragma("GCC unroll 4") for (int v = 0; v < wide; v++) {
        const int last = v == wide - 1;
        const int64_t at = v * LANES;
        if (q->bias) {
            const VEC bias = last ? LOAD_SOME(q->bias + j + at, some) : LOAD(q->bias + j + at);
            _Pragma("GCC unroll 12") for (int i = 0; i < count; i++) sum[i][v] = ADD(sum[i][v], bias);
        }
        if (more)
            _Pragma("GCC unroll 12") for (int i = 0; i < count; i++)
                sum[i][v] = ADD(sum[i][v], last ? LOAD_SOME(more + i * n + at, some) : LOAD(more + i * n + at));
        if (followed)
            _Pragma("GCC unroll 12") for (int i = 0; i < count; i++) sum[i][v] = PW(after)(q, sum[i][v]);
        _Pragma("GCC unroll 12") for (int i = 0; i < count; i++) {
            if (last)
                STORE_SOME(y + i * n + at, some, sum[i][v]);
            else
                STORE(y + i * n + at, sum[i][v]);
        }
    }
}

#define PW_ROWS(COUNT, WIDE) case COUNT: PW(tile)(q, COUNT, WIDE, w, row, j, some); break;
#define PW_MORE_12(WIDE) PW_ROWS(8, WIDE) PW_ROWS(9, WIDE) PW_ROWS(10, WIDE) PW_ROWS(11, WIDE) PW_MORE_8(WIDE)
#define PW_MORE_8(WIDE) PW_ROWS(6, WIDE) PW_ROWS(7, WIDE) PW_MORE_6(WIDE)
#define PW_MORE_6(WIDE) PW_ROWS(4, WIDE) PW_ROWS(5, WIDE) PW_MORE_4(WIDE)
#define PW_MORE_4(WIDE) PW_ROWS(1, WIDE) PW_ROWS(2, WIDE) PW_ROWS(3, WIDE)

/* Rows from `row` to `end` by a strip of WIDE vectors, MOST rows at once. Lines of the strip are in the caches, or come in order. */
#define PW_STRIP(WIDE, MOST)                                                                                           \
    PW_TARGET __attribute__((noinline)) static void PW(strip_##WIDE)(const Pointwise *q, const float *w, int64_t row,  \
                                                                     int64_t end, int64_t j, const MASK some) {        \
        for (; row + MOST <= end; row += MOST) PW(tile)(q, MOST, WIDE, w, row, j, some);                               \
        switch (end - row) { PW_MORE_##MOST(WIDE) }                                                                    \
    }
TILES(PW_STRIP)

PW_TARGET static int PW(work)(void *job, int64_t part) {
    const Pointwise *q = (const Pointwise *)job;
    for (int64_t unit = part * q->units / q->parts; unit < (part + 1) * q->units / q->parts; unit++) {
        const int64_t row = unit / q->groups * q->rows, end = row + q->rows < q->m ? row + q->rows : q->m;
        const int64_t group = unit % q->groups, last = (group + 1) * q->strips / q->groups;
        for (int64_t s = group * q->strips / q->groups; s < last; s++) {
            const float *w = q->w + s * q->k * q->strip;
            const int64_t j = s * q->strip, left = q->n - j;
            /* Of the last strip, vectors that are filled up alone are left out. */
            const int64_t vectors = left < q->strip ? (left + LANES - 1) / LANES : q->strip / LANES;
            const MASK some = SOME(left < q->strip && left % LANES ? left % LANES : LANES);
            switch (vectors) {
#define PW_CASE(WIDE, MOST)                                                                                            \
    case WIDE: PW(strip_##WIDE)(q, w, row, end, j, some); break;
                TILES(PW_CASE)
#undef PW_CASE
            }
        }
    }
    return 0;
}

static const PointwiseKernels PW(all) = {TALLEST, WIDEST * LANES, LANES, PW(work)};

#undef PW_ROWS
#undef PW_MORE_12
#undef PW_MORE_8
#undef PW_MORE_6
#undef PW_MORE_4
#undef PW_STRIP
#undef PW
#undef PW_TARGET
#undef PW_INLINE
#undef VEC
#undef LANES
#undef MASK
#undef SOME
#undef SET
#undef LOAD
#undef LOAD_SOME
#undef STORE
#undef STORE_SOME
#undef FMA
#undef ADD
#undef MAX
#undef MIN
#undef MUL
#undef TILES
#undef TALLEST
#undef WIDEST
