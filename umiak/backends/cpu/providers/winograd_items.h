/* What winograd.h includes once for each set of instructions. */
#define PANEL (2 * LANES)
#define UNROLL _Pragma("GCC unroll 16")

/* --- elements of images and kernels; `narrow` is a constant once they are inlined --- */

WINO_INLINE VEC WINO(load)(const int narrow, const char *s) {
    return narrow ? WINO(load_narrow)((const uint16_t *)s) : LOAD((const float *)s);
}

WINO_INLINE void WINO(store)(const int narrow, char *d, VEC x) {
    if (narrow)
        WINO(store_narrow)((uint16_t *)d, x);
    else
        STORE((float *)d, x);
}

#define WINO_BYTES(NARROW) ((NARROW) ? (int64_t)sizeof(uint16_t) : (int64_t)sizeof(float))

/* --- transforms along one axis; `tile` is a constant once they are inlined --- */

#define WINO_P 0.625f /* the points, their squares, and 1 / (2 p² (p² - r²)) */
#define WINO_R 1.5f
#define WINO_PP 0.390625f
#define WINO_RR 2.25f
#define WINO_NP (-0.68840336134453781f)
#define WINO_NR 0.11951447245564893f
#define WINO_N0 1.1377777777777778f /* 1 / (p² r²) */

/* B' d */
WINO_INLINE void WINO(from_input)(const int tile, const VEC *d, VEC *r) {
    if (tile == 2) {
        r[0] = d[2] - d[0];
        r[1] = d[1] + d[2];
        r[2] = d[2] - d[1];
        r[3] = d[3] - d[1];
        return;
    }
    const VEC pp = SET(WINO_PP), rr = SET(WINO_RR), sum = SET(WINO_PP + WINO_RR), product = SET(WINO_PP * WINO_RR);
    const VEC ea = FNMA(rr, d[2], d[4]), oa = SET(WINO_P) * FNMA(rr, d[1], d[3]);
    const VEC eb = FNMA(pp, d[2], d[4]), ob = SET(WINO_R) * FNMA(pp, d[1], d[3]);
    r[0] = FMA(product, d[0], FNMA(sum, d[2], d[4]));
    r[1] = ea + oa;
    r[2] = ea - oa;
    r[3] = eb + ob;
    r[4] = eb - ob;
    r[5] = FMA(product, d[1], FNMA(sum, d[3], d[5]));
}

/* A' m */
WINO_INLINE void WINO(to_output)(const int tile, const VEC *m, VEC *y) {
    if (tile == 2) {
        y[0] = m[0] + m[1] + m[2];
        y[1] = m[1] - m[2] + m[3];
        return;
    }
    const VEC sp = m[1] + m[2], dp = m[1] - m[2], sr = m[3] + m[4], dr = m[3] - m[4];
    y[0] = m[0] + (sp + sr);
    y[1] = FMA(SET(WINO_P), dp, SET(WINO_R) * dr);
    y[2] = FMA(SET(WINO_PP), sp, SET(WINO_RR) * sr);
    y[3] = FMA(SET(WINO_P * WINO_PP), dp, FMA(SET(WINO_R * WINO_RR), dr, m[5]));
}

/* A y */
WINO_INLINE void WINO(from_output)(const int tile, const VEC *y, VEC *r) {
    if (tile == 2) {
        r[0] = y[0];
        r[1] = y[0] + y[1];
        r[2] = y[0] - y[1];
        r[3] = y[1];
        return;
    }
    const VEC ea = FMA(SET(WINO_PP), y[2], y[0]), oa = SET(WINO_P) * FMA(SET(WINO_PP), y[3], y[1]);
    const VEC eb = FMA(SET(WINO_RR), y[2], y[0]), ob = SET(WINO_R) * FMA(SET(WINO_RR), y[3], y[1]);
    r[0] = y[0];
    r[1] = ea + oa;
    r[2] = ea - oa;
    r[3] = eb + ob;
    r[4] = eb - ob;
    r[5] = y[3];
}

