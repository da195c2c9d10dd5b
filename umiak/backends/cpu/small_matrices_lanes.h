/* Factorisations of W matrices of a kind side by side, one in each lane of a vector; for small_matrices.h, which includes
   this for each T. A matrix is an array of vectors, rows one after another. */

typedef T NAME(lanes) __attribute__((vector_size(64), aligned(64), may_alias));
typedef I NAME(flags) __attribute__((vector_size(64), aligned(64), may_alias));
#define V NAME(lanes)
#define F NAME(flags)
#define W ((int)(64 / sizeof(T)))
#define INLINE static inline __attribute__((always_inline))
#define PICK(flags, yes, no) ((V)(((flags) & (F)(yes)) | (~(flags) & (F)(no))))
#define SIZE(x) PICK((x) < 0, -(x), (x))

INLINE V NAME(all)(T x)
{
    V v = {0};
    return v + x;
}

INLINE V NAME(root)(V x)
{
    for (int l = 0; l < W; l++)
        x[l] = SQRT(x[l]);
    return x;
}

/* Bits of the lanes whose flags are set. */
INLINE unsigned NAME(bits)(F flags)
{
    unsigned bits = 0;
    for (int l = 0; l < W; l++)
        bits |= (unsigned)(flags[l] != 0) << l;
    return bits;
}

UMIAK_CLONES static void NAME(load)(const umiak_small *g, V *a)
{
    const int64_t m = g->m, n = g->n, r = g->row, c = g->column;
    for (int l = 0; l < W; l++) {
        const T *x = g->x[l < g->count ? l : 0];
        T *to = (T *)a + l;
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                to[(i * n + j) * W] = x[i * r + j * c];
    }
}

/* The first `count` lanes of rows by columns vectors, to matrices (or transposed ones) that lie one after another. */
UMIAK_CLONES static void NAME(store)(const V *a, int64_t rows, int64_t columns, int transposed, int count, T *out)
{
    for (int l = 0; l < count; l++) {
        const T *from = (const T *)a + l;
        if (transposed)
            for (int64_t i = 0; i < rows; i++)
                for (int64_t j = 0; j < columns; j++)
                    out[j * rows + i] = from[(i * columns + j) * W];
        else
            for (int64_t i = 0; i < rows * columns; i++)
                out[i] = from[i * W];
        out += rows * columns;
    }
}

/* Lanes of matrices with numbers that are not finite, or out of the range whose squares are computed without care. */
INLINE unsigned NAME(unusual)(const V *a, int64_t count, T least, T most)
{
    V top = {0}, odd = {0};
    for (int64_t i = 0; i < count; i++) {
        V size = SIZE(a[i]);
        odd += a[i] - a[i];
        top = PICK(size > top, size, top);
    }
    return NAME(bits)((odd != odd) | (top > most) | ((top < least) & (top != 0)));
}

/* Lower factors in place: the diagonal, and below. */
UMIAK_CLONES static unsigned NAME(cholesky)(const umiak_small *g, V *a)
{
    const int64_t n = g->n;
    F bad = {0};
    NAME(load)(g, a);
    for (int64_t k = 0; k < n; k++) {
        V p = a[k * n + k];
        bad |= ~(p > 0);
        p = NAME(root)(p);
        a[k * n + k] = p;
        V inverse = 1 / p;
        for (int64_t i = k + 1; i < n; i++)
            a[i * n + k] *= inverse;
        for (int64_t i = k + 1; i < n; i++)
            for (int64_t j = k + 1; j <= i; j++)
                a[i * n + j] -= a[i * n + k] * a[j * n + k];
        for (int64_t j = k + 1; j < n; j++)
            a[k * n + j] = NAME(all)(0);
    }
    return NAME(bits)(bad);
}

