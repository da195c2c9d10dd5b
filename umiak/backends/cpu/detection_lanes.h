/* The launches of detection.h for numbers of type T; INT is an integer of its size. */

/* --- RoI align: separable weights -----------------------------------------------------------------------------------

   A mean of bilinear samples at a grid is a weighted sum of rows, then of columns. Each bin of a dim has a list of
   elements and weights. */

typedef struct {
    int64_t size, capacity;
    int64_t *first;            /* of each bin: its first item; bins + 1 */
    int64_t *element;
    T *weight;
    int64_t low, high;         /* of all elements */
    double samples;            /* of a bin */
} NAME(taps);

static void NAME(free_taps)(NAME(taps) *t) { free(t->first); free(t->element); free(t->weight); }

static int NAME(reserve)(NAME(taps) *t, int64_t items)
{
    if (items <= t->capacity) return 0;
    int64_t capacity = items + items / 2 + 64;
    int64_t *element = (int64_t *)realloc(t->element, capacity * sizeof(int64_t));
    if (element != NULL) t->element = element;
    T *weight = (T *)realloc(t->weight, capacity * sizeof(T));
    if (weight != NULL) t->weight = weight;
    if (element == NULL || weight == NULL) return UMIAK_NO_MEMORY;
    t->capacity = capacity;
    return 0;
}

static inline void NAME(add_tap)(NAME(taps) *t, int64_t begin, int64_t element, T weight)
{
    for (int64_t i = t->size - 1; i >= begin && i >= t->size - 2; i--)
        if (t->element[i] == element) {
            t->weight[i] += weight;
            return;
        }
    t->element[t->size] = element;
    t->weight[t->size++] = weight;
    if (element < t->low) t->low = element;
    if (element > t->high) t->high = element;
}

/* Taps of the samples of a region from `low` to `high` along a dim of `size` elements. */
static int NAME(make_taps)(NAME(taps) *t, T low, T high, int64_t bins, int64_t size, int64_t ratio, int aligned)
{
    T extent = high - low;
    if (!aligned && !(extent > 1)) extent = 1;
    const T bin = extent / (T)bins;
    double samples = ratio > 0 ? (double)ratio : ceil((double)bin);
    if (!(samples > 0)) samples = 0;
    t->samples = samples;
    t->size = 0;
    t->low = size;
    t->high = -1;
    const double step = samples > 0 ? (double)bin / samples : 0;
    for (int64_t i = 0; i < bins; i++) {
        t->first[i] = t->size;
        const T base = low + (T)i * bin;
        /* Which samples lie within [-1, size], and one more at either end: the others count for nothing. */
        double begin = 0, end = samples;
        if (step > 0) {
            begin = floor((-1.0 - (double)base) / step - 0.5) - 1;
            end = ceil(((double)size - (double)base) / step - 0.5) + 2;
            begin = begin > 0 ? begin : 0;
            end = end < samples ? end : samples;
        } else if (!((double)base >= -1 - 2 * fabs((double)bin) && (double)base <= size + 2 * fabs((double)bin)))
            end = 0;
        if (!(end > begin)) continue;
        if (end - begin > 1e9 || NAME(reserve)(t, t->size + 2 * (int64_t)(end - begin) + 2)) return UMIAK_NO_MEMORY;
        const int64_t own = t->size, last = (int64_t)end;
        for (int64_t k = (int64_t)begin; k < last; k++) {
            T at = base + ((T)k + (T)0.5) * bin / (T)samples;
            if (!(at >= -1 && at <= (T)size)) continue;
            if (at < 0) at = 0;
            int64_t first = (int64_t)at;
            if (first >= size - 1) {
                NAME(add_tap)(t, own, size - 1, 1);
            } else {
                const T part = at - (T)first;
                NAME(add_tap)(t, own, first, 1 - part);
                NAME(add_tap)(t, own, first + 1, part);
            }
        }
    }
    t->first[bins] = t->size;
    return 0;
}