/* G g */
WINO_INLINE void WINO(from_kernel)(const int tile, const VEC *g, VEC *r) {
    if (tile == 2) {
        const VEC half = SET(0.5f), e = half * (g[0] + g[2]), o = half * g[1];
        r[0] = ZERO() - g[0];
        r[1] = e + o;
        r[2] = e - o;
        r[3] = g[2];
        return;
    }
    const VEC ea = SET(WINO_NP) * FMA(SET(WINO_PP), g[2], g[0]), oa = SET(WINO_NP * WINO_P) * g[1];
    const VEC eb = SET(WINO_NR) * FMA(SET(WINO_RR), g[2], g[0]), ob = SET(WINO_NR * WINO_R) * g[1];
    r[0] = SET(WINO_N0) * g[0];
    r[1] = ea + oa;
    r[2] = ea - oa;
    r[3] = eb + ob;
    r[4] = eb - ob;
    r[5] = g[2];
}

/* G' m */
WINO_INLINE void WINO(to_kernel)(const int tile, const VEC *m, VEC *g) {
    if (tile == 2) {
        const VEC half = SET(0.5f), s = half * (m[1] + m[2]);
        g[0] = s - m[0];
        g[1] = half * (m[1] - m[2]);
        g[2] = s + m[3];
        return;
    }
    const VEC sp = SET(WINO_NP) * (m[1] + m[2]), dp = m[1] - m[2], sr = SET(WINO_NR) * (m[3] + m[4]), dr = m[3] - m[4];
    g[0] = FMA(SET(WINO_N0), m[0], sp + sr);
    g[1] = FMA(SET(WINO_NP * WINO_P), dp, SET(WINO_NR * WINO_R) * dr);
    g[2] = FMA(SET(WINO_PP), sp, FMA(SET(WINO_RR), sr, m[5]));
}

/* --- gemm --- */

/* c[rows, vecs] = a b, or c += a b; rows of b are whole panels. Sums of WINOGRAD_DEPTH terms make sums of WINOGRAD_SPAN, and
 * those the whole: an error grows with the root of how many terms are added one after the other. */
WINO_INLINE void WINO(gemm)(const int rows, const int vecs, int64_t k, const float *a, int64_t am, int64_t ak,
                               const float *b, float *c, int64_t cm, int add) {
    float apart[ROWS * PANEL];
    for (; k > 0; add = 1) {
        float *const sums = add ? apart : c;
        const int64_t by = add ? PANEL : cm;
        for (int64_t done = 0; done < WINOGRAD_SPAN && k > 0; done += WINOGRAD_DEPTH, k -= WINOGRAD_DEPTH) {
            VEC acc[ROWS][2];
            UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < vecs; v++) acc[i][v] = ZERO();
            for (int64_t p = k < WINOGRAD_DEPTH ? k : WINOGRAD_DEPTH; p > 0; p--, a += ak, b += PANEL) {
                VEC y[2];
                UNROLL for (int v = 0; v < vecs; v++) y[v] = LOAD(b + v * LANES);
                UNROLL for (int i = 0; i < rows; i++) {
                    const VEC x = SET(a[i * am]);
                    UNROLL for (int v = 0; v < vecs; v++) acc[i][v] = FMA(x, y[v], acc[i][v]);
                }
            }
            UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < vecs; v++) {
                float *to = sums + i * by + v * LANES;
                STORE(to, done ? (VEC)(LOAD(to) + acc[i][v]) : acc[i][v]);
            }
        }
        if (add)
            UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < vecs; v++) {
                float *to = c + i * cm + v * LANES;
                STORE(to, LOAD(to) + LOAD(apart + i * PANEL + v * LANES));
            }
    }
}

typedef void (*WINO(gemm_t))(int64_t k, const float *a, int64_t am, int64_t ak, const float *b, float *c, int64_t cm,
                                int add);