/* Factors in place; places of the pivots from 1 on, `pivots[k][lane]`. */
UMIAK_CLONES static unsigned NAME(lu)(const umiak_small *g, V *a, int *pivots)
{
    const int64_t m = g->m, n = g->n, least = m < n ? m : n;
    NAME(load)(g, a);
    const unsigned bad = NAME(unusual)(a, m * n, 0, MOST);
    for (int64_t k = 0; k < least; k++) {
        V best = SIZE(a[k * n + k]);
        F at = {0};
        at += (I)k;
        for (int64_t i = k + 1; i < m; i++) {
            V size = SIZE(a[i * n + k]);
            F more = size > best, here = {0};
            here += (I)i;
            best = PICK(more, size, best);
            at = (more & here) | (~more & at);
        }
        for (int l = 0; l < W; l++) {
            const int64_t p = at[l];
            pivots[k * W + l] = (int)p + 1;
            if (p != k) {
                T *x = (T *)(a + k * n) + l, *y = (T *)(a + p * n) + l;
                for (int64_t j = 0; j < n; j++) {
                    T kept = x[j * W];
                    x[j * W] = y[j * W];
                    y[j * W] = kept;
                }
            }
        }
        V p = a[k * n + k];
        p = PICK(p == 0, NAME(all)(1), p); /* then zeros are below it */
        for (int64_t i = k + 1; i < m; i++) {
            V factor = a[i * n + k] / p;
            a[i * n + k] = factor;
            for (int64_t j = k + 1; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
        }
    }
    return bad;
}

/* A reflection I - tau v v^T that leaves of a column only its first element; `x`: its others, count of them, `step` apart,
   which become those of v, whose first is 1. */
INLINE V NAME(reflect)(V *first, V *x, int64_t count, int64_t step)
{
    /* Divided by the largest, since squares of small ones lose digits: the reflection would not be orthogonal. */
    V top = SIZE(*first), sum = {0};
    for (int64_t i = 0; i < count; i++) {
        V size = SIZE(x[i * step]);
        top = PICK(size > top, size, top);
    }
    V unit = 1 / PICK(top < TINY, NAME(all)(1), top), alpha = *first * unit;
    for (int64_t i = 0; i < count; i++)
        sum += (x[i * step] * unit) * (x[i * step] * unit);
    F none = (sum == 0) | (top < TINY);
    V beta = NAME(root)(alpha * alpha + sum);
    beta = PICK(alpha >= 0, -beta, beta);
    V safe = PICK(none, NAME(all)(1), beta), scale = 1 / PICK(none, NAME(all)(1), alpha - beta);
    for (int64_t i = 0; i < count; i++)
        x[i * step] = x[i * step] * unit * scale;
    *first = PICK(none, *first, beta * top);
    return PICK(none, NAME(all)(0), (beta - alpha) / safe);
}

/* Columns from `column` to n of rows k to m: each less tau (v^T column) v; v's first element, in row k, is 1. */
INLINE void NAME(apply)(V *a, int64_t n, int64_t k, int64_t m, int64_t column, V tau, const V *v, int64_t step)
{
    for (int64_t j = column; j < n; j++) {
        V sum = a[k * n + j];
        for (int64_t i = k + 1; i < m; i++)
            sum += v[(i - k - 1) * step] * a[i * n + j];
        sum *= tau;
        a[k * n + j] -= sum;
        for (int64_t i = k + 1; i < m; i++)
            a[i * n + j] -= sum * v[(i - k - 1) * step];
    }
}

/* R in place of a, with zeros below the diagonal; with `q`, also Q, m by `width`. `tau`: room for min(m, n). */
UMIAK_CLONES static unsigned NAME(qr)(const umiak_small *g, V *a, V *q, int64_t width, V *tau)
{
    const int64_t m = g->m, n = g->n, least = m < n ? m : n;
    NAME(load)(g, a);
    const unsigned bad = NAME(unusual)(a, m * n, LEAST, MOST);
    for (int64_t k = 0; k < least; k++) {
        V *below = a + (k + 1) * n + k;
        tau[k] = NAME(reflect)(&a[k * n + k], below, m - k - 1, n);
        NAME(apply)(a, n, k, m, k + 1, tau[k], below, n);
    }
    if (q) {
        for (int64_t i = 0; i < m * width; i++)
            q[i] = NAME(all)(i / width == i % width);
        for (int64_t k = least - 1; k >= 0; k--)
            NAME(apply)(q, width, k, m, k, tau[k], a + (k + 1) * n + k, n);
    }
    for (int64_t i = 1; i < m; i++)
        for (int64_t j = 0; j < (i < n ? i : n); j++)
            a[i * n + j] = NAME(all)(0);
    return bad;
}

/* Tridiagonal form of symmetric matrices, of which the lower triangles are read: d and e of each lane, and with `q` the
   reflections' product. `work`: room for 2 n. */
UMIAK_CLONES static unsigned NAME(tridiagonal)(const umiak_small *g, V *a, V *q, V *d, V *e, V *work)
{
    const int64_t n = g->n;
    V *tau = work, *w = work + n;
    NAME(load)(g, a);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++)
            a[i * n + j] = a[j * n + i];
    const unsigned bad = NAME(unusual)(a, n * n, LEAST, MOST);
    for (int64_t k = 0; k + 1 < n; k++) {
        const int64_t first = k + 1;
        tau[k] = NAME(reflect)(&a[first * n + k], a + (first + 1) * n + k, n - first - 1, n);
        e[k] = a[first * n + k];
        a[first * n + k] = NAME(all)(1);
        V dot = {0};
        for (int64_t i = first; i < n; i++) {
            V sum = {0};
            for (int64_t j = first; j < n; j++)
                sum += a[i * n + j] * a[j * n + k];
            w[i] = sum * tau[k];
            dot += w[i] * a[i * n + k];
        }
        dot *= tau[k] * (T)-0.5;
        for (int64_t i = first; i < n; i++)
            w[i] += dot * a[i * n + k];
        for (int64_t i = first; i < n; i++)
            for (int64_t j = first; j < n; j++)
                a[i * n + j] -= a[i * n + k] * w[j] + w[i] * a[j * n + k];
    }
    for (int64_t k = 0; k < n; k++)
        d[k] = a[k * n + k];
    if (q) {
        for (int64_t i = 0; i < n * n; i++)
            q[i] = NAME(all)(i / n == i % n);
        for (int64_t k = n - 2; k >= 0; k--)
            NAME(apply)(q, n, k + 1, n, k + 1, tau[k], a + (k + 2) * n + k, n);
    }
    return bad;
}