/* One region of one image, channels from c0 to c1; `line` has room for a row of columns. */
DETECTION_CLONES static void NAME(align_region)(
    const umiak_regions *p, const NAME(taps) *rows, const NAME(taps) *columns, int64_t region, int64_t c0, int64_t c1,
    T *restrict line)
{
    const int64_t plane = p->height * p->width, bins = p->rows * p->columns;
    const int64_t span = columns->high - columns->low + 1;
    const int dense = span <= 2 * columns->size;   /* otherwise: the elements of columns one by one */
    const int64_t width = dense ? span : columns->size;
    const double samples = rows->samples * columns->samples;
    const T share = (T)(1 / (samples > 1 ? samples : 1));
    for (int64_t c = c0; c < c1; c++) {
        const int64_t at_image = (p->images[region] * p->channels + c) * plane;
        const int64_t at_result = (region * p->channels + c) * bins;
        for (int64_t i = 0; i < p->rows; i++) {
            const int64_t begin = rows->first[i], end = rows->first[i + 1];
            const int64_t offset = dense ? columns->low : 0;
            memset(line, 0, (width > 0 ? width : 0) * sizeof(T));
            if (!p->spread) {
                const T *x = (const T *)p->x + at_image;
                T *out = (T *)p->out + at_result + i * p->columns;
                for (int64_t r = begin; r < end; r++) {
                    const T w = rows->weight[r];
                    const T *row = x + rows->element[r] * p->width;
                    if (dense) {
                        const T *from = row + columns->low;
                        for (int64_t k = 0; k < width; k++) line[k] += w * from[k];
                    } else
                        for (int64_t k = 0; k < width; k++) line[k] += w * row[columns->element[k]];
                }
                for (int64_t j = 0; j < p->columns; j++) {
                    T sum = 0;
                    for (int64_t k = columns->first[j]; k < columns->first[j + 1]; k++)
                        sum += columns->weight[k] * line[dense ? columns->element[k] - offset : k];
                    out[j] = sum * share;
                }
            } else {
                const T *g = (const T *)p->x + at_result + i * p->columns;
                T *x = (T *)p->out + at_image;
                for (int64_t j = 0; j < p->columns; j++) {
                    const T v = g[j] * share;
                    for (int64_t k = columns->first[j]; k < columns->first[j + 1]; k++)
                        line[dense ? columns->element[k] - offset : k] += columns->weight[k] * v;
                }
                for (int64_t r = begin; r < end; r++) {
                    const T w = rows->weight[r];
                    T *row = x + rows->element[r] * p->width;
                    if (dense) {
                        T *restrict to = row + columns->low;
                        for (int64_t k = 0; k < width; k++) to[k] += w * line[k];
                    } else
                        for (int64_t k = 0; k < width; k++) row[columns->element[k]] += w * line[k];
                }
            }
        }
    }
}

static int NAME(align)(const umiak_regions *p, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    NAME(taps) rows, columns;
    T *line = NULL;
    int64_t room = 0;
    int code = 0;
    memset(&rows, 0, sizeof rows);
    memset(&columns, 0, sizeof columns);
    rows.first = (int64_t *)malloc((p->rows + 1) * sizeof(int64_t));
    columns.first = (int64_t *)malloc((p->columns + 1) * sizeof(int64_t));
    if (rows.first == NULL || columns.first == NULL) code = UMIAK_NO_MEMORY;
    for (int64_t r = r0; r < r1 && !code; r++) {
        const T *box = (const T *)p->boxes + 4 * r, offset = p->aligned ? (T)0.5 : 0, scale = (T)p->scale;
        code = NAME(make_taps)(&rows, box[1] * scale - offset, box[3] * scale - offset, p->rows, p->height, p->ratio,
                               p->aligned);
        if (!code)
            code = NAME(make_taps)(&columns, box[0] * scale - offset, box[2] * scale - offset, p->columns, p->width,
                                   p->ratio, p->aligned);
        if (!code && columns.size + p->width > room) {
            free(line);
            room = columns.size + p->width;
            line = (T *)malloc(room * sizeof(T));
            if (line == NULL) code = UMIAK_NO_MEMORY;
        }
        if (!code) NAME(align_region)(p, &rows, &columns, r, c0, c1, line);
    }
    NAME(free_taps)(&rows);
    NAME(free_taps)(&columns);
    free(line);
    return code;
}

