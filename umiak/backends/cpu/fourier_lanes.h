/* Passes over W neighbouring columns at once, or over W transforms in lanes, for fourier.h, which includes this once for each T, W and processor:
   NAME(x) gives the names of this copy, TARGET its attributes, ZIP_LOW and so on the places of lanes. */

typedef T NAME(lanes) __attribute__((vector_size(W * sizeof(T)), aligned(sizeof(T)), may_alias));
#define V NAME(lanes)
#define LOAD(p) (*(const V *)(p))
#define STORE(p, v) (*(V *)(p) = (v))

/* One step of W columns: element e of column c stands at e * step + c, in units of T (in INTERLEAVED of complex numbers). */
typedef struct {
    int m, s, n;                       /* points; what the passes before have done; points of this pass */
    int in_kind, out_kind;
    const T *in_re, *in_im;
    T *out_re, *out_im;
    int64_t in_step, out_step;
    const T *roots;                    /* of unity, m of them: cos and sin of -2 pi k / m */
    const T *turn_re, *turn_im;        /* TURNED: by what the results are multiplied */
    int64_t turn_step;
    T in_sign, scale_re, scale_im;     /* INTERLEAVED: of imaginary parts that are read; of results */
} NAME(step);

TARGET static inline __attribute__((always_inline)) void NAME(read)(const NAME(step) *j, int64_t e, V *re, V *im)
{
    if (j->in_kind == UMIAK_INTERLEAVED) {
        const T *x = j->in_re + 2 * e * j->in_step;
        V a = LOAD(x), b = LOAD(x + W);
        *re = __builtin_shufflevector(a, b, EVEN);
        *im = __builtin_shufflevector(a, b, ODD) * j->in_sign;
    } else {
        *re = LOAD(j->in_re + e * j->in_step);
        *im = LOAD(j->in_im + e * j->in_step);
    }
}

TARGET static inline __attribute__((always_inline)) void NAME(write)(const NAME(step) *j, int64_t e, V re, V im)
{
    if (j->out_kind == UMIAK_INTERLEAVED) {
        T *y = j->out_re + 2 * e * j->out_step;
        re *= j->scale_re;
        im *= j->scale_im;
        STORE(y, __builtin_shufflevector(re, im, ZIP_LOW));
        STORE(y + W, __builtin_shufflevector(re, im, ZIP_HIGH));
        return;
    }
    if (j->out_kind == UMIAK_TURNED) {
        V c = LOAD(j->turn_re + e * j->turn_step), d = LOAD(j->turn_im + e * j->turn_step), r = re * c - im * d;
        im = re * d + im * c;
        re = r;
    }
    STORE(j->out_re + e * j->out_step, re);
    STORE(j->out_im + e * j->out_step, im);
}

/* Four points a to d at places 0, stride, .. of the arrays. */
#define FOUR(re, im, a, b, c, d) \
    do { \
        V pr = re[a] + re[c], pi = im[a] + im[c], mr = re[a] - re[c], mi = im[a] - im[c]; \
        V qr = re[b] + re[d], qi = im[b] + im[d], nr = im[b] - im[d], ni = re[d] - re[b]; \
        re[a] = pr + qr, im[a] = pi + qi, re[c] = pr - qr, im[c] = pi - qi; \
        re[b] = mr + nr, im[b] = mi + ni, re[d] = mr - nr, im[d] = mi - ni; \
    } while (0)