/* ---- eigenvalues of one tridiagonal matrix, by implicit QL or QR steps -------------------------------------------- */

/* Rotate rows j and j + 1 of z. */
INLINE void NAME(rotate)(T *z, int64_t width, int64_t j, T c, T s)
{
    V *x = (V *)(z + j * width), *y = (V *)(z + (j + 1) * width);
    for (int64_t i = 0; i < width / W; i++) {
        V t = y[i];
        y[i] = c * t - s * x[i];
        x[i] = s * t + c * x[i];
    }
}

INLINE void NAME(rotation)(T f, T g, T *c, T *s, T *r)
{
    if (g == 0) {
        *c = 1, *s = 0, *r = f;
    } else if (f == 0) {
        *c = 0, *s = g < 0 ? -1 : 1, *r = g < 0 ? -g : g;
    } else {
        const T scale = ABS(f) + ABS(g) < LEAST ? 1 / LEAST : 1; /* their squares would be 0 */
        f *= scale, g *= scale;
        T d = SQRT(f * f + g * g), inverse = 1 / d;
        d = f < 0 ? -d : d;
        inverse = f < 0 ? -inverse : inverse;
        *c = f * inverse, *s = g * inverse, *r = d / scale;
    }
}

/* Of [[a, b], [b, c]]: the eigenvalue of larger size, the other, and the unit vector (cs, sn) of the first. */
INLINE void NAME(two)(T a, T b, T c, T *first, T *second, T *cs, T *sn)
{
    const T sum = a + c, difference = a - c, twice = b + b, size = ABS(twice), other = ABS(difference);
    const T large = ABS(a) > ABS(c) ? a : c, small = ABS(a) > ABS(c) ? c : a;
    const T root = other > size ? other * SQRT(1 + (size / other) * (size / other))
        : size > 0 ? size * SQRT(1 + (other / size) * (other / size)) : 0;
    if (sum == 0) {
        *first = root / 2, *second = -root / 2;
    } else {
        *first = (sum < 0 ? sum - root : sum + root) / 2;
        *second = (large / *first) * small - (b / *first) * b;
    }
    const T x = difference >= 0 ? difference + root : difference - root;
    T u, v;
    if (ABS(x) > size) {
        T t = -twice / x;
        v = 1 / SQRT(1 + t * t), u = t * v;
    } else if (size == 0) {
        u = 1, v = 0;
    } else {
        T t = -x / twice;
        u = 1 / SQRT(1 + t * t), v = t * u;
    }
    if ((sum < 0) == (difference < 0)) {
        T t = u;
        u = -v, v = t;
    }
    *cs = u, *sn = v;
}