#define WINO_GEMM(R, V)                                                                                             \
    WINO_TARGET __attribute__((noinline)) static void WINO(gemm_##R##_##V)(                                         \
        int64_t k, const float *a, int64_t am, int64_t ak, const float *b, float *c, int64_t cm, int add) {            \
        WINO(gemm)(R, V, k, a, am, ak, b, c, cm, add);                                                              \
    }
#define WINO_ONE(R) WINO_GEMM(R, 1)
#define WINO_TWO(R) WINO_GEMM(R, 2)
KERNEL_CASES(WINO_ONE)
KERNEL_CASES(WINO_TWO)
#define WINO_NAME_ONE(R) WINO(gemm_##R##_1),
#define WINO_NAME_TWO(R) WINO(gemm_##R##_2),
static const WINO(gemm_t) WINO(gemms)[2][ROWS] = {{KERNEL_CASES(WINO_NAME_ONE)}, {KERNEL_CASES(WINO_NAME_TWO)}};

WINO_TARGET static void WINO(multiply)(int vecs, int64_t m, int64_t k, const float *a, int64_t am, int64_t ak,
                                       const float *b, float *c, int64_t cm, int add) {
    while (m > 0) {
        /* The last two pieces are alike: few rows leave the multipliers waiting. */
        const int64_t r = m <= ROWS ? m : m < 2 * ROWS ? (m + 1) / 2 : ROWS;
        WINO(gemms)[vecs - 1][r - 1](k, a, am, ak, b, c, cm, add);
        m -= r;
        a += r * am;
        c += r * cm;
    }
}

/* --- transforms of images --- */

typedef struct {
    int64_t image, y, x; /* which tile */
} WINO(place);

WINO_INLINE WINO(place) WINO(place_of)(const Winograd *q, int64_t t) {
    const int64_t of = t % (q->down * q->across);
    return (WINO(place)){t / (q->down * q->across), of / q->across, of % q->across};
}

WINO_INLINE void WINO(next)(const Winograd *q, WINO(place) *t) {
    if (++t->x < q->across) return;
    t->x = 0;
    if (++t->y < q->down) return;
    t->y = 0;
    t->image++;
}

/* Transforms of the tiles [first, last) of an image: number e of tile t, channel c at v[e * slice + (t - first) * by +
 * c / PANEL * panel + c % PANEL]. `output`: of m × m places, as A y A'; else of n × n, as B' d B. */
WINO_INLINE void WINO(gather_from)(const int tile, const int output, const int narrow, const Winograd *q,
                                   const WinogradImage *x, int64_t first, int64_t last, float *v, int64_t slice, int64_t by,
                                   int64_t panel) {
    const int n = tile + 2, s = output ? tile : n;
    const int64_t bytes = WINO_BYTES(narrow), row = x->room * bytes;
    WINO(place) t = WINO(place_of)(q, first);
    for (; first < last; first++, v += by, WINO(next)(q, &t)) {
        const int64_t y0 = t.y * tile - x->top, x0 = t.x * tile - x->left;
        const char *from[36];
        const char *base = (const char *)x->data + ((t.image * x->h + y0) * x->w + x0) * row;
        for (int i = 0; i < s; i++)
            for (int j = 0; j < s; j++) {
                const int inside = y0 + i >= 0 && y0 + i < x->h && x0 + j >= 0 && x0 + j < x->w;
                from[i * s + j] = inside ? base + (i * x->w + j) * row : (const char *)q->nothing;
            }
        for (int64_t c = 0; c < x->room; c += LANES) {
            float *to = v + c / PANEL * panel + c % PANEL;
            /* What the next tile sees that this one does not: its lines are too far apart for the processor to foresee them. */
            if (!output && c * bytes % 64 == 0)
                UNROLL for (int i = 0; i < s; i++) UNROLL for (int j = s - tile; j < s; j++)
                    __builtin_prefetch(base + (i * x->w + tile + j) * row + c * bytes);
            VEC made[6][6];
            UNROLL for (int j = 0; j < s; j++) {
                VEC d[6], r[6];
                UNROLL for (int i = 0; i < s; i++) d[i] = WINO(load)(narrow, from[i * s + j] + c * bytes);
                if (output)
                    WINO(from_output)(tile, d, r);
                else
                    WINO(from_input)(tile, d, r);
                UNROLL for (int i = 0; i < n; i++) made[i][j] = r[i];
            }
            UNROLL for (int i = 0; i < n; i++) {
                VEC r[6];
                if (output)
                    WINO(from_output)(tile, made[i], r);
                else
                    WINO(from_input)(tile, made[i], r);
                UNROLL for (int j = 0; j < n; j++) STORE(to + (i * n + j) * slice, r[j]);
            }
        }
    }
}