/* --- position-sensitive pooling, and the largest elements ----------------------------------------------------------- */

static inline int64_t NAME(clamp)(T v, int64_t size) { return v > 0 ? v < (T)size ? (int64_t)v : size : 0; }

static inline void NAME(sensitive_edges)(T a, T b, T scale, int64_t bins, T *low, T *bin)
{
    *low = (T)round((double)a) * scale;
    T extent = ((T)round((double)b) + 1) * scale - *low;
    *bin = (extent > (T)0.1 ? extent : (T)0.1) / (T)bins;
}

static void NAME(sensitive)(const umiak_regions *p, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    const int64_t plane = p->height * p->width;
    for (int64_t r = r0; r < r1; r++) {
        const T *box = (const T *)p->boxes + 4 * r;
        T top, left, row_bin, column_bin;
        NAME(sensitive_edges)(box[1], box[3], (T)p->scale, p->rows, &top, &row_bin);
        NAME(sensitive_edges)(box[0], box[2], (T)p->scale, p->columns, &left, &column_bin);
        for (int64_t i = 0; i < p->rows; i++) {
            const int64_t y0 = NAME(clamp)((T)floor((double)((T)i * row_bin + top)), p->height);
            const int64_t y1 = NAME(clamp)((T)ceil((double)((T)(i + 1) * row_bin + top)), p->height);
            for (int64_t j = 0; j < p->columns; j++) {
                const int64_t x0 = NAME(clamp)((T)floor((double)((T)j * column_bin + left)), p->width);
                const int64_t x1 = NAME(clamp)((T)ceil((double)((T)(j + 1) * column_bin + left)), p->width);
                const int64_t count = y1 > y0 && x1 > x0 ? (y1 - y0) * (x1 - x0) : 0;
                for (int64_t c = c0; c < c1; c++) {
                    const int64_t own = (c * p->rows + i) * p->columns + j;
                    const int64_t at_image = (p->images[r] * p->channels + own) * plane;
                    const int64_t at_result = ((r * p->out_channels + c) * p->rows + i) * p->columns + j;
                    if (!p->spread) {
                        const T *x = (const T *)p->x + at_image;
                        T sum = 0;
                        for (int64_t y = y0; y < y1; y++)
                            for (int64_t k = x0; k < x1; k++) sum += x[y * p->width + k];
                        ((T *)p->out)[at_result] = count ? sum / (T)count : 0;
                    } else if (count) {
                        T *x = (T *)p->out + at_image;
                        const T v = ((const T *)p->x)[at_result] / (T)count;
                        for (int64_t y = y0; y < y1; y++)
                            for (int64_t k = x0; k < x1; k++) x[y * p->width + k] += v;
                    }
                }
            }
        }
    }
}

static inline void NAME(pool_edges)(T a, T b, T scale, int64_t bins, T *low, T *bin)
{
    *low = (T)round((double)(a * scale));
    T extent = (T)round((double)(b * scale)) - *low + 1;
    *bin = (extent > 1 ? extent : 1) / (T)bins;
}