/* Rising eigenvalues in d; rows of z (n of them, `width` long, or NULL) become those of the vectors, in their order. Returns 0,
   or 1 when there were too many steps. */
UMIAK_CLONES static int NAME(tridiagonal_values)(int n, T *d, T *e, T *z, int64_t width)
{
    int left = 30 * n;
    for (int begin = 0; begin < n;) {
        int end = begin;
        while (end + 1 < n && ABS(e[end]) > SQRT(ABS(d[end])) * SQRT(ABS(d[end + 1])) * EPSILON)
            end++;
        if (end + 1 < n)
            e[end] = 0;
        if (end == begin) {
            begin++;
            continue;
        }
        /* From the smaller end to the larger one: a step down (QL) or up (QR). */
        const int down = ABS(d[end]) >= ABS(d[begin]);
        int l = down ? begin : end, stop = down ? end : begin;
        const int next = down ? 1 : -1;
        while (down ? l <= stop : l >= stop) {
            /* Between k and k + next stands e[k], or e[k - 1] upwards. */
            int m = l;
            while (m != stop) {
                const T f = e[down ? m : m - 1];
                if (f * f <= EPSILON * EPSILON * ABS(d[m]) * ABS(d[m + next]) + TINY)
                    break;
                m += next;
            }
            if (m != stop)
                e[down ? m : m - 1] = 0;
            if (m == l) {
                l += next;
                continue;
            }
            T p = d[l], c, s, r;
            if (m == l + next) {
                const int i = down ? l : m;
                T first, second;
                NAME(two)(d[i], e[i], d[i + 1], &first, &second, &c, &s);
                if (z)
                    NAME(rotate)(z, width, i, c, s);
                d[i] = first, d[i + 1] = second, e[i] = 0;
                l += 2 * next;
                continue;
            }
            if (left-- == 0)
                return 1;
            const T f = e[down ? l : l - 1];
            T g = (d[l + next] - p) / (2 * f);
            r = SQRT(g * g + 1);
            g = d[m] - p + f / (g + (g < 0 ? -r : r));
            s = 1, c = 1, p = 0;
            if (down)
                for (int i = m - 1; i >= l; i--) {
                    const T h = s * e[i], b = c * e[i];
                    NAME(rotation)(g, h, &c, &s, &r);
                    if (i != m - 1)
                        e[i + 1] = r;
                    g = d[i + 1] - p;
                    r = (d[i] - g) * s + 2 * c * b;
                    p = s * r;
                    d[i + 1] = g + p;
                    g = c * r - b;
                    if (z)
                        NAME(rotate)(z, width, i, c, -s);
                }
            else
                for (int i = m; i < l; i++) {
                    const T h = s * e[i], b = c * e[i];
                    NAME(rotation)(g, h, &c, &s, &r);
                    if (i != m)
                        e[i - 1] = r;
                    g = d[i] - p;
                    r = (d[i + 1] - g) * s + 2 * c * b;
                    p = s * r;
                    d[i] = g + p;
                    g = c * r - b;
                    if (z)
                        NAME(rotate)(z, width, i, c, s);
                }
            d[l] -= p;
            e[down ? l : l - 1] = g;
        }
        /* The range may have fallen apart; it is looked at again until it is diagonal. */
    }
    return 0;
}