/* A pass of Stockham's: m points by `radix`, results in the natural order after the last one. */
TARGET static inline __attribute__((always_inline)) void NAME(pass)(const NAME(step) *j, const int radix)
{
    const T half = (T)0.70710678118654752440;
    const int s = j->s, n = j->n / radix;
    for (int p = 0; p < n; p++)
        for (int q = 0; q < s; q++) {
            V re[8], im[8];
#pragma GCC unroll 8
            for (int k = 0; k < radix; k++)
                NAME(read)(j, q + s * (p + k * n), &re[k], &im[k]);
            if (radix == 4)
                FOUR(re, im, 0, 1, 2, 3);
            else {
                FOUR(re, im, 0, 2, 4, 6);
                FOUR(re, im, 1, 3, 5, 7);
                V r = (re[3] + im[3]) * half, i = (im[3] - re[3]) * half;
                re[3] = r, im[3] = i;
                r = im[5], i = -re[5];
                re[5] = r, im[5] = i;
                r = (im[7] - re[7]) * half, i = (re[7] + im[7]) * -half;
                re[7] = r, im[7] = i;
#pragma GCC unroll 8
                for (int k = 0; k < 8; k += 2) {
                    V tr = re[k] - re[k + 1], ti = im[k] - im[k + 1];
                    re[k] += re[k + 1], im[k] += im[k + 1];
                    re[k + 1] = tr, im[k + 1] = ti;
                }
            }
            if (p > 0) {
#pragma GCC unroll 8
                for (int k = 1; k < radix; k++) {
                    /* Of eight, result k stands at 2k, or behind 2(k - 4). */
                    const int at = radix == 4 ? k : k < 4 ? 2 * k : 2 * k - 7;
                    const T *w = j->roots + 2 * (int64_t)(p * k * s);
                    V r = re[at] * w[0] - im[at] * w[1];
                    im[at] = re[at] * w[1] + im[at] * w[0];
                    re[at] = r;
                }
            }
#pragma GCC unroll 8
            for (int k = 0; k < radix; k++) {
                const int at = radix == 4 ? k : k < 4 ? 2 * k : 2 * k - 7;
                NAME(write)(j, q + s * (radix * p + k), re[at], im[at]);
            }
        }
}

/* The same by a prime. Points k and radix - k have conjugate roots: their sum meets the cosine, their difference the sine. */
TARGET static inline __attribute__((always_inline)) void NAME(prime_pass)(const NAME(step) *j, const int radix)
{
    const int s = j->s, n = j->n / radix, half = radix / 2;
    T cosine[UMIAK_PRIME / 2 + 1], sine[UMIAK_PRIME / 2 + 1];
    for (int k = 0; k <= half; k++) {
        cosine[k] = j->roots[2 * (int64_t)k * (j->m / radix)];
        sine[k] = j->roots[2 * (int64_t)k * (j->m / radix) + 1];
    }
    for (int p = 0; p < n; p++)
        for (int q = 0; q < s; q++) {
            V re[UMIAK_PRIME], im[UMIAK_PRIME], to_re[UMIAK_PRIME], to_im[UMIAK_PRIME];
#pragma GCC unroll 13
            for (int k = 0; k < radix; k++)
                NAME(read)(j, q + s * (p + k * n), &re[k], &im[k]);
            to_re[0] = re[0], to_im[0] = im[0];
            if (radix == 2) {
                to_re[0] = re[0] + re[1], to_im[0] = im[0] + im[1];
                to_re[1] = re[0] - re[1], to_im[1] = im[0] - im[1];
            } else {
#pragma GCC unroll 6
                for (int k = 1; k <= half; k++) {
                    V r = re[k] - re[radix - k], i = im[k] - im[radix - k];
                    re[k] += re[radix - k], im[k] += im[radix - k];
                    re[radix - k] = r, im[radix - k] = i;
                    to_re[0] += re[k], to_im[0] += im[k];
                }
#pragma GCC unroll 6
                for (int o = 1; o <= half; o++) {
                    V er = re[0], ei = im[0], dr = {0}, di = {0};
#pragma GCC unroll 6
                    for (int k = 1; k <= half; k++) {
                        const int turn = o * k % radix, at = turn > half ? radix - turn : turn;
                        er += re[k] * cosine[at], ei += im[k] * cosine[at];
                        if (turn > half)
                            dr -= re[radix - k] * sine[at], di -= im[radix - k] * sine[at];
                        else
                            dr += re[radix - k] * sine[at], di += im[radix - k] * sine[at];
                    }
                    to_re[o] = er - di, to_im[o] = ei + dr;
                    to_re[radix - o] = er + di, to_im[radix - o] = ei - dr;
                }
            }
#pragma GCC unroll 13
            for (int k = 0; k < radix; k++) {
                if (k > 0 && p > 0) {
                    const T *w = j->roots + 2 * (int64_t)(p * k * s);
                    V r = to_re[k] * w[0] - to_im[k] * w[1];
                    to_im[k] = to_re[k] * w[1] + to_im[k] * w[0];
                    to_re[k] = r;
                }
                NAME(write)(j, q + s * (radix * p + k), to_re[k], to_im[k]);
            }
        }
}