static void NAME(max_index)(const umiak_regions *p, int64_t r0, int64_t r1)
{
    const int64_t plane = p->height * p->width;
    for (int64_t r = r0; r < r1; r++) {
        const T *box = (const T *)p->boxes + 4 * r;
        T top, left, row_bin, column_bin;
        NAME(pool_edges)(box[1], box[3], (T)p->scale, p->rows, &top, &row_bin);
        NAME(pool_edges)(box[0], box[2], (T)p->scale, p->columns, &left, &column_bin);
        for (int64_t i = 0; i < p->rows; i++) {
            const int64_t y0 = NAME(clamp)((T)floor((double)((T)i * row_bin)) + top, p->height);
            const int64_t y1 = NAME(clamp)((T)ceil((double)((T)(i + 1) * row_bin)) + top, p->height);
            for (int64_t j = 0; j < p->columns; j++) {
                const int64_t x0 = NAME(clamp)((T)floor((double)((T)j * column_bin)) + left, p->width);
                const int64_t x1 = NAME(clamp)((T)ceil((double)((T)(j + 1) * column_bin)) + left, p->width);
                for (int64_t c = 0; c < p->channels; c++) {
                    const int64_t base = (p->images[r] * p->channels + c) * plane;
                    const T *x = (const T *)p->x + base;
                    int64_t best = -1;
                    for (int64_t y = y0; y < y1; y++)
                        for (int64_t k = x0; k < x1; k++)   /* the first of equals, and NaN before all */
                            if (best < 0 || x[y * p->width + k] > x[best] ||
                                (x[y * p->width + k] != x[y * p->width + k] && x[best] == x[best]))
                                best = y * p->width + k;
                    ((int64_t *)p->out)[((r * p->channels + c) * p->rows + i) * p->columns + j] =
                        best < 0 ? -1 : base + best;
                }
            }
        }
    }
}

/* A part: some regions, or of a transpose some channels of all. */
static int NAME(regions)(const umiak_regions *p, int64_t part)
{
    const int64_t total = p->spread ? p->out_channels : p->regions;
    const int64_t a = total * part / p->parts, b = total * (part + 1) / p->parts;
    const int64_t r0 = p->spread ? 0 : a, r1 = p->spread ? p->regions : b;
    const int64_t c0 = p->spread ? a : 0, c1 = p->spread ? b : p->out_channels;
    if (p->kind == UMIAK_ROI_ALIGN) return NAME(align)(p, r0, r1, c0, c1);
    if (p->kind == UMIAK_PSROI_POOL) NAME(sensitive)(p, r0, r1, c0, c1);
    else NAME(max_index)(p, r0, r1);
    return 0;
}

/* --- deformable convolution ----------------------------------------------------------------------------------------- */

/* The four neighbours of a position, those outside with weight 0 (and at element 0). */
typedef struct {
    int64_t at[4];
    T weight[4];
    T dy[4], dx[4];    /* derivatives of the weights */
    int inside;
} NAME(corners);

static inline void NAME(locate)(const umiak_deformable *p, T y, T x, NAME(corners) *c)
{
    c->inside = y > -1 && x > -1 && y < (T)p->height && x < (T)p->width;
    if (!c->inside) return;
    const T floor_y = (T)floor((double)y), floor_x = (T)floor((double)x);
    const int64_t y0 = (int64_t)floor_y, x0 = (int64_t)floor_x;
    const T fy = y - floor_y, fx = x - floor_x;
    for (int k = 0; k < 4; k++) {
        const int down = k >> 1, right = k & 1;
        const int64_t row = y0 + down, column = x0 + right;
        const int there = row >= 0 && column >= 0 && row < p->height && column < p->width;
        const T wy = down ? fy : 1 - fy, wx = right ? fx : 1 - fx;
        c->at[k] = there ? (row * p->width + column) * p->channels : 0;
        c->weight[k] = there ? wy * wx : 0;
        c->dy[k] = there ? (down ? wx : -wx) : 0;
        c->dx[k] = there ? (right ? wy : -wy) : 0;
    }
}

/* Where tap k of group d of a position samples, as element numbers of the offsets (y; x comes rows*columns later) and
   of the mask. */