/* Values and vectors of the first `count` lanes, but those in `without`, to matrices that lie one after another; `values` and `vectors` (or NULL)
   are those of the first. Returns the lanes that did not converge. */
UMIAK_CLONES static unsigned NAME(eigen)(const umiak_small *g, const V *q, const V *d, const V *e, T *memory, unsigned without,
                                         T *values, T *vectors)
{
    const int n = (int)g->n;
    const int64_t width = (n + W - 1) / W * W;
    T *z = memory, *diagonal = z + n * width, *side = diagonal + n; /* z: aligned to vectors */
    unsigned bad = 0;
    for (int l = 0; l < g->count; l++) {
        if (without >> l & 1)
            continue;
        for (int i = 0; i < n; i++) {
            diagonal[i] = d[i][l];
            side[i] = i + 1 < n ? e[i][l] : 0;
        }
        if (vectors)
            for (int j = 0; j < n; j++)
                for (int i = 0; i < width; i++)
                    z[j * width + i] = i < n ? ((const T *)q)[(i * n + j) * W + l] : 0;
        if (NAME(tridiagonal_values)(n, diagonal, side, vectors ? z : 0, width))
            bad |= 1u << l;
        int order[UMIAK_SMALL_MOST];
        for (int i = 0; i < n; i++) {
            int k = i;
            for (; k > 0 && diagonal[order[k - 1]] > diagonal[i]; k--)
                order[k] = order[k - 1];
            order[k] = i;
        }
        for (int i = 0; i < n; i++)
            values[(int64_t)l * n + i] = diagonal[order[i]];
        if (vectors)
            for (int j = 0; j < n; j++)
                for (int i = 0; i < n; i++)
                    vectors[((int64_t)l * n + i) * n + j] = z[order[j] * width + i];
    }
    return bad;
}

/* ---- singular values of one bidiagonal matrix, by implicit QR steps ------------------------------------------------- */

INLINE T NAME(like)(T size, T sign) { return (ABS(size) == size) == (sign >= 0) ? size : -size; }

/* The smaller singular value of [[f, g], [0, h]]. */
INLINE T NAME(smaller)(T f, T g, T h)
{
    f = ABS(f), g = ABS(g), h = ABS(h);
    const T least = f < h ? f : h, most = f < h ? h : f;
    if (least == 0)
        return 0;
    const T sum = 1 + least / most, rest = (most - least) / most;
    if (g < most) {
        const T ratio = (g / most) * (g / most);
        return least * (2 / (SQRT(sum * sum + ratio) + SQRT(rest * rest + ratio)));
    }
    const T ratio = most / g;
    if (ratio == 0)
        return least * most / g;
    const T c = 1 / (SQRT(1 + sum * ratio * (sum * ratio)) + SQRT(1 + rest * ratio * (rest * ratio)));
    return least * c * ratio * 2;
}