#define PASS(name, pass, radix) TARGET static __attribute__((noinline)) void NAME(name)(const NAME(step) *j) { NAME(pass)(j, radix); }
PASS(by_two, prime_pass, 2)
PASS(by_three, prime_pass, 3)
PASS(by_four, pass, 4)
PASS(by_five, prime_pass, 5)
PASS(by_seven, prime_pass, 7)
PASS(by_eight, pass, 8)
PASS(by_eleven, prime_pass, 11)
PASS(by_thirteen, prime_pass, 13)
#undef PASS

static void NAME(by)(int radix, const NAME(step) *j)
{
    switch (radix) {
    case 2: NAME(by_two)(j); break;
    case 3: NAME(by_three)(j); break;
    case 4: NAME(by_four)(j); break;
    case 5: NAME(by_five)(j); break;
    case 7: NAME(by_seven)(j); break;
    case 8: NAME(by_eight)(j); break;
    case 11: NAME(by_eleven)(j); break;
    default: NAME(by_thirteen)(j);
    }
}

/* All passes over W columns. `side` says what the first reads and the last writes; `memory` has room for 4 m W. */
static void NAME(columns)(const NAME(step) *side, T *memory)
{
    NAME(step) j = *side;
    const int64_t area = (int64_t)j.m * W;
    T *from = 0, *to = memory;
    for (j.s = 1, j.n = j.m; j.n > 1;) {
        const int radix = umiak_radix(j.n);
        if (j.s > 1) {
            j.in_kind = UMIAK_SPLIT;
            j.in_re = from, j.in_im = from + area, j.in_step = W;
        }
        if (j.n > radix) {
            j.out_kind = UMIAK_SPLIT;
            j.out_re = to, j.out_im = to + area, j.out_step = W;
        } else {
            j.out_kind = side->out_kind;
            j.out_re = side->out_re, j.out_im = side->out_im, j.out_step = side->out_step;
        }
        NAME(by)(radix, &j);
        from = to;
        to = from == memory ? memory + 2 * area : memory;
        j.n /= radix;
        j.s *= radix;
    }
}

/* A square transposed: W rows are zipped log2 W times with those W/2 below. */
TARGET static inline __attribute__((always_inline)) void NAME(square)(V *a)
{
    V b[W];
#pragma GCC unroll 4
    for (int turn = 1; turn < W; turn *= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < W / 2; i++) {
            b[2 * i] = __builtin_shufflevector(a[i], a[i + W / 2], ZIP_LOW);
            b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + W / 2], ZIP_HIGH);
        }
#pragma GCC unroll 16
        for (int i = 0; i < W; i++)
            a[i] = b[i];
    }
}

/* out[c][r] = x[r][c] of W by W blocks. */
TARGET static void NAME(transpose)(const T *x, int64_t rows, int64_t columns, T *out)
{
    for (int64_t r = 0; r < rows; r += W)
        for (int64_t c = 0; c < columns; c += W) {
            V a[W];
#pragma GCC unroll 16
            for (int i = 0; i < W; i++)
                a[i] = LOAD(x + (r + i) * columns + c);
            NAME(square)(a);
#pragma GCC unroll 16
            for (int i = 0; i < W; i++)
                STORE(out + (c + i) * rows + r, a[i]);
        }
}

/* Of z, the transform of m pairs of neighbours as complex numbers (and z[m] = z[0]), the transform of the 2 m numbers:
   m + 1 points, and with `mirror` the others too. */