static inline void NAME(sample)(const umiak_deformable *p, int64_t n, int64_t d, int64_t k, int64_t i, int64_t j,
                                NAME(corners) *c, T *m, int64_t *at_offset, int64_t *at_mask)
{
    const int64_t taps = p->kernel_rows * p->kernel_columns, points = p->rows * p->columns;
    const int64_t tap = (n * p->groups + d) * taps + k;
    *at_offset = 2 * tap * points + i * p->columns + j;
    *at_mask = tap * points + i * p->columns + j;
    *m = p->mask == NULL ? 1 : ((const T *)p->mask)[*at_mask];
    const T *offset = (const T *)p->offset + *at_offset;
    const T y = (T)(i * p->strides[0] - p->pads[0] + k / p->kernel_columns * p->dilations[0]) + offset[0];
    const T x = (T)(j * p->strides[1] - p->pads[1] + k % p->kernel_columns * p->dilations[1]) + offset[points];
    NAME(locate)(p, y, x, c);
}

/* A part: some rows of positions of all images. Columns are [n, positions, taps, channels]. */
DETECTION_CLONES static void NAME(columns)(const umiak_deformable *p, int64_t part)
{
    const int64_t taps = p->kernel_rows * p->kernel_columns, own = p->channels / p->groups;
    const int64_t lines = p->n * p->rows, last = lines * (part + 1) / p->parts;
    for (int64_t line = lines * part / p->parts; line < last; line++) {
        const int64_t n = line / p->rows, i = line % p->rows;
        const T *image = (const T *)p->x + n * p->height * p->width * p->channels;
        for (int64_t j = 0; j < p->columns; j++)
            for (int64_t k = 0; k < taps; k++)
                for (int64_t d = 0; d < p->groups; d++) {
                    NAME(corners) c;
                    T m;
                    int64_t at_offset, at_mask;
                    NAME(sample)(p, n, d, k, i, j, &c, &m, &at_offset, &at_mask);
                    T *restrict out = (T *)p->out + ((line * p->columns + j) * taps + k) * p->channels + d * own;
                    if (!c.inside) {
                        memset(out, 0, own * sizeof(T));
                        continue;
                    }
                    const T *x0 = image + c.at[0] + d * own, *x1 = image + c.at[1] + d * own;
                    const T *x2 = image + c.at[2] + d * own, *x3 = image + c.at[3] + d * own;
                    const T w0 = m * c.weight[0], w1 = m * c.weight[1], w2 = m * c.weight[2], w3 = m * c.weight[3];
                    for (int64_t q = 0; q < own; q++)
                        out[q] = w0 * x0[q] + w1 * x1[q] + w2 * x2[q] + w3 * x3[q];
                }
    }
}

/* A part: some channels of a group of an image. */
DETECTION_CLONES static void NAME(columns_spread)(const umiak_deformable *p, int64_t part)
{
    const int64_t taps = p->kernel_rows * p->kernel_columns, own = p->channels / p->groups;
    const int64_t pieces = p->parts / (p->n * p->groups);
    const int64_t n = part / pieces / p->groups, d = part / pieces % p->groups, piece = part % pieces;
    const int64_t q0 = d * own + own * piece / pieces, count = d * own + own * (piece + 1) / pieces - q0;
    T *image = (T *)p->out + n * p->height * p->width * p->channels + q0;
    for (int64_t i = 0; i < p->rows; i++)
        for (int64_t j = 0; j < p->columns; j++)
            for (int64_t k = 0; k < taps; k++) {
                NAME(corners) c;
                T m;
                int64_t at_offset, at_mask;
                NAME(sample)(p, n, d, k, i, j, &c, &m, &at_offset, &at_mask);
                if (!c.inside) continue;
                const T *restrict g =
                    (const T *)p->g + (((n * p->rows + i) * p->columns + j) * taps + k) * p->channels + q0;
                for (int k4 = 0; k4 < 4; k4++) {
                    const T w = m * c.weight[k4];
                    if (w == 0) continue;   /* also what is not there */
                    T *restrict x = image + c.at[k4];
                    for (int64_t q = 0; q < count; q++) x[q] += w * g[q];
                }
            }
}

