/* Passes over W neighbouring columns at once, for fourier.h, which includes this once for each T, W and processor:
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

TARGET static __attribute__((noinline)) void NAME(by_four)(const NAME(step) *j) { NAME(pass)(j, 4); }
TARGET static __attribute__((noinline)) void NAME(by_eight)(const NAME(step) *j) { NAME(pass)(j, 8); }

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
        if (radix == 4)
            NAME(by_four)(&j);
        else
            NAME(by_eight)(&j);
        from = to;
        to = from == memory ? memory + 2 * area : memory;
        j.n /= radix;
        j.s *= radix;
    }
}

/* out[c][r] = x[r][c] of W by W blocks; W rows are zipped log2 W times with those W/2 below. */
TARGET static void NAME(transpose)(const T *x, int64_t rows, int64_t columns, T *out)
{
    for (int64_t r = 0; r < rows; r += W)
        for (int64_t c = 0; c < columns; c += W) {
            V a[W], b[W];
#pragma GCC unroll 16
            for (int i = 0; i < W; i++)
                a[i] = LOAD(x + (r + i) * columns + c);
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

#undef V
#undef LOAD
#undef STORE
#undef FOUR