TARGET static void NAME(unpack)(const T *re, const T *im, const T *roots_re, const T *roots_im, int64_t m, T scale_re,
                                T scale_im, int mirror, T *out)
{
    const T hr = scale_re / 2, hi = scale_im / 2;
    for (int64_t k = 0; k < m; k += W) {
        V ar = LOAD(re + k), ai = LOAD(im + k), br = LOAD(re + m - k - W + 1), bi = LOAD(im + m - k - W + 1);
        br = __builtin_shufflevector(br, br, REVERSED);
        bi = __builtin_shufflevector(bi, bi, REVERSED);
        V c = LOAD(roots_re + k), d = LOAD(roots_im + k), er = ar + br, ei = ai - bi, dr = ai + bi, di = br - ar;
        V r = (er + (dr * c - di * d)) * hr, i = (ei + (dr * d + di * c)) * hi;
        STORE(out + 2 * k, __builtin_shufflevector(r, i, ZIP_LOW));
        STORE(out + 2 * k + W, __builtin_shufflevector(r, i, ZIP_HIGH));
        if (mirror && k > 0) {
            r = __builtin_shufflevector(r, r, REVERSED);
            i = -__builtin_shufflevector(i, i, REVERSED);
            T *y = out + 2 * (2 * m - k - W + 1);
            STORE(y, __builtin_shufflevector(r, i, ZIP_LOW));
            STORE(y + W, __builtin_shufflevector(r, i, ZIP_HIGH));
        } else if (mirror)
            for (int64_t l = 1; l < W; l++) {
                out[2 * (2 * m - l)] = r[l];
                out[2 * (2 * m - l) + 1] = -i[l];
            }
    }
    out[2 * m] = (re[0] - im[0]) * scale_re;
    out[2 * m + 1] = 0;
    out[1] = 0;
}

/* The reverse, for a transform of m points back: x has m + 1 points, of which the first and the last count as real. */
TARGET static void NAME(pack)(const T *x, const T *roots_re, const T *roots_im, int64_t m, T *re, T *im)
{
    for (int64_t k = 0; k < m; k += W) {
        const T *y = x + 2 * (m - k - W + 1);
        V a = LOAD(x + 2 * k), b = LOAD(x + 2 * k + W), e = LOAD(y), f = LOAD(y + W);
        V ar = __builtin_shufflevector(a, b, EVEN), ai = __builtin_shufflevector(a, b, ODD);
        V br = __builtin_shufflevector(e, f, EVEN), bi = __builtin_shufflevector(e, f, ODD);
        br = __builtin_shufflevector(br, br, REVERSED);
        bi = __builtin_shufflevector(bi, bi, REVERSED);
        V c = LOAD(roots_re + k), d = -LOAD(roots_im + k);
        V dr = ar - br, di = ai + bi;
        STORE(re + k, (ar + br) - (dr * d + di * c));
        STORE(im + k, -((ai - bi) + (dr * c - di * d))); /* conjugate: the passes only go forward */
    }
    re[0] = x[0] + x[2 * m];
    im[0] = -(x[0] - x[2 * m]);
}

/* Points of W transforms, one in each lane: those of lane l begin at x + at[l], `step` apart, imaginary parts `gap` behind
   real ones; of UMIAK_REAL numbers there are none. Lanes from `count` on are 0. */