/* Rotations (cl, sl) from the left and (cr, sr) from the right that make [[f, g], [0, h]] diagonal: the values `most`, `least`. */
INLINE void NAME(two_singular)(T f, T g, T h, T *least, T *most, T *cr, T *sr, T *cl, T *sl)
{
    const int swap = ABS(h) > ABS(f);
    const T a = swap ? h : f, b = swap ? f : h, fa = ABS(a), ha = ABS(b), ga = ABS(g);
    T u = 1, v = 0, x = 1, y = 0; /* cosine and sine from the left, and from the right */
    int largest = swap ? 3 : 1;
    if (ga == 0) {
        *least = ha, *most = fa;
    } else if (ga > fa && fa / ga < EPSILON) {
        largest = 2;
        *most = ga;
        *least = ha > 1 ? fa / (ga / ha) : fa / ga * ha;
        v = b / g, y = 1, x = a / g;
    } else {
        if (ga > fa)
            largest = 2;
        const T d = fa - ha, l = d == fa ? 1 : d / fa, m = g / a, t = 2 - l, mm = m * m;
        const T s = SQRT(t * t + mm), r = l == 0 ? ABS(m) : SQRT(l * l + mm), half = (s + r) / 2;
        T w;
        *least = ha / half, *most = fa * half;
        if (mm == 0)
            w = l == 0 ? NAME(like)(2, a) * NAME(like)(1, g) : g / NAME(like)(d, a) + m / t;
        else
            w = (m / (s + t) + m / (r + l)) * (1 + half);
        const T length = SQRT(w * w + 4);
        x = 2 / length, y = w / length;
        u = (x + y * m) / half, v = b / a * y / half;
    }
    *cl = swap ? y : u, *sl = swap ? x : v, *cr = swap ? v : x, *sr = swap ? u : y;
    const T sign = largest == 1 ? NAME(like)(1, *cr) * NAME(like)(1, *cl) * NAME(like)(1, f)
        : largest == 2 ? NAME(like)(1, *sr) * NAME(like)(1, *cl) * NAME(like)(1, g)
                       : NAME(like)(1, *sr) * NAME(like)(1, *sl) * NAME(like)(1, h);
    *most = NAME(like)(*most, sign);
    *least = NAME(like)(*least, sign * NAME(like)(1, f) * NAME(like)(1, h));
}

/* Values in d, not in order and of either sign, of the upper bidiagonal matrix of d and e; rows of v (n, `wide` long) and of u
   (n, `high` long), or NULL, are turned along. Returns 0, or 1 when there were too many steps. */
