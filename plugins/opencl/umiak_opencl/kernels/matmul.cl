// Products of matrices, a batch of them: c = a b.
//
// A work-item computes a tile of ROWS x COLUMNS elements in registers: each element of a's column is multiplied with
// two vectors of b's row. NUMBER is the type, VECTOR that of WIDE of them.
#define JOIN(a, b) a##b
#define NAMED(a, b) JOIN(a, b)
// A vector of any address, as `vload` gives. Where PoCL does not take all features of a processor for granted, its own
// functions are called, not compiled in: for each product that is several times the work of the product.
typedef VECTOR __attribute__((aligned(sizeof(NUMBER)))) LOOSE;
#define LOAD(p) (*(__global const LOOSE*)(p))
#define STORE NAMED(vstore, WIDE)
#define COLUMNS (2 * WIDE)

// Contracted to one rounding where the device has an instruction for it, which is on unless switched off.
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))

// b as panels of COLUMNS columns, each with its rows side by side: what a tile reads lies in order. Columns beyond the
// end are zeros.
__kernel void pack(__global NUMBER* panels, __global const NUMBER* b, long panels_at, long b_at, long k, long n,
                   long b_row, long b_column, __global const long* batches) {
    const long p = get_global_id(0), panel = get_global_id(1), batch = get_global_id(2);
    panels += panels_at + ((batch * get_global_size(1) + panel) * k + p) * COLUMNS;
    b += b_at + batches[batch] + p * b_row + panel * COLUMNS * b_column;
    const long columns = n - panel * COLUMNS;
    for (int t = 0; t < COLUMNS; t++)
        panels[t] = t < columns ? b[t * b_column] : 0;
}

// Where b is not packed, its rows lie without gaps, and `b_panel` is COLUMNS. Offsets of a batch: of a, of b.
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void matmul(__global const NUMBER* a, __global const NUMBER* b, __global NUMBER* c, long a_at, long b_at, long c_at,
            long m, long n, long k, long a_row, long a_column, long b_row, long b_panel, int packed,
            __global const long* batches) {
    const long batch = get_global_id(2);
    const long i = get_global_id(1) * ROWS, j = get_global_id(0) * COLUMNS;
    a += a_at + batches[2 * batch];
    b += b_at + batches[2 * batch + 1] + get_global_id(0) * b_panel;
    c += c_at + batch * m * n;
    const long rows = min(m - i, (long)ROWS), columns = min(n - j, (long)COLUMNS);
    if (packed || columns == COLUMNS) {
        VECTOR low[ROWS], high[ROWS];
        __global const NUMBER* x[ROWS];
        #pragma unroll
        for (int r = 0; r < ROWS; r++) {
            low[r] = 0;
            high[r] = 0;
            x[r] = a + min(i + r, m - 1) * a_row;  // rows beyond the end are computed, and not stored
        }
        for (long p = 0; p < k; p++) {
            const VECTOR y = LOAD(b + p * b_row), z = LOAD(b + p * b_row + WIDE);
            #pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const VECTOR f = x[r][p * a_column];
                low[r] = MULTIPLY_ADD(f, y, low[r]);
                high[r] = MULTIPLY_ADD(f, z, high[r]);
            }
        }
        c += i * n + j;
        #pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (r >= rows)
                break;
            if (columns == COLUMNS) {
                STORE(low[r], 0, c + r * n);
                STORE(high[r], 0, c + r * n + WIDE);
            } else {
                NUMBER row[COLUMNS];
                STORE(low[r], 0, row);
                STORE(high[r], 1, row);
                for (int t = 0; t < columns; t++)
                    c[r * n + t] = row[t];
            }
        }
        return;
    }
    for (long s = i; s < i + rows; s++)
        for (long t = 0; t < columns; t++) {
            NUMBER sum = 0;
            for (long p = 0; p < k; p++)
                sum = MULTIPLY_ADD(a[s * a_row + p * a_column], b[p * b_row + t], sum);
            c[s * n + j + t] = sum;
        }
}