TARGET static void NAME(gather)(const T *x, const int64_t *at, int count, int64_t points, int64_t step, int64_t gap, T *re, T *im)
{
    const int64_t unit = gap == 1 ? 2 : 1;
    int beside = count == W;
    int64_t j = 0;
    for (int l = 1; l < count; l++)
        beside &= at[l] == at[0] + l * unit;
    if (beside) {
        for (const T *y = x + at[0]; j < points; j++, y += step) {
            V a = LOAD(y), b = {0};
            if (gap == 1) {
                b = LOAD(y + W);
                STORE(re + j * W, __builtin_shufflevector(a, b, EVEN));
                STORE(im + j * W, __builtin_shufflevector(a, b, ODD));
            } else {
                if (gap != UMIAK_REAL)
                    b = LOAD(y + gap);
                STORE(re + j * W, a);
                STORE(im + j * W, b);
            }
        }
        return;
    }
    if (count == W && step == 2 && gap == 1)
        for (; j + W / 2 <= points; j += W / 2) {
            V a[W];
#pragma GCC unroll 16
            for (int l = 0; l < W; l++)
                a[l] = LOAD(x + at[l] + 2 * j);
            NAME(square)(a);
#pragma GCC unroll 8
            for (int k = 0; k < W / 2; k++) {
                STORE(re + (j + k) * W, a[2 * k]);
                STORE(im + (j + k) * W, a[2 * k + 1]);
            }
        }
    for (; j < points; j++) {
        if (count < W || gap == UMIAK_REAL) {
            STORE(re + j * W, (V){0});
            STORE(im + j * W, (V){0});
        }
        for (int l = 0; l < count; l++)
            re[j * W + l] = x[at[l] + j * step];
        for (int l = 0; gap != UMIAK_REAL && l < count; l++)
            im[j * W + l] = x[at[l] + j * step + gap];
    }
}

/* The reverse, with the factors of both parts; `zero` is added to imaginary parts. */
TARGET static void NAME(scatter)(const T *re, const T *im, T scale_re, T scale_im, T zero, const int64_t *at, int count,
                                 int64_t points, int64_t step, int64_t gap, T *out)
{
    const int64_t unit = gap == 1 ? 2 : 1;
    int beside = count == W;
    int64_t j = 0;
    for (int l = 1; l < count; l++)
        beside &= at[l] == at[0] + l * unit;
    if (beside) {
        for (T *y = out + at[0]; j < points; j++, y += step) {
            V a = LOAD(re + j * W) * scale_re, b = LOAD(im + j * W) * scale_im + zero;
            if (gap == 1) {
                STORE(y, __builtin_shufflevector(a, b, ZIP_LOW));
                STORE(y + W, __builtin_shufflevector(a, b, ZIP_HIGH));
            } else {
                STORE(y, a);
                if (gap != UMIAK_REAL)
                    STORE(y + gap, b);
            }
        }
        return;
    }
    if (count == W && step == 2 && gap == 1)
        for (; j + W / 2 <= points; j += W / 2) {
            V a[W];
#pragma GCC unroll 8
            for (int k = 0; k < W / 2; k++) {
                a[2 * k] = LOAD(re + (j + k) * W) * scale_re;
                a[2 * k + 1] = LOAD(im + (j + k) * W) * scale_im + zero;
            }
            NAME(square)(a);
#pragma GCC unroll 16
            for (int l = 0; l < W; l++)
                STORE(out + at[l] + 2 * j, a[l]);
        }
    for (; j < points; j++) {
        for (int l = 0; l < count; l++)
            out[at[l] + j * step] = re[j * W + l] * scale_re;
        for (int l = 0; gap != UMIAK_REAL && l < count; l++)
            out[at[l] + j * step + gap] = im[j * W + l] * scale_im + zero;
    }
}

/* The transforms of m points in each lane of x (real parts, imaginary ones behind `area` numbers); `other` has as much room.
   Gives the one of the two that holds the results. */
static T *NAME(lane_passes)(const T *roots, int64_t m, int64_t area, T *x, T *other)
{
    NAME(step) j = {0};
    j.m = (int)m, j.roots = roots, j.in_step = j.out_step = W;
    for (j.s = 1, j.n = j.m; j.n > 1;) {
        const int radix = umiak_radix(j.n);
        T *from = x;
        j.in_re = x, j.in_im = x + area;
        j.out_re = other, j.out_im = other + area;
        NAME(by)(radix, &j);
        x = other, other = from;
        j.n /= radix;
        j.s *= radix;
    }
    return x;
}