WINO_INLINE void WINO(gather)(const int tile, const int output, const Winograd *q, const WinogradImage *x, int64_t first,
                              int64_t last, float *v, int64_t slice, int64_t by, int64_t panel) {
    if (x->narrow)
        WINO(gather_from)(tile, output, 1, q, x, first, last, v, slice, by, panel);
    else
        WINO(gather_from)(tile, output, 0, q, x, first, last, v, slice, by, panel);
}

/* The tiles [first, last) of the result, its channels [low, high), of products m that lie as what `gather` makes. */
WINO_INLINE void WINO(scatter_to)(const int tile, const int narrow, const Winograd *q, int64_t first, int64_t last, int64_t low,
                                  int64_t high, const float *m, int64_t slice, int64_t by) {
    const int n = tile + 2;
    const WinogradImage *y = &q->y;
    const int64_t bytes = WINO_BYTES(narrow), row = y->room * bytes;
    WINO(place) t = WINO(place_of)(q, first);
    for (; first < last; first++, m += by, WINO(next)(q, &t)) {
        const int64_t y0 = t.y * tile, x0 = t.x * tile;
        const int64_t rows = y->h - y0 < tile ? y->h - y0 : tile, columns = y->w - x0 < tile ? y->w - x0 : tile;
        const int64_t origin = ((t.image * y->h + y0) * y->w + x0) * row;
        char *base = (char *)y->data + origin;
        const char *beside = q->residual ? (const char *)q->residual + origin : 0;
        for (int64_t c = low; c < high; c += LANES) {
            const float *from = m + c - low;
            char *to = base + c * bytes;
            VEC made[4][6];
            UNROLL for (int j = 0; j < n; j++) {
                VEC d[6], r[4];
                UNROLL for (int i = 0; i < n; i++) d[i] = LOAD(from + (i * n + j) * slice);
                WINO(to_output)(tile, d, r);
                UNROLL for (int i = 0; i < tile; i++) made[i][j] = r[i];
            }
            const VEC bias = q->bias ? LOAD(q->bias + c) : ZERO();
            UNROLL for (int i = 0; i < tile; i++) {
                VEC r[4];
                WINO(to_output)(tile, made[i], r);
                UNROLL for (int j = 0; j < tile; j++) {
                    const int64_t at = (i * y->w + j) * row;
                    const int inside = i < rows && j < columns;
                    if (q->bias) r[j] = r[j] + bias;
                    if (beside && inside) r[j] = r[j] + WINO(load)(narrow, beside + at + c * bytes);
                    if (q->relu) r[j] = MAX(ZERO(), r[j]);
                    if (q->hard_swish) r[j] = r[j] * MIN(SET(1), MAX(ZERO(), r[j] * SET(1.0f / 6) + SET(0.5f)));
                    if (q->scaled) r[j] = r[j] * SET(q->scale) + SET(q->shift);
                    if (inside) WINO(store)(narrow, to + at, r[j]);
                }
            }
        }
    }
}