UMIAK_CLONES static int NAME(bidiagonal_values)(int n, T *d, T *e, T *u, int64_t high, T *v, int64_t wide, T tolerance)
{
    const int most_steps = 6 * n * n;
    T least = ABS(d[0]), run = least;
    for (int i = 1; i < n && least != 0; i++) {
        run = ABS(d[i]) * (run / (run + ABS(e[i - 1])));
        least = run < least ? run : least;
    }
    const T floor = (T)most_steps * TINY, wanted = tolerance * (least / SQRT((T)n)), limit = wanted > floor ? wanted : floor;
    int old_first = -1, old_last = -1, down = 1, steps = 0;
    for (int last = n - 1; last > 0;) {
        if (steps > most_steps)
            return 1;
        T top = ABS(d[last]);
        int first = last;
        while (first > 0 && ABS(e[first - 1]) > limit) {
            first--;
            top = ABS(d[first]) > top ? ABS(d[first]) : top;
            top = ABS(e[first]) > top ? ABS(e[first]) : top;
        }
        if (first > 0)
            e[first - 1] = 0;
        if (first == last) {
            last--;
            continue;
        }
        T c, s, c2, s2, r;
        if (first == last - 1) {
            T small, large;
            NAME(two_singular)(d[first], e[first], d[last], &small, &large, &c, &s, &c2, &s2);
            d[first] = large, e[first] = 0, d[last] = small;
            if (v) {
                NAME(rotate)(v, wide, first, c, s);
                NAME(rotate)(u, high, first, c2, s2);
            }
            last -= 2;
            continue;
        }
        if (old_last < 0 || first > old_last || last < old_first)
            down = ABS(d[first]) >= ABS(d[last]);
        int split = -1;
        T smallest = ABS(d[down ? first : last]), mu = smallest;
        if (ABS(e[down ? last - 1 : first]) <= tolerance * ABS(d[down ? last : first]))
            split = down ? last - 1 : first;
        for (int i = 0; i < last - first && split < 0; i++) {
            const int at = down ? first + i : last - 1 - i;
            if (ABS(e[at]) <= tolerance * mu) {
                split = at;
                break;
            }
            mu = ABS(d[down ? at + 1 : at]) * (mu / (mu + ABS(e[at])));
            smallest = mu < smallest ? mu : smallest;
        }
        if (split >= 0) {
            e[split] = 0;
            continue;
        }
        old_first = first, old_last = last;
        T shift = 0;
        const T one_percent = tolerance / 100, near = EPSILON > one_percent ? EPSILON : one_percent;
        if ((T)n * tolerance * (smallest / top) > near) {
            const T side = ABS(d[down ? first : last]);
            shift = down ? NAME(smaller)(d[last - 1], e[last - 1], d[last]) : NAME(smaller)(d[first], e[first], d[first + 1]);
            if (side > 0 && shift / side * (shift / side) < EPSILON)
                shift = 0;
        }
        steps += last - first;
        const int next = down ? 1 : -1, begin = down ? first : last, end = down ? last : first;
        /* Between i and i + next stands e[i], or e[i - 1] upwards. */
#define BETWEEN(i) e[down ? (i) : (i) - 1]
        T f = 0, g = 0;
        c = c2 = 1, s = s2 = 0;
        if (shift != 0) {
            f = (ABS(d[begin]) - shift) * (NAME(like)(1, d[begin]) + shift / d[begin]);
            g = BETWEEN(begin);
        }
        for (int i = begin; i != end; i += next) {
            if (shift == 0) {
                NAME(rotation)(d[i] * c, BETWEEN(i), &c, &s, &r);
                if (i != begin)
                    BETWEEN(i - next) = s2 * r;
                NAME(rotation)(c2 * r, d[i + next] * s, &c2, &s2, &d[i]);
            } else {
                NAME(rotation)(f, g, &c, &s, &r);
                if (i != begin)
                    BETWEEN(i - next) = r;
                f = c * d[i] + s * BETWEEN(i);
                BETWEEN(i) = c * BETWEEN(i) - s * d[i];
                g = s * d[i + next];
                d[i + next] = c * d[i + next];
                NAME(rotation)(f, g, &c2, &s2, &r);
                d[i] = r;
                f = c2 * BETWEEN(i) + s2 * d[i + next];
                d[i + next] = c2 * d[i + next] - s2 * BETWEEN(i);
                if (i + next != end) {
                    g = s2 * BETWEEN(i + next);
                    BETWEEN(i + next) = c2 * BETWEEN(i + next);
                }
            }
            if (v && down) {
                NAME(rotate)(v, wide, i, c, s);
                NAME(rotate)(u, high, i, c2, s2);
            } else if (v) {
                NAME(rotate)(v, wide, i - 1, c2, -s2);
                NAME(rotate)(u, high, i - 1, c, -s);
            }
        }
        if (shift == 0) {
            const T h = d[end] * c;
            d[end] = h * c2;
            f = h * s2;
        }
        BETWEEN(end - next) = ABS(f) <= limit ? 0 : f;
#undef BETWEEN
    }
    return 0;
}

/* Bidiagonal form of matrices of no fewer rows than columns: d and e of each lane, and with `q` (m by n) and `p` (n by n) the
   products of the reflections from the left and, transposed, from the right. `work`: room for 2 n. */