/* Transforms side by side, one in each of `count` lanes, from `from` and to `to`. */
TARGET static void NAME(lane_group)(const umiak_fourier_axis *p, const int64_t *from, const int64_t *to, int count, T *memory)
{
    const int64_t n = p->points, h = n / 2 + 1, m = p->half_roots ? n / 2 : n, area = (n + 1) * W;
    const T *x = p->x, *roots = p->roots;
    const T sign = p->inverse ? -1 : 1, scale = (T)p->scale;
    T *a = memory, *b = memory + 2 * area, *out = p->out;
    if (p->kind == UMIAK_COMPLEX) {
        /* With real and imaginary parts exchanged at both ends, a transform is the inverse one. */
        const int64_t re = p->inverse ? area : 0, im = p->inverse ? 0 : area;
        NAME(gather)(x, from, count, n, p->x_step, 1, a + re, a + im);
        a = NAME(lane_passes)(roots, n, area, a, b);
        NAME(scatter)(a + re, a + im, scale, scale, (T)-0.0, to, count, n, p->out_step, 1, out);
    } else if (p->kind == UMIAK_FROM_HALF) {
        NAME(gather)(x, from, count, h, p->x_step, 1, a, a + area);
        if (m < n) {
            for (int64_t k = 0; k < m; k++) {
                const T c = roots[2 * k], d = -roots[2 * k + 1];
                V ar = LOAD(a + k * W), ai = LOAD(a + area + k * W);
                V br = LOAD(a + (m - k) * W), bi = LOAD(a + area + (m - k) * W);
                V dr = ar - br, di = ai + bi;
                STORE(b + k * W, (ar + br) - (dr * d + di * c));
                STORE(b + area + k * W, -((ai - bi) + (dr * c - di * d))); /* conjugate: the passes only go forward */
            }
            V ar = LOAD(a), br = LOAD(a + m * W);
            STORE(b, ar + br);
            STORE(b + area, br - ar);
            a = NAME(lane_passes)(p->half_roots, m, area, b, a);
            NAME(scatter)(a, a + area, scale, -scale, (T)-0.0, to, count, m, 2 * p->out_step, p->out_step, out);
        } else {
            STORE(a + area, (V){0});
            for (int64_t k = 1; k < h; k++) {
                V r = LOAD(a + k * W), i = LOAD(a + area + k * W);
                STORE(a + area + k * W, -i);
                STORE(a + (n - k) * W, r);
                STORE(a + area + (n - k) * W, i);
            }
            a = NAME(lane_passes)(roots, n, area, a, b);
            NAME(scatter)(a, a + area, scale, scale, (T)-0.0, to, count, n, p->out_step, UMIAK_REAL, out);
        }
    } else {
        if (m < n) {
            NAME(gather)(x, from, count, m, 2 * p->x_step, p->x_step, a, a + area);
            T *z = NAME(lane_passes)(p->half_roots, m, area, a, b), *y = z == a ? b : a;
            for (int64_t k = 0; k <= m; k++) {
                const int64_t i = k == m ? 0 : k, mirror = k ? m - k : 0;
                const T c = roots[2 * k], d = roots[2 * k + 1];
                V ar = LOAD(z + i * W), ai = LOAD(z + area + i * W);
                V br = LOAD(z + mirror * W), bi = LOAD(z + area + mirror * W);
                V er = ar + br, ei = ai - bi, dr = ai + bi, di = br - ar;
                STORE(y + k * W, (er + (dr * c - di * d)) * (T)0.5);
                STORE(y + area + k * W, (ei + (dr * d + di * c)) * (T)0.5);
            }
            STORE(y + area + m * W, (V){0});
            a = y;
        } else {
            NAME(gather)(x, from, count, n, p->x_step, UMIAK_REAL, a, a + area);
            a = NAME(lane_passes)(roots, n, area, a, b);
        }
        STORE(a + area, (V){0});
        if (p->kind == UMIAK_TO_WHOLE)
            for (int64_t k = 1; k < n - k; k++) {
                STORE(a + (n - k) * W, LOAD(a + k * W));
                STORE(a + area + (n - k) * W, -LOAD(a + area + k * W));
            }
        NAME(scatter)(a, a + area, scale, sign * scale, (T)0.0, to, count, p->kind == UMIAK_TO_WHOLE ? n : h, p->out_step, 1, out);
    }
}

#undef V
#undef LOAD
#undef STORE
#undef FOUR