WINO_INLINE void WINO(scatter)(const int tile, const Winograd *q, int64_t first, int64_t last, int64_t low, int64_t high,
                               const float *m, int64_t slice, int64_t by) {
    if (q->y.narrow)
        WINO(scatter_to)(tile, 1, q, first, last, low, high, m, slice, by);
    else
        WINO(scatter_to)(tile, 0, q, first, last, low, high, m, slice, by);
}

/* --- transforms of kernels --- */

/* Blocks follow each other along the longer side, where their lines lie next to each other. */
WINO_INLINE void WINO(transpose_as)(const int from, const int to, const char *s, int64_t ss, int64_t rows, int64_t columns, char *d,
                               int64_t ds, int64_t room) {
    const int64_t down = (room + LANES - 1) / LANES, across = (columns + LANES - 1) / LANES;
    const int64_t read = WINO_BYTES(from), made = WINO_BYTES(to);
    for (int64_t block = 0; block < down * across; block++) {
        const int64_t i = (down > across ? block % down : block / across) * LANES;
        const int64_t j = (down > across ? block / down : block % across) * LANES;
        const int64_t height = rows - i < LANES ? rows - i : LANES, width = columns - j < LANES ? columns - j : LANES;
        const int64_t wide = room - i < LANES ? room - i : LANES;
        if (height == LANES && width == LANES && wide == LANES) {
            VEC r[LANES];
            UNROLL for (int k = 0; k < LANES; k++) r[k] = WINO(load)(from, s + ((i + k) * ss + j) * read);
            WINO(transpose)(r);
            UNROLL for (int k = 0; k < LANES; k++) WINO(store)(to, d + ((j + k) * ds + i) * made, r[k]);
            continue;
        }
        for (int64_t k = 0; k < width; k++)
            for (int64_t l = 0; l < wide; l++) {
                const int64_t at = (i + l) * ss + j + k, out = (j + k) * ds + i + l;
                float x = 0;
                if (l < height) x = from ? plain_from_bf16(((const uint16_t *)s)[at]) : ((const float *)s)[at];
                if (to)
                    ((uint16_t *)d)[out] = plain_to_bf16(x);
                else
                    ((float *)d)[out] = x;
            }
    }
}

#define WINO_TRANSPOSE(NAME, FROM, TO)                                                                                      \
    WINO_TARGET static void WINO(NAME)(const void *s, int64_t ss, int64_t rows, int64_t columns, void *d, int64_t ds,  \
                                       int64_t room) {                                                                 \
        WINO(transpose_as)(FROM, TO, s, ss, rows, columns, d, ds, room);                                                    \
    }
WINO_TRANSPOSE(transpose_image, 0, 0)
WINO_TRANSPOSE(transpose_wide, 1, 0)
WINO_TRANSPOSE(transpose_narrow, 0, 1)

WINO_INLINE void WINO(transform)(const int tile, const int flipped, const float *taps, int64_t tap, float *u, int64_t slice) {
    const int n = tile + 2;
    VEC made[6][3];
    UNROLL for (int j = 0; j < 3; j++) {
        VEC g[3], r[6];
        UNROLL for (int i = 0; i < 3; i++) g[i] = LOAD(taps + (flipped ? 8 - 3 * i - j : 3 * i + j) * tap);
        WINO(from_kernel)(tile, g, r);
        UNROLL for (int i = 0; i < n; i++) made[i][j] = r[i];
    }
    UNROLL for (int i = 0; i < n; i++) {
        VEC r[6];
        WINO(from_kernel)(tile, made[i], r);
        UNROLL for (int j = 0; j < n; j++) STORE(u + (i * n + j) * slice, r[j]);
    }
}

/* The first tap of channel 0 for lanes from channel k of the result on, in kernels in strips. */
WINO_INLINE const float *WINO(in_strip)(const Winograd *q, int64_t k) {
    return (const float *)q->w + k / q->strip * 9 * q->x.c * q->strip + k % q->strip;
}

/* A panel of channels of the result, the channels [low, high) that are summed over: number e of channels c and k at
 * u[e * slice + (c - low) * PANEL + k % PANEL]. */