enum { NAME(LANES) = 64 / sizeof(T) };

/* A part: some rows of positions of all images. */
DETECTION_CLONES static void NAME(columns_slopes)(const umiak_deformable *p, int64_t part)
{
    const int64_t taps = p->kernel_rows * p->kernel_columns, own = p->channels / p->groups;
    const int64_t points = p->rows * p->columns;
    const int64_t lines = p->n * p->rows, last = lines * (part + 1) / p->parts;
    for (int64_t line = lines * part / p->parts; line < last; line++) {
        const int64_t n = line / p->rows, i = line % p->rows;
        const T *image = (const T *)p->x + n * p->height * p->width * p->channels;
        for (int64_t j = 0; j < p->columns; j++)
            for (int64_t k = 0; k < taps; k++)
                for (int64_t d = 0; d < p->groups; d++) {
                    NAME(corners) c;
                    T m, dots[4] = {0, 0, 0, 0};
                    int64_t at_offset, at_mask;
                    NAME(sample)(p, n, d, k, i, j, &c, &m, &at_offset, &at_mask);
                    if (c.inside) {
                        const T *g = (const T *)p->g + ((line * p->columns + j) * taps + k) * p->channels + d * own;
                        for (int k4 = 0; k4 < 4; k4++) {
                            const T *x = image + c.at[k4] + d * own;
                            T lanes[NAME(LANES)];
                            int64_t q = 0;
                            memset(lanes, 0, sizeof lanes);
                            for (; q + NAME(LANES) <= own; q += NAME(LANES))
                                for (int l = 0; l < NAME(LANES); l++) lanes[l] += g[q + l] * x[q + l];
                            for (; q < own; q++) dots[k4] += g[q] * x[q];
                            for (int l = 0; l < NAME(LANES); l++) dots[k4] += lanes[l];
                        }
                    }
                    T dy = 0, dx = 0, dm = 0;
                    for (int k4 = 0; k4 < 4 && c.inside; k4++) {
                        dy += c.dy[k4] * dots[k4];
                        dx += c.dx[k4] * dots[k4];
                        dm += c.weight[k4] * dots[k4];
                    }
                    ((T *)p->out)[at_offset] = m * dy;
                    ((T *)p->out)[at_offset + points] = m * dx;
                    if (p->mask_out != NULL) ((T *)p->mask_out)[at_mask] = dm;
                }
    }
}

/* --- suppression of boxes -------------------------------------------------------------------------------------------- */

/* Clears `alive` of the boxes behind box i, of its group, that overlap it by more than `threshold`. */
DETECTION_CLONES static void NAME(overlaps)(
    int64_t i, int64_t count, T threshold, T offset, const T *restrict x1, const T *restrict y1, const T *restrict x2,
    const T *restrict y2, const T *restrict area, const INT *restrict group, INT *restrict alive)
{
    const T a1 = x1[i], b1 = y1[i], a2 = x2[i], b2 = y2[i], own = area[i];
    const INT own_group = group[i];
    for (int64_t j = i + 1; j < count; j++) {
        T left = x1[j] > a1 ? x1[j] : a1, right = x2[j] < a2 ? x2[j] : a2;
        T top = y1[j] > b1 ? y1[j] : b1, bottom = y2[j] < b2 ? y2[j] : b2;
        T w = right - left + offset, h = bottom - top + offset;
        w = w > 0 ? w : 0;
        h = h > 0 ? h : 0;
        const T common = w * h;
        const INT over = common / (own + area[j] - common) > threshold ? -1 : 0;
        alive[j] &= ~(over & -(INT)(group[j] == own_group));
    }
}