UMIAK_CLONES static unsigned NAME(bidiagonal)(const umiak_small *g, V *a, V *q, V *p, V *d, V *e, V *work)
{
    const int64_t m = g->m, n = g->n;
    V *left = work, *right = work + n;
    NAME(load)(g, a);
    const unsigned bad = NAME(unusual)(a, m * n, LEAST, MOST);
    for (int64_t k = 0; k < n; k++) {
        V *below = a + (k + 1) * n + k, *beside = a + k * n + k + 2;
        left[k] = NAME(reflect)(&a[k * n + k], below, m - k - 1, n);
        d[k] = a[k * n + k];
        NAME(apply)(a, n, k, m, k + 1, left[k], below, n);
        if (k + 1 < n) {
            right[k] = NAME(reflect)(&a[k * n + k + 1], beside, n - k - 2, 1);
            e[k] = a[k * n + k + 1];
            for (int64_t i = k + 1; i < m; i++) {
                V sum = a[i * n + k + 1];
                for (int64_t j = k + 2; j < n; j++)
                    sum += beside[j - k - 2] * a[i * n + j];
                sum *= right[k];
                a[i * n + k + 1] -= sum;
                for (int64_t j = k + 2; j < n; j++)
                    a[i * n + j] -= sum * beside[j - k - 2];
            }
        }
    }
    if (q) {
        for (int64_t i = 0; i < m * n; i++)
            q[i] = NAME(all)(i / n == i % n);
        for (int64_t k = n - 1; k >= 0; k--)
            NAME(apply)(q, n, k, m, k, left[k], a + (k + 1) * n + k, n);
        for (int64_t i = 0; i < n * n; i++)
            p[i] = NAME(all)(i / n == i % n);
        /* Columns of the product of the reflections; its rows are read as those of the transposed. */
        for (int64_t k = n - 2; k >= 0; k--)
            NAME(apply)(p, n, k + 1, n, k + 1, right[k], a + k * n + k + 2, 1);
    }
    return bad;
}

/* Values and vectors of the first `count` lanes, but those in `without`, to matrices that lie one after another: U of m by n,
   V transposed of n by n, or NULL. Returns the lanes that did not converge. */
UMIAK_CLONES static unsigned NAME(singular)(const umiak_small *g, const V *q, const V *p, const V *d, const V *e, T *memory,
                                            unsigned without, T tolerance, T *left, T *values, T *right)
{
    const int m = (int)g->m, n = (int)g->n;
    const int64_t high = (m + W - 1) / W * W, wide = (n + W - 1) / W * W;
    T *u = memory, *v = u + n * high, *diagonal = v + n * wide, *side = diagonal + n;
    unsigned bad = 0;
    for (int l = 0; l < g->count; l++) {
        if (without >> l & 1)
            continue;
        for (int i = 0; i < n; i++) {
            diagonal[i] = d[i][l];
            side[i] = i + 1 < n ? e[i][l] : 0;
        }
        if (left)
            for (int j = 0; j < n; j++) {
                for (int i = 0; i < high; i++)
                    u[j * high + i] = i < m ? ((const T *)q)[(i * n + j) * W + l] : 0;
                for (int i = 0; i < wide; i++)
                    v[j * wide + i] = i < n ? ((const T *)p)[(i * n + j) * W + l] : 0;
            }
        if (NAME(bidiagonal_values)(n, diagonal, side, left ? u : 0, high, left ? v : 0, wide, tolerance))
            bad |= 1u << l;
        int order[UMIAK_SMALL_MOST];
        for (int i = 0; i < n; i++) {
            int k = i;
            for (; k > 0 && ABS(diagonal[order[k - 1]]) < ABS(diagonal[i]); k--)
                order[k] = order[k - 1];
            order[k] = i;
        }
        for (int j = 0; j < n; j++)
            values[(int64_t)l * n + j] = ABS(diagonal[order[j]]);
        if (left)
            for (int j = 0; j < n; j++) {
                const T sign = diagonal[order[j]] < 0 ? -1 : 1;
                for (int i = 0; i < m; i++)
                    left[((int64_t)l * m + i) * n + j] = u[order[j] * high + i];
                for (int i = 0; i < n; i++)
                    right[((int64_t)l * n + j) * n + i] = sign * v[order[j] * wide + i];
            }
    }
    return bad;
}

#undef V
#undef F
#undef W
#undef INLINE
#undef PICK
#undef SIZE