WINO_INLINE void WINO(kernel_panel)(const int tile, const Winograd *q, int64_t panel, int64_t low, int64_t high, float *u,
                                    int64_t slice) {
    float taps[9 * LANES * LANES], edge[10 * LANES];
    const int64_t bytes = WINO_BYTES(q->narrow);
    memset(edge, 0, sizeof edge);
    for (int64_t k = panel * PANEL; k < q->y.room && k < (panel + 1) * PANEL; k += LANES, u += LANES) {
        const int64_t lanes = q->y.c - k < LANES ? q->y.c - k : LANES;
        if (q->strip) {
            const float *from = WINO(in_strip)(q, k);
            for (int64_t c = low; c < high; c++)
                WINO(transform)(tile, 0, from + c * q->strip, q->x.c * q->strip, u + (c - low) * PANEL, slice);
        } else if (q->flipped)
            for (int64_t c = low; c < high; c++) {
                const char *from = (const char *)q->w + (c * q->w_summed + k * 9) * bytes;
                const float *s = (const float *)from;
                if (q->narrow && lanes == LANES) {
                    UNROLL for (int i = 0; i < 9; i++)
                        STORE(edge + i * LANES, WINO(load_narrow)((const uint16_t *)from + i * LANES));
                    s = edge;
                } else if (q->narrow) {
                    for (int64_t i = 0; i < lanes * 9; i++) edge[i] = plain_from_bf16(((const uint16_t *)from)[i]);
                    s = edge;
                } else if (lanes < LANES || (c == q->x.c - 1 && k + LANES >= q->y.c))
                    s = memcpy(edge, s, lanes * 9 * sizeof *s);
                float *to = taps + (c - low) % LANES * 9 * LANES;
                WINO(split)(s, to);
                if ((c - low) % LANES == LANES - 1 || c == high - 1)
                    for (int64_t e = c - (c - low) % LANES; e <= c; e++)
                        WINO(transform)(tile, 1, taps + (e - low) % LANES * 9 * LANES, LANES, u + (e - low) * PANEL, slice);
            }
        else
            for (int64_t c = low; c < high; c += LANES) {
                const int64_t some = high - c < LANES ? high - c : LANES;
                const char *from = (const char *)q->w + (k * q->w_made + c * 9) * bytes;
                (q->narrow ? WINO(transpose_wide) : WINO(transpose_image))(from, q->w_made, lanes, some * 9, taps, LANES, LANES);
                for (int64_t e = 0; e < some; e++)
                    WINO(transform)(tile, 0, taps + e * 9 * LANES, LANES, u + (c - low + e) * PANEL, slice);
            }
    }
}

/* Kernels of the channels [low, high) of y, from their n² sums: those of channels k and c at d[e * slice + (k - low) * by + c]. */
WINO_INLINE void WINO(collect)(const int tile, const Winograd *q, int64_t low, int64_t high, const float *d, int64_t slice,
                               int64_t by) {
    const int n = tile + 2;
    for (int64_t k = low; k < high; k++, d += by)
        for (int64_t c = 0; c < q->x.c; c += LANES) {
            VEC made[3][6], g[9];
            UNROLL for (int j = 0; j < n; j++) {
                VEC m[6], r[3];
                UNROLL for (int i = 0; i < n; i++) m[i] = LOAD(d + (i * n + j) * slice + c);
                WINO(to_kernel)(tile, m, r);
                UNROLL for (int i = 0; i < 3; i++) made[i][j] = r[i];
            }
            UNROLL for (int i = 0; i < 3; i++) WINO(to_kernel)(tile, made[i], g + 3 * i);
            const int64_t some = q->x.c - c < LANES ? q->x.c - c : LANES, at = k * q->w_made + c * 9;
            if (!q->narrow) {
                WINO(join)(g, some, (float *)q->w + at);
                continue;
            }
            float wide[9 * LANES];
            uint16_t *to = (uint16_t *)q->w + at;
            WINO(join)(g, LANES, wide);
            if (some == LANES)
                UNROLL for (int i = 0; i < 9; i++) WINO(store_narrow)(to + i * LANES, LOAD(wide + i * LANES));
            else
                for (int64_t i = 0; i < some * 9; i++) to[i] = plain_to_bf16(wide[i]);
        }
}