/* Whether one of the first `kept` boxes, of the group of box i, overlaps it by more than `threshold`. */
DETECTION_CLONES static int NAME(overlapped)(
    int64_t i, int64_t kept, T threshold, T offset, const T *restrict x1, const T *restrict y1, const T *restrict x2,
    const T *restrict y2, const T *restrict area, const INT *restrict group)
{
    const T a1 = x1[i], b1 = y1[i], a2 = x2[i], b2 = y2[i], own = area[i];
    const INT own_group = group[i];
    INT found = 0;
    for (int64_t j = 0; j < kept; j++) {
        T left = x1[j] > a1 ? x1[j] : a1, right = x2[j] < a2 ? x2[j] : a2;
        T top = y1[j] > b1 ? y1[j] : b1, bottom = y2[j] < b2 ? y2[j] : b2;
        T w = right - left + offset, h = bottom - top + offset;
        w = w > 0 ? w : 0;
        h = h > 0 ? h : 0;
        const T common = w * h;
        const INT over = common / (own + area[j] - common) > threshold ? -1 : 0;
        found |= over & -(INT)(group[j] == own_group);
    }
    return found != 0;
}

static int NAME(suppress)(const umiak_suppression *p)
{
    const T *boxes = (const T *)p->boxes, offset = (T)p->offset;
    double threshold = p->threshold;
    int64_t count = 0;
    T *numbers = (T *)malloc((5 * p->count + 1) * sizeof(T));
    INT *alive = (INT *)malloc((2 * p->count + 1) * sizeof(INT)), *group = alive + p->count;
    int64_t *index = (int64_t *)malloc((p->count + 1) * sizeof(int64_t));
    if (numbers == NULL || alive == NULL || index == NULL) {
        free(numbers);
        free(alive);
        free(index);
        return UMIAK_NO_MEMORY;
    }
    T *x1 = numbers, *y1 = x1 + p->count, *x2 = y1 + p->count, *y2 = x2 + p->count, *area = y2 + p->count;
    for (int64_t i = 0; i < p->count; i++) {
        p->kept[i] = 0;
        if (p->valid != NULL && !p->valid[i]) continue;
        x1[count] = boxes[4 * i];
        y1[count] = boxes[4 * i + 1];
        x2[count] = boxes[4 * i + 2];
        y2[count] = boxes[4 * i + 3];
        area[count] = (x2[count] - x1[count] + offset) * (y2[count] - y1[count] + offset);
        alive[count] = -1;
        group[count] = p->group == NULL ? 0 : (INT)p->group[i];
        index[count++] = i;
    }
    if (p->eta < 1) {   /* under the threshold of its turn a box is compared with those that stay, which move to the front */
        int64_t kept = 0;
        for (int64_t i = 0; i < count; i++) {
            if (NAME(overlapped)(i, kept, (T)threshold, offset, x1, y1, x2, y2, area, group)) continue;
            p->kept[index[i]] = 1;
            x1[kept] = x1[i];
            y1[kept] = y1[i];
            x2[kept] = x2[i];
            y2[kept] = y2[i];
            area[kept] = area[i];
            group[kept++] = group[i];
            if (threshold > 0.5) threshold *= p->eta;
        }
        count = 0;
    }
    for (int64_t i = 0, since = 0; i < count; i++) {
        if (!alive[i]) continue;
        p->kept[index[i]] = 1;
        NAME(overlaps)(i, count, (T)threshold, offset, x1, y1, x2, y2, area, group, alive);
        if (++since == 32) {   /* those that are left move together */
            int64_t left = i + 1;
            for (int64_t j = i + 1; j < count; j++)
                if (alive[j]) {
                    x1[left] = x1[j];
                    y1[left] = y1[j];
                    x2[left] = x2[j];
                    y2[left] = y2[j];
                    area[left] = area[j];
                    group[left] = group[j];
                    alive[left] = -1;
                    index[left++] = index[j];
                }
            count = left;
            since = 0;
        }
    }
    free(numbers);
    free(alive);
    free(index);
    return 0;
}