/* --- parts of the work --- */

#define WINO_UNITS                                                                                                     \
    const int64_t begin = part * q->units / q->parts, end = (part + 1) * q->units / q->parts;                          \
    const int64_t points = (tile + 2) * (tile + 2);                                                                    \
    (void)points;

#define WINO_PART(NAME)                                                                                                \
    WINO_TARGET static int WINO(NAME)(void *job, int64_t part) {                                                       \
        const Winograd *q = (const Winograd *)job;                                                                     \
        if (q->tile == 2)                                                                                              \
            WINO(NAME##_of)(2, q, part);                                                                               \
        else                                                                                                           \
            WINO(NAME##_of)(4, q, part);                                                                               \
        return 0;                                                                                                      \
    }

#define WINO_VECS(X, PANEL_) ((X).room - (PANEL_) * PANEL > LANES ? 2 : 1)

WINO_INLINE void WINO(kernels_of)(const int tile, const Winograd *q, int64_t part) {
    WINO_UNITS
    for (int64_t p = begin; p < end; p++)
        WINO(kernel_panel)(tile, q, p, 0, q->x.c, q->u + p * points * winograd_slice(q->x.c * PANEL), winograd_slice(q->x.c * PANEL));
}
WINO_PART(kernels)

WINO_INLINE void WINO(images_of)(const int tile, const Winograd *q, int64_t part) {
    WINO_UNITS
    const int64_t slice = winograd_slice(q->tiles * q->x.room);
    for (int64_t b = begin; b < end; b++) {
        const int64_t first = b * q->block, last = first + q->block < q->tiles ? first + q->block : q->tiles;
        WINO(gather)(tile, 0, q, &q->x, first, last, q->v + first * q->x.room, slice, q->x.room, PANEL);
    }
}
WINO_PART(images)

WINO_INLINE void WINO(by_tiles_of)(const int tile, const Winograd *q, int64_t part) {
    WINO_UNITS
    const int64_t panels = winograd_panels(&q->y, LANES), wide = panels * PANEL;
    const int64_t slice = winograd_slice(q->block * q->x.room), made = winograd_slice(q->block * wide);
    const int64_t kernels = winograd_slice(q->x.c * PANEL);
    float *v = q->scratch + part * q->each, *m = v + points * slice;
    for (int64_t b = begin; b < end; b++) {
        const int64_t first = b * q->block, last = first + q->block < q->tiles ? first + q->block : q->tiles;
        WINO(gather)(tile, 0, q, &q->x, first, last, v, slice, q->x.room, PANEL);
        for (int64_t e = 0; e < points; e++)
            for (int64_t p = 0; p < panels; p++)
                WINO(multiply)(WINO_VECS(q->y, p), last - first, q->x.c, v + e * slice, q->x.room, 1,
                               q->u + (p * points + e) * kernels, m + e * made + p * PANEL, wide, 0);
        WINO(scatter)(tile, q, first, last, 0, q->y.room, m, made, wide);
    }
}
WINO_PART(by_tiles)

WINO_INLINE void WINO(by_channels_of)(const int tile, const Winograd *q, int64_t part) {
    WINO_UNITS
    const int64_t slice = winograd_slice(q->tiles * q->x.room), made = winograd_slice(q->tiles * PANEL);
    const int64_t kernels = winograd_slice(WINOGRAD_CHUNK * PANEL);
    float *u = q->scratch + part * q->each, *m = u + points * kernels;
    for (int64_t p = begin; p < end; p++) {
        const int vecs = WINO_VECS(q->y, p);
        for (int64_t c = 0; c < q->x.c; c += WINOGRAD_CHUNK) {
            const int64_t high = c + WINOGRAD_CHUNK < q->x.c ? c + WINOGRAD_CHUNK : q->x.c;
            WINO(kernel_panel)(tile, q, p, c, high, u, kernels);
            for (int64_t e = 0; e < points; e++)
                WINO(multiply)(vecs, q->tiles, high - c, q->v + e * slice + c, q->x.room, 1, u + e * kernels, m + e * made,
                               PANEL, c > 0);
        }
        WINO(scatter)(tile, q, 0, q->tiles, p * PANEL, p * PANEL + vecs * LANES, m, made, PANEL);
    }
}
WINO_PART(by_channels)

/* v in panels of channels, each [tiles, PANEL]; z as it is gathered. */
WINO_INLINE void WINO(factors_of)(const int tile, const Winograd *q, int64_t part) {
    WINO_UNITS
    const int64_t tiles = q->last - q->first, wide = winograd_panels(&q->x, LANES) * PANEL;
    const int64_t slice = winograd_slice(tiles * wide), other = winograd_slice(tiles * q->y.room);
    for (int64_t b = begin; b < end; b++) {
        const int64_t low = b * q->block, high = low + q->block < tiles ? low + q->block : tiles;
        WINO(gather)(tile, 0, q, &q->x, q->first + low, q->first + high, q->v + low * PANEL, slice, PANEL, tiles * PANEL);
        WINO(gather)(tile, 1, q, &q->y, q->first + low, q->first + high, q->z + low * q->y.room, other, q->y.room, PANEL);
    }
}
WINO_PART(factors)

WINO_INLINE void WINO(gradient_of)(const int tile, const Winograd *q, int64_t part) {
    WINO_UNITS
    const int64_t tiles = q->last - q->first, panels = winograd_panels(&q->x, LANES), wide = panels * PANEL;
    const int64_t slice = winograd_slice(tiles * wide), other = winograd_slice(tiles * q->y.room);
    const int64_t sums = winograd_slice(q->block * wide);
    for (int64_t b = begin; b < end; b++) {
        const int64_t low = b * q->block, high = low + q->block < q->y.c ? low + q->block : q->y.c;
        /* Sums of several rounds of tiles are kept, of all channels; else they are scratch. */
        float *d = q->u ? q->u + b * points * sums : q->scratch + part * q->each;
        for (int64_t e = 0; e < points; e++)
            for (int64_t p = 0; p < panels; p++)
                WINO(multiply)(WINO_VECS(q->x, p), high - low, tiles, q->z + e * other + low, 1, q->y.room,
                               q->v + e * slice + p * tiles * PANEL, d + e * sums + p * PANEL, wide, q->add);
        if (q->last == q->tiles) WINO(collect)(tile, q, low, high, d, sums, wide);
    }
}
WINO_PART(gradient)

static const WinogradKernels WINO(all) = {
    LANES,         WINO(kernels),  WINO(images), WINO(by_tiles),  WINO(by_channels),
    WINO(factors), WINO(gradient), WINO(transpose_image),   WINO(transpose_wide), WINO(transpose_narrow),
};

#undef WINO
#undef WINO_TARGET
#undef WINO_INLINE
#undef VEC
#undef LANES
#undef ROWS
#undef ZERO
#undef SET
#undef LOAD
#undef STORE
#undef MAX
#undef MIN
#undef FMA
#undef FNMA
#undef KERNEL_CASES
#undef PANEL
#undef UNROLL
#undef WINO_P
#undef WINO_R
#undef WINO_PP
#undef WINO_RR
#undef WINO_NP
#undef WINO_NR
#undef WINO_N0
#undef WINO_GEMM
#undef WINO_ONE
#undef WINO_TWO
#undef WINO_NAME_ONE
#undef WINO_NAME_TWO
#undef WINO_UNITS
#undef WINO_PART
#undef WINO_VECS
#undef WINO_BYTES
#undef WINO_TRANSPOSE
